"""Newton 1.7: a Python file with one function that puts a `DrivePD` and its clamp onto a joint of a builder.

    effort = clip(kp (q_target - q) + kd (w_target - w) + joint_act,
                  saturation_effort (+-1 - w / velocity_limit), +-max_motor_effort)

That is a motor without inductance at its greatest voltage, exactly, whatever its drive follows: back-EMF is
part of kd, and a voltage or current is a torque in `joint_act`. Dry friction, damping and armature are the
joint's.

A file is run here on a CPU: its function builds the joint, Newton's own actuator and solver move it. Newton
1.7 asks for MuJoCo 3.15. Its solver on MuJoCo's C library runs with 4.0 too; the one on MuJoCo Warp does not.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import BackemfError, InvalidValue, MissingValue, NotAvailable
from ..mujoco.arrays import without_log
from ..physics import steady
from ..physics.actuator import Actuator
from ..physics.friction import Coulomb
from ..physics.gearbox import Gearbox
from ..physics.joint_law import JointLaw, dry_levels
from ..physics.motor import Limits, Motor
from .approximate import difference, positions, refit
from .reference_motions import SimulationCase, motions_of
from .result import NOTHING_LOST, Request, hash_comment, number
from .spec import (
    LAW_DRIVE,
    LAW_FRICTION,
    LAW_LOSS,
    LAW_MOTOR,
    LAW_PLAY,
    SEES_JOINT,
    Filling,
    Loss,
    Row,
    TargetLaw,
    TargetSpec,
    carry,
    drop,
    rows_without,
)
from .write import account


def _check(actuator: Actuator) -> None:
    if not actuator.drive.followed:
        raise InvalidValue(
            f"Newton has no drive for {actuator.drive.kind}; expected one that follows a target"
        )


def _settle(spec: TargetSpec, actuator: Actuator, request: Request) -> TargetLaw:
    """One motor at the joint, its friction moved to make up for what is lost."""
    carried, losses, costs = stand_in(actuator, request), spec.losses(actuator, request), NOTHING_LOST
    if losses:
        motions, over = motions_of(actuator, request)
        reference = positions(actuator, motions)
        left = difference(positions(carried, motions), reference)
        if request.method == "simulation" and any(loss.kept for loss in losses):
            carried, left = refit(carried, {"friction"}, actuator, request)
        costs = account(actuator, losses, left, reference, motions, over)
    limits, volts = carried.motor.limits, carried.drive.ceiling({})
    law = JointLaw.of(carried)._replace(
        effort_limit=0.0 if limits is None else limits.torque or 0.0, friction=carried.friction.moving
    )
    law = law if volts is not None else law._replace(stall_torque=0.0, no_load_speed=0.0)
    return TargetLaw(law, carried, costs)


def stand_in(actuator: Actuator, request: Request) -> Actuator:
    """What Newton simulates: one motor at the joint, without what it has no place for."""
    motor, gearbox, drive, at = actuator.motor, actuator.gearbox, actuator.drive, steady.line(actuator)
    eta = gearbox.efficiency or 1.0
    most = None if motor.limits is None else motor.limits.largest_torque(motor)
    held = None if most is None else Limits(torque=eta * abs(float(gearbox.output_torque(most))))
    strong = Motor(
        resistance=at.R,
        torque_constant=eta * at.K_t,
        back_emf_constant=at.K_e,
        rotor_inertia=steady.armature(actuator),
        limits=held,
    )
    gone = {name: None for name in ("slew", "period") if getattr(drive, name, None)}
    gone |= {**drive.without_firmware, **drive.without_integral, **drive.without_push}
    plain = replace(drive, **gone, delay=_delay(drive.delay, request.timestep))
    one = Actuator(
        motor=strong,
        gearbox=Gearbox(ratio=float(gearbox.forwards)),
        friction=Coulomb(
            coulomb=dry_levels(actuator, request.load, request.amplitude).moving, viscous=at.viscous
        ),
        drive=plain,
        motion=actuator.motion,
    )
    gains = ("drive.newton_metres_per_radian", "drive.newton_metre_seconds_per_radian")
    own = one.parameters
    return one.replace(**{path: eta * own[path] for path in gains if path in own and eta < 1})


def _delay(delay: float | None, timestep: float) -> float | None:
    """In whole steps."""
    return None if not delay else timestep * round(delay / timestep) or None


def _lose_delay(actuator: Actuator, request: Request) -> Iterable[Loss]:
    delay = actuator.drive.delay
    whole = _delay(delay, request.timestep) or 0.0
    if delay and abs(whole - delay) > 1e-9:
        text = f"rounded to {1e3 * whole:g} ms, in steps of {1e3 * request.timestep:g} ms"
        yield Loss("drive.delay", text, True)


def inputs(actuator: Actuator) -> dict[str, float]:
    """Factor from each target to Newton's: joint_target_q, joint_target_qd, or N m in joint_act.

    kd brakes by the back-EMF too, so a speed is asked for in the share of kd that is the law's own.
    """
    drive, law, eta = actuator.drive, JointLaw.of(actuator), actuator.gearbox.efficiency or 1.0
    own, emf = law.damping, eta * law.back_emf
    factors = {"position_target": 1.0, "velocity_target": own / (own + emf) if own > 0 else 1.0}
    others = [name for name in drive.targets if name != drive.followed]
    return {name: factors.get(name, law.gain or eta) for name in (drive.followed, *others)}


LINEAR = {"N m/rad": "N/m", "N m s/rad": "N s/m", "kg m^2": "kg", "rad/s": "m/s", "N m": "N"}
CLAMP = {"SATURATION_EFFORT": "saturation_effort", "VELOCITY_LIMIT": "velocity_limit"}
CLAMP |= {"MAX_MOTOR_EFFORT": "max_motor_effort"}


def _place(settled: TargetLaw, numbers: Mapping[str, float], actuator: Actuator, request: Request) -> Filling:
    given = ", ".join(f'"{theirs}": {ours}' for ours, theirs in CLAMP.items() if ours in numbers)
    arguments = ["kp=KP", "kd=KD"]
    arguments += ["delay_steps=round(DELAY / timestep)"] if "DELAY" in numbers else []
    arguments += [f"clamping=[(ClampingDCMotor, {{{given}}})]"] if given else []
    limit = "    builder.joint_effort_limit[dof] = EFFORT_LIMIT" if "EFFORT_LIMIT" in numbers else ""
    fields = {
        "imports": "ClampingDCMotor, DrivePD" if given else "DrivePD",
        "constants": _constants(numbers, actuator.motion),
        "timestep": repr(request.timestep),
        "solver": SOLVER if numbers["FRICTION"] else "",
        "sticks": STICKS if numbers["FRICTION"] else "",
        "limit": limit,
        "arguments": "\n".join(f"        {text}," for text in arguments),
    }
    sent = inputs(actuator)
    act, ports = "joint_act, in N m at the joint,", {"velocity_target": "joint_target_qd"}
    lines = [
        f"Input: {ports.get(name, act)} takes the {name} times {number(factor)}."
        for name, factor in sent.items()
        if factor != 1.0 or not name.startswith(("position", "velocity"))
    ]
    return Filling(fields, lines, sent)


def _constants(numbers: Mapping[str, float], motion: str) -> str:
    """The file's constants, each with its unit."""
    units = {row.name: row.remarks.split(",")[0] for row in SPEC.rows if row.name}
    if motion == "linear":
        units = {name: LINEAR.get(unit, unit) for name, unit in units.items()}
    return "\n".join(f"{name} = {value!r}  # {units[name]}" for name, value in numbers.items())


