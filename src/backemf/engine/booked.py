"""A system whose states also hold the energy that has moved, so that any engine can keep the energy book."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.energy import FLOWS
from ..model.maths import Scalar
from .system import ActuatorSystem, Results, Row


@dataclass(frozen=True, kw_only=True)
class Booked(ActuatorSystem):
    """The states are followed by the energy moved since the start, in the order of `energy.FLOWS` [J]."""

    @property
    def states(self) -> tuple[str, ...]:
        return (*self.actuator.states, *FLOWS)

    @property
    def key(self) -> tuple:
        return (*super().key, "energy")

    def step(self, p: Row, s: Row, u: Row, h: Scalar) -> Results:
        n = len(self.actuator.states)
        plain = ActuatorSystem(
            actuator=self.actuator, bench=self.bench, inputs=self.inputs, outputs=self.outputs
        )
        after, moved = plain.step_with_energy(p, s[:n], u, h)
        return (*after, *(a + b for a, b in zip(s[n:], moved, strict=True)))
