"""MJCF attributes: what is read, written and refused, in words."""

from __future__ import annotations

import dataclasses
import math

import pytest

from backemf.errors import InvalidValue, MissingValue, UnknownName
from backemf.mujoco.attributes import DcMotorAttributes, compile_dcmotor, inherit
from backemf.mujoco.dcmotor import Controller, DcMotor, Engine, rules, states
from backemf.physics.friction import Coulomb, LuGre
from backemf.physics.motor import Motor
from backemf.physics.thermal import Thermal

FULL = DcMotorAttributes(
    resistance=(2.0,),
    motorconst=(0.1, 0.2),
    inductance=(0.01,),
    thermal=(1.0, 2.0, 0.0, 0.004, 25.0, 20.0),
    saturation=(0.0, 4.0, 7.0),
    cogging=(0.1, 3.0, 0.2),
    lugre=(10.0, 1.0, 0.2, 0.3, 0.1),
    damping=(0.1, 0.2, 0.3),
    armature=(0.01,),
    gear=(3.0,),
    controller=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
    ctrlrange=(-1.0, 1.0),
    input="pos",
)


def test_everything_arrives():
    found = compile_dcmotor(FULL, "3.12.0")
    K = math.sqrt(0.02)
    assert found.motor.torque_constant == pytest.approx(K, rel=1e-15)
    assert found.motor.inductance == pytest.approx(0.01)
    assert found.motor.limits.torque == pytest.approx(4 * K)
    assert found.friction == LuGre(
        viscous=0.1,
        viscous_quadratic=0.2,
        viscous_cubic=0.3,
        stiffness=10,
        damping=1,
        coulomb=0.2,
        static=0.3,
        stribeck_velocity=0.1,
    )
    assert states(found) == ("setpoint", "integral", "temperature_rise", "bristle", "current")
    assert found.controller.inputs == ("pos",)
    assert (
        compile_dcmotor(dataclasses.replace(FULL, input="position"), "3.11.0").controller.inputs == "position"
    )


def test_written_and_read_again():
    assert DcMotorAttributes.read(FULL.to_xml()) == FULL
    found = compile_dcmotor(FULL, "4.0.0")
    assert compile_dcmotor(DcMotorAttributes.of(found), "4.0.0") == found
    assert 'joint="knee"' in FULL.xml(joint="knee")
    assert FULL["thermal:capacitance"] == 2.0
    assert DcMotorAttributes()["nominal:no_load_speed"] == 0.0


def test_signs_of_cogging_are_kept_in_its_phase():
    plain = dataclasses.replace(FULL, cogging=(-0.1, -3.0, 0.2))
    cogging = compile_dcmotor(plain, "4.0.0").motor.cogging
    for angle in (0.0, 0.4, -2.0):
        assert cogging.torque(angle) == pytest.approx(-0.1 * math.sin(-3.0 * angle + 0.2))


@pytest.mark.parametrize(
    ("changes", "version", "kind", "text"),
    [
        (
            {"motorconst": ()},
            "4.0.0",
            MissingValue,
            (
                "a dcmotor needs its motor constant: give motorconst (Kt and/or Ke, above 0), or nominal with"
                " voltage and no_load_speed"
            ),
        ),
        (
            {"resistance": ()},
            "4.0.0",
            MissingValue,
            (
                "a dcmotor needs its resistance: give resistance (above 0), or nominal with voltage and"
                " stall_torque"
            ),
        ),
        (
            {"motorconst": (-0.1, 0.2)},
            "4.0.0",
            InvalidValue,
            (
                "motorconst is -0.1 0.2; expected numbers of at least 0 (older versions took the other one"
                " silently)"
            ),
        ),
        (
            {"thermal": (1.0,)},
            "4.0.0",
            MissingValue,
            (
                "thermal is '1'; expected two of resistance, capacitance and timeconst above 0: one alone"
                " does not fix the temperature"
            ),
        ),
        (
            {"cogging": (0.1,)},
            "4.0.0",
            InvalidValue,
            "cogging has amplitude 0.1 and 0 poles; expected periods per turn above 0",
        ),
        (
            {"input": "position"},
            "4.0.0",
            UnknownName,
            "unknown input (from 3.12 on) 'position'; did you mean 'pos'? Valid: ff, none, pos, vel, voltage",
        ),
        (
            {"input": "pos"},
            "3.11.0",
            UnknownName,
            "unknown input (up to 3.11) 'pos'; did you mean 'position'? Valid: position, velocity, voltage",
        ),
        (
            {"input": "vel pos", "controller": ()},
            "4.0.0",
            InvalidValue,
            "inputs are 'vel pos'; expected each once, in the order 'pos vel ff voltage'",
        ),
        (
            {"input": "vel"},
            "4.0.0",
            InvalidValue,
            "ki is 2 with the inputs 'vel'; expected pos among them: ki integrates its error",
        ),
        (
            {"input": "voltage", "controller": (1.0,)},
            "4.0.0",
            InvalidValue,
            (
                "kp is 1 and kd is 0 with the inputs 'voltage'; expected one of pos, vel and ff among the"
                " inputs: without them no controller runs"
            ),
        ),
        (
            {"input": "none", "controller": (0.0, 0.0, 0.0, 4.0)},
            "4.0.0",
            InvalidValue,
            (
                "slew is 4 with the inputs 'none'; expected one of pos, vel and ff among the inputs: without"
                " them no controller runs"
            ),
        ),
        (
            {"lugre": (10.0, 1.0, 0.3, 0.2, 0.1)},
            "4.0.0",
            InvalidValue,
            (
                "friction.static is 0.2 N m, below friction.coulomb, 0.3 N m; friction at rest cannot be less"
                " than in motion: expected static >= coulomb"
            ),
        ),
        (
            {"input": "none", "motorconst": (), "controller": ()},
            "4.0.0",
            InvalidValue,
            (
                "motorconst is 0 with input 'none', which from 4.0 on means friction without a winding;"
                " expected a motor constant above 0"
            ),
        ),
    ],
)
def test_errors_say_what_to_do(changes, version, kind, text):
    with pytest.raises(kind) as caught:
        compile_dcmotor(dataclasses.replace(FULL, **changes), version)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"motorconst": (0.1, 0.2, 0.3)}, "motorconst has 3 numbers; expected at most 2: Kt Ke"),
        ({"inductance": (-1.0,)}, "inductance:L is -1; expected at least 0 (0 leaves it out)"),
        ({"controller": (1.0, -2.0)}, "controller:ki is -2; expected at least 0 (0 leaves it out)"),
        ({"resistance": ("2",)}, "resistance is '2'; expected a finite number"),
        ({"armature": (math.nan,)}, "armature is nan; expected a finite number"),
    ],
)
def test_nonsense_is_refused(attributes, text):
    with pytest.raises(InvalidValue) as caught:
        DcMotorAttributes(**attributes)
    assert str(caught.value) == text


