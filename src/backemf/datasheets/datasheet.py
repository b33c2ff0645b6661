"""A datasheet as it is printed, and what follows from it: its constants with errors, what they predict, and
what disagrees. And the entries it may have: canonical name, SI unit, and the names vendors print (MuJoCo's
DC-motor note, table 19)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import MissingValue, UnknownName
from ..findings import Finding
from ..tables import NotebookDisplay, Overview
from ..units import PrintedNumber

if TYPE_CHECKING:
    from ..physics.actuator import Actuator


class EntryKind(NamedTuple):
    """One kind of entry."""

    unit: str
    aliases: tuple[str, ...]
    text: str
    gear: int = 0
    """Power of the gear ratio N with which it grows from rotor to output:
    +1 a torque, -1 a speed, 2 an inertia."""
    lossy: bool = False
    """Whether the gears' efficiency also acts on it."""


ENTRIES: dict[str, EntryKind] = {
    "nominal_voltage": EntryKind(
        "V", ("Un", "VDC", "U", "v_n", "rated_voltage"), "voltage the entries hold at"
    ),
    "voltage_range": EntryKind("V", ("operating_voltage", "input_voltage"), "allowed supply"),
    "resistance": EntryKind(
        "ohm", ("R", "Ra", "terminal_resistance", "winding_resistance"), "terminal resistance"
    ),
    "inductance": EntryKind("H", ("L", "terminal_inductance"), "terminal inductance"),
    "torque_constant": EntryKind("N m/A", ("kt", "km", "kM", "Kt", "K_t"), "torque per ampere", 1, True),
    "back_emf_constant": EntryKind("V s/rad", ("ke", "kE", "Ke", "K_e"), "back-EMF per speed", 1),
    "speed_constant": EntryKind(
        "rad/(s V)", ("kn", "Kn", "kv", "Kv", "K_v"), "speed per volt of back-EMF", -1
    ),
    "no_load_speed": EntryKind(
        "rad/s", ("n0", "omega_0", "free_speed", "max_speed"), "speed without load", -1
    ),
    "no_load_current": EntryKind("A", ("I0", "I_0", "i_0", "free_current"), "current without load"),
    "stall_torque": EntryKind("N m", ("MH", "Ts", "M0", "tau_0"), "torque at standstill", 1, True),
    "stall_current": EntryKind("A", ("IA", "Is", "i_s"), "current at standstill"),
    "nominal_speed": EntryKind("rad/s", ("nN", "rated_speed"), "speed at the rated load", -1),
    "nominal_torque": EntryKind(
        "N m", ("MN", "M_N", "Tc", "T_c", "tau_n", "rated_torque"), "torque it can give forever", 1, True
    ),
    "nominal_current": EntryKind(
        "A",
        ("IN", "Ic", "i_max", "i_rated", "rated_current", "continuous_current"),
        "current it can carry forever",
    ),
    "peak_torque": EntryKind(
        "N m", ("Mpk", "Tp", "tau_max", "max_torque"), "torque for a short time", 1, True
    ),
    "peak_current": EntryKind("A", ("Ipk", "IpK", "i_peak", "max_current"), "current for a short time"),
    "peak_time": EntryKind("s", ("t_peak",), "how long peak current or peak torque may last"),
    "current_rate": EntryKind(
        "A/s", ("di_dt_max", "(di/dt)_max"), "fastest change of the current by its driver"
    ),
    "saturation_current": EntryKind("A", ("i_sat",), "current at which the torque constant has halved"),
    "torque_speed": EntryKind("N m", (), "a point of the torque-speed line: torque, speed, voltage", 1, True),
    "max_efficiency": EntryKind("1", ("eta_max",), "best efficiency of the motor"),
    "max_power": EntryKind("W", ("Pmax", "P2max"), "greatest mechanical power"),
    "speed_torque_gradient": EntryKind(
        "rad/(s N m)", ("dn_dM", "domega_dtau", "gradient"), "speed lost per torque", -2, True
    ),
    "mechanical_time_constant": EntryKind("s", ("tau_m", "t_m"), "time to 63 % of the no-load speed"),
    "electrical_time_constant": EntryKind("s", ("tau_e", "t_e"), "L / R"),
    "rotor_inertia": EntryKind("kg m^2", ("J", "Jm", "JR", "J_r"), "inertia of the rotor", 2),
    "reflected_inertia": EntryKind("kg m^2", ("armature",), "inertia of the rotor seen at the output"),
    "coulomb_torque": EntryKind(
        "N m", ("Tf", "T_f", "MR", "tau_c", "friction_torque"), "dry friction", 1, True
    ),
    "viscous_friction": EntryKind(
        "N m s/rad", ("Cv", "C_v", "B", "B_1", "sigma_2", "viscous_damping"), "drag per speed", 2, True
    ),
    "stiction_torque": EntryKind("N m", ("static_friction",), "friction that holds it at rest", 1, True),
    "stribeck_velocity": EntryKind("rad/s", ("omega_s",), "speed over which stiction fades", -1),
    "stribeck_exponent": EntryKind("1", ("gamma",), "of that fading"),
    "bristle_stiffness": EntryKind("N m/rad", ("sigma_0",), "of the contact before it slides", 2, True),
    "bristle_damping": EntryKind("N m s/rad", ("sigma_1",), "of the contact before it slides", 2, True),
    "bristle_damping_exponent": EntryKind("1", ("beta",), "with which that damping fades"),
    "viscous_quadratic": EntryKind("N m s^2/rad^2", ("B_2",), "drag per square of the speed", 3, True),
    "viscous_cubic": EntryKind("N m s^3/rad^3", ("B_3",), "drag per cube of the speed", 4, True),
    "iron_loss": EntryKind("W s^2/rad^2", ("K_fe",), "iron loss per square of the speed", 2),
    "thermal_resistance": EntryKind("K/W", ("Rth", "R_T"), "winding to ambient"),
    "thermal_resistance_winding": EntryKind("K/W", ("Rth1",), "winding to housing"),
    "thermal_resistance_housing": EntryKind("K/W", ("Rth2",), "housing to ambient"),
    "thermal_time_constant": EntryKind("s", ("tau_th", "t_T", "tau_w", "tau_w1"), "of the winding"),
    "thermal_time_constant_housing": EntryKind("s", ("tau_s", "tau_w2"), "of the motor as a whole"),
    "thermal_capacitance": EntryKind("J/K", ("Cth", "C_th", "C"), "heat capacity of the winding"),
    "ambient_temperature": EntryKind("degC", ("Ta", "T_a"), "of the surroundings"),
    "reference_temperature": EntryKind("degC", ("Tref", "T_ref", "T0"), "at which resistance is given"),
    "max_winding_temperature": EntryKind("degC", ("Tmax", "T_max"), "of the winding"),
    "resistance_coefficient": EntryKind("1/K", ("alpha_Cu", "alpha"), "of the winding's resistance"),
    "magnet_coefficient": EntryKind("1/K", ("alpha_m",), "of the magnets' flux"),
    "derating_start": EntryKind(
        "degC", ("T_1",), "winding temperature from which the driver takes current back"
    ),
    "derating_end": EntryKind("degC", ("T_2",), "winding temperature at which only the safe current is left"),
    "safe_current": EntryKind("A", ("i_safe",), "current that derating leaves"),
    "gear_ratio": EntryKind("1", ("N", "i", "reduction"), "rotor turns per output turn"),
    "gear_efficiency": EntryKind("1", ("eta",), "of the gears"),
    "backlash": EntryKind("rad", (), "free play at the output"),
    "cogging_torque": EntryKind("N m", ("A",), "peak of the cogging", 1),
    "cogging_percent": EntryKind("1", (), "peak of the cogging as a share of the nominal (or peak) torque"),
    "cogging_periods": EntryKind("1", ("N_p",), "periods of the cogging in a turn of the rotor"),
    "cogging_phase": EntryKind("rad", ("phi",), "of the cogging where the rotor is at 0"),
    "n_poles": EntryKind("1", ("poles",), "magnet poles"),
    "n_slots": EntryKind("1", ("slots",), "stator slots"),
    "mass": EntryKind("kg", ("weight",), "of the part"),
    "standby_current": EntryKind("A", (), "of its electronics"),
}

