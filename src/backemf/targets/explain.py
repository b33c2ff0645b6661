"""Any MJCF's actuators in physical terms: stall torque, no-load speed, stiffness, natural frequency,
damping, and what looks wrong."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import BackemfError
from ..findings import Finding
from ..model import steady
from ..simulator.arrays import dcmotors, installed_era, joint_inertia, load_mujoco, without_log
from ..simulator.dcmotor import DcMotor
from ..simulator.models import Loaded, load
from ..tables import number, table

SERVO_STIFFNESS = (1.0, 6.0)
"""Stiffness over stall torque of real bus servos at their default gains [1/rad]:
full voltage at an error of 1/6 to 1 rad."""
FAR = 10.0
"""Beyond this factor a gain is far from any of them."""
FASTEST = 40.0
"""No-load speed [rad/s] beyond which a position servo's damping is less than its back-EMF alone must give."""
LONG = 0.5
"""Natural frequency times time step from which a step is too long."""


@dataclass(frozen=True, kw_only=True)
class Explained:
    """One actuator at the joint, at the initial pose (the first keyframe where there is one). None:
    the model does not say."""

    actuator: str
    kind: str
    joint: str
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
    natural_frequency: float | None = None
    """Hz."""
    damping_ratio: float | None = None
    findings: tuple[Finding, ...] = ()


class _Law(NamedTuple):
    """An actuator's numbers at the joint."""

    kind: str
    stiffness: float
    damping: float
    stall: float | None
    speed: float | None
    behind: float
    """Damping that acts behind the force limit."""
    armature: float


@without_log()
def explain(path: str | Path) -> list[Explained]:
    """A row for every actuator of an MJCF file."""
    return _explained(load(Path(path)), _merged(Path(path)))


def explain_model(model: Any, merged: dict[str, tuple[float, float]] | None = None) -> list[Explained]:
    """As `explain`, for a compiled model; `merged` holds K_t and K_e by actuator or joint where a file gave
    both."""
    return _explained(Loaded(model, installed_era()), merged or {})


def _explained(loaded: Loaded, merged: dict[str, tuple[float, float]]) -> list[Explained]:
    mujoco, model = load_mujoco(), loaded.model
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    return [_row(mujoco, loaded, data, i, merged) for i in range(len(model.actuator_gaintype))]


def _row(mujoco: Any, loaded: Loaded, data: Any, i: int, merged: dict[str, tuple[float, float]]) -> Explained:
    model = loaded.model
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, i) or str(i)
    kinds = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    if int(model.actuator_trntype[i]) not in kinds:
        return Explained(actuator=name, kind=_kind(mujoco, model, i), joint="(not a joint)")
    joint = int(model.actuator_trnid[i, 0])
    label = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, joint) or str(joint)
    if int(model.jnt_type[joint]) not in (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)):
        return Explained(actuator=name, kind=_kind(mujoco, model, i), joint=f"{label} (ball or free)")
    dof = int(model.jnt_dofadr[joint])
    try:
        law, dcmotor = _law(mujoco, loaded, i, joint, dof)
    except BackemfError as error:
        note = Finding(code="not_read", text=f"{name}: {error}", remedy="check this actuator by hand")
        return Explained(actuator=name, kind=_kind(mujoco, model, i), joint=label, findings=(note,))
    M, k, h = joint_inertia(model, data, dof), law.stiffness, float(model.opt.timestep)
    total, swings = law.damping + float(model.dof_damping[dof]), k > 0 and M > 0
    row = Explained(
        actuator=name,
        kind=law.kind,
        joint=label,
        stall_torque=law.stall,
        no_load_speed=law.speed,
        stiffness=k if k > 0 else None,
        damping=total,
        inertia=M,
        armature=float(model.dof_armature[dof]) + law.armature,
        natural_frequency=steady.natural_frequency(k, M) / (2 * math.pi) if swings else None,
        damping_ratio=steady.damping_ratio(k, total, M) if swings else None,
    )
    pair = merged.get(name, merged.get(label))
    return replace(row, findings=tuple(_findings(row, law, dcmotor, h, pair)))


def _kind(mujoco: Any, model: Any, i: int) -> str:
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


