"""Figures of bench readings: the points, the line through them with its 95 % band, and what stands apart; or
several routes to the same constants side by side."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ....analysis.measure import MeasuredConstants
from ....analysis.measurement import Measurement, PlotData, Readings
from ....figure import Curve, Figure, Panel, Region
from ....tables import number

MANY = 60
"""Readings from which they are drawn as samples."""
WIDTH = 125
"""Letters in a line of the note."""
APART = 3
"""Colour of outliers, and of routes that contradict each other."""


def measurement_figure(m: Measurement) -> Figure | None:
    """What was read, and the line or curve that the number is taken from; None where there is nothing."""
    shown = m.shown
    if shown is None:
        return None
    lines, regions = [], []
    for k, read in enumerate(shown.readings):
        lines += _readings(read, 2 * k)
    for k, curve in enumerate(shown.curves):
        lines.append(Curve(x=curve.x, y=curve.y, label=curve.label, color=2 * k + 1))
        if curve.low is not None and curve.high is not None:
            label = curve.band if not regions else ""
            regions.append(Region(x=curve.x, low=curve.low, high=curve.high, label=label, color=2 * k + 1))
    panels = [Panel(lines=lines, regions=regions, x_label=shown.x_label, y_label=shown.y_label)]
    if shown.fitted and shown.curves:
        panels.append(_residual_panel(shown))
    by = f" ({m.route})" if m.route else ""
    return Figure(title=f"{m.name} {m.number()}{by}", panels=panels, note=_note(m))


def _residual_panel(shown: PlotData) -> Panel:
    """What the curve leaves of the readings, with its band: what hides behind a line is seen here."""
    unit = shown.y_label[shown.y_label.rfind("[") :]
    lines, regions = [], []
    for k, (read, curve) in enumerate(zip(shown.readings, shown.curves, strict=True)):
        inside = (read.x >= curve.x.min()) & (read.x <= curve.x.max())
        rest = read.y - np.interp(read.x, curve.x, curve.y)
        apart = None if read.outliers is None else read.outliers[inside]
        bare = Readings(x=read.x[inside], y=rest[inside], label="", outliers=apart)
        lines += [replace(line, label="") for line in _readings(bare, 2 * k)]
        if curve.low is not None and curve.high is not None:
            low, high = curve.low - curve.y, curve.high - curve.y
            regions.append(Region(x=curve.x, low=low, high=high, color=2 * k + 1))
    y_label = f"read less curve {unit}"
    return Panel(lines=lines, regions=regions, x_label=shown.x_label, y_label=y_label)


def _readings(read: Readings, color: int) -> list[Curve]:
    style = "points" if len(read.x) <= MANY else "dots"
    apart = np.zeros(len(read.x), bool) if read.outliers is None else read.outliers
    lines = [Curve(x=read.x[~apart], y=read.y[~apart], label=read.label, style=style, color=color)]
    if apart.any():
        lines.append(
            Curve(x=read.x[apart], y=read.y[apart], label="stands apart", style="crosses", color=APART)
        )
    return lines


def _note(m: Measurement) -> str:
    """What it stands on, in lines of a picture's width."""
    words = [f"Assumed: {m.assumption}."] if m.assumption else []
    words += [f"{f.code}: {f.text}" for f in m.findings]
    return "\n".join(line for text in words for line in textwrap.wrap(text, WIDTH))


def several(constants: MeasuredConstants) -> Figure:
    """Each constant's routes, one above the other, each with its 95 % interval or its bounds."""
    panels = [_routes(name, ways, constants) for name, ways in constants.routes.items()]
    return Figure(
        title=f"{constants.name}: every constant by every route",
        panels=panels,
        shared_x=False,
        columns=2 if len(panels) > 1 else 1,
    )


def _routes(name: str, ways: Mapping[str, Measurement], constants: MeasuredConstants) -> Panel:
    rows = [*ways.items()]
    if name in constants.combined and sum(not m.secondary for m in ways.values()) > 1:
        rows.append(("together", constants.combined[name]))
    finite = [v for _, m in rows for v in (m.low, m.value, m.high) if v is not None]
    reach = 0.15 * (max(finite) - min(finite)) or 0.1 * abs(max(finite)) or 1.0
    room = [min(finite) - reach, max(finite) + reach]
    lines = []
    for k, (route, m) in enumerate(rows):
        lines += _route(m, k, room, 1 if route == "together" else 0)
    lines.append(Curve(x=room, y=[-1, -1], style="thin"))  # out of sight: the axis ends beyond the points
    unit = next(iter(ways.values())).unit
    return Panel(
        lines=lines,
        x_label=f"[{unit}]",
        y_label="",
        title=name,
        names=[f"{route}\n{_short(m)}" for route, m in rows],
    )


def _route(m: Measurement, row: int, room: list[float], color: int) -> list[Curve]:
    """One way's interval and value; its bounds, up to the end of the room, where it has no value."""
    low, high = (
        next(v for v in (end, m.value, beyond) if v is not None)
        for end, beyond in zip((m.low, m.high), room, strict=True)
    )
    ends = [m.value] if m.value is not None else [v for v in (m.low, m.high) if v is not None]
    style = "dashed" if m.value is None else "solid"
    return [
        Curve(x=[low, high], y=[row, row], style=style, color=color),
        Curve(x=ends, y=[row] * len(ends), style="points", color=color),
    ]


def _short(m: Measurement) -> str:
    if m.value is None:
        low, high = ("" if v is None else number(v, 3) for v in (m.low, m.high))
        return f"{low} to {high}" if low and high else f">= {low}" if low else f"<= {high}"
    if m.error is None or not math.isfinite(m.error):
        return number(m.value, 4)
    return f"{number(m.value, 4)} +- {number(m.error, 2)}"
