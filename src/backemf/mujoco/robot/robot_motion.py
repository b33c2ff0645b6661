"""Position, velocity and acceleration of all joints along a recording, smoothed as far as its noise and rate
allow; and what each joint carries along it: its inertia and the load from everything else.

The equation of motion of joint i is M_ii a_i = motor + load, where load = M_ii a_i - tau_i and tau_i is what
the joint's actuator must give for the whole recorded motion (the inverse dynamics, without armature, damping
and friction: those are the actuator's). Gravity, the other joints' accelerations and Coriolis terms are all
in the load. Of a robot that stands still but for one joint: what that joint carries, and how far it may go
before something touches.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidValue, MissingValue, SignalError, UnknownName
from ...logs.log import Log, Signal, has_positions, noise_of
from ...logs.robot import Ground, Robot
from ...physics.bench import GRAVITY, Bench, Flywheel, Pendulum, Recorded
from ..arrays import load_mujoco
from ..xml import check_text

WINDOWS = (5, 7, 9, 11, 13, 17, 21, 27, 35, 45)
"""Samples that a cubic is laid through."""
LONGEST = 0.2
"""Longest window [s]: a joint may turn about within it."""
GAP = 2.5
"""Steps from which on two samples are not neighbours."""
UNEVEN = 0.1
"""Share of a step by which steps may differ and still be even."""


@dataclass(frozen=True, kw_only=True)
class RobotMotion:
    """All joints of a robot on one clock, in the robot's order."""

    time: np.ndarray
    position: np.ndarray
    """(samples, joints), smoothed."""
    velocity: np.ndarray
    acceleration: np.ndarray
    recorded: np.ndarray
    """(samples, joints), as measured; NaN where it was not."""
    window: int
    """Samples that each value was smoothed over."""
    noise: np.ndarray
    """Standard deviation of the noise of each joint's position."""


def motion_of(robot: Robot, log: Log) -> RobotMotion:
    """The motion of a log; joints that were not recorded rest in the middle of their range."""
    if not has_positions(log):
        raise MissingValue(f"{log.name} has no positions; only fit.predict does without: record them")
    t = log.time
    if len(t) < WINDOWS[0] + 2:
        raise MissingValue(
            f"{log.name} has {len(t)} samples; its motion is smoothed over {WINDOWS[0]} at least: record"
            " longer"
        )
    recorded = np.stack([_recorded_position(robot, log, name, t) for name in robot.names], axis=1)
    noise = np.array([max(noise_of(q), 1e-6) for q in recorded.T])
    filled = np.stack([_fill_gaps(t, q) for q in recorded.T], axis=1)
    window = window_of(t, filled, noise)
    q, v, a = smooth(t, filled, window)
    return RobotMotion(
        time=t, position=q, velocity=v, acceleration=a, recorded=recorded, window=window, noise=noise
    )


def part_of(motion: RobotMotion, cut: slice) -> RobotMotion:
    """Some of its samples."""
    arrays = ("time", "position", "velocity", "acceleration", "recorded")
    return replace(motion, **{name: getattr(motion, name)[cut] for name in arrays})


def restarts_every(t: np.ndarray, seconds: float) -> list[int]:
    """Samples at which a prediction over stretches begins anew; none for 0 seconds.

    Args:
        t: sample times [s].
        seconds: length of a stretch.

    Returns:
        Their places, the first sample apart.
    """
    n = max(2, round(seconds / float(np.median(np.diff(t))))) if seconds else len(t)
    return list(range(n, len(t) - 2, n))


def _recorded_position(robot: Robot, log: Log, name: str, t: np.ndarray) -> np.ndarray:
    """A joint's position on the clock of all."""
    joint = robot.joint(name)
    if name not in log.joints or "position" not in log.joints[name]:
        return np.full(len(t), 0.5 * ((joint.low or 0.0) + (joint.high or 0.0)))
    signal = log.joints[name].signals["position"]
    if np.array_equal(signal.time, t):
        return signal.values
    good = np.isfinite(signal.values)
    return np.interp(t, signal.time[good], signal.values[good])


