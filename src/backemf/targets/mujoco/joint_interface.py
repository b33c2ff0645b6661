"""The actuator that a joint of a user's model has now, and a new one made to be commanded as the old one is:
a position stays a position of the joint, a torque a torque; and both moved by the same commands."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidValue
from ...mujoco.arrays import dcmotors, driven_joint, installed_era, load_mujoco, plain
from ...mujoco.dcmotor import in_volts
from ...mujoco.models import LoadedModel
from ...physics import drive as drives, steady
from ...physics.actuator import Actuator
from ...physics.drive import Drive

OF_INPUT = {
    "pos": "position_target",
    "position": "position_target",
    "vel": "velocity_target",
    "velocity": "velocity_target",
    "ff": "torque_target",
    "voltage": "voltage_target",
}
"""What each input of a `<dcmotor>` asks for."""
OF_JOINT = ("armature", "damping", "frictionloss")
ASKS = {
    "position_target": "a position",
    "velocity_target": "a velocity",
    "torque_target": "a torque",
    "voltage_target": "a voltage",
}


class Old(NamedTuple):
    """A joint and its actuator as they are in a compiled model, numbers at the joint."""

    joint: str
    dof: int
    actuator: int | None
    """None: the joint has none."""
    follows: str
    """What its ctrl asks for, as a drive's target."""
    ctrl: int | None
    """Place in ctrl of its first input."""
    gear: float = 1.0
    stiffness: float = 0.0
    derivative: float = 0.0
    limit: float | None = None
    """Largest torque [N m]."""
    ctrlrange: tuple[float, float] | None = None
    armature: float = 0.0
    damping: float = 0.0
    frictionloss: float = 0.0
    inputs: tuple[str, ...] = ()
    """Those of a dcmotor of 3.12 and later."""
    scale: float = 1.0
    """What a dcmotor's law with gains in volts follows, over gear times ctrl."""


def old_of(loaded: LoadedModel, joint: str) -> Old:
    """What a joint has now; classes are resolved, because the model is compiled."""
    model = loaded.model
    j = model.joint(joint)
    dof = int(j.dofadr[0])
    own: dict[str, Any] = {n: float(getattr(model, f"dof_{n}")[dof]) for n in OF_JOINT}
    moving = {
        i: at
        for i in range(len(model.actuator_gaintype))
        if not isinstance(at := driven_joint(model, i), str)
    }
    mine = [(i, at) for i, at in moving.items() if at.joint == j.id]
    if len(mine) > 1:
        raise InvalidValue(f"{joint!r} has {len(mine)} actuators; expected one: remove the others first")
    if not mine:
        return Old(joint=joint, dof=dof, actuator=None, follows="", ctrl=None, **own)
    ((i, at),) = mine
    x = plain(model, i, at)
    ctrl = int(model.actuator_ctrladr[i]) if hasattr(model, "actuator_ctrladr") else i
    common: dict[str, Any] = {"joint": joint, "dof": dof, "actuator": i, "ctrl": ctrl, **own}
    common |= {"gear": x.gear, "limit": x.limit, "ctrlrange": x.ctrlrange}
    if i in dcmotors(model):
        return Old(**common, **_of_dcmotor(loaded, i, joint))
    moves = "velocity_target" if x.derivative > 0 and x.gain else "torque_target"
    follows = "position_target" if x.stiffness > 0 else moves
    return Old(follows=follows, stiffness=x.stiffness, derivative=x.derivative, **common)


def _of_dcmotor(loaded: LoadedModel, i: int, joint: str) -> dict[str, Any]:
    """What a joint's dcmotor follows, its inputs and their scale."""
    dcmotor = loaded.dcmotor(i)
    inputs, volts = dcmotor.controller.inputs, in_volts(dcmotor)
    if inputs == ("ff",) and volts.dcmotor.controller.inputs == "voltage":
        raise InvalidValue(
            f"{joint!r}: its ff input with kd = K^2 / R is a plain voltage, ctrl times R / K; expected"
            ' input="voltage" with ctrl in volts: write it so first'
        )
    names = [inputs] if isinstance(inputs, str) else list(inputs)
    several = () if isinstance(inputs, str) else tuple(inputs)
    follows = OF_INPUT.get(names[0], "") if names else ""
    return {"follows": follows, "inputs": several, "scale": volts.ctrl_scale}


