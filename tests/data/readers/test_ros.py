"""Bags of ROS 2 about a robot: what was asked, by whatever message it was asked."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.errors import BackemfError
from backemf.logs.readers.ros_bag import LEGS, SentTrajectory, sample_trajectories
from backemf.logs.robot import Joint, Robot

from . import bags

TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
ROBOT = Robot(
    name="arm", joints=tuple(Joint(name=n, low=-2.0, high=2.0) for n in ("lift", "elbow", "roll")), model=""
)
T = 0.01 * np.arange(300)
Q = np.stack([np.sin(2 * T), 0.5 * np.cos(3 * T), -0.4 + 0.3 * np.sin(5 * T)], axis=1)
"""Positions of the joints, in the robot's order."""


def states(names=("roll", "lift", "elbow")):
    order = [ROBOT.place(n) for n in names]
    return [bags.state(t, list(names), q[order].tolist()) for t, q in zip(T, Q, strict=True)]


def test_joints_are_matched_by_name_whatever_their_order(tmp_path):
    (log,) = be.read(bags.write_mcap(tmp_path / "a.mcap", states()), bench=ROBOT)
    assert (log.name, tuple(log.joints)) == ("a", ROBOT.names)
    for k, joint in enumerate(ROBOT.names):
        assert np.allclose(log[f"{joint}.position"], Q[:, k])


@pytest.mark.parametrize("writer", [bags.write_mcap, bags.write_db3], ids=["mcap", "db3"])
@pytest.mark.parametrize("fields", [("reference", "feedback"), ("desired", "actual")], ids=["iron", "humble"])
def test_a_controller_s_state_has_what_was_asked(tmp_path, writer, fields):
    """Its own view of the position gives way to the joints' state."""
    kinds = bags.DEFINITIONS | ({bags.CONTROLLER: bags.IRON} if fields[0] == "reference" else {})
    more = []
    for t, q in zip(T, Q, strict=True):
        row = {"header": bags.header(t + 0.003), "joint_names": ["elbow", "lift"]}
        row |= {fields[0]: bags.point([q[1] + 0.1, q[0] + 0.2]), fields[1]: bags.point([9.0, 9.0])}
        more.append(
            ("/arm/controller_state", bags.CONTROLLER, t + 0.004, row | {"error": bags.point([0.0, 0.0])})
        )
    told = {"stored": True} if writer is bags.write_db3 else {}
    (log,) = be.read(
        writer(tmp_path / f"a.{writer.__name__[6:]}", states() + more, kinds, **told), bench=ROBOT
    )
    assert np.allclose(log["elbow.position"], Q[:, 1])
    target = log.joints["lift"].signals["position_target"]
    assert np.allclose(target.values, Q[:, 0] + 0.2)
    assert np.allclose(target.time, T + 0.003, atol=1e-6)  # on its own clock
    assert "position_target" not in log.joints["roll"]
    assert any("nearer to the motor" in text for text in log.conversions)


def test_a_bag_in_sqlite_without_definitions(tmp_path):
    (log,) = be.read(bags.write_db3(tmp_path / "a.db3", states()), bench=ROBOT)
    assert np.allclose(log["roll.position"], Q[:, 2])
    assert np.allclose(log.time, T, atol=1e-6)


def commands(topic="/forward_position_controller/commands", order=(2, 0, 1), **more):
    """Elements in another order than the joints, which follow them a little behind."""
    ahead = Q[np.minimum(np.arange(300) + 4, 299)]
    return [
        bags.array(topic, t + 0.002, u[list(order)].tolist(), **more) for t, u in zip(T, ahead, strict=True)
    ]


def test_commands_without_names_find_the_joints_that_follow_them(tmp_path):
    (log,) = be.read(bags.write_mcap(tmp_path / "a.mcap", states() + commands()), bench=ROBOT)
    (f,) = [f for f in log.findings if f.code == "order_by_motion"]
    assert f.text.endswith("they are 0 roll, 1 lift, 2 elbow.")
    for k, joint in enumerate(ROBOT.names):
        assert np.allclose(log.joints[joint].signals["position_target"].values[:296], Q[4:, k])


def test_commands_without_names_that_nobody_follows_clearly(tmp_path):
    still = [bags.state(t, list(ROBOT.names), [0.0, 0.0, 0.0]) for t in T]
    (log,) = be.read(bags.write_mcap(tmp_path / "a.mcap", still + commands()), bench=ROBOT)
    (f,) = [f for f in log.findings if f.code == "command_of_nobody"]
    assert 'say it: --map "lift.position_target=/forward_position_controller/commands.0"' in f.remedy
    told = [
        f"{j}.position_target=/forward_position_controller/commands.{k}"
        for k, j in enumerate(("roll", "lift"))
    ]
    (log,) = be.read(tmp_path / "a.mcap", bench=ROBOT, map=told)
    assert np.allclose(log.joints["lift"].signals["position_target"].values[:296], Q[4:, 0])
    assert "position_target" not in log.joints["elbow"]


def test_labels_are_names(tmp_path):
    labelled = commands(labels=("roll", "lift", "elbow"))
    (log,) = be.read(bags.write_mcap(tmp_path / "a.mcap", states() + labelled), bench=ROBOT)
    assert np.allclose(log.joints["elbow"].signals["position_target"].values[:296], Q[4:, 1])
    assert not [f for f in log.findings if f.code == "order_by_motion"]


