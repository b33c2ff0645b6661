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
    motions_lacking,
    reversals,
    slow_seconds,
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


def servo(target: np.ndarray, dt: float = 0.01, bench: be.bench.Bench | None = ARM) -> be.Log:
    """A joint that does what it is asked."""
    time = dt * np.arange(len(target))
    return be.log("run", time, bench=bench, position=target, position_target=target)


def ramps(speed: float, seconds: float, middle: float) -> np.ndarray:
    """Back and forth around a place, a second each way."""
    t = 0.01 * np.arange(round(100 * seconds))
    return middle + speed * np.abs((t % 2.0) - 1.0)


@pytest.mark.parametrize(
    ("speed", "seconds", "slow"),
    [
        (0.1, 10.0, 9.6),  # less the first, and a moment at each turn
        (0.13, 10.0, 0.0),
        (0.009, 10.0, 0.0),  # as good as at rest
        (0.05, 0.45, 0.0),  # too short
    ],
)
def test_a_motion_is_slow_where_it_keeps_its_low_speed(speed, seconds, slow):
    target = ramps(speed, seconds, 0.0)
    assert slow_seconds(0.01 * np.arange(len(target)), target) == pytest.approx(slow, abs=0.4)


LACKING = {
    "fast": ([WAVE], ["no_slow_motion"]),
    "slow under load": ([WAVE, ramps(0.08, 4.0, 0.7)], []),
    "slow without load": ([WAVE, ramps(0.08, 4.0, 0.0)], ["no_slow_motion"]),
    "one way": ([1.2 * T / 4], ["no_slow_motion", "no_reversals"]),
    "turns at its greatest load": ([np.pi / 2 - np.abs(ramps(0.08, 8.0, 0.0))], ["no_reversals"]),
    "nothing asked": ([np.zeros(400)], []),
}


@pytest.mark.parametrize("name", LACKING)
def test_what_recordings_lack_of_motion(name):
    targets, expected = LACKING[name]
    assert codes(motions_lacking({"": [servo(target) for target in targets]})) == expected
    free = codes(motions_lacking({"": [servo(target, bench=None) for target in targets]}))
    assert ("no_reversals" in free) == (name == "one way"), "no load is known, so that every turn counts"


def test_a_finding_names_the_joints_that_lack_it():
    still, slow = servo(np.zeros(400), bench=None), servo(ramps(0.08, 8.0, 0.0), bench=None)
    fast, line = servo(WAVE, bench=None), servo(T, bench=None)
    found = list(motions_lacking({"a": [still], "b": [slow], "c": [fast], "d": [line, fast]}))
    assert codes(found) == ["no_slow_motion"]
    assert found[0].text.startswith("c, d: no motion keeps below 0.12 rad/s")
    (turning,) = (f for f in motions_lacking({"b": [slow], "d": [line]}) if f.code == "no_reversals")
    assert turning.text.startswith("d: the motion hardly ever turns round below its greatest load, and never")


ARM_SLOW = ("friction_gravity", "large_amplitude", "dual_joint_rotation_pitch", "slow_precision")
ARM_TURNS = (
    "hover_positions",
    "staircase_motion",
    "workspace_sweep",
    "trapezoidal_profile",
    "large_amplitude",
)


def test_real_recordings_raise_no_alarm_that_they_do_not_deserve(shared_data):
    """Slow motions and reversals are in what was recorded of an STS3032, an XL330 and an SO-101; not without
    those that are named."""
    servos = {name: sorted((shared_data / name).glob("*kp*.json")) for name in ("sts3032", "xl330")}
    for paths in servos.values():
        assert not codes(motions_lacking({"": be.read(paths)}))
    hasty = [path for path in servos["sts3032"] if "up_and_down" not in path.name]
    assert codes(motions_lacking({"": be.read(hasty)})) == ["no_slow_motion"]
    lifts = [path for path in servos["sts3032"] if "up_and_down" in path.name]
    assert codes(motions_lacking({"": be.read(lifts)})) == ["no_reversals"]
    robot = be.Robot.read(shared_data / "so101" / "so101.xml")
    arm = shared_data / "so101"

    def said(*names: str) -> list[str]:
        logs = be.read([arm / f"{name}.csv" for name in names], bench=robot)
        return [f.code for f in be.check(be.Actuator.read("sts3215-12v"), logs).findings]

    assert not {"no_slow_motion", "no_reversals"} & {*said(*ARM_SLOW, "prbs_excitation")}
    assert "no_slow_motion" in said("prbs_excitation", "step_response")
    assert "no_reversals" in said(*ARM_TURNS)
