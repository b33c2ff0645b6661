"""Heating over time at a constant current or a constant power, and how long until a limit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...errors import MissingValue
from ...physics.actuator import Actuator
from ...physics.thermal import Heat

HOTTEST = 1e5
"""Where a winding that runs away is held, so that numbers stay finite [degC]."""


class Heating(NamedTuple):
    """Temperatures of each node over time, from the ambient."""

    time: np.ndarray
    temperatures: dict[str, np.ndarray]
    """By node, the winding's first [degC]."""


def _thermal(actuator: Actuator) -> Heat:
    thermal = actuator.motor.thermal
    if thermal is None:
        raise MissingValue("the motor has no thermal model: give motor.thermal")
    return thermal


def slowest(thermal: Heat) -> float:
    """Time constant of its outermost node [s]."""
    return [*thermal.time_constants.values()][-1]


def heating(
    actuator: Actuator, time: Any, *, current: Any = None, power: Any = None, most: float = HOTTEST
) -> Heating:
    """From cold: at a current of each motor, whose heat grows with the winding's resistance, or at a power
    that stays. Both may be arrays, of which each gets a row of its own; `most` is where curves end."""
    thermal, motor, t = _thermal(actuator), actuator.motor, np.asarray(time, float)
    given: Any = np.asarray(power if current is None else current, float)
    T: Any = tuple(np.full_like(given, thermal.ambient) for _ in thermal.nodes)
    rows = [T]
    for h in np.diff(t):
        heat = given if current is None else motor.resistance_at(T[0]) * given**2
        T = tuple(np.minimum(x, most) for x in thermal.advance(T, heat, 0.0, h))
        rows.append(T)
    return Heating(t, {name: np.stack([r[k] for r in rows], -1) for k, name in enumerate(thermal.nodes)})


def time_to(actuator: Actuator, limit: float, current: Any) -> np.ndarray:
    """Seconds from cold until the winding is at a limit, over currents; not a number where it never is."""
    t = np.concatenate([[0.0], np.geomspace(1e-5, 8.0, 700) * slowest(_thermal(actuator))])
    winding = next(iter(heating(actuator, t, current=current).temperatures.values()))
    reached = np.full(winding.shape[:-1], np.nan)
    for place in np.ndindex(reached.shape):
        T = winding[place]
        k = int(np.argmax(limit <= T))
        if k:
            share = (limit - T[k - 1]) / max(T[k] - T[k - 1], 1e-12)
            reached[place] = t[k - 1] + (t[k] - t[k - 1]) * share
    return reached
