"""Log: a recording in SI, with the bench it was made on, and a record of everything that was converted or
guessed; how it begins, and what it asks of a drive."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidValue, MissingValue, SignalError, UnknownName
from ..findings import Finding
from ..physics.actuator import Actuator
from ..physics.bench import Bench
from ..physics.drive import Drive
from ..signal import Command, read as read_command
from ..tables import NotebookDisplay, Overview, frame
from .benches import bench_and_robot
from .robot import Robot

UNITS = {
    "time": "s",
    "position": "rad",
    "velocity": "rad/s",
    "current": "A",
    "voltage": "V",
    "torque": "N m",
    "temperature": "degC",
    "supply": "V",
    "inertia": "kg m^2",
    "load": "N m",
}
MEASURED = tuple(name for name in UNITS if name != "time")
"""What a recording may have measured: values at their own moments.
Inertia and load belong to a Recorded bench."""
ASKED = ("position_target", "velocity_target", "torque_target", "voltage_target", "current_target", "enabled")
"""What was asked: values that hold until the next one."""
UNITS |= {name: UNITS.get(name.removesuffix("_target"), "1") for name in ASKED}
HELD = ("supply", "inertia", "load")
"""What was measured and holds until the next value all the same."""
TURNING = ("position", "velocity", "torque", "current", "voltage")
"""Signals that change their sign with the joint's."""
COMMANDED = {
    **{"rad": "position_target", "rad/s": "velocity_target", "N m": "torque_target"},
    **{"m": "position_target", "m/s": "velocity_target", "N": "torque_target"},
    **{"V": "voltage_target", "A": "current_target"},
}
"""What a command asks for, by its unit."""
NEAR = 1e-6
"""Share of a step so near to a sample that a command that changes there does so at the sample."""


@dataclass(frozen=True, kw_only=True)
class Signal:
    """One channel on its own clock: times [s] and values in SI, NaN where a sample is missing."""

    time: np.ndarray
    values: np.ndarray

    def __post_init__(self) -> None:
        time, values = np.asarray(self.time, float), np.asarray(self.values, float)
        if time.ndim != 1 or time.shape != values.shape or len(time) == 0:
            raise SignalError(
                f"a signal has {time.shape} times and {values.shape} values; expected one row each, as long"
                " as each other"
            )
        if not np.isfinite(time).all():
            raise SignalError(
                f"the time of a signal is not finite at sample {int(np.argmax(~np.isfinite(time)))}"
            )
        if np.any(np.diff(time) <= 0):
            k = int(np.argmax(np.diff(time) <= 0)) + 1
            raise SignalError(
                f"the time of a signal does not increase at sample {k}: {time[k - 1]:g} s, then {time[k]:g} s"
            )
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        return f"Signal({len(self.time)} samples from {self.time[0]:g} to {self.time[-1]:g} s)"

    @property
    def rate(self) -> float:
        """Samples per second: one over the median step; NaN for a single sample."""
        return 1.0 / float(np.median(np.diff(self.time))) if len(self.time) > 1 else math.nan

    @property
    def jitter(self) -> float:
        """Standard deviation of the steps between samples [s]."""
        return float(np.std(np.diff(self.time))) if len(self.time) > 1 else math.nan

    @property
    def gap(self) -> float:
        """The longest step between samples [s]."""
        return float(np.max(np.diff(self.time))) if len(self.time) > 1 else math.nan

    @property
    def changes(self) -> np.ndarray:
        """Times at which it has another value than before."""
        return self.time[1:][np.diff(self.values) != 0]

    def hold_at(self, times: np.ndarray) -> np.ndarray:
        """The value in force at each time: the newest sample not later; before the first, the first."""
        return self.values[
            np.clip(np.searchsorted(self.time, times, side="right") - 1, 0, len(self.values) - 1)
        ]

    def sample_at(self, times: np.ndarray) -> np.ndarray:
        """Samples taken at (almost) these times, NaN where there is none; nothing is interpolated."""
        step, k = np.inf, np.zeros(len(times), int)
        if len(self.time) > 1:
            step = np.median(np.diff(self.time))
            k = np.clip(np.searchsorted(self.time, times), 1, len(self.time) - 1)
            k = k - (np.abs(times - self.time[k - 1]) <= np.abs(times - self.time[k]))
        near = np.abs(self.time[k] - times) <= 1e-3 * step + 1e-9
        return np.where(near, self.values[k], np.nan)


