"""`be.virtual`: virtual servos in a process of their own."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ....errors import InvalidValue
from ....logs.benches import bench_of
from ....logs.robot import Robot
from ....options import takes
from ....signal.words import si
from ....targets.sourcing import choose_actuator
from ..record_options import VirtualOptions, parse_registers, scopes_of
from .plants import Faults
from .server import serve

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
