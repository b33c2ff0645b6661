"""Population: what units of one make have in common, and how far they differ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import store
from ..errors import InvalidValue, UnknownName
from ..findings import Finding
from ..physics.actuator import Actuator
from ..physics.quantity import quantities
from ..statistics import Coordinate
from ..tables import NotebookDisplay, Overview, interval, number, table
from .spread import Paths, Spread

MEMBERS = 64
"""Units that a training file draws from."""
TOGETHER = ("motor.torque_constant", "motor.back_emf_constant")
"""Two names of one magnet: they differ from unit to unit by the same factor."""


@dataclass(frozen=True, kw_only=True)
class Common(store.Noun):
    """One parameter over all units: its middle, and how far units differ, on the scale on which that is even:
    the logarithm where it is positive."""

    value: float
    """Of the middle unit, in its own unit."""
    error: float
    """Standard error of that."""
    x: float
    """The same on its own scale."""
    spread: float
    """Standard deviation from unit to unit, on that scale."""
    spread_error: float
    spread_low: float
    spread_high: float
    unit: str
    knee: float = 0.0
    signed: bool = False
    above: str = ""
    """The parameter that it stands on: x is then of what it has more."""

    slope: float = 1.0
    """Change of the number for a change of x, there."""

    @property
    def scale(self) -> Coordinate:
        return Coordinate(self.signed, self.knee)

    @property
    def as_share(self) -> float:
        """What turns a spread on its own scale into a share of the number."""
        return self.slope / abs(self.value) if self.value else 1.0


class Range(NamedTuple):
    """Where a share of the units lies."""

    low: float
    high: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Population(NotebookDisplay, store.Noun):
    """What a fleet shares: the middle unit, the spread of each number with its error, what goes together."""

    name: str
    actuator: Actuator
    """The middle unit."""
    parameters: Mapping[str, Common]
    correlation: np.ndarray = field(repr=False)
    """Between parameters, from unit to unit, in their order."""
    correlation_error: np.ndarray = field(repr=False)
    n_units: int
    n_left_out: int = 0
    """Units that do not belong, and are not counted."""
    left_out: tuple[str, ...] = ()
    """Parameters that the logs of too few units tell."""
    findings: tuple[Finding, ...] = ()
    held_out: float | None = None
    """Median over the units of the mean absolute error on held-out logs [rad or m]."""

    def check_read(self) -> None:
        n = len(self.parameters)
        for name in ("correlation", "correlation_error"):
            if getattr(self, name).shape != (n, n):
                raise ValueError(f"{name} has the shape {getattr(self, name).shape}; expected {n} x {n}")

    @property
    def covariance(self) -> np.ndarray:
        """From unit to unit, on the parameters' scales."""
        spread = np.array([p.spread for p in self.parameters.values()])
        return self.correlation * np.outer(spread, spread)

    def range(self, path: str, share: float = 0.95) -> Range:
        """Between which numbers that share of the units lies; for one that stands on another, with that one
        in the middle."""
        from statistics import NormalDist

        if path not in self.parameters:
            raise UnknownName("parameter of the population", path, self.parameters)
        if not 0 < share < 1:
            raise InvalidValue(f"share is {share}; expected a number between 0 and 1")
        p, far = self.parameters[path], NormalDist().inv_cdf(0.5 + share / 2)
        base = self.parameters[p.above].value if p.above else 0.0
        return Range(*(base + p.scale.outward(p.x + side * far * p.spread) for side in (-1.0, 1.0)))

    def draws(self, n: int, seed: int = 0) -> list[Actuator]:
        """Other units of the same make: what is correlated is drawn together."""
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        known = {path: f.metadata for path, f, _ in quantities(self.actuator)}
        drawn = []
        for z in np.random.default_rng(seed).standard_normal((n, len(self.parameters))):
            there: dict[str, float] = {}
            moved = dict(zip(self.parameters, root @ z, strict=True))
            for path in sorted(self.parameters, key=lambda one: bool(self.parameters[one].above)):
                p = self.parameters[path]
                there[path] = there.get(p.above, 0.0) + p.scale.outward(p.x + moved[path])
                least, most = (known.get(path, {}).get(end) for end in ("least", "most"))
                there[path] = max(there[path], -math.inf if least is None else least)
                there[path] = min(there[path], math.inf if most is None else most)
            drawn.append(self.actuator.replace(**{k: v for k, v in there.items() if k in known}))
        return drawn

    def spread(self) -> Spread:
        """For training files: the measured spread from unit to unit in the place of an assumed one, where
        numbers that stand on another move with it; and whole units, in which what goes together is drawn
        together."""
        units: dict[Paths, float] = {}
        for path, p in self.parameters.items():
            if p.signed or p.above or not p.value or path not in self.actuator.parameters:
                continue
            group = [path, *(name for name, parameter in self.parameters.items() if parameter.above == path)]
            if path in TOGETHER:
                group = [name for name in TOGETHER if name in self.actuator.parameters]
            units[tuple(group)] = p.spread * p.as_share
        drawn, known = self.draws(MEMBERS), self.actuator.parameters
        draws = {k: tuple(unit.parameters[k] for unit in drawn) for k in self.parameters if k in known}
        return Spread(units=units, held_out=self.held_out, draws=draws)

    def datasheet(self, share: float = 0.95) -> str:
        """The middle unit and between which numbers that share of the units lies, as text: an identified set
        of a datasheet in TOML, with a tolerance behind each number."""
        lines = [
            f"[identified.{_word(self.name)}]",
            f'source = "{self.n_units} units, fitted one by one"',
            f'friction = "{self.actuator.friction.name}"',
            f'error = "see the tolerance of each number: {share:.0%} of the units lie within"',
            "",
            f"[identified.{_word(self.name)}.parameters]",
        ]
        for path, p in self.parameters.items():
            low, high = self.range(path, share)
            lines.append(f'"{path}" = {p.value!r}  # {p.unit}, {interval(low, high)}')
        return "\n".join(lines) + "\n"

    def overview(self) -> Overview:
        rows = [
            (path, p.value, p.error, _percent(p), _low_high(p), p.unit) for path, p in self.parameters.items()
        ]
        return Overview(f"{self.name}, {self.n_units} units", HEADER, rows, self.findings)

    def __str__(self) -> str:
        rows = []
        for path, p in self.parameters.items():
            cells = (path, p.value, number(p.error, 2), _percent(p), _low_high(p))
            rows.append((*cells, interval(*self.range(path)), p.unit))
        header = ("parameter", "middle", "error", "spread", "95 % interval", "95 % of units", "unit")
        text = table(rows, header, drop=("error",))
        paths, pairs = list(self.parameters), []
        for i in range(len(paths)):
            for j in range(i):
                r, e = float(self.correlation[i, j]), float(self.correlation_error[i, j])
                if e and abs(r) > 2.5 * e:
                    pairs.append((abs(r), f"  {paths[j]} and {paths[i]}: {r:+.2f} +- {e:.2f}"))
        told = [words for _, words in sorted(pairs, reverse=True)[:8]]
        alike = "\n\nWhat goes together from unit to unit:\n" + "\n".join(told) if told else ""
        odd = f", {self.n_left_out} that do not belong left out" if self.n_left_out else ""
        left = f"\n\nToo few logs tell: {', '.join(self.left_out)}." if self.left_out else ""
        notes = "".join(f"\n  - {f.code}: {f.text}\n    {f.remedy}" for f in self.findings)
        said = f"\n\nFindings:{notes}" if notes else ""
        return f"{self.name}: {self.n_units} units{odd}.\n\n{text}{alike}{left}{said}"

    def write(self, path: Path | str, *, force: bool = False) -> Path:
        """Store as versioned JSON; an existing file is kept unless `force`."""
        return store.write(self, path, force=force)

    @staticmethod
    def read(path: Path | str) -> Population:
        """The population that `write` stored."""
        return store.read(path, Population)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Population) and self.to_dict() == other.to_dict()

    # how Python says that populations, being compared by content, have no hash
    __hash__ = None  # type: ignore[assignment]  # arrays have no hash


HEADER = ("parameter", "middle", "error", "spread", "95 % interval", "unit")


def _percent(p: Common) -> str:
    return number(p.spread, 2) if p.signed else f"{100 * p.spread * p.as_share:.2g} %"


def _low_high(p: Common) -> str:
    if p.signed:
        return interval(p.spread_low, p.spread_high)
    return f"{interval(100 * p.spread_low * p.as_share, 100 * p.spread_high * p.as_share)} %"


def _word(name: str) -> str:
    """A name as a key of TOML."""
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in name.lower()).strip("-") or "fleet"
