"""Isaac Lab 2.3 and 3.0: a `DCMotorCfg`, whose straight torque-speed line is exactly that of a motor without inductance.

    torque = clip(stiffness (u - q) - damping w, saturation_effort (+-1 - w / velocity_limit), +-effort_limit)

A servo's clipped voltage and its back-EMF make the same: stiffness = k_p K / R, damping = (K + k_d) K / R at the joint.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import InvalidValue, MissingValue
from ..model.actuator import Actuator
from ..model.drive import ImpedanceDrive, PositionDrive, ServoDrive
from ..model.friction import Coulomb, Stribeck
from ..model.motor import Limits
from .approximate import difference, in_words, positions, reference_motions
from .carried import Loss, _fitted, account, carried, levels
from .export import Export, Request, hash_comment, header, number
from .mjlab import at_output
from .mujoco_actuator import _servo_gains

UNITS = "SI at the joint: stiffness N m/rad, damping N m s/rad, efforts N m, speeds rad/s, armature kg m^2, frictions N m and N m s/rad."
NAMES = {"2.3": {"effort": "effort_limit", "velocity": "velocity_limit"}, "3.0": {"effort": "actuator_effort_limit", "velocity": "actuator_velocity_limit"}}
MAPPING: tuple[tuple[str, str, str], ...] = (
    ("stall torque n N K V / R", "saturation_effort", "N m"),
    ("no-load speed V / (N K)", "velocity_limit (3.0: actuator_velocity_limit)", "rad/s"),
    ("torque limit, or the stall torque", "effort_limit (3.0: actuator_effort_limit)", "N m"),
    ("volts per radian x n N K / R", "stiffness", "N m/rad"),
    ("(volt seconds per radian + N K) x n N K / R", "damping", "N m s/rad"),
    ("n N^2 motor.rotor_inertia", "armature", "kg m^2"),
    ("friction at rest", "friction", "an effort in Isaac Sim 5.0 and later, a coefficient in 4.5"),
    ("friction in motion", "dynamic_friction", "Isaac Sim 5.0 and later"),
    ("friction.viscous (and iron loss)", "viscous_friction", "Isaac Sim 5.0 and later"),
    ("inductance, heat, cogging, integral, slew, delay", "-", "dropped; DelayedPDActuatorCfg has a delay, but no torque-speed line"),
)
"""Ours -> theirs, for the documentation page."""


def write(actuator: Actuator, request: Request) -> Export:
    drive = actuator.drive
    if not isinstance(drive, (PositionDrive, ServoDrive, ImpedanceDrive)):
        raise InvalidValue(f"Isaac Lab's DCMotorCfg follows a position; {type(drive).__name__} does not: expected a position, servo or impedance drive")
    if drive.ceiling({}) is None:
        raise MissingValue("Isaac Lab's DCMotorCfg needs a stall torque and a no-load speed; give drive.supply or drive.voltage_limit")
    bare, extra = _bare(actuator)
    found = carried(bare, request._replace(backlash=False, method="formula"), 1)
    poor, kept = _coulomb(found.actuator, actuator, request)
    losses = [*extra, *(Loss(e.path, e.text, False) for e in found.dropped), *(Loss(e.path, e.text, True) for e in (*found.approximated, *kept))]
    dropped, approximated, over = (), (), ""
    if losses:
        motions = reference_motions(actuator, amplitude=request.amplitude, load=request.load)
        over, rich = in_words(actuator, request.amplitude, request.load), positions(actuator, motions)
        left = difference(positions(poor, motions), rich)
        if request.method == "simulation" and any(loss.kept for loss in losses):
            fitted = _fitted(poor, {"friction", "motor"}, actuator, rich, motions, request)
            poor, left = fitted.actuator, fitted.difference
        dropped, approximated = account(actuator, losses, left, rich, motions)
    values = numbers(poor, actuator)
    names = NAMES[request.version]
    top = header(request, UNITS, dropped=dropped, approximated=approximated, over=over)
    top.append("friction is an effort from Isaac Sim 5.0 on, a coefficient in 4.5: leave it out there.")
    lines = [f'    joint_names_expr=["{request.joint}"],'] + [f"    {names.get(k, k)}={number(v)}," for k, v in values.items()]
    text = hash_comment(top) + "\nfrom isaaclab.actuators import DCMotorCfg\n\nACTUATOR = DCMotorCfg(\n" + "\n".join(lines) + "\n)\n"
    return Export(
        target=request.target,
        version=request.version,
        joint=request.joint,
        files={f"{request.joint}_isaaclab.py": text},
        actuator=actuator,
        carried=poor,
        numbers={names.get(k, k): v for k, v in values.items()},
        dropped=dropped,
        approximated=approximated,
        notes=request.notes,
        timestep=request.timestep,
        integrator=request.integrator,
        amplitude=request.amplitude,
        load=request.load,
        range=over,
    )


def _bare(actuator: Actuator) -> tuple[Actuator, list[Loss]]:
    """Without what only a dcmotor has."""
    motor, drive, losses = actuator.motor, actuator.drive, []
    for name, text in (("inductance", "the torque follows at once"), ("thermal", "nothing warms"), ("cogging", "no cogging")):
        if getattr(motor, name) is not None:
            cool = {"limits": None if motor.limits is None else replace(motor.limits, safe_current=None, derating_start=None, derating_end=None)}
            change: dict[str, Any] = {name: None, **(cool if name == "thermal" else {})}
            losses.append(Loss(f"motor.{name}", text, False, without=lambda a, change=change: replace(a, motor=replace(a.motor, **change))))
            motor = replace(motor, **change)
    changes: dict[str, Any] = {}
    if drive.has_integral:
        changes[
            "integral"
            if isinstance(drive, ServoDrive)
            else "newton_metres_per_radian_second"
            if isinstance(drive, ImpedanceDrive)
            else "volts_per_radian_second"
        ] = None
        losses.append(Loss("drive integral", "no integral", False))
    for name, text in (("slew", "the setpoint jumps"), ("delay", "no delay")):
        if getattr(drive, name):
            changes[name] = None
            losses.append(Loss(f"drive.{name}", text, False, without=lambda a, name=name: replace(a, drive=replace(a.drive, **{name: None}))))
    return replace(actuator, motor=motor, drive=replace(drive, **changes) if changes else drive), losses


def _coulomb(poor: Actuator, actuator: Actuator, request: Request) -> tuple[Actuator, list[Any]]:
    """With a friction that PhysX has: at rest, in motion, and a drag."""
    friction = poor.friction
    if type(friction) is Coulomb or not friction.dry:
        made = Coulomb(coulomb=getattr(friction, "coulomb", 0.0), viscous=friction.viscous)
        bent = friction.viscous_quadratic is not None or friction.viscous_cubic is not None
        return replace(poor, friction=made), [Loss("friction.viscous_quadratic, viscous_cubic", "one drag", True)] if bent else []
    coulomb, _ = levels(actuator, request)
    return replace(poor, friction=Coulomb(coulomb=coulomb, viscous=friction.viscous)), [Loss("friction bristle", "sticking at once", True)]


def numbers(poor: Actuator, actuator: Actuator) -> dict[str, float]:
    """The configuration's numbers, at the joint, in the names of 2.3."""
    side = at_output(poor)
    motor, drive, friction = side.motor, side.drive, side.friction
    K, R, V = motor.torque_constant, motor.resistance, float(drive.ceiling({}) or 0.0)
    stall = K * V / R
    limits = motor.limits or Limits()
    if isinstance(drive, ImpedanceDrive):
        kp, kd = drive.newton_metres_per_radian, drive.newton_metre_seconds_per_radian
    elif isinstance(drive, (PositionDrive, ServoDrive)):
        volts, _, derivative = _servo_gains(drive)
        kp, kd = volts * K / R, (derivative + K) * K / R
    else:
        raise InvalidValue(f"no numbers for {type(drive).__name__}; expected a position, servo or impedance drive")
    moving = friction.coulomb if isinstance(friction, Coulomb) else 0.0
    own = actuator.friction
    rest = moving * own.static / own.coulomb if type(own) is Stribeck and own.coulomb > 0.01 * own.static else moving
    return {
        "effort": min(stall, limits.torque or stall),
        "velocity": V / K,
        "saturation_effort": stall,
        "stiffness": kp,
        "damping": kd,
        "armature": motor.rotor_inertia,
        "friction": rest,
        "dynamic_friction": moving,
        "viscous_friction": friction.viscous,
    }
