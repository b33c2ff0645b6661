"""How sure a fit is: errors that hold when residuals are correlated, which on real recordings they are.

The plain covariance assumes that every sample errs on its own. A model error lasts for many samples, so that covariance is too
small. Here the scores (sensitivity times error) are summed with their own correlation over time (Newey and West), log by log.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InvalidValue
from .residual import Problem

WINDOW = 3
"""Lags summed, in correlation lengths: the weights fall linearly, and a short window would miss part of what is correlated."""
LONGEST = 0.1
"""Longest lag considered, as a share of a log."""


@dataclass(frozen=True, kw_only=True)
class Uncertainty:
    """Of the coordinates x at the optimum."""

    covariance: np.ndarray
    inflation: np.ndarray
    """By how much each error exceeds that of independent samples with the same scatter."""
    information: np.ndarray
    """J'J of the data alone, weighted by the scatter found."""
    scatter: float
    """Root mean square of the weighted errors: 1 where the noise explains them."""


def correlation_length(errors: np.ndarray) -> int:
    """Samples over which errors stay alike: the lag at which their autocorrelation has fallen below 0.05."""
    r = errors - np.mean(errors)
    n = len(r)
    if n < 20 or not np.any(r):
        return 1
    f = np.fft.rfft(r, 2 * n)
    acf = np.fft.irfft(f * np.conj(f))[:n]
    acf = acf / acf[0]
    below = np.flatnonzero(acf < 0.05)
    return int(min(below[0] if len(below) else n, max(1, int(LONGEST * n))))


def correlation_time(errors: np.ndarray) -> float:
    """How many samples count as one: 1 for independent errors, more where they stay alike."""
    r = errors - np.mean(errors)
    n, length = len(r), correlation_length(errors)
    if length <= 1 or not np.any(r):
        return 1.0
    f = np.fft.rfft(r, 2 * n)
    acf = np.fft.irfft(f * np.conj(f))[:length]
    return float(max(1.0, 1.0 + 2.0 * np.sum(acf[1:] / acf[0])))


def uncertainty(problem: Problem, x: np.ndarray, prior_weight: float = 1.0) -> Uncertainty:
    """Covariance of x at the optimum, prior included."""
    errors, tangents = problem.sensitivities(x)
    seen = np.isfinite(errors)
    r = np.where(seen, errors, 0.0)
    J = np.where(seen[:, :, None], tangents, 0.0)
    scores = np.einsum("kop,ko->kp", J, r)
    H = np.einsum("kop,koq->pq", J, J)
    n = int(seen.sum())
    scatter2 = float(np.sum(r * r)) / max(n - len(x), 1)
    long_run = np.zeros_like(H)
    shares = []
    for k in range(problem.batch.n_logs):
        part = slice(int(problem.batch.offsets[k]), int(problem.batch.offsets[k + 1]))
        window = WINDOW * correlation_length(r[part, 0])
        long_run += _newey_west(scores[part], window)
        shares.append(window / max(part.stop - part.start, 1))
    _, error = problem.free.prior()
    precision = np.diag(prior_weight / error**2)
    tiny = np.diag(1e-6 / error**2)  # keeps what the data leaves open finite
    bread = inverse(H + scatter2 * tiny)
    plain, robust = scatter2 * bread, bread @ long_run @ bread
    # Never less sure than independent samples would be: with few samples the long-run sum is noisy. Correlations between
    # parameters are kept as they are; each error grows by its own factor.
    ratio = np.maximum(np.sqrt(np.maximum(np.diag(robust), 0.0) / np.diag(plain)) * _short_sample(float(np.median(shares))), 1.0)
    information = inverse(plain * np.outer(ratio, ratio))
    covariance = inverse(information + precision)
    return Uncertainty(covariance=covariance, inflation=ratio, information=information, scatter=float(np.sqrt(scatter2)))


def inverse(A: np.ndarray) -> np.ndarray:
    """Inverse of a symmetric positive matrix that may be nearly singular: scaled first, and never with a negative diagonal."""
    if not np.isfinite(A).all():
        raise InvalidValue("the parameters' errors are not finite numbers; check the logs' units and factors")
    scale = np.sqrt(np.maximum(np.diag(A), 1e-300))
    values, vectors = np.linalg.eigh(0.5 * (A + A.T) / np.outer(scale, scale))
    values = np.maximum(values, 1e-13 * values[-1])
    return (vectors / values) @ vectors.T / np.outer(scale, scale)


def _short_sample(b: float) -> float:
    """How much wider intervals must be because the long-run sum itself is estimated, for a window of share b of the samples.

    Kiefer and Vogelsang, Econometric Theory 21 (2005), 97.5 % quantile for Bartlett weights, relative to the normal one.
    """
    return 1.0 + (2.9694 * b + 0.416 * b**2 - 0.5324 * b**3) / 1.96


def _newey_west(scores: np.ndarray, length: int) -> np.ndarray:
    """Long-run covariance of a sum of correlated rows (Bartlett weights)."""
    total = scores.T @ scores
    for lag in range(1, length + 1):
        weight = 1.0 - lag / (length + 1.0)
        cross = scores[lag:].T @ scores[:-lag]
        total += weight * (cross + cross.T)
    return total
