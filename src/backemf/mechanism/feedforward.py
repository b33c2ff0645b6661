"""Feedforward as WPILib evaluates it: the input for a wanted motion, continuous,
or exact for an input that holds over a period."""

from __future__ import annotations

import math

from ..errors import InvalidValue

_NO_INERTIA = 1e-9
"""Below this kA the mechanism follows at once and only the next velocity counts."""


def feedforward(
    velocity: float,
    acceleration: float = 0.0,
    *,
    kS: float = 0.0,
    kV: float = 0.0,
    kA: float = 0.0,
    kG: float = 0.0,
    angle: float | None = None,
) -> float:
    """u = kS sgn(v) + kV v + kA a + kG [cos(angle), for an arm whose horizontal is 0]."""
    return (
        kS * _sign(velocity)
        + kV * velocity
        + kA * acceleration
        + kG * (1.0 if angle is None else math.cos(angle))
    )


def feedforward_step(
    current: float,
    following: float,
    *,
    kS: float = 0.0,
    kV: float = 0.0,
    kA: float = 0.0,
    kG: float = 0.0,
    angle: float | None = None,
    period: float = 0.02,
) -> float:
    """The input that takes the mechanism from one velocity to the next in one period, held over it.

    v' = A v + B u with A = -kV / kA, B = 1 / kA: u = (v_next - A_d v) / B_d, A_d = exp(A T), B_d = (A_d - 1)
    B / A, or B T where kV = 0.
    """
    if not period > 0:
        raise InvalidValue(f"period is {period!r} s; expected more than 0")
    gravity = kG * (1.0 if angle is None else math.cos(angle))
    if kA < _NO_INERTIA:
        return kS * _sign(following) + kV * following + gravity
    x = -kV / kA * period
    A_d = math.exp(x)
    B_d = period / kA if kV == 0 else -math.expm1(x) / kV
    return kS * _sign(current) + (following - A_d * current) / B_d + gravity


def _sign(x: float) -> float:
    return float((x > 0) - (x < 0))
