"""Models nobody here wrote: chains, slides, other actuators, constraints, and what cannot be compared."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mujoco")

import typer
from typer.testing import CliRunner

from backemf.apps.cli.exports import conform as command
from backemf.errors import InvalidValue, MissingValue
from backemf.mujoco.arrays import from_model, load_model, place
from backemf.mujoco.conform import _signals, _WatchedMotor, conform

MODEL = """<mujoco><option timestep="0.002" integrator="{integrator}"/>
<default><joint damping="0.01"/><geom contype="0" conaffinity="0"/></default>
<worldbody>
  <body><joint name="shoulder" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"
    mass="0.3"/>
    <body pos="0.3 0 0"><joint name="elbow" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.3 0 0"
      size="0.02" mass="0.2"/></body></body>
  <body pos="0 1 0"><joint name="lift" type="slide" axis="0 0 1" stiffness="3" damping="0.2" armature="0.01"/>
    <geom size="0.05" mass="0.5"/></body>
  <body pos="0 2 0"><joint name="wheel" axis="1 0 0" {wheel}/><geom size="0.05" mass="0.5"/></body>
  <body pos="0 3 0"><joint name="ball" type="ball"/><geom size="0.05" mass="0.5"/></body>
</worldbody>
<actuator>
  <motor joint="elbow"/>
  <dcmotor name="shoulder" joint="shoulder" gear="5" motorconst="0.08" resistance="2" inductance="0.004"
    thermal="2 0.4 0 0.0039 25 20"
    lugre="8 0.02 0.04 0.06 0.5" cogging="0.02 6 0" saturation="0.4" controller="0.4 0.3 0.02 4 0.2 8"
      input="pos" armature="1e-4" damping="1e-3 1e-4"/>
  <dcmotor name="elbow" joint="elbow" gear="-3" motorconst="0.08" resistance="2" controller="0 0 0.02"
    input="vel ff" damping="1e-3"/>
  <dcmotor name="lift" joint="lift" gear="50" motorconst="0.08" resistance="2" lugre="8 0.02 0.04 0.06 0.5"
    damping="1e-4 1e-5 1e-6" ctrlrange="-10 10"/>
  <dcmotor joint="wheel" motorconst="0.08" resistance="2" inductance="0 0.003" saturation="0 3 200"/>
  <dcmotor name="gimbal" joint="ball" gear="0 0 1" motorconst="0.08" resistance="2"/>
