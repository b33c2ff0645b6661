"""How sure gains are: errors that hold where residuals stay alike over time,
as those of a coarse encoder do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..statistics import FEWEST, lag_alike, long_run
from .model import Model
from .segments import Segment


def covariance_of(
    model: Model, x: np.ndarray, weights: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """(covariance of the unknowns, directions without information),
    allowing for residuals that stay alike over time."""
    residuals, slopes = model.linearised(x)
    meat = np.zeros((model.n_all, model.n_all))
    for k, s in enumerate(model.segments):
        J, r, w = slopes[k], residuals[k], weights[k]
        scores = J * (w * r)[:, None]
        n = model.n_velocity(k)
        joint = _on_one_clock(s, scores) if n else scores
        span = max(_memory(r[:n]), _memory(r[n:]), _crossing(s))
        meat += _short_sample(len(joint), span) * long_run(joint, span)
    rows = np.concatenate([J * np.sqrt(w)[:, None] for J, w in zip(slopes, weights, strict=True)])
    known = np.zeros((2, model.n_all))
    for i, j in enumerate(model.delays):
        known[i, j] = model.assumed
        meat[j, j] += model.assumed**2
    R = np.linalg.qr(np.concatenate([rows, known]), mode="r")
    size = np.maximum(np.linalg.norm(R, axis=0), 1e-150)
    _, values, turned = np.linalg.svd(R / size)
    vectors, lost = turned.T, values < 1e-7 * values[0]
    inverse = (vectors[:, ~lost] / values[~lost] ** 2) @ vectors[:, ~lost].T / np.outer(size, size)
    # Never surer than independent samples would be: with few samples the long-run sum is noisy.
    alone = np.sqrt(np.maximum(np.diag(inverse), 1e-300))
    spread = np.sqrt(np.maximum(np.diag(inverse @ meat @ inverse), np.diag(inverse)))
    covariance = inverse * np.outer(spread / alone, spread / alone)
    # A first angle that nothing depends on says nothing about gains.
    lost &= np.linalg.norm(vectors[: model.n], axis=0) > 1e-3
    directions = (vectors[:, lost] / size[:, None]).T if lost.any() else np.zeros((0, model.n_all))
    return covariance, directions


def _on_one_clock(s: Segment, scores: np.ndarray) -> np.ndarray:
    """Scores of both channels summed where they were taken at the same time."""
    if not len(s.position):
        return scores
    t = np.concatenate([s.velocity_time, s.position_time])
    step = float(np.median(np.diff(s.velocity_time)))
    place = np.round((t - t.min()) / step).astype(int)
    out = np.zeros((int(place.max()) + 1, scores.shape[1]))
    np.add.at(out, place, scores)
    return out


def _memory(r: np.ndarray) -> int:
    """Samples over which residuals stay alike."""
    n = len(r)
    return 1 if n < FEWEST else min(2 * lag_alike(r), max(1, n // 8))


def _crossing(s: Segment) -> int:
    """Samples that a slow part of the motion spends on one step of the position's grid,
    whose errors are therefore alike."""
    if not s.resolution:
        return 1
    slow = max(float(np.percentile(np.abs(s.smooth), 20)), 1e-12)
    step = float(np.median(np.diff(s.velocity_time)))
    return int(min(3 * s.resolution / (slow * step), len(s.velocity) // 5)) + 1


def _short_sample(n: int, length: int) -> float:
    """How much a long-run sum grows for the samples that its window takes away at both ends;
    at most twice."""
    return n / max(n - 2 * length, 0.5 * n)
