"""Which motions stay within limits: simulated at the start, at draws, and with each number moved alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..errors import InvalidValue
from ..physics.quantity import present
from .motions import SafetyLimits
from .outlook import Outlook

INSIDE = 0.9
"""Share of a limit that a simulated motion may use."""
SHY = 0.05
"""Share of the range of positions that it stays away from each end."""
COOLER = 3.0
"""What the winding stays below a limit of temperature [K]."""
REACH = 1.0
"""How far a joint goes, either way, where nobody says [rad]."""
N_DRAWS = 10


@dataclass(frozen=True, kw_only=True)
class Extremes:
    """The most of every motion, over all servos that the start may be: one number a motion."""

    low: np.ndarray
    high: np.ndarray
    velocity: np.ndarray
    current: np.ndarray
    hottest: np.ndarray
    """Temperature of the winding, from its surroundings' on [degC]; 0 where the model does not know."""
    warming: np.ndarray
    """By how much a motion warms it, one row for each servo that was drawn [K]."""


class Heat(NamedTuple):
    """How much every motion warms the winding, (servos, motions), and how much all may together [K]."""

    of: np.ndarray
    most: float


def positions(limits: SafetyLimits, centre: float = 0.0) -> SafetyLimits:
    """The limits with an end on either side."""
    low, high = limits.position_low, limits.position_high
    low = (centre if high is None else min(centre, high - REACH)) - REACH if low is None else low
    high = max(centre, low + REACH) + REACH if high is None else high
    return replace(limits, position_low=low, position_high=high)


def extremes(outlook: Outlook, seed: int = 0) -> Extremes:
    """Simulate every motion with what the servo may be."""
    p = outlook.problem
    q, w = (p.system.states.index(name) for name in ("position", "velocity"))
    warm = "winding_temperature"
    place = p.system.states.index(warm) if warm in p.system.states else None
    rows = []
    for x in (*outlook.draws(N_DRAWS, seed), *outlook.corners()):
        P = p.rows_of(x)
        states = p.of_logs(p.kernels.trajectory(P, p.S, p.batch, p.substeps))
        currents = outlook.currents(x, states)
        rows.append(
            [
                (
                    s[:, q].min(),
                    s[:, q].max(),
                    np.abs(s[:, w]).max(),
                    np.abs(current).max(),
                    0.0 if place is None else s[:, place].max(),
                    0.0 if place is None else s[:, place].max() - s[0, place],
                )
                for s, current in zip(states, currents, strict=True)
            ]
        )
    table = np.nan_to_num(np.array(rows), nan=np.inf)  # (draws, motions, 6)
    low, most = table[:, :, 0].min(axis=0), table.max(axis=0)
    return Extremes(
        low=np.where(np.isfinite(most[:, 1]), low, -np.inf),
        high=most[:, 1],
        velocity=most[:, 2],
        current=most[:, 3],
        hottest=most[:, 4],
        warming=table[: N_DRAWS + 1, :, 5],
    )


def heat_of(most: Extremes, limits: SafetyLimits) -> Heat:
    """Motions follow one another: none of their heat counts as gone before the last has ended."""
    known = np.isfinite(most.hottest)
    if limits.temperature is None or not most.warming[:, known].any():
        return Heat(np.zeros_like(most.warming), math.inf)
    around = float((most.hottest[known] - most.warming[:, known].max(axis=0)).min())
    return Heat(most.warming, limits.temperature - COOLER - around)


def within(most: Extremes, limits: SafetyLimits) -> np.ndarray:
    """Which motions keep to all limits, with something to spare."""
    low, high = present(limits.position_low), present(limits.position_high)
    spare = SHY * 0.5 * (high - low)
    kept = (most.low >= low + spare) & (most.high <= high - spare)
    for values, limit in ((most.velocity, limits.velocity), (most.current, limits.current)):
        if limit is not None:
            kept &= values <= INSIDE * limit
    if limits.temperature is not None:
        kept &= most.hottest <= limits.temperature - COOLER
    return kept


def nothing_fits(most: Extremes, limits: SafetyLimits) -> InvalidValue:
    """Which limit leaves no motion, in words."""
    asked = [
        (name, limit, float(np.min(values)), unit)
        for name, limit, values, unit in (
            ("velocity", limits.velocity, most.velocity, "rad/s"),
            ("current", limits.current, most.current, "A"),
        )
        if limit is not None
    ]
    for name, limit, least, unit in asked:
        if not least <= INSIDE * limit:
            return InvalidValue(
                f"no motion keeps to the limit {name}={limit:g} {unit}: the gentlest reaches {least:.3g}"
                f" {unit}, and {100 * (1 - INSIDE):.0f} % are kept in reserve; allow more, or lower the gain"
            )
    width = 0.0 if limits.position_low is None else (limits.position_high or 0.0) - limits.position_low
    return InvalidValue(
        f"no motion keeps to all limits within a range of {math.degrees(width):.3g} deg; allow a wider range"
        " or more speed and current"
    )
