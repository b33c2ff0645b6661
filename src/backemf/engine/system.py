"""An actuator on a bench as one flat function of numbers: what every engine runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..physics import energy, native
from ..physics.actuator import Actuator, signals
from ..physics.bench import Bench
from ..physics.energy import FLOWS
from ..physics.maths import Scalar
from ..physics.quantity import parameters, structure, substitute

Row = Sequence[Scalar]
"""Numbers in the order of their names."""
Results = tuple[Scalar, ...]


class System(Protocol):
    """What the engines run: the names of the numbers, and functions on plain tuples of parameters p, states s
    and inputs u in the order of these names.

    `step(p, s, u, h)` gives the states after h seconds, then what `extra` names; `observe(p, s, u)` the
    outputs at a moment, for the inputs that hold from it on.
    """

    @property
    def inputs(self) -> tuple[str, ...]: ...
    @property
    def outputs(self) -> tuple[str, ...]: ...
    @property
    def parameters(self) -> dict[str, float]: ...
    @property
    def states(self) -> tuple[str, ...]: ...
    @property
    def extra(self) -> tuple[str, ...]: ...
    @property
    def key(self) -> tuple:
        """Equal for systems that differ only in numbers."""
        ...

    def initial_state(self, **given: float) -> dict[str, float]:
        """A state at rest, with what is given put in."""
        ...

    @property
    def step(self) -> Callable[[Row, Row, Row, Scalar], Results]: ...
    @property
    def observe(self) -> Callable[[Row, Row, Row], Results]: ...


@dataclass(frozen=True, kw_only=True)
class ActuatorSystem:
    """An actuator on a bench. Parameters are the actuator's, by path, then the bench's, under `bench.`."""

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
    def extra(self) -> tuple[str, ...]:
        return ()

    @property
    def key(self) -> tuple:
        return structure(self.actuator), structure(self.bench), self.inputs, self.outputs

    def initial_state(self, **given: float) -> dict[str, float]:
        """A state at rest, with what is given put in."""
        return self.actuator.initial_state(**given)

    def with_parameters(self, p: Row) -> tuple[Actuator, Bench]:
        """Its actuator and bench with these numbers."""
        values = dict(zip(self.parameters, p, strict=True))
        mine = {path: v for path, v in values.items() if path not in parameters(self.bench, "bench.")}
        theirs = {path: v for path, v in values.items() if path not in mine}
        return substitute(self.actuator, mine), substitute(self.bench, theirs, "bench.")

    def step(self, p: Row, s: Row, u: Row, h: Scalar) -> Results:
        """Take one step.

        Args:
            p: parameters, in the order of their names.
            s: states likewise.
            u: inputs likewise, which hold from this moment on.
            h: length of the step [s].

        Returns:
            The states after it, then what `extra` names.
        """
        actuator, bench = self.with_parameters(p)
        after = native.step(
            actuator, bench, self.state_values(s), bench.correct_inputs(self.input_values(u)), h
        ).state
        return tuple(after[name] for name in self.states)

    def observe(self, p: Row, s: Row, u: Row) -> Results:
        """Look at a moment.

        Args:
            p: parameters, in the order of their names.
            s: states likewise.
            u: inputs likewise, which hold from this moment on.

        Returns:
            The outputs.
        """
        actuator, bench = self.with_parameters(p)
        state = self.state_values(s)
        seen = {**signals(actuator, state, bench.correct_inputs(self.input_values(u))), **state}
        return tuple(seen[name] for name in self.outputs)

    def state_values(self, s: Row) -> dict[str, Scalar]:
        """States by name."""
        return dict(zip(self.states, s, strict=True))

    def input_values(self, u: Row) -> dict[str, Scalar]:
        """Inputs by name."""
        return dict(zip(self.inputs, u, strict=True))


@dataclass(frozen=True, kw_only=True)
class EnergySystem(ActuatorSystem):
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
        taken = native.step(actuator, bench, before, self.input_values(u), h)
        moved = energy.flows(actuator, bench, before, taken, h)
        book = (a + moved[name] for a, name in zip(s[len(names) :], energy.FLOWS, strict=True))
        return (*(taken.state[name] for name in names), *book)
