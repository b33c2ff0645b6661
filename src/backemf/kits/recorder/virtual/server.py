"""Open a bus of virtual servos and serve it until the process ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....errors import InvalidValue, NotAvailable, UnknownName
from ....logs.robot import Robot
from ....physics.actuator import Actuator
from ....physics.bench import Bench, Pendulum
from ..control_tables import MAPS, of_part
from ..guardian import go_first
from ..registers import Map
from .plants import Faults

SERIAL = {"feetech": "feetech", "dynamixel": "dynamixel2", "dynamixel2": "dynamixel2"}
SERIAL |= {"dynamixel1": "dynamixel1"}
PROTOCOLS = (*SERIAL, "damiao", "robstride", "lines")
USUAL = {
    "feetech": ("feetech-sts", 777),
    "dynamixel2": ("dynamixel-x", 1020),
    "dynamixel1": ("dynamixel-mx", 320),
}
"""(control table, model number) of an actuator that is no part of the catalogue."""
BENCH = Pendulum(mass=0.1, length=0.1)
"""What a virtual servo carries unless told."""


def serve(
    actuator: Actuator,
    *,
    protocol: str = "feetech",
    ids: Sequence[int] = (1,),
    bench: Bench | None = None,
    part: str = "",
    faults: Faults | None = None,
    noise: float = 1.0,
    speed: float = 1.0,
    position: float = 0.0,
    baud: int = 1_000_000,
    registers: dict[str, int] | None = None,
    seed: int = 0,
    channel: str = "",
    seconds: float | None = None,
    robot: Robot | None = None,
    joints: Sequence[str] = (),
    ready: Callable[[str], None] = print,
) -> None:
    """Serve virtual servos of one kind, for ever or for some `seconds`; `ready` is told the device's name
    once they answer. `registers` are set before, by name, as somebody may have left them. With a `robot` the
    ids are those of its `joints`, in their order, and they move together."""
    _check(protocol, ids, noise, speed, position, baud, seed, robot)
    faults = faults or Faults()
    go_first()
    if robot is not None:
        from .plants import VirtualRobot

        plant: Any = VirtualRobot(actuator, robot, joints, faults)
    else:
        plant = _plant(actuator, bench or BENCH, len(ids), faults, position)
    if protocol in SERIAL:
        _posix()
        from .device import Device
        from .serial_line import SerialLine

        table, number = table_of(part, SERIAL[protocol])
        devices = {id: Device(id, k, table, number, plant, faults, noise, seed) for k, id in enumerate(ids)}
        for device in devices.values():
            for name, value in (registers or {}).items():
                device.put(name, value)
        line: Any = SerialLine(SERIAL[protocol], plant, devices, faults, speed, baud)
    elif protocol == "lines":
        _posix()
        from .serial_line import VirtualBoard

        line = VirtualBoard(plant, faults, speed, noise, seed)
    else:
        from .can_bus import serve as serve_can

        serve_can(protocol, plant, ids, part, faults, speed, channel, seconds, ready)
        return
    ready(line.name)
    line.run(seconds)


def _check(
    protocol: str,
    ids: Sequence[int],
    noise: float,
    speed: float,
    position: float,
    baud: int,
    seed: int,
    robot: Robot | None,
) -> None:
    """Refuse what no virtual servo can be."""
    if protocol not in PROTOCOLS:
        raise UnknownName("protocol", protocol, PROTOCOLS)
    if not ids or len(set(ids)) < len(ids) or not all(0 <= i <= 252 for i in ids):
        raise InvalidValue(f"ids are {', '.join(map(str, ids))}; expected different ones from 0 to 252")
    if not 0 < speed <= 1e3:
        raise InvalidValue(f"speed is {speed:g}; expected a number above 0, 1 for real time")
    if not 0 <= noise <= 1e3:
        raise InvalidValue(f"noise is {noise:g}; expected a number from 0 on, 1 for a usual servo")
    if seed < 0 or not abs(position) < 1e3:
        raise InvalidValue(f"seed is {seed} and position {position:g}; expected 0 or more, and an angle")
    if not 1 <= baud <= 10_000_000:
        raise InvalidValue(f"baud is {baud}; expected a rate such as 1000000")
    if robot is not None and protocol not in SERIAL:
        raise InvalidValue(f"a virtual robot speaks {', '.join(SERIAL)}; {protocol} was asked for")


def table_of(part: str, protocol: str) -> tuple[Map, int]:
    """The control table and model number of a part on a protocol; the usual ones for what is no part."""
    table, number = USUAL[protocol]
    return of_part(part.partition("/")[0].lower(), protocol) or (MAPS[table], number)


def _plant(actuator: Actuator, bench: Bench, n: int, faults: Faults, position: float) -> Any:
    from .plants import VirtualPlant

    return VirtualPlant(actuator, bench, n, faults, position)


def _posix() -> None:
    try:
        import termios as termios
    except ImportError:
        raise NotAvailable(
            "a virtual servo on a serial line needs a pseudo-terminal, which this system does not have; use"
            " Linux or macOS, or a CAN protocol: --protocol damiao"
        ) from None
