"""A robot: joints that carry each other. Each is fitted by itself, along the recorded motion of the others;
all are judged together, by MuJoCo. Equal servos share their motor, and each joint has its friction."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...datasheets.datasheet import Datasheet
from ...engine.rows import DELAY
from ...errors import InvalidValue, UnknownName
from ...findings import Finding
from ...logs.log import Log
from ...logs.robot import Ground, Robot
from ...physics.actuator import Actuator
from ...results.fit_result import Fit
from .. import bench_numbers as numbers
from ..fit_numbers import absolute_errors, mean_by_log
from ..fit_options import FitOptions
from ..frictions import above, with_friction
from ..holdout import LATTER, divide
from ..optimize import Stage
from ..parameters import (
    OWN,
    FreeParameters,
    Parameter,
    default_paths,
    free,
    give_sizes,
    possible,
    priors,
    sheet_or_numbers,
    with_absent,
    with_registers,
)
from ..play import OF_TEETH, PLAY, with_plays
from ..problem import Problem, problem
from ..uncertainty import ErrorTerm, Uncertainty, correlation_time
from . import robot_result
from .inertia import PREFIX, free_inertia, on_parts, wanted_unknowns
from .plant import Judgement, Optimum, Plant, Schedule, SearchResult, Weights
from .recordings import (
    STRETCH,
    RobotRecording,
    demanding,
    first_part,
    joint_log,
    recording_of,
    refine_ground,
    shoot,
    with_contact,
)
from .robot_result import coupling_terms, step_terms
from .starts import joint_and_path, starts, without_echo

COARSE = 7e-3
"""Step of the search [s]; the optimum is settled with half of it at most."""
FIRST_ERROR = 5e-3
"""Scatter that errors are taken to have before any is seen [rad]."""
FIRST_ALIKE = 50.0
"""Samples that count as one before any error is seen: a model's errors last."""
SHIFTS = (0, -1, 1, 2, 3, 4, 5, 6)
"""Samples by which commands may count late at the start."""
LAST_STAGE = Stage(most=15, tolerance=1e-3, damping=1e-4)
GEARED = "m4"
FEWEST_SAMPLES = 20
"""Of a joint in a recording, below which they are none."""
FEWEST = 4
"""Motions above which the one with the most torque is left out of a choice too."""
SHARE_OF_INERTIA = 0.2
"""Of what a joint carries, as the start of an armature that nobody states."""


OF_PLAY = 60.0
"""Seconds of all recordings together in which play is looked for."""
STILL = 1e-3
"""Targets that differ by less ask for nothing [rad]."""


def _rough(bandwidth: float, most: int) -> Stage:
    return Stage(bandwidth, most=most, tolerance=2e-3, longest=COARSE)


SCHEDULE = Schedule(
    stages=(_rough(20.0, 15),),
    after_contact=(_rough(20.0, 8), _rough(6.0, 12), _rough(2.0, 12)),
    drop_fast=False,
    glance=40.0,
    rise=(_rough(6.0, 8),),
    also_plain=False,
    settle=replace(_rough(0.0, 20), damping=1e-3),
    weigh_again=True,
    most_starts=1,
    start_first=False,
    pass_quickly=True,
    rungs=("coulomb", "stribeck", "m3", "m4", "m5", "m6"),
    beside=("load_asymmetry", "dwell"),
    below={
        "stribeck": ("coulomb",),
        "m3": ("coulomb",),
        "m4": ("m3",),
        "m5": ("m4",),
        "m6": ("m5",),
        "lugre": ("stribeck",),
        "load-maxwell-slip": ("m4",),
    },
    judged_together=True,
    own_logs=True,
)
DAMPING = "drive.firmware_derivative_gain"
DAMPING_OF_A_COUNT = (3e-3, 1e-3)
"""Duty per count of a D register and rad/s, and its error, where nobody measured it: what the smooth motions
of an SO-101 tell. Left open, it takes the place of a delay or of a stiffness that motions hardly tell."""
ELECTRICAL = ("motor.resistance", "motor.torque_constant", "drive.firmware_gain")
"""What a drive that commands torque hides."""
ALIKE = 0.95
"""Correlation, before any data, of what equal servos have each for itself: frictions of one type differ by a
factor of two, not of ten, and a joint that hardly tells its own has what the others have."""


