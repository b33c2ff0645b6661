"""Lessons to play with: what two numbers of an SG90 do, and what friction laws do on the same motion."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...engine.simulate import simulate
from ...files import write_all
from ...physics import friction as laws
from ...physics.actuator import Actuator
from ...physics.bench import Flywheel, Pendulum
from ...physics.drive import Position
from ...physics.gearbox import Gearbox
from ...physics.motor import Motor
from ...signal import square
from .playground import playground
from .scene import POSITION, SPEED, TIME, TORQUE, VOLTAGE, ActuatorVariant, Scene, page, panel

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


LESSONS: dict[str, Callable[[], Scene]] = {"sg90": sg90, "friction": friction}


def site(folder: Path) -> list[Path]:
    """Every page that the documentation carries: the lessons and the playground of the whole catalogue."""
    folder.mkdir(parents=True, exist_ok=True)
    scenes = {**{name: lesson() for name, lesson in LESSONS.items()}, "playground": playground()}
    return write_all({folder / f"{name}.html": page(scene) for name, scene in scenes.items()}, force=True)
