"""Figures of a fit: recorded against predicted with what is left, the friction it found,
and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....analysis.curves import Reversals, friction_size, reach, reversals
from ....figure import Band, Bars, Curve, Figure, Grid, Panel, Region, hold_curve, over_time
from ....identify.predict import Prediction, run
from ....logs.log import Log
from ....physics.actuator import Actuator
from ....physics.steady import ideal_speed
from ....results.fit_result import Fit, LadderRung

TOLD = {"data": 0, "both": 4, "prior": 1}
"""Colour of a parameter by what tells it."""


def measured_and_predicted(one: Prediction, title: str) -> Figure:
    """What was asked, recorded and predicted, the error below, and the current where it was recorded."""
    log, rotary = one.log, one.actuator.motion == "rotary"
    unit, t = "rad" if rotary else "m", log.time
    lines = [
        Curve(x=t, y=log["position"], label="recorded", color=0),
        Curve(x=t, y=one.position, label="predicted", style="dashed", color=1),
    ]
    if "position_target" in log:
        asked, values = hold_curve(t, log["position_target"])
        lines.insert(0, Curve(x=asked, y=values, label="target", style="thin"))
    left = Curve(x=t, y=1e3 * (one.position - log["position"]), color=3)
    half, around, about = one.half(), [], []
    if half is not None:
        sides = {"low": one.position - half, "high": one.position + half}
        around = [Region(x=t, **sides, label="95 % band", color=1)]
        about = [Region(x=t, low=-1e3 * half, high=1e3 * half, color=1)]
    panels = [
        replace(over_time(f"position [{unit}]", *lines), legend_above=True, regions=around),
        replace(over_time("error [mrad]" if rotary else "error [mm]", left), regions=about),
    ]
    if "current" in log:
        recorded = Curve(x=t, y=log["current"], label="recorded", color=0)
        predicted = Curve(x=t, y=one.signals["current"], label="predicted", style="dashed", color=1)
        panels.append(over_time("current [A]", recorded, predicted))
    return Figure(title=title, panels=panels)


SHOWN = 6
"""Logs that one picture of a fit shows at most: the worst of those held out, then of the others."""


def predictions(fit: Fit, logs: Sequence[Log], title: str) -> Figure:
    """What a fit makes of its logs: one in full, several a panel each.

    Args:
        fit: Whose predictions.
        logs: The recordings.
        title: Above the figure.

    Returns:
        One log in full, or a panel for each of several.
    """
    runs = sorted((run(fit, log) for log in logs), key=lambda one: (one.role != "held out", -one.error))
    if len(runs) == 1:
        return measured_and_predicted(runs[0], f"{title}: {_off(runs[0])}")
    panels = [replace(measured_and_predicted(run, "").panels[0], title=_off(run)) for run in runs[:SHOWN]]
    left = len(runs) - len(panels)
    note = f"Further logs, less far off: {left}." if left else ""
    return Figure(title=title, panels=panels, shared_x=False, note=note)


def _off(prediction: Prediction) -> str:
    unit = "mrad" if prediction.actuator.motion == "rotary" else "mm"
    how = " (held out)" if prediction.role == "held out" else ""
    return f"{prediction.log.name}{how}, off by {1e3 * prediction.error:.3g} {unit} on average"


def friction_curves(
    actuator: Actuator, truth: Actuator | None, loads: list[float], speed: float, title: str
) -> Figure:
    """Friction torque over speed while the motor holds a load, as found and, where it is known, in truth.

    Args:
        actuator: As found.
        truth: As it is, where that is known.
        loads: Carried at the output [N m].
        speed: Greatest at the output [rad/s].
        title: Above the figure.

    Returns:
        One panel.
    """
    w = np.linspace(-speed, speed, 801)
    lines = []
    for k, load in enumerate(loads):
        y = friction_size(actuator, w, load, -load)
        lines.append(Curve(x=w, y=y, label=f"found, {load:g} N m", color=k))
        if truth is not None:
            y, label = friction_size(truth, w, load, -load), f"truth, {load:g} N m" if k == 0 else ""
            lines.append(Curve(x=w, y=y, label=label, style="dashed", color=k))
    return Figure(title=title, panels=[Panel(lines=lines, x_label="speed [rad/s]", y_label="friction [N m]")])


def short(path: str) -> str:
    """A parameter's last word, enough beside a full table."""
    return path.rpartition(".")[2].replace("_", " ")


def relative_errors(fit: Fit, title: str) -> Figure | None:
    """How well each parameter is known, in per cent of its value."""
    known = [(path, e) for path in fit.parameters if (e := fit.relative_error(path))]
    if not known:
        return None
    bars = Bars(
        names=[short(path) for path, _ in known],
        values=[100 * e for _, e in known],
        colors=[TOLD[fit.parameters[path].told_by] for path, _ in known],
    )
    panel = Panel(bars=bars, x_label="standard error [% of the value]", y_label="", x_log=True)
    return Figure(title=title, panels=[panel])


def correlations(fit: Fit) -> Figure | None:
    """Which parameters the logs tell only together."""
    if len(fit.parameters) < 2:
        return None
    grid = Grid(names=[short(path) for path in fit.parameters], values=np.asarray(fit.correlation))
    return Figure(title="Correlation of the parameters", panels=[Panel(grid=grid, x_label="", y_label="")])


def ladder_bars(rungs: Sequence[LadderRung], unit: str) -> Figure | None:
    """Held-out error of every rung in mrad or mm, the chosen one in another colour; None where none was
    judged."""
    judged = [r for r in rungs if r.held_out is not None]
    if not judged:
        return None
    bars = Bars(
        names=[r.friction for r in judged],
        values=[1e3 * (r.held_out or 0.0) for r in judged],
        colors=[2 if r.chosen else 0 for r in judged],
        errors=[1e3 * r.standard_error for r in judged],
    )
    panel = Panel(bars=bars, x_label=f"held-out error [{unit}]", y_label="")
    return Figure(title="Error on held-out logs", panels=[panel])


