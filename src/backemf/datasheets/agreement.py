"""Which entries agree: the smallest set that must be left out so that the rest of a sheet holds together.

One wrong number must not wreck the others. Slips come first: which single printed number, off by a factor
that is usual for its kind, would explain what disagrees to the printed digit. Then everything is solved as
printed, then with an ordinary margin for makers who compute from rounded numbers; then without a speed that
electronics limit; then entries are left out, one, two, more. A printed constant goes only where two others
agree against it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from ..units import GRAVITY
from .constants_problem import DIRECT, FLOOR, MEASURED, ConstantsProblem, Solution
from .datasheet import ENTRIES, Datasheet, Entry
from .relations import ONE_CONSTANT, Relation, relations

_TURNING = ("rad/s", "rad/(s V)", "V s/rad", "rad/(s N m)")
_TORQUES = ("N m", "N m/A", "N m s/rad")
_PREFIXED = re.compile(r"(?<![A-Za-z])[mku]?(?:N ?m|N|A|V|H|[oO]hm|Ω|s|g|W)(?![A-Za-z])")
_MOTOR_CONSTANTS = {"torque_constant", "back_emf_constant", "speed_constant"}
_ELECTRICAL = {"resistance", "inductance"} | _MOTOR_CONSTANTS


def _turns(sheet: Datasheet, e: Entry) -> bool:
    return ENTRIES[e.name].unit in _TURNING


def _has_milli(sheet: Datasheet, e: Entry) -> bool:
    """Whether its unit has, or could have had, a milli in front."""
    return ENTRIES[e.name].unit not in ("1", "rad/s", "degC") and bool(_PREFIXED.search(e.printed.text))


def _phases(sheet: Datasheet, e: Entry) -> bool:
    return sheet.motor == "brushless" and (e.name in _ELECTRICAL or e.name.endswith("_current"))


class Usual(NamedTuple):
    """A factor that numbers are usually wrong by, and the entries that it can happen to."""

    factor: float
    happens: Callable[[Datasheet, Entry], bool]


SLIPS = {
    "60 (per minute for per second)": Usual(60.0, _turns),
    "2 pi (turns for radians)": Usual(2 * math.pi, _turns),
    "60 / 2 pi (rpm for rad/s)": Usual(30 / math.pi, _turns),
    "9.81 (newtons for kilograms-force)": Usual(GRAVITY, lambda sheet, e: ENTRIES[e.name].unit in _TORQUES),
    "1000 (milli)": Usual(1000.0, _has_milli),
    "2 (line for phase)": Usual(2.0, _phases),
    "sqrt 2 (peak for RMS)": Usual(math.sqrt(2), _phases),
    "sqrt 3 (line for phase)": Usual(math.sqrt(3), _phases),
    "3/2 (peak torque convention)": Usual(1.5, _phases),
}
"""The usual factors, in words."""


class Slip(NamedTuple):
    """An entry, the factor that would mend it, and that factor in words."""

    entry: Entry
    factor: float
    words: str


class Verdict(NamedTuple):
    """What the relations of a sheet tell before anything is solved."""

    broken: list[Relation]
    slips: list[Slip]

    @property
    def suspects(self) -> list[Entry]:
        """Entries that a usual slip explains; none where it could be almost any of them."""
        entries = list({id(slip.entry): slip.entry for slip in self.slips}.values())
        return entries if len(entries) <= 2 else []

    @property
    def left_out(self) -> Entry | None:
        """The one entry to leave out of the solution: the only one that a usual slip explains."""
        return self.suspects[0] if len(self.suspects) == 1 else None

    @property
    def two_constants(self) -> bool:
        """Whether torque and back-EMF constant must be told apart."""
        return self.left_out is None and any(r.code == ONE_CONSTANT for r in self.broken)


def judge(sheet: Datasheet) -> Verdict:
    """Which relations of a sheet do not hold, and which slips would explain that."""
    rows = list(relations(sheet))
    broken = [r for r in rows if not r.holds(r.values)]
    return Verdict(broken, _slips(sheet, rows, broken))


def judge_without(sheet: Datasheet, entries: Collection[Entry]) -> Verdict:
    """The same without some entries, which contradict nothing for that."""
    return judge(replace(sheet, entries=tuple(e for e in sheet.entries if e not in entries)))


def _slips(sheet: Datasheet, rows: list[Relation], broken: list[Relation]) -> list[Slip]:
    """Single entries that, multiplied by one of the usual factors,
    would make every relation they stand in hold."""
    suspects = {id(e): e for r in broken for e in r.entries if e.kind != "assumed"}
    mending = [
        (sum(r.has(entry) for r in broken), slip)
        for entry in suspects.values()
        for slip in _slips_of(sheet, entry, [r for r in rows if r.has(entry)], broken)
    ]
    most = max((n for n, _ in mending), default=0)  # the slip that explains most of what is broken
    return [slip for n, slip in mending if n == most]


def _slips_of(sheet: Datasheet, entry: Entry, mine: list[Relation], broken: list[Relation]) -> Iterator[Slip]:
    """The usual factors that mend every relation of one entry."""
    # Where gears leave a range, a small factor always fits somewhere and proves nothing.
    loose = any(r in broken and r.allowed != (1.0, 1.0) for r in mine)
    usuals = {words: usual for words, usual in SLIPS.items() if usual.happens(sheet, entry)}
    sizes = [0.0, *(math.log(usual.factor) for usual in usuals.values())]
    for words, usual in usuals.items():
        if usual.factor > 5 or not loose:
            size = math.log(usual.factor)
            apart = min(abs(size - other) for other in sizes if other != size) / 2.0
            factors = (f for f in (usual.factor, 1 / usual.factor) if _mends(mine, entry, f, apart))
            yield from (Slip(entry, f, words) for f in factors)


def _mends(relations: list[Relation], entry: Entry, factor: float, apart: float) -> bool:
    """Whether every relation holds to the printed digits with one entry multiplied, and these digits tell the
    factor from its neighbours, `apart` half its distance (of logarithms) to the nearest."""
    scaled = (tuple(e.value * factor if e is entry else e.value for e in r.entries) for r in relations)
    return all(
        r.rounding(values) < apart and r.holds(values, FLOOR * len(values))
        for r, values in zip(relations, scaled, strict=True)
    )


LEAST_LIMIT = 0.25
"""Of the speed that voltage and constants give: nobody limits a motor to less, units that are mixed up do."""
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

    @property
    def limited(self) -> tuple[Disagreement, ...]:
        """No-load speeds below what voltage and printed constants give, of parts with electronics."""
        sheet = self.solution.problem.sheet
        has_electronics = sheet.motor == "brushless" or sheet.kind in ("servo", "actuator")
        if not has_electronics or not any(e.name in _MOTOR_CONSTANTS for e in sheet.entries):
            return ()
        slow = [d for d in self.left_out if d.entry.name == "no_load_speed"]
        return tuple(d for d in slow if LEAST_LIMIT < d.factor < 1.0)


def agree(sheet: Datasheet, verdict: Verdict) -> Agreement:
    """Solve a sheet with as many of its entries as agree."""
    problem = ConstantsProblem(sheet)
    exact = problem.solve(ordinary=False)
    if exact.agrees:
        return Agreement(exact)
    ordinary = problem.solve()
    whole = _with_two_constants(sheet, verdict)
    if ordinary.agrees:
        return Agreement(whole if whole and whole.agrees else ordinary)
    plain = _with_limited_speed(ordinary) or _without_slip(ordinary, verdict)
    if plain is not None:
        return plain
    tried, found = _singles(problem, ordinary)
    if whole and whole.agrees:  # every printed number is kept
        said = [_disagreement(s) for s in found]
        return Agreement(whole, (), _conceivable(said, said))
    if not found and whole is not None and whole.minimum.cost < ordinary.minimum.cost:
        ordinary = whole
        tried, found = _singles(whole.problem, whole)
    return _with_some_left_out(ordinary, tried, found, verdict)


def _with_limited_speed(base: Solution) -> Agreement | None:
    """The sheet without the no-load speeds that its constants exceed, where that alone lets it agree and they
    are one speed, whatever the voltage: a limit, and not another back-EMF."""
    problem = base.problem
    speeds = frozenset(k for k, e in enumerate(problem.equations) if e.name == "no_load_speed")
    off = problem.solve(speeds).off if speeds else ()
    slow = frozenset(k for k in speeds if off[k] > 3.0 * problem.ordinary[k])
    sound = _sound([problem.solve(slow)], base) if slow else []
    if not sound:
        return None
    agreement = _finish(sound[0])
    N = sound[0].constants.get("N", 1.0)
    values = [d.entry.value / (1.0 if d.entry.side == "output" else N) for d in agreement.limited]
    rounding = max(d.entry.half / d.entry.value for d in agreement.left_out)
    one = len(values) == len(slow) and max(values) <= min(values) * (1.0 + 2.0 * rounding)
    return agreement if one else None


def _without_slip(base: Solution, verdict: Verdict) -> Agreement | None:
    """The sheet without the one entry that a usual slip explains, where that lets it agree."""
    slip = frozenset(k for k, e in enumerate(base.problem.equations) if e is verdict.left_out)
    if not slip or not (alone := base.problem.solve(slip)).agrees:
        return None
    return _finish(_keep_constants(alone, base), [alone])


def _with_two_constants(sheet: Datasheet, verdict: Verdict) -> Solution | None:
    """The solution that keeps torque and back-EMF constant apart, where they must be."""
    apart = verdict.two_constants and sheet.kind == "motor"
    return ConstantsProblem(sheet, apart=True).solve() if apart else None


def _with_some_left_out(
    ordinary: Solution, tried: list[Solution], found: list[Solution], verdict: Verdict
) -> Agreement:
    """Without one entry, with another gear ratio, without two, or without as many as it takes."""
    problem = ordinary.problem
    ratio = _ratio(problem.sheet, ordinary)
    if not found and ratio is not None:
        return ratio
    found = found or _pairs(problem, ordinary, tried)
    if not found:
        found = [_greedy(problem, min(tried, key=lambda s: s.minimum.cost, default=ordinary))]
    first, *rest = sorted(found, key=lambda s: _order(s, verdict))
    chosen = _finish(_keep_constants(first, ordinary), [first, *rest])
    if ratio is None:
        return chosen
    some = (*chosen.alternatives, *ratio.left_out)
    return chosen._replace(alternatives=_conceivable(some, (*chosen.left_out, *some)))


def _ratio(sheet: Datasheet, base: Solution) -> Agreement | None:
    """The sheet with another gear ratio than the printed one, where that alone lets it agree."""
    printed = sheet.get("gear_ratio")
    if printed is None or not base.problem.fixed:
        return None
    other = ConstantsProblem(sheet, unlike=True).solve()
    if not other.agrees or other.spread().open.any():
        return None
    return Agreement(other, (Disagreement(printed, other.constants["N"]),))


def _singles(problem: ConstantsProblem, base: Solution) -> tuple[list[Solution], list[Solution]]:
    """(solutions with one entry left out, those of them in which the rest agrees about equally well)."""
    printed = [k for k, e in enumerate(problem.equations) if e.kind != "assumed"]
    tried = [problem.solve(frozenset([k]), tolerance=ROUGH) for k in printed]
    return tried, _best(tried, base)


def _pairs(problem: ConstantsProblem, base: Solution, singles: Iterable[Solution]) -> list[Solution]:
    """The same with two entries left out, the most promising ones."""
    sets: set[frozenset[int]] = set()
    for single in sorted(singles, key=lambda s: s.minimum.cost)[:N_FIRST]:
        excess = single.excess()
        worst = sorted(range(len(excess)), key=lambda k: -excess[k])[:N_SECOND]
        sets |= {single.left_out | {k} for k in worst if k not in single.left_out}
    return _best([problem.solve(out, tolerance=ROUGH) for out in sorted(sets, key=sorted)], base)


def _best(solutions: Iterable[Solution], base: Solution) -> list[Solution]:
    """Those that are sound, and about as good as the best."""
    sound = _sound(solutions, base)
    least = min((s.minimum.cost for s in sound), default=0.0)
    return [s for s in sound if s.minimum.cost <= least + AS_GOOD * len(s.left_out)]


def _sound(solutions: Iterable[Solution], base: Solution) -> list[Solution]:
    """Those that agree, and leave no constant open that was not."""
    was_open = base.spread().open
    return [s for s in solutions if s.agrees and not (s.spread().open & ~was_open).any()]


def _keep_constants(solution: Solution, base: Solution) -> Solution:
    """The same with every printed constant that one other entry alone contradicts: that entry goes
    instead."""
    entries = solution.problem.equations
    for k in sorted(solution.left_out):
        if _rank(entries[k]) == 2:
            kept = solution.left_out - {k}
            computed = [j for j, e in enumerate(entries) if _rank(e) < 2 and e.kind != "assumed"]
            instead = [kept | {j} for j in computed if j not in kept]
            sound = _sound((solution.problem.solve(out, tolerance=ROUGH) for out in instead), base)
            swap = [(min(_rank(entries[j]) for j in s.left_out - kept), s.minimum.cost, s) for s in sound]
            solution = min(swap, key=lambda row: row[:2], default=(0, 0.0, solution))[2]
    return solution


def _greedy(problem: ConstantsProblem, solution: Solution) -> Solution:
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
    return 2 if entry.name in DIRECT else 1 if entry.name in MEASURED else 0


def _order(solution: Solution, verdict: Verdict) -> tuple[bool, int, float]:
    """What to leave out first among equals: a usual slip, then what is computed, then the smallest error."""
    gone = [solution.problem.equations[k] for k in solution.left_out]
    slipped = any(e is slip.entry for e in gone for slip in verdict.slips)
    size = sum(abs(solution.off[k]) for k in solution.left_out)
    return not slipped, sum(_rank(e) for e in gone), size


def _finish(solution: Solution, others: Iterable[Solution] = ()) -> Agreement:
    """With what is left as printed, where it agrees even so."""
    sharp = solution.problem.solve(solution.left_out, ordinary=False)
    chosen = sharp if sharp.agrees else solution.problem.solve(solution.left_out)
    gone = tuple(_disagreement(chosen, k) for k in sorted(chosen.left_out))
    named = {id(d.entry) for d in gone}
    more = [_disagreement(s, k) for s in others for k in sorted(s.left_out)]
    seen = {id(d.entry): d for d in more if id(d.entry) not in named}
    return Agreement(chosen, gone, _conceivable(seen.values(), (*gone, *seen.values())))


def _conceivable(some: Iterable[Disagreement], all_: Iterable[Disagreement]) -> tuple[Disagreement, ...]:
    """Without those that would have to be absurdly wrong where a small error explains the sheet as well."""
    most = max(math.log(5.0), 3.0 * min((d.size for d in all_), default=0.0))
    return tuple(d for d in some if d.size <= most)


def _disagreement(solution: Solution, k: int | None = None) -> Disagreement:
    """What a solution says about an entry that was left out of it."""
    entry = solution.problem.equations[min(solution.left_out) if k is None else k]
    return Disagreement(entry, solution.problem.predict(entry, solution.constants) or math.nan)
