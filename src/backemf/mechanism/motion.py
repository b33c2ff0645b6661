"""The motion of a mechanism with a recorded input, where it was measured: at times of its own, a delay ago;
and its derivatives.

The engine steps from moment to moment: changes of the input, and the moments that were measured. Before the
motion begins, its first state holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..engine.mechanism import mechanism_kernels
from ..engine.rows import Held, held

LONGEST = 0.005
"""Longest step where gravity depends on position [s]."""


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """The motion at some moments, a row each: position, velocity and acceleration, and their derivatives."""

    values: np.ndarray
    slopes: np.ndarray
    """(moments, 3, columns): in kS, kV, kA, g_1, for an arm g_c and g_s,
    then in the first position and the first velocity."""
    moving: np.ndarray
    """1 where the motion has begun, 0 before: there nothing changes with time."""


def _rows(
    input_time: np.ndarray, input: np.ndarray, begin: float, moments: Sequence[np.ndarray], turning: bool
) -> tuple[Held, list[np.ndarray]]:
    """Intervals between everything that happens, and where each moment lies among their ends."""
    late = [np.maximum(m, begin) for m in moments]
    end = max((float(m[-1]) for m in late if len(m)), default=begin)
    end = max(end, begin + 1e-9)  # at least one interval
    changes = input_time[(input_time > begin) & (input_time < end)]
    fine = np.arange(begin, end, LONGEST) if turning else np.empty(0)
    parts = [np.array([begin, end]), changes, *late]
    times, place = np.unique(np.concatenate([*parts, fine]), return_inverse=True)
    places = (
        np.split(place[2 + len(changes) : len(place) - len(fine)], np.cumsum([len(m) for m in late])[:-1])
        if late
        else []
    )
    acting = np.clip(np.searchsorted(input_time, times, side="right") - 1, 0, len(input) - 1)
    return held(input[acting][:, None], np.diff(times)), places


def _parameters(gains: Sequence[float], gravity: Sequence[float]) -> tuple[list[float], bool]:
    turning = gravity[1] != 0.0 or gravity[2] != 0.0
    return [*gains, gravity[0], *(gravity[1:] if turning else ())], turning


def motion(
    input_time: np.ndarray,
    input: np.ndarray,
    *,
    start: tuple[float, float, float],
    velocity_time: np.ndarray,
    position_time: np.ndarray,
    gains: tuple[float, float, float],
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
    velocity_delay: float = 0.0,
    position_delay: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """(velocity, position) at their times. `start` is (time, position, velocity), `gains` (kS, kV,
    kA), `gravity` (g_1, g_c, g_s)."""
    p, turning = _parameters(gains, gravity)
    rows, (at_v, at_p) = _rows(
        input_time, input, start[0], (velocity_time - velocity_delay, position_time - position_delay), turning
    )
    states = mechanism_kernels(turning).trajectory(p, start[1:], rows)
    return states[at_v, 1], states[at_p, 0]


def positions(
    input_time: np.ndarray,
    input: np.ndarray,
    *,
    start: tuple[float, float, float],
    moments: Sequence[np.ndarray],
    gains: tuple[float, float, float],
    gravity: tuple[float, float, float],
) -> list[np.ndarray]:
    """Position at several sets of moments of one motion."""
    p, turning = _parameters(gains, gravity)
    rows, places = _rows(input_time, input, start[0], moments, turning)
    states = mechanism_kernels(turning).trajectory(p, start[1:], rows)
    return [states[at, 0] for at in places]


def sensitive_motion(
    input_time: np.ndarray,
    input: np.ndarray,
    *,
    start: tuple[float, float, float],
    moments: Sequence[np.ndarray],
    gains: tuple[float, float, float],
    gravity: tuple[float, float, float],
    turning: bool,
) -> list[Sampled]:
    """Everything at several sets of moments of one motion.
    `turning` asks for the columns of an arm even where its gravity is 0."""
    p = [*gains, gravity[0], *(gravity[1:] if turning else ())]
    rows, places = _rows(input_time, input, start[0], moments, turning)
    values, slopes = mechanism_kernels(turning).sensitivities(p, start[1:], rows)
    begun = [(m >= start[0]).astype(float) for m in moments]
    return [
        Sampled(values=values[at], slopes=slopes[at], moving=b) for at, b in zip(places, begun, strict=True)
    ]
