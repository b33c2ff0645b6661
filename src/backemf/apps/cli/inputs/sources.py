"""Where a command's actuator comes from: a part, a fit, a BAM file, a simulator's model or configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

SOURCE = (
    "A stored fit or actuator (JSON), a part of the catalogue, an identified set such as mx-106/m6, a BAM"
    " parameter file, an MJCF model (model.xml#JOINT where it has several actuators), or an Isaac Lab"
    " configuration (robot.py#JOINT)."
)
"""What an actuator may be read from."""
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


class Chosen(NamedTuple):
    """An actuator as a command was asked for it."""

    actuator: Any
    notes: list[str]
    findings: list[Any]
    """What nobody printed or measured about it, and what it is used outside of."""
    unknown: list[str]
    """Paths of what it does not really know."""
    joint: str | None = None
    """Its joint, where the source names one."""


def chosen(
    source: str,
    joint: str | None = None,
    *,
    sets: list[str] | None = None,
    voltage: float | None = None,
    firmware: str | None = None,
    control: str | None = None,
    ratio: float = 1.0,
    motors: int = 1,
) -> Chosen:
    """A source with a supply, a firmware profile and single numbers of the user's own, behind gears."""
    from ....datasheets import parts

    findings, unknown, own = [], [], None
    if parts.is_part(source):
        made = parts.part(source, voltage=voltage, firmware=firmware, control=control)
        note = f"datasheet: {Path(source).name}" if source.endswith(".toml") else f"catalogue: {source}"
        actuator, notes, findings, unknown = made.actuator, [note], list(made.findings), list(made.unknown)
        notes += [f"firmware profile: {firmware}"] if firmware else []
    else:
        from ....targets.sources import read

        found = read(source, joint)
        notes, own = list(found.notes), found.joint
        actuator = _at_supply(found.actuator, voltage, source)
        for word, given in (("firmware", firmware), ("control", control)):
            if given is not None:
                from ....errors import InvalidValue

                raise InvalidValue(
                    f"--{word} is {given!r}; it belongs to parts of the catalogue, and {source} has its own"
                    " drive: change its numbers with --set"
                )
    if voltage is not None:
        notes.append(f"at {voltage:g} V")
    values = values_of(actuator, sets)
    if values:
        actuator = actuator.replace(**values)
        notes.append("set: " + ", ".join(f"{path} = {value:g}" for path, value in values.items()))
        given = {path.rpartition(".")[0] for path in values} | set(values)
        unknown = [path for path in unknown if path not in given]
        loops = [path for path in values if path.startswith("drive.")]
        findings = [f for f in findings if not (f.code == "assumed_gain" and loops)]
    if ratio != 1.0 or motors != 1:
        actuator = _geared(actuator, ratio, motors, source)
        notes.append(f"{motors} of it behind {ratio:g}:1")
    return Chosen(actuator, notes, findings, unknown, own)


def _geared(actuator: Any, ratio: float, motors: int, source: str) -> Any:
    """Several of an actuator on one output, behind further gears; what it is told stays volts or amperes."""
    from dataclasses import replace

    from ....errors import InvalidValue
    from ....physics.gearbox import Gearbox

    if actuator.drive.followed not in ("voltage_target", "current_target") or actuator.motion == "linear":
        raise InvalidValue(
            f"--ratio is {ratio:g} and --motors {motors}, but {source} has a {actuator.drive.kind} on a"
            f" {actuator.motion} axis; expected a rotary source that is told volts or amperes: a part with"
            " --control voltage"
        )
    further = Gearbox(ratio=ratio, n_motors=motors)
    return replace(
        actuator, gearbox=actuator.gearbox.behind(further), friction=further.reflect(actuator.friction)
    )


def _at_supply(actuator: Any, voltage: float | None, source: str) -> Any:
    from ....errors import InvalidValue

    if voltage is None:
        return actuator
    for path in ("drive.supply", "drive.voltage_limit"):
        if path in actuator.parameters:
            return actuator.replace(**{path: voltage})
    raise InvalidValue(f"--voltage is {voltage:g}; the drive of {source} has no supply voltage to change")


def values_of(actuator: Any, sets: list[str] | None) -> dict[str, float]:
    """What `--set` gave: path=number, with or without a unit."""
    from ....errors import InvalidValue
    from ....units import parse

    values = {}
    for words in sets or ():
        path, equals, text = (word.strip() for word in words.partition("="))
        if not equals or not path or not text:
            raise InvalidValue(f"--set is {words!r}; expected PATH=VALUE, such as drive.proportional=16")
        try:
            values[path] = float(text)
        except ValueError:
            values[path] = parse(text, actuator.unit(path), path).value
    return values


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
