"""`backemf convert`: every conversion from its sources and from numbers alone, as text and as JSON."""

from __future__ import annotations

import json
import math

import pytest
from typer.testing import CliRunner

import backemf as be
from backemf.apps.cli.convert import app
from backemf.errors import BackemfError, InvalidValue, MissingValue
from backemf.physics.joint_law import JointLaw

KEYS = {"conversion", "source", "numbers", "assumptions", "lost", "findings"}
SHEET = (
    "--voltage",
    "12",
    "--stall-torque",
    "30 kg cm",
    "--stall-current",
    "2.7 A",
    "--no-load-speed",
    "45 rpm",
)


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def answered(*words: object) -> dict:
    """What `--json` says, its keys and those of each number checked."""
    content = json.loads(run(*words, "--json"))
    assert set(content) >= KEYS
    for number in content["numbers"].values():
        assert set(number) == {"value", "unit", "symbol", "formula", "given", "also"}
    return content


def values(*words: object) -> dict[str, float]:
    return {name: n["value"] for name, n in answered(*words)["numbers"].items()}


def test_gain_of_a_part_and_of_numbers():
    said = answered("gain", "sts3215-7.4v/m1", "--register", "16")
    assert said["conversion"] == "gain"
    assert said["source"] == ["catalogue: sts3215-7.4v/m1"]
    torque = said["numbers"]["torque"]
    K_R = 1.21164135295077 / 2.6761663274455603
    assert torque["value"] == pytest.approx(K_R * 7.4 * 0.166 * 16)
    assert (torque["unit"], torque["given"]) == ("N m/rad", False)
    assert said["numbers"]["register"]["given"]
    assert said["numbers"]["volts"]["also"]["V/deg"] == pytest.approx(7.4 * 0.166 * 16 * math.pi / 180)
    motor = ("--resistance", "2.6761663274455603 ohm", "--torque-constant", "1.21164135295077 N m/A")
    scale = ("--firmware-gain", "0.166 1/rad", "--voltage", "7.4 V", "--duty-limit", "0.97")
    alone = values("gain", "--register", "16", *motor, *scale)
    assert alone == pytest.approx({name: n["value"] for name, n in said["numbers"].items()})
    geared = values("gain", "--volts", "1 V/deg", *motor, "--ratio", "10")
    assert geared["torque"] == pytest.approx(10 * K_R * 180 / math.pi)


def test_gain_says_what_was_assumed_only_where_it_was_used():
    own = answered("gain", "sts3215-12v")
    assert [f["code"] for f in own["findings"]] == ["assumed_gain", "derivative_not_known"]
    given = answered("gain", "sts3215-12v", "--volts", "20 V/rad")
    assert [f["code"] for f in given["findings"]] == ["derivative_not_known"]
    assert own["source"][1] == "nobody printed or measured its drive.volts_per_radian"
    lerobot = values("gain", "sts3215-12v", "--firmware", "lerobot")
    assert (lerobot["register"], lerobot["duty"]) == pytest.approx((16, 16 * 0.166))


def test_gains_of_registers_that_a_profile_states():
    none = answered("gain", "sts3215-7.4v", "--firmware", "lerobot", "--of", "integral")["numbers"]
    assert (none["torque"]["value"], none["torque"]["unit"]) == (0.0, "N m/(rad s)")
    with pytest.raises(MissingValue, match="register is 32, and what one count of D does is not known"):
        run("gain", "sts3215-7.4v", "--firmware", "lerobot", "--of", "derivative")
    words = ("gain", "sts3215-7.4v", "--firmware", "lerobot", "--of", "derivative")
    assert values(*words, "--firmware-gain", "0.9 ms/rad")["duty"] == pytest.approx(32 * 9e-4)
    factory = ("gain", "mx-64", "--firmware", "factory", "--of", "derivative")
    assert values(*factory)["register"] == 0.0
    # Kd = D * 4 / 1000 beside Kp = P / 8, which is 0.158 1/rad a count
    assert values(*factory, "--register", "8")["duty"] == pytest.approx(8 * 8 * 0.158 * 4e-3, rel=1e-3)


def test_servo_of_a_sheet_and_of_a_part():
    text = run("servo", *SHEET, "--no-load-current", "0.18 A", "--resistance", "1 ohm", "--volts", "12 V/deg")
    assert "749.17  N m/rad" in text
    assert "stall_torque_differs" in text
    assert "Assumes:" in text
    assert "Loses:" in text
    by_register = ("--register", "16", "--firmware-gain", "0.166 1/rad")
    sheet = values("servo", *SHEET, *by_register)
    assert sheet["voltage_gain"] == pytest.approx(16 * 0.166 * 12)
    part = values("servo", "mx-106/m1", "--voltage", "15")
    assert part["kp"] == pytest.approx(JointLaw.of(be.Actuator.read("mx-106/m1")).stiffness * 15 / 12)
    at_16 = values("servo", "mx-106/m1", "--voltage", "15", "--register", "16")
    assert at_16["kp"] == pytest.approx(part["kp"] / 2)


