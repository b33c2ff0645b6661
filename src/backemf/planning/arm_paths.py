"""Whether a robot's model is free to make motions, from where it stands to where it returns: what `plan` and
`record` both ask before anything moves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

import numpy as np

from ..logs.robot import Robot
from ..mujoco.robot.robot_motion import first_touch, posture_of
from .motions import Motion, Motions

STEP = 0.02
"""Between postures that are looked at [s], and on the ways between them [rad]."""


def arm_problems(
    robot: Robot, motions: Motions, here: Mapping[str, float], table: float | None
) -> Iterator[str]:
    """Why a robot should not make motions: a joint beyond its range, or links that touch each other or the
    table; ways from where it stands and back included.

    Args:
        robot: its links and joints.
        motions: that shall be played.
        here: where its joints stand [rad]; others are taken to stand at 0, or as near as their range allows.
        table: its height in the model's frame [m], where there is one.

    Yields:
        A sentence for each motion that must not be made.
    """
    others = posture_of(robot, {})
    stands = np.array([here.get(name, others[name]) for name in robot.names])
    for motion in motions.motions:
        path = motion_path(robot, motion, stands)
        for name in robot.names:
            joint, asked = robot.joint(name), motion.sample(name)[1]
            if not len(asked):
                continue
            low, high = float(asked.min()), float(asked.max())
            if (joint.low is not None and low < joint.low) or (joint.high is not None and high > joint.high):
                yield (
                    f"{motion.name} takes {name} to {low:.3f} .. {high:.3f} rad, and its range in the model"
                    f" is {joint.low} .. {joint.high}"
                )
        if (met := first_touch(robot, path, table)) is not None:
            where = ", ".join(f"{n} {q:.2f}" for n, q in zip(robot.names, path[met.place], strict=True))
            yield (
                f"{motion.name}: {met.words} on its way, at {where} rad; move the robot elsewhere, or ask for"
                " less (--amplitude, other --motions)"
            )


def motion_path(robot: Robot, motion: Motion, stands: np.ndarray) -> np.ndarray:
    """Postures of a motion, with the ways from where the robot stands and back.

    Args:
        robot: its joints.
        motion: that is played.
        stands: where its joints stand before and after, in the robot's order [rad].

    Returns:
        (n, joints), one after the other [rad].
    """
    played = np.tile(stands, (max(int(motion.duration / STEP), 1) + 1, 1))
    t = np.linspace(0.0, motion.duration, len(played))
    for k, name in enumerate(robot.names):
        if (track := motion.track(name)) is not None:
            played[:, k] = track.at(t)
    path = [stands, *played, stands]
    return np.concatenate(
        [straight_way(a, b) for a, b in itertools.pairwise(path)]
    )  # jumps pass what is between


def straight_way(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Postures from one to another, all joints in step, as the recorder goes there."""
    n = max(math.ceil(float(np.max(np.abs(b - a))) / STEP), 1)
    return a + np.linspace(0.0, 1.0, n + 1)[:, None] * (b - a)
