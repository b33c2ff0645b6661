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
        return self.factor * (count - self.zero)

    def count(self, value: float) -> int:
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
        return self.models.get(number, RegisterModel(f"model {number}"))


TURN = 2.0 * math.pi / 4096

STS = Map(
    name="feetech-sts",
    protocol="feetech",
    source="Feetech STS series memory table (feetechrc.com), as public drivers spell it; units: STS3215"
    " user manual: load 0.1 %, voltage 0.1 V, current 6.5 mA a count",
    registers={
        "firmware": Register(0, 1),
        "firmware_minor": Register(1, 1),
        "model_number": Register(3, 2),
        "id": Register(5, 1),
        "baud": Register(6, 1),
        "return_delay": Register(7, 1),
        "response_level": Register(8, 1),
        "position_low": Register(9, 2),
        "position_high": Register(11, 2),
        "temperature_limit": Register(13, 1),
        "supply_high": Register(14, 1),
        "supply_low": Register(15, 1),
        "torque_maximum": Register(16, 2),
        "unloading_condition": Register(19, 1),
        "proportional": Register(21, 1),
        "derivative": Register(22, 1),
        "integral": Register(23, 1),
        "minimum_force": Register(24, 2),
        "dead_zone_forward": Register(26, 1),
        "dead_zone_backward": Register(27, 1),
        "current_limit": Register(28, 2),
        "homing_offset": Register(31, 2, 11),
        "mode": Register(33, 1),
        "protective_torque": Register(34, 1),
        "protection_time": Register(35, 1),
        "overload_torque": Register(36, 1),
        "torque_enable": Register(40, 1),
        "acceleration": Register(41, 1),
        "goal": Register(42, 2, 15),
        "goal_time": Register(44, 2),
        "goal_velocity": Register(46, 2, 15),
        "torque_limit": Register(48, 2),
        "lock": Register(55, 1),
        "position": Register(56, 2, 15),
        "velocity": Register(58, 2, 15),
        "load": Register(60, 2, 10),
        "voltage": Register(62, 1),
        "temperature": Register(63, 1),
        "status": Register(65, 1),
        "moving": Register(66, 1),
        "current": Register(69, 2, 15),
    },
    scales={
        "position": Scale(TURN, "rad", 2048),
        "velocity": Scale(TURN, "rad/s"),
        "duty": Scale(1e-3, "1"),
        "current": Scale(6.5e-3, "A"),
        "temperature": Scale(1.0, "degC"),
        "supply": Scale(0.1, "V"),
        "status": Scale(1.0, "1"),
        "return_delay": Scale(2e-6, "s"),
    },
    signals={
        **{"position": "position", "velocity": "velocity", "duty": "load", "supply": "voltage"},
        **{"temperature": "temperature", "status": "status", "current": "current"},
    },
    models={777: RegisterModel("sts3215", 6.5e-3), 2825: RegisterModel("sts3250", 6.5e-3)},
    defaults={
        **{"firmware": 3, "firmware_minor": 10, "baud": 0, "return_delay": 0, "response_level": 1},
        **{"position_low": 0, "position_high": 4095, "temperature_limit": 70, "supply_high": 140},
        **{"supply_low": 40, "torque_maximum": 1000, "unloading_condition": 44, "proportional": 32},
        **{"derivative": 32, "integral": 0, "minimum_force": 16, "dead_zone_forward": 1},
        **{"dead_zone_backward": 1, "current_limit": 500, "mode": 0, "protective_torque": 20},
        **{"protection_time": 200, "overload_torque": 80, "torque_limit": 1000, "lock": 1},
    },
    recording={"acceleration": 0, "goal_time": 0, "goal_velocity": 0},
    mode=("mode", 0, {1: "velocity", 2: "PWM", 3: "step"}),
    gains={
        **{"drive.proportional": "proportional", "drive.integral": "integral"},
        **{"drive.derivative": "derivative"},
    },
    status_bits={0: "supply voltage", 1: "sensor", 2: "too hot", 3: "overcurrent", 5: "overload"},
    firmware=("firmware", "firmware_minor"),
    kept=(
        *("return_delay", "position_low", "position_high", "temperature_limit", "supply_low", "supply_high"),
        *("torque_maximum", "torque_limit", "minimum_force", "dead_zone_forward", "dead_zone_backward"),
        *("current_limit", "homing_offset", "mode", "protective_torque", "protection_time"),
        *("overload_torque", "acceleration", "goal_velocity"),
    ),
    bauds=(1_000_000, 500_000, 250_000, 128_000, 115_200, 57_600, 38_400),
)
"""Several servos of the series share a model number; 777 is every STS3215."""


