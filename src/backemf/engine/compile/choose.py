"""The choice between two numbers as one machine instruction, for compiled code.

`a if c else b` would be a branch in the program, and a step has a hundred of them: numba's analysis takes
time that grows with their square, and overflows Python's stack where there are many.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.extending import intrinsic


@intrinsic
def choose(context: Any, condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where the condition holds, else `no`; both are computed."""

    def instruction(context: Any, builder: Any, signature: Any, operands: Any) -> Any:
        return builder.select(*operands)

    return yes(types.boolean, yes, yes), instruction
