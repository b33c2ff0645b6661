"""The report of a fleet, as data: what units share, which do not belong, and how they change; and its
figures: how each number is distributed over the units, what goes together, how units change."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ... import __version__
from ...figure import (
    Block,
    Curve,
    Drawing,
    Figure,
    Findings,
    Grid,
    Page,
    Panel,
    Paragraph,
    Section,
    Table,
    missing,
    note,
)
from ...findings import Finding
from ...results.population import Population
from ...tables import interval, number
from .estimates import Estimates
from .fleet import Fleet
from .folder import FleetStatus, failures
from .summary import Change, FleetSummary, summarize

MOST = 20
"""Units that a table lists."""


def fleet_page(fleet: Fleet, name: str = "") -> Page:
    """The whole page.

    Args:
        fleet: with its units fitted.
        name: of the line, in the title.
    """
    summary, status, asked = summarize(fleet, name), fleet.status, fleet.asked
    title = f"{summary.population.name}: {status.n_units} units"
    today = datetime.date.today().isoformat()
    friction = summary.population.actuator.friction.name
    origin = (
        f"Written by backemf {__version__} on {today}. Units by {asked.by}, started from"
        f" {Path(asked.start).name or 'an actuator'}, friction {friction}; {status.cpu_s:.3g} s of CPU."
    )
    lost = list(failures(fleet.folder))
    parts = [
        _summary(summary, status),
        _shared_section(summary.population),
        _distributions(summary),
        _pairs(summary),
        _worst(summary, lost),
        _ageing(summary),
    ]
    return Page(title=title, note=origin, sections=parts)


def _summary(summary: FleetSummary, status: FleetStatus) -> Section:
    n, odd, moved = status.fitted, len(summary.odd), len({change.unit for change in summary.changes})
    text = f"{n} of {status.n_units} units fitted, {status.failed} failed, {status.left} left."
    belong = (
        "Every unit belongs to the others"
        if not odd
        else f"{odd} unit{'s do' if odd > 1 else ' does'} not belong"
    )
    change = (
        "none changes" if not moved else f"{moved} change{'s' if moved == 1 else ''} with time or temperature"
    )
    lead = f"{text} {belong}; {change}."
    blocks: list[Block] = [Paragraph(text=lead, kind="lead")]
    if summary.population.findings:
        blocks.append(Findings(findings=summary.population.findings))
    return Section(key="summary", title="Summary", blocks=blocks)


def _shared_section(shared: Population) -> Section:
    rows = []
    for path, p in shared.parameters.items():
        k = 100 * p.as_share
        spread = number(p.spread, 2) if p.signed else f"{k * p.spread:.2g} %"
        ends = interval(p.spread_low, p.spread_high)
        ends = ends if p.signed else f"{interval(k * p.spread_low, k * p.spread_high)} %"
        middle = f"{number(p.value)} ± {number(p.error, 2)}"
        rows.append((path, middle, spread, ends, interval(*shared.range(path)), p.unit))
    head = ("parameter", "middle", "spread", "95 % interval", "95 % of units", "unit")
    text = (
        "The middle unit, and the standard deviation from unit to unit with the errors of the fits taken out."
    )
    blocks: list[Block] = [Paragraph(text=text), Table(head=head, rows=rows)]
    if shared.left_out:
        blocks.append(note(f"Too few units' logs tell: {', '.join(shared.left_out)}."))
    return Section(key="shared", title="What the units share", blocks=blocks)


def _distributions(summary: FleetSummary) -> Section:
    figure = distributions(summary.first, summary.population)
    text = "Columns are units as they were fitted. Dashed: how far units really differ."
    return Section(key="distributions", title="Distributions", blocks=[Drawing(figure=figure, text=text)])


def _pairs(summary: FleetSummary) -> Section:
    shared = summary.population
    if len(shared.parameters) < 2 or not (shared.correlation_error > 0).any():
        why = "Too few units to tell what goes together; fit more than there are parameters."
        return Section(key="pairs", title="What goes together", blocks=[missing(why)])
    clouds = pairs(summary.first, shared, [one.unit for one in summary.odd])
    blocks = [
        Drawing(figure=together(shared), text="Correlations from unit to unit, fits' errors taken out."),
        Drawing(figure=clouds, text="The pairs that most surely go together, units as they were fitted."),
    ]
    return Section(key="pairs", title="What goes together", blocks=blocks)


def _worst(summary: FleetSummary, lost: Sequence[Finding]) -> Section:
    blocks: list[Block] = []
    if summary.odd:
        rows = [(o.unit, o.path, f"{o.spreads:+.1f}", f"{o.t:+.1f}", o.meaning) for o in summary.odd[:MOST]]
        head = ("unit", "what is off", "spreads", "standard errors", "it may mean")
        more = f"The first {MOST} of {len(summary.odd)}." if len(summary.odd) > MOST else ""
        blocks.append(Table(head=head, rows=rows, caption=more))
    else:
        blocks.append(Paragraph(text="Every unit belongs to the others."))
    if lost:
        blocks += [Paragraph(text="Failed", kind="heading"), Findings(findings=lost[:MOST])]
        if len(lost) > MOST:
            blocks.append(note(f"... and {len(lost) - MOST} more."))
    return Section(key="worst", title="Units that do not belong", blocks=blocks)


def _ageing(summary: FleetSummary) -> Section:
    if not any(summary.seen.sessions):
        why = "Each unit was recorded in one session. Name several: --by '{unit}/{session}/*.json'."
        return Section(key="ageing", title="Drift and jumps", blocks=[missing(why)])
    if not summary.changes:
        text = "No unit changes by more than its sessions differ anyway."
        return Section(key="ageing", title="Drift and jumps", blocks=[Paragraph(text=text)])
    figure = ageing(summary.seen, summary.changes)
    said = Findings(findings=[change.finding for change in summary.changes[:MOST]])
    return Section(key="ageing", title="Drift and jumps", blocks=[Drawing(figure=figure), said])


BINS = (6, 40)
"""Fewest and most columns of a histogram."""
MOST_POINTS = 1500
"""Units of a cloud that are drawn."""
DAY = 86400.0


def label(path: str, unit: str) -> str:
    return f"{path} [{unit}]" if unit not in ("", "1") else path


def distributions(seen: Estimates, shared: Population) -> Figure:
    """A histogram of each number, and what the population says of it: units differ by the curve, and what is
    wider is the error of fits."""
    values = seen.values
    panels = []
    for k, path in enumerate(seen.paths):
        some = values[seen.told[:, k], k]
        n = int(np.clip(math.sqrt(len(some)), *BINS))
        count, edges = np.histogram(some, bins=n)
        x, y = np.repeat(edges, 2), np.concatenate([[0], np.repeat(count, 2), [0]])
        lines = [Curve(x=x, y=y, label="units", color=0)]
        grid = np.linspace(edges[0], edges[-1], 200)
        density = _density(shared, path, grid)
        if density.max() > 0:
            scale = len(some) * (edges[1] - edges[0])
            lines.append(Curve(x=grid, y=scale * density, label="as units differ", style="dashed", color=1))
        panels.append(Panel(lines=lines, x_label=label(path, seen.unit[k]), y_label="units", title=path))
    return Figure(title="How the units differ", panels=panels, shared_x=False, columns=2)


def _density(shared: Population, path: str, grid: np.ndarray) -> np.ndarray:
    """Of the population, by the number itself."""
    p = shared.parameters[path]
    base = shared.parameters[p.above].value if p.above else 0.0
    known = np.array([v - base > 0 or p.signed for v in grid])
    x = np.array([p.scale.inward(v - base) if ok else np.nan for v, ok in zip(grid, known, strict=True)])
    slope = np.array([p.scale.slope(v - base) for v in grid])
    spread = max(p.spread, 1e-12)
    density = np.exp(-0.5 * ((x - p.x) / spread) ** 2) / (spread * math.sqrt(2 * math.pi) * slope)
    # a spread far below a column's width would be a needle that hides the columns
    return np.nan_to_num(density) if spread * p.slope > 0.2 * (grid[-1] - grid[0]) / 12 else 0.0 * grid


def together(shared: Population) -> Figure:
    """Correlations from unit to unit."""
    grid = Grid(names=list(shared.parameters), values=shared.correlation)
    return Figure(title="What goes together", panels=[Panel(x_label="", y_label="", grid=grid)])


def pairs(seen: Estimates, shared: Population, odd: Sequence[str], most: int = 4) -> Figure:
    """Clouds of the pairs that most surely go together; units that do not belong are crosses."""
    paths = list(shared.parameters)
    sure = np.abs(shared.correlation) / np.maximum(shared.correlation_error, 1e-12)
    strength = np.tril(np.where(shared.correlation_error > 0, sure, 0.0), -1)
    order = [divmod(int(k), len(paths)) for k in np.argsort(-strength, axis=None)[:most]]
    values, apart = seen.values, np.array([unit in set(odd) for unit in seen.units])
    step = max(1, len(values) // MOST_POINTS)
    panels = []
    for i, j in order:
        usual = values[~apart][::step]
        lines = [Curve(x=usual[:, j], y=usual[:, i], label="units", style="dots", color=0)]
        if apart.any():
            odd_ones = values[apart]
            lines.append(
                Curve(x=odd_ones[:, j], y=odd_ones[:, i], label="do not belong", style="crosses", color=1)
            )
        r, e = shared.correlation[i, j], shared.correlation_error[i, j]
        units = (label(paths[j], seen.unit[j]), label(paths[i], seen.unit[i]))
        title = f"correlation {r:+.2f} ± {e:.2f}"
        panels.append(Panel(lines=lines, x_label=units[0], y_label=units[1], title=title))
    return Figure(title="Pairs", panels=panels, shared_x=False, columns=2)


def ageing(seen: Estimates, found: Sequence[Change], most: int = 6) -> Figure:
    """Numbers of the units that change, session by session."""
    panels = []
    values, names = seen.values, np.array(seen.units)
    for one in found[:most]:
        k = seen.paths.index(one.path)
        at = np.flatnonzero((names == one.unit) & seen.told[:, k])
        at = at[np.argsort(seen.time[at])]
        warm = one.kind == "temperature"
        x = seen.temperature[at] if warm else (seen.time[at] - np.nanmin(seen.time[at])) / DAY
        order = np.argsort(x)
        lines = [
            Curve(x=x[order], y=values[at, k][order], style="thin"),
            Curve(x=x, y=values[at, k], style="points", color=0),
        ]
        panels.append(
            Panel(
                lines=lines,
                x_label="temperature [degC]" if warm else "days since the first session",
                y_label=label(one.path, seen.unit[k]),
                title=f"{one.unit}, {one.path}",
            )
        )
    return Figure(title="Units that change", panels=panels, shared_x=False, columns=2)
