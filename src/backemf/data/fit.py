"""Fit: the actuator that logs make of a start, with an error on every number and an honest word on what they
cannot tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..findings import Finding
from ..model.actuator import Actuator
from ..model.bench import Bench
from ..model.quantity import quantities
from ..tables import Displayed, Overview, number, table
from . import store
from .log import Log


@dataclass(frozen=True, kw_only=True)
class Fitted(store.Noun):
    """One fitted parameter."""

    path: str
    value: float
    error: float
    """Standard error."""
    low: float
    high: float
    """95 % interval."""
    unit: str
    start: float
    prior: tuple[float, float] | None = None
    """(value, error) stated before the fit, or None."""
    told_by: str = "data"
    """'data', 'prior' where the data leaves it open, or 'both'."""


@dataclass(frozen=True, kw_only=True)
class Start(store.Noun):
    """Where one start ended."""

    cost: float
    mae: float
    """Mean absolute error of position on the training logs."""
    ended: str
    n_evaluations: int
    parameters: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class FittedLog(store.Noun):
    """What a fit remembers of a log: enough to find the file again and to say what it was."""

    name: str
    source: str
    """The file it was read from, as it was given; empty where it came from arrays."""
    bench: Bench | None
    settings: Mapping[str, float]
    duration: float
    """[s]"""
    rate: float | None
    """Samples per second."""
    n_samples: int

    @staticmethod
    def of(log: Log) -> FittedLog:
        rate = log.signals[log.clock].rate
        return FittedLog(
            name=log.name,
            source=log.source,
            bench=log.bench,
            settings=dict(log.settings),
            duration=float(log.time[-1] - log.time[0]),
            rate=rate if math.isfinite(rate) else None,
            n_samples=len(log),
        )


@dataclass(frozen=True, kw_only=True)
class Tried(store.Noun):
    """One friction model of the ladder that this fit was chosen from."""

    friction: str
    n_parameters: int | None
    training_mae: float | None
    held_out_mae: float | None
    standard_error: float
    """Of the held-out error."""
    chosen: bool
    reason: str = ""
    """Why there is no fit."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Fit(Displayed, store.Noun):
    """The result of `fit`. `print(fit)` is a table; `fit.actuator` goes into exports and simulations."""

    also_shown: ClassVar[tuple[str, ...]] = ("training_mae", "held_out_mae")

    actuator: Actuator
    parameters: Mapping[str, Fitted]
    training: Mapping[str, float]
    """Log name -> mean absolute error of position [rad or m]."""
    held_out: Mapping[str, float]
    noise_floor: float
    """Mean absolute error that the noise of the recordings alone would leave."""
    findings: tuple[Finding, ...]
    starts: tuple[Start, ...]
    correlation: np.ndarray = field(repr=False)
    """Between the parameters, in their order."""
    substeps: int
    seed: int
    cpu_s: float
    friction: str
    logs: tuple[FittedLog, ...] = ()
    """Where the logs came from; empty in fits stored before this was kept."""
    rungs: tuple[Tried, ...] = ()
    """The ladder that it was chosen from; empty where one friction model was asked for."""
    judged_on: str = ""
    """In words, what the rungs were judged on."""

    @property
    def training_mae(self) -> float:
        return float(np.mean(list(self.training.values())))

    @property
    def held_out_mae(self) -> float | None:
        return float(np.mean(list(self.held_out.values()))) if self.held_out else None

    def draws(self, n: int, seed: int = 0) -> list[Actuator]:
        """Actuators drawn from the fit's joint uncertainty: what else these logs would have allowed.

        The draws are normal in the fit's own coordinates, logarithms and the excess of static over Coulomb
        friction.
        """
        paths = list(self.parameters)
        known = {path: f.metadata for path, f, _ in quantities(self.actuator)}
        width = np.array([self._width(path) for path in paths])
        values, vectors = np.linalg.eigh(0.5 * (self.correlation + self.correlation.T))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        drawn = []
        for z in np.random.default_rng(seed).standard_normal((n, len(paths))):
            moved = dict(zip(paths, width * (root @ z), strict=True))
            found: dict[str, float] = {}
            for path in sorted(paths, key=lambda p: self.actuator.over(p) is not None):
                base = found.get(self.actuator.over(path) or "", self._base(path))
                value = self.parameters[path].value
                found[path] = (
                    value + moved[path]
                    if self._signed(path)
                    else base + (value - self._base(path)) * math.exp(min(moved[path], 50.0))
                )
                least, most = (known.get(path, {}).get(end) for end in ("least", "most"))
                found[path] = min(
                    max(found[path], -math.inf if least is None else least),
                    math.inf if most is None else most,
                )
            drawn.append(
                self.actuator.replace(**{path: value for path, value in found.items() if path in known})
            )
        return drawn

    def _signed(self, path: str) -> bool:
        return self.actuator.traits(path)["signed"] is not None

    def relative_error(self, path: str) -> float | None:
        """Standard error over value, where that means something."""
        p = self.parameters[path]
        return None if self._signed(path) or not p.value else p.error / abs(p.value)

    def _base(self, path: str) -> float:
        """What an ordered parameter stands on."""
        above = self.actuator.over(path)
        return 0.0 if above is None else float(self.actuator.parameters.get(above, 0.0))

    def _width(self, path: str) -> float:
        """Standard error of a parameter in the fit's own coordinate."""
        p, above = self.parameters[path], self.actuator.over(path)
        if self._signed(path):
            return p.error
        size = p.value - self._base(path)
        if size <= 0:
            return 0.0
        if above is None or above not in self.parameters:
            return p.error / size
        # error^2 = (size s)^2 + 2 r (size s) e + e^2 with e and r of what it stands on; of two roots s the
        # wider is the honest one
        paths, e = list(self.parameters), self.parameters[above].error
        r = float(self.correlation[paths.index(path), paths.index(above)])
        return max(-r * e + math.sqrt(max(p.error**2 - (1 - r * r) * e**2, 0.0)), 0.0) / size

    def summary(self) -> list[str]:
        """One line per parameter, for the header of an export."""
        return [
            f"{p.path} = {number(p.value)} +- {number(p.error, 2)} {p.unit} (95 %: {number(p.low)} to"
            f" {number(p.high)}; told by {p.told_by})"
            for p in self.parameters.values()
        ]

    def overview(self) -> Overview:
        unit = "mrad" if self.actuator.motion == "rotary" else "mm"
        held = (
            ""
            if self.held_out_mae is None
            else f", {1e3 * self.held_out_mae:.3g} on {len(self.held_out)} held out"
        )
        mae = f"{1e3 * self.training_mae:.3g} {unit}"
        n = len(self.training)
        title = f"{self.friction} friction, {mae} on {n} log{'s' if n != 1 else ''}{held}"
        rows = [
            (p.path, p.value, p.error, p.low, p.high, p.unit, p.told_by) for p in self.parameters.values()
        ]
        return Overview(
            title, ("parameter", "value", "error", "low", "high", "unit", "told by"), rows, self.findings
        )

    def __str__(self) -> str:
        rows = []
        for p in self.parameters.values():
            stated = "-" if p.prior is None else f"{number(p.prior[0])} +- {number(p.prior[1], 2)}"
            rows.append(
                (
                    p.path,
                    number(p.value),
                    number(p.error, 2),
                    f"{number(p.low, 3)} .. {number(p.high, 3)}",
                    p.unit,
                    stated,
                    p.told_by,
                )
            )
        text = table(
            rows, ("parameter", "value", "error", "95 % interval", "unit", "stated before", "told by")
        )
        unit = "mrad" if self.actuator.motion == "rotary" else "mm"
        errors = f"Mean absolute error {1e3 * self.training_mae:.3g} {unit} on {len(self.training)} logs"
        if self.held_out_mae is not None:
            errors += f", {1e3 * self.held_out_mae:.3g} {unit} on {len(self.held_out)} held out"
        errors += (
            f"; noise floor {1e3 * self.noise_floor:.3g} {unit}. {len(self.starts)} starts, {self.cpu_s:.2g}"
            " s of CPU."
        )
        notes = "".join(f"\n  - {f.code}: {f.text}\n    {f.remedy}" for f in self.findings)
        return f"Friction {self.friction}. {errors}\n\n{text}" + (f"\n\nFindings:{notes}" if notes else "")

    def write(self, path: Path | str, *, force: bool = False) -> Path:
        """Store as versioned JSON; an existing file is kept unless `force`."""
        return store.write(self, path, force=force)

    @staticmethod
    def read(path: Path | str) -> Fit:
        """The fit that `write` stored."""
        return store.read(path, Fit)

    def check_read(self) -> None:
        n = len(self.parameters)
        if self.correlation.shape != (n, n):
            raise ValueError(
                f"correlation has the shape {self.correlation.shape}; expected a row and a column for each of"
                f" {n} parameters"
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fit) and self.to_dict() == other.to_dict()

    # how Python says that fits, being compared by content, have no hash
    __hash__ = None  # type: ignore[assignment]
