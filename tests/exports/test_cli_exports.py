"""The commands export, replay and explain: text for people, documented keys for programs."""

from __future__ import annotations

import ast
import base64
import importlib
import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

import backemf as be
from backemf.apps.cli import exports
from backemf.datasheets import parts
from backemf.errors import BackemfError, InvalidValue, MissingValue, UnknownName
from backemf.physics.joint_law import JointLaw
from backemf.targets.export import TARGETS
from backemf.targets.sourcing import choose_actuator

from ..cli.runner import runner

run = runner(exports.export, exports.replay, exports.explain)


def test_export_writes_and_reports(tmp_path):
    out = run("export", "mx-106/m1", "--to", "mujoco", "--joint", "knee", "-o", tmp_path / "knee.xml")
    assert out == ""
    assert "nothing is lost" in out.said
    assert "wrote" in out.said
    assert out.said.split("Run in ")[1].splitlines()[0] in (tmp_path / "knee.xml").read_text()
    with pytest.raises(BackemfError, match="exists"):
        run("export", "mx-106/m1", "--to", "mujoco", "--joint", "knee", "-o", tmp_path / "knee.xml")
    report = json.loads(run("explain", tmp_path / "knee.xml", "--json"))
    assert report["actuators"][0]["joint"] == "knee"
    assert "N m/rad" in run("explain", tmp_path / "knee.xml")


def test_export_as_json_has_its_keys():
    report = json.loads(run("export", "mx-106/m1", "--to", "mujoco-classic", "--json"))
    assert {"files", "dropped", "approximated", "replay"} <= set(report)
    assert report["replay"]["simulator"].startswith("MuJoCo")
    assert {"target_log", "native_log", "target_native", "refinement"} <= set(report["replay"]["cases"][0])


def test_a_bam_file_and_a_stored_actuator_are_sources(tmp_path):
    be.Actuator.read("mx-106/m1").write(tmp_path / "servo.json")
    out = run(
        "export", tmp_path / "servo.json", "--to", "bam", "--joint", "mx106", "-o", tmp_path / "bam.json"
    )
    assert "wrote" in out.said
    assert "From: BAM parameters bam.json, model m1 of mx106" in run(
        "export", tmp_path / "bam.json", "--to", "mujoco"
    )


