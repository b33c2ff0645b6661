"""Explain: physical numbers of any actuator, and the findings that each mistake deserves."""

from __future__ import annotations

import math

import pytest

import backemf as be
from backemf.errors import InvalidValue
from backemf.mujoco.explain.explanation import explain, summary, text
from backemf.targets.export import export

MODEL = """<mujoco>
  <option timestep="{h}"/>
  <worldbody>
    <body><joint name="a" axis="0 1 0" {joint}/><inertial pos="0 0 0" mass="1" diaginertia="0.05 0.05 0.05"/>
      </body>
  </worldbody>
  <actuator>{actuator}</actuator>
</mujoco>"""


def rows(tmp_path, actuator, joint='armature="0.05" damping="1"', h=0.002):
    path = tmp_path / "model.xml"
    path.write_text(MODEL.format(actuator=actuator, joint=joint, h=h))
    return explain(path)


def codes(row):
    return [f.code for f in row.findings]


def test_a_sensible_servo_has_no_findings(tmp_path):
    (row,) = rows(tmp_path, '<position name="s" joint="a" kp="20" forcerange="-5 5"/>')
    assert (row.kind, row.joint, row.stall_torque, row.stiffness) == ("position", "a", 5.0, 20.0)
    assert row.no_load_speed == pytest.approx(5.0)
    assert row.inertia == pytest.approx(0.1)
    assert row.natural_frequency == pytest.approx(math.sqrt(200.0) / (2 * math.pi))
    assert row.damping_ratio == pytest.approx(1.0 / (2 * math.sqrt(20 * 0.1)))
    assert codes(row) == []


@pytest.mark.parametrize(
    ("actuator", "joint", "h", "code"),
    [
        (
            '<position joint="a" kp="1000" forcerange="-5 5"/>',
            'armature="0.05" damping="1"',
            0.0001,
            "gain_far_from_servos",
        ),
        ('<position joint="a" kp="20"/>', 'armature="0.05" damping="1"', 0.002, "no_limit"),
        (
            '<position joint="a" kp="20" forcerange="-5 5"/>',
            'armature="0.05"',
            0.002,
            "damping_below_back_emf",
        ),
        (
            '<position joint="a" kp="20" forcerange="-5 5"/>',
            'armature="0.05" damping="0.01"',
            0.002,
            "damping_below_back_emf",
        ),
        ('<position joint="a" kp="20" forcerange="-5 5"/>', 'damping="1"', 0.002, "no_armature"),
        (
            '<position joint="a" kp="20" forcerange="-5 5"/>',
            'armature="0.05" damping="1"',
            0.05,
            "step_too_long",
        ),
        (
            '<dcmotor joint="a" motorconst="1 2" resistance="1" armature="0.1"/>',
            "",
            0.002,
            "unequal_constants_merged",
        ),
        (
            (
                '<dcmotor joint="a" motorconst="2" resistance="1" armature="0.1" input="pos" controller="20 0'
                ' 0.5 0 0 5"/>'
            ),
            "",
            0.002,
            "damping_below_back_emf",
        ),
    ],
)
def test_each_mistake_is_found(tmp_path, actuator, joint, h, code):
    (row,) = rows(tmp_path, actuator, joint, h)
    assert codes(row) == [code]


def test_an_exported_servo_is_explained_as_its_datasheet_says(tmp_path):
    actuator = be.Actuator.read("mx-106/m1")
    export(actuator, "mujoco", joint="knee").write(tmp_path / "knee.xml")
    (row,) = explain(tmp_path / "knee.xml")
    K, R = actuator.motor.torque_constant, actuator.motor.resistance
    assert row.stall_torque == pytest.approx(11.55 * K / R)
    assert row.stiffness == pytest.approx(0.158 * 32 * 12 * K / R)
    assert codes(row) == []
    assert "knee" in text([row])
    assert summary([row])["actuators"][0]["stall_torque"] == row.stall_torque


def test_other_actuators_are_listed_without_numbers(tmp_path):
    path = tmp_path / "model.xml"
    path.write_text(
        '<mujoco><worldbody><body><freejoint name="f"/><geom size="0.1"/><site name="s"/></body></worldbody>'
        '<actuator><general name="thrust" site="s" gear="0 0 1 0 0 0"/></actuator></mujoco>'
    )
    (row,) = explain(path)
    assert (row.actuator, row.joint, row.stall_torque) == ("thrust", "(not a joint)", None)


def test_a_model_that_does_not_load_is_refused(tmp_path):
    (tmp_path / "broken.xml").write_text("<mujoco><worldbod/></mujoco>")
    with pytest.raises(InvalidValue, match=r"does not load broken\.xml"):
        explain(tmp_path / "broken.xml")


def test_a_model_of_the_other_era_is_explained_by_its_own_gains(tmp_path):
    actuator = be.Actuator.read("mx-106/m1")
    for name, version in (("old.xml", "3.11"), ("new.xml", "4.0")):
        export(actuator, f"mujoco@{version}", joint="knee").write(tmp_path / name)
    (old,), (new,) = explain(tmp_path / "old.xml"), explain(tmp_path / "new.xml")
    assert old.stiffness == pytest.approx(new.stiffness, rel=1e-9)
    assert old.damping == pytest.approx(new.damping, rel=1e-9)
