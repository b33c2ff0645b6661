"""Nodes and linear forms as lines of straight-line Python that numba compiles."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..ir import Choice, Form, Level, Node
from ..lower import Function
from ..primitives import COSTLY, PRIMITIVES

VECTOR = 4
"""Lanes are padded to a multiple of this many numbers, so that the loop over them needs no remainder."""


@dataclass
class Source:
    """Lines of source text under construction."""

    lines: list[str] = field(default_factory=list)
    depth: int = 0

    def add(self, *lines: str) -> None:
        self.lines += ["    " * self.depth + line for line in lines]

    @contextlib.contextmanager
    def block(self, header: str) -> Iterator[None]:
        """What is added meanwhile goes under the header, or the header goes too if nothing was."""
        before = len(self.lines)
        self.add(header)
        self.depth += 1
        yield
        self.depth -= 1
        if len(self.lines) == before + 1:
            self.lines.pop()

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


def text(node: Node) -> str:
    """How a node is written where it is used: a number, or a name."""
    if node.op == "leaf":
        return str(node.value)
    if node.op != "constant":
        return f"v{node.index}"
    if isinstance(node.value, bool):
        return str(node.value)
    value = float(node.value)  # type: ignore[arg-type]  # a constant's value is a number
    if math.isnan(value):
        return "math.nan"
    written = repr(value) if math.isfinite(value) else f"{'-' if value < 0 else ''}math.inf"
    return f"({written})" if written.startswith("-") else written


def reachable(roots: Iterable[Node]) -> list[Node]:
    """The roots and everything they are made of, each node after its operands."""
    seen: dict[int, Node] = {}
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if node.index not in seen:
            seen[node.index] = node
            waiting += node.operands
    return [seen[index] for index in sorted(seen)]


def statements(roots: Sequence[Node], *levels: Level) -> list[str]:
    """The lines that compute the nodes of these levels that the roots need."""
    nodes = [node for node in reachable(roots) if node.operands and node.level in levels]
    if Level.STATE in levels:
        return _Branching(nodes, roots).lines
    return [_statement(node) for node in nodes]  # outside the loop over steps there is no hurry


def _statement(node: Node) -> str:
    return f"{text(node)} = {PRIMITIVES[node.op].format(*map(text, node.operands))}"


Decision = tuple[int, bool]
"""(index of a condition, the way it falls)"""


class _Branching:
    """One line for each node, in order. A selection is one instruction like any other, unless a costly term
    is needed only where it falls one way, such as a division when a joint stops: then it becomes a branch,
    with what it needs inside.
    """

    def __init__(self, nodes: list[Node], roots: Iterable[Node]):
        self.nodes, needed_if = {node.index for node in nodes}, _needed_if(nodes, roots)
        worth_a_branch = frozenset().union(*(needed_if[node.index] for node in nodes if node.op in COSTLY))
        self.needed_if = {index: decisions & worth_a_branch for index, decisions in needed_if.items()}
        self.worth_a_branch = worth_a_branch
        self.written: dict[int, list[frozenset[Decision]]] = {node.index: [] for node in nodes}
        self.lines: list[str] = []
        self.write(nodes, frozenset(), "")

    def write(self, nodes: Iterable[Node], given: frozenset[Decision], indent: str) -> None:
        """Write what is not known yet where these decisions are given;
        leave out what is only needed if more of them are."""
        for node in nodes:
            known = any(earlier <= given for earlier in self.written[node.index])
            if known or not self.needed_if[node.index] <= given:
                continue
            self.written[node.index].append(given)
            decided = [way for index, way in given if node.op == "select" and index == node.operands[0].index]
            if decided:
                self.lines.append(f"{indent}{text(node)} = {text(node.operands[2 if decided[0] else 1])}")
            elif node.op == "select" and self.worth_a_branch & {
                (node.operands[0].index, True),
                (node.operands[0].index, False),
            }:
                condition, no, yes = node.operands
                for header, way, operand in ((f"if {text(condition)}:", True, yes), ("else:", False, no)):
                    self.lines.append(indent + header)
                    inside = [n for n in reachable([operand]) if n.index in self.nodes]
                    self.write(inside, given | {(condition.index, way)}, indent + "    ")
                    self.lines.append(f"{indent}    {text(node)} = {text(operand)}")
            else:
                self.lines.append(indent + _statement(node))


def _needed_if(nodes: list[Node], roots: Iterable[Node]) -> dict[int, frozenset[Decision]]:
    """For each node, the decisions without which nobody needs it: those that all its uses have in common."""
    found: dict[int, frozenset[Decision]] = {root.index: frozenset() for root in roots}
    for node in reversed(nodes):
        for place, operand in enumerate(node.operands):
            here = found[node.index]
            if node.op == "select" and place > 0:
                here = here | {(node.operands[0].index, place == 2)}
            found[operand.index] = found.get(operand.index, here) & here
    return found


def loads(names: Iterable[str], roots: Iterable[Node], array: str) -> list[str]:
    """`p0 = P[c, 0]` and so on, for the leaves that the roots need."""
    used = {node.value for node in reachable(roots) if node.op == "leaf"}
    return [f"{name} = {array.format(i)}" for i, name in enumerate(names) if name in used]


@dataclass
class Scratch:
    """One flat array Z, laid out in rows of `width` numbers, that holds everything with lanes.

    One array and not several, because then the compiler knows that they do not overlap and uses vector
    instructions.
    """

    lanes: int
    rows: int = 0

    @property
    def width(self) -> int:
        return -(-self.lanes // VECTOR) * VECTOR

    def take(self, n_rows: int) -> int:
        """Reserve rows; give where the first begins."""
        self.rows += n_rows
        return (self.rows - n_rows) * self.width


@dataclass
class LaneCode:
    """The tangents of one function: the body of its loop over lanes, and the seeds to be stored before it.

    `tangents` is where the states' tangents begin in Z; the results go to `results`, which may be the same
    place.
    """

    function: Function
    scratch: Scratch
    tangents: int
    results: int
    seeds: dict[Level, list[str]] = field(default_factory=lambda: {level: [] for level in Level})
    body: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        vectors = _needed(self.function)
        read = sorted(
            {
                k
                for form in [*vectors.values(), *self.function.tangents]
                for k in _parts(form)
                if k.startswith("d")
            }
        )
        width = self.scratch.width
        self.body += [f"{k} = Z[{self.tangents + int(k[1:]) * width} + j]" for k in read]
        for name, what in vectors.items():
            if isinstance(what, Choice):
                self.body.append(
                    f"{name} = choose({text(what.condition)}, {what.yes or 0.0}, {what.no or 0.0})"
                )
            else:
                self.body.append(f"{name} = {self.written(what)}")
        for i, form in enumerate(self.function.tangents):
            result, place = self.written(form), f"Z[{self.results + i * width} + j]"
            if self.results != self.tangents or result != f"d{i}":
                self.body.append(f"{place} = {result}")

    def written(self, form: Form) -> str:
        """c_0 * d0 + c_1 * t4 + ..., with the seeds read from a row of their own."""
        terms = "".join(_term(name, c) for name, c in form.lanes.items())
        if form.seeds:
            row = self.scratch.take(1)
            for lane, c in form.seeds.items():
                self.seeds[c.level].append(f"Z[{row + lane}] = {text(c)}")
            terms += f" + Z[{row} + j]"
        return terms.removeprefix(" + ") or "0.0"

    @property
    def roots(self) -> list[Node]:
        """Every node that the values, the coefficients and the seeds are made of."""
        found = list(self.function.values)
        for form in [*_needed(self.function).values(), *self.function.tangents]:
            if isinstance(form, Choice):
                found.append(form.condition)
            else:
                found += [*form.lanes.values(), *form.seeds.values()]
        return found


def _term(name: str, c: Node) -> str:
    if c.is_constant(1.0):
        return f" + {name}"
    if c.is_constant(-1.0):
        return f" - {name}"
    return f" - {text(c.operands[0])} * {name}" if c.op == "neg" else f" + {text(c)} * {name}"


def _parts(what: Form | Choice) -> Sequence[str]:
    return list(what.lanes) if isinstance(what, Form) else [k for k in (what.no, what.yes) if k is not None]


def _needed(function: Function) -> dict[str, Form | Choice]:
    """The vectors that the results depend on, in order."""
    needed = {k for form in function.tangents for k in _parts(form)}
    for name, what in reversed(function.vectors.items()):
        if name in needed:
            needed.update(_parts(what))
    return {name: what for name, what in function.vectors.items() if name in needed}
