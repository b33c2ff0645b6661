"""The training file: one standalone Python file that imports only torch, with an actuator's step for
thousands of joints at once.

The step is the engine's own, traced and written as torch code (`engine/compile/dialects/torch_dialect.py`).
`compute` gives the
torque on joints that a simulator moves, as the mean of the step the actuator takes with the joint's inertia
(`engine/attached.py`): dry friction then sticks in any simulator. `step` moves joints of the file's own,
which is what tests compare with the engine.
`torch@isaaclab` and `torch@mjlab` add a class in that simulator's own form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine.hosted_system import HostedSystem, hosted_system
from ...errors import InvalidValue, NotAvailable
from ...physics.actuator import Actuator
from ...results.spread import Spread, check_paths
from ..export import Export, Request, complete, hash_comment, header
from ..reference_motions import SimulationCase
from ..spec import whole_rows
from ..template import fill
from .training_numbers import (
    SAME,
    check_targets,
    class_name,
    findings,
    follows_position,
    move_together,
    numbers,
)

if TYPE_CHECKING:
    from ...engine.compile.lower import LoweredHosted

UNITS = (
    "SI at the joint: rad, rad/s, N m, kg m^2, s, V, A, degC; on a linear axis m and N in the same places."
)
OWN_STEP = True
"""It takes the engine's own steps."""
rows = whole_rows(
    ("every parameter of the actuator", "PARAMETERS", "by path, with every digit"),
    ("the engine's time step", "prepare, advance", "traced, so the physics is the engine's"),
    ("every state", "Actuator.state", "by name; position and velocity are the simulator's in `compute`"),
    ("n N^2 motor.rotor_inertia", "Actuator.armature", "the simulator's joint must have it; 0 with backlash"),
    ("drive.delay", "a line of commands", "mixed where a command arrives inside a step"),
    *SAME,
)
"""Ours -> theirs, for the documentation page."""
THEIRS = {
    "isaaclab": {
        "position_target": "joint_positions",
        "velocity_target": "joint_velocities",
        "torque_target": "joint_efforts",
    },
    "mjlab": {
        "position_target": "position_target",
        "velocity_target": "velocity_target",
        "torque_target": "effort_target",
    },
}
"""What the simulators call what is asked."""


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise NotAvailable("torch is not installed; install it with: pip install torch") from None
    return torch


def simulator() -> str:
    """torch and its version; the file moves joints of its own."""
    return f"torch {_torch().__version__}"


def run(files: Mapping[str, str], joint: str, case: SimulationCase) -> np.ndarray:
    """Positions [rad or m] at the case's moments when the file itself is executed."""
    return run_all(files, joint, [case])[0]


def run_all(files: Mapping[str, str], joint: str, cases: Sequence[SimulationCase]) -> list[np.ndarray]:
    """Several cases at once, each an environment; in 64 bits, so that only the file's numbers count."""
    torch, n = _torch(), len(cases)
    inertias = torch.tensor([[case.inertia] for case in cases], dtype=torch.float64)
    name, text = next(iter(files.items()))
    space: dict[str, Any] = {"__name__": "exported"}
    text = text.partition("\n\nfrom ")[0]  # a simulator's own class, which needs that simulator, follows
    try:
        exec(compile(text, name, "exec"), space)
        one = space["Actuator"](n, 1, inertia=inertias, dtype=torch.float64)
    except Exception as error:  # somebody's changes of a Python file may fail in any way
        raise InvalidValue(f"{name} does not run: {type(error).__name__}: {error}") from None
    for state in ("position", "velocity"):
        start = [[getattr(case, state)] for case in cases]
        one.state[state] = torch.tensor(start, dtype=torch.float64)
    targets = [*cases[0].ctrl]

    def step(load: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        given = [torch.from_numpy(column.copy())[:, None] for column in asked.T]
        named = dict(zip(targets[1:], given[1:], strict=True))
        q, w = one.step(*given[:1], cases[0].timestep, load=torch.from_numpy(load)[:, None], **named)
        return q[:, 0].numpy(), w[:, 0].numpy()

    return move_together(cases, simulator(), step)


def write(actuator: Actuator, request: Request) -> Export:
    from ...engine.compile.compiler import lowered_hosted
    from ...engine.compile.dialects.torch_dialect import emit

    system = hosted_system(actuator)
    spread = Spread() if request.spread is None else request.spread
    check_paths(actuator, list(spread.errors))
    lowered = lowered_hosted(system)
    found = findings(actuator, spread)
    top = header(request, UNITS, findings=found)
    usage = (
        "Use: actuator = Actuator(n_envs, n_joints, inertia=...); torque ="
        f" actuator.compute({', '.join([*system.inputs[2:3], 'position', 'velocity', 'dt'])})"
    )
    body = (
        numbers(actuator, spread, system, lowered)
        + emit(lowered)
        + _class(actuator, system, lowered, spread)
        + _flavour(actuator, request, system)
    )
    files = {
        f"{request.joint}_torch.py": hash_comment([*top, usage])
        + "\nimport warnings\n\nimport torch\n"
        + body
    }
    same: dict[str, Any] = {"carried": actuator, "numbers": dict(actuator.parameters)}
    return complete(request, actuator, files=files, findings=found, **same)


def _class(actuator: Actuator, system: HostedSystem, lowered: LoweredHosted, spread: Spread) -> str:
    """The class, with the drive's own targets as arguments: the first by place, the others by name."""
    targets = system.inputs[2:]
    first, others = [*targets[:1]], [f"{name}=0.0" for name in targets[1:]]
    asked = ", ".join([*first, "position", "velocity", "dt", "*", *others, "inertia=None", "load=None"])
    moving = ", ".join([*first, "dt", "*", *others, "load=0.0"])
    shifted = bool(spread.held_out) and follows_position(actuator)
    given = ", ".join(
        f"self.tensor({name})" + (" + self.offset" if shifted and name == "position_target" else "")
        for name in targets
    )
    what = f"a {actuator.drive.kind} with {actuator.friction.kind} friction"
    return fill(
        "torch.py",
        what=what,
        lag=", prepare_lag" if lowered.lag else "",
        asked=asked,
        moving=moving,
        given=given,
    )


def _flavour(actuator: Actuator, request: Request, system: HostedSystem) -> str:
    if request.version == "plain":
        return ""
    targets, theirs = system.inputs[2:], THEIRS[request.version]
    check_targets(actuator, targets, theirs, request.version, "torch@plain")
    owner = "control_action" if request.version == "isaaclab" else "cmd"
    given = "".join(f"{name}={owner}.{theirs[name]}, " for name in targets)
    name = class_name(request.joint)
    armature = float(system.armature(list(system.parameters.values())))
    words = {"name": name, "armature": armature, "timestep": request.timestep, "given": given}
    if request.version == "mjlab":
        return fill("mjlab.py", torch=True, warp=False, **words)
    return fill("torch_isaaclab.py", **words)
