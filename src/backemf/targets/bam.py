"""BAM parameter JSON, models m1 to m6: everything at the output, friction at rest as an addition to the
moving one.

The firmware's law is code in BAM, not part of the file; an actuator read from a file gets the drive it is
given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InvalidValue, MissingValue, UnknownName
from ..physics import drive as drives, steady
from ..physics.actuator import Actuator
from ..physics.drive import Drive
from ..physics.friction import M3, M4, M5, M6, Coulomb, Stribeck, Viscous
from ..physics.motor import Motor
from .result import Export, Request, complete, header
from .spec import NO_PLAY, Losses, check_direction, cooled
from .write import weighed

UNITS = (
    "SI at the output: kt N m/A, R ohm, armature kg m^2, frictions N m, friction_viscous N m s/rad,"
    " dtheta_stribeck rad/s."
)
MOTOR = {"kt": "torque_constant", "R": "resistance", "armature": "rotor_inertia"}
_M1 = {"friction_base": "coulomb", "friction_viscous": "viscous"}
_M2 = {
    **_M1,
    "friction_stribeck": "static",
    "dtheta_stribeck": "stribeck_velocity",
    "alpha": "stribeck_exponent",
}
_M5 = {
    **_M2,
    "load_friction_motor": "load_motor",
    "load_friction_external": "load_external",
    "load_friction_motor_stribeck": "load_motor_stribeck",
    "load_friction_external_stribeck": "load_external_stribeck",
}
MODELS: dict[str, tuple[type[Coulomb], dict[str, str]]] = {
    "m1": (Coulomb, _M1),
    "m2": (Stribeck, _M2),
    "m3": (M3, {**_M1, "load_friction_base": "load"}),
    "m4": (M4, {**_M2, "load_friction_base": "load", "load_friction_stribeck": "load_stribeck"}),
    "m5": (M5, _M5),
    "m6": (
        M6,
        {
            **_M5,
            "load_friction_motor_quad": "load_motor_quadratic",
            "load_friction_external_quad": "load_external_quadratic",
        },
    ),
}
"""Each model's friction and its keys -> our fields; `friction_stribeck` is what rest adds to `friction_base`.
"""
NEAREST = {"viscous": "m1", "coulomb": "m1", "stribeck": "m2", "lugre": "m2", "load-lugre": "m4"}
"""The model of a friction that has another name there."""
MAPPING: tuple[tuple[str, str, str], ...] = (
    ("N motor.torque_constant", "kt", "N m/A at the output"),
    ("motor.resistance / n", "R", "ohm"),
    ("n N^2 motor.rotor_inertia", "armature", "kg m^2"),
    ("friction.coulomb", "friction_base", "N m"),
    ("friction.static - friction.coulomb", "friction_stribeck", "N m"),
    ("friction.viscous (and iron loss)", "friction_viscous", "N m s/rad"),
    ("friction.stribeck_velocity, stribeck_exponent", "dtheta_stribeck, alpha", "rad/s, 1"),
    ("friction.load, load_stribeck", "load_friction_base, load_friction_stribeck", "m3, m4"),
    (
        "friction.load_motor, load_external, _stribeck, _quadratic",
        "load_friction_motor, load_friction_external, _stribeck, _quad",
        "m5, m6",
    ),
    ("drive", "-", "the firmware's law is code in BAM"),
    ("drive.derivative_filter", "-", "dropped: a moving setpoint does not push"),
    ("-", "q_offset", "a property of one recording's mounting; read as a note"),
)
"""Ours -> theirs, for the documentation page."""
why_not_run = "it is a parameter file, which BAM's own tools read"


class Read(NamedTuple):
    """An actuator from a parameter file, with what else the file says."""

    actuator: Actuator
    model: str
    name: str
    """BAM's name of the actuator."""
    offset: float | None
    """q_offset [rad]: the joint's zero against the recordings', where it was identified."""


