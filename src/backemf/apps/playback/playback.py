"""What is seen over time: of each joint what was recorded and asked, what a model makes of it, the band in
which that is to be expected, what is left between them, and currents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...engine.simulate import Trajectory
from ...errors import InvalidValue
from ...files import may_write, replacing
from ...logs.log import ASKED, UNITS, Log, Signal
from ...logs.robot import Robot
from ...physics.actuator import linear_unit
from ...registry import Registry
from ...results.fit_result import PredictedMotion

ALONE = "joint"
"""What the one joint of a bench is called in files."""
RECORDED, ASKED_FOR, MODEL, FILE, LOW, HIGH, RESIDUAL = (
    *("recorded", "command", "model", "file", "low", "high", "residual"),
)
"""Where a track comes from: measured; asked; as backemf predicts it; as an exported file runs in its
simulator; the ends of the band; recorded less predicted."""
MODELLED = ("position", "velocity", "torque", "current", "voltage", "temperature")
"""What is kept of a trajectory."""


class JointTrack(NamedTuple):
    """One number of one joint over time."""

    joint: str
    signal: str
    """As logs call it: position, current, position_target."""
    origin: str
    values: Signal


@dataclass(frozen=True, kw_only=True)
class Playback:
    """One motion of one joint or of a robot, as it is looked at."""

    name: str
    motion: str = "rotary"
    """'rotary' or 'linear'."""
    tracks: tuple[JointTrack, ...] = field(repr=False)
    robot: Robot | None = None
    """Whose joints they are; None on a bench."""
    poses: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict, repr=False)
    """Of a robot: by origin, position of every joint [rad or m] without gaps."""
    clock: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)
    """Times of the poses [s]."""

    def unit(self, signal: str) -> str:
        """Of a signal of these joints."""
        return linear_unit(UNITS[signal]) if self.motion == "linear" else UNITS[signal]

    def write(self, path: Path | str, *, force: bool = False) -> Path:
        """Write it for a program that shows it.

        Args:
            path: ends in .rrd for Rerun, in .mcap for Foxglove and ROS 2.
            force: overwrite an existing file.

        Returns:
            The file.

        Raises:
            InvalidValue: it ends in something else.
            NotAvailable: a package is not installed.
        """
        endings = {row.SUFFIX: kind for kind, row in PLAYBACKS.items()}
        kind = endings.get(Path(path).suffix.lower())
        if kind is None:
            raise InvalidValue(f"{str(path)!r} is no playback; expected a file in {' or '.join(endings)}")
        return write_playbacks([self], {kind: Path(path)}, force=force)[0]


def playback(source: PredictedMotion | Trajectory) -> Playback:
    """A motion as it is looked at: `be.playback(fit.predict(log)).write("run.rrd")` for Rerun, "run.mcap" for
    Foxglove and ROS 2.

    Args:
        source: a recording as a fit predicts it, or a simulated run.

    Returns:
        Every joint's numbers over time.
    """
    make: Any = of_trajectory if hasattr(source, "bench") else of_prediction
    return make(source)


def of_prediction(motion: PredictedMotion) -> Playback:
    """A recording beside what a fit makes of it, with its band where the fit never saw it.

    Args:
        motion: of the recording, as the fit predicts it.

    Returns:
        Every recorded signal on its own clock; predictions on the recording's.
    """
    from ...identify.predict import predict_joint

    log, seen = motion.log, _is_recorded(motion)
    tracks = [*_of_log(log)]
    for joint in motion.joints:
        name, clock = joint or ALONE, motion.time
        series = {MODEL: motion.positions[joint]}
        if seen:
            series[RESIDUAL] = motion.recorded[joint] - motion.positions[joint]
        if motion.has_band:
            series |= {LOW: motion.low[joint], HIGH: motion.high[joint]}
        tracks += [
            JointTrack(name, "position", origin, Signal(time=clock, values=values))
            for origin, values in series.items()
            if np.isfinite(values).any()
        ]
        alone = predict_joint(motion, joint)
        current = Signal(time=alone.log.time, values=alone.signals["current"])
        # by itself a joint says nothing of the time in which the robot touches something
        along = Signal(time=motion.time, values=current.sample_at(motion.time))
        tracks.append(JointTrack(name, "current", MODEL, along))
    poses = {}
    if motion.recording is not None:
        along = motion.recording.motion
        where = np.where(np.isfinite(along.recorded), along.recorded, along.position)
        poses = {RECORDED: dict(zip(motion.recorded, where.T, strict=True))} if seen else {}
        poses |= {MODEL: motion.positions}
    return Playback(
        name=log.name,
        motion=log.motion,
        tracks=tuple(tracks),
        robot=motion.fit.robot,
        poses=poses,
        clock=motion.time,
    )


def _is_recorded(motion: PredictedMotion) -> bool:
    """Whether positions were recorded; a first one alone is where a prediction began."""
    logs = motion.log.joints.values() or (motion.log,)
    return any("position" in one and np.isfinite(one["position"]).sum() > 1 for one in logs)


def of_trajectory(run: Trajectory, name: str = "simulated", band: PredictedMotion | None = None) -> Playback:
    """A simulated run of one joint, and the band of a recording of it.

    Args:
        run: the trajectory.
        name: of the run.
        band: the same run as a stored fit predicts it.

    Returns:
        What was asked, and the model's motion.
    """
    kept = [n for n in (*ASKED, *MODELLED) if n in run.signals]
    tracks = [
        JointTrack(ALONE, n, ASKED_FOR if n in ASKED else MODEL, Signal(time=run.time, values=run[n]))
        for n in kept
    ]
    for origin, values in {} if band is None else {LOW: band.low[""], HIGH: band.high[""]}.items():
        tracks.append(JointTrack(ALONE, "position", origin, Signal(time=run.time, values=values)))
    return Playback(name=name, motion=run.actuator.motion, tracks=tuple(tracks))


def of_replay(case: Any, log: Log | None, motion: PredictedMotion | None, unit: str) -> Playback:
    """A recording or a reference motion beside an exported file's run of it.

    Args:
        case: of the replay.
        log: the recording; None of a reference motion.
        motion: what the stored fit makes of it; None where the source is none.
        unit: of the case's positions, "rad" or "m".

    Returns:
        The file's motion, beside backemf's own and what was recorded.
    """
    if log is not None and motion is not None:
        made = of_prediction(motion)
    else:
        clock = case.time + (0.0 if log is None else log.time[0])
        own = JointTrack(ALONE, "position", MODEL, Signal(time=clock, values=case.native))
        seen = [*_of_log(log)] if log is not None else [*_asked_of(case)]
        if log is not None:
            left = log["position"] - np.interp(log.time, clock, case.native)
            seen.append(JointTrack(ALONE, "position", RESIDUAL, Signal(time=log.time, values=left)))
        kind = "linear" if unit == "m" else "rotary"
        made = Playback(name=case.name, motion=kind, tracks=(*seen, own))
    clock = case.time + (0.0 if log is None else log.time[0])
    file = JointTrack(ALONE, "position", FILE, Signal(time=clock, values=case.target))
    return replace(made, tracks=(*made.tracks, file))


def _asked_of(case: Any) -> Iterator[JointTrack]:
    if case.asked is not None:
        asked = np.broadcast_to(np.asarray(case.asked, float), case.time.shape)
        yield JointTrack(ALONE, "position_target", ASKED_FOR, Signal(time=case.time, values=asked))


def _of_log(log: Log) -> Iterator[JointTrack]:
    """Everything in a recording, on its own clocks; what a robot's joints share is each one's."""
    for joint, one in (log.joints or {ALONE: log}).items():
        for signal, values in {**log.signals, **one.signals}.items():
            if np.isfinite(values.values).sum() > 1:  # one alone is where a prediction began
                yield JointTrack(joint, signal, ASKED_FOR if signal in ASKED else RECORDED, values)


class PlaybackFile(Protocol):
    """A row of `PLAYBACKS`: one kind of file that a playback is written into."""

    SUFFIX: str

    def check(self) -> None:
        """Refuse where a package is not installed, with what to install."""
        ...

    def write(self, playback: Playback, path: Path) -> None:
        """Fill a file.

        Args:
            playback: what it shows.
            path: of the file.
        """
        ...


PLAYBACKS: Registry[PlaybackFile] = Registry(
    "playback file",
    {"rerun": "backemf.apps.playback.rerun_file:RERUN", "mcap": "backemf.apps.playback.mcap_file:MCAP"},
)
"""Files that show a playback, by the name behind `--to-`."""


def check_places(places: Mapping[str, Path], names: Sequence[str] = (), *, force: bool = False) -> None:
    """Refuse, before any work is done, what cannot be written.

    Args:
        places: by name of `PLAYBACKS`.
        names: of the motions; several get a file each.
        force: overwrite what exists.

    Raises:
        InvalidValue: a name has another ending than its kind of file.
        NotAvailable: a package is not installed.
        BackemfError: a file exists, or its folder does not.
    """
    for kind, place in places.items():
        row = PLAYBACKS[kind]
        if place.suffix.lower() != row.SUFFIX:
            raise InvalidValue(
                f"--to-{kind} is {str(place)!r}; expected a file that ends in {row.SUFFIX}, as"
                f" {place.with_suffix(row.SUFFIX).name}"
            )
        row.check()
        for path in _places_of(place, names):
            may_write(path, force=force)


def _places_of(place: Path, names: Sequence[str]) -> list[Path]:
    """The file itself for one motion; for several, one each with the motion's name in it."""
    if len(names) < 2:
        return [place]
    plain = [re.sub(r"[^\w.-]+", "-", name).strip("-") for name in names]
    ends = [f"{word}-{k + 1}" if plain.count(word) > 1 else word for k, word in enumerate(plain)]
    return [place.with_name(f"{place.stem}-{end}{place.suffix}") for end in ends]


def write_playbacks(
    playbacks: Sequence[Playback], places: Mapping[str, Path], *, force: bool = False
) -> list[Path]:
    """Write every file, or none.

    Args:
        playbacks: what is shown; several go into files of their own, with their names in the files'.
        places: by name of `PLAYBACKS`.
        force: overwrite what exists.

    Returns:
        The files.
    """
    names, written = [one.name for one in playbacks], []
    check_places(places, names, force=force)
    with ExitStack() as waiting:
        for kind, place in places.items():
            for one, path in zip(playbacks, _places_of(place, names), strict=True):
                row = PLAYBACKS[kind]
                row.write(one, waiting.enter_context(replacing(path, force=force, suffix=row.SUFFIX)))
                written.append(path)
    return written
