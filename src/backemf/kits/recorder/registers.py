"""A servo's registers as plain tables: address, size, sign, and what one count is in SI; and the tables of
the servos that are known.

A family is told by its model number. Feetech STS and SMS have magnetic encoders, 4096 counts a turn; SCS
potentiometers, 1024 counts over 300 degrees, high byte first, no current. Dynamixel X, and MX with protocol
2, share one table; MX with protocol 1 has its own; all count 4096 a turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ...errors import UnknownName

TWOS = -1
"""The sign of a register in two's complement; another number is the bit that holds it; None: unsigned."""
RPM = 2.0 * math.pi / 60.0


class Register(NamedTuple):
    """Where a number stands and how it is written."""

    address: int
    size: int
    sign: int | None = None

    def decode(self, content: bytes, *, big: bool = False) -> int:
        """The number that its bytes hold; `big`: the high byte first."""
        raw = int.from_bytes(content, "big" if big else "little")
        if self.sign is None:
            return raw
        if self.sign == TWOS:
            return raw - (1 << 8 * self.size) if raw >> (8 * self.size - 1) else raw
        return -(raw & ~(1 << self.sign)) if raw >> self.sign & 1 else raw

    def encode(self, value: int, *, big: bool = False) -> bytes:
        """The bytes of a number; one that does not fit is cut to what does."""
        bits = 8 * self.size
        if self.sign is None:
            raw = min(max(value, 0), (1 << bits) - 1)
        elif self.sign == TWOS:
            raw = min(max(value, -(1 << bits - 1)), (1 << bits - 1) - 1) % (1 << bits)
        else:
            size = min(abs(value), (1 << self.sign) - 1)
            raw = size | (1 << self.sign) if value < 0 else size
        return raw.to_bytes(self.size, "big" if big else "little")


class Scale(NamedTuple):
    """SI = factor * (count - zero)."""

    factor: float
    unit: str
    zero: float = 0.0

    def si(self, count: float) -> float:
        """What a count is, in `unit`."""
        return self.factor * (count - self.zero)

    def count(self, value: float) -> int:
        """The whole count nearest to a value in `unit`."""
        return round(value / self.factor + self.zero)


class RegisterModel(NamedTuple):
    """What one model number stands for."""

    name: str
    """As the catalogue's parts begin that have this number."""
    ampere: float | None = None
    """One count of its current [A]; None: it has none, and the register is a load."""


@dataclass(frozen=True, kw_only=True)
class Map:
    """A family's control table, as its maker prints it."""

    name: str
    protocol: str
    """'feetech', 'dynamixel1' or 'dynamixel2'."""
    source: str
    registers: Mapping[str, Register]
    scales: Mapping[str, Scale]
    """What registers of the block are, by the name of the signal: position, velocity, duty, current,
    temperature, supply; and those of limits."""
    signals: Mapping[str, str]
    """Signal -> its register. They lie in one block, which one read brings."""
    models: Mapping[int, RegisterModel]
    counts_per_turn: int = 4096
    big: bool = False
    sync_read: bool = True
    defaults: Mapping[str, int] = field(default_factory=dict)
    """What a new servo holds, for the virtual one."""
    recording: Mapping[str, int] = field(default_factory=dict)
    """What is written before a recording, so that the firmware follows the goal as it is; it is restored."""
    mode: tuple[str, int, Mapping[int, str]] | None = None
    """(register, its value in the position mode, the other modes in words)."""
    watchdog: tuple[str, float] | None = None
    """(register of the bus watchdog, one count of it [s])."""
    gains: Mapping[str, str] = field(default_factory=dict)
    """Setting of an actuator -> the register that holds it."""
    status_bits: Mapping[int, str] = field(default_factory=dict)
    """What bits of a reply's error byte mean."""
    firmware: tuple[str, ...] = ("firmware",)
    kept: tuple[str, ...] = ()
    """Further registers that are read and stored with a log."""
    bauds: tuple[int, ...] = (1_000_000,)
    ram: int = 40
    """Address from which on registers are lost with the power; those below are kept."""
    read_only: tuple[str, ...] = ()
    """Registers that nobody can write, beside what is measured."""
    takes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """What a register takes, from ... to; a Dynamixel refuses anything else."""
    rates: Mapping[int, int] = field(default_factory=dict)
    """Count of the register of the baud rate -> rate."""
    wheel: str = ""
    """The mode that both position limits at 0 mean, in a table without a register for it."""
    profile: tuple[str, str] = ("", "")
    """Registers of the speed and the acceleration that a setpoint keeps, 0 for any; `scales` has their units
    as profile_velocity and profile_acceleration."""
    dead_zone: tuple[str, ...] = ()
    """Registers of the errors that count as none, forwards and backwards, in counts of the position."""
    start_duty: str = ""
    """Register of the duty that every error beyond adds; it counts as `scales` has the duty."""
    duty_goal: Register | None = None
    """The goal of the PWM mode."""
    duty_limits: tuple[str, ...] = ()
    """Registers whose least one limits the duty; they count as `scales` has the duty."""
    homing: int = 0
    """Sign with which the homing offset is added to what the encoder counts; 0: there is none."""

    def __getitem__(self, name: str) -> Register:
        if name not in self.registers:
            raise UnknownName(f"register of {self.name}", name, self.registers)
        return self.registers[name]

    @property
    def block(self) -> tuple[int, int]:
        """(address, length) of the one read that brings every signal."""
        there = [self.registers[name] for name in self.signals.values()]
        start = min(r.address for r in there)
        return start, max(r.address + r.size for r in there) - start

    def in_block(self, content: bytes) -> dict[str, int]:
        """The counts of every signal in a block."""
        start, _ = self.block
        counts = {}
        for signal, name in self.signals.items():
            r = self.registers[name]
            part = content[r.address - start : r.address - start + r.size]
            counts[signal] = r.decode(part, big=self.big)
        return counts

    def scale(self, signal: str, model: RegisterModel) -> Scale | None:
        """What a count of a signal is on a model; None where the model has no such signal."""
        if signal != "current":
            return self.scales[signal]
        if model.ampere is None:
            return None
        return Scale(model.ampere, "A", self.scales["current"].zero)

    def model(self, number: int) -> RegisterModel:
        """What a model number stands for; a number that nobody knows is its name."""
        return self.models.get(number, RegisterModel(f"model {number}"))


