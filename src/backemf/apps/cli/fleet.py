"""`backemf fleet`: every unit of many logs fitted; how far that is; what failed again; and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from .terminal import Force, Json, Maps, Strict, answer, inside, keep, making, option, place, under, working


class Group(TyperGroup):
    """What is no command of its own is logs to fit: `backemf fleet LOGS` is `backemf fleet run LOGS`."""

    default: ClassVar = "run"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = args and (args[0] in self.commands or args[0] in ("--help", "-h"))
        return super().parse_args(ctx, args if known or not args else [self.default, *args])


app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Fit thousands of units: backemf fleet LOGS --by folder --start mx-106 -o fleet/",
)
Folder = Annotated[Path, typer.Argument(help="The folder of a fleet.")]
On = Annotated[
    str, option("Where: local (processes of this machine), here, dask://HOST:PORT, ray://HOST:PORT.", "--on")
]
Jobs = Annotated[int | None, option("Units at once; all cores, unless given.", "--jobs", "-j")]


@app.command()
def run(
    logs: Annotated[list[str], typer.Argument(help="Files, folders, patterns, tables, or URLs (s3://...).")],
    start: Annotated[
        str,
        option(
            "What every fit starts from: a part of the catalogue, an identified set, a TOML sheet, or a"
            " stored actuator or fit.",
            "--start",
        ),
    ],
    output: Annotated[Path, place("The folder of the fleet; one that was begun goes on.")],
    by: Annotated[
        str,
        option(
            "A unit is a folder, file, joint, column=NAME, or a pattern: '{unit}/{session}/*.json'.", "--by"
        ),
    ] = "folder",
    friction: Annotated[str | None, option("Another friction model than the start's.")] = None,
    free: Annotated[
        list[str] | None, option("Parameters to free, by path, beside the usual ones. May be repeated.")
    ] = None,
    hold_out: Annotated[list[str] | None, option("Logs of each unit to judge on: gain=8, or a name.")] = None,
    bench: Annotated[str | None, option("What carried every log: 'pendulum mass=0.5kg length=0.1m'.")] = None,
    same_bench: Annotated[
        bool, option("One bench served all units, and is not blamed for what differs.", "--same-bench")
    ] = False,
    map: Maps = None,
    robot: Annotated[Path | None, option("With --by joint: the robot's MJCF or URDF.")] = None,
    firmware: Annotated[str | None, option("With --by joint: a profile of firmware settings.")] = None,
    starts: Annotated[int, option("How many starts at most.")] = 6,
    seed: Annotated[int, option("Seed of the random starts.")] = 0,
    on: On = "local",
    jobs: Jobs = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Fit every unit; what is done is kept, and the same line again goes on where it stopped.

    Example: backemf fleet run line/ --by folder --start mx-106 --friction m4 -o fleet/
    """
    from ...identify.options import parse_hold_out
    from ...kits.fleets.fleet import fleet

    with working("fitting units", not json) as say:
        made = fleet(
            logs,
            start=start,
            into=output,
            by=by,
            friction=friction,
            free=free or (),
            hold_out=parse_hold_out(hold_out) or (),
            map=map or (),
            bench=bench,
            same_bench=same_bench,
            robot=robot,
            firmware=firmware,
            starts=starts,
            seed=seed,
            on=on,
            jobs=jobs,
            progress=_shown(say),
        )
    _answered(made, json, strict)


def _shown(say: Any) -> Any:
    """Progress in words: units per minute, failures; the bar has the time left."""

    def told(step: Any) -> None:
        lost = f", {step.failed} failed" if step.failed else ""
        words = f"{step.done} of {step.of} units{lost}, {step.per_minute:.0f} a minute"
        say(words, step.done / max(step.of, 1))

    return told


def _answered(made: Any, json: bool, strict: bool, written: bool = True) -> None:
    """How far a fleet is, its failures first."""
    from ...kits.fleets.folder import failures

    status, lost = made.status, list(failures(made.folder))

    def content() -> dict[str, Any]:
        counts = {name: getattr(status, name) for name in ("n_units", "fitted", "failed", "left", "cpu_s")}
        return counts | {"folder": made.folder, "table": made.table, "findings": lost}

    def text() -> str:
        done = f"{status.fitted} of {status.n_units} units fitted, {status.failed} failed, {status.left} left"
        each = f"; {status.cpu_s / max(status.fitted + status.failed, 1):.2g} s of CPU each"
        rate = f", {status.per_minute:.0f} units a minute" if status.per_minute else ""
        lines = _first([f"{f.code}: {f.text}\n    {f.remedy}" for f in lost])
        return "\n\n".join(part for part in (f"{done}{each}{rate}.", under("Failed", lines)) if part)

    answer(json, content, text, lost, strict, [made.table] if written else [])


