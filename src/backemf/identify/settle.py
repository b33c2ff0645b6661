"""The last settling of a search: how much the data counts by the errors that are left, finer steps, and
everything free that a tolerance allows to move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..engine.rows import DELAY
from ..logs.log import Log
from ..physics.actuator import Actuator
from . import bench_numbers as numbers
from .optimize import Minimum, levenberg_marquardt
from .parameters import FreeParameters
from .problem import Problem, mean_absolute_errors, problem
from .uncertainty import correlation_time

EFFICIENCY = "gearbox.efficiency"
NO_LOSS = 0.99
"""Efficiency from which on gears count as lossless beside a friction that knows the load."""
NEAR = 40.0
"""Errors, in units of the noise and with their correlation, up to which a bench alone may be to blame."""
MOST_LATE = 12
"""Samples that a latency is looked for in."""
KICKED = ("friction.stribeck_velocity",)
"""Numbers with several valleys: how a joint slips or sticks in one reversal hangs on them."""
KICKS = (0.5, 2.0)
"""Factors that lead out of one."""
ELSEWHERE = 3e-3
"""Share of the cost that a valley must save to be another one; coarser steps change it by about a third."""
CLEARLY_LATE = 0.8
"""Share of the misfit that a latency must leave at most, to be a start."""


class Ended(NamedTuple):
    """Where one start ended, in values, which outlive a change of weights."""

    values: dict[str, float]
    cost: float
    mae: float
    ended: str
    n_evaluations: int

    @staticmethod
    def of(p: Problem, end: Minimum) -> Ended:
        mae = math.inf
        if math.isfinite(end.cost):
            mae = float(np.mean(list(mean_absolute_errors(p, end.x).values())))
        return Ended(p.values(end.x), end.cost, mae, end.ended, end.n_evaluations)


class Weights(NamedTuple):
    """How much the data counts: the standard deviation of an error by output, and the weighted error beyond
    which it counts less."""

    sigma: np.ndarray
    robust: float = np.inf


@dataclass(frozen=True, kw_only=True)
class Found:
    """What the search with one friction came to."""

    problem: Problem
    ends: list[Ended]
    weights: Weights
    guessed: bool
    """Whether the firmware's gain is a guess."""
    interrupted: bool = False

    @property
    def best(self) -> Ended:
        return min(self.ends, key=lambda m: m.cost)

    @property
    def actuator(self) -> Actuator:
        p = self.problem
        return p.actuator_at(p.free.to_x(self.best.values, p.fixed))


class Settled(NamedTuple):
    """An optimum, the problem that it solves, and how far the errors that count were cut."""

    problem: Problem
    end: Minimum
    robust: float


def weighed(p: Problem, x: np.ndarray) -> Weights:
    """Weights by the scatter and correlation that the errors really have; unchanged where noise explains
    them.

    Where the model cannot follow the recording, errors are larger than the noise and last for many samples;
    taken at the weight of independent noise they would drown every prior.
    """
    errors, _ = p.sensitivities(x)
    errors = errors * (p.sigma / p.sigma_noise)
    k = p.outputs.index("position")
    scatter = [float(np.nanmedian(np.abs(e))) if np.isfinite(e).any() else 0.0 for e in errors.T]
    scale = np.maximum(1.4826 * np.array(scatter), 1.0)
    if not np.isfinite(errors).any() or np.all(scale < 1.3):
        return Weights(p.sigma_noise)
    of_logs = np.split(np.nan_to_num(errors[:, k]), p.offsets[1:-1])
    alike = float(np.median([correlation_time(e) for e in of_logs]))
    return Weights(p.sigma_noise * scale * math.sqrt(alike), 1.5 / math.sqrt(alike))


