"""Put an export into a user's own MJCF or URDF: the joint's old actuator is replaced, every other byte stays as it is.

Included files are followed, the edited model is compiled and compared with the export before anything is written.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import xml.parsers.expat as expat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import BackemfError, InvalidValue, MissingValue, UnknownName
from ..model.dcmotor import rules
from .export import Export, number, write_all
from .mujoco import apply_names
from .mujoco_arrays import load_mujoco

JOINT = ("armature", "damping", "frictionloss", "solreffriction", "solimpfriction")
"""Attributes of a joint that belong to its actuator."""
KEPT = ("name", "group", "user")
"""Attributes of the old actuator that stay."""


class Element(NamedTuple):
    """An XML element and where it stands in its file."""

    file: Path
    tag: str
    parent: str
    attributes: dict[str, str]
    start: int
    opened: int
    """End of its start tag."""
    end: int


@dataclass(frozen=True)
class Edited:
    """The edited files, not yet written."""

    files: dict[Path, bytes]
    changes: tuple[str, ...]
    """What was changed, in words."""
    verified: str
    """How the result was checked."""

    def write(self, path: Path | str | None = None, *, force: bool = False) -> list[Path]:
        """Write in place (with `force`), or, where only the model itself changes, under another name in the same folder."""
        if path is None:
            return write_all(self.files, force=force)
        if len(self.files) != 1:
            raise BackemfError(f"{len(self.files)} files change ({', '.join(f.name for f in self.files)}); they can only be edited in place")
        return write_all({Path(path): next(iter(self.files.values()))}, force=force)


def scan(path: Path, folder: Path | None = None, parent: str = "", seen: tuple[Path, ...] = ()) -> list[Element]:
    """Every element of a file and of the files it includes, in order."""
    folder = path.parent if folder is None else folder
    try:
        content = path.read_bytes()
    except OSError:
        raise MissingValue(f"there is no file {str(path)!r}") from None
    if path.resolve() in seen:
        raise InvalidValue(f"{path.name} includes itself")
    if b"\0" in content:  # UTF-16 and UTF-32: places in the file would not be places in its text
        raise InvalidValue(f"{path.name} is not in UTF-8; expected that: save it as UTF-8 and try again")
    found: list[Element] = []
    stack: list[tuple[str, int, dict[str, str], int]] = []
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        stack.append((tag, len(found), attributes, parser.CurrentByteIndex))
        above = stack[-2][0] if len(stack) > 1 else parent
        if len(stack) == 2 and stack[0][0] == "mujocoinclude":
            above = parent
        at = parser.CurrentByteIndex
        found.append(Element(path, tag, above, attributes, at, _tag_end(content, at), -1))

    def end(tag: str) -> None:
        _, k, attributes, _ = stack.pop()
        one = found[k]
        after = parser.CurrentByteIndex
        stop = one.opened if content[one.opened - 2 : one.opened] == b"/>" else content.index(b">", after) + 1
        found[k] = one._replace(end=stop)
        if tag == "include" and "file" in attributes:
            found.extend(scan(folder / attributes["file"], folder, one.parent, (*seen, path.resolve())))

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError) as error:
        raise InvalidValue(f"{path.name} is not XML that can be read: {error}") from None
    return found


def _tag_end(content: bytes, at: int) -> int:
    """Where a start tag ends, quotes respected."""
    quote = b""
    for k in range(at, len(content)):
        c = content[k : k + 1]
        if quote:
            quote = b"" if c == quote else quote
        elif c in (b'"', b"'"):
            quote = c
        elif c == b">":
            return k + 1
    raise InvalidValue("a tag is not closed")


def with_attributes(tag: bytes, changes: dict[str, str]) -> bytes:
    """A start tag with some attributes set; the others keep their bytes."""
    for name, value in changes.items():
        given = value.encode()
        pattern = re.compile(rb"(\s" + name.encode() + rb"\s*=\s*)(\"[^\"]*\"|'[^']*')")
        if pattern.search(tag):
            tag = pattern.sub(lambda m, given=given: m[1] + b'"' + given + b'"', tag, count=1)
        else:
            close = b"/>" if tag.endswith(b"/>") else b">"
            tag = tag[: -len(close)].rstrip() + b" " + name.encode() + b'="' + given + b'"' + close
    return tag


def into(export: Export, path: Path | str, joint: str | None = None) -> Edited:
    """An export in place of a joint's actuator, in the user's model."""
    path, name = Path(path), export.joint if joint is None else joint
    if export.target == "urdf":
        return _into_urdf(export, path, name)
    if export.target not in ("mujoco", "mujoco-classic"):
        raise InvalidValue(f"an export for {export.target} cannot be put into a model; expected mujoco, mujoco-classic or urdf")
    if "_backlash" in export.text:
        raise InvalidValue("an extra joint for backlash cannot be put into a model; export without backlash")
    elements = scan(path)
    joints = [e for e in elements if e.tag == "joint" and e.parent == "body" and e.attributes.get("name") == name]
    if not joints:
        raise UnknownName(
            f"joint in {path.name}", name, [e.attributes["name"] for e in elements if e.tag == "joint" and e.parent == "body" and "name" in e.attributes]
        )
    old = [e for e in elements if e.parent == "actuator" and name in (e.attributes.get("joint"), e.attributes.get("jointinparent"))]
    if len(old) > 1:
        raise InvalidValue(f"{name!r} has {len(old)} actuators in {path.name}; expected one: remove the others first")
    mine, wanted = _of_export(export)
    edits: list[tuple[Element, int, int, bytes]] = []
    kept = {k: v for k, v in (old[0].attributes if old else {}).items() if k in KEPT}
    taken = {e.attributes.get("name") for e in elements if e.parent == "actuator"}
    kept = kept or ({} if name in taken else {"name": name})
    fresh = {**kept, "joint": name, **{k: v for k, v in mine.attributes.items() if k not in ("name", "joint")}}
    limits = {"ctrllimited": "true" if "ctrlrange" in fresh else "false"}
    if mine.tag != "dcmotor":
        limits["forcelimited"] = "true" if "forcerange" in fresh else "false"
    element = (f"<{mine.tag} " + " ".join(f'{k}="{_escaped(v)}"' for k, v in {**fresh, **limits}.items()) + "/>").encode()
    changes = [f"actuator of {name}: <{old[0].tag}> became <{mine.tag}>" if old else f"actuator of {name}: new <{mine.tag}>"]
    if old:
        gone = [f'{k}="{v}"' for k, v in old[0].attributes.items() if k not in (*KEPT, "joint", "jointinparent")]
        changes += [f"actuator of {name}: gone are {' '.join(gone)}"] if gone else []
        edits.append((old[0], old[0].start, old[0].end, element))
    else:
        edits.append(_inserted(elements, element, path))
    body = {k: wanted.get(k, "0") for k in ("armature", "damping", "frictionloss")}
    body |= {k: wanted[k] for k in ("solreffriction", "solimpfriction") if k in wanted}
    there = joints[0]
    raw = there.file.read_bytes()[there.start : there.opened]
    classes = any(e.tag == "joint" and e.parent == "default" for e in elements)
    body = {k: v for k, v in body.items() if v != "0" or k in there.attributes or classes}
    edits.append((there, there.start, there.opened, with_attributes(raw, body)))
    changes += [f"joint {name}: {k} {there.attributes.get(k, '(absent)')} became {v}" for k, v in body.items()]
    files = _applied(edits)
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


def _inserted(elements: list[Element], element: bytes, path: Path) -> tuple[Element, int, int, bytes]:
    """Before the end of the first actuator section, or of the model."""
    section = next((e for e in elements if e.tag == "actuator" and e.parent in ("mujoco", "mujocoinclude", "")), None)
    if section is not None and section.end > section.opened:
        at = section.file.read_bytes().rindex(b"</", section.opened, section.end)
        return section, at, at, b"  " + element + b"\n  "
    if section is not None:
        return section, section.start, section.end, b"<actuator>\n    " + element + b"\n  </actuator>"
    root = next(e for e in elements if e.file == path)
    at = path.read_bytes().rindex(b"</", root.opened, root.end)
    return root, at, at, b"  <actuator>\n    " + element + b"\n  </actuator>\n"


def _applied(edits: list[tuple[Element, int, int, bytes]]) -> dict[Path, bytes]:
    files: dict[Path, bytes] = {}
    for where, begin, end, text in sorted(edits, key=lambda e: (str(e[0].file), -e[1])):
        content = files.get(where.file, where.file.read_bytes())
        files[where.file] = content[:begin] + text + content[end:]
    return files


def _verify(export: Export, path: Path, name: str, files: dict[Path, bytes]) -> str:
    """Compile the edited model and compare its numbers with the export's."""
    mujoco = load_mujoco()
    if export.target == "mujoco" and rules(mujoco.__version__).era != rules(export.version).era:
        return f"not compiled: the installed MuJoCo {mujoco.__version__} reads <dcmotor> otherwise than {export.version}"
    model, alone = _compiled(mujoco, path, files), mujoco.MjModel.from_xml_string(export.text)
    joint, i = model.joint(name), next(k for k in range(len(model.actuator_trnid)) if int(model.actuator_trnid[k, 0]) == model.joint(name).id)
    theirs, mine = int(joint.dofadr[0]), int(alone.joint(export.joint).dofadr[0])
    wrong = [n for n in apply_names(model) if not np.allclose(getattr(model, n)[i], getattr(alone, n)[0], rtol=1e-9, atol=1e-15)]
    wrong += [
        f"dof_{n}" for n in ("armature", "damping", "frictionloss") if not np.isclose(getattr(model, f"dof_{n}")[theirs], getattr(alone, f"dof_{n}")[mine])
    ]
    if wrong:
        raise InvalidValue(
            f"in {path.name} the default classes change {', '.join(wrong)} of the new actuator; move those defaults into a class it does not use"
        )
    return f"compiled with MuJoCo {mujoco.__version__}; every number of actuator and joint is the export's"


