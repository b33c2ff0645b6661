"""The reference engine: one `jax.lax.scan` over samples. Slow, plain, and the definition of correct."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .rows import NO_SPLIT, Held
from .system import System


class _ByKey:
    """A system that compares by its structure, so that compiled functions are shared by equal ones."""

    def __init__(self, system: System):
        self.system, self.key = system, system.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByKey) and self.key == other.key


@functools.lru_cache(maxsize=64)
def _compiled(by_key: _ByKey, delayed: bool) -> Any:
    return jax.jit(functools.partial(_trajectory, by_key.system, delayed))


def _trajectory(system: System, delayed: bool, p: Any, s0: Any, rows: Held, n: Any) -> Any:
    def sample(s: Any, row: Held) -> Any:
        m, early, h_early, h_late = parts(row.switch, row.dt, n) if delayed else (n, 0, 0.0, row.dt / n)

        def substep(j: Any, s: Any) -> Any:
            first = j < early
            u = jnp.where(first, row.before, row.values) if delayed else row.values
            h: Any = jnp.where(first, h_early, h_late)
            return system.step(p, s, tuple(u), h)[: len(s)]

        return lax.fori_loop(0, m, substep, s), jnp.stack(s)

    last, states = lax.scan(sample, s0, rows)
    return jnp.concatenate([states, jnp.stack(last)[None]])


def parts(switch: Any, dt: Any, n: Any, later: Any = 0.0) -> tuple[Any, Any, Any, Any]:
    """(steps of an interval, steps before the command switches, their length, the length of the others);
    `later` moves the switch by seconds."""
    inside = (switch > NO_SPLIT) & (switch < 1.0 - NO_SPLIT)
    m = jnp.where(inside, jnp.maximum(n, 2), n)
    before = jnp.clip(jnp.ceil(switch * m - 0.5).astype(m.dtype), 1, m - 1)
    early = jnp.where(inside, before, jnp.where(switch > 0.5, n, 0))
    # nothing is divided by 0 on the side that is not taken
    h_early = (switch * dt + later) / jnp.where(inside, early, 1)
    h_late = ((1.0 - switch) * dt - later) / jnp.where(inside, m - early, 1)
    return m, early, jnp.where(inside, h_early, dt / n), jnp.where(inside, h_late, dt / n)


def run(system: System, p: Any, s0: Any, rows: Held, substeps: int) -> np.ndarray:
    """States at every sample, one row more than the intervals."""
    with jax.enable_x64(True):
        f = _compiled(_ByKey(system), bool(np.any(rows.switch)))
        args = tuple(jnp.asarray(float(x)) for x in p), tuple(jnp.asarray(float(x)) for x in s0)
        return np.asarray(
            f(*args, Held(*(jnp.asarray(x, dtype=jnp.float64) for x in rows)), jnp.asarray(substeps))
        )
