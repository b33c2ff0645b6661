"""Simulated bench recordings of a known servo, with noise, an encoder, and whatever defect a test plants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import backemf as be

SERVO = be.Actuator(
    motor=be.motor.Motor(resistance=4.0, torque_constant=0.9, rotor_inertia=3e-3),
    friction=be.friction.Stribeck(coulomb=0.04, static=0.07, stribeck_velocity=0.3, viscous=0.02),
    drive=be.drive.Servo(firmware_gain=0.16, proportional=16.0, supply=7.4, duty_limit=0.97),
)
GRAIN = 2 * np.pi / 4096
COVERED = {
    "coulomb": be.friction.Coulomb(coulomb=0.05, viscous=0.02),
    "stribeck": SERVO.friction,
    "m4": be.friction.M4(
        coulomb=0.03, static=0.06, stribeck_velocity=0.3, viscous=0.02, load=0.06, load_stribeck=0.04
    ),
    "lugre": be.friction.LuGre(
        coulomb=0.04, static=0.06, stribeck_velocity=0.3, viscous=0.03, stiffness=20.0, damping=0.1
    ),
}
"""Frictions of servos whose intervals are counted."""


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
    rig: int | None = None,
) -> be.Log:
    """One log: a command, and the position an encoder would have seen. With `rig`, a seed, the bench is as it
    says only within its tolerances."""
    noisy = np.random.default_rng(seed)
    actuator = actuator.replace(**{"drive.proportional": float(gain)})
    if delay is not None:
        actuator = replace(actuator, drive=replace(actuator.drive, delay=delay))
    bench = be.bench.Pendulum(mass=mass, length=length, arm_mass=0.03)
    asked = {"position_target": command}
    if off_after is not None:
        asked["enabled"] = lambda t: (t < off_after).astype(float)
    true = bench if rig is None else within_tolerance(bench, rig)
    if rig is not None:
        rng = np.random.default_rng([abs(rig), 1])
        z = rng.uniform(-1, 1) if rig < 0 else rng.standard_normal()
        volts = actuator.drive.supply * (1 + 0.02 * z)
        actuator = actuator.replace(**{"drive.supply": volts})
    run = be.simulate(actuator, true, asked, duration=duration, dt=dt, substeps=10)
    error = noise * noisy.standard_normal(len(run))
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


def within_tolerance(bench: be.bench.Pendulum, rig: int) -> be.bench.Pendulum:
    """The bench as it is, where it is stated as well as a careful person measures: the same weight and the
    same length are off by the same in every log. A negative `rig` keeps all within one tolerance."""
    off: dict[str, float] = {}
    for name in ("mass", "length", "arm_mass"):
        stated = getattr(bench, name)
        rng = np.random.default_rng([abs(rig), round(1e6 * stated)])
        z = rng.uniform(-1, 1) if rig < 0 else rng.standard_normal()
        off[name] = stated + z * bench.tolerance(name)
    return replace(bench, **off)


def clean(seed: int, rig: int | None = None) -> list[be.Log]:
    """Three sound logs with different loads, gains and motions."""
    return [
        record(seed, rig=rig),
        record(seed + 1, mass=0.5, gain=8.0, command=steps, rig=rig),
        record(seed + 2, length=0.15, gain=32.0, command=sweep, rig=rig),
    ]


def changed(log: be.Log, **signals: be.Signal) -> be.Log:
    return replace(log, signals={**log.signals, **signals})


# Sound logs spoilt in one way each.


def with_values(log: be.Log, **values: np.ndarray) -> be.Log:
    return changed(log, **{n: be.Signal(time=log.signals[n].time, values=v) for n, v in values.items()})


def in_degrees(log: be.Log, *names: str) -> be.Log:
    """Position and target (or those named) in degrees, with nobody saying so."""
    names = names or ("position", "position_target")
    return with_values(log, **{n: np.degrees(log.signals[n].values) for n in names})


def losing_rows(log: be.Log, share: float = 0.05, seed: int = 0) -> be.Log:
    """Rows lost at random, and the rest numbered anew on the same clock."""
    kept = np.random.default_rng(seed).random(len(log)) > share
    kept[0] = True
    time = log.time[: kept.sum()]
    return changed(log, **{n: be.Signal(time=time, values=s.values[kept]) for n, s in log.signals.items()})


def repeating(log: be.Log, share: float = 0.06, seed: int = 0) -> be.Log:
    """Samples at random that repeat the one before."""
    q = log["position"].copy()
    for k in np.flatnonzero(np.random.default_rng(seed).random(len(q)) < share):
        q[k] = q[max(k - 1, 0)]
    return with_values(log, position=q)


def read_too_often(log: be.Log, times: int = 4) -> be.Log:
    """A sensor that updates once in several samples."""
    return with_values(log, position=log["position"][np.arange(len(log)) // times * times])


def dropping_out(log: be.Log, share: float = 0.05, to: float = 0.0, seed: int = 0) -> be.Log:
    """Samples at random that are one constant."""
    lost = np.random.default_rng(seed).random(len(log)) < share
    return with_values(log, position=np.where(lost, to, log["position"]))


def spiking(log: be.Log, n: int = 12, size: float = 0.8, seed: int = 0) -> be.Log:
    """Single samples far off."""
    rng, q = np.random.default_rng(seed), log["position"].copy()
    q[rng.choice(len(q), n, replace=False)] += size * rng.choice([-1.0, 1.0], n) * (1 + rng.random(n))
    return with_values(log, position=q)


def command_logged_coarsely(log: be.Log, every: int = 4) -> be.Log:
    """The command that was sent at every sample, logged at one in several."""
    asked = log["position_target"][np.arange(len(log)) // every * every]
    return with_values(log, position_target=asked)


def commanded_coarsely(seed: int, every: float = 0.02, **more: Any) -> be.Log:
    """A controller that really sends its command once in a while."""
    return record(seed, command=lambda t: sines(np.floor(t / every + 1e-9) * every), **more)
