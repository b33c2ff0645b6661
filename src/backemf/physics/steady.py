"""Every closed form, once: what a motor, an actuator or a servo does when nothing changes any more.

`Line` is the straight line of a motor at a voltage, at its rotor or seen through its gears; sheets, exports,
gains, reports and explanations all ask it. Where a source has a formula wrong, see docs/errata.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .actuator import Actuator
from .maths import Scalar, exp, mean_decay, side, where

if TYPE_CHECKING:
    from .joint_law import JointLaw


class Line(NamedTuple):
    """Torque over speed of a motor at a voltage: tau = K_t (V - K_e w) / R, less dry and viscous drag.

    At the rotor, or at the output: there K_t is that of all motors for one ampere in each, n N K_t.
    """

    R: float
    """Resistance of each winding [ohm]."""
    K_t: float
    """[N m/A]"""
    K_e: float
    """[V s/rad]"""
    V: float = 0.0
    """[V]"""
    dry: float = 0.0
    """[N m]"""
    viscous: float = 0.0
    """[N m s/rad]"""

    @property
    def torque_per_volt(self) -> float:
        return self.K_t / self.R

    @property
    def damping(self) -> float:
        """Of the back-EMF: K_t K_e / R [N m s/rad]."""
        return self.K_t * self.K_e / self.R

    @property
    def gradient(self) -> float:
        """Speed lost per torque: R / (K_t K_e) [rad/s per N m]."""
        return self.R / (self.K_t * self.K_e)

    @property
    def stall_current(self) -> float:
        return self.V / self.R

    @property
    def stall_torque(self) -> float:
        """Electrical: K_t V / R, before friction."""
        return self.K_t * self.V / self.R

    @property
    def net_stall_torque(self) -> float:
        """What is left of it at the shaft, dry friction taken off; 0 where friction holds the motor."""
        return max(self.stall_torque - self.dry, 0.0)

    @property
    def ideal_speed(self) -> float:
        """At which the back-EMF equals the voltage."""
        return self.V / self.K_e

    @property
    def no_load_speed(self) -> float:
        """At which drag balances the motor; 0 inside the dead zone."""
        return self.net_stall_torque / (self.damping + self.viscous)

    @property
    def no_load_current(self) -> float:
        return (self.dry + self.viscous * self.no_load_speed) / self.K_t

    @property
    def best_efficiency(self) -> float | None:
        """(1 - sqrt(I_0 R / V))^2 for dry drag; None where the motor does not turn."""
        lost = self.no_load_current * self.R
        return (1.0 - math.sqrt(lost / self.V)) ** 2 if 0.0 <= lost < self.V else None

    def speed_at(self, current: float) -> float:
        """At which a current flows."""
        return (self.V - self.R * current) / self.K_e

    def shaft_torque_at(self, current: float) -> float:
        """What a current leaves at the shaft; drag as at no load, as sheets count it."""
        return self.K_t * current - self.dry - self.viscous * self.no_load_speed

    def time_constant(self, inertia: float) -> float:
        """Mechanical: R J / (K_t K_e) [s]."""
        return self.R * inertia / (self.K_t * self.K_e)

    def behind_gears(self, ratio: float, n_motors: int = 1) -> Line:
        """The same behind gears: n N K_t, N K_e; the drag of n motors as the output sees it."""
        N, n = abs(ratio), n_motors
        dry, viscous = n * N * self.dry, n * N * N * self.viscous
        return self._replace(K_t=n * N * self.K_t, K_e=N * self.K_e, dry=dry, viscous=viscous)

    # Gains of a mechanism behind this motor: u = kS sgn(w) + kV w + kA dw/dt.

    def voltage_gains(self, inertia: float) -> Feedforward:
        """kS = R tau / K_t, kV = K_e + R b / K_t, kA = R J / K_t."""
        per = self.R / self.K_t
        return Feedforward(per * self.dry, self.K_e + per * self.viscous, per * inertia)

    def current_gains(self, inertia: float) -> Feedforward:
        """In amperes of each motor: the same torques over K_t; a current loop hides the back-EMF."""
        return Feedforward(self.dry / self.K_t, self.viscous / self.K_t, inertia / self.K_t)

    def behind_voltage(self, gains: Feedforward) -> DrivenLoad:
        """The mechanism behind gains measured in volts."""
        per = self.K_t / self.R
        return DrivenLoad(gains.kA * per, gains.kS * per, (gains.kV - self.K_e) * per)

    def behind_current(self, gains: Feedforward) -> DrivenLoad:
        """The mechanism behind gains measured in amperes of each motor."""
        return DrivenLoad(gains.kA * self.K_t, gains.kS * self.K_t, gains.kV * self.K_t)


class Feedforward(NamedTuple):
    """u = kS sgn(w) + kV w + kA dw/dt; u in volts or amperes, w in rad/s at the output."""

    kS: float
    kV: float
    kA: float


class DrivenLoad(NamedTuple):
    """What a motor and its gains tell of the mechanism behind the gearbox, at the output."""

    inertia: float
    """Rotors included [kg m^2]."""
    friction: float
    """Coulomb torque, the motors' own included [N m]."""
    viscous: float
    """[N m s/rad]"""


