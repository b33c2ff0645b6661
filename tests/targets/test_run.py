"""A file of MuJoCo's or torch's is run as it stands: every number in it acts, and nonsense is refused."""

from __future__ import annotations

import dataclasses
import re

import mujoco
import numpy as np
import pytest

import backemf as be
from backemf.errors import BackemfError, InvalidValue
from backemf.targets.export import export
from backemf.targets.mujoco import classic, dcmotor_target
from backemf.targets.mujoco.run import INERT
from backemf.targets.reference_motions import make_case
from backemf.targets.replay import read_export, replay
from backemf.targets.training import torch

from ..conftest import needed
from .clock import DRIVES, GEARED, driven

RICH = dataclasses.replace(
    GEARED,
    motor=be.motor.Motor(
        resistance=4.0,
        torque_constant=0.01,
        rotor_inertia=1e-7,
        inductance=4e-3,
        thermal=be.motor.Thermal(resistance=20.0, capacitance=0.05),
        cogging=be.motor.Cogging(amplitude=2e-4, periods=12.0, phase=0.3),
        limits=be.motor.Limits(torque=0.015, current_rate=150.0),
    ),
    friction=be.friction.LuGre(
        coulomb=0.05, static=0.08, stribeck_velocity=0.3, stiffness=50.0, damping=0.4, viscous=0.01
    ),
    drive=be.drive.Position(
        volts_per_radian=40.0,
        volts_per_radian_second=60.0,
        volt_seconds_per_radian=0.2,
        supply=12.0,
        slew=8.0,
        integral_limit=0.01,
        command_low=-0.3,
        command_high=0.5,
        delay=0.004,
    ),
)
"""Every attribute of a dcmotor at once, each at work in the motion below."""
ACTUATORS = {
    ("mujoco", "rich"): RICH,
    ("mujoco", "servo"): DRIVES["servo"],
    ("mujoco", "voltage"): DRIVES["voltage"],
    ("mujoco-classic", "servo"): DRIVES["servo"],
    ("mujoco-classic", "voltage"): DRIVES["voltage"],
    ("mujoco-classic", "velocity"): DRIVES["velocity"],
}
SILENT = {
    **INERT,
    "thermal 3": "a temperature: the winding's own beginning is the ambient one, and alpha counts from T0",
    "solreffriction 2": "friction has no position, so no spring whose damping ratio would count",
    "solimpfriction 3": "the shape of a curve between two equal numbers",
    "solimpfriction 4": "the shape of a curve between two equal numbers",
    "solimpfriction 5": "the shape of a curve between two equal numbers",
    "ctrlrange": "the torque limit is reached before the voltage's (a dcmotor's back-EMF lets it be felt)",
    "nsample": "the length of a memory that the delay does not fill",
}
"""Numbers that may change nothing, and why."""


def numbers(text):
    """(name of attribute and place, start, end) of every number of a file, without its header."""
    begin = text.index("-->") if text.startswith("<!--") else 0
    for attribute in re.finditer(r'([\w]+)="([-+\d.e ]+)"', text[begin:]):
        for k, number in enumerate(re.finditer(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?", attribute[2])):
            at = begin + attribute.start(2)
            yield f"{attribute[1]} {k + 1}", at + number.start(), at + number.end()


def moved(made, module, text, actuator):
    files = {"changed.xml": text}
    h = module.timestep_of(files)
    cases = [driven(actuator)]
    little = 0.2 if actuator.drive.followed == "voltage_target" else 0.004  # held by friction
    cases.append(cases[0]._replace(command={actuator.drive.followed: np.full(len(cases[0].time), little)}))
    there = {name: -values for name, values in cases[0].command.items()}
    cases.append(cases[0]._replace(command=there))
    runs = [make_case(case, made.ctrl, h, actuator.motion) for case in cases]
    tracks = [module.run(files, made.joint, case) for case in runs]
    return np.concatenate(
        [np.interp(case.time, one.moments, q) for case, one, q in zip(cases, runs, tracks, strict=True)]
    )


@pytest.mark.slow
@pytest.mark.parametrize(("target", "name"), ACTUATORS)
def test_every_number_of_an_mjcf_acts_or_is_said_to_be_inert(target, name):
    actuator = ACTUATORS[target, name]
    module = {"mujoco": dcmotor_target, "mujoco-classic": classic}[target]
    made = export(actuator, target, joint="knee", method="formula", timestep=0.001, replay=False)
    before, seen = moved(made, module, made.text, actuator), set()
    for word, start, end in numbers(made.text):
        value = float(made.text[start:end])
        attribute = word.split()[0]
        quiet = (
            dict(SILENT)
            if target == "mujoco-classic"
            else {k: v for k, v in SILENT.items() if k != "ctrlrange"}
        )
        if value == 0 or word in quiet or attribute in quiet:
            continue
        seen.add(attribute)
        fewer = attribute == "solimpfriction"  # at its most
        changed = made.text[:start] + repr((0.9 if fewer else 1.3) * value) + made.text[end:]
        off = float(np.max(np.abs(moved(made, module, changed, actuator) - before)))
        assert off > 1e-9, f"{word} = {value:g} changes nothing"
    assert "timestep" in seen
    assert {k.split()[1] for k in made.numbers if k.startswith("dcmotor") and made.numbers[k]} <= seen | {
        "nsample",
        "delay",
    }


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("<dcmotor", "<dcmotors", "does not load the file"),
        ('gear="1.0"', 'gear="many"', "does not load the file"),
        ('joint="knee"', 'joint="elbow"', "does not"),
        ('name="knee" type', 'name="ankle" type', "unknown joint of the file 'knee'|does not"),
        ("</mujoco>", "", "does not load the file"),
    ],
)
def test_nonsense_is_refused(old, new, said):
    made = export(DRIVES["servo"], "mujoco", joint="knee", method="formula", replay=False)
    assert old in made.text
    broken = dataclasses.replace(made, files={"knee.xml": made.text.replace(old, new)})
    with pytest.raises(BackemfError, match=said):
        replay(broken)


