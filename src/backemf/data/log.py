"""Log: a recording in SI, with the bench it was made on,
and a record of everything that was converted or guessed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import InvalidValue, MissingValue, SignalError, UnknownName
from ..findings import Finding
from ..model.actuator import Actuator
from ..model.bench import Bench
from ..tables import Displayed, Overview, frame

MEASURED = (
    "position",
    "velocity",
    "current",
    "voltage",
    "torque",
    "temperature",
    "supply",
    "inertia",
    "load",
)
"""What a recording may have measured: values at their own moments.
Inertia and load belong to a Recorded bench."""
ASKED = ("position_target", "velocity_target", "torque_target", "voltage_target", "current_target", "enabled")
"""What was asked: values that hold until the next one."""
UNITS = {
    "time": "s",
    "position": "rad",
    "velocity": "rad/s",
    "current": "A",
    "voltage": "V",
    "torque": "N m",
    "temperature": "degC",
    "supply": "V",
    "inertia": "kg m^2",
    "load": "N m",
    "position_target": "rad",
    "velocity_target": "rad/s",
    "torque_target": "N m",
    "voltage_target": "V",
    "current_target": "A",
    "enabled": "1",
}


@dataclass(frozen=True, kw_only=True)
class Signal:
    """One channel on its own clock: times [s] and values in SI, NaN where a sample is missing."""

    time: np.ndarray
    values: np.ndarray

    def __post_init__(self) -> None:
        time, values = np.asarray(self.time, float), np.asarray(self.values, float)
        if time.ndim != 1 or time.shape != values.shape or len(time) == 0:
            raise SignalError(
                f"a signal has {time.shape} times and {values.shape} values; expected one row each, as long"
                " as each other"
            )
        if not np.isfinite(time).all():
            raise SignalError(
                f"the time of a signal is not finite at sample {int(np.argmax(~np.isfinite(time)))}"
            )
        if np.any(np.diff(time) <= 0):
            k = int(np.argmax(np.diff(time) <= 0)) + 1
            raise SignalError(
                f"the time of a signal does not increase at sample {k}: {time[k - 1]:g} s, then {time[k]:g} s"
            )
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        return f"Signal({len(self.time)} samples from {self.time[0]:g} to {self.time[-1]:g} s)"

    @property
    def rate(self) -> float:
        """Samples per second: one over the median step; NaN for a single sample."""
        return 1.0 / float(np.median(np.diff(self.time))) if len(self.time) > 1 else math.nan

    @property
    def jitter(self) -> float:
        """Standard deviation of the steps between samples [s]."""
        return float(np.std(np.diff(self.time))) if len(self.time) > 1 else math.nan

    @property
    def gap(self) -> float:
        """The longest step between samples [s]."""
        return float(np.max(np.diff(self.time))) if len(self.time) > 1 else math.nan

    def held(self, times: np.ndarray) -> np.ndarray:
        """The value in force at each time: the newest sample not later; before the first, the first."""
        return self.values[
            np.clip(np.searchsorted(self.time, times, side="right") - 1, 0, len(self.values) - 1)
        ]

    def measured(self, times: np.ndarray) -> np.ndarray:
        """Samples taken at (almost) these times, NaN where there is none; nothing is interpolated."""
        step = np.median(np.diff(self.time)) if len(self.time) > 1 else np.inf
        k = (
            np.clip(np.searchsorted(self.time, times), 1, len(self.time) - 1)
            if len(self.time) > 1
            else np.zeros(len(times), int)
        )
        k = (
            k - (np.abs(times - self.time[k - 1]) <= np.abs(times - self.time[k]))
            if len(self.time) > 1
            else k
        )
        near = np.abs(self.time[k] - times) <= 1e-3 * step + 1e-9
        return np.where(near, self.values[k], np.nan)


@dataclass(frozen=True, kw_only=True, repr=False)
class Log(Displayed):
    """A recording. Its clock is that of its position (or of its first measured signal);
    nothing is stretched."""

    name: str
    signals: Mapping[str, Signal]
    bench: Bench | None = None
    settings: Mapping[str, float] = field(default_factory=dict)
    """Parameters of the actuator that were set for this recording, by path: {"drive.proportional": 8.0}."""
    motion: str = "rotary"
    conversions: tuple[str, ...] = ()
    """What was converted, mapped, left out or guessed while reading, in words."""
    findings: tuple[Finding, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        if not self.signals:
            raise SignalError(f"{self.name}: no signals")
        if self.motion not in ("rotary", "linear"):
            raise InvalidValue(f"{self.name}: motion is {self.motion!r}; expected 'rotary' or 'linear'")
        for name in self.signals:
            if name not in UNITS or name == "time":
                raise UnknownName(f"signal in {self.name}", name, (*MEASURED, *ASKED))

    @property
    def time(self) -> np.ndarray:
        """The log's clock [s]."""
        return self.signals[self.clock].time

    @property
    def clock(self) -> str:
        """The signal whose times are the log's."""
        return next((name for name in MEASURED if name in self.signals), next(iter(self.signals)))

    def __getitem__(self, name: str) -> np.ndarray:
        """A signal on the log's clock: held where it was asked,
        as sampled (NaN elsewhere) where it was measured."""
        if name == "time":
            return self.time
        if name not in self.signals:
            raise UnknownName(f"signal in {self.name}", name, self.signals)
        signal = self.signals[name]
        if signal.time is self.time or np.array_equal(signal.time, self.time):
            return signal.values
        return (
            signal.held(self.time)
            if name in ASKED or name in ("supply", "inertia", "load")
            else signal.measured(self.time)
        )

    def __contains__(self, name: object) -> bool:
        return name in self.signals

    def __len__(self) -> int:
        return len(self.time)

    def overview(self) -> Overview:
        bench = "no bench" if self.bench is None else self.bench.kind
        rows = [
            (name, len(s.time), s.rate, float(np.nanmin(s.values)), float(np.nanmax(s.values)), UNITS[name])
            for name, s in self.signals.items()
        ]
        seconds = self.time[-1] - self.time[0]
        title = f"{self.name}, {seconds:.4g} s on {bench}, {len(self)} samples of {self.clock}"
        return Overview(
            title, ("signal", "samples", "rate [Hz]", "least", "most", "unit"), rows, self.findings
        )

    def to_pandas(self) -> Any:
        """Every signal on the log's clock as a pandas DataFrame."""
        return frame({"time": self.time, **{name: self[name] for name in self.signals}}, "time")

    def between(self, start: float, end: float) -> Log:
        """The part of the log from `start` to `end` seconds."""
        cut = {}
        for name, signal in self.signals.items():
            keep = (signal.time >= start) & (signal.time <= end)
            if np.any(keep):
                cut[name] = Signal(time=signal.time[keep], values=signal.values[keep])
        if not cut:
            raise SignalError(
                f"{self.name}: nothing between {start:g} and {end:g} s; the log runs from {self.time[0]:g} to"
                f" {self.time[-1]:g} s"
            )
        return replace(self, signals=cut, conversions=(*self.conversions, f"cut to {start:g} .. {end:g} s"))


