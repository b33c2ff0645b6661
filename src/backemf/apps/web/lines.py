"""Command lines from forms: every word is a choice from a list, a file of the project, or text that has been
looked at; nothing that a browser sends can become another option or a path."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...errors import InvalidValue, MissingValue, UnknownName
from . import others
from .workspace import Project, Workspace, folders

PART = re.compile(r"^[A-Za-z0-9][A-Za-z0-9.\-]*(/[A-Za-z0-9\-]+)?$")
MAP = re.compile(r"^[A-Za-z0-9_.\-]{1,80}=[^\x00-\x1f\x7f]{1,300}$")
SET = re.compile(r"^[A-Za-z0-9_.]{1,80}=[A-Za-z0-9_.+\-*/^() ]{1,80}$")
PATHS = re.compile(r"^[A-Za-z0-9_.]{1,80}$")
WORD = re.compile(r"^[A-Za-z0-9_.][A-Za-z0-9_.\- ]{0,79}$")
QUANTITY = re.compile(r"^[0-9.+\-][A-Za-z0-9.+\-*/^() °%]{0,79}$")
LANES = {"fit": "long", "report": "long", "export": "exports", "virtual": "bus", "record": "bus"}
"""Commands that may take long, each kind behind its own, and those that keep a bus; all others are quick."""
PORT = re.compile(r"^(/dev/(tty|cu\.)[A-Za-z0-9._\-]{1,40}|COM\d{1,3}|can\d{1,2}|servo-\d{1,4})$")
IDS = re.compile(r"^[A-Za-z0-9_=,\-]{1,200}$")


class Line(NamedTuple):
    """A command line, and where it goes."""

    command: str
    words: list[str]
    outputs: list[str]
    lane: str
    asked: dict[str, Any]

    @property
    def shown(self) -> str:
        return "backemf " + shlex.join(self.words)


@dataclass
class Asked:
    """What a form says, read key by key; a key that nobody reads is an error."""

    content: dict[str, Any]
    project: Project
    workspace: Workspace
    read: set[str] = field(default_factory=lambda: {"command"})

    def get(self, key: str) -> Any:
        self.read.add(key)
        value = self.content.get(key)
        return None if value in ("", [], {}) else value

    def text(self, key: str, pattern: re.Pattern[str], wanted: str) -> str | None:
        value = self.get(key)
        return None if value is None else self._matched(key, value, pattern, wanted)

    def texts(self, key: str, pattern: re.Pattern[str], wanted: str) -> list[str]:
        values = self.get(key) or []
        if not isinstance(values, list) or len(values) > 200:
            raise InvalidValue(f"{key} is {_short(values)}; expected a list such as [{wanted}]")
        return [self._matched(key, value, pattern, wanted) for value in values]

    def _matched(self, key: str, value: Any, pattern: re.Pattern[str], wanted: str) -> str:
        if not isinstance(value, str) or not pattern.match(value):
            raise InvalidValue(f"{key} is {_short(value)}; expected {wanted}")
        return value

    def choice(self, key: str, valid: Sequence[str]) -> str | None:
        value = self.get(key)
        if value is not None and value not in valid:
            raise UnknownName(key, _bare(value), valid)
        return value

    def flag(self, key: str) -> bool:
        return self.get(key) is True

    def number(self, key: str, low: float, high: float) -> str | None:
        value = self.get(key)
        if value is None:
            return None
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if isinstance(value, bool) or not low <= number <= high:
            raise InvalidValue(f"{key} is {_short(value)}; expected a number from {low:g} to {high:g}")
        return f"{number:.12g}"

    def file(self, key: str) -> str | None:
        """A file or an uploaded folder of the project, by the name that it has here."""
        value = self.get(key)
        return None if value is None else self._known(key, value)

    def files(self, key: str) -> list[str]:
        values = self.get(key) or []
        if not isinstance(values, list) or len(values) > self.workspace.limits.project_files:
            raise InvalidValue(f"{key} is {_short(values)}; expected a list of files")
        if not values:
            raise MissingValue("no file is chosen; choose at least one recording above")
        return [self._known(key, value) for value in values]

    def _known(self, key: str, value: Any) -> str:
        if isinstance(value, str) and (value in self.project.files or value in folders(self.project)):
            return value
        raise MissingValue(f"{key}: there is no file {_short(value)} in this project; upload it first")

    def source(self, key: str) -> str | None:
        """A part of the catalogue, a file, or a joint of a model: `arm.xml#elbow`."""
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, str):
            name, mark, joint = value.partition("#")
            if name in self.project.files and (not mark or WORD.match(joint)):
                return value
            if PART.match(value):
                return value
        wanted = "a part of the catalogue such as sts3215-7.4v, or a file of this project"
        raise InvalidValue(f"{key} is {_short(value)}; expected {wanted}")

    def bench(self, key: str = "bench") -> str | None:
        """A bench from the words of a form: {"kind": "pendulum", "mass": "0.2 kg"}."""
        from ...physics.bench import BENCHES
        from ...physics.quantity import quantities_of

        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, dict) or value.get("kind") not in BENCHES:
            raise UnknownName("bench", _bare(value), BENCHES)
        kind = value["kind"]
        known = quantities_of(BENCHES[kind])
        words = [kind]
        for name, number in value.items():
            if name == "kind" or number in ("", None):
                continue
            if name not in known:
                raise UnknownName(f"word of {kind}", _bare(name), known)
            text = str(number).strip()
            if not QUANTITY.match(text):
                raise InvalidValue(
                    f"{name} is {_short(text)}; expected a number with its unit, such as 0.2 kg"
                )
            words.append(f"{name}={text.replace(' ', '')}")
        return " ".join(words)

    def done(self) -> None:
        """Refuse what nobody asked for."""
        left = sorted(set(self.content) - self.read)
        if left:
            raise UnknownName("word of this command", _bare(left[0]), self.read)


def line(content: Any, project: Project, workspace: Workspace) -> Line:
    """The command line of a form."""
    if not isinstance(content, dict):
        raise InvalidValue('the request is no object; expected one such as {"command": "check"}')
    command = content.get("command")
    asked = Asked(content, project, workspace)
    if isinstance(command, str) and command in COMMANDS:
        words, outputs = COMMANDS[command](asked)
    elif isinstance(command, str) and command in others.offered():
        words, outputs = others.words(command, asked)
    else:
        raise UnknownName("command", _bare(command), COMMANDS)
    asked.done()
    return Line(command, [command, *words], outputs, LANES.get(command, "quick"), content)


def _short(value: Any) -> str:
    return repr(value)[:80]


def _bare(value: Any) -> str:
    return value[:60] if isinstance(value, str) else _short(value)


def option(name: str, value: str | None) -> list[str]:
    return [] if value is None else [name, value]


def several(name: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (name, value)]


Made = tuple[list[str], list[str]]


def _reading(a: Asked) -> list[str]:
    """How recordings are read: columns, bench, settings."""
    return [
        *option("--bench", a.bench()),
        *several("--map", a.texts("map", MAP, "a column such as position=angle[deg]")),
        *several("--set", a.texts("set", SET, "a number such as drive.supply=7.4V")),
    ]


def _start(a: Asked) -> list[str]:
    start = a.source("start")
    if start is None:
        raise MissingValue("nothing to start from is chosen; choose a part of the catalogue or a stored fit")
    return ["--start", start]


def _only(a: Asked) -> list[str]:
    paths = a.texts("only", PATHS, "paths such as motor.resistance")
    return ["--only", ",".join(paths)] if paths else []


def _log(a: Asked) -> Made:
    robot = a.file("robot")
    if robot is None:
        return [*a.files("logs"), *_reading(a)], []
    told = several("--map", a.texts("map", MAP, "a column such as position=angle[deg]"))
    return [*a.files("logs"), *told, "--robot", robot], []


def buses() -> tuple[str, ...]:
    """What servos may hang on."""
    from ...kits.recorder.buses import BUSES

    return tuple(BUSES)


def frictions() -> tuple[str, ...]:
    """Every way to call a friction law."""
    from ...physics.friction import FRICTIONS

    return (*FRICTIONS, *FRICTIONS.aliases)


def _check(a: Asked) -> Made:
    friction = option("--friction", a.choice("friction", frictions()))
    apply = ["--apply"] if a.flag("apply") else []
    return [*a.files("logs"), *_start(a), *_reading(a), *friction, *_only(a), *apply], []


def _fit(a: Asked) -> Made:
    robot = a.file("robot")
    output = a.workspace.unused(a.project, "fit", ".json")
    words = [*a.files("logs"), *_start(a)]
    if robot is None:
        words += [*_reading(a), *(["--apply"] if a.flag("apply") else []), *_only(a)]
        words += option("--starts", a.number("starts", 1, 100))
    else:
        words += [
            "--robot",
            robot,
            *several("--map", a.texts("map", MAP, "a column such as position=q[deg]")),
        ]
        words += option("--firmware", a.text("firmware", WORD, "a profile such as lerobot"))
        joints = a.texts("joints", WORD, "names of joints")
        words += ["--joints", ",".join(joints)] if joints else []
    words += option("--friction", a.choice("friction", (*frictions(), "ladder")))
    words += several("--hold-out", a.texts("hold_out", HOLD, "a name, or gain=8"))
    return [*words, "-o", output], [output]


def _report(a: Asked) -> Made:
    output = a.workspace.unused(a.project, "report", ".html")
    fit = a.file("fit")
    if fit is None:
        raise MissingValue("no fit is chosen; fit the recordings first")
    logs = a.files("logs") if a.get("logs") else []
    words = [fit, *logs, *option("--sheet", a.source("sheet")), *option("--robot", a.file("robot"))]
    return [*words, *([] if a.flag("exports") else ["--no-exports"]), "-o", output], [output]


def _export(a: Asked) -> Made:
    from ...targets.table import TARGETS

    source, target, into = a.source("source"), a.get("to"), a.file("into")
    if source is None or not isinstance(target, str):
        raise MissingValue("a source and a target are needed; choose a fit and a simulator")
    name, mark, version = target.partition("@")
    if name not in TARGETS or (mark and not WORD.match(version)):
        raise UnknownName("target", target[:80], TARGETS)
    words = [source, "--to", target, *option("--method", a.choice("method", ("simulation", "formula")))]
    words += [*several("--joint", a.texts("joint", JOINT, "the name of a joint"))]
    if into is not None:
        output = a.workspace.unused(a.project, "model", ".urdf" if into.lower().endswith(".urdf") else ".xml")
        return [*words, "--into", into, "-o", output], [output]
    output = a.workspace.unused(a.project, name, "")
    return [*words, "-o", f"{output}/"], [output]


def _datasheet(a: Asked) -> Made:
    part = a.source("part")
    if part is None:
        raise MissingValue("no sheet is given; type its numbers, or choose a part of the catalogue")
    return [part, *option("--voltage", a.number("voltage", 0.0, 2000.0))], []


def _explain(a: Asked) -> Made:
    model = a.source("model")
    if model is None:
        raise MissingValue("no model is chosen; drop an MJCF file above")
    return [model, *option("--with", a.source("with"))], []


def _characterize(a: Asked) -> Made:
    words = a.files("logs")
    words += option("--mechanism", a.choice("mechanism", MECHANISMS))
    words += option("--name", a.text("name", WORD, "the name of a mechanism in the log"))
    words += option("--units", a.choice("units", UNITS))
    words += option("--controller", a.choice("controller", CONTROLLERS))
    words += option("--constants", a.choice("constants", ("java", "c++", "python")))
    for key in ("max_error", "max_velocity_error", "max_effort", "period", "delay", "ratio"):
        words += option(f"--{key.replace('_', '-')}", a.number(key, 0.0, 1e6))
    words += option("--motor", a.text("motor", PART, "a motor of the catalogue such as neo"))
    words += option("--motors", a.number("motors", 1, 20))
    words += option("--preset", a.choice("preset", ("sysid", "phoenix", "urcl", "advantagekit")))
    return [*words, *several("--map", a.texts("map", MAP, "a column such as position=q[rev]"))], []


def _virtual(a: Asked) -> Made:
    """A servo that is not there, on a port of the project's own."""
    source = a.source("source")
    if source is None:
        raise MissingValue("no servo is chosen; choose a part of the catalogue such as sts3215-7.4v")
    words = [source, "--protocol", a.choice("bus", buses()) or "feetech", *option("--bench", a.bench())]
    words += option("--firmware", a.text("firmware", WORD, "a profile such as lerobot"))
    words += option("--speed", a.number("speed", 0.1, 20.0))
    return [*words, "--link", a.workspace.unused(a.project, "servo", ""), "--seconds", "900"], []


