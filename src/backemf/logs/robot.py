"""Robot: many joints, each a bench; what its model says of them, as plain data. And LeRobot's calibration
files: the range of each joint in encoder counts makes angles of its numbers.

LeRobot writes a position as a share of that range, -100 to 100 (a gripper 0 to 100), which stays within it,
or in degrees from its middle. A turn has 4096 counts, but a turn of its degrees 4095. A servo that is mounted
the other way round (`drive_mode` 1) is turned in shares and not in degrees. `homing_offset` is subtracted in
the servo itself, so counts and range have it already.
(Facts: huggingface/lerobot, motors/motors_bus.py and motors/feetech.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import store
from ..bounds import json_of, outside
from ..errors import MissingValue, UnknownName
from ..files import table_in
from ..findings import Finding
from ..physics.maths import is_number
from ..physics.supply import Supply
from ..registry import SERVICES
from ..tables import NotebookDisplay, Overview


@dataclass(frozen=True, kw_only=True)
class Joint(store.Noun):
    """One joint of a robot, as its model has it."""

    name: str
    motion: str = "rotary"
    """'rotary' or 'linear'."""
    low: float | None = None
    high: float | None = None
    """Range of its position, where the model states one."""
    group: str = ""
    """Joints of equal hardware: the class that the model gives their actuators, or else them."""
    actuator: str = ""
    """Its actuator's name in the model; empty where it has none."""
    torque_limit: float | None = None
    """What the model lets its actuator give [N m or N], where it says."""
    tool: bool = False
    """Whether it closes a gripper or a hand: its load is what it holds, which no model knows."""
    shipped: Mapping[str, float] = field(default_factory=dict)
    """Armature, damping, friction and gains as the model has them, by its own words."""

    @property
    def span(self) -> float:
        """The width of its range; infinite where there is none."""
        return math.inf if self.high is None or self.low is None else self.high - self.low


@dataclass(frozen=True, kw_only=True)
class Ground(store.Noun):
    """A plane z = height + x_slope x + y_slope y in the frame of the robot's model [m]."""

    height: float
    x_slope: float = 0.0
    y_slope: float = 0.0
    error: float = 0.0
    """Scatter of the touching points about it [m]; 0 where it was told."""

    friction: float = 0.0
    """Coefficient of what slides on it."""

    def under(self, point: np.ndarray) -> np.ndarray:
        """Its height below points (..., 3)."""
        return self.height + self.x_slope * point[..., 0] + self.y_slope * point[..., 1]

    @property
    def turned(self) -> list[float]:
        """The quaternion that turns the z axis to its normal."""
        x, y = -self.x_slope, -self.y_slope
        size = math.sqrt(1.0 + x * x + y * y)
        w = 1.0 + 1.0 / size
        q = [w, -y / size, x / size, 0.0]
        norm = math.sqrt(sum(c * c for c in q))
        return [c / norm for c in q]


