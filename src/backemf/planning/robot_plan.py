"""`plan` of a whole robot: every joint in turn, in a posture in which gravity loads it, then all together.

A joint's motions are chosen on the bench that it is while the others stand still, and played one after the
other in few recordings, since every recording begins and ends where the robot stood. Nothing is let go: a
joint without torque would fall.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..datasheets.datasheet import Datasheet
from ..errors import InvalidValue, UnknownName
from ..findings import Finding, finding
from ..identify.parameters import FreeParameters, Parameter, default_paths, priors
from ..identify.plants.robot_plant import ALIKE
from ..identify.problem import with_inertia_for
from ..identify.uncertainty import inverse
from ..logs.log import several
from ..logs.robot import Robot
from ..mujoco.robot.robot_motion import first_touch, joint_bench, posture_of, room, static_loads
from ..physics.actuator import Actuator
from ..physics.bench import Bench
from ..physics.joint_law import JointLaw
from ..results.fit_result import Fit
from .arm_paths import arm_problems, straight_way
from .choose import Budget, MotionChoice, choose
from .motions import SETTLE, Motion, Motions, SafetyLimits, Track
from .outlook import Outlook, Sensing, outlook, sandwich
from .plan import (
    CLEAR,
    LEFT,
    N_DRAWS,
    NARROW,
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

SECONDS = 120.0
"""Of all motions together, unless told [s]."""
REACH = 0.6
"""How far a joint goes either way [rad]."""
FAR, DRAWS, TRIED = 1.2, 96, 12
"""How far from where it stands a joint is taken to be loaded [rad]; postures that are drawn, and those that
are looked at closely."""
NEAR = 0.01
"""What a robot keeps from itself and the table on its ways [m]: models and zeros are a little off."""
HOLD, SAG = 0.5, 0.1
"""Share of its stall torque that a servo may have to hold, and how far it may give way meanwhile [rad]."""
TOGETHER, SWINGS = 0.2, (0.3, 0.2, 0.1)
"""Share of the time in which all joints move at once, and how far they do, the first that nothing forbids
[rad]."""
LONGEST_PART = 30.0
"""Of one recording [s]; what is more is another."""
KINDS = ("slow", "breakaway", "hold", "steps", "reversals")
"""What every joint does once, time allowing: slowly across its load, held there, and jumps both ways."""
INNER_SPEED, REST, JUMP = 1.0, 0.2, 1e-4
"""Of the ways from one motion to the next [rad/s], the rest before it [s], and how long a jump takes [s]."""
FINE = 0.01
"""Between the points of a command in words [s]."""


class JointStation(NamedTuple):
    """Where a joint is moved."""

    joint: str
    posture: np.ndarray
    """Of all joints in the robot's order, this one in the middle of its motions [rad]."""
    reach: float
    """How far it goes either way [rad]."""
    bench: Bench
    cut: str
    """What it would touch beyond, in words."""