TURN, STEP = 2.0 * math.pi / 4096, math.radians(300.0) / 1024
"""One count of a magnetic encoder, and of a potentiometer [rad]."""
PID = {f"drive.{name}": name for name in ("proportional", "integral", "derivative")}
SCALES = {
    "temperature": Scale(1.0, "degC"),
    "supply": Scale(0.1, "V"),
    "status": Scale(1.0, "1"),
    "return_delay": Scale(2e-6, "s"),
}
"""What all of them count alike."""


def _registers(text: str) -> dict[str, Register]:
    """Registers in words: "goal 42 2 15" is called goal and stands at address 42 in 2 bytes, bit 15 of them
    its sign; "twos" is written in place of the bit where negative numbers are in two's complement."""
    registers = {}
    for entry in text.split(","):
        name, address, size, *sign = entry.split()
        bit = None if not sign else TWOS if sign == ["twos"] else int(sign[0])
        registers[name] = Register(int(address), int(size), bit)
    return registers


FEETECH = Map(
    name="feetech",
    protocol="feetech",
    source="",
    registers=_registers("""
        firmware 0 1, firmware_minor 1 1, model_number 3 2, id 5 1, baud 6 1, return_delay 7 1,
        response_level 8 1, position_low 9 2, position_high 11 2, temperature_limit 13 1,
        supply_high 14 1, supply_low 15 1, torque_maximum 16 2,
        proportional 21 1, derivative 22 1, integral 23 1, minimum_force 24 2,
        dead_zone_forward 26 1, dead_zone_backward 27 1,
        torque_enable 40 1, goal 42 2, goal_time 44 2, goal_velocity 46 2,
        position 56 2, velocity 58 2 15, load 60 2 10, voltage 62 1, temperature 63 1, status 65 1,
        moving 66 1
    """),
    scales={**SCALES, "duty": Scale(1e-3, "1")},
    signals={
        **{"position": "position", "velocity": "velocity", "duty": "load", "supply": "voltage"},
        **{"temperature": "temperature", "status": "status"},
    },
    models={},
    defaults={
        **{"firmware": 3, "position_low": 0, "temperature_limit": 70, "supply_low": 40},
        **{"torque_maximum": 1000, "lock": 1, "response_level": 1},
    },
    recording={"goal_time": 0, "goal_velocity": 0},
    status_bits={0: "supply voltage", 2: "too hot", 5: "overload"},
    firmware=("firmware", "firmware_minor"),
    bauds=(1_000_000, 500_000, 250_000, 128_000, 115_200, 57_600, 38_400),
    read_only=("firmware", "firmware_minor", "model_number", "moving"),
    rates=dict(enumerate((1_000_000, 500_000, 250_000, 128_000, 115_200, 76_800, 57_600, 38_400))),
    profile=("goal_velocity", ""),
    dead_zone=("dead_zone_forward", "dead_zone_backward"),
    start_duty="minimum_force",
    duty_goal=Register(44, 2, 10),
    duty_limits=("torque_maximum",),
)
"""What the series of Feetech share; no servo has just this."""