def test_the_header_says_what_was_run():
    made = export(DRIVES["servo"], "mujoco", joint="knee", method="formula")
    assert made.ran.startswith(
        f"Run in MuJoCo {mujoco.__version__} at 2 ms (steps, slow sine, sine, fast sine): "
    )
    assert made.ran in made.text
    assert f"{1e3 * made.replayed.rms:.3g} mrad RMS from backemf's own simulation" in made.ran
    other = export(DRIVES["servo"], "mujoco@3.8", joint="knee", method="formula")
    assert other.ran.startswith("Not run: the file is for MuJoCo 3.8, and ")
    assert other.ran in other.text
    lab = export(DRIVES["servo"], "isaaclab", joint="knee", method="formula")
    assert "# Not run: isaaclab is not run here: Isaac Lab needs Isaac Sim." in lab.text
    quiet = export(DRIVES["servo"], "mujoco", joint="knee", method="formula", replay=False)
    assert "Not run in a simulator." in quiet.text


def test_a_robot_that_was_edited_is_replayed_joint_by_joint(tmp_path):
    """Of a larger model, the joint and its actuator are put onto a bench of their own."""
    from backemf.targets.replay import read_export

    path = tmp_path / "arm.xml"
    path.write_text(
        '<mujoco><option timestep="0.001" integrator="implicitfast"/><worldbody><body><joint name="a"/>'
        '<geom size="0.05"/><body pos="0 0 1"><joint name="b" armature="0.1"/><geom size="0.05"/></body>'
        '</body></worldbody><actuator><position joint="a" kp="9"/></actuator></mujoco>'
    )
    export(GEARED, "mujoco", joint="b", into=path, method="formula").write(force=True)
    alone = export(GEARED, "mujoco", method="formula", timestep=0.001).replayed
    inside = replay(read_export(str(path), GEARED, "b"), refine=False)
    for one, other in zip(alone.cases, inside.cases, strict=True):
        assert np.max(np.abs(one.target - other.target)) < 1e-9


PLAIN_SERVO = """<mujoco><option timestep="0.001"/>
<worldbody><body><joint name="j" axis="0 1 0" damping="0.05" armature="0.003"/>
<geom type="capsule" size="0.01" fromto="0 0 0 0 0 -0.1" mass="0.1"/></body></worldbody>
<actuator><position name="a" joint="j" kp="5" kv="0.2" forcerange="-2 2"/></actuator></mujoco>"""


@pytest.mark.parametrize("kp", [2.5, 5.0, 10.0])
def test_a_file_of_somebody_else_takes_the_gain_of_a_recording(tmp_path, kp):
    (tmp_path / "arm.xml").write_text(PLAIN_SERVO)
    t = np.arange(0.0, 2.0, 0.002)
    asked = be.Signal(time=t, values=0.3 * np.sin(3.0 * t))
    log = be.Log(
        name="sweep",
        signals={"position": asked, "position_target": asked},
        bench=be.bench.Pendulum(mass=0.1, length=0.1),
        settings={"drive.volts_per_radian": kp},
    )
    (case,) = replay(read_export(str(tmp_path / "arm.xml")), [log], refine=False).cases
    assert case.target_native < 1e-3  # 14 mrad with the file's own gain where 10 was recorded


def test_a_training_file_is_executed_as_it_stands():
    needed("torch")
    made = export(DRIVES["servo"], "torch", joint="knee")
    assert made.ran.startswith("Run in torch ")
    assert made.replayed.worst < 3e-3  # one long step for what backemf integrates to tolerance
    for path, value in GEARED.parameters.items():
        if not value:
            continue
        line = f'    "{path}": {value!r},'
        assert line in made.text
        text = made.text.replace(line, f'    "{path}": {1.3 * value!r},')
        case = make_case(driven(GEARED), made.ctrl, 0.002, "rotary")
        off = torch.run({"changed.py": text}, "knee", case) - torch.run(made.files, "knee", case)
        assert np.max(np.abs(off)) > 1e-9, path
    with pytest.raises(InvalidValue, match=r"knee\.py does not run: SyntaxError"):
        torch.run({"knee.py": "import torch\nclass (:"}, "knee", case)
