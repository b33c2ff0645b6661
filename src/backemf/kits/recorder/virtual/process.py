"""`be.virtual`: virtual servos in a process of their own, which opens their bus and serves it until it
ends."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ....errors import InvalidValue, NotAvailable, UnknownName
from ....logs.benches import bench_of
from ....logs.robot import Robot
from ....options import takes
from ....physics.actuator import Actuator
from ....physics.bench import Bench, Pendulum
from ....signal.words import si
from ....targets.sourcing import choose_actuator
from ..guardian import go_first
from ..record_options import VirtualOptions, parse_registers, scopes_of
from ..registers import MAPS, Map, of_part
from .plants import Faults

LONGEST = 3600.0
"""A virtual servo ends after so long, should nobody stop it [s]."""


class Virtual:
    """Virtual servos that run until they are stopped, or until the program ends that started them."""

    def __init__(self, process: Any, port: str):
        self._process, self.port = process, port
        """The device's name, for `record` and for the makers' programs."""
        atexit.register(self.stop)

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()
        atexit.unregister(self.stop)

    def __enter__(self) -> Virtual:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Virtual({self.port})"


def run_virtual(source: str | os.PathLike[str], options: VirtualOptions) -> Virtual:
    """Start virtual servos in a process of their own, which ends with this one.

    `with be.virtual("mx-106", protocol="dynamixel1") as servo: servo.port`

    Args:
        source: a part of the catalogue, a stored fit, or whatever else holds an actuator.

    Raises:
        InvalidValue: what the process said where it could not start.
    """
    options.check(virtual_scopes(options), options.protocol)
    given = {**options.given_options(), "ids": named_ids(options), "seconds": options.seconds or LONGEST}
    paths = [str(Path(__file__).resolve().parents[4]), os.environ.get("PYTHONPATH", "")]
    process = subprocess.Popen(
        [sys.executable, "-m", "backemf.kits.recorder.virtual", str(source), json.dumps(given, default=str)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )
    assert process.stdout is not None
    port = process.stdout.readline().decode().strip()
    if not port:
        _, said = process.communicate()
        raise InvalidValue(said.decode(errors="replace").strip())
    return Virtual(process, port)


virtual = takes(VirtualOptions)(run_virtual)


def virtual_scopes(options: VirtualOptions) -> set[str]:
    """Which of its options apply: by its protocol, and by whether a robot says what the joints carry."""
    return scopes_of(options.protocol) | (set() if options.robot else {"bench"})


def serve_options(source: str, options: VirtualOptions, ready: Callable[[str, list[int]], None]) -> None:
    """Serve virtual servos in this process, for ever or for some seconds.

    Args:
        source: what holds the actuator.
        ready: is told the device's name and the ids once they answer.
    """
    servos = named_ids(options)
    robot, joints = None, list[str]()
    if options.robot:
        robot, joints, servos = _robot(Path(options.robot), servos)
    if options.seconds is not None and not 0 < options.seconds < 1e9:
        raise InvalidValue(f"seconds is {options.seconds:g}; expected a number above 0")
    chosen = choose_actuator(
        source, sets=list(options.set), voltage=options.voltage, firmware=options.firmware or None
    )
    angle = options.start_angle
    serve(
        chosen.actuator,
        protocol=options.protocol,
        ids=list(servos.values()),
        bench=bench_of(options.bench) if options.bench else None,
        part=source,
        faults=Faults.read(options.faults),
        registers=_registers(options),
        noise=options.noise,
        speed=options.speed,
        position=0.0 if angle is None else si(str(angle), "rad", "--start-angle"),
        baud=options.baud or 1_000_000,
        channel=options.channel,
        seconds=options.seconds,
        seed=options.seed,
        robot=robot,
        joints=joints,
        ready=lambda device: ready(device, list(servos.values())),
    )


def named_ids(options: VirtualOptions) -> dict[str, int]:
    """Ids by the names of their servos; a number is its own name."""
    if isinstance(options.ids, Mapping):
        return {str(name): int(id) for name, id in options.ids.items()}
    return {str(id): id for id in options.ids}


def _registers(options: VirtualOptions) -> dict[str, int]:
    given = options.register or {}
    return dict(given) if isinstance(given, Mapping) else parse_registers(list(given))


def _robot(path: Path, servos: dict[str, int]) -> tuple[Robot, list[str], dict[str, int]]:
    """(the robot, its joints that have a servo, the id of each): all from 1 on, unless ids name some."""
    robot = Robot.read(path)
    names = [name for name in robot.names if robot.joint(name).motion == "rotary"]
    if servos == {"1": 1}:
        servos = {name: k + 1 for k, name in enumerate(names)}
    if all(name.isdecimal() for name in servos):
        if len(servos) > len(names):
            raise InvalidValue(f"--ids has {len(servos)} servos, and {robot.name} has {len(names)} joints")
        servos = dict(zip(names, servos.values(), strict=False))
    return robot, [robot.joint(name).name for name in servos], servos


@contextlib.contextmanager
def link_device(device: str, link: str | os.PathLike[str]) -> Any:
    """A name of one's own for a device, as long as the block runs."""
    place = Path(link)
    if place.is_symlink() and not place.exists():
        place.unlink()  # left behind by one that was killed
    if place.exists() or place.is_symlink():
        raise InvalidValue(f"{str(link)!r} exists; expected a new name for the link to the port")
    if not place.parent.is_dir():
        raise InvalidValue(f"there is no folder {str(place.parent)!r} for the link to the port")
    try:
        place.symlink_to(device)
    except OSError as error:
        raise InvalidValue(f"{str(link)!r} cannot be the link to the port: {error.strerror}") from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            place.unlink()


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
        from .serial_line import Device, SerialLine

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
