"""One-place changes of a Python file, found on its syntax tree: signs, factors, terms, arguments, conditions.

A change replaces the text of one operator, number, name or pair of arguments; the rest of the file stays as
it is, byte for byte. Left out is what no test should have an opinion on: texts and f-strings, errors that are
raised, annotations, decorators, assertions, representations, tolerances, indices that are plain numbers.
"""

from __future__ import annotations

import ast
import itertools
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from .nodes import (
    EXTREMES,
    UNLIKE,
    UNORDERED,
    about_the_machine,
    alike,
    called,
    defined,
    extent,
    is_setting,
    is_text,
    left_out,
    of_text,
)

KINDS = (
    "sign",
    "factor",
    "comparison",
    "dropped term",
    "swapped arguments",
    "and/or",
    "min/max",
    "condition",
)
TOLERANCE, HUGE = 1e-6, 1e6
"""Numbers outside are tolerances and stand-ins for infinity: twice as much of them changes nothing."""
COUNT = 20
"""Whole numbers up to this become one more, larger ones twice as much."""
_SIGNS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+")}
_FACTORS = {ast.Mult: ("*", "/"), ast.Div: ("/", "*")}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: ">",
    ast.Gt: "<",
    ast.LtE: ">",
    ast.GtE: "<",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
"""Not `<` to `<=`: the two differ where floats are equal, which no recording ever is."""
_COMPARED = re.compile(rb"not\s+in|is\s+not|is|in|==|!=|<=|>=|<|>")


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of one file: the bytes from `start` to `end` become `new`."""

    file: str
    line: int
    kind: str
    start: int
    end: int
    new: str
    before: str
    """The line, or the lines, of the change as they are, without surrounding space."""
    after: str
    """The same with the change."""
    statement: tuple[int, int]
    """First and last line of the statement it stands in."""
    defines: str = ""
    """What that statement defines where it runs on import: a constant, a field."""
    site: tuple[int, int] = (0, 0)
    """The node it changes; several changes of one node share it."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}  {self.kind}  {self.before} -> {self.after}"


def applied(source: bytes, mutant: Mutant) -> bytes:
    """The file with the change."""
    return source[: mutant.start] + mutant.new.encode() + source[mutant.end :]


def mutants_of(source: bytes, file: str) -> list[Mutant]:
    """Every change of a file, in the order of its text."""
    found: dict[bytes, Mutant] = {}
    for mutant in _File(source, file).changes():
        changed = applied(source, mutant)
        if changed != source:
            found.setdefault(changed, mutant)
    return sorted(found.values(), key=_order)


def is_python(changed: bytes) -> bool:
    """Whether a changed file can be read at all; an operand may have needed its brackets."""
    try:
        ast.parse(changed)
    except SyntaxError:
        return False
    return True


def sampled(
    mutants: Iterable[Mutant], n: int, seed: int, usable: Callable[[Mutant], bool] = lambda mutant: True
) -> list[Mutant]:
    """Some of them, the same for the same seed: places are drawn alike, and one change of each;
    second changes of a place only where there are too few places."""
    draw = random.Random(seed)
    places: dict[tuple[str, tuple[int, int]], list[Mutant]] = {}
    for mutant in sorted(mutants, key=_order):
        places.setdefault((mutant.file, mutant.site), []).append(mutant)
    left = [draw.sample(changes, len(changes)) for changes in places.values()]
    draw.shuffle(left)
    most = max(map(len, left), default=0)
    drawn = (changes[k] for k in range(most) for changes in left if k < len(changes))
    return sorted(itertools.islice(filter(usable, drawn), n), key=_order)


def _order(mutant: Mutant) -> tuple[str, int, int, str]:
    return mutant.file, mutant.start, mutant.end, mutant.new


@dataclass(frozen=True)
class _Place:
    """Where a node stands."""

    parent: ast.AST
    statement: ast.stmt
    on_import: bool = True
    """Whether it runs when the file is imported, outside every function."""
    index: bool = False
    """Whether it is inside square brackets."""


