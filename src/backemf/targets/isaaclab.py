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

from ..errors import InvalidValue, MissingValue
from ..model import drive as drives
from ..model.actuator import Actuator
from ..model.friction import Coulomb, Stribeck
from ..model.motor import Limits
from ..simulator.actuator import servo_gains
from .approximate import Difference, Tuned, difference, positions
from .export import Export, Request, complete, hash_comment, header, number
from .losses import Account, Loss, account, cooled, lacking, no_integral
from .mjlab import at_output
from .motions import Motion, motions_of
from .mujoco.classic import Numbers, tuned
from .reduce import levels, reduced, refitted

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
    ("inductance, heat, cogging, integral, slew", "-", "dropped"),
)
"""Ours -> theirs, for the documentation page."""


class _Candidate(NamedTuple):
    """A configuration that Isaac Lab has, and how far it is off."""

    kind: str
    actuator: Actuator
    values: dict[str, float]
    left: Difference


def write(actuator: Actuator, request: Request) -> Export:
    drive = actuator.drive
    if not isinstance(drive, (drives.Position, drives.Servo, drives.Impedance)):
        raise InvalidValue(
            f"Isaac Lab's DCMotorCfg follows a position; {drive.kind} does not: expected a"
            " position, servo or impedance drive"
        )
    if drive.ceiling({}) is None:
        raise MissingValue(
            "Isaac Lab's DCMotorCfg needs a stall torque and a no-load speed; give drive.supply or"
            " drive.voltage_limit"
        )
    bare, extra = _bare(actuator)
    poor, lost, _ = reduced(bare, request._replace(backlash=False), 1)
    poor, kept = _coulomb(poor, actuator, request)
    losses = [*extra, *lost, *kept]
    motions, over = motions_of(actuator, request)
    rich = positions(actuator, motions) if losses else np.zeros(0)
    left = difference(positions(poor, motions), rich) if losses else Difference(0.0, 0.0)
    if request.method == "simulation" and any(loss.kept for loss in losses):
        poor, left = refitted(poor, {"friction", "motor"}, actuator, rich, motions, request)
    chosen = _Candidate("DCMotorCfg", poor, numbers(poor, actuator), left)
    if drive.delay:
        late = _late(actuator, chosen, rich, motions, request)
        if late.left.rms < left.rms:  # a delay matters more than the torque-speed line
            chosen = late
            losses = [loss for loss in losses if loss.path != "drive.delay"]
            losses.append(Loss("motor.back_emf_constant", "the torque limit does not fall with speed", True))
    dropped, approximated, over = (
        account(actuator, losses, chosen.left, rich, motions, over) if losses else Account()
    )
    names = NAMES[request.version]
    top = header(request, UNITS, dropped=dropped, approximated=approximated, over=over)
    top.append("friction is an effort from Isaac Sim 5.0 on, a coefficient in 4.5: leave it out there.")
    if chosen.kind != "DCMotorCfg":
        top.append(f"Delays are counted in physics steps of {1e3 * request.timestep:g} ms.")
    values = {names.get(k, k): v for k, v in chosen.values.items()}
    lines = [f'    joint_names_expr=["{request.joint}"],'] + [
        f"    {k}={number(v)}," for k, v in values.items()
    ]
    text = (
        hash_comment(top)
        + f"\nfrom isaaclab.actuators import {chosen.kind}\n\nACTUATOR = {chosen.kind}(\n"
        + "\n".join(lines)
        + "\n)\n"
    )
    lost_of: dict[str, Any] = {"dropped": dropped, "approximated": approximated, "over": over}
    return complete(
        request,
        actuator,
        files={f"{request.joint}_isaaclab.py": text},
        carried=chosen.actuator,
        numbers=values,
        **lost_of,
    )


