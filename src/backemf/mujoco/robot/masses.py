"""What a robot's model may be wrong about: masses and centres of its links, a payload, how its base stands,
where its joints read zero; how inertia and load along a motion depend on each; and the model with others.

A point mass at p adds |J_i|^2 to the inertia of joint i and asks J_i . (a - g) of it, where J_i is how p
moves with the joint and a its acceleration: every column is made of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidValue
from ...logs.robot import Robot
from ..arrays import load_mujoco
from ..xml import check_text
from .robot_motion import RobotMotion, bare_model, places, smooth

TURN = 0.3
"""Angle that a share of it is uncertain to belong to: 10 % of the masses go with 30 mrad of the base and of
every joint's zero [rad]."""
NUDGE = 1e-3
"""Change of an angle or place over which a slope is taken [rad, m]."""
AXES = ("x", "y", "z")


class Unknown(NamedTuple):
    """One number that the model states and that may be off."""

    name: str
    """`upper_arm.mass`, `upper_arm.centre_x`, `payload.mass`, `base.tilt_x`, `elbow_flex.offset`."""
    stated: float
    tolerance: float
    unit: str


@dataclass(frozen=True, kw_only=True)
class Slopes:
    """d inertia and d load of every joint along a motion by each unknown: (samples, joints, unknowns)."""

    inertia: np.ndarray
    load: np.ndarray


class _Poses(NamedTuple):
    """Where bodies and joints are along a motion."""

    x: np.ndarray
    R: np.ndarray
    anchors: np.ndarray
    axes: np.ndarray


def unknowns(robot: Robot, share: float) -> list[Unknown]:
    """Every number that may be off by this share: of a mass, of a link's length for its centre."""
    if not 0.0 < share < 1.0:
        raise InvalidValue(f"free_inertia is {share:g}; expected a share above 0 and below 1, as in 10%")
    model = bare_model(robot)
    made = []
    for b in _links(model):
        name, m, c = model.body(b).name, float(model.body_mass[b]), model.body_ipos[b]
        made.append(Unknown(f"{name}.mass", m, share * m, "kg"))
        length = _length(model, b)
        made += [Unknown(f"{name}.centre_{k}", float(c[i]), share * length, "m") for i, k in enumerate(AXES)]
    total = float(sum(model.body_mass[b] for b in _links(model)))
    made.append(Unknown("payload.mass", 0.0, share * total, "kg"))
    made += [Unknown(f"base.tilt_{k}", 0.0, share * TURN, "rad") for k in AXES[:2]]
    made += [
        Unknown(f"{j.name}.offset", 0.0, share * TURN, "rad") for j in robot.joints if j.motion == "rotary"
    ]
    return made


def _links(model: Any) -> list[int]:
    """Bodies that move with a joint, have a mass and a name."""
    moving = [b for b in range(1, model.nbody) if model.body_weldid[b] != 0]
    return [b for b in moving if model.body_mass[b] > 1e-9 and model.body(b).name]


def _length(model: Any, b: int) -> float:
    """How long a link is: to its centre, or to the farthest of what it carries."""
    children = [
        float(np.linalg.norm(model.body_pos[c])) for c in range(model.nbody) if model.body_parentid[c] == b
    ]
    return max([float(np.linalg.norm(model.body_ipos[b])), *children, 1e-3])


def _hand(model: Any) -> tuple[int, np.ndarray]:
    """(body, place in it) where a payload is: the geom of the last link that is farthest from its joint."""
    links = _links(model)

    def depth(b: int) -> int:
        n = 0
        while b > 0:
            n, b = n + int(model.body_jntnum[b]), int(model.body_parentid[b])
        return n

    last = max(links, key=lambda b: (depth(b), float(model.body_mass[b])))
    geoms = [g for g in range(model.ngeom) if int(model.geom_bodyid[g]) == last]
    spots = [np.array(model.geom_pos[g]) for g in geoms] or [np.array(model.body_ipos[last])]
    return last, max(spots, key=lambda p: float(np.linalg.norm(p)))


