"""Two ways to the same number, from printed entries only: what must agree on every sheet (MuJoCo's DC-motor
note, table 19)."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..analysis.motor_constants import ORDINARY, derive
from ..physics.steady import Line
from .datasheet import ENTRIES, Datasheet, Entry

MARGIN = ORDINARY
"""Relative disagreement beyond the printed rounding that is still taken as ordinary tolerance."""
LEAST_EFFICIENCY = 0.5
"""Below this no sound spur or planetary gear train runs; worm gears do, and say so."""
ANY_VOLTAGE = {
    "resistance",
    "torque_constant",
    "back_emf_constant",
    "speed_constant",
    "rotor_inertia",
    "inductance",
}
"""Entries that hold at every voltage."""
CONVERSION = "compare the entry's unit and its conditions with the sheet; measure the one that matters most"

Values = tuple[float, ...]


class Relation(NamedTuple):
    """Two ways to the same number, for the entries of one sheet."""

    code: str
    text: str
    remedy: str
    entries: tuple[Entry, ...]
    sides: Callable[..., tuple[float, float]]
    """(*values of the entries) -> (one way, the other way)."""
    unit: str
    allowed: tuple[float, float] = (1.0, 1.0)
    """Ratios that physics explains: behind gears torque per ampere may fall short of the back-EMF constant.
    """

    @property
    def values(self) -> Values:
        return tuple(e.value for e in self.entries)

    def has(self, entry: Entry) -> bool:
        """Whether an entry stands in it."""
        return any(e is entry for e in self.entries)

    def ratio(self, values: Values) -> float:
        """One way over the other for these values; NaN where either is not above 0."""
        left, right = self.sides(*values)
        return left / right if left > 0 and right > 0 else math.nan

    def rounding(self, values: Values) -> float:
        """How far the printed digits of all entries together move the logarithm of that ratio."""
        ratio, rounding = self.ratio(values), 0.0
        for k, e in enumerate(self.entries):
            moved = self.ratio((*values[:k], values[k] * (1 + e.half / e.value), *values[k + 1 :]))
            rounding += abs(math.log(moved / ratio)) if moved > 0 and ratio > 0 else math.inf
        return rounding

    def holds(self, values: Values, margin: float = MARGIN) -> bool:
        """Whether both ways agree within the printed rounding and an ordinary margin."""
        ratio, slack = self.ratio(values), self.rounding(values) + margin
        low, high = (math.log(x) for x in self.allowed)
        return ratio > 0 and low - slack <= math.log(ratio) <= high + slack


class EntryRelation(NamedTuple):
    """A relation between entries by name, for any sheet."""

    code: str
    text: str
    names: tuple[str, ...]
    sides: Callable[..., tuple[float, float]]
    """(sheet, voltage, *values of the entries) -> (one way, the other way)."""
    remedy: str = CONVERSION
    lossy: bool = False
    """Whether the gears' losses explain a part of the difference."""
    of: str = ""
    """The entry that both ways lead to; empty: the first."""


def _constants_of_stall(sheet: Datasheet, V: float, tau: float, i: float, w: float) -> tuple[float, float]:
    """Torque per ampere at stall, and volts per speed at no load."""
    drag = sheet.get("no_load_current", V)
    i_0 = drag.value if drag is not None and drag.voltage == V else 0.0
    R = derive("R", V=V, I_s=i)
    return derive("K_t", tau_s=tau, I_s=i), derive("K_e", V=V, R=R, I_0=i_0, w_0=w)


def _shaft_torque(sheet: Datasheet, V: float, tau: float, K: float, i: float) -> tuple[float, float]:
    """Makers print K I, or K (I - I_0): whichever is nearer counts."""
    i_0 = sheet.value("no_load_current") or 0.0
    both = (K * i, K * max(i - i_0, 1e-12))
    return tau, min(both, key=lambda x: abs(math.log(tau / x)))


ONE_CONSTANT = "torque_and_back_emf_constant"


