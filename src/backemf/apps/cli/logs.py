"""`backemf log`: what is in recordings, what each channel is read as, and what was guessed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import InvalidValue
from .inputs import Bench, Named, Settings, settings_of, told_of
from .terminal import (
    Force,
    Json,
    Strict,
    answer,
    failure,
    finding_lines,
    keep,
    option,
    pick,
    place,
    under,
    working,
)

if TYPE_CHECKING:
    from ...logs.log import Log
    from ...logs.read import Look
    from ...logs.robot import Robot

EVEN = 1e-9
"""Of a period: jitter below this is rounding."""
IN_FULL = 4
"""Up to so many recordings are shown in full; more, one line each."""
Maps = Annotated[
    list[str] | None,
    option(
        "Which channel is what: position=motor_pos[deg],-1 (may be repeated), or a saved mapping (.json).",
        metavar="TEXT",
    ),
]


def log(
    files: Annotated[list[str], typer.Argument(help='Files, folders or patterns such as "logs/*.json".')],
    map: Maps = None,
    bench: Bench = None,
    set: Settings = None,
    command: Named = None,
    robot: Annotated[
        Path | None,
        option(
            "The MJCF or URDF of the robot they were recorded on: joints against channels.", metavar="FILE"
        ),
    ] = None,
    save: Annotated[Path | None, place("Save the mapping into this file, for --map.", "--save-map")] = None,
    force: Force = False,
    full: Annotated[bool, option("Show every recording in full.", "--full")] = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Look into recordings: channels, rates, ranges, what is read as what, and what was guessed.

    Example: backemf log run1.csv --map position=motor_pos[deg],-1 --save-map rig.json
    """
    from ...logs import mapping
    from ...logs.read import look

    keep(save, force)
    if robot is not None:
        _refuse_with_robot(bench=bench, set=set, command=command)
    described = _robot(robot)
    names = () if described is None else described.names
    origins = mapping.mapping(map, names)
    with working("reading", not json) as report_progress:
        if described is not None:
            looks = look(*files, map=origins, progress=report_progress, robot=described)
        else:
            more = told_of(bench, command)
            looks = look(*files, map=origins, progress=report_progress, settings=settings_of(set), **more)
    if save is not None:
        mapping.write(origins, save, joints=names, force=force)
    summaries = [describe(look, described) for look in looks]
    problem = ""
    if all(look.log is None for look in looks):
        names = ", ".join(dict.fromkeys(look.file for look in looks))
        problem = f"nothing can be read of {names}; the reason is given with each"

    def content() -> dict[str, Any]:
        return {"recordings": summaries} | (failure(problem) if problem else {})

    def text() -> str:
        if full or len(looks) <= IN_FULL:
            return "\n\n".join(_in_full(s) for s in summaries)
        return _briefly(summaries)

    answer(json, content, text, [f for s in summaries for f in s["findings"]], strict and not problem, [save])
    if problem:
        typer.echo(f"backemf: {problem}", err=True)
        raise typer.Exit(2)


def _refuse_with_robot(**given: Any) -> None:
    """Refuse what is said of a bench where the recordings are of a robot."""
    for name, value in given.items():
        if value:
            raise InvalidValue(
                f"--{name} is {str(value)!r:.60}, and these logs are of a robot; it applies to logs of an"
                " actuator on a bench: leave --robot out"
            )


def _robot(path: Path | None) -> Robot | None:
    from ...logs.robot import Robot

    return None if path is None else Robot.read(path)


def describe(one: Look, robot: Robot | None = None) -> dict[str, Any]:
    """A recording as plain values: the elements of "recordings" in `--json`."""
    from ... import store

    recording, log = one.recording, one.log
    summary: dict[str, Any] = {"name": None, "file": one.file, "format": None, "problem": one.problem or None}
    summary |= {"motion": None, "mechanism": None, "duration": None, "bench": None, "settings": {}}
    summary |= {"channels": [], "signals": [], "conversions": [], "findings": []}
    if recording is not None:
        summary |= {"name": recording.name, "format": recording.format, "conversions": recording.notes}
        summary["channels"] = _channels(one)
    if robot is not None:
        left = [] if one.whole is None else list(one.whole.left)
        summary |= {"name": one.whole and one.whole.name, "robot": robot.name}
        summary |= {"joints": rows_of(one, robot), "of_no_joint": left}
    if log is not None:
        summary |= {"name": log.name, "motion": log.motion, "duration": float(log.time[-1] - log.time[0])}
        bench = None if log.bench is None else store.plain(log.bench)
        summary |= {"bench": bench, "settings": dict(log.settings), "signals": _signals(log)}
        summary |= {"conversions": log.conversions, "findings": log.findings}
        summary |= {"mechanism": log.mechanism or None}
    return summary


