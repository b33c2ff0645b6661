"""`backemf check` and `backemf fit`: can these logs answer the question, and what do they answer?"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...identify.fit_options import BENCH, LADDER, ROBOT, CheckOptions, CheckWords, FitOptions, parse_hold_out
from ...options import Answer, Terminal, option, option_of, options
from .command_builder import command
from .inputs import (
    PlaybackWords,
    ReadingWords,
    SupplyWords,
    fit_of,
    output_option,
    plot_option,
    read_logs,
    with_sets,
    write_motions,
)
from .terminal import finding_lines, pick, under


@options
class StartWords(ReadingWords):
    """Recordings, and what one knew before."""

    logs: list[str] = option(help="Log files, folders or patterns.", cli="logs")
    start: str = option(
        help="What to start from: a part of the catalogue, an identified set (mx-106/m6), a TOML sheet, a"
        " stored actuator or fit, or a joint of a model (arm.xml#elbow)."
    )
    set: list[str] | None = option_of(SupplyWords, "set")


@options
class CheckCommandWords(StartWords, CheckWords):
    """What one may ask of `check`."""

    robot: Path | None = option(
        default=None,
        help="The recordings are of a robot with this MJCF or URDF: what its joints' motions lack.",
    )


@options
class FitWords(StartWords, PlaybackWords, FitOptions):
    """What one may ask of `fit`."""

    bench: str | None = option_of(ReadingWords, "bench", applies_to=BENCH)
    command: str | None = option_of(ReadingWords, "command", applies_to=BENCH)
    robot: Path | None = option(
        default=None, help="The recordings are of a robot with this MJCF or URDF: fit every joint."
    )
    ground: float | None = option(
        default=None,
        help="Of a robot: the height of its table or floor [m]; found, unless given.",
        unit="m",
        applies_to=ROBOT,
    )
    plot: Path | None = plot_option("recorded and predicted", applies_to=BENCH)
    output: Path | None = output_option("Store the fit here as JSON.", "fit.json")


def named_start(name: str, sets: list[str] | None = None) -> tuple[Any, Any, dict[str, float]]:
    """(actuator, its datasheet or None, numbers of the user's own in it) for what --start and --set say."""
    from ...datasheets import parts
    from ...targets.sourcing import set_values
    from .inputs import actuator_of

    is_sheet = name.endswith(".toml") or name.lower() in parts.names()
    actuator = actuator_of(name)[0]
    values = set_values(actuator, sets)
    return actuator.replace(**values), parts.sheet(name) if is_sheet else None, values


@command(CheckCommandWords, "reading", strict_help="Exit with 1 if the verdict is not 'fit'.")
def check(options: CheckCommandWords, terminal: Terminal) -> Answer:
    """Inspect recordings before a fit: are they sound, and what can they tell?

    Example: backemf check logs/*.json --start mx-106 --friction m4
    """
    from ...identify.check import run_check
    from ...identify.frictions import with_friction
    from .plan_command import commands, robot_commands

    actuator, sheet, recordings = _read_start(options, terminal)
    if options.friction is not None:
        actuator = with_friction(actuator, options.friction)
    known = replace(options.narrow(CheckOptions), prior=sheet, progress=terminal.say)
    verdict = run_check(actuator, recordings, known)
    words = []
    if options.apply:
        mended = verdict.apply(recordings)
        words = what_was_done(recordings, mended)
        verdict = run_check(actuator, mended, known) if words else verdict
    how: dict[str, Any] = {"friction": options.friction, "sets": options.set}
    given = (options.start, recordings, verdict)
    further = robot_commands(*given, options.robot, **how) if options.robot else commands(*given, **how)

    def content() -> dict[str, Any]:
        columns = "path value unit relative_error from_data determined"
        rows = [pick(p, columns) for p in verdict.parameters]
        counts = pick(verdict, "verdict level n_logs n_samples")
        told = {**counts, "parameters": rows, "findings": verdict.findings, "next": further}
        return told | ({"mended": words} if options.apply else {})

    def text() -> str:
        record = "\n".join(["To record what is missing:", *(f"  {line}" for line in further)])
        parts = (under("Mended", words), str(verdict), record if further else "")
        return "\n\n".join(part for part in parts if part)

    return Answer(content=content, text=text, findings=[] if verdict.verdict == "fit" else [verdict])


def _read_start(options: StartWords, terminal: Terminal) -> tuple[Any, Any, list[Any]]:
    """(the actuator to start from, its datasheet or None, the recordings of a bench)."""
    from ...logs.robot import Robot

    actuator, sheet, numbers = named_start(options.start, options.set)
    robot = getattr(options, "robot", None)
    told: dict[str, Any] = {"robot": None if robot is None else Robot.read(robot)} | options.reading()
    logs = read_logs(options.logs, terminal.say, source=options.start, **told)
    return actuator, sheet, with_sets(logs, numbers)


def what_was_done(before: list[Any], after: list[Any]) -> list[str]:
    """What mending added to the conversions of each log, a line each."""
    pairs = zip(before, after, strict=True)
    return [f"{new.name}: {words}" for old, new in pairs for words in new.conversions[len(old.conversions) :]]


def best_so_far(say: Callable[..., None]) -> Callable[[str, float, float], None]:
    """A fit's progress in words."""
    return lambda text, cost, share: say(text, share)


@command(FitWords, "fitting")
def fit(options: FitWords, terminal: Terminal) -> Answer:
    """Fit an actuator to recordings, with an error on every number; with --robot, that of every joint.

    Example: backemf fit logs/*.json --start mx-106 --friction m6 --hold-out gain=8 -o fit.json
    """
    from ...errors import InvalidValue
    from ...targets.sourcing import path_and_text
    from ..report.verdict import brief_verdict

    (o, names), words = _names_behind(options), list[str]()
    o.check("bench" if o.robot is None else "robot", in_shell=True)
    if o.free_paths and o.also:
        more = ", ".join(o.also)
        raise InvalidValue(f"--only and --free are given; --only names all that is free: add {more}")
    asked = replace(o.narrow(FitOptions), progress=best_so_far(terminal.say))
    if o.robot is not None:
        from ...logs.robot import Robot

        actuator: Any = o.start
        told = {
            "map": o.map,
            "episodes": o.episodes,
            "robot": Robot.read(o.robot, ground=o.ground, coupling=o.coupling),
        }
        recordings = read_logs(o.logs, terminal.say, **told)
        asked = replace(asked, values=dict(path_and_text(word) for word in o.set or ()))
    else:
        actuator, sheet, recordings = _read_start(o, terminal)
        asked = _on_bench(asked, sheet)
        recordings, words = _mend(actuator, recordings, asked)
    _check_named(names, recordings)
    places = o.playback_places([log.name for log in recordings])
    fitted, steps = _fit(actuator, recordings, asked, may_climb=o.robot is None)
    if o.robot is None and not fitted.name:
        fitted = replace(fitted, name=_name(o.start))
    if o.output is not None:
        fitted.write(o.output, force=o.force)
    if o.plot is not None:
        _draw(fitted, recordings, o.plot)
    verdict, shown = brief_verdict(fitted, recordings, terminal.say), []
    if places:
        from ...identify.predict import predict_logs

        shown = write_motions(predict_logs(fitted, recordings), o)

    def content() -> dict[str, Any]:
        if o.robot is not None:
            return robot_content(fitted) | {"verdict": verdict}
        mended = {"verdict": verdict} | ({"mended": words} if o.apply else {})
        return fitted.to_dict() | mended | ({"ladder": _ladder(steps)} if steps is not None else {})

    def text() -> str:
        said = textwrap.fill(verdict["text"], 80)
        if o.robot is not None:
            return f"{robot_text(fitted)}\n\n{said}"
        parts = (under("Mended", words), "" if steps is None else str(steps), str(fitted), said)
        return "\n\n".join(part for part in parts if part)

    return Answer(content=content, text=text, findings=fitted.findings, written=[o.output, o.plot, *shown])


def _names_behind(options: FitWords) -> tuple[FitWords, list[str]]:
    """The words with what stands behind a name of --hold-out and is no file as further names; and these."""
    from ...logs.read import exist

    given = options.hold_out or []
    names = [word for word in options.logs if given and not exist(word)]
    kept = [word for word in options.logs if word not in names]
    if not names or not kept:
        return options, []
    return replace(options, logs=kept, hold_out=[*given, *(parse_hold_out(names) or ())]), names


def _check_named(names: Sequence[str], logs: Sequence[Any]) -> None:
    """Refuse words that are neither files nor recordings to hold out."""
    from ...errors import MissingValue
    from ...identify.holdout import choice_of

    for name in names:
        if not any(choice_of(one).holds(log) for one in parse_hold_out([name]) or () for log in logs):
            raise MissingValue(
                f"there is no file or folder {name!r}, and no recording of that name to hold out; expected"
                f" files, and names behind --hold-out: --hold-out A --hold-out B, or --hold-out A,B"
            )


def _fit(actuator: Any, logs: list[Any], options: FitOptions, may_climb: bool) -> tuple[Any, Any]:
    """(the fit, the ladder of laws where one was asked for)."""
    from ...identify.fit import build_plant, run_fit
    from ...identify.ladder import climb_ladder

    options = replace(options, apply=False)
    if may_climb and options.friction == LADDER:
        started_at = time.process_time()
        steps = climb_ladder(build_plant(actuator, logs, options), started_at=started_at)
        return steps.fit, steps
    return run_fit(actuator, logs, options), None


def _on_bench(options: FitOptions, sheet: Any) -> FitOptions:
    """What was typed, with the sheet as the prior; a path that is a delay's own switch in Python."""
    options = replace(options, prior=sheet)
    if options.free_paths is None:
        return options
    paths = [path for path in options.free_paths if path != "drive.delay"]  # the bench and the clock stay
    late = options.delay or len(paths) < len(options.free_paths)
    return replace(options, free_paths=paths, delay=late, tolerances=False, offset=False)


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


def _draw(fitted: Any, logs: list[Any], path: Path) -> None:
    from ..report.figures import draw
    from ..report.figures.fit_figures import predictions

    text = f"{fitted.friction} friction, {len(fitted.parameters)} numbers fitted"
    draw.save(predictions(fitted, logs, "Recorded and predicted"), path, note=f"{text}.")


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
        **({"stretch_s": score.stretch, "relative_force_error": dict(score.force)} if score.force else {}),
        "friction": fitted.friction,
        "joints": {
            name: {
                "parameters": _joint_numbers(joint),
                "rms": score.joints[name],
                "rms_free": score.joints_free[name],
                "rms_held": score.joints_held.get(name),
                **pick(joint, "training_mae held_out_mae"),
            }
            for name, joint in fitted.joints.items()
        },
        "robot": {
            b.path.removeprefix("robot."): pick(b, "value error unit stated") | {"told_by": _told_by(b)}
            for b in fitted.bench
            if b.path.startswith("robot.")
        },
        "logs": dict(score.logs),
        "ground": None if fitted.robot.ground is None else fitted.robot.ground.to_dict(),
        "ladder": [r.to_dict() for r in fitted.rungs],
        "findings": list(fitted.findings),
        "cpu_s": fitted.cpu_s,
    }


