"""Intervals of 95 % hold as often as they say, for random gains, delays, noise and quantisation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from backemf.kits.frc.characterize import characterize
from backemf.kits.frc.trials import TESTS, make_run

from .test_characterize import gravity_of, record, recorded

MECHANISMS = ("simple", "elevator", "arm", "drivetrain")


def conditions(rng, top, steps, spans) -> dict:
    """How a test is recorded: noise in both channels; nothing but a coarse position;
    or a noisy velocity beside a coarse position."""
    kind = rng.integers(3)
    how: dict = {
        "dt": rng.choice(steps),
        "T": rng.uniform(*spans),
        "slow": 1.0,
        "delay": rng.uniform(0.0, 0.1),
        "rng": rng,
        "differ": kind == 1,
        "rising": bool(rng.integers(2)),
    }
    if kind != 1:
        how["noise"] = (
            top * 10 ** rng.uniform(-3, -1.7),
            top * 10 ** rng.uniform(-4, -2.5) if kind == 0 else 0.0,
        )
    if kind != 0:
        how["quantum"] = top * 10 ** rng.uniform(-3.5, -2.5)
    return how


def some_gains(rng):
    return rng.uniform(0.1, 1.2), rng.uniform(0.8, 3.5), rng.uniform(0.03, 0.5)


def trial(mechanism, seed, steps=(0.01, 0.02), spans=(3.0, 5.0), **more):
    """(gains whose interval holds the truth, gains with an interval) of one random mechanism."""
    rng = np.random.default_rng(seed)
    gains = some_gains(rng)
    g = gravity_of(mechanism, rng.uniform(0.1, 0.5), rng.uniform(-2, 2))
    how = {**conditions(rng, 7 / gains[1], steps, spans), **more}
    truth = {
        "kS": gains[0],
        "kV": gains[1],
        "kA": gains[2],
        "kG": math.hypot(*g),
        "offset": math.atan2(-g[2], g[1]),
    }
    if mechanism == "drivetrain":
        turning = some_gains(rng)
        truth |= {"kS_angular": turning[0], "kV_angular": turning[1], "kA_angular": turning[2]}
        runs = [
            make_run(test, *record(test, gains, **how), part=side)
            for test in TESTS
            for side in ("left", "right")
        ]
        other = conditions(rng, 7 / turning[1], steps, spans)
        runs += [make_run(test, *record(test, turning, **other), part="angular") for test in TESTS]
        measured = characterize(runs, mechanism, units="meters")
    else:
        measured = characterize(recorded(gains, g, **how), mechanism)
    seen = [
        gain.low <= truth[name] <= gain.high
        for name, gain in measured.gains.items()
        if gain.value is not None
    ]
    return sum(seen), len(seen)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism", [pytest.param(m, marks=[pytest.mark.proof] if m != "simple" else []) for m in MECHANISMS]
)
def test_intervals_cover_the_truth(mechanism):
    results = [
        trial(mechanism, seed, steps=(0.02,), spans=(2.5, 3.5))
        for seed in range(20 if mechanism == "drivetrain" else 40)
    ]
    n = sum(n for _, n in results)
    assert n >= 115  # hardly any gain is left undetermined
    assert 0.90 <= sum(hit for hit, _ in results) / n <= 0.98


@pytest.mark.proof
@pytest.mark.parametrize("mechanism", ["elevator", "arm"])
def test_intervals_cover_the_truth_of_sampled_ramps(mechanism):
    """500 recordings each of ramps that rise between their samples, whose friction was hardly ever within its
    interval as long as every sample was taken to hold; none of them was looked at when widths were chosen."""
    results = [trial(mechanism, 20_000 + seed, spans=(2.5, 3.5), rising=True) for seed in range(500)]
    covered = sum(hit for hit, _ in results) / sum(n for _, n in results)
    print(f"{mechanism}: {100 * covered:.1f} % of {sum(n for _, n in results)} intervals hold the truth")
    assert 0.93 <= covered <= 0.97
