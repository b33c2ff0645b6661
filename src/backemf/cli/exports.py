"""`backemf export`, `backemf replay` and `backemf explain`:
an actuator for a simulator, what was lost, and the proof."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Annotated, Any

import typer

from .terminal import Force, Json, Maps, Strict, end, plain_findings, print_json, working

Source = Annotated[
    str,
    typer.Argument(
        help=(
            "A stored fit or actuator (JSON), a part of the catalogue, an identified set such as mx-106/m6,"
            " or a BAM parameter file."
        )
    ),
]
TARGETS = "mujoco, mujoco-classic, mjlab, isaaclab, urdf, bam or torch"
Joint = Annotated[str, typer.Option("--joint", help="Name of the joint.")]
Method = Annotated[
    str,
    typer.Option(
        "--method", help="'simulation' fits what the target cannot hold, 'formula' uses closed forms."
    ),
]
Timestep = Annotated[float, typer.Option("--timestep", help="Of the target's simulation, in seconds.")]
Integrator = Annotated[
    str, typer.Option("--integrator", help="Of MuJoCo: Euler, implicitfast, implicit or RK4.")
]
Amplitude = Annotated[float, typer.Option("--amplitude", help="Of the reference motions, in rad or m.")]
Load = Annotated[
    float,
    typer.Option("--load", help="Of the reference motions: gravity torque as a share of the stall torque."),
]


def actuator_of(source: str) -> tuple[Any, list[str]]:
    """(the actuator, notes on where it came from)."""
    from ..model.actuator import Actuator

    if not source.endswith(".json"):
        return Actuator.read(source), [
            f"catalogue: {source}" if not source.endswith(".toml") else f"datasheet: {Path(source).name}"
        ]
    from ..errors import MissingValue

    try:
        content = json_.loads(Path(source).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingValue(f"there is no file {source!r}") from None
    except (OSError, ValueError, RecursionError):
        content = None
    name = Path(source).name
    if isinstance(content, dict) and "backemf" not in content and "kt" in content:
        from ..targets import bam

        found = bam.read(source)
        offset = (
            []
            if found.offset is None
            else [f"q_offset {found.offset:g} rad of the recordings is not part of the actuator"]
        )
        return found.actuator, [f"BAM parameters {name}, model {found.model} of {found.name}", *offset]
    if isinstance(content, dict) and content.get("noun") == "Fit":
        from ..data.fit import Fit

        fit = Fit.read(source)
        return fit.actuator, [f"fit: {name}", *fit.summary()]
    return Actuator.read(source), [f"actuator: {name}"]


def _effects(effects: Any) -> list[dict[str, Any]]:
    return [{"path": e.path, "text": e.text, "error": e.error, "worst": e.worst} for e in effects]


def _logs(paths: list[str], maps: list[str] | None, shown: bool) -> list[Any]:
    from .identify import read_logs

    return read_logs(paths, maps, shown)


def export(
    source: Source,
    to: Annotated[
        list[str],
        typer.Option(
            "--to", help=f"{TARGETS}; with a version as in mujoco@3.12. May be given several times."
        ),
    ],
    joint: Joint = "joint",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write, or a folder; without it the text is printed."),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            "--into",
            help="Edit this MJCF or URDF in place of the joint's old actuator (with -o: into another file).",
        ),
    ] = None,
    method: Method = "simulation",
    timestep: Timestep = 0.002,
    integrator: Integrator = "implicitfast",
    amplitude: Amplitude = 0.5,
    load: Load = 0.25,
    backlash: Annotated[
        bool, typer.Option("--backlash", help="In MuJoCo: carry the gearbox's play as an extra joint.")
    ] = False,
    log: Annotated[
        list[str] | None,
        typer.Option("--log", help="Recordings to fit to instead of the reference motions; may be repeated."),
    ] = None,
    map: Maps = None,
    note: Annotated[
        list[str] | None, typer.Option("--note", help="Where the numbers came from; may be repeated.")
    ] = None,
    replay: Annotated[
        bool,
        typer.Option(
            "--replay",
            help="Also replay the reference motions, or the --log recordings, in the installed MuJoCo.",
        ),
    ] = False,
    force: Force = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Write an actuator for a simulator, and say what could not be carried and what that costs.

    Example: backemf export mx-106/m6 --to mujoco@3.12 --joint knee -o knee.xml
    """
    from ..errors import InvalidValue
    from ..targets.export import export as run

    if len(to) > 1 and into is not None:
        raise InvalidValue(f"--into edits one file for one target; {len(to)} targets were given with --to")
    if len(to) > 1 and output is not None and not output.is_dir():
        raise InvalidValue(f"-o is {str(output)!r}; for {len(to)} targets expected a folder that exists")
    actuator, notes = actuator_of(source)
    logs = _logs(log, map, not json) if log else None
    settings: dict[str, Any] = {
        "method": method,
        "timestep": timestep,
        "integrator": integrator,
        "amplitude": amplitude,
        "load": load,
        "backlash": backlash,
    }
    with working("exporting", not json) as say:
        made = []
        for k, target in enumerate(to):
            say(f"exporting to {target}", k / len(to) if len(to) > 1 else None)
            drawn = {"spread": _spread(source)} if target.partition("@")[0] == "torch" else {}
            made.append(
                run(
                    actuator,
                    target,
                    joint=joint,
                    notes=[*notes, *(note or [])],
                    logs=logs,
                    **drawn,
                    **settings,
                )
            )
        written, changes = _written(made, into, output, joint, force)
        shown = []
        for one in made:
            say(f"replaying in {one.target}")
            shown.append(_replayed(one, logs) if replay else None)
    findings = [f for one in made for f in one.findings]
    if json:
        rows = [_plain(one, found) for one, found in zip(made, shown, strict=True)]
        done = {"written": [str(p) for p in written], "changes": changes}
        print_json({**rows[0], **done} if len(rows) == 1 else {"exports": rows, **done})
    else:
        for one, found in zip(made, shown, strict=True):
            if not written:
                typer.echo(one.text)
            typer.echo(str(one))
            if found is not None:
                typer.echo(f"\n{found[0]}")
        for line in changes:
            typer.echo(f"  {line}")
        for path in written:
            typer.echo(f"wrote {path}")
    end(findings, strict)


