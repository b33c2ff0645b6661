"""Sound recordings of random servos on random pendulums: none of them may be called faulty.

python scripts/sound_logs.py [--logs 100] [--check]: servos of the catalogue with friction M1 to M4; masses,
lengths, supplies and zeros off by what a bench is off by; sines, squares, chirps, drops; 50 to 500 Hz. With
--check each log also goes through the whole gate, where a remedy would be tried (slow: a kernel a structure).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import numpy as np

import backemf as be
from backemf.identify.frictions import with_friction
from backemf.identify.inspect.remedies import REMEDIES, faults_of

SERVOS = [
    *("mx-28", "mx-64", "mx-106", "sts3032", "sts3215-7.4v", "sts3215-12v", "sts3250", "xl-320", "mg996r"),
    *("xl330-m288", "xc330-m181", "xc330-t288", "xl430-w250", "xm430-w210", "xm430-w350", "xm540-w150"),
]
COUNT = 2 * np.pi / 4096


def sound(seed: int) -> tuple[be.Actuator, be.Log]:
    """(what one would start from, a sound recording of something near it)."""
    rng = np.random.default_rng(seed)
    servo = str(rng.choice(SERVOS))
    stated = be.Datasheet.read(servo).actuator()
    stated = with_friction(stated, str(rng.choice(["m1", "m2", "m3", "m4"])))
    near = {
        p: v * rng.uniform(0.8, 1.25) for p, v in stated.parameters.items() if p.startswith("friction.") and v
    }
    near |= {
        p: stated.parameters[p] * rng.uniform(0.85, 1.15)
        for p in ("motor.resistance", "motor.torque_constant")
    }
    volts = float(stated.drive.ceiling({}) or 0.0)
    stall = be.steady.stall_torque(stated, volts)
    length = float(rng.uniform(0.05, 0.2))
    mass = float(rng.uniform(0.08, 0.45) * stall / (9.81 * length))
    inertia = float(rng.uniform(0.05, 0.3)) * mass * length**2
    near["motor.rotor_inertia"] = inertia / float(stated.gearbox.output_inertia(1.0))
    supply = next((p for p in ("drive.supply", "drive.voltage_limit") if p in stated.parameters), None)
    if supply is not None:
        near[supply] = stated.parameters[supply] * (1 + 0.02 * rng.standard_normal())
    truth = stated.replace(**near)
    hangs = float(np.radians(2.0) * rng.standard_normal())
    real = be.bench.Pendulum(
        mass=mass * (1 + 0.01 * rng.standard_normal()),
        length=length + 1e-3 * rng.standard_normal(),
        hanging=hangs,
    )
    rate = float(rng.choice([50, 100, 143, 200, 333, 500]))
    n = round(rng.uniform(5.0, 8.0) * rate)
    steps = np.clip(1 + 0.02 * rng.standard_normal(n - 1), 0.5, 1.5) / rate
    time = np.concatenate([[0.0], np.cumsum(steps)])
    size, f = rng.uniform(0.2, 1.4), rng.uniform(0.2, 1.6)
    asked = {
        "sine": size * np.sin(2 * np.pi * f * time),
        "square": size * np.sign(np.sin(2 * np.pi * 0.4 * f * time + 1e-9)),
        "chirp": size * np.sin(2 * np.pi * (0.2 * time + 0.5 * f * time**2 / time[-1] * 2)),
        "drop": size * np.sin(2 * np.pi * 0.3 * time),
    }
    motion = str(rng.choice(list(asked)))
    goal = asked[motion]
    inputs = {"position_target": np.round(goal / COUNT) * COUNT if rng.random() < 0.3 else goal}
    if motion == "drop":
        inputs["enabled"] = (time < rng.uniform(0.2, 0.6) * time[-1]).astype(float)
    run = be.simulate(truth, real, inputs, time=time, substeps=max(2, round(1000 / rate)))
    q = run.position + 1e-3 * rng.random() * rng.standard_normal(n)
    q = np.round(q / COUNT) * COUNT if rng.random() < 0.7 else q
    bench = be.bench.Pendulum(mass=mass, length=length)
    log = be.log(f"{seed} {servo} {motion} {rate:.0f} Hz", time, position=q, bench=bench, **inputs)
    return stated, log


def main() -> int:
    words = argparse.ArgumentParser(description="Sound logs must not be called faulty.")
    words.add_argument("--logs", type=int, default=100)
    words.add_argument("--first", type=int, default=0)
    words.add_argument("--check", action="store_true")
    told = words.parse_args()
    codes: Counter[str] = Counter()
    for seed in range(told.first, told.first + told.logs):
        actuator, log = sound(seed)
        seen = be.check(actuator, [log]).findings if told.check else faults_of(log, actuator)
        for f in seen:
            if f.code in REMEDIES:
                codes[f.code] += 1
                print(f.text)
    print(f"{told.logs} sound logs: {sum(codes.values())} false alarms {dict(codes) or ''}")
    return 1 if codes else 0


if __name__ == "__main__":
    sys.exit(main())
