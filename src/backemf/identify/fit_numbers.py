"""The numbers of a fit with their errors, intervals, and what tells them; the same of a bench, of a joint,
and of all joints of a robot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..physics.actuator import Actuator
from ..results.fit import BenchNumber, Fit, Fitted, Start
from .parameters import OPEN
from .problem import Problem
from .uncertainty import Uncertainty

if TYPE_CHECKING:
    from .plants.plant import Optimum, StartResult


def fit_of(
    optimum: Optimum,
    actuator: Actuator,
    parameters: Mapping[str, Fitted],
    correlation: np.ndarray,
    *,
    starts: Sequence[StartResult],
    **more: Any,
) -> Fit:
    """A fit of what an optimum says; logs, time and rungs are the caller's to add."""
    p = optimum.problem
    return Fit(
        actuator=actuator,
        parameters=parameters,
        correlation=correlation,
        noise_floor=float(p.sigma_noise[p.outputs.index("position")]) * math.sqrt(2 / math.pi),
        starts=tuple(map(start_of, starts)),
        substeps=p.substeps,
        cpu_s=0.0,
        friction=actuator.friction.name,
        **more,
    )


def start_of(end: StartResult) -> Start:
    """What the fit remembers of one start."""
    return Start(
        cost=end.cost, mae=end.mae, ended=end.ended, n_evaluations=end.n_evaluations, parameters=end.values
    )


def correlation_of(p: Problem, x: np.ndarray, uncertainties: Uncertainty, own: Sequence[int]) -> np.ndarray:
    """Between the errors of some of the free numbers, by their places."""
    T = p.free.slopes(x)
    covariance = (T @ uncertainties.covariance @ T.T)[np.ix_(own, own)]
    deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    return covariance / np.outer(deviation, deviation)


def fitted_numbers(p: Problem, x: np.ndarray, uncertainties: Uncertainty) -> dict[str, Fitted]:
    """Every free parameter with its error, its interval, and what tells it."""
    values = p.values(x)
    T = p.free.slopes(x)
    matrices = (uncertainties.covariance, uncertainties.if_right)
    errors, right = (np.sqrt(np.maximum(np.diag(T @ V @ T.T), 0.0)) for V in matrices)
    left = np.sqrt(np.maximum(np.diag(uncertainties.covariance), 0.0)) / p.free.prior()[1]
    fitted = {}
    for k, q in enumerate(p.free.parameters):
        if q.beside:
            continue
        value, stated = values[q.name], q.prior if q.stated else None
        if stated is not None and not q.signed:
            middle = q.outward(stated[0])
            stated = (p.free.base(k, values, p.fixed) + middle, q.slope(stated[0]) * stated[1])
        told = "prior" if left[k] > OPEN else "both" if q.stated and left[k] > 0.3 else "data"
        low, high = q.coordinate.interval(value, float(errors[k]), uncertainties.quantile)
        low_if_right, high_if_right = q.coordinate.interval(value, float(right[k]))
        most = p.actuator.traits(q.path)["most"]
        if most is not None:
            high, high_if_right = min(high, most), min(high_if_right, most)
        fitted[q.name] = Fitted(
            path=q.path,
            value=value,
            error=float(errors[k]),
            low=low,
            high=high,
            unit=q.unit,
            start=q.start,
            prior=stated,
            told_by=told,
            error_if_right=float(right[k]),
            low_if_right=low_if_right,
            high_if_right=high_if_right,
            knee=q.knee or 0.0,
        )
    return fitted


def bench_numbers_of(
    p: Problem, x: np.ndarray, covariance: np.ndarray | None = None
) -> tuple[BenchNumber, ...]:
    """What was found of the bench and the recording; without a covariance no errors are stated."""
    covariance = np.zeros((len(x), len(x))) if covariance is None else covariance
    values, T = p.values(x), p.free.slopes(x)
    errors = np.sqrt(np.maximum(np.diag(T @ covariance @ T.T), 0.0))
    rows = []
    for k, q in enumerate(p.free.parameters):
        if q.beside:
            middle = q.outward(q.prior[0])
            places = range(len(p.logs)) if q.logs is None else q.logs
            rows.append(
                BenchNumber(
                    path=q.path,
                    group=q.group,
                    stated=middle if q.stated else 0.0,
                    tolerance=q.slope(q.prior[0]) * q.prior[1],
                    value=values[q.name],
                    error=float(errors[k]),
                    unit=q.unit,
                    logs=tuple(p.logs[j].log.name for j in places),
                )
            )
    return tuple(rows)
