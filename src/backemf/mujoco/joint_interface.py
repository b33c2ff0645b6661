"""A joint of a model and an actuator for it: what the joint has now, and what drives it afterwards.
`attach`, `--into`, the plugin and whole-model conversion all decide here.

What the user commands stays: a position stays a position of the joint in ctrl's units, a torque a torque.
What an actuator does not know stays as it was in the model.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidValue, MissingValue
from ..findings import Finding
from ..physics import drive as drives
from ..physics.actuator import Actuator
from ..physics.drive import Drive
from ..physics.joint_law import JointLaw
from .actuator_conversion import to_actuator
from .arrays import (
    ctrl_place,
    dcmotors,
    driven_joints,
    dry_friction,
    holding_tendons,
    inputs_of,
    load_mujoco,
    pids,
    plain,
)
from .dcmotor import in_volts
from .models import LoadedModel, by_joint

OF_INPUT = {
    "pos": "position_target",
    "position": "position_target",
    "vel": "velocity_target",
    "velocity": "velocity_target",
    "ff": "torque_target",
    "voltage": "voltage_target",
}
"""What each input of a `<dcmotor>` asks for."""
OF_JOINT = ("armature", "damping", "frictionloss")
ASKS = {
    "position_target": "a position",
    "velocity_target": "a velocity",
    "torque_target": "a torque",
    "voltage_target": "a voltage",
}
UNKNOWN = {
    "motor.rotor_inertia": ("armature",),
    "friction": ("frictionloss", "solreffriction", "solimpfriction"),
}
"""What an actuator may not know, and the joint's attributes that then stay."""


class ModelJoint(NamedTuple):
    """A joint and its actuator as they are in a compiled model, numbers at the joint."""

    joint: str
    dof: int
    actuator: int | None
    """None: the joint has none."""
    follows: str
    """What its ctrl asks for, as a drive's target."""
    ctrl: int | None
    """Place in ctrl of its first input."""
    gear: float = 1.0
    """ctrl over the joint's position or velocity that it asks for; of a torque, the torque over ctrl."""
    stiffness: float = 0.0
    derivative: float = 0.0
    limit: float | None = None
    """Largest torque [N m]."""
    ctrlrange: tuple[float, float] | None = None
    armature: float = 0.0
    damping: float = 0.0
    frictionloss: float = 0.0
    inputs: tuple[str, ...] = ()
    """Those of a pid, or of a dcmotor of 3.12 and later."""
    scale: float = 1.0
    """What a dcmotor's law with gains in volts follows, over gear times ctrl."""
    slides: bool = False
    effort_limit: float | None = None
    """Largest effort of all actuators that the joint itself allows [N m or N]."""
    others: tuple[int, ...] = ()
    """Further actuators on the same joint."""
    springs: tuple[int, ...] = ()
    """Tendons that hold it: dry friction of the joint."""


def read_joint(loaded: LoadedModel, joint: str) -> ModelJoint:
    """What a joint has now; classes are resolved, because the model is compiled.

    Args:
        loaded: the compiled model, and the era of its file.
        joint: name of a hinge or slide.

    Raises:
        InvalidValue: its actuator is none that a command of ours could stand for.
    """
    model = loaded.model
    j = model.joint(joint)
    own = _of_joint(model, j)
    on = {i: at for i, at in driven_joints(model).items() if at.joint == j.id}
    if not on:
        return ModelJoint(actuator=None, follows="", ctrl=None, **own)
    motors, laws = dcmotors(model), {i: plain(model, i, at) for i, at in on.items()}
    i = _main_actuator(laws, motors)
    x, others = laws[i], tuple(k for k in on if k != i)
    common: dict[str, Any] = {"actuator": i, "ctrl": ctrl_place(model, i), "others": others, **own}
    common |= {"gear": x.gear, "limit": x.limit, "ctrlrange": x.ctrlrange}
    if i in motors:
        return ModelJoint(**common, **_of_dcmotor(loaded, i, joint))
    _check_law(model, i, joint)
    damper = sum(laws[k].derivative for k in others if k not in motors)
    follows = _target_of(x)
    common["gear"] = _gear_of(model, i, x, follows)
    common |= {"inputs": inputs_of(model, i)} if i in pids(model) else {}
    return ModelJoint(follows=follows, stiffness=x.stiffness, derivative=x.derivative + damper, **common)


