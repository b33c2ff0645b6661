"""Problems of least squares whose optimum linear algebra knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from backemf.identify.parameters import FreeParameters, Parameter
from backemf.identify.prepared_log import Blocks
from backemf.identify.problem import Problem


def numbers(
    n: int, *, low: Any = -100.0, high: Any = 100.0, error: Any = 1e9, mean: Any = 0.0
) -> FreeParameters:
    """Plain numbers a, b, c: their coordinates are themselves."""
    rows = [np.broadcast_to(np.asarray(v, float), n) for v in (low, high, error, mean)]
    return FreeParameters(
        tuple(
            Parameter(path=name, start=0.0, unit="1", low=lo, high=hi, prior=(m, e), signed=1.0)
            for name, lo, hi, e, m in zip("abcdefgh"[:n], *rows, strict=True)
        )
    )


class Linear:
    """Half the sum of squares of A x - b, and what it was asked."""

    substeps = 7

    def __init__(self, A: Any, b: Any, free: FreeParameters | None = None, curvature: float = 1.0) -> None:
        self.A, self.b = np.atleast_2d(np.asarray(A, float)), np.asarray(b, float)
        self.free = free or numbers(self.A.shape[1])
        self.curvature = curvature
        """What the curvature that it tells is of the true one."""
        self.asked: list[tuple[float, float, int | None]] = []
        self.tried: list[np.ndarray] = []

    def normal(
        self, x: np.ndarray, bandwidth: float = 0.0, robust: float = np.inf, substeps: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, float]:
        self.asked.append((bandwidth, robust, substeps))
        self.tried.append(np.array(x))
        r = self.A @ x - self.b
        return self.curvature * self.A.T @ self.A, self.A.T @ r, 0.5 * float(r @ r)

    # One stretch, whose start is not free and whose columns are x itself.

    begin = None
    reduce = Problem.reduce

    def blocks(self, x: np.ndarray, *how: Any) -> Blocks:
        return Blocks(*(np.array([one]) for one in self.normal(x, *how)))

    def in_logs(self, of_stretches: np.ndarray) -> np.ndarray:
        return of_stretches

    def gather(self, matrices: np.ndarray, x: np.ndarray) -> np.ndarray:
        return matrices.sum(axis=0)

    def scores(self, vectors: np.ndarray, x: np.ndarray) -> np.ndarray:
        return vectors


class Logs(Problem):
    """Errors J_k x - y_k of several logs, (samples, outputs), over their noise."""

    def __init__(
        self, rows: Sequence[tuple[Any, Any]], free: FreeParameters | None = None, noise: Any = 1.0
    ) -> None:
        rows = [(np.asarray(J, float), np.asarray(y, float)) for J, y in rows]
        rows = [(J[:, None] if J.ndim == 2 else J, y[:, None] if y.ndim == 1 else y) for J, y in rows]
        self.J, self.y = np.concatenate([J for J, _ in rows]), np.concatenate([y for _, y in rows])
        self.free = free or numbers(self.J.shape[-1])
        self.outputs = ("position", "current")[: self.y.shape[1]]
        self.offsets = np.cumsum([0, *(len(y) for _, y in rows)])
        self.begin = None
        self.index = self.free.columns(len(rows))
        self.patterns = [
            (columns, np.flatnonzero((self.index == columns).all(axis=1)))
            for columns in np.unique(self.index, axis=0)
        ]
        self.sigma = self.sigma_noise = np.broadcast_to(np.asarray(noise, float), self.y.shape[1])

    def sensitivities(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (self.J @ x - self.y) / self.sigma, self.J / self.sigma[None, :, None]

    bounded_sensitivities = sensitivities
    """No row of a regression runs away."""
