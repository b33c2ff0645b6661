"""Tests in a WPILOG: which logger wrote it, which entries are input and motion of a motor, and from when to
when a test ran; and recordings of tests, whatever wrote the file, every run as a log of its own."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import BackemfError, UnknownName
from ...logs.log import Log, Signal
from ...logs.mapping import Origin, mapping
from ...logs.read import Progress, find, read
from ...logs.readers import reader_of
from ...logs.recording import MUST_TELL, Channel, ReadError, Recording, Report, silent
from ...logs.to_log import to_log
from . import sysid_json, wpilog
from .trials import TESTS
from .wpilog import FORMAT, Series, unit_of
from .wpilog_units import UnitNotStated, guess_kind, guess_units, with_units

_STATE = re.compile(r"^(?:.*/)?sysid-test-state(?:-(?P<mechanism>.*))?$")
_OUTPUTS = re.compile(r"^(?:NT:)?/?(?:AdvantageKit/)?(?:RealOutputs/|ReplayOutputs/)?")
"""What loggers put before the names that a program gives."""
_STATE_WORDS = re.compile(r"sys[-_ ]?id|(?:test[-_ ]?)?states?", re.IGNORECASE)
"""What is left of an entry's name without these is the mechanism's: Drive/SysIdState,
Intake/PivotSysIdState (AdvantageKit's templates), SysIdSteer_State (CTRE's swerve project)."""
_GYRO = re.compile(r"gyro|imu|heading|yaw|angle|angular", re.IGNORECASE)
_INPUTS = ("voltage", "current")
_HELD = 0.1
"""An input that is not written for this long at the beginning of a test is the one from before [s]."""
ONE_SHAFT = ("arm", "elevator", "flywheel")
"""Mechanisms whose left and right motors cannot turn it against each other."""
ALIKE = 0.03
"""Motions that differ by a smaller share are those of motors on one shaft."""
Signals = dict[str, tuple[Series, str]]
"""Signal -> (what was logged of it, unit)."""
Motors = dict[str, Signals]


@dataclass(frozen=True, kw_only=True)
class Logger:
    """How a logger names its entries: a pattern with the motor in it, and the unit, by signal."""

    name: str
    about: str
    source: str
    entries: Mapping[str, tuple[str, str]]
    changes_only: bool = False
    """Whether a value is only written when it changes, on a clock that all entries share."""


_SPELLED = {
    "position": {"rads?": "rad", "radians": "rad", "rot(?:ation)?s?": "rev", "deg(?:ree)?s?": "deg"}
    | {"meters?": "m", "inch(?:es)?": "in"},
    "velocity": {"rad(?:ian)?s?per": "rad/s", "rot(?:ation)?s?per": "rev/s", "rpm": "rev/min"}
    | {"deg(?:ree)?s?per": "deg/s", "meters?per": "m/s", "inch(?:es)?per": "in/s"},
}
"""How entries of AdvantageKit's end, by signal: the unit stands in the name."""
_WHERE = "|".join(_SPELLED["position"])
_SPEED = "|".join(f"{word}(?:sec(?:ond)?)" if word.endswith("per") else word for word in _SPELLED["velocity"])


def _entries(before: str, **named: tuple[str, str]) -> dict[str, tuple[str, str]]:
    """(pattern, unit) by signal, from what stands before all names and (the rest, unit) of each."""
    return {signal: (f"{before}{rest}$", unit) for signal, (rest, unit) in named.items()}


