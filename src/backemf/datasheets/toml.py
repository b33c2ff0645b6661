"""A datasheet's file: TOML into a Datasheet, every mistake into an error with its line, and the file's
JSON Schema."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..errors import BackemfError, UnknownName
from ..units import PrintedNumber, UnitError, parse as parse_unit
from .datasheet import ENTRIES, Datasheet, Entry, PublishedParameters, bare, either

SIDES = ("rotor", "output")
KINDS = ("motor", "gearmotor", "servo", "actuator")
CONTROLS = ("voltage", "position", "current", "torque", "velocity", "impedance")
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
    "derivative_filter": "s",
    "duty_limit": "1",
    "deadband": "rad",
    "counts_per_turn": "1",
    "target_rate": "rad/s",
    "stiffness": "N m/rad",
    "damping": "N m s/rad",
    "stiffness_max": "N m/rad",
    "damping_max": "N m s/rad",
    "volts_per_radian": "V/rad",
    "volts_per_radian_second": "V/(rad s)",
    "volt_seconds_per_radian": "V s/rad",
    "integral_limit": "rad s",
    "voltage_limit": "V",
    "velocity_gain": "V s/rad",
    "velocity_integral_gain": "V/rad",
    "target_acceleration": "rad/s^2",
    "torque_bandwidth": "Hz",
    "sampling_period": "s",
}
OTHER_UNITS = {"velocity_gain": "N m s/rad"}
"""Firmware entries that may also come in a second unit."""
SYMBOLS = {
    "kp": ("volts_per_radian", "stiffness", "velocity_gain"),
    "ki": ("volts_per_radian_second", "velocity_integral_gain"),
    "kd": ("volt_seconds_per_radian", "damping"),
    "slewmax": ("target_rate", "target_acceleration"),
    "Imax": ("integral_limit",),
    "Vmax": ("voltage_limit",),
    "vmax": ("voltage_limit",),
}
"""The controller of MuJoCo's DC-motor note, tables 14 to 16: the unit says which of them is meant.
Underscores and braces do not matter."""
_NEEDED = ("name", "maker", "kind", "side", "voltage", "source", "entries")
_TOP = (*_NEEDED, "motor", "control", "temperature", "quirks", "firmware", "profiles", "identified")
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
            firmware=self.firmware(),
            profiles=self.profiles(),
            identified=self.published_sets(),
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
            several = given if isinstance(given, list) else [given]
            try:
                names = either(key)
            except UnknownName as error:
                raise self.fail(key, error) from None
            entries += [self.entry(key, self.meaning(names, one), one, voltage, side) for one in several]
        return tuple(entries)

    def meaning(self, names: Sequence[str], given: Any) -> str:
        """Which of the entries that a symbol stands for: the one whose unit fits, else the usual one."""
        text = given.get("value") if isinstance(given, dict) else given
        usual, *others = names
        for name in names if others else ():
            with contextlib.suppress(UnitError):
                parse_unit(text, ENTRIES[name].unit, name)
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

    def entry(self, key: str, name: str, given: Any, voltage: float, side: str) -> Entry:
        table = given if isinstance(given, dict) else {"value": given}
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
        if not isinstance(given, dict):
            raise self.fail(key, f"{key} is {given!r:.40}; expected a table, [{key}]")
        return given

    def firmware(self) -> dict[str, PrintedNumber]:
        return self.registers(self.table("firmware"))

    def profiles(self) -> dict[str, dict[str, PrintedNumber]]:
        profiles = {}
        for name, table in self.table("profiles").items():
            if not isinstance(table, dict) or not isinstance(table.get("source"), str):
                raise self.fail(
                    name, f"profiles.{name} has no source; expected a table of firmware entries with one"
                )
            profiles[name] = self.registers({k: v for k, v in table.items() if k != "source"})
        return profiles

    def registers(self, table: dict[str, Any]) -> dict[str, PrintedNumber]:
        """Firmware settings."""
        texts: dict[str, Any] = {}
        for key, given in table.items():
            if isinstance(given, dict) and "value" not in given:
                raise self.fail(key, f"{key} has no value")
            text = given["value"] if isinstance(given, dict) else given
            texts[self.register(key, text)] = text
        rate = texts.get("target_rate")
        if isinstance(rate, str) and rate.endswith("step/s"):
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

    def published_sets(self) -> dict[str, PublishedParameters]:
        return {
            label: self.published_parameters(label, table)
            for label, table in self.table("identified").items()
        }

    def _check_published(self, where: str, wanted: str, table: dict[str, Any]) -> None:
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

    def published_parameters(self, label: str, table: Any) -> PublishedParameters:
        where, wanted = f"identified.{label}", "source, friction, error and parameters"
        if not isinstance(table, dict):
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
