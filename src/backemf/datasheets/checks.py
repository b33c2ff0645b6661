"""What a sheet says that cannot all be true, what is implausible, and what is missing; each with its
remedy."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..findings import Finding, finding
from ..tables import number
from .agreement import Agreement, Disagreement, Verdict
from .datasheet import Datasheet, Reconciliation, dc_factor
from .relations import LEAST_EFFICIENCY

EFFECTS = {
    "acceleration of a light load": {"rotor_inertia", "mechanical_time_constant", "reflected_inertia"},
    "the rise of the current": {"inductance", "electrical_time_constant"},
    "heating": {"thermal_resistance", "thermal_resistance_winding", "thermal_resistance_housing"},
    "friction": {"no_load_current", "coulomb_torque"},
    "torque per ampere": {"stall_current", "resistance", "torque_constant", "torque_speed"},
}
"""Effects, and the entries of which each needs at least one."""
UNSAID = {
    "resistance": ("line to line", "phase"),
    "inductance": ("line to line", "phase"),
    "torque_constant": ("per DC ampere", "rms"),
    "back_emf_constant": ("line to line, peak", "phase rms"),
    "nominal_current": ("DC", "rms"),
    "peak_current": ("DC", "rms"),
    "stall_current": ("DC", "rms"),
}
"""Brushless entries that need a convention: what they are taken as without one, and what they may be too."""


def findings(
    sheet: Datasheet, verdict: Verdict, agreement: Agreement, solved: Reconciliation
) -> list[Finding]:
    """Contradictions, slips that would explain them, implausible values, and what is missing for which
    effect.

    Args:
        sheet: as printed.
        verdict: what its relations tell before anything is solved.
        agreement: its solution, and what was left out of it.
        solved: the constants of that solution.

    Returns:
        One finding for each, in this order.
    """
    return [
        *_contradictions(verdict),
        *_limited_speeds(agreement),
        *_disagreements(verdict, agreement),
        *_slips(verdict, agreement),
        *_drag(agreement),
        *_conventions(sheet),
        *_efficiency(sheet, solved),
        *_peaks(sheet),
        *_missing(sheet),
    ]


def _contradictions(verdict: Verdict) -> list[Finding]:
    by: dict[tuple[str, tuple[str, ...]], Finding] = {}
    for r in verdict.broken:
        left, right = r.sides(*r.values)
        ratio = left / right if right else math.inf
        assumed = [e.name for e in r.entries if e.kind == "assumed"]
        remark = f" ({', '.join(assumed)} is an assumption, not printed)" if assumed else ""
        text = (
            f"{r.text} disagree: {number(left)} against {number(right)} {r.unit}, a factor of"
            f" {number(ratio, 3)}{remark}."
        )
        key = (r.code, tuple(sorted(e.name for e in r.entries)))
        by.setdefault(key, finding(r.code, text, r.remedy, left=left, right=right, ratio=ratio))
    return list(by.values())


def _limited_speeds(agreement: Agreement) -> Iterator[Finding]:
    """Speeds that electronics limit: nothing else on the sheet is wrong for that."""
    for d in agreement.limited:
        yield finding(
            "speed_limited",
            f"{d.entry} is {number(d.factor, 3)} of the {number(d.others)} rad/s that voltage and constants"
            " give: its electronics limit the speed. The constants stay as printed.",
            f"command no more than {number(d.entry.value)} rad/s: the model has no such limit and would run"
            f" to {number(d.others)}; its highest speed without load at full voltage would show the limit",
            limit=d.entry.value,
            unlimited=d.others,
            factor=d.factor,
        )


def _disagreements(verdict: Verdict, agreement: Agreement) -> Iterator[Finding]:
    """The entries that were left out, and those that would explain the contradiction as well."""
    others = "; ".join(f"{d.entry} ({_against(d)})" for d in agreement.alternatives)
    said = [e for r in verdict.broken for e in r.entries]
    hidden = [d for d in agreement.alternatives if not any(d.entry is e for e in said)]
    if agreement.apart and not agreement.left_out and hidden:
        yield finding(
            "entry_disagrees",
            f"torque and back-EMF constant are kept apart; one wrong entry would explain it too: {others}.",
            "look these entries up again; a torque per locked ampere settles it",
            factor=agreement.alternatives[0].factor,
        )
    for d in agreement.left_out:
        if d in agreement.limited or any(d.entry is slip.entry for slip in verdict.slips):
            continue  # said as a limit, or with its factor as a slip
        instead = f" It could also be: {others}." if others else ""
        yield finding(
            "entry_disagrees",
            f"{d.entry} does not agree with the rest of the sheet: {_against(d)}; it is left out.{instead}",
            "look it up on the sheet, with its unit and its conditions; measure it if it matters",
            printed=d.entry.value,
            others=d.others,
            factor=d.factor,
        )


def _against(d: Disagreement) -> str:
    return (
        f"{number(d.entry.value)} {d.entry.printed.unit} printed, {number(d.others)} by the others,"
        f" a factor of {number(d.factor, 3)}"
    )


def _slips(verdict: Verdict, agreement: Agreement) -> Iterator[Finding]:
    """Usual slips of the entries that the sheet contradicts; of any entry where none had to be left out."""
    blamed = [d.entry for d in (*agreement.left_out, *agreement.alternatives)]
    slips = [s for s in verdict.slips if not blamed or any(s.entry is e for e in blamed)]
    if not slips:
        return
    ways = "; or ".join(
        f"{e} is too {'small' if factor > 1 else 'large'} by a factor of {words}"
        for e, factor, words in slips
    )
    names = list(dict.fromkeys(slip.entry.name for slip in slips))
    alone = "With that, every relation it stands in holds."
    follows = alone if len(slips) == 1 else "Each alone would reconcile the sheet."
    left = [d.entry.name for d in agreement.left_out if any(d.entry is s.entry for s in slips)]
    follows += f" {' and '.join(left)} is left out of the solution." if left else ""
    remedy = f"look up the unit and the convention of {' or '.join(names)} on the sheet"
    yield finding("unit_slip", f"{ways}. {follows}", remedy, factor=slips[0].factor)


def _drag(agreement: Agreement) -> Iterator[Finding]:
    both = agreement.solution.problem.negative_drag
    if both is not None:
        dry, idle = both
        yield finding(
            "negative_viscous_drag",
            f"dry friction is {number(dry)} N m, but the no-load current gives {number(idle)} N m: nothing"
            " is left for viscous drag, and something is missing.",
            "look up both; a maker's friction torque is often a limit, not what the motor has",
            coulomb=dry,
            no_load=idle,
        )


def _conventions(sheet: Datasheet) -> Iterator[Finding]:
    """Brushless numbers without a word on how they are counted."""
    if sheet.motor != "brushless":
        return
    silent = [e for e in sheet.entries if e.name in UNSAID and not e.convention]
    if not silent:
        return
    texts = []
    for e in silent:
        taken, other = UNSAID[e.name]
        factor = dc_factor(e.name, other)
        texts.append(
            f"{e.name} {e.printed.text} is taken as {taken} (if {other}, it is {number(factor, 3)} times)"
        )
    worst = max(abs(math.log(dc_factor(e.name, UNSAID[e.name][1]))) for e in silent)
    yield finding(
        "convention_not_said",
        f"the sheet does not say how it counts: {'; '.join(texts)}.",
        'give the entry its convention: "line" or "phase" for a winding, "dc", "rms" or "peak" for amperes',
        factor=math.exp(worst),
    )


def _efficiency(sheet: Datasheet, solved: Reconciliation) -> Iterator[Finding]:
    if "eta" not in solved.constants or sheet.all("gear_efficiency"):
        return
    eta = solved.constants["eta"].value
    pressed = eta > 0.999 and any(
        not r.within_rounding for r in solved.residuals if r.entry.kind != "assumed"
    )
    if eta < LEAST_EFFICIENCY or pressed:
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
        if a is None or b is None or a.side != b.side or a.kind == "peak":
            continue
        if b.value <= 0 or a.value <= 0.6 * b.value:
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
