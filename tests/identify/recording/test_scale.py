"""Positions that are not in radians: told by how far they go, and by how fast a motor can."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.identify.inspect.samples import SignalTrack
from backemf.identify.inspect.signals import (
    _close,
    _follows,
    _log_distance,
    _near,
    _travel,
    _whole,
    fastest,
    greatest_speed,
    unit_findings,
)

from ..recordings import SERVO
from .hand_made import codes, log, track

DEGREE, COUNT = math.pi / 180.0, 2 * math.pi / 4096.0
LIMIT = 0.97 * 7.4 / 0.9
"""Speed at which SERVO's back-EMF holds against its supply [rad/s]."""
T = np.arange(0.0, 8.0, 0.01)
WAVE = np.sin(2 * np.pi * 0.25 * T)
"""A radian either way, at 1.57 rad/s at most."""


def test_a_motor_turns_as_fast_as_its_back_emf_allows():
    still = log(WAVE, bench=be.bench.Flywheel(inertia=0.1))
    assert greatest_speed(still, SERVO) == pytest.approx(LIMIT)
    assert greatest_speed(replace(still, bench=None), SERVO) == pytest.approx(LIMIT)
    set_lower = replace(still, settings={"drive.supply": 3.7, "nobody.knows": 1.0})
    assert greatest_speed(set_lower, SERVO) == pytest.approx(LIMIT / 2)
    assert greatest_speed(still, replace(SERVO, drive=be.drive.Voltage())) == math.inf


def test_an_arm_may_fall_from_the_top_besides():
    """Half J w^2 is what gravity does from the top to the bottom, twice its greatest torque."""
    arm = be.bench.Pendulum(mass=0.5, length=0.2, arm_mass=0.06)
    J = 0.5 * 0.04 + 0.06 / 3 * 0.04 + 3e-3
    fall = math.sqrt(2 * 2 * (0.5 + 0.03) * be.bench.GRAVITY * 0.2 / J)
    assert greatest_speed(log(WAVE, bench=arm), SERVO) == pytest.approx(LIMIT + fall)


def test_the_fastest_is_what_one_sample_in_fifty_passes_over_30_ms():
    even = track(3.0 * 0.01 * np.arange(100))
    assert fastest(even) == pytest.approx(3.0)
    assert fastest(track(-3.0 * 0.01 * np.arange(100))) == pytest.approx(3.0)
    jumps = even.values + 0.5 * (np.arange(100) == 50)  # four of 96 differences end in one sample, or begin
    assert fastest(track(jumps)) > 3.0
    assert fastest(track(np.r_[even.values, even.values[-1] + 5.0])) == pytest.approx(3.0, rel=0.01)
    assert fastest(track(even.values[:12])) == pytest.approx(3.0)  # over four samples at least
    assert fastest(track(even.values[:11])) == 0.0
    fine = 3.0 * 0.001 * np.arange(90.0)  # at 1 ms, 30 of them
    assert fastest(track(fine, step=0.001)) == pytest.approx(3.0)
    assert fastest(track(fine[:89], step=0.001)) == 0.0


def said(one: be.Log, actuator: be.Actuator = SERVO) -> dict[str, dict[str, float]]:
    findings = list(unit_findings(one, actuator))
    return dict(zip(codes(findings), (dict(f.numbers) for f in findings), strict=True))


