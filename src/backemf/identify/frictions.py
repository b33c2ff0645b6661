"""Changing an actuator's friction model: from what is known to a start for a richer one."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..errors import UnknownName
from ..model.actuator import Actuator
from ..model.friction import FRICTIONS, Viscous
from ..model.steady import ideal_speed

LADDER = ("coulomb", "stribeck", "torque-proportional", "m3", "m4", "m5", "m6", "lugre", "load-lugre")
"""Rungs from poor to rich."""
LOADED = ("torque-proportional", "m3", "m4", "m5", "m6", "load-lugre")
"""Rungs whose level grows with load: they take the place of a gearbox efficiency."""
ALIASES = {"m1": "coulomb", "m2": "stribeck"}


def friction_name(friction: Viscous) -> str:
    return next(name for name, cls in FRICTIONS.items() if type(friction) is cls)


def with_friction(actuator: Actuator, name: str) -> Actuator:
    """The actuator with another friction: shared numbers are kept,
    new ones start at values that servos have."""
    name = ALIASES.get(name.lower(), name.lower())
    if name not in FRICTIONS:
        raise UnknownName("friction", name, [*FRICTIONS, *ALIASES])
    old, gearbox = actuator.friction, actuator.gearbox
    known = {
        f.name: getattr(old, f.name) for f in dataclasses.fields(old) if getattr(old, f.name) is not None
    }
    supply = actuator.drive.supply or 12.0
    stall = float(gearbox.output_torque(actuator.motor.torque_constant) * supply / actuator.motor.resistance)
    speed = ideal_speed(actuator, supply)
    dry = max(known.get("coulomb", 0.0), 0.01 * stall)
    lost = 1.0 - (gearbox.efficiency or 0.85)
    stroke = 2e-3  # radians of bending before a bristle slips
    starts = {
        "coulomb": dry,
        "static": max(known.get("static", 0.0), 1.6 * dry),
        "viscous": max(known.get("viscous", 0.0), 2e-3 * stall / speed),
        "stribeck_velocity": 0.1 * speed,
        "stribeck_exponent": 1.2,
        "load": 0.3 * lost,
        "load_stribeck": 0.15 * lost,
        "load_driving": lost,
        "load_back_driving": lost,
        "load_motor": 0.4 * lost,
        "load_external": 0.2 * lost,
        "load_motor_stribeck": 0.3 * lost,
        "load_external_stribeck": 0.2 * lost,
        "load_motor_quadratic": 0.02 / stall,
        "load_external_quadratic": 0.02 / stall,
        "stiffness": 1.6 * dry / stroke,
        "damping": 0.02 * 1.6 * dry / stroke / max(speed, 1e-9),
    }
    cls = FRICTIONS[name]
    fields = {f.name for f in dataclasses.fields(cls)}
    wanted = {k: v for k, v in starts.items() if k in fields}
    if name in ("stribeck", "m4", "lugre", "load-lugre"):
        wanted.pop("stribeck_exponent", None)  # 2, unless the model is made for another
    kept = {k: v for k, v in known.items() if k in fields and k not in ("coulomb", "static", "viscous")}
    if type(old) is cls:
        kept, wanted = known, {k: v for k, v in wanted.items() if k not in known}
    friction = cls(**{**wanted, **kept})
    gearbox = dataclasses.replace(gearbox, efficiency=None) if name in LOADED else gearbox
    return dataclasses.replace(actuator, friction=friction, gearbox=gearbox)


def friction_size(actuator: Actuator, w: np.ndarray, t_m: float, t_e: float) -> np.ndarray:
    """Friction torque over speed at a load, for tables and plots."""
    f = actuator.friction
    direction = np.where(w >= 0, 1.0, -1.0)
    return np.asarray(f.drag(w) + direction * f.level(f.stribeck(w), t_m, t_e, direction))
