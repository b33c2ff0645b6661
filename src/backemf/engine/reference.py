"""The reference engine: one `jax.lax.scan` over samples. Slow, plain, and the definition of correct."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .rows import Held
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
        def substep(j: Any, s: Any) -> Any:
            u = row.values
            if delayed:
                after = jnp.clip(j + 1 - row.switch * n, 0.0, 1.0)
                u = row.before + after * (row.values - row.before)
            return system.step(p, s, tuple(u), row.dt / n)[: len(s)]

        return lax.fori_loop(0, n, substep, s), jnp.stack(s)

    last, states = lax.scan(sample, s0, rows)
    return jnp.concatenate([states, jnp.stack(last)[None]])


def run(system: System, p: Any, s0: Any, rows: Held, substeps: int) -> np.ndarray:
    """States at every sample, one row more than the intervals."""
    with jax.enable_x64(True):
        f = _compiled(_ByKey(system), bool(np.any(rows.switch)))
        args = tuple(jnp.asarray(float(x)) for x in p), tuple(jnp.asarray(float(x)) for x in s0)
        return np.asarray(
            f(*args, Held(*(jnp.asarray(x, dtype=jnp.float64) for x in rows)), jnp.asarray(substeps))
        )


def function(system: System, rows: Held, substeps: int) -> Any:
    """The trajectory as a plain function (p, s0) -> states, for JAX's own transformations; call it with
    64-bit numbers on."""
    delayed, arrays = bool(np.any(rows.switch)), Held(*(jnp.asarray(x, dtype=jnp.float64) for x in rows))
    return lambda p, s0: _trajectory(system, delayed, tuple(p), tuple(s0), arrays, substeps)
