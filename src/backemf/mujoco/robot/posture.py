"""A robot that stands still but for one joint: what that joint carries, and how far it may go before
something touches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidValue, UnknownName
from ...logs.robot import Robot
from ...physics.bench import GRAVITY, Bench, Flywheel, Pendulum
from ..arrays import load_mujoco
from .robot_motion import RobotMotion, describe_model, joint_loads, places

BALANCED = 1e-4
"""Torque of gravity up to which a joint counts as balanced [N m]."""


def posture_of(robot: Robot, given: Mapping[str, float]) -> dict[str, float]:
    """Where every joint stands: as given, otherwise at 0 or as near to it as its range allows."""
    for name in given:
        if name not in robot.names:
            raise UnknownName("joint", name, robot.names)
    stood = {}
    for joint in robot.joints:
        low, high = (
            -math.inf if joint.low is None else joint.low,
            math.inf if joint.high is None else joint.high,
        )
        q = float(given.get(joint.name, min(max(0.0, low), high)))
        if not low <= q <= high:
            raise InvalidValue(f"{joint.name} stands at {q:g}; its range is {low:g} to {high:g}")
        stood[joint.name] = q
    return stood


def joint_bench(robot: Robot, joint: str, posture: Mapping[str, float]) -> Bench:
    """What a joint carries while the others stand still: I q'' = -A sin(q - q_h), which a point mass of
    m = A^2 / (g^2 I) at l = g I / A has too."""
    one = robot.joint(joint)
    if one.motion != "rotary":
        raise InvalidValue(f"{joint} is a linear joint; expected one that turns")
    place = robot.names.index(joint)
    q = np.tile([posture[name] for name in robot.names], (2, 1))
    q[:, place] = (0.0, 0.5 * math.pi)
    still = np.zeros_like(q)
    noise = np.zeros(q.shape[1])
    path = RobotMotion(
        time=np.arange(2.0), position=q, velocity=still, acceleration=still, recorded=q, window=1, noise=noise
    )
    loads = joint_loads(robot, path)
    inertia = float(loads.inertia[0, place])
    # load = -A sin(q - q_h): A sin(q_h) at 0, -A cos(q_h) at a quarter turn
    s, c = float(loads.load[0, place]), -float(loads.load[1, place])
    A, hanging = math.hypot(s, c), math.atan2(s, c)
    if A < BALANCED:
        return Flywheel(inertia=inertia)
    length = GRAVITY * inertia / A
    return Pendulum(mass=A / (GRAVITY * length), length=length, hanging=hanging)


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
    model = describe_model(robot)
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
        return {_body_pair(model, contact) for contact in data.contact if contact.dist < 0.0}

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


def _body_pair(model: Any, contact: Any) -> Pair:
    """The two bodies of a contact, the same way round each time."""
    names = [model.body(int(model.geom_bodyid[g])).name or "the world" for g in contact.geom]
    names = ["the world" if name == "world" else name for name in names]
    a, b = sorted(names, key=lambda name: (name == "the world", name))
    return a, b
