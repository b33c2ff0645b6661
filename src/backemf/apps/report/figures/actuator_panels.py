"""Panels of any actuator: torque, power, friction, heating, drive law, frequency response.

Each takes the actuators that are shown; one alone is drawn in more detail than several side by side.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....analysis import curves
from ....analysis.curves import slowest
from ....figure import Curve, Mark, Panel
from ....physics.actuator import Actuator
from ....physics.quantity import present
from ....physics.steady import armature, continuous_current, ideal_speed, no_load_speed, stall_torque
from ....tables import number
from . import fit_figures as friction_figures, sheet as sheet_figures
from .pipeline import pipeline as diagram
from .sheet import HOTTEST, ShownActuator, speed_axis, torque_label

TORQUE = "Torque over speed (dashed: before losses)"
HOUSING = " (dashed: housing)"
SHARE = 1.0 - math.exp(-1.0)
"""Of the way to its end that an exponential has gone after its time constant."""
WARM = 100.0
"""Winding temperature that currents are chosen for where nobody prints one [degC]."""


All = Sequence[ShownActuator]


def torque_speed(shown: All) -> list[Panel]:
    """First quadrant; one alone by voltage, with what it holds for ever."""
    if len(shown) == 1:
        (one,) = shown
        panel = sheet_figures.torque_speed(one.actuator, one.voltage)
        known = sheet_figures.regions(one, one.voltage)
        held = [] if known is None else known.regions[:1]
        return [_roomy(dataclasses.replace(panel, regions=held, title=TORQUE), 1.3)]
    lines, (_, label) = [], speed_axis(shown[0].actuator)
    for k, one in enumerate(shown):
        name = f"{one.name}, {one.voltage:.3g} V"
        lines += sheet_figures.torque_curves(one.actuator, one.voltage, name, k)
    panel = Panel(lines=lines, x_label=label, y_label=torque_label(shown[0].actuator), title=TORQUE)
    return [_roomy(panel, 1.3)]


def _roomy(panel: Panel, share: float) -> Panel:
    """A panel with room for its legend above its curves."""
    edges = [np.asarray(line.y, float) for line in panel.lines]
    edges += [np.asarray(y, float) for r in panel.regions for y in (r.low, r.high)]
    low, high = (float(f(np.concatenate(edges))) for f in (np.nanmin, np.nanmax))
    return dataclasses.replace(panel, y_range=(1.08 * low - 0.03 * high, share * high))


def envelope(shown: All) -> list[Panel]:
    """All four quadrants, a panel each."""
    panels = []
    for one in shown:
        panel = sheet_figures.envelope(one.actuator, one.voltage)
        panel = dataclasses.replace(panel, title=_of(shown, one, f"Envelope at {one.voltage:.3g} V"))
        panels.append(_without_labels(panel) if panels else _roomy(panel, 1.9))  # one legend is enough
    return panels


def _without_labels(panel: Panel) -> Panel:
    lines = [dataclasses.replace(line, label="") for line in panel.lines]
    return dataclasses.replace(
        panel, lines=lines, regions=[dataclasses.replace(r, label="") for r in panel.regions]
    )


def _of(shown: All, actuator: ShownActuator, title: str) -> str:
    return title if len(shown) == 1 else f"{actuator.name}: {title[0].lower()}{title[1:]}"


def power(shown: All) -> list[Panel]:
    """Power taken and given, and efficiency, over torque."""
    powers, shares, several = [], [], len(shown) > 1
    for k, one in enumerate(shown):
        w = np.linspace(0.0, no_load_speed(one.actuator, one.voltage), 400)
        at = curves.operation(one.actuator, one.voltage, w)
        tau, taken, given = at.torque, at.taken, at.given
        label = one.name if several else "mechanical"
        powers.append(Curve(x=tau, y=given, label=label, color=k))
        label = "" if several else "electrical"
        powers.append(Curve(x=tau, y=taken, label=label, style="dashed", color=k if several else 1))
        label = one.name if several else ""
        shares.append(Curve(x=tau, y=100.0 * at.efficiency, label=label, color=k if several else 2))
    x, v = torque_label(shown[0].actuator), "" if several else f" at {shown[0].voltage:.3g} V"
    title = f"Power{v}" + (" (dashed: electrical)" if several else "")
    marks = [] if several else _best(shares[0], "{0:.3g} %")
    return [
        Panel(lines=powers, x_label=x, y_label="power [W]", title=title),
        Panel(lines=shares, x_label=x, y_label="efficiency [%]", title=f"Efficiency{v}", marks=marks),
    ]


def _best(curve: Curve, text: str) -> list[Mark]:
    """The highest point of a curve."""
    y = np.asarray(curve.y, float)
    if not np.isfinite(y).any():
        return []
    k = int(np.nanargmax(y))
    return [Mark(x=float(curve.x[k]), y=float(y[k]), text=text.format(float(y[k])), color=curve.color or 0)]


def no_load(shown: All) -> list[Panel]:
    """What a voltage does: speed of the free output, current of the free and of the held one."""
    speeds, currents, (scale, label) = [], [], speed_axis(shown[0].actuator)
    several = len(shown) > 1
    for k, one in enumerate(shown):
        v = np.linspace(0.0, one.voltage, 161)
        w, i = curves.no_load(one.actuator, v)
        ideal = v * ideal_speed(one.actuator, 1.0)
        held = curves.held_current(one.actuator, v)
        speeds.append(Curve(x=v, y=scale * w, label=one.name if several else "free output", color=k))
        if not several:
            speeds.append(Curve(x=v, y=scale * ideal, label="without losses: V / K_e", style="thin"))
        currents.append(Curve(x=v, y=held, label=one.name if several else "output held", color=k))
        label_i = "" if several else "output free"
        currents.append(Curve(x=v, y=i, label=label_i, style="dashed", color=k if several else 1))
    free = "Current (dashed: output free)" if several else "Current"
    return [
        Panel(lines=speeds, x_label="voltage [V]", y_label=label, title="Speed without load"),
        Panel(lines=currents, x_label="voltage [V]", y_label="current per motor [A]", title=free),
    ]


def friction(shown: All) -> list[Panel]:
    """Friction over speed; one alone also carrying loads, where its law sees them."""
    first = shown[0].actuator
    _, speed, torque = friction_figures.units(first)
    tops = [_friction_speed(one.actuator) for one in shown]
    w = np.linspace(-max(tops), max(tops), 802)  # an even number: no point at rest, where it is a range
    lines = []
    if len(shown) > 1:
        for k, one in enumerate(shown):
            lines.append(
                Curve(x=w, y=curves.friction_size(one.actuator, w, 0.0, 0.0), label=one.name, color=k)
            )
        return [_over_speed(lines, speed, torque, "Friction over speed, no load")]
    loads = _loads(shown[0])
    for k, x in enumerate(loads):
        label = friction_figures.carrying(x, torque)
        lines.append(Curve(x=w, y=curves.friction_size(first, w, x, -x), label=label, color=k))
    panels = [_over_speed(lines, speed, torque, f"Friction over speed ({first.friction.name})")]
    if len(loads) > 1:
        panels.append(_over_load(first, loads[-1], tops[0], torque, speed))
    return panels


def _over_speed(lines: list[Curve], speed: str, torque: str, title: str) -> Panel:
    x, y = f"speed at the output [{speed}]", f"friction [{torque}]"
    return Panel(lines=lines, x_label=x, y_label=y, title=title)


def _over_load(actuator: Actuator, most: float, top: float, torque: str, speed: str) -> Panel:
    """Friction over the load that the gears carry: at rest, and as fast as the panel over speed goes."""
    x: Any = np.linspace(0.0, most, 200)
    lines = [
        Curve(x=x, y=curves.friction_size(actuator, np.full_like(x, w), x, -x), label=label)
        for label, w in (("breaking away", 1e-12), (f"at {number(top, 2)} {speed}", top))
    ]
    title = "Friction over the load that is carried"
    return Panel(lines=lines, x_label=f"load carried [{torque}]", y_label=f"friction [{torque}]", title=title)


def _friction_speed(actuator: Actuator) -> float:
    """As far as friction is worth drawing: to where its peak at rest has gone."""
    usual, fades = friction_figures.usual_speed(actuator), actuator.friction.fades_at
    return usual if fades is None else min(usual, 8.0 * fades) if usual > 2.0 * fades else 4.0 * fades


def _loads(actuator: ShownActuator) -> list[float]:
    if not actuator.actuator.friction.loaded:
        return [0.0]
    volts = curves.full_voltage(actuator.actuator)
    stall = stall_torque(actuator.actuator, 12.0 if volts is None else volts)
    return [0.0, *(float(f"{share * stall:.2g}") for share in (0.25, 0.5, 1.0))]


def hysteresis(shown: All) -> list[Panel]:
    """Torque over position while bristles bend to and fro, and what they do near rest."""
    position, _, torque = friction_figures.units(shown[0].actuator)
    lines, several, note = [], len(shown) > 1, ""
    for k, one in enumerate(shown):
        for j, (label, loop) in enumerate(friction_figures.bristle_reversals(one.actuator)):
            if several and j:
                continue
            name = one.name if several else label
            lines.append(friction_figures.loop_curve(name, loop, k if several else j))
    if not several:
        note = _rings(shown[0])
    title = "Hysteresis of the bristles" + ("" if several else f" ({shown[0].actuator.friction.name})")
    most = max(float(np.max(np.abs(line.y))) for line in lines)
    labels: dict[str, Any] = {"x_label": f"position [m{position}]", "y_label": f"friction [{torque}]"}
    room = (-1.15 * most, (1.35 + 0.15 * len(lines)) * most)  # for the legend, above the loops
    return [Panel(lines=lines, title=title, note=note, y_range=room, **labels)]


def _rings(actuator: ShownActuator) -> str:
    """A bristle's dynamics in a few lines; without inertia there are none."""
    if armature(actuator.actuator) + actuator.inertia <= 0:
        return ""
    near = present(curves.presliding_of(actuator.actuator, actuator.inertia))
    hz, steps = near.natural_frequency / (2.0 * math.pi), near.largest_steps
    unit = actuator.actuator.unit("friction.viscous")
    said = [
        f"near rest: {number(hz, 3)} Hz, damping ratio {number(near.damping_ratio, 2)};"
        f" it does not ring from sigma_1 = {number(near.critical_micro_damping, 2)} {unit}"
    ]
    if near.passive_limit is not None:
        said.append(f"passive below sigma_1 = {number(near.passive_limit, 2)} {unit}")
    bound = ", ".join(f"{name} {_seconds(steps[name])}" for name in ("Euler", "implicitfast"))
    return "\n".join([*said, f"stable steps in MuJoCo: {bound}"])


