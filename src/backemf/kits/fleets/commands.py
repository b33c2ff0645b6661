"""`backemf fleet`: every unit of many logs fitted; how far that is; what failed again; what units share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...errors import InvalidValue
from ...identify.fit_options import N_STARTS, parse_hold_out
from ...logs import MAP_HELP
from ...options import (
    FOLDER,
    OUTSIDE_HELP,
    Answer,
    CommandSpec,
    Options,
    Terminal,
    option,
    options,
    parse_file,
)

MOST = 12
"""Failures that are listed for people."""
ON_HELP = "Where: local (processes of this machine), here, dask://HOST:PORT."
JOBS_HELP = "Units at once; all cores, unless given."


@options
class FleetRunOptions(Options):
    """What one may ask of `fleet run`."""

    logs: list[str] = option(help="Files, folders, patterns, tables, or URLs (s3://...).", cli="logs")
    start: str = option(
        help="What every fit starts from: a part of the catalogue, an identified set, a TOML sheet, or a"
        " stored actuator or fit."
    )
    output: Path = option(
        help="The folder of the fleet; one that was begun goes on.", cli="--output -o", writes=FOLDER
    )
    by: str = option(
        default="folder",
        help="A unit is a folder, file, joint, column=NAME, or a pattern: '{unit}/{session}/*.json'.",
    )
    friction: str | None = option(default=None, help="Another friction model than the start's.")
    free: Sequence[str] = option(
        default=(), help="Parameters to free, by path, beside the usual ones. May be repeated."
    )
    hold_out: Any = option(
        default=(), help="Logs of each unit to judge on: gain=8, or a name.", parse=parse_hold_out
    )
    bench: str | None = option(
        default=None, help="What carried every log: 'pendulum mass=0.5kg length=0.1m'."
    )
    same_bench: bool = option(
        default=False, help="One bench served all units, and is not blamed for what differs."
    )
    map: Sequence[str] = option(default=(), help=MAP_HELP, cli="--map")
    allow_outside: bool = option(default=False, help=OUTSIDE_HELP)
    robot: Path | None = option(
        default=None, help="With --by joint: the robot's MJCF or URDF.", parse=parse_file
    )
    firmware: str | None = option(default=None, help="With --by joint: a profile of firmware settings.")
    starts: int = option(default=N_STARTS, help="How many starts at most.")
    seed: int = option(default=0, help="Seed of the random starts.")
    on: str = option(default="local", help=ON_HELP)
    jobs: int | None = option(default=None, help=JOBS_HELP, cli="--jobs -j")


@options
class FolderOptions(Options):
    """What one may ask of `fleet status`."""

    folder: Path = option(help="The folder of a fleet.", cli="folder")


@options
class RetryOptions(FolderOptions):
    """What one may ask of `fleet retry`."""

    on: str = option(default="local", help=ON_HELP)
    jobs: int | None = option(default=None, help=JOBS_HELP, cli="--jobs -j")


@options
class PopulationOptions(FolderOptions):
    """What one may ask of `fleet population`."""

    output: Path | None = option(
        default=None,
        help="Store it here as JSON, for exports and simulations.",
        cli="--output -o",
        writes="population.json",
    )
    sheet: Path | None = option(
        default=None, help="Write the tolerances into this file, as TOML.", cli="--sheet", writes=""
    )
    name: str = option(default="", help="What to call it.")
    force: bool = option(default=False, help="Overwrite what exists.")


@options
class SimulateOptions(Options):
    """What one may ask of `fleet simulate`."""

    output: Path = option(help="A new folder for the simulated line.", cli="--output -o", writes=FOLDER)
    units: int = option(default=12, help="How many units.")
    seed: int = option(default=0, help="Seed of the units and of their noise.")
    force: bool = option(default=False, help="Overwrite what exists.")


def run_fleet(options: FleetRunOptions, terminal: Terminal) -> Answer:
    """Fit every unit; what is done is kept, and the same line again goes on where it stopped.

    Example: backemf fleet run line/ --by folder --start mx-106 --friction m4 -o fleet/
    """
    from .fleet import fleet

    words = ("start", "by", "friction", "free", "hold_out", "map", "bench", "same_bench", "robot")
    words += ("firmware", "starts", "seed", "on", "jobs")
    given = {word: getattr(options, word) for word in words}
    new_fleet = fleet(options.logs, into=options.output, progress=progress_words(terminal.say), **given)
    return _print_answer(new_fleet)


def progress_words(say: Callable[[str, float | None], None]) -> Callable[[Any], None]:
    """Progress in words: units per minute, failures; who shows it has the time left."""

    def show_step(step: Any) -> None:
        lost = f", {step.failed} failed" if step.failed else ""
        text = f"{step.done} of {step.of} units{lost}, {step.per_minute:.0f} a minute"
        say(text, step.done / max(step.of, 1))

    return show_step


def _print_answer(made: Any, written: bool = True) -> Answer:
    """How far a fleet is, its failures first."""
    from .folder import failures

    status, lost = made.status, list(failures(made.folder))

    def content() -> dict[str, Any]:
        counts = {name: getattr(status, name) for name in ("n_units", "fitted", "failed", "left", "cpu_s")}
        return counts | {"folder": made.folder, "table": made.table, "findings": lost}

    def text() -> str:
        done = f"{status.fitted} of {status.n_units} units fitted, {status.failed} failed, {status.left} left"
        each = f"; {status.cpu_s / max(status.fitted + status.failed, 1):.2g} s of CPU each"
        rate = f", {status.per_minute:.0f} units a minute" if status.per_minute else ""
        lines = _first([f"{f.code}: {f.text}\n    {f.remedy}" for f in lost])
        return "\n\n".join(part for part in (f"{done}{each}{rate}.", _under("To mend", lines)) if part)

    return Answer(content=content, text=text, findings=lost, written=[made.table] if written else [])


def show_status(options: FolderOptions, terminal: Terminal) -> Answer:
    """Say how far a fleet is, and what failed or lacks a recording.

    Example: backemf fleet status fleet/
    """
    from .fleet import Fleet

    return _print_answer(Fleet.read(options.folder), written=False)


def retry_fleet(options: RetryOptions, terminal: Terminal) -> Answer:
    """Fit the units again that failed or lacked a recording, and those that are left.

    Example: backemf fleet retry fleet/
    """
    from .fleet import retry

    progress = progress_words(terminal.say)
    return _print_answer(retry(options.folder, on=options.on, jobs=options.jobs, progress=progress))


def describe_population(options: PopulationOptions, terminal: Terminal) -> Answer:
    """Say what the units share: the middle, the spread of each number, units that do not belong, and drift.

    Example: backemf fleet population fleet/ -o population.json
    """
    from ...files import write_all
    from .fleet import Fleet
    from .summary import summarize

    summary = summarize(Fleet.read(options.folder), options.name)
    made = summary.population
    if options.output is not None:
        made.write(options.output, force=options.force)
    if options.sheet is not None:
        write_all({options.sheet: made.datasheet()}, force=options.force)

    def content() -> dict[str, Any]:
        rows = [one._asdict() for one in summary.odd]
        return made.to_dict() | {"odd": rows, "changes": [change._asdict() for change in summary.changes]}

    def text() -> str:
        odd = _under("Units that do not belong", _first([one.finding.text for one in summary.odd]))
        moved = _under("Units that change", _first([change.finding.text for change in summary.changes]))
        return "\n\n".join(part for part in (str(made), odd, moved) if part)

    findings = [*made.findings, *(one.finding for one in (*summary.odd, *summary.changes))]
    return Answer(content=content, text=text, findings=findings, written=[options.output, options.sheet])


def _first(lines: list[str]) -> list[str]:
    """The first few, and how many more there are."""
    return [*lines[:MOST], *([f"... and {len(lines) - MOST} more"] if len(lines) > MOST else [])]


def _under(title: str, lines: list[str]) -> str:
    """Lines under a title, each with a dash; nothing where there are none."""
    return "\n".join([f"{title}:", *(f"  - {line}" for line in lines)]) if lines else ""


def simulate_line(options: SimulateOptions, terminal: Terminal) -> Answer:
    """Write recordings of a simulated line, to try the rest on: logs/UNIT/*.json and start.json.

    Example: backemf fleet simulate --units 12 -o line/
    """
    from .example_line import record

    units, output = options.units, options.output
    if units < 1:
        raise InvalidValue(f"--units is {units}; expected 1 or more")
    if output.exists() and not options.force:
        raise InvalidValue(f"{str(output)!r} exists; give another folder, or --force to write into it")
    files = record(output, units, options.seed)
    said = f"{units} units, {len(files)} recordings in {output}/logs; a start in {output}/start.json."
    counts = {"units": units, "logs": len(files), "folder": output}
    return Answer(content=lambda: counts, text=lambda: said)


COMMANDS = {
    "run": CommandSpec(FleetRunOptions, run_fleet, working="fitting units"),
    "status": CommandSpec(FolderOptions, show_status),
    "retry": CommandSpec(RetryOptions, retry_fleet, working="fitting units"),
    "population": CommandSpec(PopulationOptions, describe_population),
    "simulate": CommandSpec(SimulateOptions, simulate_line, working="simulating", has_findings=False),
}
"""`backemf fleet NAME`; what is no name is logs to run."""