_ANY = ("voltage", "current", "position", "velocity")
_LOGGERS = (
    Logger(
        name="sysid",
        about="WPILib's SysIdRoutineLog: voltage-<motor>-<mechanism>",
        source="docs.wpilib.org, Creating an Identification Routine",
        entries={signal: (rf"^(?:.*/)?{signal}-(?P<motor>.+)$", "") for signal in _ANY},
    ),
    Logger(
        name="phoenix",
        about="CTRE Phoenix 6, a hoot file converted by owlet: Phoenix6/TalonFX-<id>/MotorVoltage",
        source="v6.docs.ctr-electronics.com, SysId integration",
        entries=_entries(
            r"^(?:.*/)?(?P<motor>TalonFXS?-\d+)/",
            voltage=("MotorVoltage", "V"),
            current=("TorqueCurrent", "A"),
            position=("Position", "rev"),
            velocity=("Velocity", "rev/s"),
        ),
    ),
    Logger(
        name="urcl",
        about="URCL for REV Spark, exported by AdvantageScope: NT:/URCL/<device>/AppliedOutputVoltage",
        source="docs.advantagescope.org, URCL; since 2025 entries have the names of Spark's status frames",
        entries=_entries(
            r"^(?:.*/)?URCL/(?P<motor>[^/]+)/",
            voltage=("AppliedOutputVoltage", "V"),
            position=("(?:MotorPositionRotations|PrimaryEncoderPosition)", "rev"),
            velocity=("(?:MotorVelocityRPM|PrimaryEncoderVelocity)", "rev/min"),
        ),
    ),
    Logger(
        name="advantagekit",
        about="AdvantageKit's template projects: <table>/<motor>AppliedVolts, PositionRad, VelocityRadPerSec",
        source="docs.advantagekit.org, SysId compatibility and template projects",
        entries=_entries(
            rf"{_OUTPUTS.pattern}(?P<motor>.+?)",
            voltage=("Applied(?:Volts|Voltage)", "V"),
            position=(f"Position(?:{_WHERE})", ""),
            velocity=(f"Velocity(?:{_SPEED})", ""),
        ),
        changes_only=True,
    ),
)
LOGGERS = {logger.name: logger for logger in _LOGGERS}
"""By name, as --preset takes it."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """One run of a test."""

    test: str
    start: float
    end: float
    mechanism: str
    """As the entries of its motors end with it (SysIdRoutineLog); empty where they do not."""
    number: int
    name: str = ""
    """Of the mechanism, for people."""


def windows_of(logged: Sequence[Series]) -> list[Window]:
    """Every run of a test: from the first record of its name to the first of another.
    The name is written over and over meanwhile, by some loggers under two names."""
    windows: list[Window] = []
    for series in logged:
        if series.type != "string" or not any(value in TESTS for value in series.values):
            continue
        match = _STATE.match(series.name)
        what = {"mechanism": (match["mechanism"] if match else None) or "", "name": name_of(series.name)}
        times, states = series.in_order()
        count = dict.fromkeys(TESTS, 0)
        begins = [i for i in range(len(states)) if i == 0 or states[i] != states[i - 1]]
        for i, following in zip(begins, [*begins[1:], None], strict=True):
            test = states[i]
            if test not in TESTS:
                continue
            count[test] += 1
            end = float("inf") if following is None else float(times[following])
            new = Window(test=test, start=float(times[i]), end=end, number=count[test], **what)
            if not any(_same(new, old) for old in windows):
                windows.append(new)
    return windows


def _same(a: Window, b: Window) -> bool:
    """Whether two windows are one run of one mechanism."""
    return (a.test, a.name) == (b.test, b.name) and a.start < b.end and b.start < a.end


def name_of(entry: str) -> str:
    """The mechanism whose tests the entry of a state tells: what is left of its name; all of it where nothing
    is."""
    match = _STATE.match(entry)
    if match and match["mechanism"]:
        return str(match["mechanism"])
    bare = _OUTPUTS.sub("", entry)
    words = [_STATE_WORDS.sub("", word).strip("-_ ") for word in bare.split("/")]
    return "/".join(word for word in words if word) or bare


def motors_of(logged: Sequence[Series], logger: Logger) -> Motors:
    """The motors whose entries are named as this logger names them."""
    motors: Motors = {}
    for series in logged:
        if series.type not in ("double", "float") or not series.values:
            continue
        for signal, (pattern, unit) in logger.entries.items():
            match = re.match(pattern, series.name, re.IGNORECASE)
            if match:
                usual = {"voltage": "V", "current": "A"}.get(signal, MUST_TELL)
                told = unit_of(series.metadata) or unit or _unit_suffix(series.name, signal) or usual
                motors.setdefault(match["motor"].strip("/"), {})[signal] = (series, told)
    return motors


def _unit_suffix(entry: str, signal: str) -> str:
    """The unit with which an entry's name ends; empty where there is none."""
    _, word, end = entry.lower().rpartition(signal)
    known = _SPELLED.get(signal, {}) if word else {}
    return next((unit for spelling, unit in known.items() if re.match(spelling, end, re.IGNORECASE)), "")


