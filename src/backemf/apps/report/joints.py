"""The sections of a robot's report: all joints together, where it touched, then joint by joint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...figure import Band, Bars, Curve, Figure, Panel, held, over_time
from ...results.fit import Fit
from ...tables import interval, number
from ...figure import Block, Drawing, Findings, Paragraph, Section, Table, missing, note
from .figures.fit import ladder_bars
from .figures.friction import friction_band
from .joint_blocks import joint_blocks
from .robot_contents import RobotReport, Run

MOST_TOUCHES = 6
"""Touches of one recording that are listed."""
SLIGHT = 0.01
"""Share of the greatest load of any joint below which a joint carries none."""
TALL = 3.0
"""Times the friction itself up to which its band is drawn."""
GIVE_LOGS = "give the recordings: backemf report FIT LOGS..."


def sections(report: RobotReport) -> list[Section]:
    """The whole report, in order."""
    parts = [
        ("verdict", "Verdict", _verdict(report)),
        ("together", "All joints together", _together(report)),
        ("recordings", "Recordings", _recordings(report)),
        ("contact", "Contact", _contact(report)),
        ("shared", "What the joints share", _shared(report)),
        *((f"joint-{name}", name, _joint(report, name)) for name in report.fit.joints),
        ("agreement", "Do the recordings agree", _agreement(report)),
        ("findings", "Findings", _findings(report)),
        ("file", "The robot's own file", _file(report)),
    ]
    return [Section(key=key, title=title, blocks=tuple(blocks)) for key, title, blocks in parts]


def _milli(x: float | None) -> str:
    return "-" if x is None else f"{1e3 * x:.3g}"


def _verdict(report: RobotReport) -> Iterator[Block]:
    first, *rest = report.verdict
    yield Paragraph(text=first, kind=f"lead {report.level}")
    yield Paragraph(text=" ".join(rest))


def _together(report: RobotReport) -> Iterator[Block]:
    score, shipped, unit = report.score, report.shipped, report.unit
    rows = []
    for name, one in report.fit.joints.items():
        alone = one.held_out_mae if one.held_out_mae is not None else one.training_mae
        old = None if shipped is None else shipped.joints.get(name)
        numbers = (old, score.joints.get(name), score.joints_free.get(name), alone)
        rows.append((name, *map(_milli, numbers)))
    last = None if shipped is None else shipped.rms
    rows.append(("all", _milli(last), _milli(score.rms), _milli(score.rms_free), "-"))
    head = (
        "joint",
        f"as shipped [{unit}]",
        f"identified [{unit}]",
        f"in the air [{unit}]",
        f"alone [{unit}]",
    )
    where = "held out" if score.held_out else "that were fitted"
    yield Table(head=head, rows=rows, caption=f"Root mean square over {len(score.logs)} recordings {where}")
    yield Drawing(figure=_bars(report), text="Red as shipped, green as identified." if shipped else "")
    yield note(
        "All joints are simulated at once, each with its whole actuator attached to MuJoCo, from the first"
        " sample of a recording to its last, by nothing but the commands. In the air: without the samples in"
        " which the robot touches something. Alone: each joint by itself along the others' recorded motion,"
        " never in contact, mean absolute; all together, what one joint or a touch gets wrong moves the"
        " others, and no joint is ever put right."
    )


def _bars(report: RobotReport) -> Figure:
    """Every joint's error before and after, on one scale."""
    pairs = [(report.shipped, "shipped", 3), (report.score, "identified", 2)]
    rows = [
        (f"{name}, {word}" if report.shipped else name, 1e3 * score.joints[name], color)
        for name in report.fit.joints
        for score, word, color in pairs
        if score is not None and name in score.joints
    ]
    names, values, colors = zip(*rows, strict=True)
    bars = Bars(names=names, values=values, colors=colors)
    panel = Panel(bars=bars, x_label=f"error [{report.unit}]", y_label="")
    return Figure(title="Before and after", panels=[panel])


