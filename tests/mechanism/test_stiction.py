"""A ramp that is held longer than dry friction holds it: told by how much, or not at all."""

from __future__ import annotations

import math

import numpy as np
import pytest

from backemf.kits.frc.characterization import FeedforwardGain
from backemf.kits.frc.mechanism import motion
from backemf.kits.frc.mechanism_findings import motion_findings
from backemf.kits.frc.trials import make_run, segment

KS, KV, KA = 0.25, 1.5, 0.3
SPEED = 0.5
"""Of the ramp [V/s]; a sample is 5 mV."""


def held(at, way=1, kG=0.0, noise=0.0):
    """A ramp that is let go when it pushes with `at`."""
    t = 0.01 * np.arange(600)
    u = way * SPEED * t
    push = way * (u - kG)
    late = np.where(push < at, kG, u)  # friction holds what balances gravity
    how = {"gains": (KS, KV, KA), "gravity": (kG, 0.0, 0.0)}
    v, p = motion(t, late, start=(0.0, 0.0, 0.0), velocity_time=t, position_time=t, **how)
    v = v + noise * np.random.default_rng(0).standard_normal(len(v))
    return segment(make_run(f"quasistatic-{'forward' if way > 0 else 'reverse'}", t, u, p, v))


def told(*segments, high=KS, size=1.0, kS=KS, **more):
    values = {"kS": kS, "kV": KV * size, "kA": KA * size, **more}
    gains = {
        name: FeedforwardGain(value=x, low=x, high=high if name == "kS" else x, unit="")
        for name, x in values.items()
    }
    found = motion_findings(segments, gains, 0.0, None, size)
    return next((f for f in found if f.code == "stiction"), None)


@pytest.mark.parametrize("way", [1, -1])
@pytest.mark.parametrize("size", [1.0, 2 * math.pi])
@pytest.mark.parametrize(
    ("at", "high", "said"),
    [
        (0.25, 0.25, False),
        (0.31, 0.25, False),  # by less than 0.3 of 0.25 V
        (0.35, 0.25, True),
        (0.35, None, True),
        (0.35, 0.20, True),
        (0.35, 0.30, False),  # and kS itself is unsure by 0.05 V
        (0.39, 0.30, True),
    ],
)
def test_what_holds_it_is_told_where_it_is_clearly_more_than_friction(at, high, said, size, way):
    found = told(held(at, way), high=high, size=size)
    assert (found is not None) == said
    if found:
        assert found.numbers["breakaway"] == pytest.approx(at, abs=0.01)  # two samples of the ramp
        assert f"while friction in motion is {KS}" in found.text


@pytest.mark.parametrize("way", [1, -1])
def test_gravity_is_no_friction(way):
    # the push is what is left of the input beside 0.2 V
    assert told(held(0.25, way, kG=0.2), kG=0.2) is None
    assert told(held(0.5, way, kG=0.2), kG=0.2).numbers["breakaway"] == pytest.approx(0.5, abs=0.01)


def test_most_of_several_tests_decide():
    free, stuck = held(0.25), held(0.45, -1)
    assert told(free, stuck, stuck).numbers["breakaway"] == pytest.approx(0.45, abs=0.01)
    assert told(free, free, stuck) is None


def test_noise_may_hide_a_motion_and_what_is_unknown_says_nothing():
    quiet, loud = held(0.36, noise=0.001), held(0.36, noise=0.15)
    assert told(quiet) is not None
    assert told(loud) is None
    for name in ("kS", "kV", "kA", "kG"):
        assert told(quiet, **{name: None}) is None
    assert told(quiet, offset=0.0) is None
    assert told(quiet, kA=0.0) is None
