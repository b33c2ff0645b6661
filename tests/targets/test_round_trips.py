"""A joint of a model as a source everywhere: from a file to an actuator and back, the very files run in the
installed MuJoCo."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mujoco")

import mujoco

import backemf as be
from backemf.apps.cli import exports, identify, sheets
from backemf.errors import BackemfError, InvalidValue, MissingValue, UnknownName
from backemf.targets import sources
from backemf.targets.mujoco import mjcf_source
from backemf.targets.replay import is_exported, read_export

from ..cli.runner import runner

run = runner(exports.export, exports.explain, exports.replay, identify.check, sheets.datasheet)
JOINTS = {"a": 'damping="0.05" armature="0.002"', "b": 'frictionloss="0.03"', "c": "", "e": ""}
STUCK = ' solreffriction="0.002 1" solimpfriction="0.9999 0.9999 0.001 0.5 2"'
CLASS = '<dcmotor motorconst="0.08" resistance="2" gear="-5" armature="1e-4" damping="0.002"/>'
NEW = """
  <dcmotor class="m" name="A" joint="a" input="pos" controller="0.4 0.5 0.02 9 3 8" ctrlrange="-4 5"
    inductance="0 0.002" saturation="0.3 0 90"/>
  <dcmotor class="m" name="B" joint="b" input="vel" controller="0 0 0.02 0 0 8" ctrlrange="-6 6"
    thermal="5 3 0 0.0039 25 20" cogging="0.004 7 0.3"/>
  <dcmotor class="m" name="C" joint="c" input="voltage" ctrlrange="-6 6" lugre="30 0.02 0.005 0.008 2"/>
  <dcmotor class="m" name="E" joint="e" input="pos vel ff" controller="0.3 0 0.01 0 0 8"/>"""
OLD = """
  <dcmotor class="m" name="A" joint="a" input="position" controller="9 12 0.4 0 0 8"/>
  <dcmotor class="m" name="B" joint="b" input="velocity" controller="0.5" ctrlrange="-6 6"/>
  <dcmotor class="m" name="C" joint="c" input="voltage"/>"""


def robot(actuators: str, joints=JOINTS) -> str:
    bodies = "".join(
        f'<body pos="{k} 0 0"><joint name="{name}" axis="0 1 0" {on}{STUCK * ("friction" in on)}/>'
        '<inertial pos="0.1 0 0" mass="0.3" diaginertia="0.02 0.02 0.02"/></body>'
        for k, (name, on) in enumerate(joints.items())
    )
    return (
        '<mujoco><compiler angle="radian"/><option timestep="0.001" integrator="implicitfast"/>'
        f'<default><default class="m">{CLASS}</default></default><worldbody>{bodies}</worldbody>'
        f"<actuator>{actuators}</actuator></mujoco>"
    )


@pytest.fixture
def new(tmp_path):
    path = tmp_path / "new.xml"
    path.write_text(robot(NEW))
    return path


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.xml"
    path.write_text(robot(OLD))
    return path


def driven(path, n=2000):
    """Every joint's motion under sines that jump."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data, q = mujoco.MjData(model), []
    for k in range(n):
        t = k * model.opt.timestep
        size = np.resize([3.0, 4.0, 5.0, 2.0, 1.0, 0.1], model.nu)
        data.ctrl[:] = size * np.sin(3 * np.pi * t) * np.sign(np.sin(7 * t))
        mujoco.mj_step(model, data)
        q.append(data.qpos.copy())
    return model, np.array(q)


def test_a_model_written_back_into_itself_moves_to_the_last_digit(new, tmp_path):
    run("export", new, "--to", "mujoco", "--into", new, "-o", tmp_path / "again.xml")
    (before, q0), (after, q1) = driven(new), driven(tmp_path / "again.xml")
    for name in (
        "gainprm",
        "biasprm",
        "dynprm",
        "gear",
        "forcerange",
        "ctrlrange",
        "ctrllimited",
        "ctrlspec",
    ):
        one, other = (getattr(m, f"actuator_{name}") for m in (before, after))
        np.testing.assert_allclose(one, other, rtol=1e-12, err_msg=name)
    # armature and damping of a joint are now its actuator's: the same mass matrix, the same motion
    assert np.min(np.max(np.abs(q0), axis=0)) > 0.3
    assert np.max(np.abs(q0 - q1)) < 1e-12


