"""From logs to a model you can trust: multi-start least squares with an observer homotopy, priors,
and errors that hold."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.fit import Fit, Fitted, FittedLog, Start
from ..data.log import Log, actuator_and_logs
from ..data.sheets.datasheet import Datasheet
from ..errors import InvalidValue, MissingValue
from ..model.actuator import Actuator
from ..model.quantity import parameters
from .check import OPEN, with_some_inertia
from .fit_findings import of_errors, of_pairs, of_parameters, of_search
from .free import Parameter, default_paths, free, priors, sized, spread
from .frictions import with_friction
from .optimize import STAGES, Minimum, Progress, homotopy, levenberg_marquardt
from .residual import Problem, fitted_drive, mean_absolute_errors, problem
from .select import split
from .uncertainty import Uncertainty, correlation_time, uncertainty

N_STARTS = 6
SAME = 2e-3
"""Relative difference of cost up to which two starts count as having found the same minimum."""
GRAVITY_ERROR = 0.015
"""How much gravity differs from place to place [m/s^2] (World Geodetic System 1984:
9.780 at the equator, 9.832 at the poles)."""


def fit(
    actuator: Actuator,
    logs: Sequence[Log],
    *,
    free_paths: Sequence[str] | None = None,
    prior: Datasheet | Mapping[str, tuple[float, float]] | None = None,
    hold_out: Any = None,
    friction: str | None = None,
    also: Sequence[str] = (),
    delay: bool = False,
    offset: bool = True,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    n_starts: int = N_STARTS,
    within: float = 3.0,
    substeps: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Fit:
    """Fit an actuator to logs.

    free_paths  parameters to free, by path; without it winding, rotor inertia, friction, and whatever the
                logs call for
    also        further parameters to free beside those
    prior       a datasheet, or path -> (value, standard error): combinations the data leaves open stay there
    hold_out    logs to judge on and not to fit: {"gain": 8}, {"length": 0.07}, log names, or a function of a
                log
    friction    another friction model to start with ("m4", "lugre", ...)
    delay       also find a delay of the command
    offset      on a pendulum, also find the position at which the arm hangs
    within      further starts lie within this factor of the first
    """
    begun = time.process_time()
    if friction is not None:
        actuator = with_friction(actuator, friction)
    actuator, logs = actuator_and_logs("fit", actuator, logs)
    for name, given, least in (("seed", seed, 0), ("n_starts", n_starts, 1)):
        if given < least:
            raise InvalidValue(f"{name} is {given}; expected {least} or more")
    training, judged = split(logs, hold_out)
    p, guessed = _problem(actuator, training, free_paths, also, prior, bounds, delay, offset, substeps)
    ends, interrupted = _starts(p, p.first, n_starts, within, np.random.default_rng(seed), progress)
    best = min(ends, key=lambda m: m.cost)
    if not math.isfinite(best.cost):
        raise InvalidValue(
            "the simulation is not finite from any start; check the actuator's numbers and the logs' units"
        )
    p, best = _polish(p, best)
    sure = uncertainty(p, best.x)
    fitted = _fitted(p, best.x, sure)
    errors, held = mean_absolute_errors(p, best.x), _held_out(p, best.x, judged)
    deviation = np.sqrt(np.diag(sure.covariance))
    correlation = sure.covariance / np.outer(deviation, deviation)
    times_noise = sure.scatter * float(p.sigma[0] / p.sigma_noise[0])
    findings = (
        *of_parameters(p, best.x, fitted),
        *of_pairs(p.free.paths, correlation),
        *of_errors(errors, held, times_noise),
        *of_search(guessed, interrupted),
    )
    return Fit(
        actuator=p.actuator_at(best.x),
        parameters=fitted,
        training=errors,
        held_out=held,
        noise_floor=float(p.sigma_noise[p.outputs.index("position")]) * math.sqrt(2 / math.pi),
        findings=findings,
        starts=tuple(_start(p, m) for m in ends),
        correlation=correlation,
        substeps=p.substeps,
        seed=seed,
        cpu_s=time.process_time() - begun,
        friction=p.actuator.friction.name,
        logs=tuple(FittedLog.of(log) for log in logs),
    )


def _start(p: Problem, end: Minimum) -> Start:
    """What the fit remembers of one start."""
    mae = math.inf
    if math.isfinite(end.cost):
        mae = float(np.mean(list(mean_absolute_errors(p, end.x).values())))
    values = p.free.to_values(end.x, p.fixed)
    return Start(cost=end.cost, mae=mae, ended=end.ended, n_evaluations=end.n_evaluations, parameters=values)


def _problem(
    actuator: Actuator,
    logs: Sequence[Log],
    free_paths: Sequence[str] | None,
    also: Sequence[str],
    prior: Any,
    bounds: Any,
    delay: bool,
    offset: bool,
    substeps: int | None,
) -> tuple[Problem, bool]:
    actuator, guessed = fitted_drive(actuator, logs)
    if delay and not actuator.drive.delay:
        step = float(np.median(np.concatenate([np.diff(log.time) for log in logs])))
        actuator = replace(actuator, drive=replace(actuator.drive, delay=0.5 * step))
    if actuator.motor.rotor_inertia == 0.0:
        actuator = with_some_inertia(actuator, logs)
    usual = free_paths is None
    wanted = default_paths(actuator) if free_paths is None else list(free_paths)
    more = [*(["drive.firmware_gain"] if guessed and usual else []), *also]
    more += ["drive.delay"] if delay else []
    wanted += [path for path in dict.fromkeys(more) if path not in wanted]
    stated = priors(actuator, prior)
    extra = {"bench.hanging": 0.0} if "bench.hanging" in wanted else {}
    if usual and offset and all(log.bench is not None and log.bench.hangs for log in logs):
        arms = [parameters(log.bench) for log in logs]
        extra["bench.hanging"] = 0.0
        if len({arm["gravity"] for arm in arms}) == 1:
            # Gravity is 9.78 to 9.83 m/s^2 depending on the place, and a swinging arm shows it.
            extra["bench.gravity"] = arms[0]["gravity"]
            stated.setdefault("bench.gravity", (arms[0]["gravity"], GRAVITY_ERROR))
        if not any(arm["arm_mass"] for arm in arms):
            # Nobody weighed the arm; it is found along, starting from next to nothing.
            extra["bench.arm_mass"] = 0.03 * min(arm["mass"] for arm in arms)
    wanted += [path for path in extra if path not in wanted]
    actuator = sized(actuator, wanted)
    if not wanted:
        raise MissingValue("no parameter is free; name at least one")
    numbers = free(actuator, wanted, extra, prior=stated, bounds=bounds)
    hanging = "bench.hanging" in extra
    return problem(actuator, logs, numbers, substeps=substeps, hanging=hanging), guessed


def _starts(
    p: Problem, first: np.ndarray, n: int, within: float, rng: np.random.Generator, progress: Progress | None
) -> tuple[list[Minimum], bool]:
    """Optimise from several starts; stop early once two agree on the best,
    or the noise explains everything."""
    ends: list[Minimum] = []
    noise_cost = 0.5 * p.n_measured
    try:
        for k in range(n):
            x = first if k == 0 else spread(p.free, within, rng, first)

            def note(text: str, cost: float, share: float, k: int = k) -> None:
                if progress is not None:
                    progress(f"start {k + 1} of {n}, {text}", cost, (k + share) / n)

            ends.append(homotopy(p, x, stages=_stages(p), note=note))
            best = min(m.cost for m in ends)
            agree = sum(m.cost <= best * (1 + SAME) for m in ends)
            if agree >= 3 or (agree >= 1 and best <= 1.1 * noise_cost):
                break
    except KeyboardInterrupt:
        if not ends:
            raise
        return ends, True
    return ends, False


def _stages(p: Problem) -> tuple[float, ...]:
    """Observer bandwidths that the sampling allows: a pull faster than the samples would only copy them."""
    step = float(np.median(p.batch.dt[p.batch.dt > 0]))
    fitting = tuple(b for b in STAGES if b * step < 0.4)
    return fitting if len(fitting) > 2 else (0.4 / step, 0.13 / step, 0.04 / step, 0.0)


def _polish(p: Problem, best: Minimum) -> tuple[Problem, Minimum]:
    """Settle with finer steps; then weigh the data by the scatter and correlation it really has, and large
    errors less.

    Where the model cannot follow the recording, errors are larger than the noise and last for many samples;
    taken at the weight of independent noise they would drown every prior.
    """
    p = replace(p, substeps=2 * p.substeps)  # the search was coarse; what is reported is not
    finer = levenberg_marquardt(p, best.x, most=12, tolerance=1e-6)
    best = finer if math.isfinite(finer.cost) else best
    errors, _ = p.sensitivities(best.x)
    k = p.outputs.index("position")
    scatter = [float(np.nanmedian(np.abs(e))) if np.isfinite(e).any() else 0.0 for e in errors.T]
    scale = np.maximum(1.4826 * np.array(scatter), 1.0)
    if np.all(scale < 1.3):
        return p, best
    alike = float(np.median([correlation_time(np.nan_to_num(e[:, k])) for e in p.batch.split(errors)]))
    q = replace(p, sigma=p.sigma * scale * math.sqrt(alike))
    q.sigma_noise = p.sigma_noise
    again = levenberg_marquardt(q, best.x, robust=1.5 / math.sqrt(alike), most=60)
    return (q, again) if math.isfinite(again.cost) else (p, best)


def _fitted(p: Problem, x: np.ndarray, sure: Uncertainty) -> dict[str, Fitted]:
    """Every free parameter with its error, its interval, and what tells it."""
    values = p.free.to_values(x, p.fixed)
    T = p.free.slopes(x)
    variance = np.diag(T @ sure.covariance @ T.T)
    left = np.sqrt(np.diag(sure.covariance)) / p.free.prior()[1]
    fitted = {}
    for k, q in enumerate(p.free.parameters):
        value, error = values[q.path], math.sqrt(max(variance[k], 0.0))
        stated = q.prior if q.stated else None
        if q.signed:
            low, high = value - 1.96 * error, value + 1.96 * error
        else:
            low, high = _interval(q, value, error)
            if stated is not None:
                middle = q.outward(stated[0])
                stated = (p.free.base(q, values, p.fixed) + middle, q.slope(stated[0]) * stated[1])
        told = "prior" if left[k] > OPEN else "both" if q.stated and left[k] > 0.3 else "data"
        fitted[q.path] = Fitted(
            path=q.path,
            value=value,
            error=error,
            low=low,
            high=high,
            unit=q.unit,
            start=q.start,
            prior=stated,
            told_by=told,
        )
    return fitted


def _interval(q: Parameter, value: float, error: float) -> tuple[float, float]:
    """95 % of a positive number: in its own coordinate, and one-sided where that reaches 0."""
    if q.knee is None:
        far = 1.96 * min(error / max(value, 1e-300), 50.0)
        return value * math.exp(-far), value * math.exp(far)
    far = 1.96 * min(error / (q.knee + value), 50.0)
    return max((q.knee + value) * math.exp(-far) - q.knee, 0.0), (q.knee + value) * math.exp(far) - q.knee


def _held_out(p: Problem, x: np.ndarray, logs: Sequence[Log]) -> dict[str, float]:
    """Errors on logs the fit never saw; nothing is fitted on them, offsets included."""
    if not logs:
        return {}
    hanging = "bench.hanging" in p.free.paths
    q = problem(p.actuator, logs, p.free, outputs=p.outputs, substeps=p.substeps, hanging=hanging)
    return mean_absolute_errors(q, x)
