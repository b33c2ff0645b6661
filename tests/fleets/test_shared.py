"""What units share, from fleets whose spread is known."""

from __future__ import annotations

import numpy as np
import pytest

from backemf.errors import MissingValue
from backemf.kits.fleets.estimates import _likelihood, population_model, shrink

from .drawn import drawn


def test_the_slope_of_the_likelihood_is_its_difference():
    rng = np.random.default_rng(0)
    fleet = drawn(rng, 12)
    x, V = fleet.seen.x[:, :3], fleet.seen.V[:, :3, :3]
    S = np.diag(fleet.spread[:3] ** 2)
    value, slope = _likelihood(S, x, V)
    for i, j in ((0, 0), (1, 1), (2, 0)):
        step = np.zeros((3, 3))
        step[i, j] += 1e-9
        step[j, i] += 1e-9 if i != j else 0.0
        there = (_likelihood(S + step, x, V)[0] - _likelihood(S - step, x, V)[0]) / 2e-9
        expected = slope[i, j] * (2 if i != j else 1)
        assert there == pytest.approx(expected, rel=1e-4, abs=1e-3 * abs(value))


def test_without_errors_it_is_the_mean_and_the_sample_covariance():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((40, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]])
    model = population_model(x, np.tile(1e-9 * np.eye(3), (40, 1, 1)))
    np.testing.assert_allclose(model.mean, x.mean(axis=0), atol=1e-6)
    # the restricted likelihood's own answer: divided by n - 1, not by n
    np.testing.assert_allclose(model.S, np.cov(x.T), rtol=2e-3, atol=2e-3)


def fleets(count: int, n: int = 100) -> dict[str, float]:
    """Shares over fleets: spreads within 15 %, and true numbers inside their 95 % intervals."""
    told: dict[str, list[bool]] = {name: [] for name in ("near", "spread", "mean", "correlation", "unit")}
    for seed in range(count):
        fleet = drawn(np.random.default_rng(seed), n)
        seen = fleet.seen
        model = population_model(seen.x, seen.V)
        told["near"] += list(np.abs(model.spread / fleet.spread - 1) < 0.15)
        told["spread"] += list((model.spread_low <= fleet.spread) & (fleet.spread <= model.spread_high))
        off = np.abs(model.mean - fleet.mean) / np.sqrt(np.diag(model.mean_covariance))
        told["mean"] += list(off < 1.96)
        pairs = np.tril_indices(len(model.mean), -1)
        told["correlation"] += list(
            np.abs(model.correlation - fleet.correlation)[pairs] < 1.96 * model.correlation_error[pairs]
        )
        estimate, error = shrink(model, seen.x, seen.V)
        told["unit"] += list((np.abs(estimate - fleet.truth) < 1.96 * error).ravel())
    return {name: float(np.mean(some)) for name, some in told.items()}


def test_spreads_of_twenty_fleets_of_a_hundred():
    """With 100 units and errors of 10 to 50 % of the spread a standard deviation is known to 7 to 9 %: 15 %
    is two standard errors. The intervals are of 95 %; 160 of them scatter by 1.7 %."""
    found = fleets(20)
    assert found.pop("near") >= 0.9
    for name, share in found.items():
        assert 0.90 <= share <= 0.98, name


def test_shrunken_estimates_are_nearer_to_the_truth():
    fleet = drawn(np.random.default_rng(2), 100, noise=(0.8, 2.0))
    model = population_model(fleet.seen.x, fleet.seen.V)
    better, _ = shrink(model, fleet.seen.x, fleet.seen.V)
    off = [np.sqrt(np.mean(((x - fleet.truth) / fleet.spread) ** 2)) for x in (better, fleet.seen.x)]
    # a fit that errs by as much as units differ: half of its error goes, and more where logs are poorer
    assert off[0] < 0.75 * off[1]


def test_where_units_do_not_differ_the_interval_reaches_zero():
    rng = np.random.default_rng(3)
    V = np.tile(0.01 * np.eye(2), (60, 1, 1))
    model = population_model(0.1 * rng.standard_normal((60, 2)), V)
    assert (model.spread_low == 0.0).all()
    assert (model.spread_high < 0.1).all()
    assert (model.spread_high > model.spread).all()


def test_few_units_are_taken_as_uncorrelated_and_two_are_too_few():
    fleet = drawn(np.random.default_rng(4), 6)
    model = population_model(fleet.seen.x, fleet.seen.V)
    np.testing.assert_allclose(model.correlation, np.eye(len(model.mean)), atol=1e-12)
    with pytest.raises(MissingValue, match="2 units tell no spread; expected at least 3"):
        population_model(fleet.seen.x[:2], fleet.seen.V[:2])


def test_what_a_unit_does_not_tell_counts_for_nothing():
    fleet = drawn(np.random.default_rng(5), 60)
    x, V = fleet.seen.x.copy(), fleet.seen.V.copy()
    V[30:, 0, :] = V[30:, :, 0] = 0.0
    V[30:, 0, 0] = 1e8 * fleet.spread[0] ** 2
    x[30:, 0] += 1e3 * fleet.spread[0]
    model = population_model(x, V)
    assert abs(model.mean[0] - fleet.mean[0]) < 5 * fleet.spread[0] / np.sqrt(30)
    assert model.spread[0] == pytest.approx(fleet.spread[0], rel=0.5)
