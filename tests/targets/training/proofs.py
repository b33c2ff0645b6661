"""What a simulator must do with the exported file as its actuator:
`python -m tests.targets.training.proofs mjlab` (or newton, mujoco-warp) prints one JSON object.

Each is a number and what it must lie between. Steps are 1 ms.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import math
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import backemf as be
from backemf.results.spread import Spread

from .hosts import BENCH, HOSTS, STEP, Host

SERVO = be.Actuator(
    motor=be.motor.Motor(
        resistance=4.0,
        torque_constant=0.01,
        rotor_inertia=1e-7,
        thermal=be.motor.Thermal(resistance=8.0, capacitance=12.0),
    ),
    gearbox=be.gearbox.Gearbox(ratio=100.0),
    friction=be.friction.Stribeck(coulomb=0.05, static=0.055, stribeck_velocity=0.1, viscous=0.01),
    drive=be.drive.Position(volts_per_radian=40.0, volt_seconds_per_radian=0.2, supply=12.0, delay=0.004),
)
PUSH = 100.0 * 0.01 * 40.0 / 4.0
"""N m at the joint for each rad of error, at rest: ratio x torque constant x gain / resistance."""
BREAKAWAY = SERVO.parameters["friction.static"]
SHARES = (0.3, 0.6, 0.9, 0.99)
MORE = 1.15
"""Share of the breakaway torque that must move the joint."""
SPREAD = Spread(
    errors={"motor.resistance": 0.4, "friction.coulomb": 0.01, "friction.static": 0.01},
    correlation=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.9], [0.0, 0.9, 1.0]],
    units={"motor.torque_constant": 0.1, "friction.viscous": 0.3},
    held_out=0.01,
)
STEPS, SETTLED = 400, 50


class Proof(NamedTuple):
    what: str
    value: float
    most: float
    least: float = 0.0

    @property
    def holds(self) -> bool:
        return bool(self.least <= self.value <= self.most)


def moving() -> np.ndarray:
    """A position target that jumps, and is then held."""
    return np.where(np.arange(STEPS) < SETTLED, 0.0, 0.6)


def engine(actuator: be.Actuator, target: np.ndarray) -> np.ndarray:
    return be.simulate(actuator, BENCH, target, dt=STEP).position


def _rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.asarray(x) ** 2)))


def nominal(host: type[Host], folder: Path) -> list[Proof]:
    """One joint moves, some are pulled by gravity and some pushed by the motor, with shares of the breakaway
    torque; then the first is reset."""
    every = (*SHARES, MORE)
    weight = BENCH.mass * float(BENCH.gravity or 0.0) * BENCH.length
    hung = [math.asin(share * BREAKAWAY / weight) for share in every]
    pushed = [share * BREAKAWAY / PUSH for share in every]
    start = np.array([0.0, *hung, *[0.0] * len(every)])
    held = np.array([*hung, *pushed])
    targets = np.column_stack([moving(), np.tile(held, (STEPS, 1))])
    worlds = host(SERVO, start, folder, spread=SPREAD)
    first = worlds.run(targets)
    worlds.reset(0)
    again = worlds.run(targets)
    difference = first[:, 0] - engine(SERVO, moving())
    n, m = len(SHARES), len(every)
    moves = np.ptp(first[SETTLED:], axis=0)
    stays = np.ptp(again, axis=0)
    return [
        # the load is known one step late, and the joint turns with up to 6 rad/s
        Proof("a motion against the engine, RMS [rad]", _rms(difference), 2e-3),
        Proof("where it comes to rest, against the engine [rad]", abs(float(difference[-1])), 1e-3),
        # resolution of 32 bits at 0.3 rad is 3e-8
        Proof("creep under 30 to 99 % by gravity [rad]", float(moves[1 : 1 + n].max()), 1e-7),
        Proof("creep under 30 to 99 % by the motor [rad]", float(moves[1 + m : 1 + m + n].max()), 1e-7),
        # what is over moves it until the servo's 10 N m/rad have taken it up
        Proof("motion under 115 % [rad]", float(np.ptp(first, axis=0)[[m, 2 * m]].min()), 1.0, least=2e-4),
        Proof("a motion after a reset, against the first [rad]", float(abs(again - first)[:, 0].max()), 1e-7),
        Proof("the others meanwhile [rad]", float(stays[[*range(1, 1 + n)]].max()), 1e-7),
    ]


def drawn(host: type[Host], folder: Path) -> list[Proof]:
    """Several environments, each with numbers of its own, each against the engine with these numbers."""
    names = ("parameter_error", "unit_spread", "held_out")
    worlds = host(SERVO, np.zeros(4), folder, spread=SPREAD, randomise=names, seed=3)
    found = worlds.run(np.tile(moving()[:, None], 4))
    offsets = worlds.model.offset.numpy()[:, 0]
    off = []
    for i, offset in enumerate(offsets):
        values = {k: float(np.broadcast_to(v, (4, 1))[i, 0]) for k, v in worlds.model.parameters.items()}
        changed = {k: v for k, v in values.items() if v != SERVO.parameters[k]}
        off.append(_rms(found[:, i] - engine(SERVO.replace(**changed), moving() + offset)))
    apart = np.ptp(found, axis=1).max()
    return [
        Proof("drawn environments, each against the engine, RMS [rad]", max(off), 2e-3),
        Proof("how far apart they move [rad]", float(apart), 1.0, least=0.01),
    ]


def proofs(host: type[Host], folder: Path) -> list[Proof]:
    return [*nominal(host, folder), *drawn(host, folder)]


PACKAGES: Mapping[str, tuple[str, ...]] = {
    "mjlab": ("mjlab", "mujoco", "mujoco-warp", "warp-lang"),
    "newton": ("newton", "warp-lang"),
    "mujoco-warp": ("mujoco-warp", "mujoco", "warp-lang"),
}


def main() -> None:
    warp: Any = importlib.import_module("warp")
    warp.config.log_level = warp.LOG_ERROR
    name = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        found = proofs(HOSTS[name], Path(folder))
    versions = ", ".join(f"{p} {importlib.metadata.version(p)}" for p in PACKAGES[name])
    rows = [{**one._asdict(), "holds": one.holds} for one in found]
    print(json.dumps({"host": name, "versions": versions, "proofs": rows}))


if __name__ == "__main__":
    main()
