"""Figures of the friction a fit found: the curve with its uncertainty, and the loop that a reversal makes."""

from __future__ import annotations

import numpy as np

from ....analysis.curves import Reversals, friction_size, reach, reversals
from ....figure import Band, Curve, Figure, Panel, Region
from ....physics.actuator import Actuator
from ....physics.steady import ideal_speed
from ....results.fit import Fit

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


def friction_band(fit: Fit, load: float, seen: float | None, title: str) -> Figure:
    """Friction over speed without and with a load carried, with the 95 % band;
    beyond `seen`, the fastest that the logs went, it is shaded."""
    _, speed, torque = units(fit.actuator)
    top = 1.25 * seen if seen else usual_speed(fit.actuator)
    w = np.linspace(-top, top, 402)  # an even number: no point at rest, where friction is a range
    drawn = fit.draws(N_DRAWS)
    lines, regions = [], []
    for k, x in enumerate(_told_apart(fit.actuator, load)):
        middle = friction_size(fit.actuator, w, x, -x)
        low, high = np.percentile([friction_size(a, w, x, -x) for a in drawn], [2.5, 97.5], axis=0)
        words = carrying(x, torque)
        lines.append(Curve(x=w, y=middle, label=words, color=k))
        regions.append(Region(x=w, low=low, high=high, label=f"95 % band, {words}", color=k))
    bands = [Band(low=-top, high=-seen), Band(low=seen, high=top)] if seen else []
    panel = Panel(
        lines=lines,
        regions=regions,
        bands=bands,
        x_label=f"speed at the output [{speed}]",
        y_label=f"friction [{torque}]",
    )
    return Figure(title=title, panels=[panel])


def hysteresis(actuator: Actuator, load: float, title: str) -> Figure | None:
    """Friction along slow reversals, over position and over velocity;
    None where no dry friction makes a loop."""
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
    return Figure(title=title, panels=panels, shared_x=False, columns=2)


def loop_curve(label: str, loop: Reversals, color: int) -> Curve:
    """A loop over milliradians, with what a cycle loses."""
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
