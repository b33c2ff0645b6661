"""A mechanism of gains as a system that the compiled loops run:
trajectories, and exact sensitivities to every gain."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ..model import mechanism as model
from ..model.maths import Scalar
from ..model.mechanism import Mechanism
from ..model.quantity import parameters, structure, substitute
from .compile.kernels import Kernels, kernels
from .system import Results, Row


@dataclass(frozen=True, kw_only=True)
class MechanismSystem:
    """What `System` is for an actuator on a bench:
    the names of the numbers, the step and what can be seen."""

    mechanism: Mechanism
    inputs: tuple[str, ...] = ("effort",)
    outputs: tuple[str, ...] = ("position", "velocity", "acceleration")

    @property
    def parameters(self) -> dict[str, float]:
        return parameters(self.mechanism)

    @property
    def states(self) -> tuple[str, ...]:
        return "position", "velocity"

    @property
    def extra(self) -> tuple[str, ...]:
        return ()

    @property
    def key(self) -> tuple:
        return structure(self.mechanism), self.inputs, self.outputs

    def initial_state(self, **given: float) -> dict[str, float]:
        return {"position": 0.0, "velocity": 0.0, **given}

    def with_parameters(self, p: Row) -> Mechanism:
        return substitute(self.mechanism, dict(zip(self.parameters, p, strict=True)))

    def step(self, p: Row, s: Row, u: Row, h: Scalar) -> Results:
        return model.step(self.with_parameters(p), s[0], s[1], u[0], h)

    def observe(self, p: Row, s: Row, u: Row) -> Results:
        now = {
            "position": s[0],
            "velocity": s[1],
            "acceleration": model.acceleration(self.with_parameters(p), s[0], s[1], u[0]),
        }
        return tuple(now[name] for name in self.outputs)


@functools.cache
def mechanism_kernels(turning: bool) -> Kernels:
    """The loops of a mechanism; `turning` is an arm, whose gravity changes with its angle.
    Every gain and the start are free."""
    arm = {"gravity_cosine": 1.0, "gravity_sine": 1.0} if turning else {}
    system = MechanismSystem(mechanism=Mechanism(effort_per_acceleration=1.0, **arm))
    return kernels(system, free=tuple(system.parameters), start=system.states)
