"""CSV, TSV and other tables in text, read in blocks: memory grows with the signals that are used, not with
the text. The layout is the text's own: separator and decimal sign, where the numbers begin, what stands
above them."""

from __future__ import annotations

import bisect
import csv
import io
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...bounds import bytes_of, check_file, limits, short_lines
from ...findings import Finding, finding
from ...signal import read as read_command
from .. import names
from ..benches import bench_of
from ..recording import (
    Channel,
    Keep,
    ReadError,
    Recording,
    Report,
    check_table,
    encoding_of,
    everything,
    silent,
)
from . import list_cells

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
class TableLayout:
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


def layout(lines: list[str]) -> TableLayout:
    """The layout that makes the most of the last of these lines."""
    rows = [k for k, line in enumerate(lines) if line.strip() and not is_comment(line)]
    separator, decimal, width = _dialect(lines, rows)
    check_table(0, width)
    table = {k: c for k in rows if len(c := _trim_row(cells(lines[k], separator), width)) == width}
    first = _first_row(table, width, decimal)
    below = [k for k in rows if first is not None and k >= first]
    without_header = [table[k] for k in below if k in table]
    if first is None or len(without_header) < 0.5 * len(below):
        why = "most lines have no common number of cells; expected a table in text"
        raise ReadError(f"no table of numbers found: {why}")
    kinds = _kinds(without_header[-200:], width, decimal)
    header, units, line = _header(lines, first, separator, width)
    named = {"header": header, "units": units, "header_line": line, "kinds": kinds}
    return TableLayout(separator=separator, decimal=decimal, first=first, **named)


def _first_row(table: Mapping[int, list[str]], width: int, decimal: str) -> int | None:
    """The line of the first row with numbers in those columns that have them at the end of the table."""
    kinds = _kinds(list(table.values())[-200:], width, decimal)
    numeric = [j for j in range(width) if kinds[j] == "number"]
    for k, row in table.items():
        there = {kind(row[j], decimal) for j in numeric}
        if "number" in there and there <= {"number", "empty"}:
            return k
    return None


def _dialect(lines: list[str], rows: list[int]) -> tuple[str | None, str, int]:
    """(separator, decimal sign, cells of a row) that make the most numbers of the last rows."""
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
    return best[1:] if best[0] else _single(lines, rows)


def _single(lines: list[str], rows: list[int]) -> tuple[str | None, str, int]:
    """A file of one column, if it is that."""
    if rows and number(lines[rows[-1]].strip(), ".") is not None:
        return ";", ".", 1
    line, shown = (rows[-1] + 1, lines[rows[-1]].strip()) if rows else (0, "")
    last = f"the last line looked at ({line}) is {shown[:60]!r}"
    raise ReadError(f"no rows of numbers found; expected a table in text, {last}")


def _trim_row(row: list[str], width: int) -> list[str]:
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
        text = _strip_comment(lines[k])
        row = _trim_row(cells(_GLUE.sub("", text) if separator is None else text, separator), width)
        if len(row) != width or not any(kind(c, ".") == "text" for c in row):
            break
        if n == 0 and len(above) > 1 and _are_units(row):
            units = tuple(c.strip("()[]{} ") for c in row)
            continue
        return _unique(row), units or ("",) * width, k
    return tuple(str(j + 1) for j in range(width)), units or ("",) * width, None


def _strip_comment(line: str) -> str:
    text = line.strip()
    for mark in COMMENTS:
        text = text.removeprefix(mark).lstrip() if text.startswith(mark) else text
    return text


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


FORMAT = "table"
SUFFIXES = (".csv", ".tsv", ".txt", ".dat", ".log", ".asc", ".tab")
SAMPLE = 1 << 18
BLOCK = 20_000


