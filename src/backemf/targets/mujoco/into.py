"""Put actuators into a user's own MJCF or URDF: the joints' old ones are replaced, every other byte stays.

What the user commands stays: ctrl in the same units and range, the same names, the model's own time step and
integrator. What an actuator does not know stays as it was in the model. Included files are followed; the
edited model is compiled, compared number by number, and driven beside the old one before anything is written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import BackemfError, InvalidValue
from ...files import write_all
from ...findings import Finding
from ...logs.log import Log
from ...mujoco.arrays import engine_of, installed_era, load_mujoco, without_log
from ...mujoco.dcmotor import rules
from ...mujoco.models import LoadedModel, by_joint, era_of, load, match_joints
from ...mujoco.xml import Edit, Element, apply_edits, compile_edited, scan, with_attributes
from ...physics.actuator import Actuator
from ...tables import table
from ..result import Export, Request, number
from ..write import write_target
from .dcmotor_target import actuator_arrays, attributes
from .joint_interface import JointMove, Old, adapt, compare_moves, old_of

JOINT = ("armature", "damping", "frictionloss", "solreffriction", "solimpfriction")
"""Attributes of a joint that belong to its actuator."""
KEPT = ("name", "group", "user", "ctrlrange", "ctrllimited")
"""Attributes of the old actuator that stay; not its class, whose gains and limits were the old one's."""
NO_LIMIT = 1e9
"""A dcmotor's saturation [N m] where the model's defaults limit every actuator's force, and this one has no
limit of its own."""
UNKNOWN = {"motor.rotor_inertia": ("armature",), "friction": ("frictionloss", *JOINT[3:])}
"""What an actuator may not know, and the joint's attributes that then stay."""


class UserModel(NamedTuple):
    """A user's model: its file, its elements, and what MuJoCo makes of it."""

    path: Path
    elements: list[Element]
    loaded: LoadedModel

    def joint(self, name: str) -> Element:
        return named_joints(self.elements, "body", self.path)[name]

    def matching(self, pattern: str) -> list[str]:
        """Joints that a name or regular expression means."""
        return match_joints(pattern, [*named_joints(self.elements, "body", self.path)], self.path.name)


def model_of(path: Path | str) -> UserModel:
    """A user's MJCF of either era, compiled by the installed MuJoCo."""
    path = Path(path)
    return UserModel(path, scan(path), load(path))


def named_joints(elements: list[Element], parent: str, path: Path) -> dict[str, Element]:
    joints = [e for e in elements if e.tag == "joint" and e.parent == parent and "name" in e.attributes]
    return {e.attributes["name"]: e for e in joints}


class ActuatorEdit(NamedTuple):
    """A new actuator for a joint: its export for the model's own clock, and what was kept of the old one."""

    export: Export
    old: Old
    notes: list[str]
    unknown: Sequence[str]


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
    files = apply_edits([*edits, *mine])
    changes += said
    new, verified = _verify_edit(model, chosen, files)
    rows: list[JointMove] = []
    if new is not None and model.loaded.era != installed_era():
        verified += "; not driven beside the old model, whose words this MuJoCo does not take"
    elif drive and new is not None:
        pairs = [(edit.old, old_of(LoadedModel(new, installed_era()), edit.old.joint)) for edit in chosen]
        rows = compare_moves(model.loaded.model, new, pairs)
    _check_alive(rows)
    told = [f for edit in chosen for f in (*edit.export.findings, *_scale_findings(edit))]
    findings = {f.code + f.text: f for f in told}
    return EditedModel(
        files,
        tuple(changes),
        verified,
        tuple(rows),
        tuple(findings.values()),
        tuple({id(edit.export): edit.export for edit in chosen}.values()),
        placed=tuple(chosen),
    )


def _check_alive(rows: Sequence[JointMove]) -> None:
    """Refuse a joint that no longer follows its command."""
    dead = [m for m in rows if m.dead]
    if dead:
        words = "; ".join(
            f"{m.joint} moves {m.after:.2g} {m.unit} for {m.asked}, before {m.before:.2g}" for m in dead
        )
        raise InvalidValue(
            f"with the new actuator a joint no longer follows its command: {words}. Nothing was written; is"
            " this the part for that joint, at its supply?"
        )


