"""Datasheet: the numbers a maker prints, as text with unit, source and conditions,
read from a small TOML file."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import BackemfError, MissingValue, UnknownName
from ...units import Printed, UnitError, parse
from .entries import ENTRIES, canonical

if TYPE_CHECKING:
    from ...model.actuator import Actuator
    from .reconcile import Reconciled

SIDES = ("rotor", "output")
KINDS = ("motor", "gearmotor", "servo")
MOTORS = ("brushed", "brushless")
CONVENTIONS = ("line", "phase", "peak", "rms", "dc", "line peak", "line rms", "phase peak", "phase rms")
STATUS = ("assumed", "peak", "continuous")
FIRMWARE = {
    "error_gain": "1/rad",
    "proportional": "1",
    "integral": "1",
    "derivative": "1",
    "integral_gain": "1/(rad s)",
    "derivative_gain": "s/rad",
    "duty_limit": "1",
    "deadband": "rad",
    "counts_per_turn": "1",
    "target_rate": "rad/s",
}
_TOP = (
    "name",
    "maker",
    "kind",
    "motor",
    "side",
    "voltage",
    "temperature",
    "source",
    "quirks",
    "entries",
    "firmware",
    "identified",
)
_IDENTIFIED = {"source": str, "friction": str, "error": str, "parameters": dict}
_ENTRY = (
    "value",
    "voltage",
    "temperature",
    "side",
    "convention",
    "kind",
    "source",
    "page",
    "note",
    "tolerance",
)


class DatasheetError(BackemfError, ValueError):
    """A datasheet file that cannot be read; the text names file, line and reason."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One printed number with its conditions."""

    name: str
    printed: Printed
    voltage: float | None
    side: str
    temperature: float | None = None
    convention: str = ""
    kind: str = ""
    """'assumed', 'peak' or 'continuous' where the sheet, or who copied it, says so."""
    source: str = ""
    page: str = ""
    note: str = ""

    @property
    def value(self) -> float:
        """In SI; for a brushless motor, of the equivalent DC motor."""
        return self.printed.value * dc_factor(self.name, self.convention)

    @property
    def half(self) -> float:
        return self.printed.half * dc_factor(self.name, self.convention)

    def __str__(self) -> str:
        return f"{self.name} {self.printed.text}" + (
            f" at {self.voltage:g} V" if self.voltage is not None else ""
        )


@dataclass(frozen=True, kw_only=True)
class Identified:
    """Parameters somebody identified and published, in backemf's own names."""

    source: str
    friction: str
    error: str
    parameters: Mapping[str, float]
    other: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Datasheet:
    """What is printed, nothing computed; `reconciled` says what follows from it."""

    name: str
    maker: str
    kind: str
    motor: str
    side: str
    voltage: float
    source: str
    entries: tuple[Entry, ...]
    temperature: float | None = None
    quirks: tuple[str, ...] = ()
    firmware: Mapping[str, Printed] = field(default_factory=dict)
    identified: Mapping[str, Identified] = field(default_factory=dict)

    @staticmethod
    def read(name: str | Path) -> Datasheet:
        """A part of the catalogue by name, or a TOML file."""
        from . import parts

        return parts.sheet(name)

    @staticmethod
    def parse(text: str, name: str = "datasheet") -> Datasheet:
        """A datasheet from TOML text; `name` stands in errors."""
        return _Reader(text, name).sheet()

    def all(self, name: str) -> list[Entry]:
        return [e for e in self.entries if e.name == canonical(name)]

    def get(self, name: str, voltage: float | None = None) -> Entry | None:
        """The entry of that name, at the given voltage or nearest to the sheet's own."""
        found = self.all(name)
        at = self.voltage if voltage is None else voltage
        return min(found, key=lambda e: (e.kind == "assumed", abs((e.voltage or at) - at))) if found else None

    @functools.cached_property
    def reconciled(self) -> Reconciled:
        """Constants with errors, derived quantities, findings and assumptions."""
        from .reconcile import reconcile

        return reconcile(self)

    def actuator(self, *, voltage: float | None = None, control: str | None = None) -> Actuator:
        """The actuator this sheet describes; `control` is 'voltage',
        'position' (a servo's default) or 'current'."""
        from .suggest import actuator

        return actuator(self, voltage=voltage, control=control)


