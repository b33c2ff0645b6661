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

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...bounds import json_of
from ...datasheets import parts
from ...datasheets.datasheet import Datasheet
from ...engine.hosted_system import LiveSystem, live_system
from ...errors import InvalidValue, MissingValue, UnknownName
from ...findings import Finding, finding
from ...physics.actuator import Actuator
from ...physics.maths import is_whole
from ...physics.supply import Supply
from ...results.fit_result import Fit
from ..arrays import installed_era, load_mujoco, play_joint, without_log
from ..joint_interface import JointDrive, choose_joints, drive_findings, drive_joint, read_joint
from ..joint_moves import JointMove, check_moves, compare_moves, home, resting
from ..models import LoadedModel, solver_findings
from . import callback, model_edit, motor_rows, safe
from .motors import Attachment, Motors as Motors, SharedBus, element
from .places import SHARED

INERTIA_FLOOR = 1e-10
"""Below this a joint has no inertia to speak of [kg m^2 or kg]."""
SWEEPS = 2
"""Rounds in which the joints of a tree agree on their efforts, each step."""


FINER = (4, 8, 16)
"""Substeps that are tried where joints that move each other diverge with those that one alone needs."""
CTRL = ("model", "actuator")


class GivenActuator(NamedTuple):
    """What somebody gave for a joint."""

    actuator: Actuator
    fit: Fit | None
    """Where its numbers came from."""
    unknown: tuple[str, ...] = ()
    """Paths of what it does not really know."""


class AttachedActuator(NamedTuple):
    """An actuator in a model that is not compiled yet."""

    name: str
    """Of the model's actuator."""
    drive: JointDrive
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
    ctrl: str = "model",
    check: bool = True,
    supply: Supply | None = None,
    allow_outside: bool = False,
) -> Motors:
    """Put actuators onto a model's joints.

    Args:
        model: path of an MJCF or URDF file, or an MjSpec (which stays as it is).
        actuators: the fit of a robot, whose joints have their own; or by joint, or by regular expression for
            joints that the model drives: a Fit, an Actuator, a Datasheet, or anything `Actuator.read` takes,
            such as a catalogue name or "fit.json". A joint's own name wins over a regular expression.
        substeps: of the actuator in each step of the simulation; without it, as many as its stiffness needs.
        sweeps: rounds in which the joints of an arm agree on their efforts, each step.
        feedforward: also give a drive's further targets (velocity and torque of a PD law) an element of ctrl
            each, behind those of the model: "NAME_velocity_target". Without it they are 0.
        switch: also give every drive an element "NAME_disabled" there: at 1 it is off, as a servo is whose
            torque is disabled, and at 0 it is on.
        ctrl: "model": an element of ctrl goes on to mean what it means in the model, a position in the old
            actuator's units or a torque, and a drive without gains takes the joint's own. "actuator": it is
            what the actuator's own drive follows, in the joint's units.
        check: move every joint for a second beside the model as it was, and refuse one that no longer
            follows.
        supply: a `be.Supply` that all share, in place of their own; see `Motors.bus`.
        allow_outside: let the model include files from outside its own folder.

    Returns:
        The model to step, its motors, and what there is to say of each joint.

    Raises:
        BackemfError: the model does not load, a joint cannot have its actuator, or does not follow with it.
    """
    wanted = _by_joint(actuators)
    _check_wanted(wanted, ctrl, substeps=substeps, sweeps=sweeps)
    spec, name = model_edit.spec_of(model, allow_outside)
    _check_integrator(spec, name)
    before = model_edit.compile_spec(spec.copy(), name)
    known = {pattern: _on_supply(_actuator(given), supply) for pattern, given in wanted.items()}
    choice = choose_joints(before, {pattern: one.actuator.motion for pattern, one in known.items()}, name)
    given, said = _with_one_play(before, {joint: known[word] for joint, word in choice.deciding.items()})
    placed = _place_actuators(spec, before, given, switch, ctrl, supply is not None)
    _add_channels(spec, placed, feedforward)
    shared = SharedBus.on(spec, supply)
    made = _compile_with(spec, before, placed, name)
    said += [*drive_findings(one.drive for one in placed.values()), *choice.findings()]
    said += solver_findings(made)

    def fill(least: int = 1) -> Motors:
        return _fill_model(made, spec, placed, said, substeps, sweeps, shared, least)

    return _try_motors(before, fill, () if substeps else FINER, placed, ctrl) if check else fill()


