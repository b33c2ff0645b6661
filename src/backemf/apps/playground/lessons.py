"""Lessons to play with: two numbers of an SG90, friction laws, gear ratios, heat, PID, and feedforward."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...engine.simulate import simulate
from ...files import write_all
from ...physics import friction as laws
from ...physics.actuator import Actuator
from ...physics.bench import Flywheel, Pendulum
from ...physics.drive import Impedance, Position, Voltage
from ...physics.gearbox import Gearbox
from ...physics.motor import Motor, Thermal
from ...signal import square
from .playground import playground
from .scene import CURRENT, HEAT, POSITION, SPEED, TIME, TORQUE, VOLTAGE, ActuatorVariant, Scene, page, panel

RATIO = 55.5
"""Of the SG90's gears, as the article counts them."""


def _sg90(k_p: float, b: float) -> Actuator:
    """The article's servo: 10 ohm, 4.5 mN m/A, at most 5 V; b at the output."""
    return Actuator(
        motor=Motor(resistance=10.0, torque_constant=0.0045),
        gearbox=Gearbox(ratio=RATIO),
        friction=laws.Viscous(viscous=b),
        drive=Position(volts_per_radian=k_p, voltage_limit=5.0),
    )


def sg90() -> Scene:
    """One gain rounds the corner, one drag sets the slope: find both from a recording."""
    bench = Flywheel(inertia=3.28e-6)  # a 16 g battery about its middle, as the article weighs it
    time, noise = np.arange(121) / 30.0, 0.01
    asked = square(math.pi / 2, 0.5, offset=math.pi / 2)
    truth = simulate(_sg90(14.0, 1.8e-6 * RATIO**2), bench, asked, time=time)
    seen = truth.position + noise * np.random.default_rng(0).standard_normal(len(time))
    recording = {
        "time": [round(float(t), 5) for t in time],
        "position": [round(float(q), 4) for q in seen],
        "noise": round(1e3 * noise * math.sqrt(2 / math.pi), 1),
    }
    servo = ActuatorVariant(
        key="sg90",
        title="SG90",
        actuator=_sg90(4.0, 0.009),
        benches={"flywheel": bench},
        size=math.pi,
        period=2.0,
        free=("drive.volts_per_radian", "friction.viscous", "motor.resistance", "drive.voltage_limit"),
        ranges={
            "drive.volts_per_radian": (0.5, 30.0),
            "friction.viscous": (0.0, 0.02),
            "motor.resistance": (5.0, 20.0),
            "drive.voltage_limit": (3.0, 7.0),
        },
        labels={"drive.volts_per_radian": "k_p, volts per radian", "friction.viscous": "b, drag"},
        note="Bring the curve onto the dots with k_p and b alone. Which part of the curve does each one move?"
        " Then try the others: which of them could the dots never tell from b?",
    )
    return Scene(
        title="An SG90, two numbers",
        note="A small servo turns a battery half a turn and back, filmed at 30 Hz (simulated, with noise).",
        variants=[servo],
        panels=[
            panel("Angle", TIME, POSITION, target="position_target", recording=True),
            panel("Voltage on the motor", TIME, VOLTAGE),
            panel("Speed", TIME, SPEED),
        ],
        start={"variant": "sg90", "bench": "flywheel", "motion": "square", "period": 2.0},
        choose=(),
        recording=recording,
        more=False,
    )


