"""An actuator on a bench as one flat function of numbers: what every engine runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model import energy, native
from ..model.actuator import Actuator, signals
from ..model.bench import Bench
from ..model.maths import Scalar
from ..model.quantity import parameters, structure, substitute


@dataclass(frozen=True, kw_only=True)
class System:
    """The names of the numbers, and the step: `step(p, s, u, h) -> s'` on plain tuples in the order of these
    names.

    Parameters are the actuator's, by path, then the bench's, under `bench.`.
    """

    actuator: Actuator
    bench: Bench
    inputs: tuple[str, ...]
    outputs: tuple[str, ...] = ("position",)
    """Signals that `observe` gives: states, or voltage, current, torque, temperature."""

    @property
    def parameters(self) -> dict[str, float]:
        return {**parameters(self.actuator), **parameters(self.bench, "bench.")}

    @property
    def states(self) -> tuple[str, ...]:
        return self.actuator.states

    @property
    def key(self) -> tuple:
        """Equal for systems that differ only in numbers."""
        return structure(self.actuator), structure(self.bench), self.inputs, self.outputs

    def with_parameters(self, p: Sequence[Scalar]) -> tuple[Actuator, Bench]:
        values = dict(zip(self.parameters, p, strict=True))
        mine = {path: v for path, v in values.items() if path not in parameters(self.bench, "bench.")}
        theirs = {path: v for path, v in values.items() if path not in mine}
        return substitute(self.actuator, mine), substitute(self.bench, theirs, "bench.")

    def step(
        self, p: Sequence[Scalar], s: Sequence[Scalar], u: Sequence[Scalar], h: Scalar
    ) -> tuple[Scalar, ...]:
        """The state after h seconds."""
        actuator, bench = self.with_parameters(p)
        after, _, _ = native.step(actuator, bench, self.named(s), self.asked(u), h)
        return tuple(after[name] for name in self.states)

    def step_with_energy(
        self, p: Sequence[Scalar], s: Sequence[Scalar], u: Sequence[Scalar], h: Scalar
    ) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
        """The state after h seconds, and the energy that moved meanwhile,
        in the order of `energy.FLOWS` [J]."""
        actuator, bench = self.with_parameters(p)
        before, inputs = self.named(s), self.asked(u)
        after, w, t = native.step(actuator, bench, before, inputs, h)
        moved = energy.flows(actuator, bench, before, after, inputs, w, t, h)
        return tuple(after[name] for name in self.states), tuple(moved[name] for name in energy.FLOWS)

    def observe(self, p: Sequence[Scalar], s: Sequence[Scalar], u: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """The outputs at a moment, for the state and the inputs that hold from it on."""
        actuator, _ = self.with_parameters(p)
        state = self.named(s)
        seen = {**signals(actuator, state, self.asked(u)), **state}
        return tuple(seen[name] for name in self.outputs)

    def named(self, s: Sequence[Scalar]) -> dict[str, Scalar]:
        return dict(zip(self.states, s, strict=True))

    def asked(self, u: Sequence[Scalar]) -> dict[str, Scalar]:
        return dict(zip(self.inputs, u, strict=True))
