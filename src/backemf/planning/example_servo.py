"""The demonstration's second part: simulated bench recordings, written to files as a real bench would."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..engine.simulate import simulate
from ..files import write_all
from ..physics import drive as drives
from ..physics.actuator import Actuator
from ..physics.bench import Pendulum
from ..physics.friction import M4
from ..physics.gearbox import Gearbox
from ..physics.motor import Motor

DELAY = 0.006
NOISE, COUNTS, JITTER = 4e-4, 4096, 3e-4
MASSES = (0.3, 0.3, 0.9, 0.9, 0.6, 0.6, 0.9, 0.3)
LENGTHS = (0.10, 0.10, 0.15, 0.15, 0.15, 0.10, 0.10, 0.15)
GAINS = (8, 32, 16, 32, 8, 16, 16, 8)
"""Mass [kg], length [m] and gain register of each recording."""


def truth() -> Actuator:
    """The servo that is recorded; the fit does not see these numbers."""
    return Actuator(
        motor=Motor(resistance=4.4, torque_constant=0.0068, rotor_inertia=6e-8),
        gearbox=Gearbox(ratio=210.0),
        friction=M4(
            coulomb=0.05, static=0.11, stribeck_velocity=0.25, viscous=0.03, load=0.06, load_stribeck=0.05
        ),
        drive=drives.Servo(firmware_gain=0.16, proportional=32.0, supply=12.0, duty_limit=0.97),
    )


def start() -> Actuator:
    """What one might know before: a sheet's rounded winding, and a guess of friction."""
    guess = {"coulomb": 0.1, "static": 0.15, "stribeck_velocity": 0.5, "viscous": 0.01}
    guess |= {"load": 0.03, "load_stribeck": 0.03}
    motor = Motor(resistance=5.0, torque_constant=0.0075, rotor_inertia=3e-8)
    return replace(truth(), motor=motor, friction=M4(**guess))


def motions(k: int, t: np.ndarray) -> np.ndarray:
    """Sines, steps or a sweep, after a moment of rest."""
    t = np.maximum(t - 0.2, 0.0)
    slow, fast = 2 * np.pi * (0.25 + 0.05 * k), 2 * np.pi * (0.9 + 0.1 * k)
    return [
        0.9 * np.sin(slow * t) + 0.2 * np.sin(fast * t),
        0.8 * np.sign(np.sin(slow * t + 1e-9)),
        1.2 * np.sin(0.5 * slow * t * np.sqrt(t + 1e-9)),
    ][k % 3]


def record(folder: Path, seed: int = 0) -> list[Path]:
    """Simulate every rig and write what a bus servo would have reported:
    jittered stamps, noise, encoder counts, a delay."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    paths = []
    for k, (mass, length, gain) in enumerate(zip(MASSES, LENGTHS, GAINS, strict=True)):
        t = np.arange(1200) * 0.005
        t[1:] += rng.uniform(-JITTER, JITTER, len(t) - 1)
        goal = motions(k, t)
        on = np.where((t > 4.0) & (k % 2 == 1), 0.0, 1.0)
        servo = truth().replace(**{"drive.proportional": float(gain)})
        servo = replace(servo, drive=replace(servo.drive, delay=DELAY))
        rig = Pendulum(mass=mass, length=length, arm_mass=0.05)
        run = simulate(servo, rig, {"position_target": goal, "enabled": on}, time=t, substeps=10)
        grain = 2 * np.pi / COUNTS
        seen = np.round((run.position + NOISE * rng.standard_normal(len(t))) / grain) * grain
        keys = ("timestamp", "position", "goal_position", "torque_enable", "input_volts")
        columns = (t.tolist(), seen.tolist(), goal.tolist(), on.astype(bool).tolist(), [12.0] * len(t))
        facts = {"mass": mass, "arm_mass": 0.05, "length": length, "kp": gain, "vin": 12.0}
        entries = [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]
        path = folder / f"m{mass}_l{length}_kp{gain}_{k}.json"
        content = {**facts, "motor": "simulated", "entries": entries}
        write_all({path: json.dumps(content)}, force=True)
        paths.append(path)
    return paths