SOLVER = """SOLREF_STEPS = 2.0  # time steps; with SolverMuJoCo's defaults the friction creeps
SOLIMP = (0.9999, 0.9999, 0.001, 0.5, 2.0)"""
STICKS = """    solref = (SOLREF_STEPS * timestep, 1.0)
    for name, value in (("mujoco:solreffriction", solref), ("mujoco:solimpfriction", SOLIMP)):
        if name in builder.custom_attributes:  # SolverMuJoCo.register_custom_attributes(builder) made them
            attribute = builder.custom_attributes[name]
            attribute.values = {**(attribute.values or {}), dof: value}"""


def _nonzero(name: str) -> Any:
    """A number of the law where it is not 0."""
    return lambda law, actuator: getattr(law, name) or None


SPEC = TargetSpec(
    label="Newton",
    units="SI at the joint: kp N m/rad, kd and damping N m s/rad, efforts and friction N m, speeds rad/s,"
    " armature kg m^2, delay s; on a prismatic joint N and m.",
    rows=(
        carry("law.stiffness", "DrivePD kp", "N m/rad, at the joint", name="KP"),
        carry(
            "law.damping, law.back_emf",
            "DrivePD kd",
            "N m s/rad, at the joint",
            name="KD",
            value=lambda law, actuator: law.damping + law.back_emf,
        ),
        carry("law.armature", "joint armature", "kg m^2, at the joint", name="ARMATURE"),
        carry("law.viscous", "joint damping", "N m s/rad, at the joint", name="DAMPING"),
        carry(
            "law.friction",
            "joint friction",
            "N m, at half the reference load; its MuJoCo solver takes it, Featherstone ignores it",
            name="FRICTION",
        ),
        carry(
            "law.stall_torque",
            "ClampingDCMotor saturation_effort",
            "N m, at the joint",
            name="SATURATION_EFFORT",
            value=_nonzero("stall_torque"),
        ),
        carry(
            "law.no_load_speed",
            "ClampingDCMotor velocity_limit",
            "rad/s, at the joint",
            name="VELOCITY_LIMIT",
            value=_nonzero("no_load_speed"),
        ),
        carry(
            "law.effort_limit, motor.limits.current, limits.torque",
            "ClampingDCMotor max_motor_effort",
            "N m, at the joint",
            name="MAX_MOTOR_EFFORT",
            value=_nonzero("effort_limit"),
        ),
        carry(
            "law.effort_limit",
            "joint effort_limit",
            "N m, at the joint",
            name="EFFORT_LIMIT",
            value=_nonzero("effort_limit"),
        ),
        carry(
            "law.delay",
            "delay_steps",
            "s, in whole steps of the builder's own time step",
            name="DELAY",
            value=_nonzero("delay"),
        ),
        Row("law.gain", "header `Input:`", "N m per unit of command: the header says by how much"),
        *rows_without(LAW_MOTOR, "motor.limits.current"),
        LAW_LOSS,
        LAW_PLAY,
        *LAW_FRICTION,
        *rows_without(LAW_DRIVE, "drive.delay", "drive.supply"),
        SEES_JOINT,
        Row("drive.delay", "delay_steps", "rounded to whole steps", lose=_lose_delay),
        drop(
            "drive.command_low, command_high",
            "Newton clips no target: limit the command before sending, and nothing is lost",
            when=lambda a: a.drive.command_low is not None or a.drive.command_high is not None,
            measured=False,
        ),
    ),
    file="{joint}_newton.py",
    template="newton.py",
    comment=hash_comment,
    check=_check,
    settle=_settle,
    place=_place,
    inert={
        "EFFORT_LIMIT": "clips the joint's own drive, which is off; the clamp holds the same number",
        "TIMESTEP": "the time step where none is given; a run gives its own",
        "SOLIMP": "the solver's at its stiffest: MuJoCo clips what is above",
    },
    run=lambda files, joint, case: move_joint(
        lambda: _build_model(next(iter(files.values())), joint, case), case
    ),
    simulator=lambda: simulator(),
)


