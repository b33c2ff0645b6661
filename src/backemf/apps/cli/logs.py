"""`backemf log`: what is in recordings, what each channel is read as, and what was guessed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...options import Answer, Scope, Terminal, option, option_of, options
from .command_builder import command
from .inputs import SETTINGS_HELP, ReadingWords, WritingWords, settings_of, told_of
from .terminal import finding_lines, pick, under

if TYPE_CHECKING:
    from ...logs.log import Log
    from ...logs.read import Look
    from ...logs.robot import Robot

EVEN = 1e-9
"""Of a period: jitter below this is rounding."""
IN_FULL = 4
"""Up to so many recordings are shown in full; more, one line each."""
STANDS_FOR = "*"
"""In place of a joint's name, in the names of its own channels."""
ON_BENCH = Scope(
    "bench",
    "logs of an actuator on a bench: leave the robot out",
    "logs of an actuator on a bench: leave --robot out",
)


@options
class LogWords(ReadingWords, WritingWords):
    """What one may ask of `log`."""

    situation: ClassVar[str] = "these logs are of a {}"

    files: list[str] = option(help='Files, folders or patterns such as "logs/*.json".', cli="files")
    map: list[str] | None = option(
        default=None,
        help="Which channel is what: position=motor_pos[deg],-1 (may be repeated), or a saved mapping"
        " (.json).",
    )
    bench: str | None = option_of(ReadingWords, "bench", applies_to=ON_BENCH)
    set: list[str] | None = option(default=None, help=SETTINGS_HELP, applies_to=ON_BENCH)
    command: str | None = option_of(ReadingWords, "command", applies_to=ON_BENCH)
    robot: Path | None = option(
        default=None, help="The MJCF or URDF of the robot they were recorded on: joints against channels."
    )
    save: Path | None = option(
        default=None, help="Save the mapping into this file, for --map.", cli="--save-map", writes=""
    )
    full: bool = option(default=False, help="Show every recording in full.")


@command(LogWords, "reading")
def log(options: LogWords, terminal: Terminal) -> Answer:
    """Look into recordings: channels, rates, ranges, what is read as what, and what was guessed.

    Example: backemf log run1.csv --map position=motor_pos[deg],-1 --save-map rig.json
    """
    from ...logs import mapping
    from ...logs.read import find, look

    options.check("bench" if options.robot is None else "robot", in_shell=True)
    robot = _robot(options.robot)
    names = () if robot is None else robot.names
    origins = mapping.mapping(options.map, names)
    told = {"settings": settings_of(options.set), **told_of(options.bench, options.command)}
    more: dict[str, Any] = told if robot is None else {"robot": robot}
    looks = look(*find(*options.files, episodes=options.episodes), map=origins, progress=terminal.say, **more)
    if options.save is not None:
        mapping.write(origins, options.save, joints=names, force=options.force)
    summaries = [describe(look, robot) for look in looks]
    problem = ""
    if all(look.log is None for look in looks):
        files = ", ".join(dict.fromkeys(look.file for look in looks))
        alone = len(looks) == 1 and looks[0].recording is None and looks[0].whole is None
        why = f": {looks[0].problem}" if alone else "; the reason is given with each"
        problem = f"nothing can be read of {files}{why}"

    def text() -> str:
        if options.full or len(looks) <= IN_FULL:
            return "\n\n".join(_in_full(s) for s in summaries)
        return _briefly(summaries)

    return Answer(
        content=lambda: {"recordings": summaries},
        text=text,
        findings=[f for s in summaries for f in s["findings"]],
        written=[options.save],
        problem=problem,
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
        summary |= {"channels": _channels(one), "mechanism": recording.mechanism or None}
        summary |= {"duration": _lasts(recording)}
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


def _lasts(recording: Any) -> float | None:
    """From the first sample of any channel to the last [s]; None where none has times."""
    clocks = [c.time for c in recording.channels if c.time is not None and len(c.time)]
    return max(float(t[-1]) for t in clocks) - min(float(t[0]) for t in clocks) if clocks else None


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
        row |= {"likely": c.likely} if c.likely else {}
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
    parts = [title if s["motion"] is None else f"{title}: {tables.number(s['duration'])} s, {s['motion']}"]
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
    from ...physics.maths import is_number

    fields = [f"{name} {value:g}" for name, value in bench.items() if is_number(value)]
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
    """Every signal in SI, with its clock; one that all have is said once, above."""
    from ...tables import table

    clocks = [(g["samples"], *(_cell(x) for x in (g["rate"], _jitter(g), 1e3 * g["gap"]))) for g in signals]
    ends = [(_cell(g["low"]), _cell(g["high"])) for g in signals]
    names = [(g["name"], g["unit"]) for g in signals]
    if len(signals) > 2 and len(set(clocks)) == 1:
        n, rate, jitter, gap = clocks[0]
        rows = [(*name, *end) for name, end in zip(names, ends, strict=True)]
        title = f"each {n} samples at {rate} Hz, jitter {jitter} ms, longest step {gap} ms"
        return f"Signals, in SI, {title}:\n{table(rows, ('signal', 'unit', 'lowest', 'highest'))}"
    rows = [(*name, *clock, *end) for name, clock, end in zip(names, clocks, ends, strict=True)]
    header = (
        "signal",
        "unit",
        "samples",
        "rate [Hz]",
        "jitter [ms]",
        "longest step [ms]",
        "lowest",
        "highest",
    )
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
        short = [(c["name"].replace(row["joint"], STANDS_FOR), c["unit"]) for c in named]
        return ", ".join(name + (f" [{unit}]" if unit else "") for name, unit in short) or "-"

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
    starred = any(STANDS_FOR in cell for row in listed for cell in row[1:3])
    said = f"Joints and their channels{f', {STANDS_FOR} for the name of the joint' if starred else ''}:"
    return f"{said}\n{table(listed, header)}{behind}"
