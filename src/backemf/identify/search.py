"""The search for an optimum: one friction after the other over the same logs, each from the start or from
what the poorer ones found. How it goes is the plant's schedule; what surrounds the joints, the plant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..logs.log import Log
from ..physics.actuator import Actuator
from .fit_options import FitOptions
from .optimize import (
    Minimum,
    Progress,
    SearchInterrupted,
    Stage,
    homotopy,
    minimum_at,
    part_progress,
    screen_starts,
)
from .parameters import spread
from .plants.bench_plant import BenchPlant
from .plants.plant import Optimum, Plant, SearchResult, StartResult
from .problem import Problem

SAME = 2e-3
"""Relative difference of cost up to which two starts count as having found the same minimum."""


@dataclass
class FrictionSearch:
    """Searches with one friction after the other over the same logs; what one found is a start for the next,
    so that a rung is the same alone and on the ladder."""

    plant: Plant
    options: FitOptions
    begin: Mapping[str, float] | None = None
    """Where servos of the same make came to rest: tried first, and enough where noise explains the rest."""
    every_rung: bool = False
    """Whether each friction on the way is wanted for itself, as on a ladder."""
    memory: dict[str, SearchResult] = field(default_factory=dict)
    optima: dict[tuple[str, ...], Optimum] = field(default_factory=dict)

    @property
    def n_starts(self) -> int:
        most = self.plant.schedule.most_starts
        return self.options.n_starts if most is None else min(self.options.n_starts, most)

    def find(self, name: str, progress: Progress | None = None, passing: bool = False) -> SearchResult:
        """The search with a friction.

        Args:
            name: of the friction, as its table has it.
            progress: is told what is done.
            passing: whether a richer friction follows at once, so that this one need not settle.

        Returns:
            Where its starts ended; the same again where it was searched before.
        """
        if name in self.memory:
            return self.memory[name]
        schedule, below = self.plant.schedule, self.plant.rungs_below(name)
        found = self._from_others(name, progress)
        unknown = schedule.start_first and any(parent not in self.memory for parent in below)
        if found is None and (unknown or not below):
            found = self._from_start(name, bool(below), passing, progress)
        if found is None:
            quickly = schedule.pass_quickly and not self.every_rung
            parents = [self.find(parent, progress, quickly) for parent in below]
            found = self._from_below(name, parents, passing, progress)
        if not found.interrupted and not passing:
            self.memory[name] = found
        return found

    def settle(self, found: SearchResult) -> Optimum:
        """Where a search comes to rest, with everything free that a tolerance allows; one that was stopped,
        as it stands."""
        which = (found.problem.actuator.friction.name, *found.problem.free.paths)
        try:
            if not found.interrupted and which not in self.optima:
                self.optima[which] = found.plant.settle(found)
        except KeyboardInterrupt:
            found = replace(found, interrupted=True)
        return found.unsettled if found.interrupted else self.optima[which]

    def _from_others(self, name: str, progress: Progress | None) -> SearchResult | None:
        """What comes of the numbers of others of its make; None where they do not lead to the noise."""
        if not self.begin:
            return None
        plant = self.plant.with_friction(name)
        p = plant.problem()
        low, high = p.free.bounds()
        values = p.values(p.first) | {n: v for n, v in self.begin.items() if n in p.free.names}
        x = np.clip(p.free.to_x(values, p.fixed), low, high)
        note = part_progress(progress, "from others of its make", 0.0, 0.5)
        end = homotopy(p, x, stages=plant.schedule.rise, note=note)
        weights = plant.weigh(p, end.x) if math.isfinite(end.cost) else None
        if weights is None or weights.robust < np.inf:
            return None
        return SearchResult(plant=plant, problem=p, ends=[StartResult.of(p, end)], weights=weights)

    def _from_start(
        self, name: str, has_below: bool, passing: bool, progress: Progress | None
    ) -> SearchResult | None:
        """Led by the recording, contact found on the way, then let go; None where that does not lead to the
        noise and there are rungs below."""
        plant, n, known = self.plant.with_friction(name), 0, {}
        p = plant.first_part(plant.schedule.glance).problem()
        legs = plant.schedule.legs(p.step)
        end: Minimum | None = None
        for k, stages in enumerate(legs):
            if end is not None:
                known = p.values(end.x)
                plant = plant.find_contact(p.actuators(end.x), p.delays(end.x))
                p = plant.problem()
            p.sigma, robust = plant.first_weights(p)
            x, tried = (p.x_from(known), 0) if known else plant.first_x(p, stages[0])
            share = 0.5 / len(legs)
            note = part_progress(progress, f"start 1 of {self.n_starts}", k * share, (k + 1) * share)
            try:
                end = homotopy(p, x, stages=stages, note=note, robust=robust)
            except SearchInterrupted as stop:
                ends, weights = [StartResult.of(p, stop.best)], plant.weigh(p, stop.best.x)
                return SearchResult(plant=plant, problem=p, ends=ends, weights=weights, interrupted=True)
            n += tried + end.n_evaluations
        assert end is not None
        weights = plant.weigh(p, end.x)
        if weights.robust == np.inf and math.isfinite(end.cost):  # noise explains everything
            ends = [StartResult.of(p, end)]
            return SearchResult(plant=plant, problem=p, ends=ends, weights=weights, n_evaluations=n)
        if has_below:
            return None
        result = SearchResult(plant=plant, problem=p, ends=[], weights=weights, n_evaluations=n)
        return self._climb(name, self._spread(result, end, passing, progress), progress)

    def _from_below(
        self, name: str, below: Sequence[SearchResult], passing: bool, progress: Progress | None
    ) -> SearchResult:
        """From what the poorer frictions found: start enough."""
        ends: list[StartResult] = []
        plant, weights = below[0].plant.with_friction(name), below[0].weights
        schedule, p = plant.schedule, plant.problem()
        p.sigma = weights.sigma
        found = SearchResult(plant=plant, problem=p, ends=ends, weights=weights)
        if any(parent.interrupted for parent in below):
            return self._as_below(name, below, found)
        try:
            for parent in below:
                note = part_progress(progress, f"from {parent.problem.actuator.friction.name}", 0.5, 0.6)
                x = plant.continue_from(p, parent, name)
                end = homotopy(p, x, stages=schedule.rise, note=note, robust=weights.robust)
                ends.append(StartResult.of(p, end))
                if schedule.also_plain:
                    ends.append(StartResult.of(p, schedule.settle.minimise(p, x, weights.robust)))
        except KeyboardInterrupt as stop:
            ends += [StartResult.of(p, end) for end in minimum_at(stop)]
            if not ends:
                raise
            return replace(found, interrupted=True)
        n = sum(end.n_evaluations for end in ends)
        if not math.isfinite(found.best.cost) or weights.robust == np.inf:
            return replace(found, n_evaluations=n)
        best = found.best
        x = best.x if schedule.weigh_again else p.free.to_x(best.values, p.fixed)
        left = plant.weigh(p, x)
        if schedule.weigh_again or left.robust == np.inf:  # noise explains what the poorer ones could not
            p.sigma = left.sigma
            end = self._settling(schedule.settle, passing).minimise(p, x, left.robust)
            ends, n = [StartResult.of(p, end)], n + end.n_evaluations
            found = replace(found, ends=ends, weights=left)
        return replace(found, n_evaluations=n)

    @staticmethod
    def _as_below(name: str, below: Sequence[SearchResult], found: SearchResult) -> SearchResult:
        """What poorer frictions had found when they were stopped, with what this one has besides."""
        p, plant, robust = found.problem, found.plant, found.weights.robust
        still = replace(plant.schedule.settle, most=0)
        where = (plant.continue_from(p, parent, name) for parent in below)
        ends = [StartResult.of(p, still.minimise(p, x, robust)) for x in where]
        return replace(found, ends=ends, interrupted=True)

    def _spread(
        self, found: SearchResult, first: Minimum, passing: bool, progress: Progress | None
    ) -> SearchResult:
        """From the first start and others around it, where the model cannot follow the recording to its
        noise."""
        p, weights, ends = found.problem, found.weights, found.ends
        schedule, interrupted = found.plant.schedule, False
        p.sigma = weights.sigma
        try:
            settling = self._settling(schedule.settle, passing)
            ends.append(StartResult.of(p, settling.minimise(p, first.x, weights.robust)))
            starts = self._starts(p, weights.robust)
            for k in range(1, self.n_starts):
                x = None if agree(ends) else next(starts, None)
                if x is None:
                    break
                note = part_progress(progress, f"start {k + 1} of {self.n_starts}{_best(p, ends)}", 0.5, 0.9)
                stages = schedule.legs(p.step)[-1]
                ends.append(
                    StartResult.of(p, homotopy(p, x, stages=stages, note=note, robust=weights.robust))
                )
        except KeyboardInterrupt as stop:
            ends += [StartResult.of(p, end) for end in minimum_at(stop)]
            if not ends:
                raise
            interrupted = True
        n = found.n_evaluations + sum(end.n_evaluations for end in ends)
        return replace(found, interrupted=interrupted, n_evaluations=n)

    def _climb(self, name: str, result: SearchResult, progress: Progress | None) -> SearchResult:
        """What was found, or what the rungs below lead to, where starts did not agree and that is better."""
        below = self.plant.schedule.rungs_under(name)
        asked = self.options.free_paths is not None or self.n_starts == 1
        if not below or asked or result.interrupted or agree(result.ends):
            return result
        parents = [self.find(parent, progress) for parent in below]
        if any(parent.interrupted for parent in parents):
            return replace(result, interrupted=True)
        climbed = self._from_below(name, parents, False, progress)
        better = climbed.best.mae < result.best.mae or not math.isfinite(result.best.mae)
        return climbed if better else replace(result, interrupted=climbed.interrupted)

    def _starts(self, p: Problem, robust: float) -> Iterator[np.ndarray]:
        """Further starts around the first."""
        rng, within, on = np.random.default_rng(self.options.seed), self.options.within, self.options.on
        if on != "cpu":
            yield from screen_starts(p, within, rng, self.n_starts - 1, robust=robust, on=on)
            return
        while True:
            yield spread(p.free, within, rng, p.first)

    @staticmethod
    def _settling(stage: Stage, passing: bool) -> Stage:
        return replace(stage, most=0) if passing else stage


def bench_search(actuator: Actuator, logs: Sequence[Log], **options: Any) -> FrictionSearch:
    """The searches over logs of a bench.

    Args:
        actuator: where they start.
        logs: to fit.
        options: of `fit`.

    Returns:
        The searches, none of them run yet.
    """
    asked = FitOptions(**options)
    return FrictionSearch(BenchPlant(start=actuator, logs=logs, options=asked), asked)


def agree(ends: Sequence[StartResult]) -> bool:
    """Whether three starts found the same minimum, and none a better one."""
    best = min(end.cost for end in ends)
    return sum(end.cost <= best * (1 + SAME) for end in ends) >= 3


def _best(p: Problem, ends: Sequence[StartResult]) -> str:
    """How far off the best so far is, in words."""
    best, unit = min(end.mae for end in ends), "mrad" if p.actuator.motion == "rotary" else "mm"
    return f", best {1e3 * best:.3g} {unit}" if math.isfinite(best) else ""