def _told_by(number: Any) -> str:
    """Whether a number of the bench moved from what was stated by what the logs say."""
    return "prior" if number.error > 0.9 * number.tolerance else "data"


def _joint_numbers(joint: Any) -> dict[str, Any]:
    """value, error, unit of every number of a joint, its delay included."""
    columns = "value error error_if_right low high unit told_by"
    rows = {path: pick(p, columns) for path, p in joint.parameters.items()}
    return rows | {b.path: pick(b, "value error unit") for b in joint.bench}


def _score_table(fitted: Any) -> str:
    """Errors of each joint, all joints together."""
    from ...tables import table

    score = fitted.score
    columns = {"RMS [mrad]": score.joints, "in the air": score.joints_free, "held": score.joints_held}
    cells = {word: {name: f"{1e3 * x:.2f}" for name, x in of.items()} for word, of in columns.items() if of}
    if score.force:
        cells["force error"] = {name: f"{100 * x:.1f} %" for name, x in score.force.items()}
    rows = [(name, *(one.get(name, "-") for one in cells.values())) for name in fitted.joints]
    return table(rows, ("joint", *cells))


def robot_text(fitted: Any) -> str:
    """Scores, then a table of the numbers, shared ones first."""
    from ...tables import number, table

    score = fitted.score
    what = f"recording{'s' * (len(score.logs) > 1)} {'held out' if score.held_out else 'fitted'}"
    head = (
        f"{fitted.robot.name}: {len(fitted.joints)} joints, friction {fitted.friction}. All joints together,"
        f" {len(score.logs)} {what}: {1e3 * score.rms:.3g} mrad RMS, {1e3 * score.rms_free:.3g}"
        f" where nothing touches{f', over {score.stretch:g} s each' if score.force else ''}."
        f" {fitted.cpu_s:.2g} s of CPU."
    )
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
            _told_by(b),
        )
        for b in fitted.bench
    ]
    listed = table(numbers, ("parameter", "value", "error", "unit", "told by"))
    tried = [
        (r.friction, r.n_parameters, f"{1e3 * (r.held_out or 0):.2f}", "chosen" if r.chosen else "")
        for r in fitted.rungs
    ]
    ladder = table(tried, ("friction", "numbers", "together [mrad RMS]", "")) if tried else ""
    parts = (head, ladder, _score_table(fitted), listed, under("Findings", finding_lines(fitted.findings)))
    return "\n\n".join(part for part in parts if part)
