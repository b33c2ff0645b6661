"""How units change from session to session: a drift with time or temperature, or a jump between two sessions.

A unit's estimates are compared with its own earlier ones, each weighed by its error, which is widened by what
sound units show: sessions of one unit differ by more than their fits' errors where nothing changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...findings import Finding, finding
from ...statistics import Coordinate
from .estimates import Estimates

ALARMS = 0.008
"""Share of units that may be called changing though they are not."""
FEWEST = 3
"""Sessions from which on a drift is looked for; a jump needs two on each side."""
LEAST_WARMING = 2.0
"""Kelvin over which a unit's temperature must vary for it to be told from time."""
YEAR = 365.25 * 86400.0
MIDDLE = 0.4549
"""Median of a chi-square with one degree of freedom."""


class Change(NamedTuple):
    """What became of one number of one unit."""

    unit: str
    path: str
    kind: str
    """'time', 'temperature', or 'jump'."""
    size: float
    """On the number's own scale (a share of it, where that is a logarithm): over all sessions."""
    error: float
    t: float
    after: str
    """The session before a jump; empty for a drift."""
    rate: float
    """Of a drift: per year, or per kelvin."""
    share: float | None = None
    """The change as a share of the number; None where it may have either sign."""

    @property
    def finding(self) -> Finding:
        much, wide = f"{self.size:+.3g}", f"+- {self.error:.2g}"
        if self.share is not None:
            wide = f"+- {abs(100 * self.share * self.error / self.size):.2g} %"
            much = f"{100 * self.share:+.3g} %"
        if self.kind == "jump":
            text = f"{self.unit}: {self.path} jumped by {much} ({wide}) after session {self.after}."
            remedy = "look at what happened then: a fall, a repair, another bench or supply"
            return finding("jumped", text, remedy, size=self.size, t=self.t)
        against = "over the time recorded" if self.kind == "time" else "over the temperatures recorded"
        text = f"{self.unit}: {self.path} changed by {much} ({wide}) {against}."
        remedy = "plan its replacement" if self.kind == "time" else "give the temperature, or a thermal model"
        return finding("drifts", text, remedy, size=self.size, t=self.t, rate=self.rate)


def changes(seen: Estimates, alarms: float = ALARMS) -> list[Change]:
    """Units that change, the surest first; one line for each number."""
    from scipy.stats import norm

    places = [at for at in _sessions(seen) if len(at) >= FEWEST]
    found = []
    for k, path in enumerate(seen.paths):
        wider = _repeatability(seen, places, k)
        for at in places:
            at = at[seen.told[at, k]]
            if len(at) < FEWEST:
                continue
            tries = list(_tries(seen, at, k, wider))
            if not tries:
                continue
            limit = float(norm.isf(alarms / (2 * len(tries) * len(seen.paths))))
            best = max(tries, key=lambda one: abs(one.t))
            if abs(best.t) > limit:
                found.append(best._replace(path=path))
    return sorted(found, key=lambda one: -abs(one.t))


def _sessions(seen: Estimates) -> Iterator[np.ndarray]:
    """The rows of each unit, in the order of time; of sessions without one, in that of their names."""
    names = np.array(seen.units)
    for unit in dict.fromkeys(seen.units):
        at = np.flatnonzero(names == unit)
        yield at[np.lexsort((np.array(seen.sessions)[at], np.nan_to_num(seen.time[at])))]


def _repeatability(seen: Estimates, places: list[np.ndarray], k: int) -> float:
    """By how much the variance of a session is more than its fit says: from the steps between neighbouring
    sessions of all units, whose median a few changing units do not move."""
    steps = []
    for at in places:
        x, v = seen.x[at, k], seen.V[at, k, k]
        steps.append(np.diff(x) ** 2 / (v[1:] + v[:-1]))
    together = np.concatenate(steps) if steps else np.zeros(0)
    return max(1.0, float(np.median(together)) / MIDDLE) if len(together) else 1.0


def _tries(seen: Estimates, at: np.ndarray, k: int, wider: float) -> Iterator[Change]:
    x, v = seen.x[at, k], wider * seen.V[at, k, k]
    unit, middle = seen.units[at[0]], _mean(x, v)[0]
    scale = Coordinate(bool(seen.signed[k]), float(seen.knee[k]))

    def share(size: float) -> float | None:
        before, after = (scale.outward(middle + side * size / 2) for side in (-1, 1))
        return None if scale.signed or before <= 0 else after / before - 1.0

    for kind, against, least, per in (
        ("time", seen.time[at], 0.0, YEAR),
        ("temperature", seen.temperature[at], LEAST_WARMING, 1.0),
    ):
        known = np.isfinite(against)
        span = float(np.ptp(against[known])) if known.sum() >= FEWEST else 0.0
        if span > least:
            slope, error = _line(against[known] / span, x[known], v[known])
            rate = slope / span * per
            yield Change(unit, "", kind, slope, error, slope / error, "", rate, share(slope))
    for n in range(2, len(at) - 1):
        (a, va), (b, vb) = (_mean(x[part], v[part]) for part in (slice(n), slice(n, None)))
        error = math.sqrt(va + vb)
        size, after = b - a, seen.sessions[at[n - 1]]
        yield Change(unit, "", "jump", size, error, size / error, after, 0.0, share(size))


def _mean(x: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    weight = 1.0 / v
    return float(np.sum(weight * x) / weight.sum()), float(1.0 / weight.sum())


def _line(t: np.ndarray, x: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """(slope, standard error) of a weighted line."""
    middle, _ = _mean(t, v)
    weight = 1.0 / v
    inertia = float(np.sum(weight * (t - middle) ** 2))
    return float(np.sum(weight * (t - middle) * x) / inertia), inertia**-0.5
