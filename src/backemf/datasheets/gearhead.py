"""A gearhead as it is printed, and tables of parts of a user's own: CSV with a row for each, TOML."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BackemfError, InvalidValue, MissingValue, UnknownName
from ..files import list_in
from ..physics.quantity import check_range, quantity
from ..units import si
from .datasheet import ENTRIES, Datasheet, canonical

LIMITED = ("peak_torque", "continuous_torque")
"""Torques of which one must be printed for a gearhead to be judged."""


@dataclass(frozen=True, kw_only=True)
class Gearhead:
    """Gears between a motor and its load. What is not printed is None, never 0."""

    name: str
    maker: str = ""
    sort: str = ""
    """planetary, spur, strain-wave, ..."""
    ratio: float = quantity("1", "N", above=0)
    """Turns of the motor for one of the output."""
    efficiency: float | None = quantity("1", "eta", default=None, above=0, most=1)
    inertia: float | None = quantity("kg m^2", "J_g", default=None, above=0)
    """At its input."""
    peak_torque: float | None = quantity("N m", "T_pk", default=None, above=0)
    """At its output, for a short time."""
    continuous_torque: float | None = quantity("N m", "T_c", default=None, above=0)
    input_speed: float | None = quantity("rad/s", "n_in", default=None, above=0)
    """The most that its input may turn."""
    backlash: float | None = quantity("rad", "b", default=None, least=0)
    mass: float | None = quantity("kg", "m", default=None, above=0)
    stages: float | None = quantity("1", "", default=None, least=1)
    price: float | None = quantity("1", "", default=None, least=0)
    currency: str = ""
    fits: tuple[str, ...] = ()
    """Names of motors, or patterns such as maxon-re-*; none: any motor."""
    source: str = ""

    def __post_init__(self) -> None:
        for f in fields(self):
            if "unit" in f.metadata and (value := getattr(self, f.name)) is not None:
                check_range(f"{f.name} of gearhead {self.name}", value, f.metadata)
        most, lasting = self.peak_torque, self.continuous_torque
        if most is not None and lasting is not None and most < lasting:
            raise InvalidValue(
                f"peak_torque of gearhead {self.name} is {most:g} N m; expected at least its"
                f" continuous_torque, {lasting:g} N m"
            )


_FIELDS = {f.name: f for f in fields(Gearhead)}
_ALIASES = {
    **dict.fromkeys(("gear_ratio", "reduction", "i", "n"), "ratio"),
    **dict.fromkeys(("gear_efficiency", "max_efficiency", "eta"), "efficiency"),
    **dict.fromkeys(("mass_inertia", "j"), "inertia"),
    **dict.fromkeys(("intermittent_torque", "max_torque"), "peak_torque"),
    **dict.fromkeys(("nominal_torque", "rated_torque"), "continuous_torque"),
    **dict.fromkeys(("max_input_speed", "max_speed"), "input_speed"),
    **dict.fromkeys(("type", "kind"), "sort"),
    **dict.fromkeys(("play",), "backlash"),
    **dict.fromkeys(("weight",), "mass"),
}
GEARED = ("gearhead", "gearbox", "planetary", "spur", "strain-wave", "harmonic", "cycloidal", "worm")
"""What a row's kind says where it is a gearhead."""
SORTS = {"dc": "brushed", "brushed": "brushed"} | dict.fromkeys(("brushless", "bldc", "ec"), "brushless")
"""What it may say of a motor."""


