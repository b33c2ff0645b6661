"""MuJoCo's `<dcmotor>`, 3.7 to 4.0: an actuator as a complete MJCF file or on an MjSpec,
and back from any model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import BackemfError, InvalidValue, MissingValue
from ...mujoco.actuator_conversion import AsDcMotor, from_actuator, to_actuator
from ...mujoco.arrays import dcmotors, dry_friction, load_mujoco, place, play_joint
from ...mujoco.attributes import DcMotorAttributes
from ...mujoco.dcmotor import VERSIONS, DcMotor, in_volts, rules
from ...mujoco.models import LoadedModel, load
from ...physics.actuator import Actuator
from ...physics.friction import Coulomb, Viscous
from ..approximate import with_settings
from ..reduce import OF_DRIVE, OF_FRICTION, OF_GEARBOX, OF_MOTOR, ONE_POSITION, carry_actuator, rigid
from ..reference_motions import make_case, motions_of, reference_inertia
from ..result import Export, Request, number, request_of, xml_comment
from ..spec import Filling, TargetLaw, TargetSpec
from ..template import fill
from .finding import integrator_finding
from .holding import YieldingSpring, friction_of, hold_lines, read_springs, springs_of, tendon_section
from .run import (
    Adjust,
    check_version,
    copy_actuator,
    copy_number,
    copy_springs,
    our_step,
    run,
    settings_of,
    simulator,
    timestep_of,
)

STICKING = {"solreffriction": "{two_steps} 1", "solimpfriction": "0.9999 0.9999 0.001 0.5 2"}
"""Solver settings with which a joint's frictionloss sticks; with the defaults it creeps."""


class Text(NamedTuple):
    """What goes into a file: the actuator's element and the joint's attributes."""

    element: dict[str, str]
    joint: dict[str, str]
    ctrl: dict[str, float]
    """Factor from each target to ctrl, in the order of the inputs."""
    dcmotor: DcMotor
    springs: tuple[YieldingSpring, ...] = ()


def _settle(spec: TargetSpec, actuator: Actuator, request: Request) -> TargetLaw:
    best, costs = carry_actuator(
        actuator, request, rules(request.version).era, lambda one: _positions_of_file(one, actuator, request)
    )
    at_gear = behind_gear(best, request)
    made = parts(at_gear, request.version, request.timestep)
    if best.drive.loop is None and best.gearbox.ratio * at_gear.gearbox.ratio < 0:  # a mirrored rotor
        made = made._replace(ctrl={name: -factor for name, factor in made.ctrl.items()})
    load = reference_inertia(actuator, request)
    finding = integrator_finding(made.dcmotor, load, request.timestep, request.integrator, request.version)
    words = ("name", "joint", "input", "ctrllimited")
    numbers = {f"dcmotor {k}": float(v.split()[0]) for k, v in made.element.items() if k not in words}
    numbers |= {f"joint {name}": float(value) for name, value in made.joint.items() if " " not in value}
    for k, spring in enumerate(made.springs):
        numbers |= {f"tendon {k} stiffness": spring.stiffness, f"tendon {k} springyield": spring.reach}
    return TargetLaw(made, best, costs, () if finding is None else (finding,), numbers)


def _place(settled: TargetLaw, numbers: Mapping[str, float], actuator: Actuator, request: Request) -> Filling:
    text: Text = settled.law
    lines = [f"ctrl[{k}] is {name} times {number(c)}." for k, (name, c) in enumerate(text.ctrl.items())]
    lines.append("The body is a stand-in: take over the joint's attributes and the actuator.")
    load = reference_inertia(actuator, request)
    made = (request, actuator, text.joint, _element(request, text), load)
    template, fields = frame_fields(*made, springs=text.springs)
    lines += hold_lines(frame(*made, springs=text.springs), settled.carried, request, text.springs)
    return Filling(fields, lines, text.ctrl, template)


def dcmotor_holds(carried: Actuator, request: Request) -> list[str]:
    """How still somebody else's `<dcmotor>` holds, run as a file of the newest MuJoCo.

    Args:
        carried: what the `<dcmotor>` simulates.
        request: with the time step and the reference load.

    Returns:
        Lines of a header.
    """
    request = request._replace(version=VERSIONS[-1], gear=None)
    made = parts(behind_gear(carried, request), request.version, request.timestep)
    text = frame(request, carried, made.joint, _element(request, made), reference_inertia(carried, request))
    return hold_lines(text, carried, request, how=f"run as MJCF of MuJoCo {VERSIONS[-1]}")


