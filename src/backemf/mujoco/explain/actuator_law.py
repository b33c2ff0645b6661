"""One actuator of a compiled model at its joint: the numbers that findings and comparisons look at."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...physics import steady
from ..arrays import DrivenJoint, dcmotors, plain
from ..dcmotor import DcMotor
from ..models import LoadedModel

LONG = 0.5
"""Natural frequency times time step from which a step is too long."""


class ActuatorLaw(NamedTuple):
    """An actuator's numbers at the joint; newtons and metres on a slide."""

    kind: str
    gear: float
    """Of its own attributes to the joint."""
    stiffness: float
    damping: float
    """Its own and the joint's."""
    stall: float | None
    speed: float | None
    behind: float
    """Damping that acts behind the force limit."""
    armature: float
    friction: float
    dcmotor: DcMotor | None = None
    viscous: float = 0.0
    """Of a dcmotor and its joint: what of the damping is neither back-EMF nor controller."""

    @property
    def regulates_position(self) -> bool:
        return self.stiffness > 0


def law_of(loaded: LoadedModel, i: int, at: DrivenJoint) -> ActuatorLaw:
    """The numbers of any actuator on a hinge or slide."""
    model = loaded.model
    if i in dcmotors(model):
        return _dcmotor(model, loaded.dcmotor(i), at.dof)
    x = plain(model, i, at)
    speed = x.limit / x.damping if x.limit is not None and x.damping > 0 else None
    return ActuatorLaw(
        kind=x.kind,
        gear=x.gear,
        stiffness=x.stiffness,
        damping=x.derivative + x.damping,
        stall=x.limit,
        speed=speed,
        behind=x.damping,
        armature=x.armature,
        friction=x.frictionloss,
    )


def _dcmotor(model: Any, dcmotor: DcMotor, dof: int) -> ActuatorLaw:
    motor, control, g = dcmotor.motor, dcmotor.controller, abs(dcmotor.gear)
    joint_damping, bristle = float(model.dof_damping[dof]), dcmotor.lugre
    R, K, volts = motor.resistance, motor.torque_constant, control.voltage_limit
    by_voltage = control.inputs == "voltage" or "voltage" in control.inputs
    if volts is None and by_voltage and control.ctrlrange and control.ctrlrange[-1] is not None:
        volts = max(abs(x) for x in control.ctrlrange[-1])
    bare = steady.Line(R, K, K, volts or 0.0, viscous=dcmotor.friction.viscous).reflected(g)
    at = bare._replace(viscous=bare.viscous + joint_damping)
    held = [] if volts is None else [at.stall_torque]
    held += [g * motor.limits.torque] if motor.limits is not None and motor.limits.torque is not None else []
    per_volt = g * at.torque_per_volt  # of a gain at the actuator
    return ActuatorLaw(
        kind="dcmotor",
        gear=dcmotor.gear,
        stiffness=per_volt * control.stiffness(motor),
        damping=per_volt * (K - control.slope(motor)) + at.viscous,
        stall=min(held, default=None),
        speed=None if volts is None else at.no_load_speed,
        behind=at.damping + at.viscous,
        armature=motor.rotor_inertia * g * g + float(model.dof_armature[dof]),
        friction=float(model.dof_frictionloss[dof]) + (0.0 if bristle is None else g * bristle.coulomb),
        dcmotor=dcmotor,
        viscous=at.viscous,
    )
