"""`backemf demo`: a simulated servo and its story, then the whole flow from recordings to a report,
with no hardware."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from .terminal import Json, print_json, working

if TYPE_CHECKING:
    from ..data.fit import Fit
    from ..data.log import Log

MARK = "written-by-backemf-demo.txt"
"""A file in the demo's folder that says whose it is: only then is anything in it written over."""


class Told(NamedTuple):
    """What the demo ends with."""

    files: list[Path]
    fit: Fit | None = None


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for everything that is made; of its own.")
    ] = Path("out"),
    json: Json = False,
) -> None:
    """Run the demonstration: no hardware, everything simulated.

    Example: backemf demo --output out
    """
    _claim(output)
    if not json:
        _tell(output)
        return
    with contextlib.redirect_stdout(sys.stderr):  # one object on stdout, the story beside it
        told = _tell(output)
    fit = told.fit
    numbers = (
        {}
        if fit is None
        else {
            path: {"value": p.value, "error": p.error, "unit": p.unit} for path, p in fit.parameters.items()
        }
    )
    print_json(
        {
            "files": [str(path) for path in told.files],
            "parameters": numbers,
            "held_out_mae": fit and fit.held_out_mae,
        }
    )


def _claim(output: Path) -> None:
    """Take a folder, new, empty or of an earlier demo."""
    from ..errors import BackemfError
    from ..files import write_all

    mark = output / MARK
    if output.exists() and not output.is_dir():
        raise BackemfError(f"{output} is a file; give a folder with --output")
    if output.is_dir() and any(output.iterdir()) and not mark.exists():
        raise BackemfError(
            f"the folder {str(output)!r} has files that are not of the demo; give another folder with"
            " --output"
        )
    output.mkdir(parents=True, exist_ok=True)
    write_all(
        {mark: "Everything in this folder was written by `backemf demo`, which writes over it.\n"}, force=True
    )


def _tell(output: Path) -> Told:
    import numpy as np

    from .. import tables
    from ..demo import story
    from ..engine.simulate import simulate
    from ..report.figures import draw as render, figure as figures
    from ..signal import held, sine

    servo, bench = story.servo(), story.BENCH
    typer.echo(
        "A simulated servo on a pendulum bench. Nothing here was recorded: every number below is computed.\n"
    )

    times, targets = zip(*story.TARGETS, strict=True)
    enabled = held(np.array([0.0, story.CUT]), np.array([1.0, 0.0]))
    run = simulate(
        servo,
        bench,
        {"position_target": held(np.array(times), np.array(targets)), "enabled": enabled},
        duration=story.END,
        dt=0.005,
        energy=True,
    )
    typer.echo(
        tables.table(
            story.rows(run), ("time [s]", "what happens", "angle [deg]", "current [A]", "winding [degC]")
        )
    )

    e = run.energy
    lost = sum(e[k][-1] for k in ("copper", "iron", "conversion", "friction", "gear", "load"))
    balance = e["electrical"][-1] - lost - (e["stored"][-1] - e["stored"][0])
    typer.echo(
        f"\nEnergy: {e['electrical'][-1]:.2f} J taken in = {e['copper'][-1]:.2f} winding heat +"
        f" {e['friction'][-1]:.2f} friction + {e['gear'][-1]:.2f} gear loss +"
        f" {e['stored'][-1] - e['stored'][0]:.2f} stored; the book closes to"
        f" {abs(balance) / e['electrical'][-1]:.0e}."
    )
    typer.echo(
        f"Integrated with {run.substeps} substeps per 5 ms sample; halving the step moves the arm by"
        f" {1e3 * (run.refinement or 0):.3f} mrad at most."
    )

    slow = simulate(
        servo, bench, sine(0.35, 0.05, offset=0.4), duration=30.0, dt=0.005, start={"position": 0.4}
    )
    still = float(np.mean(slow.velocity == 0.0))
    typer.echo(
        f"Following a slow sine it stands still {100 * still:.0f} % of the time (velocity exactly 0), then"
        " jumps: stick-slip.\n"
    )

    later = _identify_and_export(output)
    saved = [
        render.save(
            figures.motion(
                run, "A servo lifts, holds, heats up, slips, falls and sticks (simulated)", story.bands(run)
            ),
            output / "lift.png",
        ),
        render.save(
            figures.stick_slip(slow, "Stick-slip while following a slow sine (simulated)"),
            output / "stick-slip.png",
        ),
        render.save(
            figures.energy_book(run, "Where the energy of the lift went (simulated)", until=1.6),
            output / "energy.png",
        ),
        *later.files,
    ]
    for path in saved:
        typer.echo(f"wrote {path}")
    return Told(saved, later.fit)


