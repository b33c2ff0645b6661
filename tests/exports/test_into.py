"""Editing a user's own model: the actuator and its joint change, every other byte stays,
and a failure leaves all files alone."""

from __future__ import annotations

import dataclasses

import mujoco
import pytest

import backemf as be
from backemf.errors import BackemfError, InvalidValue, UnknownName
from backemf.targets.export import export
from backemf.targets.mujoco.dcmotor import read
from backemf.targets.mujoco.into import into

ARM = """<mujoco model="arm">
  <!-- my own robot: keep   this <joint name="elbow"/> -->
  <include file="defaults.xml"/>
  <worldbody>
    <body name="upper"  pos="0 0 1">\t
      <joint  name='shoulder' axis="0 1 0"   damping = "0.5" />
      <geom type="capsule" size="0.03 0.2" mass="1"/>
      <body name="fore" pos="0 0 -0.4"><joint name="elbow" class="servo" axis="0 1 0"/><geom type="capsule"
        size="0.02 0.15" mass="0.5"/></body>
    </body>
  </worldbody>
  <include file="actuators.xml"/>
  <sensor><actuatorfrc actuator="a_elbow"/></sensor>
</mujoco>
"""
DEFAULTS = (
    '<mujocoinclude><default><default class="servo"><joint armature="0.01" damping="0.1" frictionloss="0.2"/>'
    '<position kp="20" forcerange="-3 3"/></default></default></mujocoinclude>\n'
)
ACTUATORS = """<mujocoinclude>
 <actuator>
  <position name="a_shoulder" joint="shoulder" kp="1000" kv="3"/>
  <position name="a_elbow" joint="elbow" class="servo" ctrlrange="-1 1"/>
 </actuator>
</mujocoinclude>
"""


@pytest.fixture
def arm(tmp_path):
    for name, text in (("arm.xml", ARM), ("defaults.xml", DEFAULTS), ("actuators.xml", ACTUATORS)):
        (tmp_path / name).write_bytes(text.replace("\n", "\r\n").encode())
    return tmp_path / "arm.xml"


def servo(to="mujoco"):
    return export(be.Actuator.read("mx-106/m1"), to)


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def test_only_the_actuator_and_its_joint_change(arm):
    before = contents(arm.parent)
    edited = into(servo(), arm, "elbow")
    assert contents(arm.parent) == before  # nothing is written yet, and nothing is left behind
    with pytest.raises(BackemfError, match=r"exists; give another name"):
        edited.write()
    edited.write(force=True)
    after = contents(arm.parent)
    assert after["defaults.xml"] == before["defaults.xml"]
    head, tail = before["arm.xml"].split(b'<joint name="elbow" class="servo" axis="0 1 0"/>')
    assert after["arm.xml"].startswith(
        head + b'<joint name="elbow" class="servo" axis="0 1 0" armature="0" damping="0"'
        b' frictionloss="0.10352026623606064"'
    )
    assert after["arm.xml"].endswith(tail)
    old = b'<position name="a_elbow" joint="elbow" class="servo" ctrlrange="-1 1"/>'
    head, tail = before["actuators.xml"].split(old)
    assert after["actuators.xml"].startswith(head + b'<dcmotor name="a_elbow" joint="elbow" ')
    assert after["actuators.xml"].endswith(tail)
    assert "every number of actuator and joint is the export's" in edited.verified
    assert 'actuator of elbow: gone are class="servo" ctrlrange="-1 1"' in edited.changes
    found = read(arm, "a_elbow").actuator
    assert found.motor == be.Actuator.read("mx-106/m1").motor
    assert found.friction == be.Actuator.read("mx-106/m1").friction


