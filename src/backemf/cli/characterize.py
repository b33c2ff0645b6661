"""`backemf characterize`: from quasistatic and dynamic tests to gains one can paste."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .terminal import Between, Force, Json, Maps, Strict, end, keep, plain_findings, print_json


def characterize(
    logs: Annotated[list[str], typer.Argument(help="WPILOG, SysId JSON, CSV or any other recordings.")],
    mechanism: Annotated[str, typer.Option(help="simple, elevator, arm or drivetrain.")] = "simple",
    control: Annotated[str, typer.Option(help="What was commanded: voltage or current.")] = "voltage",
    units: Annotated[
        str | None,
        typer.Option(help="Unit of the gains: radians, degrees, rotations, meters, feet or inches."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="simulation (the default), sysid, the classic regression, or one-step, the same unfiltered."
        ),
    ] = None,
    median: Annotated[
        int, typer.Option(help="Window of the classic regression's median filter; 1 is none.")
    ] = 1,
    threshold: Annotated[
        float | None,
        typer.Option(help="Velocity below which a regression leaves samples out, in units per second."),
    ] = None,
    controller: Annotated[
        str,
        typer.Option(help="Of the feedback gains: wpilib, ctre-v5, ctre-v6, rev-neo, rev-brushed or venom."),
    ] = "wpilib",
    settle: Annotated[
        float | None,
        typer.Option(help="Also design feedback that settles within 2 % in this time [s]; needs --step."),
    ] = None,
    step: Annotated[
        float | None, typer.Option(help="The step that is to settle, in the unit of the gains.")
    ] = None,
    loop: Annotated[str, typer.Option(help="What --settle designs: position or velocity.")] = "position",
    limit: Annotated[
        float | None,
        typer.Option(
            help=(
                "Largest input, for --settle and the step responses: 12 V, or the largest current of the"
                " tests."
            )
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help=(
                "Logger that wrote a WPILOG: sysid, phoenix, urcl, advantagekit; or with a motor,"
                " phoenix:TalonFX-3. Found where clear."
            )
        ),
    ] = None,
    map: Maps = None,
    between: Between = None,
    motor: Annotated[
        str | None,
        typer.Option(help="Motor of the catalogue, to back out inertia and friction; needs --ratio."),
    ] = None,
    ratio: Annotated[
        float | None,
        typer.Option(help="Rotor turns per output turn; rotor radians per metre on a linear axis."),
    ] = None,
    motors: Annotated[int, typer.Option(help="Number of motors.")] = 1,
    constants: Annotated[str | None, typer.Option(help="Print constants: java, c++ or python.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw tests, residuals and step response into this file.")
    ] = None,
    force: Force = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Characterise a mechanism: kS, kV, kA and kG with intervals, and feedback gains.

    Example: backemf characterize arm.wpilog --mechanism arm --units rotations --constants java --plot arm.png
    """
    from ..data.logs.mechanism import mechanism_logs
    from ..errors import MissingValue
    from ..mechanism.characterize import characterize as run

    keep(plot, force)
    if motor is not None and ratio is None:
        raise MissingValue("--motor needs --ratio: rotor turns per output turn")
    if (settle is None) != (step is None):
        raise MissingValue("--settle and --step go together: settle a step of that size in that time")
    found = run(
        mechanism_logs(*logs, map=map, preset=preset, between=between),
        mechanism,
        control,
        method,
        units,
        controller=controller,
        median=median,
        threshold=threshold,
        settling_time=settle,
        step=step,
        loop=loop,
        limit=limit,
    )
    if plot is not None:
        from ..report.figures.draw import save
        from ..report.figures.mechanism import test_runs

        save(test_runs(found), plot)
    back = None
    if motor is not None and ratio is not None:
        from ..mechanism.physics import physics

        back = physics(found, motor, ratio=ratio, n_motors=motors)
    told = [*found.findings, *(back.findings if back is not None else ())]
    source = _constants(found, mechanism, constants) if constants is not None else None
    if json:
        out = found.to_dict()
        if source is not None:
            out["constants"] = source
        if back is not None:
            out["physics"] = {
                k: getattr(back, k) for k in ("inertia", "friction", "viscous", "gravity", "resistance")
            } | {"predicted": dict(back.predicted)}
            out["findings"] += plain_findings(back.findings)
        print_json(out)
    else:
        typer.echo(str(found))
        if back is not None:
            _show_physics(back)
        if source is not None:
            typer.echo(f"\n{source}")
    end(told, strict)


def _constants(found: Any, mechanism: str, language: str) -> str:
    """The gains as source text to paste."""
    from ..mechanism.wpilib import constants

    values = {name: gain.value for name, gain in found.gains.items()}
    loops = {name: {"kP": f.kP, "kD": f.kD} for name, f in found.feedback.items()}
    units = {name: gain.unit for name, gain in found.gains.items()}
    note = f"{found.mechanism}, {found.control} control, R^2 {found.r2:.4g}"
    return constants(values, mechanism=mechanism, language=language, units=units, feedback=loops, notes=note)


def _show_physics(back: Any) -> None:
    from ..tables import number

    words = (
        ("inertia", "kg m^2 or kg"),
        ("friction", "N m or N"),
        ("viscous", "N m s/rad or N s/m"),
        ("gravity", "N m or N"),
        ("resistance", "ohm"),
    )
    known = [
        f"{name} {number(getattr(back, name))} {unit}"
        for name, unit in words
        if getattr(back, name) is not None
    ]
    typer.echo("behind the gains: " + "; ".join(known))
    typer.echo(
        "the motor alone predicts "
        + ", ".join(f"{name} {number(value)}" for name, value in back.predicted.items())
    )
    for f in back.findings:
        typer.echo(f"- {f.code}: {f.text}\n  {f.remedy}")
