"""How sure a fit is: errors that hold where errors of the recording last for many samples, and where whole
recordings disagree.

If the model were right, the scores (sensitivity times error) of a log would be a sum of noise, correlated
over time (Newey and West). Real recordings disagree by more: each log, and each rig, pulls the parameters its
own way. How much is seen from the scores of logs and rigs that the common optimum leaves (each corrected for
its own weight in that optimum).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from ..errors import InvalidValue
from ..statistics import FEWEST, autocorrelation, cluster_covariance, lag_alike, long_run
from .problem import Problem

WINDOW = 3
"""Lags summed, in correlation lengths: the weights fall linearly,
and a short window would miss part of what is correlated."""
LONGEST = 0.1
"""Longest lag considered, as a share of a log."""


@dataclass(frozen=True, kw_only=True)
class Uncertainty:
    """Of the coordinates x at the optimum."""

    covariance: np.ndarray
    """As the recordings disagree with each other."""
    if_right: np.ndarray
    """If the model is right."""
    scatter: float
    """Root mean square of the weighted errors: 1 where the noise explains them."""
    quantile: float
    """How many standard errors a 95 % interval reaches: more where few recordings tell how much they
    disagree."""
    effects: LogEffects | None = None
    """What each log says by itself."""


class LogEffects(NamedTuple):
    """What each log says at the optimum, in x."""

    curvature: np.ndarray
    """(n_x, n_x), of all logs and the prior."""
    of_logs: Sequence[np.ndarray]
    """The same of each log alone."""
    scores: np.ndarray
    """(n_logs, n_x): the slope of each log's cost."""


class ErrorTerm(NamedTuple):
    """One more part of the errors, beside noise and recordings that disagree."""

    covariance: np.ndarray
    if_right: bool
    """Whether it is there even if the model is right."""


def with_terms(uncertainties: Uncertainty, terms: Iterable[ErrorTerm]) -> Uncertainty:
    """The same with further parts."""
    for term in terms:
        if_right = uncertainties.if_right + term.covariance if term.if_right else uncertainties.if_right
        covariance = uncertainties.covariance + term.covariance
        uncertainties = replace(uncertainties, covariance=covariance, if_right=if_right)
    return uncertainties


def correlation_length(errors: np.ndarray) -> int:
    """Samples over which errors stay alike, within a share of the log."""
    n = len(errors)
    return 1 if n < FEWEST else min(lag_alike(errors), int(LONGEST * n))


def correlation_time(errors: np.ndarray) -> float:
    """How many samples count as one: 1 for independent errors, more where they stay alike."""
    return float(1.0 + 2.0 * np.sum(autocorrelation(errors)[1 : correlation_length(errors)]))


FEWEST_GROUPS = 4
"""Groups of logs from which on their disagreement says something: of three, each is judged by two others that
may be alike."""


def uncertainty(
    problem: Problem,
    x: np.ndarray,
    *,
    robust: float = np.inf,
    groupings: Sequence[Sequence[Any]] = (),
    own: bool = False,
) -> Uncertainty:
    """Covariances of x at the optimum, prior included.

    Args:
        problem: with the weights of the fit.
        x: its optimum.
        robust: weighted error beyond which one counted less.
        groupings: each says, log by log, which belong together: to one rig, to one setting.
        own: whether numbers of some logs only are judged by these, where they are enough.

    Returns:
        The covariances, and how far a 95 % interval reaches.
    """
    H_logs, scores, meats, scatter2, share = _of_logs(problem, x, robust)
    H = problem.gather(H_logs, x)
    P = problem.free.precision
    A = H + P
    bread = inverse(A)
    plain = scatter2 * H
    meat = problem.gather(meats, x) * _short_sample(share) ** 2
    # Never surer than independent samples would be: with few samples the long-run sum is noisy.
    meat = _at_least(meat, plain)
    told = bread @ meat @ bread
    if_right = told + bread @ P @ bread
    covariance, quantile = if_right.copy(), 1.96
    spread = problem.scores(scores, x)
    alone = [problem.in_x(H_logs[k], k, x) for k in range(len(spread))]
    root = _root(A)
    # Where the model misses something, what a group would pull at an optimum without it (a jackknife).
    power = 0.5 if robust == np.inf else 1.0
    tried = set()
    for groups in (range(len(spread)), *groupings):
        names = list(dict.fromkeys(groups))
        parted = tuple(names.index(g) for g in groups)  # the same for groups that only have other names
        if len(names) < FEWEST_GROUPS or parted in tried:
            continue
        tried.add(parted)
        enough = FEWEST_GROUPS if own else np.inf
        numbers = enumerate(problem.free.parameters)
        shared = [k for k, q in numbers if q.logs is None or _among(q.logs, groups) >= enough]
        common = np.ix_(shared, shared)
        moves = _pulls(parted, root, alone, spread, power)
        wider, freedom = cluster_covariance(moves[:, shared], told[common], if_right[common])
        factor = np.ones(len(x))
        factor[shared] = np.sqrt(
            np.maximum(np.diag(wider) / np.maximum(np.diag(covariance[common]), 1e-300), 1.0)
        )
        covariance = covariance * np.outer(factor, factor)
        quantile = max(quantile, float(student.ppf(0.975, freedom)))
    scatter, effects = float(np.sqrt(scatter2)), LogEffects(A, alone, spread)
    how: dict[str, Any] = {"scatter": scatter, "quantile": quantile, "effects": effects}
    return Uncertainty(covariance=covariance, if_right=if_right, **how)


