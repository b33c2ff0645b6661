"""Feetech STS and SMS series: the control table of magnetic-encoder bus servos, 4096 counts a turn."""

from __future__ import annotations

import math

from ..registers import Map, Model, Register, Scale

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
    models={777: Model("sts3215", 6.5e-3), 2825: Model("sts3250", 6.5e-3)},
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
