"""Robot: many joints, each a bench; what its model says of them, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import store
from ..errors import MissingValue, UnknownName
from ..findings import Finding
from ..registry import SERVICES
from ..tables import Displayed, Overview


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


@dataclass(frozen=True, kw_only=True, repr=False)
class Robot(Displayed, store.Noun):
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

    @staticmethod
    def read(
        path: Path | str, *, base: str | None = None, ground: float | None = None, gravity: Any = None
    ) -> Robot:
        """A robot from its MJCF or URDF. A floating base stands still ("held") unless `base` is "recorded";
        `ground` is the height of a table or floor; `gravity` another vector than the model's [m/s^2]: a base
        that is tilted or hangs."""
        return SERVICES.robots.read(path, base=base, ground=ground, gravity=gravity)

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
        rows = [(j.name, j.group, j.low, j.high, j.torque_limit, j.actuator) for j in self.joints]
        ground = "no ground" if self.ground is None else f"ground at {1e3 * self.ground.height:.4g} mm"
        title = f"{self.name}, {len(self.joints)} joints, base {self.base}, {ground}"
        return Overview(title, ("joint", "group", "low", "high", "torque limit", "actuator"), rows)
