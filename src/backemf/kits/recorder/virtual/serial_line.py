"""Virtual servos and boards on a pseudo-terminal: they hear packets or lines and answer as real ones do, in
real time.

Packets are taken apart and put together as a servo sees them, in protocol 1 (Dynamixel, Feetech) and 2; the
masters' side is the makers' own packages. A servo is a control table on top of a joint of the plant.
"""

from __future__ import annotations

import math
import os
import select
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ....errors import NotAvailable
from ..registers import Map
from .plants import VirtualJoints, VirtualLine

PING, READ, WRITE, SYNC_READ, SYNC_WRITE = 0x01, 0x02, 0x03, 0x82, 0x83
REBOOT = 0x08
BROADCAST = 0xFE
LONGEST = 1024
"""A length above this is no packet, but noise that looks like one."""


class Packet(NamedTuple):
    """An instruction: to whom, what, and with which bytes; in protocol 2 addresses have two bytes."""

    id: int
    instruction: int
    content: bytes


class Framing(ABC):
    """How one protocol writes packets: a head, who it is for, how long it is, what it says, a checksum."""

    address_size: int
    head: bytes

    def take(self, buffer: bytearray) -> Packet | None:
        """The next whole packet, taken out of the buffer; None where there is none yet. What is no packet
        is thrown away."""
        while True:
            start = buffer.find(self.head)
            if start < 0:
                del buffer[: max(0, len(buffer) - len(self.head) + 1)]
                return None
            del buffer[:start]
            size = self._size(buffer)
            if size > len(buffer):
                return None
            packet = self._parse(bytes(buffer[:size])) if size else None
            del buffer[: size if packet else 1]
            if packet:
                return packet

    @abstractmethod
    def _size(self, buffer: bytearray) -> int:
        """Bytes of the packet that a buffer begins with, or those that must be there to know; 0 where it is
        none."""

    @abstractmethod
    def _parse(self, whole: bytes) -> Packet | None:
        """A packet taken apart; None where its checksum is wrong."""

    @abstractmethod
    def status(self, id: int, content: bytes, error: int = 0) -> bytes:
        """A whole status packet.

        Args:
            id: of the servo that answers.
            content: what was asked for.
            error: the bits that say what is wrong with it.

        Returns:
            The bytes on the wire.
        """

    def ping(self, model: int, firmware: int) -> bytes:
        """What a reply to a ping carries."""
        return b""


class ProtocolOne(Framing):
    """FF FF id length instruction ... checksum."""

    address_size = 1
    head = b"\xff\xff"

    def _size(self, buffer: bytearray) -> int:
        if len(buffer) < 4:
            return 4
        return 0 if buffer[2] == 0xFF or buffer[3] < 2 else 4 + buffer[3]

    def _parse(self, whole: bytes) -> Packet | None:
        sound = ~sum(whole[2:-1]) & 0xFF == whole[-1]
        return Packet(whole[2], whole[4], whole[5:-1]) if sound else None

    def status(self, id: int, content: bytes, error: int = 0) -> bytes:
        inside = bytes([id, len(content) + 2, error]) + content
        return self.head + inside + bytes([~sum(inside) & 0xFF])


class ProtocolTwo(Framing):
    """FF FF FD 00 id length length instruction ... crc crc, a FD put behind every FF FF FD inside."""

    address_size = 2
    head = b"\xff\xff\xfd\x00"

    def _size(self, buffer: bytearray) -> int:
        if len(buffer) < 7:
            return 7
        length = _int(buffer[5:7])
        return 7 + length if 3 <= length <= LONGEST else 0

    def _parse(self, whole: bytes) -> Packet | None:
        content = whole[8:-2].replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd")
        return Packet(whole[4], whole[7], content) if crc(whole[:-2]) == _int(whole[-2:]) else None

    def status(self, id: int, content: bytes, error: int = 0) -> bytes:
        inside = (b"\x55" + bytes([error]) + content).replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd")
        packet = self.head + bytes([id]) + (len(inside) + 2).to_bytes(2, "little") + inside
        return packet + crc(packet).to_bytes(2, "little")

    def ping(self, model: int, firmware: int) -> bytes:
        return model.to_bytes(2, "little") + bytes([firmware])


