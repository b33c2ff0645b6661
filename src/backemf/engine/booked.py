"""A system whose states also hold the energy that has moved, so that any engine can keep the energy book."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model.energy import FLOWS
from ..model.maths import Scalar
from .system import System


@dataclass(frozen=True, kw_only=True)
class Booked(System):
    """The states are followed by the energy moved since the start, in the order of `energy.FLOWS` [J]."""

    @property
    def states(self) -> tuple[str, ...]:
        return (*self.actuator.states, *FLOWS)

    @property
    def key(self) -> tuple:
        return (*super().key, "energy")

    def step(
        self, p: Sequence[Scalar], s: Sequence[Scalar], u: Sequence[Scalar], h: Scalar
    ) -> tuple[Scalar, ...]:
        n = len(self.actuator.states)
        plain = System(actuator=self.actuator, bench=self.bench, inputs=self.inputs, outputs=self.outputs)
        after, moved = plain.step_with_energy(p, s[:n], u, h)
        return (*after, *(a + b for a, b in zip(s[n:], moved, strict=True)))
