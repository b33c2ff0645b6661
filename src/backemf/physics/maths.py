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


def exp(x: Scalar) -> Scalar:
    return _library(x).exp(x)


def expm1(x: Scalar) -> Scalar:
    return _library(x).expm1(x)


def log1p(x: Scalar) -> Scalar:
    return _library(x).log1p(x)


def floor(x: Scalar) -> Scalar:
    return _library(x).floor(x)


def sin(x: Scalar) -> Scalar:
    return _library(x).sin(x)


def cos(x: Scalar) -> Scalar:
    return _library(x).cos(x)


def where(condition: Scalar, yes: Scalar, no: Scalar) -> Scalar:
    return _library(condition, yes, no).where(condition, yes, no)


def minimum(a: Scalar, b: Scalar) -> Scalar:
    return _library(a, b).minimum(a, b)


def maximum(a: Scalar, b: Scalar) -> Scalar:
    return _library(a, b).maximum(a, b)


def clip(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    return minimum(maximum(x, low), high)


def absolute(x: Scalar) -> Scalar:
    return _library(x).abs(x)


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
