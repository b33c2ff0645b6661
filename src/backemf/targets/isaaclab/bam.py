"""Isaac Lab's main branch: a `BamActuatorCfg`, a servo's firmware with its motor and BAM's frictions.

    volts = vin clip(kp_fw error_gain (u - q), +-max_pwm);  torque = kt (volts - kt w) / R

less a friction that MuJoCo Warp holds: BAM's m1, m2, m5 or m6. m3 and m4 are m5 with equal coefficients for
the motor and the load. Fields as in `BamActuatorCfg` and `BamMotorCfg` of isaaclab.actuators, at commit
0120677 of isaac-sim/IsaacLab.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ...errors import InvalidValue, MissingValue
from ...physics.actuator import Actuator
from ...physics.motor import Limits
from .. import bam
from ..result import Export, Request, complete, hash_comment, header, number
from ..spec import LOOKS, Losses, for_ever
from ..write import weighed

UNITS = (
    "SI at the joint: kt N m/A, resistance ohm, frictions N m, friction_viscous N m s/rad, dtheta_stribeck"
    " rad/s, error_gain 1/rad, vin V, max_current A, armature kg m^2, delays in physics steps."
)
NOT_RUN = (
    "Not run: Isaac Lab does not run here; errors are those of the same law in backemf's own simulation."
)
MAPPING: tuple[tuple[str, str, str], ...] = (
    (
        "friction, N motor.torque_constant, motor.resistance / n",
        "bam: BamMotorCfg, fields as in BAM's files",
        "at the joint; m3 and m4 become m5",
    ),
    ("drive.firmware_gain, proportional, supply, duty_limit", "bam: error_gain, kp_fw, vin, max_pwm", ""),
    ("motor.limits.current, .torque", "bam: max_current", "A of all motors together; 0 is no limit"),
    (
        "twice the stall torque",
        "bam: actuator_effort_limit",
        "so that braking from full speed is not clipped",
    ),
    ("drive.delay", "bam: min_delay, max_delay", "physics steps"),
    ("drive.period", "-", "dropped: the law looks at every step"),
    ("drive.derivative, derivative_filter", "-", "in bam dropped: neither damping nor push"),
)
"""Ours -> theirs, for the documentation page."""
EXACT = ("viscous", "coulomb", "stribeck", "m3", "m4", "m5", "m6")
"""Frictions that it has."""


def write(actuator: Actuator, request: Request) -> Export:
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
    content, losses = bam.described(actuator, request.joint)
    content = _as_m5(content)
    steps = round((drive.delay or 0.0) / request.timestep)
    losses = _lost(actuator, losses, steps * request.timestep)
    most = _largest_current(actuator, content["kt"])
    carried = _carried(actuator, content, most, steps * request.timestep)
    costs = weighed(actuator, carried, losses, request)
    given = {"armature": content["armature"], **_firmware(actuator), "max_current": most}
    stall = given["vin"] * given["max_pwm"] * content["kt"] / content["R"]
    given |= {"actuator_effort_limit": 2.0 * stall, "min_delay": steps, "max_delay": steps}
    values = {**{k: v for k, v in content.items() if k != "armature" and isinstance(v, float)}, **given}
    for name, value in values.items():
        if not 0.0 <= value < math.inf:
            raise InvalidValue(f"{name} for Isaac Lab is {value!r}; expected a finite number of 0 or more")
    top = [*header(request, UNITS, costs), NOT_RUN]
    if steps:
        top.append(f"Delays are counted in physics steps of {1e3 * request.timestep:g} ms.")
    files = {
        f"{request.joint}_isaaclab.py": hash_comment(top) + _text(request.joint, content["model"], values)
    }
    return complete(request, actuator, costs, files=files, carried=carried, numbers=values)


def _as_m5(content: dict[str, Any]) -> dict[str, Any]:
    """m3 and m4 in the terms of m5: the same coefficient for the motor's torque and the load's."""
    if content["model"] not in ("m3", "m4"):
        return content
    base, near_rest = content["load_friction_base"], content.get("load_friction_stribeck", 0.0)
    rest = {"friction_stribeck": 0.0, "dtheta_stribeck": 1.0, "alpha": 1.0, **content, "model": "m5"}
    kept = {k: v for k, v in rest.items() if k not in ("load_friction_base", "load_friction_stribeck")}
    equal = dict.fromkeys(("load_friction_motor", "load_friction_external"), base)
    return kept | equal | dict.fromkeys((f"{name}_stribeck" for name in equal), near_rest)


def _lost(actuator: Actuator, losses: Losses, delay: float) -> Losses:
    """What BAM's parameters lose, without the limits, which it has, and what the firmware leaves out."""
    drive, limits = actuator.drive, actuator.motor.limits
    kept = Losses(loss for loss in losses if loss.path != "motor.limits")
    if limits is not None and limits.peak_current is not None:
        text = "the peak current may flow for ever"
        kept.drop("motor.limits.peak_time", text, "motor", limits=for_ever(limits))
    if limits is not None and limits.current_rate is not None:
        slower = replace(limits, current_rate=None)
        kept.drop("motor.limits.current_rate", "the current follows at once", "motor", limits=slower)
    loop = drive.loop
    if loop is not None and loop.derivative:
        kept.keep("drive derivative", "no derivative gain: only back-EMF damps")
    kept.drop_push(actuator)
    if drive.has_integral:
        kept.drop("drive integral", "no integral", "drive", **drive.without_integral)
    kept.drop_each(actuator, "drive", slew="the setpoint jumps", deadband="every error counts", period=LOOKS)
    if drive.delay and abs(delay - drive.delay) > 1e-9:
        kept.keep("drive.delay", f"rounded to {1e3 * delay:g} ms")
    if drive.command_low is not None or drive.command_high is not None:
        kept.drop("drive.command_low, command_high", "limit the command before sending, and nothing is lost")
    return kept


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


def _carried(actuator: Actuator, content: dict[str, Any], most: float, delay: float) -> Actuator:
    """The same law as an actuator."""
    drive = actuator.drive
    gone: dict[str, Any] = {
        name: None for name in ("slew", "deadband", "period") if getattr(drive, name, None)
    }
    gone |= {n: None for n in ("derivative", "volt_seconds_per_radian") if getattr(drive, n, None)}
    gone |= {**drive.without_integral, **drive.without_push}
    plain = replace(drive, **gone, delay=delay or None)
    made = bam.parse(content, drive=plain).actuator
    limits = Limits(current=most) if most else None
    return replace(made, motor=replace(made.motor, limits=limits), motion=actuator.motion)


def _text(joint: str, model: str, values: dict[str, float]) -> str:
    outer = ("armature", "actuator_effort_limit", "kp_fw", "vin", "min_delay", "max_delay")
    named = {("resistance" if k == "R" else k): v for k, v in values.items() if k not in outer}
    lines = [
        "",
        "from isaaclab.actuators import BamActuatorCfg, BamMotorCfg",
        "",
        "ACTUATOR = BamActuatorCfg(",
        f'    joint_names_expr=["{joint}"],',
        *(f"    {k}={number(values[k])}," for k in outer),
        "    motor=BamMotorCfg(",
        f'        model="{model}",',
        *(f"        {k}={number(v)}," for k, v in named.items()),
        "    ),",
        ")",
    ]
    return "\n".join(lines) + "\n"
