"""The results of a robot's fit: how far all joints together are from recordings, one fit of each joint, the
whole, and what the way of simulating does to the errors of its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...engine.rows import DELAY
from ...logs.robot import Robot
from ...mujoco.robot.contact import stretches
from ...mujoco.robot.coupled import LONGEST_STEP, coupled
from ...results.fit import BenchNumber, Fit, Fitted, Score
from ..fit_numbers import correlation_of, fit_of, fitted_numbers, of_search
from ..parameters import Parameter
from ..problem import Problem
from ..uncertainty import ErrorTerm, Uncertainty
from . import robot_findings
from .inertia import on_parts, robot_numbers
from .plant import Judgement, Optimum, StartResult
from .recordings import RobotRecording, first_part

if TYPE_CHECKING:
    from .robot import RobotPlant


def score_of(
    optimum: Optimum[RobotPlant], recordings: Sequence[RobotRecording], held_out: bool, step: float | None
) -> Score:
    """The coupled simulation against recordings; where it runs away the score is infinite.

    Args:
        optimum: whose actuators and ground are simulated.
        recordings: of the same robot.
        held_out: whether no number was fitted to them.
        step: the longest of the simulation [s].
    """
    robot, ground, acts, delays = optimum.plant.robot, optimum.plant.ground, optimum.actuators, optimum.delays
    longest = LONGEST_STEP if step is None else step
    runs = [
        coupled(robot, acts, one.log, delays=delays, ground=ground, motion=one.motion, step=longest)
        for one in recordings
    ]
    return score_runs(robot, [*acts], recordings, runs, held_out=held_out)


def score_runs(
    robot: Robot,
    names: Sequence[str],
    recordings: Sequence[RobotRecording],
    runs: Sequence[np.ndarray],
    *,
    held_out: bool,
) -> Score:
    """Positions of all joints along recordings, (samples, joints) each, against what was recorded of these
    joints."""
    places = [robot.place(name) for name in names]
    squares = np.zeros((2, len(places)))
    count = np.zeros((2, len(places)))
    logs = {}
    touched = 0
    for one, q in zip(recordings, runs, strict=True):
        error = (q - one.motion.recorded)[:, places] ** 2
        error = np.where(np.isfinite(one.motion.recorded[:, places]), error, np.nan)
        lost = ~np.isfinite(q[:, places])
        error[lost] = np.inf
        logs[one.log.name] = float(np.sqrt(np.nanmean(error)))
        for row, kept in enumerate((np.ones(len(q), bool), ~one.touched)):
            squares[row] += np.nansum(error[kept], axis=0)
            count[row] += np.sum(np.isfinite(one.motion.recorded[kept][:, places]), axis=0)
        touched += int(one.touched.sum())
    every, free = (np.sqrt(squares[k] / np.maximum(count[k], 1)) for k in (0, 1))
    return Score(
        rms=float(np.sqrt(np.sum(squares[0]) / np.sum(count[0]))),
        rms_free=float(np.sqrt(np.sum(squares[1]) / max(np.sum(count[1]), 1))),
        held_out=held_out,
        joints=dict(zip(names, map(float, every), strict=True)),
        logs=logs,
        joints_free=dict(zip(names, map(float, free), strict=True)),
        share_touched=touched / max(sum(len(one.motion.time) for one in recordings), 1),
    )


def absolute_errors(p: Problem, errors: Sequence[np.ndarray], joint: str) -> dict[str, float]:
    """Mean absolute error of one joint's position by recording [rad or m]."""
    return {p.logs[k].recording: float(np.nanmean(np.abs(errors[k]))) for k in p.places_of(joint)}


def errors_alone(
    optimum: Optimum[RobotPlant], held_out: Sequence[RobotRecording]
) -> dict[str, dict[str, float]]:
    """Mean absolute errors of each joint alone on recordings that were not fitted, by joint and recording."""
    q = replace(optimum.plant, recordings=held_out).problem(optimum.problem.substeps)
    errors = q.position_errors(q.x_from(optimum.values))
    return {joint: absolute_errors(q, errors, joint) for joint in q.joints}


def joint_fits(
    optimum: Optimum[RobotPlant], judgement: Judgement, uncertainties: Uncertainty
) -> dict[str, Fit]:
    """A fit of each joint: its own numbers and those that it shares."""
    p, x = optimum.problem, optimum.x
    fitted = fitted_numbers(p, x, uncertainties)
    T = p.free.slopes(x)
    errors = np.sqrt(np.maximum(np.diag(T @ uncertainties.covariance @ T.T), 1e-300))
    values, seen, end = list(p.values(x).values()), p.position_errors(x), optimum.end
    mae = float(np.nanmean(np.abs(np.concatenate(seen))))
    start = StartResult({}, end.cost, mae, end.ended, end.n_evaluations)
    fits = {}
    for joint, actuator in optimum.actuators.items():
        rows = [(k, p.free.parameters[k]) for k in p.numbers_of(joint)]
        own = [k for k, q in rows if not q.beside]
        bench = [
            _stated(q, "", values[k], float(errors[k]), p.recordings) for k, q in rows if q.path == DELAY
        ]
        fits[joint] = fit_of(
            optimum,
            actuator,
            {p.free.parameters[k].path: fitted[p.free.parameters[k].name] for k in own},
            correlation_of(p, x, uncertainties, own),
            training=absolute_errors(p, seen, joint),
            held_out=judgement.errors.get(joint, {}),
            findings=(),
            starts=(start,),
            seed=optimum.plant.options.seed,
            bench=tuple(bench),
        )
    return fits


