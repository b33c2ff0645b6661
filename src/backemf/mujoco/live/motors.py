"""What `attach` gives: MuJoCo's model, and what is inside its motors."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...engine.hosted_system import ANEW, LEAD, LiveSystem, check_delay, live_system
from ...errors import InvalidValue, MissingValue, UnknownName
from ...findings import Finding
from ...physics.actuator import Actuator, signals
from ...physics.supply import BUS, Supply
from ...results.fit_result import Fit
from ...results.spread import Spread
from ...tables import NotebookDisplay, Overview
from ..arrays import load_mujoco
from . import callback, motor_rows
from .places import KEPT


def element(model: Any, actuator: int) -> int:
    """Where an actuator's inputs begin in ctrl; from MuJoCo 4 on one may have several."""
    at = getattr(model, "actuator_ctrladr", None)
    return actuator if at is None else int(at[actuator])


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """One joint's actuator inside a model."""

    joint: str
    name: str
    """Of the model's actuator."""
    index: int
    """Of that actuator among the model's."""
    element: int
    """Of ctrl, which holds its first target."""
    actuator: Actuator
    fit: Fit | None
    """Where its numbers came from, if they were fitted."""
    substeps: int
    error: float
    """Of the time step: how far the joint is off when let go, as a share of its motion."""
    at: int
    """Where its activations begin."""
    kept_armature: float
    """Of the joint in the model, where the actuator does not know its own [kg m^2 or kg]."""
    n_line: int
    """Commands of the past among them, for each target."""
    system: LiveSystem


class SharedBus(NamedTuple):
    """A supply that all motors of a model have. MuJoCo's step solves it for what they ask for at the moment,
    before anything else; each drive then has that voltage.

    The equations are those of `physics/supply.py`, compiled into `kernel.py`. The bus is among the
    simulation's `userdata`, so that resetting, copying or storing a state does the same for the battery.
    """

    supply: Supply
    first: int
    """Of `userdata`, where its state begins."""

    @staticmethod
    def on(spec: Any, supply: Supply | None) -> SharedBus | None:
        """A supply's bus, with room for its state in a model that is not compiled yet; None without one."""
        if supply is None:
            return None
        first, spec.nuserdata = max(spec.nuserdata, 0), max(spec.nuserdata, 0) + len(KEPT)
        return SharedBus(supply, first)

    def settings(self, members: list[int]) -> dict[int, dict[str, int]]:
        """By actuator: how many share it, of the first of them; the next one; and where the bus is."""
        after = [*members[1:], -1]
        return {
            index: {"n_bus": len(members) if index == members[0] else 0, "bus_next": n, "bus": self.first}
            for index, n in zip(members, after, strict=True)
        }

    def look(self, data: Any) -> dict[str, float]:
        """The bus as it was at the last step, by the names of BUS."""
        time, *bus = map(float, data.userdata[self.first : self.first + 1 + len(BUS)])
        return dict(zip(BUS, bus if time else self.supply.begin(), strict=True))


