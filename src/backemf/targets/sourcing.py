"""An actuator as somebody asks for it: a source with a supply, a firmware profile, numbers of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..datasheets import parts
from ..errors import InvalidValue
from ..physics.gearbox import Gearbox
from ..units import si
from .sources import read


class ChosenActuator(NamedTuple):
    """An actuator as a command was asked for it."""

    actuator: Any
    notes: list[str]
    findings: list[Any]
    """What nobody printed or measured about it, and what it is used outside of."""
    unknown: list[str]
    """Paths of what it does not really know."""
    joint: str | None = None
    """Its joint, where the source names one."""
    options: Mapping[str, Any] = {}
    """Of an export, as the source says them."""
    registers: Mapping[str, float] = {}
    """P, I and D of its firmware, as far as its sheet prints them."""


def choose_actuator(
    source: str,
    joint: str | None = None,
    *,
    sets: list[str] | None = None,
    voltage: float | None = None,
    firmware: str | None = None,
    control: str | None = None,
    ratio: float = 1.0,
    motors: int = 1,
) -> ChosenActuator:
    """A source with a supply, a firmware profile and single numbers of the user's own, behind gears.

    Args:
        source: a part, or a file with an actuator.
        joint: which one, where the source has several and names none.
        sets: PATH=VALUE of single numbers.
        voltage: of the supply [V].
        firmware: a profile of the part's.
        control: how a part is commanded: "voltage", "position" ...
        ratio: of further gears.
        motors: on one output.

    Returns:
        The actuator, where its numbers came from, and what is not known of it.

    Raises:
        BackemfError: the source is not there, or an option does not apply to it.
    """
    if parts.is_part(source):
        chosen = _choose_part(source, voltage, firmware, control)
    else:
        chosen = _choose_stored(source, joint, voltage, firmware=firmware, control=control)
    if voltage is not None:
        chosen.notes.append(f"at {voltage:g} V")
    values = set_values(chosen.actuator, sets)
    if values:
        chosen = _with_values(chosen, values)
        if "drive.supply" in values and parts.is_part(source):
            rest = [f for f in chosen.findings if f.code != "outside_identified_supply"]
            chosen = chosen._replace(findings=[*rest, *parts.supply_findings(source, chosen.actuator)])
    if ratio != 1.0 or motors != 1:
        chosen.notes.append(f"{motors} of it behind {ratio:g}:1")
        chosen = chosen._replace(actuator=_gear_actuator(chosen.actuator, ratio, motors, source))
    return chosen


def _choose_part(
    source: str, voltage: float | None, firmware: str | None, control: str | None
) -> ChosenActuator:
    """A part of the catalogue or of a sheet, with a supply, a firmware profile and an interface."""
    part = parts.part(source, voltage=voltage, firmware=firmware, control=control)
    notes = [f"datasheet: {Path(source).name}" if source.endswith(".toml") else f"catalogue: {source}"]
    notes += [f"firmware profile: {firmware}"] if firmware else []
    known = ChosenActuator(part.actuator, notes, list(part.findings), list(part.unknown))
    return known._replace(registers=part.registers)


def _choose_stored(
    source: str, joint: str | None, voltage: float | None, **of_parts: str | None
) -> ChosenActuator:
    """A stored actuator, or that of a model's joint; firmware and interface are its own."""
    stored = read(source, joint)
    actuator = _at_supply(stored.actuator, voltage, source)
    for word, given in of_parts.items():
        if given is not None:
            raise InvalidValue(
                f"--{word} is {given!r}; it belongs to parts of the catalogue, and {source} has its own"
                " drive: change its numbers with --set"
            )
    return ChosenActuator(actuator, list(stored.notes), [], [], stored.joint, stored.options)


def _with_values(chosen: ChosenActuator, values: dict[str, float]) -> ChosenActuator:
    """An actuator with numbers of the user's own; what they replace is unknown no longer."""
    note = "set: " + ", ".join(f"{path} = {value:g}" for path, value in values.items())
    given = {path.rpartition(".")[0] for path in values} | set(values)
    loops = any(path.startswith("drive.") for path in values)
    return chosen._replace(
        actuator=chosen.actuator.replace(**values),
        notes=[*chosen.notes, note],
        findings=[f for f in chosen.findings if not (f.code == "assumed_gain" and loops)],
        unknown=[path for path in chosen.unknown if path not in given],
    )


def _gear_actuator(actuator: Any, ratio: float, motors: int, source: str) -> Any:
    """Several of an actuator on one output, behind further gears; what it is told stays volts or amperes."""
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
    if voltage is None:
        return actuator
    for path in ("drive.supply", "drive.voltage_limit"):
        if path in actuator.parameters:
            return actuator.replace(**{path: voltage})
    raise InvalidValue(f"--voltage is {voltage:g}; the drive of {source} has no supply voltage to change")


def set_values(actuator: Any, sets: list[str] | None) -> dict[str, float]:
    """What `--set` gave: path=number, with or without a unit."""
    typed = map(path_and_text, sets or ())
    return {path: si(text, actuator.unit(path), path) for path, text in typed}


def path_and_text(words: str) -> tuple[str, str]:
    """("motor.resistance", "2.1 ohm") of what was typed behind `--set`."""
    path, equals, text = (word.strip() for word in words.partition("="))
    if not equals or not path or not text:
        raise InvalidValue(f"--set is {words!r}; expected PATH=VALUE, such as drive.proportional=16")
    return path, text
