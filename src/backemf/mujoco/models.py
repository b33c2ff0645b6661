"""MJCF files with dcmotors in the installed MuJoCo, also those written for the other era:
only the words for the inputs are exchanged. Joints may be named by regular expressions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..errors import BackemfError, InvalidValue, UnknownName
from ..findings import Finding, finding
from .arrays import from_model, installed_era, load_model, load_mujoco
from .dcmotor import ERA_1_INPUTS, DcMotor
from .xml import Edit, Element, apply_edits, compile_edited, scan, with_attributes

TO_ERA_2 = {"position": "pos", "velocity": "vel", "voltage": "voltage"}
TO_ERA_1 = {new: old for old, new in TO_ERA_2.items()}
WITH_INTEGRAL = "pos vel"
"""How era 1's velocity input with an integral is written for the compiler of era 2, which has no such law and
refuses `vel` with an integral gain."""


class LoadedModel(NamedTuple):
    """A compiled model, and the era its file was written for."""

    model: Any
    era: int

    def dcmotor(self, actuator: int | str) -> DcMotor:
        """As the file meant it: gains in volts in era 1, in newton-metres in era 2."""
        dcmotor = from_model(self.model, actuator)
        control = dcmotor.controller
        if control.era == self.era:
            return dcmotor
        if self.era == 2:
            word: Any = (TO_ERA_2[control.words[0]],)
            return replace(dcmotor, controller=replace(control, inputs=word))
        word = TO_ERA_1[control.words[-1]]
        return replace(dcmotor, controller=replace(control, inputs=word, ctrlrange=control.ctrlrange[:1]))


def load(path: Path) -> LoadedModel:
    """Compile a model of either era."""
    here = installed_era()
    elements = [] if path.is_dir() else scan(path)  # a folder is refused below
    era = era_of(elements) or here
    if era != here:
        return LoadedModel(
            compile_edited(load_mujoco(), path, apply_edits(list(_translate_elements(elements, era)))), era
        )
    return LoadedModel(load_model(path), here)


def same_era(path: Path) -> None:
    """Refuse a file that the installed MuJoCo would read otherwise than it was meant, or not at all."""
    try:
        elements = scan(path)
    except BackemfError:  # whoever loads it says what is wrong
        return
    era, here = era_of(elements), installed_era()
    if era is None or era == here:
        return
    written = {1: "3.7 to 3.11", 2: "3.12 and later"}[era]
    words = {e.attributes["input"].strip() for e in _actuators(elements) if "input" in e.attributes}
    given = f" (input {', '.join(repr(w) for w in sorted(words))})" if words else ""
    version = load_mujoco().__version__
    raise InvalidValue(
        f"{path.name} is written for MuJoCo {written}{given}; the installed {version} does not take its"
        f" words: write it anew with `backemf export {path} --to mujoco@{version} --into {path} -o NEW.xml`,"
        f" or install a MuJoCo of {written}"
    )


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


def _integral(element: Element) -> bool | None:
    """Whether an element's controller integrates; None where its class says."""
    place = {"dcmotor": ("controller", 1), "general": ("gainprm", 5)}[element.tag]
    words = element.attributes.get(place[0], "").split()
    try:
        return None if not words else len(words) > place[1] and float(words[place[1]]) > 0
    except ValueError:
        raise InvalidValue(f"{place[0]} is {' '.join(words)!r}; expected numbers") from None


def _translate_elements(elements: list[Element], era: int) -> Iterator[Edit]:
    """Each dcmotor with its input in the other era's words; every number stays."""
    dcmotors = list(_actuators(elements))
    integrates = any(e.parent == "default" and _integral(e) for e in dcmotors)
    for e in dcmotors:
        mode, given = _mode(e), e.attributes.get("input", "").strip()
        own, changes = _integral(e), {}
        slow = integrates if own is None else own
        if mode is not None:
            word = WITH_INTEGRAL if mode == "velocity" and slow else TO_ERA_2[mode]
            changes = {"gainprm": " ".join(e.attributes["gainprm"].split()[:8]), "input": word}
        elif given:
            table = TO_ERA_2 if era == 1 else TO_ERA_1
            if given not in table:
                raise InvalidValue(
                    f"{e.file.name}: input is {given!r}; the installed MuJoCo has one input only: expected"
                    f" {', '.join(table)}"
                )
            changes = {"input": WITH_INTEGRAL if given == "velocity" and slow else table[given]}
            if e.tag == "general":  # era 1 keeps it as a number
                words = (e.attributes.get("gainprm", "").split() + ["0"] * 8)[:8]
                changes = {"gainprm": " ".join([*words, str(ERA_1_INPUTS.index(table[given]))])}
        if changes:
            raw = e.file.read_bytes()[e.start : e.opened]
            yield Edit(e, e.start, e.opened, with_attributes(raw, changes))


T = TypeVar("T")


def match_joints(pattern: str, names: Collection[str], where: str, also: Collection[str] = ()) -> list[str]:
    """The joints that a pattern means: one by its name, or those that it fits as a regular expression. `also`
    are joints that only their own name means."""
    if pattern in names or pattern in also:
        return [pattern]
    try:
        found = [name for name in names if re.fullmatch(pattern, name)]
    except re.error as error:
        raise InvalidValue(f"--joint {pattern!r} is no joint and no regular expression: {error}") from None
    if not found:
        raise UnknownName(f"joint in {where}", pattern, {*names, *also})
    return found


