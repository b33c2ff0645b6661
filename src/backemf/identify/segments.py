"""Segment: the part of a run that tells about motion. Rest before a slow test breaks away, hard stops and stale samples are left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .runs import Run

_STALE = 0.3
"""A run is stale where more than this share of its fast samples repeats the one before."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """What is compared with a simulation."""

    run: Run
    time: np.ndarray
    input: np.ndarray
    velocity_time: np.ndarray
    velocity: np.ndarray
    position_time: np.ndarray
    position: np.ndarray
    rests: bool
    """Begins at rest; otherwise in motion, with an unknown first velocity."""
    onset: float
    """When the input begins to act [s]."""
    start_position: float
    noise_velocity: float
    noise_position: float
    smooth: np.ndarray
    """Velocity averaged over as many samples as it takes to see motion."""
    resolution: float = 0.0
    """Step of the position's grid, where that is coarser than its noise."""
    derived: bool = False
    """Whether velocity is nothing but differences of position."""
    breakaway: float = math.nan
    """Input of a slow test when it began to move."""
    stopped: float = math.nan
    """When it ran into something [s]."""
    stale: float = 0.0
    """Share of samples that repeat the one before."""


def noise_of(t: np.ndarray, x: np.ndarray) -> float:
    """Scatter of single samples, from third differences (motion is smooth over four samples), at least that of the resolution."""
    if len(x) < 8:
        return float(np.std(x)) if len(x) else 0.0
    d = np.diff(x, 3)
    scatter = 1.4826 * float(np.median(np.abs(d))) / math.sqrt(20.0)
    return max(scatter, resolution_of(x) / math.sqrt(12.0))


def resolution_of(x: np.ndarray) -> float:
    """The step of a grid on which all values lie; 0 where there is none."""
    steps = np.abs(np.diff(x))
    steps = steps[steps > 1e-9 * float(np.max(np.abs(x), initial=0.0))]
    if len(steps) < 4:
        return 0.0
    least = float(steps.min())
    return least if len(np.unique(np.round(steps / least, 3))) < 0.2 * len(steps) else 0.0


def is_derived(t_v: np.ndarray, v: np.ndarray, t_p: np.ndarray, p: np.ndarray) -> bool:
    """Whether velocity is position's change over the last step, sample by sample."""
    if len(p) != len(v) or len(v) < 8 or not np.array_equal(t_v, t_p):
        return False
    slope = np.diff(p) / np.diff(t_p)
    return bool(np.mean(np.abs(slope - v[1:]) <= 1e-6 * np.max(np.abs(v))) > 0.9)


