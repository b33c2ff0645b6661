"""Errors of a fit against sums taken by hand: noise, what stays alike, and recordings that disagree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import fractional_matrix_power
from scipy.stats import chi2, t as student

import backemf as be
from backemf.identify.parameters import FreeParameters
from backemf.identify.uncertainty import (
    _at_least,
    _of_logs,
    _pull,
    _root,
    _short_sample,
    correlation_length,
    correlation_time,
    inverse,
    uncertainty,
)
from backemf.statistics import autocorrelation, lag_alike, long_run

from .linear import Logs, numbers


def positive(seed: int, n: int = 3) -> np.ndarray:
    """A positive matrix whose numbers are of very different sizes."""
    rng = np.random.default_rng(seed)
    half, scale = rng.normal(size=(n, n + 2)), np.diag(10.0 ** rng.uniform(-3, 3, n))
    return scale @ half @ half.T @ scale


def plain_autocorrelation(e: np.ndarray, lag: int) -> float:
    e = e - e.mean()
    return float(np.sum(e[lag:] * e[: len(e) - lag]) / np.sum(e * e))


ALTERNATING = np.tile([1.0, -1.0], 30)
SLOW = np.sin(2 * np.pi * np.arange(400) / 400)


@pytest.mark.parametrize(
    ("errors", "length"),
    [
        (np.arange(19.0), 1),  # too few to say
        (np.arange(20.0), 2),  # a tenth of them at most
        (SLOW, 40),
        (ALTERNATING, 1),
        (np.zeros(60), 1),
        (np.repeat(np.tile([1.0, -1.0], 30), 5), 3),  # five alike: 1, 0.6, 0.2, -0.2 of the first
    ],
    ids=["few", "just enough", "slow", "alternating", "none", "in fives"],
)
def test_how_long_errors_stay_alike(errors, length):
    assert correlation_length(errors) == length


@pytest.mark.parametrize("errors", [SLOW, np.repeat(np.tile([1.0, -1.0], 30), 5)])
def test_how_many_samples_count_as_one(errors):
    """1 and twice the autocorrelations, as far as errors are alike."""
    alike = [plain_autocorrelation(errors, lag) for lag in range(1, correlation_length(errors))]
    assert len(alike) >= 2
    assert correlation_time(errors) == pytest.approx(1 + 2 * sum(alike))


@pytest.mark.parametrize("errors", [ALTERNATING, np.arange(12.0), np.zeros(60)])
def test_independent_errors_count_one_by_one(errors):
    assert correlation_time(errors) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_a_root_times_itself_is_the_matrix(seed):
    A = positive(seed)
    L = _root(A)
    scale = np.sqrt(np.diag(A))
    assert L @ L.T / np.outer(scale, scale) == pytest.approx(A / np.outer(scale, scale), abs=1e-8)
    assert pytest.approx(np.tril(L)) == L


@pytest.mark.parametrize("size", [1.0, 1e12])
def test_a_singular_matrix_has_a_root_too(size):
    L = _root(size * np.ones((2, 2)))
    assert L @ L.T / size == pytest.approx(np.ones((2, 2)), abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_a_pull_is_corrected_by_half_of_what_the_group_hides(seed):
    """The inverse root of what the others leave; its chi^2 by the covariance that a group's score has at the
    common optimum, H_g - H_g A^-1 H_g."""
    whole, score = positive(seed), np.random.default_rng(seed).normal(size=3)
    half = np.linalg.cholesky(whole)
    share = 0.6 * half @ np.diag([0.9, 0.5, 0.1]) @ half.T
    left = np.linalg.solve(half, np.linalg.solve(half, whole - share).T)
    expected = np.linalg.solve(half.T, fractional_matrix_power(left, -0.5) @ np.linalg.solve(half, score))
    pull = _pull(_root(whole), share, score)
    assert pull.move == pytest.approx(expected, rel=1e-6)
    spread = share - share @ np.linalg.solve(whole, share)
    assert pull.chi2 == pytest.approx(score @ np.linalg.solve(spread, score), rel=1e-5)
    assert pull.directions == 3


def test_a_group_that_is_everything_pulls_ten_times_at_most():
    A, score = np.diag([4.0, 9.0]), np.array([1.0, 2.0])
    assert _pull(_root(A), A, score).move == pytest.approx(10.0 * score / np.diag(A), rel=1e-6)


def test_a_group_tells_nothing_in_a_direction_that_it_does_not_see():
    pull = _pull(_root(np.diag([4.0, 9.0])), np.diag([2.0, 0.0]), np.array([1.0, 0.0]))
    assert pull.directions == 1
    assert pull.chi2 == pytest.approx(1.0)  # 1 / (2 - 2 * 2 / 4)


@pytest.mark.parametrize("seed", range(3))
def test_the_larger_of_two_covariances_direction_by_direction(seed):
    rng = np.random.default_rng(seed)
    T = np.diag([1e-3, 1.0, 1e3]) @ rng.normal(size=(3, 3))
    A, B = T @ np.diag([0.2, 1.5, 4.0]) @ T.T, T @ T.T
    size = np.sqrt(np.outer(np.diag(A + B), np.diag(A + B)))
    raised = T @ np.diag([1.0, 1.5, 4.0]) @ T.T
    assert _at_least(A, B) / size == pytest.approx(raised / size, abs=1e-9)


def test_where_nothing_is_asked_nothing_is_raised():
    """In a direction in which the least is 0 the covariance counts as 0 too."""
    one = np.ones((2, 2))
    assert _at_least(0.25 * one, one) == pytest.approx(one)
    assert _at_least(4.0 * one, one) == pytest.approx(4.0 * one)


@pytest.mark.parametrize("seed", range(3))
def test_inverses_of_badly_scaled_matrices(seed):
    A = positive(seed)
    assert inverse(A) @ A == pytest.approx(np.eye(3), abs=1e-6)


def test_an_inverse_has_no_negative_variance():
    a = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-15]])
    assert np.all(np.diag(inverse(a)) > 1e10)  # nothing is known of either
    with pytest.raises(be.BackemfError, match="no errors can be stated"):
        inverse(np.array([[1.0, np.nan], [np.nan, 1.0]]))


def two_logs() -> Logs:
    rng = np.random.default_rng(3)
    y = [rng.normal(size=(n, 2)) for n in (30, 50)]
    y[0][[3, 7], 0] = np.nan
    return Logs([(rng.normal(size=(len(one), 2, 2)), one) for one in y], numbers(2, error=[0.5, 2.0]))


def bartlett(steps: np.ndarray, window: int) -> np.ndarray:
    """Newey and West's sum, pair by pair."""
    total = np.zeros((steps.shape[1], steps.shape[1]))
    for a in range(len(steps)):
        for b in range(len(steps)):
            total += max(1 - abs(a - b) / (window + 1), 0.0) * np.outer(steps[a], steps[b])
    return total


