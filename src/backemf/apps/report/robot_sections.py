"""The sections of a report that only a robot has: all joints together, where it touched, joint by joint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...figure import (
    Band,
    Bars,
    Block,
    Curve,
    Drawing,
    Figure,
    Panel,
    Paragraph,
    Region,
    Table,
    hold_curve,
    missing,
    note,
    over_time,
)
from ...results.fit_result import Fit
from ...tables import interval, number
from .behaviour import friction, prediction_blocks
from .contents import JointReport, Report
from .robot_runs import RobotRun, RobotRuns

MOST_TOUCHES = 6
"""Touches of one recording that are listed."""
GIVE_LOGS = "give the recordings: backemf report FIT LOGS..."


def milli(x: float | None) -> str:
    """A small position [rad or m] in thousandths; a dash where there is none."""
    return "-" if x is None else f"{1e3 * x:.3g}"


def joints_together(report: Report, robot: RobotRuns) -> Iterator[Block]:
    """How far off all joints are when they are simulated together, before and after."""
    score, shipped, unit = robot.score, robot.shipped, report.unit
    rows = []
    for name, joint in report.fit.joints.items():
        alone = joint.held_out_mae if joint.held_out_mae is not None else joint.training_mae
        old = None if shipped is None else shipped.joints.get(name)
        numbers = (old, score.joints.get(name), score.joints_free.get(name), alone)
        rows.append((name, *map(milli, numbers)))
    last = None if shipped is None else shipped.rms
    rows.append(("all", milli(last), milli(score.rms), milli(score.rms_free), "-"))
    head = (
        "joint",
        f"as shipped [{unit}]",
        f"identified [{unit}]",
        f"in the air [{unit}]",
        f"alone [{unit}]",
    )
    n, where = len(score.logs), "not fitted" if score.held_out else "fitted"
    yield Table(head=head, rows=rows, caption=f"Root mean square over {n} recording{'s' * (n != 1)} {where}")
    yield Drawing(figure=_bars(robot, unit), text="Red as shipped, green as identified." if shipped else "")
    through = "from the first sample of a recording to its last, by nothing but the commands"
    if score.stretch:
        through = (
            f"over {score.stretch:g} s each from the recorded state, since nothing holds joints that torque"
            " drives"
        )
    yield note(
        f"All joints are simulated at once, each with its whole actuator attached to MuJoCo, {through}. In"
        " the air: without the samples in which the robot touches something. Alone: each joint by itself"
        " along the others' recorded motion, never in contact, mean absolute; all together, what one joint or"
        f" a touch gets wrong moves the others{'' if score.stretch else ', and no joint is ever put right'}."
    )


def _bars(robot: RobotRuns, unit: str) -> Figure:
    """Every joint's error before and after, on one scale."""
    pairs = [(robot.shipped, "shipped", 3), (robot.score, "identified", 2)]
    rows = [
        (f"{name}, {word}" if robot.shipped else name, 1e3 * score.joints[name], color)
        for name in robot.score.joints
        for score, word, color in pairs
        if score is not None and name in score.joints
    ]
    names, values, colors = zip(*rows, strict=True)
    bars = Bars(names=names, values=values, colors=colors)
    panel = Panel(bars=bars, x_label=f"error [{unit}]", y_label="")
    return Figure(title="Before and after", panels=[panel])


def recordings(report: Report, robot: RobotRuns) -> Iterator[Block]:
    """Each recording, and how far off it is."""
    rows = []
    for run in robot.runs:
        span = float(run.time[-1] - run.time[0])
        share = f"{100 * float(np.mean(run.motion.touched)):.0f} %"
        used = run.motion.role.replace("training", "fitted")
        errors = (run.shipped_rms, run.motion.rms(), run.motion.rms(free=True))
        rows.append((run.name, used, f"{span:.3g}", share, *map(milli, errors)))
    if not rows:
        yield missing(f"No recordings to simulate; {GIVE_LOGS}.")
        return
    u = report.unit
    names = (f"as shipped [{u}]", f"identified [{u}]", f"in the air [{u}]")
    yield Table(head=("recording", "used for", "length [s]", "touching", *names), rows=rows)


def contact(report: Report, robot: RobotRuns) -> Iterator[Block]:
    """The ground, and when and where the robot touched something."""
    ground = robot.robot.ground
    if ground is None:
        yield Paragraph(text="No table or floor was told or found.")
    else:
        how = "as told" if not ground.error else f"found to {1e3 * ground.error:.2g} mm"
        side = "above" if ground.height >= 0 else "below"
        yield Paragraph(
            text=f"A plane {1e3 * abs(ground.height):.3g} mm {side} the origin of the model ({how}), on which"
            f" things slide with a friction of {ground.friction:.2g}. Samples in contact are not fitted; the"
            " simulation has the plane."
        )
    rows = [row for run in robot.runs if (row := _touches(run)) is not None]
    if rows:
        yield Table(
            head=("recording", "touching [s]", "when [s]", "where: x, y, z of the lowest point [mm]"),
            rows=rows,
        )


