"""The sections of a fit's report that speak of logs, numbers and exports;
`behaviour` has those that draw the actuator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ..findings import Finding
from ..identify.predict import ROLES
from ..tables import number
from ..targets.export import Effect
from .behaviour import envelope, friction, hysteresis, identifiability, thermal
from .blocks import Block, Drawing, Findings, Paragraph, Section, Table, missing, note
from .contents import LogRow, Report
from .exported import Exported
from .figures.fit import ladder_bars, measured_and_predicted
from .stated import Compared

GIVE_LOGS = "give the recordings: backemf report FIT LOGS..."


def sections(report: Report) -> list[Section]:
    """The whole report, in order."""
    return [
        verdict(report),
        measured(report),
        numbers(report),
        findings(report),
        predictions(report),
        friction(report),
        envelope(report),
        hysteresis(report),
        thermal(report),
        identifiability(report),
        ladder(report),
        exports(report),
    ]


def unit_of(report: Report) -> str:
    """Unit of small positions: 1e-3 of the model's own."""
    return "mrad" if report.fit.actuator.motion == "rotary" else "mm"


def verdict(report: Report) -> Section:
    return Section(
        key="verdict",
        title="Verdict",
        blocks=[Paragraph(text=" ".join(report.verdict), kind=f"lead {report.level}")],
    )


def _setting(report: Report, path: str, value: float) -> str:
    known = report.fit.actuator.parameters
    unit = report.fit.actuator.unit(path) if path in known else "1"
    return f"{path.partition('.')[2].replace('_', ' ')} {number(value)}" + (f" {unit}" if unit != "1" else "")


def _recording(row: LogRow) -> str:
    if row.duration is None:
        return "-"
    rate = "" if row.rate is None else f" at {row.rate:.3g} Hz"
    return f"{row.duration:.3g} s{rate}"


def measured(report: Report) -> Section:
    unit, blocks = unit_of(report), []
    simulated = sum(row.simulated for row in report.logs)
    if simulated:
        who = (
            "Every log here is"
            if simulated == len(report.logs)
            else f"{simulated} of the {len(report.logs)} logs here {'is' if simulated == 1 else 'are'}"
        )
        blocks.append(
            Paragraph(
                text=f"{who} simulated, not recorded on a bench: the recordings say so themselves.",
                kind="banner",
            )
        )
    rows = []
    for row in sorted(report.logs, key=lambda r: ROLES.index(r.role)):
        settings = ", ".join(_setting(report, path, v) for path, v in row.settings.items())
        rows.append(
            (
                row.name,
                row.role + (", simulated" if row.simulated and simulated < len(report.logs) else ""),
                "-" if row.error is None else f"{1e3 * row.error:.3g}",
                _recording(row),
                row.bench,
                settings or "-",
            )
        )
    head = ("log", "used for", f"error [{unit}]", "recording", "bench", "settings")
    fit = report.fit
    blocks.append(Table(head=head, rows=rows))
    blocks.append(
        note(
            "The error is the mean absolute difference between recorded and predicted position; noise alone"
            f" would leave {1e3 * fit.noise_floor:.3g} {unit}."
        )
    )
    if any(row.bench == "not stored" for row in report.logs):
        blocks.append(missing(f"This fit does not say what its logs were recorded on; {GIVE_LOGS}."))
    for row in report.logs:
        if row.run is not None and row.run.another:
            stored = 1e3 * (row.stored or 0.0)
            blocks.append(
                missing(
                    f"{row.name}: the fit stored an error of {stored:.3g} {unit} for a log of this name; is"
                    " this the same recording?"
                )
            )
    return Section(key="logs", title="What was measured", blocks=blocks)


def _digits(value: float, error: float) -> int:
    """Digits that a value deserves: down to the second of its error."""
    if value == 0 or not error > 0:
        return 4
    return min(max(math.floor(math.log10(abs(value))) - math.floor(math.log10(error)) + 2, 2), 8)