@dataclass(frozen=True, kw_only=True, repr=False)
class Log(NotebookDisplay):
    """A recording. Its clock is that of its position (or of its first measured signal);
    nothing is stretched."""

    name: str
    signals: Mapping[str, Signal]
    bench: Bench | None = None
    settings: Mapping[str, float] = field(default_factory=dict)
    """Parameters of the actuator that were set for this recording, by path: {"drive.proportional": 8.0}."""
    motion: str = "rotary"
    mechanism: str = ""
    """What was tested, where its file tells the tests of several mechanisms apart."""
    commands: Mapping[str, Command] = field(default_factory=dict)
    """What was asked as a function of time, by signal, where that is known: its samples then stand on a clock
    of their own, with every jump at its very moment."""
    conversions: tuple[str, ...] = ()
    """What was converted, mapped, left out or guessed while reading, in words."""
    findings: tuple[Finding, ...] = ()
    source: str = ""
    told: tuple[str, ...] = ()
    """How whoever read it said that its channels are to be read: position=motor_pos[deg],-1."""
    joints: Mapping[str, Log] = field(default_factory=dict)
    """On a robot, a log of each joint; `signals` then has what they share, or nothing."""
    robot: Robot | None = None
    """What the joints belong to."""
    mark: str = ""
    """Of the samples as their file has them: what is cut, mended or read in another unit keeps it."""

    def __post_init__(self) -> None:
        if not self.signals and not self.joints:
            raise SignalError(f"{self.name}: no signals")
        if self.motion not in ("rotary", "linear"):
            raise InvalidValue(f"{self.name}: motion is {self.motion!r}; expected 'rotary' or 'linear'")
        for name in self.signals:
            if name not in UNITS or name == "time":
                raise UnknownName(f"signal in {self.name}", name, (*MEASURED, *ASKED))
        for name in self.commands:
            if name not in ASKED:
                raise UnknownName(f"command of {self.name}", name, ASKED)

    @property
    def time(self) -> np.ndarray:
        """The log's clock [s]; on a robot that of its first joint."""
        if self.joints:
            return next(iter(self.joints.values())).time
        return self.signals[self.clock].time

    @property
    def clock(self) -> str:
        """The signal whose times are the log's."""
        if self.joints:
            return next(iter(self.joints.values())).clock
        return next((name for name in MEASURED if name in self.signals), next(iter(self.signals)))

    def __getitem__(self, name: str) -> np.ndarray:
        """A signal on the log's clock: held where it was asked,
        as sampled (NaN elsewhere) where it was measured."""
        if name == "time":
            return self.time
        if name not in self.signals:
            joint, _, signal = name.rpartition(".")
            if joint in self.joints:
                return self.joints[joint][signal]
            there = [*self.signals, *(f"{j}.{n}" for j, joint in self.joints.items() for n in joint.signals)]
            raise UnknownName(f"signal in {self.name}", name, there)
        signal = self.signals[name]
        if signal.time is self.time or np.array_equal(signal.time, self.time):
            return signal.values
        return signal.hold_at(self.time) if name in ASKED or name in HELD else signal.sample_at(self.time)

    def __contains__(self, name: object) -> bool:
        return name in self.signals

    def __len__(self) -> int:
        return len(self.time)

    def overview(self) -> Overview:
        """Every signal with its count, rate, range and unit, and what was found."""
        bench = "no bench" if self.bench is None else self.bench.kind
        bench = bench if self.robot is None else f"{self.robot.name}, {len(self.joints)} joints"
        own = {f"{j}.{n}": (s, n) for j, joint in self.joints.items() for n, s in joint.signals.items()}
        rows = [
            (name, len(s.time), s.rate, float(np.nanmin(s.values)), float(np.nanmax(s.values)), UNITS[n])
            for name, (s, n) in (*((n, (s, n)) for n, s in self.signals.items()), *own.items())
        ]
        seconds = self.time[-1] - self.time[0]
        title = f"{self.name}, {seconds:.4g} s on {bench}, {len(self)} samples of {self.clock}"
        return Overview(
            title, ("signal", "samples", "rate [Hz]", "least", "most", "unit"), rows, self.findings
        )

    def to_pandas(self) -> Any:
        """Every signal on the log's clock as a pandas DataFrame."""
        return frame({"time": self.time, **{name: self[name] for name in self.signals}}, "time")

    def between(self, start: float, end: float) -> Log:
        """The part of the log from `start` to `end` seconds."""
        joints = {name: joint.between(start, end) for name, joint in self.joints.items()}
        cut = {}
        for name, signal in self.signals.items():
            keep = (signal.time >= start) & (signal.time <= end)
            before = np.flatnonzero(signal.time < start)
            stands = name in (*ASKED, *HELD) and len(before) and not np.array_equal(signal.time, self.time)
            if stands and start not in signal.time:  # what was asked before the cut holds on at its start
                time, values = [start], signal.values[before[-1:]]
                cut[name] = Signal(
                    time=np.append(time, signal.time[keep]), values=np.append(values, signal.values[keep])
                )
            elif np.any(keep):
                cut[name] = Signal(time=signal.time[keep], values=signal.values[keep])
        if not cut and not joints:
            raise SignalError(
                f"{self.name}: nothing between {start:g} and {end:g} s; the log runs from {self.time[0]:g} to"
                f" {self.time[-1]:g} s"
            )
        cut |= {name: _sample_command(command, start, end) for name, command in self.commands.items()}
        words = (*self.conversions, f"cut to {start:g} .. {end:g} s")
        return replace(self, signals=cut, joints=joints, conversions=words)

    def with_command(self, command: Command, name: str = "", *, by: str = "as told") -> Log:
        """The log with what was asked as a function of time, in place of its samples.

        Args:
            command: as a function of time, in SI.
            name: the signal that it is; empty: as its unit says, a position where it has none.
            by: who says so, in words.

        Returns:
            The log with the command, sampled so that it is exact where it is constant.

        Raises:
            UnknownName: the signal is none that can be asked.
        """
        name = name or asked_by(command)
        if name not in ASKED:
            raise UnknownName("signal that can be asked", name, ASKED)
        sampled = _sample_command(command, float(self.time[0]), float(self.time[-1]))
        words = (*self.conversions, f"{name} {by}: {command}")
        commands = {**self.commands, name: command}
        return replace(self, signals={**self.signals, name: sampled}, commands=commands, conversions=words)

    def rescale(self, factor: float, offset: float = 0.0) -> Log:
        """The log of a joint with another scale or sign of its motion, and another zero of its position [rad
        or m]; what drives it has the sign of its motion."""
        signals = dict(self.signals)
        for name, signal in self.signals.items():
            kind = name.removesuffix("_target")
            if kind in TURNING:
                by = factor if kind in ("position", "velocity") else math.copysign(1.0, factor)
                zero = offset if kind == "position" else 0.0
                signals[name] = Signal(time=signal.time, values=by * signal.values + zero)
        return replace(self, signals=signals)

    def refine(self) -> tuple[Log, np.ndarray]:
        """(the log on a clock that also has every moment at which a command changes that is known as a
        function or has a clock of its own, where its own samples are on that clock). Nothing is measured at
        the moments between."""
        t = self.time
        asked = [self.signals[name] for name in ("enabled", *COMMANDED.values()) if name in self.signals]
        own = [one.changes for one in asked if not np.array_equal(one.time, t)]
        more = np.unique(np.concatenate([*own, t[:0]]))
        more = more[(more > t[0]) & (more < t[-1])]
        after = np.clip(np.searchsorted(t, more), 1, len(t) - 1)
        step = t[after] - t[after - 1]
        inside = np.minimum(more - t[after - 1], t[after] - more) > NEAR * step
        if not inside.any():
            return self, np.arange(len(t))
        clock = np.union1d(t, more[inside])
        places = np.searchsorted(clock, t)
        signals = dict(self.signals)
        for name, signal in self.signals.items():
            if name in MEASURED and np.array_equal(signal.time, t):
                values = np.full(len(clock), np.nan)
                values[places] = signal.values
                signals[name] = Signal(time=clock, values=values)
        held = {
            n: Signal(time=clock, values=self.signals[n].hold_at(clock)) for n in HELD if n in self.signals
        }
        return replace(self, signals={**signals, **held}), places


