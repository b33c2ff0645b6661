"""Least squares through bench readings: coefficients with their covariance, a 95 % band, and outliers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidValue
from ..findings import Finding, finding
from ..physics.quantity import present
from ..physics.steady import coasting_speed
from ..statistics import FEWEST, lag_alike, long_run
from .measurement import FittedCurve, Measurement, PlotData, Readings, estimate, quantile, with_error

SUSPECT = 3.5
"""Robust standard deviations from which a reading is looked at."""
RARE = 0.003
"""Chance below which a suspect is an outlier. The rest, from which the far ones have been taken, looks
quieter than it is: clean sets of 5 to 20 readings have one called an outlier in 2 to 3 of 100."""
BENT = 0.003
"""Chance below which a bend is no chance."""
N_DRAWN = 101
"""Points of a drawn line."""


@dataclass(frozen=True, kw_only=True)
class LeastSquares:
    """y = A coefficients, as least squares has it."""

    A: np.ndarray
    y: np.ndarray
    coefficients: np.ndarray
    covariance: np.ndarray

    @property
    def spare(self) -> float:
        return float(self.A.shape[0] - self.A.shape[1])

    def of(self, k: int, name: str, unit: str, **words: Any) -> Measurement:
        """One of the coefficients as a measured number.

        Args:
            k: which of them.
            name: what the number is called.
            unit: of the coefficient.
            words: further fields of `Measurement`.

        Returns:
            The number, with the error that the readings leave it.
        """
        return estimate(name, unit, self.coefficients[k], self.covariance[k, k], self.spare, **words)


def half_band(J: np.ndarray, covariance: np.ndarray, spare: float) -> np.ndarray:
    """Half of the 95 % band around a line.

    Args:
        J: its slopes by the coefficients, a row for each point.
        covariance: of the coefficients.
        spare: readings beyond them.

    Returns:
        How far it reaches at each point, in the unit of the line.
    """
    return quantile(spare) * np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", J, covariance, J), 0.0))


def regress(A: np.ndarray, y: np.ndarray) -> LeastSquares:
    """Least squares; readings that do not determine the answer are refused."""
    size = np.maximum(np.abs(A).max(axis=0), 1e-300)  # columns of like size: conditions are honest
    try:
        with np.errstate(all="ignore"):
            unit, *_ = np.linalg.lstsq(A / size, y, rcond=None)
            residual = y - (A / size) @ unit
            squares = float(residual @ residual) / max(len(y) - A.shape[1], 1)
            covariance = squares * np.linalg.inv((A / size).T @ (A / size)) / np.outer(size, size)
            coefficients = unit / size
    except np.linalg.LinAlgError:
        covariance = coefficients = np.full(A.shape[1], np.nan)
    good = np.isfinite(coefficients).all() and np.isfinite(covariance).all()
    if not (good and (np.diag(covariance) >= 0).all()) or np.linalg.matrix_rank(A / size) < A.shape[1]:
        raise InvalidValue(
            "the readings do not determine the answer; expected ones that differ, of ordinary size, in the"
            " units that --help names"
        )
    return LeastSquares(A=A, y=y, coefficients=coefficients, covariance=covariance)


@dataclass(frozen=True, kw_only=True)
class Straight(LeastSquares):
    """y = slope x + intercept, or through the origin."""

    x: np.ndarray
    outliers: np.ndarray

    @property
    def slope(self) -> float:
        return float(self.coefficients[0])

    @property
    def intercept(self) -> float:
        return float(self.coefficients[1]) if len(self.coefficients) > 1 else 0.0

    def plot_data(self, x_label: str, y_label: str, label: str) -> PlotData:
        """The readings, the line from 0 on, and its band.

        Args:
            x_label: of the readings' places, with its unit.
            y_label: of what was read, with its unit.
            label: of the line.

        Returns:
            What to draw.
        """
        ends = [0.0, *self.x]
        x = np.linspace(min(ends), max(ends), N_DRAWN)
        A = _design(x, len(self.coefficients) == 1)
        y, low, high = A @ self.coefficients, None, None
        if self.spare > 0:
            far = half_band(A, self.covariance, self.spare)
            low, high = y - far, y + far
        read = Readings(x=self.x, y=self.y, outliers=self.outliers)
        line = FittedCurve(x=x, y=y, label=label, low=low, high=high)
        return PlotData(x_label=x_label, y_label=y_label, readings=(read,), curves=(line,))

    def outlier(self, k: int, name: str, unit: str) -> Finding | None:
        """Said where readings stand out: which, and what a coefficient would be without them.

        Args:
            k: which of them.
            name: what the number is called.
            unit: of the coefficient.

        Returns:
            The finding; None where none stands out.
        """
        if not self.outliers.any():
            return None
        kept = straight(self.x[~self.outliers], self.y[~self.outliers], origin=len(self.coefficients) == 1)
        bare = kept.of(k, name, unit)
        which = ", ".join(str(i + 1) for i in np.flatnonzero(self.outliers))
        several = "s" if self.outliers.sum() > 1 else ""
        text = (
            f"reading{several} {which} of {len(self.x)} stand{'' if several else 's'} apart from the others:"
            f" with {'them' if several else 'it'} {name} is"
            f" {with_error(float(self.coefficients[k]), math.sqrt(self.covariance[k, k]))} {unit}, without"
            f" {with_error(present(bare.value), bare.error)}."
        )
        numbers = {"without": present(bare.value), "first": float(np.flatnonzero(self.outliers)[0] + 1)}
        return finding("outlier", text, "take it again; leave it out if you know what went wrong", **numbers)

    def bend_finding(self, what: str, unit: str) -> Finding | None:
        """Said where readings follow a bend rather than the line, beyond chance: the error of a slope does
        not cover that."""
        from scipy.special import stdtr

        keep = ~self.outliers
        if keep.sum() < 6:
            return None
        x, y = self.x[keep], self.y[keep]
        try:
            fit = regress(np.column_stack([_design(x, len(self.coefficients) == 1), x * np.abs(x)]), y)
        except InvalidValue:
            return None
        error = math.sqrt(fit.covariance[-1, -1])
        t = abs(float(fit.coefficients[-1])) / max(error, 1e-12 * float(np.max(np.abs(y))))
        if 2.0 * stdtr(fit.spare, -t) > BENT:
            return None
        most = float(np.max(np.abs(y - self.A[keep] @ self.coefficients)))
        far = f"by up to {most:.2g} {unit}"
        text = f"{what} bends away from a line, {far}; the error of the slope does not cover that."
        remedy = "look at the plot; keep to the range that you will use, or fit a model that has the bend"
        return finding("not_a_line", text, remedy, most=most)


def straight(x: np.ndarray, y: np.ndarray, *, origin: bool = False) -> Straight:
    """A line through readings, the outliers among them marked; all of them count.

    Args:
        x: where was read, in any unit.
        y: what was read.
        origin: whether it goes through 0.

    Returns:
        The line with its covariance.

    Raises:
        InvalidValue: where the readings do not determine it.
    """
    fit = regress(_design(x, origin), y)
    fields = {k: getattr(fit, k) for k in ("A", "y", "coefficients", "covariance")}
    return Straight(**fields, x=x, outliers=_outliers(x, y, origin))


def _design(x: np.ndarray, origin: bool) -> np.ndarray:
    return x[:, None] if origin else np.stack([x, np.ones_like(x)], axis=1)


def _outliers(x: np.ndarray, y: np.ndarray, origin: bool) -> np.ndarray:
    """Readings that the others do not explain. Suspects are far from the line of medians (Theil and Sen),
    which a few wrong readings cannot turn; a suspect counts if the line of the rest misses it by more than
    chance allows for that many readings (Bonferroni)."""
    from scipy.special import stdtr

    n, p = len(x), 1 if origin else 2
    none = np.zeros(n, bool)
    if n < p + 3:
        return none
    if origin:
        seen = x != 0
        slope, level = (float(np.median(y[seen] / x[seen])), 0.0) if seen.any() else (0.0, 0.0)
    else:
        i, j = np.triu_indices(n, 1)
        apart = x[i] != x[j]
        slope = float(np.median((y[j] - y[i])[apart] / (x[j] - x[i])[apart]))
        level = float(np.median(y - slope * x))
    far = np.abs(y - slope * x - level)
    usual = max(1.4826 * float(np.median(far)), 1e-9 * float(np.max(np.abs(y))), 1e-300)
    suspects = far > SUSPECT * usual
    rest = ~suspects
    if not suspects.any() or rest.sum() < max(p + 2, n // 2 + 1):
        return none
    fit = regress(_design(x[rest], origin), y[rest])
    A, spare = _design(x, origin), fit.spare
    noise = float(np.sum((y[rest] - A[rest] @ fit.coefficients) ** 2)) / spare
    spread = noise + np.einsum("ij,jk,ik->i", A, fit.covariance, A)
    floor = (1e-9 * float(np.max(np.abs(y)))) ** 2
    t = np.abs(y - A @ fit.coefficients) / np.sqrt(spread + floor)
    return suspects & (2.0 * n * stdtr(spare, -t) < RARE)


@dataclass(frozen=True, kw_only=True)
class CurveFit:
    """y = function(t, *coefficients) by least squares; errors as alike from sample to sample as they are."""

    function: Callable[..., Any]
    t: np.ndarray
    y: np.ndarray
    coefficients: np.ndarray
    covariance: np.ndarray
    noise: float
    """Root mean square of what is left."""
    spare: float

    def of(self, k: int, name: str, unit: str) -> Measurement:
        """One of the coefficients as a measured number.

        Args:
            k: which of them.
            name: what the number is called.
            unit: of the coefficient.

        Returns:
            The number, with the error that the samples leave it.
        """
        return estimate(name, unit, self.coefficients[k], self.covariance[k, k], self.spare)

    def fitted_curve(self, label: str) -> FittedCurve:
        """The curve with its band, at the samples."""
        y = np.asarray(self.function(self.t, *self.coefficients))
        J = jacobian(lambda x: np.asarray(self.function(self.t, *x)), self.coefficients)
        far = half_band(J, self.covariance, self.spare)
        return FittedCurve(x=self.t, y=y, label=label, low=y - far, high=y + far)


def curve(function: Callable[..., Any], t: np.ndarray, y: np.ndarray, start: Any, **bounds: Any) -> CurveFit:
    """A curve through samples.

    Args:
        function: of the time and the coefficients.
        t: times of the samples [s], or what else they are over.
        y: the samples.
        start: coefficients to begin with.
        bounds: of scipy's `curve_fit`.

    Returns:
        The curve with its covariance.

    Raises:
        ValueError: where it finds none; also RuntimeError.
    """
    from scipy.optimize import curve_fit

    x = np.asarray(curve_fit(function, t, y, p0=start, maxfev=20000, **bounds)[0])
    J = jacobian(lambda c: np.asarray(function(t, *c)), x)
    residual = y - np.asarray(function(t, *x))
    covariance, spare = sandwich(J, residual)
    noise = float(np.sqrt(np.mean(residual**2)))
    return CurveFit(
        function=function, t=t, y=y, coefficients=x, covariance=covariance, noise=noise, spare=spare
    )


def rises(t: np.ndarray, y: np.ndarray, name: str) -> CurveFit:
    """A first-order rise or fall to an end.

    Args:
        t: from the step on [s].
        y: samples, in any unit.
        name: what a message calls them.

    Returns:
        A curve whose coefficients are start, end and time constant [s].

    Raises:
        InvalidValue: where they go to no end.
    """

    def rise(t: Any, start: float, end: float, T: float) -> Any:
        return coasting_speed(t, start, -end / T, 1.0 / T)  # the same equation as of a shaft that coasts

    end, start = float(np.mean(y[-max(len(y) // 10, 1) :])), float(y[0])
    reached = np.flatnonzero(np.abs(y - start) >= 0.632 * abs(end - start))
    T = max(float(t[reached[0]]) if len(reached) else t[-1] / 3, float(t[1]) / 5)
    try:
        return curve(rise, t, y, (start, end, T), bounds=([-np.inf, -np.inf, 1e-12], np.inf))
    except (ValueError, RuntimeError):
        raise InvalidValue(
            f"{name} does not go to an end: from {start:.3g} to {end:.3g}; expected a step response"
        ) from None


def jacobian(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """Central differences, a column for each number."""
    rows = []
    for k in range(len(x)):
        h = 1e-6 * max(abs(float(x[k])), 1e-9)
        e = h * np.eye(len(x))[k]
        rows.append((function(x + e) - function(x - e)) / (2.0 * h))
    return np.stack(rows, axis=1)


def sandwich(J: np.ndarray, residual: np.ndarray) -> tuple[np.ndarray, float]:
    """(covariance, samples to spare) of least squares whose errors stay alike for some samples (Newey and
    West); never less than if each were its own."""
    n, p = J.shape
    bread = np.linalg.pinv(J.T @ J)
    squares = float(residual @ residual)
    plain = squares / max(n - p, 1) * bread
    if n < FEWEST or squares == 0:
        return plain, float(max(n - p, 1))
    lag = lag_alike(residual)
    alike = bread @ long_run(J * residual[:, None], 2 * lag) @ bread * n / max(n - p, 1)
    # a fit eats part of slow errors: the same once more, were they those of a first-order filter whose
    # memory is as long as the residuals' own, put right for what a fit of p numbers takes from it
    seen = float(residual[1:] @ residual[:-1]) / squares
    rho = min(max(seen + (1.0 + (2 * p + 1) * max(seen, 0.0)) / n, 0.0), 0.99) if seen > 2 / n**0.5 else 0.0
    M = J.T @ _correlate(J, rho)
    spare = max(n * (1 - rho) / (1 + rho) - p, 1.0)
    left = max(n - float(np.trace(bread @ M)), 1.0)
    slow = squares / left * bread @ M @ bread
    widest = np.maximum(np.diag(alike), np.diag(slow))
    # a correlated error is wider in every direction that it touches; scaled, so that correlations stay
    wider = np.sqrt(np.maximum(widest / np.maximum(np.diag(plain), 1e-300), 1.0))
    return plain * np.outer(wider, wider), spare


def _correlate(J: np.ndarray, rho: float) -> np.ndarray:
    """Columns times the correlation rho^|i - j| of errors with a memory."""
    from scipy.signal import lfilter

    if rho == 0:
        return J
    ahead = lfilter([1.0], [1.0, -rho], J, axis=0)
    back = lfilter([1.0], [1.0, -rho], J[::-1], axis=0)[::-1]
    return np.asarray(ahead) + np.asarray(back) - J
