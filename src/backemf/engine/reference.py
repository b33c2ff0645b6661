"""The reference engine: one `jax.lax.scan` over samples. Slow, plain, and the definition of correct."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..model.energy import FLOWS
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
def _compiled(by_key: _ByKey, delayed: bool, with_energy: bool) -> Any:
    return jax.jit(functools.partial(_trajectory, by_key.system, delayed, with_energy))


def _trajectory(system: System, delayed: bool, with_energy: bool, p: Any, s0: Any, rows: Held, n: Any) -> Any:
    def sample(carry: Any, row: Held) -> Any:
        h = row.dt / n

        def substep(j: Any, carry: Any) -> Any:
            s, book = carry
            u = row.values
            if delayed:
                after = jnp.clip(j + 1 - row.switch * n, 0.0, 1.0)
                u = row.before + after * (row.values - row.before)
            if not with_energy:
                return system.step(p, s, tuple(u), h), book
            s, moved = system.step_with_energy(p, s, tuple(u), h)
            return s, tuple(a + b for a, b in zip(book, moved, strict=True))

        after = lax.fori_loop(0, n, substep, carry)
        return after, (jnp.stack(carry[0]), jnp.stack(carry[1]) if with_energy else 0.0)

    book = tuple(0.0 * s0[0] for _ in FLOWS) if with_energy else ()
    last, (states, books) = lax.scan(sample, (s0, book), rows)
    states = jnp.concatenate([states, jnp.stack(last[0])[None]])
    if not with_energy:
        return states, None
    return states, jnp.concatenate([books, jnp.stack(last[1])[None]])


def run(
    system: System, p: Any, s0: Any, rows: Held, substeps: int, *, with_energy: bool = False
) -> tuple[np.ndarray, np.ndarray | None]:
    """States at every sample (one row more than the intervals),
    and energy moved since the start where asked for."""
    with jax.enable_x64(True):
        f = _compiled(_ByKey(system), bool(np.any(rows.switch)), with_energy)
        args = tuple(jnp.asarray(float(x)) for x in p), tuple(jnp.asarray(float(x)) for x in s0)
        states, books = f(
            *args, Held(*(jnp.asarray(x, dtype=jnp.float64) for x in rows)), jnp.asarray(substeps)
        )
        return np.asarray(states), None if books is None else np.asarray(books)


def function(system: System, rows: Held, substeps: int) -> Any:
    """The trajectory as a plain function (p, s0) -> states, for JAX's own transformations;
    call it with 64-bit numbers on."""
    delayed = bool(np.any(rows.switch))
    return lambda p, s0: _trajectory(
        system,
        delayed,
        False,
        tuple(p),
        tuple(s0),
        Held(*(jnp.asarray(x, dtype=jnp.float64) for x in rows)),
        substeps,
    )[0]