BECOMES: dict[str, str] = {
    "resistance": "motor.resistance",
    "inductance": "motor.inductance",
    "torque_constant": "motor.torque_constant",
    "back_emf_constant": "motor.torque_constant; motor.back_emf_constant where the two differ",
    "gear_ratio": "gearbox.ratio",
    "gear_efficiency": "gearbox.efficiency",
    "rotor_inertia": "motor.rotor_inertia",
    "reflected_inertia": "motor.rotor_inertia",
    "coulomb_torque": "friction.coulomb",
    "viscous_friction": "friction.viscous",
    "no_load_current": "friction.coulomb, friction.viscous",
    "stiction_torque": "friction.static",
    "stribeck_velocity": "friction.stribeck_velocity",
    "stribeck_exponent": "friction.stribeck_exponent",
    "bristle_stiffness": "friction.stiffness",
    "bristle_damping": "friction.damping",
    "bristle_damping_exponent": "friction.damping_exponent",
    "viscous_quadratic": "friction.viscous_quadratic",
    "viscous_cubic": "friction.viscous_cubic",
    "iron_loss": "motor.iron_loss",
    "saturation_current": "motor.saturation_current",
    "nominal_current": "motor.limits.continuous_current, with a peak and its time",
    "nominal_torque": "motor.limits.continuous_current, where no current is printed",
    "peak_current": "motor.limits.peak_current; motor.limits.current without a time",
    "peak_torque": "motor.limits.peak_current; motor.limits.current without a time",
    "peak_time": "motor.limits.peak_time",
    "current_rate": "motor.limits.current_rate",
    "derating_start": "motor.limits.derating_start",
    "derating_end": "motor.limits.derating_end",
    "safe_current": "motor.limits.safe_current",
    "thermal_resistance": "motor.thermal.resistance",
    "thermal_resistance_winding": "motor.thermal.winding_resistance",
    "thermal_resistance_housing": "motor.thermal.housing_resistance",
    "thermal_time_constant": "motor.thermal.capacitance; motor.thermal.winding_capacitance of two nodes",
    "thermal_time_constant_housing": "motor.thermal.housing_capacitance",
    "thermal_capacitance": "motor.thermal.capacitance",
    "ambient_temperature": "motor.thermal.ambient",
    "reference_temperature": "motor.thermal.reference",
    "resistance_coefficient": "motor.thermal.resistance_coefficient",
    "magnet_coefficient": "motor.thermal.magnet_coefficient",
    "backlash": "gearbox.backlash",
    "cogging_torque": "motor.cogging.amplitude",
    "cogging_percent": "motor.cogging.amplitude",
    "cogging_periods": "motor.cogging.periods",
    "cogging_phase": "motor.cogging.phase",
    "n_poles": "motor.cogging.periods, with the slots",
    "n_slots": "motor.cogging.periods, with the poles",
    "nominal_voltage": "the condition of the others",
    "voltage_range": "listed",
    "max_winding_temperature": "listed; the end of its heating curve",
    "max_power": "listed",
    "mass": "listed",
    "standby_current": "listed",
}
"""Where an entry arrives in the actuator; what does not stand here is solved for together with the others,
and compared with what comes of it."""

