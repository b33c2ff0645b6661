"""A robot's recorded motion on one supply: bus current, sag and energy, what was not delivered, and when each
winding is too hot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..analysis.curves import time_to
from ..errors import InvalidValue, MissingValue, UnknownName
from ..figure import Curve, Figure, over_time
from ..findings import Finding, finding
from ..physics.actuator import Actuator
from ..physics.duty import JointSamples, torque_series
from ..physics.supply import BusDemand, Supply, bus_power, held_share, solve_bus, voltage_after
from ..signal.words import si, words
from ..tables import NotebookDisplay, Overview, number, table
from .components import numbers_of
from .judge import reduction

WORDS = {
    **{
        "voc": "voltage",
        "v": "voltage",
        "empty": "empty_voltage",
        "r": "resistance",
        "r1": "slow_resistance",
    },
    **{"c1": "slow_capacitance", "soc": "charge", "fuse": "current_limit", "bms": "current_limit"},
    **{"charge_limit": "charge_limit", "c": "capacitance", "aux": "auxiliary_current"},
}
"""Short words of a supply."""
SHARE = 0.01
"""Of the greatest torque; less is not worth a word."""


def supply_of(text: str) -> Supply:
    """A supply from its words: "voc=29.6V r=80mohm capacity=8Ah fuse=60A".

    Args:
        text: numbers with units; names as `Supply` has them, or short.

    Raises:
        UnknownName: a word is none of a supply's.
    """
    _, given = words(f"supply {text}")
    units = {
        name: f.metadata["unit"] for name, f in Supply.__dataclass_fields__.items() if "unit" in f.metadata
    }
    values = {}
    for key, value in given.items():
        name = WORDS.get(key.lower(), key.lower())
        if name not in units:
            raise UnknownName("word of a supply", key, [*units, *WORDS])
        values[name] = si(value, units[name], f"{key} of the supply")
    if "voltage" not in values:
        raise MissingValue(f"the supply {text!r} has no voltage; expected voc=24V among its words")
    return Supply(**values)


class JointPower(NamedTuple):
    """One joint on the bus."""

    name: str
    current_rms: float
    """[A]"""
    copper: float
    """Mean heat of the winding [W]."""
    missing: float
    """Largest torque that was asked for and not delivered [N m]."""
    hottest: float | None
    """Winding at the end of all repetitions [degC]; None where nothing is known of its heat."""
    seconds_to_limit: float | None
    """Until its winding is at its limit, if this goes on; infinite: never; None: not known."""


@dataclass(frozen=True, kw_only=True, repr=False)
class PowerRun(NotebookDisplay):
    """A robot's motion on a supply."""

    name: str
    supply: Supply
    time: np.ndarray
    voltage: np.ndarray
    """Of the bus [V]; NaN where it collapsed."""
    current: np.ndarray
    """Out of the supply [A]."""
    joints: tuple[JointPower, ...]
    energy: Mapping[str, float]
    """[J]: source = internal + auxiliary + brake + pumped + copper + what the rotors get."""
    findings: tuple[Finding, ...]
    temperatures: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def sag(self) -> np.ndarray:
        """What is missing of the open circuit's voltage [V]."""
        return self.supply.voltage - self.voltage

    @property
    def runtime(self) -> float | None:
        """Until the supply is empty, if this goes on [s]; None without a capacity."""
        mean = float(np.nanmean(self.current))
        if self.supply.capacity is None:
            return None
        return self.supply.charge * self.supply.capacity / mean if mean > 0 else math.inf

    def overview(self) -> Overview:
        head = ("joint", "I RMS [A]", "heat [W]", "not delivered [N m]", "winding [degC]", "limit after [s]")
        rows = [tuple("?" if x is None else x for x in joint) for joint in self.joints]
        return Overview(self.headline(), head, rows, self.findings)

    def headline(self) -> str:
        """The bus in a sentence."""
        sag, I, seconds = self.sag, self.current, float(self.time[-1] - self.time[0])
        mean, least, most = (number(float(of(I)), 3) for of in (np.nanmean, np.nanmin, np.nanmax))
        usual, deepest = (float(of(sag)) for of in (np.nanmean, np.nanmax))
        return (
            f"{self.name}, {number(seconds, 3)} s: {mean} A from the supply, {least} to {most}; sag"
            f" {number(usual, 3)} V, at most {number(deepest, 3)} V"
            f" ({100.0 * deepest / self.supply.voltage:.2g} %)"
        )

    def __str__(self) -> str:
        rows = [
            (j.name, number(j.current_rms, 3), number(j.copper, 3), number(j.missing, 3), _heat(j), _limit(j))
            for j in self.joints
        ]
        head = ("joint", "A RMS", "heat [W]", "not delivered [N m]", "winding [degC]", "limit after")
        book = ", ".join(f"{name} {number(x, 3)} J" for name, x in self.energy.items() if abs(x) > 0)
        last = self.runtime
        lasts = "" if last is None else f"\nThe supply lasts {_duration(last)} at this."
        return f"{self.headline()}\n\n{table(rows, head)}\n\nEnergy: {book}.{lasts}"

    def figure(self) -> Figure:
        """Voltage and current of the bus, and the windings, over time."""
        t = self.time
        panels = [
            over_time("bus [V]", Curve(x=t, y=self.voltage, label="", color=0)),
            over_time("current [A]", Curve(x=t, y=self.current, label="", color=1)),
        ]
        warm = sorted(self.temperatures.items(), key=lambda row: -float(row[1][-1]))[:6]
        if warm:
            lines = [Curve(x=t, y=T, label=name) for name, T in warm]
            panels.append(over_time("winding [degC]", *lines))
        return Figure(title=f"{self.name} on one supply", panels=panels)

    def to_dict(self) -> dict[str, Any]:
        """As `--json` has it."""
        bus = {"voltage": self.voltage, "current": self.current, "sag": self.sag}
        ends = {
            n: {"mean": np.nanmean(x), "least": np.nanmin(x), "most": np.nanmax(x)} for n, x in bus.items()
        }
        return {
            **{"bus": ends, "energy": dict(self.energy), "runtime": self.runtime},
            "joints": [joint._asdict() for joint in self.joints],
            "findings": self.findings,
        }