# Its run.

LOST = 1e6
"""Positions beyond this [rad or m] are not a motion any more."""
LEAST = 1e-9
"""Inertia of a bench that has none: a body must have some."""
ENTRY = "add_actuator"
"""The function that a file must have."""


def simulator() -> str:
    """Name and version of what runs these files here."""
    _newton()
    version = importlib.metadata.version
    return f"Newton {version('newton')}, SolverMuJoCo on MuJoCo {version('mujoco')} (CPU)"


def _newton() -> tuple[Any, Any]:
    try:
        with _quiet():
            warp: Any = importlib.import_module("warp")
            warp.config.log_level = warp.LOG_ERROR  # it greets on stdout
            importlib.import_module("mujoco_warp")  # its solver imports it, whichever library it then runs on
            importlib.import_module("newton.solvers")
            return importlib.import_module("newton"), warp
    except ImportError as error:
        raise NotAvailable(
            f"Newton is not installed whole ({error}), and nothing else runs this file here; install it with"
            " `pip install newton==1.7.0 mujoco-warp==4.0.0 mujoco`"
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Newton's warning that it asks for another MuJoCo: what it does with this one is tested."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="MuJoCo dependency version mismatch")
        warnings.filterwarnings("ignore", category=ResourceWarning)
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        yield


def load_function(text: str) -> Callable[..., None]:
    """The file's function; InvalidValue or MissingValue where there is none that could be one."""
    space: dict[str, Any] = {}
    try:
        exec(compile(text, "the file for Newton", "exec"), space)
    except Exception as error:
        raise InvalidValue(f"the file for Newton does not run as Python: {error!r}") from None
    if not callable(space.get(ENTRY)):
        raise MissingValue(f"the file for Newton has no function {ENTRY}(builder, joint, timestep)")
    return space[ENTRY]


def bare_builder() -> tuple[Any, Any]:
    """(a builder of models without gravity, Warp)."""
    newton, warp = _newton()
    builder = newton.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    newton.solvers.SolverMuJoCo.register_custom_attributes(builder)
    return builder, warp


def _build_model(text: str, joint: str, case: SimulationCase) -> Any:
    """A builder of one joint, as the file makes it."""
    entry, (builder, warp) = load_function(text), bare_builder()
    J, slides = max(case.inertia, LEAST), case.motion == "linear"
    link = builder.add_link(mass=J if slides else 1.0, inertia=warp.mat33(J * np.eye(3)), lock_inertia=True)
    add = builder.add_joint_prismatic if slides else builder.add_joint_revolute
    index = add(parent=-1, child=link, axis=(0.0, 0.0, 1.0), label=joint)
    builder.add_articulation([index])
    try:
        entry(builder, index, case.timestep)
    except BackemfError:
        raise
    except Exception as error:
        raise InvalidValue(f"the file for Newton makes no actuator: {error}") from None
    return builder


def _finalize(builder: Any) -> Any:
    """The model on the CPU, if its numbers are some."""
    for name in ("joint_armature", "joint_damping", "joint_friction"):
        value = float(getattr(builder, name)[0])
        if not 0.0 <= value < math.inf:
            raise InvalidValue(
                f"{name} is {value!r} in the file for Newton; expected a finite number of 0 or more"
            )
    model = builder.finalize(device="cpu")
    if len(model.actuators) != 1:
        raise MissingValue(f"the file for Newton adds {len(model.actuators)} actuators; expected one")
    return model


def move_joint(build: Callable[[], Any], case: SimulationCase) -> np.ndarray:
    """What Newton makes of a case.

    Args:
        build: makes a builder with one joint and its actuator.
        case: what is asked for and when.

    Returns:
        Positions at the case's moments [rad or m].
    """
    newton, _ = _newton()
    with _quiet(), without_log():
        model = _finalize(build())
        solver = newton.solvers.SolverMuJoCo(model, use_mujoco_cpu=True, disable_contacts=True)
        positions = _step_through(newton, model, solver, case)
        if not (np.abs(positions) < LOST).all() or _is_broken(solver):
            raise InvalidValue(
                f"Newton's motion diverges at a step of {1e3 * case.timestep:g} ms; export with a shorter"
                " timestep"
            )
        return positions


def _is_broken(solver: Any) -> bool:
    """Whether MuJoCo met numbers that are none; it then begins anew, and the positions look healthy."""
    import mujoco

    kinds = (
        mujoco.mjtWarning.mjWARN_BADQACC,
        mujoco.mjtWarning.mjWARN_BADQPOS,
        mujoco.mjtWarning.mjWARN_BADQVEL,
    )
    return any(int(solver.mj_data.warning[int(kind)].number) for kind in kinds)


def _step_through(newton: Any, model: Any, solver: Any, case: SimulationCase) -> np.ndarray:
    actuator, control = model.actuators[0], model.control()
    now, after, mine, next_ = model.state(), model.state(), actuator.state(), actuator.state()
    now.joint_q.assign(np.array([case.position]))
    now.joint_qd.assign(np.array([case.velocity]))
    newton.eval_fk(model, now.joint_q, now.joint_qd, now)
    ports = {"position_target": control.joint_target_q, "velocity_target": control.joint_target_qd}
    positions = np.empty(len(case.moments))
    for k in range(len(case.moments)):
        q, w = float(now.joint_q.numpy()[0]), float(now.joint_qd.numpy()[0])
        positions[k] = q
        sent = {n: factor * float(case.command[n][k]) for n, factor in case.ctrl.items() if n in case.command}
        control.joint_act.fill_(sum(value for name, value in sent.items() if name not in ports))
        for name, port in ports.items():
            port.fill_(sent.get(name, 0.0))
        load = case.load(k, q, w)
        control.joint_f.fill_(load)
        actuator.step(now, control, mine, next_, dt=case.timestep)
        mine, next_ = next_, mine
        if not case.enabled[k]:  # an open winding; what was asked still ages in the delay
            control.joint_f.fill_(load)
        solver.step(now, after, control, None, case.timestep)
        now, after = after, now
    return positions
