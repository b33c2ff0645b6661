"""Curves of an actuator, as numbers: what figures draw and files hold.

Steady operation (torque, current and power over speed, friction over speed and load, what a voltage does
without load, the drive's law over the error), heating over time, the position loop over frequency, and
bristles near rest.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidValue, MissingValue
from ..physics.actuator import Actuator
from ..physics.drive import ControllerState
from ..physics.friction import Viscous
from ..physics.joint_law import JointLaw
from ..physics.steady import (
    armature,
    damping_ratio,
    electrical_torque,
    ideal_speed,
    iron_drag,
    natural_frequency,
    net_torque,
    steady_current,
)
from ..physics.thermal import Heat


def full_voltage(actuator: Actuator) -> float | None:
    """The most voltage that its drive applies: supply and limits, or what its command may be; None: nobody
    says."""
    drive, held = actuator.drive, actuator.drive.ceiling({})
    if held is not None:
        return float(held)
    if drive.followed != "voltage_target":
        return None
    return max((abs(u) for u in (drive.command_low, drive.command_high) if u is not None), default=None)


class Operation(NamedTuple):
    """Steady operation at one voltage, over output speeds."""

    speed: np.ndarray
    """rad/s, or m/s on a linear axis."""
    electrical: np.ndarray
    """Torque of the motors at the output, before friction and gears [N m]."""
    torque: np.ndarray
    """What is left for the load [N m]."""
    current: np.ndarray
    """Of each motor [A]."""
    taken: np.ndarray
    """Electrical power of all motors [W]."""
    given: np.ndarray
    """Mechanical power at the output [W]."""

    @property
    def efficiency(self) -> np.ndarray:
        """Given over taken where it drives a load, else not a number."""
        drives = (self.given > 0) & (self.taken > 0)
        return np.where(drives, self.given / np.where(drives, self.taken, 1.0), np.nan)


def operation(actuator: Actuator, v: float, w: Any) -> Operation:
    """Torques, current and powers at a voltage that turns the output forwards, cold.

    Args:
        actuator: whose.
        v: of the supply [V].
        w: speeds of the output [rad/s, or m/s].

    Returns:
        Arrays over those speeds.
    """
    motor, gearbox, w = actuator.motor, actuator.gearbox, np.asarray(w, float)
    V = gearbox.forwards * v
    i, tau = np.asarray(steady_current(actuator, V, w)), net_torque(actuator, V, w)
    terminals = motor.resistance * i + motor.back_emf_at(None) * gearbox.rotor_speed(w)
    electrical = np.asarray(electrical_torque(actuator, V, w))
    return Operation(w, electrical, tau, np.abs(i), gearbox.n_motors * i * terminals, tau * w)


def friction_size(actuator: Actuator, w: Any, t_m: Any, t_e: Any) -> np.ndarray:
    """Friction torque over speed at a load, all at the output.

    Args:
        actuator: whose.
        w: speeds [rad/s, or m/s].
        t_m: torque of the motors [N m, or N].
        t_e: torque of the load [N m, or N].

    Returns:
        Torques with the sign of the speed [N m, or N].
    """
    f = actuator.friction
    direction: Any = np.where(np.asarray(w) >= 0, 1.0, -1.0)
    return np.asarray(f.drag(w) + direction * f.level(f.stribeck(w), t_m, t_e, direction))


def no_load(actuator: Actuator, voltages: Any) -> tuple[np.ndarray, np.ndarray]:
    """(speed, current of each motor) of the free output over voltages [rad/s, A]; in the dead zone it rests,
    and the current is that of a locked rotor."""
    v = np.asarray(voltages, float)
    forwards = actuator.gearbox.forwards * np.abs(v)
    low, high = np.zeros_like(v), np.abs(v) * ideal_speed(actuator, 1.0)  # all voltages are halved at once
    starts = net_torque(actuator, forwards, 1e-12 * high) > 0
    for _ in range(60):
        middle = 0.5 * (low + high)
        turns = net_torque(actuator, forwards, middle) > 0
        low, high = np.where(turns, middle, low), np.where(turns, high, middle)
    speed = np.where(starts, high, 0.0)
    return speed, np.abs(np.asarray(steady_current(actuator, forwards, speed)))


def held_current(actuator: Actuator, voltages: Any) -> np.ndarray:
    """Current of each motor over voltages while the output is held [A]."""
    return np.abs(np.asarray(steady_current(actuator, np.asarray(voltages, float), 0.0)))


class DriveLaw(NamedTuple):
    """What a drive does for an error, at rest."""

    error: np.ndarray
    """rad for a position, rad/s for a velocity."""
    asked: np.ndarray
    """Voltage before limits, forwards [V]."""
    voltage: np.ndarray
    """Within the limits [V]."""
    torque: np.ndarray
    """Of the motors at the output, at rest [N m]."""


def drive_law(actuator: Actuator, errors: Any) -> DriveLaw:
    """The voltage of a law that sees an error, its integral empty, and the torque of the resting motor."""
    drive, gearbox = actuator.drive, actuator.gearbox
    e: Any = np.asarray(errors, float)
    still: Any = np.zeros_like(e)
    seen = ControllerState(e, still, still, still, still, still, None)
    v: Any = drive.voltage(actuator.motor, gearbox, {drive.target: e}, seen) + still
    held: Any = drive.limit_voltage(v, {})
    torque = np.asarray(electrical_torque(actuator, held, 0.0)) + still
    return DriveLaw(e, gearbox.forwards * v, gearbox.forwards * held, torque)


def full_error(actuator: Actuator) -> float | None:
    """The error from which the drive's voltage is at its limit; None without feedback or limit."""
    loop, ceiling = actuator.drive.loop, actuator.drive.ceiling({})
    if loop is None or ceiling is None or loop.proportional <= 0:
        return None
    law = drive_law(actuator, np.array([BEYOND, BEYOND + 1.0])).asked  # affine there, whatever the deadband
    per = float(law[1] - law[0])
    return None if per <= 0 else BEYOND - (float(law[0]) - float(ceiling)) / per


