"""Put actuators into a user's own MJCF or URDF: the joints' old ones are replaced, every other byte stays.

What the user commands stays: ctrl in the same units and range, the same names, the model's own time step and
integrator. What an actuator does not know stays as it was in the model. Included files are followed; the
edited model is compiled, compared number by number, and driven beside the old one before anything is written.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidValue
from ...findings import Finding, finding
from ...logs.log import Log
from ...mujoco.arrays import engine_of, installed_era, load_mujoco, play_joint, without_log
from ...mujoco.dcmotor import rules
from ...mujoco.joint_interface import (
    OF_JOINT,
    JointChoice,
    JointDrive,
    ModelJoint,
    choose_joints,
    drive_findings,
    drive_joint,
    read_joint,
)
from ...mujoco.joint_moves import JointMove, check_moves, compare_moves
from ...mujoco.models import LoadedModel, era_of, load
from ...mujoco.xml import Edit, Element, apply_edits, compile_edited, scan, with_attributes
from ...physics.actuator import Actuator
from ..result import Export, Request, number
from ..write import write_target
from .dcmotor_target import actuator_arrays, attributes
from .edited_model import EditedModel, with_states, without_delays
from .holding import creep_words, searching, spring_edits, spring_findings, springs_of

JOINT = (*OF_JOINT, "solreffriction", "solimpfriction")
"""Attributes of a joint that belong to its actuator."""
KEPT = ("name", "group", "user", "ctrlrange", "ctrllimited")
"""Attributes of the old actuator that stay; not its class, whose gains and limits were the old one's."""
NO_LIMIT = 1e9
"""A dcmotor's saturation [N m] where the model's defaults limit every actuator's force, and this one has no
limit of its own."""
INERT = {"gaintype": "fixed", "gainprm": "0", "biastype": "none", "dyntype": "none"}
"""A `<general>` in the place of an actuator that does nothing any more; its element of ctrl stays."""
FREE = {
    **dict.fromkeys(("ref", "springref", "stiffness", "damping", "armature", "frictionloss", "margin"), "0"),
    "actuatorfrclimited": "false",
}
"""What the joint of a play says against default classes: between its stops it is free."""
IN_TREE = ("body", "worldbody", "frame", "replicate")
"""Elements that joints stand in."""


class UserModel(NamedTuple):
    """A user's model: its file, its elements, and what MuJoCo makes of it."""

    path: Path
    elements: list[Element]
    loaded: LoadedModel

    def joint(self, name: str) -> Element:
        """Where a joint is described."""
        return named_joints(self.elements)[name]

    def choose(self, motions: Mapping[str, str]) -> JointChoice:
        """Joints that names and patterns mean, each with the motion of its actuator."""
        mujoco, model = load_mujoco(), self.loaded.model
        here = named_joints(self.elements)
        names = (mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, j) for j in range(model.njnt))
        why = (
            "which a <replicate> or <attach> makes, so that it has no place of its own in the file: be.attach"
        )
        return choose_joints(
            model, motions, self.path.name, {n: f"{why} can drive it" for n in names if n and n not in here}
        )

    def actuator(self, i: int | None, joint: str) -> Element | None:
        """Where an actuator of a joint is described."""
        if i is None:
            return None
        listed = [e for e in self.elements if e.parent == "actuator" and e.tag != "include"]
        if len(listed) == len(self.loaded.model.actuator_gaintype):
            return listed[i]
        return next((e for e in listed if of_joint(e) == joint), None)


def model_of(path: Path | str) -> UserModel:
    """A user's MJCF of either era, compiled by the installed MuJoCo."""
    path = Path(path)
    return UserModel(path, scan(path), load(path))


def named_joints(elements: list[Element], parents: Sequence[str] = IN_TREE) -> dict[str, Element]:
    """Where joints with a name are described, by that name."""
    joints = [e for e in elements if e.tag == "joint" and e.parent in parents and "name" in e.attributes]
    return {e.attributes["name"]: e for e in joints}