def _recordings(report: RobotReport) -> Iterator[Block]:
    places = [report.place(name) for name in report.fit.joints]
    rows = []
    for run in report.runs:
        span = float(run.time[-1] - run.time[0])
        share = f"{100 * float(np.mean(run.touched)):.0f} %"
        used = "held out" if run.held_out else "fitted"
        errors = (run.off(places, "before"), run.off(places), run.off(places, free=True))
        rows.append((run.name, used, f"{span:.3g}", share, *map(_milli, errors)))
    if not rows:
        yield missing(f"No recordings to simulate; {GIVE_LOGS}.")
        return
    u = report.unit
    names = (f"as shipped [{u}]", f"identified [{u}]", f"in the air [{u}]")
    yield Table(head=("recording", "used for", "length [s]", "touching", *names), rows=rows)


def _contact(report: RobotReport) -> Iterator[Block]:
    ground = report.robot.ground
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
    rows = []
    for run in report.runs:
        touches = run.contacts()
        if not touches:
            continue
        longest = sorted(sorted(touches, key=lambda c: c[0] - c[1])[:MOST_TOUCHES])
        when = ", ".join(f"{begin:.1f} to {end:.1f}" for begin, end, _ in longest)
        left = len(touches) - len(longest)
        spent = sum(end - begin for begin, end, _ in touches)
        points = None if run.point is None else 1e3 * run.point[run.touched]
        place = "-"
        if points is not None:
            low, high = np.percentile(points, [5, 95], axis=0)
            place = ", ".join(f"{a:.0f} to {b:.0f}" for a, b in zip(low, high, strict=True))
        rows.append((run.name, f"{spent:.1f}", when + (f" and {left} shorter" if left else ""), place))
    if rows:
        yield Table(
            head=("recording", "touching [s]", "when [s]", "where: x, y, z of the lowest point [mm]"),
            rows=rows,
        )


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


def _common(report: RobotReport) -> list[str]:
    """Paths that the whole fit has once for all joints."""
    owned = tuple(f"{joint}." for joint in report.fit.joints)
    return [name for name in report.fit.parameters if not name.startswith(owned)]


def _shared(report: RobotReport) -> Iterator[Block]:
    shared = [path for path in _common(report) if path in report.fit.parameters]
    if not shared:
        yield Paragraph(text="Nothing: each joint has every number of its own.")
        return
    whole = report.fit
    rows = [
        (path, number(p.value), number(p.error, 2), interval(p.low, p.high), p.unit, p.told_by)
        for path, p in ((path, whole.parameters[path]) for path in shared)
    ]
    yield Table(head=("parameter", "value", "error", "95 % interval", "unit", "told by"), rows=rows)
    yield note(
        "One number for all joints that the robot's model calls equal. Errors are standard errors, by how"
        " much the recordings disagree with each other."
    )


def _joint(report: RobotReport, name: str) -> Iterator[Block]:
    fit, shared = report.fit.joints[name], set(_common(report))
    own = [path for path in fit.parameters if path not in shared]
    run = _shown(report, name)
    if run is not None:
        yield Drawing(
            figure=before_and_after(report, run, name),
            heading=f"{run.name}{' (held out)' if run.held_out else ''}",
            text="The recording on which this joint is worst; grey where the robot touches something.",
        )
        if name in run.alone:
            yield from joint_blocks(fit, [run.alone[name]])
    else:
        yield missing(f"No recordings to draw; {GIVE_LOGS}.")
    load, fastest = _met(report, name)
    yield Drawing(
        figure=_readable(friction_band(fit, load, fastest, "Friction")),
        heading="Friction over speed",
        text="With its 95 % band, which may go on beyond the picture; grey: faster than the recordings went.",
    )
    if own or fit.bench:
        yield _parameters(fit, own)
    said = report.robot.joint(name).shipped
    if said:
        words = ", ".join(f"{k} {number(v)}" for k, v in said.items() if v)
        yield note(f"The model as shipped: {words}.")


def _readable(figure: Figure) -> Figure:
    """With an axis for the curves: the band of a number that nobody knows would hide them."""
    (panel,) = figure.panels
    curves = max(float(np.max(np.abs(line.y))) for line in panel.lines)
    bands = max(float(np.max(np.abs(side))) for r in panel.regions for side in (r.low, r.high))
    top = 1.1 * min(bands, TALL * curves)
    return replace(figure, panels=[replace(panel, y_range=(-top, top))])


def _shown(report: RobotReport, name: str) -> Run | None:
    judged = [run for run in report.runs if run.held_out] or report.runs
    place = [report.place(name)]
    return max(judged, key=lambda run: run.off(place) or 0.0, default=None)