def _channels(look: Look) -> list[dict[str, Any]]:
    from ...logs import names

    assert look.recording is not None
    used = {} if look.plan is None else {o.channel: o for o in look.plan.origins}
    rows = []
    for c in look.recording.channels:
        origin = used.get(c.name)
        if origin is not None and look.log is not None and origin.signal not in (*look.log.signals, "time"):
            origin = None
        row = {"name": c.name, "unit": names.recognise(c.name, c.unit).unit or None, "samples": c.n}
        row |= {"low": c.low, "high": c.high, "read_as": origin and origin.signal, "by": origin and origin.by}
        rows.append(row)
    return rows


def _signals(log: Log) -> list[dict[str, Any]]:
    from ...logs.log import UNITS
    from ...physics.actuator import linear_unit

    rows = []
    every = [(name, name, log, signal) for name, signal in log.signals.items()]
    every += [
        (f"{j}.{name}", name, one, s) for j, one in log.joints.items() for name, s in one.signals.items()
    ]
    for name, kind, of, signal in every:
        unit = linear_unit(UNITS[kind]) if of.motion == "linear" else UNITS[kind]
        row = {"name": name, "unit": unit, "samples": len(signal.time), **pick(signal, "rate jitter gap")}
        rows.append({**row, "low": float(signal.values.min()), "high": float(signal.values.max())})
    return rows


def _in_full(s: dict[str, Any]) -> str:
    from ... import tables

    title = f"{s['name'] or s['file']}" + (f" ({s['format']})" if s["format"] else "")
    parts = [title if s["duration"] is None else f"{title}: {tables.number(s['duration'])} s, {s['motion']}"]
    if s.get("joints"):
        parts.append(text_of(s["joints"], s["of_no_joint"]))
    if s["channels"]:
        parts.append(_channel_table(s["channels"]))
    if s["signals"]:
        parts.append(_signal_table(s["signals"]))
    if s["bench"]:
        parts.append(_bench_line(s["bench"]))
    if s["settings"]:
        parts.append("Settings: " + ", ".join(f"{k} = {v:g}" for k, v in s["settings"].items()))
    parts += [under("What was done", s["conversions"]), under("Findings", finding_lines(s["findings"]))]
    if s["problem"]:
        parts.append(f"Cannot be read: {s['problem']}")
    return "\n\n".join(part for part in parts if part)


def _bench_line(bench: dict[str, Any]) -> str:
    """What a recording's bench is, with its numbers."""
    fields = [f"{k} {v:g}" for k, v in bench.items() if k != "part" and isinstance(v, int | float)]
    return f"Bench: {bench['part']}, {', '.join(fields)}"


def _channel_table(channels: list[dict[str, Any]]) -> str:
    """Every channel as it was written, and what it is read as."""
    from ...tables import table

    rows = []
    for c in channels:
        by = {"name": " (guessed)", "told": " (told)"}.get(c["by"], "")
        ends = [_cell(c["low"]), _cell(c["high"])]
        rows.append((c["name"], c["unit"] or "-", c["samples"], *ends, (c["read_as"] or "-") + by))
    header = ("channel", "unit", "samples", "lowest", "highest", "read as")
    return f"Channels, as written:\n{table(rows, header)}"


def _signal_table(signals: list[dict[str, Any]]) -> str:
    """Every signal in SI, with its clock."""
    from ...tables import table

    rows = []
    for g in signals:
        cells = [_cell(x) for x in (g["rate"], _jitter(g), 1e3 * g["gap"], g["low"], g["high"])]
        rows.append((g["name"], g["unit"], g["samples"], *cells))
    clock = ("rate [Hz]", "jitter [ms]", "longest step [ms]")
    header = ("signal", "unit", "samples", *clock, "lowest", "highest")
    return f"Signals, in SI:\n{table(rows, header)}"


def _jitter(signal: dict[str, Any]) -> float:
    """In ms; what rounding leaves of an even clock is none."""
    return 0.0 if signal["jitter"] < EVEN * signal["gap"] else 1e3 * signal["jitter"]