def slopes(robot: Robot, motion: RobotMotion, of: Sequence[Unknown]) -> Slopes:
    """How inertia and load along a motion depend on the unknowns, at the model as it is.

    Args:
        robot: the model.
        motion: of all joints.
        of: the unknowns.

    Returns:
        Derivatives, (samples, joints, unknowns).
    """
    model = bare_model(robot)
    at = _poses(robot, model, motion.position)
    gravity = np.array(model.opt.gravity)
    shape = (*motion.position.shape, len(of))
    inertia, load = np.zeros(shape), np.zeros(shape)
    for k, one in enumerate(of):
        whose, _, what = one.name.rpartition(".")
        if what == "offset":
            inertia[:, :, k], weight = _turn_slopes(robot, model, motion.position, whose, gravity)
            load[:, :, k] = weight
        elif whose == "base":
            load[:, :, k] = _tilt_slopes(robot, model, at, AXES.index(what[-1]), gravity)
        else:
            inertia[:, :, k], load[:, :, k] = _point_slopes(robot, model, at, motion, whose, what, gravity)
    return Slopes(inertia=inertia, load=load)


def _point_slopes(
    robot: Robot, model: Any, at: _Poses, motion: RobotMotion, whose: str, what: str, gravity: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of a mass, or of where it is."""
    body, place = (
        _hand(model) if whose == "payload" else (model.body(whose).id, model.body_ipos[model.body(whose).id])
    )
    if what == "mass":
        return _point(robot, model, at, motion, body, place, gravity)
    step = NUDGE * np.eye(3)[AXES.index(what[-1])]
    up = _point(robot, model, at, motion, body, place + step, gravity)
    down = _point(robot, model, at, motion, body, place - step, gravity)
    m = float(model.body_mass[body]) / (2.0 * NUDGE)
    return m * (up[0] - down[0]), m * (up[1] - down[1])


def _point(
    robot: Robot,
    model: Any,
    at: _Poses,
    motion: RobotMotion,
    body: int,
    place: np.ndarray,
    gravity: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """(inertia, load) of every joint from 1 kg at a place of a body."""
    p = at.x[:, body] + at.R[:, body] @ place
    J = _moves(robot, model, at, body, p)
    a = smooth(motion.time, p, motion.window)[2]
    own = np.sum(J**2, axis=2)
    return own, own * motion.acceleration - np.einsum("kij,kj->ki", J, a - gravity)


def _moves(robot: Robot, model: Any, at: _Poses, body: int, p: np.ndarray) -> np.ndarray:
    """How a point of a body moves with each joint: (samples, joints, 3)."""
    mujoco = load_mujoco()
    ids = [model.joint(name).id for name in robot.names]
    turning = np.cross(at.axes, p[:, None, :] - at.anchors)
    slides = np.array([model.jnt_type[j] == mujoco.mjtJoint.mjJNT_SLIDE for j in ids])
    J = np.where(slides[None, :, None], at.axes, turning)
    above = _above(model, body)
    return J * np.array([float(model.jnt_bodyid[j] in above) for j in ids])[None, :, None]


def _above(model: Any, body: int) -> set[int]:
    """A body and those that carry it."""
    found = set()
    while body > 0:
        found.add(body)
        body = int(model.body_parentid[body])
    return found


def _weights(robot: Robot, model: Any, at: _Poses, gravity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inertia of the links as points, and torque of gravity, on each joint."""
    inertia, torque = np.zeros(at.anchors.shape[:2]), np.zeros(at.anchors.shape[:2])
    for b in range(1, model.nbody):
        if model.body_mass[b] > 0 and model.body_weldid[b] != 0:
            p = at.x[:, b] + at.R[:, b] @ model.body_ipos[b]
            J = _moves(robot, model, at, b, p)
            inertia += model.body_mass[b] * np.sum(J**2, axis=2)
            torque += model.body_mass[b] * (J @ gravity)
    return inertia, torque


def _tilt_slopes(robot: Robot, model: Any, at: _Poses, axis: int, gravity: np.ndarray) -> np.ndarray:
    """Of a base that stands turned about a horizontal axis: gravity turns the other way."""
    return _weights(robot, model, at, np.cross(gravity, np.eye(3)[axis]))[1]


def _turn_slopes(
    robot: Robot, model: Any, q: np.ndarray, joint: str, gravity: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(inertia, weight) of a joint that stands beyond what it reads."""
    nudge = NUDGE * (np.arange(q.shape[1]) == robot.place(joint))
    up, down = (_weights(robot, model, _poses(robot, model, q + s * nudge), gravity) for s in (1.0, -1.0))
    return (up[0] - down[0]) / (2.0 * NUDGE), (up[1] - down[1]) / (2.0 * NUDGE)


def _poses(robot: Robot, model: Any, q: np.ndarray) -> _Poses:
    mujoco = load_mujoco()
    data, (at_q, _) = mujoco.MjData(model), places(robot, model)
    mujoco.mj_resetData(model, data)
    ids = np.array([model.joint(name).id for name in robot.names])
    n, nb = len(q), model.nbody
    poses = _Poses(
        np.empty((n, nb, 3)), np.empty((n, nb, 3, 3)), np.empty((n, len(ids), 3)), np.empty((n, len(ids), 3))
    )
    for k in range(n):
        data.qpos[at_q] = q[k]
        mujoco.mj_kinematics(model, data)
        poses.x[k], poses.R[k] = data.xpos, data.xmat.reshape(-1, 3, 3)
        poses.anchors[k], poses.axes[k] = data.xanchor[ids], data.xaxis[ids]
    return poses


def change_robot(robot: Robot, values: Mapping[str, float]) -> Robot:
    """The robot whose model has these numbers in place of its own."""
    mujoco = load_mujoco()
    model = bare_model(robot)
    spec = mujoco.MjSpec.from_string(check_text(robot.model))
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO
    hand, spot = _hand(model)
    for b in _links(model):
        name, m, c = model.body(b).name, float(model.body_mass[b]), np.array(model.body_ipos[b])
        turn = np.empty(9)
        mujoco.mju_quat2Mat(turn, model.body_iquat[b])
        R = turn.reshape(3, 3)
        mass = values.get(f"{name}.mass", m)
        centre = np.array([values.get(f"{name}.centre_{k}", c[i]) for i, k in enumerate(AXES)])
        I = mass / m * (R @ np.diag(model.body_inertia[b]) @ R.T)
        extra = values.get("payload.mass", 0.0) if b == hand else 0.0
        if extra:
            whole = mass + extra
            middle = (mass * centre + extra * spot) / whole
            I = I + _aside(mass, centre - middle) + _aside(extra, spot - middle)
            mass, centre = whole, middle
        body = spec.body(name)
        body.explicitinertial, body.mass, body.ipos = True, mass, centre
        body.fullinertia = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        body.iquat, body.inertia = [1, 0, 0, 0], [0, 0, 0]
    turns = np.array([values.get("base.tilt_x", 0.0), values.get("base.tilt_y", 0.0), 0.0])
    g = np.array(spec.option.gravity, float)
    spec.option.gravity = g + np.cross(g, turns)
    factor = np.degrees(1.0) if spec.compiler.degree else 1.0
    for joint in robot.joints:
        offset = values.get(f"{joint.name}.offset", 0.0)
        if offset:
            one = spec.joint(joint.name)
            one.ref = one.ref - factor * offset
    spec.compile()
    return replace(robot, model=spec.to_xml())


def _aside(m: float, r: np.ndarray) -> np.ndarray:
    """Inertia of a point mass about a place that it is r away from."""
    return m * (float(r @ r) * np.eye(3) - np.outer(r, r))
