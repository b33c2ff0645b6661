"""The documents' closed forms, against their own numbers and against a simulation."""

from __future__ import annotations

import math

import pytest

import backemf as be
from backemf.model import steady

STALL, AMPERES, SPEED, VOLTS = 30.0, 2.7, 45.0 * 2 * math.pi / 60.0, 12.0


@pytest.mark.parametrize(("gravity", "kp", "kv"), [(9.8, 748.665, 2.73124), (9.80665, 749.17, 2.7331)])
def test_servo_torque_model(gravity, kp, kv):
    """ST-3215-C047 as its script has it: R taken as 1 ohm, the motor constants each from their own entry."""
    K_m = STALL * gravity / 100.0 / AMPERES
    K_b = (VOLTS - 0.18 * 1.0) / SPEED
    assert K_b == pytest.approx(2.50828, rel=1e-5)
    servo = steady.servo_actuator(
        torque_constant=K_m, back_emf_constant=K_b, resistance=1.0, volts_per_degree=12.0
    )
    assert servo.kp == pytest.approx(kp, rel=1e-5)
    assert servo.kv == pytest.approx(kv, rel=1e-5)
    assert (servo.a, servo.b_1, servo.b_2) == (servo.kp, -servo.kp, -servo.kv)
    at_16 = steady.servo_actuator(
        torque_constant=STALL * 9.8 / 100.0 / AMPERES,
        back_emf_constant=K_b,
        resistance=1.0,
        volts_per_degree=16.0,
    )
    assert at_16.kp == pytest.approx(998.22, rel=1e-5)


def test_dynamixel_document_against_a_simulated_stall_and_speed():
    k_t, R, H, P, V, f_v = 2.2, 2.0, 0.158, 32.0, 15.0, 0.05
    servo = be.Actuator(
        motor=be.motor.Motor(resistance=R, torque_constant=k_t, rotor_inertia=0.02),
        friction=be.friction.Viscous(viscous=f_v),
        drive=be.drive.Servo(firmware_gain=H, proportional=P, supply=V, duty_limit=0.9),
    )
    classic = steady.plain_servo(servo)
    # the document's own letters: kp = k_t P H V / R, damping = k_t^2 / R + f_v, limit = d_max V k_t / R
    assert classic.stiffness == pytest.approx(k_t * P * H * V / R)
    assert classic.damping == pytest.approx(k_t * k_t / R + f_v)
    assert classic.limit == pytest.approx(0.9 * V * k_t / R)
    near, far = (
        be.simulate(servo, be.bench.Locked(), target, duration=0.01).torque[-1] for target in (0.01, 3.0)
    )
    assert near / 0.01 == pytest.approx(classic.stiffness)
    assert far == pytest.approx(classic.limit)
    coast = be.simulate(
        servo.replace(**{"drive.proportional": 0.0}),
        be.bench.FreeShaft(),
        0.0,
        start={"velocity": 1.0},
        duration=0.01,
        dt=1e-3,
    )
    assert -math.log(coast.velocity[-1]) / 0.01 * 0.02 == pytest.approx(classic.damping, rel=1e-4)


def test_isaac_triple():
    motor = be.motor.Motor(resistance=0.5, torque_constant=0.02, limits=be.motor.Limits(current=6.0))
    geared = be.Actuator(motor=motor, gearbox=be.gearbox.Gearbox(ratio=10.0, n_motors=2))
    assert steady.isaac_motor(geared, 12.0) == pytest.approx(
        (2 * 10 * 0.02 * 24.0, 12.0 / (10 * 0.02), 2 * 10 * 0.02 * 6.0)
    )
    free = be.Actuator(motor=be.motor.Motor(resistance=0.5, torque_constant=0.02))
    assert steady.isaac_motor(free, 12.0).effort_limit == pytest.approx(0.48)
