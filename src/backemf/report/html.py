"""A fit's report as one HTML file: opens offline, prints, and needs nothing from anywhere."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..files import write_all
from ..findings import Finding
from .blocks import Block, Drawing, Findings, Paragraph, Section, Table
from .contents import Report
from .figures.figure import Figure, Panel
from .figures.plotly import dumps, library, plots, points_each
from .figures.svg import svg
from .page_style import SCRIPT, STYLE
from .sections import sections

NUMBER = re.compile(r"[-+]?[0-9][0-9.]*(e[-+]?[0-9]+)?( %| ± [0-9.e+-]+)?$")


def page(report: Report) -> str:
    """The whole file."""
    parts = sections(report)
    drawn = Drawn(points_each([b.figure for s in parts for b in s.blocks if isinstance(b, Drawing)]))
    body = "\n".join(_section(s, drawn) for s in parts)
    contents = "".join(f'<li><a href="#{s.key}">{_text(s.title)}</a></li>' for s in parts)
    inside = f"""<div class="columns">
<nav aria-label="Contents"><ol>{contents}</ol></nav>
<main>
{body}
</main>
</div>"""
    return _document(f"Actuator report: {report.name}", _origin(report), inside, drawn, report.version)


def figure_page(figure: Figure, note: str, version: str) -> str:
    """A page with one figure and a line about it."""
    drawn = Drawn(points_each([figure]))
    inside = f'<main class="figures">\n{_drawing(Drawing(figure=figure, text=figure.note), drawn)}\n</main>'
    return _document(figure.title, note, inside, drawn, version)


def _document(title: str, note: str, inside: str, drawn: Drawn, version: str) -> str:
    """The frame of every page: what it may run, its style, its figures."""
    scripts = [library(), SCRIPT]
    hashes = (hashlib.sha256(text.encode("utf-8")).digest() for text in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(h).decode('ascii')}'" for h in hashes)
    policy = f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{html.escape(policy, quote=True)}">
<meta name="generator" content="backemf {_text(version)}">
<title>{_text(title)}</title>
<link rel="icon" href="data:,">
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>{_text(title)}</h1>
<p class="note">{_text(note)}</p>
</header>
{inside}
<noscript><p class="missing">The figures need JavaScript, which this browser does not run;
the tables do not.</p></noscript>
<script type="application/json" id="figures">{dumps(drawn.plots)}</script>
<script>{scripts[0]}</script>
<script>{scripts[1]}</script>
</body>
</html>
"""


def write(report: Report, path: Path | str, *, force: bool = False) -> Path:
    """Write the page, whole or not at all; an existing file is kept unless `force`."""
    return write_all({Path(path): page(report)}, force=force)[0]


class Drawn:
    """The plots of a page, collected while its sections are set."""

    def __init__(self, most: int):
        self.most = most
        self.plots: list[dict[str, Any]] = []

    def add(self, plot: dict[str, Any]) -> str:
        self.plots.append(plot)
        height, kind = plot["layout"]["height"], plot["data"][0]["type"]
        square = f";max-width:{height + 190}px" if kind == "heatmap" else ""
        name = f"plot-{len(self.plots) - 1}"
        return f'<div class="plot {kind}" id="{name}" style="height:{height}px{square}"></div>'


def _origin(report: Report) -> str:
    fit = report.fit
    sheet = f" Datasheet: {report.sheet.name}." if report.sheet is not None else ""
    held = f", {len(fit.held_out)} held out" if fit.held_out else ""
    return (
        f"Written by backemf {report.version} on {report.date} from {report.name}. Friction {fit.friction},"
        f" {len(fit.parameters)} fitted parameters, {len(fit.training)} logs fitted{held}, {len(fit.starts)}"
        f" starts, {fit.cpu_s:.2g} s of CPU.{sheet}"
    )


def _text(text: str) -> str:
    return html.escape(str(text), quote=True)


