"""`backemf report`, `playground`, `render` and `plot`: pages, films and figures for people."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any

from ...options import FIGURE, Answer, Terminal, option, option_of, options
from ...targets.export_options import SOURCE_HELP
from .command_builder import command
from .inputs import (
    SETTINGS_HELP,
    ActuatorWords,
    ReadingWords,
    SupplyWords,
    WritingWords,
    fit_of,
    output_option,
    read_logs,
    settings_of,
    told_of,
)
from .terminal import finding_lines, under


@options
class ReportWords(ReadingWords, WritingWords):
    """What one may ask of `report`."""

    fit: Path = option(help="A stored fit (JSON), as `backemf fit -o` writes it.", cli="fit")
    logs: list[str] | None = option(
        default=None,
        help="Its recordings: files, folders or patterns; without any, those that the fit remembers.",
        cli="logs",
    )
    output: Path = output_option("The page to write.", "report.html", default=Path("report.html"))
    sheet: str | None = option(
        default=None, help="A datasheet to compare with: a part of the catalogue, or a TOML file."
    )
    set: list[str] | None = option(default=None, help=SETTINGS_HELP)
    robot: Path | None = option(
        default=None, help="The robot's model, where it is not where the fit found it (MJCF)."
    )
    exports: bool = option(
        default=True,
        help="Export to every target, and replay where the simulator is here.",
        cli="--exports/--no-exports",
    )
    use: str = option(
        default="mujoco",
        help="The target that the verdict leads with: mujoco, mujoco-live or mujoco-classic.",
        cli="--for",
    )


@command(ReportWords, "report")
def report(options: ReportWords, terminal: Terminal) -> Answer:
    """Write everything about a fit as one HTML file that opens offline.

    Example: backemf report fit.json logs/*.json --sheet mx-106 -o report.html
    """
    from ...datasheets import parts
    from ...errors import UnknownName
    from ...results.fit_result import Fit
    from ..report import html
    from ..report.contents import report as run
    from ..report.export_results import REPLAYED

    o = options
    if o.use not in REPLAYED:
        raise UnknownName("target that a report replays", o.use, REPLAYED)
    stored = Fit.read(o.fit)
    if o.robot is not None:
        stored = with_robot(stored, o.robot)
    held = settings_of(o.set, stored.actuator)
    sheet = parts.sheet(o.sheet) if o.sheet is not None else None
    reading: dict[str, Any] = told_of(o.bench, o.command) | ({"settings": held} if held else {})
    reading |= {"map": o.map, "progress": lambda name, share: terminal.say(f"read {name}")}
    recordings = _read_recordings(stored, _named_recordings(stored, o), reading)
    shown: dict[str, Any] = {"sheet": sheet, "exported": o.exports, "used": o.use, "name": o.fit.name}
    report = run(stored, recordings, progress=terminal.say, **shown)
    page = html.write(report, o.output, force=o.force)

    def text() -> str:
        runs, word = (report.runs, "log") if report.robot is None else (report.robot.runs, "recording")
        size = f"{page.stat().st_size / 1e6:.1f} MB, {len(runs)} {word}{'s' * (len(runs) != 1)}"
        return "\n".join([*report.verdict, f"wrote {page} ({size})"])

    return Answer(content=lambda: {**report.summary(), "file": page}, text=text, findings=stored.findings)


def _named_recordings(fit: Any, options: ReportWords) -> list[str]:
    """The files that are named, or else those that the fit remembers."""
    from ...logs.read import find
    from ...results.reread import stored_logs

    files = [str(path) for path in options.logs or stored_logs(fit, options.fit.parent)]
    if not files or options.episodes is None:
        return files
    return [str(path) for path in find(*files, episodes=options.episodes)]


def _read_recordings(fit: Any, files: list[str], reading: dict[str, Any]) -> list[Any]:
    """Recordings as the fit read its own."""
    from ...results.reread import read_again

    return read_again(fit, *files, **reading) if files else []


@options
class PlaygroundWords(WritingWords):
    """What one may ask of `playground`."""

    part: list[str] | None = option(
        default=None,
        help="Parts of the catalogue, such as mx-106 or mx-106/m6; all of them unless given.",
        cli="part",
    )
    output: Path = output_option("The page to write.", "play.html", default=Path("play.html"))
    lesson: str | None = option(
        default=None,
        help="A lesson in place of parts: sg90 (two numbers), friction (which law), ratio (load and gears),"
        " windup (PID) or feedforward (kV and kA).",
    )


@command(PlaygroundWords, "playground", has_findings=False)
def playground(options: PlaygroundWords, terminal: Terminal) -> Answer:
    """Write a page to play with: choose a part, a bench and a motion, and it simulates. It opens offline.

    Example: backemf playground -o play.html
    """
    from ...errors import InvalidValue, UnknownName
    from ...files import write_all
    from ..playground import lessons, playground as pages
    from ..playground.scene import page as page_of

    part, lesson, known = options.part or [], options.lesson, list(pages.everything())
    for name in part:
        if name not in known:
            raise UnknownName("part", name, known)
    if lesson is not None and lesson not in lessons.LESSONS:
        raise UnknownName("lesson", lesson, lessons.LESSONS)
    if lesson is not None and part:
        raise InvalidValue(f"the lesson {lesson!r} has a servo of its own; leave {', '.join(part)} out")
    scene = pages.playground(part) if lesson is None else lessons.LESSONS[lesson]()
    (page,) = write_all({options.output: page_of(scene)}, force=options.force)
    shown = [] if lesson is not None else part or known

    def text() -> str:
        what = f"{len(shown)} part{'s' * (len(shown) != 1)}" if shown else f"the lesson {lesson}"
        return f"wrote {page} ({page.stat().st_size / 1e6:.1f} MB, {what})"

    return Answer(content=lambda: {"parts": shown, "lesson": lesson, "file": page}, text=text)


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


@options
class RenderWords(ReadingWords, WritingWords):
    """What one may ask of `render`."""

    source: str = option(help=SOURCE_HELP, cli="source")
    output: Path = option(help="The film: a file that ends in .mp4 or .gif.", cli="--output -o", writes="")
    recording: str | None = option(
        default=None, help="The recording, of any format that can be read.", cli="recording"
    )
    log: str | None = option(default=None, help="The same as an option.")
    robot: Path | None = option(
        default=None, help="A robot's model, where it is not where its fit found it (MJCF)."
    )
    engine: str = option(
        default="backemf",
        help="Where the model's motion comes from: backemf, or mujoco to replay its export.",
    )
    speed: float = option(default=1.0, help="1 is real time, 0.5 half of it.", unit="1")
    fps: float | None = option(
        default=None,
        help="Pictures per second [Hz]; without it 30, or 20 in a gif, fewer where that would be over 900.",
        unit="Hz",
    )
    size: str = option(default="960x540", help="Width x height in pixels, both even.")
    between: tuple[float, float] | None = option(
        default=None, help="Show only this part of the recording [s].", unit="s"
    )
    set: list[str] | None = option_of(SupplyWords, "set")


@command(RenderWords, "drawing", has_findings=False)
def render(options: RenderWords, terminal: Terminal) -> Answer:
    """Film a bench or a robot: the model in motion, the recording as a ghost behind it, and their curves.

    Example: backemf render fit.json logs/lift.json -o lift.mp4 --speed 0.5
    """
    from ...errors import MissingValue
    from ..film.film import film, writable

    o = options
    if (o.recording is None) == (o.log is None):
        raise MissingValue("render needs one recording; expected: backemf render SOURCE RECORDING -o FILM")
    file = o.recording or o.log or ""
    writable(o.output, o.force)
    name = Path(o.source).name if o.source.endswith((".json", ".toml")) else o.source
    looks: dict[str, Any] = {"speed": o.speed, "fps": o.fps, "size": _size(o.size), "name": name}
    subject = _film_subject(o.source, o.robot, o.engine, o.set)
    logs = read_logs([file], terminal.say, source=o.source, between=o.between, **o.reading())
    recording = _only_recording(logs, file)

    def note(done: int, total: int) -> None:
        terminal.say("drawing", done / total)

    made = film(subject, recording, o.output, engine=o.engine, force=o.force, progress=note, **looks)
    unit = "mrad" if recording.motion == "rotary" else "mm"
    text = (
        f"wrote {made.file}: {made.frames} pictures, {made.duration:.3g} s at {made.fps:.3g} per second; RMS"
        f" {1e3 * made.rms:.3g} {unit}"
    )
    if made.coarser:
        text += (
            "\nFewer pictures per second than usual: it is long. Show less of it (--between), or ask (--fps)."
        )
    return Answer(content=made.to_dict, text=lambda: text)


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


@options
class PlotWords(ActuatorWords, WritingWords):
    """What one may ask of `plot`."""

    sources: list[str] = option(
        help=f"{SOURCE_HELP} Several share one figure; the name of a panel, such as friction, asks for that.",
        cli="sources",
    )
    what: list[str] | None = option(default=None, help=WHAT, cli="--what -w")
    output: Path | None = output_option("The picture (png, svg, pdf) or page (html) to write.", FIGURE)
    data: Path | None = option(
        default=None, help="Write the curves' numbers into this file (csv).", writes=""
    )
    inertia: float = option(
        default=0.0,
        help="Inertia of a load at the output [kg m^2, or kg], for frequency and hysteresis.",
        unit="kg m^2 | kg",
    )


@command(PlotWords, "drawing", has_findings=False)
def plot(options: PlotWords, terminal: Terminal) -> Answer:
    """Draw an actuator: torque, power, friction, hysteresis, heating, drive law, frequency response.

    Example: backemf plot friction mx-106/m6 mx-64/m6 -o both.png
    """
    from ...errors import InvalidValue, MissingValue, UnknownName
    from ...files import write_all
    from ...targets.sourcing import choose_actuator
    from ..report.figures import draw, show as plots

    o = options
    if o.inertia < 0:
        raise InvalidValue(f"--inertia is {o.inertia:g}; expected at least 0")
    panels, sources = _panels_and_sources(o, plots.KINDS)
    if o.output is None and o.data is None and not terminal.quiet:
        raise MissingValue("there is nothing to write to; expected -o FILE, --data FILE or --json")
    try:
        chosen = {_name(one, sources): choose_actuator(one, **o.actuator_keywords()) for one in sources}
    except UnknownName as wrong:
        raise InvalidValue(f"{wrong}; what can be drawn of a part: {', '.join(plots.KINDS)}") from None
    figure = plots.figure(_shown_actuators(chosen, sources, o.inertia), panels)
    if o.output is not None:
        notes = "; ".join(note for one in chosen.values() for note in one.notes)
        draw.save(figure, o.output, note=f"{notes}.", force=o.force)
    if o.data is not None:
        write_all({o.data: plots.table(figure)}, force=o.force)
    findings = [f for one in chosen.values() for f in one.findings]

    def content() -> dict[str, Any]:
        notes = {name: one.notes for name, one in chosen.items()}
        return {"sources": notes, "panels": plots.plain(figure), "findings": findings, "file": o.output}

    def text() -> str:
        shown = (
            under(figure.title, [panel.title for panel in figure.panels]),
            under("Findings", finding_lines(findings)),
        )
        return "\n\n".join(part for part in shown if part)

    return Answer(content=content, text=text, written=[o.output, o.data])


def _panels_and_sources(o: PlotWords, known: Any) -> tuple[list[str], list[str]]:
    """(names of panels, sources) that were typed; the name of a panel may stand among the sources."""
    from ...errors import MissingValue, UnknownName

    panels = [name for words in o.what or () for name in words.replace(",", " ").split()]
    named = {source: re.sub("[ _]", "-", source.strip()) for source in o.sources}
    panels += [name for name in named.values() if name in known]
    sources = [source for source, name in named.items() if name not in known]
    for source in sources:  # a word without digits is no part's
        if source.replace("-", "").isalpha() and difflib.get_close_matches(named[source], known, 1, 0.75):
            raise UnknownName("panel", source, known)
    if not sources:
        raise MissingValue(f"{', '.join(panels)} of what? Expected a source behind it, such as mx-106/m6")
    return panels, sources


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
