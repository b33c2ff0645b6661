"""`backemf catalog` and `backemf datasheet`: what is printed, what follows from it, and what disagrees."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .terminal import Force, Json, Strict, end, keep, plain_findings, print_json


def catalog(
    word: Annotated[
        str, typer.Argument(help="Show only parts whose name, maker or kind has this word.")
    ] = "",
    json: Json = False,
) -> None:
    """List the parts that come with backemf.

    Example: backemf catalog dynamixel
    """
    from .. import tables
    from ..data.sheets import parts

    rows = []
    for name in parts.names():
        sheet = parts.sheet(name)
        if word.lower() not in f"{name} {sheet.name} {sheet.maker} {sheet.kind} {sheet.motor}".lower():
            continue
        codes = [f.code for f in sheet.reconciled.findings]
        rows.append(
            {
                "name": name,
                "maker": sheet.maker,
                "kind": sheet.kind,
                "title": sheet.name,
                "findings": codes,
                "identified": sorted(sheet.identified),
            }
        )
    if json:
        print_json({"parts": rows})
        return
    if not rows:
        typer.echo(
            f"no part has {word!r} in its name, maker or kind; `backemf catalog` lists all"
            f" {len(parts.names())}"
        )
        return
    quiet = ("missing", "gear_efficiency")
    shown = [
        (
            r["name"],
            r["title"],
            r["maker"],
            r["kind"],
            " ".join(r["identified"]) or "-",
            " ".join(dict.fromkeys(c for c in r["findings"] if c not in quiet)) or "-",
        )
        for r in rows
    ]
    typer.echo(tables.table(shown, ("name", "part", "maker", "kind", "identified", "disagreements")))
    typer.echo(f"\n{len(rows)} parts. One of them in full: backemf datasheet {rows[0]['name']}")


def datasheet(
    part: Annotated[str, typer.Argument(help="Name of a part in the catalogue, or a TOML file.")],
    voltage: Annotated[
        float | None, typer.Option("--voltage", help="Supply voltage; the sheet's own unless given.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw torque, speed, power and heating into this file (png, svg, pdf)."),
    ] = None,
    force: Force = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Read a datasheet, reconcile its numbers, and say what disagrees.

    Example: backemf datasheet maxon-re-25-118743 --plot re25.png
    """
    from ..data.sheets.datasheet import Datasheet

    keep(plot, force)
    sheet = Datasheet.read(part)
    summary = describe(sheet, voltage)
    if plot is not None:
        _plot(sheet, voltage, plot)
    if json:
        print_json(summary)
    else:
        _print(sheet, summary)
        if plot is not None:
            typer.echo(f"\nwrote {plot}")
    end(summary["findings"], strict)


def describe(sheet: Any, voltage: float | None) -> dict[str, Any]:
    """The datasheet as plain data: the keys of `--json`."""
    from ..data.sheets.reconcile import derived_at

    solved = sheet.reconciled
    residual = {id(r.entry): r for r in solved.residuals}
    printed = []
    for e in sheet.entries:
        r = residual.get(id(e))
        printed.append(
            {
                "name": e.name,
                "text": e.printed.text,
                "value": e.value,
                "rounding": e.half,
                "unit": e.printed.unit,
                "side": e.side,
                "voltage": e.voltage,
                "kind": e.kind or None,
                "source": e.source or sheet.source,
                "predicted": None if r is None else r.predicted,
                "within_rounding": None if r is None else r.within_rounding,
            }
        )
    return {
        "name": sheet.name,
        "maker": sheet.maker,
        "kind": sheet.kind,
        "voltage": sheet.voltage if voltage is None else voltage,
        "source": sheet.source,
        "quirks": list(sheet.quirks),
        "printed": printed,
        "constants": {
            k: {"value": c.value, "error": c.error, "unit": c.unit} for k, c in solved.constants.items()
        },
        "derived": {
            k: {"value": c.value, "error": c.error, "unit": c.unit}
            for k, c in derived_at(sheet, voltage).items()
        },
        "findings": plain_findings(solved.findings),
        "assumed": list(solved.assumed),
    }


def _print(sheet: Any, summary: dict[str, Any]) -> None:
    from .. import tables

    typer.echo(f"{sheet.name}, {sheet.maker} ({sheet.motor} {sheet.kind})\n{sheet.source}\n")
    rows = []
    for e in summary["printed"]:
        predicted = "-" if e["predicted"] is None else tables.number(e["predicted"])
        verdict = (
            "-"
            if e["within_rounding"] is None
            else "yes"
            if e["within_rounding"]
            else f"{100 * (e['predicted'] / e['value'] - 1):+.1f} %"
        )
        at = f"{e['voltage']:g} V, {e['side']}" + (f", {e['kind']}" if e["kind"] else "")
        rows.append(
            (
                e["name"].replace("_", " "),
                e["text"],
                at,
                tables.number(e["value"]),
                predicted,
                e["unit"],
                verdict,
            )
        )
    typer.echo(
        tables.table(rows, ("entry", "printed", "at", "in SI", "predicted", "unit", "within rounding"))
    )
    where = "at the rotor" if "N" in summary["constants"] or sheet.kind == "motor" else "at the output"
    typer.echo(f"\nConstants, {where}:")
    typer.echo(
        tables.table(
            [(k, c["value"], c["error"], c["unit"]) for k, c in summary["constants"].items()],
            ("symbol", "value", "error", "unit"),
        )
    )
    typer.echo(f"\nWhat follows at {summary['voltage']:g} V:")
    typer.echo(
        tables.table(
            [(k.replace("_", " "), c["value"], c["error"], c["unit"]) for k, c in summary["derived"].items()],
            ("quantity", "value", "error", "unit"),
        )
    )
    for title, lines in (
        ("Findings", [f"{f['code']}: {f['text']}\n    {f['remedy']}" for f in summary["findings"]]),
        ("Assumed", summary["assumed"]),
        ("Known quirks", summary["quirks"]),
    ):
        if lines:
            typer.echo(f"\n{title}:")
            for line in lines:
                typer.echo(f"  - {line}")


def _plot(sheet: Any, voltage: float | None, path: Path) -> None:
    from ..report.figures import draw as render, sheet as sheet_figures

    most, rated = sheet.get("max_winding_temperature"), sheet.get("nominal_current")
    figure = sheet_figures.overview(
        sheet.actuator(voltage=voltage, control="voltage"),
        sheet.voltage if voltage is None else voltage,
        f"{sheet.name}, {sheet.maker}",
        None if most is None else most.value,
        None if rated is None or rated.kind == "peak" else rated.value,
    )
    render.save(figure, path)