STS = replace(
    FEETECH,
    name="feetech-sts",
    source="Feetech STS series memory table (feetechrc.com), as public drivers spell it; units: STS3215"
    " user manual: load 0.1 %, voltage 0.1 V, current 6.5 mA a count",
    registers={
        **FEETECH.registers,
        **_registers("""
        unloading_condition 19 1, current_limit 28 2,
        homing_offset 31 2 11, mode 33 1, protective_torque 34 1, protection_time 35 1, overload_torque 36 1,
        acceleration 41 1, goal 42 2 15, goal_velocity 46 2 15, torque_limit 48 2, lock 55 1,
        position 56 2 15, registered 64 1, current 69 2 15
        """),
    },
    scales={
        **FEETECH.scales,
        **{"position": Scale(TURN, "rad", 2048), "velocity": Scale(TURN, "rad/s")},
        "current": Scale(6.5e-3, "A"),
        **{"profile_velocity": Scale(TURN, "rad/s"), "profile_acceleration": Scale(100 * TURN, "rad/s^2")},
    },
    signals={**FEETECH.signals, "current": "current"},
    models={777: RegisterModel("sts3215", 6.5e-3), 2825: RegisterModel("sts3250", 6.5e-3)},
    defaults={
        **FEETECH.defaults,
        **{"firmware_minor": 10, "baud": 0, "return_delay": 0, "position_high": 4095, "supply_high": 140},
        **{"unloading_condition": 44, "proportional": 32, "derivative": 32, "integral": 0},
        **{"minimum_force": 16, "dead_zone_forward": 1, "dead_zone_backward": 1, "current_limit": 500},
        **{"mode": 0, "protective_torque": 20, "protection_time": 200, "overload_torque": 80},
        **{"torque_limit": 1000},
    },
    recording={"acceleration": 0, **FEETECH.recording},
    mode=("mode", 0, {1: "velocity", 2: "PWM", 3: "step"}),
    gains=PID,
    status_bits={0: "supply voltage", 1: "sensor", 2: "too hot", 3: "overcurrent", 5: "overload"},
    kept=(
        *("return_delay", "position_low", "position_high", "temperature_limit", "supply_low", "supply_high"),
        *("torque_maximum", "torque_limit", "minimum_force", "dead_zone_forward", "dead_zone_backward"),
        *("current_limit", "homing_offset", "mode", "protective_torque", "protection_time"),
        *("overload_torque", "acceleration", "goal_velocity"),
    ),
    read_only=(*FEETECH.read_only, "registered"),
    profile=("goal_velocity", "acceleration"),
    duty_limits=("torque_limit", "torque_maximum"),
    homing=-1,
)
"""Several servos of the series share a model number; 777 is every STS3215."""

SCS = replace(
    FEETECH,
    name="feetech-scs",
    source="Feetech SCS series memory table (feetechrc.com), as public drivers spell it",
    registers={**FEETECH.registers, **_registers("lock 48 1")},
    scales={
        **FEETECH.scales,
        **{"position": Scale(STEP, "rad", 512), "velocity": Scale(STEP, "rad/s")},
        "profile_velocity": Scale(STEP, "rad/s"),
    },
    models={1284: RegisterModel("scs0009", None)},
    counts_per_turn=round(2.0 * math.pi / STEP),
    big=True,
    sync_read=False,
    defaults={
        **FEETECH.defaults,
        **{"firmware_minor": 3, "position_high": 1023, "supply_high": 90, "proportional": 15},
    },
    gains={path: name for path, name in PID.items() if name != "integral"},
    kept=(
        *("return_delay", "position_low", "position_high", "temperature_limit", "supply_low", "supply_high"),
        *("torque_maximum", "minimum_force", "dead_zone_forward", "dead_zone_backward", "goal_velocity"),
    ),
    wheel="PWM",
)


