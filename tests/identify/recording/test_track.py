"""A recorded position as the detectors see it: steps, rates, grain, noise, and where it moves."""

from __future__ import annotations

import numpy as np
import pytest

from backemf.identify.inspect.samples import SignalTrack

from .hand_made import log, moving, track


def test_only_finite_samples_are_seen():
    one = SignalTrack.of(log([1.0, np.nan, 3.0, 4.5], step=0.1))
    assert one.places.tolist() == [0, 2, 3]
    assert one.time == pytest.approx([0.0, 0.2, 0.3])
    assert one.values.tolist() == [1.0, 3.0, 4.5]
    assert one.steps.tolist() == [2.0, 1.5]
    assert one.rates == pytest.approx([10.0, 15.0])
    assert one.step == pytest.approx(0.15)
    assert len(one) == 3
    asked = SignalTrack.of(log([1.0, 2.0], position_target=[5.0, 6.0]), "position_target")
    assert asked.values.tolist() == [5.0, 6.0]


def test_the_span_leaves_one_in_a_hundred_out_at_either_end():
    assert track(np.arange(101.0)).span == pytest.approx(98.0)


WHOLE = np.tile([1, 2, 3, 1, 4, 5, 1, 1, -2, -3], 5)
GRAINS = {
    # steps in units of an encoder's: the grain that is seen
    "counts": (WHOLE, 1.0),
    "rounded": (WHOLE + 0.04 * np.tile([1, -1], 25), 1.0),
    "not in steps": (WHOLE + np.random.default_rng(0).uniform(0, 1, 50), 0.0),
    "too few": ([1, 2, 3, 1, 4, 5, 1, 1, -2], 0.0),
    "just enough": (np.r_[WHOLE[:10], 1], 1.0),
    "ten, but too few of them small": (np.r_[np.ones(5), np.full(20, 7.0)], 0.0),
    "off by a fifteenth": (WHOLE + 0.07 * np.tile([1, -1], 25), 0.0),
    "jitter of the last digit": (np.r_[WHOLE, np.full(30, 1e-9)], 1.0),
    "large steps tell nothing": (np.r_[WHOLE, np.full(30, 20.5)], 1.0),
    "a few are off": (np.r_[WHOLE, [1.3, 1.4, 2.5, 3.5]], 1.0),
    "many are off": (np.r_[WHOLE, [1.3, 1.4, 2.5, 3.5, 1.6, 2.4, 3.3, 2.6]], 0.0),
    "it often rests": (np.r_[WHOLE, np.zeros(60)], 1.0),
}


@pytest.mark.parametrize("scale", [1.0, 1.534e-3])
@pytest.mark.parametrize("row", GRAINS)
def test_the_step_of_an_encoder(row, scale):
    steps, grain = GRAINS[row]
    assert track(scale * moving(steps)).grain == pytest.approx(scale * grain, rel=0.03)


def test_the_average_of_many_steps_tells_the_grain_better_than_one():
    """Rounded to four digits, single steps of 1.5 mrad are off by up to 7 %, their sum hardly."""
    counts = np.tile([1, 2, 3, 1, 4, 5, 1, 1, 2, 3], 8)
    rounded = np.round(moving(1.534e-3 * counts), 4)
    assert track(rounded).grain == pytest.approx(1.534e-3, rel=3e-3)


def test_noise_is_that_of_fourth_differences_whatever_one_in_ten_does():
    rng = np.random.default_rng(1)
    t = np.linspace(0, 3, 3000)
    noisy = np.sin(t) + 1e-3 * rng.standard_normal(3000)
    assert track(noisy).noise == pytest.approx(1e-3, rel=0.05)
    often = np.repeat(noisy, 3)  # a sensor that is read too often is not the less noisy for it
    assert track(often).noise == pytest.approx(1e-3, rel=0.05)
    spoilt = noisy.copy()
    spoilt[::40] += 1.0
    assert track(spoilt).noise == pytest.approx(1e-3, rel=0.35)


def test_noise_is_at_least_that_of_the_encoder():
    even = track(moving(WHOLE), grain=100.0)
    assert even.noise == pytest.approx(100.0 / np.sqrt(12.0))
    few = track(np.arange(11.0), grain=7.0)
    assert few.noise == 7.0
    enough = track(np.arange(12.0), grain=7.0)
    assert enough.noise == pytest.approx(7.0 / np.sqrt(12.0))
    assert track(np.arange(30.0) ** 2, grain=0.0).noise == 1e-9  # none at all


def test_the_rate_around_a_sample_is_over_six_to_either_side():
    values = np.random.default_rng(0).normal(size=40)
    going = track(values, step=0.1).going
    for k in range(40):
        first, last = max(k - 6, 0), min(k + 6, 39)
        assert going[k] == pytest.approx((values[last] - values[first]) / (0.1 * (last - first)))


@pytest.mark.parametrize(
    ("noise", "grain", "moves"),
    [(0.24, 0.0, True), (0.26, 0.0, False), (0.0, 0.33, True), (0.0, 0.34, False)],
)
def test_motion_is_four_times_the_noise_or_three_encoder_steps_a_sample(noise, grain, moves):
    for sign in (1.0, -1.0):
        one = track(sign * np.arange(30.0), step=0.1, noise=noise, grain=grain)
        assert set(one.moves.tolist()) == {moves}
