"""Contact that nobody modelled: where along a recording a robot leans on something, found from the torques
that its actuators cannot explain and from where its lowest point is then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...logs.log import Log
from ...logs.robot import Ground, Robot
from ...logs.start import targets
from ...physics.actuator import Actuator, inertias, signals
from ...physics.bench import Recorded
from .clearance import Clearance
from .dynamics import Carried
from .motion import Motion

MOVING = 0.05
"""Speed from which on the direction of dry friction is known [rad/s]."""
KNOWN = 0.15
"""Share of the level of friction by which it is off without anybody having done wrong."""
SIGNIFICANT = 3.0
"""Scatters of the unexplained torque from which on a push is believed."""
LEAST = 0.1
"""How long a push must last to be one [s]."""
AROUND = 0.15
"""Time before and after a push that is left out with it [s]."""
NEAR = 0.006
"""Height above the ground up to which a robot may touch it, beyond the ground's own error [m]: links bend,
and shapes are boxes."""


class Outside(NamedTuple):
    """Torques from outside along a recording, (samples, joints) [N m]."""

    torque: np.ndarray
    """Beyond what dry friction can hold; 0 where friction explains it."""
    level: np.ndarray
    """Of dry friction."""
    moving: np.ndarray
    """Whether the joint moves, so that friction's direction is known."""


@dataclass(frozen=True, kw_only=True)
class Pushes:
    """Along one recording."""

    force: np.ndarray
    """Upwards at the lowest point, that would explain the torques best [N]."""
    sure: np.ndarray
    """How many of its scatters it is."""


def unexplained(
    actuator: Actuator, log: Log, delay: float, motion: Motion, carried: Carried, j: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of one joint: (torque that must have come from outside, beyond what dry friction can hold; friction's
    level; whether it moves)."""
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
    return np.where(still, holds, needed + np.sign(v) * level), level, ~still


def from_outside(
    robot: Robot,
    actuators: Mapping[str, Actuator],
    delays: Mapping[str, float],
    log: Log,
    motion: Motion,
    carried: Carried,
) -> Outside:
    """Of every joint; 0 for those without an actuator."""
    torque, level = np.zeros_like(motion.position), np.zeros_like(motion.position)
    moving = np.zeros(motion.position.shape, bool)
    for name, actuator in actuators.items():
        j = robot.place(name)
        torque[:, j], level[:, j], moving[:, j] = unexplained(
            actuator, log.joints[name], delays.get(name, 0.0), motion, carried, j
        )
    return Outside(np.nan_to_num(torque), np.nan_to_num(level), moving)


def scatter_of(outside: Sequence[Outside]) -> np.ndarray:
    """What each joint's torque from outside scatters by while nothing touches [N m]: over all recordings, and
    never less than friction itself is known to. Joints at rest tell nothing: friction explains whatever is
    left."""
    torque, level, moving = (np.concatenate(part) for part in zip(*outside, strict=True))
    found = np.zeros(torque.shape[1])
    for j in range(torque.shape[1]):
        seen = np.abs(torque[moving[:, j], j])
        usual = 1.4826 * float(np.median(seen)) if len(seen) > 50 else 0.0
        found[j] = np.hypot(usual, KNOWN * float(np.median(level[:, j])))
    return np.maximum(found, 1e-9)


def pushes(outside: Outside, scatter: np.ndarray, there: Clearance, t: np.ndarray) -> Pushes:
    """The upward force at the lowest point that explains the torques best."""
    seen = np.flatnonzero(outside.level.any(axis=0) | outside.torque.any(axis=0))
    lever = there.push[:, seen] / scatter[seen]
    size = np.maximum(np.sum(lever**2, axis=1), 1e-12)
    force = np.sum(lever * outside.torque[:, seen] / scatter[seen], axis=1) / size
    step = float(np.median(np.diff(t)))
    force = _median(force, max(1, round(LEAST / step)))
    return Pushes(force=force, sure=force * np.sqrt(size))


def _median(x: np.ndarray, n: int) -> np.ndarray:
    from scipy.ndimage import median_filter

    return median_filter(x, size=n | 1, mode="nearest")


def touched(there: Clearance, felt: Pushes, ground: Ground | None, t: np.ndarray) -> np.ndarray:
    """Samples in which the robot touches something, or may as near as the ground is known, with some time
    around them."""
    hit = felt.sure > SIGNIFICANT
    if ground is not None:
        gap = there.height - ground.under(there.point)
        near = NEAR + ground.error
        hit = (hit & (gap < 2.0 * near)) | (gap < near) | (felt.sure > 2 * SIGNIFICANT)
    step = float(np.median(np.diff(t)))
    n = max(1, round(AROUND / step))
    return np.convolve(hit.astype(float), np.ones(2 * n + 1), mode="same") > 0.5


def stretches(mask: np.ndarray) -> list[tuple[int, int]]:
    """(first, behind the last) of each stretch that is marked."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
