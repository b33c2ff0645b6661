"""Readings against formulas: the force that a model asks for, what is drawn of an answer, how much of a
recording counts, and how little of it is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import backemf as be
from backemf.analysis.transients import force_error

from .test_scales import OFF, SIX, WAYS, play

measure = be.measure


@pytest.mark.parametrize("ratio", [60.0, -60.0])
@pytest.mark.parametrize("eta", [None, 0.7])
def test_the_force_of_the_right_numbers_is_the_recorded_one(eta, ratio):
    """J_l a = k (tau - iron - J_r a) - drag - friction - weight, solved for tau; k is eta where the gears
    drive, 1 / eta where they brake."""
    t, f_c, f_s, f_v, off, iron = 2e-3 * np.arange(2000), 0.05, 0.09, 0.02, 0.03, 2e-5
    friction = be.friction.Stribeck(coulomb=f_c, static=f_s, stribeck_velocity=0.5, viscous=f_v, offset=off)
    motor = be.motor.Motor(resistance=2.0, torque_constant=0.02, rotor_inertia=2e-6, iron_loss=iron)
    gearbox = be.gearbox.Gearbox(ratio=ratio, n_motors=2, efficiency=eta)
    q, v = 0.8 * np.sin(4 * t) + 0.3 * np.sin(9 * t), 3.2 * np.cos(4 * t) + 2.7 * np.cos(9 * t)
    a = -12.8 * np.sin(4 * t) - 24.3 * np.sin(9 * t)
    dry = np.sign(v) * (f_c + (f_s - f_c) * np.exp(-((v / 0.5) ** 2)))
    needed = 0.4 * 0.2**2 * a + f_v * v - off + dry + 0.4 * 9.80665 * 0.2 * np.sin(q)
    k = np.where(needed * v > 0, eta or 1.0, 1.0 / (eta or 1.0))
    tau = 2 * 60**2 * (2e-6 * a + iron * v) + needed / k
    log = be.log("arm", t, position=q, torque=tau, bench=be.bench.Pendulum(mass=0.4, length=0.2))
    arm = be.Actuator(motor=motor, gearbox=gearbox, friction=friction)
    assert force_error(log, arm, decimation=2) < 2e-3


def rising():
    """A first-order rise to 2 from the fortieth of 400 samples on, one in 2 ms."""
    t = 2e-3 * np.arange(400)
    return t, 2.0 * (1 - np.exp(-np.maximum(t - t[40], 0.0) / 40e-3))


@pytest.mark.parametrize(
    ("first", "last", "height"),
    [(0.0, 6.0, 6.0), (2.6, 6.0, 3.4), (3.4, 6.0, 6.0), (-2.6, 6.0, 8.6), (0.0, -6.0, -6.0)],
)
@pytest.mark.parametrize("name", ["voltage", "voltage_target"])
def test_a_step_is_from_the_first_volts_and_amperes_to_the_last(name, first, last, height):
    """From more than half of it the log began after the step."""
    t, i = rising()
    log = be.log("s", t, current=0.5 + math.copysign(1.0, height) * i, **{name: np.where(i > 0, last, first)})
    m = measure.current_step(log, after=float(t[40]))
    R = abs(height) / 2.0
    assert (m.others["resistance"].value, m.value) == pytest.approx((R, 40e-3 * R), rel=1e-6)


def test_a_step_is_found_where_it_is_steepest_and_a_start_where_it_moves():
    t, i = rising()
    (line,) = measure.current_step(be.log("s", t, current=i), voltage=4.0).shown.curves
    assert line.x[0] == pytest.approx(t[42])  # it leaps to sample 41; one that was chosen does not count
    assert line.y == pytest.approx(i[42:], abs=1e-6)
    (line,) = measure.run_up(be.log("s", t, velocity=i), **RISE).shown.curves
    assert line.x[0] == pytest.approx(t[40] - 40e-3 * math.log(0.9), abs=2e-3)  # a tenth of the end


@pytest.mark.parametrize(("period", "size", "said"), [(60, 1.2, True), (60, 0.45, False), (30, 1.2, False)])
def test_a_wave_that_is_small_or_quick_tells_of_no_second_node(period, size, said):
    t = 2.0 * np.arange(200)
    heated = 20 + 30 * (1 - np.exp(-t / 60)) + size * np.sin(np.pi * t / period)
    m = measure.thermal(be.log("h", t, temperature=heated), power=5.0)
    assert ("second_node" in [f.code for f in m.findings]) == said


@pytest.mark.parametrize("turned", [1.0, -1.0])
def test_a_coast_counts_down_to_three_percent_of_its_speed(turned):
    """What a gauge shows beyond, an offset, is not the shaft's."""
    t = 1e-3 * np.arange(1200)
    w = turned * np.maximum(50.0 * (1 - t), 1.0)  # 50 rad/s^2, and 2 % of the top where it stands
    m = measure.coast_down(be.log("c", t, velocity=w), inertia=2e-3)
    assert m.shown.readings[0].x[-1] == pytest.approx(0.97, abs=2e-3)
    assert (m.value, m.others["viscous"].value) == pytest.approx((0.1, 0.0), abs=1e-8)


X, RISE = np.arange(1.0, 13.0), {"resistance": 2.0, "torque_constant": 0.5}


def timed(n, **columns):
    t = 0.01 * np.arange(n)
    return be.log("few", t, **{k: f(t) for k, f in columns.items()})