def adapt(actuator: Actuator, old: Old) -> tuple[Actuator, list[str]]:
    """(the actuator commanded as the old one is, what was changed for that, in words)."""
    drive, asked = actuator.drive, "torque_target" if _by_torque(actuator.drive) else actuator.drive.followed
    if not old.follows or old.follows == asked:
        return (replace(actuator, drive=_torque(drive)), []) if asked == "torque_target" else (actuator, [])
    most: dict[str, Any] = {"supply": drive.supply} if drive.supply is not None else {}
    if not most and drive.ceiling({}) is not None:
        most = {"voltage_limit": drive.ceiling({})}
    said = f"{old.joint}: ctrl asks for {ASKS[old.follows]}, and stays so"
    if old.follows == "torque_target":
        text = f"{said}; the law of the {drive.kind} is left to your controller"
        return replace(actuator, drive=_torque(drive)), [text]
    if old.follows == "voltage_target":
        return replace(actuator, drive=drives.Voltage(**most)), [f"{said}; the {drive.kind} is left out"]
    if old.follows == "velocity_target":
        per_volt = steady.line(actuator).torque_per_volt
        kept = drives.Velocity(volt_seconds_per_radian=max(old.derivative, 1e-9) / per_volt, **most)
        return replace(actuator, drive=kept), [f"{said}, with the model's kv {old.derivative:.4g} N m s/rad"]
    gains = f"kp {old.stiffness:.4g} N m/rad and kv {old.derivative:.4g} N m s/rad"
    law = drives.Impedance(
        newton_metres_per_radian=old.stiffness, newton_metre_seconds_per_radian=old.derivative, **most
    )
    return replace(actuator, drive=law), [f"{said}; {actuator.drive.kind} has no gains, so {gains} are kept"]


def _by_torque(drive: Drive) -> bool:
    """Whether a drive does nothing but what a torque or a current asks for."""
    loop = drive.loop
    if drive.followed in ("torque_target", "current_target"):
        return True
    return loop is not None and loop.effort != "V" and not (loop.proportional or loop.derivative)


def _torque(drive: Drive) -> Drive:
    """A drive that makes the current of the torque asked for, up to its voltage."""
    if drive.followed == "current_target":
        return drive
    most = drive.ceiling({})
    if drive.supply is not None:
        return drives.Current(supply=drive.supply)
    return drives.Current() if most is None else drives.Current(voltage_limit=most)


STEP = 0.3
"""A position is asked to move this far [rad or m], or less where the joint's range is smaller."""
SECONDS, SHORT = 1.0, 0.2
"""For a position or velocity, and for a torque or voltage, which would run away."""
SHARE = 0.3
"""A torque or voltage is asked for by this share of what both models can give."""
DEAD = 0.1
"""A joint that moves less than this share of what a position asked for, or of what it moved before, or that
moves the other way, is called dead."""


class JointMove(NamedTuple):
    """How far a joint moves in the old and the new model for one command."""

    joint: str
    asked: str
    """The command, in words."""
    before: float
    """Greatest excursion [rad or m]."""
    after: float
    unit: str
    step: float | None = None
    """How far a position was asked to go; an old model that ran away is no measure."""

    @property
    def dead(self) -> bool:
        wanted = self.before if self.step is None else self.step
        forwards = 1.0 if wanted >= 0 else -1.0
        return not forwards * self.after >= DEAD * abs(wanted)

    def row(self) -> tuple[str, ...]:
        return (self.joint, self.asked, f"{self.before:.3g} {self.unit}", f"{self.after:.3g} {self.unit}")


