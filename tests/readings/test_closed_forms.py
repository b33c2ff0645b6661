"""Readings against formulas: the force that a model asks for, what is drawn of an answer, how much of a
recording counts, and how little of it is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import backemf as be
from backemf.analysis.transients import force_error

measure = be.measure
T = 0.002 * np.arange(2000)
LEVEL, REST, GROWS, AWAY, IRON = 0.05, 0.09, 0.02, 0.03, 2e-5
"""Of the friction below, and of the iron, at the output."""


def arm(eta, ratio=60.0, n_motors=2):
    """A geared arm with every term that resists it."""
    friction = be.friction.Stribeck(
        coulomb=LEVEL, static=REST, stribeck_velocity=0.5, viscous=GROWS, offset=AWAY
    )
    motor = be.motor.Motor(resistance=2.0, torque_constant=0.02, rotor_inertia=2e-6, iron_loss=IRON)
    gearbox = be.gearbox.Gearbox(ratio=ratio, n_motors=n_motors, efficiency=eta)
    return be.Actuator(motor=motor, gearbox=gearbox, friction=friction)


@pytest.mark.parametrize("ratio", [60.0, -60.0])
@pytest.mark.parametrize("eta", [None, 0.7])
def test_the_force_of_the_right_numbers_is_the_recorded_one(eta, ratio):
    """J_l a = k (tau - iron - J_r a) - drag - friction - weight, solved for tau; k is eta where the gears
    drive, 1 / eta where they brake. A push that no number explains is its share of the whole."""
    q, v = 0.8 * np.sin(4 * T) + 0.3 * np.sin(9 * T), 3.2 * np.cos(4 * T) + 2.7 * np.cos(9 * T)
    a = -12.8 * np.sin(4 * T) - 24.3 * np.sin(9 * T)
    bench = be.bench.Pendulum(mass=0.4, length=0.2, arm_mass=0.1)
    J_l, J_r = 0.4 * 0.2**2 + 0.1 * 0.2**2 / 3, 2 * 60**2 * 2e-6
    dry = np.sign(v) * (LEVEL + (REST - LEVEL) * np.exp(-((v / 0.5) ** 2)))
    weight = (0.4 + 0.05) * 9.80665 * 0.2 * np.sin(q)
    needed = J_l * a + GROWS * v - AWAY + dry + weight
    k = np.where(needed * v > 0, eta or 1.0, 1.0 / (eta or 1.0))
    tau = J_r * a + 2 * 60**2 * IRON * v + needed / k
    log = be.log("arm", T, position=q, torque=tau, bench=bench)
    assert force_error(log, arm(eta, ratio), decimation=2) < 2e-3
    pushed = be.log("arm", T, position=q, torque=tau + (0.5 if eta is None else 0.0), bench=bench)
    share = 0.5 / np.sqrt(np.mean((tau + 0.5) ** 2))
    if eta is None:
        assert force_error(pushed, arm(eta, ratio), decimation=2) == pytest.approx(share, rel=0.03)


def rising(n=400, first=40, tau=40e-3):
    """A first-order rise to 2 from a sample on, one sample in 2 ms."""
    t = 2e-3 * np.arange(n)
    return t, np.where(t < t[first], 0.0, 2.0 * (1 - np.exp(-(t - t[first]) / tau)))


@pytest.mark.parametrize(
    ("volts", "height"),
    [
        ([0.0, 0.0, 6.0], 6.0),
        ([2.6, 2.6, 6.0], 3.4),  # from less than half of it: a step between the two
        ([3.4, 3.4, 6.0], 6.0),  # from more: the log began after the step, and sagged
        ([-2.6, -2.6, 6.0], 8.6),
        ([0.0, 0.0, -6.0], -6.0),
    ],
)
@pytest.mark.parametrize("name", ["voltage", "voltage_target"])
def test_the_step_of_a_log_is_from_its_first_volts_to_its_last(name, volts, height):
    t, i = rising()
    v = np.repeat(volts, [20, 20, 360])
    turned = math.copysign(1.0, height)
    log = be.log("s", t, current=turned * i, **{name: v})
    m = measure.current_step(log, after=float(t[40]))
    assert m.others["resistance"].value == pytest.approx(abs(height) / 2.0, rel=1e-6)
    assert m.value == pytest.approx(40e-3 * abs(height) / 2.0, rel=1e-6)


def test_a_step_is_found_where_it_is_steepest_and_a_start_where_it_moves():
    t, i = rising()
    step = measure.current_step(be.log("s", t, current=i), voltage=4.0)
    line = step.shown.curves[0]
    assert line.x[0] == pytest.approx(t[42])  # it leaps to sample 41; one that was chosen does not count
    assert line.y == pytest.approx(i[42:], abs=1e-6)
    run = measure.run_up(be.log("s", t, velocity=i), resistance=2.0, torque_constant=0.5)
    begun = t[40] - 40e-3 * math.log(0.9)  # a tenth of the end
    assert run.shown.curves[0].x[0] == pytest.approx(begun, abs=2e-3)
    told = run.others["speed"]
    assert (told.value, run.shown.curves[0].y[-1]) == pytest.approx((2.0, 2.0), rel=1e-6)


def test_a_current_before_the_step_is_taken_off():
    t, i = rising()
    m = measure.current_step(be.log("s", t, current=0.5 + i), voltage=4.0)
    assert (m.others["resistance"].value, m.value) == pytest.approx((2.0, 80e-3), rel=1e-6)


@pytest.mark.parametrize(("where", "said"), [(0.8, True), (0.87, True), (0.95, False)])
def test_a_current_that_peaks_in_the_last_tenth_tells_nothing_of_the_rotor(where, said):
    t, i = rising(first=0)
    after = np.clip((np.arange(400) - 400 * where) / 8, 0, 1)
    m = measure.current_step(be.log("s", t, current=i * (1 - 0.1 * after)), voltage=4.0, after=0.0)
    assert ("rotor_moved" in [f.code for f in m.findings]) == said


@pytest.mark.parametrize(("period", "said"), [(20, False), (30, False), (60, True)])
def test_only_a_slow_error_of_one_node_tells_of_a_second(period, said):
    """Of the same size: where it turns within a few samples it is noise, or a cycle of the heater."""
    t = 2.0 * np.arange(200)
    heated = 20 + 30 * (1 - np.exp(-t / 60)) + 1.2 * np.sin(np.pi * t / period)
    m = measure.thermal(be.log("h", t, temperature=heated), power=5.0)
    assert ("second_node" in [f.code for f in m.findings]) == said


def test_a_coast_counts_down_to_three_percent_of_its_speed():
    """What a gauge shows beyond, an offset, is not the shaft's."""
    t = 1e-3 * np.arange(1200)
    for turned in (1.0, -1.0):
        w = turned * np.maximum(50.0 * (1 - t), 1.0)  # 50 rad/s^2, and 2 % of the top where it stands
        m = measure.coast_down(be.log("c", t, velocity=w), inertia=2e-3)
        assert m.shown.readings[0].x[-1] == pytest.approx(0.97, abs=2e-3)
        assert m.value == pytest.approx(0.1, rel=1e-6)
        assert m.others["viscous"].value == pytest.approx(0.0, abs=1e-8)


