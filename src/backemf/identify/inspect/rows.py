"""Rows that are missing: the rest was numbered anew, so that the clock looks whole and the motion jumps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...findings import Finding, finding
from ...logs.log import Log
from .track import Track

CLEAR = 6.0
"""A step of the motion against its noise from which on twice a step is told from one."""
WHOLE = 0.4
"""How near to a whole number of steps a step must be."""
LEAST_SHARE, LEAST_ROWS = 0.012, 5
"""Below these nothing is said."""
AGAINST = 4
"""So many times more steps must be too long than too short."""


def multiples(track: Track, *, exact: bool = False) -> np.ndarray:
    """How many usual steps each step of a track is, as its neighbours have them: 1, 2, 3;
    0 where that cannot be told, -1 where it is too short.

    A row lost makes one step twice its neighbours; a late sample makes one longer and the next shorter,
    and does not count; nor do long steps side by side, as a motion has them. `exact`: a command, which has
    neither noise nor motion.
    """
    v, dt = track.rates, np.diff(track.time)
    n = len(v)
    result = np.zeros(n, int)
    if n < 9:
        return result
    around = np.stack([v[3 + s : n - 3 + s] for s in (-3, -2, -1, 1, 2, 3)])
    middle = np.median(around, axis=0)
    inner = slice(3, n - 3)
    least = 1e-6 * track.span if exact else CLEAR * np.sqrt(2.0) * track.noise
    told = np.abs(middle) * dt[inner] > least
    share = np.where(told, middle, 1.0)
    around, here = around / share, v[inner] / share
    before, after = around[2], around[3]
    told &= (np.sum(np.abs(around - 1.0) < 0.35, axis=0) >= 4) & (np.minimum(before, after) > 0.6)
    whole = np.round(here)
    long_ = told & _whole(here) & (whole >= 2) & (whole <= 4)
    if exact:
        long_ &= _whole(before) & _whole(after) & (np.minimum(before, after) < 1.0 + WHOLE)
    else:
        long_ &= here > 1.5 * np.maximum(before, after)
    short = told & (here < 0.6) & (np.abs(here) < 0.65 * np.minimum(before, after))
    result[inner] = np.where(long_, whole, np.where(short, -1, np.where(told & (here < 1.5), 1, 0)))
    return result


def _whole(multiple: np.ndarray) -> np.ndarray:
    """Near one step, or a whole number of them."""
    return np.abs(multiple - np.maximum(np.round(multiple), 1.0)) < WHOLE


class Lost(NamedTuple):
    """Rows that are missing."""

    rows: int
    looked: int
    """Steps that could be told."""
    short: int
    """Steps that are too short, which no loss explains."""
    found: np.ndarray
    """By step of the log: how many steps it is, 0 where that cannot be told."""

    @property
    def share(self) -> float:
        return self.rows / max(self.looked + self.rows, 1)


def lost(log: Log) -> Lost:
    """Where the motion makes two steps in one; where what was asked does so at the same places, that tells it
    more clearly."""
    track = Track.of(log)
    told = multiples(track)
    found = np.zeros(len(log) - 1, int)
    found[track.places[1:] - 1] = told
    command = _asked(log, track)
    if command is not None:
        long_ = np.where(command > 1, command, found)
        return _counted(np.where((command == 0) | (found > 1), long_, command))
    steps = np.flatnonzero(told > 1)
    if len(steps) > 8 and len(steps) > 0.12 * np.sum(told != 0):
        apart = np.diff(steps)
        if (
            np.mean(apart == np.median(apart)) > 0.6
        ):  # a command that comes in steps, and a motion that answers
            return _counted(np.zeros_like(found))
    return _counted(found)


def _counted(found: np.ndarray) -> Lost:
    rows = int(np.sum(np.maximum(found - 1, 0)))
    return Lost(rows, int(np.sum(found != 0)), int(np.sum(found == -1)), found)


def _asked(log: Log, track: Track) -> np.ndarray | None:
    """The steps of what was asked, if the motion makes its long steps together with them:
    a command that only skips moves the motion later, and little by little."""
    name = next((name for name in ("position_target", "velocity_target") if name in log), None)
    if name is None or not np.isfinite(log[name]).all():
        return None
    command = multiples(Track.of(log, name), exact=True)
    v = np.zeros(len(log) - 1)
    v[track.places[1:] - 1] = track.rates
    near = np.array([k for k in np.flatnonzero(command > 1) if 2 <= k < len(v) - 2], int)
    usual = 0.25 * (v[near - 2] + v[near - 1] + v[near + 1] + v[near + 2])
    clear = np.abs(usual) * track.step > 2.0 * track.noise
    near, usual = near[clear], usual[clear]
    # All of them together, the fast ones most: noise of single steps does not count.
    going = float(np.sum(np.abs(usual)))
    if len(near) < LEAST_ROWS:
        return None
    excess = float(np.sum((v[near] - usual) * np.sign(usual))) / going
    return command if abs(excess / float(np.mean(command[near] - 1)) - 1.0) < 0.35 else None


def row_findings(log: Log) -> Iterator[Finding]:
    """Rows lost, the rest numbered anew."""
    rows, looked, short, _ = seen = lost(log)
    if rows < LEAST_ROWS or seen.share < LEAST_SHARE or rows < AGAINST * short:
        return
    text = (
        f"{rows} of {looked} steps in clear motion are twice their neighbours' or more, {short} are short:"
        f" about {100 * seen.share:.2g} % of the rows are lost and the rest was numbered anew."
    )
    yield finding("lost_rows", text, "put the time back where it is missing", share=seen.share, rows=rows)


def whole_clock(log: Log) -> np.ndarray:
    """The log's times with the lost rows put back: where steps can be told, whole ones;
    elsewhere the average."""
    seen = lost(log)
    average = 1.0 + seen.rows / max(seen.looked, 1)
    stretch = np.where(seen.found > 0, seen.found, average)
    return log.time[0] + np.concatenate([[0.0], np.cumsum(np.diff(log.time) * stretch)])
