"""Warp: a traced step as kernels, one thread for each actuator, as exact in 32 bits as that allows."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Level, Node
from ..lower import LoweredAttached
from ..passes import kept, leaves
from ..source import Source, Words
from .numba import NUMBA

_SLOW = (Level.CONSTANT, Level.PARAMETER, Level.LENGTH)
_FAST = (Level.INPUT, Level.STATE)
ALIKE = ("add", "sub", "mul", "div", "neg", "lt", "le", "gt", "ge", "eq", "ne")
"""Operators that are written as in Python."""
OWN = (
    "abs",
    "floor",
    "ceil",
    "sqrt",
    "cbrt",
    "exp",
    "log",
    "log2",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
)

HELPERS = '''
@wp.func
def expm1(x: {real}):  # noqa: F811
    """exp(x) - 1 with all its digits (Kahan's way)."""
    u = wp.exp(x)
    v = u - {real}(1.0)
    small = u == {real}(1.0)
    exact = v * x / wp.log(wp.where(small, {real}(2.0), u))
    return wp.where(small, x, wp.where(v == {real}(-1.0), v, exact))


@wp.func
def log1p(x: {real}):  # noqa: F811
    """log(1 + x) with all its digits."""
    u = {real}(1.0) + x
    small = u == {real}(1.0)
    return wp.where(small, x, wp.log(u) * x / wp.where(small, {real}(1.0), u - {real}(1.0)))
'''
"""What Warp has no word for; one copy for each type."""


def words(real: str) -> Words:
    """Warp's words for numbers of this type: wp.float64 or wp.float32."""
    n = f"{real}({{}})".format
    x, zero, one = "{0}", n(0.0), n(1.0)
    return Words(
        nan=n("wp.nan"),
        infinity=n("wp.inf"),
        literal=real + "({0})",
        branches=False,
        primitives={
            **{name: NUMBA.primitives[name] for name in ALIKE},
            **{name: f"wp.{name}({x})" for name in OWN},
            # Warp clamps what has no angle; everybody else says so.
            **{f: f"wp.where(wp.abs({x}) <= {one}, wp.{f}({x}), {n('wp.nan')})" for f in ("asin", "acos")},
            "atan": f"wp.atan({x})",
            "atan2": "wp.atan2({0}, {1})",
            "rem": "wp.mod({0}, {1})",
            "pow": "wp.pow({0}, {1})",
            "sign": f"wp.where({x} > {zero}, {one}, wp.where({x} < {zero}, {n(-1.0)}, {x}))",
            "max": "wp.where({0} >= {1} or {0} != {0}, {0}, {1})",
            "min": "wp.where({0} <= {1} or {0} != {0}, {0}, {1})",
            "round_even": f"wp.rint({x})",
            "round_away": f"wp.round({x})",
            "rsqrt": f"{one} / wp.sqrt({x})",
            "exp2": f"wp.pow({n(2.0)}, {x})",
            "expm1": f"expm1({x})",
            "log1p": f"log1p({x})",
            "logistic": f"{one} / ({one} + wp.exp(-{x}))",
            "asinh": f"wp.sign({x}) * log1p(wp.abs({x}) + {x} * {x} / ({one} + wp.sqrt({x} * {x} + {one})))",
            "acosh": f"wp.log({x} + wp.sqrt({x} * {x} - {one}))",
            "atanh": f"{n(0.5)} * log1p({n(2.0)} * {x} / ({one} - {x}))",
            "and": "{0} and {1}",
            "or": "{0} or {1}",
            "xor": "{0} != {1}",
            "not": f"not {x}",
            "is_finite": f"wp.isfinite({x})",
            "number": f"wp.where({x}, {one}, {zero})",
            "select": "wp.where({0}, {2}, {1})",
        },
    )


def emit(lowered: LoweredAttached, real: str = "wp.float32") -> str:
    """Five kernels over columns, one for each actuator: arrays are (width, n), in the order of the system's
    names.

    prepare(P, h, kept)                     what parameters and step length decide, in 64 bits, rounded once
    advance(kept, S, carried, U, effort)    one step: states move on; the mean effort over it
    prepare_load(P, h, kept)
    load_seen(kept, U, before, v, effort, load)
    armature(P, J)
    """
    source = Source()
    for kind in dict.fromkeys(("wp.float64", real)):
        source.add(*HELPERS.format(real=kind).splitlines())
    step, load = lowered.advance, lowered.load_seen
    many, one = f"wp.array2d(dtype={real})", f"wp.array(dtype={real})"
    _prepare(source, "prepare", kept(step, _SLOW), real)
    with kernel(source, f"advance(kept: {many}, S: {many}, carried: {many}, U: {many}, effort: {one})"):
        text = _computed(source, step, kept(step, _SLOW), {"s": "S", "u": "U"}, real)
        for i, (node, summed) in enumerate(zip(step, lowered.summed, strict=False)):
            if summed and real == "wp.float32":
                # What this addition rounds away is added to the next change.
                source.add(f"change{i} = {text(node)} + carried[{i}, c]", f"moved{i} = S[{i}, c] + change{i}")
                source.add(f"carried[{i}, c] = change{i} - (moved{i} - S[{i}, c])", f"S[{i}, c] = moved{i}")
            else:
                source.add(f"S[{i}, c] = S[{i}, c] + {text(node)}")
        source.add(f"effort[c] = {text(step[-1])}")
    _prepare(source, "prepare_load", kept(load, _SLOW), real)
    with kernel(
        source,
        f"load_seen(kept: {many}, U: {many}, before: {one}, velocity: {one}, acted: {one}, load: {one})",
    ):
        source.add("v_before = before[c]", "v = velocity[c]", "effort = acted[c]")
        text = _computed(source, load, kept(load, _SLOW), {"u": "U"}, real)
        source.add(f"load[c] = {text(load[0])}")
    with kernel(source, f"armature(P: wp.array2d(dtype=wp.float64), J: {one})"):
        text = _slow(source, lowered.armature)
        source.add(f"J[c] = {real}({text(lowered.armature[0])})")
    return str(source)


def kernel(source: Source, signature: str):
    source.add("", "", "@wp.kernel")
    block = source.block(f"def {signature}:", keep=True)
    return _Begun(source, block)


class _Begun:
    """A kernel's block, whose first line says which actuator it is about."""

    def __init__(self, source: Source, block):
        self.source, self.block = source, block

    def __enter__(self) -> None:
        self.block.__enter__()
        self.source.add("c = wp.tid()")

    def __exit__(self, *error) -> None:
        self.block.__exit__(*error)


def _prepare(source: Source, name: str, results: Sequence[Node], real: str) -> None:
    signature = f"{name}(P: wp.array2d(dtype=wp.float64), h: wp.float64, kept: wp.array2d(dtype={real}))"
    with kernel(source, signature):
        text = _slow(source, results)
        source.add(*[f"kept[{i}, c] = {real}({text(x)})" for i, x in enumerate(results)])


def _slow(source: Source, results: Sequence[Node]):
    """Terms of the parameters and the step length, in 64 bits; how they are written."""
    double = words("wp.float64")
    source.add(*loaded(results, {"p": "P"}), *double.statements(results, *_SLOW))
    return double.text


def _computed(
    source: Source, results: Sequence[Node], known: Sequence[Node], arrays: dict[str, str], real: str
):
    """The lines that compute the results of what changes at every step; how they are written."""
    own = words(real)
    source.add(*loaded(results, arrays), *[f"{own.text(x)} = kept[{i}, c]" for i, x in enumerate(known)])
    source.add(*own.statements(results, *_FAST))
    return own.text


def loaded(results: Sequence[Node], arrays: dict[str, str]) -> list[str]:
    """`s0 = S[0, c]` and so on, for the leaves that are used."""
    used = sorted(x for x in leaves(results) if x[1:].isdigit() and x[0] in arrays)
    return [f"{x} = {arrays[x[0]]}[{x[1:]}, c]" for x in used]