def dc_factor(name: str, convention: str) -> float:
    """What turns a brushless motor's printed number into that of its equivalent DC motor (line-to-line EMF
    amplitude and DC current).

    With phase amplitude I the equivalent current is sqrt(3)/2 I, so that torque = K I_dc and copper loss =
    R_line I_dc^2.
    """
    words = convention.split()
    current = {"peak": 3**0.5 / 2, "rms": 1.5**0.5}
    if name.endswith("_current"):
        return next((current[w] for w in words if w in current), 1.0)
    if name == "torque_constant":
        return 1.0 / next((current[w] for w in words if w in current), 1.0)
    if name in ("back_emf_constant", "speed_constant"):
        factor = (2**0.5 if "rms" in words else 1.0) * (3**0.5 if "phase" in words else 1.0)
        return factor if name == "back_emf_constant" else 1.0 / factor
    if name in ("resistance", "inductance"):
        return 2.0 if "phase" in words else 1.0
    return 1.0


class _Reader:
    """Turns TOML into a Datasheet, and every mistake into an error with its line."""

    def __init__(self, text: str, name: str):
        self.text, self.name = text, name
        try:
            self.toml = tomllib.loads(text)
        except (
            ValueError,
            RecursionError,
        ) as error:  # TOMLDecodeError is a ValueError, and so is an integer without end
            raise DatasheetError(f"{name}: not a TOML file: {error}") from None

    def fail(self, key: str, reason: object) -> DatasheetError:
        line = next(
            (
                k
                for k, row in enumerate(self.text.splitlines(), 1)
                if re.match(rf"\s*\"?{re.escape(key)}\"?\s*[=\].]", row)
            ),
            None,
        )
        if line is None:
            line = next((k for k, row in enumerate(self.text.splitlines(), 1) if key in row), None)
        return DatasheetError(f"{self.name}{f', line {line}' if line else ''}: {reason}")

    def need(self, key: str) -> Any:
        if key not in self.toml:
            raise DatasheetError(
                f"{self.name}: {key!r} is missing; a datasheet needs name, maker, kind, side, voltage, source"
                " and [entries]"
            )
        return self.toml[key]

    def choice(self, key: str, value: Any, valid: tuple[str, ...]) -> str:
        if value not in valid:
            raise self.fail(key, UnknownName(key, value, valid))
        return value

    def number(self, key: str, text: Any, unit: str, tolerance: str | None = None) -> Printed:
        try:
            return parse(text, unit, key, tolerance)
        except UnitError as error:
            raise self.fail(key, error) from None

    def sheet(self) -> Datasheet:
        for key in self.toml:
            if key not in _TOP:
                raise self.fail(key, UnknownName("key", key, _TOP))
        kind = self.choice("kind", self.need("kind"), KINDS)
        side = self.choice("side", self.need("side"), SIDES)
        voltage = self.number("voltage", self.need("voltage"), "V").value
        temperature = (
            self.number("temperature", self.toml["temperature"], "degC").value
            if "temperature" in self.toml
            else None
        )
        table = self.need("entries")
        if not isinstance(table, dict) or not table:
            raise self.fail("entries", "[entries] is empty; expected at least one printed number")
        found: list[Entry] = []
        for key, given in table.items():
            try:
                name = canonical(key)
            except UnknownName as error:
                raise self.fail(key, error) from None
            for one in given if isinstance(given, list) else [given]:
                found.append(self.entry(key, name, one, voltage, side))
        return Datasheet(
            name=str(self.need("name")),
            maker=str(self.need("maker")),
            kind=kind,
            motor=self.choice("motor", self.toml.get("motor", "brushed"), MOTORS),
            side=side,
            voltage=voltage,
            temperature=temperature,
            source=str(self.need("source")),
            quirks=self.quirks(),
            entries=tuple(found),
            firmware=self.firmware(),
            identified=self.identified(),
        )

    def quirks(self) -> tuple[str, ...]:
        given = self.toml.get("quirks", [])
        if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
            raise self.fail("quirks", f"quirks is {given!r:.40}; expected a list of texts")
        return tuple(given)

    def entry(self, key: str, name: str, given: Any, voltage: float, side: str) -> Entry:
        table = given if isinstance(given, dict) else {"value": given}
        for word in table:
            if word not in _ENTRY:
                raise self.fail(key, UnknownName(f"key of {key}", word, _ENTRY))
        if "value" not in table:
            raise self.fail(key, f"{key} has no value")
        if "kind" in table:
            self.choice("kind", table["kind"], STATUS)
        if "convention" in table:
            self.choice("convention", table["convention"], CONVENTIONS)
        printed = self.number(key, table["value"], ENTRIES[name].unit, table.get("tolerance"))
        # Entries of the rotor alone are at the rotor whatever the sheet's side; electrical ones have no side.
        at = self.choice("side", table.get("side", "rotor" if name == "rotor_inertia" else side), SIDES)
        return Entry(
            name=name,
            printed=printed,
            side=at,
            voltage=self.number(key, table["voltage"], "V").value if "voltage" in table else voltage,
            temperature=(
                self.number(key, table["temperature"], "degC").value if "temperature" in table else None
            ),
            convention=table.get("convention", ""),
            kind=table.get("kind", ""),
            source=table.get("source", ""),
            page=str(table.get("page", "")),
            note=table.get("note", ""),
        )

    def table(self, key: str) -> dict[str, Any]:
        """A table that may be absent."""
        given = self.toml.get(key, {})
        if not isinstance(given, dict):
            raise self.fail(key, f"{key} is {given!r:.40}; expected a table, [{key}]")
        return given

    def firmware(self) -> dict[str, Printed]:
        table = self.table("firmware")
        for key in table:
            if key not in FIRMWARE:
                raise self.fail(key, UnknownName("firmware entry", key, FIRMWARE))
        texts = {key: self.firmware_text(key, given) for key, given in table.items()}
        rate = texts.get("target_rate")
        if isinstance(rate, str) and rate.endswith("step/s"):
            per_turn = self.number("counts_per_turn", texts.get("counts_per_turn", "4096"), "1").value
            steps = self.number("target_rate", rate.removesuffix("step/s"), "1").value
            if per_turn <= 0:
                raise self.fail("counts_per_turn", f"counts_per_turn is {per_turn:g}; expected more than 0")
            texts["target_rate"] = f"{steps / per_turn:g} rev/s"
        return {key: self.number(key, text, FIRMWARE[key]) for key, text in texts.items()}

    def firmware_text(self, key: str, given: Any) -> Any:
        if isinstance(given, dict) and "value" not in given:
            raise self.fail(key, f"{key} has no value")
        return given["value"] if isinstance(given, dict) else given

    def identified(self) -> dict[str, Identified]:
        found = {}
        for label, table in self.table("identified").items():
            where = f"identified.{label}"
            if not isinstance(table, dict):
                raise self.fail(
                    label,
                    f"{where} is {table!r:.40}; expected a table with source, friction, error and parameters",
                )
            for key, kind in _IDENTIFIED.items():
                if key not in table:
                    raise self.fail(
                        where, f"{where} has no {key!r}; expected source, friction, error and parameters"
                    )
                if not isinstance(table[key], kind):
                    raise self.fail(
                        where,
                        f"{where}.{key} is {table[key]!r:.40}; expected"
                        f" {'a table of numbers' if kind is dict else 'text'}",
                    )
            for path, value in table["parameters"].items():
                if isinstance(value, bool) or not isinstance(value, int | float):
                    raise self.fail(
                        path, f"{where}.parameters has {path} = {value!r:.40}; expected a number, in SI"
                    )
            numbers = {path: float(value) for path, value in table["parameters"].items()}
            found[label] = Identified(
                **{key: table[key] for key in ("source", "friction", "error")},
                parameters=numbers,
                other=table.get("other", {}),
            )
        return found


