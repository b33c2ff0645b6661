"""What a search asks of whatever carries the joints, and what it hands back: a bench and a robot differ in
their schedules, which are data, and in what surrounds a joint, which the plant answers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from ...findings import Finding
from ...logs.log import Log
from ...physics.actuator import Actuator
from ...results.fit_result import BenchNumber, Fit, Score
from ..fit_options import FitOptions
from ..optimize import Minimum, Stage
from ..problem import Problem, mean_absolute_errors
from ..uncertainty import ErrorTerm, Uncertainty


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How a search goes, as data."""

    stages: tuple[Stage, ...]
    """From the start, with the observer's bandwidth falling."""
    after_contact: tuple[Stage, ...] = ()
    """Likewise, once it was found where the plant touches something; none where it cannot."""
    drop_fast: bool
    """An observer faster than the samples would only copy them. Whether such stages are left out; else the
    first is as fast as the samples allow."""
    glance: float | None = None
    """Seconds of each recording that the first stages look at; all of them without it."""
    rise: tuple[Stage, ...]
    """From the optimum of a poorer friction."""
    also_plain: bool
    """Whether the settling is also tried from there at once."""
    settle: Stage
    """Behind these, weighed by the errors that are left."""
    weigh_again: bool
    """Whether a richer friction has weights of its own, even where noise does not explain its errors."""
    most_starts: int | None = None
    """Starts at most, whatever is asked."""
    start_first: bool
    """Whether a friction is tried from the start before the poorer ones that it contains."""
    pass_quickly: bool
    """Whether poorer frictions on the way to the wanted one are left unsettled."""
    rungs: tuple[str, ...]
    """Of the ladder, from poor to rich."""
    beside: tuple[str, ...] = ()
    """Numbers that are then tried beside the best of them, one after the other."""
    below: Mapping[str, tuple[str, ...]]
    """The rungs that a friction contains: each starts from what these found."""
    judged_together: bool = False
    """Whether rungs are compared by a simulation of all joints together; else each is fitted to the end."""
    own_logs: bool = False
    """Whether the errors of a number that some logs have to themselves are judged by these alone, where they
    are enough."""

    def rungs_under(self, name: str) -> tuple[str, ...]:
        """The frictions that one starts from: the same without what was added last, or those that it
        contains."""
        poorer, added, _ = name.rpartition("+")
        return (poorer,) if added else self.below.get(name, ())

    def legs(self, step: float) -> list[tuple[Stage, ...]]:
        """Stages for a time between samples [s]: before contact is looked for, and behind it."""
        return [self._slow_enough(one, step) for one in (self.stages, self.after_contact) if one]

    def _slow_enough(self, stages: Sequence[Stage], step: float) -> tuple[Stage, ...]:
        if not self.drop_fast:
            return (_slow_down(stages[0], 0.4 / step), *stages[1:])
        fitting = tuple(stage for stage in stages if stage.bandwidth * step < 0.4)
        if len(fitting) > 2:
            return fitting
        led, last = stages[0], stages[-1]
        return (*(_slow_down(led, share / step) for share in (0.4, 0.13, 0.04)), last)


def _slow_down(stage: Stage, most: float) -> Stage:
    return replace(stage, bandwidth=min(stage.bandwidth, most))


class Weights(NamedTuple):
    """How much the data counts: the standard deviation of an error, by output or by log and output, and the
    weighted error beyond which one counts less."""

    sigma: np.ndarray
    robust: float = np.inf


class StartResult(NamedTuple):
    """Where one start ended, in values, which outlive a change of weights."""

    values: dict[str, float]
    cost: float
    mae: float
    ended: str
    n_evaluations: int
    x: Any = None
    """The same in the coordinates of its problem."""
    begin: Any = None
    """Where the recordings begin there, `StartStates`; None where that is not free."""

    @staticmethod
    def of(p: Problem, end: Minimum) -> StartResult:
        """Where a minimisation ended, and how far off its positions are."""
        mae = math.inf
        if math.isfinite(end.cost):
            mae = float(np.mean(list(mean_absolute_errors(p, end.x).values())))
        return StartResult(p.values(end.x), end.cost, mae, end.ended, end.n_evaluations, end.x, end.begin)


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """What the search with one friction came to."""

    plant: Plant
    problem: Problem
    ends: list[StartResult]
    weights: Weights
    interrupted: bool = False
    n_evaluations: int = 0
    """Of everything that led here, the poorer frictions apart."""

    @property
    def best(self) -> StartResult:
        return min(self.ends, key=lambda m: m.cost)

    @property
    def actuators(self) -> dict[str, Actuator]:
        p = self.problem
        return p.actuators(p.free.to_x(self.best.values, p.fixed))

    @property
    def unsettled(self) -> Optimum:
        """The best so far as if the search had come to rest there."""
        best = self.best
        end = Minimum(
            x=best.x, cost=best.cost, data_cost=best.cost, n_evaluations=self.n_evaluations, ended=best.ended
        )
        robust, self.problem.begin = self.weights.robust, best.begin
        return Optimum(plant=self.plant, problem=self.problem, end=end, robust=robust, found=self)


