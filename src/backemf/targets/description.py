"""Descriptions of robots: URDF, SDF, and URDF with Drake's own elements; all three run in Drake.

URDF and SDF hold limits, damping and friction of a joint. The law of the controller beside it is a line of
the file's header that people read and a run obeys:

    effort = clip(stiffness (position_target - q) + derivative (velocity_target - w) + gain u, limit)
             - back_emf w

Drake's own elements are the rotor's inertia behind its gears and a position controller:

    effort at the joint = clip(p (q_desired - q) + d (w_desired - w) + actuation, effort) - damping w

Drake has no dry friction in a joint: its parsers ignore the number. The effort limit is Drake's own, the
gains are solved with the step, and everything is at the joint but the rotor's inertia.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidValue, MissingValue
from ..mujoco.models import by_joint
from ..mujoco.xml import Edit, apply_edits, scan, with_attributes
from ..physics.actuator import Actuator
from ..physics.friction import Viscous
from ..physics.joint_law import NO_EMF, JointLaw, capability
from .approximate import best, positions
from .drake import inputs_at, parse_plant, run_case, simulator
from .mujoco.dcmotor_target import attributes
from .mujoco.edited_model import EditedModel
from .reference_motions import SimulationCase, motions_of, reference_inertia
from .result import Account, Export, Request, number, xml_comment
from .spec import (
    LAW_DRIVE,
    LAW_FRICTION,
    LAW_LOSS,
    LAW_MOTOR,
    LAW_PLAY,
    NO_PUSH_ROW,
    SEES_JOINT,
    UNLIMITED,
    Filling,
    Loss,
    Row,
    TargetLaw,
    TargetSpec,
    absorb,
    carry,
    drop,
    header,
)
from .write import account, closed_law, tune_actuator, weigh_losses

STAND_IN = "of the stand-in body; the bench's inertia takes its place"
INERT = {
    "velocity": "Drake keeps it for planners; its simulation does not limit a speed",
    "mass": STAND_IN,
    **dict.fromkeys(("ixx", "iyy", "izz"), STAND_IN),
}
"""Numbers of a file that a run in Drake does not feel, and why."""
PLAIN_INERT = {
    **INERT,
    "friction": "Drake has no dry friction in a joint and ignores the number",
    **dict.fromkeys(("lower", "upper"), "the range of the stand-in body; the bench has no stops"),
}


def _plain_rows(label: str) -> tuple[Row, ...]:
    """What URDF and SDF hold and lack alike."""

    def no_armature(actuator: Actuator) -> str:
        J = JointLaw.of(actuator).armature
        return f"{label} has no armature; {J:.4g} kg m^2 at the joint must be added elsewhere"

    not_the_joints = (
        "not the joint's: where the controller leaves it out too, torque does not fall with speed"
    )
    return (
        carry("law.effort_limit", "limit/@effort", "N m at the joint: by voltage, current or torque limit"),
        carry("law.no_load_speed", "limit/@velocity", "rad/s at the joint"),
        carry("law.viscous", "dynamics/@damping", "N m s/rad; the controller's law is not the joint's"),
        carry("law.friction", "dynamics/@friction", "N m, at half the reference load"),
        header("law.stiffness", "header `Controller:` stiffness", "N m/rad"),
        header("law.damping", "header `Controller:` derivative", "N m s/rad, inside the limit"),
        header("law.gain", "header `Controller:` gain", "N m per unit of the command"),
        header(
            "law.back_emf",
            "header `Controller:` back_emf",
            "N m s/rad, behind the limit",
            value=lambda law, actuator: max(law.drag - law.viscous, 0.0),
        ),
        Row(
            "drive",
            "header `Controller:`",
            "the rest of the drive is the controller's own",
            lose=lambda a, r: [Loss("drive", f"{label} has no actuator law: the controller keeps it", False)],
        ),
        drop("motor.inductance", "the torque follows at once"),
        drop("motor.saturation_current", "the torque constant does not fall with current"),
        *LAW_MOTOR[2:],
        LAW_LOSS,
        LAW_PLAY,
        *LAW_FRICTION,
        NO_PUSH_ROW,  # which the header's law does not have
        drop("motor.rotor_inertia", no_armature, remarks=f"{label} has no armature", rotor_inertia=0.0),
        drop("motor.back_emf_constant", not_the_joints, when=lambda a: True, back_emf_constant=NO_EMF),
    )


def _check_limited(label: str, actuator: Actuator) -> None:
    limits = actuator.motor.limits
    if actuator.drive.ceiling({}) is None and (limits is None or limits.current is None):
        raise MissingValue(
            f"{label}'s <limit> needs an effort and a velocity; give drive.supply, drive.voltage_limit or"
            " motor.limits.current"
        )


def _settle_plain(spec: TargetSpec, actuator: Actuator, request: Request) -> TargetLaw:
    """The joint's numbers by closed forms. The controller keeps the drive's law, so costs are the joint's."""
    closed = closed_law(actuator, request.load, request.amplitude)
    law = JointLaw.of(actuator, request.load, request.amplitude)._replace(stiffness=closed.stiffness)
    bare = closed._replace(armature=0.0)
    costs = weigh_losses(
        actuator, tune_actuator(actuator, bare, request), spec.losses(actuator, request), request
    )
    return TargetLaw(law, bare.actuator(actuator), costs)


