"""Random servos, what one knows of them before, and recordings of motions that were planned for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

import backemf as be
from backemf.planning.motions import Motion
from backemf.planning.outlook import Sensing, outlook

SENSING = Sensing()
FRICTIONS = {
    "coulomb": be.friction.Coulomb(coulomb=0.05, viscous=0.03),
    "stribeck": be.friction.Stribeck(coulomb=0.05, static=0.1, stribeck_velocity=0.25, viscous=0.03),
    "m4": be.friction.M4(
        coulomb=0.05, static=0.1, stribeck_velocity=0.25, viscous=0.03, load=0.06, load_stribeck=0.05
    ),
}


class Servo(NamedTuple):
    """What one believes, what is true, and what it carries."""

    start: be.Actuator
    truth: be.Actuator
    bench: be.bench.Pendulum


def servo(seed: int) -> Servo:
    """A servo of some size, gain and friction; its true numbers are 25 % off the start, either way."""
    rng = np.random.default_rng([seed, 21])
    friction = list(FRICTIONS.values())[seed % len(FRICTIONS)]
    size = math.exp(rng.uniform(-0.5, 0.5))
    start = be.Actuator(
        motor=be.motor.Motor(
            resistance=4.4 / size, torque_constant=1.4 * math.exp(rng.uniform(-0.2, 0.2)), rotor_inertia=3e-3
        ),
        friction=friction,
        drive=be.drive.Servo(
            firmware_gain=0.16, proportional=float(rng.choice([8, 16, 32])), supply=12.0, duty_limit=0.97
        ),
    )
    own = {p: v for p, v in start.parameters.items() if p.startswith(("motor.", "friction."))}
    moved = {p: v * math.exp(0.25 * rng.standard_normal()) for p, v in own.items()}
    if "friction.static" in own:
        excess = (own["friction.static"] - own["friction.coulomb"]) * math.exp(0.25 * rng.standard_normal())
        moved["friction.static"] = moved["friction.coulomb"] + excess
    mass = round(float(rng.uniform(0.2, 0.6)) * size, 2)
    return Servo(start, start.replace(**moved), be.bench.Pendulum(mass=mass, length=0.1, arm_mass=0.03))


def runs(truth: be.Actuator, bench: be.Bench, motions: Sequence[Motion]) -> list[be.Trajectory]:
    """The motions as the true system runs them."""
    made = []
    for one in motions:
        track, t = one.track("*"), np.arange(0.0, one.duration, 1.0 / SENSING.rate)
        assert track is not None
        asked = track.at(t)
        on = np.ones(len(t)) if track.coast is None else (t < track.coast).astype(float)
        command, start = {"position_target": asked, "enabled": on}, {"position": float(asked[0])}
        made.append(be.simulate(truth, bench, command, time=t, start=start, substeps=10))
    return made


def recorded(one: Servo, motions: Sequence[Motion], seed: int) -> list[be.Log]:
    """Logs of the motions: an encoder's counts, a noisy current, a bench and a supply that are as stated only
    within their tolerances, and replies that are a little late."""
    rng = np.random.default_rng([seed, 22])
    bench = replace(
        one.bench,
        mass=one.bench.mass * (1.0 + 0.01 * rng.standard_normal()),
        arm_mass=one.bench.arm_mass * (1.0 + 0.05 * rng.standard_normal()),
        length=one.bench.length + 1e-3 * rng.standard_normal(),
        hanging=math.radians(2.0) * rng.standard_normal(),
    )
    volts = 12.0 * (1.0 + 0.02 * rng.standard_normal())
    late = float(rng.uniform(0.0, 4e-3))
    truth = one.truth.replace(**{"drive.supply": volts})
    truth = replace(truth, drive=replace(truth.drive, delay=late))
    logs = []
    for motion, run in zip(motions, runs(truth, bench, motions), strict=True):
        position = np.round(run.position / SENSING.grain) * SENSING.grain
        assert SENSING.current is not None
        current = run.current + SENSING.current * rng.standard_normal(len(run))
        asked = {name: run[name] for name in ("position_target", "enabled")}
        logs.append(
            be.log(motion.name, run.time, position=position, current=current, bench=one.bench, **asked)
        )
    return logs


def errors_at(actuator: be.Actuator, bench: be.Bench, motions: Sequence[Motion]) -> dict[str, float]:
    """Relative errors that logs of the motions leave, by path, if the actuator is the true one."""
    look = outlook(actuator, bench, motions, sensing=SENSING)
    x = look.problem.first
    left = look.relative(x, look.covariance(x, range(len(motions)), look.problem.free.precision))
    return dict(zip((look.problem.free.names[k] for k in look.own), map(float, left), strict=True))
