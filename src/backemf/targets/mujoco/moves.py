"""Does the edited model still move? Both models get the same commands, joint by joint."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidValue
from ...mujoco.arrays import installed_era, load_mujoco
from ...mujoco.models import Loaded
from .interface import Old, old_of

STEP = 0.3
"""A position is asked to move this far [rad or m], or less where the joint's range is smaller."""
SECONDS, SHORT = 1.0, 0.2
"""For a position or velocity, and for a torque or voltage, which would run away."""
SHARE = 0.3
"""A torque or voltage is asked for by this share of what both models can give."""
DEAD = 0.1
"""A joint that moves less than this share of what a position asked for, or of what it moved before, or that
moves the other way, is called dead."""


class Moved(NamedTuple):
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


def moved(old: Any, new: Any, joints: Sequence[tuple[Old, Old]]) -> list[Moved]:
    """Each joint alone, from the first keyframe or the initial pose, without gravity and contact; the others
    are asked to stay where they are."""
    rows = []
    for before, after in joints:
        u, words = _command(old, before, after)
        unit = "m" if _slides(old, before.joint) else "rad"
        runs = (_run(old, before, u), _run(new, after, u))
        follows = before.follows or after.follows
        step = u / before.gear if follows == "position_target" else None
        rows.append(Moved(before.joint, words, *runs, unit, step))
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
        Loaded(model, installed_era()),
        (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE),
    )
    for j in np.flatnonzero(np.isin(model.jnt_type, [int(kind) for kind in turning])):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, int(j))
        with contextlib.suppress(InvalidValue):  # several actuators on one joint: they stay at 0
            one = old_of(loaded, name) if name else None
            if one is not None and one.ctrl is not None and one.follows == "position_target":
                rest[one.ctrl] = one.gear * float(data.qpos[model.jnt_qposadr[j]])
    return rest