@pytest.mark.parametrize("robust", [np.inf, 0.8])
def test_sums_by_log(robust):
    """Curvature, score and the score's covariance of each log, sample by sample; what was not measured does
    not count, and beyond `robust` an error counts as much as one there."""
    p, x = two_logs(), np.array([0.3, -0.2])
    H, belief, scores, meats, mean_square, share = _of_logs(p, x, robust)
    assert not belief.any()  # no start is free
    errors, tangents = p.sensitivities(x)
    squares, shares = 0.0, []
    for k, (begin, end) in enumerate(((0, 30), (30, 80))):
        curvature, steps = np.zeros((2, 2)), np.zeros((end - begin, 2))
        for i in range(begin, end):
            for o in range(2):
                r, J = errors[i, o], tangents[i, o]
                if np.isfinite(r):
                    weight = 1.0 if abs(r) <= robust else robust / abs(r)
                    curvature += weight * np.outer(J, J)
                    steps[i - begin] += weight * r * J
                    squares += weight * r * r
        window = 3 * correlation_length(np.nan_to_num(errors[begin:end, 0]))
        shares.append(window / (end - begin))
        assert H[k] == pytest.approx(curvature)
        assert scores[k] == pytest.approx(steps.sum(axis=0))
        assert meats[k] == pytest.approx(bartlett(steps, window))
    assert mean_square == pytest.approx(
        squares / (160 - 2 - 2)
    )  # errors less those not measured, and numbers
    assert share == pytest.approx(np.median(shares))


