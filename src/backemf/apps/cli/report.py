"""`backemf report` and `backemf playground`: HTML pages for people, a stored fit or parts to play with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .inputs.benches import Bench
from .inputs.commands import Named
from .inputs.recordings import Settings, settings_of, told_of
from .terminal import Force, Json, Maps, Strict, answer, inside, keep, making, option, place, working

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
    from ...results.fit import Fit
    from ...results.reread import read_again
    from ..report import html
    from ..report.contents import report as run, stored_logs
    from ..report.exported import REPLAYED

    output = inside(output, "report.html")
    keep(output, force)
    if use not in REPLAYED:
        raise UnknownName("target that a report replays", use, REPLAYED)
    stored = Fit.read(fit)
    if robot is not None:
        stored = with_robot(stored, robot)
    held = settings_of(set, stored.actuator)
    printed = parts.sheet(sheet) if sheet is not None else None
    with working("report", not json) as say:
        files = [str(path) for path in logs or stored_logs(stored, fit.parent)]
        reading: dict[str, Any] = told_of(bench, command) | ({"settings": held} if held else {})
        reading |= {"map": map or None, "progress": lambda name, share: say(f"read {name}")}
        recordings = read_again(stored, *files, **reading) if files else []
        made = run(stored, recordings, sheet=printed, exported=exports, used=use, name=fit.name, progress=say)
        with making(output):
            page = html.write(made, output, force=force)

    def text() -> str:
        runs, word = (made.runs, "log") if made.robot is None else (made.robot.runs, "recording")
        size = f"{page.stat().st_size / 1e6:.1f} MB, {len(runs)} {word}{'s' * (len(runs) != 1)}"
        return "\n".join([*made.verdict, f"wrote {page} ({size})"])

    answer(json, lambda: {**made.summary(), "file": page}, text, stored.findings, strict)


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
