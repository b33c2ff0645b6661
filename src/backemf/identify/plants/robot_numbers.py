"""The results of a robot's fit: one fit of each joint, and the whole."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...engine.rows import DELAY
from ...results.fit import BenchNumber, Fit, Fitted, FittedLog, Start
from ..fit import fitted_numbers
from ..uncertainty import Uncertainty
from .inertia import robot_numbers
from .recordings import RobotRecording
from .robot_search import Settled
from .sharing import Joined, absolute_errors, actuators_at, errors_of, joined, name_of, x_from


def of_joint(p: Joined, joint: str) -> list[int]:
    """Places of the free numbers that act on a joint."""
    return sorted({int(k) for k in p.index[p.who.index(joint)] if k >= 0})


def joint_fits(s: Settled, sure: Uncertainty, unseen: Sequence[RobotRecording], seed: int) -> dict[str, Fit]:
    """A fit of each joint: its own numbers and those that it shares."""
    p, x = s.problem, s.x
    fitted = fitted_numbers(p, x, sure)
    T = p.free.slopes(x)
    covariance = T @ sure.covariance @ T.T
    errors = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    values = list(p.values(x).values())
    actuators, _ = actuators_at(p, s.setup, x)
    held, seen = _held_out(s, unseen), errors_of(p, x)
    start = _start(s, seen)
    floor = float(p.sigma_noise[0]) * math.sqrt(2 / math.pi)
    fits = {}
    for joint, actuator in actuators.items():
        mine = of_joint(p, joint)
        own = [k for k in mine if not p.free.parameters[k].beside]
        bench = [
            BenchNumber(
                path=q.path,
                group="",
                stated=q.prior[0],
                tolerance=q.prior[1],
                value=values[k],
                error=float(errors[k]),
                unit=q.unit,
                logs=tuple(dict.fromkeys(p.of)),
            )
            for k in mine
            if (q := p.free.parameters[k]).path == DELAY
        ]
        training = absolute_errors(p, seen, joint)
        fits[joint] = Fit(
            actuator=actuator,
            parameters={p.free.parameters[k].path: fitted[p.free.parameters[k].name] for k in own},
            training=training,
            held_out=held.get(joint, {}),
            noise_floor=floor,
            findings=(),
            starts=(start,),
            correlation=covariance[np.ix_(own, own)] / np.outer(errors[own], errors[own]),
            substeps=p.substeps,
            seed=seed,
            cpu_s=0.0,
            friction=actuator.friction.name,
            bench=tuple(bench),
        )
    return fits


def _held_out(s: Settled, unseen: Sequence[RobotRecording]) -> dict[str, dict[str, float]]:
    """Mean absolute errors of each joint alone on recordings that were not fitted, by joint and recording."""
    if not unseen:
        return {}
    q = joined(s.setup, unseen, substeps=s.problem.substeps)
    errors = errors_of(q, x_from(q, s.values))
    return {joint: absolute_errors(q, errors, joint) for joint in dict.fromkeys(q.who)}


def _start(s: Settled, errors: Sequence[np.ndarray]) -> Start:
    return Start(
        cost=s.cost,
        mae=float(np.nanmean(np.abs(np.concatenate(list(errors))))),
        ended=s.ended,
        n_evaluations=s.n_evaluations,
        parameters={},
    )


def whole_fit(
    s: Settled, sure: Uncertainty, joints: Mapping[str, Fit], *, logs: tuple[FittedLog, ...], **more: Any
) -> Fit:
    """The fit of all joints."""
    p, x = s.problem, s.x
    fitted = fitted_numbers(p, x, sure)
    own = [k for k, q in enumerate(p.free.parameters) if not q.beside]
    T = p.free.slopes(x)
    covariance = (T @ sure.covariance @ T.T)[np.ix_(own, own)]
    error = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    named: dict[str, Fitted] = {name_of(p.free.parameters[k]): fitted[p.free.parameters[k].name] for k in own}
    bench = tuple(replace(b, group=joint) for joint, one in joints.items() for b in one.bench)
    bench += robot_numbers(s, sure.covariance)
    first = next(iter(joints.values()))
    return Fit(
        actuator=first.actuator,
        parameters=named,
        training=_mean_by_log(joints, "training"),
        held_out=_mean_by_log(joints, "held_out"),
        noise_floor=first.noise_floor,
        starts=first.starts,
        correlation=covariance / np.outer(error, error),
        substeps=p.substeps,
        friction=first.friction,
        bench=bench,
        joints=dict(joints),
        logs=logs,
        **more,
    )


def _mean_by_log(joints: Mapping[str, Fit], which: str) -> dict[str, float]:
    """Mean absolute error over the joints, by recording."""
    rows: dict[str, list[float]] = {}
    for fit in joints.values():
        for log, error in getattr(fit, which).items():
            rows.setdefault(log, []).append(error)
    return {log: float(np.mean(errors)) for log, errors in rows.items()}
