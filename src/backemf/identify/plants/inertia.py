"""Masses, centres, payload, base and zeros free beside the actuators, each held by its tolerance: what they
do to a joint's position is taken by moving each a little and simulating again."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...engine.compile.kernels import Kernels, kernels
from ...engine.rows import DELAY, Batch
from ...logs.log import Signal
from ...logs.robot import Robot
from ...mujoco.robot.alone import between
from ...mujoco.robot.masses import Slopes, Unknown, changed, slopes, unknowns
from ...results.fit import BenchNumber
from ..optimize import levenberg_marquardt
from ..parameters import FreeParameters, Parameter
from .recordings import RobotRecording, recording_of
from .robot_search import COARSE, Settled, substeps_of
from .sharing import Joined, joined, weigh, x_from

PREFIX = "robot."
FELT = 5e-3
"""Share of the largest load that an unknown must move by its tolerance to be worth following; the others stay
as stated."""
STILL = (DELAY, "motor.rotor_inertia")
"""What quick motions have told already, and weights do not."""
EPSILON = 0.05
"""Part of its tolerance by which an unknown is moved to see what it does."""


class Freed(Joined):
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

    def inputs_at(self, x: np.ndarray) -> list[np.ndarray]:
        moved = x[self.extra] - self.base
        at = self.system.inputs.index("inertia"), self.system.inputs.index("load")
        made = []
        for one, effect in zip(self.logs, self.effect, strict=True):
            inputs = one.inputs.copy()
            for column, slope in zip(at, effect, strict=True):
                inputs[:, column] += slope @ moved
            inputs[:, at[0]] = np.maximum(inputs[:, at[0]], 0.0)
            made.append(inputs)
        return made

    def _seen(self, x: np.ndarray, bandwidth: float, substeps: int) -> tuple[np.ndarray, np.ndarray]:
        """Outputs and their derivatives by every column, unknowns last, on the batch's rows."""
        corrections = {"observer": self.observer(bandwidth), "resets": self.resets}
        P = self.rows_of(x)
        here: Batch = self.batch
        outputs, tangents = self.kernels.sensitivities(P, self.S, here, substeps, **corrections)
        more = np.empty((*outputs.shape, len(self.extra)))
        for k, place in enumerate(self.extra):
            y = x.copy()
            step = EPSILON * self.free.parameters[place].prior[1]
            y[place] += step
            P = self.rows_of(y)
            there, _ = self.plain.sensitivities(P, self.S, self.batch, substeps, **corrections)
            more[..., k] = (there - outputs) / step
        self.batch = here
        return outputs, np.concatenate([tangents, more], axis=2)

    def normal_of_logs(
        self, x: np.ndarray, bandwidth: float = 0.0, robust: float = np.inf, substeps: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        with np.errstate(invalid="ignore", over="ignore"):
            outputs, tangents = self._seen(x, bandwidth, self.substeps if substeps is None else substeps)
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
        return np.array(JtJ), np.array(Jtr), np.array(cost)

    def sensitivities(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        outputs, tangents = self._seen(x, 0.0, self.substeps)
        sigma = self.sigma_of_rows
        errors, tangents = (outputs - self.measured) / sigma, tangents / sigma[..., :, None]
        return np.concatenate(self.of_logs(errors)), np.concatenate(self.of_logs(tangents))


def with_unknowns(s: Settled, share: float) -> Settled:
    """The same with the robot's own numbers free within a share of theirs: once with the loads' slopes at the
    stated model, once more at the one that was found."""
    original = s.setup.robot
    stated = unknowns(original, share)
    found = {u.name: u.stated for u in stated}
    for still in (STILL, ()):
        s = _around(s, original, stated, found)
        coarse = substeps_of(s.problem, COARSE)
        how: dict[str, Any] = {"robust": s.robust, "substeps": coarse, "most": 12, "tolerance": 1e-3}
        end = levenberg_marquardt(s.problem, s.x, damping=1e-3, still=still, **how)
        n = s.n_evaluations + end.n_evaluations
        s = replace(s, x=end.x, ended=end.ended, cost=end.cost, n_evaluations=n)
        values = s.values
        found |= {u.name: values[PREFIX + u.name] for u in stated if PREFIX + u.name in values}
    return _around(s, original, stated, found)


def _around(s: Settled, original: Robot, stated: Sequence[Unknown], found: dict[str, float]) -> Settled:
    """The same with the robot that has the numbers found, and slopes there."""
    robot = changed(original, {n: v for n, v in found.items() if v != _stated(stated, n)})
    recordings = [replace(recording_of(robot, one.log), touched=one.touched) for one in s.recordings]
    there = replace(s, setup=replace(s.setup, robot=robot), recordings=recordings)
    p, x = _freed(there, stated, found)
    return replace(there, problem=p, x=x, robust=weigh(p, x))


def _stated(all_: Sequence[Unknown], name: str) -> float:
    return next(u.stated for u in all_ if u.name == name)


def _freed(s: Settled, stated: Sequence[Unknown], found: dict[str, float]) -> tuple[Freed, np.ndarray]:
    """The problem around values of the unknowns, and where it stands."""
    robot = s.setup.robot
    each = [slopes(robot, one.motion, stated) for one in s.recordings]
    largest = max(float(np.max(np.abs(one.carried.load))) for one in s.recordings)
    kept = [
        k
        for k, u in enumerate(stated)
        if max(float(np.max(np.abs(one.load[:, :, k]))) for one in each) * u.tolerance > FELT * largest
    ]
    return _with_columns(s, [stated[k] for k in kept], found, [_kept(one, kept) for one in each])


def _kept(one: Slopes, kept: Sequence[int]) -> Slopes:
    return Slopes(inertia=one.inertia[:, :, kept], load=one.load[:, :, kept])


def on_parts(s: Settled, parts: Sequence[RobotRecording]) -> tuple[Joined, np.ndarray]:
    """The same problem of parts of the recordings, and where it stands."""
    if not isinstance(s.problem, Freed):
        p = joined(s.setup, parts, substeps=s.problem.substeps)
        return p, x_from(p, s.values)
    stated = s.problem.stated
    found = {u.name: float(v) for u, v in zip(stated, s.problem.base, strict=True)}
    each = [slopes(s.setup.robot, one.motion, stated) for one in parts]
    p, _ = _with_columns(replace(s, recordings=list(parts)), stated, found, each)
    return p, x_from(p, s.values)


def _with_columns(
    s: Settled, stated: Sequence[Unknown], found: dict[str, float], each: Sequence[Slopes]
) -> tuple[Freed, np.ndarray]:
    rows = [_parameter(u) for u in stated]
    plain = joined(s.setup, s.recordings, substeps=s.problem.substeps)
    p = Freed(
        plain.actuator,
        plain.logs,
        FreeParameters((*plain.free.parameters, *rows)),
        plain.outputs,
        plain.substeps,
        plain.sigma,
    )
    p.who, p.of = plain.who, plain.of
    if len(s.problem.sigma) == len(p.logs):
        p.sigma = s.problem.sigma
    p.extra = list(range(len(plain.free), len(p.free)))
    p.stated, p.base = list(stated), np.array([found[u.name] for u in stated])
    p.effect = _effects(p, s, each)
    p.plain = kernels(p.system, free=p.free.paths[:1])
    known = {**s.values, **{PREFIX + u.name: found[u.name] for u in stated}}
    return p, x_from(p, known)


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


def _effects(p: Joined, s: Settled, each: Sequence[Slopes]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Slopes of inertia and load on the clock of each log."""
    of = {one.log.name: (one, slope) for one, slope in zip(s.recordings, each, strict=True)}
    made = []
    for log, joint, name in zip(p.logs, p.who, p.of, strict=True):
        one, slope = of[name]
        j = s.setup.robot.place(joint)
        made.append(
            (_on_clock(log.time, one, slope.inertia[:, j]), _on_clock(log.time, one, slope.load[:, j]))
        )
    return made


def _on_clock(t: np.ndarray, one: RobotRecording, columns: np.ndarray) -> np.ndarray:
    rows = [Signal(time=one.motion.time, values=between(c)).held(t) for c in columns.T]
    return np.stack(rows, axis=1) if rows else np.zeros((len(t), 0))


def robot_numbers(s: Settled, covariance: np.ndarray) -> tuple[BenchNumber, ...]:
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
            logs=tuple(dict.fromkeys(p.of)),
        )
        for k, q in enumerate(p.free.parameters)
        if q.path.startswith(PREFIX)
    )
