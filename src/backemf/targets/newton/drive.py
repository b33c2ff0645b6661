"""Newton 1.7: a Python file with one function that puts a `DrivePD` and its clamp onto a joint of a builder.

    effort = clip(kp (q_target - q) + kd (w_target - w) + joint_act,
                  saturation_effort (+-1 - w / velocity_limit), +-max_motor_effort)

That is a motor without inductance at its greatest voltage, exactly, whatever its drive follows: back-EMF is
part of kd, and a voltage or current is a torque in `joint_act`. Dry friction, damping and armature are the
joint's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...errors import InvalidValue
from ...physics import steady
from ...physics.actuator import Actuator
from ...physics.friction import Coulomb
from ...physics.gearbox import Gearbox
from ...physics.motor import Limits, Motor
from ..approximate import Difference, difference, positions
from ..clocked import Clocked
from ..description.joint import checked
from ..export import NOTHING_LOST, Export, Request, complete, hash_comment, header, number
from ..losses import Losses, account
from ..motions import motions_of
from ..mujoco.classic import lost
from ..reduce import levels, refitted
from .running import moved, simulator as simulator

UNITS = (
    "SI at the joint: kp N m/rad, kd and damping N m s/rad, efforts and friction N m, speeds rad/s, armature"
    " kg m^2, delay s; on a prismatic joint N and m."
)
MAPPING: tuple[tuple[str, str, str], ...] = (
    ("volts per radian x n N K_t / R", "DrivePD kp", "N m/rad at the joint"),
    (
        "(volt seconds per radian + N K_e) x n N K_t / R",
        "DrivePD kd",
        "N m s/rad at the joint, with back-EMF",
    ),
    ("drive.delay", "delay_steps", "DELAY in seconds; in whole steps of the builder's own time step"),
    ("stall torque n N K_t V / R", "ClampingDCMotor saturation_effort", "N m at the joint"),
    ("no-load speed V / (N K_e)", "ClampingDCMotor velocity_limit", "rad/s at the joint"),
    (
        "motor.limits.torque, .current",
        "ClampingDCMotor max_motor_effort, joint effort_limit",
        "N m at the joint",
    ),
    (
        "n N K_t / R (voltage) or n N K_t (current)",
        "-",
        "N m per unit of command: the header says by how much",
    ),
    ("n N^2 motor.rotor_inertia", "joint armature", "kg m^2 at the joint"),
    (
        "friction.coulomb, or the level at half the reference load",
        "joint friction",
        "N m; its MuJoCo solver takes it, Featherstone ignores it",
    ),
    ("friction.viscous (and iron loss)", "joint damping", "N m s/rad at the joint"),
    (
        "inductance, heat, cogging, backlash, slew, integral, period, deadband, derivative_filter",
        "-",
        "dropped",
    ),
)
"""Ours -> theirs, for the documentation page."""
INERT: dict[str, str] = {
    "EFFORT_LIMIT": "clips the joint's own drive, which is off; the clamp holds the same number",
    "TIMESTEP": "the time step where none is given; a run gives its own",
    "SOLIMP": "the solver's at its stiffest: MuJoCo clips what is above",
}
"""Numbers of the file that a run does not feel, and why."""
EXACT = ("motor.limits", "drive.delay", "drive.supply")
"""What classic MuJoCo loses and Newton's clamp or delay has."""


def write(actuator: Actuator, request: Request) -> Export:
    drive = actuator.drive
    if not drive.followed:
        raise InvalidValue(f"Newton has no drive for {drive.kind}; expected one that follows a target")
    made, losses = stand_in(actuator, request), _lost(actuator, request)
    costs = NOTHING_LOST
    if losses:
        motions, over = motions_of(actuator, request)
        rich = positions(actuator, motions)
        left: Difference = difference(positions(made, motions), rich)
        if request.method == "simulation" and any(loss.kept for loss in losses):
            made, left = refitted(made, {"friction"}, actuator, request)
        costs = account(actuator, losses, left, rich, motions, over)
    values = numbers(made)
    checked(values)
    lines = header(request, UNITS, costs)
    for name, factor in inputs(actuator).items():
        if factor != 1.0 or not name.startswith(("position", "velocity")):
            where = "joint_target_qd" if name == "velocity_target" else "joint_act, in N m at the joint,"
            lines.append(f"Input: {where} takes the {name} times {number(factor)}.")
    files = {f"{request.joint}_newton.py": hash_comment(lines) + _module(values, actuator.motion, request)}
    return complete(
        request, actuator, costs, files=files, carried=made, numbers=values, ctrl=inputs(actuator)
    )


