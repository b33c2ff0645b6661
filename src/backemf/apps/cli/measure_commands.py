"""`backemf measure`: bench arithmetic with honest errors."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from .command_builder import Verb
from .inputs import Bench
from .terminal import Force, Json, Maps, Strict, answer, drawable, finding_lines, option, pick, place, under

Plot = Annotated[
    Path | None,
    place("Draw the readings, the line and its 95 % band into this file (png, svg, pdf, html).", "--plot"),
]


def column(what: str, unit: str) -> Any:
    """An option for readings separated by commas."""
    spelled = "" if unit == "1" else f" [{unit}]; another unit may stand behind the last"
    return option(f"{what}, separated by commas{spelled}.")


def known_option(what: str, unit: str) -> Any:
    """An option for a number from elsewhere."""
    return option(f"{what} [{unit}]; '2.1 +- 0.05' says how well it is known.")


Log = Annotated[str, typer.Argument(help="A recording.")]
Resistance = Annotated[str | None, known_option("Resistance", "ohm")]
TorqueConstant = Annotated[str | None, known_option("Torque constant", "N m/A")]


def read(**given: Any) -> dict[str, Any]:
    """Options as the reading's function takes them; what was not given is left out."""
    from ...analysis.measure import argument

    return {name: argument(name, value) for name, value in given.items() if value is not None}


def recording(path: str, maps: list[str] | None = None, bench: str | None = None) -> Any:
    from .inputs import read_logs

    return read_logs([path], maps, bench=bench)[0]


def reading(command: Callable[..., Any]) -> Callable[..., None]:
    """The command that shows what a function measured: with the function's own options, and those that every
    reading has."""

    def run(
        *, plot: Plot = None, force: Force = False, strict: Strict = False, json: Json = False, **given: Any
    ) -> None:
        drawable(plot, force)
        show(command(**given), plot, force, json, strict)

    own, common = (inspect.signature(one, eval_str=True) for one in (command, run))
    named = [*own.parameters.values(), *(p for p in common.parameters.values() if p.name != "given")]
    signature = own.replace(parameters=named, return_annotation=None)
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    vars(run).update(__signature__=signature)
    run.__annotations__ = {p.name: p.annotation for p in named}
    return run


def show(measured: Any, plot: Path | None, force: bool, json: bool, strict: bool) -> None:
    """Print a measured number, draw it, and end."""
    if plot is not None:
        draw(measured, plot, force)

    def text() -> str:
        lines = [_line(measured)]
        for key, other in measured.others.items():
            if (other.name, other.value, other.low) == (measured.name, measured.value, measured.low):
                continue
            alike = f" ({key.replace('_', ' ')})" if other.name == measured.name else ""
            lines.append(f"  {_line(other, alike)}")
        words = (("assumed", measured.assumption), ("sharper with", measured.sharpen))
        notes = "\n".join(f"{word}: {said}" for word, said in words if said)
        findings = under("Findings", finding_lines(measured.findings))
        return "\n\n".join(part for part in ("\n".join(lines), notes, findings) if part)

    answer(json, lambda: plain(measured, plot), text, measured.findings, strict, [plot])


def _line(m: Any, alike: str = "") -> str:
    from ...tables import interval

    said = f"{m.name}{alike} {m.number()}"
    if m.value is not None and m.low is not None and m.high is not None and m.error:
        said += f", 95 %: {interval(m.low, m.high, 'to', 4)}"
    return said


def plain(m: Any, plot: Path | None = None) -> dict[str, Any]:
    """A measured number as it stands in `--json`."""
    said = pick(m, "name value error low high spare unit route assumption sharpen findings")
    drawn = {} if plot is None else {"plot": plot}
    return {**said, "others": {k: plain(o) for k, o in m.others.items()}, **drawn}


def draw(noun: Any, path: Path, force: bool) -> None:
    """A picture, or a page, of what was measured."""
    from ..report.figures import draw
    from ..report.figures.show import drawing

    draw.save(drawing(noun).figure, path, force=force)


Mass = Annotated[float, option("Mass at the end of the arm [kg].")]
Length = Annotated[float, option("Length of the arm [m].")]
ArmMass = Annotated[float, option("Mass of the arm [kg].")]
Angle = Annotated[float, option("Angle from the horizontal [deg].")]


@reading
def fall(mass: Mass, length: Length, angle: Angle, arm_mass: ArmMass = 0.0) -> Any:
    """Static friction from where a falling arm came to rest: a bound.

    Example: backemf measure fall --mass 0.33 --length 0.15 --angle 64
    """
    from ...analysis.torque import fall as measure

    return measure(mass=mass, length=length, angle=math.radians(angle), arm_mass=arm_mass)