def actuator_and_logs(verb: str, actuator: Any, logs: Any) -> tuple[Actuator, list[Log]]:
    """What a verb was given, or a sentence that says what it wants."""
    first = actuator if isinstance(actuator, (Log, Actuator, str)) else next(iter(_several(actuator)), None)
    if isinstance(first, Log) or isinstance(logs, Actuator):
        raise InvalidValue(f"{verb} was given the logs first; expected {verb}(actuator, logs)")
    if not isinstance(actuator, Actuator):
        hint = ": its .actuator is one" if hasattr(actuator, "actuator") else ""
        raise InvalidValue(f"{verb} was given a {type(actuator).__name__} first; expected an Actuator{hint}")
    recordings = [logs] if isinstance(logs, Log) else list(_several(logs))
    for item in recordings:
        if not isinstance(item, Log):
            raise InvalidValue(
                f"{verb} was given a {type(item).__name__} among the logs;"
                " expected Logs, as be.read(...) gives"
            )
    if not recordings:
        raise MissingValue(f"{verb} was given no logs; expected at least one")
    return actuator, recordings


def _several(given: Any) -> Iterable[Any]:
    """The members of a collection; anything else alone."""
    return given if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else (given,)


def log(
    name: str,
    time: Any,
    *,
    bench: Bench | None = None,
    settings: Mapping[str, float] | None = None,
    motion: str = "rotary",
    **signals: Any,
) -> Log:
    """A log from arrays that share one clock: `log("step 1", t, position=q, voltage_target=v, bench=...)`."""
    time = np.asarray(time, float)
    return Log(
        name=name,
        signals={k: Signal(time=time, values=v) for k, v in signals.items()},
        bench=bench,
        settings=settings or {},
        motion=motion,
    )
