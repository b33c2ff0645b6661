"""Packets as a servo sees them: protocol 1 (Dynamixel, Feetech) and protocol 2, taken apart and put
together. The masters' side is the makers' own packages."""

from __future__ import annotations

from typing import NamedTuple, Protocol

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


class Framing(Protocol):
    """How one protocol writes packets."""

    address_size: int

    def take(self, buffer: bytearray) -> Packet | None:
        """The next whole packet, taken out of the buffer; None where there is none yet. What is no packet
        is thrown away."""
        ...

    def status(self, id: int, content: bytes, error: int = 0) -> bytes: ...

    def ping(self, model: int, firmware: int) -> bytes:
        """What a reply to a ping carries."""
        ...


class One:
    """FF FF id length instruction ... checksum."""

    address_size = 1

    def take(self, buffer: bytearray) -> Packet | None:
        while True:
            start = buffer.find(b"\xff\xff")
            if start < 0:
                del buffer[: max(0, len(buffer) - 1)]
                return None
            del buffer[:start]
            if len(buffer) < 4:
                return None
            length = buffer[3]
            if buffer[2] == 0xFF or length < 2:
                del buffer[0]
                continue
            if len(buffer) < 4 + length:
                return None
            whole = bytes(buffer[: 4 + length])
            if ~sum(whole[2:-1]) & 0xFF != whole[-1]:
                del buffer[0]
                continue
            del buffer[: 4 + length]
            return Packet(whole[2], whole[4], whole[5:-1])

    def status(self, id: int, content: bytes, error: int = 0) -> bytes:
        inside = bytes([id, len(content) + 2, error]) + content
        return b"\xff\xff" + inside + bytes([~sum(inside) & 0xFF])

    def ping(self, model: int, firmware: int) -> bytes:
        return b""


class Two:
    """FF FF FD 00 id length length instruction ... crc crc, a FD put behind every FF FF FD inside."""

    address_size = 2
    HEAD = b"\xff\xff\xfd\x00"

    def take(self, buffer: bytearray) -> Packet | None:
        while True:
            start = buffer.find(self.HEAD)
            if start < 0:
                del buffer[: max(0, len(buffer) - 3)]
                return None
            del buffer[:start]
            if len(buffer) < 7:
                return None
            length = int.from_bytes(buffer[5:7], "little")
            if not 3 <= length <= LONGEST:
                del buffer[0]
                continue
            if len(buffer) < 7 + length:
                return None
            whole = bytes(buffer[: 7 + length])
            if crc(whole[:-2]) != int.from_bytes(whole[-2:], "little"):
                del buffer[0]
                continue
            del buffer[: 7 + length]
            return Packet(whole[4], whole[7], whole[8:-2].replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd"))

    def status(self, id: int, content: bytes, error: int = 0) -> bytes:
        inside = (b"\x55" + bytes([error]) + content).replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd")
        packet = self.HEAD + bytes([id]) + (len(inside) + 2).to_bytes(2, "little") + inside
        return packet + crc(packet).to_bytes(2, "little")

    def ping(self, model: int, firmware: int) -> bytes:
        return model.to_bytes(2, "little") + bytes([firmware])


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


FRAMINGS: dict[str, Framing] = {"feetech": One(), "dynamixel1": One(), "dynamixel2": Two()}
