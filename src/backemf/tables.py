"""Text tables for people: aligned columns, numbers with a sensible number of digits."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import NotAvailable

if TYPE_CHECKING:
    from .findings import Finding


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


def digits_apart(low: float, high: float, least: int = 3) -> int:
    """So many digits that two numbers differ in two of them."""
    size, width = max(abs(low), abs(high)), abs(high - low)
    if width and math.isfinite(width) and math.isfinite(size):
        return max(least, 2 + math.floor(math.log10(size)) - math.floor(math.log10(width)))
    return least


def interval(low: float, high: float, between: str = "..", digits: int = 3) -> str:
    """Both ends with so many digits that they differ in two of them."""
    digits = digits_apart(low, high, digits)
    return f"{number(low, digits)} {between} {number(high, digits)}"


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


class Overview(NamedTuple):
    """A noun at a glance: a sentence, a table, and what is worth knowing."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    findings: Sequence[Finding] = ()


drawing: list[Callable[..., Any]] = []
"""Gives the figure of a noun: bound by the package, because drawing is another room's work."""


class Displayed:
    """What notebooks show of a noun: a short text, a table, a figure, a pandas frame. It
    needs an `overview`."""

    def overview(self) -> Overview:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.overview().title}>"

    def _repr_html_(self) -> str:
        title, header, rows, findings = self.overview()

        def cells(row: Iterable[object], tag: str) -> str:
            made = ""
            for c in row:
                text = number(c) if isinstance(c, float) else "-" if c is None else str(c)
                side = "right" if _is_number(text) else "left"
                made += f'<{tag} style="text-align:{side};padding:2px 8px">{html.escape(text)}</{tag}>'
            return f"<tr>{made}</tr>"

        body = "".join(cells(row, "td") for row in rows)
        said = "".join(
            f"<li><b>{html.escape(f.code)}</b>: {html.escape(f.text)} {html.escape(f.remedy)}</li>"
            for f in findings
        )
        listed = f"<table><thead>{cells(header, 'th')}</thead><tbody>{body}</tbody></table>" if rows else ""
        return f"<p><b>{type(self).__name__}</b>: {html.escape(title)}</p>{listed}" + (
            f"<ul>{said}</ul>" if said else ""
        )

    def plot(self, path: Any = None) -> Any:
        """Draw it: a matplotlib figure, which a notebook shows; with `path` also into that file (png, svg,
        pdf)."""
        return drawing[0](self).draw(path)

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        _, header, rows, _ = self.overview()
        return frame([dict(zip(header, row, strict=True)) for row in rows])


def frame(content: Any, index: str | None = None) -> Any:
    """A pandas DataFrame, where pandas is installed."""
    try:
        import pandas  # pyright: ignore[reportMissingImports]  # optional
    except ImportError:
        raise NotAvailable("to_pandas needs pandas, which is not installed: pip install pandas") from None
    made = pandas.DataFrame(content)
    return made if index is None else made.set_index(index)
