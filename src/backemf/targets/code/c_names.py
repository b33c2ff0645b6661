"""Names, numbers and comments as C wants them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

MOST = 64
"""Letters of a name: every compiler tells them apart that far."""


def identifier(text: str) -> str:
    """A joint's name as the beginning of names in C: "left/knee" -> "left_knee"."""
    letters = "".join(c if c.isascii() and c.isalnum() else "_" for c in text).strip("_")[:MOST]
    if not letters:
        return "joint"
    return f"joint_{letters}" if letters[0].isdigit() else letters


def macro(*words: str) -> str:
    """`KNEE_P_MOTOR_RESISTANCE` of its words."""
    return "_".join(words).replace(".", "_").upper()


def literal(value: float, real: str = "double") -> str:
    """A number with every digit."""
    if not math.isfinite(value):
        return {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}[str(float(value))]
    return repr(float(value)) + ("f" if real == "float" else "")


def array(values: Sequence[float], real: str = "double", remarks: Iterable[str] = ()) -> str:
    """The inside of an array's braces, a line a number, each with a remark."""
    said = [*remarks] or [""] * len(values)
    pairs = zip(values, said, strict=True)
    return "\n".join(
        f"    {literal(value, real)}," + (f" /* {harmless(text)} */" if text else "") for value, text in pairs
    )


def enumeration(names: Sequence[str], remarks: Iterable[str] = ()) -> str:
    """Places in an array, by name."""
    said = [*remarks] or [""] * len(names)
    rows = [
        f"    {name} = {i}{',' if i < len(names) - 1 else ''}" + (f" /* {harmless(text)} */" if text else "")
        for i, (name, text) in enumerate(zip(names, said, strict=True))
    ]
    return "\n".join(["enum {", *rows, "};", ""])


def comment(lines: Sequence[str]) -> str:
    inside = "\n   ".join(map(harmless, lines))
    return f"/* {inside} */\n"


def harmless(text: str) -> str:
    """Without what would end a comment, or begin one in it."""
    for bad, good in (("*/", "* /"), ("/*", "/ *"), ("??", "? ?")):
        while bad in text:
            text = text.replace(bad, good)
    return text.removesuffix("\\")


def quote(text: str) -> str:
    """A string of C."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("??", '?""?')
    return f'"{escaped}"'
