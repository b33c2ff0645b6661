"""An MJCF file run in the installed MuJoCo on a bench: the very text, its own options, actuator and joint.

A file that backemf wrote is used as it stands; of a larger model, such as a whole robot, the joint and its
actuator are put onto a body of their own. The bench's inertia sits on that body, its load is applied step by
step.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidValue, NotAvailable, UnknownName
from ...mujoco.arrays import dcmotors, engine_of, from_model, load_mujoco, play_joint, rest_springs
from ...mujoco.dcmotor import DcMotor, DcMotorJoint, Engine, initial_state, release, rules
from ...mujoco.joint_moves import setpoints
from ...mujoco.step import step
from ..reference_motions import SimulationCase

SWITCHED = ("actuator_gainprm", "actuator_biasprm", "actuator_forcelimited", "actuator_forcerange")
"""What says whether an actuator does anything."""
OPEN = 1e9
"""Resistance of a winding whose drive is disabled [ohm]."""
NO_INTEGRAL = 1e-300
"""Gain of an integral that does nothing, whose activation stays: the engine refuses to lose one."""
INERT = {
    "mass": "the bench's inertia takes the place of the stand-in body's",
    "diaginertia": "the bench's inertia takes the place of the stand-in body's",
    "pos": "the place of a body that turns about its own axis moves nothing",
    "axis": "only its direction counts, and it is the only joint",
}
"""Attributes of a written file that do not act in a replay, and why."""
OF_JOINT = ("armature", "frictionloss", "stiffness", "springref", "ref", "actfrclimited")
OF_JOINT_ROWS = ("solref_friction", "solimp_friction", "actfrcrange")
NOT_COPIED = {"id", "name", "target", "trntype", "classname", "signature", "info", "parent", "plugin"}
NOT_COPIED |= {"refsite", "slidersite"}
Adjust = Callable[[Any], None]
"""A change of the compiled model, such as a recording's own gain."""


def simulator() -> str:
    """MuJoCo and its version."""
    return f"MuJoCo {load_mujoco().__version__}"


def check_version(version: str) -> None:
    """Refuse a file whose `<dcmotor>` the installed MuJoCo reads otherwise."""
    here = load_mujoco().__version__
    release(here)
    if rules(here).era != rules(version).era:
        raise NotAvailable(
            f"the file is for MuJoCo {version}, and {here} is installed, which reads <dcmotor> and <pid>"
            " otherwise; export for the installed version, or replay where the other one is installed"
        )


def spec_of(text: str) -> Any:
    """A file's text as MuJoCo reads it."""
    mujoco = load_mujoco()
    try:
        return mujoco.MjSpec.from_string(text)
    except ValueError as error:
        raise InvalidValue(
            f"MuJoCo {mujoco.__version__} does not load the file: {' '.join(str(error).split())}"
        ) from None


def timestep_of(files: Mapping[str, str]) -> float:
    """The time step that a file asks for [s]."""
    return float(spec_of(_main(files)).option.timestep)


def _main(files: Mapping[str, str]) -> str:
    return next(iter(files.values()))


def run(
    files: Mapping[str, str], joint: str, case: SimulationCase, adjust: Adjust | None = None
) -> np.ndarray:
    """The file itself, loaded and driven.

    Args:
        files: the main one first.
        joint: its name there.
        case: what is asked for and when, and the bench.
        adjust: changes the compiled model before it runs.

    Returns:
        Positions at the case's moments [rad or m].
    """
    mujoco, (model, dofs) = load_mujoco(), place_on_bench(spec_of(_main(files)), joint, case)
    if adjust is not None:
        adjust(model)
    data = mujoco.MjData(model)
    sent = _inputs(model, case)
    _start(mujoco, model, data, dofs[0], case, sent)
    on = {n: getattr(model, n).copy() for n in SWITCHED}
    positions, was = np.empty(len(case.moments)), True
    for k in range(len(case.moments)):
        q, w = float(sum(data.qpos[d] for d in dofs)), float(sum(data.qvel[d] for d in dofs))
        positions[k] = q
        if bool(case.enabled[k]) != was:
            was = bool(case.enabled[k])
            _switch(model, on, was)
        data.ctrl[:] = sent[k]
        data.qfrc_applied[list(dofs)] = case.load(k, q, w)
        mujoco.mj_step(model, data)
    bad = (mujoco.mjtWarning.mjWARN_BADQACC, mujoco.mjtWarning.mjWARN_BADQPOS)
    if sum(int(data.warning[int(kind)].number) for kind in bad):
        positions[-1] = np.inf
    return case.check(simulator(), positions)


class BenchModel(NamedTuple):
    """A compiled model with one joint on a bench, and its degrees of freedom (two where play is a joint)."""

    model: Any
    dofs: tuple[int, ...]


