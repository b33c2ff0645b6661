"""`plan` of a whole robot: every joint in turn, in a posture in which gravity loads it, then all together.

A joint's motions are chosen on the bench that it is while the others stand still, and played one after the
other in few recordings, since every recording begins and ends where the robot stood. Nothing is let go: a
joint without torque would fall.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..datasheets.datasheet import Datasheet
from ..errors import InvalidValue
from ..findings import Finding, finding
from ..identify.parameters import FreeParameters, Parameter, default_paths, priors
from ..identify.plants.robot_plant import ALIKE, lossless
from ..identify.problem import with_inertia_for
from ..identify.uncertainty import inverse
from ..logs.log import several
from ..logs.robot import Robot
from ..mujoco.robot.robot_motion import joint_bench, posture_of, room
from ..physics.actuator import Actuator
from ..results.fit_result import Fit
from .arm_paths import arm_problems
from .choose import Budget, MotionChoice, choose
from .family import extremes
from .motions import SETTLE, Motion, Motions, SafetyLimits, Track
from .outlook import Outlook, Sensing, outlook, sandwich
from .plan import (
    LEFT,
    N_DRAWS,
    ExpectedParameter,
    Plan,
    choice_of,
    expect,
    find_candidates,
    foresee,
    kind,
    known_precision,
    of_joint,
    wanted_places,
    with_planned_friction,
)
from .plan_options import PlanOptions, sheet_current
from .rehearsal import rehearse
from .stations import REACH, JointStation, RobotScene, by_name, find_station, together

SECONDS = 120.0
"""Of all motions together, unless told [s]."""
TOGETHER = 0.2
"""Share of the time in which all joints move at once."""
LONGEST_PART = 30.0
"""Of one recording [s]; what is more is another."""
KINDS = ("slow", "steps", "hold", "breakaway", "reversals")
"""What every joint does once, time allowing: slowly across its load, held there, and jumps both ways."""
INNER_SPEED, REST, JUMP = 1.0, 0.2, 1e-4
"""Of the ways from one motion to the next [rad/s], the rest before it [s], and how long a jump takes [s]."""
FINE = 0.01
"""Between the points of a command in words [s]."""


def join_motions(motions: Sequence[Motion], joint: str) -> list[tuple[float, float]]:
    """Motions of a joint one after the other, with ways between them, as points.

    Args:
        motions: each with a track of the joint.
        joint: its name.

    Returns:
        (time [s], position [rad]) of each point; lines join them.
    """
    points: list[tuple[float, float]] = []
    for motion in motions:
        own = list(_points(motion.tracks[joint], motion.duration))
        begin = 0.0
        if points:
            t, q = points[-1]
            begin = t + max(abs(own[0][1] - q) / INNER_SPEED, JUMP) + REST
            points.append((begin - REST, own[0][1]))
        points += [(begin + t, q) for t, q in own]
    return points


def _points(track: Track, duration: float) -> Iterator[tuple[float, float]]:
    """A track as points that lines join."""
    if track.command:
        times = np.arange(0.0, duration - JUMP, FINE)
        yield from zip(times.tolist(), track.at(times).tolist(), strict=True)
    else:
        last = track.positions[0]
        for t, q in zip(track.times, track.positions, strict=True):
            if track.between == "hold" and t > JUMP and q != last:
                yield t - JUMP, last
            yield t, q
            last = q
    if track.command or duration - track.times[-1] > JUMP:
        yield duration, float(track.at(np.array([duration]))[0])


def _track(points: Sequence[tuple[float, float]]) -> Track:
    times, positions = zip(*points, strict=True)
    return Track(times=tuple(round(t, 6) for t in times), positions=tuple(round(q, 6) for q in positions))


def _seam(motion: Motion, joint: str) -> float:
    """About how long the way from a motion to the next takes [s]."""
    first, *_, last = (q for _, q in _points(motion.tracks[joint], motion.duration))
    return abs(last - first) / INNER_SPEED + REST


@dataclass(kw_only=True)
class JointPlan:
    """A joint's part of the plan: its recordings, and what they tell of it."""

    station: JointStation
    look: Outlook
    """Over the recordings in which it moves."""
    before: np.ndarray
    """Precision of what is known already."""
    xs: list[np.ndarray] = field(repr=False)
    choice: MotionChoice = field(repr=False)
    motions: tuple[str, ...]
    """Names of those recordings."""
    after: bool = False
    """Whether an earlier fit says what is known."""

    def is_shared(self, place: int) -> bool:
        """Whether equal servos have a number in common, as a fit of robots has it."""
        return self.look.problem.free.names[place].startswith(("motor.", "gearbox.")) or (
            self.look.problem.free.names[place] == "drive.firmware_gain"
        )