BEYOND = 1e3
"""An error beyond any deadband."""


HOTTEST = 1e5
"""Where a winding that runs away is held, so that numbers stay finite [degC]."""


class Heating(NamedTuple):
    """Temperatures of each node over time, from the ambient."""

    time: np.ndarray
    temperatures: dict[str, np.ndarray]
    """By node, the winding's first [degC]."""


def _thermal(actuator: Actuator) -> Heat:
    thermal = actuator.motor.thermal
    if thermal is None:
        raise MissingValue("the motor has no thermal model: give motor.thermal")
    return thermal


def slowest(thermal: Heat) -> float:
    """Time constant of its outermost node [s]."""
    return [*thermal.time_constants.values()][-1]


def heating(
    actuator: Actuator, time: Any, *, current: Any = None, power: Any = None, most: float = HOTTEST
) -> Heating:
    """Temperatures from cold: at a current, whose heat grows with the winding's resistance, or at a power
    that stays. Both may be arrays, of which each gets a row of its own.

    Args:
        actuator: whose motor.
        time: at which they are wanted [s].
        current: of each motor [A].
        power: in its place [W].
        most: where curves end [degC].

    Returns:
        A row of temperatures for each node.
    """
    thermal, motor, t = _thermal(actuator), actuator.motor, np.asarray(time, float)
    given: Any = np.asarray(power if current is None else current, float)
    T: Any = tuple(np.full_like(given, thermal.ambient) for _ in thermal.nodes)
    rows = [T]
    for h in np.diff(t):
        heat = given if current is None else motor.resistance_at(T[0]) * given**2
        T = tuple(np.minimum(x, most) for x in thermal.advance(T, heat, 0.0, h))
        rows.append(T)
    return Heating(t, {name: np.stack([r[k] for r in rows], -1) for k, name in enumerate(thermal.nodes)})


def time_to(actuator: Actuator, limit: float, current: Any) -> np.ndarray:
    """How long it takes from cold until the winding is at a limit.

    Args:
        actuator: whose motor.
        limit: of the winding [degC].
        current: of each motor, one or several [A].

    Returns:
        Seconds over the currents; not a number where it never is.
    """
    t = np.concatenate([[0.0], np.geomspace(1e-5, 8.0, 700) * slowest(_thermal(actuator))])
    winding = next(iter(heating(actuator, t, current=current).temperatures.values()))
    reached = np.full(winding.shape[:-1], np.nan)
    for place in np.ndindex(reached.shape):
        T = winding[place]
        k = int(np.argmax(limit <= T))
        if k:
            share = (limit - T[k - 1]) / max(T[k] - T[k - 1], 1e-12)
            reached[place] = t[k - 1] + (t[k] - t[k - 1]) * share
    return reached


THREE_DB = 10.0 ** (-3.0 / 20.0)


