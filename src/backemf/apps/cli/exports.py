"""`backemf export`, `replay`, `explain` and `conform`: an actuator for a simulator, what was lost, and the
proof."""

from __future__ import annotations

import base64
import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ...errors import InvalidValue
from ...targets.export_options import DRAWING, ExportOptions, scopes_of, target_names
from .command_builder import command
from .inputs import (
    SOURCE,
    Bench,
    Control,
    Firmware,
    Motors,
    Named,
    Ratio,
    Sets,
    Voltage,
    all_of,
    by_joint,
    parts_of,
    read_logs,
    robot_of,
)
from .terminal import (
    Force,
    Json,
    Maps,
    Strict,
    Working,
    answer,
    drawable,
    folder,
    is_folder,
    keep,
    option,
    pick,
    place,
    print_json,
    working,
)

Output = Annotated[
    Path | None, place("File to write, or a folder (name/ makes one); without it the text is printed.")
]


@command(
    ExportOptions,
    order="to source joint joints output into set voltage firmware control ratio motors method timestep"
    " integrator amplitude load backlash log bench command map note replay force strict json",
    choices={"to": target_names},
)
def export(
    options: ExportOptions,
    to: Annotated[
        list[str], option("{choices}; with a version as in mujoco@3.12. May be given several times.")
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
    set: Sets = None,
    voltage: Voltage = None,
    firmware: Firmware = None,
    control: Control = None,
    ratio: Ratio = 1.0,
    motors: Motors = 1,
    log: Annotated[
        list[str] | None, option("Recordings to fit to instead of the reference motions; may be repeated.")
    ] = None,
    bench: Bench = None,
    command: Named = None,
    map: Maps = None,
    note: Annotated[list[str] | None, option("Where the numbers came from; may be repeated.")] = None,
    force: Force = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Write an actuator for a simulator, run the very file there, and say what it cannot carry.

    The file goes to stdout, or to -o; everything else that is said goes to stderr.

    Example: backemf export mx-106/m6 --to mujoco@3.12 --joint knee -o knee.xml
    """
    from ...targets.sourcing import choose_actuator

    _places(to, options.into, output, force, json)
    _refuse(options, to, log, bench=bench, command=command, map=map)
    asked: dict[str, Any] = {"sets": set, "voltage": voltage, "firmware": firmware, "control": control}
    asked |= {"ratio": ratio, "motors": motors}
    robot = robot_of(source, joint, joints, asked)
    wanted = by_joint(source, joint, joints, options.into) if robot is None else all_of(robot, source)
    if robot is not None and options.into is None and not json:
        _check_robot_place(f"{source} has {len(wanted)} joints", output)
    sources = {pattern: choose_actuator(name, pattern, **asked) for pattern, name in wanted.items()}
    logs = read_logs(log, map, not json, bench, command, source=source) if log else None
    options = replace(_with_notes(options, sources, note), logs=logs)
    with working("exporting", not json) as report_progress:
        if options.into is not None:
            _report_edit(_edit_model(robot, sources, to[0], options), output, force, strict, json, options)
            return
        made = _export_each(to, sources, wanted, options, bool(joint or joints), report_progress)
        written = _write_files(made, output, force)
    _report_exports(made, written, strict, json, options)


def _check_robot_place(given: str, output: Path | None) -> None:
    """Refuse the files of all joints of a robot where there is no folder for them."""
    if output is None or not is_folder(output):
        raise InvalidValue(
            f"{given}; expected --into with the robot's model, --joint with one of"
            " them, or -o FOLDER/ for a file each"
        )


def _with_notes(options: ExportOptions, sources: dict[str, Any], note: list[str] | None) -> ExportOptions:
    """The options with what the sources say of themselves, each sentence once, and the user's own notes."""
    notes = dict.fromkeys(text for source in sources.values() for text in source.notes)
    findings = list({f.text: f for source in sources.values() for f in source.findings}.values())
    return replace(options, notes=[*notes, *(note or [])], findings=findings)


def _edit_model(robot: Any, sources: dict[str, Any], target: str, options: ExportOptions) -> Any:
    """The user's model with every source's actuator in it."""
    from ...targets.export import run_export

    actuators = {pattern: source.actuator for pattern, source in sources.items()}
    unknown = {pattern: source.unknown for pattern, source in sources.items()}
    return run_export(robot or actuators, target, replace(options, unknown=unknown))


def _export_each(
    to: list[str],
    sources: dict[str, Any],
    wanted: dict[str, str],
    options: ExportOptions,
    named: bool,
    report_progress: Working,
) -> list[Any]:
    """An export of every source to every target; a source's own joint counts where none is named."""
    from ...targets.export import run_export

    made, n = [], len(to) * len(sources)
    for k, (target, (name, one)) in enumerate(itertools.product(to, sources.items())):
        report_progress(f"exporting to {target}", k / n if n > 1 else None)
        on = one.joint if one.joint and not named else name
        spread = _spread(wanted[name]) if target.partition("@")[0] in DRAWING else None
        own = replace(options, joint=on, spread=spread).only(scopes_of(target.partition("@")[0]))
        made.append(run_export(one.actuator, target, own))
    return made


def _report_exports(
    made: list[Any], written: list[Path], strict: bool, json: bool, options: ExportOptions
) -> None:
    """Print the exports that were not written, and say what each cannot carry."""
    if json:
        rows = [_plain(one) for one in made]
        told = {"written": written, "options": options.to_dict()}
        print_json({**(rows[0] if len(rows) == 1 else {"exports": rows}), **told})
    else:
        for one in made:
            if not written:
                typer.echo(one.text, nl=not one.text.endswith("\n"))
            typer.echo(str(one), err=True)
            _name_unprinted([] if written else [*one.files][1:])
        _echo_paths(written)
    if strict and any(one.findings for one in made):
        raise typer.Exit(1)


def _places(to: list[str], into: Any, output: Path | None, force: bool, json: bool) -> None:
    """Refuse, before any work is done, a place that cannot take what was asked for."""
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


def _refuse(options: ExportOptions, to: list[str], log: list[str] | None, **read: Any) -> None:
    """Refuse what applies to none of the targets, and words on recordings where there are none."""
    names = [target.partition("@")[0] for target in to]
    kinds = {kind for name in names for kind in scopes_of(name, options.into)}
    named = ", ".join(names) + (" into a model" if options.into is not None else "")
    options.check(kinds, named, in_shell=True)
    for name, value in read.items():
        if value and not log:
            raise InvalidValue(
                f"--{name} is {str(value)!r:.60}, and no recordings are given; it applies to those of --log"
            )


def _report_edit(
    edited: Any, output: Path | None, force: bool, strict: bool, json: bool, options: ExportOptions
) -> None:
    """Say what became of the user's model, and write it where that was asked for."""
    written = edited.write(output, force=force) if output is not None or force else []
    if json:
        print_json({**_plain_edit(edited, written), "options": options.to_dict()})
    else:
        if not written:
            typer.echo(edited.text, nl=False)
        ran = dict.fromkeys(export.ran for export in edited.exports)
        lines = [*edited.changes, edited.verified, edited.table(), *ran]
        lines += [f"finding: {f}" for f in edited.findings]
        typer.echo("\n".join(line for line in lines if line), err=True)
        _echo_paths(written)
    if strict and edited.findings:
        raise typer.Exit(1)


def _plain_edit(edited: Any, written: list[Path]) -> dict[str, Any]:
    """An edited model as plain values: what `--json` prints of it."""
    return {
        "changes": list(edited.changes),
        "verified": edited.verified,
        "moved": [{**m._asdict(), "dead": m.dead} for m in edited.moved],
        "together": [one._asdict() for one in edited.together],
        "findings": list(edited.findings),
        "exports": [_plain(export) for export in edited.exports],
        "files": {} if written else {str(k): v.decode() for k, v in edited.files.items()},
        "written": written,
    }


def _printable(targets: list[str]) -> None:
    from ...targets.export import TARGETS as KNOWN, parse_target

    for target in targets:
        name, _ = parse_target(target)
        if not KNOWN[name].printable:
            raise InvalidValue(f"an export for {name} is no text to be printed; expected -o FILE.{name}")


def _name_unprinted(names: list[str]) -> None:
    if names:
        typer.echo(f"{', '.join(names)} is not printed; give -o to write every file", err=True)


def _echo_paths(paths: list[Path]) -> None:
    for path in paths:
        typer.echo(f"wrote {path}", err=True)


def _spread(source: str) -> Any:
    """What a training file draws from: a stored fit's errors and held-out error, or how far the units of a
    stored population differ; None for anything else."""
    from ...datasheets import parts
    from ...errors import BackemfError
    from ...results.fit_result import Fit
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


def _write_files(made: list[Any], output: Path | None, force: bool) -> list[Path]:
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
            kind: [pick(effect, "path text error worst") for effect in getattr(made, kind)]
            for kind in ("dropped", "approximated")
        },
        "adjusted": list(made.adjusted),
        "ran": made.ran,
        "replay": None if made.replayed is None else summary(made.replayed),
        **pick(made, "target version joint numbers range findings"),
    }


