"""Check any MJCF model: drive its dcmotors in the installed MuJoCo, and compare each step with ours, from the
engine's own states.

Force and activations are compared for every dcmotor on a hinge or a slide; position and velocity too where
the joint moves alone, so that its inertia is constant and nothing else accelerates it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BackemfError, InvalidValue, MissingValue
from ..physics.friction import Viscous
from .arrays import (
    Place,
    dcmotors,
    drag,
    engine_of,
    from_model,
    joint_inertia,
    load_model,
    load_mujoco,
    place,
    without_log,
)
from .dcmotor import DcMotor, DcMotorJoint, Engine
from .models import same_era
from .step import Moment, advance, moment, states, step

STAGES = ((0.5, 1 / 6), (0.5, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6))
"""Of the classical Runge-Kutta rule: share of the step to the next stage, and weight."""


@dataclass(frozen=True, kw_only=True)
class Conformance:
    """What was compared for one actuator. Differences are relative to the largest value that the signal has
    had so far."""

    actuator: str
    joint: str
    differences: dict[str, float] = field(default_factory=dict)
    note: str = ""
    """Why something, or everything, was not compared."""

    @property
    def worst(self) -> float | None:
        return max(self.differences.values()) if self.differences else None


MOST_STEPS = 1_000_000
"""All of them are kept until the end."""


@dataclass
class _WatchedMotor:
    """One dcmotor and what was seen of it, step by step and, under RK4, stage by stage."""

    at: Place
    dcmotor: DcMotor
    alone: str
    """Empty where the joint moves alone, else why not."""
    rows: list[list[tuple[float, float, float]]] = field(default_factory=list)
    """Position, velocity and load of each stage, for each step."""
    acts: list[np.ndarray] = field(default_factory=list)
    ctrls: list[np.ndarray] = field(default_factory=list)
    forces: list[float] = field(default_factory=list)
    held: bool = False
    """Whether a constraint pushed the joint."""


@without_log()
def conform(path: str | Path, *, steps: int = 500) -> list[Conformance]:
    """Drive every dcmotor of a model with sines and jumps,
    and give the worst one-step differences for each."""
    same_era(Path(path))
    return conform_model(load_model(path), steps=steps)


def conform_model(model: Any, *, steps: int = 500) -> list[Conformance]:
    """As `conform`, for a model that is already loaded."""
    if not 1 <= steps <= MOST_STEPS:
        raise InvalidValue(f"steps is {steps}; expected 1 to {MOST_STEPS}")
    mujoco = load_mujoco()
    rows: dict[int, Conformance] = {}
    motors: dict[int, _WatchedMotor] = {}
    for i in dcmotors(model):
        try:
            at = place(model, i)
            motors[i] = _WatchedMotor(
                at=at, dcmotor=_check_dcmotor(model, i), alone=_why_not_alone(model, at)
            )
        except BackemfError as error:
            rows[i] = Conformance(actuator=_name(model, "ACTUATOR", i), joint="-", note=str(error))
    if not (rows or motors):
        raise MissingValue(
            "the model has no dcmotor; expected at least one <dcmotor>, or a <general> with gaintype"
            " 'dcmotor'"
        )
    watched = [*motors.values()]
    data, scratch, engine = mujoco.MjData(model), mujoco.MjData(model), engine_of(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    constrained = _record(mujoco, model, data, scratch, engine, watched, steps)
    if any(not w.forces for w in watched):
        raise InvalidValue(
            "the model's accelerations are not finite before its first step; check its numbers"
        )
    rows |= {i: _compare_steps(model, engine, w, constrained) for i, w in motors.items()}
    return [rows[i] for i in sorted(rows)]


def _name(model: Any, kind: str, i: int) -> str:
    mujoco = load_mujoco()
    return mujoco.mj_id2name(model, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), i) or str(i)


def _check_dcmotor(model: Any, i: int) -> DcMotor:
    """The dcmotor, unless something outside it changes its force."""
    mujoco = load_mujoco()
    if hasattr(model, "actuator_delay") and model.actuator_delay[i]:
        raise InvalidValue(
            "its ctrl is delayed by the engine (delay, nsample); expected none: a delay acts before the"
            " dcmotor"
        )
    group = int(model.actuator_group[i])
    if 0 <= group <= 30 and int(model.opt.disableactuator) & (1 << group):
        raise InvalidValue(f"its group {group} is disabled (actuatorgroupdisable)")
    bits = mujoco.mjtDisableBit
    if int(model.opt.disableflags) & int(bits.mjDSBL_ACTUATION | bits.mjDSBL_CLAMPCTRL):
        raise InvalidValue("the model disables actuation or clampctrl; expected both enabled")
    return from_model(model, i)


def _why_not_alone(model: Any, at: Place) -> str:
    """Empty where nothing but gravity, springs and this actuator accelerates the joint, else the reason."""
    mujoco, implicit = load_mujoco(), engine_of(model).integrator.startswith("implicit")
    if model.dof_parentid[at.dof] >= 0 or at.dof in model.dof_parentid:
        return "the joint is part of a chain"
    if np.sum(model.actuator_trnid[: len(model.actuator_trntype), 0] == at.joint) > 1 or model.ntendon:
        return "other actuators or tendons may act on the joint"
    if model.jnt_actfrclimited[at.joint] or model.jnt_actgravcomp[at.joint]:
        return "the joint has actuatorfrcrange or actuatorgravcomp"
    if not implicit and int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP):
        return "eulerdamp is disabled"
    if implicit and (model.opt.density or model.opt.viscosity):
        return "the integrator also takes the fluid forces implicitly"
    return ""


def _signals(watched: list[_WatchedMotor], t: float) -> Iterator[tuple[Place, np.ndarray]]:
    """A sine with a jump for each input, within its range or of a size that moves things."""
    for k, w in enumerate(watched):
        gear, control, motor = abs(w.dcmotor.gear), w.dcmotor.controller, w.dcmotor.motor
        volts = control.voltage_limit or 3.0 * motor.torque_constant * max(gear, 1.0) + 2.0 * motor.resistance
        sizes = {"voltage": volts, "ff": motor.torque_constant * volts / motor.resistance}
        sizes |= dict.fromkeys(("pos", "position"), 0.6 * gear) | dict.fromkeys(
            ("vel", "velocity"), 4.0 * gear
        )
        values = []
        for j, word in enumerate(control.words):
            limits = control.ctrlrange[j] if control.ctrlrange else None
            low, high = limits or (-sizes[word], sizes[word])
            wave = np.sin(2 * np.pi * (1.1 + 0.3 * k + 0.2 * j) * t + 0.5 * k) + 0.6 * (t % 0.5 > 0.25)
            # beyond the range now and then, to see it clipped
            values.append(0.5 * (low + high) + 0.6 * (high - low) * wave)
        yield w.at, np.array(values)


def _record(
    mujoco: Any, model: Any, data: Any, scratch: Any, engine: Engine, watched: list[_WatchedMotor], steps: int
) -> bool:
    """Run the engine and note what each actuator saw; whether any constraint was active on the way."""
    constrained = False
    for _ in range(steps):
        for at, u in _signals(watched, float(data.time)):
            data.ctrl[at.ctrl] = u
        mujoco.mj_forward(model, data)
        if not (np.abs(data.qacc) <= 1e10).all():  # nor is what is no number
            break
        stages = list(_stages(mujoco, model, data, scratch)) if engine.integrator == "RK4" else [data]
        for w in watched:
            w.forces.append(float(data.actuator_force[w.at.out]))
            w.acts.append(data.act[w.at.act].copy())
            w.ctrls.append(data.ctrl[w.at.ctrl].copy())
            w.rows.append([_joint_state(w.at, s) if s is data else s[w.at.dof] for s in stages])
            w.held = w.held or data.qfrc_constraint[w.at.dof] != 0
        constrained |= bool(data.nefc)
        mujoco.mj_step(model, data)
    for w in watched:
        w.acts.append(data.act[w.at.act].copy())
        w.rows.append([_joint_state(w.at, data)] * len(w.rows[0] if w.rows else [0]))
    return constrained


def _joint_state(at: Place, data: Any) -> tuple[float, float, float]:
    passive, damper, bias, applied = (
        float(getattr(data, f"qfrc_{name}")[at.dof]) for name in ("passive", "damper", "bias", "applied")
    )
    return float(data.qpos[at.qpos]), float(data.qvel[at.dof]), passive - damper - bias + applied


def _stages(
    mujoco: Any, model: Any, data: Any, scratch: Any
) -> Iterator[dict[int, tuple[float, float, float]]]:
    """What each joint sees at the four stages of RK4, rebuilt with the engine's own accelerations."""
    joints = [place(model, i) for i in dcmotors(model) if _is_simple(model, i)]
    h, now = float(model.opt.timestep), data
    for share, _ in STAGES:
        yield {at.dof: _joint_state(at, now) for at in joints}
        if not share:
            return
        qvel, qacc, act_dot = now.qvel.copy(), now.qacc.copy(), now.act_dot.copy()
        mujoco.mj_copyData(scratch, model, data)
        mujoco.mj_integratePos(model, scratch.qpos, qvel, share * h)
        scratch.qvel[:] = data.qvel + share * h * qacc
        scratch.act[:] = data.act + share * h * act_dot
        mujoco.mj_forward(model, scratch)
        now = scratch