def _fill_gaps(t: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Straight lines across samples that are missing."""
    good = np.isfinite(q)
    if not good.any():
        raise SignalError("a joint's position is empty; leave the joint out, or record it")
    return q if good.all() else np.interp(t, t[good], q[good])


def window_of(t: np.ndarray, q: np.ndarray, noise: np.ndarray) -> int:
    """The window whose cubics, laid without a sample, come nearest to it: cross-validation, over the joints
    that move.

    Args:
        t: sample times [s].
        q: positions (samples, joints) [rad or m].
        noise: standard deviation of each joint's position.

    Returns:
        Samples of that window.
    """
    step = float(np.median(np.diff(t)))
    fitting = [n for n in WINDOWS if n * step <= LONGEST and n < len(t)] or [WINDOWS[0]]
    speed = np.abs(np.gradient(q, t, axis=0))
    moving = speed > np.maximum(np.percentile(speed, 50, axis=0), noise / step)
    judged = moving.sum(axis=0) > 50
    if not judged.any():
        return fitting[-1]

    def left_out(n: int) -> float:
        errors = (q - smooth(t, q, n)[0]) / (1.0 - _followed_share(n))
        squares = np.where(moving, errors**2, 0.0).sum(axis=0) / np.maximum(moving.sum(axis=0), 1)
        return float(np.sum(np.log(squares[judged])))

    return min(fitting, key=left_out)


def _followed_share(n: int) -> float:
    """Share of the noise that a cubic through n samples follows in their middle."""
    half = n // 2
    return 3 * (3 * half**2 + 3 * half - 1) / ((2 * half - 1) * (2 * half + 1) * (2 * half + 3))


def smooth(t: np.ndarray, q: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Smooth positions by cubics through n samples (Savitzky and Golay), never across a gap. Where steps are
    uneven, or a sample is missing, cubics are laid on an even clock and read at the samples.

    Args:
        t: sample times [s].
        q: positions (samples, joints) [rad or m].
        n: samples of a window, odd.

    Returns:
        Position, velocity and acceleration, each (samples, joints).
    """
    from scipy.interpolate import CubicSpline
    from scipy.signal import savgol_filter

    step = float(np.median(np.diff(t)))
    ends = [0, *(np.flatnonzero(np.diff(t) > GAP * step) + 1), len(t)]
    out = np.empty((3, *q.shape))
    for begin, end in itertools.pairwise(ends):
        part = q[begin:end]
        window = min(n, len(part) if len(part) % 2 else len(part) - 1)
        if window < 5:
            out[0, begin:end], out[1:, begin:end] = part, 0.0
            continue
        mine, h = t[begin:end], float(np.median(np.diff(t[begin:end])))
        even = None
        if np.ptp(np.diff(mine)) > UNEVEN * h:
            even = np.linspace(mine[0], mine[-1], max(round((mine[-1] - mine[0]) / h) + 1, len(mine)))
            part, h = CubicSpline(mine, part)(even), even[1] - even[0]
        for k in range(3):
            row = savgol_filter(part, window, 3, deriv=k, delta=h, axis=0)
            out[k, begin:end] = row if even is None else CubicSpline(even, row)(mine)
    return out[0], out[1], out[2]


@dataclass(frozen=True, kw_only=True)
class JointLoads:
    """Along a motion, by joint in the robot's order."""

    inertia: np.ndarray
    """(samples, joints) [kg m^2]."""
    load: np.ndarray
    """(samples, joints): torque on the joint from all but its own acceleration and its actuator [N m]."""
    torque: np.ndarray
    """(samples, joints): what the actuator must give, its own inertia apart [N m]."""


@functools.lru_cache(maxsize=16)
def _compile_text(text: str, ground: Ground | None) -> Any:
    return add_ground(load_mujoco().MjSpec.from_string(check_text(text)), ground).compile()


def add_ground(spec: Any, ground: Ground | None) -> Any:
    """A model's description with a table or floor in it, where there is one."""
    if ground is not None:
        plane = load_mujoco().mjtGeom.mjGEOM_PLANE
        spec.worldbody.add_geom(name="found_ground", type=plane, **ground_geom(ground))
    return spec


def ground_geom(ground: Ground) -> dict[str, Any]:
    """Attributes of the plane that a table or floor is in MuJoCo; its contact settings win over those of what
    touches it."""
    return {
        "size": [0.0, 0.0, 1.0],
        "pos": [0.0, 0.0, ground.height],
        "quat": ground.turned,
        "priority": 100,
        "condim": 3,
        "friction": [ground.friction, 0.005, 0.0001],
    }


def describe_model(robot: Robot) -> Any:
    """The robot as its model describes it."""
    return copy.copy(_compile_text(robot.model, None))


def bare_model(robot: Robot, ground: Ground | None = None) -> Any:
    """The robot without anything that is its actuators': armature, damping, friction, springs. What moves
    touches the ground and what stands still, not itself; without either, nothing touches."""
    mujoco = load_mujoco()
    model = copy.copy(_compile_text(robot.model, ground))
    alone_with(model, {})
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    return model


def alone_with(model: Any, driven: Mapping[str, int]) -> None:
    """Take away what drives, damps and springs any joint but these, which have actuators of ours, by their
    number. What moves touches the ground and what stands still, not itself; without either, nothing
    touches."""
    mujoco = load_mujoco()
    own = [int(model.joint(name).dofadr[0]) for name in driven]
    others = np.setdiff1d(np.arange(model.nv), own)
    for numbers in (model.dof_armature, model.dof_damping, model.dof_frictionloss):
        numbers[others] = 0
    model.jnt_stiffness[:] = 0
    idle = np.setdiff1d(np.arange(len(model.actuator_gainprm)), [*driven.values()])
    model.actuator_gainprm[idle] = model.actuator_biasprm[idle] = 0
    still = model.body_weldid[model.geom_bodyid] == 0
    touches = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    model.geom_contype[:], model.geom_conaffinity[:] = touches & ~still, touches & still
    if not (touches & still).any():
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)