def test_errors_if_the_model_is_right():
    """The sandwich of noise that may be correlated, never less than independent noise, and of the prior."""
    p, x = two_logs(), np.array([0.1, 0.1])
    H, _, _, meats, mean_square, share = _of_logs(p, x, np.inf)
    P = np.diag([4.0, 0.25])
    bread = np.linalg.inv(H.sum(axis=0) + P)
    meat = _at_least(meats.sum(axis=0) * _short_sample(share) ** 2, mean_square * H.sum(axis=0))
    told = uncertainty(p, x)
    assert told.if_right == pytest.approx(bread @ (meat + P) @ bread)
    assert told.covariance == pytest.approx(told.if_right)  # both logs agree within their noise
    assert told.positive
    assert told.scatter == pytest.approx(np.sqrt(mean_square))


def disagreeing(places: np.ndarray, free: FreeParameters | None = None) -> Logs:
    """Logs of 40 samples that put the same number at different places, and hardly any noise."""
    wiggle = 1e-3 * np.tile([1.0, -1.0], 20)
    return Logs([(np.ones((40, 1)), place + wiggle) for place in places], free)


PLACES = np.array([0.2, -0.3, 0.5, -0.1, 0.4, -0.7])


def wide(n: int) -> float:
    """How much further than 1.96 an interval reaches, squared, where n groups say how much they disagree."""
    return float(student.ppf(0.975, n - 1) / 1.96) ** 2


@pytest.mark.parametrize("robust", [np.inf, 1e6])
@pytest.mark.parametrize("n", [2, 3, 6])
def test_logs_that_disagree_say_how_sure_their_mean_is(robust, n):
    """sum d^2 / (n - 1)^2 with half of each log's own weight taken away, and as far as Student's t with n - 1
    degrees of freedom reaches where the model misses something, from two logs on."""
    places = PLACES[:n]
    told = uncertainty(disagreeing(places), np.array([places.mean()]), robust=robust)
    expected = float(np.sum((places - places.mean()) ** 2)) / (n - 1) ** 2
    expected *= 1.0 if robust == np.inf else wide(n)
    assert told.covariance[0, 0] == pytest.approx(expected, rel=1e-3)
    assert told.if_right[0, 0] < 0.1 * expected


@pytest.mark.parametrize("n", [2, 3, 8])
def test_intervals_of_a_mean_over_few_logs_hold(n):
    """95 % of 400, within two standard deviations of that count, whatever the number of logs."""
    rng, inside = np.random.default_rng(n), 0
    for places in rng.normal(size=(400, n)):
        told = uncertainty(disagreeing(places), np.array([places.mean()]), robust=1e6)
        inside += abs(places.mean()) < 1.96 * np.sqrt(told.covariance[0, 0])
    assert 0.928 <= inside / 400 <= 0.972, inside


def test_rigs_that_disagree_count_as_one_voice_each():
    places = np.array([*PLACES, 0.6, -0.2])
    x, rigs = np.array([places.mean()]), ["a", "a", "b", "b", "c", "c", "d", "d"]
    pairs = places.reshape(4, 2).mean(axis=1)
    alike = np.repeat(pairs, 2)  # what a rig says it says twice
    by_rig = uncertainty(disagreeing(alike), x, groupings=(rigs,))
    d2 = float(np.sum((pairs - pairs.mean()) ** 2))
    assert by_rig.covariance[0, 0] == pytest.approx(d2 / 3**2, rel=1e-3)
    # groups that agree take nothing back of what single logs say
    level = places - np.repeat(pairs, 2)
    both = uncertainty(disagreeing(level), np.zeros(1), groupings=(rigs,)).covariance[0, 0]
    assert both == pytest.approx(float(np.sum(level**2)) / 7**2, rel=1e-3)


