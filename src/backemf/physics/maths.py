"""The few mathematical functions the physics uses, alike for JAX tracers, NumPy arrays and plain numbers.

The physics is written once against these names. Traced by JAX it becomes derivatives and compiled loops;
called with arrays it draws a torque-speed curve without loading JAX at all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

Scalar = float
"""A number of the physics. To a type checker it is a float; engines put in JAX tracers, figures NumPy arrays,
and both do all that a float does here."""
SMALL = 1e-3
"""Below this a function of an exponential is its series, which divides by nothing."""


def _library(*values: Any) -> Any:
    jax = sys.modules.get("jax")
    if jax is not None and any(isinstance(v, jax.Array) for v in values):
        return jax.numpy
    return np


def is_number(value: Any) -> bool:
    """A plain number, as opposed to an array or a tracer whose value is not known yet."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """A whole number of Python or NumPy; True and False are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _function(name: str) -> Callable[..., Scalar]:
    """A function that NumPy and JAX have under one name."""

    def function(*values: Scalar) -> Scalar:
        return getattr(_library(*values), name)(*values)

    return function


exp, expm1, log1p = _function("exp"), _function("expm1"), _function("log1p")
sin, cos = _function("sin"), _function("cos")
floor, absolute = _function("floor"), _function("abs")
minimum, maximum = _function("minimum"), _function("maximum")
where = _function("where")
"""where(condition, yes, no)"""


def clip(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """The nearest number to x between two others.

    Args:
        x: any number.
        low: the least that comes back.
        high: the most that comes back; it wins where it is below `low`.

    Returns:
        min(max(x, low), high).
    """
    return minimum(maximum(x, low), high)


def whole(x: Scalar) -> Scalar:
    """The whole number nearest to x; a half goes up. Its derivative is that of x, as over many counts."""
    jax = sys.modules.get("jax")
    steps = floor(x + 0.5) - x
    return x + (jax.lax.stop_gradient(steps) if jax is not None and isinstance(x, jax.Array) else steps)


def side(x: Scalar) -> Scalar:
    """+1 for x >= 0, else -1. Unlike sign(x) it never vanishes, so a derivative at rest survives."""
    return where(x >= 0, 1.0, -1.0)


def power(x: Scalar, exponent: Scalar) -> Scalar:
    """x**exponent for x >= 0, with finite derivatives at x = 0 (where 0 is returned)."""
    positive = x > 0
    return where(positive, where(positive, x, 1.0) ** exponent, 0.0)


def mean_decay(x: Scalar) -> Scalar:
    """(1 - exp(-x)) / x for either sign of x: the mean of exp(-s) over 0..x, with its limit 1 at x = 0."""
    small = absolute(x) < SMALL
    safe = where(small, 1.0, x)
    return where(small, 1.0 - x * (0.5 - x * (1.0 / 6.0 - x / 24.0)), -expm1(-safe) / safe)


def mean_rise(x: Scalar) -> Scalar:
    """(1 - mean_decay(x)) / x for either sign of x, with its limit 1/2 at x = 0."""
    small = absolute(x) < SMALL
    safe = where(small, 1.0, x)
    return where(small, 0.5 - x * (1.0 / 6.0 - x / 24.0), (1.0 - mean_decay(safe)) / safe)


def growth(y: Scalar) -> Scalar:
    """(exp(y) - 1) / y by its (1, 2) Pade form: third order at y = 0, 1/|y| for y -> -inf,
    and no 0/0 anywhere."""
    return (1.0 - y / 6.0) / (1.0 - y * (2.0 / 3.0 - y / 6.0))


def slope(f: Callable[[Scalar], Any], x: Scalar) -> tuple[Any, Any]:
    """f(x) and df/dx for a function of one scalar; f may return any nest of scalars."""
    import jax
    import jax.numpy as jnp

    at = jnp.asarray(x)
    return jax.jvp(f, (at,), (jnp.ones_like(at),))
