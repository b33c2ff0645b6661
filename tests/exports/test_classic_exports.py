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
from backemf.targets.write import closed_law

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


def test_what_gears_lose_is_made_up_for_and_said():
    lossy = dataclasses.replace(
        be.Actuator(
            motor=MOTOR, friction=FRICTION, drive=be.drive.Position(volts_per_radian=50.0, supply=12.0)
        ),
        gearbox=be.gearbox.Gearbox(efficiency=0.6),
    )
    fitted, plain = (
        export(lossy, "mujoco-classic", method=m, replay=False) for m in ("simulation", "formula")
    )
    assert fitted.approximated[0].path == "gearbox.efficiency"
    assert fitted.approximated[0].error < 0.9 * plain.approximated[0].error
    assert plain.adjusted == ()
    assert all(f"Adjusted: {text}" in fitted.text for text in fitted.adjusted)
    assert fitted.adjusted


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


@pytest.mark.parametrize("ratio", [2.0, -2.0])
@pytest.mark.parametrize("drive", [be.drive.Voltage(supply=12.0), be.drive.Current(supply=12.0)])
def test_a_motors_force_limit_is_told_before_its_gear(drive, ratio):
    actuator = be.Actuator(motor=MOTOR, gearbox=be.gearbox.Gearbox(ratio=ratio), drive=drive)
    made = export(actuator, "mujoco-classic", method="formula")
    model = mujoco.MjModel.from_xml_string(made.text)
    gear = float(model.actuator_gear[0, 0])
    assert gear == pytest.approx(ratio * 2.2 / (3.0 if drive.followed == "voltage_target" else 1.0))
    assert abs(gear) * model.actuator_forcerange[0] == pytest.approx(
        np.array([-1, 1]) * 2.0 * 2.2 * 12.0 / 3.0
    )


def test_a_current_loop_hides_the_back_emf():
    """A voltage drive brakes with n N^2 K_t K_e / R by itself, a current or torque drive does not."""
    motor = dataclasses.replace(MOTOR, back_emf_constant=2.4)
    gearbox = be.gearbox.Gearbox(ratio=3.0, n_motors=2)
    impedance = be.drive.Impedance(newton_metres_per_radian=5.0, newton_metre_seconds_per_radian=0.3)
    damping = {
        drive.kind: closed_law(
            be.Actuator(motor=motor, gearbox=gearbox, friction=FRICTION, drive=drive)
        ).viscous
        for drive in (be.drive.Voltage(), be.drive.Current(), impedance)
    }
    assert damping["drive.Voltage"] == pytest.approx(0.04 + 2 * 9.0 * 2.2 * 2.4 / 3.0)
    assert damping["drive.Current"] == damping["drive.Impedance"] == 0.04


def test_gears_lose_torque_they_never_add_any():
    drives = (
        be.drive.Position(volts_per_radian=50.0, volt_seconds_per_radian=0.5, supply=12.0),
        be.drive.Voltage(supply=12.0),
        be.drive.Current(supply=12.0),
    )
    for drive in drives:
        whole, lossy = (
            closed_law(
                be.Actuator(motor=MOTOR, gearbox=be.gearbox.Gearbox(ratio=3.0, efficiency=eta), drive=drive)
            )
            for eta in (None, 0.7)
        )
        for name in ("gain", "stiffness", "damping", "effort_limit"):
            assert getattr(lossy, name) == pytest.approx(0.7 * getattr(whole, name)), name
        assert (lossy.viscous, lossy.armature) == (whole.viscous, whole.armature)


def test_friction_is_that_of_a_motor_which_drives_against_half_the_load():
    supply = be.drive.Position(volts_per_radian=50.0, supply=12.0)
    stall = 12.0 * 2.2 / 3.0
    driving = be.friction.TorqueProportional(coulomb=0.1, load_driving=0.2, load_back_driving=0.6)
    pulling = be.friction.M5(
        coulomb=0.1,
        static=0.15,
        stribeck_velocity=0.3,
        load_motor=0.2,
        load_external=0.1,
        load_motor_stribeck=0.05,
        load_external_stribeck=0.02,
    )
    uneven = be.friction.Coulomb(coulomb=0.1, asymmetry=0.2)
    for friction, level in (
        (driving, 0.1 + 0.2 * 0.5 * 0.4 * stall),
        (pulling, 0.1 + (0.2 + 0.1) * 0.5 * 0.4 * stall),  # what the load pulls adds to what the motor gives
        (uneven, 0.1 * 1.2),
    ):
        actuator = be.Actuator(motor=MOTOR, friction=friction, drive=supply)
        assert closed_law(actuator, load=0.4).friction == pytest.approx(level)


def test_a_peak_current_flows_for_ever_and_says_so():
    limits = be.motor.Limits(continuous_current=0.3, peak_current=2.0, peak_time=0.005)
    actuator = be.Actuator(
        motor=dataclasses.replace(MOTOR, limits=limits),
        friction=FRICTION,
        drive=be.drive.Position(volts_per_radian=50.0, supply=12.0),
    )
    for target, name in (("mujoco-classic", "force"), ("urdf", "effort")):
        made = export(actuator, target, method="formula")
        (effect,) = [e for e in made.dropped if e.path == "motor.limits.peak_time"]
        assert effect.error > 0
        assert made.numbers[name] == pytest.approx(2.0 * 2.2)


def test_a_shorted_motor_has_no_actuator():
    with pytest.raises(InvalidValue, match=r"no actuator for drive\.Brake"):
        export(be.Actuator(motor=MOTOR, drive=be.drive.Brake()), "mujoco-classic")
