"""mjlab, Isaac Lab and URDF: the text parses, names only what the target has,
and its numbers are the motor's."""

from __future__ import annotations

import ast
import dataclasses
import xml.etree.ElementTree as ElementTree

import pytest

import backemf as be
from backemf.errors import InvalidValue, MissingValue
from backemf.targets.export import export

MJLAB = {
    *(
        "target_names_expr",
        "motor_params",
        "mode",
        "stiffness",
        "damping",
        "integral_gain",
        "integral_limit",
        "slew_rate",
        "voltage_limit",
    ),
    *(
        "effort_limit",
        "gear",
        "inductance",
        "electrical_time_constant",
        "thermal",
        "cogging",
        "lugre",
        "armature",
        "frictionloss",
    ),
    *("viscous_damping", "delay_min_lag", "delay_max_lag"),
}
COMMON = {
    "joint_names_expr",
    "saturation_effort",
    "stiffness",
    "damping",
    "armature",
    "friction",
    "dynamic_friction",
    "viscous_friction",
}
ISAAC = {
    "2.3": COMMON | {"effort_limit", "velocity_limit"},
    "3.0": COMMON | {"actuator_effort_limit", "actuator_velocity_limit"},
}
GEARED = be.Actuator(
    motor=be.motor.Motor(
        resistance=4.0, torque_constant=0.01, rotor_inertia=1e-7, limits=be.motor.Limits(torque=0.02)
    ),
    gearbox=be.gearbox.Gearbox(ratio=100.0),
    friction=be.friction.Coulomb(coulomb=0.05, viscous=0.01),
    drive=be.drive.Position(volts_per_radian=40.0, volt_seconds_per_radian=0.2, supply=12.0, delay=0.0101),
)


def keywords(text: str, name: str) -> dict[str, ast.expr]:
    calls = [
        n
        for n in ast.walk(ast.parse(text))
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name
    ]
    assert len(calls) == 1
    return {k.arg: k.value for k in calls[0].keywords if k.arg}


def test_mjlab_has_volt_gains_at_the_joint():
    made = export(GEARED, "mjlab", joint="knee", timestep=0.005)
    given = keywords(made.text, "BuiltinDcMotorActuatorCfg")
    assert set(given) <= MJLAB
    values = {k: ast.literal_eval(v) for k, v in given.items() if isinstance(v, (ast.Constant, ast.Tuple))}
    assert values["stiffness"] == pytest.approx(40.0)  # V/rad at the joint
    assert values["damping"] == pytest.approx(0.2)
    assert values["voltage_limit"] == 12.0
    assert values["effort_limit"] == pytest.approx(2.0)
    assert values["armature"] == pytest.approx(1e-3)
    assert values["frictionloss"] == pytest.approx(0.05)
    assert (values["delay_min_lag"], values["delay_max_lag"]) == (2, 2)
    motor = keywords(made.text, "DcMotorPhysicalParams")
    assert ast.literal_eval(motor["kt"]) == pytest.approx(1.0)
    assert ast.unparse(given["mode"]) == "DcMotorInputMode.POSITION"
    assert "solimpfriction" in made.text


def test_mjlab_needs_a_voltage_limit():
    free = be.Actuator(motor=GEARED.motor, drive=be.drive.Position(volts_per_radian=40.0))
    with pytest.raises(InvalidValue, match="needs a proportional gain and a voltage limit"):
        export(free, "mjlab")


@pytest.mark.parametrize("version", ["2.3", "3.0"])
def test_isaac_lab_carries_the_torque_speed_line(version):
    prompt = dataclasses.replace(GEARED, drive=dataclasses.replace(GEARED.drive, slew=20.0, delay=None))
    made = export(prompt, f"isaaclab@{version}", joint="knee")
    given = keywords(made.text, "DCMotorCfg")
    assert set(given) == ISAAC[version]
    values = {k: ast.literal_eval(v) for k, v in given.items() if k != "joint_names_expr"}
    velocity = "velocity_limit" if version == "2.3" else "actuator_velocity_limit"
    effort = "effort_limit" if version == "2.3" else "actuator_effort_limit"
    assert made.approximated == ()
    assert [e.path for e in made.dropped] == ["drive.slew"]
    assert values[velocity] == pytest.approx(12.0, rel=0.05)
    assert values["saturation_effort"] == pytest.approx(3.0, rel=0.05)
    assert values[effort] == pytest.approx(2.0, rel=0.05)


