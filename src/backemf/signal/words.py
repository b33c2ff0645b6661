"""Commands in words: "square amplitude=3.14rad period=2s duty=0.5"."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

from .. import units
from ..errors import InvalidValue, MissingValue, UnknownName
from .commands import KINDS, VALUE, Command, numbers_of, unit_of

UNITS = ("rad", "rad/s", "V", "A", "N m", "m", "m/s", "N", "1")
"""What a command may be in."""
SHAPES: Mapping[str, Callable[[float, float], dict[str, float]]] = {
    **dict.fromkeys(
        ("sine", "square", "random-binary"),
        lambda low, high: {"amplitude": 0.5 * (high - low), "offset": 0.5 * (low + high)},
    ),
    "step": lambda low, high: {"size": high - low, "start": low},
}
"""What `from=` and `to=` say of a command."""


def words(text: str) -> tuple[str, dict[str, str]]:
    """A name and what follows it: "square amplitude=3 rad, period=2s" -> ("square", {"amplitude": "3 rad",
    "period": "2s"}). Spaces or commas stand between the words; a value may have spaces of its own."""
    name, *rest = re.split(r"(?:^|[\s,;])\s*([A-Za-z_][\w-]*)\s*=(?!=)", text.strip())
    values: dict[str, str] = {}
    for key, value in zip(rest[::2], rest[1::2], strict=True):
        key = key.lower()
        if key in values:
            raise InvalidValue(f"{text!r} gives {key} twice; expected it once")
        values[key] = value.strip(" \t\n,;")
    name = name.strip(" \t\n,;")
    if not re.fullmatch(r"[\w-]+", name) or "" in values.values():
        key = next((k for k, v in values.items() if not v), "")
        mistakes = f"has nothing behind {key}=" if key else "does not begin with one name"
        raise InvalidValue(
            f"{text!r} {mistakes}; expected a name and NAME=VALUE, as in 'step size=1rad at=0.5s'"
        )
    return name.lower(), values


def read(text: str, unit: str = "") -> Command:
    """A command from its words: "square amplitude=3.14rad period=2s duty=0.5". Plain numbers are in SI.

    `unit` is what it must be in; without it the words may say it.
    """
    name, given = words(text)
    name = name.replace("_", "-")
    if name not in KINDS:
        raise UnknownName("command", name, KINDS)
    kind = KINDS[name]
    fields = {f.name: f for f in numbers_of(kind)}
    ends = ("from", "to") if name in SHAPES else ()
    valid = [*fields, *ends, *(["period"] if "frequency" in fields else [])]
    if unknown := [key for key in given if key not in valid]:
        raise UnknownName(f"word of {name}", unknown[0], valid)
    unit = unit or _stated_unit(kind, given)
    sorts = {**dict.fromkeys(ends, unit), "period": "s", **{k: unit_of(f, unit) for k, f in fields.items()}}
    values: dict[str, Any] = {k: si(value, sorts[k], f"{k} of {name}") for k, value in given.items()}
    _replace_period(name, given, values)
    if given.keys() & set(ends):
        values |= _shape(name, given, values, valid)
    _require_all(values, kind, name, valid)
    if "seed" in values and values["seed"] == round(values["seed"]):
        values["seed"] = int(values["seed"])
    return kind(unit=unit, **values)


def _shape(name: str, given: Mapping[str, str], values: dict[str, Any], valid: list[str]) -> dict[str, float]:
    """What stands for `from` and `to`, which are taken out of the values."""
    told = SHAPES[name](values.pop("from", 0.0), _require(values, "to", name, valid))
    values.pop("to")
    for key in told:
        _only_one(name, given, "from/to", key)
    return told


def _replace_period(name: str, given: Mapping[str, str], values: dict[str, Any]) -> None:
    """A period is told as a frequency."""
    if "period" not in values:
        return
    _only_one(name, given, "period", "frequency")
    period = values.pop("period")
    if period <= 0:
        raise InvalidValue(f"period of {name} is {given['period']!r}; expected more than 0")
    values["frequency"] = 1.0 / period


def _require(values: Mapping[str, Any], key: str, name: str, valid: list[str]) -> Any:
    if key not in values:
        also = {"frequency": " or period", "amplitude": " (or from and to)"}.get(key, "")
        raise MissingValue(f"{name} needs {key}{also}; its words are: {', '.join(valid)}")
    return values[key]


def _require_all(values: Mapping[str, Any], kind: type[Command], name: str, valid: list[str]) -> None:
    """An error where a number without a default is missing."""
    for key in (f.name for f in numbers_of(kind) if f.default is dataclasses.MISSING):
        _require(values, key, name, valid)


def _only_one(name: str, given: Mapping[str, str], text: str, other: str) -> None:
    if other in given:
        raise InvalidValue(f"{name} has both {text} and {other}; expected one of them")


def _stated_unit(kind: type[Command], given: Mapping[str, str]) -> str:
    """What the words say that a command is in; empty where they do not."""
    own = {f.name: f for f in numbers_of(kind) if f.metadata["sort"].startswith(VALUE)}
    for key, text in given.items():
        if key not in (*own, "from", "to"):
            continue
        spelled = number_and_unit(text)[1]
        for unit in UNITS if spelled else ():
            try:
                units.factor(spelled, unit_of(own[key], unit) if key in own else unit, key)
            except units.UnitError:
                continue
            return unit
        if spelled:
            known = ", ".join(repr(u.replace(" ", "*")) for u in UNITS if u != "1")
            raise InvalidValue(
                f"{key} of {kind.name} is {given[key]!r}; expected a unit of a command, such as {known}"
            )
    return ""


def number_and_unit(text: str) -> tuple[float, str]:
    """A number and the unit behind it."""
    match = re.fullmatch(r"\s*([+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?|[+-]?inf)\s*(.*?)\s*", text)
    if match is None:
        raise InvalidValue(f"{text!r} is no number with a unit; expected one such as 3.14rad, 2s or 0.5")
    return float(match[1].replace(",", ".")), match[2]


def si(text: str, unit: str, entry: str) -> float:
    """A number in SI: plain, or with a unit of the right kind.

    Args:
        text: "3.14rad", "0.5".
        unit: what it must be in: SI.
        entry: what it is, for errors.

    Returns:
        The number.

    Raises:
        InvalidValue: it is no number, or in a unit of another kind.
    """
    try:
        return float(text) if "inf" in text else units.si(text, unit or "1", entry)
    except ValueError as error:
        raise InvalidValue(str(error)) from None