P = TypeVar("P", bound="Plant")


@dataclass(frozen=True, kw_only=True)
class Optimum(Generic[P]):
    """Where a search came to rest, the problem that it solves, and how far the errors that count were cut."""

    plant: P
    problem: Problem
    end: Minimum
    robust: float
    found: SearchResult
    """What the search came to before it settled."""
    findings: tuple[Finding, ...] = ()
    """What was seen on the way."""
    play: Any = None
    """What was found of play, `Play`; None where it was not asked for."""

    @property
    def x(self) -> np.ndarray:
        return self.end.x

    @property
    def values(self) -> dict[str, float]:
        return self.problem.values(self.end.x)

    @property
    def actuators(self) -> dict[str, Actuator]:
        return self.problem.actuators(self.end.x)

    @property
    def delays(self) -> dict[str, float]:
        """By joint [s]."""
        return self.problem.delays(self.end.x)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """How an optimum does on logs that it was not fitted to."""

    errors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Mean absolute error of position by joint and log, each joint by itself [rad or m]."""
    score: Score | None = None
    """Of a robot: all joints together; on the fitted logs where none was held out."""
    read: tuple[BenchNumber, ...] = ()
    """Numbers of the bench that had to be read from these logs themselves."""
    recordings: tuple[Any, ...] = ()
    """Of a robot: the logs, with the samples marked in which it touches something."""


@dataclass(frozen=True, kw_only=True)
class Plant(ABC):
    """What carries the joints: a bench, or a robot, with the logs to fit and the starts. What is said here
    already holds for a joint that carries nothing else."""

    options: FitOptions
    given: Sequence[Log] = ()
    """All logs, in the order in which they came."""
    kind: ClassVar[str]
    """'bench' or 'robot'."""
    schedule: ClassVar[Schedule]

    @property
    def joints(self) -> tuple[str, ...]:
        return ("",)

    @property
    @abstractmethod
    def usual_friction(self) -> str:
        """The friction that is fitted where nobody says, or the ladder."""

    @abstractmethod
    def with_friction(self, name: str) -> Plant:
        """With starts of another friction."""

    @abstractmethod
    def rungs_below(self, name: str) -> tuple[str, ...]:
        """Frictions to search first."""

    def first_part(self, seconds: float | None) -> Plant:
        """Of each recording; the same without seconds."""
        return self

    @abstractmethod
    def problem(self) -> Problem:
        """Its joints' logs, with inertia and load along the recorded motion, and the free numbers."""

    def first_weights(self, p: Problem) -> Weights:
        """Before any error is seen."""
        return Weights(p.sigma)

    def first_x(self, p: Problem, stage: Stage) -> tuple[np.ndarray, int]:
        """(where a search begins, simulations that it took to say)."""
        return p.first, 0

    @abstractmethod
    def continue_from(self, p: Problem, parent: SearchResult, name: str) -> np.ndarray:
        """Where a poorer friction ended, as a start of a richer one.

        Args:
            p: the problem with the richer one.
            parent: what the search with the poorer one came to.
            name: of the richer one.

        Returns:
            The x of the start.
        """

    @abstractmethod
    def weigh(self, p: Problem, x: np.ndarray) -> Weights:
        """By the scatter and correlation that the errors really have."""

    def find_contact(self, actuators: Mapping[str, Actuator], delays: Mapping[str, float]) -> Plant:
        """With the samples marked in which it touches something, and its ground; a bench: itself."""
        return self

    def restart(self, p: Problem, wholes: Sequence[str]) -> Problem:
        """A problem of parts of its logs that begin again as often as its own do; a bench's: itself.

        Args:
            p: the problem.
            wholes: of each log, the recording that it is a part of.
        """
        return p

    @abstractmethod
    def settle(self, found: SearchResult) -> Optimum:
        """With finer steps, weighed anew, and everything free that a tolerance allows to move."""

    def free_unknowns(self, optimum: Any) -> Optimum:
        """With its own numbers free too, as far as that was asked for and `settle` has not done it."""
        return optimum

    @abstractmethod
    def judge(self, optimum: Any, step: float | None = None) -> Judgement:
        """On the logs held out; `step` is the longest one of a quick look [s]."""

    @abstractmethod
    def groupings(self, p: Problem) -> Sequence[Sequence[Any]]:
        """Which logs belong together when recordings disagree: by rig, by setting."""

    @abstractmethod
    def demands(self) -> Mapping[str, Mapping[str, Mapping[str, float]]]:
        """By fitted log and joint, the torque, speed and gain that it asks for."""

    def error_terms(self, optimum: Any) -> Iterable[ErrorTerm]:
        """What the way of simulating does to the numbers, beside noise."""
        return ()

    @abstractmethod
    def make_fit(self, optimum: Any, judgement: Judgement, uncertainties: Uncertainty) -> Fit:
        """The result, without what the caller knows: logs, rungs, time.

        Args:
            optimum: where the search came to rest.
            judgement: how it does on the logs held out.
            uncertainties: of x there.

        Returns:
            The fit, of one joint or of all.
        """
