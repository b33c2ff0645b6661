"""Measured: a number from a bench, with its error or its bounds, what was assumed, and what to draw of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidValue
from ..findings import Finding, finding
from ..physics.quantity import present
from ..tables import NotebookDisplay, Overview, interval, number

SHARE = 0.975
"""Of each side of a 95 % interval."""


@dataclass(frozen=True, kw_only=True)
class Readings:
    """What was read, point by point; `outliers` marks those that the rest does not explain."""

    x: np.ndarray
    y: np.ndarray
    label: str = "readings"
    outliers: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class FittedCurve:
    """The line or curve that was laid through the readings, with its 95 % band where it has one."""

    x: np.ndarray
    y: np.ndarray
    label: str
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    band: str = "95 % band"


@dataclass(frozen=True, kw_only=True)
class PlotData:
    """What to draw of a measurement. `fitted` curves belong to readings in their order, and what is left
    between the two is worth a look."""

    x_label: str
    y_label: str
    readings: tuple[Readings, ...] = ()
    curves: tuple[FittedCurve, ...] = ()
    fitted: bool = True


def plot_over_time(
    y_label: str, t: np.ndarray, y: np.ndarray, curve: FittedCurve, label: str = "measured"
) -> PlotData:
    """What was recorded, and the curve through it.

    Args:
        y_label: what it is, with its unit.
        t: times [s].
        y: in that unit.
        curve: what was laid through it.
        label: what the samples are called.

    Returns:
        What to draw.
    """
    samples = Readings(x=t, y=y, label=label)
    return PlotData(x_label="time [s]", y_label=y_label, readings=(samples,), curves=(curve,))


@dataclass(frozen=True, kw_only=True, repr=False)
class Measurement(NotebookDisplay):
    """A measured number: a value with its standard error and its 95 % interval from `low` to `high`, or
    bounds alone where the reading allows no more."""

    name: str
    unit: str
    value: float | None = None
    error: float | None = None
    """Standard error; None where nothing tells it."""
    low: float | None = None
    high: float | None = None
    spare: float | None = None
    """Degrees of freedom behind the error: readings that were left over to tell it."""
    route: str = ""
    """How it was measured, as `backemf measure` spells it."""
    secondary: bool = False
    """Whether it is another look at numbers that are counted already, and so no evidence of its own."""
    assumption: str = ""
    sharpen: str = ""
    findings: tuple[Finding, ...] = ()
    others: Mapping[str, Measurement] = field(default_factory=dict)
    """Further numbers from the same reading, by name."""
    shown: PlotData | None = field(default=None, compare=False)
    rule: tuple[bool, str, str] | None = field(default=None, compare=False)
    """How `judge` judged it: whether it may be 0, what a value below may come from, and the remedy."""

    def number(self) -> str:
        """The number with its error or its bounds, and the unit."""
        unit = "" if self.unit == "1" else f" {self.unit}"
        if self.value is not None:
            return f"= {with_error(self.value, self.error)}{unit}"
        low, high = ("-" if v is None else number(v) for v in (self.low, self.high))
        if self.high is None:
            return f">= {low}{unit}"
        return f"<= {high}{unit}" if self.low is None else f"between {low} and {high}{unit}"

    def __str__(self) -> str:
        said = f"{self.name} {self.number()}"
        if self.value is not None and self.low is not None and self.high is not None:
            said += f", 95 %: {interval(self.low, self.high, 'to', 4)}"
        words = (("assumed", self.assumption), ("sharper with", self.sharpen))
        notes = "; ".join(f"{word}: {text}" for word, text in words if text)
        return f"{said} ({notes})" if notes else said

    def overview(self) -> Overview:
        """A row for each number of the reading."""
        header = ("number", "value", "error", "low", "high", "unit")
        rows = [(m.name, m.value, m.error, m.low, m.high, m.unit) for m in (self, *self.others.values())]
        by = f" by {self.route}" if self.route else ""
        return Overview(f"{self.name} {self.number()}{by}", header, rows, self.findings)

    @property
    def factor(self) -> float:
        """Standard errors in half of its 95 % interval."""
        if self.low is None or self.high is None or not self.error:
            return quantile(self.spare) if self.spare != 0 else 0.0
        return 0.5 * (self.high - self.low) / self.error

    def noting(self, *more: Finding | None) -> Measurement:
        """The same with further findings."""
        return replace(self, findings=(*self.findings, *(f for f in more if f is not None)))


def with_error(value: float, error: float | None) -> str:
    """A value to the digits that its error leaves it: 2.103 +- 0.011."""
    if error is None or not math.isfinite(error):
        return f"{number(value, 5)} (error unknown)"
    if error == 0:
        return number(value, 6)
    if error <= 1e-9 * abs(value):
        return f"{number(value, 6)} +- {number(error, 2)}"
    decimals = 1 - math.floor(math.log10(error))
    if 0 <= decimals <= 6:
        return f"{round(value, decimals) + 0.0:.{decimals}f} +- {error:.{decimals}f}"  # never -0.00
    digits = math.floor(math.log10(abs(value))) + decimals + 1 if value else 2
    return f"{number(value, max(digits, 1))} +- {number(error, 2)}"


def quantile(spare: float | None) -> float:
    """Student's t for 95 %: how many standard errors either way; 1.96 where there are readings enough."""
    from scipy.special import stdtrit

    return 1.959964 if spare is None or spare > 1e6 else float(stdtrit(spare, SHARE))


