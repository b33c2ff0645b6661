"""BAM: its parameter JSON, and Isaac Lab's `BamActuatorCfg` of the same parameters.

The JSON has models m1 to m6: everything at the output, friction at rest as an addition to the moving one. The
firmware's law is code in BAM, not part of the file; an actuator read from a file gets the drive it is given.

Isaac Lab's main branch has that law too, a servo's firmware with its motor and BAM's frictions:

    volts = vin clip(kp_fw error_gain (u - q), +-max_pwm);  torque = kt (volts - kt w) / R

less a friction that MuJoCo Warp holds: BAM's m1, m2, m5 or m6. m3 and m4 are m5 with equal coefficients for
the motor and the load. Fields as in `BamActuatorCfg` and `BamMotorCfg` of isaaclab.actuators, at commit
0120677 of isaac-sim/IsaacLab.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..bounds import json_of
from ..errors import InvalidValue, MissingValue, UnknownName
from ..findings import Finding
from ..physics import drive as drives, steady
from ..physics.actuator import Actuator
from ..physics.drive import Drive
from ..physics.friction import M3, M4, M5, M6, Coulomb, Stribeck, Viscous
from ..physics.motor import Limits, Motor
from .result import Request, hash_comment, header, number
from .spec import (
    FIRMWARE_ROWS,
    FOR_EVER,
    LAW_PLAY,
    NO_INTEGRAL_ROW,
    NO_PUSH_ROW,
    PERIOD_ROW,
    SEES_JOINT,
    Filling,
    Loss,
    Row,
    TargetLaw,
    TargetSpec,
    absorb,
    carry,
    check_direction,
    drop,
    for_ever,
    present_at,
    without_heat,
)
from .write import weigh_losses

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
FIRMWARE: dict[str, dict[str, float]] = {
    "mx64": {"vin": 15.0, "kp": 32.0, "error_gain": 0.158, "max_pwm": 0.9625},
    "mx106": {"vin": 15.0, "kp": 32.0, "error_gain": 0.158, "max_pwm": 0.9625},
    "xl320": {"vin": 7.5, "kp": 32.0, "error_gain": 0.05048199, "max_pwm": 1.0},
    "xl330": {"vin": 7.5, "kp": 400.0, "max_pwm": 1.0},
    "xl330i": {"vin": 7.5, "kp": 400.0, "error_gain": 0.01},
    "erob80_100": {},
    "erob80_50": {},
    "sts3215": {"vin": 7.4, "kp": 32.0, "error_gain": 0.166, "max_pwm": 0.97},
    "unitree_go1": {},
}
"""Actuators that BAM has, and what its code says of their firmware: better-actuator-models 1.0.2,
bam/actuators.py and bam/*/actuator.py."""
NEAREST = {"viscous": "m1", "coulomb": "m1", "stribeck": "m2", "lugre": "m2", "load-lugre": "m4"}
"""The model of a friction that has another name there."""


class ImportedActuator(NamedTuple):
    """An actuator from a parameter file, with what else the file says."""

    actuator: Actuator
    model: str
    name: str
    """BAM's name of the actuator."""
    offset: float | None
    """q_offset [rad]: the joint's zero against the recordings', where it was identified."""


def read(path: Path | str, *, drive: Drive | None = None) -> ImportedActuator:
    """An actuator from a BAM parameter file; a missing or unknown key is an error.
    Without a drive, its voltage is the command."""
    try:
        content = json_of(path)
    except FileNotFoundError:
        raise MissingValue(f"there is no file {str(path)!r}") from None
    except (OSError, ValueError, RecursionError) as error:
        # ValueError: not JSON, not UTF-8, or an integer without end
        raise InvalidValue(f"{path}: not a JSON file that can be read: {error}") from None
    return parse(content, drive=drive, where=Path(path).name)


def parse(content: Any, *, drive: Drive | None = None, where: str = "the parameters") -> ImportedActuator:
    """As `read`, for the decoded JSON."""
    model = _checked_model(content, where)
    kind, names = MODELS[model]
    values = {field: float(content[key]) for key, field in names.items()}
    if "static" in values:
        values["static"] += values["coulomb"]
    K_t, R, J = (float(content[key]) for key in MOTOR)
    motor = Motor(torque_constant=K_t, resistance=R, rotor_inertia=J)
    actuator = Actuator(
        motor=motor, friction=kind(**values), drive=drives.Voltage() if drive is None else drive
    )
    offset = content.get("q_offset")
    return ImportedActuator(
        actuator, model, str(content["actuator"]), None if offset is None else float(offset)
    )


def _checked_model(content: Any, where: str) -> str:
    """The model of parameters that are whole."""
    if not isinstance(content, Mapping):
        raise InvalidValue(
            f"{where}: expected an object with BAM's parameters, found {type(content).__name__}"
        )
    if "model" not in content:
        raise MissingValue(f"{where} has no key 'model'; expected one of {', '.join(MODELS)}")
    model = str(content["model"])
    if model not in MODELS:
        raise UnknownName(f"model in {where}", model, MODELS)
    _, names = MODELS[model]
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
    return model


def _model_of(friction: Viscous) -> str:
    model = NEAREST.get(friction.name, friction.name)
    if model in MODELS:
        return model
    raise InvalidValue(
        f"BAM has no friction of kind {friction.kind}; expected Viscous, Coulomb, Stribeck, LuGre or M3 to M6"
    )


def parameters(actuator: Actuator, name: str, offset: float | None = None) -> dict[str, Any]:
    """BAM's parameters of an actuator, at the output.

    Args:
        actuator: of a friction that BAM has, or one near it.
        name: BAM's of the actuator.
        offset: q_offset [rad]; None where it is not known.
    """
    motor, gearbox, friction = actuator.motor, actuator.gearbox, actuator.friction
    model = _model_of(friction)
    check_direction(actuator)
    K_t, K_e, R = motor.torque_constant, motor.back_emf_at(None), motor.resistance
    if K_t != K_e:
        R, K_t = R * K_e / K_t, K_e  # keeps torque per volt and no-load speed
    fields = {field: getattr(friction, field, 0.0) for field in MODELS[model][1].values()}
    fields["viscous"] += steady.iron_drag(actuator)
    if "static" in fields:
        fields["static"] -= fields["coulomb"]
        fields["stribeck_exponent"] = (
            2.0 if fields["stribeck_exponent"] is None else fields["stribeck_exponent"]
        )
    return {
        "kt": abs(gearbox.ratio) * K_t,
        "R": R / gearbox.n_motors,
        "armature": steady.armature(actuator),
        **({} if offset is None else {"q_offset": offset}),
        **{key: fields[field] for key, field in MODELS[model][1].items()},
        "model": model,
        "actuator": name,
    }


ABSENT = "not in BAM's parameters"
UNIT = {"friction_viscous": "N m s/rad, with the iron's drag", "dtheta_stribeck": "rad/s", "alpha": "1"}
UNIT |= {"friction_base": "N m", "friction_stribeck": "N m, what rest adds to friction_base"}
NUMBERS = (
    carry("motor.torque_constant", "kt", "N m/A at the output, times ratio"),
    carry("motor.resistance, gearbox.n_motors", "R", "ohm, divided by n_motors"),
    carry("motor.rotor_inertia, gearbox.ratio", "armature", "kg m^2 at the output"),
    *(carry(f"friction.{field}", key, UNIT.get(key, "m3, m4")) for key, field in MODELS["m4"][1].items()),
    *(
        carry(f"friction.{field}", key, "m5, m6")
        for key, field in MODELS["m6"][1].items()
        if key not in MODELS["m4"][1]
    ),
    Row("motor.iron_loss", "friction_viscous", "its drag"),
    Row("friction.load_driving, load_back_driving, softening", "-", "refused: BAM has no such friction"),
)
CONSTANTS = absorb(
    "motor.back_emf_constant",
    lambda a: (
        f"one constant for K_t = {a.motor.torque_constant:.4g} and K_e = {a.motor.back_emf_at(None):.4g}"
    ),
    when=lambda a: a.motor.torque_constant != a.motor.back_emf_at(None),
    remarks="one constant for K_t and K_e",
)
LIMITS = drop("motor.limits", ABSENT, when=present_at("motor.limits"))
LACKS = (
    CONSTANTS,
    drop("motor.saturation_current", ABSENT, when=present_at("motor.saturation_current")),
    drop("motor.inductance", ABSENT, when=present_at("motor.inductance")),
    drop(
        "motor.thermal, limits.safe_current, limits.derating_start, limits.derating_end",
        ABSENT,
        when=present_at("motor.thermal"),
        path="motor.thermal",
        thermal=None,
        limits=without_heat,
    ),
    drop("motor.cogging", ABSENT, when=present_at("motor.cogging")),
    LIMITS,
    drop("gearbox.efficiency", ABSENT, when=lambda a: a.gearbox.efficiency not in (None, 1.0)),
    LAW_PLAY._replace(lose=lambda a, r: [loss._replace(text=ABSENT) for loss in LAW_PLAY.lose(a, r)]),
    absorb(
        "friction.stiffness, damping, damping_exponent",
        "no bristle: sticking at once",
        when=lambda a: a.friction.bristle,
        path="friction.stiffness",
    ),
    *(
        drop(f"friction.{name}", ABSENT)
        for name in (
            *("viscous_quadratic", "viscous_cubic", "asymmetry", "offset"),
            *("peak", "dwell", "load_quadratic", "load_asymmetry"),
        )
    ),
)
"""What BAM's parameters lack."""


def _settle(spec: TargetSpec, actuator: Actuator, request: Request) -> TargetLaw:
    name = request.bam_name or request.joint
    content, losses = parameters(actuator, name, request.q_offset), spec.losses(actuator, request)
    drive = replace(actuator.drive, **_without_law(actuator.drive), **actuator.drive.without_push)
    carried = replace(parse(content, drive=drive).actuator, motion=actuator.motion)
    costs = weigh_losses(actuator, carried, losses, request)
    return TargetLaw(content, carried, costs, (_firmware_finding(actuator, name),))


def _without_law(drive: Drive) -> dict[str, None]:
    """Fields of a drive that BAM's code has nothing for."""
    return {
        name: None for name in ("delay", "slew", "period") if getattr(drive, name, None)
    } | drive.without_firmware


def _firmware_finding(actuator: Actuator, name: str) -> Finding:
    """That voltage and gains are BAM's own; or that BAM will not load the file."""
    if name not in FIRMWARE:
        return Finding(
            code="bam_name_unknown",
            text=f"BAM has no actuator {name!r}, and loads no file of an actuator that it does not have.",
            remedy=f"say which one it is with --bam-name or bam_name=: {', '.join(FIRMWARE)}",
        )
    theirs, ours = FIRMWARE[name], {**_registers(actuator)}
    words = ", ".join(f"{key} {value:g}" for key, value in theirs.items()) or "a law of its own"
    other = ", ".join(
        f"{key} {ours[key]:g}"
        for key, value in theirs.items()
        if key in ours and abs(ours[key] - value) > 1e-3 * abs(value)
    )
    return Finding(
        code="bam_own_firmware",
        text=f"voltage and gains are not in BAM's file but in its code: {name} has {words}"
        + (f"; this actuator has {other}." if other else "."),
        remedy="set them on model.actuator after bam.load_model" if other else "nothing",
        numbers=theirs,
    )


def _registers(actuator: Actuator) -> dict[str, float]:
    """Supply, gains and duty of a servo in BAM's words; of a drive that is none, nothing."""
    own = actuator.parameters
    names = {"vin": "supply", "kp": "proportional", "error_gain": "firmware_gain", "max_pwm": "duty_limit"}
    if "drive.firmware_gain" not in own:
        return {}
    return {key: own[f"drive.{name}"] for key, name in names.items() if f"drive.{name}" in own}


def _place(settled: TargetLaw, numbers: Mapping[str, float], actuator: Actuator, request: Request) -> Filling:
    """The parameter file. JSON has no comments: what was lost stands in a file beside it."""
    own, firmware = actuator.parameters, "drive: BAM keeps the firmware's law in code"
    if "drive.firmware_gain" in own:
        H, P, V = (own[f"drive.{name}"] for name in ("firmware_gain", "proportional", "supply"))
        firmware += f"; use error_gain {H:g}, kp {P:g}, vin {V:g}"
    files = {
        f"{request.joint}.json": json.dumps(settled.law, indent=4) + "\n",
        f"{request.joint}_notes.txt": "\n".join([*header(request, SPEC.units, settled.costs), firmware])
        + "\n",
    }
    return Filling(files=files, notes=[firmware])


SPEC = TargetSpec(
    label="BAM",
    units="SI at the output: kt N m/A, R ohm, armature kg m^2, frictions N m, friction_viscous N m s/rad,"
    " dtheta_stribeck rad/s.",
    rows=(
        *NUMBERS,
        *LACKS,
        NO_PUSH_ROW,
        drop("drive.delay", "every command counts at once"),
        drop("drive.slew", "the setpoint jumps"),
        *FIRMWARE_ROWS,
        PERIOD_ROW,
        Row("drive", "-", "the rest of the firmware's law is code in BAM"),
        Row("-", "q_offset", "the zero of the recordings' mounting: as a fit, a file or `q_offset` says"),
    ),
    file="{joint}.json",
    template="",
    comment=hash_comment,
    settle=_settle,
    place=_place,
    signed=tuple(row.name for row in NUMBERS),
    why_not_run="it is a parameter file, which BAM's own tools read",
)


# Isaac Lab's BamActuatorCfg.


EXACT = ("viscous", "coulomb", "stribeck", "m3", "m4", "m5", "m6")
"""Frictions that it has."""


def _check_isaac(actuator: Actuator) -> None:
    drive, friction = actuator.drive, actuator.friction
    if drive.loop is None or drive.loop.of != "position" or drive.loop.effort != "V":
        raise InvalidValue(
            f"Isaac Lab's BamActuatorCfg is a servo that sets a voltage for a position; {drive.kind} is not:"
            " expected a servo or position drive"
        )
    if drive.ceiling({}) is None:
        raise MissingValue(
            "Isaac Lab's BamActuatorCfg needs a supply voltage; give drive.supply or drive.voltage_limit"
        )
    if friction.name not in EXACT:
        raise InvalidValue(
            f"Isaac Lab's BamActuatorCfg has no friction of kind {friction.kind}; expected Viscous, Coulomb,"
            " Stribeck or M3 to M6"
        )


def _settle_isaac(spec: TargetSpec, actuator: Actuator, request: Request) -> TargetLaw:
    content, losses = _as_m5(parameters(actuator, request.joint)), spec.losses(actuator, request)
    steps = round((actuator.drive.delay or 0.0) / request.timestep)
    most = _largest_current(actuator, content["kt"])
    carried = _carried_actuator(actuator, content, most, steps * request.timestep)
    given_ = {"armature": content["armature"], **_firmware(actuator), "max_current": most}
    stall = given_["vin"] * given_["max_pwm"] * content["kt"] / content["R"]
    given_ |= {"actuator_effort_limit": 2.0 * stall, "min_delay": steps, "max_delay": steps}
    law = {**{k: v for k, v in content.items() if k != "armature"}, **given_}
    return TargetLaw(law, carried, weigh_losses(actuator, carried, losses, request))


OUTER = ("armature", "actuator_effort_limit", "kp_fw", "vin", "min_delay", "max_delay")
"""Fields of `BamActuatorCfg`; the others are those of its motor."""


def _place_isaac(
    settled: TargetLaw, numbers: Mapping[str, float], actuator: Actuator, request: Request
) -> Filling:
    own = [k for k in settled.law if k in numbers and k not in OUTER]
    inner = {("resistance" if k == "R" else k): numbers[k] for k in own}
    fields = {
        "arguments": "\n".join(f"    {k}={number(numbers[k])}," for k in OUTER),
        "motor": "\n".join(f"        {k}={number(v)}," for k, v in inner.items()),
        "model": settled.law["model"],
    }
    lines = [
        "Not run: Isaac Lab does not run here; errors are those of the same law in backemf's own simulation."
    ]
    if numbers["max_delay"]:
        lines.append(f"Delays are counted in physics steps of {1e3 * request.timestep:g} ms.")
    return Filling(fields, lines)


def _as_m5(content: dict[str, Any]) -> dict[str, Any]:
    """m3 and m4 in the terms of m5: the same coefficient for the motor's torque and the load's."""
    if content["model"] not in ("m3", "m4"):
        return content
    base, near_rest = content["load_friction_base"], content.get("load_friction_stribeck", 0.0)
    rest = {"friction_stribeck": 0.0, "dtheta_stribeck": 1.0, "alpha": 1.0, **content, "model": "m5"}
    kept = {k: v for k, v in rest.items() if k not in ("load_friction_base", "load_friction_stribeck")}
    equal = dict.fromkeys(("load_friction_motor", "load_friction_external"), base)
    return kept | equal | dict.fromkeys((f"{name}_stribeck" for name in equal), near_rest)


def _firmware(actuator: Actuator) -> dict[str, float]:
    """error_gain, kp_fw, vin and max_pwm: the registers where the drive has them."""
    drive, own = actuator.drive, actuator.parameters
    volts = float(drive.ceiling({}) or 0.0)
    supply = float(drive.supply or volts)
    if "drive.firmware_gain" in own:
        gains = {"error_gain": own["drive.firmware_gain"], "kp_fw": own["drive.proportional"]}
    else:
        gains = {
            "error_gain": (0.0 if drive.loop is None else drive.loop.proportional) / supply,
            "kp_fw": 1.0,
        }
    return {**gains, "vin": supply, "max_pwm": volts / supply}


def _largest_current(actuator: Actuator, kt: float) -> float:
    """Of all motors together, seen at the joint [A]; 0 where nothing limits it."""
    motor = actuator.motor
    most = None if motor.limits is None else motor.limits.largest_torque(motor)
    return 0.0 if most is None else abs(float(actuator.gearbox.output_torque(most))) / kt


def _carried_actuator(actuator: Actuator, content: dict[str, Any], most: float, delay: float) -> Actuator:
    """The same law as an actuator."""
    drive = actuator.drive
    gone: dict[str, Any] = {**_without_law(drive)}
    gone |= {n: None for n in ("derivative", "volt_seconds_per_radian") if getattr(drive, n, None)}
    gone |= {**drive.without_integral, **drive.without_push}
    plain = replace(drive, **gone | {"delay": delay or None})
    made = parse(content, drive=plain).actuator
    limits = Limits(current=most) if most else None
    return replace(made, motor=replace(made.motor, limits=limits), motion=actuator.motion)


def _lose_delay(actuator: Actuator, request: Request) -> Iterable[Loss]:
    delay = actuator.drive.delay or 0.0
    whole = round(delay / request.timestep) * request.timestep
    if abs(whole - delay) > 1e-9:
        yield Loss("drive.delay", f"rounded to {1e3 * whole:g} ms", True)


ISAAC = TargetSpec(
    label="Isaac Lab",
    units="SI at the joint: kt N m/A, resistance ohm, frictions N m, friction_viscous N m s/rad,"
    " dtheta_stribeck rad/s, error_gain 1/rad, vin V, max_current A, armature kg m^2, delays in physics"
    " steps.",
    rows=(
        *(
            row
            for row in NUMBERS
            if row.name not in ("armature", "load_friction_base", "load_friction_stribeck")
        ),
        carry("motor.rotor_inertia, gearbox.ratio", "armature", "kg m^2 at the joint"),
        carry("drive.firmware_gain", "error_gain", "1/rad; of a position drive V/rad over its supply"),
        carry("drive.proportional, volts_per_radian", "kp_fw", "the register where there is one"),
        carry("drive.supply", "vin", "V"),
        carry("drive.duty_limit, voltage_limit", "max_pwm", "share of vin"),
        carry(
            "motor.limits.current, limits.torque, limits.continuous_current",
            "max_current",
            "A of all motors together; 0 is no limit",
        ),
        carry(
            "law.stall_torque",
            "actuator_effort_limit",
            "twice that, so that braking from full speed is not clipped",
        ),
        carry("drive.delay", "min_delay", "physics steps"),
        carry("drive.delay", "max_delay", "physics steps"),
        Row(
            "friction.load, load_stribeck",
            "load_friction_motor, load_friction_external",
            "m3 and m4 become m5",
        ),
        *(row for row in LACKS if row is not LIMITS),
        drop(
            "motor.limits.peak_time, limits.peak_current",
            FOR_EVER,
            when=lambda a: a.motor.limits is not None and a.motor.limits.peak_current is not None,
            path="motor.limits.peak_time",
            limits=for_ever,
        ),
        drop(
            "motor.limits.current_rate",
            "the current follows at once",
            limits=lambda limits: replace(limits, current_rate=None),
        ),
        absorb(
            "drive.derivative, firmware_derivative_gain, volt_seconds_per_radian",
            "no derivative gain: only back-EMF damps",
            when=lambda a: a.drive.loop is not None and a.drive.loop.derivative,
            path="drive derivative",
        ),
        NO_PUSH_ROW,
        NO_INTEGRAL_ROW,
        drop("drive.slew", "the setpoint jumps"),
        *FIRMWARE_ROWS,
        PERIOD_ROW,
        SEES_JOINT,
        Row(
            "drive.bandwidth, through, newton_metres_per_radian, newton_metre_seconds_per_radian",
            "-",
            "refused: it sets a voltage",
        ),
        Row("drive.delay", "-", "rounded to physics steps", lose=_lose_delay),
        drop(
            "drive.command_low, command_high",
            "limit the command before sending, and nothing is lost",
            when=lambda a: a.drive.command_low is not None or a.drive.command_high is not None,
            measured=False,
        ),
    ),
    file="{joint}_isaaclab.py",
    template="isaaclab_bam.py",
    comment=hash_comment,
    check=_check_isaac,
    settle=_settle_isaac,
    place=_place_isaac,
    why_not_run="Isaac Lab needs Isaac Sim",
)
