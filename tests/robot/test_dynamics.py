"""What joints carry along a motion, against closed forms; and the ground below."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.logs.robot import Ground
from backemf.mujoco.robot.contact import clearance, stretches
from backemf.mujoco.robot.robot_motion import joint_loads, motion_of, smooth, window_of

from .arms import ARM

ROD = """
<mujoco><worldbody><body pos="0 0 0.5">
<joint name="swing" axis="0 1 0" armature="0.5" damping="3" frictionloss="2"/>
<inertial pos="0.2 0 0" mass="0.3" diaginertia="0.001 0.001 0.001"/>
<geom type="sphere" pos="0.2 0 0" size="0.03"/></body></worldbody></mujoco>
"""
"""A weight of 0.3 kg at 0.2 m, level at 0; what the model says of the actuator must not count."""


@pytest.fixture
def rod(tmp_path):
    (tmp_path / "rod.xml").write_text(ROD)
    return be.Robot.read(tmp_path / "rod.xml")


def log_of(robot, t, **positions):
    from backemf.logs.log import Log

    joints = {n: be.log(n, t, position=q, position_target=q) for n, q in positions.items()}
    return Log(name="run", signals={}, joints=joints, robot=robot)


def test_a_swinging_weight_carries_gravity_and_its_own_inertia(rod):
    t = np.arange(0, 4, 0.01)
    q = 0.7 * np.sin(2 * t)
    motion = motion_of(rod, log_of(rod, t, swing=q))
    along = joint_loads(rod, motion)
    m, l, g = 0.3, 0.2, 9.81
    assert along.inertia[:, 0] == pytest.approx(m * l**2 + 1e-3, rel=1e-6)
    # about +y a weight in +x falls towards positive angles
    assert along.load[:, 0] == pytest.approx(m * g * l * np.cos(motion.position[:, 0]), abs=1e-9)
    inside = slice(10, -10)
    assert motion.velocity[inside, 0] == pytest.approx(1.4 * np.cos(2 * t)[inside], abs=2e-3)
    assert motion.acceleration[inside, 0] == pytest.approx(-2.8 * np.sin(2 * t)[inside], abs=2e-2)


def test_the_loads_of_an_arm_add_up_to_its_inverse_dynamics(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    robot = be.Robot.read(tmp_path / "arm.xml")
    t = np.arange(0, 3, 0.01)
    q = {n: 0.4 * np.sin((k + 2) * t) for k, n in enumerate(robot.names)}
    motion = motion_of(robot, log_of(robot, t, **q))
    along = joint_loads(robot, motion)
    assert along.inertia * motion.acceleration - along.load == pytest.approx(along.torque, abs=1e-9)
    # at rest the load is gravity's alone: the wrist lifts 0.1 kg at 0.05 m, and the elbow that and its own
    rest = motion_of(robot, log_of(robot, t, **{n: 0 * t for n in robot.names}))
    level = joint_loads(robot, rest).load[0]
    assert level[2] == pytest.approx(9.81 * 0.1 * 0.05, rel=1e-6)
    assert level[1] == pytest.approx(9.81 * (0.15 * 0.1 + 0.1 * 0.25), rel=1e-6)


def test_noise_asks_for_a_longer_window_than_motion():
    t, rng = np.arange(0, 6, 0.005), np.random.default_rng(0)
    slow, fast = 0.5 * np.sin(2 * t), 0.5 * np.sin(60 * t)
    noisy = (slow + rng.normal(0, 2e-3, len(t)))[:, None]
    clean = (fast + rng.normal(0, 1e-5, len(t)))[:, None]
    assert window_of(t, noisy, np.array([2e-3])) > window_of(t, clean, np.array([1e-5]))


def test_smoothing_does_not_reach_across_a_gap():
    t = np.concatenate([np.arange(0, 1, 0.01), np.arange(3, 4, 0.01)])
    q = np.where(t < 2, 0.0, 1.0)[:, None]
    _, v, _ = smooth(t, q, 9)
    assert np.abs(v).max() < 1e-9


def test_the_lowest_point_and_what_a_push_there_does(rod):
    q = np.array([[0.0], [0.5]])
    there = clearance(rod, q)
    assert there is not None
    assert there.height == pytest.approx([0.5 - 0.03, 0.5 - 0.2 * np.sin(0.5) - 0.03], abs=1e-9)
    # a push upwards turns the arm back: one newton at the horizontal distance
    assert there.push[:, 0] == pytest.approx([-0.2, -0.2 * np.cos(0.5)], abs=1e-9)


def test_a_tilted_ground_lies_where_it_says():
    ground = Ground(height=0.1, x_slope=0.05, y_slope=-0.02)
    assert ground.under(np.array([1.0, 2.0, 5.0])) == pytest.approx(0.1 + 0.05 - 0.04)
    w, x, y, z = ground.turned
    normal = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
    assert normal == pytest.approx(np.array([-0.05, 0.02, 1.0]) / np.sqrt(1 + 0.05**2 + 0.02**2))


def test_stretches_of_a_mask():
    assert stretches(np.array([1, 1, 0, 1, 0, 0, 1], bool)) == [(0, 2), (3, 4), (6, 7)]


def test_a_log_shorter_than_the_window_is_refused(rod):
    t = np.arange(0, 0.05, 0.01)
    with pytest.raises(be.BackemfError, match="record longer"):
        motion_of(rod, log_of(rod, t, swing=0 * t))