X = Map(
    name="dynamixel-x",
    protocol="dynamixel2",
    source="ROBOTIS e-manual, control tables of XL430-W250, XL330-M288, XM430-W350 (emanual.robotis.com)",
    registers=_registers("""
        model_number 0 2, firmware 6 1, id 7 1, baud 8 1, return_delay 9 1, drive_mode 10 1, mode 11 1,
        homing_offset 20 4 twos, moving_threshold 24 4, temperature_limit 31 1, supply_high 32 2,
        supply_low 34 2, duty_limit 36 2, current_limit 38 2,
        position_high 48 4 twos, position_low 52 4 twos, shutdown 63 1,
        torque_enable 64 1, response_level 68 1, registered 69 1, hardware_error 70 1,
        derivative 80 2, integral 82 2, proportional 84 2,
        feedforward_acceleration 88 2, feedforward_velocity 90 2, bus_watchdog 98 1,
        goal_duty 100 2 twos, goal_current 102 2 twos, goal_velocity 104 4 twos,
        profile_acceleration 108 4, profile_velocity 112 4, goal 116 4 twos, moving 122 1,
        moving_status 123 1, duty 124 2 twos, current 126 2 twos, velocity 128 4 twos, position 132 4 twos,
        velocity_trajectory 136 4 twos, position_trajectory 140 4 twos, voltage 144 2, temperature 146 1
    """),
    scales={
        **SCALES,
        "position": Scale(TURN, "rad", 2048),
        "velocity": Scale(0.229 * RPM, "rad/s"),
        "duty": Scale(1.0 / 885.0, "1"),
        "current": Scale(1e-3, "A"),
        "profile_velocity": Scale(0.229 * RPM, "rad/s"),
        "profile_acceleration": Scale(214.577 * RPM / 60.0, "rad/s^2"),
    },
    signals={
        **{"position": "position", "velocity": "velocity", "duty": "duty", "current": "current"},
        **{"supply": "voltage", "temperature": "temperature"},
    },
    models={
        1060: RegisterModel("xl430-w250", None),
        1190: RegisterModel("xl330-m077", 1e-3),
        1200: RegisterModel("xl330-m288", 1e-3),
        1220: RegisterModel("xc330-t288", 1e-3),
        1230: RegisterModel("xc330-m181", 1e-3),
        1240: RegisterModel("xc330-m288", 1e-3),
        1020: RegisterModel("xm430-w350", 2.69e-3),
        1030: RegisterModel("xm430-w210", 2.69e-3),
        1120: RegisterModel("xm540-w270", 2.69e-3),
        1130: RegisterModel("xm540-w150", 2.69e-3),
    },
    defaults={
        **{"firmware": 52, "baud": 1, "return_delay": 250, "mode": 3, "temperature_limit": 70},
        **{"supply_high": 160, "supply_low": 35, "duty_limit": 885, "current_limit": 1750},
        **{"position_high": 4095, "position_low": 0, "shutdown": 53, "response_level": 2},
        **{"proportional": 800, "goal_duty": 885, "goal_current": 1750, "moving_threshold": 10},
    },
    recording={"profile_acceleration": 0, "profile_velocity": 0},
    mode=(
        *("mode", 3),
        {0: "current", 1: "velocity", 4: "extended position", 5: "current-based position", 16: "PWM"},
    ),
    watchdog=("bus_watchdog", 0.02),
    gains=PID,
    status_bits={7: "hardware alert: register 70 says which"},
    kept=(
        *("return_delay", "drive_mode", "mode", "homing_offset", "temperature_limit", "supply_low"),
        *("supply_high", "duty_limit", "current_limit", "position_low", "position_high", "shutdown"),
        *("feedforward_acceleration", "feedforward_velocity", "profile_acceleration", "profile_velocity"),
        "hardware_error",
    ),
    bauds=(1_000_000, 57_600, 115_200, 2_000_000, 3_000_000, 4_000_000),
    ram=64,
    read_only=(
        *("model_number", "firmware", "registered", "hardware_error", "moving", "moving_status"),
        *("velocity_trajectory", "position_trajectory"),
    ),
    takes={
        **{"id": (0, 252), "baud": (0, 7), "return_delay": (0, 254), "drive_mode": (0, 0)},
        **{"homing_offset": (-1_044_479, 1_044_479), "temperature_limit": (0, 100), "duty_limit": (0, 885)},
        **{"position_high": (0, 4095), "position_low": (0, 4095), "torque_enable": (0, 1)},
        **{"response_level": (0, 2), "derivative": (0, 16_383), "integral": (0, 16_383)},
        **{"proportional": (0, 16_383), "profile_acceleration": (0, 32_767), "profile_velocity": (0, 32_767)},
    },
    rates=dict(enumerate((9_600, 57_600, 115_200, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 4_500_000))),
    profile=("profile_velocity", "profile_acceleration"),
    duty_goal=Register(100, 2, TWOS),
    duty_limits=("goal_duty", "duty_limit"),
    homing=1,
)