@dataclass(frozen=True, kw_only=True, repr=False)
class Motors(NotebookDisplay):
    """A model whose joints have our actuators; `model` is MuJoCo's own, to be used as ever."""

    model: Any
    spec: Any
    joints: dict[str, Attachment]
    findings: tuple[Finding, ...]
    shared: SharedBus | None = None
    """The supply that all of them have together, where they do."""

    def overview(self) -> Overview:
        rows = [
            (a.joint, a.name, a.actuator.friction.kind, a.actuator.drive.kind, a.substeps, a.error)
            for a in self.joints.values()
        ]
        columns = ("joint", "actuator", "friction", "drive", "substeps", "error of the step")
        return Overview(
            f"{len(rows)} joints, {1e3 * self.model.opt.timestep:g} ms", columns, rows, self.findings
        )

    def __str__(self) -> str:
        one = "{0.joint}: {0.actuator.drive.kind}, {0.actuator.friction.kind}, {0.substeps} substeps".format
        return "\n".join([*map(one, self.joints.values()), *(f"finding: {f}" for f in self.findings)])

    def signals(self, data: Any) -> dict[str, dict[str, float]]:
        """What happens inside each motor now, by joint: its states, voltage, current, torque and temperature,
        and the effort that it puts on the joint. The data are of this model, not of a drawn one."""
        return {joint: self.signals_of(joint, data) for joint in self.joints}

    def signals_of(self, name: str, data: Any) -> dict[str, float]:
        """The same of one joint."""
        one = self.joints[name]
        state, asked = self.state_of(one, data)
        return {
            **state,
            **{k: float(x) for k, x in signals(one.actuator, state, asked).items()},
            "effort": float(data.act[one.at + len(one.system.states)]),
        }

    def state_of(self, one: Attachment, data: Any) -> tuple[dict[str, float], dict[str, float]]:
        """A motor's state now, and what reaches its drive.

        Args:
            one: the motor.
            data: of this model.

        Returns:
            Both by name.
        """
        joint, system, act = self.model.joint(one.joint), one.system, data.act[one.at :]
        q, v = float(data.qpos[joint.qposadr[0]]), float(data.qvel[joint.dofadr[0]])
        has_begun = act[system.states.index("position")] > 0.5
        asked = self._drive_inputs(one, data)
        start = one.actuator.initial_state(asked, position=q, velocity=v)
        plain = one.actuator.initial_state()
        if has_begun:
            start = {name: plain[name] + float(act[k]) for k, name in enumerate(system.states)}
        return start | {"position": q, "velocity": v}, asked

    def bus(self, data: Any) -> dict[str, float]:
        """The shared supply at the last step: voltage [V] and current [A] of the bus, the charge that is used
        of a full one [A s], and more: the names of `backemf.physics.supply.BUS`.

        Raises:
            MissingValue: the motors share no supply.
        """
        if self.shared is None:
            raise MissingValue("these motors share no supply; attach them with supply=be.Supply(...)")
        return self.shared.look(data)

    def look(self, data: Any) -> dict[str, dict[str, float]]:
        """What findings are made of: the bus, and the windings' temperatures [degC] by joint."""
        heats = {n: (one, one.actuator.motor.thermal) for n, one in self.joints.items()}
        limited = {n: one for n, (one, heat) in heats.items() if heat and heat.max_temperature is not None}
        windings = {n: self.state_of(one, data)[0]["winding_temperature"] for n, one in limited.items()}
        return {"bus": {} if self.shared is None else self.shared.look(data), "windings": windings}

    def findings_of(self, data: Any) -> list[Finding]:
        """What is to be said of the motors now: windings that are too hot, by joint, and their supply."""
        return self.findings_along(np.array([float(data.time)]), [self.look(data)])

    def findings_along(self, time: np.ndarray, seen: list[Any]) -> list[Finding]:
        """The same of a while.

        Args:
            time: at which it was looked, from when it began [s].
            seen: what `look` gave.

        Returns:
            Findings.
        """
        bus = {name: np.array([one["bus"][name] for one in seen]) for name in seen[0]["bus"]}
        said = [] if self.shared is None else self.shared.supply.findings(time, bus)
        for name in seen[0]["windings"]:
            heat, T = (
                self.joints[name].actuator.motor.thermal,
                np.array([one["windings"][name] for one in seen]),
            )
            said += [] if heat is None else heat.findings(time, T, name)
        return said

    def _drive_inputs(self, one: Attachment, data: Any) -> dict[str, float]:
        """What reaches a drive now: each target as late as it comes, and whether the drive is on."""
        system, delay, act = one.system, one.actuator.drive.delay, data.act[one.at :]
        channels, n_line = motor_rows.channels_of(self.model, one.index, system), one.n_line
        settings = motor_rows.settings_of(self.model, one.index)
        late = math.ceil((delay or 0.0) / self.model.opt.timestep - 1e-9)
        begun, line = act[system.states.index("position")] > 0.5, len(system.states) + 1 + len(system.inputs)
        asked = {}
        for k, (name, channel) in enumerate(zip(system.inputs[3:], channels, strict=True)):
            value = float(data.ctrl[channel]) if channel >= 0 else 0.0
            if channel == one.element:
                value = min(max(value, settings["ctrl_low"]), settings["ctrl_high"]) * settings["scale"]
            if name == "disabled":
                asked["enabled"] = 1.0 - value
            elif name == "sag":
                asked["supply"] = self.bus(data)["ceiling"]
            else:
                asked[name] = float(act[line + k * n_line + late - 1]) if begun and late > 0 else value
        return asked

    def channel(self, joint: str, target: str) -> int:
        """The element of ctrl that holds a further target of a drive, where `feedforward` made one."""
        return element(self.model, int(self.model.actuator(f"{self.joints[joint].name}_{target}").id))

    def remove_ctrl_ranges(self) -> None:
        """Let every ctrl of ours be what it is: a recording was not held within the model's ranges."""
        for joint in self.joints.values():
            motor_rows.remove_ctrl_range(self.model, joint.index)

    def draw_model(self, seed: int = 0, *, spread: Spread | None = None) -> Any:
        """A copy of the model with other motors that the recordings allow too: parameters of each fit drawn
        once from its errors, for all its joints, and with a `Spread` each joint another piece from the same
        box.
        Give such copies to `mujoco.rollout`."""
        model, random = copy.deepcopy(self.model), np.random.default_rng(seed)
        fits = {id(joint.fit): joint.fit for joint in self.joints.values() if joint.fit is not None}
        if not fits and spread is None:
            raise MissingValue(
                "nothing says how far these actuators' numbers may be off; attach a Fit, or give a be.Spread"
            )
        other = {key: fit.draws(1, int(random.integers(2**31)))[0] for key, fit in fits.items()}
        for joint, one in self.joints.items():
            actuator = other.get(id(one.fit), one.actuator)
            self.put(joint, actuator if spread is None else spread.unit(actuator, random), model)
        return model

    drawn = draw_model
    """What users may still call it."""

    def put(self, joint: str, actuator: Actuator, model: Any = None) -> None:
        """Give a joint other numbers of the same structure. In this model, they are what the joint has from
        now on, and no fit's any more.

        Args:
            joint: its name.
            actuator: of the same parts and options, with other numbers.
            model: a copy of this one, which is changed; None: this one itself.

        Raises:
            UnknownName: no motor is on such a joint.
            InvalidValue: the actuator has other parts, or a delay that has no room.
        """
        model = self.model if model is None else model
        if joint not in self.joints:
            raise UnknownName("joint", joint, self.joints)
        one = self.joints[joint]
        inputs = one.system.inputs
        system = live_system(actuator, switched="disabled" in inputs, shared="sag" in inputs)
        if system.key != one.system.key:
            raise InvalidValue(
                f"joint {joint!r} was attached with other parts ({one.actuator.drive.kind},"
                f" {one.actuator.friction.kind}); expected the same with other numbers: attach anew"
            )
        h = float(model.opt.timestep)
        check_delay(actuator.drive.delay or 0.0, one.n_line + 1, h, ANEW, lead=LEAD)
        _, functions = callback.register(system)
        kept, channels = (
            motor_rows.settings_of(model, one.index),
            motor_rows.channels_of(model, one.index, system),
        )
        motor_rows.put(model, one.index, motor_rows.row(functions, system, kept, channels))
        dof = int(model.joint(joint).dofadr[0])
        model.dof_armature[dof] = motor_rows.armature_of(system) + one.kept_armature
        mujoco = load_mujoco()
        mujoco.mj_setConst(model, mujoco.MjData(model))
        if model is self.model:
            self.joints[joint] = replace(one, actuator=actuator, system=system, fit=None)
