"""How sure a fit is: errors that hold when residuals are correlated, which on real recordings they are.

The plain covariance assumes that every sample errs on its own. A model error lasts for many samples, so that
covariance is too small. Here the scores (sensitivity times error) are summed with their own correlation over
time (Newey and West), log by log.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InvalidValue
from ..statistics import FEWEST, autocorrelation, lag_alike, long_run
from .residual import Problem

WINDOW = 3
"""Lags summed, in correlation lengths: the weights fall linearly,
and a short window would miss part of what is correlated."""
LONGEST = 0.1
"""Longest lag considered, as a share of a log."""


@dataclass(frozen=True, kw_only=True)
class Uncertainty:
    """Of the coordinates x at the optimum."""

    covariance: np.ndarray
    scatter: float
    """Root mean square of the weighted errors: 1 where the noise explains them."""


def correlation_length(errors: np.ndarray) -> int:
    """Samples over which errors stay alike, within a share of the log."""
    n = len(errors)
    return 1 if n < FEWEST else min(lag_alike(errors), max(1, int(LONGEST * n)))


def correlation_time(errors: np.ndarray) -> float:
    """How many samples count as one: 1 for independent errors, more where they stay alike."""
    length = correlation_length(errors)
    return float(max(1.0, 1.0 + 2.0 * np.sum(autocorrelation(errors)[1:length]))) if length > 1 else 1.0


def uncertainty(problem: Problem, x: np.ndarray) -> Uncertainty:
    """Covariance of x at the optimum, prior included."""
    errors, tangents = problem.sensitivities(x)
    seen = np.isfinite(errors)
    r = np.where(seen, errors, 0.0)
    J = np.where(seen[:, :, None], tangents, 0.0)
    scores = np.einsum("kop,ko->kp", J, r)
    H = np.einsum("kop,koq->pq", J, J)
    n = int(seen.sum())
    scatter2 = float(np.sum(r * r)) / max(n - len(x), 1)
    meat = np.zeros_like(H)
    shares = []
    for k in range(problem.batch.n_logs):
        part = slice(int(problem.batch.offsets[k]), int(problem.batch.offsets[k + 1]))
        window = WINDOW * correlation_length(r[part, 0])
        meat += long_run(scores[part], window)
        shares.append(window / max(part.stop - part.start, 1))
    _, error = problem.free.prior()
    precision = np.diag(1.0 / error**2)
    tiny = np.diag(1e-6 / error**2)  # keeps what the data leaves open finite
    bread = inverse(H + scatter2 * tiny)
    plain, robust = scatter2 * bread, bread @ meat @ bread
    # Never surer than independent samples would be: with few samples the long-run sum is noisy. Correlations
    # between parameters are kept as they are; each error grows by its own factor.
    ratio = np.maximum(
        np.sqrt(np.maximum(np.diag(robust), 0.0) / np.diag(plain)) * _short_sample(float(np.median(shares))),
        1.0,
    )
    covariance = inverse(inverse(plain * np.outer(ratio, ratio)) + precision)
    return Uncertainty(covariance=covariance, scatter=float(np.sqrt(scatter2)))


def inverse(A: np.ndarray) -> np.ndarray:
    """Inverse of a symmetric positive matrix that may be nearly singular:
    scaled first, and never with a negative diagonal."""
    if not np.isfinite(A).all():
        raise InvalidValue("the parameters' errors are not finite numbers; check the logs' units and factors")
    scale = np.sqrt(np.maximum(np.diag(A), 1e-300))
    values, vectors = np.linalg.eigh(0.5 * (A + A.T) / np.outer(scale, scale))
    values = np.maximum(values, 1e-13 * values[-1])
    return (vectors / values) @ vectors.T / np.outer(scale, scale)


def _short_sample(b: float) -> float:
    """How much wider intervals must be because the long-run sum itself is estimated, for a window of share b
    of the samples.

    Kiefer and Vogelsang, Econometric Theory 21 (2005), 97.5 % quantile for Bartlett weights, relative to the
    normal one.
    """
    return 1.0 + (2.9694 * b + 0.416 * b**2 - 0.5324 * b**3) / 1.96
