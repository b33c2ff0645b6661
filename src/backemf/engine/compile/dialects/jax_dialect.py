"""JAX: a traced step as pure functions of arrays, through which jit, vmap and derivatives go."""

from __future__ import annotations

from ..ir import Node
from ..lower import LoweredHosted
from ..passes import number
from ..source import ALIKE, Words, call_words
from ..trace import CIRCULAR, HYPERBOLIC
from .numba import NUMBA
from .torch_dialect import ArrayLanguage, TorchLines, emit

JAX = Words(
    nan="jnp.nan",
    infinity="jnp.inf",
    primitives={
        **ALIKE,
        **{name: NUMBA.primitives[name] for name in ("and", "or", "xor")},
        **call_words("jnp.{}", "abs", "sign", "floor", "ceil", *CIRCULAR[:-1], *HYPERBOLIC),
        **call_words("jnp.{}", "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log1p"),
        "rem": "jnp.fmod({0}, {1})",
        "pow": "jnp.exp({1} * jnp.log({0}))",  # of numbers above 0, as `maths.power` has it; in half the time
        "max": "jnp.maximum({0}, {1})",
        "min": "jnp.minimum({0}, {1})",
        "round_even": "jnp.round({0})",
        "round_away": "jnp.trunc({0} + 0.49999999999999994 * jnp.sign({0}))",
        "rsqrt": "1.0 / jnp.sqrt({0})",
        "logistic": "jax.nn.sigmoid({0})",
        "atan2": "jnp.atan2({0}, {1})",
        "not": "jnp.logical_not({0})",
        "is_finite": "jnp.isfinite({0})",
        "number": "jnp.where({0}, 1.0, 0.0)",
        "select": "jnp.where({0}, {2}, {1})",
    },
)


class JaxLines(TorchLines):
    """The same in JAX's words, where a number may stand wherever an array may."""

    words = JAX

    def name(self, node: Node, *, tensor: bool = False) -> str:
        """How a node is written."""
        value = number(node)
        return self.names.get(node.index) or JAX.text(node) if value is None else JAX.constant(value)

    def formula(self, node: Node) -> str:
        """A node's formula."""
        return JAX.formula(node.op, *map(self.name, node.operands))


LANGUAGE = ArrayLanguage(JaxLines, arguments="p, h", one="", result="[{}]")


def emit_functions(lowered: LoweredHosted) -> str:
    """The functions of the training file for torch, in JAX's words.

    Args:
        lowered: the traced step.

    Returns:
        Source text; every `prepare` takes (p, h).
    """
    return emit(lowered, LANGUAGE)
