"""The search for an optimum: which numbers are free, several starts, the rungs below as starts, and the last
settling with everything free that a tolerance allows to move."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..data.log import Log
from ..data.sheets.datasheet import Datasheet
from ..engine.rows import DELAY
from ..errors import MissingValue
from ..model.actuator import Actuator
from ..model.quantity import parameters
from . import bench_numbers as numbers
from .free import Free, Parameter, default_paths, free, priors, sized, spread
from .frictions import BELOW, above, with_friction
from .optimize import STAGES, Minimum, Progress, homotopy, levenberg_marquardt, screened
from .residual import Problem, fitted_drive, mean_absolute_errors, problem, weightless, with_some_inertia
from .uncertainty import correlation_time

SAME = 2e-3
"""Relative difference of cost up to which two starts count as having found the same minimum."""
SETTLING = (6.0, 0.0)
"""Bandwidths of the observer from a start that is an optimum already, of a poorer friction [rad/s]."""
EFFICIENCY = "gearbox.efficiency"
NO_LOSS = 0.99
"""Efficiency from which on gears count as lossless beside a friction that knows the load."""
NEAR = 40.0
"""Errors, in units of the noise and with their correlation, up to which a bench alone may be to blame."""
MOST_LATE = 12
"""Samples that a latency is looked for in."""
CLEARLY_LATE = 0.8
"""Share of the misfit that a latency must leave at most, to be a start."""
DERIVATIVE_FILTER = 0.01
"""Time over which a change of the setpoint acts on a firmware's D, where the sheet does not say [s]: between
a sample of a fast bus and one of a slow one, which logs tell hardly apart."""


class Asked(NamedTuple):
    """What a caller of `fit` wants free, and how."""

    free_paths: Sequence[str] | None
    also: Sequence[str]
    prior: Any
    bounds: Any
    delay: bool
    offset: bool
    tolerances: bool
    substeps: int | None


class Ended(NamedTuple):
    """Where one start ended, in values, which outlive a change of weights."""

    values: dict[str, float]
    cost: float
    mae: float
    ended: str
    n_evaluations: int

    @staticmethod
    def of(p: Problem, end: Minimum) -> Ended:
        mae = math.inf
        if math.isfinite(end.cost):
            mae = float(np.mean(list(mean_absolute_errors(p, end.x).values())))
        return Ended(p.values(end.x), end.cost, mae, end.ended, end.n_evaluations)


class Weights(NamedTuple):
    """How much the data counts: the standard deviation of an error by output, and the weighted error beyond
    which it counts less."""

    sigma: np.ndarray
    robust: float = np.inf


@dataclass(frozen=True, kw_only=True)
class Found:
    """What the search with one friction came to."""

    problem: Problem
    ends: list[Ended]
    weights: Weights
    guessed: bool
    """Whether the firmware's gain is a guess."""
    interrupted: bool = False

    @property
    def best(self) -> Ended:
        return min(self.ends, key=lambda m: m.cost)

    @property
    def actuator(self) -> Actuator:
        p = self.problem
        return p.actuator_at(p.free.to_x(self.best.values, p.fixed))


class Settled(NamedTuple):
    """An optimum, the problem that it solves, and how far the errors that count were cut."""

    problem: Problem
    end: Minimum
    robust: float


