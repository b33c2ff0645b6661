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
from .dcmotor import actuator_arrays

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
    joints = [
        e for e in elements if e.tag == "joint" and e.parent == "body" and e.attributes.get("name") == name
    ]
    if not joints:
        raise UnknownName(
            f"joint in {path.name}",
            name,
            [
                e.attributes["name"]
                for e in elements
                if e.tag == "joint" and e.parent == "body" and "name" in e.attributes
            ],
        )
    old = [
        e
        for e in elements
        if e.parent == "actuator" and name in (e.attributes.get("joint"), e.attributes.get("jointinparent"))
    ]
    if len(old) > 1:
        raise InvalidValue(
            f"{name!r} has {len(old)} actuators in {path.name}; expected one: remove the others first"
        )
    mine, wanted = _of_export(export)
    edits: list[Edit] = []
    kept = {k: v for k, v in (old[0].attributes if old else {}).items() if k in KEPT}
    taken = {e.attributes.get("name") for e in elements if e.parent == "actuator"}
    kept = kept or ({} if name in taken else {"name": name})
    fresh = {
        **kept,
        "joint": name,
        **{k: v for k, v in mine.attributes.items() if k not in ("name", "joint")},
    }
    limits = {"ctrllimited": "true" if "ctrlrange" in fresh else "false"}
    if mine.tag != "dcmotor":
        limits["forcelimited"] = "true" if "forcerange" in fresh else "false"
    element = (
        f"<{mine.tag} " + " ".join(f'{k}="{_escaped(v)}"' for k, v in {**fresh, **limits}.items()) + "/>"
    ).encode()
    changes = [
        (
            f"actuator of {name}: <{old[0].tag}> became <{mine.tag}>"
            if old
            else f"actuator of {name}: new <{mine.tag}>"
        )
    ]
    if old:
        gone = [
            f'{k}="{v}"' for k, v in old[0].attributes.items() if k not in (*KEPT, "joint", "jointinparent")
        ]
        changes += [f"actuator of {name}: gone are {' '.join(gone)}"] if gone else []
        edits.append(Edit(old[0], old[0].start, old[0].end, element))
    else:
        edits.append(_inserted(elements, element, path))
    body = {k: wanted.get(k, "0") for k in ("armature", "damping", "frictionloss")}
    body |= {k: wanted[k] for k in ("solreffriction", "solimpfriction") if k in wanted}
    there = joints[0]
    raw = there.file.read_bytes()[there.start : there.opened]
    classes = any(e.tag == "joint" and e.parent == "default" for e in elements)
    body = {k: v for k, v in body.items() if v != "0" or k in there.attributes or classes}
    edits.append(Edit(there, there.start, there.opened, with_attributes(raw, body)))
    changes += [
        f"joint {name}: {k} {there.attributes.get(k, '(absent)')} became {v}" for k, v in body.items()
    ]
    files = applied(edits)
    return Edited(files, tuple(changes), _verify(export, path, name, files))


def _escaped(value: str) -> str:
    return value.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def _of_export(export: Export) -> tuple[Element, dict[str, str]]:
    """The actuator's element and the joint's attributes in the export's own file."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "export.xml"
        place.write_text(export.text, encoding="utf-8")
        found = scan(place)
    element = next(e for e in found if e.parent == "actuator")
    joint = next(e for e in found if e.tag == "joint" and e.attributes.get("name") == export.joint)
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
    joint, i = (
        model.joint(name),
        next(
            k
            for k in range(len(model.actuator_trnid))
            if int(model.actuator_trnid[k, 0]) == model.joint(name).id
        ),
    )
    theirs, mine = int(joint.dofadr[0]), int(alone.joint(export.joint).dofadr[0])
    wrong = [
        n
        for n in actuator_arrays(model)
        if not np.allclose(getattr(model, n)[i], getattr(alone, n)[0], rtol=1e-9, atol=1e-15)
    ]
    wrong += [
        f"dof_{n}"
        for n in ("armature", "damping", "frictionloss")
        if not np.isclose(getattr(model, f"dof_{n}")[theirs], getattr(alone, f"dof_{n}")[mine])
    ]
    if wrong:
        raise InvalidValue(
            f"in {path.name} the default classes change {', '.join(wrong)} of the new actuator; move those"
            " defaults into a class it does not use"
        )
    return f"compiled with MuJoCo {mujoco.__version__}; every number of actuator and joint is the export's"


def _into_urdf(export: Export, path: Path, name: str) -> Edited:
    elements = scan(path)
    joints = [
        e for e in elements if e.tag == "joint" and e.parent == "robot" and e.attributes.get("name") == name
    ]
    if not joints:
        raise UnknownName(
            f"joint in {path.name}",
            name,
            [
                e.attributes["name"]
                for e in elements
                if e.tag == "joint" and e.parent == "robot" and "name" in e.attributes
            ],
        )
    there, x = joints[0], export.numbers
    inside = [e for e in elements if e.parent == "joint" and there.start < e.start < there.end]
    content = path.read_bytes()
    edits, changes = [], []
    for tag, names in (("limit", ("effort", "velocity")), ("dynamics", ("damping", "friction"))):
        values = {n: number(x[n]) for n in names}
        mine = next((e for e in inside if e.tag == tag), None)
        if mine is not None:
            edits.append(
                Edit(
                    mine, mine.start, mine.opened, with_attributes(content[mine.start : mine.opened], values)
                )
            )
        else:
            at = content.rindex(b"</", there.opened, there.end)
            edits.append(
                Edit(
                    there,
                    at,
                    at,
                    (f"  <{tag} " + " ".join(f'{k}="{v}"' for k, v in values.items()) + "/>\n  ").encode(),
                )
            )
        changes.append(f"joint {name}: <{tag}> {', '.join(f'{k} {v}' for k, v in values.items())}")
    return Edited(applied(edits), tuple(changes), "the XML was parsed; URDF has no simulator here")
