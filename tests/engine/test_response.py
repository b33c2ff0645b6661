"""Commands that jump between samples, and a run in a few numbers."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.analysis.state_space import response

WHEEL = be.bench.Flywheel(inertia=2e-4)


def servo(**more):
    drive = be.drive.Position(volts_per_radian=30.0, voltage_limit=6.0, **more)
    motor = be.motor.Motor(resistance=4.0, torque_constant=0.01, rotor_inertia=1e-7)
    friction = be.friction.Viscous(viscous=1e-3)
    return be.Actuator(motor=motor, gearbox=be.gearbox.Gearbox(ratio=50.0), friction=friction, drive=drive)


@pytest.mark.parametrize("delay", [None, 0.0123])
def test_a_command_jumps_at_its_moment_however_coarse_the_samples(delay):
    square = be.signal.square(0.5, 1.0, at=0.2113)
    actuator = servo() if delay is None else servo(delay=delay)
    fine = be.simulate(actuator, WHEEL, square, duration=2.0, dt=1e-4, substeps=1)
    coarse = be.simulate(actuator, WHEEL, square, duration=2.0, dt=0.04, substeps=400)
    assert len(coarse.time) == 51
    same = np.interp(coarse.time, fine.time, fine.position)
    assert coarse.position == pytest.approx(same, abs=1e-4)  # a jump 40 ms late would be 0.3 rad
    assert coarse.position_target == pytest.approx(square(coarse.time))


def test_one_input_jumps_between_samples_and_another_is_sampled():
    time = np.arange(0, 1.0, 0.05)
    command = {"position_target": np.sin(time), "enabled": be.signal.step(-1.0, at=0.333, start=1.0)}
    run = be.simulate(servo(), WHEEL, command, time=time)
    finer = np.unique([*time, 0.333])
    held = np.sin(time)[np.searchsorted(time, finer, side="right") - 1]
    same = be.simulate(
        servo(), WHEEL, {"position_target": held, "enabled": (finer < 0.333) * 1.0}, time=finer
    )
    assert run.position == pytest.approx(same.position[np.searchsorted(finer, time)], abs=1e-4)


def test_a_steps_numbers_are_those_of_a_second_order_loop():
    """J q'' + d q' + k q = k with the linear loop: overshoot exp(-pi z / sqrt(1 - z^2))."""
    R, K, N, J = 4.0, 0.01, 50.0, 2e-4 + 50**2 * 1e-7
    d = 1e-3 + (K * N) ** 2 / R
    actuator = servo().replace(**{"drive.volts_per_radian": 300.0, "drive.voltage_limit": 1e4})
    k = K * N * 300.0 / R
    z, w = d / (2 * np.sqrt(k * J)), np.sqrt(k / J)
    command = be.signal.step(0.1, at=0.05)
    told = response(be.simulate(actuator, WHEEL, command, duration=1.0, dt=1e-4, energy=True), command)
    assert told.step is not None
    assert told.step.at == 0.05
    assert told.step.size == pytest.approx(0.1)
    assert told.step.overshoot == pytest.approx(np.exp(-np.pi * z / np.sqrt(1 - z * z)), rel=1e-2)
    assert told.step.settling == pytest.approx(np.log(50) / (z * w), rel=0.25)  # the envelope's, an upper end
    assert told.reached == pytest.approx(0.1, abs=1e-6)
    assert told.peak_current == pytest.approx(300.0 * 0.1 / R, rel=1e-2)
    assert told.unexplained is not None
    assert told.unexplained < 1e-3
    assert told.temperature_rise is None


def test_what_never_settles_says_so_and_smooth_commands_have_errors_instead():
    slow = servo().replace(**{"drive.volts_per_radian": 0.3})
    short = response(be.simulate(slow, WHEEL, be.signal.step(1.0), duration=0.3), be.signal.step(1.0))
    assert short.step is not None
    assert short.step.settling is None
    assert short.energy == {}
    sine = be.signal.sine(0.2, 1.0)
    told = response(run := be.simulate(servo(), WHEEL, sine, duration=2.0), sine)
    assert told.step is None
    off = run.position - run.position_target
    assert told.rms_error == pytest.approx(np.sqrt(np.mean(off**2)))
    assert told.largest_error == pytest.approx(np.max(np.abs(off)))


def test_a_table_of_a_run_is_read_back_as_a_log(tmp_path):
    from backemf.logs import columns

    run = be.simulate(be.Actuator.read("mx-106/m6"), WHEEL, be.signal.step(0.5), duration=0.2, energy=True)
    for name in ("run.csv", "run.npz", "run.parquet"):
        columns.write(run.columns(), tmp_path / name)
        (log,) = be.read(tmp_path / name)
        assert log["position"] == pytest.approx(run.position, abs=1e-9)  # ten digits
        assert log["current"] == pytest.approx(run.current, rel=1e-8, abs=1e-9)
        assert log["position_target"] == pytest.approx(run.position_target)


def test_the_book_of_a_held_output_closes_whatever_the_gears_lose():
    """Nothing turns, and neither side of the gears has an inertia: their loss is nothing, not 0/0."""
    motor = be.motor.Motor(resistance=2.0, torque_constant=0.01)
    gearbox = be.gearbox.Gearbox(ratio=225.0, efficiency=0.7)
    friction, drive = be.friction.Coulomb(coulomb=0.2), be.drive.Voltage(supply=12.0)
    actuator = be.Actuator(motor=motor, gearbox=gearbox, friction=friction, drive=drive)
    run = be.simulate(
        actuator, be.bench.Locked(), be.signal.constant(6.0), duration=0.1, dt=0.01, energy=True
    )
    told = response(run)
    assert told.unexplained == pytest.approx(0.0, abs=1e-12)
    assert told.energy["copper"] == pytest.approx(0.1 * 6.0**2 / 2.0)


def test_jumps_of_a_sampled_target_are_where_it_changes():
    """Given as samples, the command itself knows no moments; a target that changes all the time has no
    steps."""
    time = np.arange(0.0, 2.0, 0.005)
    sampled = np.where(time < 0.5, 0.0, np.where(time < 1.25, 0.4, 0.1))
    told = response(be.simulate(servo(), WHEEL, sampled, time=time), sampled)
    assert told.step is not None
    assert told.step.at == pytest.approx(0.5)
    assert told.step.size == pytest.approx(0.4, abs=1e-6)
    for every in (1, 4):  # sample, or fourth
        swaying = 0.4 * np.sin(3.0 * time[np.arange(len(time)) // every * every])
        assert response(be.simulate(servo(), WHEEL, swaying, time=time), swaying).step is None


def test_three_samples_after_a_jump_are_enough():
    bench, servo = be.bench.Flywheel(inertia=1e-3), be.Actuator.read("mx-106/m1")
    t = 0.01 * np.arange(20)
    run = be.simulate(servo, bench, np.where(t < 0.165, 0.0, 0.1), time=t)
    step = response(run, np.where(t < 0.165, 0.0, 0.1)).step
    assert step is not None
    assert step.size == pytest.approx(0.1, abs=1e-6)


def test_a_table_of_signals_has_first_last_least_and_most():
    servo = be.Actuator.read("mx-106/m1")
    run = be.simulate(servo, be.bench.Flywheel(inertia=1e-3), be.signal.sine(0.2, 2.0), duration=1.0)
    rows = {name: row for name, *row in run.overview().rows}
    for name in ("position", "velocity"):
        v = run[name]
        assert rows[name] == [v[0], v[-1], v.min(), v.max()]
