"""A datasheet as it is printed, and what follows from it: its constants with errors, what they predict, and
what disagrees."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import MissingValue, UnknownName
from ..findings import Finding
from ..tables import NotebookDisplay, Overview
from ..units import PrintedNumber
from .entries import Entry as Entry, PublishedParameters as PublishedParameters, canonical

if TYPE_CHECKING:
    from ..physics.actuator import Actuator

    pass


@dataclass(frozen=True, kw_only=True, repr=False)
class Datasheet(NotebookDisplay):
    """What is printed, nothing computed; `reconciled` says what follows from it."""

    name: str
    maker: str
    kind: str
    motor: str
    side: str
    voltage: float
    source: str
    entries: tuple[Entry, ...]
    control: str | None = None
    """Its interface where the sheet says so; a servo's is position, an actuator's impedance, a motor's
    voltage."""
    temperature: float | None = None
    quirks: tuple[str, ...] = ()
    firmware: Mapping[str, PrintedNumber] = field(default_factory=dict)
    profiles: Mapping[str, Mapping[str, PrintedNumber]] = field(default_factory=dict)
    """Firmware settings that somebody's software writes, by its name: `lerobot`."""
    identified: Mapping[str, PublishedParameters] = field(default_factory=dict)

    @staticmethod
    def read(name: str | Path) -> Datasheet:
        """A part of the catalogue by name, or a TOML file."""
        from . import parts

        return parts.sheet(name)

    @staticmethod
    def parse(text: str, name: str = "datasheet") -> Datasheet:
        """A datasheet from TOML text; `name` stands in errors."""
        from .toml import parse

        return parse(text, name)

    def with_profile(self, name: str) -> Datasheet:
        """The same part with the firmware settings of a profile."""
        if name not in self.profiles:
            raise UnknownName(f"firmware profile of {self.name}", name, self.profiles)
        return replace(self, firmware={**self.firmware, **self.profiles[name]})

    def all(self, name: str) -> list[Entry]:
        return [e for e in self.entries if e.name == canonical(name)]

    def get(self, name: str, voltage: float | None = None) -> Entry | None:
        """The entry of that name, at the given voltage or nearest to the sheet's own."""
        at = self.voltage if voltage is None else voltage
        entries = self.all(name)
        return min(entries, key=lambda e: (e.kind == "assumed", abs((e.voltage or at) - at)), default=None)

    def value(self, name: str) -> float | None:
        """The number of that entry in SI; None where it is not printed."""
        entry = self.get(name)
        return None if entry is None else entry.value

    @functools.cached_property
    def reconciled(self) -> Reconciliation:
        """Constants with errors, derived quantities, findings and assumptions."""
        from .reconcile import reconcile

        return reconcile(self)

    def actuator(self, *, voltage: float | None = None, control: str | None = None) -> Actuator:
        """The actuator this sheet describes; `control` is 'voltage' (a motor's default), 'position' (a
        servo's), 'impedance' (an actuator's), 'current', 'torque' or 'velocity'."""
        from .suggest import actuator

        return actuator(self, voltage=voltage, control=control)

    def overview(self) -> Overview:
        rows = [(e.name, e.printed.text, e.value, e.side, e.voltage) for e in self.entries]
        title = f"{self.name} by {self.maker or 'an unnamed maker'}, {self.voltage:g} V"
        header = ("entry", "printed", "SI", "side", "at [V]")
        return Overview(title, header, rows, self.reconciled.findings)


def missing(sheet: Datasheet, what: str, remedy: str) -> MissingValue:
    return MissingValue(f"the sheet of {sheet.name} does not determine {what}; {remedy}")


@dataclass(frozen=True, kw_only=True)
class SolvedConstant:
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
class Reconciliation:
    """What follows from a sheet. Constants are at the rotor, unless the sheet knows no gear ratio;
    then all is at the output."""

    constants: Mapping[str, SolvedConstant]
    derived: Mapping[str, SolvedConstant]
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
