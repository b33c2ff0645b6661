"""How a file of MuJoCo holds still: springs that yield (4.0 on) in the place of dry friction, and the creep
of any file under a load that friction would hold, measured by running it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ...errors import BackemfError, InvalidValue
from ...findings import Finding
from ...mujoco.actuator_conversion import from_actuator
from ...mujoco.arrays import holding_tendons, load_mujoco, play_joint, rest_springs, without_log
from ...mujoco.dcmotor import release, rules
from ...mujoco.xml import Edit, Element, with_attributes
from ...physics import steady
from ...physics.actuator import Actuator
from ...physics.friction import MaxwellSlip, Viscous
from ...physics.gearbox import Gearbox
from ...physics.joint_law import JointLaw, capability
from ..reference_motions import reference_inertia
from ..result import Export, Request, number
from .finding import integrator_finding

if TYPE_CHECKING:
    from ...mujoco.joint_interface import JointDrive
    from .into import UserModel

SHARE = 0.6
"""Of the friction at rest that is hung onto the joint, where the reference load is more."""
SETTLES, MINUTE = 5.0, 60.0
"""Before creep is measured, and for how long [s]."""
MOST_STEPS = 40_000
"""A file with a short time step is watched for less."""
STILL = 1e-4
"""Less creep than this [rad or m a minute] needs no cure."""
NOSLIP = 5
"""Iterations of MuJoCo's solver for friction that does not slip."""


YIELDS_FROM = (4, 0)
"""The first MuJoCo with `springyield`."""

DAMPED = 0.8
"""Share of the drive's damping that a bristle's explicit step may take up."""

MjcfFile = str | Callable[[], Any]
"""The text of a file, or what makes the compiled model of it."""
KINDS = {"coulomb": "frictionloss", "maxwell-slip": "springyield", "lugre": "lugre"}
"""What holds a joint at rest in a file, for the friction that it is carried as."""


class YieldingSpring(NamedTuple):
    """A fixed tendon of one joint that yields: friction that holds without creep."""

    stiffness: float
    """[N m/rad]"""
    reach: float
    """How far it bends before it slips [rad]."""

    def words(self) -> str:
        """As attributes, safe from what default classes say; its rest is where the model begins."""
        words = f'stiffness="{number(self.stiffness)}" springyield="{number(self.reach)}"'
        return f'{words} damping="0" frictionloss="0" limited="false"'


def springs_of(friction: Viscous) -> tuple[YieldingSpring, ...]:
    """What a friction of several springs becomes: one, where all reach equally far."""
    if friction.name != "maxwell-slip":
        return ()
    slip = cast("MaxwellSlip", friction)
    each = slip.springs()
    if slip.softening == 1:
        return (YieldingSpring(slip.stiffness, slip.coulomb / slip.stiffness),)
    return tuple(YieldingSpring(float(k), slip.coulomb / (len(each) * float(k))) for k in each)


def read_springs(model: Any, joint: int) -> tuple[YieldingSpring, ...]:
    """The springs that yield on one joint of a compiled model.

    Args:
        model: compiled.
        joint: its id.

    Returns:
        They, in the order of the tendons.
    """
    return tuple(
        YieldingSpring(float(np.atleast_1d(model.tendon_stiffness[k])[0]), float(model.tendon_springyield[k]))
        for k in holding_tendons(model, joint)
        if model.tendon_frictionloss[k] == 0
    )


def friction_of(springs: Sequence[YieldingSpring], **drag: Any) -> MaxwellSlip:
    """The friction that springs are: the reverse of `springs_of`.

    Args:
        springs: one, or four that slip at equal levels.
        drag: numbers of the drag, by field.

    Returns:
        The friction.
    """
    k = [spring.stiffness for spring in springs]
    level = sum(spring.stiffness * spring.reach for spring in springs)
    softening = k[0] / k[1] if len(k) > 1 else 1.0
    return MaxwellSlip(**drag, coulomb=level, stiffness=sum(k), softening=softening)


