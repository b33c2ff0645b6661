"""The documents' closed forms, against their own numbers and against a simulation."""

from __future__ import annotations

import math

import pytest

import backemf as be
from backemf.errors import BackemfError
from backemf.physics import steady
from backemf.physics.joint_law import JointLaw


def test_dynamixel_document_against_a_simulated_stall_and_speed():
    k_t, R, H, P, V, f_v = 2.2, 2.0, 0.158, 32.0, 15.0, 0.05
    servo = be.Actuator(
        motor=be.motor.Motor(resistance=R, torque_constant=k_t, rotor_inertia=0.02),
        friction=be.friction.Viscous(viscous=f_v),
        drive=be.drive.Servo(firmware_gain=H, proportional=P, supply=V, duty_limit=0.9),
    )
    classic = JointLaw.of(servo)
    # the document's own letters: kp = k_t P H V / R, damping = k_t^2 / R + f_v, limit = d_max V k_t / R
    assert classic.stiffness == pytest.approx(k_t * P * H * V / R)
    assert classic.drag == pytest.approx(k_t * k_t / R + f_v)
    assert classic.effort_limit == pytest.approx(0.9 * V * k_t / R)
    near, far = (
        be.simulate(servo, be.bench.Locked(), target, duration=0.01).torque[-1] for target in (0.01, 3.0)
    )
    assert near / 0.01 == pytest.approx(classic.stiffness)
    assert far == pytest.approx(classic.effort_limit)
    coast = be.simulate(
        servo.replace(**{"drive.proportional": 0.0}),
        be.bench.FreeShaft(),
        0.0,
        start={"velocity": 1.0},
        duration=0.01,
        dt=1e-3,
    )
    assert -math.log(coast.velocity[-1]) / 0.01 * 0.02 == pytest.approx(classic.drag, rel=1e-4)


def test_isaac_triple():
    motor = be.motor.Motor(resistance=0.5, torque_constant=0.02, limits=be.motor.Limits(current=6.0))
    geared = be.Actuator(motor=motor, gearbox=be.gearbox.Gearbox(ratio=10.0, n_motors=2))
    law = JointLaw.of(geared, volts=12.0)
    assert (law.stall_torque, law.no_load_speed, law.effort_limit) == pytest.approx(
        (2 * 10 * 0.02 * 24.0, 12.0 / (10 * 0.02), 2 * 10 * 0.02 * 6.0)
    )
    free = be.Actuator(motor=be.motor.Motor(resistance=0.5, torque_constant=0.02))
    assert JointLaw.of(free, volts=12.0).effort_limit == pytest.approx(0.48)


def test_gears_behind_gears_are_one_train():
    """Two stages, one after the other, do to torque, speed and inertia what the train does at once."""
    own = be.gearbox.Gearbox(ratio=4.0, n_motors=3, efficiency=0.9)
    further = be.gearbox.Gearbox(ratio=-2.5, n_motors=2, efficiency=0.8)
    train = own.behind(further)
    assert train.output_torque(0.1) == pytest.approx(further.output_torque(own.output_torque(0.1)))
    assert train.rotor_speed(7.0) == pytest.approx(own.rotor_speed(further.rotor_speed(7.0)))
    assert train.output_inertia(1e-5) == pytest.approx(further.output_inertia(own.output_inertia(1e-5)))
    assert train.efficiency == pytest.approx(0.72)
    assert be.gearbox.Gearbox().behind(be.gearbox.Gearbox(ratio=2.0)).efficiency is None
    with pytest.raises(BackemfError, match="backlash"):
        be.gearbox.Gearbox(backlash=0.01, contact_stiffness=100.0).behind(further)


def test_gears_lose_the_same_in_either_direction():
    """Driving they pass eta, driven back they take 1 / eta, whichever way the output turns."""
    gearbox = be.gearbox.Gearbox(ratio=50.0, efficiency=0.7)
    servo = be.Actuator(
        motor=be.motor.Motor(resistance=2.0, torque_constant=0.02, rotor_inertia=1e-6),
        gearbox=gearbox,
        friction=be.friction.Coulomb(coulomb=0.1, viscous=0.01),
        drive=be.drive.Voltage(supply=12.0),
    )
    for v, w in ((6.0, 2.0), (-3.0, 2.0), (0.0, 1.0)):
        there, back = (float(steady.net_torque(servo, s * v, s * w)) for s in (1.0, -1.0))
        assert there == pytest.approx(-back)
    tau = float(steady.electrical_torque(servo, 6.0, 2.0))
    assert float(steady.net_torque(servo, 6.0, 2.0)) == pytest.approx(0.7 * tau - 0.1 - 0.02)
    braked = float(steady.electrical_torque(servo, -3.0, 2.0))
    assert float(steady.net_torque(servo, -3.0, 2.0)) == pytest.approx(braked / 0.7 - 0.1 - 0.02)
