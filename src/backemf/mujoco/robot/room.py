"""How far a joint can turn before the robot touches itself, or something that its model has beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...logs.robot import Robot
from ..arrays import load_mujoco
from .dynamics import described, places

STEP = math.radians(0.5)
"""Between places that are looked at [rad]."""
AROUND = math.pi
"""How far is looked, either way, where a joint has no range [rad]."""
Pair = tuple[str, str]


class Room(NamedTuple):
    """Where a joint is free to go while the others stand still."""

    low: float | None
    high: float | None
    """Its range, or the last place before something touches; None where there is neither."""
    below: str
    above: str
    """What touches what beyond those ends; empty where nothing does."""
    already: tuple[Pair, ...]
    """Bodies that touch where everything stands: of these the model says nothing."""
    looked: bool
    """Whether anything of the model can touch at all."""


def room(robot: Robot, joint: str, posture: Mapping[str, float]) -> Room:
    """How far a joint can go either way from where it stands, as the model's own shapes have it."""
    mujoco = load_mujoco()
    model = described(robot)
    one, place = robot.joint(joint), robot.names.index(joint)
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    off = model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    if off or not collides.any():
        return Room(one.low, one.high, "", "", (), False)
    data, (at_q, _) = mujoco.MjData(model), places(robot, model)
    mujoco.mj_resetData(model, data)
    stands = np.array([posture[name] for name in robot.names])

    def touch(angle: float) -> set[Pair]:
        data.qpos[at_q] = stands
        data.qpos[at_q[place]] = angle
        mujoco.mj_fwdPosition(model, data)
        return {_named(model, contact) for contact in data.contact if contact.dist < 0.0}

    first = float(stands[place])
    already = touch(first)

    def free(end: float) -> tuple[float, str]:
        """(the last place on the way to an end at which nothing touches, what touches behind it)."""
        last = first
        n = max(math.ceil(abs(end - first) / STEP), 1)
        for angle in np.linspace(first, end, n + 1)[1:]:
            if met := touch(float(angle)) - already:
                return last, " touches ".join(min(met))
            last = float(angle)
        return last, ""

    low, below = free(first - AROUND if one.low is None else one.low)
    high, above = free(first + AROUND if one.high is None else one.high)
    return Room(
        low if below else one.low, high if above else one.high, below, above, tuple(sorted(already)), True
    )


def _named(model: Any, contact: Any) -> Pair:
    """The two bodies of a contact, the same way round each time."""
    names = [model.body(int(model.geom_bodyid[g])).name or "the world" for g in contact.geom]
    names = ["the world" if name == "world" else name for name in names]
    a, b = sorted(names, key=lambda name: (name == "the world", name))
    return a, b
