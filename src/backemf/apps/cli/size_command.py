"""`backemf size`: which motor behind which gearhead does a task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...options import Answer, Scope, Terminal, option, options, parse_file
from ...sizing.size_options import PowerOptions, SizeOptions
from ...targets.export_options import target_names
from .command_builder import command
from .inputs import WritingWords, output_option, plot_option
from .terminal import finding_lines, under

IN_WORDS = Scope("words", "a bench and a move", "a bench and a move: give --bench and --move")
OF_ROBOT = Scope("robot", "a robot's recording", "a robot's recording: give --robot, --log and --joint")


@options
class SizeWords(WritingWords, SizeOptions):
    """What one may ask of `size`."""

    situation = "the task is a {}"

    task: str = option(
        default="",
        help="A table of the task: time, velocity or position, and torque. Or --bench, or --robot.",
        cli="task",
    )
    bench: str | None = option(
        default=None, help="What the joint carries: pendulum mass=1kg length=0.2m.", applies_to=IN_WORDS
    )
    move: str | None = option(
        default=None,
        help='How it moves, over and over: "trapezoid from=0deg to=90deg time=0.5s dwell=0.5s", sine, spin,'
        " spin-up, hold.",
        applies_to=IN_WORDS,
    )
    robot: Path | None = option(
        default=None, help="A robot (MJCF, URDF) that was recorded.", applies_to=OF_ROBOT, parse=parse_file
    )
    log: str | None = option(default=None, help="A recording of that robot.", applies_to=OF_ROBOT)
    joint: str | None = option(default=None, help="Which of its joints.", applies_to=OF_ROBOT)
    friction: str | None = option(
        default=None,
        help="A fit whose friction that joint has, too.",
        applies_to=OF_ROBOT,
        cli="--friction-of",
    )
    export: str | None = option(
        default=None, help="Write the best for {choices}, to -o.", choices=target_names
    )
    output: Path | None = output_option("Write the best as an actuator (JSON), or for --export.")
    plot: Path | None = plot_option("mass against loss; as .html a page whose table can be filtered")


@command(SizeWords, "sizing")
def size(options: SizeWords, terminal: Terminal) -> Answer:
    """Judge every motor behind every gearhead against a task, and simulate the best in full.

    Example: backemf size --bench "pendulum mass=1kg length=0.2m" --move "sine amplitude=1 period=1" --bus 24V
    """
    from dataclasses import replace

    from ...errors import MissingValue
    from ...sizing.size import run_size

    o = options
    if o.export is not None and o.output is None:
        raise MissingValue(f"--export {o.export} writes a file; give -o FILE")
    asked = replace(o.narrow(SizeOptions), progress=terminal.say)
    sizing = run_size(_task(o), asked)
    if o.output is not None:
        _write_best(sizing, o)
    return _answer(sizing, o, [o.output, o.plot])


def _answer(result: Any, o: SizeWords | PowerWords, written: list[Path | None]) -> Answer:
    """What was found, as text, JSON, and a picture or a page."""
    figures = {}
    if o.plot is not None and o.plot.suffix.lower() == ".html":
        from ...sizing.sizing_page import page_of
        from ..report import html

        html.write(page_of(result), o.plot, force=o.force)
    elif o.plot is not None:
        figures = {o.plot: result.figure()}

    def text() -> str:
        return "\n\n".join(filter(None, [str(result), under("Findings", finding_lines(result.findings))]))

    said = {"findings": result.findings, "written": written, "figures": figures}
    return Answer(content=result.to_dict, text=text, **said)


def _task(o: SizeWords) -> Any:
    """The task, from the one place that says it."""
    from ...errors import MissingValue
    from ...sizing.task import Task, task_of_bench, task_of_robot

    ways = {"table": (o.task,), "words": (o.bench, o.move), "robot": (o.robot, o.log, o.joint)}
    given = [name for name, values in ways.items() if any(values)]
    if len(given) != 1:
        known = (
            "nothing says what the task is" if not given else f"a task is given as {' and as '.join(given)}"
        )
        raise MissingValue(
            f"{known}; expected one of a table, --bench with --move, or --robot with --log and --joint"
        )
    o.check(given[0], in_shell=True)
    if o.task:
        return Task.read(o.task)
    needed = ("bench", "move") if given[0] == "words" else ("robot", "log", "joint")
    if lacks := [f"--{name}" for name in needed if getattr(o, name) is None]:
        together = ", ".join(f"--{name}" for name in needed)
        raise MissingValue(f"{', '.join(lacks)} is missing; expected {together} together")
    if given[0] == "words":
        return task_of_bench(*(str(getattr(o, name)) for name in needed))
    return task_of_robot(o.robot, o.log, str(o.joint), _friction(o))


def _friction(o: SizeWords) -> Any:
    """The actuator whose friction the joint has."""
    from ...physics.actuator import Actuator

    if o.friction is None:
        return None
    from ...results.fit_result import Fit

    fit = Fit.read(o.friction)
    return fit.actuators.get(o.joint or "", fit.actuator) if fit.joints else Actuator.read(o.friction)


def _write_best(sizing: Any, o: SizeWords) -> None:
    """The best choice as a file."""
    actuator = sizing.best.actuator()
    if o.export is None:
        actuator.write(o.output, force=o.force)
        return
    from ...targets.export import export

    made: Any = export(actuator, o.export)
    made.write(o.output, force=o.force)


@options
class PowerWords(WritingWords, PowerOptions):
    """What one may ask of `power`."""

    robot: Path = option(help="The robot (MJCF, URDF).", cli="robot")
    log: str = option(help="A recording of it.", cli="log")
    plot: Path | None = plot_option("the bus and the windings over time; as .html a page")


@command(PowerWords, "simulating")
def power(options: PowerWords, terminal: Terminal) -> Answer:
    """Put a robot's recorded motion on one battery: sag, energy, what it does not deliver, what gets too hot.

    Example: backemf power go2.xml go2.csv --part go-m8010-6 --battery "voc=29.6V r=80mohm capacity=8Ah"
    """
    from ...sizing.power import run_power

    run = run_power(options.robot, options.log, options.narrow(PowerOptions))
    return _answer(run, options, [options.plot])
