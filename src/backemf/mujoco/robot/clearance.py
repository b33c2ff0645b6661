"""How near a robot comes to the ground along a motion: its lowest point, and what a push there does to the
joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...logs.robot import Robot
from ..arrays import load_mujoco
from .dynamics import bare_model, places


@dataclass(frozen=True, kw_only=True)
class Clearance:
    """Along a motion."""

    height: np.ndarray
    """Of the lowest point of what moves and can touch [m]."""
    body: np.ndarray
    """The body that it belongs to."""
    point: np.ndarray
    """(samples, 3), where it is [m]."""
    push: np.ndarray
    """(samples, joints): torque on each joint from one newton upwards there [N m]."""


def clearance(robot: Robot, q: np.ndarray, model: Any = None) -> Clearance | None:
    """For positions of all joints (samples, joints); None where nothing of the robot can touch."""
    mujoco = load_mujoco()
    model = bare_model(robot) if model is None else model
    geoms = touching(model)
    if not len(geoms):
        return None
    data, (at_q, at_v) = mujoco.MjData(model), places(robot, model)
    mujoco.mj_resetData(model, data)
    n = len(q)
    where, turned = np.empty((n, len(geoms), 3)), np.empty((n, len(geoms), 3, 3))
    anchors, axes = np.empty((n, len(at_v), 3)), np.empty((n, len(at_v), 3))
    ids = np.array([model.joint(name).id for name in robot.names])
    for k in range(n):
        data.qpos[at_q] = q[k]
        mujoco.mj_kinematics(model, data)
        where[k], turned[k] = data.geom_xpos[geoms], data.geom_xmat[geoms].reshape(-1, 3, 3)
        anchors[k], axes[k] = data.xanchor[ids], data.xaxis[ids]
    lowest = np.stack(
        [_lowest(model, g, where[:, i], turned[:, i]) for i, g in enumerate(geoms)], axis=1
    )  # (samples, geoms, 3)
    first = np.argmin(lowest[:, :, 2], axis=1)
    point = lowest[np.arange(n), first]
    body = np.array([int(model.geom_bodyid[geoms[i]]) for i in first])
    # dz/dq_i of the point: (axis x (point - anchor))_z for a hinge, axis_z for a slide, of joints below it
    lever = point[:, None, :] - anchors
    turning = axes[..., 0] * lever[..., 1] - axes[..., 1] * lever[..., 0]
    slides = model.jnt_type[ids] == mujoco.mjtJoint.mjJNT_SLIDE
    moves = np.where(slides[None, :], axes[..., 2], turning)
    carries = np.array([[_carries(model, j, b) for j in ids] for b in range(model.nbody)])
    return Clearance(height=point[:, 2], body=body, point=point, push=np.where(carries[body], moves, 0.0))


def touching(model: Any) -> np.ndarray:
    """Geoms that move with a joint and can touch something."""
    mujoco = load_mujoco()
    known = {int(getattr(mujoco.mjtGeom, f"mjGEOM_{k}")) for k in SHAPES}
    moving = [bool(_joints_above(model, int(b))) for b in model.geom_bodyid]
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    return np.array(
        [g for g in range(model.ngeom) if collides[g] and moving[g] and int(model.geom_type[g]) in known], int
    )


SHAPES = ("SPHERE", "CAPSULE", "ELLIPSOID", "CYLINDER", "BOX", "MESH")


def _joints_above(model: Any, body: int) -> bool:
    while body > 0:
        if model.body_jntnum[body]:
            return True
        body = int(model.body_parentid[body])
    return False


def _carries(model: Any, joint: int, body: int) -> bool:
    """Whether a joint moves a body."""
    own = int(model.jnt_bodyid[joint])
    while body > 0:
        if body == own:
            return True
        body = int(model.body_parentid[body])
    return False


def _lowest(model: Any, g: int, x: np.ndarray, R: np.ndarray) -> np.ndarray:
    """The lowest point of a geom at places x, turned by R: (samples, 3)."""
    mujoco = load_mujoco()
    kind, size = int(model.geom_type[g]), model.geom_size[g]
    down = -R[:, 2, :]  # world's down in the geom's frame
    kinds = mujoco.mjtGeom
    if kind == kinds.mjGEOM_SPHERE:
        local = size[0] * down
    elif kind == kinds.mjGEOM_CAPSULE:
        local = size[0] * down
        local[:, 2] += np.sign(down[:, 2]) * size[1]
    elif kind == kinds.mjGEOM_BOX:
        local = np.sign(down) * size
    elif kind == kinds.mjGEOM_ELLIPSOID:
        scaled = down * size
        local = scaled * size / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1e-12)
    elif kind == kinds.mjGEOM_CYLINDER:
        flat = down[:, :2] / np.maximum(np.linalg.norm(down[:, :2], axis=1, keepdims=True), 1e-12)
        local = np.column_stack([size[0] * flat, np.sign(down[:, 2]) * size[1]])
    else:
        mesh = int(model.geom_dataid[g])
        begin, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
        corners = np.asarray(model.mesh_vert[begin : begin + count], float)
        local = corners[np.argmax(down @ corners.T, axis=1)]
    return x + np.einsum("kij,kj->ki", R, local)
