"""Command lines from forms: every word is a choice from a list, a file of the project, or text that has been
looked at; nothing that a browser sends can become another option or a path.

Of the commands of other packages those that print JSON are offered, for that is what the app shows. An
argument of theirs is a source, or files of the project; an option is a word without slashes, or a flag.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any, NamedTuple

from ...errors import MissingValue, UnknownName
from ...identify.fit_options import CheckWords, FitOptions
from ...kits.frc.commands import CharacterizeWords
from ...kits.recorder.commands import RecordWords, VirtualWords
from ...options import OWN_UNIT, options_of
from ...targets.export_options import ExportOptions
from ..cli.main import other_commands
from ..cli.sheets import DatasheetWords
from ..cli.size_command import PowerWords, SizeWords, power, size
from .form import WORD, FormReader
from .workspace import Project, Workspace

LANES = {"fit": "long", "report": "long", "export": "exports", "virtual": "bus", "record": "bus"}
"""Commands that may take long, each kind behind its own, and those that keep a bus; all others are quick."""
JOINT = r"^[A-Za-z0-9_.*|()\[\]\-]{1,120}(=[A-Za-z0-9][A-Za-z0-9.\-]*(/[A-Za-z0-9\-]+)?)?$"
LISTS = {
    "map": (r"^[A-Za-z0-9_.\-]{1,80}=[^\x00-\x1f\x7f]{1,300}$", "a column such as position=angle[deg]"),
    "set": (r"^[A-Za-z0-9_.]{1,80}=[A-Za-z0-9_.+\-*/^() ]{1,80}$", "a number such as drive.supply=7.4V"),
    "only": (r"^[A-Za-z0-9_.]{1,80}$", "paths such as motor.resistance"),
    "hold_out": (r"^[A-Za-z0-9_.*][A-Za-z0-9_.*=\-]{0,79}$", "a name, or gain=8"),
    "joints": (WORD.pattern, "names of joints"),
    "joint": (JOINT, "the name of a joint"),
    "limit": (r"^[a-z\-]{1,20}=[A-Za-z0-9.\-]{1,20}$", "a limit such as current=2A"),
    "part": (JOINT, "a part such as go-m8010-6, or calf=ak80-9"),
    "ratio": (r"^[A-Za-z0-9_.*|()\[\]]{1,120}=[0-9.]{1,20}$", "gears such as calf=1.917"),
    "neglect": (r"^[a-z_]{1,30}$", "what may be left out, such as rotor_inertia"),
}
"""Options that are given several times, and what each word is like."""
JOINED = ("only", "joints")
"""Those that become one word with commas."""
TEXTS = {
    "move": (
        r"^[a-z\-]{1,20}( [a-z]{1,20}=[A-Za-z0-9.+\-/]{1,30}){0,6}$",
        "a move such as trapezoid to=90deg time=0.5s",
    ),
    "gear": (WORD.pattern, "a sort of gears such as planetary"),
    "confidence": (r"^[0-9.]{1,8}%?$", "a probability such as 95%"),
    "battery": (
        r"^[a-z_0-9]{1,20}=[A-Za-z0-9.%]{1,20}( [a-z_0-9]{1,20}=[A-Za-z0-9.%]{1,20}){0,12}$",
        "a battery such as voc=24V r=80mohm",
    ),
    "firmware": (WORD.pattern, "a profile such as lerobot"),
    "name": (WORD.pattern, "the name of a mechanism in the log"),
    "motor": (r"^[A-Za-z0-9*?][A-Za-z0-9.\-*?/]{0,60}$", "a motor of the catalogue such as neo"),
    "preset": (r"^[a-z]{1,20}(:[A-Za-z0-9_.,\- ]{1,80})?$", "a logger such as sysid or phoenix:TalonFX-3"),
    "ids": (r"^[A-Za-z0-9_=,\-]{1,200}$", "ids such as 1,2,3 or elbow=3"),
    "port": (
        r"^(/dev/(tty|cu\.)[A-Za-z0-9._\-]{1,40}|COM\d{1,3}|can\d{1,2}|servo-\d{1,4})$",
        "a port such as /dev/ttyUSB0, COM3 or can0",
    ),
}
NUMBERS = {
    **{"starts": (1, 100), "motors": (1, 20), "voltage": (0.0, 2000.0), "speed": (0.1, 20.0)},
    **{"amplitude": (0.01, 3.2), "seconds": (1.0, 600.0)},
}
"""The least and the most that a form may ask of some options that are numbers, in SI."""
SOURCES = ("start", "source", "part", "model", "sheet", "with")
FILES = ("fit", "robot", "into", "log", "friction_of")
CHOICES = {"zero": ("middle", "here")}
"""Choices of options that take more from other hands."""
NEEDED = {
    "start": "nothing to start from is chosen; choose a part of the catalogue or a stored fit",
    "fit": "no fit is chosen; fit the recordings first",
    "part": "no sheet is given; type its numbers, or choose a part of the catalogue",
    "model": "no model is chosen; drop an MJCF file above",
    "source": "no servo is chosen; choose a part of the catalogue such as sts3215-7.4v",
    "bus": "no voltage is given; say what the bus has, such as 24",
    "robot": "no robot is chosen; drop its MJCF or URDF above",
    "log": "no recording is chosen; drop one above",
    "battery": "no battery is given; say what it is, such as voc=24V r=80mohm",
    "port": "no port is given; start a virtual servo, or name the port of a real one",
}
"""What is said where a form leaves out what a command needs."""
Made = tuple[list[str], list[str]]


class CommandLine(NamedTuple):
    """A command line, and where it goes."""

    command: str
    words: list[str]
    outputs: list[str]
    lane: str
    asked: dict[str, Any]

    @property
    def shown(self) -> str:
        return "backemf " + shlex.join(self.words)


class CommandForm(NamedTuple):
    """What a command's form has."""

    arguments: str = ""
    """Keys that become words without an option before them; `logs` are files."""
    options: str = ""
    """Keys of its options, in the order of the command line."""
    kind: type[Any] | None = None
    """The class of its options: it knows choices and switches."""
    of_robots: str | None = None
    """The options where a robot is given; None where that changes nothing."""
    needs: str = ""
    """Options that must be given."""
    end: Callable[[FormReader, list[str]], Made] = lambda form, words: (words, [])
    """Adds what the form does not say: where the outputs go."""


