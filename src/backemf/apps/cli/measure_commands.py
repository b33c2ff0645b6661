"""`backemf measure`: bench arithmetic with honest errors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from ...options import Answer, CommandSpec, Terminal, option, option_of, options, options_of
from .command_builder import Verb, command, from_data
from .inputs import ReadingWords, WritingWords, plot_option, read_logs
from .terminal import finding_lines, pick, under


@options
class MeasureWords(WritingWords):
    """What every reading has."""

    plot: Path | None = plot_option("the readings, the line and its 95 % band")


@options
class MeasureLogWords(MeasureWords):
    """Of a reading of a recording."""

    map: list[str] | None = option_of(ReadingWords, "map")


@options
class MeasureBenchWords(MeasureLogWords):
    """Of one that what carried it matters to."""

    bench: str | None = option_of(ReadingWords, "bench")


EXAMPLES = {
    "fall": "--mass 0.33 --length 0.15 --angle 64deg",
    "slip": "--mass 0.33 --length 0.15 --angle 60deg",
    "resistance": "--current 0.6,1.2,1.8,2.4 --voltage 1.25,2.46,3.7,5.15",
    "current-step": "step.csv --voltage 2",
    "impedance": "--frequency 50,100,400,1000 --impedance 2.02,2.1,3.2,6.6",
    "back-emf": '--speed "500, 1000, 1500, 2000 rpm" --voltage 1.21,2.39,3.62,4.8',
    "torque-constant": "--load 1.94,2.76,3.34 --current 1.37,1.8,2.21",
    "stall-torque": '--scale "0.62, 0.64, 0.63 kg" --arm "2.50 cm" --current 0.66,0.68,0.67 --supply 4.8V',
    "no-load": "--voltage 3.00,6.00,9.00,12.00 --speed 1.7,3.47,5.22,7.0 --resistance 2.1",
    "no-load-current": '--speed 50,100,200 --current "61,64,71 mA" --torque-constant "0.0235 +- 0.0003"',
    "firmware-gain": '--error "8, 16 deg" --register 5,5 --duty 0.106,0.214',
    "coast-down": "coast.csv --inertia 2e-4",
    "inertia": "with-disc.csv without.csv --added 3e-3",
    "run-up": "step.csv --resistance 2.1 --torque-constant 0.0235",
    "acceleration": "--acceleration 40,90,140 --current 1,2,3 --torque-constant 0.0235",
    "inverse-dynamics": "axis.csv --cutoff 50",
    "thermal": "heating.csv --power 4.5 --until 600",
    "backlash": "reversal.csv",
}
"""By reading, in the order of the help: what one types."""
OF_BENCH = ("inverse-dynamics",)
"""Readings that what carried the output matters to."""


def reading_command(name: str) -> Callable[..., None]:
    """The command of a reading, with an option for each argument of its function."""
    from ...analysis.measure import LOGS, READINGS, reading_options

    given = inspect.signature(READINGS[name]).parameters
    base = MeasureLogWords if set(LOGS) & set(given) else MeasureWords
    kind = reading_options(name, MeasureBenchWords if name in OF_BENCH else base)
    own = [one.name for one in options_of(kind) if one.name in given]

    def run(options: MeasureWords, terminal: Terminal) -> Answer:
        from ...analysis.measure import measure, typed_arguments

        reading = {word: getattr(options, word) for word in ("map", "bench") if hasattr(options, word)}
        arguments = typed_arguments(
            pick(options, " ".join(own)), lambda path: read_logs([path], terminal.say, **reading)[0]
        )
        return _reading_answer(measure(name, **arguments), options.plot)

    about = (inspect.getdoc(READINGS[name]) or "").partition("\n\nArgs:")[0]
    run.__doc__ = f"{about}\n\nExample: backemf measure {name} {EXAMPLES[name]}"
    return from_data(CommandSpec(kind, run), name)


class MeasureGroup(TyperGroup):
    """Commands whose words come from the functions that measure, which are loaded when one is needed."""

    @property
    def commands(self) -> dict[str, Any]:
        """Every reading, and what compares them."""
        return reading_commands() | self._others

    @commands.setter
    def commands(self, others: dict[str, Any]) -> None:
        self._others = others


@functools.cache
def reading_commands() -> dict[str, Any]:
    """Every reading by name, as typer makes it."""
    readings = typer.Typer(rich_markup_mode=None)
    readings.callback()(lambda: None)
    for name in EXAMPLES:
        readings.command(name, cls=Verb)(reading_command(name))
    return dict(typer.main.get_group(readings).commands)


def _reading_answer(measured: Any, plot: Path | None) -> Answer:
    """A measured number, with what else the reading told."""

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

    return Answer(
        content=lambda: plain(measured) | _plot_entry(plot),
        text=text,
        findings=measured.findings,
        written=[plot],
        figures=_figures(measured, plot),
    )


def _line(m: Any, alike: str = "") -> str:
    from ...tables import interval

    said = f"{m.name}{alike} {m.number()}"
    if m.value is not None and m.low is not None and m.high is not None and m.error:
        said += f", 95 %: {interval(m.low, m.high, 'to', 4)}"
    return said


def plain(m: Any) -> dict[str, Any]:
    """A measured number as it stands in `--json`."""
    said = pick(m, "name value error low high spare unit route assumption sharpen findings")
    return {**said, "others": {k: plain(o) for k, o in m.others.items()}}


def _plot_entry(plot: Path | None) -> dict[str, Path]:
    return {} if plot is None else {"plot": plot}


def _figures(noun: Any, plot: Path | None) -> dict[Path, Any]:
    """The picture of what was measured, by its place."""
    from ..report.figures.show import drawing

    return {} if plot is None else {plot: drawing(noun).figure}


@options
class MeasureConstantsWords(MeasureWords):
    """What one may ask of `measure constants`."""

    file: Path | None = option(
        default=None, help="Readings by name, and stated constants (TOML or JSON).", cli="file"
    )
    reading: list[str] | None = option(
        default=None,
        help='A reading in words, in SI or with units: "resistance current=0.6,1.2 voltage=1.25,2.46".'
        " May be repeated.",
    )
    stated: list[str] | None = option(
        default=None,
        help='A constant known otherwise, in SI: "motor.torque_constant=2.2+-0.02 datasheet".'
        " May be repeated.",
    )


@command(MeasureConstantsWords)
def constants(options: MeasureConstantsWords, terminal: Terminal) -> Answer:
    """Every constant by every route, what they come to together, and where they disagree.

    Example: backemf measure constants bench.toml --plot routes.png
    """
    from ...analysis.measure import by_label, constants as measure, read_readings, several

    file, plot = options.file, options.plot
    content: dict[str, Any] = {} if file is None else dict(read_readings(file))
    for words in options.reading or ():
        name, numbers = _reading(words)
        content[name] = [*several(content.get(name, [])), numbers]
    told = {k: dict(by_label(v)) for k, v in (content.get("stated") or {}).items()}
    for words in options.stated or ():
        constant, label, value = _split_statement(words)
        told.setdefault(constant, {})[label] = value
    where: dict[str, Any] = {} if file is None else {"name": file.stem, "folder": file.parent}
    constants = measure(content | {"stated": told}, **where)
    return Answer(
        content=lambda: _plain(constants) | _plot_entry(plot),
        text=lambda: _text(constants),
        findings=constants.findings,
        written=[plot],
        figures=_figures(constants, plot),
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


def _plain(made: Any) -> dict[str, Any]:
    routes = {c: {route: plain(m) for route, m in ways.items()} for c, ways in made.routes.items()}
    together = {c: plain(m) for c, m in made.combined.items()}
    return {"name": made.name, "routes": routes, "together": together, "findings": made.findings}


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
    cls=MeasureGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Bench arithmetic with honest errors: value, error, what was assumed, what would sharpen it.",
)
app.callback()(lambda: None)  # a group, be it of one command
app.command("constants", cls=Verb)(constants)
