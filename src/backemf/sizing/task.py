"""A task: how a joint is to move and what torque it gives to its load, from a table, from a bench and a move
in words, or from a robot's recording; and what of it judges any motor without its samples."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidValue, MissingValue, SignalError, UnknownName
from ..findings import Finding, finding
from ..logs.benches import bench_and_robot
from ..logs.log import Log
from ..logs.read import read
from ..logs.robot import Robot
from ..physics.bench import Bench, Recorded
from ..physics.duty import JointSamples, LightBraking, moment_terms
from ..signal.words import si, words

GAP = 2.5
"""Steps from which on two samples are not neighbours."""
CELL = 1.5
"""The same where the other channel has a sample between them."""
MISSED = 1.7
"""Steps from which on a sample is missing: a clock that is off by 30 % of a step reaches 1.6."""
FEW = 9
"""Samples that are a sketch: they may be as uneven as they like, and are not smoothed."""
STEP = 1e-3
"""Between samples of a move in words [s]; a long one has longer steps."""
MOST_SAMPLES = 20_000
MOST_STRETCHES = 600
"""Of constant heat in one cycle."""
CLOSED = 0.05
"""Share of the greatest speed by which a cycle's end may miss its beginning."""
FINE = 20.0
"""Stretches in the time constant of the quickest winding."""


class ExtremeSamples(NamedTuple):
    """Samples of one direction and one flow of power beyond which no other lies."""

    side: float
    flow: float
    samples: np.ndarray
    """Rows of (a, w, T)."""


