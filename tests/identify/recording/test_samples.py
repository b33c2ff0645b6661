"""Samples that are wrong one by one, made by hand: which are seen, which are motion, and what is said."""

from __future__ import annotations

import numpy as np
import pytest

from backemf.identify.inspect.remedies import with_lost_counts
from backemf.identify.inspect.samples import (
    _all_of,
    _return,
    counter_findings,
    counter_jumps,
    odd_findings,
    odd_ones,
    repeat_findings,
    repeated_samples,
    wrap_findings,
    wraps,
)

from .hand_made import STEP, codes, log, moving, track, wavy

SLOPE = 0.01 * np.arange(60.0)


def with_samples(values: np.ndarray, changes: dict[int, float]) -> np.ndarray:
    values = values.copy()
    for place, value in changes.items():
        values[place] = value
    return values


def off(*places: int, by: float = 1.0, base: np.ndarray = SLOPE) -> np.ndarray:
    return with_samples(base, {k: base[k] + by for k in places})


# one sample, or several of one value, between k and the return to the motion


RETURNS = {
    # the samples 0, 1, 2, ... of a slow slope with changes behind sample 5, how far is far: where it goes on
    "one sample": ({6: 1.0}, 0.5, 7),
    "one sample down": ({6: -1.0}, 0.5, 7),
    "three of one value": ({6: 1.0, 7: 1.0, 8: 1.0}, 0.5, 9),
    "two of different values": ({6: 1.0, 7: 1.1}, 0.5, None),
    "not far enough": ({6: 1.0}, 1.1, None),
    "far enough only on the way out": ({6: 1.0, **{k: 0.55 for k in range(7, 20)}}, 0.5, None),
    "a step that stays": ({k: 1.0 for k in range(6, 60)}, 0.5, None),
    "on and on": ({6: 1.0, **{k: 2.0 for k in range(7, 60)}}, 0.5, None),
    # it comes back to within 0.4 of the jump
    "back to nearly where it was": ({6: 1.0, **{k: 0.25 for k in range(7, 60)}}, 0.2, 7),
    "back to elsewhere": ({6: 1.0, **{k: 0.35 for k in range(7, 60)}}, 0.2, None),
    # it jumps five times as sharply as the motion around it goes
    "as sharp as the motion before or after": ({4: 0.3, 6: 1.0, 8: -0.3}, 0.5, None),
    "sharp against the one after": ({4: 0.3, 6: 1.0}, 0.5, 7),
}


@pytest.mark.parametrize("row", RETURNS)
def test_where_an_interrupted_motion_goes_on(row):
    changes, far, end = RETURNS[row]
    q = with_samples(0.001 * np.arange(60.0), changes)
    assert _return(q, 5, far) == end


@pytest.mark.parametrize(("around", "end"), [(0.19, 7), (0.21, None)])
def test_a_jump_is_five_times_as_sharp_as_the_gentler_of_its_neighbours(around, end):
    """Back to where it was, from 3 on: its neighbours go by so much, one of them by more."""
    q = np.full(12, 3.0)
    q[4], q[6], q[8] = 3.0 - around, 4.0, 3.0 + 1.5 * around
    assert _return(q, 5, 0.5) == end
    q[4], q[8] = 3.0 - 1.5 * around, 3.0 + around
    assert _return(q, 5, 0.5) == end


def test_a_rest_is_no_interruption():
    """Twenty samples of one value may be a dropout; one more is a rest."""
    q = 0.001 * np.arange(60.0)
    for n, end in ((20, 26), (21, None)):
        assert _return(with_samples(q, dict.fromkeys(range(6, 6 + n), 1.0)), 5, 0.5) == end


def test_nothing_is_said_at_the_very_ends():
    q = 0.001 * np.arange(10.0)
    assert _return(with_samples(q, {1: 1.0}), 0, 0.5) is None  # nothing before it to compare with
    assert _return(with_samples(q, {2: 1.0}), 1, 0.5) == 3
    assert _return(with_samples(q, {7: 1.0}), 6, 0.5) == 8
    assert _return(with_samples(q, {8: 1.0}), 7, 0.5) is None
    assert _return(with_samples(q, {8: 1.0, 9: 1.0}), 7, 0.5) is None


