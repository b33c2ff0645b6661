"""Bristles near rest: how a joint rings on them, when they are passive, which time steps they bear, and the
loop that a reversal draws."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...errors import InvalidValue
from ...physics.actuator import Actuator
from ...physics.friction import Viscous
from ...physics.joint_law import JointLaw
from ...physics.steady import damping_ratio, natural_frequency


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
    """A friction's bristles under an inertia, with the damping of a motor; None where it has none."""
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
    """The closed loop of a friction with bristles under a sine of an amplitude and a greatest speed."""
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