def _identify_and_export(output: Path) -> Told:
    """Record, check, fit, compare with the truth, export to MuJoCo and replay there."""
    from .. import tables
    from ..data.logs.read import read
    from ..demo import recordings as bench_story
    from ..identify.check import check
    from ..identify.ladder import ladder
    from ..report import html
    from ..report.contents import report
    from ..report.figures import draw as render, fit as fit_figures
    from .identify import best_so_far

    typer.echo(
        "Now a bench: eight recordings of a servo whose numbers we know, simulated and written to files with"
        " jitter, noise,"
    )
    typer.echo("a 12-bit encoder and a 6 ms delay. The fit sees the files only.\n")
    bench_story.record(output / "logs")
    logs = read(output / "logs")
    typer.echo(f"{check(logs, bench_story.start())}\n")
    with working("fitting") as say:
        options = {"hold_out": {"gain": 16}, "delay": True, "n_starts": 2, "progress": best_so_far(say)}
        steps = ladder(bench_story.start(), logs, rungs=("coulomb", "stribeck", "m4"), **options)
    found, truth = (
        steps.fit,
        {
            **bench_story.truth().parameters,
            "drive.delay": bench_story.DELAY,
            "bench.hanging": 0.0,
            "bench.gravity": 9.80665,
        },
    )
    typer.echo(f"{steps}\n")
    rows = [
        (
            p.path,
            tables.number(truth[p.path]) if p.path in truth else "-",
            tables.number(p.value),
            tables.number(p.error, 2),
            p.unit,
            "yes" if p.low <= truth.get(p.path, p.value) <= p.high else "no",
        )
        for p in found.parameters.values()
    ]
    typer.echo(tables.table(rows, ("parameter", "truth", "found", "error", "unit", "truth in 95 %")))
    off, noise = 1e3 * (found.held_out_mae or 0.0), 1e3 * found.noise_floor
    typer.echo(
        f"\nOn logs it never saw the model is off by {off:.2f} mrad on average; the noise alone would give"
        f" {noise:.2f}.\n"
    )
    found.write(output / "fit.json", force=True)
    judged = [log for log in logs if log.name in found.held_out]
    saved = [
        output / "fit.json",
        render.save(
            fit_figures.prediction(
                found, judged[0], f"{judged[0].name}, held out: recorded (simulated) and predicted"
            ),
            output / "prediction.png",
        ),
        render.save(
            fit_figures.friction_curves(
                found.actuator,
                bench_story.truth(),
                [0.0, 1.0],
                3.0,
                "Friction while holding a load: found and true",
            ),
            output / "friction.png",
        ),
    ]
    saved += _export(found, [log for log in logs if log.name in found.training], judged, output)
    with working("report") as say:
        page = html.write(
            report(found, logs, name="fit.json", progress=say), output / "report.html", force=True
        )
    typer.echo("Everything in one page that opens offline: report.html.\n")
    return Told([*saved, page], found)


def _export(found: Fit, fitted: list[Log], judged: list[Log], output: Path) -> list[Path]:
    """The fitted servo for the installed MuJoCo, replayed there on logs the fit never saw."""
    from ..errors import NotAvailable
    from ..targets.export import export
    from ..targets.replay import replay

    try:
        with working("exporting"):
            written = export(found.actuator, "mujoco", joint="servo", notes=found.summary(), logs=fitted)
        typer.echo(
            "Exported to MuJoCo's <dcmotor>, its numbers chosen on the logs of the fit. What it cannot carry"
            " as it is:"
        )
        for effect in (*written.dropped, *written.approximated):
            typer.echo(f"  - {effect}")
        typer.echo(
            "\nThe same held-out logs replayed in MuJoCo; where the drive is off, friction that does not see"
            " the load shows:"
        )
        typer.echo(f"{replay(written, judged, refine=False)}\n")
    except NotAvailable as error:
        typer.echo(f"No export here: {error}\n")
        return []
    written.write(output / "servo.xml", force=True)
    return [output / "servo.xml"]
