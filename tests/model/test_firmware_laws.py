"""What firmware does to commands, errors and duties: closed forms, and a real servo that falls behind."""

import csv
import dataclasses
import math

import numpy as np
import pytest

import backemf as be
from backemf.physics import drive as drives
from backemf.units import si

MOTOR = be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=1e-3)
COUNT = 2.0 * math.pi / 4096


def servo(**firmware):
    drive = be.drive.Servo(firmware_gain=0.2, proportional=10.0, supply=12.0, **firmware)
    return be.Actuator(motor=MOTOR, friction=be.friction.Coulomb(coulomb=0.0), drive=drive)


def volts(actuator, error):
    """Of a joint that is held at 0.1 rad."""
    run = be.simulate(
        actuator,
        be.bench.Locked(),
        command={"position_target": 0.1 + error},
        start={"position": 0.1},
        duration=0.01,
        dt=0.01,
    )
    return float(run.voltage[-1])


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("firmware", "seen"),
    [
        ({}, 0.01),
        ({"deadband": 0.004}, 0.006),
        ({"deadband": 0.004, "punch": 0.02}, 0.03),
        ({"punch": 0.02}, 0.03),
        ({"deadband": 0.011, "punch": 0.02}, 0.0),
        ({"deadband": 0.004, "punch": 0.0}, 0.01),
    ],
)
def test_a_small_error_is_nothing_and_a_larger_one_is_pushed(firmware, seen, sign):
    assert volts(servo(**firmware), sign * 0.01) == pytest.approx(sign * 24.0 * seen, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "motion", "units"),
    [
        ("position", "rotary", {"slew": "rad/s", "acceleration": "rad/s^2", "integral_limit": "rad s"}),
        ("servo", "linear", {"deadband": "m", "punch": "m", "count": "m", "acceleration": "m/s^2"}),
        ("velocity", "rotary", {"deadband": "rad/s", "slew": "rad/s^2", "acceleration": "rad/s^3"}),
        ("velocity", "linear", {"integral_limit": "m", "slew": "m/s^2"}),
        ("voltage", "rotary", {"slew": "V/s", "acceleration": "V/s^2"}),
        ("current", "rotary", {"command_low": "A", "slew": "A/s"}),
    ],
)
def test_what_acts_on_a_command_is_in_the_unit_of_what_is_followed(kind, motion, units):
    needed = {
        "position": {"volts_per_radian": 1.0},
        "servo": {"firmware_gain": 0.2, "proportional": 10.0, "supply": 12.0},
        "velocity": {"volt_seconds_per_radian": 1.0},
    }
    drive = drives.DRIVES[kind](**needed.get(kind, {}), **dict.fromkeys(units, 0.5))
    actuator = be.Actuator(motor=MOTOR, drive=drive, motion=motion)
    assert {name: actuator.unit(f"drive.{name}") for name in units} == units
    for name, unit in units.items():
        assert si("3", unit, name) == 3.0
        assert si(f"3 {unit}", unit, name) == pytest.approx(3.0)


def test_goal_and_position_are_whole_counts():
    """0.1 rad is count 65.19; a goal 10.4 counts further is count 75.59, and 11 whole counts are between."""
    assert volts(servo(count=COUNT), 10.4 * COUNT) == pytest.approx(24.0 * 11 * COUNT, rel=1e-12)
    assert volts(servo(count=COUNT), 0.2 * COUNT) == 0.0


def test_a_duty_comes_in_steps():
    assert volts(servo(duty_step=0.01), 0.0126) == pytest.approx(
        12.0 * 0.03, rel=1e-12
    )  # 0.0252 of the supply
    assert volts(servo(duty_step=0.01), 0.002) == 0.0  # 0.004


@pytest.mark.parametrize(("slew", "time"), [(None, 0.2), (1.0, 0.35)])
def test_a_setpoint_speeds_up_and_brakes(slew, time):
    """A in 2 sqrt(A / a), or in A / v + v / a where it reaches the speed v; at 25 and at 10 rad/s^2."""
    a, distance = (25.0, 0.25) if slew is None else (10.0, 0.25)
    stiff = servo(acceleration=a, slew=slew).replace(
        **{"drive.proportional": 2000.0, "motor.rotor_inertia": 1e-7, "motor.torque_constant": 0.05}
    )
    run = be.simulate(stiff, be.bench.Flywheel(inertia=1e-7), distance, duration=time, dt=1e-3)
    half = len(run.time) // 2
    assert run.position[half] == pytest.approx(distance / 2, rel=0.03)  # what so stiff a joint lags
    assert run.position[-1] == pytest.approx(distance, rel=0.01)
    assert run.position[len(run.time) // 8] == pytest.approx(a * (time / 8) ** 2 / 2, rel=0.15)


def test_a_real_servo_follows_a_fast_sine_no_faster_than_its_register_says(shared_data):
    """LeRobot writes Acceleration 254, 25,400 steps/s^2: above 2.7 Hz the wrist of an SO-101 falls behind."""
    with (shared_data / "so101" / "chirp_sweep.csv").open() as file:
        rows = list(csv.DictReader(file))
    t, u, q = (
        np.array([float(row[name]) for row in rows])
        for name in ("time", "wrist_roll.target", "wrist_roll.position")
    )
    fast = t > 112.0
    t, u, q = t[fast], u[fast], q[fast]
    known = be.Actuator.read("sts3215-12v/so101")
    limited = dataclasses.replace(known.drive, acceleration=25_400 * COUNT)
    missed = []
    for drive in (limited, known.drive):
        wrist = dataclasses.replace(known, drive=drive)
        run = be.simulate(
            wrist, be.bench.Flywheel(inertia=1e-4), u, time=t, start={"position": q[0]}, substeps=20
        )
        missed.append(float(np.sqrt(np.mean((run.position - q)[50:] ** 2))))
    assert missed[0] < 0.6 * missed[1], missed  # the rest is what a sample's place in time costs
