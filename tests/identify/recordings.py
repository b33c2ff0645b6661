"""Simulated bench recordings of a known servo, with noise, an encoder, and whatever defect a test plants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import backemf as be

SERVO = be.Actuator(
    motor=be.motor.Motor(resistance=4.0, torque_constant=0.9, rotor_inertia=3e-3),
    friction=be.friction.Stribeck(coulomb=0.04, static=0.07, stribeck_velocity=0.3, viscous=0.02),
    drive=be.drive.Servo(firmware_gain=0.16, proportional=16.0, supply=7.4, duty_limit=0.97),
)
GRAIN = 2 * np.pi / 4096


def sines(t: np.ndarray) -> np.ndarray:
    return 0.8 * np.sin(2 * np.pi * 0.5 * t) + 0.3 * np.sin(2 * np.pi * 1.3 * t)


def steps(t: np.ndarray) -> np.ndarray:
    return 0.7 * np.sign(np.sin(2 * np.pi * 0.4 * t + 1e-9))


def sweep(t: np.ndarray) -> np.ndarray:
    return 0.9 * np.sin(2 * np.pi * 0.25 * t**1.5)


def record(
    seed: int,
    *,
    actuator: be.Actuator = SERVO,
    mass: float = 0.3,
    length: float = 0.1,
    gain: float = 16.0,
    command: Callable = sines,
    dt: float = 0.005,
    noise: float = 5e-4,
    grain: float = GRAIN,
    delay: float | None = None,
    duration: float = 6.0,
    off_after: float | None = None,
    correlated: bool = False,
) -> be.Log:
    """One log: a command, and the position an encoder would have seen."""
    rng = np.random.default_rng(seed)
    actuator = actuator.replace(**{"drive.proportional": float(gain)})
    if delay is not None:
        actuator = replace(actuator, drive=replace(actuator.drive, delay=delay))
    bench = be.bench.Pendulum(mass=mass, length=length, arm_mass=0.03)
    asked = {"position_target": command}
    if off_after is not None:
        asked["enabled"] = lambda t: (t < off_after).astype(float)
    run = be.simulate(actuator, bench, asked, duration=duration, dt=dt, substeps=10)
    error = noise * rng.standard_normal(len(run))
    if correlated:
        for k in range(1, len(error)):
            error[k] += 0.9 * error[k - 1]
        error *= np.sqrt(1 - 0.9**2)
    seen = run.position + error
    seen = np.round(seen / grain) * grain if grain else seen
    signals = {"position": seen, "position_target": run["position_target"]}
    if off_after is not None:
        signals["enabled"] = run["enabled"]
    return be.log(
        f"log {seed}", run.time, bench=bench, settings={"drive.proportional": float(gain)}, **signals
    )


def clean(seed: int) -> list[be.Log]:
    """Three sound logs with different loads, gains and motions."""
    return [
        record(seed),
        record(seed + 1, mass=0.5, gain=8.0, command=steps),
        record(seed + 2, length=0.15, gain=32.0, command=sweep),
    ]


def changed(log: be.Log, **signals: be.Signal) -> be.Log:
    return replace(log, signals={**log.signals, **signals})