def _stated(q: Parameter, group: str, value: float, error: float, logs: Sequence[str]) -> BenchNumber:
    return BenchNumber(
        path=q.path,
        group=group,
        stated=q.prior[0],
        tolerance=q.prior[1],
        value=value,
        error=error,
        unit=q.unit,
        logs=tuple(dict.fromkeys(logs)),
    )


def robot_fit(optimum: Optimum[RobotPlant], judgement: Judgement, uncertainties: Uncertainty) -> Fit:
    """The fit of all joints."""
    p, x, plant = optimum.problem, optimum.x, optimum.plant
    joints = joint_fits(optimum, judgement, uncertainties)
    fitted = fitted_numbers(p, x, uncertainties)
    own = [k for k, q in enumerate(p.free.parameters) if not q.beside]
    named: dict[str, Fitted] = {
        _name_of(p.free.parameters[k]): fitted[p.free.parameters[k].name] for k in own
    }
    bench = tuple(replace(b, group=joint) for joint, one in joints.items() for b in one.bench)
    first = next(iter(joints.values()))
    findings = (
        *plant.findings,
        *robot_findings.of_falls([*plant.recordings, *plant.held_out]),
        *robot_findings.of_contact(optimum, judgement.recordings),
        *optimum.findings,
        *robot_findings.of_scale(optimum, joints),
        *robot_findings.of_followed(optimum),
        *robot_findings.of_joints(joints),
        *of_search(guessed=False, interrupted=optimum.found.interrupted),
    )
    return replace(
        first,
        parameters=named,
        training=_mean_by_log(joints, "training"),
        held_out=_mean_by_log(joints, "held_out"),
        correlation=correlation_of(p, x, uncertainties, own),
        bench=(*bench, *robot_numbers(optimum, uncertainties.covariance)),
        joints=joints,
        score=judgement.score,
        robot=plant.robot.on(plant.ground),
        findings=findings,
    )


def _name_of(parameter: Parameter) -> str:
    """A parameter as it is called on a robot: `elbow_flex.friction.coulomb`, `motor.resistance`."""
    return f"{parameter.group}.{parameter.path}" if parameter.group else parameter.path


def _mean_by_log(joints: Mapping[str, Fit], which: str) -> dict[str, float]:
    """Mean absolute error over the joints, by recording."""
    rows: dict[str, list[float]] = {}
    for fit in joints.values():
        for log, error in getattr(fit, which).items():
            rows.setdefault(log, []).append(error)
    return {log: float(np.mean(errors)) for log, errors in rows.items()}


FINER = 3
"""How many times finer the step is that the found numbers are held against."""


def step_terms(s: Optimum[RobotPlant]) -> Iterator[ErrorTerm]:
    """Errors that hold for a step of nothing: with a step n times finer the optimum lies d away, by one step
    of Gauss and Newton; what a step does grows with it, so that all of it is n / (n - 1) d."""
    p, x = s.problem, s.x
    fine = p.substeps * FINER
    H, g, cost = p.normal(x, 0.0, s.robust, fine)
    _, there, _ = p.normal(x, 0.0, s.robust, p.substeps)
    if not np.isfinite(cost) or not np.isfinite(H).all():
        return
    # the optimum with the own step is not exactly met: only the change of the gradient is the step's
    move = -np.linalg.solve(H + p.free.precision, g - there) * FINER / (FINER - 1)
    yield ErrorTerm(np.outer(move, move), if_right=True)


SECONDS = 60.0
"""Of all recordings together that are simulated for it."""
STEP = 2e-3
"""Longest step of that simulation [s]."""
FAR = 3.0
"""Scatters between both simulations beyond which one of them stuck where the other slipped: no slope tells
of that."""


def coupling_terms(s: Optimum[RobotPlant]) -> Iterator[ErrorTerm]:
    """Errors that hold for all joints together: the shift of the optimum, by one step of Gauss and Newton, is
    one more error of every number."""
    robot, recordings = s.plant.robot, s.plant.recordings
    acts, delays = s.actuators, s.delays
    parts = [first_part(one, SECONDS / len(recordings)) for one in recordings]
    p, x = on_parts(s, parts)
    if [q.name for q in p.free.parameters] != [q.name for q in s.problem.free.parameters]:
        return  # a part has no sample of some joint
    p.sigma = np.full((len(p.logs), 1), float(np.median(s.problem.sigma)))
    errors, tangents = p.sensitivities(x)
    there = {}
    for one in parts:
        again = [b for _, b in stretches(one.touched) if b < len(one.motion.time)]
        q = coupled(
            robot,
            acts,
            one.log,
            delays=delays,
            ground=s.plant.ground,
            restarts=again,
            motion=one.motion,
            step=STEP,
        )
        there[one.log.name] = (one.motion.time, q)
    H, scores = [], []
    for k, log in enumerate(p.logs):
        rows = slice(int(p.offsets[k]), int(p.offsets[k + 1]))
        t, q = there[log.recording]
        own = np.interp(log.log.time, t, q[:, robot.place(log.joint)])
        sigma = float(p.sigma[k, 0])
        apart = (own - log.measured[log.samples, 0]) / sigma - errors[rows, 0]
        J = tangents[rows, 0]
        good = np.isfinite(apart) & (np.abs(apart) < FAR * np.nanstd(apart) + 1e-12)
        H.append(J[good].T @ J[good])
        scores.append(J[good].T @ apart[good])
    A = p.gathered(np.array(H), x) + p.free.precision
    shift = -np.linalg.solve(A, p.scores(np.array(scores), x).sum(axis=0))
    yield ErrorTerm(np.outer(shift, shift), if_right=False)
