"""`backemf plan`: which motions to record, and what to expect of them; and what to record next."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...options import Answer, Terminal, option, option_of, options
from ...planning.plan_options import PlanOptions
from ...targets.export_options import SOURCE_HELP
from .command_builder import command
from .inputs import ReadingWords, SupplyWords, WritingWords, bench_of, output_option, plot_option
from .terminal import pick


@options
class PlanWords(SupplyWords, WritingWords, PlanOptions):
    """What one may ask of `plan`."""

    source: str = option(default="", help=f"{SOURCE_HELP} Or say --start.", cli="source")
    start: str = option(default="", help="The same as the source, as fit has it.")
    bench: str | None = option_of(ReadingWords, "bench")
    output: Path | None = output_option(
        "Write the motions here (JSON), for backemf record --motions.", "plan.json"
    )
    robot: Path | None = option(
        default=None, help="Such servos move the joints of this MJCF or URDF; --joint: one of them."
    )
    rate: float = option(default=250.0, help="Samples a second of the recording to come [Hz].", unit="Hz")
    no_current: bool = option(default=False, help="The servo does not report its current.")
    plot: Path | None = plot_option("the motions and the errors to expect")


@command(PlanWords, "planning")
def plan(options: PlanWords, terminal: Terminal) -> Answer:
    """Design the motions whose logs will tell most of a servo, and say what errors to expect.

    With --robot, of every joint in turn and of all together, past whatever the model says would touch.

    Example: backemf plan sts3215-12v --bench "pendulum mass=0.3kg length=0.1m" -o plan.json
    """
    from ...planning.outlook import Sensing
    from ...planning.plan import run_plan
    from ...targets.sourcing import choose_actuator

    o, joint = _with_source(options), options.joint or None
    _check_carried(o.bench, o.robot)
    o.check("bench" if o.robot is None else "robot", (o.bench or "").split(" ")[0], in_shell=True)
    asked = o.actuator_keywords()
    before = replace(o, set=None).actuator_keywords()
    registers = _registers(choose_actuator(o.source, joint, **before).actuator, o.set)
    asked["sets"] = [words for words in o.set or () if words.partition("=")[0].strip() not in registers]
    actuator = choose_actuator(o.source, joint, **asked).actuator
    sensing = Sensing(rate=o.rate, current=None if o.no_current else Sensing().current)
    whole = o.robot is not None and joint is None  # as a fit of it takes the sheet
    known = _with_knowledge(o.narrow(PlanOptions), o.source, o.firmware if whole else None)
    known = replace(known, sensing=sensing, settings=registers, progress=terminal.say)
    plan = run_plan(actuator, _read_plant(o.bench, o.robot), known)
    if o.output is not None:
        plan.write(o.output, force=o.force)
    if o.plot is not None:
        _draw(plan, o.source, o.plot)
    play = _recording_line(plan, o)
    return Answer(
        content=lambda: _plain(plan) | {"file": o.output},
        text=lambda: f"{plan}\n\nTo record it:\n  {play}",
        findings=plan.findings,
        written=[o.output, o.plot],
    )


def _with_source(options: PlanWords) -> PlanWords:
    """With the one source that was named."""
    from ...errors import MissingValue

    if bool(options.source) == bool(options.start):
        given = "a source and --start are given" if options.source else "nothing says which servo it is"
        raise MissingValue(f"{given}; expected one of them, such as sts3215-12v")
    return replace(options, source=options.source or options.start)


def _check_carried(bench: str | None, robot: Path | None) -> None:
    """Refuse a servo that carries nothing, or two things."""
    from ...errors import MissingValue

    if (bench is None) == (robot is None):
        wanted = 'expected --bench "pendulum mass=0.3kg length=0.1m", or --robot FILE'
        given = "both --bench and --robot are given" if bench else "nothing says what the servo carries"
        raise MissingValue(f"{given}; {wanted}")


def _with_knowledge(options: PlanOptions, source: str, firmware: str | None) -> PlanOptions:
    """The options with what is known before: a fit, or else the source's datasheet, with a profile of it."""
    from ...datasheets import parts
    from .inputs import fit_of

    sheet = parts.sheet(source) if source.endswith(".toml") or source.lower() in parts.names() else None
    sheet = sheet.with_profile(firmware) if sheet is not None and firmware else sheet
    after = options.after or fit_of(source)
    return replace(options, after=after, prior=None if after else sheet)


