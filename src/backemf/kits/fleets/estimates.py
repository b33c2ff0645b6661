"""What the rows of a fleet say, as arrays: estimates and covariances on scales on which errors are even."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...errors import MissingValue
from ...statistics import Coordinate
from .work import FITTED, Row

MOST = 20_000
"""Units that a population is estimated from: of more, so many are drawn. The spread of 20,000 is known to
half a percent."""
UNTOLD = 1e8
"""Variance, in units of the usual one, of what a unit's logs do not tell."""
SEEN = 0.5
"""Share of the units whose logs must tell a parameter for it to be among those that are compared."""


class Estimates(NamedTuple):
    """Units by parameters."""

    paths: tuple[str, ...]
    units: tuple[str, ...]
    sessions: tuple[str, ...]
    x: np.ndarray
    """(units, parameters), on each parameter's own scale."""
    V: np.ndarray
    """(units, parameters, parameters): the covariance of its error; huge where the logs do not tell it."""
    told: np.ndarray
    """(units, parameters): whether the unit's own logs tell it."""
    knee: np.ndarray
    signed: np.ndarray
    above: tuple[str, ...]
    """The parameter that one stands on; empty where there is none."""
    unit: tuple[str, ...]
    """In which each is measured."""
    time: np.ndarray
    temperature: np.ndarray
    excess: np.ndarray
    """Logarithm of how much larger a unit's errors are than its noise."""
    left_out: tuple[str, ...] = ()
    """Parameters that too few units' logs tell."""

    @property
    def values(self) -> np.ndarray:
        """(units, parameters), each in its own unit."""
        made = np.empty_like(self.x)
        for k in sorted(range(len(self.paths)), key=lambda k: bool(self.above[k])):
            scale = Coordinate(bool(self.signed[k]), float(self.knee[k]))
            base = made[:, self.paths.index(self.above[k])] if self.above[k] else 0.0
            made[:, k] = base + np.array([scale.outward(x) for x in self.x[:, k]])
        return made

    def some(self, keep: np.ndarray) -> Estimates:
        """Those units."""
        at = np.flatnonzero(keep) if keep.dtype == bool else keep
        words = {"units": tuple(self.units[k] for k in at), "sessions": tuple(self.sessions[k] for k in at)}
        arrays = ("x", "V", "told", "time", "temperature", "excess")
        return self._replace(**words, **{name: getattr(self, name)[at] for name in arrays})


def estimates(rows: Iterable[Row], most: int = MOST, seed: int = 0) -> Estimates:
    """From the rows of a fleet; of more than `most`, a sample."""
    kept, rng = [], np.random.default_rng(seed)
    n = 0
    for row in rows:
        if row["state"] != FITTED:
            continue
        n += 1
        if len(kept) < most:
            kept.append(row)
        elif (k := int(rng.integers(n))) < most:
            kept[k] = row
    if not kept:
        raise MissingValue("no unit of the fleet was fitted; see `backemf fleet status`")
    count: dict[str, int] = {}
    for row in kept:
        for path, p in row["parameters"].items():
            count[path] = count.get(path, 0) + (p["told_by"] != "prior")
    paths = [path for path, times in count.items() if times >= max(SEEN * len(kept), 1)]
    if not paths:
        raise MissingValue("the logs of most units tell no parameter; see `told by` in a unit's fit")
    return _gathered(kept, paths, tuple(path for path in count if path not in paths))


def _gathered(rows: Sequence[Row], paths: Sequence[str], left_out: tuple[str, ...]) -> Estimates:
    n, p = len(rows), len(paths)
    x, V, told = np.full((n, p), np.nan), np.zeros((n, p, p)), np.zeros((n, p), bool)
    knee, signed, above, unit = np.zeros(p), np.zeros(p, bool), [""] * p, [""] * p
    for i, row in enumerate(rows):
        own, there = list(row["parameters"]), row["coordinates"]
        full = np.zeros((len(own), len(own)))
        full[np.tril_indices(len(own))] = there["covariance"]
        full = np.tril(full) + np.tril(full, -1).T
        at = [(own.index(path), k) for k, path in enumerate(paths) if path in own]
        at = [(j, k) for j, k in at if row["parameters"][own[j]]["told_by"] != "prior"]
        j, k = (np.array(side, int) for side in zip(*at, strict=True)) if at else (np.zeros(0, int),) * 2
        x[i, k], told[i, k] = np.array(there["x"])[j], True
        V[i][np.ix_(k, k)] = full[np.ix_(j, j)]
        for a, b in at:
            knee[b], signed[b] = there["knee"][a], there["signed"][a]
            above[b], unit[b] = there["above"][a], row["parameters"][own[a]]["unit"]
    usual = np.array([np.median(V[told[:, k], k, k]) for k in range(p)])
    middle = np.array([np.median(x[told[:, k], k]) for k in range(p)])
    x = np.where(told, x, middle)
    V[:, range(p), range(p)] = np.where(told, V[:, range(p), range(p)], UNTOLD * np.maximum(usual, 1e-12))
    noise = np.array([row["noise_floor"] for row in rows], float)
    misfit = np.array([row["training_mae"] or np.nan for row in rows], float)
    return Estimates(
        paths=tuple(paths),
        units=tuple(row["unit"] for row in rows),
        sessions=tuple(row["session"] for row in rows),
        x=x,
        V=V,
        told=told,
        knee=knee,
        signed=signed,
        above=tuple(a if a in paths else "" for a in above),
        unit=tuple(unit),
        time=np.array([_number(row.get("recorded")) for row in rows]),
        temperature=np.array([_number(row.get("temperature")) for row in rows]),
        excess=np.log(np.maximum(misfit, 1e-12) / np.maximum(noise, 1e-12)),
        left_out=left_out,
    )


def _number(x: float | None) -> float:
    return np.nan if x is None else float(x)
