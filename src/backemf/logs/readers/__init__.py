"""One file a format. A reader says whether it can read a file,
and hands over its recordings as they were written."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ...registry import Registry
from ..recording import Keep, ReadError, Recording, Report

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


READERS: Registry[Reader] = Registry(
    "reader",
    {
        # what begins with a mark of its own
        "lerobot": "backemf.logs.readers.lerobot",
        "parquet": "backemf.logs.readers.parquet",
        "mcap": "backemf.logs.readers.ros_bag:MCAP",
        "db3": "backemf.logs.readers.ros_bag:SQLITE",
        "wpilog": "backemf.kits.frc.wpilog",
        "mat": "backemf.logs.readers.mat",
        "npz": "backemf.logs.readers.npz",
        # text
        "recorded": "backemf.kits.recorder.recorded",
        "yaml": "backemf.logs.readers.yaml_file",
        "sysid-json": "backemf.kits.frc.sysid_json",
        "json": "backemf.logs.readers.json_file",
        "delimited": "backemf.logs.readers.delimited",
    },
    group="backemf.readers",
)
"""Asked in this order; those of other packages first where the file's ending is theirs, or else last."""


def suffixes() -> tuple[str, ...]:
    """What counts as a recording when a whole folder is read."""
    return tuple(dict.fromkeys(s for name in reversed(READERS.all_names) for s in READERS[name].SUFFIXES))


def _in_order(path: Path) -> list[Reader]:
    """Our readers; those of other packages around them where none of ours has the file's ending."""
    readers = [READERS[name] for name in READERS.own_names]
    if any(path.name.endswith(suffix) for reader in readers for suffix in reader.SUFFIXES):
        return readers
    others = [READERS[name] for name in READERS.other_names]
    mine = [r for r in others if path.name.endswith(tuple(r.SUFFIXES))]
    return [*mine, *readers, *(r for r in others if r not in mine)]


def reader_of(path: Path) -> Reader:
    """The reader for a file or a dataset's folder, by its first bytes and its suffix.

    Raises:
        ReadError: nobody reads it, or it is empty.
    """
    head = b""
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(HEAD)
        if not head:
            raise ReadError("the file is empty")
    readers = _in_order(path)
    for reader in readers:
        if reader.can_read(path, head):
            return reader
    named = (f"{r.FORMAT} ({', '.join(r.SUFFIXES)})" if r.SUFFIXES else r.FORMAT for r in readers)
    known = ", ".join(reversed(list(named)))
    begins = f"it begins with {head[:8]!r}"
    raise ReadError(f"not a recording of a known format ({begins}); expected one of {known}")
