"""Terms that are made simpler as they are made: each rule by itself, and that any term keeps its value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from backemf.engine.compile.ir import ZERO, Form, Graph, LaneChoice, Level, Node, Tangents
from backemf.engine.compile.passes import (
    Branch,
    Copy,
    branching,
    change,
    computed_terms,
    kept_terms,
    leaves,
    names_used_again,
    number,
    numbered_leaves,
    reachable,
    tidy,
    without,
)

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
WORK: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "max": max,
    "min": min,
    "gt": lambda a, b: a > b,
    "select": lambda c, no, yes: yes if c else no,
    "exp": np.exp,
    "expm1": np.expm1,
}


def text(node: Node) -> str:
    """A term as one writes it."""
    if node.op in SIGNS:
        return f"({text(node.operands[0])} {SIGNS[node.op]} {text(node.operands[1])})"
    if not node.operands:
        return f"{node.value:g}" if node.op == "constant" else str(node.value)
    return f"{node.op}({', '.join(map(text, node.operands))})"


def value(node: Node, at: dict[str, float]) -> float:
    if not node.operands:
        return at[str(node.value)] if node.op == "leaf" else node.number
    return WORK[node.op](*(value(x, at) for x in node.operands))


class Made:
    """A graph with states x and y and parameters p and q."""

    def __init__(self) -> None:
        self.g = Graph()
        self.x, self.y = (self.g.leaf(n, Level.STATE) for n in "xy")
        self.p, self.q = (self.g.leaf(n, Level.PARAMETER) for n in "pq")

    def __call__(self, op: str, *operands: Node | float) -> Node:
        return self.g.apply(op, *(o if isinstance(o, Node) else self.g.constant(o) for o in operands))

    def c(self, number: float) -> Node:
        return self.g.constant(number)


RULES: list[tuple[Callable[[Made], Node], str]] = [
    (lambda m: m("mul", m.x, 1.0), "x"),
    (lambda m: m("mul", 1.0, m.x), "x"),
    (lambda m: m("div", m.x, 1.0), "x"),
    (lambda m: m("neg", m("neg", m.x)), "x"),
    (lambda m: m("mul", m.y, m.x), "(x * y)"),
    (lambda m: m("sub", m.y, m.x), "(y - x)"),
    (lambda m: m("div", m.x, m.p), "(x * (1 / p))"),
    (lambda m: m("div", m.p, m.x), "(p / x)"),
    (lambda m: m("div", 1.0, m.x), "(1 / x)"),
    (lambda m: m("div", m.x, m.y), "(x / y)"),
    (lambda m: m("select", m("gt", m.x, m.y), m.p, m.p), "p"),
    (lambda m: m("select", True, m.p, m.q), "q"),
    (lambda m: m("select", False, m.p, m.q), "p"),
    (lambda m: m("div", m.x, m("select", m("gt", m.x, m.y), 1.0, 2.0)), "(x * select(gt(x, y), 1, 0.5))"),
    (lambda m: m("div", m.x, m("select", m("gt", m.x, m.y), 1.0, 3.0)), "(x / select(gt(x, y), 1, 3))"),
    (lambda m: m.g.product(m.x, m.c(0.0)), "0"),
    (lambda m: m.g.product(m.c(0.0), m.x), "0"),
    (lambda m: m.g.product(m.x, m.c(-1.0)), "neg(x)"),
    (lambda m: m.g.product(m("neg", m.x), m.y), "neg((x * y))"),
    (lambda m: m.g.product(m("neg", m.x), m("neg", m.y)), "(x * y)"),
    (lambda m: m.g.product(m.x, m.y), "(x * y)"),
    (lambda m: m.g.total(m.x, m.c(0.0)), "x"),
    (lambda m: m.g.total(m.c(0.0), m.x), "x"),
    (lambda m: m.g.total(m.x, m("neg", m.y)), "(x - y)"),
    (lambda m: m.g.total(m("neg", m.x), m.y), "(y - x)"),
    (lambda m: m.g.total(m.x, m.y), "(x + y)"),
    (lambda m: m.g.negative(m.c(2.0)), "-2"),
    (lambda m: m.g.negative(m.x), "neg(x)"),
    (lambda m: tidy(m.g, [m("add", m.y, m("mul", m.x, 0.0))])[0], "y"),
    (lambda m: tidy(m.g, [m("add", m("mul", 0.0, m.x), m.y)])[0], "y"),
    (lambda m: tidy(m.g, [m("sub", m.y, m("mul", m.x, 0.0))])[0], "y"),
    (lambda m: tidy(m.g, [m("sub", m("mul", m.x, 0.0), m.y)])[0], "neg(y)"),
    (lambda m: tidy(m.g, [m("sub", m.x, m.x)])[0], "0"),
    (lambda m: tidy(m.g, [m("add", m.x, m("mul", m.y, m.p))])[0], "(x + (y * p))"),
    (lambda m: change(m.g, m.x, m.x) or m.y, "0"),
    (lambda m: change(m.g, m("add", m.x, m.p), m.x) or m.y, "p"),
    (lambda m: change(m.g, m("add", m.p, m.x), m.x) or m.y, "p"),
    (lambda m: change(m.g, m("sub", m("add", m.x, m.p), m.q), m.x) or m.y, "(p - q)"),
    (lambda m: change(m.g, m("sub", m.q, m.x), m.x) or m.c(7.0), "7"),
    (lambda m: change(m.g, m("mul", m.q, m.x), m.x) or m.c(7.0), "7"),
    (lambda m: change(m.g, m("max", m("add", m.x, m.p), m.y), m.x) or m.c(7.0), "max(p, (y - x))"),
    (
        lambda m: change(m.g, m("add", m.p, m("mul", m("sub", m.x, m.p), m("exp", m.q))), m.x) or m.c(7.0),
        "((x - p) * expm1(q))",
    ),
    (
        lambda m: change(m.g, m("add", m.p, m("mul", m("sub", m.x, m.p), m("add", 1.0, m.q))), m.x) or m.y,
        "(q * (x - p))",
    ),
    (lambda m: without(m.g, m("mul", m("sub", m.y, m.x), m.x), m.y, m.x, m.q), "(x * q)"),
    (lambda m: without(m.g, m("mul", m("sub", m.x, m.y), m.x), m.y, m.x, m.q), "(x * (x - y))"),
]


@pytest.mark.parametrize(("make", "wanted"), RULES, ids=[f"{k} {t}" for k, (_, t) in enumerate(RULES)])
def test_a_term_is_made_as_simple_as_it_may_be(make, wanted):
    def order(written: str) -> str:
        return "".join(sorted(written))  # of what commutes the order is that of the graph

    made = make(Made())
    assert order(text(made)) == order(wanted), text(made)


def test_numbers_are_known_by_arithmetic_alone():
    m = Made()
    for node, wanted in (
        (m("add", 2.0, m("mul", 3.0, 4.0)), 14.0),
        (m("sub", 2.0, m("div", 3.0, 4.0)), 1.25),
        (m("neg", m("add", 1.0, 2.0)), -3.0),
        (m("div", 1.0, 0.0), None),
        (m("mul", 1e200, 1e200), None),
        (m("exp", 1.0), None),
        (m("add", 1.0, m.p), None),
        (m.g.constant(True), True),
    ):
        assert number(node) == wanted
    x, y = m("mul", m.x, m.p), m("add", m.p, m.q)
    root = m("add", x, y)
    assert leaves([root]) == {"x", "p", "q"}
    assert [n.index for n in reachable([root])] == sorted(n.index for n in (m.x, m.p, m.q, x, y, root))
    assert reachable([root], known=[y]) == [m.x, m.p, x, root]
    assert computed_terms([root], [Level.STATE]) == [x, root]
    assert kept_terms([root], [Level.PARAMETER]) == [m.p, y]
    g = m.g
    named = g.apply(
        "add",
        g.apply("add", g.leaf("s10", Level.STATE), g.leaf("s2", Level.STATE)),
        g.leaf("p1", Level.STATE),
    )
    assert numbered_leaves([g.apply("add", named, g.leaf("h", Level.LENGTH))], "ps") == ["p1", "s2", "s10"]


def drawn(m: Made, rng: np.random.Generator, n: int) -> list[Node]:
    """Some terms of one another."""
    made = [m.x, m.y, m.p, m.q, m.c(0.0), m.c(1.0), m.c(-1.0), m.c(0.5)]
    for _ in range(n):
        op = str(rng.choice(["add", "sub", "mul", "neg", "max", "min", "select", "exp"]))
        a, b, c = (made[k] for k in rng.integers(len(made), size=3))
        some = {"neg": (a,), "exp": (m("min", a, 1.0),), "select": (m("gt", a, m.x), b, c)}.get(op, (a, b))
        made.append(m(op, *some))
    return made[8:]


@pytest.mark.parametrize("seed", range(12))
def test_any_term_keeps_its_value_however_it_is_written(seed):
    rng, m = np.random.default_rng(seed), Made()
    roots = drawn(m, rng, 14)
    at = {name: float(v) for name, v in zip("xypq", rng.normal(size=4), strict=True)}
    wanted = [value(root, at) for root in roots]
    np.testing.assert_allclose([value(root, at) for root in tidy(m.g, roots)], wanted, rtol=1e-12, atol=1e-12)
    for root, own in zip(roots, wanted, strict=True):
        less = change(m.g, root, m.x)
        if less is not None:
            assert value(less, at) == pytest.approx(own - at["x"], abs=1e-9 * (1 + abs(own)))
    nodes = [n for n in reachable(roots) if n.operands]
    known = dict(at)

    def read(node: Node, names: dict[int, str]) -> float:
        return known[names[node.index]] if node.index in names else value(node, at)

    names = names_used_again(nodes, roots)
    for node in nodes:
        known[names[node.index]] = WORK[node.op](*(read(x, names) for x in node.operands))
    assert [read(root, names) for root in roots] == pytest.approx(wanted)
    assert len(set(names.values())) <= len(nodes)
    kept: dict[int, float] = {}

    def walk(steps) -> None:
        for step in steps:
            if isinstance(step, Branch):
                walk(step.yes if kept[step.condition.index] else step.no)
            elif isinstance(step, Copy):
                kept[step.node.index] = kept.get(
                    step.operand.index, value(step.operand, at) if not step.operand.operands else np.nan
                )
            else:
                kept[step.index] = WORK[step.op](
                    *(kept[x.index] if x.operands else value(x, at) for x in step.operands)
                )

    walk(branching(nodes, roots))
    assert [kept[r.index] if r.operands else value(r, at) for r in roots] == pytest.approx(wanted)


def test_tangents_are_sums_of_what_they_are_made_of():
    m = Made()
    tangents = Tangents(m.g)
    a, b = Form({"dx": m.c(1.0)}, {0: m.p}), Form({"dx": m.p, "dy": m.c(1.0)}, {0: m.q, 2: m.c(1.0)})
    both = tangents.sum(a, b)
    assert {k: text(c) for k, c in both.lanes.items()} == {"dx": "(1 + p)", "dy": "1"} or text(
        both.lanes["dx"]
    ) == "(p + 1)"
    assert {k: text(c) for k, c in both.seeds.items()} == {0: "(p + q)", 2: "1"}
    half = tangents.scale(a, m.c(0.5))
    assert (text(half.lanes["dx"]), "".join(sorted(text(half.seeds[0])))) == (
        "0.5",
        "".join(sorted("(p * 0.5)")),
    )
    assert tangents.scale(a, m.c(0.0)) == ZERO
    assert tangents.scale(both, m.c(-1.0)).lanes.keys() == both.lanes.keys(), "a sign needs no vector"
    assert not tangents.vectors
    scaled = tangents.scale(both, m.p)
    assert tangents.vectors == {"t0": both}
    assert (list(scaled.lanes), text(scaled.lanes["t0"]), scaled.seeds) == (["t0"], "p", {})
    chosen = tangents.select(m("gt", m.x, m.y), a, b)
    assert text(chosen.lanes["dy"]) == "select(gt(x, y), 0, 1)"
    assert text(chosen.seeds[0]) == "select(gt(x, y), p, q)"
    other = tangents.select(m("gt", m.x, m.y), scaled, ZERO)
    (name,) = other.lanes
    choice = tangents.vectors[name]
    assert isinstance(choice, LaneChoice)
    assert (choice.no is None, choice.yes, choice.vectors, choice.nodes) == (
        False,
        None,
        [choice.no],
        [m("gt", m.x, m.y)],
    )
    assert tangents.single_vector(Form({"dx": m.c(1.0)}, {})).lanes.keys() == {"dx"}
    assert tangents.single_vector(Form({"dx": m.c(2.0)}, {})).lanes.keys() != {"dx"}
    assert m.g.is_zero(m("mul", m.x, m("sub", m("mul", 0.0, m.y), 0.0)))
    assert not m.g.is_zero(m("add", m("mul", 0.0, m.y), 1.0))
    assert m.g.constant(0.0) is not m.g.constant(-0.0)
