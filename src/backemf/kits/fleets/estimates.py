"""What the rows of a fleet say, as arrays: estimates and covariances on scales on which errors are even; and
what units have in common.

x_i = mu + u_i + e_i with u_i ~ N(0, S) from unit to unit, e_i ~ N(0, V_i) the error of its fit. Restricted
maximum likelihood gives S; every estimate is drawn towards mu by how little its own logs say. With
W_i = (S + V_i)^-1, A = sum W_i and r_i = x_i - mu, minus the restricted likelihood is
1/2 sum (log|S + V_i| + r_i' W_i r_i) + 1/2 log|A|, and its slope by S is
1/2 sum (W_i - W_i r_i r_i' W_i - W_i A^-1 W_i) (Patterson and Thompson, Biometrika 58, 1971).
"""

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
    """What the fitted rows of a fleet say, as arrays.

    Args:
        rows: of every unit.
        most: of more, so many are drawn.
        seed: of that draw.

    Returns:
        The parameters that the logs of enough units tell.

    Raises:
        MissingValue: no unit was fitted, or no parameter is told.
    """
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
    return _gather(kept, paths, tuple(path for path in count if path not in paths))


def _gather(rows: Sequence[Row], paths: Sequence[str], left_out: tuple[str, ...]) -> Estimates:
    n, p = len(rows), len(paths)
    x, V, told = np.full((n, p), np.nan), np.zeros((n, p, p)), np.zeros((n, p), bool)
    knee, signed, above, unit = np.zeros(p), np.zeros(p, bool), [""] * p, [""] * p
    for i, row in enumerate(rows):
        own, there = list(row["parameters"]), row["coordinates"]
        full, at = _covariance(row), _places(row, paths)
        j, k = np.array(at, int).reshape(-1, 2).T
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


def _covariance(row: Row) -> np.ndarray:
    """Of a fit's own numbers; a row keeps the lower half."""
    n = len(row["parameters"])
    full = np.zeros((n, n))
    full[np.tril_indices(n)] = row["coordinates"]["covariance"]
    return np.tril(full) + np.tril(full, -1).T


def _places(row: Row, paths: Sequence[str]) -> list[tuple[int, int]]:
    """(place in the row, place among the paths) of what its logs tell."""
    own = list(row["parameters"])
    told = [path for path, one in row["parameters"].items() if one["told_by"] != "prior"]
    return [(own.index(path), k) for k, path in enumerate(paths) if path in told]


def _number(x: float | None) -> float:
    return np.nan if x is None else float(x)


FEWEST = 3
"""Units from which on a spread can be told at all."""
QUANTILE = 1.96


class PopulationModel(NamedTuple):
    """The model over the fits, on each parameter's own scale."""

    mean: np.ndarray
    mean_covariance: np.ndarray
    S: np.ndarray
    """Covariance from unit to unit."""
    spread: np.ndarray
    """Its standard deviations."""
    spread_error: np.ndarray
    spread_low: np.ndarray
    spread_high: np.ndarray
    """Ends of their 95 % intervals."""
    correlation: np.ndarray
    correlation_error: np.ndarray
    n_units: int

    def predicted_covariance(self, V: np.ndarray) -> np.ndarray:
        """Covariance of an estimate whose error has the covariance V, about the mean."""
        return self.S + V + self.mean_covariance


def population_model(x: np.ndarray, V: np.ndarray, *, correlated: bool = True) -> PopulationModel:
    """What units have in common, and how they differ.

    Args:
        x: estimates, (units, parameters).
        V: covariances of their errors, (units, parameters, parameters).
        correlated: whether parameters may differ together; else each by itself.

    Returns:
        The model.

    Raises:
        MissingValue: there are too few units.
    """
    from scipy.optimize import minimize

    n, p = x.shape
    if n < FEWEST:
        raise MissingValue(f"{n} units tell no spread; expected at least {FEWEST}")
    correlated = correlated and n > p + 2
    middle, scale = _sizes(x, V)
    y, U = (x - middle) / scale, V / np.outer(scale, scale)
    where = np.tril_indices(p) if correlated else (np.arange(p), np.arange(p))

    def cost(free: np.ndarray) -> tuple[float, np.ndarray]:
        L = np.zeros((p, p))
        L[where] = free
        value, slope = _likelihood(L @ L.T, y, U)
        return value / n, (2.0 * slope @ L)[where] / n

    begin = np.diag(np.full(p, 0.8))[where] if correlated else np.full(p, 0.8)
    end = minimize(cost, begin, jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-11})
    L = np.zeros((p, p))
    L[where] = end.x
    S = L @ L.T
    W = np.linalg.inv(S + U)
    A = W.sum(axis=0)
    mean = np.linalg.solve(A, np.einsum("nij,nj->i", W, y))
    error, lines = _errors(S, W, correlated)
    spread = np.sqrt(np.maximum(np.diag(S), 1e-24))
    low, high = _interval(np.diag(S), error)
    R = S / np.outer(spread, spread)
    return PopulationModel(
        mean=middle + scale * mean,
        mean_covariance=np.linalg.inv(A) * np.outer(scale, scale),
        S=S * np.outer(scale, scale),
        spread=spread * scale,
        spread_error=np.minimum(error / (2 * spread), np.sqrt(error)) * scale,
        spread_low=low * scale,
        spread_high=high * scale,
        correlation=R,
        correlation_error=lines,
        n_units=n,
    )


