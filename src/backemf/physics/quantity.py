"""Parts with quantities: frozen dataclasses whose fields carry unit, symbol and valid range.

Tables, JSON, forms, error texts and documentation all come from the same field. A parameter's name is its
path:
`motor.resistance`, `friction.coulomb`.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeVar, dataclass_transform

from ..errors import InvalidValue, MissingValue, UnknownName
from .maths import is_number

_T = TypeVar("_T")
TARGET_UNITS = {
    "position_target": "rad",
    "velocity_target": "rad/s",
    "torque_target": "N m",
    "voltage_target": "V",
    "current_target": "A",
}
"""What a drive may follow -> its unit on a rotary axis: what "command" stands for among its numbers."""


class Size(NamedTuple):
    """How large an actuator is, for starts of a sensible size."""

    torque: float
    """Stall torque at the output [N m]."""
    speed: float
    """No-load speed at the output [rad/s]."""
    dry: float
    """Dry friction [N m]."""
    lost: float
    """Share of the torque that the gears lose."""


def quantity(
    unit: str,
    symbol: str,
    *,
    default: Any = dataclasses.MISSING,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    zero_is_absent: bool = False,
    signed: float | None = None,
    over: str | None = None,
    start: Callable[[Size], float] | None = None,
    tolerance: Callable[[float], float] | None = None,
    within: float | None = None,
) -> Any:
    """A field of a part: a number with a unit and a symbol.

    Args:
        unit: in SI; "1" for a plain number, "command" for the unit of the drive's target.
        symbol: as equations write it.
        default: None means that the effect is absent and costs nothing; nothing given: the number is
            needed.
        above: what it must exceed.
        least: the smallest that is allowed.
        most: the largest that is allowed.
        zero_is_absent: whether 0 means the same as None.
        signed: how large it usually is, of a number that may have either sign.
        over: name of another field of the part that it is never smaller than.
        start: a sensible value where nobody knows one, for an actuator of some size.
        tolerance: how well a careful person measures it where nobody says: a standard deviation.
        within: the factor of a sensible value beyond which it means nothing any more.

    Returns:
        The field of a dataclass.
    """
    meta = {
        "unit": unit,
        "symbol": symbol,
        "above": above,
        "least": least,
        "most": most,
        "zero_is_absent": zero_is_absent,
        "signed": signed,
        "over": over,
        "start": start,
        "tolerance": tolerance,
        "within": within,
    }
    return dataclasses.field(default=default, metadata=meta)


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(quantity, dataclasses.field)
)
def part(cls: type[_T]) -> type[_T]:
    """Make a class a part: a frozen keyword-only dataclass that checks what it is given."""
    made: Any = dataclasses.dataclass(frozen=True, kw_only=True)(cls)
    made.__dataclass_fields__ = {
        name: _in_own_unit(f, TARGET_UNITS.get(getattr(cls, "target", "")))
        for name, f in made.__dataclass_fields__.items()
    }
    construct = made.__init__

    def __init__(self: Any, **given: Any) -> None:
        known = {f.name: f for f in dataclasses.fields(made)}
        for name in given:
            if name not in known:
                raise UnknownName(f"field of {made.__name__}", name, known)
        for name, f in known.items():
            if (
                name not in given
                and f.default is dataclasses.MISSING
                and f.default_factory is dataclasses.MISSING
            ):
                unit = f.metadata.get("unit")
                raise MissingValue(f"{made.__name__} needs {name}" + (f" (in {unit})" if unit else ""))
        construct(self, **_read_tolerances(made, given))
        _check_fields(self)
        if all(is_number(v) for v in parameters(self).values()):
            check = getattr(self, "check", None)
            if check is not None:
                check()

    made.__init__ = functools.wraps(construct)(
        __init__
    )  # keeps the true signature for help() and documentation
    return made


def _in_own_unit(field: dataclasses.Field, own: str | None) -> dataclasses.Field:
    """The field of a drive with the unit of what it follows in place of "command"."""
    unit = field.metadata.get("unit", "")
    if own is None or "command" not in unit:
        return field
    unit = unit.replace("command", own).replace("/s s", "")
    unit = unit.replace("/s/s^2", "/s^3").replace("/s/s", "/s^2")
    changed = copy.copy(field)
    changed.metadata = MappingProxyType({**field.metadata, "unit": unit})
    return changed


def _read_tolerances(cls: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What was given, with texts such as "0.535 +- 0.002 kg" as numbers and their tolerances, where a part
    keeps tolerances."""
    texts = {name: value for name, value in given.items() if isinstance(value, str)}
    if not texts or "tolerances" not in {f.name for f in dataclasses.fields(cls)}:
        return given
    read = _parse_texts(cls, texts)
    stated = {n: one.half for n, one in read.items() if "+-" in texts[n] or "\u00b1" in texts[n]}
    if stated:
        given = {**given, "tolerances": {**(given.get("tolerances") or {}), **stated}}
    return {**given, **{n: one.value for n, one in read.items()}}