N_DRAWS = 300
STROKE = 0.1
"""Amplitude of the reversals drawn for friction without a bristle [rad];
a hundredth of it, in metres, on a linear axis."""


def units(actuator: Actuator) -> tuple[str, str, str]:
    """(position, velocity, torque) in words for axes."""
    return ("rad", "rad/s", "N m") if actuator.motion == "rotary" else ("m", "m/s", "N")


def usual_speed(actuator: Actuator) -> float:
    """A speed up to which friction is worth drawing where no log says so."""
    return 0.3 * ideal_speed(actuator, actuator.drive.supply or 12.0)


def friction_band(fit: Fit, load: float, seen: float | None) -> Figure:
    """Friction over speed without and with a load carried, with the 95 % band.

    Args:
        fit: Whose friction, with its uncertainty.
        load: Carried at the output [N m or N].
        seen: The fastest that the logs went at the output [rad/s or m/s]; faster is shaded.

    Returns:
        One panel.
    """
    _, speed, torque = units(fit.actuator)
    top = 1.25 * seen if seen else usual_speed(fit.actuator)
    w = np.linspace(-top, top, 402)  # an even number: no point at rest, where friction is a range
    drawn = fit.draws(N_DRAWS)
    lines, regions = [], []
    for k, x in enumerate(_told_apart(fit.actuator, load)):
        middle = friction_size(fit.actuator, w, x, -x)
        low, high = np.percentile([friction_size(a, w, x, -x) for a in drawn], [2.5, 97.5], axis=0)
        text = carrying(x, torque)
        lines.append(Curve(x=w, y=middle, label=text, color=k))
        regions.append(Region(x=w, low=low, high=high, label=f"95 % band, {text}", color=k))
    bands = [Band(low=-top, high=-seen), Band(low=seen, high=top)] if seen else []
    panel = Panel(
        lines=lines,
        regions=regions,
        bands=bands,
        x_label=f"speed at the output [{speed}]",
        y_label=f"friction [{torque}]",
    )
    return Figure(title="Friction", panels=[panel])


def hysteresis(actuator: Actuator, load: float) -> Figure | None:
    """Friction along slow reversals with a load carried at the output [N m or N], over position and over
    velocity; None where no dry friction makes a loop."""
    if not actuator.friction.dry:
        return None
    position, speed, torque = units(actuator)
    loops = bristle_reversals(actuator) if actuator.friction.bristle else _sliding_loops(actuator, load)
    over_q = [loop_curve(label, loop, k) for k, (label, loop) in enumerate(loops)]
    over_w = [
        Curve(x=loop.velocity, y=loop.torque, label=label, color=k) for k, (label, loop) in enumerate(loops)
    ]
    y_label = f"friction [{torque}]"
    panels = [
        Panel(lines=over_q, x_label=f"position [m{position}]", y_label=y_label, title="Over position"),
        Panel(lines=over_w, x_label=f"velocity [{speed}]", y_label=y_label, title="Over velocity"),
    ]
    return Figure(title="Hysteresis", panels=panels, shared_x=False, columns=2)


def loop_curve(label: str, loop: Reversals, color: int) -> Curve:
    """A loop over milliradians, with what a cycle loses.

    Args:
        label: What the reversals are.
        loop: Along the reversals.
        color: Place in the palette.

    Returns:
        The curve, its label with the energy of a cycle.
    """
    label = f"{label}: {_joules(loop.lost)} a cycle"
    return Curve(x=1e3 * loop.position, y=loop.torque, label=label, color=color)


def _joules(energy: float) -> str:
    for size, unit in ((1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ")):
        if energy >= size:
            return f"{energy / size:.3g} {unit}"
    return f"{energy:.2g} J"


def _sliding_loops(actuator: Actuator, load: float) -> list[tuple[str, Reversals]]:
    """A sine of position, once without and once with a load carried."""
    amplitude = STROKE if actuator.motion == "rotary" else 0.01 * STROKE
    fades_at = actuator.friction.fades_at
    top = usual_speed(actuator) if fades_at is None else 3.0 * fades_at
    phase = (np.arange(801) + 0.5) * 2 * np.pi / 800  # never at rest exactly
    q, w = -amplitude * np.cos(phase), top * np.sin(phase)
    torque = units(actuator)[2]
    return [
        (carrying(x, torque), Reversals(q, w, friction_size(actuator, w, x, -x)))
        for x in _told_apart(actuator, load)
    ]


def carrying(load: float, unit: str) -> str:
    """A load in words."""
    return f"carrying {load:.3g} {unit}" if load else "no load"


def _told_apart(actuator: Actuator, load: float) -> list[float]:
    """No load, and this one where the friction sees it."""
    w = np.array([usual_speed(actuator)])
    bare, loaded = (friction_size(actuator, w, x, -x) for x in (0.0, load))
    return [0.0] if np.allclose(loaded, bare, rtol=1e-9) else [0.0, load]


def bristle_reversals(actuator: Actuator) -> list[tuple[str, Reversals]]:
    """Slow reversals, by what they do: one that breaks away, one so small that it never does."""
    friction = actuator.friction
    top = 0.01 * usual_speed(actuator) if friction.fades_at is None else 0.1 * friction.fades_at
    sizes = (("breaks away", 6.0), ("presliding", 0.6))
    return [(label, reversals(friction, size * reach(friction), top)) for label, size in sizes]
