"""One file a format. A reader says whether it can read a file,
and hands over its recordings as they were written."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from . import delimited, json_file, lerobot, mat, mcap, parquet, sysid_json, wpilog, yaml_file
from .recording import Keep, ReadError, Recording, Report

HEAD = 4096


class Reader(Protocol):
    """What a reader's file has."""

    def can_read(self, path: Path, head: bytes) -> bool: ...

    def entries(self, path: Path, keep: Keep = ..., report: Report = ...) -> list[Recording]: ...


READERS: tuple[Reader, ...] = (
    lerobot,
    parquet,
    mcap,
    wpilog,
    mat,
    yaml_file,
    sysid_json,
    json_file,
    delimited,
)
"""Asked in this order: what begins with its own mark first, text last."""
SUFFIXES = (*delimited.SUFFIXES, ".json", ".yaml", ".yml", ".mat", ".parquet", ".mcap", ".wpilog")
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
    raise ReadError(
        f"not a recording of a known format (it begins with {head[:8]!r}); expected JSON, YAML, CSV or TSV,"
        " MAT, Parquet, LeRobot, MCAP or WPILOG"
    )