def by_joint(
    wanted: Iterable[str], names: Collection[str], where: str, also: Collection[str] = ()
) -> dict[str, str]:
    """The pattern that decides over each joint: its own name before any regular expression, and a later one
    before an earlier.

    Args:
        wanted: names and regular expressions.
        names: joints of the model.
        where: the model in words.
        also: joints that only their own name means.

    Returns:
        Joint -> pattern, in the order of the patterns.

    Raises:
        UnknownName: a pattern means no joint.
        InvalidValue: it is no joint and no regular expression.
    """
    patterns = [*wanted]
    meant = {pattern: match_joints(pattern, names, where, also) for pattern in patterns}
    deciding = {joint: pattern for pattern in patterns for joint in meant[pattern]}
    return {joint: joint if joint in patterns else pattern for joint, pattern in deciding.items()}


def split_model(source: Path | str) -> tuple[Path, str | None]:
    """A model's file, and the joint or actuator behind its #: `arm.xml#elbow`."""
    head, sharp, name = str(source).rpartition("#")
    if not sharp or Path(source).is_file():
        return Path(source), None
    if not name:
        raise InvalidValue(f"{str(source)!r} names nothing behind the #; expected a joint or an actuator")
    return Path(head), name


IGNORED = {
    "the delay of an actuator": ("actuator_delay",),
    "the damping of an actuator": ("actuator_damping", "actuator_dampingpoly"),
    "the armature of an actuator": ("actuator_armature",),
    "polynomial damping": ("dof_dampingpoly", "tendon_dampingpoly"),
    "polynomial stiffness": ("jnt_stiffnesspoly", "tendon_stiffnesspoly"),
    "the yield of springs (they pull back like any other)": ("jnt_springyield", "tendon_springyield"),
}
"""What MJX 3.17 reads a model without, and says nothing: arrays of a model by what they hold. (Run: an
actuator late by three steps acts at once there.)"""
REFUSED = ("dcmotor", "pid", "user")
"""Kinds of gain that MJX 3.17 does not take."""


def mjx_findings(model: Any, exported: bool = False) -> list[Finding]:
    """What MJX makes of a model otherwise than MuJoCo does.

    Args:
        model: compiled.
        exported: whether it is one that jax@mjx wrote.

    Returns:
        A finding for actuators that it refuses; where there are none, for what it ignores.
    """
    absent = [what for what, arrays in IGNORED.items() if any(any(_places(model, name)) for name in arrays)]
    kinds, gains = {*map(int, model.actuator_gaintype)}, load_mujoco().mjtGain
    refused = [kind for kind in REFUSED if int(getattr(gains, f"mjGAIN_{kind.upper()}", -1)) in kinds]
    if refused:
        text = f"MJX does not take <{'>, <'.join(refused)}>."
        remedy = "export with jax@mjx --into this model, or with mujoco-classic"
        return [finding("mjx_refuses", text, remedy)]
    if absent:
        text = f"MJX runs this model without {', '.join(absent)}, and says nothing."
        places = [words for arrays in IGNORED.values() for name in arrays for words in _places(model, name)]
        carries = "" if exported else "export with jax@mjx, whose file carries what is an actuator's; or "
        remedy = f"{carries}take out {', '.join(places)}; or run it in MuJoCo or MuJoCo Warp"
        return [finding("mjx_ignores", text, remedy)]
    return []


def _places(model: Any, array: str) -> Iterator[str]:
    """Where a model has what an array holds: "delay of actuator knee"."""
    values = np.asarray(getattr(model, array, np.zeros(0)), float)
    kind, _, word = array.partition("_")
    word = f"all but the first number of {word[:-4]}" if word.endswith("poly") else word
    word = "stiffness and springyield" if word == "springyield" else word
    rows = np.nonzero((values != 0) & np.isfinite(values))[0].tolist()
    ids = [int(model.dof_jntid[row]) for row in rows] if kind == "dof" else rows
    kind = {"dof": "joint", "jnt": "joint"}.get(kind, kind)
    for i in dict.fromkeys(ids):
        yield f"{word} of {kind} {getattr(model, kind)(i).name or i}"


SPARSE_FAULT = "4.0.0"
"""The release whose Newton solver factors a wrong Hessian where the constraints' Jacobian is sparse; 4.0.1
mends it (release notes of MuJoCo 4.0.1, 2026-11-11, issue 3767)."""


def solver_findings(model: Any) -> list[Finding]:
    """Whether the installed MuJoCo may solve the model's constraints wrongly.

    Args:
        model: compiled.

    Returns:
        A finding where the Jacobian is sparse and Newton's method is used, in the release with the fault.
    """
    mujoco = load_mujoco()
    newton = int(model.opt.solver) == int(mujoco.mjtSolver.mjSOL_NEWTON)
    if mujoco.__version__ != SPARSE_FAULT or not newton or not mujoco.mj_isSparse(model):
        return []
    text = (
        f"MuJoCo {SPARSE_FAULT} may give wrong accelerations here: with a sparse constraint Jacobian"
        f" ({model.nv} degrees of freedom) its Newton solver can factor a wrong Hessian."
    )
    remedy = 'install MuJoCo 4.0.1 or later, or write <option jacobian="dense"/>'
    return [finding("sparse_solver_fault", text, remedy, dofs=model.nv)]
