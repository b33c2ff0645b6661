"""The results of a robot's fit: how far all joints together are from recordings, one fit of each joint, the
whole, what the way of simulating does to the errors of its numbers, and what stands against them."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine.rows import DELAY
from ...findings import Finding, finding
from ...logs.log import Log
from ...logs.robot import Ground, Robot
from ...mujoco.robot.contact import stretches, unexplained_torque
from ...mujoco.robot.joint_simulation import LONGEST_STEP, simulate_joints
from ...mujoco.robot.robot_motion import restarts_every
from ...physics.joint_law import JointLaw
from ...results.fit_result import BenchNumber, Fit, FittedParameter, Score
from ..fit_numbers import absolute_errors, correlation_of, fit_of, fitted_numbers, mean_by_log, of_search
from ..holdout import extrapolations
from ..parameters import Parameter
from ..uncertainty import ErrorTerm, Uncertainty, bounded_normal, follow_starts, inverse
from .inertia import on_parts, robot_numbers
from .plant import Judgement, Optimum, StartResult
from .recordings import RobotRecording, first_part, held_samples, why_no_ground

if TYPE_CHECKING:
    from .robot_plant import RobotPlant


def score_of(
    optimum: Optimum[RobotPlant],
    recordings: Sequence[RobotRecording],
    held_out: bool,
    step: float | None,
    fit: Fit | None = None,
) -> Score:
    """The coupled simulation against recordings.

    Args:
        optimum: whose actuators and ground are simulated.
        recordings: of the same robot.
        held_out: whether no number was fitted to them.
        step: the longest of the simulation [s].
        fit: whose actuators and delays are simulated instead.

    Returns:
        How far off it is; infinite where it runs away.
    """
    robot, ground = optimum.plant.robot, optimum.plant.ground
    acts, delays = (optimum.actuators, optimum.delays) if fit is None else (fit.actuators, fit.delays)
    how: dict[str, Any] = {"delays": delays, "ground": ground, "step": LONGEST_STEP if step is None else step}
    stretch, runs = optimum.plant.stretch, []
    for recording in recordings:
        again = restarts_every(recording.motion.time, stretch)
        motion = recording.motion
        runs.append(simulate_joints(robot, acts, recording.log, motion=motion, restarts=again, **how))
    score = score_runs(robot, [*acts], recordings, runs, held_out=held_out)
    return replace(score, stretch=stretch, force=force_errors(optimum, recordings)) if stretch else score


def force_errors(optimum: Optimum[RobotPlant], recordings: Sequence[RobotRecording]) -> dict[str, float]:
    """What inverse dynamics leaves of the recorded torques, by joint: ||tau - model|| / ||tau||, as
    identification of robots states it (Swevers, Verdonck and De Schutter 2007; Gautier).

    Args:
        optimum: whose actuators explain the torques.
        recordings: of the same robot, with torques as commands.

    Returns:
        Shares; samples in contact do not count.
    """
    robot, delays, found = optimum.plant.robot, optimum.delays, {}
    for joint, actuator in optimum.actuators.items():
        j, left, whole = robot.place(joint), 0.0, 0.0
        for one in recordings:
            log, late = one.log.joints[joint], delays.get(joint, 0.0)
            rest, _, _ = unexplained_torque(actuator, log, late, one.motion, one.carried, j)
            asked = log.signals["torque_target"].hold_at(one.motion.time - late)
            free = ~one.touched & np.isfinite(rest) & np.isfinite(asked)
            left, whole = left + float(np.sum(rest[free] ** 2)), whole + float(np.sum(asked[free] ** 2))
        found[joint] = math.sqrt(left / max(whole, 1e-300))
    return found


def score_runs(
    robot: Robot,
    names: Sequence[str],
    recordings: Sequence[RobotRecording],
    runs: Sequence[np.ndarray],
    *,
    held_out: bool,
) -> Score:
    """Positions of all joints along recordings against what was recorded of some.

    Args:
        robot: its model.
        names: of the joints that are compared.
        recordings: of the robot.
        runs: of each recording, the positions (samples, joints) [rad or m].
        held_out: whether no number was fitted to them.

    Returns:
        How far off they are; infinite where a run is not finite.
    """
    places = [robot.place(name) for name in names]
    squares = np.zeros((3, len(places)))
    count = np.zeros((3, len(places)))
    logs = {}
    touched = 0
    for recording, q in zip(recordings, runs, strict=True):
        error = (q - recording.motion.recorded)[:, places] ** 2
        error = np.where(np.isfinite(recording.motion.recorded[:, places]), error, np.nan)
        lost = ~np.isfinite(q[:, places])
        error[lost] = np.inf
        logs[recording.log.name] = float(np.sqrt(np.nanmean(error)))
        held = np.stack([held_samples(recording, *one) for one in zip(places, names, strict=True)], axis=1)
        whole = np.ones_like(held)
        for row, kept in enumerate((whole, whole & ~recording.touched[:, None], held)):
            squares[row] += np.nansum(np.where(kept, error, 0.0), axis=0)
            count[row] += np.sum(kept & np.isfinite(recording.motion.recorded[:, places]), axis=0)
        touched += int(recording.touched.sum())
    every, free, held = np.sqrt(squares / np.maximum(count, 1))
    return Score(
        rms=float(np.sqrt(np.sum(squares[0]) / np.sum(count[0]))),
        rms_free=float(np.sqrt(np.sum(squares[1]) / max(np.sum(count[1]), 1))),
        held_out=held_out,
        joints=dict(zip(names, map(float, every), strict=True)),
        logs=logs,
        joints_free=dict(zip(names, map(float, free), strict=True)),
        joints_held={name: float(held[k]) for k, name in enumerate(names) if count[2, k] > 0},
        share_touched=touched / sum(len(recording.motion.time) for recording in recordings),
    )


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
            _stated_number(q, "", values[k], float(errors[k]), p.recordings)
            for k, q in rows
            if q.path == DELAY
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


def _stated_number(q: Parameter, group: str, value: float, error: float, logs: Sequence[str]) -> BenchNumber:
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
    """The fit of all joints.

    Args:
        optimum: where the search came to rest.
        judgement: on the recordings held out, or on those that were fitted.
        uncertainties: of x there.

    Returns:
        The fit, with one of each joint in it.
    """
    p, x, plant = optimum.problem, optimum.x, optimum.plant
    joints = joint_fits(optimum, judgement, uncertainties)
    fitted = fitted_numbers(p, x, uncertainties)
    own = [k for k, q in enumerate(p.free.parameters) if not q.beside]
    named: dict[str, FittedParameter] = {
        _name_of(p.free.parameters[k]): fitted[p.free.parameters[k].name] for k in own
    }
    bench = tuple(replace(b, group=joint) for joint, one in joints.items() for b in one.bench)
    first = next(iter(joints.values()))
    findings = (
        *plant.findings,
        *of_falls([*plant.recordings, *plant.held_out]),
        *of_contact(optimum, judgement.recordings),
        *of_profile(plant),
        *optimum.findings,
        *of_scale(optimum, joints),
        *of_torque(judgement.score),
        *of_followed(optimum),
        *of_demands(plant),
        *of_joints(joints),
        *of_search(False, optimum.found.interrupted, uncertainties.positive),
    )
    return replace(
        first,
        parameters=named,
        training=mean_by_log(joints, "training"),
        held_out=mean_by_log(joints, "held_out"),
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


FINER = 3
"""How many times finer the step is that the found numbers are held against."""


def step_terms(s: Optimum[RobotPlant]) -> Iterator[ErrorTerm]:
    """Errors that hold for a step of nothing: with a step n times finer the optimum lies d away, by one step
    of Gauss and Newton; what a step does grows with it, so that all of it is n / (n - 1) d."""
    p, x = s.problem, s.x
    finer = copy.copy(p)
    finer.substeps = p.substeps * FINER
    A, g = bounded_normal(finer, x, s.robust)
    # the optimum with the own step is not exactly met: only the change of the gradient is the step's
    move = -np.linalg.solve(A, g - bounded_normal(p, x, s.robust)[1]) * FINER / (FINER - 1)
    move = _within_prior(move, p.free.precision)
    yield ErrorTerm(np.outer(move, move), if_right=True)


def _within_prior(move: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """A shift of the optimum that is no larger in any number than its prior, where it has one: far from there
    one step of Gauss and Newton says nothing."""
    prior = 1.0 / np.sqrt(np.maximum(np.diag(precision), 1e-300))
    return np.clip(np.nan_to_num(move), -prior, prior)


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
    parts = [first_part(recording, SECONDS / len(recordings)) for recording in recordings]
    p, x = on_parts(s, parts)
    if [q.name for q in p.free.parameters] != [q.name for q in s.problem.free.parameters]:
        return  # a part has no sample of some joint
    p.sigma = np.full((len(p.logs), 1), float(np.median(s.problem.sigma)))
    errors, tangents = p.bounded_sensitivities(x)
    tangents, belief, *_ = follow_starts(p, tangents, np.ones_like(errors), np.zeros_like(errors))
    there = {}
    for part in parts:
        again = [b for _, b in stretches(part.touched) if b < len(part.motion.time)]
        again += restarts_every(part.motion.time, s.plant.stretch)
        q = simulate_joints(
            robot,
            acts,
            part.log,
            delays=delays,
            ground=s.plant.ground,
            restarts=again,
            motion=part.motion,
            step=STEP,
        )
        there[part.log.name] = (part.motion.time, q)
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
    A = p.gather(np.array(H) + belief, x) + p.free.precision
    shift = _within_prior(-np.linalg.solve(A, p.scores(np.array(scores), x).sum(axis=0)), p.free.precision)
    yield ErrorTerm(np.outer(shift, shift), if_right=False)


TELLS = 0.15
"""Relative error of the stiffness up to which a joint's own recordings tell it."""
COLLAPSED = 2.0
"""Factor between the stiffnesses of equal servos from which on their scale has collapsed."""
FALLEN, LOST, LASTING = 10.0, 0.3, 1.0
"""Errors [usual ones; rad] beyond which, and time [s] for which, a joint no longer does what it is told."""
NOT_FOLLOWED = 3.0
"""How much worse than usual a recording is followed that is named."""


