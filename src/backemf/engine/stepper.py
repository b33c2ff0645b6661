"""One compiled step of many actuators at once, for simulations in which something else keeps the time.

servos = stepper([system] * 12)
state = servos.start(position=0.1)
state = servos(state, inputs, 0.002)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InvalidValue
from .compile import compiler
from .compile.compiler import Structure
from .rows import writable
from .system import System


def stepper(systems: System | Sequence[System], n: int | None = None) -> Stepper:
    """A stepper for n actuators of one system, or for several systems of equal structure,
    each with its own numbers."""
    if not isinstance(systems, Sequence):
        systems = [systems] * (1 if n is None else n)
    if n is not None and n != len(systems):
        raise InvalidValue(f"n is {n} for {len(systems)} systems; expected the same number, or one system")
    return Stepper(systems)


class Stepper:
    """`state = stepper(state, inputs, h)`: state is (n, n_states), inputs (n, n_inputs), in the order of
    `states` and `inputs`. Where a step gives more than the states, as an attached one gives its effort, what
    comes back is (state, extra), the extra averaged over the substeps."""

    def __init__(self, systems: Sequence[System]):
        if not systems:
            raise InvalidValue("a stepper was asked for without systems; expected at least one")
        structures = [Structure(system) for system in systems]
        for i, other in enumerate(structures):
            if other != structures[0]:
                raise InvalidValue(
                    f"system {i} has another structure than system 0; expected the same parts and options"
                    " with other numbers: use one stepper per structure"
                )
        n, first = len(systems), systems[0]
        self._systems = list(systems)
        self.states, self.inputs, self.extra = first.states, first.inputs, first.extra
        functions = compiler.stepper(structures[0])
        self._prepare, self._step = functions.prepare, functions.step
        self._hoisted = np.empty((n, functions.WIDTH))
        self._shapes = (n, len(self.states)), (n, len(self.inputs))
        self.set_parameters(
            np.array([[*system.parameters.values()] for system in systems], float).reshape(n, -1)
        )

    def __len__(self) -> int:
        return len(self._hoisted)

    def set_parameters(self, p: np.ndarray) -> None:
        """Other numbers for the same actuators: (n, n_parameters), in the order of `System.parameters`."""
        shape = len(self), len(self._systems[0].parameters)
        self._prepare(writable(np.broadcast_to(np.asarray(p, float), shape)), self._hoisted)

    def start(self, **given: Any) -> np.ndarray:
        """The state at rest, with what is given put in: numbers, or one for each actuator."""
        columns = {name: np.broadcast_to(np.asarray(x, float), len(self)) for name, x in given.items()}
        rows = [
            system.initial_state(**{name: float(c[i]) for name, c in columns.items()})
            for i, system in enumerate(self._systems)
        ]
        return np.array([list(row.values()) for row in rows], float)

    def __call__(
        self,
        state: np.ndarray,
        inputs: np.ndarray,
        h: float,
        *,
        substeps: int = 1,
        out: np.ndarray | None = None,
    ) -> Any:
        """The state h seconds later, in `substeps` steps of equal length; `out` may be `state` itself."""
        if state.shape != self._shapes[0] or inputs.shape != self._shapes[1] or not h > 0:
            raise InvalidValue(
                f"state has shape {state.shape}, inputs {inputs.shape}, and h is {h!r}; expected"
                f" {self._shapes[0]} for {', '.join(self.states)}, {self._shapes[1]} for"
                f" {', '.join(self.inputs) or 'no inputs'}, and a time above 0"
            )
        n_states = len(self.states)
        after = np.empty((len(self), n_states + len(self.extra))) if out is None or self.extra else out
        try:
            self._step(substeps, self._hoisted, state, inputs, h / substeps, after)
        except (
            TypeError
        ):  # not arrays of 64-bit numbers, one row after the other: rare, so looked at only now
            self._step(substeps, self._hoisted, writable(state), writable(inputs), h / substeps, after)
        if not self.extra:
            return after
        new = after[:, :n_states]
        if out is not None:
            out[:] = new
        return np.ascontiguousarray(new) if out is None else out, after[:, n_states:]
