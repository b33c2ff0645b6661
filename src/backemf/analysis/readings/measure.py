"""`measure`: one constant from one kind of bench reading, with its error, by the reading's name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...errors import InvalidValue, UnknownName
from . import arms, constants, electrical, inverse, torque, transients
from .measured import Measured
from .routes import READINGS as READINGS


class Measure:
    """A constant with its error from a bench reading, each by its own name:
    `be.measure.resistance(current, voltage)`, or `be.measure("resistance", current, voltage)`.

    fall, slip, resistance, current_step, impedance, back_emf, torque_constant, no_load, no_load_current,
    firmware_gain, coast_down, inertia, run_up, acceleration, inverse_dynamics, thermal, backlash; and
    `constants`, which compares several. The answer has a value, its standard error and its 95 % interval, or
    bounds; what was assumed, what would sharpen it, findings, further numbers of the same reading (`others`),
    and a picture (`plot`).
    """

    fall = staticmethod(arms.fall)
    slip = staticmethod(arms.slip)
    resistance = staticmethod(electrical.resistance)
    current_step = staticmethod(electrical.current_step)
    impedance = staticmethod(electrical.impedance)
    back_emf = staticmethod(electrical.back_emf)
    torque_constant = staticmethod(torque.torque_constant)
    no_load = staticmethod(torque.no_load)
    no_load_current = staticmethod(torque.no_load_current)
    firmware_gain = staticmethod(electrical.firmware_gain)
    coast_down = staticmethod(transients.coast_down)
    inertia = staticmethod(transients.inertia)
    run_up = staticmethod(transients.run_up)
    acceleration = staticmethod(transients.acceleration)
    inverse_dynamics = staticmethod(inverse.inverse_dynamics)
    thermal = staticmethod(transients.thermal)
    backlash = staticmethod(transients.backlash)
    constants = staticmethod(constants.constants)

    def __call__(self, reading: str, *given: Any, **named: Any) -> Measured:
        """By the reading's name, as `backemf measure` spells it: "no-load-current"."""
        name = reading.replace("_", "-")
        if name not in READINGS:
            raise UnknownName("reading", reading, READINGS)
        function: Callable[..., Measured] = READINGS[name]
        try:
            inspect.signature(function).bind(*given, **named)
        except TypeError as error:
            wanted = ", ".join(inspect.signature(function).parameters)
            raise InvalidValue(f"measure({reading!r}): {error}; expected {wanted}") from None
        return function(*given, **named)


measure = Measure()
