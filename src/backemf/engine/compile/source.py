"""Source text under construction, and nodes as text in whichever language: `Words` is the table of one."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import NotLowered
from .ir import Level, Node
from .passes import Branch, Copy, branching, leaves, number, reachable
from .primitives import PRIMITIVES


@dataclass
class Source:
    """Lines of source text under construction."""

    lines: list[str] = field(default_factory=list)
    depth: int = 0

    def add(self, *lines: str) -> None:
        self.lines += ["    " * self.depth + line for line in lines]

    @contextlib.contextmanager
    def block(self, header: str, end: str = "") -> Iterator[None]:
        """What is added meanwhile goes under the header, or the header goes too if nothing was."""
        before = len(self.lines)
        self.add(header)
        self.depth += 1
        yield
        self.depth -= 1
        if len(self.lines) == before + 1:
            self.lines.pop()
        elif end:
            self.add(end)

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


@dataclass(frozen=True, kw_only=True)
class Words:
    """How a language writes what nodes do."""

    primitives: Mapping[str, str]
    """Primitive -> template; {0}, {1}, {2} are names or numbers."""
    true: str = "True"
    false: str = "False"
    nan: str = "math.nan"
    infinity: str = "math.inf"
    assign: str = "{0} = {1}"
    decide: str = "if {0}:"
    otherwise: str = "else:"
    end: str = ""
    """Closes a block, where the language has a word for that."""

    def __post_init__(self) -> None:
        missing = PRIMITIVES - self.primitives.keys()
        assert not missing, f"no words for {', '.join(sorted(missing))}"

    def constant(self, value: float | bool) -> str:
        if isinstance(value, bool):
            return self.true if value else self.false
        if math.isnan(value):
            return self.nan
        written = repr(value) if math.isfinite(value) else f"{'-' if value < 0 else ''}{self.infinity}"
        return f"({written})" if written.startswith("-") else written

    def text(self, node: Node) -> str:
        """How a node is written where it is used: a number, or a name."""
        if node.op == "leaf":
            return str(node.value)
        value = number(node)
        return f"v{node.index}" if value is None else self.constant(value)

    def formula(self, op: str, *operands: str) -> str:
        if op not in self.primitives:
            raise NotLowered(f"the primitive {op!r} has no word in this language")
        return self.primitives[op].format(*operands)

    def statement(self, node: Node) -> str:
        return self.assign.format(self.text(node), self.formula(node.op, *map(self.text, node.operands)))

    def statements(self, roots: Sequence[Node], *levels: Level) -> list[str]:
        """The lines that compute the nodes of these levels that the roots need."""
        nodes = [n for n in reachable(roots) if n.operands and n.level in levels and number(n) is None]
        if Level.STATE not in levels:
            return [self.statement(node) for node in nodes]  # outside the loop over steps there is no hurry
        source = Source()
        self._write(branching(nodes, roots), source)
        return source.lines

    def _write(self, steps: Iterable[Node | Branch | Copy], source: Source) -> None:
        for step in steps:
            if isinstance(step, Copy):
                source.add(self.assign.format(self.text(step.node), self.text(step.operand)))
            elif isinstance(step, Branch):
                with source.block(self.decide.format(self.text(step.condition))):
                    self._write(step.yes, source)
                with source.block(self.otherwise, self.end):
                    self._write(step.no, source)
            else:
                source.add(self.statement(step))

    def loads(self, letter: str, n: int, roots: Iterable[Node], array: str) -> list[str]:
        """`p0 = P[c, 0]` and so on, for the leaves that the roots need."""
        used = leaves(roots)
        named = ((f"{letter}{i}", array.format(i)) for i in range(n))
        return [self.assign.format(name, place) for name, place in named if name in used]