class Response(NamedTuple):
    """Position over the position asked for (or velocity over velocity), and the loop that makes it."""

    frequency: np.ndarray
    """Hz."""
    closed: np.ndarray
    """Complex: what follows over what is asked."""
    opened: np.ndarray
    """Complex: what comes back over what the law asks for, cut at the law."""

    @property
    def magnitude(self) -> np.ndarray:
        """dB."""
        return 20.0 * np.log10(np.maximum(np.abs(self.closed), 1e-30))

    @property
    def phase(self) -> np.ndarray:
        """Degrees, without jumps."""
        return np.degrees(np.unwrap(np.angle(self.closed)))

    @property
    def bandwidth(self) -> float | None:
        """Where it has lost 3 dB of what it had at the lowest frequency [Hz]; None: not in this range."""
        size = np.abs(self.closed)
        below = size < THREE_DB * size[0]
        k = int(np.argmax(below))
        return _crossing(self.frequency, np.log(size / (THREE_DB * size[0])), k) if below.any() else None

    @property
    def peak(self) -> tuple[float, float] | None:
        """(frequency [Hz], dB above the lowest frequency) where it rings; None where it does not."""
        k, gain = int(np.argmax(self.magnitude)), self.magnitude
        return (float(self.frequency[k]), float(gain[k] - gain[0])) if gain[k] - gain[0] > 0.1 else None

    @property
    def phase_margin(self) -> float | None:
        """Degrees left at the highest frequency where the loop's gain is 1; negative: it is unstable. None
        where the gain is less everywhere."""
        size = np.abs(self.opened)
        above = np.flatnonzero((size[:-1] >= 1.0) & (size[1:] < 1.0))
        if not len(above):
            return None
        k = int(above[-1]) + 1
        at = _crossing(self.frequency, np.log(size), k)
        phase = np.degrees(np.unwrap(np.angle(-self.opened)))
        return 180.0 + float(np.interp(np.log(at), np.log(self.frequency), phase))


def _crossing(f: np.ndarray, y: np.ndarray, k: int) -> float:
    """Where y falls through 0 between k - 1 and k, over the logarithm of f."""
    if k == 0:
        return float(f[0])
    share = y[k - 1] / (y[k - 1] - y[k])
    return float(np.exp(np.log(f[k - 1]) + share * np.log(f[k] / f[k - 1])))


def response(actuator: Actuator, frequency: Any = None, inertia: float = 0.0) -> Response:
    """How its loop follows over frequency.

    Args:
        actuator: with feedback.
        frequency: where to look [Hz]; without it, where it matters.
        inertia: of a load at the output, beside the rotors' [kg m^2, or kg].

    Returns:
        The closed and the open loop at each frequency.

    Raises:
        MissingValue: where there is no feedback, or no inertia.
    """
    loop, J = actuator.drive.loop, armature(actuator) + inertia
    if loop is None:
        raise MissingValue(f"{actuator.drive.kind} has no feedback, so there is no loop to respond")
    if J <= 0:
        raise MissingValue("the rotor has no inertia: give motor.rotor_inertia, or the inertia of a load")
    if frequency is None:
        frequency = _usual(actuator, J)
    f = np.asarray(frequency, float)
    s: Any = 2j * np.pi * f
    law, k = _law(actuator, s), actuator.gearbox.efficiency or 1.0
    # (R + L s - c) I = a U + (b - K_e N s) Q and (J s^2 + B s) Q = k n N K_t I, all at the output.
    motor, gearbox = actuator.motor, actuator.gearbox
    K_t = k * gearbox.output_torque(motor.torque_constant)
    K_e = motor.back_emf_at(None) * gearbox.rotor_speed(1.0)
    Z = motor.resistance + (motor.inductance or 0.0) * s - law.current
    B = actuator.friction.viscous + iron_drag(actuator)
    free = (J * s * s + B * s) * Z / K_t + (
        K_e - law.rotor_speed
    ) * s  # what a volt of the law's moves: 1 / free
    follows = law.asked / (free - law.back)
    if loop.of == "velocity":
        follows = s * follows
    late = np.exp(-s * (actuator.drive.delay or 0.0))
    return Response(f, follows * late, law.back / free)


def _usual(actuator: Actuator, J: float) -> np.ndarray:
    """From a hundredth to thirty times the loop's corner, and no further than half a sampling rate."""
    wide = np.geomspace(1e-3, 1e5, 1601)
    band = response(actuator, wide, J - armature(actuator)).bandwidth or 1.0
    top = 30.0 * band
    if actuator.drive.period is not None:
        top = min(top, 0.5 / actuator.drive.period)
    return np.geomspace(0.01 * band, max(top, 2.0 * band), 400)


class _Law(NamedTuple):
    """Volts of the law, linear: asked U + back Q + rotor_speed N w + current I."""

    asked: Any
    back: Any
    rotor_speed: float
    current: float


