"""One log as the engine takes it: inputs as rows, what was measured, what it fixes, and where it begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..engine.rows import Delay, HeldInputs, hold_inputs
from ..engine.simulate import is_late
from ..errors import InvalidValue
from ..logs.log import Log, StartState, bench_of, starts_of, targets
from ..physics.actuator import Actuator
from ..physics.bench import Bench
from ..physics.quantity import parameters
from .bench_numbers import with_angle
from .parameters import FreeParameters


class PreparedLog(NamedTuple):
    """One log as the engine takes it."""

    log: Log
    rows: HeldInputs
    measured: np.ndarray
    """(n_samples, n_outputs), NaN where nothing was measured."""
    settings: dict[str, float]
    """Parameters that this log fixes, bench included."""
    starts: list[dict[str, float]]
    """States at the first sample of each of its stretches."""
    bench: Bench
    inputs: np.ndarray
    """What was asked, before any delay."""
    time: np.ndarray
    """The log's clock, with every moment at which a command that is known as a function changes."""
    samples: np.ndarray
    """Where the log's own samples are on that clock."""
    stretches: list[StartState]
    """Where the model starts, and where it starts anew behind long gaps; samples are on that clock."""
    joint: str = ""
    """Whose it is; the one joint of a bench has no name."""
    recording: str = ""
    """Which recording of the robot it is cut from."""


def prepare(actuator: Actuator, log: Log, outputs: Sequence[str], free: FreeParameters) -> PreparedLog:
    """A log's inputs as rows, its measurements, settings and start.

    Args:
        actuator: whose drive says which commands act.
        log: with its bench.
        outputs: signals that are compared.
        free: numbers that are to be found, the bench's among them.

    Returns:
        The log as the engine takes it.
    """
    given = log
    log, samples = given.refine()
    bench = _freed_bench(bench_of(log), free)
    inputs = _inputs(actuator, log, bench)
    values = np.stack(list(inputs.values()), axis=1) if inputs else np.zeros((len(log), 0))
    rows = hold_inputs(values, np.diff(log.time))
    if actuator.drive.delay:
        rows = Delay(values, log.time, actuator.drive.delay, [is_late(n) for n in inputs]).rows()
    measured = np.stack([log[n] if n in log else np.full(len(log), np.nan) for n in outputs], axis=1)
    stretches = [one._replace(sample=int(samples[one.sample])) for one in starts_of(given)]
    stretches = stretches[:1] if bench.locked else stretches
    stretches[0] = stretches[0]._replace(sample=0)
    starts = [states_at(actuator, bench, log, inputs, one) for one in stretches]
    mine = {k: v for k, v in log.settings.items() if k in actuator.parameters}
    fixed = {**parameters(bench, "bench."), **mine}
    return PreparedLog(given, rows, measured, fixed, starts, bench, values, log.time, samples, stretches)


def states_at(
    actuator: Actuator, bench: Bench, log: Log, inputs: Mapping[str, np.ndarray], start: StartState
) -> dict[str, float]:
    """Every state where a stretch begins; a rotor behind backlash moves along.

    Args:
        actuator: whose states they are.
        bench: that it moves.
        log: with every sample of its clock.
        inputs: what acts on it, by name.
        start: sample, position [rad or m] and velocity there.

    Returns:
        State -> value.
    """
    asked = {name: float(x[start.sample]) for name, x in inputs.items()}
    moving = {} if bench.locked else {"velocity": start.velocity}
    states = actuator.initial_state(asked, position=start.position, **moving)
    if "rotor_velocity" in states and not bench.locked:
        states["rotor_velocity"] = start.velocity
    if "winding_temperature" in states and "temperature" in log:
        states["winding_temperature"] = float(log["temperature"][start.sample])
    return states


def _freed_bench(bench: Bench, free: FreeParameters) -> Bench:
    """With an angle and a factor of the supply where these are to be found."""
    if "bench.hanging" in free.paths:
        bench = with_angle(bench)
    if "bench.supply_factor" in free.paths and bench.supply_factor is None:
        bench = replace(bench, supply_factor=1.0)
    return bench


def _inputs(actuator: Actuator, log: Log, bench: Bench) -> dict[str, np.ndarray]:
    """What acts on a log, by name."""
    wanted = [*targets(log, actuator.drive), *(n for n in ("enabled", "supply") if n in log), *bench.series]
    inputs = {name: log[name] for name in sorted(wanted)}
    for name, values in inputs.items():
        if not np.isfinite(values).all():
            k = int(np.argmax(~np.isfinite(values)))
            raise InvalidValue(
                f"{log.name}: {name} is not finite at sample {k}; cut the log or repair the signal"
            )
    return inputs
