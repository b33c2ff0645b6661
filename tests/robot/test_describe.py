"""A robot from its file: joints, groups, a base that stands still, and what is refused."""

from __future__ import annotations

import pytest

import backemf as be
from backemf import store

from .arms import ARM, URDF


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(ARM)
    return path


def test_joints_ranges_and_groups_come_from_the_model(arm):
    robot = be.Robot.read(arm)
    assert robot.names == ("shoulder", "elbow", "wrist")
    assert robot.groups == {"servo": ("shoulder", "elbow", "wrist")}
    assert robot.joint("elbow").torque_limit == 3
    assert robot.joint("elbow").actuator == "m_elbow"
    assert robot.base == "fixed"
    assert not robot.findings


def test_a_urdf_has_joints_without_actuators(tmp_path):
    (tmp_path / "two.urdf").write_text(URDF)
    robot = be.Robot.read(tmp_path / "two.urdf")
    assert robot.names == ("j1", "j2")
    assert robot.joint("j1").torque_limit == 5
    assert (robot.joint("j1").low, robot.joint("j1").high) == (-1, 1)


def test_a_floating_base_is_held_and_said(tmp_path):
    text = ARM.replace('<joint name="shoulder" class="servo"/>', "<freejoint/>")
    text = text.replace('<position name="m_shoulder" joint="shoulder" class="servo"/>', "")
    (tmp_path / "base.xml").write_text(text)
    robot = be.Robot.read(tmp_path / "base.xml")
    assert robot.base == "held"
    assert [f.code for f in robot.findings] == ["base_held"]
    assert "freejoint" not in robot.model


@pytest.mark.parametrize(
    ("addition", "left", "why"),
    [
        ('<equality><joint joint1="elbow" joint2="wrist"/></equality>', {"elbow", "wrist"}, "equality"),
        ('<tendon><fixed name="t"><joint joint="wrist" coef="1"/></fixed></tendon>', {"wrist"}, "tendon"),
        (
            '<equality><connect body1="hand" body2="upper" anchor="0 0 0"/></equality>',
            {"elbow", "wrist"},
            "closed chain",
        ),
        ('<equality><weld site1="grip" site2="root"/></equality>', {"elbow"}, "closed chain"),
        (
            '<tendon><spatial name="t"><site site="grip"/><site site="root"/></spatial></tendon>',
            {"shoulder", "elbow"},
            "tendon",
        ),
    ],
)
def test_what_is_no_tree_of_single_joints_is_left_out_with_a_reason(tmp_path, addition, left, why):
    text = ARM.replace("</mujoco>", f"{addition}</mujoco>").replace(
        '<joint name="elbow"', '<site name="grip"/><joint name="elbow"'
    )
    (tmp_path / "arm.xml").write_text(
        text.replace('<joint name="shoulder"', '<site name="root"/><joint name="shoulder"')
    )
    robot = be.Robot.read(tmp_path / "arm.xml")
    assert set(robot.left_out) == left
    assert all(why in text for text in robot.left_out.values())
    assert not left & set(robot.names)
    gone = sorted(left)[0]
    with pytest.raises(be.BackemfError, match=f"{gone} cannot be identified"):
        robot.joint(gone)


def test_a_joint_that_is_not_there_names_the_nearest(arm):
    with pytest.raises(be.BackemfError, match="did you mean 'elbow'"):
        be.Robot.read(arm).joint("elbw")


def test_a_link_without_inertia_is_refused_with_what_to_do(tmp_path):
    (tmp_path / "two.urdf").write_text(URDF.replace('<mass value="0.3"/>', '<mass value="0"/>'))
    with pytest.raises(be.BackemfError, match="add them"):
        be.Robot.read(tmp_path / "two.urdf")


def test_meshes_that_are_missing_are_left_out(tmp_path):
    mesh = '<asset><mesh name="shell" file="shell.stl"/></asset><worldbody>'
    text = ARM.replace("<worldbody>", mesh, 1).replace(
        '<geom name="rod"', '<geom type="mesh" mesh="shell" mass="0"/><geom name="rod"'
    )
    (tmp_path / "arm.xml").write_text(text)
    robot = be.Robot.read(tmp_path / "arm.xml")
    assert [f.code for f in robot.findings] == ["meshes_missing"]
    assert "shell" not in robot.model


def test_a_robot_is_stored_and_read_back(arm, tmp_path):
    robot = be.Robot.read(arm, ground=0.01)
    store.write(robot, tmp_path / "robot.json")
    assert store.read(tmp_path / "robot.json", be.Robot) == robot


FRC = 'actuatorfrcrange="-7 6"'
GIVES = [('<motor joint="elbow" gear="-4" ctrlrange="-2 3"/>', "", 12.0),
         ('<motor joint="elbow" gear="4" ctrlrange="-2 3" forcerange="-2.5 1"/>', "", 10.0),
         ('<general joint="elbow" gainprm="-5" ctrlrange="-2 1" gear="4"/>', "", 40.0),
         ('<motor joint="elbow" gear="4" ctrlrange="-2 3"/>', FRC, 7.0),
         ('<position joint="elbow" kp="9" ctrlrange="-2 3"/>', "", None),
         ('<position joint="elbow" kp="9" forcerange="-2 3"/>', FRC, 3.0),
         ("", FRC, 7.0), ("", "", None)]  # fmt: skip


@pytest.mark.parametrize(("actuator", "joint", "limit"), GIVES)
def test_what_an_actuator_may_give(tmp_path, actuator, joint, limit):
    """The least of what its force, its command by its gain and gear, and its joint allow."""
    text = ARM.replace('<position name="m_elbow" joint="elbow" class="servo"/>', actuator)
    (tmp_path / "arm.xml").write_text(text.replace('joint name="elbow"', f'joint name="elbow" {joint}'))
    robot = be.Robot.read(tmp_path / "arm.xml")
    assert robot.joint("elbow").torque_limit == (limit and pytest.approx(limit))
    group = "servo" if limit in (None, 3.0) else f"servo {limit:g}"  # as the others, or of other hardware
    assert robot.joint("elbow").group == group


def test_a_joint_has_what_its_model_ships_and_a_name_that_tells_a_tool(tmp_path):
    shipped = 'joint name="left_Gripper" type="slide" armature=".2" damping=".3" frictionloss=".4"'
    text = ARM.replace('joint name="wrist"', shipped).replace('joint="wrist"', 'joint="left_Gripper"')
    text = text.replace('<position name="m_wrist"', '<position name="m_wrist" kp="20" kv="2"')
    (tmp_path / "arm.xml").write_text(text)
    robot = be.Robot.read(tmp_path / "arm.xml")
    jaw = robot.joint("left_Gripper")
    assert [j.tool for j in robot.joints] == [False, False, True]
    assert [j.motion for j in robot.joints] == ["rotary", "rotary", "linear"]
    assert (jaw.low, jaw.high, jaw.actuator, jaw.group) == (-2.0, 2.0, "m_wrist", "servo")
    assert jaw.shipped == {"armature": 0.2, "damping": 0.3, "frictionloss": 0.4, "kp": 20.0, "kv": 2.0}