def group_errors(parts: Sequence[JointPlan]) -> list[np.ndarray]:
    """Relative errors to expect of the numbers of joints with equal servos, fitted together: one motor,
    frictions that are alike.

    Args:
        parts: of these joints, all with the same numbers.

    Returns:
        For each joint, in the order of its numbers.
    """
    rows, places = _group_numbers(parts)
    before = FreeParameters(tuple(rows)).precision
    for part, mine in zip(parts, places, strict=True) if parts[0].after else ():
        new = [k for k in range(len(mine)) if places[0] is mine or not part.is_shared(k)]
        at = [mine[k] for k in new]
        before[at, :] = before[:, at] = 0.0
        before[np.ix_(at, at)] = inverse(inverse(part.before)[np.ix_(new, new)])
    squares: list[list[np.ndarray]] = [[] for _ in parts]
    for draw in range(len(parts[0].xs)):
        n = len(rows)
        sums = (np.zeros((n, n)), np.zeros((n, n)), np.zeros(n))
        for part, mine in zip(parts, places, strict=True):
            told = part.look.information(part.xs[draw])
            for total, more in zip(sums, told, strict=False):
                total[np.ix_(*[mine] * total.ndim)] += more.sum(axis=0)
        covariance = sandwich(before, *sums)
        for part, mine, some in zip(parts, places, squares, strict=True):
            some.append(part.look.relative(part.xs[draw], covariance[np.ix_(mine, mine)]) ** 2)
    return [np.sqrt(np.mean(some, axis=0) + LEFT**2) for some in squares]


def _group_numbers(parts: Sequence[JointPlan]) -> tuple[list[Parameter], list[list[int]]]:
    """(the numbers of all joints, shared ones once; where each joint's are among them)."""
    rows, places = list[Parameter](), list[list[int]]()
    for part in parts:
        mine = []
        for k, q in enumerate(part.look.problem.free.parameters):
            if part.is_shared(k) and places:
                mine.append(places[0][k])
                continue
            like = 0.0 if q.stated or q.signed is not None or part.is_shared(k) else ALIKE
            mine.append(len(rows))
            rows.append(replace(q, group=part.station.joint, alike=like, family="servo"))
        places.append(mine)
    return rows, places


def plan_robot(actuator: Actuator, robot: Robot, after: Fit | None, options: PlanOptions) -> Plan:
    """Design motions for every joint of a robot, and say what errors to expect of each.

    Args:
        actuator: the servo of every joint.
        robot: its model.
        after: a fit of earlier logs; its joints' actuators come before `actuator`.
        options: what one may ask.

    Returns:
        The motions, the most telling first, and the errors to expect of their logs.

    Raises:
        InvalidValue: a joint has no room to move, or nothing fits into the time.
    """
    scene = _scene(actuator, robot, after, options)
    options.say("postures", 0.0)
    postures = scene.draw(options.seed)
    n, stations = len(scene.joints), list[JointStation]()
    for k, joint in enumerate(scene.joints):
        options.say(f"a posture for {joint}", 0.15 * k / n)
        stations.append(find_station(scene, joint, postures))
    scene = _with_rotors(scene, stations)
    recordings, at_once = _all_recordings(scene, stations, postures, options)
    options.say("what the motions tell", 0.5)
    parts = [_joint_plan(scene, station, recordings, options, after) for station in stations]
    if wild := {name for part in parts for name in _beyond_limits(scene, part)}:
        recordings = [motion for motion in recordings if motion.name not in wild or motion not in at_once]
        parts = [_joint_plan(scene, station, recordings, options, after) for station in stations]
    ordered = [recordings[k] for k in order(parts, recordings)]
    return _assemble(scene, parts, ordered, options)


