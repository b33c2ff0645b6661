"""Warp: a traced step as one kernel for joints that a simulator moves, delay and memory included.

Everything that one actuator remembers is a column of one array, so that a simulator may keep, copy and
reset it as a whole: the states, the last effort, what sums rounded away, the delay line and where it
stands. Nothing else changes from step to step, so a launch can be captured in a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...hosted import Beginning
from ..ir import Level, Node
from ..lower import LoweredAttached
from ..passes import kept, leaves
from ..source import Source
from .warp import HELPERS, words

_SLOW = (Level.CONSTANT, Level.PARAMETER, Level.LENGTH)
_FAST = (Level.INPUT, Level.STATE)
_DOUBLE = "wp.float64"


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Places in the columns: of `memory`, and of `kept`, what parameters and step length decide."""

    states: tuple[str, ...]
    summed: tuple[str, ...]
    terms: list[Node]
    parameters: tuple[str, ...]
    """Those that are kept as they are."""
    delayed: bool

    @property
    def acted(self) -> int:
        """The last effort."""
        return len(self.states)

    @property
    def place(self) -> int:
        """Where the delay line stands, counted from 1; 0 after a reset."""
        return self.acted + 1

    def carried(self, state: str) -> int:
        """What the state's last addition rounded away."""
        return self.place + 1 + self.summed.index(state)

    @property
    def line(self) -> int:
        """The first row of the delay line."""
        return self.place + 1 + len(self.summed)

    def parameter(self, path: str) -> int:
        return len(self.terms) + self.parameters.index(path)

    @property
    def lag(self) -> int:
        """Whole steps that a command is late by, then the part of one."""
        return len(self.terms) + len(self.parameters)

    @property
    def armature(self) -> int:
        return self.lag + (2 if self.delayed else 0)

    @property
    def kept(self) -> int:
        return self.armature + 1


def rows(lowered: LoweredAttached, beginning: Beginning) -> Rows:
    """Where everything stands."""
    limits = [path for pair in beginning.asked.values() for path in pair if path is not None]
    return Rows(
        states=lowered.states,
        summed=tuple(n for n, sums in zip(lowered.states, lowered.summed, strict=True) if sums),
        terms=kept([*lowered.advance, *lowered.load_seen], _SLOW),
        parameters=tuple(dict.fromkeys([*beginning.start.values(), *limits])),
        delayed=beginning.delay is not None and len(lowered.inputs) > 2,
    )


def emit_live(lowered: LoweredAttached, beginning: Beginning) -> str:
    """A function `kernels(real)` that makes, for wp.float32 or wp.float64,

    prepare(P, h, length, kept)    what parameters and step length decide, in 64 bits, rounded once
    begin(c, k, kept, memory)      a reset of one column, as a function for kernels
    moved(c, k, kept, memory, length, own, inertia, position, velocity, loaded, load, *targets)
                                   one step of one column, as a function for kernels; gives the mean effort
    """
    at, source = rows(lowered, beginning), Source()
    for kind in (_DOUBLE, "wp.float32"):
        source.add(*HELPERS.format(real=kind).splitlines())
    source.add("", "")
    with source.block("def kernels(real):"):
        source.add('"""The actuator\'s own kernels for numbers of this kind: wp.float32 or wp.float64."""')
        source.add("many = wp.array2d(dtype=real)")
        _prepare(source, lowered, beginning, at)
        _begin(source, beginning, at)
        _moved(source, lowered, beginning, at)
        source.add("", "return prepare, begin, moved")
    return str(source)


def _prepare(source: Source, lowered: LoweredAttached, beginning: Beginning, at: Rows) -> None:
    double = words(_DOUBLE)
    results = [*at.terms, *lowered.armature]
    source.add("", '@wp.kernel(enable_backward=False, module="unique")')
    with source.block(
        "def prepare(P: wp.array2d(dtype=wp.float64), h: wp.float64, length: int, kept: many):"
    ):
        source.add("c = wp.tid()", *[f"{x} = P[{x[1:]}, c]" for x in _used(results, "p")])
        source.add(*double.statements(results, *_SLOW))
        source.add(*[f"kept[{i}, c] = real({double.text(x)})" for i, x in enumerate(at.terms)])
        for path in at.parameters:
            source.add(f"kept[{at.parameter(path)}, c] = real(P[{lowered.parameters.index(path)}, c])")
        if at.delayed and beginning.delay is not None:
            source.add(
                f"lag = P[{lowered.parameters.index(beginning.delay)}, c] / h",
                "whole = wp.min(wp.floor(lag + wp.float64(1e-9)), wp.float64(length - 2))",
                f"kept[{at.lag}, c] = real(whole)",
                f"kept[{at.lag + 1}, c] = real(wp.clamp(lag - whole, wp.float64(0.0), wp.float64(1.0)))",
            )
        source.add(f"kept[{at.armature}, c] = real({double.text(lowered.armature[0])})")


def _begin(source: Source, beginning: Beginning, at: Rows) -> None:
    source.add("", "@wp.func")
    with source.block("def begin(c: int, k: int, kept: many, memory: many):"):
        with source.block(f"for i in range({at.line}):"):
            source.add("memory[i, c] = real(0.0)")
        for state, path in beginning.start.items():
            source.add(f"memory[{at.states.index(state)}, c] = kept[{at.parameter(path)}, k]")


