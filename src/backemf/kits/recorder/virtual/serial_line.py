"""Virtual servos and boards on a pseudo-terminal: they hear packets or lines and answer as real ones do, in
real time.

Packets are taken apart and put together as a servo sees them, in protocol 1 (Dynamixel, Feetech) and 2; the
masters' side is the makers' own packages. What a servo does with them is in firmware.py.
"""

from __future__ import annotations

import math
import os
import platform
import select
import struct
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ....errors import NotAvailable
from .firmware import Device, advance_devices
from .plants import VirtualJoints, VirtualLine

PING, READ, WRITE, REG_WRITE, ACTION, RESET, REBOOT = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x08
SYNC_READ, SYNC_WRITE, BULK_READ, BULK_WRITE = 0x82, 0x83, 0x92, 0x93
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
    errors: Mapping[str, int] = {}
    """What a status says of an instruction that was refused, by the reason."""
    spoken: frozenset[int] = frozenset()
    """Instructions that its servos know."""

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

    @abstractmethod
    def bulk(self, content: bytes) -> list[tuple[int, int, int]]:
        """(id, address, length) of everything that a bulk read asks for."""

    @abstractmethod
    def reset_exceptions(self, content: bytes) -> tuple[str, ...]:
        """Registers that a factory reset leaves as they are."""


class ProtocolOne(Framing):
    """FF FF id length instruction ... checksum, as Feetech has it: it refuses nothing in words."""

    address_size = 1
    head = b"\xff\xff"
    spoken = frozenset({PING, READ, WRITE, REG_WRITE, ACTION, RESET, REBOOT, SYNC_READ, SYNC_WRITE})

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

    def bulk(self, content: bytes) -> list[tuple[int, int, int]]:
        rows = [content[n : n + 3] for n in range(1, len(content) - 2, 3)]
        return [(id, address, length) for length, id, address in rows]

    def reset_exceptions(self, content: bytes) -> tuple[str, ...]:
        return ("id", "baud")


class DynamixelFramingOne(ProtocolOne):
    """The same with ROBOTIS' bits of errors (e-manual, protocol 1.0, status packet) and bulk read."""

    errors = {
        **{"limit": 1 << 1, "range": 1 << 3, "length": 1 << 3, "access": 1 << 3},
        **{"instruction": 1 << 6, "fail": 1 << 6},
    }
    spoken = (ProtocolOne.spoken - {SYNC_READ}) | {BULK_READ}

    def reset_exceptions(self, content: bytes) -> tuple[str, ...]:
        return ()


class ProtocolTwo(Framing):
    """FF FF FD 00 id length length instruction ... crc crc, a FD put behind every FF FF FD inside."""

    address_size = 2
    head = b"\xff\xff\xfd\x00"
    errors = {"fail": 1, "instruction": 2, "crc": 3, "range": 4, "length": 5, "limit": 6, "access": 7}
    spoken = ProtocolOne.spoken | {BULK_READ, BULK_WRITE}

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

    def bulk(self, content: bytes) -> list[tuple[int, int, int]]:
        rows = [content[n : n + 5] for n in range(0, len(content) - 4, 5)]
        return [(row[0], _int(row[1:3]), _int(row[3:5])) for row in rows]

    def reset_exceptions(self, content: bytes) -> tuple[str, ...]:
        return {b"\x01": ("id",), b"\x02": ("id", "baud")}.get(content, ())


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
    "dynamixel1": DynamixelFramingOne(),
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


NEAR = 0.03
"""Share by which two baud rates may differ and still be understood."""


