"""What motions would tell: each simulated with exact sensitivities, before anything is recorded.

The problem is the fit's own, over logs that are not there yet. An encoder says the same count as long as a
joint stands still: the samples of a standstill tell as much as one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidValue
from ..identify.bench_numbers import within_tolerance
from ..identify.fit_options import FitOptions
from ..identify.plants.bench_plant import BenchPlant
from ..identify.problem import Problem, problem
from ..identify.uncertainty import inverse
from ..logs.log import Log, Signal
from ..physics.actuator import Actuator, signals
from ..physics.bench import Bench
from .motions import Motion

OUTPUTS = ("position", "current", "velocity")
"""What is looked at: the first two would be recorded, the last has a limit."""
CAP = 0.4
"""How far draws of a number go that next to nothing is known of, as a standard error of its logarithm."""
STILL = 0.02
"""Counts from one sample to the next up to which a joint stands still."""
PHASES = 24
"""Places of an encoder's counts that are looked at."""
FINER = 4
"""Times as many integration steps show what those of a fit miss."""
CORNER = 2.0
"""Standard errors by which each number is moved alone, where limits are looked at."""


@dataclass(frozen=True, kw_only=True)
class Sensing:
    """What a recording will look like."""

    rate: float = 250.0
    """Samples a second."""
    counts: float = 4096.0
    """Of the encoder, a turn."""
    current: float | None = 5e-3
    """Standard deviation of the current [A]; None where it is not recorded."""

    def __post_init__(self) -> None:
        for name, low, high in (("rate", 10.0, 2000.0), ("counts", 100.0, 1e9)):
            if not low <= getattr(self, name) <= high:
                raise InvalidValue(
                    f"{name} is {getattr(self, name):g}; expected a number from {low:g} to {high:g}"
                )
        if self.current is not None and not 0 < self.current < math.inf:
            raise InvalidValue(f"the noise of the current is {self.current:g} A; expected more than 0")

    @property
    def grain(self) -> float:
        """One count [rad]."""
        return 2.0 * math.pi / self.counts

    @property
    def sigma(self) -> np.ndarray:
        """Standard deviations of what is recorded, and infinity for what is not, by output."""
        current = math.inf if self.current is None else self.current
        return np.array([self.grain / math.sqrt(12.0), current, math.inf])


