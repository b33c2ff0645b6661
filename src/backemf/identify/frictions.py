"""Changing an actuator's friction model: from what is known to a start for a richer one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..errors import InvalidValue, UnknownName
from ..physics.actuator import Actuator
from ..physics.friction import FRICTIONS
from ..physics.quantity import fields_of, parameters
from .parameters import OWN, size, with_absent

LADDER = ("coulomb", "stribeck", "torque-proportional", "m3", "m4", "m5", "m6", "lugre", "load-lugre")
"""Rungs from poor to rich."""
BELOW: dict[str, tuple[str, ...]] = {
    "stribeck": ("coulomb",),
    "torque-proportional": ("coulomb",),
    "m3": ("coulomb",),
    "m4": ("m3", "stribeck"),
    "m5": ("m4",),
    "m6": ("m5",),
    "dahl": ("coulomb",),
    "maxwell-slip": ("coulomb",),
    "lugre": ("stribeck",),
    "load-lugre": ("m4",),
    "load-maxwell-slip": ("m4",),
}
"""The rungs that a friction contains: each starts from what these found."""
BESIDE = ("load_asymmetry", "dwell", "peak", "load_quadratic")
"""Numbers that a friction may have beside its own, most promising first."""
OF_REST = ("dwell", "peak")
"""Those of contacts that stick at once."""
LOSSLESS = 0.95
"""Efficiency of gears at the start of a friction that has the load in its own law."""
ABSENT = 1e-6
"""Share of a usual size at which a number that a poorer friction lacks starts, on top of it."""
SPLIT = {
    "load": ("load_motor", "load_external"),
    "load_stribeck": ("load_motor_stribeck", "load_external_stribeck"),
}
"""Numbers that a richer friction has twice."""


def law(name: str) -> str:
    """A friction's name in the table, for any way to call it; with what it has beside, as in m4+dwell."""
    first, *beside = name.lower().split("+")
    first = FRICTIONS.aliases.get(first, first)
    if first not in FRICTIONS:
        raise UnknownName("friction", first, [*FRICTIONS, *FRICTIONS.aliases])
    for extra in beside:
        if extra not in can_have(first):
            raise UnknownName(f"number beside {first}", extra, can_have(first))
    return "+".join([first, *beside])


def can_have(name: str) -> list[str]:
    """What a friction of the table may have beside its own numbers."""
    cls = FRICTIONS[name]
    return [extra for extra in BESIDE if extra in _fields(cls) and not (cls.bristles and extra in OF_REST)]


def kind_of(name: str) -> type:
    """The class of a friction, for any way to call it."""
    return FRICTIONS[law(name).partition("+")[0]]


def check_possible(paths: Sequence[str], rungs: Sequence[str]) -> None:
    """Refuse to free a number that none of the frictions can have, and that another one can.

    Args:
        paths: wanted free.
        rungs: the frictions, by name.

    Raises:
        InvalidValue: they cannot.
    """
    first = [name.lower().partition("+")[0] for name in rungs]
    there = {FRICTIONS.aliases.get(name, name) for name in first}
    for path in paths:
        having = [name for name, cls in FRICTIONS.items() if path.removeprefix(OWN) in _fields(cls)]
        if path.startswith(OWN) and having and not there & {*having}:
            raise InvalidValue(
                f"also is {path}, which {', '.join(rungs)} cannot have; expected it with friction"
                f" {', '.join(having)}"
            )


def _fields(cls: type) -> set[str]:
    return {f.name for f in fields_of(cls)}


def with_friction(actuator: Actuator, name: str) -> Actuator:
    """The actuator with another friction: shared numbers are kept,
    new ones start at values that servos have."""
    old, cls = actuator.friction, kind_of(name)
    known, values = parameters(old), usual(actuator, cls)
    for k in _fields(cls) & known.keys():
        small = type(old) is not cls and k in ("coulomb", "static", "viscous")  # and so hard to move
        values[k] = max(known[k], values[k]) if small else known[k]
    gearbox = actuator.gearbox
    if cls.loaded and not old.loaded and gearbox.efficiency is not None:
        # What the gears lose is the friction's now; both are free, and the poorer friction is contained.
        gearbox = dataclasses.replace(gearbox, efficiency=max(gearbox.efficiency, LOSSLESS))
    return _with_beside(dataclasses.replace(actuator, friction=cls(**values), gearbox=gearbox), name)


def _with_beside(actuator: Actuator, name: str) -> Actuator:
    return with_absent(actuator, [OWN + extra for extra in law(name).split("+")[1:]])


def usual(actuator: Actuator, cls: type) -> dict[str, float]:
    """Numbers of a friction that an actuator of this size has."""
    fields = {f.name: f.metadata.get("start") for f in dataclasses.fields(cls)}
    return {k: start(size(actuator)) for k, start in fields.items() if start is not None}


def above(actuator: Actuator, name: str) -> Actuator:
    """An actuator with a richer friction that does what its poorer one does, or as nearly so as a start must:
    what the poorer one lacks is next to nothing."""
    cls = kind_of(name)
    known, values = parameters(actuator.friction), usual(actuator, cls)
    for new in values.keys() - known.keys():
        if new.startswith("load"):
            values[new] *= ABSENT
    values |= {k: v for k, v in known.items() if k in _fields(cls)}
    for old, both in SPLIT.items():
        values |= {new: known[old] for new in both if old in known and new in values}
    if "static" in values and "static" not in known:
        values["static"] = values["coulomb"]
    if "stribeck_exponent" in values and "stribeck_velocity" in known:
        values["stribeck_exponent"] = known.get("stribeck_exponent", 2.0)
    return _with_beside(dataclasses.replace(actuator, friction=cls(**values)), name)
