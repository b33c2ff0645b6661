"""How far apart two actuators move, and the numbers that come closest, on cases with known answers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import backemf as be
from backemf.targets.approximate import _weights, best, difference, enough, near, positions, with_settings
from backemf.targets.reference_motions import ReferenceMotion

from .clock import DRIVES, GEARED


@pytest.mark.parametrize(
    ("asked", "closed", "got"),
    [
        (0.5, 1.0, 0.5),
        (2.9, 1.0, 2.9),
        (5.0, 1.0, 3.0),
        (0.1, 1.0, 1 / 3),
        (-1.0, 6.0, 2.0),
        (5.0, 0.0, 5.0),
        (-5.0, 0.0, 0.0),
        (-5.0, -1.0, 0.0),
    ],
)
def test_numbers_stay_within_a_factor_of_three(asked, closed, got):
    assert near(asked, closed) == pytest.approx(got)


def test_a_difference_is_a_root_mean_square_and_a_worst():
    assert difference(np.array([1.0, 5.0]), np.array([4.0, 1.0])) == pytest.approx((math.sqrt(12.5), 4.0))
    for bad in (math.inf, math.nan):
        assert difference(np.array([1.0, bad]), np.zeros(2)) == (math.inf, math.inf)


def motion(n=3, name="one", speed=0.0, **settings):
    """A turning shaft that nothing drives."""
    time = 0.01 * np.arange(n)
    target = {"voltage_target": np.zeros(n)}
    start = {"position": 0.5, "velocity": speed}
    return ReferenceMotion(name, be.bench.Flywheel(inertia=0.004), time, target, start, settings=settings)


def test_each_motion_weighs_one_over_its_own_error():
    motions = [motion(2), motion(4), motion(3)]
    d = np.array([1.0, -1.0, 3.0, -3.0, 3.0, -3.0, 5.0, 5.0, 5.0])
    assert _weights(d, motions) == pytest.approx(np.array([1.0] * 2 + [1 / 3] * 4 + [0.2] * 3))
    # of errors 0.1, 3 and 5 the first counts as 0.3 of their median; what is lost counts as 1e3
    d[:2] = 0.1
    assert _weights(d, motions)[:2] == pytest.approx(1 / 0.9)
    d[6:] = math.inf
    assert _weights(d, motions)[6:] == pytest.approx(1e-3)


BARE = dataclasses.replace(
    DRIVES["voltage"],
    motor=be.motor.Motor(resistance=4.0, torque_constant=0.01, rotor_inertia=1e-7),
    friction=be.friction.Viscous(viscous=0.05),
)
"""On a flywheel of 0.004 kg m^2 and its own 0.001 a damping of 0.25 and 0.05 N m s/rad: 60 /s."""


def test_positions_come_one_motion_after_the_other():
    slow, fast = motion(3, speed=1.0), motion(5, speed=3.0)
    q = positions(BARE, [slow, fast])
    t = np.concatenate([slow.time, fast.time])
    speed = np.array([1.0] * 3 + [3.0] * 5)
    # a resistance at 0 V brakes like a damper; "to tolerance" is 2e-5
    assert q == pytest.approx(0.5 + speed / 60 * (1 - np.exp(-60 * t)), abs=3e-5)
    assert len(enough(BARE, [slow, fast])) == 2
    coarse = positions(BARE, [slow, fast], [1, 64])
    assert coarse == pytest.approx(q, abs=2e-3)


def test_settings_of_a_recording_are_taken_over():
    tuned = with_settings(BARE)({"motor.resistance": 2.0, "motor.colour": 3.0})
    assert tuned.motor.resistance == 2.0
    q = positions(BARE, [motion(40, speed=1.0, **{"motor.resistance": 2.0})])
    assert q[-1] == pytest.approx(0.5 + 1 / 110, abs=3e-5)  # 0.5 + 0.05 N m s/rad over 0.005 kg m^2


def test_a_stand_in_for_torque_follows_it_as_current():
    asked = motion(20)._replace(command={"torque_target": np.full(20, 0.1)})
    q = positions(dataclasses.replace(BARE, drive=be.drive.Current()), [asked])
    # 0.1 A give 0.1 N m at the joint: 0.1 / 0.05 rad/s in the end, with a time constant of 0.1 s
    t = asked.time
    assert q == pytest.approx(0.5 + 2.0 * (t - 0.1 * (1 - np.exp(-t / 0.1))), abs=1e-4)


def test_the_numbers_that_come_closest_are_found():
    truth, motions = BARE.replace(**{"friction.viscous": 0.12}), [motion(30, speed=s) for s in (1.0, 4.0)]
    rich = positions(truth, motions)

    def make(x):
        return BARE.replace(**{"friction.viscous": float(x[0])})

    fit = best(make, [0.05], [0.05], rich, motions)
    # held to its closed form a little: doubling must save a tenth of the error
    assert fit.x[0] == pytest.approx(0.12, rel=0.1)
    assert fit.difference.rms < 0.1 * difference(positions(BARE, motions), rich).rms
    assert fit.difference == pytest.approx(difference(positions(make(fit.x), motions), rich))
    kept = best(make, [0.12], [0.12], rich, motions)
    assert (kept.x[0], kept.difference.worst) == (0.12, 0.0)


def test_teeth_and_limits_do_not_stop_the_comparison():
    assert np.isfinite(positions(GEARED, [motion(3)._replace(command={"position_target": np.ones(3)})])).all()
