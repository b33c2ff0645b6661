"""`backemf export`, `backemf replay` and `backemf explain`: an actuator for a simulator, what was lost, and the proof."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Source = Annotated[
    str, typer.Argument(help="A stored fit or actuator (JSON), a part of the catalogue, an identified set such as mx-106/m6, or a BAM parameter file.")
]
To = Annotated[str, typer.Option("--to", help="mujoco, mujoco-classic, mjlab, isaaclab, urdf or bam; with a version as in mujoco@3.12.")]
Joint = Annotated[str, typer.Option("--joint", help="Name of the joint.")]
Method = Annotated[str, typer.Option("--method", help="'simulation' fits what the target cannot hold, 'formula' uses closed forms.")]
Timestep = Annotated[float, typer.Option("--timestep", help="Of the target's simulation, in seconds.")]
Integrator = Annotated[str, typer.Option("--integrator", help="Of MuJoCo: Euler, implicitfast, implicit or RK4.")]
Amplitude = Annotated[float, typer.Option("--amplitude", help="Of the reference motions, in rad or m.")]
Load = Annotated[float, typer.Option("--load", help="Of the reference motions: gravity torque as a share of the stall torque.")]


def actuator_of(source: str) -> tuple[Any, list[str]]:
    """(the actuator, notes on where it came from)."""
    from ..model.actuator import Actuator

    if not source.endswith(".json"):
        return Actuator.read(source), [f"catalogue: {source}" if not source.endswith(".toml") else f"datasheet: {Path(source).name}"]
    from ..errors import MissingValue

    try:
        content = json_.loads(Path(source).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingValue(f"there is no file {source!r}") from None
    except (OSError, UnicodeDecodeError, json_.JSONDecodeError):
        content = None
    name = Path(source).name
    if isinstance(content, dict) and "backemf" not in content and "kt" in content:
        from ..targets import bam

        found = bam.read(source)
        offset = [] if found.offset is None else [f"q_offset {found.offset:g} rad of the recordings is not part of the actuator"]
        return found.actuator, [f"BAM parameters {name}, model {found.model} of {found.name}", *offset]
    if isinstance(content, dict) and content.get("noun") == "Fit":
        from ..identify.result import Fit

        fit = Fit.read(source)
        return fit.actuator, [f"fit: {name}", *fit.summary()]
    return Actuator.read(source), [f"actuator: {name}"]


def _effects(effects: Any) -> list[dict[str, Any]]:
    return [{"path": e.path, "text": e.text, "error": e.error, "worst": e.worst} for e in effects]


def _logs(paths: list[str]) -> list[Any]:
    from ..data.read import read

    found: list[Any] = []
    for path in paths:
        got = read(path)
        found += got if isinstance(got, (list, tuple)) else [got]
    return found


def export(
    source: Source,
    to: To,
    joint: Joint = "joint",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write, or a folder; without it the text is printed.")] = None,
    into: Annotated[
        Path | None, typer.Option("--into", help="Edit this MJCF or URDF in place of the joint's old actuator (with -o: into another file).")
    ] = None,
    method: Method = "simulation",
    timestep: Timestep = 0.002,
    integrator: Integrator = "implicitfast",
    amplitude: Amplitude = 0.5,
    load: Load = 0.25,
    backlash: Annotated[bool, typer.Option("--backlash", help="In MuJoCo: carry the gearbox's play as an extra joint.")] = False,
    log: Annotated[
        list[str] | None, typer.Option("--log", help="Recordings to fit to instead of the reference motions; may be repeated.")
    ] = None,
    note: Annotated[list[str] | None, typer.Option("--note", help="Where the numbers came from; may be repeated.")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Also replay the reference motions, or the --log recordings, in the installed MuJoCo.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what exists.")] = False,
    json: Json = False,
) -> None:
    """Write an actuator for a simulator, and say what could not be carried and what that costs.

    Example: backemf export mx-106/m6 --to mujoco@3.12 --joint knee -o knee.xml
    """
    from ..targets.export import export as run

    actuator, notes = actuator_of(source)
    logs = _logs(log) if log else None
    settings: dict[str, Any] = {"method": method, "timestep": timestep, "integrator": integrator, "amplitude": amplitude, "load": load, "backlash": backlash}
    settings["logs"] = logs
    made = run(actuator, to, joint=joint, notes=[*notes, *(note or [])], **settings)
    written, changes = [], []
    if into is not None:
        from ..targets.into import into as edit

        edited = edit(made, into, joint)
        changes = [*edited.changes, edited.verified]
        written = edited.write(output, force=force)
    elif output is not None:
        written = made.write(output, force=force)
    found = _replayed(made, logs) if replay else None
    if json:
        report = {"files": dict(made.files), "dropped": _effects(made.dropped), "approximated": _effects(made.approximated), "replay": found and found[1]}
        extra = {"target": made.target, "version": made.version, "joint": made.joint, "numbers": dict(made.numbers), "range": made.range}
        findings = [{"code": f.code, "text": f.text, "remedy": f.remedy, "numbers": dict(f.numbers)} for f in made.findings]
        typer.echo(json_.dumps({**report, **extra, "findings": findings, "written": [str(p) for p in written], "changes": changes}, indent=1))
        return
    if not written:
        typer.echo(made.text)
    typer.echo(str(made))
    for line in changes:
        typer.echo(f"  {line}")
    for path in written:
        typer.echo(f"wrote {path}")
    if found is not None:
        typer.echo(f"\n{found[0]}")


def _replayed(made: Any, logs: list[Any] | None) -> tuple[str, dict[str, Any]]:
    from ..targets.replay import replay as run
    from ..targets.replay import summary

    found = run(made, logs)
    return str(found), summary(found)


def replay(
    source: Source,
    logs: Annotated[list[str] | None, typer.Argument(help="Recordings to replay; without any, the reference motions.")] = None,
    to: Annotated[str, typer.Option("--to", help="mujoco or mujoco-classic.")] = "mujoco",
    method: Method = "simulation",
    timestep: Timestep = 0.002,
    integrator: Integrator = "implicitfast",
    json: Json = False,
) -> None:
    """Export an actuator, run it in the real simulator, and compare it with recordings and with backemf.

    Example: backemf replay mx-106/m6 logs/*.json --to mujoco
    """
    from ..targets.export import export as run

    actuator, notes = actuator_of(source)
    recordings = _logs(logs) if logs else None
    made = run(actuator, to, notes=notes, method=method, timestep=timestep, integrator=integrator, logs=recordings)
    text, report = _replayed(made, recordings)
    if json:
        plain = {"files": dict(made.files), "dropped": _effects(made.dropped), "approximated": _effects(made.approximated), "replay": report}
        typer.echo(json_.dumps(plain, indent=1))
        return
    typer.echo(f"{made}\n\n{text}")


def explain(model: Annotated[Path, typer.Argument(help="An MJCF file.")], json: Json = False) -> None:
    """Every actuator of a model in physical terms, and what looks wrong.

    Example: backemf explain arm.xml
    """
    from ..targets.explain import explain as run
    from ..targets.explain import summary, text

    rows = run(model)
    typer.echo(json_.dumps(summary(rows), indent=1) if json else text(rows))
