"""A function of scalars, traced by JAX, as a flat list of scalar operations.

JAX records what a function does as a nested program (a jaxpr). Here its inner calls are opened, both branches
of a decision are computed and one is selected, and what only renames or reshapes a scalar disappears. What
remains are operations from the table of primitives, one after the other, each with a result of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from ...errors import NotLowered

# The table of primitives: every scalar operation the engines understand; each language has a word for each.
# Operands are always names or numbers, never longer expressions, so a word may repeat them. Whatever JAX says
# about an operation's value at a corner (a tie, a zero, a NaN) holds everywhere. Derivatives need no table:
# JAX has differentiated before we look.
ARITHMETIC = ("add", "sub", "mul", "div", "neg", "rem", "pow", "abs", "sign", "max", "min")
ROUNDING = ("floor", "ceil", "round_even", "round_away")
POWERS = ("sqrt", "rsqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log1p", "logistic")
CIRCULAR = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2")
HYPERBOLIC = ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh")
DECISIONS = ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "not", "is_finite", "number", "select")
PRIMITIVES = frozenset((*ARITHMETIC, *ROUNDING, *POWERS, *CIRCULAR, *HYPERBOLIC, *DECISIONS))
"""Their names. `select` has JAX's order: condition, value where false, value where true; `number` is a truth
value as a number; `round_even` and `round_away` differ at halves."""

COMMUTE = frozenset({"add", "mul", "eq", "ne", "and", "or", "xor"})
"""Operations whose operands may be swapped: a + b and b + a are then one term. (max and min are not:
of 0 and -0 the first wins.)"""

COSTLY = frozenset({"div", "rem", "pow", *POWERS, *CIRCULAR, *HYPERBOLIC})
"""Operations that take so long that a branch around them pays."""


class TracedValue:
    """The result of one operation, or an argument.
    Two values are the same only if they are the same object."""

    __slots__ = ()


Operand = TracedValue | float | int | bool
"""A value, or a number known when tracing."""


class TracedOperation(NamedTuple):
    name: str
    operands: tuple[Operand, ...]
    result: TracedValue


class Flat(NamedTuple):
    """A traced function: `results` follow from `arguments` by doing `operations` in order."""

    arguments: list[TracedValue]
    operations: list[TracedOperation]
    results: list[Operand]


# Primitives that wrap a program of their own and change nothing about it.
_CALLS = {
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "eval_jaxpr",
    "custom_jvp_call",
    "custom_vjp_call",
    "remat",
    "remat2",
    "checkpoint",
}
_INSIDE = ("jaxpr", "call_jaxpr")
_SAME = {
    "copy",
    "copy_p",
    "name",
    "stop_gradient",
    "optimization_barrier",
    "broadcast_in_dim",
    "squeeze",
    "reshape",
    "pvary",
}
_RENAMED = {"add_any": "add", "select_n": "select"}
_LONGEST_LOOP = 32
"""Turns of a counted loop inside a step that are written out one by one."""


def trace(function: Callable[..., Sequence[Any]], n_arguments: int) -> Flat:
    """Trace a function of that many 64-bit scalars that returns a sequence of scalars."""
    with jax.enable_x64(True):  # inside this block only: the caller's own JAX keeps its precision
        scalar = jax.ShapeDtypeStruct((), jnp.float64)
        program = jax.make_jaxpr(lambda *x: tuple(jnp.asarray(y, jnp.float64) for y in function(*x)))(
            *[scalar] * n_arguments
        )
    flattening = _Flattening()
    arguments: list[TracedValue] = [TracedValue() for _ in range(n_arguments)]
    results = flattening.run(program, arguments)
    return Flat(arguments, flattening.operations, results)


def trace_with_tangents(
    function: Callable[..., Sequence[Any]], n_arguments: int, moving: Sequence[int]
) -> Flat:
    """Trace a function and its derivatives.

    Args:
        function: of 64-bit scalars; gives a sequence of scalars.
        n_arguments: how many it takes.
        moving: places of the arguments that have a tangent; tangents are appended to the arguments in
            this order.

    Returns:
        The traced function, with the tangents of the results appended to the results.
    """

    def both(*x: Any) -> tuple[Any, ...]:
        fixed, tangents = x[:n_arguments], x[n_arguments:]

        def evaluate(*moved: Any) -> tuple[Any, ...]:
            now = list(fixed)
            for place, value in zip(moving, moved, strict=True):
                now[place] = value
            return tuple(jnp.asarray(y, jnp.float64) for y in function(*now))

        values, slopes = jax.jvp(evaluate, tuple(fixed[place] for place in moving), tangents)
        return (*values, *slopes)

    return trace(both, n_arguments + len(moving))


class _Flattening:
    def __init__(self) -> None:
        self.operations: list[TracedOperation] = []

    def run(self, program: Any, arguments: Sequence[Operand]) -> list[Operand]:
        """Append a program's operations; give its results."""
        inner, constants = getattr(program, "jaxpr", program), getattr(program, "consts", ())
        known: dict[Any, Operand] = dict(zip(inner.constvars, map(_number, constants), strict=True))
        known.update(zip(inner.invars, arguments, strict=True))

        def read(atom: Any) -> Operand:
            return _number(atom.val) if isinstance(atom, Literal) else known[atom]

        for equation in inner.eqns:
            results = self.equation(equation, [read(atom) for atom in equation.invars])
            known.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in inner.outvars]

    def equation(self, equation: Any, operands: list[Operand]) -> list[Operand]:
        name, settings = equation.primitive.name, equation.params
        for result in equation.outvars:
            if result.aval.shape != ():
                raise NotLowered(
                    f"{name} makes an array of shape {result.aval.shape}; a compiled step has only scalars"
                )
            if result.aval.dtype in (np.float32, np.float16):
                raise NotLowered(
                    f"{name} makes a {result.aval.dtype} number; a compiled step has only 64-bit numbers"
                )
        if name in _CALLS:
            return self.run(next(settings[key] for key in _INSIDE if key in settings), operands)
        if name == "cond":
            return self.decision(settings["branches"], operands)
        if name == "scan":
            return self.loop(settings["jaxpr"], settings["length"], operands, len(equation.outvars))
        if len(equation.outvars) != 1:
            raise NotLowered(f"the primitive {name!r} is not in the table of primitives")
        return [self.scalar(name, settings, operands, equation)]

    def decision(self, branches: Sequence[Any], operands: list[Operand]) -> list[Operand]:
        """Both branches are computed, then one is taken; so both must be defined everywhere."""
        if len(branches) != 2:
            raise NotLowered(
                f"a switch of {len(branches)} branches; a compiled step has only decisions between two"
            )
        which, no, yes = operands[0], self.run(branches[0], operands[1:]), self.run(branches[1], operands[1:])
        return [self.do("select", which, a, b) for a, b in zip(no, yes, strict=True)]

    def loop(self, body: Any, turns: int, operands: list[Operand], n_carried: int) -> list[Operand]:
        """A counted loop that carries scalars, written out turn by turn.
        (What it would read or write per turn are arrays.)"""
        if turns > _LONGEST_LOOP:
            raise NotLowered(
                f"a loop of {turns} turns inside a step; a compiled step has at most {_LONGEST_LOOP}"
            )
        fixed, carried = operands[:-n_carried], operands[-n_carried:]
        for _ in range(turns):
            carried = self.run(body, fixed + carried)
        return carried

    def scalar(self, name: str, settings: Any, operands: list[Operand], equation: Any) -> Operand:
        name = _RENAMED.get(name, name)
        if name in _SAME:
            return operands[0]
        if name == "convert_element_type":
            return self.convert(operands[0], equation.invars[0].aval.dtype, equation.outvars[0].aval.dtype)
        if name == "integer_pow":
            return self.whole_power(operands[0], settings["y"])
        if name == "square":
            return self.do("mul", operands[0], operands[0])
        if name == "one_minus_square":
            return self.do("mul", self.do("add", 1.0, operands[0]), self.do("sub", 1.0, operands[0]))
        if name == "clamp":
            low, x, high = operands
            return self.do("min", self.do("max", x, low), high)
        if name == "round":
            return self.do("round_even" if int(settings["rounding_method"]) == 1 else "round_away", *operands)
        if np.issubdtype(equation.outvars[0].aval.dtype, np.integer):
            return _count(name, operands)
        if name == "select" and len(operands) != 3:
            raise NotLowered(
                f"a selection among {len(operands) - 1} values; a compiled step has only decisions"
                " between two"
            )
        if name not in PRIMITIVES:
            raise NotLowered(f"the primitive {name!r} is not in the table of primitives")
        return self.do(name, *operands)

    def do(self, name: str, *operands: Operand) -> TracedValue:
        result = TracedValue()
        self.operations.append(TracedOperation(name, operands, result))
        return result

    def convert(self, operand: Operand, old: Any, new: Any) -> Operand:
        if not isinstance(operand, TracedValue):
            return (
                bool(operand)
                if new == np.bool_
                else float(operand)
                if np.issubdtype(new, np.floating)
                else int(operand)
            )
        if old == np.bool_:  # as a number, or as the index of a branch, where it may stay as it is
            return self.do("number", operand) if np.issubdtype(new, np.floating) else operand
        if np.issubdtype(old, np.floating) and np.issubdtype(new, np.floating):
            return operand
        raise NotLowered(
            f"a conversion from {old} to {new}; a compiled step has only 64-bit numbers and truth values"
        )

    def whole_power(self, x: Operand, exponent: int) -> Operand:
        """x**exponent by repeated squaring."""
        if exponent == 0:
            return 1.0
        result, square, left = None, x, abs(exponent)
        while left:
            if left % 2:
                result = square if result is None else self.do("mul", result, square)
            left //= 2
            if left:
                square = self.do("mul", square, square)
        assert result is not None
        return result if exponent > 0 else self.do("div", 1.0, result)


def _count(name: str, operands: list[Operand]) -> int:
    """Whole-number arithmetic, which only the counter of a loop that is written out may need."""
    if name in ("add", "sub", "mul") and all(isinstance(x, int) for x in operands):
        a, b = operands
        # whole numbers, as was asked above
        return {"add": a + b, "sub": a - b, "mul": a * b}[name]  # type: ignore[operator]
    raise NotLowered(f"{name} of whole numbers; a compiled step has only 64-bit numbers and truth values")


def _number(constant: Any) -> float | int | bool:
    array = np.asarray(constant)
    if array.shape != ():
        raise NotLowered(f"a constant array of shape {array.shape}; a compiled step has only scalars")
    if array.dtype in (np.float32, np.float16):
        raise NotLowered(f"a {array.dtype} constant, {array}; a compiled step has only 64-bit numbers")
    return array.item()