@reading
def slip(
    mass: Mass,
    length: Length,
    angle: Angle,
    arm_mass: ArmMass = 0.0,
    angle_error: Annotated[float, option("How well the angle was read [deg].")] = 1.0,
) -> Any:
    """Static friction from the angle at which a raised arm starts to slip: a value.

    Example: backemf measure slip --mass 0.33 --length 0.15 --angle 60
    """
    from ...analysis.torque import slip as measure

    read = {"mass": mass, "length": length, "arm_mass": arm_mass}
    return measure(angle=math.radians(angle), angle_error=math.radians(angle_error), **read)


@reading
def resistance(
    current: Annotated[str, column("Currents", "A")], voltage: Annotated[str, column("Voltages", "V")]
) -> Any:
    """Resistance from voltage and current with the rotor locked.

    Example: backemf measure resistance --current 0.6,1.2,1.8,2.4 --voltage 1.25,2.46,3.7,5.15
    """
    from ...analysis.electrical import resistance as measure

    return measure(**read(current=current, voltage=voltage))


@reading
def current_step(
    log: Log,
    voltage: Annotated[
        float | None, option("Height of the voltage step [V]; the log's own unless given.")
    ] = None,
    resistance: Resistance = None,
    after: Annotated[float | None, option("When the voltage stepped [s]; found unless given.")] = None,
    map: Maps = None,
) -> Any:
    """Inductance from how the current rises after a voltage step, the rotor locked.

    Example: backemf measure current-step step.csv --voltage 2
    """
    from ...analysis.electrical import current_step as measure

    given = read(resistance=resistance, after=after)
    return measure(recording(log, map), voltage=voltage, **given)


@reading
def impedance(
    frequency: Annotated[str, column("Frequencies", "Hz")],
    impedance: Annotated[str, column("Impedances, volts over amperes", "ohm")],
    resistance: Resistance = None,
) -> Any:
    """Inductance from the impedance at several frequencies, the rotor locked.

    Example: backemf measure impedance --frequency 50,100,400,1000 --impedance 2.02,2.1,3.2,6.6
    """
    from ...analysis.electrical import impedance as measure

    given = read(frequency=frequency, impedance=impedance, resistance=resistance)
    return measure(**given)


@reading
def back_emf(
    speed: Annotated[str, column("Speeds at which the shaft was driven", "rad/s")],
    voltage: Annotated[str, column("Open-circuit voltages", "V")],
) -> Any:
    """Back-EMF constant from open-circuit volts while something else turns the shaft.

    Example: backemf measure back-emf --speed "500, 1000, 1500, 2000 rpm" --voltage 1.21,2.39,3.62,4.8
    """
    from ...analysis.electrical import back_emf as measure

    return measure(**read(speed=speed, voltage=voltage))


@reading
def firmware_gain(
    error: Annotated[str, column("Position errors", "rad")],
    register: Annotated[str, column("Gain registers", "1")],
    duty: Annotated[str, column("Duties, 0 to 1", "1")],
) -> Any:
    """Firmware gain H from position error, gain register and duty on an oscilloscope.

    Example: backemf measure firmware-gain --error "8, 16 deg" --register 5,5 --duty 0.106,0.214
    """
    from ...analysis.electrical import firmware_gain as measure

    return measure(**read(error=error, register=register, duty=duty))


@reading
def torque_constant(
    load: Annotated[str, column("Torques of the loads", "N m")],
    voltage: Annotated[str | None, column("Voltages that held them", "V")] = None,
    current: Annotated[str | None, column("Currents that held them", "A")] = None,
    resistance: Resistance = None,
    static: Annotated[float | None, option("Static friction [N m]: the answer is then bounds.")] = None,
    directions: Annotated[
        str | None, option("For each reading 1 if the arm last moved up, -1 if down.")
    ] = None,
) -> Any:
    """Torque constant from loads held at rest, by their current, or by voltage and resistance.

    Bounds from one direction and a static friction; a value from both directions, or from the slope.

    Example: backemf measure torque-constant --load 1.94,2.76,3.34 --current 1.37,1.8,2.21
    """
    from ...analysis.torque import torque_constant as measure

    given = read(
        load=load,
        voltage=voltage,
        current=current,
        resistance=resistance,
        static=static,
        directions=directions,
    )
    return measure(**given)


@reading
def no_load(
    voltage: Annotated[str, column("Voltages", "V")],
    speed: Annotated[str, column("No-load speeds", "rad/s")],
    current: Annotated[str | None, column("No-load currents, to get K_e by itself", "A")] = None,
    resistance: Annotated[str | None, known_option("Resistance, to get friction torques", "ohm")] = None,
    torque_constant: Annotated[
        str | None, known_option("Torque constant, to split off viscous friction", "N m/A")
    ] = None,
) -> Any:
    """Motor constant and friction from no-load speed over voltage.

    Example: backemf measure no-load --voltage 3,6,9,12 --speed 1.7,3.47,5.22,7.0 --resistance 2.1
    """
    from ...analysis.torque import no_load as measure

    given = read(
        voltage=voltage, speed=speed, current=current, resistance=resistance, torque_constant=torque_constant
    )
    return measure(**given)


