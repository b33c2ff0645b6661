"""Intervals that allow for what the model gets wrong: delays before their cause, directions, sides and parts
of steps that disagree, a weight that only a fast test tells from friction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from backemf.kits.frc.characterize import characterize
from backemf.kits.frc.trials import TESTS, make_run

from .test_characterize import codes, record, recorded

TRUTH = (0.3, 2.0, 0.2)
ELEVATOR = (0.5, 0.0, 0.0)


def how(seed=0, **more):
    return {
        "slow": 1.0,
        "T": 4.0,
        "dt": 0.02,
        "noise": (0.02, 0.002),
        "rng": np.random.default_rng(seed),
    } | more


def told(measured, code):
    return next((f for f in measured.findings if f.code == code), None)


def holds(measured, **truth):
    return {
        name: measured.gains[name].low <= value <= measured.gains[name].high for name, value in truth.items()
    }


def test_what_is_right_is_left_alone():
    """No finding, and intervals as narrow as noise makes them."""
    for seed in range(3):
        measured = characterize(recorded(TRUTH, **how(seed)))
        assert not measured.findings
        assert measured.gains["kV"].high - measured.gains["kV"].low < 0.005
        assert measured.delay >= 0.0


@pytest.mark.parametrize("late", [0.02, 0.04])
def test_motion_before_its_cause_is_told_and_the_delay_is_not_negative(late):
    """The input is stamped late, as where a logger stamps a batch with its end."""
    runs = [replace(r, time=r.time + late) for r in recorded(TRUTH, **how())]
    measured = characterize(runs)
    assert measured.delay == 0.0
    assert measured.position_delay == 0.0
    said = told(measured, "effect_before_cause")
    assert said.numbers["lead"] == pytest.approx(late, abs=2e-3)
    assert "ms before the input that causes it" in said.text
    assert said.numbers["lead"] == pytest.approx(late, abs=1e-3)  # a quarter of a period is not known
    assert holds(measured, kS=TRUTH[0], kV=TRUTH[1], kA=TRUTH[2]) == {"kS": True, "kV": True, "kA": True}
    assert measured["kA"] < 0.9 * TRUTH[2]  # what the interval has to allow for


def test_directions_that_disagree_are_told_and_the_interval_holds_both():
    one, other = recorded(TRUTH, **how()), recorded((0.3, 2.2, 0.2), **how(1))
    measured = characterize([one[0], other[1], one[2], other[3]])
    said = told(measured, "directions_disagree")
    assert said.numbers["kV_0"] == pytest.approx(2.0, rel=5e-3)
    assert said.numbers["kV_1"] == pytest.approx(2.2, rel=5e-3)
    assert said.text.startswith("kV is 2")
    assert "forward and 2.19" in said.text
    assert said.text.endswith("in reverse [V/(rad/s)]. The intervals hold both.")
    assert measured.gains["kV"].low < 2.0
    assert measured.gains["kV"].high > 2.2
    assert "unexplained" not in codes(measured)  # its cause is named


def test_sides_that_disagree():
    kV = {"left": 2.0, "right": 2.3}
    runs = [make_run(t, *record(t, (0.3, kV[s], 0.2), **how()), part=s) for t in TESTS for s in kV]
    measured = characterize(runs, "drivetrain")
    said = told(measured, "sides_disagree")
    assert "left and 2.29" in said.text
    assert measured.gains["kV"].low < 2.0 < 2.3 < measured.gains["kV"].high


@pytest.mark.parametrize("seed", range(3))
def test_beginnings_of_steps_that_say_something_else(seed):
    """The battery gives way by 10 % and recovers, and what is logged is off by as much: kA is another one by
    the beginning of the steps than by the rest of them, and the interval holds both."""
    runs = recorded(TRUTH, **how(seed))
    runs = [r if r.slow else replace(r, input=r.input * (1 - 0.1 * np.exp(-r.time / 0.3))) for r in runs]
    measured = characterize(runs)
    assert "by the beginning of the steps and" in told(measured, "model_error").text
    ratio = measured.gains["kA"].high / measured.gains["kA"].low
    assert ratio > 1.3
    narrow = characterize(recorded(TRUTH, **how(seed))).gains["kA"]
    assert narrow.high / narrow.low < 1.05


def test_a_ramp_alone_speaks_of_no_fast_test():
    """It sinks a little before the ramp lifts it: that alone tells its friction from its weight."""
    sinks = {"dt": 0.01, "T": 6.0, "slow": 0.5, "noise": (2e-3, 2e-4), "rng": np.random.default_rng(0)}
    run = make_run(TESTS[0], *record(TESTS[0], (0.15, 8.0, 0.25), (0.35, 0.0, 0.0), **sinks))
    said = told(characterize([run], "elevator"), "rests_on_model")
    assert said.text == (
        "kS and kG are told apart only by how it moves the other way before the ramp takes it along."
    )
    assert said.remedy == "add quasistatic-reverse"


@pytest.mark.parametrize("sag", [1.0, 0.96])
def test_a_weight_that_only_a_fast_test_tells_from_friction(sag):
    """One slow test up, one fast test down, whose voltage is 4 % less than logged: kS is off by half of
    0.3 V, and nothing in the residuals shows it."""
    runs = recorded(TRUTH, ELEVATOR, (TESTS[0], TESTS[3]), **how())
    runs = [r if r.slow else replace(r, input=r.input / sag) for r in runs]
    measured = characterize(runs, "elevator")
    assert measured["kS"] == pytest.approx(0.3 + 0.5 * 7.0 * (1 / sag - 1), abs=0.01)
    assert measured.r2 > 0.99
    assert holds(measured, kS=0.3, kG=0.5) == {"kS": True, "kG": True}
    said = told(measured, "rests_on_model")
    assert said.remedy == "add quasistatic-reverse"
    assert "comparing slow tests one way with fast ones the other way" in said.text
    all_ = characterize(recorded(TRUTH, ELEVATOR, **how()), "elevator")
    assert "rests_on_model" not in codes(all_)
    assert all_.gains["kS"].high - all_.gains["kS"].low < 0.015


def test_what_no_gains_explain_widens_every_interval():
    """An input that sways by 0.25 V beside what moves it, in tests of one direction."""
    runs = recorded(TRUTH, tests=(TESTS[0], TESTS[2]), **how())
    bent = [replace(r, input=r.input + 0.25 * np.sin(2.5 * r.time)) for r in runs]
    plain, odd = characterize(runs), characterize(bent)
    assert told(plain, "unexplained") is None
    # a sine of 0.25 V has an effective value of 0.18 V
    assert told(odd, "unexplained").numbers["input"] == pytest.approx(0.18, rel=0.2)
    for name in ("kS", "kV"):
        wide, narrow = (m.gains[name].high - m.gains[name].low for m in (odd, plain))
        assert wide > 5 * narrow


@pytest.mark.parametrize("crossed", [False, True])
def test_a_motor_that_turns_against_its_partner_is_turned_round(crossed):
    """Mounted the other way round (input and motion mirrored), or only its sensor wired so: without that the
    weight of an elevator cancels."""
    gains, weight = (0.25, 9.0, 0.35), (0.6, 0.0, 0.0)
    runs = []
    for test in TESTS:
        t, u, p, v = record(test, gains, weight, dt=0.02, T=3.0, slow=1.0, step=5.0)
        runs.append(replace(make_run(test, t, u, p, v), name=f"{test} left (log 1)"))
        other = (t, u if crossed else -u, -p, -v)
        runs.append(replace(make_run(test, *other), name=f"{test} right (log 1)"))
    measured = characterize(runs, "elevator", units="meters")
    said = {f.code: f.text for f in measured.findings}
    assert said["inverted"].startswith("of right ")
    assert ("input" in said["inverted"]) is not crossed
    assert "test_direction" not in said
    for name, truth in zip(("kS", "kV", "kA", "kG"), (*gains, weight[0]), strict=True):
        assert measured[name] == pytest.approx(truth, rel=0.02)
