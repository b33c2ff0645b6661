"""The physics of virtual servos, stepped up to the moment that is asked for: every joint on its bench, or a
robot in MuJoCo with our actuators attached; the line that they answer on; and what may go wrong with them, in
words: "lose=0.01", "stuck=3s"."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ....engine.stepper import stepper
from ....engine.system import ActuatorSystem
from ....errors import InvalidValue, UnknownName
from ....logs.robot import Robot
from ....mujoco.arrays import load_mujoco
from ....mujoco.live.attach import attach
from ....mujoco.xml import check_text
from ....physics.actuator import Actuator, signals
from ....physics.bench import Bench
from ....physics.law import Drive
from ....units import si

STEP = 5e-4
"""Longest time step [s]."""
LOOP_SHARE = 0.3
"""Longest time step of a motor with a current loop, times its bandwidth: a longer one makes it chatter."""
AMBIENT = 25.0
"""Of a servo whose model has no temperature [degC]."""
RATED = ("drive.newton_metres_per_radian", "drive.newton_metre_seconds_per_radian")


SHAPE = ("slew", "acceleration", "deadband", "punch", "count")
"""What a drive's firmware does to goals and errors: the devices of a plant do it, by their registers."""
IDLE = 1e-12
"""In the place of a gain that is 0 and may be written."""


def without_shape(actuator: Actuator) -> Actuator:
    """The same without what its firmware does to goals and errors, and with each gain whose count has a known
    effect there to be written."""
    drive = actuator.drive
    changes: dict[str, Any] = {n: None for n in SHAPE if getattr(drive, n, None) is not None}
    changes |= {n: IDLE for n in drive.duty_per_count if getattr(drive, n) is None}
    return replace(actuator, drive=replace(drive, **changes)) if changes else actuator


class VirtualJoints(ABC):
    """Joints with an actuator each. Joint k is the one with the k-th servo; positions [rad], velocities
    [rad/s] and torques [N m] are at the output."""

    actuator: Actuator
    faults: Faults
    nominal: float
    """Voltage of the supply where nothing is wrong with it."""
    time: float = 0.0
    """[s], since its start."""
    target: str = "position_target"
    """What the drives follow."""

    @property
    @abstractmethod
    def supply(self) -> float:
        """Voltage of the supply now."""

    @abstractmethod
    def ask(self, k: int, name: str, value: float) -> None:
        """What a joint is asked from now on, after the drive's delay.

        Args:
            k: of the joint.
            name: of the input: "position_target"; one that the drive does not have is ignored.
            value: in SI, at the output.
        """

    @abstractmethod
    def follow(self, k: int, position: float) -> None:
        """Where the law of joint k is drawn to from this moment on [rad], without the drive's delay."""

    @abstractmethod
    def motion(self, k: int) -> tuple[float, float]:
        """(position [rad], velocity [rad/s]) of joint k now."""

    @abstractmethod
    def drive(self, k: int) -> Drive:
        """The drive of joint k, with the gains that it has now."""

    @abstractmethod
    def gain(self, k: int, path: str, value: float) -> None:
        """Another number of a joint's actuator; one that it does not have is ignored, as it has no effect.

        Args:
            k: of the joint.
            path: of the number: "drive.proportional".
            value: in the unit that the actuator has it in.
        """

    @abstractmethod
    def enable(self, k: int, on: bool) -> None:
        """Switch the torque of joint k."""

    @abstractmethod
    def advance(self, time: float) -> None:
        """Step up to a moment [s]; nothing where that has passed."""

    @abstractmethod
    def sensor_values(self, k: int) -> dict[str, float]:
        """Position, velocity, current, voltage, torque, temperature, supply of joint k now."""


class VirtualLine(ABC):
    """What joins the servos of a plant with those who talk to them."""

    name: str
    """Of the device, as others open it."""

    def __init__(self, plant: VirtualJoints, speed: float):
        self.plant, self.faults, self.speed = plant, plant.faults, speed

    def run(self, seconds: float | None) -> None:
        """Serve for some time [s], or until the process ends."""
        until = math.inf if seconds is None else time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                self.turn()
        finally:
            self.close()

    @abstractmethod
    def turn(self) -> None:
        """Wait for a moment, and answer what has come."""

    @abstractmethod
    def close(self) -> None:
        """Leave the device."""