def gearhead_of(row: Mapping[str, Any], where: str) -> Gearhead:
    """A gearhead from what is printed, by name, with units.

    Args:
        row: such as {"name": "GP 42", "ratio": "4.8", "mass": "460 g"}.
        where: the file and line, for errors.

    Raises:
        BackemfError: a number is none, or beyond what it can be.
    """
    values: dict[str, Any] = {}
    for key, given in row.items():
        name = _ALIASES.get(key.lower(), key.lower())
        if name not in _FIELDS:
            raise UnknownName(f"entry of a gearhead in {where}", key, _FIELDS)
        if given in ("", None):
            continue
        if name == "price":
            values["price"], values["currency"] = read_price(str(given), where)
        elif name == "fits":
            values[name] = tuple(list_in(given) or re.split(r"[;\s]+", str(given)))
        elif "unit" in (meta := _FIELDS[name].metadata):
            values[name] = si(str(given), meta["unit"], f"{key} in {where}")
        else:
            values[name] = str(given)
    for name in ("name", "ratio"):
        if name not in values:
            raise MissingValue(f"{where}: a gearhead needs {name}")
    try:
        return Gearhead(**{"source": where, **values})
    except InvalidValue as error:
        raise InvalidValue(f"{where}: {error}") from None


class Price(NamedTuple):
    """What a part costs; its currency is a word, and nothing is converted."""

    amount: float
    currency: str


UNKNOWN_PRICE = Price(math.nan, "")


def read_price(text: str, where: str) -> Price:
    """ "200 EUR", "$200" or "200" -> 200 and the word."""
    match = re.search(r"[-+]?\d[\d.,]*", text)
    amount, word = (match[0], text.replace(match[0], "").strip()) if match else (text, "")
    price = Price(si(amount, "1", f"price in {where}"), word)
    check_range(f"{where}: price", price.amount, _FIELDS["price"].metadata)
    return price


RATIOS = {"ratio", "gear_ratio", "reduction"}
"""A column that a table of gearheads has."""
PLAIN = {"type", "voltage", "speed_limit", "side", "motor", *_FIELDS, *_ALIASES, *ENTRIES}
"""Titles that may be in capitals; of symbols, such as I and i, the case tells."""