def of_profile(plant: RobotPlant) -> Iterator[Finding]:
    """Where commands ask for more than the firmware's profile lets them."""
    most, rows, n_left, n = plant.most_demand, [], 0, 0
    beyond = [plant.left_out(joint) for joint in plant.joints]
    for one in plant.recordings:
        left = [masks[one.log.name] for masks in beyond if one.log.name in masks]
        share = float(np.mean(left)) if left else 0.0
        n_left, n = n_left + sum(int(x.sum()) for x in left), n + sum(map(len, left))
        rows += [f"{one.log.name} ({100 * share:.0f} %)"] if share else []
    if not rows:
        return
    text = (
        f"{100 * n_left / n:.0f} % of the samples lie around commands that ask for more than"
        f" {most:.3g} rad/s^2, the firmware's own profile: they are not fitted: {', '.join(rows)}."
    )
    yield finding(
        "command_beyond_profile", text, "command smoother motions where they shall count", share=n_left / n
    )


def of_contact(s: Optimum[RobotPlant], unseen: Sequence[RobotRecording]) -> Iterator[Finding]:
    """Where the robot touched something."""
    touching = [one for one in (*s.plant.recordings, *unseen) if one.touched.any()]
    if not touching:
        return
    rows, seconds = [], 0.0
    for one in touching:
        t = one.motion.time
        found = stretches(one.touched)
        spent = sum(float(t[min(b, len(t) - 1)] - t[a]) for a, b in found)
        shown = ", ".join(f"{t[a]:.1f} to {t[b - 1]:.1f} s" for a, b in found[:3])
        rows.append(f"{one.log.name} ({spent:.1f} s: {shown}{', ...' if len(found) > 3 else ''})")
        seconds += spent
    total = sum(float(one.motion.time[-1] - one.motion.time[0]) for one in (*s.plant.recordings, *unseen))
    ground = s.plant.ground
    numbers = {"share": seconds / total}
    if ground is None:
        why = why_no_ground(s.plant.robot, s.plant.recordings, s.actuators, s.delays)
        why = why or "the simulation comes nearer to the recordings without the plane that they show"
        where = f"no ground was put there, because {why}"
    else:
        message = "as told" if not ground.error else f"found to {1e3 * ground.error:.2g} mm"
        where = f"the ground there is at {1e3 * ground.height:.3g} mm{_slope_words(ground)} ({message})"
        numbers |= {"height": ground.height, "error": ground.error}
    text = (
        f"the robot touches something for {100 * seconds / total:.0f} % of the time; {where}; those samples"
        f" are not fitted: {'; '.join(rows)}."
    )
    remedy = "record in the air, or give the height of the table where it is known (ground=)"
    logs = tuple(one.log.name for one in touching)
    yield replace(finding("contact", text, remedy, **numbers), logs=logs)