def _is_simple(model: Any, i: int) -> bool:
    try:
        place(model, i)
    except BackemfError:
        return False
    return True


def _compare_steps(model: Any, engine: Engine, w: _WatchedMotor, constrained: bool) -> Conformance:
    """All steps at once, as arrays."""
    dcmotor, n = w.dcmotor, len(w.forces)
    # (stage, quantity, step), (activation, step)
    rows, acts = np.array(w.rows).transpose(1, 2, 0), np.array(w.acts).T
    names = states(dcmotor)
    ctrl: tuple[Any, ...] = tuple(np.array(w.ctrls).reshape(n, -1).T)
    seen = {"position": rows[0, 0], "velocity": rows[0, 1], **dict(zip(names, acts, strict=True))}
    before = {name: values[:n] for name, values in seen.items()}
    at = moment(dcmotor, engine, before, ctrl)
    differences = {"force": _difference(at.force, np.array(w.forces))}
    note = w.alone or ("constraints act on the joint" if w.held else "")
    if not note:
        after = step(dcmotor, _joint(model, w, rows[:, 2, :n]), engine, before, ctrl)
    elif engine.integrator != "RK4":
        after = advance(dcmotor, engine, before, at.rates, dcmotor.gear * before["velocity"])
    elif constrained:
        after, note = {}, f"{note}; constraints under RK4: force only"
    else:
        after = _activations_by_stages(dcmotor, engine, before, ctrl, at, rows[:, :, :n])
    differences |= {name: _difference(after[name], seen[name][1:]) for name in after}
    note = f"not compared: position, velocity ({note})" if note else ""
    return Conformance(
        actuator=_name(model, "ACTUATOR", w.at.actuator),
        joint=_name(model, "JOINT", w.at.joint),
        differences=differences,
        note=note,
    )


