"""What to draw of a characterised mechanism: each test with its prediction, the residuals,
and the step responses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...figure import Curve, Figure, Panel, over_time
from .characterize import UNITS, Characterization, PredictedSegment
from .loop_gains import Feedback, StepResponse, simulate_step


def test_runs(measured: Characterization) -> Figure:
    """Velocity of every run over its prediction, its residual beside it,
    then the inputs and the line of kS and kV, and a step of every loop with the input it takes."""
    panels = []
    residuals = [
        (s.segment.velocity - s.velocity) / _unit(measured, s.segment.run.part)[0] for s in measured.shown
    ]
    spread = {False: 0.0, True: 0.0}
    for shown, residual in zip(measured.shown, residuals, strict=True):
        turning = shown.segment.run.part == "angular"
        spread[turning] = max(spread[turning], float(np.max(np.abs(residual))))
    for shown, residual in zip(measured.shown, residuals, strict=True):
        s = shown.segment
        size, short = _unit(measured, s.run.part)
        t = s.velocity_time - s.run.time[0]
        lines = [
            Curve(x=t, y=s.velocity / size, label="measured", style="dots", color=0),
            Curve(x=t, y=shown.velocity / size, label="predicted", color=1),
        ]
        compared = over_time(f"velocity [{short}/s]", *lines)
        panels.append(replace(compared, title=_title(s.run.test, s.run.part)))
        # One scale for all, to compare.
        least = 1e-6 * float(np.max(np.abs(s.velocity))) / size
        alike = 1.05 * max(spread[s.run.part == "angular"], least)
        about = f"measured less predicted, rms {float(np.sqrt(np.mean(residual**2))):.3g} {short}/s"
        left = over_time(f"[{short}/s]", Curve(x=t, y=residual, style="dots", color=3))
        panels.append(replace(left, title=about, y_range=(-alike, alike)))
    panels += _input_panels(measured) + step_panels(measured)
    gains = {name: gain.value for name, gain in measured.gains.items() if gain.value is not None}
    known = ", ".join(f"{name} {value:.4g}" for name, value in gains.items())
    return Figure(title=f"{measured.mechanism}: {known}", panels=panels, shared_x=False, columns=2)


# pytest would take its name for a test's
test_runs.__test__ = False  # type: ignore[attr-defined]  # pytest must not take it for a test


def _unit(measured: Characterization, part: str) -> tuple[float, str]:
    return UNITS["radians"] if part == "angular" else UNITS[measured.units]


def _title(test: str, part: str) -> str:
    return f"{test.replace('-', ', ')}{f', {part}' if part else ''}"


def _input_panels(measured: Characterization) -> list[Panel]:
    """The input of every test over time; and what friction and speed take of it in the slow ones, against
    velocity, as SysId draws it."""
    effort, (size, short) = "V" if measured.control == "voltage" else "A", UNITS[measured.units]
    inputs, dots = [], []
    for shown in measured.shown:
        run, (v, held, slope) = shown.segment.run, _at_velocities(shown, size)
        if run.part != "angular":
            t = shown.segment.velocity_time - run.time[0]
            inputs.append(Curve(x=t, y=held, label=_title(run.test, run.part)))
            taken = _taken_by_friction(measured, shown, held, slope) if run.slow else None
            if taken is not None:
                dots.append(Curve(x=v, y=taken, label="" if dots else "measured", style="dots", color=0))
    panels = [replace(over_time(f"input [{effort}]", *inputs), title="input of the tests")] if inputs else []
    if dots:
        kS, kV = (measured.gains[name].value or 0.0 for name in ("kS", "kV"))
        ends = (min(float(np.min(d.x)) for d in dots), max(float(np.max(d.x)) for d in dots))
        at = np.array(sorted((*ends, -1e-9, 1e-9)))
        at = at[(at >= min(ends)) & (at <= max(ends))]
        line = Curve(x=at, y=kS * np.sign(at) + kV * at, label="kS sgn(v) + kV v", color=1)
        panels.append(
            Panel(
                lines=(*dots, line),
                x_label=f"velocity [{short}/s]",
                y_label=f"input [{effort}]",
                title="slow tests: input less that of acceleration and weight",
            )
        )
    return panels


def _at_velocities(shown: PredictedSegment, size: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocity in the user's unit, the input held there, and the predicted acceleration, at the times of the
    velocities."""
    s = shown.segment
    t = s.velocity_time
    held = s.input[np.clip(np.searchsorted(s.time, t, side="right") - 1, 0, len(s.input) - 1)]
    return s.velocity / size, held, np.gradient(shown.velocity, t) / size