STEP = math.radians(300.0) / 1024

SCS = Map(
    name="feetech-scs",
    protocol="feetech",
    source="Feetech SCS series memory table (feetechrc.com), as public drivers spell it",
    registers={
        "firmware": Register(0, 1),
        "firmware_minor": Register(1, 1),
        "model_number": Register(3, 2),
        "id": Register(5, 1),
        "baud": Register(6, 1),
        "return_delay": Register(7, 1),
        "response_level": Register(8, 1),
        "position_low": Register(9, 2),
        "position_high": Register(11, 2),
        "temperature_limit": Register(13, 1),
        "supply_high": Register(14, 1),
        "supply_low": Register(15, 1),
        "torque_maximum": Register(16, 2),
        "proportional": Register(21, 1),
        "derivative": Register(22, 1),
        "integral": Register(23, 1),
        "minimum_force": Register(24, 2),
        "torque_enable": Register(40, 1),
        "goal": Register(42, 2),
        "goal_time": Register(44, 2),
        "goal_velocity": Register(46, 2),
        "lock": Register(48, 1),
        "position": Register(56, 2),
        "velocity": Register(58, 2, 15),
        "load": Register(60, 2, 10),
        "voltage": Register(62, 1),
        "temperature": Register(63, 1),
        "status": Register(65, 1),
        "moving": Register(66, 1),
    },
    scales={
        "position": Scale(STEP, "rad", 512),
        "velocity": Scale(STEP, "rad/s"),
        "duty": Scale(1e-3, "1"),
        "temperature": Scale(1.0, "degC"),
        "supply": Scale(0.1, "V"),
        "status": Scale(1.0, "1"),
        "return_delay": Scale(2e-6, "s"),
    },
    signals={
        **{"position": "position", "velocity": "velocity", "duty": "load", "supply": "voltage"},
        **{"temperature": "temperature", "status": "status"},
    },
    models={1284: RegisterModel("scs0009", None)},
    counts_per_turn=round(2.0 * math.pi / STEP),
    big=True,
    sync_read=False,
    defaults={
        **{"firmware": 3, "firmware_minor": 3, "position_low": 0, "position_high": 1023},
        **{"temperature_limit": 70, "supply_high": 90, "supply_low": 40, "torque_maximum": 1000},
        **{"proportional": 15, "lock": 1, "response_level": 1},
    },
    recording={"goal_time": 0, "goal_velocity": 0},
    gains={"drive.proportional": "proportional", "drive.derivative": "derivative"},
    status_bits={0: "supply voltage", 2: "too hot", 5: "overload"},
    firmware=("firmware", "firmware_minor"),
    kept=(
        *("return_delay", "position_low", "position_high", "temperature_limit", "supply_low", "supply_high"),
        *("torque_maximum", "minimum_force", "goal_velocity"),
    ),
    bauds=(1_000_000, 500_000, 250_000, 128_000, 115_200, 57_600, 38_400),
)


