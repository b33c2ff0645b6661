"""The playground: parts of the catalogue on benches that suit their size, as one page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ...analysis.curves import full_voltage
from ...datasheets import parts
from ...errors import BackemfError
from ...physics.actuator import Actuator
from ...physics.bench import GRAVITY, Bench, Elevator, Flywheel, Locked, Pendulum, Spring
from ...physics.steady import armature, damping_ratio, no_load_speed, stall_torque
from .scene import CURRENT, HEAT, POSITION, SPEED, TIME, TORQUE, ActuatorVariant, Scene, panel

FIRST = "mx-106/m6"
"""What the page shows first, where it has it."""
GROUPS = {"servo": "Servos", "actuator": "Actuators", "gearmotor": "Gearmotors", "motor": "Motors"}
FREE = (
    "drive.volts_per_radian",
    "drive.proportional",
    "drive.newton_metres_per_radian",
    "drive.newton_metre_seconds_per_radian",
    "drive.supply",
    "motor.resistance",
    "motor.torque_constant",
    "motor.rotor_inertia",
    "gearbox.ratio",
    "friction.coulomb",
    "friction.static",
    "friction.stribeck_velocity",
    "friction.viscous",
    "friction.load",
    "friction.load_motor",
    "friction.load_external",
)
"""Numbers that have sliders, where a part has them."""
PANELS = (
    panel("Motion", TIME, POSITION, target="position_target", only=["position_target", "torque_target"]),
    panel("Speed", TIME, SPEED, only=["voltage_target"]),
    panel("Current", TIME, CURRENT),
    panel("Temperature of the winding", TIME, HEAT),
    panel("Torque", SPEED, TORQUE, curve=True),
)


def round_number(value: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten."""
    size = 10.0 ** math.floor(math.log10(value))
    return min((m * size for m in (1.0, 2.0, 5.0, 10.0)), key=lambda x: abs(math.log(x / value)))


def benches(torque: float, speed: float) -> dict[str, Bench]:
    """Loads that an actuator of this stall torque and no-load speed moves, but feels."""
    length = 0.1 if torque < 0.5 else 0.2 if torque < 10 else 0.5
    radius = length / 5
    inertia = round_number(0.08 * torque / speed)
    return {
        "pendulum": Pendulum(mass=round_number(0.25 * torque / (GRAVITY * length)), length=length),
        "flywheel": Flywheel(inertia=inertia),
        "spring": Spring(stiffness=round_number(0.4 * torque), inertia=inertia),
        "elevator": Elevator(mass=round_number(0.25 * torque / (GRAVITY * radius)), drum_radius=radius),
        "locked": Locked(),
    }


def ready(actuator: Actuator, torque: float, loads: dict[str, Bench]) -> Actuator:
    """The actuator as it is played with: a torque loop without gains gets some, so that it goes where it is
    told."""
    if actuator.drive.followed != "torque_target":
        return actuator
    stiffness = round_number(6.0 * torque)
    inertia = armature(actuator) + float(loads["pendulum"].inertia_at({}))
    unit = 1.0 / damping_ratio(stiffness, 1.0, inertia)  # damping for a ratio of 1
    gains = {
        "newton_metres_per_radian": stiffness,
        "newton_metre_seconds_per_radian": round_number(0.5 * unit),
    }
    return actuator.replace(**{f"drive.{name}": value for name, value in gains.items()})


def variant(name: str) -> ActuatorVariant:
    """A part of the catalogue, or what was identified of it (mx-106/m6)."""
    base, _, friction = name.partition("/")
    sheet = parts.sheet(base)
    actuator = Actuator.read(name)
    v = full_voltage(actuator)
    if v is None:
        raise BackemfError(f"{name} says no voltage; expected a part that states its supply")
    torque, speed = stall_torque(actuator, v), no_load_speed(actuator, v)
    loads = benches(torque, speed)
    actuator = ready(actuator, torque, loads)
    by_angle = actuator.drive.followed == "position_target"
    identified = f", friction {friction.upper()} as identified" if friction else ""
    note = (
        f"{sheet.maker}: {torque:.3g} N m when stalled, {speed:.3g} rad/s unloaded, at {v:.3g} V{identified}."
    )
    return ActuatorVariant(
        key=name,
        title=f"{sheet.name}{f', {friction.upper()}' if friction else ''}",
        group=GROUPS.get(sheet.kind, sheet.kind),
        actuator=actuator,
        benches=loads,
        size=math.pi / 3 if by_angle else 0.5 * v,
        period=2.0 if by_angle else 1.0,
        free=FREE,
        note=note,
    )


def everything() -> Iterator[str]:
    """Every part of the catalogue, each followed by what was identified of it."""
    for name in parts.names():
        yield name
        yield from (f"{name}/{friction}" for friction in sorted(parts.sheet(name).identified))


def playground(names: Sequence[str] = ()) -> Scene:
    """Parts to play with: those named, or the whole catalogue."""
    order = list(GROUPS.values())
    shown = [variant(name) for name in (names or everything())]
    shown.sort(key=lambda v: (order.index(v.group) if v.group in order else len(order), v.title.lower()))
    keys = [v.key for v in shown]
    first = keys[keys.index(FIRST)] if FIRST in keys else keys[0]
    return Scene(
        title="backemf playground",
        note="Choose a part, what it carries and how it moves; the page simulates it. Nothing leaves it.",
        variants=shown,
        panels=PANELS,
        start={"variant": first, "bench": "pendulum", "motion": "square"},
        heat=True,
    )
