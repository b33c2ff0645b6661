"""mjlab 1.6: a `BuiltinDcMotorActuatorCfg`, everything at the joint, because mjlab sends its targets without
the gear.

It runs MuJoCo's `<dcmotor>` of 3.7 to 3.11: stiffness and damping are in V/rad and V s/rad, lags in physics
steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..errors import InvalidValue
from ..model.actuator import Actuator
from ..model.friction import Viscous
from ..model.gearbox import Gearbox
from ..simulator.actuator import from_actuator
from ..simulator.attributes import DcMotorAttributes
from ..simulator.dcmotor import DcMotor
from .export import Effect, Export, Request, complete, hash_comment, header, number
from .losses import Losses, check_direction, weighed
from .motions import reference_inertia
from .mujoco.dcmotor import attributes, sticking
from .mujoco.finding import integrator_finding
from .reduce import carried

UNITS = (
    "SI at the joint (gear 1): stiffness V/rad, damping V s/rad, integral_gain V/(rad s), limits V and N m,"
    " lags in physics steps."
)
MAPPING: tuple[tuple[str, str, str], ...] = (
    (
        "N motor.torque_constant",
        "motor_params.kt, .ke",
        "at the joint; mjlab's targets are not multiplied by gear",
    ),
    ("motor.resistance / n", "motor_params.resistance", ""),
    ("drive.volts_per_radian (servo: supply x firmware_gain x proportional)", "stiffness", "V/rad"),
    ("drive.volt_seconds_per_radian", "damping", "V s/rad"),
    ("drive.volts_per_radian_second, integral_limit", "integral_gain, integral_limit", ""),
    ("greatest voltage", "voltage_limit", "required in position and velocity mode"),
    ("drive.slew", "slew_rate", "per second"),
    ("drive.delay", "delay_min_lag, delay_max_lag", "rounded to physics steps"),
    ("motor.limits.torque, .current", "effort_limit", ""),
    ("motor.inductance", "electrical_time_constant", "L / R"),
    ("motor.thermal", "thermal", "one node"),
    ("motor.cogging", "cogging", "amplitude n N A, N times the periods"),
    ("friction of kind LuGre, Dahl", "lugre", "at the joint"),
    (
        "friction of kind Coulomb, or fitted",
        "frictionloss",
        "creeps with MuJoCo's default solver settings: see the file's header",
    ),
    ("friction.viscous", "viscous_damping", ""),
    ("n N^2 motor.rotor_inertia", "armature", ""),
    ("motor.limits.current_rate, quadratic and cubic drag", "-", "dropped"),
)
"""Ours -> theirs, for the documentation page."""


def at_output(actuator: Actuator) -> Actuator:
    """The same actuator without a gearbox: its motors, as one, turned into a slow strong one at the joint.

    Gears that turn the other way become a mirrored rotor, so that the joint keeps its direction.
    """
    check_direction(actuator)
    N, motor = abs(actuator.gearbox.ratio), actuator.motor.ganged(actuator.gearbox.n_motors)
    limits, cogging = motor.limits, motor.cogging
    if limits is not None and limits.torque is not None:
        limits = replace(limits, torque=N * limits.torque)
    if cogging is not None:
        phase = actuator.gearbox.forwards * cogging.phase
        cogging = replace(cogging, amplitude=N * cogging.amplitude, periods=N * cogging.periods, phase=phase)
    K, J = N * motor.torque_constant, N * N * motor.rotor_inertia
    strong = replace(motor, torque_constant=K, rotor_inertia=J, limits=limits, cogging=cogging)
    return replace(actuator, motor=strong, gearbox=Gearbox())


def write(actuator: Actuator, request: Request) -> Export:
    if actuator.drive.followed in ("", "current_target"):
        raise InvalidValue(
            f"mjlab's DC motor has no mode for {actuator.drive.kind}; expected a voltage, position"
            " or velocity drive"
        )
    made, costs = carried(actuator, request._replace(backlash=False), 1)
    joint_side, loss, absent, text = at_output(made), 0.0, Losses(), "not in mjlab's configuration"
    absent.drop_each(joint_side, "friction", viscous_quadratic=text, viscous_cubic=text)
    friction, limits = joint_side.friction, joint_side.motor.limits
    if friction.dry and not friction.bristle:
        loss = friction.moving
        joint_side = replace(joint_side, friction=Viscous(viscous=friction.viscous))
    dcmotor = from_actuator(joint_side, 1).dcmotor
    if limits is not None and limits.current_rate is not None and actuator.motor.limits is not None:
        slower = replace(actuator.motor.limits, current_rate=None)
        absent.drop("motor.limits.current_rate", text, "motor", limits=slower)
    dropped = [*costs.dropped, *weighed(actuator, actuator, absent, request).dropped]
    if dcmotor.controller.ctrlrange:
        text = "mjlab sets no ctrlrange: limit the command before sending, and nothing is lost"
        dropped.append(Effect(path="drive.command_low, command_high, or a voltage drive's supply", text=text))
    costs = costs._replace(dropped=tuple(dropped))
    inertia = reference_inertia(actuator, request)
    finding = integrator_finding(dcmotor, inertia, request.timestep, request.integrator, "3.11.0")
    findings = [] if finding is None else [finding]
    values = settings(dcmotor, loss, joint_side.drive.delay, request)
    top = header(request, UNITS, costs, findings)
    if loss > 0:
        solver = {k: v for k, v in sticking(loss, request.timestep).items() if k != "frictionloss"}
        settle = attributes(solver)
        top.append(f"frictionloss sticks only with solver settings on the joint in the MJCF: {settle}.")
    text = python_file(top, request.joint, str(dcmotor.controller.inputs).upper(), values)
    files = {f"{request.joint}_mjlab.py": text}
    numbers = {k: v for k, v in values.items() if isinstance(v, (int, float))}
    return complete(request, actuator, costs, files=files, carried=made, numbers=numbers, findings=findings)


def settings(dcmotor: DcMotor, loss: float, delay: float | None, request: Request) -> dict[str, Any]:
    """Keyword -> value; what is absent is left to mjlab's defaults, which switch it off."""
    motor, control, given = dcmotor.motor, dcmotor.controller, DcMotorAttributes.of(dcmotor)
    if control.regulates and (control.kp <= 0 or control.voltage_limit is None):
        raise InvalidValue(
            f"mjlab's {control.inputs} mode needs a proportional gain and a voltage limit above 0; give"
            " drive.supply or drive.voltage_limit"
        )
    lag = 0 if not delay else max(1, round(delay / request.timestep))
    values: dict[str, Any] = {
        "kt": motor.torque_constant,
        "resistance": motor.resistance,
        "stiffness": control.kp,
        "damping": control.kd,
        "integral_gain": control.ki,
        "integral_limit": control.integral_limit,
        "slew_rate": control.slew,
        "voltage_limit": control.voltage_limit,
        "effort_limit": None if motor.limits is None else motor.limits.torque,
        "electrical_time_constant": given["inductance:timeconst"],
        "armature": motor.rotor_inertia,
        "frictionloss": loss,
        "viscous_damping": dcmotor.friction.viscous,
        "delay_min_lag": lag,
        "delay_max_lag": lag,
        "thermal": given.thermal,
        "cogging": given.cogging,
        "lugre": given.lugre,
    }
    always = ("kt", "resistance", "armature", "frictionloss", "viscous_damping")
    return {k: v for k, v in values.items() if v or k in always}


def python_file(top: Sequence[str], joint: str, mode: str, values: dict[str, Any]) -> str:
    """A module with one constant, the configuration."""
    given = {k: v for k, v in values.items() if k not in ("kt", "resistance")}
    K, R = number(values["kt"]), number(values["resistance"])
    lines = [
        "",
        "from mjlab.actuator import BuiltinDcMotorActuatorCfg, DcMotorInputMode, DcMotorPhysicalParams",
        "",
        "ACTUATOR = BuiltinDcMotorActuatorCfg(",
        f'    target_names_expr=("{joint}",),',
        f"    motor_params=DcMotorPhysicalParams(kt={K}, ke={K}, resistance={R}),",
        f"    mode=DcMotorInputMode.{mode},",
        *(f"    {k}={_literal(v)}," for k, v in given.items()),
        ")",
    ]
    return hash_comment(top) + "\n".join(lines) + "\n"


def _literal(value: Any) -> str:
    if isinstance(value, tuple):
        return "(" + ", ".join(repr(float(v)) for v in value) + ")"
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        raise InvalidValue(f"a number for mjlab is {value!r}; expected a finite one")
    return repr(float(value))
