"""Servos like the simulated MX-106, with other numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

import backemf as be
from backemf.identify.frictions import with_friction
from backemf.targets import bam

NEAR_ZERO = (1e-5, 0.002, 0.02, 0.05)
"""True Coulomb frictions [N m], the first as good as none."""


def another_servo(folder: Path, seed: int) -> tuple[dict[str, float], list[be.Log]]:
    """(its numbers, the recordings) of a servo like the simulated MX-106, on the same rigs with the same
    commands: windings within 10 %, friction within 25 % of that one's."""
    known = json.loads((folder / "mx106_pendulum_truth.json").read_text())
    rng = np.random.default_rng(1000 + seed)
    start = with_friction(be.Datasheet.read("mx-106").actuator(), "m6")
    bam_file = {key: value for key, value in known.items() if key != "friction_base"}
    for key in bam_file:
        bam_file[key] *= float(np.exp(rng.uniform(-1, 1) * (0.1 if key in bam.MOTOR else 0.25)))
    coulomb, N = NEAR_ZERO[seed % len(NEAR_ZERO)], start.gearbox.ratio
    truth = {
        f"friction.{field}": bam_file[key] for key, field in bam.MODELS["m6"][1].items() if key in bam_file
    }
    truth |= {"friction.coulomb": coulomb, "friction.static": coulomb + bam_file["friction_stribeck"]}
    truth |= {"motor.resistance": bam_file["R"], "motor.torque_constant": bam_file["kt"] / N}
    truth |= {"motor.rotor_inertia": bam_file["armature"] / N**2, "drive.firmware_gain": 0.158}
    servo, noise, made = start.replace(**truth, **{"drive.supply": 15.0}), np.random.default_rng(seed), []
    for log in be.read(str(folder / "mx106_pendulum" / "*.json")):
        asked = {name: np.asarray(log[name]) for name in ("position_target", "enabled")}
        bench = log.bench
        assert isinstance(bench, be.bench.Pendulum)
        bench = replace(bench, gravity=9.81)
        run = be.simulate(
            servo.replace(**log.settings), bench, asked, time=log.signals["position"].time, substeps=100
        )
        grain = 2 * np.pi / 4096
        seen = np.round((run.position + 1e-3 * noise.standard_normal(len(run))) / grain) * grain
        kept = {n: s for n, s in log.signals.items() if n not in ("velocity", "temperature")}
        made.append(replace(log, signals={**kept, "position": replace(kept["position"], values=seen)}))
    return truth, made