DRY, STATIC, SLOW, VISCOUS = 0.1, 0.25, 0.15, 0.02
"""Sizes that all laws share: N m, N m, rad/s, N m s/rad."""
BRISTLE = {"stiffness": 60.0, "viscous": VISCOUS, "coulomb": DRY}
STRIBECK = {"coulomb": DRY, "static": STATIC, "stribeck_velocity": SLOW, "viscous": VISCOUS}
LAWS: dict[str, tuple[str, laws.Viscous, str]] = {
    "viscous": (
        "viscous drag alone",
        laws.Viscous(viscous=0.3),
        "Grows with speed and vanishes at rest: nothing sticks, and the joint creeps to where it belongs.",
    ),
    "coulomb": (
        "Coulomb (M1)",
        laws.Coulomb(coulomb=DRY, viscous=VISCOUS),
        "The same against every motion: a constant lag, a flat top where it turns, a rest short of the goal.",
    ),
    "stribeck": (
        "Stribeck (M2)",
        laws.Stribeck(**STRIBECK),
        "More at rest than in motion: in a slow motion it sticks, breaks away, and sticks again.",
    ),
    "m3": (
        "load dependent (M3)",
        laws.M3(coulomb=0.03, viscous=VISCOUS, load=0.25),
        "A share of the load that the gears carry: little where the arm hangs, most where it is level.",
    ),
    "torque-proportional": (
        "torque proportional",
        laws.TorqueProportional(coulomb=0.03, viscous=VISCOUS, load_driving=0.1, load_back_driving=0.4),
        "Gears lose one share when they drive, another when they are driven: lifting and lowering differ.",
    ),
    "m4": (
        "Stribeck with load (M4)",
        laws.M4(**{**STRIBECK, "coulomb": 0.03, "static": 0.08}, load=0.15, load_stribeck=0.2),
        "Both at once: it slips at the bottom and sticks where the arm is heavy, as most geared servos do.",
    ),
    "dahl": (
        "Dahl",
        laws.Dahl(**BRISTLE),
        "A spring before it slides: no corner when the motion turns, and a little give at rest.",
    ),
    "lugre": (
        "LuGre",
        laws.LuGre(**STRIBECK, stiffness=60.0, damping=0.4),
        "Bristles that bend, slip and drop as Stribeck's friction does: stick-slip with give.",
    ),
}


def friction() -> Scene:
    """What friction model do I need: choose a law, see it on the same motion beside another."""
    shown = []
    for key, (name, law, note) in LAWS.items():
        actuator = Actuator(
            motor=Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3),
            friction=law,
            drive=Position(volts_per_radian=12.0, supply=12.0),
        )
        shown.append(
            ActuatorVariant(
                key=key,
                title=name,
                short=name.partition(" (")[0],
                actuator=actuator,
                benches={"pendulum": Pendulum(mass=0.5, length=0.15)},
                size=math.radians(80),
                period=24.0,
                free=(
                    *(p for p in actuator.parameters if p.startswith("friction.")),
                    "drive.volts_per_radian",
                ),
                note=note,
            )
        )
    return Scene(
        title="What friction model do I need?",
        note="A servo moves an arm slowly: the law you choose, and dashed another on the same motion.",
        variants=shown,
        panels=[
            panel("Motion", TIME, POSITION, target="position_target"),
            panel("Speed", TIME, SPEED),
            panel("Torque of the motor", POSITION, TORQUE),
        ],
        start={
            "variant": "stribeck",
            "other": "coulomb",
            "bench": "pendulum",
            "motion": "triangle",
            "period": 24.0,
        },
        choose=("variant", "other", "motion"),
        words={"variant": "Friction law"},
        motions=("triangle", "sine", "square", "step"),
        more=False,
    )


def _question(text: str, kind: str, unit: str, within: float, because: str, **about: Any) -> dict[str, Any]:
    """A question whose answer the page computes with the function `kind` of questions.js."""
    return {"text": text, "kind": kind, "unit": unit, "within": within, "because": because, **about}


def _gearmotor(ratio: float) -> Actuator:
    """A small brushed motor at full volts, behind gears."""
    return Actuator(
        motor=Motor(resistance=2.0, torque_constant=0.02, rotor_inertia=2e-6),
        gearbox=Gearbox(ratio=ratio),
        friction=laws.Coulomb(coulomb=0.002, viscous=1e-4),
        drive=Voltage(supply=12.0, command_low=-12.0, command_high=12.0),
    )


