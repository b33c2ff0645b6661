"""How sure a fit is: errors that hold where errors of the recording last for many samples, and where whole
recordings disagree.

If the model were right, the scores (sensitivity times error) of a log would be a sum of noise, correlated
over time (Newey and West). Real recordings disagree by more: each log, and each rig, pulls the parameters its
own way. How much is seen from the scores of logs and rigs that the common optimum leaves (each corrected for
its own weight in that optimum).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2, t as student

from ..errors import InvalidValue
from ..statistics import FEWEST, NORMAL, autocorrelation, lag_alike, long_run
from .parameters import FreeParameters
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
    """As the recordings disagree with each other; so wide that 1.96 of its errors are a 95 % interval, also
    where few recordings tell how much they disagree."""
    if_right: np.ndarray
    """If the model is right."""
    scatter: float
    """Root mean square of the weighted errors: 1 where the noise explains them."""
    positive: bool = True
    """Whether the curvature at the optimum is that of a minimum; else both are the prior's."""
    effects: LogEffects | None = None
    """What each log says by itself; None where that curvature is not of a minimum."""

    def share_left(self, free: FreeParameters) -> np.ndarray:
        """Error of each number, if the model is right, over what was believed of it before: near 1, the
        recordings leave it open, and only the prior tells it.

        Args:
            free: the numbers, with what was believed.
        """
        return np.sqrt(np.maximum(np.diag(self.if_right), 0.0)) / free.prior()[1]


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


FEWEST_GROUPS = 2
"""Groups of logs from which on their disagreement says something; Student's t says how little two are."""
BY_CHANCE = 0.999
"""Where noise explains every error, groups count as disagreeing beyond this quantile of what chance does."""
FELT = 1e-3
"""Share of the whole curvature below which a group tells nothing in a direction."""


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
        own: whether numbers of some logs only are judged by these.

    Returns:
        The covariances; the prior's where the curvature is not that of a minimum.
    """
    terms = _of_logs(problem, x, robust)
    belief = problem.gather(terms.belief, x) + problem.free.precision
    H = problem.gather(terms.curvature, x)
    A, scatter = H + belief, float(np.sqrt(terms.scatter2))
    if not _is_positive(A):
        prior = np.linalg.inv(problem.free.precision)
        return Uncertainty(covariance=prior, if_right=prior, scatter=scatter, positive=False)
    bread = inverse(A)
    meat = problem.gather(terms.meats, x) * _short_sample(terms.share) ** 2
    # Never surer than independent samples would be: with few samples the long-run sum is noisy.
    told, held = bread @ _at_least(meat, terms.scatter2 * H) @ bread, bread @ belief @ bread
    if_right = told + held
    # Errors that last scatter the scores by more than as many independent ones.
    alike = float(np.median(np.diag(told) / np.diag(terms.scatter2 * bread @ H @ bread).clip(1e-300)))
    noise = np.inf if robust < np.inf else terms.scatter2 * max(alike, 1.0)
    alone = [problem.in_x(curvature, k, x) for k, curvature in enumerate(terms.curvature + terms.belief)]
    effects = LogEffects(A, alone, problem.scores(terms.scores, x))
    moved = _disagreement(problem, effects, noise, groupings, own)
    # What disagreement adds is correlated as the rest: in no direction less than if the model is right. Two
    # groups may disagree by any amount, and nobody is less sure than before the data.
    wide = np.minimum(moved + np.diag(held), problem.free.prior()[1] ** 2)
    more = np.sqrt(np.maximum(wide / np.diag(if_right) - 1.0, 0.0))
    covariance = if_right * (1.0 + np.outer(more, more))
    return Uncertainty(covariance=covariance, if_right=if_right, scatter=scatter, effects=effects)


def bounded_normal(problem: Problem, x: np.ndarray, robust: float) -> tuple[np.ndarray, np.ndarray]:
    """The normal equations in x, by derivatives that are bounded.

    Args:
        problem: with the weights of the fit.
        x: where.
        robust: weighted error beyond which one counts less.

    Returns:
        (curvature with what is believed before, gradient of the data).
    """
    terms = _of_logs(problem, x, robust)
    H = problem.gather(terms.curvature + terms.belief, x)
    return H + problem.free.precision, problem.scores(terms.scores, x).sum(axis=0)


def _disagreement(
    problem: Problem, effects: LogEffects, noise: float, groupings: Sequence[Sequence[Any]], own: bool
) -> np.ndarray:
    """Variance of each number by how far groups of logs pull it, log by log, rig by rig, setting by setting:
    the largest. Where the model misses something groups differ, however few they are, and 1.96 of the roots
    reach as far as Student's t does; where noise explains every error, of this variance, they do only if
    chance would not make them."""
    spread, alone = effects.scores, np.array(effects.of_logs)
    root, largest, tried = _root(effects.curvature), np.zeros(spread.shape[1]), set()
    for groups in (range(len(spread)), *groupings):
        names = list(dict.fromkeys(groups))
        parted = tuple(names.index(g) for g in groups)  # the same for groups that only have other names
        if len(names) < FEWEST_GROUPS or parted in tried:
            continue
        tried.add(parted)
        members = [np.flatnonzero(np.array(parted) == g) for g in range(len(names))]
        pulls = [_pull(root, alone[m].sum(axis=0), spread[m].sum(axis=0)) for m in members]
        if not _disagree(pulls, noise):
            continue
        squares = np.sum([pull.move**2 for pull in pulls], axis=0)
        for k, q in enumerate(problem.free.parameters):
            G = len(names) if q.logs is None else _among(q.logs, groups) if own else 1
            if G >= FEWEST_GROUPS:
                reach = float(student.ppf(0.975, G - 1)) if noise == np.inf else NORMAL
                largest[k] = max(largest[k], (reach / NORMAL) ** 2 * squares[k] * G / (G - 1))
    return largest


def _disagree(pulls: Sequence[_Pull], noise: float) -> bool:
    """Whether groups pull by more than noise of a variance would make them; always, where it is infinite."""
    left = 1.0 - 1.0 / len(pulls)  # pulls add up to nothing: one of them is no news
    freedom = left * sum(pull.directions for pull in pulls)
    if noise == np.inf or freedom == 0.0:
        return noise == np.inf
    return left * sum(pull.chi2 for pull in pulls) > noise * float(chi2.ppf(BY_CHANCE, freedom))


def _among(logs: Sequence[int], groups: Sequence[Any]) -> int:
    """Groups that some logs are of."""
    return len({groups[k] for k in logs})


def _root(A: np.ndarray) -> np.ndarray:
    """L with L L' = A, for a positive matrix that may be nearly singular."""
    scale = np.sqrt(np.maximum(np.diag(A), 1e-300))
    even = 0.5 * (A + A.T) / np.outer(scale, scale)
    return scale[:, None] * np.linalg.cholesky(even + 1e-10 * np.eye(len(A)))