def tendon_section(springs: Sequence[YieldingSpring], joints: Sequence[str], friction: str = "") -> str:
    """Springs as a section of MJCF, and friction that holds a joint with its play.

    Args:
        springs: that hold the joint.
        joints: its name, and that of its play.
        friction: attributes of it; "": there is none.

    Returns:
        The section; "" without either.
    """
    held = [*(spring.words() for spring in springs), *([f'{friction} limited="false"'] if friction else [])]
    over = "".join(f'<joint joint="{joint}" coef="1"/>' for joint in joints)
    inside = "".join(f"\n    <fixed {words}>{over}</fixed>" for words in held)
    return f"<tendon>{inside}\n  </tendon>" if held else ""


def wanted_kind(request: Request) -> str | None:
    """What a joint is to be held by; None: whatever is closest."""
    if request.at_rest != "closest":
        return request.at_rest
    return None if request.similar is None else KINDS.get(request.similar.friction.name)


def can_yield(request: Request) -> bool:
    """Whether the target has springs that yield."""
    return request.target == "mujoco" and release(request.version) >= YIELDS_FROM


def check_at_rest(request: Request) -> None:
    """Refuse springs that yield where the version has none, and say which has."""
    if request.at_rest == "springyield" and not can_yield(request):
        raise InvalidValue(
            f"{request.target} {request.version} has no springyield; expected mujoco@4.0, or"
            " at_rest='frictionloss'"
        )


def stiffest_spring(actuator: Actuator, request: Request) -> float:
    """The stiffest friction whose springs a time step holds [N m/rad at the output]: with the drive's own
    stiffness h sqrt(k / J) = 1 on the rotor alone, where the engine's step is stable below 2."""
    J = steady.armature(actuator) or reference_inertia(actuator, request)
    most = J / request.timestep**2
    return max(most - abs(JointLaw.of(actuator).stiffness), 0.1 * most)


def as_springs(actuator: Actuator, request: Request) -> Actuator:
    """An actuator whose dry friction is one spring that yields, as stiff as the time step holds.

    Args:
        actuator: with Coulomb friction.
        request: with the time step.

    Returns:
        It; as it was where it has no dry friction.
    """
    friction = actuator.friction
    if not friction.moving > 0:
        return actuator
    return replace(
        actuator,
        friction=MaxwellSlip(
            **friction.drag_terms,
            coulomb=friction.moving,
            stiffness=stiffest_spring(actuator, request),
            softening=1.0,
        ),
    )


def stiff_bristle(reduced: Actuator, actuator: Actuator, request: Request) -> tuple[float, float]:
    """(stiffness [N m/rad], damping [N m s/rad]) of a bristle that holds still in the engine's step.

    It pulls with the deflection at the step's beginning, which feeds in as much as a damping of -stiffness h:
    what the drive damps implicitly has to outweigh that. A bristle without a damping of its own is passive
    whatever its levels are; where the drive damps next to nothing, it has one.

    Args:
        reduced: what the file has so far.
        actuator: the whole one.
        request: with the time step.

    Returns:
        Both, at the output.
    """
    h, law = request.timestep, JointLaw.of(reduced)
    J = steady.armature(actuator) or reference_inertia(actuator, request)
    soft, held = 0.1 * J / h**2, DAMPED * (law.damping + law.back_emf + law.viscous) / h
    return (min(held, J / h**2), 0.0) if held > 0.1 * soft else (soft, 0.6 * math.sqrt(J * soft))


def bristle_holds(actuator: Actuator, request: Request, era: int) -> bool:
    """Whether a bristle feeds no energy in and the engine's step follows it,
    on the reference bench and on the rotor alone.

    Args:
        actuator: with a bristle.
        request: with the time step, integrator and version.
        era: of the `<dcmotor>`.

    Returns:
        Whether it may be written.
    """
    if actuator.friction.findings():
        return False
    version = {"mujoco": request.version}.get(request.target, "3.11" if era == 1 else "4.0")
    dcmotor = from_actuator(
        replace(actuator, gearbox=Gearbox(ratio=actuator.gearbox.ratio, n_motors=actuator.gearbox.n_motors)),
        era,
    ).dcmotor
    heavy = reference_inertia(actuator, request)
    return all(
        integrator_finding(dcmotor, J, request.timestep, request.integrator, version) is None
        for J in (heavy, 0.1 * heavy)
    )


