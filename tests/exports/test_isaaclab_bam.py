"""Isaac Lab's BamActuatorCfg: fields that its class has, numbers that are BAM's, and m3 and m4 as m5."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.errors import InvalidValue, MissingValue
from backemf.targets.approximate import positions
from backemf.targets.export import export
from backemf.targets.reference_motions import reference_motions

from .test_text_exports import GEARED, keywords

OUTER = {
    "joint_names_expr",
    "armature",
    "actuator_effort_limit",
    "kp_fw",
    "vin",
    "min_delay",
    "max_delay",
    "motor",
}
M1 = {
    "model",
    "kt",
    "resistance",
    "error_gain",
    "max_pwm",
    "max_current",
    "friction_base",
    "friction_viscous",
}
M2 = M1 | {"friction_stribeck", "dtheta_stribeck", "alpha"}
M5 = M2 | {
    "load_friction_motor",
    "load_friction_external",
    "load_friction_motor_stribeck",
    "load_friction_external_stribeck",
}
M6 = M5 | {"load_friction_motor_quad", "load_friction_external_quad"}
FIELDS = {"m1": M1, "m2": M2, "m5": M5, "m6": M6}
"""Of BamActuatorCfg and BamMotorCfg in isaac-sim/IsaacLab at commit 0120677, those that a model uses."""


@pytest.mark.parametrize(
    ("label", "model"), [("m1", "m1"), ("m2", "m2"), ("m3", "m5"), ("m4", "m5"), ("m5", "m5"), ("m6", "m6")]
)
def test_published_sets_are_carried_whole(label, model):
    servo = be.Actuator.read(f"mx-106/{label}")
    made = export(servo, "isaaclab@bam", joint="knee")
    assert made.lossless
    assert "Not run: Isaac Lab does not run here" in made.text
    assert "Units: SI at the joint" in made.text
    assert set(keywords(made.text, "BamActuatorCfg")) == OUTER
    given = keywords(made.text, "BamMotorCfg")
    assert set(given) == FIELDS[model]
    assert ast.literal_eval(given["model"]) == model
    motions = reference_motions(servo)[:2]
    apart = positions(made.carried, motions) - positions(servo, motions)
    assert np.max(np.abs(apart)) < 1e-9  # the same law, other names


def test_firmware_and_limits_keep_their_meaning():
    drive = be.drive.Servo(firmware_gain=0.158, proportional=32.0, supply=12.0, duty_limit=0.9)
    made = export(replace(GEARED, drive=replace(drive, delay=0.0101)), "isaaclab@bam", timestep=0.005)
    x = made.numbers
    assert (x["error_gain"], x["kp_fw"], x["vin"]) == (0.158, 32.0, 12.0)
    assert x["max_pwm"] == pytest.approx(0.9)
    assert (x["kt"], x["R"], x["armature"]) == pytest.approx((1.0, 4.0, 1e-3))
    assert x["max_current"] == pytest.approx(2.0)  # 2 N m at the joint over 1 N m/A
    assert x["actuator_effort_limit"] == pytest.approx(2 * 0.9 * 12.0 / 4.0)
    assert (x["min_delay"], x["max_delay"]) == (2, 2)
    assert [e.path for e in made.approximated] == ["drive.delay"]
    volts = export(replace(GEARED, drive=replace(GEARED.drive, delay=None)), "isaaclab@bam")
    assert volts.numbers["error_gain"] * volts.numbers["vin"] == pytest.approx(40.0)
    assert [e.path for e in volts.approximated] == ["drive derivative"]


def test_two_constants_and_two_motors_keep_torque_and_limit():
    motor = be.motor.Motor(
        resistance=4.0, torque_constant=0.01, back_emf_constant=0.012, limits=be.motor.Limits(current=1.5)
    )
    pair = replace(
        GEARED,
        motor=motor,
        gearbox=be.gearbox.Gearbox(ratio=100.0, n_motors=2),
        drive=be.drive.Position(volts_per_radian=40.0, supply=12.0),
    )
    x = export(pair, "isaaclab@bam", method="formula").numbers
    assert x["kt"] * x["max_current"] == pytest.approx(2 * 100.0 * 0.01 * 1.5)
    assert x["kt"] / x["R"] == pytest.approx(2 * 100.0 * 0.01 / 4.0)


def test_what_it_has_no_place_for_is_refused():
    prompt = replace(GEARED, drive=replace(GEARED.drive, delay=None))
    bristle = be.friction.LuGre(
        coulomb=0.05, static=0.07, stribeck_velocity=0.3, stiffness=200.0, damping=1.0
    )
    with pytest.raises(InvalidValue, match=r"has no friction of kind friction\.LuGre; expected Viscous"):
        export(replace(prompt, friction=bristle), "isaaclab@bam")
    with pytest.raises(InvalidValue, match=r"drive\.Voltage is not"):
        export(replace(prompt, drive=be.drive.Voltage(supply=12.0)), "isaaclab@bam")
    with pytest.raises(InvalidValue, match=r"drive\.Impedance is not"):
        export(replace(prompt, drive=be.drive.Impedance(newton_metres_per_radian=1.0)), "isaaclab@bam")
    with pytest.raises(MissingValue, match="needs a supply voltage"):
        export(replace(prompt, drive=be.drive.Position(volts_per_radian=1.0)), "isaaclab@bam")
