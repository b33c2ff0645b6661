"""Figures of the friction a fit found: the curve with its uncertainty, and the loop that a reversal makes."""

from __future__ import annotations

import numpy as np

from ...data.fit import Fit
from ...identify.frictions import friction_size
from ...model.actuator import Actuator
from ...model.steady import ideal_speed
from .figure import Band, Curve, Figure, Panel, Region

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
        words = f"carrying {x:.3g} {torque}" if x else "no load"
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
    loops = _bristle_loops(actuator) if actuator.friction.bristle else _sliding_loops(actuator, load)
    over_q, over_w = [], []
    for k, (label, q, w, tau) in enumerate(loops):
        lost = abs(float(np.trapezoid(tau, q)))
        over_q.append(Curve(x=1e3 * q, y=tau, label=f"{label}: {_joules(lost)} a cycle", color=k))
        over_w.append(Curve(x=w, y=tau, label=label, color=k))
    y_label = f"friction [{torque}]"
    panels = [
        Panel(lines=over_q, x_label=f"position [m{position}]", y_label=y_label, title="Over position"),
        Panel(lines=over_w, x_label=f"velocity [{speed}]", y_label=y_label, title="Over velocity"),
    ]
    return Figure(title=title, panels=panels, shared_x=False, columns=2)


def _joules(energy: float) -> str:
    for size, unit in ((1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ")):
        if energy >= size:
            return f"{energy / size:.3g} {unit}"
    return f"{energy:.2g} J"


def _sliding_loops(actuator: Actuator, load: float) -> list[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """A sine of position, once without and once with a load carried."""
    amplitude = STROKE if actuator.motion == "rotary" else 0.01 * STROKE
    fades_at = actuator.friction.fades_at
    top = usual_speed(actuator) if fades_at is None else 3.0 * fades_at
    phase = (np.arange(801) + 0.5) * 2 * np.pi / 800  # never at rest exactly
    q, w = -amplitude * np.cos(phase), top * np.sin(phase)
    torque = units(actuator)[2]
    return [
        (f"carrying {x:.3g} {torque}" if x else "no load", q, w, friction_size(actuator, w, x, -x))
        for x in _told_apart(actuator, load)
    ]


def _told_apart(actuator: Actuator, load: float) -> list[float]:
    """No load, and this one where the friction sees it."""
    w = np.array([usual_speed(actuator)])
    bare, loaded = (friction_size(actuator, w, x, -x) for x in (0.0, load))
    return [0.0] if np.allclose(loaded, bare, rtol=1e-9) else [0.0, load]


def _bristle_loops(actuator: Actuator) -> list[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Two slow sines without load, the last cycle of each:
    one that breaks away, one so small that it never does."""
    friction = actuator.friction
    straight = tuple(0.0 for _ in friction.bristles)
    _, stiffness, _ = friction.spring(straight, 0.0)
    away = float(friction.level(friction.stribeck(0.0), 0.0, 0.0, 1.0) / stiffness)
    top = 0.01 * usual_speed(actuator) if friction.fades_at is None else 0.1 * friction.fades_at
    loops = []
    for label, amplitude in (("breaks away", 6.0 * away), ("presliding", 0.6 * away)):
        n, cycles = 800, 6  # by then the loop is closed
        h = 2 * np.pi * amplitude / top / n
        phase = (np.arange(cycles * n + 1) + 0.5) * 2 * np.pi / n
        q, w, z, tau = -amplitude * np.cos(phase), top * np.sin(phase), straight, np.zeros(len(phase))
        for k, speed in enumerate(w):
            level = friction.level(friction.stribeck(speed), 0.0, 0.0, 1.0 if speed >= 0 else -1.0)
            z, bent = friction.deflect(z, speed, level, h)
            tau[k] = bent + friction.drag(speed)
        loops.append((label, q[-n - 1 :], w[-n - 1 :], tau[-n - 1 :]))
    return loops