def test_all_samples_of_one_value_where_the_others_are_far_from_it():
    q = with_samples(SLOPE + 1.0, {k: 0.0 for k in (10, 11, 30, 59)})
    assert _all_of(q, 0.0, np.full(60, 0.5)).tolist() == [10, 11, 30, 59]
    assert _all_of(q, 0.0, np.full(60, 1.2)).tolist() == [30, 59]  # there the motion is at 1.3 and 1.58
    assert _all_of(np.zeros(60), 0.0, np.full(60, 0.5)).tolist() == []
    crossing = with_samples(SLOPE - 0.3, {10: 0.0})  # it passes 0 by itself at sample 30
    assert _all_of(crossing, 0.0, np.full(60, 0.1)).tolist() == [10]
    for n, seen in ((20, True), (21, False)):  # so many in a row are a rest
        resting = with_samples(SLOPE + 1.0, dict.fromkeys(range(20, 20 + n), 0.0))
        assert bool(len(_all_of(resting, 0.0, np.full(60, 0.5)))) is seen


ODD = {
    # a slope of 0.01 a sample, with changes: dropouts, what they are, spikes
    "nothing": (SLOPE, [], 0.0, []),
    "a spike": (off(20), [], 0.0, [20]),
    "spikes to either side": (with_samples(SLOPE, {20: 1.2, 40: -0.6}), [], 0.0, [20, 40]),
    "dropouts": (with_samples(SLOPE + 1.0, {20: 0.0, 40: 0.0}), [20, 40], 0.0, []),
    "dropouts to another constant": (
        with_samples(SLOPE, {20: -1.0, 40: -1.0, 41: -1.0}),
        [20, 40, 41],
        -1.0,
        [],
    ),
    "dropouts and a spike": (with_samples(SLOPE + 1.0, {20: 0.0, 40: 0.0, 30: 2.5}), [20, 40], 0.0, [30]),
    "two alike of seven": (
        with_samples(SLOPE, {5: 2.0, 12: 2.0, 20: 3.0, 27: -3.0, 34: 4.0, 41: -4.0, 48: 5.0}),
        [],
        0.0,
        [5, 12, 20, 27, 34, 41, 48],
    ),
    "two alike of six": (
        with_samples(SLOPE, {5: 2.0, 12: 2.0, 20: 3.0, 27: -3.0, 34: 4.0, 41: -4.0}),
        [5, 12],
        2.0,
        [20, 27, 34, 41],
    ),
    "small against the motion": (off(20, by=0.035), [], 0.0, []),
    "rests for good": (np.ones(60), [], 0.0, []),
    "too short": (off(10, base=SLOPE[:19]), [], 0.0, []),
    "just long enough": (off(10, base=SLOPE[:20]), [], 0.0, [10]),
}


@pytest.mark.parametrize("row", ODD)
def test_samples_that_jump_off_the_motion_and_back(row):
    values, dropouts, constant, spikes = ODD[row]
    seen = odd_ones(track(values, noise=0.0, grain=0.0))
    assert (seen.dropouts.tolist(), seen.constant, seen.spikes.tolist()) == (dropouts, constant, spikes)
    assert sorted(seen.all.tolist()) == sorted(dropouts + spikes)


@pytest.mark.parametrize(
    ("known", "seen"),
    [
        ({"noise": 0.082, "grain": 0.0}, True),
        ({"noise": 0.084, "grain": 0.0}, False),  # twelve times the noise
        ({"noise": 0.0, "grain": 0.32}, True),
        ({"noise": 0.0, "grain": 0.34}, False),  # three encoder steps
        ({"noise": 0.0, "grain": 0.0, "span": 19.0}, True),
        ({"noise": 0.0, "grain": 0.0, "span": 21.0}, False),  # a twentieth of the motion
    ],
)
def test_how_far_a_spike_must_be(known, seen):
    assert bool(len(odd_ones(track(off(20), **known)).spikes)) is seen


@pytest.mark.parametrize(("by", "seen"), [(0.45, False), (0.65, True)])
def test_a_spike_is_four_times_as_far_as_the_motion_goes_there(by, seen):
    """A motion of 0.1 a sample, that hardly moves just before; it comes back by 0.1 less than it went."""
    steps = np.full(59, 0.1)
    steps[28] = 0.01
    known = {"noise": 0.0, "grain": 0.0, "span": 1.0}
    assert bool(len(odd_ones(track(off(30, by=by, base=moving(steps)), **known)).spikes)) is seen
    slow = moving(0.1 * steps)
    assert len(odd_ones(track(off(30, by=by, base=slow), **known)).spikes) == 1


