"""Newton's file: what it holds, and the very file moved by Newton on a CPU."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.errors import BackemfError, InvalidValue, NotAvailable
from backemf.targets import newton
from backemf.targets.export import export
from backemf.targets.newton import SPEC

from ..conftest import unavailable
from .clock import DRIVES, GEARED, STEP, agrees, clocked, driven, feels_every_number

NUMBER = r"-?\d[\d.]*(?:[eE][-+]?\d+)?"
PATTERNS = (re.compile(rf"^(?P<name>[A-Z_]+) = (?P<value>{NUMBER})\b", re.M),)
SOLIMP = tuple(
    re.compile(rf"^(?P<name>SOLIMP) = \((?:[^,()]+, ){{{k}}}(?P<value>{NUMBER})", re.M) for k in range(5)
)
LATE = replace(GEARED, drive=replace(GEARED.drive, delay=0.02))


@pytest.fixture
def installed():
    for name in ("newton", "warp", "mujoco_warp"):
        if importlib.util.find_spec(name) is None:
            unavailable(f"{name} (the extra 'peers')")


def test_a_resistive_servo_is_carried_whole():
    made = export(GEARED, "newton", joint="knee")
    assert made.lossless
    assert made.numbers == pytest.approx(
        {
            "KP": 10.0,
            "KD": 0.05 + 0.25,
            "ARMATURE": 1e-3,
            "DAMPING": 0.01,
            "FRICTION": 0.05,
            "SATURATION_EFFORT": 3.0,
            "VELOCITY_LIMIT": 12.0,
            "MAX_MOTOR_EFFORT": 2.0,
            "EFFORT_LIMIT": 2.0,
        }
    )
    assert "Units: SI at the joint" in made.text
    compile(made.text, "knee_newton.py", "exec")


def test_a_delay_is_in_seconds_and_rounded_to_steps():
    late = export(LATE, "newton", replay=False)
    assert late.numbers["DELAY"] == pytest.approx(0.02)
    assert late.lossless
    between = replace(GEARED, drive=replace(GEARED.drive, delay=0.0207))
    odd = export(between, "newton", timestep=0.002, replay=False)
    assert odd.numbers["DELAY"] == pytest.approx(0.02)
    assert [e.path for e in odd.approximated] == ["drive.delay"]


def test_a_fit_moves_friction_alone():
    servo = be.Actuator.read("mx-106/m6")
    plain, fitted = (export(servo, "newton", method=m, replay=False) for m in ("formula", "simulation"))
    changed = {k for k in plain.numbers if plain.numbers[k] != fitted.numbers[k]}
    assert changed <= {"FRICTION", "DAMPING"}
    assert fitted.approximated[0].error <= plain.approximated[0].error


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("servo", {"position_target": 1.0}),
        ("velocity", {"velocity_target": 1.0 / 1.25}),  # 1 N m s/rad of its own, 0.25 by back-EMF
        ("voltage", {"voltage_target": 0.25}),
        ("mirrored voltage", {"voltage_target": -0.25}),
        ("impedance", {"position_target": 1.0, "velocity_target": 1.0, "torque_target": 1.0}),
    ],
)
def test_inputs(name, inputs):
    assert newton.inputs(DRIVES[name]) == pytest.approx(inputs)


def test_gears_that_lose_carry_less_torque_and_brake_less():
    lossy = replace(GEARED, gearbox=be.gearbox.Gearbox(ratio=100.0, efficiency=0.8))
    x, whole = (export(a, "newton", method="formula", replay=False).numbers for a in (lossy, GEARED))
    for name in ("KP", "KD", "SATURATION_EFFORT", "MAX_MOTOR_EFFORT"):
        assert x[name] == pytest.approx(0.8 * whole[name])
    assert x["VELOCITY_LIMIT"] == pytest.approx(whole["VELOCITY_LIMIT"])


def test_without_newton_the_text_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "newton", None)
    monkeypatch.setitem(sys.modules, "warp", None)
    with pytest.raises(NotAvailable, match="pip install newton"):
        newton.simulator()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mirrored voltage", "late"])
def test_newton_moves_the_file_as_backemf_moves_the_actuator(name, installed):
    actuator = LATE if name == "late" else DRIVES[name]
    made = export(actuator, "newton", joint="knee", method="formula", timestep=STEP, replay=False)
    assert made.lossless
    ctrl = newton.inputs(actuator)
    agrees(lambda case: SPEC.run(made.files, "knee", case), actuator, driven(actuator), ctrl)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["late"])
def test_every_number_of_the_file_acts_or_is_said_to_be_inert(name, installed):
    actuator = LATE if name == "late" else DRIVES[name]
    made = export(actuator, "newton", joint="knee", method="formula", timestep=STEP, replay=False)
    motion, ctrl = driven(actuator), newton.inputs(actuator)
    little = np.full(len(motion.time), 0.002 if name != "voltage" else 0.1)  # held by friction
    held = motion._replace(command={actuator.drive.followed: little})
    cases = [clocked(motion, STEP, ctrl), clocked(held, STEP, ctrl)]

    def run(text: str) -> np.ndarray:
        return np.concatenate([SPEC.run({"": text}, "knee", case) for case in cases])

    seen = feels_every_number(run, made.text, (*PATTERNS, *SOLIMP), SPEC.inert)
    assert {name for name in made.numbers if made.numbers[name]} <= seen
    assert {"TIMESTEP", "SOLREF_STEPS", "SOLIMP"} <= seen


@pytest.mark.slow
def test_friction_sticks_in_newton(installed):
    """2 mrad of error ask for 0.02 N m, less than the friction of 0.05."""
    made = export(GEARED, "newton", joint="knee", method="formula", timestep=STEP, replay=False)
    motion = driven(GEARED, seconds=2.0)
    case = clocked(
        motion._replace(command={"position_target": np.full(len(motion.time), 0.002)}),
        STEP,
        newton.inputs(GEARED),
    )
    # MuJoCo's friction is soft: with the file's solver settings it creeps, at less than 1e-4 rad/s
    assert np.max(np.abs(SPEC.run(made.files, "knee", case))) < 2e-4


@pytest.mark.slow
def test_a_disabled_drive_coasts_in_newton(installed):
    smooth = replace(GEARED, friction=be.friction.Viscous(viscous=0.01))
    made = export(smooth, "newton", joint="knee", method="formula", timestep=STEP, replay=False)
    motion = driven(smooth)
    off = {**motion.command, "enabled": np.zeros(len(motion.time))}
    case = clocked(
        motion._replace(command=off, start={"position": 0.0, "velocity": 2.0}), STEP, newton.inputs(smooth)
    )
    J, b = 0.006, 0.01
    travelled = 2.0 * J / b * (1.0 - np.exp(-b * case.moments / J))
    # a step of 1 ms turns b h / J = 0.2 % of the speed
    assert np.max(np.abs(SPEC.run(made.files, "knee", case) - travelled)) < 2e-3 * travelled[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("import", "imprt", "does not run as Python"),
        ("ClampingDCMotor, DrivePD", "ClampingDCMotor", "makes no actuator: name 'DrivePD'"),
        ("def add_actuator", "def add_motor", "has no function add_actuator"),
        ("KP = 10.0", "KP = -10.0", "kp must be non-negative, got -10"),
        ("FRICTION = 0.05", "FRICTION = float('nan')", "joint_friction is nan"),
        ("ARMATURE = 0.001", "ARMATURE = -0.001", "joint_armature is -0.001"),
        ("KP = 10.0", "KP = 'stiff'", "makes no actuator"),
    ],
)
def test_nonsense_is_refused(old, new, said, installed):
    made = export(GEARED, "newton", joint="knee", method="formula", replay=False)
    assert old in made.text
    case = clocked(driven(GEARED), STEP, newton.inputs(GEARED))
    with pytest.raises(BackemfError, match=said):
        SPEC.run({"": made.text.replace(old, new, 1)}, "knee", case)


@pytest.mark.slow
def test_a_step_that_is_too_long_is_an_error(installed):
    """Without its clamp, a damping of 0.3 N m s/rad on 1e-3 kg m^2 is unstable from 7 ms on."""
    made = export(GEARED, "newton", joint="knee", method="formula", replay=False)
    unclamped = re.sub(r"        clamping=.*\n", "", made.text)
    case = clocked(driven(GEARED, seconds=40.0), 0.2, newton.inputs(GEARED))._replace(inertia=1e-6)
    with pytest.raises(InvalidValue, match="diverges at a step of 200 ms"):
        SPEC.run({"": unclamped}, "knee", case)
    assert newton.simulator().startswith("Newton 1.7")
