"""MJCF files with dcmotors in the installed MuJoCo, also those written for the other era:
only the words for the inputs are exchanged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InvalidValue
from .arrays import from_model, installed_era, load_model, load_mujoco
from .dcmotor import ERA_1_INPUTS, DcMotor
from .xml import Edit, Element, applied, compiled, scan, with_attributes

TO_ERA_2 = {"position": "pos", "velocity": "vel", "voltage": "voltage"}
TO_ERA_1 = {new: old for old, new in TO_ERA_2.items()}


class Loaded(NamedTuple):
    """A compiled model, and the era its file was written for."""

    model: Any
    era: int

    def dcmotor(self, actuator: int | str) -> DcMotor:
        """As the file meant it: gains in volts in era 1, in newton-metres in era 2."""
        dcmotor = from_model(self.model, actuator)
        control = dcmotor.controller
        if control.era == self.era:
            return dcmotor
        inputs: Any = TO_ERA_1[control.inputs[0]] if self.era == 1 else (TO_ERA_2[str(control.inputs)],)
        return replace(dcmotor, controller=replace(control, inputs=inputs))


def load(path: Path) -> Loaded:
    """Compile a model of either era."""
    here = installed_era()
    elements = [] if path.is_dir() else scan(path)  # a folder is refused below
    era = era_of(elements) or here
    if era != here:
        return Loaded(compiled(load_mujoco(), path, applied(list(_translated(elements, era)))), era)
    return Loaded(load_model(path), here)


def era_of(elements: list[Element]) -> int | None:
    """1 or 2 where a dcmotor's input says it: position and velocity are words of era 1, pos,
    vel and ff of era 2."""
    for e in _actuators(elements):
        words = set(e.attributes.get("input", "").split())
        if words & {"position", "velocity"}:
            return 1
        if words & {"pos", "vel", "ff", "none"}:
            return 2
        if e.tag == "general" and _mode(e) is not None:
            return 1
    return None


def _actuators(elements: list[Element]) -> Iterator[Element]:
    for e in elements:
        if e.parent in ("actuator", "default") and (
            e.tag == "dcmotor" or (e.tag == "general" and e.attributes.get("gaintype") == "dcmotor")
        ):
            yield e


def _mode(element: Element) -> str | None:
    """The input that a saved `<general>` of era 1 keeps as the ninth number of gainprm;
    None for the voltage, which both eras have."""
    words = element.attributes.get("gainprm", "").split()
    try:
        mode = int(float(words[8])) if len(words) > 8 and "input" not in element.attributes else 0
    except (ValueError, OverflowError):
        raise InvalidValue(f"gainprm is {element.attributes['gainprm']!r}; expected numbers") from None
    return ERA_1_INPUTS[mode] if 0 < mode < len(ERA_1_INPUTS) else None


def _translated(elements: list[Element], era: int) -> Iterator[Edit]:
    """Each dcmotor with its input in the other era's words; every number stays."""
    for e in _actuators(elements):
        mode, given = _mode(e), e.attributes.get("input", "").strip()
        changes = {}
        if mode is not None:
            changes = {"gainprm": " ".join(e.attributes["gainprm"].split()[:8]), "input": TO_ERA_2[mode]}
        elif given:
            table = TO_ERA_2 if era == 1 else TO_ERA_1
            if given not in table:
                raise InvalidValue(
                    f"{e.file.name}: input is {given!r}; the installed MuJoCo has one input only: expected"
                    f" {', '.join(table)}"
                )
            changes = {"input": table[given]}
            if e.tag == "general":  # era 1 keeps it as a number
                words = (e.attributes.get("gainprm", "").split() + ["0"] * 8)[:8]
                changes = {"gainprm": " ".join([*words, str(ERA_1_INPUTS.index(table[given]))])}
        if changes:
            raw = e.file.read_bytes()[e.start : e.opened]
            yield Edit(e, e.start, e.opened, with_attributes(raw, changes))