def stand_in(actuator: Actuator, request: Request) -> Actuator:
    """What Newton simulates: one motor at the joint, without what it has no place for."""
    motor, gearbox, drive, at = actuator.motor, actuator.gearbox, actuator.drive, steady.line(actuator)
    eta = gearbox.efficiency or 1.0
    most = None if motor.limits is None else motor.limits.largest_torque(motor)
    held = None if most is None else Limits(torque=eta * abs(float(gearbox.output_torque(most))))
    strong = Motor(
        resistance=at.R,
        torque_constant=eta * at.K_t,
        back_emf_constant=at.K_e,
        rotor_inertia=steady.armature(actuator),
        limits=held,
    )
    gone = {name: None for name in ("slew", "deadband", "period") if getattr(drive, name, None)}
    gone |= {**drive.without_integral, **drive.without_push}
    plain = replace(drive, **gone, delay=_delay(drive.delay, request.timestep))
    one = Actuator(
        motor=strong,
        gearbox=Gearbox(ratio=float(gearbox.forwards)),
        friction=Coulomb(coulomb=levels(actuator, request.load, request.amplitude)[0], viscous=at.viscous),
        drive=plain,
        motion=actuator.motion,
    )
    gains = ("drive.newton_metres_per_radian", "drive.newton_metre_seconds_per_radian")
    own = one.parameters
    return one.replace(**{path: eta * own[path] for path in gains if path in own and eta < 1})


def _delay(delay: float | None, timestep: float) -> float | None:
    """In whole steps."""
    return None if not delay else timestep * round(delay / timestep) or None


def _lost(actuator: Actuator, request: Request) -> Losses:
    losses, drive = Losses(), actuator.drive
    for loss in lost(actuator, False):
        if loss.path not in EXACT and "_target" not in loss.path:
            losses.append(loss)
    whole = _delay(drive.delay, request.timestep) or 0.0
    if drive.delay and abs(whole - drive.delay) > 1e-9:
        losses.keep(
            "drive.delay", f"rounded to {1e3 * whole:g} ms, in steps of {1e3 * request.timestep:g} ms"
        )
    if drive.command_low is not None or drive.command_high is not None:
        text = "Newton clips no target: limit the command before sending, and nothing is lost"
        losses.drop("drive.command_low, command_high", text)
    return losses


def numbers(made: Actuator) -> dict[str, float]:
    """The file's constants; a limit or delay that is not there is left out."""
    x, volts, most = steady.plain_servo(made), made.drive.ceiling({}), made.motor.limits
    limit = None if most is None else most.torque
    values = {
        "KP": x.stiffness,
        "KD": x.derivative + _back_emf(made),
        "ARMATURE": x.armature,
        "DAMPING": made.friction.viscous,
        "FRICTION": made.friction.moving,
    }
    if volts is not None:
        motor = steady.isaac_motor(made, float(volts))
        values |= {"SATURATION_EFFORT": motor.saturation_effort, "VELOCITY_LIMIT": motor.velocity_limit}
    if limit is not None:
        values |= {"MAX_MOTOR_EFFORT": limit, "EFFORT_LIMIT": limit}
    if made.drive.delay:
        values["DELAY"] = made.drive.delay
    return values


def _back_emf(made: Actuator) -> float:
    return 0.0 if made.drive.hides_back_emf else steady.line(made).damping