def _int(content: bytes | bytearray) -> int:
    return int.from_bytes(content, "little")


def _table() -> tuple[int, ...]:
    rows = []
    for byte in range(256):
        value = byte << 8
        for _ in range(8):
            value = ((value << 1) ^ 0x8005) if value & 0x8000 else value << 1
        rows.append(value & 0xFFFF)
    return tuple(rows)


_CRC = _table()


def crc(content: bytes) -> int:
    """CRC-16 with the polynomial 0x8005, as protocol 2 has it."""
    value = 0
    for byte in content:
        value = (value << 8) & 0xFFFF ^ _CRC[(value >> 8) ^ byte]
    return value


FRAMINGS: dict[str, Framing] = {
    "feetech": ProtocolOne(),
    "dynamixel1": ProtocolOne(),
    "dynamixel2": ProtocolTwo(),
}


class PseudoTerminal(VirtualLine):
    """A serial line: one end is held here, others open the other one by its name."""

    def __init__(self, plant: VirtualJoints, speed: float):
        super().__init__(plant, speed)
        try:
            import tty
        except ImportError:
            raise NotAvailable(
                "a virtual servo on a serial line needs a pseudo-terminal, which this system does not have;"
                " use Linux or macOS, or a CAN protocol: --protocol damiao"
            ) from None
        self.master, self._slave = os.openpty()
        for end in (self.master, self._slave):
            tty.setraw(end)
        self.name = os.ttyname(self._slave)

    def close(self) -> None:
        os.close(self._slave)
        os.close(self.master)

    def _read(self, seconds: float) -> bytes:
        """What has come, waited for so long; empty where nobody talks."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        try:
            return os.read(self.master, 4096) if ready else b""
        except OSError:
            return b""


IDLE = 0.02
"""Between looks at the clock while nobody talks [s]."""
BITS = 10
"""On the wire for each byte."""


class SerialLine(PseudoTerminal):
    """A bus of virtual servos. `speed` is how much faster than real their time runs."""

    def __init__(
        self, protocol: str, plant: VirtualJoints, devices: Mapping[int, Device], speed: float, baud: int
    ):
        super().__init__(plant, speed)
        self.framing, self.devices, self.baud = FRAMINGS[protocol], devices, baud
        self.random = np.random.default_rng(7)
        self.began: float | None = None
        self._buffer = bytearray()
        self._heard = time.monotonic()
        self._other = 0.0
        self._free = 0.0
        """When the wire is free again."""

    @property
    def now(self) -> float:
        """The plant's time; it begins with the first packet."""
        return 0.0 if self.began is None else self.speed * (time.monotonic() - self.began)

    def turn(self) -> None:
        content = self._read(IDLE)
        if content:
            self._buffer += content
            self._heard = time.monotonic()
            if self._deaf():
                self._buffer.clear()
            while (packet := self.framing.take(self._buffer)) is not None:
                if self.began is None:
                    self.began = time.monotonic()
                self.plant.advance(self.now)
                self.handle(packet)
        elif self.began is not None:
            self.plant.advance(self.now)
            for device in self.devices.values():
                device.refresh()
                device.watch(time.monotonic() - self._heard)
        self._second_master()

    def _deaf(self) -> bool:
        """Whether the master talks at another rate than the servos hear."""
        import termios

        code = termios.tcgetattr(self.master)[5]
        return code != getattr(termios, f"B{self.baud}", code)

    def _second_master(self) -> None:
        """Another program asks too, now and then, and its question is on the wire between the answers."""
        if self.faults.second_master and self.began is not None and self.now - self._other > 0.05:
            self._other = self.now
            os.write(self.master, bytes([0xFF, 0xFF, 1, 4, 2, 56, 2, 0xBE]))

    def handle(self, packet: Packet) -> None:
        """Do what a packet says, and answer."""
        n, content = self.framing.address_size, packet.content
        if packet.instruction in (SYNC_READ, SYNC_WRITE):
            if len(content) >= 2 * n:
                self._synchronous(
                    packet.instruction, _int(content[:n]), _int(content[n : 2 * n]), content[2 * n :]
                )
            return
        everybody = packet.id == BROADCAST
        for id in sorted(self.devices) if everybody else {packet.id} & self.devices.keys():
            device = self.devices[id]
            if packet.instruction == PING:
                self.reply(device, self.framing.ping(device.number, device.get("firmware")))
            elif packet.instruction == READ and len(content) == 2 * n:
                self.reply(device, device.read(_int(content[:n]), _int(content[n:])))
            elif packet.instruction == WRITE and len(content) > n:
                device.write(_int(content[:n]), content[n:])
                if not everybody:
                    self.reply(device, b"")
            elif packet.instruction == REBOOT:
                self.reply(device, b"")

    def _synchronous(self, instruction: int, address: int, length: int, rest: bytes) -> None:
        """Read or write the same registers of several servos."""
        if instruction == SYNC_READ:
            for id in rest:
                if id in self.devices and self.devices[id].table.sync_read:
                    self.reply(self.devices[id], self.devices[id].read(address, length))
            return
        for start in range(0, len(rest) - length, length + 1):
            if rest[start] in self.devices:
                self.devices[rest[start]].write(address, rest[start + 1 : start + 1 + length])

    def reply(self, device: Device, content: bytes) -> None:
        """A status packet, after the return delay and the time that it takes on the wire."""
        if self.faults.is_silent(self.now):
            return
        whole = self.framing.status(device.id, content, device.status)
        sent, later = self.faults.on_wire(whole, self.random)
        delay = device.table.scales["return_delay"].si(device.get("return_delay"))
        self._free = max(self._free, self._heard) + delay + later + BITS * len(whole) / self.baud
        time.sleep(max(0.0, self._free - time.monotonic()))  # one that woke late catches up
        os.write(self.master, sent)


