"""Motions: what a recorder plays, joint by joint, and the limits that it keeps to."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .. import signal, store
from ..codec import Noun
from ..errors import InvalidValue, UnknownName

EVERY = "*"
"""Stands for every joint in the tracks of a motion."""
WAYS = ("line", "hold")
SETTLE = 0.3
"""Rest between the way to the start and the motion itself [s]."""
LONGEST = 3600.0
"""A single motion at most [s]: a longer one is several."""


@dataclass(frozen=True, kw_only=True)
class SafetyLimits(Noun):
    """Outside of these the torque goes off. What is absent is not watched, except by the servo itself."""

    position_low: float | None = None
    """[rad], as the joint counts."""
    position_high: float | None = None
    velocity: float | None = None
    """Of the measured motion, either way [rad/s]."""
    current: float | None = None
    """Either way [A]."""
    currents: Mapping[str, float] = field(default_factory=dict)
    """The same of single joints, where nothing is said for all [A]."""
    temperature: float | None = 65.0
    """[degC]"""
    supply_low: float | None = None
    """[V]"""
    supply_high: float | None = None
    following: float | None = 0.2
    """A joint that stands still this far from where it is asked to be ends the motion [rad]."""
    silence: float = 0.2
    """A joint that has not answered for so long ends the motion [s]."""
    approach: float = 0.5
    """Speed of the ramp to where a motion starts [rad/s]."""

    def __post_init__(self) -> None:
        for name in ("silence", "approach", "following"):
            if not 0 < (1.0 if (value := getattr(self, name)) is None else value) < math.inf:
                raise InvalidValue(f"limit {name} is {getattr(self, name)!r}; expected a number above 0")
        for low, high in (("position_low", "position_high"), ("supply_low", "supply_high")):
            a, b = getattr(self, low), getattr(self, high)
            if a is not None and b is not None and not a < b:
                raise InvalidValue(f"limit {low} is {a:g} and {high} {b:g}; expected the first below")

    def current_of(self, joint: str) -> float | None:
        """What a joint's current may be, either way [A]; None where nobody says."""
        return self.currents.get(joint) if self.current is None else self.current

    def way_time(self, far: float) -> float:
        """How long the ramp over a distance [rad] takes [s]; its fastest moment has the speed of approach."""
        return 1.5 * far / self.approach


@dataclass(frozen=True, kw_only=True)
class Track(Noun):
    """What one joint is asked: a command in words, or positions at times; never both."""

    command: str = ""
    """As `be.signal` reads it: "chirp amplitude=0.5rad low=0.1Hz high=3Hz duration=10s"."""
    times: tuple[float, ...] = ()
    """[s], from 0 on."""
    positions: tuple[float, ...] = ()
    """[rad]"""
    between: str = "line"
    """What happens between two times: 'line' goes straight from one position to the next, 'hold' waits."""
    coast: float | None = None
    """From this time on the torque is off [s]."""

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.times):
            raise InvalidValue("a track has either a command or times and positions; expected one of them")
        if self.between not in WAYS:
            raise UnknownName("way between positions", self.between, WAYS)
        if len(self.times) != len(self.positions):
            raise InvalidValue(
                f"a track has {len(self.times)} times and {len(self.positions)} positions; expected as many"
            )
        if self.command:
            command = signal.read(self.command)
            if command.unit not in ("", "rad"):
                raise InvalidValue(f"the command {self.command!r} is in {command.unit}; expected an angle")
        else:
            times = np.array(self.times, float)
            if (
                not np.isfinite([*times, *self.positions]).all()
                or times[0] < 0
                or np.any(np.diff(times) <= 0)
            ):
                raise InvalidValue("the times of a track must be finite and increase from 0 on")

    def at(self, t: np.ndarray) -> np.ndarray:
        """Positions at times [rad]."""
        return np.asarray(self._function(t), float)

    def player(self) -> Callable[[float], float]:
        """The same for one moment after another, without reading the words again."""
        function = self._function
        return lambda t: float(function(np.array([t]))[0])

    @property
    def _function(self) -> Callable[[np.ndarray], np.ndarray]:
        if self.command:
            return signal.read(self.command)
        if self.between == "line":
            return lambda t: np.interp(t, self.times, self.positions)
        return signal.held(self.times, self.positions)


