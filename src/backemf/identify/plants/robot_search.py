"""The search over all joints: with an observer first, contact found on the way, then let go; one friction law
after the other, each from what the poorer ones found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...engine.rows import DELAY
from ...logs.robot import Ground
from ...physics.actuator import Actuator
from ..frictions import above, with_friction
from ..optimize import Minimum, Progress, levenberg_marquardt
from .recordings import RobotRecording, first_part, with_contact
from .sharing import Joined, Setup, actuators_at, joined, shifted_start, weigh, x_from

COARSE = 7e-3
"""Step of the search [s]; the optimum is settled with half of it at most."""
FIRST_ERROR = 5e-3
"""Scatter that errors are taken to have before any is seen [rad]."""
FIRST_ALIKE = 50.0
"""Samples that count as one before any error is seen: a model's errors last."""
OBSERVED = 20.0
"""Bandwidth of the observer with which contact is looked for [rad/s]."""
RELEASED = (6.0, 2.0)
GLANCE = 40.0
"""Seconds of each recording that the first steps of a search look at."""


@dataclass(frozen=True, kw_only=True)
class Settled:
    """Where the search with one friction came to rest."""

    setup: Setup
    problem: Joined
    x: np.ndarray
    robust: float
    recordings: list[RobotRecording]
    ground: Ground | None
    ended: str
    cost: float
    n_evaluations: int

    @property
    def values(self) -> dict[str, float]:
        return self.problem.values(self.x)


def substeps_of(p: Joined, step: float) -> int:
    return max(1, int(np.ceil(p.step / step - 1e-6)))


def searched(
    setup: Setup,
    recordings: Sequence[RobotRecording],
    ground: Ground | None,
    note: Progress | None = None,
    contact: bool = True,
    settle: bool = True,
) -> Settled:
    """From the start: with the observer, then contact, then without; settled unless a richer friction
    follows."""
    say: Callable[[str, float, float], None] = note or (lambda *_: None)
    # Where a search begins, a part of each recording says where to go.
    p = joined(setup, [first_part(one, GLANCE) for one in recordings])
    coarse = substeps_of(p, COARSE)
    robust = _at_first(p)
    bandwidth = min(OBSERVED, 0.4 / p.step)
    x = shifted_start(p, p.first, bandwidth, coarse)
    how: dict[str, Any] = {"robust": robust, "substeps": coarse, "tolerance": 2e-3}
    end = levenberg_marquardt(p, x, bandwidth=bandwidth, most=15, **how)
    n = end.n_evaluations + 6
    say("with an observer", end.cost, 0.3)
    found = [*recordings]
    if contact:
        acts, delays = actuators_at(p, setup, end.x)
        found, ground, _ = with_contact(setup.robot, recordings, acts, delays, ground)
        say("contact found", end.cost, 0.5)
    known = p.values(end.x)
    p = joined(setup, found)
    _at_first(p)
    end = levenberg_marquardt(p, x_from(p, known), bandwidth=bandwidth, most=8, **how)
    n += end.n_evaluations
    for b in RELEASED:
        end = levenberg_marquardt(p, end.x, bandwidth=b, most=12, **how)
        n += end.n_evaluations
        say(f"observer at {b:g} rad/s", end.cost, 0.7)
    return settled(setup, p, end.x, found, ground, n, most=20 if settle else 0)


def _at_first(p: Joined) -> float:
    """Weights before any error is seen; gives the weighted error beyond which one counts less."""
    p.sigma = np.full((len(p.logs), 1), FIRST_ERROR * np.sqrt(FIRST_ALIKE))
    return float(1.5 / np.sqrt(FIRST_ALIKE))


def settled(
    setup: Setup,
    p: Joined,
    x: np.ndarray,
    recordings: list[RobotRecording],
    ground: Ground | None,
    n: int,
    most: int = 20,
) -> Settled:
    """Without an observer, weighed by the errors that are left."""
    coarse = substeps_of(p, COARSE)
    robust = weigh(p, x)
    end: Minimum = levenberg_marquardt(
        p, x, robust=robust, substeps=coarse, most=most, tolerance=2e-3, damping=1e-3
    )
    return Settled(
        setup=setup,
        problem=p,
        x=end.x,
        robust=robust,
        recordings=recordings,
        ground=ground,
        ended=end.ended,
        cost=end.cost,
        n_evaluations=n + end.n_evaluations,
    )


def seen_again(s: Settled, told: Ground | None) -> Settled:
    """The same with contact looked for again: a better model of the actuators sees it better."""
    acts, delays = actuators_at(s.problem, s.setup, s.x)
    recordings, ground, _ = with_contact(s.setup.robot, s.recordings, acts, delays, told)
    p = joined(s.setup, recordings)
    return replace(s, problem=p, x=x_from(p, s.values), recordings=recordings, ground=ground)


def finished(s: Settled) -> Settled:
    """The same, weighed anew and with finer steps."""
    p = s.problem
    robust = weigh(p, s.x)
    p.substeps = substeps_of(p, 0.5 * COARSE)
    end = levenberg_marquardt(p, s.x, robust=robust, most=15, tolerance=1e-3, damping=1e-4)
    n = s.n_evaluations + end.n_evaluations
    return replace(s, x=end.x, robust=robust, ended=end.ended, cost=end.cost, n_evaluations=n)


def climbed(below: Settled, name: str, settle: bool = True) -> Settled:
    """From what a poorer friction found, as a start of a richer one; settled unless a still richer one
    follows."""
    acts, _ = actuators_at(below.problem, below.setup, below.x)
    starts = {joint: lossless(above(a, name)) for joint, a in acts.items()}
    # Priors stand around what the first start says, not around what another law found.
    setup = below.setup.with_starts({j: with_law(below.setup.starts[j], name) for j in starts})
    p = joined(setup, below.recordings)
    known = below.values
    for joint, actuator in starts.items():
        own = actuator.parameters
        known |= {
            q.name: own[q.path]
            for q in p.free.parameters
            if q.group == joint and q.path in own and q.path != DELAY
        }
    p.sigma = below.problem.sigma
    coarse = substeps_of(p, COARSE)
    end = levenberg_marquardt(
        p,
        x_from(p, known),
        bandwidth=RELEASED[0],
        robust=below.robust,
        substeps=coarse,
        most=8,
        tolerance=2e-3,
    )
    n = end.n_evaluations
    return settled(setup, p, end.x, below.recordings, below.ground, n, most=20 if settle else 0)


def with_law(actuator: Actuator, name: str) -> Actuator:
    """An actuator with another friction; where that knows the load, the gears lose nothing besides."""
    return lossless(with_friction(actuator, name))


def lossless(actuator: Actuator) -> Actuator:
    if not actuator.friction.loaded or actuator.gearbox.efficiency is None:
        return actuator
    return replace(actuator, gearbox=replace(actuator.gearbox, efficiency=None))