def test_a_text_that_is_no_number():
    with pytest.raises(InvalidValue, match="cogging is '1 two'; expected numbers: amplitude poles phase"):
        DcMotorAttributes.read({"cogging": "1 two"})


def test_a_childs_nominal_mixes_with_the_defaults_constant():
    """The author of the child means K = 12 V / 30 rad/s = 0.4;
    the engine takes the default's 0.1 as Kt: sqrt(0.1 * 0.4)."""
    default = DcMotorAttributes(resistance=(2.0,), motorconst=(0.1,))
    child = DcMotorAttributes(nominal=(12.0, 2.0, 30.0))
    found = compile_dcmotor(child, "4.0.0", default)
    assert found.motor.torque_constant == pytest.approx(0.2)
    assert found.motor.resistance == 2.0


def test_a_childs_resistance_keeps_time_constant_and_torque_limit():
    default = DcMotorAttributes(
        resistance=(2.0,), motorconst=(0.1,), inductance=(0.01,), saturation=(0.0, 4.0)
    )
    found = compile_dcmotor(DcMotorAttributes(resistance=(4.0,)), "4.0.0", default)
    assert found.motor.inductance / found.motor.resistance == pytest.approx(0.005)
    assert found.motor.limits.torque == pytest.approx(0.4)


def test_what_an_explicit_zero_clears_depends_on_the_version():
    default = DcMotorAttributes(
        resistance=(2.0,), motorconst=(0.1,), inductance=(0.01,), saturation=(0.3,), thermal=(1.0, 2.0)
    )
    child = DcMotorAttributes(saturation=(0.0,), inductance=(0.0,))
    assert compile_dcmotor(child, "3.17.0", default).motor.limits.torque == 0.3
    assert compile_dcmotor(child, "3.17.0", default).motor.inductance is not None
    assert compile_dcmotor(child, "4.0.0", default).motor.limits is None
    assert compile_dcmotor(child, "4.0.0", default).motor.inductance is None
    off = DcMotorAttributes(thermal=(0.0, 0.0, 0.0))
    assert compile_dcmotor(off, "3.16.0", default).motor.thermal is None
    with pytest.raises(InvalidValue, match=r"before 3\.16 MuJoCo fails on this"):
        inherit(default, off, "3.15.0")


def test_versions():
    assert [rules(v).era for v in ("3.7.0", "3.11.0", "3.12", "3.17.0", "4.0.0")] == [1, 1, 2, 2, 2]
    assert [rules(v).derivative for v in ("3.7.0", "3.13.0", "3.14.0", "3.17.0", "4.0.0")] == [1, 1, 2, 2, 3]
    with pytest.raises(UnknownName, match=r"unknown MuJoCo version '3\.6\.0'"):
        rules("3.6.0")
    with pytest.raises(UnknownName, match=r"unknown MuJoCo version '4\.1\.0'"):
        Engine(version="4.1.0")
    with pytest.raises(UnknownName, match="unknown integrator 'euler'; did you mean 'Euler'"):
        Engine(integrator="euler")


def test_what_a_dcmotor_does_not_know():
    motor = Motor(resistance=1.0, torque_constant=0.1, iron_loss=1e-6)
    with pytest.raises(InvalidValue) as caught:
        DcMotor(motor=motor, friction=Coulomb(coulomb=0.1))
    assert (
        str(caught.value)
        == "MuJoCo's dcmotor does not know motor.iron_loss, friction of kind friction.Coulomb; leave them out"
    )
    with pytest.raises(InvalidValue, match="ctrl has 2 values; expected 1"):
        Controller(inputs=("pos",)).commands((1.0, 2.0))
    with pytest.raises(InvalidValue, match="ctrlrange has 1 pairs for 2 inputs"):
        Controller(inputs=("pos", "vel"), ctrlrange=((-1.0, 1.0),))


def test_a_winding_of_less_than_an_ohm_is_one():
    small = DcMotorAttributes(resistance=(0.4,), motorconst=(0.1,))
    assert compile_dcmotor(small, "4.0.0").motor.resistance == 0.4


def test_two_of_resistance_capacitance_and_time_constant_give_the_third():
    bare = DcMotorAttributes(resistance=(2.0,), motorconst=(0.1,))
    for given in ((4.0, 0.0, 20.0), (0.0, 5.0, 20.0), (4.0, 5.0, 0.0)):
        thermal = compile_dcmotor(dataclasses.replace(bare, thermal=given), "4.0.0").motor.thermal
        assert isinstance(thermal, Thermal)
        assert (thermal.resistance, thermal.capacitance) == (4.0, 5.0)
