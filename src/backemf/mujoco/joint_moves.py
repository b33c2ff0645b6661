"""Joints of two models moved by the same commands: whether a joint still follows, diverges or overshoots."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidValue
from ..findings import Finding
from .arrays import (
    PID_SLEW,
    SWITCHES,
    dcmotors,
    driven_joints,
    installed_era,
    load_mujoco,
    pids,
    rest_springs,
)
from .joint_interface import ModelJoint, read_joint
from .models import LoadedModel

STEP = 0.3
"""A position is asked to move this far [rad or m], or less where the joint's range is smaller."""
SECONDS, SHORT = 1.0, 0.2
"""For a position or velocity, and for a torque or voltage, which would run away."""
SHARE = 0.3
"""A torque or voltage is asked for by this share of what both models can give."""
DEAD = 0.1
"""A joint that moves less than this share of what a position asked for, or of what it moved before, or that
moves the other way, is called dead."""
OVERSHOOT, LEAST_OVERSHOOT = 1.5, 0.05
"""Times the old overshoot from which on it is a finding, where it is at least this share of the step."""


class Excursion(NamedTuple):
    """How far a joint went for one command."""

    far: float
    """Greatest excursion [rad or m]."""
    low: float
    """Greatest backwards."""
    high: float
    """Greatest forwards."""
    diverged: bool = False


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
    diverges: bool = False
    """In the new model, where it did not in the old one."""
    stable_step: float | None = None
    """The longest time step tried with which it does not [s]."""
    reach: tuple[float, float] | None = None
    """How far it goes backwards and forwards in the new model, where that is known."""

    @property
    def dead(self) -> bool:
        """Whether it no longer follows its command."""
        wanted = self.before if self.step is None else self.step
        if not wanted:  # nothing moved it before, and a torque may be too small to
            return False
        low, high = self.reach or (self.after, self.after)  # it may swing beyond both
        along = high if wanted >= 0 else -low
        return not along >= DEAD * abs(wanted)

    def row(self) -> tuple[str, ...]:
        """As a line of a table: joint, command, before and after."""
        return (self.joint, self.asked, f"{self.before:.3g} {self.unit}", f"{self.after:.3g} {self.unit}")

    def overshoot(self, which: str) -> float:
        """Beyond the step, as a share of it, "before" or "after"; 0 where no position was asked for."""
        return max(getattr(self, which) / self.step - 1.0, 0.0) if self.step else 0.0


def compare_moves(
    old: Any, new: Any, joints: Sequence[tuple[ModelJoint, ModelJoint]], rest: Any = None
) -> list[JointMove]:
    """Each joint alone, from the first keyframe or the initial pose, without gravity and contact; the others
    are asked to stay where they are.

    Args:
        old: the compiled model as it was.
        new: the model with other actuators.
        joints: each joint as it is in the one and in the other.
        rest: the new model's commands at which its joints stay; without it, those that its actuators say.

    Returns:
        How far each joint moved.
    """
    rows = []
    for before, after in joints:
        u, words = _command(old, before, after)
        unit = "m" if before.slides else "rad"
        was, now = _run(old, before, u), _run(new, after, u, rest)
        follows = before.follows or after.follows
        step = u / before.gear if follows == "position_target" else None
        diverges = now.diverged and not was.diverged
        stable = _stable_step(new, after, u, rest) if diverges else None
        reach = (now.low, now.high)
        rows.append(JointMove(before.joint, words, was.far, now.far, unit, step, diverges, stable, reach))
    return rows


def check_moves(rows: Sequence[JointMove], h: float) -> list[Finding]:
    """Refuse a joint that diverges or no longer follows its command; and what else there is to say.

    Args:
        rows: the joints' moves.
        h: time step of the model [s].

    Raises:
        InvalidValue: a joint diverges, or is dead.
    """
    wild = [m for m in rows if m.diverges]
    if wild:
        words = "; ".join(f"{m.joint} for {m.asked}" for m in wild)
        known = [m.stable_step for m in wild if m.stable_step is not None]
        cure = f"set the model's timestep to {1e3 * min(known):g} ms, with which it holds" if known else ""
        cure = cure or "expected softer gains: no shorter time step tried makes it hold"
        raise InvalidValue(
            f"with the new actuator the simulation diverges at the model's time step of {1e3 * h:g} ms:"
            f" {words}; {cure}"
        )
    dead = [m for m in rows if m.dead]
    if dead:
        words = "; ".join(
            f"{m.joint} moves {m.after:.2g} {m.unit} for {m.asked}, before {m.before:.2g}" for m in dead
        )
        raise InvalidValue(
            f"with the new actuator a joint no longer follows its command: {words}; is this"
            " the part for that joint, at its supply?"
        )
    return [remark for m in rows for remark in _overshoot_remark(m)]