@dataclass(frozen=True, kw_only=True)
class RobotScene:
    """A robot where it stands, with what its servos can hold and what it must not touch."""

    robot: Robot
    joints: tuple[str, ...]
    home: np.ndarray
    """Where all joints stand [rad]."""
    actuators: Mapping[str, Actuator]
    table: float | None
    limits: SafetyLimits

    @property
    def places(self) -> list[int]:
        return [self.robot.place(joint) for joint in self.joints]

    def range_of(self, joint: str) -> tuple[float, float]:
        """Where limits and model let a joint go [rad]; the model's ends at a distance."""
        one, limits = self.robot.joint(joint), self.limits
        low = -math.inf if one.low is None else one.low + CLEAR
        high = math.inf if one.high is None else one.high - CLEAR
        low = low if limits.position_low is None else max(low, limits.position_low)
        return low, high if limits.position_high is None else min(high, limits.position_high)

    def strength(self) -> np.ndarray:
        """What the joints' servos hold without giving way by much [N m], and their stiffness [N m/rad]."""
        laws = [JointLaw.of(self.actuators[joint]) for joint in self.joints]
        return np.array(
            [(min(HOLD * law.stall_torque, SAG * law.stiffness), law.stiffness) for law in laws]
        ).T

    def holds(self, postures: np.ndarray) -> np.ndarray:
        """Which postures the servos can hold."""
        loads = np.abs(static_loads(self.robot, postures)[:, self.places])
        return (loads <= self.strength()[0]).all(axis=1)

    def is_free(self, path: np.ndarray) -> bool:
        """Whether nothing comes near anything along postures that begin where the robot stands; neither as
        they are asked for nor as weights pull them down."""
        sagged = path.copy()
        sagged[1:, self.places] -= (static_loads(self.robot, path)[:, self.places] / self.strength()[1])[1:]
        ways = ((path, NEAR), (path, 0.0), (sagged, 0.0))
        return all(first_touch(self.robot, way, self.table, clear) is None for way, clear in ways)

    def draw(self, seed: int) -> np.ndarray:
        """Postures that can be held: where it stands, and others not far away."""
        rng, drawn = np.random.default_rng(seed), np.tile(self.home, (DRAWS, 1))
        for joint, place in zip(self.joints, self.places, strict=True):
            low, high = self.range_of(joint)
            low, high = max(low, self.home[place] - FAR), min(high, self.home[place] + FAR)
            drawn[:, place] = rng.uniform(low, high, DRAWS) if low < high else self.home[place]
        return np.vstack([self.home, drawn[self.holds(drawn)]])


def find_station(scene: RobotScene, joint: str, postures: np.ndarray) -> JointStation:
    """Where a joint has room, much to carry, and a way that is short and free.

    Args:
        scene: the robot where it stands.
        joint: its name.
        postures: of all joints, to choose from; the first is where the robot stands [rad].

    Returns:
        The best of them.

    Raises:
        InvalidValue: the joint has no room in any.
    """
    place = scene.robot.place(joint)
    low, high = scene.range_of(joint)
    benches = [joint_bench(scene.robot, joint, _by_name(scene.robot, posture)) for posture in postures]

    def load(bench: Bench, centre: float, reach: float) -> float:
        q = np.linspace(centre - reach, centre + reach, 9)
        return float(max(abs(bench.load(x, 0.0, {})) for x in q))

    most = float(scene.strength()[0, scene.joints.index(joint)])

    def worth(k: int, centre: float, reach: float) -> float:
        far, carried = float(np.abs(postures[k] - scene.home).max()), load(benches[k], centre, reach)
        return reach / REACH + (carried / most if carried <= most else -1.0) - 0.2 * far

    def first_worth(k: int) -> float:
        return worth(k, float(postures[k][place]), REACH)

    best = sorted(range(len(postures)), key=first_worth, reverse=True)[:TRIED]
    stations, least = list[tuple[float, JointStation]](), ""
    for k in dict.fromkeys([*best, 0]):
        free = room(scene.robot, joint, _by_name(scene.robot, postures[k]), scene.table)
        a = max(low, free.low + CLEAR) if free.below and free.low is not None else low
        b = min(high, free.high - CLEAR) if free.above and free.high is not None else high
        reach = min(REACH, 0.5 * (b - a))
        cut = " and ".join(words for words in (free.below, free.above) if words)
        if 2.0 * reach < NARROW:
            least = f"{max(b - a, 0.0):.2f} rad{f', since {cut}' if cut else ''}"
            continue
        centre = float(np.clip(postures[k][place], a + reach, b - reach))
        posture = postures[k].copy()
        posture[place] = centre
        station = JointStation(joint, posture, reach, benches[k], cut if reach < REACH else "")
        stations.append((worth(k, centre, reach), station))
    for _, station in sorted(stations, key=lambda one: one[0], reverse=True):
        ends = station.posture + np.outer([-station.reach, station.reach], np.eye(len(scene.home))[place])
        path = np.vstack([straight_way(scene.home, station.posture), straight_way(*ends)])
        if scene.holds(straight_way(*ends)).all() and scene.is_free(path):
            return station
    raise InvalidValue(
        f"{joint} has no room to move from where the robot stands"
        f" ({least or 'every way that was tried touches something or is too heavy to hold'});"
        " move the robot elsewhere (--posture, --table), or leave the joint out (--joints)"
    )


