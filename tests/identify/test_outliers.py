"""The log that does not belong to the others: where plateaus jump, which logs are asked, who is named."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.identify import bench_numbers, outliers
from backemf.identify.causes import move_commands
from backemf.identify.optimize import levenberg_marquardt
from backemf.identify.outliers import Explanation, LogLeftOut, jump_places
from backemf.identify.parameters import free
from backemf.identify.problem import problem

from .recordings import SERVO, record, with_values


@pytest.mark.parametrize("seed", range(4))
def test_a_split_saves_what_the_variances_of_its_parts_do_not_have(seed):
    e = np.random.default_rng(seed).normal(size=47) + np.repeat([0.0, seed], [20, 27])
    saved = {k: e.var() * 47 - e[:k].var() * k - e[k:].var() * (47 - k) for k in range(15, 33)}
    best = max(saved, key=lambda k: saved[k])
    assert outliers._best_split(e) == (pytest.approx(saved[best]), best)
    assert outliers._best_split(e[:29]) == (0.0, 0)


@pytest.mark.parametrize(("share", "places"), [(0.55, [60]), (0.45, [])])
def test_a_jump_takes_half_of_what_is_left(share, places):
    """Of a step of d between halves, d^2 / 4 of the variance, beside a noise of 1; the largest come first."""
    step = 2.0 * np.sqrt(share / (1 - share))
    assert jump_places(np.tile([1.0, -1.0], 60) + np.repeat([0.0, step], 60), 4) == places
    levels = np.repeat([0.0, 8.0, 100.0, 110.0], 20)
    assert [jump_places(levels, most) for most in (1, 2, 3)] == [[40], [40, 60], [20, 40, 60]]


@pytest.mark.parametrize(("jump", "seen"), [(0.32, True), (0.27, False)])
def test_counts_that_were_lost_explain_plateaus(jump, seen):
    """Three times the noise; what is left is about the levels between the jumps."""
    error = 0.05 * np.tile([1.0, -1.0], 60) + np.repeat([0.0, jump, jump + 0.2], 40)
    logs = [None, SimpleNamespace(log=SimpleNamespace(time=2.0 + 0.01 * np.arange(122)))]
    p: Any = SimpleNamespace(outputs=("current", "position"), sigma_noise=np.array([9.0, 0.1]), logs=logs)
    p.position_errors = lambda x: [None, np.r_[np.nan, np.nan, error]]
    found = outliers._lost_counts(p, np.zeros(1), 1)
    assert (found is not None) is seen
    if found is not None:
        assert found[3:] == pytest.approx((0.5, jump))
        assert "lost counts 2 times, first at 2.42 s, by up to 0.32 rad" in found.words


def test_which_logs_are_tried():
    """All of six; of more the two that are followed worst, and four of the others from first to last."""
    assert outliers._tried_places(np.arange(6.0)) == [*range(6)]
    scatter = np.array([1.0, 9.0, 2.0, 1.0, 3.0, 2.0, 8.0, 1.0, 1.0, 2.0, 1.0, 1.0])
    assert outliers._tried_places(scatter) == [0, 1, 4, 6, 8, 11]


ODD = {
    # errors of each log, of the others without it, of the odd one by itself then: which is named
    "one, clearly": ([1.0, 9.0, 1.0], [5.0, 1.0, 5.0], 4.0, 1),
    "too few logs": ([1.0, 9.0], [5.0, 1.0], 9.0, None),
    "all near the noise": ([1.0, 1.9, 1.0], [5.0, 1.0, 5.0], 9.0, None),
    "one beyond it": ([1.0, 2.2, 1.0], [5.0, 1.0, 5.0], 9.0, 1),
    "followed without the others too": ([1.0, 9.0, 1.0], [5.0, 1.0, 5.0], 2.7, None),
    "just not": ([1.0, 9.0, 1.0], [5.0, 1.0, 5.0], 3.3, 1),
    "others below the noise count as at it": ([1.0, 9.0, 1.0], [5.0, 0.5, 5.0], 2.0, None),
    "the others stay unexplained": ([2.0, 9.0, 3.5], [5.0, 1.9, 5.0], 9.0, None),
    "they gain by half": ([2.0, 9.0, 4.0], [5.0, 1.9, 5.0], 9.0, 1),
    "noise explains them": ([2.0, 9.0, 2.0], [5.0, 1.4, 5.0], 9.0, 1),
    "it does not": ([2.0, 9.0, 2.0], [5.0, 1.6, 5.0], 9.0, None),
    "without another it is nearly as good": ([1.0, 9.0, 1.0], [1.2, 1.0, 5.0], 9.0, None),
    "not as good": ([1.0, 9.0, 1.0], [1.3, 1.0, 5.0], 9.0, 1),
    "only from the start again": ([2.0, 9.0, 3.5], [5.0, 1.0j, 5.0], 9.0, 1),
}


@pytest.mark.parametrize("row", ODD)
def test_the_log_that_is_named(row, monkeypatch):
    """Imaginary: what only a search from the start comes to; from the others' numbers it stays at 3."""
    scatter, without, own, named = ODD[row]

    def leave(p: Any, x: Any, k: int, robust: float, stages: Any = None) -> LogLeftOut:
        found = complex(without[k])
        return LogLeftOut(k, x, own, found.real or (found.imag if stages else 3.0))

    monkeypatch.setattr(outliers, "_scatter", lambda p, x: np.array(scatter))
    monkeypatch.setattr(outliers, "part_of", lambda p, places: (p, [*range(len(places))]))
    monkeypatch.setattr(outliers, "_leave_out", leave)
    monkeypatch.setattr(outliers, "_name_log", lambda p, odd: odd.place)
    p: Any = SimpleNamespace(first=None)
    assert outliers.odd_log(p, np.zeros(len(scatter)), 1.0) == named


