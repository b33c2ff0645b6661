"""What parts of one kind and size are like: servos whose stiffness or rotor inertia somebody has measured or
printed, and the catalogue's other actuators; and one actuator of a compiled model in the same numbers, at its
joint."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...datasheets import parts as catalogue
from ...datasheets.datasheet import Datasheet
from ...physics import steady
from ...tables import number
from ..arrays import DrivenJoint, dcmotors, plain
from ..dcmotor import DcMotor
from ..models import LoadedModel

ALIKE = 2.0
"""Parts of a kind within this factor of a torque are of its size."""
NEAR = 1.5
"""Beyond the weakest or the strongest part of a kind by more than this factor nothing is of that kind."""


class KnownPart(NamedTuple):
    """One part of the catalogue, at its output."""

    name: str
    torque: float
    """Stall torque at its voltage, or peak torque [N m]."""
    speed: float | None
    """No-load speed [rad/s]."""
    stiffness: float | None = None
    """At the default gains, over the stall torque: duty per radian over the largest duty [1/rad]."""
    armature: float | None = None
    """Identified or printed [kg m^2]."""


SERVOS = (
    KnownPart("mx-106/m1", 8.536, 5.159, 5.253, 0.02661),
    KnownPart("mx-28", 2.5, 5.76, 5.253),
    KnownPart("mx-64/m1", 4.745, 6.996, 5.253, 0.01195),
    KnownPart("sts3032/m1", 0.7235, 11.84, None, 0.001013),
    KnownPart("sts3215-12v/so101", 5.815, 4.357, None, 0.03439),
    KnownPart("sts3215-7.4v/m1", 3.25, 5.348, 5.476, 0.0284),
    KnownPart("xc330-m181", 0.6, 13.51, 6.906),
    KnownPart("xc330-m288", 0.93, 8.482, 6.33),
    KnownPart("xc330-t288", 0.92, 6.807, 5.179),
    KnownPart("xl-320/m1", 0.2051, 6.687, 1.615, 0.001119),
    KnownPart("xl330-m288/m1", 0.4813, 11.77, 1.151, 0.001814),
    KnownPart("xl430-w250", 1.4, 5.969, 3.683),
    KnownPart("xm430-w210", 3.0, 8.063, 4.604),
    KnownPart("xm430-w350", 4.1, 4.817, 4.604),
    KnownPart("xm540-w150", 7.3, 5.55, 4.604),
    KnownPart("xm540-w270", 10.6, 3.142, 4.604),
)
"""From the catalogue, whose files name the sources: torque, speed and rotor inertia of the first identified
set where there is one, else as printed; gains as the makers print them or benches found them. A test compares
this table with the catalogue."""


class ServoRange(NamedTuple):
    """From the least to the largest of some parts, and their names."""

    low: float
    high: float
    names: tuple[str, ...]

    @property
    def middle(self) -> float:
        """The geometric one."""
        return (self.low * self.high) ** 0.5

    def scale(self, factor: float) -> ServoRange:
        """The same parts with both ends multiplied."""
        return self._replace(low=factor * self.low, high=factor * self.high)

    def __str__(self) -> str:
        low, high = number(self.low, 2), number(self.high, 2)
        return low if low == high else f"{low} to {high}"


class PartKind(NamedTuple):
    """Parts that are built alike."""

    words: str
    parts: tuple[KnownPart, ...]

    def _over(self, value: Callable[[KnownPart], float | None], torque: float | None) -> ServoRange | None:
        """Over the parts of about that torque; over all of them where there is none, or no torque."""
        known = [(x, part) for part in self.parts if (x := value(part)) is not None]
        size = 0.0 if torque is None else torque
        near = [(x, part) for x, part in known if size / ALIKE <= part.torque <= size * ALIKE]
        values, names = [x for x, _ in near or known], tuple(part.name for _, part in near or known)
        return ServoRange(min(values), max(values), names) if values else None

    def torques(self, torque: float | None = None) -> ServoRange:
        """Torques [N m] of the parts of about that torque, or of all."""
        return self._over(lambda p: p.torque, torque) or ServoRange(math.inf, 0.0, ())

    def stiffness(self, torque: float | None = None) -> ServoRange | None:
        """Stiffness over torque [1/rad]; None where it comes with the command."""
        return self._over(lambda p: p.stiffness, torque)

    def armature(self, torque: float | None = None) -> ServoRange | None:
        """Armature over torque [kg m^2/(N m)]."""
        return self._over(lambda p: None if p.armature is None else p.armature / p.torque, torque)

    def speed(self, torque: float | None = None) -> ServoRange | None:
        """No-load speed [rad/s]."""
        return self._over(lambda p: p.speed, torque)

    def has_size(self, torque: float) -> bool:
        """Whether parts of about that torque [N m] are of this kind."""
        all_ = self.torques()
        return all_.low / NEAR <= torque <= all_.high * NEAR


SERVO_KIND = PartKind("servos", SERVOS)
BUILT: dict[str, Callable[[Datasheet, float], bool]] = {
    "quasi-direct drives": lambda sheet, N: sheet.kind == "actuator" and N <= 10.0,
    "geared actuators": lambda sheet, N: sheet.kind == "actuator" and N > 10.0,
    "motors without gears": lambda sheet, N: sheet.kind == "motor",
}
"""The other kinds, and which parts of the catalogue with a gear ratio N they have."""
ORDER = {True: (1, 0), False: (0, 1, 2)}
"""Which of these take positions, and which torques, the likelier first."""


@functools.cache
def _other_kinds() -> tuple[PartKind, ...]:
    kinds: dict[str, list[KnownPart]] = {words: [] for words in BUILT}
    for name in catalogue.names():
        sheet = catalogue.sheet(name)
        N = sheet.value("gear_ratio") or 1.0
        torque = sheet.value("peak_torque") or sheet.value("stall_torque")
        armature, rotor = sheet.value("reflected_inertia"), sheet.get("rotor_inertia")
        if armature is None and rotor is not None:
            armature = rotor.value * (1.0 if rotor.side == "output" else N * N)
        speed = sheet.value("no_load_speed") or sheet.value("nominal_speed")
        for words, is_built in BUILT.items():
            if torque and is_built(sheet, N):
                kinds[words].append(KnownPart(name, torque, speed, None, armature))
    return tuple(PartKind(words, tuple(parts)) for words, parts in kinds.items())


def kinds_of(takes_positions: bool) -> tuple[PartKind, ...]:
    """The kinds that a command suits, the likelier first."""
    others = tuple(_other_kinds()[k] for k in ORDER[takes_positions])
    return (SERVO_KIND, *others) if takes_positions else others


def kind_alike(law: ActuatorLaw, leader: PartKind | None = None) -> PartKind | None:
    """The kind of part that an actuator of a model is like: by its command and torque, by the strongest
    actuator of its model, and beyond servos by its armature. Its stiffness has no say: it is what is most
    often wrong.

    Args:
        law: at the joint, which turns.
        leader: the kind of the strongest actuator that is commanded alike; None: it is that itself.

    Returns:
        The kind; None where it has no torque limit, or where no part has such a torque.
    """
    if not law.stall:
        return None
    kinds = [kind for kind in kinds_of(law.regulates_position) if kind.has_size(law.stall)]
    if leader in kinds:
        return leader
    if SERVO_KIND in kinds:
        return SERVO_KIND
    ratio = law.armature / law.stall

    def distance(kind: PartKind) -> float:
        known = kind.armature()
        if known is None or ratio == 0:
            return 0.0
        return max(math.log(known.low / ratio), math.log(ratio / known.high), 0.0)

    return min(kinds, key=distance, default=None)


def kind_of_part(name: str, torque: float, takes_positions: bool) -> PartKind:
    """The kind of a part.

    Args:
        name: of the catalogue, or of anything else.
        torque: its limit at the output [N m].
        takes_positions: whether it follows positions.

    Returns:
        The kind that has it, or else the likeliest for its command and torque.
    """
    kinds = kinds_of(takes_positions)
    file = name.partition("/")[0].lower()
    named = [
        k for k in (SERVO_KIND, *_other_kinds()) if any(p.name.partition("/")[0] == file for p in k.parts)
    ]
    return next(iter(named or [k for k in kinds if k.has_size(torque)]), kinds[0])


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
    """The numbers of any actuator on a hinge or slide.

    Args:
        loaded: the compiled model, with what its file says beyond it.
        i: index of the actuator.
        at: the joint that it moves.

    Returns:
        Its numbers at the joint.
    """
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
    bare = steady.Line(R, K, K, volts or 0.0, viscous=dcmotor.friction.viscous).behind_gears(g)
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
