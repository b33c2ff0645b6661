"""What follows from a sheet: its constants with errors, what they predict, and what disagrees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..findings import Finding
from .printed import Entry


@dataclass(frozen=True, kw_only=True)
class Constant:
    """A number with its standard error."""

    value: float
    error: float
    unit: str


@dataclass(frozen=True, kw_only=True)
class Residual:
    """A printed number against what the solved constants predict."""

    entry: Entry
    predicted: float
    """In the unit and at the side of the entry."""

    @property
    def ratio(self) -> float:
        return self.predicted / self.entry.value

    @property
    def within_rounding(self) -> bool:
        return abs(self.predicted - self.entry.value) <= self.entry.half * 1.0001


@dataclass(frozen=True, kw_only=True)
class Reconciled:
    """What follows from a sheet. Constants are at the rotor, unless the sheet knows no gear ratio;
    then all is at the output."""

    constants: Mapping[str, Constant]
    derived: Mapping[str, Constant]
    residuals: tuple[Residual, ...]
    findings: tuple[Finding, ...]
    assumed: tuple[str, ...]
    geared: bool
    covariance: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    """Of the constants' logarithms, in their order."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Every unknown, also those the sheet leaves open."""
    extra: Mapping[str, float] = field(default_factory=dict)
    """What else the equations need: the nominal current, and whether stall torque is printed after friction.
    """
    thermal: Mapping[str, float] = field(default_factory=dict)
    left_out: tuple[Entry, ...] = ()
    """Entries that the rest of the sheet contradicts; the constants stand without them."""
    alternatives: tuple[Entry, ...] = ()
    """Entries that would explain the contradiction as well, and were kept."""
    unused: tuple[str, ...] = ()
    """What is printed and no part of the model uses, with the reason where there is one."""
