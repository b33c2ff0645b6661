"""Least squares with an observer homotopy: first let the simulation follow the recording, then let it go,
step by step.

Friction makes many local minima, because a slip that comes a little late costs as much as one that never
comes. While an observer pulls the state towards the recording those minima are gone; fitted at 120 rad/s and
less, and then without it, the parameters arrive where a plain fit rarely does. Gradients are exact
throughout.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..engine.rows import DELAY
from ..logs.log import noise_of
from .parameters import spread
from .prepared_log import Blocks, StartStates
from .problem import LEAST_NOISE, Problem

DRAWN = 4096
"""Starts that are drawn and scored where a GPU does it; the best of them are optimised."""
APART = 0.2
"""Root mean square distance, over the coordinates, below which two starts count as one."""
LARGEST_STEP = 0.7
"""Largest change of any coordinate in one iteration: a factor of two in a positive parameter."""


@dataclass(frozen=True, kw_only=True)
class Minimum:
    """Where an optimisation ended."""

    x: np.ndarray
    cost: float
    """Half the sum of squares of the weighted errors, plus the prior's."""
    data_cost: float
    n_evaluations: int
    ended: str
    """'converged', 'stopped at its limit of iterations', or why not."""
    begin: Any = None
    """Where the recordings begin there, `StartStates`; None where that is not free."""


