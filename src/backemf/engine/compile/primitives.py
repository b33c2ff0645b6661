"""The table of primitives: every scalar operation the engines understand, and how it is written in compiled
Python.

Operands are always names or numbers, never longer expressions, so a template may repeat them. Whatever JAX
says about an operation's value at a corner (a tie, a zero, a NaN) holds here too;
`tests/engine/test_primitives.py` has a test for every row. Derivatives need no table: JAX has differentiated
before we look.
"""

from __future__ import annotations

PRIMITIVES: dict[str, str] = {
    # arithmetic
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "neg": "-{0}",
    "rem": "np.fmod({0}, {1})",
    "pow": "{0} ** {1}",
    "abs": "abs({0})",
    "sign": "np.sign({0})",
    # A comparison with NaN is false, so a NaN needs a word of its own to survive max and min.
    "max": "choose(({0} >= {1}) | ({0} != {0}), {0}, {1})",
    "min": "choose(({0} <= {1}) | ({0} != {0}), {0}, {1})",
    "floor": "np.floor({0})",
    "ceil": "np.ceil({0})",
    "round_even": "np.rint({0})",
    "round_away": "np.trunc({0} + math.copysign(0.49999999999999994, {0}))",
    # powers and exponentials
    "sqrt": "math.sqrt({0})",
    "rsqrt": "1.0 / math.sqrt({0})",
    "cbrt": "np.cbrt({0})",
    "exp": "math.exp({0})",
    "exp2": "np.exp2({0})",
    "expm1": "math.expm1({0})",
    "log": "math.log({0})",
    "log2": "np.log2({0})",
    "log1p": "math.log1p({0})",
    "logistic": "1.0 / (1.0 + math.exp(-{0}))",
    "erf": "math.erf({0})",
    # angles
    "sin": "math.sin({0})",
    "cos": "math.cos({0})",
    "tan": "math.tan({0})",
    "asin": "math.asin({0})",
    "acos": "math.acos({0})",
    "atan": "math.atan({0})",
    "atan2": "math.atan2({0}, {1})",
    "sinh": "math.sinh({0})",
    "cosh": "math.cosh({0})",
    "tanh": "math.tanh({0})",
    "asinh": "math.asinh({0})",
    "acosh": "math.acosh({0})",
    "atanh": "math.atanh({0})",
    # comparisons and decisions
    "lt": "{0} < {1}",
    "le": "{0} <= {1}",
    "gt": "{0} > {1}",
    "ge": "{0} >= {1}",
    "eq": "{0} == {1}",
    "ne": "{0} != {1}",
    "and": "{0} & {1}",
    "or": "{0} | {1}",
    "xor": "{0} ^ {1}",
    "not": "not {0}",
    "is_finite": "math.isfinite({0})",
    "number": "choose({0}, 1.0, 0.0)",  # a truth value as a number
    "select": "choose({0}, {2}, {1})",  # JAX's order: condition, value where false, value where true
}

COMMUTE = frozenset({"add", "mul", "eq", "ne", "and", "or", "xor"})
"""Operations whose operands may be swapped: a + b and b + a are then one term. (max and min are not:
of 0 and -0 the first wins.)"""

COSTLY = frozenset(PRIMITIVES) & {
    *(
        "div",
        "rem",
        "pow",
        "sqrt",
        "rsqrt",
        "cbrt",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log1p",
        "logistic",
        "erf",
    ),
    *(
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
    ),
}
"""Operations that take so long that a branch around them pays."""
