"""`backemf simulate`: an actuator on a bench follows a command; numbers swept, runs drawn and kept."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import InvalidValue
from ...options import Answer, Scope, Terminal, option, option_of, options
from ...sizing.size_options import PowerOptions
from ...targets.export_options import SOURCE_HELP
from .command_builder import command
from .inputs import (
    ActuatorWords,
    PlaybackWords,
    ReadingWords,
    bench_of,
    command_of,
    fit_of,
    output_option,
    plot_option,
    words_of,
    write_motions,
)
from .terminal import finding_lines, under

if TYPE_CHECKING:
    from ...physics.supply import Supply

OF_ROBOT = Scope("robot", "a fit of a robot; of one joint give the voltage: --set drive.supply=11V")
SAMPLES = 2_000_000
"""Samples of all runs together that are kept in memory."""


@options
class SimulateWords(ActuatorWords, PlaybackWords):
    """What one may ask of `simulate`."""

    situation = "the source is {}"

    source: str = option(help=SOURCE_HELP, cli="source")
    command: str = option(
        help='What is asked: "step size=1rad", "square from=0deg to=180deg period=2s", "sine amplitude=6V'
        ' frequency=2Hz", ramp, chirp, random-binary, constant; or a table (.csv) with the columns time and'
        ' command. Of a robot by joint: "elbow=step size=0.5rad; wrist=sine amplitude=20deg frequency=1Hz".'
    )
    bench: str | None = option_of(ReadingWords, "bench")
    vary: list[str] | None = option(
        default=None,
        help="A number to sweep: drive.volts_per_radian=2,4,20, bench.mass=0.1,0.2kg or"
        " command.amplitude=1,2rad. Several give every combination.",
    )
    duration: float | None = option(
        default=None, help="How long [s]; a few periods of the command unless given.", unit="s"
    )
    timestep: float = option(
        default=0.001,
        help="Time between the samples that are kept [s]; the steps between are as fine as needed.",
        unit="s",
    )
    start_angle: str | None = option(
        default=None, help="Where the output starts, such as 90deg (or 0.1m); 0 unless given."
    )
    start_speed: str | None = option(
        default=None, help="How fast it starts, such as 10rpm; at rest unless given."
    )
    start_temperature: float | None = option(
        default=None, help="Winding at the start [degC]; the ambient's unless given.", unit="degC"
    )
    band: bool = option(
        default=False,
        help="Of a stored fit: also say how far off this may be, and draw the band of a recording.",
    )
    battery: Supply | None = option_of(PowerOptions, "battery", applies_to=OF_ROBOT)
    plot: Path | None = plot_option("the runs")
    output: Path | None = output_option("Write the runs into this table (.csv, .npz, .parquet).")


@command(SimulateWords, "simulating")
def simulate(options: SimulateWords, terminal: Terminal) -> Answer:
    """Simulate an actuator on a bench: where it comes to, how it gets there, and what that takes.

    Example: backemf simulate mx-106/m6 --bench "pendulum mass=1kg length=0.15m" --command "step size=90deg"
    """
    from ...logs import columns
    from ...targets.sourcing import choose_actuator

    o = options
    fit = fit_of(o.source)
    if fit is not None and fit.joints:
        return _simulate_robot(fit, o, terminal)
    o.check("one joint", in_shell=True)
    if o.output is not None:
        columns.writable(o.output)
    chosen = choose_actuator(o.source, **o.actuator_keywords())
    actuator, bench = chosen.actuator, bench_of("free-shaft" if o.bench is None else o.bench)
    if o.bench is None:
        _check_inertia(o.source, actuator)
    command = _parse_command(actuator, o.command)
    swept = [parse_sweep(text, actuator, bench, command) for text in o.vary or ()]
    combinations = every(swept)
    seconds = _seconds(command, o.duration)
    _affordable(len(combinations), seconds, o.timestep)
    names = [_run_name(swept, values) for values in combinations]
    places = o.playback_places(names)
    how = {"duration": seconds, "dt": o.timestep, "energy": True, "warn": False, "start": _start(actuator, o)}
    pairs = []
    for k, values in enumerate(combinations):
        terminal.say(f"run {k + 1} of {len(combinations)}", k / len(combinations))
        pairs.append(_run(actuator, bench, command, dict(zip(swept, values, strict=True)), how))
    runs, summaries = zip(*pairs, strict=True)
    motions = _with_bands(o, runs) if o.band else []
    findings = [*chosen.findings, *_findings_of(names if swept else [], [*runs, *motions])]
    if o.output is not None:
        columns.write(_table(runs, swept, combinations), o.output, force=o.force)
    shown = _write_playbacks(runs, names, motions, places, o.force)
    if o.plot is not None:
        asked = f"command: {o.command}; {words_of(bench)}"
        _draw(runs, swept, combinations, o.source, asked, o.plot, motions)

    def content() -> dict[str, Any]:
        from ... import store

        asked = {"source": o.source, "bench": store.plain(bench), "command": str(command)}
        rows = _run_rows(swept, combinations, summaries)
        for row, motion in zip(rows, motions, strict=False):
            row["band"] = _plain_band(motion)
        return {**asked, "notes": chosen.notes, "duration": seconds, "runs": rows, "findings": findings}

    def text() -> str:
        title = _title(actuator, bench, o.command, seconds, chosen.notes)
        motion = actuator.motion
        rows = _sweep(swept, combinations, summaries, motion) if swept else _single(summaries[0], motion)
        said = _band_words(motions, motion)
        return "\n\n".join(filter(None, [title, rows, said, under("Findings", finding_lines(findings))]))

    return Answer(content=content, text=text, findings=findings, written=[o.plot, o.output, *shown])


def _findings_of(names: Sequence[str], runs: Sequence[Any]) -> list[Any]:
    """What is to be said of runs: of a single one as it is; of a sweep's of each, by the numbers varied."""
    if not names:
        return [*{f.code: f for run in runs for f in run.findings}.values()]
    rows = [(name, f) for name, run in zip(itertools.cycle(names), runs, strict=False) for f in run.findings]
    return [*{(name, f.code): replace(f, text=f"with {name}, {f.text}") for name, f in rows}.values()]


