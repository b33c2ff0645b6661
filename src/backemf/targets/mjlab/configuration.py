"""mjlab 1.6: a `BuiltinDcMotorActuatorCfg`, everything at the joint, because mjlab sends its targets without
the gear.

It runs MuJoCo's `<dcmotor>` of 3.7 to 3.11: stiffness and damping are in V/rad and V s/rad, lags in physics
steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import InvalidValue, NotAvailable
from ...mujoco.actuator import from_actuator
from ...mujoco.attributes import DcMotorAttributes
from ...mujoco.dcmotor import DcMotor
from ...physics.actuator import Actuator
from ...physics.friction import Viscous
from ...physics.gearbox import Gearbox
from ..clocked import Clocked
from ..isaaclab.motor import candidate
from ..motions import reference_inertia
from ..mujoco.dcmotor import attributes, sticking
from ..mujoco.finding import integrator_finding
from ..reduce import carried
from ..result import Effect, Export, Request, complete, hash_comment, header, number
from ..spec import Losses, check_direction
from ..write import weighed

UNITS = (
    "SI at the joint (gear 1): stiffness V/rad, damping V s/rad, integral_gain V/(rad s), limits V and N m,"
    " lags in physics steps."
)
PD_UNITS = (
    "SI at the joint: stiffness N m/rad, damping N m s/rad, efforts N m, speeds rad/s, armature kg m^2,"
    " frictionloss N m, viscous_damping N m s/rad, lags in physics steps."
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
    ("drive.period", "-", "dropped: the law looks at every step"),
    ("drive.derivative_filter", "-", "dropped: D damps the motion, a moving setpoint does not push"),
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
    (
        "an impedance drive",
        "DcMotorActuatorCfg: stiffness, damping, effort_limit, saturation_effort, velocity_limit",
        "N m/rad and N m s/rad behind the torque-speed line",
    ),
    ("motor.limits.current_rate, quadratic and cubic drag", "-", "dropped"),
)
"""Ours -> theirs, for the documentation page."""


def at_output(actuator: Actuator) -> Actuator:
    """The same actuator without a gearbox: its motors, as one, turned into a slow strong one at the joint."""
    check_direction(actuator)
    return replace(actuator.at_ratio(1.0), gearbox=Gearbox())


def _mjlab() -> Any:
    try:
        import mjlab  # type: ignore[import-not-found]  # in an environment of its own
    except ImportError:
        raise NotAvailable(
            "mjlab is not installed here; it needs an environment of its own with MuJoCo 3.11: pip install"
            " mjlab==1.6.0"
        ) from None
    return mjlab


def simulator() -> str:
    """mjlab and its version, on its CPU device."""
    _mjlab()
    import importlib.metadata

    return f"mjlab {importlib.metadata.version('mjlab')} (CPU)"


def run(files: Mapping[str, str], joint: str, case: Clocked) -> np.ndarray:
    """Positions [rad or m] at the case's moments when mjlab builds and drives what the file configures."""
    from .running import moved

    return moved(files, joint, case)


def write(actuator: Actuator, request: Request) -> Export:
    loop = actuator.drive.loop
    if loop is not None and loop.effort != "V":
        return _write_pd(actuator, request)
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
        top.append(_sticks(loss, request.timestep))
    text = python_file(top, request.joint, str(dcmotor.controller.inputs).upper(), values)
    files = {f"{request.joint}_mjlab.py": text}
    numbers = {k: v for k, v in values.items() if isinstance(v, (int, float))}
    return complete(request, actuator, costs, files=files, carried=made, numbers=numbers, findings=findings)


def _write_pd(actuator: Actuator, request: Request) -> Export:
    """A torque or impedance interface: mjlab's PD law in newton-metres behind a torque-speed line."""
    chosen, costs = candidate(actuator, request, late=False)
    x, delay = chosen.values, actuator.drive.delay
    lag = 0 if not delay else max(1, round(delay / request.timestep))
    values: dict[str, Any] = {
        "stiffness": x["stiffness"],
        "damping": x["damping"],
        "effort_limit": min(x["effort"], x["saturation_effort"]),
        "saturation_effort": x["saturation_effort"],
        "velocity_limit": x["velocity"],
        "armature": x["armature"],
        "frictionloss": x["dynamic_friction"],
        "viscous_damping": x["viscous_friction"],
        **({"delay_min_lag": lag, "delay_max_lag": lag} if lag else {}),
    }
    if lag:
        costs = costs._replace(dropped=tuple(e for e in costs.dropped if e.path != "drive.delay"))
    top = header(request, PD_UNITS, costs)
    if values["frictionloss"] > 0:
        top.append(_sticks(values["frictionloss"], request.timestep))
    lines = [
        "",
        "from mjlab.actuator import DcMotorActuatorCfg",
        "",
        "ACTUATOR = DcMotorActuatorCfg(",
        f'    target_names_expr=("{request.joint}",),',
        *(f"    {k}={_literal(v)}," for k, v in values.items()),
        ")",
    ]
    files = {f"{request.joint}_mjlab.py": hash_comment(top) + "\n".join(lines) + "\n"}
    return complete(request, actuator, costs, files=files, carried=chosen.actuator, numbers=values)


def _sticks(loss: float, timestep: float) -> str:
    solver = {k: v for k, v in sticking(loss, timestep).items() if k != "frictionloss"}
    return f"frictionloss sticks only with solver settings on the joint in the MJCF: {attributes(solver)}."


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
