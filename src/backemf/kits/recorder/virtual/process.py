"""`be.virtual`: virtual servos in a process of their own, which opens their bus and serves it until it
ends."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ....errors import BackemfError, BackemfWarning, InvalidValue, UnknownName
from ....logs.benches import bench_of
from ....logs.robot import Robot
from ....options import takes
from ....physics.bench import Pendulum
from ....targets.sourcing import choose_actuator
from ....units import si
from ..guardian import child_environment, go_first
from ..record_options import VirtualOptions, named_ids, parse_registers, scopes_of
from ..registers import MAPS, Map, of_part
from .can_bus import CanLine
from .firmware import Device
from .plants import Faults, VirtualJoints, VirtualLine, VirtualPlant, VirtualRobot
from .serial_line import SerialLine, VirtualBoard

LONGEST = 3600.0
"""A virtual servo ends after so long, should nobody stop it [s]."""


class Virtual:
    """Virtual servos that run until they are stopped, or until the program ends that started them."""

    def __init__(self, process: Any, port: str):
        self._process, self.port = process, port
        """The device's name, for `record` and for the makers' programs."""
        atexit.register(self.stop)

    def stop(self) -> None:
        """End them; their port goes with them. What they had to say of registers that did nothing is warned
        of."""
        self._process.kill()
        for note in self._process.communicate()[1].decode(errors="replace").splitlines():
            warnings.warn(BackemfWarning(note), stacklevel=2)
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
    given = {**options.given_options(), "ids": named_ids(options.ids), "seconds": options.seconds or LONGEST}
    words = ("-m", "backemf.kits.recorder.virtual.process", str(source), json.dumps(given, default=str))
    process = subprocess.Popen(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=child_environment(),
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
    """Serve virtual servos of one kind in this process, for ever or for some seconds.

    Args:
        source: what holds the actuator.
        options: as `be.virtual` takes them.
        ready: is told the device's name and the ids once they answer.

    Raises:
        InvalidValue: of what no virtual servo can be.
    """
    servos, robot = named_ids(options.ids), None
    if options.robot:
        robot, servos = _robot(Path(options.robot), servos)
    angle = options.start_angle
    position = 0.0 if angle is None else si(str(angle), "rad", "--start-angle")
    _check(options, position)
    chosen = choose_actuator(
        source, sets=list(options.set), voltage=options.voltage, firmware=options.firmware or None
    )
    faults, ids = Faults.read(options.faults), list(servos.values())
    go_first()
    if robot is not None:
        plant: VirtualJoints = VirtualRobot(chosen.actuator, robot, list(servos), faults)
    else:
        bench = bench_of(options.bench) if options.bench else BENCH
        whole = options.protocol not in SERIAL
        plant = VirtualPlant(chosen.actuator, bench, len(ids), faults, position, whole=whole)
    line = _line(source, options, plant, ids)
    with link_device(line.name, options.link) if options.link else contextlib.nullcontext():
        ready(line.name, ids)
        line.run(options.seconds)


def _line(source: str, options: VirtualOptions, plant: VirtualJoints, ids: list[int]) -> VirtualLine:
    """The servos of a plant on their bus, each with its registers as somebody left them."""
    protocol = SERIAL.get(options.protocol)
    if protocol is None and options.protocol != "lines":
        return CanLine(options.protocol, plant, ids, source, options.speed, options.channel)
    if protocol is None:
        return VirtualBoard(plant, options.speed, options.noise, options.seed)
    given = options.register or {}
    counts = given if isinstance(given, Mapping) else parse_registers(list(given))
    table, number = _table_of(source, protocol)
    devices = []
    for k, id in enumerate(ids):
        devices.append(Device(id, k, table, number, plant, options.noise, options.seed))
        devices[k].listen_at(options.baud or 1_000_000)
        devices[k].leave(counts)
    return SerialLine(protocol, plant, devices, options.speed)


def _robot(path: Path, servos: dict[str, int]) -> tuple[Robot, dict[str, int]]:
    """(the robot, its joints that have a servo with the id of each): all from 1 on, unless ids name some."""
    robot = Robot.read(path)
    names = [name for name in robot.names if robot.joint(name).motion == "rotary"]
    if servos == {"1": 1}:
        servos = {name: k + 1 for k, name in enumerate(names)}
    if all(name.isdecimal() for name in servos):
        if len(servos) > len(names):
            raise InvalidValue(f"--ids has {len(servos)} servos, and {robot.name} has {len(names)} joints")
        servos = dict(zip(names, servos.values(), strict=False))
    return robot, {robot.joint(name).name: id for name, id in servos.items()}


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


def _check(options: VirtualOptions, position: float) -> None:
    """Refuse what no virtual servo can be; `position` is where the output starts [rad]."""
    if options.protocol not in PROTOCOLS:
        raise UnknownName("protocol", options.protocol, PROTOCOLS)
    if options.seconds is not None and not 0 < options.seconds < 1e9:
        raise InvalidValue(f"seconds is {options.seconds:g}; expected a number above 0")
    if not 0 < options.speed <= 1e3:
        raise InvalidValue(f"speed is {options.speed:g}; expected a number above 0, 1 for real time")
    if not 0 <= options.noise <= 1e3:
        raise InvalidValue(f"noise is {options.noise:g}; expected a number from 0 on, 1 for a usual servo")
    if not abs(position) < 1e3:
        raise InvalidValue(f"start_angle is {position:g} rad; expected an angle")
    if options.baud is not None and not 0 <= options.baud <= 10_000_000:
        raise InvalidValue(f"baud is {options.baud}; expected a rate such as 1000000")
    if options.robot and options.protocol not in SERIAL:
        raise InvalidValue(f"a virtual robot speaks {', '.join(SERIAL)}; {options.protocol} was asked for")


def _table_of(part: str, protocol: str) -> tuple[Map, int]:
    """The control table and model number of a part on a protocol; the usual ones for what is no part."""
    table, number = USUAL[protocol]
    return of_part(part.partition("/")[0].lower(), protocol) or (MAPS[table], number)


def main() -> None:
    """What `be.virtual` starts, with a source and a JSON object of options: serve, and print the port once
    the servos answer. A deliberate error is its text alone."""
    warnings.showwarning = lambda message, *rest: print(message, file=sys.stderr)
    try:
        options = VirtualOptions(**json.loads(sys.argv[2]))
        serve_options(sys.argv[1], options, lambda device, ids: print(device, flush=True))
    except BackemfError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
