"""Buses of servos by name, each loaded when it is used."""

from __future__ import annotations

from typing import Any

from ....registry import Registry
from .bus import (
    Bus as Bus,
    BusError as BusError,
    Column as Column,
    PortGone as PortGone,
    Reply as Reply,
    Servo as Servo,
)

BUSES: Registry[type[Bus]] = Registry(
    "bus",
    {
        "feetech": "backemf.kits.recorder.buses.feetech:Feetech",
        "dynamixel": "backemf.kits.recorder.buses.dynamixel:Dynamixel",
        "dynamixel1": "backemf.kits.recorder.buses.dynamixel:DynamixelOne",
        "damiao": "backemf.kits.recorder.buses.damiao:Damiao",
        "robstride": "backemf.kits.recorder.buses.robstride:RobStride",
        "lines": "backemf.kits.recorder.buses.lines:Lines",
    },
    group="backemf.buses",
)


def of_job(job: dict[str, Any]) -> Bus:
    """The bus that a job of the guardian's names."""
    return BUSES[job["bus"]].connect(job["port"], job["baud"], job["interface"], job["gains"])
