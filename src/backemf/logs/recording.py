"""What every reader hands over: the channels of a file as it wrote them,
and what the format itself knows about them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..bounds import SHORTER, check_channels, limits
from ..errors import BackemfError, TooLarge
from ..files import list_in, table_in
from ..findings import Finding
from ..physics.bench import Bench
from ..signal import Command

MUST_TELL = "?"
"""The unit of a channel whose format leaves it open between units that are all in use: it is never assumed.
"""


LONGEST = 3000
"""Letters of an error; a file may have a million names, or one of a million letters."""


class ReadError(BackemfError, ValueError):
    """A recording that cannot be read: which file, where in it, and why."""

    def __init__(self, text: str):
        """Args:
        text: the sentence, whose middle goes where it is too long.
        """
        half = LONGEST // 2
        super().__init__(text if len(text) <= LONGEST else f"{text[:half]} ... {text[-half:]}")


@dataclass(frozen=True, kw_only=True)
class Channel:
    """One column, topic field or variable, in the file's own unit."""

    name: str
    unit: str = ""
    """As the file spells it; empty: not stated. `MUST_TELL`: not stated, and not to be assumed."""
    signal: str = ""
    """What the format itself says this is; "none": nothing that can be used untold; empty:
    only its name can tell."""
    values: np.ndarray | None = None
    """Absent where nobody asked for it: a large file keeps only what is used."""
    time: np.ndarray | None = None
    """Its own clock [s]; absent: the recording's time channel."""
    also: tuple[str, ...] = ()
    """Other names, which no other recording of the file has: those of a joint."""
    like: str = ""
    """The channel whose unit, factor and offset are its own, where it has none and is told none."""
    ask: str = ""
    """What to say besides, where its unit must be told; or why nothing can be used untold."""
    likely: str = ""
    """What its numbers suggest of its unit, where that must be told."""
    written: str = ""
    """What the file calls it, where it has another name here."""
    offers: str = ""
    """The signal that it would be, if it were known whose it is."""
    n: int = 0
    low: float = math.nan
    high: float = math.nan

    @staticmethod
    def of(name: str, values: Any, **more: Any) -> Channel:
        """A channel with its count and range.

        Args:
            name: as the file has it.
            values: in the file's unit.
            more: other fields of the channel.

        Returns:
            The channel.
        """
        values = np.asarray(values, float)
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (math.nan, math.nan)
        return Channel(name=name, values=values, n=len(values), low=low, high=high, **more)


@dataclass(frozen=True, kw_only=True)
class Recording:
    """The channels of one recording, before anything is mapped or converted."""

    name: str
    source: str
    format: str
    channels: tuple[Channel, ...]
    bench: Bench | None = None
    settings: Mapping[str, float] = field(default_factory=dict)
    command: Command | None = None
    """What was asked as a function of time, where the file names it."""
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    where: Callable[[int], str] = "row {}".format
    """A row's place in the file, in words: "line 17"."""
    hint: str = ""
    """What to say when nothing is recognised, where the format has something to add."""
    joint: str = ""
    """Whose it is, where it is that of one joint: the joint's name as the file has it, which may be the last
    part of the recording's."""
    mechanism: str = ""
    """What was tested, where the file tells the tests of several mechanisms apart."""
    optional: bool = False
    """Whether the others of its file are read without it, where it cannot be."""
    needs: Mapping[str, str] = field(default_factory=dict)
    """Signals without which this format makes no sense ("command":
    any target or voltage), each with what to say when it is not there."""

    @staticmethod
    def of(path: Path, format: str, channels: Iterable[Channel], name: str = "", **more: Any) -> Recording:
        """A recording from a file.

        Args:
            path: the file.
            format: its format, as people know it.
            channels: as the file has them.
            name: of the recording; empty: the file's, without its ending.
            more: other fields of the recording.

        Returns:
            The recording.
        """
        name = name or path.stem
        return Recording(name=name, source=str(path), format=format, channels=tuple(channels), **more)


WIDEST = 64
"""A matrix, struct array or cell array with more columns or elements than this is not taken apart."""


def _columns_of(name: str, array: np.ndarray) -> list[Channel]:
    """A vector, or the columns of a matrix along its longer side; nothing where it is too wide."""
    if array.ndim == 1 and len(array):
        return [Channel.of(name, array)]
    if array.ndim != 2 or not 0 < min(array.shape) <= WIDEST:
        return []
    columns = array.T if array.shape[0] >= array.shape[1] else array
    names = [f"{name}.{j}" for j in range(len(columns))] if len(columns) > 1 else [name]
    return [Channel.of(each, column) for each, column in zip(names, columns, strict=True)]


