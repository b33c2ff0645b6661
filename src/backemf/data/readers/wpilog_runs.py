"""Tests in a WPILOG: which logger wrote it, which entries are input and motion of a motor,
and from when to when a test ran."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...errors import UnknownName
from ..logs.recording import MUST_TELL, Channel, ReadError, Recording
from .wpilog import FORMAT, Series, unit_of

TESTS = ("quasistatic-forward", "quasistatic-reverse", "dynamic-forward", "dynamic-reverse")
_STATE = re.compile(r"^(?:.*/)?sysid-test-state(?:-(?P<mechanism>.*))?$")
_GYRO = re.compile(r"gyro|imu|heading|yaw|angle|angular", re.IGNORECASE)
_INPUTS = ("voltage", "current")
_HELD = 0.1
"""An input that is not written for this long at the beginning of a test is the one from before [s]."""
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


_TALON = r"^(?:.*/)?(?P<motor>TalonFXS?-\d+)/"
_URCL = r"^(?:.*/)?URCL/(?P<motor>[^/]+)/"
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
        entries={
            "voltage": (f"{_TALON}MotorVoltage$", "V"),
            "current": (f"{_TALON}TorqueCurrent$", "A"),
            "position": (f"{_TALON}Position$", "rev"),
            "velocity": (f"{_TALON}Velocity$", "rev/s"),
        },
    ),
    Logger(
        name="urcl",
        about="URCL for REV Spark, exported by AdvantageScope: NT:/URCL/<device>/AppliedOutputVoltage",
        source="docs.advantagescope.org, URCL",
        entries={
            "voltage": (f"{_URCL}AppliedOutputVoltage$", "V"),
            "position": (f"{_URCL}MotorPositionRotations$", "rev"),
            "velocity": (f"{_URCL}MotorVelocityRPM$", "rev/min"),
        },
    ),
    Logger(
        name="advantagekit",
        about="AdvantageKit's template projects: <table>/<motor>AppliedVolts, PositionRad, VelocityRadPerSec",
        source="docs.advantagekit.org, SysId compatibility and template projects",
        entries={
            "voltage": (r"^/?(?P<motor>.+?)AppliedVolts$", "V"),
            "position": (r"^/?(?P<motor>.+?)PositionRad$", "rad"),
            "velocity": (r"^/?(?P<motor>.+?)VelocityRadPerSec$", "rad/s"),
        },
        changes_only=True,
    ),
)
LOGGERS = {one.name: one for one in _LOGGERS}
"""By name, as --preset takes it."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """One run of a test."""

    test: str
    start: float
    end: float
    mechanism: str
    number: int


def listed() -> str:
    return "; ".join(f"{one.name} ({one.about})" for one in LOGGERS.values())


def windows_of(logged: Sequence[Series]) -> list[Window]:
    """Every run of a test: from the first record of its name to the first of another.
    The name is written over and over meanwhile."""
    windows: list[Window] = []
    for series in logged:
        if series.type != "string" or not any(value in TESTS for value in series.values):
            continue
        match = _STATE.match(series.name)
        mechanism = (match["mechanism"] if match else None) or ""
        times, states = series.sorted()
        count = dict.fromkeys(TESTS, 0)
        begins = [i for i in range(len(states)) if i == 0 or states[i] != states[i - 1]]
        for i, following in zip(begins, [*begins[1:], None], strict=True):
            test = states[i]
            if test in TESTS:
                count[test] += 1
                end = float("inf") if following is None else float(times[following])
                what = {"test": test, "mechanism": mechanism, "number": count[test]}
                windows.append(Window(start=float(times[i]), end=end, **what))
    return windows


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
                told = unit_of(series.metadata) or unit or usual
                motors.setdefault(match["motor"].strip("/"), {})[signal] = (series, told)
    return motors


def _complete(signals: Mapping[str, object]) -> bool:
    return bool(set(_INPUTS) & set(signals)) and bool({"position", "velocity"} & set(signals))


def find_runs(path: Path, logged: Sequence[Series], preset: str | None = None) -> tuple[list[Recording], str]:
    """(a recording for every run and motor, what is unclear):
    none where the log has no tests, or where its logger is not known."""
    windows = windows_of(logged)
    name, _, chosen = (preset or "").partition(":")
    if preset is not None and name not in LOGGERS:
        raise UnknownName("preset", name, LOGGERS)
    known = {}
    for logger in (LOGGERS[name],) if preset is not None else LOGGERS.values():
        motors = motors_of(logged, logger)
        if any(_complete(signals) for signals in motors.values()):
            known[logger.name] = motors
    presets = f"the presets: {listed()}; or name the entries with --map"
    if preset is not None and not known:
        without = f"no motor of the preset {name} ({LOGGERS[name].about}) has input and motion"
        raise ReadError(f"{without}; {presets}")
    if "sysid" in known:  # written for this very purpose
        known = {"sysid": known["sysid"]}
    if len(known) > 1:
        return [], f"more than one logger wrote this; say which with --preset: {', '.join(known)}"
    if not known:
        return [], f"no logger's entry names are known here; {presets}" if windows else ""
    ((key, motors),) = known.items()
    motors = _chosen(motors, chosen, key)
    if not windows and preset is None:
        return [], f"give --preset {key} to read its {', '.join(motors)}"
    if not windows:
        return [_whole(path, motors, LOGGERS[key])], ""
    if not chosen and key != "sysid":
        motors = _driven(motors, windows)
        if len(motors) > 1:
            first, *others = motors
            which = f"say which with --preset {key}:{first} (also {', '.join(others)})"
            return [], f"several motors run during the tests; {which}"
    return [r for window in windows for r in _recordings(path, window, motors, LOGGERS[key], logged)], ""


def _chosen(motors: Motors, chosen: str, key: str) -> Motors:
    if not chosen:
        return motors
    names = chosen.split(",")
    for name in names:
        if name not in motors:
            raise UnknownName(f"motor of the preset {key}", name, motors)
    return {name: motors[name] for name in names}


def _driven(motors: Motors, windows: Sequence[Window]) -> Motors:
    """Motors with an input during the tests."""
    strength = {}
    for name, signals in motors.items():
        series = next((signals[s][0] for s in _INPUTS if s in signals), None)
        if series is None or not _complete(signals):
            continue
        times, values = series.sorted()
        inside = np.zeros(len(times), bool)
        for window in windows:
            inside |= (times >= window.start) & (times < window.end)
        strength[name] = float(np.max(np.abs(np.asarray(values, float)[inside]), initial=0.0))
    most = max(strength.values(), default=0.0)
    return {name: motors[name] for name, value in strength.items() if value > 0.3 * most}


def _whole(path: Path, motors: Motors, logger: Logger) -> Recording:
    """A log without tests, of one motor."""
    complete = {name: signals for name, signals in motors.items() if _complete(signals)}
    if len(complete) > 1:
        first, *more = complete
        which = f"say which with --preset {logger.name}:{first} (also {', '.join(more)})"
        raise ReadError(f"several motors; {which}")
    ((name, signals),) = complete.items()
    channels = []
    for signal, (series, unit) in signals.items():
        times, values = series.sorted()
        channels.append(Channel.of(series.name, values, unit=unit, signal=signal, time=times))
    return Recording.of(path, FORMAT, channels, f"{name} ({path.stem})", notes=(f"read as {logger.name}",))


def _recordings(
    path: Path, window: Window, motors: Motors, logger: Logger, logged: Sequence[Series]
) -> list[Recording]:
    """The motors of one run, and the turning of a drivetrain whose sides go against each other."""
    mine = {}
    for motor, signals in motors.items():
        if logger.name != "sysid":
            mine[motor] = signals
        elif motor.endswith(window.mechanism):  # <motor>-<mechanism>
            mine[motor.removesuffix(window.mechanism).rstrip("-") or window.mechanism] = signals
    clock = _cycles(logged, window) if logger.changes_only else None
    cut = {motor: _motor(signals, window, clock) for motor, signals in mine.items()}
    words = {motor: "" for motor in cut}
    out = {m: channels for m, channels in cut.items() if _complete({c.signal: c for c in channels})}
    left, right = (next((m for m in out if _is_side(m, side)), None) for side in ("left", "right"))
    if left and right:
        gyro = next((channels for m, channels in cut.items() if m not in out and _GYRO.search(m)), [])
        turning = _turning(out[left], out[right], gyro)
        if turning is not None:
            words[left] = words[right] = " turning"
            if turning:
                out["angular"], words["angular"] = turning, ""
    end = f"({path.stem} {window.mechanism} {window.number})".replace("  ", " ")
    note = (f"run {window.number} of {window.test}, read as {logger.name}",)
    names = {motor: f"{window.test} {motor}{words[motor]} {end}" for motor in out}
    return [Recording.of(path, FORMAT, out[motor], name, notes=note) for motor, name in names.items()]


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


def _cycles(logged: Sequence[Series], window: Window) -> np.ndarray:
    """Times at which anything was written: the cycles of the robot's program."""
    times = np.unique(np.concatenate([np.asarray(s.times, float) for s in logged if s.times]))
    return times[(times >= window.start) & (times < window.end)]


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
    times, values = series.sorted()
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
