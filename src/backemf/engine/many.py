"""The same command for many candidates: one actuator with different numbers, all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidValue, SignalError, UnknownName
from ..physics.actuator import Actuator
from ..physics.bench import Bench
from . import population
from .compile.kernels import kernels
from .compile.memory import new_array
from .rows import DELAY, check_substeps
from .simulate import Prepared, prepared, simulate
from .system import ActuatorSystem

TOGETHER = 64
"""Candidates that the processor runs in one call where their motion is kept."""


@dataclass(frozen=True, kw_only=True)
class Many:
    """What became of every candidate."""

    time: np.ndarray
    vary: dict[str, np.ndarray]
    """The numbers of the candidates, by path."""
    signals: dict[str, np.ndarray]
    """States over time, (candidates, samples); empty where only errors were asked for."""
    error: np.ndarray | None
    """Root mean square of position less what was measured, for each candidate [rad or m]."""
    substeps: int
    on: str

    def __len__(self) -> int:
        return len(next(iter(self.vary.values())))

    @property
    def best(self) -> dict[str, float]:
        """The numbers of the candidate with the least error."""
        if self.error is None:
            raise InvalidValue("no candidate is the best: simulate_many was not given what was measured")
        k = int(np.nanargmin(self.error))
        return {path: float(values[k]) for path, values in self.vary.items()}


def simulate_many(
    actuator: Actuator,
    bench: Bench,
    command: Any = None,
    *,
    vary: Mapping[str, Any],
    measured: Any = None,
    keep: Sequence[str] = ("position",),
    duration: float | None = None,
    dt: float = 0.001,
    time: Any = None,
    start: Mapping[str, float] | None = None,
    substeps: int | None = None,
    tolerance: float = 1e-4,
    on: str = "cpu",
    precision: str = "single",
) -> Many:
    """Simulate one command for many candidates.

    vary        path -> numbers, one for each candidate: parameters of the actuator, or `bench.mass` and the
                like; everything else is the actuator's and the bench's
    measured    position at the sample times, NaN where it was not measured: then errors are summed on the way
                and no motion is kept
    keep        states whose motion is kept otherwise
    substeps    integration steps per sample; without it as many as the actuator itself needs (`simulate`)
    on          'cpu', in 64 bits on all processors; or 'gpu', an NVIDIA GPU through Warp
    precision   of a GPU: 'single' (32 bits, sums compensated), 'fast' (its quickest functions), 'double'

    The command and the rest are `simulate`'s.
    """
    population.check_place(on)
    ready = prepared(actuator, bench, command, duration=duration, dt=dt, time=time, start=start)
    P, numbers = _candidates(ready.system, vary)
    if substeps is None:
        options: dict[str, Any] = {"start": start, "tolerance": tolerance, "warn": False}
        substeps = simulate(actuator, bench, command, time=ready.times, **options).substeps
    n = check_substeps(substeps)
    S = np.broadcast_to(np.array(list(ready.start.values())), (len(P), len(ready.start)))
    signals, error = {}, None
    if measured is not None:
        error = _errors(ready, P, S, n, measured, on, precision)
    else:
        for name in keep:
            if name not in ready.system.states:
                raise UnknownName("state", name, ready.system.states)
        kept = _motions(ready, P, S, n, tuple(keep), on, precision)
        signals = {name: kept[:, :, i] for i, name in enumerate(keep)}
    return Many(time=ready.times, vary=numbers, signals=signals, error=error, substeps=n, on=on)


def _candidates(system: ActuatorSystem, vary: Mapping[str, Any]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(parameters, a row for each candidate; the numbers given, by path)."""
    names = system.parameters
    numbers = {path: np.atleast_1d(np.asarray(values, float)) for path, values in vary.items()}
    if not numbers:
        raise InvalidValue("vary is empty; expected paths with a number for each candidate")
    count = max(len(values) for values in numbers.values())
    for path, values in numbers.items():
        if path == DELAY or path not in names:
            raise UnknownName("parameter to vary", path, (name for name in names if name != DELAY))
        if values.ndim != 1 or len(values) not in (1, count):
            raise InvalidValue(f"vary has {values.shape} numbers for {path}; expected {count}, one each")
    P = np.tile(np.array(list(names.values())), (count, 1))
    for path, values in numbers.items():
        P[:, list(names).index(path)] = values
    return P, {path: np.broadcast_to(values, count).copy() for path, values in numbers.items()}


def _errors(
    ready: Prepared, P: np.ndarray, S: np.ndarray, n: int, measured: Any, on: str, precision: str
) -> np.ndarray:
    given = np.asarray(measured, float)
    if given.shape != ready.times.shape:
        raise SignalError(f"measured has shape {given.shape}; expected {ready.times.shape}, one a sample")
    if not np.isfinite(given).any():
        raise SignalError("measured has no finite number; expected at least one")
    loops = kernels(ready.system)
    log = loops.batch(ready.rows)
    seen = np.full(log.n_samples, np.nan)
    seen[ready.samples] = given
    cost = loops.cost(P, S, log, n, seen, on=on, precision=precision)[:, 0]
    return np.sqrt(2.0 * cost / np.isfinite(given).sum())


def _motions(
    ready: Prepared, P: np.ndarray, S: np.ndarray, n: int, keep: tuple[str, ...], on: str, precision: str
) -> np.ndarray:
    """The states that are kept, (candidates, samples, states)."""
    size = len(P), len(ready.times), len(keep)
    found = new_array("the motion of all candidates", "give `measured`, or fewer candidates", *size)
    if on == "gpu":
        system = ActuatorSystem(
            actuator=ready.system.actuator, bench=ready.system.bench, inputs=ready.system.inputs, outputs=keep
        )
        log = kernels(system).batch(ready.rows)
        found[:] = population.outputs(system, P, S, log, n, precision=precision)[:, ready.samples]
        return found
    loops = kernels(ready.system)
    columns = [ready.system.states.index(name) for name in keep]
    for first in range(0, len(P), TOGETHER):
        some = slice(first, first + TOGETHER)
        logs = loops.batch([ready.rows] * len(P[some]))
        states = loops.trajectory(P[some], S[some], logs, n)
        found[some] = states.reshape(len(P[some]), -1, states.shape[1])[:, ready.samples][:, :, columns]
    return found