@dataclass(frozen=True, kw_only=True)
class RobotPlant(Plant):
    """A robot with its recordings: the joints to fit with their starts, and who shares what."""

    robot: Robot
    starts: Mapping[str, Actuator]
    """By joint; all of one structure."""
    recordings: Sequence[RobotRecording]
    prior: Datasheet | Mapping[str, tuple[float, float]] | None = None
    held_out: Sequence[RobotRecording] = ()
    ground: Ground | None = None
    """As it was told or found."""
    findings: tuple[Finding, ...] = ()
    """Of the robot, its recordings and starts."""
    kind = "robot"
    schedule = SCHEDULE

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(self.starts)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Fitted joints of equal hardware."""
        named = {g: tuple(j for j in js if j in self.starts) for g, js in self.robot.groups.items()}
        return {g: js for g, js in named.items() if js}

    @property
    def usual_friction(self) -> str:
        """Geared servos lose more the more they carry; behind a drive that commands torque there is little to
        tell that by."""
        first = next(iter(self.starts.values()))
        return first.friction.name if first.drive.hides_back_emf else GEARED

    def with_friction(self, name: str) -> RobotPlant:
        """Where the friction knows the load, the gears lose nothing besides."""
        also = [path for path in self.options.also if path.startswith(OWN)]
        starts = {j: lossless(with_friction(a, name)) for j, a in self.starts.items()}
        return replace(self, starts={j: with_absent(a, also) for j, a in starts.items()})

    def rungs_below(self, name: str) -> tuple[str, ...]:
        return SCHEDULE.rungs_under(name)

    def first_part(self, seconds: float | None) -> RobotPlant:
        if seconds is None:
            return self
        return replace(self, recordings=[first_part(recording, seconds) for recording in self.recordings])

    @property
    def stretch(self) -> float:
        """Seconds over which joints that are driven by torque are predicted; 0 where a loop holds them."""
        return 0.0 if any(_is_held(actuator) for actuator in self.starts.values()) else STRETCH

    @property
    def most_demand(self) -> float | None:
        """Acceleration of the firmware's own profile, where a sheet says it [rad/s^2]: how a joint follows
        commands that ask for more is not known, and they are not fitted."""
        printed = sheet_or_numbers(self.prior)[0]
        stated = None if printed is None else printed.firmware.get("goal_acceleration")
        return None if stated is None else stated.value

    def left_out(self, joint: str) -> dict[str, np.ndarray]:
        """By recording, the samples of a joint around commands that ask for more than its firmware's profile;
        none where most of what there is does."""
        there = [one for one in self.recordings if joint in one.log.joints]
        masks = {one.log.name: demanding(one, joint, self.most_demand) for one in there}
        if masks and np.mean(np.concatenate(list(masks.values()))) > 0.5:
            return {name: np.zeros_like(mask) for name, mask in masks.items()}
        return masks

    def fold(self) -> RobotPlant:
        """With some motions left out to judge by, for a choice: every third, and the one that asks for the
        most torque; of a single one its latter part."""
        given = list(self.recordings)
        if len(given) == 1:
            first, rest = divide([given[0].log], LATTER)
            parts = [[recording_of(self.robot, log) for log in logs] for logs in (first, rest)]
            return replace(self, recordings=parts[0], held_out=parts[1])
        most = max(range(len(given)), key=lambda k: float(np.max(np.abs(given[k].carried.torque))))
        left = {*range(1, len(given), 3), *([most] if len(given) > FEWEST else [])}
        training = [one for k, one in enumerate(given) if k not in left]
        return replace(self, recordings=training, held_out=[one for k, one in enumerate(given) if k in left])

    def problem(self, substeps: int | None = None) -> Problem:
        """All joints in all recordings, but for those in which one that moves elsewhere is not asked to."""
        logs, labels = [], []
        moving, beyond = (self._moving(), {joint: self.left_out(joint) for joint in self.joints})
        for recording in self.recordings:
            for joint in self.joints:
                if joint not in recording.log.joints:
                    continue
                own = {p: v for p, v in self.starts[joint].parameters.items() if p != DELAY}
                left_out = beyond[joint][recording.log.name]
                n_left = np.count_nonzero(~(recording.touched | left_out))
                still = joint in moving and _stands_still(recording.log.joints[joint])
                if n_left < FEWEST_SAMPLES or still:
                    continue
                log = joint_log(recording, self.robot, joint, own, left_out)
                if len(log) < FEWEST_SAMPLES:
                    continue
                logs.append(log)
                labels.append((joint, recording.log.name))
        if not logs:
            raise InvalidValue(
                "no joint is left to fit: none has a position and a command outside of contact"
            )
        base, free_ = next(iter(self.starts.values())), self._free(logs, [joint for joint, _ in labels])
        how: dict[str, Any] = {"substeps": substeps, "outputs": ("position",)}
        how["free_starts"] = not self.stretch  # a stretch begins where its recording is
        whole = problem(base, logs, free_, starts=self.starts, labels=labels, **how)
        return self.restart(whole, whole.recordings)

    def restart(self, p: Problem, wholes: Sequence[str]) -> Problem:
        """Where torque drives the joints."""
        if not self.stretch:
            return p
        known = {one.log.name: one for one in self.recordings}
        names = zip(p.recordings, wholes, strict=True)
        parts = [replace(known[w], log=replace(known[w].log, name=name)) for name, w in names]
        return shoot(p, self.robot, parts, self.stretch)

    def _moving(self) -> set[str]:
        """Joints that are asked to move in some recording."""
        every = [(joint, log) for recording in self.recordings for joint, log in recording.log.joints.items()]
        return {joint for joint, log in every if not _stands_still(log)}

    def is_shared(self, path: str) -> bool:
        """Whether equal joints have it in common; firmware and gears are of a piece with the motor."""
        if path.startswith(("drive.", "gearbox.")):
            path = f"motor.{path}"
        return any(_matches(path, pattern) for pattern in self.options.share)

    def _free(self, logs: Sequence[Log], joint_of: Sequence[str]) -> FreeParameters:
        """The union of shared and own parameters, and each joint's moment at which a command counts."""
        several = len(self.groups) > 1
        rows: list[Parameter] = []
        places = {joint: tuple(k for k, j in enumerate(joint_of) if j == joint) for joint in self.joints}
        for group, joints in self.groups.items():
            first = self.starts[joints[0]]
            for path in self._paths(first):
                if self.is_shared(path):
                    one = self._parameter(first, path)
                    mine = tuple(sorted(k for joint in joints for k in places[joint]))
                    rows.append(replace(one, logs=mine, group=group) if several else one)
                    continue
                for joint in joints:
                    one = self._parameter(self.starts[joint], path)
                    like = 0.0 if one.stated or one.signed is not None else ALIKE
                    rows.append(replace(one, logs=places[joint], group=joint, alike=like, family=group))
        step = numbers.median_step(logs)
        for joint in self.joints:
            late = numbers.latency(step, self.starts[joint].drive.delay or 0.0)
            rows.append(replace(late, logs=places[joint], group=joint))
        return FreeParameters(tuple(rows))

    def _paths(self, actuator: Actuator) -> list[str]:
        """What is free by default: winding, rotor inertia, friction; where the drive commands torque, not the
        winding."""
        wanted = default_paths(actuator)
        if "drive.firmware_gain" in priors(actuator, self.prior):
            wanted.append("drive.firmware_gain")
        if actuator.drive.hides_back_emf:
            wanted = [path for path in wanted if path not in ELECTRICAL]
        also = possible(actuator, self.options.also)
        more = [path for path in also if not path.startswith(PREFIX) and path not in OF_TEETH]
        return [*wanted, *(path for path in more if path not in wanted)]

    def _parameter(self, actuator: Actuator, path: str) -> Parameter:
        """With what its sheet states, around what was typed in its place."""
        known = {DAMPING: DAMPING_OF_A_COUNT} | priors(actuator, self.prior)
        stated = {k: v for k, v in known.items() if k == path}
        typed = [joint_and_path(word, self.starts)[1] for word in self.options.values or ()]
        if path in stated and path in typed:
            value, error = stated[path]
            stated = {path: (actuator.parameters[path], abs(actuator.parameters[path] / value) * error)}
        return free(give_sizes(actuator, [path]), [path], prior=stated or None).parameters[0]

    def first_weights(self, p: Problem) -> Weights:
        sigma = np.full((len(p.logs), 1), FIRST_ERROR * np.sqrt(FIRST_ALIKE))
        return Weights(sigma, float(1.5 / np.sqrt(FIRST_ALIKE)))

    def first_x(self, p: Problem, stage: Stage) -> tuple[np.ndarray, int]:
        """With the common moment at which commands count, in whole samples, that leaves the least misfit."""
        places = [k for k, q in enumerate(p.free.parameters) if q.path == DELAY]
        best: Any = (np.inf, p.first)
        for n in SHIFTS:
            y = p.first.copy()
            y[places] += n * p.step
            cost = p.normal(p.free.inside(y), stage.bandwidth, np.inf, stage.substeps(p))[2]
            if np.isfinite(cost) and cost < 0.98 * best[0]:
                best = (cost, p.free.inside(y))
            elif n > 0:
                break
        return best[1], 6

    def continue_from(self, p: Problem, parent: SearchResult, name: str) -> np.ndarray:
        """Priors stand around what the first start says, not around what another law found."""
        known = dict(parent.best.values)
        for joint, actuator in parent.problem.actuators(parent.best.x).items():
            own = lossless(above(actuator, name)).parameters
            known |= {
                q.name: own[q.path]
                for q in p.free.parameters
                if q.group == joint and q.path in own and q.path != DELAY
            }
        return p.x_from(known)

    def weigh(self, p: Problem, x: np.ndarray) -> Weights:
        return joint_weights(p, x)

    def find_contact(self, actuators: Mapping[str, Actuator], delays: Mapping[str, float]) -> RobotPlant:
        """A better model of the actuators sees it better; a ground that was told stays."""
        found, ground, _ = with_contact(self.robot, self.recordings, actuators, delays, self.robot.ground)
        return replace(self, recordings=found, ground=ground)

    def settle(self, found: SearchResult) -> Optimum[RobotPlant]:
        """With contact looked for again, weighed anew, and with finer steps."""
        before, x = found.problem, found.best.x
        plant = self.find_contact(before.actuators(x), before.delays(x))
        p = plant.problem()
        x = p.x_from(found.best.values)
        p.sigma, robust = plant.weigh(p, x)
        p.substeps = Stage(longest=0.5 * COARSE).substeps(p)
        end = LAST_STAGE.minimise(p, x, robust)
        end = replace(end, n_evaluations=found.n_evaluations + end.n_evaluations)
        return refine_ground(Optimum(plant=plant, problem=p, end=end, robust=robust, found=found))

    def free_unknowns(self, optimum: Optimum[RobotPlant]) -> Optimum[RobotPlant]:
        """Masses, centres, payload, base and zeros, where that was asked for."""
        stated = wanted_unknowns(self.robot, self.options.free_inertia, self.options.also)
        if not stated:
            return optimum
        freed = free_inertia(optimum, stated)
        before, after = (
            robot_result.score_of(s, s.plant.recordings, False, COARSE) for s in (optimum, freed)
        )
        said = robot_result.of_inertia(before, after)
        held = [recording_of(freed.plant.robot, one.log) for one in self.held_out]
        freed = replace(freed, plant=replace(freed.plant, held_out=held), findings=said)
        return refine_ground(freed)

    def judge(self, optimum: Optimum[RobotPlant], step: float | None = None) -> Judgement:
        """All joints together; where no log is held out, on those that were fitted."""
        held = list(self.held_out)
        if held:
            held, _, _ = with_contact(self.robot, held, optimum.actuators, optimum.delays, self.ground)
        score = robot_result.score_of(optimum, held or self.recordings, bool(held), step)
        errors = robot_result.errors_alone(optimum, held) if held and step is None else {}
        return Judgement(errors=errors, score=score, recordings=tuple(held))

    def groupings(self, p: Problem) -> Sequence[Sequence[Any]]:
        return (p.recordings,)

    def demands(self) -> dict[str, dict[str, dict[str, float]]]:
        return {one.log.name: one.demands(self.robot, self.joints) for one in self.recordings}

    def error_terms(self, optimum: Optimum[RobotPlant]) -> list[ErrorTerm]:
        return [*step_terms(optimum), *coupling_terms(optimum)]

    def make_fit(self, optimum: Optimum[RobotPlant], judgement: Judgement, uncertainties: Uncertainty) -> Fit:
        """A fit of each joint, and the whole."""
        fit = robot_result.robot_fit(optimum, judgement, uncertainties)
        if PLAY not in self.options.also or optimum.found.interrupted:
            return fit
        seconds = OF_PLAY / len(self.recordings)
        p, x = on_parts(optimum, [first_part(recording, seconds) for recording in self.recordings])
        return self._judge_play(with_plays(fit, p, x, optimum.robust), optimum, judgement)

    def _judge_play(self, fit: Fit, optimum: Optimum[RobotPlant], judgement: Judgement) -> Fit:
        """With the errors that its joints have with their play: of each alone, and of all together."""
        joints = dict(fit.joints)
        for joint, one in fit.joints.items():
            if one.actuator.gearbox.backlash is None:
                continue
            errors = {}
            for role, recordings in (("training", self.recordings), ("held_out", judgement.recordings)):
                if recordings:
                    starts = {joint: one.actuator}
                    p = replace(optimum.plant, starts=starts, recordings=recordings).problem()
                    late = {q.name: fit.delays[joint] for q in p.free.parameters if q.path == DELAY}
                    errors[role] = absolute_errors(p, p.position_errors(p.x_from(late)), joint)
            joints[joint] = replace(one, **errors)
        if all(one.actuator.gearbox.backlash is None for one in joints.values()):
            return fit
        held = list(judgement.recordings)
        score = robot_result.score_of(optimum, held or self.recordings, bool(held), None, fit)
        mean = {role: mean_by_log(joints, role) for role in ("training", "held_out")}
        return replace(fit, joints=joints, score=score, **mean)


