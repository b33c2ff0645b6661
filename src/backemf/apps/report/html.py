"""A fit's report as one HTML file: opens offline, prints, and needs nothing from anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ... import __version__
from ...figure import Block, Drawing, Figure, Findings, Page, Panel, Paragraph, Section, Table
from ...files import write_all
from ...findings import Finding
from ..playground import panel as live
from ..playground.document import document, escape as _text
from ..playground.page_kernels import PageKernels, script
from .contents import Report
from .figures.plotly import library, plots, points_each, svg
from .sections import sections

NUMBER = re.compile(r"[-+]?[0-9][0-9.]*(e[-+]?[0-9]+)?( %| ± [0-9.e+-]+)?$")


def page(report: Report) -> str:
    """The whole file."""
    title = f"{report.fit.name}: actuator report" if report.fit.name else f"Actuator report: {report.name}"
    if report.robot is not None:
        title = f"{report.robot.robot.name}: its actuators, identified"
    return page_of(Page(title=title, note=_origin(report), sections=sections(report)))


def page_of(page: Page) -> str:
    """Any page of sections, with their list beside them."""
    parts = page.sections
    drawn = PagePlots(points_each([b.figure for s in parts for b in s.blocks if isinstance(b, Drawing)]))
    body = "\n".join(_section(s, drawn) for s in parts)
    contents = "".join(f'<li><a href="#{s.key}">{_text(s.title)}</a></li>' for s in parts)
    inside = f"""<div class="columns">