class ActuatorEdit(NamedTuple):
    """A new actuator for a joint: what drives it, and its export for the model's own clock."""

    export: Export
    drive: JointDrive

    @property
    def old(self) -> ModelJoint:
        """The joint as it was."""
        return self.drive.before


def into(model: UserModel, chosen: Sequence[ActuatorEdit], *, drive: bool = True) -> EditedModel:
    """New actuators in place of the joints' old ones. With `drive` both models are then moved by the same
    commands, and a dead joint is refused."""
    edits: list[Edit] = []
    changes: list[str] = []
    for edit in chosen:
        mine, said = _edits(model, edit)
        edits += mine
        changes += said
    mine, said = searching(model.elements, [edit.text for edit in edits])
    edits, changes = [*edits, *mine], [*changes, *said]
    files, new, verified = _verify_edit(model, chosen, edits)
    rows: list[JointMove] = []
    if new is not None and model.loaded.era != installed_era():
        verified += "; not driven beside the old model, whose words this MuJoCo does not take"
    elif drive and new is not None:
        here = LoadedModel(new, installed_era())
        rows = compare_moves(
            model.loaded.model, new, [(e.old, read_joint(here, e.old.joint)) for e in chosen]
        )
    found = [f for edit in chosen for f in (*edit.export.findings, *_scale_findings(edit))]
    found += spring_findings({edit.old.joint: edit.export for edit in chosen})
    found += _play_findings(_loose(chosen))
    found += [
        *drive_findings(edit.drive for edit in chosen),
        *check_moves(rows, model.loaded.model.opt.timestep),
    ]
    return EditedModel(
        files,
        tuple(changes),
        verified,
        creep_words({edit.old.joint: edit.export for edit in chosen}),
        tuple(rows),
        tuple({f.code + f.text: f for f in found}.values()),
        tuple({id(edit.export): edit.export for edit in chosen}.values()),
        placed=tuple(chosen),
        main=model.path,
        loads=new is not None,
    )


def _loose(chosen: Sequence[ActuatorEdit]) -> list[str]:
    """Joints behind which there is one for play from now on."""
    return [edit.old.joint for edit in chosen if edit.export.has_play_joint]


def _play_findings(joints: Sequence[str]) -> Iterator[Finding]:
    """What joints with play mean from now on."""
    if joints:
        text = (
            f"{', '.join(joints)}: stands before the play of its gears, and what it moves is at the sum of it"
            f" and {play_joint('NAME')}, behind it in qpos and qvel."
        )
        yield finding("play_joint", text, "add both where the link's position is meant", joints=len(joints))


def _scale_findings(one: ActuatorEdit) -> Iterator[Finding]:
    """A command that the new actuator takes in another scale than the joint's own."""
    old, follows = one.old, one.old.follows or one.drive.actuator.drive.followed
    factor = one.export.ctrl.get(follows or "")
    if factor is None or follows not in ("position_target", "velocity_target"):
        return
    share = factor * one.drive.scale
    if abs(share - 1) > 1e-9:
        text = (
            f"{old.joint}: MuJoCo {one.export.version} compensates the back-EMF, so the same law follows ctrl"
            f" times {share:.6g}; its ctrlrange is as before."
        )
        remedy = f"send {share:.6g} of what was sent before, or change the gains"
        yield Finding(code="command_scaled", text=text, remedy=remedy, numbers={"factor": share})