class Stretches(NamedTuple):
    """A cycle in pieces of nearly constant heat."""

    lengths: np.ndarray
    """[s]"""
    moments: np.ndarray
    """(30, stretches)."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a joint has to do, over and over; at its output."""

    name: str
    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    torque: np.ndarray
    """On the load, the joint's own motor and gears apart [N m]."""
    bench: Bench | None = None
    """What it carries, where that is known."""
    findings: tuple[Finding, ...] = ()

    @staticmethod
    def read(path: Path | str) -> Task:
        """From a table with the columns time, velocity or position, and torque."""
        return task_of_log(read(path)[0])

    @staticmethod
    def of_bench(bench: Bench | str, move: str) -> Task:
        """From what a joint carries and how it is to move: Task.of_bench("pendulum mass=1kg length=0.2m",
        "trapezoid to=90deg time=0.5s dwell=0.5s")."""
        return task_of_bench(bench, move)

    @staticmethod
    def of_robot(robot: Any, log: Any, joint: str, friction: Any = None) -> Task:
        """From a robot's recording, by inverse dynamics: Task.of_robot("go2.xml", "log.csv",
        "FL_calf_joint")."""
        return task_of_robot(robot, log, joint, friction)

    @property
    def period(self) -> float:
        """Of one cycle [s]: the last sample lasts as long as the one before it."""
        return float(self.time[-1] - self.time[0] + self.time[-1] - self.time[-2])

    @property
    def closes(self) -> bool:
        """Whether its end leads on to its beginning; else each time begins anew."""
        steps = np.diff(self.velocity, append=self.velocity[0])
        return bool(abs(steps[-1]) <= max(CLOSED * self.top_speed, 2.0 * np.abs(steps[:-1]).max()))

    def resample(self, longest: float) -> Task:
        """The same motion with samples at most so far apart.

        Args:
            longest: between samples [s].
        """
        n = math.ceil(float(np.median(np.diff(self.time))) / longest - 1e-9)
        if n <= 1:
            return self
        from scipy.interpolate import CubicHermiteSpline

        ends, next_ = np.append(self.time, self.time[0] + self.period), 0 if self.closes else -1
        t = np.interp(np.arange(n * len(self.time)) / n, np.arange(len(ends)), ends)
        w, a, T = (np.append(x, x[next_]) for x in (self.velocity, self.acceleration, self.torque))
        q = np.append(self.position, self.position[-1] + (ends[-1] - ends[-2]) * 0.5 * (w[-2] + w[-1]))
        between = {"velocity": w, "acceleration": a, "torque": T}
        rows = {name: np.interp(t, ends, x) for name, x in between.items()}
        return replace(self, time=t, position=CubicHermiteSpline(ends, q, w)(t), **rows)

    @functools.cached_property
    def samples(self) -> JointSamples:
        """Its samples, each with its share of the time."""
        weight = np.append(np.diff(self.time), self.time[-1] - self.time[-2])
        return JointSamples(self.acceleration, self.velocity, self.torque, weight / weight.sum())

    @functools.cached_property
    def terms(self) -> np.ndarray:
        return moment_terms(self.samples)

    @functools.cached_property
    def moments(self) -> np.ndarray:
        """30 numbers that are all of it for mean squares."""
        return self.terms.sum(axis=0)

    @functools.cached_property
    def light_braking(self) -> LightBraking:
        """Where the load pushes by little."""
        return LightBraking.of(self.samples, self.terms)

    @property
    def top_speed(self) -> float:
        return float(np.max(np.abs(self.velocity)))

    @property
    def peak_torque(self) -> float:
        return float(np.max(np.abs(self.torque)))

    @property
    def rms_torque(self) -> float:
        return math.sqrt(float(np.sum(self.samples.weight * self.torque**2)))

    @functools.cached_property
    def lasting_torques(self) -> tuple[float, float]:
        """What wears a strain wave out, (<|w| |T|^3> / <|w|>)^(1/3), and the mean square's root [N m]."""
        turns, T = self.samples.weight * np.abs(self.velocity), np.abs(self.torque)
        cubic = (float(turns @ T**3) / float(turns.sum())) ** (1.0 / 3.0) if turns.any() else self.rms_torque
        return cubic, self.rms_torque

    @functools.cached_property
    def extremes(self) -> tuple[ExtremeSamples, ...]:
        """The corners of its samples: torque and voltage of every motor are linear in (a, w, T) within one
        direction and one flow of power, so their peaks are at corners."""
        m, found = self.samples, []
        rows = np.stack([m.a, m.w, m.T], axis=1)
        for side in (-1.0, 0.0, 1.0):
            for flow in (-1.0, 0.0, 1.0):
                mine = rows[(m.side == side) & (m.flow == flow)]
                if len(mine):
                    found.append(ExtremeSamples(side, flow, corners(mine)))
        return tuple(found)

    def stretches(self, quickest: float) -> Stretches:
        """The cycle in stretches in which no winding's temperature turns about.

        Args:
            quickest: the shortest time constant of the windings [s].
        """
        weight, terms = self.samples.weight * self.period, self.terms
        longest = max(quickest / FINE, self.period / MOST_STRETCHES)
        same = np.all(np.diff(np.stack(self.samples[:3]), axis=1) == 0.0, axis=0)
        begins, filled, steady = [0], weight[0], True
        for k in range(1, len(weight)):
            goes_on = steady and same[k - 1]  # equal samples: equal heat, however long
            if goes_on or filled + weight[k] <= longest:
                filled, steady = filled + weight[k], goes_on
            else:
                begins.append(k)
                filled, steady = weight[k], True
        lengths = np.add.reduceat(weight, begins)
        moments = np.add.reduceat(terms, begins, axis=0) * self.period / lengths[:, None]
        return Stretches(lengths, moments.T)

    def summary(self) -> str:
        """It in a sentence."""
        first, last = self.velocity[[0, -1]]
        anew = f"; it ends at {last:.3g} rad/s and begins at {first:.3g}, so each time begins anew"
        return (
            f"{self.name}: {self.period:.3g} s again and again, up to {self.top_speed:.3g} rad/s and"
            f" {self.peak_torque:.3g} N m, {self.rms_torque:.3g} N m RMS{'' if self.closes else anew}"
        )


def corners(rows: np.ndarray) -> np.ndarray:
    """Corners of the convex hull of points, in as many dimensions as they fill; all where that is not sure.

    Args:
        rows: points (samples, 3).
    """
    rows = np.unique(rows, axis=0)
    spread = np.ptp(rows, axis=0)
    kept = spread > 1e-12 * (np.abs(rows).max(axis=0) + 1e-300)
    if len(rows) < 6 or not kept.any():
        return rows
    if kept.sum() == 1:
        (axis,) = np.flatnonzero(kept)
        return rows[[rows[:, axis].argmin(), rows[:, axis].argmax()]]
    from scipy.spatial import ConvexHull, QhullError

    try:
        return rows[ConvexHull(rows[:, kept] / spread[kept]).vertices]
    except QhullError:  # in one plane or on one line
        return rows