def _compared(rows: Sequence[Compared], first: str, stated_as: str, caption: str = "") -> Table:
    """Numbers with their errors; columns that would be empty throughout are left out."""
    fitted, against = any(p.told_by for p in rows), any(p.stated is not None for p in rows)
    head = (first, "value", "error", *(("95 % interval",) if fitted else ()), "unit")
    head += (*((stated_as, "ratio", "z") if against else ()), *(("told by",) if fitted else ()))
    cells = []
    for p in rows:
        digits = _digits(p.value, p.error)
        stated = (
            "-"
            if p.stated is None
            else number(p.stated) + (f" ± {number(p.stated_error, 2)}" if p.stated_error else "")
        )
        ratio, z = (
            "-" if p.ratio is None else f"{p.ratio:.3f}",
            "-" if p.z is None else f"{p.z:+.1f}".replace("-0.0", "+0.0"),
        )
        between = (
            (f"{number(p.low, digits)} to {number(p.high, digits)}",)
            if p.low is not None and p.high is not None
            else ()
        )
        told = (*((stated, ratio, z) if against else ()), *((p.told_by,) if fitted else ()))
        cells.append((p.name, number(p.value, digits), number(p.error, 2), *between, p.unit, *told))
    return Table(head=head, rows=cells, caption=caption)


def numbers(report: Report) -> Section:
    where = f"the datasheet of {report.sheet.name}, or else " if report.sheet is not None else ""
    stated = "stated" if report.sheet is None else "datasheet"
    blocks: list[Block] = [_compared(report.parameters, "parameter", stated)]
    blocks.append(
        note(
            f"Errors are standard errors. {stated.capitalize()}: by {where}whoever started the fit. Ratio:"
            " found over stated. z: their difference in standard errors of both together; beyond 3 either"
            " way they disagree. Told by: whether the logs, what was stated, or both decide the value."
        )
    )
    if report.performance:
        blocks.append(_compared(report.performance, "what follows", stated, "At the output, winding cold"))
    if report.sheet is None:
        blocks.append(
            missing(
                "No datasheet to compare stall torque and no-load speed with; give one: --sheet NAME or"
                " FILE.toml."
            )
        )
    fit = report.fit
    fixed = {
        path: value for path, value in fit.actuator.parameters.items() if path not in fit.parameters and value
    }
    if fixed:
        words = ", ".join(
            f"{path} {number(value)}" + (f" {unit}" if (unit := fit.actuator.unit(path)) != "1" else "")
            for path, value in fixed.items()
        )
        blocks.append(note(f"Not fitted, taken as given: {words}."))
    return Section(key="parameters", title="Parameters", blocks=blocks)


def findings(report: Report) -> Section:
    found = report.fit.findings
    blocks: list[Block] = (
        [Findings(found=found)] if found else [Paragraph(text="The fit found nothing that needs a remedy.")]
    )
    by: dict[tuple[str, str], list[tuple[str, Finding]]] = {}
    for one in report.runs:
        for f in one.log.findings:
            by.setdefault((f.code, f.remedy), []).append((one.log.name, f))
    if by:
        blocks.append(Paragraph(text="Of the recordings", kind="heading"))
        merged = []
        for group in by.values():
            name, f = group[0]
            more = f" The same in {len(group) - 1} more." if len(group) > 1 else ""
            merged.append(replace(f, text=f"{name}: {f.text.rstrip('.')}.{more}"))
        blocks.append(Findings(found=merged))
    return Section(key="findings", title="Findings", blocks=blocks)


def predictions(report: Report) -> Section:
    unit, blocks = unit_of(report), []
    titles = {
        "training": "Logs it was fitted to",
        "held out": "Held-out logs: nothing was fitted to them",
        "not in the fit": "Other logs, not part of the fit",
    }
    for kind in ROLES:
        runs = [r for r in report.runs if r.role == kind]
        if runs:
            blocks.append(Paragraph(text=titles[kind], kind="heading"))
        for one in runs:
            figure = measured_and_predicted(one, one.log.name)
            blocks.append(
                Drawing(
                    figure=figure,
                    heading=one.log.name,
                    text=f"{kind}; off by {1e3 * one.error:.3g} {unit} on average",
                )
            )
    lost: list[LogRow] = [row for row in report.logs if row.run is None]
    if lost and not report.runs:
        blocks.append(missing(f"No recordings to draw: a fit stores no samples; {GIVE_LOGS}."))
    else:
        by: dict[str, list[str]] = {}
        for row in lost:
            by.setdefault(row.reason, []).append(row.name)
        for reason, names in by.items():
            which = (
                names[0]
                if len(names) == 1
                else f"{len(names)} more logs ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"
            )
            blocks.append(missing(f"{which}: {reason}; {GIVE_LOGS}."))
    return Section(key="predictions", title="Measured against predicted", blocks=blocks)


