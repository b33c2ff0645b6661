"""What one may ask of `record` and `virtual`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import InvalidValue
from ...logs import BENCH_HELP
from ...options import FOLDER, HIDDEN, OUTSIDE_HELP, Options, Scope, option, options, parse_file

if TYPE_CHECKING:
    from ...logs.robot import Robot
    from ...physics.bench import Bench
    from ...planning.motions import Motions, SafetyLimits

CAN = ("damiao", "robstride")
"""Buses of motors on CAN."""
REGISTERS = ("feetech", "dynamixel", "dynamixel1")
"""Buses of servos with registers, on serial lines."""
OTHERS = ("lines", "dynamixel2")
USUAL = "usual"
ON_CAN = Scope("can", f"motors on CAN: {' and '.join(CAN)}")
ON_SERIAL = Scope("serial", f"serial lines: {', '.join((*REGISTERS, 'lines'))}")
WITH_REGISTERS = Scope("registers", f"servos with registers: {', '.join(REGISTERS)}")
USUAL_MOTIONS = Scope(
    "usual", "the usual motions: leave motions out", "the usual motions: leave --motions out"
)
ON_ROBOT = Scope("robot", "a robot: give robot=", "a robot: give --robot FILE")
ON_BENCH = Scope("bench", "a servo alone: a robot's model says what its joints carry")


def bus_names() -> tuple[str, ...]:
    """Every bus by name."""
    from .buses import BUSES

    return tuple(BUSES)


def parse_ids(text: str) -> dict[str, int]:
    """ "1,3" -> {"1": 1, "3": 3}; "1-3" -> three of them; "elbow=3" -> by name."""
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


def named_ids(ids: Iterable[int] | Mapping[str, int]) -> dict[str, int]:
    """Ids by the names of their joints; a number is its own name.

    Raises:
        InvalidValue: where one is no id of a servo, two are the same, or there is none.
    """
    pairs = list(ids.items()) if isinstance(ids, Mapping) else [(str(id), id) for id in ids]
    if not pairs or len({id for _, id in pairs}) < len(pairs):
        given = ", ".join(str(id) for _, id in pairs)
        raise InvalidValue(f"ids are {given or 'none'}; expected different ones, at least one")
    for name, id in pairs:
        if type(id) is bool or id not in range(253) or not name:
            raise InvalidValue(f"the id of joint {name!r} is {id!r}; expected a whole number from 0 to 252")
    return {str(name): int(id) for name, id in pairs}


def parse_registers(texts: list[str] | None) -> dict[str, int]:
    """["position_high=3000"] -> {"position_high": 3000}."""
    counts: dict[str, int] = {}
    for text in texts or ():
        name, _, value = text.partition("=")
        if not value.strip().lstrip("-").isdecimal():
            raise InvalidValue(f"--register is {text!r:.60}; expected NAME=COUNT, such as position_high=3000")
        counts[name.strip()] = int(value)
    return counts


def parse_text(text: str) -> str:
    """What was typed."""
    return text


def parse_zero(text: str) -> str | float:
    """Where a joint's zero is: in a word, or an angle in SI."""
    from ...units import si

    return text if text in ("middle", "here") else si(text, "rad", "--zero")


def parse_optional(text: str | None) -> str | None:
    """What was typed, if anything."""
    return text


def parse_words(texts: list[str] | None) -> list[str] | None:
    """What was typed, one word or several."""
    return texts


def scopes_of(bus: str) -> set[str]:
    """Which options apply to a bus, or to the virtual servos on it."""
    if bus not in (*CAN, *REGISTERS, *OTHERS):  # of another package, which knows what it takes
        return {"can", "serial", "registers"}
    kinds = {"can": bus in CAN, "serial": bus not in CAN, "registers": bus not in (*CAN, "lines")}
    return {kind for kind, applies in kinds.items() if applies}


