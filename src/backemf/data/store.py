"""Nouns to versioned JSON and back: strict on keys, written whole or not at all."""

from __future__ import annotations

import dataclasses
import json
import typing
from pathlib import Path
from typing import Any

from ..errors import BackemfError, UnknownName
from ..files import write_all
from ..model.actuator import Actuator
from ..model.bench import BENCHES
from ..model.cogging import Cogging
from ..model.drive import DRIVES
from ..model.friction import FRICTIONS
from ..model.gearbox import Gearbox
from ..model.motor import Limits, Motor
from ..model.thermal import Thermal, TwoNodeThermal

VERSION = 1
PARTS: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        Actuator,
        Motor,
        Limits,
        Thermal,
        TwoNodeThermal,
        Cogging,
        Gearbox,
        *FRICTIONS.values(),
        *DRIVES.values(),
        *BENCHES.values(),
    )
}


class StoreError(BackemfError, ValueError):
    """A stored file that cannot be read back."""


def dump(owner: Any) -> dict[str, Any]:
    """A part as plain data; absent effects are left out."""
    fields: dict[str, Any] = {"part": type(owner).__name__}
    for f in dataclasses.fields(owner):
        value = getattr(owner, f.name)
        if dataclasses.is_dataclass(value):
            fields[f.name] = dump(value)
        elif value is not None:
            fields[f.name] = value
    return fields


def load(fields: Any, where: str = "the file") -> Any:
    """The part that `dump` wrote; unknown parts and fields are errors with the nearest name."""
    if not isinstance(fields, dict) or "part" not in fields:
        raise StoreError(f"{where}: expected an object with the key 'part', found {type(fields).__name__}")
    if not isinstance(fields["part"], str) or fields["part"] not in PARTS:
        raise StoreError(f"{where}: {UnknownName('part', fields['part'], PARTS)}")
    given = {
        k: load(v, f"{where}, {k}") if isinstance(v, dict) else v for k, v in fields.items() if k != "part"
    }
    try:
        made = PARTS[fields["part"]](**given)
    except BackemfError as error:
        raise StoreError(f"{where}: {error}") from None
    kinds = typing.get_type_hints(type(made))
    for f in dataclasses.fields(
        made
    ):  # a part by itself trusts what is no plain number: an engine may be at work
        value, kind = getattr(made, f.name), float | None if "unit" in f.metadata else kinds[f.name]
        if not isinstance(value, kind):
            raise StoreError(
                f"{where}: {f.name} is {value!r:.40}; expected"
                f" {f.metadata.get('unit') or getattr(kind, '__name__', 'a part of its own kind')}"
            )
    return made


def write(owner: Any, path: Path | str, *, force: bool = False) -> Path:
    """Write a part as JSON; an existing file is kept unless `force`."""
    return write_json({"backemf": VERSION, **dump(owner)}, path, force=force)


def write_json(content: dict[str, Any], path: Path | str, *, force: bool = False) -> Path:
    """Write JSON whole or not at all; an existing file is kept unless `force`."""
    try:
        text = json.dumps(content, indent=1, allow_nan=False)
    except ValueError:
        raise StoreError(f"{path} is not written: a number in it is not finite") from None
    return write_all({Path(path): text + "\n"}, force=force)[0]


def read_json(path: Path | str) -> dict[str, Any]:
    """A stored file of a version this release knows."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreError(f"there is no file {str(path)!r}") from None
    except (
        OSError,
        ValueError,
        RecursionError,
    ) as error:  # ValueError: not JSON, not UTF-8, or an integer without end
        raise StoreError(f"{path}: not a JSON file that can be read: {error}") from None
    if not isinstance(content, dict) or "backemf" not in content:
        raise StoreError(f"{path}: not written by backemf: the key 'backemf' with a version is missing")
    if content["backemf"] != VERSION:
        raise StoreError(f"{path}: version {content['backemf']!r}; this release reads version {VERSION}")
    return {k: v for k, v in content.items() if k != "backemf"}


def actuator(source: Path | str) -> Actuator:
    """An actuator from a stored JSON file, a part of the catalogue, a datasheet in TOML,
    or an identified set "part/set"."""
    from .sheets import parts

    text = str(source)
    if text.endswith(".json"):
        found = load(read_json(source), text)
        if not isinstance(found, Actuator):
            raise StoreError(f"{text} holds a {type(found).__name__}, not an Actuator")
        return found
    part, slash, _ = text.partition("/")
    if slash and part.lower() in parts.names():
        return parts.identified(text.lower())
    return parts.sheet(source).actuator()
