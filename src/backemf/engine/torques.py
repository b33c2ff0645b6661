"""An actuator on a joint that somebody else moves, who also solves its dry friction: the torque that it puts
there at this moment, how that falls with speed, and the level of its friction.

A simulator with a solver for contact and friction must have dry friction among its constraints: friction that
holds a joint pressed against a table answers the table within the same step.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..model.actuator import Actuator, inertias, over, resistance
from ..model.bench import Recorded
from ..model.maths import Scalar, absolute, maximum, side
from .attached import Attached
from .system import Results, Row

NUDGE = 1e-4
"""Change of velocity over which the torque's fall is taken [rad/s]."""


@dataclass(frozen=True, kw_only=True)
class Torques(Attached):
    """A system whose step leaves position and velocity alone and gives, after the states: the torque of motor
    and drag at the output, how much it falls for each rad/s, and the level of dry friction."""

    @property
    def extra(self) -> tuple[str, ...]:
        return ("torque", "damping", "level")

    @property
    def key(self) -> tuple:
        return (*super().key, "torques")

    def step(self, p: Row, s: Row, u: Row, h: Scalar) -> Results:
        actuator, bench = self.with_parameters(p)
        state, inputs = self.named(s), bench.corrected(self.asked(u))
        w = state["velocity"]
        here = over(actuator, bench, state, inputs, w, h)
        there = over(actuator, bench, state, inputs, w + NUDGE, h)
        torque = here.loads.motor - here.loads.drag
        fall = maximum(0.0, (torque - (there.loads.motor - there.loads.drag)) / NUDGE)
        J = inertias(actuator, bench, inputs)
        level = resistance(actuator, J, here.loads, side(w))
        after = {**state, **here.hidden}
        return *(after[name] for name in self.states), torque, fall, absolute(level)


def torques(actuator: Actuator, asked: tuple[str, ...]) -> Torques:
    """The system of an actuator that follows these signals."""
    return Torques(actuator=actuator, bench=Recorded(), inputs=("inertia", "load", *asked))