def _stand_in(actuator: Actuator, request: Request, turning: str) -> dict[str, str]:
    """The body and the joint of a file that stand in for the user's own."""
    load, slides = reference_inertia(actuator, request), actuator.motion == "linear"
    mass = number(load if slides else 1.0)
    kind, half = ("prismatic", "1") if slides else (turning, "3.14159")  # 1 m, or half a turn
    return {"inertia": number(load), "mass": mass, "type": kind, "half": half}


def _place_plain(
    settled: TargetLaw, numbers: Mapping[str, float], actuator: Actuator, request: Request
) -> Filling:
    lines = [controller_line(numbers)]
    if numbers["friction"] > 0:
        lines.append(
            "Drake, which a replay runs, has no dry friction: it ignores the number; others take it."
        )
    return Filling(_stand_in(actuator, request, "revolute"), lines)


TERMS = {
    "stiffness": "stiffness (position_target - q)",
    "derivative": "derivative (velocity_target - w)",
    "gain": "gain u",
    "back_emf": "",
}
"""Numbers of the controller's line, and their terms inside its limit."""


def controller_line(numbers: Mapping[str, float]) -> str:
    """The controller's law as a line of the header; what is 0 is not there."""
    shown = {name: number(numbers[name]) for name in TERMS if numbers[name]}
    inside = " + ".join(TERMS[name] for name in shown if TERMS[name]) or "u"
    behind = " - back_emf w" if "back_emf" in shown else ""
    given = ", ".join(f"{name}={text}" for name, text in shown.items())
    return f"Controller: effort = clip({inside}, limit){behind}, at the joint; {given}"


def controller_in(text: str) -> JointLaw:
    """The law that a file's header states.

    Raises:
        MissingValue: it states none.
        InvalidValue: what it states are no numbers, or not those of such a law.
    """
    line = re.search(r"Controller: effort = .*; (.*)", text)
    if line is None:
        raise MissingValue(
            "the file's header has no line 'Controller: effort = ...' with the law of the drive; expected the"
            " file as it was exported"
        )
    pairs = [pair.partition("=") for pair in line[1].strip().split(", ") if "=" in pair]
    try:
        given = {name: float(value) for name, _, value in pairs}
    except ValueError:
        given = {"": 0.0}
    if not given.keys() <= TERMS.keys():
        raise InvalidValue(
            f"the controller's line says {line[1].strip()!r}; expected numbers for {', '.join(TERMS)}"
        )
    SDF.check_numbers(given)
    return SDF.read_law(given)


def _run_plain(language: str, files: Mapping[str, str], joint: str, case: SimulationCase) -> np.ndarray:
    """Positions when Drake loads the file and the header's law drives its joint.

    Drake clips at the file's own effort limit; back-EMF acts behind it, and an open winding has none.
    """
    text = next(iter(files.values()))
    law = controller_in(text)

    def beside(k: int, q: float, w: float) -> tuple[float, float]:
        u = inputs_at(case, k)
        effort = law.stiffness * (u.position - q) + law.damping * (u.velocity - w)
        return effort + (law.gain or 1.0) * u.effort, -law.back_emf * w

    return run_case(parse_plant(text, language, joint, case.timestep), case, beside)


def _plain(label: str, rows: tuple[Row, ...], inert: Mapping[str, str] = PLAIN_INERT) -> TargetSpec:
    return TargetSpec(
        label=label,
        units="SI at the joint: effort N m, velocity rad/s, damping N m s/rad, friction N m; on a prismatic"
        " joint N and m.",
        rows=(*_plain_rows(label), *rows),
        file=f"{{joint}}.{label.lower()}",
        template=f"{label.lower()}.xml",
        comment=xml_comment,
        check=functools.partial(_check_limited, label),
        settle=_settle_plain,
        place=_place_plain,
        signed=("gain", "mechanicalReduction"),
        inert=inert,
        run=functools.partial(_run_plain, label.lower()),
        simulator=simulator,
    )


