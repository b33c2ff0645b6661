"""One actuator per effect that the model can express, for tests that must hold for all of them."""

from __future__ import annotations

from typing import Any

import pytest

import backemf as be

FRICTIONS = {
    "viscous": be.friction.Viscous(viscous=0.02, viscous_quadratic=1e-3, viscous_cubic=1e-4),
    "coulomb": be.friction.Coulomb(coulomb=0.08, viscous=0.02, asymmetry=0.1, offset=0.02),
    "stribeck": be.friction.Stribeck(
        coulomb=0.08, static=0.15, stribeck_velocity=0.4, stribeck_exponent=1.3, viscous=0.02
    ),
    "torque-proportional": be.friction.TorqueProportional(
        coulomb=0.05, viscous=0.02, load_driving=0.2, load_back_driving=0.3
    ),
    "m3": be.friction.M3(coulomb=0.05, viscous=0.02, load=0.1),
    "m4": be.friction.M4(
        coulomb=0.05, static=0.1, stribeck_velocity=0.4, viscous=0.02, load=0.08, load_stribeck=0.05
    ),
    "m4-aged": be.friction.M4(
        coulomb=0.05,
        static=0.1,
        stribeck_velocity=0.4,
        peak=0.05,
        dwell=0.05,
        viscous=0.02,
        load=0.05,
        load_stribeck=0.03,
        load_quadratic=0.1,
        load_asymmetry=0.3,
    ),
    "m5": be.friction.M5(
        coulomb=0.05,
        static=0.1,
        stribeck_velocity=0.4,
        stribeck_exponent=1.2,
        viscous=0.02,
        load_motor=0.1,
        load_external=0.03,
        load_motor_stribeck=0.08,
        load_external_stribeck=0.05,
    ),
    "m6": be.friction.M6(
        coulomb=0.05,
        static=0.1,
        stribeck_velocity=0.4,
        stribeck_exponent=1.2,
        viscous=0.02,
        asymmetry=-0.05,
        offset=0.01,
        load_motor=0.1,
        load_external=0.03,
        load_motor_stribeck=0.08,
        load_external_stribeck=0.05,
        load_motor_quadratic=0.01,
        load_external_quadratic=0.005,
    ),
    "maxwell-slip": be.friction.MaxwellSlip(coulomb=0.08, viscous=0.02, stiffness=60.0, softening=2.5),
    "load-maxwell-slip": be.friction.LoadMaxwellSlip(
        coulomb=0.08,
        static=0.12,
        stribeck_velocity=0.3,
        viscous=0.02,
        stiffness=60.0,
        load=0.05,
        load_stribeck=0.03,
    ),
    "dahl": be.friction.Dahl(coulomb=0.08, viscous=0.02, stiffness=60.0),
    "lugre": be.friction.LuGre(
        coulomb=0.08,
        static=0.12,
        stribeck_velocity=0.3,
        viscous=0.05,
        stiffness=80.0,
        damping=0.4,
        damping_exponent=1.0,
    ),
    "load-lugre": be.friction.LoadLuGre(
        coulomb=0.08,
        static=0.12,
        stribeck_velocity=0.3,
        viscous=0.05,
        stiffness=80.0,
        damping=0.4,
        load=0.05,
        load_stribeck=0.03,
    ),
}

PLAIN = be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3)
RICH = be.motor.Motor(
    resistance=1.2,
    torque_constant=0.03,
    back_emf_constant=0.031,
    rotor_inertia=4e-6,
    inductance=6e-4,
    saturation_current=40.0,
    iron_loss=2e-6,
    thermal=be.motor.Thermal(resistance=8.0, capacitance=12.0, magnet_coefficient=-0.001),
    cogging=be.motor.Cogging(amplitude=2e-3, periods=12.0, phase=0.3),
)
LIMITED = be.motor.Motor(
    resistance=1.2,
    torque_constant=0.5,
    rotor_inertia=2e-3,
    inductance=2e-3,
    thermal=be.motor.TwoNodeThermal(
        winding_resistance=2.0, housing_resistance=6.0, winding_capacitance=3.0, housing_capacitance=30.0
    ),
    limits=be.motor.Limits(
        current=6.0,
        torque=2.8,
        current_rate=4000.0,
        continuous_current=2.0,
        peak_current=7.0,
        peak_time=0.5,
        safe_current=0.5,
        derating_start=30.0,
        derating_end=60.0,
    ),
)
GEARED = be.gearbox.Gearbox(ratio=30.0, n_motors=2, efficiency=0.85)
BACKLASH = be.gearbox.Gearbox(ratio=2.0, backlash=0.02, contact_stiffness=300.0, contact_damping=0.5)