def _scale_findings(one: ActuatorEdit) -> Iterator[Finding]:
    """A command that the new actuator takes in another scale than the joint's own."""
    old, factor = one.old, one.export.ctrl.get(one.old.follows)
    if factor is None or old.actuator is None or old.follows not in ("position_target", "velocity_target"):
        return
    share = factor * old.scale / old.gear
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
    """Actuators by name or regular expression of their joints, put into a model as a request says;
    a joint's own name wins, then a later one. `unknown` are paths of what an actuator does not know; `own`
    are recordings of single joints to fit to, which are not replayed one by one."""
    from ..replay import replay_export

    if request.target == "urdf":
        from ..description import into_urdf

        return into_urdf({joint: write_target(module, one, request) for joint, one in wanted.items()}, path)
    if request.target == "mujoco-plugin":
        from ..code.plugin import into_plugin

        return into_plugin(wanted, path, request, replay=replay)
    if request.target not in ("mujoco", "mujoco-classic"):
        raise InvalidValue(
            f"an export for {request.target} cannot be put into a model; expected mujoco, mujoco-plugin,"
            " mujoco-classic or urdf"
        )
    model, made = model_of(path), []
    engine = engine_of(model.loaded.model)
    how = {"timestep": engine.timestep, "integrator": engine.integrator, "joint": "joint"}
    request = request._replace(**how)

    def make(actuator: Actuator, gear: float | None, joint: str) -> Export:
        logs = tuple(log for log in (own or {}).get(joint, ()) if actuator.drive.followed in log)
        for known, its_gear, its_logs, export in made:  # equal joints have equal numbers
            if known == actuator and its_gear == gear and its_logs == logs == ():
                return export
        how = request._replace(gear=gear, logs=logs or request.logs)
        if joint in (own or {}) and not logs:  # a torque is asked for, and no motion of its own is known
            how = how._replace(method="formula")
        export = write_target(module, actuator, how)
        export = replay_export(export, request.logs or None) if replay and not logs else export
        made.append((actuator, gear, logs, export))
        return export

    deciding = by_joint(wanted, [*named_joints(model.elements, "body", model.path)], model.path.name)
    chosen = [
        place_actuator(model, joint, wanted[pattern], make, (unknown or {}).get(pattern, ()))
        for joint, pattern in deciding.items()
    ]
    return into(model, chosen, drive=replay)


def place_actuator(
    model: UserModel, joint: str, actuator: Actuator, make: Any, unknown: Sequence[str] = ()
) -> ActuatorEdit:
    """An actuator for a joint, made to be commanded as the old one is; `make(actuator, gear, joint)` exports
    it."""
    old = old_of(model.loaded, joint)
    slide = int(model.loaded.model.joint(joint).type[0]) == int(load_mujoco().mjtJoint.mjJNT_SLIDE)
    if slide != (actuator.motion == "linear"):
        here, there = ("a slide", "linear") if slide else ("a hinge", "rotary")
        raise InvalidValue(f"{joint!r} is {here}; expected an actuator with motion={there!r}")
    fitting, notes = adapt(actuator, old)
    unknown = [*unknown, *(["motor.rotor_inertia"] if actuator.motor.rotor_inertia == 0 else [])]
    gear = old.gear if old.actuator is not None else None
    return ActuatorEdit(make(fitting, gear, joint), old, notes, unknown)


def _edits(model: UserModel, actuator_edit: ActuatorEdit) -> tuple[list[Edit], list[str]]:
    export, old, name = actuator_edit.export, actuator_edit.old, actuator_edit.old.joint
    if export.has_play_joint:
        raise InvalidValue("an extra joint for backlash cannot be put into a model; export without backlash")
    given = next((e for e in model.elements if e.parent == "actuator" and of_joint(e) == name), None)
    mine, wanted = _of_export(export)
    fresh = _element(mine, given.attributes if given else {}, old, model)
    element = f"<{mine.tag} {attributes({k: escape_attribute(v) for k, v in fresh.items()})}/>".encode()
    changes = list(actuator_edit.notes)
    if given is not None:
        changes.append(f"actuator of {name}: <{given.tag}>{_words(old)} became <{mine.tag}>")
        edits = [Edit(given, given.start, given.end, element)]
    else:
        changes.append(f"actuator of {name}: new <{mine.tag}>")
        edits = [insert_element(model.elements, element, model.path)]
    edit, said = _joint_edit(model, actuator_edit, wanted)
    return [*edits, edit], [*changes, *said]


def _joint_edit(model: UserModel, edit: ActuatorEdit, wanted: Mapping[str, str]) -> tuple[Edit, list[str]]:
    """The joint's own attributes, and what changes."""
    name, there, changes = edit.old.joint, model.joint(edit.old.joint), []
    stays = {attribute for path in edit.unknown for attribute in UNKNOWN.get(path, ())}
    body = {k: wanted.get(k, "0") for k in JOINT[:3]} | {k: wanted[k] for k in JOINT[3:] if k in wanted}
    before = {k: number(getattr(edit.old, k)) for k in JOINT[:3]}
    body = {k: v for k, v in body.items() if k not in stays and before.get(k) != v}
    for k in sorted(stays & set(before)):
        changes.append(f"joint {name}: {k} stays {before[k]}: the actuator does not know its own")
    raw = there.file.read_bytes()[there.start : there.opened]
    changes += [
        f"joint {name}: {k} {before.get(k, there.attributes.get(k, '(default)'))} became {v}"
        for k, v in body.items()
    ]
    return Edit(there, there.start, there.opened, with_attributes(raw, body)), changes