def can_read(path: Path, head: bytes) -> bool:
    """Text of whatever suffix; binary files have bytes that text has not."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    control = sum(b < 32 and b not in b"\t\n\r\f" for b in head)
    return bool(head.strip()) and control == 0


def entries(path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
    """The one recording in a table in text.

    Args:
        path: the file.
        keep: says which columns are wanted; the others are counted, and their values let go.
        report: told the fraction of the file that is read.

    Returns:
        A list of the recording.

    Raises:
        ReadError: it is no table, or a row of it cannot be read.
    """
    with check_file(path).open("rb") as file:
        head = file.read(SAMPLE)
    encoding = encoding_of(head)
    whole = len(head) < SAMPLE
    lines = head.decode(encoding, errors="replace").splitlines()
    listed = _without_lists(path, encoding) if list_cells.may_hold(lines) else None
    lines, whole = (lines, whole) if listed is None else (listed, True)
    table = layout(lines if whole or len(lines) < 2 else lines[:-1])
    titles = zip(table.header, table.units, table.kinds, strict=True)
    wanted = set(keep([Channel(name=n, unit=u) for n, u, kind in titles if kind != "text"]))
    blocks = _Blocks(path, encoding, table, wanted, report, listed)
    blocks.run()
    text = [repr(n) for n, kind in zip(table.header, table.kinds, strict=True) if kind == "text"]
    notes, hint = [f"{table}, {encoding}"], f"text, not numbers: {', '.join(text)}" if text else ""
    if table.header_line is None:
        notes.append("no header: columns are numbered from 1")
        hint = "the file has no header, so its columns are numbered"
    elif table.header_line > 0:
        notes.append(f"{table.header_line} lines above the header skipped")
    notes += [f"column {name} holds text and is not used" for name in text]
    notes += [f.text for f in blocks.findings]
    said = said_above(lines[: table.first])
    told: dict[str, Any] = {
        **said,
        "notes": tuple(notes),
        "findings": tuple(blocks.findings),
        "where": blocks.where,
        "hint": hint,
    }
    return [Recording.of(path, FORMAT, blocks.channels(), **told)]


def _without_lists(path: Path, encoding: str) -> list[str]:
    """The lines of a table whose cells hold lists, with a column for each element."""
    raw = bytes_of(path, limits().text, "write a column for each element")
    rows = list_cells.join(raw.decode(encoding, errors="replace").splitlines())
    table = layout([row.plain for row in rows])
    separator = table.separator or "\t"
    split = [cells(row.text, table.separator) for row in rows]
    widths, words = list_cells.widths_of([row for row in split[table.first :] if len(row) == table.width])
    lines = []
    check_table(0, sum(widths.values()))

    def write(row_cells: list[str]) -> str:
        return separator.join(f'"{cell}"' if separator in cell else cell for cell in row_cells)

    for k, (row, row_cells) in enumerate(zip(rows, split, strict=True)):
        if k == table.header_line:
            row_cells = list_cells.spread_names(table.header, widths, words)
        elif not row.text or is_comment(row.text) or len(row_cells) != table.width:
            lines.append(row.plain)
            continue
        elif k < table.first:  # units, the same for every element
            row_cells = [cell for j, cell in enumerate(row_cells) for _ in range(widths.get(j, 1))]
        else:
            row_cells = list_cells.spread_cells(row_cells, widths, k + 1)
            row_cells = [cell.replace(".", table.decimal) for cell in row_cells]
        lines.append(write(row_cells))
    return lines


def said_above(lines: list[str]) -> dict[str, Any]:
    """What comments above a table say of the whole recording: "# bench: pendulum mass=0.5kg length=0.1m",
    "# command: step size=1rad", "# set: drive.supply=7.4"."""
    said: dict[str, Any] = {}
    for line in filter(is_comment, lines):
        key, colon, text = line.strip().lstrip("#%/! ").partition(":")
        key, text = key.strip().lower(), text.strip()
        if not (colon and text):
            continue
        if key == "bench":
            said["bench"] = bench_of(text)
        elif key == "command":
            said["command"] = read_command(text)
        elif key == "set":
            said["settings"] = said.get("settings", {}) | _settings(text)
    return said


def _settings(text: str) -> dict[str, float]:
    try:
        rows = (words.split("=") for words in text.replace(",", " ").split())
        return {path: float(value) for path, value in rows}
    except ValueError:
        wanted = "expected PATH=NUMBER in SI, such as drive.proportional=16"
        raise ReadError(f"the comment 'set: {text}' cannot be understood; {wanted}") from None


class _Blocks:
    """The rows of a table, block by block as they are read."""

    def __init__(
        self,
        path: Path,
        encoding: str,
        table: TableLayout,
        wanted: set[str],
        report: Report,
        lines: list[str] | None = None,
    ):
        self.path, self.encoding, self.table, self.report = path, encoding, table, report
        self.lines = lines
        """In place of the file's own."""
        self.columns = [j for j in range(table.width) if table.kinds[j] != "text"]
        self.plain = all(table.kinds[j] == "number" for j in self.columns)
        self.kept: dict[int, list[np.ndarray]] = {j: [] for j in self.columns if table.header[j] in wanted}
        self.low, self.high = np.full(len(self.columns), math.inf), np.full(len(self.columns), -math.inf)
        self.n = 0
        self.skipped: list[int] = []
        """Rows before which a line without numbers was skipped, in order."""
        self.findings: list[Finding] = []

    def run(self) -> None:
        if self.lines is not None:
            rows = [f"{line}\n" for line in self.lines[self.table.first :]]
            self._take(self._quick(rows), rows, self.table.first)
            return
        size = max(1, self.path.stat().st_size)
        with (
            self.path.open("rb") as raw,
            io.TextIOWrapper(raw, encoding=self.encoding, errors="replace") as file,
        ):
            line = sum(1 for _ in itertools.islice(short_lines(file), self.table.first))
            lines = short_lines(file, line)
            while block := list(itertools.islice(lines, BLOCK)):
                self._take(self._quick(block), block, line)
                line += len(block)
                self.report(min(1.0, raw.tell() / size))

    def _take(self, values: np.ndarray | None, block: list[str], line: int) -> None:
        if values is None:
            values = np.array(list(self._careful(block, line)), float).reshape(-1, len(self.columns))
        self.n += len(values)
        check_table(self.n, 0)
        with np.errstate(invalid="ignore"):
            finite = np.isfinite(values)
            low, high = np.where(finite, values, math.inf), np.where(finite, values, -math.inf)
            self.low = np.minimum(self.low, low.min(axis=0, initial=math.inf))
            self.high = np.maximum(self.high, high.max(axis=0, initial=-math.inf))
        for k, j in enumerate(self.columns):
            if j in self.kept:
                self.kept[j].append(values[:, k].copy())

    def _quick(self, block: list[str]) -> np.ndarray | None:
        """A block at once, if every line is a full row of plain numbers; None otherwise."""
        separator, width = self.table.separator, self.table.width
        if not self.plain or any('"' in line for line in block):
            return None
        if separator is None:
            if any(len(line.split()) != width for line in block):
                return None
        elif any(line.count(separator) != width - 1 for line in block) or width == 1:
            return None
        if self.table.decimal == ",":
            if any("." in line for line in block):
                return None
            block = [line.replace(",", ".") for line in block]
        try:
            return np.loadtxt(block, delimiter=separator, usecols=self.columns, comments=None, ndmin=2)
        except ValueError:
            return None

    def _careful(self, block: list[str], line: int) -> Iterator[list[float]]:
        """Line by line, saying where something is wrong."""
        table = self.table
        n = self.n
        for k, text in enumerate(block, start=line):
            if not text.strip() or is_comment(text):
                self.skipped.append(n)
                continue
            row = _trim_row(cells(text, table.separator), table.width)
            if len(row) != table.width:
                if not text.endswith("\n") and len(row) < table.width:
                    share = f"{len(row)} of {table.width} cells"
                    cut = f"line {k + 1}, the last, is cut off ({share}) and left out"
                    remedy = "nothing, unless the end of the recording matters"
                    self.findings.append(finding("cut_off", cut, remedy))
                    return
                above = f"line {table.first + 1}"
                if table.header_line is not None:
                    above = f"line {table.header_line + 1}, the header"
                cells_there = f"line {k + 1} has {len(row)} cells, but {above}, has {table.width}"
                raise ReadError(f"{cells_there}: {text.strip()[:60]!r}")
            yield [self._number(row[j], k + 1, j) for j in self.columns]
            n += 1

    def _number(self, cell: str, line: int, column: int) -> float:
        value = number(cell, self.table.decimal)
        if value is None:
            value = BOOLEANS.get(cell.lower())
        if value is None:
            place = f"line {line}, column {self.table.header[column]!r}"
            raise ReadError(f"{place}: {cell[:40]!r} is not a number")
        return value

    def where(self, row: int) -> str:
        return f"line {self.table.first + 1 + row + bisect.bisect_right(self.skipped, row)}"

    def channels(self) -> Iterator[Channel]:
        """Columns in the file's order; the blocks of a column are joined and let go one column at a time."""
        for k, j in enumerate(self.columns):
            values = None
            if j in self.kept:
                blocks = self.kept.pop(j)
                values = np.concatenate(blocks) if blocks else np.empty(0)
            low, high = float(self.low[k]), float(self.high[k])
            if low > high:  # no number at all
                low = high = math.nan
            name, unit = self.table.header[j], self.table.units[j]
            yield Channel(name=name, unit=unit, values=values, n=self.n, low=low, high=high)
