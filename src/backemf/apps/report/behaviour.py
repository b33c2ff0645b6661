"""The sections of a fit's report that draw how the actuator behaves:
runs, friction, envelope, hysteresis, heat, and how sure all that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...figure import Block, Curve, Drawing, Figure, Paragraph, Table, missing, note
from ...identify.fit_numbers import TIED
from ...identify.predict import ROLES
from ...tables import number
from ..playground.panel import live
from .contents import JointReport, Report
from .figures.fit_figures import (
    correlations,
    friction_band,
    hysteresis as loops,
    measured_and_predicted,
    relative_errors,
)
from .figures.sheet import envelope as quadrants, thermal_rise, time_to_limit

N_POINTS = 300
"""Operating points drawn of one log."""
ASSUMED_LIMIT = 100.0
"""Winding temperature [degC] taken for the limit where neither the sheet nor the actuator has one."""
CLOUDS = {"training": "logs, training", "held out": "logs, held out", "not in the fit": "other logs"}
"""What the operating points of each role are called."""
TITLES = {
    "training": "Logs it was fitted to",
    "held out": "Held-out logs: nothing was fitted to them",
    "not in the fit": "Other logs, not part of the fit",
}
"""Over the predictions of each role."""
TALL = 3.0
"""Times the friction itself up to which its band is drawn."""


def prediction_blocks(joint: JointReport, whose: str) -> Iterator[Block]:
    """Sliders, and the recordings that follow them; a robot's joint runs along what the others did.

    Args:
        joint: with its runs.
        whose: who stated numbers before the fit, beside their marks on the sliders.
    """
    stated = {p.name: p.stated for p in joint.parameters if p.stated is not None}
    sliders = live(joint.fit, joint.runs, stated, whose)
    if sliders is not None:
        yield sliders
    unit = "mrad" if joint.fit.actuator.motion == "rotary" else "mm"
    alone = "by itself, " if joint.name else ""
    for role in ROLES:
        runs = [run for run in joint.runs if run.role == role]
        if runs and not joint.name:
            yield Paragraph(text=TITLES[role], kind="heading")
        for run in runs:
            text = f"{role}; {alone}off by {1e3 * run.error:.3g} {unit} on average"
            figure = measured_and_predicted(run, run.log.name)
            yield Drawing(figure=figure, heading=run.log.name, text=text, source=run)


def friction(report: Report, joint: JointReport) -> Iterator[Block]:
    """Friction over speed, with its band."""
    figure = friction_band(joint.fit, joint.usual_load, joint.fastest)
    (panel,) = figure.panels
    curves = max(float(np.max(np.abs(line.y))) for line in panel.lines)
    bands = max(float(np.max(np.abs(side))) for r in panel.regions for side in (r.low, r.high))
    beyond = ""
    if bands > TALL * curves:  # the band of a number that nobody knows would hide the curves
        top = 1.1 * TALL * curves
        figure = replace(figure, panels=[replace(panel, y_range=(-top, top))])
        beyond = ", and go on beyond the picture"
    text = (
        f"Friction model {joint.fit.friction}. Bands hold 95 % of what the fit's joint uncertainty"
        f" allows{beyond}; at rest friction is a range, and the curve jumps."
    )
    if joint.fastest:
        text += " Shaded: faster than the logs went."
    yield Drawing(figure=figure, heading="Friction over speed" if joint.name else "", text=text)


def envelope(report: Report, servo: JointReport) -> Iterator[Block]:
    """Torque over speed in all quadrants, with the points that the logs visited."""
    actuator = servo.fit.actuator
    supplies = [float(np.nanmedian(r.log["supply"])) for r in report.runs if "supply" in r.log]
    stated = actuator.drive.supply or (report.sheet.voltage if report.sheet is not None else None)
    voltage = float(np.median(supplies)) if supplies else stated
    if voltage is None:
        yield missing(
            "No supply voltage is known: neither the logs nor the drive says one; give a datasheet with"
            " --sheet, or record the supply."
        )
        return
    points = [*_points(report)]
    panel = quadrants(actuator, voltage, points=points, reach=1.15, rpm=False)
    figure = Figure(title="Torque and speed", panels=[panel])
    where = (
        f"Points: motor torque before friction, simulated along the logs ({N_POINTS} moments of each); the"
        " dashed lines bound what the voltage allows."
        if points
        else "No operating points: no recordings were given."
    )
    yield Drawing(figure=figure, text=f"At {voltage:.3g} V, winding cold. {where}")


def _points(report: Report) -> Iterator[Curve]:
    """Motor torque and speed along the logs, one cloud a role."""
    for color, (role, label) in enumerate(CLOUDS.items(), start=2):
        picked = [
            (r, np.linspace(0, len(r.log) - 1, min(N_POINTS, len(r.log))).astype(int))
            for r in report.runs
            if r.role == role
        ]
        if picked:
            w = np.concatenate([r.velocity[at] for r, at in picked])
            tau = np.concatenate([r.signals["torque"][at] for r, at in picked])
            yield Curve(x=w, y=tau, label=label, style="dots", color=color)


def hysteresis(report: Report, servo: JointReport) -> Iterator[Block]:
    """The loop that slow reversals make."""
    figure = loops(report.fit.actuator, servo.usual_load)
    if figure is None:
        yield missing(
            "This friction has no dry part: reversals make no loop; fit one that has, such as stribeck."
        )
        return
    text = (
        "Slow reversals without load: one that breaks away, and one so small that the contact only bends"
        " (presliding)."
        if report.fit.actuator.friction.bristle
        else (
            "Slow reversals as this friction model has them: it switches sides at once, without presliding;"
            " the area of a loop is lost as heat."
        )
    )
    yield Drawing(figure=figure, text=text)


def thermal(report: Report, servo: JointReport) -> Iterator[Block]:
    """How long torque can be held, and how the winding warms."""
    actuator = servo.fit.actuator
    heat, limits = actuator.motor.thermal, actuator.motor.limits
    if heat is None:
        yield missing(
            "No thermal model: the actuator does not say how its winding heats; measure it (backemf measure"
            " thermal) or start from a sheet that says."
        )
        return
    printed = report.sheet.get("max_winding_temperature") if report.sheet is not None else None
    limit, whose = ASSUMED_LIMIT, "taken for the limit, as none is stated"
    if printed is not None:
        limit, whose = printed.value, "the sheet's limit"
    elif heat.max_temperature is not None:
        limit, whose = heat.max_temperature, "the limit of its part"
    elif limits is not None and limits.derating_end is not None:
        limit, whose = limits.derating_end, "where the drive has derated fully"
    held = time_to_limit(actuator, limit)
    if held is not None:
        text = f"Torque held at standstill from {heat.ambient:.3g} degC until {limit:.3g} degC, {whose}."
        yield Drawing(figure=Figure(title="Torque against time", panels=[held]), text=text)
    warm = thermal_rise(actuator, limit)
    if warm is not None:
        text = (
            "Winding temperature at constant currents; the thermal numbers are the start's, unless they are"
            " among the fitted."
        )
        yield Drawing(figure=Figure(title="Winding at constant current", panels=[warm]), text=text)


def _both_errors(report: Report) -> Block | None:
    """Each number's two errors beside each other, those that differ most first; of a robot only numbers that
    the recordings tell."""
    rows = []
    for name, p in report.fit.parameters.items():
        if report.servo is None and (p.told_by == "prior" or not p.error_if_right):
            continue
        right = "-" if p.error_if_right is None else number(p.error_if_right, 2)
        ratio = p.error / p.error_if_right if p.error_if_right else 0.0
        times = f"{ratio:.1f}" if ratio else "-"
        rows.append((ratio, (name, number(p.value), number(p.error, 2), right, times, p.unit)))
    if not rows:
        return None
    rows.sort(key=lambda row: -row[0])
    head = ("parameter", "value", "as the recordings disagree", "if the model is right", "times", "unit")
    caption = (
        "Two standard errors: by how much logs, rigs and settings pull the number apart, and what noise and"
        " the bench's tolerances alone would leave if the model were right. Trust the first; where it is many"
        " times the second, the model misses something that the number makes up for."
    )
    return Table(head=head, rows=[row for _, row in rows], caption=caption)


def identifiability(report: Report) -> Iterator[Block]:
    """How sure each number is, and which are known only together."""
    both = _both_errors(report)
    if both is not None:
        yield both
    if report.servo is None:
        return
    fit = report.fit
    bars = relative_errors(fit, "How well each is known")
    grid = correlations(fit)
    if bars is None and grid is None:
        yield missing("No parameter was free, so there is nothing to be sure of.")
    if bars is not None:
        text = "Blue: told by the logs. Violet: by logs and statement. Orange: left where it was stated."
        yield Drawing(figure=bars, heading="Relative errors", text=text)
        signed = ", ".join(path for path in fit.parameters if not fit.relative_error(path))
        if signed:
            yield note(
                f"Not drawn, as they may as well be 0: {signed}; the table of parameters has their errors."
            )
    if grid is not None:
        pairs = [(abs(fit.correlation[i, j]), i, j) for i in range(len(fit.parameters)) for j in range(i)]
        _, i, j = max(pairs)
        paths = list(fit.parameters)
        text = (
            f"The strongest: {paths[j]} and {paths[i]}, {fit.correlation[i, j]:+.3f}. Beyond {TIED} either"
            " way, only their combination is known."
        )
        yield Drawing(figure=grid, heading="Correlations", text=text)
