"""Recordings of a simulated arm whose actuators are known: noise, encoder counts, delays, and a table."""

from __future__ import annotations

import numpy as np

import backemf as be
from backemf.logs.log import Log
from backemf.logs.robot import Ground
from backemf.mujoco.robot.joint_simulation import simulate_joints

STEP = 2 * np.pi / 4096
TRUTH = be.Actuator(
    motor=be.motor.Motor(resistance=4.0, torque_constant=1.2, rotor_inertia=0.012),
    friction=be.friction.Coulomb(coulomb=0.06, viscous=0.05),
    drive=be.drive.Servo(firmware_gain=0.166, proportional=16, supply=12.0, duty_limit=0.97),
)
COULOMB = {"shoulder": 0.10, "elbow": 0.05, "wrist": 0.03}
DELAYS = {"shoulder": 0.011, "elbow": 0.004, "wrist": -0.003}


def truth() -> dict[str, be.Actuator]:
    """One motor, friction of its own in each joint."""
    return {name: TRUTH.replace(**{"friction.coulomb": c}) for name, c in COULOMB.items()}


def commands(seed: int, seconds: float, low: float = 0.0) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Smooth random motions and steps; `low` turns the shoulder towards the table."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 0.02)
    asked = {}
    for name, middle in (("shoulder", -0.3 + low), ("elbow", 0.5), ("wrist", 0.3)):
        waves = sum(
            rng.uniform(0.05, 0.25) * np.sin(2 * np.pi * f * t + rng.uniform(0, 6))
            for f in rng.uniform(0.15, 1.2, 3)
        )
        jumps = np.repeat(rng.uniform(-0.25, 0.25, int(seconds / 1.5) + 1), 75)[: len(t)]
        asked[name] = middle + (waves if seed % 2 else jumps)
    return t, asked


def recording(
    robot,
    seed: int,
    seconds: float = 12.0,
    ground: Ground | float | None = None,
    low: float = 0.0,
    step: float = 5e-4,
) -> Log:
    """What the arm would have recorded."""
    t, asked = commands(seed, seconds, low)
    rng = np.random.default_rng(1000 + seed)
    still = {
        name: be.log(name, t, position=np.full(len(t), u[0]), position_target=u) for name, u in asked.items()
    }
    log = Log(name=f"run {seed}", signals={}, joints=still, robot=robot)
    table = Ground(height=ground) if isinstance(ground, float) else ground
    q = simulate_joints(robot, truth(), log, delays=DELAYS, ground=table, step=step)
    seen = np.round((q + rng.normal(0, 3e-4, q.shape)) / STEP) * STEP
    joints = {
        name: be.log(f"run {seed}/{name}", t, position=seen[:, j], position_target=asked[name])
        for j, name in enumerate(robot.names)
    }
    return Log(name=f"run {seed}", signals={}, joints=joints, robot=robot)