@without_log()
def edit_model(
    wanted: Mapping[str, Actuator],
    path: Path | str,
    request: Request,
    module: Any,
    *,
    replay: bool = True,
    unknown: Mapping[str, Sequence[str]] | None = None,
    own: Mapping[str, Sequence[Log]] | None = None,
) -> EditedModel:
    """Put actuators into a model.

    Args:
        wanted: by name or regular expression of their joints; a joint's own name wins, then a later one.
        path: of the model.
        request: how they are written.
        module: of the target.
        replay: run each actuator's file by itself, and move every joint beside the model as it was.
        unknown: by name or pattern, paths of what an actuator does not know.
        own: recordings of single joints to fit to, which are not replayed one by one.

    Returns:
        The edited files, not yet written.

    Raises:
        InvalidValue: a joint cannot have its actuator, or does not follow with it.
    """
    if request.target == "urdf":
        from ..description import into_urdf

        return into_urdf({joint: write_target(module, one, request) for joint, one in wanted.items()}, path)
    if request.target == "usd":
        from ..training.usd import into_usd

        return into_usd({joint: write_target(module, one, request) for joint, one in wanted.items()}, path)
    if request.target == "mujoco-plugin":
        from ..code.plugin import into_plugin

        return into_plugin(wanted, path, request, replay=replay, unknown=unknown)
    if request.target == "jax":
        from ..training.mjx import into_mjx

        return into_mjx(wanted, path, request, unknown=unknown)
    if request.target not in ("mujoco", "mujoco-classic"):
        raise InvalidValue(
            f"an export for {request.target} cannot be put into a model; expected mujoco, mujoco-plugin,"
            " mujoco-classic, jax@mjx, urdf or usd"
        )
    model = model_of(path)
    choice = model.choose({pattern: actuator.motion for pattern, actuator in wanted.items()})
    drives = [
        drive_joint(read_joint(model.loaded, joint), wanted[pattern], (unknown or {}).get(pattern, ()))
        for joint, pattern in choice.deciding.items()
    ]
    drives, unheld = without_delays(model.loaded.model, drives)
    engine = engine_of(model.loaded.model)
    how = {"timestep": engine.timestep, "integrator": engine.integrator, "joint": "joint"}
    exports = JointExports(module, request._replace(**how), replay, own or {})
    edited = into(model, [ActuatorEdit(exports.of(drive), drive) for drive in drives], drive=replay)
    return replace(edited, findings=(*edited.findings, *choice.findings(), *unheld))


@dataclass
class JointExports:
    """Exports of the joints of a model: equal joints share one, and those that differ in their drive alone
    start from each other's numbers."""

    module: Any
    request: Request
    replay: bool
    own: Mapping[str, Sequence[Log]]
    made: list[tuple[Actuator, float | None, Export]] = field(default_factory=list)
    """Without recordings of their own."""

    def of(self, drive: JointDrive) -> Export:
        """What is written for a joint."""
        actuator, gear = drive.actuator, drive.before.gear if drive.before.actuator is not None else None
        logs = tuple(log for log in self.own.get(drive.joint, ()) if actuator.drive.followed in log)
        if logs:
            return write_target(self.module, actuator, self.request._replace(gear=gear, logs=logs))
        for known, its_gear, export in self.made:
            if known == actuator and its_gear == gear:
                return export
        export = self._write(actuator, gear, drive.joint in self.own)
        self.made.append((actuator, gear, export))
        return export

    def _write(self, actuator: Actuator, gear: float | None, told_torque: bool) -> Export:
        from ..replay import replay_export

        how = self.request._replace(gear=gear)
        if told_torque:  # of which no motion of its own is known
            how = how._replace(method="formula")
        if not how.logs:
            alike = (one for known, _, one in self.made if replace(known, drive=actuator.drive) == actuator)
            how = how._replace(similar=next((one.carried for one in alike), None))
        export = write_target(self.module, actuator, how)
        return replay_export(export, how.logs or None) if self.replay else export