DRIVES = {
    "off": (be.drive.Off(), {}),
    "brake": (be.drive.Brake(), {}),
    "voltage": (
        be.drive.Voltage(supply=12.0, slew=200.0, command_low=-9.0, command_high=9.0),
        {"voltage_target": 4.0},
    ),
    "current": (be.drive.Current(supply=12.0), {"current_target": 0.8}),
    "position": (
        be.drive.Position(
            volts_per_radian=30.0,
            volts_per_radian_second=20.0,
            volt_seconds_per_radian=0.3,
            supply=12.0,
            integral_limit=0.2,
            slew=8.0,
        ),
        {"position_target": 0.9},
    ),
    "servo": (
        be.drive.Servo(
            firmware_gain=0.158,
            proportional=16.0,
            derivative=2.0,
            firmware_derivative_gain=0.002,
            supply=12.0,
            duty_limit=0.96,
            deadband=0.01,
        ),
        {"position_target": 0.9, "enabled": 1.0, "supply": 11.0},
    ),
    "error-derivative": (
        be.drive.Servo(
            firmware_gain=0.158,
            proportional=16.0,
            derivative=2.0,
            firmware_derivative_gain=0.02,
            derivative_filter=0.011,
            supply=12.0,
            duty_limit=0.96,
            slew=9.0,
        ),
        {"position_target": 0.9, "supply": 11.0},
    ),
    "firmware": (
        be.drive.Servo(
            firmware_gain=0.158,
            proportional=16.0,
            derivative=2.0,
            firmware_derivative_gain=0.02,
            derivative_filter=0.011,
            supply=12.0,
            slew=5.0,
            acceleration=40.0,
            deadband=0.002,
            punch=0.01,
        ),
        {"position_target": 0.9},
    ),
    "sampled-error-derivative": (
        be.drive.Servo(
            firmware_gain=0.158,
            proportional=16.0,
            derivative=2.0,
            firmware_derivative_gain=0.02,
            derivative_filter=0.011,
            supply=12.0,
            command_high=0.7,
            period=0.0033,
        ),
        {"position_target": 0.9},
    ),
    "sampled-position": (
        be.drive.Position(
            volts_per_radian=30.0,
            volts_per_radian_second=20.0,
            volt_seconds_per_radian=0.3,
            supply=12.0,
            slew=8.0,
            freeze_when_saturated=True,
            period=0.0033,
            n_velocity_periods=2,
        ),
        {"position_target": 0.9},
    ),
    "velocity": (
        be.drive.Velocity(
            volt_seconds_per_radian=2.0, volts_per_radian=10.0, supply=12.0, freeze_when_saturated=True
        ),
        {"velocity_target": 3.0},
    ),
    "impedance": (
        be.drive.Impedance(
            newton_metres_per_radian=6.0,
            newton_metre_seconds_per_radian=0.2,
            newton_metres_per_radian_second=2.0,
            supply=12.0,
        ),
        {"position_target": 0.9, "velocity_target": 0.1, "torque_target": 0.05},
    ),
    "impedance-voltage": (
        be.drive.Impedance(newton_metre_seconds_per_radian=0.2, supply=12.0, through="voltage"),
        {"torque_target": 0.5, "newton_metre_seconds_per_radian": 0.3},
    ),
}

BENCHES = {
    "locked": be.bench.Locked(),
    "free-shaft": be.bench.FreeShaft(),
    "flywheel": be.bench.Flywheel(inertia=3e-3),
    "pendulum": be.bench.Pendulum(mass=0.4, length=0.15, arm_mass=0.1, tilt=0.2, hanging=0.1, inertia=1e-4),
    "elevator": be.bench.Elevator(mass=2.0, drum_radius=0.03, counterweight=0.5, incline=1.0),
    "spring": be.bench.Spring(inertia=3e-3, stiffness=1.5, damping=0.02, rest=0.2),
    "recorded": be.bench.Recorded(),
}
RECORDED = {"inertia": 4e-3, "load": -0.3}


def variants() -> dict[str, tuple[be.Actuator, be.Bench, dict[str, float]]]:
    """name -> (actuator, bench, inputs at a moment)."""
    found = {}
    pendulum = BENCHES["pendulum"]
    drive, inputs = DRIVES["position"]
    for name, friction in FRICTIONS.items():
        found[f"friction-{name}"] = (
            be.Actuator(motor=PLAIN, friction=friction, drive=drive),
            pendulum,
            inputs,
        )
    for name, (law, asked) in DRIVES.items():
        found[f"drive-{name}"] = (
            be.Actuator(motor=PLAIN, friction=FRICTIONS["stribeck"], drive=law),
            pendulum,
            asked,
        )
    for name, bench in BENCHES.items():
        asked = {**inputs, **RECORDED} if name == "recorded" else inputs
        found[f"bench-{name}"] = (
            be.Actuator(motor=PLAIN, friction=FRICTIONS["coulomb"], drive=drive),
            bench,
            asked,
        )
    for name, motor in {"rich": RICH, "limited": LIMITED}.items():
        gearbox = GEARED if name == "rich" else be.gearbox.Gearbox(efficiency=0.9)
        found[f"motor-{name}"] = (
            be.Actuator(motor=motor, gearbox=gearbox, friction=FRICTIONS["m6"], drive=drive),
            pendulum,
            inputs,
        )
        found[f"motor-{name}-lugre"] = (
            be.Actuator(motor=motor, gearbox=gearbox, friction=FRICTIONS["load-lugre"], drive=drive),
            pendulum,
            inputs,
        )
    for name in ("m4", "lugre", "viscous"):
        found[f"backlash-{name}"] = (
            be.Actuator(motor=PLAIN, gearbox=BACKLASH, friction=FRICTIONS[name], drive=drive),
            pendulum,
            inputs,
        )
    return found


WITHIN = {
    *("friction-stribeck", "friction-m3", "friction-m5", "drive-voltage", "bench-free-shaft"),
    *("bench-flywheel", "bench-pendulum", "motor-rich", "motor-limited", "backlash-viscous"),
}
"""All that is in these is in others too."""


def marked() -> list[Any]:
    """Names of the variants for a parametrised test; those of which nothing is new run in `make proofs`."""
    mark = pytest.mark
    return [pytest.param(name, marks=mark.proof if name in WITHIN else mark.slow) for name in variants()]
