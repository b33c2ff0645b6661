"""Units that do not belong are found, sound ones are left alone, and what they have is named."""

from __future__ import annotations

import numpy as np
import pytest

from backemf.kits.fleets.estimates import population_model
from backemf.kits.fleets.summary import odd_units, one_session, sound_units

from .drawn import PATHS, drawn

NOISE = (0.05, 0.3)
"""A fit's error, in spreads: four logs tell the numbers that differ to this."""


def planted(size: float, seed: int, n: int = 400, faults: int = 40) -> tuple[float, float]:
    """Shares of planted faults of so many spreads that are found, and of those found that are named right."""
    rng = np.random.default_rng(seed)
    fleet = drawn(rng, n, NOISE)
    which, side = rng.integers(len(PATHS), size=faults), rng.choice([-1, 1], faults)
    x = fleet.seen.x.copy()
    x[np.arange(faults), which] += size * side * fleet.spread[which]
    odd = {one.unit: one for one in sound_units(fleet.seen._replace(x=x))[2]}
    hit = [f"unit {k}" in odd for k in range(faults)]
    right = [odd[f"unit {k}"].path == PATHS[which[k]] for k in range(faults) if hit[k]]
    return float(np.mean(hit)), float(np.mean(right))


def test_false_alarms_on_a_thousand_sound_units():
    # 0.6 % are allowed for: of 1,000 units 6 +- 2.4
    found = sound_units(drawn(np.random.default_rng(0), 1000, NOISE).seen)[2]
    assert len(found) < 10


def test_faults_of_five_spreads_are_found():
    found, named = zip(*(planted(5.0, seed) for seed in (1, 2)), strict=True)
    assert np.mean(found) >= 0.95
    assert np.mean(named) >= 0.9


def test_small_faults_are_found_less_often():
    assert planted(2.0, 3)[0] < 0.5 < planted(4.0, 3)[0]


@pytest.mark.parametrize(
    ("moved", "says"),
    [
        ({"motor.torque_constant": -0.4}, "weak or partly demagnetised magnet"),
        ({"motor.resistance": 0.4}, "bad contact"),
        ({"friction.load": 0.6}, "gear damage"),
        ({"motor.rotor_inertia": 0.5}, "mounting"),
        ({"motor.torque_constant": 0.25, "motor.resistance": 0.5}, "wrong supply"),
        ({"motor.resistance": 0.39, "motor.torque_constant": -0.15}, "hot winding"),
    ],
)
def test_what_it_may_mean(moved, says):
    rng = np.random.default_rng(6)
    fleet = drawn(rng, 100, NOISE, even=1e6)  # units differ independently, by 5 % in everything
    x = fleet.mean + 0.05 * (fleet.seen.x - fleet.mean) / fleet.spread
    V = fleet.seen.V * np.outer(0.05 / fleet.spread, 0.05 / fleet.spread)
    for path, far in moved.items():
        x[0, PATHS.index(path)] += far
    found = sound_units(fleet.seen._replace(x=x, V=V))[2]
    assert found[0].unit == "unit 0"
    assert says in found[0].meaning
    assert found[0].finding.code == "odd_unit"
    assert "unit 0" in found[0].finding.text


def test_a_misfit_is_odd_where_no_number_is():
    fleet = drawn(np.random.default_rng(7), 50, NOISE)
    excess = fleet.seen.excess.copy()
    excess[3] = np.log(4.0)
    found = odd_units(population_model(fleet.seen.x, fleet.seen.V), fleet.seen._replace(excess=excess))
    assert [one.unit for one in found] == ["unit 3"]
    assert "play in the gears" in found[0].meaning


def test_odd_units_do_not_widen_the_spread():
    fleet = drawn(np.random.default_rng(8), 100, NOISE)
    clean = sound_units(fleet.seen)[0]
    x = fleet.seen.x.copy()
    x[:5, 0] += 20 * fleet.spread[0]
    model, keep, _ = sound_units(fleet.seen._replace(x=x))
    assert not keep[:5].any()
    assert model.spread[0] == pytest.approx(clean.spread[0], rel=0.1)


def test_the_first_session_stands_for_a_unit():
    fleet = drawn(np.random.default_rng(9), 4, sessions=3)
    first = one_session(fleet.seen)
    assert first.units == tuple(f"unit {k}" for k in range(4))
    np.testing.assert_array_equal(first.x, fleet.seen.x[::3])
