"""What a command is: a small frozen function of time that knows its name, its numbers and its jumps."""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import InvalidValue

NEAR = 1e-9
"""Share of a period so near to a jump that it counts as the jump itself."""
STEP = 2e-3
"""Interval at which a smooth command is held, where it must be held [s]; it is shorter for fast ones."""
MOST = 100_000
"""Values of a held smooth command at most; a long one is held in longer steps."""
MOST_JUMPS = 1e6
"""Jumps of a command in the time that is looked at; more are a mistake."""
VALUE = "value"
"""The sort of a number that is in the command's own unit."""


def _number(sort: str = VALUE, default: Any = dataclasses.MISSING) -> Any:
    """A field: in the command's own unit, or in the unit that `sort` names."""
    return dataclasses.field(default=default, metadata={"sort": sort})


@dataclass(frozen=True, kw_only=True, repr=False)
class Command:
    """A command as a function of time [s]."""

    name: ClassVar[str] = "command"
    constant: ClassVar[bool] = True
    """Whether it is constant between its jumps."""

    unit: str = ""
    """What its values are in; empty where nobody said: the target's own SI unit."""

    def __post_init__(self) -> None:
        for f in numbers_of(self):
            value = getattr(self, f.name)
            if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or math.isnan(value):
                raise InvalidValue(f"{f.name} of {self.name} is {value!r}; expected a number")
        self.check()

    def check(self) -> None:
        """Refuse numbers that make no command."""

    def __call__(self, t: Any) -> np.ndarray:
        raise NotImplementedError

    def jumps(self, start: float, end: float) -> np.ndarray:
        """The times after `start`, up to `end`, at which it jumps."""
        return np.zeros(0)

    def fastest(self, start: float, end: float) -> float:
        """The highest frequency [Hz] in an interval of a smooth command."""
        return 0.0

    def sample(self, start: float, end: float) -> tuple[np.ndarray, np.ndarray]:
        """(times, values) that hold until the next, from `start` on: exact where it is constant between its
        jumps; a smooth one is held in short steps, each at its value in the middle of the step."""
        jumps = np.concatenate([[start], self.jumps(start, end)])
        if self.constant:
            return jumps, self(jumps)
        step = min(STEP, 0.025 / max(self.fastest(start, end), 1e-9))
        step = max(step, (end - start) / MOST)
        times = np.unique(
            np.concatenate([jumps, start + step * np.arange(max(1, round((end - start) / step)))])
        )
        ends = np.append(times[1:], times[-1] + step)
        return times, self(0.5 * (times + ends))

    @property
    def fields(self) -> dict[str, float]:
        """Its numbers by name."""
        return {f.name: getattr(self, f.name) for f in numbers_of(self)}

    def __str__(self) -> str:
        """The words that `read` reads back."""
        told = [
            f"{f.name}={_digits(getattr(self, f.name))}{self._unit_words(f)}" for f in self._told_fields()
        ]
        return " ".join([self.name, *told])

    def __repr__(self) -> str:
        told = [f"{f.name}={_short(getattr(self, f.name))}" for f in self._told_fields()]
        told += [f"unit={self.unit!r}"] if self.unit else []
        return f"{self.name.replace('-', '_')}({', '.join(told)})"

    def _told_fields(self) -> list[dataclasses.Field]:
        return [f for f in numbers_of(self) if getattr(self, f.name) != f.default]

    def _unit_words(self, f: dataclasses.Field) -> str:
        unit = unit_of(f, self.unit) if self.unit or f.metadata["sort"] in ("s", "Hz") else ""
        return "" if unit == "1" else unit.replace(" ", "*")


@dataclass(frozen=True, kw_only=True, repr=False)
class Constant(Command):
    """Always the same."""

    name: ClassVar[str] = "constant"
    value: float = _number()

    def __call__(self, t: Any) -> np.ndarray:
        return np.full(np.shape(t), float(self.value))


@dataclass(frozen=True, kw_only=True, repr=False)
class Step(Command):
    """`start` until time `at`, then `start + size`."""

    name: ClassVar[str] = "step"
    size: float = _number()
    at: float = _number("s", 0.0)
    start: float = _number(default=0.0)

    def __call__(self, t: Any) -> np.ndarray:
        return self.start + self.size * (np.asarray(t) >= self.at)

    def jumps(self, start: float, end: float) -> np.ndarray:
        return _inside([self.at], start, end)