def _main_actuator(laws: Mapping[int, Any], motors: Collection[int]) -> int:
    """Of several actuators on a joint, the one whose command counts: a servo, or the first."""
    servos = [k for k, law in laws.items() if law.stiffness > 0 and k not in motors]
    return (servos or [*laws])[0]


def _target_of(law: Any) -> str:
    """What the ctrl of a plain actuator asks for."""
    if law.stiffness > 0:
        return "position_target"
    return "velocity_target" if law.derivative > 0 and law.gain else "torque_target"


def _of_joint(model: Any, joint: Any) -> dict[str, Any]:
    """What a joint has besides its actuators."""
    dof = int(joint.dofadr[0])
    own: dict[str, Any] = {n: float(getattr(model, f"dof_{n}")[dof]) for n in OF_JOINT}
    slides = int(joint.type[0]) == int(load_mujoco().mjtJoint.mjJNT_SLIDE)
    own |= {"joint": joint.name, "dof": dof, "slides": slides, "springs": holding_tendons(model, joint.id)}
    own["frictionloss"] = dry_friction(model, joint.id)
    if model.jnt_actfrclimited[joint.id]:
        own["effort_limit"] = float(np.max(np.abs(model.jnt_actfrcrange[joint.id])))
    return own


def _check_law(model: Any, i: int, joint: str) -> None:
    """Refuse muscles, plugins, dampers and commands that are integrated."""
    if _foreign(model, i):
        mujoco = load_mujoco()
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, i) or str(i)
        raise InvalidValue(
            f"the actuator {name!r} of joint {joint!r} is {FOREIGN}: no drive can stand in its place;"
            " expected a <position>, <velocity>, <motor>, <pid> or <dcmotor>"
        )


FOREIGN = "a muscle, a plugin, a damper, or integrates its command"


def _foreign(model: Any, i: int) -> bool:
    """Whether an actuator that is no dcmotor has a law that none of our drives has."""
    mujoco = load_mujoco()
    slow = (int(mujoco.mjtDyn.mjDYN_INTEGRATOR), int(mujoco.mjtDyn.mjDYN_MUSCLE))
    fixed = int(model.actuator_gaintype[i]) == int(mujoco.mjtGain.mjGAIN_FIXED)
    known = (fixed or i in pids(model)) and int(model.actuator_dyntype[i]) not in slow
    return not known or int(model.actuator_plugin[i]) >= 0


def _gear_of(model: Any, i: int, x: Any, follows: str) -> float:
    """A fixed gain may stand for a gear of its own: a <general> that takes half radians, say."""
    fixed = int(load_mujoco().mjtGain.mjGAIN_FIXED)
    if int(model.actuator_gaintype[i]) != fixed or not x.gain:
        return x.gear
    laws = {"position_target": x.stiffness / x.gain, "velocity_target": x.derivative / x.gain}
    return laws.get(follows, x.gain)


def _of_dcmotor(loaded: LoadedModel, i: int, joint: str) -> dict[str, Any]:
    """What a joint's dcmotor follows, its inputs and their scale, and its gains at the joint."""
    dcmotor = loaded.dcmotor(i)
    control, volts = dcmotor.controller, in_volts(dcmotor)
    if control.words == ("ff",) and volts.dcmotor.controller.inputs == "voltage":
        raise InvalidValue(
            f"{joint!r}: its ff input with kd = K^2 / R is a plain voltage, ctrl times R / K; expected"
            ' input="voltage" with ctrl in volts: write it so first'
        )
    several = control.words if control.era == 2 else ()
    follows = OF_INPUT.get(next(iter(control.words), ""), "")
    told: dict[str, Any] = {"follows": follows, "inputs": several, "scale": volts.ctrl_scale}
    with contextlib.suppress(
        InvalidValue
    ):  # no drive of ours follows this controller: it has no gains to keep
        law = JointLaw.of(to_actuator(dcmotor).actuator)
        told |= {"stiffness": law.stiffness, "derivative": law.damping}
    return told


