"""What a fit says a log should have looked like, and how far off it is: of one joint every sample of every
state; of n joints their positions, those of a robot simulated together."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..engine.rows import DELAY
from ..errors import InvalidValue, NotAvailable
from ..findings import Finding, finding
from ..logs.coupling import joints_of_motors
from ..logs.log import Log, Signal, has_positions, mark_of
from ..logs.robot import Robot
from ..mujoco.robot.joint_simulation import simulate_joints
from ..mujoco.robot.robot_motion import restarts_every
from ..physics.actuator import Actuator, signals
from ..results.fit_result import Fit, PredictedMotion
from ..results.variation import ExpectedError, PredictionBand, band_around, variation_in
from . import bench_numbers
from .holdout import demands_of, of_prediction
from .optimize import with_read_starts
from .parameters import FreeParameters
from .plants.recordings import RobotRecording, joint_log, recording_of, shoot, with_contact
from .plants.starts import without_echo
from .problem import Problem, fitted_drive, problem

FEW = 6
"""Recordings or rigs left out from which on a band is given without a word."""
ROLES = ("training", "held out", "not in the fit")
__all__ = ["band_of", "expected_error", "predict_joint", "predict_logs", "predict_motion", "run"]
SAME = 1e-3
"""Relative difference up to which an error counts as the one that the fit stored for this log."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A log and what the fit makes of it, on the log's own samples."""

    log: Log
    """With the bench as the fit found it."""
    role: str
    actuator: Actuator
    """With the settings of this log."""
    states: Mapping[str, np.ndarray] = field(repr=False)
    signals: Mapping[str, np.ndarray] = field(repr=False)
    """Voltage, current and motor torque at the output."""
    error: float
    """Mean absolute error of position [rad or m]."""
    stored: float | None
    """The same as the fit stored it; None where this log was not in the fit."""
    remembered: str
    """The mark of this log as the fit stored it; empty where it did not."""
    posed: Problem = field(repr=False, compare=False)
    """The log as the engine took it, for whoever runs it again with other numbers."""
    fit: Fit = field(repr=False, compare=False)
    mounting: tuple[float, float] | None = None
    """Where the arm of a mounting that was never fitted hangs, and the standard deviation of that [rad]."""
    together: PredictedMotion | None = field(default=None, repr=False, compare=False)
    """Of a robot's joint: the recording with all joints simulated together, whose band it has."""
    joint: str = ""

    @functools.cached_property
    def motion(self) -> PredictedMotion:
        """The whole recording, of all joints."""
        return self.together or _of_bench(self.fit, self)

    def half(self) -> np.ndarray | None:
        """Half the width of the band in which 95 % of the samples are to be expected [rad or m]; None where
        it was fitted or the fit has no bands."""
        if not self.motion.has_band:
            return None
        return np.interp(self.log.time, self.motion.time, self.motion.band.half(self.joint))

    @property
    def position(self) -> np.ndarray:
        return self.states["position"]

    @property
    def velocity(self) -> np.ndarray:
        return self.states["velocity"]

    @property
    def load(self) -> np.ndarray:
        """Torque of the bench on the joint along the run."""
        assert self.log.bench is not None
        inputs: dict[str, Any] = {name: self.log[name] for name in self.log.bench.series}
        q: Any = self.position
        w: Any = self.velocity
        return np.asarray(self.log.bench.load(q, w, inputs)) + np.zeros(len(self.log))

    @property
    def another(self) -> bool:
        """Whether this is a log of the same name that is not the same recording: by its samples, or in fits
        that do not remember them by an error that is not the one stored."""
        if self.stored is None:
            return False
        if self.remembered:
            return mark_of(self.log) != self.remembered
        return abs(self.error - self.stored) > SAME * self.stored


def role(fit: Fit, name: str) -> str:
    """What a log of this name was to the fit: one of `ROLES`."""
    return "training" if name in fit.training else "held out" if name in fit.held_out else "not in the fit"


def as_found(fit: Fit, log: Log) -> Log:
    """The log with the bench's numbers that the fit found, such as where the arm hangs."""
    log = bench_numbers.as_found(fit.bench, log)
    freed = {path.partition(".")[2]: p.value for path, p in fit.parameters.items() if path[:6] == "bench."}
    return replace(log, bench=replace(log.bench, **freed)) if freed and log.bench is not None else log