def _write_playbacks(
    runs: Sequence[Any], names: Sequence[str], motions: Sequence[Any], places: dict[str, Path], force: bool
) -> list[Path]:
    """Files for Rerun and MCAP, where they were asked for."""
    if not places:
        return []
    from ..playback.playback import of_trajectory, write_playbacks

    seen = itertools.zip_longest(runs, names, motions)
    return write_playbacks([of_trajectory(*one) for one in seen], places, force=force)


def _simulate_robot(fit: Any, options: SimulateWords, terminal: Terminal) -> Answer:
    """All joints of a robot together, from rest where they are first asked to be; those that nobody asks
    anything stay at 0."""
    import numpy as np

    from ...logs.log import Log, Signal
    from ...tables import table

    o = options
    usual = ("source", "command", "duration", "timestep", "band", "battery", "to_rerun", "to_mcap", "force")
    for name in (name for name in o.given_options() if name not in usual):
        raise InvalidValue(
            f"--{name.replace('_', '-')} is given, and {o.source} is of a robot, whose joints are simulated"
            f" together; it applies to one joint, as {o.source}#{next(iter(fit.joints))}"
        )
    o.playback_places()
    commands = _commands_by_joint(fit, o.command)
    seconds = o.duration or max(_seconds(command, None) for command in commands.values())
    _affordable(len(fit.joints), seconds, o.timestep)
    clock = o.timestep * np.arange(-1, round(seconds / o.timestep) + 1)  # joints begin where they are before
    asked = {joint: commands[joint](clock) if joint in commands else 0.0 * clock for joint in fit.joints}
    joints = {
        joint: Log(name=joint, signals={"position_target": Signal(time=clock, values=values)})
        for joint, values in asked.items()
    }
    terminal.say("simulating")
    if o.battery is not None:
        fit = replace(fit, robot=replace(fit.robot, supply=o.battery))
    motion = fit.predict(Log(name="simulated", signals={}, joints=joints, robot=fit.robot))
    off = motion.expected.joints if o.band else {}
    shown = write_motions([motion], o)
    rows = {
        joint: {"reached": float(motion.positions[joint][-1]), "target": float(asked[joint][-1])}
        for joint in fit.joints
    }
    for joint, expected in off.items():
        rows[joint] |= {"expected_mae": expected, "half": float(np.mean(motion.band.half(joint)))}

    def text() -> str:
        cells = [(joint, *row.values()) for joint, row in rows.items()]
        head = f"{fit.robot.name}, {len(rows)} joints together in MuJoCo, for {seconds:g} s; at the end [rad]"
        columns = ("joint", "reached", "asked", *(("expected off", "band, half") if o.band else ()))
        told = under("Findings", finding_lines(motion.findings))
        return "\n\n".join(filter(None, [f"{head}\n{table(cells, columns)}", told]))

    content = {"duration": seconds, "joints": rows, "findings": motion.findings}
    return Answer(content=lambda: content, text=text, findings=motion.findings, written=shown)


