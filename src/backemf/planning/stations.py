"""Where the joints of a robot are moved: postures in which gravity loads them and nothing is near, from where
the robot stands; and motions of all of them at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import InvalidValue
from ..logs.robot import Robot
from ..mujoco.robot.robot_motion import Room, first_touch, joint_bench, room, static_loads
from ..physics.actuator import Actuator
from ..physics.bench import Bench
from ..physics.joint_law import JointLaw
from .arm_paths import straight_way
from .motions import Motion, SafetyLimits, Track

CLEAR = 0.05
"""Kept from where a robot would touch something, since models and zeros are a little off [rad]."""
NARROW = 0.1
"""Less than this is no range to plan in [rad]."""
REACH = 0.6
"""How far a joint goes either way [rad]."""
FAR, DRAWS, TRIED = 1.2, 96, 12
"""How far from where it stands a joint is taken to be loaded [rad]; postures that are drawn, and those that
are looked at closely."""
NEAR = 0.01
"""What a robot keeps from itself and the table on its ways [m]: models and zeros are a little off."""
HOLD, SAG = 0.5, 0.1
"""Share of its stall torque that a servo may have to hold, and how far it may give way meanwhile [rad]."""
SLOWER = 0.6
"""Share of a limit of speed that joints are asked for which move at once: they overshoot a little."""
SWINGS = (0.3, 0.2, 0.1)
"""How far joints go that move at once, either way: the first that nothing forbids [rad]."""


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
    benches = [joint_bench(scene.robot, joint, by_name(scene.robot, posture)) for posture in postures]

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
        free = room(scene.robot, joint, by_name(scene.robot, postures[k]), scene.table)
        a, b = _inside(free, low, high)
        reach = min(REACH, 0.5 * (b - a))
        cut = " and ".join(filter(None, (free.below, free.above)))
        if 2.0 * reach < NARROW:
            least = f"{max(b - a, 0.0):.2f} rad{f', since {cut}' if cut else ''}"
            continue
        centre = float(np.clip(postures[k][place], a + reach, b - reach))
        posture = postures[k].copy()
        posture[place] = centre
        station = JointStation(joint, posture, reach, benches[k], cut if reach < REACH else "")
        stations.append((worth(k, centre, reach), station))
    for _, station in sorted(stations, key=lambda one: one[0], reverse=True):
        if _is_fit(scene, station):
            return station
    raise InvalidValue(
        f"{joint} has no room to move from where the robot stands"
        f" ({least or 'every way that was tried touches something or is too heavy to hold'});"
        " move the robot elsewhere (--posture, --table), or leave the joint out (--joints)"
    )


def _inside(free: Room, low: float, high: float) -> tuple[float, float]:
    """A range at a distance from what would touch beyond it [rad]."""
    low = max(low, free.low + CLEAR) if free.below and free.low is not None else low
    return low, min(high, free.high - CLEAR) if free.above and free.high is not None else high


def _is_fit(scene: RobotScene, station: JointStation) -> bool:
    """Whether the way there is free, and what the joint does there free and light enough."""
    place = scene.robot.place(station.joint)
    ends = station.posture + np.outer([-station.reach, station.reach], np.eye(len(scene.home))[place])
    path = np.vstack([straight_way(scene.home, station.posture), straight_way(*ends)])
    return bool(scene.holds(straight_way(*ends)).all()) and scene.is_free(path)


def by_name(robot: Robot, posture: np.ndarray) -> dict[str, float]:
    """A posture in the robot's order as one by joint [rad]."""
    return {name: float(q) for name, q in zip(robot.names, posture, strict=True)}


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
        fastest = math.inf if scene.limits.velocity is None else SLOWER * scene.limits.velocity
        if 2.0 * size * (len(centres) + 1) > fastest * seconds:
            continue
        motions = [_waves(centres, size, seconds, fastest), _slow_together(centres, size, seconds)]
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


def _waves(centres: Mapping[str, float], size: float, seconds: float, fastest: float) -> Motion:
    """Waves that grow faster, no two alike; none is asked to be faster than this [rad/s]."""
    tracks = {}
    for k, (name, centre) in enumerate(centres.items()):
        high = min(1.5 + 0.2 * k, fastest / (2.0 * math.pi * size))
        low = min(0.3 + 0.05 * k, 0.5 * high)
        words = f"chirp amplitude={size:.6g}rad low={low:.4g}Hz high={high:.4g}Hz duration={seconds:.6g}s"
        tracks[name] = Track(command=f"{words} offset={centre:.6g}rad")
    return Motion(name="together", duration=seconds, tracks=tracks)


def _slow_together(centres: Mapping[str, float], size: float, seconds: float) -> Motion:
    """Slow triangles, no two of the same period: each joint turns about while the others load it anew."""
    tracks = {}
    for k, (name, centre) in enumerate(centres.items()):
        n = k + 2  # turns
        shares = [0.0, *((-1.0) ** (i + k) for i in range(n)), 0.0]
        times = [0.0, *((i + 0.5) * seconds / n for i in range(n)), seconds]
        tracks[name] = Track(
            times=tuple(round(t, 6) for t in times),
            positions=tuple(round(centre + size * x, 6) for x in shares),
        )
    return Motion(name="slow-together", duration=seconds, tracks=tracks)
