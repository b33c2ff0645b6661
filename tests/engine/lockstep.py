"""One sample at a time from the reference's own states:
compiled code against JAX, without the error that a trajectory gathers."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from backemf.engine import reference
from backemf.engine.compile.kernels import Kernels, kernels
from backemf.engine.rows import Batch, hold_inputs
from backemf.engine.system import ActuatorSystem

N = 120
DT = 2e-3


class Walk(NamedTuple):
    """States that a system passes through, and the inputs there."""

    system: ActuatorSystem
    p: np.ndarray
    states: np.ndarray
    inputs: np.ndarray
    dt: np.ndarray


def asked_of(asked: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """(inputs, lengths of the intervals): nothing, a step, far into saturation, back, and switched off."""
    names, k = tuple(sorted(asked)), np.arange(N)
    level = np.select([k < 10, k < 40, k < 60, k < 80], [0.0, 1.0, -4.0, 0.3], 0.0)
    steady = {"supply", "inertia", "newton_metres_per_radian", "newton_metre_seconds_per_radian"}
    columns = [
        (
            np.full(N, asked[name])
            if name in steady
            else np.where(k < 70, 1.0, 0.0)
            if name == "enabled"
            else asked[name] * level
        )
        for name in names
    ]
    inputs = np.stack(columns, axis=1) if names else np.zeros((N, 0))
    return inputs, DT * np.where(k % 5 == 3, 0.7, 1.0)


def brought_to_rest(system: ActuatorSystem, states: np.ndarray) -> np.ndarray:
    """States of which every fourth stands still where it is, and every fourth nearly so."""
    states = states.copy()
    for name in ("velocity", "rotor_velocity"):
        if name in system.states:
            states[::4, system.states.index(name)] = 0.0
            states[2::4, system.states.index(name)] *= 1e-3
    return states


def walk(actuator, bench, asked, *, outputs=None) -> Walk:
    """Through motion, saturation and a switched-off stretch;
    every fourth state is brought to rest where it is, and every fourth nearly so."""
    names = tuple(sorted(asked))
    system = ActuatorSystem(actuator=actuator, bench=bench, inputs=names, outputs=outputs or actuator.states)
    inputs, dt = asked_of(asked)
    p, s0 = (
        np.array(list(system.parameters.values())),
        np.array(list(actuator.initial_state(position=0.15).values())),
    )
    states = reference.run(system, p, s0, hold_inputs(inputs, dt), 1)
    assert np.isfinite(states).all()
    return Walk(system, p, brought_to_rest(system, states)[:-1], inputs, dt)


def one_sample(w: Walk, k: Kernels) -> Batch:
    """Every moment of a walk as a log of its own, one interval long."""
    return k.batch([hold_inputs(w.inputs[i : i + 1], w.dt[i : i + 1]) for i in range(len(w.dt))])


def compiled_step(w: Walk, substeps: int) -> np.ndarray:
    k = kernels(w.system, fallback=False)
    return k.trajectory(w.p, w.states, one_sample(w, k), substeps)[1::2]


def compiled_jacobian(w: Walk, free, start, substeps: int) -> tuple[np.ndarray, np.ndarray]:
    k = kernels(w.system, free=free, start=start, fallback=False)
    values, slopes = k.sensitivities(w.p, w.states, one_sample(w, k), substeps)
    return values[1::2], slopes[1::2]


def reference_jacobian(w: Walk, free, start, substeps: int) -> tuple[np.ndarray, np.ndarray]:
    """(state after one sample, its derivatives in the free parameters and start states) by JAX."""
    at = (
        [list(w.system.parameters).index(name) for name in free],
        [w.system.states.index(name) for name in start],
    )

    def after(chosen, s, u, dt):
        p = jnp.asarray(w.p).at[jnp.array(at[0], int)].set(chosen[: len(free)])
        s = s.at[jnp.array(at[1], int)].set(chosen[len(free) :])
        for _ in range(substeps):
            s = jnp.stack(
                [
                    jnp.asarray(x, jnp.float64)
                    for x in w.system.step(tuple(p), tuple(s), tuple(u), dt / substeps)
                ]
            )
        return s

    with jax.enable_x64(True):
        chosen = jnp.concatenate(
            [jnp.broadcast_to(w.p[at[0]], (len(w.dt), len(free))), w.states[:, at[1]]], axis=1
        )
        arguments = chosen, jnp.asarray(w.states), jnp.asarray(w.inputs), jnp.asarray(w.dt)
        both = jax.jit(jax.vmap(jax.jacfwd(lambda *x: (after(*x),) * 2, has_aux=True)))
        slopes, values = both(*arguments)
        return np.asarray(values), np.asarray(slopes)


def assert_close(
    found: np.ndarray, expected: np.ndarray, tolerance: float, rounding: np.ndarray | float = 0.0
) -> None:
    """Within a relative tolerance of the largest value that an entry takes on the walk,
    plus a known rounding."""
    allowed = tolerance * np.max(np.abs(expected), axis=0) + rounding
    error = np.max(np.abs(found - expected), axis=0)
    worst = np.unravel_index(np.argmax(error - allowed), error.shape)
    assert np.all(error <= allowed), f"off by {error[worst]:.2g} at {worst}, allowed {allowed[worst]:.2g}"


def rounding_of(w: Walk, free, start) -> np.ndarray:
    """What rounding alone does to a derivative whose terms cancel:
    1e-14 of the state per relative change of the number."""
    largest = np.max(np.abs(w.states), axis=0)
    numbers = np.concatenate(
        [
            np.abs(w.p[[list(w.system.parameters).index(name) for name in free]]),
            largest[[w.system.states.index(name) for name in start]],
        ]
    )
    return 1e-14 * np.outer(largest, 1.0 / np.maximum(numbers, 1e-3))