def place_on_bench(spec: Any, joint: str, case: SimulationCase) -> BenchModel:
    """The joint of a file on the bench of a case."""
    mujoco = load_mujoco()
    if spec.joint(joint) is None:
        raise UnknownName("joint of the file", joint, [j.name for j in spec.joints if j.name])
    body = spec.body(f"{joint}_load")
    if body is None:
        spec, body = _single_joint(mujoco, spec, joint)
    slide = case.motion == "linear"
    J = max(case.inertia, 1e-9)  # a body must have some
    body.mass = J if slide else 1.0
    body.inertia[:] = J
    spec.option.gravity[:] = 0.0
    finer = case.timestep < 0.999 * spec.option.timestep
    for a in spec.actuators if finer else ():
        if getattr(a, "delay", 0.0) > 0:  # as many samples as the delay takes at this step
            a.nsample = max(int(a.nsample), int(-(-a.delay // case.timestep)) + 1)
    spec.option.timestep = case.timestep
    try:
        model = spec.compile()
    except ValueError as error:
        raise InvalidValue(
            f"MuJoCo {mujoco.__version__} does not compile the file: {' '.join(str(error).split())}"
        ) from None
    names = [name for name in (joint, play_joint(joint)) if spec.joint(name) is not None]
    return BenchModel(model, tuple(int(model.joint(name).dofadr[0]) for name in names))


def _single_joint(mujoco: Any, spec: Any, joint: str) -> tuple[Any, Any]:
    """A model of one body, still without mass, with a joint's own attributes and actuators; options as in the
    file."""
    mine, alone = spec.joint(joint), mujoco.MjSpec()
    alone.option.integrator, alone.compiler.degree = spec.option.integrator, spec.compiler.degree
    body = alone.worldbody.add_body(name=f"{joint}_load", explicitinertial=True)
    hinge = body.add_joint(name=joint, type=mine.type)  # about z, like every other axis of such a body
    for field in OF_JOINT:
        setattr(hinge, field, getattr(mine, field))
    for field in OF_JOINT_ROWS:
        getattr(hinge, field)[:] = getattr(mine, field)
    copy_number(hinge, mine, "damping")
    for old in [a for a in spec.actuators if a.target == joint]:
        copy_actuator(old, alone.add_actuator(name=old.name, target=joint))
    copy_springs(spec, joint, alone, joint)
    if not alone.actuators:
        raise InvalidValue(f"the file has no actuator on the joint {joint!r}; expected one to replay")
    return alone, body


def copy_number(to: Any, source: Any, field: str) -> None:
    """Copy a number that is an array in some versions of MuJoCo.

    Args:
        to: an element of an MjSpec.
        source: another.
        field: of both.
    """
    value = np.atleast_1d(getattr(source, field))
    if isinstance(getattr(to, field), np.ndarray):
        getattr(to, field)[: len(value)] = value
    else:
        setattr(to, field, float(value[0]))


def yielding(spec: Any, joint: str) -> list[Any]:
    """Tendons that hold one joint, or it with its play: what yields, and friction."""
    both = [joint, play_joint(joint)]
    ways = [(tendon, [wrap.target.name for wrap in tendon.path]) for tendon in spec.tendons]
    yields = [one for one in ways if getattr(one[0], "springyield", 0.0) > 0 or one[1] == both]
    return [tendon for tendon, names in yields if names in (both[:1], both)]


def copy_springs(source: Any, joint: str, to: Any, name: str) -> None:
    """What holds a joint in place of its friction, in place of what another has so.

    Args:
        source: an MjSpec.
        joint: of it.
        to: another MjSpec.
        name: of the joint there.
    """
    for old in yielding(to, name):
        to.delete(old)
    for tendon in yielding(source, joint):
        mine = to.add_tendon(frictionloss=tendon.frictionloss, limited=tendon.limited)
        if hasattr(tendon, "springyield"):
            mine.springyield = tendon.springyield
        for field in ("solref_friction", "solimp_friction"):
            getattr(mine, field)[:] = getattr(tendon, field)
        copy_number(mine, tendon, "stiffness")
        mine.wrap_joint(name, 1.0)


def copy_actuator(source: Any, to: Any) -> None:
    """Every field of an actuator that says what it does."""
    to.trntype = source.trntype
    for field in dir(source):
        if field.startswith("_") or field in NOT_COPIED:
            continue
        value = getattr(source, field)
        if isinstance(value, np.ndarray):
            getattr(to, field)[:] = value
        elif not callable(value):
            with contextlib.suppress(AttributeError):  # a few fields cannot be set
                setattr(to, field, value)


def _inputs(model: Any, case: SimulationCase) -> np.ndarray:
    sent = case.inputs
    if sent.shape[1] != model.nu:
        given = ", ".join(case.ctrl) or "nothing"
        raise InvalidValue(f"the file has {model.nu} inputs; expected {sent.shape[1]}, for {given}")
    return sent


def _start(mujoco: Any, model: Any, data: Any, dof: int, case: SimulationCase, sent: np.ndarray) -> None:
    data.qpos[dof], data.qvel[dof] = case.position, case.velocity
    rest_springs(model, data)
    for place, setpoint in setpoints(model, data.qpos).items():  # what is slewed starts at the joint
        data.act[place] = setpoint
    if hasattr(model, "actuator_delay") and np.any(model.actuator_delay > 0):
        n = int(model.actuator_history[0, 0])
        before = -float(model.opt.timestep) * np.arange(n, 0, -1)
        mujoco.mj_initCtrlHistory(model, data, 0, before, np.squeeze(np.tile(sent[0], (n, 1))))
    mujoco.mj_forward(model, data)


def _switch(model: Any, on: Mapping[str, np.ndarray], enabled: bool) -> None:
    """Open the winding, or close it again; cogging and friction stay."""
    for name, values in on.items():
        getattr(model, name)[:] = values
    if enabled:
        return
    if dcmotors(model):
        gains = model.actuator_gainprm
        gains[:, 0], gains[:, [4, 6]] = OPEN, 0.0
        gains[:, 5] = np.where(gains[:, 5] > 0, NO_INTEGRAL, 0.0)
    else:
        for name in SWITCHED:
            getattr(model, name)[:] = name == "actuator_forcelimited"  # to nothing, feed-forward too


def open_winding(dcmotor: DcMotor) -> DcMotor:
    """The dcmotor with its winding open."""
    control = dcmotor.controller
    loop = replace(control, kp=0.0, kd=0.0, ki=control.ki if control.ki is None else NO_INTEGRAL)
    return replace(dcmotor, motor=replace(dcmotor.motor, resistance=OPEN), controller=loop)


def our_step(
    files: Mapping[str, str], joint: str, case: SimulationCase, adjust: Adjust | None = None
) -> np.ndarray | None:
    """The same through `mujoco/step.py`, with the numbers of the compiled file.

    Args:
        files: as `run` takes them, and so are the others.
        joint: its name there.
        case: what is asked for and when, and the bench.
        adjust: changes the compiled model before it runs.

    Returns:
        Positions [rad or m]; None where the file has what we keep no copy of: the solver's own friction,
        delays, play.
    """
    model, dofs = place_on_bench(spec_of(_main(files)), joint, case)
    delayed = hasattr(model, "actuator_delay") and bool(np.any(model.actuator_delay > 0))
    on_joint = any(float(np.max(np.abs(getattr(model, f"dof_{n}")))) for n in ("frictionloss", "damping"))
    on_joint = on_joint or bool(getattr(model, "nplastic", 0))
    if dcmotors(model) != [0] or delayed or on_joint or len(dofs) != 1:
        return None
    if adjust is not None:
        adjust(model)
    dcmotor = from_model(model, 0)
    engine = engine_of(model)
    (dof,) = dofs
    J = max(case.inertia, 1e-9) + float(model.dof_armature[dof])
    state: Mapping[str, Any] = initial_state(dcmotor, position=case.position, velocity=case.velocity)
    if "setpoint" in state and "position_target" in case.ctrl:
        state = {**state, "setpoint": case.position * dcmotor.gear}
    return np.fromiter(_steps(dcmotor, engine, J, state, case), float, len(case.moments))


def _steps(
    dcmotor: DcMotor, engine: Engine, J: float, state: Mapping[str, Any], case: SimulationCase
) -> Iterator[float]:
    sent, off = case.inputs, open_winding(dcmotor)
    for k in range(len(case.moments)):
        yield state["position"]
        load = case.load(k, state["position"], state["velocity"])
        now = dcmotor if case.enabled[k] else off
        state = step(now, DcMotorJoint(inertia=J, load=load), engine, state, tuple(sent[k]))


def settings_of(before: Any, after: Any) -> Adjust:
    """The change that takes one compiled actuator to another, for a third of the same kind: in proportion
    where there is something to be in proportion to."""
    names = [f"actuator_{n}" for n in ("gainprm", "biasprm", "dynprm", "forcerange", "ctrlrange")]
    names += ["dof_damping", "dof_frictionloss"]

    def adjust(model: Any) -> None:
        for name in names:
            a, b, own = (getattr(m, name) for m in (before, after, model))
            if a.shape != own.shape or b.shape != own.shape:
                raise InvalidValue(
                    "the file has other inputs than the actuator it is compared with; its gain cannot be"
                    " changed to the recording's"
                )
            ratio = np.divide(b, a, out=np.ones_like(b), where=a != 0)
            own[:] = own * ratio + np.where(a == 0, b, 0.0)

    return adjust
