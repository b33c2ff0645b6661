"""Files written whole or not at all: under a name of our own beside their place, then renamed. And the
shapes of what was read from JSON, YAML or TOML."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .errors import BackemfError


def may_write(path: Path | str, *, force: bool = False) -> Path:
    """Refuse, before any work is done, a place that cannot be written or that holds something
    of the user's."""
    path = Path(path)
    if path.is_dir():
        raise BackemfError(f"{str(path)!r} is a folder; expected the name of a file to write")
    if path.exists() and not stat.S_ISREG(
        path.stat().st_mode
    ):  # renaming over a device would put an ordinary file in its place
        raise BackemfError(f"{path} is no ordinary file; give another name")
    if path.exists() and not force:
        raise BackemfError(
            f"{path} exists; give another name, or --force to overwrite it (in Python: force=True)"
        )
    if not path.parent.is_dir():
        raise BackemfError(f"there is no folder {str(path.parent)!r}; make it first, or give another name")
    return path


@contextlib.contextmanager
def replacing(path: Path | str, *, force: bool = False, suffix: str = "") -> Iterator[Path]:
    """A file to fill that takes its place once all went well, and leaves nothing behind otherwise. A link
    stays a link: the file it names is the one that is replaced.

    Args:
        path: where it goes.
        force: replace an existing one.
        suffix: of the file while it is filled, for programs that tell the format by it.

    Returns:
        The file to fill, beside its place.

    Raises:
        BackemfError: it exists, or the place cannot be written.
    """
    place = Path(os.path.realpath(may_write(path, force=force)))
    temporary = beside(place, suffix)
    try:
        temporary.touch(exist_ok=False)  # not mkstemp, whose files only their owner may read
        yield temporary
        if place.exists():
            with contextlib.suppress(OSError):
                temporary.chmod(stat.S_IMODE(place.stat().st_mode))
        os.replace(temporary, place)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def beside(place: Path, suffix: str = "") -> Path:
    """A temporary name in the same folder: hidden, random so that no other file has it, and with .part in it
    so that what a crash leaves behind is recognised; short, however long the name of the place is."""
    return place.with_name(f".{place.name[:40]}.{secrets.token_hex(4)}.part{suffix}")


def write_all(places: Mapping[Path, str | bytes], *, force: bool = False) -> list[Path]:
    """Write every file, or none: only once all are complete does the first take its place;
    existing ones are kept unless `force`."""
    with contextlib.ExitStack() as waiting:
        for place, text in places.items():
            temporary = waiting.enter_context(replacing(place, force=force))
            temporary.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    return list(places)


def table_in(value: object) -> dict[str, Any]:
    """What an object of a file has by key; nothing where it is something else."""
    return value if isinstance(value, dict) else {}


def list_in(value: object) -> list[Any]:
    """The elements of a list of a file; none where it is something else."""
    return value if isinstance(value, list) else []
