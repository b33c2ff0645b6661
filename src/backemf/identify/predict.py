"""What a fit says a log should have looked like: every sample of every state, and how far off it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..logs.log import Log, Signal
from ..physics.actuator import Actuator, signals
from ..results.fit import Fit
from . import bench_numbers
from .free import Free
from .residual import Problem, fitted_drive, problem

ROLES = ("training", "held out", "not in the fit")
SAME = 1e-3
"""Relative difference up to which an error counts as the one that the fit stored for this log."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A log and what the fit makes of it, on the log's own samples."""

    log: Log
    """With the bench as the fit found it."""
    role: str
    actuator: Actuator
    """With the settings of this log."""
    states: Mapping[str, np.ndarray] = field(repr=False)
    signals: Mapping[str, np.ndarray] = field(repr=False)
    """Voltage, current and motor torque at the output."""
    error: float
    """Mean absolute error of position [rad or m]."""
    stored: float | None
    """The same as the fit stored it; None where this log was not in the fit."""
    posed: Problem = field(repr=False, compare=False)
    """The log as the engine took it, for whoever runs it again with other numbers."""

    @property
    def position(self) -> np.ndarray:
        return self.states["position"]

    @property
    def velocity(self) -> np.ndarray:
        return self.states["velocity"]

    @property
    def load(self) -> np.ndarray:
        """Torque of the bench on the joint along the run."""
        assert self.log.bench is not None
        inputs: dict[str, Any] = {name: self.log[name] for name in self.log.bench.series}
        q: Any = self.position
        w: Any = self.velocity
        return np.asarray(self.log.bench.load(q, w, inputs)) + np.zeros(len(self.log))

    @property
    def another(self) -> bool:
        """Whether the error is not the one stored: a log of the same name that is not the same recording."""
        return self.stored is not None and abs(self.error - self.stored) > SAME * self.stored


def role(fit: Fit, name: str) -> str:
    return "training" if name in fit.training else "held out" if name in fit.held_out else "not in the fit"


def as_found(fit: Fit, log: Log) -> Log:
    """The log with the bench's numbers that the fit found, such as where the arm hangs."""
    log = bench_numbers.as_found(fit.bench, log)
    freed = {path.partition(".")[2]: p.value for path, p in fit.parameters.items() if path[:6] == "bench."}
    return replace(log, bench=replace(log.bench, **freed)) if freed and log.bench is not None else log


def run(fit: Fit, log: Log) -> Prediction:
    """Simulate a log from its start and what was asked; nothing is fitted."""
    log = as_found(fit, log)
    actuator, _ = fitted_drive(fit.actuator, [log])
    late = bench_numbers.as_late(actuator, [log], fit.bench)
    p = problem(actuator, [log], Free(tuple(late)), outputs=("position",), substeps=fit.substeps)
    (one,) = p.logs
    states = dict(zip(p.system.states, p.states(p.first)[0].T, strict=True))
    here = actuator.replace(**{path: v for path, v in one.settings.items() if path in actuator.parameters})
    here = bench_numbers.with_latency(here, fit.bench)
    delay = late[0].start if late else here.drive.delay
    inputs: dict[str, Any] = {}
    for name, asked in zip(p.system.inputs, one.inputs.T, strict=True):
        late_by = delay if delay and name.endswith("_target") else 0.0
        inputs[name] = Signal(time=one.time, values=asked).held(log.time - late_by)
    told = {n: np.asarray(v) + np.zeros(len(log)) for n, v in signals(here, states, inputs).items()}
    return Prediction(
        log=log,
        role=role(fit, log.name),
        actuator=here,
        states=states,
        signals=told,
        error=float(np.nanmean(np.abs(states["position"] - log["position"]))),
        stored={**fit.training, **fit.held_out}.get(log.name),
        posed=p,
    )


def predict(fit: Fit, log: Log) -> np.ndarray:
    """Simulated position on a log's samples, from its start and what was asked; nothing is fitted."""
    return run(fit, log).position