def _compiled(mujoco: Any, path: Path, files: dict[Path, bytes]) -> Any:
    """The edited model, from temporary files beside the user's: untouched includes and assets stay where they are."""
    temporary: list[str] = []

    def copied(file: Path) -> Path | None:
        """A copy of a file with its edits, including copies where those changed; None where nothing did."""
        content, changed = files.get(file, file.read_bytes()), file in files
        for e in reversed([e for e in _parsed(content, file) if e.tag == "include" and "file" in e.attributes]):
            fresh = copied(path.parent / e.attributes["file"])
            if fresh is not None:
                name = {"file": (Path(e.attributes["file"]).parent / fresh.name).as_posix()}
                content, changed = content[: e.start] + with_attributes(content[e.start : e.opened], name) + content[e.opened :], True
        if not changed:
            return None
        handle, place = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=file.suffix)
        temporary.append(place)
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        return Path(place)

    try:
        return mujoco.MjModel.from_xml_path(str(copied(path)))
    except ValueError as error:
        raise InvalidValue(f"the edited {path.name} does not compile with MuJoCo {mujoco.__version__}: {' '.join(str(error).split())}") from None
    finally:
        for place in temporary:
            with contextlib.suppress(OSError):
                os.unlink(place)


def _parsed(content: bytes, path: Path) -> list[Element]:
    """Elements of one file's content alone."""
    found: list[Element] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda tag, attributes: found.append(
        Element(path, tag, "", attributes, parser.CurrentByteIndex, _tag_end(content, parser.CurrentByteIndex), -1)
    )
    parser.Parse(content, True)
    return found


