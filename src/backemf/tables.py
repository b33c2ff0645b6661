"""Text tables for people: aligned columns, numbers with a sensible number of digits."""

from __future__ import annotations

import html
import io
import math
import shutil
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import NotAvailable
from .registry import SERVICES

if TYPE_CHECKING:
    from .findings import Finding


def number(value: float, digits: int = 4) -> str:
    """A number as a person would write it: `digits` significant digits, no trailing zeros,
    exponent only where needed."""
    if value is None:
        return "-"
    if not math.isfinite(value):
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
    """So many digits that two numbers differ in two of them.

    Args:
        low: one number.
        high: the other.
        least: digits at least.

    Returns:
        Significant digits.
    """
    size, width = max(abs(low), abs(high)), abs(high - low)
    if width and math.isfinite(width) and math.isfinite(size):
        return max(least, 2 + math.floor(math.log10(size)) - math.floor(math.log10(width)))
    return least


def interval(low: float, high: float, between: str = "..", digits: int = 3) -> str:
    """Both ends with so many digits that they differ in two of them.

    Args:
        low: one end.
        high: the other.
        between: the word between them.
        digits: of each at least.

    Returns:
        Text.
    """
    digits = digits_apart(low, high, digits)
    return f"{number(low, digits)} {between} {number(high, digits)}"


FULL = 200
"""Columns of a text that is not shown in a terminal."""
NARROWEST = 8
"""Letters that a column of text keeps."""


def room() -> int:
    """Columns that there are: those of the terminal, or what COLUMNS says; plenty where there is neither."""
    return max(shutil.get_terminal_size((FULL, 24)).columns, 40)


def table(
    rows: Iterable[Sequence[object]],
    header: Sequence[str],
    *,
    drop: Sequence[str] = (),
    width: int | None = None,
) -> str:
    """Rows under a header: text to the left, numbers to the right, two spaces between columns.

    Where there is less room than that takes, the columns in `drop` go, one after the other, then titles and
    at last texts stand in several lines; numbers are never cut.

    Args:
        rows: cells; floats are written as a person would.
        header: a title for each column.
        drop: titles of columns that can go, the first one first.
        width: columns of letters that there are; absent: the terminal's.

    Returns:
        Lines of text.
    """
    cells = [[_cell(c) for c in row] for row in rows]
    most, kept = room() if width is None else width, list(header)
    for name in drop:
        if _wide(cells, kept) > most and name in kept:
            j = kept.index(name)
            kept = kept[:j] + kept[j + 1 :]
            cells = [row[:j] + row[j + 1 :] for row in cells]
    right = [bool(cells) and all(_is_number(row[j]) for row in cells) for j in range(len(kept))]
    return _render(cells, kept, right, _widths(cells, kept, right, most))


def _render(
    cells: Sequence[Sequence[str]], header: Sequence[str], right: Sequence[bool], widths: Sequence[int]
) -> str:
    """What rich makes of a table whose columns have these widths: left to itself it breaks words, and cuts
    what has no room."""
    from rich.console import Console
    from rich.rule import Rule
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for width, numbers in zip(widths, right, strict=True):
        grid.add_column(width=width, justify="right" if numbers else "left")
    grid.add_row(*(Text(title) for title in header))
    grid.add_row(*(Rule(characters="-", style="") for _ in header))
    for row in cells:
        grid.add_row(*(Text(cell) for cell in row))
    wide = sum(widths) + 2 * len(widths)
    console = Console(file=io.StringIO(), width=wide, color_system=None, force_jupyter=False)
    with console.capture() as captured:
        console.print(grid)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _wide(cells: Sequence[Sequence[str]], header: Sequence[str]) -> int:
    columns = [[title, *(row[j] for row in cells)] for j, title in enumerate(header)]
    return sum(max(map(len, column)) for column in columns) + 2 * (len(header) - 1)


def _widths(
    cells: Sequence[Sequence[str]], header: Sequence[str], right: Sequence[bool], most: int
) -> list[int]:
    """How wide each column is: as wide as it wants, or where there is no room, as narrow as it must be."""
    wanted = [max(len(header[j]), *(len(row[j]) for row in cells), 0) for j in range(len(header))]
    columns = [[header[j], *(row[j] for row in cells)] for j in range(len(header))]
    words = [max((len(w) for text in column for w in text.split()), default=1) for column in columns]
    least = [
        max(
            words[j],
            max((len(row[j]) for row in cells), default=0) if right[j] else min(NARROWEST, wanted[j]),
        )
        for j in range(len(header))
    ]
    over = sum(wanted) + 2 * (len(header) - 1) - most
    while over > 0:
        spare = [w - l for w, l in zip(wanted, least, strict=True)]
        j = max(range(len(spare)), key=lambda j: (spare[j] > 0) * wanted[j])
        if spare[j] <= 0:
            break
        wanted[j] -= 1
        over -= 1
    return wanted


def _cell(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)


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


class NotebookDisplay:
    """What notebooks show of a noun: a short text, a table, a figure, a pandas frame. It
    needs an `overview`."""

    def overview(self) -> Overview:
        """A sentence, a table and findings."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.overview().title}>"

    def _repr_html_(self) -> str:
        title, header, rows, findings = self.overview()

        def cells(row: Iterable[object], tag: str) -> str:
            message = ""
            for c in row:
                text = "-" if c is None else _cell(c)
                side = "right" if _is_number(text) else "left"
                message += f'<{tag} style="text-align:{side};padding:2px 8px">{html.escape(text)}</{tag}>'
            return f"<tr>{message}</tr>"

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
        return SERVICES.figures.drawing(self).draw(path)

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
