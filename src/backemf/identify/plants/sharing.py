"""One parameter vector for all joints: what equal servos share, what each joint has of its own, and when
commands count."""

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
from ...logs.log import Log
from ...logs.robot import Robot
from ...physics.actuator import Actuator
from ...physics.quantity import substitute
from .. import bench_numbers as numbers
from ..parameters import FreeParameters, Parameter, default_paths, free, priors, sized
from ..problem import Problem, problem
from ..uncertainty import correlation_time
from .recordings import RobotRecording, joint_log

ELECTRICAL = ("motor.resistance", "motor.torque_constant", "drive.firmware_gain")
"""What a drive that commands torque hides."""
ALIKE = 0.95
"""Correlation, before any data, of what equal servos have each for itself: frictions of one type differ by a
factor of two, not of ten, and a joint that hardly tells its own has what the others have."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What is fitted: the joints with their starts, and who shares what."""

    robot: Robot
    starts: Mapping[str, Actuator]
    """By joint; all of one structure."""
    share: tuple[str, ...]
    prior: Datasheet | Mapping[str, tuple[float, float]] | None = None
    also: tuple[str, ...] = ()
    free_paths: tuple[str, ...] | None = None

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(self.starts)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Fitted joints of equal hardware."""
        named = {g: tuple(j for j in js if j in self.starts) for g, js in self.robot.groups.items()}
        return {g: js for g, js in named.items() if js}

    def shared(self, path: str) -> bool:
        """Whether equal joints have it in common; firmware and gears are of a piece with the motor."""
        if path.startswith(("drive.", "gearbox.")):
            path = f"motor.{path}"
        return any(path == s or path.startswith(f"{s}.") or fnmatch.fnmatch(path, s) for s in self.share)

    def with_starts(self, starts: Mapping[str, Actuator]) -> Setup:
        return replace(self, starts=dict(starts))


class Joined(Problem):
    """The problem of all joints: log k is of joint `who[k]` in recording `of[k]`."""

    who: list[str]
    of: list[str]


def check_share(share: Sequence[str], actuator: Actuator) -> None:
    """Refuse a pattern that no parameter has."""
    for pattern in share:
        known = actuator.parameters
        if not any(p == pattern or p.startswith(f"{pattern}.") or fnmatch.fnmatch(p, pattern) for p in known):
            valid = sorted({p.split(".")[0] for p in known} | set(known))
            raise UnknownName("parameter or part to share", pattern, valid)


def joined(setup: Setup, recordings: Sequence[RobotRecording], *, substeps: int | None = None) -> Joined:
    """All joints in all recordings as one problem."""
    base = next(iter(setup.starts.values()))
    logs, who, of = [], [], []
    for one in recordings:
        for joint in setup.joints:
            if joint not in one.log.joints:
                continue
            own = {p: v for p, v in setup.starts[joint].parameters.items() if p != DELAY}
            log = joint_log(one, setup.robot, joint, own)
            if len(log) < 20:
                continue
            logs.append(log)
            who.append(joint)
            of.append(one.log.name)
    if not logs:
        raise InvalidValue("no joint is left to fit: none has a position and a command outside of contact")
    p = problem(base, logs, _free(setup, logs, who), substeps=substeps, outputs=("position",))
    p.__class__ = Joined
    assert isinstance(p, Joined)
    p.who, p.of = who, of
    return p


def _free(setup: Setup, logs: Sequence[Log], who: Sequence[str]) -> FreeParameters:
    """The union of shared and own parameters, and each joint's moment at which a command counts."""
    several = len(setup.groups) > 1
    rows: list[Parameter] = []
    step = numbers.median_step(logs)
    for group, joints in setup.groups.items():
        first = setup.starts[joints[0]]
        for path in _paths(setup, first):
            if setup.shared(path):
                one = _one(setup, first, path)
                places = tuple(k for k, w in enumerate(who) if w in joints)
                rows.append(replace(one, logs=places, group=group) if several else one)
                continue
            for joint in joints:
                places = tuple(k for k, w in enumerate(who) if w == joint)
                one = _one(setup, setup.starts[joint], path)
                like = 0.0 if one.stated or one.signed is not None else ALIKE
                rows.append(replace(one, logs=places, group=joint, alike=like, family=group))
    for joint in setup.joints:
        places = tuple(k for k, w in enumerate(who) if w == joint)
        late = numbers.latency(step, setup.starts[joint].drive.delay or 0.0)
        rows.append(replace(late, logs=places, group=joint))
    return FreeParameters(tuple(rows))


def _paths(setup: Setup, actuator: Actuator) -> list[str]:
    """What is free by default: winding, rotor inertia, friction; where the drive commands torque, not the
    winding."""
    if setup.free_paths is not None:
        return list(setup.free_paths)
    wanted = default_paths(actuator)
    stated = priors(actuator, setup.prior)
    if "drive.firmware_gain" in stated:
        wanted.append("drive.firmware_gain")
    if actuator.drive.hides_back_emf:
        wanted = [path for path in wanted if path not in ELECTRICAL]
    return [*wanted, *(path for path in setup.also if path not in wanted)]