@reading
def no_load_current(
    speed: Annotated[str, column("Speeds", "rad/s")],
    current: Annotated[str, column("No-load currents", "A")],
    torque_constant: Annotated[str, known_option("Torque constant", "N m/A")],
) -> Any:
    """Dry and viscous friction from the no-load current at several speeds.

    Example: backemf measure no-load-current --speed 50,100,200,300 --current "61,64,71,77 mA"
    --torque-constant "0.0235 +- 0.0003"
    """
    from ...analysis.torque import no_load_current as measure

    given = read(speed=speed, current=current, torque_constant=torque_constant)
    return measure(**given)


@reading
def coast_down(
    log: Annotated[str, typer.Argument(help="A recording of position or velocity.")],
    inertia: Annotated[str | None, known_option("Inertia, to get friction", "kg m^2")] = None,
    coulomb: Annotated[str | None, known_option("Dry friction, to get the inertia", "N m")] = None,
    map: Maps = None,
) -> Any:
    """Dry and viscous friction from a coast-down; or the inertia, if the dry friction is known.

    Example: backemf measure coast-down coast.csv --inertia 2e-4
    """
    from ...analysis.transients import coast_down as measure

    given = read(inertia=inertia, coulomb=coulomb)
    return measure(recording(log, map), **given)


@reading
def inertia(
    slow: Annotated[str, typer.Argument(help="A coast-down with the inertia added.")],
    fast: Annotated[str, typer.Argument(help="A coast-down without it.")],
    added: Annotated[str, known_option("Inertia that was added", "kg m^2")],
    map: Maps = None,
) -> Any:
    """Inertia from two coast-downs, one of them with a known inertia added.

    Example: backemf measure inertia with-disc.csv without.csv --added 3e-3
    """
    from ...analysis.transients import inertia as measure

    logs = (recording(slow, map), recording(fast, map))
    return measure(*logs, **read(added=added))


@reading
def run_up(
    log: Log,
    resistance: Annotated[str, known_option("Resistance", "ohm")],
    torque_constant: Annotated[str, known_option("Torque constant", "N m/A")],
    viscous: Annotated[str | None, known_option("Viscous friction", "N m s/rad")] = None,
    after: Annotated[float | None, option("When the voltage stepped [s]; found unless given.")] = None,
    map: Maps = None,
) -> Any:
    """Inertia from the time constant with which the speed rises after a voltage step.

    Example: backemf measure run-up step.csv --resistance 2.1 --torque-constant 0.0235
    """
    from ...analysis.transients import run_up as measure

    given = read(resistance=resistance, torque_constant=torque_constant, viscous=viscous, after=after)
    return measure(recording(log, map), **given)


@reading
def acceleration(
    acceleration: Annotated[str, column("Accelerations", "rad/s^2")],
    torque: Annotated[str | None, column("Torques", "N m")] = None,
    current: Annotated[str | None, column("Currents", "A")] = None,
    torque_constant: TorqueConstant = None,
) -> Any:
    """Inertia from torque (or current and torque constant) over acceleration.

    Example: backemf measure acceleration --acceleration 40,90,140 --current 1,2,3 --torque-constant 0.0235
    """
    from ...analysis.transients import acceleration as measure

    given = read(acceleration=acceleration, torque=torque, current=current, torque_constant=torque_constant)
    return measure(**given)


@reading
def inverse_dynamics(
    log: Annotated[str, typer.Argument(help="A recording of position and torque.")],
    cutoff: Annotated[float, option("Cut-off of the low pass on position [Hz].")] = 50.0,
    decimation: Annotated[int, option("Samples of which one is kept, behind a low pass.")] = 10,
    bench: Bench = None,
    map: Maps = None,
) -> Any:
    """Inertia, viscous and dry friction from position and force by linear regression.

    Example: backemf measure inverse-dynamics axis.csv --cutoff 50
    """
    from ...analysis.transients import inverse_dynamics as measure

    return measure(recording(log, map, bench), cutoff=cutoff, decimation=decimation)


@reading
def thermal(
    log: Annotated[str, typer.Argument(help="A recording of temperature.")],
    power: Annotated[
        float | None, option("Heating power [W]; the log's voltage times current unless given.")
    ] = None,
    ambient: Annotated[
        float | None, option("Ambient temperature [degC]; where the log starts unless given.")
    ] = None,
    until: Annotated[float | None, option("When the power went off [s], and cooling began.")] = None,
    map: Maps = None,
) -> Any:
    """Thermal resistance and capacitance from heating, and cooling, at a known power.

    Example: backemf measure thermal heating.csv --power 4.5 --until 600
    """
    from ...analysis.transients import thermal as measure

    return measure(recording(log, map), power=power, ambient=ambient, until=until)


