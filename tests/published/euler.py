"""The plain scheme of many published simulations: semi-implicit Euler, with every torque taken at the start
of the step.

It is there to reproduce published numbers to their last digit; for everything else the accurate step is
better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backemf.engine.system import ActuatorSystem
from backemf.errors import NotLowered
from backemf.physics.actuator import inertias, over
from backemf.physics.maths import Scalar


@dataclass(frozen=True, kw_only=True)
class EulerSystem(ActuatorSystem):
    """A system that steps as v += h a(q, v), q += h v;
    for actuators without hidden states or dry friction."""

    def step(
        self, p: Sequence[Scalar], s: Sequence[Scalar], u: Sequence[Scalar], h: Scalar
    ) -> tuple[Scalar, ...]:
        actuator, bench = self.with_parameters(p)
        if self.states != ("position", "velocity") or actuator.friction.dry:
            raise NotLowered(
                "plain Euler steps carry position and velocity alone; use the accurate step for sticking and"
                " hidden states"
            )
        state, inputs = self.state_values(s), self.input_values(u)
        v = state["velocity"]
        t = over(actuator, bench, state, inputs, v, 0.0 * h)
        v1 = v + h * (t.loads.free) / sum(inertias(actuator, bench, inputs))
        return state["position"] + h * v1, v1