def _overshoot_remark(m: JointMove) -> Iterator[Finding]:
    was, now = m.overshoot("before"), m.overshoot("after")
    if m.before and now > max(OVERSHOOT * was, LEAST_OVERSHOOT):
        yield Finding(
            code="overshoots",
            text=f"{m.joint}: overshoots a step of {m.asked} by {now:.0%}, before by {was:.0%}.",
            remedy="more damping: a derivative gain of the drive, or friction.viscous of the actuator",
            numbers={"before": was, "after": now},
        )


def home(model: Any, data: Any) -> None:
    """Put a simulation where it begins: at its first keyframe, or as the model is written.

    Args:
        model: compiled.
        data: of the model, which is changed.
    """
    mujoco = load_mujoco()
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    else:
        mujoco.mj_resetData(model, data)
    rest_springs(model, data)
    for i, setpoint in setpoints(model, data.qpos).items():
        data.act[i] = setpoint


def setpoints(model: Any, qpos: np.ndarray) -> dict[int, float]:
    """Activations that hold slewed positions of dcmotors and pids, as they are where the joints stand.

    Args:
        model: compiled.
        qpos: the joints' positions.

    Returns:
        Place in `act` -> value.
    """
    _, array, k = SWITCHES["setpoint"]
    places = dict.fromkeys(dcmotors(model), k) | dict.fromkeys(pids(model), PID_SLEW)
    found = {}
    for i, at in driven_joints(model).items():
        if i not in places or not getattr(model, f"actuator_{array}")[i, places[i]] > 0:
            continue
        one = read_joint(LoadedModel(model, installed_era()), at.name)
        if one.follows == "position_target" and one.actuator == i:
            found[int(model.actuator_actadr[i])] = one.gear * float(qpos[model.jnt_qposadr[at.joint]])
    return found


def _command(model: Any, before: ModelJoint, after: ModelJoint) -> tuple[float, str]:
    """(what is added to the joint's resting command, in words)."""
    unit = "m" if before.slides else "rad"
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


def _room(model: Any, old: ModelJoint) -> float:
    """A step that the joint's range allows, towards its roomier side."""
    data, joint = load_mujoco().MjData(model), model.joint(old.joint)
    home(model, data)
    q = float(data.qpos[joint.qposadr[0]])
    if not joint.limited[0]:
        return STEP
    low, high = (float(x) for x in joint.range)
    up, down = high - q, q - low
    return min(STEP, 0.8 * up) if up >= down else -min(STEP, 0.8 * down)


def _run(model: Any, one: ModelJoint, u: float, rest: Any = None) -> Excursion:
    """Largest excursion of a joint while its command is changed by u."""
    mujoco = load_mujoco()
    flags, kept = model.opt.disableflags, int(model.opt.disableflags)
    bad = ("mjWARN_BADQACC", "mjWARN_BADQPOS", "mjWARN_BADQVEL")
    model.opt.disableflags = (
        flags | int(mujoco.mjtDisableBit.mjDSBL_GRAVITY) | int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    )
    try:
        data, joint = mujoco.MjData(model), model.joint(one.joint)
        home(model, data)
        mujoco.mj_forward(model, data)
        at, low, high = int(joint.qposadr[0]), 0.0, 0.0
        q0 = float(data.qpos[at])
        data.ctrl[:] = resting(model, data.qpos) if rest is None else rest
        if one.ctrl is not None:
            data.ctrl[one.ctrl] += u
        seconds = SECONDS if one.follows in ("position_target", "velocity_target") else SHORT
        for _ in range(round(seconds / model.opt.timestep)):
            mujoco.mj_step(model, data)
            moved = float(data.qpos[at]) - q0
            low, high = min(low, moved), max(high, moved)
            if not np.isfinite(moved) or any(
                data.warning[int(getattr(mujoco.mjtWarning, w))].number for w in bad
            ):
                return Excursion(moved, low, high, diverged=True)
        return Excursion(high if high >= -low else low, low, high)
    finally:
        model.opt.disableflags = kept


def _stable_step(model: Any, one: ModelJoint, u: float, rest: Any) -> float | None:
    """The longest of a few shorter time steps with which a joint does not diverge [s]."""
    h = float(model.opt.timestep)
    try:
        for n in (2, 4, 8, 16, 32):
            model.opt.timestep = h / n
            with contextlib.suppress(load_mujoco().FatalError):  # a line too short for its delay
                if not _run(model, one, u, rest).diverged:
                    return h / n
        return None
    finally:
        model.opt.timestep = h


def resting(model: Any, qpos: np.ndarray) -> np.ndarray:
    """Commands with which positions stay where they are and everything else is off.

    Args:
        model: compiled, with actuators of its own.
        qpos: the joints' positions.
    """
    mujoco, rest = load_mujoco(), np.zeros(model.nu)
    loaded = LoadedModel(model, installed_era())
    turning = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    for j in np.flatnonzero(np.isin(model.jnt_type, turning)):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, int(j))
        with contextlib.suppress(InvalidValue):  # a muscle or an integrator: it stays at 0
            one = read_joint(loaded, name) if name else None
            if one is not None and one.ctrl is not None and one.follows == "position_target":
                rest[one.ctrl] = one.gear * float(qpos[model.jnt_qposadr[j]])
    return rest
