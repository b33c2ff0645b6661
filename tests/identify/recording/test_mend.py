"""Mended logs against what they were before they were spoilt."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.identify.inspect import remedies as mend
from backemf.identify.inspect.samples import find_lost_rows

from .hand_made import STEP, log, moving, wavy

T = STEP * np.arange(400)
WAVE = np.sin(2 * np.pi * 0.7 * T)


def test_dropouts_and_repeats_are_left_out_and_the_rest_stays():
    base = 1.0 + moving(0.02 * wavy(199))
    spoilt = base.copy()
    spoilt[[40, 80, 81]] = 0.0
    mended = mend.without_dropouts(log(spoilt))
    assert np.flatnonzero(np.isnan(mended["position"])).tolist() == [40, 80, 81]
    kept = np.isfinite(mended["position"])
    assert mended["position"][kept].tolist() == base[kept].tolist()
    assert mended.conversions[-1].startswith("position: 3 samples that jump off")
    again = base.copy()
    again[50] = again[49]
    mended = mend.without_repeats(log(again))
    assert np.flatnonzero(np.isnan(mended["position"])).tolist() == [50]
    assert mended.conversions[-1].startswith("position: 1 samples that repeat")


def test_samples_that_are_left_out_already_do_not_move_the_others():
    base = 1.0 + moving(0.02 * wavy(199))
    base[10:15] = np.nan
    base[60] = 0.0
    base[120] = 0.0
    mended = mend.without_dropouts(log(base))
    assert np.flatnonzero(np.isnan(mended["position"])).tolist() == [*range(10, 15), 60, 120]


def test_nothing_to_mend_is_the_same_log():
    sound = log(WAVE, position_target=WAVE)
    for remedy in (mend.without_dropouts, mend.without_repeats, mend.unwrap, mend.interpolate_command):
        assert remedy(sound) is sound


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_counter_goes_on_where_it_wrapped(sign):
    turn = 2 * np.pi
    true = sign * (1.0 + moving(0.06 * wavy(399)))
    mended = mend.unwrap(log(true % turn))
    assert np.diff(mended["position"]) == pytest.approx(np.diff(true))
    n = int(abs(np.floor(true[-1] / turn) - np.floor(true[0] / turn)))
    assert mended.conversions[-1] == f"position: unwrapped by 6.28319, {n} times"
    # and where its target says in which turn it is
    asked = mend.unwrap(log(true % turn, position_target=true))
    assert asked["position"] == pytest.approx(true)
    torn = true % turn
    torn[200] = np.nan
    asked = mend.unwrap(log(torn, position_target=true))
    assert asked["position"][np.arange(400) != 200] == pytest.approx(true[np.arange(400) != 200])


def test_signals_are_read_in_another_unit():
    one = log(WAVE, position_target=2 * WAVE)
    both = mend.rescale(one, {"position": 0.1, "position_target": 3.0, "sure": 1.0})
    assert both["position"] == pytest.approx(0.1 * WAVE)
    assert both["position_target"] == pytest.approx(6.0 * WAVE)
    assert both.conversions[-1] == "read in another unit: position times 0.1, position_target times 3"
    alone = mend.rescale(log(WAVE), {"position": 0.1, "position_target": 3.0})
    assert "position_target" not in alone
    assert alone.conversions[-1] == "read in another unit: position times 0.1"
    untouched = mend.rescale(one, {"position": 0.1})
    assert untouched["position_target"] == pytest.approx(2 * WAVE)


def test_a_sign_is_turned_of_position_and_velocity_alone():
    one = log(WAVE, velocity=3 * WAVE, position_target=WAVE)
    mended = mend.turn_sign(one)
    assert mended["position"] == pytest.approx(-WAVE)
    assert mended["velocity"] == pytest.approx(-3 * WAVE)
    assert mended["position_target"] == pytest.approx(WAVE)
    assert mended.conversions[-1] == "sign of position and velocity turned"
    assert mend.turn_sign(log(WAVE)).conversions[-1] == "sign of position turned"


def test_lost_time_is_put_back_on_every_clock():
    places = np.cumsum([11, 14, 9, 17, 12, 21, 8, 13, 19, 10, 15])
    steps = 0.05 * wavy(180)
    steps[places] *= 2.0
    time = STEP * np.arange(181)
    other = np.r_[-0.005, time[:-1] + 0.004, time[-1] + 0.02]
    one = be.Log(
        name="run",
        signals={
            "position": be.Signal(time=time, values=moving(steps)),
            "current": be.Signal(time=other, values=np.arange(182.0)),
        },
    )
    mended = mend.with_lost_time(one)
    assert find_lost_rows(one).rows == 11
    clock = mended.signals["position"].time
    at = np.searchsorted(places, np.arange(181))  # rows lost before each sample
    assert clock - time == pytest.approx(STEP * at, abs=0.5 * STEP)  # the ends by the average
    late = mended.signals["current"].time
    assert late[0] == -0.005  # before it began
    assert late[-1] - other[-1] == pytest.approx(clock[-1] - time[-1])  # and behind its end
    inside = np.interp(other[1:-1], time, clock)
    assert late[1:-1] == pytest.approx(inside)
    assert mended.conversions[-1] == f"time: {clock[-1] - time[-1]:.4g} s of lost rows put back"


def test_a_command_is_drawn_straight_between_its_changes():
    """Up to the last change; where it rests for long it does so until one usual step before the next."""
    held = WAVE[np.arange(400) // 4 * 4]
    mended = mend.interpolate_command(log(WAVE, position_target=held))
    knots = np.arange(0, 400, 4)
    assert mended["position_target"][:397] == pytest.approx(np.interp(T[:397], T[knots], WAVE[knots]))
    assert mended["position_target"][397:] == pytest.approx(np.full(3, WAVE[396]))
    assert mended.conversions[-1] == "position_target drawn between its changes"
    resting = held.copy()
    resting[200:240] = held[200]
    after = mend.interpolate_command(log(WAVE, position_target=resting))["position_target"]
    assert after[200:237] == pytest.approx(np.full(37, held[200]))
    assert after[236:241] == pytest.approx(np.linspace(held[200], resting[240], 5))


@pytest.mark.parametrize(("n", "rests"), [(6, False), (8, True)])
def test_a_command_rests_where_a_step_is_more_than_half_as_long_again(n, rests):
    """Steps of four samples, one of them of six or eight."""
    held = WAVE[np.arange(400) // 4 * 4]
    held[100 : 100 + n] = held[100]
    after = mend.interpolate_command(log(WAVE, position_target=held))["position_target"]
    straight = np.linspace(held[100], held[100 + n], n + 1)
    late = np.r_[np.full(n - 4, held[100]), np.linspace(held[100], held[100 + n], 5)]
    assert after[100 : 101 + n] == pytest.approx(late if rests else straight)