def _complete(signals: Mapping[str, object]) -> bool:
    return bool(set(_INPUTS) & set(signals)) and bool({"position", "velocity"} & set(signals))


def find_runs(
    path: Path, logged: Sequence[Series], preset: str | None = None, mechanism: str | None = None
) -> tuple[list[Recording], str]:
    """The tests in a log.

    Args:
        path: of the file, for names.
        logged: its entries.
        preset: the logger that wrote it, perhaps with motors, "phoenix:TalonFX-3"; recognised without it.
        mechanism: whose tests are wanted; all, unless given.

    Returns:
        (a recording for every run and motor, what is unclear): no recordings where the log has no tests, or
        where its logger is not known.

    Raises:
        ReadError: where nothing fits the preset.
    """
    windows = tests_of(mechanism, windows_of(logged))
    name, _, chosen = (preset or "").partition(":")
    if preset is not None and name not in LOGGERS:
        raise UnknownName("preset", name, LOGGERS)
    known = _loggers_of(logged, LOGGERS.values() if preset is None else (LOGGERS[name],))
    if len(known) != 1:
        return [], _unknown_logger(known, name, bool(windows))
    ((key, motors),) = known.items()
    if key == "sysid" and chosen and chosen not in motors and {w.name for w in windows} >= {chosen}:
        windows, chosen = tests_of(chosen, windows), ""
    motors = _choose_motors(motors, chosen, key)
    if not windows and preset is None:
        return [], f"give --preset {key} to read its {', '.join(motors)}"
    if not windows:
        return [_whole(path, motors, LOGGERS[key])], ""
    return _runs_of(path, logged, windows, motors, key, chosen)


def _unknown_logger(known: Collection[str], name: str, tests: bool) -> str:
    """What to say where no logger's names are there, or those of several."""
    about = "; ".join(f"{logger.name} ({logger.about})" for logger in LOGGERS.values())
    presets = f"the presets: {about}; or name the entries with --map"
    if known:
        return f"more than one logger wrote this; say which with --preset: {', '.join(known)}"
    if name:
        without = f"no motor of the preset {name} ({LOGGERS[name].about}) has input and motion"
        raise ReadError(f"{without}; {presets}")
    return f"no logger's entry names are known here; {presets}" if tests else ""


def _loggers_of(logged: Sequence[Series], loggers: Iterable[Logger]) -> dict[str, Motors]:
    """Motors with input and motion, by the logger whose names they have."""
    every = {logger.name: motors_of(logged, logger) for logger in loggers}
    known = {name: motors for name, motors in every.items() if any(map(_complete, motors.values()))}
    return {"sysid": known["sysid"]} if "sysid" in known else known  # written for this very purpose