def line(content: dict[str, Any], project: Project, workspace: Workspace) -> CommandLine:
    """The command line of a form.

    Args:
        content: what the browser sent.
        project: whose files may be named.
        workspace: gives names to outputs.

    Returns:
        Its words, and what it writes.

    Raises:
        BackemfError: where a value is none that the form offers.
    """
    command = str(content.get("command"))
    form = FormReader(content, project, workspace)
    if command in COMMANDS:
        words, outputs = _fill_in(form, COMMANDS[command])
    elif command in offered_commands():
        words, outputs = _fill_in_other(command, form)
    else:
        raise UnknownName("command", command[:60], COMMANDS)
    form.refuse_unread()
    return CommandLine(command, [command, *words], outputs, LANES.get(command, "quick"), content)


def _fill_in(form: FormReader, row: CommandForm) -> Made:
    """The words of a form as its row says."""
    words: list[str] = []
    for key in row.arguments.split():
        words += form.files(key) if key == "logs" else [_require(key, _word(form, key))]
    keys = row.options
    if row.of_robots is not None and form.get("robot") is not None:
        keys = f"robot {row.of_robots}"
    for key in row.needs.split():
        _require(key, form.get(key))
    for key in keys.split():
        words += _option(form, key, row.kind)
    return row.end(form, words)


def _require(key: str, value: Any) -> Any:
    if value is None:
        raise MissingValue(NEEDED[key])
    return value


def _word(form: FormReader, key: str) -> str | None:
    """A value that a word, a number, a source or a file is, as text."""
    if key in TEXTS:
        return form.text(key, TEXTS[key])
    if key == "bench":
        return form.bench()
    return form.source(key) if key in SOURCES else form.file(key)


