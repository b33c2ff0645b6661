"""MuJoCo's dcmotor to and from an Actuator: which side of the gear, which drive,
and what has no place on the other side."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

from ..errors import InvalidValue, MissingValue
from ..physics import drive as drives
from ..physics.actuator import Actuator
from ..physics.drive import Drive
from ..physics.friction import Viscous
from ..physics.gearbox import Gearbox
from ..physics.motor import Motor
from ..physics.quantity import parameters
from .attributes import motor_limits
from .dcmotor import Controller, DcMotor, gains_to_era1, gains_to_era2, given_in


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
    real gearbox. Era 1's velocity input counts its integral from position 0, a drive.Velocity from where it
    starts: give it the start `integral = -position`.
    """
    N, motor, friction = abs(dcmotor.gear), dcmotor.motor, dcmotor.friction
    if N == 0:
        raise InvalidValue("gear is 0; expected rotor turns per output turn")
    if dcmotor.gear < 0 and motor.cogging is not None:
        motor = replace(motor, cogging=replace(motor.cogging, phase=-motor.cogging.phase))
    gearbox, (drive, targets) = Gearbox(ratio=N), _drive(dcmotor, N)
    at_output = replace(gearbox.reflect(friction), **_drag(friction, N * N))
    actuator = Actuator(motor=motor, gearbox=gearbox, friction=at_output, drive=drive, motion=motion)
    return AsActuator(actuator, targets)


def _drag(friction: Viscous, factor: float) -> dict[str, float]:
    """The engine's three terms of damping behind its gear, which it only knows squared."""
    return {name: factor * v for name, v in friction.drag_terms.items() if v is not None}


def _drive(dcmotor: DcMotor, N: float) -> tuple[Drive, dict[str, float]]:
    control, inputs, sign = dcmotor.controller, dcmotor.controller.inputs, math.copysign(1.0, dcmotor.gear)
    motion, kp, ki, kd = sign / N, control.kp, 0.0 if control.ki is None else control.ki, control.kd
    if inputs == ():
        return drives.Brake(), {}
    if inputs in ("voltage", ("voltage",)):
        return _voltage_drive(dcmotor, sign), {"voltage_target": sign}
    regulator: dict[str, Any] = {"voltage_limit": control.voltage_limit, **_command(control, 0, motion)}
    if control.integral_limit is not None:
        regulator["integral_limit"] = control.integral_limit / N
    if inputs == "position":
        names = ("volts_per_radian", "volts_per_radian_second", "volt_seconds_per_radian")
        gains = {name: k * N for name, k in zip(names, (kp, ki, kd), strict=True)}
        return drives.Position(**gains, **regulator), {"position_target": motion}
    if inputs == "velocity":
        if ki > 0 and control.integral_limit is not None:
            raise InvalidValue(
                "era 1's velocity input limits the integral of its command, not of its error; no drive does:"
                " leave Imax out"
            )
        gains = {"volt_seconds_per_radian": kp * N, "volts_per_radian": ki * N}
        return drives.Velocity(**gains, **regulator), {"velocity_target": motion}
    _check_inputs(control)
    gains = {
        "newton_metres_per_radian": kp * N * N,
        "newton_metres_per_radian_second": ki * N * N,
        "newton_metre_seconds_per_radian": kd * N * N,
    }
    told = {"pos": ("position_target", motion), "vel": ("velocity_target", motion)}
    told["ff"] = ("torque_target", sign * N)
    return drives.Impedance(through="voltage", **gains, **regulator), dict(told[name] for name in inputs)


def _voltage_drive(dcmotor: DcMotor, sign: float) -> Drive:
    control, motor = dcmotor.controller, dcmotor.motor
    limit = control.voltage_limit if control.inputs == "voltage" else None  # era 2 never limits this input
    if limit is not None and motor.inductance is None:
        if motor.thermal is not None:
            raise InvalidValue(
                "era 1's voltage input with a limit, heat and no inductance heats with one voltage and"
                " pushes with another; no drive does"
            )
        limit = None
    return drives.Voltage(voltage_limit=limit, **_command(control, 0, sign))


def _check_inputs(control: Controller) -> None:
    """Refuse inputs of era 2 that no drive has together."""
    inputs, kp = control.inputs, control.kp
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


def _command(control: Controller, k: int, scale: float) -> dict[str, Any]:
    """Slew and range of an input, in the units of its target."""
    command: dict[str, Any] = {} if control.slew is None else {"slew": abs(scale) * control.slew}
    limits = control.ctrlrange[k] if control.ctrlrange else None
    if limits is not None:
        command["command_low"], command["command_high"] = sorted(scale * x for x in limits)
    return command


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
    dropped = given_in(actuator.gearbox, "gearbox", ("efficiency", "backlash"))
    motor = _motor(actuator.motor, n, dropped)
    friction = _friction(actuator.friction, abs(N), dropped)
    controller, ctrl = _controller(actuator, motor, era, dropped)
    dc_motor = DcMotor(motor=motor, friction=friction, gear=N, controller=controller)
    converted = gains_to_era2(dc_motor) if era == 2 else gains_to_era1(dc_motor)
    scaled = {target: factor * converted.ctrl_scale for target, factor in ctrl.items()}
    return AsDcMotor(converted.dcmotor, dropped, scaled)