@dataclass(frozen=True, kw_only=True, repr=False)
class Ramp(Command):
    """Rises with `rate` per second from time `at` to time `until`, then holds."""

    name: ClassVar[str] = "ramp"
    constant: ClassVar[bool] = False
    rate: float = _number("value/s")
    at: float = _number("s", 0.0)
    start: float = _number(default=0.0)
    until: float = _number("s", math.inf)

    def __call__(self, t: Any) -> np.ndarray:
        return self.start + self.rate * (np.clip(t, self.at, self.until) - self.at)

    def jumps(self, start: float, end: float) -> np.ndarray:
        """Its corners: it does not jump, but is not smooth there."""
        return _inside([self.at, self.until], start, end)


@dataclass(frozen=True, kw_only=True, repr=False)
class Sine(Command):
    """Frequency in hertz, phase in radians."""

    name: ClassVar[str] = "sine"
    constant: ClassVar[bool] = False
    amplitude: float = _number()
    frequency: float = _number("Hz")
    phase: float = _number("rad", 0.0)
    offset: float = _number(default=0.0)

    def __call__(self, t: Any) -> np.ndarray:
        return self.offset + self.amplitude * np.sin(2 * np.pi * self.frequency * np.asarray(t) + self.phase)

    def fastest(self, start: float, end: float) -> float:
        return abs(self.frequency)


@dataclass(frozen=True, kw_only=True, repr=False)
class Chirp(Command):
    """A sine whose frequency changes linearly from `low` to `high` hertz over `duration` seconds."""

    name: ClassVar[str] = "chirp"
    constant: ClassVar[bool] = False
    amplitude: float = _number()
    low: float = _number("Hz")
    high: float = _number("Hz")
    duration: float = _number("s")
    offset: float = _number(default=0.0)

    def check(self) -> None:
        if self.duration <= 0:
            raise InvalidValue(f"chirp duration is {self.duration:g} s; expected more than 0")

    def __call__(self, t: Any) -> np.ndarray:
        t = np.asarray(t, float)
        turns = self.low * t + (self.high - self.low) * t * t / (2 * self.duration)
        return self.offset + self.amplitude * np.sin(2 * np.pi * turns)

    def fastest(self, start: float, end: float) -> float:
        return max(abs(self.low + (self.high - self.low) * t / self.duration) for t in (start, end))