def task_of_log(log: Log) -> Task:
    """A task from a recording or a table: time, torque, and a position or a velocity.

    Args:
        log: of one joint.

    Raises:
        MissingValue: it has no torque, or nothing that says how the joint moves.
        SignalError: it has gaps, or too few samples.
    """
    nought = [f for f in log.findings if f.code == "not_recorded" and "torque" in f.text]
    moves = next((n for n in ("velocity", "position", "position_target") if n in log), None)
    moved = log.signals[moves].values if moves else np.zeros(2)
    if "torque" not in log and not (nought and np.any(moved if moves == "velocity" else np.diff(moved))):
        raise MissingValue(
            f"{log.name} has {'nothing but 0 for its' if nought else 'no'} torque; expected a column such as"
            " 'torque [N m]': what the joint gives to its load"
        )
    if moves is None:
        raise MissingValue(
            f"{log.name} has a torque but neither velocity nor position; expected a column such as"
            " 'velocity [rad/s]': torque alone asks for no speed"
        )
    motion = log.signals[moves]
    torque = log.signals.get("torque", replace(motion, values=0.0 * motion.values))  # 0: it moves itself
    t = _checked_clock(log.name, motion.time, motion.values, torque.time)
    _checked_clock(log.name, torque.time, torque.values, t)
    T = torque.values if np.array_equal(torque.time, t) else np.interp(t, torque.time, torque.values)
    if moves == "velocity":
        w = motion.values
        a = np.gradient(w, t)
        steps = np.append(0.0, 0.5 * (w[1:] + w[:-1]) * np.diff(t))
        q = np.cumsum(steps)
    else:
        q, w, a = _smooth(t, motion.values)
    found = (*_moves_itself(nought), *_missing_samples(log.name, t))
    return Task(
        name=log.name, time=t - t[0], position=q, velocity=w, acceleration=a, torque=T, findings=found
    )


def _moves_itself(nought: Sequence[Finding]) -> Iterator[Finding]:
    for one in nought:
        text = "the torque on the load is 0 throughout: the drive moves nothing but itself."
        yield replace(one, text=text, remedy="give what the joint gives to its load, if there is one")


def _missing_samples(name: str, t: np.ndarray) -> Iterator[Finding]:
    """Steps that are so long that a sample is missing, though no more."""
    step = np.diff(t)
    late = np.flatnonzero(step > MISSED * float(np.median(step)))
    if len(late) and len(t) > FEW:
        text = (
            f"{name} lacks {len(late)} of its samples, the first after {t[late[0]] - t[0]:.4g} s; the motion"
            " is taken to go on smoothly there."
        )
        yield finding("samples_missing", text, "record or fill them, if the joint did something else there")