def _commands_by_joint(fit: Any, text: str) -> dict[str, Any]:
    """ "elbow=step size=0.5rad; wrist=..." -> what each joint is asked."""
    commands = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        joint, _, words = part.partition("=")
        if joint.strip() not in fit.joints or not words:
            raise InvalidValue(
                f"--command is {text!r}; expected JOINT=COMMAND for joints of the robot"
                f' ({", ".join(fit.joints)}), as "{next(iter(fit.joints))}=step size=0.3rad"'
            )
        commands[joint.strip()] = command_of(words.strip(), "rad")
    return commands


def _run_name(swept: Sequence[Sweep], values: Sequence[float]) -> str:
    """What a run is called: the numbers that were varied for it."""
    said = (f"{v.path}={x:g}" for v, x in zip(swept, values, strict=True))
    return ",".join(said) or "simulated"


def _with_bands(options: SimulateWords, runs: Sequence[Any]) -> list[Any]:
    """Every run as the stored fit predicts it, with its band."""
    import numpy as np

    from ...logs.log import Log, Signal
    from ...results.fit_result import Fit

    if options.start_speed is not None or options.start_temperature is not None:
        raise InvalidValue("--band predicts from rest; expected no --start-speed and no --start-temperature")
    if ".json#" in options.source:
        raise InvalidValue(
            f"--band is asked for {options.source}, a joint of a robot; expected the fit of one servo, or all"
            f" joints: {options.source.partition('#')[0]}"
        )
    fit, motions = Fit.read(options.source), []
    for run in runs:
        clock, actuator = run.time, run.actuator
        asked = {n: Signal(time=clock, values=run[n]) for n in actuator.drive.targets if n in run.signals}
        begun = np.where(np.arange(len(clock)) == 0, run.position, np.nan)
        log = Log(
            name="simulated",
            signals={**asked, "position": Signal(time=clock, values=begun)},
            bench=run.bench,
            motion=actuator.motion,
            settings={p: v for p, v in actuator.parameters.items() if v != fit.actuator.parameters.get(p)},
        )
        motions.append(fit.predict(log))
        motions[-1].band  # noqa: B018  # now, so that what cannot be said is said before anything is written
    return motions


def _plain_band(motion: Any) -> dict[str, Any]:
    """A band as plain values."""
    expected = motion.expected
    series = {"time": motion.time, "predicted": motion.positions[""], "low": motion.low[""]}
    series |= {"high": motion.high[""]}
    return {"expected_mae": expected.mae, "expected_rms": expected.rms} | {
        name: values.tolist() for name, values in series.items()
    }


