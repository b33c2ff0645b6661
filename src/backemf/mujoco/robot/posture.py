"""One joint of a robot whose others stand still: a pendulum, exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ...errors import InvalidValue, UnknownName
from ...logs.robot import Robot
from ...physics.bench import GRAVITY, Bench, Flywheel, Pendulum
from .dynamics import carried
from .motion import Motion

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
    path = Motion(
        time=np.arange(2.0), position=q, velocity=still, acceleration=still, recorded=q, window=1, noise=noise
    )
    found = carried(robot, path)
    inertia = float(found.inertia[0, place])
    # load = -A sin(q - q_h): A sin(q_h) at 0, -A cos(q_h) at a quarter turn
    s, c = float(found.load[0, place]), -float(found.load[1, place])
    A, hanging = math.hypot(s, c), math.atan2(s, c)
    if A < BALANCED:
        return Flywheel(inertia=inertia)
    length = GRAVITY * inertia / A
    return Pendulum(mass=A / (GRAVITY * length), length=length, hanging=hanging)