X = Map(
    name="dynamixel-x",
    protocol="dynamixel2",
    source="ROBOTIS e-manual, control tables of XL430-W250, XL330-M288, XM430-W350 (emanual.robotis.com)",
    registers={
        "model_number": Register(0, 2),
        "firmware": Register(6, 1),
        "id": Register(7, 1),
        "baud": Register(8, 1),
        "return_delay": Register(9, 1),
        "drive_mode": Register(10, 1),
        "mode": Register(11, 1),
        "homing_offset": Register(20, 4, TWOS),
        "temperature_limit": Register(31, 1),
        "supply_high": Register(32, 2),
        "supply_low": Register(34, 2),
        "duty_limit": Register(36, 2),
        "current_limit": Register(38, 2),
        "position_high": Register(48, 4, TWOS),
        "position_low": Register(52, 4, TWOS),
        "shutdown": Register(63, 1),
        "torque_enable": Register(64, 1),
        "response_level": Register(68, 1),
        "hardware_error": Register(70, 1),
        "derivative": Register(80, 2),
        "integral": Register(82, 2),
        "proportional": Register(84, 2),
        "feedforward_acceleration": Register(88, 2),
        "feedforward_velocity": Register(90, 2),
        "bus_watchdog": Register(98, 1),
        "goal_duty": Register(100, 2, TWOS),
        "goal_current": Register(102, 2, TWOS),
        "goal_velocity": Register(104, 4, TWOS),
        "profile_acceleration": Register(108, 4),
        "profile_velocity": Register(112, 4),
        "goal": Register(116, 4, TWOS),
        "moving": Register(122, 1),
        "duty": Register(124, 2, TWOS),
        "current": Register(126, 2, TWOS),
        "velocity": Register(128, 4, TWOS),
        "position": Register(132, 4, TWOS),
        "voltage": Register(144, 2),
        "temperature": Register(146, 1),
    },
    scales={
        "position": Scale(2.0 * math.pi / 4096, "rad", 2048),
        "velocity": Scale(0.229 * RPM, "rad/s"),
        "duty": Scale(1.0 / 885.0, "1"),
        "current": Scale(1e-3, "A"),
        "temperature": Scale(1.0, "degC"),
        "supply": Scale(0.1, "V"),
        "return_delay": Scale(2e-6, "s"),
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
        **{"firmware": 52, "baud": 3, "return_delay": 250, "mode": 3, "temperature_limit": 70},
        **{"supply_high": 160, "supply_low": 35, "duty_limit": 885, "current_limit": 1750},
        **{"position_high": 4095, "position_low": 0, "shutdown": 53, "response_level": 2},
        **{"proportional": 800, "goal_duty": 885, "goal_current": 1750},
    },
    recording={"profile_acceleration": 0, "profile_velocity": 0},
    mode=(
        *("mode", 3),
        {0: "current", 1: "velocity", 4: "extended position", 5: "current-based position", 16: "PWM"},
    ),
    watchdog=("bus_watchdog", 0.02),
    gains={
        **{"drive.proportional": "proportional", "drive.integral": "integral"},
        **{"drive.derivative": "derivative"},
    },
    status_bits={7: "hardware alert: register 70 says which"},
    kept=(
        *("return_delay", "drive_mode", "mode", "homing_offset", "temperature_limit", "supply_low"),
        *("supply_high", "duty_limit", "current_limit", "position_low", "position_high", "shutdown"),
        *("feedforward_acceleration", "feedforward_velocity", "profile_acceleration", "profile_velocity"),
        "hardware_error",
    ),
    bauds=(1_000_000, 57_600, 115_200, 2_000_000, 3_000_000, 4_000_000),
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
    registers={
        "model_number": Register(0, 2),
        "firmware": Register(2, 1),
        "id": Register(3, 1),
        "baud": Register(4, 1),
        "return_delay": Register(5, 1),
        "position_low": Register(6, 2),
        "position_high": Register(8, 2),
        "temperature_limit": Register(11, 1),
        "supply_low": Register(12, 1),
        "supply_high": Register(13, 1),
        "torque_maximum": Register(14, 2),
        "response_level": Register(16, 1),
        "shutdown": Register(18, 1),
        "torque_enable": Register(24, 1),
        "derivative": Register(26, 1),
        "integral": Register(27, 1),
        "proportional": Register(28, 1),
        "goal": Register(30, 2),
        "goal_velocity": Register(32, 2),
        "torque_limit": Register(34, 2),
        "position": Register(36, 2),
        "velocity": Register(38, 2, 10),
        "load": Register(40, 2, 10),
        "voltage": Register(42, 1),
        "temperature": Register(43, 1),
        "moving": Register(46, 1),
        "lock": Register(47, 1),
        "punch": Register(48, 2),
        "current": Register(68, 2),
        "goal_acceleration": Register(73, 1),
    },
    scales={
        "position": Scale(2.0 * math.pi / 4096, "rad", 2048),
        "velocity": Scale(0.114 * RPM, "rad/s"),
        "duty": Scale(1.0 / 1023.0, "1"),
        "current": Scale(4.5e-3, "A", 2048),
        "temperature": Scale(1.0, "degC"),
        "supply": Scale(0.1, "V"),
        "return_delay": Scale(2e-6, "s"),
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
    gains={
        **{"drive.proportional": "proportional", "drive.integral": "integral"},
        **{"drive.derivative": "derivative"},
    },
    status_bits={0: "supply voltage", 2: "too hot", 5: "overload"},
    kept=(
        *("return_delay", "position_low", "position_high", "temperature_limit", "supply_low", "supply_high"),
        *("torque_maximum", "torque_limit", "shutdown", "punch", "goal_velocity", "goal_acceleration"),
    ),
    bauds=(1_000_000, 57_600, 115_200, 2_000_000, 3_000_000),
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
