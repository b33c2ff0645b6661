"""Explain beside a part: each number's factor, what to write, the command that writes it, and what no servo
has."""

from __future__ import annotations

import json
import math
import re
import shlex
from types import SimpleNamespace

import pytest

import backemf as be
from backemf.apps.cli import exports
from backemf.datasheets import parts as catalogue
from backemf.errors import InvalidValue, UnknownName
from backemf.findings import Finding
from backemf.mujoco.explain import servos
from backemf.mujoco.explain.compare import PartComparison
from backemf.mujoco.explain.explanation import ComparedPart, _findings_text, explain, summary, text
from backemf.physics.joint_law import JointLaw

from ..cli.runner import runner

run = runner(exports.export, exports.explain)

MODEL = """<mujoco><worldbody>
  <body><joint name="a" axis="0 1 0" {joint}/><geom type="sphere" size="0.2" mass="3"/></body>
  <body pos="1 0 0"><joint name="b" axis="0 1 0" {joint}/><geom type="sphere" size="0.2" mass="3"/></body>
  <body pos="2 0 0"><joint name="s" type="slide" {joint}/><geom type="sphere" size="0.2" mass="3"/></body>
</worldbody><actuator>{actuators}</actuator></mujoco>"""


@pytest.fixture
def model(tmp_path):
    def written(actuators: str, joint: str = 'armature="0.0284" damping="0.6" frictionloss="0.05"'):
        path = tmp_path / "arm.xml"
        path.write_text(MODEL.format(actuators=actuators, joint=joint))
        return path

    return written


def by_name(row) -> dict:
    return {c.attribute: c for c in row.compared}


def test_each_number_has_its_factor_and_what_to_write(model):
    path = model('<position name="a" joint="a" kp="998" kv="2" forcerange="-6 6"/>')
    (row,) = explain(path, "sts3215-7.4v/m1")
    actuator = be.Actuator.read("sts3215-7.4v/m1")
    K, R = actuator.motor.torque_constant, actuator.motor.resistance
    kp = 0.166 * 32 * 7.4 * K / R  # the firmware's gain, its register and the supply, by hand
    found = by_name(row)
    assert found["stiffness"].part == pytest.approx(kp)
    assert found["stiffness"].factor == pytest.approx(998 / kp)
    assert found["stiffness"].should_be == f'kp="{kp:.4g}"'
    d = K * K / R + actuator.friction.viscous
    assert found["damping"].model == pytest.approx(2.6)  # kv and the joint's
    assert found["damping"].factor == pytest.approx(2.6 / d)
    assert found["damping"].should_be == f'damping="{d:.4g}" kv="0"'
    stall = 0.97 * 7.4 * K / R
    assert found["torque limit"].factor == pytest.approx(6 / stall)
    assert found["torque limit"].should_be == f'forcerange="-{stall:.4g} {stall:.4g}"'
    assert found["armature"].factor == pytest.approx(0.0284 / actuator.motor.rotor_inertia)
    assert found["friction"].unit == "N m"
    assert [c.attribute for c in row.compared][:2] == ["stiffness", "damping"]  # the worst first
    assert [f.code for f in row.findings if f.code.endswith("_off")] == [
        "stiffness_off",
        "damping_off",
        "torque_limit_off",
    ]
    told = next(f for f in row.findings if f.code == "stiffness_off")
    assert "998 N m/rad is 56 times that of sts3215-7.4v/m1, 17.8 N m/rad" in told.text


def test_a_number_that_is_too_small_is_said_to_be_less(model):
    path = model('<position name="a" joint="a" kp="2" forcerange="-3.2 3.2"/>')
    (row,) = explain(path, "sts3215-7.4v/m1")
    (told,) = [f for f in row.findings if f.code == "stiffness_off"]
    assert told.numbers["factor"] == pytest.approx(2 / 17.8, rel=1e-2)
    assert "is 8.9 times less than that of" in told.text


def test_gears_of_the_element_are_taken_out_of_what_to_write(model):
    path = model('<position name="a" joint="a" kp="998" gear="-2" forcerange="-3 3"/>')
    (row,) = explain(path, "sts3215-7.4v/m1")
    found = by_name(row)
    assert found["stiffness"].model == pytest.approx(4 * 998)
    assert float(found["stiffness"].should_be.split('"')[1]) == pytest.approx(
        found["stiffness"].part / 4, rel=1e-3
    )
    assert found["torque limit"].model == pytest.approx(6.0)
    force = float(found["torque limit"].should_be.split('"')[1].split()[1])
    assert force == pytest.approx(found["torque limit"].part / 2, rel=1e-3)


