"""A simulated line of servos to try `backemf fleet` on: units that differ by a known spread, each recorded on
a pendulum bench."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from ... import store
from ...engine.simulate import simulate
from ...files import write_all
from ...physics.actuator import Actuator
from ...physics.bench import Pendulum
from ...planning.example_servo import COUNTS, NOISE, motions, start, truth

SPREAD = {
    "motor.resistance": 0.05,
    "motor.torque_constant": 0.04,
    "friction.coulomb": 0.12,
    "friction.viscous": 0.10,
    "friction.load": 0.08,
}
"""Standard deviation of the logarithm from unit to unit."""
RIGS = ((0.3, 0.10, 32), (0.6, 0.15, 16), (0.9, 0.10, 32), (0.6, 0.10, 8))
"""Mass [kg], length [m] and gain of a unit's four recordings."""
SAMPLES, STEP = 1200, 0.005


def unit(rng: np.random.Generator, spread: Mapping[str, float] = SPREAD) -> Actuator:
    """Another servo of the same make."""
    actuator = truth()
    drawn = {p: actuator.parameters[p] * math.exp(s * rng.standard_normal()) for p, s in spread.items()}
    excess = actuator.parameters["friction.static"] - actuator.parameters["friction.coulomb"]
    if "friction.coulomb" in drawn:  # static friction is more than Coulomb's by the same
        drawn["friction.static"] = drawn["friction.coulomb"] + excess
    return actuator.replace(**drawn)


def columns(servo: Actuator, k: int, rng: np.random.Generator, n: int = SAMPLES) -> dict[str, np.ndarray]:
    """One recording of a servo on rig k, as a bus servo reports it."""
    mass, length, gain = RIGS[k]
    t = STEP * np.arange(n)
    goal = motions(k, t)
    on = np.where((t > 0.65 * t[-1]) & (k % 2 == 1), 0.0, 1.0)
    servo = servo.replace(**{"drive.proportional": float(gain)})
    rig = Pendulum(mass=mass, length=length, arm_mass=0.05)
    run = simulate(servo, rig, {"position_target": goal, "enabled": on}, time=t, substeps=10)
    grain = 2 * np.pi / COUNTS
    seen = np.round((run.position + NOISE * rng.standard_normal(n)) / grain) * grain
    return {"timestamp": t, "position": seen, "goal_position": goal, "torque_enable": on > 0.5}


def facts(k: int) -> dict[str, float]:
    """What a bench writes beside the rows."""
    mass, length, gain = RIGS[k]
    return {"mass": mass, "arm_mass": 0.05, "length": length, "kp": gain, "vin": 12.0}


def units(n: int, seed: int = 0) -> Iterator[tuple[str, Actuator, np.random.Generator]]:
    """(name, servo, random numbers of its own) of a line."""
    for k in range(n):
        rng = np.random.default_rng([seed, k])
        yield f"unit-{k + 1:05d}", unit(rng), rng


def record(folder: Path, n: int, seed: int = 0, samples: int = SAMPLES) -> list[Path]:
    """Write a line of units: `logs/UNIT/*.json`, and `start.json`, what one might know before.

    Args:
        folder: where to.
        n: how many units.
        seed: of their numbers and of the noise.
        samples: of each recording.

    Returns:
        The recordings.
    """
    paths = []
    for name, servo, rng in units(n, seed):
        (folder / "logs" / name).mkdir(parents=True, exist_ok=True)
        for k in range(len(RIGS)):
            rows = {key: some.tolist() for key, some in columns(servo, k, rng, samples).items()}
            entries = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
            path = folder / "logs" / name / f"rig{k}.json"
            write_all({path: json.dumps({**facts(k), "motor": "simulated", "entries": entries})}, force=True)
            paths.append(path)
    store.write(start(), folder / "start.json", force=True)
    return paths
