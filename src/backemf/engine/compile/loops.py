"""The loops around a lowered step: one template that becomes the four kernels.

A kernel runs cases: case c takes row c of the parameters P and start states S, and the log number which[c],
whose samples are rows offsets[log] to offsets[log + 1] of everything recorded. At each sample it observes,
corrects the state towards the recording where asked to, and takes n steps to the next sample.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from ..rows import DELAY, NO_SPLIT, STEEPEST, corrected_pairs
from .dialects.numba import NUMBA, assignment, compiled_function, opening
from .ir import Form, LaneChoice, Level, Node
from .lower import Function, LoweredSystem
from .source import SourceText, Words

# What the kernels are called with, and the types that numba compiles them for.
_COMMON = {
    "first": "int64",
    "last": "int64",
    "n": "int64",
    "P": "float64[:,::1]",
    "S": "float64[:,::1]",
    "which": "int64[::1]",
    "offsets": "int64[::1]",
    "values": "float64[:,::1]",
    "before": "float64[:,::1]",
    "switch": "float64[::1]",
    "dt": "float64[::1]",
}
_CORRECTIONS = {
    "bandwidth": "float64",
    "seen": "float64[::1]",
    "reset": "boolean[::1]",
    "reset_to": "float64[:,::1]",
}
_MEASURED = {
    "measured": "float64[:,::1]",
    "weights": "float64[:,::1]",
    "stride": "int64",
    "robust": "float64",
}
ARGUMENTS = {
    "trajectory": {**_COMMON, "states": "float64[:,::1]"},
    "cost": {**_COMMON, **_CORRECTIONS, **_MEASURED, "cost": "float64[::1]"},
    "sensitivities": {**_COMMON, **_CORRECTIONS, "outputs": "float64[:,::1]", "tangents": "float64[:,:,::1]"},
    "normal": {
        **_COMMON,
        **_CORRECTIONS,
        **_MEASURED,
        "JtJ": "float64[:,:,::1]",
        "Jtr": "float64[:,::1]",
        "cost": "float64[::1]",
    },
}


def kernel_source(kind: str, lowered: LoweredSystem, *, fastmath: bool = True) -> str:
    """The source of a kernel.

    Args:
        kind: 'trajectory', 'cost', 'sensitivities' or 'normal'.
        lowered: the system, with tangents where the kind needs them.
        fastmath: whether products and sums may be fused.

    Returns:
        A module with a function `kernel`.
    """
    return str(Kernel(kind, lowered, fastmath).source)


class Kernel:
    words, lane = NUMBA, ""
    """The language, and what an index of candidates ends with."""

    def __init__(self, kind: str, lowered: LoweredSystem, fastmath: bool):
        self.kind, self.lowered, self.lanes = kind, lowered, lowered.lanes
        self.observes, self.sums = kind != "trajectory", kind in ("cost", "lanes", "normal")
        self.pairs = corrected_pairs(lowered.states)
        self.step_roots = lowered.step.values
        self.observe_roots = lowered.observe.values if self.observes else []
        if self.lanes:
            self.plan_lanes()
        self.roots: list[Node] = [*self.step_roots, *self.observe_roots]
        self.source = SourceText()
        self.source.add(self.opening(fastmath))
        self.write()

    def opening(self, fastmath: bool) -> str:
        return opening(fastmath)

    def plan_lanes(self) -> None:
        """Lay out the scratch array: tangents of states, of outputs, seeds,
        and the sums of the normal equations."""
        n_states, n_outputs = len(self.lowered.states), len(self.lowered.observe.values)
        self.scratch = scratch = Scratch(self.lanes)
        here = scratch.take(n_states)
        self.seen_at = scratch.take(n_outputs)
        self.step_lanes = LaneCode(self.words, self.lowered.step, scratch, here, here)
        self.observe_lanes = LaneCode(self.words, self.lowered.observe, scratch, here, self.seen_at)
        self.step_roots, self.observe_roots = self.step_lanes.roots, self.observe_lanes.roots
        if self.sums:
            self.jtr, self.jtj = scratch.take(1), scratch.take(self.lanes)

    def write(self) -> None:
        """Write the function: cases, samples, steps."""
        add, block, arguments = self.source.add, self.source.block, ARGUMENTS[self.kind]
        scratch = self.scratch.rows * self.scratch.width if self.lanes else 0
        with (
            compiled_function(self.source, "kernel", arguments, scratch),
            block("for c in range(first, last):"),
        ):
            self.write_start()
            with block("for k in range(begin, end):"):
                self.write_sample()
                add("if k + 1 == end:", "    break")
                self.write_interval()
            self.write_end()

    def write_start(self) -> None:
        add, width = self.source.add, self.scratch.width if self.lanes else 0
        add(*self.words.loads("p", len(self.lowered.parameters), self.roots, f"P[c, {{}}{self.lane}]"))
        add(*self.words.statements(self.roots, Level.CONSTANT, Level.PARAMETER))
        add(*[f"s{i} = S[c, {i}{self.lane}]" for i in range(len(self.lowered.states))])
        add("begin, end = offsets[which[c]], offsets[which[c] + 1]", "h_known, passed = math.nan, 0.0")
        if self.lanes:
            add("Z[:] = 0.0")
            for code in (self.step_lanes, self.observe_lanes):
                add(*code.seeds[Level.CONSTANT], *code.seeds[Level.PARAMETER])
            first = self.lanes - len(self.lowered.start)
            add(
                *[
                    f"Z[{self.lowered.states.index(name) * width + first + i}] = 1.0"
                    for i, name in enumerate(self.lowered.start)
                ]
            )
        if self.sums:
            add("total = 0.0")

    def write_sample(self) -> None:
        add = self.source.add
        add(*[f"u{i} = {self.input_at_sample(i)}" for i in range(len(self.lowered.inputs))])
        if not self.observes:
            add(*[f"states[k, {i}] = s{i}" for i in range(len(self.lowered.states))])
            return
        add(*self.words.statements(self.observe_roots, Level.INPUT, Level.STATE))
        if self.lanes:
            add(*self.observe_lanes.seeds[Level.INPUT], *self.observe_lanes.seeds[Level.STATE])
            self.lane_loop(*self.observe_lanes.body)
        if self.sums:
            self.write_sums()
        else:
            self.write_outputs()
        self.write_corrections()

    def input_at_sample(self, i: int) -> str:
        return (
            f"choose(switch[k] > 0.0, before[k, {i}], values[k, {i}])"
            if self.lowered.delayed
            else f"values[k, {i}]"
        )

    def lane_loop(self, *body: str, over: str = "") -> None:
        with self.source.block(f"for j in range({over or self.scratch.width}):"):
            self.source.add(*body)

    def write_outputs(self) -> None:
        for i, y in enumerate(self.lowered.observe.values):
            self.source.add(f"outputs[k, {i}] = {self.words.text(y)}")
            self.lane_loop(
                f"tangents[k, {i}, j] = Z[{self.seen_at + i * self.scratch.width} + j]", over=str(self.lanes)
            )

    def write_sums(self) -> None:
        """Add a sample to the cost, and to J'J and J'r. A NaN was not measured;
        beyond `robust` the cost grows linearly."""
        add, block = self.source.add, self.source.block
        for i, y in enumerate(self.lowered.observe.values):
            with block(f"if measured[k, {i}] == measured[k, {i}]:"):
                add(
                    f"weight = weights[k * stride, {i}]",
                    f"error = {self.words.text(y)} - measured[k, {i}]",
                    "size = abs(weight * error)",
                )
                with block("if size <= robust:"):
                    add("total += 0.5 * size * size", "weight *= weight")
                with block("else:"):
                    add("total += robust * (size - 0.5 * robust)", "weight *= weight * robust / size")
                if self.lanes:
                    at, width = self.seen_at + i * self.scratch.width, self.scratch.width
                    # Rows written out one by one: the compiler then sees that they do not overlap.
                    add(
                        "weighted = weight * error",
                        *[f"y{a} = weight * Z[{at + a}]" for a in range(self.lanes)],
                    )
                    rows = [f"Z[{self.jtj + a * width} + j] += y{a} * y" for a in range(self.lanes)]
                    self.lane_loop(f"y = Z[{at} + j]", f"Z[{self.jtr} + j] += weighted * y", *rows)

    def write_corrections(self) -> None:
        """Pull the state towards the recorded position, or set it; both after the prediction was noted."""
        add, block = self.source.add, self.source.block
        with block("if bandwidth > 0.0 and passed > 0.0 and seen[k] == seen[k]:"):
            add(
                f"steep = min(bandwidth * passed, {STEEPEST})",
                "pull, push = 1.4 * steep, steep * steep / passed",
                f"error = seen[k] - s{self.pairs[0][0]}",
            )
            add(*[f"s{q} += pull * error; s{w} += push * error" for q, w in self.pairs])
            if self.lanes:
                width = self.scratch.width
                moved = [
                    f"Z[{q * width} + j] -= pull * error_j; Z[{w * width} + j] -= push * error_j"
                    for q, w in self.pairs
                ]
                self.lane_loop(f"error_j = Z[{self.pairs[0][0] * width} + j]", *moved)
        with block("if reset.size > 0 and reset[k]:"):
            add(*[f"s{q} = reset_to[k, 0]; s{w} = reset_to[k, 1]" for q, w in self.pairs])
            if self.lanes:
                self.lane_loop(
                    *[f"Z[{i * self.scratch.width} + j] = 0.0" for pair in self.pairs for i in pair]
                )

    def write_interval(self) -> None:
        add, block = self.source.add, self.source.block
        add("passed = dt[k]")
        if self.lowered.delayed:
            self.write_split()
        else:
            add("h, m = passed / n, n")
            with block(
                "if h != h_known:"
            ):  # most logs are sampled evenly: what depends on the step length alone is kept
                add("h_known = h", *self.words.statements(self.step_roots, Level.LENGTH))
                add(*self.step_lanes.seeds[Level.LENGTH] if self.lanes else [])
        add(
            *self.words.statements(self.step_roots, Level.INPUT),
            *self.step_lanes.seeds[Level.INPUT] if self.lanes else [],
        )
        with block("for step in range(m):"):
            if self.lowered.delayed:
                add("h = choose(step < early, h_early, h_late)")
                add("dh = choose(step < early, dh_early, dh_late)" if DELAY in self.lowered.free else "")
                inputs = range(len(self.lowered.inputs))
                add(*[f"u{i} = choose(step < early, before[k, {i}], values[k, {i}])" for i in inputs])
            add(*self.words.statements(self.step_roots, Level.STATE))
            if self.lanes:
                add(*self.step_lanes.seeds[Level.STATE])
                self.lane_loop(*self.step_lanes.body)
            add(assignment(self.lowered))

    def write_split(self) -> None:
        """The steps of an interval in which the command switches: some before, some after, none across."""
        add, block = self.source.add, self.source.block
        add("share = switch[k]", f"split = (share > {NO_SPLIT}) & (share < {1.0 - NO_SPLIT})")
        add("m = choose(split, choose(n > 1, n, 2), n)", "early = 0.0")
        with block("for step in range(m):"):
            add("early = early + choose(step + 0.5 < share * m, 1.0, 0.0)")
        add("early = choose(split, min(max(early, 1.0), m - 1.0), early)", "late = m - early")
        add("h_early = choose(split, share * passed / max(early, 1.0), passed / n)")
        add("h_late = choose(split, (1.0 - share) * passed / max(late, 1.0), passed / n)")
        if DELAY in self.lowered.free:
            add("dh_early = choose(split, 1.0 / max(early, 1.0), 0.0)")
            add("dh_late = choose(split, -1.0 / max(late, 1.0), 0.0)")

    def write_end(self) -> None:
        if not self.sums:
            return
        self.source.add(f"cost[c{self.lane}] = total")
        if self.lanes:
            with self.source.block(f"for i in range({self.lanes}):"):
                self.source.add(f"Jtr[c, i] = Z[{self.jtr} + i]")
                self.lane_loop(
                    f"JtJ[c, i, j] = Z[{self.jtj} + i * {self.scratch.width} + j]", over=str(self.lanes)
                )


VECTOR = 4
"""Lanes are padded to a multiple of this many numbers, so that the loop over them needs no remainder."""


@dataclass
class Scratch:
    """One flat array Z, laid out in rows of `width` numbers, that holds everything with lanes.

    One array and not several, because then the compiler knows that they do not overlap and uses vector
    instructions.
    """

    lanes: int
    rows: int = 0

    @property
    def width(self) -> int:
        return -(-self.lanes // VECTOR) * VECTOR

    def take(self, n_rows: int) -> int:
        """Reserve rows; give where the first begins."""
        self.rows += n_rows
        return (self.rows - n_rows) * self.width


@dataclass
class LaneCode:
    """The tangents of one function: the body of its loop over lanes, and the seeds to be stored before it.

    `tangents` is where the states' tangents begin in Z; the results go to `results`, which may be the same
    place.
    """

    words: Words
    function: Function
    scratch: Scratch
    tangents: int
    results: int
    seeds: dict[Level, list[str]] = field(default_factory=lambda: {level: [] for level in Level})
    body: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        vectors = _needed_vectors(self.function)
        forms = [*vectors.values(), *self.function.tangents]
        read = sorted({k for form in forms for k in form.vectors if k.startswith("d")})
        width = self.scratch.width
        self.body += [f"{k} = Z[{self.tangents + int(k[1:]) * width} + j]" for k in read]
        for name, what in vectors.items():
            self.body.append(f"{name} = {self.formula(what)}")
        for i, form in enumerate(self.function.tangents):
            result, place = self.formula(form), f"Z[{self.results + i * width} + j]"
            if self.results != self.tangents or result != f"d{i}":
                self.body.append(f"{place} = {result}")

    @functools.singledispatchmethod
    def formula(self, form: Form) -> str:
        """c_0 * d0 + c_1 * t4 + ..., with the seeds read from a row of their own."""
        terms = "".join(self.term(name, c) for name, c in form.lanes.items())
        if form.seeds:
            row = self.scratch.take(1)
            for lane, c in form.seeds.items():
                self.seeds[c.level].append(f"Z[{row + lane}] = {self.words.text(c)}")
            terms += f" + Z[{row} + j]"
        return terms.removeprefix(" + ") or "0.0"

    @formula.register
    def _(self, choice: LaneChoice) -> str:
        lanes = choice.no or 0.0, choice.yes or 0.0
        return self.words.primitives["select"].format(self.words.text(choice.condition), *lanes)

    def term(self, name: str, c: Node) -> str:
        if c.is_constant(1.0):
            return f" + {name}"
        if c.is_constant(-1.0):
            return f" - {name}"
        text = self.words.text
        return f" - {text(c.operands[0])} * {name}" if c.op == "neg" else f" + {text(c)} * {name}"

    @property
    def roots(self) -> list[Node]:
        """Every node that the values, the coefficients and the seeds are made of."""
        nodes = list(self.function.values)
        for form in [*_needed_vectors(self.function).values(), *self.function.tangents]:
            nodes += form.nodes
        return nodes


def _needed_vectors(function: Function) -> dict[str, Form | LaneChoice]:
    """The vectors that the results depend on, in order."""
    needed = {k for form in function.tangents for k in form.vectors}
    for name, what in reversed(function.vectors.items()):
        if name in needed:
            needed.update(what.vectors)
    return {name: what for name, what in function.vectors.items() if name in needed}
