"""What a file may cost who opens it: only regular files are read, and no kilobyte becomes a gigabyte."""

from __future__ import annotations

import contextlib
import json
import re
import stat
import tomllib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .errors import InvalidValue, TooLarge

SHORTER = "cut the recording into shorter ones"


@dataclass(frozen=True, kw_only=True)
class ReadLimits:
    """Bounds on one file, unless `reading` widens them."""

    file: int = 4 << 30
    """Bytes of a file that is read piece by piece."""
    whole: int = 128 << 20
    """Bytes of a binary file that is read at once."""
    text: int = 16 << 20
    """Bytes of a text that is parsed at once: objects take twenty times as much."""
    short: int = 1 << 20
    """The same of what people type: sheets, maps, configurations."""
    unpacked: int = 128 << 20
    """Bytes of all numbers that a file holds, once it is unpacked."""
    rows: int = 5_000_000
    """Of a recording."""
    channels: int = 4096
    """Of a file, the elements of vectors included."""
    line: int = 1 << 20
    """Letters of one line."""
    steps: int = 100_000_000
    """Of SQLite's machine, for one bag."""
    outside: bool = False
    """Whether a model may include files from outside its own folder."""


_LIMITS: ContextVar[ReadLimits] = ContextVar("limits", default=ReadLimits())  # noqa: B039  # it is frozen


def limits() -> ReadLimits:
    """The bounds that hold now."""
    return _LIMITS.get()


@contextlib.contextmanager
def reading(**other: Any) -> Iterator[None]:
    """Read within other bounds: `with bounds.reading(unpacked=2 << 30): be.read("long.npz")`.

    Args:
        other: fields of `ReadLimits`.

    Raises:
        InvalidValue: one of them is none.
    """
    try:
        token = _LIMITS.set(replace(limits(), **other))
    except TypeError:
        wanted = ", ".join(ReadLimits.__dataclass_fields__)
        raise InvalidValue(f"bounds are {', '.join(other)}; expected some of {wanted}") from None
    try:
        yield
    finally:
        _LIMITS.reset(token)


def outside(allowed: bool) -> contextlib.AbstractContextManager[None]:
    """While a verb runs: includes from anywhere, where they are allowed."""
    return reading(outside=True) if allowed else contextlib.nullcontext()


def check_file(path: Path | str, most: int | None = None, remedy: str = SHORTER) -> Path:
    """Refuse what is no regular file, or too large. What is not there, or a folder, is for whoever opens it.

    Args:
        path: of the file; a link counts as what it leads to.
        most: bytes; None: `ReadLimits.file`.
        remedy: what to do about one that is too large.

    Returns:
        The path.

    Raises:
        InvalidValue: it is a pipe, a device or a socket.
        TooLarge: it has more bytes.
    """
    path, most = Path(path), limits().file if most is None else most
    try:
        about = path.stat()
    except (OSError, ValueError):
        return path
    if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
        raise InvalidValue(f"{path.name} is no regular file; expected one: copy what it gives into a file")
    if stat.S_ISREG(about.st_mode) and about.st_size > most:
        raise TooLarge(
            f"{path.name} has {about.st_size >> 20} MB, and at most {most >> 20} are read; {remedy}"
        )
    return path


def bytes_of(path: Path | str, most: int | None = None, remedy: str = SHORTER) -> bytes:
    """The whole content of a regular file.

    Args:
        path: of the file.
        most: bytes; None: `ReadLimits.whole`.
        remedy: what to do about one that is too large.

    Returns:
        The content.
    """
    return check_file(path, limits().whole if most is None else most, remedy).read_bytes()


def text_of(path: Path | str, encoding: str = "utf-8", most: int | None = None) -> str:
    """The same of a text, whose lines end in \\n.

    Args:
        path: of the file.
        encoding: of the text.
        most: bytes; None: `ReadLimits.text`.

    Returns:
        The text.
    """
    content = bytes_of(path, limits().text if most is None else most, "expected a smaller file")
    return content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


def json_of(path: Path | str) -> Any:
    """The JSON in a file.

    Raises:
        BackemfError: it is no regular file, or too large.
        OSError: it cannot be opened.
        ValueError: it is no JSON.
        RecursionError: it is too deep.
    """
    return json.loads(text_of(path))


QUOTED = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|' + r"'''.*?'''|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'|#[^\n]*", re.DOTALL
)
"""Strings and comments of TOML."""
DOTS = 40
"""Names joined by dots in one key; Python's reader takes memory with the square of them."""


def toml(text: str, **more: Any) -> dict[str, Any]:
    """The content of a text in TOML.

    Args:
        text: of the file.
        more: as `tomllib.loads` takes it.

    Returns:
        Its tables.

    Raises:
        ValueError: it is no TOML, or has a key without end.
    """
    bare = QUOTED.sub("q", text)
    if max((part.count(".") for part in re.split(r"[,\n=]", bare)), default=0) > DOTS:
        raise tomllib.TOMLDecodeError(f"a key is of more than {DOTS} names; expected one or two")
    return tomllib.loads(text, **more)


def check_channels(n: int) -> None:
    """Refuse more channels than a file may have, before any is made.

    Args:
        n: channels that it has so far, or announces.

    Raises:
        TooLarge: there are more than `ReadLimits.channels`.
    """
    if n > limits().channels:
        raise TooLarge(f"it has more than {limits().channels} channels; leave columns out, or {SHORTER}")


class Unpacking:
    """How much may still be unpacked of one file."""

    def __init__(self, remedy: str = SHORTER):
        self.most = self.left = limits().unpacked
        self.rows_left = limits().rows
        self.remedy = remedy

    def take(self, n_bytes: int) -> None:
        """Count bytes before they are unpacked; an error where there are too many."""
        self.left -= n_bytes
        if self.left < 0:
            raise TooLarge(f"it unpacks to more than {self.most >> 20} MB; {self.remedy}")

    def rows(self, n: int) -> None:
        """The same of rows."""
        self.rows_left -= n
        if self.rows_left < 0:
            raise TooLarge(f"it has more than {limits().rows} rows; {self.remedy}")


def short_lines(file: Any, number: int = 0) -> Iterator[str]:
    """The lines of an open text, none of which is without end.

    Args:
        file: opened as text.
        number: of the line before the first.

    Yields:
        Each line.

    Raises:
        TooLarge: one is longer than `ReadLimits.line`.
    """
    most = limits().line
    while line := file.readline(most):
        number += 1
        if len(line) >= most:
            raise TooLarge(f"line {number} has more than {most} letters; expected a row of a recording")
        yield line


def inside(path: Path, folder: Path, by: str) -> Path:
    """A file that another one names, within a folder unless files outside are allowed.

    Args:
        path: as it was named.
        folder: in which it must lie, links followed.
        by: the file that names it.

    Returns:
        The path.

    Raises:
        InvalidValue: it lies outside.
    """
    try:
        real, home = path.resolve(), folder.resolve()
    except (OSError, RuntimeError, ValueError):
        raise InvalidValue(f"{by} includes {str(path)[-80:]!r}, which is no path") from None
    if not limits().outside and not real.is_relative_to(home):
        name = str(path.relative_to(folder) if path.is_relative_to(folder) else path)[:80]
        raise InvalidValue(
            f"{by} includes {name!r}, which is outside the model's folder; copy it there, or give"
            " --allow-outside (in Python: allow_outside=True) if you trust the model"
        )
    return path


def narrow(**other: Any) -> None:
    """Other bounds for all that this process reads from now on."""
    _LIMITS.set(replace(limits(), **other))
