"""Trajectory: what a simulation returns, named SI signals at the output over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import UnknownName
from ..findings import Finding
from ..model.actuator import Actuator
from ..model.bench import Bench
from ..tables import Displayed, Overview, frame


@dataclass(frozen=True, kw_only=True, repr=False)
class Trajectory(Displayed):
    """Signals by name, each as long as `time`: `trajectory.position`, or `trajectory["bristle"]`.

    Sample k is the moment time[k], at which the command of row k takes over. `energy` holds, where it was
    asked for, the energy moved since the start [J] by name, and what is stored.
    """

    time: np.ndarray
    signals: Mapping[str, np.ndarray]
    actuator: Actuator
    bench: Bench
    substeps: int
    """Integration steps per sample."""
    refinement: float | None = None
    """Largest change of position [rad or m] when the substeps were doubled;
    None where the caller fixed their number."""
    energy: Mapping[str, np.ndarray] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    """What must be known before these numbers are used."""

    def __getitem__(self, name: str) -> np.ndarray:
        if name == "time":
            return self.time
        if name not in self.signals:
            raise UnknownName("signal", name, [*self.signals, "time"])
        return self.signals[name]

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_") or name == "signals":
            raise AttributeError(name)
        try:
            return self.signals[name]
        except KeyError:
            raise AttributeError(f"no signal {name!r}; there are: {', '.join(self.signals)}") from None

    def __len__(self) -> int:
        return len(self.time)

    def overview(self) -> Overview:
        seconds, n = self.time[-1] - self.time[0], len(self)
        rows = [
            (name, float(v[0]), float(v[-1]), float(np.min(v)), float(np.max(v)))
            for name, v in self.signals.items()
        ]
        what = f"{self.actuator.drive.kind} with {self.actuator.friction.kind} on {self.bench.kind}"
        return Overview(
            f"{seconds:.4g} s of {what}, {n} samples of {self.substeps} steps",
            ("signal", "first", "last", "least", "most"),
            rows,
            self.findings,
        )

    def to_pandas(self) -> Any:
        """Every signal over time as a pandas DataFrame."""
        return frame({"time": self.time, **self.signals}, "time")

    def final_state(self) -> dict[str, float]:
        """The state at the last sample, to start another run from."""
        return {name: float(self.signals[name][-1]) for name in self.actuator.states}
