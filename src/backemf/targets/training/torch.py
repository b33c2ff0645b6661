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
from typing import Any

import numpy as np

from ...errors import InvalidValue, NotAvailable
from ...physics.actuator import Actuator
from ..reference_motions import SimulationCase, run_alone
from ..result import Export, Request
from ..spec import whole_rows
from ..template import fill
from .training_numbers import SAME, TrainingFile, move_together

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
        import torch  # pyright: ignore[reportMissingImports]  # optional
    except ImportError:
        raise NotAvailable("torch is not installed; install it with: pip install torch") from None
    return torch


def simulator() -> str:
    """torch and its version; the file moves joints of its own."""
    return f"torch {_torch().__version__}"


def run_all(files: Mapping[str, str], joint: str, cases: Sequence[SimulationCase]) -> list[np.ndarray]:
    """Several cases at once, each an environment; in 64 bits, so that only the file's numbers count."""
    torch, n = _torch(), len(cases)
    inertias = torch.tensor([[case.inertia] for case in cases], dtype=torch.float64)
    name, text = next(iter(files.items()))
    space: dict[str, Any] = {"__name__": "exported"}
    text = text.partition("\n\nfrom ")[0]  # a simulator's own class, which needs that simulator, follows
    try:
        exec(compile(text, name, "exec"), space)
        one = space["Actuator"](n, 1, inertia=inertias, dtype=torch.float64, randomise=())
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


run = run_alone(run_all)
"""Positions [rad or m] at a case's moments when the file itself is executed."""


def write(actuator: Actuator, request: Request) -> Export:
    from ...engine.compile.dialects.torch_dialect import emit

    file = TrainingFile.of(actuator, request)
    usage = (
        "Use: actuator = Actuator(n_envs, n_joints, inertia=...); torque ="
        f" actuator.compute({', '.join([*file.targets[:1], 'position', 'velocity', 'dt'])})"
    )
    body = emit(file.lowered) + _class(file) + _flavour(file)
    return file.export("torch", usage, "\nimport warnings\n\nimport torch\n", body)


def _class(file: TrainingFile) -> str:
    """The class, with the drive's own targets as arguments: the first by place, the others by name."""
    first, others = [*file.targets[:1]], [f"{name}=0.0" for name in file.targets[1:]]
    return fill(
        "torch.py",
        what=file.what,
        randomise=file.randomise,
        lag=", prepare_lag" if file.lowered.lag else "",
        asked=", ".join([*first, "position", "velocity", "dt", "*", *others, "inertia=None", "load=None"]),
        moving=", ".join([*first, "dt", "*", *others, "load=0.0"]),
        given=", ".join(
            f"self.tensor({name})"
            + (" + self.offset + self.slow" if file.has_offset and name == "position_target" else "")
            for name in file.targets
        ),
    )


def _flavour(file: TrainingFile) -> str:
    """A simulator's own class, or nothing."""
    version = file.request.version
    if version == "plain":
        return ""
    theirs, owner = THEIRS[version], "control_action" if version == "isaaclab" else "cmd"
    file.check_targets(theirs, "torch@plain")
    words = file.host_words()
    words["given"] = "".join(f"{name}={owner}.{theirs[name]}, " for name in file.targets)
    if version == "mjlab":
        return fill("mjlab.py", torch=True, warp=False, **words)
    return fill("torch_isaaclab.py", timestep=file.request.timestep, **words)
