"""MuJoCo's dcmotor to and from an Actuator: which side of the gear, which drive,
and what has no place on the other side."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

from ..errors import InvalidValue, MissingValue
from ..model import drive as drives
from ..model.actuator import Actuator
from ..model.cogging import Cogging
from ..model.drive import Brake, Drive, Regulator
from ..model.friction import LuGre, Viscous
from ..model.gearbox import Gearbox
from ..model.motor import Limits, Motor
from ..model.thermal import Thermal
from .dcmotor import Controller, DcMotor
from .eras import gains_to_era1, gains_to_era2


class AsActuator(NamedTuple):
    """The same physics as an actuator. What was sent as ctrl becomes a target by its factor in `targets`,
    in the order of the inputs."""

    actuator: Actuator
    targets: dict[str, float]


def to_actuator(dcmotor: DcMotor, *, motion: str = "rotary") -> AsActuator:
    """The actuator that a dcmotor stands for, exact but for the engine's way of stepping; refused where no
    drive follows its law.

    A negative gear becomes a mirrored rotor: positive ratio, cogging phase and commands with the other sign.
    Quadratic and cubic damping reach the output with gear^2, as the engine has it, not with the powers of a
    real gearbox. Era 1's velocity input counts its integral from position 0, a drives.Velocity from where it
    starts: give it the start
    `integral = -position`.
    """
    N, motor, friction = abs(dcmotor.gear), dcmotor.motor, dcmotor.friction
    if N == 0:
        raise InvalidValue("gear is 0; expected rotor turns per output turn")
    if dcmotor.gear < 0 and motor.cogging is not None:
        motor = dataclasses.replace(
            motor, cogging=dataclasses.replace(motor.cogging, phase=-motor.cogging.phase)
        )
    gearbox = Gearbox(ratio=N)
    over = {
        n: N * N * v
        for n in ("viscous_quadratic", "viscous_cubic")
        if (v := getattr(friction, n)) is not None
    }
    at_output = dataclasses.replace(gearbox.reflect(friction), **over)
    drive, targets = _drive(dcmotor, N)
    return AsActuator(
        Actuator(motor=motor, gearbox=gearbox, friction=at_output, drive=drive, motion=motion), targets
    )


def _drive(dcmotor: DcMotor, N: float) -> tuple[Drive, dict[str, float]]:
    control, inputs, sign = dcmotor.controller, dcmotor.controller.inputs, math.copysign(1.0, dcmotor.gear)
    motion, kp, ki, kd = sign / N, control.kp, 0.0 if control.ki is None else control.ki, control.kd
    if inputs == ():
        return Brake(), {}
    if inputs in ("voltage", ("voltage",)):
        limit = control.voltage_limit if inputs == "voltage" else None  # era 2 never limits this input
        if limit is not None and dcmotor.motor.inductance is None:
            if dcmotor.motor.thermal is not None:
                raise InvalidValue(
                    "era 1's voltage input with a limit, heat and no inductance heats with one voltage and"
                    " pushes with another; no drive does"
                )
            limit = None
        return drives.Voltage(voltage_limit=limit, **_command(control, 0, sign)), {"voltage_target": sign}
    regulator: dict[str, Any] = {"voltage_limit": control.voltage_limit, **_command(control, 0, motion)}
    if control.integral_limit is not None:
        regulator["integral_limit"] = control.integral_limit / N
    if inputs == "position":
        gains = {
            "volts_per_radian": kp * N,
            "volts_per_radian_second": ki * N,
            "volt_seconds_per_radian": kd * N,
        }
        return drives.Position(**gains, **regulator), {"position_target": motion}
    if inputs == "velocity":
        if ki > 0 and control.integral_limit is not None:
            raise InvalidValue(
                "era 1's velocity input limits the integral of its command, not of its error; no drive does:"
                " leave Imax out"
            )
        return drives.Velocity(volt_seconds_per_radian=kp * N, volts_per_radian=ki * N, **regulator), {
            "velocity_target": motion
        }
    if "voltage" in inputs:
        raise InvalidValue(
            f"the inputs are {' '.join(inputs)!r}; no drive adds a raw voltage to a controller: drop one of"
            " the two"
        )
    if "pos" not in inputs and kp != 0:
        raise InvalidValue(
            f"kp is {kp:g} without the pos input, which holds the joint at 0; no drive does: add pos and send"
            " 0, or set kp to 0"
        )
    if inputs[0] != "pos" and control.slew is not None:
        raise InvalidValue(
            f"the slew acts on {inputs[0]!r}; a drive only slews a position: send a slewed {inputs[0]}"
            " instead"
        )
    if any(r is not None for r in control.ctrlrange) and inputs != ("pos",):
        raise InvalidValue(
            "the ctrlrange limits vel or ff; a drive only limits a position: limit them before sending"
        )
    gains = {
        "newton_metres_per_radian": kp * N * N,
        "newton_metres_per_radian_second": ki * N * N,
        "newton_metre_seconds_per_radian": kd * N * N,
    }
    names = {
        "pos": ("position_target", motion),
        "vel": ("velocity_target", motion),
        "ff": ("torque_target", sign * N),
    }
    return drives.Impedance(through="voltage", **gains, **regulator), dict(names[name] for name in inputs)


def _command(control: Controller, k: int, scale: float) -> dict[str, Any]:
    """Slew and range of an input, in the units of its target."""
    found: dict[str, Any] = {} if control.slew is None else {"slew": abs(scale) * control.slew}
    limits = control.ctrlrange[k] if control.ctrlrange else None
    if limits is not None:
        found["command_low"], found["command_high"] = sorted(scale * x for x in limits)
    return found


class AsDcMotor(NamedTuple):
    """The nearest dcmotor. A target becomes ctrl by its factor in `ctrl`, in the order of the inputs."""

    dcmotor: DcMotor
    dropped: list[str]
    """Paths of what an actuator has and a dcmotor cannot carry."""
    ctrl: dict[str, float]


def from_actuator(actuator: Actuator, era: int) -> AsDcMotor:
    """The dcmotor of an actuator, and what it cannot carry.
    Several motors on one output become one of the same effect."""
    N, n = actuator.gearbox.ratio, actuator.gearbox.n_motors
    dropped = [
        f"gearbox.{name}"
        for name in ("efficiency", "backlash")
        if getattr(actuator.gearbox, name) is not None
    ]
    motor = _motor(actuator.motor, n, dropped)
    friction = _friction(actuator.friction, abs(N), dropped)
    controller, ctrl = _controller(actuator, motor, era, dropped)
    made = DcMotor(motor=motor, friction=friction, gear=N, controller=controller)
    converted = gains_to_era2(made) if era == 2 else gains_to_era1(made)
    scaled = {target: factor * converted.ctrl_scale for target, factor in ctrl.items()}
    return AsDcMotor(converted.dcmotor, dropped, scaled)


def _motor(motor: Motor, n: int, dropped: list[str]) -> Motor:
    """n motors on one shaft as one: n times the current through a winding of R / n."""
    K = motor.torque_constant
    for name in ("back_emf_constant", "saturation_current", "iron_loss"):
        if getattr(motor, name) is not None:
            dropped.append(f"motor.{name}")
    if motor.back_emf_constant is not None:
        K = math.sqrt(K * motor.back_emf_constant)
    limits, thermal = motor.limits, None
    if limits is not None:
        dropped += [
            f"motor.limits.{f}"
            for f in ("current", "peak_current", "safe_current")
            if getattr(limits, f) is not None
        ]
        held = [
            t
            for t in (limits.torque, None if limits.current is None else K * limits.current)
            if t is not None
        ]
        torque, rate = (
            n * min(held) if held else None,
            None if limits.current_rate is None else n * limits.current_rate,
        )
        limits = Limits(torque=torque, current_rate=rate) if torque is not None or rate is not None else None
    if isinstance(motor.thermal, Thermal):
        t = motor.thermal
        thermal = dataclasses.replace(
            t, resistance=t.resistance / n, capacitance=t.capacitance * n, magnet_coefficient=None
        )
        dropped += [] if t.magnet_coefficient is None else ["motor.thermal.magnet_coefficient"]
    elif motor.thermal is not None:
        dropped.append("motor.thermal")
    cogging = motor.cogging and Cogging(
        amplitude=n * motor.cogging.amplitude, periods=motor.cogging.periods, phase=motor.cogging.phase
    )
    inductance = None if motor.inductance is None else motor.inductance / n
    return Motor(
        resistance=motor.resistance / n,
        torque_constant=K,
        rotor_inertia=n * motor.rotor_inertia,
        inductance=inductance,
        limits=limits,
        thermal=thermal,
        cogging=cogging,
    )


def _friction(friction: Viscous, N: float, dropped: list[str]) -> Viscous:
    drag = {
        n: v / (N * N)
        for n in ("viscous", "viscous_quadratic", "viscous_cubic")
        if (v := getattr(friction, n)) is not None
    }
    lugre = type(friction) is LuGre
    carried = (
        {*drag, "coulomb", "static", "stribeck_velocity", "stiffness", "damping"} if lugre else set(drag)
    )
    dropped += [
        f"friction.{f.name}"
        for f in dataclasses.fields(friction)
        if f.name not in carried and getattr(friction, f.name) not in (None, 0.0)
    ]
    if not isinstance(friction, LuGre) or not lugre:
        return Viscous(**drag)
    return LuGre(
        **drag,
        coulomb=friction.coulomb / N,
        static=friction.static / N,
        stribeck_velocity=friction.stribeck_velocity * N,
        stiffness=friction.stiffness / (N * N),
        damping=friction.damping / (N * N),
    )


def _controller(
    actuator: Actuator, motor: Motor, era: int, dropped: list[str]
) -> tuple[Controller, dict[str, float]]:
    """The controller in whichever era says the law directly; the other one is a conversion away."""
    drive, N = actuator.drive, actuator.gearbox.ratio
    volts = drive.ceiling({})
    dropped += [f"drive.{n}" for n in ("delay", "deadband") if getattr(drive, n, None)]
    if isinstance(drive, Regulator) and drive.has_integral and drive.freeze_when_saturated:
        dropped.append("drive.freeze_when_saturated")
    if isinstance(drive, Brake):
        return Controller(inputs=()), {}
    if isinstance(drive, drives.Voltage):
        low, high = (
            (-math.inf if drive.command_low is None else drive.command_low),
            (math.inf if drive.command_high is None else drive.command_high),
        )
        low, high = (low, high) if volts is None else (max(low, -volts), min(high, volts))
        ranges = () if math.isinf(low) and math.isinf(high) else ((max(low, -1e9), min(high, 1e9)),)
        return Controller(inputs="voltage", slew=drive.slew, ctrlrange=ranges), {"voltage_target": 1.0}
    if isinstance(drive, drives.Current):
        dropped.append("drive.bandwidth")
        K, n = motor.torque_constant, actuator.gearbox.n_motors
        return Controller(inputs=("ff",), voltage_limit=volts, **_ctrl(drive, K * n)), {
            "current_target": K * n
        }
    common: dict[str, Any] = {"voltage_limit": volts, **_ctrl(drive, N)}
    if isinstance(drive, Regulator) and drive.has_integral and drive.integral_limit is not None:
        common["integral_limit"] = drive.integral_limit * abs(N)
    if N < 0 and not isinstance(drive, drives.Impedance):
        raise InvalidValue(
            f"gearbox.ratio is {N:g} with {drive.kind}, whose voltage then drives away from its"
            " target; expected a positive ratio"
        )
    if isinstance(drive, (drives.Position, drives.Servo)):
        kp, ki, kd = servo_gains(drive)
        return Controller(inputs="position", kp=kp / N, ki=ki / N, kd=kd / N, **common), {
            "position_target": N
        }
    if isinstance(drive, drives.Velocity):
        gains = {"kp": drive.volt_seconds_per_radian / N, "ki": (drive.volts_per_radian or 0.0) / N}
        return Controller(inputs="velocity", **gains, **common), {"velocity_target": N}
    if isinstance(drive, drives.Impedance):
        kp, ki, kd = (
            drive.newton_metres_per_radian,
            drive.newton_metres_per_radian_second or 0.0,
            drive.newton_metre_seconds_per_radian,
        )
        if drive.through == "current":
            dropped.append("drive.bandwidth")
        targets, inputs = (
            {"position_target": N, "velocity_target": N, "torque_target": 1.0 / N},
            ("pos", "vel", "ff"),
        )
        if era == 1:  # one input only
            targets, inputs = {"position_target": N}, ("pos",)
            dropped += ["drive.velocity_target", "drive.torque_target"]
        elif common.get("ctrlrange"):
            common["ctrlrange"] = (*common["ctrlrange"], None, None)
        return Controller(inputs=inputs, kp=kp / (N * N), ki=ki / (N * N), kd=kd / (N * N), **common), targets
    raise InvalidValue(
        f"a dcmotor has no place for {drive.kind}: its winding is always driven or shorted;"
        " expected another drive"
    )


def servo_gains(drive: drives.Position | drives.Servo) -> tuple[float, float, float]:
    """(k_p, k_i, k_d) in volts at the output."""
    if isinstance(drive, drives.Position):
        return (
            drive.volts_per_radian,
            drive.volts_per_radian_second or 0.0,
            drive.volt_seconds_per_radian or 0.0,
        )
    if drive.supply is None:
        raise MissingValue("drive.Servo needs drive.supply to become gains in volts")
    kp = drive.firmware_gain * drive.proportional
    ki, kd = (
        (drive.integral or 0.0) * (drive.firmware_integral_gain or 0.0),
        (drive.derivative or 0.0) * (drive.firmware_derivative_gain or 0.0),
    )
    return drive.supply * kp, drive.supply * ki, drive.supply * kd


def _ctrl(drive: Drive, scale: float) -> dict[str, Any]:
    found: dict[str, Any] = {} if drive.slew is None else {"slew": abs(scale) * drive.slew}
    if drive.command_low is None and drive.command_high is None:
        return found
    if drive.command_low is None or drive.command_high is None:
        raise MissingValue(
            "a dcmotor limits its command on both sides or not at all; give drive.command_low and"
            " drive.command_high"
        )
    low, high = sorted((scale * drive.command_low, scale * drive.command_high))
    return {**found, "ctrlrange": ((low, high),)}
