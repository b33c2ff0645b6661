"""A firmware's D on the error: the push of a moving setpoint against closed forms, and where it starts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.engine.stepper import stepper
from backemf.engine.system import ActuatorSystem
from backemf.physics.energy import FLOWS
from backemf.physics.maths import mean_rise

V, H, P, H_D, D, T_F = 12.0, 0.2, 16.0, 0.001, 32.0, 0.011
PUSH = V * H_D * D
"""Volts per rad/s of the setpoint."""
K, R = 0.8, 2.0


def servo(proportional: float = P, inertia: float = 4e-3, viscous: float = 0.05, **drive) -> be.Actuator:
    law = {"derivative": D, "firmware_derivative_gain": H_D, "derivative_filter": T_F, **drive}
    return be.Actuator(
        motor=be.motor.Motor(resistance=R, torque_constant=K, rotor_inertia=inertia),
        friction=be.friction.Viscous(viscous=viscous),
        drive=be.drive.Servo(firmware_gain=H, proportional=proportional, supply=V, **law),
    )


def motion_only(actuator: be.Actuator) -> be.Actuator:
    return replace(actuator, drive=replace(actuator.drive, **actuator.drive.without_push))


@pytest.mark.parametrize("substeps", [1, 5])
def test_a_step_pushes_and_fades_over_the_filter_time(substeps):
    """Locked, without P: v = V H_D D s/T_f exp(-t/T_f), whatever the steps."""
    s, time = 0.05, 0.004 * np.arange(60)
    target = np.where(time >= 0.08, s, 0.0)
    run = be.simulate(servo(0.0), be.bench.Locked(), target, time=time, substeps=substeps)
    since = np.maximum(time - time[20], 0.0)
    exact = np.where(time >= time[20], PUSH * s / T_F * np.exp(-since / T_F), 0.0)
    np.testing.assert_allclose(run.voltage, exact, atol=1e-13)


def test_a_ramp_is_pushed_with_d_times_its_rate():
    """A setpoint that a slew moves evenly: after thirty filter times v = V H_D D r, to the digits."""
    r = 1.7
    run = be.simulate(servo(0.0, slew=r), be.bench.Locked(), 2.0, duration=0.4, dt=0.004, substeps=3)
    assert run.voltage[run.time > 30 * T_F] == pytest.approx(PUSH * r, rel=1e-12)
    stopped = be.simulate(servo(0.0, slew=r), be.bench.Locked(), 0.2, duration=1.0, dt=0.004, substeps=3)
    assert abs(stopped.voltage[-1]) < 1e-9 * PUSH * r  # it has arrived and pushes no more


@pytest.mark.parametrize("x", [0.0, 1e-7, 9.9e-4, 1.01e-3, 0.3, -0.3, 40.0])
def test_what_a_ramp_adds_is_told_near_0_too(x):
    """The sum 1/2 - x/6 + x^2/24 - ..., whose term k is (-x)^k / (k + 2)!."""
    exact = math.fsum((-x) ** k / math.factorial(k + 2) for k in range(160))
    if x > 10:  # where the sum is not computable, exp(-x) is nothing
        exact = 1 / x - 1 / x**2
    # the first term left out near 0 is x^3/120: 8e-12 of 0.5 where the branches meet
    assert mean_rise(x) == pytest.approx(exact, rel=2e-11)


@pytest.mark.parametrize("law", ["continuous", "slew", "sampled", "fast clock"])
@pytest.mark.parametrize("substeps", [1, 2, 7])
def test_a_step_gives_one_impulse_however_it_is_stepped(law, substeps):
    """The integral of the push over time is V H_D D times the step. On a mass so heavy that it hardly moves
    it is the momentum; it moves by 1e-6, which is what the bound leaves. A clock of 7 ms looks between the
    samples of 4 ms; what changes between its looks is not lost."""
    more = {"continuous": {}, "slew": {"slew": 6.0}, "sampled": {"period": 0.007, "n_velocity_periods": 0}}
    more["fast clock"] = {"period": 0.0015, "derivative_filter": 0.0004}
    mass, step = 1e4, 0.02 if law == "fast clock" else 0.13  # so small that no push is cut
    time = 0.004 * np.arange(250)
    if law == "fast clock":
        substeps *= 4  # a law looks at most once a step
    target = np.where(time >= 0.1, step, 0.0)
    actuator = servo(0.0, inertia=mass, viscous=0.0, **more[law])
    run = be.simulate(actuator, be.bench.FreeShaft(), target, time=time, substeps=substeps)
    assert mass * run.velocity[-1] == pytest.approx(K / R * PUSH * step, rel=1e-4)


def test_a_steady_motion_lags_less_by_what_d_gives():
    """On an even ramp dy/dt = w: D does not brake any more, and the lag shrinks by H_D D r / (H P)."""
    r = 1.2
    lag = []
    for actuator in (motion_only(servo(slew=r)), servo(slew=r)):
        run = be.simulate(actuator, be.bench.FreeShaft(), 5.0, duration=2.0, dt=0.004)
        lag.append(run["setpoint"][-1] - run.position[-1])
    brakes = r * (0.05 * R / K + K) / V  # viscous friction and back-EMF as a duty
    assert lag[1] == pytest.approx(brakes / (H * P), rel=1e-6)
    assert lag[0] - lag[1] == pytest.approx(H_D * D * r / (H * P), rel=1e-6)


def test_it_is_second_order():
    """Halving the step quarters the error while the setpoint ramps and the joint moves."""
    runs = [
        be.simulate(servo(slew=3.0), be.bench.FreeShaft(), 0.9, duration=0.2, dt=0.008, substeps=n)
        for n in (2, 4, 8, 256)
    ]
    off = [np.max(np.abs(run.position - runs[-1].position)) for run in runs[:-1]]
    assert off[0] / off[1] == pytest.approx(4.0, rel=0.15)
    assert off[1] / off[2] == pytest.approx(4.0, rel=0.15)


def test_a_sampled_law_is_a_difference_equation():
    """Locked: at each look d = (u - y) (1 - e)/T_s and y += (u - y)(1 - e), with e = exp(-T_s/T_f)."""
    T = 0.01
    time = T * np.arange(80)
    target = 0.1 * np.sin(9.0 * time)
    run = be.simulate(servo(0.0, period=T), be.bench.Locked(), target, time=time, substeps=4)
    y, faded, expected = target[0], -math.expm1(-T / T_F), []
    for u in target:
        expected.append(PUSH * (u - y) * faded / T)
        y += (u - y) * faded
    np.testing.assert_allclose(run.voltage, expected, atol=1e-12)
    plain = servo(0.0, period=T, derivative_filter=1e-5)  # a filter too short to see: the plain difference
    run = be.simulate(plain, be.bench.Locked(), target, time=time, substeps=4)
    np.testing.assert_allclose(run.voltage[1:], PUSH * np.diff(target) / T, atol=1e-12)


@pytest.mark.parametrize("without", [{"firmware_derivative_gain": 0.0}, {"derivative": 0.0}])
def test_a_scale_of_0_is_no_d(without):
    bench, command = be.bench.Pendulum(mass=0.3, length=0.1), be.signal.square(0.4, 2.0)
    law = servo()
    nothing = replace(law.drive, derivative=None, firmware_derivative_gain=None, derivative_filter=None)
    none = be.simulate(replace(law, drive=nothing), bench, command, duration=1.0, substeps=4)
    same = be.simulate(servo(**without), bench, command, duration=1.0, substeps=4)
    np.testing.assert_allclose(same.position, none.position, atol=1e-12)
    assert servo(**without).drive.without_push == {}
    pushed = be.simulate(law, bench, command, duration=1.0, substeps=4)
    assert np.max(np.abs(pushed.position - none.position)) > 1e-2


def test_it_starts_at_the_first_target_or_where_it_is():
    law, at = servo(), {"position_target": 0.9}
    assert law.initial_state(at, position=0.3)["lagged_setpoint"] == 0.9
    assert law.initial_state(position=0.3)["lagged_setpoint"] == 0.3
    assert law.initial_state(at, lagged_setpoint=0.1)["lagged_setpoint"] == 0.1
    assert servo(command_high=0.5).initial_state(at)["lagged_setpoint"] == 0.5
    slow = servo(slew=1.0)  # its setpoint starts where it is, and so does what follows that
    assert slow.initial_state(at, position=0.3)["lagged_setpoint"] == 0.3
    assert slow.initial_state(at, position=0.3, setpoint=0.4)["lagged_setpoint"] == 0.4
    run = be.simulate(servo(0.0, delay=0.01), be.bench.Locked(), 0.9, duration=0.1)
    assert np.all(run.voltage == 0.0)  # nothing moved
    kicked = be.simulate(servo(0.0), be.bench.Locked(), 0.9, duration=0.1, start={"lagged_setpoint": 0.88})
    assert kicked.voltage[0] == pytest.approx(PUSH * 0.02 / T_F)


def test_a_live_stepper_carries_it():
    law = servo()
    system = ActuatorSystem(
        actuator=law,
        bench=be.bench.Flywheel(inertia=0.01),
        inputs=("position_target",),
        outputs=("position",),
    )
    time = 0.002 * np.arange(120)
    target = 0.3 * np.sin(7.0 * time) + 0.2
    run = be.simulate(law, system.bench, target, time=time, substeps=1)
    joint = stepper(system)
    state, found = joint.start(lagged_setpoint=target[0]), [0.0]
    for u in target[:-1]:
        state = joint(state, np.array([[u]]), 0.002)
        found.append(state[0, 0])
    np.testing.assert_allclose(found, run.position, atol=1e-12)
    started = joint.start(position=0.4)
    assert started[0, system.states.index("lagged_setpoint")] == 0.4


@pytest.mark.parametrize("more", [{}, {"period": 0.003}])
def test_the_energy_book_closes(more):
    """The push is paid for at the terminals: second order, 62 us."""
    bench = be.bench.Pendulum(mass=0.3, length=0.1)
    command = be.signal.square(0.5, 4.0)
    run = be.simulate(servo(**more), bench, command, duration=0.5, substeps=16, energy=True)
    e = run.energy
    turnover = sum(np.ptp(e[name]) for name in FLOWS)
    missing = e["electrical"][-1] - sum(e[n][-1] for n in FLOWS[1:]) - (e["stored"][-1] - e["stored"][0])
    assert turnover > 0.05
    assert abs(missing) < 1e-6 * turnover
