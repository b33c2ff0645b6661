"""Warp: a traced step as kernels, one thread for each actuator, as exact in 32 bits as that allows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..ir import FAST, SLOW, Node
from ..lean import DECAY, FLIP, POWER
from ..lower import LoweredHosted
from ..passes import kept_terms, number, numbered_leaves
from ..source import ALIKE, SourceText, Words, call_words

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
            **ALIKE,
            **call_words("wp.{}", "abs", "floor", "ceil", "sqrt", "cbrt", "exp", "log", "log2"),
            **call_words("wp.{}", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh"),
            # Warp clamps what has no angle; everybody else says so.
            **{f: f"wp.where(wp.abs({x}) <= {one}, wp.{f}({x}), {n('wp.nan')})" for f in ("asin", "acos")},
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


@contextlib.contextmanager
def kernel(source: SourceText, signature: str) -> Iterator[None]:
    """A kernel's block, whose first line says which actuator it is about."""
    source.add("", "", "@wp.kernel")
    with source.block(f"def {signature}:", keep=True):
        source.add("c = wp.tid()")
        yield


def load_leaves(results: Sequence[Node], arrays: dict[str, str]) -> list[str]:
    """`s0 = S[0, c]` and so on, for the leaves that are used."""
    used = numbered_leaves(results, sorted(arrays))
    return [f"{x} = {arrays[x[0]]}[{x[1:]}, c]" for x in used]


_NATIVE = '''

@wp.func_native("""{body}""")
def {name}({arguments}) -> wp.float32: ...
'''
_ON_GPU = "\n#if defined(__CUDA_ARCH__)\n{gpu}\n#else\n{cpu}\n#endif\n"
_REDUCED = """float t = fmaf(x, 0.318309886f, 12582912.0f), n = t - 12582912.0f;
float r = fmaf(n, 8.74227766e-8f, fmaf(n, -3.14159274f, x)), z = r * r;
unsigned int odd = __float_as_uint(t) << 31;
"""
"""x less a whole number of half turns, and whether that was odd; good to a last place below 10^4 rad."""
_SIN = """float y = fmaf(fmaf(2.59990212e-6f, z, -1.98065465e-4f), z, 8.33301635e-3f);
y = fmaf(y, z, -1.66666571e-1f);
return __uint_as_float(__float_as_uint(fmaf(r * z, y, r)) ^ odd);"""
_COS = """float y = fmaf(fmaf(-2.60756549e-7f, z, 2.47618077e-5f), z, -1.38884021e-3f);
y = fmaf(fmaf(fmaf(y, z, 4.16666406e-2f), z, -4.99999995e-1f), z, 1.0f);
return __uint_as_float(__float_as_uint(y) ^ odd);"""
"""Minimax polynomials over half a turn: within 5e-9 and 3e-10, below the rounding of 32 bits."""
_RECIPROCAL = 'float r; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(y));'
_POWER = """float l, p; asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(l) : "f"(x));
asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(p) : "f"(y * l)); return p;"""
_DECAY = 'float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * -1.44269504f)); return y;'
_FLIP = "return __uint_as_float(__float_as_uint(x) ^ (__float_as_uint(y) & 0x80000000u));"
_LIMIT = 'float z; asm("{0}.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y)); return z;'

_OWN = {
    "flip": (2, _FLIP, _FLIP, "return y < 0.0f ? -x : x;"),
    "power": (2, _POWER, _POWER, "return powf(x, y);"),
    "decay": (1, _DECAY, _DECAY, "return expf(-x);"),
    "quotient": (
        2,
        f"{_RECIPROCAL} float q = x * r; return fmaf(fmaf(-q, y, x), r, q);",
        f"{_RECIPROCAL} return x * r;",
        "return x / y;",
    ),
    "sine": (1, _REDUCED + _SIN, "return __sinf(x);", "return sinf(x);"),
    "cosine": (1, _REDUCED + _COS, "return __cosf(x);", "return cosf(x);"),
    "larger": (2, _LIMIT.format("max"), _LIMIT.format("max"), "return x >= y || x != x ? x : y;"),
    "smaller": (2, _LIMIT.format("min"), _LIMIT.format("min"), "return x <= y || x != x ? x : y;"),
}
"""Name -> (number of operands, on a GPU, on one with fast math, elsewhere)."""
SHORT = {
    FLIP: "flip({0}, {1})",
    POWER: "power({0}, {1})",
    DECAY: "decay({0})",
    "div": "quotient({0}, {1})",
    "sin": "sine({0})",
    "cos": "cosine({0})",
    "max": "larger({0}, {1})",
    "min": "smaller({0}, {1})",
}

