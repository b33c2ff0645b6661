"""Numbers at addresses, and functions at addresses: what the compiled code of `kernel.py` reads, writes and
calls
when it is handed MuJoCo's structures."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import extending

intrinsic: Any = extending.intrinsic
WORD, REAL, WHOLE, VOID = ir.IntType(64), ir.DoubleType(), ir.IntType(32), ir.VoidType()


def _loading(kind: Any, size: int) -> Any:
    def load(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        at = builder.add(given[0], builder.mul(given[1], WORD(size)))
        value = builder.load(builder.inttoptr(at, kind.as_pointer()))
        return builder.sext(value, WORD) if kind == WHOLE else value

    return load


@intrinsic
def word(_context: Any, at: Any, i: Any) -> Any:
    """The i-th 64-bit integer from an address on."""
    return types.int64(types.int64, types.int64), _loading(WORD, 8)


@intrinsic
def whole(_context: Any, at: Any, i: Any) -> Any:
    """The i-th 32-bit integer from an address on."""
    return types.int64(types.int64, types.int64), _loading(WHOLE, 4)


@intrinsic
def real(_context: Any, at: Any, i: Any) -> Any:
    """The i-th number from an address on."""
    return types.float64(types.int64, types.int64), _loading(REAL, 8)


@intrinsic
def put(_context: Any, at: Any, i: Any, x: Any) -> Any:
    """Write the i-th number from an address on.

    Args:
        at: the address.
        i: which number.
        x: what it becomes.

    Returns:
        For numba, as of all here: the types and what writes the code.
    """

    def store(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        at = builder.add(given[0], builder.mul(given[1], WORD(8)))
        builder.store(given[2], builder.inttoptr(at, REAL.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.float64), store


@intrinsic
def keep(_context: Any, at: Any, i: Any, x: Any) -> Any:
    """Write the i-th 64-bit integer from an address on.

    Args:
        at: the address.
        i: which integer.
        x: what it becomes.

    Returns:
        Types and code.
    """

    def store(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        at = builder.add(given[0], builder.mul(given[1], WORD(8)))
        builder.store(given[2], builder.inttoptr(at, WORD.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), store


def _calling(kind: Any, *given: Any) -> Any:
    """An intrinsic's body: call the C function at an address that is known only now."""

    def jump(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointers = [
            builder.inttoptr(x, wanted) if wanted.is_pointer else x
            for x, wanted in zip(values[1:], given, strict=True)
        ]
        function = builder.inttoptr(values[0], ir.FunctionType(kind, given).as_pointer())
        value = builder.call(function, pointers)
        if kind == VOID:
            return context.get_dummy_value()
        return builder.ptrtoint(value, WORD) if kind.is_pointer else value

    return jump


_I, _R, _P = types.int64, types.float64, REAL.as_pointer()


@intrinsic
def call(_context: Any, at: Any, n: Any, terms: Any, states: Any, inputs: Any, h: Any, after: Any) -> Any:
    """A structure's step.

    Args:
        at: address of the function; the next three and `after` are addresses of numbers.
        n: substeps.
        terms: of the structure.
        states: before the step.
        inputs: held during it.
        h: length of a substep [s].
        after: where states and effort go.

    Returns:
        Types and code.
    """
    given = (WORD, _P, _P, _P, REAL, _P)
    return types.void(_I, _I, _I, _I, _I, _R, _I), _calling(VOID, *given)


@intrinsic
def begin(_context: Any, at: Any, terms: Any, targets: Any, states: Any) -> Any:
    """A structure's states as they begin.

    Args:
        at: address of the function; the others are addresses of numbers.
        terms: of the structure.
        targets: what its drive is asked for.
        states: where they go.

    Returns:
        Types and code.
    """
    return types.void(_I, _I, _I, _I), _calling(VOID, _P, _P, _P)


@intrinsic
def demand(_context: Any, at: Any, terms: Any, states: Any, inputs: Any, asked: Any) -> Any:
    """What a structure asks of a shared supply.

    Args:
        at: address of the function; the others are addresses of numbers.
        terms: of the structure.
        states: now.
        inputs: now.
        asked: where the answer goes.

    Returns:
        Types and code.
    """
    return types.void(_I, _I, _I, _I, _I), _calling(VOID, _P, _P, _P, _P)


@intrinsic
def numbers(_context: Any, at: Any) -> Any:
    """The numbers from an address on, for `carray`."""
    return types.CPointer(types.float64)(types.int64), lambda _, builder, __, given: builder.inttoptr(
        given[0], _P
    )


@intrinsic
def on_stack(_context: Any, at: Any, d: Any) -> Any:
    """mj_markStack or mj_freeStack."""
    return types.void(_I, _I), _calling(VOID, _P)


@intrinsic
def allocate(_context: Any, at: Any, d: Any, n: Any) -> Any:
    """mj_stackAllocNum: the address of n numbers.

    Args:
        at: address of the function.
        d: address of MuJoCo's data.
        n: how many numbers.

    Returns:
        Types and code.
    """
    return _I(_I, _I, _I), _calling(_P, _P, WORD)


@intrinsic
def solve(_context: Any, at: Any, m: Any, d: Any, x: Any, y: Any, n: Any) -> Any:
    """mj_solveM: x = M^-1 y.

    Args:
        at: address of the function; the next four are addresses too.
        m: MuJoCo's model.
        d: its data.
        x: where the solutions go.
        y: the right sides.
        n: how many there are.

    Returns:
        Types and code.
    """
    return types.void(_I, _I, _I, _I, _I, types.int32), _calling(VOID, _P, _P, _P, _P, WHOLE)


@intrinsic
def refuse(_context: Any, at: Any, text: Any, delay: Any, line: Any, h: Any, longest: Any) -> Any:
    """mju_error of a delay that is too long: it does not come back.

    Args:
        at: address of the function.
        text: address of what it says, in C's format, of the numbers behind.
        delay: of the drive [s].
        line: commands that there is room for, the newest one with them.
        h: time step [s].
        longest: delay that there is room for [s].

    Returns:
        Types and code.
    """

    def jump(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = ir.FunctionType(VOID, [ir.IntType(8).as_pointer()], var_arg=True)
        said = builder.inttoptr(values[1], ir.IntType(8).as_pointer())
        numbers = [values[2], builder.trunc(values[3], WHOLE), *values[4:]]
        builder.call(builder.inttoptr(values[0], kind.as_pointer()), [said, *numbers])
        return context.get_dummy_value()

    return types.void(_I, _I, _R, _I, _R, _R), jump