def _law(actuator: Actuator, s: Any) -> _Law:
    drive, motor, gearbox = actuator.drive, actuator.motor, actuator.gearbox
    inputs = {drive.target: BEYOND}
    base = ControllerState(BEYOND, 0.0, 0.0, 0.0, 0.0, 0.0, None)

    def effort(**more: float) -> float:
        at = base._replace(**{name: getattr(base, name) + x for name, x in more.items()})
        return float(drive.effort(inputs, at)) - float(drive.effort(inputs, base))

    def volts(e: float, seen: ControllerState) -> float:
        return float(drive.terminal_voltage(motor, gearbox, inputs, seen, e))

    per = volts(1.0, base) - volts(0.0, base)
    rotor = (volts(0.0, base._replace(rotor_speed=1.0)) - volts(0.0, base)) * gearbox.rotor_speed(1.0)
    current = volts(0.0, base._replace(current=1.0)) - volts(0.0, base)
    hold, speed, summed = _sampling_factors(actuator, s)
    error = effort(integral=1.0) * summed
    push = effort(setpoint_rate=1.0) * s / (1.0 + (drive.setpoint_lag or 0.0) * s)
    asked = effort(setpoint=1.0) + error + push
    integrated = speed if drive.error_of == "velocity" else 1.0
    back = effort(position=1.0) + effort(velocity=1.0) * speed - error * integrated
    return _Law(per * hold * asked, per * hold * back, rotor, current)


def _sampling_factors(actuator: Actuator, s: Any) -> tuple[Any, Any, Any]:
    """(hold of the effort, velocity from position, sum of an error), of a law that looks all the time or once
    a period."""
    T, n = actuator.drive.period, actuator.drive.n_velocity_periods
    if T is None:
        return 1.0, s, 1.0 / s
    n = 1 if n is None else n
    speed = s if n == 0 else (1.0 - np.exp(-s * n * T)) / (n * T)
    return (1.0 - np.exp(-s * T)) / (s * T), speed, T / np.expm1(s * T)


class Presliding(NamedTuple):
    """A joint on its bristles, near rest: J q'' + (sigma_1 + sigma_2 + d) q' + sigma_0 q = torque.

    MuJoCo's DC-motor note has it in section 1.4.2, with slips of sign and without sigma_2 where it is
    critical (docs/errata.md).
    """

    inertia: float
    """J, of the joint with its rotors [kg m^2]."""
    stiffness: float
    """sigma_0 [N m/rad]."""
    micro_damping: float
    """sigma_1 at rest [N m s/rad]."""
    viscous: float
    """sigma_2 [N m s/rad]."""
    motor: float = 0.0
    """d, of the back-EMF and of the drive's own law [N m s/rad]; 0: the motor is open."""
    passive_limit: float | None = None
    """The largest sigma_1 that cannot feed energy into the joint [N m s/rad]; None: any."""

    @property
    def damping(self) -> float:
        """sigma_1 + sigma_2 + d [N m s/rad]."""
        return self.micro_damping + self.viscous + self.motor

    @property
    def natural_frequency(self) -> float:
        """sqrt(sigma_0 / J) [rad/s]."""
        return natural_frequency(self.stiffness, self.inertia)

    @property
    def damping_ratio(self) -> float:
        return damping_ratio(self.stiffness, self.damping, self.inertia)

    @property
    def critical_micro_damping(self) -> float:
        """The sigma_1 from which it does not ring: 2 sqrt(J sigma_0) - sigma_2 - d; 0 where the others do."""
        needed = 2.0 * math.sqrt(self.inertia * self.stiffness) - self.viscous - self.motor
        return max(needed, 0.0)

    @property
    def is_passive(self) -> bool:
        return self.passive_limit is None or self.micro_damping < self.passive_limit

    def largest_step(self, integrator: str) -> float:
        """The time step below which small motions of the bristle die away [s]; inf: any step does.

        explicit        velocity and position from the old ones.
        semi-implicit   the position from the new velocity.
        Euler           MuJoCo's: the joint's viscous damping is implicit, and the bristle follows the old
                        velocity.
        implicitfast    MuJoCo's (and its implicit): all damping is implicit, the bristle is not.
        backemf         our own step.
        """
        if integrator not in INTEGRATORS:
            raise InvalidValue(f"integrator is {integrator!r}; expected one of {', '.join(INTEGRATORS)}")
        J, k, d = self.inertia, self.stiffness, self.damping
        if integrator == "backemf":
            return math.inf
        if integrator == "semi-implicit":
            return (math.sqrt(d * d + 4.0 * J * k) - d) / k
        # z+ = z + h v, v+ = v - h (k z + d v) / M with M = J + h times what is implicit. Both roots are
        # inside the unit circle where h k < d and 4 M - 2 h d + h^2 k > 0.
        implicit = {"explicit": 0.0, "Euler": self.viscous, "implicitfast": d}[integrator]
        b = d - 2.0 * implicit
        rest = b * b - 4.0 * J * k
        flips = (b - math.sqrt(rest)) / k if b > 0.0 <= rest else math.inf
        return min(d / k, flips)

    @property
    def largest_steps(self) -> dict[str, float]:
        """Of every integrator [s]."""
        return {name: self.largest_step(name) for name in INTEGRATORS}


