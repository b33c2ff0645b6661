"""A family of short motions: steps, chirps, slow reversals, breakaway ramps, lifts that end in a coast, and
holds under load, each at several sizes; and how far, fast and hot each would take a servo that is not quite
the one that was stated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..errors import InvalidValue
from ..physics.quantity import present
from .motions import EVERY, Motion, SafetyLimits, Track
from .outlook import Outlook

LEVELS = (0.0, 0.75, -0.75)
"""Where slow motions take place, as shares of the reach: without a load, and with one to either side."""


class MotionRange(NamedTuple):
    """Where a joint may be asked to go."""

    centre: float
    """[rad]"""
    size: float
    """How far from the centre, either way [rad]."""
    joint: str = EVERY
    pace: float = 1.0
    """How many times slower than usual."""


def family(reach: MotionRange, *, coasts: bool = True) -> list[Motion]:
    """Every motion that may be chosen, none of them checked against a limit yet.

    Args:
        reach: where the joint may go.
        coasts: whether the torque may go off.

    Returns:
        The motions.
    """
    made = [
        *_steps(reach),
        *_swings(reach),
        *_slow(reach),
        *_breakaways(reach),
        *(_coasts(reach) if coasts else ()),
        *_holds(reach),
    ]
    return [replace(one, name=f"{one.name}-{k}") for k, one in enumerate(made)]


def _motion(reach: MotionRange, name: str, duration: float, track: Track) -> Motion:
    return Motion(name=name, duration=round(reach.pace * duration, 6), tracks={reach.joint: track})


def _track(
    reach: MotionRange,
    times: Sequence[float],
    levels: Sequence[float],
    *,
    between: str = "line",
    coast: float | None = None,
) -> Track:
    """Levels are shares of the reach, around its centre."""
    positions = tuple(round(reach.centre + reach.size * x, 6) for x in levels)
    coast = None if coast is None else round(reach.pace * coast, 6)
    return Track(
        times=tuple(round(reach.pace * t, 6) for t in times),
        positions=positions,
        between=between,
        coast=coast,
    )


def _steps(reach: MotionRange) -> Iterator[Motion]:
    """Steps between levels: torque, back-EMF, gain; small ones stay below the drive's limit."""
    for size in (1.0, 0.5, 0.2, 0.07):
        levels = [size * x for x in (0.0, 1.0, -0.5, 0.5, -1.0)]
        times = [0.1 * (k > 0) + 0.45 * max(k - 1, 0) for k in range(5)]
        yield _motion(reach, "steps", 2.0, _track(reach, times, levels, between="hold"))
    for size, period in ((0.7, 0.3), (0.3, 0.2), (0.1, 0.12)):
        n = round(1.2 / period)
        levels = [0.0, *(size * (-1.0) ** k for k in range(n)), 0.0]
        times = [0.0, *(0.1 + k * period for k in range(n)), 0.1 + n * period]
        yield _motion(reach, "reversals", times[-1] + 0.3, _track(reach, times, levels, between="hold"))


def _swings(reach: MotionRange) -> Iterator[Motion]:
    """Chirps: inertia, delay, and friction over many speeds."""
    for share, low, high in ((0.9, 0.3, 1.2), (0.4, 0.5, 3.0), (0.15, 1.0, 6.0), (0.05, 2.0, 10.0)):
        slow = f"low={low / reach.pace!r}Hz high={high / reach.pace!r}Hz duration={2.5 * reach.pace!r}s"
        text = f"chirp amplitude={share * reach.size!r}rad {slow}"
        command = text + (f" offset={reach.centre!r}rad" if reach.centre else "")
        yield _motion(reach, "chirp", 2.5, Track(command=command))


def _slow(reach: MotionRange) -> Iterator[Motion]:
    """Slow triangles: friction on both sides of a reversal, with a load and without."""
    for level in LEVELS:
        for size, duration in ((0.2, 2.5), (0.08, 2.0)):
            a, b = (level + size, level - size)
            times = [0.0, 0.4, 0.5, *(0.5 + (duration - 0.5) * x for x in (0.25, 0.75, 1.0))]
            levels = [0.0, level, level, a, b, level]
            yield _motion(reach, "slow", duration, _track(reach, times, levels))


def _breakaways(reach: MotionRange) -> Iterator[Motion]:
    """Ramps so slow that the joint sticks before it gives way, in both directions."""
    for level in LEVELS:
        for size in (0.12, 0.03):
            times = [0.0, 0.3, 0.6, 1.5, 1.7, 2.6]
            levels = [0.0, level, level, level + size, level + size, level - 0.3 * size]
            yield _motion(reach, "breakaway", 2.6, _track(reach, times, levels))


def _coasts(reach: MotionRange) -> Iterator[Motion]:
    """Lifted, held for a moment, let go; or let go while moving."""
    for level in (1.0, -1.0, 0.5, 0.25):
        track = _track(reach, (0.0, 0.5), (0.0, level), coast=0.8)
        yield _motion(reach, "lift-coast", 2.2, track)
    for level in (0.8, -0.8, 0.4):
        track = _track(reach, (0.0, 0.1), (-0.3 * level, level), between="hold", coast=0.2)
        yield _motion(reach, "throw-coast", 1.5, track)


def _holds(reach: MotionRange) -> Iterator[Motion]:
    """Held against a load, and moved a little there: lifting and lowering."""
    for level in (0.9, -0.9):
        times = (0.0, 0.5, 0.9, 1.1, 1.5, 1.7)
        levels = [level * x for x in (0.0, 1.0, 1.0, 0.85, 0.85, 1.0)]
        yield _motion(reach, "hold", 2.1, _track(reach, times, levels))


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


class HeatBudget(NamedTuple):
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


def heat_of(most: Extremes, limits: SafetyLimits) -> HeatBudget:
    """Motions follow one another: none of their heat counts as gone before the last has ended."""
    known = np.isfinite(most.hottest)
    if limits.temperature is None or not most.warming[:, known].any():
        return HeatBudget(np.zeros_like(most.warming), math.inf)
    around = float((most.hottest[known] - most.warming[:, known].max(axis=0)).min())
    return HeatBudget(most.warming, limits.temperature - COOLER - around)


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