def _spread(source: str) -> Any:
    """What a training file draws from: a stored fit's errors and held-out error; None for anything else."""
    from ..data.fit import Fit
    from ..data.spread import Spread
    from ..errors import BackemfError

    try:
        fit = Fit.read(source)
    except BackemfError:
        return None
    return Spread.of(
        fit.actuator, {path: p.error for path, p in fit.parameters.items()}, fit.correlation, fit.held_out_mae
    )


def _written(
    made: list[Any], into: Path | None, output: Path | None, joint: str, force: bool
) -> tuple[list[Path], list[str]]:
    """(files written, changes made in the user's own model): all of them, or none."""
    if into is not None:
        from ..targets.mujoco.into import into as edit

        edited = edit(made[0], into, joint)
        return edited.write(output, force=force), [*edited.changes, edited.verified]
    if output is None:
        return [], []
    from ..files import write_all

    return (
        write_all({place: text for one in made for place, text in one.places(output).items()}, force=force),
        [],
    )


def _plain(made: Any, found: tuple[str, dict[str, Any]] | None) -> dict[str, Any]:
    """An export as data: what `--json` prints of it."""
    lost = {
        "dropped": _effects(made.dropped),
        "approximated": _effects(made.approximated),
        "replay": found and found[1],
    }
    named = {
        "target": made.target,
        "version": made.version,
        "joint": made.joint,
        "numbers": dict(made.numbers),
        "range": made.range,
    }
    return {"files": dict(made.files), **lost, **named, "findings": plain_findings(made.findings)}


def _replayed(made: Any, logs: list[Any] | None) -> tuple[str, dict[str, Any]]:
    from ..targets.replay import replay as run, summary

    found = run(made, logs)
    return str(found), summary(found)


def replay(
    source: Source,
    logs: Annotated[
        list[str] | None, typer.Argument(help="Recordings to replay; without any, the reference motions.")
    ] = None,
    to: Annotated[str, typer.Option("--to", help="mujoco or mujoco-classic.")] = "mujoco",
    log: Annotated[
        list[str] | None,
        typer.Option("--log", help="Other recordings, to fit the export to; may be repeated."),
    ] = None,
    method: Method = "simulation",
    timestep: Timestep = 0.002,
    integrator: Integrator = "implicitfast",
    map: Maps = None,
    json: Json = False,
) -> None:
    """Export an actuator, run it in the real simulator, and compare it with recordings and with backemf.

    Example: backemf replay mx-106/m6 logs/*.json --to mujoco
    """
    from ..targets.export import export as run

    actuator, notes = actuator_of(source)
    recordings, fitted = (_logs(given, map, not json) if given else None for given in (logs, log))
    with working("exporting", not json) as say:
        made = run(
            actuator, to, notes=notes, method=method, timestep=timestep, integrator=integrator, logs=fitted
        )
        say("replaying")
        text, report = _replayed(made, recordings)
    if json:
        print_json(_plain(made, (text, report)))
        return
    typer.echo(f"{made}\n\n{text}")


def explain(
    model: Annotated[Path, typer.Argument(help="An MJCF file.")], strict: Strict = False, json: Json = False
) -> None:
    """Every actuator of a model in physical terms, and what looks wrong.

    Example: backemf explain arm.xml
    """
    from ..targets.explain import explain as run, summary, text

    rows = run(model)
    if json:
        print_json(summary(rows))
    else:
        typer.echo(text(rows))
    end([f for row in rows for f in row.findings], strict)
