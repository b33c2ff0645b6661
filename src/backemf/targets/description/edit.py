"""A joint's limits, damping and friction in a user's own URDF; every other byte stays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...mujoco.joints import by_joint
from ...mujoco.xml import Edit, applied, scan, with_attributes
from ..export import Export, number
from ..mujoco.dcmotor import attributes
from ..mujoco.into import Edited, named_joints


def into_urdf(exports: Mapping[str, Export], path: Path | str) -> Edited:
    """Limits, damping and friction of joints, by name or regular expression, in a user's URDF."""
    path = Path(path)
    elements = scan(path)
    named = named_joints(elements, "robot", path)
    edits, changes, content = [], [], path.read_bytes()
    for name, pattern in by_joint(exports, [*named], path.name).items():
        there, x = named[name], exports[pattern].numbers
        inside = {
            e.tag: e for e in reversed(elements) if e.parent == "joint" and there.start < e.start < there.end
        }
        for tag, names in (("limit", ("effort", "velocity")), ("dynamics", ("damping", "friction"))):
            values, mine = {n: number(x[n]) for n in names}, inside.get(tag)
            was = {n: mine.attributes.get(n, "(absent)") if mine else "(absent)" for n in names}
            if mine is not None:
                text = with_attributes(content[mine.start : mine.opened], values)
                edits.append(Edit(mine, mine.start, mine.opened, text))
            else:
                at = content.rindex(b"</", there.opened, there.end)
                edits.append(Edit(there, at, at, f"  <{tag} {attributes(values)}/>\n  ".encode()))
            changes += [f"joint {name}: {tag} {k} {was[k]} became {v}" for k, v in values.items()]
    return Edited(applied(edits), tuple(changes), "the XML was parsed", exports=tuple(exports.values()))
