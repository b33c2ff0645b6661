"""Numba, with a candidate in each lane of a vector: the loop that scores candidates, eight at a time.

The text is the scalar loop's; what depends on a candidate is a vector, everything else a number. Exponentials
and angles are polynomials, within two units in the last place where the physics goes; what has no vector form
is called lane by lane.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from .. import machine
from ..lean import lean
from ..loops import ARGUMENTS, Kernel
from ..lower import LoweredSystem
from ..machine import TypedValue, Writer, stored_names
from .numba import NUMBA, opening

WIDTH = 8
"""Lanes: the numbers of one 512-bit register, or two of 256 bits."""
WORDS = replace(NUMBA, decide="if any({0}):", spares=20, blends=True)
_VECTOR, _WHOLE = ir.VectorType(ir.DoubleType(), WIDTH), ir.VectorType(ir.IntType(64), WIDTH)
_PER_CANDIDATE = ("P", "S", "cost")


def lanes_source(lowered: LoweredSystem, *, fastmath: bool = True) -> str:
    """The source of a kernel that scores blocks of candidates: P is (blocks, parameters, lanes), S alike."""
    roots = lean(lowered.graph, [*lowered.step.values, *lowered.observe.values])
    n = len(lowered.step.values)
    step, observe = replace(lowered.step, values=roots[:n]), replace(lowered.observe, values=roots[n:])
    return str(_LaneKernel("lanes", replace(lowered, step=step, observe=observe), fastmath).source)


_CUBE, _SQUARE = "float64[:,:,::1]", "float64[:,::1]"
ARGUMENTS["lanes"] = {**ARGUMENTS["cost"], "P": _CUBE, "S": _CUBE, "cost": _SQUARE}


class _LaneKernel(Kernel):
    words, lane = WORDS, ", 0"

    def opening(self, fastmath: bool) -> str:
        return opening(fastmath).replace("compile.machine import", "compile.dialects.vectors import")

    def write_sums(self) -> None:
        for i, y in enumerate(self.lowered.observe.values):
            with self.source.block(f"if measured[k, {i}] == measured[k, {i}]:"):
                self.source.add(
                    f"size = abs(weights[k * stride, {i}] * ({WORDS.text(y)} - measured[k, {i}]))",
                    "total += choose(size <= robust, 0.5 * size * size, robust * (size - 0.5 * robust))",
                )


def body(text: str) -> Callable[..., None]:
    """As `machine.body`, with lanes."""
    return machine.body(text, LaneWriter)


class LaneWriter(Writer):
    """Writes vectors wherever a candidate's number takes part."""

    def write(self, text: ast.FunctionDef) -> None:
        """Find first which names are vectors: those made from what is a candidate's."""
        made: list[Any] = [n for n in ast.walk(text) if type(n) in (ast.Assign, ast.AugAssign)]
        pairs = [(set(stored_names(n)), _read(n)) for n in made]
        self.vectors: set[str] = set()
        before = -1
        while len(self.vectors) > before:
            before = len(self.vectors)
            for names, read in pairs:
                if read & (self.vectors | set(_PER_CANDIDATE)):
                    self.vectors |= names
        super().write(text)

    def store(self, target: ast.expr, value: TypedValue) -> None:
        # kernels index and call by plain names:
        name = getattr(target, "value", target).id  # type: ignore[attr-defined]
        wide = name in self.vectors or name in _PER_CANDIDATE
        super().store(target, self.spread(value) if wide else value)

    def place(self, node: ast.Subscript) -> tuple[Any, types.Type]:
        place, type_ = super().place(node)
        # kernels index and call by plain names:
        if node.value.id in _PER_CANDIDATE:  # type: ignore[attr-defined]
            place = self.builder.bitcast(place, _VECTOR.as_pointer())
        return place, type_

    def load(self, place: Any, type_: types.Type) -> TypedValue:
        if type(place.type.pointee) is ir.VectorType:
            return TypedValue(self.builder.load(place, align=8), type_)
        return super().load(place, type_)

    def keep(self, place: Any, type_: types.Type, value: TypedValue) -> None:
        if value.is_vector:
            self.builder.store(value.is_, place, align=8)
        else:
            super().keep(place, type_, value)

    def decide(self, test: ast.expr, yes: Any, no: Any) -> None:
        match test:
            case ast.Call(func=ast.Name(id="any"), args=[given]):
                bits = self.builder.bitcast(self.value(given).is_, ir.IntType(WIDTH))
                self.builder.cbranch(self.builder.icmp_unsigned("!=", bits, bits.type(0)), yes, no)
            case _:
                super().decide(test, yes, no)

    # Values

    def spread(self, value: TypedValue) -> TypedValue:
        """The same in every lane."""
        if value.is_vector:
            return value
        one = value.is_ if value.type == types.boolean else self.number(value)
        if type(one) is ir.Constant:
            same = ir.Constant(ir.VectorType(one.type, WIDTH), [one] * WIDTH)
            return TypedValue(same, types.boolean if value.type == types.boolean else types.float64)
        kind = ir.VectorType(one.type, WIDTH)
        first = self.builder.insert_element(ir.Constant(kind, ir.Undefined), one, ir.IntType(32)(0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [ir.IntType(32)(0)] * WIDTH)
        same = self.builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), everywhere)
        return TypedValue(same, types.boolean if value.type == types.boolean else types.float64)

    def alike(self, *values: TypedValue) -> tuple[TypedValue, ...]:
        """All of them vectors if one is."""
        wide = any(v.is_vector for v in values)
        return tuple(self.spread(v) for v in values) if wide else values

    def binary(self, op: ast.operator, a: TypedValue, b: TypedValue) -> TypedValue:
        return super().binary(op, *self.alike(a, b))

    def compare(self, word: str, a: TypedValue, b: TypedValue) -> TypedValue:
        return super().compare(word, *self.alike(a, b))

    def select(self, condition: TypedValue, yes: TypedValue, no: TypedValue) -> TypedValue:
        return super().select(*self.alike(condition, yes, no))

    def UnaryOp(self, node: ast.UnaryOp) -> TypedValue:
        value = self.value(node.operand)
        if type(node.op) is ast.Not and value.is_vector:
            ones = self.spread(TypedValue(ir.Constant(ir.IntType(1), 1), types.boolean))
            return TypedValue(self.builder.xor(value.is_, ones.is_), types.boolean)
        return super().UnaryOp(node)

    def call(self, function: Any, type_: types.Type, given: list[TypedValue]) -> TypedValue:
        if not any(v.is_vector for v in given):
            return super().call(function, type_, given)
        given = list(self.alike(*given))
        if function in _INTRINSIC:
            return TypedValue(_intrinsic(self.builder, _INTRINSIC[function], *(v.is_ for v in given)), type_)
        if function in _POLYNOMIAL:
            return TypedValue(_POLYNOMIAL[function](Maths(self.builder), *(v.is_ for v in given)), type_)
        kind = ir.VectorType(self.context.get_value_type(type_), WIDTH)
        made = ir.Constant(kind, ir.Undefined)
        for lane in map(ir.IntType(32), range(WIDTH)):
            ones = [TypedValue(self.builder.extract_element(v.is_, lane), v.type) for v in given]
            made = self.builder.insert_element(made, super().call(function, type_, ones).is_, lane)
        return TypedValue(made, type_)