def test_the_commands_write_it_and_then_nothing_is_off(model, monkeypatch):
    path = model(
        '<position name="a" joint="a" kp="998" forcerange="-6 6"/>'
        '<position name="b" joint="b" kp="500" forcerange="-6 6"/>'
    )
    monkeypatch.chdir(path.parent)
    rows = explain("arm.xml", "sts3215-7.4v/m1")
    for row in rows:
        program, *words = shlex.split(row.command)
        assert program == "backemf"
        run(*words)
    again = explain("arm_new.xml", "sts3215-7.4v/m1")
    assert [c.factor for r in again for c in r.compared] == pytest.approx([1.0] * 10)
    assert all(r.command is None for r in again)
    assert 'kp="998"' in path.read_text()


def test_a_dcmotor_is_compared_at_the_joint_and_written_by_the_command(model, monkeypatch):
    path = model(
        '<dcmotor name="a" joint="a" motorconst="0.02" resistance="2" gear="100" armature="3e-6" input="pos"'
        ' controller="0.01 0 0.001 0 0 12"/>',
        joint='frictionloss="0.05"',
    )
    monkeypatch.chdir(path.parent)
    (row,) = explain("arm.xml", "mx-106/m1")
    assert by_name(row)["stiffness"].model == pytest.approx(0.01 * 100**2)
    assert by_name(row)["armature"].model == pytest.approx(3e-6 * 100**2)
    assert by_name(row)["stiffness"].should_be.endswith("N m/rad at the joint")
    assert "--to mujoco --joint a" in row.command
    run(*shlex.split(row.command)[1:])
    (again,) = explain("arm_new.xml", "mx-106/m1")
    assert [c.factor for c in again.compared] == pytest.approx([1.0] * 5)


def test_parts_by_pattern_and_one_for_the_others(model):
    path = model(
        '<position name="a" joint="a" kp="20" forcerange="-3 3"/>'
        '<position name="b" joint="b" kp="20" forcerange="-3 3"/>'
    )
    rows = explain(path, {".*": "mx-64/m1", "a": "mx-106/m1"})
    assert [r.part for r in rows] == ["mx-106/m1", "mx-64/m1"]
    first, second = explain(path, {"b": "mx-64/m1"})
    assert (first.part, first.compared, second.part) == (None, (), "mx-64/m1")
    given = be.Actuator.read("mx-64/m1")
    assert explain(path, given)[0].compared[0].part == pytest.approx(second.compared[0].part)
    with pytest.raises(UnknownName, match="unknown joint 'elbow'"):
        explain(path, {"elbow": "mx-64/m1"})
    with pytest.raises(InvalidValue, match="is no pattern of names"):
        explain(path, {"(": "mx-64/m1"})


def test_a_gain_that_no_sheet_prints_is_that_of_servos_alike(model):
    assert not ComparedPart.of("sts3215-12v").gain_known
    assert ComparedPart.of("sts3215-7.4v/m1").gain_known
    path = model('<position name="a" joint="a" kp="998" forcerange="-2.94 2.94"/>')
    (row,) = explain(path, "sts3215-12v")
    found = by_name(row)["stiffness"]
    low, high = found.range
    # a real arm's joints with this servo were fitted with 10 to 15 N m/rad
    assert 10 < low < high < 20
    assert found.part == pytest.approx(math.sqrt(low * high))
    assert found.source.startswith("servos of its torque (mx-28")
    assert {"stiffness_not_known", "armature_not_known"} <= {f.code for f in row.findings}
    (unknown,) = [f for f in row.findings if f.code == "stiffness_not_known"]
    assert "is not known" in unknown.text
    assert unknown.remedy.startswith("set ")


def test_a_motor_keeps_its_ctrl(model):
    path = model('<motor name="a" joint="a" gear="2" forcerange="-30 30"/>')
    (row,) = explain(path, "mx-106/m1")
    assert "stiffness" not in by_name(row)
    assert by_name(row)["torque limit"].should_be == 'forcerange="-4.268 4.268"'  # before its gear
    assert row.command is None


