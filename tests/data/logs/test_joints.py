"""Recordings of a robot: which channel is whose, and shares of a range."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.logs.joint_channels import owner
from backemf.logs.joint_plausibility import grain
from backemf.logs.robot import Joint, Robot

ROBOT = Robot(
    name="arm",
    joints=(
        Joint(name="lift", group="servo", low=-1.0, high=1.0),
        Joint(name="lift_roll", group="servo", low=-1.0, high=1.0, actuator="roll_motor"),
        Joint(name="jaw", group="servo", low=-0.2, high=1.8, tool=True),
    ),
    model="",
)
STEP = 2 * np.pi / 4096


@pytest.mark.parametrize(
    ("name", "joint", "rest"),
    [
        ("lift.position", "lift", "position"),
        ("lift_roll.position", "lift_roll", "position"),
        ("position/lift", "lift", "position"),
        ("roll_motor_target [deg]", "lift_roll", "target [deg]"),
        ("time", "", "time"),
        ("lifted.position", "", "lifted.position"),
    ],
)
def test_a_channel_belongs_to_the_longest_joint_in_its_name(name, joint, rest):
    assert owner(name, ROBOT) == (joint, rest)


def table(tmp_path, columns, name="run.csv"):
    path = tmp_path / name
    rows = np.stack(list(columns.values()), axis=1)
    lines = [",".join(columns), *(",".join(f"{x:.6f}" for x in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def columns(n=400):
    t = 0.01 * np.arange(n)
    q = np.round(0.8 * np.sin(t) / STEP) * STEP
    return {
        "time": t,
        "lift.target": q + 0.01,
        "lift.position": q,
        "lift_roll.target": -q,
        "lift_roll.position": -q,
        "jaw.target": 0.5 + 0 * t,
        "jaw.position": 0.5 + np.round(0.3 * np.sin(2 * t) / STEP * 2.2) * STEP / 2.2,
    }


def test_one_log_has_a_log_of_each_joint(tmp_path):
    (log,) = be.read(table(tmp_path, columns()), bench=ROBOT)
    assert tuple(log.joints) == ROBOT.names
    assert log.robot == ROBOT
    assert log.joints["lift"].name == "run/lift"
    assert np.allclose(log["lift.position_target"], log.joints["lift"]["position_target"])
    assert np.allclose(log["lift_roll.position"], -log["lift.position"])
    assert len(log.between(1.0, 2.0)) == 101 == len(log.between(1.0, 2.0).joints["jaw"])


def test_a_share_of_a_range_is_told_by_its_encoder_step(tmp_path):
    (log,) = be.read(table(tmp_path, columns()), bench=ROBOT)
    assert [f.code for f in log.findings if f.code == "share_of_range"] == ["share_of_range"]
    assert np.ptp(log["jaw.position"]) == pytest.approx(0.6 * 2.2, rel=0.01)
    assert log["jaw.position_target"][0] == pytest.approx(-0.2 + 0.5 * 2.2, rel=0.01)


def test_what_was_told_of_a_joint_is_for_it_alone(tmp_path):
    there = columns() | {"lift.position": np.degrees(columns()["lift.position"])}
    (log,) = be.read(table(tmp_path, there), bench=ROBOT, map="position=lift.position[deg]")
    assert np.allclose(log["lift.position"], columns()["lift.position"], atol=1e-6)
    assert np.allclose(log["lift_roll.position"], columns()["lift_roll.position"], atol=1e-6)


def test_names_of_no_joint_are_said_with_the_nearest(tmp_path):
    there = {k.replace("lift", "lft").replace("jaw", "jw"): v for k, v in columns().items()}
    with pytest.raises(be.BackemfError, match=r"lft +- +lift\?"):
        be.read(table(tmp_path, there), bench=ROBOT)


def test_an_encoder_step_is_found_under_rounding_and_not_in_noise():
    q = np.round(np.sin(np.linspace(0, 6, 900)) / STEP) * STEP
    assert grain(np.round(q, 6)) == pytest.approx(STEP, rel=1e-3)
    assert grain(np.random.default_rng(0).normal(size=500)) is None
