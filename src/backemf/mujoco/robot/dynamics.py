"""What each joint carries along a recorded motion: its inertia and the load from everything else.

The equation of motion of joint i is M_ii a_i = motor + load, where load = M_ii a_i - tau_i and tau_i is what
the joint's actuator must give for the whole recorded motion (the inverse dynamics, without armature, damping
and friction: those are the actuator's). Gravity, the other joints' accelerations and Coriolis terms are all
in the load.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...logs.log import Log, Signal
from ...logs.robot import Ground, Robot
from ...physics.bench import Recorded
from ..arrays import load_mujoco
from .robot_motion import RobotMotion, motion_of


@dataclass(frozen=True, kw_only=True)
class JointLoads:
    """Along a motion, by joint in the robot's order."""

    inertia: np.ndarray
    """(samples, joints) [kg m^2]."""
    load: np.ndarray
    """(samples, joints): torque on the joint from all but its own acceleration and its actuator [N m]."""
    torque: np.ndarray
    """(samples, joints): what the actuator must give, its own inertia apart [N m]."""


@functools.lru_cache(maxsize=16)
def _compile_text(text: str, ground: Ground | None) -> Any:
    return add_ground(load_mujoco().MjSpec.from_string(text), ground).compile()


def add_ground(spec: Any, ground: Ground | None) -> Any:
    """A model's description with a table or floor in it, where there is one."""
    if ground is not None:
        spec.worldbody.add_geom(
            name="found_ground",
            type=load_mujoco().mjtGeom.mjGEOM_PLANE,
            size=[0.0, 0.0, 1.0],
            pos=[0.0, 0.0, ground.height],
            quat=ground.turned,
            priority=100,
            condim=3,
            friction=[ground.friction, 0.005, 0.0001],
        )
    return spec


def describe_model(robot: Robot) -> Any:
    """The robot as its model describes it."""
    return copy.copy(_compile_text(robot.model, None))


def bare_model(robot: Robot, ground: Ground | None = None) -> Any:
    """The robot without anything that is its actuators': armature, damping, friction, springs. What moves
    touches the ground and what stands still, not itself; without either, nothing touches."""
    mujoco = load_mujoco()
    model = copy.copy(_compile_text(robot.model, ground))
    alone_with(model, {})
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    return model


def alone_with(model: Any, driven: Mapping[str, int]) -> None:
    """Take away what drives, damps and springs any joint but these, which have actuators of ours, by their
    number. What moves touches the ground and what stands still, not itself; without either, nothing
    touches."""
    mujoco = load_mujoco()
    own = [int(model.joint(name).dofadr[0]) for name in driven]
    others = np.setdiff1d(np.arange(model.nv), own)
    for numbers in (model.dof_armature, model.dof_damping, model.dof_frictionloss):
        numbers[others] = 0
    model.jnt_stiffness[:] = 0
    idle = np.setdiff1d(np.arange(len(model.actuator_gainprm)), [*driven.values()])
    model.actuator_gainprm[idle] = model.actuator_biasprm[idle] = 0
    still = model.body_weldid[model.geom_bodyid] == 0
    touches = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    model.geom_contype[:], model.geom_conaffinity[:] = touches & ~still, touches & still
    if not (touches & still).any():
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)


def places(robot: Robot, model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where the joints' positions and velocities stand in MuJoCo's arrays."""
    ids = [model.joint(name).id for name in robot.names]
    return model.jnt_qposadr[ids].astype(int), model.jnt_dofadr[ids].astype(int)


def joint_loads(robot: Robot, motion: RobotMotion, model: Any = None) -> JointLoads:
    """Inertia and load along a motion."""
    mujoco = load_mujoco()
    model = bare_model(robot) if model is None else model
    data = mujoco.MjData(model)
    mujoco.mj_resetData(model, data)
    at_q, at_v = places(robot, model)
    n = len(motion.time)
    inertia, torque = np.empty((n, len(at_v))), np.empty((n, len(at_v)))
    tau, column = np.zeros(model.nv), np.empty((model.nv, model.nv))
    q, v, a = motion.position, motion.velocity, motion.acceleration
    stages = (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_crb, mujoco.mj_comVel)
    diagonal = _diagonal(model, at_v)
    for k in range(n):
        data.qpos[at_q], data.qvel[at_v], data.qacc[at_v] = q[k], v[k], a[k]
        for stage in stages:
            stage(model, data)
        mujoco.mj_rne(model, data, 1, tau)
        inertia[k] = diagonal(data, column)
        torque[k] = tau[at_v]
    return JointLoads(inertia=inertia, load=inertia * a - torque, torque=torque)


def _diagonal(model: Any, at_v: np.ndarray) -> Any:
    """Gives the mass matrix's diagonal."""
    mujoco = load_mujoco()

    def diagonal(data: Any, full: np.ndarray) -> np.ndarray:
        mujoco.mj_fullM(model, data, full)
        return np.diag(full)[at_v]

    return diagonal


SECONDS = 5.0
"""Of each recording that goes into an excerpt [s]: enough for a few reversals of every joint."""


def joint_log(
    log: Log,
    robot: Robot,
    name: str,
    motion: RobotMotion,
    along: JointLoads,
    *,
    kept: np.ndarray | None = None,
    settings: Mapping[str, float] | None = None,
) -> Log:
    """The recording of one joint, with the inertia and load that the others make; `kept` marks the samples
    of its position that count."""
    j, given, t = robot.place(name), log.joints[name], motion.time
    seen = np.isfinite(motion.recorded[:, j]) & (True if kept is None else kept)
    signals = {n: s for n, s in given.signals.items() if n.endswith("_target") or n in ("enabled", "supply")}
    signals["position"] = Signal(time=t[seen], values=motion.recorded[seen, j])
    signals["inertia"] = Signal(time=t, values=between(along.inertia[:, j]))
    signals["load"] = Signal(time=t, values=between(along.load[:, j]))
    return replace(
        given,
        name=f"{log.name}/{name}",
        signals=signals,
        bench=Recorded(),
        settings={**given.settings, **(settings or {})},
    )


def between(x: np.ndarray) -> np.ndarray:
    """What holds from each sample to the next: the mean of both, or a load would come half a sample late."""
    return np.append(0.5 * (x[1:] + x[:-1]), x[-1])


def excerpts(
    robot: Robot, logs: Sequence[Log], names: Sequence[str], seconds: float = SECONDS
) -> dict[str, list[Log]]:
    """By joint, the middle of every recording as that joint met it."""
    found: dict[str, list[Log]] = {name: [] for name in names}
    for log in logs:
        middle = 0.5 * float(log.time[0] + log.time[-1])
        part = log.between(middle - 0.5 * seconds, middle + 0.5 * seconds)
        motion = motion_of(robot, part)
        along = joint_loads(robot, motion)
        for name in names:
            if name in part.joints:
                found[name].append(joint_log(part, robot, name, motion, along))
    return found
