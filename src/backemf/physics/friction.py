"""Friction at the output: dry, from viscous drag and Coulomb's level to M6, whose level follows what the
gears carry; and by contacts that bend before they slip.

A friction says how much torque it takes to move in a direction (`level`) and how speed adds to it (`drag`).
Sticking itself is decided by the time step. Dahl, LuGre and Maxwell-slip hold a joint by bristles: springs
that follow the motion until they slip.

Symbols: s = exp(-|w / w_s|^gamma) is 1 at rest and 0 at speed; t_m is the motor's torque at the output, t_e
every other torque on the joint except friction (gravity, springs).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..errors import InvalidValue
from ..findings import Finding
from ..registry import Registry
from .maths import Scalar, absolute, clip, exp, expm1, mean_decay, minimum, power, side, where
from .quantity import Part, check_derived, part, present, quantity

Bent = tuple[Scalar, ...]
"""Deflections of the bristles, in the order of their states."""
STROKE = 2e-3
"""Radians that a servo's gears bend before they slip, for starts."""
NARROW = 0.1
"""Share of the Stribeck velocity at which the peak of a joint at rest is gone."""


@part
class Viscous(Part):
    """Drag that grows with speed and nothing else: (B_1 + B_2 |w| + B_3 w^2) w.
    The base of every other friction."""

    path: ClassVar[str] = "friction"
    dry: ClassVar[bool] = False
    """Whether it can hold a joint at rest."""
    bristles: ClassVar[tuple[str, ...]] = ()
    """States of contacts that bend before they slip, instead of sticking at once."""
    loaded: ClassVar[bool] = False
    """Whether its level grows with the torque the gears carry, in place of a gearbox efficiency."""

    viscous: float = quantity(
        "N m s/rad", "B_1", default=0.0, least=0, start=lambda size: 2e-3 * size.torque / size.speed
    )
    viscous_quadratic: float | None = quantity("N m s^2/rad^2", "B_2", default=None, least=0)
    viscous_cubic: float | None = quantity("N m s^3/rad^3", "B_3", default=None, least=0)
    asymmetry: float | None = quantity("1", "a", default=None, least=-1, most=1, signed=1.0)
    """Dry friction is (1 + a) times its level in the positive direction and (1 - a) times in the negative
    one."""
    offset: float | None = quantity("N m", "tau_off", default=None, signed=1.0)
    """A constant torque on the joint that friction is measured around, such as a hose or a cable pulling."""

    def drag(self, w: Scalar) -> Scalar:
        """Torque that grows with speed; it opposes w."""
        total = self.viscous
        if self.viscous_quadratic is not None:
            total = total + self.viscous_quadratic * absolute(w)
        if self.viscous_cubic is not None:
            total = total + self.viscous_cubic * w * w
        return total * w

    def stribeck(self, w: Scalar) -> Scalar:
        """How much of the extra friction at rest is left at a lasting speed w."""
        return 0.0

    @property
    def memory(self) -> tuple[str, ...]:
        """States of a contact that takes time to age."""
        return ()

    def remaining(self, state: Mapping[str, Scalar], w: Scalar, h: Scalar) -> Scalar:
        """How much of the extra friction at rest is left in the middle of an interval.

        Args:
            state: at its start, by name.
            w: mean velocity of the output [rad/s].
            h: its length [s].

        Returns:
            The share; with a peak more than 1 at rest.
        """
        return self.stribeck(w)

    def resting(self, state: Mapping[str, Scalar], h: Scalar) -> Scalar:
        """The same of a joint that stops at once; the arguments are those of `remaining`."""
        return 1.0

    def remember(self, state: Mapping[str, Scalar], w: Scalar, h: Scalar) -> dict[str, Scalar]:
        """The states of `memory` after an interval.

        Args:
            state: at its start, by name.
            w: mean velocity of the output [rad/s].
            h: its length [s].

        Returns:
            Those that it has, by name.
        """
        return {}

    def level(self, s: Scalar, t_m: Scalar, t_e: Scalar, direction: Scalar) -> Scalar:
        """Dry torque against motion in a direction.

        Args:
            s: 1 at rest and 0 at speed: how much of the extra friction at rest is left.
            t_m: torque of the motors at the output [N m].
            t_e: every other torque on the joint except friction [N m].
            direction: +1 or -1.

        Returns:
            The torque at the output [N m]; never negative.
        """
        return 0.0

    @property
    def bristle(self) -> bool:
        """Whether its contact bends before it slips."""
        return bool(self.bristles)

    @property
    def name(self) -> str:
        """Its name in the table of frictions."""
        return FRICTIONS.name_of(type(self))

    @property
    def moving(self) -> Scalar:
        """Dry torque of an unloaded joint at speed [N m]."""
        return 0.0

    @property
    def breakaway(self) -> Scalar:
        """Dry torque that sets an unloaded joint in motion [N m]."""
        return self.moving

    @property
    def fades_at(self) -> float | None:
        """Speed around which the extra friction at rest fades [rad/s]; None where there is none."""
        return None

    @property
    def passive_limit(self) -> float | None:
        """The micro-damping from which bristles can feed energy into the joint [N m s/rad]; None: never."""
        return None

    @property
    def drag_terms(self) -> dict[str, Any]:
        """The numbers of `drag`, by field."""
        return {
            "viscous": self.viscous,
            "viscous_quadratic": self.viscous_quadratic,
            "viscous_cubic": self.viscous_cubic,
        }

    def as_lugre(self, moving: float, breakaway: float, **drag: Any) -> LuGre | None:
        """Its bristle as a plain LuGre.

        Args:
            moving: dry torque at speed, at the output [N m].
            breakaway: dry torque that sets the joint in motion [N m].
            drag: the numbers of its drag, by field.

        Returns:
            The friction; None where it has no bristle.
        """
        return None

    def directional_level(self, level: Scalar, direction: Scalar) -> Scalar:
        """A level as it is in a direction (+1 or -1), where the two differ."""
        return level if self.asymmetry is None else level * (1.0 + self.asymmetry * direction)

    sided = directional_level
    """What laws of other packages may still call it."""

    def deflect(self, z: Bent, w: Scalar, g: Scalar, h: Scalar) -> tuple[Bent, Scalar]:
        """Bend the bristles.

        Args:
            z: their deflections [rad].
            w: mean velocity of the output [rad/s].
            g: torque at which they slip [N m].
            h: for so long [s].

        Returns:
            (deflections after that [rad], mean torque against the motion [N m]).
        """
        raise NotImplementedError

    def spring(self, z: Bent, w: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """(torque of the bent bristles, their stiffness, their micro-damping at speed w)."""
        raise NotImplementedError

    def bristle_energy(self, z: Bent) -> Scalar:
        """Energy in the bent bristles [J]."""
        return 0.0

    def findings(self) -> list[Finding]:
        """What is noteworthy about its numbers."""
        return []


@part
class Coulomb(Viscous):
    """M1: a constant level tau_c, plus drag."""

    dry: ClassVar[bool] = True

    coulomb: float = quantity("N m", "tau_c", least=0, start=lambda size: size.dry)

    @property
    def moving(self) -> Scalar:
        return self.coulomb

    def level(self, s: Scalar, t_m: Scalar, t_e: Scalar, direction: Scalar) -> Scalar:
        return self.directional_level(self.coulomb, direction)


@part
class Stribeck(Coulomb):
    """M2: tau_c + (tau_s - tau_c) s, more at rest than in motion."""

    static: float = quantity("N m", "tau_s", least=0, over="coulomb", start=lambda size: 1.6 * size.dry)
    """Torque that sets a resting joint in motion; at least the Coulomb torque."""
    stribeck_velocity: float = quantity(
        "rad/s", "w_s", above=0, start=lambda size: 0.1 * size.speed, within=30.0
    )
    stribeck_exponent: float | None = quantity("1", "gamma", default=None, above=0, within=4.0)
    """Absent: 2."""
    peak: float | None = quantity("1", "b", default=None, least=0)
    """By how much more of the extra friction at rest a joint holds before it breaks away; gone at a tenth of
    w_s, so that what slips slowly has less."""
    dwell: float | None = quantity("s", "T", default=None, above=0, within=30.0)
    """Time in which the extra friction at rest comes back; at a lasting speed it is 1 / (1 + |w / w_s|^gamma)
    of itself, gamma 1 if absent."""

    def check(self) -> None:
        """Refuse less friction at rest than in motion, and rest of what never rests."""
        if self.bristle and (self.peak is not None or self.dwell is not None):
            name = "friction.dwell" if self.peak is None else "friction.peak"
            raise InvalidValue(
                f"{name} is of contacts that stick at once, and {self.kind} bends; expected a friction"
                " without stiffness, such as M4"
            )
        if self.static < self.coulomb:
            raise InvalidValue(
                f"friction.static is {self.static:g} N m, below friction.coulomb, {self.coulomb:g} N m; "
                "friction at rest cannot be less than in motion: expected static >= coulomb"
            )

    @property
    def breakaway(self) -> Scalar:
        return self.static + (self.peak or 0.0) * (self.static - self.coulomb)

    @property
    def fades_at(self) -> float | None:
        return self.stribeck_velocity

    def stribeck(self, w: Scalar) -> Scalar:
        plain = self.dwell is None
        left = fading(w, self.stribeck_velocity, self.stribeck_exponent) if plain else 1 / (1 + self._pace(w))
        return left + self._holding(w)

    def _pace(self, w: Scalar) -> Scalar:
        x = absolute(w) / self.stribeck_velocity
        return x if self.stribeck_exponent is None else power(x, self.stribeck_exponent)

    def _holding(self, w: Scalar) -> Scalar:
        return 0.0 if self.peak is None else self.peak * fading(w, NARROW * self.stribeck_velocity, None)

    @property
    def memory(self) -> tuple[str, ...]:
        return () if self.dwell is None else ("loosened",)

    def remaining(self, state: Mapping[str, Scalar], w: Scalar, h: Scalar) -> Scalar:
        if self.dwell is None:
            return self.stribeck(w)
        return 1.0 - self._loosen(state, w, 0.5 * h) + self._holding(w)

    def resting(self, state: Mapping[str, Scalar], h: Scalar) -> Scalar:
        left = 1.0 if self.dwell is None else 1.0 - self._loosen(state, 0.0, 0.5 * h)
        return left if self.peak is None else left + self.peak

    def remember(self, state: Mapping[str, Scalar], w: Scalar, h: Scalar) -> dict[str, Scalar]:
        return {name: self._loosen(state, w, h) for name in self.memory}

    def _loosen(self, state: Mapping[str, Scalar], w: Scalar, h: Scalar) -> Scalar:
        """How much of the extra friction is gone after h seconds at a velocity w: rate and state, exact."""
        x = self._pace(w)
        lasting = x / (1.0 + x)
        return lasting + (state["loosened"] - lasting) * exp(-(1.0 + x) * h / present(self.dwell))

    def level(self, s: Scalar, t_m: Scalar, t_e: Scalar, direction: Scalar) -> Scalar:
        return self.directional_level(self.coulomb + (self.static - self.coulomb) * s, direction)


@part
class TorqueProportional(Coulomb):
    """A gear's loss proportional to the motor's torque,
    with a share of its own when the load drives the motor."""

    loaded: ClassVar[bool] = True

    load_driving: float = quantity("1", "c_d", least=0, most=1, start=lambda size: size.lost)
    """Share of the motor's torque lost while it drives the joint: 1 - efficiency."""
    load_back_driving: float = quantity("1", "c_b", least=0, start=lambda size: size.lost)
    """Share lost while the joint moves against the motor's torque: 1 / efficiency - 1."""

    def level(self, s: Scalar, t_m: Scalar, t_e: Scalar, direction: Scalar) -> Scalar:
        share = where(t_m * direction > 0, self.load_driving, self.load_back_driving)
        return self.directional_level(self.coulomb + share * absolute(t_m), direction)


@part
class M3(Coulomb):
    """Level grows with the torque the gears carry: tau_c + K_l |t_m - t_e|."""

    loaded: ClassVar[bool] = True

    load: float = quantity("1", "K_l", least=0, start=lambda size: 0.3 * size.lost)
    load_quadratic: float | None = quantity("1/(N m)", "K_q", default=None, least=0)
    """The load counts 1 + K_q |t_m - t_e| times."""
    load_asymmetry: float | None = quantity("1", "a_l", default=None, least=-1, most=1, signed=1.0)
    """The load counts (1 + a_l) times where the motor drives the joint and (1 - a_l) where the load does."""

    def seen_load(self, t_m: Scalar, t_e: Scalar, direction: Scalar) -> Scalar:
        """The load as friction sees it [N m]; the arguments are those of `level`."""
        load = absolute(t_m - t_e)
        if self.load_quadratic is not None:
            load = load * (1.0 + self.load_quadratic * load)
        if self.load_asymmetry is not None:
            load = load * (1.0 + where(t_m * direction > 0, 1.0, -1.0) * self.load_asymmetry)
        return load

    def level(self, s: Scalar, t_m: Scalar, t_e: Scalar, direction: Scalar) -> Scalar:
        load = self.load * self.seen_load(t_m, t_e, direction)
        return self.directional_level(self.coulomb + load, direction)


@part
class M4(M3, Stribeck):
    """M3 with more friction at rest: tau_c + K_l |t_m - t_e| + s (tau_s - tau_c + K_ls |t_m - t_e|)."""

    load_stribeck: float = quantity("1", "K_ls", least=0, start=lambda size: 0.15 * size.lost)

    def level(self, s: Scalar, t_m: Scalar, t_e: Scalar, direction: Scalar) -> Scalar:
        carried = self.seen_load(t_m, t_e, direction)
        moving = self.coulomb + self.load * carried
        return self.directional_level(
            moving + s * (self.static - self.coulomb + self.load_stribeck * carried), direction
        )


@part
class M5(Stribeck):
    """M4 with shares of their own for motor and load: tau_c + |K_m t_m - K_e t_e| + s (tau_s - tau_c + |K_ms
    t_m - K_es t_e|)."""

    loaded: ClassVar[bool] = True

    stribeck_exponent: float | None = quantity(
        "1", "gamma", default=None, above=0, start=lambda size: 1.2, within=4.0
    )
    load_motor: float = quantity("1", "K_m", least=0, start=lambda size: 0.4 * size.lost)
    load_external: float = quantity("1", "K_e", least=0, start=lambda size: 0.2 * size.lost)
    load_motor_stribeck: float = quantity("1", "K_ms", least=0, start=lambda size: 0.3 * size.lost)
    load_external_stribeck: float = quantity("1", "K_es", least=0, start=lambda size: 0.2 * size.lost)

    def at_rest(self, t_m: Scalar, t_e: Scalar) -> Scalar:
        """What is added at rest, times s."""
        return (
            self.static
            - self.coulomb
            + absolute(self.load_motor_stribeck * t_m - self.load_external_stribeck * t_e)
        )

    def level(self, s: Scalar, t_m: Scalar, t_e: Scalar, direction: Scalar) -> Scalar:
        moving = self.coulomb + absolute(self.load_motor * t_m - self.load_external * t_e)
        return self.directional_level(moving + s * self.at_rest(t_m, t_e), direction)


@part
class M6(M5):
    """M5 plus s Q where motor and load oppose each other:
    Q = K_eq t_e^2 if |t_m| > |t_e|, else K_mq t_m^2."""

    load_motor_quadratic: float = quantity("1/(N m)", "K_mq", least=0, start=lambda size: 0.02 / size.torque)
    load_external_quadratic: float = quantity(
        "1/(N m)", "K_eq", least=0, start=lambda size: 0.02 / size.torque
    )

    def at_rest(self, t_m: Scalar, t_e: Scalar) -> Scalar:
        q = where(
            absolute(t_m) > absolute(t_e),
            self.load_external_quadratic * t_e * t_e,
            self.load_motor_quadratic * t_m * t_m,
        )
        opposed = t_m * t_e < 0
        return M5.at_rest(self, t_m, t_e) + where(opposed, q, 0.0)


def fading(w: Scalar, scale: Scalar, exponent: Scalar | None) -> Scalar:
    """exp(-|w / scale|^exponent); an absent exponent is 2."""
    x = absolute(w) / scale
    return exp(-(x * x)) if exponent is None else exp(-power(x, exponent))


class Bristle(Viscous):
    """What contacts that bend share; here with one deflection z: dz/dt = w - sigma_0 |w| z / g, g the level
    of slip."""

    stiffness: float
    coulomb: float

    def check(self) -> None:
        """Refuse a bristle that slips at nothing."""
        if self.coulomb <= 0:
            raise InvalidValue(
                f"friction.coulomb is {self.coulomb:g} N m with a bristle stiffness; expected more than 0: a"
                " bristle needs a torque at which it slips"
            )

    def as_lugre(self, moving: float, breakaway: float, **drag: Any) -> LuGre:
        return LuGre(**drag, coulomb=moving, static=moving, stribeck_velocity=1.0, stiffness=self.stiffness)

    def micro_damping(self, w: Scalar) -> Scalar:
        """sigma_1 at speed w."""
        return 0.0

    def spring(self, z: Bent, w: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        return self.stiffness * z[0], self.stiffness, self.micro_damping(w)

    def bristle_energy(self, z: Bent) -> Scalar:
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


@part
class MaxwellSlip(Bristle, Coulomb):
    """Four springs side by side, each slipping at a quarter of the level: a contact that softens as it bends
    and remembers where it turned back.

    Each spring reaches `softening` times as far as the one before, and is as much softer (the parallel
    Maxwell elements of Lampaert, Al-Bender and Swevers, 2003, with equal levels).
    """

    bristles: ClassVar[tuple[str, ...]] = ("bristle_1", "bristle_2", "bristle_3", "bristle_4")

    stiffness: float = quantity("N m/rad", "k", above=0, start=lambda size: 1.6 * size.dry / STROKE)
    """Of all springs together, before any slips."""
    softening: float = quantity("1", "s", default=2.0, least=1, start=lambda size: 2.0)

    def springs(self) -> Bent:
        """Stiffness of each spring [N m/rad]."""
        k = [1.0, 1.0 / self.softening]
        k += [k[1] * k[1], k[1] * k[1] * k[1]]
        return tuple(self.stiffness * x / sum(k) for x in k)

    def spring(self, z: Bent, w: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        return sum(k * x for k, x in zip(self.springs(), z, strict=True)), self.stiffness, 0.0

    def bristle_energy(self, z: Bent) -> Scalar:
        return sum(0.5 * k * x * x for k, x in zip(self.springs(), z, strict=True))

    def deflect(self, z: Bent, w: Scalar, g: Scalar, h: Scalar) -> tuple[Bent, Scalar]:
        # Each spring follows the motion until it slips: exact for constant w.
        n, after, torque = side(w), [], 0.0
        travel = n * w * h
        for k, x in zip(self.springs(), z, strict=True):
            reach = g / (len(z) * k)
            x = clip(x, -reach, reach)  # where the level has fallen it has slipped back
            bends = minimum(travel, reach - n * x)
            after.append(x + n * bends)
            torque = torque + k * (after[-1] - 0.5 * n * bends * bends / where(travel > 0, travel, 1.0))
        return tuple(after), torque


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
        Bristle.check(self)
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


@part
class LoadMaxwellSlip(MaxwellSlip, M4):
    """Maxwell slip whose springs slip at M4's level: a contact that remembers, and holds more under load."""

    check = LuGre.check
    as_lugre = LuGre.as_lugre
    damping: ClassVar[float] = 0.0


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
        "load-maxwell-slip": LoadMaxwellSlip,
    },
    aliases={"m1": "coulomb", "m2": "stribeck"},
    group="backemf.frictions",
    check=lambda law: check_derived(law, Viscous, FRICTIONS.own()),
)
"""Every friction by name, from poor to rich."""