_BY_ALIAS = {alias: name for name, kind in ENTRIES.items() for alias in kind.aliases}
_GREEK = {"\u03c4": "tau", "\u03b7": "eta", "\u03b1": "alpha", "\u03c9": "omega", "\u0394": "d"}
_GREEK |= {"\u03c3": "sigma", "\u03b2": "beta", "\u03b3": "gamma", "\u03c6": "phi", "\u03d5": "phi"}
_GREEK |= {"\u2202": "d"} | dict.fromkeys("_{}/()\\", "")
"""What a symbol loses or becomes before it is compared: T_{ref}, T_ref and Tref are one."""


def bare(name: str) -> str:
    """A symbol without underscores and braces, its Greek in letters."""
    for sign, letters in _GREEK.items():
        name = name.replace(sign, letters)
    return name


# Case tells symbols apart (kn a constant, nN a speed), underscores and braces do not.
_BY_SYMBOL = {bare(alias): name for alias, name in _BY_ALIAS.items()}


TWICE = {"tau_s": ("thermal_time_constant_housing", "stiction_torque")}
"""Symbols that stand for either of two entries; the unit tells which."""


def either(name: str) -> tuple[str, ...]:
    """Every entry that a name may stand for; the first is the usual one."""
    twice = {bare(symbol): names for symbol, names in TWICE.items()}
    return twice.get(bare(name)) or (canonical(name),)


