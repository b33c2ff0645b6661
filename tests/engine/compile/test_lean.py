"""The pass that saves operations: the same numbers from fewer of them."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.engine.compile.dialects.numba import NUMBA
from backemf.engine.compile.ir import Graph, Level, Node
from backemf.engine.compile.lean import lean
from backemf.engine.compile.lower import lower
from backemf.engine.compile.passes import Branch, branching, reachable
from backemf.engine.system import ActuatorSystem

MORE = {"flip": "choose({1} >= 0.0, {0}, -{0})", "power": "{0} ** {1}", "decay": "math.exp(-{0})"}
WORDS = dataclasses.replace(NUMBA, branches=False, primitives={**NUMBA.primitives, **MORE})


def value(roots: list[Node], **leaves: float) -> list[float]:
    """The roots' values, in plain Python."""
    known: dict[str, Any] = {"np": np, "math": math, "choose": lambda c, a, b: a if c else b, **leaves}
    for line in WORDS.statements(roots, *Level):
        exec(line, known)
    return [float(eval(WORDS.text(root), known)) for root in roots]


def operations(roots: list[Node]) -> Counter:
    return Counter(n.op for n in reachable(roots) if n.operands and n.level is Level.STATE)


@pytest.fixture(scope="module")
def m6() -> Any:
    bench = be.bench.Pendulum(mass=0.9, length=0.18)
    return lower(
        ActuatorSystem(actuator=be.Actuator.read("mx-106/m6"), bench=bench, inputs=("position_target",))
    )


def test_a_step_takes_a_fifth_less_and_one_power(m6):
    before, after = m6.step.values, lean(m6.graph, m6.step.values, more=True)
    assert sum(operations(after).values()) < 0.82 * sum(operations(before).values())
    assert operations(before)["pow"] == 2
    assert operations(after)["pow"] + operations(after)["power"] == 1


@pytest.mark.parametrize("more", [False, True])
def test_the_numbers_stay_the_same_in_motion_at_rest_and_saturated(m6, more):
    rng = np.random.default_rng(0)
    system = be.Actuator.read("mx-106/m6").parameters | {
        "bench.mass": 0.9, "bench.length": 0.18, "bench.arm_mass": 0.1, "bench.gravity": 9.81
    }  # fmt: skip
    p = {f"p{i}": system[name] for i, name in enumerate(m6.parameters)}
    leaner = lean(m6.graph, m6.step.values, more=more)
    for k in range(300):
        v = 0.0 if k % 3 == 0 else rng.normal(0, 10.0 ** rng.uniform(-4, 1))
        at = {**p, "s0": rng.normal(), "s1": v, "u0": rng.normal(0, 2), "h": 10 ** rng.uniform(-4, -2)}
        np.testing.assert_allclose(value(leaner, **at), value(m6.step.values, **at), rtol=1e-11, atol=1e-13)


def leaf(graph: Graph, name: str, level: Level = Level.STATE) -> Node:
    return graph.leaf(name, level)


def test_slow_factors_are_gathered_and_leave_the_loop():
    g = Graph()
    x, a, b = leaf(g, "s0"), leaf(g, "p0", Level.PARAMETER), leaf(g, "p1", Level.PARAMETER)
    (made,) = lean(g, [g.apply("mul", a, g.apply("mul", b, x))])
    assert operations([made]) == {"mul": 1}
    assert value([made], s0=3.0, p0=5.0, p1=7.0) == [105.0]


def test_a_level_on_either_side_is_one_comparison():
    g = Graph()
    x, f = leaf(g, "s0"), leaf(g, "s1")
    beyond = g.apply("or", g.apply("gt", x, f), g.apply("lt", x, g.apply("neg", f)))
    (made,) = lean(g, [g.apply("number", beyond)])
    assert "or" not in operations([made])
    for at, expected in ((2.0, 1.0), (0.5, 0.0), (-2.0, 1.0)):
        assert value([made], s0=at, s1=1.0) == [expected]


def test_a_power_of_what_may_be_zero_or_less_is_left_alone():
    g = Graph()
    x, p = leaf(g, "s0"), leaf(g, "p0", Level.PARAMETER)
    (made,) = lean(g, [g.apply("pow", x, g.apply("sub", p, g.constant(1.0)))], more=True)
    assert operations([made]) == {"pow": 1}


def test_what_is_lean_is_left_as_it_is(m6):
    """One round opens what the next one takes; in the end nothing is left to take."""
    once = lean(m6.graph, m6.step.values)
    again = lean(m6.graph, once)
    assert [node.index for node in again] == [node.index for node in once]


def test_a_power_is_divided_only_where_its_base_is_the_one_that_was_compared():
    g = Graph()
    x, y, p = leaf(g, "s0"), leaf(g, "s1"), leaf(g, "p0", Level.PARAMETER)
    less = g.apply("sub", p, g.constant(1.0))
    for compared, bound in ((y, g.constant(0.0)), (x, g.constant(-1.0))):  # neither says that x is above 0
        base = g.apply("select", g.apply("gt", compared, bound), g.constant(1.0), x)
        (made,) = lean(g, [g.apply("pow", base, less)], more=True)
        assert operations([made])["pow"] == 1
        assert "div" not in operations([made])


def test_a_division_that_one_side_alone_needs_is_taken_there_alone():
    g = Graph()
    x, y = leaf(g, "s0"), leaf(g, "s1")
    ratio = g.apply("div", x, y)
    root = g.apply("select", g.apply("gt", y, g.constant(0.0)), g.constant(1.0), ratio)
    steps = branching(reachable([root]), [root])
    (branch,) = [step for step in steps if isinstance(step, Branch)]
    assert ratio in branch.yes
    assert ratio not in steps
    assert ratio not in branch.no
