"""95 % intervals hold what they promise: readings with known truth and noise, many seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest

import backemf as be
from backemf.analysis.regression import straight

SEEDS = 200
LEAST = 0.90
"""Of intervals with the truth in them. Of 200 at 95 % three standard deviations fall to 90.4 %."""
measure = be.measure
R, K, B, DRY = 2.1, 0.5, 0.01, 0.05
VOLTS = np.array([3.0, 6.0, 9.0, 12.0, 15.0])
SPEEDS = (VOLTS - R * DRY / K) / (K + R * B / K)
CURRENTS = (DRY + B * SPEEDS) / K
LOADS, WAYS = np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0]), np.array([1, -1] * 3)
HERTZ = np.array([50.0, 100.0, 200.0, 500.0, 1000.0])
SLOWS = 0.02 * np.arange(120)
SLOWING = (60.0 + 0.02 / 3e-4) * np.exp(-0.15 * SLOWS) - 0.02 / 3e-4
"""J = 2e-3, dry 0.02, viscous 3e-4: the textbook's solution of J dw/dt = -dry - viscous w."""


def about(value: float, share: float, rng: np.random.Generator) -> tuple[float, float]:
    """A number known with an error, and off by about that."""
    return value * (1 + share * rng.standard_normal()), value * share


def no_load(rng):
    noisy = SPEEDS + 0.1 * rng.standard_normal(5)
    return measure.no_load(VOLTS, noisy, resistance=about(R, 0.01, rng), torque_constant=about(K, 0.01, rng))


def with_currents(rng):
    v, i = VOLTS + 0.02 * rng.standard_normal(5), CURRENTS + 0.002 * rng.standard_normal(5)
    return measure.no_load(v, SPEEDS, current=i, resistance=about(R, 0.01, rng))


def currents(rng):
    noisy = CURRENTS + 0.005 * rng.standard_normal(5)
    return measure.no_load_current(SPEEDS, noisy, torque_constant=about(K, 0.01, rng))


def loads(rng):
    i = (LOADS + 0.2 * WAYS) / 1.4 + 0.02 * rng.standard_normal(6)
    return measure.torque_constant(LOADS, current=i, directions=WAYS)


def loads_by_voltage(rng):
    v = (LOADS + 0.2) / 1.4 * 2.0 + 0.02 * rng.standard_normal(6)
    return measure.torque_constant(LOADS, v, resistance=about(2.0, 0.015, rng))


def impedance(rng, **more):
    Z = np.abs(2.0 + 2j * np.pi * HERTZ * 1e-3) * (1 + 0.01 * rng.standard_normal(5))
    return measure.impedance(HERTZ, Z, **more)


def accelerations(rng):
    a = np.array([10.0, 30.0, 60.0, 100.0])
    i = (2e-3 * a + DRY) / K + 0.01 * rng.standard_normal(4)
    return measure.acceleration(a, current=i, torque_constant=about(K, 0.01, rng))


def current_step(rng):
    t = 1e-4 * np.arange(120)
    i = np.where(t < 1e-3, 0.0, 2.0 * (1 - np.exp(-(t - 1e-3) / 1e-3)))
    return measure.current_step(be.log("s", t, current=i + 0.02 * rng.standard_normal(120)), voltage=4.0)


def run_up(rng):
    t = 2e-3 * np.arange(150)
    w = np.where(t < 0.02, 0.0, 20.0 * (1 - np.exp(-(t - 0.02) / 0.05))) + 0.3 * rng.standard_normal(150)
    given = {"resistance": about(2.0, 0.01, rng), "torque_constant": about(0.5, 0.01, rng)}
    return measure.run_up(be.log("s", t, velocity=w), **given)


def coast(rng, **known):
    return measure.coast_down(be.log("c", SLOWS, velocity=SLOWING + 0.2 * rng.standard_normal(120)), **known)


def slow_noise(rng):
    """Errors with a memory of ten samples, as a filter in a sensor makes them."""
    e = rng.standard_normal(120)
    x = np.zeros(120)
    for k in range(1, 120):
        x[k] = 0.9 * x[k - 1] + e[k]
    w = SLOWING + 0.2 * math.sqrt(1 - 0.9**2) * x
    return measure.coast_down(be.log("c", SLOWS, velocity=w), inertia=2e-3)


def two_coasts(rng):
    """Noise of 0.1 rad/s; the slow one has 3e-3 kg m^2 more."""
    slow = (60.0 + 0.02 / 3e-4) * np.exp(-0.06 * SLOWS) - 0.02 / 3e-4
    logs = [be.log("c", SLOWS, velocity=w + 0.1 * rng.standard_normal(120)) for w in (slow, SLOWING)]
    return measure.inertia(*logs, added=3e-3)


def heated(rng):
    t = 5.0 * np.arange(80)
    top = 20.0 * (1 - math.exp(-4.0))
    T = np.where(t < 200, 20.0 * (1 - np.exp(-t / 50.0)), top * np.exp(-(t - 200.0) / 50.0))
    log = be.log("h", t, temperature=20.0 + T + 0.3 * rng.standard_normal(80))
    return measure.thermal(log, power=2.0, until=200.0)


