"""JavaScript: a traced step with the loops over samples and substeps around it, for pages that simulate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...rows import NO_SPLIT
from ..ir import Level, Node
from ..lower import LoweredSystem
from ..passes import computed_terms, leaves
from ..source import ALIKE, SourceText, Words, call_words
from ..trace import CIRCULAR, HYPERBOLIC

JS = Words(
    true="true",
    false="false",
    nan="NaN",
    infinity="Infinity",
    assign="const {0} = {1};",
    branches=False,  # they save nothing that V8 could measure
    primitives={
        **ALIKE,
        **call_words("Math.{}", "abs", "sign", "floor", "ceil", *CIRCULAR[:-1], *HYPERBOLIC),
        **call_words("Math.{}", "sqrt", "cbrt", "exp", "expm1", "log", "log2", "log1p"),
        "rem": "{0} % {1}",
        "pow": "Math.pow({0}, {1})",
        # Not Math.max: of 0 and -0 the first wins.
        "max": "({0} >= {1} || {0} !== {0} ? {0} : {1})",
        "min": "({0} <= {1} || {0} !== {0} ? {0} : {1})",
        # 1.5 * 2^52: added and taken away, it leaves no digits behind the point, halves to the even side.
        "round_even": "(Math.abs({0}) < 2251799813685248 ? {0} + 6755399441055744 - 6755399441055744 : {0})",
        "round_away": "Math.trunc({0} + 0.49999999999999994 * Math.sign({0}))",
        "rsqrt": "1 / Math.sqrt({0})",
        "exp2": "Math.pow(2, {0})",
        "logistic": "1 / (1 + Math.exp(-{0}))",
        "atan2": "Math.atan2({0}, {1})",
        "eq": "{0} === {1}",
        "ne": "{0} !== {1}",
        "and": "{0} && {1}",
        "or": "{0} || {1}",
        "xor": "{0} !== {1}",
        "not": "!{0}",
        "is_finite": "Number.isFinite({0})",
        "number": "({0} ? 1 : 0)",
        "select": "({0} ? {2} : {1})",
    },
)
_AGAIN = replace(JS, assign="{0} = {1};")
"""For names that are declared before."""
HEAD = "function {0}(P, S, rows, begin, end, n, states, seen) {{"


def emit(name: str, lowered: LoweredSystem) -> str:
    """One function: the samples `begin` to `end` of rows (`values`, `before`, `share`, `dt`; see rows.js),
    n steps from each to the next.

    P are the parameters and S the states, which it leaves as they are at the last sample; it fills `states`
    and `seen` (the outputs) row by row. All are Float64Arrays in the order of the system's names.
    """
    source = SourceText()
    with source.block(HEAD.format(name), "}", keep=True):
        _write(source, lowered)
    return str(source)


def _write(source: SourceText, lowered: LoweredSystem) -> None:
    step, seen, delayed = lowered.step.values, lowered.observe.values, lowered.delayed
    roots, states = [*step, *seen], range(len(lowered.states))
    if delayed:
        source.add("const { values, before, share, dt } = rows;")
    else:
        source.add("const { values, dt } = rows;")
    source.add(*JS.loads("p", len(lowered.parameters), roots, "P[{}]"))
    source.add(*JS.statements(roots, Level.CONSTANT, Level.PARAMETER))
    source.add(f"let {', '.join(f's{i} = S[{i}]' for i in states)};")
    if not delayed:
        names = ", ".join(f"{JS.text(node)} = 0" for node in computed_terms(step, (Level.LENGTH,)))
        source.add("let known = NaN;", *([f"let {names};"] if names else []))
    with source.block("for (let k = begin; k < end; k++) {", "}"):
        source.add(*_inputs(lowered, "share[k] > 0", roots))
        source.add(*[f"states[{_place('k', len(states), i)}] = s{i};" for i in states])
        with source.block("{", "}"):
            source.add(*JS.statements(seen, Level.INPUT, Level.STATE))
            for i, node in enumerate(seen):
                source.add(f"seen[{_place('k', len(seen), i)}] = {JS.text(node)};")
        source.add("if (k + 1 === end) { break; }")
        if delayed:
            _split(source)
        else:
            source.add("const m = n, h = dt[k] / n;")
            with source.block("if (h !== known) {", "}"):
                source.add("known = h;", *_AGAIN.statements(step, Level.LENGTH))
            source.add(*JS.statements(step, Level.INPUT))
        with source.block("for (let j = 0; j < m; j++) {", "}"):
            if delayed:
                source.add("const h = j < early ? hEarly : hLate;", *_inputs(lowered, "j < early", step))
            source.add(*JS.statements(step, Level.STATE))
            # All at once: the next of one may be the present state of another.
            after = [f"after{i} = {JS.text(node)}" for i, node in enumerate(step[: len(states)])]
            source.add(f"const {', '.join(after)};", " ".join(f"s{i} = after{i};" for i in states))
    source.add(*[f"S[{i}] = s{i};" for i in states])


def _inputs(lowered: LoweredSystem, early: str, roots: Sequence[Node]) -> list[str]:
    """The inputs that are used, at a sample or, where they come late, in a step."""
    n, used, lines = len(lowered.inputs), leaves(roots), []
    for i in range(n):
        at = _place("k", n, i)
        value = f"{early} ? before[{at}] : values[{at}]" if lowered.delayed else f"values[{at}]"
        lines += [f"const u{i} = {value};"] if f"u{i}" in used else []
    return lines


def _split(source: SourceText) -> None:
    """The steps of an interval in which the command switches: some before, some after, none across."""
    source.add(
        f"const part = share[k], split = part > {NO_SPLIT} && part < {1.0 - NO_SPLIT};",
        "const m = split && n < 2 ? 2 : n;",
        "let early = 0;",
        "for (let j = 0; j < m; j++) { if (j + 0.5 < part * m) { early++; } }",
        "if (split) { early = Math.min(Math.max(early, 1), m - 1); }",
        "const hEarly = split ? part * dt[k] / early : dt[k] / n;",
        "const hLate = split ? (1 - part) * dt[k] / (m - early) : dt[k] / n;",
    )


def _place(row: str, width: int, column: int) -> str:
    return row if width == 1 else f"{width} * {row} + {column}"