@pytest.mark.parametrize("times", [0.8, 1.25])
def test_where_noise_explains_all_groups_disagree_beyond_chance_only(times):
    """Three logs whose means scatter by a little less or more than 99.9 % of what chance does."""
    wiggle = np.tile([1.0, -1.0], 20)
    places = np.array([-1.0, 0.0, 1.0]) * np.sqrt(chi2.ppf(0.999, 2) / 2 / 40 * times)
    p = Logs([(np.ones((40, 1)), place + wiggle) for place in places])
    errors, _ = p.sensitivities(np.zeros(1))
    p.sigma = np.array([np.sqrt(np.sum(errors**2) / (len(errors) - 1))])
    calm, missing = (uncertainty(p, np.zeros(1), robust=robust) for robust in (np.inf, 1e6))
    assert (calm.covariance[0, 0] > 1.01 * calm.if_right[0, 0]) == (times > 1)
    assert missing.covariance[0, 0] > 2 * missing.if_right[0, 0]  # where the model misses something, always


def test_a_curvature_that_is_none_gives_no_errors_but_the_prior():
    p = Logs([(np.ones((2, 1)), np.zeros(2))], numbers(1, error=0.3))
    p.bounded_sensitivities = lambda x: (np.zeros((2, 1)), np.array([[[np.nan]], [[1.0]]]))
    told = uncertainty(p, np.zeros(1))
    assert not told.positive
    assert told.covariance[0, 0] == pytest.approx(0.09)


def test_two_partings_of_as_many_groups_both_count():
    """By the first the groups agree, by the second they do not: equal numbers of groups are not equal
    groups."""
    pairs = np.array([0.5, -0.5, 0.4, -0.4])
    places, x = np.repeat(pairs, 2), np.zeros(1)
    differing = list("aabbccdd")
    agreeing = list("ababcdcd")  # each holds one of +0.5 and -0.5, or of +0.4 and -0.4
    one, both = (
        uncertainty(disagreeing(places), x, groupings=g) for g in ((differing,), (agreeing, differing))
    )
    assert both.covariance[0, 0] == pytest.approx(one.covariance[0, 0])
    assert (
        one.covariance[0, 0]
        > 1.5 * uncertainty(disagreeing(places), x, groupings=(agreeing,)).covariance[0, 0]
    )


def test_rigs_that_are_single_logs_say_nothing_more():
    x = np.array([PLACES.mean()])
    plain, grouped = (uncertainty(disagreeing(PLACES), x, groupings=g) for g in ((), (list("abcdef"),)))
    assert grouped.covariance == pytest.approx(plain.covariance)


def test_a_number_of_one_log_is_not_widened_by_how_logs_disagree():
    common, own = numbers(2, error=[1e9, 0.1]).parameters
    free = FreeParameters((common, replace(own, logs=(0,), group="first")))
    rows = []
    for k, place in enumerate(PLACES):
        J = np.zeros((40, 2))
        J[:, 0], J[:, 1] = 1.0, float(k == 0)
        rows.append((J, place + 1e-3 * np.tile([1.0, -1.0], 20)))
    told = uncertainty(Logs(rows, free), np.array([PLACES.mean(), 0.0]))
    assert told.covariance[1, 1] == pytest.approx(told.if_right[1, 1])
    assert told.covariance[0, 0] > 2 * told.if_right[0, 0]
    more = told.covariance - told.if_right  # in no direction less
    assert np.linalg.eigvalsh(more)[0] >= -1e-12 * np.trace(more)


def test_what_the_prior_holds_is_not_widened_with_what_the_data_tell():
    """The prior holds the number as well as the data of all logs do: what they disagree about moves it half
    as far, and the error that the prior leaves is added once."""
    places, n, H = 0.3 * PLACES, len(PLACES), 40.0 * len(PLACES)
    held = disagreeing(places, numbers(1, error=1 / np.sqrt(H), mean=places.mean()))
    told = uncertainty(held, np.array([places.mean()]))
    d2 = float(np.sum((places - places.mean()) ** 2))
    share = 0.5 / n  # of one log in the whole curvature
    moved = d2 * 0.25 / n**2 / (1 - share) * n / (n - 1)
    assert told.covariance[0, 0] == pytest.approx(moved + 0.25 / H, rel=1e-3)


