"""A diagram as SVG text, for pages: it scales with them, and needs no script."""

from __future__ import annotations

import html

from ....figure import Arrow, Block, Diagram, middle
from .draw import PALETTE

INCH = 96.0
"""Units of the drawing in an inch of the diagram."""
LINE = 15.0
SCRIPT = '<path d="M0 0L9 4L0 8z" fill="#777"/>'


def svg(diagram: Diagram) -> str:
    """The whole drawing, y upwards as in the diagram."""
    w, h = INCH * diagram.width, INCH * diagram.height
    parts = [*(_arrow(a, h) for a in diagram.arrows), *(_block(b, h) for b in diagram.blocks)]
    tip = (
        f'<marker id="tip" markerWidth="9" markerHeight="8" refX="9" refY="4" orient="auto">{SCRIPT}</marker>'
    )
    size = f'viewBox="0 0 {w:.0f} {h:.0f}" style="width:100%;max-width:{w:.0f}px;min-width:640px"'
    look = 'role="img" font-size="11" text-anchor="middle" xmlns="http://www.w3.org/2000/svg"'
    return f"<svg {size} {look}><defs>{tip}</defs>{''.join(parts)}</svg>"


def _block(b: Block, h: float) -> str:
    color, x, y = PALETTE[b.color % len(PALETTE)], INCH * b.x, h - INCH * b.y
    wide, tall = INCH * b.width, INCH * b.height
    corner = f'x="{x - wide / 2:.1f}" y="{y - tall / 2:.1f}" width="{wide:.1f}" height="{tall:.1f}"'
    top = y - tall / 2 + 18
    lines = "".join(_text(x, top + 4 + LINE * (k + 1), line) for k, line in enumerate(b.lines))
    title = _text(x, top, b.title, f'font-weight="bold" fill="{color}"')
    look = f'style="fill:var(--paper,#fff)" stroke="{color}" stroke-width="1.8"'
    return f'<rect {corner} rx="7" {look}/>{title}{lines}'


def _arrow(arrow: Arrow, h: float) -> str:
    points = " ".join(f"{INCH * x:.1f},{h - INCH * y:.1f}" for x, y in arrow.path)
    line = (
        f'<polyline points="{points}" fill="none" stroke="#777" stroke-width="1.3" marker-end="url(#tip)"/>'
    )
    x, y = middle(arrow)
    return line + (
        _text(INCH * x, h - INCH * y - 5, arrow.label, 'style="fill:var(--soft,#444)"') if arrow.label else ""
    )


def _text(x: float, y: float, text: str, more: str = "") -> str:
    ink = more or 'style="fill:var(--ink,#000)"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {ink}>{html.escape(text)}</text>'
