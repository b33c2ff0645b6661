"""Figures of a fit: recorded against predicted with what is left, and the friction it found."""

from __future__ import annotations

import numpy as np

from ..data.log import Log
from ..identify.frictions import friction_size
from ..identify.predict import predict
from ..identify.result import Fit
from ..model.actuator import Actuator
from .figures import Figure, Line, Panel


def prediction(fit: Fit, log: Log, title: str) -> Figure:
    """One log: what was asked, recorded and predicted, and the error below."""
    said = predict(fit, log)
    scale = 180 / np.pi if fit.actuator.motion == "rotary" else 1e3
    unit = "deg" if fit.actuator.motion == "rotary" else "mm"
    lines = [Line(x=log.time, y=scale * log["position"], label="recorded"), Line(x=log.time, y=scale * said, label="predicted", style="dashed")]
    if "position_target" in log:
        lines.insert(0, Line(x=log.time, y=scale * log["position_target"], label="target", style="thin"))
    left = 1e3 * (said - log["position"])
    return Figure(
        title=title,
        panels=[
            Panel(lines=lines, x_label="time [s]", y_label=f"position [{unit}]"),
            Panel(lines=[Line(x=log.time, y=left, color=3)], x_label="time [s]", y_label="error [mrad]" if unit == "deg" else "error [mm]"),
        ],
    )


def friction_curves(found: Actuator, truth: Actuator | None, loads: list[float], speed: float, title: str) -> Figure:
    """Friction torque over speed while the motor holds a load, as found and, where it is known, in truth."""
    w = np.linspace(-speed, speed, 801)
    lines = []
    for k, load in enumerate(loads):
        lines.append(Line(x=w, y=friction_size(found, w, load, -load), label=f"found, {load:g} N m", color=k))
        if truth is not None:
            lines.append(Line(x=w, y=friction_size(truth, w, load, -load), label=f"truth, {load:g} N m" if k == 0 else "", style="dashed", color=k))
    return Figure(title=title, panels=[Panel(lines=lines, x_label="speed [rad/s]", y_label="friction [N m]")])