def asked_by(command: Command) -> str:
    """The signal that a command is by its unit: a position where it has none."""
    return COMMANDED.get(command.unit, "position_target")


def _sample_command(command: Command, start: float, end: float) -> Signal:
    """A command as values that hold: exact where it is constant between its jumps."""
    times, values = command.sample(start, end)
    return Signal(time=times, values=values)


def actuator_and_logs(verb: str, actuator: Any, logs: Any) -> tuple[Actuator, list[Log]]:
    """What a verb was given, or a sentence that says what it wants.

    Args:
        verb: what users call it: "fit".
        actuator: what was given first.
        logs: what was given second: a log or several.

    Returns:
        The actuator, and at least one log.

    Raises:
        InvalidValue: they are in the wrong order, or something else.
        MissingValue: there are no logs.
    """
    if isinstance(logs, Actuator) or any(isinstance(first, Log) for first in several(actuator)[:1]):
        raise InvalidValue(f"{verb} was given the logs first; expected {verb}(actuator, logs)")
    if not isinstance(actuator, Actuator):
        own = getattr(actuator, "actuator", None)
        hint = "" if own is None else f": its .actuator{'()' * callable(own)} is one"
        raise InvalidValue(f"{verb} was given a {type(actuator).__name__} first; expected an Actuator{hint}")
    recordings = several(logs)
    for item in recordings:
        if not isinstance(item, Log):
            raise InvalidValue(
                f"{verb} was given a {type(item).__name__} among the logs;"
                " expected Logs, as be.read(...) gives"
            )
    if not recordings:
        raise MissingValue(f"{verb} was given no logs; expected at least one")
    return actuator, recordings