class VirtualPlant(VirtualJoints):
    """n actuators of one kind on benches of one kind; `whole` where no device stands before their drives."""

    def __init__(
        self,
        actuator: Actuator,
        bench: Bench,
        n: int,
        faults: Faults,
        position: float = 0.0,
        *,
        whole: bool = False,
    ):
        self.actuator, self.faults = actuator, faults
        self._driven = actuator = actuator if whole else without_shape(actuator)
        self._actuators = [actuator] * n
        asked = dict.fromkeys((actuator.drive.followed or actuator.drive.target, *actuator.drive.targets))
        names = [*asked, "enabled"]
        names += ["supply"] if actuator.drive.supply is not None else []
        gains = [path for path in RATED if path in actuator.parameters]
        names += [path.partition(".")[2] for path in gains]
        system = ActuatorSystem(actuator=actuator, bench=bench, inputs=tuple(names))
        self._step = stepper(system, n)
        self.state = self._step.start(position=position)
        self.inputs = np.zeros((n, len(names)))
        self.nominal = actuator.drive.supply or 12.0
        bandwidth = actuator.parameters.get("drive.bandwidth", 0.0) if actuator.motor.inductance else 0.0
        self._longest = min(STEP, LOOP_SHARE / bandwidth) if bandwidth else STEP
        self._parameters = np.array([[*system.parameters.values()]] * n, float)
        self._places = {name: k for k, name in enumerate(system.parameters)}
        self.columns = {name: k for k, name in enumerate(names)}
        self._states = {name: k for k, name in enumerate(self._step.states)}
        self._late: list[tuple[float, int, str, float]] = []
        """Targets on their way through the drive's delay: (when, joint, name, value)."""
        self.target = names[0]
        for k in range(n):
            self.ask(k, self.target, position)
        self._supply(self.nominal)

    def ask(self, k: int, name: str, value: float) -> None:
        delay = self.actuator.drive.delay or 0.0
        if name not in self.columns:
            return
        if delay and self.time:
            self._late.append((self.time + delay, k, name, value))
        else:
            self.inputs[k, self.columns[name]] = value

    def follow(self, k: int, position: float) -> None:
        if "position_target" in self.columns:
            self.inputs[k, self.columns["position_target"]] = position

    def motion(self, k: int) -> tuple[float, float]:
        row, places = self.state[k], self._states
        return float(row[places["position"]]), float(row[places["velocity"]])

    def drive(self, k: int) -> Drive:
        return self._actuators[k].drive

    def gain(self, k: int, path: str, value: float) -> None:
        if path in self._places and self._parameters[k, self._places[path]] != value:
            self._parameters[k, self._places[path]] = value
            changes = {p: float(self._parameters[k, self._places[p]]) for p in GAINS if p in self._places}
            self._actuators[k] = self._driven.replace(**changes)
            self._step.set_parameters(self._parameters)

    def enable(self, k: int, on: bool) -> None:
        self.inputs[k, self.columns["enabled"]] = float(on)

    def _supply(self, volts: float) -> None:
        if "supply" in self.columns:
            self.inputs[:, self.columns["supply"]] = volts

    @property
    def supply(self) -> float:
        return float(self.inputs[0, self.columns["supply"]]) if "supply" in self.columns else self.nominal

    def advance(self, time: float) -> None:
        while self._late and self._late[0][0] <= time:
            when, k, name, value = self._late.pop(0)
            self._advance(when)
            self.inputs[k, self.columns[name]] = value
        self._advance(time)

    def _advance(self, time: float) -> None:
        h = time - self.time
        if h <= 0:
            return
        self._supply(self.nominal * self.faults.supply_share(time))
        n, still = max(1, math.ceil(h / self._longest - 1e-6)), self.faults.is_stuck(time)
        position = self.state[:, self._states["position"]].copy()
        for _ in range(n if still else 1):
            self._step(
                self.state, self.inputs, h / n if still else h, substeps=1 if still else n, out=self.state
            )
            if still:
                self.state[:, self._states["position"]] = position
                self.state[:, self._states["velocity"]] = 0.0
        self.time = time

    def sensor_values(self, k: int) -> dict[str, float]:
        state: Mapping[str, Any] = {name: float(self.state[k, i]) for name, i in self._states.items()}
        inputs = {name: float(self.inputs[k, i]) for name, i in self.columns.items()}
        shown = {name: float(x) for name, x in signals(self._actuators[k], state, inputs).items()}
        if not inputs["enabled"]:
            shown["current"], shown["voltage"] = 0.0, 0.0
        motion = {"position": state["position"], "velocity": state["velocity"], "supply": self.supply}
        return {"temperature": AMBIENT, **shown, **motion}