def line(actuator: Actuator, v: float = 0.0) -> Line:
    """An actuator's line at its output, cold: dry friction of the unloaded joint, viscous with iron drag."""
    motor, gearbox, friction = actuator.motor, actuator.gearbox, actuator.friction
    bare = Line(motor.resistance, motor.torque_constant, motor.back_emf_at(None), v)
    geared = bare.behind_gears(gearbox.ratio, gearbox.n_motors)
    return geared._replace(dry=float(friction.moving), viscous=friction.viscous + iron_drag(actuator))


def iron_drag(actuator: Actuator) -> float:
    """Drag of the iron loss at the output for one rad/s [N m s/rad]."""
    gearbox = actuator.gearbox
    return float(gearbox.output_torque(actuator.motor.iron_drag(gearbox.rotor_speed(1.0))))


def armature(actuator: Actuator) -> float:
    """Inertia of the rotors at the output [kg m^2]."""
    return float(actuator.gearbox.output_inertia(actuator.motor.rotor_inertia))


def torque_limit(actuator: Actuator) -> float | None:
    """The most torque of the motors at the output: by voltage, current or torque limit [N m]; None: none."""
    volts, limits = actuator.drive.ceiling({}), actuator.motor.limits
    held = [] if volts is None else [line(actuator, float(volts)).stall_torque]
    most = None if limits is None else limits.largest_torque(actuator.motor)
    return min(
        [*held, *([] if most is None else [abs(float(actuator.gearbox.output_torque(most)))])], default=None
    )


class TorqueLoop(NamedTuple):
    """A drive's feedback as a simulator's position actuator has it, at the output."""

    stiffness: float
    """N m/rad"""
    integral: float
    """N m/(rad s)"""
    damping: float
    """N m s/rad: the law's own, without back-EMF and friction."""


def joint_law(actuator: Actuator, **options: Any) -> JointLaw:
    """What simulators without a motor model take for an actuator, at its output.

    Args:
        actuator: whose law it is.
        options: `load`, `amplitude` and `volts` of `JointLaw.of`.
    """
    from .joint_law import JointLaw  # which is made of the forms of this file

    return JointLaw.of(actuator, **options)


def torque_loop(actuator: Actuator) -> TorqueLoop | None:
    """A drive's gains in newton-metres at the output; None where it has no feedback."""
    loop = actuator.drive.loop
    if loop is None:
        return None
    scale = line(actuator).torque_per_volt if loop.effort == "V" else 1.0
    p, i, d = (scale * k for k in (loop.proportional, loop.integral, loop.derivative))
    return TorqueLoop(p, i, d) if loop.of == "position" else TorqueLoop(i, 0.0, p)


def natural_frequency(stiffness: float, inertia: float) -> float:
    """sqrt(k / J) [rad/s]."""
    return math.sqrt(stiffness / inertia)


def damping_ratio(stiffness: float, damping: float, inertia: float) -> float:
    """d / (2 sqrt(k J)).

    Args:
        stiffness: at the output [N m/rad].
        damping: [N m s/rad].
        inertia: [kg m^2].

    Returns:
        1 is critical damping.
    """
    return damping / (2.0 * math.sqrt(stiffness * inertia))


# The whole torque-speed plane, friction and limits included; voltages and speeds may be arrays of many.


def ideal_speed(actuator: Actuator, v: float) -> float:
    """Speed at the output at which the back-EMF equals the voltage [rad/s]."""
    return line(actuator, v).ideal_speed