def _among(logs: Sequence[int], groups: Sequence[Any]) -> int:
    """Groups that some logs are of."""
    return len({groups[k] for k in logs})


def _root(A: np.ndarray) -> np.ndarray:
    """L with L L' = A, for a positive matrix that may be nearly singular."""
    scale = np.sqrt(np.maximum(np.diag(A), 1e-300))
    even = 0.5 * (A + A.T) / np.outer(scale, scale)
    return scale[:, None] * np.linalg.cholesky(even + 1e-10 * np.eye(len(A)))


def _pulls(
    group_of: Sequence[int], root: np.ndarray, alone: Sequence[np.ndarray], spread: np.ndarray, power: float
) -> np.ndarray:
    """How far each group of logs pulls the optimum, one row for each."""
    rows = []
    for group in range(max(group_of) + 1):
        members = [k for k, g in enumerate(group_of) if g == group]
        inside = np.sum([alone[k] for k in members], axis=0)
        rows.append(_pull(root, inside, spread[members].sum(axis=0), power))
    return np.array(rows)


def _pull(root: np.ndarray, inside: np.ndarray, score: np.ndarray, power: float) -> np.ndarray:
    """How far a group of logs pulls the optimum, corrected for the part of the pull that its own weight in
    the optimum hides (with a power of one half Bell and McCaffrey, Survey Methodology 28, 2002; with 1 the
    jackknife); `root` is of the whole curvature."""
    whitened = np.linalg.solve(root, np.linalg.solve(root, inside).T)
    values, vectors = np.linalg.eigh(0.5 * (whitened + whitened.T))
    seen = vectors.T @ np.linalg.solve(root, score) / np.maximum(1.0 - values, 1e-2) ** power
    return np.linalg.solve(root.T, vectors @ seen)


def _of_logs(problem: Problem, x: np.ndarray, robust: float) -> tuple:
    """By log and column of derivatives: curvature, score, covariance of the score; then the mean square of
    the errors, and the share of a log that a window covers."""
    errors, tangents = problem.bounded_sensitivities(x)
    seen = np.isfinite(errors)
    r = np.where(seen, errors, 0.0)
    J = np.where(seen[:, :, None], tangents, 0.0)
    weight = np.minimum(1.0, robust / np.maximum(np.abs(r), 1e-300))
    steps = np.einsum("kop,ko->kp", J, weight * r)
    n, c = int(seen.sum()), J.shape[-1]
    H, meats, shares = [], [], []
    scores = np.zeros((problem.batch.n_logs, c))
    for k, (start, end) in enumerate(zip(problem.offsets[:-1], problem.offsets[1:], strict=True)):
        part = slice(int(start), int(end))
        flat = (J[part] * np.sqrt(weight[part])[:, :, None]).reshape(-1, c)
        H.append(flat.T @ flat)
        window = WINDOW * correlation_length(r[part, 0])
        meats.append(long_run(steps[part], window))
        scores[k] = steps[part].sum(axis=0)
        shares.append(window / (part.stop - part.start))
    mean_square = float(np.sum(weight * r * r)) / max(n - len(x), 1)
    return np.array(H), scores, np.array(meats), mean_square, float(np.median(shares))


def _at_least(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A, raised in every direction in which it is less than B."""
    scale = np.sqrt(np.maximum(np.diag(B), 1e-300))
    values, vectors = np.linalg.eigh(B / np.outer(scale, scale))
    keep = values > 1e-12
    root = scale[:, None] * vectors[:, keep] * np.sqrt(values[keep])
    inward = (vectors[:, keep] / np.sqrt(values[keep])).T / scale
    factors, axes = np.linalg.eigh(inward @ A @ inward.T)
    return (root @ axes * np.maximum(factors, 1.0)) @ (root @ axes).T


def inverse(A: np.ndarray) -> np.ndarray:
    """Inverse of a symmetric positive matrix that may be nearly singular:
    scaled first, and never with a negative diagonal."""
    if not np.isfinite(A).all():
        raise InvalidValue("the parameters' errors are not finite numbers; check the logs' units and factors")
    scale = np.sqrt(np.maximum(np.diag(A), 1e-300))
    values, vectors = np.linalg.eigh(0.5 * (A + A.T) / np.outer(scale, scale))
    values = np.maximum(values, 1e-13)
    return (vectors / values) @ vectors.T / np.outer(scale, scale)


def _short_sample(b: float) -> float:
    """How much wider intervals must be because the long-run sum itself is estimated, for a window of share b
    of the samples.

    Kiefer and Vogelsang, Econometric Theory 21 (2005), 97.5 % quantile for Bartlett weights, relative to the
    normal one.
    """
    return 1.0 + (2.9694 * b + 0.416 * b**2 - 0.5324 * b**3) / 1.96