def as_begun(log: Log) -> Log:
    """A log, or each joint's, that begins somewhere: at rest where it is first asked to be, where no position
    was recorded."""
    if log.joints:
        return replace(log, joints={name: as_begun(one) for name, one in log.joints.items()})
    if has_positions(log):
        return log
    asked = log["position_target"] if "position_target" in log else np.zeros(len(log))
    only_first = np.where(np.arange(len(log)) == 0, asked, np.nan)
    return replace(log, signals={**log.signals, "position": Signal(time=log.time.copy(), values=only_first)})


def _mean_absolute(errors: np.ndarray) -> float:
    """Of what was recorded; NaN where nothing was."""
    seen = errors[np.isfinite(errors)]
    return float(np.mean(np.abs(seen))) if len(seen) else float("nan")


def run(fit: Fit, log: Log) -> Prediction:
    """Simulate a log from its start, which is read from the log itself, and what was asked; nothing else is
    fitted."""
    mounting = bench_numbers.new_mounting(fit.bench, log)
    log = as_found(fit, as_begun(log))
    actuator, _ = fitted_drive(fit.actuator, [log])
    late = bench_numbers.as_late(actuator, [log], fit.bench)
    how: dict[str, Any] = {"outputs": ("position",), "substeps": fit.substeps, "free_starts": True}
    p = problem(actuator, [log], FreeParameters(tuple(late)), **how)
    p = with_read_starts(p, p.first)
    (one,) = p.logs
    states = dict(zip(p.system.states, p.states(p.first)[0].T, strict=True))
    here = actuator.replace(**{path: v for path, v in one.settings.items() if path in actuator.parameters})
    here = bench_numbers.with_latency(here, fit.bench)
    delay = late[0].start if late else here.drive.delay
    inputs: dict[str, Any] = {}
    for name, asked in zip(p.system.inputs, one.inputs.T, strict=True):
        late_by = delay if delay and name.endswith("_target") else 0.0
        inputs[name] = Signal(time=one.time, values=asked).hold_at(log.time - late_by)
    told = {n: np.asarray(v) + np.zeros(len(log)) for n, v in signals(here, states, inputs).items()}
    return Prediction(
        log=log,
        role=role(fit, log.name),
        actuator=here,
        states=states,
        signals=told,
        error=_mean_absolute(states["position"] - log["position"]),
        stored={**fit.training, **fit.held_out}.get(log.name),
        remembered=next((one.mark for one in fit.logs if one.name == log.name), ""),
        posed=p,
        fit=fit,
        mounting=mounting,
    )


def predict(fit: Fit, log: Log) -> np.ndarray:
    """Simulated position on a log's samples, from its start and what was asked."""
    return run(fit, log).position


def predict_joint(motion: PredictedMotion, joint: str = "") -> Prediction:
    """Every state of one joint, which is simulated by itself on a bench that is all the others.

    Args:
        motion: of the recording, as `predict_logs` gives it.
        joint: the one joint of a bench is "".
    """
    if motion.recording is None:
        return run(motion.fit, motion.log)
    alone = joint_log(_recording_along(motion), motion.fit.robot, joint, {})
    found = run(motion.fit.joints[joint], alone)
    return replace(found, role=motion.role, together=motion, joint=joint)


def predict_logs(fit: Fit, logs: Sequence[Log]) -> list[PredictedMotion]:
    """Simulate logs from their starts and what was asked; nothing is fitted.

    Args:
        fit: of a bench's actuator, or of a robot's joints: these are simulated together.
        logs: read with the bench or the robot that was fitted. Where a robot touched something is found from
            all of them together.
    """
    if fit.robot is not None and fit.joints:
        robot = fit.robot
        logs, _ = without_echo(joints_of_motors(logs, robot), fit.actuators)
        unseen = [not has_positions(log) for log in logs]
        begun = [as_begun(log) if new else log for log, new in zip(logs, unseen, strict=True)]
        recordings = [recording_of(robot, log) for log in begun]
        seen = [one for one, new in zip(recordings, unseen, strict=True) if not new]
        marked, _, _ = with_contact(robot, seen, fit.actuators, fit.delays, robot.ground)
        rest = iter(marked)
        found = [one if new else next(rest) for one, new in zip(recordings, unseen, strict=True)]
        return [_of_robot(fit, robot, one, log) for one, log in zip(found, logs, strict=True)]
    return [run(fit, log).motion for log in logs]


def predict_motion(fit: Fit, log: Log, verb: str = "predict") -> PredictedMotion:
    """One log, as `predict_logs`; what `Fit.predict` gives.

    Args:
        fit: of a bench's actuator, or of a robot's joints.
        log: on what was fitted, with positions or without.
        verb: what was called, for errors.
    """
    if not hasattr(log, "signals"):
        wanted = f"expected one log: [fit.{verb}(log) for log in logs]"
        raise InvalidValue(f"{verb} was given a {type(log).__name__}; {wanted}")
    return predict_logs(fit, [log])[0]