@pytest.mark.parametrize("joint", ["shoulder", "elbow"])
def test_classic_actuators_too(arm, joint):
    into(servo("mujoco-classic"), arm, joint).write(force=True)
    model = mujoco.MjModel.from_xml_path(str(arm))
    i = model.actuator(f"a_{joint}").id
    assert model.actuator_gainprm[i, 0] == pytest.approx(44.84167859907256)
    assert model.joint(joint).damping[0] == pytest.approx(1.6548121650255068)


def test_a_joint_without_an_actuator_gets_one(tmp_path):
    path = tmp_path / "one.xml"
    path.write_text(
        '<mujoco>\n <worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>\n</mujoco>\n'
    )
    into(servo(), path, "j").write(tmp_path / "two.xml")
    assert "<actuator>" not in path.read_text()
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "two.xml")).nu == 1


def test_a_joint_and_a_note_may_speak_of_backlash(tmp_path):
    path = tmp_path / "one.xml"
    path.write_text(
        '<mujoco><worldbody><body><joint name="with_backlash"/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    named = export(
        be.Actuator.read("mx-106/m1"), "mujoco", joint="with_backlash", notes="measured with_backlash"
    )
    assert into(named, path).verified.startswith("compiled")
    loose = be.gearbox.Gearbox(backlash=0.03, contact_stiffness=2000.0)
    actuator = dataclasses.replace(be.Actuator.read("mx-106/m1"), gearbox=loose)
    with pytest.raises(InvalidValue, match="an extra joint for backlash cannot be put into a model"):
        into(export(actuator, "mujoco", joint="with_backlash", backlash=True, method="formula"), path)


def test_includes_inside_includes_are_followed(arm):
    (arm.parent / "outer.xml").write_text('<mujocoinclude><include file="actuators.xml"/></mujocoinclude>')
    arm.write_text(ARM.replace("actuators.xml", "outer.xml"))
    edited = into(servo(), arm, "elbow")
    assert sorted(f.name for f in edited.files) == ["actuators.xml", "arm.xml"]
    assert edited.verified.startswith("compiled")


def test_an_unknown_joint_is_named_with_the_nearest(arm):
    before = contents(arm.parent)
    with pytest.raises(UnknownName, match=r"unknown joint in arm\.xml 'elbw'; did you mean 'elbow'"):
        into(servo(), arm, "elbw")
    assert contents(arm.parent) == before


def test_defaults_that_would_change_the_motor_are_refused(arm):
    arm.write_text(
        ARM.replace(
            '<include file="defaults.xml"/>',
            '<include file="defaults.xml"/><default><general forcerange="-1 1"/></default>',
        )
    )
    before = contents(arm.parent)
    with pytest.raises(InvalidValue, match=r"default classes change actuator_force"):
        into(servo(), arm, "shoulder")
    assert contents(arm.parent) == before


def test_a_model_that_no_longer_compiles_is_refused(arm):
    arm.write_text(ARM.replace("<sensor>", "<sensor><oops/>"))
    with pytest.raises(InvalidValue, match=r"the edited arm\.xml does not compile"):
        into(servo(), arm, "elbow")


def test_another_era_is_edited_but_not_compiled(arm):
    assert into(servo("mujoco@3.11"), arm, "elbow").verified.startswith("not compiled: the installed MuJoCo")


def test_urdf_joints_are_edited(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(
        '<robot name="r">\n <link name="a"/><link name="b"/>\n <joint name="knee" type="revolute"><parent'
        ' link="a"/><child link="b"/>\n  <limit lower="-1" upper="1"  effort="1" velocity="1"/>\n'
        " </joint>\n</robot>\n"
    )
    made = export(be.Actuator.read("mx-106/m1"), "urdf")
    into(made, path, "knee").write(force=True)
    text = path.read_text()
    assert (
        f'<limit lower="-1" upper="1"  effort="{made.numbers["effort"]!r}"'
        f' velocity="{made.numbers["velocity"]!r}"/>' in text
    )
    assert '<dynamics damping="' in text
    assert text.startswith('<robot name="r">\n <link name="a"/><link name="b"/>\n')
