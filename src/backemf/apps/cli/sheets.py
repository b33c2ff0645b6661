"""`backemf catalog` and `backemf datasheet`: what is printed, what follows from it, and what disagrees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...options import Answer, Terminal, option, options
from .command_builder import command
from .inputs import CommandWords, ControlWords, WritingWords, output_option, plot_option
from .terminal import finding_lines, pick, under


@options
class CatalogWords(CommandWords):
    """What one may ask of `catalog`."""

    word: str = option(
        default="", help="Show only parts whose name, maker or kind has this word.", cli="word"
    )


BRANDS = {"dynamixel": "robotis"}
"""Names of whole families, by their maker."""


@command(CatalogWords, has_findings=False)
def catalog(options: CatalogWords, terminal: Terminal) -> Answer:
    """List the parts that come with backemf.

    Example: backemf catalog dynamixel
    """
    from ...datasheets import parts
    from ...errors import UnknownName

    word, rows = options.word, []
    for name in parts.names():
        sheet = parts.sheet(name)
        known = f"{name} {sheet.name} {sheet.maker} {sheet.kind} {sheet.motor}".lower()
        if BRANDS.get(word.lower(), word.lower()) in known:
            codes = [f.code for f in sheet.reconciled.findings]
            row = {"name": name, **pick(sheet, "maker kind"), "title": sheet.name, "findings": codes}
            rows.append({**row, "identified": sorted(sheet.identified)})
    if not rows:
        own = (pick(parts.sheet(name), "maker kind").values() for name in parts.names())
        known = {*parts.names(), *(one.lower() for pair in own for one in pair)}
        raise UnknownName("part, maker or kind", word, known, "`backemf catalog`")
    return Answer(content=lambda: {"parts": rows}, text=lambda: _catalog(rows))


def _catalog(rows: list[dict[str, Any]]) -> str:
    from ... import tables

    quiet = ("missing", "gear_efficiency")
    shown = []
    for r in rows:
        codes = dict.fromkeys(c for c in r["findings"] if c not in quiet)
        lists = [" ".join(words) or "-" for words in (r["identified"], codes)]
        shown.append((r["name"], r["title"], r["maker"], r["kind"], *lists))
    header = ("name", "part", "maker", "kind", "identified", "disagreements")
    table = tables.table(shown, header, drop=("part", "kind", "maker"))
    return f"{table}\n\n{len(rows)} parts. One of them in full: backemf datasheet {rows[0]['name']}"


@options
class DatasheetWords(ControlWords, WritingWords):
    """What one may ask of `datasheet`."""

    part: list[str] = option(
        help="Names of parts in the catalogue, or TOML files; several may be given.", cli="part"
    )
    plot: Path | None = plot_option("torque, speed, power and heating")
    output: Path | None = output_option("Write the actuator it describes into this file (JSON).")


@command(DatasheetWords)
def datasheet(options: DatasheetWords, terminal: Terminal) -> Answer:
    """Read datasheets, reconcile their numbers, and say what disagrees.

    Example: backemf datasheet maxon-re-25-118743 --plot re25.png
    """
    from ...datasheets.datasheet import Datasheet
    from ...errors import InvalidValue

    o, n = options, len(options.part)
    if (o.plot or o.output) is not None and n > 1:
        raise InvalidValue(f"--plot and -o are for one sheet; {n} were given")
    if o.set and o.output is None:
        raise InvalidValue("--set changes the actuator that -o writes; give -o FILE")
    sheets = [Datasheet.read(name) for name in o.part]
    if o.firmware is not None:
        sheets = [sheet.with_profile(o.firmware) for sheet in sheets]
    told = [describe(sheet, o.voltage, o.control) for sheet in sheets]
    if o.output is not None:
        actuator = sheets[0].actuator(voltage=o.voltage, control=o.control)
        _write_actuator(actuator, o.set, o.output, o.force)

    def text() -> str:
        return "\n\n\n".join(_text(sheet, summary) for sheet, summary in zip(sheets, told, strict=True))

    return Answer(
        content=lambda: told[0] if n == 1 else {"sheets": told},
        text=text,
        findings=[f for summary in told for f in summary["findings"]],
        written=[o.plot, o.output],
        figures={} if o.plot is None else {o.plot: _figure(sheets[0], o.voltage)},
    )


def _write_actuator(actuator: Any, sets: list[str] | None, output: Path, force: bool) -> None:
    """Write an actuator with numbers of the user's own into a file."""
    from ...targets.sourcing import set_values

    actuator.replace(**set_values(actuator, sets)).write(output, force=force)


