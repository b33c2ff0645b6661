"""Classic MuJoCo: the published formulas, a lossless servo, and every kind of drive replayed."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
import pytest

import backemf as be
from backemf.errors import InvalidValue
from backemf.targets.export import export
from backemf.targets.replay import replay

MOTOR = be.motor.Motor(resistance=3.0, torque_constant=2.2, rotor_inertia=0.02)
FRICTION = be.friction.Coulomb(coulomb=0.1, viscous=0.04)


def test_the_published_formulas():
    actuator = be.Actuator.read("mx-106/m1")
    p = actuator.parameters
    k_t, R, f_v = (p[f"{n}"] for n in ("motor.torque_constant", "motor.resistance", "friction.viscous"))
    volts = 0.158 * 32.0 * 12.0
    asked = (k_t * volts / R, k_t * k_t / R + f_v, p["friction.coulomb"], 0.9625 * 12.0 * k_t / R)
    made = export(actuator, "mujoco-classic", joint="knee")
    assert made.lossless
    found = (made.numbers["kp"], made.numbers["damping"], made.numbers["frictionloss"], made.numbers["force"])
    np.testing.assert_allclose(found, asked, rtol=1e-12)


@pytest.mark.parametrize(
    ("drive", "element"),
    [
        (be.drive.Position(volts_per_radian=50.0, volt_seconds_per_radian=0.5, supply=12.0), "<position "),
        (be.drive.Velocity(volt_seconds_per_radian=20.0, supply=12.0), "<velocity "),
        (be.drive.Voltage(supply=12.0), "<motor "),
    ],
    ids=["position", "velocity", "voltage"],
)
def test_a_resistive_motor_is_carried_whole(drive, element):
    made = export(
        be.Actuator(motor=MOTOR, friction=FRICTION, drive=drive),
        "mujoco-classic",
        joint="knee",
        timestep=0.001,
    )
    assert made.lossless
    assert element in made.text
    for case in replay(made).cases:
        assert case.worst_native <= 1.2 * case.refinement + 3e-4, case.name


def test_a_winding_is_absorbed_by_the_fit():
    slow = dataclasses.replace(MOTOR, inductance=0.03)
    actuator = be.Actuator(
        motor=slow, friction=FRICTION, drive=be.drive.Position(volts_per_radian=50.0, supply=12.0)
    )
    fitted, plain = (
        export(actuator, "mujoco-classic", method=m).approximated[0] for m in ("simulation", "formula")
    )
    assert fitted.path == "motor.inductance"
    assert fitted.error < plain.error


def test_what_it_lacks_is_named():
    drive = be.drive.Position(
        volts_per_radian=50.0, volts_per_radian_second=40.0, supply=12.0, slew=3.0, delay=0.01
    )
    made = export(
        be.Actuator(motor=MOTOR, friction=FRICTION, drive=drive), "mujoco-classic", method="formula"
    )
    assert [e.path for e in made.dropped] == ["drive.slew", "drive.delay", "drive integral"]
    assert all(e.error is not None for e in made.dropped)
    assert mujoco.MjModel.from_xml_string(made.text).nu == 1


def test_a_shorted_motor_has_no_actuator():
    with pytest.raises(InvalidValue, match="no actuator for Brake"):
        export(be.Actuator(motor=MOTOR, drive=be.drive.Brake()), "mujoco-classic")