def before_and_after(report: RobotReport, run: Run, name: str) -> Figure:
    """What was asked, recorded and simulated of one joint, and what is left before and after."""
    j, t, unit = report.place(name), run.time - run.time[0], report.unit
    bands = [Band(low=a - run.time[0], high=b - run.time[0]) for a, b, _ in run.contacts()]
    lines = [
        Curve(x=t, y=run.recorded[:, j], label="recorded", color=0),
        Curve(x=t, y=run.after[:, j], label="identified", style="dashed", color=2),
    ]
    if name in run.asked:
        x, y = held(t, run.asked[name])
        lines.insert(0, Curve(x=x, y=y, label="target", style="thin"))
    errors = [Curve(x=t, y=1e3 * (run.after[:, j] - run.recorded[:, j]), label="identified", color=2)]
    if run.before is not None:
        old = Curve(x=t, y=1e3 * (run.before[:, j] - run.recorded[:, j]), label="as shipped", color=3)
        errors.insert(0, old)
    panels = [
        replace(over_time(f"position [{unit[1:]}]", *lines, bands=bands), legend_above=True),
        replace(over_time(f"error [{unit}]", *errors, bands=bands), legend_above=True),
    ]
    return Figure(title=name, panels=panels)


def _met(report: RobotReport, name: str) -> tuple[float, float | None]:
    """A load and a speed that the joint met, a few outliers aside."""
    if not report.runs:
        return 0.0, None
    j = report.place(name)
    speeds = np.concatenate([np.gradient(run.recorded[:, j], run.time) for run in report.runs])
    loads = np.concatenate([run.load[:, j] for run in report.runs])
    fastest = float(np.nanpercentile(np.abs(speeds), 99.5)) or None
    usual = float(f"{np.nanpercentile(np.abs(loads), 90):.2g}")
    most = max(float(np.nanmax(np.abs(run.load))) for run in report.runs)
    return usual if usual > SLIGHT * most else 0.0, fastest


def _agreement(report: RobotReport) -> Iterator[Block]:
    told = {
        name: (p, p.error / p.error_if_right)
        for name, p in report.fit.parameters.items()
        if p.error_if_right and p.told_by != "prior"
    }
    cells = [
        (
            name,
            number(p.value),
            number(p.error, 2),
            number(p.error_if_right or 0.0, 2),
            f"{ratio:.2g}",
            p.unit,
        )
        for name, (p, ratio) in sorted(told.items(), key=lambda one: -one[1][1])
    ]
    if cells:
        head = ("parameter", "value", "as recordings disagree", "if the model is right", "ratio", "unit")
        yield Table(head=head, rows=cells)
    yield note(
        "Both are standard errors. The first comes from how far each recording by itself would move the"
        " number, the second from noise alone: a large ratio says that the motions want different numbers, so"
        " that the model lacks something that they have. Shown are numbers that the recordings tell."
    )


def _findings(report: RobotReport) -> Iterator[Block]:
    fit = report.fit
    found = [*fit.findings, *(report.edited.findings if report.edited is not None else ())]
    if found:
        yield Findings(findings=found)
    else:
        yield Paragraph(text="The fit found nothing that needs a remedy.")
    if fit.rungs:
        bars = ladder_bars(fit.rungs, report.unit, "Friction ladder")
        if bars is not None:
            yield Drawing(figure=bars, heading="Friction ladder", text=f"Judged on {fit.judged_on}.")


def _file(report: RobotReport) -> Iterator[Block]:
    if report.edited is None:
        yield missing(f"Not made: {report.no_file}.")
        return
    rows = [one.row() for one in report.edited.together]
    if rows:
        u = report.unit
        head = ("recording", f"model before [{u}]", f"model after [{u}]", f"the fit itself [{u}]")
        yield Table(head=head, rows=rows)
    yield Paragraph(text=report.edited.exports[0].ran)
    changes = [line for line in report.edited.changes if not line.startswith("joint ")]
    yield note("; ".join(changes) + ".")
    lost = dict.fromkeys(e.text for one in report.edited.exports for e in (*one.dropped, *one.approximated))
    yield note(f"What the file cannot hold: {'; '.join(lost) or 'nothing'}.")