def _read(node: ast.Assign | ast.AugAssign) -> set[str]:
    return {n.id for n in ast.walk(node.value) if type(n) is ast.Name}


def _intrinsic(builder: Any, name: str, *given: Any) -> Any:
    """One of LLVM's own functions, of vectors."""
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(given))
    return builder.call(
        cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{WIDTH}f64"), given
    )


class Maths:
    """Functions of vectors, as products and sums."""

    def __init__(self, builder: Any):
        self.b = builder

    def c(self, x: float) -> Any:
        """A number in every lane."""
        return ir.Constant(_VECTOR, [x] * WIDTH)

    def whole(self, x: int) -> Any:
        """A whole number in every lane."""
        return ir.Constant(_WHOLE, [x] * WIDTH)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        return _intrinsic(self.b, "fma", a, b, c)

    def polynomial(self, x: Any, *highest_first: float) -> Any:
        return functools.reduce(
            lambda y, c: self.fma(y, x, self.c(c)), highest_first[1:], self.c(highest_first[0])
        )

    def round_scaled(self, x: Any, scale: float) -> tuple[Any, Any]:
        """x scale to the nearest whole number: (that, with it in the last bits; that as a number)."""
        shifted = self.fma(x, self.c(scale), self.c(_SHIFT))
        return self.b.bitcast(shifted, _WHOLE), self.b.fsub(shifted, self.c(_SHIFT))

    def exp(self, x: Any) -> Any:
        """Of each lane, within two units in the last place."""
        least, most = self.c(-708.0), self.c(709.0)
        inside = self.b.select(
            self.b.fcmp_unordered("<", x, least), least, x
        )  # a NaN is least, and comes back
        inside = self.b.select(self.b.fcmp_ordered(">", inside, most), most, inside)
        bits, n = self.round_scaled(inside, 1.4426950408889634)
        r = self.fma(n, self.c(-1.9082149292705877e-10), self.fma(n, self.c(-0.6931471803691238), inside))
        y = self.polynomial(r, *(1.0 / math.factorial(k) for k in range(12, -1, -1)))
        power = self.b.bitcast(self.b.shl(self.b.add(bits, self.whole(1023)), self.whole(52)), _VECTOR)
        return self.b.select(self.b.fcmp_unordered("!=", x, x), x, self.b.fmul(y, power))

    def _reduce_turns(self, x: Any) -> tuple[Any, Any, Any]:
        """(x less whole half turns, its square, the sign that an odd number of them gives)."""
        bits, n = self.round_scaled(x, 1.0 / math.pi)
        r = self.fma(n, self.c(-1.2246467991473532e-16), self.fma(n, self.c(-math.pi), x))
        return r, self.b.fmul(r, r), self.b.shl(bits, self.whole(63))

    def _apply_sign(self, y: Any, sign: Any) -> Any:
        return self.b.bitcast(self.b.xor(self.b.bitcast(y, _WHOLE), sign), _VECTOR)

    def sin(self, x: Any) -> Any:
        """Of each lane, within two units in the last place."""
        r, z, sign = self._reduce_turns(x)
        y = self.polynomial(z, *((-1.0) ** k / math.factorial(2 * k + 1) for k in range(10, 0, -1)))
        return self._apply_sign(self.fma(self.b.fmul(r, z), y, r), sign)

    def cos(self, x: Any) -> Any:
        """Of each lane, within two units in the last place."""
        _, z, sign = self._reduce_turns(x)
        return self._apply_sign(
            self.polynomial(z, *((-1.0) ** k / math.factorial(2 * k) for k in range(11, -1, -1))), sign
        )

    def log(self, x: Any) -> Any:
        """Of normal numbers above 0."""
        bits = self.b.bitcast(x, _WHOLE)
        above = self.b.sub(bits, self.whole(0x3FE6A09E667F3BCD))  # the root of a half
        n = self.b.ashr(above, self.whole(52))
        m = self.b.bitcast(self.b.sub(bits, self.b.shl(n, self.whole(52))), _VECTOR)
        s = self.b.fdiv(self.b.fsub(m, self.c(1.0)), self.b.fadd(m, self.c(1.0)))
        z = self.b.fmul(s, s)
        y = self.b.fmul(self.b.fmul(s, z), self.polynomial(z, *(2.0 / k for k in range(21, 1, -2))))
        whole = self.b.sitofp(n, _VECTOR)
        low = self.fma(whole, self.c(1.9082149292705877e-10), self.fma(s, self.c(2.0), y))
        return self.fma(whole, self.c(0.6931471803691238), low)

    def pow(self, x: Any, y: Any) -> Any:
        """Of x above 0; a power of 0 is 0."""
        made = self.exp(self.b.fmul(y, self.log(x)))
        rest = self.b.select(self.b.fcmp_ordered("==", x, self.c(0.0)), self.c(0.0), self.c(math.nan))
        return self.b.select(self.b.fcmp_ordered(">", x, self.c(0.0)), made, rest)


_SHIFT = 1.5 * 2.0**52
_INTRINSIC = {
    abs: "fabs",
    math.sqrt: "sqrt",
    np.floor: "floor",
    np.ceil: "ceil",
    np.rint: "rint",
    np.trunc: "trunc",
}
_INTRINSIC |= {math.copysign: "copysign"}
_POLYNOMIAL: dict[Any, Callable[..., Any]] = {
    math.exp: Maths.exp,
    math.sin: Maths.sin,
    math.cos: Maths.cos,
    math.log: Maths.log,
    operator.pow: Maths.pow,
}
