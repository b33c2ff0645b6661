"""Classic MuJoCo, any version and MJX: `<position>`, `<velocity>` or `<motor>` with the joint's own armature,
damping and friction.

    torque at the joint = clip(kp (u - q) - kv w, forcerange) - damping w - frictionloss

Back-EMF acts behind the limited voltage, so it is damping of the joint; a drive's own derivative gain is kv.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ...errors import InvalidValue
from ...findings import Finding
from ...mujoco.arrays import load_mujoco
from ...mujoco.explain.servos import LONG
from ...physics import steady
from ...physics.actuator import Actuator
from ...physics.drive import Drive
from ...physics.joint_law import JointLaw
from ..approximate import positions
from ..reference_motions import motions_of, reference_inertia
from ..result import Export, Request, changed_numbers, number, request_of, xml_comment
from ..spec import (
    LAW_DRIVE,
    LAW_FRICTION,
    LAW_LOSS,
    LAW_MOTOR,
    LAW_PLAY,
    ONE_INPUT,
    SENSOR_AT_GEAR,
    Filling,
    Loss,
    Row,
    TargetLaw,
    TargetSpec,
    carry,
)
from ..write import account, closed_law, fit_law, tune_actuator, tuned_law, weigh_losses
from .dcmotor_target import attributes, frame, frame_fields, sticking
from .holding import hold_lines
from .run import Adjust, run, settings_of, simulator, timestep_of

KINDS = {"position_target": "position", "velocity_target": "velocity"}
"""The actuator for what a drive follows; a `<motor>` for everything else."""


def kind_of(drive: Drive) -> str:
    """The element for what a drive follows; InvalidValue where it follows nothing."""
    if drive.followed:
        return KINDS.get(drive.followed, "motor")
    raise InvalidValue(
        f"classic MuJoCo has no actuator for {drive.kind}; expected a drive that follows a target"
    )


def _lose_play(actuator: Actuator, request: Request) -> Iterable[Loss]:
    if actuator.gearbox.backlash and request.backlash:
        return [
            Loss("gearbox.backlash", "an extra joint with stops for the play, as hard as the solver's", True)
        ]
    return LAW_PLAY.lose(actuator, request)


def _settle(spec: TargetSpec, actuator: Actuator, request: Request) -> TargetLaw:
    """The law by closed forms, or moved to make up for what is lost."""
    closed, losses = closed_law(actuator, request.load, request.amplitude), spec.losses(actuator, request)
    if request.method == "simulation" and any(loss.kept for loss in losses):
        motions, over = motions_of(actuator, request)
        reference = positions(actuator, motions)
        law, left = fit_law(actuator, closed, reference, motions, request)
        costs = account(actuator, losses, left, reference, motions, over)
        before, after = (spec.numbers(one, actuator) for one in (closed, law))
        costs = costs._replace(adjusted=changed_numbers(before, after, UNIT))
    else:
        law, costs = closed, weigh_losses(actuator, tune_actuator(actuator, closed, request), losses, request)
    findings = _find_long_step(law, reference_inertia(actuator, request), request.timestep)
    return TargetLaw(law, law.actuator(actuator), costs, findings)


def _find_long_step(law: JointLaw, load: float, timestep: float) -> tuple[Finding, ...]:
    """Whether a step is too long for the stiffness."""
    J = law.armature + load
    w_n = steady.natural_frequency(law.stiffness, J)
    if w_n * timestep <= LONG:
        return ()
    turned, most = f"{w_n * timestep:.2g} rad in a step of {1e3 * timestep:g} ms", 0.5 * LONG / w_n
    return (
        Finding(
            code="step_too_long",
            text=f"stiffness {law.stiffness:.3g} N m/rad on {J:.3g} kg m^2 turns {turned}.",
            remedy=f"a step of at most {1e3 * most:.2g} ms",
            numbers={"timestep": timestep, "timestep_enough": most},
        ),
    )


def _place(settled: TargetLaw, numbers: Mapping[str, float], actuator: Actuator, request: Request) -> Filling:
    parts = _parts(actuator, settled.law, request.joint, request.timestep, request.gear)
    load = reference_inertia(actuator, request)
    made = (request, actuator, parts.joint, parts.element, load)
    template, fields = frame_fields(*made)
    return Filling(fields, hold_lines(frame(*made), settled.carried, request), parts.ctrl, template)


class Parts(NamedTuple):
    """What goes into a classic file."""

    element: str
    joint: dict[str, str]
    """Attributes."""
    ctrl: dict[str, float]
    """Factor from each target to ctrl."""


def _parts(
    actuator: Actuator, law: JointLaw, joint: str, timestep: float, gear: float | None = None
) -> Parts:
    """The actuator's element and the joint's attributes. With a gear, a position or speed is the joint's
    times it, and the ctrl of a current is the torque before it."""
    drive, kind, g = actuator.drive, kind_of(actuator.drive), 1.0 if gear is None else gear
    given: dict[str, str] = {"name": joint, "joint": joint}
    ctrl, lever = {drive.followed: g}, g
    if kind == "position":
        kv = {"kv": number(law.damping / g**2)} if law.damping > 0 else {}
        given |= {"kp": number(law.stiffness / g**2), **kv}
    elif kind == "velocity":
        given["kv"] = number(law.damping / g**2)
    if kind == "motor":
        by_torque = gear is not None and drive.followed == "current_target"
        lever = g if by_torque else law.gain
        given["gear"], ctrl = number(lever), {drive.followed: law.gain / g if by_torque else 1.0}
    elif g != 1:
        given["gear"] = number(g)
    if law.effort_limit > 0:  # measured before the gear
        most = number(law.effort_limit / abs(lever))
        given["forcerange"] = f"-{most} {most}"
    given |= _ctrlrange(drive, g)
    on_joint = {"armature": number(law.armature), "damping": number(law.viscous)}
    if law.friction > 0:
        on_joint |= sticking(law.friction, timestep)
    return Parts(f"<{kind} {attributes(given)}/>", on_joint, ctrl)


def _ctrlrange(drive: Drive, gear: float) -> dict[str, str]:
    low, high, volts = drive.command_low, drive.command_high, drive.ceiling({})
    if low is not None and high is not None:
        low, high = sorted((gear * low, gear * high))
        return {"ctrlrange": f"{number(low)} {number(high)}"}
    if drive.followed == "voltage_target" and volts is not None:
        return {"ctrlrange": f"-{number(volts)} {number(volts)}"}
    return {}


def adjustment(export: Export, settings: Mapping[str, float]) -> Adjust:
    """What other settings of the drive, such as a recording's own gain, change in the file's numbers."""
    law, request = SPEC.read_law(export.numbers), request_of(export)
    at = tuned_law(export.actuator, law, request)
    return settings_of(*(_compile_model(export, request, one) for one in (law, at(settings))))


def _compile_model(export: Export, request: Request, law: JointLaw) -> Any:
    parts = _parts(export.actuator, law, export.joint, export.timestep)
    text = frame(request, export.actuator, parts.joint, parts.element, 1.0)
    return load_mujoco().MjModel.from_xml_string(text)


NUMBERS = (
    carry("law.gain", "motor/@gear", "N m per unit of ctrl", name="gain"),
    carry("law.stiffness", "position/@kp", "N m/rad at the joint"),
    carry("law.damping", "position/@kv", "N m s/rad, inside the force limit; of a velocity its gain"),
    carry("law.effort_limit", "forcerange", "N m: by voltage, current or torque limit", name="force"),
    carry("law.viscous, law.back_emf", "joint/@damping", "N m s/rad, with back-EMF"),
    carry("law.friction", "joint/@frictionloss, solreffriction, solimpfriction", "N m", name="frictionloss"),
    carry("law.armature", "joint/@armature", "kg m^2"),
)
UNIT = {"kp": "N m/rad", "kv": "N m s/rad", "damping": "N m s/rad", "force": "N m", "frictionloss": "N m"}
SPEC = TargetSpec(
    label="classic MuJoCo",
    units="SI at the joint: kp N m/rad, kv and damping N m s/rad, forcerange and frictionloss N m, armature"
    " kg m^2; on a slide N and m.",
    rows=(
        *NUMBERS,
        Row(
            "drive.command_low, command_high, voltage_limit, duty_limit",
            "ctrlrange",
            "of a voltage its supply",
        ),
        *LAW_MOTOR,
        LAW_LOSS,
        LAW_PLAY._replace(theirs="an extra joint in series", remarks="only where asked for", lose=_lose_play),
        SENSOR_AT_GEAR,
        *LAW_FRICTION,
        *LAW_DRIVE,
        ONE_INPUT,
    ),
    file="{joint}.xml",
    template="mujoco.xml",
    comment=xml_comment,
    check=lambda actuator: kind_of(actuator.drive),
    settle=_settle,
    place=_place,
    signed=tuple(row.name for row in NUMBERS),
    run=run,
    simulator=simulator,
    timestep_of=timestep_of,
    adjustment=adjustment,
)