def test_nobody_is_less_sure_than_before_the_data():
    """Two groups may lie any distance apart, and Student's t with one degree of freedom reaches 6.5 times as
    far: the prior is where that ends."""
    places = np.array([-1.0, 1.0])
    for error, known in ((0.5, True), (1e3, False)):
        told = uncertainty(disagreeing(places, numbers(1, error=error)), np.zeros(1), robust=1e6)
        sd = float(np.sqrt(told.covariance[0, 0]))
        assert sd == pytest.approx(error, rel=1e-6) if known else sd > 6.0
        assert told.if_right[0, 0] < 0.3 * told.covariance[0, 0]  # less, and left as it is


def test_what_stays_alike_counts_as_little_as_it_says():
    """Independent errors tell their mean as well as n of them do, and no better where they happen to
    alternate; an AR(1) of 0.8 has nine times that variance."""
    rng = np.random.default_rng(2)
    slow = rng.normal(size=6000)
    for k in range(1, len(slow)):
        slow[k] += 0.8 * slow[k - 1]
    slow /= slow.std()
    fast = np.tile([1.0, -1.0], 3000)
    alike, apart = (
        uncertainty(Logs([(np.ones((6000, 1)), e)]), np.array([e.mean()])).if_right[0, 0]
        for e in (slow, fast)
    )
    assert apart == pytest.approx(1 / 5999)
    assert 7 < alike / apart < 11


def test_logs_that_agree_widen_nothing():
    told = uncertainty(disagreeing(np.zeros(6)), np.zeros(1))
    assert told.covariance == pytest.approx(told.if_right)


def test_the_variance_of_a_mean():
    rng = np.random.default_rng(0)
    p = Logs([(np.ones((400, 1)), rng.normal(size=400)) for _ in range(5)])
    told = uncertainty(p, np.array([p.y.mean()]))
    assert told.if_right[0, 0] == pytest.approx(1 / 2000, rel=0.15)
    assert told.scatter == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(("share", "factor"), [(0.0, 1.0), (0.1, 1.1533), (0.5, 1.7758), (1.0, 2.4556)])
def test_few_samples_widen_as_kiefer_and_vogelsang_say(share, factor):
    assert _short_sample(share) == pytest.approx(factor, abs=2e-3)


def test_the_long_run_sum_of_errors_that_stay_alike():
    """An AR(1) of 0.8: its long-run variance is (1 + 0.8) / (1 - 0.8) times the plain one."""
    rng = np.random.default_rng(1)
    e = rng.normal(size=200_000)
    r = np.empty_like(e)
    r[0] = e[0]
    for k in range(1, len(e)):
        r[k] = 0.8 * r[k - 1] + e[k]
    plain = float(r @ r)
    assert long_run(r[:, None], 0)[0, 0] == pytest.approx(plain)
    assert long_run(r[:, None], 60)[0, 0] / plain == pytest.approx(9.0, rel=0.12)
    assert autocorrelation(r)[1] == pytest.approx(0.8, abs=0.01)
    assert 11 <= lag_alike(r) <= 16  # 0.8^13 = 0.055
    assert lag_alike(np.zeros(40)) == 1
    both = np.stack([r, -r], axis=1)
    V = long_run(both, 30)
    assert V[0, 1] == pytest.approx(-V[0, 0])
    assert V[0, 1] == V[1, 0]


def test_an_inverse_that_is_nearly_singular():
    A = np.diag([1e12, 1.0, 1e-12])
    A[0, 1] = A[1, 0] = 3e5
    np.testing.assert_allclose(inverse(A) @ A, np.eye(3), atol=1e-6)


def test_as_many_errors_as_numbers():
    """Nothing is left to tell their scatter from: they count as one."""
    p = Logs([(np.eye(2), np.array([1.0, 2.0]))])
    assert _of_logs(p, np.zeros(2), np.inf).scatter2 == pytest.approx(5.0)
