"""What joints carry along a motion, against closed forms; and the ground below."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.logs.log import Log
from backemf.logs.robot import Ground
from backemf.mujoco.robot.contact import clearance, stretches
from backemf.mujoco.robot.robot_motion import (
    WINDOWS,
    _followed_share,
    first_touch,
    joint_loads,
    motion_of,
    part_of,
    restarts_every,
    room,
    smooth,
    window_of,
)

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


@pytest.mark.parametrize("clock", ["even", "uneven", "missing"])
def test_a_cubic_is_smoothed_to_itself(clock):
    """With its derivatives, also beside a gap and up to the ends; four samples alone are left as they are."""
    t = 0.01 * np.arange(60)
    if clock == "uneven":
        t = t + np.random.default_rng(2).uniform(-4e-3, 4e-3, 60)
    if clock == "missing":
        t = np.delete(t, [20, 41])
    t = np.concatenate([t, 3.0 + 0.01 * np.arange(6), 5.0 + 0.01 * np.arange(4)])
    factors = np.array([[0.3, -1.0], [2.0, 0.4], [-3.0, 1.0], [1.5, -0.7]])
    exact = [np.polynomial.Polynomial(column) for column in factors.T]
    found = smooth(t, np.stack([p(t) for p in exact], axis=1), 9)
    for order, values in enumerate(found):
        want = np.stack([(p.deriv(order) if order else p)(t) for p in exact], axis=1)
        want[-4:] = want[-4:] if order == 0 else 0.0
        np.testing.assert_allclose(values, want, atol=1e-8)


@pytest.mark.parametrize("n", [5, 7, 11, 45])
def test_a_cubics_share_of_the_noise_is_its_middle_sample(n):
    from scipy.signal import savgol_coeffs

    assert _followed_share(n) == pytest.approx(savgol_coeffs(n, 3)[n // 2])


def test_how_long_a_window_is():
    """A fast sine with noise is followed by cubics that are neither too short nor too long for it; what does
    not move tells nothing, and is smoothed over 0.2 s."""
    t = np.arange(0, 6, 0.005)
    noise = np.random.default_rng(0).normal(0, 1e-3, (len(t), 1))
    exact = 0.5 * np.sin(12 * t)[:, None]
    off = {n: np.std(smooth(t, exact + noise, n)[0][50:-50] - exact[50:-50]) for n in WINDOWS if n < 41}
    best = min(off, key=lambda n: off[n])
    assert min(off) < best < max(off)
    assert off[window_of(t, exact + noise, np.array([1e-3]))] < 1.05 * off[best]
    assert window_of(t, 0.0 * noise, np.array([1e-3])) == 35
    assert window_of(0.03 * np.arange(200), 0.0 * noise[:200], np.array([1e-3])) == 5


def test_a_motion_of_joints_on_other_clocks(tmp_path):
    """Between samples as recorded, across what is missing straight; unrecorded ones rest in the middle."""
    (tmp_path / "arm.xml").write_text(ARM.replace('joint name="wrist"', 'joint name="wrist" range="-1 2"'))
    robot = be.Robot.read(tmp_path / "arm.xml")
    t, late = np.arange(0, 1, 0.01), np.arange(-0.105, 1.2, 0.02)
    line = np.where((late > 0.3) & (late < 0.5), np.nan, 0.3 + 0.5 * late)
    holed = np.where((t > 0.605) & (t < 0.635), np.nan, 0.1 - t)
    joints = {
        "shoulder": be.log("shoulder", t, position=holed),
        "elbow": be.log("elbow", late, position=line),
    }
    motion = motion_of(robot, Log(name="run", signals={}, joints=joints, robot=robot))
    want = np.stack([0.1 - t, 0.3 + 0.5 * t, 0.5 + 0 * t], axis=1)
    np.testing.assert_allclose(motion.position, want, atol=1e-9)
    np.testing.assert_allclose(motion.velocity, np.tile([-1.0, 0.5, 0.0], (len(t), 1)), atol=1e-8)
    assert np.isnan(motion.recorded[:, 0]).sum() == 3
    whole = part_of(motion, slice(10, 20))
    np.testing.assert_array_equal(whole.recorded[:, 1:], motion.recorded[10:20, 1:])


@pytest.mark.parametrize(
    ("seconds", "first", "n"), [(0.5, 50, 7), (0.0, None, 0), (1e-6, 2, 198), (3.99, None, 0), (3.97, 397, 1)]
)
def test_a_prediction_begins_anew_after_so_long(seconds, first, n):
    """At the same distance each time, and never at the last two samples."""
    found = restarts_every(0.01 * np.arange(400), seconds)
    assert found == [first * (k + 1) for k in range(n)]


@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize("most", [None, 0.9, 1.1])
def test_how_far_a_joint_may_go_before_something_touches(tmp_path, way, most):
    """A ball of 30 mm on an arm of 0.2 m, 0.5 m up, meets a table at 0.3 m by an angle; half a degree is
    looked at a time, within the joint's range."""
    ends = sorted((-0.5 * way, most * way)) if most else (None, None)
    text = ROD.replace("0 1 0", f"0 {way} 0").replace("<worldbody>", '<compiler angle="radian"/><worldbody>')
    (tmp_path / "rod.xml").write_text(
        text.replace("axis", f'range="{ends[0]} {ends[1]}" axis' if most else "axis")
    )
    robot, stood = be.Robot.read(tmp_path / "rod.xml"), {"swing": 0.1 * way}
    meets, step = np.arcsin((0.5 - 0.03 - 0.3) / 0.2), np.radians(0.5)  # 1.02
    free = room(robot, "swing", stood, 0.3)
    behind, ahead = ((free.low, free.below), (free.high, free.above))[:: int(way)]
    assert behind == (-0.5 * way if most else None, "")
    assert (free.already, free.looked) == ((), True)
    assert ahead == (0.9 * way, "") if most == 0.9 else meets - step <= way * ahead[0] <= meets
    assert room(robot, "swing", stood)[:4] == (*ends, "", "")
    angles = way * np.linspace(0, meets + 0.1, 100)[:, None]
    for clear in (0.0, 0.05):
        touch = first_touch(robot, angles, 0.3, clear)
        there = np.arcsin((0.5 - 0.03 - clear - 0.3) / 0.2)
        assert abs(angles[touch.place - 1, 0]) <= there <= abs(angles[touch.place, 0])
        assert "what stands still" in touch.words
    assert first_touch(robot, angles[:25], 0.3) is None
    assert first_touch(robot, angles[::-1][:25], 0.3) is None, "it touched from the beginning"