def _law(mujoco: Any, loaded: Loaded, i: int, joint: int, dof: int) -> tuple[_Law, DcMotor | None]:
    model = loaded.model
    out = int(model.actuator_outadr[i]) if hasattr(model, "actuator_outadr") else i
    g = float(model.actuator_gear[out, 0])
    if i in dcmotors(model):
        return _dcmotor_law(loaded.dcmotor(i), float(model.dof_damping[dof]))
    kind, gain, bias = _kind(mujoco, model, i), model.actuator_gainprm[i], model.actuator_biasprm[i]
    affine = int(model.actuator_biastype[i]) == int(mujoco.mjtBias.mjBIAS_AFFINE)
    k, d = (-float(bias[1]) * g * g, -float(bias[2]) * g * g) if affine else (0.0, 0.0)
    own = float(model.actuator_damping[i]) * g * g if hasattr(model, "actuator_damping") else 0.0
    armature = float(model.actuator_armature[i]) * g * g if hasattr(model, "actuator_armature") else 0.0
    limits = []
    if model.actuator_forcelimited[i]:
        limits.append(abs(g) * float(np.max(np.abs(model.actuator_forcerange[i]))))
    if model.jnt_actfrclimited[joint]:
        limits.append(float(np.max(np.abs(model.jnt_actfrcrange[joint]))))
    ctrl = int(model.actuator_ctrladr[i]) if hasattr(model, "actuator_ctrladr") else i
    if kind == "motor" and model.actuator_ctrllimited[ctrl]:
        limits.append(abs(g * float(gain[0])) * float(np.max(np.abs(model.actuator_ctrlrange[ctrl]))))
    stall, behind = min(limits) if limits else None, own + float(model.dof_damping[dof])
    speed = stall / behind if stall is not None and behind > 0 else None
    return _Law(kind, k, d + own, stall, speed, behind, armature), None


def _dcmotor_law(dcmotor: DcMotor, joint_damping: float) -> tuple[_Law, DcMotor]:
    motor, control, g = dcmotor.motor, dcmotor.controller, abs(dcmotor.gear)
    R, K, volts = motor.resistance, motor.torque_constant, control.voltage_limit
    by_voltage = control.inputs == "voltage" or "voltage" in control.inputs
    if volts is None and by_voltage and control.ctrlrange and control.ctrlrange[-1] is not None:
        volts = max(abs(x) for x in control.ctrlrange[-1])
    bare = steady.Line(R, K, K, volts or 0.0, viscous=dcmotor.friction.viscous).reflected(g)
    at = bare._replace(viscous=bare.viscous + joint_damping)
    held = [] if volts is None else [at.stall_torque]
    held += [g * motor.limits.torque] if motor.limits is not None and motor.limits.torque is not None else []
    per_volt = g * at.torque_per_volt  # of a gain at the actuator
    law = _Law(
        kind="dcmotor",
        stiffness=per_volt * control.stiffness(motor),
        damping=per_volt * (K - control.slope(motor)) + bare.viscous,
        stall=min(held, default=None),
        speed=None if volts is None else at.no_load_speed,
        behind=at.damping + at.viscous,
        armature=motor.rotor_inertia * g * g,
    )
    return law, dcmotor


