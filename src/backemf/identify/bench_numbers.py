"""The bench is uncertain too: its weights, lengths, angles and supplies as free numbers, each held by its
tolerance, each belonging to the logs that share it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..logs.log import Log, bench_of
from ..physics.actuator import Actuator
from ..physics.bench import BENCH_TRAITS, Bench
from ..physics.quantity import parameters, present
from ..results.fit_result import BenchNumber
from .parameters import Parameter

FIELDS = ("mass", "length", "arm_mass", "inertia", "drum_radius", "stiffness")
"""Numbers of a bench that somebody measured; logs with the same number share its error."""
LATENCY = 2.0
"""Tolerance of the moment at which a command counts, in samples: recorders differ by as much."""
GAUGES_ALIKE = 0.5
"""How much the errors of the supply in several logs have in common: one gauge, read at different times."""


def words(bench: Bench) -> str:
    """A mounting in words: its numbers, the angle apart."""
    rows = [(name, value) for name, value in parameters(bench).items() if name in FIELDS and value]
    return ", ".join(f"{name.replace('_', ' ')} {number_of(name, value)}" for name, value in rows) or "bench"


def number_of(name: str, value: float) -> str:
    """A number of a bench with its unit: what groups of logs that share it are called."""
    return f"{value:.4g} {BENCH_TRAITS[f'bench.{name}']['unit']}"


def with_angle(bench: Bench) -> Bench:
    """The bench with an angle to be found."""
    return replace(bench, **{"hanging": 0.0}) if bench.hangs and "hanging" not in parameters(bench) else bench


def group_logs(logs: Sequence[Log], label: Callable[[Log], str]) -> dict[str, tuple[int, ...]]:
    """Places of the logs by label."""
    groups: dict[str, list[int]] = {}
    for k, log in enumerate(logs):
        groups.setdefault(label(log), []).append(k)
    return {name: tuple(places) for name, places in groups.items()}


def angles(logs: Sequence[Log]) -> list[Parameter]:
    """The angle at which the arm hangs, one for each mounting."""
    groups = group_logs(logs, lambda log: words(bench_of(log)))
    numbers = []
    for name, places in groups.items():
        bench = with_angle(bench_of(logs[places[0]]))
        numbers.append(_number(bench, "hanging", present(bench.tolerance("hanging")), name, places))
    return numbers


def measured_parameters(logs: Sequence[Log], taken: Sequence[str] = ()) -> list[Parameter]:
    """Weights, lengths and inertias with their tolerances; the same number in several logs is the same thing.
    Paths in `taken` are left out."""
    numbers = []
    for field in FIELDS:
        having = [k for k, log in enumerate(logs) if parameters(bench_of(log)).get(field)]
        if f"bench.{field}" in taken or not having:
            continue
        stated = {k: parameters(bench_of(logs[k]))[field] for k in having}
        for value in sorted(set(stated.values())):
            places = tuple(k for k in having if stated[k] == value)
            bench = bench_of(logs[places[0]])
            tolerance = bench.tolerance(field)
            if tolerance:
                numbers.append(_number(bench, field, tolerance, number_of(field, value), places))
    return numbers


def supplies(actuator: Actuator, logs: Sequence[Log], taken: Sequence[str] = ()) -> list[Parameter]:
    """The supply: a factor on what each log recorded, or the stated voltage of the logs that share it.

    Args:
        actuator: whose drive states the voltage where a log does not.
        logs: of benches.
        taken: paths that are free already.

    Returns:
        The free numbers; none where nobody states a voltage.
    """
    if "bench.supply_factor" not in taken and any("supply" in log for log in logs):
        numbers = []
        for k, log in enumerate(logs):
            bench = replace(bench_of(log), supply_factor=1.0)
            one = _number(bench, "supply_factor", present(bench.tolerance("supply_factor")), log.name, (k,))
            numbers.append(replace(one, alike=GAUGES_ALIKE) if len(logs) > 1 else one)
        return numbers
    if "drive.supply" in taken or actuator.drive.supply is None:
        return []
    volts = [float(log.settings.get("drive.supply", actuator.drive.supply)) for log in logs]
    tolerance = actuator.traits("drive.supply")["tolerance"]
    return [
        Parameter(
            path="drive.supply",
            start=v,
            unit="V",
            low=0.2 * v,
            high=5.0 * v,
            prior=(math.log(v), tolerance(v) / v),
            stated=True,
            logs=tuple(k for k, x in enumerate(volts) if x == v),
            group=f"{v:.4g} V",
            beside=True,
        )
        for v in sorted(set(volts))
    ]


def within_tolerance(actuator: Actuator, logs: Sequence[Log], taken: Sequence[str]) -> list[Parameter]:
    """Everything about the bench and the recording that a tolerance allows to move.

    Args:
        actuator: the start of the fit.
        logs: of benches.
        taken: paths that are free already.

    Returns:
        The free numbers of benches, supplies and latency.
    """
    more = [*measured_parameters(logs, taken), *supplies(actuator, logs, taken)]
    # A drive that states its period says when it looks.
    if actuator.drive.target and actuator.drive.period is None and "drive.delay" not in taken:
        more.append(latency(median_step(logs), actuator.drive.delay or 0.0))
    return more


def as_found(of_bench: Sequence[BenchNumber], log: Log) -> Log:
    """The log with the numbers of its bench that a fit found: its own, those of the same mounting or weight,
    and of gauges the mean."""
    if log.bench is None:
        return log
    known = (*parameters(log.bench), "hanging", "supply_factor")
    rows = [(one.path.removeprefix("bench."), one) for one in of_bench if one.path.startswith("bench.")]
    changes = {field: one.value for field, one in rows if _belongs(one, field, log)}
    mounting = new_mounting(of_bench, log)
    if mounting is not None:
        changes["hanging"] = mounting[0]
    gauges = [one.value for field, one in rows if field == "supply_factor"]
    if gauges and "supply" in log:
        changes.setdefault("supply_factor", float(np.mean(gauges)))
    changes = {field: value for field, value in changes.items() if field in known}
    there = replace(log, bench=replace(log.bench, **changes)) if changes else log
    volts = _volts(of_bench, log)
    return there if volts is None else replace(there, settings={**there.settings, "drive.supply": volts})


def new_mounting(of_bench: Sequence[BenchNumber], log: Log) -> tuple[float, float] | None:
    """Where an arm hangs on a mounting that a fit never saw, as those that it saw say.

    Args:
        of_bench: what the fit found beside the actuator.
        log: of a bench; one that states its angle keeps it.

    Returns:
        (mean, standard deviation of a further one) [rad]; None where the angle is known, or none was fitted.
    """
    fitted = [one for one in of_bench if one.path == "bench.hanging" and one.group]
    bench = log.bench
    if bench is None or not bench.hangs or parameters(bench).get("hanging") is not None:
        return None
    if not fitted or any(_belongs(one, "hanging", log) for one in fitted):
        return None
    return angle_of_next([one.value for one in fitted], fitted[0].tolerance)


def angle_of_next(angles: Sequence[float], tolerance: float) -> tuple[float, float]:
    """Where an arm hangs on a further mounting: (mean, standard deviation) [rad].

    Args:
        angles: of the fitted mountings [rad].
        tolerance: of an angle that nobody fitted, where there is only one [rad].
    """
    n = len(angles)
    if n < 2:
        return float(angles[0]), tolerance
    return float(np.mean(angles)), float(np.std(angles, ddof=1) * math.sqrt(1.0 + 1.0 / n))


def _belongs(one: BenchNumber, field: str, log: Log) -> bool:
    """Whether a number that was found is that of a log's bench too."""
    if not one.group or log.name in one.logs:
        return True
    return one.group == (words(bench_of(log)) if field == "hanging" else number_of_or_name(log, field))