def of_joint(element: Element) -> str | None:
    return element.attributes.get("joint") or element.attributes.get("jointinparent")


def _words(old: Old) -> str:
    """The old actuator's numbers at the joint."""
    parts = [f"kp {old.stiffness:.4g}"] if old.stiffness else []
    parts += [f"kv {old.derivative:.4g}"] if old.derivative else []
    parts += [f"at most {old.limit:.4g}"] if old.limit else []
    return f" ({', '.join(parts)})" if parts else ""


def _element(mine: Element, given: Mapping[str, str], old: Old, model: UserModel) -> dict[str, str]:
    """Attributes of the new element: the old one's name, class and range, everything else the export's."""
    fresh = {**_kept_attributes(given, old, model), "joint": old.joint}
    fresh |= {k: v for k, v in mine.attributes.items() if k not in ("name", "joint", *KEPT)}
    if fresh.get("input") == "pos vel ff" and (old.inputs or old.follows == "position_target"):
        fresh["input"] = " ".join(old.inputs) or "pos"  # as many inputs as before
    fresh |= _ctrlrange(mine, fresh, bool(given), old)
    if mine.tag != "dcmotor":
        fresh["forcelimited"] = "true" if "forcerange" in fresh else "false"
    elif "saturation" not in fresh and _limited_by_default(model):
        fresh["saturation"] = number(NO_LIMIT)
    return fresh


def _kept_attributes(given: Mapping[str, str], old: Old, model: UserModel) -> dict[str, str]:
    """What the new element keeps of the old one; a new one is named after its joint, where that is free."""
    taken = {e.attributes.get("name") for e in model.elements if e.parent == "actuator"}
    if not given and old.joint not in taken:
        return {"name": old.joint}
    return {k: v for k, v in given.items() if k in KEPT}


