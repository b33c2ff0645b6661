"""What the engines are fed: inputs held between samples, several logs in one batch,
and corrections towards a recording."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidValue, SignalError
from ..physics.maths import is_whole

DELAY = "drive.delay"
"""The one parameter that acts through the rows and not through the step."""
PAIRS = (("position", "velocity"), ("rotor_position", "rotor_velocity"))
"""States that a correction towards a recorded position moves; behind backlash the rotor moves along."""
NO_SPLIT = 1e-9
"""Share of an interval so near to its ends that a command that switches there does so at the end."""
STEEPEST = 0.65
"""Largest bandwidth times sample interval of the observer;
a larger product counts as this one, or the correction would overshoot."""


def corrected_pairs(states: Sequence[str]) -> list[tuple[int, int]]:
    """(position, velocity) of `PAIRS` as places among the states of a system."""
    return [(states.index(q), states.index(w)) for q, w in PAIRS if q in states]


class HeldInputs(NamedTuple):
    """Inputs held between samples: row k acts from sample k to k+1.

    A delayed command changes inside an interval: `before` acts during its first `switch` share, `values`
    after.
    `values` may have one row more than there are intervals: the inputs at the last sample, which an
    observation there needs. Without it the last row is taken to hold on.
    """

    values: Any
    before: Any
    switch: Any
    dt: Any
    """Length of each interval [s]."""

    several = False
    """Whether it may hold more than one log; then results have an axis for them."""

    def as_batch(self, n_inputs: int) -> Batch:
        """It, checked, as a batch of one."""
        return batch(self, n_inputs)


def hold_inputs(
    values: np.ndarray, dt: np.ndarray, before: np.ndarray | None = None, switch: np.ndarray | None = None
) -> HeldInputs:
    """Rows of inputs, without switches inside intervals unless they are given.

    Args:
        values: a row for each interval.
        dt: length of each interval [s].
        before: what acts in an interval until the command switches.
        switch: at which share of the interval it does.

    Returns:
        The rows.
    """
    return HeldInputs(
        values, values if before is None else before, np.zeros(len(values)) if switch is None else switch, dt
    )


class Delay:
    """A command that comes late: the marked columns of `values`, sampled at `times`, act `delay` seconds
    after.

    `past` is (times, values) of what was asked before the first sample; without it the first values held.
    """

    def __init__(
        self,
        values: np.ndarray,
        times: np.ndarray,
        delay: float,
        moved: Sequence[bool],
        past: tuple[np.ndarray, np.ndarray] | None = None,
    ):
        self.values, self.times, self.moved = values, times, np.asarray(moved, bool)
        known, asked = (np.empty(0), values[:0]) if past is None else past
        arrival, asked = np.concatenate([known, times]) + delay, np.concatenate([asked, values])
        # What is asked again is no change: with irregular samples it would hide one in the same interval.
        changes = np.any((asked[1:] != asked[:-1])[:, self.moved], axis=1)
        new = np.concatenate([[True], changes])
        self.arrival, self.asked = arrival[new], asked[new]
        self.tiny = 1e-9 * np.diff(times, append=2 * times[-1] - times[-2])

    def _columns(self, n: int, index: np.ndarray) -> np.ndarray:
        """The first n rows, with the marked columns of what was asked at an index."""
        columns = self.values[:n].copy()
        columns[:, self.moved] = self.asked[:, self.moved][np.maximum(index, 0)]
        return columns

    def in_force(self) -> np.ndarray:
        """What acts from each sample on."""
        newest = np.searchsorted(self.arrival, self.times + self.tiny, side="right") - 1
        return self._columns(len(self.times), newest)

    def rows(self) -> HeldInputs:
        """Rows that switch inside an interval where they must. With irregular samples an interval may see
        several changes; the last one before its end is kept in place, earlier ones count from its start."""
        starts, ends, tiny = self.times[:-1], self.times[1:], self.tiny[:-1]
        dt = ends - starts
        last = (
            np.searchsorted(self.arrival, ends - tiny, side="left") - 1
        )  # the newest that arrives before the end
        first = (
            np.searchsorted(self.arrival, starts + tiny, side="right") - 1
        )  # the one in force at the start
        inside = last > first
        switch = np.where(inside, (self.arrival[np.maximum(last, 0)] - starts) / dt, 0.0)
        now = self._columns(len(dt), np.where(inside, last, first))
        before = self._columns(len(dt), np.where(inside, np.maximum(last - 1, first), first))
        return hold_inputs(now, dt, before, np.clip(switch, 0.0, 1.0))


def split(rows: HeldInputs) -> tuple[HeldInputs, np.ndarray]:
    """The rows with long intervals cut into pieces of the usual length, so that all need the same number of
    steps; and where the samples are now."""
    usual = float(np.median(rows.dt))
    pieces = np.where(rows.dt > 2.0 * usual, np.ceil(rows.dt / usual), 1.0).astype(int)
    samples = np.concatenate([[0], np.cumsum(pieces)])
    if len(rows.dt) == samples[-1]:
        return rows, samples
    owner = np.repeat(np.arange(len(pieces)), pieces)
    piece = np.arange(samples[-1]) - samples[owner]
    n = pieces[owner]
    switch = np.clip(rows.switch[owner] * n - piece, 0.0, 1.0)  # as a share of the piece
    values = np.where((switch < 1.0)[:, None], rows.values[owner], rows.before[owner])
    before = rows.before[owner]
    return hold_inputs(values, rows.dt[owner] / n, before, np.where(switch < 1.0, switch, 0.0)), samples


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One log or several, one after the other: log l has the samples offsets[l] to offsets[l + 1] of every
    array."""

    values: np.ndarray
    before: np.ndarray
    switch: np.ndarray
    dt: np.ndarray
    """Length of the interval after each sample [s]; what stands at a log's last sample is not used."""
    offsets: np.ndarray

    several = True

    def as_batch(self, n_inputs: int) -> Batch:
        """Itself: it was checked when it was made."""
        return self

    @property
    def n_logs(self) -> int:
        return len(self.offsets) - 1

    @functools.cached_property
    def n_samples(self) -> int:
        return int(self.offsets[-1])

    @functools.cached_property
    def delayed(self) -> bool:
        return bool(self.switch.any())

    def split(self, array: np.ndarray) -> list[np.ndarray]:
        """An array over all samples as one array per log."""
        return np.split(array, self.offsets[1:-1])