def test_a_trajectory_is_what_the_controller_makes_of_it(tmp_path):
    """Lines between points; the second message ends the first and begins where that was."""
    first = [bags.point([0.0, 1.0], 0.0), bags.point([1.0, 0.0], 2.0)]
    second = [bags.point([0.0, 0.0], 1.0)]
    rows = [
        (
            "/arm/joint_trajectory",
            TRAJECTORY,
            at,
            {"header": bags.header(at)} | {"joint_names": ["lift", "roll"]} | {"points": p},
        )
        for at, p in ((0.5, first), (1.5, second))
    ]
    (log,) = be.read(bags.write_mcap(tmp_path / "a.mcap", states() + rows), bench=ROBOT)
    target = log.joints["lift"].signals["position_target"]
    at = {0.5: 0.0, 1.0: 0.25, 1.4: 0.45, 2.0: 0.25, 2.6: 0.0}
    for seconds, value in at.items():  # to what a line gains in the 10 ms between samples
        assert target.hold_at(np.array([seconds]))[0] == pytest.approx(value, abs=0.006)


def test_points_with_velocities_are_joined_by_cubics():
    """Halfway between rest and rest a cubic is halfway, and half again as fast as a line."""
    plan = SentTrajectory(0, ("a",), np.array([0.0, 2.0]), np.array([[0.0], [1.0]]), np.zeros((2, 1)))
    times, values = sample_trajectories([plan], 0, 3.0)["a"]
    k = int(np.searchsorted(times, 1.0))
    assert values[k] == pytest.approx(0.5, abs=1e-9)
    assert (values[k + 1] - values[k - 1]) / (times[k + 1] - times[k - 1]) == pytest.approx(0.75, rel=1e-3)


def unitree(quadruped=True):
    """Motors in Unitree's order; beyond the twelfth nothing moves in a quadruped."""
    rng = np.random.default_rng(0)
    now = {"mode": 1, "ddq": 0.0, "q_raw": 0.0, "dq_raw": 0.0, "ddq_raw": 0.0, "temperature": 30, "lost": 0}
    begins = {
        "head": [0, 0],
        "level_flag": 0,
        "frame_reserve": 0,
        "sn": [0, 0],
        "version": [0, 0],
        "bandwidth": 0,
    }
    imu = {"quaternion": [1.0, 0, 0, 0], "gyroscope": [0.0] * 3, "accelerometer": [0.0] * 3, "rpy": [0.0] * 3}
    n = 12 if quadruped else 15
    rows = []
    for t in 0.002 * np.arange(40):
        q = [0.1 * k + 0.01 * np.sin(40 * t + k) if k < n else 0.0 for k in range(20)]
        motors = [now | {"q": x, "dq": 0.1, "tau_est": rng.normal(), "reserve": [0, 0]} for x in q]
        low = begins | {"imu_state": imu | {"temperature": 20}, "motor_state": motors}
        asked = [
            {"mode": 1, "q": x + 0.05 if x else 2.146e9, "dq": 16000.0, "tau": 0.0, "kp": 25.0, "kd": 0.5}
            for x in q
        ]
        cmd = begins | {"motor_cmd": [m | {"reserve": [0, 0, 0]} for m in asked]}
        rows.append(("/lowstate", "unitree_go/msg/LowState", t, low))
        rows.append(("/lowcmd", "unitree_go/msg/LowCmd", t + 0.0005, cmd))
    return rows


@pytest.mark.parametrize("writer", [bags.write_mcap, bags.write_db3], ids=["mcap", "db3"])
def test_unitree_s_motors_have_their_legs_order(tmp_path, writer):
    """Motor 3 is the front left hip; a model may list its legs otherwise."""
    other = [f"{leg}_{part}_joint" for leg in ("FL", "FR", "RL", "RR") for part in ("hip", "thigh", "calf")]
    dog = Robot(name="dog", joints=tuple(Joint(name=n, low=-3.0, high=3.0) for n in other), model="")
    (log,) = be.read(writer(tmp_path / f"a.{writer.__name__[6:]}", unitree()), bench=dog)
    assert tuple(log.joints) == tuple(other)
    assert LEGS[3] == "FL_hip_joint"
    assert log["FL_hip_joint.position"].mean() == pytest.approx(0.3, abs=0.01)
    target = log.joints["RL_calf_joint"].signals["position_target"]
    assert target.values.mean() == pytest.approx(1.1 + 0.05, abs=0.01)
    assert target.time[0] == pytest.approx(0.0005, abs=1e-6)
    assert "torque" in log.joints["FR_hip_joint"]
    assert "velocity_target" not in log.joints["RL_calf_joint"]  # 16000 stands for nothing


def test_other_robots_of_unitree_are_told(tmp_path):
    path = bags.write_mcap(tmp_path / "a.mcap", unitree(quadruped=False))
    two = Robot(
        name="two", joints=tuple(Joint(name=n, low=-3.0, high=3.0) for n in ("hip", "knee")), model=""
    )
    with pytest.raises(BackemfError, match=r"no channel has the name of a joint of two"):
        be.read(path, bench=two)
    rest = [f"none=motor_{k}" for k in range(15) if k not in (4, 14)]
    (log,) = be.read(path, bench=two, map=["hip=motor_4", "knee=motor_14,-1", *rest])
    assert log["knee.position"].mean() == pytest.approx(-1.4, abs=0.01)


def test_a_file_that_is_no_bag(tmp_path):
    (tmp_path / "a.db3").write_bytes(b"SQLite format 3\x00" + bytes(200))
    with pytest.raises(BackemfError, match="not a bag that SQLite can read"):
        be.read(tmp_path / "a.db3")
