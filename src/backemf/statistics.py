"""Errors that stay alike from sample to sample and from log to log; the scale on which a number errs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

UNLIKE = 0.05
"""Autocorrelation below which errors count as independent."""
NORMAL = 1.96
"""Standard errors that a 95 % interval reaches."""
FEWEST = 20
"""Samples below which no correlation is looked for."""


def autocorrelation(errors: np.ndarray) -> np.ndarray:
    """By lag, 1 at lag 0; 0 behind it where nothing varies."""
    r, n = errors - np.mean(errors), len(errors)
    f = np.fft.rfft(r, 2 * n)
    alike = np.fft.irfft(f * np.conj(f))[:n]
    return alike / alike[0] if alike[0] > 0 else np.eye(1, n)[0]


def lag_alike(errors: np.ndarray) -> int:
    """Samples over which errors stay alike: the first lag at which their autocorrelation is low;
    all of them where it never is."""
    low = np.flatnonzero(autocorrelation(errors) < UNLIKE)
    return int(low[0]) if len(low) else len(errors)


def long_run(scores: np.ndarray, length: int) -> np.ndarray:
    """Covariance of a sum of rows that are correlated over some lags (Newey and West, Bartlett weights).

    Bartlett's weights are those of two boxes folded, so the sum over all pairs is a sum over boxes.
    """
    n, width = len(scores), min(length, len(scores) - 1) + 1
    padded = np.concatenate([np.zeros((1, scores.shape[1])), np.cumsum(scores, axis=0)])
    ends = np.arange(1, n + width)
    boxes = padded[np.minimum(ends, n)] - padded[np.maximum(ends - width, 0)]
    return boxes.T @ boxes / width


class Coordinate(NamedTuple):
    """The scale on which a number's error is even: a logarithm, log(1 + v / knee) for one that may vanish,
    or the number itself where it may have either sign."""

    signed: bool = False
    knee: float = 0.0

    def inward(self, v: float) -> float:
        """A value on the scale."""
        if self.signed:
            return v
        return math.log1p(max(v, 0.0) / self.knee) if self.knee else math.log(max(v, 1e-300))

    def outward(self, x: float) -> float:
        """The value at a place on the scale."""
        if self.signed:
            return float(x)
        return self.knee * math.expm1(min(max(x, 0.0), 300.0)) if self.knee else math.exp(min(x, 300.0))

    def slope(self, v: float) -> float:
        """d value / d x at a value."""
        return 1.0 if self.signed else self.knee + v if self.knee else max(v, 1e-300)

    def interval(self, v: float, error: float, quantile: float = NORMAL) -> tuple[float, float]:
        """About a value with a standard error; one-sided where it reaches 0.

        Args:
            v: the value.
            error: its standard error, in its own unit.
            quantile: how many of them.

        Returns:
            (low, high).
        """
        x, far = self.inward(v), quantile * min(error / self.slope(v), 50.0 if not self.signed else math.inf)
        return self.outward(x - far), self.outward(x + far)