# Which joints.


class JointChoice(NamedTuple):
    """Joints that patterns mean, and those that they leave alone."""

    deciding: dict[str, str]
    """Joint -> the pattern whose actuator it gets."""
    left: dict[str, str]
    """Joint -> why a pattern that fits its name does not mean it."""
    shared: dict[str, str]
    """Joint that was named exactly -> what moves it besides."""

    def findings(self) -> Iterator[Finding]:
        """What to say of the joints that are left alone."""
        for why, names in _by_reason(self.left):
            yield Finding(
                code="joints_left_alone",
                text=f"{', '.join(names)}: left alone, {why}.",
                remedy="nothing; or name a joint exactly to give it an actuator all the same",
                numbers={"joints": len(names)},
            )
        for why, names in _by_reason(self.shared):
            yield Finding(
                code="joint_shared",
                text=f"{', '.join(names)}: got an actuator of its own, and stays one {why}.",
                remedy="nothing; or remove the tendon or the equality, if the actuator is to move it alone",
                numbers={"joints": len(names)},
            )


def _by_reason(reasons: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    for why in dict.fromkeys(reasons.values()):
        yield why, [joint for joint, reason in reasons.items() if reason == why]


def choose_joints(
    model: Any, motions: Mapping[str, str], where: str, absent: Mapping[str, str] | None = None
) -> JointChoice:
    """Joints that names and regular expressions mean: a name means its joint, a pattern those that are
    driven, or, where none is, those that nothing else moves.

    Args:
        model: the compiled model.
        motions: "rotary" or "linear" for each name or pattern, in the order in which they were given.
        where: the model in words.
        absent: joints that cannot be edited, and why.

    Returns:
        The joints that are meant, with their patterns, and those that are left alone.

    Raises:
        InvalidValue: a joint that was named exactly cannot have its actuator.
        MissingValue: the model has no hinge or slide with a name.
    """
    absent, slides = absent or {}, _slides(model)
    _check_names(model, motions, where, slides, absent)
    if not slides:
        raise MissingValue(f"{where} has no hinge or slide with a name; expected one for each actuator")
    alone = _not_driven(model, [*slides])
    if len(alone) == len(slides):  # nothing is driven: then what moves by itself is meant
        tied = {name: why for name, why in alone.items() if why != PASSIVE}
        alone = tied if len(tied) < len(slides) else {}
    alone |= _driven_otherwise(model)
    choice = JointChoice({}, {}, {})
    for joint, pattern in by_joint(motions, [*slides], where).items():
        why = absent.get(joint) or _other_motion(slides[joint], motions[pattern]) or alone.get(joint)
        if joint == pattern or why is None:
            choice.deciding[joint] = pattern
            if why not in (None, PASSIVE):
                choice.shared[joint] = why
        else:
            choice.left[joint] = why
    if not choice.deciding:
        reasons = "; ".join(f"{joint}: {why}" for joint, why in choice.left.items())
        raise MissingValue(f"no joint of {where} is meant by {', '.join(map(repr, motions))}: {reasons}")
    return choice


def _slides(model: Any) -> dict[str, bool]:
    """For every hinge and slide with a name, whether it slides."""
    mujoco = load_mujoco()
    kinds = {int(mujoco.mjtJoint.mjJNT_HINGE): False, int(mujoco.mjtJoint.mjJNT_SLIDE): True}
    names = (mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, j) for j in range(model.njnt))
    of_joints = zip(names, map(int, model.jnt_type), strict=True)
    return {name: kinds[kind] for name, kind in of_joints if name and kind in kinds}


def _other_motion(slides: bool, motion: str) -> str | None:
    """Why an actuator cannot be on a joint that moves otherwise."""
    if slides == (motion == "linear"):
        return None
    return "a slide, and the actuator is rotary" if slides else "a hinge, and the actuator is linear"