def settled(found: Found, logs: Sequence[Log], tolerances: bool) -> Settled:
    """The optimum with finer steps, and with everything free that a tolerance allows to move; data weighed by
    the errors that are left."""
    p, best = found.problem, dict(found.best.values)
    if best.get(EFFICIENCY, 0.0) > NO_LOSS and p.actuator.friction.loaded:
        del best[EFFICIENCY]
        lossless = replace(p.actuator, gearbox=replace(p.actuator.gearbox, efficiency=None))
        kept = FreeParameters(tuple(n for n in p.free.parameters if n.path != EFFICIENCY))
        simpler = problem(lossless, logs, kept, outputs=p.outputs, substeps=p.substeps)
        simpler.sigma, simpler.sigma_noise = p.sigma, p.sigma_noise
        p = simpler
    more = numbers.within_tolerance(p.actuator, logs, p.free.paths) if tolerances else []
    values = best | {q.name: q.start for q in more}
    q = problem(p.actuator, logs, p.free.with_(more), outputs=p.outputs, substeps=2 * p.substeps)
    q.sigma, q.sigma_noise = p.sigma, p.sigma_noise
    x = q.free.to_x({name: values[name] for name in q.free.names}, q.fixed)
    robust = found.weights.robust
    if robust < np.inf and any(n.path == DELAY for n in more):
        x = _shifted(q, x, robust, p.substeps)
        weights = weighed(q, x)
        q.sigma, robust = weights.sigma, weights.robust
    if robust < np.inf and more and _scale(q) < NEAR:
        # Perhaps it is only the bench that is wrong, and with its numbers free the noise explains the rest.
        before, q.sigma = q.sigma, q.sigma_noise
        end = _slid(q, x, np.inf, p.substeps)
        if math.isfinite(end.cost) and weighed(q, end.x).robust == np.inf:
            x, robust = end.x, np.inf
        else:
            q.sigma = before
    if robust < np.inf:
        x = _slid(q, x, robust, p.substeps).x
        weights = weighed(q, x)
        q.sigma, robust = weights.sigma, weights.robust
    end = _slid(q, x, robust)
    if len(found.ends) > 1:  # the first start did not lead to the noise
        end = _kicked(q, end, robust, p.substeps)
    return Settled(q, end, robust)


def _kicked(q: Problem, end: Minimum, robust: float, substeps: int) -> Minimum:
    """An optimum, or the better one that a valley beside it holds."""
    best, low, high = end, *q.free.bounds()
    values = q.values(end.x)
    for path in KICKED if math.isfinite(end.cost) else ():
        for factor in KICKS if path in q.free.paths else ():
            x = q.free.to_x(values | {path: factor * values[path]}, q.fixed)
            beside = _slid(q, np.clip(x, low, high), robust, substeps)
            if beside.cost < (1.0 - ELSEWHERE) * best.cost:
                best = min(best, _slid(q, beside.x, robust), key=lambda one: one.cost)
    return best


def _shifted(q: Problem, x: np.ndarray, robust: float, substeps: int) -> np.ndarray:
    """x, or where a latency of whole samples leaves clearly less misfit: so near to the best latency that its
    slope leads there."""
    place = next(k for k, n in enumerate(q.free.parameters) if n.path == DELAY)

    def settled_at(latency: float) -> Minimum:
        y = x.copy()
        y[place] = latency
        return levenberg_marquardt(
            q, y, robust=robust, substeps=substeps, most=3, tolerance=1e-3, still=(DELAY,)
        )

    ends = [settled_at(x[place])]
    for n in range(1, MOST_LATE + 1):
        ends.append(settled_at(x[place] + n * q.step))
        if n >= 2 and ends[-1].data_cost > 1.05 * min(end.data_cost for end in ends):
            break
    best = min(ends, key=lambda end: end.data_cost)
    return best.x if best.data_cost < CLEARLY_LATE * ends[0].data_cost else x


def _slid(q: Problem, x: np.ndarray, robust: float, substeps: int | None = None) -> Minimum:
    """Along the valleys in which the bench and the actuator look alike; first with the latency held, whose
    slope is steep where a jump of the command meets the limit of a drive."""
    options: dict[str, Any] = {"robust": robust, "substeps": substeps, "damping": 1e-5}
    rough = 1e-4 if substeps or robust < np.inf else 1e-6
    most = 25 if substeps is None else 10  # a rough one only weighs the errors
    end = levenberg_marquardt(q, x, most=most, tolerance=rough, still=(DELAY,), **options)
    if DELAY not in q.free.paths:
        return end
    again = levenberg_marquardt(q, end.x, most=12, tolerance=rough, **options)
    return again if math.isfinite(again.cost) else end


def _scale(p: Problem) -> float:
    """How much larger the errors of a search were than the noise, correlation included."""
    return float(np.max(p.sigma / p.sigma_noise))