def _runs_of(
    path: Path, logged: Sequence[Series], windows: Sequence[Window], motors: Motors, key: str, chosen: str
) -> tuple[list[Recording], str]:
    """(a recording for every run and motor of one logger, what is unclear)."""
    runs: list[Recording] = []
    endings = {w.mechanism for w in windows_of(logged)}
    for mechanism in dict.fromkeys(w.name for w in windows):
        some = [w for w in windows if w.name == mechanism]
        mine = motors if chosen or key == "sysid" else _driven_motors(motors, some)
        if len(mine) > 1 and not chosen and key != "sysid" and not _turn_together(mine, some):
            return [], f"several motors run during the tests; {_say_which(key, mine)}"
        runs += [r for w in some for r in _recordings(path, w, mine, LOGGERS[key], logged, endings)]
    return guess_units(runs), ""


def _say_which(key: str, motors: Motors) -> str:
    first, *others = motors
    return f"say which with --preset {key}:{first} (also {', '.join(others)})"


def tests_of(name: str | None, windows: list[Window]) -> list[Window]:
    """The tests of one mechanism, by its name in any case, or by the last part of it; all without a name."""
    if name is None:
        return windows
    if not windows:
        raise ReadError(f"there are no states of a SysId routine that would tell the tests of {name!r} apart")
    known = {w.name.lower(): w.name for w in windows}
    ends = {full.rpartition("/")[2]: whole for full, whole in known.items()}
    wanted = known.get(name.lower()) or ends.get(name.lower())
    if wanted is None:
        raise UnknownName("mechanism", name, known.values())
    return [w for w in windows if w.name == wanted]


def _choose_motors(motors: Motors, chosen: str, key: str) -> Motors:
    if not chosen:
        return motors
    names = chosen.split(",")
    for name in names:
        if name not in motors:
            raise UnknownName(f"motor of the preset {key}", name, motors)
    return {name: motors[name] for name in names}


def _driven_motors(motors: Motors, windows: Sequence[Window]) -> Motors:
    """Motors with an input during the tests."""
    strength = {}
    for name, signals in motors.items():
        series = next((signals[s][0] for s in _INPUTS if s in signals), None)
        if series is None or not _complete(signals):
            continue
        times, values = series.in_order()
        inside = np.zeros(len(times), bool)
        for window in windows:
            inside |= (times >= window.start) & (times < window.end)
        strength[name] = float(np.max(np.abs(np.asarray(values, float)[inside]), initial=0.0))
    most = max(strength.values(), default=0.0)
    return {name: motors[name] for name, value in strength.items() if value > 0.3 * most}


def _turn_together(motors: Motors, windows: Sequence[Window]) -> bool:
    """Whether motors are geared to each other: their motions during the tests are the same, perhaps with the
    other sign."""
    motions = []
    for signals in motors.values():
        series, unit = signals["velocity" if "velocity" in signals else "position"]
        times, values = series.in_order()
        motions.append((times, np.asarray(values, float), unit))
    first, of_first, unit = motions[0]
    inside = np.zeros(len(first), bool)
    for window in windows:
        inside |= (first >= window.start) & (first < window.end)
    one, size = of_first[inside], float(np.linalg.norm(of_first[inside]))
    for times, values, own in motions[1:]:
        other = np.interp(first[inside], times, values)
        if own != unit or not size or abs(abs(float(one @ other)) / size**2 - 1.0) > ALIKE:
            return False
        if abs(float(np.linalg.norm(other)) / size - 1.0) > ALIKE:
            return False
    return True


def _whole(path: Path, motors: Motors, logger: Logger) -> Recording:
    """A log without tests, of one motor."""
    complete = {name: signals for name, signals in motors.items() if _complete(signals)}
    if len(complete) > 1:
        raise ReadError(f"several motors; {_say_which(logger.name, complete)}")
    ((name, signals),) = complete.items()
    channels = []
    for signal, (series, unit) in signals.items():
        times, values = series.in_order()
        channels.append(Channel.of(series.name, values, unit=unit, signal=signal, time=times))
    return Recording.of(path, FORMAT, channels, f"{name} ({path.stem})", notes=(f"read as {logger.name}",))


