"""CSV, TSV and other tables in text, read in blocks:
memory grows with the signals that are used, not with the text."""

from __future__ import annotations

import bisect
import io
import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...findings import Finding, finding
from ...signal import read as read_command
from ..benches import bench_of
from ..recording import Channel, Keep, ReadError, Recording, Report, encoding_of, everything, silent
from .delimited_layout import BOOLEANS, Layout, cells, is_comment, layout, number

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
    """The one recording in a table, with the values of the columns that `keep` asks for."""
    with path.open("rb") as file:
        head = file.read(SAMPLE)
    encoding = encoding_of(head)
    whole = len(head) < SAMPLE
    lines = head.decode(encoding, errors="replace").splitlines()
    table = layout(lines if whole or len(lines) < 2 else lines[:-1])
    titles = zip(table.header, table.units, table.kinds, strict=True)
    wanted = set(keep([Channel(name=n, unit=u) for n, u, kind in titles if kind != "text"]))
    blocks = _Blocks(path, encoding, table, wanted, report)
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

    def __init__(self, path: Path, encoding: str, table: Layout, wanted: set[str], report: Report):
        self.path, self.encoding, self.table, self.report = path, encoding, table, report
        self.columns = [j for j in range(table.width) if table.kinds[j] != "text"]
        self.plain = all(table.kinds[j] == "number" for j in self.columns)
        self.kept: dict[int, list[np.ndarray]] = {j: [] for j in self.columns if table.header[j] in wanted}
        self.low, self.high = np.full(len(self.columns), math.inf), np.full(len(self.columns), -math.inf)
        self.n = 0
        self.skipped: list[int] = []
        """Rows before which a line without numbers was skipped, in order."""
        self.findings: list[Finding] = []

    def run(self) -> None:
        size = max(1, self.path.stat().st_size)
        with (
            self.path.open("rb") as raw,
            io.TextIOWrapper(raw, encoding=self.encoding, errors="replace") as file,
        ):
            line = sum(1 for _ in itertools.islice(file, self.table.first))
            while block := list(itertools.islice(file, BLOCK)):
                self._take(self._quick(block), block, line)
                line += len(block)
                self.report(min(1.0, raw.tell() / size))

    def _take(self, values: np.ndarray | None, block: list[str], line: int) -> None:
        if values is None:
            values = np.array(list(self._careful(block, line)), float).reshape(-1, len(self.columns))
        self.n += len(values)
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
            row = cells(text, table.separator)
            if len(row) == table.width + 1 and row[-1] == "":
                row.pop()
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
