"""Figures into files: pictures with matplotlib, or a page that can be zoomed and read off."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Any

from .... import __version__
from ....errors import InvalidValue
from ....figure import Bars, Curve, Diagram, Figure, Grid, Mark, Panel, middle
from ....files import may_write, replacing, write_all

PAGE = ".html"
SUFFIXES = (".png", ".svg", ".pdf", PAGE)
"""What a figure's file may end in."""
PALETTE = ("#1f5fa8", "#d2622a", "#3a8f5c", "#b23a55", "#7a5aa6", "#8a7a2f", "#4a9fb0")
"""Colours that stay apart in print and for colour-blind readers."""
WIDTH = 8.0
"""Of a picture of one column [inches]; two take half as much again."""
STYLE: dict[Any, Any] = {
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
}


def drawable(path: Path | str, *, force: bool = False) -> Path:
    """The place of a figure; refused, before any work is done, where none can be written."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidValue(f"{path.name!r} ends in {path.suffix!r}; expected one of {', '.join(SUFFIXES)}")
    return may_write(path, force=force)


def save(figure: Figure, path: Path | str, *, note: str = "", force: bool = True) -> Path:
    """Draw a figure into a file; its suffix says whether that is a picture (png, svg, pdf) or a page (html).

    Args:
        figure: what to draw.
        path: of the file.
        note: on a page, where the figure came from.
        force: overwrite the file if it exists.

    Returns:
        The written file.
    """
    path = drawable(path, force=force)
    if path.suffix.lower() == PAGE:
        from ..html import figure_page

        origin = f"Drawn by backemf {__version__}." + (f" {note}" if note else "")
        return write_all({path: figure_page(figure, origin)}, force=force)[0]
    picture = draw_figure(figure)
    with replacing(path, force=force) as temporary:
        picture.savefig(temporary, dpi=150, format=path.suffix[1:].lower(), bbox_inches="tight")
    return path


def draw_figure(figure: Figure) -> Any:
    """A figure as matplotlib has it; no window opens, and a notebook shows the picture."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    class Picture(Canvas):
        def _repr_png_(self) -> bytes:
            drawn = io.BytesIO()
            self.savefig(drawn, dpi=72, format="png", bbox_inches="tight")
            return drawn.getvalue()

    n, rows = len(figure.panels), _rows(figure)
    height = 4.2 if n == 1 else 2.1 if figure.columns == 1 else 3.2
    wide = WIDTH if figure.columns == 1 else 1.5 * WIDTH
    wide = max([wide, *(d.width for d in map(_diagram_of, rows) if d is not None)])
    heights = [height if d is None else d.height for d in map(_diagram_of, rows)]
    with rc_context(STYLE):
        picture = Picture(figsize=(wide, 0.6 + sum(heights)), layout="constrained")
        axes = _axes(picture, figure, rows, heights)
        picture.suptitle(figure.title, x=0.01, ha="left", fontweight="bold", fontsize=12)
        for k, (panel, axis) in enumerate(zip(figure.panels, axes, strict=True)):
            _draw_panel(picture, axis, panel, named=k == 0)
            if panel.diagram is None and (not figure.shared_x or k == n - 1):
                axis.set_xlabel(panel.x_label)
        if figure.note:
            picture.text(0.01, -0.01, figure.note, fontsize=8, color="#666666", va="top")
    return picture


def _rows(figure: Figure) -> list[list[Panel]]:
    """Panels side by side; a diagram has a row of its own."""
    rows: list[list[Panel]] = []
    for panel in figure.panels:
        full = not rows or len(rows[-1]) == figure.columns or _diagram_of(rows[-1]) is not None
        if full or panel.diagram is not None:
            rows.append([])
        rows[-1].append(panel)
    return rows


def _diagram_of(row: list[Panel]) -> Diagram | None:
    return row[0].diagram


