"""All joints of a robot simulated together: MuJoCo moves the links, each joint's whole actuator is attached
(`simulator.live`), and joints without one move as they were recorded."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...engine.rows import Delay
from ...errors import MissingValue
from ...findings import Finding
from ...logs.log import Log, start_of, targets
from ...logs.robot import Ground, Robot
from ...physics.actuator import Actuator
from ...physics.supply import Supply
from ..arrays import load_mujoco, without_log
from ..live.attach import Motors, attach
from ..xml import check_text
from .robot_motion import RobotMotion, add_ground, alone_with, motion_of, places

LONGEST_STEP = 4e-3
"""Longest step of the simulation [s]."""
WITH_TEETH, IN_TEETH = 5e-4, 8
"""The same where gears have play, and how often their teeth look in it: teeth of 300 to 30,000 N m/rad on an
arm are then within 0.2 mrad of a tenth of that."""
LED = 1e4
"""Armature of joints that move as they were recorded: what they carry weighs on the others, as in a gripper
that holds it [kg m^2]."""


def simulate_joints(
    robot: Robot,
    actuators: Mapping[str, Actuator],
    log: Log,
    *,
    delays: Mapping[str, float] | None = None,
    ground: Ground | None = None,
    restarts: Sequence[int] = (),
    motion: RobotMotion | None = None,
    step: float = LONGEST_STEP,
    said: list[Finding] | None = None,
) -> np.ndarray:
    """Simulate all joints together, from the log's start and what was asked, on the robot's supply.

    Args:
        robot: its links and joints.
        actuators: by joint; joints without one move as they were recorded.
        log: what was asked, and where the joints began.
        delays: by which commands come late, by joint, in place of the drives' own [s].
        ground: a table or floor that the links may touch.
        restarts: samples at which every joint is put where it was recorded.
        motion: along the log; None: found from it.
        step: longest step of the simulation [s].
        said: gets what is to be said of windings and supply; None: nobody looks.

    Returns:
        Positions at the log's samples, (samples, joints) [rad or m]; NaN where they ran away.

    Raises:
        MissingValue: a joint with an actuator is not in the log.
    """
    _check_joints(actuators, log)
    motion, late = motion or motion_of(robot, log), delays or {}
    step = min(step, WITH_TEETH) if _is_loose(actuators.values()) else step
    motors = _motors(robot.model, ground, step, _on_time(actuators, late), robot.supply)
    mujoco, model, t = load_mujoco(), motors.model, motion.time
    at_q, at_v = places(robot, model)
    led = np.array([j for j, name in enumerate(robot.names) if name not in actuators], int)
    sent = _ctrl_rows(robot, motors, actuators, log, t, late)
    found, begin = np.full((len(t), len(robot.joints)), np.nan), motion_at_start(robot, log, motion)
    data, starts, stepped = mujoco.MjData(model), {0, *restarts}, mujoco.mj_step
    qpos, qvel, ctrl, seen = data.qpos, data.qvel, data.ctrl, list[Any]()
    with without_log():
        for k in range(len(t)):
            found[k] = begin[0] if k == 0 else qpos[at_q]
            if k in starts:
                qpos[at_q], qvel[at_v] = begin if k == 0 else (motion.position[k], motion.velocity[k])
                data.act[:] = 0.0  # motors at rest, as after a reset
            if k == len(t) - 1 or not np.isfinite(found[k]).all():
                break
            n = max(1, int(np.ceil((dt := float(t[k + 1] - t[k])) / step - 1e-6)))
            model.opt.timestep = dt / n
            for i, asked in enumerate(sent.within(k, n)):
                _lead(data, motion, led, (at_q[led], at_v[led]), k, i * dt / n)
                ctrl[sent.elements] = asked
                stepped(model, data)
            seen += [] if said is None else [motors.look(data)]
    _report(said, motors, t, seen)
    found[:, led] = motion.position[:, led]
    return found


def _report(said: list[Finding] | None, motors: Motors, t: np.ndarray, seen: list[Any]) -> None:
    if said is not None and seen:
        said += motors.findings_along(t[1 : len(seen) + 1] - t[0], seen)


def _lead(data: Any, motion: RobotMotion, led: np.ndarray, at: Any, k: int, later: float) -> None:
    """Put joints where they were recorded, some time after sample k [s]."""
    if len(led):
        q, t = motion.position[k : k + 2, led], motion.time
        data.qvel[at[1]] = (q[1] - q[0]) / (t[k + 1] - t[k])
        data.qpos[at[0]] = q[0] + data.qvel[at[1]] * later


def _check_joints(actuators: Mapping[str, Actuator], log: Log) -> None:
    for name in actuators:
        if name not in log.joints:
            raise MissingValue(
                f"{log.name} has no joint {name}, which has an actuator; it has: {[*log.joints]}"
            )


def _on_time(
    actuators: Mapping[str, Actuator], delays: Mapping[str, float]
) -> tuple[tuple[str, Actuator], ...]:
    """Actuators whose commands are made late before they are sent."""
    late = {n for n, a in actuators.items() if n in delays or a.drive.delay}
    return tuple((n, a.replace(**{"drive.delay": 0.0}) if n in late else a) for n, a in actuators.items())


def _is_loose(actuators: Iterable[Actuator]) -> bool:
    """Whether the gears of any have play."""
    return any(actuator.gearbox.backlash is not None for actuator in actuators)


@functools.lru_cache(maxsize=8)
def _motors(
    model: str,
    ground: Ground | None,
    step: float,
    actuators: tuple[tuple[str, Actuator], ...],
    supply: Supply | None,
) -> Motors:
    """The robot with its actuators, and nothing else that drives, damps or limits what is asked."""
    mujoco = load_mujoco()
    spec = add_ground(mujoco.MjSpec.from_string(check_text(model)), ground)
    spec.option.timestep = step
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    spec.option.iterations = spec.option.ls_iterations = 50
    for name, _ in actuators:  # also of a rotor that nobody knows: the fit's own number counts
        spec.joint(name).armature = 0.0
    substeps = IN_TEETH if _is_loose(dict(actuators).values()) else None
    how: dict[str, Any] = {"ctrl": "actuator", "check": False, "substeps": substeps}
    motors = attach(spec, dict(actuators), feedforward=True, supply=supply, **how)
    alone_with(motors.model, {joint.joint: joint.index for joint in motors.joints.values()})
    driven = [int(motors.model.joint(name).dofadr[0]) for name, _ in actuators]
    motors.model.dof_armature[np.setdiff1d(np.arange(motors.model.nv), driven)] = LED
    motors.remove_ctrl_ranges()
    return motors


class _CtrlRows(NamedTuple):
    """What goes into ctrl: the value before and after the change inside each interval."""

    elements: list[int]
    before: np.ndarray
    """(samples, elements)."""
    after: np.ndarray
    switch: np.ndarray
    """Share of the interval after which the newer one holds."""

    def within(self, k: int, n: int) -> np.ndarray:
        """Means over the n steps behind sample k, (steps, elements)."""
        share = np.clip(np.arange(1, n + 1)[:, None] - n * self.switch[k], 0.0, 1.0)
        return share * self.after[k] + (1.0 - share) * self.before[k]


def _ctrl_rows(
    robot: Robot,
    motors: Motors,
    actuators: Mapping[str, Actuator],
    log: Log,
    t: np.ndarray,
    delays: Mapping[str, float],
) -> _CtrlRows:
    """What the recording asked of each joint, at the moment at which it counts."""
    elements, before, after, switch = [], [], [], []
    for name, actuator in actuators.items():
        one, own = log.joints[name], motors.joints[name]
        asked = targets(one, actuator.drive)
        values = np.stack([one.signals[signal].hold_at(t) for signal in asked], axis=1)
        delay = delays.get(name, actuator.drive.delay or 0.0)
        rows = Delay(values, t, delay, [True] * len(asked)).rows()
        for i, signal in enumerate(asked):
            elements.append(
                own.element if signal == actuator.drive.followed else motors.channel(name, signal)
            )
            before.append(rows.before[: len(t) - 1, i])
            after.append(rows.values[: len(t) - 1, i])
            switch.append(rows.switch[: len(t) - 1])
    return _CtrlRows(elements, *(np.stack(part, axis=1) for part in (before, after, switch)))


def motion_at_start(robot: Robot, log: Log, motion: RobotMotion) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity of every joint at the first sample."""
    q, v = motion.position[0].copy(), np.zeros(len(robot.joints))
    for j, name in enumerate(robot.names):
        if name in log.joints and "position" in log.joints[name]:
            q[j], v[j] = start_of(log.joints[name])
    return q, v