def expected_error(fit: Fit, log: Log) -> ExpectedError:
    """How far off the prediction of a log is to be expected; what `Fit.expected_error` gives."""
    return predict_motion(fit, log, "expected_error").expected


def _hangs_elsewhere(fit: Fit, log: Log, mounting: tuple[float, float]) -> Finding:
    n = sum(one.path == "bench.hanging" for one in fit.bench)
    text = (
        f"{log.name} is of a mounting that was never fitted: its arm is taken to hang at"
        f" {mounting[0]:.3g} +- {mounting[1]:.2g} rad, as those of {n} fitted one{'s' * (n != 1)} do."
    )
    remedy = "state its angle (bench.hanging), or fit one short recording of it along"
    return finding("new_mounting", text, remedy, angle=mounting[0], deviation=mounting[1])


def _few_recordings(fit: Fit, name: str) -> list[Finding]:
    """That a band is by few recordings, where it is."""
    if fit.variation is None or not 0 < fit.variation.n_left_out < FEW:
        return []
    text = (
        f"the band of {name} is by {fit.variation.left_out}, alone: another may be twice as far off as so few"
        " have shown."
    )
    remedy = f"fit {FEW} recordings or more, of motions and rigs that differ"
    return [finding("few_recordings", text, remedy, recordings=fit.variation.n_left_out)]


def _of_bench(fit: Fit, prediction: Prediction) -> PredictedMotion:
    log, mounting = prediction.log, prediction.mounting
    findings = [] if mounting is None else [_hangs_elsewhere(fit, log, mounting)]
    findings += _few_recordings(fit, log.name) if prediction.role != "training" else ()
    whole = np.where(np.isfinite(log["position"]), log["position"], prediction.position)
    if prediction.role != "training" and np.isfinite(whole).all():
        moved = {**log.signals, "position": Signal(time=log.time, values=whole)}
        findings += of_prediction(fit, log.name, {"": demands_of(replace(log, signals=moved))})
    asked = {"": log["position_target"]} if "position_target" in log else {}
    return PredictedMotion(
        log=log,
        role=prediction.role,
        joints=("",),
        time=log.time,
        positions={"": prediction.position},
        recorded={"": log["position"]},
        asked=asked,
        touched=np.zeros(len(log), bool),
        fit=fit,
        mounting=mounting,
        findings=tuple(findings),
    )


def _of_robot(fit: Fit, robot: Robot, recording: RobotRecording, given: Log) -> PredictedMotion:
    motion, log = recording.motion, recording.log
    stretch = fit.stretch if has_positions(given) else 0.0
    how: dict[str, Any] = {"delays": fit.delays, "ground": robot.ground, "motion": motion}
    how["restarts"], said = restarts_every(motion.time, stretch), list[Finding]()
    q = simulate_joints(robot, fit.actuators, log, said=said, **how)
    named = [j for j in fit.joints if j in log.joints and "position_target" in log.joints[j]]
    made = PredictedMotion(
        log=given,
        role=role(fit, log.name),
        joints=tuple(fit.joints),
        time=motion.time,
        positions=dict(zip(robot.names, q.T, strict=True)),
        recorded=dict(zip(robot.names, motion.recorded.T, strict=True)),
        asked={j: log.joints[j].signals["position_target"].hold_at(motion.time) for j in named},
        touched=recording.touched,
        fit=fit,
        recording=recording,
        stretch=stretch,
        findings=tuple(said),
    )
    if made.role == "training" or not np.isfinite(q).all():
        return made
    asked = _recording_along(made).demands(robot, made.joints)
    few = _few_recordings(fit, log.name)
    return replace(made, findings=(*said, *few, *of_prediction(fit, log.name, asked)))


def band_of(motion: PredictedMotion) -> PredictionBand:
    """Where the recording of a predicted motion is to be expected.

    Args:
        motion: as `predict_logs` gives it.

    Returns:
        The band on the motion's clock, by joint.

    Raises:
        NotAvailable: the fit has none to give.
    """
    variation = variation_in(motion.fit)
    if motion.fit.stretch and not motion.stretch:
        raise NotAvailable(
            f"{motion.log.name} has no positions, and nothing holds joints that torque drives: bands are of"
            f" predictions over {motion.fit.stretch:g} s each from a recorded state; record it"
        )
    draws = [variation.by_joint(member) for member in variation.members]
    members = _draws_on_bench(motion, draws) if motion.recording is None else _draws_on_robot(motion, draws)
    return band_around({joint: motion.positions[joint] for joint in motion.joints}, members, variation)


