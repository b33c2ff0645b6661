"""`backemf demo`: a simulated servo and its story, then the whole flow from recordings to a report,
with no hardware."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from ...options import FOLDER, Answer, Terminal, option, options
from ..cli.command_builder import command
from ..cli.inputs import CommandWords
from ..cli.terminal import pick, under, working

if TYPE_CHECKING:
    from ...logs.log import Log
    from ...results.fit_result import Fit

MARK = "written-by-backemf-demo.txt"
"""A file in the demo's folder that says whose it is: only then is anything in it written over."""


class DemoResult(NamedTuple):
    """What the demo ends with."""

    files: list[Path]
    fit: Fit | None = None


@options
class DemoWords(CommandWords):
    """What one may ask of `demo`."""

    output: Path = option(
        default=Path("out"),
        help="A folder of its own for everything that is made.",
        cli="--output -o",
        writes=FOLDER,
    )


@command(DemoWords, has_findings=False)
def demo(options: DemoWords, terminal: Terminal) -> Answer:
    """Run the demonstration: no hardware, everything simulated.

    Example: backemf demo --output out
    """
    _claim(options.output)
    # one object on stdout, the story beside it
    with contextlib.redirect_stdout(sys.stderr) if terminal.quiet else contextlib.nullcontext():
        files, fit = _tell(options.output)

    def content() -> dict[str, Any]:
        numbers = {path: pick(p, "value error unit") for path, p in fit.parameters.items()} if fit else {}
        return {"files": files, "parameters": numbers, "held_out_mae": fit and fit.held_out_mae}

    return Answer(content=content, text=lambda: "")


def _claim(output: Path) -> None:
    """Take a folder, new, empty or of an earlier demo."""
    from ...errors import BackemfError
    from ...files import write_all

    mark = output / MARK
    if output.exists() and not output.is_dir():
        raise BackemfError(f"{output} is a file; give a folder with --output")
    if output.is_dir() and any(output.iterdir()) and not mark.exists():
        strange = f"the folder {str(output)!r} has files that are not of the demo"
        raise BackemfError(f"{strange}; give another folder with --output")
    output.mkdir(parents=True, exist_ok=True)
    note = "Everything in this folder was written by `backemf demo`, which writes over it.\n"
    write_all({mark: note}, force=True)


def _tell(output: Path) -> DemoResult:
    import numpy as np

    from ... import tables
    from ...engine.simulate import simulate
    from ...signal import held, sine
    from ..report.figures import runs as figures
    from ..report.figures.draw import save
    from . import story

    say, servo, bench = typer.echo, story.servo(), story.BENCH
    say("A simulated servo on a pendulum bench. Nothing here was recorded: every number below is computed.\n")

    times, targets = zip(*story.TARGETS, strict=True)
    enabled = held(np.array([0.0, story.CUT]), np.array([1.0, 0.0]))
    asked = {"position_target": held(np.array(times), np.array(targets)), "enabled": enabled}
    run = simulate(servo, bench, asked, duration=story.END, dt=0.005, energy=True)
    header = ("time [s]", "what happens", "angle [deg]", "current [A]", "winding [degC]")
    say(tables.table(story.rows(run), header))

    e = {name: float(values[-1]) for name, values in run.energy.items()}
    stored, taken = e["stored"] - run.energy["stored"][0], e["electrical"]
    lost = sum(e[k] for k in ("copper", "iron", "conversion", "friction", "gear", "load"))
    say(
        f"\nEnergy: {taken:.2f} J taken in = {e['copper']:.2f} winding heat + {e['friction']:.2f} friction +"
        f" {e['gear']:.2f} gear loss + {stored:.2f} stored; the book closes to"
        f" {abs(taken - lost - stored) / taken:.0e}."
    )
    say(
        f"Integrated with {run.substeps} substeps per 5 ms sample; halving the step moves the arm by"
        f" {1e3 * (run.refinement or 0):.3f} mrad at most."
    )

    lazy = sine(0.35, 0.05, offset=0.4)
    slow = simulate(servo, bench, lazy, duration=30.0, dt=0.005, start={"position": 0.4})
    still = float(np.mean(slow.velocity == 0.0))
    say(
        f"Following a slow sine it stands still {100 * still:.0f} % of the time (velocity exactly 0), then"
        " jumps: stick-slip.\n"
    )

    later = _identify_and_export(output)
    recorded = _plan_and_record(output)
    lift = "A servo lifts, holds, heats up, slips, falls and sticks (simulated)"
    pictures = {
        "lift": figures.motion(run, lift, story.bands(run)),
        "stick-slip": figures.stick_slip(slow, "Stick-slip while following a slow sine (simulated)"),
        "energy": figures.energy_book(run, "Where the energy of the lift went (simulated)", until=1.6),
    }
    saved = [*(save(figure, output / f"{name}.png") for name, figure in pictures.items())]
    saved += [*later.files, *recorded]
    for path in saved:
        say(f"wrote {path}")
    return DemoResult(saved, later.fit)