def _band_words(motions: Sequence[Any], motion: str) -> str:
    """How far off runs may be."""
    unit, lines = "mrad" if motion == "rotary" else "mm", []
    for k, one in enumerate(motions):
        expected, half = one.expected, 1e3 * float(one.band.half().mean())
        which = f"Run {k + 1}: a" if len(motions) > 1 else "A"
        lines.append(
            f"{which} recording would be {1e3 * expected.mae:.3g} {unit} off on average; 95 % of it within"
            f" +- {half:.3g} {unit}."
        )
    if not motions:
        return ""
    return "\n".join(
        [
            *lines,
            f"So much it takes to hold what was left out of the fit: {motions[0].fit.variation.left_out}.",
        ]
    )


def _check_inertia(source: str, actuator: Any) -> None:
    """Refuse a free shaft without any inertia."""
    from ...errors import MissingValue

    if not actuator.motor.rotor_inertia:
        wanted = 'say what the output carries, as in --bench "flywheel inertia=2e-4kg*m^2"'
        raise MissingValue(f"{source} has no rotor inertia, and nothing is attached to it; {wanted}")


def _run_rows(swept: Sequence[Sweep], combinations: Any, told: Sequence[Any]) -> list[dict[str, Any]]:
    """Every run as plain values, with the numbers that were varied for it."""
    return [
        {"varied": {v.path: x for v, x in zip(swept, values, strict=True)}, **_plain(numbers)}
        for values, numbers in zip(combinations, told, strict=True)
    ]


def _parse_command(actuator: Any, text: str) -> Any:
    """The command, in the unit of what the drive follows."""
    from ...logs.log import UNITS
    from ...physics.actuator import linear_unit

    drive = actuator.drive
    if not drive.followed:
        raise InvalidValue(
            f"--command is {text!r}, but {drive.kind} follows no command; give another --control"
        )
    unit = UNITS[drive.followed]
    return command_of(text, linear_unit(unit) if actuator.motion == "linear" else unit)


def _seconds(command: Any, duration: float | None) -> float:
    """How long to look: as told, or as long as the command has something to show."""
    if duration is not None:
        return duration
    if command.name == "held":
        return float(command.times[-1])
    own = command.fields
    if command.name in ("square", "sine"):
        return 3.0 / own["frequency"] + own.get("at", 0.0)
    if command.name == "random-binary":
        return 20.0 * own["hold"]
    until = own.get("until", float("inf"))
    return own.get("duration", own.get("at", 0.0) + (2.0 if until == float("inf") else until + 0.5))


def _affordable(n_runs: int, seconds: float, timestep: float) -> None:
    if timestep > 0 and n_runs * seconds / timestep > SAMPLES:
        raise InvalidValue(
            f"{n_runs} runs of {seconds:g} s every {timestep:g} s are {n_runs * seconds / timestep:.3g}"
            f" samples; expected {SAMPLES:g} at most: give a longer --timestep, a shorter --duration, or vary"
            " less"
        )


def _start(actuator: Any, options: SimulateWords) -> dict[str, float]:
    """States that do not start at rest."""
    from ...physics.actuator import linear_unit
    from ...units import si

    start, celsius = {}, options.start_temperature
    typed = (("position", options.start_angle, "rad"), ("velocity", options.start_speed, "rad/s"))
    for name, text, unit in typed:
        if text is not None:
            start[name] = si(
                text, linear_unit(unit) if actuator.motion == "linear" else unit, f"start {name}"
            )
    if celsius is not None:
        if "winding_temperature" not in actuator.states:
            raise InvalidValue(
                "--start-temperature is given, but the source has no thermal model of its winding"
            )
        start["winding_temperature"] = celsius
    return start


def _run(
    actuator: Any, bench: Any, command: Any, values: dict[Sweep, float], options: Any
) -> tuple[Any, Any]:
    """(the trajectory, its numbers) with some numbers changed."""
    from ...analysis.state_space import response
    from ...engine.simulate import simulate as run

    mine: dict[str, dict[str, float]] = {"bench": {}, "command": {}, "": {}}
    for one, value in values.items():
        owner, _, name = one.path.partition(".")
        mine[owner if owner in mine else ""][name if owner in mine else one.path] = value
    actuator = actuator.replace(**mine[""])
    bench = replace(bench, **mine["bench"]) if mine["bench"] else bench
    command = replace(command, **mine["command"]) if mine["command"] else command
    trajectory = run(actuator, bench, command, **options)
    return trajectory, response(trajectory, command)


