"""`backemf export`, `replay`, `explain` and `conform`: an actuator for a simulator, what was lost, and the
proof."""

from __future__ import annotations

import base64
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InvalidValue
from ...options import FOLDER, HIDDEN, Answer, Scope, Terminal, option, option_of, options
from ...targets.export_options import DRAWING, INTO, SOURCE_HELP, ExportOptions, scopes_of, target_names
from .command_builder import command
from .inputs import (
    ActuatorWords,
    ControlWords,
    ModelWords,
    PlaybackWords,
    ReadingWords,
    SupplyWords,
    WritingWords,
    all_of,
    by_joint,
    fit_of,
    output_option,
    parts_of,
    plot_option,
    read_logs,
    robot_of,
    write_motions,
)
from .terminal import finding_lines, folder, is_folder, keep, pick, under

RECORDED = Scope("recorded", "recordings: give logs", "recordings: give --log FILE")


@options
class ExportWords(ActuatorWords, ReadingWords, WritingWords, ExportOptions):
    """What one may ask of `export`."""

    to: list[str] = option(
        help="{choices}; with a version as in mujoco@3.12. May be given several times.", choices=target_names
    )
    source: str | None = option(default=None, help=SOURCE_HELP, cli="source")
    patterns: list[str] | None = option(
        default=None,
        help="Name of the joint. With --into also a regular expression, and PATTERN=SOURCE for an actuator of"
        " its own; may be repeated then.",
        cli="--joint",
    )
    joints: Path | None = option(
        default=None, help="A TOML file of lines PATTERN = SOURCE, instead of many --joint."
    )
    output: Path | None = output_option(
        "File to write, or a folder (name/ makes one); without it the text is printed.", FOLDER
    )
    log: list[str] | None = option(
        default=None, help="Recordings to fit to instead of the reference motions; may be repeated."
    )
    bench: str | None = option_of(ReadingWords, "bench", applies_to=RECORDED)
    command: str | None = option_of(ReadingWords, "command", applies_to=RECORDED)
    map: list[str] | None = option_of(ReadingWords, "map", applies_to=RECORDED)
    note: list[str] | None = option(default=None, help="Where the numbers came from; may be repeated.")
    in_place: bool = option(
        default=False,
        help="With --into: write every file of the model, included ones too, where it is; as --force without"
        " -o does.",
        applies_to=INTO,
    )


@command(ExportWords, "exporting")
def export(options: ExportWords, terminal: Terminal) -> Answer:
    """Write an actuator for a simulator, run the very file there, and say what it cannot carry.

    The file goes to stdout, or to -o; everything else that is said goes to stderr.

    Example: backemf export mx-106/m6 --to mujoco@3.12 --joint knee -o knee.xml
    """
    from ...targets.sourcing import choose_actuator

    o, asked = options, options.actuator_keywords()
    _check_places(o, terminal.quiet)
    _check_scopes(o)
    robot = robot_of(o.source, o.patterns, o.joints, asked)
    wanted = by_joint(o.source, o.patterns, o.joints, o.into) if robot is None else all_of(robot, o.source)
    if robot is not None and o.into is None and not terminal.quiet:
        _check_robot_place(f"{o.source} has {len(wanted)} joints", o.output)
    sources = {pattern: choose_actuator(name, pattern, **asked) for pattern, name in wanted.items()}
    logs = read_logs(o.log, terminal.say, source=o.source, **o.reading()) if o.log else None
    how = _with_notes(replace(o.narrow(ExportOptions), logs=logs), sources, o.note)
    if o.into is not None:
        return _report_edit(_edit_model(robot, sources, o.to[0], how), o)
    made = _export_each(o.to, sources, wanted, how, bool(o.patterns or o.joints), terminal.say)
    return _report_exports(made, _write_files(made, o.output, o.force))


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
    say: Callable[..., None],
) -> list[Any]:
    """An export of every source to every target; a source's own joint counts where none is named."""
    from ...targets.export import run_export

    made, n = [], len(to) * len(sources)
    for k, (target, (name, one)) in enumerate(itertools.product(to, sources.items())):
        say(f"exporting to {target}", k / n if n > 1 else None)
        on = one.joint if one.joint and not named else name
        spread = _spread(wanted[name], on, options.draws) if target.partition("@")[0] in DRAWING else None
        said = {name: x for name, x in one.options.items() if getattr(options, name) is None}
        own = replace(options, joint=on, spread=spread, **said).only(scopes_of(target.partition("@")[0]))
        made.append(run_export(one.actuator, target, own))
    return made


