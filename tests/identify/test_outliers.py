"""The log that does not belong to the others: where plateaus jump, and what is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.identify import bench_numbers, outliers
from backemf.identify.causes import move_commands
from backemf.identify.optimize import levenberg_marquardt
from backemf.identify.outliers import jump_places
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