def _draws_on_bench(motion: PredictedMotion, draws: Sequence[Mapping[str, Mapping[str, float]]]) -> Any:
    """By joint, (draws, samples): every draw on the bench, which may hang elsewhere if it was never
    fitted."""
    fit, log = motion.fit, motion.log
    numbers = [draw.get("", {}) for draw in draws]
    logs = [_with_numbers(log, own) for own in numbers]
    if motion.mounting is not None:
        mean, spread = motion.mounting
        angles = mean + spread * np.random.default_rng([fit.seed, 1]).standard_normal(len(logs))
        logs = [
            replace(one, bench=replace(one.bench, **{"hanging": float(a)}))  # pyright: ignore
            for one, a in zip(logs, angles, strict=True)
        ]
    actuator, _ = fitted_drive(fit.actuator, [log])
    late = bench_numbers.latency_of(fit.bench)
    delays = [own.get(DELAY, late) for own in numbers]
    p = _problem_apart(actuator, logs, delays, substeps=fit.substeps)
    return {"": np.array(p.predictions(p.first))}


def _with_numbers(log: Log, numbers: Mapping[str, float]) -> Log:
    """The log with other numbers of the actuator and its bench; the delay is the caller's."""
    bench = {path.partition(".")[2]: v for path, v in numbers.items() if path.startswith("bench.")}
    own = {path: v for path, v in numbers.items() if path != DELAY and not path.startswith("bench.")}
    carried = replace(log.bench, **bench) if bench and log.bench is not None else log.bench
    return replace(log, settings={**log.settings, **own}, bench=carried)


def _draws_on_robot(motion: PredictedMotion, draws: Sequence[Mapping[str, Mapping[str, float]]]) -> Any:
    """By joint, (draws, samples): every draw of each joint by itself, on a bench that is all the others, and
    as far from the joint as fitted as it is there."""
    fit, robot = motion.fit, motion.fit.robot
    recording = replace(_recording_along(motion), touched=np.zeros(len(motion.time), bool))
    actuator, logs, delays = next(iter(fit.actuators.values())), [], []
    again = restarts_every(motion.time, motion.stretch)
    for joint in motion.joints:
        own = {p: v for p, v in fit.actuators[joint].parameters.items() if p != DELAY}
        alone = joint_log(recording, robot, joint, own)
        late = fit.delays.get(joint)
        for numbers in ({}, *(draw.get(joint, {}) for draw in draws)):
            logs.append(_with_numbers(alone, numbers))
            delays.append(numbers.get(DELAY, late))
    each = len(draws) + 1
    labels = [(joint, recording.log.name) for joint in motion.joints for _ in range(each)]
    how: dict[str, Any] = {"labels": labels, "starts": fit.actuators, "substeps": fit.substeps}
    p = _problem_apart(actuator, logs, delays, **how)
    p = shoot(p, robot, [recording], motion.stretch) if motion.stretch else p
    runs = p.predictions(p.first)
    found = {}
    for k, joint in enumerate(motion.joints):
        middle, *others = runs[k * each : (k + 1) * each]
        clock = logs[k * each].time
        moved = np.array([np.interp(motion.time, clock, other - middle) for other in others])
        moved[:, again] = moved[:, np.array(again, int) - 1]  # still of the stretch before
        found[joint] = motion.positions[joint] + moved
    return found


def _recording_along(motion: PredictedMotion) -> RobotRecording:
    """A robot's recording; where no position was recorded, along the predicted ones."""
    if has_positions(motion.log):
        return motion.recording
    joints = {
        name: replace(
            one, signals={**one.signals, "position": Signal(time=motion.time, values=motion.positions[name])}
        )
        for name, one in motion.log.joints.items()
    }
    return recording_of(motion.fit.robot, replace(motion.log, joints=joints))


def _problem_apart(
    actuator: Actuator, logs: Sequence[Log], delays: Sequence[float | None], **how: Any
) -> Problem:
    """Logs with positions to predict, each with numbers and a delay of its own."""
    step = bench_numbers.median_step(logs[:1])
    late = bench_numbers.latency(step, actuator.drive.delay or 0.0)
    rows = [
        replace(late, start=delay, low=delay - step, high=delay + step, logs=(k,), group=str(k))
        for k, delay in enumerate(delays)
        if delay is not None
    ]
    return problem(actuator, logs, FreeParameters(tuple(rows)), outputs=("position",), **how)
