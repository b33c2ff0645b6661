"""Characterization: the gains of a mechanism with their intervals, and what follows from them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ... import store
from ...errors import MissingValue, UnknownName
from ...findings import Finding
from ...tables import NotebookDisplay, Overview, digits_apart, number, table
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
class FeedforwardGain(store.Noun, stored_as="Gain"):
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
    """What it was designed to settle, or what else is shown of it: of position, or of velocity."""
    settles: float | None = None
    """Until that step stays within 2 %, simulated with friction, delay and the limit of the input [s]; None
    where it does not, or where nothing could be simulated."""
    controller: str = "wpilib"
    against_friction: float = 0.0
    """Input added towards the target while it is more than 1 % of the step away;
    without it friction stops the motion early."""


@dataclass(frozen=True, kw_only=True)
class PredictedSegment(store.Noun, stored_as="Shown"):
    """A segment of a run with its prediction, for plots."""

    segment: Segment
    velocity: np.ndarray
    position: np.ndarray


@dataclass(frozen=True, kw_only=True, repr=False)
class Characterization(NotebookDisplay, store.Noun):
    """Gains of a mechanism, how sure they are, and what follows from them."""

    mechanism: str
    control: str
    method: str
    units: str
    gains: Mapping[str, FeedforwardGain]
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
    shown: tuple[PredictedSegment, ...] = field(default=(), repr=False, compare=False)

    def overview(self) -> Overview:
        """The gains with their intervals, as a notebook shows them."""
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
        rows = [(name, *_ends(gain), gain.unit) for name, gain in self.gains.items()]
        unit = f"{UNITS[self.units][1]}/s"
        facts = [
            ("timescale", self.timescale, " s"),
            ("delay", self.delay, " s"),
            ("R^2", self.r2, ""),
            ("velocity error", self.velocity_error, f" {unit}"),
        ]
        known = [f"{name} {number(value)}{short}" for name, value, short in facts if math.isfinite(value)]
        lines = [
            *wrap_lines(f"{self.mechanism}, {self.control} control, from {', '.join(self.tests)}"),
            "",
            table(rows, ("gain", "value", "low 95%", "high 95%", "unit")),
            "",
            *wrap_lines("; ".join(known)),
        ]
        for name, loop in self.feedback.items():
            lines += wrap_lines(f"{name.replace('_', ' ')} feedback: {self._loop(name, loop)}", "  ")
        return "\n".join([*lines, *finding_lines(self.findings)])

    def _loop(self, name: str, loop: Feedback) -> str:
        """A loop in a sentence, with units."""
        unit = "rad" if name.endswith("_angular") else UNITS[self.units][1]
        effort = "V" if self.control == "voltage" else "A"
        error = f"{unit}/s" if loop.loop == "velocity" else unit
        gains = [("kP", loop.kP, loop.volts_per_error, error)]
        gains += [("kD", loop.kD, loop.volts_per_rate, f"{unit}/s")] if loop.loop == "position" else []
        own = any(abs(x - volts) > 1e-12 * abs(volts) for _, x, volts, _ in gains)
        said = ", ".join(
            f"{word} {number(x)}"
            + (f" ({number(volts)} {effort} per {per})" if own else f" {effort} per {per}")
            for word, x, volts, per in gains
        )
        counting = f" as {loop.controller} counts" if own else ""
        takes = ""
        if loop.settles is not None and loop.step is not None:
            step = f"{number(loop.step, 3)} {error}"
            takes = f" A step of {step} comes within 2 % in {number(loop.settles, 2)} s."
        note = f" {loop.note[0].upper()}{loop.note[1:]}." if loop.note else ""
        return f"{said}{counting}. {loop.design[0].upper()}{loop.design[1:]}.{takes}{note}"


WIDTH = 80
"""Columns of a terminal."""


def wrap_lines(text: str, indent: str = "") -> list[str]:
    """Lines that fit a terminal; all but the first are indented."""
    lead = text[: len(text) - len(text.lstrip())]
    how: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.wrap(text.strip(), WIDTH, initial_indent=lead, subsequent_indent=indent or lead, **how)


def finding_lines(findings: Iterable[Finding]) -> list[str]:
    """Findings with their remedies, as a terminal shows them."""
    texts = (text for f in findings for text in (f"- {f.code}: {f.text}", f"  {f.remedy}"))
    return [line for text in texts for line in wrap_lines(text, "  ")]


def _ends(gain: FeedforwardGain) -> tuple[str, str, str]:
    """Value and both ends, with so many digits that they differ in two of them."""
    if gain.value is None:
        return "not determined", "-", "-"
    if gain.low is None or gain.high is None:
        return number(gain.value), "-", "-"
    digits = digits_apart(gain.low, gain.high, 4)
    return number(gain.value, digits), number(gain.low, digits), number(gain.high, digits)
