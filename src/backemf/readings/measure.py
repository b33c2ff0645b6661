"""`measure`: one constant from one kind of bench reading, with its error, by the reading's name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..errors import InvalidValue, UnknownName
from . import arithmetic, inverse, transients
from .arithmetic import Measured

READINGS: dict[str, Callable[..., Measured]] = {
    "fall": arithmetic.friction_from_fall,
    "slip": arithmetic.friction_from_slip,
    "resistance": arithmetic.resistance_from_locked,
    "no-load": arithmetic.no_load_line,
    "torque-constant": arithmetic.torque_constant_from_loads,
    "firmware-gain": arithmetic.firmware_gain,
    "coast-down": transients.coast_down,
    "inertia": transients.inertia_from_two_coasts,
    "thermal": transients.thermal,
    "backlash": transients.backlash,
    "inverse-dynamics": inverse.inverse_dynamics,
}
"""Every kind of reading by name, as `backemf measure` spells it."""


def measure(reading: str, *given: Any, **named: Any) -> Measured:
    """A constant with its error from a bench reading: `be.measure("resistance", current, voltage)`.

    `reading` is one of: fall, slip, resistance, no-load, torque-constant, firmware-gain, coast-down, inertia,
    thermal, backlash, inverse-dynamics; the rest is what that reading needs, as its own function documents.
    """
    if reading not in READINGS:
        raise UnknownName("reading", reading, READINGS)
    function = READINGS[reading]
    try:
        inspect.signature(function).bind(*given, **named)
    except TypeError as error:
        wanted = ", ".join(inspect.signature(function).parameters)
        raise InvalidValue(f"measure({reading!r}): {error}; expected {wanted}") from None
    return function(*given, **named)