@reading
def backlash(
    log: Annotated[
        str, typer.Argument(help="A slow reversal: drive side as position_target, output as position.")
    ],
    map: Maps = None,
) -> Any:
    """Backlash from slow reversals.

    Example: backemf measure backlash reversal.csv
    """
    from ...analysis.transients import backlash as measure

    return measure(recording(log, map))


def constants(
    file: Annotated[
        Path | None, typer.Argument(help="Readings by name, and stated constants (TOML or JSON).")
    ] = None,
    reading: Annotated[
        list[str] | None,
        option('A reading in words: "resistance current=0.6,1.2 voltage=1.25,2.46". May be repeated.'),
    ] = None,
    stated: Annotated[
        list[str] | None,
        option('A constant known otherwise: "motor.torque_constant=2.2+-0.02 datasheet". May be repeated.'),
    ] = None,
    plot: Plot = None,
    force: Force = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Every constant by every route, what they come to together, and where they disagree.

    Example: backemf measure constants bench.toml --plot routes.png
    """
    from ...analysis.measure import constants as measure, read_readings

    drawable(plot, force)
    content: dict[str, Any] = {} if file is None else dict(read_readings(file))
    for words in reading or ():
        name, numbers = _reading(words)
        before = content.get(name, [])
        content[name] = [*(before if isinstance(before, list) else [before]), numbers]
    told = {k: v if isinstance(v, dict) else {"stated": v} for k, v in (content.get("stated") or {}).items()}
    for words in stated or ():
        constant, label, value = _split_statement(words)
        told.setdefault(constant, {})[label] = value
    content["stated"] = told
    where: dict[str, Any] = {} if file is None else {"name": file.stem, "folder": file.parent}
    constants = measure(content, **where)
    if plot is not None:
        draw(constants, plot, force)
    answer(
        json, lambda: _plain(constants, plot), lambda: _text(constants), constants.findings, strict, [plot]
    )


def _reading(text: str) -> tuple[str, dict[str, Any]]:
    """ "fall mass=0.33 angle=64deg" as (name, numbers)."""
    import shlex

    from ...errors import InvalidValue

    try:
        name, *rest = shlex.split(text)
        numbers = dict(one.split("=", 1) for one in rest)
    except ValueError:
        wanted = 'a name and numbers, such as "resistance current=0.6,1.2 voltage=1.25,2.46"'
        raise InvalidValue(f"--reading is {text!r}; expected {wanted}") from None
    return name, numbers


def _split_statement(text: str) -> tuple[str, str, str]:
    """ "motor.resistance=2.3+-0.1 multimeter" as (constant, label, value)."""
    from ...errors import InvalidValue

    constant, equals, rest = text.partition("=")
    if not (equals and rest.strip()):
        wanted = '"motor.torque_constant=2.2+-0.02 datasheet"'
        raise InvalidValue(f"--stated is {text!r}; expected a constant and its value, such as {wanted}")
    value, _, label = rest.strip().partition(" ")
    return constant.strip(), label.strip() or "stated", value


def _plain(made: Any, plot: Path | None) -> dict[str, Any]:
    routes = {c: {route: plain(m) for route, m in ways.items()} for c, ways in made.routes.items()}
    together = {c: plain(m) for c, m in made.combined.items()}
    drawn = {} if plot is None else {"plot": plot}
    return {"name": made.name, "routes": routes, "together": together, "findings": made.findings, **drawn}


def _text(made: Any) -> str:
    from ...tables import number, table

    overview = made.overview()
    rows = []
    last = ""
    for constant, route, value, error, low, high, unit in overview.rows:
        numbers = ("-" if v is None else number(v, 4) for v in (value, low, high))
        value, low, high = numbers
        name = f"{constant} [{unit}]" if constant != last else ""
        rows.append((name, route, value, "-" if error is None else number(error, 2), low, high))
        last = constant
    header = ("constant", "route", "value", "error", "low", "high")
    findings = under("Findings", finding_lines(made.findings))
    return "\n\n".join(part for part in (overview.title, table(rows, header), findings) if part)


app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Bench arithmetic with honest errors: value, error, what was assumed, what would sharpen it.",
)
for _command in (
    *(fall, slip, resistance, current_step, impedance, back_emf, torque_constant, no_load, no_load_current),
    *(
        firmware_gain,
        coast_down,
        inertia,
        run_up,
        acceleration,
        inverse_dynamics,
        thermal,
        backlash,
        constants,
    ),
):
    app.command(_command.__name__.replace("_", "-"), cls=Verb)(_command)