REDUCTION = "mechanicalReduction"
URDF = _plain(
    "URDF",
    (carry("gearbox.ratio", f"transmission//{REDUCTION}"),),
    {**PLAIN_INERT, REDUCTION: "Drake ignores it: effort and velocity are at the joint already"},
)
SDF = _plain("SDF", (Row("gearbox.ratio", "-", "everything is at the joint"),))


# Drake's own elements.


def _check_follows(actuator: Actuator) -> None:
    if not actuator.drive.followed:
        raise InvalidValue(
            f"Drake has no actuator for {actuator.drive.kind}; expected a drive that follows a target"
        )


DRAG = ("friction.viscous_quadratic", "friction.viscous_cubic")
FRICTIONLESS = "Drake has no dry friction in a joint"


def _own_drag(actuator: Actuator) -> str:
    own = actuator.parameters
    return ", ".join(path for path in own if path in DRAG and own[path])


def _lose_dry(actuator: Actuator, request: Request) -> Iterable[Loss]:
    own = {path: v for path, v in actuator.parameters.items() if path.startswith("friction.") and v}
    rest = [path for path in own if path not in (*DRAG, "friction.viscous", "friction.offset")]
    if not actuator.friction.dry:
        return
    if request.method == "simulation":
        text = f"{FRICTIONLESS}: more damping instead, and nothing sticks"
        yield Loss(", ".join(rest), text, True)
    else:
        smooth = Viscous(**actuator.friction.drag_terms)
        without = functools.partial(replace, friction=smooth)
        yield Loss(", ".join(rest), FRICTIONLESS, False, without=without)


def _settle_drake(spec: TargetSpec, actuator: Actuator, request: Request) -> TargetLaw:
    """With the damping that makes up best for the friction; nothing else is moved, least of all the gains."""
    closed = closed_law(actuator, request.load, request.amplitude)._replace(friction=0.0)
    losses = spec.losses(actuator, request)
    if not (request.method == "simulation" and actuator.friction.dry):
        costs = weigh_losses(actuator, tune_actuator(actuator, closed, request), losses, request)
        return TargetLaw(closed, closed.actuator(actuator), costs)
    motions, over = motions_of(actuator, request)
    reference = positions(actuator, motions)
    able, drag = capability(actuator, request.amplitude), closed.viscous

    def at(y: np.ndarray) -> JointLaw:
        return closed._replace(viscous=max(float(y[0]), drag))

    scale = [max(drag, 0.02 * able.stall / able.speed)]
    fit = best(lambda y: tune_actuator(actuator, at(y), request), [drag], scale, reference, motions)
    costs: Account = account(actuator, losses, fit.difference, reference, motions, over)
    return TargetLaw(at(fit.x), at(fit.x).actuator(actuator), costs)


def drake_inputs(actuator: Actuator) -> dict[str, float]:
    """Factor from each target to Drake's desired state or actuation, the followed one first."""
    law, drive = JointLaw.of(actuator), actuator.drive
    factors = {"position_target": 1.0, "velocity_target": 1.0}
    others = [name for name in drive.targets if name != drive.followed]
    if law.stiffness == 0:  # no position to hold
        others = [name for name in others if name != "position_target"]
    gain = law.gain or actuator.gearbox.efficiency or 1.0
    return {name: factors.get(name, gain) for name in (drive.followed, *others)}


def _place_drake(
    settled: TargetLaw, numbers: Mapping[str, float], actuator: Actuator, request: Request
) -> Filling:
    x, inputs = {name: number(value) for name, value in numbers.items()}, drake_inputs(actuator)
    limits = "".join(f' {name}="{x[name]}"' for name in ("effort", "velocity") if name in x)
    gains = f'      <drake:controller_gains p="{x["p"]}" d="{x["d"]}"/>' if "p" in x else ""
    lines = [
        f"Input: the actuation port takes N m at the joint, {number(factor)} times the {name}."
        for name, factor in inputs.items()
        if name not in ("position_target", "velocity_target")
    ]
    fields = {**_stand_in(actuator, request, "continuous"), "limits": limits, "gains": gains}
    return Filling(fields, lines, inputs)


