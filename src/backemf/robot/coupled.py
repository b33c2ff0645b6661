"""All joints of a robot simulated together: MuJoCo moves the links, each actuator takes its own step.

Each actuator gives its torque at every step, how that falls with speed, and the level of its dry friction
for the load that acted over the last step (`engine.torques`); MuJoCo solves dry friction, contact and the
coupling of the joints together. Joints without an actuator move as they were recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..data.log import Log
from ..data.logs.start import start_of, targets
from ..data.robot import Ground, Robot
from ..engine.compile.compiled import Structure
from ..engine.stepper import Stepper
from ..engine.torques import Torques, torques
from ..errors import MissingValue
from ..model.actuator import Actuator
from ..simulator.arrays import load_mujoco, without_log
from .dynamics import bare_model, carried, places
from .motion import Motion, motion_of

LONGEST_STEP = 4e-3
"""Longest step of the simulation [s]."""
SHARPER = 0.01
"""What is left of the softness of MuJoCo's dry friction: with all of it a loaded joint creeps."""
LEAST_FRICTION = 1e-9
"""Every joint has dry friction, however little, so that its row among the constraints is known [N m]."""


class Driven(NamedTuple):
    """Joints whose actuators have the same structure: one compiled step for all of them."""

    joints: list[int]
    """Places among the robot's joints."""
    systems: list[Torques]
    stepper: Stepper
    asked: tuple[str, ...]
    """Signals that their drives follow."""
    delays: list[float]


def coupled(
    robot: Robot,
    actuators: Mapping[str, Actuator],
    log: Log,
    *,
    delays: Mapping[str, float] | None = None,
    ground: Ground | None = None,
    restarts: Sequence[int] = (),
    motion: Motion | None = None,
    step: float = LONGEST_STEP,
) -> np.ndarray:
    """Positions of all joints on the log's clock, (samples, joints), from its start and what was asked.

    `delays` are the moments at which commands count, by joint, in place of the drives' own; at samples in
    `restarts` every joint is put where it was recorded.
    """
    mujoco = load_mujoco()
    motion = motion_of(robot, log) if motion is None else motion
    t, n_joints = motion.time, len(robot.joints)
    groups = _groups(robot, actuators, log, delays or {})
    model = bare_model(robot, ground)
    at_q, at_v = places(robot, model)
    for group in groups:
        for j, system in zip(group.joints, group.systems, strict=True):
            model.dof_armature[at_v[j]] = float(system.armature(list(system.parameters.values())))
    _sharpened(mujoco, model, step)
    data = mujoco.MjData(model)
    driven = np.array(sorted(j for group in groups for j in group.joints), int)
    led = np.array([j for j in range(n_joints) if j not in set(driven.tolist())], int)
    begin = motion_at_start(robot, log, motion)
    found = np.full((len(t), n_joints), np.nan)
    pulls = carried(robot, _cut(motion, restarts)).load
    commands = [_commands(group, robot, log, t) for group in groups]
    starts = {0, *restarts}
    place = {k: i for i, k in enumerate(sorted(starts))}
    full = np.empty((model.nv, model.nv))
    diagonal = full.diagonal()[:]
    states: list[np.ndarray] = []
    loads = np.zeros(model.nv)
    effort, damping, level = np.zeros(model.nv), np.zeros(model.nv), np.full(model.nv, LEAST_FRICTION)
    whose = [(_slice(at_q[g.joints]), _slice(at_v[g.joints])) for g in groups]
    led_q, led_v = _slice(at_q[led]), _slice(at_v[led])
    armature = model.dof_armature.copy()
    qpos, qvel, applied = data.qpos, data.qvel, data.qfrc_applied
    step_, full_M = mujoco.mj_step, mujoco.mj_fullM
    with without_log():
        for k in range(len(t)):
            if k in starts:
                q, v = begin if k == 0 else (motion.position[k], motion.velocity[k])
                found[k] = q if k == 0 else qpos[at_q]
                qpos[at_q], qvel[at_v] = q, v
                loads[at_v] = pulls[place[k]]
                states = [_start(group, q, v, c, k) for group, c in zip(groups, commands, strict=True)]
                mujoco.mj_forward(model, data)
            else:
                found[k] = qpos[at_q]
            if k == len(t) - 1:
                break
            dt = float(t[k + 1] - t[k])
            n = max(1, int(np.ceil(dt / step - 1e-6)))
            h = dt / n
            model.opt.timestep = h
            slopes = (motion.position[k + 1, led] - motion.position[k, led]) / dt
            asked = [command.within(k, n) for command in commands]
            for i in range(n):
                if len(led):
                    qpos[led_q] = motion.position[k, led] + slopes * (i * h)
                    qvel[led_v] = slopes
                full_M(model, data, full)
                v = qvel.copy()
                for group, (at, of), state, inputs in zip(groups, whose, states, asked, strict=True):
                    state[:, 0], state[:, 1] = qpos[at], v[of]
                    mine = inputs[i]
                    mine[:, 0], mine[:, 1] = diagonal[of] - armature[of], loads[of]
                    extra = group.stepper(state, mine, h, out=state)[1]
                    damping[of] = extra[:, 1]
                    effort[of] = extra[:, 0] + extra[:, 1] * v[of]
                    level[of] = np.maximum(extra[:, 2], LEAST_FRICTION)
                applied[:] = effort
                _damp(model.dof_damping, damping)
                model.dof_frictionloss[:] = level
                step_(model, data)
                # dry friction's rows stand behind those of equalities, one for each degree of freedom
                held = data.efc_force[data.ne : data.ne + model.nv]
                loads = diagonal * (qvel - v) / h - effort + damping * qvel - held
            if not np.isfinite(qpos).all():
                break
    found[:, led] = motion.position[:, led]
    return found


