"""What commands are given: actuators, benches, commands, recordings, and which joints get which actuators."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ...logs import BENCH_HELP
from ...targets.export_options import SOURCE_HELP as SOURCE
from .terminal import working

ActuatorFrom = Annotated[str, typer.Argument(help=SOURCE)]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A number by its path: drive.proportional=16, motor.resistance=2.1ohm. May be repeated."
    ),
]
Voltage = Annotated[
    float | None, typer.Option("--voltage", help="Supply voltage; the source's own unless given.")
]
Firmware = Annotated[
    str | None, typer.Option("--firmware", help="A profile of the part's firmware settings, such as lerobot.")
]


Control = Annotated[
    str | None,
    typer.Option(
        "--control",
        help="A part's interface: voltage, position, current, torque, velocity or impedance; its own unless"
        " given.",
    ),
]

Ratio = Annotated[
    float, typer.Option("--ratio", help="Rotor turns per output turn, behind the source's own gears.")
]
Motors = Annotated[int, typer.Option("--motors", help="Number of motors on one output.")]


def actuator_of(source: str, joint: str | None = None) -> tuple[Any, list[str]]:
    """(the actuator, notes on where it came from). `joint` helps to choose where a model has several and the
    source itself names none."""
    from ...targets.sources import read

    actuator_source = read(source, joint)
    return actuator_source.actuator, list(actuator_source.notes)


def parts_of(given: list[str] | None) -> dict[str, Any] | None:
    """What `--with` gave: `part` for all joints, `pattern=part` for some."""
    from ...errors import InvalidValue
    from ...mujoco.explain.explanation import ComparedPart

    if not given:
        return None
    parts = {}
    for text in given:
        pattern, equals, name = text.partition("=")
        pattern, name = (pattern, name) if equals else (".*", text)
        if not name or not pattern:
            raise InvalidValue(f'--with is {text!r}; expected a part, or "PATTERN=PART" for some joints')
        if pattern in parts:
            raise InvalidValue(f"--with gives {pattern!r} two parts; expected one for each pattern")
        parts[pattern] = ComparedPart.of(name, actuator_of(name)[0])
    return parts


Bench = Annotated[str | None, typer.Option("--bench", help=BENCH_HELP)]


def bench_of(text: str) -> Any:
    """ "pendulum mass=0.5kg length=0.1" -> that bench; words may be separated by commas too; or a file."""
    from ...logs.benches import bench_of as read

    return read(text)


def words_of(bench: Any) -> str:
    """A bench as a person says it: "pendulum, mass 0.5 kg, length 0.1 m"; what is usual is left out."""
    import dataclasses

    from ...logs.benches import bench_name
    from ...tables import number

    told = [
        f"{f.name.replace('_', ' ')} {number(getattr(bench, f.name))} {f.metadata['unit']}"
        for f in dataclasses.fields(bench)
        if "unit" in f.metadata and getattr(bench, f.name) != f.default
    ]
    return ", ".join([bench_name(bench).replace("-", " "), *told])


ENDINGS = (".csv", ".txt", ".tsv")
Named = Annotated[
    str | None,
    typer.Option(
        "--command",
        help='What was asked as a function of time, in place of its samples: "square from=0deg to=180deg'
        ' period=2s at=0.5s". Its unit says what it asks for: a position where it has none.',
    ),
]


def command_of(text: str, unit: str = "") -> Any:
    """ "step size=1rad at=0.1s" -> that command; `volts.csv` -> its values, each held until the next. `unit`
    is what it must be in."""
    from ... import signal

    if not text.lower().endswith(ENDINGS):
        return signal.read(text, unit)
    return _table(Path(text), unit)


def _table(path: Path, unit: str) -> Any:
    from ... import signal, units
    from ...errors import InvalidValue, MissingValue
    from ...logs import names
    from ...logs.readers import delimited_text as delimited

    if not path.is_file():
        raise MissingValue(
            f"there is no file {str(path)!r}; expected a table with the columns time and command"
        )
    (recording,) = delimited.entries(path)
    guesses = {c.name: names.recognise(c.name, c.unit) for c in recording.channels}
    times = [name for name, guess in guesses.items() if guess.signals == ("time",)]
    others = [name for name in guesses if name not in times]
    if len(times) != 1 or len(others) != 1:
        found = ", ".join(repr(name) for name in guesses)
        raise InvalidValue(f"{path} has the columns {found}; expected two: time, and the command")
    values: dict[str, Any] = {c.name: c.values for c in recording.channels}
    t, u = guesses[times[0]].unit, guesses[others[0]].unit
    clock = values[times[0]] * (units.factor(t, "s", "time") if t else 1.0)
    asked = values[others[0]] * (units.factor(u, unit or "1", "command") if u else 1.0)
    return signal.held(clock, asked)


Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="A number that held while it was recorded, by its path: drive.proportional=16,"
        " drive.supply=7.4V. May be repeated.",
    ),
]


def read_logs(
    files: list[str],
    maps: list[str] | None = None,
    shown: bool = True,
    bench: str | None = None,
    command: str | None = None,
    *,
    source: Any = None,
    robot: Any = None,
    **more: Any,
) -> list[Any]:
    """Logs as they were told to be read; where the source is a stored fit, otherwise as it read its own; on a
    robot, where one is given. `more` are further options of `be.read`."""
    from ...logs.read import read
    from ...results.reread import read_again

    told = {**told_of(bench, command), **more, **({} if robot is None else {"bench": robot})}
    fit = fit_of(source)
    with working("reading", shown) as report_progress:
        if fit is not None:
            return read_again(fit, *files, map=maps or None, progress=report_progress, **told)
        return read(*files, map=maps or None, progress=report_progress, **told)


def told_of(bench: str | None, command: str | None) -> dict[str, Any]:
    """--bench and --command as `be.read` takes them; what was not given is left out."""
    told: dict[str, Any] = {} if bench is None else {"bench": bench_of(bench)}
    return told | ({} if command is None else {"command": command_of(command)})


def fit_of(source: Any) -> Any:
    """The stored fit that a source is or names; None where it is something else."""
    from ...errors import BackemfError
    from ...results.fit_result import Fit

    if isinstance(source, Fit) or source is None:
        return source
    try:
        return Fit.read(source) if str(source).endswith(".json") else None
    except BackemfError:
        return None


def with_sets(logs: list[Any], values: dict[str, float]) -> list[Any]:
    """Logs that say another number than the one that was typed, corrected: what is typed comes first."""
    from dataclasses import replace

    made = []
    for log in logs:
        other = {p: v for p, v in values.items() if p in log.settings and log.settings[p] != v}
        words = ", ".join(f"{p} = {v:g}" for p, v in other.items())
        done = (*log.conversions, f"settings as told: {words}")
        made.append(replace(log, settings={**log.settings, **other}, conversions=done) if other else log)
    return made


def settings_of(sets: list[str] | None, actuator: Any = None) -> dict[str, float]:
    """What `--set` says of recordings: path=number, with a unit where an actuator is known to have it."""
    from ...errors import InvalidValue
    from ...targets.sourcing import set_values

    if actuator is not None:
        return {
            path: value
            for path, value in set_values(actuator, sets).items()
            if actuator.replace(**{path: value})
        }
    settings = {}
    for text in sets or ():
        path, _, number = (word.strip() for word in text.partition("="))
        try:
            settings[path] = float(number)
        except ValueError:
            wanted = "expected PATH=NUMBER in SI, such as drive.proportional=16"
            raise InvalidValue(f"--set is {text!r}; {wanted}") from None
    return settings


def by_joint(
    source: str | None, joint: list[str] | None, joints: Path | None, into: Path | str | None
) -> dict[str, str]:
    """Joint, or pattern of joints -> source of its actuator."""
    from ...errors import InvalidValue

    rows: dict[str, str] = {} if joints is None else _mapping(joints)
    if into is not None and source is not None and not (joint or joints):
        rows = _all_of(source)
        if rows:
            return rows
    for words in joint or ([] if rows else ["joint"]):
        pattern, name = _split_joint(words, source)
        rows[pattern] = name
    if source is not None and source not in rows.values():
        raise InvalidValue(
            f"{source!r} was given, and every --joint names a source of its own; drop one of them"
        )
    if into is None and len(rows) != 1:
        raise InvalidValue(
            f"{len(rows)} joints were given; expected one, or --into with a model that has them"
        )
    return rows


def _split_joint(words: str, source: str | None) -> tuple[str, str]:
    """(pattern of joints, source of their actuator) of one --joint; the command's own source unless named."""
    from ...errors import MissingValue

    pattern, equals, name = words.partition("=")
    if not equals and source is None:
        raise MissingValue(
            f"--joint {words!r} has no actuator; give one before --to, or as --joint '{words}=SOURCE'"
        )
    return pattern, name if equals else str(source)


