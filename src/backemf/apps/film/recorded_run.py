"""A recording of one joint or several, beside the model's motion on the same samples: what a film shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import InvalidValue, MissingValue, UnknownName
from ...logs.log import Log, has_positions
from ...logs.robot import Robot
from ...physics.actuator import Actuator
from ...results.fit_result import Fit
from ...results.variation import PredictionBand

ENGINES = ("backemf", "mujoco")


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """One recording and the model's motion on its samples, by joint; a bench has one, called ""."""

    name: str
    """Of the log."""
    model: str
    """Where the model's motion comes from, in words."""
    motion: str
    """'rotary' or 'linear'."""
    time: np.ndarray = field(repr=False)
    """[s]"""
    joints: tuple[str, ...] = ("",)
    """Those that the model speaks of."""
    recorded: Mapping[str, np.ndarray] = field(repr=False)
    """[rad or m]; NaN where nothing was measured."""
    predicted: Mapping[str, np.ndarray] = field(repr=False)
    """[rad or m]"""
    asked: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    """[rad or m], of joints that follow a position."""
    shipped: Mapping[str, np.ndarray] | None = field(default=None, repr=False)
    """With the actuators that a robot's own model has; None where it has none for these commands."""
    band: PredictionBand | None = field(default=None, repr=False)
    """Where such a recording is to be expected; None where it was fitted, or nothing says."""
    robot: Robot | None = field(default=None, repr=False)
    """Whose joints they are; None on a bench."""

    @property
    def unit(self) -> str:
        """Of small positions: mrad or mm."""
        return "mrad" if self.motion == "rotary" else "mm"

    @property
    def rms(self) -> float:
        """Of what is left between recording and model [rad or m]."""
        return self.off(self.predicted)

    def off(self, positions: Mapping[str, np.ndarray], *joints: str) -> float:
        """Root mean square between the recording and some positions [rad or m], of some joints or all."""
        error = np.stack([positions[j] - self.recorded[j] for j in joints or self.joints])
        return float(np.sqrt(np.nanmean(error**2)))

    def at(self, moment: float, positions: Mapping[str, np.ndarray]) -> dict[str, float]:
        """Positions of all joints at a moment; between samples along a straight line."""
        seen = {joint: np.isfinite(q) for joint, q in positions.items()}
        return {
            joint: float(np.interp(moment, self.time[seen[joint]], q[seen[joint]]))
            for joint, q in positions.items()
        }


def recorded_run(source: Fit | Actuator, log: Log, *, engine: str = "backemf", name: str = "") -> RecordedRun:
    """A log and what the model says it should have looked like.

    Args:
        source: a fit, of a servo or of a robot, or an actuator.
        log: the recording.
        engine: 'backemf' for its prediction, 'mujoco' for the export replayed there.
        name: of the model, in words.

    Returns:
        The recording and the model's motion on the same samples.

    Raises:
        MissingValue, InvalidValue: there is nothing to draw, or the log is not of this model's kind.
    """
    if engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES)
    fit, actuator = (source, source.actuator) if isinstance(source, Fit) else (None, source)
    if fit is not None and fit.joints:
        run = _robot_run(fit, log, name)
    else:
        run = _bench_run(actuator, fit, log, engine, name)
    lost = ~np.all([np.isfinite(q) for q in run.predicted.values()], axis=0)
    if lost.any():
        raise InvalidValue(
            f"{log.name}: the model's motion is not finite at {run.time[int(np.argmax(lost))]:g} s; there is"
            " nothing to draw"
        )
    return run


def _bench_run(actuator: Actuator, fit: Fit | None, log: Log, engine: str, name: str) -> RecordedRun:
    _check_drawable(log, actuator)
    asked = {}
    if actuator.drive.target == "position_target" and "position_target" in log:
        on = log["enabled"] > 0.5 if "enabled" in log else np.ones(len(log), bool)
        asked = {"": np.where(on, log["position_target"], np.nan)}
    how = "MuJoCo's replay" if engine == "mujoco" else "backemf's prediction"
    return RecordedRun(
        name=log.name,
        model=f"{how} of {name}" if name else how,
        motion=log.motion,
        time=log.time,
        recorded={"": log["position"]},
        **_positions(actuator, fit, log, engine),
        asked=asked,
    )


def _check_drawable(log: Log, actuator: Actuator) -> None:
    if "position" not in log:
        raise MissingValue(f"{log.name} has no position to draw; it has: {', '.join(log.signals)}")
    if log.bench is None:
        raise MissingValue(
            f"{log.name} has no bench; say what the output carried, as in --bench"
            ' "pendulum mass=0.5kg length=0.1m" (in Python: be.read(..., bench=...))'
        )
    if log.bench.locked:
        raise InvalidValue(
            f"{log.name} was recorded with the output locked: there is no motion to draw; expected another"
            " bench"
        )
    if np.isfinite(log["position"]).sum() < 2 or len(log) < 2:
        raise MissingValue(f"{log.name} has fewer than two samples of position; there is nothing to draw")
    if actuator.motion != log.motion:
        raise InvalidValue(
            f"{log.name} is {log.motion} and the actuator is {actuator.motion}; expected both alike"
        )


def _positions(actuator: Actuator, fit: Fit | None, log: Log, engine: str) -> dict[str, Any]:
    """The model's, on the log's samples; a fit knows the bench as it found it, and may have a band."""
    from ...identify.parameters import FreeParameters
    from ...identify.problem import fitted_drive, problem
    from ...targets.export import export
    from ...targets.replay import replay

    if engine == "backemf" and fit is not None:
        motion = fit.predict(log)
        return {"predicted": motion.positions, "band": motion.band if motion.has_band else None}
    actuator, _ = fitted_drive(actuator, [log])
    if engine == "backemf":
        alone = problem(actuator, [log], FreeParameters(()), outputs=("position",))
        return {"predicted": {"": alone.predictions(np.zeros(0))[0]}}
    (case,) = replay(export(actuator, "mujoco", replay=False), log, refine=False).cases
    return {"predicted": {"": np.interp(log.time - log.time[0], case.time, case.target)}}


def _robot_run(fit: Fit, log: Log, name: str) -> RecordedRun:
    from ...targets.mujoco.robots import split_recordings
    from ..report.robot_runs import shipped_positions

    robot = fit.robot
    if robot is None:
        raise MissingValue("the fit has no robot; expected one that be.fit made of a robot's recordings")
    if not has_positions(log):
        raise MissingValue(f"{log.name} has no positions to draw; fit.predict says where it will be")
    motion = fit.predict(split_recordings(fit, [log]).seen[0])
    along = motion.recording.motion
    recorded = np.where(np.isfinite(along.recorded), along.recorded, along.position)
    held = fit.score is not None and fit.score.held_out and log.name in fit.score.logs
    return RecordedRun(
        name=f"{robot.name}: {log.name}{' (held out)' if held else ''}",
        model=f"{name or 'the fit'}, all joints together in MuJoCo",
        motion=fit.actuator.motion,
        time=motion.time,
        joints=motion.joints,
        recorded=dict(zip(robot.names, recorded.T, strict=True)),
        predicted=motion.positions,
        asked=motion.asked,
        shipped=shipped_positions(motion),
        band=motion.band if motion.has_band else None,
        robot=robot,
    )
