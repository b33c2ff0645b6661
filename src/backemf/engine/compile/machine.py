"""From the body of a kernel, in the few words of Python that kernels need, to machine instructions.

numba could compile the same text, but looks up the meaning of every `+` anew, and a kernel has a thousand of
them: that takes five times as long as everything else. So it gets a function that calls one thing, for which
this file writes the instructions. Numbers are float64, int64 or bool; arrays are contiguous; an index is
never negative; nothing is raised.
"""

from __future__ import annotations

import ast
import math
import operator
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import intrinsic
from numba.core.typing.templates import signature

_BINARY = {
    ast.Add: ("add", "fadd"),
    ast.Sub: ("sub", "fsub"),
    ast.Mult: ("mul", "fmul"),
    ast.Div: (None, "fdiv"),
    ast.BitAnd: ("and_", None),
    ast.BitOr: ("or_", None),
    ast.BitXor: ("xor", None),
}
_COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_MODULES = {"math": math, "np": np}


class TypedValue(NamedTuple):
    """An instruction's result, and its type."""

    is_: Any
    type: types.Type

    @property
    def is_vector(self) -> bool:
        """Whether it is a number for each lane."""
        return type(self.is_.type) is ir.VectorType


def stored_names(tree: ast.AST) -> list[str]:
    """Names that are given a value in a text, as often as they are."""
    return [node.id for node in ast.walk(tree) if type(node) is ast.Name and type(node.ctx) is ast.Store]