@command(
    ExportOptions,
    order="source logs to actuator joint log set voltage firmware control method timestep integrator bench"
    " command map plot force json",
    fields="method timestep integrator",
)
def replay(
    options: ExportOptions,
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
    from ...targets.replay import replay as again

    drawable(plot, force)
    _refuse_for_written(options, source)
    recordings, fitted = (
        read_logs(given, map, not json, bench, command, source=actuator or source) if given else None
        for given in (logs, log)
    )
    asked: dict[str, Any] = {"sets": set, "voltage": voltage, "firmware": firmware, "control": control}
    with working("exporting", not json) as report_progress:
        made = _replayed_export(source, actuator, joint, to, asked, replace(options, logs=fitted))
        report_progress("replaying")
        made = made.with_replay(ran := again(made, recordings))
    if plot is not None:
        _draw_replay(ran, f"{source} as {made.target} runs it", plot, force)
    said = {"options": options.to_dict()}
    answer(json, lambda: _plain(made) | said, lambda: f"{made}\n\n{ran}", written=[plot])


def _refuse_for_written(options: ExportOptions, source: str) -> None:
    """Refuse options of an export where the file is written already."""
    from ...targets.replay import is_exported

    for name, value in options.given_options().items() if is_exported(source) else ():
        raise InvalidValue(
            f"--{name} is {value}, and {source} is written already; it applies to what is exported anew"
        )


def _replayed_export(
    source: str, actuator: str | None, joint: str | None, to: str, asked: Any, options: ExportOptions
) -> Any:
    """An exported file as it was read, or what is exported anew."""
    from ...targets.export import run_export
    from ...targets.replay import is_exported, read_export
    from ...targets.sourcing import choose_actuator

    if is_exported(source):
        own = None if actuator is None else choose_actuator(actuator, joint, **asked).actuator
        return read_export(source, own, joint)
    chosen = choose_actuator(source, joint, **asked)
    on = joint or chosen.joint or "joint"
    how = replace(options, joint=on, notes=chosen.notes, findings=chosen.findings, replay=False)
    return run_export(chosen.actuator, to, how)


def _draw_replay(ran: Any, title: str, plot: Path, force: bool) -> None:
    """Draw target, recording and replay into a file."""
    from ..report.figures import draw
    from ..report.figures.runs import replay_figure

    draw.save(replay_figure(ran, title), plot, force=force)


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


def conform(
    model: Annotated[Path, typer.Argument(help="An MJCF file with dcmotors on hinges or slides.")],
    steps: Annotated[int, option("Time steps to compare.")] = 500,
    json: Json = False,
) -> None:
    """Drive each dcmotor of a model in the installed MuJoCo and print the worst one-step difference.

    Example: backemf conform arm.xml
    """
    from ...mujoco.arrays import load_mujoco
    from ...mujoco.conform import conform as run

    compared = run(model, steps=steps)

    def content() -> dict[str, Any]:
        rows = [pick(c, "actuator joint worst differences note") for c in compared]
        return {"mujoco": load_mujoco().__version__, "steps": steps, "actuators": rows}

    answer(json, content, lambda: _conform_text(compared))


def _conform_text(compared: Any) -> str:
    from ...tables import table

    rows = []
    for c in compared:
        worst = "-" if c.worst is None else f"{c.worst:.1e}"
        rows.append((c.actuator, c.joint, worst, " ".join(c.differences) or "nothing", c.note))
    return table(rows, ["actuator", "joint", "worst difference", "compared", "note"])
