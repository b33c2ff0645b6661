"""The sections of a fit's report, and those that speak of logs, numbers and exports; `behaviour` has those
that draw an actuator, `robot_sections` those of a robot."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...figure import Block, Drawing, Findings, Paragraph, Section, Table, missing, note
from ...findings import Finding
from ...identify.predict import ROLES
from ...registry import Registry
from ...tables import interval, number
from . import robot_sections
from .band_section import bands
from .behaviour import envelope, friction, hysteresis, identifiability, prediction_blocks, thermal
from .contents import JointReport, LogRow, Report
from .export_results import ReportedExport
from .figures.fit_figures import ladder_bars
from .robot_sections import GIVE_LOGS, milli
from .stated_values import StatedValue


@dataclass(frozen=True)
class ReportSection:
    """A section of a report: `blocks` gives what stands under its title, as data."""

    title: str
    blocks: Callable[..., Iterable[Block]]
    of: str = "report"
    """'report': of any, as blocks(report); 'servo': of a bench alone, as blocks(report, joint); 'robot': of a
    robot alone, as blocks(report, runs); 'joint': one for each joint of a robot, called by its name, as
    blocks(report, joint)."""

    def subjects(self, report: Report) -> Mapping[str, tuple[Any, ...]]:
        """What it speaks of besides the report, by the name of the joint where it is one of several."""
        if self.of == "servo":
            return {} if report.servo is None else {"": (report.servo,)}
        if self.of == "robot":
            return {} if report.robot is None else {"": (report.robot,)}
        if self.of == "joint":
            return {name: (joint,) for name, joint in report.joints.items() if name}
        return {"": ()}


def sections(report: Report) -> list[Section]:
    """The whole report, in order; a section with nothing under it is left out."""
    made = [
        Section(
            key=f"{key}-{name}" if name else key,
            title=name or row.title,
            blocks=tuple(row.blocks(report, *about)),
        )
        for key in SECTIONS
        for row in [SECTIONS[key]]
        for name, about in row.subjects(report).items()
    ]
    return [section for section in made if section.blocks]


def verdict(report: Report) -> Iterator[Block]:
    first, *rest = report.verdict
    yield Paragraph(text=first, kind=f"lead {report.level}")
    yield Paragraph(text=" ".join(rest))


def _with_unit(report: Report, path: str, value: float) -> str:
    """A number of the actuator with its unit, where it has one."""
    actuator = report.fit.actuator
    unit = actuator.unit(path) if path in actuator.parameters else "1"
    return number(value) + (f" {unit}" if unit != "1" else "")


def _recording(row: LogRow) -> str:
    if row.duration is None:
        return "-"
    rate = "" if row.rate is None else f" at {row.rate:.3g} Hz"
    return f"{row.duration:.3g} s{rate}"


def measured_blocks(report: Report, servo: JointReport) -> Iterator[Block]:
    unit, n = report.unit, len(report.logs)
    simulated = sum(row.simulated for row in report.logs)
    if simulated:
        some = f"{simulated} of the {n} logs here {'is' if simulated == 1 else 'are'}"
        who = "Every log here is" if simulated == n else some
        text = f"{who} simulated, not recorded on a bench: the recordings say so themselves."
        yield Paragraph(text=text, kind="banner")
    logs = sorted(report.logs, key=lambda row: ROLES.index(row.role))
    rows = [_log_cells(report, row, mixed=simulated < n) for row in logs]
    head = ("log", "used for", f"error [{unit}]", "recording", "bench", "settings")
    yield Table(head=head, rows=rows)
    yield note(
        "The error is the mean absolute difference between recorded and predicted position; noise alone would"
        f" leave {1e3 * servo.fit.noise_floor:.3g} {unit}."
    )
    if any(row.bench == "not stored" for row in report.logs):
        yield missing(f"This fit does not say what its logs were recorded on; {GIVE_LOGS}.")
    for row in report.logs:
        if row.run is not None and row.run.another:
            stored = 1e3 * (row.stored or 0.0)
            yield missing(
                f"{row.name}: the fit stored an error of {stored:.3g} {unit} for a log of this name; is this"
                " the same recording?"
            )


def _log_cells(report: Report, row: LogRow, *, mixed: bool) -> tuple[str, ...]:
    """A log's row; where only some are simulated, those say so."""
    settings = ", ".join(
        f"{path.partition('.')[2].replace('_', ' ')} {_with_unit(report, path, value)}"
        for path, value in row.settings.items()
    )
    role = row.role + (", simulated" if row.simulated and mixed else "")
    return row.name, role, milli(row.error), _recording(row), row.bench, settings or "-"


