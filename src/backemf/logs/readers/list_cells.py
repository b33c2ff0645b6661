"""Tables in text whose cells hold lists: `[0.1, 0.2]`, as Python, pandas and NumPy write them, quoted or not,
over one line or several. Each element becomes a column of its own, and the rest of a reader sees a plain
table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..recording import ReadError

APART = "\x02"
"""Stands between the elements of a list: no table is separated by it."""
NUMBERS, WORDS = "1", "words"
"""What a list stands for where the layout of its table is looked for."""
FEWEST = 3
"""Numbers in quotes from which on they are a list without brackets: "1,5" may be one and a half."""
LONGEST = 64
"""Lines that one cell may go over."""
_LIST = re.compile(
    r"(?P<front>(?:^|[,;\t| ])\s*)(?P<quote>\"?)\s*(?:[A-Za-z_.]+\()?"
    r"\[(?P<inside>(?:[^\[\]]|\[[^\[\]]*\])*)\]"
    r"(?:,\s*dtype=[\w.]+)?(?:,\s*device=[^)]*)?\)?\s*(?P=quote)(?=\s*(?:[,;\t| ]|$))"
)
_QUOTED = re.compile(r"\"(?P<inside>[^\"\[\]A-Za-df-mo-zA-DF-MO-Z_]+)\"")
_TYPED = re.compile(r"\b[A-Za-z_]+(?:\.[A-Za-z_]\w*)+\(([^()]*)\)")
"""`np.float64(0.1)`."""
_NUMBER = re.compile(r"^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|nan)$", re.IGNORECASE)


@dataclass(frozen=True)
class ListedLine:
    """One row: its text with the elements of lists side by side, and the same with one word for each list."""

    text: str
    plain: str


def may_hold(lines: Sequence[str]) -> bool:
    """Whether any of these lines has a list of numbers in a cell."""
    return any(_mark_lists(line) != line for line in lines if "[" in line or '"' in line)


def _elements(inside: str) -> list[str]:
    """What stands between brackets: numbers or words, without quotes; nothing where it is something else."""
    bare = _TYPED.sub(r"\1", inside).translate({ord(c): " " for c in "[]\"'"})
    return [one.strip() for one in re.split(r"[,;\s]+", bare) if one.strip()]


def _mark_lists(line: str) -> str:
    """A line with every list in it as one cell, its elements apart by `APART`."""

    def mark_bracketed(match: re.Match[str]) -> str:
        found, begins_cell = _elements(match["inside"]), not match["front"] or match["front"].strip()
        numeric = bool(found) and all(map(_NUMBER.match, found))
        # one word in brackets is a unit, and behind a blank only numbers are sure to be a cell
        good = numeric and (begins_cell or len(found) > 1)
        good = good or (len(found) > 1 and begins_cell)
        return match["front"] + APART + APART.join(found) if good else match[0]

    def mark_quoted(match: re.Match[str]) -> str:
        found = _elements(match["inside"])
        good = len(found) >= FEWEST and all(map(_NUMBER.match, found))
        return APART + APART.join(found) if good else match[0]

    previous = ""
    while previous != line:  # lists side by side share the separator between them
        previous, line = line, _LIST.sub(mark_bracketed, line)
    return _QUOTED.sub(mark_quoted, line)


def join(lines: Sequence[str]) -> list[ListedLine]:
    """Lines with their lists marked; a cell over several lines is joined in its first, and the others are
    empty, so that lines keep their numbers."""
    joined: list[ListedLine] = []
    k = 0
    while k < len(lines):
        line, n = lines[k].rstrip("\r\n"), 1
        while line.count("[") > line.count("]") and n < LONGEST and k + n < len(lines):
            line, n = f"{line} {lines[k + n].strip()}", n + 1
        text = _mark_lists(line)
        joined.append(ListedLine(text, re.sub(f"{APART}[^,;\t| ]*", _stand_in, text)))
        joined += [ListedLine("", "")] * (n - 1)
        k += n
    return joined


def _stand_in(match: re.Match[str]) -> str:
    return NUMBERS if all(map(_NUMBER.match, match[0].split(APART)[1:])) else WORDS


def widths_of(rows: Sequence[Sequence[str]]) -> tuple[dict[int, int], dict[int, list[str]]]:
    """(elements of each column of lists of numbers, words of each column of lists of words), by place in the
    row, from the first row that has them."""
    widths: dict[int, int] = {}
    words: dict[int, list[str]] = {}
    for row in rows:
        for j, cell in enumerate(row):
            found = cell.split(APART)[1:]
            if found and all(map(_NUMBER.match, found)):
                widths.setdefault(j, len(found))
            elif found:
                words.setdefault(j, found)
    return widths, words


def spread_cells(row: Sequence[str], widths: Mapping[int, int], line: int) -> list[str]:
    """The cells of a row with a cell for each element.

    Args:
        row: its cells, lists marked.
        widths: elements of each column of lists.
        line: its number in the file, from 1.

    Returns:
        The cells.

    Raises:
        ReadError: a list has another number of elements than those above it.
    """
    cells: list[str] = []
    for j, cell in enumerate(row):
        found = cell.split(APART)[1:] if APART in cell else []
        if j not in widths:
            cells.append(" ".join(found) if found else cell)
        elif found and len(found) != widths[j]:
            raise ReadError(
                f"line {line}: a list of {len(found)} numbers in column {j + 1}, where the first has"
                f" {widths[j]}; expected as many in every row"
            )
        else:
            cells += found or [""] * widths[j]
    return cells


def spread_names(
    header: Sequence[str], widths: Mapping[int, int], words: Mapping[int, Sequence[str]]
) -> list[str]:
    """Names of the columns: a list's elements are `name.0`, or by the words of another list of this length:
    `position.elbow`.

    Args:
        header: names in the file.
        widths: elements of each column of lists of numbers, by place.
        words: those of each column of lists of words, by place.

    Returns:
        A name for each column.
    """
    names: list[str] = []
    for j, name in enumerate(header):
        if j not in widths:
            names.append(name)
            continue
        bare, bracket, unit = name.partition("[")
        listed = next((each for each in words.values() if len(each) == widths[j]), range(widths[j]))
        names += [f"{bare.strip()}.{one}" + (f" [{unit}" if bracket else "") for one in listed]
    return names
