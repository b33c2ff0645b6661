"""The shipped catalogue of parts: names, sheets, and identified actuators."""

from __future__ import annotations

import functools
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from ...errors import UnknownName
from ...model.actuator import Actuator
from .datasheet import Datasheet
from .toml import DatasheetError


@functools.lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """Names of every part in the catalogue."""
    files = (f.name for f in _folder().iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def _folder() -> Traversable:
    return resources.files("backemf") / "data" / "sheets" / "catalog"


def sheet(name: str | Path) -> Datasheet:
    """A part of the catalogue by name, or a TOML file by path."""
    path = Path(name)
    if path.suffix == ".toml" or path.is_file():
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise DatasheetError(f"there is no file {str(name)!r}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise DatasheetError(f"{name}: cannot be read as text: {error}") from None
        return Datasheet.parse(text, str(name))
    return _shipped(str(name).lower())


@functools.lru_cache(maxsize=64)
def _shipped(name: str) -> Datasheet:
    if name not in names():
        raise UnknownName("part", name, names())
    text = (_folder() / f"{name}.toml").read_text(encoding="utf-8")
    return Datasheet.parse(text, f"{name}.toml")


def identified(name: str) -> Actuator:
    """An actuator from identified parameters: "mx-106/m6"."""
    from .suggest import from_identified

    part, _, label = name.partition("/")
    owner = sheet(part)
    if label not in owner.identified:
        raise UnknownName(f"identified set of {part}", label, owner.identified)
    return from_identified(owner, owner.identified[label])
