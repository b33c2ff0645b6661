"""Virtual servos on a pseudo-terminal: they hear packets and answer as the real ones do, in real time."""

from __future__ import annotations

import math
import os
import select
import time
from collections.abc import Mapping

import numpy as np

from ..frames import BROADCAST, FRAMINGS, PING, READ, REBOOT, SYNC_READ, SYNC_WRITE, WRITE, Packet
from . import terminal
from .device import Device
from .faults import Faults
from .plant import Plant

IDLE = 0.02
"""Between looks at the clock while nobody talks [s]."""
BITS = 10
"""On the wire for each byte."""


class Line:
    """A bus of virtual servos. `speed` is how much faster than real their time runs."""

    def __init__(
        self,
        protocol: str,
        plant: Plant,
        devices: Mapping[int, Device],
        faults: Faults,
        speed: float,
        baud: int,
    ):
        self.framing, self.protocol = FRAMINGS[protocol], protocol
        self.plant, self.devices, self.faults = plant, devices, faults
        self.speed, self.baud = speed, baud
        self.master, self._slave, self.name = terminal.opened()
        self.random = np.random.default_rng(7)
        self.began: float | None = None
        self._heard = time.monotonic()
        self._other = 0.0
        self._free = 0.0
        """When the wire is free again."""

    @property
    def now(self) -> float:
        """The plant's time; it begins with the first packet."""
        return 0.0 if self.began is None else self.speed * (time.monotonic() - self.began)

    def run(self, seconds: float | None = None) -> None:
        """Serve until the process ends, or for some time."""
        until = math.inf if seconds is None else time.monotonic() + seconds
        try:
            self._run(until)
        finally:
            os.close(self._slave)
            os.close(self.master)

    def _run(self, until: float) -> None:
        buffer = bytearray()
        while time.monotonic() < until:
            ready, _, _ = select.select([self.master], [], [], IDLE)
            if ready:
                try:
                    buffer += os.read(self.master, 4096)
                except OSError:
                    continue
                self._heard = time.monotonic()
                if self._deaf():
                    buffer.clear()
                while (packet := self.framing.take(buffer)) is not None:
                    if self.began is None:
                        self.began = time.monotonic()
                    self.plant.advance(self.now)
                    self.handle(packet)
            elif self.began is not None:
                self.plant.advance(self.now)
                for device in self.devices.values():
                    device.refresh()
                self._watch()
            self._second_master()

    def _deaf(self) -> bool:
        """Whether the master talks at another rate than the servos hear."""
        import termios

        code = termios.tcgetattr(self.master)[5]
        return code != getattr(termios, f"B{self.baud}", code)

    def _watch(self) -> None:
        """The bus watchdog of servos that have one: silence stops them."""
        for device in self.devices.values():
            if device.table.watchdog is None:
                continue
            name, unit = device.table.watchdog
            count = device.get(name)
            if 0 < count < 128 and time.monotonic() - self._heard > count * unit:
                device.put("torque_enable", 0)
                self.plant.enable(device.k, False)
                device.put(name, 0xFF)

    def _second_master(self) -> None:
        """Another program asks too, now and then, and its question is on the wire between the answers."""
        if self.faults.second_master and self.began is not None and self.now - self._other > 0.05:
            self._other = self.now
            os.write(self.master, bytes([0xFF, 0xFF, 1, 4, 2, 56, 2, 0xBE]))

    def handle(self, packet: Packet) -> None:
        n, devices = self.framing.address_size, self.devices
        mine = [devices[packet.id]] if packet.id in devices else []
        if packet.id == BROADCAST:
            mine = [devices[i] for i in sorted(devices)]
        content = packet.content
        if packet.instruction == PING:
            for device in mine:
                self.reply(device, self.framing.ping(device.number, device.get("firmware")))
        elif packet.instruction == READ and len(content) == 2 * n:
            for device in mine:
                self.reply(device, device.read(_int(content[:n]), _int(content[n:])))
        elif packet.instruction == WRITE and len(content) > n:
            for device in mine:
                device.write(_int(content[:n]), content[n:])
                if packet.id != BROADCAST:
                    self.reply(device, b"")
        elif packet.instruction == SYNC_READ and len(content) >= 2 * n:
            address, length = _int(content[:n]), _int(content[n : 2 * n])
            for id in content[2 * n :]:
                if id in devices and devices[id].table.sync_read:
                    self.reply(devices[id], devices[id].read(address, length))
        elif packet.instruction == SYNC_WRITE and len(content) >= 2 * n:
            address, length = _int(content[:n]), _int(content[n : 2 * n])
            rest = content[2 * n :]
            for start in range(0, len(rest) - length, length + 1):
                if rest[start] in devices:
                    devices[rest[start]].write(address, rest[start + 1 : start + 1 + length])
        elif packet.instruction == REBOOT:
            for device in mine:
                self.reply(device, b"")

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


def _int(content: bytes) -> int:
    return int.from_bytes(content, "little")