@options
class RecordOptions(Options):
    """Keywords of `be.record`."""

    situation: ClassVar[str] = "this records {}"

    bus: str = option(
        help="feetech, dynamixel (protocol 2), dynamixel1, damiao, robstride, or lines: a microcontroller"
        " that prints a table.",
        choices=bus_names,
    )
    port: str | Path = option(
        help="The serial port, such as /dev/ttyUSB0; on CAN the channel, such as can0.", parse=parse_text
    )
    ids: Sequence[int] | Mapping[str, int] = option(
        default=(1,),
        help="Servos by id: 1, 1,2,3, 1-6; or joints by name: shoulder=1,elbow=2.",
        parse=parse_ids,
        typed="1",
        cli="--ids --id",
    )
    motions: Motions | Path | str = option(
        default=USUAL,
        help="A file of motions (JSON), or usual for the usual ones.",
        parse=parse_text,
        typed=USUAL,
    )
    to: Path | str = option(
        default="logs",
        help="Folder for the logs, one a motion.",
        parse=parse_file,
        typed=Path("logs"),
        cli="--output -o",
        writes=FOLDER,
    )
    bench: Bench | str | None = option(
        default=None, help=BENCH_HELP, more="A bench, or these words.", parse=parse_optional
    )
    allow_outside: bool = option(default=False, help=OUTSIDE_HELP)
    robot: Robot | Path | str | None = option(
        default=None,
        help="The robot's model (MJCF or URDF), whose joints the servos are: every motion is checked against"
        " it before anything moves, and the usual ones go joint by joint and let nothing fall.",
        parse=parse_file,
    )
    table: float | None = option(
        default=None, help="Height of a table in the model's frame [m].", unit="m", applies_to=ON_ROBOT
    )
    start: str | None = option(
        default=None,
        help="The part of the catalogue that the servos are, whose sheet says what their current may be;"
        " found by what they say of themselves unless given.",
    )
    limits: SafetyLimits | Sequence[str] | None = option(
        default=None,
        help="Torque off beyond this: position-low=-1rad, position-high, velocity, current=2A, temperature,"
        " supply-low, supply-high, silence, following=0.2rad (a joint that stands still so far from its"
        " goal); approach is the speed to the start. May be repeated.",
        parse=parse_words,
        cli="--limit",
    )
    zero: str | float = option(
        default="middle",
        help="Where a joint's zero is: middle of its counter, here (where it stands), or an angle [rad].",
        parse=parse_zero,
        typed="middle",
    )
    rate: float = option(
        default=250.0, help="Samples a second to ask for [Hz]; the bus may give fewer.", unit="Hz"
    )
    baud: int | None = option(
        default=None, help="Bits a second; 1000000 unless given, 115200 for lines.", applies_to=ON_SERIAL
    )
    interface: str = option(
        default="socketcan",
        help="python-can's driver of a CAN bus: socketcan, slcan, udp_multicast.",
        applies_to=ON_CAN,
    )
    gains: tuple[float, float] = option(
        default=(10.0, 0.5),
        help="Stiffness [N m/rad] and damping [N m s/rad] of CAN motors.",
        applies_to=ON_CAN,
        cli=HIDDEN,
    )
    yes: bool = option(default=False, help="Move without asking first.")
    confirm: Callable[[str], bool] | None = option(
        default=None, help="Is shown what will happen and says True, in place of `yes`.", cli=HIDDEN
    )
    show: Callable[[str], None] | None = option(
        default=None, help="Is told what is there and what will move.", cli=HIDDEN
    )
    watch: Callable[[dict[str, Any]], None] | None = option(
        default=None, help="Gets live events.", cli=HIDDEN
    )
    dry_run: bool = option(default=False, help="Show what is there and what would move; nothing does.")
    speed: float = option(
        default=1.0, help="How fast the time of a virtual servo runs; 1 for real ones.", unit="1"
    )
    amplitude: float = option(
        default=0.6,
        help="How far the usual motions go, either way [rad].",
        unit="rad",
        applies_to=USUAL_MOTIONS,
    )
    seconds: float = option(
        default=40.0, help="How long the usual motions last together [s].", unit="s", applies_to=USUAL_MOTIONS
    )


FAULTS_HELP = (
    "What goes wrong: lose=0.01 (a share of replies), late=0.01, silent=5s, brown-out=5s, stuck=5s,"
    " hot=80degC, wrong-sign, wrapped, second-master. May be repeated."
)


@options
class VirtualOptions(Options):
    """Keywords of `be.virtual`."""

    situation: ClassVar[str] = "this is a virtual {}"

    protocol: str = option(
        default="feetech",
        help="What it speaks: feetech, dynamixel (protocol 2), dynamixel1, lines, damiao or robstride.",
        choices=bus_names,
    )
    ids: Iterable[int] | Mapping[str, int] = option(
        default=(1,),
        help="Servos by id: 1, 1,2,3, 1-6; or joints by name: shoulder=1,elbow=2.",
        parse=parse_ids,
        typed="1",
        cli="--ids --id",
    )
    bench: str | None = option(default=None, help=BENCH_HELP, applies_to=ON_BENCH)
    firmware: str | None = option(
        default=None, help="A profile of the part's firmware settings, such as lerobot."
    )
    faults: Sequence[str] = option(default=(), help=FAULTS_HELP, cli="--fault")
    link: Path | str | None = option(
        default=None,
        help="A name of your own for a serial port, such as ./servo: a link that goes with it.",
        parse=parse_file,
    )
    allow_outside: bool = option(default=False, help=OUTSIDE_HELP)
    robot: Path | str | None = option(
        default=None,
        help="A whole robot from this MJCF or URDF: a servo for each of its joints.",
        parse=parse_file,
    )
    voltage: float | None = option(
        default=None, help="Supply voltage [V]; the source's own unless given.", unit="V"
    )
    set: Sequence[str] = option(
        default=(),
        help="A number by its path: drive.proportional=16, motor.resistance=2.1ohm. May be repeated.",
    )
    register: Mapping[str, int] | Sequence[str] | None = option(
        default=None,
        help="A register as somebody left it, by name: position_high=3000. May be repeated.",
        parse=parse_registers,
        applies_to=WITH_REGISTERS,
    )
    noise: float = option(default=1.0, help="How noisy its sensors are; 0 for not at all.", unit="1")
    speed: float = option(default=1.0, help="How fast its time runs; 1 for real time.", unit="1")
    start_angle: str | None = option(
        default=None, help="Where the output starts, such as 20deg; 0 unless given.", applies_to=ON_BENCH
    )
    baud: int | None = option(
        default=None, help="Bits a second; 1000000 unless given, 115200 for lines.", applies_to=ON_SERIAL
    )
    channel: str = option(
        default="239.74.163.2", help="The multicast group of a virtual CAN bus.", applies_to=ON_CAN
    )
    seconds: float | None = option(default=None, help="End after so long [s]; never unless given.", unit="s")
    seed: int = option(default=0, help="Seed of the noise.", least=0)
