"""A whole robot on the bus: motions joint by joint that let nothing fall, and whether its model is free to
make them, from where it stands to where it returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from ...errors import InvalidValue, UnknownName
from ...logs.robot import Robot
from ...mujoco.robot.robot_motion import first_touch, posture_of
from ...planning.motions import Motion, Motions, Track
from ...registry import SERVICES

GRID = 0.1
"""Motions begin where a joint stands, to this grid [rad]: the same again where it stands nearly there."""
EDGE = 0.05
"""Kept from the ends of a joint's range [rad]."""
STEP = 0.02
"""Between postures that are looked at [s], and on the ways between them [rad]."""
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
        path = _path(robot, motion, stands)
        for k, name in enumerate(robot.names):
            joint, low, high = robot.joint(name), float(path[:, k].min()), float(path[:, k].max())
            if name not in motion.tracks and "*" not in motion.tracks:
                continue
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


def _path(robot: Robot, motion: Motion, stands: np.ndarray) -> np.ndarray:
    """Postures of a motion, with the ways from where the robot stands and back."""
    played = np.tile(stands, (max(int(motion.duration / STEP), 1) + 1, 1))
    t = np.linspace(0.0, motion.duration, len(played))
    for k, name in enumerate(robot.names):
        if (track := motion.track(name)) is not None:
            played[:, k] = track.at(t)
    return np.concatenate([_way(stands, played[0]), played, _way(played[-1], stands)])


def _way(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    n = max(int(np.max(np.abs(b - a)) / STEP), 1)
    return a + np.linspace(0.0, 1.0, n + 1)[:, None] * (b - a)