<nav aria-label="Contents"><ol>{contents}</ol></nav>
<main>
{body}
</main>
</div>"""
    return _document(page.title, page.note, inside, drawn)


def figure_page(figure: Figure, note: str) -> str:
    """A page with one figure and a line about it."""
    drawn = PagePlots(points_each([figure]))
    inside = f'<main class="figures">\n{_drawing(Drawing(figure=figure, text=figure.note), drawn)}\n</main>'
    return _document(figure.title, note, inside, drawn)


def _document(title: str, note: str, inside: str, drawn: PagePlots) -> str:
    """A page with its figures, and what moves them where something does."""
    data, scripts, style = {"figures": drawn.plots}, [library(), script("figures.js")], ""
    if FILTER[:25] in inside:
        scripts.append(script("filter.js"))
    if drawn.lives:
        kernels = PageKernels()
        data["live"] = [live.data(one, drawn.places(one), kernels) for one in drawn.lives]
        scripts.append(kernels.page_script("numbers.js", "follow.js", "live.js"))
        style = script("live.css")
    return document(title, note, inside, data=data, scripts=scripts, version=__version__, style=style)


def write(report: Report | Page, path: Path | str, *, force: bool = False) -> Path:
    """Write a report, or any page, whole or not at all.

    Args:
        report: Of a fit; or any page.
        path: Of the file.
        force: Overwrite the file if it exists.

    Returns:
        The written file.
    """
    text = page_of(report) if isinstance(report, Page) else page(report)
    return write_all({Path(path): text}, force=force)[0]


class PagePlots:
    """The plots of a page, collected while its sections are set."""

    def __init__(self, most: int):
        self.most = most
        self.plots: list[dict[str, Any]] = []
        self.lives: list[live.LivePanel] = []
        self._of: dict[int, str] = {}

    def add(self, plot: dict[str, Any]) -> str:
        """Keep a plot, and give the place where it will be drawn."""
        self.plots.append(plot)
        height, kind = plot["layout"]["height"], plot["data"][0]["type"]
        square = f";max-width:{height + 190}px" if kind == "heatmap" else ""
        name = f"plot-{len(self.plots) - 1}"
        return f'<div class="plot {kind}" id="{name}" style="height:{height}px{square}"></div>'

    def says(self, source: Any) -> None:
        """That the last plot shows this run."""
        self._of[id(source)] = f"plot-{len(self.plots) - 1}"

    def places(self, one: live.LivePanel) -> list[str]:
        """Where the runs that follow sliders are drawn."""
        return [self._of[id(run)] for run in one.runs]


def _origin(report: Report) -> str:
    fit = report.fit
    sheet = f" Datasheet: {report.sheet.name}." if report.sheet is not None else ""
    held = f", {len(fit.held_out)} held out" if fit.held_out else ""
    n, starts = len(fit.training), len(fit.starts)
    many = f" {len(fit.joints)} joints." if fit.joints else ""
    tried = "" if fit.joints else f", {starts} start{'s' * (starts != 1)}"
    return (
        f"Written by backemf {report.version} on {report.date} from {report.name}.{many} Friction"
        f" {fit.friction}, {len(fit.parameters)} fitted parameters, {n} log{'s' * (n != 1)} fitted{held}"
        f"{tried}, {fit.cpu_s:.2g} s of CPU.{sheet}"
    )


def _section(section: Section, drawn: PagePlots) -> str:
    inside = "\n".join(SET[type(block)](block, drawn) for block in section.blocks)
    return f'<section id="{_text(section.key)}">\n<h2>{_text(section.title)}</h2>\n{inside}\n</section>'


def _paragraph(block: Paragraph, drawn: PagePlots) -> str:
    if block.kind == "heading":
        return f"<h3>{_text(block.text)}</h3>"
    return f'<p class="{_text(block.kind)}">{_text(block.text)}</p>'


def _sliders(block: live.LivePanel, drawn: PagePlots) -> str:
    drawn.lives.append(block)
    return live.markup(block, len(drawn.lives) - 1)


def _finding(f: Finding) -> str:
    name = _text(f.code.replace("_", " "))
    return f"<li><b>{name}</b> {_text(f.text)}<br><i>Remedy:</i> {_text(f.remedy)}</li>"


def _drawing(block: Drawing, drawn: PagePlots) -> str:
    cells = _cells(block.figure, drawn)
    if block.source is not None:
        drawn.says(block.source)
    heading = f"<h4>{_text(block.heading)}</h4>" if block.heading else ""
    most = max(
        (len(line.x) for panel in block.figure.panels for line in panel.lines if line.style != "dots"),
        default=0,
    )
    less = ""
    if most > drawn.most:
        less = f" Drawn from the least and greatest of {drawn.most // 2} stretches of {most} samples."
    stop = "." if block.text and less and not block.text.endswith(".") else ""
    text = f"<figcaption>{_text(block.text + stop + less)}</figcaption>"
    kind = "pair" if len(cells) > 1 else "one"
    return f'<figure>{heading}<div class="{kind}">{"".join(cells)}</div>{text}</figure>'


def _cells(figure: Figure, drawn: PagePlots) -> list[str]:
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


FILTER = (
    '<p><input class="filter" type="search" aria-label="Choose rows" size="40"'
    ' placeholder="words, or a column and a number: {}&lt;1"> <span class="note"></span></p>'
)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, filtered: bool = False) -> str:
    kinds = [_kind([row[j] for row in rows], first=j == 0) for j in range(len(head))]

    def cell(text: str, kind: str, title: str) -> str:
        none = " none" if text in ("-", "") else ""
        return f'<td class="{kind}{none}" data-of="{_text(title)}">{_text(text)}</td>'

    def line(cells: Sequence[str]) -> str:
        return f"<tr>{''.join(map(cell, cells, kinds, head))}</tr>"

    text = f"<caption>{_text(caption)}</caption>" if caption else ""
    body = "".join(map(line, rows))
    titles = "".join(f'<th class="{kind}">{_text(c)}</th>' for c, kind in zip(head, kinds, strict=True))
    inside = f"{text}<thead><tr>{titles}</tr></thead><tbody>{body}</tbody>"
    wide = ' class="cards"' if len(head) > 3 else ""  # on a phone each row is a card of its own
    search = FILTER.format(_text(next((h for h, k in zip(head, kinds, strict=True) if k == "n"), head[0])))
    return f'{search if filtered else ""}<div class="scroll" tabindex="0"><table{wide}>{inside}</table></div>'


def _kind(column: Sequence[str], *, first: bool) -> str:
    """How a column is set: 'n' numbers to the right, 'w' wide text, 's' short text."""
    numbers = all(NUMBER.match(cell) or cell in ("-", "") for cell in column)
    if numbers and any(cell != "-" for cell in column):
        return "n"
    return "w" if max(map(len, column), default=0) > (50 if first else 26) else "s"


SET: dict[type[Block], Callable[[Any, PagePlots], str]] = {
    Paragraph: _paragraph,
    Table: lambda block, drawn: _table(block.head, block.rows, block.caption, block.filtered),
    Findings: lambda block, drawn: f'<ul class="findings">{"".join(map(_finding, block.findings))}</ul>',
    Drawing: _drawing,
    live.LivePanel: _sliders,
}
"""How each kind of block is set on a page."""