PERIOD = 0.005
"""Between two rows [s]."""
HEAD = "# time[us],position[deg],velocity[rpm],current[mA],supply[V],temperature[degC]"
SILENCE = 0.5
"""It switches off by itself when it has heard nothing for so long [s]."""


class VirtualBoard(PseudoTerminal):
    """One joint."""

    def __init__(self, plant: VirtualJoints, speed: float, noise: float, seed: int):
        super().__init__(plant, speed)
        self.noise, self.random = noise, np.random.default_rng(seed)
        self.began = self._next_row = time.monotonic()
        self._buffer, self._listened = b"", False
        self._on, self._heard = False, 0.0

    def turn(self) -> None:
        content = self._read(max(0.0, self._next_row - time.monotonic()))
        self.plant.advance(self.speed * (time.monotonic() - self.began))
        *lines, self._buffer = (self._buffer + content).split(b"\n")
        for line in lines:
            self._heard = time.monotonic()
            self._take(line.decode("ascii", "replace").split())
        if self._on and time.monotonic() - self._heard > SILENCE:
            self._switch(False)
        if time.monotonic() >= self._next_row:
            self._next_row = max(self._next_row + PERIOD, time.monotonic())
            self._row()

    def _take(self, words: list[str]) -> None:
        self._listened = True
        if words == ["?"]:
            self._print(HEAD)
        elif len(words) == 2 and words[0] == "torque":
            self._switch(words[1] == "1")
            self._print(f"# torque {words[1]}")
        elif len(words) == 2 and words[0] == "goal":
            self.plant.ask(0, self.plant.target, float(words[1]))

    def _switch(self, on: bool) -> None:
        self._on = on
        self.plant.enable(0, on)

    def _row(self) -> None:
        if not self._listened or self.faults.is_silent(self.plant.time):
            return
        seen = self.plant.sensor_values(0)
        current = seen["current"] + 4e-3 * self.noise * float(self.random.standard_normal())
        self._print(
            f"{1e6 * self.plant.time / self.speed:.0f},{math.degrees(seen['position']):.3f},"
            f"{seen['velocity'] * 30 / math.pi:.2f},{1e3 * current:.0f},{seen['supply']:.2f},"
            f"{seen['temperature']:.0f}"
        )

    def _print(self, line: str) -> None:
        _, ready, _ = select.select([], [self.master], [], 0.0)
        if ready:  # nobody reads, as with a board whose port is closed
            os.write(self.master, f"{line}\r\n".encode())


