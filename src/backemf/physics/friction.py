"""Friction at the output: the dry laws from dry.py, and contacts that bend before they slip.

Dahl, LuGre and Maxwell-slip hold a joint by bristles: springs that follow the motion until they slip.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..errors import InvalidValue
from ..findings import Finding
from ..registry import Registry
from .dry import (
    M3 as M3,
    M4 as M4,
    M5 as M5,
    M6 as M6,
    STROKE,
    Bent,
    Coulomb as Coulomb,
    Stribeck as Stribeck,
    TorqueProportional as TorqueProportional,
    Viscous as Viscous,
    fading,
)
from .maths import Scalar, clip, expm1, mean_decay, minimum, side, where
from .quantity import check_derived, part, quantity


class Bristle:
    """What Dahl and LuGre share: a bristle deflection z with dz/dt = w - sigma_0 |w| z / g, g the level of
    slip."""

    stiffness: float

    def micro_damping(self, w: Scalar) -> Scalar:
        """sigma_1 at speed w."""
        return 0.0

    def spring(self, z: Bent, w: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        return self.stiffness * z[0], self.stiffness, self.micro_damping(w)

    def bent(self, z: Bent) -> Scalar:
        return 0.5 * self.stiffness * z[0] * z[0]

    def deflect(self, z: Bent, w: Scalar, g: Scalar, h: Scalar) -> tuple[Bent, Scalar]:
        z1, torque = self.bend(z[0], w, g, h)
        return (z1,), torque

    def bend(self, z: Scalar, w: Scalar, g: Scalar, h: Scalar) -> tuple[Scalar, Scalar]:
        """(deflection after h seconds, mean torque): exact for constant w, stable for any h."""
        sigma_0, n = self.stiffness, side(w)
        x = sigma_0 * (n * w) * h / g
        slip = g / sigma_0 * n  # the deflection at which it slips
        z1 = slip + (z - slip) * (1.0 + expm1(-x))
        mean = slip + (z - slip) * mean_decay(x)
        return z1, sigma_0 * mean + self.micro_damping(w) * (z1 - z) / h


@part
class Dahl(Bristle, Coulomb):
    """A bristle that slips at the Coulomb level: a spring for small motions, hysteresis on reversal,
    no stiction peak."""

    bristles: ClassVar[tuple[str, ...]] = ("bristle",)

    stiffness: float = quantity("N m/rad", "sigma_0", above=0, start=lambda size: 1.6 * size.dry / STROKE)

    def check(self) -> None:
        _need_level(self.coulomb)

    def as_lugre(self, moving: float, breakaway: float, **drag: Any) -> LuGre:
        return LuGre(**drag, coulomb=moving, static=moving, stribeck_velocity=1.0, stiffness=self.stiffness)


@part
class MaxwellSlip(Coulomb):
    """Four springs side by side, each slipping at a quarter of the level: a contact that softens as it bends
    and remembers where it turned back.

    Each spring reaches `softening` times as far as the one before, and is as much softer (the parallel
    Maxwell elements of Lampaert, Al-Bender and Swevers, 2003, with equal levels).
    """

    bristles: ClassVar[tuple[str, ...]] = ("bristle_1", "bristle_2", "bristle_3", "bristle_4")

    stiffness: float = quantity("N m/rad", "k", above=0, start=lambda size: 1.6 * size.dry / STROKE)
    """Of all springs together, before any slips."""
    softening: float = quantity("1", "s", default=2.0, least=1, start=lambda size: 2.0)

    def check(self) -> None:
        _need_level(self.coulomb)

    def springs(self) -> Bent:
        """Stiffness of each spring [N m/rad]."""
        k = [1.0, 1.0 / self.softening]
        k += [k[1] * k[1], k[1] * k[1] * k[1]]
        return tuple(self.stiffness * x / sum(k) for x in k)

    def spring(self, z: Bent, w: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        return sum(k * x for k, x in zip(self.springs(), z, strict=True)), self.stiffness, 0.0

    def bent(self, z: Bent) -> Scalar:
        return sum(0.5 * k * x * x for k, x in zip(self.springs(), z, strict=True))

    def deflect(self, z: Bent, w: Scalar, g: Scalar, h: Scalar) -> tuple[Bent, Scalar]:
        """Each spring follows the motion until it slips: exact for constant w."""
        n, after, torque = side(w), [], 0.0
        travel = n * w * h
        for k, x in zip(self.springs(), z, strict=True):
            reach = g / (len(z) * k)
            x = clip(x, -reach, reach)  # where the level has fallen it has slipped back
            bends = minimum(travel, reach - n * x)
            after.append(x + n * bends)
            torque = torque + k * (after[-1] - 0.5 * n * bends * bends / where(travel > 0, travel, 1.0))
        return tuple(after), torque

    def as_lugre(self, moving: float, breakaway: float, **drag: Any) -> LuGre:
        return LuGre(**drag, coulomb=moving, static=moving, stribeck_velocity=1.0, stiffness=self.stiffness)


@part
class LuGre(Bristle, Stribeck):
    """A bristle that slips at the Stribeck level, with micro-damping (MuJoCo's DC-motor note, equations 9 and
    10, with
    |w / w_s|).

    Its viscous term sigma_2 is `viscous`. With `damping_exponent` beta the micro-damping fades as exp(-|w /
    w_s|^beta).
    """

    bristles: ClassVar[tuple[str, ...]] = ("bristle",)

    stiffness: float = quantity("N m/rad", "sigma_0", above=0, start=lambda size: 1.6 * size.dry / STROKE)
    damping: float = quantity(
        "N m s/rad",
        "sigma_1",
        default=0.0,
        least=0,
        start=lambda size: 0.032 * size.dry / STROKE / max(size.speed, 1e-9),
    )
    damping_exponent: float | None = quantity("1", "beta", default=None, above=0)

    def check(self) -> None:
        _need_level(self.coulomb)
        Stribeck.check(self)

    def as_lugre(self, moving: float, breakaway: float, **drag: Any) -> LuGre:
        same = {"stribeck_velocity": self.stribeck_velocity, "stiffness": self.stiffness}
        return LuGre(**drag, **same, coulomb=moving, static=breakaway, damping=self.damping)

    def micro_damping(self, w: Scalar) -> Scalar:
        if self.damping_exponent is None:
            return self.damping
        return self.damping * fading(w, self.stribeck_velocity, self.damping_exponent)

    @property
    def passive_limit(self) -> float | None:
        """sigma_2 tau_c / (tau_s - tau_c); None without a peak at rest, or where the damping fades."""
        extra = self.static - self.coulomb
        return (
            None if extra == 0 or self.damping_exponent is not None else self.viscous * self.coulomb / extra
        )

    def findings(self) -> list[Finding]:
        """Whether the passivity condition sigma_2 > sigma_1 (tau_s - tau_c) / tau_c holds."""
        most = self.passive_limit
        if most is None or self.damping < most or self.damping == 0:
            return []
        bound = self.damping * (self.static - self.coulomb) / self.coulomb
        return [
            Finding(
                code="not_passive",
                text=(
                    f"LuGre can feed energy into the joint: viscous is {self.viscous:g}, passivity needs more"
                    f" than damping (static - coulomb) / coulomb = {bound:g} N m s/rad."
                ),
                remedy=(
                    "lower friction.damping, raise friction.viscous, or let the damping fade with speed"
                    " (friction.damping_exponent)"
                ),
                numbers={"viscous": self.viscous, "bound": bound},
            )
        ]


@part
class LoadLuGre(LuGre, M4):
    """LuGre whose level of slip grows with the carried torque: M4's level under a bristle."""


def _need_level(coulomb: float) -> None:
    if coulomb <= 0:
        raise InvalidValue(
            f"friction.coulomb is {coulomb:g} N m with a bristle stiffness; expected more than 0: a bristle"
            " needs a torque at which it slips"
        )


FRICTIONS: Registry[type[Viscous]] = Registry(
    "friction",
    {
        "viscous": Viscous,
        "coulomb": Coulomb,
        "stribeck": Stribeck,
        "torque-proportional": TorqueProportional,
        "m3": M3,
        "m4": M4,
        "m5": M5,
        "m6": M6,
        "dahl": Dahl,
        "maxwell-slip": MaxwellSlip,
        "lugre": LuGre,
        "load-lugre": LoadLuGre,
    },
    aliases={"m1": "coulomb", "m2": "stribeck"},
    group="backemf.frictions",
    check=lambda law: check_derived(law, Viscous, FRICTIONS.own()),
)
"""Every friction by name, from poor to rich."""
