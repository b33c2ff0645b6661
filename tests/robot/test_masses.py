"""What a robot's model may be wrong about: slopes against the inverse dynamics of changed models."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.mujoco.robot.masses import change_robot, slopes, unknowns
from backemf.mujoco.robot.robot_motion import joint_loads, motion_of

from .arms import ARM, CRANE
from .simulated import commands


@pytest.fixture(scope="module", params=[ARM, CRANE], ids=["arm", "crane"])
def robot(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("robot") / "robot.xml"
    path.write_text(request.param.format(shape='size=".03"'))
    return be.Robot.read(path)


@pytest.fixture(scope="module")
def motion(robot):
    t, asked = commands(3, 6.0)
    asked = dict(zip(robot.names, [*asked.values(), 0.2 * np.sin(3 * t)], strict=False))
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
            # of what the joint carries: a link's own rotary inertia, which goes with its mass, is left out;
            # what a zero turns is weighed, and not accelerated
            most = 8e-3 if u.name.endswith("offset") else 5e-3
            assert slope[:, :, k] * u.tolerance == pytest.approx(expected, abs=most * largest), u.name


def test_numbers_have_names_units_and_tolerances(robot):
    """A tenth of each mass, of each link's length to the next, and of 0.3 rad."""
    every = {u.name: u for u in unknowns(robot, 0.1)}
    link, mass, total, length, place = (
        ("fore", 0.15, 0.45, 0.2, 0.1)
        if "fore.mass" in every
        else ("cart", 0.4, 1.0, np.hypot(0.05, 0.02), 0.02)
    )
    assert every[f"{link}.mass"] == (f"{link}.mass", pytest.approx(mass), pytest.approx(mass / 10), "kg")
    assert every[f"{link}.centre_x"][1:] == (pytest.approx(place), pytest.approx(length / 10), "m")
    assert every["payload.mass"] == ("payload.mass", 0.0, pytest.approx(total / 10), "kg")
    for name in ("base.tilt_x", "base.tilt_y"):
        assert every[name] == (name, 0.0, pytest.approx(0.03), "rad")
    turning = {j.name for j in robot.joints if j.motion == "rotary"}
    assert {n.partition(".")[0] for n in every if n.endswith("offset")} == turning
    assert len(every) == 4 * (3 if link == "fore" else 4) + 3 + 3
    with pytest.raises(be.BackemfError, match="expected a share above 0"):
        unknowns(robot, 2.0)
