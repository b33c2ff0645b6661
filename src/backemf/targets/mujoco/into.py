"""Put an export into a user's own MJCF or URDF: the joint's old actuator is replaced, every other byte stays
as it is.

Included files are followed, the edited model is compiled and compared with the export before anything is
written.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import BackemfError, InvalidValue, UnknownName
from ...files import write_all
from ...simulator.arrays import load_mujoco
from ...simulator.dcmotor import rules
from ...simulator.xml import Edit, Element, applied, compiled, scan, with_attributes
from ..export import Export, number
from .dcmotor import actuator_arrays, attributes

JOINT = ("armature", "damping", "frictionloss", "solreffriction", "solimpfriction")
"""Attributes of a joint that belong to its actuator."""
KEPT = ("name", "group", "user")
"""Attributes of the old actuator that stay."""


@dataclass(frozen=True)
class Edited:
    """The edited files, not yet written."""

    files: dict[Path, bytes]
    changes: tuple[str, ...]
    """What was changed, in words."""
    verified: str
    """How the result was checked."""

    def write(self, path: Path | str | None = None, *, force: bool = False) -> list[Path]:
        """Write in place (with `force`), or, where only the model itself changes,
        under another name in the same folder."""
        if path is None:
            return write_all(self.files, force=force)
        if len(self.files) != 1:
            raise BackemfError(
                f"{len(self.files)} files change ({', '.join(f.name for f in self.files)}); they can only be"
                " edited in place"
            )
        return write_all({Path(path): next(iter(self.files.values()))}, force=force)


def into(export: Export, path: Path | str, joint: str | None = None) -> Edited:
    """An export in place of a joint's actuator, in the user's model."""
    path, name = Path(path), export.joint if joint is None else joint
    if export.target == "urdf":
        return _into_urdf(export, path, name)
    if export.target not in ("mujoco", "mujoco-classic"):
        raise InvalidValue(
            f"an export for {export.target} cannot be put into a model; expected mujoco, mujoco-classic or"
            " urdf"
        )
    if export.has_play_joint:
        raise InvalidValue("an extra joint for backlash cannot be put into a model; export without backlash")
    elements = scan(path)
    there = _joint(elements, "body", name, path)
    actuators = [e for e in elements if e.parent == "actuator"]
    old = [e for e in actuators if name in (e.attributes.get("joint"), e.attributes.get("jointinparent"))]
    if len(old) > 1:
        raise InvalidValue(
            f"{name!r} has {len(old)} actuators in {path.name}; expected one: remove the others first"
        )
    mine, wanted = _of_export(export)
    given = old[0].attributes if old else {}
    kept = {k: v for k, v in given.items() if k in KEPT}
    kept = kept or ({} if name in {e.attributes.get("name") for e in actuators} else {"name": name})
    fresh = {**kept, "joint": name}
    fresh |= {k: v for k, v in mine.attributes.items() if k not in ("name", "joint")}
    fresh["ctrllimited"] = "true" if "ctrlrange" in fresh else "false"
    if mine.tag != "dcmotor":
        fresh["forcelimited"] = "true" if "forcerange" in fresh else "false"
    escaped = {k: _escaped(v) for k, v in fresh.items()}
    element = f"<{mine.tag} {attributes(escaped)}/>".encode()
    if old:
        changes = [f"actuator of {name}: <{old[0].tag}> became <{mine.tag}>"]
        gone = [f'{k}="{v}"' for k, v in given.items() if k not in (*KEPT, "joint", "jointinparent")]
        changes += [f"actuator of {name}: gone are {' '.join(gone)}"] if gone else []
        edits = [Edit(old[0], old[0].start, old[0].end, element)]
    else:
        changes = [f"actuator of {name}: new <{mine.tag}>"]
        edits = [_inserted(elements, element, path)]
    body = {k: wanted.get(k, "0") for k in JOINT[:3]} | {k: wanted[k] for k in JOINT[3:] if k in wanted}
    raw = there.file.read_bytes()[there.start : there.opened]
    classes = any(e.tag == "joint" and e.parent == "default" for e in elements)
    body = {k: v for k, v in body.items() if v != "0" or k in there.attributes or classes}
    edits.append(Edit(there, there.start, there.opened, with_attributes(raw, body)))
    was = {k: there.attributes.get(k, "(absent)") for k in body}
    changes += [f"joint {name}: {k} {was[k]} became {v}" for k, v in body.items()]
    files = applied(edits)
    return Edited(files, tuple(changes), _verify(export, path, name, files))


def _joint(elements: list[Element], parent: str, name: str, path: Path) -> Element:
    """The joint of a name."""
    joints = [e for e in elements if e.tag == "joint" and e.parent == parent]
    named = {e.attributes["name"]: e for e in reversed(joints) if "name" in e.attributes}
    if name not in named:
        raise UnknownName(f"joint in {path.name}", name, [*reversed(named)])
    return named[name]


def _escaped(value: str) -> str:
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


def _inserted(elements: list[Element], element: bytes, path: Path) -> Edit:
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


def _verify(export: Export, path: Path, name: str, files: dict[Path, bytes]) -> str:
    """Compile the edited model and compare its numbers with the export's."""
    mujoco = load_mujoco()
    if export.target == "mujoco" and rules(mujoco.__version__).era != rules(export.version).era:
        return (
            f"not compiled: the installed MuJoCo {mujoco.__version__} reads <dcmotor> otherwise than"
            f" {export.version}"
        )
    model, alone = compiled(mujoco, path, files), mujoco.MjModel.from_xml_string(export.text)
    joint = model.joint(name)
    i = int(np.flatnonzero(model.actuator_trnid[:, 0] == joint.id)[0])
    theirs, mine = int(joint.dofadr[0]), int(alone.joint(export.joint).dofadr[0])
    pairs = {n: (getattr(model, n)[i], getattr(alone, n)[0]) for n in actuator_arrays(model)}
    wrong = [n for n, (a, b) in pairs.items() if not np.allclose(a, b, rtol=1e-9, atol=1e-15)]
    dofs = [f"dof_{n}" for n in JOINT[:3]]
    wrong += [n for n in dofs if not np.isclose(getattr(model, n)[theirs], getattr(alone, n)[mine])]
    if wrong:
        raise InvalidValue(
            f"in {path.name} the default classes change {', '.join(wrong)} of the new actuator; move those"
            " defaults into a class it does not use"
        )
    return f"compiled with MuJoCo {mujoco.__version__}; every number of actuator and joint is the export's"


def _into_urdf(export: Export, path: Path, name: str) -> Edited:
    elements = scan(path)
    there, x = _joint(elements, "robot", name, path), export.numbers
    inside = {
        e.tag: e for e in reversed(elements) if e.parent == "joint" and there.start < e.start < there.end
    }
    content, edits, changes = path.read_bytes(), [], []
    for tag, names in (("limit", ("effort", "velocity")), ("dynamics", ("damping", "friction"))):
        values, mine = {n: number(x[n]) for n in names}, inside.get(tag)
        if mine is not None:
            text = with_attributes(content[mine.start : mine.opened], values)
            edits.append(Edit(mine, mine.start, mine.opened, text))
        else:
            at = content.rindex(b"</", there.opened, there.end)
            edits.append(Edit(there, at, at, f"  <{tag} {attributes(values)}/>\n  ".encode()))
        changes.append(f"joint {name}: <{tag}> {', '.join(f'{k} {v}' for k, v in values.items())}")
    return Edited(applied(edits), tuple(changes), "the XML was parsed; URDF has no simulator here")
