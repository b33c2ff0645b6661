"""Bus servos whose stiffness or rotor inertia somebody has measured or printed: what a servo of some torque
is like; and one actuator of a compiled model in the same numbers, at its joint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...physics import steady
from ...tables import number
from ..arrays import DrivenJoint, dcmotors, plain
from ..dcmotor import DcMotor
from ..models import LoadedModel

ALIKE = 2.0
"""Servos within this factor of a torque are alike."""


class CatalogueServo(NamedTuple):
    """One servo of the catalogue, at its output."""

    name: str
    torque: float
    """Stall torque at its voltage [N m]."""
    speed: float
    """No-load speed [rad/s]."""
    stiffness: float | None = None
    """At the default gains, over the stall torque: duty per radian over the largest duty [1/rad]."""
    armature: float | None = None
    """Identified [kg m^2]."""


SERVOS = (
    CatalogueServo("mx-106/m1", 8.536, 5.159, 5.253, 0.02661),
    CatalogueServo("mx-28", 2.5, 5.76, 5.253),
    CatalogueServo("mx-64/m1", 4.745, 6.996, 5.253, 0.01195),
    CatalogueServo("sts3032/m1", 0.7235, 11.84, None, 0.001013),
    CatalogueServo("sts3215-12v/so101", 5.815, 4.357, None, 0.03439),
    CatalogueServo("sts3215-7.4v/m1", 3.25, 5.348, 5.476, 0.0284),
    CatalogueServo("xc330-m181", 0.6, 13.51, 6.906),
    CatalogueServo("xc330-m288", 0.93, 8.482, 6.33),
    CatalogueServo("xc330-t288", 0.92, 6.807, 5.179),
    CatalogueServo("xl-320/m1", 0.2051, 6.687, 1.615, 0.001119),
    CatalogueServo("xl330-m288/m1", 0.4813, 11.77, 1.151, 0.001814),
    CatalogueServo("xl430-w250", 1.4, 5.969, 3.683),
    CatalogueServo("xm430-w210", 3.0, 8.063, 4.604),
    CatalogueServo("xm430-w350", 4.1, 4.817, 4.604),
    CatalogueServo("xm540-w150", 7.3, 5.55, 4.604),
    CatalogueServo("xm540-w270", 10.6, 3.142, 4.604),
)
"""From the catalogue, whose files name the sources: torque, speed and rotor inertia of the first identified
set where there is one, else as printed; gains as the makers print them or benches found them. A test compares
this table with the catalogue."""


class ServoRange(NamedTuple):
    """From the least to the largest of some servos, and their names."""

    low: float
    high: float
    names: tuple[str, ...]

    @property
    def middle(self) -> float:
        return (self.low * self.high) ** 0.5

    def scale(self, factor: float) -> ServoRange:
        return self._replace(low=factor * self.low, high=factor * self.high)

    def __str__(self) -> str:
        low, high = number(self.low, 2), number(self.high, 2)
        return low if low == high else f"{low} to {high}"


def _over(
    number: Callable[[CatalogueServo], float | None], servos: tuple[CatalogueServo, ...]
) -> ServoRange | None:
    known = [(value, s.name) for s in servos if (value := number(s)) is not None]
    values = [value for value, _ in known]
    return ServoRange(min(values), max(values), tuple(name for _, name in known)) if known else None


def _of(number: Callable[[CatalogueServo], float | None], torque: float | None) -> ServoRange:
    """Over the servos like one of that torque; over all of them where there is none, or no torque."""
    near = tuple(s for s in SERVOS if torque is not None and torque / ALIKE <= s.torque <= torque * ALIKE)
    found = _over(number, near) or _over(number, SERVOS)
    assert found is not None
    return found


def stiffness(torque: float | None = None) -> ServoRange:
    """Stiffness over stall torque [1/rad]."""
    return _of(lambda s: s.stiffness, torque)


def armature(torque: float | None = None) -> ServoRange:
    """Armature over stall torque [kg m^2/(N m)]."""
    return _of(lambda s: None if s.armature is None else s.armature / s.torque, torque)


def speed(torque: float | None = None) -> ServoRange:
    """No-load speed [rad/s]."""
    return _of(lambda s: s.speed, torque)


STRONGEST = max(SERVOS, key=lambda s: s.torque)


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