def test_slides_are_in_newtons_and_metres(model):
    path = model('<position name="s" joint="s" kp="5000"/>', joint="")
    (row,) = explain(path)
    shown = text([row])
    assert "N/m" in shown
    assert "kg" in shown
    assert not any(wrong in shown for wrong in ("N m", "rad", "kg m^2"))
    assert not any("N m" in f.text + f.remedy or "rad" in f.text + f.remedy for f in row.findings)
    assert {f.code for f in row.findings} == {"no_limit", "no_armature"}
    assert summary([row])["actuators"][0]["slides"] is True
    (row,) = explain(path, "mx-106/m1")
    assert "other_motion" in {f.code for f in row.findings}
    assert row.compared == ()


@pytest.mark.parametrize(
    ("actuator", "joint", "code", "remedy"),
    [
        # the public model of the SO-ARM100: armature 0.1 kg m^2 behind 3.5 N m
        (
            '<position joint="a" kp="17" forcerange="-3.5 3.5"/>',
            'armature="0.1" damping="0.6"',
            "armature_far_from_servos",
            "armature about 0.0088 to 0.031 kg m^2",
        ),
        (
            '<position joint="a" kp="17" forcerange="-3.5 3.5"/>',
            'armature="0.0003" damping="0.6"',
            "armature_far_from_servos",
            "armature about 0.0088 to 0.031 kg m^2",
        ),
        (
            '<position joint="a" kp="9000" forcerange="-2000 2000"/>',
            'armature="9" damping="20"',
            "torque_beyond_servos",
            "check forcerange",
        ),
        (
            '<position joint="a" kp="998" forcerange="-2.94 2.94"/>',
            'armature="2" damping="0.6"',
            "gain_far_from_servos",
            "kp about 14 to 16 N m/rad",
        ),
        (
            '<position joint="a" kp="15" forcerange="-2.94 2.94"/>',
            'armature="0.028"',
            "damping_below_back_emf",
            "at least 0.36 N m s/rad = stall torque / no-load speed, 2.94 N m / 8.1 rad/s",
        ),
        (
            '<position joint="a" kp="15" forcerange="-2.94 2.94"/>',
            'damping="0.6"',
            "no_armature",
            "armature about 0.0074 to 0.026 kg m^2",
        ),
        (
            '<position joint="a" kp="15"/>',
            'armature="0.028" damping="0.6"',
            "no_limit",
            "about 2.2 to 13 N m",
        ),
    ],
)
def test_what_no_servo_has_is_found_with_numbers(model, actuator, joint, code, remedy):
    (row,) = explain(model(actuator, joint))
    (told,) = [f for f in row.findings if f.code == code]
    assert remedy in told.remedy


ARMS = {
    # (kp, torque limit, armature, joint damping) of each joint, as published models have them; kp 0: a motor
    "ur5e": [(2000, 150, 0.1, 0), (2000, 150, 0.1, 0), (500, 28, 0.1, 0)],
    "panda": [(4500, 87, 0.1, 1), (2000, 12, 0.1, 1)],
    "go2": [(0, 23.7, 0.01, 0.1), (0, 45.43, 0.01, 0.1)],
    "so101": [(17.8, 3.35, 0.028, 0.6), (17.8, 3.35, 0.028, 0.6)],
    "barkour": [(35, 18, 0.011, 0.024), (35, 18, 0.011, 0.024)],
}


