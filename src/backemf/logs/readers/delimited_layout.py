"""The layout of a table in text: its separator and decimal sign, where the numbers begin,
what stands above them."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass

from .. import names
from ..recording import ReadError

_DECIMALS = {"\t": ".,", ";": ".,", ",": ".", "|": ".", None: ".,"}
DIALECTS = tuple((separator, sign) for separator, signs in _DECIMALS.items() for sign in signs)
"""Separator (None: any blanks) and decimal sign."""
SEPARATED = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", None: "blanks"}
COMMENTS = ("#", "%", "//", "!")
BOOLEANS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "on": 1.0, "off": 0.0}
MISSING = ("", "nan", "na", "n/a", "null", "none", "-", "--")
_NUMBER = re.compile(r"^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$|^[+-]?inf(?:inity)?$", re.IGNORECASE)
_GLUE = re.compile(r"\s+(?=[\[(][^\[\]()]*[\])])")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How to read the rows of a table."""

    separator: str | None
    decimal: str
    first: int
    """Line of the first row of numbers, from 0."""
    header: tuple[str, ...]
    units: tuple[str, ...]
    header_line: int | None
    kinds: tuple[str, ...]
    """Of each column: number, boolean or text."""

    @property
    def width(self) -> int:
        return len(self.kinds)

    def __str__(self) -> str:
        decimal = ", decimal comma" if self.decimal == "," else ""
        return f"columns separated by {SEPARATED[self.separator]}{decimal}"


def cells(line: str, separator: str | None) -> list[str]:
    """The cells of a line, without blanks and quotes around them."""
    if separator is None:
        return line.split()
    if '"' in line:
        return [c.strip() for c in next(csv.reader([line], delimiter=separator, skipinitialspace=True))]
    return [c.strip() for c in line.split(separator)]


def number(cell: str, decimal: str) -> float | None:
    """A cell as a number: NaN where it says that there is none, None where it is something else."""
    if cell.lower() in MISSING:
        return float("nan")
    if decimal == ",":
        if "." in cell:
            return None
        cell = cell.replace(",", ".")
    return float(cell) if _NUMBER.match(cell) else None


def kind(cell: str, decimal: str) -> str:
    if cell.lower() in MISSING:
        return "empty"
    if cell.lower() in BOOLEANS:
        return "boolean"
    return "text" if number(cell, decimal) is None else "number"


def is_comment(line: str) -> bool:
    return line.lstrip().startswith(COMMENTS)


def layout(lines: list[str]) -> Layout:
    """The layout that makes the most of the last of these lines."""
    rows = [k for k, line in enumerate(lines) if line.strip() and not is_comment(line)]
    best: tuple[float, str | None, str, int] = (0.0, None, ".", 0)
    for separator, decimal in DIALECTS:
        split = [cells(lines[k], separator) for k in rows[-200:]]
        widths = Counter(len(c) for c in split if any(kind(x, decimal) == "number" for x in c))
        width = max(widths, key=lambda w: (widths[w], w), default=0)
        if width < 2:
            continue
        flat = [kind(x, decimal) for c in split if len(c) == width for x in c]
        counted = sum(k in ("number", "boolean") for k in flat)
        filled = sum(k != "empty" for k in flat)
        score = counted / width * counted / max(1, filled)  # rows, by the share of cells that are numbers
        if score > best[0] * 1.001:
            best = (score, separator, decimal, width)
    score, separator, decimal, width = best
    if score == 0.0:
        separator, decimal, width = _single(lines, rows)
    table = {k: c for k in rows if len(c := _trimmed(cells(lines[k], separator), width)) == width}
    kinds = _kinds(list(table.values())[-200:], width, decimal)
    numeric = [j for j in range(width) if kinds[j] == "number"]
    first = next((k for k, row in table.items() if _is_row([kind(row[j], decimal) for j in numeric])), None)
    below = [k for k in rows if first is not None and k >= first]
    if first is None or sum(k in table for k in below) < 0.5 * len(below):
        why = "most lines have no common number of cells; expected a table in text"
        raise ReadError(f"no table of numbers found: {why}")
    without_header = [row for k, row in table.items() if k >= first]
    kinds = _kinds(without_header[-200:], width, decimal)
    header, units, line = _header(lines, first, separator, width)
    named = {"header": header, "units": units, "header_line": line, "kinds": kinds}
    return Layout(separator=separator, decimal=decimal, first=first, **named)


def _is_row(kinds: list[str]) -> bool:
    return "number" in kinds and all(k in ("number", "empty") for k in kinds)


def _single(lines: list[str], rows: list[int]) -> tuple[str | None, str, int]:
    """A file of one column, if it is that."""
    if rows and number(lines[rows[-1]].strip(), ".") is not None:
        return ";", ".", 1
    line, shown = (rows[-1] + 1, lines[rows[-1]].strip()) if rows else (0, "")
    last = f"the last line looked at ({line}) is {shown[:60]!r}"
    raise ReadError(f"no rows of numbers found; expected a table in text, {last}")


def _trimmed(row: list[str], width: int) -> list[str]:
    """Without the empty cell behind a separator at the end of the line."""
    return row[:-1] if len(row) == width + 1 and row[-1] == "" else row


def _kinds(rows: list[list[str]], width: int, decimal: str) -> tuple[str, ...]:
    kinds = []
    for j in range(width):
        seen = Counter(kind(row[j], decimal) for row in rows)
        common = max(("number", "boolean", "text"), key=lambda k: seen[k])
        kinds.append(common if seen[common] else "number")
    return tuple(kinds)


def _header(
    lines: list[str], first: int, separator: str | None, width: int
) -> tuple[tuple[str, ...], tuple[str, ...], int | None]:
    """(names, units, line) from the lines above the numbers;
    names are column numbers from 1 where there are none."""
    above = [k for k in range(first - 1, -1, -1) if lines[k].strip(" \t\r\n,;")]
    units: tuple[str, ...] = ()
    for n, k in enumerate(above[:2]):
        text = lines[k].strip()
        for mark in COMMENTS:
            text = text.removeprefix(mark).lstrip() if text.startswith(mark) else text
        row = _trimmed(cells(_GLUE.sub("", text) if separator is None else text, separator), width)
        if len(row) != width or not any(kind(c, ".") == "text" for c in row):
            break
        if n == 0 and len(above) > 1 and _are_units(row):
            units = tuple(c.strip("()[]{} ") for c in row)
            continue
        return _unique(row), units or ("",) * width, k
    return tuple(str(j + 1) for j in range(width)), units or ("",) * width, None


def _are_units(row: list[str]) -> bool:
    """Whether a row under the header holds units: "(ms)", "V", "second";
    a header itself is not in brackets and has a known name."""
    bracketed = [c for c in row if c]
    if all(c[0] in "([{" and c[-1] in ")]}" for c in bracketed):
        return True
    signals = ("time", "position", "velocity", "current", "voltage", "torque", "temperature")
    return all(any(names.fits(c, s) for s in signals) for c in bracketed) and not any(
        names.recognise(c).signals for c in bracketed
    )


def _unique(row: list[str]) -> tuple[str, ...]:
    seen: Counter[str] = Counter()
    result = []
    for j, cell in enumerate(row):
        name = cell or str(j + 1)
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name}.{seen[name]}")
    return tuple(result)