def _checked_clock(name: str, t: np.ndarray, values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Times of a channel that has a value at each, also where another channel has."""
    if len(t) < 3:
        raise SignalError(f"{name} has {len(t)} samples; expected at least three: how else would it move?")
    step = np.diff(t)
    usual = float(np.median(step))
    between = np.searchsorted(others, t[1:] - 1e-3 * usual) > np.searchsorted(others, t[:-1] + 1e-3 * usual)
    if (late := np.flatnonzero(step > np.where(between, CELL, GAP) * usual)).size or not np.isfinite(
        values
    ).all():
        bad = t[late[0]] if late.size else t[np.flatnonzero(~np.isfinite(values))[0]]
        raise SignalError(
            f"{name} has a gap at {bad - t[0]:.4g} s, where samples are {usual:.4g} s apart; expected a value"
            " at every time: fill it, or cut the table there"
        )
    return t


def _smooth(t: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, velocity and acceleration of positions alone."""
    from ..logs.log import noise_of
    from ..mujoco.robot.robot_motion import smooth, window_of

    if len(q) < FEW:
        w = np.gradient(q, t)
        return q, w, np.gradient(w, t)
    rows = q[:, None]
    out = smooth(t, rows, window_of(t, rows, np.array([max(noise_of(q), 1e-9)])))
    return out[0][:, 0], out[1][:, 0], out[2][:, 0]


def task_of_bench(bench: Bench | str, move: str) -> Task:
    """A task from what the joint carries and how it is to move.

    Args:
        bench: it, or its words.
        move: such as "trapezoid from=23deg to=100deg time=0.45s dwell=0.55s".

    Raises:
        InvalidValue: a locked or recorded bench, which says nothing of a load.
    """
    carried, _ = bench_and_robot(bench)
    assert carried is not None
    if carried.series or carried.locked:
        why = "does not move" if carried.locked else "has its load from a recording"
        raise InvalidValue(f"{carried.kind} {why}; give a pendulum, another load, or a table of the task")
    t, q, w, a = read_move(move)
    J = np.asarray(carried.inertia_at({}), float)
    load: Any = carried.load(q, w, {})  # type: ignore[arg-type]  # of many samples at once
    T = J * a - np.asarray(load, float) + 0.0 * a
    name = f"{carried.kind.partition('.')[2].lower()}, {move.split()[0]}"
    return Task(name=name, time=t, position=q, velocity=w, acceleration=a, torque=T, bench=carried)


def _clock(seconds: float) -> np.ndarray:
    """Moments in the middle of equal steps."""
    n = int(np.clip(round(seconds / STEP), 50, MOST_SAMPLES))
    return (np.arange(n) + 0.5) * (seconds / n)


def _trapezoid(v: Mapping[str, float]) -> tuple[np.ndarray, ...]:
    """There and back, each a third of the time faster, even and slower, with a rest after each."""
    q0, q1, T, dwell = v["from"], v["to"], v["time"], v["dwell"]
    t, third = _clock(2.0 * (T + dwell)), T / 3.0
    A = (q1 - q0) / (2.0 * third * third)
    leg, back = np.fmod(t, T + dwell), np.where(t < T + dwell, 1.0, -1.0)
    x = np.minimum(leg, T)
    a = np.where(x < third, A, np.where(x < 2.0 * third, 0.0, np.where(leg < T, -A, 0.0)))
    w = A * (np.minimum(x, third) - np.maximum(x - 2.0 * third, 0.0))
    one = np.minimum(x, third)
    moved = A * (0.5 * one**2 + third * (x - one) - 0.5 * np.maximum(x - 2.0 * third, 0.0) ** 2)
    return t, np.where(back > 0, q0 + moved, q1 - moved), back * np.where(leg < T, w, 0.0), back * a


def _sine(v: Mapping[str, float]) -> tuple[np.ndarray, ...]:
    W = 2.0 * math.pi / v["period"]
    t = _clock(v["period"])
    x = v["amplitude"] * np.sin(W * t)
    return t, v["around"] + x, W * v["amplitude"] * np.cos(W * t), -W * W * x


def _spin(v: Mapping[str, float]) -> tuple[np.ndarray, ...]:
    t = _clock(v["time"])
    return t, v["speed"] * t, np.full(len(t), v["speed"]), 0.0 * t


def _spin_up(v: Mapping[str, float]) -> tuple[np.ndarray, ...]:
    """Faster for a while, even for the rest, and back to rest by itself: a wheel that is left to coast is
    not asked for."""
    t = _clock(v["time"] + v["hold"])
    a = np.where(t < v["time"], v["speed"] / v["time"], 0.0)
    w = np.where(t < v["time"], a * t, v["speed"])
    q = np.where(t < v["time"], 0.5 * w * t, v["speed"] * (t - 0.5 * v["time"]))
    return t, q, w, a


def _hold(v: Mapping[str, float]) -> tuple[np.ndarray, ...]:
    t = _clock(v["time"])
    return t, np.full(len(t), v["at"]), 0.0 * t, 0.0 * t


class MoveKind(NamedTuple):
    """A move that has a name."""

    make: Callable[[Mapping[str, float]], tuple[np.ndarray, ...]]
    units: Mapping[str, str]
    usual: Mapping[str, float]
    text: str


MOVES = {
    "trapezoid": MoveKind(
        _trapezoid,
        {"from": "rad", "to": "rad", "time": "s", "dwell": "s"},
        {"from": 0.0, "dwell": 0.0},
        "there and back, with a rest after each",
    ),
    "sine": MoveKind(
        _sine, {"amplitude": "rad", "period": "s", "around": "rad"}, {"around": 0.0}, "to and fro"
    ),
    "spin": MoveKind(_spin, {"speed": "rad/s", "time": "s"}, {"time": 1.0}, "at one speed"),
    "spin-up": MoveKind(
        _spin_up, {"speed": "rad/s", "time": "s", "hold": "s"}, {"hold": 0.0}, "from rest to a speed"
    ),
    "hold": MoveKind(_hold, {"at": "rad", "time": "s"}, {"at": 0.0, "time": 1.0}, "at one place"),
}
"""What `--move` knows."""


def read_move(text: str) -> tuple[np.ndarray, ...]:
    """Time, position, velocity and acceleration of a move in words.

    Args:
        text: its name and numbers: "sine amplitude=20deg period=2s".

    Raises:
        UnknownName: there is no such move, or no such word in it.
        MissingValue: a number that it needs is missing.
    """
    name, given = words(text)
    if name not in MOVES:
        raise UnknownName("move", name, MOVES)
    kind = MOVES[name]
    for key in given:
        if key not in kind.units:
            raise UnknownName(f"word of {name}", key, kind.units)
    values = {**kind.usual, **{k: si(v, kind.units[k], f"{k} of {name}") for k, v in given.items()}}
    for key, unit in kind.units.items():
        if key not in values:
            raise MissingValue(f"{name} needs {key} [{unit}]; its words are: {', '.join(kind.units)}")
        if unit == "s" and not (values[key] > 0 or (key in ("dwell", "hold") and values[key] == 0)):
            raise InvalidValue(f"{key} of {name} is {values[key]:g} s; expected more than 0")
    made = kind.make(values)
    if not np.any(made[2]) and name != "hold":
        raise InvalidValue(f"{text!r} does not move; expected another place or speed, or a hold")
    return made


def task_of_robot(robot: Any, log: Any, joint: str, friction: Any = None) -> Task:
    """A task from a robot's recording: the torque that one joint needed, by inverse dynamics.

    Args:
        robot: a `Robot`, or its file.
        log: a recording of it, or its file.
        joint: which of its joints.
        friction: an actuator of that joint whose friction the load has too, as of a fit; None: none.

    Returns:
        What that joint did, as a task.

    Raises:
        MissingValue: the joint is not in the recording.
    """
    from ..mujoco.robot.robot_motion import joint_loads, motion_of

    owner, recording = robot_and_recording(robot, log)
    j = owner.place(joint)
    if joint not in recording.joints:
        raise MissingValue(f"{recording.name} has no joint {joint}; it has: {', '.join(recording.joints)}")
    motion = motion_of(owner, recording)
    t, w = motion.time - motion.time[0], motion.velocity[:, j]
    T = joint_loads(owner, motion).torque[:, j]
    if friction is not None:
        law = friction.friction
        T = T + law.drag(w) + law.moving * np.sign(np.where(np.abs(w) < 1e-2, 0.0, w))
    name = f"{joint} of {owner.name} in {Path(recording.name).name}"
    q, a = motion.position[:, j], motion.acceleration[:, j]
    found = (*_frictionless(joint, friction), *_missing_samples(recording.name, t))
    return Task(name=name, time=t, position=q, velocity=w, acceleration=a, torque=T, findings=found)


def _frictionless(joint: str, friction: Any) -> Iterator[Finding]:
    """A rigid body's torque is not all that a joint takes."""
    if friction is None or not (float(friction.friction.moving) or friction.friction.viscous):
        text = (
            f"the torque of {joint} is that of rigid bodies, without friction of the joint, which may be most"
            " of it: the drives of a Go2's knees gave 2.3 to 4.3 times as much, RMS."
        )
        yield finding(
            "friction_unknown", text, "give a fit of the robot: --friction-of FIT, friction=ACTUATOR"
        )


def robot_and_recording(robot: Any, log: Any) -> tuple[Robot, Log]:
    """A robot and a recording of it, each given as it is or as its file."""
    match robot:
        case Path() | str():
            robot = Robot.read(robot)
    match log:
        case Path() | str():
            log = read(log, bench=robot)[0]
    return robot, log


def bench_and_series(task: Task) -> tuple[Bench, dict[str, np.ndarray]]:
    """What to simulate a task on, and the inputs that come with it: its own bench; or a recorded load with an
    inertia that is a part of what the torque accelerates."""
    if task.bench is not None and not task.bench.locked:
        return task.bench, {}
    m = task.samples
    aa = float(np.sum(m.weight * m.a**2))
    J = abs(float(np.sum(m.weight * m.a * m.T))) / aa if aa > 0 else 0.0
    J = max(J, 1e-6 * (task.rms_torque + 1e-9))
    return Recorded(), {"inertia": np.full(len(m.T), J), "load": J * m.a - m.T}
