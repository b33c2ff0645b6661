"""`backemf characterize`: from quasistatic and dynamic tests to gains one can paste."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from .terminal import Between, Force, Json, Maps, Strict, answer, keep, option, place


def characterize(
    logs: Annotated[list[str], typer.Argument(help="WPILOG, SysId JSON, CSV or any other recordings.")],
    mechanism: Annotated[str, option("simple, flywheel, elevator, arm or drivetrain.")] = "simple",
    name: Annotated[
        str | None, option("Whose tests, where a log holds those of several mechanisms: --name arm.")
    ] = None,
    control: Annotated[str, option("What was commanded: voltage or current.")] = "voltage",
    units: Annotated[
        str | None,
        option(
            "Unit of the gains: radians, degrees or rotations, or meters, feet or inches; of the kind that"
            " the file is in."
        ),
    ] = None,
    method: Annotated[
        str | None,
        option("simulation (the default), sysid, the classic regression, or one-step, the same unfiltered."),
    ] = None,
    median: Annotated[int, option("Window of the classic regression's median filter; 1 is none.")] = 1,
    threshold: Annotated[
        float | None, option("Velocity below which a regression leaves samples out, in units per second.")
    ] = None,
    controller: Annotated[
        str,
        option("What the feedback gains are for: wpilib, ctre-v5, ctre-v6, rev-neo, rev-brushed or venom."),
    ] = "wpilib",
    max_error: Annotated[
        float | None, option("Position error worth the whole effort, in the unit of the gains; without it 1.")
    ] = None,
    max_velocity_error: Annotated[
        float | None,
        option("Velocity error worth the whole effort, in that unit per second; without it 1.5."),
    ] = None,
    max_effort: Annotated[
        float | None, option("Effort that such errors are worth [V, or A]; without it 7.")
    ] = None,
    period: Annotated[
        float | None, option("Time between two runs of the loop [s]; without it the controller's.")
    ] = None,
    delay: Annotated[
        float | None, option("By how much the loop's measurement is late [s]; without it the controller's.")
    ] = None,
    settle: Annotated[
        float | None, option("Also design feedback that settles within 2 % in this time [s]; needs --step.")
    ] = None,
    step: Annotated[float | None, option("The step that is to settle, in the unit of the gains.")] = None,
    loop: Annotated[str, option("What --settle designs: position or velocity.")] = "position",
    limit: Annotated[
        float | None,
        option(
            "Largest input for --settle and step responses; without it 12 V, or the tests' largest current."
        ),
    ] = None,
    preset: Annotated[
        str | None,
        option(
            "Logger that wrote a WPILOG: sysid, phoenix, urcl, advantagekit; or with a motor,"
            " phoenix:TalonFX-3. Recognised where it is clear."
        ),
    ] = None,
    map: Maps = None,
    between: Between = None,
    motor: Annotated[
        str | None, option("Motor of the catalogue, to back out inertia and friction; needs --ratio.")
    ] = None,
    ratio: Annotated[
        float | None, option("Rotor turns per output turn; rotor radians per metre on a linear axis.")
    ] = None,
    motors: Annotated[int, option("Number of motors.")] = 1,
    constants: Annotated[str | None, option("Print constants: java, c++ or python.")] = None,
    plot: Annotated[
        Path | None, place("Draw tests, residuals and step response into this file.", "--plot")
    ] = None,
    force: Force = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Characterise a mechanism: kS, kV, kA and kG with intervals, and feedback gains.

    Example: backemf characterize arm.wpilog --mechanism arm --units rotations --constants java --plot arm.png
    """
    from ...errors import MissingValue
    from ...kits.frc.characterize import characterize as run
    from ...kits.frc.mechanism_constants import physics
    from ...kits.frc.wpilog_runs import mechanism_logs

    keep(plot, force)
    if motor is not None and ratio is None:
        raise MissingValue("--motor needs --ratio: rotor turns per output turn")
    if (settle is None) != (step is None):
        raise MissingValue("--settle and --step go together: settle a step of that size in that time")
    logged = mechanism_logs(*logs, map=map, preset=preset, between=between, name=name)
    name = name or _asked(logged, json)
    regression: dict[str, Any] = {"median": median, "threshold": threshold}
    feedback: dict[str, Any] = {
        "controller": controller,
        "settling_time": settle,
        "step": step,
        "loop": loop,
        "limit": limit,
    }
    errors: dict[str, Any] = {
        "max_error": max_error,
        "max_velocity_error": max_velocity_error,
        "max_effort": max_effort,
    }
    clock: dict[str, Any] = {"period": period, "delay": delay}
    gains = run(
        logged, mechanism, control, method, units, name=name, **regression, **feedback, **errors, **clock
    )
    if plot is not None:
        from ...kits.frc.figures import test_runs
        from ..report.figures.draw import save

        save(test_runs(gains), plot)
    back = None
    if motor is not None and ratio is not None:
        back = physics(gains, motor, ratio=ratio, n_motors=motors)
    source = ""
    if constants is not None:
        plant = {} if back is None else {"motor": motor or "", "n_motors": motors}
        plant |= {} if back is None or ratio is None else {"simulation": _simulation(back, ratio)}
        source = _constants(gains, mechanism, constants, **plant)

    def content() -> dict[str, Any]:
        out = gains.to_dict() | ({"constants": source} if source else {})
        if back is not None:
            out["physics"] = {one: getattr(back, one) for one in back.units} | {"units": back.units}
            out["physics"] |= {"ratio": ratio, "motors": motors, "predicted": back.predicted}
            out["findings"] = [*out["findings"], *back.findings]
        return out

    def text() -> str:
        told = str(gains) if back is None else f"{gains}\n{_physics(back)}"
        return f"{told}\n\n{source}" if source else told

    answer(json, content, text, [*gains.findings, *(back.findings if back else ())], strict, [plot])