def _check_names(
    model: Any, motions: Mapping[str, str], where: str, slides: Mapping[str, bool], absent: Mapping[str, str]
) -> None:
    """Refuse joints that were named exactly and cannot have their actuators, before any work."""
    mujoco = load_mujoco()
    for name, motion in motions.items():
        if name not in slides and mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name) >= 0:
            raise InvalidValue(f"joint {name!r} of {where} is a ball or free; expected a hinge or a slide")
        if name in absent:
            raise InvalidValue(f"joint {name!r} of {where} is one {absent[name]}")
        if name in slides and _other_motion(slides[name], motion):
            kind, wanted = ("a slide", "linear") if slides[name] else ("a hinge", "rotary")
            raise InvalidValue(
                f"joint {name!r} of {where} is {kind}; expected an actuator with motion={wanted!r}"
            )


PASSIVE = "which nothing drives"


def _not_driven(model: Any, joints: Collection[str]) -> dict[str, str]:
    """Joints without an actuator of their own, and what moves them instead."""
    mujoco = load_mujoco()
    driven = {at.joint for at in driven_joints(model).values()}
    wraps = model.wrap_objid[model.wrap_type == int(mujoco.mjtWrap.mjWRAP_JOINT)]
    linked = model.eq_type == int(mujoco.mjtEq.mjEQ_JOINT)
    tied = {int(k) for k in (*model.eq_obj1id[linked], *model.eq_obj2id[linked]) if k >= 0}
    reasons = {}
    for name in joints:
        j = int(model.joint(name).id)
        if j not in driven:
            by = "which a tendon moves" if j in wraps else PASSIVE
            reasons[name] = "which an equality ties to another joint" if j in tied else by
    return reasons


def _driven_otherwise(model: Any) -> dict[str, str]:
    """Joints whose own actuator no drive can stand for."""
    motors, on = dcmotors(model), driven_joints(model)
    laws: dict[str, dict[int, Any]] = {}
    for i, at in on.items():
        laws.setdefault(at.name, {})[i] = plain(model, i, at)
    main = {name: _main_actuator(own, motors) for name, own in laws.items()}
    return {
        name: f"whose actuator is {FOREIGN}"
        for name, i in main.items()
        if i not in motors and _foreign(model, i)
    }


# What drives a joint afterwards.


class JointDrive(NamedTuple):
    """What drives a joint of a model from now on."""

    before: ModelJoint
    actuator: Actuator
    """The one that was given, made to be commanded as the joint's own was."""
    keeps: tuple[str, ...]
    """Attributes of the joint that stay, because the actuator does not know its own."""
    scale: float
    """What the drive is asked for, over ctrl."""
    remarks: tuple[Finding, ...]
    """What there is to say, in words behind the joint's name."""

    @property
    def joint(self) -> str:
        return self.before.joint

    @property
    def holds_anew(self) -> bool:
        """Whether the joint had no actuator, and its new one follows a position."""
        return self.before.actuator is None and self.actuator.drive.followed == "position_target"

    @property
    def springs_removed(self) -> tuple[int, ...]:
        """Tendons of the joint whose friction is the actuator's now: left there, it would count twice."""
        return () if "frictionloss" in self.keeps else self.before.springs


def drive_joint(
    before: ModelJoint,
    actuator: Actuator,
    unknown: Iterable[str] = (),
    ctrl: str = "model",
    *,
    whole: bool = False,
) -> JointDrive:
    """Decide what drives a joint: how it is commanded, with which gains, and what it keeps of its own.

    Args:
        before: the joint as it is.
        actuator: the one that shall drive it.
        unknown: paths of what the actuator does not really know, such as "friction".
        ctrl: "model" leaves ctrl what it is, in its units; "actuator" makes it the first target of the
            actuator's own drive, in the joint's units.
        whole: whether its effort holds its friction too, which a limit of the joint's own would cut off.

    Returns:
        The actuator as it is then commanded, what stays of the joint, and what there is to say.

    Raises:
        InvalidValue: the drive has no gain, and neither has the joint's own actuator.
    """
    remarks, given, scale = [], actuator.drive, 1.0
    if ctrl == "model":
        actuator, remarks = _command_alike(actuator, before)
        scale = _scale(before, actuator, given)
    elif before.actuator is not None and before.gear != 1.0:
        remarks.append(_scale_remark(before))
    missing = [*unknown, *(["motor.rotor_inertia"] if actuator.motor.rotor_inertia == 0 else [])]
    keeps = tuple(dict.fromkeys(name for path in missing for name in UNKNOWN.get(path, ())))
    remarks += _kept_remark(before, keeps)
    remarks += [*_damping_removed(before, actuator), *_limit_remark(before, actuator, whole)]
    if before.actuator is not None:
        remarks.append(_replaced_remark(before))
    return JointDrive(before, actuator, keeps, scale, tuple(remarks))