def arm(tmp_path, joints):
    bodies, actuators = [], []
    for k, (kp, limit, armature, damping) in enumerate(joints):
        joint = f'name="j{k}" axis="0 1 0" armature="{armature}" damping="{damping}"'
        bodies.append(f'<body pos="{k} 0 0"><joint {joint}/><geom size="0.2" mass="3"/></body>')
        law = f'position kp="{kp}" kv="{kp / 5}"' if kp else f'motor ctrlrange="-{limit} {limit}"'
        actuators.append(f'<{law} name="j{k}" joint="j{k}" forcerange="-{limit} {limit}"/>')
    path = tmp_path / "arm.xml"
    lists = "".join(bodies), "".join(actuators)
    path.write_text("<mujoco><worldbody>{}</worldbody><actuator>{}</actuator></mujoco>".format(*lists))
    return explain(path)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ur5e", "geared actuators"),
        ("panda", "geared actuators"),
        ("go2", "quasi-direct drives"),
        ("so101", "servos"),
        ("barkour", "geared actuators"),
    ],
)
def test_every_arm_is_measured_by_its_own_kind(tmp_path, name, kind):
    rows = arm(tmp_path, ARMS[name])
    for row, (kp, limit, _, _) in zip(rows, ARMS[name], strict=True):
        words, _, why = row.alike.partition(" of ")
        assert words == kind
        assert f"{'positions' if kp else 'torques'} are commanded, {limit:.3g} N m" in why
        named = re.split(r", | and |[()]", why)
        sizes = [p.torque for k in servos.kinds_of(kp > 0) for p in k.parts if p.name in named]
        assert sizes
        assert all(limit / 2 <= size <= limit * 2 for size in sizes)
        assert row.findings == ()
    assert f"measured by {kind} of" in " ".join(text(rows).split())
    assert summary(rows)["actuators"][0]["alike"] == rows[0].alike


def test_a_wrist_is_of_the_kind_of_its_shoulder(tmp_path):
    """12 N m alone could be a servo, and 2000 N m/rad would be far too stiff for one."""
    shoulder, wrist = ARMS["panda"]
    (alone,) = arm(tmp_path, [wrist])
    assert "gain_far_from_servos" in {f.code for f in alone.findings}
    assert arm(tmp_path, [shoulder, wrist])[1].findings == ()
    _, servo = arm(tmp_path, [shoulder, (17.8, 3.35, 0.028, 0.6)])  # too weak for the shoulder's kind
    assert servo.alike.startswith("servos")


@pytest.mark.parametrize(
    ("joint", "code"),
    [((0.1, 0.01, 1e-7, 0), "no_part_alike"), ((9000, 5000, 10, 0), "torque_beyond_servos")],
)
def test_what_nothing_is_like_is_not_compared(tmp_path, joint, code):
    (row,) = arm(tmp_path, [joint])
    assert [f.code for f in row.findings] == [code]
    assert "no part known here is like it" in row.findings[0].text
    assert row.alike is None


def test_a_leg_with_the_armature_of_a_servo_is_too_heavy(tmp_path):
    """23.7 N m: a GO-M8010-6 has 0.0045 kg m^2 (its rotor times 6.33^2), servos of a tenth have more."""
    sound, heavy, none = arm(tmp_path, [(0, 23.7, J, 0.1) for J in (0.01, 0.3, 0)])
    assert sound.findings == ()
    (told,) = heavy.findings
    assert told.code == "armature_far_from_servos"
    assert told.numbers["low"] < 0.0045 < told.numbers["high"] < 0.03
    (told,) = none.findings
    assert told.code == "no_armature"
    assert "as quasi-direct drives of about 24 N m" in told.remedy


def test_an_unknown_armature_is_that_of_parts_of_its_kind(model):
    """The sheet of the RobStride 03 prints no inertia; one was measured to 0.0153 kg m^2 (its quirks)."""
    (row,) = explain(model('<motor name="a" joint="a" forcerange="-60 60"/>'), "robstride-03")
    found = by_name(row)["armature"]
    assert found.source.startswith("quasi-direct drives of its torque (")
    low, high = found.range
    assert low < 0.0153 < high


def test_a_servo_as_identified_has_no_findings(model):
    joint = 'armature="0.0284" damping="0.608" frictionloss="0.0524"'
    (row,) = explain(model('<position joint="a" kp="17.8" forcerange="-3.25 3.25"/>', joint))
    assert row.findings == ()


def test_the_table_of_servos_is_the_catalogue():
    for servo in servos.SERVOS:
        sheet = catalogue.sheet(servo.name.partition("/")[0])
        firmware = {k: p.value for k, p in sheet.firmware.items()}
        if servo.stiffness is not None:
            duty = firmware["error_gain"] * firmware["proportional"] / firmware.get("duty_limit", 1.0)
            assert servo.stiffness == pytest.approx(duty, rel=1e-3)  # four digits in the table
        if "/" in servo.name:
            x = JointLaw.of(be.Actuator.read(servo.name))
            assert (servo.torque, servo.speed) == pytest.approx(
                (x.effort_limit, x.effort_limit / x.drag), rel=1e-3
            )
            assert servo.armature == pytest.approx(x.armature, rel=1e-3)
        else:
            printed = sheet.value("stall_torque"), sheet.value("no_load_speed")
            assert (servo.torque, servo.speed) == pytest.approx(printed, rel=1e-3)
    there = {name.partition("/")[0] for name in (s.name for s in servos.SERVOS)}
    known = {
        name
        for name in catalogue.names()
        if (sheet := catalogue.sheet(name)).kind == "servo"
        and (sheet.identified or {"error_gain", "proportional"} <= set(sheet.firmware))
    }
    assert there == known


