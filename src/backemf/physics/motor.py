"""The motor at its rotor: winding, motor constant, limits of current and torque, iron loss, cogging.

Everything here is on the rotor's side of the gearbox and for one motor (MuJoCo's DC-motor note, sections 1.1
and 1.3).
"""

from __future__ import annotations

import math
from dataclasses import field, fields, replace
from numbers import Integral
from typing import ClassVar, NamedTuple

from ..errors import InvalidValue, MissingValue
from .maths import Scalar, clip, cos, exp, mean_decay, minimum, sin, where
from .quantity import Part, part, present, quantity
from .thermal import Heat, Thermal as Thermal, TwoNodeThermal as TwoNodeThermal

FADE = 0.02
"""Share of the peak-current budget over which the limit falls from peak to continuous; a jump would chatter.
"""


@part
class Limits(Part):
    """What the driver does to protect the motor. Each limit is absent unless given.

    Peak current follows an i^2 t rule: from cold, `peak_current` may flow for `peak_time`, then
    `continuous_current`. Derating: the limit falls smoothly from its value at `derating_start` to
    `safe_current` at `derating_end`.
    """

    path: ClassVar[str] = "motor.limits"

    current: float | None = quantity("A", "i_max", default=None, above=0)
    """Limit on the current itself: it holds torque and heating alike."""
    torque: float | None = quantity("N m", "tau_max", default=None, above=0)
    """Limit on the torque alone, as MuJoCo's forcerange: current and heating are not held."""
    current_rate: float | None = quantity("A/s", "(di/dt)_max", default=None, above=0)
    continuous_current: float | None = quantity("A", "i_c", default=None, above=0)
    peak_current: float | None = quantity("A", "i_peak", default=None, above=0, over="continuous_current")
    peak_time: float | None = quantity("s", "t_peak", default=None, above=0)
    safe_current: float | None = quantity("A", "i_safe", default=None, least=0)
    derating_start: float | None = quantity("degC", "T_1", default=None)
    derating_end: float | None = quantity("degC", "T_2", default=None, over="derating_start")

    def check(self) -> None:
        """Refuse rules of which a number is missing, and limits in the wrong order."""
        peak = (self.continuous_current, self.peak_current, self.peak_time)
        if any(v is not None for v in peak) and any(v is None for v in peak):
            raise MissingValue(
                "a peak-current rule needs continuous_current, peak_current and peak_time together"
            )
        if (
            self.peak_current is not None
            and self.continuous_current is not None
            and self.peak_current <= self.continuous_current
        ):
            raise InvalidValue(
                f"motor.limits.peak_current is {self.peak_current:g} A; expected more than"
                f" continuous_current, {self.continuous_current:g} A"
            )
        derating = (self.safe_current, self.derating_start, self.derating_end)
        if any(v is not None for v in derating):
            if any(v is None for v in derating):
                raise MissingValue(
                    "thermal derating needs safe_current, derating_start and derating_end together"
                )
            if self.current is None and self.peak_current is None:
                raise MissingValue(
                    "thermal derating needs the rated current it starts from: give limits.current or the"
                    " peak-current rule"
                )
            if present(self.derating_end) <= present(self.derating_start):
                raise InvalidValue(
                    f"motor.limits.derating_end is {self.derating_end:g} degC; expected more than"
                    f" derating_start, {self.derating_start:g} degC"
                )

    def ceiling(self, winding_temperature: Scalar | None, overload: Scalar | None) -> Scalar | None:
        """The largest current allowed now [A], or None where nothing limits it."""
        rated = self.current
        if self.peak_current is not None:
            i_c, i_p = present(self.continuous_current), self.peak_current
            peak = i_c + (i_p - i_c) * clip((1.0 - present(overload)) / FADE, 0.0, 1.0)
            rated = peak if rated is None else minimum(rated, peak)
        if self.safe_current is None or rated is None:
            return rated
        T1, T2 = present(self.derating_start), present(self.derating_end)
        x = clip((winding_temperature - T1) / (T2 - T1), 0.0, 1.0)
        s = 1.0 - x * x * (3.0 - 2.0 * x)
        safe = minimum(self.safe_current, rated)
        return safe + (rated - safe) * s

    def overload_after(self, overload: Scalar, square: Scalar, h: Scalar) -> Scalar:
        """The used share of the peak budget after a while.

        Args:
            overload: the share before.
            square: mean square of the current [A^2].
            h: for so long [s].

        Returns:
            The share; 1 is all of it.
        """
        i_c, i_p, t_p = present(self.continuous_current), present(self.peak_current), present(self.peak_time)
        return clip(overload + h * (square - i_c * i_c) / ((i_p * i_p - i_c * i_c) * t_p), 0.0, 1.0)

    @property
    def largest_current(self) -> float | None:
        """The most current that these limits ever allow, cold and rested [A]; None: no limit."""
        return min((i for i in (self.current, self.peak_current) if i is not None), default=None)

    def largest_torque(self, motor: Motor) -> float | None:
        """The most torque that these limits ever allow at the rotor, cold [N m]; None: no limit."""
        most = self.largest_current
        held = [] if most is None else [float(motor.torque_at(most, None))]
        return min([*held, *([] if self.torque is None else [self.torque])], default=None)

    def in_parallel(self, n: int) -> Limits:
        """Of n motors that share one shaft and one winding."""
        scaled = {f.name for f in fields(self)} - {"peak_time", "derating_start", "derating_end"}
        return replace(self, **{k: n * v for k in scaled if (v := getattr(self, k)) is not None})


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
        """At the rotor, for the rotor's angle [N m]."""
        A, N_p, phi = self.amplitude, self.periods, self.phase
        return A * sin(N_p * rotor_angle + phi)

    def energy(self, rotor_angle: Scalar) -> Scalar:
        """Potential energy [J]; the torque is minus its slope."""
        A, N_p, phi = self.amplitude, self.periods, self.phase
        return A / N_p * cos(N_p * rotor_angle + phi)


