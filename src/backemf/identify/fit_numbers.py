"""The numbers of a fit with their errors, intervals, and what tells them, the same of a bench, of a joint and
of all joints of a robot; and what stands against them, each with its remedy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..findings import Finding, finding
from ..physics.actuator import Actuator
from ..results.fit_result import BenchNumber, Fit, FittedParameter, Start
from .parameters import OPEN
from .problem import Problem
from .uncertainty import Uncertainty

if TYPE_CHECKING:
    from .plants.plant import Optimum, StartResult


def fit_of(
    optimum: Optimum,
    actuator: Actuator,
    parameters: Mapping[str, FittedParameter],
    correlation: np.ndarray,
    *,
    starts: Sequence[StartResult],
    **more: Any,
) -> Fit:
    """A fit of what an optimum says; logs, time and rungs are the caller's to add.

    Args:
        optimum: with the problem that it solves.
        actuator: as found.
        parameters: its fitted numbers by path.
        correlation: between their errors, in their order.
        starts: where each start ended.
        more: further fields of `Fit`.

    Returns:
        The fit, its time still 0.
    """
    p = optimum.problem
    return Fit(
        actuator=actuator,
        parameters=parameters,
        correlation=correlation,
        noise_floor=noise_floor(p),
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
    """Correlation between the errors of some of the free numbers.

    Args:
        p: the problem.
        x: its optimum.
        uncertainties: of x.
        own: places of the numbers that are wanted.

    Returns:
        A row and a column for each of them, in their own units.
    """
    T = p.free.slopes(x)
    covariance = (T @ uncertainties.covariance @ T.T)[np.ix_(own, own)]
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    told = np.outer(deviation, deviation) > 0
    matrix = np.divide(covariance, np.outer(deviation, deviation), out=np.eye(len(own)), where=told)
    return np.clip(matrix, -1.0, 1.0)


def fitted_numbers(p: Problem, x: np.ndarray, uncertainties: Uncertainty) -> dict[str, FittedParameter]:
    """Every free parameter of the actuators with its error, its interval, and what tells it.

    Args:
        p: the problem.
        x: its optimum.
        uncertainties: of x.

    Returns:
        The numbers by name, without those of bench and recording.
    """
    values = p.values(x)
    T = p.free.slopes(x)
    matrices = (uncertainties.covariance, uncertainties.if_right)
    errors, right = (np.sqrt(np.maximum(np.diag(T @ V @ T.T), 0.0)) for V in matrices)
    left = uncertainties.share_left(p.free)
    fitted = {}
    for k, q in enumerate(p.free.parameters):
        if q.beside:
            continue
        value, stated = values[q.name], q.prior if q.stated else None
        if stated is not None and not q.signed:
            middle = q.outward(stated[0])
            stated = (p.free.base(k, values, p.fixed) + middle, q.slope(stated[0]) * stated[1])
        told = "prior" if left[k] > OPEN else "both" if q.stated and left[k] > 0.3 else "data"
        low, high = q.coordinate.interval(value, float(errors[k]))
        low_if_right, high_if_right = q.coordinate.interval(value, float(right[k]))
        traits, ends = p.actuator.traits(q.path), (low, high, low_if_right, high_if_right)
        if (traits["least"], traits["most"]) != (None, None):
            low, high, low_if_right, high_if_right = np.clip(ends, traits["least"], traits["most"]).tolist()
        fitted[q.name] = FittedParameter(
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
    """What was found of the bench and the recording.

    Args:
        p: the problem.
        x: its optimum.
        covariance: of x; without it no errors are stated.

    Returns:
        One for each free number that is not the actuator's.
    """
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


TIED = 0.98
"""Correlation from which on two parameters are only known together."""
NOISES = 3.0
"""Times the recording's noise from which on errors are the model's."""


def of_parameters(
    p: Problem, x: np.ndarray, fitted: Mapping[str, FittedParameter], causes: Sequence[Finding]
) -> Iterator[Finding]:
    """Parameters at a bound, left where they were, or away from what was stated.

    Args:
        p: the problem.
        x: its optimum.
        fitted: the numbers there, by name.
        causes: what has been named already; then no sheet is blamed.

    Yields:
        One finding for each such parameter.
    """
    low, high = p.free.bounds()
    for k, q in enumerate(p.free.parameters):
        if q.beside:
            continue
        one = fitted[q.name]
        value = f"{one.value:.4g} {q.unit}"
        if x[k] >= high[k] - 1e-6 or (q.signed and x[k] <= low[k] + 1e-6):
            text = f"{q.path} ended at its bound, {value}."
            yield finding("at_bound", text, "widen its bounds, or fix it", value=one.value)
        away = one.prior is not None and abs(one.value - one.prior[0]) > 3 * math.hypot(
            one.error, one.prior[1]
        )
        if away and one.prior is not None and not causes:
            stated, error = one.prior
            text = (
                f"{q.path} is {one.value:.4g} by the logs and {stated:.4g} +- {error:.2g} {q.unit} by the"
                " sheet."
            )
            remedy = "trust the logs for this unit; check the sheet's conditions"
            yield finding("sheet_disagrees", text, remedy, fitted=one.value, sheet=stated)
        elif one.told_by == "prior" and not away:
            stated = "" if one.prior is None else f" (stated: {one.prior[0]:.4g} +- {one.prior[1]:.2g})"
            text = (
                f"these logs hardly tell {q.path}: {value}{stated}, and anything from {one.low:.3g} to"
                f" {one.high:.3g} would do."
            )
            yield finding("not_identifiable", text, "see `backemf check` for what to record", value=one.value)


def of_pairs(paths: Sequence[str], correlation: np.ndarray) -> Iterator[Finding]:
    """Parameters that move together; the first five pairs."""
    tied = [(i, j) for i in range(len(paths)) for j in range(i) if abs(correlation[i, j]) > TIED]
    for i, j in tied[:5]:
        text = (
            f"{paths[j]} and {paths[i]} move together (correlation {correlation[i, j]:.3f}): their"
            " combination is known better than either."
        )
        remedy = "fix one, give a prior, or record what separates them"
        yield finding("correlated", text, remedy, correlation=float(correlation[i, j]))


def noise_floor(p: Any) -> float:
    """The mean absolute error of position that noise alone would leave in a problem's logs [rad or m]."""
    return float(p.sigma_noise[p.outputs.index("position")]) * math.sqrt(2 / math.pi)