MOST_VALUE, SHORTEST_STEP = 1e12, 1e-9
"""Beyond which no recording goes, in SI: its arithmetic would run out of numbers."""


def check_recordings(logs: Sequence[Log]) -> None:
    """Refuse logs that hold no motion, only a moment, and numbers that no machine has."""
    for log in logs:
        if len(log) < 2:
            raise MissingValue(f"{log.name} has {len(log)} sample; expected a recording over time")
        wanted = "its columns' units may be others (--map 'signal=column[unit]')"
        if np.ptp(log.time) > MOST_VALUE or np.median(np.diff(log.time)) < SHORTEST_STEP:
            raise InvalidValue(
                f"{log.name} has steps of {np.median(np.diff(log.time)):.3g} s over {np.ptp(log.time):.3g} s;"
                f" expected {SHORTEST_STEP:g} s or more, and {MOST_VALUE:g} s at most: {wanted}"
            )
        for name, signal in log.signals.items():
            most = np.nanmax(np.abs(signal.values), initial=0.0)
            if most > MOST_VALUE:
                raise InvalidValue(
                    f"{log.name}: {name} is up to {most:.3g}; expected {MOST_VALUE:g} at most: {wanted}"
                )
        if ("position" in log.signals or log.joints) and not has_positions(log):
            raise MissingValue(f"{log.name} has no value of position; record it, or ask fit.predict instead")
        check_recordings([*log.joints.values()])


def has_positions(log: Log) -> bool:
    """Whether any position was recorded, of any joint."""
    each = list(log.joints.values()) or [log]
    return any("position" in one and np.isfinite(one["position"]).any() for one in each)


def several(given: Any) -> list[Any]:
    """The members of a collection; anything else, and text, alone."""
    return [given] if isinstance(given, str | bytes) or not hasattr(given, "__iter__") else list(given)


