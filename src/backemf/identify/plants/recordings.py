"""Recordings of a robot as recordings of single joints: each with the inertia and load that the others make,
without the samples in which the robot touched something; and the ground as these recordings feel it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ...logs.log import Log, StartState
from ...logs.robot import Ground, Robot
from ...mujoco.robot import robot_motion as alone
from ...mujoco.robot.contact import (
    Clearance,
    Pushes,
    clearance,
    from_outside,
    ground_of,
    pushes,
    scatter_of,
    stretches,
    touching_samples,
)
from ...mujoco.robot.joint_simulation import simulate_joints
from ...mujoco.robot.robot_motion import (
    JointLoads,
    RobotMotion,
    joint_loads,
    motion_of,
    part_of,
    restarts_every,
)
from ...physics.actuator import Actuator
from ..problem import Problem, states_at
from .plant import Optimum

if TYPE_CHECKING:
    from .robot_plant import RobotPlant


@dataclass(frozen=True, kw_only=True)
class RobotRecording:
    """One recording of a robot, and what its joints carried along it."""

    log: Log
    motion: RobotMotion
    carried: JointLoads
    clearance: Clearance | None
    touched: np.ndarray = field(repr=False)
    """Samples in which it touched something."""

    def demands(self, robot: Robot, joints: Iterable[str]) -> dict[str, dict[str, float]]:
        """Torque and speed that the motion of recorded joints asks for, but for one sample in fifty."""
        of = {"torque": self.carried.torque, "speed": self.motion.velocity}
        most = {kind: np.percentile(np.abs(values), 98, axis=0) for kind, values in of.items()}
        places = {joint: robot.place(joint) for joint in joints if joint in self.log.joints}
        return {joint: {kind: float(row[k]) for kind, row in most.items()} for joint, k in places.items()}


def recording_of(robot: Robot, log: Log) -> RobotRecording:
    """A robot's log with what its joints carry along it, before contact is looked for."""
    motion = motion_of(robot, log)
    return RobotRecording(
        log=log,
        motion=motion,
        carried=joint_loads(robot, motion),
        clearance=clearance(robot, motion.position),
        touched=np.zeros(len(motion.time), bool),
    )


SETTLES, ASKED, MOVES = 0.5, 1e-4, 0.1
"""A joint is held where nothing else was asked of it for so long [s], by no more than so much from sample to
sample [rad or m], while another one moves faster than this [rad/s or m/s]."""


def held_samples(recording: RobotRecording, place: int, joint: str) -> np.ndarray:
    """Where others move a joint that is asked to stay, untouched: there its stiffness shows, of firmware and
    gears together.

    Args:
        recording: of the robot.
        place: of the joint among the robot's.
        joint: its name.

    Returns:
        Whether it is, by sample.
    """
    t, signals = recording.motion.time, recording.log.joints[joint].signals
    if "position_target" not in signals:
        return np.zeros(len(t), bool)
    asked = signals["position_target"].hold_at(t)
    since = np.where(np.abs(np.diff(asked, prepend=np.nan)) <= ASKED, t[0], t)
    still = t - np.maximum.accumulate(since) > SETTLES
    others = np.abs(np.delete(recording.motion.velocity, place, axis=1))
    return still & np.any(others > MOVES, axis=1) & ~recording.touched


def first_part(recording: RobotRecording, seconds: float) -> RobotRecording:
    """The first seconds of a recording."""
    t = recording.motion.time
    n = int(np.searchsorted(t, t[0] + seconds, side="right"))
    if n >= len(t):
        return recording
    cut = slice(0, n)
    arrays = ("inertia", "load", "torque")
    return replace(
        recording,
        log=recording.log.between(float(t[0]), float(t[n - 1])),
        motion=part_of(recording.motion, cut),
        carried=replace(
            recording.carried, **{name: getattr(recording.carried, name)[cut] for name in arrays}
        ),
        clearance=None,
        touched=recording.touched[cut],
    )


STRETCH = 0.3
"""Seconds over which joints that are driven by torque are predicted from the recorded state: with nothing
that holds them, any error of a torque grows with the square of time."""


