"""The classic regression step by step, on numbers that can be checked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from backemf.errors import InvalidValue, MissingValue
from backemf.kits.frc.sysid_regression import (
    ResampledTrial,
    differentiate,
    filter_trials,
    median_filter,
    noise_floor,
    one_step,
    regress,
    resample,
    sysid,
)
from backemf.kits.frc.trials import TESTS, Trial, make_run


def test_everything_on_the_clock_of_the_input():
    run = Trial(
        test=TESTS[0],
        time=np.array([0.0, 1.0, 3.0, 4.0]),
        input=np.array([5.0, 6.0, 7.0, 8.0]),
        velocity_time=np.array([0.0, 2.0, 4.0]),
        velocity=np.array([0.0, 20.0, 60.0]),
        position_time=np.array([0.0, 4.0]),
        position=np.array([1.0, 9.0]),
    )
    rows = resample(run)
    assert rows.time.tolist() == [0.0, 1.0, 3.0]
    assert rows.input.tolist() == [5.0, 6.0, 7.0]
    assert rows.velocity.tolist() == [0.0, 10.0, 40.0]
    assert rows.position.tolist() == [1.0, 3.0, 7.0]
    assert rows.step.tolist() == [1.0, 2.0, 1.0]
    assert len(rows) == 3


def test_noise_is_the_scatter_about_a_mean_of_nine():
    x = np.random.default_rng(0).standard_normal(40)
    padded = np.concatenate([np.zeros(8), x])
    off = [x[i] - np.mean(padded[i + 4 : i + 13]) for i in range(36)]
    assert noise_floor(x) == pytest.approx(math.sqrt(np.mean(np.square(off))))


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (1, [3, 9, 1, 7, 5, 8]),
        # the first value stands before the first, the last one behind the last
        (3, [3, 3, 7, 5, 7, 8]),
        # of an even one the upper of the two in the middle
        (4, [3, 3, 7, 7, 7, 8]),
        # of a window of five the second value is never fed: 3 3 3 3 1, 3 3 3 1 7, 3 3 1 7 5, 3 1 7 5 8, ...
        (5, [3, 3, 3, 5, 7, 8]),
    ],
)
def test_the_median_as_the_tool_takes_it(window, expected):
    assert median_filter(np.array([3.0, 9, 1, 7, 5, 8]), window).tolist() == expected


def rows_of(v, u=None, t=None):
    v = np.asarray(v, float)
    t = 0.1 * np.arange(len(v)) if t is None else np.asarray(t, float)
    u = np.ones(len(v)) if u is None else np.asarray(u, float)
    run = make_run("dynamic-forward", t, u, np.zeros(len(v)), v)
    return run, resample(run)


def test_acceleration_by_central_differences_at_the_mean_step():
    _, rows = rows_of([2, 1, 4, 9, 16, 0], t=[0.0, 0.1, 0.3, 0.4, 1.4, 1.5])
    # of steps 0.1, 0.2, 0.1, 1.0, 0.1 the long one does not count: 0.125 on the mean
    a = differentiate(rows).acceleration
    assert a == pytest.approx(np.array([-1, 2, 8, 12, 0]) / 0.25)
    assert differentiate(rows).velocity.tolist() == rows.velocity.tolist()


SLOW = 0.1 * np.arange(21)


def four(fast_v, fast_u):
    """The four tests: ramps whose velocity is the square of the time, and a step of its own."""
    runs = {}
    for test in TESTS:
        way = 1.0 if test.endswith("forward") else -1.0
        v, u = (SLOW**2, SLOW) if test.startswith("quasi") else (fast_v, fast_u)
        t = 0.1 * np.arange(len(v))
        runs[test] = make_run(test, t, way * np.asarray(u, float), 0 * t, way * np.asarray(v, float))
    return runs


V = [0, 0, 1, 5, 8, 9.5, 10.4, 11, 11.4, 11.7, 11.9, 12, 12]
U = [0, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6]


def test_a_step_is_cut_from_its_peak_to_nine_tenths_of_its_speed():
    """Central differences over 0.2 s: 0.5 / 0.2, 5, 7 (0.3 s, the peak), 4.5, 2.4, ..."""
    tests, delay = filter_trials(four(V, U), threshold=0.0)
    rows = tests["dynamic-forward"]
    # the input begins at 0.1 s, its peak is at 0.3 s; 8/10 of the peak, 28, is first exceeded there
    assert delay == pytest.approx(0.2)
    # from the peak: 10.4 and less are slower than 0.9 * 11.9 = 10.71; 11 is reached 0.4 s after the peak, and
    # the shortest way from input to peak, 0.2 s, is added
    assert rows.time == pytest.approx(0.1 * np.arange(3, 10))
    assert rows.velocity == pytest.approx(np.array(V[3:10]))  # as they were: nothing is filtered
    assert rows.acceleration == pytest.approx((np.array(V[4:11]) - np.array(V[2:9])) / 0.2)
    assert tests["dynamic-reverse"].velocity == pytest.approx(-rows.velocity)
    small = filter_trials(four(V, 0.1 * np.array(U)), threshold=0.0)  # any input acts
    assert (small[1], small[0]["dynamic-forward"].time.tolist()) == (delay, rows.time.tolist())


def test_a_delay_is_where_acceleration_first_exceeds_eight_tenths():
    early = [0, 0, 3.2, 6.4, 9, 10.4, 11, 11.4, 11.7, 11.9, 12, 12, 12]
    # differences 3.2, 6.4 (the peak), 5.8, 4.0 over 0.2 s; 3.2 is less than 0.8 * 6.4
    assert filter_trials(four(early, U))[1] == pytest.approx(0.1)
    early = [0, 0, 4.0, 5.5, 9, 10.4, 11, 11.4, 11.7, 11.9, 12, 12, 12]
    # 4.0, 5.5 (the peak), 5.0: four tenths and more, but 4.0 < 4.4
    assert filter_trials(four(early, U))[1] == pytest.approx(0.1)
    early = [0, 0.01, 4.6, 5.2, 10, 10.4, 11, 11.4, 11.7, 11.9, 12, 12, 12]
    # 4.6 (0.1 s), 5.2, 5.4 (the peak): 4.6 > 0.8 * 5.4, so that there is no delay; rows begin at the peak
    tests, delay = filter_trials(four(early, U))
    assert delay == pytest.approx(0.0)
    assert tests["dynamic-forward"].time[0] == pytest.approx(0.3)


def test_slow_tests_keep_what_moves_and_is_driven():
    tests, _ = filter_trials(four(V, U), threshold=0.3)
    rows = tests["quasistatic-forward"]
    kept = SLOW[:-1][SLOW[:-1] ** 2 >= 0.3]  # the last sample was spent on the last step
    assert rows.time == pytest.approx(kept[:-1])  # and acceleration is 0 at the end
    assert rows.velocity == pytest.approx(kept[:-1] ** 2)
    # without a threshold it is the smallest noise of the slow ones; at rest nothing is driven
    least = noise_floor(SLOW[:-1] ** 2)
    rows = filter_trials(four(V, U))[0]["quasistatic-reverse"]
    assert rows.time[0] == pytest.approx(SLOW[:-1][SLOW[:-1] ** 2 >= least][0])
    assert filter_trials(four(V, U), threshold=0.0)[0]["quasistatic-forward"].time[0] == pytest.approx(0.1)


def test_tests_with_nothing_in_them_are_refused():
    with pytest.raises(InvalidValue, match=r"quasistatic-forward has 2 samples in motion; .* at least 3"):
        filter_trials(four(V, U), threshold=3.2)  # 1.8^2 and 1.9^2
    with pytest.raises(InvalidValue, match=r"quasistatic-forward has 4 samples in motion; .* at least 5"):
        filter_trials(four(V, U), threshold=2.5, median=5)
    with pytest.raises(InvalidValue, match="dynamic-forward: the input is 0 throughout"):
        filter_trials(four(V, np.zeros(len(V))))
    with pytest.raises(InvalidValue, match="velocity never changes"):
        filter_trials(four(np.full(13, 5.0), U))
    with pytest.raises(MissingValue, match="an arm needs its position"):
        regress(np.ones(9), np.ones(9), np.ones(9), "arm")


def test_how_well_acceleration_is_explained():
    rng = np.random.default_rng(1)
    v, u, off = rng.standard_normal((3, 30))
    a = 4 * u - 6 * v - 0.5 * np.sign(v) + off
    for mechanism, more in (("simple", []), ("elevator", [np.ones(30)])):
        X = np.stack([v, u, np.sign(v), *more], axis=1)
        b = np.linalg.solve(X.T @ X, X.T @ a)
        gains, r2 = regress(v, u, a, mechanism)
        assert gains["kA"] == pytest.approx(1 / b[1])
        assert gains["kV"] == pytest.approx(-b[0] / b[1])
        assert gains["kS"] == pytest.approx(-b[2] / b[1])
        # the scatter that is left over the scatter, each over its degrees of freedom
        left, all_ = np.sum((a - X @ b) ** 2) / (30 - len(b)), np.var(a, ddof=1)
        assert r2 == pytest.approx(1 - left / all_, rel=1e-9)


def test_from_each_sample_to_the_next():
    """A mechanism stepped forward is found again to the last digit, with all samples at or above a speed."""
    kS, kV, kA, h = 0.2, 1.5, 0.3, 0.01
    v, u = [0.5], np.array([2.0 + math.sin(k / 9) for k in range(200)])
    for k in range(199):
        v.append(v[-1] + h * (u[k] - kS - kV * v[-1]) / kA)
    v = np.array(v)
    t = h * np.arange(200)
    runs = [make_run(TESTS[2], t, u, 0 * t, v), make_run(TESTS[3], t, -u, 0 * t, -v)]
    found = one_step(runs, threshold=1.0)
    assert found.gains == pytest.approx({"kS": kS, "kV": kV, "kA": kA}, rel=1e-6)
    assert found.r2 == pytest.approx(1.0)
    assert found.n == 2 * np.sum(v[:-1] >= 1.0)
    limit = np.sort(v[:-1])
    assert one_step(runs, threshold=float(limit[-3])).n == 6
    with pytest.raises(InvalidValue, match="4 samples are as fast as the threshold"):
        one_step(runs, threshold=float(limit[-2]))


def test_the_whole_way_filters_nothing_unless_asked():
    runs = list(four([*V[:6], 11.5, *V[7:]], U).values())  # one sample sticks out
    plain = sysid(runs)
    assert plain == sysid(runs, median=1)
    assert plain.gains != sysid(runs, median=3).gains
    tests, delay = filter_trials({run.test: run for run in runs})
    assert (plain.n, plain.delay) == (sum(map(len, tests.values())), delay)
    assert isinstance(tests["dynamic-forward"], ResampledTrial)
    late = [make_run(r.test, r.time, 2 * r.input, r.position, r.velocity, part="right") for r in runs]
    left = [make_run(r.test, r.time, r.input, r.position, r.velocity, part="left") for r in runs]
    assert sysid([*late, *left]).n == 2 * plain.n
    with pytest.raises(InvalidValue, match="mechanism is 'crane'"):
        sysid(runs, "crane")