def _with_sign(value: float) -> str:
    return f"{value:+.1f}".replace("-0.0", "+0.0")


def _digits(value: float, error: float) -> int:
    """Digits that a value deserves: down to the second of its error."""
    if value == 0 or not error > 0:
        return 4
    return min(max(math.floor(math.log10(abs(value))) - math.floor(math.log10(error)) + 2, 2), 8)


def _comparison_table(rows: Sequence[StatedValue], first: str, stated_as: str, caption: str = "") -> Table:
    """Numbers with their errors; columns that would be empty throughout are left out."""
    fitted, against = any(p.told_by for p in rows), any(p.stated is not None for p in rows)
    telling = fitted and any(p.told_by != "data" for p in rows)
    head = [first, "value", "error", *["95 % interval"] * fitted, "unit"]
    head += [stated_as, "difference", "in errors"] * against + ["told by"] * telling
    cells = []
    for p in rows:
        digits = _digits(p.value, p.error)
        stated = off = z = "-"
        if p.stated is not None:
            stated = number(p.stated) + (f" ± {number(p.stated_error, 2)}" if p.stated_error else "")
        if p.ratio is not None:
            off = f"{100 * (p.ratio - 1):+.1f} %".replace("-0.0", "+0.0")
        if p.z is not None:
            z = _with_sign(p.z)
        cell = [p.name, number(p.value, digits), number(p.error, 2)]
        if p.low is not None and p.high is not None:
            cell.append(interval(p.low, p.high, "to", digits))
        cells.append([*cell, p.unit, *[stated, off, z] * against, *[p.told_by] * telling])
    return Table(head=head, rows=cells, caption=caption)


def numbers(report: Report, servo: JointReport) -> Iterator[Block]:
    where = f"the datasheet of {report.sheet.name}, or else " if report.sheet is not None else ""
    stated = "stated" if report.sheet is None else "datasheet"
    yield _comparison_table(servo.parameters, "parameter", stated)
    text = (
        "Told by: whether the logs, what was stated, or both decide the value."
        if any(p.told_by != "data" for p in servo.parameters)
        else "Every value is told by the logs."
    )
    yield note(
        f"Errors are standard errors, by how much the recordings disagree with each other."
        f" {stated.capitalize()}: by {where}whoever started the fit. In errors: the difference in standard"
        f" errors of both together; beyond 3 either way they disagree. {text}"
    )
    bench = _bench(report)
    if bench is not None:
        yield bench
    if report.performance:
        yield _comparison_table(report.performance, "what follows", stated, "At the output, winding cold")
    if report.sheet is None:
        yield missing(
            "No datasheet to compare stall torque and no-load speed with; give one: --sheet NAME or"
            " FILE.toml."
        )
    words = ", ".join(
        f"{path} {_with_unit(report, path, value)}"
        for path, value in report.fit.actuator.parameters.items()
        if path not in report.fit.parameters and value
    )
    if words:
        yield note(f"Not fitted, taken as given: {words}.")