@dataclass(frozen=True, kw_only=True)
class Motion(Noun):
    """One recording: a name, how long, and the track of each joint; a joint without one stays."""

    name: str
    duration: float
    """[s]"""
    tracks: Mapping[str, Track]
    """By joint; "*" is for every joint that is not named."""

    def __post_init__(self) -> None:
        if not self.name or not all(c.isalnum() or c in "-_." for c in self.name) or self.name[0] == ".":
            raise InvalidValue(
                f"a motion is named {self.name!r}; expected letters, digits, - and _: its log is called so"
            )
        if not 0 < self.duration <= LONGEST:
            raise InvalidValue(
                f"the duration of {self.name} is {self.duration!r}; expected above 0 s, {LONGEST:g} s at most"
            )
        if not self.tracks:
            raise InvalidValue(f"{self.name} has no tracks; expected one, for a joint or for '*'")

    def track(self, joint: str) -> Track | None:
        """Of a joint; None where it stays as it is."""
        return self.tracks.get(joint, self.tracks.get(EVERY))

    def sample(self, joint: str, step: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
        """(times, positions) of a joint all along; empty where it has no track."""
        track, times = self.track(joint), np.arange(0.0, self.duration, step)
        return (times[:0], times[:0]) if track is None else (times, track.at(times))

    sampled = sample
    """What users may still call it."""


@dataclass(frozen=True, kw_only=True)
class Motions(Noun):
    """What is played, in its order."""

    motions: tuple[Motion, ...]
    limits: SafetyLimits = field(default_factory=SafetyLimits)
    note: str = ""

    def __post_init__(self) -> None:
        names = [motion.name for motion in self.motions]
        if not names:
            raise InvalidValue("there are no motions; expected at least one")
        for name in names:
            if names.count(name) > 1:
                raise InvalidValue(f"two motions are named {name!r}; expected different names")

    @property
    def duration(self) -> float:
        """Of all, without the ways between [s]."""
        return sum(motion.duration for motion in self.motions)

    def for_joints(self, joints: Sequence[str]) -> None:
        """Refuse tracks for joints that are not there."""
        for motion in self.motions:
            for name in motion.tracks:
                if name != EVERY and name not in joints:
                    raise UnknownName(f"joint of {motion.name}", name, joints)

    def write(self, path: Path | str, *, force: bool = False) -> Path:
        """Store as versioned JSON; an existing file is kept unless `force`."""
        return store.write(self, path, force=force)

    @staticmethod
    def read(path: Path | str) -> Motions:
        """The motions that `write` stored."""
        return store.read(path, Motions)


def usual(
    amplitude: float = 0.6, *, centre: float = 0.0, seconds: float = 40.0, limits: SafetyLimits | None = None
) -> Motions:
    """The four motions that tell most servos: slow ramps (friction), steps (gain, torque, back-EMF), a sweep
    (inertia, delay), and a coast with the torque off.

    Args:
        amplitude: how far they go from the centre [rad].
        centre: where they begin [rad].
        seconds: how long they last together [s].
        limits: that the recorder keeps to.

    Returns:
        The motions, for every joint.

    Raises:
        InvalidValue: the amplitude is beyond pi, or the time too short or too long.
    """
    if not 0 < amplitude <= math.pi:
        raise InvalidValue(f"amplitude is {amplitude!r}; expected more than 0 and at most pi rad")
    if not 2.0 <= seconds <= LONGEST:
        raise InvalidValue(f"seconds is {seconds!r}; expected from 2 to {LONGEST:g}")
    T, A, c = seconds / 4.0, amplitude, centre

    def track(times: Sequence[float], positions: Sequence[float], way: str = "line") -> Track:
        at, to = tuple(T * t for t in times), tuple(c + A * x for x in positions)
        return Track(times=at, positions=to, between=way)

    steps = (0.0, 1.0, -0.5, 0.5, -1.0, 0.25, 0.0, -0.75)
    low, high = 0.5 / T, max(3.0, 4.0 / T)
    sweep = f"chirp amplitude={0.5 * A!r}rad low={low!r}Hz high={high!r}Hz duration={T!r}s offset={c!r}rad"
    drop = Track(times=(0.0, 0.3 * T), positions=(c, c + A), coast=0.45 * T)
    made = {
        "slow-ramps": track((0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 1.0, 0.0, -1.0, 0.0)),
        "steps": track([k / len(steps) for k in range(len(steps))], steps, "hold"),
        "sweep": Track(command=sweep),
        "coast": drop,
    }
    motions = tuple(Motion(name=name, duration=T, tracks={EVERY: one}) for name, one in made.items())
    return Motions(motions=motions, limits=limits or SafetyLimits(), note="the usual four")
