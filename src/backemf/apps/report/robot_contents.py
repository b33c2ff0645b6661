"""RobotReport: what there is to say about the fit of a robot, computed once, as data."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ... import __version__
from ...errors import BackemfError, MissingValue
from ...identify.plants.recordings import RobotRecording, joint_log, recording_of, with_contact
from ...identify.plants.robot_result import score_runs
from ...logs.log import Log
from ...logs.robot import Robot
from ...mujoco.robot.contact import stretches
from ...mujoco.robot.coupled import coupled
from ...results.fit import Fit, Score
from ...targets.export import export
from ...targets.mujoco.robots import as_shipped, parted
from .verdict import GOOD, WORDS

BETTER = 0.5
"""Share of the shipped model's error from which on a model is no gain worth its care."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A recording beside the simulation of all joints, before and after."""

    name: str
    held_out: bool
    time: np.ndarray = field(repr=False)
    recorded: np.ndarray = field(repr=False)
    """(samples, joints), as the robot has them."""
    asked: dict[str, np.ndarray] = field(repr=False)
    """By joint, the position that was asked for."""
    after: np.ndarray = field(repr=False)
    before: np.ndarray | None = field(repr=False)
    """With the actuators of the robot's own model; None where it has none for these commands."""
    touched: np.ndarray = field(repr=False)
    point: np.ndarray | None = field(repr=False)
    """(samples, 3), the robot's lowest point [m]."""
    load: np.ndarray = field(repr=False)
    """(samples, joints), on each joint from everything but its own acceleration and actuator."""
    alone: dict[str, Log] = field(repr=False)
    """Each joint's own recording, on a bench that is all the others."""

    def off(self, places: Sequence[int], which: str = "after", *, free: bool = False) -> float | None:
        """Root mean square difference over joints [rad or m]."""
        q = getattr(self, which)
        if q is None:
            return None
        kept = ~self.touched if free else np.ones(len(self.time), bool)
        error = (q - self.recorded)[kept][:, list(places)]
        return float(np.sqrt(np.nanmean(error**2))) if len(error) else None

    def contacts(self) -> list[tuple[float, float, tuple[float, float, float] | None]]:
        """(from, to, where) of every touch, in seconds of the recording and metres."""
        t, found = self.time, []
        for a, b in stretches(self.touched):
            where = None if self.point is None else tuple(map(float, np.mean(self.point[a:b], axis=0)))
            found.append((float(t[a]), float(t[b - 1]), where))
        return found


@dataclass(frozen=True, kw_only=True)
class RobotReport:
    """A robot's fit with its recordings run through it."""

    fit: Fit
    robot: Robot
    name: str
    """Of the fit's file."""
    verdict: tuple[str, ...]
    level: str
    score: Score
    """Of the recordings held out, where there are some here; else as the fit has it."""
    shipped: Score | None
    runs: tuple[Run, ...]
    edited: Any
    """The robot's own model with the fit in it, driven; None where it is not here or was not wanted."""
    no_file: str
    """Why not."""
    date: str
    version: str = __version__

    @property
    def unit(self) -> str:
        return "mrad" if self.fit.actuator.motion == "rotary" else "mm"

    def place(self, joint: str) -> int:
        return self.robot.place(joint)

    def summary(self) -> dict[str, Any]:
        """The object of `--json`; errors in rad or m."""
        places = [self.place(name) for name in self.fit.joints]
        return {
            "fit": self.name,
            "robot": self.robot.name,
            "backemf": self.version,
            "date": self.date,
            "verdict": list(self.verdict),
            "level": self.level,
            "held_out": self.score.held_out,
            "rms": self.score.rms,
            "rms_free": self.score.rms_free,
            "shipped_rms": None if self.shipped is None else self.shipped.rms,
            "shipped_rms_free": None if self.shipped is None else self.shipped.rms_free,
            "file_rms": None if self.edited is None else self.edited.off_by(),
            "joints": {name: dict(_of_joint(self, name)) for name in self.fit.joints},
            "logs": [
                {
                    "name": run.name,
                    "held_out": run.held_out,
                    "rms": run.off(places),
                    "rms_free": run.off(places, free=True),
                    "shipped_rms": run.off(places, "before"),
                    "contacts": [{"from": a, "to": b, "where": at} for a, b, at in run.contacts()],
                }
                for run in self.runs
            ],
            "findings": [f.to_dict() for f in self.fit.findings],
        }


def _of_joint(report: RobotReport, name: str) -> dict[str, Any]:
    one = report.fit.joints[name]
    numbers = {p: {"value": x.value, "error": x.error, "unit": x.unit} for p, x in one.parameters.items()}
    shipped = None if report.shipped is None else report.shipped.joints[name]
    return {
        "parameters": numbers,
        "rms": report.score.joints.get(name),
        "rms_free": report.score.joints_free.get(name),
        "shipped_rms": shipped,
    }


