"""Numba: straight-line Python that `machine.py` reads, and the frame of a file that numba compiles."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from ..ir import Level, Node
from ..lower import LoweredSystem
from ..passes import kept_terms, numbered_leaves
from ..source import ALIKE, SourceText, Words, call_words
from ..trace import CIRCULAR, HYPERBOLIC

FASTMATH = "{'contract'}"
"""Only fused multiply-add is allowed, which rounds once instead of twice. A set with more in it must be
written sorted: its own order differs between processes, and the text is part of what is cached."""

NUMBA = Words(
    primitives={
        **ALIKE,
        **call_words("math.{}", *CIRCULAR[:-1], *HYPERBOLIC, "sqrt", "exp", "expm1", "log", "log1p"),
        **call_words("np.{}", "sign", "floor", "ceil", "cbrt", "exp2", "log2"),
        "rem": "np.fmod({0}, {1})",
        "pow": "{0} ** {1}",
        "abs": "abs({0})",
        # A comparison with NaN is false, so a NaN needs a word of its own to survive max and min.
        "max": "choose(({0} >= {1}) | ({0} != {0}), {0}, {1})",
        "min": "choose(({0} <= {1}) | ({0} != {0}), {0}, {1})",
        "round_even": "np.rint({0})",
        "round_away": "np.trunc({0} + math.copysign(0.49999999999999994, {0}))",
        "rsqrt": "1.0 / math.sqrt({0})",
        "logistic": "1.0 / (1.0 + math.exp(-{0}))",
        "atan2": "math.atan2({0}, {1})",
        "and": "{0} & {1}",
        "or": "{0} | {1}",
        "xor": "{0} ^ {1}",
        "not": "not {0}",
        "is_finite": "math.isfinite({0})",
        "number": "choose({0}, 1.0, 0.0)",  # a truth value as a number
        "select": "choose({0}, {2}, {1})",  # JAX's order: condition, value where false, value where true
    }
)
"""`choose` is one machine instruction; `a if c else b` would be a branch."""

_MATRIX = "float64[:,::1]"
_STEP = {"n": "int64", "H": _MATRIX, "S": _MATRIX, "U": _MATRIX, "h": "float64", "after": _MATRIX}


def opening(fastmath: bool) -> str:
    """The first lines of every source. Division by zero gives infinity, and other threads may
    run meanwhile; there is no second entry for callers in C, which would take as long to compile as the
    first."""
    numbers = f"error_model='numpy', fastmath={FASTMATH if fastmath else False}"
    flags = f"cache=CACHE, nogil=True, no_cfunc_wrapper=True, {numbers}"
    return (
        "import numpy as np\nfrom numba import njit\n\n"
        f"from backemf.engine.compile.machine import body\n\nFLAGS = dict({flags})\n"
    )


@contextlib.contextmanager
def compiled_function(
    source: SourceText, name: str, arguments: dict[str, str], scratch: int = 0
) -> Iterator[None]:
    """Opens a compiled function, whose body is added meanwhile.

    Without scratch it makes no array, and numba need not count who refers to one: faster to compile and to
    call.

    Args:
        source: where it is written.
        name: of the function.
        arguments: its arguments' types, by name.
        scratch: numbers of an array Z that it has to itself.

    Yields:
        Nothing: lines are added meanwhile.
    """
    names, flags = ", ".join(arguments), "**FLAGS" if scratch else "**FLAGS, _nrt=False"
    source.add("", "", f'{name}_body = body("""')
    with source.block(f"def {name}({names}{', Z' if scratch else ''}):"):
        yield
    source.add('""")', "", "", f'@njit("void({", ".join(arguments.values())})", {flags})')
    with source.block(f"def {name}({names}):"):
        source.add(f"{name}_body(({names}{f', np.empty({scratch})' if scratch else ''}))")


def stepper_source(lowered: LoweredSystem, *, fastmath: bool = True) -> str:
    """Two functions: `prepare(P, H)` for what the parameters alone decide, and `step(n, H, S, U, h, after)`,
    which reads it from H; what a step gives besides the states is averaged over its n parts."""
    source, slow_terms = _begin_source(lowered, fastmath)
    with compiled_function(source, "step", _STEP), source.block("for c in range(S.shape[0]):"):
        _write_step(source, lowered, slow_terms)
    return str(source)


HEADS = {"begin": "HGS", "demand": "HSUD"}
"""Arguments of the functions beside a step: rows of terms, of states, inputs and targets; the last is where
the answer goes."""


