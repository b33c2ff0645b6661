"""Moments against samples, the best ratio against a grid, cycles of heat against a differential equation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from backemf.physics.duty import (
    Reduction,
    best_ratio,
    mean_power,
    mean_square_torque,
    rotor_torque,
    torque_series,
)
from backemf.physics.thermal import CycleHeat
from backemf.sizing.task import Task

PICK = (
    "pendulum mass=1.5kg length=0.3m arm_mass=0.4kg",
    "trapezoid from=23deg to=100deg time=0.45s dwell=0.55s",
)


def reductions(n: int, seed: int = 0) -> Reduction:
    rng = np.random.default_rng(seed)
    N, J = rng.uniform(3.0, 200.0, n), 10.0 ** rng.uniform(-6.0, -4.0, n)
    B, c, eta = 1e-6 * rng.random(n), 0.01 * rng.random(n), rng.uniform(0.5, 1.0, n)
    return Reduction(J, B, c, N, eta, B * rng.random(n))


def by_hand(task: Task, r: Reduction, k: int, *, exact: bool = False) -> np.ndarray:
    """The rotor's torque of one of them, sample by sample, as the textbook has it: friction behind the teeth,
    which carry both; the way of the power by the load's torque alone, unless it is to be exact."""
    w, T, top = task.velocity, task.torque, np.max(np.abs(task.velocity))
    moving = np.abs(w) > 1e-3 * top
    s = np.where(moving, np.sign(w), 0.0)
    drag = r.eta[k] * r.N[k] * (r.tau_c[k] * s + r.N[k] * (r.B[k] - r.iron[k]) * w)
    way = (T + drag if exact else T) * s
    through = np.where(way < 0.0, r.eta[k], 1.0 / r.eta[k])
    if not exact:  # nothing but friction drives at rest and without a load
        drag = np.where(way == 0.0, drag / r.eta[k], drag)
    through = np.where(way == 0.0, 1.0, through)
    own = r.N[k] * (r.J[k] * task.acceleration + r.iron[k] * w)
    return own + through * (T + drag) / r.N[k]


def anything() -> Task:
    """Samples that no period makes vanish, such as the mean of a w."""
    rng = np.random.default_rng(7)
    q, w, a, T = (scale * (rng.normal(size=400) + 0.5) for scale in (1.0, 3.0, 40.0, 2.0))
    t = 0.01 * np.arange(400)
    return Task(name="any", time=t, position=q, velocity=w, acceleration=a, torque=T)


@pytest.mark.parametrize("task", [Task.of_bench(*PICK), anything()], ids=["period", "anything"])
def test_moments_are_the_samples(task):
    r = reductions(20)
    r = r._replace(B=100.0 * r.B, iron=100.0 * r.iron)  # a drag that counts
    square, power = mean_square_torque(task.moments, r), mean_power(task.moments, r)
    for k in range(20):
        tau = by_hand(task, r, k)
        assert square[k] == pytest.approx(np.mean(tau**2), rel=1e-12)  # sums of 2000 in float64
        assert power[k] == pytest.approx(np.mean(tau * r.N[k] * task.velocity), rel=1e-10, abs=1e-12)
        exact = by_hand(task, r, k, exact=True)
        assert torque_series(task.samples, r)[k] == pytest.approx(exact, rel=1e-12)
        drag = r.tau_c[k] + r.N[k] * r.B[k] * np.abs(task.velocity)  # by how much the load's way may be wrong
        assert np.all(np.abs(tau - exact) <= (1.0 - r.eta[k] ** 2) * drag + 1e-12)


@pytest.mark.parametrize("task", [Task.of_bench(*PICK), anything()], ids=["period", "anything"])
def test_means_are_exact_where_friction_holds_more_than_the_load_pushes(task):
    r = reductions(20)
    r = r._replace(B=r.iron, tau_c=3.0 * r.tau_c)  # dry friction: one threshold for all samples
    square, power = task.light_braking.further(r)
    assert np.abs(square).max() > 1e-6
    square, power = square + mean_square_torque(task.moments, r), power + mean_power(task.moments, r)
    for k in range(20):
        tau = by_hand(task, r, k, exact=True)
        assert square[k] == pytest.approx(np.mean(tau**2), rel=1e-10)  # differences of sums
        assert power[k] == pytest.approx(np.mean(tau * r.N[k] * task.velocity), rel=1e-8, abs=1e-12)


