"""Intervals of a simulated robot whose actuators are known: three joints with gravity, one servo, noise,
encoder counts, delays, and a table that some motions touch."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be

from ...robot.arms import ARM
from ...robot.simulated import DELAYS, TRUTH, recording, truth
from .test_fit import START

TABLE = 0.02


def held(robot, seed: int) -> list[bool]:
    """Whether each number of one fit is inside its interval."""
    logs = [recording(robot, 10 * seed + k, 12.0, ground=TABLE, low=0.7 * (k == 5)) for k in range(1, 7)]
    fit = be.fit(START, logs, prior={"motor.resistance": (4.0, 0.4)}, friction="coulomb")
    known = truth()
    rows = []
    for name, p in fit.parameters.items():
        joint, _, path = name.partition(".")
        value = known[joint].parameters[path] if joint in known else TRUTH.parameters[name]
        rows.append(p.low <= value <= p.high)
    rows += [abs(b.value - DELAYS[b.group]) <= 1.96 * b.error for b in fit.bench]
    return rows


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM)
    return be.Robot.read(path)


def test_intervals_of_one_arm_hold(robot):
    # 12 numbers: with 95 % each, four or more outside would come once in 400 arms
    assert np.sum(~np.array(held(robot, 1))) <= 3


@pytest.mark.proof
def test_intervals_hold_in_90_to_98_per_cent(robot):
    rows = np.concatenate([held(robot, seed) for seed in range(20)])
    assert 0.90 <= rows.mean() <= 0.98
