"""What to draw of a characterised mechanism: each test with its prediction, the residuals, and the step response."""

from __future__ import annotations

import math

import numpy as np

from ..identify.characterize import UNITS, Characterization
from ..identify.feedback import step_response
from .figures import Figure, Line, Panel


def test_runs(found: Characterization) -> Figure:
    """Velocity of every run over its prediction, with the residual beneath, and the step response of the closed loops."""
    size, short = UNITS[found.units]
    panels = []
    for shown in found.shown:
        s = shown.segment
        t = s.velocity_time - s.run.time[0]
        panels.append(
            Panel(
                title=s.run.name or s.run.test,
                lines=[Line(x=t, y=s.velocity / size, label="measured", style="dots", color=0), Line(x=t, y=shown.velocity / size, label="predicted", color=1)],
                x_label="time [s]",
                y_label=f"velocity [{short}/s]",
            )
        )
        residual = (s.velocity - shown.velocity) / size
        panels.append(Panel(title="residual", lines=[Line(x=t, y=residual, style="dots", color=3)], x_label="time [s]", y_label=f"[{short}/s]"))
    panels += step_panels(found)
    return Figure(title=f"{found.mechanism}: {len(found.shown)} runs and what follows from them", panels=panels, shared_x=False, columns=2)


test_runs.__test__ = False  # type: ignore[attr-defined]  # the name looks like a test's to a collector of tests


def step_panels(found: Characterization, limit: float = 12.0) -> list[Panel]:
    """A step of each loop with friction, delay and the limit of the input; none where kS, kV or kA are not known."""
    gains = {name: g.value for name, g in found.gains.items()}
    kS, kV, kA = gains.get("kS"), gains.get("kV"), gains.get("kA")
    short = UNITS[found.units][1]
    if kS is None or kV is None or kA is None or kA <= 0:
        return []
    kG = gains.get("kG") or 0.0
    panels = []
    for loop, feedback in found.feedback.items():
        top = max((limit - abs(kG) - kS) / max(kV, 1e-9), 1e-9)
        step = 0.5 * top if loop == "velocity" else 0.5 * limit / max(feedback.volts_per_error, 1e-9)
        duration = float(np.clip(8 * max(found.timescale, 0.05), 0.5, 5.0)) if loop == "velocity" and math.isfinite(found.timescale) else 3.0
        run = step_response(feedback, kS=max(kS, 0.0), kV=kV, kA=kA, kG=kG, step=step, limit=limit, duration=duration)
        y = run.velocity if loop == "velocity" else run.position
        unit = f"{short}/s" if loop == "velocity" else short
        lines = [Line(x=run.time, y=np.full_like(run.time, step), label="target", style="thin"), Line(x=run.time, y=y, label=loop)]
        panels.append(Panel(title=f"{loop} step, kP {feedback.kP:.4g}", lines=lines, x_label="time [s]", y_label=f"{loop} [{unit}]"))
        effort = "V" if found.control == "voltage" else "A"
        panels.append(Panel(title="input", lines=[Line(x=run.time, y=run.input, color=2)], x_label="time [s]", y_label=f"[{effort}]"))
    return panels