def _all_recordings(
    scene: RobotScene, stations: Sequence[JointStation], postures: np.ndarray, options: PlanOptions
) -> tuple[list[Motion], list[Motion]]:
    """(all recordings, those of them in which the joints move at once)."""
    seconds, n = options.seconds or SECONDS, len(stations)
    at_once = together(scene, postures, round(0.5 * TOGETHER * seconds, 3)) if n > 1 else []
    each = (seconds - sum(motion.duration for motion in at_once)) / n
    recordings: list[Motion] = []
    for k, station in enumerate(stations):
        options.say(f"motions of {station.joint}", 0.15 + 0.35 * k / n)
        recordings += _recordings(scene, station, each, options)
    return [*recordings, *at_once], at_once


def _scene(actuator: Actuator, robot: Robot, after: Fit | None, options: PlanOptions) -> RobotScene:
    """The robot where it stands, and who moves."""
    names, actuators = _wanted_joints(robot, options), dict[str, Actuator]()
    for name in names:
        one = actuator if after is None else of_joint(after, name).actuator
        actuators[name] = lossless(with_planned_friction(one, options.friction, fitted=after is not None))
    limits = options.limits or SafetyLimits()
    sheet = options.prior if isinstance(options.prior, Datasheet) else None
    amperes = None if sheet is None else sheet_current(sheet)
    if amperes is not None and limits.current is None:
        limits = replace(limits, currents=dict.fromkeys(names, amperes) | dict(limits.currents))
    stood = posture_of(robot, options.posture or {})
    home = np.array([stood[name] for name in robot.names])
    return RobotScene(
        robot=robot, joints=tuple(names), home=home, actuators=actuators, table=options.table, limits=limits
    )


def _wanted_joints(robot: Robot, options: PlanOptions) -> list[str]:
    """Those that were named, or all that turn but grippers."""
    words = [word.strip() for text in several(options.joints) for word in text.split(",")]
    usual = [joint.name for joint in robot.joints if not joint.tool and joint.motion == "rotary"]
    names = [robot.joint(word).name for word in words if word] or usual
    if not names:
        raise InvalidValue(f"{robot.name} has no joint that turns; expected one at least")
    return names


def _with_rotors(scene: RobotScene, stations: Sequence[JointStation]) -> RobotScene:
    """With one rotor inertia to start from where nobody says any: such servos move the heaviest joint too."""
    load = max(float(np.min(station.bench.inertia_at({}))) for station in stations)
    actuators = {
        joint: one if one.motor.rotor_inertia else with_inertia_for(one, load)
        for joint, one in scene.actuators.items()
    }
    return replace(scene, actuators=actuators)


def _look_keywords(actuator: Actuator, options: PlanOptions) -> dict[str, Any]:
    """Keywords of `outlook` for a joint of a robot: a fit of robots does not look at currents."""
    paths = default_paths(actuator)
    paths += ["drive.firmware_gain"] * ("drive.firmware_gain" in priors(actuator, options.prior))
    return {
        "sensing": replace(options.sensing or Sensing(), current=None),
        "prior": options.prior,
        "settings": dict(options.settings or {}),
        "rig": False,
        "tolerances": False,
        "free_paths": paths,
    }


def _recordings(
    scene: RobotScene, station: JointStation, seconds: float, options: PlanOptions
) -> list[Motion]:
    """The chosen motions of a joint, joined to recordings in which the others stand still."""
    joint, centre = station.joint, float(station.posture[scene.robot.place(station.joint)])
    limits = replace(
        scene.limits,
        position_low=centre - station.reach,
        position_high=centre + station.reach,
        current=scene.limits.current_of(joint),
    )
    actuator = scene.actuators[joint]
    look, feasible, heat = find_candidates(
        actuator, station.bench, limits, joint, coasts=False, **_look_keywords(actuator, options)
    )
    lasts = [look.motions[k].duration + _seam(look.motions[k], joint) for k in feasible]
    costs = np.vstack([lasts, heat.of[:, feasible]])
    budget = Budget(costs, np.array([seconds, *[heat.most] * len(heat.of)]))
    targets = wanted_places(look, several(options.target))
    choice = choice_of(
        look, feasible, look.draws(N_DRAWS, options.seed), look.problem.free.precision, targets
    )
    kinds = [kind(look.motions[k]) for k in feasible]
    first = [[i for i, name in enumerate(kinds) if name == wanted] for wanted in KINDS]
    picked = [look.motions[feasible[k]] for k in choose(choice, budget, first)]
    if not picked:
        raise InvalidValue(
            f"{seconds:.1f} s are left for {joint}, in which no motion fits; expected more seconds or fewer"
            " joints"
        )
    n = math.ceil(seconds / LONGEST_PART)
    still = {
        name: Track(times=(0.0,), positions=(round(float(station.posture[scene.robot.place(name)]), 6),))
        for name in scene.joints
        if name != joint
    }
    made = []
    for part in range(n):
        if mine := picked[part::n]:
            points = join_motions(mine, joint)
            tracks = {**still, joint: _track(points)}
            lasts = math.ceil(100.0 * points[-1][0]) / 100.0
            made.append(Motion(name=f"{joint}-{part}", duration=lasts, tracks=tracks))
    return made