def test_a_whole_model_passes_from_era_to_era_and_back(old, tmp_path):
    """The published conversions: position -> pos with kp K/R, ki K/R, kd K/R + K^2/R; velocity -> vel with
    kd = K (kp + K)/R and ctrl times kp / (kp + K)."""
    made = tmp_path / "made.xml"
    told = run("export", old, "--to", "mujoco@4.0", "--into", old, "-o", made, "--json")
    R, K = 2.0, 0.08
    model = mujoco.MjModel.from_xml_path(str(made))
    assert model.actuator_gainprm[0, 4:8] == pytest.approx(
        [9 * K / R, 12 * K / R, 0.4 * K / R + K * K / R, 8.0]
    )
    assert model.actuator_gainprm[1, 6] == pytest.approx(K * (0.5 + K) / R)
    assert list(model.actuator_gear[:, 0]) == [-5.0] * 3
    (scaled,) = [f for f in json.loads(told)["findings"] if f["code"] == "command_scaled"]
    assert scaled["numbers"]["factor"] == pytest.approx(0.5 / (0.5 + K))
    back = tmp_path / "back.xml"
    run("export", made, "--to", "mujoco@3.11", "--into", made, "-o", back)
    text = back.read_text()
    assert 'controller="9.0 12.0 0.4' in text
    assert text.count('input="position"') == text.count('input="velocity"') == 1
    for name in "ABC":
        one, other = (mjcf_source.read(path, name).actuator.parameters for path in (old, back))
        assert one == pytest.approx(other, rel=1e-12)


def test_what_would_stay_in_the_other_era_is_refused(old, tmp_path):
    with pytest.raises(InvalidValue, match="b, c would stay so; expected all of them at once"):
        run("export", f"{old}#A", "--to", "mujoco@4.0", "--into", old, "-o", tmp_path / "x.xml")


def test_a_plain_voltage_in_newton_metres_is_named_when_it_is_replaced(tmp_path):
    path = tmp_path / "ff.xml"
    given = (
        '<dcmotor class="m" name="D" joint="c" input="ff" controller="0 0 0.0032 0 0 5" ctrlrange="-1 1"/>'
    )
    path.write_text(robot(given))
    drive = be.Actuator.read(f"{path}#c").drive
    assert (drive.kind, drive.command_high) == (
        "drive.Voltage",
        pytest.approx(5.0),
    )  # Vmax, below 1 N m R / K
    with pytest.raises(InvalidValue, match="plain voltage, ctrl times R / K"):
        run("export", path, "--to", "mujoco", "--into", path, "-o", tmp_path / "x.xml")


@pytest.mark.parametrize(
    ("element", "kind", "factor"),
    [
        ('input="vel" controller="0 0 0.02" ctrlrange="-6 6"', "drive.Velocity", 1 / 0.84 / 5),
        ('input="pos" controller="0.4 0 0.02"', "drive.Position", 1 / 5),
        ('input="pos" controller="0.4 0 0.001"', "drive.Impedance", 1 / 5),  # brakes less than its back-EMF
        ('input="ff" controller="0 0 0.0032" ctrlrange="-6 6"', "drive.Voltage", 2 / 0.08),
    ],
)
def test_one_input_in_newton_metres_is_read_in_volts_where_that_is_a_drive(tmp_path, element, kind, factor):
    from backemf.targets.mujoco import dcmotor_target

    path = tmp_path / "one.xml"
    path.write_text(robot(f'<dcmotor class="m" name="D" joint="c" gear="5" {element}/>'))
    found = dcmotor_target.read(path)
    assert found.actuator.drive.kind == kind
    assert list(found.targets.values()) == pytest.approx([factor])


def test_a_joint_of_a_model_is_read_in_python(old):
    actuator = be.Actuator.read(f"{old}#a")
    assert actuator == be.Actuator.read(f"{old}#A") == sources.read(old, "a").actuator
    assert actuator.parameters["drive.volts_per_radian"] == pytest.approx(45.0)
    (row,) = be.explain(f"{old}#a")
    assert (row.actuator, row.joint) == ("A", "a")
    (row,) = be.explain(f"{old}#A", f"{old}#a")
    assert all(c.factor == pytest.approx(1.0) for c in row.compared if c.factor is not None)
    with pytest.raises(UnknownName, match=r"unknown actuator or joint in old\.xml 'z'"):
        be.explain(f"{old}#z")


