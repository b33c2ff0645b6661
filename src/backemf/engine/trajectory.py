"""Trajectory: what a simulation returns, named SI signals at the output over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import UnknownName
from ..findings import Finding
from ..physics.actuator import Actuator, linear_unit
from ..physics.bench import Bench
from ..tables import Displayed, Overview, frame

UNITS = {
    **{"position": "rad", "velocity": "rad/s", "torque": "N m", "load": "N m", "inertia": "kg m^2"},
    **{"current": "A", "voltage": "V", "supply": "V", "temperature": "degC", "winding_temperature": "degC"},
    **{"case_temperature": "degC", "housing_temperature": "degC"},
}
"""What a trajectory's signals are in; those that are not named are plain numbers."""


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

    def columns(self) -> dict[str, np.ndarray]:
        """Time, every signal and the energy book by name and unit, as a table's columns: what `be.read` reads
        back as a log. The winding's temperature, a state, is there once: as the signal `temperature`."""
        signals = {name: x for name, x in self.signals.items() if name != "winding_temperature"}
        table = {"time [s]": self.time, **{f"{name} [{self._unit(name)}]": x for name, x in signals.items()}}
        return {**table, **{f"energy_{name} [J]": x for name, x in self.energy.items()}}

    def _unit(self, name: str) -> str:
        unit = UNITS.get(name) or UNITS.get(name.removeprefix("rotor_")) or "1"
        if name.endswith("_target") or name == "setpoint":
            unit = UNITS.get(name.removesuffix("_target"), "rad")
        return linear_unit(unit) if self.actuator.motion == "linear" else unit

    def final_state(self) -> dict[str, float]:
        """The state at the last sample, to start another run from."""
        return {name: float(self.signals[name][-1]) for name in self.actuator.states}
