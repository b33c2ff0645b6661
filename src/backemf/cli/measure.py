"""`backemf measure`: bench arithmetic with honest errors."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from .terminal import Json, Strict, answer, finding_lines, option, picked, under

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Bench arithmetic with honest errors: value, error, what was assumed, what would sharpen it.",
)
Mass = Annotated[float, option("Mass at the end of the arm [kg].")]
Length = Annotated[float, option("Length of the arm [m].")]
ArmMass = Annotated[float, option("Mass of the arm [kg].")]
Angle = Annotated[float, option("Angle from the horizontal [deg].")]
Column = Annotated[str, option("Readings, separated by commas.")]


def _numbers(**texts: str) -> list[list[float]]:
    """Columns of numbers from the options of those names."""
    from ..errors import InvalidValue

    columns = []
    for name, text in texts.items():
        try:
            columns.append([float(x) for x in text.replace(";", ",").split(",") if x.strip()])
        except ValueError:
            raise InvalidValue(f"--{name} is {text!r}; expected numbers separated by commas") from None
    return columns


def _recording(path: str) -> Any:
    from ..data.logs.read import read

    return read(path)[0]


def _show(measured: Any, json: bool, strict: bool) -> None:
    def text() -> str:
        lines = [str(measured), *(f"  {other}" for other in measured.others.values())]
        findings = under("Findings", finding_lines(measured.findings))
        return "\n".join(lines) + (f"\n\n{findings}" if findings else "")

    answer(json, lambda: _plain(measured), text, measured.findings, strict)


def _plain(m: Any) -> dict[str, Any]:
    said = picked(m, "name value error low high unit assumption sharpen findings")
    return {**said, "others": {k: _plain(o) for k, o in m.others.items()}}


@app.command()
def fall(
    mass: Mass,
    length: Length,
    angle: Angle,
    arm_mass: ArmMass = 0.0,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Static friction from where a falling arm came to rest: a bound.

    Example: backemf measure fall --mass 0.33 --length 0.15 --angle 64
    """
    from ..readings.arithmetic import friction_from_fall as measure

    _show(measure(mass=mass, length=length, angle=math.radians(angle), arm_mass=arm_mass), json, strict)


@app.command()
def slip(
    mass: Mass,
    length: Length,
    angle: Angle,
    arm_mass: ArmMass = 0.0,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Static friction from the angle at which a raised arm starts to slip: a value.

    Example: backemf measure slip --mass 0.33 --length 0.15 --angle 60
    """
    from ..readings.arithmetic import friction_from_slip as measure

    _show(measure(mass=mass, length=length, angle=math.radians(angle), arm_mass=arm_mass), json, strict)


@app.command()
def resistance(current: Column, voltage: Column, strict: Strict = False, json: Json = False) -> None:
    """Resistance from voltage and current with the rotor locked.

    Example: backemf measure resistance --current 0.6,1.2,1.8,2.4 --voltage 1.25,2.46,3.7,5.15
    """
    from ..readings.arithmetic import resistance_from_locked as measure

    _show(measure(*_numbers(current=current, voltage=voltage)), json, strict)


@app.command("no-load")
def no_load(
    voltage: Column,
    speed: Column,
    resistance: Annotated[float | None, option("Resistance [ohm], to get friction torques.")] = None,
    torque_constant: Annotated[
        float | None, option("Torque constant [N m/A], to split off viscous friction.")
    ] = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Motor constant and friction from no-load speed [rad/s] over voltage.

    Example: backemf measure no-load --voltage 3,6,9,12 --speed 1.7,3.47,5.22,7.0 --resistance 2.1
    """
    from ..readings.arithmetic import no_load_line as measure

    U, w = _numbers(voltage=voltage, speed=speed)
    _show(measure(U, w, resistance=resistance, torque_constant=torque_constant), json, strict)


@app.command("torque-constant")
def torque_constant(
    load: Column,
    voltage: Column,
    resistance: Annotated[float, option("Resistance [ohm].")],
    static: Annotated[float, option("Static friction [N m].")],
    directions: Annotated[
        str | None, option("For each reading 1 if the arm last moved up, -1 if down.")
    ] = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Torque constant from static loads: an interval from one direction, a value from both.

    Example: backemf measure torque-constant --load 1.94,2.35 --voltage 3,3.5 --resistance 2.1 --static 0.212
    """
    from ..readings.arithmetic import torque_constant_from_loads as measure

    ways = None if directions is None else _numbers(directions=directions)[0]
    loads, U = _numbers(load=load, voltage=voltage)
    _show(measure(loads, U, resistance=resistance, static=static, directions=ways), json, strict)


@app.command("firmware-gain")
def firmware_gain(
    error: Column, register: Column, duty: Column, strict: Strict = False, json: Json = False
) -> None:
    """Firmware gain H from position error [rad], gain register and duty on an oscilloscope.

    Example: backemf measure firmware-gain --error 0.14,0.28 --register 5,5 --duty 0.106,0.214
    """
    from ..readings.arithmetic import firmware_gain as measure

    _show(measure(*_numbers(error=error, register=register, duty=duty)), json, strict)


@app.command("coast-down")
def coast_down(
    log: Annotated[str, typer.Argument(help="A recording of position or velocity.")],
    inertia: Annotated[float, option("Known inertia [kg m^2].")],
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Dry and viscous friction from a coast-down.

    Example: backemf measure coast-down coast.csv --inertia 2e-4
    """
    from ..readings.transients import coast_down as measure

    _show(measure(_recording(log), inertia=inertia), json, strict)


@app.command()
def thermal(
    log: Annotated[str, typer.Argument(help="A recording of temperature.")],
    power: Annotated[float, option("Constant heating power [W].")],
    ambient: Annotated[
        float | None, option("Ambient temperature [degC]; the first sample's unless given.")
    ] = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Thermal resistance and capacitance from heating at a constant power.

    Example: backemf measure thermal heating.csv --power 4.5
    """
    from ..readings.transients import thermal as measure

    _show(measure(_recording(log), power=power, ambient=ambient), json, strict)


@app.command()
def backlash(
    log: Annotated[
        str, typer.Argument(help="A slow reversal: drive side as position_target, output as position.")
    ],
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Backlash from slow reversals.

    Example: backemf measure backlash reversal.csv
    """
    from ..readings.transients import backlash as measure

    _show(measure(_recording(log)), json, strict)
