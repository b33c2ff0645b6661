"""Nouns in files: versioned JSON, strict on keys, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from .bounds import json_of
from .codec import Noun as Noun, StoreError as StoreError, load as load, plain as plain
from .files import write_all

VERSION = 2
_T = TypeVar("_T")


def write(owner: Any, path: Path | str, *, force: bool = False) -> Path:
    """Store a part or a noun as JSON; an existing file is kept unless `force`.

    Args:
        owner: the part or noun.
        path: of the file.
        force: overwrite an existing one.

    Returns:
        The file.

    Raises:
        BackemfError: it exists, or the place cannot be written.
    """
    return write_json(content(owner), path, force=force)


def content(owner: Any) -> dict[str, Any]:
    """A part or a noun as it is stored."""
    return {"backemf": VERSION, **plain(owner)}


def read(path: Path | str, kind: type[_T]) -> _T:
    """The noun that `write` stored."""
    return load(read_json(path), str(path), kind)


def write_json(content: dict[str, Any], path: Path | str, *, force: bool = False) -> Path:
    """Write JSON whole or not at all; an existing file is kept unless `force`.

    Args:
        content: plain data.
        path: of the file.
        force: overwrite an existing one.

    Returns:
        The file.

    Raises:
        StoreError: a number is not finite.
        BackemfError: it exists, or the place cannot be written.
    """
    try:
        text = json.dumps(content, indent=1, allow_nan=False)
    except ValueError:
        raise StoreError(f"{path} is not written: a number in it is not finite") from None
    return write_all({Path(path): text + "\n"}, force=force)[0]


def read_json(path: Path | str) -> dict[str, Any]:
    """A stored file of a version this release knows."""
    try:
        content = json_of(path)
    except FileNotFoundError:
        raise StoreError(f"there is no file {str(path)!r}") from None
    except (OSError, ValueError, RecursionError) as error:
        # ValueError: not JSON, not UTF-8, or an integer without end
        raise StoreError(f"{path}: not a JSON file that can be read: {error}") from None
    if not isinstance(content, dict) or "backemf" not in content:
        raise StoreError(f"{path}: not written by backemf: the key 'backemf' with a version is missing")
    if content["backemf"] != VERSION:
        raise StoreError(f"{path}: version {content['backemf']!r}; this release reads version {VERSION}")
    return {k: v for k, v in content.items() if k != "backemf"}