def _rules_of(constant: str) -> Iterator[EntryRelation]:
    """What follows from either of the two constants."""
    words = constant.replace("_", " ")
    yield EntryRelation(
        "stall_torque",
        f"stall torque and {words} x stall current",
        ("stall_torque", constant, "stall_current"),
        _shaft_torque,
    )
    yield EntryRelation(
        "no_load_speed",
        f"no-load speed and (V - R I_0) / {words}",
        ("no_load_speed", constant, "resistance", "no_load_current"),
        lambda sheet, V, w, K, R, i_0: (w, derive("w_0", V=V, R=R, I_0=i_0, K_e=K)),
        lossy=constant == "torque_constant",
    )
    yield EntryRelation(
        "gradient",
        "speed/torque gradient and R / K^2",
        ("speed_torque_gradient", "resistance", constant),
        lambda sheet, V, gradient, R, K: (gradient, Line(R, K, K).gradient),
    )
    yield EntryRelation(
        "mechanical_time_constant",
        "mechanical time constant and R J / K^2",
        ("mechanical_time_constant", "resistance", "rotor_inertia", constant),
        lambda sheet, V, t_m, R, J, K: (t_m, Line(R, K, K).time_constant(J)),
    )
    yield EntryRelation(
        "nominal_torque",
        f"nominal torque and {words} x nominal current",
        ("nominal_torque", constant, "nominal_current"),
        _shaft_torque,
    )


RULES = (
    EntryRelation(
        ONE_CONSTANT,
        "torque constant and back-EMF constant, which energy makes equal",
        ("torque_constant", "back_emf_constant"),
        lambda sheet, V, K_t, K_e: (K_t, K_e),
        lossy=True,
    ),
    EntryRelation(
        ONE_CONSTANT,
        "torque constant and 1 / speed constant, which energy makes equal",
        ("torque_constant", "speed_constant"),
        lambda sheet, V, K_t, k_n: (K_t, derive("K_e", K_v=k_n)),
        lossy=True,
    ),
    EntryRelation(
        ONE_CONSTANT,
        "stall torque / stall current and (V - R I_0) / no-load speed, which energy makes equal",
        ("stall_torque", "stall_current", "no_load_speed"),
        _constants_of_stall,
        "measure the no-load speed and the locked-rotor current at one voltage",
        lossy=True,
        of="torque_constant",
    ),
    EntryRelation(
        "resistance_and_stall_current",
        "resistance and voltage / stall current",
        ("resistance", "stall_current"),
        lambda sheet, V, R, i: (R, derive("R", V=V, I_s=i)),
        "measure current and voltage with the rotor locked",
    ),
    *_rules_of("torque_constant"),
    *_rules_of("back_emf_constant"),
    EntryRelation(
        "electrical_time_constant",
        "electrical time constant and L / R",
        ("electrical_time_constant", "inductance", "resistance"),
        lambda sheet, V, t_e, L, R: (t_e, L / R),
    ),
)


def relations(sheet: Datasheet) -> Iterator[Relation]:
    """Every rule whose entries are printed, on the same side and at the same voltage; and what is printed
    twice."""
    by = {name: [e for e in sheet.entries if e.name == name and e.value > 0] for name in ENTRIES}
    for rule in RULES:
        for entries in itertools.product(*(by[name] for name in rule.names)):
            relation = _relation(sheet, rule, entries)
            if relation is not None:
                yield relation
    for name, entries in by.items():
        for a, b in itertools.combinations(entries, 2):
            yield from _twice(sheet, name, a, b)


def _relation(sheet: Datasheet, rule: EntryRelation, entries: tuple[Entry, ...]) -> Relation | None:
    """A rule for entries of one sheet; None where they differ in side or voltage."""
    geared = [e for e in entries if ENTRIES[e.name].gear]
    volts = {e.voltage for e in entries if e.name not in ANY_VOLTAGE}
    if len({e.side for e in geared}) > 1 or len(volts) > 1:
        return None
    at = next(iter(volts), None) or sheet.voltage
    behind = sheet.kind != "motor" and any(e.side == "output" for e in geared)
    allowed = (LEAST_EFFICIENCY, 1.0) if rule.lossy and behind else (1.0, 1.0)
    sides = functools.partial(rule.sides, sheet, at)
    unit = ENTRIES[rule.of or rule.names[0]].unit
    return Relation(rule.code, rule.text, rule.remedy, entries, sides, unit, allowed)


def _twice(sheet: Datasheet, name: str, a: Entry, b: Entry) -> Iterator[Relation]:
    """One quantity printed twice under the same conditions."""
    kind, ratio = ENTRIES[name], sheet.value("gear_ratio")
    same = (a.voltage, a.temperature, a.kind) == (b.voltage, b.temperature, b.kind)
    if not same or (a.side != b.side and (ratio is None or kind.lossy)):
        return
    to_output = 1.0 if ratio is None or a.side == b.side else ratio**kind.gear
    n_a, n_b = (to_output if e.side == "rotor" else 1.0 for e in (a, b))
    yield Relation(
        f"{name}_twice",
        f"{name.replace('_', ' ')} printed twice",
        "one of the two was converted wrongly: look it up again",
        (a, b),
        lambda x, y: (x * n_a, y * n_b),
        kind.unit,
    )
