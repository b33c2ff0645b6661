"""The friction ladder: fit every rung, judge each on logs it never saw,
and take the simplest that is as good as the best."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import BackemfError, InvalidValue
from ..logs.log import Log
from ..options import takes
from ..results.fit_result import Fit, LadderRung, Score
from ..tables import table
from .fit import build_plant, find_optimum, make_fit
from .fit_numbers import of_search
from .fit_options import LadderOptions
from .frictions import can_have, check_possible
from .holdout import SHOWN, folds_of
from .optimize import Progress
from .plants.plant import Optimum, Plant, SearchResult, StartResult
from .search import FrictionSearch


@dataclass(frozen=True, kw_only=True)
class RungResult:
    """One friction model on the ladder."""

    name: str
    fit: Fit | None
    """Of a robot, only where it was chosen."""
    reason: str = ""
    """Why there is no fit."""

    errors: Mapping[str, float] = field(default_factory=dict)
    """Error of each log while it was held out."""
    score: Score | None = None
    """Of a robot, all joints together."""
    n_numbers: int | None = None
    """Of a robot, the free ones."""

    @property
    def held_out(self) -> float:
        if self.score is not None:
            return self.score.rms
        return float(np.mean(list(self.errors.values()))) if self.errors else np.inf

    @property
    def standard_error(self) -> float:
        """Of the held-out error, over the logs."""
        errors = np.array(list(self.errors.values()))
        return float(np.std(errors, ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else np.inf

    @property
    def interrupted(self) -> bool:
        """Whether its own search was."""
        return self.fit is not None and any(f.code == "interrupted" for f in self.fit.findings)

    @property
    def untold(self) -> tuple[str, ...]:
        """Numbers of its friction that the logs do not tell."""
        if self.fit is None:
            return ()
        return tuple(
            path
            for path, p in self.fit.parameters.items()
            if path.startswith("friction.") and p.told_by == "prior" and p.value > 0
        )

    def ladder_rung(self, chosen: bool) -> LadderRung:
        """What the chosen fit remembers of this rung."""
        alone = self.fit if self.score is None else None
        return LadderRung(
            friction=self.name,
            n_parameters=self.n_numbers if alone is None else len(alone.parameters),
            training_mae=None if alone is None else alone.training_mae,
            held_out_mae=self.held_out if alone is not None else None,
            held_out_rms=None if self.score is None else self.held_out,
            standard_error=self.standard_error if np.isfinite(self.standard_error) else 0.0,
            chosen=chosen,
            reason=self.reason,
            parameters={} if alone is None else {name: p.value for name, p in alone.parameters.items()},
        )


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """Every rung with its fit, and the one chosen."""

    rungs: tuple[RungResult, ...]
    chosen: str
    held_out: str
    """In words, what the rungs were judged on."""

    @property
    def fit(self) -> Fit:
        """The chosen rung's fit, which remembers the others."""
        chosen = next(r.fit for r in self.rungs if r.name == self.chosen)
        assert chosen is not None
        tried = tuple(r.ladder_rung(r.name == self.chosen) for r in self.rungs)
        return replace(chosen, rungs=tried, judged_on=self.held_out)

    def __str__(self) -> str:
        rows = []
        before = None
        for r in self.rungs:
            if r.fit is None:
                rows.append((r.name, "-", "-", "-", "-", r.reason))
                continue
            bought = "-" if before is None else f"{100 * (1 - r.held_out / before):+.1f} %"
            before = min(r.held_out, before) if before is not None else r.held_out
            n, trained = str(len(r.fit.parameters)), f"{1e3 * r.fit.training_mae:.3f}"
            error = f" +- {1e3 * r.standard_error:.2f}" if np.isfinite(r.standard_error) else ""
            held = f"{1e3 * r.held_out:.3f}{error}"
            rows.append((r.name, n, trained, held, bought, "chosen" if r.name == self.chosen else ""))
        unit = "mrad" if self.fit.actuator.motion == "rotary" else "mm"
        head = ("friction", "parameters", f"fitted [{unit}]", f"held out [{unit}]", "better than before", "")
        return (
            f"Judged on {self.held_out}.\n\n{table(rows, head)}\n\nThe simplest that is as good as the best,"
            f" log by log: {self.chosen}."
        )