def read(path: Path | str, *, drive: Drive | None = None) -> Read:
    """An actuator from a BAM parameter file; a missing or unknown key is an error.
    Without a drive, its voltage is the command."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingValue(f"there is no file {str(path)!r}") from None
    except (OSError, ValueError, RecursionError) as error:
        # ValueError: not JSON, not UTF-8, or an integer without end
        raise InvalidValue(f"{path}: not a JSON file that can be read: {error}") from None
    return parse(content, drive=drive, where=Path(path).name)


def parse(content: Any, *, drive: Drive | None = None, where: str = "the parameters") -> Read:
    """As `read`, for the decoded JSON."""
    if not isinstance(content, Mapping):
        raise InvalidValue(
            f"{where}: expected an object with BAM's parameters, found {type(content).__name__}"
        )
    if "model" not in content:
        raise MissingValue(f"{where} has no key 'model'; expected one of {', '.join(MODELS)}")
    model = str(content["model"])
    if model not in MODELS:
        raise UnknownName(f"model in {where}", model, MODELS)
    kind, names = MODELS[model]
    needed, known = {**MOTOR, **names}, {*MOTOR, *names, "model", "actuator", "q_offset"}
    missing = [key for key in (*needed, "actuator") if key not in content]
    if missing:
        raise MissingValue(
            f"{where} has no {', '.join(missing)}; model {model} needs: {', '.join(needed)}. Nothing is"
            " assumed in their place"
        )
    for key, value in content.items():
        if key not in known:
            raise UnknownName(f"key in {where}", key, known)
        if key not in ("model", "actuator") and (
            isinstance(value, bool) or not isinstance(value, (int, float))
        ):
            raise InvalidValue(f"{where}: {key} is {value!r}; expected a number")
    values = {field: float(content[key]) for key, field in names.items()}
    if "static" in values:
        values["static"] += values["coulomb"]
    K_t, R, J = (float(content[key]) for key in MOTOR)
    motor = Motor(torque_constant=K_t, resistance=R, rotor_inertia=J)
    made = Actuator(motor=motor, friction=kind(**values), drive=drives.Voltage() if drive is None else drive)
    offset = content.get("q_offset")
    return Read(made, model, str(content["actuator"]), None if offset is None else float(offset))


def _model_of(friction: Viscous) -> str:
    model = NEAREST.get(friction.name, friction.name)
    if model in MODELS:
        return model
    raise InvalidValue(
        f"BAM has no friction of kind {friction.kind}; expected Viscous, Coulomb, Stribeck, LuGre or M3 to M6"
    )


class Described(NamedTuple):
    """BAM's parameters of an actuator, and what they leave out."""

    content: dict[str, Any]
    losses: Losses


def described(actuator: Actuator, name: str) -> Described:
    """The parameters, `name` being BAM's name of the actuator."""
    motor, gearbox, friction = actuator.motor, actuator.gearbox, actuator.friction
    model, losses, absent = _model_of(friction), Losses(), "not in BAM's parameters"
    check_direction(actuator)
    K_t, K_e, R = motor.torque_constant, motor.back_emf_at(None), motor.resistance
    if K_t != K_e:
        text = f"one constant for K_t = {K_t:.4g} and K_e = {K_e:.4g}"
        losses.keep("motor.back_emf_constant", text)
        R, K_t = R * K_e / K_t, K_e  # keeps torque per volt and no-load speed
    for part in ("saturation_current", "inductance", "thermal", "cogging", "limits"):
        if getattr(motor, part) is not None:
            change = {part: None, **({"limits": cooled(motor.limits)} if part == "thermal" else {})}
            losses.drop(f"motor.{part}", absent, "motor", **change)
    if gearbox.efficiency not in (None, 1.0):
        losses.drop("gearbox.efficiency", absent, "gearbox", efficiency=None)
    if gearbox.backlash is not None:
        losses.drop("gearbox.backlash", absent, "gearbox", **NO_PLAY)
    if friction.bristle:
        losses.keep("friction.stiffness", "no bristle: sticking at once")
    absent_terms = ("viscous_quadratic", "viscous_cubic", "asymmetry", "offset")
    losses.drop_each(actuator, "friction", **dict.fromkeys(absent_terms, absent))
    fields = {field: getattr(friction, field, 0.0) for field in MODELS[model][1].values()}
    fields["viscous"] += steady.iron_drag(actuator)
    if "static" in fields:
        fields["static"] -= fields["coulomb"]
        fields["stribeck_exponent"] = (
            2.0 if fields["stribeck_exponent"] is None else fields["stribeck_exponent"]
        )
    content: dict[str, Any] = {
        "kt": abs(gearbox.ratio) * K_t,
        "R": R / gearbox.n_motors,
        "armature": steady.armature(actuator),
        **{key: fields[field] for key, field in MODELS[model][1].items()},
        "model": model,
        "actuator": name,
    }
    return Described(content, losses)


def write(actuator: Actuator, request: Request) -> Export:
    """The parameter file. JSON has no comments: what was lost stands in a file beside it."""
    (content, losses), own = described(actuator, request.joint), actuator.parameters
    drive = replace(actuator.drive, **losses.drop_push(actuator))
    carried = replace(parse(content, drive=drive).actuator, motion=actuator.motion)
    costs = weighed(actuator, carried, losses, request)
    firmware = "drive: BAM keeps the firmware's law in code"
    if "drive.firmware_gain" in own:
        H, P, V = (own[f"drive.{name}"] for name in ("firmware_gain", "proportional", "supply"))
        firmware += f"; use error_gain {H:g}, kp {P:g}, vin {V:g}"
    files = {
        f"{request.joint}.json": json.dumps(content, indent=4) + "\n",
        f"{request.joint}_notes.txt": "\n".join([*header(request, UNITS, costs), firmware]) + "\n",
    }
    numbers = {k: v for k, v in content.items() if isinstance(v, float)}
    given: dict[str, Any] = {"files": files, "carried": carried, "numbers": numbers, "notes": [firmware]}
    return complete(request, actuator, costs, **given)