WORDS = ("mass", "length", "supply", "inertia")
EXPLAINED = [
    # what one thing each leaves, what numbers of its own would, by itself: how many are named
    ([1.2, 9.0], 1.0, 50.0, 1),
    ([1.6, 9.0], 1.0, 20.0, 0),
    ([1.2, 1.37, 1.4], 1.0, 50.0, 2),  # within 15 %
    ([2.9, 9.0], 4.0, 50.0, 1),  # a seventeenth of its error
    ([3.1, 9.0], 4.0, 50.0, 0),
    ([2.9, 9.0], 2.8, 50.0, 0),  # another servo explains more
    ([1.0, 1.01, 1.02, 1.03], 1.0, 50.0, 3),
]


@pytest.mark.parametrize(("errors", "other", "own", "n"), EXPLAINED)
def test_what_would_explain_it(errors, other, own, n, monkeypatch):
    rows = [
        Explanation(f"wrong_{word}", f"the {word}", f"mend {word}", error, 2.0 * error)
        for word, error in zip(WORDS, errors, strict=False)
    ]
    monkeypatch.setattr(outliers, "_explanations", lambda p, odd: iter(rows[::-1]))
    monkeypatch.setattr(outliers, "_settle_alone", lambda *given: SimpleNamespace(error=other))
    logs = [SimpleNamespace(log=SimpleNamespace(name=name)) for name in ("another", "it")]
    p: Any = SimpleNamespace(logs=logs, actuator=SERVO, actuator_at=lambda x: SERVO)
    said, named = outliers._name_log(p, LogLeftOut(1, np.zeros(1), own, 0.8)), WORDS[:n]
    shifts = {word: 2.0 * error for word, error in zip(named, errors, strict=False)}
    assert said.numbers == {"own": own, "others": 0.8, **shifts}
    assert (said.code, said.logs) == (f"wrong_{named[0]}" if named else "foreign_log", ("it",))
    assert said.text.startswith("it does not belong to the others: they are followed to 0.8 times")
    assert said.remedy == ("; or ".join(f"mend {c}" for c in named) or "leave it out, or fit it by itself")


def moved(log: be.Log, by: Any) -> be.Log:
    return with_values(log, **{name: log[name] + by for name in ("position", "position_target")})


PLANTED = {
    # what is done to one log of three: what is named, with the number that mends it
    "nothing": (lambda log: log, None, 0.0),
    "counts are lost": (lambda log: with_values(log, position=log["position"] + 0.3 * (log.time > 0.75)),
                        "lost_counts", 0.3),
    "its command is stamped late": (lambda log: move_commands(log, shift=0.015), "delay", -0.015),
    "by a clock that runs slowly": (lambda log: move_commands(log, drift=0.04), "clock_drift", -0.04),
    "it hangs elsewhere": (lambda log: moved(log, 0.2), "mounting_angle", 0.2),
    "its gain was another": (lambda log: replace(log, settings={"drive.proportional": 24.0}),
                             "wrong_firmware_gain", 16.0 / 24.0),
    "its mass is stated twice as large": (  # for which the others leave room: each load is free by itself
        lambda log: replace(log, bench=replace(log.bench, mass=0.6)), "wrong_mass", 0.5),
}  # fmt: skip


@pytest.mark.parametrize("row", PLANTED)
def test_what_is_planted_in_one_log_is_named(row):
    spoil, code, number = PLANTED[row]
    logs = [record(k, duration=1.5, gain=8.0 * (k + 1)) for k in range(3)]
    logs[1] = spoil(logs[1])
    paths = ["friction.coulomb", "friction.viscous"]
    beside = bench_numbers.within_tolerance(SERVO, logs, paths)
    p = problem(SERVO, logs, free(SERVO, paths).with_(beside), free_starts=True)
    end = levenberg_marquardt(p, p.first, most=20)
    found = outliers.diagnose(p, end.x, np.inf)
    assert [(f.code, f.logs) for f in found] == ([(code, ("log 1",))] if code else [])
    for f in found:
        *errors, value = f.numbers.values()
        assert value == pytest.approx(number, rel=0.02)
        assert code == "wrong_mass" or (errors[0] > 15.0 and errors[1] < 1.6)
