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
from ..model import drive as drives
from ..model.actuator import Actuator
from ..model.drive import Brake
from ..model.friction import Coulomb, LuGre, Viscous
from ..model.gearbox import Gearbox
from ..model.thermal import Thermal
from ..simulator.actuator import from_actuator
from ..simulator.dcmotor import DcMotor
from .export import Effect, Export, Request, complete, hash_comment, header, number
from .losses import Loss, lacking, weighed
from .motions import reference_inertia
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
    """The same actuator without a gearbox: its motors, as one, turned into a slow strong one at the joint."""
    motor, gearbox, N, n = actuator.motor, actuator.gearbox, actuator.gearbox.ratio, actuator.gearbox.n_motors
    if N < 0:
        raise InvalidValue(
            f"gearbox.ratio is {N:g}; expected a positive ratio: turn the joint's axis round instead"
        )
    limits, cogging, thermal = motor.limits, motor.cogging, motor.thermal
    if limits is not None:
        torque, rate = limits.torque, limits.current_rate
        limits = replace(
            limits,
            torque=None if torque is None else gearbox.output_torque(torque),
            current_rate=None if rate is None else n * rate,
        )
    if cogging is not None:
        cogging = replace(
            cogging, amplitude=gearbox.output_torque(cogging.amplitude), periods=N * cogging.periods
        )
    if isinstance(thermal, Thermal):
        thermal = replace(thermal, resistance=thermal.resistance / n, capacitance=n * thermal.capacitance)
    strong = replace(
        motor,
        resistance=motor.resistance / n,
        torque_constant=N * motor.torque_constant,
        rotor_inertia=gearbox.output_inertia(motor.rotor_inertia),
        inductance=None if motor.inductance is None else motor.inductance / n,
        limits=limits,
        cogging=cogging,
        thermal=thermal,
    )
    return replace(actuator, motor=strong, gearbox=Gearbox())


def write(actuator: Actuator, request: Request) -> Export:
    if isinstance(actuator.drive, (Brake, drives.Current)):
        raise InvalidValue(
            f"mjlab's DC motor has no mode for {actuator.drive.kind}; expected a voltage, position"
            " or velocity drive"
        )
    found = carried(actuator, request._replace(backlash=False), 1)
    joint_side = at_output(found.actuator)
    friction, loss = joint_side.friction, 0.0
    absent = [
        Loss(
            f"friction.{name}",
            "not in mjlab's configuration",
            False,
            without=lacking("friction", **{name: None}),
        )
        for name in ("viscous_quadratic", "viscous_cubic")
        if getattr(friction, name) is not None
    ]
    if isinstance(friction, Coulomb) and not isinstance(friction, LuGre):
        loss = friction.coulomb
        joint_side = replace(joint_side, friction=Viscous(viscous=friction.viscous))
    dcmotor = from_actuator(joint_side, 1).dcmotor
    if (
        dcmotor.motor.limits is not None
        and dcmotor.motor.limits.current_rate is not None
        and actuator.motor.limits is not None
    ):
        slower = lacking("motor", limits=replace(actuator.motor.limits, current_rate=None))
        absent.append(
            Loss("motor.limits.current_rate", "not in mjlab's configuration", False, without=slower)
        )
    dropped = [*found.account.dropped, *weighed(actuator, actuator, absent, request).dropped]
    if dcmotor.controller.ctrlrange:
        text = "mjlab sets no ctrlrange: limit the command before sending, and nothing is lost"
        dropped.append(Effect(path="drive.command_low, command_high, or a voltage drive's supply", text=text))
    inertia = reference_inertia(actuator, request)
    finding = integrator_finding(dcmotor, inertia, request.timestep, request.integrator, "3.11.0")
    findings = () if finding is None else (finding,)
    values = settings(dcmotor, loss, joint_side.drive.delay, request)
    top = header(
        request,
        UNITS,
        dropped=dropped,
        approximated=found.account.approximated,
        findings=findings,
        over=found.account.range,
    )
    if loss > 0:
        settle = (
            f'solreffriction="{number(2 * request.timestep)} 1" solimpfriction="0.9999 0.9999 0.001 0.5 2"'
        )
        top.append(f"frictionloss sticks only with solver settings on the joint in the MJCF: {settle}.")
    kind = str(dcmotor.controller.inputs).upper()
    text = python_file(
        top,
        ["from mjlab.actuator import BuiltinDcMotorActuatorCfg, DcMotorInputMode, DcMotorPhysicalParams"],
        request.joint,
        kind,
        values,
    )
    files = {f"{request.joint}_mjlab.py": text}
    numbers = {k: v for k, v in values.items() if isinstance(v, (int, float))}
    lost = {
        "dropped": dropped,
        "approximated": found.account.approximated,
        "findings": findings,
        "over": found.account.range,
    }
    return complete(request, actuator, files=files, carried=found.actuator, numbers=numbers, **lost)