def segment(run: Run) -> Segment | None:
    """The usable part of a run; None where nothing moves."""
    u = run.input
    acting = np.flatnonzero(np.abs(u) > 1e-9)
    if len(acting) == 0 or len(run.velocity) < 8:
        return None
    onset, end = float(run.time[acting[0]]), float(run.time[acting[-1]])
    t_v, v, t_p, p = run.velocity_time, run.velocity, run.position_time, run.position
    noise = noise_of(t_v, v)
    top = float(np.percentile(np.abs(calm(v)[0]), 98))
    stale = _stale_share(v, top)
    if stale > _STALE:
        fresh = np.concatenate([[True], np.diff(v) != 0]) | (np.abs(v) < 0.02 * top)
        t_v, v = t_v[fresh], v[fresh]
        if len(p):
            fresh = np.concatenate([[True], np.diff(p) != 0])
            t_p, p = t_p[fresh], p[fresh]
        noise = noise_of(t_v, v)
    inside = (t_v <= end + 1e-9) & (t_v >= onset - 0.05)
    t_v, v = t_v[inside], v[inside]
    if len(v) < 8:
        return None
    smooth, calm_noise, width = calm(v)
    first = _moving(smooth, calm_noise, top)
    if first is None or top <= 5 * calm_noise or top <= 0:
        return None
    stopped = _hard_stop(run, t_v, smooth, top, calm_noise)
    if math.isfinite(stopped):
        inside = t_v < stopped
        t_v, v, smooth = t_v[inside], v[inside], smooth[inside]
        if len(v) < 8:
            return None
    still = abs(float(np.mean(v[: max(1, first - width)]))) <= 4 * calm_noise + 0.02 * top
    rests = not run.slow and still and first > 0
    first = min(first + width // 2, len(v) - 8) if width > 1 and run.slow else first
    breakaway = math.nan
    if run.slow:
        breakaway = float(run.input[np.clip(np.searchsorted(run.time, t_v[first]) - 1, 0, len(u) - 1)])
    if not rests:
        t_v, v, smooth = t_v[first:], v[first:], smooth[first:]
    if len(v) < 8:
        return None
    inside = (t_p >= t_v[0] - 1e-9) & (t_p <= t_v[-1] + 1e-9)
    start = float(np.interp(t_v[0], t_p, p)) if len(p) else 0.0
    t_p, p = t_p[inside], p[inside]
    if len(p) < 8:
        t_p, p = t_p[:0], p[:0]
    return Segment(
        run=run,
        time=run.time,
        input=run.input,
        velocity_time=t_v,
        velocity=v,
        position_time=t_p,
        position=p,
        rests=rests,
        onset=onset,
        start_position=start,
        noise_velocity=max(noise, 1e-9 * top),
        noise_position=noise_of(t_p, p),
        smooth=smooth,
        resolution=resolution_of(p),
        derived=is_derived(run.velocity_time, run.velocity, run.position_time, run.position),
        breakaway=breakaway,
        stopped=stopped,
        stale=stale,
    )


def _stale_share(v: np.ndarray, top: float) -> float:
    fast = np.abs(v[1:]) > 0.2 * top
    same = np.diff(v) == 0
    levels = len(np.unique(v)) / max(len(v), 1)
    if fast.sum() < 10 or (levels < 0.02 and len(v) > 200):  # few levels: coarse resolution, not repetition
        return 0.0
    return float(np.mean(same[fast]))


def calm(v: np.ndarray) -> tuple[np.ndarray, float, int]:
    """(velocity averaged, scatter left, width): over as few samples as it takes for noise and resolution to fall below 1 % of the range."""
    smooth, noise, width = v, noise_of(v, v), 1
    for width in (1, 3, 7, 15, 31, 61):
        if width > len(v) // 8:
            break
        ends = np.concatenate([np.full(width // 2, v[0]), v, np.full(width // 2, v[-1])])
        smooth = np.convolve(ends, np.full(width, 1.0 / width), mode="valid")
        noise = noise_of(v, smooth[:: max(1, width)]) if width > 1 else noise_of(v, v)
        if noise < 0.01 * float(np.max(np.abs(smooth))):
            break
    return smooth, noise, width


def _moving(v: np.ndarray, noise: float, top: float) -> int | None:
    """The first sample from which the mechanism keeps moving, clear of noise and of the creep before it breaks away."""
    clear = np.abs(v) > max(4 * noise, 0.02 * top)
    steady = np.convolve(clear, np.ones(4), mode="full")[3:] >= 3
    where = np.flatnonzero(steady)
    return int(where[0]) if len(where) else None


def _hard_stop(run: Run, t_v: np.ndarray, v: np.ndarray, top: float, noise: float) -> float:
    """When motion ended although the input went on: the start of the fall to rest; NaN where there was none."""
    if len(v) < 20:
        return math.nan
    width = 5
    smooth = np.array([np.median(v[max(0, i - width) : i + width + 1]) for i in range(len(v))])
    still = np.abs(smooth) < max(0.03 * top, 2 * noise)
    if not still[-1] or still.all():
        return math.nan
    last = int(np.flatnonzero(~still)[-1])
    if len(v) - last < 8 or np.max(np.abs(smooth[: last + 1])) < 0.3 * top:
        return math.nan
    held = np.abs(np.interp(t_v, run.time, run.input))
    before = max(1, int(np.argmax(np.abs(smooth[: last + 1]))))
    if held[-1] < 0.7 * held[min(before, len(held) - 1)]:
        return math.nan
    peak = abs(smooth[last]) if last < 30 else float(np.max(np.abs(smooth[last - 30 : last + 1])))
    falling = last
    while falling > 0 and abs(smooth[falling]) < 0.9 * peak:
        falling -= 1
    return float(t_v[max(falling - width, 1)])


def segments_of(runs: Sequence[Run]) -> tuple[list[Segment], list[Run]]:
    """(segments, runs that never move)."""
    found, idle = [], []
    for run in runs:
        one = segment(run)
        if one is None:
            idle.append(run)
        else:
            found.append(one)
    return found, idle