def _volts(of_bench: Sequence[BenchNumber], log: Log) -> float | None:
    """The supply that a fit found for a log that did not record its own: its own, or that of logs with the
    same."""
    found = [bench_number for bench_number in of_bench if bench_number.path == "drive.supply"]
    stated = log.settings.get("drive.supply")
    for one in found if "supply" not in log else ():
        same = len(found) == 1 if stated is None else one.group == f"{stated:.4g} V"
        if same or log.name in one.logs:
            return one.value
    return None


def number_of_or_name(log: Log, field: str) -> str:
    """What the group of a number of this log is called."""
    value = parameters(log.bench).get(field)
    return log.name if value is None else number_of(field, value)


def with_latency(actuator: Actuator, of_bench: Sequence[BenchNumber]) -> Actuator:
    """The actuator as the recordings show it: with the latency that a fit found of them, as far as a drive
    can have it."""
    late = latency_of(of_bench)
    if late is None or late <= 0:
        return actuator
    return replace(actuator, drive=replace(actuator.drive, delay=late))


def latency_of(of_bench: Sequence[BenchNumber]) -> float | None:
    """The moment at which a command counts, as a fit found it; None where it did not look."""
    return next((bench_number.value for bench_number in of_bench if bench_number.path == "drive.delay"), None)


def as_late(actuator: Actuator, logs: Sequence[Log], of_bench: Sequence[BenchNumber]) -> list[Parameter]:
    """The latency that a fit found, earlier than the time stamp too.

    Args:
        actuator: with the drive's own delay.
        logs: whose usual step sets the tolerance.
        of_bench: what the fit found beside the actuator.

    Returns:
        One number to start from and leave; none where the fit did not look for it.
    """
    late = latency_of(of_bench)
    if late is None:
        return []
    return [replace(latency(median_step(logs), actuator.drive.delay or 0.0), start=late)]


def latency(step: float, delay: float) -> Parameter:
    """The moment at which a command counts, later or earlier than its time stamp and the drive's own
    delay."""
    size = LATENCY * step
    return Parameter(
        path="drive.delay",
        start=delay + 1e-3 * step,
        unit="s",
        low=delay - 6.0 * step,
        high=delay + 40.0 * step,
        prior=(delay, size),
        stated=True,
        signed=size,
        beside=True,
    )


def _number(bench: Bench, field: str, tolerance: float, group: str, places: tuple[int, ...]) -> Parameter:
    path = f"bench.{field}"
    traits: Mapping = BENCH_TRAITS[path]
    value = float(getattr(bench, field))
    signed = traits["signed"] is not None
    if signed:
        low, high, prior = value - 1.5, value + 1.5, (value, tolerance)
    else:
        low, high = value * 0.2, value * 5.0
        prior = (math.log(value), tolerance / value)
    return Parameter(
        path=path,
        start=value,
        unit=traits["unit"],
        low=low,
        high=high,
        prior=prior,
        stated=True,
        signed=tolerance if signed else None,
        logs=places,
        group=group,
        beside=True,
    )


def median_step(logs: Sequence[Log]) -> float:
    """Usual interval between samples [s]."""
    return float(np.median(np.concatenate([np.diff(log.time) for log in logs])))