def _bench(report: Report) -> Table | None:
    """What the fit found of the bench; the gauges of many logs in one row."""
    found, rows = report.fit.bench, []
    gauges = [one for one in found if one.path == "bench.supply_factor"]
    for one in found:
        if one.path != "bench.supply_factor" or len(gauges) == 1:
            name = one.path.replace("bench.", "").replace("_", " ") + (
                f" of {one.group}" if one.group else ""
            )
            stated = f"{number(one.stated)} ± {number(one.tolerance, 2)}"
            digits = _digits(one.value, one.error)
            value = (number(one.value, digits), number(one.error, 2))
            rows.append((name, stated, *value, one.unit, _with_sign(one.pull)))
    if len(gauges) > 1:
        mean, first = sum(gauge.value for gauge in gauges) / len(gauges), gauges[0]
        furthest = max((gauge.pull for gauge in gauges), key=abs)
        stated = f"{number(first.stated)} ± {number(first.tolerance, 2)}"
        name = f"supply factor of {len(gauges)} logs, mean"
        rows.append((name, stated, number(mean), "-", "1", f"{_with_sign(furthest)} at most"))
    head = ("bench and recording", "stated", "found", "error", "unit", "tolerances moved")
    caption = "The bench as the fit found it, each number held by its tolerance"
    return Table(head=head, rows=rows, caption=caption) if rows else None


def findings(report: Report) -> Iterator[Block]:
    edited = None if report.robot is None else report.robot.edited
    found = [*report.fit.findings, *(() if edited is None else edited.findings)]
    if found:
        yield Findings(findings=found)
    else:
        yield Paragraph(text="The fit found nothing that needs a remedy.")
    by: dict[tuple[str, str], list[tuple[str, Finding]]] = {}
    for run in report.runs:
        for f in run.log.findings:
            by.setdefault((f.code, f.remedy), []).append((run.log.name, f))
    if not by:
        return
    yield Paragraph(text="Of the recordings", kind="heading")
    merged = []
    for (name, f), *others in by.values():
        more = f" The same in {len(others)} more." if others else ""
        merged.append(replace(f, text=f"{name}: {f.text.rstrip('.')}.{more}"))
    yield Findings(findings=merged)


def predictions(report: Report, servo: JointReport) -> Iterator[Block]:
    yield from prediction_blocks(servo, "stated" if report.sheet is None else "the datasheet")
    lost = [row for row in report.logs if row.run is None]
    if lost and not report.runs:
        yield missing(f"No recordings to draw: a fit stores no samples; {GIVE_LOGS}.")
        return
    by: dict[str, list[str]] = {}
    for row in lost:
        by.setdefault(row.reason, []).append(row.name)
    for reason, names in by.items():
        some = f"{', '.join(names[:3])}{', ...' if len(names) > 3 else ''}"
        which = names[0] if len(names) == 1 else f"{len(names)} more logs ({some})"
        yield missing(f"{which}: {reason}; {GIVE_LOGS}.")


def ladder(report: Report) -> Iterator[Block]:
    fit, unit = report.fit, report.unit
    if not fit.rungs:
        yield missing(
            f"One friction model was fitted ({fit.friction}); to see what each bought: backemf fit LOGS"
            " --friction ladder."
        )
        return
    rows, before = [], None
    for r in fit.rungs:
        if r.held_out is None:
            rows.append((r.friction, "-", "-", "-", "-", r.reason or "-"))
            continue
        bought = "-" if before is None else f"{100 * (1 - r.held_out / before):+.1f} %"
        before = r.held_out if before is None else min(before, r.held_out)
        held = f"{1e3 * r.held_out:.3g} ± {1e3 * r.standard_error:.2g}"
        rows.append(
            (
                r.friction,
                str(r.n_parameters),
                milli(r.training_mae),
                held,
                bought,
                "chosen" if r.chosen else "",
            )
        )
    judge = f"held out [{unit} {'RMS' if fit.joints else 'MAE'}]"
    head = ("friction", "parameters", f"fitted [{unit}]", judge, "better than before", "")
    yield Table(head=head, rows=rows)
    judged = f"Judged on {fit.judged_on}. " if fit.judged_on else ""
    yield note(f"{judged}The simplest rung within one standard error of the best is chosen.")
    bars = ladder_bars(fit.rungs, unit)
    if bars is not None:
        yield Drawing(figure=bars, text="The chosen rung is green; whiskers are one standard error.")