def robot_plant(given: Any, logs: Sequence[Log], options: FitOptions) -> RobotPlant:
    """The robot of these logs, with a start for each joint.

    Args:
        given: a part, an actuator or "torque" for all joints, or these by pattern of joint names.
        logs: of one robot, of its joints.
        options: of `fit`.

    Returns:
        The plant, its logs divided into those to fit and those to judge on.

    Raises:
        MissingValue: no joint has both a position and a command.
        UnknownName: no joint is called so, or no parameter that shall be shared.
    """
    robot = logs[0].robot
    assert robot is not None  # they are a robot's
    training, held_out = divide(logs, options.hold_out)
    begin = starts(
        robot,
        given,
        logs,
        joints=None if options.joints is None else tuple(options.joints),
        gains=options.gains,
        firmware=options.firmware,
        prior=options.prior,
        values=options.values,
    )
    at_start = dict(begin.actuators)
    if DAMPING in options.also:
        at_start = {joint: with_registers(one, begin.prior)[0] for joint, one in at_start.items()}
    training, echoed = without_echo(training, begin.actuators)
    held_out, _ = without_echo(held_out, begin.actuators)
    check_share(options.share, next(iter(begin.actuators.values())))
    wanted_unknowns(robot, options.free_inertia, options.also)  # names that there are
    recordings = [recording_of(robot, log) for log in training]
    absent = [path for path in options.also if path not in OF_TEETH]
    if PLAY in options.also and not any(map(_is_held, at_start.values())):
        raise InvalidValue(
            f"also is {', '.join(options.also)}; expected no {PLAY} of joints that torque drives: they are"
            " predicted over stretches too short for it"
        )
    return RobotPlant(
        robot=robot,
        starts={
            joint: with_absent(with_armature(actuator, robot.place(joint), recordings), absent)
            for joint, actuator in at_start.items()
        },
        recordings=recordings,
        held_out=[recording_of(robot, log) for log in held_out],
        ground=robot.ground,
        options=options,
        prior=begin.prior,
        given=logs,
        findings=(*robot.findings, *robot_result.of_reading(logs), *begin.findings, *echoed),
    )


