"""Recordings of servos of the catalogue with one fault planted in each set, and what deserves to be named."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import backemf as be
from backemf.datasheets.parts import part as part_of
from backemf.findings import Finding
from backemf.physics import steady

from .recordings import GRAIN, changed, in_degrees, sines, steps, sweep, with_values

DT = 0.005
SHARE = 0.13
"""Gravity of the lighter rig over the stall torque."""
PARTS = ("mx-28", "mx-64", "xl430-w250", "xm430-w210", "sts3215-7.4v")
"""Drawn from where thresholds were chosen."""
UNSEEN = ("mx-106", "xc330-m288", "xl-320", "xm430-w350", "xm540-w270", "xc330-t288", "xl330-m288")
"""Drawn from where nothing was chosen."""


class Rig(NamedTuple):
    """How one log is recorded."""

    mass: float
    length: float
    gain: float
    command: Callable[[np.ndarray], np.ndarray]
    off_after: float | None = None


class Drawn(NamedTuple):
    """A servo of the catalogue: where a fit starts, what is stated, the one that was recorded, and how."""

    start: be.Actuator
    prior: dict[str, tuple[float, float]]
    truth: be.Actuator
    rigs: tuple[Rig, ...]
    arm: float
    seed: int

    def logs(self, **changes: Any) -> list[be.Log]:
        """Its recordings."""
        return [self.record(k, **changes) for k in range(len(self.rigs))]

    def record(
        self, k: int, truth: be.Actuator | None = None, delay: float = 0.0, arm: float | None = None
    ) -> be.Log:
        """One of them; of another servo, late, or with another arm than is stated."""
        rig, noisy = self.rigs[k], np.random.default_rng([self.seed, k])
        actuator = (truth or self.truth).replace(**{"drive.proportional": rig.gain})
        if delay:
            actuator = replace(actuator, drive=replace(actuator.drive, delay=delay))
        bench = be.bench.Pendulum(mass=rig.mass, length=rig.length, arm_mass=self.arm)
        true = bench if arm is None else replace(bench, arm_mass=arm)

        def command(t: np.ndarray) -> np.ndarray:
            return rig.command(np.maximum(t, 0.0))

        asked: dict[str, Any] = {"position_target": command}
        if rig.off_after is not None:
            asked["enabled"] = lambda t: (t < rig.off_after).astype(float)
        run = be.simulate(actuator, true, asked, duration=4.0, dt=DT, substeps=10)
        seen = run.position + 5e-4 * noisy.standard_normal(len(run))
        names = ("position_target", *(("enabled",) if rig.off_after is not None else ()))
        signals = {"position": np.round(seen / GRAIN) * GRAIN} | {name: run[name] for name in names}
        settings = {"drive.proportional": rig.gain}
        return be.log(f"log {k}.csv", run.time, bench=bench, settings=settings, **signals)


def draw(part: str, seed: int) -> Drawn:
    """A unit of a part, within what is stated of it, on rigs that its torque allows."""
    rng = np.random.default_rng([seed, *part.encode()])
    start = part_of(part).actuator
    stall = steady.line(start, start.drive.supply).stall_torque
    lengths = (0.1, 0.15)
    light = SHARE * stall / (9.81 * lengths[0])
    inertia = 0.15 * light * lengths[0] ** 2 / start.gearbox.output_inertia(1.0)
    friction = be.friction.Coulomb(coulomb=0.03 * stall, viscous=0.02 * stall / 6.0)
    stated = replace(start, friction=friction).replace(**{"motor.rotor_inertia": inertia})
    prior = {
        p: (stated.parameters[p], 0.05 * stated.parameters[p])
        for p in ("motor.resistance", "motor.torque_constant")
    }
    gain = stated.parameters["drive.firmware_gain"]
    prior["drive.firmware_gain"] = (gain, 0.02 * gain)
    off = {p: v * (1.0 + e / v * rng.uniform(-1, 1)) for p, (v, e) in prior.items()}
    off |= {
        p: stated.parameters[p] * rng.uniform(0.7, 1.4)
        for p in ("friction.coulomb", "friction.viscous", "motor.rotor_inertia")
    }
    P = stated.parameters["drive.proportional"]
    heavy = light * rng.uniform(1.5, 1.9)
    rigs = (
        Rig(light, 0.1, P, sines),
        Rig(heavy, 0.1, 0.5 * P, steps),
        Rig(light, 0.15, 2.0 * P, sweep),
        Rig(light, 0.1, P, sines, off_after=2.0),
        Rig(heavy, 0.1, 0.5 * P, steps, off_after=1.5),
        Rig(heavy, 0.15, P, sweep),
    )
    return Drawn(stated, prior, stated.replace(**off), rigs, float(light * rng.uniform(0.08, 0.12)), seed)


def triangle(t: np.ndarray) -> np.ndarray:
    return 0.8 * (2 / np.pi) * np.arcsin(np.sin(2 * np.pi * 0.45 * t))


def stairs(t: np.ndarray) -> np.ndarray:
    return 0.25 * np.round(3.5 * np.sin(2 * np.pi * 0.3 * t))


def two_tones(t: np.ndarray) -> np.ndarray:
    return 0.5 * np.sin(2 * np.pi * 0.8 * t) + 0.25 * np.sin(2 * np.pi * 2.1 * t + 1)


def places_at_random(t: np.ndarray) -> np.ndarray:
    places = np.random.default_rng(5).uniform(-0.9, 0.9, 40)
    return places[np.clip((t / 0.55).astype(int), 0, 39)]


def draw_otherwise(part: str, seed: int) -> Drawn:
    """The same unit on other rigs, with other gains and motions, in five logs or six."""
    drawn, rng = draw(part, seed), np.random.default_rng([seed, 77])
    first, heavier = drawn.rigs[0], rng.uniform(1.4, 1.8)
    short = float(rng.choice([0.08, 0.12]))
    long, light = short * float(rng.uniform(1.3, 1.7)), first.mass * 0.1 / short
    heavy, P = light * heavier, first.gain
    rigs = (
        Rig(light, short, P, triangle),
        Rig(heavy, short, 0.7 * P, stairs),
        Rig(light, long, 1.5 * P, two_tones),
        Rig(heavy, short, P, places_at_random, off_after=2.2),
        Rig(light, long, P, stairs),
        *([Rig(heavy, short, 1.5 * P, two_tones, off_after=1.7)] if seed % 2 else []),
    )
    return drawn._replace(rigs=rigs, arm=float(light * rng.uniform(0.08, 0.12)))


def restated(logs: Iterable[be.Log], **factors: float) -> list[be.Log]:
    """The same recordings with a bench that was written down wrongly."""
    made = []
    for log in logs:
        numbers = {name: getattr(log.bench, name) * factor for name, factor in factors.items()}
        made.append(replace(log, bench=replace(log.bench, **numbers)))
    return made


def one_of(logs: list[be.Log], k: int, spoil: Callable[[be.Log], be.Log]) -> list[be.Log]:
    """With one log spoilt."""
    return [spoil(log) if i == k else log for i, log in enumerate(logs)]


def turned(log: be.Log, name: str) -> be.Log:
    return with_values(log, **{name: -log.signals[name].values})


def drifting(log: be.Log, share: float = 0.02) -> be.Log:
    """The command on a clock of its own."""
    given = log.signals["position_target"]
    return changed(log, position_target=be.Signal(time=(1.0 + share) * given.time, values=given.values))


def losing_counts(log: be.Log, rng: np.random.Generator) -> be.Log:
    """An encoder that lost counts three times."""
    q = log["position"].copy()
    for at in rng.choice(np.arange(len(q) // 6, 5 * len(q) // 6), 3, replace=False):
        q[at:] -= int(rng.integers(25, 60)) * GRAIN
    return with_values(log, position=q)


def inverted(log: be.Log) -> be.Log:
    return with_values(log, enabled=1.0 - log["enabled"]) if "enabled" in log else log


def at_angle(log: be.Log, angle: float) -> be.Log:
    """A mounting whose zero is elsewhere."""
    return with_values(log, position=log["position"] + angle, position_target=log["position_target"] + angle)


class Fault(NamedTuple):
    """A fault: what spoils the recordings, the code it deserves, and the log that must be named."""

    plant: Callable[[Drawn, np.random.Generator, int], list[be.Log]]
    code: str
    one: bool = False


def _foreign(d: Drawn, rng: np.random.Generator, k: int) -> list[be.Log]:
    """One log is of another servo: weaker by a third and rougher, or the other way round."""
    s = 1.0 if rng.random() < 0.5 else -1.0
    other = {"motor.torque_constant": 1.5**s, "motor.resistance": 1.8**s, "friction.coulomb": 2.5**s}
    truth = d.truth.replace(**{p: f * d.truth.parameters[p] for p, f in other.items()})
    logs = d.logs()
    logs[k] = d.record(k, truth=truth)
    return logs


def _factor(rng: np.random.Generator) -> float:
    return 1.3 if rng.random() < 0.5 else 1 / 1.3


FAULTS: dict[str, Fault] = {
    "mass": Fault(lambda d, rng, k: restated(d.logs(), mass=_factor(rng)), "wrong_mass"),
    "length": Fault(lambda d, rng, k: restated(d.logs(), length=_factor(rng)), "wrong_length"),
    "supply": Fault(
        lambda d, rng, k: [
            replace(log, settings={**log.settings, "drive.supply": d.start.drive.supply * f})
            for f in [_factor(rng)]
            for log in d.logs()
        ],
        "wrong_supply",
    ),
    "gain": Fault(
        lambda d, rng, k: [
            replace(log, settings={"drive.proportional": f * log.settings["drive.proportional"]})
            for f in [_factor(rng)]
            for log in d.logs()
        ],
        "wrong_firmware_gain",
    ),
    "angle": Fault(lambda d, rng, k: [at_angle(log, 0.2) for log in d.logs()], "mounting_angle"),
    "command sign": Fault(
        lambda d, rng, k: [turned(log, "position_target") for log in d.logs()], "wrong_sign"
    ),
    "position sign": Fault(
        lambda d, rng, k: one_of(d.logs(), k, lambda log: turned(log, "position")), "wrong_sign", True
    ),
    "late clock": Fault(lambda d, rng, k: d.logs(delay=0.015), "delay"),
    "foreign log": Fault(_foreign, "foreign_log", True),
    "drifting clock": Fault(lambda d, rng, k: [drifting(log) for log in d.logs()], "clock_drift"),
    "degrees": Fault(lambda d, rng, k: one_of(d.logs(), k, in_degrees), "degrees", True),
    "inverted flag": Fault(lambda d, rng, k: [inverted(log) for log in d.logs()], "inverted_flag"),
    "lost counts": Fault(
        lambda d, rng, k: one_of(d.logs(), k, lambda log: losing_counts(log, rng)), "lost_counts", True
    ),
    "forgotten arm": Fault(
        lambda d, rng, k: restated(d.logs(arm=0.25 * d.rigs[0].mass), arm_mass=0.0), "wrong_arm_mass"
    ),
    "clean": Fault(lambda d, rng, k: d.logs(), ""),
}
"""Fourteen faults, and none."""

CAUSES = {
    "sheet_disagrees", "mounting_angle", "delay", "wrong_sign", "clock_drift", "foreign_log", "lost_counts",
    "inverted_flag", "lost_rows", "wrapped_counter", "spikes", "zeros", "repeats", "duplicates",
    "coarse_command", "degrees", "turns", "milliradians", "encoder_counts",
}  # fmt: skip
"""Codes that name a cause, those of the bench and the sheet apart."""


def verdict(findings: Iterable[Finding], fault: Fault, spoilt: str) -> str:
    """'right', 'nothing' or 'wrong: ...': whether findings name the fault, and no other."""
    named = [f for f in findings if f.code.startswith("wrong_") or f.code in CAUSES]
    true = [f for f in named if fault.code and _names(f, fault, spoilt)]
    others = [f for f in named if f not in true]
    if others:
        return "wrong: " + ", ".join(f"{f.code} {f.logs} {dict(f.numbers)}" for f in others)
    return "right" if true or not fault.code else "nothing"


def _names(f: Finding, fault: Fault, spoilt: str) -> bool:
    bench = fault.code.startswith("wrong_") and fault.code.removeprefix("wrong_") in f.numbers
    return (f.code == fault.code or bench) and (not fault.one or f.logs == (spoilt,))