def _late(
    actuator: Actuator, motor: _Candidate, rich: np.ndarray, motions: list[Motion], request: Request
) -> _Candidate:
    """The same law as a `DelayedPDActuatorCfg`: a delay in whole physics steps,
    and a torque limit that knows no speed."""
    steps = max(1, round(float(actuator.drive.delay or 0.0) / request.timestep))
    v = motor.values
    base = replace(actuator, drive=replace(actuator.drive, delay=None))
    x = Numbers(
        kp=v["stiffness"],
        kv=v["damping"],
        force=v["effort"],
        damping=v["viscous_friction"],
        frictionloss=v["dynamic_friction"],
        armature=v["armature"],
    )

    def delayed(x: Numbers) -> Tuned:
        at = tuned(base, x, request)

        def made(settings: Mapping[str, float]) -> Actuator:
            now = at({k: value for k, value in settings.items() if k != "drive.delay"})
            return replace(now, drive=replace(now.drive, delay=steps * request.timestep))

        return made

    keep = {k: value for k, value in v.items() if k not in ("saturation_effort", "velocity")}
    values = {**keep, "min_delay": steps, "max_delay": steps}
    return _Candidate(
        "DelayedPDActuatorCfg", delayed(x)({}), values, difference(positions(delayed(x), motions), rich)
    )


def _bare(actuator: Actuator) -> tuple[Actuator, list[Loss]]:
    """Without what only a dcmotor has."""
    motor, drive, losses = actuator.motor, actuator.drive, []
    for name, text in (
        ("inductance", "the torque follows at once"),
        ("thermal", "nothing warms"),
        ("cogging", "no cogging"),
    ):
        if getattr(motor, name) is not None:
            change: dict[str, Any] = {
                name: None,
                **({"limits": cooled(motor.limits)} if name == "thermal" else {}),
            }
            losses.append(Loss(f"motor.{name}", text, False, without=lacking("motor", **change)))
            motor = replace(motor, **change)
    changes: dict[str, Any] = dict(no_integral(drive))
    if changes:
        losses.append(Loss("drive integral", "no integral", False, without=lacking("drive", **changes)))
    for name, text in (("slew", "the setpoint jumps"), ("delay", "no delay")):
        if getattr(drive, name):
            changes[name] = None
            losses.append(Loss(f"drive.{name}", text, False, without=lacking("drive", **{name: None})))
    return replace(actuator, motor=motor, drive=replace(drive, **changes) if changes else drive), losses


def _coulomb(poor: Actuator, actuator: Actuator, request: Request) -> tuple[Actuator, list[Loss]]:
    """With a friction that PhysX has: at rest, in motion, and a drag."""
    friction = poor.friction
    if type(friction) is Coulomb or not friction.dry:
        made = Coulomb(coulomb=getattr(friction, "coulomb", 0.0), viscous=friction.viscous)
        bent = friction.viscous_quadratic is not None or friction.viscous_cubic is not None
        return replace(poor, friction=made), (
            [Loss("friction.viscous_quadratic, viscous_cubic", "one drag", True)] if bent else []
        )
    coulomb, _ = levels(actuator, request.load, request.amplitude)
    return replace(poor, friction=Coulomb(coulomb=coulomb, viscous=friction.viscous)), [
        Loss("friction bristle", "sticking at once", True)
    ]


def numbers(poor: Actuator, actuator: Actuator) -> dict[str, float]:
    """The configuration's numbers, at the joint, in the names of 2.3."""
    side = at_output(poor)
    motor, drive, friction = side.motor, side.drive, side.friction
    K, R, V = motor.torque_constant, motor.resistance, float(drive.ceiling({}) or 0.0)
    stall = K * V / R
    limits = motor.limits or Limits()
    if isinstance(drive, drives.Impedance):
        kp, kd = drive.newton_metres_per_radian, drive.newton_metre_seconds_per_radian
    elif isinstance(drive, (drives.Position, drives.Servo)):
        volts, _, derivative = servo_gains(drive)
        kp, kd = volts * K / R, (derivative + K) * K / R
    else:
        raise InvalidValue(f"no numbers for {drive.kind}; expected a position, servo or impedance drive")
    moving = friction.coulomb if isinstance(friction, Coulomb) else 0.0
    own = actuator.friction
    rest = (
        moving * own.static / own.coulomb
        if type(own) is Stribeck and own.coulomb > 0.01 * own.static
        else moving
    )
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