def _record(a: Asked) -> Made:
    port = a.text("port", PORT, "a port such as /dev/ttyUSB0, COM3 or can0")
    if port is None:
        raise MissingValue("no port is given; start a virtual servo, or name the port of a real one")
    words = ["--bus", a.choice("bus", buses()) or "feetech", "--port", port]
    words += option("--ids", a.text("ids", IDS, "ids such as 1,2,3 or elbow=3"))
    words += option("--bench", a.bench())
    words += option("--amplitude", a.number("amplitude", 0.01, 3.2))
    words += option("--seconds", a.number("seconds", 1.0, 600.0))
    words += option("--speed", a.number("speed", 0.1, 20.0))
    words += option("--zero", a.choice("zero", ("middle", "here")))
    words += several("--limit", a.texts("limit", LIMIT, "a limit such as current=2A"))
    if a.flag("dry_run"):
        return [*words, "--dry-run"], []
    output = a.workspace.unused(a.project, "logs", "")
    return [*words, "--yes", "-o", output], [output]


LIMIT = re.compile(r"^[a-z\-]{1,20}=[A-Za-z0-9.\-]{1,20}$")
HOLD = re.compile(r"^[A-Za-z0-9_.*][A-Za-z0-9_.*=\-]{0,79}$")
JOINT = re.compile(r"^[A-Za-z0-9_.*|()\[\]\-]{1,120}(=[A-Za-z0-9][A-Za-z0-9.\-]*(/[A-Za-z0-9\-]+)?)?$")
MECHANISMS = ("simple", "flywheel", "elevator", "arm", "drivetrain")
UNITS = ("radians", "degrees", "rotations", "meters", "feet", "inches")
CONTROLLERS = ("wpilib", "ctre-v5", "ctre-v6", "rev-neo", "rev-brushed", "venom")
COMMANDS: dict[str, Callable[[Asked], Made]] = {
    "log": _log,
    "check": _check,
    "fit": _fit,
    "report": _report,
    "export": _export,
    "datasheet": _datasheet,
    "explain": _explain,
    "characterize": _characterize,
    "virtual": _virtual,
    "record": _record,
    "catalog": lambda a: ([], []),
}
"""Every command that a browser may ask for."""