def exports(report: Report, servo: JointReport) -> Iterator[Block]:
    if report.exports is None:
        yield missing("Left out as asked; without --no-exports they are made and replayed.")
        return
    by: dict[str, list[str]] = {}  # those that lose the same share a row
    for e in report.exports:
        by.setdefault(_loss(e), []).append(f"{e.target} {e.version}".replace(" any", "").strip())
    rows = [(", ".join(targets), said) for said, targets in by.items()]
    yield Table(head=("target", "what is lost, and what that costs"), rows=rows)
    over = next((e.over for e in report.exports if e.over), "")
    if over:
        yield note(f"The cost of an effect was measured over {over}.")
    yield from _replays(report, report.exports)


def _loss(e: ReportedExport) -> str:
    """What an export loses, in words."""
    said = [f"Dropped: {effect}." for effect in e.dropped]
    said += [f"Approximated: {effect}." for effect in e.approximated]
    if not said and e.version:
        said.append("Nothing.")
    return "\n".join([*said, *(f"{reason.rstrip('.')}." for reason in e.reasons)])


def _replays(report: Report, exported: Sequence[ReportedExport]) -> Iterator[Block]:
    """What the replayed exports do, log by log."""
    rows = [row for e in exported for row in _replay_rows(e)]
    if not rows:
        yield missing(
            "Nothing was replayed; exports for MuJoCo are replayed where it is installed: pip install mujoco."
        )
        return
    simulator = next(r.simulator for e in exported for r in e.replays)
    unit = report.unit
    columns = ("file, from the log", "model, from the log", "file, from the model", "at most")
    head = ("target", "log or motion", *(f"{name} [{unit}]" for name in columns))
    caption = f"The exported files run in {simulator}; root mean square differences of position"
    yield Table(head=head, rows=rows, caption=caption)
    off = [r.log.name for r in report.runs if "enabled" in r.log and not r.log["enabled"].all()]
    shown = ", ".join(dict.fromkeys(row[1] for row in rows if row[1] in off))
    if shown:
        yield note(
            f"The drive is switched off for a part of {shown}: friction alone then decides where the output"
            " stops, and its approximations show most."
        )
    n = max(len(e.replays) for e in exported)
    if len(report.runs) > n:
        yield note(
            f"{n} of {len(report.runs)} logs were replayed, held-out ones first; for others: backemf replay"
            " FIT LOGS."
        )


def _replay_rows(e: ReportedExport) -> Iterator[tuple[str, ...]]:
    for c in (case for r in e.replays for case in r.cases):
        differences = (c.target_log, c.native_log, c.target_native, c.worst_native)
        yield e.target, c.name, *("-" if x is None else number(1e3 * x, 3) for x in differences)


SECTIONS: Registry[ReportSection] = Registry(
    "report section",
    {
        "verdict": ReportSection("Verdict", verdict),
        "together": ReportSection("All joints together", robot_sections.joints_together, of="robot"),
        "logs": ReportSection("What was measured", measured_blocks, of="servo"),
        "recordings": ReportSection("Recordings", robot_sections.recordings, of="robot"),
        "contact": ReportSection("Contact", robot_sections.contact, of="robot"),
        "parameters": ReportSection("Parameters", numbers, of="servo"),
        "shared": ReportSection("What the joints share", robot_sections.shared_numbers, of="robot"),
        "findings": ReportSection("Findings", findings),
        "predictions": ReportSection("Measured against predicted", predictions, of="servo"),
        "friction": ReportSection("Friction", friction, of="servo"),
        "envelope": ReportSection("Torque and speed", envelope, of="servo"),
        "hysteresis": ReportSection("Hysteresis", hysteresis, of="servo"),
        "thermal": ReportSection("Heat", thermal, of="servo"),
        "joint": ReportSection("Joint", robot_sections.joint, of="joint"),
        "bands": ReportSection("Will it be right there: bands", bands),
        "identifiability": ReportSection("How sure: errors and correlations", identifiability),
        "ladder": ReportSection("Friction ladder", ladder),
        "exports": ReportSection("Exports", exports, of="servo"),
        "file": ReportSection("The robot's own file", robot_sections.robot_file, of="robot"),
    },
    group="backemf.report_sections",
)
"""By anchor, in order; other packages add theirs behind."""
