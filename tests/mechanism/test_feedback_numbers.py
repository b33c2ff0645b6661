"""Feedback against brute force and closed forms: the regulator and its Riccati equation, the poles and
limits of the settling design, and the steps of the closed loop."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from backemf.errors import InvalidValue
from backemf.kits.frc.characterization import Feedback
from backemf.kits.frc.commands import CharacterizeOptions
from backemf.kits.frc.loop_gains import (
    PRESETS,
    position_gains,
    settle,
    simulate_step,
    slow_loop,
    step_response,
    velocity_gains,
)

kV, kA = 3.0, 0.3


@pytest.mark.parametrize(
    ("name", "output", "time", "period", "normalized", "delay"),
    [
        # WPILib's SysId, FeedbackControllerPreset: output for one volt, unit of time [s], loop and delay [s]
        ("wpilib", 1.0, 1.0, 0.020, True, 0.0),
        ("ctre-v5", 85.25, 0.1, 0.001, False, 0.0815),
        ("ctre-v6", 1.0, 1.0, 0.001, True, 0.001),
        ("rev-neo", 0.0833333, 60.0, 0.001, False, 0.112),
        ("rev-brushed", 0.0833333, 60.0, 0.001, False, 0.0815),
        ("venom", 341.333333, 60.0, 0.001, False, 0.005),
    ],
)
def test_controllers_count_as_the_classic_tool_says(name, output, time, period, normalized, delay):
    p = PRESETS[name]
    assert p.output == pytest.approx(output, rel=1e-6)
    assert (p.time, p.period, p.normalized, p.delay) == (time, period, normalized, delay)


def regulator(A, B, q, r, delay_steps):
    """K by iterating the Riccati equation of a discrete system, and of the state some steps later."""
    A, B = np.atleast_2d(A), np.reshape(B, (-1, 1))
    Q, R = np.diag([x**-2 for x in q]), np.array([[r**-2]])
    S = Q
    for _ in range(20000):
        K = np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A)
        S = Q + A.T @ S @ (A - B @ K)
    return (K @ np.linalg.matrix_power(A - B @ K, delay_steps))[0]


@pytest.mark.parametrize("late", [0, 3])
def test_the_regulators_are_those_of_the_riccati_equation(late):
    h, time = 0.02, kA / kV
    a, b = math.exp(-h / time), (1 - math.exp(-h / time)) / kV
    clock = {"period": h, "delay": late * h}
    v = velocity_gains(kV, kA, max_error=0.7, max_effort=9.0, **clock)
    assert v.volts_per_error == pytest.approx(regulator(a, [b], [0.7], 9.0, late)[0], rel=1e-6)
    assert (v.kD, v.volts_per_rate, v.period, v.delay) == (0.0, 0.0, h, late * h)
    # over one period the velocity decays to a, and what is left of it moves the position by time (1 - a)
    A, B = [[1.0, time * (1 - a)], [0.0, a]], [(h - time * (1 - a)) / kV, b]
    x = position_gains(kV, kA, max_position_error=0.4, max_velocity_error=0.7, max_effort=9.0, **clock)
    K = regulator(A, B, [0.4, 0.7], 9.0, late)
    assert (x.volts_per_error, x.volts_per_rate) == pytest.approx(K, rel=1e-6)
    assert (x.period, x.delay) == (h, late * h)
    # without inertia the position integrates the input over kV
    x = position_gains(kV, 0.0, max_position_error=0.4, max_effort=9.0, **clock)
    K = regulator(1.0, [h], [0.4], 9.0, late)
    assert (x.volts_per_error, x.volts_per_rate) == pytest.approx((kV * K[0], 0.0), rel=1e-6)


def test_what_a_regulator_takes_where_nothing_is_said():
    assert velocity_gains(kV, kA) == velocity_gains(kV, kA, max_error=1.5, max_effort=7.0, encoder_factor=1.0)
    plain = {"max_position_error": 1.0, "max_velocity_error": 1.5, "max_effort": 7.0, "encoder_factor": 1.0}
    assert position_gains(kV, kA) == position_gains(kV, kA, **plain)


@pytest.mark.parametrize("kS", [0.0, 1.2])
def test_a_velocity_settles_in_four_time_constants_within_limit_and_delay(kS):
    how = {"loop": "velocity", "kS": kS, "period": 0.02, "delay": 0.0}
    fast = settle(kV, kA, time=0.2, step=-1.0, **how)
    assert fast.volts_per_error == pytest.approx(4 / 0.2 * kA - kV)  # kA s + kV + K has its pole at -4 / time
    assert (fast.kP, fast.note, fast.against_friction, fast.step) == (fast.volts_per_error, "", 0.0, -1.0)
    # at the start it pushes with kS + (kV + K) step, at most 0.99 of the limit
    held = settle(kV, kA, time=0.1, step=2.0, limit=10.0, **how)
    assert kS + (kV + held.volts_per_error) * 2.0 == pytest.approx(9.9)
    assert held.note == "the limit of the input does not allow 0.1 s"
    assert held.design == "made to settle 2 in 0.1 s within 10"
    # half of one over the lag: the delay, and half a period
    late = settle(kV, kA, time=0.02, step=0.01, **how | {"delay": 0.03})
    assert late.volts_per_error == pytest.approx(kA * 0.5 / 0.04 - kV)
    assert late.note == "the delay does not allow 0.02 s"
    alone = settle(kV, kA, time=0.5, step=1.0, **how)
    assert (alone.volts_per_error, alone.note) == (0.0, "it settles as fast by itself")
    with pytest.raises(
        InvalidValue, match=f"a velocity of 4 needs {kS + 12:.3g}; the input is limited to 12"
    ):
        settle(kV, kA, time=0.5, step=4.0, **how)


@pytest.mark.parametrize("kS", [0.0, 1.2])
def test_a_position_settles_with_two_equal_poles_within_limit_and_delay(kS):
    how = {"kS": kS, "period": 0.02, "delay": 0.0}
    w = 5.83 / 0.4
    fast = settle(kV, kA, time=0.4, step=-0.1, **how)
    assert (fast.volts_per_error, fast.volts_per_rate) == pytest.approx((kA * w**2, 2 * kA * w - kV))
    assert (fast.note, fast.against_friction) == ("", kS)
    held = settle(kV, kA, time=0.1, step=0.2, limit=10.0, **how)
    assert kS + 0.2 * held.volts_per_error == pytest.approx(9.9)
    w = math.sqrt(held.volts_per_error / kA)
    assert held.volts_per_rate == pytest.approx(2 * kA * w - kV)
    assert held.note == "the limit of the input does not allow 0.1 s"
    late = settle(kV, kA, time=0.05, step=0.01, **how | {"delay": 0.01})
    assert late.volts_per_error == pytest.approx(kA * (0.3 / 0.02) ** 2)
    assert late.note == "the delay does not allow 0.05 s"
    with pytest.raises(InvalidValue, match="period is 0"):
        settle(kV, kA, time=0.5, step=1.0, period=0.0)


def slow_pole(K_0):
    """Of kA s^2 + kV s + K_0."""
    return -max(np.roots([kA, kV, K_0]).real)


def test_a_mechanism_that_damps_itself_gets_no_rate_gain():
    enough = settle(kV, kA, time=2.0, step=0.1)
    assert slow_pole(enough.volts_per_error) == pytest.approx(4 / 2.0)
    assert (enough.volts_per_rate, enough.note) == (0.0, "")
    held = settle(kV, kA, time=2.0, step=5.0, limit=10.0, kS=1.2)
    assert 1.2 + 5.0 * held.volts_per_error == pytest.approx(9.9)
    assert slow_pole(held.volts_per_error) < 4 / 2.0
    assert held.note == "the limit of the input does not allow 2 s"
    late = settle(kV, kA, time=2.0, step=0.1, delay=0.29)  # half a period later: 0.3 / 0.3 = 1 /s
    assert slow_pole(late.volts_per_error) == pytest.approx(1.0)
    assert late.note == "the delay does not allow 2 s"
    # critically damped at most: K_0 = kV^2 / (4 kA) = 7.5, although the limit allows 7.48 of it
    own = settle(kV, kA, time=0.5, step=11.88 / 7.48)
    assert own.volts_per_error == pytest.approx(7.48)


def loop(**given):
    plain = {"kP": 0.0, "kD": 0.0, "volts_per_rate": 0.0, "period": 0.02, "delay": 0.0, "design": ""}
    return Feedback(**{**plain, **given})


@pytest.mark.parametrize("late", [0, 1, 2])
def test_a_step_of_velocity_sample_by_sample(late):
    """The input holds for a period, in which the velocity decays to what friction and gravity leave of it."""
    K, h, kS, kG, goal = 2.0, 0.02, 0.5, 0.3, 1.5
    a, v = math.exp(-kV * h / kA), [0.0]
    for k in range(50):
        u = kS + kG + kV * goal + K * (goal - v[max(0, k - late)])
        v.append(a * v[-1] + (1 - a) * (u - kS - kG) / kV)
    feedback = loop(loop="velocity", volts_per_error=K, delay=late * h)
    run = step_response(feedback, kS=kS, kV=kV, kA=kA, kG=kG, step=goal, duration=1.0)
    assert run.velocity[::20] == pytest.approx(np.array(v), abs=1e-9)
    assert run.time == pytest.approx(0.001 * np.arange(1001))
    assert run.input[1] == pytest.approx(kS + kG + (kV + K) * goal)
    assert run.overshoot == pytest.approx(max(0.0, run.velocity.max() / goal - 1))
    outside = np.abs(run.velocity / goal - 1) > 0.02
    assert outside[run.time < run.settling_time].any()
    assert not outside[run.time >= run.settling_time].any()
    assert outside[np.searchsorted(run.time, run.settling_time) - 1]


def test_a_step_of_position_is_that_of_two_equal_poles():
    w, kS, kG, goal = 8.0, 0.4, 0.2, -0.5
    given = {"volts_per_error": kA * w**2, "volts_per_rate": 2 * kA * w - kV, "against_friction": kS}
    feedback = loop(loop="position", period=0.001, **given)
    run = step_response(feedback, kS=kS, kV=kV, kA=kA, kG=kG, step=goal, duration=1.0)
    near = run.time < 0.8  # until it is within 1 %, where it no longer pushes against friction: 6.64 / w
    exact = goal * (1 - (1 + w * run.time) * np.exp(-w * run.time))
    # holding the input for a millisecond delays the loop by half of one: 0.5e-3 * w * step / e at most
    assert np.max(np.abs(run.position - exact)[near]) < 2e-3
    assert run.settling_time == pytest.approx(5.83 / w, abs=0.02)
    assert run.input[1] == pytest.approx(kG - kS + goal * kA * w**2)
    assert (run.overshoot, run.saturated, run.target) == (0.0, 0.0, goal)


def test_a_step_against_the_limit():
    feedback = loop(loop="position", volts_per_error=100.0, volts_per_rate=10.0)
    run = step_response(feedback, kS=0.0, kV=kV, kA=kA, step=-2.0, limit=6.0, duration=0.4)
    assert run.input.min() == -6.0
    assert run.saturated == pytest.approx(np.mean(run.input == -6.0))
    assert 0.5 < run.saturated < 1.0
    time = kA / kV  # at full input from rest
    t = run.time[run.time <= 0.1]
    speed = -6.0 / kV * (1 - np.exp(-t / time))
    assert run.velocity[: len(t)] == pytest.approx(speed, abs=1e-9)
    still = step_response(loop(loop="velocity", volts_per_error=0.0), kS=0.0, kV=1.0, kA=1e-6, step=1.0)
    assert still.settling_time == pytest.approx(0.001)  # there at the first sample
    assert len(still.time) == 2001


@pytest.mark.parametrize(
    ("settles", "seconds"), [(0.62, 1.0), (0.78, 2.0), (1.6, 4.0), (3.2, 8.0), (6.5, 8.0), (20.0, 8.0)]
)
def test_a_step_is_followed_until_it_is_at_rest_for_a_while(settles, seconds):
    """Until it has settled for three tenths of the time that is shown, or for 8 s."""
    w = 5.83 / settles
    feedback = loop(
        loop="position", period=0.005, volts_per_error=kA * w * w, volts_per_rate=2 * kA * w - kV, step=0.3
    )
    run = simulate_step(feedback, {"kS": 0.0, "kV": kV, "kA": kA}, 12.0)
    assert run.time[-1] == pytest.approx(seconds, abs=0.01)
    assert run.settling_time == (math.inf if settles > 8 else pytest.approx(settles, rel=0.02, abs=0.006))


@pytest.mark.parametrize(("kA", "seconds"), [(0.01, 0.3), (0.3, 0.8), (1.5, 4.0), (3.0, 5.0)])
def test_a_velocity_is_followed_for_eight_time_constants(kA, seconds):
    feedback = loop(loop="velocity", volts_per_error=0.0, step=0.3)
    known = {"kS": 0.4, "kV": kV, "kA": kA, "kG": 0.5}
    assert simulate_step(feedback, known, 12.0).time[-1] == pytest.approx(seconds, abs=0.02)
    assert simulate_step(feedback, known, 0.91).target == 0.3
    assert simulate_step(feedback, known, 0.89) is None  # friction and weight take all of the input
    for name in ("kS", "kV", "kA"):
        assert simulate_step(feedback, known | {name: None}, 12.0) is None


@pytest.mark.parametrize("takes", [0.9, 1.2])
def test_a_loop_that_takes_a_second_is_slow_and_an_error_that_makes_it_quick_is_told(takes):
    known, asked = {"kS": 0.05, "kV": kV, "kA": kA}, CharacterizeOptions(limit=12.0, max_error=2.0)
    found = list(
        slow_loop(
            loop(loop="position", volts_per_error=1.0, step=0.3, settles=takes), known, asked, ("m", "V")
        )
    )
    assert [f.numbers for f in found] == ([{"time": takes}] if takes > 1 else [])
    for said in found:
        told = [
            float(word) for word in re.findall(r"--max-error (\S+) \[m\] makes it (\S+) s", said.remedy)[0]
        ]
        tried = [2.0 / by for by in (2, 5, 10, 20, 50, 100, 200, 500, 1000)]
        first = next(e for e in tried if settling_of(e, known) <= 1.0)
        assert told == pytest.approx([first, settling_of(first, known)], rel=0.05)


def settling_of(error, known):
    """Until a step of that error, or of half of what the input reaches, stays within 2 %."""
    made = position_gains(kV, kA, max_position_error=error)
    return simulate_step(
        replace(made, step=min(error, 6.0 / made.volts_per_error)), known, 12.0
    ).settling_time