def _report_exports(made: list[Any], written: list[Path]) -> Answer:
    """The export that was not written, for stdout, and what each cannot carry."""

    def content() -> dict[str, Any]:
        rows = [_plain(one) for one in made]
        return {**(rows[0] if len(rows) == 1 else {"exports": rows}), "written": written}

    def text() -> str:
        return "" if written else "".join(f"{one.text.removesuffix(chr(10))}\n" for one in made)

    def beside() -> str:
        unprinted = [", ".join([*one.files][1:]) for one in made if not written]
        more = [f"{names} is not printed; give -o to write every file" for names in unprinted if names]
        return "\n".join([*map(str, made), *more, *_path_lines(written)])

    findings = [f for one in made for f in one.findings]
    return Answer(content=content, text=text, beside=beside, findings=findings)


def _path_lines(paths: list[Path]) -> list[str]:
    return [f"wrote {path}" for path in paths]


def _check_places(options: ExportWords, quiet: bool) -> None:
    """Refuse, before any work is done, a place that cannot take what was asked for."""
    to, into, output = options.to, options.into, options.output
    if options.in_place and output is not None:
        raise InvalidValue(f"--in-place writes where the files are, and -o is {str(output)!r}; expected one")
    if len(to) > 1:
        _check_several(len(to), into, output, quiet)
    if output is None and into is None and not quiet:
        _printable(to)
    if output is not None and (into is not None or not is_folder(output)):
        keep(output, options.force)


def _check_several(n: int, into: object, output: Path | None, quiet: bool) -> None:
    """Refuse a place that takes one file, for n targets."""
    if into is not None:
        raise InvalidValue(f"--into edits one file for one target; {n} targets were given with --to")
    if output is None and not quiet:
        raise InvalidValue(f"{n} targets were given, and stdout takes one file; expected -o FOLDER/")
    if output is not None and not is_folder(output):
        wanted = "expected a folder: one that exists, or a new one with a slash behind it, as in models/"
        raise InvalidValue(f"-o is {str(output)!r}; for {n} targets {wanted}")


def _check_scopes(options: ExportWords) -> None:
    """Refuse what applies to none of the targets, and words on recordings where there are none."""
    names = [target.partition("@")[0] for target in options.to]
    kinds = {kind for name in names for kind in scopes_of(name, options.into)}
    named = ", ".join(names) + (" into a model" if options.into is not None else "")
    options.check(kinds | ({"recorded"} if options.log else set()), named, in_shell=True)


def _report_edit(edited: Any, options: ExportWords) -> Answer:
    """What became of the user's model, which is written where that was asked for."""
    force = options.force or options.in_place
    written = edited.write(options.output, force=force) if force or options.output is not None else []

    def beside() -> str:
        ran = dict.fromkeys(export.ran for export in edited.exports)
        lost = dict.fromkeys(line for export in edited.exports for line in export.losses())
        lines = [*edited.changes, edited.verified, edited.table(), *lost, *edited.creep, *ran]
        lines += [f"finding: {f}" for f in edited.findings]
        others = [] if written else [*(Path(name).name for name in [*edited.files][1:]), *edited.beside]
        lines += [f"{', '.join(others)} is not printed; give -o to write every file"] if others else []
        return "\n".join([*filter(None, lines), *_path_lines(written)])

    return Answer(
        content=lambda: _plain_edit(edited, written),
        text=lambda: "" if written else edited.text,
        beside=beside,
        findings=edited.findings,
    )


