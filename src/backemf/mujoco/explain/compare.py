"""A model's actuator beside the part that is said to drive its joint: by what each number is off, and what to
write instead."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ...datasheets import parts as catalogue
from ...datasheets.interface import has_gain
from ...errors import InvalidValue
from ...findings import Finding, finding
from ...physics.actuator import Actuator
from ...physics.joint_law import JointLaw
from ...tables import number
from . import servos
from .actuator_findings import units
from .servos import ActuatorLaw

OFF = 1.5
"""Beyond this factor a difference is a finding: units of one kind differ by less."""


class ComparedPart(NamedTuple):
    """What drives a joint, and how it is called."""

    name: str
    actuator: Actuator
    gain_known: bool = True
    """Whether its stiffness stands on somebody's number."""
    firmware: str | None = None
    """The profile of its firmware."""

    @staticmethod
    def of(name: str, actuator: Actuator | None = None, firmware: str | None = None) -> ComparedPart:
        """A part by what the command line calls it.

        Args:
            name: of a part, an identified set, or a file.
            actuator: as it was made already; otherwise it is read.
            firmware: profile that the sheet is read with.

        Returns:
            The part.
        """
        made = Actuator.read(name) if actuator is None else actuator
        return ComparedPart(name, made, _gain_known(name, firmware), firmware)


def _gain_known(name: str, firmware: str | None) -> bool:
    """Whether the sheet behind a name says what its servo's gain is; what is no sheet knows its own."""
    if not catalogue.is_part(name):
        return True
    if not name.endswith(".toml"):
        name = name.partition("/")[0].lower()
        if name not in catalogue.names():
            return True
    sheet = catalogue.sheet(name) if firmware is None else catalogue.sheet(name).with_profile(firmware)
    return sheet.kind != "servo" or has_gain(sheet)


Parts = Mapping[str, ComparedPart | Actuator | str] | ComparedPart | Actuator | str
"""One part for all joints, or one for each pattern of names."""


def parts_of(given: Parts | None) -> dict[str, ComparedPart]:
    """Pattern of joints -> part."""
    if given is None:
        return {}
    match given:
        case Mapping():
            pairs = given
        case _:
            pairs = {".*": given}
    made = {}
    for pattern, pair in pairs.items():
        try:
            re.compile(pattern)
        except re.error as error:
            raise InvalidValue(
                f"{pattern!r} is no pattern of names: {error}; expected one such as 'shoulder_.*'"
            ) from None
        match pair:
            case ComparedPart():
                made[pattern] = pair
            case Actuator():
                made[pattern] = ComparedPart("the part", pair)
            case _:
                made[pattern] = ComparedPart.of(pair)
    return made


def part_for(parts: Mapping[str, ComparedPart], *names: str) -> ComparedPart | None:
    """The part of an actuator or joint; a pattern comes before the one for all."""
    chosen = [p for p in parts if p != ".*" and any(re.fullmatch(p, name) for name in names)]
    return parts[chosen[0]] if chosen else parts.get(".*")


class PartComparison(NamedTuple):
    """One number of the model beside the part's."""

    attribute: str
    """stiffness, damping, torque limit, armature or friction."""
    model: float | None
    """None: the model has none."""
    part: float | None
    """None: nobody knows it."""
    factor: float | None
    """model / part."""
    should_be: str
    """As it should be written."""
    unit: str
    source: str
    """The part, or where else its number is from."""
    range: tuple[float, float] | None = None
    """Where the part's own number is not known: from the least to the largest of parts alike."""

    @property
    def size(self) -> float:
        """How far it is off, in powers of e; endless where the model has nothing at all."""
        if self.part is None:
            return 0.0
        return math.inf if self.factor is None else abs(math.log(self.factor))

    @property
    def is_off(self) -> bool:
        if self.part is None or self.model is None or self.range is None:
            return self.size > math.log(OFF)
        low, high = self.range
        return not low / OFF <= self.model <= high * OFF


def compare_part(law: ActuatorLaw, part: ComparedPart, slides: bool) -> list[PartComparison]:
    """Every number that both have.

    Args:
        law: of the model, at its joint.
        part: what drives that joint.
        slides: whether the joint does: newtons and metres.

    Returns:
        A row for each number, the worst first.
    """
    x = JointLaw.of(part.actuator).lump()
    holds = part.actuator.drive.followed == "position_target"
    like = servos.kind_of_part(part.name, x.effort_limit, holds)
    torque, stiffness, damping, inertia = units(slides)
    limit, rows = x.effort_limit or None, []

    def add(
        name: str, model: float | None, value: float, unit: str, usual: servos.ServoRange | None = None
    ) -> None:
        known, source, between = value or None, part.name, None
        if usual is not None and limit is not None:
            near = usual.scale(limit)
            known, between = near.middle, (near.low, near.high)
            source = f"{like.words} of its torque ({', '.join(near.names)})"
        mine = model or None
        factor = mine / known if mine is not None and known is not None else None
        written = "" if known is None else _attribute_name(law, name, known, x.damping, x.viscous, unit)
        rows.append(PartComparison(name, mine, known, factor, written, unit, source, between))

    if law.regulates_position:
        held = x.stiffness if holds else 0.0
        add("stiffness", law.stiffness, held, stiffness, None if part.gain_known else like.stiffness(limit))
    add("damping", law.damping, x.damping + x.viscous, damping)
    add("torque limit", law.stall, x.effort_limit, torque)
    add("armature", law.armature, x.armature, inertia, None if x.armature else like.armature(limit))
    add("friction", law.friction, x.friction, torque)
    return sorted(rows, key=lambda row: -row.size)


