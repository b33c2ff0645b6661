"""A whole robot on the bus: the usual motions of its joints, one after the other, which let nothing fall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from ...errors import InvalidValue, UnknownName
from ...logs.robot import Robot
from ...planning.motions import Motion, Motions, Track
from ...registry import SERVICES

GRID = 0.1
"""Motions begin where a joint stands, to this grid [rad]: the same again where it stands nearly there."""
EDGE = 0.05
"""Kept from the ends of a joint's range [rad]."""
TOGETHER = 0.3
"""Share of the amplitude where all joints move at once."""


def robot_of(given: Robot | Path | str, joints: Iterable[str]) -> Robot:
    """The robot whose joints servos are.

    Args:
        given: the robot, or the file of its model.
        joints: names of the servos.

    Raises:
        UnknownName: of a joint that the robot does not have.
    """
    robot = given if isinstance(given, Robot) else SERVICES.robots.read(given)
    for name in joints:
        if name not in robot.names:
            raise UnknownName(f"joint of {robot.name}", name, robot.names)
    return robot


def arm_motions(robot: Robot, here: Mapping[str, float], amplitude: float, seconds: float) -> Motions:
    """Every joint in turn, slow ramps and then steps about where it stands, then all a little at once; the
    torque stays on.

    Args:
        robot: whose joints they are.
        here: where the joints that shall move stand [rad].
        amplitude: how far each goes either way, less where its range ends [rad].
        seconds: how long all of it lasts [s].

    Returns:
        A motion for each joint, and one for all.

    Raises:
        InvalidValue: a joint stands at an end of its range and has no room to move.
    """
    T = seconds / (len(here) + 1)
    spans = {name: _span(robot, name, q, amplitude) for name, q in here.items()}
    motions = []
    for name, (centre, reach) in spans.items():
        times, shares = (0.0, 0.14, 0.28, 0.42, 0.56), (0.0, 1.0, 0.0, -1.0, 0.0)
        steps = ((0.60, 0.7), (0.68, -0.5), (0.76, 1.0), (0.86, -1.0), (0.94, 0.0))
        at, to = [*times], [*shares]
        for begin, share in steps:  # a step is a very short line
            at += [begin, begin + 1e-4]
            to += [to[-1], share]
        track = Track(
            times=tuple(T * t for t in at), positions=tuple(round(centre + reach * x, 6) for x in to)
        )
        motions.append(Motion(name=name, duration=T, tracks={name: track}))
    waves = {
        name: Track(
            command=f"chirp amplitude={TOGETHER * reach:.6g}rad low={0.3 + 0.05 * k:g}Hz"
            f" high={2.0 + 0.2 * k:g}Hz duration={T:.6g}s offset={centre:.6g}rad"
        )
        for k, (name, (centre, reach)) in enumerate(spans.items())
    }
    motions.append(Motion(name="all-joints", duration=T, tracks=waves))
    return Motions(motions=tuple(motions), note=f"the usual ones of {robot.name}")


def _span(robot: Robot, name: str, q: float, amplitude: float) -> tuple[float, float]:
    """(the middle of a joint's motions, how far they go either way) [rad]."""
    joint = robot.joint(name)
    low = -np.inf if joint.low is None else joint.low + EDGE
    high = np.inf if joint.high is None else joint.high - EDGE
    reach = float(min(amplitude, 0.5 * (high - low)))
    if reach <= 0:
        raise InvalidValue(f"{name} has a range of {high - low + 2 * EDGE:.3g} rad; expected room to move")
    return float(np.clip(GRID * round(q / GRID), low + reach, high - reach)), reach
