"""Changing an actuator's friction model: from what is known to a start for a richer one."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..errors import UnknownName
from ..model.actuator import Actuator
from ..model.friction import FRICTIONS
from ..model.quantity import parameters
from .free import size

LADDER = ("coulomb", "stribeck", "torque-proportional", "m3", "m4", "m5", "m6", "lugre", "load-lugre")
"""Rungs from poor to rich."""
ALIASES = {"m1": "coulomb", "m2": "stribeck"}


def with_friction(actuator: Actuator, name: str) -> Actuator:
    """The actuator with another friction: shared numbers are kept,
    new ones start at values that servos have."""
    name = ALIASES.get(name.lower(), name.lower())
    if name not in FRICTIONS:
        raise UnknownName("friction", name, [*FRICTIONS, *ALIASES])
    old, gearbox = actuator.friction, actuator.gearbox
    known = parameters(old)
    cls = FRICTIONS[name]
    fields = {f.name: f.metadata.get("start") for f in dataclasses.fields(cls)}
    values = {k: start(size(actuator)) for k, start in fields.items() if start is not None}
    for k in fields.keys() & known.keys():
        small = type(old) is not cls and k in ("coulomb", "static", "viscous")  # and so hard to move
        values[k] = max(known[k], values[k]) if small else known[k]
    gearbox = dataclasses.replace(gearbox, efficiency=None) if cls.loaded else gearbox
    return dataclasses.replace(actuator, friction=cls(**values), gearbox=gearbox)


def friction_size(actuator: Actuator, w: Any, t_m: float, t_e: float) -> np.ndarray:
    """Friction torque over speed (an array) at a load, for tables and plots."""
    f = actuator.friction
    direction: Any = np.where(w >= 0, 1.0, -1.0)
    return np.asarray(f.drag(w) + direction * f.level(f.stribeck(w), t_m, t_e, direction))