def robot_report(
    fit: Fit,
    logs: Sequence[Log] = (),
    *,
    exported: bool = True,
    name: str = "fit",
    progress: Callable[[str, float], None] | None = None,
) -> RobotReport:
    """Simulate a robot's recordings with all joints together, as fitted and as its own model has it.

    With `exported` the fit is also put into the robot's own file, where that is still there, and the file is
    driven.
    """
    if fit.robot is None or fit.score is None:
        raise MissingValue("the fit has no robot; expected one that be.fit made of a robot's recordings")
    robot, tell = fit.robot, progress or (lambda *_: None)
    seen, unseen = parted(fit, logs) if logs else ([], [])
    chosen = {log.name: log for log in (*unseen, *seen)}
    held = set(fit.score.logs) if fit.score.held_out else set()
    recordings: list[RobotRecording] = [recording_of(robot, log) for log in chosen.values()]
    recordings, _, _ = with_contact(robot, recordings, fit.actuators, fit.delays, robot.ground)
    runs = []
    for k, one in enumerate(recordings):
        tell(f"all joints of {one.log.name}", k / (len(recordings) + 1))
        runs.append(_run(fit, robot, one, one.log.name in held))
    judged = [k for k, run in enumerate(runs) if run.held_out] or range(len(runs))
    tell("the robot's own file", len(recordings) / (len(recordings) + 1))
    edited, why = _edited(fit, list(logs)) if exported else (None, "left out as asked")
    score, shipped = fit.score, None
    if runs:
        mine = [recordings[k] for k in judged]
        is_held = all(runs[k].held_out for k in judged)
        score = score_runs(robot, [*fit.joints], mine, [runs[k].after for k in judged], held_out=is_held)
        old = [q for k in judged if (q := runs[k].before) is not None]
        if len(old) == len(mine):
            shipped = score_runs(robot, [*fit.joints], mine, old, held_out=is_held)
    level = level_of(fit, score, shipped)
    return RobotReport(
        fit=fit,
        robot=robot,
        name=name,
        verdict=verdict(fit, score, shipped, edited, level),
        level=level,
        score=score,
        shipped=shipped,
        runs=tuple(sorted(runs, key=lambda run: not run.held_out)),
        edited=edited,
        no_file=why,
        date=datetime.date.today().isoformat(),
    )


def _run(fit: Fit, robot: Robot, one: RobotRecording, held_out: bool) -> Run:
    motion = one.motion
    after = coupled(robot, fit.actuators, one.log, delays=fit.delays, ground=robot.ground, motion=motion)
    asked = {
        name: one.log.joints[name].signals["position_target"].held(motion.time)
        for name in fit.joints
        if name in one.log.joints and "position_target" in one.log.joints[name]
    }
    return Run(
        name=one.log.name,
        held_out=held_out,
        time=motion.time,
        recorded=motion.recorded,
        asked=asked,
        after=after,
        before=as_shipped(fit, one.log, motion),
        touched=one.touched,
        point=None if one.clearance is None else one.clearance.point,
        load=one.carried.load,
        alone={name: joint_log(one, robot, name, {}) for name in asked},
    )


def _edited(fit: Fit, logs: list[Log]) -> tuple[Any, str]:
    """(the robot's own file with the fit in it, why there is none)."""
    source = "" if fit.robot is None else fit.robot.source
    if not source or not Path(source).is_file():
        return None, f"the robot's model {source or 'has no file'} is not here; give it: --robot MODEL.xml"
    if Path(source).suffix.lower() == ".urdf":
        return None, "the robot's model is a URDF, which has no words for actuators that MuJoCo runs"
    try:
        return export(fit, "mujoco", into=source, logs=logs or None), ""
    except BackemfError as error:
        return None, str(error)


def level_of(fit: Fit, score: Score, shipped: Score | None) -> str:
    """'good' near the noise, 'poor' where little is gained over the model as shipped, else 'fair'."""
    if not np.isfinite(score.rms) or (shipped is not None and score.rms > BETTER * shipped.rms):
        return "poor"
    near = score.held_out and score.rms_free < 1.25 * GOOD * fit.noise_floor  # RMS against mean absolute
    return "good" if near else "fair"


def verdict(fit: Fit, score: Score, shipped: Score | None, edited: Any, level: str) -> tuple[str, ...]:
    """Three sentences, the coupled number first."""
    unit, n = "mrad" if fit.actuator.motion == "rotary" else "mm", len(score.logs)
    some = "a recording" if n == 1 else f"{n} recordings"
    on = f"{some} {'it never saw' if score.held_out else 'it was fitted to'}"
    first = (
        f"{WORDS[level]}: on {on}, all {len(fit.joints)} joints together in MuJoCo, the model is off by"
        f" {1e3 * score.rms:.3g} {unit} (root mean square), {1e3 * score.rms_free:.3g} where nothing touches"
    )
    if shipped is not None:
        first += f"; the model as shipped is off by {1e3 * shipped.rms:.3g} and {1e3 * shipped.rms_free:.3g}"
    second = ""
    if edited is not None and edited.off_by() is not None:
        second = (
            f"The robot's own file with these actuators in it, run in MuJoCo, is off by"
            f" {1e3 * edited.off_by():.3g} {unit}."
        )
    told = sum(p.told_by != "prior" for p in fit.parameters.values())
    worst = max(score.joints, key=lambda name: score.joints[name])
    third = (
        f"{told} of {len(fit.parameters)} parameters are told by the recordings; the worst joint is {worst},"
        f" with {1e3 * score.joints[worst]:.3g} {unit}."
    )
    return tuple(text for text in (f"{first}.", second, third) if text)
