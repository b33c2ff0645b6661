"""`backemf characterize`: from quasistatic and dynamic tests to gains one can paste."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .terminal import Between, Force, Json, Maps, Strict, answer, keep, option, place


def characterize(
    logs: Annotated[list[str], typer.Argument(help="WPILOG, SysId JSON, CSV or any other recordings.")],
    mechanism: Annotated[str, option("simple, elevator, arm or drivetrain.")] = "simple",
    control: Annotated[str, option("What was commanded: voltage or current.")] = "voltage",
    units: Annotated[
        str | None, option("Unit of the gains: radians, degrees, rotations, meters, feet or inches.")
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
    from ..data.logs.mechanism import mechanism_logs
    from ..errors import MissingValue
    from ..mechanism.characterize import characterize as run
    from ..mechanism.physics import physics

    keep(plot, force)
    if motor is not None and ratio is None:
        raise MissingValue("--motor needs --ratio: rotor turns per output turn")
    if (settle is None) != (step is None):
        raise MissingValue("--settle and --step go together: settle a step of that size in that time")
    logged = mechanism_logs(*logs, map=map, preset=preset, between=between)
    regression = {"median": median, "threshold": threshold}
    feedback = {"controller": controller, "settling_time": settle, "step": step, "loop": loop, "limit": limit}
    gains = run(logged, mechanism, control, method, units, **regression, **feedback)
    if plot is not None:
        from ..report.figures.draw import save
        from ..report.figures.mechanism import test_runs

        save(test_runs(gains), plot)
    back = None
    if motor is not None and ratio is not None:
        back = physics(gains, motor, ratio=ratio, n_motors=motors)
    source = _constants(gains, mechanism, constants) if constants is not None else ""

    def content() -> dict[str, Any]:
        out = gains.to_dict() | ({"constants": source} if source else {})
        if back is not None:
            out["physics"] = {name: getattr(back, name) for name in BEHIND} | {"predicted": back.predicted}
            out["findings"] = [*out["findings"], *back.findings]
        return out

    def text() -> str:
        told = str(gains) if back is None else f"{gains}\n{_physics(back)}"
        return f"{told}\n\n{source}" if source else told

    answer(json, content, text, [*gains.findings, *(back.findings if back else ())], strict, [plot])


def _constants(gains: Any, mechanism: str, language: str) -> str:
    """The gains as source text to paste."""
    from ..mechanism.wpilib import constants

    values = {name: gain.value for name, gain in gains.gains.items()}
    loops = {name: {"kP": f.kP, "kD": f.kD} for name, f in gains.feedback.items()}
    units = {name: gain.unit for name, gain in gains.gains.items()}
    note = f"{gains.mechanism}, {gains.control} control, R^2 {gains.r2:.4g}"
    return constants(values, mechanism=mechanism, language=language, units=units, feedback=loops, notes=note)


BEHIND = {
    "inertia": "kg m^2 or kg",
    "friction": "N m or N",
    "viscous": "N m s/rad or N s/m",
    "gravity": "N m or N",
    "resistance": "ohm",
}
"""What stands behind the gains of a mechanism, with the unit on a rotary or a linear axis."""


def _physics(back: Any) -> str:
    from ..tables import number

    values = {name: getattr(back, name) for name in BEHIND}
    known = [f"{name} {number(v)} {BEHIND[name]}" for name, v in values.items() if v is not None]
    predicted = ", ".join(f"{name} {number(value)}" for name, value in back.predicted.items())
    findings = [f"- {f.code}: {f.text}\n  {f.remedy}" for f in back.findings]
    told = [f"behind the gains: {'; '.join(known)}", f"the motor alone predicts {predicted}", *findings]
    return "\n".join(told)