def places(robot: Robot, model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where the joints' positions and velocities stand in MuJoCo's arrays."""
    ids = [model.joint(name).id for name in robot.names]
    return model.jnt_qposadr[ids].astype(int), model.jnt_dofadr[ids].astype(int)


def joint_loads(robot: Robot, motion: RobotMotion, model: Any = None) -> JointLoads:
    """Inertia and load along a motion.

    Args:
        robot: its links and joints.
        motion: of all joints.
        model: compiled; None: the robot's own, bare.

    Returns:
        Both at every sample, for each joint.
    """
    mujoco = load_mujoco()
    model = bare_model(robot) if model is None else model
    data = mujoco.MjData(model)
    mujoco.mj_resetData(model, data)
    at_q, at_v = places(robot, model)
    n = len(motion.time)
    inertia, torque = np.empty((n, len(at_v))), np.empty((n, len(at_v)))
    tau, column = np.zeros(model.nv), np.empty((model.nv, model.nv))
    q, v, a = motion.position, motion.velocity, motion.acceleration
    stages = (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_crb, mujoco.mj_comVel)
    diagonal = _diagonal(model, at_v)
    for k in range(n):
        data.qpos[at_q], data.qvel[at_v], data.qacc[at_v] = q[k], v[k], a[k]
        for stage in stages:
            stage(model, data)
        mujoco.mj_rne(model, data, 1, tau)
        inertia[k] = diagonal(data, column)
        torque[k] = tau[at_v]
    return JointLoads(inertia=inertia, load=inertia * a - torque, torque=torque)


def _diagonal(model: Any, at_v: np.ndarray) -> Any:
    """Gives the mass matrix's diagonal."""
    mujoco = load_mujoco()

    def diagonal(data: Any, full: np.ndarray) -> np.ndarray:
        mujoco.mj_fullM(model, data, full)
        return np.diag(full)[at_v]

    return diagonal


SECONDS = 5.0
"""Of each recording that goes into an excerpt [s]: enough for a few reversals of every joint."""


def joint_log(
    log: Log,
    robot: Robot,
    name: str,
    motion: RobotMotion,
    along: JointLoads,
    *,
    kept: np.ndarray | None = None,
    settings: Mapping[str, float] | None = None,
) -> Log:
    """The recording of one joint, with the inertia and load that the others make.

    Args:
        log: the recording of all.
        robot: whose joint it is.
        name: of the joint.
        motion: of all joints along the log.
        along: inertia and load along it.
        kept: True for samples of its position that count; None: all.
        settings: parameters that were set for it, by path, over those of the log.

    Returns:
        A log of that joint alone, on a `Recorded` bench.
    """
    j, given, t = robot.place(name), log.joints[name], motion.time
    seen = np.isfinite(motion.recorded[:, j]) & (True if kept is None else kept)
    signals = {n: s for n, s in given.signals.items() if n.endswith("_target") or n in ("enabled", "supply")}
    signals["position"] = Signal(time=t[seen], values=motion.recorded[seen, j])
    signals["inertia"] = Signal(time=t, values=between(along.inertia[:, j]))
    signals["load"] = Signal(time=t, values=between(along.load[:, j]))
    return replace(
        given,
        name=f"{log.name}/{name}",
        signals=signals,
        bench=Recorded(),
        settings={**given.settings, **(settings or {})},
    )


def between(x: np.ndarray) -> np.ndarray:
    """What holds from each sample to the next: the mean of both, or a load would come half a sample late."""
    return np.append(0.5 * (x[1:] + x[:-1]), x[-1])


def excerpts(
    robot: Robot, logs: Sequence[Log], names: Sequence[str], seconds: float = SECONDS
) -> dict[str, list[Log]]:
    """The middle of every recording as each joint met it.

    Args:
        robot: whose joints they are.
        logs: the recordings.
        names: joints that are wanted.
        seconds: length of the middle [s].

    Returns:
        Joint -> a log of it alone for each recording that has it.
    """
    found: dict[str, list[Log]] = {name: [] for name in names}
    for log in logs:
        middle = 0.5 * float(log.time[0] + log.time[-1])
        part = log.between(middle - 0.5 * seconds, middle + 0.5 * seconds)
        motion = motion_of(robot, part)
        along = joint_loads(robot, motion)
        for name in names:
            if name in part.joints:
                found[name].append(joint_log(part, robot, name, motion, along))
    return found


BALANCED = 1e-4
"""Torque of gravity up to which a joint counts as balanced [N m]."""


def posture_of(robot: Robot, given: Mapping[str, float]) -> dict[str, float]:
    """Where every joint stands: as given, otherwise at 0 or as near to it as its range allows."""
    for name in given:
        if name not in robot.names:
            raise UnknownName("joint", name, robot.names)
    stood = {}
    for joint in robot.joints:
        low, high = (
            -math.inf if joint.low is None else joint.low,
            math.inf if joint.high is None else joint.high,
        )
        q = float(given.get(joint.name, min(max(0.0, low), high)))
        if not low <= q <= high:
            raise InvalidValue(f"{joint.name} stands at {q:g}; its range is {low:g} to {high:g}")
        stood[joint.name] = q
    return stood


def static_loads(robot: Robot, postures: np.ndarray) -> np.ndarray:
    """What every joint's actuator must give to hold postures.

    Args:
        robot: its links and joints.
        postures: (n, joints), in the robot's order [rad or m].

    Returns:
        (n, joints) [N m or N].
    """
    return joint_loads(robot, _standing(postures)).torque


def _standing(postures: np.ndarray) -> RobotMotion:
    """Postures as a motion that stands still in each."""
    still, t = np.zeros_like(postures), np.arange(float(len(postures)))
    return RobotMotion(
        time=t,
        position=postures,
        velocity=still,
        acceleration=still,
        recorded=postures,
        window=1,
        noise=still[0],
    )


def joint_bench(robot: Robot, joint: str, posture: Mapping[str, float]) -> Bench:
    """What a joint carries while the others stand still: I q'' = -A sin(q - q_h), which a point mass of
    m = A^2 / (g^2 I) at l = g I / A has too.

    Args:
        robot: its links and joints.
        joint: name of one that turns.
        posture: where every joint stands, by name [rad or m].

    Returns:
        A pendulum; a flywheel where gravity is balanced.

    Raises:
        InvalidValue: the joint is linear.
    """
    one = robot.joint(joint)
    if one.motion != "rotary":
        raise InvalidValue(f"{joint} is a linear joint; expected one that turns")
    place = robot.names.index(joint)
    q = np.tile([posture[name] for name in robot.names], (2, 1))
    q[:, place] = (0.0, 0.5 * math.pi)
    loads = joint_loads(robot, _standing(q))
    inertia = float(loads.inertia[0, place])
    # load = -A sin(q - q_h): A sin(q_h) at 0, -A cos(q_h) at a quarter turn
    s, c = float(loads.load[0, place]), -float(loads.load[1, place])
    A, hanging = math.hypot(s, c), math.atan2(s, c)
    if A < BALANCED:
        return Flywheel(inertia=inertia)
    length = GRAVITY * inertia / A
    return Pendulum(mass=A / (GRAVITY * length), length=length, hanging=hanging)


STEP = math.radians(0.5)
"""Between places that are looked at [rad]."""
AROUND = math.pi
"""How far is looked, either way, where a joint has no range [rad]."""
Pair = tuple[str, str]


class Room(NamedTuple):
    """Where a joint is free to go while the others stand still."""

    low: float | None
    high: float | None
    """Its range, or the last place before something touches; None where there is neither."""
    below: str
    above: str
    """What touches what beyond those ends; empty where nothing does."""
    already: tuple[Pair, ...]
    """Bodies that touch where everything stands: of these the model says nothing."""
    looked: bool
    """Whether anything of the model can touch at all."""


def room(robot: Robot, joint: str, posture: Mapping[str, float], table: float | None = None) -> Room:
    """How far a joint can go either way from where it stands, as the model's own shapes have it.

    Args:
        robot: its links and joints.
        joint: its name.
        posture: where every joint stands, by name [rad or m].
        table: height of a plane below, in the model's frame [m].

    Returns:
        The ends, and what touches what beyond them.
    """
    one, place, shapes = robot.joint(joint), robot.names.index(joint), _Shapes(robot, table)
    if not shapes.can_touch:
        return Room(one.low, one.high, "", "", (), False)
    stands = np.array([posture[name] for name in robot.names])

    def touch(angle: float) -> set[Pair]:
        stands[place] = angle
        return shapes.touching(stands)

    first = float(stands[place])
    already = touch(first)

    def free(end: float) -> tuple[float, str]:
        """(the last place on the way to an end at which nothing touches, what touches behind it)."""
        last = first
        n = max(math.ceil(abs(end - first) / STEP), 1)
        for angle in np.linspace(first, end, n + 1)[1:]:
            if met := touch(float(angle)) - already:
                return last, " touches ".join(min(met))
            last = float(angle)
        return last, ""

    low, below = free(first - AROUND if one.low is None else one.low)
    high, above = free(first + AROUND if one.high is None else one.high)
    return Room(
        low if below else one.low, high if above else one.high, below, above, tuple(sorted(already)), True
    )


class _Shapes:
    """A robot's links, and a table where there is one: which of them touch in a posture, or come as near as
    `clear` [m]."""

    def __init__(self, robot: Robot, table: float | None = None, clear: float = 0.0):
        mujoco = load_mujoco()
        self.model = copy.copy(_compile_text(robot.model, None if table is None else Ground(height=table)))
        self.data, (self._at, _) = mujoco.MjData(self.model), places(robot, self.model)
        collides = (self.model.geom_contype != 0) | (self.model.geom_conaffinity != 0)
        off = self.model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self.can_touch = bool(not off and collides.any())
        self.model.geom_margin[:] = np.maximum(self.model.geom_margin, clear)
        self._near = clear

    def touching(self, posture: np.ndarray) -> set[Pair]:
        """Bodies that touch where the joints, in the robot's order, stand so [rad or m]."""
        self.data.qpos[self._at] = posture
        load_mujoco().mj_fwdPosition(self.model, self.data)
        return {_body_pair(self.model, contact) for contact in self.data.contact if contact.dist < self._near}


class Touch(NamedTuple):
    """The first posture of several in which something touches that did not at the beginning."""

    place: int
    words: str


def first_touch(
    robot: Robot, postures: np.ndarray, table: float | None = None, clear: float = 0.0
) -> Touch | None:
    """Where a way through postures first touches something, as the model's own shapes have it.

    Args:
        robot: its links and joints.
        postures: one after the other, in the robot's order of joints [rad or m].
        table: height of a plane below, in the model's frame [m].
        clear: what comes as near as this counts as a touch [m].

    Returns:
        The first touch; None where there is none, or nothing of the model can touch.
    """
    shapes = _Shapes(robot, table, clear)
    if not shapes.can_touch:
        return None
    already = shapes.touching(postures[0])
    for k, posture in enumerate(postures):
        if met := shapes.touching(posture) - already:
            return Touch(k, " touches ".join(min(met)).replace("the world", "what stands still"))
    return None


def _body_pair(model: Any, contact: Any) -> Pair:
    """The two bodies of a contact, the same way round each time."""
    names = [model.body(int(model.geom_bodyid[g])).name or "the world" for g in contact.geom]
    names = ["the world" if name == "world" else name for name in names]
    a, b = sorted(names, key=lambda name: (name == "the world", name))
    return a, b