def _by_name(robot: Robot, posture: np.ndarray) -> dict[str, float]:
    return {name: float(q) for name, q in zip(robot.names, posture, strict=True)}


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


def together(scene: RobotScene, postures: np.ndarray, seconds: float) -> list[Motion]:
    """All joints at once, as waves and slowly, where nothing touches; none where something always does.

    Args:
        scene: the robot where it stands.
        postures: about which they may move; the nearest to where it stands come first [rad].
        seconds: of each motion [s].

    Returns:
        Two motions, or none.
    """
    far = np.abs(postures - scene.home).max(axis=1)
    for size, posture in itertools.product(SWINGS, postures[np.argsort(far)][:TRIED]):
        centres = {}
        for joint, place in zip(scene.joints, scene.places, strict=True):
            low, high = scene.range_of(joint)
            centres[joint] = float(np.clip(posture[place], low + size, max(high - size, low + size)))
        motions = [_waves(centres, size, seconds), _slow_together(centres, size, seconds)]
        t = np.arange(0.0, seconds, 0.02)
        for motion in motions:
            path = np.tile(scene.home, (len(t) + 1, 1))
            for joint, place in zip(scene.joints, scene.places, strict=True):
                path[1:, place] = motion.tracks[joint].at(t)
            ways = np.vstack(
                [straight_way(scene.home, path[1]), path[1:], straight_way(path[-1], scene.home)]
            )
            if not scene.holds(path[1::10]).all() or not scene.is_free(ways):
                break
        else:
            return motions
    return []


def _waves(centres: Mapping[str, float], size: float, seconds: float) -> Motion:
    tracks = {
        name: Track(
            command=f"chirp amplitude={size:.6g}rad low={0.3 + 0.05 * k:g}Hz high={1.5 + 0.2 * k:g}Hz"
            f" duration={seconds:.6g}s offset={centre:.6g}rad"
        )
        for k, (name, centre) in enumerate(centres.items())
    }
    return Motion(name="together", duration=seconds, tracks=tracks)


def _slow_together(centres: Mapping[str, float], size: float, seconds: float) -> Motion:
    """Slow triangles, no two of the same period: each joint turns about while the others load it anew."""
    tracks = {}
    for k, (name, centre) in enumerate(centres.items()):
        n = k + 2  # turns
        shares = [0.0, *((-1.0) ** (i + k) for i in range(n)), 0.0]
        times = [0.0, *((i + 0.5) * seconds / n for i in range(n)), seconds]
        tracks[name] = _track([(t, centre + size * x) for t, x in zip(times, shares, strict=True)])
    return Motion(name="slow-together", duration=seconds, tracks=tracks)


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
    say = options.progress or (lambda text, share: None)
    say("postures", 0.0)
    postures = scene.draw(options.seed)
    seconds = options.seconds or SECONDS
    n = len(scene.joints)
    stations = []
    for k, joint in enumerate(scene.joints):
        say(f"a posture for {joint}", 0.2 * k / n)
        stations.append(find_station(scene, joint, postures))
    scene = _with_rotors(scene, stations)
    share = TOGETHER if n > 1 else 0.0
    at_once = together(scene, postures, round(0.5 * share * seconds, 3)) if share else []
    each = (seconds - sum(motion.duration for motion in at_once)) / n
    recordings: list[Motion] = []
    for k, station in enumerate(stations):
        say(f"motions of {station.joint}", 0.2 + 0.6 * k / n)
        recordings += _recordings(scene, station, each, options)
    recordings += at_once
    parts = []
    for k, station in enumerate(stations):
        say(f"errors of {station.joint}", 0.8 + 0.2 * k / n)
        parts.append(_joint_plan(scene, station, recordings, options, after))
    ordered = [recordings[k] for k in order(parts, recordings)]
    return _assemble(scene, parts, ordered, options)


