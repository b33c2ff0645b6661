"""A recording of n joints beside what a fit makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..logs.log import Log


@dataclass(frozen=True, kw_only=True)
class PredictedMotion:
    """A recording of n joints and what the fit makes of it; the one joint of a bench is called ""."""

    log: Log
    """A bench's with its numbers as the fit found them."""
    role: str
    """'training', 'held out' or 'not in the fit'."""
    joints: tuple[str, ...]
    """Those that were fitted."""
    time: np.ndarray = field(repr=False)
    """[s]"""
    positions: Mapping[str, np.ndarray] = field(repr=False)
    """By joint, those of a robot that were not fitted as they were recorded [rad or m]."""
    recorded: Mapping[str, np.ndarray] = field(repr=False)
    """By joint; NaN where nothing was."""
    asked: Mapping[str, np.ndarray] = field(repr=False)
    """By fitted joint, the position that was asked for, where one was."""
    touched: np.ndarray = field(repr=False)
    """Samples in which the robot touches something."""
    fit: Any = field(repr=False, compare=False)
    recording: Any = field(default=None, repr=False, compare=False)
    """Of a robot, for `identify.predict`: its motion, what joints carry along it, how near it comes to the
    ground."""

    def array(self, which: str = "positions") -> np.ndarray:
        """'positions' or 'recorded' of all joints, (samples, joints), as the robot has them."""
        return np.stack(list(getattr(self, which).values()), axis=1)

    def rms(self, positions: Mapping[str, np.ndarray] | None = None, *, free: bool = False) -> float | None:
        """Root mean square error over the fitted joints [rad or m]; None where no sample is left.

        Args:
            positions: by joint, those of another model on the same clock; without it the fit's.
            free: without the samples in which the robot touches something.
        """
        said = self.positions if positions is None else positions
        kept = ~self.touched if free else np.ones(len(self.time), bool)
        error = np.stack([(said[j] - self.recorded[j])[kept] for j in self.joints], axis=1)
        return float(np.sqrt(np.nanmean(error**2))) if len(error) else None
