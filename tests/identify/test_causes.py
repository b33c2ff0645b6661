"""Causes of what does not fit: what is strained, what freeing a number would save, and what is said."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.identify import causes
from backemf.identify.causes import (
    CAUSES,
    CauseTrial,
    _angles,
    _latency,
    _name_cause,
    _promise,
    _shift_words,
    _widen,
    likely,
    move_commands,
    strain,
)
from backemf.identify.parameters import FreeParameters, Parameter
from backemf.identify.search import bench_search

from .recordings import SERVO, record, steps


def number(path: str = "bench.mass", mean: float = 0.0, error: float = 0.1, **more: Any) -> Parameter:
    given = {"unit": "kg", "low": 1e-6, "high": 1e6, "stated": True, "beside": True} | more
    return Parameter(path=path, start=1.0, prior=(mean, error), **given)


def stub(*numbers: Parameter, values: Any = None) -> Any:
    """As much of a problem as its free numbers."""
    free = FreeParameters(numbers)
    return SimpleNamespace(free=free, values=lambda x: values or dict(zip(free.names, x, strict=True)))


def test_strain_is_what_stated_scales_had_to_give():
    p = stub(
        number("bench.mass"),
        number("motor.resistance", error=0.2, mean=1.0),
        number("bench.hanging", signed=0.1),  # sets no scale
        number("bench.length", stated=False),
    )
    x = np.array([0.3, 0.6, 9.0, 9.0])
    assert strain(p, x) == pytest.approx(0.5 * (3.0**2 + 2.0**2))


def test_a_number_is_freed_of_its_tolerance_and_nearly_all_that_gauges_have_in_common():
    gauges = [number("bench.supply_factor", group=g, alike=0.5) for g in "ab"]
    wide = _widen(stub(number(), *gauges), [1, 2]).parameters
    assert [q.prior[1] for q in wide] == pytest.approx([0.1, 4.0, 4.0])
    assert [q.alike for q in wide] == [0.0, 0.98, 0.98]
    assert _widen(stub(number()), [0]).parameters[0].alike == 0.0


@pytest.mark.parametrize("places", [[0], [1], [0, 1]])
def test_the_promise_is_what_freeing_saves_where_errors_are_linear(places):
    """Against the minimum of the quadratic, found anew with the wider prior."""
    rng = np.random.default_rng(1)
    J = rng.normal(size=(6, 2))
    H, p = J.T @ J, stub(number(), number("bench.length", error=0.3, mean=0.5))
    P, mean = p.free.precision, p.free.prior()[0]
    b = rng.normal(size=2) * 3
    x = np.linalg.solve(H + P, b + P @ mean)  # the optimum of 0.5 y H y - b y with the prior
    g = H @ x - b

    def least(Q: np.ndarray) -> float:
        y = np.linalg.solve(H + Q, b + Q @ mean)
        return float(0.5 * y @ H @ y - b @ y + 0.5 * (y - mean) @ Q @ (y - mean))

    saved = least(P) - least(_widen(p, places).precision)
    assert saved > 0
    promise, step = _promise(p, x, H, g, places)
    assert promise == pytest.approx(saved)
    Q = _widen(p, places).precision
    np.testing.assert_allclose(x + step, np.linalg.solve(H + Q, b + Q @ mean))


def test_how_far_a_number_moved_in_words():
    one = number(mean=math.log(0.3), error=0.01)
    assert _shift_words(one, 0.36) == "0.36 instead of 0.3 +- 0.003 kg"


def tried(k: int, saved: float = 9.0, shift: float = 1.2) -> CauseTrial:
    cause = CAUSES[k]
    return CauseTrial(cause, saved, f"{cause.words}: 2 instead of 1", shift)


@pytest.mark.parametrize(
    ("saved", "named"),
    [
        ([9.0, 20.0, 17.1, 16.9], [20.0, 17.1]),  # odds of 20 to 1 tell causes apart
        ([1.9, 1.0], []),
        ([2.1, 1.9], [2.1]),
        ([9.0, 9.5, 8.5, 8.0], [9.5, 9.0, 8.5]),  # three at most
    ],
)
def test_causes_that_are_as_likely_as_the_best(saved, named):
    rows = [tried(k, value) for k, value in enumerate(saved)]
    assert [row.saved for row in likely(rows, 2.0)] == named
    assert likely([], 2.0) == []


def test_one_cause_is_named_alone_and_several_as_alike():
    alone = _name_cause([tried(0)])
    assert (alone.code, alone.numbers) == ("wrong_mass", {"mass": 1.2})
    assert alone.text.endswith("it would be the mass: 2 instead of 1.")
    assert alone.remedy == CAUSES[0].remedy
    both = _name_cause([tried(1, shift=1.1), tried(0), tried(6)])
    assert (both.code, both.numbers) == ("wrong_length", {"length": 1.1, "mass": 1.2, "supply": 1.2})
    assert both.text.endswith(
        "These logs cannot tell it from: the mass: 2 instead of 1; or the supply voltage: 2 instead of 1."
    )
    assert both.remedy == f"{CAUSES[1].remedy}. Otherwise {CAUSES[0].remedy}, or {CAUSES[6].remedy}"


@pytest.mark.parametrize(
    ("off", "changes", "said"),
    [
        (0.31, {}, True),
        (-0.31, {}, True),
        (0.29, {}, False),  # within three tolerances
        (0.31, {"beside": False}, False),  # the caller's own
        (0.31, {"stated": False}, False),
        (0.31, {"path": "bench.tilt"}, False),
    ],
)
def test_an_arm_that_hangs_elsewhere(off, changes, said):
    q = replace(number("bench.hanging", mean=0.2, signed=0.1, group="mass 0.3 kg"), **changes)
    findings = list(_angles(stub(q), np.array([0.2 + off])))
    assert [f.code for f in findings] == (["mounting_angle"] if said else [])
    for f in findings:
        assert f.numbers == {"hanging": pytest.approx(0.2 + off)}
        assert f.text.startswith(f"the arm hangs at {0.2 + off:.3g} rad (mass 0.3 kg), 3.1 tolerances")
        assert f.remedy.startswith("level the bench")
    whole = list(_angles(stub(number("bench.hanging", signed=0.1)), np.array([1.0])))
    assert whole[0].text.startswith("the arm hangs at 1 rad, 10 tolerances")


@pytest.mark.parametrize(
    ("late", "changes", "said"),
    [
        (0.011, {}, "after"),  # of 10 ms a sample; the tolerance is two of them
        (0.009, {}, None),
        (-0.011, {}, "before"),
        (-0.009, {}, None),
        (0.011, {"beside": False}, None),
        (0.011, {"path": "drive.supply"}, None),
    ],
)
def test_a_command_that_counts_late_or_early(late, changes, said):
    q = replace(number("drive.delay", mean=0.03, error=0.02, signed=0.02), **changes)
    findings = list(_latency(stub(q), np.array([0.03 + late])))
    assert [f.code for f in findings] == (["delay"] if said else [])
    for f in findings:
        assert f.numbers == {"delay": pytest.approx(late)}
        assert f"about 11 ms {said} the command" in f.text
        assert f.text.endswith(f"that is {'late' if late > 0 else 'early'}.")
        assert f.remedy.startswith("let the fit" if late > 0 else "put command and position on one clock")


def test_a_log_whose_command_comes_later_or_drifts():
    t = 2.0 + 0.01 * np.arange(200)
    log = be.log("run", t, position=t, position_target=np.arange(200.0), enabled=np.ones(200))
    later = move_commands(log, shift=0.05)
    assert later["position_target"][:20] == pytest.approx(np.maximum(np.arange(20.0) - 5, 0))
    assert later["position"] == pytest.approx(t)
    slower = move_commands(log, drift=0.25)
    assert slower["position_target"][[0, 100, 150]] == pytest.approx([0.0, 80.0, 120.0], abs=1.0)
    assert slower["position_target"][101] == pytest.approx(80.0, abs=1.0)
    assert move_commands(log)["position_target"] == pytest.approx(np.arange(200.0), abs=1.0)
    known = dataclasses.replace(log, commands={"position_target": be.signal.step(1.0)})
    drifted = move_commands(known, shift=0.05, drift=0.25).signals["position_target"].time
    assert drifted[[0, 100]] == pytest.approx([2.05, 2.05 + 1.25])  # a clock that begins where the log does


@pytest.mark.parametrize("at_bound", [False, True])
def test_what_a_search_might_still_save_is_how_far_a_quadratic_is_above_its_least(monkeypatch, at_bound):
    """With the prior; a number at its bound stays there."""
    J, b = np.random.default_rng(3).normal(size=(2, 8, 2))
    length = number("bench.length", mean=0.5, error=0.3, signed=1.0, low=0.7 if at_bound else 0.0)
    p = stub(number(mean=0.2), length)
    H, x, (mean, error) = J.T @ J, np.array([0.4, 0.7]), p.free.prior()
    normal = H + p.free.precision, J.T @ (J @ x - b[:, 0])
    monkeypatch.setattr(causes, "bounded_normal", lambda *given: normal)
    rows, held = np.vstack([J, np.diag(1 / error)]), np.r_[b[:, 0], mean / error]
    free = rows[:, :1] if at_bound else rows
    left = np.linalg.lstsq(free, held - rows[:, free.shape[1] :] @ x[free.shape[1] :], rcond=None)[1][0]
    assert causes._slack(p, x, 1.0) == pytest.approx(0.5 * (np.sum((rows @ x - held) ** 2) - left))


@pytest.mark.parametrize(("mass", "error", "changes", "said"), [
    (0.05, 0.016, {}, True), (0.05, 0.018, {}, False), (0.041, 0.001, {}, True), (0.039, 0.001, {}, False),
    (0.05, 0.016, {"stated": True}, False), (0.05, 0.016, {"beside": False}, False),
])  # fmt: skip
def test_an_arm_that_nobody_weighed(monkeypatch, mass, error, changes, said):
    """By three errors, and a twentieth of the heaviest load, of 0.8 kg."""
    arm = number("bench.arm_mass", **{"stated": False, "signed": 0.1, **changes})
    p = stub(number(), arm)
    p.logs = [SimpleNamespace(bench=be.bench.Pendulum(mass=m, length=0.1)) for m in (0.3, 0.8)]
    monkeypatch.setattr(causes, "bounded_normal", lambda *given: (np.diag([1.0, error**-2]), None))
    found = list(causes._forgotten_arm(p, np.array([0.0, mass])))
    assert [(f.code, f.numbers) for f in found] == [("wrong_arm_mass", {"arm_mass": mass})] * said


PRIOR = {"motor.resistance": (4.0, 0.2), "motor.torque_constant": (0.9, 0.045)}


def logs(mass: float = 1.0) -> list[be.Log]:
    """Two seconds each, two loads; the mass is stated wrongly by a factor."""
    made = [
        record(0, duration=2.0),
        record(1, mass=0.5, gain=8.0, command=steps, off_after=1.0, duration=2.0),
    ]
    # pendulums:
    return [replace(one, bench=replace(one.bench, mass=mass * one.bench.mass)) for one in made]  # type: ignore


@pytest.mark.parametrize("factor", [1.0, 1.25])
def test_a_mass_that_is_wrong_is_named_with_what_looks_alike(factor):
    some = logs(factor)
    search = bench_search(SERVO, some, prior=PRIOR, n_starts=1, offset=False)
    optimum = search.settle(search.find("stribeck"))
    p, end, robust = optimum.problem, optimum.end, optimum.robust
    findings = [f for f in causes.causes(p, end.x, robust) if f.code.startswith("wrong_")]
    if factor == 1.0:
        assert strain(p, end.x) < 2.0
        assert findings == []
        return
    (f,) = findings
    assert strain(p, end.x) > 2.0
    assert f.numbers["mass"] == pytest.approx(1 / factor, rel=0.1)
    H, g, _ = p.normal(end.x)
    mass = next(cause for cause in CAUSES if cause.code == "wrong_mass")
    places = [k for k, q in enumerate(p.free.parameters) if q.path == "bench.mass"]
    candidate = causes.CauseCandidate(*_promise(p, end.x, H, g, places), mass, places)
    one = causes._try_cause(p, end.x, end.cost, robust, candidate)
    assert one.saved == pytest.approx(candidate.promise, rel=0.25)
    assert one.text.startswith("mass: ")
    assert one.text.count("instead of") == 2


def test_another_clock_takes_most_of_the_misfit_away():
    sound = [record(0, duration=2.5), record(1, mass=0.5, command=steps, duration=2.5)]

    def said(some: list[be.Log]) -> list:
        search = bench_search(SERVO, some, n_starts=1, offset=False)
        optimum = search.settle(search.find("stribeck"))
        p, end, robust = optimum.problem, optimum.end, optimum.robust
        return list(causes.drifting(p, end.x, robust, some))

    assert said(sound) == []
    (f,) = said([move_commands(log, drift=-0.02) for log in sound])
    assert f.code == "clock_drift"
    assert f.numbers["drift"] == pytest.approx(0.02, abs=0.011)
    coasting: Any = SimpleNamespace(actuator=SimpleNamespace(drive=be.drive.Off()))
    assert list(causes.drifting(coasting, np.zeros(1), np.inf, sound)) == []
