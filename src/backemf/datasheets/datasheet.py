"""Datasheet: the numbers a maker prints, as text with unit, source and conditions,
read from a small TOML file."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MissingValue, UnknownName
from ..tables import Displayed, Overview
from ..units import Printed
from .entries import canonical
from .printed import Entry as Entry, Identified as Identified

if TYPE_CHECKING:
    from ..physics.actuator import Actuator
    from .solved import Reconciled


@dataclass(frozen=True, kw_only=True, repr=False)
class Datasheet(Displayed):
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
    firmware: Mapping[str, Printed] = field(default_factory=dict)
    profiles: Mapping[str, Mapping[str, Printed]] = field(default_factory=dict)
    """Firmware settings that somebody's software writes, by its name: `lerobot`."""
    identified: Mapping[str, Identified] = field(default_factory=dict)

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
    def reconciled(self) -> Reconciled:
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
