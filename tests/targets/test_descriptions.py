"""URDF, SDF and Drake's URDF: what they hold, and the very file moved by Drake."""

from __future__ import annotations

import importlib.util
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.errors import BackemfError, InvalidValue, MissingValue, NotAvailable
from backemf.targets.description import DRAKE, SDF, URDF, controller_in, drake_inputs
from backemf.targets.drake import simulator
from backemf.targets.export import export, parse_target

from ..conftest import unavailable
from .clock import DRIVES, GEARED, STEP, agrees, clocked, driven, feels_every_number

SPECS = {"urdf": URDF, "sdf": SDF, "drake": DRAKE}


def inputs_of(target: str, actuator: be.Actuator) -> dict[str, float]:
    """Factor from each of the drive's targets to the file's input."""
    return drake_inputs(actuator) if target == "drake" else dict.fromkeys(actuator.drive.targets, 1.0)


NUMBER = r"-?\d[\d.]*(?:[eE][-+]?\d+)?"
PATTERNS = (
    re.compile(rf'\b(?!version|value)(?P<name>\w+)="(?P<value>{NUMBER})"'),
    re.compile(rf'<(?:drake:)?(?P<name>\w+) value="(?P<value>{NUMBER})"'),
    re.compile(rf"<(?P<name>\w+)>(?P<value>{NUMBER})</"),
    re.compile(rf"\b(?P<name>stiffness|derivative|gain|back_emf)=(?P<value>{NUMBER})"),
)


@pytest.fixture
def installed():
    if importlib.util.find_spec("pydrake") is None:
        unavailable("Drake (the extra 'peers')")


def frictionless(made: be.Actuator) -> be.Actuator:
    """What Drake makes of the carried actuator."""
    return replace(made, friction=be.friction.Viscous(viscous=made.friction.viscous))


def test_versions_of_drake_are_those_of_its_first_number():
    assert parse_target("drake@1.51.1") == ("drake", "1")
    assert parse_target("drake") == ("drake", "1")
    with pytest.raises(BackemfError, match="unknown version of drake '2'"):
        parse_target("drake@2")


def test_drake_has_the_rotor_behind_its_gears_and_a_controller():
    made = export(GEARED, "drake", joint="knee", method="formula")
    text = made.text
    assert "Units: SI: effort N m, p N m/rad, d and damping N m s/rad at the joint" in text
    root = ElementTree.fromstring(text)
    space = "{http://drake.mit.edu}"
    (actuator,) = root.findall("transmission/actuator")
    given = {child.tag.removeprefix(space): child.attrib for child in actuator}
    assert float(given["rotor_inertia"]["value"]) == 1e-7
    assert float(given["gear_ratio"]["value"]) == 100.0
    assert {k: float(v) for k, v in given["controller_gains"].items()} == pytest.approx(
        {"p": 10.0, "d": 0.05}
    )
    limit = root.find("joint/limit").attrib
    assert {k: float(v) for k, v in limit.items()} == pytest.approx({"effort": 2.0, "velocity": 12.0})
    assert float(root.find("joint/dynamics").attrib["damping"]) == pytest.approx(0.01 + 0.25)
    (friction,) = [e for e in made.dropped if e.path == "friction.coulomb"]
    assert friction.text == "Drake has no dry friction in a joint"
    assert friction.error > 1e-3  # 0.05 N m on 10 N m/rad is 5 mrad


def test_drake_puts_friction_into_damping_and_moves_nothing_else():
    plain, fitted = (export(GEARED, "drake", method=m, replay=False) for m in ("formula", "simulation"))
    changed = {k for k in plain.numbers if plain.numbers[k] != fitted.numbers[k]}
    assert changed <= {"damping"}
    assert fitted.numbers["damping"] >= plain.numbers["damping"]
    assert any(e.path == "friction.coulomb" for e in fitted.approximated)


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("servo", {"position_target": 1.0}),
        ("velocity", {"velocity_target": 1.0}),
        ("voltage", {"voltage_target": 0.25}),
        ("mirrored voltage", {"voltage_target": -0.25}),
        ("torque", {"torque_target": 1.0, "velocity_target": 1.0}),
        ("impedance", {"position_target": 1.0, "velocity_target": 1.0, "torque_target": 1.0}),
    ],
)
def test_inputs_of_drake(name, inputs):
    assert drake_inputs(DRIVES[name]) == pytest.approx(inputs)


def test_sdf_has_the_numbers_of_urdf():
    one, other = (export(GEARED, target, joint="knee") for target in ("urdf", "sdf"))
    axis = ElementTree.fromstring(other.text).find("model/joint/axis")
    values = {
        n: float(axis.findtext(f"{group}/{n}"))
        for group, n in (
            ("limit", "effort"),
            ("limit", "velocity"),
            ("dynamics", "damping"),
            ("dynamics", "friction"),
        )
    }
    assert values == {n: one.numbers[n] for n in values}
    assert [e.path for e in one.dropped] == [e.path for e in other.dropped]
    assert controller_in(one.text) == controller_in(other.text)


def test_the_header_holds_the_controllers_law():
    made = export(GEARED, "urdf", joint="knee")
    law = controller_in(made.text)
    numbers = (law.stiffness, law.damping, law.gain, law.back_emf)
    assert numbers == pytest.approx((10.0, 0.05, 0.0, 0.25))
    assert "Drake, which a replay runs, has no dry friction" in made.text
    volts = controller_in(export(DRIVES["mirrored voltage"], "urdf").text)
    numbers = (volts.stiffness, volts.damping, volts.gain, volts.back_emf)
    assert numbers == pytest.approx((0.0, 0.0, -0.25, 0.25))


