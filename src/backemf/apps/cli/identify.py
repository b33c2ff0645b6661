"""`backemf check` and `backemf fit`: can these logs answer the question, and what do they answer?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ...identify.fit_options import BENCH, LADDER, ROBOT, CheckWords, FitOptions
from .command_builder import command
from .inputs import Bench, Named, Sets, fit_of, read_logs, with_sets
from .terminal import (
    Force,
    Json,
    Maps,
    Strict,
    Working,
    answer,
    drawable,
    inside,
    keep,
    making,
    option,
    pick,
    place,
    under,
    working,
)

Logs = Annotated[list[str], typer.Argument(help="Log files, folders or patterns.")]
StartFrom = Annotated[
    str,
    option(
        "What to start from: a part of the catalogue, an identified set (mx-106/m6), a TOML sheet, a"
        " stored actuator or fit, or a joint of a model (arm.xml#elbow).",
        "--start",
    ),
]


def named_start(name: str, sets: list[str] | None = None) -> tuple[Any, Any, dict[str, float]]:
    """(actuator, its datasheet or None, numbers of the user's own in it) for what --start and --set say."""
    from ...datasheets import parts
    from ...targets.sourcing import set_values
    from .inputs import actuator_of

    is_sheet = name.endswith(".toml") or name.lower() in parts.names()
    actuator = actuator_of(name)[0]
    values = set_values(actuator, sets)
    return actuator.replace(**values), parts.sheet(name) if is_sheet else None, values


@command(CheckWords, order="logs start friction only bench set command map apply strict json")
def check(
    options: CheckWords,
    logs: Logs,
    start: StartFrom,
    bench: Bench = None,
    set: Sets = None,
    command: Named = None,
    map: Maps = None,
    strict: Annotated[bool, option("Exit with 1 if the verdict is not 'fit'.", "--strict")] = False,
    json: Json = False,
) -> None:
    """Inspect recordings before a fit: are they sound, and what can they tell?

    Example: backemf check logs/*.json --start mx-106 --friction m4
    """
    from ...identify.check import run_check
    from ...identify.frictions import with_friction
    from .plan_command import commands

    actuator, sheet, numbers = named_start(start, set)
    recordings = with_sets(read_logs(logs, map, not json, bench, command, source=start), numbers)
    if options.friction is not None:
        actuator = with_friction(actuator, options.friction)
    known = replace(options, prior=sheet)
    verdict = run_check(actuator, recordings, known)
    words = []
    if options.apply:
        mended = verdict.apply(recordings)
        words = what_was_done(recordings, mended)
        verdict = run_check(actuator, mended, known) if words else verdict
    further = commands(start, recordings, verdict, friction=options.friction, sets=set)

    def content() -> dict[str, Any]:
        columns = "path value unit relative_error from_data determined"
        rows = [pick(p, columns) for p in verdict.parameters]
        counts = pick(verdict, "verdict n_logs n_samples")
        told = {**counts, "parameters": rows, "findings": verdict.findings, "next": further}
        return told | ({"mended": words} if options.apply else {}) | {"options": options.to_dict()}

    def text() -> str:
        record = "\n".join(["To record what is missing:", *(f"  {line}" for line in further)])
        parts = (under("Mended", words), str(verdict), record if further else "")
        return "\n\n".join(part for part in parts if part)

    answer(json, content, text)
    if strict and verdict.verdict != "fit":
        raise typer.Exit(1)


def what_was_done(before: list[Any], after: list[Any]) -> list[str]:
    """What mending added to the conversions of each log, a line each."""
    pairs = zip(before, after, strict=True)
    return [f"{new.name}: {words}" for old, new in pairs for words in new.conversions[len(old.conversions) :]]


def best_so_far(say: Working) -> Callable[[str, float, float], None]:
    """A fit's progress in words."""
    return lambda text, cost, share: say(text, share)


@command(
    FitOptions,
    order="logs start friction free only hold_out bench set command map apply starts seed on robot share"
    " firmware gains joints ground free_inertia plot output force strict json",
)
def fit(
    logs: Logs,
    start: StartFrom,
    options: FitOptions,
    bench: Bench = None,
    set: Sets = None,
    command: Named = None,
    map: Maps = None,
    robot: Annotated[
        Path | None, option("The recordings are of a robot with this MJCF or URDF: fit every joint.")
    ] = None,
    ground: Annotated[
        float | None, option("Of a robot: the height of its table or floor [m]; found, unless given.")
    ] = None,
    plot: Annotated[
        Path | None, place("Draw recorded and predicted into this file (.png, .svg, .pdf, .html).", "--plot")
    ] = None,
    output: Annotated[Path | None, place("Store the fit here as JSON.")] = None,
    force: Force = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Fit an actuator to recordings, with an error on every number; with --robot, that of every joint.

    Example: backemf fit logs/*.json --start mx-106 --friction m6 --hold-out gain=8 -o fit.json
    """
    output = inside(output, "fit.json")
    keep(output, force)
    drawable(plot, force)
    _refuse(options, robot, bench=bench, set=set, command=command, plot=plot, ground=ground)
    words: list[str] = []
    if robot is not None:
        actuator: Any = start
        recordings = read_logs(logs, map, not json, robot=_read_robot(robot, ground))
    else:
        actuator, sheet, numbers = named_start(start, set)
        recordings = with_sets(read_logs(logs, map, not json, bench, command, source=start), numbers)
        options = _on_bench(options, sheet)
        recordings, words = _mend(actuator, recordings, options)
    with working("fitting", not json) as report_progress:
        options = replace(options, progress=best_so_far(report_progress))
        fitted, steps = _fit(actuator, recordings, options, may_climb=robot is None)
    if robot is None and not fitted.name:
        fitted = replace(fitted, name=_name(start))
    if output is not None:
        with making(output):
            fitted.write(output, force=force)
    if plot is not None:
        _draw(fitted, recordings, plot, force)

    def content() -> dict[str, Any]:
        plain = robot_content(fitted) if robot is not None else _bench_content(fitted, options, words, steps)
        return plain | {"options": options.to_dict()}

    def text() -> str:
        return robot_text(fitted) if robot is not None else _bench_text(fitted, words, steps)

    answer(json, content, text, fitted.findings, strict, [output, plot])


def _fit(actuator: Any, logs: list[Any], options: FitOptions, may_climb: bool) -> tuple[Any, Any]:
    """(the fit, the ladder of laws where one was asked for)."""
    from ...identify.fit import build_plant, run_fit
    from ...identify.ladder import climb_ladder

    options = replace(options, apply=False)
    if may_climb and options.friction == LADDER:
        steps = climb_ladder(build_plant(actuator, logs, options))
        return steps.fit, steps
    return run_fit(actuator, logs, options), None


def _read_robot(path: Path, ground: float | None) -> Any:
    """The robot of a file, on a floor of this height [m]."""
    from ...logs.robot import Robot

    return Robot.read(path, ground=ground)


def _bench_content(fitted: Any, options: FitOptions, words: list[str], steps: Any) -> dict[str, Any]:
    """The fit of one actuator as plain values, with what was mended and the ladder of laws."""
    mended = {"mended": words} if options.apply else {}
    return fitted.to_dict() | mended | ({"ladder": _ladder(steps)} if steps is not None else {})


def _bench_text(fitted: Any, words: list[str], steps: Any) -> str:
    """The fit of one actuator for people, below what was mended and the ladder of laws."""
    parts = (under("Mended", words), "" if steps is None else str(steps), str(fitted))
    return "\n\n".join(part for part in parts if part)


def _refuse(options: FitOptions, robot: Path | None, **read: Any) -> None:
    """Refuse what was typed for the other kind of recordings, before any is read."""
    from ...errors import InvalidValue

    options.check("bench" if robot is None else "robot", in_shell=True)
    if options.free_paths and options.also:
        more = ", ".join(options.also)
        raise InvalidValue(f"--only and --free are given; --only names all that is free: add {more}")
    of_robots = {"ground"}
    for name, value in read.items():
        if value is None or (robot is None) == (name not in of_robots):
            continue
        kind, remedy = ("bench", ROBOT) if name in of_robots else ("robot", BENCH)
        raise InvalidValue(
            f"--{name} is {str(value)!r:.60}, and these logs are of a {kind}; it applies to {remedy.in_shell}"
        )


def _on_bench(options: FitOptions, sheet: Any) -> FitOptions:
    """What was typed, with the sheet as the prior; a path that is a delay's own switch in Python."""
    paths = options.free_paths
    late = "drive.delay" in (paths if paths is not None else options.also)
    options = replace(options, prior=sheet, also=_without_delay(options.also), delay=late)
    if paths is not None:  # not even the bench and the clock may move
        options = replace(options, free_paths=_without_delay(paths), tolerances=False, offset=False)
    return options


def _without_delay(paths: Sequence[str]) -> list[str]:
    return [path for path in paths if path != "drive.delay"]


def _mend(actuator: Any, logs: list[Any], options: FitOptions) -> tuple[list[Any], list[str]]:
    """(the logs as they are fitted, what mending did to each)."""
    from ...identify.plants.bench_plant import inspection
    from ...logs.log import actuator_and_logs

    given = actuator_and_logs("fit", actuator, logs)
    _, log_inspection = inspection(*given, free_paths=options.free_paths, prior=options.prior)
    read = log_inspection.mended if options.apply else log_inspection.logs
    return read, what_was_done(logs, read)


def _name(start: str) -> str:
    """What a start calls its servo: a stored fit's own name, or the name it is known by."""
    stored = fit_of(start)
    if stored is not None:
        return stored.name
    return Path(start).stem if start.endswith((".json", ".toml")) else start


def _draw(fitted: Any, logs: list[Any], path: Path, force: bool) -> None:
    from ..report.figures import draw
    from ..report.figures.fit_figures import predictions

    text = f"{fitted.friction} friction, {len(fitted.parameters)} numbers fitted"
    draw.save(predictions(fitted, logs, "Recorded and predicted"), path, note=f"{text}.", force=force)


def _ladder(steps: Any) -> list[dict[str, Any]]:
    return [
        {
            "friction": r.name,
            "held_out_mae": r.held_out if r.fit is not None else None,
            "n_parameters": len(r.fit.parameters) if r.fit else None,
            "chosen": r.name == steps.chosen,
            "reason": r.reason,
        }
        for r in steps.rungs
    ]


def robot_content(fitted: Any) -> dict[str, Any]:
    """The keys of `--json`."""
    score = fitted.score
    held = score.held_out
    return {
        "held_out_rms": score.rms if held else None,
        "held_out_rms_free": score.rms_free if held else None,
        "training_rms": None if held else score.rms,
        "share_touched": score.share_touched,
        "friction": fitted.friction,
        "joints": {
            name: {
                "parameters": _joint_numbers(joint),
                "rms": score.joints[name],
                "rms_free": score.joints_free[name],
                "training_mae": joint.training_mae,
                "held_out_mae": joint.held_out_mae,
            }
            for name, joint in fitted.joints.items()
        },
        "robot": {
            b.path.removeprefix("robot."): {
                "value": b.value,
                "error": b.error,
                "unit": b.unit,
                "stated": b.stated,
                "told_by": "prior" if b.error > 0.9 * b.tolerance else "data",
            }
            for b in fitted.bench
            if b.path.startswith("robot.")
        },
        "logs": dict(score.logs),
        "ground": None if fitted.robot.ground is None else fitted.robot.ground.to_dict(),
        "ladder": [r.to_dict() for r in fitted.rungs],
        "findings": [f.to_dict() for f in fitted.findings],
        "cpu_s": fitted.cpu_s,
    }


def _joint_numbers(one: Any) -> dict[str, Any]:
    """value, error, unit of every number of a joint, its delay included."""
    rows = {
        path: {
            "value": p.value,
            "error": p.error,
            "error_if_right": p.error_if_right,
            "low": p.low,
            "high": p.high,
            "unit": p.unit,
            "told_by": p.told_by,
        }
        for path, p in one.parameters.items()
    }
    late = {b.path: {"value": b.value, "error": b.error, "unit": b.unit} for b in one.bench}
    return rows | late


def robot_text(fitted: Any) -> str:
    """Scores, then a table of the numbers, shared ones first."""
    from ...tables import number, table

    score = fitted.score
    what = f"recording{'s' * (len(score.logs) > 1)} {'held out' if score.held_out else 'fitted'}"
    head = (
        f"{fitted.robot.name}: {len(fitted.joints)} joints, friction {fitted.friction}. All joints together,"
        f" {len(score.logs)} {what}: {1e3 * score.rms:.3g} mrad RMS, {1e3 * score.rms_free:.3g}"
        f" where nothing touches. {fitted.cpu_s:.2g} s of CPU."
    )
    rows = [
        (name, f"{1e3 * score.joints[name]:.2f}", f"{1e3 * score.joints_free[name]:.2f}")
        for name in fitted.joints
    ]
    scores = table(rows, ("joint", "RMS [mrad]", "in the air"))
    numbers = [
        (name, number(p.value), number(p.error, 2), p.unit, p.told_by)
        for name, p in fitted.parameters.items()
    ]
    numbers += [
        (
            f"{b.group}.{b.path}" if b.group else b.path,
            number(b.value),
            number(b.error, 2),
            b.unit,
            "prior" if b.error > 0.9 * b.tolerance else "data",
        )
        for b in fitted.bench
    ]
    listed = table(numbers, ("parameter", "value", "error", "unit", "told by"))
    tried = [
        (r.friction, r.n_parameters, f"{1e3 * (r.held_out_mae or 0):.2f}", "chosen" if r.chosen else "")
        for r in fitted.rungs
    ]
    ladder = table(tried, ("friction", "numbers", "together [mrad]", "")) if tried else ""
    notes = "\n".join(f"  - {f.code}: {f.text}\n    {f.remedy}" for f in fitted.findings)
    parts = (head, ladder, scores, listed, f"Findings:\n{notes}" if notes else "")
    return "\n\n".join(part for part in parts if part)