def _joint(model: Any, w: _WatchedMotor, loads: np.ndarray) -> DcMotorJoint:
    mujoco, data, dof = load_mujoco(), load_mujoco().MjData(model), w.at.dof
    mujoco.mj_forward(model, data)
    N, J = w.dcmotor.gear, w.dcmotor.motor.rotor_inertia
    M, damping = joint_inertia(model, data, dof) - N * N * J, Viscous(**drag(model, dof, "dof"))
    stage = iter(loads)  # the step asks for the load once per stage, in order
    return DcMotorJoint(inertia=M, load=lambda q, v: next(stage), damping=damping)


def _activations_by_stages(
    dcmotor: DcMotor, engine: Engine, before: dict[str, Any], ctrl: tuple, at: Moment, rows: np.ndarray
) -> dict[str, Any]:
    """The activations after an RK4 step whose stages moved the joint as the engine did."""
    h, mean, now = engine.timestep, dict.fromkeys(at.rates, 0.0), before
    for k, (share, weight) in enumerate(STAGES):
        mean = {name: mean[name] + weight * at.rates[name] for name in mean}
        if share:
            now = {name: before[name] + share * h * at.rates[name] for name in mean}
            now |= {"position": rows[k + 1, 0], "velocity": rows[k + 1, 1]}
            at = moment(dcmotor, engine, now, ctrl)
    velocity = (now if engine.rules.bristle_velocity == "last stage" else before)["velocity"]
    return advance(dcmotor, engine, before, mean, dcmotor.gear * velocity)


def _difference(mine: Any, theirs: np.ndarray) -> float:
    scale = np.maximum(np.maximum.accumulate(np.abs(theirs)), np.finfo(float).tiny)
    return float(np.max(np.abs(mine - theirs) / scale))
