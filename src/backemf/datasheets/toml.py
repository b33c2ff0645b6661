"""A datasheet's file: TOML into a Datasheet, every mistake into an error with its line, and the file's
JSON Schema."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from importlib import resources
from typing import Any

from ..bounds import toml
from ..errors import BackemfError, UnknownName
from ..files import list_in, table_in
from ..physics.maths import is_number
from ..units import PrintedNumber, UnitError, parse as parse_unit
from .datasheet import ENTRIES, TABLES, Datasheet, Entry, PublishedParameters, bare, either

SIDES = ("rotor", "output")
KINDS = ("motor", "gearmotor", "servo", "actuator")
CONTROLS = ("voltage", "position", "current", "torque", "velocity", "impedance")
MOTORS = ("brushed", "brushless")
CONVENTIONS = ("line", "phase", "peak", "rms", "dc", "line peak", "line rms", "phase peak", "phase rms")
STATUS = ("assumed", "peak", "continuous")
FIRMWARE: dict[str, str] = TABLES["firmware"]
OTHER_UNITS: dict[str, str] = TABLES["other_units"]
SYMBOLS: dict[str, list[str]] = TABLES["firmware_symbols"]
SERIES = tomllib.loads((resources.files("backemf.datasheets") / "series.toml").read_text(encoding="utf-8"))
"""What the firmware of a series holds as it is shipped, by the series."""
_NEEDED = ("name", "maker", "kind", "side", "voltage", "source", "entries")
_TOP = (*_NEEDED, "motor", "series", "control", "temperature", "quirks", "firmware", "profiles", "identified")
_WORDS = ("source", "page", "note")
_ENTRY = ("value", "voltage", "temperature", "side", "convention", "kind", "tolerance", *_WORDS)
_POINT = ("torque", "speed", *_ENTRY[1:])
_CHOICES = {"side": SIDES, "kind": STATUS, "convention": CONVENTIONS}
_TOLERANCED = re.compile(r"\+-|\u00b1|\d\s*(?:-|~|\u2013|to|\.\.)\s*\d")
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
            self.toml = toml(text)
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

    def number(self, key: str, text: Any, unit: str, tolerance: str | None = None) -> PrintedNumber:
        try:
            return parse_unit(text, unit, key, tolerance)
        except UnitError as error:
            raise self.fail(key, error) from None

    def sheet(self) -> Datasheet:
        for key in self.toml:
            if key not in _TOP:
                raise self.fail(key, UnknownName("key", key, _TOP))
        kind = self.choice("kind", self.need("kind"), KINDS)
        whole = kind == "actuator"  # motor, gears and driver in one: brushless, and printed at the output
        given = self.toml.get("side", "output") if whole else self.need("side")
        side = self.choice("side", given, SIDES)
        control = self.toml.get("control")
        voltage = self.number("voltage", self.need("voltage"), "V").value
        temperature = self.toml.get("temperature")
        if temperature is not None:
            temperature = self.number("temperature", temperature, "degC").value
        return Datasheet(
            name=str(self.need("name")),
            maker=str(self.need("maker")),
            kind=kind,
            motor=self.choice("motor", self.toml.get("motor", "brushless" if whole else "brushed"), MOTORS),
            control=None if control is None else self.choice("control", control, CONTROLS),
            side=side,
            voltage=voltage,
            temperature=temperature,
            source=str(self.need("source")),
            quirks=self.quirks(),
            entries=self.entries(voltage, side),
            firmware=self.registers(self.table("firmware")),
            profiles=self.profiles(),
            identified={
                label: self.published_parameters(label, table)
                for label, table in self.table("identified").items()
            },
        )

    def quirks(self) -> tuple[str, ...]:
        given = self.toml.get("quirks", [])
        texts = tuple(map(str, list_in(given)))
        if given != [*texts]:
            raise self.fail("quirks", f"quirks is {given!r:.40}; expected a list of texts")
        return texts

    def entries(self, voltage: float, side: str) -> tuple[Entry, ...]:
        table = table_in(self.need("entries"))
        if not table:
            raise self.fail("entries", "[entries] is empty; expected at least one printed number")
        entries: list[Entry] = []
        for key, given in table.items():
            try:
                names = either(key)
            except UnknownName as error:
                raise self.fail(key, error) from None
            rows = map(_with_conditions, list_in(given) or [given])
            entries += [self.entry(key, self.meaning(names, row), row, voltage, side) for row in rows]
        return tuple(entries)

    def meaning(self, names: Sequence[str], row: Mapping[str, Any]) -> str:
        """Which of the entries that a symbol stands for: the one whose unit fits, else the usual one."""
        usual, *others = names
        for name in names if others else ():
            with contextlib.suppress(UnitError):
                parse_unit(row.get("value"), ENTRIES[name].unit, name)
                return name
        return usual

    def _check_words(
        self, key: str, table: Mapping[str, Any], known: Collection[str], needed: Sequence[str]
    ) -> None:
        for word in table:
            if word not in known:
                raise self.fail(key, UnknownName(f"key of {key}", word, known))
        for word in needed:
            if word not in table:
                raise self.fail(key, f"{key} has no {word}")

    def entry(self, key: str, name: str, table: Mapping[str, Any], voltage: float, side: str) -> Entry:
        point = name == "torque_speed"
        known, needed = (_POINT, ("torque", "speed")) if point else (_ENTRY, ("value",))
        self._check_words(key, table, known, needed)
        # Entries of the rotor alone are at the rotor whatever the sheet's side; electrical ones have no side.
        side = "rotor" if name in ("rotor_inertia", "iron_loss") else side
        said: dict[str, Any] = {"side": side, "voltage": voltage}
        said |= {word: str(table[word]) for word in _WORDS if word in table}
        said |= {word: self.choice(word, table[word], _CHOICES[word]) for word in _CHOICES if word in table}
        units = {word: unit for word, unit in (("voltage", "V"), ("temperature", "degC")) if word in table}
        said |= {word: self.number(key, table[word], unit).value for word, unit in units.items()}
        if point:
            said["speed"] = self.number(key, table["speed"], "rad/s")
        text = table["torque" if point else "value"]
        printed = self.number(key, text, ENTRIES[name].unit, table.get("tolerance"))
        if "tolerance" in table or _TOLERANCED.search(str(text)):
            said["toleranced"] = True
        return Entry(name=name, printed=printed, **said)

    def table(self, key: str) -> dict[str, Any]:
        """A table that may be absent."""
        given = self.toml.get(key, {})
        table = table_in(given)
        if table is not given:
            raise self.fail(key, f"{key} is {given!r:.40}; expected a table, [{key}]")
        return table

    def profiles(self) -> dict[str, dict[str, PrintedNumber]]:
        series, profiles = self.toml.get("series"), {}
        stated = self.table("profiles")
        if series is not None:
            stated = {"factory": {"source": self.choice("series", series, tuple(SERIES))}} | stated
        for name, table in stated.items():
            numbers = dict(table_in(table))
            if not isinstance(numbers.pop("source", None), str):
                wanted = "expected a table of firmware entries with one"
                raise self.fail(name, f"profiles.{name} has no source; {wanted}")
            shipped = SERIES[series] if series is not None and name == "factory" else {}
            profiles[name] = self.registers(shipped | numbers)
        return profiles

    def registers(self, table: dict[str, Any]) -> dict[str, PrintedNumber]:
        """Firmware settings."""
        texts: dict[str, Any] = {}
        for key, given in table.items():
            row = _with_conditions(given)
            if "value" not in row:
                raise self.fail(key, f"{key} has no value")
            texts[self.register(key, row["value"])] = row["value"]
        rate = str(texts.get("target_rate", ""))
        if rate.endswith("step/s"):
            per_turn = self.number("counts_per_turn", texts.get("counts_per_turn", "4096"), "1").value
            steps = self.number("target_rate", rate.removesuffix("step/s"), "1").value
            if per_turn <= 0:
                raise self.fail("counts_per_turn", f"counts_per_turn is {per_turn:g}; expected more than 0")
            texts["target_rate"] = f"{steps / per_turn:g} rev/s"
        return {key: self.setting(key, text) for key, text in texts.items()}

    def register(self, key: str, text: Any) -> str:
        """The firmware entry that a name or a symbol means; of several, the one whose unit fits."""
        if key in FIRMWARE:
            return key
        names = SYMBOLS.get(bare(key), ())
        if not names:
            raise self.fail(key, UnknownName("firmware entry", key, [*FIRMWARE, *SYMBOLS]))
        for name in names:
            with contextlib.suppress(UnitError):
                parse_unit(text, FIRMWARE[name], key)
                return name
        units = ", ".join(FIRMWARE[name] for name in names)
        raise self.fail(key, f"{key} is {text!r}; expected a number in {units}")

    def setting(self, key: str, text: Any) -> PrintedNumber:
        """A firmware number, in its unit or in the second one it may have."""
        if key in OTHER_UNITS:
            with contextlib.suppress(UnitError):
                return parse_unit(text, OTHER_UNITS[key], key)
        return self.number(key, text, FIRMWARE[key])

    def _check_published(self, where: str, wanted: str, table: dict[str, Any]) -> None:
        for key, kind in _IDENTIFIED.items():
            if key not in table:
                raise self.fail(where, f"{where} has no {key!r}; expected {wanted}")
            if not isinstance(table[key], kind):
                sort = "a table of numbers" if kind is dict else "text"
                raise self.fail(where, f"{where}.{key} is {table[key]!r:.40}; expected {sort}")
        for path, value in table["parameters"].items():
            if not is_number(value):
                text = f"{where}.parameters has {path} = {value!r:.40}; expected a number, in SI"
                raise self.fail(path, text)

    def published_parameters(self, label: str, table: Any) -> PublishedParameters:
        where, wanted = f"identified.{label}", "source, friction, error and parameters"
        if table_in(table) is not table:
            raise self.fail(label, f"{where} is {table!r:.40}; expected a table with {wanted}")
        self._check_published(where, wanted, table)
        words = {key: table[key] for key in ("source", "friction", "error")}
        numbers = {path: float(value) for path, value in table["parameters"].items()}
        supply = self.number("supply", table["supply"], "V").value if "supply" in table else None
        more: dict[str, Any] = {key: str(table[key]) for key in ("data", "note") if key in table}
        try:
            errors = {path: float(value) for path, value in table.get("errors", {}).items()}
            rows = tuple(tuple(float(x) for x in row) for row in table.get("correlation", ()))
        except (TypeError, ValueError, AttributeError):
            wanted = "expected a table of numbers and a list of rows of numbers"
            raise self.fail(where, f"{where}.errors or .correlation is none; {wanted}") from None
        if rows and [len(row) for row in rows] != list(range(1, len(errors) + 1)):
            wanted = f"expected {len(errors)} rows of 1 to {len(errors)} numbers, one for each of its errors"
            raise self.fail(where, f"{where}.correlation has {len(rows)} rows; {wanted}")
        more |= {"errors": errors, "correlation": rows, "other": table.get("other", {})}
        return PublishedParameters(**words, parameters=numbers, supply=supply, **more)


def _with_conditions(given: Any) -> Mapping[str, Any]:
    """What is printed as a table: a number alone is one of a value and nothing else."""
    return given if isinstance(given, dict) else {"value": given}


def json_schema() -> dict[str, Any]:
    """A JSON Schema of a datasheet file, from the same definitions the reader uses."""
    text = {"type": "string"}

    def table(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": False, "properties": properties, **more}

    words = {word: text for word in _ENTRY} | {word: {"enum": [*valid]} for word, valid in _CHOICES.items()}
    one = {"oneOf": [text, table(words, required=["value"])]}
    points = table(words | {"torque": text, "speed": text}, required=["torque", "speed"])
    del points["properties"]["value"]
    entries: dict[str, Any] = {
        spelling: {
            "description": f"{kind.text} [{kind.unit}]",
            "oneOf": [*one["oneOf"], {"type": "array", "items": one}],
        }
        for name, kind in ENTRIES.items()
        for spelling in (name, *kind.aliases)
    }
    entries["torque_speed"]["oneOf"] = [points, {"type": "array", "items": points}]
    top = {word: text for word in _TOP} | {
        "quirks": {"type": "array", "items": text},
        "kind": {"enum": [*KINDS]},
        "motor": {"enum": [*MOTORS]},
        "side": {"enum": [*SIDES]},
        "control": {"enum": [*CONTROLS]},
        "entries": table(entries, minProperties=1),
        "firmware": table({word: one for word in FIRMWARE}),
        "profiles": {"type": "object"},
        "identified": {"type": "object"},
    }
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {
        "$schema": draft,
        "title": "backemf datasheet",
        **table(top, required=[k for k in _NEEDED if k != "side"]),
    }
