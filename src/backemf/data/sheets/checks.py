"""What a sheet says that cannot all be true, what is implausible, and what is missing; each with its
remedy."""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import Finding, finding
from ...tables import number
from .datasheet import Datasheet
from .relations import LEAST_EFFICIENCY
from .slips import Verdict
from .solved import Reconciled

EFFECTS = {
    "acceleration of a light load": {"rotor_inertia", "mechanical_time_constant"},
    "the rise of the current": {"inductance", "electrical_time_constant"},
    "heating": {"thermal_resistance", "thermal_resistance_winding", "thermal_resistance_housing"},
    "friction": {"no_load_current", "coulomb_torque"},
    "torque per ampere": {"stall_current", "resistance", "torque_constant"},
}
"""Effects, and the entries of which each needs at least one."""


def findings(sheet: Datasheet, verdict: Verdict, solved: Reconciled) -> list[Finding]:
    """Contradictions, slips that would explain them, implausible values,
    and what is missing for which effect."""
    return [
        *_contradictions(verdict),
        *_slips(verdict),
        *_efficiency(sheet, solved),
        *_peaks(sheet),
        *_missing(sheet),
    ]


def _contradictions(verdict: Verdict) -> list[Finding]:
    by: dict[tuple[str, tuple[str, ...]], Finding] = {}
    for r in verdict.broken:
        left, right = r.sides(*r.values)
        ratio = left / right
        assumed = [e.name for e in r.entries if e.kind == "assumed"]
        remark = f" ({', '.join(assumed)} is an assumption, not printed)" if assumed else ""
        text = (
            f"{r.text} disagree: {number(left)} against {number(right)} {r.unit}, a factor of"
            f" {number(ratio, 3)}{remark}."
        )
        key = (r.code, tuple(sorted(e.name for e in r.entries)))
        by.setdefault(key, finding(r.code, text, r.remedy, left=left, right=right, ratio=ratio))
    return list(by.values())


def _slips(verdict: Verdict) -> Iterator[Finding]:
    if not verdict.slips:
        return
    ways = "; or ".join(
        f"{e} is too {'small' if factor > 1 else 'large'} by a factor of {words}"
        for e, factor, words in verdict.slips
    )
    follows = (
        "Each alone would reconcile the sheet."
        if verdict.left_out is None
        else "With that, every relation it stands in holds; it is left out of the solution."
    )
    names = " or ".join(dict.fromkeys(slip.entry.name for slip in verdict.slips))
    remedy = f"look up the unit and the convention of {names} on the sheet"
    yield finding("unit_slip", f"{ways}. {follows}", remedy, factor=verdict.slips[0].factor)


def _efficiency(sheet: Datasheet, solved: Reconciled) -> Iterator[Finding]:
    if "eta" not in solved.constants or sheet.all("gear_efficiency"):
        return
    eta = solved.constants["eta"].value
    if eta < LEAST_EFFICIENCY or eta > 0.999:
        yield finding(
            "implausible_efficiency",
            f"the sheet needs a gear efficiency of {number(eta, 3)}: stall torque and speed do not belong to"
            " one motor.",
            "measure the no-load speed and the locked-rotor current; a stall torque limited by the"
            " electronics also looks like this",
            efficiency=eta,
        )
    else:
        yield finding(
            "gear_efficiency",
            f"torque per ampere is {number(eta, 3)} of the back-EMF constant: the gears must have that"
            " efficiency.",
            "nothing to mend; back-driving it takes accordingly more",
            efficiency=eta,
        )


def _peaks(sheet: Datasheet) -> Iterator[Finding]:
    for rated, most in (("nominal_torque", "stall_torque"), ("nominal_current", "stall_current")):
        a, b = sheet.get(rated), sheet.get(most)
        if a is None or b is None or a.side != b.side or a.kind == "peak" or a.value <= 0.6 * b.value:
            continue
        text = (
            f"{a} is {number(a.value / b.value, 2)} of the {most.replace('_', ' ')}: that looks like a peak"
            " value printed as continuous."
        )
        remedy = "do not hold it for long before its heating is measured"
        yield finding("peak_as_continuous", text, remedy, ratio=a.value / b.value)


def _missing(sheet: Datasheet) -> Iterator[Finding]:
    printed = {e.name for e in sheet.entries}
    lacking = "; ".join(
        f"{effect} ({' or '.join(name.replace('_', ' ') for name in sorted(names))})"
        for effect, names in EFFECTS.items()
        if not printed & names
    )
    if lacking:
        text = f"the sheet has nothing on {lacking}."
        yield finding("missing", text, "measure it, or fit it from a log")
