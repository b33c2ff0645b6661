"""A recorded position as the detectors of faults see it: finite samples, rates, noise and grain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...logs.log import Log

REACH = 6
"""Samples to either side over which the going rate is taken."""
MOVES = 3.0
"""Encoder steps a sample from which on two equal samples in a row are no chance."""


@dataclass(frozen=True)
class Track:
    """The finite samples of a signal: their places in the log, times and values."""

    places: np.ndarray
    time: np.ndarray
    values: np.ndarray

    @staticmethod
    def of(log: Log, name: str = "position") -> Track:
        values = log[name]
        places = np.flatnonzero(np.isfinite(values))
        return Track(places, log.time[places], values[places])

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
        return (self.values[last] - self.values[first]) / np.maximum(
            self.time[last] - self.time[first], 1e-12
        )

    @cached_property
    def moves(self) -> np.ndarray:
        """Where it goes on so fast that neither its noise nor its encoder can hide it."""
        return np.abs(self.going) * self.step > max(MOVES * self.grain, 4.0 * self.noise)