class _File:
    """A file being changed."""

    def __init__(self, source: bytes, file: str):
        self.source, self.file = source, file
        self.tree = ast.parse(source)
        self.lines = source.splitlines(keepends=True)
        self.offsets = [0]
        for line in self.lines:
            self.offsets.append(self.offsets[-1] + len(line))
        self.names = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)} | {
            a.asname or a.name
            for n in ast.walk(self.tree)
            if isinstance(n, ast.ImportFrom | ast.Import)
            for a in n.names
        }

    def changes(self) -> Iterator[Mutant]:
        for statement in self.tree.body:
            for node, place in _visited(statement, _Place(self.tree, statement)):
                for kind, start, end, new in self._of(node, place):
                    yield self._mutant(kind, start, end, new, node, place)

    def _of(self, node: ast.AST, place: _Place) -> Iterator[tuple[str, int, int, str]]:
        match node:
            case ast.BinOp():
                yield from self._binary(node)
            case ast.AugAssign():
                yield from self._in_place(node)
            case ast.UnaryOp(op=ast.USub()):
                if not (place.index and isinstance(node.operand, ast.Constant)):
                    yield "sign", self.start(node), self._after_word(node, 1), ""
            case ast.UnaryOp(op=ast.Not()):
                yield "condition", self.start(node), self._after_word(node, 3), ""
            case ast.Constant():
                yield from self._number(node, place)
            case ast.Compare():
                yield from self._comparison(node)
            case ast.BoolOp():
                yield from self._boolean(node)
            case ast.Call():
                yield from self._call(node)
        yield from self._negated(node)

    def _binary(self, node: ast.BinOp) -> Iterator[tuple[str, int, int, str]]:
        kind, table = ("sign", _SIGNS) if type(node.op) in _SIGNS else ("factor", _FACTORS)
        if type(node.op) not in table or of_text(node):
            return
        word, other = table[type(node.op)]
        at = self._operator(node.left, node.right, word)
        yield kind, at, at + 1, other
        kept = len(self.source[:at].rstrip())
        yield "dropped term", kept, self.end(node), ""
        if word in "+*":
            rest = self.source[at + 1 :]
            yield "dropped term", self.start(node), at + 1 + len(rest) - len(rest.lstrip()), ""

    def _in_place(self, node: ast.AugAssign) -> Iterator[tuple[str, int, int, str]]:
        kind, table = ("sign", _SIGNS) if type(node.op) in _SIGNS else ("factor", _FACTORS)
        if type(node.op) in table and not is_text(node.value):
            word, other = table[type(node.op)]
            at = self._operator(node.target, node.value, word)
            yield kind, at, at + 1, other

    def _number(self, node: ast.Constant, place: _Place) -> Iterator[tuple[str, int, int, str]]:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return
        if value and not TOLERANCE <= abs(value) <= HUGE:
            return
        if isinstance(value, int) and (place.index or is_setting(node, place.parent)):
            return
        if isinstance(place.parent, ast.MatchValue):
            return
        more = value + 1 if not value or (isinstance(value, int) and value <= COUNT) else 2 * value
        yield "factor", self.start(node), self.end(node), repr(more)

    def _comparison(self, node: ast.Compare) -> Iterator[tuple[str, int, int, str]]:
        if about_the_machine(node):
            return
        sides = [node.left, *node.comparators]
        for left, right, op in zip(sides, node.comparators, node.ops, strict=False):
            at = self.end(left)
            found = _COMPARED.search(self._without_comments(at, self.start(right)))
            assert found
            yield "comparison", at + found.start(), at + found.end(), _COMPARISONS[type(op)]

    def _boolean(self, node: ast.BoolOp) -> Iterator[tuple[str, int, int, str]]:
        word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            at = self._operator(left, right, word)
            yield "and/or", at, at + len(word), other

    def _call(self, node: ast.Call) -> Iterator[tuple[str, int, int, str]]:
        name = called(node)
        if name in EXTREMES:
            other, end = EXTREMES[name], self.end(node.func)
            if isinstance(node.func, ast.Attribute) or name in ("min", "max") or other in self.names:
                yield "min/max", end - len(name), end, other
        if any(isinstance(a, ast.Starred) for a in node.args):
            return
        if name in ("where", "select"):
            if len(node.args) == 3 and not alike(*node.args[1:]):
                yield "condition", *self._swap(node.args[1], node.args[2])
        elif name not in UNORDERED | UNLIKE:
            for a, b in zip(node.args, node.args[1:], strict=False):
                if not (is_text(a) or is_text(b) or alike(a, b)):
                    yield "swapped arguments", *self._swap(a, b)

    def _negated(self, node: ast.AST) -> Iterator[tuple[str, int, int, str]]:
        tests = node.ifs if isinstance(node, ast.comprehension) else [getattr(node, "test", None)]
        for test in tests if isinstance(node, ast.If | ast.IfExp | ast.comprehension) else []:
            if test is None or (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
                continue
            if (isinstance(test, ast.Compare) and len(test.ops) == 1) or about_the_machine(test):
                continue
            start, end = self.start(test), self.end(test)
            yield "condition", start, end, f"not ({self.source[start:end].decode()})"

    def _swap(self, a: ast.expr, b: ast.expr) -> tuple[int, int, str]:
        first, end_a, start_b, last = self.start(a), self.end(a), self.start(b), self.end(b)
        text = self.source[start_b:last] + self.source[end_a:start_b] + self.source[first:end_a]
        return first, last, text.decode()

    def _mutant(self, kind: str, start: int, end: int, new: str, node: ast.AST, place: _Place) -> Mutant:
        first, last = self._line(start), self._line(max(start, end - 1))
        from_, to = self.offsets[first - 1], self.offsets[last]
        before = self.source[from_:to]
        after = self.source[from_:start] + new.encode() + self.source[end:to]
        return Mutant(
            file=self.file,
            line=first,
            kind=kind,
            start=start,
            end=end,
            new=new,
            before=_one_line(before),
            after=_one_line(after),
            statement=extent(place.statement),
            defines=defined(place.statement) if place.on_import else "",
            site=(self.start(node), self.end(node)) if hasattr(node, "lineno") else (start, end),
        )

    def start(self, node: ast.AST) -> int:
        # expressions and statements have places:
        return self.offsets[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        # expressions and statements have places:
        return self.offsets[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def _line(self, offset: int) -> int:
        return self.source.count(b"\n", 0, offset) + 1

    def _operator(self, left: ast.AST, right: ast.AST, word: str) -> int:
        between = self._without_comments(self.end(left), self.start(right))
        return self.end(left) + between.index(word.encode())

    def _without_comments(self, start: int, end: int) -> bytes:
        """The text between two operands, its comments blank."""
        return re.sub(rb"#[^\n]*", lambda m: b" " * len(m.group()), self.source[start:end])

    def _after_word(self, node: ast.AST, length: int) -> int:
        rest = self.source[self.start(node) + length :]
        return self.start(node) + length + len(rest) - len(rest.lstrip())


def _visited(node: ast.AST, place: _Place) -> Iterator[tuple[ast.AST, _Place]]:
    """Every node that may be changed, with where it stands."""
    if left_out(node):
        return
    yield node, place
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        if name in ("test", "body") and isinstance(node, ast.If) and about_the_machine(node.test):
            continue  # code for another machine than this one
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            inside = replace(place, parent=node)
            if isinstance(child, ast.stmt):
                inside = replace(inside, statement=child)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and name == "body":
                inside = replace(inside, on_import=False)
            if isinstance(node, ast.Subscript) and name == "slice":
                inside = replace(inside, index=True)
            if name == "args" and isinstance(node, ast.FunctionDef) and node.name.startswith("plot"):
                continue
            yield from _visited(child, inside)


def _one_line(text: bytes) -> str:
    return " ".join(text.decode().split())
