"""Every word that kernels are written in means what it means in Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit

from backemf.engine.compile.machine import body

NUMBERS = [-math.inf, -2.5, -1.0, -0.0, 0.0, 0.3, 1.0, 2.5, math.inf, math.nan]
EXPRESSIONS = [
    "x + y",
    "x - y",
    "x * y",
    "-x",
    "-n / y",
    "n * n - 1 + x",
    "abs(x) ** y",
    "min(x, y)",
    "max(max(x, y), 0.5)",
    "choose(x < y, x, y)",
    "choose((x <= y) & (x == x), 1.0, 2.0)",
    "choose((x > y) | (x >= 1.0), 1.0, 2.0)",
    "choose((x != y) ^ (x > 0.0), 1.0, 2.0)",
    "choose((x > 0.0) == (y > 0.0), 1.0, 2.0)",
    "choose((x > 0.0) != (y > 0.0), 1.0, 2.0)",
    "choose(not x == y, 1.0, 2.0)",
    "choose(True, x, y)",
    "choose(math.isfinite(x), math.copysign(1.0, x), math.inf)",
    "math.nan",
    "np.sign(x) + np.floor(y)",
    "np.rint(x) * 3.0",
    "np.trunc(x)",
]


def both(text, *arguments):
    """What Python makes of a text, and what the machine does; both write into the last argument."""
    space = {
        "math": math,
        "np": np,
        "choose": lambda c, yes, no: yes if c else no,
        "min": lambda a, b: b if b < a else a,
        "max": lambda a, b: b if b > a else a,
    }
    exec(text, space)
    run = body(text)

    @njit(error_model="numpy")
    def compiled(given):
        run(given)

    results = []
    for function in (lambda given: space["f"](*given), compiled):
        given = tuple(x.copy() if isinstance(x, np.ndarray) else x for x in arguments)
        with np.errstate(all="ignore"):
            function(given)
        results.append(given[-1])
    return results


def test_expressions():
    lines = "".join(f"        out[k, {i}] = {e}\n" for i, e in enumerate(EXPRESSIONS))
    text = f"def f(n, X, Y, out):\n    for k in range(X.size):\n        x, y = X[k], Y[k]\n{lines}"
    pairs = np.array([(x, y) for x in NUMBERS for y in NUMBERS])
    pairs = pairs[pairs[:, 1] != 0.0]  # where Python refuses to divide
    columns = [np.ascontiguousarray(c) for c in pairs.T]
    expected, found = both(text, 3, *columns, np.zeros((len(pairs), len(EXPRESSIONS))))
    np.testing.assert_array_max_ulp(found, expected, 2)
    is_number = ~np.isnan(expected)
    assert np.array_equal(np.signbit(found[is_number]), np.signbit(expected[is_number]))


STATEMENTS = {
    "all are read before one is stored": "a, b = 1.0, 2.0\na, b = b, a\nout[0] = a\nout[1] = b",
    "what is stored one way": "a = 1.0\nif x[0] > 0.5:\n    a = 2.0\nelse:\n    a += 4.0\nout[0] = a",
    "what is decided twice": (
        "if x[0] > 0.5:\n    if x[1] > 0.5:\n        a = 1.0\n    else:\n        a = 2.0\n"
        "else:\n    a = 3.0\nout[0] = a"
    ),
    "and looks no further": "a = 0.0\nif empty.size > 0 and empty[0] > 0.0:\n    a = 1.0\nout[0] = a",
    "and holds": "if x.size > 0 and x[0] > 0.0 and flags[0]:\n    out[0] = 1.0",
    "a flag that is down": "if flags[1]:\n    out[0] = 1.0",
    "a loop": "a = 0.0\nfor k in range(x.size):\n    a += x[k]\nout[0] = a",
    "from and to": "for k in range(1, x.shape[0]):\n    out[k] += x[k]",
    "never": "for k in range(3, 3):\n    out[k] = 1.0",
    "a break leaves one loop": (
        "for i in range(3):\n    for k in range(9):\n        if k + 1 == i:\n            break\n"
        "        out[i] += 1.0"
    ),
    "kept from one turn to the next": (
        "known = math.nan\nfor k in range(x.size):\n    if x[k] != known:\n"
        "        known = x[k]; twice = 2.0 * known\n    out[k] = twice"
    ),
    "all at once": "out[2] = 1.0\nout[:] = 0.0\nout[1] = 3.0",
    "rows and columns": "for i in range(2):\n    for j in range(3):\n        out[i * 3 + j] = table[i, j]",
    "three ways in": "for i in range(2):\n    for j in range(3):\n        out[i * 3 + j] = cube[i, j, 1]",
    "a whole number is stored as a number": "for k in range(4):\n    out[k] = k",
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements(name):
    lines = "\n".join("    " + line for line in STATEMENTS[name].split("\n"))
    text = f"def f(x, empty, flags, table, cube, out):\n{lines}\n"
    x = np.array([0.3, 0.3, 0.8, 0.8, 0.3])
    for given in (x, 1.0 - x):
        expected, found = both(
            text,
            given,
            np.zeros(0),
            np.array([True, False]),
            np.arange(6.0).reshape(2, 3),
            np.arange(12.0).reshape(2, 3, 2),
            np.zeros(9),
        )
        assert np.array_equal(found, expected)


def test_an_unknown_word_is_refused():
    run = body("def f(out):\n    while True:\n        out[0] = 1.0\n")

    @njit
    def compiled(given):
        run(given)

    with pytest.raises(Exception, match="While"):
        compiled((np.zeros(1),))