def _touches(run: RobotRun) -> tuple[str, ...] | None:
    """When and where a recording touches something; None where it never does."""
    touches = run.contacts()
    if not touches:
        return None
    longest = sorted(sorted(touches, key=lambda c: c[0] - c[1])[:MOST_TOUCHES])
    when = ", ".join(f"{begin:.1f} to {end:.1f}" for begin, end, _ in longest)
    left = len(touches) - len(longest)
    spent = sum(end - begin for begin, end, _ in touches)
    place = "-"
    if run.point is not None:
        low, high = np.percentile(1e3 * run.point[run.motion.touched], [5, 95], axis=0)
        place = ", ".join(f"{a:.0f} to {b:.0f}" for a, b in zip(low, high, strict=True))
    return run.name, f"{spent:.1f}", when + (f" and {left} shorter" if left else ""), place


def _parameters(fit: Fit, only: Sequence[str]) -> Table:
    rows = []
    for path in only:
        p = fit.parameters[path]
        right = "-" if p.error_if_right is None else number(p.error_if_right, 2)
        rows.append(
            (path, number(p.value), number(p.error, 2), right, interval(p.low, p.high), p.unit, p.told_by)
        )
    for late in fit.bench:
        rows.append((late.path, number(late.value, 3), number(late.error, 2), "-", "-", late.unit, "data"))
    head = ("parameter", "value", "error", "if the model is right", "95 % interval", "unit", "told by")
    return Table(head=head, rows=rows)


def _common(fit: Fit) -> list[str]:
    """Paths that the whole fit has once for all joints."""
    owned = tuple(f"{joint}." for joint in fit.joints)
    return [name for name in fit.parameters if not name.startswith(owned)]


def shared_numbers(report: Report, robot: RobotRuns) -> Iterator[Block]:
    """Numbers that several joints have in common."""
    common = {path: report.fit.parameters[path] for path in _common(report.fit)}
    rows = [
        (path, number(p.value), number(p.error, 2), interval(p.low, p.high), p.unit, p.told_by)
        for path, p in common.items()
    ]
    if not rows:
        yield Paragraph(text="Nothing: each joint has every number of its own.")
        return
    yield Table(head=("parameter", "value", "error", "95 % interval", "unit", "told by"), rows=rows)
    yield note(
        "One number for all joints that the robot's model calls equal. Errors are standard errors, by how"
        " much the recordings disagree with each other."
    )


def joint(report: Report, one: JointReport) -> Iterator[Block]:
    """A robot's joint: together with the others, by itself, its friction and its own numbers."""
    assert report.robot is not None
    run = report.robot.worst_run(one.name)
    if run is not None:
        yield Drawing(
            figure=_before_and_after(run, one.name, report.unit),
            heading=f"{run.name} ({run.motion.role})" if run.unseen else run.name,
            text="The recording on which this joint is worst; grey where the robot touches something.",
        )
        yield from prediction_blocks(one, "stated" if report.sheet is None else "the datasheet")
    else:
        yield missing(f"No recordings to draw; {GIVE_LOGS}.")
    yield from friction(report, one)
    shared_paths = set(_common(report.fit))
    own = [path for path in one.fit.parameters if path not in shared_paths]
    if own or one.fit.bench:
        yield _parameters(one.fit, own)
    shipped = report.robot.robot.joint(one.name).shipped
    if shipped:
        words = ", ".join(f"{k} {number(v)}" for k, v in shipped.items() if v)
        yield note(f"The model as shipped: {words}.")


def _before_and_after(run: RobotRun, name: str, unit: str) -> Figure:
    """What was asked, recorded and simulated of one joint, and what is left before and after."""
    motion, t = run.motion, run.time - run.time[0]
    recorded, after = motion.recorded[name], motion.positions[name]
    bands = [Band(low=a - run.time[0], high=b - run.time[0]) for a, b, _ in run.contacts()]
    lines = [
        Curve(x=t, y=recorded, label="recorded", color=0),
        Curve(x=t, y=after, label="identified", style="dashed", color=2),
    ]
    if name in motion.asked:
        x, y = hold_curve(t, motion.asked[name])
        lines.insert(0, Curve(x=x, y=y, label="target", style="thin"))
    errors = [Curve(x=t, y=1e3 * (after - recorded), label="identified", color=2)]
    if run.shipped is not None:
        errors.insert(0, Curve(x=t, y=1e3 * (run.shipped[name] - recorded), label="as shipped", color=3))
    place = over_time(f"position [{unit[1:]}]", *lines, bands=bands)
    around, about = [], []
    if motion.has_band:
        half = motion.band.half(name)
        around = [Region(x=t, low=after - half, high=after + half, label="95 % band", color=2)]
        about = [Region(x=t, low=-1e3 * half, high=1e3 * half, color=2)]
    panels = [
        replace(place, legend_above=True, regions=around),
        replace(over_time(f"error [{unit}]", *errors, bands=bands), legend_above=True, regions=about),
    ]
    return Figure(title=name, panels=panels)


def robot_file(report: Report, robot: RobotRuns) -> Iterator[Block]:
    """What the robot's own model does with these actuators in it."""
    edited = robot.edited
    if edited is None:
        yield missing(f"Not made: {robot.no_file}.")
        return
    rows = [one.row() for one in edited.together]
    if rows:
        u = report.unit
        head = ("recording", f"model before [{u}]", f"model after [{u}]", f"the fit itself [{u}]")
        yield Table(head=head, rows=rows)
    yield Paragraph(text=edited.exports[0].ran)
    changes = [line for line in edited.changes if not line.startswith("joint ")]
    yield note("; ".join(changes) + ".")
    lost = dict.fromkeys(e.text for export in edited.exports for e in (*export.dropped, *export.approximated))
    yield note(f"What the file cannot hold: {'; '.join(lost) or 'nothing'}.")