def shrink(model: PopulationModel, x: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Units drawn towards the mean, each by how little its logs say.

    Args:
        model: of all units.
        x: their estimates, (units, parameters).
        V: covariances of their errors.

    Returns:
        (estimates, standard errors), both (units, parameters).
    """
    gain = model.S @ np.linalg.inv(model.S + V)
    drawn = model.mean + np.einsum("nij,nj->ni", gain, x - model.mean)
    rest = np.eye(len(model.S)) - gain
    left = model.S - gain @ model.S + rest @ model.mean_covariance @ rest.transpose(0, 2, 1)
    return drawn, np.sqrt(np.maximum(np.diagonal(left, axis1=1, axis2=2), 0.0))


UNKNOWN_SHARE = 1e4
"""Variance, in units of a well-told one, from which on a unit says nothing of a number."""


def _sizes(x: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The middle of each coordinate, and the size of its differences: on these all are of the order of 1."""
    v = np.diagonal(V, axis1=1, axis2=2)
    told = v <= UNKNOWN_SHARE * np.quantile(v, 0.1, axis=0)
    x, v = np.where(told, x, np.nan), np.where(told, v, np.nan)
    middle, own = np.nanmedian(x, axis=0), np.nanmedian(v, axis=0)
    off = 1.4826 * np.nanmedian(np.abs(x - middle), axis=0)
    return middle, np.sqrt(np.maximum(off**2 - own, 0.05 * np.maximum(off**2, own)) + 1e-24)


def _likelihood(S: np.ndarray, x: np.ndarray, V: np.ndarray) -> tuple[float, np.ndarray]:
    """Minus the restricted likelihood, and its slope by S."""
    total = S + V
    W = np.linalg.inv(total)
    A = W.sum(axis=0)
    mean = np.linalg.solve(A, np.einsum("nij,nj->i", W, x))
    r = x - mean
    Wr = np.einsum("nij,nj->ni", W, r)
    value = np.linalg.slogdet(total)[1].sum() + np.sum(r * Wr) + np.linalg.slogdet(A)[1]
    slope = A - Wr.T @ Wr - np.einsum("nij,jk,nkl->il", W, np.linalg.inv(A), W)
    return 0.5 * float(value), 0.5 * slope


def _errors(S: np.ndarray, W: np.ndarray, correlated: bool) -> tuple[np.ndarray, np.ndarray]:
    """Standard errors of the variances, and of the correlations, from the expected information:
    1/2 sum tr(W dS_a W dS_b)."""
    p = len(S)
    pairs = [(i, j) for i in range(p) for j in range(i + 1)] if correlated else [(i, i) for i in range(p)]
    pulls = np.zeros((len(pairs), p, p))
    for a, (i, j) in enumerate(pairs):
        pulls[a, i, j] = pulls[a, j, i] = 1.0
    twice = np.einsum("nij,nkl->ijkl", W, W, optimize=True)
    information = 0.5 * np.einsum("ijkl,ajk,bli->ab", twice, pulls, pulls, optimize=True)
    covariance = np.linalg.pinv(information, hermitian=True)
    variance = np.array([covariance[a, a] for a, (i, j) in enumerate(pairs) if i == j])
    of_correlation = np.zeros((p, p))
    if correlated:
        place = {pair: a for a, pair in enumerate(pairs)}
        sd = np.sqrt(np.maximum(np.diag(S), 1e-24))
        for (i, j), a in place.items():
            if i == j:
                continue
            rho = S[i, j] / (sd[i] * sd[j])
            slope = np.zeros(len(pairs))
            slope[a] = 1.0 / (sd[i] * sd[j])
            slope[place[i, i]], slope[place[j, j]] = -0.5 * rho / sd[i] ** 2, -0.5 * rho / sd[j] ** 2
            of_correlation[i, j] = of_correlation[j, i] = min(np.sqrt(slope @ covariance @ slope), 1.0)
    return np.sqrt(np.maximum(variance, 0.0)), of_correlation


def _interval(variance: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95 % intervals of the standard deviations: as of a chi-square with the degrees of freedom that give the
    variance its error (Satterthwaite, Biometrics Bulletin 2, 1946); down to 0 where it is not told from 0."""
    from scipy.stats import chi2

    freedom = np.maximum(2.0 * variance**2 / np.maximum(error**2, 1e-300), 0.05)
    low = np.sqrt(variance * freedom / chi2.ppf(0.975, freedom))
    high = np.sqrt(variance * freedom / np.maximum(chi2.ppf(0.025, freedom), 1e-12))
    beyond = np.sqrt(variance + QUANTILE * error)
    sure = variance > QUANTILE * error
    return np.where(sure, low, 0.0), np.where(sure, high, beyond)
