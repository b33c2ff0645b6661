"""A file for Newton, run: its function builds the joint, Newton's own actuator and solver move it, on a CPU.

Newton 1.7 asks for MuJoCo 3.15. Its solver on MuJoCo's C library runs with 4.0 too; the one on MuJoCo Warp
does not.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...errors import BackemfError, InvalidValue, MissingValue, NotAvailable
from ...mujoco.arrays import without_log
from ..clocked import Clocked

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


def loaded(text: str) -> Callable[..., None]:
    """The file's function; InvalidValue or MissingValue where there is none that could be one."""
    space: dict[str, Any] = {}
    try:
        exec(compile(text, "the file for Newton", "exec"), space)
    except Exception as error:
        raise InvalidValue(f"the file for Newton does not run as Python: {error!r}") from None
    if not callable(space.get(ENTRY)):
        raise MissingValue(f"the file for Newton has no function {ENTRY}(builder, joint, timestep)")
    return space[ENTRY]


def _built(text: str, joint: str, case: Clocked) -> Any:
    """A model of one joint, as the file makes it, on the CPU."""
    newton, warp = _newton()
    entry, builder = loaded(text), newton.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    newton.solvers.SolverMuJoCo.register_custom_attributes(builder)
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


def moved(text: str, joint: str, case: Clocked) -> np.ndarray:
    """Positions at the case's moments."""
    newton, _ = _newton()
    with _quiet(), without_log():
        model = _built(text, joint, case)
        solver = newton.solvers.SolverMuJoCo(model, use_mujoco_cpu=True, disable_contacts=True)
        positions = _stepped(newton, model, solver, case)
        if not (np.abs(positions) < LOST).all() or _broken(solver):
            raise InvalidValue(
                f"Newton's motion diverges at a step of {1e3 * case.timestep:g} ms; export with a shorter"
                " timestep"
            )
        return positions


def _broken(solver: Any) -> bool:
    """Whether MuJoCo met numbers that are none; it then begins anew, and the positions look healthy."""
    import mujoco

    kinds = (
        mujoco.mjtWarning.mjWARN_BADQACC,
        mujoco.mjtWarning.mjWARN_BADQPOS,
        mujoco.mjtWarning.mjWARN_BADQVEL,
    )
    return any(int(solver.mj_data.warning[int(kind)].number) for kind in kinds)


def _stepped(newton: Any, model: Any, solver: Any, case: Clocked) -> np.ndarray:
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
