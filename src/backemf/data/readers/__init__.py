"""One file a format. A reader says whether it can read a file,
and hands over its recordings as they were written."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ..logs.recording import Keep, ReadError, Recording, Report
from . import delimited, json_file, lerobot, mat, npz, parquet, recorded, sysid_json, wpilog, yaml_file
from .ros import db3, mcap

HEAD = 4096


class Reader(Protocol):
    """What a reader's file has."""

    @property
    def FORMAT(self) -> str:
        """The format's name, as people know it."""
        ...

    @property
    def SUFFIXES(self) -> tuple[str, ...]:
        """What its files end in: those are recordings when a whole folder is read."""
        ...

    def can_read(self, path: Path, head: bytes) -> bool: ...

    def entries(self, path: Path, keep: Keep = ..., report: Report = ...) -> list[Recording]: ...


READERS: tuple[Reader, ...] = (
    *(lerobot, parquet, mcap, db3, wpilog, mat, npz),  # what begins with a mark of its own
    *(recorded, yaml_file, sysid_json, json_file, delimited),  # text
)
"""Asked in this order."""
SUFFIXES = tuple(dict.fromkeys(suffix for reader in reversed(READERS) for suffix in reader.SUFFIXES))
"""What counts as a recording when a whole folder is read."""


def reader_of(path: Path) -> Reader:
    """The reader for a file or a dataset's folder, by its first bytes and its suffix."""
    head = b""
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(HEAD)
        if not head:
            raise ReadError("the file is empty")
    for reader in READERS:
        if reader.can_read(path, head):
            return reader
    named = (f"{r.FORMAT} ({', '.join(r.SUFFIXES)})" if r.SUFFIXES else r.FORMAT for r in READERS)
    known = ", ".join(reversed(list(named)))
    begins = f"it begins with {head[:8]!r}"
    raise ReadError(f"not a recording of a known format ({begins}); expected one of {known}")