def command_of(given: Command | str | None) -> Command | None:
    """What was asked as a function of time, from its words or as it is."""
    return read_command(given) if isinstance(given, str) else given


def log(
    name: str,
    time: Any,
    *,
    bench: Bench | Robot | str | None = None,
    joints: Sequence[str] | None = None,
    settings: Mapping[str, float] | None = None,
    motion: str = "rotary",
    command: Command | str | None = None,
    **signals: Any,
) -> Log:
    """A log from arrays that share one clock: `log("step 1", t, position=q, voltage_target=v, bench=...)`.

    Args:
        name: by which results call it.
        time: of every sample [s]; on a robot, one for all joints, or a dictionary by joint.
        bench: what the output carried, also in words, or the robot that was recorded: `be.Robot.read(...)`.
        joints: on a robot, whose the columns of each matrix are; None: the robot's, in its order.
        settings: parameters of the actuator that were set for this recording, by path, in SI.
        motion: "rotary" or "linear"; a robot's joints say it themselves.
        command: what was asked as a function of time, or its words: "step size=1rad"; its unit says what it
            asks for, a position where it has none.
        signals: values by signal, at the output and in SI; what was asked may be a function of time:
            `position_target=be.signal.square(...)`. On a robot a matrix (samples, joints), or a dictionary
            of arrays by joint.

    Returns:
        The log; on a robot, with one of each joint in it.

    Raises:
        UnknownName: a signal that does not exist.
        SignalError: times that do not increase, or not as many values as times.
        InvalidValue: a robot with one command for all joints.
    """
    carried, robot = bench_and_robot(bench)
    if robot is not None:
        from .joint_channels import of_robot

        if command is not None:
            raise InvalidValue(f"{name}: a robot has no one command; give position_target=... of its joints")
        return of_robot(name, time, robot, signals, joints, settings)
    time = np.asarray(time, float)
    known = {k: v for k, v in signals.items() if isinstance(v, Command)}
    if not all(k in ASKED for k in known):
        raise UnknownName("signal that can be asked", next(k for k in known if k not in ASKED), ASKED)
    made = Log(
        name=name,
        signals={k: Signal(time=time, values=v) for k, v in signals.items() if k not in known},
        bench=carried,
        settings=settings or {},
        motion=motion,
    )
    for target, one in known.items():
        made = made.with_command(one, target)
    asked = command_of(command)
    return made if asked is None else made.with_command(asked)


def bench_of(log: Log) -> Bench:
    """What the output carried."""
    if log.bench is None:
        as_in = '--bench "pendulum mass=0.5kg length=0.1m" (in Python: be.read(..., bench=...))'
        raise MissingValue(f"{log.name} has no bench; say what the output carried, as in {as_in}")
    return log.bench


def targets(log: Log, drive: Drive) -> list[str]:
    """The log's signals that a drive follows."""
    if len(drive.targets) > 1:  # any of them will do
        return [n for n in drive.targets if n in log]
    if drive.followed and drive.followed not in log:
        lacks = f"{log.name} has no {drive.followed!r}, which {drive.kind} follows"
        raise MissingValue(f"{lacks}; it has: {', '.join(log.signals)}")
    return list(drive.targets)


def mark_samples(values: np.ndarray) -> str:
    """A short text that other samples do not have."""
    return hashlib.blake2b(np.ascontiguousarray(values, float).tobytes(), digest_size=8).hexdigest()


def mark_of(log: Log) -> str:
    """What tells a recording from others of its name: its mark, that of all its joints, or where it was read
    from no file that of its samples."""
    if log.joints:
        return "".join(mark_of(joint)[:6] for joint in log.joints.values())
    return log.mark or mark_samples(log.signals[log.clock].values)