def _parse_texts(cls: Any, texts: Mapping[str, str]) -> dict[str, Any]:
    """Texts of a part's quantities as numbers in its units, with what they state of their tolerance."""
    from ..units import parse

    units = {f.name: f.metadata["unit"] for f in dataclasses.fields(cls) if "unit" in f.metadata}
    return {n: parse(text, units[n], f"{cls.path}.{n}") for n, text in texts.items() if n in units}


class Part:
    """Base of every part. `path` is where the part sits in an actuator:
    the first words of its parameters' names."""

    path: ClassVar[str] = ""

    @property
    def kind(self) -> str:
        """What it is, as it is written in Python: 'drive.Servo', 'bench.Pendulum'."""
        return f"{self.path}.{type(self).__name__}"


def check_derived(cls: type, base: type[Part], own: Mapping[str, type]) -> None:
    """Refuse a class of another package that is no part of a kind, or that nobody could tell from ours in a
    stored file.

    Args:
        cls: what the other package gives.
        base: what it must derive from.
        own: our classes of the kind, by name.

    Raises:
        TypeError: it is no such part.
        ValueError: one of ours has the same class name.
    """
    if not issubclass(cls, base):
        raise TypeError(f"{cls.__name__} is no {base.path}; expected a class derived from {base.__name__}")
    if cls.__name__ in {one.__name__ for one in own.values()}:
        raise ValueError(f"a {base.path} {cls.__name__} exists; expected a class name of its own")


def _check_fields(self: Any) -> None:
    for f in fields_of(type(self)):
        if "unit" not in f.metadata:
            continue
        value = getattr(self, f.name)
        if value is None and f.default is None:
            continue
        name = f"{self.path}.{f.name}" if self.path else f.name
        if isinstance(value, (bool, str, bytes)) or value is None:
            raise InvalidValue(f"{name} is {value!r}; expected a number in {f.metadata['unit']}")
        if not is_number(value):
            continue  # a tracer or an array: an engine is at work, the numbers were checked before
        value = float(value)
        if value == 0 and f.metadata["zero_is_absent"]:
            object.__setattr__(self, f.name, None)
            continue
        check_range(name, value, f.metadata)
        object.__setattr__(self, f.name, value)


def check_range(name: str, value: float, meta: Mapping[str, Any]) -> None:
    """Raise if a number is not finite or outside the range its field allows.

    Args:
        name: of the number, for the error.
        value: it, in its field's unit.
        meta: what the field says of it.
    """
    unit, above, least, most = meta["unit"], meta["above"], meta["least"], meta["most"]
    given = f"{name} is {value:g}" + (f" {unit}" if unit != "1" else "")
    if not math.isfinite(value):
        raise InvalidValue(f"{given}; expected a finite number")
    if above is not None and value <= above:
        raise InvalidValue(f"{given}; expected more than {above:g}")
    if least is not None and value < least:
        raise InvalidValue(f"{given}; expected at least {least:g}")
    if most is not None and value > most:
        raise InvalidValue(f"{given}; expected at most {most:g}")


def present(value: Any) -> Any:
    """An optional quantity where the structure says that it is there."""
    assert value is not None
    return value


