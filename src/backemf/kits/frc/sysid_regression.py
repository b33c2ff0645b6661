"""The classic SysId regression, step by step as WPILib's tool takes it, for those who want its numbers.

a = alpha v + beta u + gamma sgn(v) [+ delta | + delta cos(theta) + epsilon sin(theta)], by least squares over
four filtered tests. What is known to be weak in it stays as it is; the default of `characterize` does better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import InvalidValue, MissingValue
from .trials import MECHANISMS, TESTS, Trial

_NOISE_WINDOW = 9
_LONGEST_STEP = 0.5
"""Steps of time that are longer than this do not count towards the mean step [s]."""


@dataclass(frozen=True, kw_only=True)
class ResampledTrial:
    """One test, all of it on the clock of its input."""

    time: np.ndarray
    input: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    step: np.ndarray
    """To the next sample, as it was before anything was left out [s]."""
    acceleration: np.ndarray

    def __len__(self) -> int:
        return len(self.time)

    def keep(self, which: np.ndarray | slice) -> ResampledTrial:
        """Some of the samples."""
        return ResampledTrial(**{name: column[which] for name, column in vars(self).items()})


@dataclass(frozen=True, kw_only=True)
class GainRegression:
    """Gains in the units of the rows, and how well acceleration is explained."""

    gains: Mapping[str, float]
    r2: float
    """Adjusted R^2 of the acceleration."""
    n: int
    delay: float
    """Mean of the velocity delays of the dynamic tests [s]; found, not used."""


def resample(run: Trial) -> ResampledTrial:
    """Position and velocity interpolated to the input's clock, the last sample spent on the last step."""
    t = run.time
    still = np.zeros(len(t) - 1)
    return ResampledTrial(
        time=t[:-1],
        input=run.input[:-1],
        position=np.interp(t[:-1], run.position_time, run.position) if len(run.position) else still,
        velocity=np.interp(t[:-1], run.velocity_time, run.velocity),
        step=np.diff(t),
        acceleration=still,
    )


def noise_floor(x: np.ndarray, window: int = _NOISE_WINDOW) -> float:
    """Scatter about a moving average that begins with zeros."""
    half = window // 2
    mean = np.convolve(x, np.full(window, 1.0 / window))[: len(x)]
    return float(np.sqrt(np.sum((x[: len(x) - half] - mean[half:]) ** 2) / (len(x) - half)))