def test_no_negative_damping_is_written():
    """An impedance drive hides the back-EMF: nothing is taken from its own gain."""
    for target in ("urdf", "sdf", "drake", "newton"):
        x = export(DRIVES["impedance"], target, method="formula", replay=False).numbers
        assert all(v >= 0 for v in x.values()), target
    assert export(DRIVES["impedance"], "drake", method="formula", replay=False).numbers["d"] == pytest.approx(
        0.2
    )


def test_a_drive_that_follows_nothing_is_refused():
    with pytest.raises(InvalidValue, match=r"Drake has no actuator for drive\.Brake"):
        export(replace(GEARED, drive=be.drive.Brake()), "drake")


def test_without_drake_the_text_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pydrake.multibody.parsing", None)
    with pytest.raises(NotAvailable, match="pip install drake"):
        simulator()


@pytest.mark.parametrize("name", DRIVES)
@pytest.mark.parametrize("target", SPECS)
def test_drake_moves_the_file_as_backemf_moves_the_stand_in(target, name, installed):
    actuator, spec = DRIVES[name], SPECS[target]
    made = export(actuator, target, joint="knee", method="formula", replay=False)
    expected = made.carried if target == "drake" else frictionless(made.carried)
    agrees(
        lambda case: spec.run(made.files, "knee", case),
        expected,
        driven(actuator),
        inputs_of(target, actuator),
    )


@pytest.mark.parametrize("name", ["servo", "voltage", "torque", "linear"])
@pytest.mark.parametrize("target", SPECS)
def test_every_number_of_the_file_acts_or_is_said_to_be_inert(target, name, installed):
    actuator, spec = DRIVES[name], SPECS[target]
    made = export(actuator, target, joint="knee", method="formula", replay=False)
    case = clocked(driven(actuator), STEP, inputs_of(target, actuator), actuator.motion)
    seen = feels_every_number(
        lambda text: spec.run({"": text}, "knee", case), made.text, PATTERNS, spec.inert
    )
    assert {
        "effort",
        "damping",
        *(("rotor_inertia", "gear_ratio") if target == "drake" else ("friction",)),
    } <= seen
    if name == "servo":
        assert ({"p", "d"} if target == "drake" else {"stiffness", "derivative", "back_emf"}) <= seen


@pytest.mark.parametrize("target", SPECS)
def test_a_disabled_drive_coasts(target, installed):
    """Nothing but the joint's damping is left: w = w_0 exp(-b t / J)."""
    spec = SPECS[target]
    made = export(GEARED, target, joint="knee", method="formula", replay=False)
    motion = driven(GEARED)
    off = {**motion.command, "enabled": np.zeros(len(motion.time))}
    case = clocked(
        motion._replace(command=off, start={"position": 0.0, "velocity": 2.0}),
        STEP,
        inputs_of(target, GEARED),
    )
    J, b = 0.005 + (1e-3 if target == "drake" else 0.0), made.numbers["damping"]
    travelled = 2.0 * J / b * (1.0 - np.exp(-b * case.moments / J))
    # a step of 1 ms turns b h / J = 4 % of the speed at most, half of which a first-order step may be off
    assert np.max(np.abs(spec.run(made.files, "knee", case) - travelled)) < 0.03 * travelled[-1]


@pytest.mark.parametrize(
    ("target", "old", "new", "said"),
    [
        ("urdf", "</robot>", "", "Drake cannot read this urdf"),
        ("sdf", "</sdf>", "", "Drake cannot read this sdf"),
        ("drake", 'damping="0.26"', 'damping="a lot"', "Drake cannot read this urdf"),
        ("drake", 'damping="0.26"', 'damping="-0.26"', "Drake cannot read this urdf"),
        ("drake", 'value="1e-07"', 'value="-1e-07"', "rotor inertia of joint 'knee' is -1e-07"),
        ("sdf", "<damping>0.01<", "<damping>nan<", "damping of joint 'knee' is nan"),
        ("sdf", "<effort>2<", "<effort>0<", "finds no actuator on joint 'knee'"),
        ("urdf", "Controller:", "Controler:", "no line 'Controller: effort"),
        ("urdf", "stiffness=10", "stiffness=soft", "expected numbers for stiffness"),
        ("urdf", "stiffness=10", "stiffness=-10", "stiffness for the joint is -10"),
    ],
)
def test_nonsense_is_refused(target, old, new, said, installed):
    spec = SPECS[target]
    made = export(GEARED, target, joint="knee", method="formula", replay=False)
    assert old in made.text
    case = clocked(driven(GEARED), STEP, inputs_of(target, GEARED))
    with pytest.raises(BackemfError, match=said):
        spec.run({"": made.text.replace(old, new, 1)}, "knee", case)
    with pytest.raises(MissingValue, match="no joint 'elbow'"):
        spec.run(made.files, "elbow", case)


def test_a_step_that_is_too_long_is_an_error(installed):
    made = export(GEARED, "urdf", joint="knee", method="formula", replay=False)
    motion = driven(GEARED, seconds=40.0)
    case = clocked(motion, 0.2, inputs_of("urdf", GEARED))._replace(inertia=1e-4)
    with pytest.raises(InvalidValue, match="diverges at a step of 200 ms"):
        URDF.run(made.files, "knee", case)
    assert simulator().startswith("Drake 1.")


def test_a_port_in_newton_metres_is_said_where_there_is_one():
    """Positions and velocities are the controller's; a torque goes straight in."""
    plain = be.Actuator.read("mx-106/m1")
    by_torque = replace(plain, drive=be.drive.Current(supply=12.0))
    assert "the actuation port takes N m" in str(export(by_torque, "drake", replay=False).text)
    assert "the actuation port takes N m" not in str(export(plain, "drake", replay=False).text)
