"""Dynamixel MX series with protocol 1, 4096 counts a turn."""

from __future__ import annotations

import math

from ..registers import RPM, Map, Model, Register, Scale

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
    models={29: Model("mx-28", None), 310: Model("mx-64", 4.5e-3), 320: Model("mx-106", 4.5e-3)},
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
