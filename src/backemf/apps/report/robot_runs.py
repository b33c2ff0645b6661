"""A robot's recordings beside the simulation of all its joints together, as fitted and as its own model has
them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import MissingValue
from ...identify.joints.along import Along, along, joint_log, with_contact
from ...identify.joints.score import scored
from ...logs.log import Log
from ...logs.robot import Robot
from ...mujoco.robot.contact import stretches
from ...mujoco.robot.coupled import coupled
from ...results.fit import Fit, Score
from ...targets.mujoco.robots import as_shipped, parted

SLIGHT = 0.01
"""Share of the greatest load of any joint below which a joint carries none."""


@dataclass(frozen=True, kw_only=True)
class RobotRun:
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

    def summary(self, places: Sequence[int]) -> dict[str, Any]:
        """As plain data, for `--json`."""
        return {
            "name": self.name,
            "held_out": self.held_out,
            "rms": self.off(places),
            "rms_free": self.off(places, free=True),
            "shipped_rms": self.off(places, "before"),
            "contacts": [{"from": a, "to": b, "where": at} for a, b, at in self.contacts()],
        }


@dataclass(frozen=True, kw_only=True)
class RobotRuns:
    """All recordings of a robot that were simulated, those held out first, and how far off they are."""

    robot: Robot
    joints: tuple[str, ...]
    """Those that were fitted."""
    score: Score
    """Of the recordings held out, where there are some here; else as the fit has it."""
    shipped: Score | None
    runs: tuple[RobotRun, ...]
    edited: Any = None
    """The robot's own model with the fit in it, driven; None where it is not here or was not wanted."""
    no_file: str = ""
    """Why not."""

    @property
    def places(self) -> list[int]:
        """Of the fitted joints among the robot's."""
        return [self.robot.place(name) for name in self.joints]

    def worst_run(self, joint: str) -> RobotRun | None:
        """The recording on which a joint is furthest off, of those held out where there are some."""
        judged = [run for run in self.runs if run.held_out] or self.runs
        place = [self.robot.place(joint)]
        return max(judged, key=lambda run: run.off(place) or 0.0, default=None)

    def usual_load(self, joint: str) -> float:
        """A load that a joint carried [N m or N]: nine tenths of the samples stay below it, to two digits."""
        if not self.runs:
            return 0.0
        loads = np.concatenate([run.load[:, self.robot.place(joint)] for run in self.runs])
        usual = float(f"{np.nanpercentile(np.abs(loads), 90):.2g}")
        most = max(float(np.nanmax(np.abs(run.load))) for run in self.runs)
        return usual if usual > SLIGHT * most else 0.0

    def fastest(self, joint: str) -> float | None:
        """The greatest speed of a joint [rad/s or m/s], a few outliers aside."""
        if not self.runs:
            return None
        j = self.robot.place(joint)
        speeds = np.concatenate([np.gradient(run.recorded[:, j], run.time) for run in self.runs])
        return float(np.nanpercentile(np.abs(speeds), 99.5)) or None

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
                        for path, p in one.parameters.items()
                    },
                    "rms": self.score.joints.get(name),
                    "rms_free": self.score.joints_free.get(name),
                    "shipped_rms": None if shipped is None else shipped.joints[name],
                }
                for name, one in fit.joints.items()
            },
            "logs": [run.summary(self.places) for run in self.runs],
        }


def simulate_together(fit: Fit, logs: Sequence[Log], report_progress: Callable[[str], None]) -> RobotRuns:
    """Simulate recordings of a robot with all joints together, as fitted and as its own model has them.

    Args:
        fit: a robot's.
        logs: recordings of that robot; those whose end was held out are cut.
        report_progress: is told what is done next.

    Raises:
        MissingValue: the fit has no robot.
    """
    if fit.robot is None or fit.score is None:
        raise MissingValue("the fit has no robot; expected one that be.fit made of a robot's recordings")
    robot, score, names = fit.robot, fit.score, tuple(fit.joints)
    seen, unseen = parted(fit, logs) if logs else ([], [])
    chosen = {log.name: log for log in (*unseen, *seen)}
    held = set(score.logs) if score.held_out else set()
    recordings: list[Along] = [along(robot, log) for log in chosen.values()]
    recordings, _, _ = with_contact(robot, recordings, fit.actuators, fit.delays, robot.ground)
    runs = []
    for one in recordings:
        report_progress(f"all joints of {one.log.name}")
        runs.append(_run(fit, robot, one, one.log.name in held))
    shipped = None
    if runs:
        judged = [k for k, run in enumerate(runs) if run.held_out] or range(len(runs))
        shown = [recordings[k] for k in judged]
        is_held = all(runs[k].held_out for k in judged)
        score = scored(robot, names, shown, [runs[k].after for k in judged], held_out=is_held)
        old = [q for k in judged if (q := runs[k].before) is not None]
        if len(old) == len(shown):
            shipped = scored(robot, names, shown, old, held_out=is_held)
    ordered = tuple(sorted(runs, key=lambda run: not run.held_out))
    return RobotRuns(robot=robot, joints=names, score=score, shipped=shipped, runs=ordered)


def _run(fit: Fit, robot: Robot, one: Along, held_out: bool) -> RobotRun:
    motion = one.motion
    after = coupled(robot, fit.actuators, one.log, delays=fit.delays, ground=robot.ground, motion=motion)
    asked = {
        name: one.log.joints[name].signals["position_target"].held(motion.time)
        for name in fit.joints
        if name in one.log.joints and "position_target" in one.log.joints[name]
    }
    return RobotRun(
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
