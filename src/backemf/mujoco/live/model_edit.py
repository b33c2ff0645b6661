"""A model's joints made ready: its own actuators exchanged for ones that MuJoCo asks us about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InvalidValue, MissingValue
from ...findings import Finding, finding
from ...physics.actuator import Actuator
from ..arrays import load_mujoco
from ..models import by_joint, same_era

KEPT = {"id", "name", "target", "trntype", "classname", "signature", "info", "parent", "plugin", "group"}
KEPT |= {"refsite", "slidersite", "userdata", "compiler", "ctrlrange", "ctrllimited"}
"""Of an actuator that is replaced: who it is, and what its ctrl may be."""


def spec_of(model: Any) -> tuple[Any, str]:
    """A copy of a model's description that may be changed, and what to call it."""
    mujoco = load_mujoco()
    if isinstance(model, mujoco.MjSpec):
        named = model.modelname not in ("", "MuJoCo Model")  # the second is what nobody called it
        return model.copy(), model.modelname if named else "the model"
    if not isinstance(model, str | Path):
        hint = "; a compiled model cannot be changed" if isinstance(model, mujoco.MjModel) else ""
        raise InvalidValue(
            f"attach was given a {type(model).__name__}{hint}; expected the path of an MJCF or URDF"
            f" file, or an"
            " MjSpec"
        )
    path = Path(model)
    if not path.is_file():
        raise MissingValue(f"there is no file {str(path)!r}; expected an MJCF or URDF model")
    if path.suffix.lower() != ".urdf":
        same_era(path)
    try:
        return mujoco.MjSpec.from_file(str(path)), path.name
    except ValueError as error:
        raise InvalidValue(
            f"{path.name}: MuJoCo {mujoco.__version__} does not load it: {_line(error)}"
        ) from None


def compile_spec(spec: Any, name: str) -> Any:
    try:
        return spec.compile()
    except ValueError as error:
        raise InvalidValue(f"{name}: MuJoCo does not compile it: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def choose_joints(spec: Any, wanted: dict[str, Any], name: str) -> dict[str, str]:
    """Joint -> whose actuator it gets. A regular expression means joints that have an actuator, or all where
    none has."""
    mujoco = load_mujoco()
    kinds = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
    named = [j.name for j in spec.joints if j.name]
    turning = [j.name for j in spec.joints if j.name and j.type in kinds]
    for pattern in wanted:
        if pattern in named and pattern not in turning:
            raise InvalidValue(f"joint {pattern!r} of {name} is a ball or free; expected a hinge or a slide")
    driven = {a.target for a in spec.actuators if _on_joint(mujoco, a)}
    meant = [j for j in turning if j in driven] or turning
    if not turning:
        raise MissingValue(f"{name} has no hinge or slide with a name; expected one for each actuator")
    return by_joint(wanted, meant, name, turning)


def _on_joint(mujoco: Any, actuator: Any) -> bool:
    return actuator.trntype in (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)


def take(spec: Any, joint: str, actuator: Actuator, armature: float) -> tuple[str, list[Finding]]:
    """Make an actuator on this joint ours, the one that is there or a new one; its name."""
    mujoco, findings = load_mujoco(), []
    there = [a for a in spec.actuators if _on_joint(mujoco, a) and a.target == joint]
    if there:
        mine, *others = there
        findings.append(_replaced_finding(mine, joint, len(others)))
        for other in others:
            _reset(mujoco, other)
            other.gainprm[:] = 0.0
    else:
        mine = spec.add_actuator(name=_free_name(spec, joint), target=joint)
        mine.trntype = mujoco.mjtTrn.mjTRN_JOINT
    if not mine.name:
        mine.name = _free_name(spec, joint)
    by_position = actuator.drive.followed == "position_target"
    was_position = bool(there) and mine.biastype == mujoco.mjtBias.mjBIAS_AFFINE and mine.biasprm[1] < 0
    scale = float(mine.gear[0]) if there else 1.0
    _reset(mujoco, mine)
    mine.gaintype, mine.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_USER
    mine.dyntype = mujoco.mjtDyn.mjDYN_USER
    mine.gainprm[:] = 0.0
    if scale != 1.0:
        findings.append(_gear_finding(mine.name, joint, scale))
    if not (by_position and was_position and scale == 1.0):  # the old range is that of something else
        _limit(mine, spec.joint(joint), by_position)
    _bare(spec.joint(joint), armature)
    return mine.name, findings


def _limit(actuator: Any, joint: Any, by_position: bool) -> None:
    """The range of a joint's positions for an actuator that follows them, and none for another."""
    ranged = by_position and bool(joint.limited) and joint.range[1] > joint.range[0]
    actuator.ctrllimited, actuator.ctrlrange = int(ranged), list(joint.range) if ranged else [0.0, 0.0]


def _replaced_finding(mine: Any, joint: str, others: int) -> Finding:
    more = f"; {others} more on the same joint do nothing any more" if others else ""
    return finding(
        "replaced",
        f"joint {joint!r} was driven by the model's own actuator {mine.name!r}, which ours replaces;"
        f" the joint's"
        f" damping, dry friction and armature are the actuator's now{more}.",
        "nothing, unless the joint has friction of its own besides its actuator's: put that into the"
        " actuator",
        others=others,
    )


def _gear_finding(name: str, joint: str, gear: float) -> Finding:
    return finding(
        "ctrl_rescaled",
        f"actuator {name!r} had gear {gear:g}; its ctrl is now in the units of joint {joint!r} itself.",
        f"divide what was sent to {name!r} by {gear:g}",
        gear=gear,
    )


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


def _bare(joint: Any, armature: float) -> None:
    """A joint whose damping, dry friction and rotor are its actuator's."""
    for field, value in (("damping", 0.0), ("frictionloss", 0.0), ("armature", armature)):
        if isinstance(getattr(joint, field), np.ndarray):
            getattr(joint, field)[:] = 0.0
            getattr(joint, field)[0] = value
        else:
            setattr(joint, field, value)
    joint.actfrclimited = 0
    joint.actfrcrange[:] = 0.0


def keyframes(spec: Any, before: Any, own: set[str]) -> None:
    """Activations of the model's own keyframes, moved to where they are now; our motors start at rest."""
    bare = spec.copy()
    for key in [*bare.keys]:
        bare.delete(key)
    after = bare.compile()
    for key in spec.keys:
        old, new = np.asarray(key.act, float), np.zeros(after.na)
        for i in range(before.nu if len(old) else 0):
            name, n = before.actuator(i).name, int(before.actuator_actnum[i])
            if n and name not in own:
                at, to = int(before.actuator_actadr[i]), int(after.actuator(name).actadr[0])
                new[to : to + n] = old[at : at + n]
        if len(old):
            key.act = new
