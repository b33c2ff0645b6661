"""An actuator out of any MJCF model: a `<dcmotor>` or saved `<general>` of either era as it is, a
`<position>`, `<velocity>` or `<motor>` as the ideal actuator it stands for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InvalidValue, MissingValue, UnknownName
from ...mujoco.arrays import (
    DrivenJoint,
    Plain,
    actuator_names,
    dcmotors,
    driven_joint,
    kind_of,
    load_mujoco,
    pids,
    plain,
    without_log,
)
from ...mujoco.models import LoadedModel, load
from ...physics import drive as drives
from ...physics.actuator import Actuator
from ...physics.drive import Drive
from ...physics.friction import Coulomb
from ...physics.joint_law import JointLaw
from ...physics.motor import Motor
from . import dcmotor_target
from .classic import read_pid


class ModelSource(NamedTuple):
    """An actuator that was read, its joint, and where its numbers came from."""

    actuator: Actuator
    joint: str
    notes: tuple[str, ...]


@without_log()
def read(path: Path | str, name: str | None = None, hint: str | None = None) -> ModelSource:
    """One of a model's actuators.

    Args:
        path: of the model.
        name: of the actuator, or of its joint; it must exist.
        hint: the same, and it need not. Where neither names one, the model must have only one.

    Returns:
        The actuator, where its numbers came from, and its joint.
    """
    path = Path(path)
    loaded = load(path)
    i, at = _choose_actuator(loaded.model, path, name, hint)
    kind, label = kind_of(loaded.model, i), actuator_names(loaded.model)[i]
    if i in dcmotors(loaded.model):
        motor = dcmotor_target.read(path, i)
        notes = [f"model: {path.name}, <dcmotor> {label} on {at.name}, {_era(loaded)}"]
        notes += [
            f"the model's ctrl is {1 / factor:g} times {target}"
            for target, factor in motor.targets.items()
            if factor and abs(factor - 1) > 1e-9
        ]
        notes += [f"not in the model: {x}" for x in motor.unknown]
        return ModelSource(motor.actuator, at.name, tuple(notes))
    made, how = _ideal(loaded.model, i, at, label)
    return ModelSource(made, at.name, (f"model: {path.name}, <{kind}> {label} on {at.name}", *how))


@without_log()
def joints(path: Path | str) -> dict[str, str]:
    """Joint -> actuator of every dcmotor of a model; where it has none, of every actuator on a joint."""
    path = Path(path)
    model = load(path).model
    names, found = actuator_names(model), {}
    for i in dcmotors(model) or range(len(names)):
        at = driven_joint(model, i)
        if not isinstance(at, DrivenJoint):
            continue
        if at.name in found:
            raise InvalidValue(
                f"{path.name} has several actuators on {at.name!r} ({found[at.name]}, {names[i]}); expected"
                f" one: say which, as {path.name}#{names[i]}"
            )
        found[at.name] = names[i]
    return found


def _era(loaded: LoadedModel) -> str:
    return "gains in volts (MuJoCo 3.7 to 3.11)" if loaded.era == 1 else "gains of MuJoCo 3.12 and later"


def _choose_actuator(model: Any, path: Path, name: str | None, hint: str | None) -> tuple[int, DrivenJoint]:
    """(index, joint) of an actuator on a hinge or slide."""
    names, joints = actuator_names(model), {}
    for i in range(len(names)):
        at = driven_joint(model, i)
        if isinstance(at, DrivenJoint):
            joints[i] = at
    listed = ", ".join(
        names[i] if names[i] == at.name else f"{names[i]} on {at.name}" for i, at in joints.items()
    )
    if not joints:
        raise MissingValue(f"{path.name} has no actuator on a hinge or slide; expected at least one")

    def named_actuators(word: str | None) -> list[int]:
        by_joint = [i for i, at in joints.items() if at.name == word]
        return [i for i in joints if names[i] == word] or by_joint

    wanted = named_actuators(name) if name is not None else named_actuators(hint) or list(joints)
    if not wanted:
        known = dict.fromkeys(word for i, at in joints.items() for word in (names[i], at.name))
        raise UnknownName(f"actuator or joint in {path.name}", str(name), known)
    if len(wanted) > 1:
        raise MissingValue(
            f"{path.name} has {len(wanted)} actuators to choose from ({listed}); say which one, as"
            f" {path.name}#{names[wanted[0]]}"
        )
    return wanted[0], joints[wanted[0]]


def _ideal(model: Any, i: int, at: DrivenJoint, label: str) -> tuple[Actuator, list[str]]:
    """A classic element, with its joint, as an actuator; and what had to be said about it."""
    mujoco, x, pid = load_mujoco(), plain(model, i, at), i in pids(model)
    if not pid and int(model.actuator_dyntype[i]) != int(mujoco.mjtDyn.mjDYN_NONE):
        raise InvalidValue(
            f"actuator {label!r} has an activation of its own (a filter or an integrator); expected a"
            " <position> without timeconst, a <velocity>, a <motor> or a <pid>"
        )
    if (x.kind == "general" and not pid) or min(x.stiffness, x.derivative) < 0:
        raise InvalidValue(
            f"actuator {label!r} is a <general> that no <position>, <velocity> or <motor> stands for;"
            " expected one of these, or a dcmotor"
        )
    notes, scale = ["an ideal actuator: the model knows no winding, gears or firmware"], 1.0
    if x.kind != "motor" and x.gear != 1:
        scale = 1.0 / x.gear
        notes.append(f"the model's ctrl is {x.gear:g} times what the joint is to follow")
    if pid:
        made = _law(x).actuator(_template(x, at))
        made = replace(made, drive=read_pid(model, i, x.gear, made.drive))
    elif x.kind != "motor" and x.limit is not None and x.damping > 0:
        notes.append(
            f"the damping behind its limit, {x.damping:g}, is taken for the back-EMF's, which is the same law"
        )
        made = _with_line(x, at)
    else:
        made = _law(x).actuator(_template(x, at))
    if x.ctrlrange is not None:
        low, high = sorted(scale * u for u in x.ctrlrange)
        made = replace(made, drive=replace(made.drive, command_low=low, command_high=high))
    return made, notes


def _law(x: Plain) -> JointLaw:
    return JointLaw(
        gain=x.gain,
        stiffness=x.stiffness,
        damping=x.derivative,
        effort_limit=x.limit or 0.0,
        viscous=x.damping,
        friction=x.frictionloss,
        armature=x.armature,
    )


def _template(x: Plain, at: DrivenJoint) -> Actuator:
    """What tells the law which command is followed."""
    law: Drive = drives.Current() if x.kind == "motor" else drives.Impedance()
    return Actuator(motor=Motor(resistance=1.0, torque_constant=1.0), drive=law, motion=at.motion)


def _with_line(x: Plain, at: DrivenJoint) -> Actuator:
    """clip(kp (u - q) - kv w, +-F) - d w is a voltage-limited motor whose back-EMF gives d: of stall torque F
    and no-load speed F / d, here of a newton-metre a volt."""
    F, d, kv = x.limit, x.damping, x.derivative
    law: Drive = drives.Position(volts_per_radian=x.stiffness, volt_seconds_per_radian=kv, voltage_limit=F)
    if x.kind == "velocity":
        law = drives.Velocity(volt_seconds_per_radian=kv, voltage_limit=F)
    return Actuator(
        motor=Motor(resistance=d, torque_constant=d, rotor_inertia=x.armature),
        friction=Coulomb(coulomb=x.frictionloss, viscous=0.0),
        drive=law,
        motion=at.motion,
    )
