"""`backemf export`, `backemf replay` and `backemf explain`:
an actuator for a simulator, what was lost, and the proof."""

from __future__ import annotations

import base64
import itertools
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from .inputs.benches import Bench
from .inputs.commands import Named
from .inputs.joints import all_of, by_joint, robot_of
from .inputs.recordings import read_logs
from .inputs.sources import SOURCE, Control, Firmware, Motors, Ratio, Sets, Voltage, chosen, parts_of
from .terminal import (
    Force,
    Json,
    Maps,
    Strict,
    answer,
    drawable,
    folder,
    is_folder,
    keep,
    option,
    picked,
    place,
    print_json,
    working,
)

TARGETS = (
    "mujoco, mujoco-live, mujoco-plugin, mujoco-classic, mjlab, isaaclab, newton, drake, urdf, sdf, bam,"
    " torch, warp, c or fmu"
)
Method = Annotated[str, option("'simulation' fits what the target cannot hold, 'formula' uses closed forms.")]
Timestep = Annotated[
    float, option("Time step of the target's simulation [s]; with --into it is the model's own.")
]
Integrator = Annotated[
    str, option("MuJoCo's integrator: Euler, implicitfast, implicit or RK4; with --into the model's own.")
]
Amplitude = Annotated[float, option("Amplitude of the reference motions [rad or m].")]
Load = Annotated[
    float, option("Load in the reference motions: gravity torque as a share of the stall torque.")
]
Output = Annotated[
    Path | None, place("File to write, or a folder (name/ makes one); without it the text is printed.")
]


