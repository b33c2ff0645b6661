"""Warp: a lowered step as a kernel that scores a population, one thread for each candidate.

What parameters alone decide is computed once, in 64 bits, and rounded once. In 32 bits a position is a sum
that remembers what its last addition rounded away, and squared errors are summed in short blocks; the
functions that take most instructions are written here, each within a few units in the last place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...rows import corrected_pairs
from ..ir import Level
from ..lean import lean
from ..lower import LoweredSystem
from ..passes import change, kept_terms
from ..source import SourceText, Words
from .warp_dialect import HELPERS, PLAIN, SHORT, kernel, load_leaves, own_functions, words

ROWS = 64
"""Squared errors of so many rows are summed by themselves before they are added to the rest."""


@dataclass(frozen=True, kw_only=True)
class KernelVariant:
    """What a kernel must do, and no more: each that is absent costs nothing."""

    real: str = "wp.float32"
    fast: bool = False
    """Fewer digits in quotients and angles, no memory of what was rounded away."""
    even: bool = True
    """Whether all steps are of one length, and all rows of as many."""
    substeps: bool = True
    """Whether a row has more than one step."""
    weighted: bool = False
    """Whether errors have weights of their own, such as 0 where nothing was measured."""
    robust: bool = False
    observer: bool = False
    resets: bool = False
    stores: bool = False
    """Whether outputs are kept, row by row."""
    spares: int = 24
    """How many terms a branch must spare to pay."""

    @property
    def single(self) -> bool:
        return self.real == "wp.float32"

    @property
    def slow(self) -> tuple[Level, ...]:
        return (Level.CONSTANT, Level.PARAMETER, *([Level.LENGTH] if self.even else []))


def emit(lowered: LoweredSystem, variant: KernelVariant) -> str:
    """Two kernels: `prepare(P, h, kept)` and `score(kept, S, rows, ..., total)`; `columns` says what a row
    holds."""
    return str(_Population(lowered, variant).source)


def columns(variant: KernelVariant, n_inputs: int, n_outputs: int) -> list[str]:
    """What a row holds, in order: inputs u, what was measured y and its weights w; the observer's pull and
    push and the position seen; whether to reset, and to what; the step's length, and how many there are."""
    names = [f"u{i}" for i in range(n_inputs)] + [f"y{i}" for i in range(n_outputs)]
    names += [f"w{i}" for i in range(n_outputs)] if variant.weighted else []
    names += ["pull", "push", "position"] if variant.observer else []
    names += ["reset", "reset_position", "reset_velocity"] if variant.resets else []
    return names + ([] if variant.even else ["h", "steps"])


