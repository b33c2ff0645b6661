"""What a page is made of: sections of paragraphs, tables, findings and figures, as data;
nothing here knows HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...figure import Figure
from ...findings import Finding
from .panel import Live


@dataclass(frozen=True, kw_only=True)
class Paragraph:
    """Plain text. `kind` is 'text', 'heading', 'lead' (the verdict, with its level), 'banner',
    'note' (small) or 'missing' (why something is not here)."""

    text: str
    kind: str = "text"


@dataclass(frozen=True, kw_only=True)
class Table:
    """Cells as text; a column of numbers is set to the right."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Findings with their remedies."""

    findings: Sequence[Finding]


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A figure with a heading and a sentence under it."""

    figure: Figure
    heading: str = ""
    text: str = ""
    source: Any = field(default=None, repr=False)
    """The run that it shows, where sliders may move it."""


Block = Paragraph | Table | Findings | Drawing | Live


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading with what stands under it."""

    key: str
    """Its anchor."""
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)


def missing(text: str) -> Paragraph:
    """Why something is not here, and how to get it."""
    return Paragraph(text=text, kind="missing")


def note(text: str) -> Paragraph:
    return Paragraph(text=text, kind="note")
