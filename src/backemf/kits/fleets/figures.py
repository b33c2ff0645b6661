"""Figures of a fleet: how each number is distributed over the units, what goes together, how units change."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...figure import Curve, Figure, Grid, Panel
from ...results.population import Population
from .ageing import Change
from .estimates import Estimates

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
