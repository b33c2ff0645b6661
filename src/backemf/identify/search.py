"""The search for an optimum: which numbers are free, several starts, and the rungs below as starts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..datasheets.datasheet import Datasheet
from ..errors import MissingValue
from ..logs.log import Log
from ..physics.actuator import Actuator
from ..physics.quantity import parameters
from . import bench_numbers as numbers
from .frictions import BELOW, above, with_friction
from .optimize import STAGES, Interrupted, Minimum, Progress, homotopy, levenberg_marquardt, noted, screened
from .parameters import Parameter, default_paths, free, priors, sized, spread
from .problem import Problem, fitted_drive, problem, weightless, with_some_inertia
from .settle import EFFICIENCY, Ended, Found, Settled, Weights, settled, weighed

SAME = 2e-3
"""Relative difference of cost up to which two starts count as having found the same minimum."""
SETTLING = (6.0, 0.0)
"""Bandwidths of the observer from a start that is an optimum already, of a poorer friction [rad/s]."""
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
    begin: Mapping[str, float] | None = None
    """Where servos of the same make came to rest: tried first, and enough where noise explains the rest."""
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
        found = self._begun(p, guessed, progress)
        if found is None and (not below or any(parent not in self.memory for parent in below)):
            try:
                note = noted(progress, f"start 1 of {self.n_starts}", 0.0, 0.5)
                first = homotopy(p, p.first, stages=stages(p), note=note)
            except Interrupted as stop:
                ends, weights = [Ended.of(p, stop.best)], weighed(p, stop.best.x)
                return Found(problem=p, ends=ends, weights=weights, guessed=guessed, interrupted=True)
            weights = weighed(p, first.x)
            if weights.robust == np.inf and math.isfinite(first.cost):  # noise explains everything
                found = Found(problem=p, ends=[Ended.of(p, first)], weights=weights, guessed=guessed)
            elif not below:
                found = self._spread(p, guessed, first, weights, progress)
                found = self._climbed(name, found, progress)
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

    def _begun(self, p: Problem, guessed: bool, progress: Progress | None) -> Found | None:
        """What comes of the numbers of others of its make; None where they do not lead to the noise."""
        if not self.begin:
            return None
        low, high = p.free.bounds()
        values = p.values(p.first) | {n: v for n, v in self.begin.items() if n in p.free.names}
        x = np.clip(p.free.to_x(values, p.fixed), low, high)
        note = noted(progress, "from others of its make", 0.0, 0.5)
        end = homotopy(p, x, stages=SETTLING, note=note)
        weights = weighed(p, end.x) if math.isfinite(end.cost) else None
        if weights is None or weights.robust < np.inf:
            return None
        return Found(problem=p, ends=[Ended.of(p, end)], weights=weights, guessed=guessed)

    def _from_below(
        self, name: str, p: Problem, guessed: bool, below: Sequence[Found], progress: Progress | None
    ) -> Found:
        """From what the poorer frictions found: start enough."""
        ends: list[Ended] = []
        weights = below[0].weights
        p.sigma = weights.sigma
        try:
            for parent in below:
                note = noted(progress, f"from {parent.problem.actuator.friction.name}", 0.5, 0.6)
                x = continued(p, parent, name)
                end = homotopy(p, x, stages=SETTLING, note=note, robust=weights.robust)
                plain = levenberg_marquardt(p, x, robust=weights.robust)
                ends += [Ended.of(p, end), Ended.of(p, plain)]
        except KeyboardInterrupt as stop:
            ends += [Ended.of(p, stop.best)] if isinstance(stop, Interrupted) else []
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
                note = noted(progress, f"start {k + 1} of {self.n_starts}{_best(p, ends)}", 0.5, 0.9)
                ends.append(Ended.of(p, homotopy(p, x, stages=stages(p), note=note, robust=weights.robust)))
        except KeyboardInterrupt as stop:
            ends += [Ended.of(p, stop.best)] if isinstance(stop, Interrupted) else []
            if not ends:
                raise
            interrupted = True
        return Found(problem=p, ends=ends, weights=weights, guessed=guessed, interrupted=interrupted)

    def _climbed(self, name: str, found: Found, progress: Progress | None) -> Found:
        """What was found, or what the rungs below lead to, where starts did not agree and that is better."""
        below = BELOW.get(name, ())
        asked = self.asked.free_paths is not None or self.n_starts == 1
        if not below or asked or found.interrupted or agreed(found.ends):
            return found
        p, guessed = self.problem_of(self.start)
        parents = [self.to(parent, progress) for parent in below]
        climbed = self._from_below(name, p, guessed, parents, progress)
        better = climbed.best.mae < found.best.mae or not math.isfinite(found.best.mae)
        return climbed if better and not climbed.interrupted else found

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


def _best(p: Problem, ends: Sequence[Ended]) -> str:
    """How far off the best so far is, in words."""
    best, unit = min(end.mae for end in ends), "mrad" if p.actuator.motion == "rotary" else "mm"
    return f", best {1e3 * best:.3g} {unit}" if math.isfinite(best) else ""