def _edits(model: UserModel, actuator_edit: ActuatorEdit) -> tuple[list[Edit], list[str]]:
    export, old, name = actuator_edit.export, actuator_edit.old, actuator_edit.old.joint
    given = model.actuator(old.actuator, name)
    mine, wanted = _of_export(export)
    follows = old.follows or actuator_edit.drive.actuator.drive.followed or ""
    fresh = _element(mine, given.attributes if given else {}, old._replace(follows=follows), model)
    element = f"<{mine.tag} {attributes({k: escape_attribute(v) for k, v in fresh.items()})}/>".encode()
    if given is not None:
        changes = [f"actuator of {name}: <{given.tag}>{_words(old)} became <{mine.tag}>"]
        edits = [Edit(given, given.start, given.end, element), *inert_others(model, old)]
    else:
        changes = [f"actuator of {name}: new <{mine.tag}>"]
        edits = [insert_element(model.elements, element, model.path)]
    edit, said = _joint_edit(model, actuator_edit, wanted)
    springs, held = spring_edits(model, actuator_edit.drive, _tendons_of(export, escape_attribute(name)))
    play, loose = _play_edits(model, actuator_edit)
    return [*edits, edit, *play, *springs], [*changes, *said, *loose, *held]


def _play_edits(model: UserModel, edit: ActuatorEdit) -> tuple[list[Edit], list[str]]:
    """A joint of the same body for the play of the gears, right behind the one that is driven; one that is
    there already is replaced."""
    export, old = edit.export, edit.old
    if not export.has_play_joint:
        return [], []
    name, there = play_joint(old.joint), model.joint(old.joint)
    stops = {k: v for k, v in _joint_of(export, play_joint(export.joint)).items() if k.startswith("sol")}
    angles = [
        e.attributes["angle"] for e in model.elements if e.tag == "compiler" and "angle" in e.attributes
    ]
    play = export.actuator.gearbox.backlash or 0.0
    half = number(0.5 * play if old.slides or angles[-1:] == ["radian"] else math.degrees(0.5 * play))
    like = {k: v for k, v in there.attributes.items() if k in ("class", "group", "type", "axis", "pos")}
    words = {"name": name, **like, "limited": "true", "range": f"-{half} {half}", **FREE, **stops}
    text = f"<joint {attributes({k: escape_attribute(v) for k, v in words.items()})}/>".encode()
    before = named_joints(model.elements).get(name)
    if before is not None:
        return [Edit(before, before.start, before.end, text)], [f"joint {name}: the play of the gears, anew"]
    unit = "mm" if old.slides else "mrad"
    said = f"joint {name}: new, the play of the gears behind {old.joint}, {1e3 * play:.3g} {unit}"
    return [Edit(there, there.end, there.end, text)], [said]


def host_edits(
    model: UserModel, drive: JointDrive, element: bytes, armature: str, called: str
) -> tuple[list[Edit], list[str]]:
    """A joint whose whole torque, friction with it, comes from one new element.

    Args:
        model: as it was.
        drive: of the joint.
        element: what takes the place of its old actuator.
        armature: inertia that the joint has from now on [kg m^2].
        called: the element in words.

    Returns:
        Edits, and what changes in words.
    """
    old, joint = drive.before, drive.joint
    given, there = model.actuator(old.actuator, joint), model.joint(joint)
    body = {**dict.fromkeys(JOINT[:3], "0"), "armature": armature}
    body = {k: v for k, v in body.items() if k not in drive.keeps}
    raw = there.file.read_bytes()[there.start : there.opened]
    edits = [Edit(there, there.start, there.opened, with_attributes(raw, body))]
    if given is not None:
        edits += [Edit(given, given.start, given.end, element), *inert_others(model, old)]
    else:
        edits.append(insert_element(model.elements, element, model.path))
    was = "new" if given is None else f"<{given.tag}> became"
    changed = [(k, number(getattr(old, k)), v) for k, v in body.items()]
    said = [f"joint {joint}: {k} {before} became {v}" for k, before, v in changed if before != v]
    springs, gone = spring_edits(model, drive)
    return [*edits, *springs], [f"actuator of {joint}: {was} {called}", *said, *gone]