def json_schema() -> dict[str, Any]:
    """A JSON Schema of a datasheet file, from the same definitions the reader uses."""
    text = {"type": "string"}
    one = {
        "oneOf": [
            text,
            {
                "type": "object",
                "required": ["value"],
                "additionalProperties": False,
                "properties": (
                    {k: text for k in _ENTRY}
                    | {
                        "side": {"enum": [*SIDES]},
                        "kind": {"enum": [*STATUS]},
                        "convention": {"enum": [*CONVENTIONS]},
                    }
                ),
            },
        ]
    }
    entries = {}
    for name, kind in ENTRIES.items():
        for spelling in (name, *kind.aliases):
            entries[spelling] = {
                "description": f"{kind.text} [{kind.unit}]",
                "oneOf": [*one["oneOf"], {"type": "array", "items": one}],
            }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "backemf datasheet",
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "maker", "kind", "side", "voltage", "source", "entries"],
        "properties": {
            "name": text,
            "maker": text,
            "source": text,
            "voltage": text,
            "temperature": text,
            "quirks": {"type": "array", "items": text},
            "kind": {"enum": [*KINDS]},
            "motor": {"enum": [*MOTORS]},
            "side": {"enum": [*SIDES]},
            "entries": {
                "type": "object",
                "additionalProperties": False,
                "properties": entries,
                "minProperties": 1,
            },
            "firmware": {
                "type": "object",
                "additionalProperties": False,
                "properties": {k: one for k in FIRMWARE},
            },
            "identified": {"type": "object"},
        },
    }


def missing(sheet: Datasheet, what: str, remedy: str) -> MissingValue:
    return MissingValue(f"the sheet of {sheet.name} does not determine {what}; {remedy}")