@dataclass
class Climb:
    """Searches with one friction after the other over the same logs; what one found is a start for the next,
    so that a rung is the same alone and on the ladder."""

    start: Actuator
    logs: Sequence[Log]
    asked: Asked
    n_starts: int
    within: float
    seed: int
    on: str = "cpu"
    """Where starts are scored: on a GPU many are, and the best are taken."""
    memory: dict[str, Found] = field(default_factory=dict)
    optima: dict[str, Settled] = field(default_factory=dict)

    def to(self, name: str, progress: Progress | None = None) -> Found:
        """The search with a friction of the ladder."""
        if name in self.memory:
            return self.memory[name]
        actuator = self.start
        if name != actuator.friction.name:
            actuator = with_friction(actuator, name)
        p, guessed = self.problem_of(actuator)
        below = self._below(name)
        found = None
        if not below or any(parent not in self.memory for parent in below):
            first = homotopy(p, p.first, stages=stages(p), note=_note(progress, "start 1", 0.0, 0.5))
            weights = weighed(p, first.x)
            if weights.robust == np.inf and math.isfinite(first.cost):  # noise explains everything
                found = Found(problem=p, ends=[Ended.of(p, first)], weights=weights, guessed=guessed)
            elif not below:
                found = self._spread(p, guessed, first, weights, progress)
        if found is None:
            parents = [self.to(parent, progress) for parent in below]
            found = self._from_below(name, p, guessed, parents, progress)
        if not found.interrupted:
            self.memory[name] = found
        return found

    def settled(self, name: str, progress: Progress | None = None) -> Settled:
        """Where the search with a friction comes to rest, with everything free that a tolerance allows."""
        if name not in self.optima:
            self.optima[name] = settled(self.to(name, progress), self.logs, self.asked.tolerances)
        return self.optima[name]

    def _from_below(
        self, name: str, p: Problem, guessed: bool, below: Sequence[Found], progress: Progress | None
    ) -> Found:
        """From what the poorer frictions found: start enough."""
        ends: list[Ended] = []
        weights = below[0].weights
        p.sigma = weights.sigma
        try:
            for parent in below:
                note = _note(progress, f"from {parent.problem.actuator.friction.name}", 0.5, 0.6)
                x = continued(p, parent, name)
                end = homotopy(p, x, stages=SETTLING, note=note, robust=weights.robust)
                plain = levenberg_marquardt(p, x, robust=weights.robust)
                ends += [Ended.of(p, end), Ended.of(p, plain)]
        except KeyboardInterrupt:
            if not ends:
                raise
            return Found(problem=p, ends=ends, weights=weights, guessed=guessed, interrupted=True)
        found = Found(problem=p, ends=ends, weights=weights, guessed=guessed)
        if weights.robust < np.inf and math.isfinite(found.best.cost):
            x = p.free.to_x(found.best.values, p.fixed)
            left = weighed(p, x)
            if left.robust == np.inf:  # noise explains what the poorer ones could not follow
                p.sigma = left.sigma
                ends = [Ended.of(p, levenberg_marquardt(p, x))]
                found = replace(found, ends=ends, weights=left)
        return found

    def _spread(
        self, p: Problem, guessed: bool, first: Minimum, weights: Weights, progress: Progress | None
    ) -> Found:
        """From the first start and others around it, where the model cannot follow the recording to its
        noise."""
        ends: list[Ended] = []
        interrupted = False
        p.sigma = weights.sigma
        try:
            ends.append(Ended.of(p, levenberg_marquardt(p, first.x, robust=weights.robust)))
            starts = self._starts(p, weights.robust)
            for k in range(1, self.n_starts):
                x = None if agreed(ends) else next(starts, None)
                if x is None:
                    break
                note = _note(progress, f"start {k + 1} of {self.n_starts}", 0.5, 0.9)
                ends.append(Ended.of(p, homotopy(p, x, stages=stages(p), note=note, robust=weights.robust)))
        except KeyboardInterrupt:
            if not ends:
                raise
            interrupted = True
        return Found(problem=p, ends=ends, weights=weights, guessed=guessed, interrupted=interrupted)

    def _starts(self, p: Problem, robust: float) -> Iterator[np.ndarray]:
        """Further starts around the first."""
        rng = np.random.default_rng(self.seed)
        if self.on != "cpu":
            yield from screened(p, self.within, rng, self.n_starts - 1, robust=robust, on=self.on)
            return
        while True:
            yield spread(p.free, self.within, rng, p.first)

    def _below(self, name: str) -> tuple[str, ...]:
        """Rungs to climb first: not where the start has this friction already, so that it is a start itself,
        or where the caller chose the free numbers."""
        if self.asked.free_paths is not None or name == self.start.friction.name:
            return ()
        return BELOW.get(name, ())

    def problem_of(self, actuator: Actuator) -> tuple[Problem, bool]:
        """What is searched, without what tolerances can move; and whether the firmware's gain is a guess."""
        logs, asked = self.logs, self.asked
        actuator, guessed = fitted_drive(actuator, logs)
        actuator, registers = with_registers(actuator, asked.prior)
        if asked.delay and not actuator.drive.delay:
            step = numbers.median_step(logs)
            actuator = replace(actuator, drive=replace(actuator.drive, delay=0.5 * step))
        usual = asked.free_paths is None
        wanted = default_paths(actuator) if asked.free_paths is None else list(asked.free_paths)
        # 0 stays 0 where the caller did not free it, unless nothing else would have an inertia.
        freed = "motor.rotor_inertia" in (*wanted, *asked.also)
        if actuator.motor.rotor_inertia == 0.0 and (freed or weightless(logs)):
            actuator = with_some_inertia(actuator, logs)
        stated = priors(actuator, asked.prior)
        gain = usual and (guessed or "drive.firmware_gain" in stated)
        more = [*(["drive.firmware_gain"] if gain else []), *(registers if usual else []), *asked.also]
        if usual and actuator.friction.loaded and actuator.gearbox.efficiency is not None:
            more.append(EFFICIENCY)
        more += ["drive.delay"] if asked.delay else []
        wanted += [path for path in dict.fromkeys(more) if path not in wanted]
        extra = {"bench.hanging": 0.0} if "bench.hanging" in wanted else {}
        beside: list[Parameter] = []
        if asked.offset and usual and all(log.bench is not None and log.bench.hangs for log in logs):
            beside = [] if extra else numbers.angles(logs)
            if not any(parameters(log.bench)["arm_mass"] for log in logs) and "bench.arm_mass" not in wanted:
                # Nobody weighed the arm; it is found along, starting from next to nothing.
                light = 0.03 * min(parameters(log.bench)["mass"] for log in logs)
                arm = free(actuator, ["bench.arm_mass"], {"bench.arm_mass": light}).parameters[0]
                beside.append(replace(arm, beside=True))
        actuator = sized(actuator, wanted)
        if not wanted:
            raise MissingValue("no parameter is free; name at least one")
        core = free(actuator, wanted, extra, prior=stated, bounds=asked.bounds)
        return problem(actuator, logs, core.with_(beside), substeps=asked.substeps), guessed


