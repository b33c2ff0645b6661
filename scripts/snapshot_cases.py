"""What `snapshot.py` asks: actuators of every kind, targets, and command lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import backemf as be

SHARED = Path(__file__).absolute().parent.parent.parent / "shared" / "data"
"""The folder of shared recordings; it need not be there."""
MOTOR = be.motor.Motor(resistance=4.0, torque_constant=0.01, back_emf_constant=0.011, rotor_inertia=1e-7)
RICH = replace(
    MOTOR,
    inductance=1e-3,
    iron_loss=1e-8,
    thermal=be.motor.Thermal(resistance=8.0, capacitance=12.0, magnet_coefficient=-0.001),
    cogging=be.motor.Cogging(amplitude=2e-5, periods=12.0, phase=0.3),
)
LIMITED = replace(
    MOTOR,
    thermal=be.motor.TwoNodeThermal(
        winding_resistance=3.0, housing_resistance=8.0, winding_capacitance=5.0, housing_capacitance=60.0
    ),
    limits=be.motor.Limits(current=2.0, continuous_current=0.5, peak_current=2.2, peak_time=0.5),
)
DRY: dict[str, Any] = {"coulomb": 0.05, "viscous": 0.01}
STRIBECK: dict[str, Any] = {**DRY, "static": 0.08, "stribeck_velocity": 0.1}
LOADED: dict[str, Any] = {
    "load_motor": 0.1,
    "load_external": 0.05,
    "load_motor_stribeck": 0.05,
    "load_external_stribeck": 0.02,
}
GAINS: dict[str, Any] = {"volts_per_radian": 40.0, "volt_seconds_per_radian": 0.2, "supply": 12.0}
FIRMWARE: dict[str, Any] = {"firmware_gain": 0.2, "proportional": 16.0, "supply": 12.0}
FILTER: dict[str, Any] = {"derivative": 32.0, "firmware_derivative_gain": 2e-3, "derivative_filter": 0.009}
FRICTIONS = {
    "viscous": be.friction.Viscous(viscous=0.02, viscous_quadratic=1e-3, viscous_cubic=1e-4),
    "coulomb": be.friction.Coulomb(**DRY, asymmetry=0.1, offset=0.02),
    "stribeck": be.friction.Stribeck(**STRIBECK, stribeck_exponent=1.3),
    "torque-proportional": be.friction.TorqueProportional(**DRY, load_driving=0.2, load_back_driving=0.3),
    "m3": be.friction.M3(**DRY, load=0.1),
    "m4": be.friction.M4(**STRIBECK, load=0.08, load_stribeck=0.05),
    "m5": be.friction.M5(**STRIBECK, **LOADED),
    "m6": be.friction.M6(**STRIBECK, **LOADED, load_motor_quadratic=0.01, load_external_quadratic=0.001),
    "maxwell-slip": be.friction.MaxwellSlip(**DRY, stiffness=60.0, softening=2.5),
    "dahl": be.friction.Dahl(**DRY, stiffness=100.0),
    "lugre": be.friction.LuGre(**STRIBECK, stiffness=200.0, damping=0.3),
    "load-lugre": be.friction.LoadLuGre(
        **STRIBECK, stiffness=80.0, damping=0.4, load=0.05, load_stribeck=0.03
    ),
}
DRIVES = {
    "off": be.drive.Off(),
    "brake": be.drive.Brake(),
    "voltage": be.drive.Voltage(supply=12.0, slew=200.0, command_low=-9.0, command_high=9.0),
    "current": be.drive.Current(supply=12.0),
    "velocity": be.drive.Velocity(volt_seconds_per_radian=2.0, volts_per_radian=4.0, supply=12.0),
    "impedance": be.drive.Impedance(
        newton_metres_per_radian=4.0, newton_metre_seconds_per_radian=0.1, supply=12.0
    ),
    "integral": be.drive.Position(**GAINS, volts_per_radian_second=5.0, slew=6.0, integral_limit=0.2),
    "sampled": be.drive.Position(**GAINS, delay=0.008, period=0.0071, n_velocity_periods=2),
    "filtered": be.drive.Servo(**FIRMWARE, **FILTER, delay=0.006, command_low=-0.25, command_high=0.5),
}
SERVO = be.Actuator(
    motor=MOTOR,
    gearbox=be.gearbox.Gearbox(ratio=100.0),
    friction=FRICTIONS["stribeck"],
    drive=be.drive.Position(**GAINS),
)
PLAY = be.gearbox.Gearbox(ratio=100.0, backlash=0.01, contact_stiffness=300.0, contact_damping=0.5)
VARIANTS: dict[str, be.Actuator] = {
    **{f"friction {name}": replace(SERVO, friction=one) for name, one in FRICTIONS.items()},
    **{f"drive {name}": replace(SERVO, drive=one) for name, one in DRIVES.items()},
    "two motors": replace(SERVO, gearbox=be.gearbox.Gearbox(ratio=-50.0, n_motors=2, efficiency=0.7)),
    "play": replace(SERVO, gearbox=PLAY),
    "rich": replace(SERVO, motor=RICH, friction=FRICTIONS["lugre"], drive=DRIVES["sampled"], gearbox=PLAY),
    "limited": replace(SERVO, motor=LIMITED, friction=FRICTIONS["m6"], drive=DRIVES["filtered"]),
    "linear": replace(SERVO, motion="linear"),
}
EVERY_PART = ("mujoco", "mujoco@3.8", "mujoco-classic", "mjlab", "isaaclab", "urdf", "bam")
"""Targets that every part of the catalogue is written for."""
DESCRIPTIONS = ("mujoco-live", "isaaclab@3.0", "isaaclab@bam", "newton", "drake", "sdf")
"""The other targets whose files are compared as text."""
HOSTS = ("c", "c@float", "fmu", "fmu@3.0", "mujoco-plugin", "torch", "warp")
"""Targets that are code: what they compute is compared, not their text."""
WRAPPED = ("torch@isaaclab", "torch@mjlab", "warp@mjlab", "warp@newton", "warp@mujoco-warp")
"""Code inside somebody's simulator that is not run here: what the export says of it."""
REPRESENTATIVE = ("mx-106/m6", "xl330-m077", "ak60-39", "775pro", "sts3215-12v")
PENDULUM = '--bench "pendulum mass=0.3kg length=0.1m"'
NUMBERS = {
    "measure": [
        "fall --mass 0.33 --length 0.15 --angle 64",
        "slip --mass 0.33 --length 0.15 --angle 60",
        "resistance --current 0.6,1.2,1.8,2.4 --voltage 1.25,2.46,3.7,5.15",
        "impedance --frequency 50,100,400,1000 --impedance 2.02,2.1,3.2,6.6",
        'back-emf --speed "500, 1000, 1500, 2000 rpm" --voltage 1.21,2.39,3.62,4.8',
        "torque-constant --load 1.94,2.76,3.34 --current 1.37,1.8,2.21",
        "no-load --voltage 3,6,9,12 --speed 1.7,3.47,5.22,7.0 --resistance 2.1",
        'no-load-current --speed 50,100,200,300 --current "61,64,71,77 mA"'
        ' --torque-constant "0.0235 +- 0.0003"',
        'constants --reading "resistance current=0.6,1.2,1.8 voltage=1.25,2.46,3.7"'
        ' --reading "no_load voltage=3,6,9,12 speed=1.7,3.47,5.22,7.0"'
        ' --stated "motor.torque_constant=2.2+-0.02 datasheet"',
        "resistance --current 0.6 --voltage 1,2",
    ],
    "convert": [
        "gain sts3215-7.4v/m1 --register 16",
        'servo --voltage "12 V" --stall-torque "30 kg cm" --stall-current "2.7 A" --no-load-speed "45 rpm"'
        ' --no-load-current "0.18 A" --volts "12 V/deg"',
        'gains neo --ratio 10 --inertia "0.02 kg m^2"',
        'isaac --saturation-effort "3.2 N m" --velocity-limit "6 rad/s" --voltage "7.4 V"',
        "isaac mx-106/m6",
        'constants --speed-constant "300 rpm/V" --resistance "50 mohm" --voltage "24 V"',
        "constants mx-106",
    ],
    "simulate": [
        'mx-106/m6 --bench "pendulum mass=1kg length=0.15m" --command "step size=90deg" --duration 1',
        'neo --ratio 10 --bench "flywheel inertia=2e-3kg*m^2" --command "sine amplitude=6V frequency=2Hz"'
        " --vary motor.resistance=0.1,0.2 --duration 1",
    ],
    "replay": ["mx-106/m6 --method formula", "ak60-39 --to mujoco-classic", "775pro --to urdf"],
    "plan": [
        f"sts3215-12v {PENDULUM} --seconds 6 -o motions.json",
        f"mx-106/m6 {PENDULUM} --target friction",
    ],
}
"""Lines by command that need no recordings."""


