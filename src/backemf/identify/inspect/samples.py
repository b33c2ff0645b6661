"""Samples that are wrong one by one: dropouts, spikes, repeats, and counters that wrap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...findings import Finding, finding
from ...logs.log import Log
from .track import REACH, Track

PERIODS = (2.0 * np.pi, 360.0, 4096.0)
"""At which counters wrap: a turn in radians, degrees, or counts of a 12-bit encoder."""
LONGEST = 20
"""Samples in a row up to which a constant amid motion is a dropout and no rest."""
MANY = 0.3
"""Share of repeats in motion from which on the sensor is simply read too often."""
SOME = 0.025
"""Share of repeats in motion below which nothing is said."""


class Odd(NamedTuple):
    """Places in a track that are off its motion."""

    dropouts: np.ndarray
    """Of one value, again and again."""
    constant: float
    spikes: np.ndarray

    @property
    def all(self) -> np.ndarray:
        return np.concatenate([self.dropouts, self.spikes])


def odd_ones(track: Track) -> Odd:
    """Samples that jump off the motion and back at once, where a motion swings out and returns."""
    q, size = track.values, np.abs(track.steps)
    none = np.zeros(0, int)
    if len(q) < 20 or track.span == 0:
        return Odd(none, 0.0, none)
    padded = np.pad(size, 8, mode="reflect")
    usual = np.median(np.lib.stride_tricks.sliding_window_view(padded, 17), axis=1)
    far = np.maximum(4.0 * usual, max(12.0 * track.noise, 3.0 * track.grain, 0.05 * track.span))
    ends = [(k, end) for k in np.flatnonzero(size > far) if (end := _return(q, int(k), float(far[k])))]
    single = np.array([k + 1 for k, end in ends if end == k + 2], int)
    values, counts = np.unique([q[k + 1] for k, _ in ends], return_counts=True)
    dropouts, constant = none, 0.0
    if len(values) and counts.max() >= max(2, 0.3 * counts.sum()):
        constant = float(values[np.argmax(counts)])
        dropouts = _all_of(q, constant, np.append(far, far[-1]))
        single = np.setdiff1d(single, dropouts)
    return Odd(dropouts, constant, single)


def _return(q: np.ndarray, k: int, far: float) -> int | None:
    """Where the motion goes on that sample k has, if it is only interrupted behind k: by one sample, or by
    several of one value."""
    end = k + 2
    while end < min(k + 1 + LONGEST, len(q)) and q[end] == q[k + 1]:
        end += 1
    if k < 1 or end + 1 >= len(q):
        return None
    out, back = q[k + 1] - q[k], q[end] - q[end - 1]
    clear = min(abs(out), abs(back))
    goes_on = abs(q[end] - q[k]) < 0.4 * clear
    sharp = clear > 5.0 * min(abs(q[k] - q[k - 1]), abs(q[end + 1] - q[end]))
    return end if out * back < 0 and clear > far and goes_on and sharp else None


def _all_of(q: np.ndarray, constant: float, far: np.ndarray) -> np.ndarray:
    """Samples of one value where those around them, of other values, are far from it."""
    same = np.flatnonzero(q == constant)
    others = np.flatnonzero(q != constant)
    if not len(others):
        return np.zeros(0, int)
    between = np.interp(same, others, q[others])
    next_ = np.searchsorted(others, same)
    gap = others[np.minimum(next_, len(others) - 1)] - others[np.maximum(next_ - 1, 0)]
    return same[(np.abs(between - constant) > far[same]) & (gap <= LONGEST + 1)]


def odd_findings(log: Log) -> Iterator[Finding]:
    """Dropouts and spikes."""
    track = Track.of(log)
    dropouts, constant, spikes = odd_ones(track)
    n = len(track)
    if len(dropouts):
        text = (
            f"{len(dropouts)} of {n} samples of position are exactly {constant:g} amid motion that is"
            " elsewhere: dropouts."
        )
        numbers = {"samples": len(dropouts), "share": len(dropouts) / n, "at": constant}
        yield finding("zeros", text, "leave them out", **numbers)
    if len(spikes) > 0.1 * len(dropouts):
        size = float(np.median(np.abs(track.values[spikes] - track.values[spikes - 1])))
        text = (
            f"{len(spikes)} of {n} samples of position jump off the motion and back, by {size:.3g} rad, first"
            f" at {track.time[spikes[0]]:.4g} s: spikes."
        )
        yield finding("spikes", text, "leave them out", samples=len(spikes), share=len(spikes) / n)


def repeated(track: Track) -> np.ndarray:
    """Places in the track that repeat the sample before, where the motion went on all the while and the next
    sample makes up for it."""
    d, t, q = track.steps, track.time, track.values
    same = np.concatenate([[False], d == 0, [False]])
    first = np.flatnonzero(same[1:] & ~same[:-1])  # the step before which a run begins
    last = np.flatnonzero(~same[1:] & same[:-1])  # the step that ends it
    places: list[int] = []
    for a, b in zip(first, last, strict=True):
        if a < 1 or b >= len(d) or b - a > LONGEST:
            continue
        low, high = max(a - REACH, 0), min(b + 1 + REACH, len(q) - 1)
        rate = (q[high] - q[low]) / (t[high] - t[low])
        if not abs(rate) * track.step > max(3.0 * track.grain, 4.0 * track.noise):
            continue
        made_up = d[b] / (rate * (t[b + 1] - t[a]))
        before = d[a - 1] / (rate * (t[a] - t[a - 1]))
        rests = b + 2 >= len(q) or d[b + 1] == 0
        goes_on = rests or d[b + 1] / (rate * (t[b + 2] - t[b + 1])) > 0.4
        if 0.6 < made_up < 1.6 and before > 0.5 and goes_on:
            places += range(a + 1, b + 1)
    return np.array(places, int)


def repeat_findings(log: Log) -> Iterator[Finding]:
    """`repeats`: now and then the sample before comes again. `duplicates`: most of the time."""
    track = Track.of(log)
    if len(track) < 40:
        return
    again, moving = repeated(track), int(track.moves.sum())
    share = len(again) / max(moving, 1)
    if len(again) < 5 or share < SOME:
        return
    percent = f"{100 * min(share, 1.0):.0f} % of the samples in motion repeat the one before"
    if share > MANY:
        text = f"{percent}: the sensor is read faster than it updates."
        remedy = "leave the repeats out, or record at the sensor's own rate"
        yield finding("duplicates", text, remedy, share=share)
    else:
        text = f"{percent} ({len(again)} samples), and the next makes up for it: readings that failed."
        yield finding("repeats", text, "leave them out", share=share, samples=len(again))


def wraps(log: Log) -> tuple[np.ndarray, float]:
    """Steps of the position that a wrapping counter makes, and its period:
    a turn in radians, degrees or counts, within which it stays."""
    track = Track.of(log)
    if len(track) < 20:
        return np.zeros(0, int), 0.0
    size, dt = np.abs(track.steps), np.diff(track.time)
    for period in PERIODS:
        if not 0.9 * period < np.ptp(track.values) < 1.02 * period:
            continue
        near = size > 0.8 * period
        usual = float(np.percentile(size[~near] / dt[~near], 95)) if np.any(~near) else 0.0
        jumps = np.flatnonzero(near & (np.abs(size - period) < np.maximum(0.02 * period, 3.0 * usual * dt)))
        if len(jumps) and np.median(size[jumps]) > 5.0 * usual * float(np.median(dt)):
            return jumps, period
    return np.zeros(0, int), 0.0


def wrap_findings(log: Log) -> Iterator[Finding]:
    """A counter that wraps."""
    jumps, period = wraps(log)
    if len(jumps):
        track, k = Track.of(log), int(jumps[0])
        text = (
            f"position jumps by {track.steps[k]:.3g} rad at {track.time[k + 1]:.3g} s, {len(jumps)} times in"
            " all: a counter that wraps."
        )
        remedy = "unwrap it, or record in extended mode"
        yield finding("wrapped_counter", text, remedy, jumps=float(len(jumps)), period=period)