def shoot(p: Problem, robot: Robot, recordings: Sequence[RobotRecording], seconds: float) -> Problem:
    """The same problem with every joint put where it was recorded again and again.

    Args:
        p: all joints in all recordings.
        robot: whose joints they are.
        recordings: that the logs are cut from.
        seconds: length of a stretch.

    Returns:
        The problem; what is predicted at such a sample does not count.
    """
    motions, logs = {recording.log.name: recording.motion for recording in recordings}, []
    for one in p.logs:
        motion, j = motions[one.recording], robot.place(one.joint)
        t = one.log.time
        known = {start.sample for start in one.stretches}
        places = [k for k in restarts_every(t, seconds) if int(one.samples[k]) not in known]
        q, v = (np.interp(t[places], motion.time, x[:, j]) for x in (motion.position, motion.velocity))
        rows = zip(one.samples[places].tolist(), q.tolist(), v.tolist(), strict=True)
        stretches = sorted([*one.stretches, *(StartState(*row, 0.0, 0.0) for row in rows)])
        measured, inputs = one.measured.copy(), dict(zip(p.system.inputs, one.inputs.T, strict=True))
        measured[one.samples[places]] = np.nan
        log, actuator = one.log.refine()[0], p.starts[one.joint]
        starts = [states_at(actuator, one.bench, log, inputs, start) for start in stretches]
        logs.append(one._replace(stretches=stretches, starts=starts, measured=measured))
    return replace(p, logs=logs)


BEFORE_DEMAND, AFTER_DEMAND = 1.0, 3.0
"""Time that is left out before and behind a command that asks for too much [s]: the joint is still on its
way."""
ROUNDED = 1.1
"""Factor by which the counts of a command may make it seem to ask for more."""


def demanding(recording: RobotRecording, name: str, most: float | None) -> np.ndarray:
    """Samples around commands that jump or turn faster than a firmware's profile lets them.

    Args:
        recording: of the robot.
        name: of the joint.
        most: acceleration of that profile [rad/s^2]; None: there is none.

    Returns:
        True for each such sample.
    """
    t, target = recording.motion.time, recording.log.joints[name].signals.get("position_target")
    if most is None or target is None or len(t) < 5:
        return np.zeros(len(t), bool)
    h = float(np.median(np.diff(t)))
    asked = np.pad(np.abs(np.diff(target.hold_at(t), 2)) / h**2, 1)
    beyond = np.convolve(asked, np.full(3, 1.0 / 3.0), "same") > ROUNDED * most
    counts = np.concatenate([[0], np.cumsum(beyond)])
    first = np.searchsorted(t, t - AFTER_DEMAND)
    return counts[np.searchsorted(t, t + BEFORE_DEMAND)] > counts[first]


def joint_log(
    recording: RobotRecording,
    robot: Robot,
    name: str,
    settings: Mapping[str, float],
    left_out: np.ndarray | None = None,
) -> Log:
    """The recording of one joint, on a bench that is all the others.

    Args:
        recording: of the robot.
        robot: its model.
        name: of the joint.
        settings: of its actuator, by path.
        left_out: samples that do not count, besides those in contact.

    Returns:
        The log, without these samples.
    """
    return alone.joint_log(
        recording.log,
        robot,
        name,
        recording.motion,
        recording.carried,
        kept=~recording.touched if left_out is None else ~(recording.touched | left_out),
        settings=settings,
    )


def with_contact(
    robot: Robot,
    recordings: Sequence[RobotRecording],
    actuators: Mapping[str, Actuator],
    delays: Mapping[str, float],
    ground: Ground | None,
) -> tuple[list[RobotRecording], Ground | None, list[Pushes]]:
    """Find where the robot touched something: where torques come from outside and it is low.

    Args:
        robot: its model.
        recordings: of it, looked at together.
        actuators: by joint, as far as they are known.
        delays: by joint, the moment at which commands count [s].
        ground: where somebody stated one; otherwise it is looked for.

    Returns:
        (recordings with the samples in contact marked, the ground if any, how hard each was pushed); as they
        were where the model has nothing to touch with.
    """
    there = [recording.clearance for recording in recordings if recording.clearance is not None]
    if len(there) < len(recordings) or not recordings:
        return list(recordings), ground, []
    outside = [
        from_outside(robot, actuators, delays, recording.log, recording.motion, recording.carried)
        for recording in recordings
    ]
    scatter = scatter_of(outside)
    clocks = [recording.motion.time for recording in recordings]
    felt = [pushes(o, scatter, c, t) for o, c, t in zip(outside, there, clocks, strict=True)]
    if ground is None:
        ground, _ = ground_of(there, felt, clocks)
    marked = []
    for recording, c, p in zip(recordings, there, felt, strict=True):
        marked.append(replace(recording, touched=touching_samples(c, p, ground, recording.motion.time)))
    return marked, ground, felt