def _scale(before: ModelJoint, actuator: Actuator, given: Drive) -> float:
    """What a drive is asked for, over ctrl: a position in the joint's units, the current of a torque."""
    if before.follows in ("position_target", "velocity_target"):
        loop = actuator.drive.loop
        in_volts = loop is not None and loop.effort == "V"  # which its back-EMF slows down, as the old one's
        return (before.scale if in_volts else 1.0) / before.gear
    if actuator.drive.followed != "current_target" or (
        not before.follows and given.followed == "current_target"
    ):
        return 1.0
    return (before.gear if before.follows else 1.0) / JointLaw.of(actuator).gain


def _command_alike(actuator: Actuator, joint: ModelJoint) -> tuple[Actuator, list[Finding]]:
    """The actuator commanded as the joint's own is, and what was changed for that."""
    drive, asked = actuator.drive, "torque_target" if _by_torque(actuator.drive) else actuator.drive.followed
    if not joint.follows or joint.follows == asked:
        if asked != "torque_target":
            return actuator, []
        gainless = not joint.follows and drive.followed == "position_target"
        said = f"ctrl is a torque: the {drive.kind} has no gains, and the joint had no actuator."
        remedy = "give gains to have it follow positions: drive.newton_metres_per_radian"
        note = Finding(code="drive_without_gain", text=said, remedy=remedy, numbers={})
        return replace(actuator, drive=_torque(drive)), [note] if gainless else []
    most: dict[str, Any] = {"supply": drive.supply} if drive.supply is not None else {}
    if not most and drive.ceiling({}) is not None:
        most = {"voltage_limit": drive.ceiling({})}
    said = f"ctrl asks for {ASKS[joint.follows]}, and stays so"
    if joint.follows == "torque_target":
        law, how, numbers = _torque(drive), f"the law of the {drive.kind} is left to your controller", {}
    elif joint.follows == "voltage_target":
        law, how, numbers = drives.Voltage(**most), f"the {drive.kind} is left out", {}
    elif joint.follows == "velocity_target":
        _check_gain(joint, drive, joint.derivative)
        law = drives.Impedance(newton_metre_seconds_per_radian=joint.derivative, **most)
        how, numbers = f"with the model's kv {joint.derivative:.4g} N m s/rad", {"kv": joint.derivative}
    else:
        _check_gain(joint, drive, joint.stiffness)
        law = drives.Impedance(
            newton_metres_per_radian=joint.stiffness, newton_metre_seconds_per_radian=joint.derivative, **most
        )
        gains = f"kp {joint.stiffness:.4g} N m/rad and kv {joint.derivative:.4g} N m s/rad"
        how, numbers = (
            f"{drive.kind} has no gains, so {gains} are kept",
            {"kp": joint.stiffness, "kv": joint.derivative},
        )
    remedy = "nothing, if that is what your commands mean"
    return replace(actuator, drive=law), [
        Finding(code="ctrl_kept", text=f"{said}; {how}.", remedy=remedy, numbers=numbers)
    ]


def _check_gain(joint: ModelJoint, drive: Drive, gain: float) -> None:
    if not gain > 0:
        raise InvalidValue(
            f"joint {joint.joint!r}: its ctrl asks for {ASKS[joint.follows]}, and neither its own actuator"
            f" nor the {drive.kind} has a gain, so that nothing would move it; expected one: set it with"
            " drive.newton_metres_per_radian, or give the model's actuator a kp"
        )