def _joint_plan(
    scene: RobotScene,
    station: JointStation,
    recordings: Sequence[Motion],
    options: PlanOptions,
    after: Fit | None,
) -> JointPlan:
    """What the recordings in which a joint moves tell of it."""
    joint, robot = station.joint, scene.robot
    mine = [motion for motion in recordings if len(motion.tracks[joint].times) != 1]
    benches = []
    for motion in mine:
        stands = scene.home.copy()
        for name, track in motion.tracks.items():
            stands[robot.place(name)] = float(track.at(np.zeros(1))[0])
        bench = joint_bench(robot, joint, by_name(robot, stands))
        benches.append(bench if bench.kind == station.bench.kind else station.bench)
    actuator = scene.actuators[joint]
    seen = _look_keywords(actuator, options)
    look = outlook(actuator, station.bench, mine, joint=joint, benches=benches, **seen)
    before = known_precision(look, None if after is None else of_joint(after, joint))
    xs = look.draws(N_DRAWS, options.seed)
    wanted = wanted_places(look, several(options.target))
    return JointPlan(
        station=station,
        look=look,
        before=before,
        xs=xs,
        choice=choice_of(look, range(len(mine)), xs, before, wanted),
        motions=tuple(motion.name for motion in mine),
        after=after is not None,
    )


def _beyond_limits(scene: RobotScene, part: JointPlan) -> Iterator[str]:
    """Names of recordings in which a joint is too fast or draws too much; single motions were looked at."""
    limits, most = scene.limits, extremes(part.look)
    for values, limit in (
        (most.velocity, limits.velocity),
        (most.current, limits.current_of(part.station.joint)),
    ):
        if limit is not None:
            yield from (part.motions[k] for k in np.flatnonzero(values > limit))


def order(parts: Sequence[JointPlan], recordings: Sequence[Motion]) -> list[int]:
    """Places of recordings, the one that tells most a second first, beside those before it.

    Args:
        parts: of all joints.
        recordings: to put in order.

    Returns:
        Their places.
    """
    left, ordered = list(range(len(recordings))), list[int]()
    totals = [part.choice.before for part in parts]
    while left:
        gains, told = list[float](), list[list[np.ndarray]]()
        for k in left:
            after = []
            for part, total in zip(parts, totals, strict=True):
                name = recordings[k].name
                at = part.motions.index(name) if name in part.motions else None
                after.append(total if at is None else total + part.choice.information[:, at])
            pairs = zip(parts, totals, after, strict=True)
            gain = sum(float(part.choice.worth(new) - part.choice.worth(old)) for part, old, new in pairs)
            gains.append(gain / recordings[k].duration)
            told.append(after)
        best = int(np.argmax(gains))
        totals = told[best]
        ordered.append(left.pop(best))
    return ordered


def _assemble(
    scene: RobotScene, parts: Sequence[JointPlan], recordings: Sequence[Motion], options: PlanOptions
) -> Plan:
    """The plan, once more looked at as `record` will."""
    numbered = {motion.name: f"{k + 1:02d}-{kind(motion)}" for k, motion in enumerate(recordings)}
    motions = tuple(replace(motion, name=numbered[motion.name]) for motion in recordings)
    targets = several(options.target)
    note = f"planned for {', '.join(targets) or 'all'} of {', '.join(scene.joints)}"
    played = Motions(motions=motions, limits=options.limits or SafetyLimits(), note=note)
    here = by_name(scene.robot, scene.home)
    if problems := list(arm_problems(scene.robot, played, here, scene.table)):
        raise InvalidValue("\n".join(problems))
    rows = list(_expect_joints(scene, parts, motions, options))
    foreseen = [
        replace(foresee(part.look, k, numbered[name]), joint=part.station.joint)
        for part in parts
        for k, name in enumerate(part.motions)
    ]
    ends = [
        (_posture_at(scene, motion, 0.0), _posture_at(scene, motion, motion.duration)) for motion in motions
    ]
    ways = sum(
        scene.limits.way_time(float(np.abs(end - scene.home).max())) + SETTLE for pair in ends for end in pair
    )
    return Plan(
        motions=played,
        parameters=tuple(rows),
        findings=tuple(_findings(scene, parts, rows)),
        foreseen=tuple(foreseen),
        actuator=scene.actuators[scene.joints[0]],
        bench=scene.robot,
        ways=ways,
    )