def with_armature(actuator: Actuator, place: int, recordings: Sequence[RobotRecording]) -> Actuator:
    """With an armature to start from where nobody states one: a share of the least inertia that the joint
    carries.

    Args:
        actuator: of the joint.
        place: of the joint among the robot's.
        recordings: along which it carries something.

    Returns:
        The actuator; the same where an armature is stated.
    """
    if actuator.motor.rotor_inertia:
        return actuator
    least = min(float(np.min(recording.carried.inertia[:, place])) for recording in recordings)
    J = SHARE_OF_INERTIA * max(least, 1e-9) / actuator.gearbox.output_inertia(1.0)
    return actuator.replace(**{"motor.rotor_inertia": J})


def check_share(share: Sequence[str], actuator: Actuator) -> None:
    """Refuse a pattern that no parameter has."""
    for pattern in share:
        known = actuator.parameters
        if not any(_matches(path, pattern) for path in known):
            valid = sorted({p.split(".")[0] for p in known} | set(known))
            raise UnknownName("parameter or part to share", pattern, valid)


def _stands_still(log: Log) -> bool:
    """Whether a joint is asked for one position all along: its errors are none of a motion's, and as many of
    them as there are would pass for what it usually does."""
    target = log.signals.get("position_target")
    return target is not None and float(np.ptp(target.values)) < STILL


