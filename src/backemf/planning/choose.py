"""The motions that are worth their time: D-optimal, greedily, then by exchange.

What counts is the determinant of the covariance of the wanted numbers, its mean logarithm over draws of the
start. A number counts as known where its error is small: below that, nothing more is gained.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

KNOWN = 0.02
"""Relative error below which a number is known well enough."""
ALIKE = 0.01
"""Error of a number that one motion leaves whatever its samples say: recordings disagree by as much, so that
several different ones tell more than the same again."""
ROUNDS = 4
"""Of exchanges at most."""
MOST_ALIKE = 2
"""Times that one motion may be chosen."""


class Budget(NamedTuple):
    """What candidates cost, (n_costs, n_candidates), and how much there is of each; the first cost is time,
    by which gains are compared."""

    costs: np.ndarray
    most: np.ndarray

    def fitting(self, picked: Sequence[int]) -> list[int]:
        """Candidates that may be played beside those that are picked."""
        left = self.most - self.costs[:, list(picked)].sum(axis=1)
        enough = (self.costs <= left[:, None] + 1e-9).all(axis=0)
        return [int(k) for k in np.flatnonzero(enough) if list(picked).count(int(k)) < MOST_ALIKE]


class Choice:
    """Information of candidates at draws of the start, (n_draws, n_candidates, n, n), and what was known
    before, (n_draws, n, n)."""

    def __init__(self, information: np.ndarray, before: np.ndarray, wanted: Sequence[int]):
        self.information, self.before, self.wanted = information, before, list(wanted)

    def worth(self, total: np.ndarray) -> np.ndarray:
        """Of sums of information (..., n_draws, n, n): less the mean log determinant of what stays open."""
        covariance = _inverse(total)[..., self.wanted, :][..., self.wanted]
        open_ = covariance + KNOWN**2 * np.eye(len(self.wanted))
        return -np.linalg.slogdet(open_)[1].mean(axis=-1)

    def of(self, chosen: Sequence[int]) -> np.ndarray:
        return self.before + self.information[:, list(chosen)].sum(axis=1)


def bounded(information: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Information (..., n, n) of motions, none of which tells a number better than `ALIKE` of its unit."""
    scaled = information * np.outer(unit, unit)
    values, vectors = np.linalg.eigh(scaled)
    values = np.maximum(values, 0.0)
    values = values / (1.0 + ALIKE**2 * values)
    back = (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return back / np.outer(unit, unit)


def _inverse(total: np.ndarray) -> np.ndarray:
    """Of symmetric positive matrices, scaled first."""
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(total, axis1=-2, axis2=-1), 1e-300))
    even = total * scale[..., :, None] * scale[..., None, :]
    even = even + 1e-12 * np.eye(total.shape[-1])
    return np.linalg.inv(even) * scale[..., :, None] * scale[..., None, :]


def choose(choice: Choice, budget: Budget) -> list[int]:
    """Candidates in the order in which they should be played, the most telling first; one may come twice."""
    picked: list[int] = []
    total = choice.before
    worth = float(choice.worth(total))
    each = np.moveaxis(choice.information, 1, 0)
    while fits := budget.fitting(picked):
        gains = (choice.worth(total + each[fits]) - worth) / budget.costs[0, fits]
        best = int(np.argmax(gains))
        if gains[best] <= 0:
            break
        picked.append(fits[best])
        total = choice.of(picked)
        worth = float(choice.worth(total))
    return exchanged(choice, picked, budget)


def exchanged(choice: Choice, picked: list[int], budget: Budget) -> list[int]:
    """The same with single motions replaced as long as that tells more."""
    each = np.moveaxis(choice.information, 1, 0)
    worth = float(choice.worth(choice.of(picked))) if picked else 0.0
    for _ in range(ROUNDS):
        before = worth
        for place in range(len(picked)):
            others = picked[:place] + picked[place + 1 :]
            fits = budget.fitting(others)
            tried = choice.worth(choice.of(others) + each[fits])
            if tried.max() > worth + 1e-6:
                worth = float(tried.max())
                picked[place] = fits[int(np.argmax(tried))]
        if worth < before + 1e-6:
            break
    return picked
