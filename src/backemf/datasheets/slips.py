"""Slips: which single printed number, off by a factor that is usual for its kind, would explain what
disagrees."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

from ..units import GRAVITY
from .datasheet import Datasheet
from .entries import ENTRIES
from .printed import Entry
from .relations import Relation, relations

_TURNING = ("rad/s", "rad/(s V)", "V s/rad", "rad/(s N m)")
_TORQUES = ("N m", "N m/A", "N m s/rad")
_PREFIXED = re.compile(r"(?<![A-Za-z])[mku]?(?:N ?m|N|A|V|H|[oO]hm|Ω|s|g|W)(?![A-Za-z])")
_ELECTRICAL = ("resistance", "inductance", "torque_constant", "back_emf_constant", "speed_constant")


def _turning(sheet: Datasheet, e: Entry) -> bool:
    return ENTRIES[e.name].unit in _TURNING


def _weight(sheet: Datasheet, e: Entry) -> bool:
    return ENTRIES[e.name].unit in _TORQUES


def _prefixed(sheet: Datasheet, e: Entry) -> bool:
    """Whether its unit has, or could have had, a milli in front."""
    return ENTRIES[e.name].unit not in ("1", "rad/s", "degC") and bool(_PREFIXED.search(e.printed.text))


def _phases(sheet: Datasheet, e: Entry) -> bool:
    return sheet.motor == "brushless" and (e.name in _ELECTRICAL or e.name.endswith("_current"))


class Usual(NamedTuple):
    """A factor that numbers are usually wrong by, and the entries that it can happen to."""

    factor: float
    happens: Callable[[Datasheet, Entry], bool]


SLIPS = {
    "60 (per minute for per second)": Usual(60.0, _turning),
    "2 pi (turns for radians)": Usual(2 * math.pi, _turning),
    "60 / 2 pi (rpm for rad/s)": Usual(30 / math.pi, _turning),
    "9.81 (newtons for kilograms-force)": Usual(GRAVITY, _weight),
    "1000 (milli)": Usual(1000.0, _prefixed),
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
        return self.left_out is None and any(r.code == "torque_and_back_emf_constant" for r in self.broken)


def judge(sheet: Datasheet) -> Verdict:
    rows = list(relations(sheet))
    broken = [r for r in rows if not r.holds(r.values)]
    return Verdict(broken, _slips(sheet, rows, broken))


def _slips(sheet: Datasheet, rows: list[Relation], broken: list[Relation]) -> list[Slip]:
    """Single entries that, multiplied by one of the usual factors,
    would make every relation they stand in hold."""
    mending: list[tuple[int, Slip]] = []
    for entry in {id(e): e for r in broken for e in r.entries if e.kind != "assumed"}.values():
        mine = [r for r in rows if any(e is entry for e in r.entries)]
        n_broken = sum(any(e is entry for e in r.entries) for r in broken)
        # Where gears leave a range, a small factor always fits somewhere and proves nothing.
        loose = any(r in broken and r.allowed != (1.0, 1.0) for r in mine)
        possible = {words: usual.factor for words, usual in SLIPS.items() if usual.happens(sheet, entry)}
        for words, factor in possible.items():
            for f in (factor, 1 / factor) if factor > 5 or not loose else ():
                values = [tuple(e.value * f if e is entry else e.value for e in r.entries) for r in mine]
                if all(r.holds(v, 0.05) for r, v in zip(mine, values, strict=True)):
                    mending.append((n_broken, Slip(entry, f, words)))
    most = max((n for n, _ in mending), default=0)  # the slip that explains most of what is broken
    return [slip for n, slip in mending if n == most]
