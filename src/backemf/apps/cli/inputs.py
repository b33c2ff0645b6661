"""What commands are given: actuators, benches, commands, recordings, and which joints get which actuators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...logs import BENCH_HELP, MAP_HELP
from ...options import FIGURE, OUTSIDE_HELP, Options, option, options, options_of

ASIDE = ("force", "strict", "json", "allow_outside")
"""Options that say nothing of the answer itself."""


EPISODES_HELP = "Of a LeRobot dataset: these episodes alone, as 8 or 0-5,8."


@options
class CommandWords(Options):
    """What one may type behind a command."""

    def to_dict(self) -> dict[str, Any]:
        """Every option that has a name, as `--json` shows them."""
        arguments = (one.name for one in options_of(type(self)) if one.cli and not one.cli.startswith("-"))
        left_out = {*ASIDE, *arguments}
        return {name: value for name, value in super().to_dict().items() if name not in left_out}


@options
class WritingWords(CommandWords):
    """Of a command that writes files."""

    force: bool = option(default=False, help="Overwrite what exists.")


def output_option(help: str, writes: str = "", default: Path | None = None) -> Any:
    """The field `output` of a command, `-o`.

    Args:
        help: what is written there.
        writes: as `option` takes it.
        default: where that is unless given.

    Returns:
        The field, for the body of a class.
    """
    return option(default=default, help=help, cli="--output -o", writes=writes)


def plot_option(what: str, **more: Any) -> Any:
    """The field `plot` of a command: a file to draw something into."""
    return option(
        default=None, help=f"Draw {what} into this file (.png, .svg, .pdf, .html).", writes=FIGURE, **more
    )


@options
class PlaybackWords(WritingWords):
    """Of a command whose motions can be looked at in other programs."""

    to_rerun: Path | None = option(
        default=None,
        help="Show recorded beside predicted, the robot moving, in Rerun: write this file (.rrd). Several"
        " recordings get one each, with their names in it.",
        writes="run.rrd",
    )
    to_mcap: Path | None = option(
        default=None,
        help="The same for Foxglove and ROS 2: sensor_msgs/JointState in this file (.mcap), which backemf"
        " reads as well.",
        writes="run.mcap",
    )

    def playback_places(self, names: Sequence[str] = ()) -> dict[str, Path]:
        """Where playbacks go, by kind of file; refused where they cannot.

        Args:
            names: of the motions, as far as they are known.
        """
        given = {"rerun": self.to_rerun, "mcap": self.to_mcap}
        places = {kind: place for kind, place in given.items() if place is not None}
        if places:
            from ..playback.playback import check_places

            check_places(places, names, force=self.force)
        return places


def write_motions(motions: Sequence[Any], options: PlaybackWords) -> list[Path]:
    """What a fit predicted, into the files for other programs that were asked for.

    Args:
        motions: as `predict_logs` gives them.
        options: where they go.

    Returns:
        The files.
    """
    from ..playback.playback import of_prediction, write_playbacks

    return write_playbacks(
        [of_prediction(m) for m in motions], options.playback_places(), force=options.force
    )


@options
class ModelWords(CommandWords):
    """Of a command that may be given a model."""

    allow_outside: bool = option(default=False, help=OUTSIDE_HELP)


@options
class SupplyWords(ModelWords):
    """How a source's actuator is supplied and set up."""

    set: list[str] | None = option(
        default=None,
        help="A number by its path: drive.proportional=16, motor.resistance=2.1ohm. May be repeated.",
    )
    voltage: float | None = option(
        default=None, help="Supply voltage [V]; the source's own unless given.", unit="V"
    )
    firmware: str | None = option(
        default=None, help="A profile of the part's firmware settings, such as lerobot."
    )

    def actuator_keywords(self) -> dict[str, Any]:
        """The same as `choose_actuator` takes it."""
        words = ("voltage", "firmware", "control", "ratio", "motors")
        return {"sets": self.set} | {word: getattr(self, word) for word in words if hasattr(self, word)}


@options
class ControlWords(SupplyWords):
    """And which of its interfaces is used."""

    control: str | None = option(
        default=None,
        help="A part's interface: voltage, position, current, torque, velocity or impedance; its own unless"
        " given.",
    )


@options
class ActuatorWords(ControlWords):
    """And what it stands behind."""

    ratio: float = option(
        default=1.0, help="Rotor turns per output turn, behind the source's own gears.", unit="1"
    )
    motors: int = option(default=1, help="Number of motors on one output.")


@options
class ReadingWords(ModelWords):
    """How recordings are read."""

    bench: str | None = option(default=None, help=BENCH_HELP)
    command: str | None = option(
        default=None,
        help='What was asked as a function of time, in place of its samples: "square from=0deg to=180deg'
        ' period=2s at=0.5s". Its unit says what it asks for: a position where it has none.',
    )
    map: list[str] | None = option(default=None, help=MAP_HELP)
    episodes: str | None = option(default=None, help=EPISODES_HELP)

    def reading(self) -> dict[str, Any]:
        """The same as `read_logs` takes it."""
        return {"bench": self.bench, "command": self.command, "map": self.map, "episodes": self.episodes}


