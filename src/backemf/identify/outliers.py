"""Whether one log is the odd one: each is left out in turn, and where the others agree without it and it does
not agree with them, it is named, with what would explain it alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..engine.rows import DELAY
from ..errors import BackemfError
from ..findings import Finding
from ..logs.log import Log, bench_of
from . import bench_numbers as numbers
from .causes import CAUSES, DRIFTS, FREED, Cause, causes, drifting, gain_parameter, move_commands
from .fit_numbers import bench_numbers_of
from .holdout import part_of
from .optimize import levenberg_marquardt
from .parameters import FreeParameters, Parameter, default_paths, free
from .problem import Problem, problem

MOST_LOGS = 6
"""Logs that are tried at most: of more, those that are followed worst, and some of the others."""
BEYOND = 2.0
"""Root mean square error of a log, in units of its noise, from which on the others are asked about it."""
EXPLAINED = 1.5
"""The same up to which noise explains a log; coarse steps and a few counts of the encoder included."""
MOST_OF_IT = 0.06
"""Share of its error that an odd log may keep at most with what explains it, where the numbers of another
servo would not explain more."""
MUCH = 0.5
"""Share of their error that the others may keep at most without the odd one, where noise does not explain
it."""
APART = 3.0
"""How many times worse than the others, fitted without it, an odd log is followed."""
ALONE = 0.8
"""How much of the others' error the log named may leave at most of what leaving out any other log does."""
STAGES = (60.0, 20.0, 6.0)
"""Bandwidths of the observer from the start [rad/s]."""
MOST_JUMPS, SHORTEST = 4, 15
"""Times that counts may be lost in one log, and samples between them at least."""
CLEAR_JUMP = 3.0
"""Size of such a jump in units of the noise at least."""


class LogLeftOut(NamedTuple):
    """What comes of leaving out one log."""

    place: int
    x: np.ndarray
    own: float
    """Root mean square error of that log then, in units of the noise."""
    others: float
    """The same of the others, where it is worst."""


class Explanation(NamedTuple):
    """What would explain the odd log, if it were wrong in this log alone."""

    code: str
    words: str
    remedy: str
    error: float
    """What is left then, root mean square in units of the noise."""
    value: float


def diagnose(p: Problem, x: np.ndarray, robust: float) -> list[Finding]:
    """What is wrong with one log, the clocks, the bench or the sheet; each is asked only where the one before
    is in order.

    Args:
        p: a problem that lets stated numbers move within their tolerances.
        x: its optimum.
        robust: weighted error beyond which one counted less; infinite where noise explains all.

    Returns:
        The findings, none where all is as good as its tolerances.
    """
    odd = odd_log(p, x, robust)
    if odd is not None:
        return [odd]
    part, kept = part_of(p, _tried_places(_scatter(p, x)))
    y = x[kept]
    drift = list(drifting(part, y, robust, [one.log for one in part.logs]))
    return drift or list(causes(p, x, robust))


def odd_log(p: Problem, x: np.ndarray, robust: float) -> Finding | None:
    """The log that does not belong to the others, if there is one.

    Args:
        p: the problem of a fit.
        x: its optimum.
        robust: weighted error beyond which one counted less.

    Returns:
        A finding that names the log and what would explain it; None where all logs are alike in what is
        missed, or there are fewer than three.
    """
    scatter = _scatter(p, x)
    if len(scatter) < 3 or not np.max(scatter) > BEYOND:
        return None
    places = _tried_places(scatter)
    part, kept = part_of(p, places)
    y = x[kept]
    before = _scatter(part, y)
    trials = [_leave_out(part, y, k, robust) for k in range(len(places))]
    ranks = _rank(trials)
    if ranks[0].others > EXPLAINED:  # the odd one may have led all numbers astray: from the start again
        again = [_leave_out(part, part.first, trial.place, robust, STAGES) for trial in ranks[:3]]
        ranks = _rank([*trials, *again])
    best, second, *_ = ranks
    kept = float(np.max(np.delete(before, best.place)))
    agree = best.others < max(EXPLAINED, MUCH * kept) and best.others < ALONE * second.others
    if not agree or best.own < APART * max(best.others, 1.0):
        return None
    return _name_log(part, best)


