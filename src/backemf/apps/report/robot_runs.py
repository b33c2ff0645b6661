"""A robot's recordings beside the simulation of all its joints together, as fitted and as its own model has
them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...errors import MissingValue
from ...identify.plants.robot_result import score_runs
from ...identify.predict import predict_logs
from ...logs.log import Log, check_recordings
from ...logs.robot import Robot
from ...mujoco.robot.contact import stretches
from ...results.fit_result import Fit, PredictedMotion, Score
from ...targets.mujoco.robots import as_shipped, split_recordings

SLIGHT = 0.01
"""Share of the greatest load of any joint below which a joint carries none."""


@dataclass(frozen=True, kw_only=True)
class RobotRun:
    """A recording beside the simulation of all joints, before and after."""

    motion: PredictedMotion
    """As fitted."""
    shipped: Mapping[str, np.ndarray] | None = field(repr=False)
    """By joint, with the actuators of the robot's own model; None where it has none for these commands."""

    @property
    def name(self) -> str:
        return self.motion.log.name

    @property
    def unseen(self) -> bool:
        """Whether no number was fitted to it."""
        return self.motion.role != "training"

    @property
    def time(self) -> np.ndarray:
        return self.motion.time

    @property
    def shipped_rms(self) -> float | None:
        """Root mean square error of the model as shipped [rad or m]."""
        return None if self.shipped is None else self.motion.rms(self.shipped)

    def off(self, joint: str) -> float:
        """Root mean square error of one joint [rad or m]."""
        error = self.motion.positions[joint] - self.motion.recorded[joint]
        return float(np.sqrt(np.nanmean(error**2)))

    @property
    def point(self) -> np.ndarray | None:
        """(samples, 3), the robot's lowest point [m]."""
        clearance = self.motion.recording.clearance
        return None if clearance is None else clearance.point

    def contacts(self) -> list[tuple[float, float, tuple[float, float, float] | None]]:
        """(from, to, where) of every touch, in seconds of the recording and metres."""
        found = []
        for a, b in stretches(self.motion.touched):
            where = None if self.point is None else tuple(map(float, np.mean(self.point[a:b], axis=0)))
            found.append((float(self.time[a]), float(self.time[b - 1]), where))
        return found

    def summary(self) -> dict[str, Any]:
        """As plain data, for `--json`."""
        return {
            "name": self.name,
            "held_out": self.unseen,
            "rms": self.motion.rms(),
            "rms_free": self.motion.rms(free=True),
            "shipped_rms": self.shipped_rms,
            "contacts": [{"from": a, "to": b, "where": at} for a, b, at in self.contacts()],
        }


@dataclass(frozen=True, kw_only=True)
class RobotRuns:
    """All recordings of a robot that were simulated, those never fitted first, and how far off they are."""

    robot: Robot
    score: Score
    """Of the recordings that were not fitted, where there are some here; else of all that are here, or as the
    fit has it."""
    shipped: Score | None
    runs: tuple[RobotRun, ...]
    edited: Any = None
    """The robot's own model with the fit in it, driven; None where it is not here or was not wanted."""
    no_file: str = ""
    """Why not."""

    def worst_run(self, joint: str) -> RobotRun | None:
        """The recording on which a joint is furthest off, of those never fitted where there are any."""
        judged = [run for run in self.runs if run.unseen] or self.runs
        return max(judged, key=lambda run: run.off(joint), default=None)

    def usual_load(self, joint: str) -> float:
        """A load that a joint carried [N m or N]: nine tenths of the samples stay below it, to two digits."""
        if not self.runs:
            return 0.0
        loads = [np.abs(run.motion.recording.carried.load) for run in self.runs]
        own = np.concatenate([load[:, self.robot.place(joint)] for load in loads])
        usual = float(f"{np.nanpercentile(own, 90):.2g}")
        return usual if usual > SLIGHT * max(float(np.nanmax(load)) for load in loads) else 0.0

    def fastest(self, joint: str) -> float | None:
        """The greatest speed of a joint [rad/s or m/s], a few outliers aside."""
        if not self.runs:
            return None
        speeds = [np.gradient(run.motion.recorded[joint], run.time) for run in self.runs]
        return float(np.nanpercentile(np.abs(np.concatenate(speeds)), 99.5)) or None

    def summary(self, fit: Fit) -> dict[str, Any]:
        """What `--json` has of a robot; errors in rad or m."""
        shipped = self.shipped
        return {
            "robot": self.robot.name,
            "held_out": self.score.held_out,
            "rms": self.score.rms,
            "rms_free": self.score.rms_free,
            "shipped_rms": None if shipped is None else shipped.rms,
            "shipped_rms_free": None if shipped is None else shipped.rms_free,
            "file_rms": None if self.edited is None else self.edited.off_by(),
            "joints": {
                name: {
                    "parameters": {
                        path: {"value": p.value, "error": p.error, "unit": p.unit}
                        for path, p in joint.parameters.items()
                    },
                    "rms": self.score.joints.get(name),
                    "rms_free": self.score.joints_free.get(name),
                    "rms_held": self.score.joints_held.get(name),
                    "shipped_rms": None if shipped is None else shipped.joints[name],
                }
                for name, joint in fit.joints.items()
            },
            "logs": [run.summary() for run in self.runs],
        }


def simulate_together(fit: Fit, logs: Sequence[Log], report_progress: Callable[[str], None]) -> RobotRuns:
    """Simulate recordings of a robot with all joints together, as fitted and as its own model has them.

    Args:
        fit: a robot's.
        logs: recordings of that robot; those whose end was held out are cut.
        report_progress: is told what is done next.

    Returns:
        Every recording, before and after, and the scores.

    Raises:
        MissingValue: the fit has no robot, or a log no positions.
    """
    if fit.robot is None or fit.score is None:
        raise MissingValue("the fit has no robot; expected one that be.fit made of a robot's recordings")
    check_recordings(logs)
    robot, score = fit.robot, fit.score
    seen, unseen = split_recordings(fit, logs) if logs else ([], [])
    chosen = {log.name: log for log in (*unseen, *seen)}
    report_progress("all joints together")
    runs = []
    for motion in predict_logs(fit, [*chosen.values()]):
        report_progress(f"{motion.log.name} as shipped")
        runs.append(RobotRun(motion=motion, shipped=shipped_positions(motion)))
    judged = [run for run in runs if run.unseen] or runs
    before = None
    if judged:
        score = _score(robot, judged, [run.motion.positions for run in judged])
        old = [run.shipped for run in judged if run.shipped is not None]
        before = _score(robot, judged, old) if len(old) == len(judged) else None
    ordered = tuple(sorted(runs, key=lambda run: not run.unseen))
    return RobotRuns(robot=robot, score=score, shipped=before, runs=ordered)


def _score(robot: Robot, runs: Sequence[RobotRun], positions: Sequence[Mapping[str, np.ndarray]]) -> Score:
    found = score_runs(
        robot,
        runs[0].motion.joints,
        [run.motion.recording for run in runs],
        [np.stack([*said.values()], axis=1) for said in positions],
        held_out=all(run.unseen for run in runs),
    )
    return replace(found, stretch=runs[0].motion.stretch)


def shipped_positions(motion: PredictedMotion) -> dict[str, np.ndarray] | None:
    """By joint, what a recording does to the robot's own model [rad or m]; None where that has no actuators
    for these commands."""
    old = as_shipped(motion.fit, motion.log, motion.recording.motion)
    return None if old is None else dict(zip(motion.fit.robot.names, old.T, strict=True))
