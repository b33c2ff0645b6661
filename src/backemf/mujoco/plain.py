"""What any actuator of a compiled model does at its joint, apart from dcmotors: stiffness, damping, limits,
armature and friction."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .arrays import dcmotors, load_mujoco


class Driven(NamedTuple):
    """The hinge or slide that an actuator moves."""

    joint: int
    dof: int
    name: str
    slides: bool

    @property
    def motion(self) -> str:
        """As an `Actuator` calls it."""
        return "linear" if self.slides else "rotary"


class Plain(NamedTuple):
    """Torque at the joint: clip(gain u - stiffness q - derivative w, +-limit) - damping w - frictionloss."""

    kind: str
    """position, velocity, motor or general."""
    gear: float
    """From its own attributes to the joint."""
    gain: float
    """N m per unit of ctrl; negative where the gear is."""
    stiffness: float
    """N m/rad."""
    derivative: float
    """Inside the limit [N m s/rad]."""
    limit: float | None
    """N m; None: nothing limits it."""
    damping: float
    """Behind the limit, of actuator and joint [N m s/rad]."""
    armature: float
    """Of actuator and joint [kg m^2]."""
    frictionloss: float
    """Of the joint [N m]."""
    ctrlrange: tuple[float, float] | None


def actuator_names(model: Any) -> list[str]:
    """Of every actuator, its index where it has no name."""
    mujoco = load_mujoco()
    kind = mujoco.mjtObj.mjOBJ_ACTUATOR
    return [mujoco.mj_id2name(model, kind, i) or str(i) for i in range(len(model.actuator_gaintype))]


def driven(model: Any, i: int) -> Driven | str:
    """The joint of an actuator; in words what it acts on, where that is no hinge or slide."""
    mujoco = load_mujoco()
    kinds = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    if int(model.actuator_trntype[i]) not in kinds:
        return "(not a joint)"
    joint = int(model.actuator_trnid[i, 0])
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, joint) or str(joint)
    kind, slide = int(model.jnt_type[joint]), int(mujoco.mjtJoint.mjJNT_SLIDE)
    if kind not in (int(mujoco.mjtJoint.mjJNT_HINGE), slide):
        return f"{name} (ball or free)"
    return Driven(joint, int(model.jnt_dofadr[joint]), name, kind == slide)


def kind_of(model: Any, i: int) -> str:
    """The element that an actuator could have been written as."""
    mujoco = load_mujoco()
    if i in dcmotors(model):
        return "dcmotor"
    gain, bias = model.actuator_gainprm[i], model.actuator_biasprm[i]
    affine = int(model.actuator_biastype[i]) == int(mujoco.mjtBias.mjBIAS_AFFINE)
    fixed = int(model.actuator_gaintype[i]) == int(mujoco.mjtGain.mjGAIN_FIXED)
    if not fixed:
        return "general"
    if not affine:
        return "motor"
    if bias[1] == -gain[0] and bias[0] == 0:
        return "position"
    return "velocity" if bias[1] == 0 and bias[2] == -gain[0] else "general"


def plain(model: Any, i: int, at: Driven) -> Plain:
    """The numbers of an actuator that is no dcmotor."""
    mujoco = load_mujoco()
    out = int(model.actuator_outadr[i]) if hasattr(model, "actuator_outadr") else i
    ctrl = int(model.actuator_ctrladr[i]) if hasattr(model, "actuator_ctrladr") else i
    g, joint, dof, kind = float(model.actuator_gear[out, 0]), at.joint, at.dof, kind_of(model, i)
    gain, bias = float(model.actuator_gainprm[i][0]), model.actuator_biasprm[i]
    affine = int(model.actuator_biastype[i]) == int(mujoco.mjtBias.mjBIAS_AFFINE)
    own = {name: _of_actuator(model, i, name) * g * g for name in ("damping", "armature")}
    low, high = (float(u) for u in model.actuator_ctrlrange[ctrl])
    ctrlrange = (low, high) if model.actuator_ctrllimited[ctrl] else None
    limits = []
    if model.actuator_forcelimited[i]:
        limits.append(abs(g) * float(np.max(np.abs(model.actuator_forcerange[i]))))
    if model.jnt_actfrclimited[joint]:
        limits.append(float(np.max(np.abs(model.jnt_actfrcrange[joint]))))
    if kind == "motor" and ctrlrange is not None:
        limits.append(abs(g * gain) * max(abs(u) for u in ctrlrange))
    return Plain(
        kind=kind,
        gear=g,
        gain=g * gain,
        stiffness=-float(bias[1]) * g * g if affine else 0.0,
        derivative=-float(bias[2]) * g * g if affine else 0.0,
        limit=min(limits, default=None),
        damping=own["damping"] + float(model.dof_damping[dof]),
        armature=own["armature"] + float(model.dof_armature[dof]),
        frictionloss=float(model.dof_frictionloss[dof]),
        ctrlrange=ctrlrange,
    )


def _of_actuator(model: Any, i: int, name: str) -> float:
    """Damping and armature of an actuator's own, which older versions do not have."""
    values = getattr(model, f"actuator_{name}", None)
    return 0.0 if values is None else float(values[i])