def _positions_of_file(candidate: Actuator, actuator: Actuator, request: Request) -> np.ndarray:
    """The file of a candidate run by the installed MuJoCo over the motions that an export is judged over;
    nothing that is finite where it does not run."""
    try:
        check_version(request.version)
        return np.concatenate([*_runs_of_file(candidate, actuator, request)])
    except BackemfError:
        return np.full(1, np.nan)


def _runs_of_file(candidate: Actuator, actuator: Actuator, request: Request) -> Iterator[np.ndarray]:
    tuned = with_settings(candidate)
    for motion in motions_of(actuator, request)[0]:
        made = parts(behind_gear(tuned(motion.settings), request), request.version, request.timestep)
        element = _element(request, made)
        text = frame(request, actuator, made.joint, element, 1.0, springs=made.springs)
        case = make_case(motion, made.ctrl, request.timestep, actuator.motion)
        yield np.interp(motion.time, case.moments, run({"file": text}, request.joint, case))


def behind_gear(actuator: Actuator, request: Request) -> Actuator:
    """A carried actuator behind the gear of the file. With a loop inside, ctrl is compared with the joint's
    own position or speed times the gear; so without a wish the motor stands at the joint, with gear 1."""
    if request.gear is None and actuator.drive.loop is None:
        return actuator
    return actuator.at_ratio(1.0 if request.gear is None else request.gear)


def parts(actuator: Actuator, version: str, timestep: float) -> Text:
    """A carried actuator as attributes. Its Coulomb friction is the joint's,
    everything else the dcmotor's."""
    friction, joint, delay = actuator.friction, {}, delay_words(actuator, timestep)
    if friction.dry and not friction.bristle:
        joint = sticking(friction.moving, timestep)
        actuator = replace(actuator, friction=Viscous(**friction.drag_terms))
    springs = springs_of(friction)
    if springs:
        actuator = replace(actuator, friction=Viscous(**friction.drag_terms))
    actuator = replace(actuator, gearbox=rigid(actuator.gearbox))  # play is a joint of its own
    made = _nothing_lost(actuator, rules(version).era)
    element = DcMotorAttributes.of(made.dcmotor).to_xml()
    if "ctrlrange" in element:
        element["ctrllimited"] = "true"
    return Text(element | delay, joint, made.ctrl, made.dcmotor, springs)