def _moved(source: Source, lowered: LoweredAttached, beginning: Beginning, at: Rows) -> None:
    own, targets = words("real"), range(len(lowered.inputs) - 2)
    q, v = at.states.index("position"), at.states.index("velocity")
    given = "".join(f", given{t}: real" for t in targets)
    source.add("", "@wp.func", "def moved(", "    c: int, k: int, kept: many, memory: many, length: int,")
    source.add("    own: int, inertia: real, position: real, velocity: real, loaded: int, load: real" + given)
    with source.block("):"):
        source.add(f"place = int(wp.round(memory[{at.place}, c]))", "fresh = place == 0")
        source.add(f"v_before = memory[{v}, c]", f"effort = memory[{at.acted}, c]")
        source.add(f"s{q} = wp.where(own == 1, memory[{q}, c], position)")
        source.add(f"s{v} = wp.where(own == 1, v_before, velocity)")
        for i, state in enumerate(at.states):
            if i not in (q, v):
                source.add(f"s{i} = {_state(i, state, beginning, at, q)}")
        source.add(*[f"{own.text(x)} = kept[{i}, k]" for i, x in enumerate(at.terms)])
        source.add("u0 = inertia")
        if at.delayed:
            _delayed(source, at, targets)
        else:
            source.add(*[f"u{2 + t} = given{t}" for t in targets], f"memory[{at.place}, c] = real(1.0)")
        source.add(f"v = s{v}", *own.statements(lowered.load_seen, *_FAST))
        seen = own.text(lowered.load_seen[0])
        source.add(f"u1 = wp.where(loaded == 1, load, wp.where(fresh, real(0.0), {seen}))")
        source.add(*own.statements(lowered.advance, *_FAST))
        _written(source, lowered, at, own.text)


def _state(i: int, state: str, beginning: Beginning, at: Rows, q: int) -> str:
    """A state before the step; after a reset, what follows something begins there."""
    if state in beginning.follows:
        return f"wp.where(fresh, s{q}, memory[{i}, c])"
    if state not in beginning.asked:
        return f"memory[{i}, c]"
    first = "given0"
    for path, bound in zip(beginning.asked[state], ("max", "min"), strict=True):
        first = first if path is None else f"wp.{bound}({first}, kept[{at.parameter(path)}, k])"
    return f"wp.where(fresh, {first}, memory[{i}, c])"


def _delayed(source: Source, at: Rows, targets: range) -> None:
    """The command as it arrives: late, and mixed where it changes inside a step; a ring of commands."""
    n = len(targets)
    with source.block("if fresh:"), source.block("for i in range(length):"):
        source.add(*[f"memory[{at.line + t} + {n} * i, c] = given{t}" for t in targets])
    source.add("slot = place % length", f"memory[{at.place}, c] = real(slot + 1)")
    source.add(*[f"memory[{at.line + t} + {n} * slot, c] = given{t}" for t in targets])
    source.add(f"late = (slot - int(kept[{at.lag}, k]) + length) % length")
    source.add("earlier = (late - 1 + length) % length", f"part = kept[{at.lag + 1}, k]")
    for t in targets:
        a, b = (f"memory[{at.line + t} + {n} * {x}, c]" for x in ("late", "earlier"))
        source.add(f"u{2 + t} = (real(1.0) - part) * {a} + part * {b}")


def _written(source: Source, lowered: LoweredAttached, at: Rows, text) -> None:
    """The states after the step; the joint's own only where it is not a simulator's."""
    foreign = ("position", "velocity")
    for i, (state, node) in enumerate(zip(at.states, lowered.advance, strict=False)):
        if state in foreign:
            continue
        if state not in at.summed:
            source.add(f"memory[{i}, c] = s{i} + {text(node)}")
            continue
        row = at.carried(state)  # what this addition rounds away belongs to the next step
        source.add(f"change{i} = {text(node)} + memory[{row}, c]")
        source.add(f"moved{i} = s{i} + change{i}", f"memory[{row}, c] = change{i} - (moved{i} - s{i})")
        source.add(f"memory[{i}, c] = moved{i}")
    indices = [at.states.index(state) for state in foreign]
    with source.block("if own == 1:"):
        for i, state in zip(indices, foreign, strict=True):
            change = text(lowered.advance[i])
            if state in at.summed:
                row = at.carried(state)
                source.add(f"change{i} = {change} + memory[{row}, c]", f"moved{i} = s{i} + change{i}")
                source.add(f"memory[{row}, c] = change{i} - (moved{i} - s{i})", f"memory[{i}, c] = moved{i}")
            else:
                source.add(f"memory[{i}, c] = s{i} + {change}")
    with source.block("else:"):
        source.add(*[f"memory[{i}, c] = s{i}" for i in indices])
    source.add(f"memory[{at.acted}, c] = {text(lowered.advance[-1])}", f"return memory[{at.acted}, c]")


def _used(results: Sequence[Node], letter: str) -> list[str]:
    """Leaves of this letter, in order."""
    names = [x for x in leaves(results) if x[0] == letter and x[1:].isdigit()]
    return sorted(names, key=lambda x: int(x[1:]))