MISSED = (
    "no friction of the ladder explains it: look at the plot of the errors for play, a deadband, heat or"
    " another clock, and free it (--free)"
)
"""What is advised where even the ladder's choice misses something."""
NEARBY: dict[str, Any] = {"most": 12, "tolerance": 1e-4}
"""Of a search that is carried on to other logs: it begins near its end, and settles behind."""
STOPPED = "the ladder was interrupted before it"
"""Why there is no fit of a rung that nobody waited for."""
NO_BETTER = "no better than without, by more than two fits of one law differ"
"""Why a number beside a law did not stay."""
QUICK = 7e-3
"""Longest step of the simulations that a robot's rungs are compared by [s]."""
AS_GOOD = 1.01
"""How much more than the best a poorer friction of a robot may leave and is still as good."""
FEW, OF_FEW = 6, 0.15
"""Logs below which a poorer friction may be worse by this share of the best at most."""
MISFIT = 2.0
"""How many times the least error on the logs that were fitted a rung may have, where few logs judge."""
NEAR = 1.03
"""How much more than the best it may leave before the last steps and still come out ahead."""


def run_ladder(actuator: Any, logs: Sequence[Log], options: LadderOptions) -> Ladder:
    """Fit each friction of the ladder and judge it on held-out logs; each rung starts from what the rungs
    that it contains found. Where fewer than three groups of logs would be held out, every group is in
    turn.

    Args:
        actuator: where the search starts, as in `fit`.
        logs: recordings of one bench or several, or of one robot.
    """
    started_at = time.process_time()
    return climb_ladder(build_plant(actuator, logs, options, "ladder"), options.rungs, started_at)


ladder = takes(LadderOptions)(run_ladder)


def climb_ladder(plant: Plant, rungs: Sequence[str] | None = None, started_at: float | None = None) -> Ladder:
    """Fit each friction and take the simplest that is as good as the best. Logs that are held out judge the
    fit of the one chosen, and take no part in the choice.

    Args:
        plant: with its logs and options.
        rungs: frictions, from poor to rich; without them those of the plant's schedule.
        started_at: the process's time [s] before the plant was built, which counts too; without it now.

    Returns:
        Every rung, and the one chosen.
    """
    started_at = time.process_time() if started_at is None else started_at
    climb = _climb_together if plant.schedule.judged_together else _climb_in_turn
    rungs = rungs or plant.schedule.rungs
    check_possible(plant.options.also, rungs)
    climbed = climb(plant, rungs)
    best = replace(
        climbed.fit,
        cpu_s=time.process_time() - started_at,
        findings=tuple(
            replace(f, remedy=MISSED) if f.code == "model_error" else f for f in climbed.fit.findings
        ),
    )
    return replace(
        climbed, rungs=tuple(replace(r, fit=best) if r.name == climbed.chosen else r for r in climbed.rungs)
    )


def _climb_in_turn(plant: Any, rungs: Sequence[str]) -> Ladder:
    """Every rung searched on the first fold and carried on to the others, judged by the logs left out of
    each; the one chosen is carried on to all logs that may be fitted."""
    options = plant.options
    folds, said = folds_of(plant.logs)
    quiet = replace(options, inspect=False, hold_out=None, bands=False)
    how: dict[str, Any] = {"options": quiet, "given": (), "rough": True}
    parts = [replace(plant, logs=fold.training, held_out=fold.judged, **how) for fold in folds]
    search, tried = FrictionSearch(parts[0], quiet), dict[str, SearchResult]()

    def try_rung(name: str, note: Progress) -> RungResult:
        search.options = replace(quiet, progress=note)
        first = find_optimum(search, name)
        if first.found.interrupted and tried:
            raise KeyboardInterrupt
        tried[name], fit = first.found, make_fit(first)
        errors = dict(fit.held_out)
        try:
            for part in [] if first.found.interrupted else parts[1:]:
                one = carry_on(first.found, part.with_friction(name))
                errors |= one.plant.judge(one).errors[""]
        except KeyboardInterrupt:
            if len(tried) > 1:
                raise
            fit = replace(fit, findings=(*fit.findings, *of_search(guessed=False, interrupted=True)))
        return RungResult(name=name, fit=fit, errors=errors)

    climbed = _try_rungs(rungs, try_rung, options.progress)
    chosen = simplest(climbed)
    whole = plant.with_friction(chosen.name)
    stopped = climbed[-1].reason == STOPPED or climbed[-1].interrupted
    found = search.memory.get(chosen.name, tried[chosen.name])
    try:
        optimum = carry_on(found, whole, still=stopped)
    except KeyboardInterrupt:
        stopped, optimum = True, carry_on(found, whole, still=True)
    best = make_fit(optimum)
    if stopped and not any(f.code == "interrupted" for f in best.findings):
        best = replace(best, findings=(*best.findings, *of_search(guessed=False, interrupted=True)))
    climbed = [replace(r, fit=best) if r.name == chosen.name else r for r in climbed]
    return Ladder(rungs=tuple(climbed), chosen=chosen.name, held_out=said)


