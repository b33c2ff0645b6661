"""Feetech SCS series: potentiometer servos, 1024 counts over 300 degrees, high byte first, no current."""

from __future__ import annotations

import math

from ..registers import Map, Model, Register, Scale

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
    models={1284: Model("scs0009", None)},
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