def _try_motors(
    before: Any,
    fill: Callable[..., Motors],
    finer: Sequence[int],
    placed: Mapping[str, AttachedActuator],
    ctrl: str,
) -> Motors:
    """Motors with which every joint follows its command beside the model as it was, with as many substeps as
    joints that move each other need; or a refusal."""
    motors = fill()
    moves = _drive_beside(before, motors, placed, ctrl)
    for n in finer:
        if not any(move.diverges for move in moves):
            break
        motors = fill(n)
        moves = _drive_beside(before, motors, placed, ctrl)
    try:
        said = check_moves(moves, float(motors.model.opt.timestep))
    except InvalidValue as error:
        raise InvalidValue(f"{error} (check=False attaches it all the same)") from None
    return replace(motors, findings=(*motors.findings, *said))


@without_log()
def _drive_beside(
    before: Any, motors: Motors, placed: Mapping[str, AttachedActuator], ctrl: str
) -> list[JointMove]:
    """How far every joint moves in the model as it was and with its motors."""
    mujoco, model = load_mujoco(), motors.model
    data, pairs = mujoco.MjData(before), []
    home(before, data)
    rest = np.zeros(model.nu)
    rest[: before.nu] = resting(before, data.qpos)
    for joint, one in placed.items():
        old, place = one.drive.before, motors.joints[joint].element
        if ctrl == "actuator":  # whatever the model's own was asked for, ours is asked for something else
            old = old._replace(actuator=None, follows="", ctrl=None, gear=1.0)
        follows = old.follows or one.drive.actuator.drive.followed or ""
        pairs.append((old, old._replace(ctrl=place, follows=follows)))
        if follows == "position_target":
            rest[place] = old.gear * float(data.qpos[before.joint(joint).qposadr[0]])
    return compare_moves(before, model, pairs, rest)


def _compile_with(spec: Any, before: Any, placed: Mapping[str, AttachedActuator], name: str) -> Any:
    """The model compiled, with room for every motor's numbers, and keyframes that know where things are."""
    own = {one.name for one in placed.values()}
    first = max([0, *(len(a.userdata) for a in spec.actuators if a.name not in own)])
    width = first + max(motor_rows.width(one.functions, one.system) for one in placed.values())
    spec.nuser_actuator = width
    for one in placed.values():
        heading = callback.heading(one.number, width, first, one.functions.WIDTH)
        spec.actuator(one.name).dynprm[: len(heading)] = heading
    added = {one.name: joint for joint, one in placed.items() if one.drive.holds_anew}
    if any(len(key.act) or added for key in spec.keys):
        model_edit.keyframes(spec, before, own, added)
    made = model_edit.compile_spec(spec, name)
    _check_inertias(made, placed, name)
    return made


def _check_wanted(wanted: Mapping[str, Any], ctrl: str, **counts: int | None) -> None:
    if not wanted:
        raise MissingValue("attach got no actuators; expected joints and their actuators")
    if ctrl not in CTRL:
        raise UnknownName("meaning of ctrl", ctrl, CTRL)
    for word, n in counts.items():
        if n is not None and not (is_whole(n) and n > 0):
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