def late(n, name, make, **more):
    """Of a rise of 40 samples, of which n are from the step on."""
    at = 0.4 - n / 100
    log = timed(40, **{name: lambda t: 1 - np.exp(-np.maximum(t - at, 0) / 0.03)})
    return make(log, after=at - 1e-3, **more)


LEAST = {
    "a locked rotor": (2, lambda n: measure.resistance(X[:n], 2 * X[:n])),
    "no-load": (3, lambda n: measure.no_load(X[:n], 2 * X[:n] - 1)),
    "with currents": (3, lambda n: measure.no_load(6 * X[:n], 9 * X[:n], resistance=2.0, current=X[:n])),
    "no-load-current": (3, lambda n: measure.no_load_current(X[:n], 1 + X[:n], torque_constant=1.0)),
    "loads": (3, lambda n: measure.torque_constant(X[:n], current=X[:n] + 0.1)),
    "bounds": (1, lambda n: measure.torque_constant(X[:n], current=X[:n], static=0.1)),
    "impedance": (3, lambda n: measure.impedance(X[:n], np.hypot(2.0, X[:n]))),
    "duties": (2, lambda n: measure.firmware_gain(X, 1 + 0 * X, np.where(n >= X, X / 20, 0.96))),
    "after a step": (6, lambda n: late(n, "current", measure.current_step, voltage=1.0)),
    "a run-up later": (8, lambda n: late(n, "velocity", measure.run_up, **RISE)),
    "a coast": (10, lambda n: measure.coast_down(timed(n, velocity=lambda t: 5 - 9 * t), inertia=1.0)),
    "in motion": (10, lambda n: measure.coast_down(
        timed(40, velocity=lambda t: np.maximum(1 - t / (0.01 * n), 0.0)), inertia=1.0)),
    "heating": (5, lambda n: measure.thermal(
        timed(n, temperature=lambda t: 50 - 30 * np.exp(-t / 0.02)), power=2.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAST)
def test_so_many_readings_are_enough_and_one_less_is_refused(name):
    least, make = LEAST[name]
    make(least)
    with pytest.raises(be.BackemfError):
        make(least - 1)


def level(line, begin, end, m, scale=1.0):
    """Whether a number is drawn with its interval from begin to end."""
    ends = np.array([[scale * x] * 2 for x in (m.value, m.low, m.high)])
    np.testing.assert_allclose([line.x, line.y, line.low, line.high], [[begin, end], *ends])


def test_an_average_is_drawn_with_its_readings_and_its_interval():
    m = measure.stall_torque(5.0 + OFF, arm=(0.1, 1e-3))
    np.testing.assert_allclose([m.shown.readings[0].x, m.shown.readings[0].y], [X[:6], 0.5 + 0.1 * OFF])
    level(m.shown.curves[0], 0.5, 6.5, m)
    m = measure.backlash(play())
    np.testing.assert_allclose(m.shown.readings[0].x, X[:5])  # it turns back every 5 s of 29.7
    np.testing.assert_allclose(m.shown.readings[0].y, 20.0, atol=2.0)
    level(m.shown.curves[0], 0.5, 5.5, m, 1e3)


def test_bounds_are_drawn_as_a_wedge_and_loads_from_both_sides_as_two_lines():
    i = np.array([-1.0, -2.0, -4.0, 5.0])
    m = measure.torque_constant(1.3 * i, current=i, static=0.2)
    (read,), (wedge,) = m.shown.readings, m.shown.curves
    np.testing.assert_allclose([read.x, read.y], [abs(i), 1.3 * abs(i)])
    np.testing.assert_allclose([wedge.low, wedge.high], np.outer([m.low, m.high], np.linspace(0, 5, 51)))
    i = 1.3 * (SIX + 0.2 * WAYS) + OFF
    m = measure.torque_constant(SIX, current=i, directions=WAYS)
    for line, read, way in zip(m.shown.curves, m.shown.readings, (1, -1), strict=True):
        at = np.linspace(0, np.max(i), 51)
        np.testing.assert_allclose([line.x, line.y], [at, m.value * at - way * m.others["friction"].value])
        np.testing.assert_array_equal([read.x, read.y], [i[way == WAYS], SIX[way == WAYS]])


def test_a_slip_is_drawn_below_gravity_and_an_impedance_from_its_resistance_on():
    m = measure.slip(mass=0.4, length=0.2, arm_mass=0.1, gravity=9.8, angle=math.radians(120))
    (read,), (gravity, friction), moment = m.shown.readings, m.shown.curves, 0.45 * 9.8 * 0.2
    np.testing.assert_allclose([read.x, read.y], [[60.0], [moment / 2]])
    wanted = [np.linspace(0, 90, 91), moment * np.cos(np.radians(np.linspace(0, 90, 91)))]
    np.testing.assert_allclose([gravity.x, gravity.y], wanted, atol=1e-12)
    level(friction, 0.0, 90.0, m)
    m = measure.impedance(60 * SIX, np.hypot(2.0, 0.5 * SIX) * (1 + 0.1 * OFF))
    (line,), R = m.shown.curves, m.others["resistance"]
    np.testing.assert_allclose(line.x, np.linspace(0, 390, 101))
    np.testing.assert_allclose(line.y, np.hypot(R.value, 2 * np.pi * line.x * m.value))
    assert (line.low[0], line.high[0]) == pytest.approx((R.low, R.high), rel=1e-4)