class SerialLine(PseudoTerminal):
    """A bus of virtual servos. `speed` is how much faster than real their time runs."""

    def __init__(self, protocol: str, plant: VirtualJoints, devices: Sequence[Device], speed: float):
        super().__init__(plant, speed)
        self.framing, self.devices = FRAMINGS[protocol], list(devices)
        self.random = np.random.default_rng(7)
        self.began: float | None = None
        self._buffer = bytearray()
        self._heard = time.monotonic()
        self._other = 0.0
        self._free = 0.0
        """When the wire is free again."""
        self._rate: int | None = None
        """Of the master; None where this system does not say it."""

    @property
    def now(self) -> float:
        """The plant's time; it begins with the first packet."""
        return 0.0 if self.began is None else self.speed * (time.monotonic() - self.began)

    def turn(self) -> None:
        content = self._read(IDLE)
        if content:
            self._buffer += content
            self._heard = time.monotonic()
            self._rate = line_rate(self.master)
            if not any(map(self._hears, self.devices)):
                self._buffer.clear()
            while (packet := self.framing.take(self._buffer)) is not None:
                if self.began is None:
                    self.began = time.monotonic()
                advance_devices(self.plant, self.devices, self.now)
                self.handle(packet)
        elif self.began is not None:
            advance_devices(self.plant, self.devices, self.now)
            for device in self.devices:
                device.refresh()
                device.watch(time.monotonic() - self._heard)
        self._second_master()

    def _hears(self, device: Device) -> bool:
        """Whether the master talks at the rate at which a servo listens."""
        return self._rate is None or abs(self._rate - device.baud) <= NEAR * device.baud

    def _second_master(self) -> None:
        """Another program asks too, now and then, and its question is on the wire between the answers."""
        if self.faults.second_master and self.began is not None and self.now - self._other > 0.05:
            self._other = self.now
            os.write(self.master, bytes([0xFF, 0xFF, 1, 4, 2, 56, 2, 0xBE]))

    def handle(self, packet: Packet) -> None:
        """Do what a packet says, and answer."""
        everybody = packet.id == BROADCAST
        hearing = sorted((one for one in self.devices if self._hears(one)), key=lambda one: one.id)
        if packet.instruction in TOGETHER and packet.instruction in self.framing.spoken:
            self._together(packet, {one.id: one for one in hearing})
            return
        for device in hearing:
            if not everybody and device.id != packet.id:
                continue
            id, baud = device.id, device.baud  # it answers as it was asked, and changes then
            content, wrong = self._obey(device, packet)
            if everybody and packet.instruction != PING:
                continue
            if packet.instruction == PING or device.get("response_level") >= self._level(packet, device):
                self.reply(device, content, wrong, id, baud)

    @staticmethod
    def _level(packet: Packet, device: Device) -> int:
        """From which level of its register on a servo answers: reads, and everything."""
        return int(packet.instruction != READ) + int(device.is_dynamixel)

    def _obey(self, device: Device, packet: Packet) -> tuple[bytes, str]:
        """(what a servo answers to what it was asked alone, why it refused)."""
        n, content, kind = self.framing.address_size, packet.content, packet.instruction
        if kind not in self.framing.spoken or kind in TOGETHER:
            return b"", "instruction"
        if kind == PING:
            return self.framing.ping(device.number, device.get("firmware")), ""
        if kind == READ:
            if len(content) != 2 * n:
                return b"", "length"
            found = device.read(_int(content[:n]), _int(content[n:]))
            return (b"", "range") if found is None else (found, "")
        if kind in (WRITE, REG_WRITE):
            if len(content) <= n:
                return b"", "length"
            if kind == WRITE:
                return b"", device.write(_int(content[:n]), content[n:])
            device.registered = _int(content[:n]), content[n:]
        elif kind == ACTION and device.registered is not None:
            registered, device.registered = device.registered, None
            return b"", device.write(*registered)
        elif kind == RESET:
            device.reset(self.framing.reset_exceptions(content))
        elif kind == REBOOT:
            device.reboot()
        return b"", ""

    def _together(self, packet: Packet, devices: Mapping[int, Device]) -> None:
        """Read or write registers of several servos: the same ones, or in bulk those of each."""
        for id, address, length in self._reads(packet):
            if id in devices and (packet.instruction != SYNC_READ or devices[id].table.sync_read):
                found = devices[id].read(address, length)
                wrong = "range" if found is None else ""
                self.reply(devices[id], found or b"", wrong, id, devices[id].baud)
        for id, address, part in self._writes(packet):
            if id in devices:
                devices[id].write(address, part)

    def _reads(self, packet: Packet) -> list[tuple[int, int, int]]:
        """(id, address, length) of everything that is to be read."""
        n, content = self.framing.address_size, packet.content
        if packet.instruction == SYNC_READ:
            return [(id, _int(content[:n]), _int(content[n : 2 * n])) for id in content[2 * n :]]
        return self.framing.bulk(content) if packet.instruction == BULK_READ else []

    def _writes(self, packet: Packet) -> list[tuple[int, int, bytes]]:
        """(id, address, bytes) of everything that is to be written."""
        n, content, writes = self.framing.address_size, packet.content, list[tuple[int, int, bytes]]()
        if packet.instruction == SYNC_WRITE:
            address, length, rest = _int(content[:n]), _int(content[n : 2 * n]), content[2 * n :]
            for start in range(0, len(rest) - length, length + 1):
                writes.append((rest[start], address, rest[start + 1 : start + 1 + length]))
        while packet.instruction == BULK_WRITE and len(content) > 5:
            end = 5 + _int(content[3:5])
            writes.append((content[0], _int(content[1:3]), content[5:end]))
            content = content[end:]
        return writes

    def reply(self, device: Device, content: bytes, wrong: str, id: int, baud: int) -> None:
        """A status packet, after the return delay and the time that it takes on the wire.

        Args:
            device: that answers.
            content: what was asked for.
            wrong: why it refused, as `Framing.errors` names it; empty where it did not.
            id: under which it answers.
            baud: at which it answers.
        """
        if self.faults.is_silent(self.now):
            return
        whole = self.framing.status(id, content, device.status | self.framing.errors.get(wrong, 0))
        sent, later = self.faults.on_wire(whole, self.random)
        delay = device.table.scales["return_delay"].si(device.get("return_delay"))
        self._free = max(self._free, self._heard) + delay + later + BITS * len(whole) / max(baud, 1)
        time.sleep(max(0.0, self._free - time.monotonic()))  # one that woke late catches up
        os.write(self.master, sent)


TOGETHER = frozenset({SYNC_READ, SYNC_WRITE, BULK_READ, BULK_WRITE})


def line_rate(device: int) -> int | None:
    """The baud rate that a terminal is set to, whichever way a program sets it; None where nobody says.

    Args:
        device: descriptor of either end of a pseudo-terminal.
    """
    import fcntl
    import termios

    if sys.platform.startswith("linux") and platform.machine() in ("x86_64", "aarch64", "i686", "armv7l"):
        settings = fcntl.ioctl(device, TCGETS2, bytes(TERMIOS2.size))
        return int(TERMIOS2.unpack(settings)[-1])
    code = termios.tcgetattr(device)[5]
    codes = {
        getattr(termios, name): int(name[1:])
        for name in dir(termios)
        if name[:1] == "B" and name[1:].isdigit()
    }
    return codes.get(code)


TCGETS2, TERMIOS2 = 0x802C542A, struct.Struct("=4I20s2I")
"""Linux, asm-generic: `struct termios2` ends with the speeds as numbers, where BOTHER stands for the code."""


ROW = 0.005
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
            self._next_row = max(self._next_row + ROW, time.monotonic())
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