def _into_urdf(export: Export, path: Path, name: str) -> Edited:
    elements = scan(path)
    joints = [e for e in elements if e.tag == "joint" and e.parent == "robot" and e.attributes.get("name") == name]
    if not joints:
        raise UnknownName(
            f"joint in {path.name}", name, [e.attributes["name"] for e in elements if e.tag == "joint" and e.parent == "robot" and "name" in e.attributes]
        )
    there, x = joints[0], export.numbers
    inside = [e for e in elements if e.parent == "joint" and there.start < e.start < there.end]
    content = path.read_bytes()
    edits, changes = [], []
    for tag, names in (("limit", ("effort", "velocity")), ("dynamics", ("damping", "friction"))):
        values = {n: number(x[n]) for n in names}
        mine = next((e for e in inside if e.tag == tag), None)
        if mine is not None:
            edits.append((mine, mine.start, mine.opened, with_attributes(content[mine.start : mine.opened], values)))
        else:
            at = content.rindex(b"</", there.opened, there.end)
            edits.append((there, at, at, (f"  <{tag} " + " ".join(f'{k}="{v}"' for k, v in values.items()) + "/>\n  ").encode()))
        changes.append(f"joint {name}: <{tag}> {', '.join(f'{k} {v}' for k, v in values.items())}")
    return Edited(_applied(edits), tuple(changes), "the XML was parsed; URDF has no simulator here")
