"""`backemf report`, `playground`, `render` and `plot`: pages, films and figures for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .inputs import (
    SOURCE,
    ActuatorFrom,
    Bench,
    Control,
    Firmware,
    Motors,
    Named,
    Ratio,
    Sets,
    Settings,
    Voltage,
    fit_of,
    read_logs,
    settings_of,
    told_of,
)
from .terminal import (
    Force,
    Json,
    Maps,
    Strict,
    answer,
    drawable,
    finding_lines,
    inside,
    keep,
    making,
    option,
    place,
    under,
    working,
)

Recordings = Annotated[
    list[str] | None,
    typer.Argument(
        help="Its recordings: files, folders or patterns; without any, those that the fit remembers."
    ),
]
Exports = Annotated[
    bool, option("Export to every target, and replay where the simulator is here.", "--exports/--no-exports")
]


def report(
    fit: Annotated[Path, typer.Argument(help="A stored fit (JSON), as `backemf fit -o` writes it.")],
    logs: Recordings = None,
    output: Annotated[Path, place("The page to write.")] = Path("report.html"),
    sheet: Annotated[
        str | None, option("A datasheet to compare with: a part of the catalogue, or a TOML file.")
    ] = None,
    bench: Bench = None,
    set: Settings = None,
    command: Named = None,
    map: Maps = None,
    robot: Annotated[
        Path | None, option("The robot's model, where it is not where the fit found it (MJCF).")
    ] = None,
    exports: Exports = True,
    use: Annotated[
        str, option("The target that the verdict leads with: mujoco, mujoco-live or mujoco-classic.", "--for")
    ] = "mujoco",
    force: Force = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Write everything about a fit as one HTML file that opens offline.

    Example: backemf report fit.json logs/*.json --sheet mx-106 -o report.html
    """
    from ...datasheets import parts
    from ...errors import UnknownName
    from ...results.fit_result import Fit
    from ..report import html
    from ..report.contents import report as run
    from ..report.export_results import REPLAYED

    output = inside(output, "report.html")
    keep(output, force)
    if use not in REPLAYED:
        raise UnknownName("target that a report replays", use, REPLAYED)
    stored = Fit.read(fit)
    if robot is not None:
        stored = with_robot(stored, robot)
    held = settings_of(set, stored.actuator)
    printed = parts.sheet(sheet) if sheet is not None else None
    with working("report", not json) as report_progress:
        reading: dict[str, Any] = told_of(bench, command) | ({"settings": held} if held else {})
        reading |= {"map": map or None, "progress": lambda name, share: report_progress(f"read {name}")}
        recordings = _read_recordings(stored, logs, fit.parent, reading)
        shown: dict[str, Any] = {"sheet": printed, "exported": exports, "used": use, "name": fit.name}
        report = run(stored, recordings, progress=report_progress, **shown)
        with making(output):
            page = html.write(report, output, force=force)

    def text() -> str:
        runs, word = (report.runs, "log") if report.robot is None else (report.robot.runs, "recording")
        size = f"{page.stat().st_size / 1e6:.1f} MB, {len(runs)} {word}{'s' * (len(runs) != 1)}"
        return "\n".join([*report.verdict, f"wrote {page} ({size})"])

    answer(json, lambda: {**report.summary(), "file": page}, text, stored.findings, strict)


def _read_recordings(fit: Any, logs: list[str] | None, beside: Path, reading: dict[str, Any]) -> list[Any]:
    """The recordings that are named, or else those that the fit remembers."""
    from ...results.reread import read_again
    from ..report.contents import stored_logs

    files = [str(path) for path in logs or stored_logs(fit, beside)]
    return read_again(fit, *files, **reading) if files else []


