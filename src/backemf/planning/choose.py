"""The motions that are worth their time: D-optimal, greedily, then by exchange; and what else would tell
more: another load, a sensor, a prior.

What counts is the determinant of the covariance of the wanted numbers, its mean logarithm over draws of the
start. A number counts as known where its error is small: below that, nothing more is gained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..identify.check import DETERMINED
from ..identify.uncertainty import inverse
from ..physics.actuator import Actuator
from ..physics.bench import BENCH_TRAITS, Bench
from ..physics.quantity import parameters
from ..tables import number
from .family import extremes, within
from .motions import SafetyLimits
from .outlook import Outlook, Sensing, outlook

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


class MotionChoice:
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
        """Information of the chosen candidates together with what was known, (n_draws, n, n)."""
        return self.before + self.information[:, list(chosen)].sum(axis=1)


def bound_information(information: np.ndarray, unit: np.ndarray) -> np.ndarray:
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


def choose(choice: MotionChoice, budget: Budget, first: Sequence[Sequence[int]] = ()) -> list[int]:
    """Choose what is played, greedily and then by exchange.

    Args:
        choice: what every candidate tells.
        budget: what it costs.
        first: sets of candidates, of each of which one is played in any case, where there is time.

    Returns:
        Candidates in the order in which they should be played, the most telling first; one may come twice.
    """
    picked: list[int] = []
    for some in first:
        picked += _most_telling(choice, picked, budget, set(some))[:1]
    n = len(picked)
    while best := _most_telling(choice, picked, budget):
        if best[1] <= 0:
            break
        picked.append(best[0])
    return exchange(choice, picked, budget, n)


class _Gain(NamedTuple):
    """A candidate, and what it tells a second beside those that are picked."""

    place: int
    gain: float


def _most_telling(
    choice: MotionChoice, picked: Sequence[int], budget: Budget, among: set[int] | None = None
) -> _Gain | tuple[()]:
    """The candidate that tells most for its time; nothing where none fits."""
    fits = [k for k in budget.fitting(picked) if among is None or k in among]
    if not fits:
        return ()
    total = choice.of(picked)
    each = np.moveaxis(choice.information, 1, 0)[fits]
    gains = (choice.worth(total + each) - float(choice.worth(total))) / budget.costs[0, fits]
    best = int(np.argmax(gains))
    return _Gain(fits[best], float(gains[best]))


def exchange(choice: MotionChoice, picked: list[int], budget: Budget, kept: int = 0) -> list[int]:
    """The same with single motions replaced as long as that tells more, but for the first that are `kept`."""
    each = np.moveaxis(choice.information, 1, 0)
    worth = float(choice.worth(choice.of(picked))) if picked else 0.0
    for _ in range(ROUNDS):
        before = worth
        for place in range(kept, len(picked)):
            others = picked[:place] + picked[place + 1 :]
            fits = budget.fitting(others)
            tried = choice.worth(choice.of(others) + each[fits])
            if tried.max() > worth + 1e-6:
                worth = float(tried.max())
                picked[place] = fits[int(np.argmax(tried))]
        if worth < before + 1e-6:
            break
    return picked


WORTH = 0.7
"""Share of an error that another setting must leave at most, to be offered."""
LOADS, GAINS = (2.5, 0.4), (0.5, 2.0)
LONGER = 4
NOTHING = "no other weight, gain or time that was tried; a datasheet or a reading"
GAIN = ("drive.proportional", "drive.volts_per_radian")


class Setting(NamedTuple):
    """Another way to record the same motions."""

    words: str
    actuator: Actuator
    bench: Bench
    sensing: Sensing


def settings(look: Outlook) -> Iterator[Setting]:
    """Other weights, other gains, another channel."""
    actuator, bench, sensing = look.start, look.bench, look.sensing
    own = parameters(bench) if look.rig else {}
    for name in ("mass", "inertia"):
        for factor in LOADS if own.get(name) else ():
            value = float(number(factor * own[name], 2))
            text = f"the same with {name} {value:g} {BENCH_TRAITS[f'bench.{name}']['unit']}"
            yield Setting(text, actuator, replace(bench, **{name: value}), sensing)
        if own.get(name):
            break
    for path in GAIN:
        for factor in GAINS if path in actuator.parameters else ():
            value = float(number(factor * actuator.parameters[path], 2))
            text = f"the same with {path} {value:g}"
            yield Setting(text, actuator.replace(**{path: value}), bench, sensing)
    if sensing.current is None:
        yield Setting(
            "the same with the current", actuator, bench, replace(sensing, current=Sensing().current)
        )


def find_alternatives(
    look: Outlook,
    picked: Sequence[int],
    before: np.ndarray,
    errors: Mapping[str, float],
    untold: Sequence[str],
    limits: SafetyLimits,
) -> dict[str, str]:
    """Another setting for each number that stays untold.

    Args:
        look: what the motions tell.
        picked: places of those that are planned.
        before: precision of what is known already, in x.
        errors: relative errors to expect of the plan, by path.
        untold: paths of the numbers that it leaves open.
        limits: that hold with other settings too.

    Returns:
        By path, the setting that tells most of it in words, with the error that is left.
    """
    first = told_alone(look, look.problem.first, picked)
    known = before[np.ix_(look.own, look.own)]
    once = _relative(look, known + first)
    again = _relative(look, known + 2.0 * first)  # the same twice takes as long
    best: dict[str, tuple[float, str]] = {}
    for setting in settings(look):
        more = _told_with(look, setting, picked, limits)
        if more is None:
            continue
        both = _relative(look, known + first + more)
        for path, old, new, plain in zip(errors, again, both, once, strict=True):
            left = errors[path] * new / plain
            if path in untold and new < WORTH * old and left < best.get(path, (np.inf, ""))[0]:
                best[path] = (left, f"{setting.words}: {number(100 * left, 2)} %")
    longer = _relative(look, known + LONGER * first)
    for path, new, plain in zip(errors, longer, once, strict=True):
        left = errors[path] * new / plain
        if path in untold and path not in best and left <= DETERMINED:
            best[path] = (left, f"{LONGER} times as long: {number(100 * left, 2)} %")
    return {path: best[path][1] if path in best else NOTHING for path in untold}


def _told_with(
    look: Outlook, setting: Setting, picked: Sequence[int], limits: SafetyLimits
) -> np.ndarray | None:
    """What the same motions tell with another setting; None where they leave the limits or other numbers
    are free."""
    other = outlook(
        setting.actuator,
        setting.bench,
        [replace(look.motions[k], name=f"{n}") for n, k in enumerate(picked)],
        sensing=setting.sensing,
        prior=look.prior,
        joint=look.joint,
        settings=look.settings,
        rig=look.rig,
    )
    names = [look.problem.free.names[k] for k in look.own]
    if [other.problem.free.names[k] for k in other.own] != names:
        return None
    kept = [int(k) for k in np.flatnonzero(within(extremes(other), limits))]
    return told_alone(other, other.problem.first, kept) if kept else None


def told_alone(look: Outlook, x: np.ndarray, picked: Sequence[int]) -> np.ndarray:
    """What motions tell of the actuator's numbers, those of the bench being as sure as their tolerances."""
    whole = look.information(x).worth[list(picked)].sum(axis=0)
    own, beside = look.own, [k for k in range(len(whole)) if k not in look.own]
    across = whole[np.ix_(own, beside)]
    held = inverse((whole + look.problem.free.precision)[np.ix_(beside, beside)])
    return whole[np.ix_(own, own)] - across @ held @ across.T


def _relative(look: Outlook, precision: np.ndarray) -> np.ndarray:
    """Relative errors of the actuator's numbers, of which this is known."""
    full = np.zeros((len(look.problem.free), len(look.problem.free)))
    full[np.ix_(look.own, look.own)] = inverse(precision)
    return look.relative(look.problem.first, full)
