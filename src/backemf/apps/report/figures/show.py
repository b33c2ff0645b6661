"""What `.plot()` draws of each noun: the figure a person would ask for first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ....analysis.readings.constants import Constants
from ....analysis.readings.measured import Measured
from ....datasheets.datasheet import Datasheet
from ....engine.simulate import Trajectory
from ....errors import MissingValue
from ....figure import Curve, Figure, Panel
from ....kits.frc.characterization import Characterization
from ....kits.frc.figures import test_runs
from ....logs.log import UNITS, Log
from ....physics.actuator import Actuator
from ....results.fit import Fit
from ....targets.approximate import positions
from ....targets.export import Export
from ....targets.motions import reference_motions
from . import draw, plots
from .fit import relative_errors
from .measure import measured, several
from .runs import motion
from .sheet import overview


class Drawn(NamedTuple):
    """A figure that can be drawn, into a file too."""

    figure: Figure

    def draw(self, path: Path | str | None = None) -> Any:
        if path is not None:
            draw.save(self.figure, path)
        return draw.drawn(self.figure)


def drawing(noun: Any, *what: str, **more: Any) -> Drawn:
    """The drawing of a noun; of an actuator what is named, or an overview."""
    if isinstance(noun, Actuator):
        name = more.pop("name", "") or f"{noun.drive.kind}, {noun.friction.kind}"
        return Drawn(plots.figure([plots.Shown(name, noun, **more)], what))
    figure = next(FIGURES[cls] for cls in type(noun).__mro__ if cls in FIGURES)(noun)
    if figure is None:
        raise MissingValue(f"{noun!r} has nothing to draw yet")
    return Drawn(figure)


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
    return overview(sheet.actuator(), sheet.voltage, sheet.name, *plots.Shown.rated(sheet).values())


FIGURES: dict[type, Callable[[Any], Figure | None]] = {
    Trajectory: _trajectory,
    Log: _log,
    Fit: _fit,
    Characterization: test_runs,
    Export: _export,
    Datasheet: _sheet,
    Measured: measured,
    Constants: several,
}