def test_a_public_arm_is_far_too_stiff_and_fits_80_columns(shared_data):
    path = shared_data / "so101" / "so101.xml"
    rows = explain(path, "sts3215-7.4v/m1")
    assert len(rows) == 6
    # published fits of this arm have 10 to 15 N m/rad: what is shipped is 70 to 100 times too stiff
    assert all(50 < by_name(r)["stiffness"].factor < 100 for r in rows)
    for shown in (text(explain(path)), text(rows)):
        lines = [line for line in shown.splitlines() if not line.startswith("  backemf")]
        assert max(len(line) for line in lines) <= 80
        assert shown.count("- gain_far_from_servos") <= 1  # told once for all six


def test_a_narrow_terminal_gets_tables_below_each_other(model):
    path = model('<position name="a_very_long_name_of_an_actuator" joint="a" kp="20" forcerange="-3 3"/>')
    shown = text(explain(path), 60)
    assert max(len(line) for line in shown.splitlines()) <= 60
    assert shown.count("a_very_long_name_of_an_actuator  ") == 3  # what does not fit goes below


def test_the_command_line_compares(model):
    path = model('<position name="a" joint="a" kp="998" forcerange="-3 3"/>')
    out = run("explain", path, "--with", "a=sts3215-7.4v/m1")
    assert 'kp="17.8"' in out
    row = json.loads(run("explain", path, "--with", "sts3215-7.4v/m1", "--json"))["actuators"][0]
    assert {"attribute", "model", "part", "factor", "should_be", "unit"} <= set(row["compared"][0])
    assert row["command"].startswith("backemf export sts3215-7.4v/m1 --to mujoco-classic")
    with pytest.raises(InvalidValue, match="two parts"):
        run("explain", path, "--with", "mx-28", "--with", "mx-64")
    with pytest.raises(InvalidValue, match="expected a part"):
        run("explain", path, "--with", "a=")


BRISTLE = (
    '<dcmotor name="a" joint="a" gear="2" resistance="2" motorconst="0.1" damping="0.01"'
    ' lugre="{stiffness} {damping} 0.05 0.08 0.1"/>'
)


@pytest.mark.parametrize(
    ("stiffness", "damping", "codes"),
    [(10.0, 0.001, []), (1e3, 0.001, ["bristle_unstable"]), (10.0, 0.5, ["not_passive"])],
)
def test_a_dcmotors_bristle_is_explained_at_its_joint(model, stiffness, damping, codes):
    path = model(BRISTLE.format(stiffness=stiffness, damping=damping), 'armature="0.01" damping="0.02"')
    (row,) = explain(path)
    one = row.bristle
    J = 0.4 * 3 * 0.2**2 + 0.01  # a ball of 3 kg, and the armature
    viscous, motor = 4 * 0.01 + 0.02, 4 * 0.1**2 / 2  # gear^2 times the actuator's, and the joint's own
    assert one is not None
    assert one.natural_frequency == pytest.approx(math.sqrt(4 * stiffness / J) / (2 * math.pi))
    all_damping = 4 * damping + viscous + motor
    assert one.damping_ratio == pytest.approx(all_damping / (2 * math.sqrt(4 * stiffness * J)))
    assert one.passive_limit == pytest.approx(viscous * 0.05 / 0.03)
    assert one.integrator == "Euler"
    assert one.largest_step == pytest.approx(min(all_damping / (4 * stiffness), math.inf))
    assert [f.code for f in row.findings if f.code != "no_armature"] == codes
    assert "stable below" in text([row])
    assert summary([row])["actuators"][0]["bristle"]["largest_step"] == one.largest_step