def _asked(logged: Sequence[Any], json: bool) -> str | None:
    """The mechanism that a person at a terminal names, where the recordings are of several."""
    there = list(dict.fromkeys(log.mechanism for log in logged if log.mechanism))
    if len(there) < 2 or json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return typer.prompt(f"Tests of which mechanism? There are {', '.join(there)}", err=True)


def _simulation(back: Any, ratio: float) -> dict[str, tuple[float, str]]:
    """What a simulation takes, with units."""
    known = {name: (getattr(back, name), back.units[name]) for name in ("inertia", "friction", "viscous")}
    told = {name: pair for name, pair in known.items() if pair[0] is not None}
    per = "rotor radians per metre" if back.linear else "rotor turns per output turn"
    return {"gearing": (ratio, per), **told}


def _constants(gains: Any, mechanism: str, language: str, **plant: Any) -> str:
    """The gains as source text to paste."""
    from ...kits.frc.mechanism_constants import constants

    values = {name: gain.value for name, gain in gains.gains.items()}
    loops = {name: {"kP": f.kP, "kD": f.kD} for name, f in gains.feedback.items()}
    units = {name: gain.unit for name, gain in gains.gains.items()}
    note = f"{gains.mechanism}, {gains.control} control, R^2 {gains.r2:.4g}"
    how = {"mechanism": mechanism, "language": language, "units": units, "feedback": loops}
    return constants(values, **how, notes=note, **plant)


def _physics(back: Any) -> str:
    from ...kits.frc.characterization import wrapped
    from ...tables import number

    values = {name: (getattr(back, name), unit) for name, unit in back.units.items()}
    known = [f"{name} {number(v)} {unit}" for name, (v, unit) in values.items() if v is not None]
    predicted = ", ".join(f"{name} {number(value)}" for name, value in back.predicted.items())
    told = wrapped(f"behind the gains: {'; '.join(known)}", "  ")
    told += wrapped(f"the motor alone predicts {predicted}", "  ")
    for f in back.findings:
        told += [*wrapped(f"- {f.code}: {f.text}", "  "), *wrapped(f"  {f.remedy}", "  ")]
    return "\n".join(told)
