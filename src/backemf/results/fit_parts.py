"""What a fit consists of: its numbers with their errors, the logs it saw, the starts and rungs it tried, and
how a robot's joints do together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import store
from ..logs.log import Log
from ..physics.bench import Bench
from ..tables import number


@dataclass(frozen=True, kw_only=True)
class FittedParameter(store.Noun, stored_as="Fitted"):
    """One fitted parameter."""

    path: str
    value: float
    error: float
    """Standard error, by how much the recordings disagree with each other."""
    low: float
    high: float
    """95 % interval that goes with it."""
    unit: str
    start: float
    prior: tuple[float, float] | None = None
    """(value, error) stated before the fit, or None."""
    told_by: str = "data"
    """'data', 'prior' where the data leaves it open, or 'both'."""
    error_if_right: float | None = None
    """Standard error if the model is right, so that only noise and the bench's tolerances count."""
    low_if_right: float | None = None
    high_if_right: float | None = None
    knee: float = 0.0
    """Size below which its error is even on the plain scale, for numbers that may vanish; 0: on the scale of
    the logarithm."""


@dataclass(frozen=True, kw_only=True)
class BenchNumber(store.Noun):
    """A number of the bench or of the recording that the fit found along, and whose it is."""

    path: str
    group: str
    """What the logs that share it have in common, in words; empty where it is common to all."""
    stated: float
    tolerance: float
    value: float
    error: float
    unit: str
    logs: tuple[str, ...]

    @property
    def pull(self) -> float:
        """How many tolerances the data move it."""
        return (self.value - self.stated) / self.tolerance

    def __str__(self) -> str:
        name = self.path.partition(".")[2].replace("_", " ")
        whose = f" ({self.group})" if self.group else ""
        stated = f"stated {number(self.stated)} +- {number(self.tolerance, 2)}"
        return f"{name}{whose} {number(self.value)} +- {number(self.error, 2)} {self.unit}, {stated}"


@dataclass(frozen=True, kw_only=True)
class Start(store.Noun):
    """Where one start ended."""

    cost: float
    mae: float
    """Mean absolute error of position on the training logs."""
    ended: str
    n_evaluations: int
    parameters: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class FittedLog(store.Noun):
    """What a fit remembers of a log: enough to find the file again and to say what it was."""

    name: str
    source: str
    """The file it was read from, as it was given; empty where it came from arrays."""
    bench: Bench | None
    settings: Mapping[str, float]
    duration: float
    """[s]"""
    rate: float | None
    """Samples per second."""
    n_samples: int
    commands: Mapping[str, str] = field(default_factory=dict)
    """What was asked as a function of time, by signal, in the words of `be.signal.read`."""
    told: tuple[str, ...] = ()
    """How its channels were said to be read: position=motor_pos[deg],-1."""

    @staticmethod
    def of(log: Log) -> FittedLog:
        first = next(iter(log.joints.values()), log)
        rate = first.signals[first.clock].rate
        return FittedLog(
            name=log.name,
            source=log.source,
            bench=log.bench,
            settings=dict(log.settings),
            duration=float(log.time[-1] - log.time[0]),
            rate=rate if math.isfinite(rate) else None,
            n_samples=len(log),
            commands={name: str(command) for name, command in log.commands.items()},
            told=log.told,
        )


@dataclass(frozen=True, kw_only=True)
class LadderRung(store.Noun, stored_as="Tried"):
    """One friction model of the ladder that this fit was chosen from."""

    friction: str
    n_parameters: int | None
    training_mae: float | None
    held_out_mae: float | None
    standard_error: float
    """Of the held-out error."""
    chosen: bool
    reason: str = ""
    """Why there is no fit."""
    parameters: Mapping[str, float] = field(default_factory=dict)
    """What it found, by name; empty in fits stored before this was kept."""


@dataclass(frozen=True, kw_only=True)
class Score(store.Noun):
    """How far all joints of a robot, simulated together, are from recordings."""

    rms: float
    """Root mean square over joints and samples [rad]."""
    rms_free: float
    """The same without the samples in which the robot touches something."""
    held_out: bool
    """Whether no number was fitted to these recordings."""
    joints: Mapping[str, float]
    """Root mean square by joint."""
    logs: Mapping[str, float]
    """By recording."""
    joints_free: Mapping[str, float] = field(default_factory=dict)
    share_touched: float = 0.0
    """Share of the samples in which the robot touches something."""
