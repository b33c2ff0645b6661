"""Buses of servos by name, each loaded when it is used."""

from __future__ import annotations

from typing import Any

from ....registry import Registry
from .bus import (
    Bus as Bus,
    BusError as BusError,
    BusServo as BusServo,
    PortGone as PortGone,
    Reply as Reply,
    ReplyColumn as ReplyColumn,
)

BUSES: Registry[type[Bus]] = Registry(
    "bus",
    {
        "feetech": "backemf.kits.recorder.buses.register_bus:Feetech",
        "dynamixel": "backemf.kits.recorder.buses.register_bus:Dynamixel",
        "dynamixel1": "backemf.kits.recorder.buses.register_bus:DynamixelOne",
        "damiao": "backemf.kits.recorder.buses.damiao:Damiao",
        "robstride": "backemf.kits.recorder.buses.robstride:RobStride",
        "lines": "backemf.kits.recorder.buses.board:BoardBus",
    },
    group="backemf.buses",
)


def of_job(job: dict[str, Any]) -> Bus:
    """The bus that a job of the guardian's names."""
    return BUSES[job["bus"]].connect(job["port"], job["baud"], job["interface"], job["gains"])
