"""Every row of the table of primitives, and the corners where compiled code could differ from JAX:
value and derivative."""

from __future__ import annotations

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from backemf.engine.compile import cache
from backemf.engine.compile.ir import ZERO, Form, Graph, Level, Tangents, evaluate
from backemf.engine.compile.loops import kernel_source
from backemf.engine.compile.lower import lower
from backemf.engine.compile.trace import PRIMITIVES, trace, trace_with_tangents
from backemf.errors import NotLowered

A = 1.3
POINTS = np.array([-2.5, -1.3, -0.7, -0.5, -1e-9, -0.0, 0.0, 0.25, 0.3, 0.5, 0.7, 1.0, 1.3, 2.5, 2.9])


NEWER = {"log2"}
"""Primitives that JAX has from 0.11 on."""


@jax.custom_jvp
def soft(x, m):
    return m * jnp.tanh(x / m)


@soft.defjvp
def _(values, tangents):
    (x, m), (dx, _) = values, tangents
    return soft(x, m), (1 - jnp.tanh(x / m) ** 2) * dx  # says nothing about m: JAX then makes zeros for it


# One function of x (a state) and a (a parameter) for each row of the table.
ROWS = {
    "add": lambda x, a: x + a,
    "sub": lambda x, a: x - a,
    "mul": lambda x, a: x * a,
    "div": lambda x, a: a / (x + 4),
    "neg": lambda x, a: -x * a,
    "rem": lambda x, a: lax.rem(x, 0.7 * a),
    "pow": lambda x, a: jnp.abs(x) ** a,
    "abs": lambda x, a: a * jnp.abs(x),
    "sign": lambda x, a: a * jnp.sign(x),
    "max": lambda x, a: jnp.maximum(x, a),
    "min": lambda x, a: jnp.minimum(x, -a),
    "floor": lambda x, a: a * jnp.floor(3 * x),
    "ceil": lambda x, a: a * jnp.ceil(3 * x),
    "round_even": lambda x, a: a * jnp.round(x),
    "round_away": lambda x, a: a * lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    "sqrt": lambda x, a: jnp.sqrt(x * a),
    "rsqrt": lambda x, a: lax.rsqrt(x + 3 * a),
    "cbrt": lambda x, a: jnp.cbrt(x + 3 * a),
    "exp": lambda x, a: jnp.exp(a * x),
    "exp2": lambda x, a: jnp.exp2(a * x),
    "expm1": lambda x, a: jnp.expm1(a * x),
    "log": lambda x, a: jnp.log(x + 2 * a),
    "log2": lambda x, a: jnp.log2(x + 2 * a),
    "log1p": lambda x, a: jnp.log1p(x * a),
    "logistic": lambda x, a: lax.logistic(a * x),
    "sin": lambda x, a: jnp.sin(a * x),
    "cos": lambda x, a: jnp.cos(a * x),
    "tan": lambda x, a: jnp.tan(a * x),
    "asin": lambda x, a: jnp.arcsin(0.3 * a * x),
    "acos": lambda x, a: jnp.arccos(0.3 * a * x),
    "atan": lambda x, a: jnp.arctan(a * x),
    "atan2": lambda x, a: jnp.arctan2(x, -a),
    "sinh": lambda x, a: jnp.sinh(a * x),
    "cosh": lambda x, a: jnp.cosh(a * x),
    "tanh": lambda x, a: jnp.tanh(a * x),
    "asinh": lambda x, a: jnp.arcsinh(a * x),
    "acosh": lambda x, a: jnp.arccosh(x + 3 * a),
    "atanh": lambda x, a: jnp.arctanh(0.2 * a * x),
    "lt": lambda x, a: jnp.where(x < -a, x, a),
    "le": lambda x, a: jnp.where(x <= -a, x, a),
    "gt": lambda x, a: jnp.where(x > a, x, a * a),
    "ge": lambda x, a: jnp.where(x >= a, x, a * a),
    "eq": lambda x, a: jnp.where(x == 0, x, a),
    "ne": lambda x, a: jnp.where(x != 0, x, a),
    "and": lambda x, a: jnp.where((x > 0) & (x < a), x, a),
    "or": lambda x, a: jnp.where((x < 0) | (x > a), x, a),
    "xor": lambda x, a: jnp.where((x < a) ^ (x > 0), x, a),
    "not": lambda x, a: jnp.where(~(x > 0), x, a),
    "is_finite": lambda x, a: jnp.where(jnp.isfinite(1 / x), x, a),
    "number": lambda x, a: a * (x > 0) + x,
    "select": lambda x, a: lax.select_n(x > 0, a * x, x),
}