def test_isaac_lab_carries_a_delay_where_that_matters_more_than_the_torque_speed_line():
    made = export(GEARED, "isaaclab@2.3", joint="knee", timestep=0.001)
    given = keywords(made.text, "DelayedPDActuatorCfg")
    assert (ast.literal_eval(given["min_delay"]), ast.literal_eval(given["max_delay"])) == (10, 10)
    assert "saturation_effort" not in given
    assert [e.path for e in made.approximated] == ["motor.back_emf_constant"]
    brief = dataclasses.replace(GEARED, drive=dataclasses.replace(GEARED.drive, delay=1e-5))
    fast = export(brief, "isaaclab@2.3", joint="knee")
    assert "DCMotorCfg(" in fast.text
    assert fast.dropped[0].error < made.approximated[0].error


def test_isaac_lab_without_losses_is_the_formula():
    prompt = dataclasses.replace(GEARED, drive=dataclasses.replace(GEARED.drive, delay=None))
    x = export(prompt, "isaaclab@2.3").numbers
    assert x["stiffness"] == pytest.approx(40.0 / 4.0)
    assert x["damping"] == pytest.approx((0.2 + 1.0) / 4.0)
    assert (x["saturation_effort"], x["velocity_limit"], x["effort_limit"]) == pytest.approx((3.0, 12.0, 2.0))


def test_isaac_lab_needs_a_position_and_a_supply():
    with pytest.raises(InvalidValue, match=r"follows a position; drive\.Voltage does not"):
        export(be.Actuator(motor=GEARED.motor, drive=be.drive.Voltage(supply=12.0)), "isaaclab")
    with pytest.raises(MissingValue, match="a stall torque and a no-load speed"):
        export(be.Actuator(motor=GEARED.motor, drive=be.drive.Position(volts_per_radian=1.0)), "isaaclab")


def test_gears_that_turn_the_other_way_keep_the_joints_direction():
    """A position law has its own direction, so its numbers at the joint are those of the mirrored gears."""
    drive = dataclasses.replace(GEARED.drive, delay=None)
    cogging = be.motor.Cogging(amplitude=1e-5, periods=6.0, phase=0.3)
    motor = dataclasses.replace(GEARED.motor, cogging=cogging)
    backwards, forwards = (
        dataclasses.replace(GEARED, motor=motor, gearbox=be.gearbox.Gearbox(ratio=N), drive=drive)
        for N in (-100.0, 100.0)
    )
    for target in ("mjlab", "isaaclab"):
        mirrored, plain = (export(a, target, method="formula").numbers for a in (backwards, forwards))
        assert dict(mirrored) == pytest.approx(dict(plain))
    there, here = (
        keywords(export(a, "mjlab", method="formula").text, "BuiltinDcMotorActuatorCfg")["cogging"]
        for a in (backwards, forwards)
    )
    assert ast.literal_eval(there) == pytest.approx((1e-3, 600.0, -0.3))
    assert ast.literal_eval(here) == pytest.approx((1e-3, 600.0, 0.3))
    open_loop = dataclasses.replace(backwards, drive=be.drive.Voltage(supply=12.0))
    with pytest.raises(InvalidValue, match="turn the joint's axis round instead"):
        export(open_loop, "mjlab")


def test_urdf_is_a_whole_robot():
    made = export(GEARED, "urdf", joint="knee")
    root = ElementTree.fromstring(made.text)
    (joint,) = root.findall("joint")
    limit, dynamics = joint.find("limit"), joint.find("dynamics")
    assert limit is not None
    assert dynamics is not None
    assert float(limit.attrib["effort"]) == pytest.approx(2.0)
    assert float(limit.attrib["velocity"]) == pytest.approx(12.0)
    assert float(dynamics.attrib["damping"]) == 0.01
    assert float(dynamics.attrib["friction"]) == 0.05
    assert root.findtext("transmission/actuator/mechanicalReduction") == "100"
    assert any(e.path == "motor.rotor_inertia" for e in made.dropped)
