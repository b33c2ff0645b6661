"""The training file for Warp: one standalone Python file that imports only warp and numpy, whose step for
thousands of joints is one kernel that can be captured in a CUDA graph.

The step is the engine's own, traced and written as Warp code (`engine/compile/dialects/warp_live.py`), with
the delay line and the load that is taken from the joint's motion in the same kernel. `compute` and `step` do
what they do in the file for torch. `warp@mjlab`, `warp@newton` and `warp@mujoco-warp` add a class in that
simulator's own form.
"""

from __future__ import annotations

import importlib
import importlib.util
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InvalidValue, NotAvailable
from ...physics.actuator import Actuator
from ..reference_motions import SimulationCase, run_alone
from ..result import Export, Request
from ..spec import whole_rows
from ..template import fill
from .training_numbers import SAME, TrainingFile, move_together

rows = whole_rows(
    ("every parameter of the actuator", "PARAMETERS", "by path, with every digit"),
    ("the engine's time step", "kernels(real)", "traced, so the physics is the engine's; one kernel a step"),
    ("every state", "Actuator.state", "by name; position and velocity are the simulator's in `compute`"),
    ("n N^2 motor.rotor_inertia", "Actuator.armature", "the simulator's joint must have it; 0 with backlash"),
    ("drive.delay", "rows of Actuator.memory", "a ring of commands, mixed where one arrives inside a step"),
    *SAME,
)
"""Ours -> theirs, for the documentation page."""
OFFERS: Mapping[str, Mapping[str, str]] = {
    "mjlab": {
        "position_target": "cmd.position_target",
        "velocity_target": "cmd.velocity_target",
        "torque_target": "cmd.effort_target",
    },
    "newton": {
        "position_target": "target_pos[target_pos_indices[c]]",
        "velocity_target": "target_vel[target_vel_indices[c]]",
    },
}
"""What the simulators call what is asked. Newton's feedforward is whatever else a drive follows, and
MuJoCo Warp's ctrl the first target."""
FEEDFORWARD = "torque_target", "voltage_target", "current_target"
THEIRS: Mapping[str, Sequence[str]] = {
    "mjlab": tuple(OFFERS["mjlab"]),
    "newton": (*OFFERS["newton"], *FEEDFORWARD),
    "mujoco-warp": (),
}
"""Targets that a simulator has a place for; any, where there are none here."""


def _warp() -> Any:
    try:
        warp: Any = importlib.import_module("warp")
    except ImportError:
        raise NotAvailable("Warp is not installed; install it with: pip install warp-lang") from None
    warp.config.log_level = warp.LOG_ERROR  # it greets on stdout
    return warp


def simulator() -> str:
    """Warp and its version; the file moves joints of its own."""
    return f"Warp {_warp().__version__} (CPU)"


