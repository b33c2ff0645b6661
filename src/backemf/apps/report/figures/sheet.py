"""Panels of an actuator as a motion engineer draws it:
torque-speed lines, envelope, power, efficiency, heating."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....analysis.curves import friction_size, full_voltage, heating, operation, slowest, time_to
from ....datasheets.datasheet import Datasheet
from ....figure import Curve, Figure, Panel, Region
from ....physics.actuator import Actuator
from ....physics.quantity import present
from ....physics.steady import continuous_current, ideal_speed, no_load_speed, steady_current

RPM = 60.0 / (2.0 * np.pi)
HOTTEST = 400.0
"""Where a curve of temperature ends [degC]."""


class ShownActuator(NamedTuple):
    """An actuator to draw, and what is known of it beside its numbers."""

    name: str
    actuator: Actuator
    hottest: float | None = None
    """Greatest winding temperature [degC]."""
    nominal_current: float | None = None
    """Continuous current, as printed [A]."""
    inertia: float = 0.0
    """Of a load at the output [kg m^2]."""

    @staticmethod
    def ratings(sheet: Datasheet) -> dict[str, Any]:
        """What a sheet prints of its greatest winding temperature and continuous current."""
        most, rated = sheet.get("max_winding_temperature"), sheet.get("nominal_current")
        return {
            "hottest": None if most is None else most.value,
            "nominal_current": None if rated is None or rated.kind == "peak" else rated.value,
        }

    @property
    def voltage(self) -> float:
        return present(full_voltage(self.actuator))

    @property
    def position(self) -> tuple[float, str]:
        """(factor, unit) of a position on an axis."""
        return (math.degrees(1.0), "deg") if self.actuator.motion == "rotary" else (1e3, "mm")


def _speeds(actuator: Actuator, v: float) -> np.ndarray:
    """Output speeds from standstill to a little beyond no load, in rad/s."""
    return np.linspace(0.0, 1.02 * ideal_speed(actuator, v), 300)


def torque_speed(actuator: Actuator, voltage: float) -> Panel:
    """Torque over speed at the full voltage [V] and below (MuJoCo's DC-motor note, figures 1 and 3), first
    quadrant."""
    lines, (_, label) = [], speed_axis(actuator)
    for k, share in enumerate((1.0, 0.75, 0.5, 0.25)):
        v = share * voltage
        lines += torque_curves(actuator, v, f"{v:.3g} V", k)
    title = "solid: at the output; dashed: before friction and gears"
    return Panel(lines=lines, x_label=label, y_label=torque_label(actuator), title=title)


def torque_curves(actuator: Actuator, voltage: float, label: str, color: int) -> list[Curve]:
    """Torque over speed before losses (dashed) and after them, each down to nothing.

    Args:
        actuator: What is drawn.
        voltage: Over the winding [V].
        label: In the legend.
        color: Place in the palette.

    Returns:
        Curves over speed.
    """
    scale, _ = speed_axis(actuator)
    ends = ideal_speed(actuator, voltage), no_load_speed(actuator, voltage)
    ideal, real = (operation(actuator, voltage, np.linspace(0.0, end, 300)) for end in ends)
    before = Curve(x=scale * ideal.speed, y=np.maximum(ideal.electrical, 0.0), style="dashed", color=color)
    after = np.maximum(real.torque, 0.0)
    return [before, Curve(x=scale * real.speed, y=after, label=label, color=color)]


def speed_axis(actuator: Actuator, rpm: bool = True) -> tuple[float, str]:
    """(factor, label) of a speed at the output: rpm, or rad/s; m/s on a linear axis."""
    turning = (RPM, "rpm") if rpm else (1.0, "rad/s")
    scale, unit = turning if actuator.motion == "rotary" else (1.0, "m/s")
    return scale, f"speed at the output [{unit}]"


def torque_label(actuator: Actuator) -> str:
    """What stands beside an axis of torque or force."""
    return "torque at the output [N m]" if actuator.motion == "rotary" else "force at the output [N]"


def envelope(
    actuator: Actuator, voltage: float, points: Sequence[Curve] = (), reach: float = 1.5, rpm: bool = True
) -> Panel:
    """All four quadrants between +V and -V with the current limit and the losses (MuJoCo's DC-motor note,
    figures 2 and 3).

    Args:
        actuator: What is drawn.
        voltage: Over the winding [V].
        points: Where recordings were, in rad/s (or m/s) and torque.
        reach: Where the axis of speed ends, in ideal speeds.
        rpm: Speed in rpm, not rad/s.

    Returns:
        The panel.
    """
    top = ideal_speed(actuator, voltage)
    scale, label = speed_axis(actuator, rpm)
    w = np.linspace(-reach * top, reach * top, 601)
    w = w[w != 0]
    back, ahead = (operation(actuator, v, w) for v in (-voltage, voltage))
    # With points the figure is about them: braking beyond what they need may leave the picture.
    stall = float(operation(actuator, voltage, 0.0).electrical)
    most = max(stall, *(float(np.max(np.abs(line.y))) for line in points), 0.0)
    drag, x = friction_size(actuator, w, 0.0, 0.0), scale * w
    return Panel(
        lines=[
            Curve(x=x, y=ahead.electrical, style="dashed", color=0, label="electrical, full voltage forward"),
            Curve(x=x, y=back.electrical, style="dashed", color=1, label="electrical, full voltage backward"),
            Curve(x=x, y=drag, style="thin", label="friction and drag"),
            *(dataclasses.replace(line, x=scale * np.asarray(line.x)) for line in points),
        ],
        regions=[Region(x=x, low=back.torque, high=ahead.torque, label="reachable at the output")],
        x_label=label,
        y_label=torque_label(actuator),
        y_range=None if not points else (-1.3 * most, 1.3 * most),
    )


def power(actuator: Actuator, voltage: float) -> list[Panel]:
    """Mechanical power and efficiency over torque at a voltage [V], and the current drawn."""
    at = operation(actuator, voltage, _speeds(actuator, voltage))
    drives = at.torque >= 0
    tau = at.torque[drives]
    powers = [
        Curve(x=tau, y=at.given[drives], label="mechanical power"),
        Curve(x=tau, y=at.taken[drives], label="electrical power", style="dashed"),
    ]
    return [
        Panel(lines=lines, x_label=torque_label(actuator), y_label=label)
        for lines, label in (
            (powers, "power [W]"),
            ([Curve(x=tau, y=100 * at.efficiency[drives], color=2)], "efficiency [%]"),
            ([Curve(x=tau, y=at.current[drives], color=3)], "current per motor [A]"),
        )
    ]


def thermal_rise(actuator: Actuator, most: float | None = None) -> Panel | None:
    """How the winding warms at a few constant currents, with a limit [degC] to mark; None where nothing is
    known of its heating."""
    thermal = actuator.motor.thermal
    if thermal is None:
        return None
    t = np.linspace(0.0, 4.0 * slowest(thermal), 800)
    rated = continuous_current(actuator, most or 100.0)
    currents = rated * np.array([0.5, 0.75, 1.0, 1.25])
    nodes = heating(actuator, t, current=currents, most=HOTTEST).temperatures
    lines = []
    for name, rows in nodes.items():
        style = "solid" if name == thermal.nodes[0] else "dashed"
        for k, (i, row) in enumerate(zip(currents, rows, strict=True)):
            label = f"{i:.3g} A" if style == "solid" else ""
            lines.append(Curve(x=t / 60.0, y=row, label=label, style=style, color=k))
    if most is not None:
        ends, limit = np.array([0.0, t[-1] / 60.0]), np.array([most, most])
        lines.append(Curve(x=ends, y=limit, style="thin", label="greatest winding temperature"))
    text = "one node" if len(nodes) == 1 else "two nodes (dashed: housing)"
    note = f"{text}, {thermal.total_resistance:.3g} K/W in all"
    return Panel(lines=lines, x_label="time [min]", y_label="temperature [degC]", title=note)


def time_to_limit(actuator: Actuator, limit: float) -> Panel | None:
    """How long a standstill torque can be held from cold until the winding is at its limit [degC]; None
    without a thermal model, or where it never gets there."""
    thermal, motor = actuator.motor.thermal, actuator.motor
    if thermal is None or limit <= thermal.ambient:
        return None
    held = continuous_current(actuator, limit)
    supply = actuator.drive.supply
    by_voltage = steady_current(actuator, supply, 0.0) if supply else np.inf
    most = min(6.0 * held, by_voltage, (motor.limits and motor.limits.current) or np.inf)
    i: Any = np.linspace(1.01, max(most / held, 1.5), 120) * held
    reached = time_to(actuator, limit, i)
    seen = np.isfinite(reached) & (reached > 0)
    if not seen.any():
        return None
    tau = np.asarray(actuator.gearbox.output_torque(motor.torque_at(i, None)))
    for_ever = float(actuator.gearbox.output_torque(motor.torque_at(held, None)))
    ends = np.array([float(np.min(reached[seen])), float(np.max(reached[seen]))])
    unit = "N m" if actuator.motion == "rotary" else "N"
    lines = [
        Curve(x=reached[seen], y=tau[seen], label=f"until the winding is at {limit:.3g} degC"),
        Curve(x=ends, y=np.full(2, for_ever), label=f"for ever: {for_ever:.3g} {unit}", style="thin"),
    ]
    return Panel(
        lines=lines,
        x_label="time from cold [s]",
        y_label=torque_label(actuator).replace("at the output", "of the motor, at the output"),
        x_log=True,
    )


def regions(shown: ShownActuator, voltage: float) -> Panel | None:
    """Continuous and intermittent operation in the torque-speed plane at a voltage over the winding [V]; None
    where no continuous current is known."""
    actuator, i_c = shown.actuator, shown.nominal_current
    if i_c is None:
        if actuator.motor.thermal is None or shown.hottest is None:
            return None
        i_c = continuous_current(actuator, shown.hottest)
    scale, label = speed_axis(actuator)
    at = operation(actuator, voltage, _speeds(actuator, voltage))
    x, full = scale * at.speed, np.maximum(at.torque, 0.0)
    rated = abs(float(actuator.gearbox.output_torque(actuator.motor.torque_at(i_c, None))))
    held = np.minimum(full, rated * (actuator.gearbox.efficiency or 1.0))
    return Panel(
        lines=[Curve(x=x, y=full, label=f"at {voltage:.3g} V")],
        regions=[
            Region(x=x, low=np.zeros_like(x), high=held, label=f"continuous, {i_c:.3g} A", color=2),
            Region(x=x, low=held, high=full, label="intermittent", color=1),
        ],
        x_label=label,
        y_label=torque_label(actuator),
    )


def overview(shown: ShownActuator, voltage: float) -> Figure:
    """All of the above that an actuator knows enough for at a voltage over the winding [V]."""
    actuator = shown.actuator
    powers = zip(("Power", "Efficiency", "Current"), power(actuator, voltage), strict=True)
    parts = [
        ("Torque and speed by voltage", torque_speed(actuator, voltage)),
        ("Envelope in all quadrants", envelope(actuator, voltage)),
        *powers,
        ("Continuous and intermittent", regions(shown, voltage)),
        ("Heating at constant current", thermal_rise(actuator, shown.hottest)),
    ]
    panels = [dataclasses.replace(panel, title=name) for name, panel in parts if panel is not None]
    note = "In the first panel: solid at the output, dashed before friction and gears."
    return Figure(title=shown.name, panels=panels, shared_x=False, columns=2, note=note)