NOISE = {"current": 4e-3, "velocity": 0.02, "supply": 0.03}
"""Standard deviation of what a sensor adds, in SI; a position is rounded to its count, nothing more."""
OVERLOAD_SPEED = 0.05
"""A joint slower than this at nearly full duty is overloaded [rad/s]."""
OVERLOAD = 5
"""Bit of the status that says so, in every table here."""


class Device:
    """Registers that read the physics and drive it. It never answers for another id."""

    def __init__(
        self, id: int, k: int, table: Map, number: int, plant: VirtualJoints, noise: float, seed: int
    ):
        self.id, self.k, self.table, self.plant, self.faults = id, k, table, plant, plant.faults
        self.number, self.model, self.noise = number, table.model(number), noise
        self.random = np.random.default_rng([seed, id])
        self.memory = bytearray(256)
        self._effects = {
            "torque_enable": self._switch,
            "goal": self._ask,
            **dict.fromkeys(table.gains.values(), self._tune),
        }
        """What is done once a register was written; another one only holds its number."""
        self._on = self._was_sagging = False
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
        """The count in a register."""
        r = self.table[name]
        return r.decode(bytes(self.memory[r.address : r.address + r.size]), big=self.table.big)

    def put(self, name: str, value: int) -> None:
        """A count into a register, by the servo itself: nothing follows from it."""
        r = self.table[name]
        self.memory[r.address : r.address + r.size] = r.encode(value, big=self.table.big)

    def leave(self, counts: Mapping[str, int]) -> None:
        """Registers as somebody left them before: in force, except for a goal that nobody follows."""
        for name, count in counts.items():
            self.put(name, count)
        self._tune()
        self._switch()

    def read(self, address: int, n: int) -> bytes:
        """So many bytes from an address on, measured now."""
        self.refresh()
        return bytes(self.memory[address : address + n])

    def write(self, address: int, content: bytes) -> None:
        """Store bytes, and do what follows from it; what is measured cannot be written."""
        start, n = self.table.block
        if start <= address < start + n:
            return
        self.memory[address : address + len(content)] = content
        for name, effect in self._effects.items():
            if address <= self.table[name].address < address + len(content):
                effect()

    def _switch(self) -> None:
        """One whose torque is switched on holds where it is, or follows the goal that it has."""
        was_on, self._on = self._on, bool(self.get("torque_enable"))
        if self._on and not was_on:
            if self.table.protocol == "dynamixel2":
                self.refresh()
                self.put("goal", self.get("position"))
            self._ask()
        self.plant.enable(self.k, self._on)

    def _cut(self) -> None:
        """Torque off by itself."""
        self.put("torque_enable", 0)
        self._switch()

    def _ask(self) -> None:
        low, high = self.get("position_low"), self.get("position_high")
        goal = self.get("goal")
        if high > low:
            goal = min(max(goal, low), high)
        self.plant.ask(self.k, "position_target", self.table.scales["position"].si(goal))

    def _tune(self) -> None:
        for path, name in self.table.gains.items():
            value = self.get(name)
            self.plant.gain(self.k, path, float(value))
            if path == "drive.proportional" and self._gain is not None:
                share = value / max(1, self.table.defaults.get(name, value) or 1)
                self.plant.gain(self.k, "drive.volts_per_radian", self._gain * share)

    def watch(self, silence: float) -> None:
        """The bus watchdog, where it has one: silence [s] stops it."""
        if self.table.watchdog is None:
            return
        name, unit = self.table.watchdog
        count = self.get(name)
        if 0 < count < 128 and silence > count * unit:
            self._cut()
            self.put(name, 0xFF)

    def _rest(self) -> None:
        """Torque off, the goal where it is: as after switching on."""
        self._cut()
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
            self._cut()
