"""The ground as the fitted recordings feel it: how much slides on it, by simulating the moments around each
contact with all joints together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...data.robot import Ground, Robot
from ...robot.contact import stretches
from ...robot.coupled import coupled
from .along import Along, along
from .search import Settled
from .shared import actuators_at

BEFORE, AFTER = 0.8, 0.3
"""Time that is simulated before and after a contact [s]."""
LONGEST = 60.0
"""Seconds of contact that are simulated at most for each candidate."""
FRICTIONS = (0.03, 0.06, 0.12, 0.25, 0.5)
"""Coefficients of friction that are tried, while they help."""
STEP = 5e-3
"""Longest step of these simulations [s]."""


def windows(recordings: list[Along], robot: Robot) -> list[Along]:
    """The moments around each contact, as recordings of their own."""
    found, spent = [], 0.0
    for one in recordings:
        t = one.motion.time
        spans: list[list[float]] = []
        for a, b in stretches(one.touched):
            begin, end = float(t[a]) - BEFORE, float(t[b - 1]) + AFTER
            if spans and begin < spans[-1][1] + BEFORE:
                spans[-1][1] = end
            else:
                spans.append([begin, end])
        for begin, end in spans:
            if spent > LONGEST or np.sum((t >= begin) & (t <= end)) < 30:
                continue
            part = along(robot, one.log.between(begin, end))
            inside = (t >= part.motion.time[0] - 1e-9) & (t <= part.motion.time[-1] + 1e-9)
            found.append(replace(part, touched=one.touched[inside]))
            spent += end - begin
    return found


def refined(s: Settled) -> Settled:
    """The same with the friction of the ground that leaves the least error around its contacts."""
    if s.ground is None or not s.ground.error:
        return s
    robot = s.setup.robot
    acts, delays = actuators_at(s.problem, s.setup, s.x)
    parts = windows(s.recordings, robot)
    places = [robot.place(name) for name in acts]
    if not parts:
        return s

    def misfit(ground: Ground) -> float:
        """Minus the logarithm of the likelihood, with a scatter of its own for each joint: what slides is
        told by joints that the ground does not push upwards."""
        total, count = np.full(len(places), 1e-12), 0
        for one in parts:
            q = coupled(robot, acts, one.log, delays=delays, ground=ground, motion=one.motion, step=STEP)
            error = (q - one.motion.recorded)[one.touched][:, places]
            total += np.sum(np.minimum(np.nan_to_num(error**2, nan=1.0), 1.0), axis=0)
            count += len(error)
        return float(np.sum(np.log(total / max(count, 1))))

    best = (misfit(s.ground), s.ground)
    for friction in FRICTIONS:
        tried = replace(best[1], friction=friction)
        cost = misfit(tried)
        if cost >= best[0]:
            break
        best = (cost, tried)
    return replace(s, ground=best[1])