def _is_held(actuator: Actuator) -> bool:
    """Whether a loop holds the joint, so that it stays near what it was asked for."""
    loop = actuator.drive.loop
    return loop is not None and (loop.effort != "N m" or bool(loop.proportional or loop.derivative))


def _matches(path: str, pattern: str) -> bool:
    return path == pattern or path.startswith(f"{pattern}.") or fnmatch.fnmatch(path, pattern)


def joint_weights(p: Problem, x: np.ndarray) -> Weights:
    """Weights by the scatter that the errors of each joint really have, more where a recording is not
    followed, and by how long they last."""
    errors = [e[np.isfinite(e)] for e in p.position_errors(x)]
    floor = float(p.sigma_noise[0])
    of_joint = {
        joint: _scatter(np.concatenate([errors[k] for k in p.places_of(joint)]), floor) for joint in p.joints
    }
    alike = [correlation_time(e) for e in errors if len(e) > 50]
    usual = float(np.median(alike)) if alike else 1.0
    if max(of_joint.values()) < 1.3 * floor:
        usual = 1.0
    scatter = [max(_scatter(e, floor), of_joint[log.joint]) for e, log in zip(errors, p.logs, strict=True)]
    return Weights(np.array(scatter)[:, None] * math.sqrt(usual), 1.5 / math.sqrt(usual))


def _scatter(errors: np.ndarray, least: float) -> float:
    return max(1.4826 * float(np.median(np.abs(errors))), least) if len(errors) else least


def lossless(actuator: Actuator) -> Actuator:
    """Without an efficiency of the gears, where the friction knows the load."""
    if not actuator.friction.loaded or actuator.gearbox.efficiency is None:
        return actuator
    return replace(actuator, gearbox=replace(actuator.gearbox, efficiency=None))
