"""A system whose states also hold the energy that has moved, so that any engine can keep the energy book."""

from __future__ import annotations

from dataclasses import dataclass

from ..physics import energy, native
from ..physics.energy import FLOWS
from ..physics.maths import Scalar
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
        actuator, bench = self.with_parameters(p)
        names = self.actuator.states
        before = dict(zip(names, s[: len(names)], strict=True))
        taken = native.step(actuator, bench, before, self.asked(u), h)
        moved = energy.flows(actuator, bench, before, taken, h)
        book = (a + moved[name] for a, name in zip(s[len(names) :], energy.FLOWS, strict=True))
        return (*(taken.state[name] for name in names), *book)
