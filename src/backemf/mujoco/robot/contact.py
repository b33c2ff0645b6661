"""Where a robot touched something: torques that no motor explains, how near its parts come to each other and
to the ground, and the plane that the touches lie on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...logs.log import Log, targets
from ...logs.robot import Ground, Robot
from ...physics.actuator import Actuator, inertias, signals
from ...physics.bench import Recorded
from ..arrays import load_mujoco
from .robot_motion import JointLoads, RobotMotion, bare_model, places

MOVING = 0.05
"""Speed from which on the direction of dry friction is known [rad/s]."""
KNOWN = 0.15
"""Share of the level of friction by which it is off without anybody having done wrong."""
SIGNIFICANT = 3.0
"""Scatters of the unexplained torque from which on a push is believed."""
LEAST = 0.1
"""How long a push must last to be one [s]."""
AROUND = 0.15
"""Time before and after a push that is left out with it [s]."""
NEAR = 0.006
"""Height above the ground up to which a robot may touch it, beyond the ground's own error [m]: links bend,
and shapes are boxes."""


class Outside(NamedTuple):
    """Torques from outside along a recording, (samples, joints) [N m]."""

    torque: np.ndarray
    """Beyond what dry friction can hold; 0 where friction explains it."""
    level: np.ndarray
    """Of dry friction."""
    moving: np.ndarray
    """Whether the joint moves, so that friction's direction is known."""


@dataclass(frozen=True, kw_only=True)
class Pushes:
    """Along one recording."""

    force: np.ndarray
    """Upwards at the lowest point, that would explain the torques best [N]."""
    sure: np.ndarray
    """How many of its scatters it is."""