class PartsTable:
    """Motors and gearheads of one or more files."""

    def __init__(self) -> None:
        self.sheets: dict[str, Datasheet] = {}
        self.prices: dict[str, Price] = {}
        self.top_speeds: dict[str, float] = {}
        """The most that a motor may turn, where that is printed [rad/s]."""
        self.gearheads: list[Gearhead] = []
        self.currency = ""

    def read(self, path: Path) -> None:
        """Add the parts of a file.

        Args:
            path: CSV, or TOML of one motor or with [[gearhead]].

        Raises:
            BackemfError: it cannot be read, with the line.
        """
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidValue(f"{path} cannot be read as text: {error}") from None
        if path.suffix.lower() == ".toml":
            self._read_toml(text, path)
        else:
            self._read_csv(text, path)

    def _read_toml(self, text: str, path: Path) -> None:
        try:
            content = tomllib.loads(text)
        except ValueError as error:
            raise InvalidValue(f"{path} is no TOML: {error}") from None
        rows = content.get("gearhead")
        if rows is None:
            self._add(Datasheet.parse(text, path.name), path.stem)
            return
        for k, row in enumerate(list_in(rows) or [rows], 1):
            self._add_gearhead(gearhead_of(row, f"{path.name}, gearhead {k}"))

    def _read_csv(self, text: str, path: Path) -> None:
        mark = max(",;\t", key=(text.strip().splitlines() or [""])[0].count)
        lines = csv.reader(io.StringIO(text), delimiter=mark)
        head, *rows = [r for r in lines if any(map(str.strip, r))] or [[]]
        columns = [_column(title) for title in head]
        titles = {name for name, _ in columns}
        if not rows or "name" not in titles:
            raise InvalidValue(
                f"{path} has no parts; expected a line of titles with 'name', and a line for each part"
            )
        for k, cells in enumerate(rows, 2):
            if len(cells) != len(columns):
                raise InvalidValue(
                    f"{path}, line {k} has {len(cells)} cells where the titles are {len(columns)}; expected"
                    " as many: put a cell with a comma into quotes"
                )
            if mark != ",":  # then a comma may be a decimal one
                cells = [re.sub(r"^\s*([-+]?\d+),(\d+)", r"\1.\2", cell) for cell in cells]
            given = {n: _cell(c, unit) for (n, unit), c in zip(columns, cells, strict=True) if c.strip()}
            self._add_row(given, f"{path.name}, line {k}", bool(RATIOS & titles))

    def _add_row(self, given: dict[str, str], where: str, with_ratios: bool) -> None:
        """A gearhead or a motor; what has a ratio and no winding is a gearhead."""
        given |= {"kind": sort} if (sort := given.pop("type", "")) and "kind" not in given else {}
        wound = {"voltage", "resistance"} & {*given}
        if given.get("kind", "").lower() in GEARED or (with_ratios and not wound):
            self._add_gearhead(gearhead_of(given, where))
        else:
            self._add_motor(given, where)

    def _add_motor(self, given: dict[str, str], where: str) -> None:
        """A row as a sheet of its own, read as sheets are."""
        name, price, most = given.pop("name", ""), given.pop("price", None), given.pop("speed_limit", None)
        if not name or "voltage" not in given:
            raise MissingValue(f"{where}: a motor needs name and voltage")
        sort = given.pop("kind", "motor").lower()
        given |= {"motor": SORTS[sort]} if sort in SORTS and "motor" not in given else {}
        top = {"name": name, "kind": "motor" if sort in SORTS else sort, "maker": given.pop("maker", "")}
        top |= {"side": given.pop("side", "rotor"), "voltage": given.pop("voltage")}
        top |= {"source": given.pop("source", where)}
        top |= {"motor": given.pop("motor")} if "motor" in given else {}
        for entry in given:
            canonical(entry)
        lines = [f"{k} = {json.dumps(v)}" for k, v in top.items()]
        lines += ["[entries]", *(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in given.items())]
        try:
            self._add(Datasheet.parse("\n".join(lines), where), name)
        except BackemfError as error:
            raise InvalidValue(str(error) if where in str(error) else f"{where}: {error}") from None
        if price is not None:
            self.prices[name] = read_price(price, where)
            self._one_currency(self.prices[name].currency, where)
        rows = (
            ("mass", given.get("mass"), "mass", {}),
            ("speed_limit", most, "input_speed", self.top_speeds),
        )
        for entry, text, like, kept in rows:
            if text is not None:
                meta = _FIELDS[like].metadata
                kept[name] = si(text, meta["unit"], f"{entry} in {where}")
                check_range(f"{where}: {entry} of {name}", kept[name], meta)

    def _add_gearhead(self, gear: Gearhead) -> None:
        if any(gear.name == other.name for other in self.gearheads):
            raise InvalidValue(f"two gearheads are called {gear.name}; expected a name of its own for each")
        self._one_currency(gear.currency, gear.source)
        self.gearheads.append(gear)

    def _one_currency(self, word: str, where: str) -> None:
        """Refuse prices that cannot be added."""
        self.currency = self.currency or word
        if word not in ("", self.currency):
            raise InvalidValue(
                f"{where} has a price in {word} and others are in {self.currency}; expected one"
            )

    def _add(self, sheet: Datasheet, name: str) -> None:
        if name in self.sheets:
            raise InvalidValue(f"two motors are called {name}; expected a name of its own for each")
        self.sheets[name] = sheet


def _column(title: str) -> tuple[str, str]:
    """ "mass [g]" -> mass, g."""
    match = re.fullmatch(r"\s*(.*?)\s*(?:[\[(](.*?)[\])])?\s*", title)
    name, unit = (match[1], match[2] or "") if match else (title, "")
    name = name.strip().replace(" ", "_")
    return name.lower() if len(name) > 2 and name.lower() in PLAIN else name, unit


def _cell(text: str, unit: str) -> str:
    """A cell with its column's unit, unless it has one of its own."""
    text = text.strip()
    try:
        number = math.isfinite(float(text))
    except ValueError:
        number = False
    return f"{text} {unit}" if number and unit else text
