"""Numbers at addresses, and functions at addresses: what the compiled code of `kernel.py` reads, writes and
calls
when it is handed MuJoCo's structures."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import extending

intrinsic: Any = extending.intrinsic
WORD, REAL, WHOLE = ir.IntType(64), ir.DoubleType(), ir.IntType(32)


def _loading(kind: Any, size: int) -> Any:
    def load(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        at = builder.add(given[0], builder.mul(given[1], WORD(size)))
        value = builder.load(builder.inttoptr(at, kind.as_pointer()))
        return builder.sext(value, WORD) if kind == WHOLE else value

    return load


@intrinsic
def word(context: Any, at: Any, i: Any) -> Any:
    """The i-th 64-bit integer from an address on."""
    return types.int64(types.int64, types.int64), _loading(WORD, 8)


@intrinsic
def whole(context: Any, at: Any, i: Any) -> Any:
    """The i-th 32-bit integer from an address on."""
    return types.int64(types.int64, types.int64), _loading(WHOLE, 4)


@intrinsic
def real(context: Any, at: Any, i: Any) -> Any:
    """The i-th number from an address on."""
    return types.float64(types.int64, types.int64), _loading(REAL, 8)


@intrinsic
def put(context: Any, at: Any, i: Any, x: Any) -> Any:
    """Write the i-th number from an address on."""

    def store(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        at = builder.add(given[0], builder.mul(given[1], WORD(8)))
        builder.store(given[2], builder.inttoptr(at, REAL.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.float64), store


@intrinsic
def keep(context: Any, at: Any, i: Any, x: Any) -> Any:
    """Write the i-th 64-bit integer from an address on."""

    def store(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        at = builder.add(given[0], builder.mul(given[1], WORD(8)))
        builder.store(given[2], builder.inttoptr(at, WORD.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), store


def _calling(kind: Any, result: Any, *given: Any) -> Any:
    """An intrinsic's body: call the C function at an address that is known only now."""

    def jump(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointers = [
            builder.inttoptr(x, wanted) if wanted.is_pointer else x
            for x, wanted in zip(values[1:], given, strict=True)
        ]
        function = builder.inttoptr(values[0], ir.FunctionType(kind, given).as_pointer())
        value = builder.call(function, pointers)
        if isinstance(kind, ir.VoidType):
            return context.get_dummy_value()
        return builder.ptrtoint(value, WORD) if kind.is_pointer else value

    return jump


_I, _R, _P = types.int64, types.float64, REAL.as_pointer()


@intrinsic
def call(context: Any, at: Any, n: Any, terms: Any, states: Any, inputs: Any, h: Any, after: Any) -> Any:
    """A structure's step."""
    given = (WORD, _P, _P, _P, REAL, _P)
    return types.void(_I, _I, _I, _I, _I, _R, _I), _calling(ir.VoidType(), None, *given)


@intrinsic
def begin(context: Any, at: Any, terms: Any, targets: Any, states: Any) -> Any:
    """A structure's states as they begin."""
    return types.void(_I, _I, _I, _I), _calling(ir.VoidType(), None, _P, _P, _P)


@intrinsic
def on_stack(context: Any, at: Any, d: Any) -> Any:
    """mj_markStack or mj_freeStack."""
    return types.void(_I, _I), _calling(ir.VoidType(), None, _P)


@intrinsic
def allocate(context: Any, at: Any, d: Any, n: Any) -> Any:
    """mj_stackAllocNum: the address of n numbers."""
    return _I(_I, _I, _I), _calling(_P, None, _P, WORD)


@intrinsic
def solve(context: Any, at: Any, m: Any, d: Any, x: Any, y: Any, n: Any) -> Any:
    """mj_solveM."""
    return types.void(_I, _I, _I, _I, _I, types.int32), _calling(ir.VoidType(), None, _P, _P, _P, _P, WHOLE)


@intrinsic
def refuse(context: Any, at: Any, text: Any, delay: Any, line: Any, h: Any, longest: Any) -> Any:
    """mju_error of a delay that is too long: it does not come back."""

    def jump(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()], var_arg=True)
        said = builder.inttoptr(values[1], ir.IntType(8).as_pointer())
        numbers = [values[2], builder.trunc(values[3], WHOLE), *values[4:]]
        builder.call(builder.inttoptr(values[0], kind.as_pointer()), [said, *numbers])
        return context.get_dummy_value()

    return types.void(_I, _I, _R, _I, _R, _R), jump