def _attribute_name(law: ActuatorLaw, name: str, value: float, kv: float, damping: float, unit: str) -> str:
    """The attribute of the model's own element (kp, kv, forcerange) or of its joint (the others); a dcmotor's
    are the command's work."""
    g = abs(law.gear) or 1.0
    attributes = law.kind in ("position", "velocity", "motor")
    if name == "stiffness" and law.kind == "position":
        return f'kp="{number(value / g**2)}"'
    if name == "torque limit" and attributes:
        force = number(value / g)
        return f'forcerange="-{force} {force}"'
    if name == "damping" and attributes:
        own = "" if law.kind == "motor" else f' kv="{number(kv / g**2)}"'
        return f'damping="{number(damping)}"{own}'
    if name in ("armature", "friction") and attributes:
        return f'{"armature" if name == "armature" else "frictionloss"}="{number(value)}"'
    return f"{number(value)} {unit} at the joint"


def findings(rows: list[PartComparison], part: ComparedPart) -> Iterator[Finding]:
    """Those that are off by more than `OFF`, then what nobody knows of the part."""
    for row in rows:
        if not row.is_off or row.part is None:
            continue
        value = f"that of {part.name}, {number(row.part, 3)} {row.unit}"
        if row.range is not None:
            value = f"that of {row.source.partition(' (')[0]}, {_between(row)}"
        if row.factor is None or row.model is None:
            text = f"it has no {row.attribute}, unlike {value.removeprefix('that of ')}."
        else:
            off = row.factor if row.factor > 1 else 1 / row.factor
            side = "times" if row.factor > 1 else "times less than"
            text = f"{row.attribute} {number(row.model, 3)} {row.unit} is {number(off, 2)} {side} {value}."
        numbers = {"part": row.part} | ({} if row.model is None else {"model": row.model})
        numbers |= {} if row.factor is None else {"factor": row.factor}
        code = f"{row.attribute.replace(' ', '_')}_off"
        yield finding(code, text, f"write {row.should_be}", **numbers)
    for row in rows:
        if row.range is not None:
            kept = row.attribute == "armature"
            then = "an export leaves the model's own" if kept else "what an export writes for it is assumed"
            text = (
                f"the {row.attribute} of {part.name} is not known, {then}; {row.source} have {_between(row)}."
            )
            remedy = f"set {row.should_be} after the command, or identify the servo"
            yield finding(f"{row.attribute}_not_known", text, remedy, low=row.range[0], high=row.range[1])


def _between(row: PartComparison) -> str:
    low, high = (number(value, 3) for value in row.range or ())
    return f"{low} {row.unit}" if low == high else f"{low} to {high} {row.unit}"


def other_motion(part: ComparedPart, slides: bool) -> Finding:
    """A part that turns on a joint that slides, or the other way round."""
    turns, moves = ("slides", "turns") if slides else ("turns", "slides")
    text = f"its joint {turns} and {part.name} {moves}: they were not compared."
    remedy = 'give it a part of its own, --with "JOINT=PART", with motion "linear" for a slide'
    return finding("other_motion", text, remedy)


def command(law: ActuatorLaw, part: ComparedPart, path: Path, joint: str, made: bool) -> str | None:
    """The command that puts the part into the model.

    Args:
        law: of the model, at its joint.
        part: what to put there.
        path: of the model.
        joint: its name.
        made: whether a command before it makes the new file, so that this one changes it.

    Returns:
        The line; None for a `<motor>`, whose ctrl would then mean another thing.
    """
    if law.kind == "motor" or joint.isdigit():
        return None
    target = ["mujoco"] if law.kind == "dcmotor" else ["mujoco-classic", "--method", "formula"]
    new = str(path.with_name(f"{path.stem}_new{path.suffix}"))
    where = ["--into", new, "--force"] if made else ["--into", str(path), "-o", new]
    source = [part.name, *(["--firmware", part.firmware] if part.firmware else [])]
    return shlex.join(["backemf", "export", *source, "--to", *target, "--joint", joint, *where])
