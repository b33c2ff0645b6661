"""A user's own clone of MGDB (github.com/ekrimsk/MGDB, SI throughout), which has no licence: nothing of it is
shipped, and rows that contradict themselves are left out and counted."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..datasheets.gearhead import Gearhead
from ..physics.thermal import Thermal
from .components import MotorPart, plain_motor

OFF = 0.25
"""Share by which a no-load line may miss the printed speed."""


def is_mgdb(folder: Path) -> bool:
    """Whether a folder is such a clone."""
    return any(folder.rglob("*_motors.csv"))


def read_mgdb(folder: Path) -> tuple[list[MotorPart], list[Gearhead], list[str]]:
    """Motors and gearheads of a clone, with which fits which.

    Args:
        folder: the clone.

    Returns:
        (motors, gearheads, what was left out and why).
    """
    motors, gears, fits, bad = [], [], {}, Counter[str]()
    for path in sorted(folder.rglob("*_compatibility.csv")):
        for motor, *heads in csv.reader(path.read_text(encoding="utf-8-sig").splitlines()):
            for head in heads:
                fits.setdefault(head.strip(), []).append(motor.strip())
    for row in _rows(folder, "*_motors.csv"):
        why = _contradiction(row)
        bad[why] += 1
        motors += [] if why else [_motor(row)]
    starred = {key[:-1]: names for key, names in fits.items() if key.endswith("*")}
    for row in _rows(folder, "*_gearboxes.csv"):
        key = row["key"]
        mine = [*fits.get(key, ()), *(n for s, names in starred.items() if key.startswith(s) for n in names)]
        why = _gear_contradiction(row, mine)
        bad[why] += 1
        gears += [] if why else [_gearhead(row, tuple(mine))]
    notes = [f"{n} rows of {folder.name} left out: {why}" for why, n in bad.items() if why]
    return motors, gears, notes


def _rows(folder: Path, pattern: str) -> Iterator[dict[str, str]]:
    for path in sorted(folder.rglob(pattern)):
        yield from csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines())


def _number(row: Mapping[str, str], name: str) -> float:
    """A number; NaN where the cell is empty."""
    try:
        return float(row.get(name, "") or math.nan)
    except ValueError:
        return math.nan


def _contradiction(row: Mapping[str, str]) -> str:
    """What of a row cannot be."""
    names = ("V", "k_t", "R", "omega_nl", "I_nl", "I_nom", "max_int_torque")
    V, K, R, w, i_0, lasting, most = (_number(row, n) for n in names)
    if not (K > 0 and R > 0):
        return "no resistance or torque constant"
    if i_0 < 0:
        return "a negative no-load current"
    if most < K * lasting < math.inf:
        return "less torque for a moment than for ever"
    if w > 0 and abs(V - K * w - R * (i_0 if i_0 > 0 else 0.0)) > OFF * V:
        return "the no-load speed is far from what voltage and torque constant give"
    return ""


def _gear_contradiction(row: Mapping[str, str], fits: list[str]) -> str:
    """The same of a gearbox, and whether nothing is said to fit it."""
    ratio, most, lasting = (_number(row, name) for name in ("ratio", "max_int_torque", "max_cont_torque"))
    if not ratio > 0 or most < lasting:
        return "a gearbox without a ratio, or with less torque for a moment than for ever"
    return "" if fits else "a gearbox that no motor is said to fit"


def _motor(row: Mapping[str, str]) -> MotorPart:
    names = (
        "k_t",
        "R",
        "inertia",
        "I_nl",
        "I_nom",
        "max_int_torque",
        "max_int_speed",
        "mass",
        "Rth1",
        "Rth2",
        "L",
    )
    K, R, J, i_0, lasting, most, speed, mass, R_1, R_2, L = (_number(row, name) for name in names)
    numbers = {"resistance": R, "torque_constant": K, "back_emf_constant": K, "ratio": 1.0, "efficiency": 1.0}
    numbers |= {"viscous": 0.0, "iron_loss": 0.0, "alpha": 0.00393, "reference": 25.0, "rotor_inertia": J}
    numbers |= {"friction": K * i_0}
    optional = {"continuous_current": lasting, "peak_current": most / K, "speed_limit": speed, "mass": mass}
    numbers |= {n: v for n, v in optional.items() if 0 < v < math.inf}
    gaps = {"rotor_inertia": J > 0, "I_nl": i_0 >= 0, "I_nom": "continuous_current" in numbers}
    heat = Thermal(resistance=R_1 + R_2, capacitance=1.0) if R_1 > 0 and R_2 > 0 else None
    if heat is not None:  # no time constants: mean heat alone is judged, where nobody says how warm it may be
        numbers |= {"R_1": R_1, "R_2": R_2}
    return MotorPart(
        name=row["key"],
        numbers=numbers,
        errors={},
        missing=tuple(name for name, there in gaps.items() if not there),
        make=lambda: plain_motor(numbers, heat, L if L > 0 else None),
        source=f"MGDB, {row.get('manufacturer', '')} {row.get('ID', '')}",
    )


def _gearhead(row: Mapping[str, str], fits: tuple[str, ...]) -> Gearhead:
    columns = {"efficiency": "efficiency", "inertia": "inertia", "mass": "mass"}
    columns |= {"peak_torque": "max_int_torque", "continuous_torque": "max_cont_torque"}
    values: dict[str, Any] = {name: _number(row, column) for name, column in columns.items()}
    return Gearhead(
        name=row["key"],
        maker=row.get("manufacturer", ""),
        sort=row.get("type", ""),
        ratio=_number(row, "ratio"),
        fits=fits,
        source="MGDB",
        **{n: v for n, v in values.items() if 0 < v < math.inf and not (n == "efficiency" and v > 1)},
    )
