"""What can be drawn of an actuator, by name: the figure that was asked for, why something cannot be drawn,
and the numbers of a figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....analysis import curves
from ....errors import InvalidValue, UnknownName
from ....figure import Figure, Panel
from ....physics.steady import armature, no_load_speed
from . import actuator as draws
from .actuator import All, Shown as Shown


class Kind(NamedTuple):
    """One thing to draw."""

    panels: Callable[[All], list[Panel]]
    lacks: Callable[[Shown], str | None]
    """Why an actuator has none of it; None where it has."""
    words: str
    usual: bool = True
    """Whether an overview has it."""


def _voltage(one: Shown) -> str | None:
    if curves.full_voltage(one.actuator) is not None:
        return None
    return "nothing says at which voltage: give --set drive.voltage_limit=12 (in Python: drive.voltage_limit)"


def _turns(one: Shown) -> str | None:
    why = _voltage(one)
    if why is None and no_load_speed(one.actuator, one.voltage) == 0.0:
        return f"its friction holds it at {one.voltage:.3g} V"
    return why


def _friction(one: Shown) -> str | None:
    w = np.array([1e-3, 1.0])
    has = np.any(curves.friction_size(one.actuator, w, 0.0, 0.0)) or one.actuator.friction.loaded
    return None if has else "it has no friction"


def _bristle(one: Shown) -> str | None:
    friction = one.actuator.friction
    if friction.bristle:
        return None
    return f"its friction, {friction.name}, has no bristle that bends: dahl, lugre and maxwell-slip have"


def _thermal(one: Shown) -> str | None:
    return (
        None if one.actuator.motor.thermal is not None else "nothing is known of its heating (motor.thermal)"
    )


def _loop(one: Shown) -> str | None:
    drive = one.actuator.drive
    if drive.loop is None:
        return f"{drive.kind} follows no error: give --control position, where the part has it"
    return None if drive.loop.proportional > 0 else "its proportional gain is 0"


def _frequency(one: Shown) -> str | None:
    if armature(one.actuator) + one.inertia <= 0:
        return "nobody knows its rotor's inertia: give --inertia of a load, or --set motor.rotor_inertia="
    return _loop(one)


KINDS: dict[str, Kind] = {
    "torque-speed": Kind(draws.torque_speed, _voltage, "torque over speed, and what it holds for ever"),
    "envelope": Kind(draws.envelope, _voltage, "all four quadrants", usual=False),
    "power": Kind(draws.power, _turns, "power and efficiency over torque"),
    "no-load": Kind(draws.no_load, _voltage, "speed and current over voltage", usual=False),
    "friction": Kind(draws.friction, _friction, "friction over speed, and over load where it grows with it"),
    "hysteresis": Kind(draws.hysteresis, _bristle, "the loop of a bristle that bends to and fro"),
    "heating": Kind(draws.heating, _thermal, "temperature at constant currents"),
    "heating-power": Kind(draws.heating_power, _thermal, "temperature at constant power", usual=False),
    "drive": Kind(draws.drive, _loop, "voltage and torque over the error"),
    "frequency": Kind(draws.frequency, _frequency, "the loop's magnitude and phase"),
    "pipeline": Kind(draws.pipeline, lambda one: None, "a block diagram with its numbers", usual=False),
}
"""Everything that can be drawn, by name."""


def figure(shown: All, what: Sequence[str] = (), title: str = "") -> Figure:
    """Panels of what was asked for, or of all that an overview has and every actuator knows."""
    for name in what:
        if name not in KINDS:
            raise UnknownName("figure", name, KINDS)
    _motion(shown)
    kinds = {name: KINDS[name] for name in (what or KINDS) if what or KINDS[name].usual}
    groups: list[list[Panel]] = []
    for name, kind in kinds.items():
        why = _apart(name, shown)
        why = next((f"{one.name}: {text}" for one in shown if (text := kind.lacks(one)) is not None), why)
        if why is None:
            groups.append(kind.panels(shown))
        elif what:
            raise InvalidValue(f"{name} cannot be drawn of {why}")
    panels = _paired(groups)
    if not panels:
        raise InvalidValue(f"{shown[0].name} has nothing that an overview draws; expected --what pipeline")
    columns = 1 if sum(panel.diagram is None for panel in panels) < 2 else 2
    title = title or ", ".join(one.name for one in shown)
    return Figure(title=title, panels=panels, shared_x=False, columns=columns)


def _paired(groups: list[list[Panel]]) -> list[Panel]:
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


def _apart(name: str, shown: All) -> str | None:
    """Why actuators cannot share a panel: one regulates a position, another a velocity."""
    if name not in ("drive", "frequency"):
        return None
    loops = {loop.of: one.name for one in shown if (loop := one.actuator.drive.loop) is not None}
    said = " and ".join(f"{one} regulates a {of}" for of, one in loops.items())
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
