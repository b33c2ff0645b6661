"""Each finding of a mechanism's recordings on a made-up one: on either side of the bound that it has."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from backemf.kits.frc.characterization import FeedforwardGain
from backemf.kits.frc.gain_fit import MechanismFit
from backemf.kits.frc.mechanism_findings import (
    fit_findings,
    gain_findings,
    mend_runs,
    missing_test,
    motion_findings,
    recording_findings,
)
from backemf.kits.frc.trials import make_run, segment

from .test_errors import FIT

T = np.arange(0.0, 1.0, 0.01)
FORWARD, REVERSE = "quasistatic-forward", "quasistatic-reverse"


def ramp(test=FORWARD, size=1.0, t=T, **more):
    """Twice as fast as its input, from rest."""
    return make_run(test, t, size * t, size * t**2, 2 * size * t, **more)


def step(test="dynamic-forward", size=4.0, t=T, **more):
    v = size * (1 - np.exp(-t / 0.1))
    return make_run(test, t, np.where(t > 0, size, 0.0), size * t - 0.1 * v, v, **more)


def told(findings, code):
    return next((f for f in findings if f.code == code), None)


UNITS = {
    # turn = 2 pi rad = 360 deg, minute = 60 s, foot = 0.3048 m, inch = 25.4 mm
    6.2832: "radians against rotations",
    360.0: "degrees against rotations",
    57.296: "degrees against radians",
    60.0: "one is per minute, the other per second",
    9.5493: "radians per second against rotations per minute",
    1000.0: "milli",
    3.2808: "feet against metres",
    39.370: "inches against metres",
    100.0: "centi",
    10.0: "one is per 100 ms",
}


@pytest.mark.parametrize("turned", [1, -1])
@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("ratio", UNITS)
def test_a_mix_up_of_units_is_named_whichever_of_the_two_it_is(ratio, up, turned):
    factor = turned * (ratio if up else 1 / ratio)
    runs, findings = mend_runs([replace(r, position=factor * r.position) for r in (ramp(), step())])
    said = told(findings, "units_disagree")
    assert f"as {UNITS[ratio]} would give" in said.text
    # position over the integral of velocity by trapezia, which are off by a few 1e-4 of these
    assert said.numbers["ratio"] == pytest.approx(factor, rel=2e-3)
    inverted = told(findings, "position_inverted")
    assert (inverted is not None) == (turned < 0)
    assert inverted is None or inverted.text.startswith("position falls while velocity is positive")
    assert runs[0].position == pytest.approx(ramp().position, rel=2e-3)


@pytest.mark.parametrize(
    ("factor", "said"), [(1.0, False), (1.1, False), (0.9, False), (1.2, True), (0.8, True)]
)
def test_position_and_velocity_may_differ_by_15_percent(factor, said):
    runs, findings = mend_runs([replace(ramp(), position=factor * ramp().position)])
    assert [f.code for f in findings] == (["units_disagree"] if said else [])
    assert all("would give" not in f.text for f in findings)
    assert runs[0].position == pytest.approx((1.0 if said else factor) * T**2, rel=2e-3)


def test_an_arm_that_only_shakes_says_nothing_of_its_units():
    """Without a way to compare, a position in another unit is left as it is."""
    shaken = 1 + 0 * T
    # there and back: a way of a tenth of what was travelled
    back = make_run(FORWARD, T, shaken, 100 * T, np.cos(2 * np.pi * T) + 0.05)
    still = make_run(FORWARD, T, shaken, 0 * T, 2 * T)
    few = make_run(FORWARD, T[:9], shaken[:9], 100 * T[:9], 2 * T[:9])
    for run in (back, still, few):
        runs, findings = mend_runs([run])
        assert not findings
        assert runs[0].position == pytest.approx(run.position)
    ten = make_run(FORWARD, T[:10], shaken[:10], 100 * T[:10], 1 + 2 * T[:10])
    assert told(mend_runs([ten])[1], "units_disagree") is not None


@pytest.mark.parametrize(("speed", "said"), [(1.1, False), (1.3, True)])
def test_a_way_counts_where_it_is_more_than_three_scatters_of_its_noise(speed, said):
    """Samples that go up and down by 1 have second differences of 4; of 100 in a second the way is unsure by
    4 * sqrt(100) * 0.01 = 0.4, and they themselves cancel."""
    v = speed + np.where(np.arange(len(T)) % 2, 1.0, -1.0)
    run = make_run(FORWARD, T, 1 + 0 * T, 100 * T, v)
    assert (told(mend_runs([run])[1], "units_disagree") is not None) == said


@pytest.mark.parametrize(("ratio", "said"), [(63.5, True), (69.7, False)])
def test_a_mix_up_of_units_is_named_within_a_tenth(ratio, said):
    (only,) = mend_runs([replace(ramp(), position=3.0 + ratio * ramp().position)])[1]
    assert ("as one is per minute, the other per second would give" in only.text) == said
    assert ("would give" in only.text) == said
    assert only.numbers["ratio"] == pytest.approx(ratio, rel=2e-3)


@pytest.mark.parametrize("share", [0.2, 0.4])
def test_a_way_counts_from_0_3_of_what_was_travelled(share):
    """A cosine about c travels 2 / pi of its height there and back, and c as a way."""
    c = share * 2 / math.pi
    v = np.cos(2 * np.pi * T) + c
    run = make_run(FORWARD, T, 1 + 0 * T, 100 * (c * T), v)
    assert (told(mend_runs([run])[1], "units_disagree") is not None) == (share > 0.3)


def test_signs_that_disagree():
    good = [ramp(), ramp(REVERSE, -1.0)]
    assert not mend_runs(good)[1]
    turned = [replace(r, velocity=-r.velocity, position=-r.position) for r in good]
    runs, findings = mend_runs(turned)
    assert [f.code for f in findings] == ["inverted"]
    assert findings[0].text.startswith("a positive input gives a negative velocity")
    assert runs[0].velocity == pytest.approx(good[0].velocity)
    assert runs[1].position == pytest.approx(good[1].position)
    swapped = [replace(good[0], test=REVERSE), replace(good[1], test=FORWARD)]
    (only,) = mend_runs(swapped)[1]
    assert (only.code, only.text[:40]) == ("test_direction", f"{REVERSE}, {FORWARD}"[:40])


@pytest.mark.parametrize(("share", "said"), [(-0.04, False), (-0.06, True)])
@pytest.mark.parametrize("size", [0.2, 5.0])
@pytest.mark.parametrize(("test", "way"), [(FORWARD, 1), (REVERSE, -1)])
def test_a_bit_of_the_other_sign_is_no_other_direction(test, way, size, share, said):
    """A mean against the test of less than 5 % of the largest input."""
    u = way * size * np.where(T < 0.5, 1 + 2 * share, -1.0)
    findings = mend_runs([make_run(test, T, u, 0 * T, 0 * T)])[1]
    assert (told(findings, "test_direction") is not None) == said


@pytest.mark.parametrize("share", [-0.2, -0.4])
def test_inverted_is_what_correlates_by_less_than_minus_0_3(share):
    """A cosine and a sine are independent: velocity has `share` of the input in it."""
    t = np.arange(0.0, 10.0, 0.01)
    u, other = np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)
    run = make_run(FORWARD, t, u + 0.001, None, share * u + math.sqrt(1 - share**2) * other)
    assert (told(mend_runs([run])[1], "inverted") is not None) == (share < -0.3)


def shortened(n, dt):
    s = segment(ramp())
    t = 5.0 + dt * np.arange(n)
    return replace(s, velocity_time=t, velocity=t)


def recording(*segments, runs=(), idle=(), mechanism="simple"):
    return list(recording_findings(runs, segments, idle, mechanism))


@pytest.mark.parametrize(
    ("n", "dt", "said"), [(40, 0.01, False), (40, 0.005, True), (25, 0.02, True), (31, 0.0101, False)]
)
def test_less_than_0_3_s_or_30_samples_are_short(n, dt, said):
    short = told(recording(shortened(n, dt)), "too_short")
    assert (short is not None) == said
    if short:
        assert short.text == f"{FORWARD}: only {(n - 1) * dt:.2g} s of motion in {n} samples."


def test_runs_that_hardly_move_are_named_with_the_largest_input():
    idle = [ramp(size=0.1), replace(ramp(REVERSE, -0.3), name="the other")]
    text = told(recording(idle=idle), "too_little_motion").text
    assert text == f"{FORWARD}, the other: too little motion to use; the input reached 0.297."
    assert not recording()


def test_a_stop_is_told_by_its_time_since_the_run_began():
    s = segment(ramp(t=5.0 + T))
    stop = told(recording(replace(s, stopped=5.6)), "hard_stop")
    assert "at 0.6 s" in stop.text
    assert stop.numbers["time"] == 5.6
    assert told(recording(s), "hard_stop") is None


def test_repeats_are_told_where_they_are_more_than_three_in_ten():
    s = segment(ramp())
    stale = [replace(s, stale=share) for share in (0.2, 0.4, 0.6)]
    assert told(recording(*stale), "repeated_samples").numbers["share"] == pytest.approx(50.0)
    assert told(recording(stale[0]), "repeated_samples") is None


@pytest.mark.parametrize(("travel", "said"), [(30.0, False), (50.0, True)])
def test_an_arm_that_turns_many_times_is_suspect(travel, said):
    s = segment(ramp())
    far = replace(s, position=travel * (s.position - s.position[0]) / np.ptp(s.position))
    suspect = told(recording(far, mechanism="arm"), "units_suspect")
    assert (suspect is not None) == said
    if suspect:
        assert suspect.text == "the arm travels 50 rad, 8 turns."
    assert told(recording(far), "units_suspect") is None
    bare = replace(s, position=s.position[:0])
    assert told(recording(bare, mechanism="arm"), "position_missing") is not None
    assert told(recording(bare, far, mechanism="arm"), "position_missing") is None


def test_a_low_supply_is_told_with_the_lowest():
    runs = [
        ramp(supply=[12.0, 6.9]),
        step(supply=[12.0, 6.5, 7.0]),
        step("dynamic-reverse", -4.0, supply=[6.7]),
    ]
    low = told(recording(runs=runs), "brown_out")
    assert (low.numbers["supply"], low.text.partition(":")[0]) == (6.5, "dynamic-forward")
    assert told(recording(runs=runs[:1]), "brown_out") is None


@pytest.mark.parametrize(("left", "said"), [(0.9, False), (0.8, True)])
def test_an_input_that_sags_by_15_percent_is_a_supply_that_gives_way(left, said):
    run = step()
    run = replace(run, input=np.where((T > 0.1) & (T < 0.3), left * run.input, run.input))
    sag = told(recording(runs=[ramp(), run]), "brown_out")
    assert (sag is not None) == said
    if sag:
        assert (sag.numbers["usual"], sag.numbers["least"]) == (4.0, pytest.approx(3.2))
    # a ramp may rise, and nine samples are no step
    few = make_run("dynamic-forward", T[:10], run.input[25:35] * (T[:10] > 0), T[:10], T[:10])
    assert told(recording(runs=[replace(run, test=FORWARD), few]), "brown_out") is None


def gain(value, low=None, high=None, unit="V"):
    return FeedforwardGain(value=value, low=low, high=high, unit=unit)


def test_delays_are_told_from_30_ms_on():
    slow, fast = segment(ramp()), segment(step())
    none = {name: gain(None) for name in ("kS", "kV", "kA")}
    assert not list(motion_findings([slow, fast], none, 0.02, None, 1.0))
    (assumed,) = motion_findings([slow], none, 0.02, None, 1.0)
    assert (assumed.code, "0 +- " in assumed.text) == ("delay_assumed", True)
    (late,) = motion_findings([slow, fast], none, 0.04, 0.02, 1.0)
    assert late.text == (
        "measured velocity lags 40 ms behind the input, of which a mean over 20 ms is one half."
    )
    assert late.numbers["delay"] == 0.04
    (late,) = motion_findings([slow, fast], none, 0.04, None, 1.0)
    assert late.text == "measured velocity lags 40 ms behind the input."


def test_gains_that_no_mechanism_has():
    gains = {
        "kS": gain(-0.1, -0.2, 0.1),
        "kV": gain(-0.1, -0.2, -0.05),
        "kA": gain(-0.3),
        "kG": gain(-0.3),
        "offset": gain(None),
    }
    findings = list(gain_findings(gains, "arm", [ramp()]))
    assert [(f.code, f.text.partition(" ")[0]) for f in findings] == [
        ("negative_gain", "kV"),
        ("negative_gain", "kA"),
        ("not_determined", "offset"),
    ]
    assert "the default method is more robust" not in findings[0].remedy
    assert "the default method is more robust" in findings[1].remedy
    assert findings[0].numbers == {"kV": -0.1}
    assert not list(gain_findings({"kS": gain(0.2), "kG": gain(-0.2)}, "elevator", [ramp()]))


@pytest.mark.parametrize(
    ("wanted", "mechanism", "tests", "missing"),
    [
        ("kS", "simple", "df", "quasistatic-forward"),
        ("kS", "elevator", "df", "quasistatic-reverse"),
        ("kS", "elevator", "dr", "quasistatic-forward"),
        ("kS", "elevator", "df dr", "quasistatic-forward"),
        ("kG", "elevator", "qf df", "quasistatic-reverse"),
        ("kG", "elevator", "qr dr", "quasistatic-forward"),
        ("kV", "simple", "qf", "dynamic-forward"),
        ("kA", "simple", "qf qr", "dynamic-forward"),
        ("kA", "arm", "qf qr", "dynamic-forward over a wide range of angles"),
        ("kA", "arm", "qf qr df", "dynamic-reverse over a wide range of angles"),
        ("kG", "arm", "qf qr df", "dynamic-reverse over a wide range of angles"),
        ("kA", "simple", "qf qr df", "a longer quasistatic test, recorded with less noise"),
    ],
)
def test_the_test_that_would_determine_a_gain(wanted, mechanism, tests, missing):
    names = {"qf": FORWARD, "qr": REVERSE, "df": "dynamic-forward", "dr": "dynamic-reverse"}
    runs = [replace(ramp(), test=names[word]) for word in tests.split()]
    assert missing_test(wanted, mechanism, runs) == missing


def sure(value):
    return (value, None if value is None else value - 0.1, None if value is None else value + 0.1)


SIDES, EARLY = "sides_disagree", "effect_before_cause"


@pytest.mark.parametrize(
    ("early", "left", "kV", "code"),
    [(0.008, 0.035, None, None), (0.012, 0.0, None, EARLY), (0.0, 0.045, None, "unexplained"),
     (0.012, 0.045, None, EARLY), (0.0, 0.0, (2.0, 2.05), None), (0.0, 0.0, (2.0, 2.08), SIDES),
     (0.0, 0.045, (-2.0, -2.08), SIDES), (0.0, 0.0, (2.0, None), None)],
)  # fmt: skip
def test_what_a_fit_shows_is_told_from_a_bound_on(early, left, kV, code):
    """10 ms before its cause, 1 % of the largest input where no cause is known, 3 % of the larger gain."""
    parts = {} if kV is None else {"sides": {"kV": (*map(sure, kV), "V s/rad")}}
    own = {"names": ("kS", "kV", "kA"), "values": np.ones(3), "covariance": np.eye(3)}
    fit = MechanismFit(**FIT | own | {"early": early, "unexplained": left})
    segments = [segment(ramp()), segment(step())]
    found = [(f.code, f.numbers) for f in fit_findings(fit, parts, {"kS": sure(0.5)}, segments)]
    numbers = {EARLY: {"lead": 0.012}, "unexplained": {"input": 0.045}}
    told = numbers.get(code) or dict(zip(("kV_0", "kV_1"), kV or (), strict=False))
    assert found == ([] if code is None else [(code, told)])