def recorded_lines() -> dict[str, list[str]]:
    """Lines with recordings, by case; those of one case run in one folder, one after another."""
    mx = shared_files("mx106_pendulum/*.json")
    sts, xl = shared_files("sts3032/*sin_time_square.json"), shared_files("xl330/*.json")
    few = " ".join(mx[::5])
    lines = {
        "log mx106": [f"log {mx[0]} {mx[1]}"],
        "log xl330": [f"log {xl[0]} --save-map map.json", f"log {xl[1]} --map map.json"],
        "check mx106": [f"check {few} --start mx-106 --friction m4"],
        "check xl330": [f"check {' '.join(xl[:4])} --start xl330-m077 --apply"],
        "fit mx106 m4": [f"fit {few} --start mx-106/m4 --friction m4 --starts 1 -o fit.json"],
        "fit mx106 m6": [f"fit {' '.join(mx[::3])} --start mx-106/m6 --starts 2"],
        "fit sts3032": [f"fit {' '.join(sts)} --start sts3032 --friction m4 --hold-out gain=8 --starts 2"],
        "ladder sts3032": [f"fit {' '.join(sts[::3])} --start sts3032 --friction ladder --starts 1"],
        "fit only": [f"fit {few} --start mx-106/m4 --only motor.resistance,friction.coulomb --starts 1"],
        "fit sg90": [
            f"fit {SHARED}/sg90/sg90_theta.csv --start sg90 --friction coulomb --starts 1"
            ' --set drive.supply=5V --bench "pendulum mass=16g length=7.25mm"'
            ' --command "square from=0deg to=180deg period=2s at=0.5015946s"'
        ],
        "replay recorded": [f"replay mx-106/m6 {mx[0]} --method formula"],
        "export to recordings": [f"export mx-106/m6 --to mujoco --log {mx[0]} --log {mx[7]} -o servo.xml"],
    }
    sysid = f"characterize {SHARED}/sysid/simple_motor.json"
    for method in ("simulation", "sysid", "one-step"):
        lines[f"characterize {method}"] = [f"{sysid} --method {method}"]
    lines["characterize gains"] = [
        f"{sysid} --units rotations --constants java --controller ctre-v6 --settle 0.5 --step 1",
        f"{sysid} --motor neo --ratio 10 --method sysid --threshold 0.1",
        f"{sysid} --mechanism arm",
    ]
    return {**lines, **_robot_lines(), **_model_lines()}


