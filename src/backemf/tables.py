"""Text tables for people: aligned columns, numbers with a sensible number of digits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def number(value: float, digits: int = 4) -> str:
    """A number as a person would write it: `digits` significant digits, no trailing zeros,
    exponent only where needed."""
    if value is None:
        return "-"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if -4 <= size < 6:
        text = f"{value:.{max(0, digits - 1 - size)}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def table(rows: Iterable[Sequence[object]], header: Sequence[str]) -> str:
    """Rows under a header: text to the left, numbers to the right, two spaces between columns."""
    cells = [[number(c) if isinstance(c, float) else str(c) for c in row] for row in rows]
    right = [bool(cells) and all(_is_number(row[j]) for row in cells) for j in range(len(header))]
    width = [
        max(len(header[j]), *(len(row[j]) for row in cells)) if cells else len(header[j])
        for j in range(len(header))
    ]

    def line(row: Sequence[str]) -> str:
        return "  ".join(
            c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, width, right, strict=True)
        ).rstrip()

    return "\n".join([line(list(header)), "  ".join("-" * w for w in width), *(line(row) for row in cells)])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text == "-"
    return True