@dataclass(frozen=True)
class Stage:
    """One minimisation of a search, as data."""

    bandwidth: float = 0.0
    """Of the observer that leads the simulation [rad/s]; 0: the plain simulation."""
    most: int = 60
    """Iterations."""
    tolerance: float = 1e-4
    """Relative change of the cost below which it has converged."""
    coarser: int = 1
    """The problem's integration steps are this many times fewer."""
    longest: float | None = None
    """The longest integration step instead [s]."""
    damping: float = 1e-2

    def substeps(self, problem: Problem) -> int:
        """Integration steps from one sample to the next."""
        if self.longest is not None:
            return max(1, int(np.ceil(problem.step / self.longest - 1e-6)))
        return max(1, problem.substeps // self.coarser)

    def minimise(self, problem: Problem, x: np.ndarray, robust: float) -> Minimum:
        """Minimise as this stage says.

        Args:
            problem: what is minimised.
            x: where it starts.
            robust: weighted error beyond which one counts less.

        Returns:
            Where it ended.
        """
        return levenberg_marquardt(
            problem,
            x,
            bandwidth=self.bandwidth,
            robust=robust,
            most=self.most,
            tolerance=self.tolerance,
            substeps=self.substeps(problem),
            damping=self.damping,
        )


def observer_stages(*bandwidths: float) -> tuple[Stage, ...]:
    """Stages of falling bandwidth [rad/s]: while the observer corrects the state, coarse steps and a rough
    optimum do, since it takes out what they miss; the last runs to convergence."""
    *led, last = bandwidths
    return (*(Stage(b, coarser=3) for b in led), Stage(last, tolerance=1e-5))


class SearchInterrupted(KeyboardInterrupt):
    """The user stopped a minimisation: `best` is where it was."""

    def __init__(self, best: Minimum):
        super().__init__()
        self.best = best


def minimum_at(stop: KeyboardInterrupt) -> list[Minimum]:
    """Where a minimisation was when the user stopped it; nothing where none was under way."""
    return [stop.best] if isinstance(stop, SearchInterrupted) else []


Progress = Callable[[str, float, float], None]
"""Told what is done, what it costs now, and the share of the work that is done at most."""


watcher: ContextVar[Callable[[Problem, np.ndarray, float], None] | None] = ContextVar("watcher", default=None)
"""Who sees every step that improves: the problem, where it is, and what that costs. For curves that move."""


@contextmanager
def hide_steps() -> Iterator[None]:
    """Meanwhile nobody sees the steps: they are of other problems than the one that is fitted."""
    token = watcher.set(None)
    try:
        yield
    finally:
        watcher.reset(token)


def levenberg_marquardt(
    problem: Problem,
    x: np.ndarray,
    *,
    bandwidth: float = 0.0,
    robust: float = np.inf,
    most: int = 40,
    tolerance: float = 1e-5,
    substeps: int | None = None,
    damping: float = 1e-2,
    still: Sequence[str] = (),
) -> Minimum:
    """Minimise from x at one bandwidth: steps are damped by the curvature's diagonal, clipped, and kept in
    the bounds. Starts of recordings that are free move along, and the problem keeps those of the end.

    Args:
        problem: what is minimised.
        x: where it starts.
        bandwidth: of the observer [rad/s]; 0: the plain simulation.
        robust: weighted error beyond which one counts less.
        most: iterations.
        tolerance: relative change of the cost below which, twice in a row, it has converged.
        substeps: integration steps from sample to sample; the problem's own without it.
        damping: at first; little of it, near an optimum, lets it slide along a valley.
        still: paths that stay where they are.

    Returns:
        Where it ended; its cost is infinite where the simulation is not finite at x.

    Raises:
        SearchInterrupted: the user stopped it; holds the best so far.
    """
    evaluate = _evaluator(problem, bandwidth, robust, substeps)
    here = evaluate(np.asarray(x, float), problem.begin)
    n_evaluations, small, ended = 1, 0, "stopped at its limit of iterations"
    if not np.isfinite(here.cost):
        here = here._replace(cost=np.inf, data_cost=np.inf)
        ended, most = "the simulation is not finite at the start", 0
    seen = watcher.get() or (lambda *_: None)
    bounds = problem.free.bounds()
    fixed = np.array([q.path in still for q in problem.free.parameters], bool)
    try:
        for _ in range(most):
            there, damping, n = _descend(problem, evaluate, here, damping, bounds, fixed)
            n_evaluations += n
            if there is not None:
                small = small + 1 if here.cost - there.cost < tolerance * here.cost else 0
                here, problem.begin = there, there.begin
                seen(problem, here.x, here.cost)
                damping = max(damping / 5.0, 1e-9)
            if there is None or small >= 2:
                ended = "converged"
                break
    except KeyboardInterrupt:
        raise SearchInterrupted(here.minimum("interrupted", n_evaluations)) from None
    return here.minimum(ended, n_evaluations)


class _Point(NamedTuple):
    """Where a minimisation is, with slopes and costs there."""

    x: np.ndarray
    begin: StartStates | None
    blocks: Blocks
    cost: float
    data_cost: float

    def minimum(self, ended: str, n_evaluations: int) -> Minimum:
        """The same as its end."""
        costs: dict[str, Any] = {"cost": self.cost, "data_cost": self.data_cost}
        return Minimum(x=self.x, begin=self.begin, ended=ended, n_evaluations=n_evaluations, **costs)


def _evaluator(
    problem: Problem, bandwidth: float, robust: float, substeps: int | None
) -> Callable[[np.ndarray, StartStates | None], _Point]:
    """What data and prior together make of an x, which is first brought inside the bounds, and of starts."""
    mean, precision = problem.free.prior()[0], problem.free.precision

    def evaluate(x: np.ndarray, begin: StartStates | None) -> _Point:
        x, before = problem.free.inside(x), problem.begin
        problem.begin = begin
        try:
            blocks = problem.blocks(x, bandwidth, robust, substeps)
            cost = float(problem.reduce(blocks).cost.sum())
        finally:
            problem.begin = before
        pull = precision @ (x - mean)
        return _Point(x, begin, blocks, cost + 0.5 * float((x - mean) @ pull), cost)

    return evaluate


def _descend(
    problem: Problem,
    evaluate: Callable[[np.ndarray, StartStates | None], _Point],
    here: _Point,
    damping: float,
    bounds: tuple[np.ndarray, np.ndarray],
    fixed: np.ndarray,
) -> tuple[_Point | None, float, int]:
    """(a point that costs less, if some damping leads to one; that damping; evaluations)."""
    x, (low, high), n = here.x, bounds, 0
    mean, precision = problem.free.prior()[0], problem.free.precision
    for _ in range(12):
        reduced = problem.reduce(here.blocks, damping)
        H = problem.gather(problem.in_logs(reduced.JtJ), x) + precision
        g = problem.scores(problem.in_logs(reduced.Jtr), x).sum(axis=0) + precision @ (x - mean)
        # or at a bound that it pushes against
        held = ((x <= low) & (g > 0)) | ((x >= high) & (g < 0)) | fixed
        scale = np.maximum(np.diag(H), 1e-12)
        step = _step(H + damping * np.diag(scale), g, x, low, high, held)
        if step is None:
            damping *= 10.0
            continue
        step *= min(1.0, LARGEST_STEP / max(np.max(np.abs(step), initial=0.0), 1e-300))
        begin = here.begin
        if begin is not None:
            begin = begin.at(begin.now + reduced.moves(problem.by_stretch(step, x)))
        there = evaluate(x + step, begin)
        n += 1
        if np.isfinite(there.cost) and there.cost < here.cost:
            return there, damping, n
        damping *= 4.0
    return None, damping, n


def _step(
    A: np.ndarray, g: np.ndarray, x: np.ndarray, low: np.ndarray, high: np.ndarray, held: np.ndarray
) -> np.ndarray | None:
    """-A^-1 g inside the bounds: what would leave them stops there, and the others know it; None where A
    is singular."""
    step, stopped = np.zeros_like(x), held.copy()
    for _ in range(len(x)):
        moving = ~stopped
        try:
            rest = g[moving] + A[np.ix_(moving, stopped)] @ step[stopped]
            step[moving] = -np.linalg.solve(A[np.ix_(moving, moving)], rest)
        except np.linalg.LinAlgError:
            return None
        out = moving & ((x + step < low) | (x + step > high))
        if not out.any():
            break
        step[out] = np.clip(x[out] + step[out], low[out], high[out]) - x[out]
        stopped |= out
    return step


UNWEIGHED = 1e150
"""Standard deviation of an output that shall not count."""
MOST_READINGS = 40
"""Steps until it is known where a recording begins."""


def with_read_starts(problem: Problem, x: np.ndarray) -> Problem:
    """A problem whose recordings begin where their positions say with this model, log by log: nothing else
    moves, so that a log gets the same start whether it was fitted, held out or comes later.

    Args:
        problem: whose starts may be free; otherwise it is given back.
        x: the optimiser's, held.

    Returns:
        Another problem with these starts; the given one keeps its own.
    """
    if problem.begin is None:
        return problem
    at = problem.outputs.index("position")
    sigma = np.full((len(problem.logs), len(problem.outputs)), UNWEIGHED)
    sigma[:, at] = [max(noise_of(p.measured[:, at]), LEAST_NOISE["position"]) for p in problem.logs]
    quiet = copy.copy(problem)
    quiet.sigma = sigma
    begin = quiet.begin = StartStates.of([one for p in problem.logs for one in p.stretches])
    damping, moving = np.full((len(begin.now), 1), 1e-6), np.ones(len(begin.now), bool)
    here = quiet.blocks(x)
    for _ in range(MOST_READINGS):  # each stretch by itself: its neighbours must not stop it early
        now = begin.reduce(here, damping)
        quiet.begin = begin.at(begin.now - now.step)
        there = quiet.blocks(x)
        gain = now.cost - quiet.begin.reduce(there).cost
        better = moving & (gain > 0.0)
        begin = begin.at(np.where(better[:, None], quiet.begin.now, begin.now))
        here = Blocks(
            *(
                np.where(better.reshape(-1, *[1] * (b.ndim - 1)), b, a)
                for a, b in zip(here, there, strict=True)
            )
        )
        moving &= ~(better & (gain < 1e-9 * now.cost)) & (damping[:, 0] < 1e6)
        damping = np.where(better[:, None], np.maximum(damping / 5.0, 1e-9), 4.0 * damping)
        if not moving.any():
            break
    read = copy.copy(problem)
    read.begin = begin
    return read


def homotopy(
    problem: Problem,
    x: np.ndarray,
    *,
    stages: Sequence[Stage],
    note: Progress | None = None,
    robust: float = np.inf,
) -> Minimum:
    """Minimise stage by stage, with the observer's bandwidth falling.

    Args:
        problem: what is minimised.
        x: where the first stage starts.
        stages: in their order.
        note: told after each stage.
        robust: weighted error beyond which one counts less.

    Returns:
        Where the last stage ended, with the evaluations of all.

    Raises:
        SearchInterrupted: the user stopped it; holds the best so far.
    """
    minima: list[Minimum] = []
    for k, stage in enumerate(stages):
        try:
            end = stage.minimise(problem, x, robust)
            minima.append(end)
            x = end.x
            if note is not None:
                led = sum(stage.bandwidth > 0 for stage in stages)
                how = f"led by the recording, {k + 1} of {led}" if stage.bandwidth else "on its own"
                note(how, end.cost, (k + 1) / len(stages))
        except KeyboardInterrupt as stop:  # what it costs where it stands, without the observer
            last = [*minima, *minimum_at(stop)][-1:]
            if not last:
                raise  # nothing was found yet
            here = levenberg_marquardt(problem, last[0].x, robust=robust, most=0)
            raise SearchInterrupted(replace(here, ended="interrupted")) from None
    return replace(minima[-1], n_evaluations=sum(m.n_evaluations for m in minima))


def screen_starts(
    problem: Problem, within: float, rng: np.random.Generator, n: int, *, robust: float, on: str
) -> list[np.ndarray]:
    """The best of many random starts, none near another: scored all at once by the plain simulation.

    Args:
        problem: what will be minimised.
        within: factor by which a number may differ from its start.
        rng: draws them.
        n: how many are wanted.
        robust: weighted error beyond which one counts less.
        on: where they are simulated: "cpu" or "gpu".

    Returns:
        The starts, the best first; fewer where they lie close together.
    """
    first = problem.first
    drawn = np.stack([spread(problem.free, within, rng, first) for _ in range(DRAWN)])
    held = [k for k, q in enumerate(problem.free.parameters) if q.path == DELAY]
    drawn[:, held] = first[held]  # a latency acts through the rows, which all candidates share
    mean, precision = problem.free.prior()[0], problem.free.precision
    pull = 0.5 * np.einsum("ni,ij,nj->n", drawn - mean, precision, drawn - mean)
    with np.errstate(invalid="ignore", over="ignore"):
        costs = problem.costs(list(drawn), robust, on) + pull
    taken: list[np.ndarray] = []
    for x in drawn[np.argsort(costs)]:  # NaN comes last
        if all(np.sqrt(np.mean((x - y) ** 2)) > APART for y in taken):
            taken.append(x)
        if len(taken) == n:
            break
    return taken


def part_progress(progress: Progress | None, message: str, begin: float, end: float) -> Progress | None:
    """Progress of one search among several.

    Args:
        progress: is told of the whole; None: nobody is.
        message: what this search is of, before its own words.
        begin: share of the whole that is done before it.
        end: the same behind it.

    Returns:
        What to tell of the one search.
    """
    if progress is None:
        return None
    return lambda text, cost, share: progress(f"{message}, {text}", cost, begin + (end - begin) * share)