def _option(form: FormReader, key: str, kind: type[Any] | None) -> list[str]:
    """An option with its value; nothing where the form says nothing."""
    name = f"--{key.replace('_', '-')}"
    option = None if kind is None else _option_of(kind, key)
    if option is not None and option.is_number:
        numbers = form.numbers(key, option, NUMBERS.get(key, (-1e6, 1e6)))
        return [name, *numbers] if numbers else []
    if key in LISTS:
        return _repeat_option(form, key, name)
    if key in (*TEXTS, *SOURCES, *FILES, "bench"):
        value = _word(form, key)
    else:
        if option is not None and option.annotation == "bool":
            return [name] if form.flag(key) else []
        value = form.choice(key, CHOICES.get(key) or choices_of(kind, key))
    return [] if value is None else [name, value]


def _repeat_option(form: FormReader, key: str, name: str) -> list[str]:
    """An option that is given several times, or once with commas."""
    values = form.texts(key, LISTS[key])
    values = [",".join(values)] if values and key in JOINED else values
    return [word for value in values for word in (name, value)]


def form_fields(command: str) -> list[dict[str, Any]]:
    """The fields of a command's form, as its options describe them: name, kind, choices, help, default."""
    return [_field(COMMANDS[command].kind, key) for key in COMMANDS[command].options.split()]


def _field(of: type[Any] | None, key: str) -> dict[str, Any]:
    option = _option_of(of, key)
    kind = "choice" if option.choices is not None and key not in TEXTS else "text"
    kind = "number" if option.is_number and option.unit != OWN_UNIT else kind
    kind = "flag" if option.annotation == "bool" else kind
    default = None if option.required or option.default is None else str(option.default)
    more = {"choices": choices_of(of, key), "default": default, "spelled": option.spelled}
    more["unit"] = "" if option.unit in (None, "1", OWN_UNIT) else option.unit
    return {"name": key, "kind": kind, "help": option.text, **more}


def choices_of(kind: Any, key: str) -> list[str]:
    """What an option takes, by its name on the command line."""
    choices = _option_of(kind, key).choices
    return list(choices()) if choices is not None else []


def _option_of(kind: Any, key: str) -> Any:
    spelled = (key, f"--{key.replace('_', '-')}")
    return next((one for one in options_of(kind) if one.spelled in spelled), None)


def _into(name: str, option: str) -> Callable[[FormReader, list[str]], Made]:
    """An end that writes one file by an option."""

    def end(form: FormReader, words: list[str]) -> Made:
        output = form.unused_name(name)
        return [*words, option, output], [output]

    return end


def _report(form: FormReader, words: list[str]) -> Made:
    output = form.unused_name("report.html")
    logs = form.files("logs") if form.get("logs") else []
    rest = [] if form.flag("exports") else ["--no-exports"]
    return [words[0], *logs, *words[1:], *rest, "-o", output], [output]


def _export(form: FormReader, words: list[str]) -> Made:
    from ...targets.table import TARGETS

    source, target, into = form.source("source"), str(form.get("to") or ""), form.file("into")
    if source is None or not target:
        raise MissingValue("a source and a target are needed; choose a fit and a simulator")
    name, mark, version = target.partition("@")
    if name not in TARGETS or (mark and not WORD.match(version)):
        raise UnknownName("target", target[:80], TARGETS)
    words = [source, "--to", target, *words]
    if into is not None:
        output = form.unused_name("model.urdf" if into.lower().endswith(".urdf") else "model.xml")
        return [*words, "--into", into, "-o", output], [output]
    output = form.unused_name(name)
    return [*words, "-o", f"{output}/"], [output]


def _size(form: FormReader, words: list[str]) -> Made:
    task, parts = form.file("task"), form.files("parts") if form.get("parts") else []
    words = [*([task] if task else []), *words, *(word for name in parts for word in ("--parts", name))]
    return _into("sizing.html", "--plot")(form, words)


def _virtual(form: FormReader, words: list[str]) -> Made:
    """A servo that is not there, on a port of the project's own."""
    bus = form.choice("bus", choices_of(VirtualWords, "protocol")) or "feetech"
    link = form.unused_name("servo")
    return [words[0], "--protocol", bus, *words[1:], "--link", link, "--seconds", "900"], []


def _record(form: FormReader, words: list[str]) -> Made:
    bus = form.choice("bus", choices_of(RecordWords, "bus")) or "feetech"
    words = ["--bus", bus, *words]
    if form.flag("dry_run"):
        return [*words, "--dry-run"], []
    output = form.unused_name("logs")
    return [*words, "--yes", "-o", output], [output]