def test_the_joint_s_name_is_the_source_s_unless_another_is_given(old):
    assert '<joint name="a"' in run("export", f"{old}#A", "--to", "mujoco", "--no-replay")
    assert 'joint_names_expr=["a"]' in run("export", f"{old}#a", "--to", "isaaclab")
    assert '<joint name="hip"' in run("export", f"{old}#a", "--to", "mujoco", "--joint", "hip", "--no-replay")


def test_a_file_of_the_other_era_is_not_replayed_and_says_how(old, new):
    with pytest.raises(
        InvalidValue, match=r"old.xml is written for MuJoCo 3.7 to 3.11 .* --into .* -o NEW.xml"
    ):
        read_export(f"{old}#a")
    assert is_exported(f"{new}#a")
    made = read_export(f"{new}#A")
    assert (made.joint, made.target) == ("a", "mujoco")


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("sheet.toml#a", InvalidValue, "sheet.toml holds one actuator; expected no # behind it"),
        ("fit.json#a", MissingValue, "there is no file 'fit.json'"),
        ("old.xml#", InvalidValue, "names nothing behind the #; expected a joint or an actuator"),
        ("none.xml#a", MissingValue, "there is no file"),
        ("old.xml#aa", UnknownName, "unknown actuator or joint in old.xml 'aa'"),
    ],
)
def test_a_wrong_name_is_said(old, monkeypatch, text, error, match):
    monkeypatch.chdir(old.parent)
    with pytest.raises(error, match=match):
        be.Actuator.read(text)


def test_a_model_is_no_datasheet(old):
    with pytest.raises(BackemfError, match=r"is no datasheet; .* `backemf explain MODEL.xml`"):
        run("datasheet", f"{old}#a")


def test_a_file_whose_name_has_a_sharp_is_that_file(tmp_path):
    path = tmp_path / "arm#2.xml"
    path.write_text(robot(NEW))
    assert sources.split(path) == (path, None)
    assert be.Actuator.read(f"{path}#A").drive.kind == "drive.Position"


def test_includes_assets_and_classes_are_followed_in_either_era(tmp_path):
    for folder in ("assets", "parts"):
        (tmp_path / folder).mkdir()
    (tmp_path / "assets" / "tet.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    )
    for name, inside in {
        "defaults": '<default><default class="j"><joint armature="0.01" damping="0.2"/></default>'
        '<default class="m"><dcmotor motorconst="0.08" resistance="2" gear="5" input="position"'
        ' controller="9 0 0.4 0 0 8"/></default></default>',
        "act": '<actuator><dcmotor class="m" name="k" joint="knee"/><dcmotor class="m" name="k2"'
        ' joint="knee"/></actuator>',
    }.items():
        (tmp_path / "parts" / f"{name}.xml").write_text(f"<mujocoinclude>{inside}</mujocoinclude>")
    (tmp_path / "main.xml").write_text(
        '<mujoco><compiler meshdir="assets"/><include file="parts/defaults.xml"/><asset><mesh name="m"'
        ' file="tet.obj"/></asset><worldbody><body><joint name="knee" class="j"/><geom type="mesh" mesh="m"'
        ' mass="1"/></body></worldbody><include file="parts/act.xml"/></mujoco>'
    )
    actuator = be.Actuator.read(f"{tmp_path / 'main.xml'}#k")
    assert actuator.motor.rotor_inertia * 25 == pytest.approx(0.01)
    assert actuator.parameters["drive.volts_per_radian"] == pytest.approx(45.0)
    assert sorted(p.name for p in tmp_path.rglob("*.xml")) == ["act.xml", "defaults.xml", "main.xml"]
    with pytest.raises(MissingValue, match=r"2 actuators to choose from \(k on knee, k2 on knee\)"):
        be.Actuator.read(f"{tmp_path / 'main.xml'}#knee")
    with pytest.raises(InvalidValue, match="several actuators on 'knee'"):
        mjcf_source.joints(tmp_path / "main.xml")


def test_a_check_starts_from_a_model(shared_data, tmp_path):
    be.export(be.Actuator.read("mx-106/m1"), "mujoco", joint="knee", replay=False).write(tmp_path / "mx.xml")
    log = sorted(Path(shared_data / "mx106_pendulum").glob("m0.535*kp8*.json"))[0]
    told = json.loads(run("check", log, "--start", f"{tmp_path / 'mx.xml'}#knee", "--json"))
    paths = {row["path"]: row["value"] for row in told["parameters"]}
    assert paths["motor.resistance"] == pytest.approx(2.9653, rel=1e-3)