def inputs(actuator: Actuator) -> dict[str, float]:
    """Factor from each target to Newton's: joint_target_q, joint_target_qd, or N m in joint_act.

    kd brakes by the back-EMF too, so a speed is asked for in the share of kd that is the law's own.
    """
    drive, x, eta = actuator.drive, steady.plain_servo(actuator), actuator.gearbox.efficiency or 1.0
    own, emf = x.derivative, 0.0 if drive.hides_back_emf else eta * steady.line(actuator).damping
    factors = {"position_target": 1.0, "velocity_target": own / (own + emf) if own > 0 else 1.0}
    others = [name for name in drive.targets if name != drive.followed]
    return {name: factors.get(name, x.gain or eta) for name in (drive.followed, *others)}


UNIT = {
    "KP": "N m/rad",
    "KD": "N m s/rad",
    "ARMATURE": "kg m^2",
    "DAMPING": "N m s/rad",
    "VELOCITY_LIMIT": "rad/s",
    "DELAY": "s",
}
LINEAR = {"N m/rad": "N/m", "N m s/rad": "N s/m", "kg m^2": "kg", "rad/s": "m/s", "N m": "N"}


def _module(values: Mapping[str, float], motion: str, request: Request) -> str:
    units = {name: UNIT.get(name, "N m") for name in values}
    if motion == "linear":
        units = {name: LINEAR.get(unit, unit) for name, unit in units.items()}
    constants = "".join(f"{name} = {value!r}  # {units[name]}\n" for name, value in values.items())
    clamps = {"SATURATION_EFFORT": "saturation_effort", "VELOCITY_LIMIT": "velocity_limit"}
    clamps |= {"MAX_MOTOR_EFFORT": "max_motor_effort"}
    given = ", ".join(f'"{theirs}": {ours}' for ours, theirs in clamps.items() if ours in values)
    lines = ["kp=KP", "kd=KD"]
    if "DELAY" in values:
        lines.append("delay_steps=round(DELAY / timestep)")
    if given:
        lines.append(f"clamping=[(ClampingDCMotor, {{{given}}})]")
    arguments = "".join(f"        {line},\n" for line in lines)
    limit = "    builder.joint_effort_limit[dof] = EFFORT_LIMIT\n" if "EFFORT_LIMIT" in values else ""
    sticks = "" if not values["FRICTION"] else STICKS
    solver = "" if not values["FRICTION"] else SOLVER
    imports = "ClampingDCMotor, DrivePD" if given else "DrivePD"
    return f'''
from newton.actuators import {imports}

{constants}TIMESTEP = {request.timestep!r}  # s
{solver}

def add_actuator(builder, joint, timestep=TIMESTEP):
    """Put this actuator onto a joint of a newton.ModelBuilder, by the joint's index, before finalize().

    Each step: control.joint_f.zero_(), then step(state, control, ...) of every model.actuators.
    """
    dof = builder.joint_qd_start[joint]
    builder.joint_armature[dof] = ARMATURE
    builder.joint_damping[dof] = DAMPING
    builder.joint_friction[dof] = FRICTION
{limit}    builder.joint_target_ke[dof] = builder.joint_target_kd[dof] = 0.0  # the joint's own drive is off
{sticks}    builder.add_actuator(
        DrivePD,
        index=dof,
        pos_index=builder.joint_q_start[joint],
{arguments}    )
'''


SOLVER = """SOLREF_STEPS = 2.0  # time steps; with SolverMuJoCo's defaults the friction creeps
SOLIMP = (0.9999, 0.9999, 0.001, 0.5, 2.0)
"""
STICKS = """    solref = (SOLREF_STEPS * timestep, 1.0)
    for name, value in (("mujoco:solreffriction", solref), ("mujoco:solimpfriction", SOLIMP)):
        if name in builder.custom_attributes:  # SolverMuJoCo.register_custom_attributes(builder) made them
            attribute = builder.custom_attributes[name]
            attribute.values = {**(attribute.values or {}), dof: value}
"""


def run(files: Mapping[str, str], joint: str, case: Clocked) -> np.ndarray:
    """Positions [rad or m] when the file's own function builds the joint and Newton steps it."""
    return moved(next(iter(files.values())), joint, case)
