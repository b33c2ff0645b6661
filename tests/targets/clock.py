"""A motion on a simulator's clock for targets that are run, and every number of a file changed in turn."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

import backemf as be
from backemf.engine.simulate import simulate
from backemf.targets.reference_motions import ReferenceMotion, SimulationCase

GEARED = be.Actuator(
    motor=be.motor.Motor(
        resistance=4.0, torque_constant=0.01, rotor_inertia=1e-7, limits=be.motor.Limits(torque=0.02)
    ),
    gearbox=be.gearbox.Gearbox(ratio=100.0),
    friction=be.friction.Coulomb(coulomb=0.05, viscous=0.01),
    drive=be.drive.Position(volts_per_radian=40.0, volt_seconds_per_radian=0.2, supply=12.0),
)
"""At the joint: 10 N m/rad, 3 N m stalled, 12 rad/s, 2 N m at most, 1e-3 kg m^2."""
VOLTAGE = be.drive.Voltage(supply=12.0)
TORQUE = be.drive.Impedance(supply=12.0)
DRIVES = {
    "servo": GEARED,
    "voltage": dataclasses.replace(GEARED, drive=VOLTAGE),
    "torque": dataclasses.replace(GEARED, drive=TORQUE),
    "velocity": dataclasses.replace(
        GEARED, drive=be.drive.Velocity(volt_seconds_per_radian=4.0, supply=12.0)
    ),
    "impedance": dataclasses.replace(
        GEARED,
        drive=be.drive.Impedance(
            newton_metres_per_radian=6.0, newton_metre_seconds_per_radian=0.2, supply=12.0
        ),
    ),
    "mirrored voltage": dataclasses.replace(GEARED, gearbox=be.gearbox.Gearbox(ratio=-100.0), drive=VOLTAGE),
    "two motors, two constants": dataclasses.replace(
        GEARED,
        motor=dataclasses.replace(GEARED.motor, back_emf_constant=0.013, rotor_inertia=4e-7),
        gearbox=be.gearbox.Gearbox(ratio=50.0, n_motors=2),
    ),
    "linear": dataclasses.replace(GEARED, motion="linear"),
}
SIZE = {"position_target": 0.6, "voltage_target": 16.0, "velocity_target": 8.0, "torque_target": 3.0}
"""Enough to reach the torque limit and the torque-speed line."""
STEP = 0.001


def driven(actuator: be.Actuator, seconds: float = 0.24) -> ReferenceMotion:
    """There and back, on a plain inertia: reversing at speed uses every limit; a little at the end, none."""
    time = 0.004 * np.arange(round(seconds / 0.004) + 1)
    A = SIZE[actuator.drive.followed]
    parts = [time < 0.02, time < 0.45 * seconds, time < 0.75 * seconds]
    there = A * np.select(parts, [0.0, 1.0, -0.6], 0.2)
    start = {"position": 0.0, "velocity": 0.0}
    return ReferenceMotion(
        "there and back", be.bench.Flywheel(inertia=0.005), time, {actuator.drive.followed: there}, start
    )


def clocked(
    motion: ReferenceMotion, h: float, ctrl: Mapping[str, float], kind: str = "rotary"
) -> SimulationCase:
    """Commands held between samples; the bench's inertia at its beginning."""
    n = int(np.ceil(motion.time[-1] / h - 1e-9)) + 1
    moments = h * np.arange(n)
    at = np.clip(np.searchsorted(motion.time, moments + 1e-9, side="right") - 1, 0, len(motion.time) - 1)
    held = {name: np.asarray(values, float)[at] for name, values in motion.command.items()}
    bench, enabled = motion.bench, held.pop("enabled", np.ones(n)) > 0.5
    return SimulationCase(
        timestep=h,
        moments=moments,
        command=held,
        ctrl=ctrl,
        enabled=enabled,
        inertia=float(bench.inertia_at({})),
        load=lambda k, q, w: float(np.asarray(bench.load(q, w, {}))),
        position=motion.start["position"],
        velocity=motion.start["velocity"],
        motion=kind,
    )


def simulated(actuator: be.Actuator, motion: ReferenceMotion) -> np.ndarray:
    start = {k: v for k, v in motion.start.items() if k in actuator.states}
    asked = {"time": motion.time, "start": start, "tolerance": 1e-6, "warn": False}
    return simulate(actuator, motion.bench, dict(motion.command), **asked).position


def agrees(
    run: Callable[[SimulationCase], np.ndarray],
    actuator: be.Actuator,
    motion: ReferenceMotion,
    ctrl: Mapping[str, float],
):
    """A run is as far from the actuator as its own step explains, seen from a run at an eighth of it; what
    the solver's own softness adds is below 1 mrad."""
    kind = actuator.motion
    coarse, fine = clocked(motion, STEP, ctrl, kind), clocked(motion, STEP / 8, ctrl, kind)
    q = np.interp(motion.time, coarse.moments, run(coarse))
    own = 8 / 7 * np.max(np.abs(q - np.interp(motion.time, fine.moments, run(fine))))
    ours = simulated(actuator, motion)
    assert np.ptp(ours) > 0.3  # something moved
    assert own < 0.1 * np.ptp(ours)  # a bound that means something
    assert np.max(np.abs(q - ours)) <= 1.3 * own + 1e-3


def changed(text: str, patterns: Sequence[re.Pattern[str]], by: float = 1.3) -> Iterator[tuple[str, str]]:
    """(name, the text with that number changed): each pattern has groups `name` and `value`. What is 0 is not
    there, and stays so."""
    for pattern in patterns:
        for found in pattern.finditer(text):
            value = float(found["value"])
            if value:
                yield (
                    found["name"],
                    f"{text[: found.start('value')]}{by * value!r}{text[found.end('value') :]}",
                )


def feels_every_number(
    run: Callable[[str], np.ndarray], text: str, patterns: Sequence[re.Pattern[str]], inert: Mapping[str, str]
) -> set[str]:
    """Each number changed by 30 %: the positions change, or a reason says why not, and then they change by no
    more than single precision does. The names seen."""
    before, seen = run(text), set()
    for name, other in changed(text, patterns):
        moved = float(np.max(np.abs(run(other) - before)))
        seen.add(name)
        if name in inert:
            assert moved < 1e-10, f"{name} is said to be inert ({inert[name]}), and moves {moved:g}"
        else:
            assert moved > 1e-8, f"{name} changes nothing, and no reason is given"
    return seen