def _identify_and_export(output: Path) -> DemoResult:
    """Record, check, fit, compare with the truth, export to MuJoCo and replay there."""
    from ... import tables
    from ...identify.check import check
    from ...identify.ladder import ladder
    from ...identify.predict import run
    from ...logs.read import read
    from ...planning import example_servo as recordings
    from ..cli.identify import best_so_far
    from ..report import html
    from ..report.contents import report
    from ..report.figures import fit_figures as figures
    from ..report.figures.draw import save

    report_progress = typer.echo
    report_progress(
        "Now a bench: eight recordings of a servo whose numbers we know, simulated and written to files with"
        " jitter, noise,\na 12-bit encoder and a 6 ms delay. The fit sees the files only.\n"
    )
    recordings.record(output / "logs")
    logs, start, servo = read(output / "logs"), recordings.start(), recordings.truth()
    report_progress(f"{check(start, logs)}\n")
    with working("fitting") as note:
        options = {"hold_out": {"gain": 16}, "delay": True, "n_starts": 2, "progress": best_so_far(note)}
        steps = ladder(start, logs, rungs=("coulomb", "stribeck", "m4"), **options)
    fit = steps.fit
    truth = {**servo.parameters, "drive.delay": recordings.DELAY}
    report_progress(f"{steps}\n")
    rows = []
    for p in fit.parameters.values():
        true = tables.number(truth[p.path]) if p.path in truth else "-"
        inside = "yes" if p.low <= truth.get(p.path, p.value) <= p.high else "no"
        rows.append((p.path, true, tables.number(p.value), tables.number(p.error, 2), p.unit, inside))
    report_progress(tables.table(rows, ("parameter", "truth", "found", "error", "unit", "truth in 95 %")))
    off, noise = 1e3 * (fit.held_out_mae or 0.0), 1e3 * fit.noise_floor
    report_progress(
        f"\nOn logs it never saw the model is off by {off:.2f} mrad on average; the noise alone would give"
        f" {noise:.2f}.\n"
    )
    fit.write(output / "fit.json", force=True)
    judged = [log for log in logs if log.name in fit.held_out]
    both = f"{judged[0].name}, held out: recorded (simulated) and predicted"
    held = "Friction while holding a load: found and true"
    pictures = {
        "prediction": figures.measured_and_predicted(run(fit, judged[0]), both),
        "friction": figures.friction_curves(fit.actuator, servo, [0.0, 1.0], 3.0, held),
    }
    saved = [output / "fit.json"]
    saved += [save(figure, output / f"{name}.png") for name, figure in pictures.items()]
    saved += _export(fit, [log for log in logs if log.name in fit.training], judged, output)
    with working("report") as note:
        contents = report(fit, logs, name="fit.json", progress=note)
        page = html.write(contents, output / "report.html", force=True)
    report_progress("Everything in one page that opens offline: report.html.\n")
    return DemoResult([*saved, page], fit)


def _plan_and_record(output: Path) -> list[Path]:
    """Plan motions, record them from a virtual servo, fit, and compare with the truth."""
    from ... import tables
    from ...errors import BackemfError
    from ..report.figures.draw import save
    from ..report.figures.runs import plan_figure
    from . import loop

    say, bus = typer.echo, loop.bus()
    say("And the whole loop, with a servo that is not there: plan, record, check, fit.\n")
    if bus is None:
        wanted = "it needs Linux or macOS, and pip install 'backemf[feetech]'"
        say(f"No package of a bus is installed here, so nothing is recorded; {wanted}.\n")
        return []
    through = {"feetech": "the maker's package (feetech-servo-sdk)", "lines": "lines of text (pyserial)"}[bus]
    try:
        with working("planning and recording"):
            done = loop.run_loop(output / "recorded", bus, say, truth=loop.truth(), start=loop.start())
    except BackemfError as error:
        say(f"Nothing to show of that here: {error}\n")
        return []
    n, seconds = sum(map(len, done.logs)), done.plan.seconds
    say(
        f"Recorded through {through}: {n} samples in {seconds:.1f} s of motion."
        f" Check: {done.check.verdict}.\n"
    )
    rows = []
    for p in done.plan.parameters:
        found, true = done.fit.parameters[p.path], done.truth.parameters[p.path]
        inside = "yes" if found.low <= true <= found.high else "no"
        share = f"{tables.number(100 * found.error / found.value, 2)} %"
        rows.append((p.path, true, found.value, p.unit, f"{100 * p.relative_error:.1f} %", share, inside))
    head = ("parameter", "truth", "found", "unit", "error expected", "error", "truth in 95 %")
    say(f"{tables.table(rows, head)}\n")
    say("What was expected knows the encoder, not how busy this machine was while it played the servo.\n")
    made = output / "recorded-fit.json"
    done.fit.write(made, force=True)
    return [output / "recorded" / "plan.json", save(plan_figure(done.plan), output / "plan.png"), made]


def _export(fit: Fit, fitted: list[Log], judged: list[Log], output: Path) -> list[Path]:
    """The fitted servo for the installed MuJoCo, replayed there on logs the fit never saw."""
    from ...errors import NotAvailable
    from ...targets.export import export
    from ...targets.replay import replay

    try:
        with working("exporting"):
            made = export(fit.actuator, "mujoco", joint="servo", notes=fit.summary(), logs=fitted)
        text = (
            "Exported to MuJoCo's <dcmotor>, its numbers chosen on the logs of the fit. What it cannot carry"
            " as it is"
        )
        typer.echo(under(text, [str(effect) for effect in (*made.dropped, *made.approximated)]))
        typer.echo(
            "\nThe same held-out logs replayed in MuJoCo; where the drive is off, friction that does not see"
            f" the load shows:\n{replay(made, judged, refine=False)}\n"
        )
        whole = export(fit.actuator, "mujoco-live", joint="servo", notes=fit.summary(), replay=False)
        typer.echo(
            "And with the whole model inside MuJoCo (be.attach), where nothing is lost:\n"
            f"{replay(whole, judged, refine=False)}\n"
        )
    except NotAvailable as error:
        typer.echo(f"No export here: {error}\n")
        return []
    made.write(output / "servo.xml", force=True)
    return [output / "servo.xml"]
