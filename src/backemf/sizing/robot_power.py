"""A robot's recorded motion on one supply: bus current, sag and energy, what was not delivered, and when each
winding is too hot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..analysis.curves import time_to
from ..errors import InvalidValue, MissingValue, UnknownName
from ..figure import Curve, Figure, over_time
from ..findings import Finding, finding
from ..physics.actuator import Actuator
from ..physics.duty import JointSamples, torque_series
from ..physics.motor import Motor
from ..physics.quantity import present
from ..physics.supply import BUS, Supply, feed_joints, open_voltage
from ..signal.words import si, words
from ..tables import NotebookDisplay, Overview, number, table
from .choice import not_judged_words
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
    continuous_current: float | None
    """What all its motors stand for ever, as printed [A]; None: not known."""


@dataclass(frozen=True, kw_only=True, repr=False)
class PowerRun(NotebookDisplay):
    """A robot's motion on a supply."""

    name: str
    supply: Supply
    time: np.ndarray
    voltage: np.ndarray
    """Of the bus [V]."""
    current: np.ndarray
    """Out of the supply [A]."""
    sag: np.ndarray
    """What is missing of the open circuit's voltage at the charge that is left [V]."""
    joints: tuple[JointPower, ...]
    energy: Mapping[str, float]
    """[J]: source = internal + auxiliary + brake + pumped + copper + what the rotors get."""
    findings: tuple[Finding, ...]
    temperatures: Mapping[str, np.ndarray] = field(default_factory=dict)
    not_judged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By joint, what its part does not print: it counts as none, or "?" stands there."""
    left_out: tuple[str, ...] = ()
    """Joints of the recording that nothing was given for; they draw nothing."""

    @property
    def runtime(self) -> float | None:
        """Until the supply is empty, if this goes on [s]; None without a capacity."""
        mean = float(np.mean(self.current))
        if self.supply.capacity is None:
            return None
        return self.supply.charge * self.supply.capacity / mean if mean > 0 else math.inf

    def overview(self) -> Overview:
        return Overview(self.headline(), *self.cells(), self.findings)

    def cells(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Titles and rows of its joints."""
        head = (
            "joint",
            "A RMS",
            "% for ever",
            "heat [W]",
            "not delivered [N m]",
            "winding [degC]",
            "limit after",
        )
        rows = []
        for j in self.joints:
            share = (
                "?" if j.continuous_current is None else f"{100.0 * j.current_rms / j.continuous_current:.0f}"
            )
            hot = "?" if j.hottest is None else number(j.hottest, 3)
            numbers = (number(j.current_rms, 3), share, number(j.copper, 3), number(j.missing, 3))
            rows.append((j.name, *numbers, hot, _duration(j.seconds_to_limit)))
        return head, [*rows]

    def notes(self) -> list[str]:
        """Energy, how long the supply lasts, and what was not looked at."""
        book = ", ".join(f"{name} {number(x, 3)} J" for name, x in self.energy.items() if abs(x) > 0)
        lines, last = [f"Energy: {book}."], self.runtime
        lines += [] if last is None else [f"The supply lasts {_duration(last)} at this."]
        if self.left_out:
            lines.append(f"Nothing moves {', '.join(self.left_out)}: left out, as if they drew nothing.")
        if any(j.hottest is None or j.seconds_to_limit is None for j in self.joints):
            lines.append("?: how warm a winding becomes, and when too warm, nobody can say of its part.")
        return [*lines, *(not_judged_words(self.not_judged).splitlines() if self.not_judged else ())]

    def headline(self) -> str:
        """The bus in a sentence."""
        sag, I, seconds = self.sag, self.current, float(self.time[-1] - self.time[0])
        mean, least, most = (number(float(of(I)), 3) for of in (np.mean, np.min, np.max))
        usual, deepest = (float(of(sag)) for of in (np.mean, np.max))
        return (
            f"{self.name}, {number(seconds, 3)} s: {mean} A from the supply, {least} to {most}; sag"
            f" {number(usual, 3)} V, at most {number(deepest, 3)} V"
            f" ({100.0 * deepest / self.supply.voltage:.2g} %)"
        )

    def __str__(self) -> str:
        head, rows = self.cells()
        return "\n\n".join([self.headline(), table(rows, head), "\n".join(self.notes())])

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
        ends = {n: {"mean": np.mean(x), "least": np.min(x), "most": np.max(x)} for n, x in bus.items()}
        return {
            **{"bus": ends, "energy": dict(self.energy), "runtime": self.runtime},
            "joints": [joint._asdict() for joint in self.joints],
            "left_out": self.left_out,
            "not_judged": [{"part": name, "missing": list(m)} for name, m in self.not_judged.items()],
            "findings": self.findings,
        }