def _heat(j: JointPower) -> str:
    return "?" if j.hottest is None else number(j.hottest, 3)


def _limit(j: JointPower) -> str:
    return "?" if j.seconds_to_limit is None else _duration(j.seconds_to_limit)


def _duration(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "never"
    return f"{number(seconds, 3)} s" if seconds < 120 else f"{number(seconds / 60.0, 3)} min"


class RobotMotionLoad(NamedTuple):
    """What joints do and give to their loads, (samples, joints)."""

    time: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    torque: np.ndarray


def run_on_supply(
    name: str,
    actuators: Mapping[str, Actuator],
    load: RobotMotionLoad,
    supply: Supply,
    *,
    ambient: float = 25.0,
    repeat: int = 1,
    limit: float = 1.0,
) -> PowerRun:
    """Joints that regulate their torque along a given motion, on one bus.

    Args:
        name: of the robot.
        actuators: by joint, in the columns' order.
        load: how they move and what they give to their loads.
        supply: what feeds them.
        ambient: temperature of the surroundings [degC].
        repeat: how often the motion is done; the last one is shown.
        limit: largest duty of the drives.

    Returns:
        The bus, every joint and the energy; `supply_collapses` is a finding.
    """
    n_steps, columns = len(load.time), _Columns([*actuators.values()], load, ambient)
    book, state = _Book(supply, n_steps), columns
    h = np.append(np.diff(load.time), load.time[-1] - load.time[-2])
    missing, squares = np.zeros_like(load.torque), np.zeros_like(load.torque)
    T = np.zeros_like(load.torque)
    for _ in range(repeat):
        for k in range(n_steps):
            d = state.demand(k, limit)
            i = book.step(k, d, float(h[k]))
            missing[k] = state.output_torque * (state.asked[k] - i)
            squares[k] = i * i
            T[k] = state.warm(i, float(h[k]), k)
    joints = tuple(
        state.joint(j, joint, squares[:, j], missing[:, j], T[-1, j], h) for j, joint in enumerate(actuators)
    )
    known = {joint: T[:, j] for j, joint in enumerate(actuators) if state.has_heat[j]}
    findings = [
        *book.findings(load.time),
        *_missing_findings(joints, load),
        *_hot_findings(actuators, load, T),
    ]
    return PowerRun(
        name=name,
        supply=supply,
        time=load.time,
        voltage=book.voltage,
        current=book.current,
        joints=joints,
        energy={**book.energy, "rotors": book.rotors},
        findings=tuple(findings),
        temperatures=known,
    )


class _Columns:
    """Joints as arrays: what they ask for, and their heat."""

    def __init__(self, actuators: Sequence[Actuator], load: RobotMotionLoad, ambient: float):
        rows = [numbers_of(a) for a in actuators]
        names = ("resistance", "torque_constant", "back_emf_constant", "rotor_inertia", "viscous", "friction")
        names = (*names, "ratio", "efficiency", "alpha", "reference", "max_temperature")
        self.n = {name: np.array([row.get(name, math.nan) for row in rows], float) for name in names}
        self.n["rotor_inertia"] = np.nan_to_num(self.n["rotor_inertia"])
        self.actuators, self.ambient, self.load = actuators, ambient, load
        gears = {
            name: np.full(len(rows), x) for name, x in (("ratio", 1.0), ("efficiency", 1.0), ("inertia", 0.0))
        }
        r = reduction(self.n, gears)
        weight = np.full(len(load.time), 1.0 / len(load.time))
        asked = np.empty_like(load.torque)
        for j in range(len(rows)):
            samples = JointSamples(load.acceleration[:, j], load.velocity[:, j], load.torque[:, j], weight)
            asked[:, j] = torque_series(samples, type(r)(*(x[j : j + 1] for x in r)))[0]
        self.asked = asked / self.n["torque_constant"]
        self.most = np.array([_most_current(a) for a in actuators])
        self.output_torque = self.n["torque_constant"] * self.n["ratio"] * self.n["efficiency"]
        self.has_heat = [a.motor.thermal is not None for a in actuators]
        self.nodes = [
            tuple(ambient for _ in a.motor.thermal.nodes) if a.motor.thermal else () for a in actuators
        ]
        self.R = self._warm_resistance()

    def _warm_resistance(self) -> np.ndarray:
        T = np.array([nodes[0] if nodes else math.nan for nodes in self.nodes])
        warm = 1.0 + self.n["alpha"] * (T - self.n["reference"])
        return self.n["resistance"] * np.where(np.isnan(T), 1.0, warm)

    def demand(self, k: int, limit: float) -> BusDemand:
        i = np.clip(self.asked[k], -self.most, self.most)
        E = self.n["back_emf_constant"] * self.n["ratio"] * self.load.velocity[k]
        return BusDemand(self.R * i + E, i, E, self.R, np.full(len(i), np.nan), limit)

    def warm(self, i: np.ndarray, h: float, k: int) -> np.ndarray:
        """Winding temperatures after a step."""
        copper = self.R * i * i
        for j, a in enumerate(self.actuators):
            heat = a.motor.thermal
            if heat is not None:
                iron = a.motor.iron_heat(a.gearbox.ratio * self.load.velocity[k, j])
                rise = heat.ambient - self.ambient
                nodes = tuple(x + rise for x in self.nodes[j])
                after = heat.advance(nodes, float(copper[j]), float(iron), h)
                self.nodes[j] = tuple(float(x) - rise for x in after)
        self.R = self._warm_resistance()
        return np.array([nodes[0] if nodes else math.nan for nodes in self.nodes])

    def joint(
        self, j: int, name: str, squares: np.ndarray, missing: np.ndarray, T: float, h: np.ndarray
    ) -> JointPower:
        """One joint's summary."""
        square, heat = float(np.average(squares, weights=h)), self.actuators[j].motor.thermal
        seconds = None
        if heat is not None and heat.max_temperature is not None:
            found = float(time_to(self.actuators[j], heat.max_temperature, math.sqrt(square)))
            seconds = math.inf if math.isnan(found) else found
        hottest = None if heat is None else T
        R = float(self.n["resistance"][j])
        return JointPower(
            name, math.sqrt(square), R * square, float(np.max(np.abs(missing))), hottest, seconds
        )


def _most_current(actuator: Actuator) -> float:
    limits = actuator.motor.limits
    return math.inf if limits is None or limits.largest_current is None else limits.largest_current


class _Book:
    """The supply over time, and where its energy goes."""

    def __init__(self, supply: Supply, n: int):
        self.supply, self.used = supply, (1.0 - supply.charge) * (supply.capacity or 0.0)
        self.slow, self.voltage, self.current = 0.0, np.full(n, np.nan), np.full(n, np.nan)
        names = ("source", "internal", "auxiliary", "brake", "pumped", "copper")
        self.energy = dict.fromkeys(names, 0.0)
        self.rotors, self.limited, self.highest = 0.0, 0, 0.0
        self.collapses: list[int] = []

    def step(self, k: int, d: BusDemand, h: float) -> np.ndarray:
        """A step of the bus; gives the joints' currents."""
        s, V_oc = self.supply, self.supply.open_voltage(self.used)
        behind = V_oc - self.slow
        bus = solve_bus(behind, s.resistance, s.auxiliary_current, d)
        if not bus.voltage >= 0.5 * behind:  # past the most power that it can give
            self.collapses.append(k)
        if math.isnan(bus.voltage):
            bus = bus._replace(voltage=behind - s.resistance * s.auxiliary_current)
        i, V = bus.i, bus.voltage
        current = bus_power(bus, d) / V + s.auxiliary_current
        if s.current_limit is not None and current > s.current_limit * (1.0 + 1e-12):
            i = i * held_share(s, behind, i, d)
            current, V = s.current_limit, behind - s.resistance * s.current_limit
            self.limited += 1
        power, back = float(np.sum((d.R * i + d.E) * i)), 0.0
        if s.charge_limit is not None and current < -s.charge_limit:
            current = -s.charge_limit
            V = behind - s.resistance * current
            back = -(power + V * (s.auxiliary_current - current))  # what nobody takes [W]
        self._write(k, h, i, d, V, V_oc, current, back)
        return i

    def _write(
        self,
        k: int,
        h: float,
        i: np.ndarray,
        d: BusDemand,
        V: float,
        V_oc: float,
        current: float,
        back: float,
    ) -> None:
        s, e = self.supply, self.energy
        e["source"] += h * V_oc * current
        e["internal"] += h * (V_oc - V) * current
        e["auxiliary"] += h * V * s.auxiliary_current
        e["brake" if s.brake is not None else "pumped"] += h * back
        if back > 0 and s.brake is None and s.capacitance is not None:
            V = voltage_after(V, h * back, s.capacitance)
        e["copper"] += h * float(np.sum(d.R * i * i))
        self.rotors += h * float(np.sum(d.E * i))
        self.highest = max(self.highest, V)
        self.voltage[k], self.current[k] = V, current
        self.used += h * current
        if s.slow_resistance is not None and s.slow_capacitance is not None:
            settled = s.slow_resistance * current
            self.slow = settled + (self.slow - settled) * math.exp(
                -h / (s.slow_resistance * s.slow_capacitance)
            )

    def findings(self, time: np.ndarray) -> list[Finding]:
        """What is to be said of the supply."""
        said, s = [], self.supply
        if self.collapses:
            k = self.collapses[0]
            text = (
                f"the supply collapses at {time[k] - time[0]:.3g} s, and in {len(self.collapses)} samples: it"
                " falls below half its voltage, where more current means less power."
            )
            said.append(
                finding("supply_collapses", text, "take a supply of less resistance, or ask for less")
            )
        if self.limited:
            text = f"the supply is at its limit of {s.current_limit:.4g} A in {self.limited} samples."
            said.append(finding("supply_limited", text, "take a larger one, or ask for less at once"))
        if self.highest > 1.2 * s.voltage:
            text = f"what is braked pumps the bus up to {self.highest:.3g} V, which nobody takes."
            said.append(
                finding("supply_pumped", text, "give it a brake resistor, or a battery that takes charge")
            )
        return said


def _missing_findings(joints: Sequence[JointPower], load: RobotMotionLoad) -> list[Finding]:
    top = float(np.max(np.abs(load.torque)))
    short = [j for j in joints if j.missing > SHARE * top]
    if not short:
        return []
    worst = max(short, key=lambda j: j.missing)
    text = f"{worst.name} lacks up to {worst.missing:.3g} N m, and {len(short) - 1} other joints lack some."
    return [finding("torque_missing", text, "look at the joint's peak current and at the bus voltage")]


def _hot_findings(actuators: Mapping[str, Actuator], load: RobotMotionLoad, T: np.ndarray) -> list[Finding]:
    said = []
    for j, (name, actuator) in enumerate(actuators.items()):
        if actuator.motor.thermal is not None:
            said += actuator.motor.thermal.findings(load.time, T[:, j], name)
    return said


def load_of(robot: Any, log: Any, joints: Sequence[str]) -> RobotMotionLoad:
    """How a robot's joints moved in a recording, and what they gave to their loads.

    Args:
        robot: a `Robot`.
        log: a recording of it.
        joints: those that are wanted, in this order.

    Returns:
        Smoothed motion, and torques by inverse dynamics.

    Raises:
        InvalidValue: a joint is not in the recording.
    """
    from ..mujoco.robot.robot_motion import joint_loads, motion_of

    absent = [name for name in joints if name not in log.joints]
    if absent:
        raise InvalidValue(f"{log.name} has no joint {absent[0]}; it has: {', '.join(log.joints)}")
    motion, columns = motion_of(robot, log), [robot.place(name) for name in joints]
    torque = joint_loads(robot, motion).torque[:, columns]
    return RobotMotionLoad(motion.time, motion.velocity[:, columns], motion.acceleration[:, columns], torque)
