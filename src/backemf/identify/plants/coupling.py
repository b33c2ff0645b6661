"""What the way of simulating does to the numbers that are found with it, as parts of their errors: that steps
are finite, and that each joint is simulated alone, along a smoothed motion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...mujoco.robot.contact import stretches
from ...mujoco.robot.coupled import coupled
from ..uncertainty import ErrorTerm
from .inertia import on_parts
from .plant import Optimum
from .recordings import first_part

if TYPE_CHECKING:
    from .robot import RobotPlant

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