def _with_one_play(
    before: Any, given: Mapping[str, GivenActuator]
) -> tuple[dict[str, GivenActuator], list[Finding]]:
    """What was given, without play that is a joint of the model already; and what to say of it."""
    kind, made, names = load_mujoco().mjtObj.mjOBJ_JOINT, dict(given), []
    for joint, one in given.items():
        gearbox, there = one.actuator.gearbox, load_mujoco().mj_name2id(before, kind, play_joint(joint))
        if there >= 0 and gearbox.backlash is not None:
            rigid = replace(one.actuator, gearbox=replace(gearbox, backlash=None))
            made[joint] = one._replace(actuator=rigid)
            names.append(joint)
    text = f"{', '.join(names)}: the play of the gears is a joint of the model; the actuator's is left out."
    remedy = f"take {', '.join(map(play_joint, names))} out of the model for the actuator's own play"
    return made, [finding("play_joint", text, remedy, joints=len(names))] if names else []


def _place_actuators(
    spec: Any, before: Any, given: Mapping[str, GivenActuator], switch: bool, ctrl: str, shared: bool
) -> dict[str, AttachedActuator]:
    """What was given put onto the joints of a model."""
    placed = {}
    for joint, one in given.items():
        was = read_joint(LoadedModel(before, installed_era()), joint)
        drive = drive_joint(was, one.actuator, one.unknown, ctrl, whole=True)
        placed[joint] = _place_actuator(spec, drive, one.fit, switch, ctrl, shared)
    model_edit.take_out(spec, before, [k for one in placed.values() for k in one.drive.springs_removed])
    return placed


def _place_actuator(
    spec: Any, drive: JointDrive, fit: Fit | None, switch: bool, ctrl: str, shared: bool
) -> AttachedActuator:
    """An actuator put onto a joint of a model."""
    system = live_system(drive.actuator, switched=switch, shared=shared)
    n_line = motor_rows.line_of(drive.actuator, spec.option.timestep)
    number, functions = callback.register(system)
    taken = model_edit.take(spec, drive, motor_rows.armature_of(system), ctrl)
    spec.actuator(taken).actdim = motor_rows.size(system, n_line)
    return AttachedActuator(taken, drive, system, fit, n_line, number, functions)


def _fill_model(
    model: Any,
    spec: Any,
    placed: Mapping[str, AttachedActuator],
    findings: list[Finding],
    substeps: int | None,
    sweeps: int,
    shared: SharedBus | None,
    least: int = 1,
) -> Motors:
    """Write every motor's numbers into the compiled model, and into its description; each takes at least so
    many substeps."""
    h, joints, known = float(model.opt.timestep), {}, {}
    linked = motor_rows.trees(model, {joint: one.name for joint, one in placed.items()})
    members = sorted(int(model.actuator(one.name).id) for one in placed.values())
    on_bus, supply = ({}, None) if shared is None else (shared.settings(members), shared.supply)
    for joint, inertia in _inertias(model, placed).items():
        one = placed[joint]
        above = max(inertia - motor_rows.armature_of(one.system), 0.0)
        actuator, key = one.system.actuator, (id(one.system.actuator), float(f"{above:.2g}"))
        if key not in known:
            known[key] = safe.try_substeps(actuator, joint, above, h, substeps)
        n, error, said = known[key]
        n = max(n, least)
        if said is not None and said not in findings:
            findings.append(said)
        index = int(model.actuator(one.name).id)
        settings = {
            "sweeps": sweeps,
            "substeps": n,
            "n_line": one.n_line,
            "n_dofs": model.nv,
            "scale": one.drive.scale,
            **linked[joint],
            **_main(model, index),
            **on_bus.get(index, {"n_bus": 0, "bus_next": -1, "bus": -1}),
        }
        channels = [_channel(model, one, target) for target in one.system.inputs[3:]]
        motor_rows.put(model, index, motor_rows.row(one.functions, one.system, settings, channels, supply))
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
            kept_armature=one.drive.before.armature if "armature" in one.drive.keeps else 0.0,
            system=one.system,
        )
    return Motors(model=model, spec=spec, joints=joints, findings=tuple(findings), shared=shared)


