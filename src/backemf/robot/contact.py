"""Contact that nobody modelled: where along a recording a robot leans on something, found from the torques
that its actuators cannot explain and from where its lowest point is then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.log import Log
from ..data.logs.start import targets
from ..data.robot import Ground, Robot
from ..model.actuator import Actuator, inertias, signals
from ..model.bench import Recorded
from .clearance import Clearance
from .dynamics import Carried
from .motion import Motion

MOVING = 0.05
"""Speed from which on the direction of dry friction is known [rad/s]."""
SIGNIFICANT = 4.0
"""Scatters of the unexplained torque from which on a push is believed."""
LEAST = 0.1
"""How long a push must last to be one [s]."""
AROUND = 0.15
"""Time before and after a push that is left out with it [s]."""
PLANE = 0.008
"""Scatter of touching points up to which they lie on one plane [m]."""
NEAR = 0.006
"""Height above the ground up to which a robot may touch it [m]: links bend, and shapes are boxes."""


@dataclass(frozen=True, kw_only=True)
class Pushes:
    """Along one recording."""

    force: np.ndarray
    """Upwards at the lowest point, that would explain the torques best [N]."""
    sure: np.ndarray
    """How many of its scatters it is."""


def unexplained(
    actuator: Actuator, log: Log, delay: float, motion: Motion, carried: Carried, j: int
) -> np.ndarray:
    """Torque that must have come from outside, beyond what dry friction can hold; 0 where friction explains
    it [N m]."""
    q, v, a = motion.position[:, j], motion.velocity[:, j], motion.acceleration[:, j]
    t = motion.time
    inputs: dict[str, Any] = {n: log.signals[n].held(t - delay) for n in targets(log, actuator.drive)}
    state: dict[str, Any] = {name: 0.0 * q + x for name, x in actuator.initial_state().items()}
    state |= {"position": motion.recorded[:, j], "velocity": v}
    if "lagged_setpoint" in state:
        state["lagged_setpoint"] = inputs[actuator.drive.followed]
    motor: Any = signals(actuator, state, inputs)["torque"]
    load: Any = carried.load[:, j]
    friction = actuator.friction
    J = carried.inertia[:, j] + inertias(actuator, Recorded(), {"inertia": 0.0}).rotor
    speed: Any = v
    drag = friction.drag(speed) - (friction.offset or 0.0)
    needed = J * a - motor - load + drag
    still = np.abs(v) < MOVING
    direction: Any = np.where(still, -np.sign(needed), np.sign(v))
    s = friction.stribeck(speed)
    level = np.asarray(friction.level(s, motor, load, direction)) + np.zeros(len(v))
    holds = np.sign(needed) * np.maximum(np.abs(needed) - level, 0.0)
    return np.where(still, holds, needed + np.sign(v) * level)


def pushes(torques: np.ndarray, there: Clearance, seen: Sequence[int], t: np.ndarray) -> Pushes:
    """The upward force at the lowest point that explains the torques of the joints `seen` best."""
    torques = torques[:, list(seen)]
    scatter = 1.4826 * np.median(np.abs(torques), axis=0) + 0.15 * np.std(torques, axis=0) + 1e-9
    lever = there.push[:, list(seen)] / scatter
    size = np.maximum(np.sum(lever**2, axis=1), 1e-12)
    force = np.sum(lever * torques / scatter, axis=1) / size
    step = float(np.median(np.diff(t)))
    force = _median(force, max(1, round(LEAST / step)))
    return Pushes(force=force, sure=force * np.sqrt(size))


def _median(x: np.ndarray, n: int) -> np.ndarray:
    from scipy.ndimage import median_filter

    return median_filter(x, size=n | 1, mode="nearest")


def ground_of(there: Sequence[Clearance], felt: Sequence[Pushes]) -> Ground | None:
    """The plane on which the points lie at which the robot was pushed; None where they lie on none, or
    nothing pushed."""
    points = np.concatenate([c.point[p.sure > SIGNIFICANT] for c, p in zip(there, felt, strict=True)])
    if len(points) < 30:
        return None
    lowest = np.concatenate([c.point for c in there])
    z = points[:, 2]
    # A table is where the lowest points of all are: nothing comes below it.
    floor = np.percentile(lowest[:, 2], 0.2)
    height = float(np.median(z[z < floor + 3 * PLANE])) if np.any(z < floor + 3 * PLANE) else floor
    for _ in range(10):
        near = np.abs(z - height) < 3 * PLANE
        if near.sum() < 30:
            return None
        height = float(np.median(z[near]))
    on = np.abs(z - height) < 3 * PLANE
    scatter = float(1.4826 * np.median(np.abs(z[on] - height)))
    below = float(np.mean(lowest[:, 2] < height - 3 * PLANE))
    if scatter > PLANE or below > 0.01:
        return None
    return Ground(height=height, error=scatter)


def touched(there: Clearance, felt: Pushes, ground: Ground | None, t: np.ndarray) -> np.ndarray:
    """Samples in which the robot touches something, or may as near as the ground is known, with some time
    around them."""
    hit = felt.sure > SIGNIFICANT
    if ground is not None:
        gap = there.height - ground.under(there.point)
        near = NEAR + ground.error
        hit = (hit & (gap < 3 * PLANE + ground.error)) | (gap < near) | (felt.sure > 2 * SIGNIFICANT)
    step = float(np.median(np.diff(t)))
    n = max(1, round(AROUND / step))
    return np.convolve(hit.astype(float), np.ones(2 * n + 1), mode="same") > 0.5


def stretches(mask: np.ndarray) -> list[tuple[int, int]]:
    """(first, behind the last) of each stretch that is marked."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def by_joint(
    robot: Robot,
    actuators: Mapping[str, Actuator],
    delays: Mapping[str, float],
    log: Log,
    motion: Motion,
    carried: Carried,
) -> np.ndarray:
    """`unexplained` of every joint, 0 for those without an actuator: (samples, joints)."""
    torques = np.zeros_like(motion.position)
    for name, actuator in actuators.items():
        j = robot.place(name)
        torques[:, j] = unexplained(actuator, log.joints[name], delays.get(name, 0.0), motion, carried, j)
    return torques
