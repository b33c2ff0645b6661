"""Logs of robots: names that differ, joints with clocks of their own, wrong orders and units, arrays."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.logs import mapping
from backemf.logs.joint_matching import match
from backemf.logs.robot import Joint, Robot

from .test_joints import ROBOT, table

LEG = Robot(
    name="leg",
    joints=(
        Joint(name="FL_hip_joint", low=-1.0, high=1.0),
        Joint(name="FL_thigh_joint", low=-1.5, high=3.4),
        Joint(name="FL_calf_joint", low=-2.7, high=-0.8),
    ),
    model="",
)
T = 0.01 * np.arange(300)
Q = np.stack([0.4 * np.sin(T), 0.8 + 0.5 * np.sin(2 * T), -1.6 + 0.4 * np.cos(3 * T)], axis=1)


def columns(names=LEG.names, q=Q, u=None, position="position", target="target"):
    u = q + 0.02 if u is None else u
    both = {f"{n}.{position}": q[:, k] for k, n in enumerate(names)}
    return {"time": T} | both | {f"{n}.{target}": u[:, k] for k, n in enumerate(names)}


@pytest.mark.parametrize(
    "recorded",
    [("FL_hip", "FL_thigh", "FL_calf"), ("flHipJoint", "flThighJoint", "flCalfJoint"), LEG.names[::-1]],
    ids=["shorter", "spelled", "reversed"],
)
def test_names_need_not_be_spelled_alike(tmp_path, recorded):
    order = [0, 1, 2] if recorded != LEG.names[::-1] else [2, 1, 0]
    (log,) = be.read(table(tmp_path, columns(recorded, Q[:, order])), bench=LEG)
    assert tuple(log.joints) == LEG.names
    for k, joint in enumerate(LEG.names):
        assert np.allclose(log[f"{joint}.position"], Q[:, k], atol=1e-6)
        assert np.allclose(log[f"{joint}.position_target"], Q[:, k] + 0.02, atol=1e-6)


def test_the_only_gripper_is_the_only_tool():
    assert match(["lift", "lift_roll", "gripper"], ROBOT) == {
        "lift": "lift",
        "lift_roll": "lift_roll",
        "gripper": "jaw",
    }
    assert match(["0", "1", "2"], ROBOT) == dict(zip("012", ROBOT.names, strict=True))
    assert match(["a", "b"], ROBOT) == {}


def test_names_that_nearly_match_are_an_error_with_both_sides(tmp_path):
    with pytest.raises(be.BackemfError) as error:
        be.read(table(tmp_path, columns(("FL_hip", "FL_thihg", "FL_calf"))), bench=LEG)
    text = str(error.value)
    assert 'say which is which: --map "FL_thigh_joint=FL_thihg"' in text
    assert "FL_thihg          -               FL_thigh_joint?" in text
    (log,) = be.read(tmp_path / "run.csv", bench=LEG, map="FL_thigh_joint=FL_thihg")
    assert np.allclose(log["FL_thigh_joint.position"], Q[:, 1], atol=1e-6)


def test_a_joint_without_a_channel_is_said(tmp_path):
    (log,) = be.read(table(tmp_path, columns(LEG.names[:2], Q[:, :2])), bench=LEG)
    (f,) = log.findings
    assert f.code == "joints_not_recorded"
    assert f.text.startswith("FL_calf_joint of leg has no channel in run: taken to rest in the middle")


def test_a_joint_by_its_column_with_its_sign_and_zero(tmp_path):
    there = columns() | {"enc_3": np.degrees(-Q[:, 2])}
    del there["FL_calf_joint.position"]
    told = ["FL_calf_joint.position=enc_3[deg],-1", "FL_hip_joint=FL_hip_joint,-1+0.1"]
    (log,) = be.read(table(tmp_path, there), bench=LEG, map=told)
    assert np.allclose(log["FL_calf_joint.position"], Q[:, 2], atol=1e-6)
    assert np.allclose(log["FL_hip_joint.position"], 0.1 - Q[:, 0], atol=1e-6)
    assert np.allclose(log["FL_hip_joint.position_target"], 0.1 - (Q[:, 0] + 0.02), atol=1e-6)


def test_a_mapping_of_joints_is_saved_and_read_back(tmp_path):
    told = [
        "FL_hip_joint=hip,-1",
        "FL_calf_joint.position=enc[deg]",
        "position=q.a[deg]",
        "position=q.b[deg]",
    ]
    path = mapping.write(told, tmp_path / "rig.json", joints=LEG.names)
    again = mapping.mapping(str(path), LEG.names)
    assert sorted(map(str, again)) == sorted(told)
    with pytest.raises(be.BackemfError, match="unknown signal or joint in 'FL_hp_joint=hip'"):
        mapping.mapping("FL_hp_joint=hip", LEG.names)
    with pytest.raises(be.BackemfError, match="unknown signal in 'FL_hip_joint=hip'"):
        mapping.mapping("FL_hip_joint=hip")


def test_joints_may_have_clocks_of_their_own(tmp_path):
    there = columns() | {f"{n}.time": T + 0.001 * k for k, n in enumerate(LEG.names)}
    (log,) = be.read(table(tmp_path, there), bench=LEG)
    for k, joint in enumerate(LEG.names):
        assert np.allclose(log.joints[joint].time, T + 0.001 * k)


def test_recorders_words_for_what_was_asked_and_seen(tmp_path):
    there = {"timestamp": T}
    there |= {f"observation.state.{n}.pos": Q[:, k] for k, n in enumerate(LEG.names)}
    there |= {f"action.{n}.pos": Q[:, k] + 0.02 for k, n in enumerate(LEG.names)}
    (log,) = be.read(table(tmp_path, there), bench=LEG)
    assert np.allclose(log["FL_calf_joint.position_target"], Q[:, 2] + 0.02, atol=1e-6)


def test_targets_in_another_order_are_refused(tmp_path):
    with pytest.raises(be.BackemfError) as error:
        be.read(table(tmp_path, columns(u=Q[:, [0, 2, 1]] + 0.02)), bench=LEG)
    text = str(error.value)
    assert "run has positions and targets in different orders" in text
    assert "FL_thigh_joint  FL_calf_joint" in text
    assert "FL_hip_joint" not in text.partition("position of")[2]


def test_degrees_that_nobody_states_are_refused(tmp_path):
    path = table(tmp_path, columns(q=np.degrees(Q)))
    with pytest.raises(be.BackemfError) as error:
        be.read(path, bench=LEG)
    assert "its positions are no radians of leg: they look like degrees" in str(error.value)
    told = ["position=position[deg]", "position_target=target[deg]"]
    (log,) = be.read(path, bench=LEG, map=told)
    assert np.allclose(log["FL_calf_joint.position"], Q[:, 2], atol=1e-6)


def test_columns_without_names_in_another_order_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", time=T, position=Q[:, [2, 0, 1]], position_target=Q[:, [2, 0, 1]])
    with pytest.raises(be.BackemfError, match=r"FL_hip_joint, FL_calf_joint would be beyond their range"):
        be.read(tmp_path / "a.npz", bench=LEG)
    np.savez(tmp_path / "b.npz", time=T, position=Q, position_target=Q)
    (log,) = be.read(tmp_path / "b.npz", bench=LEG)
    assert np.allclose(log["FL_calf_joint.position"], Q[:, 2])


def test_a_named_joint_beyond_its_range_is_a_finding(tmp_path):
    off = Q + np.array([0.0, 0.0, 1.5])
    (log,) = be.read(table(tmp_path, columns(q=off)), bench=LEG)
    (f,) = log.findings
    assert f.code == "beyond_range"
    assert f.text.startswith("FL_calf_joint is recorded from -0.5 to 0.3, its range is -2.7 to -0.8")


def test_a_log_that_is_too_short(tmp_path):
    short = {k: v[:5] for k, v in columns().items()}
    with pytest.raises(be.BackemfError, match="5 samples of a motion; expected 7 at least"):
        be.read(table(tmp_path, short), bench=LEG)


def test_arrays_by_joint_and_as_matrices():
    by_name = {n: Q[:, k] for k, n in enumerate(LEG.names)}
    one = be.log("run", T, bench=LEG, position=by_name, position_target=Q + 0.02)
    two = be.log(
        "run", T, bench=LEG, position=Q[:, ::-1], position_target=Q[:, ::-1] + 0.02, joints=LEG.names[::-1]
    )
    for log in (one, two):
        assert tuple(log.joints) == LEG.names
        assert log.robot is LEG
        assert np.array_equal(log["FL_calf_joint.position"], Q[:, 2])
        assert np.array_equal(log["FL_hip_joint.position_target"], Q[:, 0] + 0.02)
    clocks = {n: T + 0.001 * k for k, n in enumerate(LEG.names)}
    late = be.log("run", clocks, bench=LEG, position=by_name)
    assert np.array_equal(late.joints["FL_calf_joint"].time, T + 0.002)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"position": Q.T},
            r"position has 300 columns for 3 joints \(is it \(joints, samples\)\? transpose it\)",
        ),
        ({"position": Q[:, 0]}, r"position has the shape \(300,\); expected \(samples, joints\)"),
        ({"position": {"hip": Q[:, 0]}}, "no channel has the name of a joint of leg"),
        ({"position": Q[:, :2], "joints": ["FL_hip", "FL_cafl"]}, r'--map "FL_thigh_joint=FL_cafl"'),
        ({"velocity": Q}, "a log of a robot has positions, or what is asked of one .*; given: velocity"),
        ({"position": Q[:, [2, 0, 1]]}, "would be beyond their range"),
        ({"position": Q, "position_target": "sine"}, "position_target is 'sine'; expected numbers"),
        ({"position": Q, "command": "step size=1rad"}, "a robot has no one command"),
        ({"position": Q[:200]}, r"run, FL_hip_joint: a signal has \(300,\) times and \(200,\) values"),
    ],
)
def test_arrays_that_do_not_fit(given, message):
    with pytest.raises(be.BackemfError, match=message):
        be.log("run", T, bench=LEG, **given)