def _by_joint(given: Any) -> dict[str, Any]:
    """What is given, by joint or regular expression; of a robot's fit each joint has its own."""
    match given:
        case Mapping():
            return dict(given)
        case str() | Path() if _is_fit(given):
            return _by_joint(Fit.read(given))
        case Fit() if given.joints:
            return dict(given.joints)
    return {".*": given}


def _actuator(given: Any) -> GivenActuator:
    """An actuator, the fit that it came from, and what it does not know."""
    match given:
        case str() | Path() if _is_fit(given):
            return _actuator(Fit.read(given))
        case Fit() if given.joints:
            raise InvalidValue(
                f"attach was given the fit of {len(given.joints)} joints for one of them; expected"
                " be.attach(model, fit), or fit.joints[NAME] for a joint"
            )
        case Fit():
            return GivenActuator(given.actuator, given)
        case Actuator():
            return GivenActuator(given, None)
        case Datasheet():
            return _of_part(given)
        case str() if parts.is_part(given):
            return _of_part(given)
        case str() | Path():
            return GivenActuator(Actuator.read(given), None)
    raise InvalidValue(
        f"attach was given a {type(given).__name__} for a joint; expected a Fit, an Actuator, a"
        " Datasheet, or the name of one"
    )


def _on_supply(given: GivenActuator, supply: Supply | None) -> GivenActuator:
    """The same with the voltage of a shared supply."""
    if supply is None:
        return given
    actuator = given.actuator
    return given._replace(actuator=replace(actuator, drive=replace(actuator.drive, supply=supply.voltage)))


def _of_part(given: str | Datasheet) -> GivenActuator:
    part = parts.part(given)
    return GivenActuator(part.actuator, None, part.unknown)


def _is_fit(source: Path | str) -> bool:
    if not str(source).endswith(".json"):
        return False
    try:
        content = json_of(source)
    except (OSError, ValueError, RecursionError):  # whoever reads it says what is wrong
        return False
    match content:
        case {"noun": "Fit"}:
            return True
    return False


def _add_channels(spec: Any, placed: Mapping[str, AttachedActuator], feedforward: bool) -> None:
    """An element of ctrl for every further target of a drive and for its switch, which acts on nothing by
    itself."""
    mujoco = load_mujoco()
    for joint, one in placed.items():
        drive = one.system.actuator.drive
        for asked in one.system.inputs[3:]:
            if asked == "disabled" or (feedforward and asked not in (drive.followed, "sag")):
                extra = spec.add_actuator(name=f"{one.name}_{asked}", target=joint)
                extra.trntype = mujoco.mjtTrn.mjTRN_JOINT
                extra.gainprm[:] = 0.0


def _channel(model: Any, actuator: AttachedActuator, target: str) -> int:
    """Which element of ctrl holds a target; -1: none, and it is 0; SHARED: none, for the bus says it."""
    if target == "sag":
        return SHARED
    mujoco = load_mujoco()
    name = actuator.name if target == actuator.system.actuator.drive.followed else f"{actuator.name}_{target}"
    index = int(mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, name))
    return index if index < 0 else element(model, index)


def _main(model: Any, index: int) -> dict[str, float]:
    """The element of ctrl that is an actuator's own, and its range."""
    limited = bool(model.actuator(index).ctrllimited[0])
    low, high = model.actuator(index).ctrlrange.reshape(-1)[:2] if limited else (-math.inf, math.inf)
    return {"main": element(model, index), "ctrl_low": float(low), "ctrl_high": float(high)}


def _inertias(model: Any, joints: Iterable[str]) -> dict[str, float]:
    """Of each joint in the model's own pose, its outer links free to move, with its armature
    [kg m^2 or kg]."""
    mujoco = load_mujoco()
    data, found = mujoco.MjData(model), {}
    mujoco.mj_forward(model, data)
    for joint in joints:
        dof = int(model.joint(joint).dofadr[0])
        found[joint] = 1.0 / float(data.qLDiagInv[dof]) if data.qLDiagInv[dof] < 1e14 else 0.0
    return found
