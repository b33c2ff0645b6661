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
from .physics.quantity import Part, fields_of
from .physics.thermal import Thermal, TwoNodeThermal

_TABLES = (FRICTIONS, DRIVES, BENCHES)
_LISTS, _MAPPINGS = (tuple, list, Sequence), (dict, Mapping)
NOUNS: dict[str, type] = {}
"""Every noun by name; filled as their rooms are loaded."""


class StoreError(BackemfError, ValueError):
    """A stored file that cannot be read back."""


class Noun:
    """What can be stored: a frozen dataclass of parts, numbers, texts, arrays and other nouns."""

    also_shown: ClassVar[tuple[str, ...]] = ()
    """Properties that are written beside the fields, for people and programs that read the file."""

    stored_as: ClassVar[str]
    """What stored files call it: its class name, unless `class ...(Noun, stored_as=...)` says another."""

    def __init_subclass__(cls, stored_as: str = "", **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.stored_as = stored_as or cls.__name__
        NOUNS[cls.stored_as] = cls

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what is stored, and the keys of `--json`."""
        return plain(self)

    def check_read(self) -> None:
        """Refuse what was read but cannot be: raises with the reason."""


@functools.singledispatch
def plain(x: Any, *, inside: bool = False) -> Any:
    """A value as JSON has it. Absent effects of a part are left out; what is not finite is null. A noun
    inside another is told by the field it stands in."""
    return x


@plain.register
def _(x: Part, *, inside: bool = False) -> Any:
    content = _fields(x)
    return {"part": type(x).__name__, **{name: v for name, v in content.items() if v is not None}}


@plain.register
def _(x: Noun, *, inside: bool = False) -> Any:
    content = _fields(x, *x.also_shown)
    return content if inside else {"noun": x.stored_as, **content}


@plain.register
def _(x: Finding, *, inside: bool = False) -> Any:
    return x.to_dict()


@plain.register
def _(x: Mapping, *, inside: bool = False) -> Any:
    return {", ".join(k) if type(k) is tuple else k: plain(v, inside=inside) for k, v in x.items()}


@plain.register
def _(x: np.ndarray, *, inside: bool = False) -> Any:
    return plain(x.tolist(), inside=inside)


@plain.register
def _(x: list | tuple, *, inside: bool = False) -> Any:
    return [plain(v, inside=inside) for v in x]


@plain.register
def _(x: float | np.floating, *, inside: bool = False) -> Any:
    return float(x) if math.isfinite(x) else None


@plain.register
def _(x: np.integer, *, inside: bool = False) -> Any:
    return int(x)


def _fields(x: Any, *more: str) -> dict[str, Any]:
    """The fields of a part or a noun as JSON has them."""
    names = (*(f.name for f in fields_of(type(x))), *more)
    return {name: plain(getattr(x, name), inside=True) for name in names}


def load(content: Any, where: str = "the file", kind: Any = None) -> Any:
    """The part or noun that `plain` wrote.

    Args:
        content: plain data.
        where: the file and the place in it, for messages.
        kind: what is expected; anything that is stored if None.

    Returns:
        It, checked.

    Raises:
        StoreError: it is something else; unknown names come with the nearest one.
    """
    given = content if type(content) is dict else {}
    tag = _find_tag(given, kind)
    if tag is None and not (type(content) is dict and dataclasses.is_dataclass(kind)):
        what = _content_words(content)
        raise StoreError(f"{where}: expected an object with the key 'part' or 'noun', got {what:.90}")
    cls: Any = kind if tag is None else _class_of(tag, given[tag], where, kind)
    values = {k: v for k, v in given.items() if k not in (tag, *getattr(cls, "also_shown", ()))}
    _check_names(cls, values, where)
    hints = _hints(cls)
    try:
        made = cls(**{k: _value(hints[k], v, f"{where}, {k}") for k, v in values.items()})
        if issubclass(cls, Noun):
            made.check_read()
    except StoreError:
        raise
    except (BackemfError, TypeError, ValueError) as error:
        raise StoreError(f"{where}: {error}") from None
    return made


def _find_tag(given: Mapping[str, Any], kind: Any) -> str | None:
    """The key under which a stored object names its class, if it does."""
    tags = ("noun",) if Noun in getattr(kind, "__mro__", ()) else ("noun", "part")
    return next((key for key in tags if key in given), None)


def _content_words(content: Any) -> str:
    """What plain data is, for a message."""
    if type(content) is dict:
        return f"an object with the keys {', '.join(content)}"
    return {list: "a list", str: "a text"}.get(type(content), f"{content!r:.40}")


def _class_of(tag: str, given: Any, where: str, kind: Any) -> Any:
    """The class that a stored object names, which must be of the kind that is expected."""
    name, valid = str(given), part_classes() if tag == "part" else NOUNS
    if tag == "part" and name not in valid:
        valid = part_classes(others=True)
    if name not in valid:
        raise StoreError(f"{where}: {UnknownName(tag, given, valid)}")
    if kind is not None and kind not in valid[name].__mro__:
        raise StoreError(f"{where} holds a {name}; expected {_kind_words(kind)}")
    return valid[name]


def _check_names(cls: Any, given: Mapping[str, Any], where: str) -> None:
    """Refuse names that a class has not, and what a noun lacks; a part says that in its own words."""
    fields = {f.name: f for f in fields_of(cls)}
    for name in given:
        if name not in fields:
            raise StoreError(f"{where}: {UnknownName(f'field of {cls.__name__}', name, fields)}")
    for name, f in fields.items():
        required = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        if name not in given and required and not issubclass(cls, Part):
            raise StoreError(f"{where}: {cls.__name__} needs {name}")


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
        return _union_value(inside, x, where)
    if kind is Any:
        return x
    if dataclasses.is_dataclass(kind):
        return load(x, where, kind)
    origin = origin or kind
    if origin in _MAPPINGS and type(x) is dict:
        return _mapping_value(inside, x, where)
    if origin is np.ndarray and type(x) is list:
        return _array_value(x, where)
    if origin in _LISTS and type(x) is list:
        return _list_value(inside, x, where)
    if origin is float and x is None:
        return math.nan
    if not _fits(kind, x):
        raise StoreError(f"{where} is {x!r:.40}; expected {_kind_words(kind)}")
    return float(x) if origin is float else x


def _union_value(kinds: Sequence[Any], x: Any, where: str) -> Any:
    """A value of the first of several kinds that fits."""
    if x is None and types.NoneType in kinds:
        return None
    return _value(next((k for k in kinds if _fits(k, x)), kinds[0]), x, where)


def _mapping_value(kinds: Sequence[Any], x: Mapping[str, Any], where: str) -> dict[Any, Any]:
    """A mapping; keys of several names are written with commas between them."""
    key, value = kinds or (str, Any)
    split = typing.get_origin(key) in (tuple, typing.Union, types.UnionType)
    return {tuple(k.split(", ")) if split else k: _value(value, v, f"{where}, {k}") for k, v in x.items()}


def _array_value(x: list[Any], where: str) -> np.ndarray:
    """An array of numbers."""
    try:
        return np.array(x, float)
    except (TypeError, ValueError):
        raise StoreError(f"{where}: expected an array of numbers") from None


def _list_value(kinds: Sequence[Any], x: list[Any], where: str) -> tuple[Any, ...]:
    """A tuple, of one kind for all its items or of one for each."""
    each = [kinds[0]] * len(x) if len(kinds) != len(x) or Ellipsis in kinds else kinds
    return tuple(_value(k, v, f"{where} {i}") for i, (k, v) in enumerate(zip(each, x, strict=True)))


def _fits(kind: Any, x: Any) -> bool:
    """Whether plain data can become a value of some kind."""
    origin = typing.get_origin(kind) or kind
    if origin in (float, int):
        return type(x) is int or (type(x) is float and origin is float)
    if dataclasses.is_dataclass(origin) or origin in _MAPPINGS:
        return type(x) is dict
    return type(x) is (list if origin in (*_LISTS, np.ndarray) else origin)


def _kind_words(kind: Any) -> str:
    words = {float: "a number", int: "a whole number", str: "a text", bool: "true or false"}
    if kind in words:
        return words[kind]
    origin = typing.get_origin(kind) or kind
    many = origin in (*_LISTS, np.ndarray)
    return "a list" if many else f"a {getattr(origin, '__name__', origin)}"
