"""The demonstration's third part: plan, record from a virtual servo, check, fit, compare with the truth."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ... import store
from ...identify.check import Check, check
from ...identify.fit import fit
from ...kits.recorder.recorder import RecordingStopped, record
from ...kits.recorder.virtual.process import virtual
from ...logs.log import Log
from ...physics.actuator import Actuator
from ...physics.bench import Pendulum
from ...physics.friction import Stribeck
from ...planning import example_servo as recordings
from ...planning.motions import SafetyLimits
from ...planning.outlook import Sensing
from ...planning.plan import Plan, plan
from ...results.fit_result import Fit

SECONDS = 8.0
"""Of motions."""
RATE, SPEED = 200.0, 1.0
"""Samples a second [Hz], and how much faster than real the virtual servo's time runs: on a busy machine a
faster one is late by more of its own time."""
BENCH = Pendulum(mass=0.3, length=0.1, arm_mass=0.02)
WORDS = "pendulum mass=0.3kg length=0.1m arm_mass=0.02kg"
APPROACH = 1.5
"""On the way to the start of a motion [rad/s]."""
TRIES = 3
"""Recordings that a busy machine may end early."""
PACKAGES = {"feetech": "scservo_sdk", "lines": "serial"}
"""What a bus is spoken through, the maker's package first."""


class LoopResult(NamedTuple):
    """What the loop ends with."""

    plan: Plan
    logs: list[Log]
    check: Check
    fit: Fit
    truth: Actuator


def bus() -> str | None:
    """The bus that this machine has a package for: the maker's own, or plain lines of text."""
    if not importlib.util.find_spec("termios"):
        return None  # no pseudo-terminals
    return next((name for name, package in PACKAGES.items() if importlib.util.find_spec(package)), None)


def truth() -> Actuator:
    """The servo that is recorded: that of the bench recordings with a friction that sees no load."""
    friction = Stribeck(coulomb=0.05, static=0.11, stribeck_velocity=0.25, viscous=0.03)
    return replace(recordings.truth(), friction=friction)


def start() -> Actuator:
    """What one knows of it before."""
    friction = Stribeck(coulomb=0.07, static=0.1, stribeck_velocity=0.35, viscous=0.02)
    return replace(recordings.start(), friction=friction)


def run_loop(
    folder: Path,
    bus: str,
    say: Callable[[str], None],
    *,
    truth: Actuator,
    start: Actuator,
    speed: float = SPEED,
    seed: int = 0,
) -> LoopResult:
    """Plan, record, check and fit; the fit sees the logs and the start only.

    Args:
        folder: Where plan, servo and logs are written.
        bus: What the servo is spoken to through.
        say: Is told what is done.
        truth: The servo that is recorded.
        start: What is known of it before.
        speed: Times real time at which the virtual servo runs.
        seed: Of its noise.

    Returns:
        Plan, logs, what was checked, and the fit beside the truth.
    """
    folder.mkdir(exist_ok=True)
    planned = plan(
        start,
        BENCH,
        seconds=SECONDS,
        friction=start.friction.name,
        limits=SafetyLimits(approach=APPROACH, silence=2.0),
        sensing=Sensing(rate=RATE),
    )
    say(f"{planned}\n")
    planned.write(folder / "plan.json", force=True)
    servo = store.write(truth, folder / "virtual-servo.json", force=True)
    for old in folder.glob("*.jsonl"):
        old.unlink()
    with virtual(servo, protocol=bus, bench=WORDS, speed=speed, seed=seed) as device:
        job = {"bus": bus, "port": device.port, "motions": planned.motions, "to": folder, "bench": BENCH}
        logs: list[Log] = []
        for again in range(TRIES):
            try:
                logs = record(**job, rate=RATE, speed=speed, yes=True)
                break
            except RecordingStopped as stopped:  # the same once more goes on where this one ended
                if again == TRIES - 1:
                    raise
                say(f"{stopped}; recording goes on.")
    verdict = check(start, logs)
    return LoopResult(planned, logs, verdict, fit(start, logs, n_starts=3), truth)
