"""Friction of a joint at rest: the peak before it breaks away, the time it takes to come back, what a load
adds, springs that slip under load. Closed forms, and the motion that they ask for."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import backemf as be
from backemf.errors import InvalidValue

STRIBECK = {"coulomb": 0.1, "static": 0.2, "stribeck_velocity": 0.5}
LOADED = {**STRIBECK, "load": 0.1, "load_stribeck": 0.05}
R, K = 2.0, 0.5


def servo(friction):
    motor = be.motor.Motor(resistance=R, torque_constant=K, rotor_inertia=2e-3)
    return be.Actuator(motor=motor, friction=friction)


def pulled_at(friction, start, rate=0.02):
    """Torque at which a motor that pulls harder and harder, from `start` on, moves a resting joint [N m]."""
    volts = lambda t: R / K * (start + rate * t)  # noqa: E731
    run = be.simulate(
        servo(friction), be.bench.Flywheel(inertia=1e-3), volts, duration=0.3 / rate, dt=0.01, tolerance=1e-3
    )
    return start + rate * run.time[np.argmax(np.abs(run.velocity) > 1e-9) - 1]


def test_a_joint_holds_its_peak_and_slips_below_it():
    plain, peaked = be.friction.Stribeck(**STRIBECK), be.friction.Stribeck(**STRIBECK, peak=0.5)
    assert (plain.breakaway, peaked.breakaway) == (0.2, pytest.approx(0.25))
    assert pulled_at(plain, 0.1) == pytest.approx(0.2, abs=3e-4)
    assert pulled_at(peaked, 0.1) == pytest.approx(0.25, abs=3e-4)
    for w in (0.2, 0.5, 3.0):  # a joint that slips has the friction that it had without
        assert peaked.stribeck(w) == pytest.approx(plain.stribeck(w), abs=1e-6)
    half = 0.05 * math.sqrt(math.log(2.0))
    assert peaked.stribeck(half) - plain.stribeck(half) == pytest.approx(0.25)


def test_friction_comes_back_with_the_time_that_a_joint_rests():
    friction = be.friction.Stribeck(**STRIBECK, dwell=0.3)
    assert servo(friction).states[-1] == "loosened"
    assert friction.stribeck(1.5) == pytest.approx(0.25)  # 1 / (1 + 1.5 / 0.5)
    state = {"loosened": 0.8}
    assert friction.remember(state, 0.0, 0.3)["loosened"] == pytest.approx(0.8 / math.e)
    assert friction.remember(state, -1.5, 9.0)["loosened"] == pytest.approx(0.75)
    halves = friction.remember(friction.remember(state, 0.7, 0.05), 0.7, 0.05)
    assert halves["loosened"] == pytest.approx(friction.remember(state, 0.7, 0.1)["loosened"], rel=1e-12)
    assert friction.remaining(state, 0.7, 0.1) == pytest.approx(
        1.0 - friction.remember(state, 0.7, 0.05)["loosened"]
    )


@pytest.mark.parametrize("extra", [{}, {"peak": 0.4}, {"dwell": 0.3}, {"peak": 0.4, "dwell": 0.3}])
@pytest.mark.parametrize("exponent", [None, 1.3])
def test_a_joint_that_stops_within_a_step_has_what_one_at_rest_has(extra, exponent):
    friction = be.friction.Stribeck(**STRIBECK, **extra, stribeck_exponent=exponent)
    state = {"loosened": 0.6}
    assert friction.resting(state, 0.02) == pytest.approx(friction.remaining(state, 0.0, 0.02), rel=1e-14)
    for w in (0.3, -2.0):  # a lasting speed is one at which nothing changes any more
        for name, value in friction.remember(state, w, 99.0).items():
            held = friction.remaining({name: value}, w, 0.02)
            assert held == pytest.approx(friction.stribeck(w), rel=1e-12)


def test_a_joint_that_rested_longer_holds_more():
    """Driven at a lasting speed, stopped, and pulled after a while: 0.1 + 0.1 (1 - x exp(-t / T)), x what the
    motion had loosened."""
    actuator = servo(be.friction.Stribeck(**STRIBECK, dwell=0.5))
    held, pull = [], 0.3
    for rest in (0.1, 0.4, 2.0):
        again = 2.1 + rest

        def volts(t, again=again):
            moving = np.where(t < 2.0, 4.0, -4.0 * (t < 2.1))
            return moving + R / K * (0.1 + pull * (t - again)) * (t > again)

        run = be.simulate(
            actuator, be.bench.Flywheel(inertia=1e-3), volts, duration=5.0, dt=0.002, tolerance=1e-3
        )
        still = np.flatnonzero((run.time > 2.1) & (np.abs(run.velocity) < 1e-9))
        first = still[0]
        breaks = first + np.argmax(np.abs(run.velocity[first:]) > 1e-9) - 1
        since = run.time[breaks] - run.time[first]
        x = run["loosened"][first]
        assert 0.5 < x < 1.0
        held.append(0.1 + pull * (run.time[breaks] - again))
        assert held[-1] == pytest.approx(0.1 + 0.1 * (1.0 - x * math.exp(-since / 0.5)), abs=1e-3)
    assert held[0] < held[1] < held[2]


def test_load_counts_by_its_square_and_by_who_drives():
    m4 = be.friction.M4(**LOADED)
    more = dataclasses.replace(m4, load_quadratic=0.5)
    assert more.level(1.0, 0.8, -0.4, 1.0) == pytest.approx(0.2 + 0.15 * 1.2 * 1.6)
    assert more.level(0.0, 0.8, -0.4, 1.0) == pytest.approx(0.1 + 0.1 * 1.2 * 1.6)
    sided = dataclasses.replace(m4, load_asymmetry=0.25)
    lifts, lowers = (sided.level(0.0, 0.8, -0.8, d) for d in (1.0, -1.0))
    assert (lifts, lowers) == (pytest.approx(0.1 + 0.1 * 1.6 * 1.25), pytest.approx(0.1 + 0.1 * 1.6 * 0.75))
    assert sided.level(0.0, -0.8, 0.8, -1.0) == lifts  # the mirror image
    assert be.friction.M3(coulomb=0.1, load=0.1, load_quadratic=0.5).level(0.0, 0.8, -0.4, 1.0) == (
        pytest.approx(0.1 + 0.1 * 1.2 * 1.6)
    )


def test_at_the_rotor_and_behind_gears_it_is_the_same_friction():
    gearbox = be.gearbox.Gearbox(ratio=20.0, n_motors=2)
    own = be.friction.M4(**LOADED, load_quadratic=0.5, load_asymmetry=0.2, peak=0.3)
    seen = gearbox.reflect(own)
    torques = (0.8, -0.4)
    n = gearbox.ratio * gearbox.n_motors
    assert seen.level(0.7, *(n * t for t in torques), 1.0) == pytest.approx(n * own.level(0.7, *torques, 1.0))
    assert seen.stribeck(0.05 / 20.0) == pytest.approx(own.stribeck(0.05))


def test_springs_slip_at_the_level_of_the_load():
    """Without load it is Maxwell slip, to the last digit; under load it slips at the load's level."""
    springs = {"stiffness": 60.0, "softening": 2.0}
    flat = {"coulomb": 0.1, "static": 0.1, "stribeck_velocity": 0.5}
    bare = be.friction.MaxwellSlip(coulomb=0.1, **springs)
    loaded = be.friction.LoadMaxwellSlip(**flat, **springs, load=0.0, load_stribeck=0.0)
    push = lambda t: 0.6 * np.sin(5.0 * t)  # noqa: E731
    runs = [
        be.simulate(servo(f), be.bench.Flywheel(inertia=1e-3), push, duration=3.0, dt=0.01)
        for f in (bare, loaded)
    ]
    np.testing.assert_allclose(runs[0].position, runs[1].position, rtol=0, atol=1e-15)
    heavy = dataclasses.replace(loaded, load=0.3)
    z, torque = (0.0,) * 4, 0.0
    for _ in range(200):
        z, torque = heavy.deflect(z, 0.1, heavy.level(0.0, 0.5, -0.5, 1.0), 0.01)
    assert torque == pytest.approx(0.1 + 0.3 * 1.0)
    plain = heavy.as_lugre(0.1, 0.2)
    assert (plain.coulomb, plain.static, plain.stiffness) == (0.1, 0.2, 60.0)


@pytest.mark.parametrize("number", ["peak", "dwell"])
def test_what_bends_does_not_rest(number):
    with pytest.raises(InvalidValue, match=rf"friction\.{number}.*LuGre bends.*M4"):
        be.friction.LuGre(**STRIBECK, stiffness=80.0, **{number: 0.2})
