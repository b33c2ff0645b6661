"""Errors that stay alike from sample to sample: over how many, and the covariance of sums of them."""

from __future__ import annotations

import numpy as np

UNLIKE = 0.05
"""Autocorrelation below which errors count as independent."""
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
    """Covariance of a sum of rows that are correlated over some lags (Newey and West, Bartlett weights)."""
    total = scores.T @ scores
    for lag in range(1, min(length, len(scores) - 1) + 1):
        cross = scores[lag:].T @ scores[:-lag]
        total += (1.0 - lag / (length + 1.0)) * (cross + cross.T)
    return total