def _scale_remark(joint: ModelJoint) -> Finding:
    return Finding(
        code="ctrl_rescaled",
        text=f"its actuator had gear {joint.gear:g}; ctrl is now in the units of the joint itself.",
        remedy=f"divide what was sent by {joint.gear:g}",
        numbers={"gear": joint.gear},
    )


def _kept_remark(before: ModelJoint, keeps: Collection[str]) -> Iterator[Finding]:
    kept = {name: getattr(before, name) for name in OF_JOINT if name in keeps and getattr(before, name)}
    words = [f"{name} {value:.4g}" for name, value in kept.items()]
    if words := words + (["a spring that yields"] if before.springs and "frictionloss" in keeps else []):
        text = f"{' and '.join(words)} stays as in the model: the actuator does not know its own."
        remedy = "measure it or fit it, and give it to the actuator"
        yield Finding(code="kept_from_model", text=text, remedy=remedy, numbers=kept)


def _replaced_remark(joint: ModelJoint) -> Finding:
    more = f"; {len(joint.others)} more on the same joint do nothing any more" if joint.others else ""
    return Finding(
        code="replaced",
        text="driven by the model's own actuator before, which ours replaces; damping, dry friction and"
        f" armature of the joint are the actuator's now, as far as it knows them{more}.",
        remedy="nothing, unless the joint has friction of its own besides its actuator's: put that into the"
        " actuator",
        numbers={"others": len(joint.others)},
    )


LESS = 0.5
"""A joint that keeps less than this share of its damping has lost it."""


def _damping_removed(joint: ModelJoint, actuator: Actuator) -> Iterator[Finding]:
    """Damping of the joint's own that the actuator does not make up for."""
    law = JointLaw.of(actuator)
    now = law.viscous + law.back_emf + law.damping
    before = joint.damping + joint.derivative
    if joint.damping > 0 and now < LESS * before:
        yield Finding(
            code="damping_removed",
            text=f"the joint's damping of {joint.damping:.3g} N m s/rad is gone: with its actuator's it had"
            f" {before:.3g} in all, and has {now:.3g} of winding, friction and drive.",
            remedy="if the joint has damping besides its actuator's, put it into friction.viscous",
            numbers={"before": before, "after": now},
        )


def _limit_remark(joint: ModelJoint, actuator: Actuator, whole: bool) -> Iterator[Finding]:
    """A joint that allows less than its new actuator can give."""
    holds, remedy = (
        "the joint's limit stays",
        "remove the joint's actuatorfrcrange to have the actuator's own",
    )
    if whole:
        holds, remedy = "the actuator's limit holds", "limit its drive, if the joint must not carry more"
    law = JointLaw.of(actuator)
    most = law.effort_limit or law.stall_torque
    if joint.effort_limit is not None and joint.effort_limit < most:
        yield Finding(
            code="limited_by_joint",
            text=f"the joint itself allows {joint.effort_limit:.3g} N m, and the actuator gives {most:.3g}:"
            f" {holds}.",
            remedy=remedy,
            numbers={"joint": joint.effort_limit, "actuator": most},
        )


def drive_findings(drives: Iterable[JointDrive]) -> list[Finding]:
    """What there is to say of all joints, each sentence once with the joints that it is about."""
    said: dict[tuple[str, str], tuple[Finding, list[str]]] = {}
    for drive in drives:
        for remark in drive.remarks:
            said.setdefault((remark.code, remark.text), (remark, []))[1].append(drive.joint)
    return [replace(one, text=f"{', '.join(joints)}: {one.text}") for one, joints in said.values()]


def _by_torque(drive: Drive) -> bool:
    """Whether a drive does nothing but what a torque or a current asks for."""
    loop = drive.loop
    if drive.followed in ("torque_target", "current_target"):
        return True
    return loop is not None and loop.effort != "V" and not (loop.proportional or loop.derivative)


def _torque(drive: Drive) -> Drive:
    """A drive that makes the current of the torque asked for, up to its voltage."""
    if drive.followed == "current_target":
        return drive
    most = drive.ceiling({})
    if drive.supply is not None:
        return drives.Current(supply=drive.supply)
    return drives.Current() if most is None else drives.Current(voltage_limit=most)
