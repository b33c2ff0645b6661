"""How a sheet's part is commanded: its drive at each interface, from the firmware's printed numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..physics import drive as drives
from ..physics.drive import Drive
from ..physics.gearbox import Gearbox
from ..physics.motor import Motor
from ..physics.steady import Line
from ..units import PrintedNumber
from .datasheet import Datasheet

STIFF = 10.0
"""Without firmware numbers a position drive reaches full voltage at an error of 1/STIFF rad, a velocity drive
at 1/STIFF of the no-load speed; said among the assumptions."""
DEFAULT_CONTROL = {"servo": "position", "actuator": "impedance"}
VOLTS = ("volts_per_radian", "volts_per_radian_second", "volt_seconds_per_radian")
"""Gains of a position law in volts."""
ALWAYS = ("duty_limit", "voltage_limit")
SHAPED = {"deadband": "deadband", "punch": "punch", "count": "count"}
SHAPED |= {"target_rate": "slew", "sampling_period": "period"}
"""What firmware does to goals and errors of a position -> what the drive calls it."""
USES: dict[str, tuple[str, ...]] = {
    "voltage": ALWAYS,
    "current": (*ALWAYS, "torque_bandwidth"),
    "torque": (*ALWAYS, "torque_bandwidth"),
    "velocity": (*ALWAYS, "velocity_gain", "velocity_integral_gain", "target_acceleration"),
    "registers": (
        *ALWAYS,
        *("error_gain", "proportional", "integral", "integral_gain", "derivative", "derivative_gain"),
        *("derivative_filter", "duty_step", "start_duty", *SHAPED),
    ),
    "volts": (*ALWAYS, *VOLTS, "integral_limit", *SHAPED),
    "impedance": (*ALWAYS, "stiffness", "damping", "torque_bandwidth", "sampling_period", "count"),
    "assumed": ALWAYS,
}
"""Law -> the firmware numbers that it takes."""


def default_control(sheet: Datasheet) -> str:
    """The interface a sheet names, or that of its kind."""
    return sheet.control or DEFAULT_CONTROL.get(sheet.kind, "voltage")


def has_gain(sheet: Datasheet) -> bool:
    """Whether the gain of a position loop is printed, rather than assumed."""
    f = {*sheet.firmware}
    return {"error_gain", "proportional"} <= f or bool(f & {"stiffness", "volts_per_radian"})


def law_of(sheet: Datasheet, control: str | None = None) -> str:
    """Which law of `USES` an interface has with what is printed."""
    f, control = sheet.firmware, control or default_control(sheet)
    if control != "position":
        return control
    if {"error_gain", "proportional"} <= {*f}:
        return "registers"
    return "volts" if "volts_per_radian" in f else "impedance" if "stiffness" in f else "assumed"


def drive_of(sheet: Datasheet, V: float, control: str | None, motor: Motor, gearbox: Gearbox) -> Drive:
    """The drive of an interface.

    Args:
        sheet: whose firmware it has.
        V: the supply [V].
        control: the interface, such as "position"; None: the sheet's own.
        motor: what it drives; an assumed velocity gain follows from it.
        gearbox: between that motor and the output.

    Returns:
        A drive with the printed gains, or with assumed ones where none are printed.
    """
    f, law = {name: printed.value for name, printed in sheet.firmware.items()}, law_of(sheet, control)
    common: dict[str, Any] = {"supply": V, **{name: f.get(name) for name in ALWAYS}}
    rate = f.get("torque_bandwidth")
    bandwidth: dict[str, Any] = {} if rate is None else {"bandwidth": 2.0 * math.pi * rate}
    position: dict[str, Any] = {ours: f.get(name) for name, ours in SHAPED.items()}
    if law == "voltage":
        return drives.Voltage(**common)
    if law == "current":
        return drives.Current(**common, **bandwidth)
    if law == "torque":
        return drives.Impedance(**common, **bandwidth)
    if law == "velocity":
        return drives.Velocity(
            **common,
            volt_seconds_per_radian=_velocity_gain(sheet, V, motor, gearbox),
            volts_per_radian=f.get("velocity_integral_gain"),
            slew=f.get("target_acceleration"),
        )
    if law == "registers":
        if f.get("start_duty"):
            position["punch"] = f["start_duty"] / (f["error_gain"] * f["proportional"])
        return drives.Servo(
            firmware_gain=f["error_gain"],
            proportional=f["proportional"],
            duty_step=f.get("duty_step"),
            **position,
            **common,
            **_registers(f),
        )
    if law == "volts":
        gains: dict[str, Any] = {name: f[name] for name in VOLTS if name in f}
        return drives.Position(integral_limit=f.get("integral_limit"), **gains, **position, **common)
    if law == "impedance":
        return drives.Impedance(
            newton_metres_per_radian=f.get("stiffness", 0.0),
            newton_metre_seconds_per_radian=f.get("damping", 0.0),
            period=f.get("sampling_period"),
            count=f.get("count"),
            **common,
            **bandwidth,
        )
    return drives.Position(volts_per_radian=STIFF * V, **common)


def _registers(f: dict[str, float]) -> dict[str, Any]:
    """I and D with what one count of each does, where that is known."""
    registers: dict[str, Any] = {}
    for name in ("integral", "derivative"):
        per_count = f.get(f"{name}_gain") or None
        registers[name] = f.get(name) if per_count else None
        registers[f"firmware_{name}_gain"] = per_count
    if registers["derivative"]:
        registers["derivative_filter"] = f.get("derivative_filter")
    return registers


def _velocity_gain(sheet: Datasheet, V: float, motor: Motor, gearbox: Gearbox) -> float:
    """In volts per rad/s at the output."""
    printed = sheet.firmware.get("velocity_gain")
    bare = Line(motor.resistance, motor.torque_constant, motor.back_emf_at(None), V)
    line = bare.behind_gears(gearbox.ratio, gearbox.n_motors)
    if printed is None:
        return STIFF * V / line.ideal_speed
    return printed.value / line.torque_per_volt if printed.unit == "N m s/rad" else printed.value


def unused_settings(sheet: Datasheet) -> list[str]:
    """Printed settings of the firmware that the drive of the sheet's own interface does not take, and why."""
    f = sheet.firmware
    why = _of_other_laws(f, law_of(sheet))
    for name in ("integral", "derivative"):
        if name in f and f[name].value and f"{name}_gain" not in f:
            why[name] = f"{name}_gain, the duty of one count, is not printed"
    if "derivative_filter" in f and ("derivative" in why or not {"derivative", "derivative_gain"} <= {*f}):
        why["derivative_filter"] = "without derivative and derivative_gain there is nothing to spread"
    unlike = {"error_gain", "proportional"} - {*f}
    if len(unlike) == 1:
        (other,) = {"error_gain", "proportional"} - unlike
        why[other] = f"{next(iter(unlike))} is not printed"
    return [
        f"firmware {name.replace('_', ' ')} {f[name].text}" + (f" ({why[name]})" if why[name] else "")
        for name in f
        if name in why
    ]


def _of_other_laws(f: Mapping[str, PrintedNumber], law: str) -> dict[str, str]:
    """Printed settings that a law does not use, with those that do."""
    why: dict[str, str] = {}
    for name, printed in f.items():
        if name not in USES[law] and printed.value:
            others = [control for control, names in USES.items() if name in names]
            why[name] = f"of another law: {' or '.join(others)}" if others else ""
    return why
