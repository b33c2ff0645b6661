"""Gearbox: the only place that converts between rotor side and output side."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar, TypeVar

from ..errors import InvalidValue, MissingValue
from .friction import Viscous
from .maths import Scalar, absolute, is_number, is_whole, side, where
from .quantity import Part, part, present, quantity

_F = TypeVar("_F", bound=Viscous)

# Power of the ratio N with which a friction measured at the rotor appears at the output: w_rotor = N w, tau =
# N tau_rotor.
_POWERS = {
    "viscous": 2,
    "viscous_quadratic": 3,
    "viscous_cubic": 4,
    "offset": 1,
    "coulomb": 1,
    "static": 1,
    "stribeck_velocity": -1,
    "stiffness": 2,
    "damping": 2,
    "load_quadratic": -1,
    "load_motor_quadratic": -1,
    "load_external_quadratic": -1,
}


@part
class Gearbox(Part):
    """A reduction of N : 1 with n equal motors on one output.

    Efficiency loses torque in the direction of power flow: driving, the output gets eta times what the motors
    give; back-driven, the motors must be pushed with 1 / eta times their torque.
    """

    path: ClassVar[str] = "gearbox"

    ratio: float = quantity("1", "N", default=1.0)
    """Rotor turns per output turn, negative where the output turns the other way;
    for a linear axis, rotor radians per metre."""
    n_motors: int = 1
    efficiency: float | None = quantity("1", "eta", default=None, above=0, most=1)
    """Absent: no loss."""
    backlash: float | None = quantity("rad", "b", default=None, least=0, zero_is_absent=True)
    """Free play of the output with the rotor held: the whole gap."""
    contact_stiffness: float | None = quantity("N m/rad", "k_c", default=None, above=0)
    """Stiffness of the teeth at the output once the gap is closed; needed with backlash."""
    contact_damping: float = quantity("N m s/rad", "d_c", default=0.0, least=0)

    def check(self) -> None:
        """Refuse a ratio of 0, motors that cannot be counted, and play without stiffness."""
        if self.ratio == 0:
            raise InvalidValue(
                "gearbox.ratio is 0; expected rotor turns per output turn, such as 1 for none or 100 for a"
                " 100:1 reduction"
            )
        if not is_whole(self.n_motors) or self.n_motors < 1:
            raise InvalidValue(
                f"gearbox.n_motors is {self.n_motors!r}; expected a whole number of at least 1"
            )
        if self.backlash is not None and self.contact_stiffness is None:
            raise MissingValue(
                "gearbox.backlash needs gearbox.contact_stiffness, the stiffness of the teeth in contact (N"
                " m/rad at the output)"
            )

    def rotor_speed(self, w: Scalar) -> Scalar:
        """Speed, or angle, of the rotor for that of the output."""
        return self.ratio * w

    @property
    def forwards(self) -> Scalar:
        """+1 or -1: the sign of a voltage that turns the output forwards."""
        if is_number(self.ratio):
            return 1.0 if self.ratio >= 0 else -1.0
        return side(self.ratio)

    def output_torque(self, tau: Scalar) -> Scalar:
        """Torque of all motors together at the output, before losses."""
        return self.n_motors * self.ratio * tau

    def output_inertia(self, J_r: Scalar) -> Scalar:
        """Rotor inertia of all motors seen at the output: n N^2 J_r."""
        return self.n_motors * self.ratio * self.ratio * J_r

    def loss(self, tau: Scalar, other: Scalar, J_rotor: Scalar, J_load: Scalar, direction: Scalar) -> Scalar:
        """Torque lost against motion in a direction.

        The gears carry T = tau - J_rotor a, and pass on k T with k = eta where T drives the motion, 1 / eta
        where it brakes it: J_load a = k T - other. The sign of T does not depend on k, so there is nothing to
        iterate.

        Args:
            tau: torque of the motors at the output [N m].
            other: torques that resist on the load's side [N m].
            J_rotor: inertia of the rotors at the output [kg m^2].
            J_load: inertia of the load [kg m^2].
            direction: +1 or -1.

        Returns:
            The torque at the output [N m]; never negative.
        """
        if self.efficiency is None:
            return 0.0
        carried = J_load * tau + J_rotor * other
        k = where(carried * direction > 0, self.efficiency, 1.0 / self.efficiency)
        return absolute((1.0 - k) * carried / (J_load + k * J_rotor))

    def bite(self, gap: Scalar) -> Scalar:
        """How far the teeth are pressed into each other, for rotor minus output angle [rad]."""
        b = 0.5 * present(self.backlash)
        return where(gap > b, gap - b, where(gap < -b, gap + b, 0.0))

    def contact(self, gap: Scalar, closing: Scalar) -> Scalar:
        """Torque through the teeth for rotor minus output angle, and the rate of that angle."""
        bite = self.bite(gap)
        return present(self.contact_stiffness) * bite + where(
            bite == 0.0, 0.0, self.contact_damping * closing
        )

    def contact_energy(self, gap: Scalar) -> Scalar:
        """Energy of the bent teeth [J]."""
        bite = self.bite(gap)
        return 0.5 * present(self.contact_stiffness) * bite * bite

    def behind(self, further: Gearbox) -> Gearbox:
        """These gears, each set with its motors, on the input of further ones: ratios and counts multiply."""
        if self.backlash is not None or further.backlash is not None:
            raise InvalidValue(
                "gears with backlash are followed by others; expected none: give the play of the whole train"
                " at its output"
            )
        passed = [g.efficiency for g in (self, further) if g.efficiency is not None]
        return dataclasses.replace(
            self,
            ratio=self.ratio * further.ratio,
            n_motors=self.n_motors * further.n_motors,
            efficiency=math.prod(passed) if passed else None,
        )

    def reflect(self, friction: _F) -> _F:
        """A friction measured at the rotor of each motor, as the output sees it.

        Torques grow with N, speeds shrink with 1/N; so B_1, B_2, B_3 grow with N^2, N^3, N^4.
        """
        changes = {}
        for f in dataclasses.fields(friction):
            value = getattr(friction, f.name)
            if value is None or f.name not in _POWERS:
                continue
            n = 1.0 if f.name == "stribeck_velocity" else float(self.n_motors)
            n = 1 / n if f.name.startswith("load_") else n
            changes[f.name] = n * abs(self.ratio) ** _POWERS[f.name] * value
        return dataclasses.replace(friction, **changes)
