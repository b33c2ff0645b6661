"""Gravity knows which way a joint turns, where it loads it."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.mujoco.robot.robot_motion import joint_loads, motion_of
from backemf.mujoco.robot.signs import Sign, signs

from .arms import ARM

STIFF = 8.0
"""What the servos hold by an error [N m/rad]."""
HANGING = ARM.replace('pos="0 0 0.4"', 'pos="0 0 0.4" quat="0.7071 0 0.7071 0"')
"""The same arm, straight down at 0: it weighs the same on both sides."""


@pytest.fixture
def arm(tmp_path):
    def make(text=ARM):
        (tmp_path / "arm.xml").write_text(text)
        return be.Robot.read(tmp_path / "arm.xml")

    return make


def moved(robot, turned=()):
    """Servos that hold the arm's weight and their friction by their error, as it would be recorded with some
    joints turned round."""
    t = 0.01 * np.arange(2000)
    q = np.stack([0.3 + 0.7 * np.sin(0.9 * t), 0.5 + 0.6 * np.sin(1.3 * t), 0.4 * np.sin(1.7 * t)], axis=1)
    motion = motion_of(robot, be.log("run", t, bench=robot, position=q))
    weight = joint_loads(robot, motion).torque
    noise = np.random.default_rng(0).normal(0, 2e-3, q.shape)
    u = q + weight / STIFF + 0.02 * np.tanh(motion.velocity / 0.02) + noise
    sign = np.array([-1.0 if n in turned else 1.0 for n in robot.names])
    return t, sign * q, sign * u


@pytest.mark.parametrize("turned", ["shoulder", "elbow", "wrist"])
def test_a_joint_turned_round_is_contradicted(arm, turned):
    robot = arm()
    t, q, u = moved(robot)
    right = signs(robot, [be.log("run", t, bench=robot, position=q, position_target=u)])
    assert {s.verdict for s in right.values()} == {"agrees"}
    t, q, u = moved(robot, [turned])
    wrong = signs(robot, [be.log("run", t, bench=robot, position=q, position_target=u)])
    assert max(wrong, key=lambda name: wrong[name].gain) == turned
    assert wrong[turned].verdict == "contradicted"


def test_what_hangs_weighs_the_same_on_both_sides(arm):
    """Turning every joint of a hanging arm is turning the picture; one alone is not."""
    robot = arm(HANGING)
    t, q, u = moved(robot)
    flat = {"shoulder": q[:, 0] - 0.3, "elbow": 0 * t, "wrist": 0 * t}
    asked = {n: (u - q)[:, k] + flat[n] for k, n in enumerate(robot.names)}
    told = signs(robot, [be.log("run", t, bench=robot, position=flat, position_target=asked)])
    assert abs(told["shoulder"].gain) < 1e-6


def write(path, robot, t, q, u):
    names = [f"{n}.{kind}" for kind in ("position", "target") for n in robot.names]
    rows = np.column_stack([t, q, u])
    path.write_text("\n".join(["time," + ",".join(names), *(",".join(f"{x:.6f}" for x in r) for r in rows)]))
    return path


def test_reading_says_it_and_refuses_to_turn_what_gravity_holds(arm, tmp_path):
    robot = arm()
    path = write(tmp_path / "right.csv", robot, *moved(robot))
    (log,) = be.read(path, bench=robot)
    assert not [f for f in log.findings if f.code == "sign_contradicted"]
    with pytest.raises(be.BackemfError, match=r"'elbow=elbow,-1' turns elbow round, but gravity contradicts"):
        be.read(path, bench=robot, map="elbow=elbow,-1")
    path = write(tmp_path / "wrong.csv", robot, *moved(robot, ["elbow"]))
    (log,) = be.read(path, bench=robot)
    (f,) = [f for f in log.findings if f.code == "sign_contradicted"]
    assert f.remedy.startswith('turn it: --map "elbow=elbow,-1"')
    (log,) = be.read(path, bench=robot, map="elbow=elbow,-1")
    assert not [f for f in log.findings if f.code == "sign_contradicted"]


@pytest.mark.parametrize(
    ("name", "joint"),
    [("so101", "elbow_flex"), ("so101", "wrist_flex"), ("go2", "FL_thigh_joint"), ("z1", "joint3")],
)
def test_real_robots(shared_data, name, joint):
    """As recorded nothing is contradicted; each of these turned round is."""
    folder = shared_data / name
    robot = be.Robot.read(folder / f"{name}.xml")
    files = (
        [folder / f"{f}.csv" for f in ("random_waypoints", "large_amplitude")]
        if name == "so101"
        else [folder / f"{name}.csv"]
    )
    logs = be.read(files, bench=robot)
    assert not [f for log in logs for f in log.findings if f.code in ("sign_contradicted", "beyond_range")]
    with pytest.raises(be.BackemfError, match=f"turns {joint} round, but gravity contradicts"):
        be.read(files, bench=robot, map=f"{joint}={joint},-1")


@pytest.mark.parametrize(
    ("votes", "verdict"),
    [
        ((0.4,), "contradicted"),
        ((-0.4,), "agrees"),
        ((0.03,) * 20, "not told"),  # a sum of what tells nothing
        ((1.0, *(-0.06,) * 8), "not told"),  # one that outvotes eight
        ((0.3, 0.2, 0.4, -0.06), "contradicted"),
        ((0.3,), "not told"),
        ((0.06,) * 7, "contradicted"),
        ((0.6, 0.6, 0.6, -0.06, -0.06), "not told"),  # two thirds must say so
        ((1.0, 0.1), "contradicted"),
        ((1.0, 1.0, -0.9), "not told"),  # three scatter too much
    ],
)
def test_logs_vote_and_none_outvotes_the_others(votes, verdict):
    assert Sign(sum(votes), votes, "elbow", 0.1, 0.6).verdict == verdict
