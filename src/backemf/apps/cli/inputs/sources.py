"""Where a command's actuator comes from: a part, a fit, a BAM file, a simulator's model or configuration."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ....targets.options import SOURCE_HELP as SOURCE

ActuatorFrom = Annotated[str, typer.Argument(help=SOURCE)]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A number by its path: drive.proportional=16, motor.resistance=2.1ohm. May be repeated."
    ),
]
Voltage = Annotated[
    float | None, typer.Option("--voltage", help="Supply voltage; the source's own unless given.")
]
Firmware = Annotated[
    str | None, typer.Option("--firmware", help="A profile of the part's firmware settings, such as lerobot.")
]


Control = Annotated[
    str | None,
    typer.Option(
        "--control",
        help="A part's interface: voltage, position, current, torque, velocity or impedance; its own unless"
        " given.",
    ),
]

Ratio = Annotated[
    float, typer.Option("--ratio", help="Rotor turns per output turn, behind the source's own gears.")
]
Motors = Annotated[int, typer.Option("--motors", help="Number of motors on one output.")]


def actuator_of(source: str, joint: str | None = None) -> tuple[Any, list[str]]:
    """(the actuator, notes on where it came from). `joint` helps to choose where a model has several and the
    source itself names none."""
    from ....targets.sources import read

    found = read(source, joint)
    return found.actuator, list(found.notes)


def parts_of(given: list[str] | None) -> dict[str, Any] | None:
    """What `--with` gave: `part` for all joints, `pattern=part` for some."""
    from ....errors import InvalidValue
    from ....mujoco.explain.explanation import Part

    if not given:
        return None
    parts = {}
    for words in given:
        pattern, equals, name = words.partition("=")
        pattern, name = (pattern, name) if equals else (".*", words)
        if not name or not pattern:
            raise InvalidValue(f'--with is {words!r}; expected a part, or "PATTERN=PART" for some joints')
        if pattern in parts:
            raise InvalidValue(f"--with gives {pattern!r} two parts; expected one for each pattern")
        parts[pattern] = Part.of(name, actuator_of(name)[0])
    return parts
