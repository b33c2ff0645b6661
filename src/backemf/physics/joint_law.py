"""What simulators without a motor model take for an actuator: one law at the joint, in closed form.

    torque = clip(stiffness (q_target - q) + damping (w_target - w) + gain u, +-effort_limit)
             - back_emf w - viscous w - friction sgn(w)

`JointLaw.of` reads it from an actuator, `JointLaw.actuator` makes the actuator that moves like it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from . import drive as drives, steady
from .actuator import Actuator
from .drive import Drive
from .friction import Coulomb
from .gearbox import Gearbox
from .motor import Limits, Motor

NO_EMF = 1e-12
"""A back-EMF constant of a winding that has none [V s/rad]."""


class Capability(NamedTuple):
    """What an actuator can do."""

    volts: float
    stall: float
    """Torque at the output at rest [N m]."""
    speed: float
    """Speed at which back-EMF eats all the voltage [rad/s]."""


def capability(actuator: Actuator, amplitude: float = 0.5) -> Capability:
    """At the supply's voltage; without one, at the voltage that an error of `amplitude` [rad or m, at the
    output], or 10 rad/s, takes."""
    volts, loop, at = actuator.drive.ceiling({}), actuator.drive.loop, steady.line(actuator)
    if volts is None:
        volts = 10.0 * at.K_e
        if loop is not None and loop.of == "position" and loop.proportional > 0:
            effort = loop.proportional * amplitude
            volts = max(effort if loop.effort == "V" else effort / at.torque_per_volt, 1e-6)
    volts = abs(float(volts))
    stall = abs(float(steady.electrical_torque(actuator, volts, 0.0)))
    return Capability(volts, stall, steady.ideal_speed(actuator, volts))


class DryLevels(NamedTuple):
    """Dry friction at the output [N m]."""

    moving: float
    at_rest: float


def dry_levels(actuator: Actuator, load: float, amplitude: float) -> DryLevels:
    """Dry friction at half of a load.

    Args:
        actuator: with the friction.
        load: as a share of the stall torque.
        amplitude: of the motions [rad or m, at the output]; without a supply it says which voltage.

    Returns:
        In motion and at rest [N m].
    """
    torque = 0.5 * load * capability(actuator, amplitude).stall
    friction = actuator.friction
    moving, at_rest = (float(friction.level(share, torque, -torque, 1.0)) for share in (0.0, 1.0))
    return DryLevels(moving, at_rest)


class JointLaw(NamedTuple):
    """Numbers at the output; 0 is what is not there. Newtons and metres on a linear axis."""

    stiffness: float = 0.0
    """N m/rad."""
    damping: float = 0.0
    """The law's own, inside the torque limit [N m s/rad]."""
    gain: float = 0.0
    """N m per unit of a voltage, current or torque command; negative behind gears that turn the other way."""
    back_emf: float = 0.0
    """What back-EMF brakes with, behind the limit [N m s/rad]."""
    stall_torque: float = 0.0
    """K_t V / R, before the gears' loss [N m]."""
    no_load_speed: float = 0.0
    """At which back-EMF eats all the voltage [rad/s]."""
    effort_limit: float = 0.0
    """By voltage, current or torque limit, after the gears' loss [N m]; 0: no limit."""
    armature: float = 0.0
    """Inertia of the rotors [kg m^2]."""
    friction: float = 0.0
    """Dry [N m]."""
    viscous: float = 0.0
    """With the iron's drag [N m s/rad]."""
    delay: float = 0.0
    """Of the command [s]."""

    @property
    def drag(self) -> float:
        """Damping of the joint behind the limit: viscous friction and back-EMF [N m s/rad]."""
        return self.viscous + self.back_emf

    def lump(self) -> JointLaw:
        """The same with back-EMF as viscous friction, where a simulator has one damping for both."""
        return self._replace(viscous=self.drag, back_emf=0.0)

    @classmethod
    def of(
        cls, actuator: Actuator, load: float = 0.25, amplitude: float = 0.5, volts: float | None = None
    ) -> JointLaw:
        """Closed forms: what a resistive motor behind its gears does at the joint.

        A law that asks for a current or torque hides the back-EMF, and an open winding has none that brakes.

        Args:
            actuator: whose law it is.
            load: at half of which dry friction is taken, as a share of the stall torque.
            amplitude: of the motions [rad or m, at the output]; without a supply it says which voltage.
            volts: instead of the drive's own greatest voltage [V].

        Returns:
            The law at the output.
        """
        drive, gearbox, limits = actuator.drive, actuator.gearbox, actuator.motor.limits
        given = drive.ceiling({}) if volts is None else volts
        at = steady.line(actuator, capability(actuator, amplitude).volts if given is None else float(given))
        most = None if limits is None else limits.largest_torque(actuator.motor)
        held = [] if given is None else [at.stall_torque]
        held += [] if most is None else [abs(float(gearbox.output_torque(most)))]
        eta, loop = gearbox.efficiency or 1.0, steady.torque_loop(actuator)
        gains = {"voltage_target": at.torque_per_volt, "current_target": at.K_t}
        gain = eta * float(gearbox.forwards) * gains.get(drive.followed, 0.0)
        return cls(
            stiffness=0.0 if loop is None else eta * loop.stiffness,
            damping=0.0 if loop is None else eta * loop.damping,
            gain=eta if drive.followed == "torque_target" else gain,
            back_emf=0.0 if drive.hides_back_emf or drive.open_circuit else at.damping,
            stall_torque=at.stall_torque,
            no_load_speed=at.ideal_speed,
            effort_limit=eta * min(held, default=0.0),
            armature=steady.armature(actuator),
            friction=dry_levels(actuator, load, amplitude).moving,
            viscous=at.viscous,
            delay=drive.delay or 0.0,
        )

    def actuator(self, like: Actuator) -> Actuator:
        """An ideal source of torque with a limit, behind Coulomb friction and damping, that moves so.

        Args:
            like: whose command it takes; its voltage limits a voltage.
        """
        limits = Limits(torque=self.effort_limit) if self.effort_limit > 0 else None
        base: dict[str, Any] = {"resistance": 1.0, "rotor_inertia": self.armature, "limits": limits}
        laws: dict[str, Drive] = {
            "voltage_target": drives.Voltage(voltage_limit=like.drive.ceiling({})),
            "current_target": drives.Current(),
        }
        if self.gain != 1 and not (self.stiffness or self.damping):
            laws["torque_target"] = drives.Current()  # gears lose a share: an ampere for a newton-metre
        law, motor, ratio = laws.get(like.drive.followed), {"torque_constant": 1.0}, 1.0
        if law is not None:
            motor, ratio = {"torque_constant": abs(self.gain)}, math.copysign(1.0, self.gain)
            motor |= {} if law.hides_back_emf else {"back_emf_constant": NO_EMF}
        gains: dict[str, Any] = {
            "newton_metres_per_radian": self.stiffness,
            "newton_metre_seconds_per_radian": self.damping,
        }
        return Actuator(
            motor=Motor(**motor, **base),
            gearbox=Gearbox(ratio=ratio),
            friction=Coulomb(coulomb=self.friction, viscous=self.drag),
            drive=law or drives.Impedance(**gains),
            motion=like.motion,
        )


