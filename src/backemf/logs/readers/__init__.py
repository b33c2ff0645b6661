"""One file a format. A reader says whether it can read a file,
and hands over its recordings as they were written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from ...bounds import check_file
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

    def can_read(self, path: Path, head: bytes) -> bool:
        """Whether a file that begins so is of this format."""
        ...

    def entries(self, path: Path, keep: Keep = ..., report: Report = ...) -> list[Recording]:
        """The recordings of a file.

        Args:
            path: the file, or a dataset's folder.
            keep: says which channels' values are wanted.
            report: told the fraction that is read.

        Returns:
            Each recording as it was written.

        Raises:
            ReadError: it cannot be read: where and why.
        """
        ...


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
        "recorded": "backemf.kits.recorder.reader",
        "yaml": "backemf.logs.readers.yaml_file",
        "sysid-json": "backemf.kits.frc.sysid_json",
        "json": "backemf.logs.readers.json_file",
        "delimited": "backemf.logs.readers.delimited_text",
    },
    group="backemf.readers",
)
"""Asked in this order; those of other packages where none of these reads a file."""


def suffixes() -> tuple[str, ...]:
    """What counts as a recording when a whole folder is read."""
    return tuple(dict.fromkeys(s for reader in reversed([*READERS.values()]) for s in reader.SUFFIXES))


def reader_of(path: Path) -> Reader:
    """The reader for a file or a dataset's folder, by its first bytes and its suffix.

    Raises:
        ReadError: nobody reads it, or it is empty.
        BackemfError: it is no regular file, or too large.
    """
    head = b""
    if check_file(path).is_file():
        with path.open("rb") as file:
            head = file.read(HEAD)
        if not head:
            raise ReadError("the file is empty")
    for reader in _candidates(path):
        if reader.can_read(path, head):
            return reader
    named = (f"{r.FORMAT} ({', '.join(r.SUFFIXES)})" if r.SUFFIXES else r.FORMAT for r in READERS.values())
    expected = ", ".join(reversed(list(named)))
    begins = f"it begins with {head[:8]!r}"
    raise ReadError(f"not a recording of a known format ({begins}); expected one of {expected}")


def _candidates(path: Path) -> Iterator[Reader]:
    """Readers in the order in which a file is shown to them: ours, unless its ending is another package's."""
    own = [*READERS.own().values()]
    ours = path.name.endswith(tuple(suffix for reader in own for suffix in reader.SUFFIXES))
    if ours:
        yield from own
    others = [READERS[name] for name in READERS.other_names]
    theirs = [reader for reader in others if path.name.endswith(tuple(reader.SUFFIXES))]
    yield from theirs
    if not ours:
        yield from own
    yield from (reader for reader in others if reader not in theirs)
