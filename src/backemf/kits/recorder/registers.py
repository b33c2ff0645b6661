"""A servo's registers as plain tables: address, size, sign, and what one count is in SI."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ...errors import UnknownName

TWOS = -1
"""The sign of a register in two's complement; another number is the bit that holds it; None: unsigned."""
RPM = 2.0 * math.pi / 60.0


class Register(NamedTuple):
    """Where a number stands and how it is written."""

    address: int
    size: int
    sign: int | None = None

    def decode(self, content: bytes, *, big: bool = False) -> int:
        raw = int.from_bytes(content, "big" if big else "little")
        if self.sign is None:
            return raw
        if self.sign == TWOS:
            return raw - (1 << 8 * self.size) if raw >> (8 * self.size - 1) else raw
        return -(raw & ~(1 << self.sign)) if raw >> self.sign & 1 else raw

    def encode(self, value: int, *, big: bool = False) -> bytes:
        """The bytes of a number; one that does not fit is cut to what does."""
        bits = 8 * self.size
        if self.sign is None:
            raw = min(max(value, 0), (1 << bits) - 1)
        elif self.sign == TWOS:
            raw = min(max(value, -(1 << bits - 1)), (1 << bits - 1) - 1) % (1 << bits)
        else:
            size = min(abs(value), (1 << self.sign) - 1)
            raw = size | (1 << self.sign) if value < 0 else size
        return raw.to_bytes(self.size, "big" if big else "little")


class Scale(NamedTuple):
    """SI = factor * (count - zero)."""

    factor: float
    unit: str
    zero: float = 0.0

    def si(self, count: float) -> float:
        return self.factor * (count - self.zero)

    def count(self, value: float) -> int:
        return round(value / self.factor + self.zero)


class RegisterModel(NamedTuple):
    """What one model number stands for."""

    name: str
    """As the catalogue's parts begin that have this number."""
    ampere: float | None = None
    """One count of its current [A]; None: it has none, and the register is a load."""


@dataclass(frozen=True, kw_only=True)
class Map:
    """A family's control table, as its maker prints it."""

    name: str
    protocol: str
    """'feetech', 'dynamixel1' or 'dynamixel2'."""
    source: str
    registers: Mapping[str, Register]
    scales: Mapping[str, Scale]
    """What registers of the block are, by the name of the signal: position, velocity, duty, current,
    temperature, supply; and those of limits."""
    signals: Mapping[str, str]
    """Signal -> its register. They lie in one block, which one read brings."""
    models: Mapping[int, RegisterModel]
    counts_per_turn: int = 4096
    big: bool = False
    sync_read: bool = True
    defaults: Mapping[str, int] = field(default_factory=dict)
    """What a new servo holds, for the virtual one."""
    recording: Mapping[str, int] = field(default_factory=dict)
    """What is written before a recording, so that the firmware follows the goal as it is; it is restored."""
    mode: tuple[str, int, Mapping[int, str]] | None = None
    """(register, its value in the position mode, the other modes in words)."""
    watchdog: tuple[str, float] | None = None
    """(register of the bus watchdog, one count of it [s])."""
    gains: Mapping[str, str] = field(default_factory=dict)
    """Setting of an actuator -> the register that holds it."""
    status_bits: Mapping[int, str] = field(default_factory=dict)
    """What bits of a reply's error byte mean."""
    firmware: tuple[str, ...] = ("firmware",)
    kept: tuple[str, ...] = ()
    """Further registers that are read and stored with a log."""
    bauds: tuple[int, ...] = (1_000_000,)

    def __getitem__(self, name: str) -> Register:
        if name not in self.registers:
            raise UnknownName(f"register of {self.name}", name, self.registers)
        return self.registers[name]

    @property
    def block(self) -> tuple[int, int]:
        """(address, length) of the one read that brings every signal."""
        there = [self.registers[name] for name in self.signals.values()]
        start = min(r.address for r in there)
        return start, max(r.address + r.size for r in there) - start

    def in_block(self, content: bytes) -> dict[str, int]:
        """The counts of every signal in a block."""
        start, _ = self.block
        counts = {}
        for signal, name in self.signals.items():
            r = self.registers[name]
            part = content[r.address - start : r.address - start + r.size]
            counts[signal] = r.decode(part, big=self.big)
        return counts

    def scale(self, signal: str, model: RegisterModel) -> Scale | None:
        """What a count of a signal is on a model; None where the model has no such signal."""
        if signal != "current":
            return self.scales[signal]
        if model.ampere is None:
            return None
        return Scale(model.ampere, "A", self.scales["current"].zero)

    def model(self, number: int) -> RegisterModel:
        return self.models.get(number, RegisterModel(f"model {number}"))
