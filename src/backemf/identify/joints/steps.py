"""What the step of a simulation does to the numbers that are found with it: a part of their errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..uncertainty import Uncertainty
from .search import Settled

FINER = 3
"""How many times finer the step is that the found numbers are held against."""


def with_steps(s: Settled, sure: Uncertainty) -> Uncertainty:
    """Errors that hold for a step of nothing: with a step n times finer the optimum lies d away, by one step
    of Gauss and Newton; what a step does grows with it, so that all of it is n / (n - 1) d."""
    p, x = s.problem, s.x
    fine = p.substeps * FINER
    H, g, cost = p.normal(x, 0.0, s.robust, fine)
    _, there, _ = p.normal(x, 0.0, s.robust, p.substeps)
    if not np.isfinite(cost) or not np.isfinite(H).all():
        return sure
    # the optimum with the own step is not exactly met: only the change of the gradient is the step's
    move = -np.linalg.solve(H + p.free.precision, g - there) * FINER / (FINER - 1)
    extra = np.outer(move, move)
    return replace(sure, covariance=sure.covariance + extra, if_right=sure.if_right + extra)