class Observer(NamedTuple):
    """A correction of the state towards a recording at each sample, after the prediction there was noted.

    position += 1.4 b dt (y - position), velocity += b^2 dt (y - position) for a bandwidth b and the interval
    dt before the sample: a second-order observer, damped with 0.7.
    """

    bandwidth: float
    """How fast it pulls [rad/s]; 0 is the plain simulation."""
    position: Any
    """Recorded position at each sample; where it is NaN nothing is corrected."""


class Resets(NamedTuple):
    """Samples at which position and velocity are set, after the prediction there was noted."""

    at: Any
    """True where it happens."""
    position: Any
    velocity: Any


def batch(logs: HeldInputs | Sequence[HeldInputs], n_inputs: int) -> Batch:
    """Check logs and put them one after the other."""
    single = isinstance(logs, HeldInputs)
    parts = [
        _check_rows(rows, n_inputs, "" if single else f" of log {i}")
        for i, rows in enumerate([logs] if single else logs)
    ]
    if not parts:
        raise InvalidValue("no logs were given; expected at least one")
    offsets = np.cumsum([0, *(len(rows.values) for rows in parts)])
    joined = (column[0] if len(parts) == 1 else np.concatenate(column) for column in zip(*parts, strict=True))
    return Batch(**dict(zip(HeldInputs._fields, joined, strict=True)), offsets=offsets.astype(np.int64))


def _check_rows(rows: HeldInputs, n_inputs: int, where: str) -> HeldInputs:
    """The rows as arrays with one row per sample, the last included."""
    dt = _array(rows.dt, 1)
    n = len(dt)
    if n == 0:
        raise SignalError(f"the rows{where} have no interval; expected at least two samples")
    values = _array(rows.values, 2)
    before = values if rows.before is rows.values else _array(rows.before, 2)
    switch = _array(rows.switch, 1)
    for name, array in (("values", values), ("before", before), ("switch", switch)):
        if len(array) not in (n, n + 1):
            raise SignalError(
                f"{name}{where} has {len(array)} rows for {n} intervals; expected {n}, or {n + 1} with the"
                " last sample's"
            )
    if values.shape[1] != n_inputs or before.shape[1] != n_inputs:
        raise SignalError(f"the rows{where} have {values.shape[1]} inputs; expected {n_inputs}")
    for name, array in (("values", values), ("before", before), ("switch", switch), ("dt", dt)):
        check_finite(f"{name}{where}", array)
    if np.any(dt <= 0):
        k = int(np.argmax(dt <= 0))
        raise SignalError(f"dt{where} is {dt[k]:g} s at interval {k}; expected more than 0")
    longer = _to_samples(values, n, values[-1:])
    return HeldInputs(
        longer,
        longer if before is values else _to_samples(before, n, values[-1:]),
        _to_samples(switch, n, np.zeros(1)),
        _to_samples(dt, n, np.zeros(1)),
    )


def _array(values: Any, dimensions: int) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != dimensions:
        raise SignalError(
            f"an array of shape {array.shape} was given; expected {dimensions}"
            f" dimension{'s' if dimensions > 1 else ''}"
        )
    return writable(array)


def check_substeps(substeps: Any) -> int:
    """A number of steps per sample, or an error that says what was given."""
    if not is_whole(substeps) or substeps < 1:
        raise InvalidValue(f"substeps is {substeps!r}; expected a whole number of at least 1")
    return int(substeps)


def writable(array: Any) -> np.ndarray:
    """Contiguous and not read-only, as compiled code expects its arrays; copied only where it is not."""
    return np.require(array, dtype=np.float64, requirements=["C", "W"])


def _to_samples(array: np.ndarray, n: int, last: np.ndarray) -> np.ndarray:
    return array if len(array) == n + 1 else np.concatenate([array, last])


def check_finite(name: str, array: np.ndarray, *, gaps: bool = False) -> None:
    """Refuse infinities, and NaN unless gaps are allowed.

    Args:
        name: of the array, for the error.
        array: with samples along its first axis.
        gaps: whether NaN may stand for what was not measured.

    Raises:
        SignalError: there is one; the text says where.
    """
    bad = np.isinf(array) if gaps else ~np.isfinite(array)
    if bad.any():
        at = np.unravel_index(int(np.argmax(bad)), bad.shape)
        expected = "finite numbers, or NaN where nothing was measured" if gaps else "finite numbers"
        raise SignalError(f"{name} is {array[at]} at sample {int(at[0])}; expected {expected}")