MOST = 12
"""Failures that are listed for people."""


@app.command()
def status(folder: Folder, strict: Strict = False, json: Json = False) -> None:
    """Say how far a fleet is, and what failed.

    Example: backemf fleet status fleet/
    """
    from ...kits.fleets.fleet import Fleet

    _answered(Fleet.read(folder), json, strict, written=False)


@app.command()
def retry(
    folder: Folder, on: On = "local", jobs: Jobs = None, strict: Strict = False, json: Json = False
) -> None:
    """Fit the units again that failed, and those that are left.

    Example: backemf fleet retry fleet/
    """
    from ...kits.fleets.fleet import retry as again

    with working("fitting units", not json) as say:
        made = again(folder, on=on, jobs=jobs, progress=_shown(say))
    _answered(made, json, strict)


@app.command()
def population(
    folder: Folder,
    output: Annotated[Path | None, place("Store it here as JSON, for exports and simulations.")] = None,
    sheet: Annotated[Path | None, place("Write the tolerances into this file, as TOML.", "--sheet")] = None,
    name: Annotated[str, option("What to call it.")] = "",
    force: Force = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Say what the units share: the middle, the spread of each number, units that do not belong, and drift.

    Example: backemf fleet population fleet/ -o population.json
    """
    from ...files import write_all
    from ...kits.fleets.fleet import Fleet
    from ...kits.fleets.summary import summarize

    output = inside(output, "population.json")
    for file in (output, sheet):
        keep(file, force)
    told = summarize(Fleet.read(folder), name)
    made = told.population
    if output is not None:
        with making(output):
            made.write(output, force=force)
    if sheet is not None:
        write_all({sheet: made.datasheet()}, force=force)
    findings = [*made.findings, *(one.finding for one in (*told.odd, *told.changes))]

    def content() -> dict[str, Any]:
        rows = [one._asdict() for one in told.odd]
        return made.to_dict() | {"odd": rows, "changes": [one._asdict() for one in told.changes]}

    def text() -> str:
        odd = under("Units that do not belong", _first([one.finding.text for one in told.odd]))
        moved = under("Units that change", _first([one.finding.text for one in told.changes]))
        return "\n\n".join(part for part in (str(made), odd, moved) if part)

    answer(json, content, text, findings, strict, [output, sheet])


def _first(lines: list[str]) -> list[str]:
    """The first few, and how many more there are."""
    return [*lines[:MOST], *([f"... and {len(lines) - MOST} more"] if len(lines) > MOST else [])]


@app.command()
def report(
    folder: Folder,
    output: Annotated[Path, place("The page, an .html file.")],
    name: Annotated[str, option("What to call it.")] = "",
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a page: distributions, pairs, the worst units, drift.

    Example: backemf fleet report fleet/ -o fleet.html
    """
    from ...kits.fleets.fleet import Fleet
    from ...kits.fleets.page import fleet_page
    from ..report.html import write

    output = inside(output, "fleet.html")
    keep(output, force)
    with working("looking at the units", not json), making(output):
        write(fleet_page(Fleet.read(folder), name), output, force=force)
    answer(json, lambda: {"report": output}, lambda: "", written=[output])


@app.command()
def simulate(
    output: Annotated[Path, place("A new folder for the simulated line.")],
    units: Annotated[int, option("How many units.")] = 12,
    seed: Annotated[int, option("Seed of the units and of their noise.")] = 0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write recordings of a simulated line, to try the rest on: logs/UNIT/*.json and start.json.

    Example: backemf fleet simulate --units 12 -o line/
    """
    from ...errors import InvalidValue
    from ...kits.fleets.example_line import record

    if units < 1:
        raise InvalidValue(f"--units is {units}; expected 1 or more")
    if output.exists() and not force:
        raise InvalidValue(f"{str(output)!r} exists; give another folder, or --force to write into it")
    with working("simulating", not json):
        files = record(output, units, seed)
    said = f"{units} units, {len(files)} recordings in {output}/logs; a start in {output}/start.json."
    answer(json, lambda: {"units": units, "logs": len(files), "folder": output}, lambda: said)
