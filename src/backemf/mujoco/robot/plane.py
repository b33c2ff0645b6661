"""The table or floor that a robot was felt to touch: the plane on which it was pushed, above which it was
not, and below which it never came."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...logs.robot import Ground
from .clearance import Clearance
from .contact import NEAR, SIGNIFICANT, Pushes, stretches

SHORTEST = 0.5
"""Time of touching from which on a plane is believed [s]."""
FLAT = 0.12
"""Scatter of the touching points about a plane, as a share of the heights that the robot's lowest point
passes, up to which it is one: torques that a poor model leaves lie at any height."""
OFTEN = 0.15
"""Share of the moments at or below a plane in which something pushes, at least: what leans lightly is held by
friction."""
SELDOM = 0.1
"""Share of the moments well above it in which something pushes, at most, of the share on it."""
BELOW = 0.01
"""Share of all moments in which the lowest point may be well below it."""
STEEPEST = 0.2
"""Slope up to which a table is one."""
BETTER = 0.4
"""Scatter about a sloping plane, as a share of that about a level one, from which on a slope is believed."""
FEW = 3
"""Separate touches from which on their heights tell how well the plane is known."""
MANY = 6
"""Separate touches from which on they tell a slope."""
BENDING = 1e-3
"""Least error of a plane [m]: links bend."""


def ground_of(
    there: Sequence[Clearance], felt: Sequence[Pushes], clocks: Sequence[np.ndarray]
) -> Ground | None:
    """The plane on which the points lie at which the robot was pushed; None where they lie on none, or
    nothing pushed, or it was pushed elsewhere as well."""
    points = np.concatenate([c.point for c in there])
    pushed = np.concatenate([p.sure > SIGNIFICANT for p in felt])
    step = float(np.median(np.concatenate([np.diff(t) for t in clocks])))
    least = max(SHORTEST / step, 8)
    if pushed.sum() < least:
        return None
    span = float(np.ptp(np.percentile(points[:, 2], [0.1, 99.9])))
    where = points[pushed]
    slopes = np.zeros(2)
    height, scatter, near = _level(where[:, 2], FLAT * span)
    tilted = _tilted(where[near])
    several = sum(len(stretches(p.sure > SIGNIFICANT)) for p in felt) >= MANY
    if tilted is not None and several and tilted[2] < BETTER * scatter:
        height, slopes, scatter = tilted
    scatter = max(scatter, _touches(felt, points, height, slopes, FLAT * span), BENDING)
    ground = Ground(height=height, x_slope=float(slopes[0]), y_slope=float(slopes[1]), error=scatter)
    gap = points[:, 2] - ground.under(points)
    on, above, below = gap < 0.0, gap > 4.0 * scatter, gap < -6.0 * scatter - 0.5 * FLAT * span
    close = np.abs(gap) < 3.0 * scatter
    if scatter > FLAT * span or (pushed & close).sum() < least or below.mean() > BELOW:
        return None
    often = float(pushed[on].mean()) if on.any() else 0.0
    elsewhere = float(pushed[above].mean()) if above.any() else 0.0
    if often < OFTEN or elsewhere > SELDOM * often:
        return None
    return ground


def _touches(
    felt: Sequence[Pushes], points: np.ndarray, height: float, slopes: np.ndarray, width: float
) -> float:
    """Scatter of the heights of separate touches about the plane: one that lasts counts once. Of few it is
    what links bend by."""
    gap = points[:, 2] - height - points[:, :2] @ slopes
    heights, begin = [], 0
    for p in felt:
        own = gap[begin : begin + len(p.sure)]
        begin += len(p.sure)
        heights += [float(np.median(own[a:b])) for a, b in stretches(p.sure > SIGNIFICANT)]
    near = np.array([h for h in heights if abs(h) < width])
    usual = 1.4826 * float(np.median(np.abs(near))) if len(near) else 0.0
    return usual if len(near) >= FEW else max(usual, 0.5 * NEAR)


def _level(z: np.ndarray, width: float) -> tuple[float, float, np.ndarray]:
    """(height, scatter, which) of the heights within the band of this half width that holds most of them."""
    ordered = np.sort(z)
    ends = np.searchsorted(ordered, ordered + 2.0 * width, side="right")
    first = int(np.argmax(ends - np.arange(len(z))))
    height = float(np.median(ordered[first : ends[first]]))
    for _ in range(5):
        near = np.abs(z - height) <= width
        height = float(np.median(z[near]))
    near = np.abs(z - height) <= width
    return height, 1.4826 * float(np.median(np.abs(z[near] - height))), near


def _tilted(points: np.ndarray) -> tuple[float, np.ndarray, float] | None:
    """(height, slopes, scatter) of a sloping plane through points, by iterated weights; None where they do
    not spread enough, or it is too steep."""
    spread = np.std(points[:, :2], axis=0)
    if len(points) < 30 or float(np.max(spread)) < 1e-3:
        return None
    A = np.column_stack([np.ones(len(points)), points[:, :2]])
    weight = np.ones(len(points))
    plane, scatter = np.zeros(3), np.inf
    for _ in range(20):
        # slopes across a direction that the points do not reach into stay next to nothing
        ridge = np.diag([0.0, 1.0, 1.0]) * 1e-6 * weight.sum()
        plane = np.linalg.solve((A * weight[:, None]).T @ A + ridge, (A * weight[:, None]).T @ points[:, 2])
        left = np.abs(points[:, 2] - A @ plane)
        scatter = 1.4826 * float(np.median(left))
        weight = np.minimum(1.0, 1.5 * max(scatter, 1e-6) / np.maximum(left, 1e-9))
    if float(np.hypot(*plane[1:])) > STEEPEST:
        return None
    return float(plane[0]), plane[1:], scatter
