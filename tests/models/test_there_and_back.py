"""A model that was given actuators, read as a source of actuators: the numbers are those that went in."""

from __future__ import annotations

import pytest

import backemf as be
from backemf.physics.joint_law import JointLaw

from .known import MODELS, ROTOR, SERVO, STALL, actuators_on, edit, fields, load, rows
from .test_commands_keep_their_meaning import positions_of

GEARED = {"turn": 3.0, "tilt": -2.0, "halved": 2.0}
"""Gears of the models' own actuators; every other is 1."""


@pytest.mark.parametrize("name", MODELS)
def test_the_same_numbers_come_back(name, tmp_path):
    """Resistance, N K, gains at the joint, rotor, friction, slew and voltage limit, whatever the gear."""
    path = edit(name, {".*": SERVO}, "mujoco").write(tmp_path / "new.xml")[0]
    for joint in positions_of(name):
        label = load(path).actuator(actuators_on(load(path), joint)[0]).name or joint
        back = be.Actuator.read(f"{path}#{label}")
        N = back.gearbox.ratio
        assert N / abs(GEARED.get(joint, 1.0)) == pytest.approx(1.0, rel=1e-9)
        assert back.drive.loop.effort == "V"
        found = {
            "resistance": back.motor.resistance,
            "N K": N * back.motor.torque_constant,
            "rotor": N**2 * back.motor.rotor_inertia,
            "coulomb": back.friction.moving,
            "viscous": back.friction.viscous,
            "stiffness": back.drive.loop.proportional,
            "damping": back.drive.loop.derivative,
            "volts": back.drive.ceiling({}),
            "slew": back.drive.slew,
        }
        meant = {
            "resistance": 2.0,
            "N K": 100 * 0.02,
            "rotor": ROTOR,
            "coulomb": 0.05,
            "viscous": 0.02,
            "stiffness": 30.0,
            "damping": 0.5,
            "volts": 12.0,
            "slew": 4.0,
        }
        assert found == pytest.approx(meant, rel=1e-9), joint  # a file carries every digit of a float


@pytest.mark.parametrize("name", ["leg", "gantry"])
def test_a_classic_file_has_the_same_law(name, tmp_path):
    path = edit(name, {".*": SERVO}, "mujoco-classic").write(tmp_path / "new.xml")[0]
    for joint in positions_of(name):
        label = load(path).actuator(actuators_on(load(path), joint)[0]).name
        law, meant = JointLaw.of(be.Actuator.read(f"{path}#{label}")), JointLaw.of(SERVO)
        for number in ("stiffness", "damping", "friction", "armature"):
            assert getattr(law, number) == pytest.approx(getattr(meant, number), rel=1e-9), number
        assert law.effort_limit == pytest.approx(STALL, rel=1e-9)


def test_an_armature_that_stayed_is_the_rotors(tmp_path):
    """Where the actuator does not know its own, the joint's stays, and is read as N^2 J."""
    unknown = SERVO.replace(**{"motor.rotor_inertia": 0.0})
    path = edit("gantry", {".*": unknown}, "mujoco").write(tmp_path / "new.xml")[0]
    for label in ("a_turn", "a_tilt"):
        back = be.Actuator.read(f"{path}#{label}")
        assert back.gearbox.ratio**2 * back.motor.rotor_inertia == pytest.approx(0.01, rel=1e-9)


def test_what_came_back_goes_in_again(tmp_path):
    """The second model is the first, in every number that MuJoCo compiles, to rounding."""
    first = edit("leg", {".*": SERVO}, "mujoco").write(tmp_path / "first.xml")[0]
    back = {joint: be.Actuator.read(f"{first}#m_{joint}") for joint in MODELS["leg"].driven}
    again = be.export(back, "mujoco", into=first, method="formula")
    second = again.write(tmp_path / "second.xml")[0]
    before, after = fields(load(first)), fields(load(second))
    unlike = {name for name in before if rows(before[name], after[name])}
    for name in unlike - {"signature"}:
        assert after[name] == pytest.approx(before[name], rel=1e-9, abs=1e-12), name
