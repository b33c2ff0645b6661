"""`backemf log`: what is in recordings, what each channel is read as, and what was guessed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .terminal import Force, Json, Strict, end, plain_findings, print_json, working

if TYPE_CHECKING:
    from ..data.logs.read import Look

IN_FULL = 4
"""Up to so many recordings are shown in full; more, one line each."""


def log(
    files: Annotated[list[str], typer.Argument(help='Files, folders or patterns such as "logs/*.json".')],
    map: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            help="What is what: position=motor_pos[deg],-1 (repeat it), or a saved mapping (.json).",
            metavar="TEXT",
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save-map", help="Save the mapping into this file, for --map.")
    ] = None,
    force: Force = False,
    full: Annotated[bool, typer.Option("--full", help="Show every recording in full.")] = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Look into recordings: channels, rates, ranges, what is read as what, and what was guessed.

    Example: backemf log run1.csv --map position=motor_pos[deg],-1 --save-map rig.json
    """
    from ..data.logs import mapping
    from ..data.logs.read import look

    told = mapping.mapping(map)
    with working("reading", not json) as say:
        looks = look(*files, map=told, progress=say)
    if save is not None:
        mapping.write(told, save, force=force)
    summaries = [describe(found) for found in looks]
    if json:
        print_json({"recordings": summaries})
    elif full or len(looks) <= IN_FULL:
        typer.echo("\n\n".join(_in_full(s) for s in summaries))
    else:
        _briefly(summaries)
    if save is not None and not json:
        typer.echo(f"\nwrote {save}")
    if all(found.log is None for found in looks):
        typer.echo(
            f"backemf: nothing can be read of {', '.join(dict.fromkeys(found.file for found in looks))}; the"
            " reason is given with each",
            err=True,
        )
        raise typer.Exit(2)
    end([f for s in summaries for f in s["findings"]], strict)


def describe(found: Look) -> dict[str, Any]:
    """A recording as plain data: the elements of "recordings" in `--json`."""
    from ..data import store
    from ..data.log import UNITS
    from ..data.logs import names
    from ..model.actuator import linear_unit

    sources = {s.channel: s for s in found.plan.sources} if found.plan is not None else {}
    channels = []
    for c in found.recording.channels if found.recording is not None else ():
        source = sources.get(c.name)
        if source is not None and found.log is not None and source.signal not in (*found.log.signals, "time"):
            source = None
        channels.append(
            {
                "name": c.name,
                "unit": names.recognise(c.name, c.unit).unit or None,
                "samples": c.n,
                "low": _finite(c.low),
                "high": _finite(c.high),
                "read_as": source.signal if source is not None else None,
                "by": source.by if source is not None else None,
            }
        )
    log = found.log
    signals = []
    for name, signal in log.signals.items() if log is not None else ():
        unit = linear_unit(UNITS[name]) if log is not None and log.motion == "linear" else UNITS[name]
        signals.append(
            {
                "name": name,
                "unit": unit,
                "samples": len(signal.time),
                "rate": _finite(signal.rate),
                "jitter": _finite(signal.jitter),
                "gap": _finite(signal.gap),
                "low": float(signal.values.min()),
                "high": float(signal.values.max()),
            }
        )
    return {
        "name": (
            log.name if log is not None else found.recording.name if found.recording is not None else None
        ),
        "file": found.file,
        "format": found.recording.format if found.recording is not None else None,
        "problem": found.problem or None,
        "motion": log.motion if log is not None else None,
        "duration": float(log.time[-1] - log.time[0]) if log is not None else None,
        "bench": store.dump(log.bench) if log is not None and log.bench is not None else None,
        "settings": dict(log.settings) if log is not None else {},
        "channels": channels,
        "signals": signals,
        "conversions": list(
            log.conversions
            if log is not None
            else found.recording.notes
            if found.recording is not None
            else ()
        ),
        "findings": plain_findings(log.findings if log is not None else ()),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _in_full(s: dict[str, Any]) -> str:
    from .. import tables

    title = f"{s['name'] or s['file']}" + (f" ({s['format']})" if s["format"] else "")
    parts = [title if s["duration"] is None else f"{title}: {tables.number(s['duration'])} s, {s['motion']}"]
    if s["channels"]:
        rows = [
            (
                c["name"],
                c["unit"] or "-",
                c["samples"],
                tables.number(c["low"]),
                tables.number(c["high"]),
                (c["read_as"] or "-") + {"name": " (guessed)", "told": " (told)"}.get(c["by"], ""),
            )
            for c in s["channels"]
        ]
        parts.append(
            "Channels, as written:\n"
            + tables.table(rows, ("channel", "unit", "samples", "lowest", "highest", "read as"))
        )
    if s["signals"]:
        rows = [
            (
                g["name"],
                g["unit"],
                g["samples"],
                *(
                    tables.number(x)
                    for x in (g["rate"], _milli(g["jitter"]), _milli(g["gap"]), g["low"], g["high"])
                ),
            )
            for g in s["signals"]
        ]
        parts.append(
            "Signals, in SI:\n"
            + tables.table(
                rows,
                (
                    "signal",
                    "unit",
                    "samples",
                    "rate [Hz]",
                    "jitter [ms]",
                    "longest step [ms]",
                    "lowest",
                    "highest",
                ),
            )
        )
    if s["bench"]:
        fields = ", ".join(
            f"{k} {v:g}" for k, v in s["bench"].items() if k != "part" and isinstance(v, int | float)
        )
        parts.append(f"Bench: {s['bench']['part']}, {fields}")
    if s["settings"]:
        parts.append("Settings: " + ", ".join(f"{k} = {v:g}" for k, v in s["settings"].items()))
    if s["conversions"]:
        parts.append("What was done:\n" + "\n".join(f"  - {text}" for text in s["conversions"]))
    if s["findings"]:
        parts.append(
            "Findings:\n"
            + "\n".join(f"  - {f['code']}: {f['text']}\n    {f['remedy']}" for f in s["findings"])
        )
    if s["problem"]:
        parts.append(f"Cannot be read: {s['problem']}")
    return "\n\n".join(parts)


def _briefly(summaries: list[dict[str, Any]]) -> None:
    from .. import tables

    rows = []
    for s in (s for s in summaries if s["signals"]):
        first = s["signals"][0]
        codes = " ".join(dict.fromkeys(f["code"] for f in s["findings"])) or "-"
        rows.append(
            (
                s["name"],
                first["samples"],
                tables.number(s["duration"]),
                tables.number(first["rate"]),
                tables.number(_milli(first["jitter"])),
                codes,
            )
        )
    typer.echo(
        tables.table(rows, ("recording", "samples", "seconds", "rate [Hz]", "jitter [ms]", "findings"))
    )
    typer.echo(
        f"\n{len(rows)} recording{'s' * (len(rows) != 1)}; one of them in full: name it alone, or --full."
    )
    for s in (s for s in summaries if not s["signals"]):
        typer.echo(f"\nCannot be read: {s['file']}: {s['problem']}")


def _milli(value: float | None) -> float:
    return math.nan if value is None else 1e3 * value