def _cell(value: float) -> str:
    from ...tables import number

    return number(value) if math.isfinite(value) else "-"


def _unreadable(summaries: list[dict[str, Any]]) -> dict[str, str]:
    """What cannot be read, by reason: each said once, with the files and the recordings in them."""
    by: dict[str, dict[str, list[str]]] = {}
    for s in summaries:
        if not s["signals"]:
            by.setdefault(s["problem"] or "", {}).setdefault(s["file"], []).append(s["name"] or "")
    said = {}
    for problem, files in by.items():
        names = list(dict.fromkeys(name.rpartition("/")[2] for each in files.values() for name in each))
        several = any(len(each) > 1 for each in files.values())
        n = sum(len(each) for each in files.values())
        said[problem] = ", ".join(files) + (f" ({n} recordings: {', '.join(names)})" if several else "")
    return said


def _briefly(summaries: list[dict[str, Any]]) -> str:
    from ... import tables

    rows = []
    for s in (s for s in summaries if s["signals"]):
        first = s["signals"][0]
        codes = " ".join(dict.fromkeys(f.code for f in s["findings"])) or "-"
        cells = [_cell(x) for x in (s["duration"], first["rate"], _jitter(first))]
        rows.append((s["name"], first["samples"], *cells, codes))
    top = [f"{s['name']}. {text_of(s['joints'], s['of_no_joint'])}" for s in summaries if s.get("joints")][:1]
    header = ("recording", "samples", "seconds", "rate [Hz]", "jitter [ms]", "findings")
    counted = f"{len(rows)} recording{'s' * (len(rows) != 1)}; one of them in full: name it alone, or --full."
    broken = [f"Cannot be read: {which}: {problem}" for problem, which in _unreadable(summaries).items()]
    return "\n\n".join([*top, tables.table(rows, header), counted, *broken])


def rows_of(one: Look, robot: Robot) -> list[dict[str, Any]]:
    """Every joint with its channels, what they are read as, and where it moved."""
    from ...errors import BackemfError
    from ...logs.joint_channels import plans

    if one.whole is None:
        return []
    try:
        read_as = plans(one.whole)
    except BackemfError:
        read_as = {}
    return [_joint_row(one, joint, read_as.get(joint.name)) for joint in robot.joints]


def _joint_row(one: Look, joint: Any, plan: Any) -> dict[str, Any]:
    """One joint with its channels, where it moved, and where it may."""
    assert one.whole is not None
    part = one.whole.parts.get(joint.name)
    log = None if one.log is None else one.log.joints.get(joint.name)
    names = {} if part is None else {c.name: c.written or c.name for c in part.channels}
    channels = [
        {"name": names.get(o.channel, o.channel), "read_as": o.signal, "unit": o.unit or None, "by": o.by}
        for o in (() if plan is None else plan.origins)
    ]
    q = log["position"] if log is not None and "position" in log else None
    row: dict[str, Any] = {"joint": joint.name, "channels": channels}
    row |= {"low": None if q is None else float(q.min()), "high": None if q is None else float(q.max())}
    return row | {"range": None if joint.low is None else [joint.low, joint.high]}


def text_of(rows: list[dict[str, Any]], left: list[str]) -> str:
    """The same as a table; joints without a channel are named in it."""
    from ...tables import number, table

    def cell(row: dict[str, Any], *signals: str) -> str:
        named = [c for c in row["channels"] if c["read_as"] in signals]
        return ", ".join(c["name"] + (f" [{c['unit']}]" if c["unit"] else "") for c in named) or "-"

    listed = []
    for row in rows:
        more = [
            c["read_as"]
            for c in row["channels"]
            if c["read_as"] not in ("time", "position", "position_target")
        ]
        seen = "-" if row["low"] is None else f"{number(row['low'], 3)} .. {number(row['high'], 3)}"
        of_it = "-" if row["range"] is None else " .. ".join(number(x, 3) for x in row["range"])
        position = cell(row, "position") if row["channels"] else "no channel"
        listed.append(
            (row["joint"], position, cell(row, "position_target"), " ".join(more) or "-", seen, of_it)
        )
    header = ("joint", "position", "its target", "also", "moved [rad]", "range [rad]")
    behind = f"\nOf no joint: {', '.join(left)}" if left else ""
    return f"Joints and their channels:\n{table(listed, header)}{behind}"
