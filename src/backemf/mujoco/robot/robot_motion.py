"""Position, velocity and acceleration of all joints along a recording, smoothed as far as its noise and rate
allow."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np

from ...errors import MissingValue, SignalError
from ...logs.log import Log, noise_of
from ...logs.robot import Robot

WINDOWS = (5, 7, 9, 11, 13, 17, 21, 27, 35, 45)
"""Samples that a cubic is laid through."""
LONGEST = 0.2
"""Longest window [s]: a joint may turn about within it."""
GAP = 2.5
"""Steps from which on two samples are not neighbours."""


@dataclass(frozen=True, kw_only=True)
class RobotMotion:
    """All joints of a robot on one clock, in the robot's order."""

    time: np.ndarray
    position: np.ndarray
    """(samples, joints), smoothed."""
    velocity: np.ndarray
    acceleration: np.ndarray
    recorded: np.ndarray
    """(samples, joints), as measured; NaN where it was not."""
    window: int
    """Samples that each value was smoothed over."""
    noise: np.ndarray
    """Standard deviation of the noise of each joint's position."""


def motion_of(robot: Robot, log: Log) -> RobotMotion:
    """The motion of a log; joints that were not recorded rest in the middle of their range."""
    t = log.time
    if len(t) < WINDOWS[0] + 2:
        raise MissingValue(
            f"{log.name} has {len(t)} samples; its motion is smoothed over {WINDOWS[0]} at least: record"
            " longer"
        )
    recorded = np.stack([_recorded_position(robot, log, name, t) for name in robot.names], axis=1)
    noise = np.array([max(noise_of(q), 1e-6) for q in recorded.T])
    filled = np.stack([_fill_gaps(t, q) for q in recorded.T], axis=1)
    window = window_of(t, filled, noise)
    q, v, a = smooth(t, filled, window)
    return RobotMotion(
        time=t, position=q, velocity=v, acceleration=a, recorded=recorded, window=window, noise=noise
    )


def part_of(motion: RobotMotion, cut: slice) -> RobotMotion:
    """Some of its samples."""
    arrays = ("time", "position", "velocity", "acceleration", "recorded")
    return replace(motion, **{name: getattr(motion, name)[cut] for name in arrays})


def _recorded_position(robot: Robot, log: Log, name: str, t: np.ndarray) -> np.ndarray:
    """A joint's position on the clock of all."""
    joint = robot.joint(name)
    if name not in log.joints or "position" not in log.joints[name]:
        return np.full(len(t), 0.5 * ((joint.low or 0.0) + (joint.high or 0.0)))
    signal = log.joints[name].signals["position"]
    if np.array_equal(signal.time, t):
        return signal.values
    good = np.isfinite(signal.values)
    return np.interp(t, signal.time[good], signal.values[good])


def _fill_gaps(t: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Straight lines across samples that are missing."""
    good = np.isfinite(q)
    if not good.any():
        raise SignalError("a joint's position is empty; leave the joint out, or record it")
    return q if good.all() else np.interp(t, t[good], q[good])


def window_of(t: np.ndarray, q: np.ndarray, noise: np.ndarray) -> int:
    """The window whose cubics, laid without a sample, come nearest to it: cross-validation, over the joints
    that move."""
    step = float(np.median(np.diff(t)))
    fitting = [n for n in WINDOWS if n * step <= LONGEST and n < len(t)] or [WINDOWS[0]]
    speed = np.abs(np.gradient(q, t, axis=0))
    moving = speed > np.maximum(np.percentile(speed, 50, axis=0), noise / step)
    judged = moving.sum(axis=0) > 50
    if not judged.any():
        return fitting[-1]

    def left_out(n: int) -> float:
        errors = (q - smooth(t, q, n)[0]) / (1.0 - _followed_share(n))
        squares = np.where(moving, errors**2, 0.0).sum(axis=0) / np.maximum(moving.sum(axis=0), 1)
        return float(np.sum(np.log(squares[judged])))

    return min(fitting, key=left_out)


def _followed_share(n: int) -> float:
    """Share of the noise that a cubic through n samples follows in their middle."""
    half = n // 2
    return 3 * (3 * half**2 + 3 * half - 1) / ((2 * half - 1) * (2 * half + 1) * (2 * half + 3))


def smooth(t: np.ndarray, q: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, velocity and acceleration by cubics through n samples (Savitzky and Golay), never across a
    gap."""
    from scipy.signal import savgol_filter

    step = float(np.median(np.diff(t)))
    ends = [0, *(np.flatnonzero(np.diff(t) > GAP * step) + 1), len(t)]
    out = np.empty((3, *q.shape))
    for begin, end in itertools.pairwise(ends):
        part = q[begin:end]
        window = min(n, len(part) if len(part) % 2 else len(part) - 1)
        if window < 5:
            out[0, begin:end], out[1:, begin:end] = part, 0.0
            continue
        h = float(np.median(np.diff(t[begin:end])))
        for k in range(3):
            out[k, begin:end] = savgol_filter(part, window, 3, deriv=k, delta=h, axis=0)
    return out[0], out[1], out[2]