def _slope_words(ground: Ground) -> str:
    slopes = (("x", ground.x_slope), ("y", ground.y_slope))
    tilted = [f"{1e3 * slope:.0f} mm per metre of {axis}" for axis, slope in slopes if abs(slope) > 1e-3]
    return f", rising {' and '.join(tilted)}" if tilted else ""


def of_falls(recordings: Sequence[RobotRecording]) -> Iterator[Finding]:
    """Recordings at whose end most joints stand far from what was asked: the robot fell, or was switched
    off."""
    for one in recordings:
        t = one.motion.time
        far = []
        for log in one.log.joints.values():
            if "position" not in log or "position_target" not in log:
                continue
            asked = log.signals["position_target"].hold_at(t)
            error = np.abs(np.nan_to_num(log.signals["position"].hold_at(t) - asked))
            usual = float(np.median(error[: len(t) // 2]))
            far.append(error > max(FALLEN * usual, LOST))
        if not far:
            continue
        most = np.mean(far, axis=0) > 0.5
        begin = len(t) - int(np.argmin(most[::-1])) if not most.all() else 0
        if begin < len(t) and t[-1] - t[begin] > LASTING:
            text = (
                f"in {one.log.name} most joints stand far from what was asked from {t[begin]:.1f} s to the"
                " end: the robot fell, or its motors were off."
            )
            remedy = f"cut the log there: log.between(0, {t[begin]:.1f})"
            yield finding("fell", text, remedy, begin=float(t[begin]))


def of_inertia(stated: Score, score: Score) -> tuple[Finding, ...]:
    """Whether all joints together are nearer to the recordings with the robot's own numbers found."""
    before, after = 1e3 * stated.rms_free, 1e3 * score.rms_free
    numbers = {"before": stated.rms_free, "after": score.rms_free}
    if score.rms_free <= stated.rms_free:
        return ()
    text = (
        f"with masses and zeros free all joints together are {after:.3g} mrad from the fitted recordings, as"
        f" stated {before:.3g}: they take up what the model of the actuators lacks."
    )
    return (
        finding(
            "inertia_not_believed", text, "leave --free-inertia away, or give a smaller share", **numbers
        ),
    )


def of_scale(s: Optimum[RobotPlant], joints: Mapping[str, Fit]) -> Iterator[Finding]:
    """Which joints tell how strong the motor is, and which borrow it; and stiffnesses that cannot be of equal
    servos."""
    stiffness = {name: _stiffness(fit) for name, fit in joints.items()}
    for group, members in s.plant.groups.items():
        known = {m: k for m in members if (k := stiffness[m])}
        if len(known) > 1 and max(known.values()) > COLLAPSED * min(known.values()):
            low, high = min(known, key=lambda m: known[m]), max(known, key=lambda m: known[m])
            text = (
                f"the servos of {group} are alike, but their stiffness runs from {known[low]:.3g} ({low}) to"
                f" {known[high]:.3g} N m/rad ({high}): where gravity is slight, the scale of all torques of a"
                " joint is free."
            )
            yield finding("scale_collapse", text, 'let them share a motor: share=["motor"]', **known)
    yield from _of_borrowers(scale_errors(s))


def _of_borrowers(errors: Mapping[str, float]) -> Iterator[Finding]:
    """Joints that tell how strong their motor is, and those that do not, by the relative error of that."""
    if len(errors) > 1:
        tell = [name for name, e in errors.items() if e <= TELLS]
        borrow = [name for name in errors if name not in tell]
        if tell and borrow:
            text = (
                f"{', '.join(tell)} tell how strong the motor is; {', '.join(borrow)} borrow it: their own"
                f" recordings would leave it open to {100 * min(errors[n] for n in borrow):.0f} % or more."
            )
            yield finding("scale_borrowed", text, "nothing, where their servos are equal", **errors)
        elif borrow:
            text = "no joint tells how strong its motor is: gravity and inertia move them too little."
            remedy = "lift against gravity, hold a known weight, or trust the sheet that was given as prior"
            yield finding("scale_open", text, remedy, **errors)


def _stiffness(fit: Fit) -> float | None:
    """Torque at the joint for a radian of error, near rest [N m/rad]."""
    loop = fit.actuator.drive.loop
    if loop is None or loop.of != "position" or loop.effort != "V":
        return None
    return JointLaw.of(fit.actuator).stiffness


def scale_errors(s: Optimum[RobotPlant]) -> dict[str, float]:
    """Relative error of a common factor on all torques of a joint, by its recordings alone; by joint."""
    p, x = s.problem, s.x
    paths = list(p.free.paths)
    if "motor.torque_constant" not in paths:
        return {}
    JtJ, _, _ = p.normal_of_logs(x, 0.0, s.robust)
    values, k = list(p.values(x).values()), paths.index("motor.torque_constant")
    # K and R scale one another: one of them stays
    width = np.array([1e-3 if path == "motor.resistance" else 1.0 for path in paths])
    found = {}
    for joint in p.joints:
        mine = p.places_of(joint)
        H = JtJ[[k for k in mine if np.isfinite(JtJ[k]).all()]].sum(axis=0)
        size = np.array([abs(values[i]) if i >= 0 else 1.0 for i in p.index[mine[0]]])
        size = np.maximum(size, 1e-12)
        H = H * np.outer(size, size)  # relative changes
        error = inverse(H + np.diag(1.0 / width**2))
        found[joint] = float(np.sqrt(error[k, k]))
    return found


def of_demands(plant: RobotPlant) -> list[Finding]:
    """Recordings that judge and ask for more torque or speed of a joint than those fitted: the joint of which
    they ask the most."""
    found, both = [], (plant.recordings, plant.held_out)
    each = [{one.log.name: one.demands(plant.robot, plant.joints) for one in some} for some in both]
    for joint in plant.joints if plant.held_out else ():
        asked = [{f"{name}/{joint}": by[joint] for name, by in some.items() if joint in by} for some in each]
        found += extrapolations(*asked, motion=plant.robot.joint(joint).motion)
    return sorted(found, key=lambda f: -max(f.numbers.values()))[:1]


def of_torque(score: Score | None) -> Iterator[Finding]:
    """Joints that nothing holds: what the score means then."""
    if score is None or not score.force:
        return
    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in score.force.items())
    text = (
        f"torque is the command and nothing holds the joints: positions are predicted over {score.stretch:g}"
        f" s each from the recorded state, {1e3 * score.rms:.3g} mrad off; inverse dynamics leaves of the"
        f" recorded torques: {shares}."
    )
    remedy = (
        "compare these with others' force errors; for whole motions fit with the gains of whoever held it"
    )
    yield finding("torque_driven", text, remedy, stretch=score.stretch, rms=score.rms, **score.force)


def of_followed(s: Optimum[RobotPlant]) -> Iterator[Finding]:
    """Recordings that are followed much worse than the others."""
    rms = _rms_by(s.problem.recordings, s.problem.position_errors(s.x))
    usual = float(np.median(list(rms.values())))
    for of, error in rms.items():
        if error > NOT_FOLLOWED * usual and len(rms) > 2:
            text = (
                f"{of} is followed to {1e3 * error:.3g} mrad, the others to {1e3 * usual:.3g}: it counts"
                " little in the fit."
            )
            remedy = "look for a limit of the firmware's own that it asks beyond: of acceleration, or speed"
            yield finding("not_followed", text, remedy, error=error, usual=usual)


def of_joints(joints: Mapping[str, Fit]) -> Iterator[Finding]:
    """Numbers that the recordings do not tell, in one sentence."""
    open_ = [
        f"{name}.{path}"
        for name, fit in joints.items()
        for path, q in fit.parameters.items()
        if q.told_by == "prior"
    ]
    open_ = list(dict.fromkeys(open_))
    if open_:
        shown = ", ".join(open_[:8]) + (f" and {len(open_) - 8} more" if len(open_) > 8 else "")
        text = f"these recordings hardly tell {shown}."
        yield finding(
            "not_identifiable", text, "take a simpler friction, or record what separates them", n=len(open_)
        )


def _rms_by(labels: Sequence[str], errors: Sequence[np.ndarray]) -> dict[str, float]:
    """Root mean square of errors by what their logs are labelled: joints, or recordings."""
    squares: dict[str, list[np.ndarray]] = {}
    for label, e in zip(labels, errors, strict=True):
        squares.setdefault(label, []).append(e**2)
    return {label: float(np.sqrt(np.nanmean(np.concatenate(parts)))) for label, parts in squares.items()}


def of_reading(logs: Sequence[Log]) -> list[Finding]:
    """What reading said of all logs, once."""
    seen: dict[tuple[str, str], Finding] = {}
    for log in logs:
        for f in log.findings:
            seen.setdefault((f.code, f.text), f)
    return list(seen.values())