def _plain(told: Any) -> dict[str, Any]:
    """The numbers of one run as plain values: the elements of "runs" in `--json`."""
    plain = {name: value for name, value in vars(told).items() if name != "step"}
    step = None if told.step is None else told.step._asdict()
    return {**plain, "step": step}


def _title(actuator: Any, bench: Any, command: str, seconds: float, notes: list[str]) -> str:
    from ...tables import number

    return (
        f"{'; '.join(notes)}\n{actuator.drive.kind}, {actuator.friction.kind}, on {words_of(bench)};"
        f" {command} for {number(seconds)} s"
    )


def _rows(told: Any, motion: str) -> list[tuple[str, Any, str]]:
    """(quantity, value, unit) of one run, in the units that people think in."""
    rotary = motion == "rotary"
    turn, place, speed, push = (
        (57.29577951308232, "deg", "deg/s", "N m") if rotary else (1.0, "m", "m/s", "N")
    )
    rows: list[tuple[str, Any, str]] = [("reached", turn * told.reached, place)]
    if told.target is not None:
        rows.append(("asked at the end", turn * told.target, place))
    if told.step is not None:
        rows.append(("overshoot", 100.0 * told.step.overshoot, "%"))
        settling = told.step.settling
        rows.append(("settling to 2 %", "not reached" if settling is None else settling, "s"))
    elif told.rms_error is not None:
        rows += [
            ("error, RMS", turn * told.rms_error, place),
            ("error, largest", turn * told.largest_error, place),
        ]
    rows += [("peak speed", turn * told.peak_speed, speed), ("peak torque", told.peak_torque, push)]
    rows.append(("peak current", told.peak_current, "A"))
    if told.temperature_rise is not None:
        rows.append(("winding warmer by", told.temperature_rise, "K"))
    return rows


BOOK = {
    "electrical": "taken in",
    "copper": "winding heat",
    "iron": "iron loss",
    "conversion": "lost in conversion",
    "friction": "friction",
    "gear": "gear loss",
    "load": "given to the load",
    "stored": "stored more",
}
"""The energy book in words."""


def _single(told: Any, motion: str) -> str:
    from ...tables import table

    book = [
        (BOOK[name], joules, "J")
        for name, joules in told.energy.items()
        if name in BOOK and _counts(told, joules)
    ]
    closed = f"The energy book closes within {100 * (told.unexplained or 0.0):.1g} %."
    return (
        f"{table(_rows(told, motion), ('quantity', 'value', 'unit'))}\n\n"
        f"{table(book, ('energy', 'value', 'unit'))}\n{closed}"
    )


def _counts(told: Any, joules: float) -> bool:
    """Whether an entry of the book is more than rounding."""
    return abs(joules) > 1e-6 * max(abs(x) for x in told.energy.values())


def _sweep(
    swept: Sequence[Sweep], values: Sequence[tuple[float, ...]], told: Sequence[Any], motion: str
) -> str:
    from ...tables import table

    first = _rows(told[0], motion)
    left_out = ("asked at the end", "peak torque")
    shown = [(name, unit) for name, _, unit in first if name not in left_out]
    header = [_column_head(v.path, v.unit) for v in swept] + [
        _column_head(name, unit) for name, unit in shown
    ]
    header += ["taken in [J]", "winding heat [J]"]
    rows = []
    for row, one in zip(values, told, strict=True):
        cells = {name: value for name, value, _ in _rows(one, motion)}
        energy = [one.energy["electrical"], one.energy["copper"]]
        rows.append([*row, *(cells.get(name, "-") for name, _ in shown), *energy])
    worst = max((one.unexplained or 0.0) for one in told)
    shown_as = table(rows, header, drop=("winding heat [J]", "taken in [J]"))
    return f"{shown_as}\n\nThe energy books close within {100 * worst:.1g} %."


def _column_head(name: str, unit: str) -> str:
    return name if unit in ("", "1") else f"{name} [{unit}]"