def _duration(seconds: float | None) -> str:
    if seconds is None or not math.isfinite(seconds):
        return "?" if seconds is None else "never"
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
    lasting: Mapping[str, float | None] | None = None,
    assumed: Sequence[str] = (),
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
        lasting: by joint, what each of its motors stands for ever, as printed [A].
        assumed: joints whose friction nobody printed or measured.

    Returns:
        The bus, every joint and the energy; `supply_collapses` is a finding.
    """
    state = _Columns([*actuators.values()], load, ambient, supply.voltage, limit)
    h = np.append(np.diff(load.time), load.time[-1] - load.time[-2])
    s, bus, period, energy, hot = supply.numbers, supply.begin(), float(h.sum()), dict[str, float](), {}
    book: Any = None
    currents: Any = None
    T: Any = None
    for turn in range(repeat):
        book, currents, R, T = _one_turn(state, s, bus, h, float(h[-1]) if turn else 0.0)
        _add_energy(energy, s, h, book, R * currents**2, state.E * currents)
        for j in np.flatnonzero(np.max(T, axis=0) > state.n["max_temperature"]):
            hot.setdefault(int(j), (turn * period, T[:, j].copy()))
    stands = {name: (lasting or {}).get(name) for name in actuators}
    joints, fed = state.joints(stands, currents, T[-1], h), dict(zip(BUS, book.T, strict=True))
    said = (*supply.findings(load.time - load.time[0], fed), *_joint_findings(state, joints, assumed, hot))
    return PowerRun(
        name=name,
        supply=supply,
        time=load.time,
        voltage=fed["voltage"],
        current=fed["current"],
        sag=np.array([open_voltage(s, used) for used in fed["used"]]) - fed["voltage"],
        joints=joints,
        energy=energy,
        findings=said,
        temperatures={name: T[:, j] for j, name in enumerate(actuators) if state.motors[j].thermal},
        not_judged={
            joint: gaps
            for joint, a in actuators.items()
            if (gaps := tuple(_gaps(a, joint in assumed, stands[joint] is not None)))
        },
    )


def _one_turn(state: _Columns, s: Any, bus: Any, h: np.ndarray, elapsed: float) -> tuple[np.ndarray, ...]:
    """The motion once: the bus, and by joint currents, resistances and temperatures of the windings."""
    shape = (len(h), len(state.motors))
    book, currents, R, T = np.empty((len(h), len(BUS))), *(np.empty(shape) for _ in range(3))
    for k, step in enumerate(h.tolist()):
        joints, R[k] = state.demand(k), state.R
        share = feed_joints(s, elapsed, step, bus, joints)
        book[k], elapsed = bus, step
        currents[k] = [share * one[6] for one in joints]
        T[k] = state.warm(currents[k], elapsed, k)
    return book, currents, R, T


def _gaps(actuator: Actuator, assumed: bool, lasting: bool) -> Iterator[str]:
    """What is not known of an actuator, in words; whether its friction is assumed, and a lasting current
    known."""
    motor = actuator.motor
    if not motor.rotor_inertia:
        yield "rotor inertia"
    if assumed or _moves_freely(actuator):
        yield "friction"
    if not lasting and (motor.thermal is None or motor.thermal.max_temperature is None):
        yield "lasting current"
    if motor.thermal is None:
        yield "thermal resistance"
    elif motor.thermal.max_temperature is None:
        yield "max winding temperature"


def _add_energy(e: dict[str, float], s: Sequence[float], h: Any, book: Any, copper: Any, work: Any) -> None:
    """The book of one turn [J]."""
    bus = dict(zip(BUS, book.T, strict=True))
    V, I = bus["voltage"], bus["current"]
    V_oc = np.array([open_voltage(s, used) for used in bus["used"]])
    stored = 0.5 * s[9] * (V**2 - bus["before"] ** 2)
    turn = {"source": h * V_oc * I, "internal": h * (V_oc - V) * I, "auxiliary": h * V * s[10]}
    turn |= {"brake": h * bus["brake"], "pumped": h * bus["unclaimed"] + stored}
    turn |= {"copper": h @ copper, "rotors": h @ work}
    for name, joules in turn.items():
        e[name] = e.get(name, 0.0) + float(np.sum(joules))


class _Columns:
    """Joints as arrays: what they ask for, and their heat."""

    def __init__(
        self,
        actuators: Sequence[Actuator],
        load: RobotMotionLoad,
        ambient: float,
        voltage: float,
        limit: float,
    ):
        rows = [numbers_of(a) for a in actuators]
        names = ("resistance", "torque_constant", "back_emf_constant", "rotor_inertia", "viscous", "friction")
        names = (*names, "iron_loss", "ratio", "efficiency", "alpha", "reference", "max_temperature")
        self.n = {name: np.array([row.get(name, math.nan) for row in rows], float) for name in names}
        self.n["rotor_inertia"] = np.nan_to_num(self.n["rotor_inertia"])
        self.load, self.voltage, self.limit, self.actuators = load, voltage, limit, actuators
        self.motors = [_surround(a.motor.in_parallel(a.gearbox.n_motors), ambient) for a in actuators]
        self.ratios = [a.gearbox.ratio for a in actuators]
        self.n_motors = [a.gearbox.n_motors for a in actuators]
        gears = {
            name: np.full(len(rows), x) for name, x in (("ratio", 1.0), ("efficiency", 1.0), ("inertia", 0.0))
        }
        r = reduction(self.n, gears)
        weight = np.full(len(load.time), 1.0 / len(load.time))
        asked, through, eta = np.empty_like(load.torque), np.empty_like(load.torque), self.n["efficiency"]
        for j in range(len(rows)):
            samples = JointSamples(load.acceleration[:, j], load.velocity[:, j], load.torque[:, j], weight)
            asked[:, j] = torque_series(samples, type(r)(*(x[j : j + 1] for x in r)))[0]
            through[:, j] = eta[j] ** samples.flow  # what gears leave of a torque, driving, braking, at rest
        self.asked = asked / self.n["torque_constant"]
        self.E = self.n["back_emf_constant"] * self.n["ratio"] * load.velocity
        self.output_torque = self.n["torque_constant"] * self.n["ratio"] * through
        # without a current loop the duty is given: what a full supply would take for the motion
        self.most_duty = np.array([limit if a.drive.hides_back_emf else 0.0 for a in actuators])
        self.nodes = [tuple(ambient for _ in (m.thermal.nodes if m.thermal else ())) for m in self.motors]
        self.overload = [0.0] * len(rows)
        self._settle()

    def _settle(self) -> None:
        """Warm resistances, and the most current that each drive allows now."""
        T = np.array([nodes[0] if nodes else math.nan for nodes in self.nodes])
        warm = 1.0 + self.n["alpha"] * (T - self.n["reference"])
        self.R = self.n["resistance"] * np.where(np.isnan(T), 1.0, warm)
        ceilings = (m.ceiling(t, x) for m, t, x in zip(self.motors, T, self.overload, strict=True))
        self.most = np.array([math.inf if i is None else float(i) for i in ceilings])

    def demand(self, k: int) -> list[list[float]]:
        """Rows of DEMAND at a sample."""
        i, E = np.clip(self.asked[k], -self.most, self.most), self.E[k]
        v, none = self.R * i + E, np.zeros(len(i))
        duty = np.clip(v / self.voltage, -self.limit, self.limit)
        return np.stack([v, i, E, self.R, duty, self.most_duty, none, none], axis=1).tolist()

    def warm(self, i: np.ndarray, h: float, k: int) -> np.ndarray:
        """Winding temperatures after a step."""
        copper = self.R * i * i
        for j, motor in enumerate(self.motors):
            if motor.thermal is not None:
                iron = motor.iron_heat(self.ratios[j] * self.load.velocity[k, j])
                after = motor.thermal.advance(self.nodes[j], float(copper[j]), float(iron), h)
                self.nodes[j] = tuple(float(x) for x in after)
            if motor.limits is not None and motor.has_peak_rule:
                self.overload[j] = float(motor.limits.overload_after(self.overload[j], float(i[j] ** 2), h))
        self._settle()
        return np.array([nodes[0] if nodes else math.nan for nodes in self.nodes])

    def joints(
        self, lasting: Mapping[str, float | None], i: np.ndarray, T: np.ndarray, h: np.ndarray
    ) -> tuple[JointPower, ...]:
        """Their summary; what each motor of each stands for ever [A], currents, last temperatures, steps."""
        missing = np.max(np.abs(self.output_torque * (self.asked - i)), axis=0)
        squares, found = np.average(i**2, axis=0, weights=h), []
        for j, (name, most) in enumerate(lasting.items()):
            square, heat, seconds = float(squares[j]), self.motors[j].thermal, None
            if heat is not None and heat.max_temperature is not None:
                until = float(
                    time_to(Actuator(motor=self.motors[j]), heat.max_temperature, math.sqrt(square))
                )
                seconds = math.inf if math.isnan(until) else until
            hottest, copper = None if heat is None else float(T[j]), float(self.n["resistance"][j]) * square
            total = None if most is None else most * self.n_motors[j]
            row = (math.sqrt(square), copper, float(missing[j]), hottest, seconds, total)
            found.append(JointPower(name, *row))
        return tuple(found)


def _surround(motor: Motor, ambient: float) -> Motor:
    """A motor in these surroundings."""
    return replace(motor, thermal=motor.thermal and replace(motor.thermal, ambient=ambient))


def _joint_findings(
    state: _Columns,
    joints: Sequence[JointPower],
    assumed: Sequence[str],
    hot: Mapping[int, tuple[float, Any]],
) -> Iterator[Finding]:
    """Of each joint: torque, lasting current, friction, and heat."""
    yield from _missing_findings(joints, state)
    yield from _lasting_findings(joints)
    yield from _friction_findings({j.name: a for j, a in zip(joints, state.actuators, strict=True)}, assumed)
    t = state.load.time - state.load.time[0]
    for j, (begun, winding) in hot.items():  # from cold, through the turn that was too much, to the end
        heat, last = present(state.motors[j].thermal), begun + 2.0 * t[-1] - t[-2]
        rows = ([0.0, *(begun + t), last], [heat.ambient, *winding, present(joints[j].hottest)])
        yield from heat.findings(*map(np.array, rows), joints[j].name)


def _moves_freely(actuator: Actuator) -> bool:
    return not float(actuator.friction.moving) and not actuator.friction.viscous


def _friction_findings(actuators: Mapping[str, Actuator], assumed: Sequence[str]) -> Iterator[Finding]:
    """Joints of whose friction nobody knows anything."""
    rows = (
        ([n for n, a in actuators.items() if _moves_freely(a)], "counts as none"),
        ([n for n in assumed if not _moves_freely(actuators[n])], "is assumed, as its sheet says"),
    )
    for names, how in rows:
        if names:
            text = f"nobody printed or measured the friction of {_and_others(names)}: it {how}."
            yield finding(
                "friction_unknown", text, "measure it (backemf measure), or give a fit of the robot"
            )


def _and_others(names: Sequence[str]) -> str:
    return names[0] + (f" and {len(names) - 1} other joints" if len(names) > 1 else "")


def _lasting_findings(joints: Sequence[JointPower]) -> Iterator[Finding]:
    """Joints that take more than their parts stand for ever."""
    rows = ((j, j.current_rms / j.continuous_current) for j in joints if j.continuous_current)
    beyond = sorted((row for row in rows if row[1] > 1.0), key=lambda row: -row[1])
    if beyond:
        worst, share = beyond[0]
        text = (
            f"{_and_others([j.name for j, _ in beyond])} take more than a part stands for ever:"
            f" {worst.name} {worst.current_rms:.3g} A RMS of {worst.continuous_current:.3g} A,"
            f" {100.0 * share:.0f} %."
        )
        remedy = "pauses, a gentler motion, or a stronger part: backemf size"
        yield finding("lasting_current_exceeded", text, remedy, share=share)


def _missing_findings(joints: Sequence[JointPower], state: _Columns) -> list[Finding]:
    """Torque that joints lack, and why the one that lacks most does."""
    top = float(np.max(np.abs(state.load.torque)))
    short = [j for j in range(len(joints)) if joints[j].missing > SHARE * top]
    if not short:
        return []
    j = max(short, key=lambda k: joints[k].missing)
    others = f", and {len(short) - 1} other joints lack some" if len(short) > 1 else ""
    most, asked = float(state.most[j]), float(np.max(np.abs(state.asked[:, j])))
    if asked > most:
        why = f"it would take {asked:.3g} A of {most:.3g} A"
        remedy = "a part with more peak current, a higher ratio, or a gentler motion"
    elif state.most_duty[j] == 0.0:
        why = f"its drive sets a duty, and the bus is below the {state.voltage:.4g} V that the duty is for"
        remedy = "a stiffer supply, or a drive that regulates its current"
    else:
        why = "the bus gives too little voltage or current for its speed"
        remedy = "a stiffer or higher supply, a lower ratio, or a gentler motion"
    text = f"{joints[j].name} lacks up to {joints[j].missing:.3g} N m{others}: {why}."
    return [finding("torque_missing", text, remedy)]


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