def of_arrays(path: Path, format: str, named: Iterable[tuple[str, np.ndarray | None]]) -> Recording:
    """A recording from arrays: vectors, and the columns of matrices, along their longer side.

    Args:
        path: the file.
        format: its format, as people know it.
        named: arrays by name, None for what is none; these and single numbers are noted.

    Returns:
        The recording.

    Raises:
        ReadError: nothing in it is a vector of numbers.
    """
    channels, single, left = [], [], []
    for name, value in named:
        if value is None or value.ndim > 2:
            left.append(name)
        elif value.size == 1:
            single.append(f"{name} = {float(value.reshape(-1)[0]):g}")
        elif columns := _columns_of(name, value):
            channels += columns
        else:
            left.append(name)
        check_channels(len(channels) + len(single) + len(left))
    if not channels:
        raise ReadError(f"no vectors of numbers; found: {', '.join([*left, *single]) or 'nothing'}")
    notes = [f"single values, not signals: {', '.join(single)}"] if single else []
    notes += [f"not vectors of numbers, not used: {', '.join(left)}"] if left else []
    return Recording.of(path, format, channels, notes=tuple(notes), where="sample {}".format)


Keep = Callable[[Sequence[Channel]], Collection[str]]
"""Given the channels of a file without their values, the names of those whose values are wanted."""
Report = Callable[[float], None]
"""Told the fraction of the file that is read."""


def everything(channels: Sequence[Channel]) -> Collection[str]:
    """Keep every channel."""
    return [c.name for c in channels]


def silent(fraction: float) -> None:
    """Tell nobody how far a file is read."""


def encoding_of(head: bytes) -> str:
    """The encoding of a text file from its first bytes: a byte order mark, then what decodes;
    Latin-1 decodes anything."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if head.startswith(mark):
            return encoding
    for cut in range(4):  # the last character may be cut in the middle
        try:
            head[: len(head) - cut].decode("utf-8")
            return "utf-8"
        except UnicodeDecodeError:
            continue
    return "latin-1"


def check_table(rows: int, columns: int) -> None:
    """Refuse a table with more rows, columns or numbers than a recording may have."""
    check_channels(columns)
    most = limits()
    if rows > most.rows:
        raise TooLarge(f"it has more than {most.rows} rows; {SHORTER}")
    if 8 * rows * columns > most.unpacked:
        size = f"it has more than {rows} rows of {columns} numbers, which take over {most.unpacked >> 20} MB"
        raise TooLarge(f"{size}; {SHORTER}, or leave columns out")


EMPTY = 10_000
"""Entries without a number after which nobody looks further."""


class Columns:
    """Rows that arrive one after another, kept as columns of floats;
    a key that a row lacks is NaN there, and counted."""

    def __init__(self) -> None:
        self.columns: dict[str, array[float]] = {}
        self.text: dict[str, str] = {}
        """Columns that hold text, with their first value."""
        self.missing: dict[str, tuple[int, int]] = {}
        """How many rows lack a key, and the first that does."""
        self.n = 0

    def add(self, row: Any) -> None:
        """The next row: an object, a list, or one value; values within values have names with dots."""
        self._put("", row, -1)
        self.n += 1
        check_table(self.n, len(self.columns))
        if self.n == EMPTY and not self.columns:
            raise ReadError(f"the first {EMPTY} entries hold no number")

    def _put(self, name: str, value: Any, depth: int) -> None:
        if isinstance(value, dict | list):
            items = table_in(value).items() or enumerate(list_in(value))
            for key, item in items if depth < 2 else ():
                self._put(f"{name}.{key}" if name else str(key), item, depth + 1)
            return
        if name in self.text:
            return
        column = self.columns.get(name)
        try:
            number = math.nan if value is None else float(value)
        except (TypeError, ValueError, OverflowError):
            if column is not None:
                raise ReadError(f"entry {self.n}, {name!r} is {value!r:.40}; expected a number") from None
            self.text[name] = str(value)
            return
        if column is None:
            column = self.columns[name] = array("d")
        self._pad(name, column)
        if len(column) == self.n:  # a key given twice in one row: the first counts
            column.append(number)

    def _pad(self, name: str, column: array[float]) -> None:
        lacking = self.n - len(column)
        if lacking > 0:
            count, first = self.missing.get(name, (0, len(column)))
            self.missing[name] = (count + lacking, first)
            column.extend([math.nan] * lacking)

    def finish(self) -> dict[str, np.ndarray]:
        """Columns by name, each as long as there are rows."""
        for name, column in self.columns.items():
            self._pad(name, column)
        return {
            name: np.frombuffer(column, float) if len(column) else np.empty(0)
            for name, column in self.columns.items()
        }
