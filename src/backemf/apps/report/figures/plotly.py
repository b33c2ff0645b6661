"""Figures into a page, with plotly: the same figure data as `draw` draws into files,
as compact JSON that plotly.js reads, and diagrams as SVG."""

from __future__ import annotations

import base64
import html
import itertools
import math
from typing import Any

import numpy as np

from ....figure import Arrow, Band, Bars, Box, Curve, Diagram, Figure, Grid, Mark, Panel, Region, middle
from ....tables import number
from ...playground.document import dumps as dumps
from .draw import PALETTE

MOST_POINTS = 3000
"""Points of a curve that a page keeps: more than a screen is wide."""
LEAST_POINTS = 400
BUDGET = 1.1e6
"""Bytes that the curves of one page may take together; the library takes 1.5e6, and a page of ten logs is to
stay below 3e6."""
LIBRARY = "plotly-cartesian.min.js"
INK, FAINT = "#1d1d1b", "#e3e1db"
COLD_TO_WARM = [[0.0, "#2166ac"], [0.5, "#f7f7f7"], [1.0, "#b2182b"]]
FONT = {
    "family": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    "size": 12,
    "color": INK,
}
LEGEND = {
    "orientation": "h",
    "x": 0,
    "y": 1.01,
    "yanchor": "bottom",
    "font": {"size": 12},
    "bgcolor": "rgba(255,255,255,0)",
}
SQUARE = {"constrain": "domain", "showgrid": False}
"""An axis of a grid."""
STYLES = {
    "solid": {"width": 1.8},
    "dashed": {"width": 1.6, "dash": "6px,3px"},
    "thin": {"width": 1.2, "color": "#8d8d88"},
}

MARKERS = {"dots": {"size": 4, "opacity": 0.6}, "points": {"size": 8}, "crosses": {"size": 12, "symbol": "x"}}


def library() -> str:
    """The text of plotly.js, to be put into a page once: of its build for curves, bars and grids, which lies
    beside its licence."""
    from importlib.resources import files

    return files("backemf.apps.report").joinpath("plotly", LIBRARY).read_text(encoding="utf-8")


def points_each(figures: list[Figure]) -> int:
    """How many points each curve may keep, so that all of them together stay within the budget."""
    n = sum(len(panel.lines) + 2 * len(panel.regions) for figure in figures for panel in figure.panels)
    return int(np.clip(BUDGET / (8 * 4 / 3) / max(n, 1), LEAST_POINTS, MOST_POINTS))


def plots(figure: Figure, most: int = MOST_POINTS) -> list[dict[str, Any]]:
    """Plots (`data`, `layout`) of a figure: one of stacked panels where they share their x axis,
    else one a panel. Diagrams are no plots."""
    if figure.shared_x or len(figure.panels) == 1:
        return [_plot(list(figure.panels), most)]
    return [_plot([panel], most) for panel in figure.panels]


def pack_array(values: Any) -> dict[str, str]:
    """Numbers as plotly's base64 array: single precision where nobody could see the difference."""
    array = np.ascontiguousarray(values, float)
    short = array.astype("<f4")
    seen = np.isfinite(array)
    span = float(np.ptp(array[seen])) if seen.any() else 0.0
    fine = bool(np.all(np.abs(short[seen] - array[seen]) <= 1e-5 * span)) if span else True
    kept = short if fine else array.astype("<f8")
    return {"dtype": "f4" if fine else "f8", "bdata": base64.b64encode(kept.tobytes()).decode("ascii")}


