"""Motors and gears as columns of numbers, one row a part; what a part does not print stays open."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..datasheets import parts as catalogue
from ..datasheets.datasheet import Datasheet
from ..datasheets.gearhead import LIMITED, UNKNOWN_PRICE, Gearhead, PartsTable, Price
from ..datasheets.suggest import largest_current, lasting_current
from ..errors import BackemfError, InvalidValue
from ..physics.actuator import Actuator
from ..physics.gearbox import Gearbox
from ..physics.motor import Motor
from ..physics.quantity import parameters
from ..physics.thermal import COPPER, Heat
from ..results.fit_result import Fit

MOTOR_COLUMNS = (
    *("resistance", "torque_constant", "back_emf_constant", "rotor_inertia", "viscous", "friction"),
    *("iron_loss", "ratio", "efficiency", "continuous_current", "peak_current", "speed_limit"),
    *("R_1", "R_2", "C_1", "C_2", "alpha", "reference", "max_temperature", "mass", "price"),
)
"""Of a motor, at its rotor; NaN where nobody printed it."""
GEAR_COLUMNS = (
    *("ratio", "efficiency", "inertia", "peak_torque", "continuous_torque", "input_speed", "mass", "price"),
)
WEARING = ("strain", "harmonic")
"""Sorts of gears whose torque for ever is a cubic mean over the turns."""
UNCERTAIN = ("resistance", "torque_constant", "rotor_inertia", "friction", "efficiency")
"""Columns whose errors count."""
DRAGS = ("coulomb", "static", "viscous", "viscous_quadratic", "viscous_cubic")
"""Torques of friction."""
QUICK = 1e-6
"""Share of the thermal resistance that stands for no second node."""


@dataclass(frozen=True, kw_only=True)
class MotorPart:
    """One motor or actuator that may be chosen."""

    name: str
    numbers: Mapping[str, float]
    errors: Mapping[str, float]
    """Relative standard errors of some of its columns."""
    missing: tuple[str, ...]
    """Entries that nobody printed and without which it is not judged."""
    make: Callable[[], Actuator]
    """The actuator itself, its friction at its output."""
    voltage: float = math.nan
    source: str = ""
    currency: str = ""
    """Of its price."""


@dataclass(frozen=True)
class PartColumns:
    """Parts as arrays by column."""

    names: Sequence[str]
    values: Mapping[str, np.ndarray]
    errors: Mapping[str, np.ndarray]
    missing: Sequence[tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, column: str) -> np.ndarray:
        return self.values[column]

    def take(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Its columns at some rows."""
        return {name: values[rows] for name, values in self.values.items()}


def motor_columns(motors: Sequence[MotorPart]) -> PartColumns:
    """Motors as columns."""
    values = {c: np.array([m.numbers.get(c, math.nan) for m in motors], float) for c in MOTOR_COLUMNS}
    errors = {c: np.array([m.errors.get(c, 0.0) for m in motors], float) for c in UNCERTAIN}
    return PartColumns([m.name for m in motors], values, errors, [m.missing for m in motors])


def gear_columns(gears: Sequence[Gearhead]) -> PartColumns:
    """Gearheads as columns, and no gears at all in the first row."""
    nan = math.nan
    none = {"ratio": 1.0, "efficiency": 1.0, "inertia": 0.0, "mass": 0.0, "price": 0.0}
    none |= dict.fromkeys(("peak_torque", "continuous_torque", "input_speed"), math.inf)
    rows = [none, *({c: v if (v := getattr(g, c)) is not None else nan for c in GEAR_COLUMNS} for g in gears)]
    values = {c: np.array([row[c] for row in rows], float) for c in GEAR_COLUMNS}
    values["wears"] = np.array([0.0, *(g.sort.lower().startswith(WEARING) for g in gears)], float)
    return PartColumns(["", *(g.name for g in gears)], values, {}, [(), *(tuple(gaps_of(g)) for g in gears)])