@functools.cache
def fields_of(cls: type) -> tuple[dataclasses.Field, ...]:
    """The fields of a class; asked for thousands of times in a fit."""
    return dataclasses.fields(cls)  # type: ignore[arg-type]  # every part is a dataclass


def quantities(owner: Any, prefix: str = "") -> Iterator[tuple[str, dataclasses.Field, Any]]:
    """(path, field, value) of every quantity that is present in a part and in the parts inside it."""
    for f in fields_of(type(owner)):
        value = getattr(owner, f.name)
        if value is None:
            continue
        if "unit" in f.metadata:
            yield prefix + f.name, f, value
        elif dataclasses.is_dataclass(value):
            yield from quantities(value, f"{prefix}{f.name}.")


def quantities_of(cls: Any) -> list[str]:
    """Names of the quantities that a sort of part may have."""
    return [f.name for f in fields_of(cls) if "unit" in f.metadata]


def parameters(owner: Any, prefix: str = "") -> dict[str, Any]:
    """Path -> value of every quantity that is present."""
    return {path: value for path, _, value in quantities(owner, prefix)}


def substitute(owner: _T, values: Mapping[str, Any], prefix: str = "") -> _T:
    """The same part with some of its quantities replaced; one that was absent may be given, and so may all
    that a part needs which was absent.

    Args:
        owner: the part.
        values: numbers by path.
        prefix: what paths begin with: "bench.".

    Returns:
        A copy.

    Raises:
        UnknownName: a path is none of the part's.
    """
    valid = parameters(owner, prefix)
    for path in values:
        if path not in valid and path not in absent(owner, prefix):
            raise UnknownName("parameter", path, valid)
    return _substitute(owner, values, prefix)


def absent(owner: Any, prefix: str = "") -> dict[str, dataclasses.Field]:
    """Path -> field of the quantities that a part could have and has not."""
    paths = {}
    for f in fields_of(type(owner)):
        value = getattr(owner, f.name)
        if "unit" in f.metadata and value is None:
            paths[prefix + f.name] = f
        elif "part" in f.metadata and value is None:
            inside = fields_of(f.metadata["part"])
            paths |= {f"{prefix}{f.name}.{g.name}": g for g in inside if "unit" in g.metadata}
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            paths |= absent(value, f"{prefix}{f.name}.")
    return paths


def _substitute(owner: Any, values: Mapping[str, Any], prefix: str) -> Any:
    changes = {}
    for f in fields_of(type(owner)):
        path, value = prefix + f.name, getattr(owner, f.name)
        if path in values:
            changes[f.name] = values[path]
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            inside = _substitute(value, values, path + ".")
            if inside is not value:
                changes[f.name] = inside
        elif "part" in f.metadata and any(given.startswith(path + ".") for given in values):
            changes[f.name] = _make_part(f.metadata["part"], values, path + ".")
    return dataclasses.replace(owner, **changes) if changes else owner


def _make_part(cls: Any, values: Mapping[str, Any], prefix: str) -> Any:
    """A part that was absent, of the numbers that are given for it."""
    given = {path.removeprefix(prefix): x for path, x in values.items() if path.startswith(prefix)}
    needed = [f.name for f in fields_of(cls) if f.default is f.default_factory is dataclasses.MISSING]
    if missing := [prefix + name for name in needed if name not in given]:
        said = ", ".join(prefix + name for name in given)
        raise MissingValue(
            f"{said} is given where there is no {prefix[:-1]} yet; expected {', '.join(missing)} too"
        )
    return cls(**given)


def structure(owner: Any) -> tuple:
    """What a part is made of, without its numbers: equal structures share one compiled engine."""
    rows: list[Any] = [type(owner).__name__]
    for f in fields_of(type(owner)):
        value = getattr(owner, f.name)
        if f.name == "tolerances":
            continue
        if "unit" in f.metadata:
            rows.append((f.name, value is not None))
        elif dataclasses.is_dataclass(value):
            rows.append((f.name, structure(value)))
        else:
            rows.append((f.name, value))
    return tuple(rows)