CORNERS = {
    "clip counts half at a tie": lambda x, a: jnp.clip(x, -a, a),
    "max of a zero": lambda x, a: a * jnp.maximum(x, 0.0),
    "max keeps nan": lambda x, a: jnp.maximum(jnp.sqrt(x), a),
    "min keeps nan": lambda x, a: jnp.minimum(a, jnp.sqrt(x)),
    "clamp": lambda x, a: lax.clamp(-a, x, 1.0),
    "cube": lambda x, a: a * x**3,
    "inverse square": lambda x, a: a * (x + 3) ** -2,
    "whole power as an exponent": lambda x, a: a * lax.integer_pow(x, 7),
    "square": lambda x, a: a * jnp.square(x),
    "safe where": lambda x, a: jnp.where(x > 0, a * jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0),
    "infinite slope in the branch not taken": lambda x, a: jnp.where(x > 0, a * jnp.sqrt(x) + a * x, 0.0),
    "and used twice": lambda x, a: (lambda y: jnp.where(x > 0, y * y + jnp.exp(-y), x))(
        a * jnp.sqrt(x) + a * x
    ),
    "and of a sum": lambda x, a: (lambda y: jnp.where(x > 0, y * y + jnp.exp(-y), x * a))(
        jnp.sqrt(x * a + x * x)
    ),
    "nested where": lambda x, a: jnp.where(x > 1, a * x, jnp.where(x < -1, a / x, x * x)),
    "relu": lambda x, a: a * jax.nn.relu(x),
    "custom derivative": lambda x, a: soft(x, a),
    "custom derivative of nothing": lambda x, a: soft(a, x * x + 1.0) + x,
    "softplus": lambda x, a: jax.nn.softplus(a * x),
    "logaddexp": lambda x, a: jnp.logaddexp(x, a),
    "hypot": lambda x, a: jnp.hypot(x, a),
    "mod": lambda x, a: a * jnp.mod(x, 0.7),
    "heaviside": lambda x, a: a * jnp.heaviside(x, 0.5),
    "cond": lambda x, a: lax.cond(x > 0, lambda: a * x, lambda: x * x),
    "counted loop": lambda x, a: lax.fori_loop(
        0, 4, lambda i, y: y - (y * y * y + a * y - x) / (3 * y * y + a), x
    ),
    "counted loop with its counter": lambda x, a: lax.fori_loop(0, 3, lambda i, y: y + i * a, x),
    "stop_gradient": lambda x, a: lax.stop_gradient(x) * a + x,
    "checkpoint": lambda x, a: jax.checkpoint(lambda y: jnp.sin(y) * a)(x),
    "sign of a zero": lambda x, a: 1.0 / (x * a),
    "minus zero as a constant": lambda x, a: a / jnp.where(x > 0, x, -0.0),
    "no dependence": lambda x, a: jnp.asarray(3.0) + 0 * x,
    "slope of a slope": lambda x, a: jax.jvp(lambda y: jnp.clip(a * y * y, -1.0, 1.0), (x,), (1.0,))[1],
    "whole numbers": lambda x, a: 2 * x + a / 3 - 1,
    "one minus square": lambda x, a: (1.0 + x) * (1.0 - x) * a,
}
ALL = {**ROWS, **CORNERS}


class Table:
    """All functions at once, as the outputs of something that looks like a system and stands still."""

    parameters, states, inputs = {"a": A}, ("position", "velocity"), ()

    def step(self, p, s, u, h):
        return s

    def observe(self, p, s, u):
        return [f(s[0], p[0]) for f in ALL.values()]


@pytest.fixture(scope="module")
def computed():
    """(values, derivatives in a and x) of every function at every point."""
    kernel = cache.load(
        None, lambda: kernel_source("sensitivities", lower(Table(), free=["a"], start=["position"]))
    ).kernel
    n = len(POINTS)
    values, slopes = np.empty((2 * n, len(ALL))), np.empty((2 * n, len(ALL), 2))
    S = np.stack([POINTS, 0 * POINTS], axis=1)
    offsets, rows = 2 * np.arange(n + 1), np.zeros((2 * n, 0))
    nothing = 0.0, np.empty(0), np.empty(0, bool), np.empty((0, 2))
    kernel(
        0,
        n,
        1,
        np.full((n, 1), A),
        S,
        np.arange(n),
        offsets,
        rows,
        rows,
        np.zeros(2 * n),
        np.ones(2 * n),
        *nothing,
        values,
        slopes,
    )
    return values[::2], slopes[::2]