PLAIN = {
    FLIP: "wp.where({1} >= wp.float64(0.0), {0}, -{0})",
    POWER: "wp.pow({0}, {1})",
    DECAY: "wp.exp(-{0})",
}
"""The operations beyond the table in 64 bits."""


def own_functions(fast: bool) -> str:
    """The 32-bit functions of this file, as Warp reads them."""
    written = []
    for name, (n, exact, quick, cpu) in _OWN.items():
        body = _ON_GPU.format(gpu=quick if fast else exact, cpu=cpu)
        arguments = ", ".join(f"{x}: wp.float32" for x in "xy"[:n])
        written.append(_NATIVE.format(name=name, body=body.replace("\\", "\\\\"), arguments=arguments))
    return "".join(written)


_DOUBLE = "wp.float64"


@dataclass(frozen=True, kw_only=True)
class MemoryRows:
    """Places in the columns: of `memory`, and of `kept_terms`, what parameters and step length decide."""

    states: tuple[str, ...]
    summed: tuple[str, ...]
    terms: list[Node]
    delayed: bool

    @property
    def acted(self) -> int:
        """The last effort."""
        return len(self.states)

    @property
    def place(self) -> int:
        """Where the delay line stands, counted from 1; 0 after a reset."""
        return self.acted + 1

    def remainder_row(self, state: str) -> int:
        """What the state's last addition rounded away."""
        return self.place + 1 + self.summed.index(state)

    @property
    def line(self) -> int:
        """The first row of the delay line."""
        return self.place + 1 + len(self.summed)

    @property
    def lag(self) -> int:
        """Whole steps that a command is late by, then the part of one."""
        return len(self.terms)

    @property
    def armature(self) -> int:
        return self.lag + (2 if self.delayed else 0)

    @property
    def kept(self) -> int:
        return self.armature + 1


def rows(lowered: LoweredHosted) -> MemoryRows:
    """Where everything stands."""
    return MemoryRows(
        states=lowered.states,
        summed=tuple(n for n, sums in zip(lowered.states, lowered.summed, strict=True) if sums),
        terms=kept_terms([*lowered.advance, *lowered.load_seen, *lowered.begin], SLOW),
        delayed=bool(lowered.lag),
    )


def emit_live(lowered: LoweredHosted) -> str:
    """A function `kernels(real)` that makes, for wp.float32 or wp.float64,

    prepare(P, h, kept)            what parameters and step length decide, in 64 bits, rounded once
    begin(c, k, kept, memory)      a reset of one column, as a function for kernels
    moved(c, k, kept, memory, length, own, inertia, position, velocity, loaded, load, *targets)
                                   one step of one column, as a function for kernels; gives the mean effort
    """
    at, source = rows(lowered), SourceText()
    for kind in (_DOUBLE, "wp.float32"):
        source.add(*HELPERS.format(real=kind).splitlines())
    source.add("", "")
    with source.block("def kernels(real):"):
        source.add('"""The actuator\'s own kernels for numbers of this kind: wp.float32 or wp.float64."""')
        source.add("many = wp.array2d(dtype=real)")
        _prepare(source, lowered, at)
        _begin(source, lowered, at)
        _write_step(source, lowered, at)
        source.add("", "return prepare, begin, moved")
    return str(source)


def _prepare(source: SourceText, lowered: LoweredHosted, at: MemoryRows) -> None:
    double = words(_DOUBLE)
    results = [*at.terms, *lowered.lag, *lowered.armature]
    source.add("", '@wp.kernel(enable_backward=False, module="unique")')
    with source.block("def prepare(P: wp.array2d(dtype=wp.float64), h: wp.float64, kept: many):"):
        source.add("c = wp.tid()", *[f"{x} = P[{x[1:]}, c]" for x in numbered_leaves(results, "p")])
        source.add(*double.statements(results, *SLOW))
        source.add(*[f"kept[{i}, c] = real({double.text(x)})" for i, x in enumerate(results)])


def _begin(source: SourceText, lowered: LoweredHosted, at: MemoryRows) -> None:
    places, own = {node.index: i for i, node in enumerate(at.terms)}, words("real")
    source.add("", "@wp.func")
    with source.block("def begin(c: int, k: int, kept: many, memory: many):"):
        with source.block(f"for i in range({at.line}):"):
            source.add("memory[i, c] = real(0.0)")
        for i, node in enumerate(lowered.begin):
            if node.index in places:
                source.add(f"memory[{i}, c] = kept[{places[node.index]}, k]")
            elif node.level not in FAST and number(node) != 0.0:
                source.add(f"memory[{i}, c] = {own.text(node)}")


