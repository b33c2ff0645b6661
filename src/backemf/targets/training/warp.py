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

from ...engine.hosted import Attached, attached
from ...errors import InvalidValue, NotAvailable
from ...physics.actuator import Actuator
from ...results.spread import Spread, check_paths
from ..export import Export, Request, complete, hash_comment, header
from ..motions import Clocked
from .tables import SAME, beginning, check_targets, class_name, findings, follows_position, numbers
from .torch import UNITS
from .warp_hosts import HOSTS, THEIRS
from .warp_text import CLASS, LAUNCHED, LOADED, SHIFTED

MAPPING: tuple[tuple[str, str, str], ...] = (
    ("every parameter of the actuator", "PARAMETERS", "by path, with every digit"),
    ("the engine's time step", "kernels(real)", "traced, so the physics is the engine's; one kernel a step"),
    ("every state", "Actuator.state", "by name; position and velocity are the simulator's in `compute`"),
    ("n N^2 motor.rotor_inertia", "Actuator.armature", "the simulator's joint must have it; 0 with backlash"),
    ("drive.delay", "rows of Actuator.memory", "a ring of commands, mixed where one arrives inside a step"),
    *SAME,
)
"""Ours -> theirs, for the documentation page."""


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
def loaded(files: Mapping[str, str]) -> Iterator[Any]:
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


def run(files: Mapping[str, str], joint: str, case: Clocked) -> np.ndarray:
    """Positions [rad or m] at the case's moments when the file itself is executed."""
    return run_all(files, joint, [case])[0]


def run_all(files: Mapping[str, str], joint: str, cases: Sequence[Clocked]) -> list[np.ndarray]:
    """Several cases at once, each an environment; in 64 bits, so that only the file's numbers count."""
    wp, n = _warp(), len(cases)
    if not all(case.enabled.all() for case in cases):
        raise NotAvailable("a training file has no switch for its drive, and a recording was disabled")
    h, length = cases[0].timestep, max(len(case.moments) for case in cases)
    with loaded(files) as module:
        settings = {"timestep": h, "device": "cpu", "dtype": wp.float64}
        try:
            one = module.Actuator(n, 1, inertia=[[case.inertia] for case in cases], **settings)
        except Exception as error:  # as above
            raise InvalidValue(f"the file does not run: {type(error).__name__}: {error}") from None
    inputs = np.zeros((n, length, len(cases[0].ctrl)))
    for i, case in enumerate(cases):
        inputs[i, : len(case.moments)], inputs[i, len(case.moments) :] = (
            case.mean_inputs,
            case.mean_inputs[-1],
        )
    targets, load = [one.array(0.0) for _ in cases[0].ctrl], one.array(0.0)
    q, w = (one.state[name].numpy()[:, 0] for name in ("position", "velocity"))  # the memory itself
    q[:], w[:] = [case.position for case in cases], [case.velocity for case in cases]
    asked, against = [x.numpy()[:, 0] for x in targets], load.numpy()[:, 0]
    positions = np.empty((n, length))
    for k in range(length):
        positions[:, k] = q
        for i, case in enumerate(cases):
            against[i] = case.load(min(k, len(case.moments) - 1), float(q[i]), float(w[i]))
        for t, column in enumerate(asked):
            column[:] = inputs[:, k, t]
        one.step(*targets, load=load)
    return [case.check(simulator(), positions[i, : len(case.moments)].copy()) for i, case in enumerate(cases)]


def write(actuator: Actuator, request: Request) -> Export:
    from ...engine.compile.compiled import lowered_attached
    from ...engine.compile.dialects.warp_live import emit_live, rows

    system = attached(actuator)
    spread = Spread() if request.spread is None else request.spread
    check_paths(actuator, list(spread.errors))
    lowered, begin = lowered_attached(system), beginning(actuator, system)
    at, targets = rows(lowered, begin), system.inputs[2:]
    found = findings(actuator, spread)
    usage = (
        "Use: actuator = Actuator(n_environments, n_joints, timestep=..., inertia=...); torque ="
        f" actuator.compute({', '.join(['position', 'velocity', *targets[:1]])})"
    )
    body = (
        numbers(actuator, spread, system, at.summed)
        + f"TARGETS = {targets!r}\n"
        + emit_live(lowered, begin)
        + LAUNCHED.format(
            acted=at.acted,
            place=at.place,
            line=at.line,
            kept=at.kept,
            armature=at.armature,
            **_arguments(actuator, system, spread),
        )
        + CLASS.format(
            what=f"a {actuator.drive.kind} with {actuator.friction.kind} friction",
            targets=", ".join(targets) or "none",
        )
        + _host(actuator, request, system, _shifted(actuator, spread))
    )
    top = hash_comment([*header(request, UNITS, findings=found), usage])
    files = {f"{request.joint}_warp.py": top + "\nimport numpy as np\nimport warp as wp\n" + body}
    same: dict[str, Any] = {"carried": actuator, "numbers": dict(actuator.parameters)}
    return complete(request, actuator, files=files, findings=found, **same)


def _arguments(actuator: Actuator, system: Attached, spread: Spread) -> dict[str, str]:
    """How the drive's targets come into the kernel."""
    targets = system.inputs[2:]
    shifted, lines = _shifted(actuator, spread), []
    for i, name in enumerate(targets):
        lines.append(LOADED.format(i=i))
        if shifted and name == "position_target":
            lines.append(SHIFTED.format(i=i))
    return {
        "arrays": "".join(f"target{i}: many, " for i in range(len(targets))),
        "loads": "\n".join(lines),
        "given": "".join(f", t{i}" for i in range(len(targets))),
    }


def _shifted(actuator: Actuator, spread: Spread) -> bool:
    """Whether a constant error of the position target may be drawn."""
    return bool(spread.held_out) and follows_position(actuator)


def _host(actuator: Actuator, request: Request, system: Attached, shifted: bool) -> str:
    """A simulator's own class, or nothing."""
    if request.version == "plain":
        return ""
    targets, theirs = system.inputs[2:], THEIRS[request.version]
    if theirs:
        check_targets(actuator, targets, theirs, request.version, "warp@plain")
    armature = float(system.armature(list(system.parameters.values())))
    return HOSTS[request.version](class_name(request.joint), targets, armature, shifted)
