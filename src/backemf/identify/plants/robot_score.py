"""How far all joints, simulated together, are from recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...logs.robot import Ground, Robot
from ...mujoco.robot.coupled import LONGEST_STEP, coupled
from ...physics.actuator import Actuator
from ...results.fit import Score
from .recordings import RobotRecording


def score(
    robot: Robot,
    actuators: Mapping[str, Actuator],
    delays: Mapping[str, float],
    ground: Ground | None,
    recordings: Sequence[RobotRecording],
    *,
    held_out: bool,
    step: float = LONGEST_STEP,
) -> Score:
    """The coupled simulation against recordings; where it runs away the score is infinite."""
    runs = [
        coupled(robot, actuators, one.log, delays=delays, ground=ground, motion=one.motion, step=step)
        for one in recordings
    ]
    return scored(robot, [*actuators], recordings, runs, held_out=held_out)


def scored(
    robot: Robot,
    names: Sequence[str],
    recordings: Sequence[RobotRecording],
    runs: Sequence[np.ndarray],
    *,
    held_out: bool,
) -> Score:
    """Positions of all joints along recordings, (samples, joints) each, against what was recorded of these
    joints."""
    places = [robot.place(name) for name in names]
    squares = np.zeros((2, len(places)))
    count = np.zeros((2, len(places)))
    logs = {}
    touched = 0
    for one, q in zip(recordings, runs, strict=True):
        error = (q - one.motion.recorded)[:, places] ** 2
        error = np.where(np.isfinite(one.motion.recorded[:, places]), error, np.nan)
        lost = ~np.isfinite(q[:, places])
        error[lost] = np.inf
        logs[one.log.name] = float(np.sqrt(np.nanmean(error)))
        for row, kept in enumerate((np.ones(len(q), bool), ~one.touched)):
            squares[row] += np.nansum(error[kept], axis=0)
            count[row] += np.sum(np.isfinite(one.motion.recorded[kept][:, places]), axis=0)
        touched += int(one.touched.sum())
    every, free = (np.sqrt(squares[k] / np.maximum(count[k], 1)) for k in (0, 1))
    return Score(
        rms=float(np.sqrt(np.sum(squares[0]) / np.sum(count[0]))),
        rms_free=float(np.sqrt(np.sum(squares[1]) / max(np.sum(count[1]), 1))),
        held_out=held_out,
        joints=dict(zip(names, map(float, every), strict=True)),
        logs=logs,
        joints_free=dict(zip(names, map(float, free), strict=True)),
        share_touched=touched / max(sum(len(one.motion.time) for one in recordings), 1),
    )
