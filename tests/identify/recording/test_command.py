"""What was asked against what was done, by hand: signs, and commands in steps."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import backemf as be
from backemf.identify.inspect.remedies import turn_flag
from backemf.identify.inspect.signals import (
    _words,
    command_findings,
    flag_findings,
    followed_signal,
    jump_findings,
    jumps,
    sign_findings,
    stairs,
)

from .hand_made import STEP, codes, log, moving, wavy

T = STEP * np.arange(400)
WAVE = np.sin(2 * np.pi * 0.7 * T)


def late(values: np.ndarray, lag: int) -> np.ndarray:
    return np.r_[np.full(lag, values[0]), values[: len(values) - lag]]


def test_what_was_asked_comes_first_where_several_were():
    assert followed_signal(log(WAVE)) is None
    assert followed_signal(log(WAVE, torque_target=WAVE)) == "torque_target"
    assert followed_signal(log(WAVE, torque_target=WAVE, position_target=WAVE)) == "position_target"


NOISE = np.random.default_rng(0).normal(size=400)
SIGNS = {
    # position, what was asked: the correlation that is said, if any
    "as asked": (WAVE, {"position_target": WAVE}, None),
    "against it": (-WAVE, {"position_target": WAVE}, -1.0),
    "against it, and late": (-late(WAVE, 10), {"position_target": WAVE}, -1.0),
    "half against it": (-WAVE + 1.1 * NOISE, {"position_target": WAVE}, -0.55),
    "less than half": (-WAVE + 1.4 * NOISE, {"position_target": WAVE}, None),
    "a speed as asked": (np.cumsum(WAVE) * STEP, {"velocity_target": WAVE}, None),
    "a speed against it": (-np.cumsum(WAVE) * STEP, {"voltage_target": WAVE}, -1.0),
    "nothing was asked": (-WAVE, {}, None),
    "it rests": (0.0 * WAVE, {"position_target": WAVE}, None),
    "it was asked to stay": (-WAVE, {"position_target": 0.3 + 0 * WAVE}, None),
}


@pytest.mark.parametrize("row", SIGNS)
def test_a_motion_against_what_was_asked(row):
    position, asked, expected = SIGNS[row]
    findings = list(sign_findings(log(position, **asked)))
    assert codes(findings) == ([] if expected is None else ["wrong_sign"])
    for f in findings:
        assert f.numbers["correlation"] == pytest.approx(expected, abs=0.08)


def test_only_what_was_measured_with_the_drive_on_counts():
    """With the drive off it falls against the command."""
    on = (T < 2.0).astype(float)
    position = np.where(T < 2.0, WAVE, -9.0 * WAVE)
    assert list(sign_findings(log(position, position_target=WAVE, enabled=on))) == []
    assert len(list(sign_findings(log(position, position_target=WAVE)))) == 1
    assert len(list(sign_findings(log(-position, position_target=WAVE, enabled=on)))) == 1
    for n, said in ((50, ["wrong_sign"]), (49, [])):
        few = np.where(np.arange(400) < n, -WAVE, np.nan)
        assert codes(sign_findings(log(few, position_target=WAVE))) == said


def test_missing_samples_are_drawn_over_where_a_speed_was_asked():
    position = -np.cumsum(WAVE) * STEP
    position[100:110] = np.nan
    (f,) = sign_findings(log(position, velocity_target=WAVE))
    assert f.numbers["correlation"] == pytest.approx(-1.0, abs=0.05)


def held(values: np.ndarray, every: int) -> np.ndarray:
    return values[np.arange(len(values)) // every * every]


def at(places, values=None, n: int = 400) -> np.ndarray:
    """A command that changes at these places only."""
    values = WAVE if values is None else values
    return values[np.r_[0, places][np.searchsorted(places, np.arange(n), side="right")]]


SLOW = np.sin(2 * np.pi * 0.2 * T)
REGULAR = np.arange(4, 400, 4)
rng = np.random.default_rng(1)
JITTER = REGULAR + rng.choice([0, 0, 0, 0, 0, 1], len(REGULAR))
STAIRS = {
    # a command: where it changes, or nothing
    "at every sample": (WAVE, None),
    "at every second": (held(WAVE, 2), np.arange(2, 400, 2)),
    "at every fourth": (held(WAVE, 4), REGULAR),
    "a sample early or late": (at(JITTER), JITTER),
    "at any distance": (at(np.cumsum(rng.integers(2, 14, 45))), None),
    "resting in between": (at(np.r_[REGULAR[:40], REGULAR[60:]]), np.r_[REGULAR[:40], REGULAR[60:]]),
    "a square wave": (np.sign(np.sin(2 * np.pi * 10 * T + 0.1)), None),
    "steps to and fro": (held(np.random.default_rng(2).normal(size=400), 4), None),
    "nineteen changes": (at(REGULAR[:19], SLOW), None),
    "twenty": (at(REGULAR[:20], SLOW), REGULAR[:20]),
    "large steps": (held(np.sin(2 * np.pi * 3.0 * T), 8), None),
}


@pytest.mark.parametrize("row", STAIRS)
def test_commands_in_steps(row):
    asked, places = STAIRS[row]
    found = stairs(log(WAVE, position_target=asked), "position_target")
    assert found.tolist() == ([] if places is None else list(places))


def test_what_is_said_of_a_command_in_steps():
    (f,) = command_findings(log(WAVE, position_target=held(WAVE, 4)))
    assert (f.code, f.numbers) == ("coarse_command", {"sure": 0.0, "step": pytest.approx(4 * STEP)})
    assert "every 40 ms only, where a sample takes 10 ms" in f.text
    assert list(command_findings(log(WAVE, position_target=WAVE))) == []
    assert list(command_findings(log(WAVE))) == []
    assert list(command_findings(be.log("x", T, position=WAVE))) == []


SQUARE = np.where((T % 1.0) < 0.3, 0.5, -0.5)
RUNNING = np.empty(400)
for k, asked in enumerate(SQUARE):  # a third of what is left in every sample
    RUNNING[k] = asked if k == 0 else RUNNING[k - 1] + 0.33 * (asked - RUNNING[k - 1])


def test_a_sampled_square_is_told_with_its_period_and_share():
    """It is high for 0.3 s of every second, and the first rise that the samples show is the second one."""
    (f,) = jump_findings(log(RUNNING, position_target=SQUARE))
    assert "period=1s at=0.3s duty=0.7" in f.remedy
    assert "from=0.5 to=-0.5" in f.remedy


def test_a_command_on_a_finer_clock_of_its_own_is_not_coarse():
    """Sampled twice as often as the position, it is known well enough."""
    made = log(RUNNING, position_target=SQUARE)
    fine = be.Signal(time=0.5 * STEP * np.arange(800), values=np.repeat(SQUARE, 2))
    finer = dataclasses.replace(made, signals={**made.signals, "position_target": fine})
    assert list(jump_findings(finer)) == []
    assert len(list(jump_findings(made))) == 1


K = np.arange(400)
JUMPS = {
    # a command: where it jumps, if it does nothing else
    "at every sixth sample": (K // 6 % 2.0, np.arange(6, 400, 6)),
    "at every fourth": (K // 4 % 2.0, []),
    "not at all": (0.3 + 0 * T, []),
    "once": (np.where(T < 0.995, 0.0, -2.0), [100]),
    "small beside large": (np.where(T < 0.995, 0.0, 1.0) + 0.06 * (T > 1.995), [100, 200]),
    "too small beside it": (np.where(T < 0.995, 0.0, 1.0) + 0.04 * (T > 1.995), []),
}


@pytest.mark.parametrize("row", JUMPS)
def test_commands_that_jump_and_rest(row):
    asked, places = JUMPS[row]
    assert jumps(log(WAVE, position_target=asked), "position_target").tolist() == list(places)


@pytest.mark.parametrize(
    ("samples", "n", "noise", "said"),
    [(14, 400, 0.0, True), (20, 400, 0.0, False), (14, 20, 0.0, True), (14, 19, 0.0, False),
     (14, 400, 0.3, True), (14, 400, 0.8, False)],
)  # fmt: skip
def test_when_a_command_jumped_matters_where_a_sample_goes_far(samples, n, noise, said):
    """To and fro, so many samples each way: one of them is a fourteenth of the motion, or a twentieth; and it
    is five times the noise, or less."""
    way = np.where(np.arange(n - 1) // samples % 2 == 0, 1.0, -1.0) * wavy(n - 1)
    position = moving(way) + noise * np.random.default_rng(0).normal(size=n)
    rotary = log(position, position_target=np.where(np.arange(n) < 10, 0.0, 3.0))
    for one, unit in ((rotary, "rad"), (dataclasses.replace(rotary, motion="linear"), "m")):
        findings = list(jump_findings(one))
        assert codes(findings) == (["coarse_jumps"] if said else [])
        for f in findings:
            assert f.numbers["far"] == pytest.approx(1.06 + 2.8 * noise, abs=0.15)
            assert (f.numbers["step"], f.numbers["jumps"]) == (pytest.approx(STEP), 1.0)
            assert "1 times and is known every 10 ms only" in f.text
            assert f"runs by up to {f.numbers['far']:.2g} {unit}:" in f.text


WORDS = {
    "a step": np.where(T < 1.2, 0.25, -1.5),
    "a square": np.where((T + 0.001) % 0.8 < 0.4, 0.5, -0.5),
    "mostly low": np.where((T + 0.611) % 1.0 < 0.3, 0.75, 0.2),
    "mostly high": np.where((T + 0.111) % 1.3 < 0.9, 2.0, -0.5),
    "three jumps": np.where((T < 0.995) | (T > 1.995) & (T < 3.495), -0.5, 0.5),
    "a staircase": np.where(T < 1.205, 0.25, np.where(T < 2.0, 1.0, 2.0)),
}


@pytest.mark.parametrize("row", WORDS)
def test_the_words_of_a_sampled_command_make_it_again(row):
    one = log(WAVE, position_target=WORDS[row])
    said = _words(one, "position_target", jumps(one, "position_target"))
    again = be.log("again", T, position=WAVE, command=said)["position_target"]
    told = T < 1.995 if row == "a staircase" else T >= 0.0  # as a step: behind it nothing is told
    assert np.mean(np.abs(again - WORDS[row])[told] > 1e-6) < 0.01  # samples beside a jump


FLAGS = {
    # correlation with what was asked where the torque is said to be on, and off, how wide that goes in units
    # of the noise, samples said to be off: whether the flag is inverted
    "it follows where it is off": (0.0, 1.0, 1e3, 200, True),
    "it follows where it is on": (1.0, 0.0, 1e3, 200, False),
    "it always follows": (1.0, 1.0, 1e3, 200, False),
    "it never does": (0.0, 0.0, 1e3, 200, False),
    "nearly all of what it does off": (0.0, 0.87, 1e3, 200, True),
    "less of it": (0.0, 0.72, 1e3, 200, False),
    "partly so where it is on": (0.5, 1.0, 1e3, 200, True),
    "a bit too well there": (0.7, 1.0, 1e3, 200, False),
    "a little more than noise": (0.0, 1.0, 23.0, 200, True),
    "less than that": (0.0, 1.0, 17.0, 200, False),
    "long enough off": (0.0, 1.0, 1e3, 51, True),
    "not long enough": (0.0, 1.0, 1e3, 50, False),
}


@pytest.mark.parametrize("row", FLAGS)
def test_a_flag_that_says_the_opposite(row):
    on, off, width, n_off, said = FLAGS[row]
    enabled = (np.arange(400) < 400 - n_off).astype(float)
    share, wave = np.where(enabled > 0.5, on, off), np.sin(2 * np.pi * 2.0 * T)
    position = share * wave + np.sqrt(1 - share**2) * np.sin(2 * np.pi * 3.0 * T)
    position += 2.0 / width * np.random.default_rng(0).normal(size=400)
    one = log(position, position_target=wave, enabled=enabled)
    findings = list(flag_findings(one))
    assert codes(findings) == (["inverted_flag"] if said else [])
    for f in findings:
        assert f.numbers == {
            "sure": 0.0,
            "on": pytest.approx(on, abs=0.2),
            "off": pytest.approx(off, abs=0.1),
        }
        assert list(flag_findings(turn_flag(one))) == []
        assert turn_flag(one)["enabled"].tolist() == (1.0 - enabled).tolist()