@dataclass(frozen=True, kw_only=True, repr=False)
class Square(Command):
    """`offset + amplitude` for the first `duty` share of each period, `offset - amplitude` for the rest; a
    period begins at time `at`, and every one before and after it is alike."""

    name: ClassVar[str] = "square"
    amplitude: float = _number()
    frequency: float = _number("Hz")
    duty: float = _number("1", 0.5)
    offset: float = _number(default=0.0)
    at: float = _number("s", 0.0)

    def check(self) -> None:
        if not (math.isfinite(self.frequency) and self.frequency > 0):
            raise InvalidValue(f"square frequency is {self.frequency:g} Hz; expected more than 0")
        if not 0 <= self.duty <= 1:
            raise InvalidValue(f"square duty is {self.duty:g}; expected a share from 0 to 1")

    def __call__(self, t: Any) -> np.ndarray:
        periods = (np.asarray(t, float) - self.at) * self.frequency
        share = periods - np.floor(periods + NEAR)  # at a jump the new value holds, whatever rounding says
        return self.offset + self.amplitude * np.where(share < self.duty - NEAR, 1.0, -1.0)

    def jumps(self, start: float, end: float) -> np.ndarray:
        if not 0 < self.duty < 1:
            return np.zeros(0)
        _few(self.name, 2.0 * (end - start) * self.frequency)
        first, last = (math.floor((t - self.at) * self.frequency) for t in (start, end))
        periods = np.arange(first - 1, last + 2)
        both = np.concatenate([periods, periods + self.duty]) / self.frequency + self.at
        return _inside(both, start, end)


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomBinary(Command):
    """Jumps at random between the two signs; each value is held for a whole number of `hold` seconds,
    the first also before 0."""

    name: ClassVar[str] = "random-binary"
    amplitude: float = _number()
    hold: float = _number("s")
    seed: int = _number("count")
    offset: float = _number(default=0.0)

    def check(self) -> None:
        if self.hold <= 0:
            raise InvalidValue(f"random_binary hold is {self.hold:g} s; expected more than 0")
        if self.seed != round(self.seed) or self.seed < 0:
            raise InvalidValue(f"random_binary seed is {self.seed:g}; expected a whole number from 0 on")

    def __call__(self, t: Any) -> np.ndarray:
        _few(self.name, float(np.max(t, initial=0.0)) / self.hold)
        index = np.maximum(np.floor(np.asarray(t, float) / self.hold + NEAR).astype(int), 0)
        signs = np.random.default_rng(int(self.seed)).choice(
            [-1.0, 1.0], size=int(np.max(index, initial=0)) + 1
        )
        return self.offset + self.amplitude * signs[index]

    def jumps(self, start: float, end: float) -> np.ndarray:
        _few(self.name, end / self.hold)
        edges = _inside(self.hold * np.arange(1, max(0, math.floor(end / self.hold)) + 2), start, end)
        return edges[self(edges) != self(edges - 0.5 * self.hold)]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class HeldValues(Command):
    """Recorded values: each holds from its own time until the next; the first also before, the last also
    after."""

    name: ClassVar[str] = "held"
    times: np.ndarray
    values: np.ndarray

    def check(self) -> None:
        times, values = np.asarray(self.times, float), np.asarray(self.values, float)
        if times.shape != values.shape or times.ndim != 1 or len(times) == 0:
            raise InvalidValue(f"held needs as many times as values; got {times.shape} and {values.shape}")
        if not (np.isfinite(times).all() and np.isfinite(values).all()):
            raise InvalidValue("held needs finite times and values; drop or repair the samples that are not")
        if np.any(np.diff(times) <= 0):
            raise InvalidValue("held needs times that increase")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)

    def __call__(self, t: Any) -> np.ndarray:
        place = np.searchsorted(self.times, t, side="right") - 1
        return self.values[np.clip(place, 0, len(self.values) - 1)]

    def jumps(self, start: float, end: float) -> np.ndarray:
        return _inside(self.times[1:][np.diff(self.values) != 0], start, end)

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return f"held({len(self.times)} values from {self.times[0]:g} to {self.times[-1]:g} s)"


KINDS: dict[str, type[Command]] = {
    kind.name: kind for kind in (Constant, Step, Ramp, Sine, Chirp, Square, RandomBinary)
}
"""Every command that can be said in words, by name."""


def moments(given: Any, start: float, end: float) -> np.ndarray:
    """The times at which what was given as a command jumps; of a number, an array or an ordinary function
    nobody knows any.

    Args:
        given: a command, a number, an array or a function.
        start: after which they count [s].
        end: until which they count [s].

    Returns:
        Times [s], increasing.
    """
    return given.jumps(start, end) if isinstance(given, Command) else np.zeros(0)


def numbers_of(owner: Any) -> list[dataclasses.Field]:
    """Fields of a command that are its numbers."""
    return [f for f in dataclasses.fields(owner) if "sort" in f.metadata]


def unit_of(f: dataclasses.Field, unit: str) -> str:
    """What a number of a command is in; empty where nobody knows."""
    sort = f.metadata["sort"]
    if sort == VALUE:
        return unit
    if sort == "value/s":
        return "" if not unit else f"({unit})/s" if re.search(r"[ /]", unit) else f"{unit}/s"
    return "1" if sort == "count" else sort


def _few(name: str, n: float) -> None:
    if not n <= MOST_JUMPS:
        wanted = f"expected {MOST_JUMPS:g} at most: give it longer, or look for a shorter time"
        raise InvalidValue(f"{name} would jump up to {n:.3g} times; {wanted}")


def _inside(times: Any, start: float, end: float) -> np.ndarray:
    times = np.unique(np.asarray(times, float))
    return times[(times > start) & (times <= end)]


def _digits(value: float) -> str:
    return repr(float(value)).removesuffix(".0") if not isinstance(value, int) else str(value)


def _short(value: float) -> str:
    return f"{value:.6g}"