SETTINGS_HELP = (
    "A number that held while it was recorded, by its path: drive.proportional=16, drive.supply=7.4V. May be"
    " repeated."
)


def actuator_of(source: str, joint: str | None = None) -> tuple[Any, list[str]]:
    """(the actuator, notes on where it came from). `joint` helps to choose where a model has several and the
    source itself names none."""
    from ...targets.sources import read

    actuator_source = read(source, joint)
    return actuator_source.actuator, list(actuator_source.notes)


def parts_of(given: list[str] | None, firmware: str | None = None) -> dict[str, Any] | None:
    """What `--with` gave: `part` for all joints, `pattern=part` for some; with a profile of its firmware."""
    from ...errors import InvalidValue
    from ...mujoco.explain.explanation import ComparedPart
    from ...targets.sourcing import choose_actuator

    if not given:
        if firmware is not None:
            raise InvalidValue(f"--firmware is {firmware!r}; it belongs to the part that --with names")
        return None
    parts = {}
    for text in given:
        pattern, equals, name = text.partition("=")
        pattern, name = (pattern, name) if equals else (".*", text)
        if not name or not pattern:
            raise InvalidValue(f'--with is {text!r}; expected a part, or "PATTERN=PART" for some joints')
        if pattern in parts:
            raise InvalidValue(f"--with gives {pattern!r} two parts; expected one for each pattern")
        chosen = (
            actuator_of(name)[0] if firmware is None else choose_actuator(name, firmware=firmware).actuator
        )
        parts[pattern] = ComparedPart.of(name, chosen, firmware)
    return parts


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


def read_logs(
    files: Sequence[str],
    say: Callable[..., None],
    *,
    bench: str | None = None,
    command: str | None = None,
    map: Sequence[str] | None = None,
    episodes: str | None = None,
    source: Any = None,
    robot: Any = None,
    **more: Any,
) -> list[Any]:
    """Logs as they were told to be read; where the source is a stored fit, otherwise as it read its own.

    Args:
        files: files, folders or patterns.
        say: is told what is being read, and which share is.
        bench: what carried them, in words.
        command: what was asked, in words.
        map: how channels are read.
        episodes: of a dataset, "0-5,8".
        source: what is to be fitted, replayed or filmed: a stored fit, or the name of anything.
        robot: on which they were recorded, instead of a bench.
        more: further options of `be.read`.

    Returns:
        The logs, in the order of the files.
    """
    from ...logs.read import find, read
    from ...results.reread import read_again

    told = {**told_of(bench, command), **more, **({} if robot is None else {"bench": robot})}
    told |= {"map": list(map) if map else None, "progress": say}
    files = [str(path) for path in find(*files, episodes=episodes)] if episodes is not None else files
    fit = fit_of(source)
    return read(*files, **told) if fit is None else read_again(fit, *files, **told)


def told_of(bench: str | None, command: str | None) -> dict[str, Any]:
    """--bench and --command as `be.read` takes them; what was not given is left out."""
    told: dict[str, Any] = {} if bench is None else {"bench": bench_of(bench)}
    return told | ({} if command is None else {"command": command_of(command)})


def fit_of(source: str | None) -> Any:
    """The stored fit that a source names; None where it is something else."""
    from ...errors import BackemfError
    from ...results.fit_result import Fit

    try:
        return Fit.read(source) if source is not None and source.endswith(".json") else None
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
    """Which joints get which actuators.

    Args:
        source: of the actuator, where a joint names none of its own.
        joint: names or patterns of joints, each perhaps with =SOURCE.
        joints: a TOML file of such lines.
        into: the model that they go into.

    Returns:
        The source of each joint or pattern.

    Raises:
        BackemfError: where a joint has no source, or a source no joint.
    """
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
    """The fit of a robot that a source is, where all its joints are meant.

    Args:
        source: what was named.
        joint: joints that were named: one of them is no robot.
        joints: a file of joints.
        asked: what changes one actuator, by its option.

    Returns:
        The fit; None for anything else.

    Raises:
        InvalidValue: where one actuator is to be changed, and the robot has several.
    """
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
    from ...bounds import limits, text_of, toml
    from ...errors import InvalidValue

    try:
        rows = toml(text_of(path, most=limits().short))
    except (OSError, ValueError) as error:
        raise InvalidValue(f"--joints {str(path)!r} cannot be read as TOML: {error}") from None
    if {type(name) for name in rows.values()} != {str}:
        raise InvalidValue(f'{path.name}: expected lines such as "shoulder_.*" = "sts3215-12v"')
    return rows
