"""Commands: step, ramp, sine, chirp, square, random binary, or recorded values held between samples.

Each is a small frozen function of time that knows its name, its numbers and the moments at which it jumps.
`str` writes it as words, which `read` reads back: "square amplitude=1.57rad period=2s duty=0.5".
"""

from __future__ import annotations

import math
from typing import Any

from .commands import (
    KINDS as KINDS,
    Chirp,
    Command as Command,
    Constant,
    HeldValues,
    Ramp,
    RandomBinary,
    Sine,
    Square,
    Step,
    moments as moments,
)
from .words import read as read, words as words


def constant(value: float) -> Command:
    return Constant(value=value)


def step(size: float, *, at: float = 0.0, start: float = 0.0) -> Command:
    """`start` until time `at`, then `start + size`."""
    return Step(size=size, at=at, start=start)


def ramp(rate: float, *, at: float = 0.0, start: float = 0.0, until: float = math.inf) -> Command:
    """Rises with `rate` per second from time `at` to time `until`, then holds."""
    return Ramp(rate=rate, at=at, start=start, until=until)


def sine(amplitude: float, frequency: float, *, phase: float = 0.0, offset: float = 0.0) -> Command:
    """A sine.

    Args:
        amplitude: in the target's own unit.
        frequency: [Hz].
        phase: at time 0 [rad].
        offset: around which it swings.

    Returns:
        A function of time [s].
    """
    return Sine(amplitude=amplitude, frequency=frequency, phase=phase, offset=offset)


def chirp(amplitude: float, low: float, high: float, duration: float, *, offset: float = 0.0) -> Command:
    """A sine whose frequency rises linearly from `low` to `high` hertz over `duration` seconds."""
    return Chirp(amplitude=amplitude, low=low, high=high, duration=duration, offset=offset)


def square(
    amplitude: float, frequency: float, *, duty: float = 0.5, offset: float = 0.0, at: float = 0.0
) -> Command:
    """`offset + amplitude` for the first `duty` share of each period, `offset - amplitude` for the rest.

    Args:
        amplitude: in the target's own unit.
        frequency: [Hz].
        duty: share of a period at the upper value.
        offset: between the two values.
        at: when a period begins [s].

    Returns:
        A function of time [s].

    Raises:
        InvalidValue: a frequency that is not above 0, or a duty outside 0 to 1.
    """
    return Square(amplitude=amplitude, frequency=frequency, duty=duty, offset=offset, at=at)


def random_binary(amplitude: float, hold: float, *, seed: int, offset: float = 0.0) -> Command:
    """Jumps at random between the two signs; each value is held for a whole number of `hold` seconds,
    the first also before 0."""
    return RandomBinary(amplitude=amplitude, hold=hold, seed=seed, offset=offset)


def held(times: Any, values: Any) -> Command:
    """Recorded values: each holds from its own time until the next;
    the first also before, the last also after."""
    return HeldValues(times=times, values=values)
