"""Searches on short recordings: starts, rungs that go on from each other, and how they come to rest."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.identify import search
from backemf.identify.frictions import with_friction
from backemf.identify.optimize import levenberg_marquardt
from backemf.identify.plants.bench_plant import BenchPlant, settle
from backemf.identify.plants.plant import SearchResult, StartResult, Weights
from backemf.identify.problem import Problem
from backemf.identify.search import bench_search

from ..recordings import SERVO, record, steps, sweep

WINDING = ["motor.resistance", "motor.torque_constant", "motor.rotor_inertia"]


def short(**options: Any) -> search.FrictionSearch:
    given = {"free_paths": None, "n_starts": 4, "offset": False} | options
    return bench_search(
        SERVO, [record(0, duration=1.5), record(1, mass=0.5, command=steps, duration=1.5)], **given
    )


def test_a_first_start_that_noise_explains_is_enough():
    climb = short()
    found = climb.find("stribeck")
    assert len(found.ends) == 1
    assert found.weights.robust == np.inf
    assert found.best.mae < 6e-4  # noise of 0.5 mrad
    assert climb.find("stribeck") is found  # remembered
    assert found.actuators[""].parameters["motor.resistance"] == pytest.approx(
        found.best.values["motor.resistance"]
    )
    settled = climb.settle(found)
    assert climb.settle(found) is settled
    assert settled.robust == np.inf
    assert settled.problem.substeps == 2 * found.problem.substeps
    assert settled.end.cost <= found.best.cost


def heavier() -> search.FrictionSearch:
    """Coulomb friction on logs of a servo that sticks and slips: it cannot follow to the noise."""
    sticky = SERVO.replace(**{"friction.static": 0.16, "friction.coulomb": 0.04})
    logs = [
        record(0, actuator=sticky, duration=2.0),
        record(1, actuator=sticky, mass=0.5, command=sweep, duration=2.0),
    ]
    start = replace(SERVO, friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02))
    return bench_search(start, logs, offset=False, n_starts=4, seed=1)


def test_other_starts_are_tried_where_the_model_cannot_follow_until_three_agree():
    climb, told = heavier(), []
    found = climb.find("coulomb", lambda *row: told.append(row))
    assert found.weights.robust < np.inf
    assert 3 <= len(found.ends) <= 4
    agree = [e for e in found.ends if e.cost <= found.best.cost * 1.002]
    assert len(agree) == 3 or len(found.ends) == 4
    n = len(found.plant.schedule.legs(found.problem.step)[0])
    rising = (np.arange(n) + 1) / n
    assert [share for words, _, share in told if words.startswith("start 1")] == pytest.approx(0.5 * rising)
    second = [share for words, _, share in told if words.startswith("start 2 of 4")]
    assert second == pytest.approx(0.5 + 0.4 * rising)
    # a richer friction starts from there, weighs alike, and then follows to the noise
    told.clear()
    richer = climb.find("stribeck", lambda *row: told.append(row))
    from_below = [(words, share) for words, _, share in told if words.startswith("from")]
    assert from_below == [
        ("from coulomb, led by the recording, 1 of 1", pytest.approx(0.55)),
        ("from coulomb, on its own", pytest.approx(0.6)),
    ]
    assert richer.weights.robust == np.inf
    assert len(richer.ends) == 1
    assert richer.best.mae < 0.7 * found.best.mae


def test_a_richer_friction_goes_on_where_the_poorer_ended():
    climb = heavier()
    coulomb = climb.find("coulomb")
    richer = climb.plant.with_friction("stribeck")
    p = richer.problem()
    values = p.values(richer.continue_from(p, coulomb, "stribeck"))
    for path in (*WINDING, "friction.coulomb", "friction.viscous"):
        assert values[path] == pytest.approx(coulomb.best.values[path])
    assert values["friction.static"] == pytest.approx(values["friction.coulomb"], rel=1e-3)
    assert values["friction.stribeck_velocity"] > 0


def test_a_search_that_is_interrupted_keeps_what_it_has():
    climb, calls = heavier(), []

    def stop(text: str, cost: float, share: float) -> None:
        calls.append(text)
        if text.startswith("start 2"):
            raise KeyboardInterrupt

    found = climb.find("coulomb", stop)
    assert found.interrupted
    assert [end.ended == "interrupted" for end in found.ends] == [False, True]
    assert "coulomb" not in climb.memory
    assert re.fullmatch(r"start 2 of \d, best [\d.]+ mrad, led by the recording, 1 of 4", calls[-1])


def test_a_search_that_is_interrupted_inside_its_first_start_keeps_what_it_has(monkeypatch):
    """The eleventh simulation is not finished: nine steps were better than the start, and they count."""
    climb, real, calls = heavier(), Problem.blocks, []

    def blocks(self, x, *rest):
        calls.append(x)
        if len(calls) == 11:
            raise KeyboardInterrupt
        return real(self, x, *rest)

    p = climb.plant.problem()
    begun = levenberg_marquardt(p, p.first, most=0).cost
    monkeypatch.setattr(Problem, "blocks", blocks)
    found = climb.find("coulomb")
    assert found.interrupted
    assert [end.ended for end in found.ends] == ["interrupted"]
    assert found.best.cost < 0.9 * begun


def test_where_only_the_bench_is_wrong_noise_explains_the_rest():
    """A mass stated 5 % too large, of 1 % that it may err: the search cannot follow, but with the bench's
    numbers free it can."""
    logs = [record(0, duration=1.5), record(1, mass=0.5, gain=8.0, duration=1.5)]
    # pendulums:
    wrong = [replace(log, bench=replace(log.bench, mass=1.05 * log.bench.mass)) for log in logs]  # type: ignore
    options = {"free_paths": ["friction.coulomb"], "n_starts": 1}
    stuck = bench_search(SERVO, wrong, tolerances=False, **options)
    assert stuck.find("stribeck").weights.robust < np.inf
    assert stuck.settle(stuck.find("stribeck")).robust < np.inf
    free = bench_search(SERVO, wrong, **options)
    optimum = free.settle(free.find("stribeck"))
    p = optimum.problem
    assert optimum.robust == np.inf
    assert p.sigma == pytest.approx(p.sigma_noise)
    moved = {n: v for n, v in optimum.values.items() if n.startswith("bench.mass")}
    assert list(moved.values()) == pytest.approx([0.3, 0.5], rel=0.08)


def test_lossless_gears_beside_a_friction_that_knows_the_load_are_left_out():
    """An efficiency of 1 is no number that the data tell."""
    geared = replace(SERVO, gearbox=be.gearbox.Gearbox(ratio=1.0, efficiency=0.999))
    loaded = with_friction(geared, "m3")
    climb = bench_search(loaded, [record(0, duration=0.5)], offset=False, tolerances=False)
    p = climb.plant.problem()
    x = p.first
    for efficiency, kept in ((0.995, False), (0.985, True)):
        values = p.values(x) | {"gearbox.efficiency": efficiency}
        end = levenberg_marquardt(p, p.free.to_x(values, p.fixed), most=0)
        found = SearchResult(
            plant=climb.plant, problem=p, ends=[StartResult.of(p, end)], weights=Weights(p.sigma)
        )
        assert isinstance(climb.plant, BenchPlant)
        q = settle(found, climb.plant.logs, False).problem
        assert ("gearbox.efficiency" in q.free.paths) is kept
        assert (q.actuator.gearbox.efficiency is None) is not kept
