"""Trajectories that were sent to a controller, as the target it makes of them: straight lines between points,
cubics where the points have velocities. Each begins where the one before was, and ends it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

STEP = 0.01
"""Between samples [s]; points themselves are always among them."""


class Sent(NamedTuple):
    """One message: when it begins [ns], and the points of each joint after that."""

    begins: int
    joints: tuple[str, ...]
    after: np.ndarray
    """[s]."""
    positions: np.ndarray
    """(points, joints)."""
    velocities: np.ndarray | None


def sent(message: Any, begins: int) -> Sent:
    points = message.points
    after = np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points])
    positions = np.array([list(p.positions) for p in points], float).reshape(len(points), -1)
    moving = [list(p.velocities) for p in points]
    whole = all(len(v) == positions.shape[1] for v in moving) and len(points) > 0
    velocities = np.array(moving, float).reshape(positions.shape) if whole else None
    return Sent(begins, tuple(message.joint_names), after, positions, velocities)


def sampled(plans: Sequence[Sent], began: int, end: float) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The target of each joint: times [s] from `began` and values."""
    ordered = sorted((p for p in plans if len(p.after) and p.positions.size), key=lambda p: p.begins)
    out: dict[str, tuple[list[np.ndarray], list[np.ndarray]]] = {}
    for k, plan in enumerate(ordered):
        start = (plan.begins - began) * 1e-9
        later = [p.begins for p in ordered[k + 1 :] if set(p.joints) & set(plan.joints)]
        until = (later[0] - began) * 1e-9 if later else end
        times = np.union1d(np.arange(0.0, plan.after[-1], STEP), plan.after)
        times = times[start + times < until]
        for j, joint in enumerate(plan.joints[: plan.positions.shape[1]]):
            before = out.setdefault(joint, ([], []))
            values = _between(
                plan, j, times, float(before[1][-1][-1]) if before[1] and len(before[1][-1]) else None
            )
            good = (
                times >= plan.after[0] if not before[1] and plan.after[0] > 0 else np.ones(len(times), bool)
            )
            if good.any():
                before[0].append(start + times[good])
                before[1].append(values[good])
    joined = {j: (np.concatenate(t), np.concatenate(v)) for j, (t, v) in out.items() if t}
    return {j: _increasing(*pair) for j, pair in joined.items()}


def _increasing(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keep = np.concatenate([np.diff(times) > 0, [True]])
    return times[keep], values[keep]


def _between(plan: Sent, j: int, times: np.ndarray, before: float | None) -> np.ndarray:
    """A joint's target `times` after the start."""
    after, q = plan.after, plan.positions[:, j]
    v = None if plan.velocities is None else plan.velocities[:, j]
    if before is not None and after[0] > 0:
        after, q = np.concatenate([[0.0], after]), np.concatenate([[before], q])
        v = None if v is None else np.concatenate([[0.0], v])
    if v is None or len(after) < 2:
        return np.interp(times, after, q)
    k = np.clip(np.searchsorted(after, times, side="right") - 1, 0, len(after) - 2)
    h = np.maximum(after[k + 1] - after[k], 1e-9)
    s = np.clip((times - after[k]) / h, 0.0, 1.0)
    rise, last = 3 * s**2 - 2 * s**3, s**3 - s**2
    return q[k] + (q[k + 1] - q[k]) * rise + h * (v[k] * (s - 2 * s**2 + s**3) + v[k + 1] * last)
