"""Slips: which single printed number, off by one of the usual factors, would explain what disagrees."""

from __future__ import annotations

import math
from typing import NamedTuple

from ...units import GRAVITY
from .datasheet import Datasheet
from .printed import Entry
from .relations import Relation, relations

SLIPS = {
    "2": 2.0,
    "9.81 (newtons for kilograms-force)": GRAVITY,
    "60 (per minute for per second)": 60.0,
    "1000 (milli)": 1000.0,
    "2 pi (turns for radians)": 2 * math.pi,
    "sqrt 2 (peak for RMS)": math.sqrt(2),
    "sqrt 3 (line for phase)": math.sqrt(3),
    "3/2 (peak torque convention)": 1.5,
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
        return not self.suspects and any(r.code == "torque_and_back_emf_constant" for r in self.broken)


def judge(sheet: Datasheet) -> Verdict:
    rows = list(relations(sheet))
    broken = [r for r in rows if not r.holds(r.values)]
    return Verdict(broken, _slips(rows, broken))


def _slips(rows: list[Relation], broken: list[Relation]) -> list[Slip]:
    """Single entries that, multiplied by one of the usual factors,
    would make every relation they stand in hold."""
    mending: list[tuple[int, Slip]] = []
    for entry in {id(e): e for r in broken for e in r.entries if e.kind != "assumed"}.values():
        mine = [r for r in rows if any(e is entry for e in r.entries)]
        n_broken = sum(any(e is entry for e in r.entries) for r in broken)
        # Where gears leave a range, a small factor always fits somewhere and proves nothing.
        loose = any(r in broken and r.allowed != (1.0, 1.0) for r in mine)
        for words, factor in SLIPS.items():
            for f in (factor, 1 / factor) if factor > 5 or not loose else ():
                values = [tuple(e.value * f if e is entry else e.value for e in r.entries) for r in mine]
                if all(r.holds(v, 0.05) for r, v in zip(mine, values, strict=True)):
                    mending.append((n_broken, Slip(entry, f, words)))
    most = max((n for n, _ in mending), default=0)  # the slip that explains most of what is broken
    return [slip for n, slip in mending if n == most]
