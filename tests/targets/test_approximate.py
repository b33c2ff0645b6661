"""How far apart two actuators move, and the numbers that come closest, on cases with known answers."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest

import backemf as be
from backemf.targets.approximate import _weights, best, difference, enough, near, positions, with_settings
from backemf.targets.reference_motions import ReferenceMotion, make_case
from backemf.targets.replay import Replay, _replay_case

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


def test_a_replay_is_compared_with_backemf_the_recording_and_itself():
    """The simulator is off by 8 mrad, then by -4, and an eighth of that at an eighth of the step; our copy of
    its step by -3 more, and the recording by -1 from when there is one."""

    def run(files, joint, at, **more):
        t = at.moments
        off = np.where(t < 0.15 - 1e-9, 8e-3, -4e-3) * (1.0 if at.timestep == 0.01 else 0.125)
        return 0.5 + 2.0 / 60 * (1 - np.exp(-60 * t)) + off

    given = motion(31, speed=2.0)
    there = 0.5 + 2.0 / 60 * (1 - np.exp(-60 * given.time))
    case = given._replace(measured=np.where(given.time < 0.1, math.nan, there - 1e-3))
    clock = make_case(case, {"voltage_target": 1.0}, 0.01, "rotary")
    module = SimpleNamespace(run=run, our_step=lambda *given: run(*given) - 3e-3)
    made = SimpleNamespace(actuator=BARE, files={}, joint="knee", ctrl={"voltage_target": 1.0})
    one = _replay_case(module, made, case, clock, run({}, "", clock), True)
    d = np.where(case.time < 0.15 - 1e-9, 8e-3, -4e-3)
    after = (d + 1e-3)[case.time >= 0.1 - 1e-9]
    found = (one.target_native, one.worst_native, one.target_log, one.native_log, one.step_difference)
    rms = np.sqrt(np.mean(d**2)), 8e-3, np.sqrt(np.mean(after**2)), 1e-3, 3e-3
    assert (*found, one.refinement) == pytest.approx((*rms, 8e-3), rel=0.02)
    assert one.target == pytest.approx(there + d, abs=1e-9)
    assert one.native == pytest.approx(there, abs=2e-5)
    other = dataclasses.replace(one, target_native=0.0, target_log=None)
    both = Replay(simulator="one", cases=(one, other), timestep=0.01)
    assert (both.rms, both.worst) == pytest.approx((one.target_native / math.sqrt(2), one.worst_native))
    assert both.against_logs() == pytest.approx((one.target_log, one.native_log))
    assert dataclasses.replace(both, cases=(other,)).against_logs() is None
