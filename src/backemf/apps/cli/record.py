"""`backemf record` and `backemf virtual`: logs from real servos, and servos that are not there."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from .inputs.benches import Bench
from .inputs.sources import ActuatorFrom, Firmware, Sets, Voltage
from .terminal import Json, answer, option, place, print_json, tell

Ids = Annotated[
    str, option("Servos by id: 1, 1,2,3, 1-6; or joints by name: shoulder=1,elbow=2.", "--ids", "--id")
]
Baud = Annotated[int | None, option("Bits a second; 1000000 unless given, 115200 for lines.")]


def record(
    bus: Annotated[
        str,
        option(
            "feetech, dynamixel (protocol 2), dynamixel1, damiao, robstride, or lines: a microcontroller that"
            " prints a table."
        ),
    ],
    port: Annotated[str, option("The serial port, such as /dev/ttyUSB0; on CAN the channel, such as can0.")],
    ids: Ids = "1",
    motions: Annotated[str, option("A file of motions (JSON), or usual for the usual four.")] = "usual",
    output: Annotated[Path, place("Folder for the logs, one a motion.")] = Path("logs"),
    bench: Bench = None,
    zero: Annotated[
        str,
        option("Where a joint's zero is: middle of its counter, here (where it stands), or an angle [rad]."),
    ] = "middle",
    amplitude: Annotated[float, option("How far the usual motions go, either way [rad].")] = 0.6,
    seconds: Annotated[float, option("How long the usual motions last together [s].")] = 40.0,
    limit: Annotated[
        list[str] | None,
        option(
            "Torque off beyond this: position-low=-1rad, position-high, velocity, current=2A, temperature,"
            " supply-low, supply-high, silence; approach is the speed to the start. May be repeated."
        ),
    ] = None,
    rate: Annotated[float, option("Samples a second to ask for [Hz]; the bus may give fewer.")] = 250.0,
    baud: Baud = None,
    interface: Annotated[
        str, option("python-can's driver of a CAN bus: socketcan, slcan, udp_multicast.")
    ] = "socketcan",
    stiffness: Annotated[float, option("What a CAN motor is told as its stiffness [N m/rad].")] = 10.0,
    damping: Annotated[float, option("What a CAN motor is told as its damping [N m s/rad].")] = 0.5,
    yes: Annotated[bool, option("Move without asking first.", "--yes")] = False,
    dry_run: Annotated[
        bool, option("Show what is there and what would move; nothing does.", "--dry-run")
    ] = False,
    speed: Annotated[float, option("How fast the time of a virtual servo runs; 1 for real ones.")] = 1.0,
    json: Json = False,
) -> None:
    """Play motions on real servos and record everything that they say.

    Torque goes off on any limit, error, Ctrl-C, or lost program. A motion that is done is not played again.

    Example: backemf record --bus feetech --port /dev/ttyUSB0 --bench "pendulum mass=0.3kg length=0.1m"
    """
    from ...kits.recorder.recorder import motions_of, record as run
    from ...planning.motions import usual
    from .inputs.benches import bench_of

    plan = usual(amplitude, seconds=seconds) if motions == "usual" else motions_of(motions)
    done: list[dict[str, Any]] = []
    with _live(not json) as live:

        def watch(event: dict[str, Any]) -> None:
            done.extend([event] if event["event"] == "done" else [])
            if event["event"] == "live":
                tell(_words(event))
            live(event)

        logs = run(
            bus=bus,
            port=port,
            ids=ids_of(ids),
            motions=plan,
            to=output,
            bench=None if bench is None else bench_of(bench),
            limits=limits_of(limit, plan.limits),
            zero=zero,
            rate=rate,
            baud=baud,
            interface=interface,
            gains=(stiffness, damping),
            yes=yes,
            confirm=None if json or not sys.stdin.isatty() else _confirm,
            show=None if json else lambda text: typer.echo(text),
            watch=watch,
            dry_run=dry_run,
            speed=speed,
        )

    def content() -> dict[str, Any]:
        said = [
            {
                **{"name": log.name, "source": log.source, "samples": len(log)},
                **{"rate": log.signals[log.clock].rate, "jitter": log.signals[log.clock].jitter},
                "findings": log.findings,
            }
            for log in logs
        ]
        return {"logs": said, "dry_run": dry_run}

    def text() -> str:
        if dry_run:
            return "nothing was moved"
        from ...tables import table

        rows = [
            (log.name, len(log), log.signals[log.clock].rate, 1e3 * log.signals[log.clock].jitter, log.source)
            for log in logs
        ]
        return table(rows, ("log", "samples", "rate [Hz]", "jitter [ms]", "file"))

    answer(json, content, text)


def _confirm(text: str) -> bool:
    return typer.confirm("Is everything free to move?", err=True)


def ids_of(text: str) -> dict[str, int]:
    """ "1,3" -> {"1": 1, "3": 3}; "1-3" -> three of them; "elbow=3" -> by name."""
    from ...errors import InvalidValue

    wanted = "expected ids such as 1,2,3 or 1-6, or joints such as shoulder=1,elbow=2"
    named: dict[str, int] = {}
    for word in text.split(","):
        name, equals, number = (part.strip() for part in word.partition("="))
        first, dash, last = (number if equals else name).partition("-")
        try:
            numbers = range(int(first), int(last if dash else first) + 1)
        except ValueError:
            raise InvalidValue(f"--ids is {text!r:.60}; {wanted}") from None
        if not 0 < len(numbers) <= 253 or (equals and (dash or not name)):
            raise InvalidValue(f"--ids is {text!r:.60}; {wanted}")
        for id in numbers:
            key = name if equals else str(id)
            if key in named:
                raise InvalidValue(f"--ids names {key} twice; {wanted}")
            named[key] = id
    return named


LIMIT_UNITS = {
    **{"position-low": "rad", "position-high": "rad", "velocity": "rad/s", "current": "A"},
    **{"temperature": "degC", "supply-low": "V", "supply-high": "V", "silence": "s", "approach": "rad/s"},
}


def limits_of(given: list[str] | None, before: Any) -> Any:
    """What `--limit` says, over the limits that the motions bring."""
    import math
    from dataclasses import replace

    from ...errors import InvalidValue, UnknownName
    from ...units import parse

    values: dict[str, float] = {}
    for text in given or ():
        name, equals, word = (part.strip() for part in text.partition("="))
        if name not in LIMIT_UNITS:
            raise UnknownName("limit", name, LIMIT_UNITS)
        if not equals or not word:
            raise InvalidValue(f"--limit is {text!r}; expected NAME=VALUE, such as current=2A")
        try:
            value = float(word)
        except ValueError:
            value = parse(word, LIMIT_UNITS[name], f"--limit {name}").value
        if not math.isfinite(value):
            raise InvalidValue(f"--limit is {text!r}; expected a finite number")
        values[name.replace("-", "_")] = value
    return replace(before, **values)


@contextlib.contextmanager
def _live(wanted: bool) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A table on the terminal while servos move; silent where nobody watches."""
    if not (wanted and sys.stderr.isatty()):
        yield lambda event: None
        return
    from rich.console import Console
    from rich.live import Live

    with contextlib.ExitStack() as opened:
        screens: list[Live] = []

        def show(event: dict[str, Any]) -> None:
            if event["event"] == "live":
                if not screens:  # not before the first motion: a question may stand there
                    screens.append(opened.enter_context(Live(console=Console(stderr=True), transient=True)))
                screens[0].update(_screen(event))

        yield show


