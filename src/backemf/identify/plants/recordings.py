"""Recordings of a robot as recordings of single joints: each with the inertia and load that the others make,
and without the samples in which the robot touched something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...logs.log import Log
from ...logs.robot import Ground, Robot
from ...mujoco.robot import alone
from ...mujoco.robot.clearance import Clearance, clearance
from ...mujoco.robot.contact import Pushes, from_outside, pushes, scatter_of, touched
from ...mujoco.robot.dynamics import Carried, carried
from ...mujoco.robot.motion import Motion, motion_of, part_of
from ...mujoco.robot.plane import ground_of
from ...physics.actuator import Actuator


@dataclass(frozen=True, kw_only=True)
class RobotRecording:
    """One recording of a robot, and what its joints carried along it."""

    log: Log
    motion: Motion
    carried: Carried
    clearance: Clearance | None
    touched: np.ndarray = field(repr=False)
    """Samples in which it touched something."""


def recording_of(robot: Robot, log: Log) -> RobotRecording:
    motion = motion_of(robot, log)
    return RobotRecording(
        log=log,
        motion=motion,
        carried=carried(robot, motion),
        clearance=clearance(robot, motion.position),
        touched=np.zeros(len(motion.time), bool),
    )


def first_part(one: RobotRecording, seconds: float) -> RobotRecording:
    """The first seconds of a recording."""
    t = one.motion.time
    n = int(np.searchsorted(t, t[0] + seconds, side="right"))
    if n >= len(t):
        return one
    cut = slice(0, n)
    arrays = ("inertia", "load", "torque")
    return replace(
        one,
        log=one.log.between(float(t[0]), float(t[n - 1])),
        motion=part_of(one.motion, cut),
        carried=replace(one.carried, **{name: getattr(one.carried, name)[cut] for name in arrays}),
        clearance=None,
        touched=one.touched[cut],
    )


def joint_log(one: RobotRecording, robot: Robot, name: str, settings: Mapping[str, float]) -> Log:
    """The recording of one joint, on a bench that is all the others."""
    return alone.joint_log(
        one.log, robot, name, one.motion, one.carried, kept=~one.touched, settings=settings
    )


def with_contact(
    robot: Robot,
    recordings: Sequence[RobotRecording],
    actuators: Mapping[str, Actuator],
    delays: Mapping[str, float],
    ground: Ground | None,
) -> tuple[list[RobotRecording], Ground | None, list[Pushes]]:
    """(recordings with the samples marked in which the robot touched something, the ground that was given or
    found, how hard it pushed)."""
    there = [one.clearance for one in recordings if one.clearance is not None]
    if len(there) < len(recordings) or not recordings:
        return list(recordings), ground, []
    outside = [from_outside(robot, actuators, delays, one.log, one.motion, one.carried) for one in recordings]
    scatter = scatter_of(outside)
    clocks = [one.motion.time for one in recordings]
    felt = [pushes(o, scatter, c, t) for o, c, t in zip(outside, there, clocks, strict=True)]
    if ground is None:
        ground = ground_of(there, felt, clocks)
    marked = []
    for one, c, p in zip(recordings, there, felt, strict=True):
        marked.append(replace(one, touched=touched(c, p, ground, one.motion.time)))
    return marked, ground, felt
