"""A datasheet as it is printed, and what follows from it: its constants with errors, what they predict, and
what disagrees. And the entries it may have (`entries.toml`), under the names that vendors print."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import UnknownName
from ..findings import Finding
from ..tables import NotebookDisplay, Overview
from ..units import PrintedNumber

if TYPE_CHECKING:
    from ..physics.actuator import Actuator


class EntryKind(NamedTuple):
    """One kind of entry; `entries.toml` says what each of these is."""

    unit: str
    aliases: tuple[str, ...]
    text: str
    gear: int = 0
    lossy: bool = False
    becomes: str = ""


def _kind(unit: str, text: str, symbols: str = "", **more: Any) -> EntryKind:
    return EntryKind(unit, tuple(symbols.split()), text, **more)


TABLES = tomllib.loads((resources.files("backemf.datasheets") / "entries.toml").read_text(encoding="utf-8"))
ENTRIES = {name: _kind(**row) for name, row in TABLES["entries"].items()}
"""Every entry by its canonical name."""
_BY_ALIAS = {alias: name for name, kind in ENTRIES.items() for alias in kind.aliases}
_GREEK = {"\u03c4": "tau", "\u03b7": "eta", "\u03b1": "alpha", "\u03c9": "omega", "\u0394": "d"}
_GREEK |= {"\u03c3": "sigma", "\u03b2": "beta", "\u03b3": "gamma", "\u03c6": "phi", "\u03d5": "phi"}
_GREEK |= {"\u2202": "d"} | dict.fromkeys("_{}/()\\", "")
"""What a symbol loses or becomes before it is compared: T_{ref}, T_ref and Tref are one."""


def bare(name: str) -> str:
    """A symbol without underscores and braces, its Greek in letters."""
    for sign, letters in _GREEK.items():
        name = name.replace(sign, letters)
    return name


# Case tells symbols apart (kn a constant, nN a speed), underscores and braces do not.
_BY_SYMBOL = {bare(alias): name for alias, name in _BY_ALIAS.items()}


TWICE = {"tau_s": ("thermal_time_constant_housing", "stiction_torque")}
"""Symbols that stand for either of two entries; the unit tells which."""


def either(name: str) -> tuple[str, ...]:
    """Every entry that a name may stand for; the first is the usual one."""
    twice = {bare(symbol): names for symbol, names in TWICE.items()}
    return twice.get(bare(name)) or (canonical(name),)


def canonical(name: str) -> str:
    """The canonical name of an entry; unknown ones are errors with the nearest match."""
    if name in ENTRIES:
        return name
    if name in _BY_ALIAS:
        return _BY_ALIAS[name]
    if bare(name) in _BY_SYMBOL:
        return _BY_SYMBOL[bare(name)]
    raise UnknownName("datasheet entry", name, [*ENTRIES, *_BY_ALIAS])


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One printed number with its conditions."""

    name: str
    printed: PrintedNumber
    voltage: float | None
    side: str
    temperature: float | None = None
    convention: str = ""
    kind: str = ""
    """'assumed', 'peak' or 'continuous' where the sheet, or whoever copied it, says so."""
    source: str = ""
    page: str = ""
    note: str = ""
    toleranced: bool = False
    """Whether the sheet itself gives a tolerance or a range; otherwise the last printed digit counts."""
    speed: PrintedNumber | None = None
    """Of a point of the torque-speed line [rad/s]."""

    @property
    def value(self) -> float:
        """In SI; for a brushless motor, of the equivalent DC motor."""
        return self.printed.value * dc_factor(self.name, self.convention)

    @property
    def half(self) -> float:
        return self.printed.half * dc_factor(self.name, self.convention)

    def __str__(self) -> str:
        at = f" at {self.voltage:g} V" if self.voltage is not None else ""
        turning = f" at {self.speed.text}" if self.speed is not None else ""
        return f"{self.name} {self.printed.text}{turning}{at}"


@dataclass(frozen=True, kw_only=True)
class PublishedParameters:
    """Parameters somebody identified and published, in backemf's own names."""

    source: str
    friction: str
    error: str
    parameters: Mapping[str, float]
    supply: float | None = None
    """At which it was identified [V]."""
    other: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    """Standard errors of parameters, where whoever identified it says so."""
    correlation: tuple[tuple[float, ...], ...] = ()
    """Between these, in their order: the rows of the lower triangle; none where it is empty."""
    data: str = ""
    """The recordings that it stands on."""
    note: str = ""


def dc_factor(name: str, convention: str) -> float:
    """What turns a brushless motor's printed number into that of its equivalent DC motor (line-to-line EMF
    amplitude and DC current).

    With phase amplitude I the equivalent current is sqrt(3)/2 I, so that torque = K I_dc and copper loss =
    R_line I_dc^2.
    """
    words = convention.split()
    current = next((f for word, f in (("peak", 3**0.5 / 2), ("rms", 1.5**0.5)) if word in words), 1.0)
    if name.endswith("_current"):
        return current
    if name == "torque_constant":
        return 1.0 / current
    if name in ("back_emf_constant", "speed_constant"):
        factor = (2**0.5 if "rms" in words else 1.0) * (3**0.5 if "phase" in words else 1.0)
        return factor if name == "back_emf_constant" else 1.0 / factor
    if name in ("resistance", "inductance"):
        return 2.0 if "phase" in words else 1.0
    return 1.0


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
        """Every entry of a name or symbol."""
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
        """Every entry as printed and in SI, and what disagrees."""
        rows = [(e.name, e.printed.text, e.value, e.side, e.voltage) for e in self.entries]
        title = f"{self.name} by {self.maker or 'an unnamed maker'}, {self.voltage:g} V"
        header = ("entry", "printed", "SI", "side", "at [V]")
        return Overview(title, header, rows, self.reconciled.findings)


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
