"""From logs to a model you can trust: multi-start least squares with an observer homotopy, priors,
a bench that may be a little wrong, and errors that hold."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..datasheets.datasheet import Datasheet
from ..engine.population import check_place
from ..engine.rows import DELAY
from ..errors import InvalidValue
from ..findings import Finding
from ..logs.benches import bench_name
from ..logs.log import Log, actuator_and_logs
from ..options import takes
from ..physics.actuator import Actuator
from ..results.fit import BenchNumber, Fit, Fitted, FittedLog, Start
from . import bench_numbers as numbers
from .causes import causes
from .check import OPEN, inspection
from .fit_findings import NOISES, of_errors, of_pairs, of_parameters, of_search
from .free import Free
from .frictions import law, with_friction
from .inspect.faults import jumps_of
from .inspect.remedies import UNDERSTOOD, merged
from .optimize import levenberg_marquardt
from .options import LADDER, N_STARTS, FitOptions, SearchCache
from .residual import Problem, mean_absolute_errors, problem
from .search import Asked, Climb
from .select import split
from .settle import Ended
from .uncertainty import Uncertainty, inverse, uncertainty

SEARCHED = (
    *("free_paths", "also", "prior", "bounds", "delay", "offset", "tolerances", "substeps"),
    *("n_starts", "within", "seed", "on"),
)
"""Options that the search itself takes."""


def run_fit(actuator: Any, logs: Sequence[Log], options: FitOptions, cache: SearchCache | None = None) -> Fit:
    """Fit an actuator to logs; or every joint of a robot, where the logs are a robot's.

    Args:
        actuator: where the search starts; of a robot also parts by pattern of joint names,
            {".*": "sts3215-12v"}, or "torque" for motors that nobody knows.
        logs: recordings of one bench or several, or of one robot.
    """
    several = [logs] if isinstance(logs, Log) else list(logs) if isinstance(logs, Iterable) else []
    if any(isinstance(log, Log) and log.joints for log in several):
        from .joints.fit import fit_robot

        options.check("robot")
        return fit_robot(actuator, several, options)
    actuator, logs = actuator_and_logs("fit", actuator, logs)
    options.check("bench", carried_by(logs))
    if options.friction == LADDER:
        from .ladder import ladder

        names = (*SEARCHED, "hold_out", "apply", "progress")
        return ladder(actuator, logs, **{name: getattr(options, name) for name in names}).fit
    return _fit_bench(actuator, logs, options, cache or SearchCache())


def carried_by(logs: Sequence[Log]) -> str:
    """What these logs are of, in a word: the kind of their bench."""
    benches = [log.bench for log in logs if log.bench is not None]
    return bench_name(benches[0]) if benches else "bench"


fit = takes(FitOptions)(run_fit)


def _fit_bench(actuator: Actuator, logs: Sequence[Log], options: FitOptions, cache: SearchCache) -> Fit:
    """The fit of one actuator."""
    free_paths, prior, friction, seed = options.free_paths, options.prior, options.friction, options.seed
    apply, inspect, progress = options.apply, options.inspect, options.progress
    climb, looked = cache.climb, cache.looked
    begun = time.process_time()
    start = actuator
    if friction is not None and law(friction) != actuator.friction.name:
        actuator = with_friction(actuator, friction)
    faults: list[Finding] = []
    sound = True
    if inspect:
        if looked is None:
            _, looked = inspection(actuator, logs, free_paths, prior)
        logs = looked.mended if apply else looked.logs
        faults = [f for log in looked.logs for f in log.findings if f.code == UNDERSTOOD]
        faults = merged([*faults, *(() if apply else looked.findings)])
        sound = not looked.findings or (apply and not looked.open)
    training, judged = split(logs, options.hold_out)
    if climb is None:
        climb = climb_of(start, training, **{name: getattr(options, name) for name in SEARCHED})
        climb.begin = cache.begin
    found = climb.to(actuator.friction.name, progress)
    if not math.isfinite(found.best.cost):
        raise InvalidValue(
            "the simulation is not finite from any start; check the actuator's numbers and the logs' units"
        )
    p, best, robust = climb.settled(actuator.friction.name, progress)
    rigs = [numbers.words(one.log.bench) for one in p.logs if one.log.bench is not None]
    settings = [tuple(sorted(one.log.settings.items())) for one in p.logs]
    sure = uncertainty(p, best.x, robust=robust, groupings=(rigs, settings))
    fitted, of_bench = fitted_numbers(p, best.x, sure), _bench(p, best.x, sure.covariance)
    errors = mean_absolute_errors(p, best.x)
    held, read = _held_out(p, best.x, judged, of_bench)
    T, own = p.free.slopes(best.x), [k for k, q in enumerate(p.free.parameters) if not q.beside]
    covariance = (T @ sure.covariance @ T.T)[np.ix_(own, own)]
    deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance / np.outer(deviation, deviation)
    times_noise = sure.scatter * float(p.sigma[0] / p.sigma_noise[0])
    wrong = (
        list(causes(p, best.x, robust)) if sound and inspect else []
    )  # no bench is blamed for a faulty recording
    findings = (
        *faults,
        *wrong,
        *of_parameters(p, best.x, fitted, wrong),
        *of_pairs(tuple(fitted), correlation),
        *(merged(jumps_of(training)) if inspect and times_noise > NOISES else ()),
        *of_errors(errors, held, times_noise),
        *of_search(found.guessed, found.interrupted),
    )
    return Fit(
        actuator=p.actuator_at(best.x),
        parameters=fitted,
        training=errors,
        held_out=held,
        noise_floor=float(p.sigma_noise[p.outputs.index("position")]) * math.sqrt(2 / math.pi),
        findings=findings,
        starts=tuple(_start(m) for m in found.ends),
        correlation=correlation,
        substeps=p.substeps,
        seed=seed,
        cpu_s=time.process_time() - begun,
        friction=p.actuator.friction.name,
        name=prior.name if isinstance(prior, Datasheet) else "",
        logs=tuple(FittedLog.of(log) for log in logs),
        bench=(*of_bench, *read),
        read_from_held_out=tuple(f"{one.path} of {one.group}" for one in read),
    )


def climb_of(
    actuator: Actuator,
    logs: Sequence[Log],
    *,
    free_paths: Sequence[str] | None = None,
    also: Sequence[str] = (),
    prior: Any = None,
    bounds: Any = None,
    delay: bool = False,
    offset: bool = True,
    tolerances: bool = True,
    substeps: int | None = None,
    n_starts: int = N_STARTS,
    within: float = 3.0,
    seed: int = 0,
    on: str = "cpu",
) -> Climb:
    """The searches over some logs with the options of `fit`."""
    check_place(on)
    asked = Asked(free_paths, also, prior, bounds, delay, offset, tolerances, substeps)
    return Climb(actuator, logs, asked, n_starts, within, seed, on)


def _start(end: Ended) -> Start:
    """What the fit remembers of one start."""
    return Start(
        cost=end.cost, mae=end.mae, ended=end.ended, n_evaluations=end.n_evaluations, parameters=end.values
    )


def fitted_numbers(p: Problem, x: np.ndarray, sure: Uncertainty) -> dict[str, Fitted]:
    """Every free parameter with its error, its interval, and what tells it."""
    values = p.values(x)
    T = p.free.slopes(x)
    errors, right = (np.sqrt(np.maximum(np.diag(T @ V @ T.T), 0.0)) for V in (sure.covariance, sure.if_right))
    left = np.sqrt(np.maximum(np.diag(sure.covariance), 0.0)) / p.free.prior()[1]
    fitted = {}
    for k, q in enumerate(p.free.parameters):
        if q.beside:
            continue
        value, stated = values[q.name], q.prior if q.stated else None
        if stated is not None and not q.signed:
            middle = q.outward(stated[0])
            stated = (p.free.base(k, values, p.fixed) + middle, q.slope(stated[0]) * stated[1])
        told = "prior" if left[k] > OPEN else "both" if q.stated and left[k] > 0.3 else "data"
        low, high = q.coordinate.interval(value, float(errors[k]), sure.quantile)
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


def _bench(p: Problem, x: np.ndarray, covariance: np.ndarray) -> tuple[BenchNumber, ...]:
    """What was found of the bench and the recording."""
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


def _held_out(
    p: Problem, x: np.ndarray, logs: Sequence[Log], of_bench: Sequence[BenchNumber]
) -> tuple[dict[str, float], tuple[BenchNumber, ...]]:
    """Errors on logs the fit never saw, and what was read from them all the same: the angle of a mounting
    that was never fitted, as its only free number."""
    if not logs:
        return {}, ()
    known = [numbers.as_found(of_bench, log) for log in logs]
    actuator = p.actuator_at(x)
    late = numbers.as_late(actuator, [one.log for one in p.logs], of_bench)
    seen = {numbers.words(one.bench) for one in p.logs}
    new = []
    if any(q.path == "bench.hanging" and q.beside for q in p.free.parameters):
        new = [a for a in numbers.angles(logs) if a.group not in seen]
    q = problem(actuator, known, Free((*new, *late)), outputs=p.outputs, substeps=p.substeps)
    y, read = q.first, ()
    if new:
        q.sigma = p.sigma
        y = levenberg_marquardt(q, y, most=20, still=(DELAY,)).x
        read = _bench(q, y, inverse(q.normal(y)[0] + q.free.precision))[: len(new)]
    return mean_absolute_errors(q, y), read
