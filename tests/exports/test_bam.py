"""BAM parameter files: read exactly, written exactly, and never with a default in a missing key's place."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

import backemf as be
from backemf.apps.cli import exports
from backemf.datasheets import parts
from backemf.errors import InvalidValue, MissingValue, UnknownName
from backemf.targets import bam
from backemf.targets.export import export

from ..cli.runner import runner

M2 = {
    "kt": 2.0,
    "R": 3.0,
    "armature": 0.02,
    "friction_base": 0.1,
    "friction_stribeck": 0.05,
    "dtheta_stribeck": 1.5,
    "alpha": 1.3,
    "friction_viscous": 0.04,
    "model": "m2",
    "actuator": "servo",
}


def test_a_file_becomes_an_actuator():
    found = bam.parse({**M2, "q_offset": -0.02})
    assert found.actuator.friction == be.friction.Stribeck(
        coulomb=0.1, static=0.15000000000000002, stribeck_velocity=1.5, stribeck_exponent=1.3, viscous=0.04
    )
    assert (found.model, found.name, found.offset) == ("m2", "servo", -0.02)


@pytest.mark.parametrize("key", [k for k in M2 if k != "model"])
def test_a_missing_key_is_an_error(key):
    with pytest.raises(MissingValue, match=f"has no {key}; model m2 needs"):
        bam.parse({k: v for k, v in M2.items() if k != key})


def test_unknown_keys_models_and_values_are_errors():
    with pytest.raises(
        UnknownName, match="unknown key in the parameters 'friction_visous'; did you mean 'friction_viscous'"
    ):
        bam.parse({**M2, "friction_visous": 1.0})
    with pytest.raises(UnknownName, match="unknown model"):
        bam.parse({**M2, "model": "m9"})
    with pytest.raises(InvalidValue, match="kt is 'two'"):
        bam.parse({**M2, "kt": "two"})


@pytest.mark.parametrize("label", ["m1", "m2", "m3", "m4", "m5", "m6"])
def test_published_sets_round_trip(label):
    actuator = be.Actuator.read(f"mx-106/{label}")
    made = export(actuator, "bam", joint="mx106")
    assert made.lossless
    back = bam.parse(json.loads(made.text), drive=actuator.drive).actuator
    for path, value in actuator.parameters.items():
        assert back.parameters[path] == pytest.approx(value, rel=1e-12, abs=1e-16), path


def test_shared_files_read_and_write_back_the_same_numbers(shared_data, tmp_path):
    files = sorted((shared_data / "bam_params").glob("*/*.json"))
    assert len(files) >= 20
    for path in files:
        given = json.loads(path.read_text())
        found = bam.read(path)
        again = json.loads(export(found.actuator, "bam", joint=found.name).text)
        for key, value in given.items():
            if key == "q_offset":
                assert found.offset == value
            elif isinstance(value, float):
                assert again[key] == pytest.approx(value, rel=1e-9, abs=1e-15), f"{path.name} {key}"
            else:
                assert again[key] == value


def test_a_gearbox_is_seen_from_the_output():
    geared = be.Actuator(
        motor=be.motor.Motor(resistance=4.0, torque_constant=0.01, rotor_inertia=1e-7),
        gearbox=be.gearbox.Gearbox(ratio=100.0, n_motors=2),
        friction=be.friction.Coulomb(coulomb=0.1),
        drive=be.drive.Voltage(supply=12.0),
    )
    content = json.loads(export(geared, "bam").text)
    assert (content["kt"], content["R"], content["armature"]) == pytest.approx((1.0, 2.0, 2e-3))


def test_one_constant_keeps_torque_per_volt_and_no_load_speed():
    """kt = N K_e, so that V / kt is the no-load speed; R = R K_e / (K_t n), so that kt / R is the torque per
    volt."""
    motor = be.motor.Motor(resistance=4.0, torque_constant=0.01, back_emf_constant=0.012, rotor_inertia=1e-7)
    geared = be.Actuator(
        motor=motor,
        gearbox=be.gearbox.Gearbox(ratio=100.0, n_motors=2),
        friction=be.friction.Coulomb(coulomb=0.1),
        drive=be.drive.Voltage(supply=12.0),
    )
    made = export(geared, "bam", method="formula")
    content = json.loads(made.text)
    assert (content["kt"], content["R"]) == pytest.approx((1.2, 2.4))
    assert content["kt"] / content["R"] == pytest.approx(2 * 100.0 * 0.01 / 4.0)
    (effect,) = made.approximated
    assert effect.path == "motor.back_emf_constant"
    assert effect.error < 1e-9  # nothing heats, so nothing else sees the current


def test_a_voltage_behind_gears_that_turn_the_other_way_is_refused():
    """BAM's constants are positive; a law that follows a position or a velocity has its own direction."""
    backwards = be.gearbox.Gearbox(ratio=-100.0)
    motor = be.motor.Motor(resistance=4.0, torque_constant=0.01)
    with pytest.raises(InvalidValue, match=r"gearbox\.ratio is -100 with drive\.Voltage"):
        export(be.Actuator(motor=motor, gearbox=backwards, drive=be.drive.Voltage(supply=12.0)), "bam")
    servo = be.drive.Servo(firmware_gain=0.158, proportional=32.0, supply=12.0)
    assert export(be.Actuator(motor=motor, gearbox=backwards, drive=servo), "bam").numbers["kt"] == 1.0


