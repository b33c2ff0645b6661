"""What was asked against what was done, by hand: signs, and commands in steps."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import backemf as be
from backemf.identify.inspect.signals import (
    command_findings,
    followed_signal,
    jump_findings,
    sign_findings,
    stairs,
)

from .hand_made import STEP, codes, log

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