def ratio() -> Scene:
    """A load and a gear ratio: neither slow gears nor fast ones get it there first."""
    geared = ActuatorVariant(
        key="geared",
        title="a motor behind gears",
        actuator=_gearmotor(50.0),
        benches={"flywheel": Flywheel(inertia=2e-3)},
        size=12.0,
        period=0.8,
        free=("gearbox.ratio", "motor.rotor_inertia", "motor.resistance", "friction.coulomb"),
        ranges={"gearbox.ratio": (2.0, 200.0)},
        labels={"gearbox.ratio": "gear ratio, rotor turns per output turn"},
        note="Move the gear ratio and watch the line of torque over speed: gears trade one for the other."
        " Then make the load heavier: which way does the best ratio go?",
    )
    soonest = _question(
        "Which gear ratio brings the load half a turn round soonest, the other numbers as they stand?",
        "fastestRatio",
        "",
        0.15,
        "Low gears are fast and weak, high ones strong and slow; the rotor's own inertia counts with the"
        " square of the ratio. Try a load four times as heavy.",
        key="gearbox.ratio",
        goal=math.pi,
    )
    return Scene(
        title="A load and its gear ratio",
        note="A motor at 12 V from rest turns a disc through gears.",
        variants=[geared],
        panels=[
            panel("How far", TIME, POSITION),
            panel("Speed", TIME, SPEED),
            panel("Torque", SPEED, TORQUE, curve=True),
        ],
        start={"variant": "geared", "bench": "flywheel", "motion": "step", "period": 0.8},
        choose=(),
        more=False,
        questions=[soonest],
    )


def heat() -> Scene:
    """A motion that is given, and the gears with which it heats the motor least."""
    motor = replace(_gearmotor(20.0).motor, thermal=Thermal(resistance=100.0, capacitance=0.005))
    loop = Impedance(newton_metres_per_radian=18.0, newton_metre_seconds_per_radian=1.0, supply=48.0)
    geared = ActuatorVariant(
        key="geared",
        title="a motor behind gears",
        actuator=replace(_gearmotor(20.0), motor=motor, drive=loop),
        benches={"flywheel": Flywheel(inertia=2e-2)},
        size=math.pi / 3,
        period=2.0,
        free=("gearbox.ratio", "motor.rotor_inertia", "friction.coulomb"),
        ranges={"gearbox.ratio": (10.0, 400.0)},
        labels={"gearbox.ratio": "gear ratio, rotor turns per output turn"},
        note="The motion stays as it is, whatever the gears: watch the current. Low gears leave the load to"
        " the motor, high ones make it turn its own rotor. Then make the load heavier.",
    )
    coolest = _question(
        "With which gear ratio does this motion heat the motor least, the other numbers as they stand?",
        "coolestRatio",
        "",
        0.1,
        "Where the load's torque and the rotor's own are alike: near the root of load inertia over rotor"
        " inertia, and a little above it for friction. `backemf size --any-ratio` starts from it.",
        key="gearbox.ratio",
    )
    panels = [panel("Motion", TIME, POSITION, target="position_target"), panel("Current", TIME, CURRENT)]
    return Scene(
        title="Gears and heat",
        note="A motor turns a disc to and fro through gears, always alike.",
        variants=[geared],
        panels=[*panels, panel("Temperature of the winding", TIME, HEAT)],
        start={"variant": "geared", "bench": "flywheel", "motion": "sine", "period": 2.0},
        choose=(),
        more=False,
        questions=[coolest],
    )


def _servo(freeze: bool) -> Actuator:
    """A servo with all three gains, at 7 V; its integral stops at the limit, or winds up."""
    return Actuator(
        motor=Motor(resistance=3.0, torque_constant=0.4, rotor_inertia=2e-3),
        friction=laws.Coulomb(coulomb=0.02, viscous=0.01),
        drive=Position(
            volts_per_radian=8.0,
            volts_per_radian_second=25.0,
            volt_seconds_per_radian=0.3,
            supply=7.0,
            freeze_when_saturated=freeze,
        ),
    )


LARGEST_INTEGRAL = _question(
    "How large may k_i be at most, so that the arm goes no more than 3 degrees beyond its goal?",
    "largestGain",
    "V/(rad s)",
    0.15,
    "Without an integral the arm hangs below its goal; with much of it, what gathered while the voltage"
    " was at its limit carries it beyond. Choose the integral that stops at the limit, and ask again.",
    key="drive.volts_per_radian_second",
    most=math.radians(3.0),
)


