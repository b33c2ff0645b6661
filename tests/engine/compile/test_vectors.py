"""Eight candidates in the lanes of a vector: each costs what it costs alone, and the polynomials hold."""

from __future__ import annotations

import itertools
import re
from typing import Any

import jax
import numpy as np
import pytest
from numba import njit

from backemf.engine.compile import kernels as kernels_module
from backemf.engine.compile.dialects.vectors import WIDTH, WORDS, body
from backemf.engine.compile.ir import Graph, Level, Tangents, evaluate
from backemf.engine.compile.kernels import LEAST_IN_LANES, kernels
from backemf.engine.compile.passes import is_truth
from backemf.engine.compile.trace import trace
from backemf.engine.rows import hold_inputs

from ..test_population import ACTUATORS, DT, ROWS, T, case, command, system_of
from .test_primitives import ALL, NEWER, POINTS, A

BOUND = 1e-10
"""Of a cost: other orders of products, and polynomials that differ in the last place, over 600 steps of a
motion that sticks and slips; 1e-13 is usual."""


def both(
    monkeypatch: pytest.MonkeyPatch, system: Any, rows: Any, *given: Any, **more: Any
) -> tuple[Any, Any]:
    """(costs in lanes, costs one by one)"""
    loops = kernels(system)
    lanes = loops.cost(given[0], given[1], rows, 2, given[2], **more)
    with monkeypatch.context() as m:
        m.setattr(kernels_module, "LEAST_IN_LANES", 10**9)
        return lanes, loops.cost(given[0], given[1], rows, 2, given[2], **more)


@pytest.mark.parametrize("name", ACTUATORS)
def test_every_friction_and_drive_costs_the_same_in_lanes(monkeypatch, name):
    system = system_of(name)
    rows = hold_inputs(command()[:, None], np.full(T, DT))
    P, s0, y = case(system, rows)
    y[20:40] = np.nan
    lanes, alone = both(monkeypatch, system, rows, P[:19], s0, y, robust=0.1)  # the last block is not full
    np.testing.assert_allclose(lanes, alone, rtol=BOUND)


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_every_sort_and_several_logs(monkeypatch, name):
    system = system_of("m6, servo", ("position", "current"))
    P, s0, y = case(system, ROWS[name])
    logs = kernels(system).batch([ROWS[name], hold_inputs(command()[:, None], np.full(T, DT))])
    each = np.stack([P, 1.05 * P], axis=1)
    lanes, alone = both(monkeypatch, system, logs, each, s0, np.concatenate([y, y]))
    np.testing.assert_allclose(lanes, alone, rtol=BOUND)


def test_a_nan_stays_in_its_lane():
    system = system_of("coulomb, position")
    rows = hold_inputs(command()[:, None], np.full(T, DT))
    P, s0, y = case(system, rows)
    whole = kernels(system).cost(P, s0, rows, 1, y)
    P[5, 0] = np.nan
    found = kernels(system).cost(P, s0, rows, 1, y)
    assert len(P) >= LEAST_IN_LANES
    assert np.isnan(found[5])
    np.testing.assert_array_equal(np.delete(found, 5), np.delete(whole, 5))


def test_every_row_and_corner_is_as_jax_has_it():
    """As the other languages' tests: one function that gives every primitive at every point."""
    names = [name for name in ALL if name not in NEWER]
    points = np.array(list(itertools.islice(itertools.cycle(POINTS), -(-len(POINTS) // WIDTH) * WIDTH)))
    lines = ["def run(P, p0, cost):", "    for c in range(P.shape[0]):", "        s0 = P[c, 0]"]
    for k, name in enumerate(names):
        graph = Graph()
        x, a = graph.leaf("s0", Level.STATE), graph.leaf("p0", Level.PARAMETER)
        (node,) = evaluate(trace(lambda x, a, name=name: [ALL[name](x, a)], 2), [x, a], Tangents(graph))
        written = [
            *WORDS.statements([node], Level.CONSTANT, Level.PARAMETER),
            *map(WORDS.statement, _fast(node)),
        ]
        # a name for an expression:
        own = lambda text, k=k: re.sub(r"\bv(\d+)\b", rf"r{k}v\1", text)  # noqa: E731
        result = own(WORDS.text(node))
        result = f"choose({result}, 1.0, 0.0)" if is_truth(node) else result
        lines += [f"        {own(line)}" for line in written]
        lines.append(f"        cost[{k} * P.shape[0] + c, 0] = {result}")
    run_body = body("\n".join(lines))

    @njit("void(float64[:,::1], float64, float64[:,::1])", error_model="numpy")
    def run(P, p0, cost):
        run_body((P, p0, cost))

    found = np.empty((len(names) * len(points) // WIDTH, WIDTH))
    run(points.reshape(-1, WIDTH).copy(), A, found)
    for name, row in zip(names, found.reshape(len(names), -1), strict=True):
        with jax.enable_x64(True):
            expected = np.array([float(ALL[name](jax.numpy.asarray(p), A)) for p in points])
        np.testing.assert_allclose(row, expected, rtol=1e-12, atol=1e-15, err_msg=name)


def _fast(node: Any) -> list[Any]:
    from backemf.engine.compile.passes import number, reachable

    return [n for n in reachable([node]) if n.operands and n.level is Level.STATE and number(n) is None]


@pytest.mark.parametrize(
    ("word", "low", "high", "bound"),
    [
        ("math.exp({0})", -700.0, 700.0, 1e-15),
        ("math.sin({0})", -1e3, 1e3, 4e-16),
        ("math.cos({0})", -1e3, 1e3, 4e-16),
        ("math.log({0})", 1e-300, 1e3, 1e-15),
        ("{0} ** 1.3", 0.0, 50.0, 2e-15),
    ],
)
def test_polynomials_hold_their_bounds(word, low, high, bound):
    run_body = body(
        f"def run(P, cost):\n    for c in range(P.shape[0]):\n        cost[c, 0] = {word.format('P[c, 0]')}"
    )

    @njit("void(float64[:,::1], float64[:,::1])", error_model="numpy")
    def run(P, cost):
        run_body((P, cost))

    x = np.random.default_rng(0).uniform(low, high, (5000, WIDTH))
    if "log" in word:
        x = np.exp(np.log(low) + (np.log(high) - np.log(low)) * np.random.default_rng(0).random(x.shape))
    found = np.empty_like(x)
    run(x, found)
    exact = {"e": np.exp, "s": np.sin, "c": np.cos, "l": np.log}.get(word[5], lambda x: x**1.3)(x)
    size = 1.0 if word[5] in "sc" else np.maximum(np.abs(exact), 1e-300)
    assert np.max(np.abs(found - exact) / size) < bound