def canonical(name: str) -> str:
    """The canonical name of an entry; unknown ones are errors with the nearest match."""
    if name in ENTRIES:
        return name
    if name in _BY_ALIAS:
        return _BY_ALIAS[name]
    if bare(name) in _BY_SYMBOL:
        return _BY_SYMBOL[bare(name)]
    raise UnknownName("datasheet entry", name, [*ENTRIES, *_BY_ALIAS])


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One printed number with its conditions."""

    name: str
    printed: PrintedNumber
    voltage: float | None
    side: str
    temperature: float | None = None
    convention: str = ""
    kind: str = ""
    """'assumed', 'peak' or 'continuous' where the sheet, or whoever copied it, says so."""
    source: str = ""
    page: str = ""
    note: str = ""
    toleranced: bool = False
    """Whether the sheet itself gives a tolerance or a range; otherwise the last printed digit counts."""
    speed: PrintedNumber | None = None
    """Of a point of the torque-speed line [rad/s]."""

    @property
    def value(self) -> float:
        """In SI; for a brushless motor, of the equivalent DC motor."""
        return self.printed.value * dc_factor(self.name, self.convention)

    @property
    def half(self) -> float:
        return self.printed.half * dc_factor(self.name, self.convention)

    def __str__(self) -> str:
        at = f" at {self.voltage:g} V" if self.voltage is not None else ""
        turning = f" at {self.speed.text}" if self.speed is not None else ""
        return f"{self.name} {self.printed.text}{turning}{at}"


@dataclass(frozen=True, kw_only=True)
class PublishedParameters:
    """Parameters somebody identified and published, in backemf's own names."""

    source: str
    friction: str
    error: str
    parameters: Mapping[str, float]
    supply: float | None = None
    """At which it was identified [V]."""
    other: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    """Standard errors of parameters, where whoever identified it says so."""
    correlation: tuple[tuple[float, ...], ...] = ()
    """Between these, in their order: the rows of the lower triangle; none where it is empty."""
    data: str = ""
    """The recordings that it stands on."""
    note: str = ""


def dc_factor(name: str, convention: str) -> float:
    """What turns a brushless motor's printed number into that of its equivalent DC motor (line-to-line EMF
    amplitude and DC current).

    With phase amplitude I the equivalent current is sqrt(3)/2 I, so that torque = K I_dc and copper loss =
    R_line I_dc^2.
    """
    words = convention.split()
    current = next((f for word, f in (("peak", 3**0.5 / 2), ("rms", 1.5**0.5)) if word in words), 1.0)
    if name.endswith("_current"):
        return current
    if name == "torque_constant":
        return 1.0 / current
    if name in ("back_emf_constant", "speed_constant"):
        factor = (2**0.5 if "rms" in words else 1.0) * (3**0.5 if "phase" in words else 1.0)
        return factor if name == "back_emf_constant" else 1.0 / factor
    if name in ("resistance", "inductance"):
        return 2.0 if "phase" in words else 1.0
    return 1.0


