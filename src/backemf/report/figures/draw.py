"""Figures into files, with matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import InvalidValue
from ...files import replacing
from .figure import Bars, Curve, Figure, Grid, Panel

FORMATS = ("png", "svg", "pdf")
PALETTE = ("#1f5fa8", "#d2622a", "#3a8f5c", "#b23a55", "#7a5aa6", "#8a7a2f", "#4a9fb0")
"""Colours that stay apart in print and for colour-blind readers."""
STYLE: dict[Any, Any] = {
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
}


def save(figure: Figure, path: Path | str, *, width: float = 8.0, panel_height: float | None = None) -> Path:
    """Draw a figure into a file; its suffix says the format (png, svg, pdf)."""
    path = Path(path)
    ending = path.suffix.lstrip(".").lower() or "png"
    if ending not in FORMATS:
        raise InvalidValue(
            f"{path.name!r} ends in {path.suffix!r}; expected a picture that ends in"
            f" {', '.join(f'.{f}' for f in FORMATS)}"
        )
    picture = drawn(figure, width=width, panel_height=panel_height)
    with replacing(path, force=True) as temporary:
        picture.savefig(temporary, dpi=150, format=ending, bbox_inches="tight")
    return path


def drawn(figure: Figure, *, width: float = 8.0, panel_height: float | None = None) -> Any:
    """A figure as matplotlib has it; no window opens."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Picture

    n, columns = len(figure.panels), figure.columns
    n_rows = -(-n // columns)
    height = panel_height or (4.2 if n == 1 else 2.1 if columns == 1 else 3.2)
    size = (width if columns == 1 else 1.5 * width, 0.6 + height * n_rows)
    with rc_context(STYLE):
        picture = Picture(figsize=size, layout="constrained")
        axes = picture.subplots(n_rows, columns, sharex=figure.shared_x, squeeze=False)
        for empty in axes.flat[n:]:
            empty.set_axis_off()
        picture.suptitle(figure.title, x=0.01, ha="left", fontweight="bold", fontsize=12)
        for k, (panel, axis) in enumerate(zip(figure.panels, axes.flat, strict=False)):
            _draw_panel(picture, axis, panel, named=k == 0)
            if not figure.shared_x or k == n - 1:
                axis.set_xlabel(panel.x_label)
        if figure.note:
            picture.text(0.01, -0.01, figure.note, fontsize=8, color="#666666", va="top")
    return picture


def _draw_panel(picture: Any, axis: Any, panel: Panel, *, named: bool) -> None:
    """One set of axes; `named` panels say what their bands are."""
    for band in panel.bands:
        axis.axvspan(band.low, band.high, color="#e9e5dc", alpha=0.55, linewidth=0)
        if band.label and named:
            middle, where = (0.5 * (band.low + band.high), 1.02), ("data", "axes fraction")
            small = {"ha": "center", "va": "bottom", "fontsize": 8.5, "color": "#5a5346"}
            axis.annotate(band.label, middle, xycoords=where, **small)
    for region in panel.regions:
        color, label = PALETTE[region.color % len(PALETTE)], region.label or None
        axis.fill_between(
            region.x, region.low, region.high, color=color, alpha=0.14, linewidth=0, label=label
        )
    for j, line in enumerate(panel.lines):
        _draw(axis, line, PALETTE[(j if line.color is None else line.color) % len(PALETTE)])
    if panel.bars is not None:
        _draw_bars(axis, panel.bars)
    if panel.grid is not None:
        _draw_grid(picture, axis, panel.grid)
    if panel.x_log:
        axis.set_xscale("log")
    if panel.y_range is not None:
        axis.set_ylim(*panel.y_range)
    axis.set_ylabel(panel.y_label)
    if panel.title:
        axis.set_title(panel.title, loc="left")
    if panel.grid is None:
        axis.grid(color="#dddddd", linewidth=0.6)
        axis.set_axisbelow(True)
        axis.margins(x=0.01)
    if sum(bool(line.label) for line in (*panel.lines, *panel.regions)) > 1:
        axis.legend(frameon=False, fontsize=8.5, loc="best", ncols=2 if len(panel.lines) > 4 else 1)


def _draw(axis: Any, line: Curve, color: str) -> None:
    style = {
        "solid": {"linewidth": 1.6},
        "dashed": {"linewidth": 1.4, "linestyle": (0, (4, 2))},
        "thin": {"linewidth": 1.1, "color": "#999999"},
        "dots": {"linestyle": "none", "marker": ".", "markersize": 3},
    }[line.style]
    axis.plot(line.x, line.y, label=line.label, **{"color": color, **style})


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