def _scene(actuator: Actuator, robot: Robot, after: Fit | None, options: PlanOptions) -> RobotScene:
    """The robot where it stands, and who moves."""
    names = several(options.joints) or tuple(
        joint.name for joint in robot.joints if not joint.tool and joint.motion == "rotary"
    )
    for name in names:
        if name not in robot.names:
            raise UnknownName(f"joint of {robot.name}", name, robot.names)
    if not names:
        raise InvalidValue(f"{robot.name} has no joint that turns; expected one at least")
    fits = {name: of_joint(after, name) for name in names} if after is not None else {}
    actuators = {
        name: with_planned_friction(
            fits[name].actuator if name in fits else actuator, options.friction, fitted=after is not None
        )
        for name in names
    }
    limits = options.limits or SafetyLimits()
    sheet = options.prior if type(options.prior) is Datasheet else None
    amperes = None if sheet is None else sheet_current(sheet)
    if amperes is not None and limits.current is None:
        limits = replace(limits, currents=dict.fromkeys(names, amperes) | dict(limits.currents))
    stood = posture_of(robot, options.posture or {})
    home = np.array([stood[name] for name in robot.names])
    return RobotScene(
        robot=robot, joints=tuple(names), home=home, actuators=actuators, table=options.table, limits=limits
    )


def _with_rotors(scene: RobotScene, stations: Sequence[JointStation]) -> RobotScene:
    """With one rotor inertia to start from where nobody says any: such servos move the heaviest joint too."""
    load = max(float(np.min(station.bench.inertia_at({}))) for station in stations)
    actuators = {
        joint: one if one.motor.rotor_inertia else with_inertia_for(one, load)
        for joint, one in scene.actuators.items()
    }
    return replace(scene, actuators=actuators)


def _seen(actuator: Actuator, options: PlanOptions) -> dict[str, Any]:
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
        actuator, station.bench, limits, joint, coasts=False, **_seen(actuator, options)
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
        bench = joint_bench(robot, joint, _by_name(robot, stands))
        benches.append(bench if bench.kind == station.bench.kind else station.bench)
    actuator = scene.actuators[joint]
    seen = _seen(actuator, options)
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
    here = _by_name(scene.robot, scene.home)
    if problems := list(arm_problems(scene.robot, played, here, scene.table)):
        raise InvalidValue("\n".join(problems))
    groups: dict[object, list[JointPlan]] = {}
    for part in parts:
        equal = (scene.robot.joint(part.station.joint).group, part.look.problem.free.names)
        groups.setdefault(equal, []).append(part)
    errors = {
        part.station.joint: expected
        for equals in groups.values()
        for part, expected in zip(equals, group_errors(equals), strict=True)
    }
    rows, foreseen = list[ExpectedParameter](), []
    for part in parts:
        joint = part.station.joint
        known = part.look.relative(part.look.problem.first, inverse(part.before))
        mine = expect(part.look, errors[joint], known)
        rows += [replace(row, joint=joint) for row in mine]
        foreseen += [
            replace(foresee(part.look, k, numbered[name]), joint=joint) for k, name in enumerate(part.motions)
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
    untold: dict[str, list[ExpectedParameter]] = {}
    for row in rows:
        if not row.determined:
            untold.setdefault(row.path, []).append(row)
    if untold:
        said = "; ".join(f"{path} of {', '.join(r.joint for r in some)}" for path, some in untold.items())
        worst = {path: max(min(r.relative_error, 1e9) for r in some) for path, some in untold.items()}
        remedy = "more --seconds, a heavier hand, another --posture; or a datasheet or a reading that says it"
        yield finding("untold", f"these motions will not tell {said}.", remedy, **worst)
    if scene.limits.temperature is not None and any(
        "winding_temperature" not in part.look.problem.system.states for part in parts
    ):
        text = "the model does not know how the winding warms up, so the plan does not look at temperature."
        remedy = f"the recorder watches it and ends at {scene.limits.temperature:g} degC"
        yield finding("temperature_not_modelled", text, remedy)


def _can_touch(robot: Robot) -> bool:
    joint = next(joint.name for joint in robot.joints)
    return room(robot, joint, posture_of(robot, {})).looked
