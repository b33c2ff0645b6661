"""`backemf characterize`: from quasistatic and dynamic tests to gains one can paste."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import BackemfError, InvalidValue, MissingValue
from ...logs import BETWEEN_HELP, MAP_HELP
from ...options import HIDDEN, OWN_UNIT, Answer, CommandSpec, Options, Terminal, option, options, parse_file
from ...units import si


def _names(module: str, table: str) -> Callable[[], list[str]]:
    """The names in a table of this kit, which is loaded when somebody asks for them."""
    return lambda: list(getattr(importlib.import_module(f".{module}", __package__), table))


@options
class CharacterizeOptions(Options):
    """What one may ask of `characterize`, in Python and on the command line."""

    mechanism: str = option(
        default="simple",
        help="simple, flywheel, elevator, arm or drivetrain.",
        choices=_names("trials", "MECHANISMS"),
        kw_only=False,
    )
    control: str = option(
        default="voltage",
        help="What was commanded: voltage or current.",
        choices=("voltage", "current"),
        kw_only=False,
    )
    method: str | None = option(
        default=None,
        help="simulation (the default), sysid, the classic regression, or one-step, the same unfiltered.",
        kw_only=False,
    )
    units: str | None = option(
        default=None,
        help="Unit of the gains: radians, degrees or rotations, or meters, feet or inches; of the kind that"
        " the file is in.",
        choices=_names("characterization", "UNITS"),
        kw_only=False,
    )
    name: str | None = option(
        default=None, help="Whose tests, where a log holds those of several mechanisms: --name arm."
    )
    controller: str = option(
        default="wpilib",
        help="What the feedback gains are for: wpilib, ctre-v5, ctre-v6, rev-neo, rev-brushed or venom.",
        choices=_names("loop_gains", "PRESETS"),
    )
    max_error: float | None = option(
        default=None,
        help="Position error worth the whole effort, in the unit of the gains; without it 1.",
        unit=OWN_UNIT,
    )
    max_velocity_error: float | None = option(
        default=None,
        help="Velocity error worth the whole effort, in that unit per second; without it 1.5.",
        unit=OWN_UNIT,
    )
    max_effort: float | None = option(
        default=None, help="Effort that such errors are worth [V, or A]; without it 7.", unit="V | A"
    )
    period: float | None = option(
        default=None, help="Time between two runs of the loop [s]; without it the controller's.", unit="s"
    )
    delay: float | None = option(
        default=None,
        help="By how much the loop's measurement is late [s]; without it the controller's.",
        unit="s",
    )
    median: int = option(default=1, help="Window of the classic regression's median filter; 1 is none.")
    threshold: float | None = option(
        default=None,
        help="Velocity below which a regression leaves samples out, in units per second.",
        unit=OWN_UNIT,
    )
    settling_time: float | None = option(
        default=None,
        help="Also design feedback that settles within 2 % in this time [s]; needs --step.",
        unit="s",
        cli="--settle",
    )
    step: float | None = option(
        default=None, help="The step that is to settle, in the unit of the gains.", unit=OWN_UNIT
    )
    loop: str = option(
        default="position",
        help="What --settle designs: position or velocity.",
        choices=("position", "velocity"),
    )
    limit: float | None = option(
        default=None,
        help="Largest input [V, or A] for --settle and steps; without it 12 V, or the largest current.",
        unit="V | A",
    )
    progress: Callable[[str, float], None] | None = option(
        default=None, help="Is called with what is being done, and which share of it is.", cli=HIDDEN
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.settling_time is None) != (self.step is None):
            raise MissingValue(
                "--settle and --step go together (in Python, settling_time and step): settle a step of that"
                " size in that time"
            )


WIDEST = 5.0
"""No wheel or drum of a robot is wider [m]."""
ORDER = (
    "logs mechanism name control units method median threshold controller max_error max_velocity_error"
    " max_effort period delay settle step loop limit preset map between motor ratio wheel_diameter"
    " drum_diameter motors constants season plot curves"
    " force"
)
"""Words of the command line, as --help lists them and --json repeats them."""


@options
class CharacterizeWords(CharacterizeOptions):
    """What only the command line takes: where the tests are, and what is made of the gains."""

    logs: list[str] = option(help="WPILOG, SysId JSON, CSV or any other recordings.", cli="logs")
    preset: str | None = option(
        default=None,
        help="Logger that wrote a WPILOG: sysid, phoenix, urcl, advantagekit; or with a motor,"
        " phoenix:TalonFX-3. Recognised where it is clear.",
        choices=("sysid", "phoenix", "urcl", "advantagekit"),
    )
    map: Sequence[str] | None = option(default=None, help=MAP_HELP, cli="--map")
    between: tuple[float, float] | None = option(default=None, help=BETWEEN_HELP, unit="s")
    motor: str | None = option(
        default=None, help="Motor of the catalogue, to back out inertia and friction; needs --ratio."
    )
    ratio: float | None = option(
        default=None,
        help="Rotor turns per turn of the output: of the arm, or of the wheel or drum.",
        unit="1",
    )
    wheel_diameter: float | None = option(
        default=None,
        help="Of the wheel that a drivetrain rolls on [m]: gains of a log in rotations are in metres with it;"
        " and for --motor, where the file does not say it.",
        least=1e-4,
        unit="m",
    )
    drum_diameter: float | None = option(
        default=None,
        help="Pitch diameter of the drum or sprocket that lifts an elevator [m]: as --wheel-diameter.",
        least=1e-4,
        unit="m",
    )
    motors: int = option(default=1, help="Number of motors.")
    constants: str | None = option(
        default=None,
        help="Print constants: java, c++ or python.",
        choices=_names("mechanism_constants", "LANGUAGES"),
    )
    season: str = option(
        default="2026",
        help="WPILib's season that the constants are for: {choices}, whose packages have other names.",
        choices=_names("mechanism_constants", "SEASONS"),
    )
    plot: Path | None = option(
        default=None,
        help="Draw tests, residuals and step response into this file.",
        parse=parse_file,
        cli="--plot",
        writes="",
    )
    curves: bool = option(
        default=False, help="In --json, also every test as drawn: samples, prediction, residual."
    )
    force: bool = option(default=False, help="Overwrite what exists.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("wheel_diameter", "drum_diameter"):
            size = getattr(self, name)
            if size is not None and size > WIDEST:
                raise InvalidValue(
                    f"--{name.replace('_', '-')} is {size:g} m; expected {WIDEST:g} m at most: a number alone"
                    f" is metres; did you mean {size:g}mm or {size:g}in?"
                )

    def to_dict(self) -> dict[str, Any]:
        """Every option with its value, by its word."""
        values = super().to_dict()
        values["settle"] = values["settling_time"]
        return {word: values[word] for word in ORDER.split()}


def characterize(options: CharacterizeWords, terminal: Terminal) -> Answer:
    """Characterise a mechanism: kS, kV, kA and kG with intervals, and feedback gains.

    Example: backemf characterize arm.wpilog --mechanism arm --units rotations --constants java --plot arm.png
    """
    from .characterize import run_characterize, unit_of_gains, with_own_numbers
    from .figures import drawn_tests, test_runs
    from .mechanism_constants import physics

    if options.motor is not None and options.ratio is None:
        raise MissingValue("--motor needs --ratio: rotor turns per output turn")
    if options.wheel_diameter is not None and options.drum_diameter is not None:
        raise InvalidValue("--wheel-diameter and --drum-diameter are both given; expected one of them")
    o, runs, doubts = _read_runs(options, terminal)
    o, runs, radius = _roll_runs(o, runs, terminal)
    o = with_own_numbers(o, unit_of_gains(o, runs))
    gains = run_characterize(runs, o)
    gains = replace(gains, findings=(*doubts, *gains.findings))
    back, plant = None, {}
    if o.motor is not None and o.ratio is not None:
        back = physics(gains, o.motor, ratio=o.ratio / (radius or 1.0), n_motors=o.motors)
        plant = {"motor": o.motor, "n_motors": o.motors, "simulation": _simulation(back, o.ratio, radius)}
    source = "" if o.constants is None else _constants(gains, o, **plant)

    def content() -> dict[str, Any]:
        out = gains.to_dict() | ({"constants": source} if source else {})
        out |= {"curves": drawn_tests(gains)} if o.curves else {}
        out |= {} if radius is None else {"travel_per_turn": 2 * math.pi * radius}
        if back is not None:
            out["physics"] = {unit: getattr(back, unit) for unit in back.units} | {"units": back.units}
            out["physics"] |= {"ratio": o.ratio, "motors": o.motors, "predicted": back.predicted}
            out["physics"]["plausible"] = back.plausible
            out["findings"] = [*out["findings"], *back.findings]
        return out

    def text() -> str:
        told = str(gains) if back is None else f"{gains}\n{_physics(back)}"
        told += (
            ""
            if radius is None
            else f"\n  a turn of {2e3 * radius:.4g} mm in diameter takes it {2 * math.pi * radius:.4g} m"
        )
        return f"{told}\n\n{source}" if source else told

    findings = [*gains.findings, *(back.findings if back else ())]
    figures = {} if o.plot is None else {o.plot: test_runs(gains)}
    return Answer(content=content, text=text, findings=findings, written=[o.plot], figures=figures, asked=o)


def _read_runs(o: CharacterizeWords, terminal: Terminal) -> tuple[CharacterizeWords, list[Any], list[Any]]:
    """(the options, the runs of one mechanism, findings about the unit that was told); a person at a terminal
    is asked for what no file states."""
    from .trials import of_one, runs_from
    from .wpilog_runs import mechanism_logs
    from .wpilog_units import UnitNotStated, doubt_unit, unit_named

    known = {"map": o.map, "preset": o.preset, "between": o.between, "mechanism": o.mechanism}
    read = functools.partial(mechanism_logs, *o.logs, **known, progress=terminal.say, name=o.name)
    try:
        logs = read(units=o.units)
    except UnitNotStated as unknown:
        if not terminal.attended:
            raise
        asked = str(unknown).partition("; ")[0]
        o = _ask(terminal, asked, lambda said: replace(o, units=unit_named(said) and said))
        logs = read(units=o.units)
    o = replace(o, name=o.name or _ask_mechanism(logs, terminal), progress=terminal.say)
    runs = of_one(runs_from(logs, o.control), o.name)
    of_these = [log for log in logs if log.mechanism in {run.mechanism for run in runs}]
    return o, runs, doubt_unit(of_these, o.units, o.map or (), o.mechanism)


def _ask(
    terminal: Terminal, question: str, understand: Callable[[str], CharacterizeWords]
) -> CharacterizeWords:
    """The options with what a person answers, who is asked again until it can be understood."""
    said = question
    while True:
        try:
            return understand(terminal.prompt(said))
        except BackemfError as error:
            said = f"{error}. {question}"


def _ask_mechanism(logged: Sequence[Any], terminal: Terminal) -> str | None:
    """The mechanism that a person at a terminal names, where the recordings are of several."""
    there = list(dict.fromkeys(log.mechanism for log in logged if log.mechanism))
    if len(there) < 2 or not terminal.attended:
        return None
    return terminal.prompt(f"Tests of which mechanism? There are {', '.join(there)}")


def _roll_runs(
    o: CharacterizeWords, runs: list[Any], terminal: Terminal
) -> tuple[CharacterizeWords, list[Any], float | None]:
    """(the options, the runs, the radius of wheel or drum [m]): what turned in the log of a mechanism that
    slides is in metres where the diameter is told, and it must be where metres are needed."""
    from .characterize import SLIDES, unit_of_gains
    from .sysid_json import LENGTHS
    from .trials import roll
    from .wpilog_units import unit_named

    rolls = o.mechanism in SLIDES and {run.motion for run in runs if run.part != "angular"} == {"rotary"}
    of_length = o.units is not None and unit_named(o.units) in LENGTHS
    linear = rolls or unit_of_gains(o, runs) in LENGTHS
    typed = (o.constants, o.mechanism, o.control) == ("c++", "elevator", "voltage")
    if linear and (o.motor is not None or (rolls and (of_length or typed))):
        o, given = _learn_diameter(o, terminal)
    else:
        given = _spare_diameter(o, rolls, linear)
    if given is None:
        return o, runs, None
    if rolls:
        o, runs = replace(o, units=o.units if of_length else None), [roll(run, 0.5 * given) for run in runs]
    return o, runs, 0.5 * given


def _spare_diameter(o: CharacterizeWords, rolls: bool, linear: bool) -> float | None:
    """A diameter that is given and need not be; refused where it says nothing."""
    given = o.wheel_diameter or o.drum_diameter
    if given is not None and not rolls:
        why = "the log is in a unit of length, where only --motor needs it; leave it out"
        turns = f"the mechanism is {o.mechanism}, which turns; leave it out, or give --mechanism elevator"
        raise InvalidValue(f"a diameter is given, and {why if linear else turns}")
    return given


def _learn_diameter(o: CharacterizeWords, terminal: Terminal) -> tuple[CharacterizeWords, float]:
    """(the options, the diameter [m]): given, of the files, or of the person at the terminal."""
    from ...logs.read import find
    from ...physics.quantity import present
    from .sysid_json import travel_per_turn

    given = o.wheel_diameter or o.drum_diameter
    if given is not None:
        return o, given
    ways = {way for path in find(*o.logs) if (way := travel_per_turn(path)) is not None}
    if len(ways) == 1:
        return o, ways.pop() / math.pi
    if not terminal.attended:
        raise MissingValue(
            "a mechanism that slides needs the diameter of what its motor turns, to know how far a turn"
            " takes it; give --drum-diameter 0.05 for a drum of 50 mm, or --wheel-diameter"
        )
    question = "How far does a turn take it? Diameter of its drum or wheel, such as 50mm"
    o = _ask(terminal, question, lambda said: replace(o, drum_diameter=si(said, "m", "the diameter")))
    return o, present(o.drum_diameter)


def _simulation(back: Any, ratio: float, radius: float | None) -> dict[str, tuple[float, str]]:
    """What a simulation takes, with units."""
    known = {name: (getattr(back, name), back.units[name]) for name in ("inertia", "friction", "viscous")}
    told = {name: pair for name, pair in known.items() if pair[0] is not None}
    drum = {} if radius is None else {"radius": (radius, "m")}
    return {"gearing": (ratio, "rotor turns per output turn"), **drum, **told}


def _constants(gains: Any, o: CharacterizeWords, **plant: Any) -> str:
    """The gains as source text to paste."""
    from .mechanism_constants import constants

    values = {name: gain.value for name, gain in gains.gains.items()}
    loops = {name: {"kP": f.kP, "kD": f.kD} for name, f in gains.feedback.items()}
    units = {name: gain.unit for name, gain in gains.gains.items()}
    note = f"{gains.mechanism}, {gains.control} control, R^2 {gains.r2:.4g}"
    if gains.r2 < 0:
        note = f"DO NOT USE: these gains explain less than none would; {note}"
    how = {"mechanism": o.mechanism, "language": o.constants, "season": o.season, "controller": o.controller}
    return constants(values, **how, units=units, feedback=loops, notes=note, **plant)


def _physics(back: Any) -> str:
    from ...tables import number
    from .characterization import finding_lines, wrap_lines

    values = {name: (getattr(back, name), unit) for name, unit in back.units.items()}
    known = [f"{name} {number(v)} {unit}" for name, (v, unit) in values.items() if v is not None]
    if back.plausible is not None:
        known[0] += " ({} to {} is plausible)".format(*map(number, back.plausible))
    known[0] = known[0].replace("inertia", "mass") if back.linear else known[0]
    predicted = ", ".join(f"{name} {number(value)}" for name, value in back.predicted.items())
    lines = wrap_lines(f"behind the gains: {'; '.join(known)}", "  ")
    lines += wrap_lines(f"the motor alone predicts {predicted}", "  ")
    return "\n".join([*lines, *finding_lines(back.findings)])


CHARACTERIZE = CommandSpec(CharacterizeWords, characterize, order=ORDER, working="reading")