def spring_edits(model: UserModel, drive: JointDrive, section: str = "") -> tuple[list[Edit], list[str]]:
    """Fixed tendons that hold a joint, in the place of those whose friction is its new actuator's.

    Args:
        model: a user's.
        drive: of the joint from now on.
        section: of the tendons that it gets.

    Returns:
        Edits of the model's files, and what changes in words.

    Raises:
        InvalidValue: a spring to be taken out has no place of its own in the file.
    """
    gone, said = drive.springs_removed, []
    listed = [e for e in model.elements if e.parent == "tendon" and e.tag in ("fixed", "spatial")]
    if gone and len(listed) != model.loaded.model.ntendon:
        raise InvalidValue(
            f"the spring that yields on {drive.joint!r} has no place of its own in {model.path.name}, because"
            " a <replicate> or <attach> makes tendons there; expected it in the file: take it out first"
        )
    edits = [Edit(listed[k], listed[k].start, listed[k].end, b"") for k in gone]
    if gone and not section:
        said = [f"joint {drive.joint}: springs that yielded are out, whose friction is the actuator's now"]
    if section:
        root = next(e for e in model.elements if e.file == model.path)
        at = model.path.read_bytes().rindex(b"</", root.opened, root.end)
        edits.append(Edit(root, at, at, f"  {section}\n".encode()))
        held = "springs that yield hold it" if "springyield" in section else "friction holds it with its play"
        said = [f"joint {drive.joint}: {held}, in place of frictionloss"]
    return edits, said


def spring_findings(chosen: Mapping[str, Export]) -> Iterator[Finding]:
    """What a reset has to do where springs hold joints, of exports by joint."""
    held = [joint for joint, export in chosen.items() if springs_of(export.carried.friction)]
    if held:
        text = (
            f"springs that yield hold {', '.join(held)}; they begin at the model's own pose or a keyframe's,"
            " and where qpos is set by hand they throw the joint back."
        )
        remedy = "set data.plastic to the joints' positions too, two for each tendon; or export with"
        remedy += " --at-rest frictionloss"
        yield Finding(code="springs_rest", text=text, remedy=remedy)


def spring_rests(new: Any, k: int) -> np.ndarray:
    """Where the springs that yield of a compiled model rest in keyframe k: where its joints stand."""
    mujoco = load_mujoco()
    data = mujoco.MjData(new)
    mujoco.mj_resetDataKeyframe(new, data, k)
    rest_springs(new, data)
    return np.array(getattr(data, "plastic", ()))


LINE_SEARCH = 50
"""Iterations of the line search, MuJoCo's own default. Friction as sharp as `STICKING` needs them: an arm of
five servos that follows its commands to 4.6 mrad with 50 is off by 8.3 with 20, at no gain in time."""


def searching(elements: Sequence[Element], fresh: Sequence[bytes]) -> tuple[list[Edit], list[str]]:
    """Edits of a model's options that let the friction in the new text hold, and what they change.

    Args:
        elements: of the model.
        fresh: the new text, piece by piece.

    Returns:
        Both.
    """
    if not any(b"solimpfriction" in text for text in fresh):
        return [], []
    edits, changes = [], []
    for element in elements:
        given = element.attributes.get("ls_iterations", "") if element.tag == "option" else ""
        if given.strip().isdigit() and int(given) < LINE_SEARCH:
            raw = element.file.read_bytes()[element.start : element.opened]
            text = with_attributes(raw, {"ls_iterations": str(LINE_SEARCH)})
            edits.append(Edit(element, element.start, element.opened, text))
            why = "with fewer the solver stops before the joints' friction holds"
            changes.append(f"option: ls_iterations {given} became {LINE_SEARCH}: {why}")
    return edits, changes