def _seconds(t: float) -> str:
    if not math.isfinite(t):
        return "any"
    return f"{number(1e3 * t, 2)} ms" if t >= 1e-3 else f"{number(1e6 * t, 2)} us"


def heating(shown: All) -> list[Panel]:
    """Winding over time at constant currents; of several, each at its own continuous one."""
    if len(shown) == 1:
        (one,) = shown
        panel = present(sheet_figures.thermal_rise(one.actuator, one.hottest))
        two = len(present(one.actuator.motor.thermal).nodes) > 1
        return [dataclasses.replace(panel, title=f"Heating at constant current{HOUSING if two else ''}")]
    lines = []
    for k, one in enumerate(shown):
        i = one.nominal_current or continuous_current(one.actuator, one.hottest or WARM)
        t = np.linspace(0.0, 4.0 * slowest(present(one.actuator.motor.thermal)), 600)
        nodes = curves.heating(one.actuator, t, current=i, most=HOTTEST).temperatures
        lines += _nodes(t, nodes, f"{one.name}, {i:.3g} A", k)
    return [_over_minutes(lines, "temperature [degC]", f"Heating at constant current{HOUSING}")]


def heating_power(shown: All) -> list[Panel]:
    """Rise over the ambient at a constant power (MuJoCo's DC-motor note, figure 4)."""
    lines, marks, several, after = [], [], len(shown) > 1, ""
    for k, one in enumerate(shown):
        thermal = present(one.actuator.motor.thermal)
        rise = (one.hottest or WARM) - thermal.ambient
        t = np.linspace(0.0, 5.0 * slowest(thermal), 600)
        for j, share in enumerate((1.0,) if several else (1.0, 0.5, 0.25)):
            P, color = share * rise / thermal.total_resistance, k if several else j
            nodes = curves.heating(one.actuator, t, power=P).temperatures
            above = {name: T - thermal.ambient for name, T in nodes.items()}
            reached = SHARE * share * rise
            at = float(np.interp(reached, above[thermal.nodes[0]], t)) / 60.0
            marks.append(Mark(x=at, y=reached, text="", color=color))
            after = f", 63 % after {number(at, 2)} min"
            lines += _nodes(t, above, f"{one.name}, {P:.3g} W{after}" if several else f"{P:.3g} W", color)
    two = any(len(present(one.actuator.motor.thermal).nodes) > 1 for one in shown)
    title = f"Heating at constant power{'' if several else after}{HOUSING if two else ''}"
    return [_over_minutes(lines, "rise over the ambient [K]", title, marks)]


