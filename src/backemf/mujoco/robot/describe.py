"""A robot from its MJCF or URDF: its joints, what they share, and which of them can be identified."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InvalidValue, MissingValue
from ...findings import Finding, finding
from ...logs.robot import Ground, Joint, Robot
from ..arrays import load_mujoco, without_log
from ..xml import scan

TOOL = re.compile(r"grip|jaw|finger|claw", re.IGNORECASE)
"""Names of joints that hold things."""
BASES = ("fixed", "held", "recorded")


def read(
    path: Path | str, *, base: str | None = None, ground: float | None = None, gravity: Any = None
) -> Robot:
    """A robot from a file."""
    mujoco, path = load_mujoco(), Path(path)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise MissingValue(f"{str(path)!r} {what}; expected a robot's MJCF or URDF file")
    scan(path)
    try:
        with without_log():
            spec = mujoco.MjSpec.from_file(str(path))
            dropped = _without_missing_meshes(spec, path)
    except (ValueError, TypeError) as error:
        raise InvalidValue(
            f"MuJoCo {mujoco.__version__} does not read {path.name}: {_one_line(error)}"
        ) from None
    findings: list[Finding] = []
    if dropped:
        text = f"{path.name} names {dropped} meshes that are not there; they are left out."
        findings.append(
            finding("meshes_missing", text, "put them where the model looks for them", meshes=dropped)
        )
    if gravity is not None:
        spec.option.gravity = np.asarray(gravity, float)
    stood = _base(spec, base, path, findings)
    model = _compile_spec(spec, path)
    left = dict(_left_out(mujoco, model))
    groups = _groups(spec)
    joints = tuple(j for j in _joints(mujoco, model, groups) if j.name not in left)
    if not joints:
        why = "; ".join(f"{name}: {reason}" for name, reason in left.items()) or "it has none"
        raise MissingValue(f"{path.name} has no joint that can be identified ({why})")
    return Robot(
        name=path.stem,
        joints=_told_apart(joints),
        model=spec.to_xml(),
        source=os.path.abspath(path),
        base=stood,
        ground=None if ground is None else Ground(height=ground),
        left_out=left,
        findings=tuple(findings),
    )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _base(spec: Any, asked: str | None, path: Path, findings: list[Finding]) -> str:
    """Hold a floating base still unless its motion is recorded; keyframes go, whose length would be wrong."""
    mujoco = load_mujoco()
    floating = [j for j in spec.joints if j.type == mujoco.mjtJoint.mjJNT_FREE]
    if asked is not None and asked not in BASES:
        raise InvalidValue(f"base is {asked!r}; expected {', '.join(BASES)}")
    if asked == "recorded" and not floating:
        raise InvalidValue(f"base is 'recorded', but {path.name} has no free joint; expected 'fixed'")
    for key in list(spec.keys):
        spec.delete(key)
    if asked == "recorded":
        return asked
    for joint in floating:
        spec.delete(joint)
    if not floating:
        return "fixed"
    if asked is None:
        text = f"the base of {path.name} floats, and is taken to be held still as the model has it."
        remedy = 'say base="recorded" where the logs have its motion'
        findings.append(finding("base_held", text, remedy))
    return "held"


def _compile_spec(spec: Any, path: Path) -> Any:
    try:
        with without_log():
            return spec.compile()
    except ValueError as error:
        said = _one_line(error)
        remedy = ""
        if "mass" in said or "inertia" in said:
            remedy = ": a moving link lacks its mass and inertia; add them (<inertial>), from CAD or a scale"
        raise InvalidValue(f"{path.name} does not compile: {said}{remedy}") from None


def _without_missing_meshes(spec: Any, path: Path) -> int:
    """Leave out geoms whose mesh files are not there: public models often come without them."""
    folder = path.parent / (spec.meshdir or "")
    missing = {m.name for m in spec.meshes if m.file and not (folder / m.file).is_file()}
    if not missing:
        if len(list(spec.meshes)):
            spec.meshdir = str(folder.resolve())
        return 0
    for geom in list(spec.geoms):
        if geom.meshname in missing:
            spec.delete(geom)
    for mesh in list(spec.meshes):
        if mesh.name in missing:
            spec.delete(mesh)
    return len(missing)


def _groups(spec: Any) -> dict[str, str]:
    """The class of each joint's actuator, or else its own."""
    groups = {}
    for joint in spec.joints:
        groups[joint.name] = _class(joint)
    for actuator in spec.actuators:
        own = _class(actuator)
        if own and actuator.target in groups:
            groups[actuator.target] = own
    return groups


def _class(element: Any) -> str:
    name = getattr(element.classname, "name", "") or ""
    return "" if name == "main" else name