def _table(
    runs: Sequence[Any], swept: Sequence[Sweep], values: Sequence[tuple[float, ...]]
) -> dict[str, Any]:
    """The runs one below the other, with what was varied in front."""
    import numpy as np

    each = [run.columns() for run in runs]
    n = [len(run.time) for run in runs]
    front = {
        _column_head(v.path, v.unit): np.repeat([row[k] for row in values], n) for k, v in enumerate(swept)
    }
    return {**front, **{name: np.concatenate([one[name] for one in each]) for name in each[0]}}


def _draw(
    runs: Sequence[Any],
    swept: Sequence[Sweep],
    values: Sequence[tuple[float, ...]],
    source: str,
    asked: str,
    plot: Path,
    motions: Sequence[Any] = (),
) -> None:
    from ...tables import number
    from ..report.figures import draw, runs as figures

    name = Path(source).name if source.endswith((".json", ".toml", ".xml")) else source
    title = f"{name} on {words_of(runs[0].bench)}"
    if not swept:
        figure = figures.with_band(figures.run(runs[0], title, asked), motions)
    else:
        ends = [v.path.rpartition(".")[2].replace("_", " ") + " " if len(swept) > 1 else "" for v in swept]
        units = ["" if v.unit == "1" else f" {v.unit}" for v in swept]
        labels = [
            ", ".join(f"{end}{number(x)}{unit}" for end, x, unit in zip(ends, row, units, strict=True))
            for row in values
        ]
        figure = figures.runs(runs, labels, f"{name}: {', '.join(v.path for v in swept)}", asked)
    draw.save(figure, plot)


MOST_RUNS = 100
"""More than these are no table that a person reads."""


class Sweep(NamedTuple):
    """One number that is swept: `drive.volts_per_radian`, `bench.mass` or `command.amplitude`."""

    path: str
    values: tuple[float, ...]
    unit: str


def parse_sweep(text: str, actuator: Any, bench: Any, command: Any) -> Sweep:
    """ "drive.volts_per_radian=2,4,20" -> that path and its values; a unit behind the last is that of all."""
    from ...errors import InvalidValue, UnknownName
    from ...physics.bench import BENCH_TRAITS
    from ...physics.quantity import absent, quantities_of
    from ...signal.commands import numbers_of, unit_of
    from ...signal.words import number_and_unit, si

    path, equals, given = (word.strip() for word in text.partition("="))
    numbers = [word.strip() for word in given.split(",")]
    if not equals or not path or not all(numbers):
        wanted = "expected PATH=VALUE,VALUE, such as drive.volts_per_radian=2,4,20"
        raise InvalidValue(f"--vary is {text!r}; {wanted}")
    known = {f"bench.{name}": BENCH_TRAITS[f"bench.{name}"]["unit"] for name in quantities_of(type(bench))}
    known |= {f"command.{f.name}": unit_of(f, command.unit) for f in numbers_of(command)}
    if path not in known:
        if path not in {*actuator.parameters, *absent(actuator)}:
            raise UnknownName("number to vary", path, [*actuator.parameters, *known])
        known[path] = actuator.unit(path)
    unit, last = known[path] or "1", number_and_unit(numbers[-1])[1]
    spelled = [word if number_and_unit(word)[1] else f"{word}{last}" for word in numbers]
    return Sweep(path, tuple(si(word, unit, path) for word in spelled), unit)


def every(swept: Sequence[Sweep]) -> list[tuple[float, ...]]:
    """Every combination of the values."""
    paths = [sweep.path for sweep in swept]
    if len(set(paths)) < len(paths):
        raise InvalidValue(f"--vary names a number twice: {', '.join(paths)}; give all its values at once")
    combinations = list(itertools.product(*(sweep.values for sweep in swept)))
    if len(combinations) > MOST_RUNS:
        wanted = f"expected {MOST_RUNS} at most: vary less at once"
        raise InvalidValue(f"--vary asks for {len(combinations)} runs; {wanted}")
    return combinations