def test_peaks_are_at_corners():
    task, r = Task.of_bench(*PICK), reductions(20, seed=1)
    found = np.max(
        [np.abs(rotor_torque(e.samples, e.side, e.flow, r)).max(axis=1) for e in task.extremes], axis=0
    )
    for k in range(20):
        assert found[k] == pytest.approx(np.abs(by_hand(task, r, k, exact=True)).max(), rel=1e-6)  # float32


@pytest.mark.parametrize("seed", range(5))
def test_the_best_ratio_is_that_of_a_grid(seed):
    task, rng = Task.of_bench(*PICK), np.random.default_rng(seed)
    J, B, c, eta = 10.0 ** rng.uniform(-6, -4), 1e-6 * rng.random(), 0.01 * rng.random(), rng.uniform(0.5, 1)
    grid = np.geomspace(5.0, 5000.0, 40_000)
    one = np.ones_like(grid)
    square = mean_square_torque(task.moments, Reduction(J * one, B * one, c * one, grid, eta * one))
    assert best_ratio(task.moments, J, B, c, eta) == pytest.approx(grid[square.argmin()], rel=3e-4)  # a step


def test_without_friction_the_ratio_is_a_root_of_two_means():
    task = Task.of_bench("flywheel inertia=0.01kg*m^2", "sine amplitude=1rad period=1s")
    J = 1e-5  # N^2 = J_load / J
    assert best_ratio(task.moments, J, 0.0, 0.0) == pytest.approx(np.sqrt(0.01 / J), rel=1e-9)


def heat() -> CycleHeat:
    numbers = (0.317, 0.00393, 25.0, 1.93, 4.65, 21.55, 240.9)
    return CycleHeat(*(np.array([x]) for x in numbers), ambient=25.0)


def integrated(square: np.ndarray, lengths: np.ndarray, cycles: int) -> float:
    """Peak of the last cycle, by somebody else's solver."""
    R, alpha, T_0, R_1, R_2, C_1, C_2 = 0.317, 0.00393, 25.0, 1.93, 4.65, 21.55, 240.9
    x, peak = np.array([25.0, 25.0]), 25.0
    for n in range(cycles):
        for i2, h in zip(square, lengths, strict=True):

            def slope(_, T, i2=i2):
                flow = (T[0] - T[1]) / R_1
                return [
                    (R * (1 + alpha * (T[0] - T_0)) * i2 - flow) / C_1,
                    (flow - (T[1] - 25.0) / R_2) / C_2,
                ]

            run = solve_ivp(slope, (0.0, h), x, rtol=1e-9, atol=1e-9)
            x = run.y[:, -1]
            if n == cycles - 1:
                peak = max(peak, float(run.y[0].max()))
    return peak


def test_a_cycle_of_heat_is_its_differential_equation():
    square, lengths = np.array([40.0, 0.0, 130.0, 5.0]), np.array([10.0, 20.0, 4.0, 30.0])
    for cycles in (1, 7):
        exact = heat().cycle(square[None], np.zeros((1, 4)), lengths, cycles)[0][0]
        assert exact == pytest.approx(integrated(square, lengths, cycles), abs=1e-4)
    for_ever = heat().cycle(square[None], np.zeros((1, 4)), lengths)[0][0]
    assert for_ever == pytest.approx(
        heat().cycle(square[None], np.zeros((1, 4)), lengths, 500)[0][0], abs=1e-6
    )


def test_long_cycles_are_hotter_than_their_mean():
    """RE 40 at 5.75 A RMS, a quarter of the time on: 121, 131, 157 and 235 degC, as computed elsewhere."""
    square = np.array([[4 * 5.75**2, 0.0]])
    peaks = [
        heat().cycle(square, np.zeros((1, 2)), np.array([on, 3.0 * on]))[0][0] for on in (1, 10, 30, 120)
    ]
    assert peaks == pytest.approx([121, 131, 157, 235], abs=1.0)  # printed without decimals
    assert heat().steady(np.array([5.75**2]), np.zeros(1))[0] == pytest.approx(120.0, abs=1.0)


def test_runaway_is_infinite():
    square = np.array([[400.0]])
    assert np.isinf(heat().cycle(square, np.zeros((1, 1)), np.array([1.0]))[0][0])
    assert np.isinf(heat().steady(square[0], np.zeros(1))[0])