X = np.arange(1.0, 13.0)


def timed(n, **columns):
    t = 0.01 * np.arange(n)
    return be.log("few", t, **{k: f(t) for k, f in columns.items()})


RISE = {"resistance": 2.0, "torque_constant": 0.5}
LEAST = {
    "a locked rotor's line": (2, lambda n: measure.resistance(X[:n], 2 * X[:n])),
    "no-load": (3, lambda n: measure.no_load(X[:n], 2 * X[:n] - 1)),
    "no-load with currents": (
        3, lambda n: measure.no_load(6 * X[:n], 9 * X[:n], resistance=2.0, current=0.1 + X[:n] / 90)),
    "no-load-current": (3, lambda n: measure.no_load_current(X[:n], 1 + X[:n], torque_constant=1.0)),
    "loads": (3, lambda n: measure.torque_constant(X[:n], current=X[:n] + 0.1)),
    "bounds": (1, lambda n: measure.torque_constant(X[:n], current=X[:n], static=0.1)),
    "impedance": (3, lambda n: measure.impedance(X[:n], np.hypot(2.0, X[:n]))),
    "duties": (2, lambda n: measure.firmware_gain(X, 1 + 0 * X, np.where(n >= X, X / 20, 0.96))),
    "a rise": (8, lambda n: measure.current_step(
        timed(n, current=lambda t: 1 - np.exp(-t / 0.03)), voltage=1.0, after=0.0)),
    "after a step": (6, lambda n: measure.current_step(
        timed(40, current=lambda t: np.where(t < 0.4 - n / 100, 0, 1 - np.exp(-(t - 0.4 + n / 100) / 0.03))),
        voltage=1.0, after=0.4 - n / 100 - 1e-3)),
    "a run-up": (10, lambda n: measure.run_up(
        timed(n, velocity=lambda t: 1 - np.exp(-t / 0.03)), **RISE, after=0.0)),
    "a run-up after a step": (8, lambda n: measure.run_up(
        timed(40, velocity=lambda t: np.where(t < 0.4 - n / 100, 0, 1 - np.exp(-(t - 0.4 + n / 100) / 0.03))),
        **RISE, after=0.4 - n / 100 - 1e-3)),
    "a coast": (10, lambda n: measure.coast_down(timed(n, velocity=lambda t: 5 - 9 * t), inertia=1.0)),
    "a coast in motion": (10, lambda n: measure.coast_down(
        timed(40, velocity=lambda t: np.maximum(1 - t / (0.01 * n), 0.0)), inertia=1.0)),
    "heating": (5, lambda n: measure.thermal(
        timed(n, temperature=lambda t: 50 - 30 * np.exp(-t / 0.02)), power=2.0)),
    "inverse dynamics": (150, lambda n: measure.inverse_dynamics(timed(
        n, position=lambda t: np.sin(5 * t), torque=lambda t: np.cos(7 * t)), cutoff=20.0, decimation=5)),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAST)