def _findings(
    row: Explained, law: _Law, dcmotor: DcMotor | None, h: float, pair: tuple[float, float] | None
) -> list[Finding]:
    findings: list[Finding] = []
    k, stall, rate = row.stiffness, row.stall_torque, row.natural_frequency

    def add(code: str, text: str, remedy: str, **numbers: float) -> None:
        findings.append(Finding(code=code, text=f"{row.actuator}: {text}", remedy=remedy, numbers=numbers))

    if k is not None and stall is None:
        remedy = "give forcerange, or a dcmotor's Vmax: the servo's stall torque"
        add("no_limit", "its torque has no limit.", remedy)
    if k is not None and stall:
        ratio, (low, high) = k / stall, SERVO_STIFFNESS
        if ratio > high * FAR or ratio < low / FAR:
            text = (
                f"stiffness {k:.3g} N m/rad reaches stall torque {stall:.3g} N m at {1 / ratio:.2g} rad;"
                " servos do at 0.17 to 1."
            )
            remedy = "compute kp from the servo's register, or identify it"
            add("gain_far_from_servos", text, remedy, ratio=ratio)
    if dcmotor is None and law.kind == "position":
        if law.behind == 0 and stall is not None:
            text = "nothing but its own gain damps it: no back-EMF."
            remedy = "joint damping of stall torque / no-load speed"
            add("damping_below_back_emf", text, remedy, damping=0.0)
        elif row.no_load_speed is not None and row.no_load_speed > FASTEST:
            text = (
                f"damping {law.behind:.3g} N m s/rad lets it run to {row.no_load_speed:.3g} rad/s; back-EMF"
                " alone gives stall torque / no-load speed."
            )
            remedy = "raise the joint's damping to stall torque / no-load speed"
            add("damping_below_back_emf", text, remedy, damping=law.behind)
    if dcmotor is not None and dcmotor.controller.era == 2 and dcmotor.controller.regulates:
        R, K, control = dcmotor.motor.resistance, dcmotor.motor.torque_constant, dcmotor.controller
        least = steady.Line(R, K, K).damping
        if control.kd < 0.999 * least and control.kp > 0:
            text = (
                f"kd {control.kd:.3g} is less than K^2 / R = {least:.3g}; from 3.12 on the"
                " controller takes the back-EMF's damping away."
            )
            remedy = "add K^2 / R to kd for a servo that sends a plain voltage"
            add("damping_below_back_emf", text, remedy, damping=control.kd)
    if row.armature == 0:
        remedy = "armature = rotor inertia x ratio^2; it also steadies the simulation"
        add("no_armature", "the rotor has no inertia.", remedy)
    if pair is not None and abs(pair[0] - pair[1]) > 1e-9 * max(pair):
        text = (
            f"Kt {pair[0]:g} and Ke {pair[1]:g} differ; the engine uses sqrt(Kt Ke) ="
            f" {math.sqrt(pair[0] * pair[1]):.4g} for both."
        )
        remedy = "K = Ke and R = V Ke / stall torque keep both ends of the line"
        add("unequal_constants_merged", text, remedy, Kt=pair[0], Ke=pair[1])
    if rate is not None and 2 * math.pi * rate * h > LONG:
        w, most = 2 * math.pi * rate, 1e3 * LONG / (2 * math.pi * rate) / 2
        text = f"natural frequency {rate:.3g} Hz, step {1e3 * h:g} ms: {w * h:.2g} rad per step."
        add("step_too_long", text, f"a step of at most {most:.2g} ms, or armature", timestep=h)
    if dcmotor is not None and dcmotor.lugre is not None and row.inertia:
        w = steady.natural_frequency(dcmotor.lugre.stiffness * dcmotor.gear**2, row.inertia)
        text = f"its bristle rings at {w / 2 / math.pi:.3g} Hz: {w * h:.2g} rad per step."
        if w * h > LONG:
            add("step_too_long", text, "a shorter step or a softer bristle", timestep=h)
    return findings


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


def text(rows: list[Explained]) -> str:
    """As a table for people, with the findings under it."""

    def cell(value: float | None) -> str:
        return "-" if value is None else number(value, 3)

    columns = {
        "stall [N m]": "stall_torque",
        "no-load [rad/s]": "no_load_speed",
        "stiffness [N m/rad]": "stiffness",
        "inertia [kg m^2]": "inertia",
        "natural [Hz]": "natural_frequency",
        "damping ratio": "damping_ratio",
    }
    head = ("actuator", "kind", "joint", *columns)
    cells = [(r.actuator, r.kind, r.joint, *(cell(getattr(r, f)) for f in columns.values())) for r in rows]
    lines = [table(cells, head)] if rows else ["the model has no actuators"]
    return "\n".join([*lines, *(f"- {f}" for r in rows for f in r.findings)])


def summary(rows: list[Explained]) -> dict[str, Any]:
    """As plain data: the object of `--json`."""
    plain = [f for f in Explained.__dataclass_fields__ if f != "findings"]
    return {
        "actuators": [
            {**{f: getattr(r, f) for f in plain}, "findings": [f.to_dict() for f in r.findings]} for r in rows
        ]
    }