def estimate(
    name: str,
    unit: str,
    value: float,
    variance: float,
    spare: float | None = None,
    *,
    far: float | None = None,
    **words: Any,
) -> Measurement:
    """A number as least squares gives it.

    Args:
        name: what it is.
        unit: of the value.
        value: the number.
        variance: of it, in the unit squared.
        spare: readings beyond the unknowns; where there are none, its error is unknown. None: enough.
        far: half its 95 % interval, where that is known better.
        words: further fields of `Measurement`.

    Returns:
        The number with its error and interval.
    """
    if spare is not None and spare <= 0:
        return Measurement(name=name, unit=unit, value=float(value), spare=0.0, **words)
    error = math.sqrt(variance)
    far = quantile(spare) * error if far is None else far
    return Measurement(
        name=name,
        unit=unit,
        value=float(value),
        error=error,
        low=float(value - far),
        high=float(value + far),
        spare=spare,
        **words,
    )


class TypedColumn(list[float]):
    """Readings that somebody typed, in SI, and half a unit of their last digit: that of the finest of them,
    for a meter shows as many digits in each and people leave zeros out."""

    half: float = 0.0


def measure_typed(function: Callable[..., Measurement], arguments: Mapping[str, Any]) -> Measurement:
    """A reading's answer whose errors are no smaller than the rounding of what was typed leaves them.

    Args:
        function: of the reading.
        arguments: by name, in SI; those that are a `TypedColumn` are rounded.

    Returns:
        The answer. A number's error is at least what roundings of the readings, alike likely over the whole
        digit, come to: of each on its own, or of equal ones together, which may err alike. It is judged with
        that error; bounds stay as they are.
    """
    measured = function(**arguments)
    found: dict[str, Measurement] = {"": measured, **measured.others}
    ways: dict[str, list[tuple[tuple[str, float], float]]] = {key: [] for key in found}
    for name, column in arguments.items():
        half = getattr(column, "half", 0.0)
        for k in range(len(column)) if half else ():
            moved = [*column[:k], column[k] + 0.1 * half, *column[k + 1 :]]
            try:
                other = function(**{**arguments, name: moved})
            except InvalidValue:
                continue
            for key, m in {"": other, **other.others}.items():
                if key in found and m.value is not None and found[key].value is not None:
                    far = 10.0 * (m.value - present(found[key].value))
                    ways[key].append(((name, column[k]), far))
    floored = {k: _with_floor(m, *_rounding_error(ways[k])) for k, m in found.items()}
    again = {k: (_impossibility(found[k]), _impossibility(m)) for k, m in floored.items()}
    made = {k: _judged_again(m, [*again.values()] if k == "" else [again[k]]) for k, m in floored.items()}
    return replace(made.pop(""), others=made)


