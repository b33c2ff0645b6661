"""A rig with one joint: which numbers are free, how much the data counts, and the last settling, with finer
steps and everything free that a tolerance allows to move."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...engine.rows import DELAY
from ...errors import MissingValue
from ...findings import Finding
from ...logs.log import ASKED, Log
from ...physics.actuator import Actuator
from ...physics.quantity import parameters
from ...results.fit_result import BenchNumber, Fit
from .. import bench_numbers as numbers
from ..fit_numbers import (
    NOISES,
    bench_numbers_of,
    correlation_of,
    fit_of,
    fitted_numbers,
    noise_floor,
    of_errors,
    of_pairs,
    of_parameters,
    of_search,
)
from ..frictions import BELOW, LADDER, above, with_friction
from ..holdout import demands_of, of_benches
from ..inspect.remedies import Build, Inspection, inspect_logs, jumps_of, merge_findings
from ..optimize import Minimum, Stage, levenberg_marquardt, observer_stages, with_read_starts
from ..outliers import diagnose
from ..parameters import (
    FreeParameters,
    Parameter,
    default_paths,
    free,
    give_sizes,
    possible,
    priors,
    sheet_or_numbers,
    with_absent,
    with_registers,
)
from ..play import find_play, with_play
from ..problem import Problem, fitted_drive, mean_absolute_errors, problem, weightless, with_some_inertia
from ..uncertainty import Uncertainty, bounded_normal, correlation_time, inverse
from .plant import Judgement, Optimum, Plant, Schedule, SearchResult, Weights

SCHEDULE = Schedule(
    stages=observer_stages(120.0, 60.0, 20.0, 6.0, 2.0, 0.0),
    drop_fast=True,
    rise=observer_stages(6.0, 0.0),
    also_plain=True,
    settle=Stage(most=40, tolerance=1e-5),
    weigh_again=False,
    start_first=True,
    pass_quickly=False,
    rungs=LADDER,
    below=BELOW,
)
EFFICIENCY = "gearbox.efficiency"
NO_LOSS = 0.99
"""Efficiency from which on gears count as lossless beside a friction that knows the load."""
NEAR = 40.0
"""Errors, in units of the noise and with their correlation, up to which a bench alone may be to blame."""
MOST_LATE = 12
"""Samples that a latency is looked for in."""
KICKED = ("friction.stribeck_velocity",)
"""Numbers with several valleys: how a joint slips or sticks in one reversal hangs on them."""
KICKS = (0.5, 2.0)
"""Factors that lead out of one."""
ELSEWHERE = 3e-3
"""Share of the cost that a valley must save to be another one; coarser steps change it by about a third."""
MOMENTS, SAME_MOTION = 64, 0.15
"""Moments at which two commands are compared, and the share by which equal ones differ: jumps come a sample
earlier or later."""
CLEARLY_LATE = 0.8
"""Share of the misfit that a latency must leave at most, to be a start."""


@dataclass(frozen=True, kw_only=True)
class BenchPlant(Plant):
    """A bench, or several of one sort, with the logs to fit and those to judge on."""

    start: Actuator
    logs: Sequence[Log]
    held_out: Sequence[Log] = ()
    faults: tuple[Finding, ...] = ()
    """Of the recordings themselves."""
    sound: bool = True
    """Whether they may be trusted; no bench is blamed for a faulty recording."""
    first: Actuator | None = None
    """The start before another friction was asked for."""
    rough: bool = False
    """Whether fits are only compared with each other: then they settle with the steps of the search."""
    seeks_play: bool = False
    """Whether play of the gears is looked for beside the optimum."""
    kind = "bench"
    schedule = SCHEDULE

    @property
    def usual_friction(self) -> str:
        return self.start.friction.name

    @property
    def guessed_gain(self) -> bool:
        """Whether nobody printed the firmware's gain."""
        return fitted_drive(self.start, self.logs)[1]

    def with_friction(self, name: str) -> BenchPlant:
        first = self.first or self.start
        start = first if name == first.friction.name else with_friction(first, name)
        return replace(self, start=start, first=first)

    def rungs_below(self, name: str) -> tuple[str, ...]:
        """Not where the start has this friction already, so that it is a start itself, or where the caller
        chose the free numbers."""
        if self.options.free_paths is not None or name == self.start.friction.name:
            return ()
        return SCHEDULE.rungs_under(name)

    def problem(self) -> Problem:
        """What is searched, without what tolerances can move."""
        logs, asked = self.logs, self.options
        actuator, registers = with_registers(fitted_drive(self.start, logs)[0], asked.prior)
        also = possible(actuator, asked.also)
        actuator = with_absent(actuator, [*also, *(asked.free_paths or ())])
        if asked.delay and not actuator.drive.delay:
            step = numbers.median_step(logs)
            actuator = replace(actuator, drive=replace(actuator.drive, delay=0.5 * step))
        wanted = default_paths(actuator) if asked.free_paths is None else list(asked.free_paths)
        # 0 stays 0 where the caller did not free it, unless nothing else would have an inertia.
        freed = "motor.rotor_inertia" in (*wanted, *also)
        if actuator.motor.rotor_inertia == 0.0 and (freed or weightless(logs)):
            actuator = with_some_inertia(actuator, logs)
        stated = priors(actuator, asked.prior)
        more = self._called_for(actuator, registers, stated)
        wanted += [path for path in dict.fromkeys(more) if path not in wanted]
        if not wanted:
            raise MissingValue("no parameter is free; name at least one")
        extra = {"bench.hanging": 0.0} if "bench.hanging" in wanted else {}
        beside = self._mounting(actuator, wanted)
        actuator = give_sizes(actuator, wanted)
        core = free(actuator, wanted, extra, prior=stated, bounds=asked.bounds)
        return problem(actuator, logs, core.with_(beside), substeps=asked.substeps, free_starts=True)

    def _called_for(self, actuator: Actuator, registers: list[str], stated: Mapping[str, Any]) -> list[str]:
        """Paths to free beside the usual ones: what is a guess, what was stated, what was asked for."""
        usual, more = self.options.free_paths is None, list[str]()
        if usual and (self.guessed_gain or "drive.firmware_gain" in stated):
            more.append("drive.firmware_gain")
        more += [*(registers if usual else ()), *possible(actuator, self.options.also)]
        if usual and actuator.friction.loaded and actuator.gearbox.efficiency is not None:
            more.append(EFFICIENCY)
        return [*more, "drive.delay"] if self.options.delay else more

    def _mounting(self, actuator: Actuator, wanted: Sequence[str]) -> list[Parameter]:
        """Where arms hang, and what an arm weighs that nobody weighed."""
        hangs = all(log.bench is not None and log.bench.hangs for log in self.logs)
        if not self.options.offset or self.options.free_paths is not None or not hangs:
            return []
        beside = [] if "bench.hanging" in wanted else numbers.angles(self.logs)
        weighed = any(parameters(log.bench)["arm_mass"] for log in self.logs)
        if not weighed and "bench.arm_mass" not in wanted:  # found along, from next to nothing
            light = 0.03 * min(parameters(log.bench)["mass"] for log in self.logs)
            arm = free(actuator, ["bench.arm_mass"], {"bench.arm_mass": light}).parameters[0]
            beside.append(replace(arm, beside=True))
        return beside

    def continue_from(self, p: Problem, parent: SearchResult, name: str) -> np.ndarray:
        """From the best of the poorer friction, written as the richer one."""
        known = parent.best.values | above(parent.actuators[""], name).parameters
        values = p.values(p.first) | {n: v for n, v in known.items() if n in p.free.names}
        return p.free.to_x(values, p.fixed)

    def weigh(self, p: Problem, x: np.ndarray) -> Weights:
        return residual_weights(p, x)

    def settle(self, found: SearchResult) -> Optimum:
        return settle(found, self.logs, self.options.tolerances, self.rough)

    def free_unknowns(self, optimum: Optimum) -> Optimum:
        """Play, where that was asked for."""
        if not self.seeks_play or self.rough or optimum.found.interrupted:
            return optimum
        play = find_play(optimum.problem, optimum.end, optimum.robust)
        p = optimum.problem if play.problem is None else play.problem
        return replace(optimum, problem=p, end=play.end, play=play)

    def judge(self, optimum: Optimum, step: float | None = None) -> Judgement:
        if not self.held_out:
            return Judgement()
        p, x = optimum.problem, optimum.x
        errors, read = judge_logs(p, x, self.held_out, bench_numbers_of(p, x))
        return Judgement(errors={"": errors}, read=read)

    def groupings(self, p: Problem) -> Sequence[Sequence[Any]]:
        rigs = [numbers.words(log.log.bench) for log in p.logs if log.log.bench is not None]
        settings, asked = [tuple(sorted(log.log.settings.items())) for log in p.logs], motions(self.logs)
        # two motions are chosen to differ; only more of them say how much motions do
        return (rigs, settings, asked) if max(asked) > 1 else (rigs, settings)

    def demands(self) -> dict[str, dict[str, dict[str, float]]]:
        return {log.name: {"": demands_of(log)} for log in self.logs}

    def make_fit(self, optimum: Optimum, judgement: Judgement, uncertainties: Uncertainty) -> Fit:
        """The numbers with their errors, and everything that stands against them."""
        p, x, options, sheet = (
            optimum.problem,
            optimum.x,
            self.options,
            sheet_or_numbers(self.options.prior)[0],
        )
        fitted = fitted_numbers(p, x, uncertainties)
        own = [k for k, q in enumerate(p.free.parameters) if not q.beside]
        correlation = correlation_of(p, x, uncertainties, own)
        errors, held = mean_absolute_errors(with_read_starts(p, x), x), judgement.errors.get("", {})
        times_noise = uncertainties.scatter * float(p.sigma[0] / p.sigma_noise[0])
        asked = self.sound and options.inspect and not optimum.found.interrupted  # of an optimum alone
        blamed = diagnose(p, x, optimum.robust) if asked else []
        findings = (
            *self.faults,
            *blamed,
            *of_parameters(p, x, fitted, blamed if self.sound else self.faults),
            *of_pairs(tuple(fitted), correlation),
            *(merge_findings(jumps_of(self.logs)) if options.inspect and times_noise > NOISES else ()),
            *of_benches(self.logs, self.held_out),
            *of_errors(errors, held, times_noise, noise_floor(p)),
            *of_search(self.guessed_gain, optimum.found.interrupted, uncertainties.positive),
        )
        fit = fit_of(
            optimum,
            optimum.actuators[""],
            fitted,
            correlation,
            training=errors,
            held_out=held,
            findings=findings,
            starts=optimum.found.ends,
            seed=options.seed,
            name=sheet.name if sheet else "",
            bench=(*bench_numbers_of(p, x, uncertainties.covariance), *judgement.read),
            read_from_held_out=tuple(f"{one.path} of {one.group}" for one in judgement.read),
        )
        play = optimum.play
        return fit if play is None or play.problem else with_play(fit, play, optimum.robust)