class _Population:
    def __init__(self, lowered: LoweredSystem, variant: KernelVariant):
        self.lowered, self.variant, self.source = lowered, variant, SourceText()
        graph, after = lowered.graph, lowered.step.values
        leaves = [graph.leaf(f"s{i}", Level.STATE) for i in range(len(lowered.states))]
        changes = [change(graph, a, s) for a, s in zip(after, leaves, strict=True)]
        remembers = variant.single and not variant.fast
        self.summed = [
            remembers and c is not None and a.op != "select" for a, c in zip(after, changes, strict=True)
        ]
        moved = [c if s and c is not None else a for a, c, s in zip(after, changes, self.summed, strict=True)]
        n = len(moved)
        roots = lean(graph, [*moved, *lowered.observe.values], more=variant.single)
        self.step, self.seen = roots[:n], roots[n:]
        self.words = self._words()
        self.pairs = corrected_pairs(lowered.states)
        self._write()

    def _words(self) -> Words:
        own = words(self.variant.real)
        more = SHORT if self.variant.single else {}
        return replace(own, branches=True, spares=self.variant.spares, primitives={**own.primitives, **more})

    def _write(self) -> None:
        source, v = self.source, self.variant
        for kind in dict.fromkeys(("wp.float64", v.real)):
            source.add(*HELPERS.format(real=kind).splitlines())
        source.add(*(own_functions(v.fast) if v.single else "").splitlines())
        known = kept_terms([*self.step, *self.seen], v.slow)
        double = "wp.array2d(dtype=wp.float64)"
        with kernel(source, f"prepare(P: {double}, h: wp.float64, kept: wp.array2d(dtype={v.real}))"):
            exact = words("wp.float64")
            exact = replace(exact, primitives={**exact.primitives, **PLAIN})
            source.add(*load_leaves(known, {"p": "P"}), *exact.statements(known, *v.slow))
            source.add(*[f"kept[{i}, c] = {v.real}({exact.text(x)})" for i, x in enumerate(known)])
        source.add("", "", f"WIDTH = {len(known)}")
        names = columns(v, len(self.lowered.inputs), len(self.seen))
        self.at = {name: f"row[{i}]" for i, name in enumerate(names)}
        source.add(f"Row = wp.types.vector(length={len(names)}, dtype={v.real})")
        limit = f", robust: {v.real}" if v.robust else ""
        limit += f", seen: wp.array2d(dtype={v.real})" if v.stores else ""
        given = f"kept: wp.array2d(dtype={v.real}), S: {double}, rows: wp.array(dtype=Row)"
        given += f", n_rows: int, n_steps: int{limit}"
        with kernel(source, f"score({given}, total: wp.array(dtype=wp.float64))"):
            source.add(*[f"{self.words.text(x)} = kept[{i}, c]" for i, x in enumerate(known)])
            for i in range(len(self.step)):
                source.add(f"s{i} = {v.real}(S[{i}, c])")
                source.add(*[f"carried{i} = {v.real}(0.0)"] * self.summed[i])
            source.add("all = wp.float64(0.0)", "row = rows[0]")
            with source.block(f"for b in range((n_rows + {ROWS - 1}) // {ROWS}):"):
                source.add(f"part = {v.real}(0.0)")
                with source.block(f"for k in range(b * {ROWS}, wp.min(n_rows, (b + 1) * {ROWS})):"):
                    source.add("ahead = rows[k + 1]")  # on its way while this one is worked on
                    self._row(last=False)
                    self._steps()
                    source.add("row = ahead")
                source.add("all += wp.float64(part)")
            source.add(f"part = {v.real}(0.0)")
            self._row(last=True)  # the last sample, after which nothing moves
            source.add("total[c] = all + wp.float64(part)")

    def _row(self, *, last: bool) -> None:
        source, v, text, at = self.source, self.variant, self.words.text, self.at
        source.add(*[f"u{i} = {at[f'u{i}']}" for i in range(len(self.lowered.inputs))])
        source.add(*self.words.statements(self.seen, Level.INPUT, Level.STATE))
        if v.stores:
            k, n = "n_rows" if last else "k", len(self.seen)
            source.add(*[f"seen[{k} * {n} + {i}, c] = {text(y)}" for i, y in enumerate(self.seen)])
        for i, y in enumerate(self.seen):
            weight = f" * {at[f'w{i}']}" if v.weighted else ""
            source.add(f"error{i} = ({text(y)} - {at[f'y{i}']}){weight}")
            if v.robust:
                size, near = f"size{i}", f"{v.real}(0.5) * size{i} * size{i}"
                source.add(f"{size} = wp.abs(error{i})")
                far = f"robust * ({size} - {v.real}(0.5) * robust)"
                source.add(f"part += wp.where({size} <= robust, {near}, {far})")
            else:
                source.add(f"part += error{i} * error{i}")
        if last:
            return
        if v.observer:
            source.add(f"pulled = {at['position']} - s{self.pairs[0][0]}")
            for q, w in self.pairs:
                source.add(f"s{q} = s{q} + {at['pull']} * pulled", f"s{w} = s{w} + {at['push']} * pulled")
        if v.resets:
            source.add(f"anew = {at['reset']} > {v.real}(0.0)")
            for q, w in self.pairs:
                source.add(f"s{q} = wp.where(anew, {at['reset_position']}, s{q})")
                source.add(f"s{w} = wp.where(anew, {at['reset_velocity']}, s{w})")

    def _steps(self) -> None:
        source, v = self.source, self.variant
        if not v.even:
            source.add(f"h = {self.at['h']}", *self.words.statements(self.step, Level.LENGTH))
        source.add(*self.words.statements(self.step, Level.INPUT))
        if not v.substeps:
            self._step()
            return
        steps = "n_steps" if v.even else f"wp.int32({self.at['steps']})"
        with source.block(f"for j in range({steps}):"):
            self._step()

    def _step(self) -> None:
        source, text = self.source, self.words.text
        source.add(*self.words.statements(self.step, Level.STATE))
        for i, (node, summed) in enumerate(zip(self.step, self.summed, strict=True)):
            if summed:
                # What this addition rounds away is added to the next change.
                source.add(f"change{i} = {text(node)} + carried{i}", f"after{i} = s{i} + change{i}")
                source.add(f"carried{i} = change{i} - (after{i} - s{i})")
            else:
                source.add(f"after{i} = {text(node)}")
        source.add(*[f"s{i} = after{i}" for i in range(len(self.step))])