GAINS = ("drive.proportional", "drive.integral", "drive.derivative", "drive.volts_per_radian")
"""Numbers of a drive that a servo's registers may change."""


SAG = 0.3
"""Share of the supply that is left in a brown-out: below what any servo runs on."""
SAG_TIME = 0.3
LATE = 0.08
"""How late a late reply is [s]: later than a master waits."""


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Shares are chances for each reply; times [s] are since the first packet."""

    lose: float = 0.0
    """Share of replies that lack a byte."""
    late: float = 0.0
    """Share of replies that come after the master has given up."""
    silent: float | None = None
    """From then on it answers nothing."""
    brown_out: float | None = None
    """The supply sags then, and the servo starts anew with its torque off."""
    stuck: float | None = None
    """The joint does not move from then on."""
    wrong_sign: bool = False
    """The current is reported with the other sign."""
    wrapped: bool = False
    """The position counter begins anew in the middle of the range."""
    hot: float | None = None
    """Degrees Celsius that it reports."""
    second_master: bool = False
    """Somebody else talks on the bus."""

    @staticmethod
    def read(words: Iterable[str]) -> Faults:
        """Faults as they are typed; a time or a temperature may have a unit."""
        kinds = {f.name.replace("_", "-"): f for f in fields(Faults)}
        given: dict[str, float | bool] = {}
        for text in words:
            name, equals, value = (word.strip() for word in text.partition("="))
            if name not in kinds:
                raise UnknownName("fault", name, kinds)
            switch = kinds[name].default is False
            if switch != (not equals):
                wanted = f"expected {name} alone" if switch else f"expected a number: {name}=0.01"
                raise InvalidValue(f"--fault is {text!r}; {wanted}")
            unit = "s" if name in ("silent", "brown-out", "stuck") else "degC" if name == "hot" else "1"
            given[kinds[name].name] = True if switch else _number(value, unit, text)
        return Faults(**given)  # type: ignore[arg-type]  # each is what its field is

    def supply_share(self, time: float) -> float:
        sags = self.brown_out is not None and self.brown_out <= time < self.brown_out + SAG_TIME
        return SAG if sags else 1.0

    def is_stuck(self, time: float) -> bool:
        return self.stuck is not None and time >= self.stuck

    def is_silent(self, time: float) -> bool:
        """Whether nothing is answered any more at a moment [s]."""
        return self.silent is not None and time >= self.silent

    def on_wire(self, reply: bytes, random: np.random.Generator) -> tuple[bytes, float]:
        """(what arrives of a reply, how much later [s])."""
        if self.lose and random.random() < self.lose:
            cut = int(random.integers(len(reply)))
            reply = reply[:cut] + reply[cut + 1 :]
        return reply, LATE if self.late and random.random() < self.late else 0.0


def _number(value: str, unit: str, text: str) -> float:
    number = si(value, unit, f"--fault {text}")
    if not number >= 0:
        raise InvalidValue(f"--fault is {text!r}; expected a number from 0 on")
    return number


ROBOT_STEP = 1e-3
"""Longest time step of the robot [s]."""


class VirtualRobot(VirtualJoints):
    """Joints of a robot with an actuator each; the others hang free. Delays are left to the firmware. Until
    the torque is first on a hand holds the robot, as its owner's would."""

    def __init__(self, actuator: Actuator, robot: Robot, joints: Sequence[str], faults: Faults):
        if actuator.drive.followed != "position_target":
            raise InvalidValue(
                f"the joints of a virtual robot follow positions; the {actuator.drive.kind} follows"
                f" {actuator.drive.followed or 'nothing'}"
            )
        mujoco = load_mujoco()
        spec = mujoco.MjSpec.from_string(check_text(robot.model))
        spec.option.timestep = min(spec.option.timestep, ROBOT_STEP)
        self.actuator, self.faults, self.joints = actuator, faults, tuple(joints)
        prompt = without_shape(
            actuator if actuator.drive.delay is None else actuator.replace(**{"drive.delay": None})
        )
        self._motors = attach(
            spec, dict.fromkeys(self.joints, prompt), switch=True, ctrl="actuator", check=False
        )
        self._model, self._step = self._motors.model, mujoco.mj_step
        self._data = mujoco.MjData(self._model)
        self._actuators = [prompt] * len(self.joints)
        self._places = [
            (int(self._model.joint(name).qposadr[0]), int(self._model.joint(name).dofadr[0]))
            for name in self.joints
        ]
        attached = [self._motors.joints[name] for name in self.joints]
        self._asked = [one.element for one in attached]
        self._off = [int(self._model.actuator(f"{one.name}_disabled").id) for one in attached]
        self.nominal, self._in_hand = actuator.drive.supply or 12.0, True
        for k, (name, (place, _)) in enumerate(zip(self.joints, self._places, strict=True)):
            low, high = robot.joint(name).low, robot.joint(name).high
            inside = 0.0 if low is None or high is None else min(max(0.0, low), high)
            self._data.qpos[place] = inside
            self.ask(k, "position_target", inside)
            self.enable(k, False)
        mujoco.mj_forward(self._model, self._data)

    def ask(self, k: int, name: str, value: float) -> None:
        self._data.ctrl[self._asked[k]] = value

    def follow(self, k: int, position: float) -> None:
        self._data.ctrl[self._asked[k]] = position

    def motion(self, k: int) -> tuple[float, float]:
        place, dof = self._places[k]
        return float(self._data.qpos[place]), float(self._data.qvel[dof])

    def drive(self, k: int) -> Drive:
        return self._actuators[k].drive

    def gain(self, k: int, path: str, value: float) -> None:
        mine = self._actuators[k]
        if mine.parameters.get(path, value) != value:
            self._actuators[k] = mine.replace(**{path: value})
            self._motors.put(self.joints[k], self._actuators[k])

    def enable(self, k: int, on: bool) -> None:
        self._data.ctrl[self._off[k]] = 0.0 if on else 1.0
        self._in_hand = self._in_hand and not on

    @property
    def supply(self) -> float:
        return self.nominal * self.faults.supply_share(self.time)

    def advance(self, time: float) -> None:
        """Step up to a moment [s], in whole steps of the model."""
        h = float(self._model.opt.timestep)
        while self.time + h <= time:
            holds = self._in_hand or self.faults.is_stuck(self.time)
            before = self._data.qpos.copy() if holds else None
            self._step(self._model, self._data)
            if before is not None:
                self._data.qpos[:], self._data.qvel[:] = before, 0.0
            self.time += h

    def sensor_values(self, k: int) -> dict[str, float]:
        shown: dict[str, Any] = self._motors.signals_of(self.joints[k], self._data)
        if self._data.ctrl[self._off[k]] > 0.5:
            shown["current"], shown["voltage"] = 0.0, 0.0
        motion = dict(zip(("position", "velocity"), self.motion(k), strict=True))
        return {"temperature": AMBIENT, **shown, **motion, "supply": self.supply}