def _plain_edit(edited: Any, written: list[Path]) -> dict[str, Any]:
    """An edited model as plain values: what `--json` prints of it."""
    return {
        "changes": list(edited.changes),
        "verified": edited.verified,
        "creep": list(edited.creep),
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


def _spread(source: str, on: str, draws: str | None) -> Any:
    """What a training file draws from: a stored fit's errors and held-out error, of a robot's those of the
    joint in the source or else of `on`, or how far the units of a stored population differ; None for anything
    else."""
    from ...datasheets import parts
    from ...errors import BackemfError
    from ...results.fit_result import Fit
    from ...results.population import Population
    from ...results.spread import Spread
    from ...results.variation import variation_in

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
    if draws:
        variation_in(fit)  # or why there are no bands
    joint = joint or (on if fit.joints else "")
    return Spread.of_fit(fit, fit.joints.get(joint, fit).actuator, joint)


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


@options
class ReplayWords(ControlWords, ReadingWords, PlaybackWords, ExportOptions):
    """What one may ask of `replay`: a few options of `export`, and which file and recordings."""

    source: str = option(
        help="An exported file, perhaps changed by hand (.xml, .py, .urdf, .sdf, .c, .fmu; model.xml#JOINT"
        " where it has several actuators), or anything that can be exported: a fit, a part, an identified"
        " set.",
        cli="source",
    )
    recordings: list[str] | None = option(
        default=None, help="Recordings to replay; without any, the reference motions.", cli="logs"
    )
    to: str = option(default="mujoco", help="The target, where the source is not a file of one.")
    actuator: str | None = option(
        default=None,
        help="What an exported file was made from: backemf's own motion is that one's then. An MJCF says it"
        " by itself.",
    )
    joint: str = option(default="", help="The joint, where the file has several.")
    log: list[str] | None = option(
        default=None, help="Other recordings, to fit the export to; may be repeated."
    )
    amplitude: float = option_of(ExportOptions, "amplitude", cli=HIDDEN)
    load: float = option_of(ExportOptions, "load", cli=HIDDEN)
    backlash: bool = option_of(ExportOptions, "backlash", cli=HIDDEN)
    replay: bool = option_of(ExportOptions, "replay", cli=HIDDEN)
    into: Path | str | None = option_of(ExportOptions, "into", cli=HIDDEN)
    plot: Path | None = plot_option("target, recording and replay")


@command(ReplayWords, "exporting", has_findings=False)
def replay(options: ReplayWords, terminal: Terminal) -> Answer:
    """Run an exported file in its real simulator, and compare it with recordings and with backemf.

    Example: backemf replay mx-106/m6 logs/*.json --to mujoco
    """
    from ...targets.replay import replay as again
    from ..report.figures.runs import replay_figure

    o = options
    fit = fit_of(o.source)
    if fit is not None and fit.joints and not o.joint:
        return _replay_robot(fit, o, terminal)
    how = replace(o.narrow(ExportOptions), joint="joint")
    _refuse_for_written(how, o.source)
    o.playback_places()
    recordings, fitted = (
        read_logs(given, terminal.say, source=o.actuator or o.source, **o.reading()) if given else None
        for given in (o.recordings, o.log)
    )
    terminal.say("exporting")
    made = _replayed_export(o, replace(how, logs=fitted))
    terminal.say("replaying")
    made = made.with_replay(ran := again(made, recordings))
    bands = _bands_of(o.source, recordings or [], ran)
    shown = _show_replay(ran, fit, recordings or [], o)
    figure = None
    if o.plot is not None:
        figure = replay_figure(ran, f"{o.source} as {made.target} runs it", [one.motion for one in bands])
    return Answer(
        content=lambda: {**_plain(made), "bands": {one.name: one.plain() for one in bands}},
        text=lambda: "\n\n".join([str(made), str(ran), *(str(one) for one in bands)]),
        written=[o.plot, *shown],
        figures={} if o.plot is None else {o.plot: figure},
    )


def _show_replay(ran: Any, fit: Any, recordings: Sequence[Any], options: ReplayWords) -> list[Path]:
    """The files for other programs that were asked for."""
    places = options.playback_places([case.name for case in ran.cases])
    if not places:
        return []
    from ..playback.playback import of_replay, write_playbacks

    logs = {log.name: log for log in recordings}
    made = []
    for case in ran.cases:
        log = logs.get(case.name)
        made.append(of_replay(case, log, None if None in (fit, log) else fit.predict(log), ran.unit))
    return write_playbacks(made, places, force=options.force)


def _replay_robot(fit: Any, options: ReplayWords, terminal: Terminal) -> Answer:
    """All joints of a robot together, each with its whole actuator, by the commands of recordings."""
    from ...identify.predict import predict_logs
    from ...tables import table

    o = options
    if not o.recordings:
        raise InvalidValue(
            f"{o.source} is of a robot; expected recordings of it, or one of its joints, as"
            f" {o.source}#{next(iter(fit.joints))}"
        )
    refused = ("to", "actuator", "log", "plot", "control", "set", "voltage", "firmware")
    for name in (name for name in o.given_options() if name in refused):
        raise InvalidValue(
            f"--{name} is given, and {o.source} is of a robot, whose joints are replayed together as fitted;"
            f" it applies to one joint, as {o.source}#{next(iter(fit.joints))}"
        )
    logs = read_logs(o.recordings, terminal.say, source=o.source, **o.reading())
    o.playback_places([log.name for log in logs])
    terminal.say("simulating")
    motions = predict_logs(fit, logs)
    shown = write_motions(motions, o)
    bands = [_ReplayBand(m.log.name, m) for m in motions if m.has_band]
    rows = [
        {"name": m.log.name, "role": m.role, "rms": m.rms(), "rms_free": m.rms(free=True)} for m in motions
    ]

    def text() -> str:
        cells = [(r["name"], r["role"], *(1e3 * (r[k] or 0.0) for k in ("rms", "rms_free"))) for r in rows]
        over = f", over {fit.stretch:g} s each from the recorded state" if fit.stretch else ""
        head = f"{fit.robot.name}, {len(fit.joints)} joints together in MuJoCo; RMS of positions [mrad]{over}"
        said = table(cells, ("recording", "in the fit", "RMS", "in the air"))
        return "\n\n".join([f"{head}\n{said}", *map(str, bands)])

    plain = {one.name: one.plain() for one in bands}
    return Answer(content=lambda: {"recordings": rows, "bands": plain}, text=text, written=shown)


class _ReplayBand(NamedTuple):
    """A recording that the fit never saw: how far off it was to be expected, and what came of it."""

    name: str
    motion: Any
    file_inside: float | None = None
    """Share of an exported file's motion that is inside; None where no file was run."""

    def plain(self) -> dict[str, Any]:
        """Errors in rad or m, shares from 0 to 1."""
        expected, inside = self.motion.expected, self.motion.inside()
        row = {"expected_mae": expected.mae, "mae": self.motion.mean_absolute(), "inside": inside}
        return row if self.file_inside is None else row | {"file_inside": self.file_inside}

    def __str__(self) -> str:
        row, unit = self.plain(), "mrad" if self.motion.fit.actuator.motion == "rotary" else "mm"
        file = "" if self.file_inside is None else f" and {100 * self.file_inside:.0f} % of the file's motion"
        return (
            f"{self.name} was not fitted: {1e3 * row['expected_mae']:.3g} {unit} off were to be expected on"
            f" average, {1e3 * row['mae']:.3g} were found; {100 * row['inside']:.0f} % of it{file} are inside"
            " the 95 % band."
        )


def _bands_of(source: str, recordings: Sequence[Any], ran: Any) -> list[_ReplayBand]:
    """The bands of a stored fit around recordings that it never saw; none for any other source."""
    import numpy as np

    from ...errors import BackemfError
    from ...results.fit_result import Fit

    try:
        fit = Fit.read(source)
    except BackemfError:
        return []
    found = []
    for log in recordings if fit.variation is not None and not fit.joints else []:
        motion = fit.predict(log)
        case = next((case for case in ran.cases if case.name == log.name), None)
        if motion.has_band and case is not None:
            file = np.interp(log.time - log.time[0], case.time, case.target)
            found.append(_ReplayBand(log.name, motion, motion.inside({"": file})))
    return found


def _refuse_for_written(options: ExportOptions, source: str) -> None:
    """Refuse options of an export where the file is written already."""
    from ...targets.replay import is_exported

    for name, value in options.given_options().items() if is_exported(source) else ():
        raise InvalidValue(
            f"--{name} is {value}, and {source} is written already; it applies to what is exported anew"
        )


def _replayed_export(words: ReplayWords, options: ExportOptions) -> Any:
    """An exported file as it was read, or what is exported anew."""
    from ...targets.export import run_export
    from ...targets.replay import is_exported, read_export
    from ...targets.sourcing import choose_actuator

    source, actuator, joint, asked = (
        words.source,
        words.actuator,
        words.joint or None,
        words.actuator_keywords(),
    )
    if is_exported(source):
        own = None if actuator is None else choose_actuator(actuator, joint, **asked).actuator
        return read_export(source, own, joint)
    chosen = choose_actuator(source, joint, **asked)
    on = joint or chosen.joint or "joint"
    how = replace(options, joint=on, notes=chosen.notes, findings=chosen.findings, replay=False)
    return run_export(chosen.actuator, words.to, how)


@options
class ExplainWords(ModelWords):
    """What one may ask of `explain`."""

    model: str = option(help="An MJCF file; model.xml#JOINT for one of its actuators.", cli="model")
    with_: list[str] | None = option(
        default=None,
        help="What drives the joints, to compare with: a part, an identified set, a fit or actuator file, a"
        ' joint of a model; for some joints "shoulder_.*=sts3215-7.4v/m1". May be given several times.',
        cli="--with",
    )
    firmware: str | None = option_of(SupplyWords, "firmware")


@command(ExplainWords)
def explain(options: ExplainWords, terminal: Terminal) -> Answer:
    """Every actuator of a model in physical terms, what looks wrong, and by how much it is off from its part.

    Example: backemf explain arm.xml --with sts3215-7.4v/m1
    """
    import shutil

    from ...mujoco.explain.explanation import explain as run, summary, text

    rows = run(options.model, parts_of(options.with_, options.firmware))
    findings = [f for row in rows for f in row.findings]
    width = max(shutil.get_terminal_size().columns, 60)
    return Answer(content=lambda: summary(rows), text=lambda: text(rows, width), findings=findings)


@options
class ConformWords(ModelWords):
    """What one may ask of `conform`."""

    model: Path = option(help="An MJCF file with dcmotors on hinges or slides.", cli="model")
    steps: int = option(default=500, help="Time steps to compare.")


@command(ConformWords)
def conform(options: ConformWords, terminal: Terminal) -> Answer:
    """Drive each dcmotor of a model in the installed MuJoCo and print the worst one-step difference.

    Example: backemf conform arm.xml
    """
    from ...mujoco.arrays import load_model, load_mujoco
    from ...mujoco.conform import conform as run
    from ...mujoco.models import solver_findings

    compared = run(options.model, steps=options.steps)
    findings = solver_findings(load_model(options.model))

    def content() -> dict[str, Any]:
        rows = [pick(c, "actuator joint worst differences note") for c in compared]
        said = {"findings": [f.to_dict() for f in findings]}
        return {"mujoco": load_mujoco().__version__, "steps": options.steps, "actuators": rows, **said}

    def text() -> str:
        parts = (_conform_text(compared), under("Findings", finding_lines(findings)))
        return "\n\n".join(part for part in parts if part)

    return Answer(content=content, text=text, findings=findings)


def _conform_text(compared: Any) -> str:
    from ...tables import table

    rows = []
    for c in compared:
        worst = "-" if c.worst is None else f"{c.worst:.1e}"
        rows.append((c.actuator, c.joint, worst, " ".join(c.differences) or "nothing", c.note))
    return table(rows, ["actuator", "joint", "worst difference", "compared", "note"])