MX2 = replace(
    X,
    name="dynamixel-mx2",
    source="ROBOTIS e-manual, control tables of MX-28(2.0), MX-64(2.0), MX-106(2.0)",
    models={
        30: RegisterModel("mx-28", None),
        311: RegisterModel("mx-64", 3.36e-3),
        321: RegisterModel("mx-106", 3.36e-3),
    },
    defaults={**X.defaults, "proportional": 850},
)
"""A load in tenths of a per cent stands where others have the current, in MX-28 as in XL430."""


MX = Map(
    name="dynamixel-mx",
    protocol="dynamixel1",
    source="ROBOTIS e-manual, control tables of MX-28, MX-64, MX-106 (emanual.robotis.com)",
    registers=_registers("""
        model_number 0 2, firmware 2 1, id 3 1, baud 4 1, return_delay 5 1, position_low 6 2,
        position_high 8 2, temperature_limit 11 1, supply_low 12 1, supply_high 13 1, torque_maximum 14 2,
        response_level 16 1, shutdown 18 1,
        torque_enable 24 1, derivative 26 1, integral 27 1, proportional 28 1,
        goal 30 2, goal_velocity 32 2 10, torque_limit 34 2,
        position 36 2, velocity 38 2 10, load 40 2 10, voltage 42 1, temperature 43 1,
        registered 44 1, moving 46 1, lock 47 1, punch 48 2, current 68 2, goal_acceleration 73 1
    """),
    scales={
        **SCALES,
        "position": Scale(TURN, "rad", 2048),
        "velocity": Scale(0.114 * RPM, "rad/s"),
        "duty": Scale(1.0 / 1023.0, "1"),
        "current": Scale(4.5e-3, "A", 2048),
        "profile_velocity": Scale(0.114 * RPM, "rad/s"),
        "profile_acceleration": Scale(math.radians(8.583), "rad/s^2"),
    },
    signals={
        **{"position": "position", "velocity": "velocity", "duty": "load", "supply": "voltage"},
        **{"temperature": "temperature", "current": "current"},
    },
    models={
        29: RegisterModel("mx-28", None),
        310: RegisterModel("mx-64", 4.5e-3),
        320: RegisterModel("mx-106", 4.5e-3),
    },
    sync_read=False,
    defaults={
        **{"firmware": 41, "baud": 34, "return_delay": 250, "position_high": 4095, "temperature_limit": 80},
        **{"supply_low": 60, "supply_high": 160, "torque_maximum": 1023, "response_level": 2},
        **{"shutdown": 36, "proportional": 32, "torque_limit": 1023},
    },
    recording={"goal_velocity": 0, "goal_acceleration": 0},
    gains=PID,
    status_bits={0: "supply voltage", 2: "too hot", 5: "overload"},
    kept=(
        *("return_delay", "position_low", "position_high", "temperature_limit", "supply_low", "supply_high"),
        *("torque_maximum", "torque_limit", "shutdown", "punch", "goal_velocity", "goal_acceleration"),
    ),
    bauds=(1_000_000, 57_600, 115_200, 2_000_000, 3_000_000),
    ram=24,
    read_only=("model_number", "firmware", "moving", "registered"),
    takes={
        **{"id": (0, 252), "return_delay": (0, 254), "position_low": (0, 4095), "position_high": (0, 4095)},
        **{"torque_maximum": (0, 1023), "torque_enable": (0, 1), "torque_limit": (0, 1023)},
        **{"response_level": (0, 2), "proportional": (0, 254), "lock": (0, 1)},
    },
    rates={**{n: round(2e6 / (n + 1)) for n in range(250)}, 250: 2_250_000, 251: 2_500_000, 252: 3_000_000},
    wheel="velocity",
    profile=("goal_velocity", "goal_acceleration"),
    start_duty="punch",
    duty_limits=("torque_limit",),
)
"""In wheel mode both position limits are 0; a goal is then no position."""


MAPS: dict[str, Map] = {one.name: one for one in (STS, SCS, X, MX2, MX)}
"""Every control table by name."""


def of_model(protocol: str, number: int) -> Map:
    """The control table of a model number; the first of its protocol where nobody knows the number."""
    mine = [one for one in MAPS.values() if one.protocol == protocol]
    return next((one for one in mine if number in one.models), mine[0])


def of_part(name: str, protocol: str) -> tuple[Map, int] | None:
    """(control table, model number) of a part of the catalogue on a protocol; None where there is none."""
    for one in MAPS.values():
        for number, model in one.models.items():
            if one.protocol == protocol and f"{name}-".startswith(f"{model.name}-"):
                return one, number
    return None
