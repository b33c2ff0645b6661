"""Whether a simulation's time step holds an actuator: what is left of it when the simulator keeps the
position."""

from __future__ import annotations

import math

import numpy as np

from ...engine.hosted_system import hosted_system
from ...engine.stepper import Stepper
from ...findings import Finding, finding
from ...physics.actuator import Actuator

FINE = 32
"""Parts of a step that count as exact."""
MOST = 16
"""Substeps tried."""
ENOUGH = 0.01
"""Share of the motion below which finer substeps gain nothing worth their time."""
TOO_MUCH = 0.1
"""Share of the motion above which something is said."""
SPEED, AWAY = 0.5, 0.05
"""How the joint is let go: its velocity, and for a drive of positions how far it is from its target."""


def error_of(actuator: Actuator, inertia: float, h: float, substeps: int, exact: np.ndarray) -> float:
    """How far a joint let go under the actuator alone is from where it would be with fine steps, as a share
    of its motion, when a simulator moves it by h at a time."""
    coarse = _let_go(actuator, inertia, h, substeps, len(exact), 1)
    if not np.isfinite(coarse).all():
        return math.inf
    size = float(np.max(exact) - np.min(exact))
    return float(np.max(np.abs(coarse - exact))) / max(size, 1e-9)


def exact(actuator: Actuator, inertia: float, h: float) -> np.ndarray:
    """The same with fine steps, after every h."""
    n = max(20, min(200, math.ceil(0.2 / h)))
    return _let_go(actuator, inertia, h / FINE, 1, n, FINE)


def _let_go(actuator: Actuator, inertia: float, h: float, substeps: int, n: int, every: int) -> np.ndarray:
    """Positions after every so many steps. The simulator's own rule, seen half a step
    earlier; see `kernel.py`."""
    step = Stepper([hosted_system(actuator)])
    q, v = step.states.index("position"), step.states.index("velocity")
    away = AWAY if actuator.drive.error_of == "position" else 0.0
    state = step.start(position=away, velocity=SPEED)
    inputs = np.array([[inertia, 0.0, *[0.0] * (len(step.inputs) - 2)]])
    positions = np.empty(n)
    with np.errstate(all="ignore"):
        for k in range(n):
            for _ in range(every):
                at, before = state[0, q], state[0, v]
                state, _ = step(state, inputs, h, substeps=substeps)
                state[0, q] = at + 0.5 * h * (before + state[0, v])
            positions[k] = state[0, q]
    return positions


def substeps_for(actuator: Actuator, inertia: float, h: float, given: int | None = None) -> tuple[int, float]:
    """As few substeps as do what more would, or those given, and the error that is left.

    Args:
        actuator: on the joint.
        inertia: of the joint besides the rotor [kg m^2 or kg].
        h: time step of the simulation [s].
        given: substeps to take; None: as few as needed.

    Returns:
        The substeps, and how far the joint is off when let go, as a share of its motion.
    """
    fine = exact(actuator, inertia, h)
    n = given or _stable_substeps(actuator, h)
    errors = {n: error_of(actuator, inertia, h, n, fine)}
    while not given and n < MOST and errors[n] > ENOUGH:
        n *= 2
        errors[n] = error_of(actuator, inertia, h, n, fine)
    least = min(errors.values())
    return next((n, error) for n, error in errors.items() if error <= max(ENOUGH, 1.25 * least))


def _stable_substeps(actuator: Actuator, h: float) -> int:
    """A power of 2 with which a drive's current loop of bandwidth w_i does not chatter: w_i h / n < 2."""
    w_i = 0.0 if actuator.motor.inductance is None else actuator.parameters.get("drive.bandwidth") or 0.0
    return 2 ** max(0, math.ceil(math.log2(max(w_i * h / 2, 1e-9) * (1 + 1e-9))))


def try_substeps(
    actuator: Actuator, joint: str, inertia: float, h: float, substeps: int | None
) -> tuple[int, float, Finding | None]:
    """Substeps, those given or as many as are needed; the error that is left, and what to say of it.

    Args:
        actuator: on the joint.
        joint: its name.
        inertia: of the joint besides the rotor [kg m^2 or kg].
        h: time step of the simulation [s].
        substeps: to take; None: as few as needed.

    Returns:
        The substeps, the error as a share of the motion, and a finding where that is too much.
    """
    n, error = substeps_for(actuator, inertia, h, substeps)
    return n, error, too_long(actuator, joint, inertia, h, error)


def too_long(actuator: Actuator, joint: str, inertia: float, h: float, error: float) -> Finding | None:
    """What to say where a time step is too long, with the longest that is not."""
    if error <= TOO_MUCH:
        return None
    safe = h
    for _ in range(12):
        safe *= 0.5
        _, left = substeps_for(actuator, inertia, safe)
        if left <= TOO_MUCH:
            break
    share = f"{error:.0%} of its motion" if math.isfinite(error) else "everything: it runs away"
    return finding(
        "timestep_too_long",
        f"at the model's time step of {1e3 * h:g} ms, joint {joint!r} ({inertia:.2g} kg m^2 or kg besides its"
        f" rotor) is off by {share} when let go: its drive is stiffer than the step resolves.",
        f"set the model's timestep to {1e3 * safe:g} ms or less",
        timestep=h,
        largest_safe_step=safe,
        error=error,
    )