def gaps_of(gear: Gearhead) -> Iterable[str]:
    """What a gearhead does not print and is not judged without."""
    if gear.efficiency is None:
        yield "efficiency"
    if gear.inertia is None:
        yield "inertia"
    if all(getattr(gear, name) is None for name in LIMITED):
        yield " or ".join(LIMITED)


def pairs(motors: PartColumns, gears: Sequence[Gearhead]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Which motor goes with which gears: every motor without any, and bare ones behind those that fit.

    Returns:
        (rows of motors, rows of gears, of which the first is none; gearheads that fit no motor).
    """
    bare = np.flatnonzero(motors["ratio"] == 1.0)
    names = [motors.names[int(k)] for k in bare]
    place = {name: int(k) for name, k in zip(names, bare, strict=True)}
    rows, columns, alone = [np.arange(len(motors))], [np.zeros(len(motors), np.int64)], []
    known: dict[tuple[str, ...], np.ndarray] = {(): bare}
    for k, gear in enumerate(gears, 1):
        if gear.fits not in known:
            known[gear.fits] = np.array([place[n] for n in _matching(gear.fits, names, place)], np.int64)
        mine = known[gear.fits]
        if not len(mine):
            alone.append(f"{gear.name} fits {', '.join(gear.fits)}")
        rows.append(mine)
        columns.append(np.full(len(mine), k))
    return np.concatenate(rows).astype(np.int32), np.concatenate(columns).astype(np.int32), alone


def _matching(patterns: Sequence[str], names: Sequence[str], known: Mapping[str, int]) -> list[str]:
    """Names that one of the patterns names."""
    matched: dict[str, None] = {}
    for pattern in patterns:
        if any(sign in pattern for sign in "*?["):
            matched |= dict.fromkeys(fnmatch.filter(names, pattern))
        elif pattern in known:
            matched[pattern] = None
    return [*matched]


def heat_numbers(heat: Heat | None) -> dict[str, float]:
    """A thermal model as columns; one node is a housing without any resistance."""
    if heat is None:
        return {"alpha": COPPER, "reference": 25.0}
    common = {"alpha": heat.resistance_coefficient, "reference": heat.reference}
    common |= {} if heat.max_temperature is None else {"max_temperature": heat.max_temperature}
    times = heat.time_constants
    if "housing" in times:
        p = {name: getattr(heat, name) for name in ("winding_resistance", "housing_resistance")}
        c = {name: getattr(heat, name) for name in ("winding_capacitance", "housing_capacitance")}
        R, C = tuple(p.values()), tuple(c.values())
    else:
        R = ((1.0 - QUICK) * heat.total_resistance, QUICK * heat.total_resistance)
        C = (times["winding"] / heat.total_resistance, 1e-3 * times["winding"] / heat.total_resistance)
    return {**common, "R_1": R[0], "R_2": R[1], "C_1": C[0], "C_2": C[1]}


def of_actuator(name: str, actuator: Actuator, **more: Any) -> MotorPart:
    """An actuator, as of a fit, as a part that may be chosen.

    Args:
        name: of it.
        actuator: its numbers.
        more: fields that are otherwise.
    """
    numbers = numbers_of(actuator)
    limits = actuator.motor.limits
    if limits is not None:
        lasting, most = limits.continuous_current, limits.largest_current
        numbers |= {} if lasting is None else {"continuous_current": lasting}
        numbers |= {} if most is None else {"peak_current": most}
    missing = ["rotor_inertia"] if not actuator.motor.rotor_inertia else []
    missing += _heat_gap(numbers)
    given = {"numbers": numbers, "errors": {}, "missing": tuple(missing), "make": lambda: actuator}
    return MotorPart(name=name, **{**given, **more})


def numbers_of(actuator: Actuator) -> dict[str, float]:
    """An actuator's columns; its friction as its rotor feels it."""
    motor, gearbox = actuator.motor.in_parallel(actuator.gearbox.n_motors), actuator.gearbox
    N, eta = abs(gearbox.ratio), gearbox.efficiency or 1.0
    iron = motor.iron_loss or 0.0
    return {
        "resistance": motor.resistance,
        "torque_constant": motor.torque_constant,
        "back_emf_constant": float(motor.back_emf_at(None)),
        "rotor_inertia": motor.rotor_inertia or math.nan,
        "viscous": actuator.friction.viscous / (eta * N * N) + iron,
        "friction": float(actuator.friction.moving) / (eta * N),
        "iron_loss": iron,
        "ratio": N,
        "efficiency": eta,
        **heat_numbers(motor.thermal),
    }


def _heat_gap(numbers: Mapping[str, float]) -> list[str]:
    """What must be printed for heat to be judged: a lasting current, or what warms and how warm it may be."""
    has_heat = {"R_1", "max_temperature"} <= {*numbers}
    if has_heat or "continuous_current" in numbers:
        return []
    return ["nominal_current, or thermal_resistance with max_winding_temperature"]


def of_sheet(
    name: str, sheet: Datasheet, price: Price = UNKNOWN_PRICE, speed: float | None = None
) -> MotorPart:
    """A datasheet as a part that may be chosen.

    Args:
        name: of the part.
        sheet: as printed.
        price: where it is known.
        speed: the most that its rotor may turn [rad/s], where it is printed.

    Raises:
        BackemfError: the sheet makes no actuator.
    """
    solved = sheet.reconciled
    actuator = sheet.actuator()
    numbers, c = numbers_of(actuator), solved.constants
    lasting, most, mass = lasting_current(sheet, solved), largest_current(sheet, solved), sheet.value("mass")
    optional = {"continuous_current": lasting, "mass": mass, "speed_limit": speed, "price": price.amount}
    optional["peak_current"] = most if math.isfinite(most) else None
    numbers |= {n: v for n, v in optional.items() if v is not None}
    symbols = dict(zip(UNCERTAIN, ("R", "K", "J", "tau_c", "eta"), strict=True))
    errors = {n: c[s].error / c[s].value for n, s in symbols.items() if s in c and c[s].value > 0}
    missing = [] if "J" in c else ["rotor_inertia"]
    if not any(e.kind != "assumed" for n in catalogue.FRICTION for e in sheet.all(n)):
        missing.append("no_load_current")
    if numbers["ratio"] != 1.0 and "eta" not in c and "kappa" not in c:
        missing.append("gear_efficiency")
    missing += _heat_gap(numbers)
    return MotorPart(
        name=name,
        numbers=numbers,
        errors=errors,
        missing=tuple(missing),
        make=lambda: actuator,
        voltage=sheet.voltage,
        source=sheet.source,
        currency=price.currency,
    )


def with_gears(part: MotorPart, gear: Gearhead | None, bus: float) -> Actuator:
    """A part behind gears, on a bus: what `simulate`, exports and `attach` take.

    Args:
        part: the motor.
        gear: the gears; None: none but its own.
        bus: the supply [V].

    Returns:
        The actuator, its friction at its output.
    """
    actuator = part.make()
    if gear is not None:
        own, eta = actuator.motor, gear.efficiency or 1.0
        motor = replace(own, rotor_inertia=own.rotor_inertia + (gear.inertia or 0.0))
        gearbox = Gearbox(ratio=gear.ratio, efficiency=gear.efficiency)
        felt = parameters(actuator.friction)  # at the motor; behind the gears that much less is friction
        less = {name: eta * felt[name] for name in DRAGS if name in felt}
        friction = gearbox.reflect(replace(actuator.friction, **less))
        actuator = replace(actuator, motor=motor, gearbox=gearbox, friction=friction)
    return replace(actuator, drive=replace(actuator.drive, supply=bus))


def catalogue_motors(neglect: Sequence[str] = ()) -> list[MotorPart]:
    """Every motor, servo and actuator of the catalogue of which an actuator can be made."""
    found = []
    for name in catalogue.names():
        try:
            found.append(of_sheet(name, catalogue.sheet(name)))
        except BackemfError:  # prints too little for a motor at all
            continue
    return found


def read_parts(paths: Sequence[Path | str]) -> tuple[list[MotorPart], list[Gearhead], list[str]]:
    """Parts of a user's own.

    Args:
        paths: CSV and TOML, a fit or an actuator in JSON, a clone of MGDB, names of the catalogue.

    Returns:
        (motors, gearheads, what is to be said of them).

    Raises:
        BackemfError: one cannot be read.
    """
    from .mgdb import is_mgdb, read_mgdb

    table, motors, gears, notes = PartsTable(), list[MotorPart](), list[Gearhead](), list[str]()
    for given in paths:
        path = Path(given)
        if str(given).lower() in catalogue.names():
            table.sheets[str(given).lower()] = catalogue.sheet(str(given))
        elif path.is_dir():
            if not is_mgdb(path):
                raise InvalidValue(f"{path} is a folder without *_motors.csv; expected a clone of MGDB")
            more, heads, said = read_mgdb(path)
            motors, gears, notes = [*motors, *more], [*gears, *heads], [*notes, *said]
        elif path.suffix.lower() == ".json":
            motors += _of_file(path)
        elif path.is_file():
            table.read(path)
        else:
            raise InvalidValue(
                f"there is no file or part {str(given)!r}; expected CSV, TOML, a fit or a part"
            )
    for name, sheet in table.sheets.items():
        motors.append(
            of_sheet(name, sheet, table.prices.get(name, UNKNOWN_PRICE), table.top_speeds.get(name))
        )
    return motors, [*gears, *table.gearheads], notes


def read_stored(path: Path | str) -> Fit | Actuator:
    """What a JSON holds: a fit, or an actuator."""
    try:
        return Fit.read(path)
    except BackemfError:
        return Actuator.read(path)


def _of_file(path: Path) -> list[MotorPart]:
    """A stored fit with its errors, each joint of a robot's as NAME/JOINT; or a stored actuator."""
    match fit := read_stored(path):
        case Actuator():
            return [of_actuator(path.stem, fit)]
    fits = {f"{path.stem}/{joint}": one for joint, one in fit.joints.items()} or {path.stem: fit}
    return [of_actuator(name, one.actuator, errors=_fit_errors(one)) for name, one in fits.items()]


def _fit_errors(fit: Fit) -> dict[str, float]:
    """Relative errors of the columns that were fitted."""
    paths = ("motor.resistance", "motor.torque_constant", "motor.rotor_inertia", "friction.coulomb")
    paths = (*paths, "gearbox.efficiency")
    found = {n: fit.relative_error(p) for n, p in zip(UNCERTAIN, paths, strict=True) if p in fit.parameters}
    return {name: error for name, error in found.items() if error is not None}


def plain_motor(numbers: Mapping[str, float], heat: Heat | None, inductance: float | None) -> Actuator:
    """An actuator of columns alone, as of a row of a large table.

    Args:
        numbers: MOTOR_COLUMNS.
        heat: its thermal model, where it is known.
        inductance: of the winding [H], where it is known.

    Returns:
        Motor and friction, without gears.
    """
    from ..physics.friction import Coulomb

    inertia = numbers["rotor_inertia"]
    motor = Motor(
        resistance=numbers["resistance"],
        torque_constant=numbers["torque_constant"],
        rotor_inertia=0.0 if math.isnan(inertia) else inertia,  # judged only where somebody neglects it
        inductance=inductance,
        thermal=heat,
    )
    return Actuator(motor=motor, friction=Coulomb(coulomb=numbers["friction"], viscous=numbers["viscous"]))
