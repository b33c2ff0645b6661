"""The physics of a whole virtual robot: its model in MuJoCo, with our actuators attached to its joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....errors import InvalidValue
from ....logs.robot import Robot
from ....mujoco.arrays import load_mujoco
from ....mujoco.live.attach import attach
from ....physics.actuator import Actuator
from .faults import Faults
from .plant import AMBIENT

STEP = 1e-3
"""Longest time step of the robot [s]."""


class RobotPlant:
    """Joints of a robot with an actuator each, as a `Plant` has them; the others hang free."""

    def __init__(self, actuator: Actuator, robot: Robot, joints: Sequence[str], faults: Faults):
        if actuator.drive.followed != "position_target":
            raise InvalidValue(
                f"the joints of a virtual robot follow positions; the {actuator.drive.kind} follows"
                f" {actuator.drive.followed or 'nothing'}"
            )
        mujoco = load_mujoco()
        spec = mujoco.MjSpec.from_string(robot.model)
        spec.option.timestep = min(spec.option.timestep, STEP)
        self.actuator, self.faults, self.joints = actuator, faults, tuple(joints)
        self._motors = attach(spec, dict.fromkeys(self.joints, actuator), switch=True)
        self._model, self._step = self._motors.model, mujoco.mj_step
        self._data = mujoco.MjData(self._model)
        self._actuators = [actuator] * len(self.joints)
        self._places = [
            (int(self._model.joint(name).qposadr[0]), int(self._model.joint(name).dofadr[0]))
            for name in self.joints
        ]
        attached = [self._motors.joints[name] for name in self.joints]
        self._asked = [one.element for one in attached]
        self._off = [int(self._model.actuator(f"{one.name}_disabled").id) for one in attached]
        self.nominal = actuator.drive.supply or 12.0
        self.time = 0.0
        for k, (name, (place, _)) in enumerate(zip(self.joints, self._places, strict=True)):
            low, high = robot.joint(name).low, robot.joint(name).high
            inside = 0.0 if low is None or high is None else min(max(0.0, low), high)
            self._data.qpos[place] = inside
            self.ask(k, "position_target", inside)
            self.enable(k, False)
        mujoco.mj_forward(self._model, self._data)

    def ask(self, k: int, name: str, value: float) -> None:
        """Where joint k shall go from now on, after the drive's delay."""
        self._data.ctrl[self._asked[k]] = value

    def gain(self, k: int, path: str, value: float) -> None:
        """Another number of joint k's actuator; one that it does not have is ignored, as it has no effect."""
        mine = self._actuators[k]
        if mine.parameters.get(path, value) != value:
            self._actuators[k] = mine.replace(**{path: value})
            self._motors.put(self.joints[k], self._actuators[k])

    def enable(self, k: int, on: bool) -> None:
        self._data.ctrl[self._off[k]] = 0.0 if on else 1.0

    @property
    def supply(self) -> float:
        return self.nominal * self.faults.supply_share(self.time)

    def advance(self, time: float) -> None:
        """Up to a moment, in whole steps of the model; nothing where that has passed."""
        h = float(self._model.opt.timestep)
        while self.time + h <= time:
            before = self._data.qpos.copy() if self.faults.is_stuck(self.time) else None
            self._step(self._model, self._data)
            if before is not None:
                self._data.qpos[:], self._data.qvel[:] = before, 0.0
            self.time += h

    def seen(self, k: int) -> dict[str, float]:
        """Position, velocity, current, voltage, torque, temperature, supply of joint k now."""
        shown: dict[str, Any] = self._motors.signals_of(self.joints[k], self._data)
        if self._data.ctrl[self._off[k]] > 0.5:
            shown["current"], shown["voltage"] = 0.0, 0.0
        place, dof = self._places[k]
        motion = {"position": float(self._data.qpos[place]), "velocity": float(self._data.qvel[dof])}
        return {"temperature": AMBIENT, **shown, **motion, "supply": self.supply}