def test_so_many_readings_are_enough_and_one_less_is_refused(name):
    least, make = LEAST[name]
    assert math.isfinite(make(least).value or 0.0)
    with pytest.raises(be.BackemfError):
        make(least - 1)


OFF = 0.01 * np.array([1.0, -2.0, 0.5, 1.5, -1.0, 0.3])
SIX = np.array([1.0, 2.0, 3.5, 4.0, 5.0, 6.5])
WAYS = np.array([1, -1, 1, -1, 1, -1])


def level(m, scale=1.0):
    """A number over whatever is beneath it, with its interval."""
    return [tuple(scale * x for x in (m.value, m.low, m.high))] * 2


def test_what_is_drawn_of_an_average_is_its_readings_and_its_interval():
    F, arm = 5.0 + OFF, (0.1, 1e-3)
    m = measure.stall_torque(F, arm=arm)
    (read,), (line,) = m.shown.readings, m.shown.curves
    assert [*read.x] == [1, 2, 3, 4, 5, 6]
    assert read.y == pytest.approx(0.1 * F)
    assert [*line.x] == [0.5, 6.5]
    assert [*zip(line.y, line.low, line.high, strict=True)] == level(m)
    alone = measure.stall_torque([5.0], arm=arm).shown.curves[0]
    assert (alone.low, alone.high, [*alone.y]) == (None, None, [0.5, 0.5])


def test_what_is_drawn_of_play_is_that_of_each_reversal():
    t = 0.01 * np.arange(2000)
    drive = 0.5 * np.abs(((t / 5.0) % 2) - 1)
    out = np.zeros_like(drive)
    for k in range(1, len(t)):
        out[k] = np.clip(out[k - 1], drive[k] - 0.015, drive[k] + 0.015)
    m = measure.backlash(be.log("reversal", t, position=out, position_target=drive), moved=1e-4)
    (read,), (line,) = m.shown.readings, m.shown.curves
    assert [*read.x] == [1, 2, 3]  # it turns back at 5, 10 and 15 s
    assert read.y == pytest.approx([30.0] * 3, abs=0.6)  # half a step of the drive
    assert np.mean(read.y) == pytest.approx(1e3 * m.value)
    assert [*line.x] == [0.5, 3.5]
    assert [*zip(line.y, line.low, line.high, strict=True)] == level(m, 1e3)


