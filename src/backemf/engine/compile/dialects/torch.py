"""A traced step as straight-line torch code: many actuators at once, and as exact in 32 bits as that allows.

Every state is advanced by its change, `after = state + change`, and the change itself is written without the
state it is added to wherever the traced formula lets the two cancel. In 64 bits that is the same number; in
32 bits it keeps the digits that `after - state` would lose, and what the addition rounds away can be carried
to the next step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ....errors import NotLowered
from ...attached import Attached
from ..ir import Graph, Level, Node, Tangents, evaluate
from ..primitives import PRIMITIVES
from ..trace import trace
from .numba import Source, reachable, text

ALIKE = ("add", "sub", "mul", "div", "neg", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor")
"""Operators that are written alike for numbers and tensors."""
TORCH: dict[str, str] = {
    **{name: PRIMITIVES[name] for name in ALIKE},
    "rem": "torch.fmod({0}, {1})",
    "pow": "torch.pow({0}, {1})",
    "abs": "torch.abs({0})",
    "sign": "torch.sign({0})",
    "max": "torch.maximum({0}, {1})",
    "min": "torch.minimum({0}, {1})",
    "floor": "torch.floor({0})",
    "ceil": "torch.ceil({0})",
    "round_even": "torch.round({0})",
    "round_away": "torch.trunc({0} + 0.49999999999999994 * torch.sign({0}))",
    "sqrt": "torch.sqrt({0})",
    "rsqrt": "torch.rsqrt({0})",
    "cbrt": "torch.sign({0}) * torch.pow(torch.abs({0}), 1.0 / 3.0)",
    "exp": "torch.exp({0})",
    "exp2": "torch.exp2({0})",
    "expm1": "torch.expm1({0})",
    "log": "torch.log({0})",
    "log2": "torch.log2({0})",
    "log1p": "torch.log1p({0})",
    "logistic": "torch.sigmoid({0})",
    "erf": "torch.erf({0})",
    "sin": "torch.sin({0})",
    "cos": "torch.cos({0})",
    "tan": "torch.tan({0})",
    "asin": "torch.asin({0})",
    "acos": "torch.acos({0})",
    "atan": "torch.atan({0})",
    "atan2": "torch.atan2({0}, {1})",
    "sinh": "torch.sinh({0})",
    "cosh": "torch.cosh({0})",
    "tanh": "torch.tanh({0})",
    "asinh": "torch.asinh({0})",
    "acosh": "torch.acosh({0})",
    "atanh": "torch.atanh({0})",
    "not": "~{0}",
    "is_finite": "torch.isfinite({0})",
    "number": "torch.where({0}, one, 0.0)",
    "select": "torch.where({0}, {2}, {1})",
}
"""The rows of `primitives.PRIMITIVES`, in torch. Operands are names or numbers, as there."""
_NUMBERS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
}
_SLOW = (Level.CONSTANT, Level.PARAMETER, Level.LENGTH)


class Emitted(NamedTuple):
    """The functions of a step as source text."""

    source: str
    summed: tuple[bool, ...]
    """For each state, whether it is a sum of changes, so that what one addition rounds away belongs to the
    next. A state that a branch sets outright, as sticking sets the velocity to exactly 0, is not."""


def emit(system: Attached) -> Emitted:
    """Five functions; p, s and u are lists in the order of the system's names, `kept` is what the `prepare`
    of the same kind gave.

    prepare(p, h, dtype)           what parameters and step length decide
    advance(kept, s, u)            [change of every state, then the effort]
    prepare_load(p, h, dtype)
    load_seen(kept, u, v_before, v, effort)
    prepare_armature(p, h, dtype)  [1.0, armature]
    """
    graph, n_p, n_s, n_u = Graph(), len(system.parameters), len(system.states), len(system.inputs)
    p = [graph.leaf(f"p{i}", Level.PARAMETER) for i in range(n_p)]
    s = [graph.leaf(f"s{i}", Level.STATE) for i in range(n_s)]
    u = [graph.leaf(f"u{i}", Level.INPUT) for i in range(n_u)]
    h = graph.leaf("h", Level.LENGTH)

    def traced(function: Any, *given: Node) -> list[Node]:
        # nothing moves, so all are nodes
        return evaluate(trace(function, len(given)), given, Tangents(graph))  # type: ignore[return-value]

    *after, effort = traced(
        lambda *x: system.step(x[:n_p], x[n_p : n_p + n_s], x[n_p + n_s : -1], x[-1]), *p, *s, *u, h
    )
    armature = traced(lambda *x: (system.armature(x),), *p)
    seen = [graph.leaf(name, Level.STATE) for name in ("v_before", "v", "effort")]
    load = traced(
        lambda *x: (system.load_seen(x[:n_p], x[n_p : n_p + n_u], *x[n_p + n_u :]),), *p, *u, *seen, h
    )
    changes = [change(graph, node, leaf) for node, leaf in zip(after, s, strict=True)]
    written = [
        graph.apply("sub", node, leaf) if c is None else c
        for node, leaf, c in zip(after, s, changes, strict=True)
    ]
    v = system.states.index("velocity")
    effort = _without(graph, effort, after[v], s[v], written[v])
    *written, effort = tidy(graph, [*written, effort])
    source = Source()
    _function(
        source,
        "prepare(p, h, dtype)",
        "What the parameters and the step length alone decide.",
        [],
        kept := _kept([*written, effort]),
        n_p,
    )
    _function(
        source,
        "advance(kept, s, u)",
        "Changes of the states over a step, then the effort.",
        kept,
        [*written, effort],
        n_p,
        n_s,
        n_u,
    )
    _function(source, "prepare_load(p, h, dtype)", "The same for `load_seen`.", [], kept := _kept(load), n_p)
    _function(
        source,
        "load_seen(kept, u, v_before, v, effort)",
        "The load that acted over the last step.",
        kept,
        load,
        n_p,
        0,
        n_u,
    )
    _function(
        source,
        "prepare_armature(p, h, dtype)",
        "Inertia that the simulator must add to the joint.",
        [],
        armature,
        n_p,
    )
    return Emitted(
        str(source),
        tuple(c is not None and node.op != "select" for node, c in zip(after, changes, strict=True)),
    )


def change(graph: Graph, node: Node, leaf: Node) -> Node | None:
    """`node - leaf` with the leaf cancelled, or None where the formula does not show it as
    something added."""
    if node is leaf:
        return graph.constant(0.0)
    a, b = (node.operands[-2], node.operands[-1]) if len(node.operands) > 1 else (node, node)
    if node.op == "add":
        for x, y in ((a, b), (b, a)):
            relaxed = _relaxed(graph, x, y, leaf)
            if relaxed is not None:
                return relaxed
            found = change(graph, x, leaf)
            if found is not None:
                return graph.total(found, y)
    if node.op == "sub":
        found = change(graph, a, leaf)
        return None if found is None else graph.apply("sub", found, b)
    if node.op in ("select", "max", "min"):  # less the leaf on both sides, the same one is taken
        pair = [change(graph, x, leaf) for x in (a, b)]
        if pair != [None, None]:
            pair = [
                graph.apply("sub", x, leaf) if c is None else c for x, c in zip((a, b), pair, strict=True)
            ]
            # no None is left
            return graph.apply(node.op, *node.operands[:-2], *pair)  # type: ignore[arg-type]
    return None


def _relaxed(graph: Graph, goal: Node, moved: Node, leaf: Node) -> Node | None:
    """goal + (leaf - goal) e  is a change of (leaf - goal) (e - 1),
    and exp(x) - 1 has all its digits as expm1(x)."""
    if moved.op != "mul":
        return None
    for away, left in (moved.operands, moved.operands[::-1]):
        if away.op != "sub" or away.operands != (leaf, goal):
            continue
        if left.op == "exp":
            return graph.apply("mul", away, graph.apply("expm1", *left.operands))
        one = next((x for x in left.operands if left.op == "add" and x.is_constant(1.0)), None)
        if one is not None:
            return graph.apply("mul", away, next(x for x in left.operands if x is not one))
    return None


def _without(graph: Graph, node: Node, after: Node, before: Node, difference: Node) -> Node:
    """The same term with `after - before` replaced by the difference found elsewhere."""
    if node.op == "sub" and node.operands == (after, before):
        return difference
    if not node.operands or node.level is not Level.STATE or node is after:
        return node
    return graph.apply(node.op, *(_without(graph, x, after, before, difference) for x in node.operands))


def tidy(graph: Graph, roots: Sequence[Node]) -> list[Node]:
    """The same terms without what adds or multiplies with nothing;
    numbers are finite here, so 0 times any of them is 0."""
    found: dict[int, Node] = {}
    for node in reachable(roots):
        operands = [found[x.index] for x in node.operands]
        zero = [_number(x) == 0 for x in operands]
        if node.op == "mul" and any(zero):
            found[node.index] = graph.constant(0.0)
        elif node.op == "add" and any(zero):
            found[node.index] = operands[zero.index(True) - 1]
        elif node.op == "sub" and (zero[1] or operands[0] is operands[1]):
            found[node.index] = operands[0] if zero[1] else graph.constant(0.0)
        elif node.op == "sub" and zero[0]:
            found[node.index] = graph.apply("neg", operands[1])
        else:
            found[node.index] = graph.apply(node.op, *operands) if operands else node
    return [found[root.index] for root in roots]


def _kept(roots: Sequence[Node]) -> list[Node]:
    """The slow terms that fast ones, or the results, read."""
    used = [*roots, *(x for node in reachable(roots) if node.level not in _SLOW for x in node.operands)]
    return list({x.index: x for x in used if x.level in _SLOW and _number(x) is None}.values())


def _function(
    source: Source,
    signature: str,
    what: str,
    kept: Sequence[Node],
    results: Sequence[Node],
    n_p: int,
    n_s: int = 0,
    n_u: int = 0,
) -> None:
    """A function that unpacks what it is given, computes the results, and returns them:
    the slow ones in `dtype`."""
    slow = signature.startswith("prepare")
    source.add("", "")
    with source.block(f"def {signature}:"):
        source.add(f'"""{what}"""')
        nodes, known = reachable(results), {x.index for x in kept}
        used = {node.value for node in nodes if node.op == "leaf"}
        names = [("p", n_p)] if slow else [("s", n_s), ("u", n_u)]
        source.add(
            *[
                f"{letter}{i} = {letter}[{i}]"
                for letter, n in names
                for i in range(n)
                if f"{letter}{i}" in used
            ]
        )
        source.add("one = torch.ones((), dtype=h.dtype, device=h.device)" if slow else "one = kept[0]")
        source.add(*[f"{text(x)} = kept[{i}]" for i, x in enumerate(kept, 1)])
        wanted = Lines(results, known)
        source.add(*wanted.lines)
        values = [wanted.name(x, tensor=True) for x in results]
        if slow:
            source.add(f"return [x.to(dtype) for x in ({', '.join(['one', *values])},)]")
        else:
            source.add(f"return [{', '.join(values)}]" if len(values) > 1 else f"return {values[0]}")


class Lines:
    """`lines`, one for each node that is not known yet.
    A name is used again once nobody reads it any more, so that its memory is."""

    def __init__(self, results: Sequence[Node], known: set[int]):
        waiting, wanted = list(results), {}
        while waiting:
            node = waiting.pop()
            if (
                node.index not in wanted
                and node.index not in known
                and node.operands
                and _number(node) is None
            ):
                wanted[node.index] = node
                waiting += node.operands
        nodes = [wanted[index] for index in sorted(wanted)]
        self.names: dict[int, str] = {}
        last = {x.index: k for k, node in enumerate(nodes) for x in node.operands} | {
            x.index: len(nodes) for x in results
        }
        free: list[str] = []
        self.lines: list[str] = []
        for k, node in enumerate(nodes):
            line = self.written(node)
            for x in {x.index: x for x in node.operands}.values():
                if x.index in self.names and last[x.index] == k:
                    free.append(self.names[x.index])
            self.names[node.index] = free.pop() if free else f"x{len(set(self.names.values()))}"
            self.lines.append(f"{self.names[node.index]} = {line}")

    def name(self, node: Node, *, tensor: bool = False) -> str:
        value = _number(node)
        if value is None:
            return self.names.get(node.index) or text(node)
        if isinstance(value, bool):
            return str(value)
        written = text(Node("constant", (), Level.CONSTANT, -1, value)).replace("math.", "torch.")
        return f"{written} * one" if tensor else written

    def written(self, node: Node) -> str:
        """A node's formula. Numbers stay numbers where torch takes them;
        where it would have none to go by, the first becomes a tensor."""
        op, operands = node.op, node.operands
        numbers = [_number(x) is not None for x in operands]
        if op in ("max", "min") and any(numbers):
            x, limit = (operands[1], operands[0]) if numbers[0] else operands
            return f"torch.clamp({self.name(x)}, {'min' if op == 'max' else 'max'}={self.name(limit)})"
        if op == "select":
            return TORCH[op].format(
                self.name(operands[0]),
                self.name(operands[1]),
                self.name(operands[2], tensor=all(numbers[1:])),
            )
        if op not in TORCH:
            raise NotLowered(f"the primitive {op!r} has no row in the table of torch primitives")
        return TORCH[op].format(
            *(self.name(x, tensor=all(numbers) and k == 0) for k, x in enumerate(operands))
        )


def _number(node: Node) -> float | bool | None:
    """The value of a node that is a number, or plain arithmetic of numbers; None for everything else."""
    if node.op == "constant":
        # a constant's value is a number
        return node.value if isinstance(node.value, bool) else float(node.value)  # type: ignore[arg-type]
    if node.op not in _NUMBERS or node.level is not Level.CONSTANT:
        return None
    values = [_number(x) for x in node.operands]
    if any(x is None for x in values) or (node.op == "div" and values[1] == 0):
        return None
    value = float(_NUMBERS[node.op](*values))
    return value if math.isfinite(value) else None