COARSE = np.round(WAVE / COUNT)
UNITS = {
    # position, target: what is said, with its numbers
    "radians": (WAVE, WAVE, {}),
    "degrees": (WAVE / DEGREE, WAVE, {"degrees": {"position": DEGREE, "sure": 1.0}}),
    "a target in degrees": (WAVE, WAVE / DEGREE, {"degrees": {"position_target": DEGREE, "sure": 1.0}}),
    "both in degrees": (
        10 * WAVE / DEGREE,
        10 * WAVE / DEGREE,
        {"degrees": {"position": DEGREE, "position_target": DEGREE, "sure": 0.0}},
    ),
    "both in degrees, faster than it can": (
        WAVE / DEGREE,
        WAVE / DEGREE,
        {"degrees": {"position": DEGREE, "position_target": DEGREE, "sure": 1.0}},
    ),
    "degrees and no target": (WAVE / DEGREE, None, {"degrees": {"position": DEGREE, "sure": 1.0}}),
    "milliradians": (1e3 * WAVE, WAVE, {"milliradians": {"position": 1e-3, "sure": 1.0}}),
    "counts": (COARSE, WAVE, {"encoder_counts": {"position": COUNT, "sure": 1.0}}),
    "counts and no target": (COARSE, None, {"encoder_counts": {"position": COUNT, "sure": 1.0}}),
    "what is not whole is no count": (WAVE / COUNT, None, {"milliradians": {"position": 1e-3, "sure": 1.0}}),
    "turns": (WAVE / (2 * np.pi), WAVE, {"turns": {"position": 2 * np.pi, "sure": 0.0}}),
    "a target in turns": (WAVE, WAVE / (2 * np.pi), {"turns": {"position_target": 2 * np.pi, "sure": 0.0}}),
    "a sixth of what was asked": (WAVE / 5.0, WAVE, {}),
    "half of what was asked, in degrees": (
        0.7 * WAVE / DEGREE,
        WAVE,
        {"degrees": {"position": DEGREE, "sure": 1.0}},
    ),
    "it does not move": (0.0 * WAVE, WAVE, {}),
}


@pytest.mark.parametrize("row", UNITS)
def test_the_unit_of_a_position(row):
    position, target, expected = UNITS[row]
    if row == "both in degrees":  # slowly, through three turns: it may well be so
        position, target = 0.1 * position[::1], 0.1 * target[::1]
        slow = {"position_target": target}
        one = log(position, step=0.5, **slow)
    else:
        one = log(position, **({} if target is None else {"position_target": target}))
    found = said(one)
    assert set(found) == set(expected)
    for code, numbers in expected.items():
        assert found[code] == pytest.approx(numbers)


def test_only_positions_of_rotary_joints_have_a_unit_to_doubt():
    linear = replace(log(WAVE / DEGREE, position_target=WAVE), motion="linear")
    assert said(linear) == {}
    without = be.log("run", T, position_target=WAVE)
    assert said(without) == {}
    assert said(log((WAVE / DEGREE)[:39], position_target=WAVE[:39])) == {}
    assert said(log((WAVE / DEGREE)[:40], position_target=WAVE[:40])) != {}


def test_a_motion_in_degrees_that_no_motor_makes_is_none():
    """Read in degrees it would still be too fast: it only goes far."""
    fast = np.sin(2 * np.pi * 5.0 * T) / DEGREE  # 31 rad/s, of 8 that it can
    assert "degrees" not in said(log(fast, position_target=np.sin(2 * np.pi * 5.0 * T)))


@pytest.mark.parametrize(
    ("speed", "unit"),
    [
        (2.9 * LIMIT, None),
        (3.1 * LIMIT, "degrees"),
        (1.19 * LIMIT / DEGREE, "degrees"),
        (1.21 * LIMIT / DEGREE, "milliradians"),
    ],
)
def test_three_times_the_greatest_speed_is_no_motion(speed, unit):
    """And read in its unit it is within a fifth of it. Ten degrees or so, back and forth."""
    ramp = speed * 0.01 * np.r_[np.arange(50), np.arange(50, 0, -1)]
    found = said(log(np.tile(ramp, 6)))
    assert list(found) == ([] if unit is None and np.ptp(ramp) <= 4 * np.pi else [unit])


@pytest.mark.parametrize(("span", "there"), [(3.9 * np.pi, False), (4.2 * np.pi, True)])
def test_from_two_turns_on_it_may_be_degrees(span, there):
    slow = log(0.5 * span * np.sin(2 * np.pi * 0.01 * np.arange(800)), step=1.0)
    found = said(slow)
    assert (found == {"degrees": {"position": pytest.approx(DEGREE), "sure": 0.0}}) is there
    crawling = log(0.5 * span * np.sin(2 * np.pi * 0.01 * np.arange(800)), step=100.0)
    assert said(crawling) == {}  # so slow that in degrees it would not move at all