def _rank(trials: Sequence[LogLeftOut]) -> list[LogLeftOut]:
    """Each log once, first the one without which the others are followed best."""
    ranks: dict[int, LogLeftOut] = {}
    for trial in sorted(trials, key=lambda trial: trial.others):
        ranks.setdefault(trial.place, trial)
    return [*ranks.values()]


def _tried_places(scatter: np.ndarray) -> list[int]:
    """The logs that are tried: all of a few; of many the worst half, and others that lie between."""
    if len(scatter) <= MOST_LOGS:
        return list(range(len(scatter)))
    order = np.argsort(-scatter)
    worst, others = order[: MOST_LOGS // 3], np.sort(order[MOST_LOGS // 3 :])
    some = others[np.linspace(0, len(others) - 1, MOST_LOGS - len(worst)).astype(int)]
    return sorted(int(k) for k in (*worst, *some))


def _scatter(p: Problem, x: np.ndarray) -> np.ndarray:
    """Root mean square error of the position by log, in units of the noise."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = [np.sqrt(np.nanmean(error**2)) for error in p.position_errors(x)]
    noise = float(p.sigma_noise[p.outputs.index("position")])
    return np.nan_to_num(np.array(found) / noise, nan=1e9, posinf=1e9)


def _leave_out(
    p: Problem, x: np.ndarray, k: int, robust: float, stages: Sequence[float] = (6.0,)
) -> LogLeftOut:
    """The optimum without one log: led by the recordings at first, by observers of some bandwidths [rad/s],
    then as noise weighs them."""
    others, kept = part_of(p, [j for j in range(len(p.logs)) if j != k])
    rough: dict[str, Any] = {"substeps": max(1, p.substeps // 2), "most": 12}
    y = _follow(others, x[kept], stages, robust=robust, **rough)
    others.sigma = p.sigma_noise
    y = _follow(others, y, (0.0,), **rough)
    if np.max(_scatter(others, y)) < 2.0 * EXPLAINED:  # so near to the noise, steps count
        y = _follow(others, y, (0.0,), most=12)
    found = dict(zip(others.free.names, y, strict=True))
    own = np.array([found.get(q.name, q.prior[0]) for q in p.free.parameters])
    alone = _settle_alone(p, own, k, ())
    return LogLeftOut(k, own, alone.error, float(np.max(_scatter(others, y))))


def _follow(
    p: Problem, x: np.ndarray, bandwidths: Sequence[float], still: Sequence[str] = (DELAY,), **how: Any
) -> np.ndarray:
    """Where a rough search ends that observers of falling bandwidth [rad/s] lead."""
    for bandwidth in bandwidths:
        end = levenberg_marquardt(p, x, bandwidth=bandwidth, tolerance=1e-3, still=still, **how)
        x = end.x if math.isfinite(end.cost) else x
    return x


class _SingleLog(NamedTuple):
    """One log by itself, with a few numbers of its own."""

    problem: Problem
    x: np.ndarray
    error: float


def _settle_alone(
    p: Problem, x: np.ndarray, k: int, more: Sequence[Parameter], log: Log | None = None
) -> _SingleLog:
    """One log with what the others say of the actuator, where its arm hangs, and further numbers free."""
    of_bench = bench_numbers_of(p, x)
    log = numbers.as_found(of_bench, p.logs[k].log if log is None else log)
    actuator = p.actuator_at(x)
    late = numbers.as_late(actuator, [one.log for one in p.logs], of_bench)
    hangs = bench_of(log).hangs and any(q.path == "bench.hanging" for q in p.free.parameters)
    core = FreeParameters((*(numbers.angles([log]) if hangs else ()), *late)).with_(more)
    if DELAY in core.paths and actuator.drive.delay is None:
        actuator = replace(actuator, drive=replace(actuator.drive, delay=0.0))
    q = problem(actuator, [log], core, outputs=p.outputs, substeps=p.substeps)
    q.sigma = q.sigma_noise = p.sigma_noise
    still = () if any(one.path == DELAY for one in more) else (DELAY,)
    y = _follow(q, q.first, (6.0, 0.0), most=15, still=still)
    return _SingleLog(q, y, float(_scatter(q, y)[0]))


def _name_log(p: Problem, odd: LogLeftOut) -> Finding:
    """What is said of an odd log: the one thing that would be wrong in it, or that it is another's."""
    log = p.logs[odd.place].log
    rows = sorted(_explanations(p, odd), key=lambda row: row.error)
    noise = EXPLAINED * max(odd.others, 1.0)
    other = _settle_alone(
        p, odd.x, odd.place, free(p.actuator_at(odd.x), default_paths(p.actuator)).parameters
    )
    good = [row for row in rows if row.error < max(noise, min(MOST_OF_IT * odd.own, other.error))][:3]
    text = (
        f"{log.name} does not belong to the others: they are followed to {odd.others:.2g} times their noise"
        f" without it, and it is missed by {odd.own:.2g} times."
    )
    found = {"own": odd.own, "others": odd.others}
    if not good:
        text += (
            f" No one thing that is stated of it explains that; as of a servo of its own it is followed to"
            f" {other.error:.2g} times."
        )
        remedy = "leave it out, or fit it by itself"
        return Finding(code="foreign_log", text=text, remedy=remedy, numbers=found, logs=(log.name,))
    first, *others = [row for row in good if row.error < 1.15 * good[0].error]
    text += f" In this log alone it would be {first.words}"
    text += "".join(f"; or {row.words}" for row in others) + "."
    remedy = "; or ".join(row.remedy for row in (first, *others))
    found |= {row.code.removeprefix("wrong_"): row.value for row in (first, *others)}
    return Finding(code=first.code, text=text, remedy=remedy, numbers=found, logs=(log.name,))


def _explanations(p: Problem, odd: LogLeftOut) -> Iterator[Explanation]:
    """Every one thing that may be wrong in a log by itself, with what it leaves."""
    k, log, x = odd.place, p.logs[odd.place].log, odd.x
    jumps = _lost_counts(p, x, k)
    if jumps is not None:
        yield jumps
    for words, code, remedy, rows in _stated_numbers(p, x, log):
        try:
            alone = _settle_alone(p, x, k, rows)
        except BackemfError:
            continue
        row = rows[0]
        value, stated = alone.problem.values(alone.x)[row.name], row.outward(row.prior[0])
        said = f"the {words}: {value:.3g} instead of {stated:.3g} {row.unit}".rstrip()
        shift = value - stated if row.signed is not None else value / stated
        yield Explanation(code, said, remedy, alone.error, shift)
    if p.actuator.drive.target:
        yield from _clocks(p, x, k)


def _stated_numbers(p: Problem, x: np.ndarray, log: Log) -> Iterator[tuple[str, str, str, list[Parameter]]]:
    """(words, code, remedy, number set free) of what somebody stated of a log."""
    by_path = {path: cause for cause in CAUSES for path in cause.paths}
    log = numbers.as_found(bench_numbers_of(p, x), log)
    actuator = p.actuator_at(x)
    stated = [
        *numbers.measured_parameters([log]),
        *numbers.supplies(actuator, [log]),
        *gain_parameter(actuator),
    ]
    for row in stated:
        cause: Cause = by_path[row.path]
        mean, error = row.prior
        yield (
            cause.words,
            cause.code,
            cause.remedy,
            [replace(row, prior=(mean, max(FREED * error, 1.0)), logs=None)],
        )
    if bench_of(log).hangs:
        (angle,) = numbers.angles([log])
        wide = replace(angle, prior=(angle.prior[0], FREED * angle.prior[1]))
        yield "angle at which the arm hangs", "mounting_angle", "set the joint's zero again", [wide]


def _clocks(p: Problem, x: np.ndarray, k: int) -> Iterator[Explanation]:
    """A command that comes late or early in this log, or on a clock that runs at another rate."""
    step = p.step
    late = replace(
        numbers.latency(step, p.actuator.drive.delay or 0.0), prior=(0.0, 20.0 * step), signed=step
    )
    best = None
    for samples in (0, 3, 6, -3):
        alone = _settle_alone(p, x, k, [replace(late, start=samples * step + 1e-3 * step)])
        best = alone if best is None or alone.error < best.error else best
    assert best is not None
    found = best.problem.values(best.x)[DELAY]
    words = f"its command's clock: the motion answers {1e3 * found:.2g} ms after it"
    yield Explanation("delay", words, "put command and position on one clock", best.error, found)
    given = p.logs[k].log
    drifts = [sign * share for share in DRIFTS for sign in (1.0, -1.0)]
    rows = [(_settle_alone(p, x, k, [late], move_commands(given, drift=d)).error, d) for d in drifts]
    error, drift = min(rows)
    words = f"its command's clock, which runs {100 * drift:.2g} % off"
    yield Explanation("clock_drift", words, "record command and answer on one clock", error, drift)


def _lost_counts(p: Problem, x: np.ndarray, k: int) -> Explanation | None:
    """Jumps of the position that its model does not make and that stay: counts that an encoder lost."""
    error, noise = p.position_errors(x)[k], float(p.sigma_noise[p.outputs.index("position")])
    places = np.flatnonzero(np.isfinite(error))
    e = error[places]
    ends = jump_places(e, MOST_JUMPS)
    if not ends:
        return None
    parts = np.split(e, ends)
    levels = [float(np.mean(part)) for part in parts]
    left = float(
        np.sqrt(
            np.mean(np.concatenate([part - level for part, level in zip(parts, levels, strict=True)]) ** 2)
        )
    )
    largest = max(abs(b - a) for a, b in itertools.pairwise(levels))
    if largest < CLEAR_JUMP * noise:
        return None
    t = p.logs[k].log.time[places[ends[0]]]
    words = (
        f"its encoder, which lost counts {len(ends)} times, first at {t:.3g} s, by up to {largest:.2g} rad"
    )
    return Explanation(
        "lost_counts", words, "record it again; look at the encoder's cable", left / noise, largest
    )


def jump_places(errors: np.ndarray, most: int) -> list[int]:
    """Where a signal of plateaus jumps: splits that each take the most of what is left of its squares.

    Args:
        errors: the signal.
        most: splits at most.

    Returns:
        First samples of the plateaus behind the first, in order; none that saves less than half.
    """
    ends: list[int] = []
    for _ in range(most):
        edges = [0, *sorted(ends), len(errors)]
        saved, at = 0.0, 0
        for a, b in itertools.pairwise(edges):
            gain, place = _best_split(errors[a:b])
            if gain > saved:
                saved, at = gain, a + place
        left = sum(float(np.var(errors[a:b])) * (b - a) for a, b in itertools.pairwise(edges))
        if saved < 0.5 * left:
            break
        ends.append(at)
    return sorted(ends)


def _best_split(e: np.ndarray) -> tuple[float, int]:
    """(squares that parting a signal in two saves, where)."""
    n = len(e)
    if n < 2 * SHORTEST:
        return 0.0, 0
    k = np.arange(SHORTEST, n - SHORTEST + 1)
    sums = np.cumsum(e)[k - 1]
    total = float(np.sum(e))
    saved = sums**2 / k + (total - sums) ** 2 / (n - k) - total**2 / n
    best = int(np.argmax(saved))
    return float(saved[best]), int(k[best])
