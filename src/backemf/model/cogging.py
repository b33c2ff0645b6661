"""Cogging: the magnets' preference for certain rotor angles (MuJoCo's DC-motor note, equation 6)."""

from __future__ import annotations

import math
from numbers import Integral
from typing import ClassVar

from ..errors import InvalidValue
from .maths import Scalar, cos, sin
from .quantity import Part, part, quantity


@part
class Cogging(Part):
    """tau = A sin(N_p theta + phi) at the rotor; N_p is lcm(poles, slots)."""

    path: ClassVar[str] = "motor.cogging"

    amplitude: float = quantity("N m", "A", least=0)
    periods: float = quantity("1", "N_p", above=0)
    """Periods per turn of the rotor."""
    phase: float = quantity("rad", "phi", default=0.0, signed=3.0)

    @staticmethod
    def percent(percent: float, *, of: float, poles: int, slots: int, phase: float = 0.0) -> Cogging:
        """From what sheets print: peak cogging in per cent `of` the rated torque [N m],
        and the motor's poles and slots."""
        if not all(isinstance(n, Integral) and n >= 1 for n in (poles, slots)):
            raise InvalidValue(
                f"poles is {poles!r} and slots is {slots!r}; expected whole numbers of at least 1"
            )
        return Cogging(amplitude=percent / 100.0 * of, periods=float(math.lcm(poles, slots)), phase=phase)

    def torque(self, rotor_angle: Scalar) -> Scalar:
        A, N_p, phi = self.amplitude, self.periods, self.phase
        return A * sin(N_p * rotor_angle + phi)

    def stored(self, rotor_angle: Scalar) -> Scalar:
        """Potential energy [J]; the torque is minus its slope."""
        A, N_p, phi = self.amplitude, self.periods, self.phase
        return A / N_p * cos(N_p * rotor_angle + phi)
