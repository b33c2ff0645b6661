"""From a sheet's constants, or from identified parameters, to an actuator."""

from __future__ import annotations

import math
from typing import Any

from ...errors import InvalidValue, UnknownName
from ...model import drive as drives
from ...model.actuator import Actuator
from ...model.drive import Drive
from ...model.friction import FRICTIONS, Coulomb, Viscous
from ...model.gearbox import Gearbox
from ...model.motor import Cogging, Limits, Motor
from ...model.thermal import Heat, Thermal, TwoNodeThermal
from .datasheet import Datasheet, Identified, missing
from .solved import Reconciled

CONTROLS = ("voltage", "position", "current")
STIFF = 10.0
"""Without firmware numbers a position drive reaches full voltage at an error of 1/STIFF rad;
said among the assumptions."""


def actuator(sheet: Datasheet, *, voltage: float | None = None, control: str | None = None) -> Actuator:
    """The actuator a sheet describes, at its own voltage unless another is given."""
    if control is not None and control not in CONTROLS:
        raise UnknownName("control", control, CONTROLS)
    V = sheet.voltage if voltage is None else voltage
    if not (V > 0 and math.isfinite(V)):
        raise InvalidValue(f"voltage is {V!r}; expected volts above 0")
    solved = sheet.reconciled
    for name, what, remedy in (
        ("R", "a resistance", "it needs a resistance, a stall current, or a stall torque with a speed"),
        ("K", "a motor constant", "it needs a torque constant, a speed constant, or a no-load speed"),
    ):
        if name not in solved.constants:
            raise missing(sheet, what, remedy)
    c = {name: constant.value for name, constant in solved.constants.items()}
    gearbox = Gearbox(ratio=c.get("N", 1.0), efficiency=min(c["eta"], 1.0) if "eta" in c else None)
    # The printed drag is what the motor feels; behind the gears, that much less of it is friction.
    eta = gearbox.efficiency or 1.0
    drag: Viscous = Coulomb(coulomb=eta * c.get("tau_c", 0.0), viscous=eta * c.get("B", 0.0))
    return Actuator(
        motor=_motor(sheet, solved, c),
        gearbox=gearbox,
        friction=gearbox.reflect(drag),
        drive=_drive(sheet, V, control),
    )


def _motor(sheet: Datasheet, solved: Reconciled, c: dict[str, float]) -> Motor:
    thermal: Heat | None = None
    if solved.thermal:
        names = {"ambient": "ambient_temperature", "reference": "reference_temperature"}
        names["resistance_coefficient"] = "resistance_coefficient"
        printed = {field: sheet.value(name) for field, name in names.items()}
        model = TwoNodeThermal if "winding_resistance" in solved.thermal else Thermal
        thermal = model(**solved.thermal, **{k: v for k, v in printed.items() if v is not None})
    cogging = None
    peak, poles, slots = sheet.get("cogging_torque"), sheet.value("n_poles"), sheet.value("n_slots")
    if peak is not None and poles is not None and slots is not None:
        amplitude = peak.value / (c.get("N", 1.0) if peak.side == "output" else 1.0)
        cogging = Cogging(amplitude=amplitude, periods=float(math.lcm(round(poles), round(slots))))
    limit = sheet.value("peak_current")
    return Motor(
        resistance=c["R"],
        torque_constant=c.get("kappa", 1.0) * c["K"],
        back_emf_constant=c["K"] if "kappa" in c else None,
        rotor_inertia=c.get("J", 0.0),
        inductance=c.get("L"),
        thermal=thermal,
        cogging=cogging,
        limits=None if limit is None else Limits(current=limit),
    )


def _drive(sheet: Datasheet, V: float, control: str | None) -> Drive:
    f = {name: printed.value for name, printed in sheet.firmware.items()}
    control = control or ("position" if sheet.kind == "servo" else "voltage")
    if control == "voltage":
        return drives.Voltage(supply=V, duty_limit=f.get("duty_limit"))
    if control == "current":
        return drives.Current(supply=V)
    if "error_gain" in f and "proportional" in f:
        derivative, per_count = f.get("derivative", 0.0), f.get("derivative_gain")
        return drives.Servo(
            firmware_gain=f["error_gain"],
            proportional=f["proportional"],
            supply=V,
            duty_limit=f.get("duty_limit"),
            deadband=f.get("deadband"),
            slew=f.get("target_rate"),
            derivative=derivative if per_count else None,
            firmware_derivative_gain=per_count if derivative else None,
        )
    return drives.Position(volts_per_radian=STIFF * V, supply=V)


def from_identified(sheet: Datasheet, published: Identified) -> Actuator:
    """The actuator of a published parameter set, everything at the output, with the sheet's firmware."""
    if published.friction not in FRICTIONS:
        raise UnknownName("friction", published.friction, FRICTIONS)
    fields: dict[str, dict[str, Any]] = {"motor": {}, "friction": {}}
    for path, value in published.parameters.items():
        part, _, name = path.partition(".")
        if part not in fields:
            raise UnknownName("part of an identified set", part, fields)
        fields[part][name] = value
    return Actuator(
        motor=Motor(**fields["motor"]),
        friction=FRICTIONS[published.friction](**fields["friction"]),
        drive=_drive(sheet, sheet.voltage, None),
    )