def thin_curve(x: Any, y: Any, most: int) -> tuple[np.ndarray, np.ndarray]:
    """A curve with at most `most` points that looks the same:
    the least and the greatest of each stretch, in their order."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    if len(x) <= most:
        return x, y
    edges = np.linspace(0, len(x), most // 2 + 1).astype(int)
    keep = []
    for a, b in itertools.pairwise(edges):
        part = y[a:b]
        if np.isfinite(part).any():
            keep += sorted({a + int(np.nanargmin(part)), a + int(np.nanargmax(part))})
        else:
            keep.append(a)
    return x[keep], y[keep]


def _plot(panels: list[Panel], most: int) -> dict[str, Any]:
    n = len(panels)
    gap = 0.05 if n > 1 else 0.0
    share = np.array([1.5 if k == 0 and n > 1 else 1.0 for k in range(n)])
    share = share / share.sum() * (1.0 - gap * (n - 1))
    layout: dict[str, Any] = {
        "font": FONT,
        "margin": {"l": 8, "r": 12, "t": 8, "b": 8},
        "paper_bgcolor": "#fff",
        "plot_bgcolor": "#fff",
        "hovermode": "x unified" if n > 1 else "closest",
        "hoverlabel": {"font": {"size": 12}},
        "legend": LEGEND,
        "height": _height(panels),
        "shapes": [],
    }
    traces: list[dict[str, Any]] = []
    labels: set[str] = set()
    top = 1.0
    for k, panel in enumerate(panels):
        ordinal = str(k + 1) if k else ""
        domain = [max(float(top - share[k]), 0.0), float(top)]
        top = domain[0] - gap
        layout[f"yaxis{ordinal}"] = {**_y_axis(panel), "domain": domain, "anchor": "x"}
        layout["shapes"] += [_band(band, f"y{ordinal}") for band in panel.bands]
        traces += _traces(panel, f"y{ordinal}", most, labels)
    layout["xaxis"] = {**_x_axis(panels[-1]), "anchor": f"y{n if n > 1 else ''}"}
    layout["showlegend"] = len([t for t in traces if t.get("showlegend")]) > 1
    return {"data": traces, "layout": layout}


def _traces(panel: Panel, y: str, most: int, labels: set[str]) -> list[dict[str, Any]]:
    """What is drawn in a panel; `labels` are those that the legend has already."""
    traces = [trace for region in panel.regions for trace in _region(region, y, most)]
    traces += [_line(line, j, y, most, labels) for j, line in enumerate(panel.lines)]
    traces += [_mark(mark, y) for mark in panel.marks]
    if panel.bars is not None:
        traces.append(_bars(panel.bars))
    if panel.grid is not None:
        traces.append(_grid(panel.grid))
    return traces


def _y_axis(panel: Panel) -> dict[str, Any]:
    axis = _axis(panel.y_label)
    if panel.y_range is not None:
        axis["range"] = [float(v) for v in panel.y_range]
    if panel.names:
        axis |= _name_axis([name.replace("\n", ": ") for name in panel.names])
    if panel.bars is not None:
        axis |= _name_axis([*panel.bars.names])
    if panel.grid is not None:
        numbered = [f"{i + 1} {name}" for i, name in enumerate(panel.grid.names)]
        axis |= _name_axis(numbered) | {"scaleanchor": "x", **SQUARE}
    return axis


def _x_axis(last: Panel) -> dict[str, Any]:
    """Of the lowest panel, for all."""
    axis = _axis(last.x_label, last.x_log)
    if last.x_log:
        values = [line.x for line in last.lines]
        axis |= _log_ticks(values if last.bars is None else [*values, last.bars.values])
    if last.grid is not None:
        places = range(len(last.grid.names))
        ticks = {"tickvals": [*places], "ticktext": [str(i + 1) for i in places], "tickangle": 0}
        axis |= {**ticks, **SQUARE}
    return axis


def _height(panels: list[Panel]) -> int:
    first = panels[0]
    if first.bars is not None:
        return 90 + 24 * len(first.bars.names)
    if first.grid is not None:
        return max(220, 70 + 25 * len(first.grid.names))
    return (380, 430, 540)[min(len(panels), 3) - 1] + 140 * max(0, len(panels) - 3)


def _axis(label: str, log: bool = False) -> dict[str, Any]:
    return {
        "title": {"text": html.escape(label), "standoff": 8},
        "automargin": True,
        "gridcolor": FAINT,
        "zerolinecolor": "#c9c6be",
        "linecolor": "#b5b2aa",
        "ticks": "outside",
        "tickcolor": "#b5b2aa",
        "ticklen": 4,
        **({"type": "log"} if log else {}),
    }


def _log_ticks(values: list[Any]) -> dict[str, Any]:
    """Ticks of a logarithmic axis, written out: decades, or 1, 2, 5 where it spans few;
    plotly.js would write 5 for 50."""
    numbers = np.concatenate([np.asarray(v, float).ravel() for v in values])
    numbers = numbers[np.isfinite(numbers) & (numbers > 0)]
    low, high = 0, 1
    if len(numbers):
        low, high = math.floor(math.log10(numbers.min())), math.ceil(math.log10(numbers.max()))
    ticks = [m * 10.0**k for k in range(low - 1, high + 1) for m in ((1, 2, 5) if high - low <= 2 else (1,))]
    return {"tickvals": ticks, "ticktext": [number(t, 1) for t in ticks]}


def _name_axis(names: list[str]) -> dict[str, Any]:
    """An axis of names, the first on top. Places are numbers: two things may have the same name."""
    places = list(range(len(names)))
    return {
        "tickvals": places,
        "ticktext": [html.escape(n) for n in names],
        "range": [len(names) - 0.5, -0.5],
        "zeroline": False,
        "ticks": "",
    }


def _color(place: int) -> str:
    return PALETTE[place % len(PALETTE)]


def _line(line: Curve, place: int, y: str, most: int, labels: set[str]) -> dict[str, Any]:
    color = _color(place if line.color is None else line.color)
    name, first = html.escape(line.label), bool(line.label) and line.label not in labels
    labels.add(line.label)
    trace: dict[str, Any] = {"type": "scatter", "xaxis": "x", "yaxis": y, "name": name, "legendgroup": name}
    trace["showlegend"] = first
    if line.style in MARKERS:
        xs, ys = line.x, line.y
        look = {"mode": "markers", "marker": {**MARKERS[line.style], "color": color}}
    else:
        xs, ys = thin_curve(line.x, line.y, most)
        look = {"mode": "lines", "line": {"color": color, **STYLES[line.style]}}
    return {**trace, "x": pack_array(xs), "y": pack_array(ys), **look}


def _region(region: Region, y: str, most: int) -> list[dict[str, Any]]:
    """The lower edge, and the upper one filled down to it."""
    step = max(1, -(-len(np.asarray(region.x)) // most))
    x, low, high = (np.asarray(v, float)[::step] for v in (region.x, region.low, region.high))
    red, green, blue = (int(_color(region.color)[k : k + 2], 16) for k in (1, 3, 5))
    bare = {"type": "scatter", "xaxis": "x", "yaxis": y, "mode": "lines", "line": {"width": 0}}
    bare |= {"hoverinfo": "skip", "x": pack_array(x)}
    filled = {
        "fill": "tonexty",
        "fillcolor": f"rgba({red},{green},{blue},0.16)",
        "name": html.escape(region.label),
        "showlegend": bool(region.label),
    }
    return [{**bare, "y": pack_array(low), "showlegend": False}, {**bare, **filled, "y": pack_array(high)}]


def _band(band: Band, y: str) -> dict[str, Any]:
    box = {"x0": band.low, "x1": band.high, "y0": 0, "y1": 1}
    place = {"type": "rect", "xref": "x", "yref": f"{y} domain", **box, "layer": "below"}
    font = {"size": 11, "color": "#5a5346"}
    label = {"text": html.escape(band.label), "textposition": "top center", "font": font}
    return {**place, "line": {"width": 0}, "fillcolor": "#f1eee7", "label": label}


def _bars(bars: Bars) -> dict[str, Any]:
    trace: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "x": [float(v) for v in bars.values],
        "y": list(range(len(bars.names))),
        "text": [number(float(v), 2) for v in bars.values],
        "textposition": "auto",
        "textangle": 0,
        "cliponaxis": False,
        "customdata": [html.escape(n) for n in bars.names],
        "hovertemplate": "%{customdata}: %{x:.3g}<extra></extra>",
        "marker": {"color": [_color(c) for c in bars.colors] or _color(0)},
        "showlegend": False,
    }
    if bars.errors is not None:
        trace["textposition"] = "none"  # a whisker would cross it
        whisker = {"type": "data", "color": "#444", "thickness": 1.2, "width": 3}
        trace["error_x"] = {**whisker, "array": [float(v) for v in bars.errors]}
    return trace


def _grid(grid: Grid) -> dict[str, Any]:
    names = [html.escape(n) for n in grid.names]
    return {
        "type": "heatmap",
        "z": [[round(float(v), 4) for v in row] for row in np.asarray(grid.values)],
        "customdata": [[f"{a} and {b}" for b in names] for a in names],
        "hovertemplate": "%{customdata}: %{z:.3f}<extra></extra>",
        "zmin": -1,
        "zmax": 1,
        "xgap": 1,
        "ygap": 1,
        "colorscale": COLD_TO_WARM,
        "colorbar": {"thickness": 10, "len": 0.9, "tickvals": [-1, -0.5, 0, 0.5, 1], "outlinewidth": 0},
    }


def _mark(mark: Mark, y: str) -> dict[str, Any]:
    color = _color(mark.color)
    text: dict[str, Any] = {"text": [html.escape(mark.text)], "textfont": {"color": color}}
    text["textposition"] = "bottom right" if mark.below else "top right"
    point = {"type": "scatter", "xaxis": "x", "yaxis": y, "x": [mark.x], "y": [mark.y], "showlegend": False}
    return {**point, **text, "mode": "markers+text", "marker": {"color": color, "size": 7}}


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


def _block(b: Box, h: float) -> str:
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