def inert_others(model: UserModel, old: ModelJoint) -> Iterator[Edit]:
    """Further actuators of a joint, which do nothing any more."""
    for i in old.others:
        e = model.actuator(i, old.joint)
        if e is None:
            raise InvalidValue(f"{old.joint!r} has several actuators; expected one: remove the others first")
        kept = {k: v for k, v in e.attributes.items() if k in KEPT} | {"joint": old.joint}
        words = attributes({k: escape_attribute(v) for k, v in (kept | INERT).items()})
        yield Edit(e, e.start, e.end, f"<general {words}/>".encode())


def _joint_edit(model: UserModel, edit: ActuatorEdit, wanted: Mapping[str, str]) -> tuple[Edit, list[str]]:
    """The joint's own attributes, and what changes."""
    name, there, stays = edit.old.joint, model.joint(edit.old.joint), edit.drive.keeps
    body = {k: wanted.get(k, "0") for k in JOINT[:3]} | {k: wanted[k] for k in JOINT[3:] if k in wanted}
    before = {k: number(getattr(edit.old, k)) for k in JOINT[:3]}
    body = {k: v for k, v in body.items() if k not in stays and before.get(k) != v}
    raw = there.file.read_bytes()[there.start : there.opened]
    changes = [
        f"joint {name}: {k} {before.get(k, there.attributes.get(k, '(default)'))} became {v}"
        for k, v in body.items()
    ]
    return Edit(there, there.start, there.opened, with_attributes(raw, body)), changes


def of_joint(element: Element) -> str | None:
    return element.attributes.get("joint") or element.attributes.get("jointinparent")


def _words(old: ModelJoint) -> str:
    """The old actuator's numbers at the joint."""
    parts = [f"kp {old.stiffness:.4g}"] if old.stiffness else []
    parts += [f"kv {old.derivative:.4g}"] if old.derivative else []
    parts += [f"at most {old.limit:.4g}"] if old.limit else []
    return f" ({', '.join(parts)})" if parts else ""


def _element(mine: Element, given: Mapping[str, str], old: ModelJoint, model: UserModel) -> dict[str, str]:
    """Attributes of the new element: the old one's name, class and range, everything else the export's."""
    fresh = {**_kept_attributes(given, old, model), "joint": old.joint}
    fresh |= {k: v for k, v in mine.attributes.items() if k not in ("name", "joint", *KEPT)}
    one = {"position_target": "pos", "velocity_target": "vel"}.get(old.follows, "")
    if fresh.get("input", "").endswith("vel ff") and (old.inputs or one):
        fresh["input"] = " ".join(old.inputs) or one  # as many inputs as before, or one
    fresh |= _ctrlrange(mine, fresh, bool(given), old)
    if mine.tag != "dcmotor":
        fresh["forcelimited"] = "true" if "forcerange" in fresh else "false"
    elif "saturation" not in fresh and _limited_by_default(model):
        fresh["saturation"] = number(NO_LIMIT)
    return fresh


def _kept_attributes(given: Mapping[str, str], old: ModelJoint, model: UserModel) -> dict[str, str]:
    """What the new element keeps of the old one; a new one is named after its joint, where that is free."""
    taken = {e.attributes.get("name") for e in model.elements if e.parent == "actuator"}
    if not given and old.joint not in taken:
        return {"name": old.joint}
    return {k: v for k, v in given.items() if k in KEPT}


def _ctrlrange(mine: Element, fresh: Mapping[str, str], replaced: bool, old: ModelJoint) -> dict[str, str]:
    """The range of a command: the old one's, where an actuator is replaced."""
    if old.ctrlrange is not None:  # perhaps a class's, perhaps inherited from the joint's range
        own = {"ctrlrange": " ".join(map(number, old.ctrlrange)), "ctrllimited": "true"}
        return {k: v for k, v in own.items() if k not in fresh}
    if replaced:
        return {"ctrllimited": "false"}
    if "ctrlrange" in mine.attributes:
        return {"ctrlrange": mine.attributes["ctrlrange"], "ctrllimited": "true"}
    return {}


