"""Which entries agree: the smallest set that must be left out so that the rest of a sheet holds together.

One wrong number must not wreck the others. First everything is solved as printed, then with an ordinary
margin for makers who compute from rounded numbers; then entries are left out, one, two, more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from ..datasheet import Datasheet
from ..printed import Entry
from ..slips import Verdict
from . import equations as eq
from .problem import Problem, Solution

AS_GOOD = 4.0
"""Sums of squares that differ by less than this (two standard errors) explain a sheet equally well."""
ROUGH = 1e-3
"""Tolerance of a solution that is only compared with others."""
N_FIRST, N_SECOND = 5, 3
"""For pairs: so many first entries, and for each so many second ones, the most promising each."""


class Disagreement(NamedTuple):
    """An entry that the rest of its sheet contradicts."""

    entry: Entry
    others: float
    """What the rest says, in the unit and at the side of the entry."""

    @property
    def factor(self) -> float:
        return self.entry.value / self.others if self.others > 0 else math.inf

    @property
    def size(self) -> float:
        """|log| of the factor."""
        return abs(math.log(self.factor)) if 0 < self.factor < math.inf else math.inf


class Agreement(NamedTuple):
    """The solution of a sheet, what was left out of it, and what could have been left out as well."""

    solution: Solution
    left_out: tuple[Disagreement, ...] = ()
    alternatives: tuple[Disagreement, ...] = ()

    @property
    def apart(self) -> bool:
        return self.solution.problem.apart


def agree(sheet: Datasheet, verdict: Verdict) -> Agreement:
    """Solve a sheet with as many of its entries as agree."""
    problem = Problem(sheet)
    exact = problem.solve(ordinary=False)
    if exact.agrees:
        return Agreement(exact)
    ordinary = problem.solve()
    whole = Problem(sheet, apart=True).solve() if verdict.two_constants and sheet.kind == "motor" else None
    if ordinary.agrees:
        return Agreement(whole if whole is not None and whole.agrees else ordinary)
    slip = [k for k, e in enumerate(problem.equations) if e is verdict.left_out]
    if slip and (alone := problem.solve(frozenset(slip))).agrees:
        return _finished(alone)
    tried, found = _singles(problem, ordinary)
    if whole is not None and whole.agrees:  # every printed number is kept
        said = [_said(s) for s in found]
        return Agreement(whole, (), _conceivable(said, said))
    if not found and whole is not None and whole.minimum.cost < ordinary.minimum.cost:
        problem, ordinary = whole.problem, whole
        tried, found = _singles(problem, ordinary)
    ratio = _ratio(sheet, ordinary)
    if not found and ratio is not None:
        return ratio
    if not found:
        found = _pairs(problem, ordinary, tried)
    if not found:
        return _finished(_greedy(problem, min(tried, key=lambda s: s.minimum.cost, default=ordinary)))
    first, *rest = sorted(found, key=lambda s: _order(s, verdict))
    chosen = _finished(first, rest)
    if ratio is None:
        return chosen
    some = (*chosen.alternatives, *ratio.left_out)
    return chosen._replace(alternatives=_conceivable(some, (*chosen.left_out, *some)))


def _ratio(sheet: Datasheet, base: Solution) -> Agreement | None:
    """The sheet with another gear ratio than the printed one, where that alone lets it agree."""
    printed = sheet.get("gear_ratio")
    if printed is None or not base.problem.fixed:
        return None
    other = Problem(sheet, unlike=True).solve()
    if not other.agrees or other.spread().open.any():
        return None
    return Agreement(other, (Disagreement(printed, other.constants["N"]),))


def _singles(problem: Problem, base: Solution) -> tuple[list[Solution], list[Solution]]:
    """(solutions with one entry left out, those of them in which the rest agrees about equally well)."""
    printed = [k for k, e in enumerate(problem.equations) if e.kind != "assumed"]
    tried = [problem.solve(frozenset([k]), tolerance=ROUGH) for k in printed]
    return tried, _best(tried, base)


def _pairs(problem: Problem, base: Solution, singles: Iterable[Solution]) -> list[Solution]:
    """The same with two entries left out, the most promising ones."""
    sets: set[frozenset[int]] = set()
    for one in sorted(singles, key=lambda s: s.minimum.cost)[:N_FIRST]:
        excess = one.excess()
        worst = sorted(range(len(excess)), key=lambda k: -excess[k])[:N_SECOND]
        sets |= {one.left_out | {k} for k in worst if k not in one.left_out}
    return _best([problem.solve(out, tolerance=ROUGH) for out in sorted(sets, key=sorted)], base)


def _best(solutions: Iterable[Solution], base: Solution) -> list[Solution]:
    """Those that agree, leave no constant open that was not, and are about as good as the best."""
    was_open = base.spread().open
    sound = [s for s in solutions if s.agrees and not (s.spread().open & ~was_open).any()]
    least = min((s.minimum.cost for s in sound), default=0.0)
    return [s for s in sound if s.minimum.cost <= least + AS_GOOD * len(s.left_out)]


def _greedy(problem: Problem, solution: Solution) -> Solution:
    """Leave out the worst entry, computed ones first, until the rest agrees."""
    for _ in range(len(problem.equations)):
        if solution.agrees:
            break
        excess = solution.excess()
        worst = max(range(len(excess)), key=lambda k: excess[k] / (1 + 2 * _rank(problem.equations[k])))
        solution = problem.solve(solution.left_out | {worst}, tolerance=ROUGH)
    return solution


def _rank(entry: Entry) -> int:
    """0 computed, 1 measured, 2 a constant printed itself: what is left out first."""
    return 2 if entry.name in eq.DIRECT else 1 if entry.name in eq.MEASURED else 0


def _order(solution: Solution, verdict: Verdict) -> tuple[bool, int, float]:
    """What to leave out first among equals: a usual slip, then what is computed, then the smallest error."""
    gone = [solution.problem.equations[k] for k in solution.left_out]
    slipped = any(e is slip.entry for e in gone for slip in verdict.slips)
    size = sum(abs(solution.off[k]) for k in solution.left_out)
    return not slipped, sum(_rank(e) for e in gone), size


def _finished(solution: Solution, others: Iterable[Solution] = ()) -> Agreement:
    """With what is left as printed, where it agrees even so."""
    sharp = solution.problem.solve(solution.left_out, ordinary=False)
    chosen = sharp if sharp.agrees else solution.problem.solve(solution.left_out)
    gone = tuple(_said(chosen, k) for k in sorted(chosen.left_out))
    named = {id(d.entry) for d in gone}
    more = [_said(s, k) for s in others for k in sorted(s.left_out)]
    seen = {id(d.entry): d for d in more if id(d.entry) not in named}
    return Agreement(chosen, gone, _conceivable(seen.values(), (*gone, *seen.values())))


def _conceivable(some: Iterable[Disagreement], all_: Iterable[Disagreement]) -> tuple[Disagreement, ...]:
    """Without those that would have to be absurdly wrong where a small error explains the sheet as well."""
    most = max(math.log(5.0), 3.0 * min((d.size for d in all_), default=0.0))
    return tuple(d for d in some if d.size <= most)


def _said(solution: Solution, k: int | None = None) -> Disagreement:
    """What a solution says about an entry that was left out of it."""
    entry = solution.problem.equations[min(solution.left_out) if k is None else k]
    return Disagreement(entry, solution.problem.predicted(entry, solution.constants) or math.nan)
