"""The table of primitives: every scalar operation the engines understand. Each language has a word for each.

Operands are always names or numbers, never longer expressions, so a word may repeat them. Whatever JAX says
about an operation's value at a corner (a tie, a zero, a NaN) holds everywhere; `tests/engine/compile` has a
test for every row of every language. Derivatives need no table: JAX has differentiated before we look.
"""

from __future__ import annotations

ARITHMETIC = (
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "rem",
    "pow",
    "abs",
    "sign",
    "max",
    "min",
    "floor",
    "ceil",
    "round_even",
    "round_away",
)
POWERS = ("sqrt", "rsqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log1p", "logistic")
ANGLES = (
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
)
DECISIONS = ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "not", "is_finite", "number", "select")
PRIMITIVES = frozenset((*ARITHMETIC, *POWERS, *ANGLES, *DECISIONS))
"""Their names. `select` has JAX's order: condition, value where false, value where true; `number` is a truth
value as a number; `round_even` and `round_away` differ at halves."""

COMMUTE = frozenset({"add", "mul", "eq", "ne", "and", "or", "xor"})
"""Operations whose operands may be swapped: a + b and b + a are then one term. (max and min are not:
of 0 and -0 the first wins.)"""

COSTLY = frozenset({"div", "rem", "pow", *POWERS, *ANGLES})
"""Operations that take so long that a branch around them pays."""