def _axes(picture: Any, figure: Figure, rows: list[list[Panel]], heights: list[float]) -> list[Any]:
    """A set of axes for each panel, in their order."""
    places = picture.add_gridspec(len(rows), figure.columns, height_ratios=heights)
    axes: list[Any] = []
    for j, row in enumerate(rows):
        for k, panel in enumerate(row):
            place = places[j, :] if panel.diagram is not None or len(figure.panels) == 1 else places[j, k]
            axes.append(picture.add_subplot(place, sharex=axes[0] if figure.shared_x and axes else None))
            if figure.shared_x and j < len(rows) - 1:
                axes[-1].tick_params(labelbottom=False)
    return axes


def _draw_panel(picture: Any, axis: Any, panel: Panel, *, named: bool) -> None:
    """One set of axes; `named` panels say what their bands are."""
    if panel.diagram is not None:
        _draw_diagram(picture, axis, panel)
        return
    _draw_areas(axis, panel, named)
    for j, line in enumerate(panel.lines):
        _draw(axis, line, PALETTE[(j if line.color is None else line.color) % len(PALETTE)])
    if panel.bars is not None:
        _draw_bars(axis, panel.bars)
    if panel.grid is not None:
        _draw_grid(picture, axis, panel.grid)
    _draw_axes(axis, panel)
    for mark in panel.marks:
        _draw_mark(axis, mark)
    if panel.note:
        under = {"xytext": (0, -40), "textcoords": "offset points", "xycoords": "axes fraction"}
        axis.annotate(panel.note, (0.0, 0.0), va="top", fontsize=8, color="#5a5346", **under)
    _draw_legend(axis, panel)


def _draw_areas(axis: Any, panel: Panel, named: bool) -> None:
    """What is shaded behind the curves."""
    for band in panel.bands:
        axis.axvspan(band.low, band.high, color="#e9e5dc", alpha=0.55, linewidth=0)
        if band.label and named:
            middle, where = (0.5 * (band.low + band.high), 1.02), ("data", "axes fraction")
            small = {"ha": "center", "va": "bottom", "fontsize": 8.5, "color": "#5a5346"}
            axis.annotate(band.label, middle, xycoords=where, **small)
    for region in panel.regions:
        look = {"color": PALETTE[region.color % len(PALETTE)], "alpha": 0.14, "linewidth": 0}
        axis.fill_between(region.x, region.low, region.high, label=region.label or None, **look)


def _draw_axes(axis: Any, panel: Panel) -> None:
    """Scales, ticks, labels and lines."""
    if panel.x_log:
        _logarithmic(axis)
    if panel.y_range is not None:
        axis.set_ylim(*panel.y_range)
    if panel.names:
        axis.set_yticks(range(len(panel.names)), panel.names)
        axis.set_ylim(len(panel.names) - 0.5, -0.5)
        axis.locator_params(axis="x", nbins=6)
    axis.set_ylabel(panel.y_label)
    if panel.title:
        axis.set_title(panel.title, loc="left")
    if panel.grid is None:
        axis.grid(color="#dddddd", linewidth=0.6)
        axis.set_axisbelow(True)
        axis.margins(x=0.01)
    if any(mark.text for mark in panel.marks):
        axis.margins(y=0.1)  # for their words


def _draw_legend(axis: Any, panel: Panel) -> None:
    if sum(bool(line.label) for line in (*panel.lines, *panel.regions)) <= 1:
        return
    look: dict[str, Any] = {"loc": "best", "ncols": 2 if len(panel.lines) > 4 else 1}
    if panel.legend_above:
        look = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": _columns(panel)}
    backed = {"framealpha": 0.85, "edgecolor": "none", "borderpad": 0.2}
    axis.legend(fontsize=8.5, **look, **backed)


