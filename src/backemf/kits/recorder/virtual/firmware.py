"""The firmware of a virtual servo: a control table on top of a joint of the plant.

It counts: goals and positions are whole numbers to it, and its law sees the error in counts, once a
millisecond. A goal is approached along the profile that its registers ask for. The arithmetic is
in physics/profile.py.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ....errors import BackemfWarning
from ....physics.maths import whole
from ....physics.profile import limit_error, profile_step, ramp_step
from ..registers import Map, Register
from .plants import IDLE, SHAPE, VirtualJoints

PERIOD = 1e-3
"""Between two looks of the firmware at its encoder [s]."""
NOISE = {"current": 4e-3, "velocity": 0.02, "supply": 0.03}
"""Standard deviation of what a sensor adds, in SI; a position is rounded to its count, nothing more."""
OVERLOAD_SPEED = 0.05
"""A joint slower than this at nearly full duty is overloaded [rad/s]; one that is slower stands still."""
OVERLOAD = 5
"""Bit of the status that says so, in every table here."""
OVERLOAD_SHARE, OVERLOAD_TIME = 0.8, 2.0
"""Of the full duty, and how long [s], where no register says so: the makers do not print them."""
HOT = 2
"""Bit of the status of a servo above its limit of temperature."""
SET_MIDDLE = 128
"""Written to a Feetech's torque switch: where it is now becomes the middle of its counter."""
HOMING = 1024
"""A Dynamixel in its position mode ignores a greater offset [counts] (ROBOTIS e-manual, Homing Offset)."""


