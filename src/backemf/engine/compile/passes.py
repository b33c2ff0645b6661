"""Passes over the graph that every language shares: what is needed, what is slow, what cancels, where a
branch pays.

A term that changes slowly is computed once and kept; `kept_terms` finds which. In 32 bits a state is
advanced by
its change, `after = state + change`, and the change itself is written without the state it is added to
wherever the traced formula lets the two cancel (`change`): in 64 bits that is the same number, in 32 bits it
keeps the digits that `after - state` would lose.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .ir import Graph, Level, Node
from .trace import COSTLY

_ARITHMETIC = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
}


def reachable(roots: Iterable[Node], known: Iterable[Node] = ()) -> list[Node]:
    """The roots and everything they are made of, each node after its operands; what is known already, and
    what only that is made of, is left out."""
    seen: dict[int, Node] = {}
    waiting, given = list(roots), {node.index for node in known}
    while waiting:
        node = waiting.pop()
        if node.index not in seen and node.index not in given:
            seen[node.index] = node
            waiting += node.operands
    return [seen[index] for index in sorted(seen)]


def leaves(roots: Iterable[Node]) -> set[str]:
    """Names of the leaves that the roots are made of."""
    return {str(node.value) for node in reachable(roots) if node.op == "leaf"}


def numbered_leaves(roots: Iterable[Node], letters: Sequence[str]) -> list[str]:
    """The leaves p0, p1, ... among those of the roots, letter by letter."""
    used = [name for name in leaves(roots) if name[0] in letters and name[1:].isdigit()]
    return sorted(used, key=lambda name: (letters.index(name[0]), int(name[1:])))


def number(node: Node) -> float | bool | None:
    """The value of a node that is a number, or plain arithmetic of numbers; None for everything else."""
    if node.op == "constant":
        return bool(node.value) if is_truth(node) else node.number
    if node.op not in _ARITHMETIC or node.level is not Level.CONSTANT:
        return None
    values = [number(x) for x in node.operands]
    if any(x is None for x in values) or (node.op == "div" and values[1] == 0):
        return None
    value = float(_ARITHMETIC[node.op](*values))
    return value if math.isfinite(value) else None


TRUTHS = frozenset({"lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "not", "is_finite"})
"""Operations that give a truth value."""


def is_truth(node: Node) -> bool:
    """Whether a node is true or false, for languages that must say so."""
    if node.op == "select":
        return is_truth(node.operands[1])
    return node.op in TRUTHS or (node.op == "constant" and isinstance(node.value, bool))


def computed_terms(roots: Iterable[Node], levels: Iterable[Level]) -> list[Node]:
    """The nodes of these levels that must be computed for the roots, in order."""
    return [n for n in reachable(roots) if n.operands and n.level in levels and number(n) is None]


def kept_terms(roots: Sequence[Node], slow: Sequence[Level]) -> list[Node]:
    """The slow terms that fast ones, or the roots, read."""
    used = [*roots, *(x for node in reachable(roots) if node.level not in slow for x in node.operands)]
    return list({x.index: x for x in used if x.level in slow and number(x) is None}.values())


def tidy(graph: Graph, roots: Sequence[Node]) -> list[Node]:
    """The same terms without what adds or multiplies with nothing; numbers are finite here, so 0 times any of
    them is 0."""
    known: dict[int, Node] = {}
    for node in reachable(roots):
        operands = [known[x.index] for x in node.operands]
        known[node.index] = _tidy_term(graph, node.op, operands) if operands else node
    return [known[root.index] for root in roots]


def _tidy_term(graph: Graph, op: str, operands: list[Node]) -> Node:
    zero = [number(x) == 0 for x in operands]
    if op == "mul" and any(zero):
        return graph.constant(0.0)
    if op == "add" and any(zero):
        return operands[zero.index(True) - 1]
    if op == "sub" and (zero[1] or operands[0] is operands[1]):
        return operands[0] if zero[1] else graph.constant(0.0)
    if op == "sub" and zero[0]:
        return graph.apply("neg", operands[1])
    return graph.apply(op, *operands)


def change(graph: Graph, node: Node, leaf: Node) -> Node | None:
    """`node - leaf` with the leaf cancelled.

    Args:
        graph: takes the new terms.
        node: the term.
        leaf: what is taken from it.

    Returns:
        The difference; None where the formula does not show the leaf as something added.
    """
    if node is leaf:
        return graph.constant(0.0)
    if len(node.operands) < 2:
        return None
    a, b = node.operands[-2:]
    if node.op == "add":
        for x, y in ((a, b), (b, a)):
            relaxed = _relax(graph, x, y, leaf)
            if relaxed is not None:
                return relaxed
            inside = change(graph, x, leaf)
            if inside is not None:
                return graph.total(inside, y)
    if node.op == "sub":
        inside = change(graph, a, leaf)
        return None if inside is None else graph.apply("sub", inside, b)
    if node.op in ("select", "max", "min"):  # less the leaf on both sides, the same one is taken
        pair = [change(graph, x, leaf) for x in (a, b)]
        if pair != [None, None]:
            less = [c or graph.apply("sub", x, leaf) for x, c in zip((a, b), pair, strict=True)]
            return graph.apply(node.op, *node.operands[:-2], *less)
    return None


def _relax(graph: Graph, goal: Node, moved: Node, leaf: Node) -> Node | None:
    """goal + (leaf - goal) e  is a change of (leaf - goal) (e - 1), and exp(x) - 1 has all its digits as
    expm1(x)."""
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


def without(graph: Graph, node: Node, after: Node, before: Node, difference: Node) -> Node:
    """The same term with `after - before` replaced by the difference found elsewhere.

    Args:
        graph: takes the new terms.
        node: the term.
        after: of the difference.
        before: of the difference.
        difference: what stands in its place.

    Returns:
        The term.
    """
    if node.op == "sub" and node.operands == (after, before):
        return difference
    if not node.operands or node.level is not Level.STATE or node is after:
        return node
    return graph.apply(node.op, *(without(graph, x, after, before, difference) for x in node.operands))


class Branch(NamedTuple):
    """A selection that is written as a decision: what each way needs is computed inside it."""

    node: Node
    condition: Node
    yes: list[Node | Branch | Copy]
    no: list[Node | Branch | Copy]


class Copy(NamedTuple):
    """A selection whose way is known here: the node is simply this operand."""

    node: Node
    operand: Node


Decision = tuple[int, bool]
"""(index of a condition, the way it falls)"""


def branching(nodes: list[Node], roots: Iterable[Node], least: int = 1) -> list[Node | Branch | Copy]:
    """The nodes in order. A selection is one operation like any other, unless a costly term is needed only
    where it falls one way, such as a division when a joint stops: then it becomes a `Branch`.

    Args:
        nodes: to be computed, each after its operands.
        roots: what is wanted in the end.
        least: how many terms a branch must spare.

    Returns:
        Nodes, branches, and copies inside them.
    """
    needed_if = _needed_if(nodes, roots)
    spared = Counter(decision for node in nodes for decision in needed_if[node.index])
    worth = frozenset().union(*(needed_if[node.index] for node in nodes if node.op in COSTLY))
    worth = frozenset(decision for decision in worth if spared[decision] >= least)
    needed = {index: decisions & worth for index, decisions in needed_if.items()}
    inside = {node.index for node in nodes}
    written: dict[int, list[frozenset[Decision]]] = {node.index: [] for node in nodes}

    def plan(some: Iterable[Node], given: frozenset[Decision]) -> list[Node | Branch | Copy]:
        """What is not known yet where these decisions are given, less what is only needed if more of them
        are."""
        steps: list[Node | Branch | Copy] = []
        for node in some:
            known = any(earlier <= given for earlier in written[node.index])
            if known or not needed[node.index] <= given:
                continue
            written[node.index].append(given)
            decided = [way for index, way in given if node.op == "select" and index == node.operands[0].index]
            if decided:
                steps.append(Copy(node, node.operands[2 if decided[0] else 1]))
            elif node.op == "select" and worth & {(node.operands[0].index, way) for way in (True, False)}:
                ways = [way_to(node, way, given) for way in (True, False)]
                steps.append(Branch(node, node.operands[0], *ways))
            else:
                steps.append(node)
        return steps

    def way_to(node: Node, way: bool, given: frozenset[Decision]) -> list[Node | Branch | Copy]:
        """One way of a decision, up to its value."""
        operand = node.operands[2 if way else 1]
        own = [n for n in reachable([operand]) if n.index in inside]
        return [*plan(own, given | {(node.operands[0].index, way)}), Copy(node, operand)]

    return plan(nodes, frozenset())


def _needed_if(nodes: list[Node], roots: Iterable[Node]) -> dict[int, frozenset[Decision]]:
    """For each node, the decisions without which nobody needs it: those that all its uses have in common."""
    common: dict[int, frozenset[Decision]] = {root.index: frozenset() for root in roots}
    for node in reversed(nodes):
        for place, operand in enumerate(node.operands):
            here = common[node.index]
            if node.op == "select" and place > 0:
                here = here | {(node.operands[0].index, place == 2)}
            common[operand.index] = common.get(operand.index, here) & here
    return common


def names_used_again(nodes: Sequence[Node], results: Sequence[Node]) -> dict[int, str]:
    """A name for each node; one is used again once nobody reads it any more, so that its memory is."""
    last = {x.index: k for k, node in enumerate(nodes) for x in node.operands}
    last |= {x.index: len(nodes) for x in results}
    names: dict[int, str] = {}
    free: list[str] = []
    for k, node in enumerate(nodes):
        for index in {x.index for x in node.operands}:
            if index in names and last[index] == k:
                free.append(names[index])
        names[node.index] = free.pop() if free else f"x{len(set(names.values()))}"
    return names