class _Pull(NamedTuple):
    """How far a group of logs pulls the optimum."""

    move: np.ndarray
    """Corrected for the part of it that the group's own weight in the optimum hides."""
    chi2: float
    """Its square, in units of what the weights take for noise."""
    directions: int
    """In which the group tells something."""


def _pull(root: np.ndarray, inside: np.ndarray, score: np.ndarray) -> _Pull:
    """By a group's curvature and score (CR2: Bell and McCaffrey, Survey Methodology 28, 2002); `root` is of
    the whole curvature."""
    whitened = np.linalg.solve(root, np.linalg.solve(root, inside).T)
    values, vectors = np.linalg.eigh(0.5 * (whitened + whitened.T))
    left, seen = np.maximum(1.0 - values, 1e-2), vectors.T @ np.linalg.solve(root, score)
    felt = values > FELT
    square = float(np.sum(seen[felt] ** 2 / (values * left)[felt]))
    return _Pull(np.linalg.solve(root.T, vectors @ (seen / np.sqrt(left))), square, int(felt.sum()))


def _is_positive(A: np.ndarray) -> bool:
    """Whether a curvature is that of a minimum, rounding apart."""
    if not np.isfinite(A).all() or np.any(np.diag(A) <= 0):
        return False
    scale = np.sqrt(np.diag(A))
    return bool(np.linalg.eigvalsh(0.5 * (A + A.T) / np.outer(scale, scale))[0] > -1e-9)


class _LogTerms(NamedTuple):
    """By log and path, every start where it is best."""

    curvature: np.ndarray
    """Of the data."""
    belief: np.ndarray
    """Of what is believed about the starts."""
    scores: np.ndarray
    meats: np.ndarray
    """Covariances of the scores."""
    scatter2: float
    """Mean square of the errors."""
    share: float
    """Of a log that a window covers."""


def _of_logs(problem: Problem, x: np.ndarray, robust: float) -> _LogTerms:
    errors, tangents = problem.bounded_sensitivities(x)
    seen = np.isfinite(errors)
    r = np.where(seen, errors, 0.0)
    J = np.where(seen[:, :, None], tangents, 0.0)
    weight = np.minimum(1.0, robust / np.maximum(np.abs(r), 1e-300))
    J, belief, scores, taken = follow_starts(problem, J, weight, r)
    steps = np.einsum("kop,ko->kp", J, weight * r)
    n, c = int(seen.sum()), J.shape[-1]
    H, meats, shares = [], [], []
    for start, end in itertools.pairwise(problem.offsets):
        part = slice(int(start), int(end))
        flat = (J[part] * np.sqrt(weight[part])[:, :, None]).reshape(-1, c)
        H.append(flat.T @ flat)
        window = WINDOW * correlation_length(r[part, 0])
        meats.append(long_run(steps[part], window))
        shares.append(window / (part.stop - part.start))
    mean_square = float(np.sum(weight * r * r)) / max(n - len(x) - taken, 1)
    return _LogTerms(np.array(H), belief, scores, np.array(meats), mean_square, float(np.median(shares)))


def follow_starts(
    problem: Problem, J: np.ndarray, weight: np.ndarray, r: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Derivatives with every start where it is best.

    Args:
        problem: with its starts.
        J: derivatives by every column, on the samples of all logs.
        weight: of each error.
        r: the weighted errors.

    Returns:
        (derivatives by path; by log what is believed about starts, and scores; how many numbers the starts
        took).
    """
    begin, n = problem.begin, len(problem.free.paths)
    if begin is None:
        steps = np.einsum("kop,ko->kp", J, weight * r)
        scores = np.add.reduceat(steps, problem.offsets[:-1], axis=0)
        return J, np.zeros((len(scores), n, n)), scores, 0.0
    followed, beliefs, scores, taken = J[..., :n].copy(), [], [], 0.0
    for k, rows in enumerate(problem.stretch_rows()):
        flat = J[rows].reshape(-1, J.shape[-1])
        paths, belief, score, numbers = begin.profile(k, flat, weight[rows].ravel(), r[rows].ravel())
        followed[rows] = paths.reshape(followed[rows].shape)
        beliefs.append(belief)
        scores.append(score)
        taken += numbers
    return followed, problem.in_logs(np.array(beliefs)), problem.in_logs(np.array(scores)), taken


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
        raise InvalidValue(
            "the simulation of these logs runs away, so that no errors can be stated; try a simpler friction"
            " (--friction m4), and check the logs' units and factors"
        )
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
