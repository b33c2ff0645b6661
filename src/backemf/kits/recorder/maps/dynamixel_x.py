"""Dynamixel X series, and MX with protocol 2: the same control table, 4096 counts a turn."""

from __future__ import annotations

import math
from dataclasses import replace

from ..registers import RPM, TWOS, Map, Model, Register, Scale

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
        1060: Model("xl430-w250", None),
        1190: Model("xl330-m077", 1e-3),
        1200: Model("xl330-m288", 1e-3),
        1220: Model("xc330-t288", 1e-3),
        1230: Model("xc330-m181", 1e-3),
        1240: Model("xc330-m288", 1e-3),
        1020: Model("xm430-w350", 2.69e-3),
        1030: Model("xm430-w210", 2.69e-3),
        1120: Model("xm540-w270", 2.69e-3),
        1130: Model("xm540-w150", 2.69e-3),
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
    models={30: Model("mx-28", None), 311: Model("mx-64", 3.36e-3), 321: Model("mx-106", 3.36e-3)},
    defaults={**X.defaults, "proportional": 850},
)
"""A load in tenths of a per cent stands where others have the current, in MX-28 as in XL430."""