def _draw(plan: Any, source: str, path: Path) -> None:
    """Draw the motions and the errors to expect into a file."""
    from ..report.figures import draw
    from ..report.figures.runs import plan_figure

    draw.save(plan_figure(plan), path, note=f"Planned for {source}.")


def _plain(plan: Any) -> dict[str, Any]:
    """A plan as plain values: what `--json` prints of it."""
    motions = [pick(motion, "name duration") for motion in plan.motions.motions]
    columns = "path value error unit determined remedy"
    rows = [
        ({"joint": p.joint} if p.joint else {})
        | pick(p, columns)
        | {"known": p.before, "expected": p.relative_error}
        for p in plan.parameters
    ]
    ways = {"joints": list(plan.joints), "with_ways": plan.seconds + plan.ways} if plan.joints else {}
    return {
        **{"motions": motions, "seconds": plan.seconds, **ways},
        **{"parameters": rows, "findings": plan.findings},
    }


def _recording_line(plan: Any, options: PlanWords) -> str:
    """The command line that records a plan."""
    carried = f' --bench "{options.bench}"' if options.bench else ""
    if plan.joints:
        carried = f" --robot {options.robot}"
        carried += "" if options.table is None else f" --table {options.table:g}"
    ids = f" --ids {','.join(f'{name}=ID' for name in _joints(plan))}" if options.robot else ""
    return f"backemf record --bus BUS --port PORT{ids} --motions {options.output or 'plan.json'}{carried}"


def _registers(actuator: Any, sets: list[str] | None) -> dict[str, float]:
    """What `--set` says of a servo's register that the source's drive does not have: its logs will say so,
    and a fit finds out what a count of it does."""
    from ...targets.sourcing import set_values

    path = "drive.proportional"
    mine = [words for words in sets or () if words.partition("=")[0].strip() == path]
    loop = actuator.drive.loop
    known = path in actuator.parameters or loop is None or (loop.of, loop.effort) != ("position", "V")
    return {} if known else set_values(actuator, mine)


def _joints(made: Any) -> list[str]:
    return list(made.motions.motions[0].tracks)


def _read_plant(bench: str | None, robot: Path | None) -> Any:
    """The bench in words, or the robot's file."""
    if bench is not None:
        return bench_of(bench)
    from ...logs.robot import Robot

    assert robot is not None
    return Robot.read(robot)


MORE = "more.json"
"""The file of motions that the first command writes and the second plays."""


LACKING = {"no_slow_motion", "no_reversals"}
"""Findings that a plan for all numbers mends."""


def commands(
    start: str, logs: Sequence[Any], verdict: Any, *, friction: str | None, sets: Sequence[str] | None
) -> list[str]:
    """Command lines that record what these logs do not tell.

    Args:
        start: what the check started from, as it was typed.
        logs: that were checked.
        verdict: of the check.
        friction: the law that was asked for.
        sets: numbers of the user's own, as they were typed.

    Returns:
        The lines; none where the logs tell everything, or where a position is not what was asked for.
    """
    lacking = LACKING & {f.code for f in verdict.findings}
    missing = [p.path for p in verdict.parameters if lacking or not p.determined]
    early = [log for log in logs if any(f.code == "ended_early" for f in log.findings)]
    first = _first_on_bench(logs)
    if first is None or not (missing or early):
        return []
    bench = ["--bench", bench_option(first.bench)]
    where = _where(first)
    if not missing:  # the same command as before plays what did not end
        return [_line("record", *where, "--motions", "PLAN", *bench, "-o", _folder(early[0]))]
    words = ["plan", start, *bench]
    words += ["--target", ",".join(missing)] if len(missing) < len(verdict.parameters) else []
    words += [*(("--friction", friction) if friction else ()), *_repeated_options(first, sets or ())]
    folder = _folder(first)
    return [_line(*words, "-o", MORE), _line("record", *where, "--motions", MORE, *bench, "-o", folder)]


