"""`attach`: whole actuators inside MuJoCo, so that nothing of them is lost on the way.

    motors = be.attach("so101.xml", {"elbow_flex": fit, ".*": "sts3215-12v"})
    model, data = motors.model, mujoco.MjData(motors.model)
    data.ctrl[:] = targets                      # in the joints' units; never written by us
    mujoco.mj_step(model, data)

Winding, bristles, temperature and late commands are activations of the model, so that resetting, keyframes,
`mj_getState`, `mujoco.rollout` and threads carry them. The engine calls compiled code; Python is not in the
loop.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...datasheets.datasheet import Datasheet
from ...engine.hosted_system import LiveSystem, live_system
from ...errors import InvalidValue, MissingValue
from ...findings import Finding
from ...physics.actuator import Actuator
from ...results.fit_result import Fit
from ..arrays import load_mujoco
from . import callback, model_edit, motor_rows, safe
from .motors import Attachment, Motors as Motors, element

INERTIA_FLOOR = 1e-10
"""Below this a joint has no inertia to speak of [kg m^2 or kg]."""
SWEEPS = 2
"""Rounds in which the joints of a tree agree on their efforts, each step."""


class AttachedActuator(NamedTuple):
    """An actuator in a model that is not compiled yet."""

    name: str
    """Of the model's actuator."""
    system: LiveSystem
    fit: Fit | None
    n_line: int
    number: int
    """By which models know its structure."""
    functions: Any


def attach(
    model: Any,
    actuators: Mapping[str, Any] | Any,
    *,
    substeps: int | None = None,
    sweeps: int = SWEEPS,
    feedforward: bool = False,
    switch: bool = False,
) -> Motors:
    """Put actuators onto a model's joints.

    model        path of an MJCF or URDF file, or an MjSpec (which stays as it is).
    actuators    the fit of a robot, whose joints have their own; or by joint, or by regular expression for
                 joints that the model drives: a Fit, an Actuator, a Datasheet, or anything `Actuator.read`
                 takes, such as a catalogue name or "fit.json". A joint's own name wins over a regular
                 expression.
    substeps     of the actuator in each step of the simulation; without it, as many as its stiffness needs.
    sweeps       rounds in which the joints of an arm agree on their efforts, each step.
    feedforward  also give a drive's further targets (velocity and torque of a PD law) an element of ctrl
                 each, behind those of the model: "NAME_velocity_target". Without it they are 0.
    switch       also give every drive an element "NAME_disabled" there: at 1 it is off, as a servo is whose
                 torque is disabled, and at 0 it is on.
    """
    wanted = dict(actuators) if isinstance(actuators, Mapping) else _of_all(actuators)
    if not wanted:
        raise MissingValue("attach got no actuators; expected joints and their actuators")
    _check_counts(substeps=substeps, sweeps=sweeps)
    spec, name = model_edit.spec_of(model)
    _check_integrator(spec, name)
    before = model_edit.compile_spec(spec.copy(), name) if any(len(key.act) for key in spec.keys) else None
    known = {pattern: _actuator(given) for pattern, given in wanted.items()}
    findings: list[Finding] = []
    first, placed = max([0, *(len(a.userdata) for a in spec.actuators)]), {}
    for joint, pattern in model_edit.choose_joints(spec, wanted, name).items():
        placed[joint], said = _place_actuator(spec, joint, *known[pattern], switch)
        findings += said
    _add_channels(spec, placed, feedforward)
    width = first + max(motor_rows.width(one.functions, one.system) for one in placed.values())
    spec.nuser_actuator = width
    for one in placed.values():
        heading = callback.heading(one.number, width, first, one.functions.WIDTH)
        spec.actuator(one.name).dynprm[: len(heading)] = heading
    if before is not None:
        model_edit.keyframes(spec, before, {one.name for one in placed.values()})
    made = model_edit.compile_spec(spec, name)
    _check_inertias(made, placed, name)
    return _fill_model(made, spec, placed, findings, substeps, sweeps)


def _check_counts(**counts: int | None) -> None:
    for word, n in counts.items():
        if n is not None and not (isinstance(n, int) and n > 0):
            raise InvalidValue(f"{word} is {n!r}; expected a whole number above 0")


def _check_inertias(model: Any, placed: Mapping[str, AttachedActuator], name: str) -> None:
    for joint, J in _inertias(model, placed).items():
        if J < INERTIA_FLOOR:
            raise MissingValue(
                f"joint {joint!r} of {name} moves nothing that has inertia, and its actuator brings none"
                " (motor.rotor_inertia is 0, or backlash parts it from the joint); give the link a mass"
            )


def _check_integrator(spec: Any, name: str) -> None:
    if spec.option.integrator == load_mujoco().mjtIntegrator.mjINT_RK4:
        raise InvalidValue(
            f"{name} asks for the integrator RK4, which asks actuators several times a step; expected Euler,"
            " implicit or implicitfast: set the option's integrator"
        )


def _place_actuator(
    spec: Any, joint: str, actuator: Actuator, fit: Fit | None, switch: bool
) -> tuple[AttachedActuator, list[Finding]]:
    """An actuator put onto a joint of a model, and what there is to say of that."""
    _same_motion(load_mujoco(), spec, joint, actuator)
    system, n_line = (
        live_system(actuator, switched=switch),
        motor_rows.line_of(actuator, spec.option.timestep),
    )
    number, functions = callback.register(system)
    taken, said = model_edit.take(
        spec, joint, actuator, float(system.armature([*system.parameters.values()]))
    )
    spec.actuator(taken).actdim = motor_rows.size(system, n_line)
    return AttachedActuator(taken, system, fit, n_line, number, functions), said