def reversals(rng):
    """20 mrad of play, at a phase and a noise of its own; 2 mrad from sample to sample."""
    t = 0.033 * np.arange(900)
    drive = 0.3 * np.abs((((t + rng.uniform(0, 0.033)) / 5.0) % 2) - 1)
    out = np.zeros_like(drive)
    for k in range(1, len(t)):
        out[k] = min(max(out[k - 1], drive[k] - 0.01), drive[k] + 0.01)
    seen = out + 2e-4 * rng.standard_normal(len(t))
    return measure.backlash(be.log("r", t, position=seen, position_target=drive))


CASES = {
    "resistance": (lambda r: measure.resistance(CURRENTS, R * CURRENTS + 0.01 * r.standard_normal(5)), "", R),
    "back-emf": (lambda r: measure.back_emf(SPEEDS, K * SPEEDS + 0.05 * r.standard_normal(5)), "", K),
    "no-load": (no_load, "", K + R * B / K),
    "no-load coulomb": (no_load, "coulomb", DRY),
    "no-load viscous": (no_load, "viscous", B),
    "no-load K_e": (with_currents, "back_emf", K),
    "i_0 coulomb": (currents, "", DRY),
    "i_0 viscous": (currents, "viscous", B),
    "torque-constant": (loads, "", 1.4),
    "torque-constant friction": (loads, "friction", 0.2),
    "torque-constant by voltage": (loads_by_voltage, "", 1.4),
    "impedance": (impedance, "", 1e-3),
    "impedance R": (impedance, "resistance", 2.0),
    "impedance with R": (lambda r: impedance(r, resistance=about(2.0, 0.02, r)), "", 1e-3),
    "acceleration": (accelerations, "", 2e-3),
    "current-step": (current_step, "", 2e-3),
    "current-step R": (current_step, "resistance", 2.0),
    "run-up": (run_up, "", 0.05 * 0.5**2 / 2.0),
    "coast-down": (lambda r: coast(r, inertia=2e-3), "", 0.02),
    "coast-down viscous": (lambda r: coast(r, inertia=2e-3), "viscous", 3e-4),
    "coast-down J": (lambda r: coast(r, coulomb=about(0.02, 0.02, r)), "", 2e-3),
    "inertia": (two_coasts, "", 2e-3),
    "thermal": (heated, "", 10.0),
    "thermal C": (heated, "capacitance", 5.0),
}


@pytest.mark.parametrize("name", CASES)
def test_intervals_hold(name):
    make, other, truth = CASES[name]
    n = 60 if name.startswith("thermal") else SEEDS
    least = 0.865 if n == 60 else LEAST  # three standard deviations of 60 at 95 %
    inside, values, errors = 0, [], []
    for seed in range(n):
        m = make(np.random.default_rng(seed))
        m = m.others[other] if other else m
        inside += m.low <= truth <= m.high
        values.append(m.value)
        errors.append(m.error)
    assert inside / n >= least, f"{inside} of {n}"
    widest = 1.6 if name == "impedance with R" else 1.25  # where a wrong R also leaves residuals
    assert 0.85 < np.sqrt(np.mean(np.square(errors))) / np.std(values) < widest


def test_intervals_hold_for_slow_noise_nearly():
    """120 samples are 6 independent ones, of which the curve takes 3: that costs a few of 95 %, no more."""
    inside = 0
    for seed in range(SEEDS):
        m = slow_noise(np.random.default_rng(seed))
        inside += m.low <= 0.02 <= m.high
    assert inside / SEEDS >= 0.85


def test_backlash_holds():
    made = [reversals(np.random.default_rng(seed)) for seed in range(20)]
    inside = sum(m.low <= 0.02 <= m.high for m in made)
    assert inside >= 17  # of 20 at 95 % less than 17 come once in 60 times
    step = 0.3 * 0.033 / 5.0
    mean = np.mean([m.value for m in made])
    assert mean == pytest.approx(0.02, abs=0.2 * step)  # half a step off without its correction


def test_an_interval_is_not_needlessly_wide():
    """An interval that holds always would pass above: its width is Student's for the readings to spare."""
    widths, errors = [], []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        m = measure.back_emf(SPEEDS, K * SPEEDS + 0.05 * rng.standard_normal(5))
        widths.append((m.high - m.low) / (2 * m.error))
        errors.append(m.error)
    assert widths == pytest.approx(np.full(SEEDS, 2.776445), rel=1e-6)  # t of 4 degrees, 97.5 %, from a table
    true = 0.05 / np.sqrt(np.sum(SPEEDS**2))
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(true, rel=0.1)  # 3 sd of a mean of 200 x 4


def test_outliers_are_found_and_seldom_imagined():
    x = np.linspace(1.0, 3.0, 9)
    imagined = found = 0
    for seed in range(300):
        y = 2 * x + 1 + 0.05 * np.random.default_rng(seed).standard_normal(9)
        imagined += straight(x, y).outliers.any()
        y[4] += 12 * 0.05
        marked = straight(x, y).outliers
        found += marked[4]
    assert imagined <= 15  # 2 to 3 of 100 are meant: three standard deviations more
    assert found >= 280  # 12 standard deviations off: nearly all


def test_two_wrong_readings_do_not_hide_each_other():
    x = np.linspace(1.0, 3.0, 9)
    found = 0
    for seed in range(100):
        y = 2 * x + 0.05 * np.random.default_rng(seed).standard_normal(9)
        y[-2:] += 2.0  # both at the end, where they turn an ordinary line
        found += straight(x, y, origin=True).outliers[-2:].all()
    assert found >= 95