def robot_commands(
    start: str,
    logs: Sequence[Any],
    verdict: Any,
    robot: Path,
    *,
    friction: str | None,
    sets: Sequence[str] | None,
) -> list[str]:
    """The same for a robot, all of its joints, where a motion is lacking.

    Args:
        start: what the check started from, as it was typed.
        logs: that were checked.
        verdict: of the check.
        robot: the model whose joints they are of.
        friction: the law that was asked for.
        sets: numbers of the user's own, as they were typed.

    Returns:
        The lines; none where no motion is lacking: what tells each number of a robot, its fit says.
    """
    if not LACKING & {f.code for f in verdict.findings}:
        return []
    first, carried = logs[0], ["--robot", str(robot)]
    words = ["plan", start, *carried, *(("--friction", friction) if friction else ())]
    where = _where(first)
    where += [] if "--ids" in where else ["--ids", ",".join(f"{name}=ID" for name in first.joints)]
    played = ["--motions", MORE, *carried, "-o", _folder(first)]
    return [
        _line(*words, *_repeated_options(first, sets or ()), "-o", MORE),
        _line("record", *where, *played),
    ]


def _repeated_options(log: Any, sets: Sequence[str]) -> list[str]:
    """What was set, as options again, with the gain that a log was recorded at, and what it lacks."""
    words = [word for one in sets for word in ("--set", one)]
    gain = log.settings.get("drive.proportional")
    if gain is not None and not any(one.startswith("drive.proportional") for one in sets):
        words += ["--set", f"drive.proportional={gain:g}"]
    known = "current" in log or any("current" in one for one in log.joints.values())
    return words if known else [*words, "--no-current"]


def _first_on_bench(logs: Sequence[Any]) -> Any:
    """The first log of a bench that was told positions; None where it cannot move freely."""
    first = next((log for log in logs if log.bench is not None and "position_target" in log), None)
    return None if first is None or first.bench.locked or first.bench.series else first


def bench_option(bench: Any) -> str:
    """A bench as `--bench` takes it."""
    import dataclasses

    from ...logs.benches import bench_name

    name = bench_name(bench)
    told = []
    for f in dataclasses.fields(bench):
        value = getattr(bench, f.name)
        if "unit" in f.metadata and value is not None and value != f.default:
            unit = f.metadata["unit"].replace(" ", "*")
            told.append(f"{f.name}={value:.6g}{'' if unit == '1' else unit}")
    return " ".join([name, *told])


def _line(*words: str) -> str:
    return shlex.join(["backemf", *words])


def _folder(log: Any) -> str:
    return str(Path(log.source).parent) if log.source else "logs"


def _where(log: Any) -> list[str]:
    """The bus, port and ids that a log of `backemf record` was recorded on; names to fill in for others."""
    try:
        with Path(log.source).open(encoding="utf-8", errors="replace") as file:
            head = json.loads(file.readline()) if str(log.source).endswith(".jsonl") else {}
        ids = {str(one["name"]): str(one["id"]) for one in head.get("joints", ())}
        where = ["--bus", str(head.get("bus", "BUS")), "--port", str(head.get("port", "PORT"))]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # no head as we write it
        return ["--bus", "BUS", "--port", "PORT"]
    words = ",".join(number if number == name else f"{name}={number}" for name, number in ids.items())
    return where + (["--ids", words] if words else [])