def export(
    to: Annotated[
        list[str], option(f"{TARGETS}; with a version as in mujoco@3.12. May be given several times.")
    ],
    source: Annotated[str | None, typer.Argument(help=SOURCE)] = None,
    joint: Annotated[
        list[str] | None,
        option(
            "Name of the joint. With --into also a regular expression, and PATTERN=SOURCE for an actuator of"
            " its own; may be repeated then."
        ),
    ] = None,
    joints: Annotated[
        Path | None, option("A TOML file of lines PATTERN = SOURCE, instead of many --joint.")
    ] = None,
    output: Output = None,
    into: Annotated[
        Path | None,
        option(
            "Put it into this MJCF or URDF for the joints' old actuators; with -o the result is another file,"
            " with --force this one. A model as the source, without --joint, gives each joint its own."
        ),
    ] = None,
    set: Sets = None,
    voltage: Voltage = None,
    firmware: Firmware = None,
    control: Control = None,
    ratio: Ratio = 1.0,
    motors: Motors = 1,
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
    bench: Bench = None,
    command: Named = None,
    map: Maps = None,
    note: Annotated[list[str] | None, option("Where the numbers came from; may be repeated.")] = None,
    replay: Annotated[
        bool,
        option("Run the written file in its simulator and say so in its header.", "--replay/--no-replay"),
    ] = True,
    force: Force = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Write an actuator for a simulator, run the very file there, and say what it cannot carry.

    The file goes to stdout, or to -o; everything else that is said goes to stderr.

    Example: backemf export mx-106/m6 --to mujoco@3.12 --joint knee -o knee.xml
    """
    from ...errors import InvalidValue
    from ...targets.export import DRAWING, export as run

    if len(to) > 1 and into is not None:
        raise InvalidValue(f"--into edits one file for one target; {len(to)} targets were given with --to")
    if len(to) > 1 and output is None and not json:
        raise InvalidValue(f"{len(to)} targets were given, and stdout takes one file; expected -o FOLDER/")
    if len(to) > 1 and output is not None and not is_folder(output):
        wanted = "expected a folder: one that exists, or a new one with a slash behind it, as in models/"
        raise InvalidValue(f"-o is {str(output)!r}; for {len(to)} targets {wanted}")
    if output is None and into is None and not json:
        _printable(to)
    if output is not None and (into is not None or not is_folder(output)):
        keep(output, force)
    asked: dict[str, Any] = {"sets": set, "voltage": voltage, "firmware": firmware, "control": control}
    asked |= {"ratio": ratio, "motors": motors}
    robot = robot_of(source, joint, joints, asked)
    wanted = by_joint(source, joint, joints, into) if robot is None else all_of(robot, source)
    if robot is not None and into is None and (output is None or not is_folder(output)) and not json:
        raise InvalidValue(
            f"{source} has {len(wanted)} joints; expected --into with the robot's model, --joint with one of"
            " them, or -o FOLDER/ for a file each"
        )
    sources = {pattern: chosen(name, pattern, **asked) for pattern, name in wanted.items()}
    logs = read_logs(log, map, not json, bench, command, source=source) if log else None
    notes = dict.fromkeys(text for one in sources.values() for text in one.notes)
    findings = list({f.text: f for one in sources.values() for f in one.findings}.values())
    settings: dict[str, Any] = {"method": method, "timestep": timestep, "integrator": integrator}
    settings |= {"amplitude": amplitude, "load": load, "backlash": backlash, "replay": replay}
    settings |= {"notes": [*notes, *(note or [])], "logs": logs, "findings": findings}
    with working("exporting", not json) as say:
        if into is not None:
            actuators = {pattern: one.actuator for pattern, one in sources.items()}
            unknown = {pattern: one.unknown for pattern, one in sources.items()}
            edited = run(robot or actuators, to[0], into=into, unknown=unknown, **settings)
            _edited(edited, output, force, strict, json)
            return
        made, n = [], len(to) * len(sources)
        for k, (target, (name, one)) in enumerate(itertools.product(to, sources.items())):
            say(f"exporting to {target}", k / n if n > 1 else None)
            on = one.joint if one.joint and not (joint or joints) else name
            drawn = {"spread": _spread(wanted[name])} if target.partition("@")[0] in DRAWING else {}
            made.append(run(one.actuator, target, joint=on, **drawn, **settings))
        written = _written(made, output, force)
    if json:
        rows = [_plain(one) for one in made]
        print_json({**(rows[0] if len(rows) == 1 else {"exports": rows}), "written": written})
    else:
        for one in made:
            if not written:
                typer.echo(one.text, nl=not one.text.endswith("\n"))
            typer.echo(str(one), err=True)
            _unprinted([] if written else [*one.files][1:])
        _wrote(written)
    if strict and any(one.findings for one in made):
        raise typer.Exit(1)


def _edited(edited: Any, output: Path | None, force: bool, strict: bool, json: bool) -> None:
    """Say what became of the user's model, and write it where that was asked for."""
    written = edited.write(output, force=force) if output is not None or force else []
    if json:
        print_json(
            {
                "changes": list(edited.changes),
                "verified": edited.verified,
                "moved": [{**m._asdict(), "dead": m.dead} for m in edited.moved],
                "together": [one._asdict() for one in edited.together],
                "findings": list(edited.findings),
                "exports": [_plain(one) for one in edited.exports],
                "files": {} if written else {str(k): v.decode() for k, v in edited.files.items()},
                "written": written,
            }
        )
    else:
        if not written:
            typer.echo(edited.text, nl=False)
        ran = dict.fromkeys(one.ran for one in edited.exports)
        lines = [*edited.changes, edited.verified, edited.table(), *ran]
        lines += [f"finding: {f}" for f in edited.findings]
        typer.echo("\n".join(line for line in lines if line), err=True)
        _wrote(written)
    if strict and edited.findings:
        raise typer.Exit(1)


def _printable(targets: list[str]) -> None:
    from ...errors import InvalidValue
    from ...targets.export import TARGETS as KNOWN, parse_target

    for target in targets:
        name, _ = parse_target(target)
        if not KNOWN[name].printable:
            raise InvalidValue(f"an export for {name} is no text to be printed; expected -o FILE.{name}")


def _unprinted(names: list[str]) -> None:
    if names:
        typer.echo(f"{', '.join(names)} is not printed; give -o to write every file", err=True)


def _wrote(paths: list[Path]) -> None:
    for path in paths:
        typer.echo(f"wrote {path}", err=True)


def _spread(source: str) -> Any:
    """What a training file draws from: a stored fit's errors and held-out error, or how far the units of a
    stored population differ; None for anything else."""
    from ...datasheets import parts
    from ...errors import BackemfError
    from ...results.fit import Fit
    from ...results.population import Population
    from ...results.spread import Spread

    if parts.is_part(source):
        return parts.spread(source)
    path, _, joint = source.partition(".json#")
    try:
        return Population.read(source).spread()
    except BackemfError:
        pass
    try:
        fit = Fit.read(f"{path}.json" if joint else source)
    except BackemfError:
        return None
    fit = fit.joints.get(joint, fit)
    errors = {path: p.error for path, p in fit.parameters.items()}
    return Spread.of(fit.actuator, errors, fit.correlation, fit.held_out_mae)


def _written(made: list[Any], output: Path | None, force: bool) -> list[Path]:
    """Files written: all of them, or none."""
    from ...files import write_all

    if output is None:
        return []
    with folder(output):
        each = [one.places(output) for one in made]
        taken = Counter(path for places in each for path in places)
        for k, one in enumerate(made):  # those that would have one name are told apart by their targets
            if any(taken[path] > 1 for path in each[k]):
                first = next(iter(each[k]))
                own = f"{first.stem}_{one.target}_{one.version}".removesuffix("_any")
                each[k] = one.places(first.with_stem(own))
        return write_all({path: text for places in each for path, text in places.items()}, force=force)


def _text(content: str | bytes) -> str:
    """A file in JSON: what is no text in base64."""
    return content if isinstance(content, str) else base64.b64encode(content).decode()


def _plain(made: Any) -> dict[str, Any]:
    """An export as plain values: what `--json` prints of it."""
    from ...targets.replay import summary

    return {
        "files": {name: _text(content) for name, content in made.files.items()},
        **{
            kind: [picked(effect, "path text error worst") for effect in getattr(made, kind)]
            for kind in ("dropped", "approximated")
        },
        "adjusted": list(made.adjusted),
        "ran": made.ran,
        "replay": None if made.replayed is None else summary(made.replayed),
        **picked(made, "target version joint numbers range findings"),
    }


def replay(
    source: Annotated[
        str,
        typer.Argument(
            help="An exported file, perhaps changed by hand (.xml, .py, .urdf, .sdf, .c, .fmu;"
            " model.xml#JOINT where it has several actuators), or anything that can be exported: a fit, a"
            " part, an identified set."
        ),
    ],
    logs: Annotated[
        list[str] | None, typer.Argument(help="Recordings to replay; without any, the reference motions.")
    ] = None,
    to: Annotated[str, option("The target, where the source is not a file of one.")] = "mujoco",
    actuator: Annotated[
        str | None,
        option(
            "What an exported file was made from: backemf's own motion is that one's then. An MJCF says it by"
            " itself."
        ),
    ] = None,
    joint: Annotated[str | None, option("The joint, where the file has several.")] = None,
    log: Annotated[
        list[str] | None, option("Other recordings, to fit the export to; may be repeated.")
    ] = None,
    set: Sets = None,
    voltage: Voltage = None,
    firmware: Firmware = None,
    control: Control = None,
    method: Method = "simulation",
    timestep: Timestep = 0.002,
    integrator: Integrator = "implicitfast",
    bench: Bench = None,
    command: Named = None,
    map: Maps = None,
    plot: Annotated[
        Path | None,
        place("Draw target, recording and replay into this file (.png, .svg, .pdf, .html).", "--plot"),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Run an exported file in its real simulator, and compare it with recordings and with backemf.

    Example: backemf replay mx-106/m6 logs/*.json --to mujoco
    """
    from ...targets.export import export as run
    from ...targets.replay import exported, is_exported, replay as again

    drawable(plot, force)
    told: dict[str, Any] = {"source": actuator or source}
    recordings, fitted = (
        read_logs(given, map, not json, bench, command, **told) if given else None for given in (logs, log)
    )
    asked: dict[str, Any] = {"sets": set, "voltage": voltage, "firmware": firmware, "control": control}
    with working("exporting", not json) as say:
        if is_exported(source):
            own = None if actuator is None else chosen(actuator, joint, **asked).actuator
            made = exported(source, own, joint)
        else:
            one = chosen(source, joint, **asked)
            how: dict[str, Any] = {"method": method, "timestep": timestep, "integrator": integrator}
            how |= {"notes": one.notes, "logs": fitted, "replay": False, "findings": one.findings}
            made = run(one.actuator, to, joint=joint or one.joint or "joint", **how)
        say("replaying")
        ran = again(made, recordings)
        made = made.with_replay(ran)
    if plot is not None:
        from ..report import picture
        from ..report.figures.runs import replayed

        picture.save(replayed(ran, f"{source} as {made.target} runs it"), plot, force=force)
    answer(json, lambda: _plain(made), lambda: f"{made}\n\n{ran}", written=[plot])


def explain(
    model: Annotated[str, typer.Argument(help="An MJCF file; model.xml#JOINT for one of its actuators.")],
    with_: Annotated[
        list[str] | None,
        option(
            "What drives the joints, to compare with: a part, an identified set, a fit or actuator file, a"
            ' joint of a model; for some joints "shoulder_.*=sts3215-7.4v/m1". May be given several times.',
            "--with",
            metavar="TEXT",
        ),
    ] = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Every actuator of a model in physical terms, what looks wrong, and by how much it is off from its part.

    Example: backemf explain arm.xml --with sts3215-7.4v/m1
    """
    import shutil

    from ...mujoco.explain.explanation import explain as run, summary, text

    rows = run(model, parts_of(with_))
    findings = [f for row in rows for f in row.findings]
    width = max(shutil.get_terminal_size().columns, 60)
    answer(json, lambda: summary(rows), lambda: text(rows, width), findings, strict)
