"""A dcmotor's bristle at its joint: how it rings, whether it is passive, and the time step that it bears."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from ...analysis.curves import Presliding, presliding
from ...findings import Finding, finding
from ...mujoco.arrays import engine_of
from ...physics.gearbox import Gearbox
from ...tables import number
from .law import LONG, Law

RULES = {"Euler": "Euler", "implicitfast": "implicitfast", "implicit": "implicitfast"}
"""MuJoCo's integrators whose bound is known; RK4 steps a bristle by a rule of its own."""


class Bristle(NamedTuple):
    """A LuGre bristle near rest, at the joint."""

    natural_frequency: float
    """Hz."""
    damping_ratio: float
    """With the motor's damping and the joint's."""
    damping: float
    """sigma_1 [N m s/rad]."""
    critical_damping: float
    """The sigma_1 from which it does not ring [N m s/rad]."""
    passive_limit: float | None
    """The sigma_1 from which it can feed energy into the joint [N m s/rad]; None: never."""
    integrator: str
    """Of the model."""
    largest_step: float | None
    """Below which its small motions die away with that integrator [s]; None: not known."""
    largest_steps: dict[str, float]
    """The same for other integrators [s]."""


def near_rest(law: Law, inertia: float) -> Presliding | None:
    """The bristle at the joint; the joint's own damping is viscous, that of the motor and its law is not."""
    lugre = None if law.dcmotor is None else law.dcmotor.lugre
    if lugre is None or inertia <= 0:
        return None
    friction = replace(Gearbox(ratio=law.gear).reflect(lugre), viscous=law.viscous)
    return presliding(friction, inertia, law.damping - law.viscous)


def bristle(law: Law, inertia: float, model: Any) -> Bristle | None:
    """The bristle of a compiled model's dcmotor; None where it has none."""
    near = near_rest(law, inertia)
    if near is None:
        return None
    integrator = engine_of(model).integrator
    known = {name: near.largest_step(name) for name in ("Euler", "implicitfast")}
    return Bristle(
        natural_frequency=near.natural_frequency / (2 * math.pi),
        damping_ratio=near.damping_ratio,
        damping=near.micro_damping,
        critical_damping=near.critical_micro_damping,
        passive_limit=near.passive_limit,
        integrator=integrator,
        largest_step=known[RULES[integrator]] if integrator in RULES else None,
        largest_steps=known,
    )


def findings(one: Bristle | None, h: float, damping: str) -> Iterator[Finding]:
    """A step that its bristle does not bear, or does not resolve, and damping that is not passive."""
    if one is None:
        return
    turned = 2 * math.pi * one.natural_frequency * h
    if one.largest_step is not None and h >= one.largest_step:
        text = (
            f"small motions of its bristle grow: the step is {1e3 * h:.3g} ms, and {one.integrator} bears"
            f" less than {1e3 * one.largest_step:.3g} ms (at most all damping over the bristle's stiffness)."
        )
        remedy = "a shorter step, more lugre damping or joint damping, or a softer bristle"
        if one.integrator == "Euler" and one.largest_steps["implicitfast"] > h:
            remedy = (
                f'integrator="implicitfast", which bears {1e3 * one.largest_steps["implicitfast"]:.3g} ms'
            )
        yield finding("bristle_unstable", text, remedy, timestep=h, largest=one.largest_step)
    elif turned > LONG and one.damping_ratio < 1:
        text = f"its bristle rings at {one.natural_frequency:.3g} Hz: {turned:.2g} rad per step."
        yield finding("step_too_long", text, "a shorter step or a softer bristle", timestep=h)
    if one.passive_limit is not None and one.damping > one.passive_limit:
        text = (
            f"its bristle can feed energy into the joint: lugre damping {number(one.damping, 3)} is above its"
            f" viscous x coulomb / (static - coulomb) = {number(one.passive_limit, 3)} {damping}."
        )
        remedy = "less lugre damping, more viscous damping, or a smaller peak at rest"
        yield finding("not_passive", text, remedy, damping=one.damping, limit=one.passive_limit)