def _words(event: dict[str, Any]) -> str:
    """The same in a line."""
    where = (f"{one['joint']} at {one['position']:.3f} rad" for one in event["joints"] if one.get("position"))
    return f"{event['motion']}, {event['time']:.1f} s, {event['rate']:.0f} Hz: {', '.join(where)}"


def _screen(event: dict[str, Any]) -> Any:
    """Position, error, current and temperature of every joint, and the rate."""
    from rich.table import Table

    rows = Table(title=f"{event['motion']}, {event['time']:.1f} s, {event['rate']:.0f} Hz; Ctrl-C ends it")
    for head in ("joint", "position [rad]", "error [rad]", "current [A]", "temperature [degC]"):
        rows.add_column(head, justify="right")
    for one in event["joints"]:
        numbers = (one.get(k) for k in ("position", "error", "current", "temperature"))
        rows.add_row(one["joint"], *("-" if x is None else f"{x:.3f}" for x in numbers))
    return rows


def virtual(
    source: ActuatorFrom,
    protocol: Annotated[
        str,
        option("What it speaks: feetech, dynamixel (protocol 2), dynamixel1, lines, damiao or robstride."),
    ] = "feetech",
    ids: Ids = "1",
    bench: Bench = None,
    robot: Annotated[
        Path | None, option("A whole robot from this MJCF or URDF: a servo for each of its joints.")
    ] = None,
    firmware: Firmware = None,
    voltage: Voltage = None,
    set: Sets = None,
    fault: Annotated[
        list[str] | None,
        option(
            "What goes wrong: lose=0.01 (a share of replies), late=0.01, silent=5s, brown-out=5s, stuck=5s,"
            " hot=80degC, wrong-sign, wrapped, second-master. May be repeated."
        ),
    ] = None,
    register: Annotated[
        list[str] | None,
        option("A register as somebody left it, by name: position_high=3000. May be repeated."),
    ] = None,
    noise: Annotated[float, option("How noisy its sensors are; 0 for not at all.")] = 1.0,
    speed: Annotated[float, option("How fast its time runs; 1 for real time.")] = 1.0,
    start_angle: Annotated[
        str | None, option("Where the output starts, such as 20deg; 0 unless given.")
    ] = None,
    baud: Baud = None,
    channel: Annotated[str, option("The multicast group of a virtual CAN bus.")] = "239.74.163.2",
    link: Annotated[
        Path | None,
        option("A name of your own for a serial port, such as ./servo: a link that goes with it."),
    ] = None,
    seconds: Annotated[float | None, option("End after so long; never unless given.")] = None,
    seed: Annotated[int, option("Seed of the noise.")] = 0,
    json: Json = False,
) -> None:
    """Open a port behind which servos answer that are not there, with the physics of a model.

    The first line that it prints is the port's name; the makers' programs and `backemf record` find it there.

    Example: backemf virtual sts3215-12v --firmware lerobot --id 1-6 --bench "pendulum mass=0.3kg length=0.1m"
    """
    from ...errors import InvalidValue
    from ...kits.recorder.virtual.plants import Faults
    from ...kits.recorder.virtual.process import linked
    from ...kits.recorder.virtual.server import serve
    from ...signal.words import si
    from .inputs.benches import bench_of
    from .inputs.sources import chosen

    servos, left = ids_of(ids), dict[str, int]()
    whole, joints = None, list[str]()
    if robot is not None:
        whole, joints, servos = _robot(robot, ids, servos, bench, start_angle)
    for text in register or ():
        name, _, value = text.partition("=")
        if not value.strip().lstrip("-").isdecimal():
            raise InvalidValue(f"--register is {text!r:.60}; expected NAME=COUNT, such as position_high=3000")
        left[name.strip()] = int(value)
    if seconds is not None and not 0 < seconds < 1e9:
        raise InvalidValue(f"--seconds is {seconds:g}; expected a number above 0")
    actuator = chosen(source, sets=set, voltage=voltage, firmware=firmware).actuator
    with contextlib.ExitStack() as named:

        def ready(device: str) -> None:
            if link is not None:
                named.enter_context(linked(device, link))
            if json:
                print_json({"port": device, "protocol": protocol, "ids": list(servos.values())})
            else:
                typer.echo(device)
            sys.stdout.flush()

        serve(
            actuator,
            protocol=protocol,
            ids=list(servos.values()),
            bench=None if bench is None else bench_of(bench),
            part=source,
            faults=Faults.read(fault or ()),
            registers=left,
            noise=noise,
            speed=speed,
            position=0.0 if start_angle is None else si(start_angle, "rad", "--start-angle"),
            baud=baud or 1_000_000,
            channel=channel,
            seconds=seconds,
            seed=seed,
            robot=whole,
            joints=joints,
            ready=ready,
        )


def _robot(
    path: Path, ids: str, servos: dict[str, int], bench: str | None, start_angle: str | None
) -> tuple[Any, list[str], dict[str, int]]:
    """(the robot, its joints that have a servo, the id of each): all from 1 on, unless ids name some."""
    from ...errors import InvalidValue
    from ...logs.robot import Robot

    if bench is not None or start_angle is not None:
        given = "--bench" if bench is not None else "--start-angle"
        raise InvalidValue(f"{given} is given beside --robot; the robot's model says what its joints carry")
    whole = Robot.read(path)
    names = [name for name in whole.names if whole.joint(name).motion == "rotary"]
    if ids == "1":
        servos = {name: k + 1 for k, name in enumerate(names)}
    if all(name.isdecimal() for name in servos):
        if len(servos) > len(names):
            raise InvalidValue(f"--ids has {len(servos)} servos, and {whole.name} has {len(names)} joints")
        servos = dict(zip(names, servos.values(), strict=False))
    return whole, [whole.joint(name).name for name in servos], servos