def _recordings(
    path: Path,
    window: Window,
    motors: Motors,
    logger: Logger,
    logged: Sequence[Series],
    endings: Collection[str],
) -> list[Recording]:
    """The motors of one run, and the turning of a drivetrain whose sides go against each other."""
    mine = _motors_of(window.mechanism, motors, endings) if logger.name == "sysid" else motors
    clock = _program_clock(logged, window) if logger.changes_only else None
    cut = {motor: _motor(signals, window, clock) for motor, signals in mine.items()}
    out = {m: channels for m, channels in cut.items() if _complete({c.signal: c for c in channels})}
    gyro = next((channels for m, channels in cut.items() if m not in out and _GYRO.search(m)), [])
    words = {} if guess_kind(window.name) in ONE_SHAFT else _tell_turning(out, gyro)
    source = f"({path.stem} {window.mechanism} {window.number})".replace("  ", " ")
    names = {motor: f"{window.test} {motor}{words.get(motor, '')} {source}" for motor in out}
    more = {
        "notes": (f"run {window.number} of {window.test}, read as {logger.name}",),
        "mechanism": window.name,
    }
    return [Recording.of(path, FORMAT, out[motor], name, **more) for motor, name in names.items()]


def _motors_of(mechanism: str, motors: Motors, endings: Collection[str]) -> Motors:
    """Those of one mechanism, of motors called <motor>-<mechanism>, told without the latter."""
    return {
        motor.removesuffix(mechanism).rstrip("-") or mechanism: signals
        for motor, signals in motors.items()
        if _ending(motor, endings) == mechanism
    }


def _program_clock(logged: Sequence[Series], window: Window) -> np.ndarray:
    """Cycles of the robot's program during a test: anything that was written tells of one."""
    times = np.unique(np.concatenate([np.asarray(s.times, float) for s in logged if s.times]))
    return times[(times >= window.start) & (times < window.end)]


def _tell_turning(out: dict[str, list[Channel]], gyro: Sequence[Channel]) -> dict[str, str]:
    """What to add to the names of the sides where they turn; the turning itself joins `out`."""
    left, right = (next((m for m in out if _is_side(m, side)), None) for side in ("left", "right"))
    turning = _turning(out[left], out[right], gyro) if left and right else None
    if turning:
        out["angular"] = turning
    return {} if turning is None else {side: " turning" for side in (left, right) if side}


def _ending(motor: str, mechanisms: Collection[str]) -> str:
    """The mechanism that a motor of SysIdRoutineLog's is of, <motor>-<mechanism>: the longest that fits."""
    fits = (m for m in mechanisms if m and (motor == m or motor.endswith(f"-{m}")))
    return max(fits, key=len, default="")


def _is_side(motor: str, side: str) -> bool:
    return re.search(rf"(?:^|[^a-z]){side}(?:[^a-z]|$)", motor.lower()) is not None


def _turning(
    left: Sequence[Channel], right: Sequence[Channel], gyro: Sequence[Channel]
) -> list[Channel] | None:
    """Channels of the turning motion (none without a gyro), where the sides' inputs oppose each other;
    None: it goes straight."""
    a, b = (next((c for c in side if c.signal == "voltage"), None) for side in (left, right))
    if a is None or b is None or a.time is None or b.time is None or a.values is None or b.values is None:
        return None
    of_left = np.interp(b.time, a.time, a.values)
    if float(np.sum(of_left * b.values)) >= 0:
        return None
    if not gyro:
        return []
    known = {"unit": "V", "signal": "voltage", "time": b.time}
    return [Channel.of("half of right less left", 0.5 * (b.values - of_left), **known), *gyro]


def _motor(signals: Signals, window: Window, clock: np.ndarray | None) -> list[Channel]:
    cut = [_cut(signal, series, unit, window, clock) for signal, (series, unit) in signals.items()]
    channels = [c for c in cut if c is not None]
    ends = [float(c.time[-1]) for c in channels if c.signal not in _INPUTS and c.time is not None]
    return [_lasting(c, max(ends)) if c.signal in _INPUTS and ends else c for c in channels]