def describe(sheet: Any, voltage: float | None, control: str | None) -> dict[str, Any]:
    """The datasheet as plain values: the keys of `--json`."""
    from ...datasheets.interface import default_control
    from ...datasheets.reconcile import STALL, derived_at
    from ...datasheets.toml import CONTROLS
    from ...errors import UnknownName

    if control is not None and control not in CONTROLS:
        raise UnknownName("control", control, CONTROLS)

    def numbers(constants: Any) -> dict[str, Any]:
        return {name: pick(c, "value error unit") for name, c in constants.items()}

    solved = sheet.reconciled
    residual = {id(r.entry): r for r in solved.residuals}
    printed = []
    for e in sheet.entries:
        r = residual.get(id(e))
        row = {"name": e.name, "text": e.printed.text, "value": e.value, "rounding": e.half}
        row |= {"unit": e.printed.unit, "side": e.side, "voltage": e.voltage, "kind": e.kind or None}
        if e.speed is not None:
            row |= {"speed": e.speed.value}
        row |= {"source": e.source or sheet.source, "predicted": r and r.predicted}
        printed.append({**row, "within_rounding": r and r.within_rounding})
    return {
        **pick(sheet, "name maker kind"),
        "voltage": sheet.voltage if voltage is None else voltage,
        **pick(sheet, "source quirks"),
        "printed": printed,
        "constants": numbers(solved.constants),
        "derived": numbers(derived_at(sheet, voltage)),
        "definitions": {"stall_torque": STALL},
        "control": control or default_control(sheet),
        "findings": solved.findings,
        "left_out": [str(e) for e in solved.left_out],
        "alternatives": [str(e) for e in solved.alternatives],
        "assumed": solved.assumed,
        "unused": solved.unused,
    }


def _text(sheet: Any, summary: dict[str, Any]) -> str:
    from ... import tables

    def table(named: dict[str, Any], first: str) -> str:
        rows = [(name, c["value"], c["error"], c["unit"]) for name, c in named.items()]
        return tables.table(rows, (first, "value", "error", "unit"))

    rows = []
    for e in summary["printed"]:
        verdict = "-" if e["within_rounding"] is None else "yes"
        if verdict == "yes" and not e["within_rounding"]:
            verdict = "no"
        if verdict == "no" and e["value"]:
            verdict = f"{100 * (e['predicted'] / e['value'] - 1):+.1f} %"
        at = f"{e['voltage']:g} V, {e['side']}" + (f", {e['kind']}" if e["kind"] else "")
        numbers = [tables.number(e[key]) for key in ("value", "predicted")]
        if "speed" in e:
            at = f"{tables.number(e['speed'])} rad/s, {at}"
        rows.append((e["name"].replace("_", " "), e["text"], at, *numbers, e["unit"], verdict))
    header = ("entry", "printed", "at", "in SI", "predicted", "unit", "within rounding")
    where = "at the rotor" if "N" in summary["constants"] or sheet.kind == "motor" else "at the output"
    derived = {name.replace("_", " "): c for name, c in summary["derived"].items()}
    parts = [
        f"{sheet.name}, {sheet.maker} ({sheet.motor} {sheet.kind}, commanded by {summary['control']})"
        f"\n{sheet.source}",
        tables.table(rows, header),
        f"Constants, {where}:\n{table(summary['constants'], 'symbol')}",
        f"What follows at {summary['voltage']:g} V:\n{table(derived, 'quantity')}"
        f"\nstall torque: {summary['definitions']['stall_torque']}{_gross(sheet)}",
        under("Findings", finding_lines(summary["findings"])),
        under("Assumed", summary["assumed"]),
        under("Printed, not used by the model", summary["unused"]),
        under("Known quirks", summary["quirks"]),
    ]
    return "\n\n".join(part for part in parts if part)


def _gross(sheet: Any) -> str:
    """What the maker's own stall torque is, where it is another."""
    if not sheet.all("stall_torque") or sheet.reconciled.extra.get("stall_torque_is_net"):
        return ""
    return "; the sheet prints K V / R, before friction, and is compared with that"


def _figure(sheet: Any, voltage: float | None) -> Any:
    from ..report.figures.sheet import ShownActuator, overview

    actuator, rated = sheet.actuator(voltage=voltage, control="voltage"), ShownActuator.ratings(sheet)
    shown = ShownActuator(f"{sheet.name}, {sheet.maker}", actuator, **rated)
    return overview(shown, sheet.voltage if voltage is None else voltage)