def test_the_file_says_which_actuator_of_bams_it_is():
    servo = be.Actuator.read("mx-106/m6")
    made = export(servo, "bam", joint="knee", bam_name="mx106", q_offset=-0.02)
    content = json.loads(made.text)
    assert (content["actuator"], content["q_offset"]) == ("mx106", -0.02)
    (finding,) = [f for f in made.findings if f.code == "bam_own_firmware"]
    assert finding.numbers == {"vin": 15.0, "kp": 32.0, "error_gain": 0.158, "max_pwm": 0.9625}
    weak = export(servo.replace(**{"drive.supply": 12.0}), "bam", bam_name="mx106")
    assert "this actuator has vin 12." in "".join(f.text for f in weak.findings)
    (finding,) = [f for f in export(servo, "bam", joint="knee").findings if f.code.startswith("bam_")]
    assert finding.code == "bam_name_unknown"
    with pytest.raises(UnknownName, match="unknown actuator of BAM 'mx107'; did you mean 'mx106'"):
        export(servo, "bam", bam_name="mx107")


def test_what_bams_code_has_nothing_for_is_lost_and_weighed():
    servo = be.Actuator.read("mx-106/m4")
    late = replace(servo, drive=replace(servo.drive, delay=0.02))
    (lost,) = export(late, "bam", bam_name="mx106").dropped
    assert lost.path == "drive.delay"
    assert lost.error > 1e-4


def test_a_file_of_bams_goes_through_the_shell_unchanged(tmp_path):
    """With its name and its q_offset, which are no numbers of the actuator."""
    given = {**M2, "actuator": "xl330", "q_offset": 0.0271}
    (tmp_path / "xl330.json").write_text(json.dumps(given))
    runner(exports.export)(tmp_path / "xl330.json", "--to", "bam", "-o", tmp_path / "out.json")
    back = json.loads((tmp_path / "out.json").read_text())
    assert back.keys() == given.keys()
    assert all(
        back[k] == (x if isinstance(x, str) else pytest.approx(x, rel=1e-12)) for k, x in given.items()
    )


def test_q_offset_is_where_the_arm_hangs_turned_round():
    """BAM adds it to the position; an arm of ours that hangs at 0.05 rad is at -0.05 there."""
    number = SimpleNamespace(path="bench.hanging", value=0.05)
    zero = be.Fit.zero.fget
    assert zero is not None
    assert zero(SimpleNamespace(bench=[number, SimpleNamespace(path="bench.mass", value=1.0)])) == -0.05
    assert zero(SimpleNamespace(bench=[])) is None


def test_what_bam_has_of_a_firmware_is_what_the_catalogue_has():
    names = {"kp": "proportional", "error_gain": "error_gain", "max_pwm": "duty_limit"}
    named = {"mx64": "mx-64", "mx106": "mx-106", "xl320": "xl-320", "sts3215": "sts3215-7.4v"}
    for theirs, part in named.items():
        firmware = parts.sheet(part).firmware
        given = {names[key]: value for key, value in bam.FIRMWARE[theirs].items() if key != "vin"}
        assert given == pytest.approx({name: firmware[name].value for name in given}, rel=1e-3), theirs