class Device:
    """Registers that read the physics and drive it. It never answers for another id."""

    def __init__(
        self, id: int, k: int, table: Map, number: int, plant: VirtualJoints, noise: float, seed: int
    ):
        self.k, self.table, self.plant, self.faults = k, table, plant, plant.faults
        self.number, self.model, self.noise = number, table.model(number), noise
        self.random = np.random.default_rng([seed, id])
        self.memory = bytearray(256)
        self.registered: tuple[int, bytes] | None = None
        """What a reg-write left for the next action."""
        self.late: list[tuple[float, int]] = []
        """Goals on their way through the drive's delay: (when, count)."""
        self._effects = {
            "torque_enable": self._switch,
            "goal": self._take_goal,
            **dict.fromkeys(table.gains.values(), self._tune),
            **({table.mode[0]: self._hold} if table.mode else {}),
        }
        """What is done once a register was written; another one is looked at when it counts."""
        self._on = self._was_sagging = False
        self._gain = plant.actuator.parameters.get("drive.volts_per_radian")
        self._strained_since: float | None = None
        self._alarms = 0
        self._setpoint = self._speed = self._goal = 0.0
        """Of the profile, in counts of the encoder, and counts a second."""
        self._ticked = plant.time
        for name, value in table.defaults.items():
            self.put(name, value)
        self.put("model_number", number)
        self.put("id", id)
        for path, name in table.gains.items():  # what the actuator was identified with
            value = getattr(plant.drive(k), path.removeprefix("drive."), None)
            if value is not None:
                self.put(name, round(value))
        self._own = {name: getattr(plant.actuator.drive, name, None) for name in SHAPE}
        """What its firmware was identified with; the registers hold it at the start, where there are any."""
        for name, (path, unit) in self._shaping().items():
            value = self._own[path]
            self.put(name, count := 0 if value is None else max(1, round(value / unit)))
            if self.get(name) < count:
                _note(f"drive.{path} is {value:g}, and {name} holds {unit * self.get(name):.3g} at most")
        self._factory = bytes(self.memory)
        self._saved = bytearray(self.memory)
        """What is there again after the power was off."""
        self.reboot()

    def _shaping(self) -> dict[str, tuple[str, float]]:
        """Registers of what is done to goals and errors: (number of a drive, what a count of it is in SI)."""
        table, scales = self.table, self.table.scales
        speed, acceleration = table.profile
        rows = {name: ("deadband", scales["position"].factor) for name in table.dead_zone}
        if acceleration:
            rows[acceleration] = ("acceleration", scales["profile_acceleration"].factor)
        if speed != "goal_velocity":  # which asks a wheel to turn
            rows[speed] = ("slew", scales["profile_velocity"].factor)
        if table.start_duty:
            rows[table.start_duty] = ("punch", scales["duty"].factor * self._law()[0])
        return rows

    @property
    def id(self) -> int:
        """The id that it answers to."""
        return self.get("id")

    @property
    def baud(self) -> int:
        """The rate at which it listens; 0 where its register means none."""
        return self.table.rates.get(self.get("baud"), 0)

    @property
    def is_awake(self) -> bool:
        """Whether its law does anything."""
        return self._on

    @property
    def is_dynamixel(self) -> bool:
        """Whether it refuses what it cannot do; a Feetech is silent about that."""
        return self.table.protocol != "feetech"

    def get(self, name: str) -> int:
        """The count in a register."""
        return self._decode(self.table[name])

    def _decode(self, r: Register) -> int:
        return r.decode(bytes(self.memory[r.address : r.address + r.size]), big=self.table.big)

    def put(self, name: str, value: int) -> None:
        """A count into a register, by the servo itself: nothing follows from it."""
        r = self.table[name]
        self.memory[r.address : r.address + r.size] = r.encode(value, big=self.table.big)

    def leave(self, counts: Mapping[str, int]) -> None:
        """Registers as somebody left them before: in force, except for a goal that nobody follows."""
        for name, count in counts.items():
            self.put(name, count)
        self._save(0, self.table.ram)
        self._tune()
        self._switch()

    def listen_at(self, baud: int) -> None:
        """Be set to a baud rate, or the nearest that its register can say [bit/s]."""
        rates = self.table.rates
        self.put("baud", min(rates, key=lambda count: abs(rates[count] - baud)))
        self._save(0, self.table.ram)

    def _save(self, start: int, end: int) -> None:
        """Keep what stands between two addresses, as far as it can be kept."""
        end = max(start, min(end, self.table.ram))
        self._saved[start:end] = self.memory[start:end]

    def reboot(self) -> None:
        """As after switching on: torque off, the goal where it is, what is stored in force."""
        self.memory[:] = self._factory
        self.memory[: self.table.ram] = self._saved[: self.table.ram]
        if {"torque_limit", "torque_maximum"} <= self.table.registers.keys():
            self.put("torque_limit", self.get("torque_maximum"))
        self._alarms, self._strained_since, self.registered, self.late = 0, None, None, []
        self._tune()
        self._cut()
        self.refresh()
        self.put("goal", self.get("position"))

    def reset(self, keep: Iterable[str]) -> None:
        """Factory values, and a start with them.

        Args:
            keep: names of the registers that stay as they are.
        """
        kept = {name: self.get(name) for name in keep}
        self.memory[:] = self._factory
        if "id" not in kept:
            self.put("id", 1)
        for name, value in kept.items():
            self.put(name, value)
        self._save(0, self.table.ram)
        self.reboot()

    def read(self, address: int, n: int) -> bytes | None:
        """So many bytes from an address on, measured now; None where the table has ended before."""
        if address + n > len(self.memory):
            return None
        self.refresh()
        return bytes(self.memory[address : address + n])

    def write(self, address: int, content: bytes) -> str:
        """Store bytes, and do what follows from it.

        Args:
            address: of the first byte.
            content: the bytes.

        Returns:
            Why it was refused: "access", "range" or "limit"; empty where it was not. A Feetech refuses
            nothing: what cannot be written stays as it is.
        """
        end = address + len(content)
        if end > len(self.memory):
            return "range"
        spans = {name: (r.address, r.address + r.size) for name, r in self.table.registers.items()}
        asked = {name for name, (first, last) in spans.items() if first < end and address < last}
        fixed = {name for name in asked if self._is_fixed(name)}
        before, was_on = bytes(self.memory), self.get("torque_enable")
        if self.is_dynamixel and (fixed or self._is_locked(address)):
            return "access"
        self.memory[address:end] = content
        for first, last in (spans[name] for name in fixed):
            self.memory[first:last] = before[first:last]
        refused = self._refusal(asked) if self.is_dynamixel else ""
        if refused:
            self.memory[:] = before
        else:
            self._obey(asked, address, end, was_on)
        return refused

    def _obey(self, asked: set[str], address: int, end: int, was_on: int) -> None:
        """Keep what was written between two addresses, and do what follows from it."""
        if self.is_dynamixel or not self.get("lock"):
            self._save(address, end)
        if "torque_enable" in asked and self.get("torque_enable") == SET_MIDDLE and self.table.homing < 0:
            self.put("torque_enable", was_on)
            self._set_middle()
        for name in self._effects.keys() & asked:
            self._effects[name]()

    def _is_fixed(self, name: str) -> bool:
        return name in self.table.read_only or name in self.table.signals.values()

    def _is_locked(self, address: int) -> bool:
        """Whether what is stored cannot be written now: not while the torque is on."""
        closed = self._on or (self.table.protocol == "dynamixel1" and self.get("lock") == 1)
        return address < self.table.ram and closed

    def _refusal(self, asked: Iterable[str]) -> str:
        """What is wrong with registers that were just written to a Dynamixel."""
        for name in asked:
            low, high = self.table.takes.get(name, (-math.inf, math.inf))
            if not low <= self.get(name) <= high:
                return "range"
        if self.table.mode and self.table.mode[0] in asked and not self.kind:
            return "range"
        low, high = self.get("position_low"), self.get("position_high")
        if "goal" in asked and self.kind == "position" and high > low and not low <= self.get("goal") <= high:
            return "limit"
        if "torque_enable" in asked and self.get("torque_enable") and self._is_shut_down:
            return "fail"
        return ""

    @property
    def _is_shut_down(self) -> bool:
        return self.table.protocol == "dynamixel2" and bool(self._alarms & self.get("shutdown"))

    @property
    def kind(self) -> str:
        """The mode it is in, in words; empty where there is none for its register."""
        if self.table.mode is not None:
            name, position, words = self.table.mode
            count = self.get(name)
            return "position" if count == position else words.get(count, "")
        still = self.get("position_low") == self.get("position_high") == 0
        return self.table.wheel if still and self.table.wheel else "position"

    @property
    def _offset(self) -> int:
        """What is added to the encoder's count [counts]."""
        if not self.table.homing:
            return 0
        offset = self.get("homing_offset")
        ignored = self.is_dynamixel and self.kind == "position" and abs(offset) > HOMING
        return 0 if ignored else self.table.homing * offset

    def _encoder(self, position: float) -> int:
        """The encoder's count at a position [rad]."""
        scale = self.table.scales["position"]
        return int(whole(position / scale.factor + scale.zero))

    def _set_middle(self) -> None:
        actual = self._encoder(self.plant.motion(self.k)[0])
        self.put("homing_offset", actual - round(self.table.scales["position"].zero))
        r = self.table["homing_offset"]
        self._save(r.address, r.address + r.size)

    def _switch(self) -> None:
        """One whose torque is switched on holds where it is, or follows the goal that it has."""
        was_on, self._on = self._on, bool(self.get("torque_enable"))
        if self._on and not was_on:
            if self.table.protocol != "dynamixel2":
                self._alarms &= ~(1 << OVERLOAD)
            self._hold()
            if self.table.protocol == "dynamixel2":
                self.refresh()
                self.put("goal", self.get("position"))
            elif self.kind == "position":
                self._take_goal()
        self.plant.enable(self.k, self._on)

    def _hold(self) -> None:
        """Its setpoint is where it is, and stands."""
        self._goal = self._setpoint = float(self._encoder(self.plant.motion(self.k)[0]))
        self._speed, self.late = 0.0, []
        self._ticked = self.plant.time
        self._tune()

    def _cut(self) -> None:
        """Torque off by itself."""
        self.put("torque_enable", 0)
        self._switch()

    def _take_goal(self) -> None:
        """A new goal, inside the limits; it acts once the drive's delay has passed."""
        goal = self.get("goal")
        low, high = self.get("position_low"), self.get("position_high")
        if self.kind == "step":
            goal += round(self.late[-1][1] if self.late else self._goal)
        else:
            if high > low and self.kind == "position":
                goal = min(max(goal, low), high)
            goal -= self._offset
        self._alarms &= ~(1 << OVERLOAD) if not self.is_dynamixel else ~0
        delay = self.plant.actuator.drive.delay or 0.0
        if delay and self.plant.time:
            self.late.append((self.plant.time + delay, goal))
        else:
            self._goal = float(goal)

    def _tune(self) -> None:
        """The gains of the registers; of a mode that follows no position, those it came with."""
        for path, name in self.table.gains.items():
            r, value = self.table[name], self.get(name)
            usual = r.decode(self._factory[r.address : r.address + r.size], big=self.table.big)
            if "position" not in self.kind and self.kind != "step":
                value = usual
            own = path.removeprefix("drive.")
            known = own == "proportional" or getattr(self.plant.drive(self.k), own, None) is not None
            if value != usual and not known:
                _note(
                    f"{name} {value} does nothing here: what a count of it does is not known; give it:"
                    f" --set drive.firmware_{own}_gain={'0.1' if own == 'integral' else '0.001'}"
                )
            self.plant.gain(self.k, path, value or IDLE)
            if path == "drive.proportional" and self._gain is not None:
                share = value / max(1, self.table.defaults.get(name, value) or 1)
                self.plant.gain(self.k, "drive.volts_per_radian", self._gain * share)

    def tick(self, time: float) -> None:
        """One look of the firmware at a moment [s]: where is it, where should it be, and what follows."""
        h, self._ticked = time - self._ticked, time
        while self.late and self.late[0][0] <= time:
            self._goal = float(self.late.pop(0)[1])
        if not self._on or h <= 0.0:
            return
        q, w = self.plant.motion(self.k)
        factor, kind = self.table.scales["position"].factor, self.kind
        actual = self._encoder(q)
        full, damping = self._law()
        if kind in ("PWM", "current"):
            duty = self._asked_duty(w)
            self.plant.follow(self.k, q + w * h / 2.0 + full * duty + damping * w)
            return
        speed, acceleration = self._profile()
        if kind == "velocity":
            goal = self.table.scales["velocity"].si(self.get("goal_velocity")) / factor
            self._speed = float(ramp_step(self._speed, goal, acceleration, h))
            reach = full * self._duty_limit(w) / factor  # one that is held back does not wind up
            self._setpoint = min(max(self._setpoint + self._speed * h, actual - reach), actual + reach)
        else:
            step = profile_step(self._setpoint, self._speed, self._goal, speed, acceleration, h)
            self._setpoint, self._speed = float(step[0]), float(step[1])
        error, limit = self._error(q, full), self._duty_limit(w)
        if limit < 1.0:  # else the supply is the limit, and an integral goes on
            error = float(limit_error(error, w, full, damping, limit))
        self.plant.follow(self.k, q + error)

    def _error(self, position: float, full: float) -> float:
        """The error that the law is given [rad], by counts, dead zone and start-up duty; at `full` the duty
        is 1."""
        scale, table = self.table.scales["position"], self.table
        count = self._own["count"] or scale.factor
        goal = scale.factor * (self._setpoint - scale.zero)
        error = count * float(whole(goal / count) - whole(position / count))
        zone, punch = self._own["deadband"] or 0.0, self._own["punch"]
        kept = not zone or punch is not None  # whether an error beyond the zone counts as a whole
        if table.dead_zone:
            zone = scale.factor * self.get(table.dead_zone[error < 0.0])
        if table.start_duty:
            duty = self.get(table.start_duty)
            punch = table.scales["duty"].factor * duty * full if duty else None
        if abs(error) <= zone:
            return 0.0
        return error + math.copysign(1.0, error) * (punch or (0.0 if kept else -zone))

    def _law(self) -> tuple[float, float]:
        """(error at which the duty is 1 [rad], time by which the law looks ahead [s]) of the drive now."""
        drive = self.plant.drive(self.k)
        loop = drive.loop
        if loop is None or loop.effort != "V" or not loop.proportional:
            return math.inf, 0.0
        ahead = 0.0 if drive.setpoint_lag is not None else loop.derivative / loop.proportional
        return self.plant.nominal / loop.proportional, ahead

    def _profile(self) -> tuple[float | None, float | None]:
        """(speed [counts/s], acceleration [counts/s^2]) that the setpoint keeps; None for any. A speed of 0
        is as fast as the firmware goes."""
        factor = self.table.scales["position"].factor
        speed, acceleration = (abs(self.get(name)) if name else 0 for name in self.table.profile)
        fastest = self.table.scales["profile_velocity"].si(speed) if speed else self._own["slew"]
        if acceleration:
            quickest = self.table.scales["profile_acceleration"].si(acceleration)
        else:
            quickest = None if self.table.profile[1] else self._own["acceleration"]
        return fastest and fastest / factor, quickest and quickest / factor

    def _duty_limit(self, velocity: float) -> float:
        """Greatest duty now, 1 for all of the supply; `velocity` of the output [rad/s]."""
        names = [n for n in self.table.duty_limits if not (self.kind == "PWM" and n.startswith("goal"))]
        limit = min((self.table.scales["duty"].si(abs(self.get(name))) for name in names), default=1.0)
        if self._alarms >> OVERLOAD & 1 and "protective_torque" in self.table.registers:
            limit = min(limit, self.get("protective_torque") / 100.0)
        if self.kind == "current-based position":
            limit = min(limit, self._current_duty(abs(self._goal_current), abs(velocity)))
        return limit

    @property
    def _goal_current(self) -> float:
        return (self.model.ampere or 0.0) * self.get("goal_current")

    def _current_duty(self, current: float, velocity: float) -> float:
        """The duty that drives a current [A] at a velocity of the output [rad/s]."""
        motor, gearbox = self.plant.actuator.motor, self.plant.actuator.gearbox
        emf = motor.back_emf_at(None) * abs(gearbox.ratio) * velocity
        return (motor.resistance * current + emf) / self.plant.nominal

    def _asked_duty(self, velocity: float) -> float:
        limit = self._duty_limit(velocity)
        if self.kind == "current":
            asked = self._current_duty(self._goal_current, velocity)
        else:
            assert self.table.duty_goal is not None
            asked = self.table.scales["duty"].si(self._decode(self.table.duty_goal))
        return min(max(asked, -limit), limit)

    def watch(self, silence: float) -> None:
        """The bus watchdog, where it has one: silence [s] stops it."""
        if self.table.watchdog is None:
            return
        name, unit = self.table.watchdog
        count = self.get(name)
        if 0 < count < 128 and silence > count * unit:
            self._cut()
            self.put(name, 0xFF)

    @property
    def status(self) -> int:
        """The bits of a reply that say what is wrong with it."""
        bits = self.alarms
        return 1 << 7 if bits and self.table.protocol == "dynamixel2" else bits

    @property
    def alarms(self) -> int:
        """What is wrong with it, a bit each; the bits are the same in every table here."""
        hot = self.faults.hot is not None and self.faults.hot > self.get("temperature_limit")
        return self._alarms | (1 << HOT if hot else 0)

    def refresh(self) -> None:
        """What is measured now, in counts."""
        seen = self.plant.sensor_values(self.k)
        self._protect(seen)
        if self.plant.supply < 0.6 * self.plant.nominal:
            self._was_sagging = True
        elif self._was_sagging:  # it starts anew
            self._was_sagging = False
            self.reboot()
        values = {
            "position": seen["position"] + (self._half_turn if self.faults.wrapped else 0.0),
            "velocity": seen["velocity"] + self._noise("velocity"),
            "duty": seen["voltage"] / seen["supply"],
            "current": seen["current"] * (-1.0 if self.faults.wrong_sign else 1.0) + self._noise("current"),
            "temperature": seen["temperature"] if self.faults.hot is None else self.faults.hot,
            "supply": seen["supply"] + self._noise("supply"),
        }
        for signal, name in self.table.signals.items():
            if signal not in values:
                continue
            scale = self.table.scale(signal, self.model)
            if signal == "position":
                count = self._encoder(values[signal]) + self._offset
            elif scale is None:  # a load stands there, in tenths of a per cent
                count = round(1000.0 * values["duty"])
            else:
                count = scale.count(values[signal])
            if signal == "position" and (self.faults.wrapped or self.table[name].sign is None):
                count %= self.table.counts_per_turn
            self.put(name, count)
        self._tell(abs(seen["velocity"]))

    def _tell(self, speed: float) -> None:
        """What the firmware knows of itself, in the registers that its table has; speed in rad/s."""
        threshold = OVERLOAD_SPEED
        if "moving_threshold" in self.table.registers:
            threshold = self.table.scales["velocity"].si(self.get("moving_threshold"))
        under_way = self._on and bool(self.late or (self._setpoint != self._goal and "position" in self.kind))
        scale = self.table.scales
        told = {
            "moving": int(under_way or speed > threshold),
            "moving_status": int(not under_way) | int(under_way) << 1,
            "registered": int(self.registered is not None),
            "status": self.alarms,
            "hardware_error": self.alarms,
            "position_trajectory": round(self._setpoint) + self._offset,
            "velocity_trajectory": round(self._speed * scale["position"].factor / scale["velocity"].factor),
        }
        for name in told.keys() & self.table.registers.keys():
            self.put(name, told[name])

    def _noise(self, signal: str) -> float:
        return self.noise * NOISE[signal] * float(self.random.standard_normal()) if self.noise else 0.0

    @property
    def _half_turn(self) -> float:
        return 0.5 * self.table.counts_per_turn * self.table.scales["position"].factor

    def _protect(self, seen: dict[str, float]) -> None:
        """Overload: nearly full duty at standstill for too long switches the torque off, or lessens it."""
        registers = self.table.registers
        share, longest = OVERLOAD_SHARE, OVERLOAD_TIME
        if "protection_time" in registers:
            share, longest = self.get("overload_torque") / 100.0, self.get("protection_time") / 100.0
        strained = abs(seen["voltage"]) > share * seen["supply"] and abs(seen["velocity"]) < OVERLOAD_SPEED
        if not (strained and self._on):
            self._strained_since = None
        elif self._strained_since is None:
            self._strained_since = self.plant.time
        elif self.plant.time - self._strained_since > longest:
            self._strained_since = None
            self._alarms |= 1 << OVERLOAD
            condition = next((n for n in ("shutdown", "unloading_condition") if n in registers), "")
            if not condition or self.get(condition) >> OVERLOAD & 1:
                self._cut()


def _note(text: str) -> None:
    warnings.warn(BackemfWarning(text), stacklevel=2)


def advance_devices(plant: VirtualJoints, devices: Sequence[Device], time: float) -> None:
    """Step the physics up to a moment, with every firmware looking on its way.

    Args:
        plant: the joints.
        devices: the servos on them.
        time: of the plant [s].
    """
    now = plant.time
    while now < time:
        awake = [device for device in devices if device.is_awake]
        due = [device.late[0][0] for device in awake if device.late]
        now = min([time, now + PERIOD, *(max(when, now + 1e-6) for when in due)] if awake else [time])
        plant.advance(now)
        for device in awake:
            device.tick(now)