def _rounding_error(ways: Sequence[tuple[tuple[str, float], float]]) -> tuple[float, float]:
    """(standard error, the most) of a number by how far it goes with half a digit of each reading."""
    together: dict[tuple[str, float], float] = {}
    for reading, far in ways:
        together[reading] = together.get(reading, 0.0) + far
    square = max(sum(far**2 for _, far in ways), sum(far**2 for far in together.values()))
    return math.sqrt(square / 3.0), sum(abs(far) for _, far in ways)


def _judged_again(m: Measurement, pairs: Sequence[tuple[Finding | None, Finding | None]]) -> Measurement:
    """The number with what is said of it now in place of what was said before."""
    kept = [next((new for old, new in pairs if old == f), f) for f in m.findings]
    more = (new for old, new in pairs if old is None)
    return replace(m, findings=()).noting(*kept, *more)


def _with_floor(m: Measurement, error: float, most: float) -> Measurement:
    """The number with at least an error, and an interval as wide as that makes it, which ends at `most`."""
    if m.value is None or m.error is None or m.low is None or m.high is None or m.error >= error:
        return m
    far = max(min(1.959964 * error, most), 0.5 * (m.high - m.low))
    value = m.value if abs(m.value) > 1e-9 * error else 0.0
    said = "; ".join(filter(None, (m.assumption, "the readings are rounded as they were typed")))
    return replace(m, value=value, error=error, low=value - far, high=value + far, assumption=said)


Column = Sequence[float] | np.ndarray
"""What was read several times."""
Known = float | tuple[float, float] | Measurement
"""A number from elsewhere: bare, taken as exact; (value, standard error); or measured before."""


def known_number(name: str, given: Known, *, zero: bool = False) -> Measurement:
    """A number from elsewhere with its error, once it makes sense.

    Args:
        name: what a message calls it.
        given: bare, with its standard error, or measured.
        zero: whether it may be 0.

    Returns:
        The number as a measured one.

    Raises:
        InvalidValue: where it is below 0, a bound, or has no error that makes sense.
    """
    if isinstance(given, Measurement):
        if given.value is None:
            raise InvalidValue(f"{name} is {given.name} {given.number()}, a bound; expected a value")
        known = given
    else:
        value, error = given if isinstance(given, tuple) else (given, 0.0)
        if not 0 <= error < math.inf:
            raise InvalidValue(f"{name} has the error {error!r}; expected 0 or more")
        known = Measurement(name=name, unit="", value=float(value), error=float(error))
    if not (known.value is not None and 0 <= known.value < math.inf and (zero or known.value > 0)):
        raise InvalidValue(f"{name} is {known.value!r}; expected {'0 or more' if zero else 'more than 0'}")
    return known


class Through(NamedTuple):
    """What a function of measured numbers comes to."""

    value: float
    variance: float
    far: float
    """Half of its 95 % interval."""
    spare: float | None


def through(function: Callable[..., float], *numbers: Measurement, covariance: Any = None) -> Through:
    """A function of measured numbers, to first order.

    The first numbers may be of one regression, with their `covariance`; the rest is independent. Half
    intervals add as errors do, each with its own Student's t: never too narrow, whichever of them dominates.
    """
    x = np.array([m.value for m in numbers], float)
    slopes = _slopes(function, x, [m.error or 0.0 for m in numbers])
    with np.errstate(all="ignore"):
        parts = _variance_parts(slopes, numbers, covariance)
        far = np.sqrt(np.sum([part * m.factor**2 for part, m in parts]))
        variance, value = np.sum([part for part, _ in parts]), np.float64(function(*x))
    if not np.isfinite([value, variance, far]).all():
        raise InvalidValue("the readings give no finite answer; expected ones of ordinary size, in SI")
    spares = [m.spare for part, m in parts if m.spare is not None and (part > 0 or m.spare == 0)]
    return Through(float(value), float(variance), float(far), min(spares) if spares else None)


def _variance_parts(
    slopes: np.ndarray, numbers: Sequence[Measurement], covariance: Any
) -> list[tuple[np.floating, Measurement]]:
    """What each number adds to a function's variance; those of one regression together, as its first."""
    n = 0 if covariance is None else len(covariance)
    parts: list[tuple[np.floating, Measurement]] = []
    if n:
        parts.append((np.float64(slopes[:n] @ np.asarray(covariance) @ slopes[:n]), numbers[0]))
    parts += [(np.square(slopes[k] * (m.error or 0.0)), m) for k, m in enumerate(numbers) if k >= n]
    return parts


