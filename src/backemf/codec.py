"""Nouns as plain data and back: one codec for all of them, driven by their own fields and types.

It is written by hand because parts check themselves and word their own errors, which a file's reader wants to
see with the place they occurred at; arrays are NumPy's; and what is left is shorter than the schemas that
msgspec or pydantic would need beside the dataclasses.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from .errors import BackemfError, UnknownName
from .findings import Finding
from .physics.actuator import Actuator
from .physics.bench import BENCHES
from .physics.drive import DRIVES
from .physics.friction import FRICTIONS
from .physics.gearbox import Gearbox
from .physics.motor import Cogging, Limits, Motor
from .physics.quantity import Part
from .physics.thermal import Thermal, TwoNodeThermal

_TABLES = (FRICTIONS, DRIVES, BENCHES)
NOUNS: dict[str, type] = {}
"""Every noun by name; filled as their rooms are loaded."""


class StoreError(BackemfError, ValueError):
    """A stored file that cannot be read back."""


class Noun:
    """What can be stored: a frozen dataclass of parts, numbers, texts, arrays and other nouns."""

    also_shown: ClassVar[tuple[str, ...]] = ()
    """Properties that are written beside the fields, for people and programs that read the file."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        NOUNS[cls.__name__] = cls

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what is stored, and the keys of `--json`."""
        return plain(self)

    def check_read(self) -> None:
        """Refuse what was read but cannot be: raises with the reason."""


def plain(x: Any, *, inside: bool = False) -> Any:
    """A value as JSON has it. Absent effects of a part are left out; what is not finite is null. A noun
    inside another is told by the field it stands in."""
    if isinstance(x, (Part, Noun)):
        kind = "part" if isinstance(x, Part) else "noun"
        names = [f.name for f in dataclasses.fields(x)]  # type: ignore[arg-type]  # both are dataclasses
        content = {n: plain(getattr(x, n), inside=True) for n in (*names, *getattr(x, "also_shown", ()))}
        if kind == "part":
            content = {name: value for name, value in content.items() if value is not None}
        return content if kind == "noun" and inside else {kind: type(x).__name__, **content}
    if isinstance(x, Finding):
        return x.to_dict()
    if isinstance(x, Mapping):
        return {k if isinstance(k, str) else ", ".join(k): plain(v, inside=inside) for k, v in x.items()}
    if isinstance(x, np.ndarray):
        return plain(x.tolist(), inside=inside)
    if isinstance(x, (list, tuple)):
        return [plain(v, inside=inside) for v in x]
    if isinstance(x, (float, np.floating)):
        return float(x) if math.isfinite(x) else None
    return int(x) if isinstance(x, np.integer) else x


def load(content: Any, where: str = "the file", kind: Any = None) -> Any:
    """The part or noun that `plain` wrote; unknown names are errors with the nearest one, and say where."""
    tags = ("noun",) if isinstance(kind, type) and issubclass(kind, Noun) else ("noun", "part")
    tag = next((key for key in tags if isinstance(content, dict) and key in content), None)
    if tag is None and not (isinstance(content, dict) and dataclasses.is_dataclass(kind)):
        keys = f"an object with the keys {', '.join(content)}" if isinstance(content, dict) else ""
        what = keys or {list: "a list", str: "a text"}.get(type(content), f"{content!r:.40}")
        raise StoreError(f"{where}: expected an object with the key 'part' or 'noun', got {what:.90}")
    cls: Any = kind
    if tag is not None:
        name, valid = str(content[tag]), part_classes() if tag == "part" else NOUNS
        if tag == "part" and name not in valid:
            valid = part_classes(others=True)
        if name not in valid:
            raise StoreError(f"{where}: {UnknownName(tag, content[tag], valid)}")
        cls = valid[name]
        if kind is not None and kind not in cls.__mro__:
            raise StoreError(f"{where} holds a {cls.__name__}; expected {_named(kind)}")
    hints, fields = _hints(cls), {f.name: f for f in dataclasses.fields(cls)}
    given = {k: v for k, v in content.items() if k not in (tag, *getattr(cls, "also_shown", ()))}
    for name in given:
        if name not in fields:
            raise StoreError(f"{where}: {UnknownName(f'field of {cls.__name__}', name, fields)}")
    for name, f in fields.items():
        required = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        if name not in given and required and not issubclass(cls, Part):  # a part says so in its own words
            raise StoreError(f"{where}: {cls.__name__} needs {name}")
    try:
        made = cls(**{k: _value(hints[k], v, f"{where}, {k}") for k, v in given.items()})
        if isinstance(made, Noun):
            made.check_read()
    except StoreError:
        raise
    except (BackemfError, TypeError, ValueError) as error:
        raise StoreError(f"{where}: {error}") from None
    return made


@functools.cache
def part_classes(*, others: bool = False) -> dict[str, type]:
    """Classes of parts by their names, as stored files name them; with `others` those that other packages
    registered too."""
    kinds = (Actuator, Motor, Limits, Thermal, TwoNodeThermal, Cogging, Gearbox)
    rows = [cls for table in _TABLES for cls in (table if others else table.own()).values()]
    return {cls.__name__: cls for cls in (*kinds, *rows)}


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _value(kind: Any, x: Any, where: str) -> Any:
    """A field's value from plain data, of the kind that its annotation says."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if x is None and types.NoneType in inside:
            return None
        return _value(next((k for k in inside if _fits(k, x)), inside[0]), x, where)
    if kind is Any:
        return x
    if dataclasses.is_dataclass(kind):
        return load(x, where, kind)
    origin = origin or kind
    if isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(x, dict):
        key, value = inside or (str, Any)
        split = typing.get_origin(key) is tuple or typing.get_origin(key) in (typing.Union, types.UnionType)
        return {tuple(k.split(", ")) if split else k: _value(value, v, f"{where}, {k}") for k, v in x.items()}
    if origin is np.ndarray and isinstance(x, list):
        try:
            return np.array(x, float)
        except (TypeError, ValueError):
            raise StoreError(f"{where}: expected an array of numbers") from None
    if origin in (tuple, list, Sequence) and isinstance(x, list):
        kinds = [inside[0]] * len(x) if len(inside) != len(x) or Ellipsis in inside else inside
        return tuple(_value(k, v, f"{where} {i}") for i, (k, v) in enumerate(zip(kinds, x, strict=True)))
    if origin is float and x is None:
        return math.nan
    if not _fits(kind, x):
        raise StoreError(f"{where} is {x!r:.40}; expected {_named(kind)}")
    return float(x) if origin is float else x


def _fits(kind: Any, x: Any) -> bool:
    """Whether plain data can become a value of some kind."""
    origin = typing.get_origin(kind) or kind
    if origin in (float, int):
        return not isinstance(x, bool) and isinstance(x, (int, float) if origin is float else int)
    if dataclasses.is_dataclass(origin) or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return isinstance(x, dict)
    if origin in (tuple, list, Sequence, np.ndarray):
        return isinstance(x, list)
    return isinstance(origin, type) and isinstance(x, origin)


def _named(kind: Any) -> str:
    words = {float: "a number", int: "a whole number", str: "a text", bool: "true or false"}
    if kind in words:
        return words[kind]
    origin = typing.get_origin(kind) or kind
    many = origin in (tuple, list, Sequence, np.ndarray)
    return "a list" if many else f"a {getattr(origin, '__name__', origin)}"