def continued(p: Problem, parent: Found, name: str) -> np.ndarray:
    """Where a poorer friction ended, as a start of a richer one."""
    found = parent.best.values | above(parent.actuator, name).parameters
    values = p.values(p.first) | {n: v for n, v in found.items() if n in p.free.names}
    return p.free.to_x(values, p.fixed)


def agreed(ends: Sequence[Ended]) -> bool:
    """Whether three starts found the same minimum, and none a better one."""
    best = min(end.cost for end in ends)
    return sum(end.cost <= best * (1 + SAME) for end in ends) >= 3


def with_registers(actuator: Actuator, prior: Any) -> tuple[Actuator, list[str]]:
    """The actuator with a D register that its sheet says the firmware has, where nobody measured what one
    count does; and the number that tells it."""
    drive = actuator.drive
    if not isinstance(prior, Datasheet) or "drive.proportional" not in actuator.parameters:
        return actuator, []
    printed = prior.firmware.get("derivative")
    if printed is None or not printed.value or "drive.derivative" in actuator.parameters:
        return actuator, []
    stated = prior.firmware.get("derivative_filter")
    unknown = {"derivative": printed.value, "firmware_derivative_gain": 0.0}
    unknown |= {"derivative_filter": DERIVATIVE_FILTER if stated is None else stated.value}
    drive = replace(drive, **unknown)
    return replace(actuator, drive=drive), ["drive.firmware_derivative_gain"]


