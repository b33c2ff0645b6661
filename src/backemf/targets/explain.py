"""Any MJCF's actuators in physical terms: stall torque, no-load speed, stiffness, natural frequency,
damping, what looks wrong, and by how much each number is off from the part that drives it."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import BackemfError, UnknownName
from ..findings import Finding
from ..mujoco.arrays import joint_inertia, load_mujoco, without_log
from ..mujoco.models import Loaded, load
from ..mujoco.plain import actuator_names, driven, kind_of
from ..physics import steady
from .explained import bristle as bristles, compare, findings as found
from .explained.bristle import Bristle as Bristle
from .explained.compare import Compared as Compared, Part as Part, Parts as Parts
from .explained.law import Law, law_of
from .explained.text import text as text
from .sources import split


@dataclass(frozen=True, kw_only=True)
class Explained:
    """One actuator at the joint, at the initial pose (the first keyframe where there is one). None:
    the model does not say. On a slide: newtons, metres and kilograms."""

    actuator: str
    kind: str
    joint: str
    slides: bool = False
    """Whether the joint is a slide."""
    stall_torque: float | None = None
    """N m."""
    no_load_speed: float | None = None
    """rad/s."""
    stiffness: float | None = None
    """N m/rad."""
    damping: float | None = None
    """N m s/rad: actuator and joint together."""
    inertia: float | None = None
    """The joint's own entry of the mass matrix, armature included [kg m^2]: the other joints held."""
    armature: float | None = None
    friction: float | None = None
    """Dry [N m]."""
    natural_frequency: float | None = None
    """Hz."""
    damping_ratio: float | None = None
    bristle: Bristle | None = None
    """Of a dcmotor with LuGre friction."""
    part: str | None = None
    """What it was compared with."""
    compared: tuple[Compared, ...] = ()
    """Each number beside the part's, the worst first."""
    command: str | None = None
    """What writes the part into the model, after the commands of the actuators before it."""
    findings: tuple[Finding, ...] = ()


@without_log()
def explain(path: str | Path, parts: Parts | None = None) -> list[Explained]:
    """A row for every actuator of an MJCF file; of "arm.xml#elbow" for that joint or actuator alone.

    parts   what drives the joints: a part of the catalogue, an identified set, a file, or an Actuator, for
            all of them or by patterns of their names, as {"shoulder_.*": "sts3215-12v"}; each actuator is
            then compared with its own.
    """
    path, wanted = split(path)
    given, loaded, pairs = compare.parts_of(parts), load(path), _merged(path)
    mujoco, model = load_mujoco(), loaded.model
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    rows: list[Explained] = []
    for i, name in enumerate(actuator_names(model)):
        rows.append(_row(loaded, data, i, name, pairs, given, path, any(r.command for r in rows)))
    if wanted is not None:
        some = [r for r in rows if wanted in _names(r)]
        if not some:
            known = dict.fromkeys(name for r in rows for name in _names(r))
            raise UnknownName(f"actuator or joint in {path.name}", wanted, known)
        rows = some
    _all_used(given, rows)
    return rows


def _all_used(given: dict[str, Part], rows: list[Explained]) -> None:
    """A pattern that no joint has is a slip of the pen."""
    for pattern in given:
        if pattern != ".*" and not any(compare.part_for({pattern: given[pattern]}, *_names(r)) for r in rows):
            raise UnknownName("joint", pattern, dict.fromkeys(name for r in rows for name in _names(r)))


def _names(row: Explained) -> tuple[str, str]:
    return row.actuator, row.joint


def _row(
    loaded: Loaded,
    data: Any,
    i: int,
    name: str,
    pairs: dict[str, tuple[float, float]],
    given: dict[str, Part],
    path: Path,
    made: bool,
) -> Explained:
    model = loaded.model
    at = driven(model, i)
    if isinstance(at, str):
        return Explained(actuator=name, kind=kind_of(model, i), joint=at)
    row = Explained(actuator=name, kind=kind_of(model, i), joint=at.name, slides=at.slides)
    try:
        law = law_of(loaded, i, at)
    except BackemfError as error:
        note = Finding(code="not_read", text=f"{name}: {error}", remedy="check this actuator by hand")
        return replace(row, findings=(note,))
    M, k = joint_inertia(model, data, at.dof), law.stiffness
    swings = k > 0 and M > 0
    row = replace(
        row,
        kind=law.kind,
        stall_torque=law.stall,
        no_load_speed=law.speed,
        stiffness=k if k > 0 else None,
        damping=law.damping,
        inertia=M,
        armature=law.armature,
        friction=law.friction,
        natural_frequency=steady.natural_frequency(k, M) / (2 * math.pi) if swings else None,
        damping_ratio=steady.damping_ratio(k, law.damping, M) if swings else None,
        bristle=bristles.bristle(law, M, model),
    )
    row, told = _beside(row, law, compare.part_for(given, name, at.name), path, made)
    told += found.of_dcmotor(law, at.slides)
    told += found.merged(pairs.get(name, pairs.get(at.name)))
    told += found.of_the_step(law, M, float(model.opt.timestep))
    told += bristles.findings(row.bristle, float(model.opt.timestep), found.units(at.slides)[2])
    return replace(row, findings=tuple(replace(f, text=f"{name}: {f.text}") for f in told))


def _beside(
    row: Explained, law: Law, part: Part | None, path: Path, made: bool
) -> tuple[Explained, list[Finding]]:
    """The row with its part's comparison; without a part, the findings that all servos give rise to."""
    if part is None:
        return row, list(found.against_servos(law, row.slides))
    if (part.actuator.motion == "linear") != row.slides:
        return row, [compare.other_motion(part, row.slides), *found.against_servos(law, row.slides)]
    rows = compare.compared(law, part, row.slides)
    told, off = list(compare.findings(rows, part)), any(c.is_off for c in rows)
    line = compare.command(law, part, path, row.joint, made) if off else None
    return replace(row, part=part.name, compared=tuple(rows), command=line), told


def _merged(path: Path) -> dict[str, tuple[float, float]]:
    """K_t and K_e of every `<dcmotor motorconst>` that gives both, by actuator and joint name;
    included files are read too."""
    pairs: dict[str, tuple[float, float]] = {}
    waiting, folder = [path], path.parent
    while waiting:
        try:
            root = ElementTree.parse(waiting.pop()).getroot()
        except (OSError, ElementTree.ParseError, LookupError):  # LookupError: an encoding that nobody knows
            continue
        waiting += [folder / e.attrib["file"] for e in root.iter("include") if "file" in e.attrib]
        for e in root.iter("dcmotor"):
            words = e.attrib.get("motorconst", "").split()
            if len(words) == 2 and float(words[0]) > 0 and float(words[1]) > 0:
                pair = (float(words[0]), float(words[1]))
                pairs |= {e.attrib[key]: pair for key in ("name", "joint") if key in e.attrib}
    return pairs


def summary(rows: list[Explained]) -> dict[str, Any]:
    """As plain data: the object of `--json`."""
    apart = ("findings", "compared", "bristle")
    plain = [f for f in Explained.__dataclass_fields__ if f not in apart]
    return {
        "actuators": [
            {
                **{f: getattr(r, f) for f in plain},
                "bristle": None if r.bristle is None else r.bristle._asdict(),
                "compared": [c._asdict() for c in r.compared],
                "findings": [f.to_dict() for f in r.findings],
            }
            for r in rows
        ]
    }