def why_no_ground(
    robot: Robot,
    recordings: Sequence[RobotRecording],
    actuators: Mapping[str, Actuator],
    delays: Mapping[str, float],
) -> str:
    """Why no plane was found under a robot that touches something, with its numbers.

    Args:
        robot: its model.
        recordings: of it, looked at together.
        actuators: by joint.
        delays: by joint, the moment at which commands count [s].

    Returns:
        The reason; empty where there is a plane.
    """
    _, _, felt = with_contact(robot, recordings, actuators, delays, None)
    there = [one.clearance for one in recordings if one.clearance is not None]
    if not felt:
        return "nothing in its model can touch"
    return ground_of(there, felt, [one.motion.time for one in recordings])[1]


BEFORE, AFTER = 0.6, 1.0
"""Time that is simulated before and after a contact [s]."""
LONGEST = 20.0
"""Seconds around contacts that are simulated at most for each candidate."""
FRICTIONS = (0.03, 0.06, 0.12, 0.25, 0.5)
"""Coefficients of friction that are tried, while they help."""
HEIGHTS = (0.5, 0.25)
"""Changes of the height that are tried, in its errors; the next where one does not help."""
STEP = 7e-3
"""Longest step of these simulations [s]."""


def windows(recordings: Sequence[RobotRecording]) -> list[tuple[Log, RobotMotion, np.ndarray]]:
    """(recording, motion, samples in contact) of the moments around contacts: of all recordings alike, as
    many as there is time for."""
    each = [list(_spans(recording)) for recording in recordings]
    found, spent = [], 0.0
    for round_ in range(max(map(len, each), default=0)):
        for recording, spans in zip(recordings, each, strict=True):
            if round_ >= len(spans) or spent > LONGEST:
                continue
            a, b = spans[round_]
            t, cut = recording.motion.time, slice(a, b)
            log = recording.log.between(float(t[a]), float(t[b - 1]))
            found.append((log, part_of(recording.motion, cut), recording.touched[cut]))
            spent += float(t[b - 1] - t[a])
    return found


def _spans(recording: RobotRecording) -> Iterator[tuple[int, int]]:
    """(first, behind the last) sample of what is simulated around each contact; those that are near each
    other together."""
    t = recording.motion.time
    step = float(np.median(np.diff(t)))
    before, after = round(BEFORE / step), round(AFTER / step)
    open_: list[int] = []
    for a, b in stretches(recording.touched):
        begin, end = max(a - before, 0), min(b + after, len(t))
        if open_ and begin < open_[1]:
            open_[1] = end
            continue
        if open_:
            yield open_[0], open_[1]
        open_ = [begin, end]
    if open_:
        yield open_[0], open_[1]


def refine_ground(s: Optimum[RobotPlant]) -> Optimum[RobotPlant]:
    """The same with the height and friction of the ground that leave the least error around its contacts; or
    without it, where that leaves less."""
    plant, first = s.plant, s.plant.ground
    if first is None or not first.error:
        return s
    robot, acts, delays = plant.robot, s.actuators, s.delays
    parts = windows(plant.recordings)
    places = [robot.place(name) for name in acts]
    if not parts:
        return s

    def misfit(ground: Ground | None) -> float:
        """Minus the logarithm of the likelihood, with a scatter of its own for each joint: what slides is
        told by joints that the ground does not push upwards. Friction keeps what a contact did, so that the
        moments behind one count too."""
        total, count = np.full(len(places), 1e-12), 0
        for log, motion, in_contact in parts:
            q = simulate_joints(robot, acts, log, delays=delays, ground=ground, motion=motion, step=STEP)
            error = (q - motion.recorded)[int(np.argmax(in_contact)) :, places]
            total += np.sum(np.minimum(np.nan_to_num(error**2, nan=1.0), 1.0), axis=0)
            count += len(error)
        return float(np.sum(np.log(total / max(count, 1))))

    best = (misfit(first), first)
    for change in HEIGHTS:
        for sign in (1.0, -1.0):
            tried = replace(best[1], height=best[1].height + sign * change * best[1].error)
            cost = misfit(tried)
            if cost < best[0]:
                best = (cost, tried)
                break
    for friction in FRICTIONS:
        tried = replace(best[1], friction=friction)
        cost = misfit(tried)
        if cost >= best[0]:
            break
        best = (cost, tried)
    kept = best[1] if best[0] < misfit(None) else None
    return replace(s, plant=replace(plant, ground=kept))
