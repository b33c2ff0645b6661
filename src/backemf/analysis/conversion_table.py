"""What a conversion answers: numbers with their units and formulas, what was assumed, what was lost."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, ParamSpec, TypeVar

from .. import tables, units
from ..errors import BackemfError, InvalidValue, MissingValue
from ..findings import Finding
from ..physics.maths import is_number

COMMON: dict[str, tuple[str, ...]] = {
    "rad": ("deg",),
    "rad/s": ("rpm", "deg/s"),
    "N m": ("kg cm", "oz in"),
    "N m/A": ("mN m/A",),
    "V s/rad": ("V/krpm", "V s/rev"),
    "V s^2/rad": ("V s^2/rev",),
    "A s/rad": ("A s/rev",),
    "A s^2/rad": ("A s^2/rev",),
    "rad/(s V)": ("rpm/V",),
    "rad/(s N m)": ("rpm/(mN m)",),
    "1/rad": ("1/deg",),
    "V/rad": ("V/deg",),
    "A/rad": ("A/deg",),
    "N m/rad": ("N m/deg",),
    "kg m^2": ("kg cm^2", "g cm^2"),
    "V s/m": ("V s/in",),
    "m/s": ("ft/s",),
    "kg": ("lb",),
}
"""The units in which people also write what has an SI unit."""
_ANGLE = re.compile(r"rad|deg|rev|turn|rot|rpm|arc|min-1", re.IGNORECASE)


_P = ParamSpec("_P")
_T = TypeVar("_T")


def computable(convert: Callable[_P, _T]) -> Callable[_P, _T]:
    """A conversion whose numbers may be beyond all sense: that is an error of who gave them."""

    @functools.wraps(convert)
    def guard(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return convert(*args, **kwargs)
        except BackemfError:
            raise
        except (ArithmeticError, ValueError):
            raise InvalidValue(
                "the numbers given lead beyond what can be computed; check their units and powers of ten"
            ) from None

    return guard


class Number(NamedTuple):
    """One number of an answer."""

    name: str
    symbol: str
    value: float
    unit: str
    formula: str
    given: bool
    """Whether it was put in, not computed."""

    @property
    def also(self) -> dict[str, float]:
        """The same in the units that people use, by unit."""
        return {
            unit: self.value / units.factor(unit, self.unit, self.name) for unit in COMMON.get(self.unit, ())
        }


def number(unit: str, symbol: str, formula: str, **more: Any) -> Any:
    """A field of an answer.

    Args:
        unit: in SI.
        symbol: as its formula writes it.
        formula: what it is computed by.
        more: as `dataclasses.field` takes it: its default.

    Returns:
        The field, for the body of a class.
    """
    return field(metadata={"unit": unit, "symbol": symbol, "formula": formula}, **more)


@dataclass(frozen=True, kw_only=True, repr=False)
class Conversion:
    """A conversion's numbers are its fields; one that cannot be told is None."""

    assumptions: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    """What the numbers asked for do not hold of those given."""
    findings: tuple[Finding, ...] = ()
    given: tuple[str, ...] = ()
    """Names of the numbers that were put in."""
    unit_changes: Mapping[str, str] = field(default_factory=dict)
    """Units that differ here from what the fields say: on a linear axis, or of a derivative gain."""
    formulas: Mapping[str, str] = field(default_factory=dict)
    """Formulas that differ likewise: under current control, or by the way a constant was found."""
    symbols: Mapping[str, str] = field(default_factory=dict)

    def numbers(self) -> list[Number]:
        """Every number that is known, in the order of the fields."""
        found = []
        for f in fields(self):
            value = getattr(self, f.name)
            if "formula" not in f.metadata or value is None:
                continue
            unit, symbol, formula = (f.metadata[key] for key in ("unit", "symbol", "formula"))
            unit, formula = self.unit_changes.get(f.name, unit), self.formulas.get(f.name, formula)
            symbol = self.symbols.get(f.name, symbol)
            found.append(Number(f.name, symbol, float(value), unit, formula, f.name in self.given))
        return found

    def to_dict(self) -> dict[str, Any]:
        """As it stands in `--json`."""
        numbers = {
            n.name: {
                "value": n.value,
                "unit": n.unit,
                "symbol": n.symbol,
                "formula": n.formula,
                "given": n.given,
                "also": n.also,
            }
            for n in self.numbers()
        }
        return {
            "numbers": numbers,
            "assumptions": list(self.assumptions),
            "lost": list(self.lost),
            "findings": list(self.findings),
        }

    def __str__(self) -> str:
        rows = [
            (
                n.name.replace("_", " "),
                n.symbol,
                tables.number(n.value, 5),
                n.unit if n.unit != "1" else "",
                ", ".join(f"{tables.number(v, 5)} {unit}" for unit, v in n.also.items()),
                "given" if n.given else n.formula,
            )
            for n in self.numbers()
        ]
        return tables.table(rows, ("quantity", "symbol", "value", "unit", "also", "formula"))

    def __repr__(self) -> str:
        said = (
            f"{n.name}={tables.number(n.value, 6)} {n.unit if n.unit != '1' else ''}" for n in self.numbers()
        )
        return f"{type(self).__name__}({', '.join(text.rstrip() for text in said)})"


def si(value: float | str | None, unit: str, name: str) -> float | None:
    """A number in SI, or text with its unit; None stays None.

    Args:
        value: what was given.
        unit: in which a bare number is, and to which text is converted.
        name: what a message calls it.

    Returns:
        The number in that unit.

    Raises:
        InvalidValue: where it is not finite, or text of another kind of unit.
    """
    if value is None:
        return None
    if isinstance(value, str):
        text, value = value, units.si(value, unit, name)
        if "rad" in unit and value and units.has_unit(text) and not _ANGLE.search(text):
            raise InvalidValue(
                f"{name} is {text!r}, which has no angle in it; expected a unit of {unit}, with rad, deg or"
                " rev written out"
            )
    if not is_number(value) or value != value or abs(value) == float("inf"):
        raise InvalidValue(f"{name} is {value!r}; expected a finite number in {unit}, or text with its unit")
    return float(value)


def positive(value: float | str | None, unit: str, name: str, *, zero: bool = False) -> float | None:
    """The same, above 0.

    Args:
        value: a number in SI, or text with its unit.
        unit: as `si` takes it.
        name: what a message calls it.
        zero: whether 0 makes sense too.

    Returns:
        The number in that unit; None where none was given.

    Raises:
        InvalidValue: where it is not, or below.
    """
    x = si(value, unit, name)
    if x is not None and not (x > 0 or (zero and x == 0)):
        spelled = f"{x:g} {unit}" if value == x else f"{value!r}"
        raise InvalidValue(f"{name} is {spelled}; expected {'0 or more' if zero else 'more than 0'}")
    return x


def require(value: float | None, name: str, remedy: str) -> float:
    """A number that must be known.

    Args:
        value: the number.
        name: what a message calls it.
        remedy: what to do where it is missing.

    Returns:
        The number as it is.

    Raises:
        MissingValue: where there is none.
    """
    if value is None:
        raise MissingValue(f"{name} is missing; {remedy}")
    return value