def _of_controller(name: str) -> Any:
    """A gain, where the law has one."""
    return lambda law, actuator: getattr(law, name) if law.stiffness or law.damping else None


DRAKE = TargetSpec(
    label="Drake",
    units="SI: effort N m, p N m/rad, d and damping N m s/rad at the joint, rotor_inertia kg m^2 at the"
    " rotor; on a prismatic joint N and m.",
    rows=(
        carry("law.viscous, law.back_emf", "dynamics/@damping", "N m s/rad at the joint"),
        carry(
            "gearbox.ratio",
            "drake:gear_ratio",
            "for the rotor's inertia alone; efforts are at the joint",
            name="gear_ratio",
            value=lambda law, actuator: abs(actuator.gearbox.ratio),
        ),
        carry(
            "motor.rotor_inertia, gearbox.n_motors",
            "drake:rotor_inertia",
            "kg m^2 at the rotors, all of them",
            name="rotor_inertia",
            value=lambda law, actuator: actuator.gearbox.n_motors * actuator.motor.rotor_inertia,
        ),
        carry(
            "law.effort_limit",
            "limit/@effort",
            "N m at the joint: by voltage, current or torque limit",
            value=lambda law, actuator: law.effort_limit or None,
        ),
        carry(
            "law.no_load_speed",
            "limit/@velocity",
            "rad/s; for planners",
            value=lambda law, a: None if a.drive.ceiling({}) is None else law.no_load_speed,
        ),
        carry(
            "law.stiffness",
            "drake:controller_gains/@p",
            "N m/rad at the joint",
            value=_of_controller("stiffness"),
        ),
        carry(
            "law.damping",
            "drake:controller_gains/@d",
            "N m s/rad, inside the effort limit",
            value=_of_controller("damping"),
        ),
        Row("law.gain", "header `Input:`", "N m per unit of command: the header says by how much"),
        *LAW_MOTOR,
        LAW_LOSS,
        LAW_PLAY,
        *LAW_DRIVE,
        SEES_JOINT,
        UNLIMITED,
        absorb("friction.viscous_quadratic, viscous_cubic", "one damping", path=_own_drag),
        drop("friction.offset", "no constant torque"),
        Row(
            "law.friction, friction",
            "-",
            "Drake has no dry friction; `--method simulation` puts what it can into the damping",
            lose=_lose_dry,
        ),
    ),
    file="{joint}_drake.urdf",
    template="drake.urdf",
    comment=xml_comment,
    check=_check_follows,
    settle=_settle_drake,
    place=_place_drake,
    inert=INERT,
    run=lambda files, joint, case: run_case(
        parse_plant(next(iter(files.values())), "urdf", joint, case.timestep), case
    ),
    simulator=simulator,
)


def into_urdf(exports: Mapping[str, Export], path: Path | str) -> EditedModel:
    """Limits, damping and friction of joints, by name or regular expression, in a user's own URDF; every
    other byte stays.

    Args:
        exports: for urdf, by joint.
        path: of the file.
    """
    from .mujoco.into import named_joints

    path = Path(path)
    elements = scan(path)
    named = named_joints(elements, ("robot",))
    edits, changes, content = [], [], path.read_bytes()
    attributes_of: dict[str, list[str]] = {}
    for row in URDF.rows:
        tag, at, name = row.theirs.partition("/@")
        if at:
            attributes_of.setdefault(tag, []).append(name)
    for name, pattern in by_joint(exports, [*named], path.name).items():
        joint, x = named[name], exports[pattern].numbers
        inside = {
            e.tag: e for e in reversed(elements) if e.parent == "joint" and joint.start < e.start < joint.end
        }
        for tag, names in attributes_of.items():
            values, mine = {n: number(x[n]) for n in names}, inside.get(tag)
            was = {n: mine.attributes.get(n, "(absent)") if mine else "(absent)" for n in names}
            if mine is not None:
                text = with_attributes(content[mine.start : mine.opened], values)
                edits.append(Edit(mine, mine.start, mine.opened, text))
            else:
                at = content.rindex(b"</", joint.opened, joint.end)
                edits.append(Edit(joint, at, at, f"  <{tag} {attributes(values)}/>\n  ".encode()))
            changes += [f"joint {name}: {tag} {k} {was[k]} became {v}" for k, v in values.items()]
    return EditedModel(
        apply_edits(edits), tuple(changes), "the XML was parsed", exports=tuple(exports.values())
    )
