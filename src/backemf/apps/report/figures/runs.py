"""Figures of simulated runs: one with all that belongs to it, several over each other, a file's run in its
simulator over what was recorded, or planned motions with the errors to expect of their logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ....engine.simulate import Trajectory
from ....errors import InvalidValue
from ....figure import Band, Bars, Curve, Figure, Panel, Region, over_time
from ....planning.plan import ExpectedParameter, Plan
from ....results.fit_result import PredictedMotion
from ....targets.replay import Replay
from .fit_figures import short

COLORS = 7
"""So many runs are told apart by colour; the next as many are dashed."""
MOST = 2 * COLORS


def run(trajectory: Trajectory, title: str, note: str = "") -> Figure:
    """One run: position, torque, current, temperature where it warms, and where the energy went.

    Args:
        trajectory: What was simulated.
        title: Above the figure.
        note: Under it.

    Returns:
        Panels over time.
    """
    place, *others = motion(trajectory, title).panels
    panels = [place, *_command_panels(trajectory), *others]
    if trajectory.energy:
        panels += energy_book(trajectory, title).panels
    return Figure(title=title, panels=[_clear(panel) for panel in panels], note=note)


ASKED = (("velocity", 180.0 / np.pi, "deg/s", "m/s"), ("voltage", 1.0, "V", "V"))
"""What a drive may be asked for beside a position and a current or torque, which are drawn already."""


def _command_panels(trajectory: Trajectory) -> Iterator[Panel]:
    """What was asked, where that is no position, and what came of it."""
    for name, scale, turning, sliding in ASKED:
        target = trajectory.signals.get(f"{name}_target")
        if target is not None:
            rotary = trajectory.actuator.motion == "rotary"
            scale, unit = (scale, turning) if rotary else (1.0, sliding)
            asked = Curve(x=trajectory.time, y=scale * target, label="target", style="thin")
            got = Curve(x=trajectory.time, y=scale * trajectory[name], label=name, color=5)
            yield over_time(f"{name} [{unit}]", asked, got)


def _clear(panel: Panel) -> Panel:
    """Without curves that are 0 throughout beside others; with the names above where there are several."""
    lines = [line for line in panel.lines if np.any(np.nan_to_num(line.y))] or [*panel.lines]
    return replace(panel, lines=lines, legend_above=len(lines) > 1)


def with_band(figure: Figure, motions: Sequence[PredictedMotion]) -> Figure:
    """A run with the band in which a recording of it is to be expected.

    Args:
        figure: Of `run`; its first panel is the position.
        motions: The run as a fit predicts it; none: nothing is added.
    """
    if not motions:
        return figure
    (motion,), (place, *others) = motions, figure.panels
    scale = 180.0 / np.pi if motion.fit.actuator.motion == "rotary" else 1.0
    region = Region(
        x=motion.time,
        low=scale * motion.low[""],
        high=scale * motion.high[""],
        label="95 % of a recording",
        color=0,
    )
    half, unit = 1e3 * motion.band.half(), "mrad" if motion.fit.actuator.motion == "rotary" else "mm"
    off = Region(x=motion.time, low=-half, high=half, label="95 % of a recording", color=0)
    middle = Curve(x=motion.time, y=0.0 * half, color=0)
    below = replace(over_time(f"off by [{unit}]", middle), regions=[off])
    return replace(figure, panels=[replace(place, regions=[region]), below, *others])


def runs(trajectories: Sequence[Trajectory], labels: Sequence[str], title: str, note: str = "") -> Figure:
    """Several runs over each other: position against its target, current, energy taken in, temperature.

    Args:
        trajectories: What was simulated.
        labels: Of each.
        title: Above the figure.
        note: Under it.

    Returns:
        Panels over time, a curve for each run.
    """
    if len(trajectories) > MOST:
        raise InvalidValue(
            f"{len(trajectories)} runs are too many for one picture; expected {MOST} at most: vary less"
        )
    first = trajectories[0]
    rotary = first.actuator.motion == "rotary"
    scale, unit = (180.0 / np.pi, "deg") if rotary else (1.0, "m")

    def curves(name: str, factor: float = 1.0, *, energy: bool = False, named: bool = False) -> list[Curve]:
        return [
            Curve(
                x=one.time,
                y=factor * (one.energy if energy else one.signals)[name],
                label=label if named else "",
                style="solid" if k < COLORS else "dashed",
                color=k % COLORS,
            )
            for k, (one, label) in enumerate(zip(trajectories, labels, strict=True))
        ]

    asked: list[Curve] = []
    if all("position_target" in trajectory.signals for trajectory in trajectories):
        same = all(np.array_equal(one["position_target"], first["position_target"]) for one in trajectories)
        asked = [
            Curve(x=one.time, y=scale * one["position_target"], label="target" * (k == 0), style="thin")
            for k, one in enumerate(trajectories[: 1 if same else None])
        ]
    rows = [
        (f"position [{unit}]", *asked, *curves("position", scale, named=True)),
        ("current [A]", *curves("current")),
    ]
    if all(trajectory.energy for trajectory in trajectories):
        rows.append(("energy taken in [J]", *curves("electrical", energy=True)))
    if all(trajectory.actuator.motor.thermal is not None for trajectory in trajectories):
        rows.append(("winding [degC]", *curves("temperature")))
    panels = [over_time(label, *lines) for label, *lines in rows]
    return Figure(title=title, panels=[replace(panels[0], legend_above=True), *panels[1:]], note=note)


MOST_CASES = 6
"""Of a replay, in one picture."""


def replay_figure(run: Replay, title: str, motions: Sequence[PredictedMotion] = ()) -> Figure:
    """What was asked, recorded, run in the simulator and by backemf, one panel a case.

    Args:
        run: The replay.
        title: Above the figure.
        motions: Recordings that a fit never saw, as it predicts them: their bands are drawn.

    Returns:
        A panel for each case.
    """
    expected = {motion.log.name: motion for motion in motions}
    scale, unit = (180.0 / np.pi, "deg") if run.unit == "rad" else (1.0, run.unit)
    panels = []
    for case in run.cases[:MOST_CASES]:
        shown = {
            "target": (case.asked, "thin", None),
            "recording": (case.measured, "dots", 1),
            run.simulator: (case.target, "solid", 0),
            "backemf": (case.native, "dashed", 2),
        }
        lines = [
            Curve(x=case.time[seen], y=scale * y[seen], label=label, style=style, color=color)
            for label, (y, style, color) in shown.items()
            if y is not None
            for seen in [np.isfinite(y)]
        ]
        name = f"{case.name}: " if len(run.cases) > 1 else ""
        panel = replace(over_time(f"{name}position [{unit}]", *lines), legend_above=True)
        motion = expected.get(case.name)
        if motion is not None:
            sides = {"low": scale * motion.low[""], "high": scale * motion.high[""]}
            region = Region(x=motion.time - motion.time[0], **sides, label="95 % band", color=2)
            panel = replace(panel, regions=[region])
        panels.append(panel)
    n = len(run.cases)
    note = run.differences() + (f"; the first {MOST_CASES} of {n} motions" if n > MOST_CASES else "")
    return Figure(title=title, panels=panels, note=note)


def motion(trajectory: Trajectory, title: str, bands: Sequence[Band] = ()) -> Figure:
    """Position against its target, torque and current, and temperature over time.

    Args:
        trajectory: What was simulated.
        title: Above the figure.
        bands: Stretches of time to shade.

    Returns:
        Panels over time.
    """
    s: Any = trajectory.signals
    t, rotary = trajectory.time, trajectory.actuator.motion == "rotary"
    scale, unit, effort = (180.0 / np.pi, "deg", "torque [N m]") if rotary else (1.0, "m", "force [N]")
    place = [Curve(x=t, y=scale * s["position"], label="position")]
    if "position_target" in s:
        on = s["enabled"] > 0.5 if "enabled" in s else True
        target = np.where(on, s["position_target"], np.nan)
        place.insert(0, Curve(x=t, y=scale * target, label="target", style="thin"))
    needed = -trajectory.bench.load(s["position"], s["velocity"], s) * np.ones_like(t)
    rows = [
        (f"position [{unit}]", *place),
        (
            effort,
            Curve(x=t, y=s["torque"], label="motor"),
            Curve(x=t, y=needed, label="needed against the load", style="dashed"),
        ),
        ("current [A]", Curve(x=t, y=s["current"], label="current", color=2)),
    ]
    if "temperature" in s:
        rows.append(("temperature [degC]", Curve(x=t, y=s["temperature"], label="winding", color=3)))
    return Figure(title=title, panels=[over_time(label, *lines, bands=bands) for label, *lines in rows])


def energy_book(trajectory: Trajectory, title: str, until: float = np.inf) -> Figure:
    """Where the electrical energy went, over time."""
    shown = trajectory.time <= until
    t, e = trajectory.time[shown], {name: series[shown] for name, series in trajectory.energy.items()}
    names = {
        "electrical": "taken in",
        "copper": "winding heat",
        "friction": "friction",
        "gear": "gear loss",
        "iron": "iron loss",
        "conversion": "lost in conversion",
        "load": "given to the load",
    }
    least = 1e-6 * np.max(np.abs(e["electrical"]))  # what is below is rounding, and not worth a curve
    lines = [
        Curve(x=t, y=e[k], label=label, style="solid" if k != "electrical" else "dashed")
        for k, label in names.items()
        if np.max(np.abs(e[k])) > least
    ]
    lines.append(Curve(x=t, y=e["stored"] - e["stored"][0], label="stored", color=4))
    return Figure(title=title, panels=[over_time("energy [J]", *lines)])


def stick_slip(trajectory: Trajectory, title: str) -> Figure:
    """Position and velocity of a slow motion, where sticking shows."""
    t, s = trajectory.time, trajectory.signals
    scale = 180.0 / np.pi
    target = Curve(x=t, y=scale * s["position_target"], label="target", style="thin")
    position = Curve(x=t, y=scale * s["position"], label="position")
    velocity = Curve(x=t, y=scale * s["velocity"], label="velocity", color=1)
    panels = [over_time("position [deg]", target, position), over_time("velocity [deg/s]", velocity)]
    return Figure(title=title, panels=panels)


PAUSE = 0.4
"""Between two motions in the drawing [s]: the recorder ramps to the start of the next."""
MOST_ERROR = 150.0
"""Where the bars of errors end [%]."""


def plan_figure(plan: Plan) -> Figure:
    """Positions and currents of all motions, one after the other; below, the errors to expect."""
    if plan.joints:
        return _robot_plan_figure(plan)
    t, target, position, current, bands = [], [], [], [], []
    start = 0.0
    for k, one in enumerate(plan.foreseen):
        t += [*(start + one.time), np.nan]
        target += [*np.where(one.enabled > 0.5, one.target, np.nan), np.nan]
        position += [*one.position, np.nan]
        current += [*one.current, np.nan]
        end = start + float(one.time[-1])
        bands.append(Band(low=start, high=end, label=f"{k + 1}"))
        start = end + PAUSE
    plain = [replace(band, label="") for band in bands]  # the legend stands there
    played = ", ".join(one.name for one in plan.foreseen)
    curves = [
        Curve(x=t, y=np.degrees(target), label="asked", style="thin"),
        Curve(x=t, y=np.degrees(position), label="expected"),
    ]
    panels = [
        Panel(lines=curves, x_label="time [s]", y_label="position [deg]", bands=plain, legend_above=True),
        Panel(
            lines=[Curve(x=t, y=current, color=2)],
            x_label="time [s]",
            y_label="current [A]",
            bands=bands,
            note=played,
        ),
        _errors(plan),
    ]
    title = f"{len(plan.foreseen)} motions, {plan.seconds:.1f} s, and what their logs will tell"
    return Figure(title=title, panels=panels, shared_x=False)


def _robot_plan_figure(plan: Plan) -> Figure:
    """The same of a robot: a curve for each joint."""
    begins, bands, start = dict[str, float](), [], 0.0
    for k, motion in enumerate(plan.motions.motions):
        begins[motion.name] = start
        bands.append(Band(low=start, high=start + motion.duration, label=f"{k + 1}"))
        start += motion.duration + PAUSE

    def curves(scale: float, signal: str) -> list[Curve]:
        made = []
        for k, joint in enumerate(plan.joints):
            mine = sorted(
                (one for one in plan.foreseen if one.joint == joint), key=lambda one: begins[one.name]
            )
            t = np.concatenate([[*(begins[one.name] + one.time), np.nan] for one in mine])
            y = np.concatenate([[*(scale * getattr(one, signal)), np.nan] for one in mine])
            made.append(Curve(x=t, y=y, label=joint if signal == "position" else "", color=k % COLORS))
        return made

    place, current = curves(180.0 / np.pi, "position"), curves(1.0, "current")
    plain = [replace(band, label="") for band in bands]
    played = ", ".join(motion.name for motion in plan.motions.motions)
    panels = [
        Panel(lines=place, x_label="time [s]", y_label="position [deg]", bands=plain, legend_above=True),
        Panel(lines=current, x_label="time [s]", y_label="current [A]", bands=bands, note=played),
        _errors(plan),
    ]
    title = (
        f"{len(bands)} motions, {plan.seconds:.0f} s, and what their logs will tell of {len(place)} joints"
    )
    return Figure(title=title, panels=panels, shared_x=False)


def _errors(plan: Plan) -> Panel:
    """Bars of the expected errors, of a robot those of the joint that is told worst; those that stay untold
    in another colour."""
    worst: dict[str, ExpectedParameter] = {}
    for p in plan.parameters:
        if p.path not in worst or p.relative_error > worst[p.path].relative_error:
            worst[p.path] = p
    rows = list(worst.values())
    names = [f"{short(p.path)} ({p.joint})" if p.joint else short(p.path) for p in rows]
    values = [min(100.0 * p.relative_error, MOST_ERROR) for p in rows]
    colors = [0 if p.determined else 1 for p in rows]
    who = "error to expect, joint told worst" if plan.joints else "error to expect"
    return Panel(
        x_label=f"{who} [% of the value], at most {MOST_ERROR:g} shown; the second colour stays untold",
        y_label="",
        x_log=True,
        bars=Bars(names=names, values=values, colors=colors),
    )