def _one(setup: Setup, actuator: Actuator, path: str) -> Parameter:
    stated = {k: v for k, v in priors(actuator, setup.prior).items() if k == path}
    return free(sized(actuator, [path]), [path], prior=stated or None).parameters[0]


def name_of(parameter: Parameter) -> str:
    """A parameter as it is called on a robot: `elbow_flex.friction.coulomb`, `motor.resistance`."""
    return f"{parameter.group}.{parameter.path}" if parameter.group else parameter.path


def values_of(p: Joined, x: np.ndarray, joint: str) -> dict[str, float]:
    """Every free number of a joint by path, shared ones included."""
    k = p.who.index(joint)
    values, own = list(p.values(x).values()), p.system.parameters
    rows = zip(p.free.paths, p.index[k], strict=True)
    return {path: values[i] for path, i in rows if i >= 0 and path in own}


def actuators_at(p: Joined, setup: Setup, x: np.ndarray) -> tuple[dict[str, Actuator], dict[str, float]]:
    """(each joint's actuator, the moment at which its commands count)."""
    actuators, delays = {}, {}
    for joint in dict.fromkeys(p.who):
        values = values_of(p, x, joint)
        delays[joint] = values.pop(DELAY, 0.0)
        actuators[joint] = substitute(setup.starts[joint], values)
    return actuators, delays


def x_from(p: Joined, known: Mapping[str, float]) -> np.ndarray:
    """The coordinates of values by name, the start where nothing is known."""
    values = {q.name: known.get(q.name, q.start) for q in p.free.parameters}
    return p.free.to_x(values, p.fixed)


def weigh(p: Joined, x: np.ndarray) -> float:
    """Weights by the scatter that the errors of each joint really have, more where a recording is not
    followed, and by how long they last; gives the weighted error beyond which one counts less."""
    errors = [e[np.isfinite(e)] for e in errors_of(p, x)]
    floor = float(p.sigma_noise[0])
    of_joint = {
        joint: _scatter(np.concatenate([e for e, w in zip(errors, p.who, strict=True) if w == joint]), floor)
        for joint in dict.fromkeys(p.who)
    }
    alike = [correlation_time(e) for e in errors if len(e) > 50]
    usual = float(np.median(alike)) if alike else 1.0
    if max(of_joint.values()) < 1.3 * floor:
        usual = 1.0
    scatter = [max(_scatter(e, floor), of_joint[w]) for e, w in zip(errors, p.who, strict=True)]
    p.sigma = np.array(scatter)[:, None] * math.sqrt(usual)
    return 1.5 / math.sqrt(usual)


def _scatter(errors: np.ndarray, least: float) -> float:
    return max(1.4826 * float(np.median(np.abs(errors))), least) if len(errors) else least


def errors_of(p: Joined, x: np.ndarray) -> list[np.ndarray]:
    """The error of the position in each log, each joint alone."""
    return [q - one.measured[one.samples, 0] for one, q in zip(p.logs, p.predictions(x), strict=True)]


def rms_by(labels: Sequence[str], errors: Sequence[np.ndarray]) -> dict[str, float]:
    """Root mean square of errors by what their logs are labelled: joints, or recordings."""
    squares: dict[str, list[np.ndarray]] = {}
    for label, e in zip(labels, errors, strict=True):
        squares.setdefault(label, []).append(e**2)
    return {label: float(np.sqrt(np.nanmean(np.concatenate(parts)))) for label, parts in squares.items()}


def rms_of(p: Joined, x: np.ndarray) -> dict[str, float]:
    """Root mean square of the position's error by joint, each joint alone."""
    return rms_by(p.who, errors_of(p, x))


def absolute_errors(p: Joined, errors: Sequence[np.ndarray], joint: str) -> dict[str, float]:
    """Mean absolute error of one joint's position by recording."""
    rows = zip(p.who, p.of, errors, strict=True)
    return {of: float(np.nanmean(np.abs(e))) for who, of, e in rows if who == joint}


def shifted_start(p: Joined, x: np.ndarray, bandwidth: float, substeps: int) -> np.ndarray:
    """x with the common moment at which commands count, in whole samples, that leaves the least misfit."""
    places = [k for k, q in enumerate(p.free.parameters) if q.path == DELAY]
    best: Any = (np.inf, x)
    for n in (0, -1, 1, 2, 3, 4, 5, 6):
        y = x.copy()
        y[places] += n * p.step
        cost = p.normal(p.free.inside(y), bandwidth, np.inf, substeps)[2]
        if np.isfinite(cost) and cost < 0.98 * best[0]:
            best = (cost, p.free.inside(y))
        elif n > 0:
            break
    return best[1]
