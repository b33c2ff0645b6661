"""Buses of servos by name, each loaded when it is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....errors import UnknownName
from ..options import BUSES
from .bus import (
    Bus as Bus,
    BusError as BusError,
    Column as Column,
    PortGone as PortGone,
    Reply as Reply,
    Servo as Servo,
)


def bus(
    name: str,
    port: str,
    baud: int | None = None,
    interface: str = "socketcan",
    gains: Sequence[float] = (10.0, 0.5),
) -> Bus:
    """A bus, not yet open. On CAN the port is a channel of python-can, `interface` its driver, and `gains`
    are what the motors are told: stiffness [N m/rad] and damping [N m s/rad]."""
    if name == "feetech":
        from .feetech import Feetech

        return Feetech(port, baud)
    if name in ("dynamixel", "dynamixel1"):
        from .dynamixel import Dynamixel, DynamixelOne

        return (Dynamixel if name == "dynamixel" else DynamixelOne)(port, baud)
    if name == "damiao":
        from .damiao import Damiao

        return Damiao(port, interface, *gains)
    if name == "robstride":
        from .robstride import RobStride

        return RobStride(port, interface, *gains)
    if name == "lines":
        from .lines import Lines

        return Lines(port, baud)
    raise UnknownName("bus", name, BUSES)


def of_job(job: dict[str, Any]) -> Bus:
    """The bus that a job of the guardian's names."""
    return bus(job["bus"], job["port"], job["baud"], job["interface"], job["gains"])
