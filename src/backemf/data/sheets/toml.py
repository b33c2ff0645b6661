"""A datasheet's file: TOML into a Datasheet, every mistake into an error with its line, and the file's
JSON Schema."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from ...errors import BackemfError, UnknownName
from ...units import Printed, UnitError, parse as parse_unit
from .datasheet import Datasheet
from .entries import ENTRIES, canonical
from .printed import Entry, Identified

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
_NEEDED = ("name", "maker", "kind", "side", "voltage", "source", "entries")
_TOP = (*_NEEDED, "motor", "temperature", "quirks", "firmware", "identified")
_WORDS = ("source", "page", "note")
_ENTRY = ("value", "voltage", "temperature", "side", "convention", "kind", "tolerance", *_WORDS)
_CHOICES = {"side": SIDES, "kind": STATUS, "convention": CONVENTIONS}
_IDENTIFIED = {"source": str, "friction": str, "error": str, "parameters": dict}


class DatasheetError(BackemfError, ValueError):
    """A datasheet file that cannot be read; the text names file, line and reason."""


def parse(text: str, name: str) -> Datasheet:
    """A datasheet from TOML text; `name` stands in errors."""
    return _Reader(text, name).sheet()


class _Reader:
    def __init__(self, text: str, name: str):
        self.text, self.name = text, name
        try:
            self.toml = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # a TOMLDecodeError, or an integer without end
            raise DatasheetError(f"{name}: not a TOML file: {error}") from None

    def fail(self, key: str, reason: object) -> DatasheetError:
        rows = list(enumerate(self.text.splitlines(), 1))
        assigned = re.compile(rf"\s*\"?{re.escape(key)}\"?\s*[=\].]")
        lines = [k for k, row in rows if assigned.match(row)] or [k for k, row in rows if key in row]
        return DatasheetError(f"{self.name}{f', line {lines[0]}' if lines else ''}: {reason}")

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
            return parse_unit(text, unit, key, tolerance)
        except UnitError as error:
            raise self.fail(key, error) from None

    def sheet(self) -> Datasheet:
        for key in self.toml:
            if key not in _TOP:
                raise self.fail(key, UnknownName("key", key, _TOP))
        kind = self.choice("kind", self.need("kind"), KINDS)
        side = self.choice("side", self.need("side"), SIDES)
        voltage = self.number("voltage", self.need("voltage"), "V").value
        temperature = self.toml.get("temperature")
        if temperature is not None:
            temperature = self.number("temperature", temperature, "degC").value
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
            entries=self.entries(voltage, side),
            firmware=self.firmware(),
            identified=self.identified(),
        )

    def quirks(self) -> tuple[str, ...]:
        given = self.toml.get("quirks", [])
        if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
            raise self.fail("quirks", f"quirks is {given!r:.40}; expected a list of texts")
        return tuple(given)

    def entries(self, voltage: float, side: str) -> tuple[Entry, ...]:
        table = self.need("entries")
        if not isinstance(table, dict) or not table:
            raise self.fail("entries", "[entries] is empty; expected at least one printed number")
        entries: list[Entry] = []
        for key, given in table.items():
            try:
                name = canonical(key)
            except UnknownName as error:
                raise self.fail(key, error) from None
            several = given if isinstance(given, list) else [given]
            entries += [self.entry(key, name, one, voltage, side) for one in several]
        return tuple(entries)

    def entry(self, key: str, name: str, given: Any, voltage: float, side: str) -> Entry:
        table = given if isinstance(given, dict) else {"value": given}
        for word in table:
            if word not in _ENTRY:
                raise self.fail(key, UnknownName(f"key of {key}", word, _ENTRY))
        if "value" not in table:
            raise self.fail(key, f"{key} has no value")
        # Entries of the rotor alone are at the rotor whatever the sheet's side; electrical ones have no side.
        said: dict[str, Any] = {"side": "rotor" if name == "rotor_inertia" else side, "voltage": voltage}
        said |= {word: str(table[word]) for word in _WORDS if word in table}
        said |= {word: self.choice(word, table[word], _CHOICES[word]) for word in _CHOICES if word in table}
        for word, unit in (("voltage", "V"), ("temperature", "degC")):
            if word in table:
                said[word] = self.number(key, table[word], unit).value
        printed = self.number(key, table["value"], ENTRIES[name].unit, table.get("tolerance"))
        return Entry(name=name, printed=printed, **said)

    def table(self, key: str) -> dict[str, Any]:
        """A table that may be absent."""
        given = self.toml.get(key, {})
        if not isinstance(given, dict):
            raise self.fail(key, f"{key} is {given!r:.40}; expected a table, [{key}]")
        return given

    def firmware(self) -> dict[str, Printed]:
        texts: dict[str, Any] = {}
        for key, given in self.table("firmware").items():
            if key not in FIRMWARE:
                raise self.fail(key, UnknownName("firmware entry", key, FIRMWARE))
            if isinstance(given, dict) and "value" not in given:
                raise self.fail(key, f"{key} has no value")
            texts[key] = given["value"] if isinstance(given, dict) else given
        rate = texts.get("target_rate")
        if isinstance(rate, str) and rate.endswith("step/s"):
            per_turn = self.number("counts_per_turn", texts.get("counts_per_turn", "4096"), "1").value
            steps = self.number("target_rate", rate.removesuffix("step/s"), "1").value
            if per_turn <= 0:
                raise self.fail("counts_per_turn", f"counts_per_turn is {per_turn:g}; expected more than 0")
            texts["target_rate"] = f"{steps / per_turn:g} rev/s"
        return {key: self.number(key, text, FIRMWARE[key]) for key, text in texts.items()}

    def identified(self) -> dict[str, Identified]:
        return {label: self.published(label, table) for label, table in self.table("identified").items()}

    def published(self, label: str, table: Any) -> Identified:
        where, wanted = f"identified.{label}", "source, friction, error and parameters"
        if not isinstance(table, dict):
            raise self.fail(label, f"{where} is {table!r:.40}; expected a table with {wanted}")
        for key, kind in _IDENTIFIED.items():
            if key not in table:
                raise self.fail(where, f"{where} has no {key!r}; expected {wanted}")
            if not isinstance(table[key], kind):
                sort = "a table of numbers" if kind is dict else "text"
                raise self.fail(where, f"{where}.{key} is {table[key]!r:.40}; expected {sort}")
        for path, value in table["parameters"].items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                text = f"{where}.parameters has {path} = {value!r:.40}; expected a number, in SI"
                raise self.fail(path, text)
        words = {key: table[key] for key in ("source", "friction", "error")}
        numbers = {path: float(value) for path, value in table["parameters"].items()}
        return Identified(**words, parameters=numbers, other=table.get("other", {}))


def json_schema() -> dict[str, Any]:
    """A JSON Schema of a datasheet file, from the same definitions the reader uses."""
    text = {"type": "string"}

    def table(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": False, "properties": properties, **more}

    words = {word: text for word in _ENTRY} | {word: {"enum": [*valid]} for word, valid in _CHOICES.items()}
    one = {"oneOf": [text, table(words, required=["value"])]}
    entries = {
        spelling: {
            "description": f"{kind.text} [{kind.unit}]",
            "oneOf": [*one["oneOf"], {"type": "array", "items": one}],
        }
        for name, kind in ENTRIES.items()
        for spelling in (name, *kind.aliases)
    }
    top = {word: text for word in _TOP} | {
        "quirks": {"type": "array", "items": text},
        "kind": {"enum": [*KINDS]},
        "motor": {"enum": [*MOTORS]},
        "side": {"enum": [*SIDES]},
        "entries": table(entries, minProperties=1),
        "firmware": table({word: one for word in FIRMWARE}),
        "identified": {"type": "object"},
    }
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, "title": "backemf datasheet", **table(top, required=[*_NEEDED])}
