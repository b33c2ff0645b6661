"""A model's joints made ready: its own actuators exchanged for ones that MuJoCo asks us about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...bounds import outside
from ...errors import InvalidValue, MissingValue
from ..arrays import ctrl_place, load_mujoco
from ..joint_interface import JointDrive
from ..models import same_era
from ..xml import scan

KEPT = {"id", "name", "target", "trntype", "classname", "signature", "info", "parent", "plugin", "group"}
KEPT |= {"refsite", "slidersite", "userdata", "compiler", "ctrlrange", "ctrllimited"}
"""Of an actuator that is replaced: who it is, and what its ctrl may be."""


def spec_of(model: Any, allow_outside: bool = False) -> tuple[Any, str]:
    """A copy of a model's description that may be changed, and what to call it.

    Args:
        model: path, or an MjSpec.
        allow_outside: whether it may include files from outside its own folder.
    """
    mujoco = load_mujoco()
    match model:
        case mujoco.MjSpec():
            named = model.modelname not in ("", "MuJoCo Model")  # the second is what nobody called it
            return model.copy(), model.modelname if named else "the model"
        case str() | Path():
            with outside(allow_outside):
                return _read_spec(Path(model))
        case mujoco.MjModel():
            hint = "; a compiled model cannot be changed"
        case _:
            hint = ""
    raise InvalidValue(
        f"attach was given a {type(model).__name__}{hint}; expected the path of an MJCF or URDF file, or"
        " an MjSpec"
    )


def _read_spec(path: Path) -> tuple[Any, str]:
    mujoco = load_mujoco()
    if not path.is_file():
        raise MissingValue(f"there is no file {str(path)!r}; expected an MJCF or URDF model")
    scan(path)
    if path.suffix.lower() != ".urdf":
        same_era(path)
    try:
        return mujoco.MjSpec.from_file(str(path)), path.name
    except ValueError as error:
        raise InvalidValue(
            f"{path.name}: MuJoCo {mujoco.__version__} does not load it: {_line(error)}"
        ) from None


def compile_spec(spec: Any, name: str) -> Any:
    """The model of a description; where MuJoCo refuses it, its name and MuJoCo's own words."""
    try:
        return spec.compile()
    except ValueError as error:
        raise InvalidValue(f"{name}: MuJoCo does not compile it: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def take(spec: Any, drive: JointDrive, armature: float, ctrl: str) -> str:
    """Make an actuator on a joint ours, the one that is there or a new one.

    Args:
        spec: the model's description, which is changed.
        drive: what drives the joint from now on.
        armature: of the actuator at the joint [kg m^2 or kg].
        ctrl: "model" where the old range of ctrl stays, "actuator" where it is that of the joint's positions.

    Returns:
        The name of the model's actuator.
    """
    mujoco, before = load_mujoco(), drive.before
    if before.actuator is not None:
        mine = spec.actuators[before.actuator]
        for i in before.others:
            _reset(mujoco, spec.actuators[i])
            spec.actuators[i].gainprm[:] = 0.0
    else:
        mine = spec.add_actuator(name=_free_name(spec, drive.joint), target=drive.joint)
        mine.trntype = mujoco.mjtTrn.mjTRN_JOINT
    if not mine.name:
        mine.name = _free_name(spec, drive.joint)
    by_position = drive.actuator.drive.followed == "position_target"
    same = before.follows == "position_target" and before.gear == 1.0 and by_position
    _reset(mujoco, mine)
    mine.gaintype, mine.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_USER
    mine.dyntype = mujoco.mjtDyn.mjDYN_USER
    mine.gainprm[:] = 0.0
    if before.actuator is None or (ctrl == "actuator" and not same):  # the old range is of something else
        _limit(mine, spec.joint(drive.joint), by_position)
    elif before.ctrlrange is not None:  # perhaps a class's, perhaps inherited from the joint's range
        mine.ctrllimited, mine.ctrlrange = 1, list(before.ctrlrange)
    _bare(spec.joint(drive.joint), drive, armature)
    return mine.name


def take_out(spec: Any, before: Any, tendons: Sequence[int]) -> None:
    """Take springs that yield out of a model, and their references out of its keyframes.

    Args:
        spec: the model's description, which is changed.
        before: the model as it was, compiled.
        tendons: their ids.
    """
    listed, places = [*spec.tendons], [int(before.tendon_plasticadr[k]) for k in tendons]
    for k in tendons:
        spec.delete(listed[k])
    for key in spec.keys if places else ():
        if len(key.plastic):
            key.plastic = np.delete(key.plastic, [place + end for place in places for end in (0, 1)])


def _limit(actuator: Any, joint: Any, by_position: bool) -> None:
    """The range of a joint's positions for an actuator that follows them, and none for another."""
    ranged = by_position and bool(joint.limited) and joint.range[1] > joint.range[0]
    actuator.ctrllimited, actuator.ctrlrange = int(ranged), list(joint.range) if ranged else [0.0, 0.0]


def _free_name(spec: Any, joint: str) -> str:
    names, name = {a.name for a in spec.actuators}, joint
    while name in names:
        name += "_motor"
    return name


def _reset(mujoco: Any, actuator: Any) -> None:
    """Every field that says what an actuator does, as in one that nobody described."""
    plain = mujoco.MjSpec().add_actuator()
    for field in dir(plain):
        if field.startswith(("_", "set_")) or field in KEPT:
            continue
        value = getattr(plain, field)
        if isinstance(value, np.ndarray):
            getattr(actuator, field)[:] = value
        else:
            setattr(actuator, field, value)


def _bare(joint: Any, drive: JointDrive, armature: float) -> None:
    """A joint whose damping, dry friction and rotor are its actuator's, as far as that knows them."""
    for field, value in (("damping", 0.0), ("frictionloss", 0.0), ("armature", armature)):
        if field in drive.keeps:
            continue
        if isinstance(getattr(joint, field), np.ndarray):
            getattr(joint, field)[:] = 0.0
            getattr(joint, field)[0] = value
        else:
            setattr(joint, field, value)
    joint.actfrclimited = 0  # of the whole effort, of which friction is a part here
    joint.actfrcrange[:] = 0.0


def keyframes(spec: Any, before: Any, own: set[str], added: Mapping[str, str]) -> None:
    """Move the activations of the model's own keyframes to where they are now; our motors start at rest.

    Args:
        spec: the model's description, whose keyframes are changed.
        before: the model as it was, compiled.
        own: names of our actuators.
        added: actuator -> joint of those that are new and follow a position: they are asked to stay.
    """
    bare = spec.copy()
    for key in [*bare.keys]:
        bare.delete(key)
    after = bare.compile()
    for k, key in enumerate(spec.keys):
        old, new = np.asarray(key.act, float), np.zeros(after.na)
        for i in range(len(before.actuator_actnum) if len(old) else 0):  # ours come last, or take a place
            n = int(before.actuator_actnum[i])
            if n and before.actuator(i).name not in own and int(after.actuator_actnum[i]) == n:
                at, to = int(before.actuator_actadr[i]), int(after.actuator_actadr[i])
                new[to : to + n] = old[at : at + n]
        if len(old):
            key.act = new
        if added:
            ctrl = np.zeros(after.nu)
            ctrl[: before.nu] = before.key_ctrl[k]
            for name, joint in added.items():
                place = ctrl_place(after, int(after.actuator(name).id))
                ctrl[place] = before.key_qpos[k, before.joint(joint).qposadr[0]]
            key.ctrl = ctrl
