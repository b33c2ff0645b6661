"""The reference engine: one `jax.lax.scan` over samples. Slow, plain, and the definition of correct."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .compile.compiler import Structure
from .rows import DELAY, NO_SPLIT, STEEPEST, HeldInputs, corrected_pairs
from .system import System


@functools.lru_cache(maxsize=64)
def _compile_trajectory(structure: Structure, delayed: bool) -> Any:
    return jax.jit(functools.partial(_scan, structure.system, delayed))


def _scan(system: System, delayed: bool, p: Any, s0: Any, rows: HeldInputs, n: Any) -> Any:
    def sample(s: Any, row: HeldInputs) -> Any:
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


def run(system: System, p: Any, s0: Any, rows: HeldInputs, substeps: int) -> np.ndarray:
    """Run one log.

    Args:
        system: what runs.
        p: parameters, in order.
        s0: start states, in order.
        rows: the inputs.
        substeps: steps from one sample to the next.

    Returns:
        States at every sample, one row more than the intervals.
    """
    with jax.enable_x64(True):
        f = _compile_trajectory(Structure(system), bool(np.any(rows.switch)))
        args = tuple(jnp.asarray(float(x)) for x in p), tuple(jnp.asarray(float(x)) for x in s0)
        return np.asarray(
            f(*args, HeldInputs(*(jnp.asarray(x, dtype=jnp.float64) for x in rows)), jnp.asarray(substeps))
        )


def kernel(kind: str, system: System, free: Sequence[str], start: Sequence[str]) -> Callable[..., None]:
    """A function with the arguments of the compiled kernel of that kind.

    Args:
        kind: 'trajectory', 'cost', 'sensitivities' or 'normal'.
        system: what runs.
        free: parameters, by path, that derivatives are taken in.
        start: states whose start values are free too.

    Returns:
        It writes its results into arrays, as the compiled one does.
    """
    loops = {"trajectory": _trajectory, "sensitivities": _sensitivities, "normal": _normal, "cost": _cost}
    return functools.partial(loops[kind], _outputs(Structure(system), tuple(free), tuple(start)))


@functools.lru_cache(maxsize=16)
def _outputs(structure: Structure, free: tuple[str, ...], start: tuple[str, ...]) -> _Outputs:
    """Shared by the kinds of kernels, so that JAX compiles each function once."""
    return _Outputs(structure.system, free, start)


class _Outputs:
    """Outputs at every sample of one log, as a function of the free numbers."""

    def __init__(self, system: System, free: Sequence[str], start: Sequence[str]):
        self.system, self.start = system, [system.states.index(name) for name in start]
        self.free = [list(system.parameters).index(path) for path in free]
        self.delay = list(free).index(DELAY) if DELAY in free else None
        self.pairs = corrected_pairs(system.states)
        self.values = jax.jit(self.function)
        self.slopes = jax.jit(jax.jacfwd(self.function))

    def case(
        self, c: int, n: int, P: Any, S: Any, which: Any, offsets: Any, *rest: Any
    ) -> tuple[slice, tuple[Any, ...]]:
        """The samples of a case, and the arguments of `function` for it."""
        *held, bandwidth, seen, reset, reset_to = rest
        at = slice(offsets[which[c]], offsets[which[c] + 1])
        size = at.stop - at.start
        seen = seen[at] if len(seen) else np.full(size, np.nan)
        reset, reset_to = (
            (reset[at], reset_to[at]) if len(reset) else (np.zeros(size, bool), np.zeros((size, 2)))
        )
        rows = (*(x[at] for x in held), seen, reset, reset_to)
        chosen = np.concatenate([P[c, self.free], S[c, self.start]])
        return at, (chosen, P[c], S[c], rows, n, bandwidth)

    def function(self, chosen: Any, p: Any, s: Any, rows: Any, n: Any, bandwidth: Any) -> Any:
        system, n_free = self.system, len(self.free)
        later = (
            0.0 if self.delay is None else chosen[self.delay] - lax.stop_gradient(chosen[self.delay])
        )  # 0, with a slope of 1
        p = tuple(p.at[jnp.array(self.free, int)].set(chosen[:n_free]))
        s = tuple(s.at[jnp.array(self.start, int)].set(chosen[n_free:]))

        def sample(carry: Any, row: Any) -> Any:
            s, passed = carry
            values, before, switch, dt, seen, reset, reset_to = row
            noted = jnp.stack(
                [jnp.asarray(y) for y in system.observe(p, s, tuple(jnp.where(switch > 0, before, values)))]
            )
            s = self.correct(s, passed, bandwidth, seen, reset, reset_to)

            m, early, h_early, h_late = parts(switch, dt, n, later)

            def substep(j: Any, s: Any) -> Any:
                first = j < early
                h: Any = jnp.where(first, h_early, h_late)
                return system.step(p, s, tuple(jnp.where(first, before, values)), h)

            return (lax.fori_loop(0, m, substep, s), dt), noted

        return lax.scan(sample, (s, 0.0), rows)[1]

    def correct(self, s: Any, passed: Any, bandwidth: Any, seen: Any, reset: Any, reset_to: Any) -> Any:
        s, pulled = list(s), (passed > 0) & ~jnp.isnan(seen)
        steep = jnp.minimum(bandwidth * passed, STEEPEST)
        error = jnp.where(pulled, seen - s[0], 0.0)
        for q, w in self.pairs:
            s[q] = s[q] + 1.4 * steep * error
            s[w] = s[w] + jnp.where(pulled, steep * steep / jnp.where(pulled, passed, 1.0), 0.0) * error
            s[q], s[w] = jnp.where(reset, reset_to[0], s[q]), jnp.where(reset, reset_to[1], s[w])
        return tuple(s)


def _trajectory(
    outputs: _Outputs, first: int, last: int, n: int, P: Any, S: Any, which: Any, offsets: Any, *rest: Any
) -> None:
    *held, states = rest
    for c in range(first, last):
        begin, end = offsets[which[c]], offsets[which[c] + 1]
        rows = HeldInputs(*(x[begin : end - 1] for x in held))
        states[begin:end] = run(outputs.system, P[c], S[c], rows, n)


def _sensitivities(outputs: _Outputs, first: int, last: int, n: int, *rest: Any) -> None:
    *given, noted, tangents = rest
    for c in range(first, last):
        with jax.enable_x64(True):
            at, arguments = outputs.case(c, n, *given)
            noted[at], tangents[at] = outputs.values(*arguments), outputs.slopes(*arguments)


def _normal(outputs: _Outputs, first: int, last: int, n: int, *rest: Any) -> None:
    *given, measured, weights, stride, robust, JtJ, Jtr, cost = rest
    for c in range(first, last):
        with jax.enable_x64(True):
            at, arguments = outputs.case(c, n, *given)
            y, J = np.asarray(outputs.values(*arguments)), np.asarray(outputs.slopes(*arguments))
        cost[c], weight, error = _judge_errors(y, measured[at], weights[at] if stride else weights, robust)
        JtJ[c], Jtr[c] = (
            np.einsum("ki,kia,kib->ab", weight, J, J),
            np.einsum("ki,ki,kia->a", weight, error, J),
        )


def _cost(outputs: _Outputs, first: int, last: int, n: int, *rest: Any) -> None:
    *given, measured, weights, stride, robust, cost = rest
    for c in range(first, last):
        with jax.enable_x64(True):
            at, arguments = outputs.case(c, n, *given)
            y = np.asarray(outputs.values(*arguments))
        cost[c] = _judge_errors(y, measured[at], weights[at] if stride else weights, robust)[0]


def _judge_errors(
    y: np.ndarray, measured: np.ndarray, weights: np.ndarray, robust: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """(cost, weight in the normal equations, error), with 0 where nothing was measured."""
    there = ~np.isnan(measured)
    error = np.where(there, y - measured, 0.0)
    size = np.abs(weights * error)
    beyond = size > robust
    cost = np.where(
        beyond, robust * (size - 0.5 * robust) if np.isfinite(robust) else np.inf, 0.5 * size * size
    )
    weight = weights * weights * np.where(beyond, robust / np.where(beyond, size, 1.0), 1.0)
    return float(np.sum(cost[there])), np.where(there, weight, 0.0), error


class PlainStepper:
    """The functions of a compiled stepper, in JAX."""

    def __init__(self, system: System):
        self.WIDTH, self.n_states = len(system.parameters), len(system.states)

        def step(p: Any, s: Any, u: Any, h: Any) -> Any:
            return jnp.stack([jnp.asarray(x) for x in system.step(tuple(p), tuple(s), tuple(u), h)])

        self.once = jax.jit(jax.vmap(step, (0, 0, 0, None)))

    def prepare(self, P: np.ndarray, H: np.ndarray) -> None:
        """Keep the parameters as they are."""
        H[:] = P

    def step(self, n: int, H: np.ndarray, S: np.ndarray, U: np.ndarray, h: float, after: np.ndarray) -> None:
        """Step every actuator.

        Args:
            n: steps.
            H: parameters, a row for each actuator.
            S: states likewise.
            U: inputs likewise.
            h: length of a step [s].
            after: takes the states, and what else a step gives.
        """
        with jax.enable_x64(True):
            extra = 0.0
            for _ in range(n):
                both = self.once(H, S, U, h)
                S, extra = both[:, : self.n_states], extra + both[:, self.n_states :] / n
            after[:] = np.concatenate([S, extra], axis=1)