def _slopes(function: Callable[..., float], x: np.ndarray, errors: Sequence[float]) -> np.ndarray:
    """Central differences, each over a small part of its number or of its error."""
    slopes = np.zeros(len(x))
    for k, error in enumerate(errors):
        h = 1e-4 * max(abs(x[k]), error, 1e-12)
        up, down = (function(*(x + s * h * np.eye(len(x))[k])) for s in (1.0, -1.0))
        slopes[k] = (up - down) / (2.0 * h)
    return slopes


def derive(
    name: str,
    unit: str,
    function: Callable[..., float],
    *numbers: Measurement,
    covariance: Any = None,
    **words: Any,
) -> Measurement:
    """A number that follows from measured ones, with the error that it inherits.

    Args:
        name: what it is.
        unit: of the new number.
        function: of their values.
        numbers: what it is made of.
        covariance: of the first of them, where they are of one regression.
        words: further fields of `Measurement`.

    Returns:
        The new number.
    """
    value, variance, far, spare = through(function, *numbers, covariance=covariance)
    return estimate(name, unit, value, variance, spare, far=far, **words)


def judge(m: Measurement, *, zero: bool = False, why: str = "", remedy: str) -> Measurement:
    """The number with a finding where it is impossible, or where its interval has impossible values in it.

    Args:
        m: the number.
        zero: whether 0 itself is possible: friction may vanish, a resistance may not.
        why: what a value below zero may come from.
        remedy: what to do then.

    Returns:
        The same number.
    """
    judged = replace(m, rule=(zero, why, remedy))
    return judged.noting(_impossibility(judged))


def _impossibility(m: Measurement) -> Finding | None:
    """What `judge` has to say of a number; None where nothing is wrong with it, or nobody judged it."""
    if m.value is None or m.rule is None:
        return None
    zero, why, remedy = m.rule
    because = f" {why}" if why else ""
    numbers = {k: v for k in ("value", "error", "low", "high") if (v := getattr(m, k)) is not None}
    if m.value < 0 or (m.value == 0 and not zero):
        if m.high is not None and m.high >= 0:
            text = (
                f"{m.name} comes out below zero, {with_error(m.value, m.error)} {m.unit}; its error reaches"
                f" 0, so all that it says is: at most {number(m.high)}."
            )
            return finding("below_zero", text + because, remedy, **numbers)
        text = (
            f"{m.name} is {with_error(m.value, m.error)} {m.unit}: below zero, which cannot be"
            f"{'' if m.high is None else ', even within its error'}."
        )
        return finding("impossible_value", text + because, remedy, **numbers)
    if m.low is not None and m.low < 0 < m.value:
        text = (
            f"{m.name} is {with_error(m.value, m.error)} {m.unit}: its 95 % interval reaches below zero, so"
            " these readings do not tell it from nothing."
        )
        return finding("not_told", text, remedy, **numbers)
    return None


def blind(m: Measurement) -> Finding | None:
    """Said where there were no more readings than unknowns."""
    if m.value is None or m.error is not None:
        return None
    text = f"{m.name} has as many readings as unknowns: nothing is left to tell its error."
    return finding("error_unknown", text, "take at least one reading more, better three")


def columns(least: int, **readings: Any) -> list[np.ndarray]:
    """Readings by name, each at least so many, all of them as many."""
    made = {name: np.asarray(values, float) for name, values in readings.items()}
    for name, column in made.items():
        if column.ndim != 1 or len(column) < least:
            raise InvalidValue(f"{name} has {column.size} readings; expected at least {least}")
        if not np.isfinite(column).all():
            raise InvalidValue(f"{name} is not finite at reading {int(np.argmax(~np.isfinite(column)))}")
    if len({len(column) for column in made.values()}) > 1:
        plural = {name: f"{name[:-1]}ies" if name.endswith("y") else f"{name}s" for name in made}
        *most, last = (f"{len(column)} {plural[name]}" for name, column in made.items())
        raise InvalidValue(f"{', '.join(most)} and {last}; expected as many")
    return list(made.values())