def _motor(motor: Motor, n: int, dropped: list[str]) -> Motor:
    """n motors on one shaft as one, with what the engine knows of them."""
    K, K_e, limits, heat = motor.torque_constant, motor.back_emf_constant, motor.limits, motor.thermal
    dropped += given_in(motor, "motor", ("back_emf_constant", "saturation_current", "iron_loss"))
    dropped += given_in(limits, "motor.limits", ("current", "peak_current", "safe_current"))
    if heat is not None and len(heat.nodes) > 1:
        dropped.append("motor.thermal")
        heat = None
    elif heat is not None:
        dropped += given_in(heat, "motor.thermal", ("magnet_coefficient",))
        heat = replace(heat, magnet_coefficient=None)
    gone: dict[str, Any] = dict.fromkeys(("back_emf_constant", "saturation_current", "iron_loss", "limits"))
    K = K if K_e is None else math.sqrt(K * K_e)
    plain = replace(motor, **gone, torque_constant=K, thermal=heat)
    if limits is not None:
        plain = replace(plain, limits=motor_limits(limits.largest_torque(plain), limits.current_rate))
    return plain.in_parallel(n)


def _friction(friction: Viscous, N: float, dropped: list[str]) -> Viscous:
    drag, plain = friction.drag_terms, None
    if friction.name == "lugre":
        plain = friction.as_lugre(friction.moving, friction.breakaway, **drag)
    plain = Viscous(**drag) if plain is None else plain
    kept = parameters(plain)
    dropped += [f"friction.{name}" for name, v in parameters(friction).items() if v and name not in kept]
    return replace(Gearbox(ratio=1.0 / N).reflect(plain), **_drag(friction, 1.0 / (N * N)))


def current_loop(actuator: Actuator) -> bool:
    """Whether the drive closes a current loop of its own, of some bandwidth."""
    own = getattr(actuator.drive, "through", "current") == "current"
    return own and "drive.bandwidth" in actuator.parameters


def no_place(drive: Drive) -> InvalidValue:
    """The refusal of a drive that opens the winding."""
    return InvalidValue(
        f"a dcmotor has no place for {drive.kind}: its winding is always driven or shorted;"
        " expected another drive"
    )


def _controller(
    actuator: Actuator, motor: Motor, era: int, dropped: list[str]
) -> tuple[Controller, dict[str, float]]:
    """The controller in whichever era says the law directly; the other one is a conversion away.

    Its length is l = N q. So a command u is sent as N u, and a law that pushes the output forwards,
    v = sgn(N) (k_p (u - q) + k_i x - k_d w), has the gains k / |N| there.
    """
    drive, loop, N, own = actuator.drive, actuator.drive.loop, actuator.gearbox.ratio, actuator.parameters
    volts = drive.ceiling({})
    dropped += _dropped_paths(actuator)
    if drive.open_circuit:
        raise no_place(drive)
    if not drive.followed:
        return Controller(inputs=()), {}
    if drive.followed == "voltage_target":
        law = Controller(inputs="voltage", slew=drive.slew, ctrlrange=_volt_ranges(drive, volts))
        return law, {"voltage_target": 1.0}
    if loop is None:
        per_ampere = motor.torque_constant * actuator.gearbox.n_motors
        law = Controller(inputs=("ff",), voltage_limit=volts, **_ctrl(drive, per_ampere))
        return law, {"current_target": per_ampere}
    common: dict[str, Any] = {"voltage_limit": volts, **_ctrl(drive, N)}
    if drive.has_integral and (most := own.get("drive.integral_limit")) is not None:
        if loop.of == "position":
            common["integral_limit"] = most * abs(N)
        else:  # the engine integrates the command there, not the error
            dropped.append("drive.integral_limit")
    scale = abs(N) if loop.effort == "V" else N * N
    common |= {"kp": loop.proportional / scale, "ki": loop.integral / scale, "kd": loop.derivative / scale}
    if loop.effort == "V":
        return Controller(inputs=loop.of, **common), {f"{loop.of}_target": N}
    if era == 1 and drive.followed == "velocity_target":  # one input only
        dropped.append("drive.torque_target")
        return Controller(inputs=("vel",), **common), {"velocity_target": N}
    if era == 1:
        dropped += ["drive.velocity_target", "drive.torque_target"]
        return Controller(inputs=("pos",), **common), {"position_target": N}
    if "ctrlrange" in common:
        common["ctrlrange"] = (*common["ctrlrange"], None, None)
    targets = {"position_target": N, "velocity_target": N, "torque_target": 1.0 / N}
    return Controller(inputs=("pos", "vel", "ff"), **common), targets


def _dropped_paths(actuator: Actuator) -> list[str]:
    """What no dcmotor has of a drive."""
    drive, own = actuator.drive, actuator.parameters
    dropped = [path for path in ("drive.delay", "drive.period") if own.get(path)]
    dropped += ["drive.freeze_when_saturated"] if drive.freezes else []
    dropped += [f"drive.{name}" for name in (*drive.without_firmware, *drive.without_push)]
    return [*dropped, *(["drive.bandwidth"] if current_loop(actuator) else [])]


def _volt_ranges(drive: Drive, volts: Any) -> tuple[tuple[float, float], ...]:
    """Range of a voltage command, within the supply."""
    low = -math.inf if drive.command_low is None else drive.command_low
    high = math.inf if drive.command_high is None else drive.command_high
    low, high = (low, high) if volts is None else (max(low, -volts), min(high, volts))
    return () if math.isinf(low) and math.isinf(high) else ((max(low, -1e9), min(high, 1e9)),)


def _ctrl(drive: Drive, scale: float) -> dict[str, Any]:
    """Slew and range of a command, in the units of ctrl."""
    ctrl: dict[str, Any] = {} if drive.slew is None else {"slew": abs(scale) * drive.slew}
    if drive.command_low is None and drive.command_high is None:
        return ctrl
    if drive.command_low is None or drive.command_high is None:
        raise MissingValue(
            "a dcmotor limits its command on both sides or not at all; give drive.command_low and"
            " drive.command_high"
        )
    low, high = sorted((scale * drive.command_low, scale * drive.command_high))
    return {**ctrl, "ctrlrange": ((low, high),)}
