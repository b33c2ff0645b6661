"""Damped least squares against linear algebra: optima, steps, damping, and when it ends."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import backemf as be
from backemf.engine import candidates
from backemf.identify import optimize, search
from backemf.identify.optimize import _step, homotopy, levenberg_marquardt, observer_stages
from backemf.identify.search import bench_search

from ..conftest import unavailable
from .linear import Linear, numbers
from .recordings import COVERED, SERVO, record

FREE = np.full(2, np.inf)


def minimum(p: Any, x: Any, **options: Any) -> Any:
    return levenberg_marquardt(p, np.asarray(x, float), **options)


def system(seed: int, n: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(8, n)), 3.0 * rng.normal(size=8)


def test_the_optimum_is_that_of_data_and_prior_together():
    A, b = system(0)
    error, mean = np.array([0.3, 2.0, 0.5]), np.array([1.0, -1.0, 0.5])
    end = minimum(Linear(A, b, numbers(3, error=error, mean=mean)), np.zeros(3), tolerance=1e-12)
    W = np.diag(1 / error)
    x, *_ = np.linalg.lstsq(np.vstack([A, W]), np.concatenate([b, W @ mean]), rcond=None)
    assert end.x == pytest.approx(x, abs=1e-6)
    assert end.data_cost == pytest.approx(0.5 * np.sum((A @ x - b) ** 2))
    assert end.cost == pytest.approx(end.data_cost + 0.5 * np.sum(((x - mean) / error) ** 2))
    assert end.ended == "converged"


def test_one_step_without_damping_solves_what_is_linear():
    """Data and prior alike: the curvature is that of both."""
    A, b = system(0)
    error = np.array([0.3, 2.0, 0.5])
    W = np.diag(1 / error)
    x, *_ = np.linalg.lstsq(np.vstack([A, W]), np.concatenate([b, np.zeros(3)]), rcond=None)
    p = Linear(A, b, numbers(3, error=error))
    assert minimum(p, x + np.array([0.3, -0.2, 0.1]), most=1, damping=1e-12).x == pytest.approx(x, abs=1e-9)
    assert p.asked[0] == (0.0, np.inf, None)  # no observer, no cut, the problem's own steps


@pytest.mark.parametrize("scale", [1e-2, 1e2])
def test_weights_that_are_all_larger_change_nothing(scale):
    A, b = system(4)
    slow = [Linear(f * A, f * b, curvature=3.0) for f in (1.0, scale)]
    alike = [minimum(p, np.zeros(3), tolerance=1e-3) for p in slow]
    assert alike[0].n_evaluations == alike[1].n_evaluations
    assert alike[0].x == pytest.approx(alike[1].x)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("start", [-0.4, 0.0, 0.4])
def test_the_optimum_inside_bounds(seed, start):
    """Also from starts on bounds that it must leave."""
    A, b = system(seed)
    low, high = np.array([-0.4, -0.1, -5.0]), np.array([0.1, 0.4, 0.4])
    end = minimum(Linear(A, b, numbers(3, low=low, high=high)), np.full(3, start), tolerance=1e-12)
    assert end.x == pytest.approx(lsq_linear(A, b, (low, high)).x, abs=1e-5)


def test_what_is_still_stays_and_the_others_make_the_best_of_it():
    A, b = system(1)
    end = minimum(Linear(A, b), np.array([0.0, 0.7, 0.0]), still=("b",), tolerance=1e-12)
    others, *_ = np.linalg.lstsq(A[:, [0, 2]], b - 0.7 * A[:, 1], rcond=None)
    assert end.x == pytest.approx([others[0], 0.7, others[1]], abs=1e-6)


def test_a_step_changes_no_coordinate_by_more_than_a_factor_of_two():
    end = minimum(Linear(np.eye(2), [50.0, -10.0]), np.zeros(2), most=1, damping=1e-9)
    assert end.x == pytest.approx([0.7, -0.14])  # towards the optimum all the same
    near = minimum(Linear(np.eye(2), [0.5, -0.1]), np.zeros(2), most=1, damping=1e-9)
    assert near.x == pytest.approx([0.5, -0.1])
    assert near.ended == "stopped at its limit of iterations"
    assert near.n_evaluations == 2


@pytest.mark.parametrize(("options", "share"), [({}, 1 / 1.01), ({"damping": 1.0}, 0.5)])
def test_damping_is_relative_to_the_curvature(options, share):
    A = np.diag([1.0, 10.0])
    end = minimum(Linear(A, A @ [0.1, 0.2]), np.zeros(2), most=1, **options)
    assert end.x == pytest.approx([0.1 * share, 0.2 * share])


def test_damping_grows_where_a_step_makes_it_worse_and_falls_where_it_helps():
    """A curvature told ten times too small: a step goes 10 / (1 + damping) times too far, and helps where
    that is less than twice."""
    p = Linear([[1.0]], [0.0], curvature=0.1)
    minimum(p, np.array([0.05]), most=2, damping=1.0)
    x, tried = 0.05, [0.05]
    for damping in (1.0, 4.0, 16.0):
        tried.append(x - x * 10 / (1 + damping))
    x = tried[-1]
    for damping in (16.0 / 5,):
        tried.append(x - x * 10 / (1 + damping))
    tried.append(x - x * 10 / (1 + 4 * 16.0 / 5))  # the one before went beyond twice
    assert np.ravel(p.tried) == pytest.approx(np.array(tried)[: len(p.tried)])
    assert len(p.tried) == len(tried)


@pytest.mark.parametrize(
    ("tolerance", "n"),
    # 2: every gain is small. 1e-3: the first step takes nearly all there is to gain, the next two little.
    [(2.0, 3), (1e-3, 4)],
)
def test_two_small_gains_in_a_row_are_the_end(tolerance, n):
    end = minimum(Linear([[1.0], [1.0]], [1.5, -0.5]), np.array([0.0]), tolerance=tolerance)
    assert (end.n_evaluations, end.ended) == (n, "converged")
    assert end.cost >= 1.0 - 1e-9  # what the two rows leave in any case


def test_where_nothing_is_gained_it_has_converged():
    end = minimum(Linear([[1.0], [1.0]], [1.5, -0.5]), np.array([0.5]), tolerance=0.0)
    assert (end.x, end.ended, end.cost) == (0.5, "converged", 1.0)
    assert end.n_evaluations == 1 + 12  # it looked for a better one with more and more damping


def test_a_start_that_is_not_finite_is_said():
    end = minimum(Linear([[1.0]], [np.nan]), np.array([500.0]))
    assert end.ended == "the simulation is not finite at the start"
    assert (end.cost, end.data_cost, end.n_evaluations) == (np.inf, np.inf, 1)
    assert end.x == 100.0  # inside its bounds


def test_steps_into_what_is_not_finite_are_not_taken():
    class Cliff(Linear):
        def normal(self, x, *more):
            H, g, cost = super().normal(x, *more)
            return H, g, (np.nan if x[0] > 0.3 else cost)

    end = minimum(Cliff([[1.0]], [0.5]), np.array([0.0]), most=3)
    assert 0.0 < end.x[0] <= 0.3
    assert np.isfinite(end.cost)


def test_a_combination_that_nothing_tells_stops_nothing():
    """Only a + b is told; with next to no damping the curvature is singular at first."""
    end = minimum(Linear([[1.0, 1.0]], [0.6]), np.zeros(2), damping=1e-17)
    assert end.x.sum() == pytest.approx(0.6, abs=1e-3)


STEPS = {
    "inside": ([0.0, 0.0], -FREE, FREE, [False, False], [8 / 3, -4 / 3]),
    "at the upper bound": ([0.5, 0.0], -FREE, [1.0, np.inf], [False, False], [0.5, -0.25]),
    "far out, at the upper bound": ([5.0, 0.0], -FREE, [6.0, np.inf], [False, False], [1.0, -0.5]),
    "only the other one is at a bound": (
        [0.5, 3.0],
        [-np.inf, 1.0],
        [1.0, np.inf],
        [False, False],
        [0.5, -0.25],
    ),
    "at the lower bound": ([0.0, 3.0], [-np.inf, 2.5], FREE, [False, False], [2.25, -0.5]),
    "one is held": ([0.0, 0.0], -FREE, FREE, [True, False], [0.0, 0.0]),
    "the other is held": ([0.0, 0.0], -FREE, FREE, [False, True], [2.0, 0.0]),
    "one after the other": ([0.0, 0.0], [-9.0, -0.2], [1.0, 9.0], [False, False], [1.0, -0.2]),
    "both are held": ([0.0, 0.0], -FREE, FREE, [True, True], [0.0, 0.0]),
}
"""Where it is, bounds, what is held, and the step for A = [[2, 1], [1, 2]], g = (-4, 0): by hand."""


@pytest.mark.parametrize("row", STEPS)
def test_a_step_that_would_leave_the_bounds_stops_there_and_the_others_know_it(row):
    x, low, high, held, expected = STEPS[row]
    A, g = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-4.0, 0.0])
    step = _step(A, g, np.array(x), np.array(low), np.array(high), np.array(held))
    assert step == pytest.approx(np.array(expected))


def test_no_step_where_the_curvature_is_singular():
    A, none = np.ones((2, 2)), np.zeros(2, bool)
    assert _step(A, np.ones(2), np.zeros(2), -FREE, FREE, none) is None


def test_the_observer_is_let_go_step_by_step():
    A, b = system(2)
    p: Any = Linear(A, b)
    told: list[Any] = []
    end = homotopy(
        p,
        np.zeros(3),
        stages=observer_stages(9.0, 3.0, 0.0),
        robust=2.5,
        note=lambda *said: told.append(said),
    )
    assert list(dict.fromkeys(p.asked)) == [(9.0, 2.5, 2), (3.0, 2.5, 2), (0.0, 2.5, 7)]  # coarse, then fine
    assert end.n_evaluations == len(p.asked)
    assert end.x == pytest.approx(np.linalg.lstsq(A, b, rcond=None)[0], abs=1e-3)
    assert [(words, share) for words, _, share in told] == [
        ("led by the recording, 1 of 2", pytest.approx(1 / 3)),
        ("led by the recording, 2 of 2", pytest.approx(2 / 3)),
        ("on its own", 1.0),
    ]
    assert told[-1][1] == end.cost
    coarse: Any = Linear(A, b)
    coarse.substeps = 2
    homotopy(coarse, np.zeros(3), stages=observer_stages(9.0, 0.0))
    assert list(dict.fromkeys(coarse.asked)) == [(9.0, np.inf, 1), (0.0, np.inf, 2)]


def test_a_stage_goes_on_where_the_one_before_ended():
    p: Any = Linear(np.eye(2), [3.0, -2.0])
    homotopy(p, np.zeros(2), stages=observer_stages(5.0, 0.0))
    last = next(k for k, asked in enumerate(p.asked) if asked[0] == 0.0)
    assert p.tried[last] == pytest.approx([3.0, -2.0], abs=1e-3)


# Starts scored on a GPU, here on Warp's processor device


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("warp") is None:
        unavailable("warp-lang")
    monkeypatch.setattr(candidates, "DEVICE", "cpu")


def test_the_best_of_many_starts_are_taken_and_none_twice(here, monkeypatch):
    monkeypatch.setattr(optimize, "DRAWN", 60)
    climb = bench_search(SERVO, [record(1, duration=1.0)], on="gpu", n_starts=4)
    p = climb.plant.problem()
    starts = list(climb._starts(p, np.inf))
    assert len(starts) == 3
    random = [optimize.spread(p.free, 3.0, np.random.default_rng(k), p.first) for k in range(40)]
    assert p.costs(starts).max() < np.median(p.costs(random))
    apart = [np.sqrt(np.mean((x - y) ** 2)) for x, y in [(starts[0], starts[1]), (starts[1], starts[2])]]
    assert min(apart) > optimize.APART
    same = optimize.screen_starts(p, 3.0, np.random.default_rng(0), 3, robust=np.inf, on="cpu")
    np.testing.assert_array_equal(starts, same)


def test_costs_of_many_are_the_cost_of_each():
    p = bench_search(SERVO, [record(1, duration=1.0)]).plant.problem()
    X = [p.first, p.first + 0.05]
    expected = [p.normal(x, robust=3.0)[2] for x in X]
    np.testing.assert_allclose(p.costs(X, robust=3.0), expected, rtol=1e-9)


def test_a_fit_takes_its_further_starts_from_what_was_scored(here, monkeypatch):
    monkeypatch.setattr(optimize, "DRAWN", 40)
    scored = []
    plain = search.screen_starts
    monkeypatch.setattr(search, "screen_starts", lambda *a, **k: scored.append(plain(*a, **k)) or scored[-1])
    logs = [
        record(k, actuator=replace(SERVO, friction=COVERED["m4"]), mass=0.5, duration=2.0) for k in (1, 2)
    ]
    start = replace(SERVO, friction=COVERED["coulomb"])  # it cannot follow the recording to its noise
    fits = {on: be.fit(start, logs, n_starts=3, inspect=False, on=on) for on in ("cpu", "gpu")}
    assert len(scored) == 1
    assert len(fits["gpu"].starts) > 1
    best = {on: min(s.cost for s in one.starts) for on, one in fits.items()}
    assert best["gpu"] < 1.01 * best["cpu"]