def test_what_is_drawn_of_bounds_is_a_wedge():
    i = np.array([-1.0, -2.0, -4.0, 5.0])
    m = measure.torque_constant(1.3 * i, current=i, static=0.2)
    (read,), (wedge,) = m.shown.readings, m.shown.curves
    assert [*read.x] == [1, 2, 4, 5]
    assert read.y == pytest.approx(1.3 * read.x)
    assert (wedge.x[0], wedge.x[-1]) == (0.0, 5.0)
    np.testing.assert_allclose([wedge.low, wedge.high], np.outer([m.low, m.high], wedge.x))


def test_what_is_drawn_of_loads_from_both_sides_is_a_line_for_each():
    i = 1.3 * (SIX + 0.2 * WAYS) + OFF
    m = measure.torque_constant(SIX, current=i, directions=WAYS)
    K, f = m.value, m.others["friction"].value
    for line, read, way in zip(m.shown.curves, m.shown.readings, (1, -1), strict=True):
        assert (line.x[0], line.x[-1]) == (0.0, np.max(i))
        np.testing.assert_allclose(line.y, K * line.x - way * f)
        assert ([*read.x], [*read.y]) == ([*i[way == WAYS]], [*SIX[way == WAYS]])


def test_what_is_drawn_of_a_slip_is_gravity_and_the_friction_that_holds_it():
    m = measure.slip(mass=0.4, length=0.2, arm_mass=0.1, gravity=9.8, angle=math.radians(120))
    (read,), (gravity, friction) = m.shown.readings, m.shown.curves
    moment = 0.45 * 9.8 * 0.2
    assert ([*read.x], [*read.y]) == (pytest.approx([60.0]), pytest.approx([moment / 2]))
    np.testing.assert_allclose(gravity.y, moment * np.cos(np.radians(gravity.x)), atol=1e-12)
    assert (gravity.x[0], gravity.x[-1], [*friction.x]) == (0.0, 90.0, [0.0, 90.0])
    assert [*zip(friction.y, friction.low, friction.high, strict=True)] == level(m)


def test_what_is_drawn_of_an_impedance_begins_at_the_resistance():
    Z = np.hypot(2.0, 0.5 * SIX) * (1 + 0.1 * OFF)
    m = measure.impedance(60 * SIX, Z)
    (line,), R = m.shown.curves, m.others["resistance"]
    np.testing.assert_allclose(line.y, np.hypot(R.value, 2 * np.pi * line.x * m.value))
    assert (line.x[0], line.x[-1]) == (0.0, 390.0)
    assert (line.low[0], line.y[0], line.high[0]) == pytest.approx((R.low, R.value, R.high), rel=1e-4)
    given = measure.impedance(60 * SIX, Z, resistance=2.0).shown.curves[0]
    assert (given.low[0], given.high[0]) == pytest.approx((2.0, 2.0))


@pytest.mark.parametrize("origin", [True, False])
def test_what_is_drawn_of_a_line_has_the_band_of_its_numbers(origin):
    """At 0 the intercept's interval, far out the slope's."""
    v = 2.1 * SIX + (0 if origin else 0.8) + OFF
    m = measure.resistance(SIX, v) if origin else measure.no_load(v, SIX)
    (line,), level = m.shown.curves, m.others.get("intercept")
    begins = (0.0, 0.0, 0.0) if origin else (level.low, level.value, level.high)
    assert (line.low[0], line.y[0], line.high[0]) == pytest.approx(begins)
    assert (line.x[0], line.x[-1]) == (0.0, 6.5)
    np.testing.assert_allclose(line.y, m.value * line.x + begins[1])
    if origin:
        np.testing.assert_allclose([line.low, line.high], np.outer([m.low, m.high], line.x), atol=1e-12)
