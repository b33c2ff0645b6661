"""Figures of an actuator as a motion engineer draws it:
torque-speed lines, envelope, power, efficiency, heating."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...identify.frictions import friction_size
from ...model.actuator import Actuator
from ...model.steady import continuous_current, electrical_torque, ideal_speed, net_torque, steady_current
from ...model.thermal import Heat
from .figure import Curve, Figure, Panel, Region

RPM = 60.0 / (2.0 * np.pi)


def _speeds(actuator: Actuator, v: float) -> np.ndarray:
    """Output speeds from standstill to a little beyond no load, in rad/s."""
    return np.linspace(0.0, 1.02 * ideal_speed(actuator, v), 300)


def torque_speed(actuator: Actuator, voltage: float, title: str) -> Figure:
    """Torque over speed at the full voltage and below (MuJoCo's DC-motor note, figures 1 and 3), first
    quadrant."""
    lines = []
    for k, share in enumerate((1.0, 0.75, 0.5, 0.25)):
        v = share * voltage
        w = _speeds(actuator, v)
        electrical, net = (np.maximum(f(actuator, v, w), 0) for f in (electrical_torque, net_torque))
        lines.append(Curve(x=RPM * w, y=electrical, style="dashed", color=k))
        lines.append(Curve(x=RPM * w, y=net, label=f"{v:.3g} V", color=k))
    panel = Panel(
        lines=lines,
        x_label="speed at the output [rpm]",
        y_label="torque at the output [N m]",
        title="solid: at the output; dashed: before friction and gears",
    )
    return Figure(title=title, panels=[panel])


def speed_axis(actuator: Actuator) -> tuple[float, str]:
    """(factor, label) of a speed at the output: rpm, or m/s on a linear axis."""
    scale, unit = (RPM, "rpm") if actuator.motion == "rotary" else (1.0, "m/s")
    return scale, f"speed at the output [{unit}]"


def torque_label(actuator: Actuator) -> str:
    return "torque at the output [N m]" if actuator.motion == "rotary" else "force at the output [N]"


def envelope(
    actuator: Actuator, voltage: float, title: str, points: Sequence[Curve] = (), reach: float = 1.5
) -> Figure:
    """All four quadrants between +V and -V with the current limit and the losses (MuJoCo's DC-motor
    note, figures 2 and 3).

    `points` are drawn on top, in rad/s (or m/s) and torque; the axis ends at `reach` times the ideal speed.
    """
    top = ideal_speed(actuator, voltage)
    scale, label = speed_axis(actuator)
    w = np.linspace(-reach * top, reach * top, 601)
    w = w[w != 0]
    high, low = electrical_torque(actuator, voltage, w), electrical_torque(actuator, -voltage, w)
    # With points the figure is about them: braking beyond what they need may leave the picture.
    stall = float(electrical_torque(actuator, voltage, 0.0))
    most = max(stall, *(float(np.max(np.abs(line.y))) for line in points), 0.0)
    least, greatest = (net_torque(actuator, v, w) for v in (-voltage, voltage))
    drag, x = friction_size(actuator, w, 0.0, 0.0), scale * w
    panel = Panel(
        lines=[
            Curve(x=x, y=high, style="dashed", color=0, label="electrical, full voltage forward"),
            Curve(x=x, y=low, style="dashed", color=1, label="electrical, full voltage backward"),
            Curve(x=x, y=drag, style="thin", label="friction and drag"),
            *(dataclasses.replace(line, x=scale * np.asarray(line.x)) for line in points),
        ],
        regions=[Region(x=x, low=least, high=greatest, label="reachable at the output")],
        x_label=label,
        y_label=torque_label(actuator),
        y_range=None if not points else (-1.3 * most, 1.3 * most),
    )
    return Figure(title=title, panels=[panel])


def power(actuator: Actuator, voltage: float, title: str) -> Figure:
    """Mechanical power and efficiency over torque, and the current drawn."""
    w: Any = _speeds(actuator, voltage)
    tau = net_torque(actuator, voltage, w)
    keep = tau >= 0
    w, tau = w[keep], tau[keep]
    motor, gearbox = actuator.motor, actuator.gearbox
    i = steady_current(actuator, voltage, w)
    taken = gearbox.n_motors * i * (motor.resistance * i + motor.back_emf_at(None) * gearbox.rotor_speed(w))
    given = tau * w
    powers = [
        Curve(x=tau, y=given, label="mechanical power"),
        Curve(x=tau, y=taken, label="electrical power", style="dashed"),
    ]
    efficiency = Curve(x=tau, y=100 * given / np.maximum(taken, 1e-12), color=2)
    panels = [
        Panel(lines=lines, x_label="torque at the output [N m]", y_label=label)
        for lines, label in (
            (powers, "power [W]"),
            ([efficiency], "efficiency [%]"),
            ([Curve(x=tau, y=i, color=3)], "current per motor [A]"),
        )
    ]
    return Figure(title=title, panels=panels)


def _slowest(thermal: Heat) -> float:
    """Time constant of its outermost node [s]."""
    return [*thermal.time_constants.values()][-1]


def thermal_rise(actuator: Actuator, title: str, most: float | None = None) -> Figure | None:
    """How the winding warms at a few constant currents, or None where nothing is known of its heating."""
    thermal, motor = actuator.motor.thermal, actuator.motor
    if thermal is None:
        return None
    end = 4.0 * _slowest(thermal)
    rated = continuous_current(actuator, most or 100.0)
    t = np.linspace(0.0, end, 800)
    lines = []
    for share in (0.5, 0.75, 1.0, 1.25):
        T, winding = tuple(thermal.ambient for _ in thermal.nodes), []
        for _ in t:
            winding.append(T[0])
            T = thermal.advance(T, motor.resistance_at(T[0]) * (share * rated) ** 2, 0.0, t[1])
        lines.append(Curve(x=t / 60.0, y=np.minimum(winding, 400.0), label=f"{share * rated:.3g} A"))
    if most is not None:
        ends, limit = np.array([0.0, end / 60.0]), np.array([most, most])
        lines.append(Curve(x=ends, y=limit, style="thin", label="greatest winding temperature"))
    nodes = "one node" if len(thermal.nodes) == 1 else "two nodes"
    note = f"{nodes}, {thermal.total_resistance:.3g} K/W in all"
    panel = Panel(lines=lines, x_label="time [min]", y_label="winding [degC]", title=note)
    return Figure(title=title, panels=[panel])


def time_to_limit(actuator: Actuator, limit: float, title: str) -> Figure | None:
    """How long a standstill torque can be held from cold until the winding is at its limit;
    None without a thermal model."""
    thermal, motor = actuator.motor.thermal, actuator.motor
    if thermal is None or limit <= thermal.ambient:
        return None
    held = continuous_current(actuator, limit)
    supply = actuator.drive.supply
    by_voltage = steady_current(actuator, supply, 0.0) if supply else np.inf
    most = min(6.0 * held, by_voltage, (motor.limits and motor.limits.current) or np.inf)
    i: Any = np.linspace(1.01, max(most / held, 1.5), 120) * held
    t = np.concatenate([[0.0], np.geomspace(1e-5, 8.0, 700) * _slowest(thermal)])
    T: Any = tuple(np.full_like(i, thermal.ambient) for _ in thermal.nodes)
    reached = np.full_like(i, np.nan)
    for k in range(1, len(t)):
        before = T[0]
        heat = motor.resistance_at(before) * i**2
        T = tuple(np.minimum(x, 1e5) for x in thermal.advance(T, heat, 0.0, t[k] - t[k - 1]))
        now = np.isnan(reached) & (T[0] >= limit)
        share = (limit - before) / np.maximum(T[0] - before, 1e-12)
        reached[now] = (t[k - 1] + (t[k] - t[k - 1]) * share)[now]
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
    panel = Panel(
        lines=lines,
        x_label="time from cold [s]",
        y_label=torque_label(actuator).replace("at the output", "of the motor, at the output"),
        x_log=True,
    )
    return Figure(title=title, panels=[panel])


def regions(
    actuator: Actuator,
    voltage: float,
    title: str,
    most: float | None = None,
    nominal_current: float | None = None,
) -> Figure | None:
    """Continuous and intermittent operation in the torque-speed plane,
    or None where no continuous current is known."""
    if nominal_current is None and (actuator.motor.thermal is None or most is None):
        return None
    i_c = nominal_current if nominal_current is not None else continuous_current(actuator, most or 0.0)
    w = _speeds(actuator, voltage)
    full = np.maximum(net_torque(actuator, voltage, w), 0.0)
    rated = float(actuator.gearbox.output_torque(actuator.motor.torque_at(i_c, None)))
    held = np.minimum(full, rated * (actuator.gearbox.efficiency or 1.0))
    panel = Panel(
        lines=[Curve(x=RPM * w, y=full, label=f"at {voltage:.3g} V")],
        regions=[
            Region(x=RPM * w, low=np.zeros_like(w), high=held, label=f"continuous, {i_c:.3g} A", color=2),
            Region(x=RPM * w, low=held, high=full, label="intermittent", color=1),
        ],
        x_label="speed at the output [rpm]",
        y_label="torque at the output [N m]",
    )
    return Figure(title=title, panels=[panel])


def overview(
    actuator: Actuator,
    voltage: float,
    title: str,
    most: float | None = None,
    nominal_current: float | None = None,
) -> Figure:
    """All of the above that the actuator knows enough for, on one sheet."""
    parts = [
        ("Torque and speed by voltage", torque_speed(actuator, voltage, "")),
        ("Envelope in all quadrants", envelope(actuator, voltage, "")),
        ("Power", power(actuator, voltage, "")),
        ("Continuous and intermittent", regions(actuator, voltage, "", most, nominal_current)),
        ("Heating at constant current", thermal_rise(actuator, "", most)),
    ]
    panels = []
    for name, figure in parts:
        for k, panel in enumerate(figure.panels if figure is not None else ()):
            panels.append(dataclasses.replace(panel, title=(name, "Efficiency", "Current")[k]))
    note = "In the first panel: solid at the output, dashed before friction and gears."
    return Figure(title=title, panels=panels, shared_x=False, columns=2, note=note)