def playground(
    part: Annotated[
        list[str] | None,
        typer.Argument(help="Parts of the catalogue, such as mx-106 or mx-106/m6; all of them unless given."),
    ] = None,
    output: Annotated[Path, place("The page to write.")] = Path("play.html"),
    lesson: Annotated[
        str | None, option("A lesson in place of parts: sg90 (two numbers) or friction (which law).")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a page to play with: choose a part, a bench and a motion, and it simulates. It opens offline.

    Example: backemf playground -o play.html
    """
    from ...errors import InvalidValue, UnknownName
    from ..playground import lessons, playground as made

    output = inside(output, "play.html")
    keep(output, force)
    known = list(made.everything())
    for name in part or ():
        if name not in known:
            raise UnknownName("part", name, known)
    if lesson is not None and lesson not in lessons.LESSONS:
        raise UnknownName("lesson", lesson, lessons.LESSONS)
    if lesson is not None and part:
        raise InvalidValue(f"the lesson {lesson!r} has a servo of its own; leave {', '.join(part)} out")
    with working("playground", not json), making(output):
        if lesson is not None:
            page = lessons.write(output, lesson, force=force)
        else:
            page = made.write(output, part or (), force=force)
    shown = [] if lesson is not None else part or known

    def text() -> str:
        what = f"{len(shown)} part{'s' * (len(shown) != 1)}" if shown else f"the lesson {lesson}"
        return f"wrote {page} ({page.stat().st_size / 1e6:.1f} MB, {what})"

    answer(json, lambda: {"parts": shown, "lesson": lesson, "file": page}, text)


def with_robot(fit: Any, path: Path) -> Any:
    """A robot's fit with the robot's model from another place."""
    from dataclasses import replace

    from ...errors import InvalidValue
    from ...logs.robot import Robot

    if not fit.joints:
        raise InvalidValue(f"--robot is {str(path)!r}, and this fit is of one servo; leave it out")
    there = Robot.read(path)
    missing = [name for name in fit.joints if name not in there.names]
    if missing:
        raise InvalidValue(
            f"{path.name} has no joint {', '.join(missing)}, which the fit has; it has:"
            f" {', '.join(there.names)}"
        )
    return replace(fit, robot=there.on(fit.robot.ground))


def _size(text: str) -> tuple[int, int]:
    """ "960x540" -> (960, 540)."""
    from ...errors import InvalidValue

    width, cross, height = text.lower().partition("x")
    if not (cross and all(side.isdecimal() and len(side) < 6 for side in (width, height))):
        raise InvalidValue(f"--size is {text!r}; expected width x height in pixels, as in 960x540")
    return int(width), int(height)


def _fit_or_actuator(text: str, sets: list[str] | None) -> Any:
    """A stored fit as it is (its bench is known better), anything else as an actuator; with numbers of the
    user's own."""
    from dataclasses import replace

    from ...targets.sourcing import set_values
    from .inputs import actuator_of

    actuator = actuator_of(text)[0]
    actuator = actuator.replace(**set_values(actuator, sets))
    fit = fit_of(text)
    return actuator if fit is None else replace(fit, actuator=actuator)


def render(
    source: ActuatorFrom,
    output: Annotated[Path, place("The film: a file that ends in .mp4 or .gif.")],
    recording: Annotated[
        str | None, typer.Argument(help="The recording, of any format that can be read.")
    ] = None,
    log: Annotated[str | None, option("The same as an option.")] = None,
    robot: Annotated[
        Path | None, option("A robot's model, where it is not where its fit found it (MJCF).")
    ] = None,
    engine: Annotated[
        str, option("Where the model's motion comes from: backemf, or mujoco to replay its export.")
    ] = "backemf",
    speed: Annotated[float, option("1 is real time, 0.5 half of it.")] = 1.0,
    fps: Annotated[float | None, option("Pictures per second; without it 30, or 20 in a gif.")] = None,
    size: Annotated[str, option("Width x height in pixels, both even.")] = "960x540",
    between: Annotated[
        tuple[float, float] | None, option("Show only this part of the recording [s].")
    ] = None,
    bench: Bench = None,
    set: Sets = None,
    command: Named = None,
    map: Maps = None,
    force: Annotated[bool, option("Overwrite the film if it exists.", "--force")] = False,
    json: Json = False,
) -> None:
    """Film a bench or a robot: the model in motion, the recording as a ghost behind it, and their curves.

    Example: backemf render fit.json logs/lift.json -o lift.mp4 --speed 0.5
    """
    from ...errors import MissingValue
    from ..film.film import film, writable

    if (recording is None) == (log is None):
        raise MissingValue("render needs one recording; expected: backemf render SOURCE RECORDING -o FILM")
    log = recording or log or ""
    keep(output, force)
    writable(output, force)
    looks: dict[str, Any] = {"engine": engine, "speed": speed, "fps": fps, "size": _size(size)}
    shown = _film_subject(source, robot, engine, set)
    logs = read_logs([log], map, not json, bench, command, source=source, between=between)
    filmed = _only_recording(logs, log)
    looks["name"] = Path(source).name if source.endswith((".json", ".toml")) else source
    with working("drawing", not json) as report_progress:

        def note(done: int, total: int) -> None:
            report_progress("drawing", done / total)

        made = film(shown, filmed, output, force=force, progress=note, **looks)
    unit = "mrad" if filmed.motion == "rotary" else "mm"
    text = (
        f"wrote {made.file}: {made.frames} pictures, {made.duration:.3g} s at {made.fps:.3g} per second; RMS"
        f" {1e3 * made.rms:.3g} {unit}"
    )
    answer(json, made.to_dict, lambda: text)


def _film_subject(source: str, robot: Path | None, engine: str, sets: list[str] | None) -> Any:
    """What a film shows: the fit of a robot or of a bench, or an actuator."""
    from ...errors import InvalidValue

    fit = fit_of(source)
    if fit is None or not fit.joints:
        if robot is not None:
            raise InvalidValue(
                f"--robot is {str(robot)!r}, and {source} is not the fit of a robot; leave it out"
            )
        return _fit_or_actuator(source, sets)
    if engine != "backemf" or sets:
        word = "--set" if sets else "--engine"
        raise InvalidValue(f"{word} is for benches; a robot is filmed as its fit simulates it")
    return fit if robot is None else with_robot(fit, robot)


def _only_recording(logs: list[Any], file: str) -> Any:
    """The one recording that a file holds; refused where it holds several."""
    from ...errors import InvalidValue

    if len(logs) != 1:
        names = ", ".join(log.name for log in logs[:8])
        raise InvalidValue(
            f"{file} holds {len(logs)} recordings: {names}; a film shows one, so name one file"
        )
    return logs[0]


WHAT = (
    "torque-speed, envelope, power, no-load, friction, hysteresis, heating, heating-power, drive, frequency"
    " or pipeline; several with commas, or repeated. Without it: all that the actuator knows enough for."
)


def plot(
    sources: Annotated[list[str], typer.Argument(help=f"{SOURCE} Several share one figure.")],
    what: Annotated[list[str] | None, option(WHAT, "--what", "-w")] = None,
    output: Annotated[Path | None, place("The picture (png, svg, pdf) or page (html) to write.")] = None,
    data: Annotated[Path | None, place("Write the curves' numbers into this file (csv).", "--data")] = None,
    inertia: Annotated[
        float, option("Inertia of a load at the output [kg m^2, or kg], for frequency and hysteresis.")
    ] = 0.0,
    set: Sets = None,
    voltage: Voltage = None,
    firmware: Firmware = None,
    control: Control = None,
    ratio: Ratio = 1.0,
    motors: Motors = 1,
    force: Force = False,
    json: Json = False,
) -> None:
    """Draw an actuator: torque, power, friction, hysteresis, heating, drive law, frequency response.

    Example: backemf plot mx-106/m6 mx-64/m6 --what torque-speed,friction -o both.png
    """
    from ...errors import InvalidValue, MissingValue
    from ...files import write_all
    from ...targets.sourcing import choose_actuator
    from ..report.figures import draw, show as plots

    if inertia < 0:
        raise InvalidValue(f"--inertia is {inertia:g}; expected at least 0")
    names = [name for words in what or () for name in words.replace(",", " ").split()]
    if output is None and data is None and not json:
        raise MissingValue("there is nothing to write to; expected -o FILE, --data FILE or --json")
    drawable(output, force)
    keep(data, force)
    sources = [*dict.fromkeys(sources)]
    given: dict[str, Any] = {"sets": set, "voltage": voltage, "firmware": firmware, "control": control}
    found = {
        _name(source, sources): choose_actuator(source, **given, ratio=ratio, motors=motors)
        for source in sources
    }
    with working("drawing", not json):
        figure = plots.figure(_shown_actuators(found, sources, inertia), names)
        if output is not None:
            notes = "; ".join(note for one in found.values() for note in one.notes)
            draw.save(figure, output, note=f"{notes}.", force=force)
        if data is not None:
            write_all({data: plots.table(figure)}, force=force)
    findings = [f for one in found.values() for f in one.findings]

    def content() -> dict[str, Any]:
        told = {name: one.notes for name, one in found.items()}
        return {"sources": told, "panels": plots.plain(figure), "findings": findings, "file": output}

    def text() -> str:
        panels = [panel.title for panel in figure.panels]
        return "\n\n".join(
            part for part in (under(figure.title, panels), under("Findings", finding_lines(findings))) if part
        )

    answer(json, content, text, written=(output, data))


def _shown_actuators(found: dict[str, Any], sources: list[str], inertia: float) -> list[Any]:
    """Every actuator as a figure shows it, with a load's inertia at its output [kg m^2, or kg]."""
    from ..report.figures.show import ShownActuator

    return [
        ShownActuator(name, one.actuator, inertia=inertia, **_thermal_ratings(source))
        for (name, one), source in zip(found.items(), sources, strict=True)
    ]


def _name(source: str, sources: list[str]) -> str:
    """What a legend calls a source: the shortest that tells it from the others."""
    short = Path(source).name if source.endswith((".json", ".toml")) or ".xml" in source else source
    return source if any(other != source and Path(other).name == short for other in sources) else short


def _thermal_ratings(source: str) -> dict[str, Any]:
    """What a part's sheet says of its limits in heat."""
    from ...datasheets import parts
    from ..report.figures.show import ShownActuator

    if not parts.is_part(source):
        return {}
    return ShownActuator.ratings(
        parts.sheet(source if source.endswith(".toml") else source.partition("/")[0])
    )
