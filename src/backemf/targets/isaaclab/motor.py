"""Isaac Lab 2.3 and 3.0: a `DCMotorCfg`, whose straight torque-speed line is exactly that of a motor without
inductance.

    torque = clip(stiffness (u - q) - damping w, saturation_effort (+-1 - w / velocity_limit), +-effort_limit)

A servo's clipped voltage and its back-EMF make the same: stiffness = k_p K / R, damping = (K + k_d) K / R at
the joint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidValue, MissingValue
from ...physics.actuator import Actuator
from ...physics.friction import Coulomb
from ...physics.joint_law import JointLaw, dry_levels
from ..approximate import Difference, Tuned, difference, positions
from ..motions import Motion, motions_of
from ..reduce import reduced, refitted
from ..result import NOTHING_LOST, Account, Export, Request, complete, hash_comment, header, number
from ..spec import Losses, cooled
from ..write import account, tuned
from . import bam

UNITS = (
    "SI at the joint: stiffness N m/rad, damping N m s/rad, efforts N m, speeds rad/s, armature kg m^2,"
    " frictions N m and N m s/rad."
)
NAMES = {
    "2.3": {"effort": "effort_limit", "velocity": "velocity_limit"},
    "3.0": {"effort": "actuator_effort_limit", "velocity": "actuator_velocity_limit"},
}
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
    (
        "drive.delay",
        "min_delay, max_delay of DelayedPDActuatorCfg",
        "physics steps; taken where its error is less than DCMotorCfg's without a delay",
    ),
    ("inductance, heat, cogging, integral, slew, period, derivative_filter", "-", "dropped"),
    *bam.MAPPING,
)
"""Ours -> theirs, for the documentation page."""
why_not_run = "Isaac Lab needs Isaac Sim"


class Candidate(NamedTuple):
    """A configuration that Isaac Lab has, and how far it is off."""

    kind: str
    actuator: Actuator
    values: dict[str, float]
    left: Difference


def write(actuator: Actuator, request: Request) -> Export:
    if request.version == "bam":
        return bam.write(actuator, request)
    drive = actuator.drive
    if drive.loop is None or drive.loop.of != "position":
        raise InvalidValue(
            f"Isaac Lab's DCMotorCfg follows a position; {drive.kind} does not: expected a"
            " position, servo or impedance drive"
        )
    if drive.ceiling({}) is None:
        raise MissingValue(
            "Isaac Lab's DCMotorCfg needs a stall torque and a no-load speed; give drive.supply or"
            " drive.voltage_limit"
        )
    chosen, costs = candidate(actuator, request)
    top = header(request, UNITS, costs)
    top.append("friction is an effort from Isaac Sim 5.0 on, a coefficient in 4.5: leave it out there.")
    if chosen.kind != "DCMotorCfg":
        top.append(f"Delays are counted in physics steps of {1e3 * request.timestep:g} ms.")
    values = {NAMES[request.version].get(k, k): v for k, v in chosen.values.items()}
    lines = [
        f'    joint_names_expr=["{request.joint}"],',
        *(f"    {k}={number(v)}," for k, v in values.items()),
    ]
    start = f"\nfrom isaaclab.actuators import {chosen.kind}\n\nACTUATOR = {chosen.kind}(\n"
    files = {f"{request.joint}_isaaclab.py": hash_comment(top) + start + "\n".join(lines) + "\n)\n"}
    return complete(request, actuator, costs, files=files, carried=chosen.actuator, numbers=values)


def candidate(actuator: Actuator, request: Request, late: bool = True) -> tuple[Candidate, Account]:
    """The best numbers for a straight torque-speed line, or with a delay for a plain law behind it where that
    is closer (`late`); and what they lose."""
    drive = actuator.drive
    bare, losses = _bare(actuator)
    poor, more, _ = reduced(bare, request._replace(backlash=False), 1)
    losses += more
    poor = _coulomb(poor, actuator, request, losses)
    motions, over = motions_of(actuator, request)
    rich = positions(actuator, motions) if losses else np.zeros(0)
    left = difference(positions(poor, motions), rich) if losses else Difference(0.0, 0.0)
    if request.method == "simulation" and any(loss.kept for loss in losses):
        poor, left = refitted(poor, {"friction", "motor"}, actuator, request)
    chosen = Candidate("DCMotorCfg", poor, numbers(poor, actuator), left)
    if drive.delay and late:
        delayed = _late(actuator, chosen, rich, motions, request)
        if delayed.left.rms < left.rms:  # a delay matters more than the torque-speed line
            chosen = delayed
            losses = Losses(loss for loss in losses if loss.path != "drive.delay")
            losses.keep("motor.back_emf_constant", "the torque limit does not fall with speed")
    costs = account(actuator, losses, chosen.left, rich, motions, over) if losses else NOTHING_LOST
    return chosen, costs


def _late(
    actuator: Actuator, motor: Candidate, rich: np.ndarray, motions: list[Motion], request: Request
) -> Candidate:
    """The same law as a `DelayedPDActuatorCfg`: a delay in whole physics steps,
    and a torque limit that knows no speed."""
    steps, v = max(1, round(float(actuator.drive.delay or 0.0) / request.timestep)), motor.values
    base = replace(actuator, drive=replace(actuator.drive, delay=None))
    x = JointLaw(
        stiffness=v["stiffness"],
        damping=v["damping"],
        effort_limit=v["effort"],
        viscous=v["viscous_friction"],
        friction=v["dynamic_friction"],
        armature=v["armature"],
    )

    prompt: Tuned = tuned(base, x, request)

    def delayed(settings: Mapping[str, float]) -> Actuator:
        now = prompt({k: value for k, value in settings.items() if k != "drive.delay"})
        return replace(now, drive=replace(now.drive, delay=steps * request.timestep))

    values = {k: value for k, value in v.items() if k not in ("saturation_effort", "velocity")}
    values |= {"min_delay": steps, "max_delay": steps}
    left = difference(positions(delayed, motions), rich)
    return Candidate("DelayedPDActuatorCfg", delayed({}), values, left)


def _bare(actuator: Actuator) -> tuple[Actuator, Losses]:
    """Without what only a dcmotor has."""
    motor, drive, losses = actuator.motor, actuator.drive, Losses()
    gone: dict[str, Any] = losses.drop_each(actuator, "motor", inductance="the torque follows at once")
    if motor.thermal is not None:
        cold: dict[str, Any] = {"thermal": None, "limits": cooled(motor.limits)}
        losses.drop("motor.thermal", "nothing warms", "motor", **cold)
        gone |= cold
    gone |= losses.drop_each(actuator, "motor", cogging="no cogging")
    changes = drive.without_integral
    if changes:
        losses.drop("drive integral", "no integral", "drive", **changes)
    changes |= losses.drop_each(actuator, "drive", slew="the setpoint jumps", delay="no delay")
    return replace(actuator, motor=replace(motor, **gone), drive=replace(drive, **changes)), losses


def _coulomb(poor: Actuator, actuator: Actuator, request: Request, losses: Losses) -> Actuator:
    """With a friction that PhysX has: at rest, in motion, and a drag."""
    friction, moving = poor.friction, poor.friction.moving
    if friction.bristle:
        losses.keep("friction bristle", "sticking at once")
        moving, _ = dry_levels(actuator, request.load, request.amplitude)
    elif friction.viscous_quadratic is not None or friction.viscous_cubic is not None:
        losses.keep("friction.viscous_quadratic, viscous_cubic", "one drag")
    return replace(poor, friction=Coulomb(coulomb=moving, viscous=friction.viscous))


def numbers(poor: Actuator, actuator: Actuator) -> dict[str, float]:
    """The configuration's numbers, at the joint, in the names of 2.3."""
    own, x, moving = actuator.friction, JointLaw.of(poor), poor.friction.moving
    more = own.name == "stribeck" and own.moving > 0.01 * own.breakaway
    return {
        "effort": x.effort_limit,
        "velocity": x.no_load_speed,
        "saturation_effort": x.stall_torque,
        "stiffness": x.stiffness,
        "damping": x.damping + x.back_emf,
        "armature": x.armature,
        "friction": moving * own.breakaway / own.moving if more else moving,
        "dynamic_friction": moving,
        "viscous_friction": poor.friction.viscous,
    }
