"""Where a command's actuator comes from: a part, a fit, a BAM file, a simulator's model or configuration."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

SOURCE = (
    "A stored fit or actuator (JSON), a part of the catalogue, an identified set such as mx-106/m6, a BAM"
    " parameter file, an MJCF model (model.xml:JOINT where it has several actuators), or an Isaac Lab"
    " configuration (.py)."
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


class Chosen(NamedTuple):
    """An actuator as a command was asked for it."""

    actuator: Any
    notes: list[str]
    findings: list[Any]
    """What nobody printed or measured about it, and what it is used outside of."""
    unknown: list[str]
    """Paths of what it does not really know."""


def chosen(
    source: str,
    joint: str | None = None,
    *,
    sets: list[str] | None = None,
    voltage: float | None = None,
    firmware: str | None = None,
    control: str | None = None,
) -> Chosen:
    """A source with a supply, a firmware profile and single numbers of the user's own."""
    from ..data.sheets import parts

    findings, unknown = [], []
    if parts.is_part(source):
        made = parts.part(source, voltage=voltage, firmware=firmware, control=control)
        note = f"datasheet: {Path(source).name}" if source.endswith(".toml") else f"catalogue: {source}"
        actuator, notes, findings, unknown = made.actuator, [note], list(made.findings), list(made.unknown)
        notes += [f"firmware profile: {firmware}"] if firmware else []
    else:
        actuator, notes = actuator_of(source, joint)
        actuator = _at_supply(actuator, voltage, source)
        for word, given in (("firmware", firmware), ("control", control)):
            if given is not None:
                from ..errors import InvalidValue

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
    return Chosen(actuator, notes, findings, unknown)


def _at_supply(actuator: Any, voltage: float | None, source: str) -> Any:
    from ..errors import InvalidValue

    if voltage is None:
        return actuator
    for path in ("drive.supply", "drive.voltage_limit"):
        if path in actuator.parameters:
            return actuator.replace(**{path: voltage})
    raise InvalidValue(f"--voltage is {voltage:g}; the drive of {source} has no supply voltage to change")


def values_of(actuator: Any, sets: list[str] | None) -> dict[str, float]:
    """What `--set` gave: path=number, with or without a unit."""
    from ..errors import InvalidValue
    from ..units import parse

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
    from ..model.actuator import Actuator

    name = Path(source).name
    place, chosen = _split(source)
    if place.suffix.lower() in (".xml", ".mjcf"):
        from ..targets.mujoco.source import read

        read_ = read(place, chosen, joint)
        return read_.actuator, list(read_.notes)
    if place.suffix.lower() == ".py":
        from ..targets.isaaclab import source as isaaclab

        configured = isaaclab.read(place, chosen, joint)
        return configured.actuator, list(configured.notes)
    if not source.endswith(".json"):
        note = f"datasheet: {name}" if source.endswith(".toml") else f"catalogue: {source}"
        return Actuator.read(source), [note]
    from ..errors import MissingValue

    try:
        content = json_.loads(Path(source).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingValue(f"there is no file {source!r}") from None
    except (OSError, ValueError, RecursionError):
        content = None
    if isinstance(content, dict) and "backemf" not in content and "kt" in content:
        from ..targets import bam

        bam_file = bam.read(source)
        notes = [f"BAM parameters {name}, model {bam_file.model} of {bam_file.name}"]
        if bam_file.offset is not None:
            notes.append(f"q_offset {bam_file.offset:g} rad of the recordings is not part of the actuator")
        return bam_file.actuator, notes
    if isinstance(content, dict) and content.get("noun") == "Fit":
        from ..data.fit import Fit

        fit = Fit.read(source)
        return fit.actuator, [f"fit: {name}", *fit.summary()]
    return Actuator.read(source), [f"actuator: {name}"]


def _split(source: str) -> tuple[Path, str | None]:
    """The file, and the joint or actuator behind its colon: `arm.xml:elbow`, but not the one of `C:`."""
    head, colon, name = source.rpartition(":")
    if colon and head.lower().endswith((".xml", ".mjcf", ".py")):
        return Path(head), name
    return Path(source), None


def parts_of(given: list[str] | None) -> dict[str, Any] | None:
    """What `--with` gave: `part` for all joints, `pattern=part` for some."""
    from ..errors import InvalidValue
    from ..targets.explain import Part

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
