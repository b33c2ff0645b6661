"""From a sheet's constants, or from identified parameters, to an actuator."""

from __future__ import annotations

import math
from typing import Any

from ..errors import InvalidValue, UnknownName
from ..physics.actuator import Actuator
from ..physics.drive import Servo
from ..physics.friction import FRICTIONS
from ..physics.gearbox import Gearbox
from ..physics.motor import Motor
from .datasheet import Datasheet, Identified, missing
from .interface import default_control as default_control, drive_of, has_gain as has_gain
from .plan import plan
from .toml import CONTROLS


def actuator(sheet: Datasheet, *, voltage: float | None = None, control: str | None = None) -> Actuator:
    """The actuator a sheet describes, at its own voltage unless another is given."""
    if control is not None and control not in CONTROLS:
        raise UnknownName("control", control, CONTROLS)
    V = sheet.voltage if voltage is None else voltage
    if not (V > 0 and math.isfinite(V)):
        raise InvalidValue(f"voltage is {V!r}; expected volts above 0")
    solved = sheet.reconciled
    for name, what, remedy in (
        (
            "R",
            "a resistance",
            "it needs a resistance, a stall current, a stall torque with a speed, or points of its"
            " torque-speed line (torque_speed)",
        ),
        ("K", "a motor constant", "it needs a torque constant, a speed constant, or a no-load speed"),
    ):
        if name not in solved.constants:
            raise missing(sheet, what, remedy)
    made, c = plan(sheet, solved), {name: constant.value for name, constant in solved.constants.items()}
    motor = Motor(
        resistance=c["R"],
        torque_constant=c.get("kappa", 1.0) * c["K"],
        back_emf_constant=c["K"] if "kappa" in c else None,
        rotor_inertia=c.get("J", 0.0),
        inductance=c.get("L"),
        iron_loss=made.iron_loss,
        saturation_current=made.saturation_current,
        thermal=made.thermal,
        cogging=made.cogging,
        limits=made.limits,
    )
    return Actuator(
        motor=motor,
        gearbox=made.gearbox,
        friction=made.gearbox.reflect(made.friction),
        drive=drive_of(sheet, V, control, motor, made.gearbox),
    )


def from_identified(sheet: Datasheet, published: Identified, voltage: float | None = None) -> Actuator:
    """The actuator of a published parameter set: at the output where it has no gears, and with the sheet's
    firmware where it has none of its own."""
    if published.friction not in FRICTIONS:
        raise UnknownName("friction", published.friction, FRICTIONS)
    fields: dict[str, dict[str, Any]] = {"motor": {}, "friction": {}, "gearbox": {}, "drive": {}}
    for path, value in published.parameters.items():
        part, _, name = path.partition(".")
        if part not in fields:
            raise UnknownName("part of an identified set", part, fields)
        fields[part][name] = value
    motor, gearbox = Motor(**fields["motor"]), Gearbox(**fields["gearbox"])
    V = sheet.voltage if voltage is None else voltage
    own = fields["drive"]
    drive = Servo(supply=V, **own) if own else drive_of(sheet, V, None, motor, gearbox)
    friction = FRICTIONS[published.friction](**fields["friction"])
    return Actuator(motor=motor, gearbox=gearbox, friction=friction, drive=drive)
