"""What to draw of a characterised mechanism: each test with its prediction, the residuals,
and the step responses."""

from __future__ import annotations

import math

import numpy as np

from ...mechanism.characterize import UNITS, Characterization
from ...mechanism.feedback import Feedback, step_response
from .figure import Figure, Line, Panel

_LEVEL = 0.5
"""Share of what the input can reach that a step asks for, where none was told."""


def test_runs(found: Characterization) -> Figure:
    """Velocity of every run over its prediction, its residual beside it,
    then a step of every loop with the input it takes."""
    panels = []
    residuals = [(s.segment.velocity - s.velocity) / _unit(found, s.segment.run.part)[0] for s in found.shown]
    spread = {False: 0.0, True: 0.0}
    for shown, residual in zip(found.shown, residuals, strict=True):
        turning = shown.segment.run.part == "angular"
        spread[turning] = max(spread[turning], float(np.max(np.abs(residual))))
    for shown, residual in zip(found.shown, residuals, strict=True):
        s = shown.segment
        size, short = _unit(found, s.run.part)
        t = s.velocity_time - s.run.time[0]
        lines = [
            Line(x=t, y=s.velocity / size, label="measured", style="dots", color=0),
            Line(x=t, y=shown.velocity / size, label="predicted", color=1),
        ]
        panels.append(
            Panel(
                title=_title(s.run.test, s.run.part),
                lines=lines,
                x_label="time [s]",
                y_label=f"velocity [{short}/s]",
            )
        )
        alike = 1.05 * max(
            spread[s.run.part == "angular"], 1e-6 * float(np.max(np.abs(s.velocity))) / size
        )  # one scale for all, to compare
        about = f"measured less predicted, rms {float(np.sqrt(np.mean(residual**2))):.3g} {short}/s"
        panels.append(
            Panel(
                title=about,
                lines=[Line(x=t, y=residual, style="dots", color=3)],
                x_label="time [s]",
                y_label=f"[{short}/s]",
                y_range=(-alike, alike),
            )
        )
    panels += step_panels(found)
    known = ", ".join(
        f"{name} {gain.value:.4g}" for name, gain in found.gains.items() if gain.value is not None
    )
    return Figure(title=f"{found.mechanism}: {known}", panels=panels, shared_x=False, columns=2)


# the name looks like a test's to a collector of tests
test_runs.__test__ = False  # type: ignore[attr-defined]


def _unit(found: Characterization, part: str) -> tuple[float, str]:
    return UNITS["radians"] if part == "angular" else UNITS[found.units]


def _title(test: str, part: str) -> str:
    return f"{test.replace('-', ', ')}{f', {part}' if part else ''}"


def step_panels(found: Characterization) -> list[Panel]:
    """A step of each loop with friction, delay and the limit of the input;
    none where kS, kV or kA are not known."""
    panels = []
    for name, feedback in found.feedback.items():
        end = "_angular" if name.endswith("_angular") else ""
        kS, kV, kA, kG = (
            found.gains[gain + end].value if gain + end in found.gains else 0.0
            for gain in ("kS", "kV", "kA", "kG")
        )
        if kS is not None and kV is not None and kA is not None and kA > 0:
            gains = {"kS": max(kS, 0.0), "kV": kV, "kA": kA, "kG": kG or 0.0}
            panels += _step(found, name, feedback, gains, "rad" if end else UNITS[found.units][1])
    return panels


def _step(
    found: Characterization, name: str, feedback: Feedback, gains: dict[str, float], short: str
) -> list[Panel]:
    free = found.limit - abs(gains["kG"]) - gains["kS"]
    if free <= 0:
        return []
    top, moving = free / max(gains["kV"], 1e-9), feedback.loop == "velocity"
    step = feedback.step
    if step is None:
        step = _LEVEL * top if moving else _LEVEL * found.limit / max(feedback.volts_per_error, 1e-9)
    duration = (
        float(np.clip(8 * found.timescale, 0.3, 5.0)) if moving and math.isfinite(found.timescale) else 1.0
    )
    run = step_response(feedback, **gains, step=step, limit=found.limit, duration=duration)
    while (
        not moving and run.velocity[-1] != 0 and run.settling_time > 0.7 * duration and duration < 8
    ):  # long enough to see it come to rest
        duration *= 2
        run = step_response(feedback, **gains, step=step, limit=found.limit, duration=duration)
    unit = f"{short}/s" if moving else short
    word = name.replace("_", " ")
    settled = (
        f"settles in {run.settling_time:.2g} s"
        if math.isfinite(run.settling_time)
        else "friction holds it off"
        if not moving
        else "does not settle"
    )
    lines = [
        Line(x=run.time, y=np.full_like(run.time, step), label="target", style="thin"),
        Line(x=run.time, y=run.velocity if moving else run.position, label="simulated", color=1),
    ]
    known = f"kP {feedback.kP:.4g}" + ("" if moving else f", kD {feedback.kD:.4g}")
    effort = "V" if found.control == "voltage" else "A"
    return [
        Panel(
            title=f"{word} step: {known}, {settled}",
            lines=lines,
            x_label="time [s]",
            y_label=f"{feedback.loop} [{unit}]",
        ),
        Panel(
            title=f"input of the {word} step, at most {found.limit:g} {effort}",
            lines=[Line(x=run.time[1:], y=run.input[1:], color=2)],
            x_label="time [s]",
            y_label=f"input [{effort}]",
        ),
    ]