def windup() -> Scene:
    """PID: what each gain is for, and what an integral does while the voltage is at its limit."""
    shown = [
        ActuatorVariant(
            key=key,
            title=title,
            short=title,
            actuator=_servo(freeze),
            benches={"pendulum": Pendulum(mass=0.4, length=0.15)},
            size=math.radians(90),
            period=4.0,
            free=(
                "drive.volts_per_radian",
                "drive.volts_per_radian_second",
                "drive.volt_seconds_per_radian",
                "drive.supply",
            ),
            ranges={"drive.volts_per_radian_second": (0.1, 60.0), "drive.volts_per_radian": (1.0, 30.0)},
            labels={
                "drive.volts_per_radian": "k_p, volts per radian",
                "drive.volts_per_radian_second": "k_i, volts per radian and second",
                "drive.volt_seconds_per_radian": "k_d, volts per radian a second",
            },
            note=note,
        )
        for key, title, freeze, note in (
            (
                "winds",
                "integral winds up",
                False,
                "The integral goes on while the voltage is at its limit, and must be paid back.",
            ),
            (
                "stops",
                "integral stops at the limit",
                True,
                "The integral waits while the voltage is at its limit.",
            ),
        )
    ]
    return Scene(
        title="PID and windup",
        note="A servo lifts an arm to the level. Dashed: the same with another integral.",
        variants=shown,
        panels=[
            panel("Angle", TIME, POSITION, target="position_target"),
            panel("Voltage on the motor", TIME, VOLTAGE),
            panel("Speed", TIME, SPEED),
        ],
        start={"variant": "winds", "other": "stops", "bench": "pendulum", "motion": "step", "period": 4.0},
        choose=("variant", "other"),
        words={"variant": "Integral"},
        motions=("step", "square"),
        more=False,
        questions=[LARGEST_INTEGRAL],
    )


def feedforward() -> Scene:
    """Why kV and kA: the volts that a speed takes, and those that a change of it takes."""
    driven = ActuatorVariant(
        key="driven",
        title="a mechanism",
        actuator=_gearmotor(20.0),
        benches={"flywheel": Flywheel(inertia=5e-3)},
        size=6.0,
        period=2.0,
        free=("gearbox.ratio", "motor.torque_constant", "motor.resistance", "friction.coulomb"),
        note="Ask for several voltages and read the speed that each ends at: volts over speed are a line. Its"
        " slope is kV, and where it starts is kS. What is asked beyond that speeds it up: kA.",
    )
    ends = {"long": 20.0, "short": 2e-3}
    return Scene(
        title="Why kV and kA",
        note="A motor turns a disc through gears: volts = kS + kV speed + kA acceleration.",
        variants=[driven],
        panels=[
            panel("Speed", TIME, SPEED),
            panel("Voltage on the motor", TIME, VOLTAGE),
            panel("Torque", SPEED, TORQUE, curve=True),
        ],
        start={"variant": "driven", "bench": "flywheel", "motion": "step", "period": 2.0},
        choose=("motion",),
        more=False,
        questions=[
            _question(
                "What is kV: how many volts does each rad/s of the output take?",
                "kV",
                "V s/rad",
                0.05,
                "Two steps tell it: the difference of the volts over that of the speeds they end at. It is"
                " the gear ratio times the motor's constant, and a little for drag.",
                **ends,
            ),
            _question(
                "What is kA: how many volts does each rad/s\u00b2 take, at the first moment of a step?",
                "kA",
                "V s\u00b2/rad",
                0.1,
                "At rest there is no back-EMF, so all volts beyond kS are torque, and torque over inertia is"
                " acceleration. A heavier disc needs more of it, at the same kV.",
                **ends,
            ),
        ],
    )


LESSONS: dict[str, Callable[[], Scene]] = {
    "sg90": sg90,
    "friction": friction,
    "ratio": ratio,
    "heat": heat,
    "windup": windup,
    "feedforward": feedforward,
}


def site(folder: Path) -> list[Path]:
    """Every page that the documentation carries: the lessons and the playground of the whole catalogue."""
    folder.mkdir(parents=True, exist_ok=True)
    scenes = {**{name: lesson() for name, lesson in LESSONS.items()}, "playground": playground()}
    return write_all({folder / f"{name}.html": page(scene) for name, scene in scenes.items()}, force=True)
