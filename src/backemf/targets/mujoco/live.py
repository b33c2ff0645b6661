"""MuJoCo with the whole actuator in it: a few lines of Python that attach it, and the actuator beside them.

Nothing is written in MuJoCo's own words, so nothing is lost; `be.attach` puts the compiled step where its
engine calls it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import BackemfError, InvalidValue
from ...mujoco.arrays import load_mujoco
from ...physics.actuator import Actuator
from ...store import content
from ..reference_motions import SimulationCase, reference_inertia
from ..result import Export, Request, complete, hash_comment, header
from ..spec import whole_rows
from .holding import hold_lines
from .run import simulator as simulator

Adjust = Callable[[Any], None]
"""A change of the attached motors."""
UNITS = "SI at the joint, also in ctrl: rad, N m, V, A; on a linear axis m and N in the same places."
rows = whole_rows(
    ("the whole actuator", "be.attach", "as compiled code that MuJoCo's engine calls at every step"),
    ("the drive's first target", "data.ctrl", "in the joint's units"),
    ("further targets, a switch", "data.ctrl", "behind the model's own, with `feedforward` and `switch`"),
    ("every state, the last effort, late commands", "data.act", "reset, stored, copied with the simulation"),
    ("n N^2 motor.rotor_inertia", "joint armature", "0 with backlash, where the rotor is a state"),
    ("friction", "nothing in the joint", "its damping and frictionloss become 0"),
    ("drive.delay", "activations", "mixed where a command arrives inside a step"),
)
"""Ours -> theirs, for the documentation page."""
TEXT = '''
from pathlib import Path

import backemf as be

ACTUATOR = be.Actuator.read(Path(__file__).with_name("{file}"))


def attach(model, **how):
    """Put it onto joint {joint!r} of a model: a path or an MjSpec. The model to step is `.model` of what
    comes back; its ctrl holds the {target} of the joint."""
    return be.attach(model, {{{joint!r}: ACTUATOR}}, ctrl="actuator", **how)


if __name__ == "__main__":
    import sys

    import mujoco.viewer

    mujoco.viewer.launch(attach(sys.argv[1]).model)
'''


def write(actuator: Actuator, request: Request) -> Export:
    name = request.joint.replace("/", "_")
    script, beside = f"{name}_live.py", f"{name}_live_actuator.json"
    top = header(request, UNITS)
    about = f'python "{script}" MODEL.xml shows a model with a joint {request.joint!r} in the viewer.'
    target = actuator.drive.followed or "nothing, since its drive follows nothing,"
    stored = json.dumps(content(actuator), indent=1) + "\n"
    text = TEXT.format(file=beside, joint=request.joint, target=target)
    attached = []  # which a model needs as long as it runs

    def compile_bench() -> Any:
        inertia = reference_inertia(actuator, request)
        spec = bench(request.joint, request.timestep, inertia, actuator.motion)
        attached.append(_run_file({script: text, beside: stored}, spec))
        return attached[-1].model

    holds = hold_lines(compile_bench, actuator, request)
    files = {script: hash_comment([*top, *holds, about]) + text, beside: stored}
    return complete(request, actuator, files=files, carried=actuator, numbers=dict(actuator.parameters))


def adjustment(export: Export, settings: Mapping[str, float]) -> Adjust:
    """A recording's own settings, such as a gain, in place of the file's."""
    actuator = export.actuator.replace(**settings)
    return lambda motors: motors.put(export.joint, actuator)


def run(
    files: Mapping[str, str], joint: str, case: SimulationCase, adjust: Adjust | None = None
) -> np.ndarray:
    """Positions [rad or m] at the case's moments when the file attaches its actuator to the bench's joint."""
    mujoco = load_mujoco()
    motors = _run_file(files, bench(joint, case.timestep, case.inertia, case.motion))
    if adjust is not None:
        adjust(motors)
    model = motors.model
    data = mujoco.MjData(model)
    data.qpos[0], data.qvel[0] = case.position, case.velocity
    sent, places = case.mean_inputs, _places(motors, joint, case)
    positions = np.empty(len(case.moments))
    for k in range(len(case.moments)):
        q, w = float(data.qpos[0]), float(data.qvel[0])
        positions[k] = q
        data.ctrl[places] = [*sent[k], not case.enabled[k]]
        data.qfrc_applied[0] = case.load(k, q, w)
        mujoco.mj_step(model, data)
    return case.check(simulator(), positions)


def _places(motors: Any, joint: str, case: SimulationCase) -> list[int]:
    """Which elements of ctrl hold what is sent, and the switch."""
    one = motors.joints[joint]
    names = {target: f"{one.name}_{target}" for target in (*case.ctrl, "disabled")}
    names |= {one.actuator.drive.followed: one.name} if one.actuator.drive.followed else {}
    return [int(motors.model.actuator(name).id) for name in names.values()]


def bench(joint: str, timestep: float, inertia: float, motion: str) -> Any:
    """A joint with the bench's inertia, whose load comes from outside."""
    mujoco = load_mujoco()
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.gravity = timestep, [0.0, 0.0, 0.0]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    body = spec.worldbody.add_body(name=f"{joint}_load", explicitinertial=True)
    kinds = mujoco.mjtJoint
    slide = motion == "linear"
    body.add_joint(name=joint, type=kinds.mjJNT_SLIDE if slide else kinds.mjJNT_HINGE)
    J = max(inertia, 1e-9)  # a body must have some
    body.mass = J if slide else 1.0
    body.inertia[:] = J
    return spec


def _run_file(files: Mapping[str, str], spec: Any) -> Any:
    """The motors, after the file itself was run on a model."""
    (name, text), *_ = files.items()
    with tempfile.TemporaryDirectory() as folder:
        for file, written in files.items():
            (Path(folder) / Path(file).name).write_text(written, encoding="utf-8")
        space: dict[str, Any] = {"__name__": "exported", "__file__": str(Path(folder) / name)}
        try:
            exec(compile(text, name, "exec"), space)
            return space["attach"](spec, feedforward=True, switch=True, check=False)
        except BackemfError:
            raise
        except Exception as error:  # somebody's changes of a Python file may fail in any way
            raise InvalidValue(f"{name} does not run: {type(error).__name__}: {error}") from None