def median_filter(v: np.ndarray, window: int) -> np.ndarray:
    """The tool's median: filled with the first value, the first half window never fed,
    the last value repeated at the end."""
    if window <= 1:
        return v
    half = (window - 1) // 2
    out = v.copy()
    buffer = [float(v[0])] * window
    for i in range(half, len(v)):
        buffer = [*buffer[1:], float(v[i])]
        out[i - half] = sorted(buffer)[window // 2]
    last = float(v[-1])
    for i in range(len(v) - half, len(v)):
        buffer = [*buffer[1:], last]
        out[i] = sorted(buffer)[window // 2]
    return out


def differentiate(rows: ResampledTrial) -> ResampledTrial:
    """Acceleration by central differences at the mean step; 0 at the end."""
    usual = rows.step[(rows.step > 0) & (rows.step < _LONGEST_STEP)]
    v, h = rows.velocity, float(np.mean(usual))
    a = np.zeros_like(v)
    a[1:-1] = (v[2:] - v[:-2]) / (2 * h)
    a[0] = (v[1] - v[0]) / (2 * h)
    return replace(rows, acceleration=a)


def filter_trials(
    runs: Mapping[str, Trial], *, median: int = 1, threshold: float | None = None
) -> tuple[dict[str, ResampledTrial], float]:
    """The four tests filtered and trimmed, and the mean velocity delay of the dynamic ones."""
    tests = {test: resample(run) for test, run in runs.items()}
    slow = [rows for test, rows in tests.items() if test.startswith("quasistatic")]
    if threshold is None:
        threshold = min((noise_floor(rows.velocity) for rows in slow), default=0.0)
    duration, shortest, delays, out, least = 0.0, math.inf, [], {}, max(3, median)
    for test, rows in sorted(tests.items()):
        if test.startswith("quasistatic"):
            rows = rows.keep((np.abs(rows.input) > 0) & (np.abs(rows.velocity) >= threshold))
        if len(rows) < least:
            raise InvalidValue(
                f"{test} has {len(rows)} samples in motion; the classic regression needs at least {least}"
            )
        rows = differentiate(replace(rows, velocity=median_filter(rows.velocity, median)))
        if test.startswith("dynamic"):
            rows, delay, shortest, duration = _trim_step(test, rows, shortest, duration)
            delays.append(delay)
        rows = rows.keep(rows.acceleration != 0)
        if len(rows) == 0:
            raise InvalidValue(
                f"{test}: velocity never changes from sample to sample, so that no acceleration is left"
            )
        out[test] = rows
    return out, float(np.mean(delays)) if delays else math.nan


def _trim_step(
    test: str, rows: ResampledTrial, shortest: float, duration: float
) -> tuple[ResampledTrial, float, float, float]:
    on = np.flatnonzero(np.abs(rows.input) > 0)
    if len(on) == 0:
        raise InvalidValue(f"{test}: the input is 0 throughout")
    first = float(rows.time[on[0]])
    towards = np.sign(rows.velocity) * rows.acceleration
    peak = int(np.argmax(towards))
    begins = np.flatnonzero(towards > 0.8 * towards[peak])
    delay = 0.0
    if len(begins):
        delay = float(rows.time[begins[0]]) - first
        rows = rows.keep(slice(peak, None))
    shortest = min(float(rows.time[0]) - first, shortest)
    if duration == 0:
        fast = np.flatnonzero(np.abs(rows.velocity) > 0.9 * np.max(np.abs(rows.velocity)))
        if len(fast):
            duration = float(rows.time[fast[0]] - rows.time[0]) + shortest
    return rows.keep(rows.time - rows.time[0] <= duration), delay, shortest, duration


def regress(
    velocity: np.ndarray,
    input: np.ndarray,
    acceleration: np.ndarray,
    mechanism: str = "simple",
    position: np.ndarray | None = None,
) -> tuple[dict[str, float], float]:
    """(gains, adjusted R^2) by least squares with acceleration as the dependent variable."""
    v, u, a = velocity, input, acceleration
    columns = [v, u, np.sign(v)]
    if mechanism == "elevator":
        columns.append(np.ones_like(v))
    elif mechanism == "arm":
        if position is None:
            raise MissingValue("an arm needs its position: gravity depends on the angle")
        columns += [np.cos(position), np.sin(position)]
    X = np.stack(columns, axis=1)
    b, *_ = np.linalg.lstsq(X, a, rcond=None)
    beta = b[1]
    gains = {"kS": float(-b[2] / beta), "kV": float(-b[0] / beta), "kA": float(1 / beta)}
    if mechanism == "elevator":
        gains["kG"] = float(-b[3] / beta)
    elif mechanism == "arm":
        gains["kG"] = float(np.hypot(b[3], b[4]) / beta)
        gains["offset"] = float(np.arctan2(b[4], -b[3]))
    n, p = X.shape
    explained = 1 - float(np.sum((a - X @ b) ** 2)) / max(float(np.sum((a - np.mean(a)) ** 2)), 1e-300)
    return gains, 1 - (1 - explained) * (n - 1) / max(n - p, 1)


def one_step(runs: Sequence[Trial], mechanism: str = "simple", *, threshold: float) -> GainRegression:
    """The same least squares without filters or trimming: from each sample to the next.

    Accelerations are forward differences at the mean step of what is kept. This is "SysId OLS" of Tyler
    Veness' SysIdOpt (github.com/calcmogul/SysIdOpt, threshold 0.1), which published gains of its sample file.

    Args:
        runs: any tests; all are used.
        mechanism: simple, elevator or arm.
        threshold: velocity that a sample must reach, as the runs have it.

    Returns:
        Gains in the units of the runs.

    Raises:
        InvalidValue: where fewer than 6 samples are as fast.
    """
    parts = []
    for run in runs:
        rows = resample(run)
        change = np.diff(np.interp(run.time, run.velocity_time, run.velocity))
        columns = np.stack([rows.velocity, rows.input, change, rows.position, rows.step])
        parts.append(columns[:, np.abs(rows.velocity) >= threshold])
    velocity, u, change, position, steps = np.concatenate(parts, axis=1)
    if len(velocity) < 6:
        raise InvalidValue(
            f"{len(velocity)} samples are as fast as the threshold of {threshold:g}; expected at least 6:"
            " lower it"
        )
    a = change / float(np.mean(steps))
    gains, r2 = regress(velocity, u, a, mechanism, position)
    return GainRegression(gains=gains, r2=r2, n=len(a), delay=math.nan)


def sysid(
    runs: Sequence[Trial], mechanism: str = "simple", *, median: int = 1, threshold: float | None = None
) -> GainRegression:
    """Gains as the classic tool finds them.

    Args:
        runs: of all four tests; the first of each is used.
        mechanism: one of MECHANISMS.
        median: window of the filter of velocities; 1 is none.
        threshold: velocity that a sample of a slow test must reach, as the runs have it; their noise, unless
            given.

    Returns:
        Gains in the units of the runs.

    Raises:
        MissingValue: where one of the tests is missing.
    """
    if mechanism not in MECHANISMS:
        raise InvalidValue(f"mechanism is {mechanism!r}; expected one of {', '.join(MECHANISMS)}")
    first: dict[str, Trial] = {}
    for run in sorted(runs, key=lambda run: run.part):
        first.setdefault(f"{run.test}/{run.part}", run)
    missing = [test for test in TESTS if not any(key.startswith(test) for key in first)]
    if missing:
        raise MissingValue(
            f"the classic regression needs all four tests; missing: {', '.join(missing)}. The default method"
            " takes any subset"
        )
    tests, delay = filter_trials(first, median=median, threshold=threshold)
    velocity, u, a, position = (
        np.concatenate([getattr(rows, name) for rows in tests.values()])
        for name in ("velocity", "input", "acceleration", "position")
    )
    gains, r2 = regress(velocity, u, a, mechanism, position)
    return GainRegression(gains=gains, r2=r2, n=len(velocity), delay=delay)