def body(text: str, writer: type[Writer] | None = None) -> Callable[..., None]:
    """What the function in this text does, to be called with a tuple of its arguments in one that numba
    compiles; the text is not read before it does."""

    @intrinsic
    def run(context: Any, given: Any) -> Any:
        def instructions(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            function: Any = ast.parse(text).body[0]
            names = [argument.arg for argument in function.args.args]
            named = {
                name: TypedValue(builder.extract_value(values[0], i), type_)
                for i, (name, type_) in enumerate(zip(names, given.types, strict=True))
            }
            (writer or Writer)(context, builder, named).write(function)
            return context.get_dummy_value()

        return types.void(given), instructions

    return run


class Writer:
    """Walks through a text and writes what it says.

    Texts are our own and of few words, so a node's attributes are taken as what its place in the text makes
    them; pyright, which cannot know that, is told to ignore it where it asks.
    """

    def __init__(self, context: Any, builder: Any, named: dict[str, TypedValue]):
        self.context, self.builder = context, builder
        arrays: dict[str, Any] = {k: v for k, v in named.items() if isinstance(v.type, types.Array)}
        self.named = {k: v for k, v in named.items() if k not in arrays}
        made = {k: context.make_array(v.type)(context, builder, v.is_) for k, v in arrays.items()}
        self.data = {k: x.data for k, x in made.items()}
        self.shapes = {k: cgutils.unpack_tuple(builder, x.shape) for k, x in made.items()}
        self.element = {k: v.type.dtype for k, v in arrays.items()}
        self.places: dict[str, tuple[Any, types.Type]] = {}
        self.ends: list[Any] = []
        """Where a `break` goes."""

    def write(self, text: ast.FunctionDef) -> None:
        """The whole function."""
        often = Counter(stored_names(text))
        branches = [node for node in ast.walk(text) if type(node) is ast.If]
        decided = {name for branch in branches for name in stored_names(branch)}
        # What is given one value, on every way, needs no place in memory.
        self.once = {name for name, times in often.items() if times == 1} - decided
        self.block(text.body)

    def block(self, statements: list[ast.stmt]) -> None:
        """Statements, one after the other."""
        for statement in statements:
            getattr(self, type(statement).__name__)(statement)

    # Statements

    def Assign(self, node: ast.Assign) -> None:
        """`a = b`, `a, b = c, d`, or `Z[:] = 0.0`."""
        (target,) = node.targets
        match target, node.value:
            case ast.Tuple(elts=targets), ast.Tuple(elts=given):
                values = [self.value(x) for x in given]  # all of them before the first is stored
                for one, value in zip(targets, values, strict=True):
                    self.store(one, value)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice()), _:
                self.fill(name, self.value(node.value))
            case _:
                self.store(target, self.value(node.value))

    def AugAssign(self, node: ast.AugAssign) -> None:
        """`a += b` of a name or an element."""
        match node.target:
            case ast.Name():
                self.store(node.target, self.binary(node.op, self.Name(node.target), self.value(node.value)))
            case ast.Subscript():
                place, type_ = self.place(node.target)
                before = self.load(place, type_)
                self.keep(place, type_, self.binary(node.op, before, self.value(node.value)))

    def For(self, node: ast.For) -> None:
        # kernels use plain names here:
        builder, given = self.builder, [self.value(x).is_ for x in node.iter.args]  # type: ignore[attr-defined]
        first, last = given if len(given) == 2 else (ir.Constant(ir.IntType(64), 0), given[0])
        name = node.target.id  # type: ignore[attr-defined]  # kernels use plain names here
        before = builder.block
        head, inside, ahead, end = (
            builder.append_basic_block(f"{x}.{name}") for x in ("head", "in", "next", "end")
        )
        builder.branch(head)
        builder.position_at_end(head)
        counter = builder.phi(ir.IntType(64))
        counter.add_incoming(first, before)
        builder.cbranch(builder.icmp_signed("<", counter, last), inside, end)
        builder.position_at_end(inside)
        self.named[name] = TypedValue(counter, types.int64)
        self.ends.append(end)
        self.block(node.body)
        self.ends.pop()
        builder.branch(ahead)
        builder.position_at_end(ahead)
        counter.add_incoming(builder.add(counter, ir.Constant(ir.IntType(64), 1), flags=["nsw"]), ahead)
        builder.branch(head)
        builder.position_at_end(end)

    def If(self, node: ast.If) -> None:
        builder = self.builder
        yes, no, end = (builder.append_basic_block(x) for x in ("yes", "no", "end"))
        self.decide(node.test, yes, no)
        for block, statements in ((yes, node.body), (no, node.orelse)):
            builder.position_at_end(block)
            self.block(statements)
            if not builder.block.is_terminated:
                builder.branch(end)
        builder.position_at_end(end)

    def decide(self, test: ast.expr, yes: Any, no: Any) -> None:
        """Go one of two ways. With `and`, what follows is only looked at where what precedes it holds.

        Args:
            test: the condition.
            yes: the block to go to where it holds.
            no: the block to go to otherwise.
        """
        match test:
            case ast.BoolOp(op=ast.And(), values=[*before, test]):
                for part in before:
                    onward = self.builder.append_basic_block("and")
                    self.decide(part, onward, no)
                    self.builder.position_at_end(onward)
        self.builder.cbranch(self.value(test).is_, yes, no)

    def Break(self, node: ast.Break) -> None:
        self.builder.branch(self.ends[-1])

    # Places

    def store(self, target: ast.expr, value: TypedValue) -> None:
        """Give a name or an element a value."""
        match target:
            case ast.Subscript():
                self.keep(*self.place(target), value)
            case ast.Name(id=name) if name in self.once:
                self.named[name] = value
            case ast.Name(id=name):
                if name not in self.places:
                    self.places[name] = cgutils.alloca_once(self.builder, value.is_.type), value.type
                self.keep(*self.places[name], value)

    def place(self, node: ast.Subscript) -> tuple[Any, types.Type]:
        """Where an element of an array lies."""
        name = node.value.id  # type: ignore[attr-defined]  # kernels use plain names here
        indices = getattr(node.slice, "elts", [node.slice])
        at = None
        for extent, index in zip(self.shapes[name], indices, strict=True):
            found = self.value(index).is_
            at = (
                found
                if at is None
                else self.builder.add(self.builder.mul(at, extent, flags=["nsw"]), found, flags=["nsw"])
            )
        return self.builder.gep(self.data[name], [at], inbounds=True), self.element[name]

    def load(self, place: Any, type_: types.Type) -> TypedValue:
        """What lies at a place."""
        loaded = self.builder.load(place)
        if type_ == types.boolean and loaded.type != ir.IntType(1):  # in an array it takes a byte
            loaded = self.builder.icmp_unsigned("!=", loaded, loaded.type(0))
        return TypedValue(loaded, type_)

    def keep(self, place: Any, type_: types.Type, value: TypedValue) -> None:
        """Put a value at a place.

        Args:
            place: a pointer.
            type_: of what lies there.
            value: which is made a float64 where that lies there.
        """
        if value.type != type_:
            value = TypedValue(self.number(value), types.float64)
            assert type_ == types.float64
        self.builder.store(value.is_, place)

    def fill(self, name: str, value: TypedValue) -> None:
        """Set a whole array to 0."""
        assert value.is_.constant == 0.0
        (n,) = self.shapes[name]
        cgutils.memset(self.builder, self.data[name], self.builder.mul(n, n.type(8)), 0)

    # Expressions

    def value(self, node: ast.expr) -> TypedValue:
        """Any expression."""
        return getattr(self, type(node).__name__)(node)

    def Constant(self, node: ast.Constant) -> TypedValue:
        """A number or a truth value."""
        type_ = {bool: types.boolean, int: types.int64, float: types.float64}[type(node.value)]
        return TypedValue(ir.Constant(self.context.get_value_type(type_), node.value), type_)

    def Name(self, node: ast.Name) -> TypedValue:
        """What a name has now."""
        if node.id in self.places:
            return self.load(*self.places[node.id])
        return self.named[node.id]

    def Attribute(self, node: ast.Attribute) -> TypedValue:
        name = node.value.id  # type: ignore[attr-defined]  # kernels use plain names here
        if node.attr == "size":
            (n,) = self.shapes[name]
            return TypedValue(n, types.int64)
        return self.Constant(ast.Constant(getattr(_MODULES[name], node.attr)))

    def Subscript(self, node: ast.Subscript) -> TypedValue:
        """An element, or the length of an axis."""
        match node:
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=name), attr="shape"),
                slice=ast.Constant(value=int(axis)),
            ):
                return TypedValue(self.shapes[name][axis], types.int64)
        return self.load(*self.place(node))

    def UnaryOp(self, node: ast.UnaryOp) -> TypedValue:
        """`not a`, or `-a`."""
        value = self.value(node.operand)
        if type(node.op) is ast.Not:
            return TypedValue(self.builder.not_(value.is_), types.boolean)
        assert type(node.op) is ast.USub
        whole = value.type == types.int64
        return TypedValue((self.builder.neg if whole else self.builder.fneg)(value.is_), value.type)

    def BinOp(self, node: ast.BinOp) -> TypedValue:
        return self.binary(node.op, self.value(node.left), self.value(node.right))

    def binary(self, op: ast.operator, a: TypedValue, b: TypedValue) -> TypedValue:
        """An operation on two values.

        Args:
            op: the operator.
            a: to its left.
            b: to its right.

        Returns:
            What comes out: whole numbers and truth values stay what they are where the operator has an
                instruction for them.
        """
        if type(op) is ast.Pow:
            return self.call(operator.pow, types.float64, [a, b])
        whole, real = _BINARY[type(op)]
        if a.type == b.type and a.type != types.float64 and whole is not None:
            return TypedValue(getattr(self.builder, whole)(a.is_, b.is_), a.type)
        return TypedValue(getattr(self.builder, real)(self.number(a), self.number(b)), types.float64)

    def number(self, value: TypedValue) -> Any:
        """As a float64."""
        if value.type == types.float64:
            return value.is_
        convert = self.builder.sitofp if value.type == types.int64 else self.builder.uitofp
        return convert(value.is_, ir.DoubleType())

    def Compare(self, node: ast.Compare) -> TypedValue:
        ((op,), (right,)) = node.ops, node.comparators
        return self.compare(_COMPARED[type(op)], self.value(node.left), self.value(right))

    def compare(self, word: str, a: TypedValue, b: TypedValue) -> TypedValue:
        """A comparison of two values.

        Args:
            word: of LLVM: "<".
            a: to its left.
            b: to its right.

        Returns:
            True or false; with a NaN, only `!=` is true.
        """
        if a.type == b.type != types.float64:
            compare = self.builder.icmp_signed if a.type == types.int64 else self.builder.icmp_unsigned
            return TypedValue(compare(word, a.is_, b.is_), types.boolean)
        # With a NaN, only `!=` is true.
        compare = self.builder.fcmp_unordered if word == "!=" else self.builder.fcmp_ordered
        return TypedValue(compare(word, self.number(a), self.number(b)), types.boolean)

    def Call(self, node: ast.Call) -> TypedValue:
        """`choose`, `min`, `max`, `abs`, or a function of `math` or NumPy."""
        given = [self.value(x) for x in node.args]
        match node.func:
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                function = getattr(_MODULES[module], name)
                kind = types.boolean if function is math.isfinite else types.float64
                return self.call(function, kind, given)
            case ast.Name(id="choose"):
                return self.select(*given)
            case ast.Name(id="min" | "max" as name):
                a, b = (TypedValue(self.number(x), types.float64) for x in given)
                return self.select(self.compare("<" if name == "min" else ">", b, a), b, a)
        assert ast.unparse(node.func) == "abs"
        return self.call(abs, types.float64, given)

    def select(self, condition: TypedValue, yes: TypedValue, no: TypedValue) -> TypedValue:
        """One of two values, without a branch.

        Args:
            condition: which one.
            yes: where it holds.
            no: otherwise.

        Returns:
            The value.
        """
        return TypedValue(self.builder.select(condition.is_, yes.is_, no.is_), yes.type)

    def call(self, function: Any, type_: types.Type, given: list[TypedValue]) -> TypedValue:
        """As numba writes that function of numbers.

        Args:
            function: of `math`, of NumPy, or an operator.
            type_: of what comes back.
            given: its arguments.

        Returns:
            The instruction's result.
        """
        written = self.context.get_function(function, signature(type_, *[types.float64] * len(given)))
        return TypedValue(written(self.builder, [self.number(x) for x in given]), type_)
