"""`backemf export`, `backemf replay` and `backemf explain`:
an actuator for a simulator, what was lost, and the proof."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Annotated, Any

import typer

from .identify import read_logs
from .terminal import (
    Force,
    Json,
    Maps,
    Strict,
    answer,
    folder,
    is_folder,
    keep,
    option,
    picked,
    place,
    working,
)

ActuatorFrom = Annotated[
    str,
    typer.Argument(
        help=(
            "A stored fit or actuator (JSON), a part of the catalogue, an identified set such as mx-106/m6,"
            " or a BAM parameter file."
        )
    ),
]
TARGETS = "mujoco, mujoco-classic, mjlab, isaaclab, urdf, bam or torch"
Joint = Annotated[str, option("Name of the joint.")]
Method = Annotated[str, option("'simulation' fits what the target cannot hold, 'formula' uses closed forms.")]
Timestep = Annotated[float, option("Time step of the target's simulation [s].")]
Integrator = Annotated[str, option("MuJoCo's integrator: Euler, implicitfast, implicit or RK4.")]
Amplitude = Annotated[float, option("Amplitude of the reference motions [rad or m].")]
Load = Annotated[
    float, option("Load in the reference motions: gravity torque as a share of the stall torque.")
]
Output = Annotated[
    Path | None, place("File to write, or a folder (name/ makes one); without it the text is printed.")
]


def actuator_of(source: str) -> tuple[Any, list[str]]:
    """(the actuator, notes on where it came from)."""
    from ..model.actuator import Actuator

    name = Path(source).name
    if not source.endswith(".json"):
        note = f"datasheet: {name}" if source.endswith(".toml") else f"catalogue: {source}"
        return Actuator.read(source), [note]
    from ..errors import MissingValue

    try:
        content = json_.loads(Path(source).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingValue(f"there is no file {source!r}") from None
    except (OSError, ValueError, RecursionError):
        content = None
    if isinstance(content, dict) and "backemf" not in content and "kt" in content:
        from ..targets import bam

        bam_file = bam.read(source)
        notes = [f"BAM parameters {name}, model {bam_file.model} of {bam_file.name}"]
        if bam_file.offset is not None:
            notes.append(f"q_offset {bam_file.offset:g} rad of the recordings is not part of the actuator")
        return bam_file.actuator, notes
    if isinstance(content, dict) and content.get("noun") == "Fit":
        from ..data.fit import Fit

        fit = Fit.read(source)
        return fit.actuator, [f"fit: {name}", *fit.summary()]
    return Actuator.read(source), [f"actuator: {name}"]


def export(
    source: ActuatorFrom,
    to: Annotated[
        list[str], option(f"{TARGETS}; with a version as in mujoco@3.12. May be given several times.")
    ],
    joint: Joint = "joint",
    output: Output = None,
    into: Annotated[
        Path | None,
        option(
            "Put it into this MJCF or URDF for the joint's old actuator; with -o the result is another file."
        ),
    ] = None,
    method: Method = "simulation",
    timestep: Timestep = 0.002,
    integrator: Integrator = "implicitfast",
    amplitude: Amplitude = 0.5,
    load: Load = 0.25,
    backlash: Annotated[
        bool, option("In MuJoCo: carry the gearbox's play as an extra joint.", "--backlash")
    ] = False,
    log: Annotated[
        list[str] | None, option("Recordings to fit to instead of the reference motions; may be repeated.")
    ] = None,
    map: Maps = None,
    note: Annotated[list[str] | None, option("Where the numbers came from; may be repeated.")] = None,
    replay: Annotated[
        bool,
        option(
            "Also replay the reference motions, or the --log recordings, in the installed MuJoCo.", "--replay"
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
    if len(to) > 1 and output is not None and not is_folder(output):
        wanted = "expected a folder: one that exists, or a new one with a slash behind it, as in models/"
        raise InvalidValue(f"-o is {str(output)!r}; for {len(to)} targets {wanted}")
    actuator, notes = actuator_of(source)
    logs = read_logs(log, map, not json) if log else None
    settings: dict[str, Any] = {"method": method, "timestep": timestep, "integrator": integrator}
    settings |= {"amplitude": amplitude, "load": load, "backlash": backlash}
    settings |= {"joint": joint, "notes": [*notes, *(note or [])], "logs": logs}
    with working("exporting", not json) as say:
        made = []
        for k, target in enumerate(to):
            say(f"exporting to {target}", k / len(to) if len(to) > 1 else None)
            drawn = {"spread": _spread(source)} if target.partition("@")[0] == "torch" else {}
            made.append(run(actuator, target, **drawn, **settings))
        written, changes = _written(made, into, output, joint, force)
        replays: list[tuple[str, dict[str, Any]] | None] = []
        for one in made:
            say(f"replaying in {one.target}")
            replays.append(_replayed(one, logs) if replay else None)

    def content() -> dict[str, Any]:
        rows = [_plain(one, ran) for one, ran in zip(made, replays, strict=True)]
        return {**(rows[0] if len(rows) == 1 else {"exports": rows}), "written": written, "changes": changes}

    def text() -> str:
        lines = []
        for one, ran in zip(made, replays, strict=True):
            lines += [*([] if written else [one.text]), str(one), *([f"\n{ran[0]}"] if ran else [])]
        return "\n".join([*lines, *(f"  {line}" for line in changes), *(f"wrote {path}" for path in written)])

    answer(json, content, text, [f for one in made for f in one.findings], strict)


def _spread(source: str) -> Any:
    """What a training file draws from: a stored fit's errors and held-out error; None for anything else."""
    from ..data.fit import Fit
    from ..data.spread import Spread
    from ..errors import BackemfError

    try:
        fit = Fit.read(source)
    except BackemfError:
        return None
    errors = {path: p.error for path, p in fit.parameters.items()}
    return Spread.of(fit.actuator, errors, fit.correlation, fit.held_out_mae)