class Information(NamedTuple):
    """Of motions, in the coordinates of a fit: (n_motions, n, n), the drift (n_motions, n)."""

    curvature: np.ndarray
    """J'J, which a fit works with."""
    score: np.ndarray
    """Covariance of J'r by rounding and noise."""
    drift: np.ndarray
    """J'r that the steps of the fit's integration make."""
    worth: np.ndarray
    """What is really learnt: standstills count once, and errors of integration are nobody's parameter."""


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """Motions as logs that are not there yet, and the problem that a fit of them would be."""

    problem: Problem
    motions: tuple[Motion, ...]
    sensing: Sensing
    start: Actuator
    """As it was given; the problem's own may have numbers that a fit adds."""
    bench: Bench
    prior: Any
    joint: str
    settings: dict[str, float]
    """What the logs will say that was set in the servo."""
    rig: bool
    """Whether somebody built the bench: its weights may be changed, its arm unweighed and hung a little off.
    A robot's are its model's."""
    _known: dict[bytes, Information] = field(default_factory=dict, repr=False)

    @property
    def own(self) -> list[int]:
        """Places of the actuator's numbers among the free ones."""
        return [k for k, q in enumerate(self.problem.free.parameters) if not q.beside]

    def draws(self, n: int, seed: int) -> list[np.ndarray]:
        """The start, and draws of what is believed of it."""
        rng, free = np.random.default_rng(seed), self.problem.free
        width = self.widths()
        drawn = [self.problem.first]
        for _ in range(n):
            z = np.clip(rng.standard_normal(len(width)), -2.0, 2.0)
            drawn.append(free.inside(self.problem.first + width * z))
        return drawn

    def widths(self) -> np.ndarray:
        """How far a number may be from its start, in its own coordinate; linear ones by their prior."""
        error = self.problem.free.prior()[1]
        signed = np.array([q.signed is not None for q in self.problem.free.parameters])
        return np.where(signed, error, np.minimum(error, CAP))

    def corners(self) -> list[np.ndarray]:
        """The start with one number of the actuator after the other moved either way."""
        width, first = CORNER * self.widths(), self.problem.first
        moved = []
        for k in self.own:
            for sign in (-1.0, 1.0):
                x = first.copy()
                x[k] += sign * width[k]
                moved.append(self.problem.free.inside(x))
        return moved

    def predict(self, x: np.ndarray) -> list[np.ndarray]:
        """Position, current and velocity of every motion, (samples, 3)."""
        p = self.problem
        return p.of_logs(p.kernels.sensitivities(p.rows_of(x), p.S, p.batch, p.substeps)[0])

    def currents(self, x: np.ndarray, states: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The current along states of every motion."""
        p = self.problem
        servo, found = p.actuator_at(x), []
        for log, rows in zip(p.logs, states, strict=True):
            here = dict(zip(p.system.states, rows.T, strict=True))
            asked = dict(zip(p.system.inputs, log.inputs[log.samples].T, strict=True))
            current = np.asarray(signals(servo, here, asked)["current"], float)
            found.append(np.where(asked["enabled"] > 0.5, current, 0.0))
        return found

    def information(self, x: np.ndarray) -> Information:
        """What every motion tells at x."""
        key = x.tobytes()
        if key not in self._known:
            self._known[key] = self._information(x)
        return self._known[key]

    def _information(self, x: np.ndarray) -> Information:
        p, sigma = self.problem, self.sensing.sigma
        P = p.rows_of(x)
        outputs, tangents = map(p.of_logs, p.kernels.sensitivities(P, p.S, p.batch, p.substeps))
        finer = p.of_logs(p.kernels.trajectory(P, p.S, p.batch, FINER * p.substeps))
        at = p.system.states.index("position")
        curvature, score, drift, worth = [], [], [], []
        for k, (seen, J, fine) in enumerate(zip(outputs, tangents, finer, strict=True)):
            J = J / sigma[None, :, None]  # what is not recorded weighs nothing
            place, rest = J[:, 0], J[:, 1:].reshape(-1, J.shape[-1])
            still = standstills(seen[:, 0], self.sensing.grain)
            means = np.add.reduceat(place, still, axis=0) / np.diff([*still, len(place)])[:, None]
            rounded = rounding(seen[:, 0], self.sensing.grain) / sigma[0] @ place
            coarse = (seen[:, 0] - fine[:, at]) / sigma[0]
            pull, other = coarse @ place, rest.T @ rest
            curvature.append(p.in_x(place.T @ place + other, k, x))
            score.append(p.in_x(rounded.T @ rounded / PHASES + other, k, x))
            drift.append(p.scores(np.where(np.arange(len(outputs))[:, None] == k, pull, 0.0), x)[k])
            # along what coarse steps look like, nothing is learnt
            lost = np.outer(pull, pull) / (1.0 + coarse @ coarse)
            worth.append(p.in_x(means.T @ means + other - lost, k, x))
        return Information(*map(np.array, (curvature, score, drift, worth)))

    def covariance(self, x: np.ndarray, chosen: Sequence[int], before: np.ndarray) -> np.ndarray:
        """Covariance of x, as a fit of some of the motions will have it.

        Args:
            x: where it is taken.
            chosen: places of the motions.
            before: precision of what was known.

        Returns:
            (n_x, n_x).
        """
        told, picked = self.information(x), list(chosen)
        return sandwich(before, *(part[picked].sum(axis=0) for part in told[:3]))

    def relative(self, x: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """Relative errors of the actuator's numbers; of their usual size where they may have either sign."""
        p, T = self.problem, self.problem.free.slopes(x)
        errors = np.sqrt(np.maximum(np.diag(T @ covariance @ T.T), 0.0))
        values = p.values(x)
        size = [max(abs(values[q.name]), q.signed or 0.0, 1e-3 * (q.knee or 0.0)) for q in p.free.parameters]
        return (errors / np.array(size))[self.own]


def sandwich(before: np.ndarray, curvature: np.ndarray, score: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """Covariance of what a fit finds.

    Args:
        before: precision of what was known.
        curvature: J'J of its logs.
        score: covariance of J'r by rounding and noise.
        pull: J'r that the steps of its integration make.

    Returns:
        (n_x, n_x).
    """
    bread = inverse(before + curvature)
    return bread @ (before + score + np.outer(pull, pull)) @ bread


def standstills(position: np.ndarray, grain: float) -> np.ndarray:
    """First samples of stretches in which a position stands still, so that its rounding stays the same; while
    it moves every sample is a stretch of its own."""
    return np.flatnonzero(np.concatenate([[True], np.abs(np.diff(position)) > STILL * grain]))


def rounding(position: np.ndarray, grain: float) -> np.ndarray:
    """Errors of an encoder along a motion, (phases, samples): its counts may lie anywhere."""
    shifts = (np.arange(PHASES)[:, None] + 0.5) / PHASES
    counts = position[None, :] / grain + shifts
    return (np.round(counts) - counts) * grain


def outlook(
    actuator: Actuator,
    bench: Bench,
    motions: Sequence[Motion],
    *,
    sensing: Sensing | None = None,
    prior: Any = None,
    free_paths: Sequence[str] | None = None,
    joint: str = "",
    settings: dict[str, float] | None = None,
    rig: bool = True,
    benches: Sequence[Bench] | None = None,
    tolerances: bool = True,
) -> Outlook:
    """The problem that a fit of these motions would be, at the start's numbers.

    Args:
        actuator: the start.
        bench: what it carries.
        motions: to look at.
        sensing: rate, encoder and noise of the recording to come.
        prior: a datasheet, or path -> (value, standard error).
        free_paths: what would be free; the usual numbers without it.
        joint: whose tracks are played; "" for those of every joint.
        settings: what the logs will say that was set in the servo, by path.
        rig: whether somebody built the bench, so that its weights and angle are unsure.
        benches: what it carries in each motion, all of one kind, where that differs.
        tolerances: whether bench and supply may be off; a fit of robots takes them as they are stated.

    Returns:
        The outlook; what the motions tell is worked out when it is asked for.
    """
    sensing = sensing or Sensing()
    carried = zip(motions, benches or [bench] * len(motions), strict=True)
    logs = [_planned_log(motion, on, sensing, joint, settings or {}) for motion, on in carried]
    options = FitOptions(free_paths=free_paths, prior=prior, offset=rig and free_paths is None)
    p = BenchPlant(start=actuator, logs=logs, options=options).problem()
    more = within_tolerance(p.actuator, logs, p.free.paths)
    more = [one for one in more if tolerances or one.path == "drive.delay"]
    whole = problem(p.actuator, logs, p.free.with_(more), outputs=OUTPUTS, substeps=2 * p.substeps)
    return Outlook(
        problem=whole,
        motions=tuple(motions),
        sensing=sensing,
        start=actuator,
        bench=bench,
        prior=prior,
        joint=joint,
        settings=settings or {},
        rig=rig,
    )


def _planned_log(
    motion: Motion, bench: Bench, sensing: Sensing, joint: str, settings: dict[str, float]
) -> Log:
    """A log of a motion that nobody has played yet: what is asked is known, what is measured is not."""
    track, t = motion.track(joint), np.arange(0.0, motion.duration, 1.0 / sensing.rate)
    if track is None:
        raise InvalidValue(f"{motion.name} has no track for {joint!r}; expected one")
    asked = track.at(t)
    on = np.ones(len(t)) if track.coast is None else (t < track.coast).astype(float)
    signals = {"position": np.full(len(t), asked[0]), "position_target": asked, "enabled": on}
    return Log(
        name=motion.name,
        signals={name: Signal(time=t, values=values) for name, values in signals.items()},
        bench=bench,
        settings=settings,
    )
