"""What a sheet says that cannot all be true, and which single slip would explain it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ...findings import Finding
from ...tables import number
from ...units import GRAVITY
from .datasheet import Datasheet, Entry
from .entries import ENTRIES

if TYPE_CHECKING:
    from .reconcile import Reconciled

MARGIN = 0.03
"""Relative disagreement beyond the printed rounding that is still taken as ordinary tolerance."""
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
LEAST_EFFICIENCY = 0.5
"""Below this no sound spur or planetary gear train runs; worm gears do, and say so."""


class Relation(NamedTuple):
    """Two ways to the same number, from printed entries only."""

    code: str
    text: str
    remedy: str
    entries: tuple[Entry, ...]
    sides: Callable[[tuple[float, ...]], tuple[float, float]]
    """Values of the entries -> (one way, the other way)."""
    unit: str
    allowed: tuple[float, float] = (1.0, 1.0)
    """Ratios that physics explains: behind gears torque per ampere may fall short of the back-EMF constant.
    """

    def ratio(self, values: tuple[float, ...]) -> float:
        left, right = self.sides(values)
        return left / right if left > 0 and right > 0 else math.nan

    def holds(self, values: tuple[float, ...], most_rounding: float = math.inf) -> bool:
        """Whether both ways agree within the printed rounding and an ordinary tolerance."""
        ratio = self.ratio(values)
        rounding = 0.0
        for k, e in enumerate(self.entries):
            moved = tuple(v * (1 + e.half / e.value) if j == k else v for j, v in enumerate(values))
            rounding += (
                abs(math.log(self.ratio(moved) / ratio)) if self.ratio(moved) > 0 and ratio > 0 else math.inf
            )
        slack = min(rounding, most_rounding) + MARGIN
        return (
            ratio > 0
            and math.log(self.allowed[0]) - slack <= math.log(ratio) <= math.log(self.allowed[1]) + slack
        )


def relations(sheet: Datasheet) -> Iterator[Relation]:
    """Every relation of table 19 whose entries are printed, on the same side and at the same voltage."""
    by = {name: [e for e in sheet.entries if e.name == name and e.value > 0] for name in ENTRIES}

    def together(*names: str) -> Iterator[tuple[Entry, ...]]:
        for found in itertools.product(*(by[n] for n in names)):
            sided = {e.side for e in found if ENTRIES[e.name].gear}
            volts = {
                e.voltage
                for e in found
                if e.name
                not in (
                    "resistance",
                    "torque_constant",
                    "back_emf_constant",
                    "speed_constant",
                    "rotor_inertia",
                    "inductance",
                )
            }
            if len(sided) <= 1 and len(volts) <= 1:
                yield found

    gears = (LEAST_EFFICIENCY, 1.0)

    def explained(e: tuple[Entry, ...]) -> tuple[float, float]:
        return (
            gears
            if sheet.kind != "motor" and any(x.side == "output" for x in e if ENTRIES[x.name].gear)
            else (1.0, 1.0)
        )

    check_conversion = (
        "compare the entry's unit and its conditions with the sheet; measure the one that matters most"
    )
    for e in together("torque_constant", "back_emf_constant"):
        yield Relation(
            "torque_and_back_emf_constant",
            "torque constant and back-EMF constant, which energy makes equal",
            check_conversion,
            e,
            lambda v: (v[0], v[1]),
            "N m/A",
            explained(e),
        )
    for e in together("torque_constant", "speed_constant"):
        yield Relation(
            "torque_and_back_emf_constant",
            "torque constant and 1 / speed constant, which energy makes equal",
            check_conversion,
            e,
            lambda v: (v[0], 1 / v[1]),
            "N m/A",
            explained(e),
        )
    for e in together("stall_torque", "stall_current", "no_load_speed"):
        V, drag = e[0].voltage or sheet.voltage, sheet.get("no_load_current", e[0].voltage)
        i0 = drag.value if drag is not None and drag.voltage == e[0].voltage else 0.0
        yield Relation(
            "torque_and_back_emf_constant",
            "stall torque / stall current and (V - R I_0) / no-load speed, which energy makes equal",
            "measure the no-load speed and the locked-rotor current at one voltage",
            e,
            lambda v, V=V, i0=i0: (v[0] / v[1], (V - V / v[1] * i0) / v[2]),
            "N m/A",
            explained(e),
        )
    for e in together("resistance", "stall_current"):
        yield Relation(
            "resistance_and_stall_current",
            "resistance and voltage / stall current",
            "measure current and voltage with the rotor locked",
            e,
            lambda v, V=e[1].voltage or sheet.voltage: (v[0], V / v[1]),
            "ohm",
        )
    for constant in ("torque_constant", "back_emf_constant"):
        for e in together("stall_torque", constant, "stall_current"):
            yield Relation(
                "stall_torque",
                f"stall torque and {constant.replace('_', ' ')} x stall current",
                check_conversion,
                e,
                lambda v: (v[0], v[1] * v[2]),
                "N m",
            )
        for e in together("no_load_speed", constant, "resistance", "no_load_current"):
            yield Relation(
                "no_load_speed",
                f"no-load speed and (V - R I_0) / {constant.replace('_', ' ')}",
                check_conversion,
                e,
                lambda v, V=e[0].voltage or sheet.voltage: (v[0], (V - v[2] * v[3]) / v[1]),
                "rad/s",
            )
        for e in together("speed_torque_gradient", "resistance", constant):
            yield Relation(
                "gradient",
                "speed/torque gradient and R / K^2",
                check_conversion,
                e,
                lambda v: (v[0], v[1] / v[2] ** 2),
                "rad/(s N m)",
            )
        for e in together("mechanical_time_constant", "resistance", "rotor_inertia", constant):
            yield Relation(
                "mechanical_time_constant",
                "mechanical time constant and R J / K^2",
                check_conversion,
                e,
                lambda v: (v[0], v[1] * v[2] / v[3] ** 2),
                "s",
            )
        for e in together("nominal_torque", constant, "nominal_current"):
            yield Relation(
                "nominal_torque",
                f"nominal torque and {constant.replace('_', ' ')} x nominal current",
                check_conversion,
                e,
                nominal(sheet),
                "N m",
            )
    for e in together("electrical_time_constant", "inductance", "resistance"):
        yield Relation(
            "electrical_time_constant",
            "electrical time constant and L / R",
            check_conversion,
            e,
            lambda v: (v[0], v[1] / v[2]),
            "s",
        )
    ratio = sheet.get("gear_ratio")
    for name, found in by.items():
        for a, b in itertools.combinations(found, 2):
            if (
                a.voltage != b.voltage
                or a.temperature != b.temperature
                or a.kind != b.kind
                or (a.side != b.side and (ratio is None or ENTRIES[name].lossy))
            ):
                continue
            n = 1.0 if ratio is None else ratio.value
            ka, kb = (
                n ** ENTRIES[name].gear if e.side == "rotor" and a.side != b.side else 1.0 for e in (a, b)
            )
            yield Relation(
                f"{name}_twice",
                f"{name.replace('_', ' ')} printed twice",
                "one of the two was converted wrongly: look it up again",
                (a, b),
                lambda v, ka=ka, kb=kb: (v[0] * ka, v[1] * kb),
                ENTRIES[name].unit,
            )


def nominal(sheet: Datasheet) -> Callable[[tuple[float, ...]], tuple[float, float]]:
    """Makers print K I_n, or K (I_n - I_0): whichever is nearer counts."""
    drag = sheet.get("no_load_current")
    i0 = 0.0 if drag is None else drag.value

    def sides(v: tuple[float, ...]) -> tuple[float, float]:
        both = (v[1] * v[2], v[1] * max(v[2] - i0, 1e-12))
        return v[0], min(both, key=lambda x: abs(math.log(v[0] / x)))

    return sides


class Verdict(NamedTuple):
    """What the relations of a sheet tell before anything is solved."""

    broken: list[Relation]
    slips: list[tuple[Entry, float, str]]
    """(entry, factor that would mend it, the factor's name)."""

    @property
    def suspects(self) -> list[Entry]:
        """Entries that a usual slip explains; none where it could be almost any of them."""
        found = list({id(e): e for e, _, _ in self.slips}.values())
        return found if len(found) <= 2 else []

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
    broken = [r for r in rows if not r.holds(tuple(e.value for e in r.entries))]
    return Verdict(broken, _slips(rows, broken))


def _slips(rows: list[Relation], broken: list[Relation]) -> list[tuple[Entry, float, str]]:
    """Single entries that, multiplied by one of the usual factors,
    would make every relation they stand in hold."""
    found = []
    for entry in {id(e): e for r in broken for e in r.entries if e.kind != "assumed"}.values():
        mine = [r for r in rows if any(e is entry for e in r.entries)]
        # Where gears leave a range, a small factor always fits somewhere and proves nothing.
        loose = any(r in broken and r.allowed != (1.0, 1.0) for r in mine)
        for name, factor in SLIPS.items():
            for f in (factor, 1 / factor) if factor > 5 or not loose else ():
                values = [tuple(e.value * f if e is entry else e.value for e in r.entries) for r in mine]
                if all(r.holds(v, 0.05) for r, v in zip(mine, values, strict=True)):
                    mended = sum(any(e is entry for e in r.entries) for r in broken)
                    found.append((mended, (entry, f, name)))
    most = max((n for n, _ in found), default=0)  # the slip that explains most of what is broken
    return [slip for n, slip in found if n == most]


def findings(sheet: Datasheet, verdict: Verdict, solved: Reconciled) -> list[Finding]:
    """Contradictions, slips that would explain them, implausible values,
    and what is missing for which effect."""
    found: dict[tuple[str, tuple[str, ...]], Finding] = {}
    for r in verdict.broken:
        left, right = r.sides(tuple(e.value for e in r.entries))
        assumed = [e.name for e in r.entries if e.kind == "assumed"]
        remark = f" ({', '.join(assumed)} is an assumption, not printed)" if assumed else ""
        found.setdefault(
            (r.code, tuple(sorted(e.name for e in r.entries))),
            Finding(
                code=r.code,
                text=(
                    f"{r.text} disagree: {number(left)} against {number(right)} {r.unit}, a factor of"
                    f" {number(left / right, 3)}{remark}."
                ),
                remedy=r.remedy,
                numbers={"left": left, "right": right, "ratio": left / right},
            ),
        )
    return [*found.values(), *_slip_finding(verdict), *_values(sheet, solved), *_missing(sheet)]


def _slip_finding(verdict: Verdict) -> list[Finding]:
    if not verdict.slips:
        return []
    ways = [
        f"{e} is too {'small' if f > 1 else 'large'} by a factor of {name}" for e, f, name in verdict.slips
    ]
    sure = verdict.left_out is not None
    text = "; or ".join(ways) + (
        ". With that, every relation it stands in holds; it is left out of the solution."
        if sure
        else ". Each alone would reconcile the sheet."
    )
    names = " or ".join(dict.fromkeys(e.name for e, _, _ in verdict.slips))
    return [
        Finding(
            code="unit_slip",
            text=text,
            remedy=f"look up the unit and the convention of {names} on the sheet",
            numbers={"factor": verdict.slips[0][1]},
        )
    ]


def _values(sheet: Datasheet, solved: Reconciled) -> list[Finding]:
    found = []
    eta = solved.constants.get("eta")
    if eta is not None and not sheet.all("gear_efficiency"):
        if eta.value < LEAST_EFFICIENCY or eta.value > 0.999:
            found.append(
                Finding(
                    code="implausible_efficiency",
                    text=(
                        f"the sheet needs a gear efficiency of {number(eta.value, 3)}: stall torque and speed"
                        " do not belong to one motor."
                    ),
                    remedy=(
                        "measure the no-load speed and the locked-rotor current; a stall torque limited by"
                        " the electronics also looks like this"
                    ),
                    numbers={"efficiency": eta.value},
                )
            )
        else:
            found.append(
                Finding(
                    code="gear_efficiency",
                    text=(
                        f"torque per ampere is {number(eta.value, 3)} of the back-EMF constant: the gears"
                        " must have that efficiency."
                    ),
                    remedy="nothing to mend; back-driving it takes accordingly more",
                    numbers={"efficiency": eta.value},
                )
            )
    for rated, most in (("nominal_torque", "stall_torque"), ("nominal_current", "stall_current")):
        a, b = sheet.get(rated), sheet.get(most)
        if (
            a is not None
            and b is not None
            and a.side == b.side
            and a.value > 0.6 * b.value
            and a.kind != "peak"
        ):
            found.append(
                Finding(
                    code="peak_as_continuous",
                    text=(
                        f"{a} is {number(a.value / b.value, 2)} of the {most.replace('_', ' ')}: that looks"
                        " like a peak value printed as continuous."
                    ),
                    remedy="do not hold it for long before its heating is measured",
                    numbers={"ratio": a.value / b.value},
                )
            )
    return found


def _missing(sheet: Datasheet) -> list[Finding]:
    has = {e.name for e in sheet.entries}
    effects = {
        "acceleration of a light load": {"rotor_inertia", "mechanical_time_constant"},
        "the rise of the current": {"inductance", "electrical_time_constant"},
        "heating": {"thermal_resistance", "thermal_resistance_winding", "thermal_resistance_housing"},
        "friction": {"no_load_current", "coulomb_torque"},
        "torque per ampere": {"stall_current", "resistance", "torque_constant"},
    }
    lacking = {effect: sorted(names) for effect, names in effects.items() if not has & names}
    if not lacking:
        return []
    text = "; ".join(
        f"{effect} ({' or '.join(n.replace('_', ' ') for n in names)})" for effect, names in lacking.items()
    )
    return [
        Finding(
            code="missing",
            text=f"the sheet has nothing on {text}.",
            remedy="measure it, or fit it from a log",
            numbers={},
        )
    ]
