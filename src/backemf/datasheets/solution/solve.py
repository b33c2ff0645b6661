"""Weighted least squares on logarithms, small and dense: damped Gauss-Newton steps with bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

STEP = 1e-6
"""Of a logarithm, for differences."""


class Minimum(NamedTuple):
    """Where the sum of squares is least."""

    x: np.ndarray
    residuals: np.ndarray
    slopes: np.ndarray
    """Of the residuals by x."""

    @property
    def cost(self) -> float:
        return float(self.residuals @ self.residuals)


def slopes(residuals: Callable[[np.ndarray], np.ndarray], x: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Forward differences of the residuals, which are `at` in x."""
    columns = []
    for k in range(len(x)):
        moved = x.copy()
        moved[k] += STEP
        columns.append((residuals(moved) - at) / STEP)
    return np.array(columns).T


def minimise(
    residuals: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    tolerance: float,
) -> Minimum:
    """The nearest minimum from x between bounds; a coordinate at its bound stays while it is pushed out.

    It ends where a step gains less than `tolerance` of the sum of squares.
    """
    x = np.clip(x, low, high)
    r = residuals(x)
    J, damping = slopes(residuals, x, r), 1e-4
    for _ in range(40):
        g, A = J.T @ r, J.T @ J
        held = ((x >= high) & (g < 0)) | ((x <= low) & (g > 0))
        step = np.zeros_like(x)
        for _ in range(12):
            free = np.flatnonzero(~held)
            sub = A[np.ix_(free, free)]
            damped = sub + np.diag(damping * np.diag(sub) + 1e-10)
            step[free] = np.clip(np.linalg.solve(damped, -g[free]), -1.5, 1.5)
            new = np.clip(x + step, low, high)
            r_new = residuals(new)
            if r_new @ r_new < r @ r:
                break
            damping *= 6.0
        else:
            break
        gain = r @ r - r_new @ r_new
        moved = float(np.max(np.abs(new - x)))
        x, r, damping = new, r_new, max(damping / 10.0, 1e-9)
        J = slopes(residuals, x, r)
        if moved < 1e-8 or gain <= tolerance * (1e-4 + r @ r):
            break
    return Minimum(x, r, J)


class Spread(NamedTuple):
    """What a minimum tells about its coordinates."""

    covariance: np.ndarray
    open: np.ndarray
    """Which coordinates nothing determines."""


def spread(slopes_: np.ndarray, scale: float = 1.0) -> Spread:
    """Covariance of the coordinates; directions that no residual feels have none and are said to be open."""
    n = slopes_.shape[1]
    _, s, vt = np.linalg.svd(slopes_, full_matrices=True)
    s = np.concatenate([s, np.zeros(n - len(s))])[:n]  # more unknowns than equations: the rest is open
    weak = s < 1e-8 * s[0]
    half = vt.T / np.where(weak, np.inf, s)
    felt = np.any(np.abs(vt[weak]) > 1e-3, axis=0) if np.any(weak) else np.zeros(n, bool)
    return Spread(scale * half @ half.T, felt)