def _section(section: Section, drawn: Drawn) -> str:
    inside = "\n".join(_block(b, drawn) for b in section.blocks)
    return f'<section id="{_text(section.key)}">\n<h2>{_text(section.title)}</h2>\n{inside}\n</section>'


def _block(block: Block, drawn: Drawn) -> str:
    if isinstance(block, Paragraph):
        if block.kind == "heading":
            return f"<h3>{_text(block.text)}</h3>"
        return f'<p class="{_text(block.kind)}">{_text(block.text)}</p>'
    if isinstance(block, Table):
        return _table(block.head, block.rows, block.caption)
    if isinstance(block, Findings):
        rows = "".join(map(_finding, block.findings))
        return f'<ul class="findings">{rows}</ul>'
    return _drawing(block, drawn)


def _finding(f: Finding) -> str:
    name = _text(f.code.replace("_", " "))
    return f"<li><b>{name}</b> {_text(f.text)}<br><i>Remedy:</i> {_text(f.remedy)}</li>"


def _drawing(block: Drawing, drawn: Drawn) -> str:
    cells = _cells(block.figure, drawn)
    heading = f"<h4>{_text(block.heading)}</h4>" if block.heading else ""
    most = max(
        (len(line.x) for panel in block.figure.panels for line in panel.lines if line.style != "dots"),
        default=0,
    )
    less = ""
    if most > drawn.most:
        less = f" Drawn from the least and greatest of {drawn.most // 2} stretches of {most} samples."
    stop = "." if block.text and less and not block.text.endswith(".") else ""
    words = f"<figcaption>{_text(block.text + stop + less)}</figcaption>"
    kind = "pair" if len(cells) > 1 else "one"
    return f'<figure>{heading}<div class="{kind}">{"".join(cells)}</div>{words}</figure>'


def _cells(figure: Figure, drawn: Drawn) -> list[str]:
    """Plots, each with its title and what stands under it; panels that share their x axis are one plot."""
    apart = not figure.shared_x and (len(figure.panels) > 1 or figure.panels[0].diagram is not None)
    if not apart:
        return [f"<div>{drawn.add(p)}{_under(figure.panels[0])}</div>" for p in plots(figure, drawn.most)]
    cells = []
    for panel in figure.panels:
        title = f"<h4>{_text(panel.title)}</h4>" if panel.title else ""
        if panel.diagram is not None:
            cells.append(f'<div class="wide">{title}<div class="scroll">{svg(panel.diagram)}</div></div>')
        else:
            (one,) = plots(replace(figure, panels=[panel]), drawn.most)
            cells.append(f"<div>{title}{drawn.add(one)}{_under(panel)}</div>")
    return cells


def _under(panel: Panel) -> str:
    return f'<p class="note">{"<br>".join(map(_text, panel.note.splitlines()))}</p>' if panel.note else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    kinds = [_kind([row[j] for row in rows], first=j == 0) for j in range(len(head))]

    def line(cells: Sequence[str], tag: str) -> str:
        inside = (f'<{tag} class="{kind}">{_text(c)}</{tag}>' for c, kind in zip(cells, kinds, strict=True))
        return f"<tr>{''.join(inside)}</tr>"

    words = f"<caption>{_text(caption)}</caption>" if caption else ""
    body = "".join(line(row, "td") for row in rows)
    inside = f"{words}<thead>{line(head, 'th')}</thead><tbody>{body}</tbody>"
    return f'<div class="scroll" tabindex="0"><table>{inside}</table></div>'


def _kind(column: Sequence[str], *, first: bool) -> str:
    """How a column is set: 'n' numbers to the right, 'w' wide text, 's' short text."""
    numbers = all(NUMBER.match(cell) or cell in ("-", "") for cell in column)
    if numbers and any(cell != "-" for cell in column):
        return "n"
    return "w" if not first and max(map(len, column), default=0) > 26 else "s"
