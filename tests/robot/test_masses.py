"""What a robot's model may be wrong about: slopes against the inverse dynamics of changed models."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.mujoco.robot.masses import change_robot, slopes, unknowns
from backemf.mujoco.robot.robot_motion import joint_loads, motion_of

from .arms import ARM
from .simulated import commands


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM)
    return be.Robot.read(path)


@pytest.fixture(scope="module")
def motion(robot):
    t, asked = commands(3, 6.0)
    joints = {name: be.log(name, t, position=q, position_target=q) for name, q in asked.items()}
    return motion_of(robot, be.Log(name="run", signals={}, joints=joints, robot=robot))


def test_the_model_with_its_own_numbers_is_the_same(robot, motion):
    stated = {u.name: u.stated for u in unknowns(robot, 0.1)}
    one, two = joint_loads(robot, motion), joint_loads(change_robot(robot, stated), motion)
    # the model passes through its text, which has some digits less
    assert two.load == pytest.approx(one.load, abs=1e-7)
    assert two.inertia == pytest.approx(one.inertia, abs=1e-7)


def test_every_slope_is_that_of_the_changed_model(robot, motion):
    every = unknowns(robot, 0.1)
    found = slopes(robot, motion, every)
    base = joint_loads(robot, motion)
    for k, u in enumerate(every):
        # a tenth of its tolerance: what is left beyond the slope is of second order
        there = joint_loads(change_robot(robot, {u.name: u.stated + 0.1 * u.tolerance}), motion)
        for slope, one, two in (
            (found.load, base.load, there.load),
            (found.inertia, base.inertia, there.inertia),
        ):
            expected = (two - one) / 0.1
            largest = max(np.max(np.abs(base.load)) if slope is found.load else np.max(base.inertia), 1e-9)
            # of what the joint carries: a link's own rotary inertia, which goes with its mass, is left out
            assert slope[:, :, k] * u.tolerance == pytest.approx(expected, abs=5e-3 * largest), u.name


def test_numbers_have_names_units_and_tolerances(robot):
    every = {u.name: u for u in unknowns(robot, 0.1)}
    assert every["fore.mass"].stated == pytest.approx(0.15)
    assert every["fore.mass"].tolerance == pytest.approx(0.015)
    assert every["fore.centre_x"].unit == "m"
    assert every["elbow.offset"].tolerance == pytest.approx(0.03)
    assert {"payload.mass", "base.tilt_x", "base.tilt_y", "hand.mass"} <= set(every)
    with pytest.raises(be.BackemfError, match="expected a share above 0"):
        unknowns(robot, 2.0)