@dataclass(frozen=True, kw_only=True)
class Coupling(store.Noun):
    """How some joints hang on some motors, which a recording calls by names of joints or of their own."""

    joints: tuple[str, ...]
    motors: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]
    """By joint, its torque for one of each motor."""
    at_motors: bool
    """Whether positions and velocities were recorded at the motors too, not only torques."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Robot(NotebookDisplay, store.Noun):
    """A robot that recordings were made on: `be.Robot.read("arm.xml")`, from MJCF or URDF."""

    name: str
    joints: tuple[Joint, ...]
    model: str
    """The whole model in MJCF, with a base that stands still unless its motion is recorded."""
    source: str = ""
    """The file that it was read from."""
    base: str = "fixed"
    """'fixed', 'held' (a floating base that stood still), or 'recorded' (a floating base whose motion is in
    the logs)."""
    ground: Ground | None = None
    """A table or floor that the model does not have; None: to be found, where the robot touches it."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Joints of the model that cannot be identified, and why."""
    findings: tuple[Finding, ...] = ()
    supply: Supply | None = None
    """What all its motors draw on together, in `be.power` and wherever its joints are simulated."""
    coupling: Coupling | None = None
    """Of recordings made at motors that each move several joints; logs that name it are of the joints."""

    @staticmethod
    def read(
        path: Path | str,
        *,
        base: str | None = None,
        ground: float | None = None,
        gravity: Any = None,
        allow_outside: bool = False,
        supply: Supply | None = None,
        coupling: Any = None,
    ) -> Robot:
        """A robot from its model.

        Args:
            path: its MJCF or URDF.
            base: of a floating base, "held" (it stood still, as without a word) or "recorded".
            ground: the height of a table or floor that the model does not have, in its frame [m].
            gravity: another vector than the model's [m/s^2]: a base that is tilted or hangs.
            allow_outside: let the model include files from outside its own folder.
            supply: what all its motors draw on together.
            coupling: of recordings made at motors that each move several joints, {joint: {motor: factor}}, or
                a JSON file with that.

        Returns:
            The robot, with what its model says of each joint.
        """
        with outside(allow_outside):
            robot = SERVICES.robots.read(path, base=base, ground=ground, gravity=gravity)
        from .coupling import with_coupling  # which reads logs, and these know robots

        return with_coupling(replace(robot, supply=supply), coupling)

    @property
    def at_motors(self) -> Robot:
        """With motors that each move several joints as joints of their own, as recordings may name them."""
        motors = () if self.coupling is None else self.coupling.motors
        own = (Joint(name=motor) for motor in motors if motor not in self.names)
        return replace(self, joints=(*self.joints, *own))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(joint.name for joint in self.joints)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Joints of equal hardware, by group."""
        named: dict[str, list[str]] = {}
        for joint in self.joints:
            named.setdefault(joint.group, []).append(joint.name)
        return {group: tuple(joints) for group, joints in named.items()}

    def joint(self, name: str) -> Joint:
        """A joint by its name in the model."""
        for joint in self.joints:
            if joint.name == name:
                return joint
        if name in self.left_out:
            raise MissingValue(f"{name} cannot be identified: {self.left_out[name]}")
        raise UnknownName(f"joint of {self.name}", name, self.names)

    def place(self, name: str) -> int:
        """Where a joint stands among the others."""
        return self.names.index(self.joint(name).name)

    def on(self, ground: Ground | None) -> Robot:
        """The same above a table or floor."""
        return replace(self, ground=ground)

    def overview(self) -> Overview:
        """Every joint with its group, range and torque limit."""
        rows = [(j.name, j.group, j.low, j.high, j.torque_limit, j.actuator) for j in self.joints]
        ground = "no ground" if self.ground is None else f"ground at {1e3 * self.ground.height:.4g} mm"
        title = f"{self.name}, {len(self.joints)} joints, base {self.base}, {ground}"
        return Overview(title, ("joint", "group", "low", "high", "torque limit", "actuator"), rows)


COUNTS = 4096.0
DEGREES = 360.0 / 4095.0
"""What LeRobot calls a count, in its degrees."""
GRIPPER = "gripper"
"""The joint whose share is from 0 to 100."""
COUNT = 2.0 * math.pi / COUNTS


class CalibratedJoint(NamedTuple):
    """One joint of a calibration file, in counts as the servo gives them."""

    low: float
    high: float
    homing: float = 0.0
    turned: bool = False
    """Mounted the other way round."""

    @property
    def span(self) -> float:
        """The width of its range [rad]."""
        return (self.high - self.low) * COUNT

    @property
    def whole_turn(self) -> bool:
        """Whether nothing stops it: LeRobot then writes the whole encoder as its range."""
        return self.high - self.low >= COUNTS - 1.0


def grips(joint: str) -> bool:
    """Whether a joint's share is from 0 to 100: the gripper's, or one of two arms'."""
    return joint == GRIPPER or joint.endswith(f"_{GRIPPER}")


def read(path: Path | str) -> dict[str, CalibratedJoint]:
    """The ranges in a calibration file, by joint; none where the file is something else."""
    try:
        content = json_of(path)
        return {joint: _calibrated_joint(row) for joint, row in table_in(content).items()}
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return {}


def share(joint: str, of: CalibratedJoint) -> float:
    """Turns of one of a joint's shares, from the middle of its range (a gripper: from its lower end)."""
    return (of.high - of.low) / COUNTS / (100.0 if grips(joint) else 200.0)


def _calibrated_joint(row: Any) -> CalibratedJoint:
    """One row of a calibration file; some error where it is none."""
    low, high, homing = row["range_min"], row["range_max"], row.get("homing_offset")
    if not is_number(low) or not is_number(high) or high <= low:
        raise ValueError("no range")
    homing = float(homing) if is_number(homing) else 0.0
    return CalibratedJoint(float(low), float(high), homing, row.get("drive_mode") == 1)