def compare_moves(old: Any, new: Any, joints: Sequence[tuple[Old, Old]]) -> list[JointMove]:
    """Each joint alone, from the first keyframe or the initial pose, without gravity and contact; the others
    are asked to stay where they are."""
    rows = []
    for before, after in joints:
        u, words = _command(old, before, after)
        unit = "m" if _slides(old, before.joint) else "rad"
        runs = (_run(old, before, u), _run(new, after, u))
        follows = before.follows or after.follows
        step = u / before.gear if follows == "position_target" else None
        rows.append(JointMove(before.joint, words, *runs, unit, step))
    return rows


def _slides(model: Any, joint: str) -> bool:
    return int(model.joint(joint).type[0]) == int(load_mujoco().mjtJoint.mjJNT_SLIDE)


def _home(model: Any, data: Any) -> None:
    mujoco = load_mujoco()
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    else:
        mujoco.mj_resetData(model, data)


def _command(model: Any, before: Old, after: Old) -> tuple[float, str]:
    """(what is added to the joint's resting command, in words)."""
    unit = "m" if _slides(model, before.joint) else "rad"
    follows = before.follows or after.follows
    if follows == "position_target":
        u = before.gear * _room(model, before)
        return u, f"{u:.3g} {unit}" if before.gear == 1 else f"ctrl {u:.3g}"
    if follows == "velocity_target":
        return 1.0, "ctrl 1"
    limits = [one.limit / abs(one.gear) for one in (before, after) if one.limit and one.gear]
    limits += [max(map(abs, one.ctrlrange)) for one in (before, after) if one.ctrlrange]
    u = SHARE * min(limits, default=1.0)
    return u, f"ctrl {u:.3g}"


def _room(model: Any, old: Old) -> float:
    """A step that the joint's range allows, towards its roomier side."""
    data, joint = load_mujoco().MjData(model), model.joint(old.joint)
    _home(model, data)
    q = float(data.qpos[joint.qposadr[0]])
    if not joint.limited[0]:
        return STEP
    low, high = (float(x) for x in joint.range)
    up, down = high - q, q - low
    return min(STEP, 0.8 * up) if up >= down else -min(STEP, 0.8 * down)


def _run(model: Any, one: Old, u: float) -> float:
    """Largest excursion of a joint while its command is changed by u."""
    mujoco = load_mujoco()
    flags, kept = model.opt.disableflags, int(model.opt.disableflags)
    model.opt.disableflags = (
        flags | int(mujoco.mjtDisableBit.mjDSBL_GRAVITY) | int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    )
    try:
        data, joint = mujoco.MjData(model), model.joint(one.joint)
        _home(model, data)
        mujoco.mj_forward(model, data)
        rest = _resting(model, data)
        at, far = int(joint.qposadr[0]), 0.0
        q0 = float(data.qpos[at])
        data.ctrl[:] = rest
        if one.ctrl is not None:
            data.ctrl[one.ctrl] = rest[one.ctrl] + u
        seconds = SECONDS if one.follows in ("position_target", "velocity_target") else SHORT
        for _ in range(round(seconds / model.opt.timestep)):
            mujoco.mj_step(model, data)
            moved = float(data.qpos[at]) - q0
            far = moved if abs(moved) > abs(far) else far
        return far if np.isfinite(far) else float("nan")
    finally:
        model.opt.disableflags = kept


def _resting(model: Any, data: Any) -> np.ndarray:
    """Commands with which positions stay where they are and everything else is off."""
    mujoco, rest = load_mujoco(), np.zeros(model.nu)
    loaded, turning = (
        LoadedModel(model, installed_era()),
        (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE),
    )
    for j in np.flatnonzero(np.isin(model.jnt_type, [int(kind) for kind in turning])):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, int(j))
        with contextlib.suppress(InvalidValue):  # several actuators on one joint: they stay at 0
            one = old_of(loaded, name) if name else None
            if one is not None and one.ctrl is not None and one.follows == "position_target":
                rest[one.ctrl] = one.gear * float(data.qpos[model.jnt_qposadr[j]])
    return rest
