"""What recordings say of the next one, where algebra knows it: each has a place on a line, said a hundred
times, and the place of all is the one number."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

from backemf.identify import calibrate
from backemf.identify.calibrate import NextRecording, shares_of
from backemf.identify.parameters import FreeParameters, Parameter
from backemf.identify.uncertainty import LogEffects

from .linear import numbers

N = 100
WIGGLE = 0.3 * np.tile([1.0, -1.0], N // 2)
PLACES = np.array([0.2, -0.3, 0.5, -0.1, 0.4, -0.7])


class Places:
    """As much of a problem as its logs and errors."""

    def __init__(self, places: Any, joints: Any = None) -> None:
        self.places, self.free, self.fixed = np.asarray(places, float), numbers(1), {}
        self.of = joints or [""] * len(places)
        self.joints = tuple(dict.fromkeys(self.of))
        log = {"log": SimpleNamespace(time=0.01 * np.arange(N)), "samples": slice(None), "recording": ""}
        rows = zip(self.places, self.of, strict=True)
        self.logs = [SimpleNamespace(measured=(at + WIGGLE)[:, None], joint=j, **log) for at, j in rows]

    def places_of(self, joint: str) -> list[int]:
        return [k for k, one in enumerate(self.of) if one == joint]

    def values(self, x: np.ndarray) -> dict[str, float]:
        return {"a": x[0]}

    def predictions(self, x: np.ndarray) -> list[np.ndarray]:
        return [np.full(N, x[0]) for _ in self.logs]

    def position_errors(self, x: np.ndarray) -> list[np.ndarray]:
        return [x[0] - one.measured[:, 0] for one in self.logs]

    def costs(self, X: Any, robust: float) -> np.ndarray:
        return np.array([0.5 * np.sum(np.square(self.position_errors(x))) for x in X])


def part(p: Places, keep: list[int]) -> tuple[Places, list[int]]:
    return Places(p.places[list(keep)], [p.of[k] for k in keep]), [0]


@pytest.fixture(autouse=True)
def lines(monkeypatch):
    """A search among lines ends at their mean."""

    def found(p, x, **how):
        return SimpleNamespace(x=np.array([p.places.mean()]))

    monkeypatch.setattr(calibrate, "levenberg_marquardt", found)
    monkeypatch.setattr(calibrate, "part_of", part)


def recordings(places: Any = PLACES, units: Any = None, joints: Any = None, H: float = N) -> Any:
    """Each with a curvature of so much."""
    p, n, x = Places(places, joints), len(places), np.array([np.mean(places)])
    effects = LogEffects(np.array([[H * n]]), [np.array([[H]])] * n, N * (x - p.places)[:, None])
    named: Any = [*range(n)] if units is None else [*units]
    return NextRecording(p, x, effects, np.array([[0.01]]), named, [0], [], np.inf)


@pytest.mark.parametrize("without", [(), (1,), (0, 4)])
def test_the_next_of_several_spreads_as_they_do_about_their_mean(without):
    """Textbook: a further draw of which n were seen has a variance of (1 + 1 / n) s^2; logs of one recording
    speak with one voice, and one alone says nothing of the next."""
    left = np.delete(PLACES, without)
    s2 = np.sum((left - PLACES.mean()) ** 2) / (len(left) - 1)
    assert recordings().covariance(without)[0, 0] == pytest.approx(0.01 + (1 + 1 / len(left)) * s2)
    twice = recordings(np.repeat(PLACES, 2), units=np.repeat(np.arange(6), 2))
    assert twice.covariance() == pytest.approx(recordings().covariance())
    assert recordings(PLACES[:1]).covariance()[0, 0] == 0.01


def test_what_is_held_is_known_in_all_draws():
    """The covariance of some where others are known is the inverse of their part of the inverse."""
    half = np.random.default_rng(0).normal(size=(4, 6))
    effects, p = LogEffects(np.eye(4), [np.eye(4)], np.zeros((1, 4))), Places([0.0])
    one = NextRecording(p, np.zeros(4), effects, half @ half.T, [0], [0, 2], [1, 3], np.inf)
    expected = np.linalg.inv(np.linalg.inv(half @ half.T)[np.ix_([0, 2], [0, 2])])
    assert one.covariance() == pytest.approx(expected)
    drawn = one.draws(20_000, 3)
    assert np.cov(drawn[:, [0, 2]].T) == pytest.approx(expected, abs=0.05 * np.max(expected))
    assert not drawn[:, [1, 3]].any()


@pytest.mark.parametrize(("n", "H", "share"), [(8, N, 1), (8, 2 * N, 0.5), (6, 2 * N, 1), (8, 0.3 * N, 1)])
def test_the_optimum_without_some_is_the_mean_of_the_others(n, H, share):
    """By one step, as long as the curvature says; by search where that leads astray, or of few."""
    places = np.resize(PLACES, n) + 0.1 * np.arange(n)
    one, left = recordings(places, H=H), np.delete(places, [1, 5]).mean()
    assert one.optimum_without([1, 5])[0] == pytest.approx(places.mean() + share * (left - places.mean()))
    folds = [[k, k + n // 2] for k in range(n // 2)]
    for k, error in enumerate(one.errors_left_out(folds)):
        assert error == pytest.approx(one.optimum_without(folds[k % (n // 2)])[0] - places[k] - WIGGLE)


@pytest.mark.parametrize("move", [0.5, 0.53, -1.0, 100.0])
def test_a_draw_goes_as_far_as_twice_the_error(move):
    """Errors of 0.3 r.m.s. and a move of a: sqrt(0.09 + a^2), drawn nearer by 0.7 until that is 0.6; of
    joints to either side of the middle, one is off by (0.3 + a)^2 + 0.09, of 0.18 at first."""
    nearer = 0.7 ** np.ceil(max(np.log(abs(move) / np.sqrt(0.27)) / np.log(1 / 0.7), 0.0))
    one, moved = recordings(np.zeros(4)), np.array([[move], [0.1]])
    assert shares_of(one, moved) == pytest.approx([nearer, 1.0])
    assert shares_of(one, moved, begin=np.array([1.0, 0.4])) == pytest.approx([nearer, 0.4])
    apart = recordings([-0.3, 0.3], joints=["a", "b"])
    assert shares_of(apart, np.array([[0.6], [-0.6], [0.48]])) == pytest.approx([0.7, 0.7, 1.0])


def test_which_recordings_are_left_out_and_which_followed():
    """In six parts at most; draws are held against the first, the last and one between of those left."""
    folds, groups, words = calibrate._groups_left_out(list("abcdefghaa"), ["x"] * 6 + ["y"] * 4)
    assert folds == groups == [[0, 6, 8, 9], [1, 7], [2], [3], [4], [5]]
    assert words == "8 recordings, in 6 parts"
    units, few = list("aabbccddee"), calibrate._places_held_against
    assert [few(units, set()), few(units, {0, 1})] == [[*range(10)], [2, 3, 6, 7, 8, 9]]
    assert few(units[:8], {0, 1}) == [2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("rigs", ["aabbaa", "aabbcc"])
def test_what_is_said_of_the_next_is_what_the_others_say_of_each_left_out(rigs):
    """Errors of all samples over what was stated for them: how draws without them spread, and what no number
    explains of the others."""
    one, by_rig = recordings(4.0 * PLACES), rigs == "aabbcc"

    def share_left(free):
        return np.array([0.1])

    told: Any = SimpleNamespace(effects=one.effects, if_right=one.if_right, share_left=share_left)
    found = calibrate.variation_of(one.p, one.x, told, list(rigs), seed=5)
    shares = shares_of(one, moved := one.draws(24, 5))
    assert found.members == pytest.approx(shares[:, None] * moved)
    assert found.n_shrunk == np.sum(shares < 1.0) > 0
    off = np.abs(one.errors_left_out([[k] for k in range(6)]))
    assert found.floor[""] == pytest.approx(np.quantile(off, 0.68))
    ratios, rows = [], []
    for group in [[0, 1], [2, 3], [4, 5]] if by_rig else [[k] for k in range(6)]:
        draws = one.draws(24, 5, group)
        low, high = np.quantile(draws * shares_of(one, draws, group, shares)[:, None], (0.16, 0.84))
        others = np.quantile(np.delete(off, group, axis=0), 0.68)
        stated = np.hypot(0.5 * (high - low), others)
        errors = one.optimum_without(group)[0] - one.p.places[group, None] - WIGGLE
        ratios.append(np.abs(errors) / stated)
        rows += [(np.mean(np.abs(e)) / stated, np.sqrt(np.mean(e**2)) / stated) for e in errors]
    n, within = len(ratios), [np.quantile(one, 0.95) for one in ratios]
    usual = np.quantile(np.concatenate(ratios), 0.95) * student.ppf(0.975, 4 * n) / 1.96
    assert (found.usual, found.factor) == pytest.approx((usual, max(within) if by_rig else usual))
    said = (found.mean_absolute, found.root_mean_square)
    assert said == pytest.approx(np.sqrt(1 + 1 / n) * np.exp(np.mean(np.log(rows), axis=0)))
    assert found.left_out == ("3 rigs, one at a time" if by_rig else "6 recordings, in 6 parts")
    assert (found.n_left_out, found.held, found.slow) == (n, (), pytest.approx(0.01))  # over after a sample
    assert [(one.path, one.x, one.signed) for one in found.numbers] == [("a", one.x[0], True)]


@pytest.mark.parametrize(("n", "slow"), [(400, 0.2), (2, 0.0)])
def test_how_long_an_error_lasts(n, slow):
    """An exponential of 0.2 s; too few errors last no time."""
    t = 0.02 * np.arange(n)
    lasts = calibrate._time_alike(np.r_[np.nan, np.exp(-t / 0.2)], np.r_[-0.02, t])
    assert lasts == pytest.approx(slow, abs=0.021)


@pytest.mark.parametrize(("angles", "spread"), [([0.1, 0.3], 0.2 * np.sqrt(0.75)), ([0.2], 0.05)])
def test_a_mounting_that_no_other_log_has_hangs_as_the_others_do(angles, spread):
    """At their mean; draws spread by sd sqrt(1 + 1 / n), or by the tolerance where there is one other."""
    n = len(angles)
    how: Any = {"start": 0.0, "unit": "rad", "low": -1.0, "high": 1.0, "prior": (0.0, 0.05), "signed": 0.1}
    rows = [Parameter(path="bench.hanging", logs=(k,), group=f"{k}", **how) for k in range(n + 1)]
    one, x, moved = recordings(), np.array([*angles, 9.0]), np.full((4000, n + 1), 0.7)
    one.p.free = FreeParameters(tuple(rows))
    hung, drawn = calibrate._hang_anew(one, x, moved, {n}, 3)
    assert (hung.tolist(), x[n]) == (pytest.approx([*angles, 0.2]), 9.0)
    assert (drawn[:, :n] == 0.7).all()
    assert (drawn[:, n].mean(), drawn[:, n].std()) == pytest.approx((0.0, spread), rel=0.05, abs=0.01)
    assert calibrate._hang_anew(one, x, moved, set(), 3)[0] is x
