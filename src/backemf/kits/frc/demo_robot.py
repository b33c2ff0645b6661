"""A robot's log with the tests of an arm and a flywheel, as WPILib's SysIdRoutineLog writes it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...datasheets.parts import sheet
from ...engine.simulate import simulate
from ...physics.actuator import Actuator
from ...physics.bench import Bench, Flywheel, Pendulum
from ...physics.drive import Voltage
from ...physics.friction import Coulomb
from ...physics.gearbox import Gearbox
from .wpilog import write_wpilog

PERIOD = 0.01
"""Of the samples [s]."""
NOISE = {"position": 1e-3, "velocity": 0.01}
"""Scatter of what is measured [rad, rad/s]."""


class DemoMechanism(NamedTuple):
    """A mechanism and its tests: (volts per second, volts, where it starts [rad], how long [s]) by name."""

    actuator: Actuator
    bench: Bench
    level: float
    """Angle of the bench at which the robot counts 0 [rad]."""
    tests: dict[str, tuple[float, float, float, float]]


def mechanisms() -> dict[str, DemoMechanism]:
    """An arm of 4 kg at 0.6 m behind a NEO and 60:1, and a flywheel of 0.004 kg m^2 on a Kraken X60."""
    arm = {
        "quasistatic-forward": (0.5, 0.0, -1.4, 10.0),
        "quasistatic-reverse": (-0.5, 0.0, 1.4, 10.0),
        "dynamic-forward": (0.0, 4.0, -1.4, 10.0),
        "dynamic-reverse": (0.0, -4.0, 1.4, 10.0),
    }
    wheel = {
        "quasistatic-forward": (1.0, 0.0, 0.0, 6.0),
        "quasistatic-reverse": (-1.0, 0.0, 0.0, 6.0),
        "dynamic-forward": (0.0, 7.0, 0.0, 2.0),
        "dynamic-reverse": (0.0, -7.0, 0.0, 2.0),
    }
    return {
        "arm": DemoMechanism(
            _demo_actuator("neo", 60.0, Coulomb(coulomb=1.5, viscous=0.05)),
            Pendulum(mass=4.0, length=0.6),
            math.pi / 2,  # a pendulum hangs at 0; a robot's arm is level there
            arm,
        ),
        "flywheel": DemoMechanism(
            _demo_actuator("kraken-x60", 1.0, Coulomb(coulomb=0.06, viscous=1e-4)),
            Flywheel(inertia=0.004),
            0.0,
            wheel,
        ),
    }


def _demo_actuator(motor: str, ratio: float, friction: Coulomb) -> Actuator:
    own = sheet(motor).actuator(control="voltage").motor
    return Actuator(motor=own, gearbox=Gearbox(ratio=ratio), friction=friction, drive=Voltage())


def write_robot_log(path: Path | str, *, seed: int = 0, force: bool = False) -> Path:
    """Simulate the tests of both mechanisms, one after another, and write them into one WPILOG."""
    rng, start = np.random.default_rng(seed), 5.0
    logged: dict[str, tuple[str, str, list[tuple[float, Any]]]] = {}
    for name, tested in mechanisms().items():
        states = logged.setdefault(f"sysid-test-state-{name}", ("string", "", []))[2]
        for test, (ramp, level, begin, length) in tested.tests.items():
            t = np.arange(0.0, length, PERIOD)
            volts = level + ramp * t
            first = {"position": begin + tested.level}
            run = simulate(tested.actuator, tested.bench, volts, time=t, start=first)
            turned = run.position - tested.level
            far = np.abs(turned) > 1.5
            n = int(np.argmax(far)) if name == "arm" and far.any() else len(t)  # stopped before its stop
            states += [(start + x, test) for x in t[:n]] + [(start + float(t[n - 1]) + PERIOD, "none")]
            for signal, unit, values in (
                ("voltage", "Volt", volts),
                ("position", "Rotation", turned + NOISE["position"] * rng.standard_normal(len(t))),
                (
                    "velocity",
                    "Rotation per Second",
                    run.velocity + NOISE["velocity"] * rng.standard_normal(len(t)),
                ),
            ):
                size = 1.0 if signal == "voltage" else 2.0 * math.pi
                rows = logged.setdefault(f"{signal}-motor-{name}", ("double", unit, []))[2]
                rows += [(start + float(x), float(y) / size) for x, y in zip(t[:n], values[:n], strict=True)]
            start += length + 2.0
    return write_wpilog(path, logged, force=force)