def _ctrlrange(mine: Element, fresh: Mapping[str, str], replaced: bool, old: Old) -> dict[str, str]:
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
    return value.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def _of_export(export: Export) -> tuple[Element, dict[str, str]]:
    """The actuator's element and the joint's attributes in the export's own file."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "export.xml"
        place.write_text(export.text, encoding="utf-8")
        elements = scan(place)
    element = next(e for e in elements if e.parent == "actuator")
    joint = next(e for e in elements if e.tag == "joint" and e.attributes.get("name") == export.joint)
    return element, {k: v for k, v in joint.attributes.items() if k in JOINT}


def insert_element(elements: list[Element], element: bytes, path: Path) -> Edit:
    """Before the end of the first actuator section, or of the model."""
    section = next(
        (e for e in elements if e.tag == "actuator" and e.parent in ("mujoco", "mujocoinclude", "")), None
    )
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
    model: UserModel, chosen: Sequence[ActuatorEdit], files: dict[Path, bytes]
) -> tuple[Any, str]:
    """(the edited model compiled, how its numbers were compared with the exports'); None where the installed
    MuJoCo reads the file otherwise."""
    mujoco, export = load_mujoco(), chosen[0].export
    if export.target == "mujoco" and rules(mujoco.__version__).era != rules(export.version).era:
        reads = f"the installed MuJoCo {mujoco.__version__} reads <dcmotor> otherwise than {export.version}"
        return None, f"not compiled: {reads}"
    _all_of_one_era(model, chosen)
    new = compile_edited(mujoco, model.path, files)
    mistakes = [name for edit in chosen for name in _differences(new, edit)]
    if new.nu != model.loaded.model.nu + sum(edit.old.actuator is None for edit in chosen):
        mistakes.append("the number of inputs")
    if mistakes:
        raise InvalidValue(
            f"in {model.path.name} the default classes change {', '.join(dict.fromkeys(mistakes))} of the new"
            " actuator; move those defaults into a class it does not use"
        )
    return (
        new,
        f"compiled with MuJoCo {mujoco.__version__}; every number of actuator and joint is the export's",
    )


OF_LIMIT = ("actuator_forcelimited", "actuator_forcerange")


def _differences(new: Any, edit: ActuatorEdit) -> list[str]:
    """Numbers of an actuator and its joint that are not the export's in a compiled model."""
    alone = load_mujoco().MjModel.from_xml_string(edit.export.text)
    now = old_of(LoadedModel(new, installed_era()), edit.old.joint)
    stays = {attribute for path in edit.unknown for attribute in UNKNOWN.get(path, ())}
    pairs = {n: (getattr(new, n)[now.actuator], getattr(alone, n)[0]) for n in actuator_arrays(new)}
    pairs.pop("actuator_ctrlspec", None)
    if now.limit is not None and now.limit >= NO_LIMIT:
        pairs = {n: pair for n, pair in pairs.items() if n not in OF_LIMIT}
    mistakes = [n for n, (a, b) in pairs.items() if not np.allclose(a, b, rtol=1e-9, atol=1e-15)]
    mine = int(alone.joint(edit.export.joint).dofadr[0])
    for n in JOINT[:3]:
        asked = getattr(edit.old, n) if n in stays else float(getattr(alone, f"dof_{n}")[mine])
        mistakes += [] if np.isclose(getattr(now, n), asked) else [f"dof_{n} of {edit.old.joint}"]
    kept = edit.old.actuator is None or now.ctrlrange == edit.old.ctrlrange
    return mistakes if kept else [*mistakes, f"ctrlrange of {edit.old.joint}"]


class Together(NamedTuple):
    """All joints of an edited model driven as a recording says; differences from it are RMS [rad or m]."""

    log: str
    before: float | None
    """Of the model as it was."""
    after: float
    """Of the model as it is now."""
    whole: float | None
    """Of the fit itself, with nothing lost."""

    def row(self) -> tuple[str, ...]:
        numbers = (self.before, self.after, self.whole)
        return (self.log, *("-" if x is None else f"{1e3 * x:.3g}" for x in numbers))


@dataclass(frozen=True)
class EditedModel:
    """The edited files, not yet written."""

    files: dict[Path, bytes]
    changes: tuple[str, ...]
    """What was changed, in words, with the model's old numbers."""
    verified: str
    """How the result was checked."""
    moved: tuple[JointMove, ...] = ()
    """How far each joint moves for the same command, before and after."""
    findings: tuple[Finding, ...] = ()
    exports: tuple[Export, ...] = ()
    beside: Mapping[str, str | bytes] = field(default_factory=dict)
    """Files that go into the folder of the result."""
    together: tuple[Together, ...] = ()
    """Of a robot, its joints driven together, by recording."""
    unit: str = "rad"
    placed: tuple[Any, ...] = field(default=(), repr=False)
    """Each joint's new actuator and its old one."""

    @property
    def text(self) -> str:
        """The edited model; of several files, the first that changed."""
        return next(iter(self.files.values())).decode()

    def table(self) -> str:
        """Before and after, for people."""
        rows = [m.row() for m in self.moved]
        parts = [table(rows, ("joint", "command", "moves before", "moves after"))] if rows else []
        if self.together:
            head = (f"recording [m{self.unit} RMS]", "model before", "model after", "the fit itself")
            parts.append(table([one.row() for one in self.together], head))
        return "\n\n".join(parts)

    def off_by(self, which: str = "after") -> float | None:
        """Root mean square over recordings of "before", "after" or "whole"; None where it is not known."""
        values = [getattr(one, which) for one in self.together]
        return None if not values or None in values else float(np.sqrt(np.mean(np.square(values))))

    def write(self, path: Path | str | None = None, *, force: bool = False) -> list[Path]:
        """Write in place (with `force`), or, where only the model itself changes,
        under another name in the same folder."""
        folder = next(iter(self.files)).parent if path is None else Path(path).parent
        beside = {folder / name: content for name, content in self.beside.items()}
        if path is None:
            return write_all({**self.files, **beside}, force=force)
        if len(self.files) != 1:
            raise BackemfError(
                f"{len(self.files)} files change ({', '.join(f.name for f in self.files)}); they can only be"
                " edited in place"
            )
        return write_all({Path(path): next(iter(self.files.values())), **beside}, force=force)


LINE_SEARCH = 50
"""Iterations of the line search, MuJoCo's own default. Friction as sharp as `STICKING` needs them: an arm of
five servos that follows its commands to 4.6 mrad with 50 is off by 8.3 with 20, at no gain in time."""


def searching(elements: Sequence[Element], fresh: Sequence[bytes]) -> tuple[list[Edit], list[str]]:
    """Edits of a model's options that let the friction in the new text hold, and what they change."""
    if not any(b"solimpfriction" in text for text in fresh):
        return [], []
    edits, changes = [], []
    for element in elements:
        given = element.attributes.get("ls_iterations", "") if element.tag == "option" else ""
        if given.strip().isdigit() and int(given) < LINE_SEARCH:
            raw = element.file.read_bytes()[element.start : element.opened]
            text = with_attributes(raw, {"ls_iterations": str(LINE_SEARCH)})
            edits.append(Edit(element, element.start, element.opened, text))
            why = "with fewer the solver stops before the joints' friction holds"
            changes.append(f"option: ls_iterations {given} became {LINE_SEARCH}: {why}")
    return edits, changes