def test_another_integrator_may_bear_the_step(model):
    path = model(BRISTLE.format(stiffness=10.0, damping=40.0), 'armature="0.01" damping="0.02"')
    (row,) = explain(path)
    (told,) = (f for f in row.findings if f.code == "bristle_unstable")
    assert 'integrator="implicitfast"' in told.remedy
    path.write_text(path.read_text().replace("<mujoco>", '<mujoco><option integrator="implicitfast"/>'))
    (row,) = explain(path)
    assert "bristle_unstable" not in [f.code for f in row.findings]
    path.write_text(path.read_text().replace("implicitfast", "RK4"))
    (row,) = explain(path)
    assert row.bristle is not None
    assert row.bristle.largest_step is None


def test_a_finding_names_who_has_it():
    both, one = (
        Finding(code="no_limit", text="x", remedy="y"),
        Finding(code="no_armature", text="z", remedy="w"),
    )
    left = SimpleNamespace(actuator="left", compared=(), findings=(both,))
    right = SimpleNamespace(actuator="right", compared=(), findings=(both, one))
    told = _findings_text([left, right], 80).splitlines()  # type: ignore[list-item]  # all that it is asked for
    assert told[0] == "- no_limit: all 2 actuators: x"
    assert told[2] == "- no_armature: right: z"
    assert _findings_text([left], 80).startswith("- no_limit: left: x")  # type: ignore[list-item]  # likewise


STALL = 2.94
STIFF = [s.stiffness for s in servos.SERVOS if s.stiffness is not None]
HEAVY = [s.armature / s.torque for s in servos.SERVOS if s.armature is not None]
BOUNDS = {
    "kp above": (3 * max(STIFF) * STALL, "gain_far_from_servos"),
    "kp below": (min(STIFF) / 10 * STALL, "gain_far_from_servos"),
    "armature above": (3 * max(HEAVY) * STALL, "armature_far_from_servos"),
    "armature below": (min(HEAVY) / 10 * STALL, "armature_far_from_servos"),
    "damping below": (STALL / 40, "damping_below_back_emf"),  # it would run to 40 rad/s
    "timestep above": (0.5 / math.sqrt(15 / (0.4 * 3 * 0.2**2 + 0.028)), "step_too_long"),
}


@pytest.mark.parametrize("share", [0.85, 1.15])
@pytest.mark.parametrize("bound", BOUNDS)
def test_a_number_is_told_where_it_is_beyond_its_bound_and_not_before(model, bound, share):
    """With the numbers of servos of half to twice the torque."""
    (name, side), (most, code) = bound.split(), BOUNDS[bound]
    x = {"kp": 15.0, "armature": 0.028, "damping": 0.6, "timestep": 1e-4, name: share * most}
    joint = f'armature="{x["armature"]}" damping="{x["damping"]}"'
    path = model(f'<position joint="a" kp="{x["kp"]}" forcerange="-{STALL} {STALL}"/>', joint)
    option = f'<mujoco><option timestep="{x["timestep"]}"/>'
    path.write_text(path.read_text().replace("<mujoco>", option))
    (row,) = explain(path)
    assert [f.code for f in row.findings] == [code] * ((share > 1) == (side == "above"))
    near = [s for s in servos.SERVOS if STALL / 2 <= s.torque <= 2 * STALL]
    known = {
        "kp": [STALL * s.stiffness for s in near if s.stiffness is not None],
        "armature": [STALL * s.armature / s.torque for s in near if s.armature is not None],
    }.get(name)
    for f in row.findings if known else ():
        assert (f.numbers["low"], f.numbers["high"]) == pytest.approx((min(known), max(known)))


OFF_BY = [(7.0, 10.0, None, False), (14.5, 10.0, None, False), (6.3, 10.0, None, True),
          (15.8, 10.0, None, True), (None, 10.0, None, True), (9.0, None, None, False),
          (3.6, 7.0, (5.0, 10.0), False), (14.5, 7.0, (5.0, 10.0), False), (None, 7.0, (5.0, 10.0), True),
          (3.1, 7.0, (5.0, 10.0), True), (15.8, 7.0, (5.0, 10.0), True)]  # fmt: skip


@pytest.mark.parametrize(("mine", "part", "between", "off"), OFF_BY)
def test_a_number_is_off_by_half_or_more(mine, part, between, off):
    """Of the part's, or of what parts alike have; what the model has not is, what nobody knows is not."""
    factor = mine / part if mine and part else None
    assert PartComparison("friction", mine, part, factor, "", "N m", "servo", between).is_off is off