INTEGRATORS = ("explicit", "semi-implicit", "Euler", "implicitfast", "backemf")


def presliding(friction: Viscous, inertia: float, motor: float = 0.0) -> Presliding | None:
    """A friction's bristles under an inertia.

    Args:
        friction: at the output.
        inertia: of the joint with its rotors [kg m^2, or kg].
        motor: damping by the motor at the output [N m s/rad]; 0: it is open.

    Returns:
        The joint near rest; None where the friction has no bristles.

    Raises:
        InvalidValue: where the inertia is not above 0.
    """
    if not friction.bristle:
        return None
    if inertia <= 0:
        raise InvalidValue(
            f"inertia is {inertia:g} kg m^2; expected more than 0: a bristle rings with what hangs on it"
        )
    _, sigma_0, sigma_1 = friction.spring(_straight(friction), 0.0)
    return Presliding(inertia, sigma_0, sigma_1, friction.viscous, motor, friction.passive_limit)


def presliding_of(actuator: Actuator, inertia: float = 0.0) -> Presliding | None:
    """An actuator's bristles under its rotors and a load's inertia, damped by its motor as it is driven."""
    law = JointLaw.of(actuator)
    motor = law.drag - actuator.friction.viscous + law.damping
    return presliding(actuator.friction, law.armature + inertia, motor) if actuator.friction.bristle else None


def sliding_step(friction: Viscous, w: float) -> float | None:
    """The step below which explicit Euler bends a sliding bristle stably: 2 g(w) / (sigma_0 |w|) [s]; None
    without a bristle. An exact exponential, as MuJoCo and backemf have, needs none."""
    if not friction.bristle:
        return None
    if w == 0:
        return math.inf
    _, sigma_0, _ = friction.spring(_straight(friction), 0.0)
    level = friction.level(friction.stribeck(w), 0.0, 0.0, math.copysign(1.0, w))
    return float(2.0 * level / (sigma_0 * abs(w)))


def reach(friction: Viscous) -> float:
    """How far an unloaded bristle bends before it slips: tau_s / sigma_0 [rad]."""
    _, stiffness, _ = friction.spring(_straight(friction), 0.0)
    return float(friction.level(friction.stribeck(0.0), 0.0, 0.0, 1.0) / stiffness)


class Reversals(NamedTuple):
    """Friction along a slow sine of position, once it repeats itself."""

    position: np.ndarray
    velocity: np.ndarray
    torque: np.ndarray

    @property
    def lost(self) -> float:
        """Energy of one cycle, the area of the loop [J]."""
        return abs(float(np.trapezoid(self.torque, self.position)))


def reversals(friction: Viscous, amplitude: float, top: float, n: int = 800, cycles: int = 6) -> Reversals:
    """The closed loop of a friction with bristles under a sine.

    Args:
        friction: with bristles.
        amplitude: of the position [rad, or m].
        top: the greatest speed [rad/s, or m/s].
        n: samples of a cycle.
        cycles: how many pass, of which the last is kept.

    Returns:
        Position, velocity and torque along the last cycle.
    """
    h, z = 2.0 * math.pi * amplitude / top / n, _straight(friction)
    phase = (np.arange(cycles * n + 1) + 0.5) * 2.0 * np.pi / n
    q, w, tau = -amplitude * np.cos(phase), top * np.sin(phase), np.zeros(len(phase))
    for k, speed in enumerate(w):
        level = friction.level(friction.stribeck(speed), 0.0, 0.0, 1.0 if speed >= 0 else -1.0)
        z, torque = friction.deflect(z, speed, level, h)
        tau[k] = torque + friction.drag(speed)
    last = slice(-n - 1, None)
    return Reversals(q[last], w[last], tau[last])


def _straight(friction: Viscous) -> tuple[float, ...]:
    return tuple(0.0 for _ in friction.bristles)