def robot_of(source: str | None, joint: Any, joints: Any, asked: Mapping[str, Any]) -> Any:
    """The fit of a robot that a source is, where all its joints are meant; None for anything else."""
    from ...errors import InvalidValue

    if source is None or joint or joints or not source.endswith(".json"):
        return None
    fit = fit_of(source)
    if fit is None or not fit.joints:
        return None
    usual = {"ratio": 1.0, "motors": 1}
    given = [word for word, value in asked.items() if value != usual.get(word)]
    if given:
        raise InvalidValue(
            f"--{given[0].rstrip('s')} changes one actuator, and {source} has {len(fit.joints)}; expected"
            " --joint with one of them"
        )
    return fit


def all_of(fit: Any, source: str | None) -> dict[str, str]:
    """Every joint of a robot's fit, by name."""
    return {name: f"{source}#{name}" for name in fit.joints}


def _all_of(source: str) -> dict[str, str]:
    """Every actuator of a model, each for the joint that it drives there; nothing for any other source."""
    from ...targets.mujoco.mjcf_source import joints
    from ...targets.sources import is_model, split

    path, name = split(source)
    if not is_model(source):
        return {}
    all_ = {joint: f"{path}#{actuator}" for joint, actuator in joints(path).items()}
    return {k: v for k, v in all_.items() if name is None or name in (k, v.rpartition("#")[2])}


def _mapping(path: Path) -> dict[str, str]:
    import tomllib

    from ...errors import InvalidValue

    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidValue(f"--joints {str(path)!r} cannot be read as TOML: {error}") from None
    if not rows or not all(isinstance(name, str) for name in rows.values()):
        raise InvalidValue(f'{path.name}: expected lines such as "shoulder_.*" = "sts3215-12v"')
    return rows