def settings(dcmotor: DcMotor, loss: float, delay: float | None, request: Request) -> dict[str, Any]:
    """Keyword -> value; what is absent is left to mjlab's defaults, which switch it off."""
    motor, friction, control = dcmotor.motor, dcmotor.friction, dcmotor.controller
    mode = control.inputs
    if mode in ("position", "velocity") and (control.kp <= 0 or control.voltage_limit is None):
        raise InvalidValue(
            f"mjlab's {mode} mode needs a proportional gain and a voltage limit above 0; give drive.supply or"
            " drive.voltage_limit"
        )
    lag = 0 if not delay else max(1, round(delay / request.timestep))
    found: dict[str, Any] = {
        "kt": motor.torque_constant,
        "resistance": motor.resistance,
        "stiffness": control.kp,
        "damping": control.kd,
        "integral_gain": control.ki or 0.0,
        "integral_limit": control.integral_limit or 0.0,
        "slew_rate": control.slew or 0.0,
        "voltage_limit": control.voltage_limit or 0.0,
        "effort_limit": None if motor.limits is None else motor.limits.torque,
        "electrical_time_constant": 0.0 if motor.inductance is None else motor.inductance / motor.resistance,
        "armature": motor.rotor_inertia,
        "frictionloss": loss,
        "viscous_damping": friction.viscous,
        "delay_min_lag": lag,
        "delay_max_lag": lag,
    }
    if isinstance(motor.thermal, Thermal):
        t = motor.thermal
        found["thermal"] = (
            t.resistance,
            t.capacitance,
            0.0,
            t.resistance_coefficient,
            t.reference,
            t.ambient,
        )
    if motor.cogging is not None:
        found["cogging"] = (motor.cogging.amplitude, motor.cogging.periods, motor.cogging.phase)
    if isinstance(friction, LuGre):
        found["lugre"] = (
            friction.stiffness,
            friction.damping,
            friction.coulomb,
            friction.static,
            friction.stribeck_velocity,
        )
    always = ("kt", "resistance", "armature", "frictionloss", "viscous_damping")
    return {k: v for k, v in found.items() if v not in (None, 0, 0.0) or k in always}


def python_file(
    top: Sequence[str], imports: Sequence[str], joint: str, mode: str, values: dict[str, Any]
) -> str:
    """A module with one constant, the configuration."""
    given = {k: v for k, v in values.items() if k not in ("kt", "resistance")}
    K, R = number(values["kt"]), number(values["resistance"])
    lines = [
        f'    target_names_expr=("{joint}",),',
        f"    motor_params=DcMotorPhysicalParams(kt={K}, ke={K}, resistance={R}),",
        f"    mode=DcMotorInputMode.{mode},",
    ]
    lines += [f"    {k}={_literal(v)}," for k, v in given.items()]
    return (
        hash_comment(top)
        + "\n"
        + "\n".join(imports)
        + "\n\nACTUATOR = BuiltinDcMotorActuatorCfg(\n"
        + "\n".join(lines)
        + "\n)\n"
    )


def _literal(value: Any) -> str:
    if isinstance(value, tuple):
        return "(" + ", ".join(repr(float(v)) for v in value) + ")"
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        raise InvalidValue(f"a number for mjlab is {value!r}; expected a finite one")
    return repr(float(value))
