"""What is left of an actuator in a <dcmotor>, Isaac Lab and Drake by closed forms, each loss by itself."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, cast

import pytest

import backemf as be
from backemf.errors import InvalidValue
from backemf.physics.friction import (
    M3,
    M4,
    Coulomb,
    Dahl,
    LuGre,
    MaxwellSlip,
    Stribeck,
    TorqueProportional,
    Viscous,
)
from backemf.physics.joint_law import Capability, JointLaw, dry_levels
from backemf.targets import isaaclab as isaac
from backemf.targets.approximate import floors_of
from backemf.targets.description import DRAKE, drake_inputs
from backemf.targets.export import Request
from backemf.targets.reduce import _candidates, reduce_actuator

from .clock import DRIVES, GEARED

REQUEST = Request("mujoco", "4.0", "knee", (), "formula", 0.002, "implicitfast", 0.5, 0.25, False)
"""A quarter of the stall torque, which the torque limit holds at 2 N m, as load; half of that is 0.25 N m."""


def changed(part, **values):
    return dataclasses.replace(GEARED, **{part: dataclasses.replace(getattr(GEARED, part), **values)})


def rubbing(friction):
    return dataclasses.replace(GEARED, friction=friction)


def paths(made):
    return {loss.path: (loss.kept, loss.touches) for loss in made.losses}


def test_what_a_dcmotor_holds_is_left_alone():
    made = reduce_actuator(GEARED, REQUEST, 2)
    assert made.actuator == GEARED
    assert (list(made.losses), made.open_friction) == ([], False)
    with pytest.raises(InvalidValue):
        reduce_actuator(dataclasses.replace(GEARED, drive=be.drive.Off()), REQUEST, 2)


def test_one_motor_constant_keeps_stall_torque_and_no_load_speed():
    made = reduce_actuator(changed("motor", back_emf_constant=0.012), REQUEST, 2)
    motor = made.actuator.motor
    assert (motor.torque_constant, motor.back_emf_constant) == (0.012, None)
    # torque per volt, K_t / R, as it was
    assert motor.torque_constant / motor.resistance == pytest.approx(0.01 / 4.0)
    assert paths(made) == {"motor.back_emf_constant": (True, "motor")}
    by_current = dataclasses.replace(changed("motor", back_emf_constant=0.012), drive=be.drive.Current())
    made = reduce_actuator(by_current, REQUEST, 2)
    assert (made.actuator.motor.torque_constant, made.actuator.motor.resistance) == (0.01, 4.0)
    assert paths(made)["motor.back_emf_constant"] == (True, "")
    same = reduce_actuator(changed("motor", back_emf_constant=0.01), REQUEST, 2)
    assert (same.actuator.motor.back_emf_constant, paths(same)) == (None, {})


def test_saturation_iron_and_magnets():
    made = reduce_actuator(changed("motor", saturation_current=2.0), REQUEST, 2)
    assert made.actuator.motor.saturation_current is None
    assert paths(made) == {"motor.saturation_current": (True, "motor")}
    # a loss of K_fe w^2 is a drag of K_fe w at the rotor, with the square of the gear at the joint
    made = reduce_actuator(changed("motor", iron_loss=2e-6), REQUEST, 2)
    assert made.actuator.motor.iron_loss is None
    assert made.actuator.friction.viscous == pytest.approx(0.01 + 0.02)
    assert paths(made) == {}
    heat = be.motor.Thermal(resistance=20.0, capacitance=0.05, magnet_coefficient=-0.002)
    made = reduce_actuator(changed("motor", iron_loss=2e-6, thermal=heat), REQUEST, 2)
    assert paths(made) == {"motor.iron_loss": (False, ""), "motor.thermal.magnet_coefficient": (False, "")}
    assert made.actuator.motor.thermal == dataclasses.replace(heat, magnet_coefficient=None)


def test_limits_become_a_torque_and_a_rate():
    def left(inductance=None, **limits):
        made = reduce_actuator(
            changed("motor", limits=be.motor.Limits(**limits), inductance=inductance), REQUEST, 2
        )
        return made.actuator.motor.limits, paths(made)

    assert left(torque=0.02) == (be.motor.Limits(torque=0.02), {})
    assert left(current=1.5) == (be.motor.Limits(torque=0.015), {})
    assert left(1e-3, current=1.5)[1] == {"motor.limits.current": (True, "")}
    assert left(1e-3, torque=0.02, current_rate=9.0) == (be.motor.Limits(torque=0.02, current_rate=9.0), {})
    assert left(torque=0.02, current_rate=9.0) == (
        be.motor.Limits(torque=0.02),
        {"motor.limits.current_rate": (False, "")},
    )
    peak = {"continuous_current": 1.0, "peak_current": 3.0, "peak_time": 2.0}
    assert left(**peak) == (be.motor.Limits(torque=0.03), {"motor.limits.peak_time": (False, "")})
    made = reduce_actuator(changed("motor", limits=be.motor.Limits(**peak)), REQUEST, 2)
    without: Any = made.losses[0].without
    endless = without(GEARED)
    assert endless.motor.limits == be.motor.Limits(current=3.0)


def test_gears_lose_the_same_both_ways_and_have_no_play():
    made = reduce_actuator(changed("gearbox", efficiency=0.8), REQUEST, 2)
    assert made.actuator.gearbox == be.gearbox.Gearbox(ratio=100.0)
    assert paths(made) == {"gearbox.efficiency": (True, "friction motor")}
    assert made.open_friction
    assert paths(reduce_actuator(changed("gearbox", efficiency=1.0), REQUEST, 2)) == {}
    loose = changed("gearbox", backlash=0.01, contact_stiffness=100.0, efficiency=0.8)
    made = reduce_actuator(loose, REQUEST, 2)
    assert made.actuator.gearbox == be.gearbox.Gearbox(ratio=100.0)
    assert paths(made)["gearbox.backlash"] == (False, "")
    made = reduce_actuator(loose, REQUEST._replace(backlash=True), 2)
    assert made.actuator.gearbox == dataclasses.replace(loose.gearbox, efficiency=None)
    assert [loss.measured for loss in made.losses if loss.path == "gearbox.backlash"] == [False]


def test_the_first_era_has_one_input():
    impedance = dataclasses.replace(DRIVES["impedance"], friction=Viscous())
    assert all("_target" not in path for path in paths(reduce_actuator(impedance, REQUEST, 2)))
    told = paths(reduce_actuator(impedance, REQUEST, 1))
    assert {path for path in told if "_target" in path} == {"drive.velocity_target", "drive.torque_target"}


def test_what_a_drive_loses():
    held = dataclasses.replace(DRIVES["velocity"].drive, volts_per_radian=3.0, integral_limit=0.5)
    made = reduce_actuator(dataclasses.replace(GEARED, drive=held), REQUEST, 2)
    assert paths(made) == {"drive.integral_limit": (False, "")}
    drive: Any = made.actuator.drive
    assert drive.integral_limit is None
    servo = changed("drive", volts_per_radian_second=3.0, integral_limit=0.5, deadband=0.01, period=0.004)
    made = reduce_actuator(servo, REQUEST, 2)
    assert set(paths(made)) == {"drive.deadband", "drive.period"}
    drive = made.actuator.drive
    assert (drive.deadband, drive.period, drive.integral_limit) == (None, None, 0.5)
    slow = dataclasses.replace(changed("motor", inductance=1e-3), drive=DRIVES["impedance"].drive)
    made = reduce_actuator(slow, REQUEST, 2)
    (lost,) = made.losses
    drive, without = made.actuator.drive, cast(Any, lost.without)
    assert (lost.path, drive.through) == ("drive.bandwidth", "voltage")
    assert without(slow).drive.through == "voltage"


@pytest.mark.parametrize("load", [0.25, 0.5])
def test_levels_are_those_of_half_the_load(load):
    """Motor and load oppose each other with half of `load` of the 2 N m."""
    torque = 0.5 * load * 2.0
    stribeck = {"coulomb": 0.05, "static": 0.08, "stribeck_velocity": 0.3}
    assert dry_levels(rubbing(Coulomb(coulomb=0.05)), load, 0.5) == (0.05, 0.05)
    assert dry_levels(rubbing(Stribeck(**stribeck)), load, 0.5) == pytest.approx((0.05, 0.08))
    assert dry_levels(rubbing(M3(coulomb=0.05, load=0.1)), load, 0.5) == pytest.approx(
        [0.05 + 0.2 * torque] * 2
    )
    m4 = M4(**stribeck, load=0.1, load_stribeck=0.2)
    assert dry_levels(rubbing(m4), load, 0.5) == pytest.approx((0.05 + 0.2 * torque, 0.08 + 0.6 * torque))
    gear = TorqueProportional(coulomb=0.05, load_driving=0.2, load_back_driving=0.4)
    assert dry_levels(rubbing(gear), load, 0.5) == pytest.approx([0.05 + 0.2 * torque] * 2)
    uneven = Stribeck(**stribeck, asymmetry=0.5)
    assert dry_levels(rubbing(uneven), load, 0.5) == pytest.approx((0.075, 0.12))


def test_dry_friction_becomes_what_a_joint_has():
    made = reduce_actuator(rubbing(Viscous(viscous=0.02, viscous_cubic=0.1)), REQUEST, 2)
    assert made.actuator.friction == Viscous(viscous=0.02, viscous_cubic=0.1)
    assert not made.open_friction
    assert reduce_actuator(
        rubbing(Coulomb(coulomb=0.0, viscous=0.02)), REQUEST, 2
    ).actuator.friction == Viscous(viscous=0.02)
    made = reduce_actuator(rubbing(M3(coulomb=0.05, load=0.1, viscous=0.02)), REQUEST, 2)
    assert made.actuator.friction == Coulomb(coulomb=pytest.approx(0.1), viscous=0.02)
    assert (made.open_friction, paths(made)) == (True, {"friction.load": (True, "friction motor")})
    stribeck = Stribeck(coulomb=0.05, static=0.08, stribeck_velocity=0.3)
    made = reduce_actuator(rubbing(stribeck), REQUEST, 2)
    assert made.actuator.friction == Coulomb(coulomb=0.05)
    assert list(paths(made).values()) == [(True, "friction")]
    made = reduce_actuator(rubbing(Coulomb(coulomb=0.05, asymmetry=0.3, offset=0.01)), REQUEST, 2)
    assert made.actuator.friction == Coulomb(coulomb=0.05)
    assert set(paths(made)) == {"friction.asymmetry", "friction.offset"}


LUGRE = {"coulomb": 0.05, "static": 0.08, "stribeck_velocity": 0.3, "stiffness": 50.0, "damping": 0.4}


def test_a_bristle_stays_one():
    made = reduce_actuator(rubbing(LuGre(**LUGRE)), REQUEST, 2)
    assert (made.actuator.friction, made.open_friction, paths(made)) == (LuGre(**LUGRE), False, {})
    made = reduce_actuator(rubbing(LuGre(**LUGRE, stribeck_exponent=1.0, damping_exponent=2.0)), REQUEST, 2)
    assert made.actuator.friction == LuGre(**LUGRE)
    assert set(paths(made)) == {"friction.stribeck_exponent", "friction.damping_exponent"}
    assert paths(reduce_actuator(rubbing(LuGre(**LUGRE, stribeck_exponent=2.0)), REQUEST, 2)) == {}
    made = reduce_actuator(rubbing(Dahl(coulomb=0.05, stiffness=50.0)), REQUEST, 2)
    lugre: Any = made.actuator.friction
    assert (lugre.coulomb, lugre.static, lugre.stiffness) == (0.05, 0.05, 50.0)
    springs = rubbing(MaxwellSlip(coulomb=0.05, stiffness=50.0))
    assert reduce_actuator(springs, REQUEST, 2).actuator == springs
    made = reduce_actuator(springs, REQUEST._replace(version="3.17"), 2)
    assert paths(made)["friction.softening"] == (True, "friction")
    loaded = be.friction.LoadLuGre(**LUGRE, load=0.1, load_stribeck=0.2)
    made = reduce_actuator(rubbing(loaded), REQUEST, 2)
    lugre = made.actuator.friction
    assert (lugre.coulomb, lugre.static) == pytest.approx((0.05 + 0.1 * 0.5, 0.08 + 0.3 * 0.5))
    assert paths(made)["friction.load"] == (True, "friction")


def test_a_bristle_that_the_time_step_can_hold_is_tried():
    poor = rubbing(Coulomb(coulomb=0.05, viscous=0.02))
    assert _candidates(poor, False, GEARED, REQUEST) == [poor]
    smooth = rubbing(Viscous())
    assert _candidates(smooth, True, smooth, REQUEST) == [smooth]
    given = rubbing(Stribeck(coulomb=0.05, static=0.08, stribeck_velocity=0.3))
    plain, bent = _candidates(poor, True, given, REQUEST)
    # a tenth of J / h^2 with the rotor's 1e-3 kg m^2 at the joint, and a damping ratio of 0.3, where the
    # drive damps too little: here 0.8 of it may be taken up by the bristle's explicit step
    damped = JointLaw.of(poor)
    k = 0.8 * (damped.back_emf + damped.damping + 0.02) / 0.002
    assert plain is poor
    assert bent.friction == LuGre(coulomb=0.05, static=0.08, stribeck_velocity=0.3, stiffness=k, viscous=0.02)
    dry = rubbing(Coulomb(coulomb=0.05))
    free = dataclasses.replace(dry, motor=dataclasses.replace(poor.motor, torque_constant=1e-4))
    limp = dataclasses.replace(free, drive=be.drive.Voltage(supply=12.0))
    _, bent = _candidates(limp, True, given, REQUEST)
    law: Any = bent.friction
    k = 0.1 * 1e-3 / 0.002**2
    assert (law.stiffness, law.damping) == pytest.approx((k, 2 * 0.3 * math.sqrt(1e-3 * k)))
    weak = rubbing(Coulomb(coulomb=1e-4))
    _, bent = _candidates(weak, True, weak, REQUEST)
    # at least a thousandth of the stall torque, 2 N m; fading at a tenth of 12 rad/s
    law = bent.friction
    assert (law.coulomb, law.static, law.stribeck_velocity) == pytest.approx((2e-3, 2e-3, 1.2))


def test_what_counts_as_small_friction():
    assert floors_of(Capability(12.0, 3.0, 12.0)) == pytest.approx(
        {"friction.viscous": 0.005, "friction.coulomb": 0.06, "friction.static": 0.06}
    )


def test_isaac_labs_numbers():
    """At the joint: 40 V/rad and (1 + 0.2) V s/rad times 0.25 N m/V."""
    x = isaac.numbers(GEARED, GEARED)
    assert x == pytest.approx(
        {
            "effort_limit": 2.0,
            "velocity_limit": 12.0,
            "saturation_effort": 3.0,
            "stiffness": 10.0,
            "damping": 0.3,
            "armature": 1e-3,
            "friction": 0.05,
            "dynamic_friction": 0.05,
            "viscous_friction": 0.01,
        }
    )
    own = rubbing(Stribeck(coulomb=0.04, static=0.1, stribeck_velocity=0.3))
    x = isaac.numbers(GEARED, own)  # at rest in the same proportion
    assert (x["friction"], x["dynamic_friction"]) == pytest.approx((0.05 * 2.5, 0.05))
    nothing = rubbing(Stribeck(coulomb=0.0005, static=0.1, stribeck_velocity=0.3))
    assert isaac.numbers(GEARED, nothing)["friction"] == 0.05  # of next to nothing there is no proportion
    little = rubbing(Stribeck(coulomb=0.0015, static=0.1, stribeck_velocity=0.3))
    assert isaac.numbers(GEARED, little)["friction"] == pytest.approx(0.05 / 0.015)
    assert isaac.numbers(DRIVES["impedance"], GEARED)["damping"] == pytest.approx(0.2)  # hides the back-EMF


@pytest.mark.parametrize("late", [0.0, 0.011])
def test_isaac_labs_friction_and_delay(late):
    drive = dataclasses.replace(GEARED.drive, delay=late or None)
    bent = dataclasses.replace(rubbing(LuGre(**LUGRE)), drive=drive)
    chosen, costs = isaac.candidate(bent, REQUEST, late=False)
    assert chosen.kind == "DCMotorCfg"
    assert chosen.actuator.friction == Coulomb(coulomb=0.05)
    assert ("drive.delay" in {e.path for e in costs.dropped}) == bool(late)
    if late:
        delayed = isaac._late(bent, chosen, *_rich(bent), REQUEST)
        assert (delayed.values["min_delay"], delayed.values["max_delay"]) == (6, 6)  # 11 ms in steps of 2 ms
        assert delayed.actuator.drive.delay == pytest.approx(0.012)


def _rich(actuator):
    from backemf.targets.approximate import positions
    from backemf.targets.reference_motions import reference_motions

    motions = reference_motions(actuator)[:1]
    return positions(actuator, motions), motions


def test_drake_keeps_one_damping_and_no_dry_friction():
    def told(friction, absorbed=False):
        request = REQUEST._replace(method="simulation" if absorbed else "formula")
        lost = DRAKE.losses(rubbing(friction), request)
        return {loss.path: loss.kept for loss in lost if loss.path != "motor.limits"}

    assert told(Viscous(viscous=0.1)) == {}
    assert told(Viscous(viscous=0.1, viscous_cubic=0.2)) == {"friction.viscous_cubic": True}
    assert told(Coulomb(coulomb=0.1, viscous=0.1)) == {"friction.coulomb": False}
    assert told(Coulomb(coulomb=0.1), absorbed=True) == {"friction.coulomb": True}
    both = told(Coulomb(coulomb=0.1, viscous_quadratic=0.3, viscous_cubic=0.2, offset=0.1))
    assert both == {
        "friction.viscous_quadratic, friction.viscous_cubic": True,
        "friction.offset": False,
        "friction.coulomb": False,
    }
    rough = rubbing(Coulomb(coulomb=0.1, viscous=0.1, viscous_cubic=0.2))
    gone = DRAKE.losses(rough, REQUEST._replace(method="formula"))[-1]
    without: Any = gone.without
    assert without(GEARED).friction == Viscous(viscous=0.1, viscous_cubic=0.2)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("servo", {"position_target": 1.0}),
        ("voltage", {"voltage_target": 0.25}),
        ("mirrored voltage", {"voltage_target": -0.25}),
        ("velocity", {"velocity_target": 1.0}),
        ("torque", {"torque_target": 1.0, "velocity_target": 1.0}),
        ("impedance", {"position_target": 1.0, "velocity_target": 1.0, "torque_target": 1.0}),
    ],
)
def test_drakes_inputs(name, expected):
    assert drake_inputs(DRIVES[name]) == pytest.approx(expected)
    assert next(iter(drake_inputs(DRIVES[name]))) == DRIVES[name].drive.followed