def test_the_travel_over_that_of_the_target():
    def travel(position, **signals):
        one = log(position, **signals)
        return _travel(one, SignalTrack.of(one))

    assert travel(3.0 * WAVE, position_target=WAVE) == pytest.approx(3.0, rel=1e-6)
    assert travel(WAVE) == 1.0
    asked = np.where(np.arange(800) == 7, 3.0, WAVE)  # a single sample does not count
    assert travel(3.0 * WAVE, position_target=asked) == pytest.approx(3.0, rel=0.01)
    assert travel(3.0 * WAVE, position_target=0 * WAVE) == 1.0
    assert travel(0.0 * WAVE, position_target=WAVE) == 1.0
    assert travel(3.0 * np.cos(7.3 * T), position_target=WAVE) == 1.0  # it does not follow
    assert travel(3.0 * WAVE[:40], position_target=WAVE[:40]) == pytest.approx(3.0)
    assert travel(3.0 * WAVE[:39], position_target=WAVE[:39]) == 1.0
    # with the drive off it falls where it likes
    falling = np.where(T < 4.0, 3.0 * WAVE, 50.0 + 9.0 * T)
    on = (T < 4.0).astype(float)
    assert travel(falling, position_target=WAVE, enabled=on) == pytest.approx(3.0, rel=0.02)
    gone = np.where(T > 7.9, np.nan, 3.0 * WAVE)
    assert travel(gone, position_target=WAVE) == pytest.approx(3.0, rel=0.01)


@pytest.mark.parametrize(("lag", "least"), [(0, 0.999), (5, 0.999), (20, 0.999)])
def test_a_position_may_follow_late(lag, least):
    asked = np.sin(2 * np.pi * 1.3 * T)
    late = np.r_[np.zeros(lag), asked[: len(T) - lag]]
    assert _follows(asked, track(late)) > least
    assert _follows(asked, track(-late)) > least  # its sign is another matter
    assert _follows(asked, track(0 * late + 1.0)) == 0.0
    noise = np.random.default_rng(0).normal(size=len(T))
    assert _follows(asked, track(noise)) < 0.2


def test_how_far_a_travel_is_from_that_in_a_unit():
    """A factor of two either way; whole numbers are counts, by a factor of e."""
    odd = track(0.37 * np.arange(200.0))
    assert _log_distance(2.0 / DEGREE, DEGREE, odd) == pytest.approx(math.log(2.0))
    assert _log_distance(2.0 * DEGREE, DEGREE, odd) == pytest.approx(math.log(2.0))
    assert _log_distance(1.0 / COUNT, COUNT, odd) == pytest.approx(0.0, abs=1e-12)
    whole = track(np.arange(200.0))
    assert _log_distance(1.0 / COUNT, COUNT, whole) == pytest.approx(-1.0)
    assert _log_distance(1.0 / DEGREE, DEGREE, whole) == pytest.approx(0.0, abs=1e-12)


def test_whole_numbers_are_counts_where_they_are_many():
    assert _whole(track(np.arange(60.0)))
    assert not _whole(track(np.arange(50.0)))
    assert not _whole(track(np.r_[np.arange(60.0), 0.5]))


@pytest.mark.parametrize(
    ("ratio", "near"), [(1.0, True), (1.59, True), (1.61, False), (1 / 1.59, True), (1 / 1.61, False)]
)
def test_travels_within_a_factor_of_1_6_are_alike(ratio, near):
    assert _near(57.3 * ratio, 57.3) is near


@pytest.mark.parametrize(
    ("ratio", "close"),
    [(2 * np.pi, True), (6.9, True), (7.0, False), (5.6, False), (0.5 / np.pi, True), (0.18, False)],
)
def test_turns_are_told_to_a_tenth(ratio, close):
    assert _close(ratio) is close