def of_errors(
    training: Mapping[str, float], held: Mapping[str, float], times_noise: float, floor: float = 0.0
) -> Iterator[Finding]:
    """Errors on logs that were held out, and errors beyond the recording's noise.

    Args:
        training: mean absolute errors by fitted log [rad or m].
        held: the same of the logs held out.
        times_noise: how many times the noise the errors are.
        floor: mean absolute error that noise alone would leave [rad or m]: then what is told is how many
            times it the errors are that the verdict is about, those of logs held out where there are any.

    Yields:
        Up to two findings.
    """
    ratio = float(np.mean(list(held.values())) / np.mean(list(training.values()))) if held else None
    if ratio is not None and ratio > 1.5:
        text = f"the error on held-out logs is {ratio:.2g} times that on the fitted ones."
        remedy = "fit logs that cover these conditions too"
        yield finding("worse_held_out", text, remedy, ratio=ratio)
    if times_noise > NOISES:
        judged = list((held or training).values())
        times_noise = float(np.mean(judged)) / floor if floor > 0 and judged else times_noise
        text = f"errors are {times_noise:.2g} times the noise of the recording: the model misses something."
        remedy = (
            "let `--friction ladder` compare friction models on logs that are held out: it keeps what helps"
        )
        yield finding("model_error", text, remedy, ratio=times_noise)


def of_search(guessed: bool, interrupted: bool, positive: bool = True) -> Iterator[Finding]:
    """A firmware gain that nobody printed, a search that did not end by itself, and an end that is no
    minimum.

    Args:
        guessed: whether the firmware's gain is a guess.
        interrupted: whether the user stopped the search.
        positive: whether the curvature where it ended is that of a minimum.

    Returns:
        A finding for each.
    """
    if not positive:
        text = "where the search ended the simulation runs away: the errors are what was believed before."
        yield finding("no_errors", text, "leave out logs that are not followed, or free fewer numbers")
    if guessed:
        yield finding(
            "firmware_gain_fitted",
            "nobody printed this servo's firmware gain; it was fitted along, from a usual value.",
            "measure it with an oscilloscope (`backemf measure firmware-gain`): it and K/R act alike where"
            " the voltage is not at its limit",
        )
    if interrupted:
        text = "the search was interrupted; this is the best so far."
        yield finding("interrupted", text, "let it run for all starts")


def absolute_errors(p: Problem, errors: Sequence[np.ndarray], joint: str) -> dict[str, float]:
    """Mean absolute error of one joint's position by recording [rad or m].

    Args:
        p: the problem.
        errors: of each of its logs.
        joint: its name.

    Returns:
        By recording.
    """
    return {p.logs[k].recording: float(np.nanmean(np.abs(errors[k]))) for k in p.places_of(joint)}


def mean_by_log(joints: Mapping[str, Fit], which: str) -> dict[str, float]:
    """Mean absolute error over the joints, by recording [rad or m].

    Args:
        joints: their fits.
        which: "training" or "held_out".

    Returns:
        By recording.
    """
    rows: dict[str, list[float]] = {}
    for fit in joints.values():
        for log, error in getattr(fit, which).items():
            rows.setdefault(log, []).append(error)
    return {log: float(np.mean(errors)) for log, errors in rows.items()}
