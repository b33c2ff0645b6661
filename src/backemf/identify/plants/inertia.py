"""Masses, centres, payload, base and zeros free beside the actuators, each held by its tolerance: what they
do to a joint's position is taken by moving each a little and simulating again."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine.compile.kernels import Kernels, kernels
from ...engine.rows import DELAY, Batch
from ...errors import UnknownName
from ...logs.log import Signal
from ...logs.robot import Robot
from ...mujoco.robot.masses import Slopes, Unknown, change_robot, slopes, unknowns
from ...mujoco.robot.robot_motion import between
from ...results.fit_result import BenchNumber
from ..optimize import Stage, levenberg_marquardt
from ..parameters import FreeParameters, Parameter
from ..prepared_log import Blocks
from ..problem import Problem
from .plant import Optimum
from .recordings import RobotRecording, recording_of

if TYPE_CHECKING:
    from .robot_plant import RobotPlant

PREFIX = "robot."
COARSE = 7e-3
"""Step of this search [s]."""
FELT = 5e-3
"""Share of the largest load that an unknown must move by its tolerance to be worth following; the others stay
as stated."""
STILL = (DELAY, "motor.rotor_inertia")
"""What quick motions have told already, and weights do not."""
NAMED = 0.5
"""Share by which a number may be off that was named: of all masses for a payload, and 9 degrees for how the
base stands to gravity."""
EPSILON = 0.05
"""Part of its tolerance by which an unknown is moved to see what it does."""


class InertiaProblem(Problem):
    """All joints, with numbers of the robot's model free; these are the last columns of derivatives."""

    extra: list[int]
    """Places of the unknowns among the parameters."""
    base: np.ndarray
    """Their values at which the recordings' loads were computed."""
    effect: list[tuple[np.ndarray, np.ndarray]]
    """Of each log: slopes of inertia and load on its clock, (samples, unknowns)."""
    stated: list[Unknown]
    """What the model says of them."""
    plain: Kernels
    """Next to no derivatives: for moving the unknowns."""

    def take_after(self, whole: Problem, places: Sequence[int]) -> None:
        assert type(whole) is InertiaProblem
        self.stated, self.base, self.plain = whole.stated, whole.base, whole.plain
        self.effect = [whole.effect[k] for k in places]
        self.extra = list(range(len(self.free) - len(whole.extra), len(self.free)))

    def inputs_at(self, x: np.ndarray) -> list[np.ndarray]:
        moved = x[self.extra] - self.base
        at = self.system.inputs.index("inertia"), self.system.inputs.index("load")
        made = []
        for log, effect in zip(self.logs, self.effect, strict=True):
            inputs = log.inputs.copy()
            for column, slope in zip(at, effect, strict=True):
                inputs[:, column] += slope @ moved
            inputs[:, at[0]] = np.maximum(inputs[:, at[0]], 0.0)
            made.append(inputs)
        return made

    def _outputs_and_slopes(
        self, x: np.ndarray, bandwidth: float, substeps: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Outputs and their derivatives by every column, on the batch's rows: unknowns behind the other
        paths, the start last."""
        observer = self.observer(bandwidth)
        P = self.rows_of(x)
        here: Batch = self.batch
        outputs, tangents = self.kernels.sensitivities(P, self.S, here, substeps, observer)
        more = np.empty((*outputs.shape, len(self.extra)))
        for k, place in enumerate(self.extra):
            y = x.copy()
            step = EPSILON * self.free.parameters[place].prior[1]
            y[place] += step
            P = self.rows_of(y)
            there, _ = self.plain.sensitivities(P, self.S, self.batch, substeps, observer)
            more[..., k] = (there - outputs) / step
        self.batch = here
        inner = len(self.columns)
        tangents = np.concatenate([tangents[..., :inner], more, tangents[..., inner:]], axis=2)
        F = self._folding
        return outputs, tangents if F is None else tangents @ F

    def blocks(
        self, x: np.ndarray, bandwidth: float = 0.0, robust: float = np.inf, substeps: int | None = None
    ) -> Blocks:
        """By every column, unknowns behind the other paths."""
        with np.errstate(invalid="ignore", over="ignore"):
            outputs, tangents = self._outputs_and_slopes(
                x, bandwidth, self.substeps if substeps is None else substeps
            )
            sigma = self.sigma_of_rows
            r = (outputs - self.measured) / sigma
            seen = np.isfinite(self.measured)
            r, J = np.where(seen, r, 0.0), np.where(seen[..., None], tangents / sigma[..., :, None], 0.0)
            size = np.abs(r)
            weight = np.minimum(1.0, robust / np.maximum(size, 1e-300))
            costs = np.where(size <= robust, 0.5 * r * r, robust * (size - 0.5 * min(robust, 1e150)))
            ends = self.batch.offsets
            flat = J * np.sqrt(weight)[..., None]
            JtJ, Jtr, cost = [], [], []
            for a, b in itertools.pairwise(ends):
                part = flat[a:b].reshape(-1, J.shape[-1])
                JtJ.append(part.T @ part)
                Jtr.append(np.einsum("kop,ko->p", J[a:b], weight[a:b] * r[a:b]))
                cost.append(float(np.sum(costs[a:b])))
        return Blocks(np.array(JtJ), np.array(Jtr), np.array(cost))

    def sensitivities(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        outputs, tangents = self._outputs_and_slopes(x, 0.0, self.substeps)
        sigma = self.sigma_of_rows
        errors, tangents = (outputs - self.measured) / sigma, tangents / sigma[..., :, None]
        return np.concatenate(self.of_logs(errors)), np.concatenate(self.of_logs(tangents))


def wanted_unknowns(robot: Robot, share: float, also: Sequence[str]) -> list[Unknown]:
    """Numbers of a robot's model that are free.

    Args:
        robot: the model.
        share: of its masses and lengths by which each may be off; 0: as stated.
        also: paths that are wanted free; those of the robot count, and robot.base is both of its tilts.

    Returns:
        Every number once; what was named may be off by half.

    Raises:
        UnknownName: the model has no such number.
    """
    found = {one.name: one for one in (unknowns(robot, share) if share else ())}
    for path in also:
        if not path.startswith(PREFIX):
            continue
        name, every = path.removeprefix(PREFIX), unknowns(robot, NAMED)
        mine = {one.name: one for one in every if one.name == name or one.name.startswith(f"{name}.")}
        if not mine:
            raise UnknownName("number of the robot", path, [PREFIX + one.name for one in every])
        found |= mine
    return list(found.values())


def free_inertia(s: Optimum[RobotPlant], stated: Sequence[Unknown]) -> Optimum[RobotPlant]:
    """The same with some of the robot's own numbers free within their tolerances: once with the loads' slopes
    at the stated model, once more at the one that was found."""
    original = s.plant.robot
    found = {u.name: u.stated for u in stated}
    for still in (STILL, ()):
        s = _around(s, original, stated, found)
        coarse = Stage(longest=COARSE).substeps(s.problem)
        how: dict[str, Any] = {"robust": s.robust, "substeps": coarse, "most": 12, "tolerance": 1e-3}
        end = levenberg_marquardt(s.problem, s.x, damping=1e-3, still=still, **how)
        n = s.end.n_evaluations + end.n_evaluations
        s = replace(s, end=replace(end, n_evaluations=n))
        values = s.values
        found |= {u.name: values[PREFIX + u.name] for u in stated if PREFIX + u.name in values}
    return _around(s, original, stated, found)


def _around(
    s: Optimum[RobotPlant], original: Robot, stated: Sequence[Unknown], found: dict[str, float]
) -> Optimum[RobotPlant]:
    """The same with the robot that has the numbers found, and slopes there."""
    robot = change_robot(original, {n: v for n, v in found.items() if v != _stated_value(stated, n)})
    recordings = [
        replace(recording_of(robot, recording.log), touched=recording.touched)
        for recording in s.plant.recordings
    ]
    there = replace(s, plant=replace(s.plant, robot=robot, recordings=recordings))
    p, x = _problem_around(there, stated, found)
    p.sigma, robust = s.plant.weigh(p, x)
    return replace(there, problem=p, end=replace(s.end, x=x), robust=robust)


def _stated_value(all_: Sequence[Unknown], name: str) -> float:
    return next(u.stated for u in all_ if u.name == name)


def _problem_around(
    s: Optimum[RobotPlant], stated: Sequence[Unknown], found: dict[str, float]
) -> tuple[InertiaProblem, np.ndarray]:
    """The problem around values of the unknowns, and where it stands."""
    robot, recordings = s.plant.robot, s.plant.recordings
    each = [slopes(robot, recording.motion, stated) for recording in recordings]
    largest = max(float(np.max(np.abs(recording.carried.load))) for recording in recordings)
    kept = [
        k
        for k, u in enumerate(stated)
        if max(float(np.max(np.abs(one.load[:, :, k]))) for one in each) * u.tolerance > FELT * largest
    ]
    return _with_columns(s, [stated[k] for k in kept], found, [_keep_slopes(one, kept) for one in each])


def _keep_slopes(slopes: Slopes, kept: Sequence[int]) -> Slopes:
    return Slopes(inertia=slopes.inertia[:, :, kept], load=slopes.load[:, :, kept])


def on_parts(s: Optimum[RobotPlant], parts: Sequence[RobotRecording]) -> tuple[Problem, np.ndarray]:
    """The same problem of parts of the recordings, and where it stands."""
    if not isinstance(s.problem, InertiaProblem):
        p = replace(s.plant, recordings=parts).problem(s.problem.substeps)
        return p, p.x_from(s.values)
    stated = s.problem.stated
    found = {u.name: float(v) for u, v in zip(stated, s.problem.base, strict=True)}
    each = [slopes(s.plant.robot, part.motion, stated) for part in parts]
    p, _ = _with_columns(replace(s, plant=replace(s.plant, recordings=parts)), stated, found, each)
    return p, p.x_from(s.values)


def _with_columns(
    s: Optimum[RobotPlant], stated: Sequence[Unknown], found: dict[str, float], each: Sequence[Slopes]
) -> tuple[InertiaProblem, np.ndarray]:
    rows = [_parameter(u) for u in stated]
    plain = s.plant.problem(s.problem.substeps)
    p = InertiaProblem(
        plain.actuator,
        plain.logs,
        FreeParameters((*plain.free.parameters, *rows)),
        plain.outputs,
        plain.substeps,
        plain.sigma,
        plain.starts,
        plain.begin,
    )
    if len(s.problem.sigma) == len(p.logs):
        p.sigma = s.problem.sigma
    p.extra = list(range(len(plain.free), len(p.free)))
    p.stated, p.base = list(stated), np.array([found[u.name] for u in stated])
    p.effect = _effects(p, s, each)
    p.plain = kernels(p.system, free=p.free.paths[:1])
    known = {**s.values, **{PREFIX + u.name: found[u.name] for u in stated}}
    return p, p.x_from(known)


def _parameter(u: Unknown) -> Parameter:
    least = 0.05 * u.stated if u.unit == "kg" and u.stated else u.stated - 8.0 * u.tolerance
    return Parameter(
        path=PREFIX + u.name,
        start=u.stated,
        unit=u.unit,
        low=least,
        high=u.stated + 8.0 * u.tolerance,
        prior=(u.stated, u.tolerance),
        stated=True,
        signed=u.tolerance,
        beside=True,
    )


def _effects(
    p: Problem, s: Optimum[RobotPlant], each: Sequence[Slopes]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Slopes of inertia and load on the clock of each log."""
    of = {
        recording.log.name: (recording, slope)
        for recording, slope in zip(s.plant.recordings, each, strict=True)
    }
    made = []
    for log in p.logs:
        one, slope = of[log.recording]
        j = s.plant.robot.place(log.joint)
        made.append(
            (_on_clock(log.time, one, slope.inertia[:, j]), _on_clock(log.time, one, slope.load[:, j]))
        )
    return made


def _on_clock(t: np.ndarray, recording: RobotRecording, columns: np.ndarray) -> np.ndarray:
    rows = [Signal(time=recording.motion.time, values=between(c)).hold_at(t) for c in columns.T]
    return np.reshape(rows, (-1, len(t))).T


def robot_numbers(s: Optimum[RobotPlant], covariance: np.ndarray) -> tuple[BenchNumber, ...]:
    """What was found of the robot's own numbers."""
    p, x = s.problem, s.x
    T = p.free.slopes(x)
    errors = np.sqrt(np.maximum(np.diag(T @ covariance @ T.T), 0.0))
    return tuple(
        BenchNumber(
            path=q.path,
            group="",
            stated=q.prior[0],
            tolerance=q.prior[1],
            value=float(x[k]),
            error=float(errors[k]),
            unit=q.unit,
            logs=tuple(dict.fromkeys(p.recordings)),
        )
        for k, q in enumerate(p.free.parameters)
        if q.path.startswith(PREFIX)
    )