def _robot_lines() -> dict[str, list[str]]:
    arm, model = f"{SHARED}/so101", f"{SHARED}/so101/so101.xml"
    logs = " ".join(f"{arm}/{name}.csv" for name in ("step_response", "chirp_sweep", "figure_eight"))
    into = f"export fit.json --into {model}"
    lines = {
        "robot so101": [
            f"fit {logs} --robot {model} --start sts3215-12v --firmware lerobot --friction m3"
            " --hold-out figure_eight -o fit.json",
            f"{into} --to mujoco --log {arm}/figure_eight.csv -o identified.xml",
            f"{into} --to mujoco-classic --no-replay -o classic.xml",
            f"{into} --to mujoco-plugin -o plugin.xml",
            "export fit.json --to urdf --joint elbow_flex -o elbow.urdf",
            "export fit.json --to isaaclab --joint elbow_flex -o elbow.py",
            "explain identified.xml --with elbow_flex=fit.json#elbow_flex",
            f"plan fit.json --robot {model} --joint elbow_flex --seconds 4",
        ],
        "robot so101 two": [
            f"fit {arm}/step_response.csv {arm}/large_amplitude.csv --robot {model} --start sts3215-12v"
            " --firmware lerobot --friction coulomb --joints shoulder_lift,elbow_flex"
            " --ground -0.05 --share motor --hold-out large_amplitude"
        ],
        "log --robot": [f"log {logs} --robot {model}"],
    }
    for name in ("go2", "z1"):
        here = SHARED / name
        model = f"--robot {here}/{name}.xml"
        lines[f"robot {name}"] = [
            f"fit {here}/{name}.csv {model} --start torque --gains {here}/gains.json --friction coulomb"
            ' --hold-out "last 40 %" -o fit.json',
            f"export fit.json --to mujoco --into {here}/{name}.xml -o identified.xml",
            f"log {here}/{name}.csv {model}",
        ]
    lines["robot z1 masses"] = [
        f"fit {here}/z1.csv {model} --start torque --gains {here}/gains.json --friction coulomb"
        ' --hold-out "last 40 %" --free-inertia 10%'
    ]
    return lines


def _model_lines() -> dict[str, list[str]]:
    model = f"{SHARED}/so101/so101.xml"
    into = f"export sts3215-12v --firmware lerobot --into {model} --method formula"
    lines = {
        f"into {target}": [f'{into} --to {target} --joint "shoulder_.*|elbow_flex" -o model.xml']
        for target in ("mujoco", "mujoco-classic", "mujoco-plugin")
    }
    teeth = "--set gearbox.backlash=0.01 --set gearbox.contact_stiffness=300 --backlash"
    lines["play"] = [f"export sts3215-7.4v/m1 --method formula --to mujoco {teeth} -o m.xml", "conform m.xml"]
    lines["into urdf"] = [
        "export mx-106/m6 --method formula --to urdf -o old.urdf",
        "export xl330-m077 --method formula --to urdf --into old.urdf --joint joint -o new.urdf",
    ]
    lines["explain"] = [
        f"explain {model} --with sts3215-12v",
        f"explain {SHARED}/go2/go2.xml",
        f'explain {SHARED}/z1/z1.xml --with "joint1=ak60-39"',
        f"explain {model}#elbow_flex",
    ]
    lines["from a model"] = [
        f"export {model}#elbow_flex --to {target} -o {target}" for target in ("urdf", "bam")
    ]
    return lines


def shared_files(pattern: str) -> list[str]:
    return sorted(str(path) for path in SHARED.glob(pattern))