def callable_source(
    lowered: LoweredSystem, more: Mapping[str, Sequence[Node]], *, fastmath: bool = True
) -> str:
    """The same for callers without Python: `prepare(P, H)`, and `step`, whose address takes n, pointers to
    one row each of H, S and U, h, and a pointer to where the states and what else a step gives go: S itself,
    if need be. The address of `begin` takes pointers to one row each of H, of targets G, and of states S with
    position and velocity, where all states go as they begin; that of `demand` those of H, S and U, and to
    where what a motor asks of its supply goes.

    Args:
        lowered: the system.
        more: results of the functions of HEADS that are wanted.
        fastmath: whether products and sums may be fused.

    Returns:
        The source of a module.
    """
    source, slow_terms = _begin_source(lowered, fastmath, [x for values in more.values() for x in values])
    source.add("from numba import carray, cfunc", "", 'step_body = body("""')
    with source.block("def step(n, H, S, U, h, after):"), source.block("for c in range(S.shape[0]):"):
        _write_step(source, lowered, slow_terms)
    widths = {"H": len(slow_terms), "S": len(lowered.states), "U": len(lowered.inputs)}
    widths |= {"G": len(lowered.inputs), "D": 0, "after": len(lowered.step.values)}
    widths |= {HEADS[name][-1]: len(values) for name, values in more.items()}
    rows = {x: f"carray({x}, (1, {w}))" for x, w in widths.items()}
    pointer = "CPointer(float64)"
    source.add('""")', "", "")
    source.add(f'@cfunc("void(int64, {pointer}, {pointer}, {pointer}, float64, {pointer})", **CALLED)')
    with source.block("def step(n, H, S, U, h, after):"):
        source.add(f"step_body((n, {rows['H']}, {rows['S']}, {rows['U']}, h, {rows['after']}))")
    for name, values in more.items():
        names = ", ".join(HEADS[name])
        _write_once(source, name, values, slow_terms)
        source.add("", "", f'@cfunc("void({", ".join([pointer] * len(HEADS[name]))})", **CALLED)')
        with source.block(f"def {name}({names}):"):
            source.add(f"{name}_body(({', '.join(rows[x] for x in HEADS[name])}))")
    return str(source)


def _write_once(source: SourceText, name: str, values: Sequence[Node], slow_terms: Sequence[Node]) -> None:
    """A function of one row each, that gives one."""
    head = HEADS[name]
    source.add("", "", f'{name}_body = body("""')
    with source.block(f"def {name}({', '.join(head)}):"), source.block("for c in range(H.shape[0]):"):
        source.add(*[f"{NUMBA.text(x)} = H[c, {i}]" for i, x in enumerate(slow_terms)])
        used = numbered_leaves(values, head[1:].lower())
        source.add(*[f"{x} = {x[0].upper()}[c, {x[1:]}]" for x in used])
        source.add(*NUMBA.statements(values, Level.INPUT, Level.STATE))
        source.add(*[f"{head[-1]}[c, {i}] = {NUMBA.text(x)}" for i, x in enumerate(values)])
    source.add('""")')


def _begin_source(
    lowered: LoweredSystem, fastmath: bool, more: Sequence[Node] = ()
) -> tuple[SourceText, list[Node]]:
    """A source that begins with `prepare`, and the terms that it gives."""
    slow = (Level.CONSTANT, Level.PARAMETER)
    slow_terms = kept_terms([*lowered.step.values, *more], slow)
    source = SourceText()
    source.add(opening(fastmath), "CALLED = {k: FLAGS[k] for k in ('cache', 'error_model', 'fastmath')}")
    source.add(f"WIDTH = {len(slow_terms)}")
    with (
        compiled_function(source, "prepare", {"P": _MATRIX, "H": _MATRIX}),
        source.block("for c in range(P.shape[0]):"),
    ):
        source.add(*NUMBA.loads("p", len(lowered.parameters), slow_terms, "P[c, {}]"))
        source.add(*NUMBA.statements(slow_terms, *slow))
        source.add(*[f"H[c, {i}] = {NUMBA.text(x)}" for i, x in enumerate(slow_terms)])
    return source, slow_terms


def _write_step(source: SourceText, lowered: LoweredSystem, slow_terms: list[Node]) -> None:
    """Row c's n steps of h."""
    values, n_states, text = lowered.step.values, len(lowered.states), NUMBA.text
    states, more = range(n_states), range(n_states, len(values))
    source.add(*[f"{text(x)} = H[c, {i}]" for i, x in enumerate(slow_terms)])
    source.add(*[f"s{i} = S[c, {i}]" for i in states], *[f"mean{i} = 0.0" for i in more])
    source.add(*[f"u{i} = U[c, {i}]" for i in range(len(lowered.inputs))])
    source.add(*NUMBA.statements(values, Level.LENGTH, Level.INPUT))
    with source.block("for _ in range(n):"):
        source.add(*NUMBA.statements(values, Level.STATE))
        source.add(*[f"mean{i} += {text(values[i])} / n" for i in more])
        source.add(assignment(lowered))
    source.add(*[f"after[c, {i}] = s{i}" for i in states], *[f"after[c, {i}] = mean{i}" for i in more])


def assignment(lowered: LoweredSystem) -> str:
    """The next states, all at once: that of one may be the present state of another."""
    after = lowered.step.values[: len(lowered.states)]
    names = ", ".join(f"s{i}" for i in range(len(after)))
    return f"{names} = {', '.join(map(NUMBA.text, after))}"