@pytest.fixture(scope="module")
def expected():
    """The same by JAX."""

    def rows(x, a):
        return jnp.stack([jnp.asarray(f(x, a)) for f in ALL.values()])

    def both(x, a):
        return jax.jvp(rows, (x, a), (1.0, 0.0)), jax.jvp(rows, (x, a), (0.0, 1.0))[1]

    with jax.enable_x64(True):
        # Quickly compiled, as tests are (conftest.py), JAX's tanh has a digit less than ours.
        well = {
            "xla_backend_optimization_level": 3,
            "xla_llvm_disable_expensive_passes": False,
            "xla_cpu_use_fusion_emitters": True,
        }
        well = well if os.environ.get("XLA_FLAGS") else {}
        compiled = jax.jit(jax.vmap(both, (0, None)), compiler_options=well)
        (value, in_x), in_a = compiled(jnp.asarray(POINTS), jnp.asarray(A))
        return np.asarray(value), np.stack([in_a, in_x], axis=2)


@pytest.mark.parametrize("name", ALL)
def test_value_and_derivative_agree_with_jax(name, computed, expected):
    k = list(ALL).index(name)
    np.testing.assert_allclose(computed[0][:, k], expected[0][:, k], rtol=4e-15, atol=1e-300, err_msg="value")
    np.testing.assert_allclose(
        computed[1][:, k, 0], expected[1][:, k, 0], rtol=2e-14, atol=1e-15, err_msg="derivative in a"
    )
    np.testing.assert_allclose(
        computed[1][:, k, 1], expected[1][:, k, 1], rtol=2e-14, atol=1e-15, err_msg="derivative in x"
    )


def test_every_primitive_has_a_row_that_uses_it():
    assert set(ROWS) == set(PRIMITIVES)
    for name, f in ROWS.items():
        used = {operation.name for operation in trace(lambda x, a, f=f: [f(x, a)], 2).operations}
        assert name in used or name in NEWER, f"the row {name!r} uses only {used}"


@pytest.mark.parametrize(
    ("f", "cause"),
    [
        (lambda x, a: jnp.interp(x, jnp.array([0.0, 1.0]), jnp.array([0.0, 2.0])), "array"),
        (lambda x, a: jnp.select([x > 1, x > -1], [a * x, x], a), "array of shape"),
        (lambda x, a: np.float32(0.1) * x.astype(jnp.float32), "float32"),
        (lambda x, a: lax.while_loop(lambda y: y > 1, lambda y: y / 2, x), "'while'"),
        (lambda x, a: lax.fori_loop(0, 40, lambda i, y: y * a, x), "a loop of 40 turns"),
        (lambda x, a: lax.select_n(jnp.int32(x > 0), x, a, x), "among 3"),
        (lambda x, a: x.astype(jnp.int64) * a, "conversion"),
        (lambda x, a: lax.lgamma(x), "'lgamma' is not in the table"),
    ],
)
def test_what_cannot_be_lowered_is_refused_with_its_cause(f, cause):
    with pytest.raises(NotLowered, match=cause):
        trace(lambda x, a: [f(x, a)], 2)


def test_tracing_leaves_the_precision_of_jax_alone():
    trace_with_tangents(lambda x: [jnp.sin(x)], 1, [0])
    # the checker knows its base class only
    assert not jax.config.jax_enable_x64  # type: ignore[attr-defined]  # JAX adds its flags as it starts
    assert jnp.asarray(1.0).dtype == jnp.float32


def test_an_absent_tangent_costs_nothing():
    graph = Graph()
    tangents = Tangents(graph)
    given = [
        graph.leaf("s0", Level.STATE),
        graph.leaf("p0", Level.PARAMETER),
        Form({"d0": graph.constant(1.0)}, {}),
    ]
    _, slope = evaluate(trace_with_tangents(lambda x, a: [a * jnp.floor(x)], 2, [0]), given, tangents)
    assert slope.as_form(graph) == ZERO
    assert tangents.vectors == {}