_TORQUE = (
    "motor.resistance",
    "motor.torque_constant",
    "gearbox.ratio",
    "gearbox.n_motors",
    "gearbox.efficiency",
)
_SPEED = ("motor.torque_constant", "motor.back_emf_constant", "gearbox.ratio")
_VOLTS = ("drive.supply", "drive.duty_limit", "drive.voltage_limit")
_LIMITS = ("motor.limits.current", "motor.limits.torque", "motor.limits.continuous_current")
LAW_PATHS: dict[str, tuple[str, ...]] = {
    "stiffness": (
        *(*_TORQUE, "drive.volts_per_radian", "drive.newton_metres_per_radian", "drive.through"),
        *("drive.firmware_gain", "drive.proportional"),
    ),
    "damping": (
        *(*_TORQUE, "drive.volt_seconds_per_radian", "drive.newton_metre_seconds_per_radian"),
        *("drive.derivative", "drive.firmware_derivative_gain"),
    ),
    "gain": _TORQUE,
    "back_emf": (*_TORQUE, *_SPEED),
    "stall_torque": (*_TORQUE, *_VOLTS),
    "no_load_speed": (*_SPEED, *_VOLTS),
    "effort_limit": (*_TORQUE, *_VOLTS, *_LIMITS),
    "armature": ("motor.rotor_inertia", "gearbox.ratio", "gearbox.n_motors"),
    "friction": ("friction.coulomb",),
    "viscous": ("friction.viscous", "motor.iron_loss"),
    "delay": ("drive.delay",),
}
"""What each number of a law comes from."""
