"""Characterization: the gains of a mechanism with their intervals, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingValue, UnknownName
from ..findings import Finding
from ..tables import Displayed, Overview, number, table
from . import store
from .trials import Segment

UNITS = {
    "radians": (1.0, "rad"),
    "degrees": (math.pi / 180, "deg"),
    "rotations": (2 * math.pi, "rot"),
    "meters": (1.0, "m"),
    "feet": (0.3048, "ft"),
    "inches": (0.0254, "in"),
}
"""Size in SI, and how it is written. Recordings are in SI; this is the unit of the gains."""
Z = 1.959964
"""95 % of a normal distribution lie within this many standard errors."""


@dataclass(frozen=True, kw_only=True)
class Gain(store.Noun):
    """One gain with its 95 % interval; no value where the tests do not determine it."""

    value: float | None
    low: float | None
    high: float | None
    unit: str

    @property
    def determined(self) -> bool:
        return self.value is not None

    def __str__(self) -> str:
        if self.value is None:
            return "not determined by these tests"
        interval = (
            "" if self.low is None or self.high is None else f" ({number(self.low)} to {number(self.high)})"
        )
        return f"{number(self.value)}{interval} {self.unit}"


@dataclass(frozen=True, kw_only=True)
class Feedback(store.Noun):
    """Gains in the controller's own counting, and the same in volts (or amperes) per unit,
    which is what a simulation needs."""

    loop: str
    """velocity or position."""
    kP: float
    kD: float
    volts_per_error: float
    volts_per_rate: float
    period: float
    delay: float
    design: str
    note: str = ""
    step: float | None = None
    """What it was designed to settle, where it was."""
    against_friction: float = 0.0
    """Input added towards the target while it is more than 1 % of the step away;
    without it friction stops the motion early."""


@dataclass(frozen=True, kw_only=True)
class Shown(store.Noun):
    """A segment of a run with its prediction, for plots."""

    segment: Segment
    velocity: np.ndarray
    position: np.ndarray


@dataclass(frozen=True, kw_only=True, repr=False)
class Characterization(Displayed, store.Noun):
    """Gains of a mechanism, how sure they are, and what follows from them."""

    mechanism: str
    control: str
    method: str
    units: str
    gains: Mapping[str, Gain]
    feedback: Mapping[str, Feedback]
    findings: tuple[Finding, ...]
    r2: float
    """Of velocity on stretches that were held out; the adjusted one of acceleration for method="sysid"."""
    velocity_error: float
    """Root mean square of simulated less measured velocity, in the chosen unit per second."""
    timescale: float
    """kA / kV: how fast the mechanism follows its input [s]."""
    delay: float
    """From input to measured velocity [s]."""
    position_delay: float
    window: float | None
    """Over which the reported velocity is a mean [s]; None: it is not."""
    limit: float
    """Largest input that feedback may use."""
    tests: tuple[str, ...]
    shown: tuple[Shown, ...] = field(default=(), repr=False, compare=False)

    def overview(self) -> Overview:
        rows = [(name, g.value, g.low, g.high, g.unit) for name, g in self.gains.items()]
        title = f"{self.mechanism}, {self.control} control, from {', '.join(self.tests)}"
        return Overview(title, ("gain", "value", "low 95 %", "high 95 %", "unit"), rows, self.findings)

    def __getitem__(self, name: str) -> float:
        """A gain's value."""
        if name not in self.gains:
            raise UnknownName("gain", name, self.gains)
        value = self.gains[name].value
        if value is None:
            text = next(
                (f.text for f in self.findings if f.code == "not_determined" and name in f.text),
                f"{name} is not determined by these tests",
            )
            raise MissingValue(text)
        return value

    def to_dict(self) -> dict[str, Any]:
        return {k: v for k, v in store.plain(self).items() if k not in ("noun", "shown")}

    def write(self, path: Path | str, *, force: bool = False) -> Path:
        """Store as versioned JSON; an existing file is kept unless `force`."""
        return store.write(self, path, force=force)

    @staticmethod
    def read(path: Path | str) -> Characterization:
        """What `write` stored."""
        return store.read(path, Characterization)

    def __str__(self) -> str:
        rows = [
            (
                name,
                "not determined" if g.value is None else g.value,
                *("-" if x is None else x for x in (g.low, g.high)),
                g.unit,
            )
            for name, g in self.gains.items()
        ]
        lines = [
            f"{self.mechanism}, {self.control} control, from {', '.join(self.tests)}",
            "",
            table(rows, ("gain", "value", "low 95%", "high 95%", "unit")),
            "",
        ]
        facts = [
            ("timescale", self.timescale, "s"),
            ("delay", self.delay, "s"),
            ("R^2", self.r2, ""),
            ("velocity error", self.velocity_error, f"{_short(self.units)}/s"),
        ]
        lines += [
            "; ".join(
                f"{name} {number(value)}{' ' if unit else ''}{unit}"
                for name, value, unit in facts
                if math.isfinite(value)
            )
        ]
        for name, f in self.feedback.items():
            lines.append(
                f"{name} feedback: kP {number(f.kP)}"
                + (f", kD {number(f.kD)}" if f.loop == "position" else "")
                + f" ({f.design})"
            )
            if f.note:
                lines.append(f"  {f.note}")
        lines += [f"- {f.code}: {f.text}\n  {f.remedy}" for f in self.findings]
        return "\n".join(lines)


def _short(units: str) -> str:
    return UNITS[units][1]
