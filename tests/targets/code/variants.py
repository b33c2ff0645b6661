"""Actuators of every friction, drive, gearbox and heat, and one motion that the engine and a file make."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import backemf as be

MOTOR = be.motor.Motor(resistance=4.0, torque_constant=0.01, back_emf_constant=0.011, rotor_inertia=1e-7)
SERVO = be.Actuator(
    motor=MOTOR,
    gearbox=be.gearbox.Gearbox(ratio=100.0),
    friction=be.friction.Stribeck(coulomb=0.05, static=0.055, stribeck_velocity=0.1, viscous=0.01),
    drive=be.drive.Position(volts_per_radian=40.0, volt_seconds_per_radian=0.2, supply=12.0),
)
DRY = {"coulomb": 0.05, "viscous": 0.01}
STRIBECK = {**DRY, "static": 0.08, "stribeck_velocity": 0.1}
LOADED = {"load_motor": 0.1, "load_external": 0.05}
BENT = {"load_motor_stribeck": 0.05, "load_external_stribeck": 0.02}
FRICTIONS = {
    "viscous": be.friction.Viscous(viscous=0.02),
    "coulomb": be.friction.Coulomb(**DRY),
    "stribeck": SERVO.friction,
    "m6": be.friction.M6(
        **STRIBECK, **LOADED, **BENT, load_motor_quadratic=0.01, load_external_quadratic=0.001
    ),
    "aged": be.friction.M4(
        **STRIBECK, load=0.1, load_stribeck=0.05, load_quadratic=0.2, load_asymmetry=0.3, peak=0.2, dwell=0.05
    ),
    "dahl": be.friction.Dahl(**DRY, stiffness=100.0),
    "lugre": be.friction.LuGre(**STRIBECK, stiffness=200.0, damping=0.3),
}
GAINS = {"volts_per_radian": 40.0, "volt_seconds_per_radian": 0.2, "supply": 12.0}
ERROR = {"firmware_gain": 0.2, "proportional": 16.0, "derivative": 32.0, "supply": 12.0}
ERROR |= {"firmware_derivative_gain": 2e-3, "derivative_filter": 0.009}
DRIVES = {
    "voltage": be.drive.Voltage(supply=12.0),
    "current": be.drive.Current(supply=12.0),
    "velocity": be.drive.Velocity(volt_seconds_per_radian=2.0, volts_per_radian=4.0, supply=12.0),
    "impedance": be.drive.Impedance(
        newton_metres_per_radian=4.0, newton_metre_seconds_per_radian=0.1, supply=12.0
    ),
    "slew and integral": be.drive.Position(**GAINS, volts_per_radian_second=5.0, slew=6.0),
    "delay and period": be.drive.Position(**GAINS, delay=0.008, period=0.0071, n_velocity_periods=2),
    "filter": be.drive.Servo(**ERROR),
    "filter within limits, late": be.drive.Servo(**ERROR, delay=0.006, command_low=0.25, command_high=0.5),
    "filter behind a slew": be.drive.Servo(**ERROR, slew=2.0, period=0.0071),
    "firmware": be.drive.Servo(
        **ERROR,
        slew=2.0,
        acceleration=40.0,
        deadband=0.002,
        punch=0.01,
        count=0.0015,
        duty_step=0.001,
        period=1e-3,
    ),
    "brake": be.drive.Brake(),
}
VARIANTS = {
    **{f"friction {name}": dataclasses.replace(SERVO, friction=f) for name, f in FRICTIONS.items()},
    **{f"drive {name}": dataclasses.replace(SERVO, drive=d) for name, d in DRIVES.items()},
    "inductance and heat": dataclasses.replace(
        SERVO,
        motor=dataclasses.replace(
            MOTOR, inductance=1e-3, thermal=be.motor.Thermal(resistance=8.0, capacitance=12.0)
        ),
    ),
    "two nodes": dataclasses.replace(
        SERVO,
        motor=dataclasses.replace(
            MOTOR,
            thermal=be.motor.TwoNodeThermal(
                winding_resistance=3.0,
                housing_resistance=8.0,
                winding_capacitance=5.0,
                housing_capacitance=60.0,
            ),
        ),
    ),
    "gears that lose": dataclasses.replace(SERVO, gearbox=be.gearbox.Gearbox(ratio=-100.0, efficiency=0.7)),
    "backlash": dataclasses.replace(
        SERVO,
        gearbox=be.gearbox.Gearbox(ratio=100.0, backlash=0.01, contact_stiffness=300.0, contact_damping=0.5),
    ),
    "linear": dataclasses.replace(SERVO, motion="linear"),
}
LATE = dataclasses.replace(SERVO, drive=be.drive.Position(**GAINS, delay=0.0093))
"""Its command changes inside a step of 2 ms."""
H, N = 2e-3, 250
INERTIA, LOAD = 0.004, 0.03
SIZE = {"position_target": 0.4, "velocity_target": 6.0, "voltage_target": 8.0, "current_target": 1.0}


def asked(actuator: be.Actuator, n: int = N, h: float = H) -> dict[str, np.ndarray]:
    """Targets at n steps, changing every tenth of a second."""
    t = h * np.arange(n)
    held = np.floor(t / 0.1 + 1e-9)
    wave = np.sin(2.1 * held + 0.4) + 0.5
    return {name: SIZE.get(name, 0.1) * wave for name in actuator.drive.targets}


def engine(actuator: be.Actuator, n: int = N, h: float = H, **more: Any) -> Any:
    """The engine's own motion at these steps, from a little speed on."""
    inputs = {name: np.append(x, x[-1]) for name, x in asked(actuator, n, h).items()}
    constants = {"inertia": INERTIA, "load": LOAD}
    settings = {"substeps": 1, "start": {"position": 0.1, "velocity": 0.5}, **more}
    return be.simulate(
        actuator, be.bench.Recorded(), {**inputs, **constants}, time=h * np.arange(n + 1), **settings
    )