</actuator></mujoco>"""


@pytest.fixture
def write(tmp_path):
    def written(text: str) -> str:
        path = tmp_path / "model.xml"
        path.write_text(text)
        return str(path)

    return written


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "implicit", "RK4"])
def test_every_dcmotor_agrees(write, integrator):
    found = {
        row.actuator: row for row in conform(write(MODEL.format(integrator=integrator, wheel="")), steps=200)
    }
    assert list(found) == ["shoulder", "elbow", "lift", "4", "gimbal"]
    assert max(row.worst for row in found.values() if row.worst is not None) <= 1e-13
    assert set(found["shoulder"].differences) == {
        "force",
        "setpoint",
        "integral",
        "temperature_rise",
        "bristle",
        "current",
    }
    assert found["shoulder"].note == "not compared: position, velocity (the joint is part of a chain)"
    assert set(found["lift"].differences) == {"force", "position", "velocity", "bristle"}
    assert set(found["4"].differences) == {"force", "position", "velocity", "current"}
    assert found["gimbal"].worst is None
    assert "ball or free joint" in found["gimbal"].note


def test_a_joint_under_a_constraint_is_compared_as_far_as_possible(write):
    found = {
        row.actuator: row
        for row in conform(write(MODEL.format(integrator="Euler", wheel='frictionloss="0.01"')), steps=100)
    }
    assert found["4"].note == "not compared: position, velocity (constraints act on the joint)"
    assert found["4"].worst <= 1e-13
    assert "velocity" in found["lift"].differences


def test_files_that_do_not_help(write):
    with pytest.raises(MissingValue, match="the model has no dcmotor"):
        conform(write("<mujoco><worldbody/></mujoco>"))
    with pytest.raises(InvalidValue, match=r"MuJoCo \S+ does not load model.xml: XML Error"):
        conform(write("<mujoco><nonsense/></mujoco>"))


def test_the_command_prints_a_table_or_json(write):
    app = typer.Typer()
    app.command()(command)
    path = write(MODEL.format(integrator="Euler", wheel=""))
    shown = CliRunner().invoke(app, [path, "--steps", "50"])
    assert shown.exit_code == 0
    assert shown.output.splitlines()[0].split() == [
        "actuator",
        "joint",
        "worst",
        "difference",
        "compared",
        "note",
    ]
    spoken = json.loads(CliRunner().invoke(app, [path, "--steps", "50", "--json"]).output)
    assert set(spoken) == {"mujoco", "steps", "actuators", "findings", "options"}
    assert set(spoken["actuators"][0]) == {"actuator", "joint", "worst", "differences", "note"}


def test_a_bristle_that_hardly_moves_agrees(write):
    text = """<mujoco><worldbody><body><joint name="j" axis="0 0 1"/><geom size="0.5"/></body></worldbody>
      <actuator><dcmotor joint="j" motorconst="1e-6" resistance="1" lugre="3 0.1 0.5 0.8 0.1"/></actuator>
      </mujoco>"""
    (row,) = conform(write(text), steps=200)
    assert set(row.differences) == {"force", "position", "velocity", "bristle"}
    assert row.worst < 1e-14  # all digits of e^{ah} - 1, which the engine does not keep, are 1e-4 away


LONE = """<mujoco><option {option}>{flag}</option><worldbody><body><joint name="j" axis="0 1 0" damping=".01"
{joint}/>
<geom size=".1" mass="1" contype="0" conaffinity="0"/><site name="s"/></body></worldbody>{more}<actuator>
<dcmotor joint="j" motorconst=".1" resistance="2" {motor}/>{other}</actuator></mujoco>"""
FLUID, OTHERS = "also takes the fluid forces implicitly", "other actuators or tendons"
OFF = '<flag {}="disable"/>'
TENDON = '<tendon><fixed><joint joint="j" coef="1"/></fixed></tendon>'
IMPLICIT = 'integrator="implicitfast" '
ALONE = [
    ({}, ""),
    ({"option": IMPLICIT}, ""),
    ({"option": 'density="1.2"'}, ""),
    ({"option": IMPLICIT + 'density="1.2"'}, FLUID),
    ({"option": IMPLICIT + 'viscosity="0.1"'}, FLUID),
    ({"flag": OFF.format("eulerdamp")}, "eulerdamp is disabled"),
    ({"flag": OFF.format("eulerdamp"), "option": IMPLICIT}, ""),
    ({"joint": 'actuatorfrcrange="-1 1"'}, "actuatorfrcrange"),
    ({"joint": 'actuatorgravcomp="true"'}, "actuatorgravcomp"),
    ({"more": '<keyframe><key qpos=".3"/></keyframe>'}, ""),
    ({"more": TENDON}, OTHERS),
    ({"other": '<motor joint="j"/>'}, OTHERS),
    ({"motor": 'group="2"', "option": 'actuatorgroupdisable="2"'}, "its group 2 is disabled"),
    ({"motor": 'group="2"', "option": 'actuatorgroupdisable="3"'}, ""),
    ({"flag": OFF.format("clampctrl")}, "actuation or clampctrl"),
    ({"flag": OFF.format("actuation")}, "actuation or clampctrl"),
]


def lone(**given):
    parts = dict.fromkeys(("option", "flag", "joint", "more", "motor", "other"), "")
    return LONE.format(**{**parts, **given})


@pytest.mark.parametrize(("given", "why"), ALONE)
def test_a_joint_moves_by_its_motor_alone_or_it_is_said_why_not(write, given, why):
    """What else acts is named; without anything else, the whole state agrees."""
    (row,) = conform(write(lone(**given)), steps=20)
    assert why in row.note
    assert ("velocity" in row.differences) == (not why) == (not row.note)
    assert row.worst is None or row.worst <= 1e-13


@pytest.mark.parametrize("off", [1.01, 0.99])
def test_a_number_that_is_off_is_seen_in_every_difference(write, monkeypatch, off):
    """A torque that is a hundredth off is one after a step too, in the velocity by its share."""

    def other(model, i):
        dcmotor = from_model(model, i)
        return replace(dcmotor, motor=replace(dcmotor.motor, resistance=off * dcmotor.motor.resistance))

    monkeypatch.setattr("backemf.mujoco.conform.from_model", other)
    (row,) = conform(write(lone()), steps=30)
    assert row.differences["force"] == pytest.approx(abs(1 / off - 1), rel=1e-6)
    assert 1e-4 < row.differences["velocity"] <= row.differences["force"]


SENT = [
    ('ctrlrange="-1 3"', -1.0, 3.0),
    ('ctrlrange="2 2.5"', 2.0, 2.5),
    # 0.6 rad and 4 rad/s at the joint; a voltage for 3 rad/s there, and 2 A
    ('gear="5" input="pos" controller="1"', -3.0, 3.0),
    ('gear="5" input="vel" controller="0 0 1"', -20.0, 20.0),
    ('gear="5"', -5.5, 5.5),
    ('gear="5" input="ff"', -0.275, 0.275),
    ('gear="5" input="pos" controller="1 0 0 0 0 7"', -3.0, 3.0),
]


@pytest.mark.parametrize(("motor", "low", "high"), SENT)
def test_what_is_sent_goes_a_little_beyond_its_range(write, motor, low, high):
    model = load_model(write(lone(motor=motor)))
    watched = [_WatchedMotor(at=place(model, 0), dcmotor=from_model(model, 0), alone="")]
    sent = [u[0] for t in np.linspace(0, 2, 400) for _, u in _signals(watched, t)]
    beyond = np.array([low - min(sent), max(sent) - high]) / (high - low)
    assert np.all((beyond > 0.05) & (beyond < 0.6))