def _fill_model(
    model: Any,
    spec: Any,
    placed: Mapping[str, AttachedActuator],
    findings: list[Finding],
    substeps: int | None,
    sweeps: int,
) -> Motors:
    """Write every motor's numbers into the compiled model, and into its description."""
    h, joints, known = float(model.opt.timestep), {}, {}
    linked = motor_rows.trees(model, {joint: one.name for joint, one in placed.items()})
    for joint, above in _inertias(model, placed, armature=False).items():
        one = placed[joint]
        actuator, key = one.system.actuator, (id(one.system.actuator), float(f"{above:.2g}"))
        if key not in known:
            known[key] = safe.try_substeps(actuator, joint, above, h, substeps)
        n, error, said = known[key]
        if said is not None and said not in findings:
            findings.append(said)
        index = int(model.actuator(one.name).id)
        settings = {
            "sweeps": sweeps,
            "substeps": n,
            "n_line": one.n_line,
            "n_dofs": model.nv,
            **linked[joint],
            **_main(model, index),
        }
        channels = [_channel(model, one, target) for target in one.system.inputs[3:]]
        motor_rows.put(model, index, motor_rows.row(one.functions, one.system, settings, channels))
        spec.actuator(one.name).userdata = model.actuator_user[index].copy()
        joints[joint] = Attachment(
            joint=joint,
            name=one.name,
            index=index,
            element=element(model, index),
            actuator=actuator,
            fit=one.fit,
            substeps=n,
            error=error,
            at=int(model.actuator_actadr[index]),
            n_line=one.n_line,
            system=one.system,
        )
    return Motors(model=model, spec=spec, joints=joints, findings=tuple(findings))


def _of_all(given: Any) -> dict[str, Any]:
    """What is given for all joints at once: of a robot's fit each joint its own."""
    if isinstance(given, str | Path) and _is_fit(given):
        given = Fit.read(given)
    return dict(given.joints) if isinstance(given, Fit) and given.joints else {".*": given}


def _actuator(given: Any) -> tuple[Actuator, Fit | None]:
    """An actuator, and the fit that it came from."""
    if isinstance(given, str | Path) and _is_fit(given):
        given = Fit.read(given)
    if isinstance(given, Fit) and given.joints:
        raise InvalidValue(
            f"attach was given the fit of {len(given.joints)} joints for one of them; expected"
            " be.attach(model, fit), or fit.joints[NAME] for a joint"
        )
    if isinstance(given, Fit):
        return given.actuator, given
    if isinstance(given, Datasheet):
        return given.actuator(), None
    if isinstance(given, str | Path):
        return Actuator.read(given), None
    if not isinstance(given, Actuator):
        raise InvalidValue(
            f"attach was given a {type(given).__name__} for a joint; expected a Fit, an Actuator, a"
            f" Datasheet, or"
            " the name of one"
        )
    return given, None


def _is_fit(source: Path | str) -> bool:
    try:
        content = (
            json.loads(Path(source).read_text(encoding="utf-8")) if str(source).endswith(".json") else None
        )
    except (OSError, ValueError, RecursionError):  # whoever reads it says what is wrong
        return False
    return isinstance(content, dict) and content.get("noun") == "Fit"


def _same_motion(mujoco: Any, spec: Any, joint: str, actuator: Actuator) -> None:
    slides = spec.joint(joint).type == mujoco.mjtJoint.mjJNT_SLIDE
    if slides != (actuator.motion == "linear"):
        kinds = ("a slide", "rotary") if slides else ("a hinge", "linear")
        raise InvalidValue(
            f"joint {joint!r} is {kinds[0]}, and its actuator is {kinds[1]}; expected a linear actuator for a"
            " slide and a rotary one for a hinge"
        )


def _add_channels(spec: Any, placed: Mapping[str, AttachedActuator], feedforward: bool) -> None:
    """An element of ctrl for every further target of a drive and for its switch, which acts on nothing by
    itself."""
    mujoco = load_mujoco()
    for joint, one in placed.items():
        drive = one.system.actuator.drive
        for asked in one.system.inputs[3:]:
            if asked == "disabled" or (feedforward and asked != drive.followed):
                extra = spec.add_actuator(name=f"{one.name}_{asked}", target=joint)
                extra.trntype = mujoco.mjtTrn.mjTRN_JOINT
                extra.gainprm[:] = 0.0


def _channel(model: Any, actuator: AttachedActuator, target: str) -> int:
    """Which element of ctrl holds a target; -1: none, and it is 0."""
    mujoco = load_mujoco()
    name = actuator.name if target == actuator.system.actuator.drive.followed else f"{actuator.name}_{target}"
    index = int(mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, name))
    return index if index < 0 else element(model, index)


def _main(model: Any, index: int) -> dict[str, float]:
    """The element of ctrl that is an actuator's own, and its range."""
    limited = bool(model.actuator(index).ctrllimited[0])
    low, high = model.actuator(index).ctrlrange.reshape(-1)[:2] if limited else (-math.inf, math.inf)
    return {"main": element(model, index), "ctrl_low": float(low), "ctrl_high": float(high)}


def _inertias(
    model: Any, joints: Sequence[str] | Mapping[str, Any], armature: bool = True
) -> dict[str, float]:
    """Of each joint in the model's own pose, its outer links free to move, with or without its armature
    [kg m^2 or kg]."""
    mujoco = load_mujoco()
    data, found = mujoco.MjData(model), {}
    mujoco.mj_forward(model, data)
    for joint in joints:
        dof = int(model.joint(joint).dofadr[0])
        J = 1.0 / float(data.qLDiagInv[dof]) if data.qLDiagInv[dof] < 1e14 else 0.0
        found[joint] = J if armature else max(J - float(model.dof_armature[dof]), 0.0)
    return found
