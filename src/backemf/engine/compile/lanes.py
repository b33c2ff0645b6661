"""Tangents as code: linear forms over lane vectors become the body of one loop over lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .ir import Choice, Form, Level, Node
from .lower import Function
from .source import Words

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
        vectors, select = _needed(self.function), self.words.primitives["select"]
        forms = [*vectors.values(), *self.function.tangents]
        read = sorted({k for form in forms for k in _parts(form) if k.startswith("d")})
        width = self.scratch.width
        self.body += [f"{k} = Z[{self.tangents + int(k[1:]) * width} + j]" for k in read]
        for name, what in vectors.items():
            if isinstance(what, Choice):
                chosen = select.format(self.words.text(what.condition), what.no or 0.0, what.yes or 0.0)
                self.body.append(f"{name} = {chosen}")
            else:
                self.body.append(f"{name} = {self.written(what)}")
        for i, form in enumerate(self.function.tangents):
            result, place = self.written(form), f"Z[{self.results + i * width} + j]"
            if self.results != self.tangents or result != f"d{i}":
                self.body.append(f"{place} = {result}")

    def written(self, form: Form) -> str:
        """c_0 * d0 + c_1 * t4 + ..., with the seeds read from a row of their own."""
        terms = "".join(self.term(name, c) for name, c in form.lanes.items())
        if form.seeds:
            row = self.scratch.take(1)
            for lane, c in form.seeds.items():
                self.seeds[c.level].append(f"Z[{row + lane}] = {self.words.text(c)}")
            terms += f" + Z[{row} + j]"
        return terms.removeprefix(" + ") or "0.0"

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
        for form in [*_needed(self.function).values(), *self.function.tangents]:
            if isinstance(form, Choice):
                nodes.append(form.condition)
            else:
                nodes += [*form.lanes.values(), *form.seeds.values()]
        return nodes


def _parts(what: Form | Choice) -> Sequence[str]:
    return list(what.lanes) if isinstance(what, Form) else [k for k in (what.no, what.yes) if k is not None]


def _needed(function: Function) -> dict[str, Form | Choice]:
    """The vectors that the results depend on, in order."""
    needed = {k for form in function.tangents for k in _parts(form)}
    for name, what in reversed(function.vectors.items()):
        if name in needed:
            needed.update(_parts(what))
    return {name: what for name, what in function.vectors.items() if name in needed}
