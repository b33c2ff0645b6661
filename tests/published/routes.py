"""The source documents' own arithmetic on a sheet, step by step,
so that their published numbers can be compared with ours."""

from __future__ import annotations

from typing import NamedTuple

from backemf.analysis.conversion import PositionActuator, servo_actuator
from backemf.datasheets.datasheet import Datasheet, Entry
from backemf.errors import MissingValue
from backemf.units import GRAVITY


def need(sheet: Datasheet, name: str) -> Entry:
    entry = sheet.get(name)
    if entry is None:
        raise MissingValue(f"the sheet of {sheet.name} has no {name!r}, which this route needs")
    return entry


class ServoTorqueModel(NamedTuple):
    """K_m from stall, K_b from no load with the sheet's resistance, and MuJoCo's gains."""

    K_m: float
    K_b: float
    gains: PositionActuator


def servo_torque_model(
    sheet: Datasheet, *, volts_per_degree: float, gravity: float | None = None
) -> ServoTorqueModel:
    """K_m = tau_stall / I_stall, K_b = (V - R I_0) / w_0, with R as the sheet (or its assumption) has it.

    The document converts kilogram-centimetres with g = 9.8; give `gravity=9.8` for its published numbers.
    """
    tau = need(sheet, "stall_torque").value * (1.0 if gravity is None else gravity / GRAVITY)
    R, i_0, w_0 = (
        need(sheet, "resistance").value,
        need(sheet, "no_load_current").value,
        need(sheet, "no_load_speed").value,
    )
    K_m, K_b = tau / need(sheet, "stall_current").value, (sheet.voltage - R * i_0) / w_0
    return ServoTorqueModel(
        K_m,
        K_b,
        servo_actuator(
            torque_constant=K_m, back_emf_constant=K_b, resistance=R, volts_per_degree=volts_per_degree
        ),
    )


class Sg90Article(NamedTuple):
    """The SG90 article's motor at its rotor."""

    resistance: float
    torque_constant: float
    no_load_speed: float
    damping: float
    """b = k_t i_0 / w_0 [N m s/rad]."""


def sg90_article(sheet: Datasheet, *, as_published: bool = False) -> Sg90Article:
    """R = V / i_stall, k_t = tau_stall / (G i_stall), b = k_t i_0 / w_0;
    `as_published` keeps the article's 2 pi / 180 per degree."""
    G, i_stall = need(sheet, "gear_ratio").value, need(sheet, "stall_current").value
    printed = next(e for e in sheet.all("no_load_speed") if e.side == "output")
    w_0 = G * printed.value * (2.0 if as_published else 1.0)
    k_t = need(sheet, "stall_torque").value / G / i_stall
    return Sg90Article(sheet.voltage / i_stall, k_t, w_0, k_t * need(sheet, "no_load_current").value / w_0)
