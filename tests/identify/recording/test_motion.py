"""What limits a recording: its clock, its encoder, its supply, and too little motion; beside each bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.identify.inspect.signals import (
    clock_findings,
    coverage,
    encoder_findings,
    motion_findings,
    reversals,
    supply_findings,
    temperature_findings,
)

from .hand_made import codes, log

T = 0.01 * np.arange(400)
WAVE = np.sin(2 * np.pi * 0.7 * T)


def clocked(*steps: float) -> be.Log:
    time = np.concatenate([[0.0], np.cumsum(steps)])
    return be.log("run", time, position=time)


def test_gaps_are_steps_of_two_and_a_half():
    even = [0.01] * 50
    assert codes(clock_findings(clocked(*even, 0.0249, *even))) == []
    (f,) = clock_findings(clocked(*even, 0.03, *even, 0.05, *even))
    assert (f.code, f.numbers) == ("gaps", {"gaps": 2.0, "longest": pytest.approx(0.05)})
    assert "2 gaps in time, the longest 0.05 s against a step of 0.01 s; 0.06 s are missing." in f.text
    assert "more than 5 steps" in f.remedy


@pytest.mark.parametrize(("off", "said"), [(0.0024, []), (0.0026, ["jitter"])])
def test_jitter_is_a_quarter_of_a_step_for_half_of_them(off, said):
    findings = list(clock_findings(clocked(*[0.01, 0.01 + off, 0.01, 0.01 - off] * 25, 0.01 + off)))
    assert codes(findings) == said
    for f in findings:
        assert f.numbers["jitter"] == pytest.approx(off / 0.01, rel=0.01)


def counted(grain: float, span: float) -> be.Log:
    """Whole steps of an encoder, from a zero that is none of them."""
    n = round(span / grain)
    return log(0.3 * grain + grain * np.round(0.5 * n * (1 + WAVE)))


ENCODERS = {
    # encoder step, travel: whether it is too coarse
    "fine": (1e-3, 0.4, False),
    "just fine enough": (1.9e-3, 0.4, False),
    "coarse": (2.1e-3, 0.4, True),
    "coarse, but it goes far": (4e-3, 2.1, False),
    "coarse, and not far enough": (4e-3, 1.9, True),
}


@pytest.mark.parametrize("row", ENCODERS)
def test_an_encoder_of_too_few_counts(row):
    grain, span, coarse = ENCODERS[row]
    findings = list(encoder_findings(counted(grain, span)))
    assert codes(findings) == (["coarse_encoder"] if coarse else [])
    for f in findings:
        assert f.numbers == pytest.approx({"grain": grain, "counts": round(span / grain)}, rel=0.02)


def test_what_is_no_encoder():
    assert codes(encoder_findings(log(0.3 * WAVE))) == []
    assert codes(encoder_findings(log(0 * WAVE))) == []
    torn = counted(5e-3, 0.4)["position"].copy()
    torn[50:60] = np.nan
    assert codes(encoder_findings(log(torn))) == ["coarse_encoder"]
    # single samples off its steps, where it rests: one in a hundred, and one in thirty
    resting = np.flatnonzero((np.diff(torn)[1:] == 0) & (np.diff(torn)[:-1] == 0))[::2] + 1
    for n, said in ((4, ["coarse_encoder"]), (13, [])):
        off = torn.copy()
        off[resting[:n]] += 0.0075
        assert codes(encoder_findings(log(off))) == said


@pytest.mark.parametrize(("span", "said"), [(0.0199, ["no_motion"]), (0.0201, [])])
def test_motion_is_twenty_times_its_noise(span, said):
    """Alternating by a either way has fourth differences of 16 a; of a normal noise the 80th percentile of
    theirs is 1.2816 sqrt(70) times its standard deviation."""
    a = 1e-3 * 1.2816 * np.sqrt(70.0) / 16
    position = a * np.tile([1.0, -1.0], 200) + (span - 2 * a) * (np.arange(400) >= 200)
    findings = list(motion_findings(log(position)))
    assert codes(findings) == said
    for f in findings:
        assert f.numbers["span"] == pytest.approx(span)


TURNS = {
    "one way": (T, 0),
    "back and forth": (WAVE, 6),
    "small wiggles do not count": (T + 0.005 * WAVE, 0),
    "backwards first": (-WAVE, 6),
    "a hundredth of the motion counts": (
        np.r_[np.linspace(0, 1, 100), np.linspace(1, 0.985, 20), np.linspace(0.985, 1.2, 50)],
        2,
    ),
    "less does not": (
        np.r_[np.linspace(0, 1, 100), np.linspace(1, 0.992, 20), np.linspace(0.992, 1.2, 50)],
        0,
    ),
    "it rests": (0 * T, 0),
}


@pytest.mark.parametrize("row", TURNS)
def test_how_often_a_motion_turns(row):
    position, n = TURNS[row]
    assert reversals(log(position)) == n
    assert reversals(log(-position)) == n


def test_wiggles_within_ten_times_the_noise_are_no_turns():
    rng = np.random.default_rng(0)
    assert reversals(log(0.05 * T + 1e-3 * rng.standard_normal(400))) == 0
    assert reversals(log(0.05 * WAVE + 1e-3 * rng.standard_normal(400))) == 5  # the sixth has only begun


@pytest.mark.parametrize(("low", "said"), [(6.4, []), (6.2, ["supply_sag"])])
def test_a_supply_that_sags_by_more_than_a_seventh(low, said):
    volts = np.full(400, 7.4)
    volts[:8] = low
    findings = list(supply_findings(log(WAVE, supply=volts)))
    assert codes(findings) == said
    for f in findings:
        assert f.numbers == {"low": pytest.approx(low), "typical": pytest.approx(7.4)}
    volts[2:8] = 7.4  # one sample in two hundred
    assert codes(supply_findings(log(WAVE, supply=volts))) == []
    assert codes(supply_findings(log(WAVE))) == []


@pytest.mark.parametrize(("drift", "said"), [(14.9, []), (15.1, ["temperature_drift"])])
def test_a_motor_that_warms(drift, said):
    """Copper's resistance grows by 0.39 % a kelvin."""
    warm = 20.0 + drift * T / T[-1]
    warm[5] = np.nan
    findings = list(temperature_findings(log(WAVE, temperature=warm)))
    assert codes(findings) == said
    for f in findings:
        assert f.numbers["drift"] == pytest.approx(drift)
        assert "by about 6 %" in f.text
    assert codes(temperature_findings(log(WAVE))) == []