def _lasting(channel: Channel, end: float) -> Channel:
    """An input that holds to the end of what was measured: repeats may have been left out."""
    assert channel.time is not None
    assert channel.values is not None
    if channel.time[-1] >= end:
        return channel
    values = np.append(channel.values, channel.values[-1])
    return replace(channel, values=values, time=np.append(channel.time, end), n=len(values))


def _cut(signal: str, series: Series, unit: str, window: Window, clock: np.ndarray | None) -> Channel | None:
    times, values = series.in_order()
    column = np.asarray(values, float)
    before = int(np.searchsorted(times, window.start, side="right")) - 1
    if clock is not None:
        at = np.searchsorted(times, clock, side="right") - 1
        times, column = clock[at >= 0], column[at[at >= 0]]
    keep = (times >= window.start) & (times < window.end)
    times, column = times[keep], column[keep]
    late = not len(times) or times[0] > window.start + _HELD
    if clock is None and signal in _INPUTS and before >= 0 and late:
        times, column = np.insert(times, 0, window.start), np.insert(column, 0, float(values[before]))
    if len(times) < (1 if signal in _INPUTS else 2):
        return None
    return Channel.of(series.name, column, unit=unit, signal=signal, time=times)


def mechanism_logs(
    *paths: str,
    map: Sequence[str] | None = None,
    preset: str | None = None,
    between: tuple[float, float] | None = None,
    name: str | None = None,
    units: str | None = None,
    mechanism: str = "simple",
    progress: Progress | None = None,
) -> list[Log]:
    """The runs in files: by the states of a SysId routine, by SysId's own JSON, else each file as it is.

    Args:
        paths: files, folders or patterns.
        map: names of the entries, "position=/arm/position[rev]", beside what is recognised.
        preset: the logger that wrote a WPILOG, "phoenix" or "phoenix:TalonFX-3"; recognised without it.
        between: the part of each that is kept [s].
        name: the mechanism whose tests are kept; all, unless given.
        units: what the motion of a WPILOG is in, where that does not say: radians, rotations, meters.
        mechanism: its kind, to guess the unit by; on an arm, elevator or flywheel no side turns it.
        progress: told how far each file is read.

    Returns:
        A log for every run.

    Raises:
        ReadError: where a file cannot be read, or it is not clear what in it is a test.
        UnitNotStated: neither a WPILOG nor anybody else says in which unit its motion is.
    """
    logs: list[Log] = []
    for path in find(*paths):
        report = silent if progress is None else functools.partial(progress, f"reading {path.name}")
        runs = _runs(path, RunRequest(map or (), preset, name, units, mechanism, report))
        if runs is None:
            logs += read(path, map=map or None, between=between, progress=progress)
        elif between is None:
            logs += runs
        else:
            inside = [run for run in runs if run.time[0] <= between[1] and run.time[-1] >= between[0]]
            logs += [run.between(*between) for run in inside]
    return logs


class RunRequest(NamedTuple):
    """How the runs of a file are to be read, as `mechanism_logs` is told."""

    map: Sequence[str]
    preset: str | None
    name: str | None
    units: str | None
    kind: str
    report: Report


def _runs(path: Path, asked: RunRequest) -> list[Log] | None:
    """The runs of a file of tests; None where it is a recording like any other."""
    try:
        reader = reader_of(path)
        if reader is wpilog:
            return _runs_of_wpilog(path, asked)
        if reader is sysid_json and not asked.map:
            return [to_log(recording) for recording in sysid_json.entries(path, report=asked.report)]
        if asked.name is not None:
            raise ReadError(f"the name of a mechanism, {asked.name!r}, chooses among the tests of a WPILOG")
    except OSError as error:
        raise ReadError(f"{path}: cannot be opened: {error.strerror or error}") from None
    except UnitNotStated as error:
        raise UnitNotStated(f"{path}: {error}") from None
    except BackemfError as error:
        raise ReadError(f"{path}: {error}") from None
    return None