def test_editing_a_model(tmp_path):
    path = tmp_path / "one.xml"
    path.write_text(
        '<mujoco><worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    out = run("export", "mx-106/m1", "--to", "mujoco", "--into", path, "--joint", "j", "--force")
    assert "new <dcmotor>" in out.said
    assert "<dcmotor" in path.read_text()


def test_replay_of_reference_motions():
    out = run("replay", "mx-106/m1", "--to", "mujoco-classic")
    assert "file-backemf" in out
    report = json.loads(run("replay", "mx-106/m1", "--json"))
    assert len(report["replay"]["cases"]) == 4


def test_unknown_target():
    with pytest.raises(UnknownName, match="did you mean 'mujoco'"):
        run("export", "mx-106/m1", "--to", "mujocoo")


def test_stdout_is_the_file():
    out = run("export", "mx-106/m1", "--to", "mujoco", "--no-replay")
    assert ElementTree.fromstring(out).tag == "mujoco"
    assert "Not run in a simulator." in out
    assert "nothing is lost" in out.said


@pytest.mark.parametrize(
    ("voltage", "volts", "said"), [(None, 15, 0), (None, 10, 1), (15, 12, 1), (12, 15, 0)]
)
def test_a_set_at_the_supply_it_was_identified_at_says_nothing_of_it(voltage, volts, said):
    chosen = choose_actuator("mx-106/m6", voltage=voltage, sets=[f"drive.supply={volts}"])
    texts = [f.text for f in chosen.findings if f.code == "outside_identified_supply"]
    assert len(texts) == said
    assert all(f"is used at {volts} V" in text for text in texts)


def test_numbers_supply_and_firmware_of_ones_own():
    out = run(
        "export",
        "sts3215-7.4v/m1",
        "--to",
        "mujoco-classic",
        "--firmware",
        "lerobot",
        "--voltage",
        "12",
        "--no-replay",
        "--json",
    )
    report = json.loads(out)
    plain = JointLaw.of(be.Actuator.read("sts3215-7.4v/m1"))
    assert report["numbers"]["kp"] == pytest.approx(plain.stiffness * 12 / 7.4 * 16 / 32)
    assert {f["code"] for f in report["findings"]} == {"outside_identified_supply", "derivative_not_known"}
    set_ = run(
        "export",
        "mx-106/m1",
        "--to",
        "mujoco-classic",
        "--set",
        "drive.proportional=16",
        "--set",
        "motor.resistance=3 ohm",
        "--no-replay",
        "--json",
    )
    found = json.loads(set_)["numbers"]
    servo = be.Actuator.read("mx-106/m1").replace(**{"drive.proportional": 16.0, "motor.resistance": 3.0})
    assert found["kp"] == pytest.approx(JointLaw.of(servo).stiffness)
    with pytest.raises(
        UnknownName, match=r"unknown parameter 'motor.resistence'; did you mean 'motor.resistance'"
    ):
        run("export", "mx-106/m1", "--to", "mujoco", "--set", "motor.resistence=3")
    with pytest.raises(InvalidValue, match="expected PATH=VALUE"):
        run("export", "mx-106/m1", "--to", "mujoco", "--set", "motor.resistance")
    with pytest.raises(UnknownName, match="unknown firmware profile"):
        run("export", "sts3215-12v", "--to", "mujoco", "--firmware", "lerobt")


@pytest.mark.parametrize("part", ["st-3215-c047", "sg90"])
def test_a_gain_that_nobody_printed_is_said_in_the_file(part):
    out = run("export", part, "--to", "mujoco-classic", "--method", "formula", "--no-replay")
    assert "Finding: assumed_gain: no sheet prints the gain" in out
    told = run(
        "export",
        part,
        "--to",
        "mujoco-classic",
        "--method",
        "formula",
        "--no-replay",
        "--set",
        "drive.volts_per_radian=50",
    )
    assert "assumed_gain" not in told


@pytest.mark.parametrize("name", [n for n in parts.names() if parts.sheet(n).kind == "servo"])
def test_every_servo_says_where_its_gain_is_from(name):
    """A gain of the position loop is printed, or a finding says that it is not."""
    made, sheet = parts.part(name), parts.sheet(name)
    printed = {"error_gain", "proportional"} <= {*sheet.firmware}
    assert printed != ("assumed_gain" in [f.code for f in made.findings])
    assert printed != any("firmware gain" in text for text in sheet.reconciled.assumed)


def test_a_velocity_gain_that_nobody_printed_is_said():
    out = run("export", "neo", "--control", "velocity", "--to", "mujoco", "--no-replay")
    assert "Finding: assumed_gain: no sheet prints the gain of the velocity loop of NEO; 0.198 V s/rad" in out
    made = ("export", "neo", "--control", "velocity", "--to", "mujoco", "--no-replay", "--set")
    assert "assumed_gain" not in run(*made, "drive.volt_seconds_per_radian=0.1")


def whole(text: str) -> None:
    """A source file of C: its header's comment first, the last function's brace last."""
    assert text.startswith("/* Written by backemf ")
    assert text.endswith("}\n")


@pytest.mark.parametrize("target", [name for name, row in TARGETS.items() if row.printable])
def test_what_is_printed_is_the_file_alone(target):
    out = run("export", "sg90", "--to", target, "--method", "formula", "--no-replay")
    if target == "c":
        assert out.said.endswith("joint.h is not printed; give -o to write every file\n")
        whole(out)
        return
    if target == "mujoco-plugin":
        assert out.said.endswith("Makefile, joint_plugin.xml is not printed; give -o to write every file\n")
        assert out.startswith("/* Written by backemf")
        assert out.endswith("backemf_register(); }\n#endif\n")
        return
    name = out.said.splitlines()[0].split(": ")[1].split(",")[0]
    if target == "usd":
        layer = importlib.import_module("pxr.Sdf").Layer.CreateAnonymous()
        assert layer.ImportFromString(out)
        return
    {"xml": ElementTree.fromstring, "urdf": ElementTree.fromstring, "sdf": ElementTree.fromstring}.get(
        name.rpartition(".")[2], json.loads if name.endswith("json") else ast.parse
    )(out)


def test_what_is_no_text_is_not_printed(tmp_path):
    with pytest.raises(
        InvalidValue, match=r"an export for fmu is no text to be printed; expected -o FILE\.fmu"
    ):
        run("export", "sg90", "--to", "fmu")
    report = json.loads(run("export", "sg90", "--to", "fmu", "--no-replay", "--json"))
    run("export", "sg90", "--to", "fmu", "--no-replay", "-o", tmp_path / "joint.fmu")
    content = (tmp_path / "joint.fmu").read_bytes()
    assert base64.b64decode(report["files"]["joint.fmu"]) == content
    assert content[:2] == b"PK"


def test_a_c_export_keeps_its_files_together(tmp_path):
    run("export", "sg90", "--to", "c", "--to", "c@float", "--joint", "k", "--no-replay", "-o", f"{tmp_path}/")
    made = {p.name: p.read_text(encoding="utf-8") for p in tmp_path.iterdir()}
    assert set(made) == {f"k_c_{kind}.{end}" for kind in ("double", "float") for end in "ch"}
    for kind in ("double", "float"):
        assert f'#include "k_c_{kind}.h"' in made[f"k_c_{kind}.c"]
    run("export", "sg90", "--to", "c", "--joint", "k", "--no-replay", "-o", tmp_path / "motor.h")
    assert (tmp_path / "motor.h").read_text(encoding="utf-8").count("#ifndef K_H") == 1
    assert '#include "motor.h"' in (tmp_path / "motor.c").read_text(encoding="utf-8")
    with pytest.raises(BackemfError, match="exists"):
        run("export", "sg90", "--to", "c", "--joint", "k", "--no-replay", "-o", tmp_path / "motor.c")


def test_stdout_takes_one_file(tmp_path):
    words = ("export", "sg90", "--to", "mujoco-classic", "--to", "urdf", "--method", "formula", "--no-replay")
    with pytest.raises(InvalidValue, match="2 targets were given, and stdout takes one file; expected -o FO"):
        run(*words)
    run(*words, "-o", f"{tmp_path}/")
    assert {p.suffix for p in tmp_path.iterdir()} == {".xml", ".urdf"}


def test_targets_with_one_file_name_are_told_apart(tmp_path):
    targets = ("--to", "mujoco@3.11", "--to", "mujoco@4.0", "--to", "mujoco-classic", "--to", "urdf")
    run(
        "export", "sg90", *targets, "--joint", "k", "--method", "formula", "--no-replay", "-o", f"{tmp_path}/"
    )
    made = {p.name: p.read_text(encoding="utf-8") for p in tmp_path.iterdir()}
    assert set(made) == {"k_mujoco_3.11.xml", "k_mujoco_4.0.xml", "k_mujoco-classic.xml", "k.urdf"}
    assert "for mujoco 3.11." in made["k_mujoco_3.11.xml"]
    assert "<dcmotor" not in made["k_mujoco-classic.xml"]


def test_many_joints_of_a_model(tmp_path):
    path = tmp_path / "arm.xml"
    joints = "".join(
        f'<body><joint name="{n}" armature="0.01"/><geom size="0.05"/></body>' for n in ("a_1", "a_2", "b")
    )
    motors = "".join(f'<position joint="{n}" kp="40" kv="1" ctrlrange="-1 1"/>' for n in ("a_1", "a_2", "b"))
    path.write_text(f"<mujoco><worldbody>{joints}</worldbody><actuator>{motors}</actuator></mujoco>")
    (tmp_path / "map.toml").write_text('"a_.*" = "mx-106/m1"\nb = "mx-64/m1"\n')
    words = ("--to", "mujoco-classic", "--method", "formula", "--into", path, "--json")
    by_option = run("export", "--joint", "a_.*=mx-106/m1", "--joint", "b=mx-64/m1", *words)
    assert (
        json.loads(by_option)["changes"]
        == json.loads(run("export", "--joints", tmp_path / "map.toml", *words))["changes"]
    )
    assert [m["joint"] for m in json.loads(by_option)["moved"]] == ["a_1", "a_2", "b"]
    with pytest.raises(MissingValue, match="has no actuator"):
        run("export", "--joint", "b", *words)


def test_a_file_changed_by_hand_is_replayed(tmp_path):
    run("export", "mx-106/m1", "--to", "mujoco", "-o", tmp_path / "knee.xml")
    text = (tmp_path / "knee.xml").read_text()
    assert 'motorconst="2.19' in text
    (tmp_path / "other.xml").write_text(text.replace('motorconst="2.19', 'motorconst="1.19'))
    plain, other = (
        json.loads(run("replay", tmp_path / f, "--actuator", "mx-106/m1", "--json"))["replay"]
        for f in ("knee.xml", "other.xml")
    )
    assert plain["rms"] < 2e-3  # of its time step
    assert other["rms"] > 3 * plain["rms"]
    (tmp_path / "broken.xml").write_text(text.replace("<dcmotor", "<dcmotors"))
    with pytest.raises(BackemfError, match=r"broken\.xml"):
        run("replay", tmp_path / "broken.xml")


def test_explain_compares_with_a_firmware_profile(tmp_path):
    """P 16 of LeRobot is half of the factory's 32."""
    from .test_explain import MODEL

    model = tmp_path / "arm.xml"
    servo = '<position name="s" joint="a" kp="200" forcerange="-5 5"/>'
    model.write_text(MODEL.format(actuator=servo, joint='armature="0.05"', h=0.002))
    kp = {}
    for profile in ("lerobot", "factory"):
        said = run("explain", model, "--with", "sts3215-12v", "--firmware", profile)
        kp[profile] = float(re.search(r'kp="([0-9.]+)"', said)[1])
        assert f"backemf export sts3215-12v --firmware {profile}" in said
        assert "stiffness_not_known" not in said
    assert kp["factory"] == pytest.approx(2 * kp["lerobot"], rel=1e-3)
    with pytest.raises(BackemfError, match="it belongs to the part that --with names"):
        run("explain", model, "--firmware", "lerobot")