def delay_words(actuator: Actuator, timestep: float) -> dict[str, str]:
    """Attributes of an actuator whose commands come late."""
    delay = actuator.drive.delay
    if not delay:
        return {}
    return {"delay": number(delay), "nsample": str(max(2, int(-(-delay // timestep)) + 1))}


def _nothing_lost(actuator: Actuator, era: int) -> AsDcMotor:
    made = from_actuator(actuator, era)
    known = ("drive.delay", "drive.bandwidth", "drive.velocity_target", "drive.torque_target")
    lost = [path for path in made.dropped if path not in known]
    if lost:
        raise InvalidValue(f"a dcmotor cannot carry {', '.join(lost)}; expected an actuator from `carried`")
    return made


def sticking(frictionloss: float, timestep: float) -> dict[str, str]:
    """A joint's friction and the solver settings that make it stick."""
    settings = {k: v.format(two_steps=number(2 * timestep)) for k, v in STICKING.items()}
    return {"frictionloss": number(frictionloss), **settings}


def attributes(pairs: Mapping[str, str]) -> str:
    """Names and values as they stand in an XML tag."""
    return " ".join(f'{k}="{v}"' for k, v in pairs.items())


def _element(request: Request, text: Text) -> str:
    return f"<dcmotor {attributes({'name': request.joint, 'joint': request.joint, **text.element})}/>"


def frame(
    request: Request,
    actuator: Actuator,
    on_joint: Mapping[str, str],
    element: str,
    load: float,
    top: str = "",
    springs: Sequence[YieldingSpring] = (),
) -> str:
    """The file around an actuator's element.

    Args:
        request: with the joint's name, the time step and whether play is a joint of its own.
        actuator: whose motion and play the stand-in body has.
        on_joint: attributes of the joint.
        element: the actuator's, as text.
        load: inertia of the stand-in body [kg m^2 or kg].
        top: the header.
        springs: that hold the joint.

    Returns:
        The text.
    """
    template, fields = frame_fields(request, actuator, on_joint, element, load, springs)
    return fill(template, joint=request.joint, header=top.rstrip("\n"), **fields)


def frame_fields(
    request: Request,
    actuator: Actuator,
    on_joint: Mapping[str, str],
    element: str,
    load: float,
    springs: Sequence[YieldingSpring] = (),
) -> tuple[str, dict[str, str]]:
    """Options, a stand-in body, the joint, and one for the play of the gears where that is asked for.

    Args:
        request: as `frame` takes it, and so are the others.
        actuator: whose motion and play the stand-in body has.
        on_joint: attributes of the joint.
        element: the actuator's, as text.
        load: inertia of the stand-in body [kg m^2 or kg].
        springs: that hold the joint.

    Returns:
        (template, its fields).
    """
    h, play = request.timestep, actuator.gearbox.backlash if request.backlash else None
    kind, share = "slide" if actuator.motion == "linear" else "hinge", 1e-4
    mass = load if kind == "slide" else 1.0
    joints = (request.joint,) if play is None else (request.joint, play_joint(request.joint))
    behind = {k: v for k, v in on_joint.items() if play is not None and "friction" in k}  # the teeth
    front = {k: v for k, v in on_joint.items() if k not in behind}
    section = tendon_section(springs, joints, attributes(behind))
    fields = {
        "timestep": number(h),
        "integrator": request.integrator,
        "type": kind,
        "on_joint": attributes({"name": request.joint, "type": kind, "axis": "0 0 1", **front}),
        "mass": number(mass),
        "inertia": number(load),
        "element": element,
        "springs": section and f"\n  {section}",
    }
    if play is None:
        return "mujoco.xml", fields
    fields |= {"gear_mass": number(share * mass), "gear_inertia": number(share * load)}
    return "mujoco_backlash.xml", {**fields, "half": number(0.5 * play), "two_steps": number(2 * h)}


def apply(export: Export, spec: Any, joint: str | None = None) -> None:
    """Put an export's dcmotor and joint attributes onto a joint of an MjSpec;
    the joint's old actuators are removed."""
    mujoco = load_mujoco()
    if export.target not in ("mujoco", "mujoco-classic"):
        raise InvalidValue(f"the export is for {export.target}; expected one for mujoco or mujoco-classic")
    if export.has_play_joint:
        raise InvalidValue("apply puts no play onto a joint; expected an export without backlash, or into=")
    name = export.joint if joint is None else joint
    target = spec.joint(name)
    if target is None:
        raise MissingValue(
            f"the model has no joint {name!r}; it has: {', '.join(j.name for j in spec.joints if j.name)}"
        )
    source = mujoco.MjSpec.from_string(export.text)
    mine, element = source.joint(export.joint), source.actuators[0]
    for old in [a for a in spec.actuators if a.target == name]:
        spec.delete(old)
    made = spec.add_actuator(
        name=element.name if spec.actuator(element.name) is None else f"{name}_{element.name}", target=name
    )
    copy_actuator(element, made)
    for field in ("armature", "frictionloss"):
        setattr(target, field, getattr(mine, field))
    for field in ("solref_friction", "solimp_friction"):
        getattr(target, field)[:] = getattr(mine, field)
    copy_number(target, mine, "damping")
    copy_springs(source, export.joint, spec, name)


def actuator_arrays(model: Any) -> list[str]:
    """Names of the arrays of a compiled model, a row for each actuator, that say what it does;
    those of several inputs are left out."""
    kinds = "gainprm biasprm dynprm gaintype biastype dyntype forcelimited forcerange"
    names = [f"actuator_{n}" for n in f"{kinds} damping dampingpoly armature delay ctrlspec".split()]
    return [name for name in names if hasattr(model, name)]


class ImportedDcMotor(NamedTuple):
    """An actuator read from a model, and what the file does not say any more."""

    actuator: Actuator
    joint: str
    targets: dict[str, float]
    """Factor from each ctrl to the drive's target."""
    unknown: tuple[str, ...]


UNKNOWN = (
    "inductance L itself (only L / R is kept)",
    "K_t and K_e apart (only sqrt(K_t K_e) is kept)",
    "the nominal point",
    "the current limit (only its torque is kept)",
    "the thermal time constant as given",
    "gear efficiency and backlash",
)
"""What a compiled or saved model cannot say."""


def read(path: Path | str, actuator: str | int | None = None) -> ImportedDcMotor:
    """An actuator from an MJCF file with `<dcmotor>`, or with the `<general>` that MuJoCo saves,
    of either era; class defaults are followed."""
    try:
        return _read(load(Path(path)), actuator)
    except OverflowError:
        raise InvalidValue(
            f"{Path(path).name} has numbers whose powers are beyond 1e308; expected those of a motor"
        ) from None


def _read(loaded: LoadedModel, actuator: str | int | None) -> ImportedDcMotor:
    mujoco, model = load_mujoco(), loaded.model
    actuator = _only_dcmotor(model) if actuator is None else actuator
    at = place(model, actuator)
    slide = int(model.jnt_type[at.joint]) == int(mujoco.mjtJoint.mjJNT_SLIDE)
    dcmotor, scale = in_volts(loaded.dcmotor(actuator))
    made, targets = to_actuator(dcmotor, motion="linear" if slide else "rotary")
    targets = {name: factor * scale for name, factor in targets.items()}
    friction, motor, drive, unknown = made.friction, made.motor, made.drive, UNKNOWN
    # The engine adds the actuator's armature and damping on its own; these are the joint's.
    loss = dry_friction(model, at.joint)
    damping, armature = (float(getattr(model, f"dof_{n}")[at.dof]) for n in ("damping", "armature"))
    friction = replace(friction, viscous=friction.viscous + damping)
    if loss > 0 and friction.bristle:
        unknown = (*UNKNOWN, f"frictionloss {loss:g} N m of the joint beside the dcmotor's lugre")
    elif loss > 0:
        friction = Coulomb(**friction.drag_terms, coulomb=loss)
    springs = read_springs(model, at.joint)
    if springs and not friction.dry:
        friction = friction_of(springs, **friction.drag_terms)
    if armature:
        own = motor.rotor_inertia + armature / made.gearbox.output_inertia(1.0)
        motor = replace(motor, rotor_inertia=own)
    if hasattr(model, "actuator_delay") and model.actuator_delay[at.actuator]:
        drive = replace(drive, delay=float(model.actuator_delay[at.actuator]))
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, at.joint) or str(at.joint)
    return ImportedDcMotor(replace(made, friction=friction, motor=motor, drive=drive), name, targets, unknown)


def _only_dcmotor(model: Any) -> int:
    """A model's one dcmotor."""
    mujoco, motors = load_mujoco(), dcmotors(model)
    if len(motors) != 1:
        kind = mujoco.mjtObj.mjOBJ_ACTUATOR
        names = ", ".join(str(mujoco.mj_id2name(model, kind, i) or i) for i in motors) or "none"
        raise MissingValue(f"the model has {len(motors)} dcmotors ({names}); say which one to read")
    return motors[0]


def adjustment(export: Export, settings: Mapping[str, float]) -> Adjust:
    """What other settings of the drive, such as a recording's own gain, change in the file's numbers."""
    paths, before = export.carried.parameters, export.carried
    after = before.replace(**{k: v for k, v in settings.items() if k in paths})
    return settings_of(*(_compile_model(export, one) for one in (before, after)))


def _compile_model(export: Export, carried: Actuator) -> Any:
    request = request_of(export)
    message = parts(behind_gear(carried, request), export.version, export.timestep)
    element = _element(request, message)
    text = frame(request, export.actuator, message.joint, element, 1.0, springs=message.springs)
    return load_mujoco().MjModel.from_xml_string(text)


SPEC = TargetSpec(
    label="MuJoCo",
    units="SI (N m, rad, s, ohm, V, kg m^2, K); on a slide N and m. The dcmotor's numbers are before its"
    " gear: with gear 1 at the joint, otherwise at the rotor; the joint's own are at the output.",
    rows=(*OF_MOTOR, *OF_GEARBOX, *OF_DRIVE, ONE_POSITION, *OF_FRICTION),
    file="{joint}.xml",
    template="mujoco.xml",
    comment=xml_comment,
    settle=_settle,
    place=_place,
    run=run,
    simulator=simulator,
    adjustment=adjustment,
    check_version=check_version,
    timestep_of=timestep_of,
    our_step=our_step,
)
