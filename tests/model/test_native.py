"""The accurate step: its order, its sticking, its calm over minutes, its stability with stiff bristles."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import backemf as be

from .variants import FRICTIONS, PLAIN, variants

PENDULUM = be.bench.Pendulum(mass=0.4, length=0.15, arm_mass=0.1)
SERVO = be.drive.Servo(firmware_gain=0.158, proportional=16.0, supply=12.0, duty_limit=0.96)


def servo(friction: be.friction.Viscous, motor: be.motor.Motor = PLAIN) -> be.Actuator:
    return be.Actuator(motor=motor, friction=friction, drive=SERVO)


def change_with_halving(actuator, bench, command, counts, **more):
    runs = [be.simulate(actuator, bench, command, substeps=n, **more).position for n in counts]
    return [np.max(np.abs(a - b)) for a, b in itertools.pairwise(runs)]


@pytest.mark.parametrize("name", ["viscous", "coulomb", "m6", "lugre"])
def test_second_order_while_nothing_sticks(name):
    """A voltage that keeps the joint turning: halving the step quarters the error."""
    actuator = be.Actuator(motor=PLAIN, friction=FRICTIONS[name])
    wheel, command = be.bench.Flywheel(inertia=2e-3), be.signal.sine(2.0, 1.5, offset=8.0)
    changes = change_with_halving(
        actuator, wheel, command, (2, 4, 8, 16), duration=1.0, dt=0.005, start={"velocity": 10.0}
    )
    ratios = np.array(changes[:-1]) / np.array(changes[1:])
    assert np.all(ratios > 3.5)


@pytest.mark.parametrize("name", ["coulomb", "stribeck", "m4", "m6", "lugre"])
def test_reversals_and_sticking_converge(name):
    changes = change_with_halving(
        servo(FRICTIONS[name]),
        PENDULUM,
        be.signal.sine(0.8, 0.6),
        (8, 16, 32, 64, 128),
        duration=3.0,
        dt=0.005,
    )
    assert changes[-1] < 0.35 * changes[0]
    assert changes[-1] < 2e-5


@pytest.mark.parametrize("name", ["coulomb", "m4", "m6", "dahl", "lugre"])
def test_default_tolerance_is_within_a_tenth_of_a_milliradian_of_10_us(name):
    """A command sampled at 5 ms, against the same run at 10 us."""
    for command in (be.signal.sine(0.8, 0.6), be.signal.square(0.5, 0.7)):
        default = be.simulate(servo(FRICTIONS[name]), PENDULUM, command, duration=3.0, dt=0.005)
        fine = be.simulate(servo(FRICTIONS[name]), PENDULUM, command, duration=3.0, dt=0.005, substeps=500)
        assert np.max(np.abs(default.position - fine.position)) < 1e-4
        assert default.substeps < 500


@pytest.mark.parametrize("name", [n for n, f in FRICTIONS.items() if f.dry and not f.bristle])
def test_a_stuck_joint_has_exactly_zero_velocity_and_does_not_move(name):
    """Held at an angle by friction alone, below stiction, for ten simulated minutes."""
    actuator = be.Actuator(motor=PLAIN, friction=FRICTIONS[name], drive=be.drive.Off())
    bench = be.bench.Pendulum(mass=0.1, length=0.05)  # at most 0.049 N m
    t = be.simulate(actuator, bench, start={"position": 0.5}, duration=600.0, dt=0.05, substeps=4)
    assert np.all(t.velocity == 0.0)
    assert np.all(t.position == 0.5)


@pytest.mark.parametrize("name", ["dahl", "lugre", "load-lugre"])
def test_a_loaded_bristle_does_not_creep(name):
    actuator = be.Actuator(motor=PLAIN, friction=FRICTIONS[name], drive=be.drive.Brake())
    bench = be.bench.Pendulum(mass=0.1, length=0.05)
    t = be.simulate(actuator, bench, start={"position": 0.5}, duration=600.0, dt=0.05, substeps=50)
    assert np.ptp(t.position[t.time > 60.0]) < 1e-12
    assert abs(t.position[-1] - 0.5) < 2e-3  # it gave way by its own elasticity, no more


def test_it_comes_to_rest_at_exactly_zero_velocity():
    t = be.simulate(servo(FRICTIONS["stribeck"]), PENDULUM, be.signal.step(0.4), duration=3.0, dt=0.005)
    assert np.all(t.velocity[-100:] == 0.0)
    assert np.ptp(t.position[-100:]) == 0.0


def test_no_drift_over_ten_minutes():
    """A spring and a mass without loss keep their amplitude and their phase."""
    actuator = be.Actuator(motor=be.motor.Motor(resistance=1.0, torque_constant=0.1), drive=be.drive.Off())
    t = be.simulate(
        actuator,
        be.bench.Spring(inertia=0.01, stiffness=1.0),
        start={"position": 1.0},
        duration=600.0,
        dt=0.01,
        substeps=20,
    )
    tail = t.time > 590.0
    assert np.max(np.abs(t.position[tail])) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("stiffness", [1e3, 1e5, 1e7])
@pytest.mark.parametrize("damping", [0.0, 5.0])
def test_stiff_lugre_is_stable_at_any_step(stiffness, damping):
    friction = be.friction.LuGre(
        coulomb=0.05, static=0.08, stribeck_velocity=0.1, viscous=0.01, stiffness=stiffness, damping=damping
    )
    fine = be.simulate(
        servo(friction), PENDULUM, be.signal.square(0.5, 0.5), duration=4.0, dt=0.005, substeps=500
    )
    for n in (1, 2, 5):
        coarse = be.simulate(
            servo(friction), PENDULUM, be.signal.square(0.5, 0.5), duration=4.0, dt=0.005, substeps=n
        )
        assert np.all(np.isfinite(coarse.position))
        assert np.max(np.abs(coarse.velocity)) < 1.2 * np.max(np.abs(fine.velocity))
        assert np.max(np.abs(coarse.position - fine.position)) < 0.05


@pytest.mark.parametrize("name", sorted(variants()))
def test_every_variant_runs_and_converges(name):
    actuator, bench, inputs = variants()[name]
    runs = [
        be.simulate(
            actuator,
            bench,
            inputs,
            duration=0.5,
            dt=0.005,
            substeps=n,
            start={"velocity": 0.0 if bench.locked else 0.3},
        )
        for n in (40, 80)
    ]
    for signal in actuator.states:
        assert np.all(np.isfinite(runs[0][signal]))
        scale = 1e-9 + np.max(np.abs(runs[1][signal]))
        assert np.max(np.abs(runs[0][signal] - runs[1][signal])) < 0.02 * scale, signal