def _limited_by_default(model: UserModel) -> bool:
    """Whether the model's main default class limits every actuator's force; no dcmotor can say otherwise."""
    return any(
        e.parent == "default" and "forcerange" in e.attributes and _depth(model, e) == 1
        for e in model.elements
    )


def _depth(model: UserModel, element: Element) -> int:
    """How many default classes an element stands in."""
    around = [e for e in model.elements if e.tag == "default" and e.file == element.file]
    return sum(e.start < element.start < e.end for e in around)


def escape_attribute(value: str) -> str:
    """A value as it stands between the quotes of an XML attribute."""
    return value.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def _of_export(export: Export) -> tuple[Element, dict[str, str]]:
    """The actuator's element and the joint's attributes in the export's own file."""
    element = next(e for e in _elements_of(export) if e.parent == "actuator")
    return element, {k: v for k, v in _joint_of(export, export.joint).items() if k in JOINT}


def _tendons_of(export: Export, joint: str) -> str:
    """The section of the export's own file that holds its joint, for another; "" where it has none."""
    section = re.search(r"<tendon>.*</tendon>", export.text, re.DOTALL)
    return re.sub(f' joint="{re.escape(export.joint)}', f' joint="{joint}', section[0]) if section else ""


def _elements_of(export: Export) -> list[Element]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "export.xml"
        place.write_text(export.text, encoding="utf-8")
        return scan(place)


def _joint_of(export: Export, name: str) -> dict[str, str]:
    """Attributes of a joint in the export's own file."""
    return named_joints(_elements_of(export))[name].attributes


def insert_element(elements: list[Element], element: bytes, path: Path) -> Edit:
    """Put an actuator last, so that every other keeps its place in ctrl.

    Args:
        elements: of the model.
        element: the actuator's, as text.
        path: of the model's own file.

    Returns:
        An edit before the end of the last actuator section, or of the model.
    """
    sections = [e for e in elements if e.tag == "actuator" and e.parent in ("mujoco", "mujocoinclude", "")]
    section = sections[-1] if sections else None
    if section is not None and section.end > section.opened:
        at = section.file.read_bytes().rindex(b"</", section.opened, section.end)
        return Edit(section, at, at, b"  " + element + b"\n  ")
    if section is not None:
        return Edit(section, section.start, section.end, b"<actuator>\n    " + element + b"\n  </actuator>")
    root = next(e for e in elements if e.file == path)
    at = path.read_bytes().rindex(b"</", root.opened, root.end)
    return Edit(root, at, at, b"  <actuator>\n    " + element + b"\n  </actuator>\n")


def _all_of_one_era(model: UserModel, chosen: Sequence[ActuatorEdit]) -> None:
    """Refuse to leave dcmotors of the other era beside the new ones."""
    done = {edit.old.joint for edit in chosen}
    left = [e for e in model.elements if e.parent == "actuator" and of_joint(e) not in done]
    if model.loaded.era == installed_era() or era_of(left) in (None, installed_era()):
        return
    names = ", ".join(str(of_joint(e)) for e in left if e.tag in ("dcmotor", "general"))
    raise InvalidValue(
        f"{model.path.name} is written for another era of MuJoCo, and {names} would stay so; expected all of"
        f" them at once: backemf export {model.path} --to mujoco --into {model.path} -o NEW.xml"
    )


