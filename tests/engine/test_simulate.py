"""The front door: commands, times, delays, switching off, recorded loads, and what a trajectory holds."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be

MOTOR = be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3)
FRICTION = be.friction.Coulomb(coulomb=0.05, viscous=0.02)
WHEEL = be.bench.Flywheel(inertia=5e-3)


def test_commands_are_what_they_say():
    t = np.arange(0, 2, 0.25)
    assert be.signal.step(2.0, at=0.5, start=1.0)(t) == pytest.approx([1, 1, 3, 3, 3, 3, 3, 3])
    assert be.signal.ramp(2.0, at=0.5, until=1.0)(t) == pytest.approx([0, 0, 0, 0.5, 1, 1, 1, 1])
    assert be.signal.sine(2.0, 0.5, offset=1.0)(t) == pytest.approx(1 + 2 * np.sin(np.pi * t))
    assert be.signal.square(1.0, 1.0, duty=0.25)(t) == pytest.approx([1, -1, -1, -1] * 2)
    assert be.signal.held(np.array([0.0, 0.6]), np.array([5.0, 7.0]))(t) == pytest.approx(
        [5, 5, 5, 7, 7, 7, 7, 7]
    )
    assert be.signal.constant(3.0)(t) == pytest.approx(np.full(8, 3.0))
    chirp = be.signal.chirp(1.0, 1.0, 3.0, 2.0)
    fine = np.linspace(0, 2, 20001)
    crossings = np.flatnonzero(np.diff(np.sign(chirp(fine))) != 0)
    assert len(crossings) == pytest.approx(2 * (1 + 3) / 2 * 2, abs=1)
    noise = be.signal.random_binary(2.0, 0.5, seed=3)(t)
    assert set(np.abs(noise)) == {2.0}
    assert noise[0] == noise[1]
    assert np.array_equal(noise, be.signal.random_binary(2.0, 0.5, seed=3)(t))
    assert be.signal.random_binary(2.0, 0.5, seed=3)(np.array([-1.3])) == noise[0]


def test_a_command_is_held_between_samples_not_interpolated():
    """One sample of 4 V in a locked motor with inductance:
    the current rises for the whole interval, then falls."""
    motor = be.motor.Motor(resistance=2.0, torque_constant=0.5, inductance=0.02)
    t = be.simulate(be.Actuator(motor=motor), be.bench.Locked(), np.array([0.0, 4.0, 0.0, 0.0]), dt=0.01)
    rise = 2.0 * (1 - np.exp(-1))
    assert t.current == pytest.approx([0.0, 0.0, rise, rise * np.exp(-1)])


@pytest.mark.parametrize("delay", [0.02, 0.0137, 0.003])
def test_a_delay_need_not_be_a_whole_number_of_samples(delay):
    """Delayed by d, the motion is the undelayed one d later."""
    plain = be.Actuator(motor=MOTOR, friction=FRICTION)
    late = be.Actuator(motor=MOTOR, friction=FRICTION, drive=be.drive.Voltage(delay=delay))
    fine = be.simulate(plain, WHEEL, be.signal.step(6.0, at=0.1 + delay), duration=0.4, dt=0.0001, substeps=1)
    coarse = be.simulate(late, WHEEL, be.signal.step(6.0, at=0.1), duration=0.4, dt=0.01)
    assert coarse.position == pytest.approx(fine.position[::100], abs=1e-4)


def test_a_delay_with_irregular_samples():
    rng = np.random.default_rng(1)
    times = np.concatenate([[0.0], np.cumsum(rng.uniform(0.004, 0.012, 60))])
    command = 6.0 * (times > 0.1)
    first = times[np.argmax(command > 0)]
    late = be.Actuator(motor=MOTOR, friction=FRICTION, drive=be.drive.Voltage(delay=0.0171))
    t = be.simulate(late, WHEEL, command, time=times, substeps=200)
    still = t.time < first + 0.0171
    assert np.all(t.position[still] == 0)
    every = np.union1d(times, [first + 0.0171])
    fine = be.simulate(
        be.Actuator(motor=MOTOR, friction=FRICTION),
        WHEEL,
        be.signal.step(6.0, at=first + 0.0171),
        time=every,
        substeps=200,
    )
    assert t.position == pytest.approx(fine.position[np.isin(every, times)], abs=1e-4)


def test_switched_off_it_coasts_and_a_shorted_motor_brakes():
    for disabled, faster in (("open", False), ("brake", True)):
        drive = be.drive.Voltage(disabled=disabled)
        t = be.simulate(
            be.Actuator(motor=MOTOR, drive=drive),
            WHEEL,
            {"voltage_target": 6.0, "enabled": be.signal.step(-1.0, at=0.3, start=1.0)},
            duration=0.6,
        )
        off = t.time >= 0.3
        assert np.all(t.current[off] == 0) != faster
        assert (t.velocity[-1] < 0.9 * t.velocity[off][0]) == faster


def test_supply_as_a_number_and_as_a_series():
    drive = be.drive.Servo(firmware_gain=0.1, proportional=8.0, supply=12.0, duty_limit=0.9)
    servo = be.Actuator(motor=MOTOR, friction=FRICTION, drive=drive)
    number = be.simulate(servo, WHEEL, {"position_target": 1.0}, duration=0.5)
    series = be.simulate(servo, WHEEL, {"position_target": 1.0, "supply": 12.0}, duration=0.5)
    sagging = be.simulate(
        servo, WHEEL, {"position_target": 1.0, "supply": be.signal.ramp(-8.0, start=12.0)}, duration=0.5
    )
    assert np.array_equal(number.position, series.position)
    assert number.voltage[0] == pytest.approx(0.1 * 8.0 * 12.0)
    far = be.simulate(servo, be.bench.Locked(), {"position_target": 3.0, "supply": 11.0}, duration=0.1)
    assert far.voltage == pytest.approx(np.full(101, 0.9 * 11.0))
    assert sagging.position[200] < number.position[200]


def test_slew_limits_deadband_and_command_limits():
    drive = be.drive.Position(
        volts_per_radian=50.0, slew=2.0, command_low=-0.5, command_high=0.8, deadband=0.05, supply=12.0
    )
    t = be.simulate(
        be.Actuator(motor=MOTOR, friction=be.friction.Viscous(viscous=0.1), drive=drive),
        WHEEL,
        be.signal.step(3.0, at=0.1),
        duration=2.0,
    )
    assert t["setpoint"][-1] == pytest.approx(0.8)
    assert np.max(np.diff(t["setpoint"])) == pytest.approx(0.002)
    assert 0.75 < t.position[-1] < 0.85  # it comes to rest inside the dead band
    assert t.voltage[-1] == 0.0


def test_anti_windup_by_limit_and_by_freezing():
    far = {"volts_per_radian": 20.0, "volts_per_radian_second": 200.0, "supply": 6.0}
    plain, limited, frozen = (
        be.simulate(
            be.Actuator(motor=MOTOR, friction=FRICTION, drive=be.drive.Position(**far, **more)),
            WHEEL,
            be.signal.step(4.0),
            duration=3.0,
        )
        for more in ({}, {"integral_limit": 0.005}, {"freeze_when_saturated": True})
    )
    assert np.max(plain.position) > 4.5
    assert np.max(limited.position) < 4.2
    assert np.max(frozen.position) < 4.2
    assert np.max(np.abs(limited["integral"])) <= 0.005


def test_integral_removes_the_steady_error():
    drive = be.drive.Position(volts_per_radian=20.0, volts_per_radian_second=60.0)
    t = be.simulate(
        be.Actuator(motor=MOTOR, friction=be.friction.Viscous(viscous=0.05), drive=drive),
        be.bench.Pendulum(mass=0.5, length=0.2),
        be.signal.step(1.0),
        duration=6.0,
    )
    assert t.position[-1] == pytest.approx(1.0, abs=1e-4)


def test_impedance_follows_position_velocity_torque_and_varying_gains():
    drive = be.drive.Impedance(newton_metres_per_radian=5.0, newton_metre_seconds_per_radian=0.5)
    held = be.simulate(
        be.Actuator(motor=MOTOR, drive=drive),
        WHEEL,
        {"position_target": 0.5, "torque_target": 1.0},
        duration=5.0,
    )
    assert held.position[-1] == pytest.approx(0.5 + 1.0 / 5.0, rel=1e-6)
    soft = be.simulate(
        be.Actuator(motor=MOTOR, drive=drive),
        WHEEL,
        {
            "position_target": 0.5,
            "torque_target": 1.0,
            "newton_metres_per_radian": be.signal.step(-3.0, at=5.0, start=5.0),
        },
        duration=15.0,
    )
    assert soft.position[-1] == pytest.approx(0.5 + 1.0 / 2.0, rel=1e-5)
    turning = be.simulate(
        be.Actuator(motor=MOTOR, drive=be.drive.Impedance(newton_metre_seconds_per_radian=0.5)),
        WHEEL,
        {"velocity_target": 3.0},
        duration=1.0,
    )
    assert turning.velocity[-1] == pytest.approx(3.0, rel=1e-6)


def test_torque_through_voltage_equals_torque_through_current_when_cold():
    asked = {"torque_target": be.signal.sine(1.0, 2.0)}
    actuators = [
        be.Actuator(motor=MOTOR, drive=be.drive.Impedance(through=way)) for way in ("current", "voltage")
    ]
    runs = [be.simulate(actuator, WHEEL, asked, duration=1.0, substeps=4) for actuator in actuators]
    assert runs[0].position == pytest.approx(runs[1].position, abs=1e-12)
    assert runs[0].torque == pytest.approx(np.sin(4 * np.pi * runs[0].time), abs=1e-12)


def test_a_recorded_load_equals_the_bench_it_was_recorded_on():
    friction = be.friction.M4(coulomb=0.05, static=0.1, stribeck_velocity=0.3, load=0.05, load_stribeck=0.05)
    actuator, bench = be.Actuator(motor=MOTOR, friction=friction), be.bench.Pendulum(mass=0.5, length=0.2)
    truth = be.simulate(actuator, bench, be.signal.sine(4.0, 0.5), duration=2.0, dt=0.0005, substeps=2)
    load = bench.load(truth.position, truth.velocity, {})
    command = {"voltage_target": be.signal.sine(4.0, 0.5), "inertia": bench.inertia_at({}), "load": load}
    again = be.simulate(actuator, be.bench.Recorded(), command, duration=2.0, dt=0.0005, substeps=2)
    assert again.position == pytest.approx(truth.position, abs=5e-3)


def test_irregular_times_and_a_continued_run():
    rng = np.random.default_rng(0)
    actuator = be.Actuator(
        motor=MOTOR,
        friction=be.friction.LuGre(
            coulomb=0.05, static=0.08, stribeck_velocity=0.2, stiffness=100.0, damping=0.5, viscous=0.05
        ),
    )
    times = np.concatenate([[0.0], np.cumsum(rng.uniform(0.002, 0.01, 100))])
    whole = be.simulate(actuator, WHEEL, be.signal.sine(3.0, 1.0), time=times, substeps=7)
    first = be.simulate(actuator, WHEEL, be.signal.sine(3.0, 1.0), time=times[:51], substeps=7)
    rest = be.simulate(
        actuator, WHEEL, be.signal.sine(3.0, 1.0), time=times[50:], substeps=7, start=first.final_state()
    )
    assert rest.position[-1] == pytest.approx(whole.position[-1], rel=1e-12)


def test_a_trajectory_holds_signals_and_hidden_states():
    motor = be.motor.Motor(
        resistance=2.0,
        torque_constant=0.5,
        inductance=1e-3,
        rotor_inertia=2e-3,
        thermal=be.motor.Thermal(resistance=5.0, capacitance=10.0),
    )
    t = be.simulate(
        be.Actuator(motor=motor, friction=be.friction.Dahl(coulomb=0.05, stiffness=100.0)),
        WHEEL,
        3.0,
        duration=0.1,
    )
    for name in (
        "position",
        "velocity",
        "current",
        "voltage",
        "torque",
        "temperature",
        "bristle",
        "winding_temperature",
        "voltage_target",
    ):
        assert len(t[name]) == len(t.time) == len(t) == 101
    assert t.energy == {}
    assert t.refinement is not None
    assert t.refinement < 1e-4


def test_a_plain_command_is_what_the_drive_follows():
    """A torque for an impedance without gains: the same as by its name."""
    free = be.Actuator(motor=MOTOR, drive=be.drive.Impedance(supply=12.0))
    bench = be.bench.Flywheel(inertia=1e-3)
    plain, named = (be.simulate(free, bench, u, duration=0.1) for u in (0.01, {"torque_target": 0.01}))
    assert plain.position[-1] > 0.01
    assert (plain.position == named.position).all()
