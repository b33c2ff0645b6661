"""The training file for JAX: one standalone Python file that imports only jax, with an actuator's step as
pure functions of one joint, which jit, vmap and derivatives go through.

The step is the engine's own, traced and written as JAX code (`engine/compile/dialects/jax_dialect.py`).
`step` gives the torque on a joint that a simulator moves, `move` moves one of the file's own, which is what
tests compare with the engine. `jax@mjx` and `jax@playground` add what takes the substeps of a model in MJX.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import InvalidValue
from ...physics.actuator import Actuator
from ..reference_motions import SimulationCase, run_alone
from ..result import Export, Request
from ..spec import whole_rows
from ..template import fill
from .training_numbers import SAME, TrainingFile, move_together

OWN_STEP = True
"""It takes the engine's own steps."""
rows = whole_rows(
    ("every parameter of the actuator", "params()", "by path, with every digit; derivatives in all of them"),
    ("the engine's time step", "prepare, advance", "traced, so the physics is the engine's"),
    ("every state", "init(p, dt)", "a tree of zeros: zeros anywhere are a new start"),
    ("n N^2 motor.rotor_inertia", "armature(p)", "the simulator's joint must have it; 0 with backlash"),
    ("drive.delay", "state['line']", "mixed where a command arrives inside a step, so with a derivative"),
    *SAME[:-4],
    (
        "a fit's bands",
        "BANDS, SLOW",
        "`draw(..., randomise=('bands',))`: one whole draw, and a slow error of the position target",
    ),
    ("a fit's errors and correlation", "PARAMETER_ERROR, CHOLESKY", "`draw(environment_key)`"),
    ("spread from unit to unit", "UNIT_SPREAD", "`draw(..., joint_key)`; an assumption unless stated"),
    (
        "a fit's held-out error",
        "HELD_OUT",
        "`draw(..., randomise=('held_out',))`: a constant error of the target",
    ),
)
"""Ours -> theirs, for the documentation page."""
JOINT = ("position", "velocity")
"""States that are the simulator's."""


def simulator() -> str:
    """JAX and its version; the file moves joints of its own."""
    import jax

    return f"JAX {jax.__version__}"


def load_file(files: Mapping[str, str], *, whole: bool = False) -> dict[str, Any]:
    """The names of an exported file.

    Args:
        files: the export's, by name.
        whole: with what needs a simulator.

    Returns:
        Functions and tables by name.

    Raises:
        InvalidValue: the file does not run.
    """
    name, text = next((n, t) for n, t in files.items() if n.endswith(".py"))
    space: dict[str, Any] = {"__name__": "exported"}
    try:
        exec(compile(text if whole else text.partition("\n\nfrom jax.flatten")[0], name, "exec"), space)
    except Exception as error:  # somebody's changes of a Python file may fail in any way
        raise InvalidValue(f"{name} does not run: {type(error).__name__}: {error}") from None
    return space


def run_all(files: Mapping[str, str], joint: str, cases: Sequence[SimulationCase]) -> list[np.ndarray]:
    """Several cases at once, each a joint; in 64 bits, so that only the file's numbers count."""
    import jax
    import jax.numpy as jnp

    h, targets = cases[0].timestep, [*cases[0].ctrl]
    with jax.enable_x64(True):
        try:
            space = load_file(files)
            p = space["params"]()
            state = jax.tree.map(lambda x: jnp.tile(x, (len(cases),) + (1,) * x.ndim), space["init"](p, h))
        except Exception as error:  # as above
            raise InvalidValue(f"the file does not run: {type(error).__name__}: {error}") from None

        def move(state: Any, q: Any, w: Any, load: Any, asked: Any, inertia: Any) -> Any:
            named = dict(zip(targets[1:], asked[1:], strict=True))
            return space["move"](
                p, state, *asked[: len(targets[:1])], q, w, h, inertia=inertia, load=load, **named
            )

        every = jax.jit(jax.vmap(move))
        inertias = jnp.asarray([case.inertia for case in cases])
        q, w = (jnp.asarray([getattr(case, name) for case in cases], float) for name in JOINT)

        def step(loads: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            nonlocal state, q, w
            state, q, w = every(state, q, w, jnp.asarray(loads), jnp.asarray(asked), inertias)
            return np.asarray(q), np.asarray(w)

        return move_together(cases, simulator(), step)


run = run_alone(run_all)
"""Positions [rad or m] at a case's moments when the file itself is executed."""


def write(actuator: Actuator, request: Request, drives: Sequence[Any] = (), first_free: int = 0) -> Export:
    """The file of one actuator; for a model in MJX, of all its joints.

    Args:
        actuator: whose step it is.
        request: how it is written.
        drives: of the joints of a model (`JointDrive`s), whose numbers may differ.
        first_free: number of the model's `userdata` from which on the file may remember things.

    Returns:
        The export; nothing is lost.
    """
    from ...engine.compile.dialects.jax_dialect import emit_functions
    from .mjx import FLAVOURS, flavour

    file = TrainingFile.of(actuator, request)
    usage = (
        "Use: p = params(); state = init(p, dt); state, torque ="
        f" step({', '.join(['p', 'state', *file.targets[:1], 'position', 'velocity', 'dt'])}, inertia=...)"
    )
    body = _tables(file) + emit_functions(file.lowered) + _frame(file)
    if request.version in FLAVOURS:
        body += flavour(file, drives, first_free)
    return file.export("jax", usage, "\nimport jax\nfrom jax import numpy as jnp\n", body)


def _tables(file: TrainingFile) -> str:
    hidden = tuple(name for name in file.system.states if name not in JOINT)
    offset = '{"offset": 0.0}' if file.has_offset else "{}"
    if file.has_offset and file.spread.slow:
        offset += ' | {"slow.size": 0.0, "slow.rates": [0.0] * WAVES, "slow.phases": [0.0] * WAVES}'
    return f"JOINT = {JOINT!r}\nHIDDEN = {hidden!r}\nOFFSET = {offset}\n"


def _frame(file: TrainingFile) -> str:
    """The functions around the step, with the drive's own targets as arguments: the first by place, the
    others by name."""
    first, others = [*file.targets[:1]], [f"{name}=0.0" for name in file.targets[1:]]
    place = [*first, "position", "velocity", "dt", "*", "inertia", *others]
    return fill(
        "jax.py",
        lag=bool(file.lowered.lag),
        randomise=file.randomise if file.request.draws else '("parameter_error", "unit_spread")',
        asked=", ".join([*place, "load=None"]),
        moving=", ".join([*place, "load=0.0"]),
        given=", ".join(
            name + (" + shift(p, state, dt)" if file.has_offset and name == "position_target" else "")
            for name in file.targets
        ),
    )
