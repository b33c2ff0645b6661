"""How still a file holds a load that friction would hold: its creep, measured by running the file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from ...errors import BackemfError, InvalidValue
from ...mujoco.arrays import load_mujoco, without_log
from ...mujoco.dcmotor import rules
from ...physics import steady
from ...physics.actuator import Actuator
from ...physics.joint_law import capability
from ..result import Request

SHARE = 0.6
"""Of the friction at rest that is hung onto the joint, where the reference load is more."""
SETTLES, MINUTE = 5.0, 60.0
"""Before creep is measured, and for how long [s]."""
MOST_STEPS = 40_000
"""A file with a short time step is watched for less."""
STILL = 1e-4
"""Less creep than this [rad or m a minute] needs no cure."""
NOSLIP = 5
"""Iterations of MuJoCo's solver for friction that does not slip."""


class BentSpring(Protocol):
    """A spring that yields."""

    @property
    def stiffness(self) -> float:
        """[N m/rad]"""
        ...

    @property
    def reach(self) -> float:
        """How far it bends before it slips [rad]."""
        ...


def creep(text: str, joint: str, torque: float, noslip: int | None = None) -> float:
    """How far a joint moves in a minute under a constant load while it is asked to stay.

    Args:
        text: of an MJCF file.
        joint: its name there; play is a joint of its own name.
        torque: at the output [N m or N].
        noslip: iterations of the solver that lets nothing slip, instead of the file's own.

    Returns:
        The motion [rad or m a minute], after it has settled.
    """
    mujoco = load_mujoco()
    model: Any = mujoco.MjModel.from_xml_string(text)
    if noslip is not None:
        model.opt.noslip_iterations = noslip
    data, h = mujoco.MjData(model), float(model.opt.timestep)
    names = [model.joint(k).name for k in range(model.njnt)]
    at = [int(model.joint(n).qposadr[0]) for n in (joint, f"{joint}_backlash") if n in names]
    data.qfrc_applied[at] = torque
    share = min(1.0, MOST_STEPS * h / (SETTLES + MINUTE))
    with without_log():
        mujoco.mj_step(model, data, nstep=max(1, round(share * SETTLES / h)))
        before, since = float(data.qpos[at].sum()), float(data.time)
        mujoco.mj_step(model, data, nstep=max(1, round(share * MINUTE / h)))
    if not data.time > since:
        raise InvalidValue(f"MuJoCo's simulation of {joint} begins anew under {torque:.3g} N m")
    return (float(data.qpos[at].sum()) - before) * MINUTE / (float(data.time) - since)


def hold_lines(
    text: str, carried: Actuator, request: Request, springs: Sequence[BentSpring] = ()
) -> list[str]:
    """Lines of a file's header on how still it holds.

    Args:
        text: of the file.
        carried: what it simulates.
        request: with its version, joint, time step and reference load.
        springs: that hold the joint.

    Returns:
        The creep, a cure where there is one, and what to know of springs.
    """
    unit, effort = ("m", "N") if carried.motion == "linear" else ("rad", "N m")
    lines = [_spring_line(springs, carried, request, unit, effort)] if springs else []
    held = SHARE * float(carried.friction.breakaway)
    torque = request.load * capability(carried, request.amplitude).stall
    if held > 0:
        torque = min(torque, held) or held
    elif carried.drive.followed != "position_target":
        return ["Creep: nothing holds it, neither dry friction nor a drive that holds a position."]
    try:
        if request.version != "any" and rules(load_mujoco().__version__).era != rules(request.version).era:
            raise InvalidValue(
                f"MuJoCo {load_mujoco().__version__} is installed, which reads <dcmotor> otherwise"
            )
        slow = creep(text, request.joint, torque)
        cured = creep(text, request.joint, torque, NOSLIP) if abs(slow) > STILL else slow
    except (BackemfError, ValueError) as error:
        return [*lines, f"Creep: not measured: {' '.join(str(error).split())}."]
    lines.insert(0, f"Creep: {abs(slow):.2g} {unit} a minute under {torque:.3g} {effort}, run in this file.")
    if abs(cured) < 0.1 * abs(slow):
        lines.insert(1, f'Cure: <option noslip_iterations="{NOSLIP}"/>, with which it is {abs(cured):.2g}.')
    return lines


def _spring_line(
    springs: Sequence[BentSpring], carried: Actuator, request: Request, unit: str, effort: str
) -> str:
    """What holds the joint, how near the step's limit it is, and where it begins."""
    k, J = sum(spring.stiffness for spring in springs), steady.armature(carried)
    bends = ", ".join(f"{1e3 * spring.reach:.3g}" for spring in springs)
    near = f"; h sqrt(k / J) is {request.timestep * math.sqrt(k / J):.2g} on the rotor alone, stable below 2"
    return (
        f"Springs that yield hold it: {k:.4g} {effort}/{unit}, at {bends} m{unit}{near if J > 0 else ''}. Where"
        " qpos is set by hand, set data.plastic to the positions too (a keyframe: plastic=...)."
    )