def steady_current(actuator: Actuator, v: Any, w: Any) -> Any:
    """Current of each motor, cold, within its limit.

    Args:
        actuator: with the motor and the gears.
        v: voltage at the terminals [V], one or many.
        w: speed of the output [rad/s], one or many.

    Returns:
        [A]
    """
    motor = actuator.motor
    limit = None if motor.limits is None else motor.limits.largest_current
    return motor.steady_current(v, actuator.gearbox.rotor_speed(w), None, limit)


def electrical_torque(actuator: Actuator, v: Any, w: Any) -> Any:
    """Torque of the motors before friction and gears.

    Args:
        actuator: with the motor and the gears.
        v: voltage at the terminals [V], one or many.
        w: speed of the output [rad/s], one or many.

    Returns:
        At the output [N m].
    """
    return actuator.gearbox.output_torque(actuator.motor.torque_at(steady_current(actuator, v, w), None))


class Balance(NamedTuple):
    """What acts on the output at a steady speed, before anything is known of the load [N m]."""

    excess: Callable[[Any], Any]
    """Of a torque left for the load over what is really left; it grows with that torque."""
    most: Any
    """No more than a few times this is left, either way."""


def balance(actuator: Actuator, v: Any, w: Any) -> Balance:
    """Of motor, gears and friction at output speeds w."""
    motor, gearbox, friction = actuator.motor, actuator.gearbox, actuator.friction
    direction: Any = np.asarray(side(w))
    tau = electrical_torque(actuator, v, w) - gearbox.output_torque(motor.iron_drag(gearbox.rotor_speed(w)))
    passed = tau
    if gearbox.efficiency is not None:
        eta = gearbox.efficiency
        passed = where(tau * direction > 0, eta * tau, tau / eta)
    drag = friction.drag(w) - (0.0 if friction.offset is None else friction.offset)
    stribeck = friction.stribeck(w)

    def excess(net: Any) -> Any:
        return net - passed + drag + direction * friction.level(stribeck, tau, -net, direction)

    dry = np.abs(friction.level(stribeck, tau, -tau, direction))
    return Balance(excess, np.abs(passed) + np.abs(drag) + dry + 1e-30)


def net_torque(actuator: Actuator, v: Any, w: Any) -> np.ndarray:
    """Torque left for the load at steady speed: after iron drag, gear loss, drag and dry friction.

    Friction may grow with that load itself, so the balance net = tau - drag - level(tau, -net) is solved, by
    halving an interval: its left side grows faster than its right side falls.

    Args:
        actuator: all of it but the drive.
        v: voltage at the terminals [V], one or many.
        w: speed of the output [rad/s], one or many.

    Returns:
        At the output [N m].
    """
    w = np.asarray(w, float)
    excess, most = balance(actuator, v, w)
    low, high = -8.0 * most, 8.0 * most + 0.0 * w
    for _ in range(80):
        middle = 0.5 * (low + high)
        above = excess(middle) > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return 0.5 * (low + high)


def stall_torque(actuator: Actuator, v: float) -> float:
    """Torque that the output pushes with while it just does not turn, after friction and gears [N m]."""
    return max(float(net_torque(actuator, actuator.gearbox.forwards * abs(v), 0.0)), 0.0)


def no_load_speed(actuator: Actuator, v: float) -> float:
    """Output speed at which nothing is left of the torque [rad/s]."""
    low, high = 0.0, abs(ideal_speed(actuator, v))
    v = actuator.gearbox.forwards * abs(v)

    def has_torque(w: float) -> bool:
        """Whether torque is left: nothing for the load would be too little."""
        return bool(balance(actuator, v, np.asarray(w)).excess(0.0) < 0)

    if not has_torque(1e-12 * high):
        return 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if has_torque(middle) else (low, middle)
    return 0.5 * (low + high)


def continuous_current(actuator: Actuator, most: float) -> float:
    """Current that holds the winding at a temperature `most` for ever [A]."""
    thermal, motor = actuator.motor.thermal, actuator.motor
    assert thermal is not None
    return math.sqrt(
        max(most - thermal.ambient, 0.0) / (thermal.total_resistance * motor.resistance_at(most))
    )


def coasting_speed(t: Scalar, w_0: Scalar, dry: Scalar, drag: Scalar) -> Scalar:
    """Speed of a shaft left alone, until it stops: dw/dt = -dry - drag w.

    Args:
        t: time since it was let go [s].
        w_0: speed then [rad/s].
        dry: tau_c / J [rad/s^2].
        drag: B / J [1/s].

    Returns:
        [rad/s]
    """
    return w_0 * exp(-drag * t) - dry * t * mean_decay(drag * t)