def creep(file: MjcfFile, joint: str, torque: float, noslip: int | None = None) -> float:
    """How far a joint moves in a minute under a constant load while it is asked to stay.

    Args:
        file: the text of an MJCF file, or what compiles it.
        joint: its name there; play is a joint of its own name.
        torque: at the output [N m or N].
        noslip: iterations of the solver that lets nothing slip, instead of the file's own.

    Returns:
        The motion [rad or m a minute], after it has settled.
    """
    mujoco = load_mujoco()
    model: Any = file() if callable(file) else mujoco.MjModel.from_xml_string(file)
    if noslip is not None:
        model.opt.noslip_iterations = noslip
    data, h = mujoco.MjData(model), float(model.opt.timestep)
    names = [model.joint(k).name for k in range(model.njnt)]
    at = [int(model.joint(n).qposadr[0]) for n in (joint, play_joint(joint)) if n in names]
    data.qfrc_applied[at] = torque
    share = min(1.0, MOST_STEPS * h / (SETTLES + MINUTE))
    with without_log():
        mujoco.mj_step(model, data, nstep=max(1, round(share * SETTLES / h)))
        before, since = float(data.qpos[at].sum()), float(data.time)
        mujoco.mj_step(model, data, nstep=max(1, round(share * MINUTE / h)))
    if not data.time > since:
        raise InvalidValue(f"MuJoCo's simulation of {joint} begins anew under {torque:.3g} N m")
    return (float(data.qpos[at].sum()) - before) * MINUTE / (float(data.time) - since)


def hold_lines(
    file: MjcfFile,
    carried: Actuator,
    request: Request,
    springs: Sequence[YieldingSpring] = (),
    how: str = "run in this file",
) -> list[str]:
    """Lines of a file's header on how still it holds.

    Args:
        file: its text, or what compiles it.
        carried: what it simulates.
        request: with its version, joint, time step and reference load.
        springs: that hold the joint.
        how: it was run, in words.

    Returns:
        The creep, a cure where there is one, and what to know of springs.
    """
    unit, effort = ("m", "N") if carried.motion == "linear" else ("rad", "N m")
    lines = [_spring_line(springs, carried, request, unit, effort)] if springs else []
    held = SHARE * float(carried.friction.breakaway)
    torque = request.load * capability(carried, request.amplitude).stall
    if held > 0:
        torque = min(torque, held) or held
    elif carried.drive.followed != "position_target":
        return ["Creep: nothing holds it, neither dry friction nor a drive that holds a position."]
    try:
        if request.version != "any" and rules(load_mujoco().__version__).era != rules(request.version).era:
            raise InvalidValue(
                f"MuJoCo {load_mujoco().__version__} is installed, which reads <dcmotor> otherwise"
            )
        slow = creep(file, request.joint, torque)
        cured = creep(file, request.joint, torque, NOSLIP) if abs(slow) > STILL else slow
    except (BackemfError, ValueError) as error:
        return [*lines, f"Creep: not measured: {' '.join(str(error).split())}."]
    lines.insert(0, f"Creep: {abs(slow):.2g} {unit} a minute under {torque:.3g} {effort}, {how}.")
    if abs(cured) < 0.1 * abs(slow):
        lines.insert(1, f'Cure: <option noslip_iterations="{NOSLIP}"/>, with which it is {abs(cured):.2g}.')
    return lines


def creep_words(exports: Mapping[str, Export]) -> tuple[str, ...]:
    """What the files of single joints say of their creep, of joints of one model.

    Args:
        exports: by joint.

    Returns:
        A sentence for joints that creep alike.
    """
    said: dict[str, list[str]] = {}
    for joint, export in exports.items():
        for words in re.findall(r"(?m)^\W*(?:Creep|Cure): (.*?)\W*$", export.text):
            said.setdefault(words.replace("run in this file", "run in a file of its own"), []).append(joint)
    return tuple(f"Creep of {', '.join(joints)}: {words}." for words, joints in said.items())


def _spring_line(
    springs: Sequence[YieldingSpring], carried: Actuator, request: Request, unit: str, effort: str
) -> str:
    """What holds the joint, how near the step's limit it is, and where it begins."""
    k, J = sum(spring.stiffness for spring in springs), steady.armature(carried)
    bends = ", ".join(f"{1e3 * spring.reach:.3g}" for spring in springs)
    near = ""
    if J > 0:
        near = (
            f"; h sqrt(k / J) is {request.timestep * math.sqrt(k / J):.2g} on the rotor alone, stable below 2"
        )
    return (
        f"Springs that yield hold it: {k:.4g} {effort}/{unit}, at {bends} m{unit}{near}. Where qpos is set by"
        " hand, set both of a tendon's data.plastic to the position too (a keyframe: plastic=...)."
    )
