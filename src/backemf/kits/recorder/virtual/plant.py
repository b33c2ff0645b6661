"""The physics of virtual servos: every joint on its bench, stepped up to the moment that is asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ....engine.stepper import stepper
from ....engine.system import ActuatorSystem
from ....physics.actuator import Actuator, signals
from ....physics.bench import Bench
from .faults import Faults

STEP = 5e-4
"""Longest time step [s]."""
AMBIENT = 25.0
"""Of a servo whose model has no temperature [degC]."""
RATED = ("drive.newton_metres_per_radian", "drive.newton_metre_seconds_per_radian")


class Plant:
    """n actuators of one kind on benches of one kind, in time [s] since its start."""

    def __init__(self, actuator: Actuator, bench: Bench, n: int, faults: Faults, position: float = 0.0):
        self.actuator, self.faults = actuator, faults
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
        self._parameters = np.array([[*system.parameters.values()]] * n, float)
        self._places = {name: k for k, name in enumerate(system.parameters)}
        self.columns = {name: k for k, name in enumerate(names)}
        self._states = {name: k for k, name in enumerate(self._step.states)}
        self.time = 0.0
        self._late: list[tuple[float, int, str, float]] = []
        """Targets on their way through the drive's delay: (when, joint, name, value)."""
        for k in range(n):
            self.ask(k, next(iter(asked)), position)
        self._supply(self.nominal)

    @property
    def target(self) -> str:
        """What the drive follows."""
        return next(iter(self.columns))

    def ask(self, k: int, name: str, value: float) -> None:
        """What joint k is asked from now on, after the drive's delay."""
        delay = self.actuator.drive.delay or 0.0
        if delay and self.time:
            self._late.append((self.time + delay, k, name, value))
        elif name in self.columns:
            self.inputs[k, self.columns[name]] = value

    def gain(self, k: int, path: str, value: float) -> None:
        """Another number of joint k's actuator; one that it does not have is ignored, as it has no effect."""
        if path in self._places and self._parameters[k, self._places[path]] != value:
            self._parameters[k, self._places[path]] = value
            changes = {p: float(self._parameters[k, self._places[p]]) for p in GAINS if p in self._places}
            self._actuators[k] = self.actuator.replace(**changes)
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
        """Up to a moment; nothing where that has passed."""
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
        before = self.state.copy() if self.faults.is_stuck(time) else None
        n = max(1, math.ceil(h / STEP))
        self._step(self.state, self.inputs, h, substeps=n, out=self.state)
        if before is not None:
            self.state[:, self._states["position"]] = before[:, self._states["position"]]
            self.state[:, self._states["velocity"]] = 0.0
        self.time = time

    def seen(self, k: int) -> dict[str, float]:
        """Position, velocity, current, voltage, torque, temperature, supply of joint k now."""
        state: Mapping[str, Any] = {name: float(self.state[k, i]) for name, i in self._states.items()}
        inputs = {name: float(self.inputs[k, i]) for name, i in self.columns.items()}
        shown = {name: float(x) for name, x in signals(self._actuators[k], state, inputs).items()}
        if not inputs["enabled"]:
            shown["current"], shown["voltage"] = 0.0, 0.0
        motion = {"position": state["position"], "velocity": state["velocity"], "supply": self.supply}
        return {"temperature": AMBIENT, **shown, **motion}

    def put(self, k: int, **values: float) -> None:
        """A state set by hand."""
        for name, value in values.items():
            self.state[k, self._states[name]] = value


GAINS = ("drive.proportional", "drive.integral", "drive.derivative", "drive.volts_per_radian")
"""Numbers of a drive that a servo's registers may change."""