def _nodes(t: np.ndarray, nodes: dict[str, np.ndarray], name: str, color: int) -> list[Curve]:
    winding, *others = nodes.values()
    lines = [Curve(x=t / 60.0, y=winding, label=name, color=color)]
    return lines + [Curve(x=t / 60.0, y=T, style="dashed", color=color) for T in others]


def _over_minutes(lines: list[Curve], y_label: str, title: str, marks: Sequence[Mark] = ()) -> Panel:
    return Panel(lines=lines, x_label="time [min]", y_label=y_label, title=title, marks=marks)


def drive(shown: All) -> list[Panel]:
    """Voltage and torque of the resting motor over the error."""
    volts, torques, several = [], [], len(shown) > 1
    of = present(shown[0].actuator.drive.loop).of
    scale, unit = (
        shown[0].position if of == "position" else (1.0, friction_figures.units(shown[0].actuator)[1])
    )
    reaches = [curves.full_error(one.actuator) for one in shown]
    known = [r for r in reaches if r is not None]
    most = 1.6 * max(known) if known else 0.2
    e = np.linspace(-most, most, 801)
    for k, (one, full) in enumerate(zip(shown, reaches, strict=True)):
        law = curves.drive_law(one.actuator, e)
        text = "" if full is None else f", limit at {number(scale * full, 3)} {unit}"
        label = f"{one.name}{text}" if several else f"applied{text}"
        volts.append(Curve(x=scale * e, y=law.voltage, label=label, color=k))
        if not several and full is not None:
            volts.insert(0, Curve(x=scale * e, y=law.asked, label="asked", style="thin"))
        torques.append(Curve(x=scale * e, y=law.torque, label=one.name if several else "", color=k))
    x = f"error of {of} [{unit}]"
    y = torque_label(shown[0].actuator).replace("at the output", "at rest")
    return [
        Panel(lines=volts, x_label=x, y_label="voltage [V]", title="Drive law: voltage"),
        Panel(lines=torques, x_label=x, y_label=y, title="Drive law: torque before losses"),
    ]


