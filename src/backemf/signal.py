"""Commands: step, ramp, sine, chirp, square, random binary, or recorded values held between samples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .errors import InvalidValue

Command = Callable[[np.ndarray], np.ndarray]
"""A command as a function of time [s]."""


def constant(value: float) -> Command:
    return lambda t: np.full_like(t, value, dtype=float)


def step(size: float, *, at: float = 0.0, start: float = 0.0) -> Command:
    """`start` until time `at`, then `start + size`."""
    return lambda t: start + size * (t >= at)


def ramp(rate: float, *, at: float = 0.0, start: float = 0.0, until: float = np.inf) -> Command:
    """Rises with `rate` per second from time `at` to time `until`, then holds."""
    return lambda t: start + rate * (np.clip(t, at, until) - at)


def sine(amplitude: float, frequency: float, *, phase: float = 0.0, offset: float = 0.0) -> Command:
    """Frequency in hertz, phase in radians."""
    return lambda t: offset + amplitude * np.sin(2 * np.pi * frequency * t + phase)


def chirp(amplitude: float, low: float, high: float, duration: float, *, offset: float = 0.0) -> Command:
    """A sine whose frequency rises linearly from `low` to `high` hertz over `duration` seconds."""
    if duration <= 0:
        raise InvalidValue(f"chirp duration is {duration:g} s; expected more than 0")
    return lambda t: (
        offset + amplitude * np.sin(2 * np.pi * (low * t + (high - low) * t * t / (2 * duration)))
    )


def square(
    amplitude: float, frequency: float, *, duty: float = 0.5, offset: float = 0.0, at: float = 0.0
) -> Command:
    """`offset + amplitude` for the first `duty` share of each period, `offset - amplitude` for the rest."""
    return lambda t: offset + amplitude * np.where(((t - at) * frequency) % 1.0 < duty, 1.0, -1.0)


def random_binary(amplitude: float, hold: float, *, seed: int, offset: float = 0.0) -> Command:
    """Jumps at random between the two signs; each value is held for a whole number of `hold` seconds,
    the first also before 0."""
    if hold <= 0:
        raise InvalidValue(f"random_binary hold is {hold:g} s; expected more than 0")

    def values(t: np.ndarray) -> np.ndarray:
        index = np.maximum(np.floor(t / hold + 1e-9).astype(int), 0)
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=int(index.max()) + 1)
        return offset + amplitude * signs[index]

    return values


def held(times: np.ndarray, values: np.ndarray) -> Command:
    """Recorded values: each holds from its own time until the next;
    the first also before, the last also after."""
    times, values = np.asarray(times, float), np.asarray(values, float)
    if times.shape != values.shape or times.ndim != 1 or len(times) == 0:
        raise InvalidValue(f"held needs as many times as values; got {times.shape} and {values.shape}")
    if not (np.isfinite(times).all() and np.isfinite(values).all()):
        raise InvalidValue("held needs finite times and values; drop or repair the samples that are not")
    if np.any(np.diff(times) <= 0):
        raise InvalidValue("held needs times that increase")
    return lambda t: values[np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(values) - 1)]