def motions(logs: Sequence[Log]) -> list[int]:
    """Which logs were asked for the same motion.

    Args:
        logs: of benches.

    Returns:
        A number for each log, the same where they were.
    """
    kinds: list[np.ndarray] = []
    found = []
    for log in logs:
        at = np.linspace(log.time[0], log.time[-1], MOMENTS)
        asked = [s.hold_at(at) for name, s in sorted(log.signals.items()) if name in ASKED]
        row = np.append(np.nan_to_num(np.concatenate(asked or [[0.0]])), at[-1] - at[0])
        near = (k for k, one in enumerate(kinds) if len(one) == len(row) and _is_alike(one, row))
        found.append(next(near, len(kinds)))
        if found[-1] == len(kinds):
            kinds.append(row)
    return found


def _is_alike(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two motions, each with how long it takes, differ by less than clocks and rates do."""
    size = max(float(np.linalg.norm(a[:-1] - np.mean(a[:-1]))), 1e-9)
    return (
        abs(a[-1] - b[-1]) < SAME_MOTION * a[-1] and float(np.linalg.norm((a - b)[:-1])) <= SAME_MOTION * size
    )


def inspection(
    actuator: Actuator, logs: Sequence[Log], free_paths: Sequence[str] | None = None, prior: Any = None
) -> tuple[Build, Inspection]:
    """Look for what is wrong with the recordings themselves, before a fit.

    Args:
        actuator: where the fit would start.
        logs: of benches.
        free_paths: what would be free; the usual numbers without it.
        prior: a datasheet, or path -> (value, standard error).

    Returns:
        What makes the problem of a fit from logs, and what was found.
    """

    def build(some: Sequence[Log]) -> Problem:
        return identifiability_problem(some, actuator, free_paths, prior)

    return build, inspect_logs(build, actuator, logs)


def identifiability_problem(
    logs: Sequence[Log], actuator: Actuator, free_paths: Sequence[str] | None, prior: Any
) -> Problem:
    """The fit's own problem at the start parameters."""
    actuator, guessed = fitted_drive(actuator, logs)
    usual = default_paths(actuator) + (["drive.firmware_gain"] if guessed else [])
    paths = usual if free_paths is None else list(free_paths)
    if "motor.rotor_inertia" in paths and actuator.motor.rotor_inertia == 0.0:
        actuator = with_some_inertia(actuator, logs)
    actuator = give_sizes(actuator, paths)
    core = free(actuator, paths, prior=prior)
    beside = numbers.measured_parameters(logs) + numbers.supplies(actuator, logs)
    return problem(actuator, logs, core.with_(beside), free_starts=True)


def residual_weights(p: Problem, x: np.ndarray) -> Weights:
    """Weights by the scatter and correlation that the errors really have; unchanged where noise explains
    them.

    Where the model cannot follow the recording, errors are larger than the noise and last for many samples;
    taken at the weight of independent noise they would drown every prior.
    """
    errors, _ = p.sensitivities(x)
    errors = errors * (p.sigma / p.sigma_noise)
    k = p.outputs.index("position")
    scatter = [float(np.nanmedian(np.abs(e))) if np.isfinite(e).any() else 0.0 for e in errors.T]
    scale = np.maximum(1.4826 * np.array(scatter), 1.0)
    if not np.isfinite(errors).any() or np.all(scale < 1.3):
        return Weights(p.sigma_noise)
    of_logs = np.split(np.nan_to_num(errors[:, k]), p.offsets[1:-1])
    alike = float(np.median([correlation_time(e) for e in of_logs]))
    return Weights(p.sigma_noise * scale * math.sqrt(alike), 1.5 / math.sqrt(alike))


def settle(result: SearchResult, logs: Sequence[Log], tolerances: bool, rough: bool = False) -> Optimum:
    """The optimum with finer steps, and with everything free that a tolerance allows to move; data weighed by
    the errors that are left. A rough one keeps the steps of the search."""
    p, best = _without_lossless(result, logs)
    more = numbers.within_tolerance(p.actuator, logs, p.free.paths) if tolerances else []
    values = best | {q.name: q.start for q in more}
    q = _like(p, p.actuator, logs, p.free.with_(more), (1 if rough else 2) * p.substeps)
    q.begin = result.best.begin
    x = q.free.to_x({name: values[name] for name in q.free.names}, q.fixed)
    robust = result.weights.robust
    if robust < np.inf and any(n.path == DELAY for n in more):
        x = _shift_latency(q, x, robust, p.substeps)
        weights = residual_weights(q, x)
        q.sigma, robust = weights.sigma, weights.robust
    if robust < np.inf and more and _scale(q) < NEAR:
        x, robust = _bench_alone(q, x, robust, p.substeps)
    if robust < np.inf:
        end = _slide(q, x, robust, p.substeps)
        if rough:
            return Optimum(plant=result.plant, problem=q, end=end, robust=robust, found=result)
        weights = residual_weights(q, end.x)
        x, q.sigma, robust = end.x, weights.sigma, weights.robust
    end = _slide(q, x, robust)
    if len(result.ends) > 1 and not rough:  # the first start did not lead to the noise
        end = _kick(q, end, robust, p.substeps)
    q.begin = end.begin
    return Optimum(plant=result.plant, problem=q, end=end, robust=robust, found=result)


def _without_lossless(result: SearchResult, logs: Sequence[Log]) -> tuple[Problem, dict[str, float]]:
    """(the problem, its best values), without an efficiency of gears that lose nothing beside a friction that
    knows the load."""
    p, best = result.problem, dict(result.best.values)
    if best.get(EFFICIENCY, 0.0) <= NO_LOSS or not p.actuator.friction.loaded:
        return p, best
    del best[EFFICIENCY]
    lossless = replace(p.actuator, gearbox=replace(p.actuator.gearbox, efficiency=None))
    kept = FreeParameters(tuple(n for n in p.free.parameters if n.path != EFFICIENCY))
    return _like(p, lossless, logs, kept, p.substeps), best


def _like(
    p: Problem, actuator: Actuator, logs: Sequence[Log], free_: FreeParameters, substeps: int
) -> Problem:
    """Another problem of the same logs, weighed alike."""
    free_starts = p.begin is not None
    q = problem(actuator, logs, free_, outputs=p.outputs, substeps=substeps, free_starts=free_starts)
    q.sigma, q.sigma_noise, q.begin = p.sigma, p.sigma_noise, p.begin
    return q


def _bench_alone(q: Problem, x: np.ndarray, robust: float, substeps: int) -> tuple[np.ndarray, float]:
    """(where it stands, what counts less): perhaps it is only the bench that is wrong, and with its numbers
    free the noise explains the rest."""
    before, begin = q.sigma, q.begin
    q.sigma = q.sigma_noise
    end = _slide(q, x, np.inf, substeps)
    if math.isfinite(end.cost) and residual_weights(q, end.x).robust == np.inf:
        return end.x, np.inf
    q.sigma, q.begin = before, begin
    return x, robust


def _kick(q: Problem, end: Minimum, robust: float, substeps: int) -> Minimum:
    """An optimum, or the better one that a valley beside it holds."""
    best, low, high = end, *q.free.bounds()
    values = q.values(end.x)
    for path in KICKED if math.isfinite(end.cost) else ():
        for factor in KICKS if path in q.free.paths else ():
            x = q.free.to_x(values | {path: factor * values[path]}, q.fixed)
            q.begin = end.begin
            beside = _slide(q, np.clip(x, low, high), robust, substeps)
            if beside.cost < (1.0 - ELSEWHERE) * best.cost:
                best = min(best, _slide(q, beside.x, robust), key=lambda one: one.cost)
    return best


def _shift_latency(q: Problem, x: np.ndarray, robust: float, substeps: int) -> np.ndarray:
    """x, or where a latency of whole samples leaves clearly less misfit: so near to the best latency that its
    slope leads there."""
    place = next(k for k, n in enumerate(q.free.parameters) if n.path == DELAY)
    begin = q.begin

    def settled_at(latency: float) -> Minimum:
        y = x.copy()
        y[place], q.begin = latency, begin
        return levenberg_marquardt(
            q, y, robust=robust, substeps=substeps, most=3, tolerance=1e-3, still=(DELAY,)
        )

    ends = [settled_at(x[place])]
    for n in range(1, MOST_LATE + 1):
        ends.append(settled_at(x[place] + n * q.step))
        if n >= 2 and ends[-1].data_cost > 1.05 * min(end.data_cost for end in ends):
            break
    best = min(ends, key=lambda end: end.data_cost)
    later = best.data_cost < CLEARLY_LATE * ends[0].data_cost
    q.begin = best.begin if later else begin
    return best.x if later else x


def _slide(q: Problem, x: np.ndarray, robust: float, substeps: int | None = None) -> Minimum:
    """Along the valleys in which the bench and the actuator look alike; first with the latency held, whose
    slope is steep where a jump of the command meets the limit of a drive."""
    options: dict[str, Any] = {"robust": robust, "substeps": substeps, "damping": 1e-5}
    rough = 1e-4 if substeps or robust < np.inf else 1e-6
    most = 25 if substeps is None else 10  # a rough one only weighs the errors
    end = levenberg_marquardt(q, x, most=most, tolerance=rough, still=(DELAY,), **options)
    if DELAY not in q.free.paths:
        return end
    again = levenberg_marquardt(q, end.x, most=12, tolerance=rough, **options)
    return again if math.isfinite(again.cost) else end


def _scale(p: Problem) -> float:
    """How much larger the errors of a search were than the noise, correlation included."""
    return float(np.max(p.sigma / p.sigma_noise))


def judge_logs(
    p: Problem, x: np.ndarray, logs: Sequence[Log], of_bench: Sequence[BenchNumber]
) -> tuple[dict[str, float], tuple[BenchNumber, ...]]:
    """Errors on logs the fit never saw, and what was read from them all the same: the angle of a mounting
    that was never fitted, as its only free number."""
    known = [numbers.as_found(of_bench, log) for log in logs]
    actuator = p.actuator_at(x)
    late = numbers.as_late(actuator, [log.log for log in p.logs], of_bench)
    seen = {numbers.words(log.bench) for log in p.logs}
    new = []
    if any(q.path == "bench.hanging" and q.beside for q in p.free.parameters):
        new = [a for a in numbers.angles(logs) if a.group not in seen]
    how: dict[str, Any] = {"outputs": p.outputs, "substeps": p.substeps, "free_starts": True}
    q = problem(actuator, known, FreeParameters((*new, *late)), **how)
    y, read = q.first, ()
    if new:
        q.sigma = p.sigma
        y = levenberg_marquardt(q, y, most=20, still=(DELAY,)).x
        read = bench_numbers_of(q, y, inverse(bounded_normal(q, y, np.inf)[0]))[: len(new)]
    return mean_absolute_errors(with_read_starts(q, y), y), read