def test_what_is_said_of_dropouts_and_spikes():
    (zeros,) = odd_findings(log(with_samples(SLOPE + 1.0, {20: 0.0, 40: 0.0})))
    assert (zeros.code, zeros.numbers) == ("zeros", {"samples": 2, "share": 2 / 60, "at": 0.0})
    (spikes,) = odd_findings(log(off(20, 40)))
    assert (spikes.code, spikes.numbers) == ("spikes", {"samples": 2, "share": 2 / 60})
    assert "by 1.01 rad, first at 0.2 s" in spikes.text
    both = odd_findings(log(with_samples(SLOPE + 1.0, {20: 0.0, 40: 0.0, 30: 2.5})))
    assert codes(both) == ["zeros", "spikes"]
    assert list(odd_findings(log(SLOPE))) == []


def test_hardly_any_spikes_beside_many_dropouts_are_dropouts_too():
    n = 400
    base = 1.0 + 0.01 * np.arange(n)
    zeros = {k: 0.0 for k in range(20, 380, 15)}
    assert len(zeros) == 24
    for spikes, said in (((28, 58), ["zeros"]), ((28, 58, 88), ["zeros", "spikes"])):
        values = with_samples(base, zeros | {k: base[k] + 2.0 + 0.1 * k for k in spikes})
        assert codes(odd_findings(log(values))) == said


# repeats


def repeating(*runs: tuple[int, int], steps: np.ndarray | None = None, made_up: float = 1.0) -> np.ndarray:
    """A motion of even steps in which some samples repeat the one before; the step behind makes up for it."""
    values = moving(np.full(99, 0.1) if steps is None else steps)
    for place, n in runs:
        held = values[place]
        gap = values[place + n + 1] - held
        values[place + 1 : place + n + 1] = held
        values[place + n + 1 :] += (made_up - 1.0) * gap
    return values


REPEATS = {
    "one": (repeating((40, 1)), [41]),
    "three in a row": (repeating((40, 3)), [41, 42, 43]),
    "twice": (repeating((20, 1), (60, 2)), [21, 61, 62]),
    "twenty in a row": (repeating((40, 20)), list(range(41, 61))),
    "a rest of twenty-one": (repeating((40, 21)), []),
    "at the start": (repeating((0, 1)), []),
    "just behind it": (repeating((1, 1)), [2]),
    "nothing behind it": (np.r_[repeating()[:50], repeating()[49]], []),
    "the last step makes up": (repeating((97, 1)), [98]),
    "it only stopped: nothing is made up": (repeating((40, 1), made_up=0.5), []),
    "just enough is made up": (repeating((40, 1), made_up=0.65), [41]),
    "too much is": (repeating((40, 1), made_up=1.8), []),
    "hardly too much": (repeating((40, 1), made_up=1.5), [41]),
    "none": (repeating(), []),
    "backwards": (-repeating((40, 1)), [41]),
}


@pytest.mark.parametrize("row", REPEATS)
def test_samples_that_repeat_the_one_before(row):
    values, places = REPEATS[row]
    assert repeated_samples(track(values, noise=0.0, grain=0.0)).tolist() == places


@pytest.mark.parametrize(
    ("known", "seen"),
    [
        ({"noise": 0.024, "grain": 0.0}, True),
        ({"noise": 0.026, "grain": 0.0}, False),
        ({"noise": 0.0, "grain": 0.032}, True),
        ({"noise": 0.0, "grain": 0.034}, False),
    ],
)
def test_repeats_in_slow_motion_are_no_fault(known, seen):
    """It must go four times its noise a sample, or three encoder steps; over six samples to either side."""
    for sign in (1.0, -1.0):
        assert bool(len(repeated_samples(track(sign * repeating((40, 1)), **known)))) is seen


BESIDE = {
    # step before, step after the one that makes up, against the rate around: whether it is a repeat
    "even": ({}, True),
    "slower before": ({39: 0.55}, True),
    "too slow before": ({39: 0.4}, False),
    "slower after": ({42: 0.5}, True),
    "too slow after": ({42: 0.3}, False),
    "it rests after": ({42: 0.0}, True),
}