def frequency(shown: All) -> list[Panel]:
    """Magnitude and phase of the closed loop, its bandwidth marked."""
    sizes, phases, marks, several = [], [], [], len(shown) > 1
    found = [curves.response(one.actuator, inertia=one.inertia) for one in shown]
    f = np.geomspace(min(r.frequency[0] for r in found), max(r.frequency[-1] for r in found), 600)
    for k, one in enumerate(shown):
        half = math.inf if one.actuator.drive.period is None else 0.5 / one.actuator.drive.period
        at = curves.response(one.actuator, f[f <= half], one.inertia)
        label, band = one.name if several else "", found[k].bandwidth
        text = "" if band is None else f"-3 dB at {number(band, 3)} Hz"
        name = f"{label}: {text}" if several and text else label
        sizes.append(Curve(x=at.frequency, y=at.magnitude, label=name, color=k))
        phases.append(Curve(x=at.frequency, y=at.phase, label=label, color=k))
        if band is not None:
            y = float(np.interp(band, at.frequency, at.magnitude))
            marks.append(Mark(x=band, y=y, text="" if several else text, color=k))
    of = present(shown[0].actuator.drive.loop).of
    title = f"Response of the {of} loop, linear"
    note = "" if several else _loop_note(found[0], shown[0])
    return [
        _over_frequency(sizes, "magnitude [dB]", title, marks, note),
        _over_frequency(phases, "phase [deg]", "Phase"),
    ]


def _loop_note(response: curves.Response, actuator: ShownActuator) -> str:
    margin, peak = response.phase_margin, response.peak
    said = [f"inertia {number(armature(actuator.actuator) + actuator.inertia, 3)} kg m^2, no dry friction"]
    if peak is not None:
        said.append(f"peak {number(peak[1], 2)} dB at {number(peak[0], 3)} Hz")
    if margin is not None:
        said.append(f"phase margin {margin:.0f} deg" if margin > 0 else "unstable without friction")
    return "\n".join(said)


def _over_frequency(
    lines: list[Curve], y_label: str, title: str, marks: Sequence[Mark] = (), note: str = ""
) -> Panel:
    look: dict[str, Any] = {"x_label": "frequency [Hz]", "y_label": y_label, "x_log": True}
    return Panel(lines=lines, title=title, marks=marks, note=note, **look)


def pipeline(shown: All) -> list[Panel]:
    """From command to joint, a diagram each."""
    return [diagram(one.actuator, _of(shown, one, "From the command to the joint")) for one in shown]
