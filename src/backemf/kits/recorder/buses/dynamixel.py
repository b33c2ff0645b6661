"""Dynamixel servos with protocol 1 or 2, through the package dynamixel-sdk of their maker."""

from __future__ import annotations

from typing import Any

from .ports import package
from .register_bus import RegisterBus


class Dynamixel(RegisterBus):
    """X series and MX with protocol 2."""

    name = "dynamixel"
    protocol = "dynamixel2"
    has_watchdog = True
    version = 2.0

    def _load(self) -> tuple[Any, Any]:
        with package("dynamixel-sdk", "dynamixel"):
            import dynamixel_sdk as sdk
        return sdk, sdk.PacketHandler(self.version)

    def _receive(self) -> tuple[int, int, bytes, int]:
        receive = self._packets.rxPacket
        fast = (False,) if receive.__code__.co_argcount == 3 else ()  # releases from 4.0 on ask for it
        packet, result = receive(self._port, *fast)
        self._port.is_using = True
        if result != 0:
            return 0, 0, b"", result
        return packet[4], packet[8], bytes(packet[9:-2]), result


class DynamixelOne(Dynamixel):
    """MX with protocol 1: no sync read, each servo is asked by itself."""

    name = "dynamixel1"
    protocol = "dynamixel1"
    has_watchdog = False
    version = 1.0

    def _receive(self) -> tuple[int, int, bytes, int]:
        raise NotImplementedError("protocol 1 has no sync read")