def _columns(panel: Panel) -> int:
    """So many names beside each other as fit above a panel."""
    longest = max(len(line.label) for line in panel.lines)
    return max(1, min(sum(bool(line.label) for line in panel.lines), 100 // (longest + 8)))


def _draw(axis: Any, line: Curve, color: str) -> None:
    style = {
        "solid": {"linewidth": 1.6},
        "dashed": {"linewidth": 1.4, "linestyle": (0, (4, 2))},
        "thin": {"linewidth": 1.1, "color": "#999999"},
        "dots": {"linestyle": "none", "marker": ".", "markersize": 3},
        "points": {"linestyle": "none", "marker": "o", "markersize": 5.5, "zorder": 3},
        "crosses": {"linestyle": "none", "marker": "X", "markersize": 9, "zorder": 3},
    }[line.style]
    axis.plot(line.x, line.y, label=line.label, **{"color": color, **style})


def _logarithmic(axis: Any) -> None:
    """0.5, 1, 2 along a logarithmic axis, not powers of ten; between decades only where there is room."""
    from matplotlib.ticker import FuncFormatter

    def between(x: float, _: Any) -> str:
        low, high = axis.get_xlim()
        return f"{x:g}" if high < 20 * low and f"{x:e}"[0] in "235" else ""

    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.xaxis.set_minor_formatter(FuncFormatter(between))


def _draw_bars(axis: Any, bars: Bars) -> None:
    places = range(len(bars.names))
    colors = [PALETTE[c % len(PALETTE)] for c in bars.colors] or PALETTE[0]
    axis.barh(places, bars.values, color=colors, height=0.65, xerr=bars.errors, ecolor="#444444", capsize=2)
    axis.set_yticks(places, bars.names)
    axis.invert_yaxis()


def _draw_grid(fig: Any, axis: Any, grid: Grid) -> None:
    places = range(len(grid.names))
    shown = axis.imshow(grid.values, vmin=-1, vmax=1, cmap="RdBu_r")
    axis.set_xticks(places, grid.names, rotation=90)
    axis.set_yticks(places, grid.names)
    fig.colorbar(shown, ax=axis, shrink=0.8)


def _draw_mark(axis: Any, mark: Mark) -> None:
    """A point, with its words on the side where there is more room."""
    color = PALETTE[mark.color % len(PALETTE)]
    axis.plot([mark.x], [mark.y], "o", color=color, markersize=5)
    axis.get_xlim()  # so that the limits are those of all curves
    across, _ = axis.transAxes.inverted().transform(axis.transData.transform((mark.x, mark.y)))
    right = across < 0.7
    where = {"xytext": (7 if right else -7, -4 if mark.below else 4), "textcoords": "offset points"}
    sides = {"ha": "left" if right else "right", "va": "top" if mark.below else "bottom"}
    axis.annotate(mark.text, (mark.x, mark.y), fontsize=8.5, color=color, **where, **sides)


def _draw_diagram(picture: Any, axis: Any, panel: Panel) -> None:
    from matplotlib.patches import FancyBboxPatch

    diagram = panel.diagram
    assert diagram is not None
    axis.set_axis_off()
    wide = max(diagram.width, picture.get_figwidth())
    axis.set(xlim=(0, wide), ylim=(0, diagram.height), aspect="equal", anchor="W")
    for arrow in diagram.arrows:
        for k, (start, end) in enumerate(itertools.pairwise(arrow.path)):
            last = k == len(arrow.path) - 2
            look = {"arrowstyle": "-|>" if last else "-", "color": "#444444", "linewidth": 1.1}
            axis.annotate("", end, start, arrowprops={**look, "shrinkA": 0, "shrinkB": 0})
        if arrow.label:
            x, y = middle(arrow)
            words = {"ha": "center", "va": "bottom", "fontsize": 8, "color": "#444444"}
            axis.text(x, y + 0.04, arrow.label, **words)
    for b in diagram.blocks:
        color = PALETTE[b.color % len(PALETTE)]
        corner = (b.x - b.width / 2, b.y - b.height / 2)
        look: dict[str, Any] = {
            "boxstyle": "round,pad=0,rounding_size=0.08",
            "facecolor": "white",
            "edgecolor": color,
        }
        axis.add_patch(FancyBboxPatch(corner, b.width, b.height, linewidth=1.4, **look))
        top = b.y + b.height / 2 - 0.08
        bold = {"ha": "center", "va": "top", "fontweight": "bold", "fontsize": 8.5, "color": color}
        axis.text(b.x, top, b.title, **bold)
        small = {"ha": "center", "va": "top", "fontsize": 7.8, "linespacing": 1.25}
        axis.text(b.x, top - 0.2, "\n".join(b.lines), **small)
    if panel.title:
        axis.set_title(panel.title, loc="left")