def stages(p: Problem) -> tuple[float, ...]:
    """Observer bandwidths that the sampling allows: a pull faster than the samples would only copy them."""
    fitting = tuple(b for b in STAGES if b * p.step < 0.4)
    return fitting if len(fitting) > 2 else (0.4 / p.step, 0.13 / p.step, 0.04 / p.step, 0.0)


def weighed(p: Problem, x: np.ndarray) -> Weights:
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


def settled(found: Found, logs: Sequence[Log], tolerances: bool) -> Settled:
    """The optimum with finer steps, and with everything free that a tolerance allows to move; data weighed by
    the errors that are left."""
    p, best = found.problem, dict(found.best.values)
    if best.get(EFFICIENCY, 0.0) > NO_LOSS and p.actuator.friction.loaded:
        del best[EFFICIENCY]
        lossless = replace(p.actuator, gearbox=replace(p.actuator.gearbox, efficiency=None))
        kept = Free(tuple(n for n in p.free.parameters if n.path != EFFICIENCY))
        simpler = problem(lossless, logs, kept, outputs=p.outputs, substeps=p.substeps)
        simpler.sigma, simpler.sigma_noise = p.sigma, p.sigma_noise
        p = simpler
    more = numbers.within_tolerance(p.actuator, logs, p.free.paths) if tolerances else []
    values = best | {q.name: q.start for q in more}
    q = problem(p.actuator, logs, p.free.with_(more), outputs=p.outputs, substeps=2 * p.substeps)
    q.sigma, q.sigma_noise = p.sigma, p.sigma_noise
    x = q.free.to_x({name: values[name] for name in q.free.names}, q.fixed)
    robust = found.weights.robust
    if robust < np.inf and any(n.path == DELAY for n in more):
        x = _shifted(q, x, robust, p.substeps)
        weights = weighed(q, x)
        q.sigma, robust = weights.sigma, weights.robust
    if robust < np.inf and more and _scale(q) < NEAR:
        # Perhaps it is only the bench that is wrong, and with its numbers free the noise explains the rest.
        before, q.sigma = q.sigma, q.sigma_noise
        end = _slid(q, x, np.inf, p.substeps)
        if math.isfinite(end.cost) and weighed(q, end.x).robust == np.inf:
            x, robust = end.x, np.inf
        else:
            q.sigma = before
    if robust < np.inf:
        x = _slid(q, x, robust, p.substeps).x
        weights = weighed(q, x)
        q.sigma, robust = weights.sigma, weights.robust
    return Settled(q, _slid(q, x, robust), robust)


def _shifted(q: Problem, x: np.ndarray, robust: float, substeps: int) -> np.ndarray:
    """x, or where a latency of whole samples leaves clearly less misfit: so near to the best latency that its
    slope leads there."""
    place = next(k for k, n in enumerate(q.free.parameters) if n.path == DELAY)

    def settled_at(latency: float) -> Minimum:
        y = x.copy()
        y[place] = latency
        return levenberg_marquardt(
            q, y, robust=robust, substeps=substeps, most=3, tolerance=1e-3, still=(DELAY,)
        )

    ends = [settled_at(x[place])]
    for n in range(1, MOST_LATE + 1):
        ends.append(settled_at(x[place] + n * q.step))
        if n >= 2 and ends[-1].data_cost > 1.05 * min(end.data_cost for end in ends):
            break
    best = min(ends, key=lambda end: end.data_cost)
    return best.x if best.data_cost < CLEARLY_LATE * ends[0].data_cost else x


def _slid(q: Problem, x: np.ndarray, robust: float, substeps: int | None = None) -> Minimum:
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


def _note(progress: Progress | None, words: str, begin: float, end: float) -> Progress | None:
    if progress is None:
        return None
    return lambda text, cost, share: progress(f"{words}, {text}", cost, begin + (end - begin) * share)