@pytest.mark.parametrize("row", BESIDE)
def test_the_motion_went_on_all_the_while(row):
    changes, seen = BESIDE[row]
    steps = np.full(99, 0.1)
    for place, factor in changes.items():
        steps[place] *= factor
    found = repeated_samples(track(repeating((40, 1), steps=steps), noise=0.0, grain=0.0)).tolist()
    assert (41 in found) is seen


@pytest.mark.parametrize(("noise", "seen"), [(0.99, True), (1.01, False)])
def test_the_rate_is_taken_over_six_samples_to_either_side(noise, seen):
    """Slow before and behind: what counts is the way from sample 34, six before the repeat, to 48, six behind
    the one that makes up for it; four times the noise a sample."""
    steps = np.r_[np.full(34, 0.03), np.full(14, 0.1), np.full(51, 0.03)]
    rate = 0.1
    values = repeating((40, 1), steps=steps)
    assert (41 in repeated_samples(track(values, noise=noise * rate / 4, grain=0.0))) is seen


def test_times_between_samples_count():
    """Steps of 10 and 30 ms in turn, at an even rate."""
    times = moving(np.tile([0.01, 0.03], 50)[:99])
    one = track(repeating((40, 1), steps=10.0 * np.diff(times)), noise=0.0, grain=0.0)
    stamped = type(one)(one.places, times, one.values)
    stamped.__dict__.update(noise=0.0, grain=0.0)
    assert repeated_samples(stamped).tolist() == [41]


SAID = {
    # repeats of 200 samples in motion: what is said
    5: "repeats",
    4: None,
    30: "repeats",
    59: "repeats",
    63: "duplicates",
}


@pytest.mark.parametrize("n", SAID)
def test_what_is_said_of_repeats(n):
    """From 5 of them, and 2.5 %; beyond 30 % the sensor is read too often."""
    places = 197 - 2 * np.arange(n)  # towards the end every other one
    values = repeating(*((int(k), 1) for k in places), steps=0.1 * wavy(199))
    findings = list(repeat_findings(log(values)))
    assert codes(findings) == ([SAID[n]] if SAID[n] else [])
    for f in findings:
        assert f.numbers["share"] == pytest.approx(n / 200)


def test_a_few_of_many_are_not_said():
    for n, said in ((190, ["repeats"]), (210, [])):
        values = repeating(*((k, 1) for k in range(20, 120, 20)), steps=0.1 * wavy(n - 1))
        assert codes(repeat_findings(log(values))) == said
    assert list(repeat_findings(log(repeating(*((k, 1) for k in range(5, 30, 4)))[:39]))) == []


# counters


def wrapped(period: float, span: float = 3.0, n: int = 300, share: float = 1.0) -> np.ndarray:
    """Back and forth over some periods on a counter that wraps."""
    t = np.linspace(0, 4 * np.pi, n)
    return (span * period * np.sin(t)) % (share * period)


@pytest.mark.parametrize("period", [2 * np.pi, 360.0, 4096.0])
def test_a_counter_that_wraps(period):
    values = wrapped(period, span=1.5, n=600)
    jumps, found = wraps(log(values))
    assert found == period
    assert jumps.tolist() == np.flatnonzero(np.abs(np.diff(values)) > 0.8 * period).tolist()
    (said,) = wrap_findings(log(values))
    assert said.numbers == {"jumps": len(jumps), "period": period}
    k = int(jumps[0])
    assert f"at {STEP * (k + 1):.3g} s, {len(jumps)} times" in said.text


NO_WRAPS = {
    "a motion within a turn": np.sin(np.linspace(0, 10, 300)),
    "a step of a whole turn that is none of a counter's": np.r_[np.zeros(50), np.full(50, 6.0)],
    "over two turns": 2 * np.pi * np.linspace(0, 2, 300),
    "a period that no counter has": wrapped(5.0, span=1.5, n=600),
    "a slow turn": np.linspace(0, 2 * np.pi, 300),
    "too few": wrapped(2 * np.pi, span=0.6, n=19),
}


@pytest.mark.parametrize("row", NO_WRAPS)
def test_what_is_no_counter(row):
    jumps, period = wraps(log(NO_WRAPS[row]))
    assert (len(jumps), period) == (0, 0.0)
    assert list(wrap_findings(log(NO_WRAPS[row]))) == []