@contextmanager
def load_module(files: Mapping[str, str]) -> Iterator[Any]:
    """The file as a module, without a simulator's own class, which needs that simulator. Warp reads kernels
    from their file, so there is one meanwhile."""
    name, text = next(iter(files.items()))
    text = text.partition("\n\nfrom ")[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "exported.py"
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("exported", path)
        assert spec is not None
        assert spec.loader is not None
        module: Any = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
            module.launched(_warp().float64)
        except Exception as error:  # somebody's changes of a Python file may fail in any way
            raise InvalidValue(f"{name} does not run: {type(error).__name__}: {error}") from None
        yield module


def run_all(files: Mapping[str, str], joint: str, cases: Sequence[SimulationCase]) -> list[np.ndarray]:
    """Several cases at once, each an environment; in 64 bits, so that only the file's numbers count."""
    wp, n = _warp(), len(cases)
    with load_module(files) as module:
        settings = {"timestep": cases[0].timestep, "device": "cpu", "dtype": wp.float64, "randomise": ()}
        try:
            one = module.Actuator(n, 1, inertia=[[case.inertia] for case in cases], **settings)
        except Exception as error:  # as above
            raise InvalidValue(f"the file does not run: {type(error).__name__}: {error}") from None
    targets, load = [one.array(0.0) for _ in cases[0].ctrl], one.array(0.0)
    q, w = (one.state[name].numpy()[:, 0] for name in ("position", "velocity"))  # the memory itself
    q[:], w[:] = [case.position for case in cases], [case.velocity for case in cases]
    columns, against = [x.numpy()[:, 0] for x in targets], load.numpy()[:, 0]

    def step(loads: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        against[:] = loads
        for column, values in zip(columns, asked.T, strict=True):
            column[:] = values
        one.step(*targets, load=load)
        return q, w

    return move_together(cases, simulator(), step)


run = run_alone(run_all)
"""Positions [rad or m] at a case's moments when the file itself is executed."""


def write(actuator: Actuator, request: Request) -> Export:
    from ...engine.compile.dialects.warp_dialect import emit_live, rows

    file = TrainingFile.of(actuator, request)
    at, targets = rows(file.lowered), file.targets
    has_offset = file.has_offset and "position_target" in targets
    shifted = targets.index("position_target") if has_offset else None
    usage = (
        "Use: actuator = Actuator(n_environments, n_joints, timestep=..., inertia=...); torque ="
        f" actuator.compute({', '.join(['position', 'velocity', *targets[:1]])})"
    )
    frame = fill(
        "warp.py",
        what=file.what,
        randomise=file.randomise,
        targets=", ".join(targets) or "none",
        acted=at.acted,
        place=at.place,
        line=at.line,
        kept=at.kept,
        armature=at.armature,
        arrays="".join(f"target{i}: many, " for i in range(len(targets))),
        loads=_loads([(f"target{i}", f"target{i}[e, j]") for i in range(len(targets))], shifted),
        given=_target_arguments(targets),
    )
    body = emit_live(file.lowered) + frame + _host(file, shifted)
    return file.export("warp", usage, "\nimport numpy as np\nimport warp as wp\n", body)


def _loads(places: Sequence[tuple[str, str]], shifted: int | None) -> str:
    """How targets come into a kernel: of each an array that may be missing, or none, and its element."""
    lines = []
    for i, (array, element) in enumerate(places):
        if array:
            lines += [f"t{i} = real(0.0)", f"if {array}:", f"    t{i} = {element}"]
        else:
            lines.append(f"t{i} = {element}")
        if i == shifted:
            lines += ["if shifts:", f"    t{i} = t{i} + shift(c, shifts, memory)"]
    return "\n".join(f"        {line}" for line in lines)


def _target_arguments(targets: Sequence[str]) -> str:
    return "".join(f", t{i}" for i in range(len(targets)))


def _host(file: TrainingFile, shifted: int | None) -> str:
    """A simulator's own class, or nothing."""
    version, targets = file.request.version, file.targets
    if version == "plain":
        return ""
    if THEIRS[version]:
        file.check_targets(THEIRS[version], "warp@plain")
    words = file.host_words()
    if version == "mjlab":
        given = "".join(f", {OFFERS['mjlab'][target]}" for target in targets)
        return fill("mjlab.py", torch=False, warp=True, given=given, **words)
    words |= {"given": _target_arguments(targets), "shift": "_" if shifted is None else "shift"}
    if version == "newton":
        further = "feedforward", "feedforward[target_vel_indices[c]]"
        places = [("", OFFERS["newton"][x]) if x in OFFERS["newton"] else further for x in targets]
        return fill("warp_newton.py", loads=_loads(places, shifted), **words)
    places = [("", f"target{i}[e, j]" if i else "ctrl[e, places[2, j]]") for i in range(len(targets))]
    words["arrays"] = "".join(f"target{i}: many, " for i in range(1, len(targets)))
    return fill("warp_mujoco_warp.py", loads=_loads(places, shifted), **words)
