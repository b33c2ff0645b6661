"""The whole loop: a servo whose numbers are known is recorded by its maker's package, checked, fitted."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

import backemf as be
from backemf.apps.demo import loop
from backemf.datasheets import parts
from backemf.planning.motions import usual

from .rig import virtual

TRUTH = "sts3215-7.4v/m1"
FITTED = ("motor.resistance", "motor.torque_constant", "motor.rotor_inertia", "friction.coulomb")
FITTED += ("friction.viscous",)


@pytest.mark.proof
def test_a_recorded_servo_is_found_again(tmp_path):
    bench = be.bench.Pendulum(mass=0.3, length=0.1)
    with virtual(TRUTH, "--bench", "pendulum mass=0.3 length=0.1") as port:
        logs = be.record(
            bus="feetech", port=port, motions=usual(seconds=24.0), to=tmp_path, bench=bench, yes=True
        )
    truth = parts.part(TRUTH).actuator
    wrong = {path: (1.3 if k % 2 else 0.75) * truth.parameters[path] for k, path in enumerate(FITTED)}
    start = truth.replace(**wrong)
    assert be.check(start, logs).verdict == "fit"
    fit = be.fit(start, logs, n_starts=2)
    for path in FITTED:
        one = fit.parameters[path]
        # 95 % intervals of five numbers: half of each again, so that one run in a thousand fails
        wide = 0.5 * (one.high - one.low)
        assert one.low - wide < truth.parameters[path] < one.high + wide, (path, one)
        # and they say something: the replies' times, late by a busy machine's delays, blur a few per cent
        assert one.high - one.low < 0.6 * truth.parameters[path], (path, one)


SERVOS = int(os.environ.get("BACKEMF_SERVOS", "20"))


def drawn(seed: int) -> be.Actuator:
    """The demonstration's servo, its numbers 20 % off either way."""
    rng, base = np.random.default_rng([seed, 31]), loop.truth()
    own = {path: v for path, v in base.parameters.items() if path.startswith(("motor.", "friction."))}
    moved = {path: v * math.exp(0.2 * rng.standard_normal()) for path, v in own.items()}
    moved["friction.static"] = moved["friction.coulomb"] + 0.06 * math.exp(0.2 * rng.standard_normal())
    return base.replace(**moved)


@pytest.mark.proof
def test_intervals_of_planned_recordings_hold(tmp_path, capsys):
    inside = []
    for seed in range(SERVOS):
        truth = drawn(seed)
        folder = tmp_path / str(seed)
        done = loop.run_loop(folder, "feetech", lambda text: None, truth=truth, start=loop.start(), seed=seed)
        held = [p.low <= truth.parameters[path] <= p.high for path, p in done.fit.parameters.items()]
        inside += held
        with capsys.disabled():
            print(f"\n{seed} {done.check.verdict} {sum(held)} of {len(held)}", end="")
    # 95 % of 140 are 133; those of one servo err together, so that 90 % are asked for
    assert np.mean(inside) >= 0.9
