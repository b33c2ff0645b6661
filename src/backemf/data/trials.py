"""Trial: one test of a mechanism, input and motion each on its own clock; Segment: the part of it that tells
about motion."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from .codec import Noun


@dataclass(frozen=True, kw_only=True)
class Trial(Noun):
    """One test: the input holds from each of its times to the next; position and velocity are samples."""

    test: str
    time: np.ndarray
    input: np.ndarray
    """Volts, or amperes of each motor."""
    velocity_time: np.ndarray
    velocity: np.ndarray
    position_time: np.ndarray
    position: np.ndarray
    """May be empty."""
    supply: np.ndarray = field(default_factory=lambda: np.empty(0))
    part: str = ""
    """Of a drivetrain: left, right or angular; left and right with " turning" where the sides ran against
    each other."""
    name: str = ""
    motion: str = ""
    """rotary or linear; empty where nobody said."""
    mechanism: str = ""
    """What was tested, where the file names it."""

    @property
    def slow(self) -> bool:
        return self.test.startswith("quasistatic")

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True, kw_only=True)
class Segment(Noun):
    """What is compared with a simulation."""

    run: Trial
    time: np.ndarray
    input: np.ndarray
    velocity_time: np.ndarray
    velocity: np.ndarray
    position_time: np.ndarray
    position: np.ndarray
    rests: bool
    """Begins at rest; otherwise in motion, with an unknown first velocity."""
    onset: float
    """When the input begins to act [s]."""
    start_position: float
    noise_velocity: float
    noise_position: float
    smooth: np.ndarray
    """Velocity averaged over as many samples as it takes to see motion."""
    resolution: float = 0.0
    """Step of the position's grid, where that is coarser than its noise."""
    derived: bool = False
    """Whether velocity is nothing but differences of position."""
    breakaway: float = math.nan
    """Input of a slow test when it was seen to move."""
    clear: float = 0.0
    """Velocity from which a slow test is seen to move."""
    width: int = 1
    """Samples over which velocity is averaged for that."""
    stopped: float = math.nan
    """When it ran into something [s]."""
    stale: float = 0.0
    """Share of samples that repeat the one before."""