def carry_on(found: SearchResult, plant: Any, still: bool = False) -> Optimum:
    """Where a search comes to rest on other logs of the same joints, from where it came to rest on its own.

    Args:
        found: what the search came to.
        plant: with the other logs, and the same friction.
        still: whether it stays where it is, since somebody waits for the end.

    Returns:
        The optimum there, settled.
    """
    before = found.problem.free.to_x(found.best.values, found.problem.fixed)
    plant = plant.find_contact(found.problem.actuators(before), found.problem.delays(before))
    p = plant.problem()
    x = p.x_from(found.best.values)
    p.sigma, robust = found.weights if found.weights.sigma.ndim == 1 else plant.weigh(p, x)
    how = {"most": 0} if still else NEARBY
    end = replace(plant.schedule.settle, **how).minimise(p, x, robust)
    ends = [StartResult.of(p, end)]
    weights = plant.weigh(p, end.x) if math.isfinite(end.cost) else found.weights
    n = found.n_evaluations + end.n_evaluations
    there = SearchResult(plant=plant, problem=p, ends=ends, weights=weights, n_evaluations=n)
    return replace(there, interrupted=True).unsettled if still else plant.settle(there)


def _climb_together(plant: Any, rungs: Sequence[str]) -> Ladder:
    """Every rung judged by a quick simulation of all joints along motions that are left out of the search;
    only the best, and the simplest near it, are settled, and the one chosen is carried on to all motions that
    may be fitted."""
    part = plant.fold()
    search = FrictionSearch(part, plant.options, every_rung=True)

    def try_rung(name: str, note: Progress) -> RungResult:
        found = search.find(name)
        judgement = found.plant.judge(found.unsettled, QUICK)
        assert judgement.score is not None
        note(f"{1e3 * judgement.score.rms:.3g} mrad together", 0.0, 0.85)
        n, errors = len(found.problem.free), judgement.score.logs
        return RungResult(name=name, fit=None, errors=errors, score=judgement.score, n_numbers=n)

    climbed = _try_rungs(rungs, try_rung, plant.options.progress)
    good = [rung for rung in climbed if rung.score is not None]
    if rungs is plant.schedule.rungs and good and climbed[-1].reason != STOPPED:
        tried = _try_beside(simplest_together(good), plant.schedule.beside, try_rung, plant.options.progress)
        climbed, good = [*climbed, *tried], [*good, *(rung for rung in tried if not rung.reason)]
    settled = []
    for rung in nearest(good):
        optimum = search.settle(search.find(rung.name))
        settled.append(replace(rung, score=optimum.plant.judge(optimum, QUICK).score))
    chosen = simplest_together(settled)
    found = search.find(chosen.name)
    best = make_fit(carry_on(found, plant.with_friction(chosen.name)))
    climbed = [replace(r, fit=best) if r.name == chosen.name else r for r in climbed]
    names = ", ".join(one.log.name for one in part.held_out[:SHOWN])
    said = f"the coupled simulation of motions left out of the search ({names})"
    return Ladder(rungs=tuple(climbed), chosen=chosen.name, held_out=said)


