"""Plugins put into a user's own MJCF: joints and actuators change, every other byte stays, and the C goes
beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ....errors import InvalidValue
from ....mujoco.arrays import engine_of, load_mujoco
from ....mujoco.models import by_joint
from ....mujoco.xml import Edit, Element, applied, compiled, with_attributes
from ....physics.actuator import Actuator
from ...export import Export, Request, number
from ...mujoco.dcmotor import attributes
from ...mujoco.interface import Old, adapted, old_of
from ...mujoco.into import JOINT, KEPT, Edited, Model, escaped, inserted, model_of, named_joints, of_joint
from ..names import identifier
from . import target


def into_plugin(
    wanted: Mapping[str, Actuator], path: Path | str, request: Request, *, replay: bool = True
) -> Edited:
    """Actuators by name or regular expression of their joints, as plugins of one library."""
    model = model_of(path)
    engine = engine_of(model.loaded.model)
    deciding = by_joint(wanted, [*named_joints(model.elements, "body", model.path)], model.path.name)
    kinds: dict[str, Actuator] = {}
    chosen: dict[str, tuple[str, Old]] = {}
    changes: list[str] = []
    for joint, pattern in deciding.items():
        old = old_of(model.loaded, joint)
        if old.actuator is not None and old.gear != 1.0:
            raise InvalidValue(
                f"the actuator of {joint!r} has gear {old.gear:g}; expected 1 for a plugin, whose ctrl is"
                " in the joint's units"
            )
        fitting, notes = adapted(wanted[pattern], old)
        kind = next((k for k, known in kinds.items() if known == fitting), joint)
        kinds.setdefault(kind, fitting)
        chosen[joint] = (kind, old)
        changes += notes
    first = next(iter(kinds))
    request = request._replace(timestep=engine.timestep, integrator=engine.integrator, joint=first)
    made = target.several(kinds, request)
    if replay:
        from ...replay import proven

        made = proven(made, request.logs or None)
    edits = [_extension(model, [*kinds])]
    for joint, (kind, old) in chosen.items():
        mine, said = _edits(model, old, joint, kind, target.armature_of(kinds[kind]))
        edits += mine
        changes += said
    files = applied(edits)
    beside = {name: text for name, text in made.files.items() if not name.endswith(".xml")}
    return Edited(
        files, tuple(changes), _verified(model, files, made, len(chosen)), (), made.findings, (made,), beside
    )


def _extension(model: Model, kinds: Sequence[str]) -> Edit:
    """The plugins' names, at the beginning of the model."""
    root = next(e for e in model.elements if e.file == model.path)
    named = "".join(f'<plugin plugin="backemf.{identifier(kind)}"/>' for kind in kinds)
    return Edit(root, root.opened, root.opened, f"\n  <extension>{named}</extension>".encode())


def _edits(model: Model, old: Old, joint: str, kind: str, armature: str) -> tuple[list[Edit], list[str]]:
    given = next((e for e in model.elements if e.parent == "actuator" and of_joint(e) == joint), None)
    element = _element(given, old, joint, kind)
    there = model.joint(joint)
    body = {**dict.fromkeys(JOINT[:3], "0"), "armature": armature}
    raw = there.file.read_bytes()[there.start : there.opened]
    edits = [Edit(there, there.start, there.opened, with_attributes(raw, body))]
    if given is not None:
        edits.append(Edit(given, given.start, given.end, element))
    else:
        edits.append(inserted(model.elements, element, model.path))
    was = "new" if given is None else f"<{given.tag}> became"
    said = [f"actuator of {joint}: {was} <plugin> backemf.{identifier(kind)}"]
    return edits, said + [
        f"joint {joint}: {k} {number(getattr(old, k))} became {v}"
        for k, v in body.items()
        if number(getattr(old, k)) != v
    ]


def _element(given: Element | None, old: Old, joint: str, kind: str) -> bytes:
    """The old one's name and range, and our plugin."""
    kept = {"name": joint} if given is None else {k: v for k, v in given.attributes.items() if k in KEPT}
    if old.ctrlrange is not None:
        kept |= {"ctrlrange": " ".join(map(number, old.ctrlrange)), "ctrllimited": "true"}
    words = {**kept, "joint": joint, "plugin": f"backemf.{identifier(kind)}"}
    return f"<plugin {attributes({k: escaped(v) for k, v in words.items()})}/>".encode()


def _verified(model: Model, files: dict[Path, bytes], made: Export, n: int) -> str:
    """The edited model, compiled with the library itself under names that only this process knows."""
    mujoco = load_mujoco()
    library: Any = target.built({k: v for k, v in made.files.items() if k.endswith(".c")})
    tagged = dict(files)
    for name in library.names:
        own = f'plugin="backemf.{name}"'.encode()
        other = f'plugin="backemf.{name}{library.tag}"'.encode()
        tagged = {path: content.replace(own, other) for path, content in tagged.items()}
    new = compiled(mujoco, model.path, tagged)
    data = mujoco.MjData(new)
    mujoco.mj_step(new, data)
    if new.nplugin != model.loaded.model.nplugin + n:
        raise InvalidValue(f"{model.path.name} has {new.nplugin} plugins after the change; expected {n} more")
    return f"compiled with MuJoCo {mujoco.__version__} and the library itself, and stepped"
