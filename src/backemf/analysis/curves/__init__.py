"""Curves of an actuator, as numbers: what figures draw and files hold.

Torque, power and friction over speed, heating over time, the drive's law over the error, the position loop
over frequency, and bristles near rest.
"""

from __future__ import annotations

from .bristle import (
    INTEGRATORS as INTEGRATORS,
    Presliding as Presliding,
    Reversals as Reversals,
    presliding as presliding,
    presliding_of as presliding_of,
    reach as reach,
    reversals as reversals,
    sliding_step as sliding_step,
)
from .heating import Heating as Heating, heating as heating, time_to as time_to
from .operation import (
    Driven as Driven,
    Operation as Operation,
    drive_law as drive_law,
    friction_size as friction_size,
    full_error as full_error,
    full_voltage as full_voltage,
    held_current as held_current,
    no_load as no_load,
    operation as operation,
)
from .response import Response as Response, response as response