def _try_rungs(
    rungs: Sequence[str], try_rung: Callable[[str, Progress], RungResult], progress: Progress | None
) -> list[RungResult]:
    """Each rung's result, or why there is none."""
    climbed: list[RungResult] = []
    for k, name in enumerate(rungs):

        def note(text: str, cost: float, share: float, k: int = k, name: str = name) -> None:
            if progress is not None:
                progress(f"{name}: {text}", cost, (k + share) / len(rungs))

        try:
            climbed.append(try_rung(name, note))
            if climbed[-1].interrupted:
                return climbed + [RungResult(name=rest, fit=None, reason=STOPPED) for rest in rungs[k + 1 :]]
        except (BackemfError, np.linalg.LinAlgError) as error:
            climbed.append(RungResult(name=name, fit=None, reason=str(error)))
        except KeyboardInterrupt:
            if all(rung.reason for rung in climbed):
                raise
            climbed += [RungResult(name=rest, fit=None, reason=STOPPED) for rest in rungs[k:]]
            break
    return climbed


def _try_beside(
    best: RungResult,
    beside: Sequence[str],
    try_rung: Callable[[str, Progress], RungResult],
    progress: Progress | None,
) -> list[RungResult]:
    """Greedily: a law with one number more, which stays where it is better by more than two fits of one law
    differ; then with the next one.

    Args:
        best: the law.
        beside: the numbers, in the order in which they are tried.
        try_rung: judges one.
        progress: is told what is done.

    Returns:
        The further rungs; those that do not stay have a reason.
    """
    tried: list[RungResult] = []
    for extra in beside:
        if extra not in can_have(best.name.partition("+")[0]):
            continue
        tried += _try_rungs([f"{best.name}+{extra}"], try_rung, progress)
        if tried[-1].score is None:
            if tried[-1].reason == STOPPED:
                break
        elif tried[-1].held_out * NEAR < best.held_out:
            best = tried[-1]
        else:
            tried[-1] = replace(tried[-1], reason=NO_BETTER)
    return tried


def nearest(rungs: Sequence[RungResult]) -> list[RungResult]:
    """The best rung, and the simplest that is near it: only the last steps tell which of them is better."""
    best = min(rungs, key=lambda r: r.held_out)
    first = min((r for r in rungs if r.held_out <= NEAR * best.held_out), key=_n_numbers, default=best)
    return [best] if first is best else [first, best]


def simplest_together(rungs: Sequence[RungResult]) -> RungResult:
    """The rung with the fewest numbers that is as good as the best, all joints together."""
    best = min(rungs, key=lambda r: r.held_out)
    return min((r for r in rungs if r.held_out <= AS_GOOD * best.held_out), key=_n_numbers)


def _n_numbers(rung: RungResult) -> int:
    return rung.n_numbers or 0


def simplest(climbed: Sequence[RungResult]) -> RungResult:
    """The rung with the fewest numbers that is as good as the best, by how each log judges the two; one with
    numbers that the logs do not tell only where no other is left. Of few logs one is often unlike all others;
    then a rung must also be able to follow what it was fitted to."""
    best = min(climbed, key=lambda r: r.held_out)
    if best.fit is None:
        raise InvalidValue(f"no rung could be fitted: {best.reason}")
    able = [r for r in climbed if r.fit is not None]
    if len(best.errors) < FEW:
        most = MISFIT * min(r.fit.training_mae for r in able if r.fit is not None)
        able = [r for r in able if r.fit is not None and r.fit.training_mae <= most]
        best = min(able, key=lambda r: r.held_out)
    good = [r for r in able if as_good(r, best)]
    told = [r for r in good if not r.untold]
    return min(told or good, key=_size)


def _size(rung: RungResult) -> tuple[int, float]:
    """How many numbers a rung has that was fitted, and its error."""
    assert rung.fit is not None
    return len(rung.fit.parameters), rung.held_out


def as_good(result: RungResult, best: RungResult) -> bool:
    """Whether a rung is within one standard error of the best, log by log: what both find hard cancels."""
    pairs = np.array([(result.errors[n], e) for n, e in best.errors.items() if n in result.errors])
    worse = pairs[:, 0] - pairs[:, 1]
    # a standard error of a few logs is itself uncertain
    floor = 0.1 * best.held_out / np.sqrt(len(worse))
    error = float(np.std(worse, ddof=1) / np.sqrt(len(worse))) if len(worse) > 1 else 0.0
    if len(worse) < FEW:  # so few may disagree by so much that anything would pass
        error = min(error, OF_FEW * best.held_out)
    return bool(np.mean(worse) <= max(error, floor))