def test_gains_both_ways():
    made = answered("gains", "neo", "--ratio", "10", "--inertia", "0.02 kg m^2")["numbers"]
    assert made["kV"]["also"]["V s/rev"] == pytest.approx(2 * math.pi * made["kV"]["value"])
    texts = [f"--{name}={made[name]['value']!r} {made[name]['unit']}" for name in ("kS", "kV", "kA")]
    back = answered("gains", "neo", "--ratio", "10", *texts)
    assert back["conversion"] == "load"
    assert back["numbers"]["load_inertia"]["value"] == pytest.approx(0.02)
    amps = answered("gains", "neo", "--ratio", "10", "--inertia", "0.02 kg m^2", "--control", "current")
    assert amps["numbers"]["kS"]["unit"] == "A"
    assert amps["numbers"]["kS"]["value"] == pytest.approx(1.8)  # the free current of the nameplate
    motor = ("--resistance", "0.1 ohm", "--torque-constant", "20 mN m/A", "--rotor-inertia", "200 g cm^2")
    arm = values(
        "gains", *motor, "--mechanism", "arm", "--ratio", "60", "--mass", "3 kg", "--radius", "40 cm"
    )
    assert arm["kG"] == pytest.approx(0.1 * 3 * 9.80665 * 0.4 / (60 * 0.02))
    assert arm["inertia"] == pytest.approx(0.48 + 3600 * 2e-5)


def test_isaac_of_every_kind_of_source(tmp_path):
    part = values("isaac", "mx-106/m1", "--voltage", "15")
    stored = tmp_path / "servo.json"
    be.Actuator.read("mx-106/m1").replace(**{"drive.supply": 15.0}).write(stored)
    assert values("isaac", stored) == pytest.approx(part)
    config = tmp_path / "cfg.py"
    names = ("saturation_effort", "velocity_limit", "effort_limit", "stiffness", "damping", "armature")
    arguments = ", ".join(f"{name}={part[name]!r}" for name in names)
    config.write_text(f"LEG = DCMotorCfg(joint_names_expr=['.*'], {arguments})\n", encoding="utf-8")
    assert {name: values("isaac", config)[name] for name in names} == pytest.approx(
        {name: part[name] for name in names}
    )
    line = [
        f"--{n.replace('_', '-')}={part[n]!r} {u}"
        for n, u in (("saturation_effort", "N m"), ("velocity_limit", "rad/s"))
    ]
    motor = values("isaac", *line, "--voltage", 0.9625 * 15)
    assert motor["torque_constant"] == pytest.approx(2.1913757006745245)
    assert motor["resistance"] == pytest.approx(2.9649903987776804)
    assert "nominal=" in answered("isaac", "mx-106/m1")["dcmotor"]


def test_constants_of_numbers_and_of_a_part():
    text = run("constants", "--speed-constant", "300 rpm/V", "--resistance", "50 mohm", "--voltage", "24 V")
    assert "31.831 mN m/A" in text
    assert "K_t = K_e, which energy demands" in text
    assert values("constants", "neo")["speed_constant"] == pytest.approx(50.396, rel=1e-4)
    at_output = values(
        "constants", "--stall-torque", "52 N m", "--ratio", "10", "--motors", "2", "--side", "output"
    )
    assert at_output["stall_torque"] == pytest.approx(2.6)


def test_strict_ends_with_1_where_there_are_findings():
    words = ["constants", "--torque-constant", "1 N m/A", "--back-emf-constant", "2 V s/rad", "--strict"]
    assert CliRunner().invoke(app, words).exit_code == 1
    words[4] = "1.01 V s/rad"
    assert CliRunner().invoke(app, words).exit_code == 0


@pytest.mark.parametrize(
    ("words", "kind", "text"),
    [
        (("constants", "--speed-constant", "300 V"), BackemfError, "speed_constant is '300 V', which is not"),
        (("constants", "neo", "--resistance", "1 ohm"), InvalidValue, "--resistance and 'neo' are given"),
        (("constants", "--voltage", "12 A"), BackemfError, "--voltage is '12 A', which is not a voltage"),
        (
            ("gain", "--register", "3"),
            MissingValue,
            "without --resistance and --torque-constant there is no motor",
        ),
        (("servo", *SHEET, "--register", "3"), MissingValue, "--register needs --firmware-gain"),
        (("gains", "neo", "--kV", "1 V s/rad"), MissingValue, "--kV and --kA are both needed"),
        (("isaac", "--saturation-effort", "3 N m"), MissingValue, "--saturation-effort and --velocity-limit"),
        (("gain", "neo-551", "--torque", "1 N m/rad"), BackemfError, "did you mean"),
    ],
)
def test_errors_name_what_to_do(words, kind, text):
    with pytest.raises(kind) as raised:
        run(*words)
    assert text in str(raised.value)


def test_a_flywheel_is_a_mechanism_of_its_own_name():
    told = [
        json.loads(run("gains", "neo", "--mechanism", kind, "--inertia", "0.004 kg m^2", "--json"))
        for kind in ("flywheel", "simple")
    ]
    assert [one.pop("options")["mechanism"] for one in told] == ["flywheel", "simple"]
    assert told[0] == told[1]
