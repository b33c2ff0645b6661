"""Clocks and counters as they come: times that repeat or run backwards, epochs, positions that wrap.
Nothing is ever stretched."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..findings import Finding, finding
from .recording import ReadError

EPOCH = 1e8
"""Beyond this a time [s] is a date, not a duration: 1e8 s are three years."""


def epoch_unit(first: float) -> str:
    """The unit of a time that states none: seconds, unless it is plainly a date counted in something finer
    (2001 to 2286)."""
    scales = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
    return next((unit for unit, scale in scales.items() if 1e9 <= first / scale < 1e10), "s")


def increasing(time: np.ndarray, where: Callable[[int], str]) -> tuple[np.ndarray, list[Finding]]:
    """Which samples to keep so that time increases, and what was found;
    time that stays behind is an error."""
    if not len(time):
        raise ReadError("the time has no samples")
    bad = ~np.isfinite(time)
    if bad.any():
        k = int(np.argmax(bad))
        count = f"{int(bad.sum())} of {len(time)} samples"
        wanted = "expected a finite time for every sample"
        raise ReadError(f"the time is not a number at {where(k)} ({count}); {wanted}")
    newest = np.maximum.accumulate(time)
    keep = np.concatenate([[True], time[1:] > newest[:-1]])
    same = np.concatenate([[False], time[1:] == newest[:-1]])
    back = ~keep & ~same
    findings = []
    if same.any():
        k, n = int(np.argmax(same)), int(same.sum())
        first = f"{n} of {len(time)} samples repeat a time, first at {where(k)} ({time[k]:.6g} s)"
        text, remedy = (
            "of each time the first sample is kept",
            "give every sample its own time, or a finer clock",
        )
        findings.append(finding("duplicate_times", f"{first}; {text}", remedy, samples=n))
    if back.any():
        k, n = int(np.argmax(back)), int(back.sum())
        step = f"{newest[k - 1]:.6g} s, then {time[k]:.6g} s"
        if n > max(10, 0.05 * len(time)):
            raise ReadError(
                f"the time runs backwards at {where(k)} ({step}) and stays behind for {n} of {len(time)}"
                " samples; expected one recording with one clock: split it where the clock starts again"
            )
        text = f"time runs backwards at {where(k)} ({step}); {n} of {len(time)} samples are dropped"
        remedy = "take times from a clock that only runs forwards"
        findings.append(finding("backward_times", text, remedy, samples=n))
    return keep, findings


def spacing(time: np.ndarray) -> str:
    """A sentence on samples that are not evenly spaced, or nothing."""
    steps = np.diff(time)
    if len(steps) < 2 or steps.max() <= 1.2 * np.median(steps):
        return ""
    shortest, longest, median = (f"{1e3 * s:.3g}" for s in (steps.min(), steps.max(), np.median(steps)))
    return f"samples {shortest} to {longest} ms apart (median {median}): times kept as recorded"


def wrap_period(position: np.ndarray, periods: list[float]) -> float | None:
    """The period by which a counter wraps, or None: it stays within one period, and its jumps,
    a period taken off, are ordinary steps."""
    if len(position) < 3:
        return None
    steps, span = np.diff(position), float(np.ptp(position))
    for period in periods:
        jumps = np.abs(steps) > 0.75 * period
        if not jumps.any() or span > 1.02 * period:
            continue
        ordinary = float(np.abs(steps[~jumps]).max(initial=0.0))
        left = np.abs(np.abs(steps[jumps]) - period)
        if ordinary < 0.25 * period and left.max() <= max(2.0 * ordinary, 0.01 * period):
            return period
    return None


def unwrap(position: np.ndarray, period: float) -> np.ndarray:
    """A wrapped counter made continuous, starting where it started."""
    turns = -np.sign(np.diff(position)) * (np.abs(np.diff(position)) > 0.75 * period)
    return position + period * np.concatenate([[0.0], np.cumsum(turns)])


def _at_its_ends(counts: np.ndarray, size: float) -> bool:
    """Whether a counter of this size comes close to both its ends, as it must where it wraps."""
    near = 0.05 * size
    return any(
        low <= counts.min() < low + near and low + size - near < counts.max() < low + size
        for low in (0.0, -0.5 * size)
    )


def counter_periods(raw: np.ndarray, scale: float) -> list[float]:
    """Periods at which a position may wrap [rad]: one turn, and, where the channel holds whole counts,
    a power of two of them."""
    periods = [2.0 * math.pi]
    finite = raw[np.isfinite(raw)]
    if len(finite) and np.array_equal(finite, np.round(finite)) and np.ptp(finite) >= 200:
        periods += [abs(scale) * 2.0**n for n in (12, 14, 16, 20, 24, 32) if _at_its_ends(finite, 2.0**n)]
    return periods