def _verify_edit(
    model: UserModel, chosen: Sequence[ActuatorEdit], edits: Sequence[Edit]
) -> tuple[dict[Path, bytes], Any, str]:
    """(the edited files, the model compiled, how its numbers were compared with the exports'); None where the
    installed MuJoCo reads the file otherwise."""
    mujoco, export = load_mujoco(), chosen[0].export
    if export.target == "mujoco" and rules(mujoco.__version__).era != rules(export.version).era:
        reads = f"the installed MuJoCo {mujoco.__version__} reads <dcmotor> otherwise than {export.version}"
        return apply_edits(edits), None, f"not compiled: {reads}"
    _all_of_one_era(model, chosen)
    drives = [edit.drive for edit in chosen]
    files, new = with_states(
        model, edits, drives, lambda files: compile_edited(mujoco, model.path, files), _loose(chosen)
    )
    mistakes = [name for edit in chosen for name in _differences(new, edit)]
    springs = sum(len(springs_of(edit.export.carried.friction)) for edit in chosen)
    if springs and springs > np.sum(new.tendon_springyield > 0):
        mistakes.append("the springs that yield")
    if new.nu != model.loaded.model.nu + sum(edit.old.actuator is None for edit in chosen):
        mistakes.append("the number of inputs")
    if mistakes:
        raise InvalidValue(
            f"in {model.path.name} the default classes change {', '.join(dict.fromkeys(mistakes))} of the new"
            " actuator; move those defaults into a class it does not use"
        )
    verified = (
        f"compiled with MuJoCo {mujoco.__version__}; every number of actuator and joint is the export's"
    )
    return files, new, verified


OF_LIMIT = ("actuator_forcelimited", "actuator_forcerange")


def _differences(new: Any, edit: ActuatorEdit) -> list[str]:
    """Numbers of an actuator and its joint that are not the export's in a compiled model."""
    alone = load_mujoco().MjModel.from_xml_string(edit.export.text)
    now, stays = read_joint(LoadedModel(new, installed_era()), edit.old.joint), edit.drive.keeps
    pairs = {n: (getattr(new, n)[now.actuator], getattr(alone, n)[0]) for n in actuator_arrays(new)}
    pairs.pop("actuator_ctrlspec", None)
    if new.actuator_forcelimited[now.actuator] and new.actuator_forcerange[now.actuator, 1] >= NO_LIMIT:
        pairs = {n: pair for n, pair in pairs.items() if n not in OF_LIMIT}
    mistakes = [n for n, (a, b) in pairs.items() if not np.allclose(a, b, rtol=1e-9, atol=1e-15)]
    mine = read_joint(LoadedModel(alone, installed_era()), edit.export.joint)
    for n in JOINT[:3]:
        asked = getattr(edit.old if n in stays else mine, n)
        mistakes += [] if np.isclose(getattr(now, n), asked) else [f"dof_{n} of {edit.old.joint}"]
    if edit.export.has_play_joint:
        mistakes += _play_differences(new, alone, edit)
    kept = edit.old.actuator is None or now.ctrlrange == edit.old.ctrlrange
    return mistakes if kept else [*mistakes, f"ctrlrange of {edit.old.joint}"]


OF_STOPS = ("range", "limited", "solref", "solimp", "margin", "stiffness")


def _play_differences(new: Any, alone: Any, edit: ActuatorEdit) -> list[str]:
    """What is not the export's of a joint for play, or not as the joint before it."""
    name = play_joint(edit.old.joint)
    j, mine, before = (
        new.joint(name).id,
        alone.joint(play_joint(edit.export.joint)).id,
        new.joint(edit.old.joint).id,
    )
    pairs = [(f"jnt_{n}", getattr(new, f"jnt_{n}")[j], getattr(alone, f"jnt_{n}")[mine]) for n in OF_STOPS]
    pairs += [(n, getattr(new, n)[j], getattr(new, n)[before]) for n in ("jnt_axis", "jnt_pos", "jnt_bodyid")]
    pairs += [(f"dof_{n}", getattr(new, f"dof_{n}")[new.jnt_dofadr[j]], 0.0) for n in OF_JOINT]
    return [f"{n} of {name}" for n, a, b in pairs if not np.allclose(a, b, rtol=1e-9, atol=1e-15)]