@dataclass(frozen=True, kw_only=True, repr=False)
class Datasheet(NotebookDisplay):
    """What is printed, nothing computed; `reconciled` says what follows from it."""

    name: str
    maker: str
    kind: str
    motor: str
    side: str
    voltage: float
    source: str
    entries: tuple[Entry, ...]
    control: str | None = None
    """Its interface where the sheet says so; a servo's is position, an actuator's impedance, a motor's
    voltage."""
    temperature: float | None = None
    quirks: tuple[str, ...] = ()
    firmware: Mapping[str, PrintedNumber] = field(default_factory=dict)
    profiles: Mapping[str, Mapping[str, PrintedNumber]] = field(default_factory=dict)
    """Firmware settings that somebody's software writes, by its name: `lerobot`."""
    identified: Mapping[str, PublishedParameters] = field(default_factory=dict)

    @staticmethod
    def read(name: str | Path) -> Datasheet:
        """A part of the catalogue by name, or a TOML file."""
        from . import parts

        return parts.sheet(name)

    @staticmethod
    def parse(text: str, name: str = "datasheet") -> Datasheet:
        """A datasheet from TOML text; `name` stands in errors."""
        from .toml import parse

        return parse(text, name)

    def with_profile(self, name: str) -> Datasheet:
        """The same part with the firmware settings of a profile."""
        if name not in self.profiles:
            raise UnknownName(f"firmware profile of {self.name}", name, self.profiles)
        return replace(self, firmware={**self.firmware, **self.profiles[name]})

    def all(self, name: str) -> list[Entry]:
        return [e for e in self.entries if e.name == canonical(name)]

    def get(self, name: str, voltage: float | None = None) -> Entry | None:
        """The entry of that name, at the given voltage or nearest to the sheet's own."""
        at = self.voltage if voltage is None else voltage
        entries = self.all(name)
        return min(entries, key=lambda e: (e.kind == "assumed", abs((e.voltage or at) - at)), default=None)

    def value(self, name: str) -> float | None:
        """The number of that entry in SI; None where it is not printed."""
        entry = self.get(name)
        return None if entry is None else entry.value

    @functools.cached_property
    def reconciled(self) -> Reconciliation:
        """Constants with errors, derived quantities, findings and assumptions."""
        from .reconcile import reconcile

        return reconcile(self)

    def actuator(self, *, voltage: float | None = None, control: str | None = None) -> Actuator:
        """The actuator this sheet describes; `control` is 'voltage' (a motor's default), 'position' (a
        servo's), 'impedance' (an actuator's), 'current', 'torque' or 'velocity'."""
        from .suggest import actuator

        return actuator(self, voltage=voltage, control=control)

    def overview(self) -> Overview:
        rows = [(e.name, e.printed.text, e.value, e.side, e.voltage) for e in self.entries]
        title = f"{self.name} by {self.maker or 'an unnamed maker'}, {self.voltage:g} V"
        header = ("entry", "printed", "SI", "side", "at [V]")
        return Overview(title, header, rows, self.reconciled.findings)


def missing(sheet: Datasheet, what: str, remedy: str) -> MissingValue:
    return MissingValue(f"the sheet of {sheet.name} does not determine {what}; {remedy}")


@dataclass(frozen=True, kw_only=True)
class SolvedConstant:
    """A number with its standard error."""

    value: float
    error: float
    unit: str


@dataclass(frozen=True, kw_only=True)
class Residual:
    """A printed number against what the solved constants predict."""

    entry: Entry
    predicted: float
    """In the unit and at the side of the entry."""

    @property
    def ratio(self) -> float:
        return self.predicted / self.entry.value

    @property
    def within_rounding(self) -> bool:
        return abs(self.predicted - self.entry.value) <= self.entry.half * 1.0001


@dataclass(frozen=True, kw_only=True)
class Reconciliation:
    """What follows from a sheet. Constants are at the rotor, unless the sheet knows no gear ratio;
    then all is at the output."""

    constants: Mapping[str, SolvedConstant]
    derived: Mapping[str, SolvedConstant]
    residuals: tuple[Residual, ...]
    findings: tuple[Finding, ...]
    assumed: tuple[str, ...]
    geared: bool
    covariance: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    """Of the constants' logarithms, in their order."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Every unknown, also those the sheet leaves open."""
    extra: Mapping[str, float] = field(default_factory=dict)
    """What else the equations need: the nominal current, and whether stall torque is printed after friction.
    """
    thermal: Mapping[str, float] = field(default_factory=dict)
    left_out: tuple[Entry, ...] = ()
    """Entries that the rest of the sheet contradicts; the constants stand without them."""
    alternatives: tuple[Entry, ...] = ()
    """Entries that would explain the contradiction as well, and were kept."""
    unused: tuple[str, ...] = ()
    """What is printed and no part of the model uses, with the reason where there is one."""
