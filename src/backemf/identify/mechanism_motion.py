"""The motion of a mechanism u = kS sgn(v) + kV v + kA a + gravity: exact between changes of the input, with sticking at rest.

Gravity is g_1 + g_c cos(p) + g_s sin(p) and is held over steps of at most 5 ms at their middle (exponential midpoint rule).
The input holds from each of its times to the next; what is measured is the motion a delay ago.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

LONGEST = 0.005
"""Longest step where gravity depends on position [s]."""


def advance(p, v, u, h, kS, kV, kA, g_1, g_c, g_s):  # type: ignore[no-untyped-def]
    """(position, velocity) after h seconds at input u."""
    net = u - g_1
    if g_c != 0.0 or g_s != 0.0:
        middle = p + 0.5 * h * v
        net -= g_c * math.cos(middle) + g_s * math.sin(middle)
    lam = kV / kA
    for _ in range(4):
        if v == 0.0:
            if abs(net) <= kS or net == 0.0:
                return p, 0.0
            s = 1.0 if net > 0 else -1.0
        else:
            s = 1.0 if v > 0 else -1.0
        c = (net - s * kS) / kA
        left, w, phi_1, phi_2 = h, v, 0.0, 0.0
        for part in range(2):
            x = lam * left
            if abs(x) < 1e-3:
                phi_1 = left * (1.0 - x / 2 * (1.0 - x / 3 * (1.0 - x / 4)))
                phi_2 = left * left * (0.5 - x / 6 * (1.0 - x / 4 * (1.0 - x / 5)))
            else:
                phi_1 = -math.expm1(-x) / lam
                phi_2 = (left - phi_1) / lam
            w = v + (c - lam * v) * phi_1
            if part == 1 or w * s >= 0.0:
                break
            ratio = -lam * v / c  # comes to rest on the way
            left = -v / c if abs(ratio) < 1e-9 else math.log1p(ratio) / lam
            left = min(max(left, 0.0), h)
        p += v * phi_1 + c * phi_2
        if left >= h:
            return p, w
        v = 0.0
        h -= left
    return p, v


def _motion(t_u, u, t_0, p_0, v_0, t_v, d_v, t_p, d_p, kS, kV, kA, g_1, g_c, g_s, out_v, out_p):  # type: ignore[no-untyped-def]
    """Velocity at t_v - d_v and position at t_p - d_p of a motion that begins at t_0; before that, its first state."""
    n_u, n_v, n_p = len(t_u), len(t_v), len(t_p)
    i, j, k = 0, 0, 0
    t, p, v = t_0, p_0, v_0
    while j < n_v and t_v[j] - d_v <= t:
        out_v[j] = v
        j += 1
    while k < n_p and t_p[k] - d_p <= t:
        out_p[k] = p
        k += 1
    while i + 1 < n_u and t_u[i + 1] <= t:
        i += 1
    bent = g_c != 0.0 or g_s != 0.0
    while j < n_v or k < n_p:
        end = math.inf
        if j < n_v:
            end = t_v[j] - d_v
        if k < n_p:
            end = min(end, t_p[k] - d_p)
        if i + 1 < n_u:
            end = min(end, t_u[i + 1])
        if bent:
            end = min(end, t + LONGEST)
        if end > t:
            p, v = _step(p, v, u[i], end - t, kS, kV, kA, g_1, g_c, g_s)
            t = end
        while i + 1 < n_u and t_u[i + 1] <= t:
            i += 1
        while j < n_v and t_v[j] - d_v <= t:
            out_v[j] = v
            j += 1
        while k < n_p and t_p[k] - d_p <= t:
            out_p[k] = p
            k += 1


_step: Callable[..., Any] = advance


@functools.lru_cache(maxsize=1)
def _compiled() -> Callable[..., None]:
    global _step
    from numba import njit

    _step = njit(cache=True)(advance)
    return njit(cache=True)(_motion)


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
    """(velocity, position) at their times. `start` is (time, position, velocity), `gains` (kS, kV, kA), `gravity` (g_1, g_c, g_s)."""
    out_v, out_p = np.empty(len(velocity_time)), np.empty(len(position_time))
    _compiled()(input_time, input, *start, velocity_time, velocity_delay, position_time, position_delay, *gains, *gravity, out_v, out_p)
    return out_v, out_p
