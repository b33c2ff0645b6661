"""Figures of a plan: the motions as the model runs them, and the errors to expect of their logs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ....figure import Band, Bars, Curve, Figure, Panel
from ....planning.plan import Plan
from .fit import short

PAUSE = 0.4
"""Between two motions in the drawing [s]: the recorder ramps to the start of the next."""
MOST = 150.0
"""Where the bars of errors end [%]."""


def planned(plan: Plan) -> Figure:
    """Positions and currents of all motions, one after the other; below, the errors to expect."""
    t, target, position, current, bands = [], [], [], [], []
    start = 0.0
    for k, one in enumerate(plan.foreseen):
        t += [*(start + one.time), np.nan]
        target += [*np.where(one.enabled > 0.5, one.target, np.nan), np.nan]
        position += [*one.position, np.nan]
        current += [*one.current, np.nan]
        end = start + float(one.time[-1])
        bands.append(Band(low=start, high=end, label=f"{k + 1}"))
        start = end + PAUSE
    plain = [replace(one, label="") for one in bands]  # the legend stands there
    played = ", ".join(one.name for one in plan.foreseen)
    curves = [
        Curve(x=t, y=np.degrees(target), label="asked", style="thin"),
        Curve(x=t, y=np.degrees(position), label="expected"),
    ]
    panels = [
        Panel(lines=curves, x_label="time [s]", y_label="position [deg]", bands=plain, legend_above=True),
        Panel(
            lines=[Curve(x=t, y=current, color=2)],
            x_label="time [s]",
            y_label="current [A]",
            bands=bands,
            note=played,
        ),
        _errors(plan),
    ]
    title = f"{len(plan.foreseen)} motions, {plan.seconds:.1f} s, and what their logs will tell"
    return Figure(title=title, panels=panels, shared_x=False)


def _errors(plan: Plan) -> Panel:
    """Bars of the expected errors; those that stay untold in another colour."""
    names = [short(p.path) for p in plan.parameters]
    values = [min(100.0 * p.relative_error, MOST) for p in plan.parameters]
    colors = [0 if p.determined else 1 for p in plan.parameters]
    return Panel(
        x_label=f"error to expect [% of the value], at most {MOST:g} shown; the second colour stays untold",
        y_label="",
        x_log=True,
        bars=Bars(names=names, values=values, colors=colors),
    )
