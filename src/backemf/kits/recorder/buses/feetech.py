"""Feetech STS and SCS servos, through the package feetech-servo-sdk, which LeRobot uses too."""

from __future__ import annotations

from typing import Any

from .ports import package
from .register_bus import RegisterBus


class Feetech(RegisterBus):
    """Half duplex, 1 Mbaud unless told."""

    name = "feetech"
    protocol = "feetech"

    def _load(self) -> tuple[Any, Any]:
        with package("feetech-servo-sdk", "feetech"):
            import scservo_sdk as sdk
        return sdk, sdk.PacketHandler(0)  # low byte first; high-byte-first servos are encoded by their table

    def _receive(self) -> tuple[int, int, bytes, int]:
        packet, result = self._packets.rxPacket(self._port)
        self._port.is_using = True  # more answers to the same question follow
        if result != 0:
            return 0, 0, b"", result
        return packet[2], packet[4], bytes(packet[5:-1]), result