def _slice(index: np.ndarray) -> Any:
    """The same places as a slice, where they follow each other: NumPy then copies nothing."""
    if len(index) and np.array_equal(index, np.arange(index[0], index[0] + len(index))):
        return slice(int(index[0]), int(index[0]) + len(index))
    return index


def _damp(field: np.ndarray, damping: np.ndarray) -> None:
    """Newer models have a polynomial of damping for each joint: its first number is the linear one."""
    if field.ndim == 1:
        field[:] = damping
    else:
        field[:, 0] = damping


def _sharpened(mujoco: Any, model: Any, step: float) -> None:
    """Dry friction that holds: MuJoCo's own is soft enough to creep under a load."""
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.iterations, model.opt.ls_iterations = 50, 50
    model.dof_solref[:] = (2.0 * step, 1.0)
    model.dof_solimp[:] = (0.9999, 0.9999, 0.001, 0.5, 2.0)
    model.dof_frictionloss[:] = LEAST_FRICTION
    mujoco.mj_setConst(model, mujoco.MjData(model))  # with the armature that it has now
    model.dof_invweight0[:] *= SHARPER


class _Commands(NamedTuple):
    """What is asked of the joints of a group: the value before and after the change inside each interval."""

    before: np.ndarray
    """(samples, joints, signals)."""
    after: np.ndarray
    switch: np.ndarray
    """(samples, joints): share of the interval after which the newer one holds."""

    def within(self, k: int, n: int) -> np.ndarray:
        """Inputs of the n steps behind sample k, (steps, joints, 2 + signals); the first two columns are not
        filled."""
        late = (np.arange(n)[:, None] + 0.5) / n >= self.switch[k]
        inputs = np.zeros((n, self.before.shape[1], 2 + self.before.shape[2]))
        inputs[:, :, 2:] = np.where(late[:, :, None], self.after[k], self.before[k])
        return inputs


def _commands(group: Driven, robot: Robot, log: Log, t: np.ndarray) -> _Commands:
    from ..engine.rows import Delay

    names = [robot.names[j] for j in group.joints]
    shape = len(t), len(names), len(group.asked)
    before, after, switch = np.empty(shape), np.empty(shape), np.zeros(shape[:2])
    for i, (name, delay) in enumerate(zip(names, group.delays, strict=True)):
        one = log.joints[name]
        values = np.stack([one.signals[signal].held(t) for signal in group.asked], axis=1)
        rows = Delay(values, t, delay, [True] * len(group.asked)).rows()
        before[:-1, i], after[:-1, i], switch[:-1, i] = rows.before, rows.values, rows.switch
        before[-1, i] = after[-1, i] = values[-1]
    return _Commands(before, after, switch)


def _groups(
    robot: Robot, actuators: Mapping[str, Actuator], log: Log, delays: Mapping[str, float]
) -> list[Driven]:
    """The driven joints by the structure of their actuators."""
    kinds: dict[Any, list[tuple[int, Torques, tuple[str, ...], float]]] = {}
    for name, actuator in actuators.items():
        place = robot.place(name)
        if name not in log.joints:
            raise MissingValue(
                f"{log.name} has no joint {name}, which has an actuator; it has: {[*log.joints]}"
            )
        asked = tuple(targets(log.joints[name], actuator.drive))
        system = torques(actuator, asked)
        delay = delays.get(name, actuator.drive.delay or 0.0)
        kinds.setdefault(Structure(system), []).append((place, system, asked, delay))
    return [
        Driven(
            [m[0] for m in members],
            [m[1] for m in members],
            Stepper([m[1] for m in members]),
            members[0][2],
            [m[3] for m in members],
        )
        for members in kinds.values()
    ]


def motion_at_start(robot: Robot, log: Log, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity of every joint at the first sample."""
    q, v = motion.position[0].copy(), np.zeros(len(robot.joints))
    for j, name in enumerate(robot.names):
        if name in log.joints and "position" in log.joints[name]:
            q[j], v[j] = start_of(log.joints[name])
    return q, v


def _start(group: Driven, q: np.ndarray, v: np.ndarray, commands: _Commands, k: int) -> np.ndarray:
    """States of the group's actuators where they begin."""
    rows = []
    for i, (j, system) in enumerate(zip(group.joints, group.systems, strict=True)):
        asked = dict(zip(group.asked, map(float, commands.before[k, i]), strict=True))
        start = system.actuator.initial_state(asked, position=float(q[j]), velocity=float(v[j]))
        rows.append(list(start.values()))
    return np.array(rows, float)


def _cut(motion: Motion, restarts: Sequence[int]) -> Motion:
    """The samples at which a simulation begins."""
    at = sorted({0, *restarts})
    return Motion(
        time=motion.time[at],
        position=motion.position[at],
        velocity=motion.velocity[at],
        acceleration=motion.acceleration[at],
        recorded=motion.recorded[at],
        window=motion.window,
        noise=motion.noise,
    )