def noise_of(values: np.ndarray) -> float:
    """Standard deviation of the noise of a smooth signal:
    from its fourth differences, and at least its quantisation's."""
    seen = values[np.isfinite(values)]
    if len(seen) < 8:
        return 0.0
    d = np.diff(values, n=4)
    d = d[np.isfinite(d)]  # not across samples that are left out,
    d = d if len(d) >= 0.2 * len(seen) else np.diff(seen, n=4)  # unless next to nothing remains
    steps = np.abs(np.diff(seen))
    steps = steps[steps > 0]
    grain = float(np.min(steps)) if len(steps) else 0.0
    counts = seen / grain if grain > 0 else seen
    quantised = grain > 0 and np.median(np.abs(counts - counts[0] - np.round(counts - counts[0]))) < 1e-3
    smooth = float(np.percentile(np.abs(d), 80) / 1.2816 / np.sqrt(70.0))
    return max(smooth, grain / np.sqrt(12.0) if quantised else 0.0)


def start_of(log: Log) -> tuple[float, float]:
    """Position and velocity at a log's first sample: a cubic through as many first samples as it fits;
    at rest unless it clearly moves."""
    q, t = log["position"], log.time - log.time[0]
    good = np.isfinite(q)
    q, t = q[good], t[good]
    sigma = max(noise_of(q), 1e-9)
    windows = [n for n in (24, 18, 13, 9, 6) if n <= len(q)]
    for powers in ((0, 2, 3), (0, 1, 2, 3)):  # starting from rest, before starting in motion
        for n in windows if len(powers) == 3 else windows[:4]:
            basis = t[:n, None] ** np.array(powers)
            cubic, *_ = np.linalg.lstsq(basis, q[:n], rcond=None)
            if np.std(q[:n] - basis @ cubic) * np.sqrt(n / (n - len(powers))) > 1.3 * sigma:
                continue
            if len(powers) == 3:
                return float(cubic[0]), 0.0
            error = sigma * np.sqrt(np.linalg.inv(basis.T @ basis)[1, 1])
            if abs(cubic[1]) > 5.0 * error:
                return float(cubic[0]), float(cubic[1])
    return float(q[0]), 0.0


LONG_GAP = 5.0
"""Steps from which on nobody knows what happened between two samples: a model starts anew behind them."""
UNSURE = 5.0
"""Standard errors that a start may be off: the samples that tell it are compared with the model as well, and
a narrower belief would count them twice."""


class StartState(NamedTuple):
    """Where a stretch of a recording begins, and how sure that is before any model is asked."""

    sample: int
    position: float
    velocity: float
    position_error: float
    velocity_error: float
    """About rest: it stands still, or moves about as fast as its first samples say."""


def starts_of(log: Log) -> list[StartState]:
    """Where a recording begins, and where it begins anew behind each long gap."""
    dt, q = np.diff(log.time), log["position"]
    long = np.flatnonzero(dt > LONG_GAP * np.median(dt)) + 1 if len(dt) else []
    begins = [
        (0, log),
        *((int(k), log.between(log.time[k], log.time[-1])) for k in long if np.isfinite(q[k])),
    ]
    return [StartState(k, *start_of(rest), *start_errors(rest)) for k, rest in begins]


def start_errors(log: Log) -> tuple[float, float]:
    """How far position and velocity may be from `start_of` and from rest: by a cubic through the first
    samples that does not take it that the joint rests."""
    q, t = log["position"], log.time - log.time[0]
    good = np.isfinite(q)
    q, t = q[good], t[good]
    sigma = max(noise_of(q), 1e-9)
    velocity = 10.0 * sigma / max(float(t[-1]), 1e-9) if len(t) else 1.0
    for n in [n for n in (24, 18, 13, 9, 6, 5) if n <= len(q)]:
        span = float(t[n - 1])
        basis = (t[:n, None] / span) ** np.arange(4)
        cubic, *_ = np.linalg.lstsq(basis, q[:n], rcond=None)
        error = sigma * np.sqrt(np.linalg.inv(basis.T @ basis)[1, 1])
        velocity = max(abs(float(cubic[1])), UNSURE * float(error)) / span
        if np.std(q[:n] - basis @ cubic) * np.sqrt(n / (n - 4)) <= 1.3 * sigma:
            break
    return UNSURE * sigma, velocity