def ladder(report: Report) -> Section:
    fit, unit = report.fit, unit_of(report)
    if not fit.rungs:
        text = (
            f"One friction model was fitted ({fit.friction}); to see what each bought: backemf fit LOGS"
            " --friction ladder."
        )
        return Section(key="ladder", title="Friction ladder", blocks=[missing(text)])
    rows, before = [], None
    for r in fit.rungs:
        if r.held_out_mae is None:
            rows.append((r.friction, "-", "-", "-", "-", r.reason or "-"))
            continue
        bought = "-" if before is None else f"{100 * (1 - r.held_out_mae / before):+.1f} %"
        before = r.held_out_mae if before is None else min(before, r.held_out_mae)
        trained = "-" if r.training_mae is None else f"{1e3 * r.training_mae:.3g}"
        held = f"{1e3 * r.held_out_mae:.3g} ± {1e3 * r.standard_error:.2g}"
        rows.append((r.friction, str(r.n_parameters), trained, held, bought, "chosen" if r.chosen else ""))
    head = ("friction", "parameters", f"fitted [{unit}]", f"held out [{unit}]", "better than before", "")
    blocks: list[Block] = [Table(head=head, rows=rows)]
    judged = f"Judged on {fit.judged_on}. " if fit.judged_on else ""
    blocks.append(note(f"{judged}The simplest rung within one standard error of the best is chosen."))
    bars = ladder_bars(fit.rungs, unit, "Error on held-out logs")
    if bars is not None:
        blocks.append(Drawing(figure=bars, text="The chosen rung is green; whiskers are one standard error."))
    return Section(key="ladder", title="Friction ladder", blocks=blocks)


def _effects(effects: Sequence[Effect]) -> str:
    return "; ".join(str(e) for e in effects)


def exports(report: Report) -> Section:
    if report.exports is None:
        return Section(
            key="exports",
            title="Exports",
            blocks=[missing("Left out as asked; without --no-exports they are made and replayed.")],
        )
    unit, blocks = unit_of(report), []
    rows = []
    for e in report.exports:
        reasons = "; ".join(e.reasons)
        lossless = "" if e.dropped or e.approximated or not e.version else "nothing is lost"
        rows.append(
            (
                f"{e.target} {e.version}".replace(" any", "").strip(),
                _effects(e.dropped) or "-",
                _effects(e.approximated) or "-",
                reasons or lossless or "-",
            )
        )
    blocks.append(Table(head=("target", "dropped", "approximated", "remarks"), rows=rows))
    over = next((e.over for e in report.exports if e.over), "")
    if over:
        blocks.append(note(f"The cost of an effect was measured over {over}."))
    rows = [row for e in report.exports for row in _replayed(e)]
    if rows:
        simulator = next(r.simulator for e in report.exports for r in e.replays)
        head = ("target", "log or motion", "target - log", "backemf - log", "target - backemf", "at most")
        blocks.append(
            Table(
                head=head,
                rows=rows,
                caption=f"Replayed in {simulator}; root mean square differences of position in {unit}",
            )
        )
        off = [r.log.name for r in report.runs if "enabled" in r.log and not r.log["enabled"].all()]
        shown = [row[1] for row in rows if row[1] in off]
        if shown:
            words = ", ".join(dict.fromkeys(shown))
            blocks.append(
                note(
                    f"The drive is switched off for a part of {words}: friction alone then decides where the"
                    " output stops, and its approximations show most."
                )
            )
        n = max(len(e.replays) for e in report.exports)
        if len(report.runs) > n:
            blocks.append(
                note(
                    f"{n} of {len(report.runs)} logs were replayed, held-out ones first; for others: backemf"
                    " replay FIT LOGS."
                )
            )
    else:
        blocks.append(
            missing(
                "Nothing was replayed; exports for MuJoCo are replayed where it is installed: pip install"
                " mujoco."
            )
        )
    return Section(key="exports", title="Exports", blocks=blocks)


def _replayed(e: Exported) -> list[tuple[str, ...]]:
    def small(x: float | None) -> str:
        return "-" if x is None else number(1e3 * x, 3)

    return [
        (
            e.target,
            c.name,
            small(c.target_log),
            small(c.native_log),
            small(c.target_native),
            small(c.worst_native),
        )
        for r in e.replays
        for c in r.cases
    ]