def unexplained_torque(
    actuator: Actuator, log: Log, delay: float, motion: RobotMotion, carried: JointLoads, j: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the actuator does not explain of one joint's motion.

    Args:
        actuator: of the joint.
        log: of the joint, with what was asked.
        delay: by which commands come late [s].
        motion: of all joints.
        carried: inertia and load along it.
        j: place of the joint.

    Returns:
        (torque that must have come from outside, beyond what dry friction can hold; friction's level; whether
        it moves), at every sample [N m].
    """
    q, v, a = motion.position[:, j], motion.velocity[:, j], motion.acceleration[:, j]
    t = motion.time
    inputs: dict[str, Any] = {n: log.signals[n].hold_at(t - delay) for n in targets(log, actuator.drive)}
    state: dict[str, Any] = {name: 0.0 * q + x for name, x in actuator.initial_state().items()}
    state |= {"position": motion.recorded[:, j], "velocity": v}
    if "lagged_setpoint" in state:
        state["lagged_setpoint"] = inputs[actuator.drive.followed]
    motor: Any = signals(actuator, state, inputs)["torque"]
    load: Any = carried.load[:, j]
    friction = actuator.friction
    J = carried.inertia[:, j] + inertias(actuator, Recorded(), {"inertia": 0.0}).rotor
    speed: Any = v
    drag = friction.drag(speed) - (friction.offset or 0.0)
    needed = J * a - motor - load + drag
    still = np.abs(v) < MOVING
    direction: Any = np.where(still, -np.sign(needed), np.sign(v))
    s = friction.stribeck(speed)
    level = np.asarray(friction.level(s, motor, load, direction)) + np.zeros(len(v))
    holds = np.sign(needed) * np.maximum(np.abs(needed) - level, 0.0)
    return np.where(still, holds, needed + np.sign(v) * level), level, ~still


def from_outside(
    robot: Robot,
    actuators: Mapping[str, Actuator],
    delays: Mapping[str, float],
    log: Log,
    motion: RobotMotion,
    carried: JointLoads,
) -> Outside:
    """Torques from outside on every joint; 0 for those without an actuator.

    Args:
        robot: whose joints they are.
        actuators: by joint.
        delays: by which commands come late, by joint [s]; 0 where it is not given.
        log: the recording.
        motion: of all joints along it.
        carried: inertia and load along it.

    Returns:
        The torques, the level of dry friction, and where joints move.
    """
    torque, level = np.zeros_like(motion.position), np.zeros_like(motion.position)
    moving = np.zeros(motion.position.shape, bool)
    for name, actuator in actuators.items():
        j = robot.place(name)
        torque[:, j], level[:, j], moving[:, j] = unexplained_torque(
            actuator, log.joints[name], delays.get(name, 0.0), motion, carried, j
        )
    return Outside(np.nan_to_num(torque), np.nan_to_num(level), moving)


def scatter_of(outside: Sequence[Outside]) -> np.ndarray:
    """What each joint's torque from outside scatters by while nothing touches [N m]: over all recordings, and
    never less than friction itself is known to. Joints at rest tell nothing: friction explains whatever is
    left."""
    torque, level, moving = (np.concatenate(part) for part in zip(*outside, strict=True))
    found = np.zeros(torque.shape[1])
    for j in range(torque.shape[1]):
        seen = np.abs(torque[moving[:, j], j])
        usual = 1.4826 * float(np.median(seen)) if len(seen) > 50 else 0.0
        found[j] = np.hypot(usual, KNOWN * float(np.median(level[:, j])))
    return np.maximum(found, 1e-9)


def pushes(outside: Outside, scatter: np.ndarray, clearance: Clearance, t: np.ndarray) -> Pushes:
    """The upward force at the lowest point that explains the torques best.

    Args:
        outside: torques from outside.
        scatter: of each joint's torque while nothing touches [N m].
        clearance: where the lowest point is.
        t: sample times [s].

    Returns:
        The force along the recording.
    """
    seen = np.flatnonzero(outside.level.any(axis=0) | outside.torque.any(axis=0))
    lever = clearance.push[:, seen] / scatter[seen]
    size = np.maximum(np.sum(lever**2, axis=1), 1e-12)
    force = np.sum(lever * outside.torque[:, seen] / scatter[seen], axis=1) / size
    step = float(np.median(np.diff(t)))
    force = _median(force, max(1, round(LEAST / step)))
    return Pushes(force=force, sure=force * np.sqrt(size))


def _median(x: np.ndarray, n: int) -> np.ndarray:
    from scipy.ndimage import median_filter

    return median_filter(x, size=n | 1, mode="nearest")


def touching_samples(clearance: Clearance, felt: Pushes, ground: Ground | None, t: np.ndarray) -> np.ndarray:
    """Samples in which the robot touches something, or may as near as the ground is known, with some time
    around them.

    Args:
        clearance: where the lowest point is.
        felt: what pushes there.
        ground: what it may touch; None: nobody knows.
        t: sample times [s].

    Returns:
        True for each such sample.
    """
    hit = felt.sure > SIGNIFICANT
    if ground is not None:
        gap = clearance.height - ground.under(clearance.point)
        near = NEAR + ground.error
        hit = (hit & (gap < 2.0 * near)) | (gap < near) | (felt.sure > 2 * SIGNIFICANT)
    step = float(np.median(np.diff(t)))
    n = max(1, round(AROUND / step))
    return np.convolve(hit.astype(float), np.ones(2 * n + 1), mode="same") > 0.5


def stretches(mask: np.ndarray) -> list[tuple[int, int]]:
    """(first, behind the last) of each stretch that is marked."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


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
    """How high the lowest point of a robot is along a motion.

    Args:
        robot: whose links they are.
        q: positions (samples, joints) [rad or m].
        model: compiled; None: the robot's own, bare.

    Returns:
        The lowest points; None where nothing of the robot can touch.
    """
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
    known = [int(getattr(mujoco.mjtGeom, f"mjGEOM_{k}")) for k in SHAPES]
    moving = model.body_dofnum[model.body_weldid[model.geom_bodyid]] != 0
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    return np.flatnonzero(collides & moving & np.isin(model.geom_type, known))


SHAPES = ("SPHERE", "CAPSULE", "ELLIPSOID", "CYLINDER", "BOX", "MESH")


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
        local = scaled * size / np.linalg.norm(scaled, axis=1, keepdims=True)
    elif kind == kinds.mjGEOM_CYLINDER:
        flat = down[:, :2] / np.maximum(np.linalg.norm(down[:, :2], axis=1, keepdims=True), 1e-12)
        local = np.column_stack([size[0] * flat, np.sign(down[:, 2]) * size[1]])
    else:
        mesh = int(model.geom_dataid[g])
        begin, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
        corners = np.asarray(model.mesh_vert[begin : begin + count], float)
        local = corners[np.argmax(down @ corners.T, axis=1)]
    return x + np.einsum("kij,kj->ki", R, local)


SHORTEST = 0.5
"""Time of touching from which on a plane is believed [s]."""
FLAT = 0.12
"""Scatter of the touching points about a plane, as a share of the heights that the robot's lowest point
passes, up to which it is one: torques that a poor model leaves lie at any height."""
OFTEN = 0.15
"""Share of the moments at or below a plane in which something pushes, at least: what leans lightly is held by
friction."""
RARE, NEVER = 0.05, 0.01
"""The same where pushes well above it are next to none, of the share on it: a table that is known to some
millimetres is passed without a touch too."""
SELDOM = 0.1
"""Share of the moments well above it in which something pushes, at most, of the share on it."""
BELOW = 0.01
"""Share of all moments in which the lowest point may be well below it."""
STEEPEST = 0.2
"""Slope up to which a table is one."""
BETTER = 0.4
"""Scatter about a sloping plane, as a share of that about a level one, from which on a slope is believed."""
FEW = 3
"""Separate touches from which on their heights tell how well the plane is known."""
MANY = 6
"""Separate touches from which on they tell a slope."""
BENDING = 1e-3
"""Least error of a plane [m]: links bend."""


def ground_of(
    clearances: Sequence[Clearance], felt: Sequence[Pushes], clocks: Sequence[np.ndarray]
) -> tuple[Ground | None, str]:
    """The plane on which the points lie at which the robot was pushed.

    Args:
        clearances: lowest points, one of each recording.
        felt: what pushed there.
        clocks: sample times [s].

    Returns:
        (the ground, ""); (None, why) where the points lie on no plane, nothing pushed, or it was pushed
        elsewhere as well.
    """
    points = np.concatenate([c.point for c in clearances])
    pushed = np.concatenate([p.sure > SIGNIFICANT for p in felt])
    step = float(np.median(np.concatenate([np.diff(t) for t in clocks])))
    least = max(SHORTEST / step, 8)
    if pushed.sum() < least:
        return None, f"pushes are felt for {pushed.sum() * step:.2g} s in all, and {SHORTEST:g} s are needed"
    where, n_touches = _touches(felt, points, round(least))
    span = float(np.ptp(np.percentile(points[:, 2], [0.1, 99.9])))
    width, slopes = FLAT * span, np.zeros(2)
    height, scatter = _level(where[:, 2], width)
    tilted = _fit_slope(where[np.abs(where[:, 2] - height) <= width])
    if tilted is not None and n_touches >= MANY and tilted[2] < BETTER * scatter:
        height, slopes, scatter = tilted
    scatter = max(scatter, _scatter_of(where, height, slopes, width), BENDING)
    scatter = scatter if n_touches >= FEW else max(scatter, 0.5 * NEAR)
    ground = Ground(height=height, x_slope=float(slopes[0]), y_slope=float(slopes[1]), error=scatter)
    if scatter > width:
        seen = f"{1e3 * where[:, 2].min():.0f} to {1e3 * where[:, 2].max():.0f} mm"
        return None, f"its {n_touches} touches lie at {seen}: no plane has them within {1e3 * width:.0f} mm"
    gap = points[:, 2] - ground.under(points)
    why = _doubt(gap, pushed, scatter, least, 0.5 * width)
    return (None, f"a plane at {1e3 * height:.0f} mm is not believed: {why}") if why else (ground, "")


def _doubt(gap: np.ndarray, pushed: np.ndarray, scatter: float, least: float, deep: float) -> str:
    """Why a plane is none: something pushes on it too seldom, or elsewhere as well, by the gaps above it [m];
    empty where it is one."""
    on, above, below = gap < 0.0, gap > 4.0 * scatter, gap < -6.0 * scatter - deep
    close = np.abs(gap) < 3.0 * scatter
    if (pushed & close).sum() < least:
        return f"only {(pushed & close).sum()} samples are pushed near it"
    if below.mean() > BELOW:
        return f"the robot is well below it {100 * below.mean():.0f} % of the time"
    often = float(pushed[on].mean()) if on.any() else 0.0
    elsewhere = float(pushed[above].mean()) if above.any() else 0.0
    if elsewhere > SELDOM * often or (often < OFTEN and elsewhere > NEVER * often) or often < RARE:
        return (
            f"the robot is pushed {100 * often:.1f} % of the time that it is there, and"
            f" {100 * elsewhere:.2f} % well above it"
        )
    return ""


def _touches(felt: Sequence[Pushes], points: np.ndarray, most: int) -> tuple[np.ndarray, int]:
    """(points of touches, how many there are): of one that lasts, so many at most, spread over it."""
    places, begin = [], 0
    for p in felt:
        for a, b in stretches(p.sure > SIGNIFICANT):
            places.append(
                points[begin + np.unique(np.linspace(a, b - 1, min(b - a, most)).round().astype(int))]
            )
        begin += len(p.sure)
    return np.concatenate(places), len(places)


def _scatter_of(where: np.ndarray, height: float, slopes: np.ndarray, width: float) -> float:
    """Scatter of the heights of touches about the plane."""
    gap = where[:, 2] - height - where[:, :2] @ slopes
    near = gap[np.abs(gap) < width]
    return 1.4826 * float(np.median(np.abs(near))) if len(near) else 0.0


def _level(z: np.ndarray, width: float) -> tuple[float, float]:
    """(height, scatter) of the heights within the band of this half width that holds most of them."""
    ordered = np.sort(z)
    ends = np.searchsorted(ordered, ordered + 2.0 * width, side="right")
    first = int(np.argmax(ends - np.arange(len(z))))
    height = float(np.median(ordered[first : ends[first]]))
    for _ in range(5):
        near = np.abs(z - height) <= width
        height = float(np.median(z[near]))
    near = np.abs(z - height) <= width
    return height, 1.4826 * float(np.median(np.abs(z[near] - height)))


def _fit_slope(points: np.ndarray) -> tuple[float, np.ndarray, float] | None:
    """(height, slopes, scatter) of a sloping plane through points, by iterated weights; None where they do
    not spread enough, or it is too steep."""
    spread = np.std(points[:, :2], axis=0)
    if len(points) < 30 or float(np.max(spread)) < 1e-3:
        return None
    A = np.column_stack([np.ones(len(points)), points[:, :2]])
    weight = np.ones(len(points))
    plane, scatter = np.zeros(3), np.inf
    for _ in range(20):
        # slopes across a direction that the points do not reach into stay next to nothing
        ridge = np.diag([0.0, 1.0, 1.0]) * 1e-6 * weight.sum()
        plane = np.linalg.solve((A * weight[:, None]).T @ A + ridge, (A * weight[:, None]).T @ points[:, 2])
        left = np.abs(points[:, 2] - A @ plane)
        scatter = 1.4826 * float(np.median(left))
        weight = np.minimum(1.0, 1.5 * max(scatter, 1e-6) / np.maximum(left, 1e-9))
    if float(np.hypot(*plane[1:])) > STEEPEST:
        return None
    return float(plane[0]), plane[1:], scatter