@pytest.mark.parametrize(("n", "seen"), [(20, True), (19, False)])
def test_a_counter_needs_twenty_samples(n, seen):
    values = np.r_[np.linspace(0.02, 6.26, 10), np.linspace(0.05, 6.2, n - 10)]
    assert bool(len(wraps(log(values))[0])) is seen


@pytest.mark.parametrize(("span", "seen"), [(0.88, False), (0.92, True), (1.01, True), (1.03, False)])
def test_a_counter_stays_within_its_turn(span, seen):
    turn = 2 * np.pi
    values = np.r_[np.linspace(0.0, span * turn, 20), np.linspace(0.0, span * turn, 20)]
    assert bool(len(wraps(log(values))[0])) is seen


def test_a_fast_motion_is_no_wrap():
    """Where it goes a fifth of a turn in every sample, a jump is no more than that."""
    turn = 2 * np.pi
    for size, seen in ((0.15, True), (0.25, False)):
        values = (size * turn * np.arange(60) * 1.0001) % turn
        assert bool(len(wraps(log(values))[0])) is seen


# counts that were lost


LOST = {
    # by how much a step of 0.01 jumps, what is known of the track, other steps: whether it is seen
    "four times as far as it goes": (0.045, {}, {}, True),
    "less": (0.035, {}, {}, False),
    "twelve times the noise": (0.05, {"noise": 0.0038}, {}, True),
    "not twelve times": (0.05, {"noise": 0.0045}, {}, False),
    "six steps of the encoder": (0.05, {"grain": 0.0076}, {}, True),
    "not six steps": (0.05, {"grain": 0.009}, {}, False),
    "a hundredth of the motion": (0.05, {"span": 4.5}, {}, True),
    "not a hundredth": (0.05, {"span": 5.5}, {}, False),
    "clear of how steps differ": (0.09, {}, {29: 0.02}, True),
    "not clear of how those behind do": (0.07, {}, {31: 0.02}, False),
    "nor of those before": (0.07, {}, {28: 0.02}, False),
}


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("row", LOST)
def test_jumps_from_which_the_motion_goes_on(row, sign):
    by, known, others, seen = LOST[row]
    steps = np.full(59, 0.01)
    steps[30] += by
    for place, more in others.items():
        steps[place] += more
    one = track(sign * moving(steps), **{"noise": 0.0, "grain": 0.0, "span": 0.6, **known})
    places, sizes = counter_jumps(one)
    assert places.tolist() == ([30] if seen else [])
    assert sizes == pytest.approx([sign * by] if seen else [], abs=1e-12)
    late = type(one)(one.places, one.time + STEP * (np.arange(60) > 30), one.values)
    late.__dict__.update(one.__dict__ | {"steps": one.steps, "time": late.time})
    assert len(counter_jumps(late)[0]) == 0  # across a sample that is missing it may well go farther


@pytest.mark.parametrize(("n", "said"), [(1, True), (12, True), (13, False)])
def test_lost_counts_are_put_back(n, said):
    """Some jumps are an accident; more of them are what the motion does."""
    true = moving(0.01 * wavy(399))
    true[65] = np.nan
    places = 20 + 29 * np.arange(n)
    sizes = np.where(np.arange(n) % 2 == 0, 0.3, -0.2) - 0.1 * (np.arange(n) == n // 2)
    spoilt = log(true + np.cumsum(np.bincount(places, sizes, 400)))
    findings = list(counter_findings(spoilt))
    assert codes(findings) == (["lost_counts"] if said else [])
    for f in findings:
        assert f.numbers == {"sure": 0.0, "jumps": n, "size": pytest.approx(np.abs(sizes).max(), abs=1e-3)}
        assert f"jumps {n} times and goes on from there, first at 0.2 s" in f.text
    mended = with_lost_counts(spoilt)
    assert mended["position"] == pytest.approx(true, abs=5e-3, nan_ok=True)
    assert mended.conversions[-1] == f"position: counts put back {n} times"


@pytest.mark.parametrize(("n", "seen"), [(13, True), (12, False)])
def test_lost_counts_need_a_dozen_steps(n, seen):
    steps = np.full(n - 1, 0.01)
    steps[5] += 0.5
    assert bool(len(counter_jumps(track(moving(steps), noise=0.0, grain=0.0))[0])) is seen