ARM, OTHER = be.bench.Pendulum(mass=0.3, length=0.1), be.bench.Pendulum(mass=0.5, length=0.1)
LOADS = {
    # logs: what they lack together
    "one load": ([log(WAVE, bench=ARM), log(WAVE, bench=ARM)], ["one_load"]),
    "two loads": ([log(WAVE, bench=ARM), log(WAVE, bench=OTHER)], []),
    "one without an arm": ([log(WAVE, bench=ARM), log(WAVE, bench=be.bench.FreeShaft())], []),
    "one without a bench": ([log(WAVE, bench=ARM), log(WAVE)], []),
    "none turns": ([log(T, bench=ARM), log(2 * T, bench=OTHER)], ["no_reversal"]),
    "one of them turns": ([log(T, bench=ARM), log(WAVE, bench=OTHER)], []),
    "nothing at all": ([log(T, bench=ARM)], ["no_reversal", "one_load"]),
    "nothing moves": ([be.log("x", T, position_target=T)], []),
}


@pytest.mark.parametrize("row", LOADS)
def test_what_logs_show_together(row):
    logs, said = LOADS[row]
    findings = list(coverage(logs))
    assert codes(findings) == said
    for f in findings:
        if f.code == "one_load":
            assert f.numbers["moment"] == pytest.approx(0.3 * be.bench.GRAVITY * 0.1, abs=1e-4)


def test_loads_that_are_nearly_the_same_are_one():
    heavier = replace(ARM, mass=0.3 + 1e-5)
    assert codes(coverage([log(WAVE, bench=ARM), log(WAVE, bench=heavier)])) == ["one_load"]
