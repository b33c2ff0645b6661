"""What `.plot()` draws of each noun: the figure a person would ask for first; and what can be drawn of an
actuator, by name, why something cannot, and the numbers of a figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ....analysis import curves
from ....analysis.measure import MeasuredConstants
from ....analysis.measurement import Measurement
from ....datasheets.datasheet import Datasheet
from ....engine.simulate import Trajectory
from ....errors import InvalidValue, MissingValue, UnknownName
from ....figure import Curve, Figure, Panel
from ....kits.frc.characterization import Characterization
from ....kits.frc.figures import test_runs
from ....logs.log import UNITS, Log
from ....physics.actuator import Actuator
from ....physics.steady import armature, no_load_speed
from ....results.fit_result import Fit
from ....targets.approximate import positions
from ....targets.export import Export
from ....targets.reference_motions import reference_motions
from . import actuator_panels as draws, draw
from .actuator_panels import All
from .fit_figures import relative_errors
from .measurement_figures import measurement_figure, several
from .runs import motion
from .sheet import ShownActuator as ShownActuator, overview


class FigureDrawing(NamedTuple):
    """A figure that can be drawn, into a file too."""

    figure: Figure

    def draw(self, path: Path | str | None = None) -> Any:
        """As matplotlib has it; with a path, into that file too."""
        if path is not None:
            draw.save(self.figure, path)
        return draw.draw_figure(self.figure)


def drawing(noun: Any, *what: str, **more: float) -> FigureDrawing:
    """The drawing of a noun.

    Args:
        noun: Anything with `.plot()`.
        what: Of an actuator, names of figures; without any, an overview.
        more: Of an actuator, what else is known of it, such as the inertia of its load.

    Returns:
        A figure that can be drawn.
    """
    picture = next(FIGURES[cls] for cls in type(noun).__mro__ if cls in FIGURES)(noun, *what, **more)
    if picture is None:
        raise MissingValue(f"{noun!r} has nothing to draw yet")
    return FigureDrawing(picture)


def _trajectory(run: Trajectory) -> Figure:
    return motion(run, f"{run.actuator.drive.kind} on {run.bench.kind}")


def _log(log: Log) -> Figure:
    """Position with what was asked of it, then every other signal."""
    asked = [n for n in ("position_target", "position") if n in log]
    groups = [asked, *([n] for n in log.signals if n not in asked)] if asked else [[n] for n in log.signals]
    panels = [
        Panel(
            x_label="time [s]",
            y_label=f"{names[-1].replace('_', ' ')} [{UNITS[names[-1]]}]",
            lines=tuple(Curve(x=log.signals[n].time, y=log.signals[n].values, label=n) for n in names),
        )
        for names in groups
    ]
    return Figure(title=log.name, panels=tuple(panels), shared_x=True)


def _fit(fit: Fit) -> Figure | None:
    return relative_errors(fit, f"How well each number is known: {fit.overview().title}")


def _export(export: Export) -> Figure:
    """The reference motions, by the actuator and by what the target holds of it."""
    motions = reference_motions(export.actuator, amplitude=export.amplitude, load=export.load)
    names = ("actuator", f"as {export.target} holds it")
    both = [np.split(positions(a, motions), len(motions)) for a in (export.actuator, export.carried)]
    label = f"position [{'m' if export.actuator.motion == 'linear' else 'rad'}]"
    panels = []
    for k, m in enumerate(motions):
        lines = [
            Curve(x=m.time, y=rows[k], label=name if k == 0 else "", style=style)
            for name, style, rows in zip(names, ("solid", "dashed"), both, strict=True)
        ]
        panels.append(Panel(title=m.name, x_label="time [s]", y_label=label, lines=lines))
    return Figure(title=export.overview().title, panels=panels)


def _sheet(sheet: Datasheet) -> Figure:
    return overview(
        ShownActuator(sheet.name, sheet.actuator(), **ShownActuator.ratings(sheet)), sheet.voltage
    )


def _actuator(actuator: Actuator, *what: str, **more: float) -> Figure:
    name = f"{actuator.drive.kind}, {actuator.friction.kind}"
    return figure([ShownActuator(name, actuator, **more)], what)


FIGURES: dict[type, Callable[..., Figure | None]] = {
    Actuator: _actuator,
    Trajectory: _trajectory,
    Log: _log,
    Fit: _fit,
    Characterization: test_runs,
    Export: _export,
    Datasheet: _sheet,
    Measurement: measurement_figure,
    MeasuredConstants: several,
}


class PlotKind(NamedTuple):
    """One thing to draw."""

    panels: Callable[[All], list[Panel]]
    lacks: Callable[[ShownActuator], str | None]
    """Why an actuator has none of it; None where it has."""
    words: str
    usual: bool = True
    """Whether an overview has it."""


def _voltage(actuator: ShownActuator) -> str | None:
    if curves.full_voltage(actuator.actuator) is not None:
        return None
    return "nothing says at which voltage: give --set drive.voltage_limit=12 (in Python: drive.voltage_limit)"


def _turns(actuator: ShownActuator) -> str | None:
    why = _voltage(actuator)
    if why is None and no_load_speed(actuator.actuator, actuator.voltage) == 0.0:
        return f"its friction holds it at {actuator.voltage:.3g} V"
    return why


def _friction(actuator: ShownActuator) -> str | None:
    w = np.array([1e-3, 1.0])
    has = np.any(curves.friction_size(actuator.actuator, w, 0.0, 0.0)) or actuator.actuator.friction.loaded
    return None if has else "it has no friction"


def _bristle(actuator: ShownActuator) -> str | None:
    friction = actuator.actuator.friction
    if friction.bristle:
        return None
    return f"its friction, {friction.name}, has no bristle that bends: dahl, lugre and maxwell-slip have"


def _thermal(one: ShownActuator) -> str | None:
    return (
        None if one.actuator.motor.thermal is not None else "nothing is known of its heating (motor.thermal)"
    )


def _loop(actuator: ShownActuator) -> str | None:
    drive = actuator.actuator.drive
    if drive.loop is None:
        return f"{drive.kind} follows no error: give --control position, where the part has it"
    return None if drive.loop.proportional > 0 else "its proportional gain is 0"


def _frequency(actuator: ShownActuator) -> str | None:
    if armature(actuator.actuator) + actuator.inertia <= 0:
        return "nobody knows its rotor's inertia: give --inertia of a load, or --set motor.rotor_inertia="
    return _loop(actuator)


KINDS: dict[str, PlotKind] = {
    "torque-speed": PlotKind(draws.torque_speed, _voltage, "torque over speed, and what it holds for ever"),
    "envelope": PlotKind(draws.envelope, _voltage, "all four quadrants", usual=False),
    "power": PlotKind(draws.power, _turns, "power and efficiency over torque"),
    "no-load": PlotKind(draws.no_load, _voltage, "speed and current over voltage", usual=False),
    "friction": PlotKind(
        draws.friction, _friction, "friction over speed, and over load where it grows with it"
    ),
    "hysteresis": PlotKind(draws.hysteresis, _bristle, "the loop of a bristle that bends to and fro"),
    "heating": PlotKind(draws.heating, _thermal, "temperature at constant currents"),
    "heating-power": PlotKind(draws.heating_power, _thermal, "temperature at constant power", usual=False),
    "drive": PlotKind(draws.drive, _loop, "voltage and torque over the error"),
    "frequency": PlotKind(draws.frequency, _frequency, "the loop's magnitude and phase"),
    "pipeline": PlotKind(draws.pipeline, lambda one: None, "a block diagram with its numbers", usual=False),
}
"""Everything that can be drawn, by name."""


def figure(shown: All, what: Sequence[str] = (), title: str = "") -> Figure:
    """Panels of what was asked for, or of all that an overview has and every actuator knows.

    Args:
        shown: Actuators that share the panels.
        what: Names of `KINDS`; without any, an overview.
        title: Above the figure; without it, their names.

    Returns:
        Panels in two columns.
    """
    for name in what:
        if name not in KINDS:
            raise UnknownName("figure", name, KINDS)
    _motion(shown)
    kinds = {name: KINDS[name] for name in (what or KINDS) if what or KINDS[name].usual}
    groups: list[list[Panel]] = []
    for name, kind in kinds.items():
        why = _lacks(name, kind, shown)
        if why is None:
            groups.append(kind.panels(shown))
        elif what:
            raise InvalidValue(f"{name} cannot be drawn of {why}")
    panels = _pair_panels(groups)
    if not panels:
        raise InvalidValue(f"{shown[0].name} has nothing that an overview draws; expected --what pipeline")
    columns = 1 if sum(panel.diagram is None for panel in panels) < 2 else 2
    title = title or ", ".join(one.name for one in shown)
    return Figure(title=title, panels=panels, shared_x=False, columns=columns)


def _lacks(name: str, kind: PlotKind, shown: All) -> str | None:
    """Why something cannot be drawn of these actuators; None where it can."""
    for one in shown:
        why = kind.lacks(one)
        if why is not None:
            return f"{one.name}: {why}"
    return _why_apart(name, shown)


def _pair_panels(groups: list[list[Panel]]) -> list[Panel]:
    """Panels in two columns, those that belong together side by side: a single one is moved up to fill."""
    panels, waiting = [], groups
    while waiting:
        fits = (g for g in waiting if len(panels) % 2 == 0 or len(g) % 2 == 1)
        group = next(fits, waiting[0])
        waiting = [g for g in waiting if g is not group]
        panels += group
    return panels


def _motion(shown: All) -> None:
    motions = {one.actuator.motion: one.name for one in shown}
    if len(motions) > 1:
        said = " and ".join(f"{name} is {motion}" for motion, name in motions.items())
        raise InvalidValue(f"{said}: they share no axes; expected a figure for each")


def _why_apart(name: str, shown: All) -> str | None:
    """Why actuators cannot share a panel: one regulates a position, another a velocity."""
    if name not in ("drive", "frequency"):
        return None
    loops = {loop.of: one.name for one in shown if (loop := one.actuator.drive.loop) is not None}
    said = " and ".join(f"{loop} regulates a {of}" for of, loop in loops.items())
    return f"{said}: expected a figure for each" if len(loops) > 1 else None


def plain(figure: Figure) -> list[dict[str, Any]]:
    """The numbers of a figure, panel by panel."""
    return [_plain(panel) for panel in figure.panels]


def _plain(panel: Panel) -> dict[str, Any]:
    made: dict[str, Any] = {"title": panel.title}
    if panel.diagram is not None:
        blocks = [{"title": b.title, "lines": list(b.lines)} for b in panel.diagram.blocks]
        return made | {"blocks": blocks}
    made |= {"x": panel.x_label, "y": panel.y_label}
    made["curves"] = [
        {"name": line.label, "style": line.style, "x": _list(line.x), "y": _list(line.y)}
        for line in panel.lines
    ]
    made["regions"] = [
        {"name": r.label, "x": _list(r.x), "low": _list(r.low), "high": _list(r.high)} for r in panel.regions
    ]
    made["marks"] = [{"text": m.text, "x": m.x, "y": m.y} for m in panel.marks]
    return made | {"note": panel.note}


def _list(values: Any) -> list[float]:
    return np.asarray(values, float).tolist()


def table(figure: Figure) -> str:
    """The curves of a figure as CSV, a point a row: panel, curve, style, x, y, and what the axes say."""
    rows = [
        (panel["title"], curve["name"], curve["style"], panel["x"], panel["y"], repr(x), repr(y))
        for panel in plain(figure)
        for curve in panel.get("curves", ())
        for x, y in zip(curve["x"], curve["y"], strict=True)
    ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("panel", "curve", "style", "x_label", "y_label", "x", "y"))
    writer.writerows(rows)
    return text.getvalue()