class CurrentOver(NamedTuple):
    """The winding over an interval: mean current, current at its end, mean of the current's square."""

    mean: Scalar
    end: Scalar
    square: Scalar


@part
class Motor(Part):
    """A DC motor, or a brushless one seen through its equivalent circuit:
    v = L di/dt + R i + K_e w, tau = K_t i."""

    path: ClassVar[str] = "motor"

    resistance: float = quantity("ohm", "R", above=0)
    torque_constant: float = quantity("N m/A", "K_t", above=0)
    back_emf_constant: float | None = quantity("V s/rad", "K_e", default=None, above=0)
    """Absent: equal to the torque constant, as energy demands. The difference is booked as a loss."""
    rotor_inertia: float = quantity("kg m^2", "J_r", default=0.0, least=0)
    inductance: float | None = quantity("H", "L", default=None, least=0, zero_is_absent=True)
    """Absent or 0: the current follows the voltage at once."""
    saturation_current: float | None = quantity("A", "i_sat", default=None, above=0)
    """K_t(i) = K_t / (1 + (i / i_sat)^2), K_e unchanged: at i_sat half the torque constant is left."""
    iron_loss: float | None = quantity("W s^2/rad^2", "K_fe", default=None, least=0)
    """Heats the motor with K_fe w^2, and drags the rotor with K_fe w: the energy must come from somewhere."""
    limits: Limits | None = field(default=None, metadata={"part": Limits})
    thermal: Heat | None = field(default=None, metadata={"part": Thermal})
    cogging: Cogging | None = field(default=None, metadata={"part": Cogging})

    def check(self) -> None:
        """Refuse derating of a winding whose temperature nobody knows."""
        if self.limits is not None and self.limits.safe_current is not None and self.thermal is None:
            raise MissingValue(
                "thermal derating needs motor.thermal: without it nothing knows how warm the winding is"
            )

    @property
    def has_current_state(self) -> bool:
        """Whether the current has a memory: an inductance, or a limit on its rate."""
        return self.inductance is not None or (
            self.limits is not None and self.limits.current_rate is not None
        )

    @property
    def has_peak_rule(self) -> bool:
        return self.limits is not None and self.limits.peak_current is not None

    def resistance_at(self, T: Scalar | None) -> Scalar:
        """R(T) = R_0 (1 + alpha (T - T_0)) [ohm]."""
        if self.thermal is None or T is None:
            return self.resistance
        return self.resistance * (1.0 + self.thermal.resistance_coefficient * (T - self.thermal.reference))

    def flux_at(self, T: Scalar | None) -> Scalar:
        """The magnets' flux relative to the reference temperature: K(T) / K_0."""
        if self.thermal is None or self.thermal.magnet_coefficient is None or T is None:
            return 1.0
        return 1.0 + self.thermal.magnet_coefficient * (T - self.thermal.reference)

    def back_emf_at(self, T: Scalar | None) -> Scalar:
        """K_e at a winding temperature [V s/rad]."""
        K_e = self.torque_constant if self.back_emf_constant is None else self.back_emf_constant
        return K_e * self.flux_at(T)

    def torque_at(self, i: Scalar, T: Scalar | None) -> Scalar:
        """Electromagnetic torque of a current [N m], saturation,
        magnet temperature and torque limit included."""
        K_t = self.torque_constant * self.flux_at(T)
        if self.saturation_current is not None:
            K_t = K_t / (1.0 + (i / self.saturation_current) ** 2)
        tau = K_t * i
        if self.limits is not None and self.limits.torque is not None:
            tau = clip(tau, -self.limits.torque, self.limits.torque)
        return tau

    def ceiling(self, T: Scalar | None, overload: Scalar | None) -> Scalar | None:
        """The largest current allowed now [A], or None where nothing limits it."""
        return None if self.limits is None else self.limits.ceiling(T, overload)

    def steady_current(self, v: Scalar, w: Scalar, T: Scalar | None, ceiling: Scalar | None) -> Scalar:
        """Current once the inductance has settled: (v - K_e w) / R, within its limit.

        Args:
            v: voltage at the terminals [V].
            w: speed of the rotor [rad/s].
            T: temperature of the winding [degC], where it is known.
            ceiling: limit of the current [A], where there is one.

        Returns:
            [A]
        """
        i = (v - self.back_emf_at(T) * w) / self.resistance_at(T)
        return i if ceiling is None else clip(i, -ceiling, ceiling)

    def current_over(
        self, i: Scalar, v: Scalar, w: Scalar, T: Scalar | None, ceiling: Scalar | None, h: Scalar
    ) -> CurrentOver:
        """The winding over a while at constant voltage and speed; the exact exponential where inductive.

        Args:
            i: current at the start [A].
            v: voltage at the terminals [V].
            w: speed of the rotor [rad/s].
            T: temperature of the winding [degC], where it is known.
            ceiling: limit of the current [A], where there is one.
            h: for so long [s].

        Returns:
            Its mean, its end and its mean square.
        """
        if not self.has_current_state:
            i1 = self.steady_current(v, w, T, ceiling)
            return CurrentOver(i1, i1, i1 * i1)
        target = self.steady_current(v, w, T, None)
        rate = None if self.limits is None else self.limits.current_rate
        if self.inductance is None:
            free, mean, square = target, target, target * target
        else:
            x = h * self.resistance_at(T) / self.inductance
            away = i - target
            free = target + away * exp(-x)
            mean = target + away * mean_decay(x)
            square = target * target + 2.0 * target * away * mean_decay(x) + away * away * mean_decay(2.0 * x)
        i1 = free if rate is None else clip(free, i - rate * h, i + rate * h)
        if ceiling is not None:
            i1 = clip(i1, -ceiling, ceiling)
        if rate is None and ceiling is None:
            return CurrentOver(mean, i1, square)
        held = i1 != free  # a limit acts: the current then runs on a straight line
        return CurrentOver(
            where(held, 0.5 * (i + i1), mean), i1, where(held, (i * i + i * i1 + i1 * i1) / 3.0, square)
        )

    def in_parallel(self, n: int) -> Motor:
        """n motors on one shaft as one of the same effect: n times the current through a winding of R / n."""
        if n == 1:
            return self
        return replace(
            self,
            resistance=self.resistance / n,
            rotor_inertia=n * self.rotor_inertia,
            inductance=None if self.inductance is None else self.inductance / n,
            saturation_current=None if self.saturation_current is None else n * self.saturation_current,
            iron_loss=None if self.iron_loss is None else n * self.iron_loss,
            limits=self.limits and self.limits.in_parallel(n),
            thermal=self.thermal and self.thermal.in_parallel(n),
            cogging=self.cogging and replace(self.cogging, amplitude=n * self.cogging.amplitude),
        )

    def turned_down(self, k: float) -> Motor:
        """The motor seen through gears of ratio k without loss: k times the torque, 1 / k of the speed."""
        limits, cogging, K_e = self.limits, self.cogging, self.back_emf_constant
        if limits is not None and limits.torque is not None:
            limits = replace(limits, torque=k * limits.torque)
        return replace(
            self,
            torque_constant=k * self.torque_constant,
            back_emf_constant=None if K_e is None else k * K_e,
            rotor_inertia=k * k * self.rotor_inertia,
            iron_loss=None if self.iron_loss is None else k * k * self.iron_loss,
            limits=limits,
            cogging=cogging
            and replace(cogging, amplitude=k * cogging.amplitude, periods=k * cogging.periods),
        )

    def iron_heat(self, w: Scalar) -> Scalar:
        """Heat of the iron loss at rotor speed w [W]."""
        return 0.0 if self.iron_loss is None else self.iron_loss * w * w

    def iron_drag(self, w: Scalar) -> Scalar:
        """Drag torque of the iron loss at rotor speed w [N m]."""
        return 0.0 if self.iron_loss is None else self.iron_loss * w