def _page_options(kind: type[Any], first: str) -> str:
    """Every option of a command but those that it has by themselves, and places to write to."""
    aside = {*first.split(), *ASIDE, "export", "plot", "force", "progress"}
    names = ((one.name, one.spelled.lstrip("-").replace("-", "_")) for one in options_of(kind))
    return " ".join(spelled for name, spelled in names if name not in aside)


ASIDE = ("json", "help", "output")
"""Options that no form has: places to write to."""
READING = "bench map set"
COMMANDS: dict[str, CommandForm] = {
    "log": CommandForm("logs", READING, of_robots="map"),
    "check": CommandForm("logs", f"start {READING} friction only apply", CheckWords, needs="start"),
    "fit": CommandForm(
        "logs",
        f"start {READING} apply only starts friction hold_out",
        FitOptions,
        of_robots="start map firmware joints friction hold_out",
        needs="start",
        end=_into("fit.json", "-o"),
    ),
    "report": CommandForm("fit", "sheet robot", end=_report),
    "export": CommandForm("", "method joint", ExportOptions, end=_export),
    "datasheet": CommandForm("part", "voltage", DatasheetWords),
    "explain": CommandForm("model", "with"),
    "characterize": CommandForm(
        "logs",
        "mechanism name control units method median threshold controller max_error max_velocity_error"
        " max_effort period delay settle step loop limit preset map between motor ratio wheel_diameter"
        " drum_diameter motors constants season curves",
        CharacterizeWords,
    ),
    "virtual": CommandForm("source", "bench firmware speed", VirtualWords, end=_virtual),
    "record": CommandForm(
        "", "port ids bench amplitude seconds speed zero limit", RecordWords, needs="port", end=_record
    ),
    "catalog": CommandForm(),
    "size": CommandForm("", _page_options(SizeWords, "task parts"), SizeWords, needs="bus", end=_size),
    "power": CommandForm(
        "robot log",
        _page_options(PowerWords, "robot log"),
        PowerWords,
        needs="battery",
        end=_into("power.html", "--plot"),
    ),
}
"""Every command that a browser may ask for."""


def own_forms() -> dict[str, dict[str, Any]]:
    """Commands of ours whose pages are made of their options, as `offered_commands` describes others'."""
    kinds = {"task": "file", "parts": "files"} | dict.fromkeys(FILES, "file") | dict.fromkeys(LISTS, "list")
    forms = {}
    for run, first in ((size, ("task", "parts")), (power, ("robot", "log"))):
        row = COMMANDS[run.__name__]
        fields = [_field(row.kind, key) for key in (*first, *row.options.split())]
        shown = [{**one, "kind": kinds.get(one["name"], one["kind"])} for one in fields]
        forms[run.__name__] = {"help": (run.__doc__ or "").strip().partition("\n\n")[0], "fields": shown}
    return forms


def offered_commands() -> dict[str, dict[str, Any]]:
    """By name, what a command says of itself and the fields of its form."""
    return {
        name: {
            "help": (command.help or "").strip().partition("\n\n")[0],
            "fields": [
                {"name": p.name, "kind": _kind(p), "help": getattr(p, "help", "") or "", "needed": p.required}
                for p in command.params
                if p.name not in ASIDE
            ],
        }
        for name, command in other_commands().items()
        if any(p.name == "json" for p in command.params)
    }


def _kind(parameter: Any) -> str:
    """How a form asks for a value: "source", "files", "flag" or "text"."""
    if parameter.param_type_name == "argument":
        return "files" if parameter.nargs == -1 else "source"
    return "flag" if parameter.is_flag else "text"


def _fill_in_other(name: str, asked: FormReader) -> Made:
    """The words of a form for a command of another package."""
    made: list[str] = []
    for p in other_commands()[name].params:
        kind, key = _kind(p), str(p.name)
        if key in ASIDE:
            continue
        option = p.opts[0]
        if kind == "files":
            made += asked.files(key)
        elif kind == "source":
            made += [source] if (source := asked.source(key)) else []
        elif kind == "flag":
            made += [option] if asked.flag(key) else []
        elif (text := asked.text(key, (WORD.pattern, "a word"))) is not None:
            made += [option, text]
    return made, []