def _write_step(source: SourceText, lowered: LoweredHosted, at: MemoryRows) -> None:
    own, targets = words("real"), range(len(lowered.inputs) - 2)
    q, v = at.states.index("position"), at.states.index("velocity")
    given = "".join(f", g{t}: real" for t in targets)
    source.add("", "@wp.func", "def moved(", "    c: int, k: int, kept: many, memory: many, length: int,")
    source.add("    own: int, inertia: real, position: real, velocity: real, loaded: int, load: real" + given)
    with source.block("):"):
        source.add(f"place = int(wp.round(memory[{at.place}, c]))", "fresh = place == 0")
        source.add(f"v_before = memory[{v}, c]", f"effort = memory[{at.acted}, c]")
        source.add(f"s{q} = wp.where(own == 1, memory[{q}, c], position)")
        source.add(f"s{v} = wp.where(own == 1, v_before, velocity)")
        source.add(*[f"{own.text(x)} = kept[{i}, k]" for i, x in enumerate(at.terms)])
        source.add(*own.statements(lowered.begin, *FAST))
        for i, (state, node) in enumerate(zip(at.states, lowered.begin, strict=True)):
            if state in lowered.follows:  # after a reset it begins where the joint is, or at what is asked
                source.add(f"s{i} = wp.where(fresh, {own.text(node)}, memory[{i}, c])")
            elif i not in (q, v):
                source.add(f"s{i} = memory[{i}, c]")
        source.add("u0 = inertia")
        if at.delayed:
            _write_delay(source, at, targets)
        else:
            source.add(*[f"u{2 + t} = g{t}" for t in targets], f"memory[{at.place}, c] = real(1.0)")
        source.add(f"v = s{v}", *own.statements(lowered.load_seen, *FAST))
        seen = own.text(lowered.load_seen[0])
        source.add(f"u1 = wp.where(loaded == 1, load, wp.where(fresh, real(0.0), {seen}))")
        source.add(*own.statements(lowered.advance, *FAST))
        _write_states(source, lowered, at, own.text)


def _write_delay(source: SourceText, at: MemoryRows, targets: range) -> None:
    """The command as it arrives: late, and mixed where it changes inside a step; a ring of commands."""
    n = len(targets)
    with source.block("if fresh:"), source.block("for i in range(length):"):
        source.add(*[f"memory[{at.line + t} + {n} * i, c] = g{t}" for t in targets])
    source.add("slot = place % length", f"memory[{at.place}, c] = real(slot + 1)")
    source.add(*[f"memory[{at.line + t} + {n} * slot, c] = g{t}" for t in targets])
    source.add(f"late = (slot - int(kept[{at.lag}, k]) + length) % length")
    source.add("earlier = (late - 1 + length) % length", f"part = kept[{at.lag + 1}, k]")
    for t in targets:
        a, b = (f"memory[{at.line + t} + {n} * {x}, c]" for x in ("late", "earlier"))
        source.add(f"u{2 + t} = (real(1.0) - part) * {a} + part * {b}")


def _write_states(source: SourceText, lowered: LoweredHosted, at: MemoryRows, text) -> None:
    """The states after the step; the joint's own only where it is not a simulator's."""
    foreign = ("position", "velocity")
    for i, (state, node) in enumerate(zip(at.states, lowered.advance, strict=False)):
        if state in foreign:
            continue
        if state not in at.summed:
            source.add(f"memory[{i}, c] = s{i} + {text(node)}")
            continue
        row = at.remainder_row(state)  # what this addition rounds away belongs to the next step
        source.add(f"change{i} = {text(node)} + memory[{row}, c]")
        source.add(f"moved{i} = s{i} + change{i}", f"memory[{row}, c] = change{i} - (moved{i} - s{i})")
        source.add(f"memory[{i}, c] = moved{i}")
    indices = [at.states.index(state) for state in foreign]
    with source.block("if own == 1:"):
        for i, state in zip(indices, foreign, strict=True):
            change = text(lowered.advance[i])
            if state in at.summed:
                row = at.remainder_row(state)
                source.add(f"change{i} = {change} + memory[{row}, c]", f"moved{i} = s{i} + change{i}")
                source.add(f"memory[{row}, c] = change{i} - (moved{i} - s{i})", f"memory[{i}, c] = moved{i}")
            else:
                source.add(f"memory[{i}, c] = s{i} + {change}")
    with source.block("else:"):
        source.add(*[f"memory[{i}, c] = s{i}" for i in indices])
    source.add(f"memory[{at.acted}, c] = {text(lowered.advance[-1])}", f"return memory[{at.acted}, c]")
