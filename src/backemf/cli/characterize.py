"""`backemf characterize`: from quasistatic and dynamic tests to gains one can paste."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Annotated, Any

import typer


def _logs(files: list[str], maps: list[str] | None, between: tuple[float, float] | None) -> list[Any]:
    from ..data.read import find, read
    from ..data.readers import sysid_json, wpilog
    from ..data.readers.recording import ReadError
    from ..data.readers.to_log import to_log
    from ..errors import BackemfError

    logs: list[Any] = []
    for path in find(*files):
        with path.open("rb") as file:
            head = file.read(4096)
        reader = next((r for r in (wpilog, sysid_json) if r.can_read(path, head)), None)
        if reader is None or maps:
            logs += read(path, map=maps or None, between=between)
            continue
        try:
            found = [to_log(recording) for recording in reader.entries(path)]
        except BackemfError as error:
            raise ReadError(f"{path}: {error}") from None
        logs += found if between is None else [log.between(*between) for log in found if log.time[0] <= between[1] and log.time[-1] >= between[0]]
    return logs


def characterize(
    logs: Annotated[list[str], typer.Argument(help="WPILOG, SysId JSON, CSV or any other recordings.")],
    mechanism: Annotated[str, typer.Option(help="simple, elevator, arm or drivetrain.")] = "simple",
    control: Annotated[str, typer.Option(help="What was commanded: voltage or current.")] = "voltage",
    units: Annotated[str | None, typer.Option(help="Unit of the gains: radians, degrees, rotations, meters, feet or inches.")] = None,
    method: Annotated[str | None, typer.Option(help="simulation (the default) or sysid, the classic regression.")] = None,
    preset: Annotated[str, typer.Option(help="Controller: wpilib, ctre-v5, ctre-v6, rev-neo, rev-brushed or venom.")] = "wpilib",
    map: Annotated[list[str] | None, typer.Option("--map", help="How to read a signal: position=motor_pos[deg],-1. May be given several times.")] = None,
    between: Annotated[tuple[float, float] | None, typer.Option("--between", help="Keep only this part of each recording [s].")] = None,
    motor: Annotated[str | None, typer.Option(help="Motor of the catalogue, to back out inertia and friction; needs --ratio.")] = None,
    ratio: Annotated[float | None, typer.Option(help="Rotor turns per output turn; rotor radians per metre on a linear axis.")] = None,
    motors: Annotated[int, typer.Option(help="Number of motors.")] = 1,
    constants: Annotated[str | None, typer.Option(help="Print constants: java, c++ or python.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw tests, residuals and step response into this file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over an existing plot.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Characterise a mechanism: kS, kV, kA and kG with intervals, and feedback gains.

    Example: backemf characterize arm.wpilog --mechanism arm --units rotations --constants java --plot arm.png
    """
    from ..errors import InvalidValue, MissingValue
    from ..identify.characterize import characterize as run

    if plot is not None and plot.exists() and not force:
        raise InvalidValue(f"{plot} exists; give --force to write over it")
    if motor is not None and ratio is None:
        raise MissingValue("--motor needs --ratio: rotor turns per output turn")
    found = run(_logs(logs, map, between), mechanism, control, method, units, preset=preset)
    if plot is not None:
        from ..report.mechanism_figures import test_runs
        from ..report.render import save

        save(test_runs(found), plot)
    back = None
    if motor is not None and ratio is not None:
        from ..identify.mechanism_physics import physics

        back = physics(found, motor, ratio=ratio, n_motors=motors)
    if json:
        out = found.to_dict()
        if back is not None:
            out["physics"] = {k: getattr(back, k) for k in ("inertia", "friction", "viscous", "gravity", "resistance")} | {"predicted": dict(back.predicted)}
            out["findings"] += [{"code": f.code, "text": f.text, "remedy": f.remedy, "numbers": dict(f.numbers)} for f in back.findings]
        typer.echo(json_.dumps(out, indent=1))
        return
    typer.echo(str(found))
    if back is not None:
        _show_physics(back)
    if constants is not None:
        from ..targets.wpilib import constants as source

        values = {name: gain.value for name, gain in found.gains.items()}
        loops = {name: {"kP": f.kP, "kD": f.kD} for name, f in found.feedback.items()}
        units_of = {name: gain.unit for name, gain in found.gains.items()}
        note = f"{found.mechanism}, {found.control} control, R^2 {found.r2:.4g}"
        typer.echo("\n" + source(values, mechanism=mechanism, language=constants, units=units_of, feedback=loops, notes=note))


def _show_physics(back: Any) -> None:
    from ..tables import number

    words = (("inertia", "kg m^2 or kg"), ("friction", "N m or N"), ("viscous", "N m s/rad or N s/m"), ("gravity", "N m or N"), ("resistance", "ohm"))
    known = [f"{name} {number(getattr(back, name))} {unit}" for name, unit in words if getattr(back, name) is not None]
    typer.echo("behind the gains: " + "; ".join(known))
    typer.echo("the motor alone predicts " + ", ".join(f"{name} {number(value)}" for name, value in back.predicted.items()))
    for f in back.findings:
        typer.echo(f"- {f.code}: {f.text}\n  {f.remedy}")
