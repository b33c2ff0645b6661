"""Samples that are wrong: spikes, dropouts, repeats, counters that wrap, and rows that are lost; each judged
against the track of its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...findings import Finding, finding
from ...logs.log import Log

PERIODS = (2.0 * np.pi, 360.0, 4096.0)
"""At which counters wrap: a turn in radians, degrees, or counts of a 12-bit encoder."""
LONGEST = 20
"""Samples in a row up to which a constant amid motion is a dropout and no rest."""
MANY = 0.3
"""Share of repeats in motion from which on the sensor is simply read too often."""
SOME = 0.025
"""Share of repeats in motion below which nothing is said."""


class OddSamples(NamedTuple):
    """Places in a track that are off its motion."""

    dropouts: np.ndarray
    """Of one value, again and again."""
    constant: float
    spikes: np.ndarray

    @property
    def all(self) -> np.ndarray:
        return np.concatenate([self.dropouts, self.spikes])


def odd_ones(track: SignalTrack) -> OddSamples:
    """Samples that jump off the motion and back at once, where a motion swings out and returns."""
    q, size = track.values, np.abs(track.steps)
    none = np.zeros(0, int)
    if len(q) < 20 or track.span == 0:
        return OddSamples(none, 0.0, none)
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
    return OddSamples(dropouts, constant, single)


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
    track = SignalTrack.of(log)
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


def repeated_samples(track: SignalTrack) -> np.ndarray:
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
    track = SignalTrack.of(log)
    if len(track) < 40:
        return
    again, moving = repeated_samples(track), int(track.moves.sum())
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
    track = SignalTrack.of(log)
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
        track, k = SignalTrack.of(log), int(jumps[0])
        text = (
            f"position jumps by {track.steps[k]:.3g} rad at {track.time[k + 1]:.3g} s, {len(jumps)} times in"
            " all: a counter that wraps."
        )
        remedy = "unwrap it, or record in extended mode"
        yield finding("wrapped_counter", text, remedy, jumps=float(len(jumps)), period=period)


MOST_JUMPS = 12
"""Jumps of a counter up to which they are an accident, not what the motion does."""
FARTHER = 4.0
"""How many times the going step, and the usual change of steps, a jump of a counter is at least."""


def counter_jumps(track: SignalTrack) -> tuple[np.ndarray, np.ndarray]:
    """(steps, how far) at which the position jumps from one sample to the next and goes on from there, as no
    motor moves: before and behind it the motion is the same."""
    d, n = track.steps, len(track) - 1
    if n < 12 or track.span == 0:
        return np.zeros(0, int), np.zeros(0)
    inner = slice(2, n - 2)
    around = np.stack([d[2 + s : n - 2 + s] for s in (-2, -1, 1, 2)])
    going = np.median(around, axis=0)
    excess = d[inner] - going
    spread = np.max(around, axis=0) - np.min(around, axis=0)
    least = max(12.0 * track.noise, 6.0 * track.grain, 0.01 * track.span)
    far = np.abs(excess) > np.maximum(least, FARTHER * np.maximum(np.abs(going), spread))
    far &= np.diff(track.time)[inner] < 1.5 * track.step  # not across samples that are missing
    places = np.flatnonzero(far) + 2
    return places, excess[far]


def counter_findings(log: Log) -> Iterator[Finding]:
    """An encoder that lost counts."""
    track = SignalTrack.of(log)
    places, sizes = counter_jumps(track)
    if 0 < len(places) <= MOST_JUMPS and not any(repeat_findings(log)):  # which make up for themselves
        size = float(np.max(np.abs(sizes)))
        text = (
            f"position jumps {len(places)} times and goes on from there, first at"
            f" {track.time[places[0] + 1]:.4g} s, by up to {size:.3g} rad: counts were lost."
        )
        yield finding("lost_counts", text, "put the counts back", sure=0.0, jumps=len(places), size=size)


CLEAR = 6.0
"""A step of the motion against its noise from which on twice a step is told from one."""
WHOLE = 0.4
"""How near to a whole number of steps a step must be."""
LEAST_SHARE, LEAST_ROWS = 0.012, 5
"""Below these nothing is said."""
AGAINST = 4
"""So many times more steps must be too long than too short."""


def multiples(track: SignalTrack, *, exact: bool = False) -> np.ndarray:
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


class LostRows(NamedTuple):
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


def find_lost_rows(log: Log) -> LostRows:
    """Where the motion makes two steps in one; where what was asked does so at the same places, that tells it
    more clearly."""
    track = SignalTrack.of(log)
    told = multiples(track)
    found = np.zeros(len(log) - 1, int)
    found[track.places[1:] - 1] = told
    command = _command_steps(log, track)
    if command is not None:
        long_ = np.where(command > 1, command, found)
        return _count_lost(np.where((command == 0) | (found > 1), long_, command))
    steps = np.flatnonzero(told > 1)
    if len(steps) > 8 and len(steps) > 0.12 * np.sum(told != 0):
        apart = np.diff(steps)
        if (
            np.mean(apart == np.median(apart)) > 0.6
        ):  # a command that comes in steps, and a motion that answers
            return _count_lost(np.zeros_like(found))
    return _count_lost(found)


def _count_lost(found: np.ndarray) -> LostRows:
    rows = int(np.sum(np.maximum(found - 1, 0)))
    return LostRows(rows, int(np.sum(found != 0)), int(np.sum(found == -1)), found)


def _command_steps(log: Log, track: SignalTrack) -> np.ndarray | None:
    """The steps of what was asked, if the motion makes its long steps together with them:
    a command that only skips moves the motion later, and little by little."""
    name = next((name for name in ("position_target", "velocity_target") if name in log), None)
    if name is None or not np.isfinite(log[name]).all():
        return None
    command = multiples(SignalTrack.of(log, name), exact=True)
    v = np.zeros(len(log) - 1)
    v[track.places[1:] - 1] = track.rates
    near = np.flatnonzero(command > 1)  # none of the first or last three can be told
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
    rows, looked, short, _ = seen = find_lost_rows(log)
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
    seen = find_lost_rows(log)
    average = 1.0 + seen.rows / max(seen.looked, 1)
    stretch = np.where(seen.found > 0, seen.found, average)
    return log.time[0] + np.concatenate([[0.0], np.cumsum(np.diff(log.time) * stretch)])


REACH = 6
"""Samples to either side over which the going rate is taken."""
MOVES = 3.0
"""Encoder steps a sample from which on two equal samples in a row are no chance."""


@dataclass(frozen=True)
class SignalTrack:
    """The finite samples of a signal: their places in the log, times and values."""

    places: np.ndarray
    time: np.ndarray
    values: np.ndarray

    @staticmethod
    def of(log: Log, name: str = "position") -> SignalTrack:
        """The finite samples of a log's signal."""
        values = log[name]
        places = np.flatnonzero(np.isfinite(values))
        return SignalTrack(places, log.time[places], values[places])

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def steps(self) -> np.ndarray:
        """From each sample to the next."""
        return np.diff(self.values)

    @cached_property
    def rates(self) -> np.ndarray:
        """The same over time."""
        return self.steps / np.diff(self.time)

    @cached_property
    def step(self) -> float:
        """The usual time from one sample to the next [s]."""
        return float(np.median(np.diff(self.time)))

    @cached_property
    def span(self) -> float:
        """From its lowest to its highest value, one sample in a hundred left out at either end."""
        low, high = np.percentile(self.values, (1, 99))
        return float(high - low)

    @cached_property
    def grain(self) -> float:
        """The step of its encoder, as it was rounded; 0 where it has none."""
        sizes = np.abs(self.steps)
        sizes = sizes[sizes > 1e-7 * max(self.span, 1e-9)]
        if len(sizes) < 10:
            return 0.0
        least = float(np.min(sizes))
        small = sizes[sizes < 5.5 * least]
        size = float(np.sum(small) / np.sum(np.round(small / least)))
        off = np.abs(sizes / size - np.round(sizes / size))
        return size if np.mean(off[sizes < 10.5 * size] < 0.05) > 0.9 and len(small) > 10 else 0.0

    @cached_property
    def noise(self) -> float:
        """Standard deviation of a sample, whatever one in ten of them does: the median of fourth differences
        without repeats, and at least the encoder's own."""
        seen = self.values[np.concatenate([[True], self.steps != 0])]
        if len(seen) < 12:
            return self.grain
        fourth = float(np.median(np.abs(np.diff(seen, n=4))) / 0.6745 / np.sqrt(70.0))
        return max(fourth, self.grain / np.sqrt(12.0), 1e-9)

    @cached_property
    def going(self) -> np.ndarray:
        """The rate around each sample, over a dozen of them."""
        n = len(self)
        first, last = np.maximum(np.arange(n) - REACH, 0), np.minimum(np.arange(n) + REACH, n - 1)
        return (self.values[last] - self.values[first]) / (self.time[last] - self.time[first])

    @cached_property
    def moves(self) -> np.ndarray:
        """Where it goes on so fast that neither its noise nor its encoder can hide it."""
        return np.abs(self.going) * self.step > max(MOVES * self.grain, 4.0 * self.noise)
