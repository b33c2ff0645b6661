"""Figures and pages as data: what to draw and what to say, said once; whoever draws turns a figure into a
file or into something interactive, and sections of blocks into a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .findings import Finding


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One curve. `style` is 'solid', 'dashed', 'thin' (context behind the others), 'dots' (samples), 'points'
    (single readings) or 'crosses' (those that stand apart)."""

    x: Any
    y: Any
    label: str = ""
    style: str = "solid"
    color: int | None = None
    """Place in the palette; None takes the next."""


@dataclass(frozen=True, kw_only=True)
class Band:
    """A shaded stretch of the x axis, with a word in it."""

    low: float
    high: float
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Region:
    """A filled area between two curves."""

    x: Any
    low: Any
    high: Any
    label: str = ""
    color: int = 0


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Horizontal bars, one a name, the first on top;
    `colors` are places in the palette, `errors` whiskers either way."""

    names: Sequence[str]
    values: Any
    colors: Sequence[int] = ()
    errors: Any = None


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A square of coloured cells from -1 to 1, such as correlations;
    rows and columns carry the same names."""

    names: Sequence[str]
    values: Any


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A point with a few words beside it."""

    x: float
    y: float
    text: str
    color: int = 0
    """Place in the palette."""
    below: bool = False
    """Whether its words stand below it, as beside a rising curve."""


@dataclass(frozen=True, kw_only=True)
class Box:
    """A box of a diagram with a title and lines of text, around its middle; `color` is a place in the
    palette."""

    x: float
    y: float
    width: float
    height: float
    title: str
    lines: Sequence[str] = ()
    color: int = 0


@dataclass(frozen=True, kw_only=True)
class Arrow:
    """From corner to corner of a path, with a word at its middle."""

    path: Sequence[tuple[float, float]]
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """Boxes and arrows on a sheet of this size, from its lower left corner; in inches at full width."""

    width: float
    height: float
    blocks: Sequence[Box]
    arrows: Sequence[Arrow]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One set of axes: curves, bars or a grid; or a diagram without axes."""

    lines: Sequence[Curve] = field(default_factory=tuple)
    x_label: str
    y_label: str
    title: str = ""
    bands: Sequence[Band] = field(default_factory=tuple)
    regions: Sequence[Region] = field(default_factory=tuple)
    bars: Bars | None = None
    grid: Grid | None = None
    marks: Sequence[Mark] = field(default_factory=tuple)
    diagram: Diagram | None = None
    note: str = ""
    """Lines of text under the axes."""
    names: Sequence[str] = ()
    """Rows of the y axis from 0 downwards, where it has names for numbers."""
    x_log: bool = False
    y_range: tuple[float, float] | None = None
    """Where the axis ends; without it, where the data does."""
    legend_above: bool = False
    """Whether the names of its curves stand above it, where curves fill the whole panel."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Panels one above the other, sharing their x axis where `shared_x` says so."""

    title: str
    panels: Sequence[Panel]
    shared_x: bool = True
    columns: int = 1
    note: str = ""


def middle(arrow: Arrow) -> tuple[float, float]:
    """Where an arrow's word stands: in the middle of its longest stretch."""
    stretches = [*zip(arrow.path, arrow.path[1:], strict=False)]
    (x, y), (u, v) = max(
        stretches, key=lambda ends: abs(ends[0][0] - ends[1][0]) + abs(ends[0][1] - ends[1][1])
    )
    return 0.5 * (x + u), 0.5 * (y + v)


def hold_curve(t: Any, values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Values that hold until the next one, as a curve with steps; a long one as it is."""
    t, values = np.asarray(t, float), np.asarray(values, float)
    changes = np.flatnonzero(np.diff(values) != 0)
    if len(changes) > 0.2 * len(t):  # it changes all the time: steps would not be seen
        return t, values
    places = np.sort(np.concatenate([np.arange(len(t)), changes]))
    again = np.concatenate(
        [[False], np.diff(places) == 0]
    )  # the second of two: the old value, at the new time
    return np.where(again, t[np.minimum(places + 1, len(t) - 1)], t[places]), values[places]


def over_time(y_label: str, *lines: Curve, bands: Sequence[Band] = ()) -> Panel:
    """A panel over seconds.

    Args:
        y_label: With its unit.
        lines: Over seconds.
        bands: Stretches of time to shade.

    Returns:
        The panel.
    """
    return Panel(lines=lines, x_label="time [s]", y_label=y_label, bands=bands)


@dataclass(frozen=True, kw_only=True)
class Block:
    """What stands in a section of a page: one of the classes below, or another that a page knows to set."""


@dataclass(frozen=True, kw_only=True)
class Paragraph(Block):
    """Plain text. `kind` is 'text', 'heading', 'lead' (the verdict, with its level), 'banner',
    'note' (small) or 'missing' (why something is not here)."""

    text: str
    kind: str = "text"


@dataclass(frozen=True, kw_only=True)
class Table(Block):
    """Cells as text; a column of numbers is set to the right."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    filtered: bool = False
    """Whether a reader may choose rows: `planetary kg<0.4`."""


@dataclass(frozen=True, kw_only=True)
class Findings(Block):
    """Findings with their remedies."""

    findings: Sequence[Finding]


@dataclass(frozen=True, kw_only=True)
class Drawing(Block):
    """A figure with a heading and a sentence under it."""

    figure: Figure
    heading: str = ""
    text: str = ""
    source: Any = field(default=None, repr=False)
    """The run that it shows, where sliders may move it."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading with what stands under it."""

    key: str
    """Its anchor."""
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page of sections, with a line on where it came from."""

    title: str
    note: str
    sections: Sequence[Section]


def missing(text: str) -> Paragraph:
    """Why something is not here, and how to get it."""
    return Paragraph(text=text, kind="missing")


def note(text: str) -> Paragraph:
    """A small remark."""
    return Paragraph(text=text, kind="note")