def _joints(mujoco: Any, model: Any, groups: dict[str, str]) -> Iterator[Joint]:
    kinds = {int(mujoco.mjtJoint.mjJNT_HINGE): "rotary", int(mujoco.mjtJoint.mjJNT_SLIDE): "linear"}
    acting = {}
    for k in range(model.nu):
        if model.actuator_trntype[k] == mujoco.mjtTrn.mjTRN_JOINT:
            acting.setdefault(int(model.actuator_trnid[k, 0]), k)
    for j in range(model.njnt):
        kind = kinds.get(int(model.jnt_type[j]))
        if kind is None:
            continue
        name, dof = model.joint(j).name, int(model.jnt_dofadr[j])
        low, high = map(float, model.jnt_range[j]) if model.jnt_limited[j] else (None, None)
        shipped = {
            "armature": float(model.dof_armature[dof]),
            "damping": float(np.ravel(model.dof_damping[dof])[0]),
            "frictionloss": float(model.dof_frictionloss[dof]),
        }
        actuator, limit = "", _limit(model, acting.get(j), j)
        if j in acting:
            k = acting[j]
            actuator = model.actuator(k).name
            shipped |= {"kp": float(model.actuator_gainprm[k, 0]), "kv": -float(model.actuator_biasprm[k, 2])}
        yield Joint(
            name=name,
            motion=kind,
            low=low,
            high=high,
            group=groups.get(name) or "joints",
            actuator=actuator,
            torque_limit=limit,
            tool=bool(TOOL.search(name)),
            shipped=shipped,
        )


def _told_apart(joints: Sequence[Joint]) -> tuple[Joint, ...]:
    """Joints of one class whose actuators have other limits are of other hardware."""
    limits: dict[str, set[Any]] = {}
    for joint in joints:
        limits.setdefault(joint.group, set()).add(joint.torque_limit)
    return tuple(
        replace(j, group=f"{j.group} {j.torque_limit:g}")
        if len(limits[j.group]) > 1 and j.torque_limit
        else j
        for j in joints
    )


def _limit(model: Any, k: int | None, j: int) -> float | None:
    """The largest torque that the model lets a joint's actuator give."""
    limits = [math.inf]
    if model.jnt_actfrclimited[j]:
        limits.append(float(np.max(np.abs(model.jnt_actfrcrange[j]))))
    if k is None:
        return min(limits) if min(limits) < math.inf else None
    gear = abs(float(model.actuator_gear[k, 0])) or 1.0
    if model.actuator_forcelimited[k]:
        limits.append(gear * float(np.max(np.abs(model.actuator_forcerange[k]))))
    motor = model.actuator_biastype[k] == 0 and model.actuator_gaintype[k] == 0
    if motor and model.actuator_ctrllimited[k]:
        limits.append(
            gear
            * abs(float(model.actuator_gainprm[k, 0]))
            * float(np.max(np.abs(model.actuator_ctrlrange[k])))
        )
    return min(limits) if min(limits) < math.inf else None


def _left_out(mujoco: Any, model: Any) -> Iterator[tuple[str, str]]:
    """Joints that a tree of single joints does not describe, and why."""
    named = [model.joint(j).name or f"joint {j}" for j in range(model.njnt)]
    for j in range(model.njnt):
        if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_BALL:
            yield named[j], "it turns about three axes at once"
    for e in range(model.neq):
        kind, one, two = int(model.eq_type[e]), int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
        if kind == mujoco.mjtEq.mjEQ_JOINT:
            for j in (one, two):
                if j >= 0:
                    yield named[j], "an equality constraint ties it to another joint"
        elif kind in (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD):
            if model.eq_objtype[e] == mujoco.mjtObj.mjOBJ_SITE:
                one, two = (int(model.site_bodyid[s]) for s in (one, two))
            for j in sorted(_above(model, one) ^ _above(model, two)):
                yield named[j], "it is part of a closed chain"
    for j in _pulled_joints(mujoco, model):
        yield named[j], "a tendon pulls on it"


def _pulled_joints(mujoco: Any, model: Any) -> Iterator[int]:
    """Joints that tendons pull on."""
    for t in range(model.ntendon):
        begin, n = int(model.tendon_adr[t]), int(model.tendon_num[t])
        for w in range(begin, begin + n):
            if model.wrap_type[w] == mujoco.mjtWrap.mjWRAP_JOINT:
                yield int(model.wrap_objid[w])
            elif model.wrap_type[w] == mujoco.mjtWrap.mjWRAP_SITE:
                yield from _above(model, int(model.site_bodyid[int(model.wrap_objid[w])]))


def _above(model: Any, body: int) -> set[int]:
    """Joints between a body and the world."""
    joints: set[int] = set()
    while body > 0:
        begin, n = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        joints |= set(range(begin, begin + n)) if n else set()
        body = int(model.body_parentid[body])
    return joints