def step_panels(measured: Characterization) -> list[Panel]:
    """A step of each loop with friction, delay and the limit of the input;
    none where kS, kV or kA are not known."""
    panels = []
    for name, feedback in measured.feedback.items():
        end = "_angular" if name.endswith("_angular") else ""
        gains = {kind: measured.gains[kind + end].value for kind in ("kS", "kV", "kA")}
        gains |= {"kG": measured.gains["kG"].value} if "kG" in measured.gains and not end else {}
        run = simulate_step(feedback, gains, measured.limit)
        if run is not None:
            short = "rad" if end else UNITS[measured.units][1]
            panels += _step_panels_of(measured, name, feedback, run, short)
    return panels


def _step_panels_of(
    measured: Characterization, name: str, feedback: Feedback, run: StepResponse, short: str
) -> list[Panel]:
    """One step, and the input that it takes."""
    moving = feedback.loop == "velocity"
    settled = feedback.note if feedback.settles is None else f"settles in {feedback.settles:.2g} s"
    lines = [
        Curve(x=run.time, y=np.full_like(run.time, run.target), label="target", style="thin"),
        Curve(x=run.time, y=run.velocity if moving else run.position, label="simulated", color=1),
    ]
    word, unit = name.replace("_", " "), f"{short}/s" if moving else short
    known = f"kP {feedback.kP:.4g}" + ("" if moving else f", kD {feedback.kD:.4g}")
    effort = "V" if measured.control == "voltage" else "A"
    loop = over_time(f"{feedback.loop} [{unit}]", *lines)
    driven = over_time(f"input [{effort}]", Curve(x=run.time[1:], y=run.input[1:], color=2))
    about = f"input of the {word} step, at most {measured.limit:g} {effort}"
    return [replace(loop, title=f"{word} step: {known}, {settled}"), replace(driven, title=about)]


_POINTS = 300
"""Of one curve on a screen."""


def drawn_tests(measured: Characterization) -> list[dict[str, Any]]:
    """Every test as plain numbers, thinned for a screen: voltage, velocity, position and acceleration with
    their predictions, the residual, and what kS and kV take of the input, against velocity.

    Args:
        measured: with its tests, as the simulation method leaves them.

    Returns:
        One row a test; its signals by name, each {"unit", "time", "measured", "predicted"}.
    """
    rows = []
    for shown in measured.shown:
        s, part = shown.segment, shown.segment.run.part
        size, short = _unit(measured, part)
        t, begin = s.velocity_time, float(s.run.time[0])
        (v, held, slope), bend = _at_velocities(shown, size), np.gradient(s.smooth, t) / size
        effort = "V" if measured.control == "voltage" else "A"
        p = s.position / size
        signals = {
            "input": (effort, t, held, None),
            "velocity": (f"{short}/s", t, v, shown.velocity / size),
            "position": (short, s.position_time, p, shown.position / size if len(shown.position) else None),
            "acceleration": (f"{short}/s^2", t, bend, slope),
            "residual": (f"{short}/s", t, v - shown.velocity / size, None),
        }
        plain = {name: _plain(begin, *given) for name, given in signals.items() if len(given[1]) > 1}
        rows.append({"name": _title(s.run.test, part), "slow": s.run.slow, "signals": plain})
        taken = _taken_by_friction(measured, shown, held, slope)
        if taken is not None and s.run.slow:
            thin = _thin(len(taken))
            rows[-1]["line"] = {"velocity": _six_digits(v[thin]), "effort": _six_digits(taken[thin])}
    return rows


def _taken_by_friction(
    measured: Characterization, shown: PredictedSegment, held: np.ndarray, slope: np.ndarray
) -> np.ndarray | None:
    """The input less what acceleration and weight take: kS sgn(v) + kV v is left, as SysId draws it; None
    where a gain is not known."""
    end = "_angular" if shown.segment.run.part == "angular" else ""
    known = {name: measured.gains[name + end].value for name in ("kS", "kV", "kA")}
    if None in known.values():
        return None
    weight = measured.gains["kG"].value if "kG" in measured.gains and not end else 0.0
    angle = measured.gains["offset"].value if "offset" in measured.gains else None
    if weight is None or ("offset" in measured.gains and angle is None):
        return None
    s, g = shown.segment, np.full_like(held, weight)
    if angle is not None:
        g *= np.cos(np.interp(s.velocity_time, s.position_time, s.position) + angle)
    return held - float(known["kA"] or 0.0) * slope - g


def _thin(n: int) -> slice:
    return slice(None, None, max(1, n // _POINTS))


def _six_digits(values: np.ndarray) -> list[float]:
    return [float(f"{x:.6g}") for x in values]


def _plain(
    begin: float, unit: str, time: np.ndarray, values: np.ndarray, predicted: np.ndarray | None
) -> dict[str, Any]:
    """One signal of a test for a screen."""
    thin = _thin(len(time))
    own = {"unit": unit, "time": _six_digits(time[thin] - begin), "measured": _six_digits(values[thin])}
    return own if predicted is None else {**own, "predicted": _six_digits(predicted[thin])}