def _written(
    made: list[Any], into: Path | None, output: Path | None, joint: str, force: bool
) -> tuple[list[Path], list[str]]:
    """(files written, changes made in the user's own model): all of them, or none."""
    from ..files import write_all

    if into is not None:
        from ..targets.mujoco.into import into as edit

        keep(output, force)
        edited = edit(made[0], into, joint)
        return edited.write(output, force=force), [*edited.changes, edited.verified]
    if output is None:
        return [], []
    with folder(output):
        files = {path: text for one in made for path, text in one.places(output).items()}
        return write_all(files, force=force), []


def _plain(made: Any, ran: tuple[str, dict[str, Any]] | None) -> dict[str, Any]:
    """An export as plain values: what `--json` prints of it."""
    return {
        "files": made.files,
        **{
            kind: [picked(effect, "path text error worst") for effect in getattr(made, kind)]
            for kind in ("dropped", "approximated")
        },
        "replay": ran and ran[1],
        **picked(made, "target version joint numbers range findings"),
    }


def _replayed(made: Any, logs: list[Any] | None) -> tuple[str, dict[str, Any]]:
    from ..targets.replay import replay as run, summary

    ran = run(made, logs)
    return str(ran), summary(ran)


def replay(
    source: ActuatorFrom,
    logs: Annotated[
        list[str] | None, typer.Argument(help="Recordings to replay; without any, the reference motions.")
    ] = None,
    to: Annotated[str, option("mujoco or mujoco-classic.")] = "mujoco",
    log: Annotated[
        list[str] | None, option("Other recordings, to fit the export to; may be repeated.")
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
    recordings, fitted = (read_logs(given, map, not json) if given else None for given in (logs, log))
    how = {"method": method, "timestep": timestep, "integrator": integrator}
    with working("exporting", not json) as say:
        made = run(actuator, to, notes=notes, logs=fitted, **how)
        say("replaying")
        ran = _replayed(made, recordings)
    answer(json, lambda: _plain(made, ran), lambda: f"{made}\n\n{ran[0]}")


def explain(
    model: Annotated[Path, typer.Argument(help="An MJCF file.")], strict: Strict = False, json: Json = False
) -> None:
    """Every actuator of a model in physical terms, and what looks wrong.

    Example: backemf explain arm.xml
    """
    from ..targets.explain import explain as run, summary, text

    rows = run(model)
    findings = [f for row in rows for f in row.findings]
    answer(json, lambda: summary(rows), lambda: text(rows), findings, strict)