def _runs_of_wpilog(path: Path, asked: RunRequest) -> list[Log]:
    """As its logger names things, and as `map` says besides; where no logger is known, by `map` alone, cut
    where the states say that a test ran."""
    logged, origins = wpilog.read_entries(path, asked.report), mapping(list(asked.map))
    runs, unclear = find_runs(path, logged, asked.preset, asked.name)
    if asked.kind in ONE_SHAFT:  # whatever its motors are called, and whichever way each is mounted
        runs = [run for run in runs if " angular (" not in run.name]
        runs = [replace(run, name=run.name.replace(" turning (", " (")) for run in runs]
    if runs:
        given = [(_with_told(run, own, logged), own) for run, own in _told_of(runs, origins)]
        settled = with_units([run for run, _ in given], asked.units, asked.kind)
        return [to_log(run, own) for run, (_, own) in zip(settled, given, strict=True)]
    if unclear and not origins:
        raise ReadError(unclear)
    log = to_log(wpilog.whole(path, logged), origins)
    windows, t = tests_of(asked.name, windows_of(logged)) if origins else [], log.time
    return [_run(log, w) for w in windows if np.any((t >= w.start) & (t < w.end))] or [log]


def _told_of(
    runs: Sequence[Recording], origins: Sequence[Origin]
) -> list[tuple[Recording, tuple[Origin, ...]]]:
    """Runs with what was told of each: of its own entries, and of those that are no run's."""
    own = [{c.name for c in run.channels} for run in runs]
    known = set().union(*own)
    return [
        (run, tuple(o for o in origins if o.channel in mine or o.channel not in known))
        for run, mine in zip(runs, own, strict=True)
    ]


def _with_told(run: Recording, origins: Sequence[Origin], logged: Sequence[Series]) -> Recording:
    """A run with the entries that were told of besides, and without the unit that is asked for where it was
    told."""
    clocks = [c.time for c in run.channels if c.time is not None]
    start, end = min(float(t[0]) for t in clocks), max(float(t[-1]) for t in clocks)
    taken = {o.signal for o in origins} | {"none"}
    kept = [replace(c, unit="") if c.unit == MUST_TELL and c.signal in taken else c for c in run.channels]
    there, wanted = {c.name for c in kept}, {o.channel for o in origins}
    for series in logged:
        if series.name in wanted - there:
            times, values = series.in_order()
            inside = (times >= start) & (times <= end)
            column = np.asarray(values, float)[inside]
            kept.append(Channel.of(series.name, column, unit=unit_of(series.metadata), time=times[inside]))
    return replace(run, channels=tuple(kept))


def _run(log: Log, window: Window) -> Log:
    """One run of a log. An input that was not written again holds."""
    end = min(window.end, max(float(s.time[-1]) for s in log.signals.values()))
    signals = {}
    for name, signal in log.signals.items():
        keep = (signal.time >= window.start) & (signal.time <= end)
        times, values = signal.time[keep], signal.values[keep]
        if name.startswith(("voltage", "current")):
            before = np.flatnonzero(signal.time < window.start)
            if len(before) and (not len(times) or times[0] > window.start):
                times = np.insert(times, 0, window.start)
                values = np.insert(values, 0, signal.values[before[-1]])
            if len(times) and times[-1] < end:
                times, values = np.append(times, end), np.append(values, values[-1])
        if len(times):
            signals[name] = Signal(time=times, values=values)
    name = f"{window.test} {window.mechanism} ({log.name} {window.number})".replace("  ", " ")
    words = (*log.conversions, f"run {window.number} of {window.test}")
    return replace(log, name=name, signals=signals, conversions=words, mechanism=window.name)