def _expect_joints(
    scene: RobotScene, parts: Sequence[JointPlan], motions: Sequence[Motion], options: PlanOptions
) -> Iterator[ExpectedParameter]:
    """Every number of every joint, as unsure as its encoder leaves it or as a fit of a rehearsal says,
    whichever is more."""
    groups: dict[object, list[JointPlan]] = {}
    for part in parts:
        equal = (scene.robot.joint(part.station.joint).group, part.look.problem.free.names)
        groups.setdefault(equal, []).append(part)
    errors = {
        part.station.joint: expected
        for equals in groups.values()
        for part, expected in zip(equals, group_errors(equals), strict=True)
    }
    stated = rehearse(
        scene.robot,
        scene.actuators,
        motions,
        options,
        lambda text, share: options.say(text, 0.6 + 0.4 * share),
    )
    for part in parts:
        joint = part.station.joint
        known = part.look.relative(part.look.problem.first, inverse(part.before))
        for row in expect(part.look, errors[joint], known):
            error = max(row.relative_error, _beside(stated.get((joint, row.path), 0.0), row.before))
            yield replace(row, joint=joint, relative_error=error)


def _beside(error: float, before: float) -> float:
    """A relative error of new logs beside what was known before."""
    return error / math.hypot(1.0, error / before) if before else 0.0


def _posture_at(scene: RobotScene, motion: Motion, t: float) -> np.ndarray:
    stands = scene.home.copy()
    for name, track in motion.tracks.items():
        stands[scene.robot.place(name)] = float(track.at(np.array([t]))[0])
    return stands


def _findings(
    scene: RobotScene, parts: Sequence[JointPlan], rows: Sequence[ExpectedParameter]
) -> Iterator[Finding]:
    names = scene.robot.names
    stands = ", ".join(f"{name} {q:.2f}" for name, q in zip(names, scene.home, strict=True))
    text = f"every motion begins and ends where the robot stands, at {stands} [rad]"
    if not _can_touch(scene.robot):
        text += "; nothing of the model can touch, so that nothing was checked for collisions"
    remedy = "move it there first, or say where it stands (--posture); backemf record checks the ways again"
    yield finding("posture", f"{text}.", remedy)
    cut = [part.station for part in parts if part.station.reach < REACH]
    if cut:
        words = "; ".join(
            f"{one.joint} goes {one.reach:.2f} rad either way{f', since {one.cut}' if one.cut else ''}"
            for one in cut
        )
        yield finding("less_room", f"{words}, as the model has it.", "another --posture may leave more room")
    yield from _open_numbers(rows, len(parts))
    if scene.limits.temperature is not None and any(
        "winding_temperature" not in part.look.problem.system.states for part in parts
    ):
        text = "the model does not know how the winding warms up, so the plan does not look at temperature."
        remedy = f"the recorder watches it and ends at {scene.limits.temperature:g} degC"
        yield finding("temperature_not_modelled", text, remedy)


def _open_numbers(rows: Sequence[ExpectedParameter], n_joints: int) -> Iterator[Finding]:
    """Numbers that stay open, and of which joints."""
    untold: dict[str, list[ExpectedParameter]] = {}
    for row in (row for row in rows if not row.determined):
        untold.setdefault(row.path, []).append(row)
    if untold:
        said = "; ".join(
            f"{path} of {'any joint' if len(some) == n_joints else ', '.join(r.joint for r in some)}"
            for path, some in untold.items()
        )
        worst = {path: max(min(r.relative_error, 1e9) for r in some) for path, some in untold.items()}
        remedy = "more --seconds, a heavier hand, another --posture; or a datasheet or a reading that says it"
        yield finding("untold", f"these motions will not tell {said}.", remedy, **worst)


def _can_touch(robot: Robot) -> bool:
    joint = next(joint.name for joint in robot.joints)
    return room(robot, joint, posture_of(robot, {})).looked
