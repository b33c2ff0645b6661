"""One virtual servo: a control table on top of a joint of the plant."""

from __future__ import annotations

import numpy as np

from ..registers import Map
from .plants import Faults, VirtualPlant

NOISE = {"current": 4e-3, "velocity": 0.02, "supply": 0.03}
"""Standard deviation of what a sensor adds, in SI; a position is rounded to its count, nothing more."""
OVERLOAD_SPEED = 0.05
"""A joint slower than this at nearly full duty is overloaded [rad/s]."""
OVERLOAD = 5
"""Bit of the status that says so, in every table here."""


class Device:
    """Registers that read the physics and drive it. It never answers for another id."""

    def __init__(
        self,
        id: int,
        k: int,
        table: Map,
        number: int,
        plant: VirtualPlant,
        faults: Faults,
        noise: float,
        seed: int,
    ):
        self.id, self.k, self.table, self.plant, self.faults = id, k, table, plant, faults
        self.model, self.noise = table.model(number), noise
        self.random = np.random.default_rng([seed, id])
        self.memory = bytearray(256)
        self.number = number
        self._was_sagging = False
        self._gain = plant.actuator.parameters.get("drive.volts_per_radian")
        self._overloaded_since: float | None = None
        for name, value in table.defaults.items():
            self.put(name, value)
        self.put("model_number", number)
        self.put("id", id)
        self._rest()
        for path, name in table.gains.items():  # what the actuator was identified with
            value = plant.actuator.parameters.get(path)
            if value is not None:
                self.put(name, round(value))

    def get(self, name: str) -> int:
        r = self.table[name]
        return r.decode(bytes(self.memory[r.address : r.address + r.size]), big=self.table.big)

    def put(self, name: str, value: int) -> None:
        r = self.table[name]
        self.memory[r.address : r.address + r.size] = r.encode(value, big=self.table.big)

    def read(self, address: int, n: int) -> bytes:
        self.refresh()
        return bytes(self.memory[address : address + n])

    def write(self, address: int, content: bytes) -> int:
        """Store bytes; what they do to the plant follows. The reply's error byte."""
        before = self.get("torque_enable")
        start = self.table.block[0]
        if address >= start and address in range(start, start + self.table.block[1]):
            return 0 if self.table.protocol == "feetech" else 1 << 2  # what is measured cannot be written
        self.memory[address : address + len(content)] = content
        touched = range(address, address + len(content))
        if self._within("torque_enable", touched) and not before and self.get("torque_enable"):
            self._on()
        if self._within("goal", touched):
            self._ask()
        self._settings()
        return self.status

    def _within(self, name: str, touched: range) -> bool:
        return self.table[name].address in touched

    def _on(self) -> None:
        """A servo whose torque is switched on holds where it is, or follows the goal that it has."""
        if self.table.protocol == "dynamixel2":
            self.refresh()
            self.put("goal", self.get("position"))
        self._ask()

    def _ask(self) -> None:
        low, high = self.get("position_low"), self.get("position_high")
        goal = self.get("goal")
        if high > low:
            goal = min(max(goal, low), high)
        self.plant.ask(self.k, "position_target", self.table.scales["position"].si(goal))

    def _settings(self) -> None:
        self.plant.enable(self.k, bool(self.get("torque_enable")))
        for path, name in self.table.gains.items():
            value = self.get(name)
            self.plant.gain(self.k, path, float(value))
            if path == "drive.proportional" and self._gain is not None:
                share = value / max(1, self.table.defaults.get(name, value) or 1)
                self.plant.gain(self.k, "drive.volts_per_radian", self._gain * share)

    def _rest(self) -> None:
        """Torque off, the goal where it is: as after switching on."""
        self.put("torque_enable", 0)
        self.plant.enable(self.k, False)
        self.refresh()
        self.put("goal", self.get("position"))

    @property
    def status(self) -> int:
        bits = 0
        if self._overloaded_since == 0.0:
            bits |= 1 << OVERLOAD
        if self.faults.hot is not None and self.faults.hot > self.get("temperature_limit"):
            bits |= 1 << 2
        return 1 << 7 if bits and self.table.protocol == "dynamixel2" else bits

    def refresh(self) -> None:
        """What is measured now, in counts."""
        seen = self.plant.sensor_values(self.k)
        self._protect(seen)
        if self.plant.supply < 0.6 * self.plant.nominal:
            self._was_sagging = True
        elif self._was_sagging:  # it starts anew
            self._was_sagging = False
            self._rest()
        values = {
            "position": seen["position"] + (self._half_turn if self.faults.wrapped else 0.0),
            "velocity": seen["velocity"] + self._noise("velocity"),
            "duty": seen["voltage"] / max(seen["supply"], 1e-3),
            "current": seen["current"] * (-1.0 if self.faults.wrong_sign else 1.0) + self._noise("current"),
            "temperature": seen["temperature"] if self.faults.hot is None else self.faults.hot,
            "supply": seen["supply"] + self._noise("supply"),
        }
        for signal, name in self.table.signals.items():
            if signal not in values:
                continue
            scale = self.table.scale(signal, self.model)
            if scale is None:  # a load stands there, in tenths of a per cent
                count = round(1000.0 * values["duty"])
            else:
                count = scale.count(values[signal])
            if signal == "position" and (self.faults.wrapped or self.table[name].sign is None):
                count %= self.table.counts_per_turn
            self.put(name, count)
        if "status" in self.table.registers:
            self.put("status", self.status)

    def _noise(self, signal: str) -> float:
        return self.noise * NOISE[signal] * float(self.random.standard_normal()) if self.noise else 0.0

    @property
    def _half_turn(self) -> float:
        return 0.5 * self.table.counts_per_turn * self.table.scales["position"].factor

    def _protect(self, seen: dict[str, float]) -> None:
        """Overload: nearly full duty at standstill for too long switches the torque off."""
        if "protection_time" not in self.table.registers or not self.get("torque_enable"):
            if not self.get("torque_enable") and self._overloaded_since != 0.0:
                self._overloaded_since = None
            return
        share = self.get("overload_torque") / 100.0
        strained = abs(seen["voltage"]) > share * seen["supply"] and abs(seen["velocity"]) < OVERLOAD_SPEED
        if not strained:
            self._overloaded_since = None
        elif self._overloaded_since is None:
            self._overloaded_since = self.plant.time
        elif self.plant.time - self._overloaded_since > self.get("protection_time") / 100.0:
            self._overloaded_since = 0.0
            self.put("torque_enable", 0)
            self.plant.enable(self.k, False)
