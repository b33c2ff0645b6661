"""Source text under construction, and nodes as text in whichever language: `Words` is the table of one."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import NotLowered
from .ir import Level, Node
from .passes import Branch, Copy, branching, computed_terms, leaves, number
from .trace import PRIMITIVES


@dataclass
class SourceText:
    """Lines of source text under construction."""

    lines: list[str] = field(default_factory=list)
    depth: int = 0

    def add(self, *lines: str) -> None:
        """Add lines, indented as deep as the block they are in."""
        self.lines += ["    " * self.depth + line if line else "" for line in lines]

    @contextlib.contextmanager
    def block(self, header: str, end: str = "", *, keep: bool = False) -> Iterator[None]:
        """What is added meanwhile goes under the header; if nothing was, the header goes too.

        Args:
            header: the line that opens it.
            end: the line that closes it, where the language has one.
            keep: whether the header stays over nothing.

        Yields:
            Nothing: lines are added meanwhile.
        """
        before = len(self.lines)
        self.add(header)
        self.depth += 1
        yield
        self.depth -= 1
        if len(self.lines) == before + 1 and not keep:
            self.lines.pop()
        elif end:
            self.add(end)

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


ALIKE = {
    **{"add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}"},
    **{"lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}", "ge": "{0} >= {1}"},
    **{"eq": "{0} == {1}", "ne": "{0} != {1}"},
}
"""Operators that most languages write alike."""


def call_words(pattern: str, *names: str) -> dict[str, str]:
    """Words of functions of one number that a language calls by the primitives' own names.

    Args:
        pattern: How it names one, with {} for the primitive: "math.{}".
        names: The primitives.

    Returns:
        Primitive -> template.
    """
    return {name: f"{pattern.format(name)}({{0}})" for name in names}


@dataclass(frozen=True, kw_only=True)
class Words:
    """How a language writes what nodes do."""

    primitives: Mapping[str, str]
    """Primitive -> template; {0}, {1}, {2} are names or numbers."""
    true: str = "True"
    false: str = "False"
    nan: str = "math.nan"
    infinity: str = "math.inf"
    literal: str = "{0}"
    """How a finite number is written, from Python's shortest digits."""
    assign: str = "{0} = {1}"
    decide: str = "if {0}:"
    otherwise: str = "else:"
    end: str = ""
    """Closes a block, where the language has a word for that."""
    branches: bool = True
    """Whether a branch around costly terms pays."""
    spares: int = 1
    """How many terms a branch must spare to pay."""
    blends: bool = False
    """Whether a condition holds in some lanes and not in others: what is usual is computed always, what a
    branch adds where any lane needs it, and each lane takes its own."""

    def __post_init__(self) -> None:
        missing = PRIMITIVES - self.primitives.keys()
        assert not missing, f"no words for {', '.join(sorted(missing))}"

    def constant(self, value: float | bool) -> str:
        """How a number or a truth value is written."""
        if isinstance(value, bool):
            return self.true if value else self.false
        if math.isnan(value):
            return self.nan
        infinite = f"{'-' if value < 0 else ''}{self.infinity}"
        written = self.literal.format(repr(value)) if math.isfinite(value) else infinite
        return f"({written})" if written.startswith("-") else written

    def text(self, node: Node) -> str:
        """How a node is written where it is used: a number, or a name."""
        if node.op == "leaf":
            return str(node.value)
        value = number(node)
        return f"v{node.index}" if value is None else self.constant(value)

    def formula(self, op: str, *operands: str) -> str:
        """How an operation on names and numbers is written."""
        if op not in self.primitives:
            raise NotLowered(f"the primitive {op!r} has no word in this language")
        return self.primitives[op].format(*operands)

    def statement(self, node: Node) -> str:
        """The line that computes a node."""
        return self.assign.format(self.text(node), self.formula(node.op, *map(self.text, node.operands)))

    def statements(self, roots: Sequence[Node], *levels: Level) -> list[str]:
        """The lines that compute the nodes of these levels that the roots need."""
        nodes = computed_terms(roots, levels)
        if Level.STATE not in levels or not self.branches:
            return [self.statement(node) for node in nodes]  # outside the loop over steps there is no hurry
        source = SourceText()
        self._write(branching(nodes, roots, self.spares), source)
        return source.lines

    def _write(self, steps: Iterable[Node | Branch | Copy], source: SourceText) -> None:
        for step in steps:
            self._write_step(step, source)

    @functools.singledispatchmethod
    def _write_step(self, step: Node, source: SourceText) -> None:
        source.add(self.statement(step))

    @_write_step.register
    def _(self, step: Copy, source: SourceText) -> None:
        source.add(self.assign.format(self.text(step.node), self.text(step.operand)))

    @_write_step.register
    def _(self, step: Branch, source: SourceText) -> None:
        (self._blend if self.blends else self._branch)(step, source)

    def _branch(self, step: Branch, source: SourceText) -> None:
        with source.block(self.decide.format(self.text(step.condition))):
            self._write(step.yes, source)
        with source.block(self.otherwise, self.end):
            self._write(step.no, source)

    def _blend(self, step: Branch, source: SourceText) -> None:
        _, no, yes = step.node.operands
        self._write(step.no[:-1], source)
        with source.block(self.decide.format(self.text(step.condition))):
            self._write(step.yes[:-1], source)
            chosen = self.formula("select", *map(self.text, (step.condition, no, yes)))
            source.add(self.assign.format(self.text(step.node), chosen))
        with source.block(self.otherwise, self.end):
            source.add(self.assign.format(self.text(step.node), self.text(no)))

    def loads(self, letter: str, n: int, roots: Iterable[Node], array: str) -> list[str]:
        """`p0 = P[c, 0]` and so on, for the leaves that the roots need.

        Args:
            letter: of the leaves: p.
            n: how many there are.
            roots: what is computed.
            array: where they are read, with {} for the index: "P[c, {}]".

        Returns:
            A line for each leaf.
        """
        used = leaves(roots)
        named = ((f"{letter}{i}", array.format(i)) for i in range(n))
        return [self.assign.format(name, place) for name, place in named if name in used]
