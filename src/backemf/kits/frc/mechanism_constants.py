"""Gains and physics, both ways: what a motor's gains tell of the mechanism, and what gains to expect before
anything is built; and constants for WPILib robot programs, ready to paste: Java, C++ and Python.

The gearbox and SysId equations, corrected: friction at the output counts once, and kS does not grow with the
gear ratio.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...analysis import conversion
from ...analysis.feedforward import gear_motors
from ...errors import MissingValue, UnknownName
from ...findings import Finding, finding
from ...physics.actuator import Actuator
from ...physics.friction import Coulomb
from ...physics.motor import Motor
from ...physics.steady import Feedforward
from .characterize import LENGTHS, UNITS, Characterization

_SLIPS = {
    "rotations read as radians": 2 * math.pi,
    "radians read as rotations": 1 / (2 * math.pi),
    "degrees read as radians": math.pi / 180,
    "velocity per minute, not per second": 1 / 60,
    "rotations per minute read as radians per second": 2 * math.pi / 60,
}
"""Wrong units, and the factor by which kV is off."""


ROTARY = {
    "inertia": "kg m^2",
    "friction": "N m",
    "viscous": "N m s/rad",
    "gravity": "N m",
    "resistance": "ohm",
}
LINEAR = {"inertia": "kg", "friction": "N", "viscous": "N s/m", "gravity": "N", "resistance": "ohm"}
"""What stands behind the gains of a mechanism, with its unit."""


@dataclass(frozen=True, kw_only=True)
class Physics:
    """The mechanism behind measured gains, beside the prediction of its motor."""

    inertia: float | None
    """Total at the output, rotors included [kg m^2, or kg on a linear axis]."""
    friction: float | None
    """Coulomb torque at the output [N m, or N]."""
    viscous: float | None
    """At the output [N m s/rad, or N s/m]."""
    gravity: float | None
    """Torque of gravity at the output, where kG was measured [N m, or N]."""
    resistance: float | None
    """Effective: of motor, leads and supply together, where the inertia is known [ohm]."""
    predicted: Mapping[str, float]
    """Gains of the motor alone: kV of its back-EMF; and the others where the mechanism is known."""
    findings: tuple[Finding, ...]
    linear: bool = False
    """Whether it slides: then forces and masses."""

    @property
    def units(self) -> dict[str, str]:
        """Of what is behind the gains, by name."""
        return LINEAR if self.linear else ROTARY


def motor_named(motor: str | Motor) -> Motor:
    """A motor, or that of a part in the catalogue."""
    if isinstance(motor, Motor):
        return motor
    from ...datasheets.parts import sheet

    return sheet(motor).actuator().motor


def theoretical(
    motor: str | Motor,
    *,
    ratio: float,
    inertia: float,
    n_motors: int = 1,
    control: str = "voltage",
    motor_friction: float = 0.0,
    output_friction: float = 0.0,
    viscous: float = 0.0,
    units: str = "radians",
) -> Feedforward:
    """Gains to expect of a mechanism: `inertia` of the load at the output; the rotors' own is added. On a
    linear axis ratio is rotor radians per metre."""
    actuator = Actuator(motor=motor_named(motor), friction=Coulomb(coulomb=motor_friction))
    gains = conversion.gains(
        actuator,
        ratio=ratio,
        inertia=inertia,
        n_motors=n_motors,
        control=control,
        friction=output_friction,
        viscous=viscous,
    )
    size = UNITS[units][0]
    return Feedforward(gains.kS, gains.kV * size, gains.kA * size)


def physics(
    measured: Characterization,
    motor: str | Motor,
    *,
    ratio: float,
    n_motors: int = 1,
    inertia: float | None = None,
) -> Physics:
    """Back out the mechanism from its gains. `inertia`, where known (at the output, rotors included),
    gives the effective resistance."""
    m = motor_named(motor)
    line, rotors = gear_motors(Actuator(motor=m), ratio, n_motors)
    size = UNITS[measured.units][0]
    values = {name: gain.value for name, gain in measured.gains.items()}
    kS, kV, kA = values.get("kS"), values.get("kV"), values.get("kA")
    if kV is None or kA is None:
        raise MissingValue("the mechanism needs kV and kA; these tests do not determine both")
    gains = Feedforward(kS or 0.0, kV / size, kA / size)
    findings: list[Finding] = []
    resistance = None
    predicted: dict[str, float] = {}
    if measured.control == "voltage":
        back = line.behind_voltage(gains)
        per_input = line.torque_per_volt
        predicted["kV"] = line.K_e * size
        findings += _compare(kV, predicted["kV"], measured)
        if inertia is not None:
            resistance = gains.kA * line.K_t / inertia
            if resistance > 1.5 * m.resistance:
                own = f"the motor's own {m.resistance:.3g} ohm"
                text = f"the effective resistance is {resistance:.3g} ohm, {own}."
                remedy = "look at leads, connectors and current limits, or at the inertia that was given"
                findings.append(finding("resistance_high", text, remedy))
    else:
        back = line.behind_current(gains)
        per_input = line.K_t
        predicted["kV"] = 0.0
    if inertia is not None:
        same = line.voltage_gains(inertia) if measured.control == "voltage" else line.current_gains(inertia)
        predicted["kA"] = same.kA * size
    if back.inertia < rotors:
        least = f"that of the rotors alone, {rotors:.3g}"
        text = f"the gains give an inertia of {back.inertia:.3g}, less than {least}."
        remedy = "check the motor, the gear ratio and the unit of velocity"
        findings.append(finding("inertia_low", text, remedy))
    kG = values.get("kG")
    return Physics(
        inertia=back.inertia,
        friction=None if kS is None else back.friction,
        viscous=back.viscous,
        gravity=None if kG is None else kG * per_input,
        resistance=resistance,
        predicted=predicted,
        findings=tuple(findings),
        linear=UNITS[measured.units][1] in LENGTHS,
    )


def _compare(kV: float, predicted: float, measured: Characterization) -> list[Finding]:
    """kV is back-EMF and what viscous friction adds: a little more than the catalogue's, never less."""
    ratio = kV / predicted
    if 0.85 < ratio < 1.3:
        return []
    near = min(_SLIPS, key=lambda name: abs(math.log(abs(ratio) / _SLIPS[name])) if ratio else math.inf)
    slip = ratio > 0 and abs(math.log(ratio / _SLIPS[near])) < 0.2
    unit = measured.gains["kV"].unit
    text = f"kV is {kV:.4g} {unit}, {ratio:.3g} times what motor and gearing predict ({predicted:.4g})" + (
        f": as {near} gives." if slip else "."
    )
    if slip:
        return [finding("units_suspect", text, "check the encoder's conversion factor", ratio=ratio)]
    remedy = (
        "check the gear ratio, the number of motors and which motor it is; much viscous friction also raises"
        " kV"
    )
    return [finding("kV_unexpected", text, remedy, ratio=ratio)]


LANGUAGES = ("java", "c++", "python")
_CLASSES = {
    "simple": "SimpleMotorFeedforward",
    "flywheel": "SimpleMotorFeedforward",
    "drivetrain": "SimpleMotorFeedforward",
    "elevator": "ElevatorFeedforward",
    "arm": "ArmFeedforward",
}
_DIGITS = 6
_WIDTH = 77
"""Columns of a terminal, less a mark of comment."""
Row = tuple[str, float | None, str]
"""(name, value, unit) of a gain."""


def constants(
    gains: Mapping[str, float | None],
    *,
    mechanism: str = "simple",
    language: str = "java",
    units: Mapping[str, str] | None = None,
    feedback: Mapping[str, Mapping[str, float]] | None = None,
    simulation: Mapping[str, tuple[float, str]] | None = None,
    motor: str = "",
    n_motors: int = 1,
    notes: str = "",
) -> str:
    """Source text with the gains, their units as comments, the feedforward object, and feedback gains by loop
    ({"velocity": {"kP": ...}}). `simulation` holds what WPILib's simulations take ({"inertia": (1.2, "kg
    m^2")}), and `motor` is the catalogue's name of what drives it.

    A gain that is None was not determined: it becomes a comment, never a number.
    """
    for kind, given, valid in (("language", language, LANGUAGES), ("mechanism", mechanism, _CLASSES)):
        if given not in valid:
            raise UnknownName(kind, given, valid)
    if set(gains.values()) <= {None}:
        raise MissingValue("none of the gains is determined, so that there is nothing to write")
    simulation = simulation or {}
    rows = _constant_rows(gains, units or {}, feedback or {}, simulation)
    mark = "#" if language == "python" else "//"
    lines = {"java": _java, "c++": _cpp, "python": _python}[language](rows, mechanism)
    plant = _plant(simulation, mechanism, motor, n_motors, language)
    lines += [f"{mark} {line}".rstrip() for line in plant]
    return "\n".join([*(f"{mark} {line}" for line in notes.splitlines()), *lines]) + "\n"


def _constant_rows(
    gains: Mapping[str, float | None],
    units: Mapping[str, str],
    feedback: Mapping[str, Mapping[str, float]],
    simulation: Mapping[str, tuple[float, str]],
) -> list[Row]:
    """Names, values and units: of the gains, of the loops, and of what a simulation takes."""
    rows: list[Row] = [(name, value, units.get(name, "")) for name, value in gains.items()]
    loops = [(loop, name, value) for loop, some in feedback.items() for name, value in some.items()]
    rows += [(f"{name}{loop.capitalize()}", value, f"{loop} loop") for loop, name, value in loops if value]
    return rows + [(f"k_{name}", value, unit) for name, (value, unit) in simulation.items()]


_PLANTS = {
    "java": (
        "LinearSystemId.create{kind}System(DCMotor.get{motor}({n}), Constants.kInertia, {radius}",
        "Constants.kGearing);",
    ),
    "c++": (
        "frc::LinearSystemId::{kind}System(frc::DCMotor::{motor}({n}), constants::kInertia * {unit},"
        " {radius}",
        "constants::kGearing);",
    ),
    "python": ("LinearSystemId.{lower}System(DCMotor.{motor}({n}), kInertia, {radius}", "kGearing)"),
}
"""How WPILib makes a plant, up to the gearing (docs.wpilib.org, physics simulation)."""
_KINDS = {"arm": "SingleJointedArm", "elevator": "Elevator", "simple": "Flywheel", "flywheel": "Flywheel"}
_MOTORS = {
    "neo": ("NEO", "NEO", "NEO"),
    "neo-550": ("Neo550", "NEO550", "NEO550"),
    "neo-vortex": ("NeoVortex", "NeoVortex", "neoVortex"),
    "kraken-x60": ("KrakenX60", "KrakenX60", "krakenX60"),
    "kraken-x60-foc": ("KrakenX60Foc", "KrakenX60FOC", "krakenX60FOC"),
    "falcon-500": ("Falcon500", "Falcon500", "falcon500"),
    "falcon-500-foc": ("Falcon500Foc", "Falcon500FOC", "falcon500FOC"),
    "cim": ("CIM", "CIM", "CIM"),
    "mini-cim": ("MiniCIM", "MiniCIM", "miniCIM"),
    "775pro": ("Vex775Pro", "Vex775Pro", "vex775Pro"),
}
"""Names in WPILib's class DCMotor by those of the catalogue, for each of LANGUAGES."""


def _plant(
    simulation: Mapping[str, object], mechanism: str, motor: str, n_motors: int, language: str
) -> list[str]:
    """How WPILib simulates it, and what it leaves out; nothing where it has no such motor."""
    kind = _KINDS.get(mechanism)
    if "inertia" not in simulation or kind is None or motor not in _MOTORS:
        return []
    known: dict[str, Any] = {"kind": kind, "lower": kind[0].lower() + kind[1:], "n": n_motors}
    known["motor"] = _MOTORS[motor][LANGUAGES.index(language)]
    known["unit"] = "1_kg" if kind == "Elevator" else "1_kg_sq_m"
    known["radius"] = ("1_m, " if language == "c++" else "1.0, ") if kind == "Elevator" else ""
    head, last = _PLANTS[language]
    drum = " a drum of 1 m, for a gearing per metre;" if kind == "Elevator" else ""
    return ["", f"simulation:{drum} friction is not in it", *_break_call(head.format(**known) + last)]


def _break_call(call: str) -> list[str]:
    """A call in lines that fit a terminal behind a mark of comment."""
    if len(call) <= _WIDTH:
        return [call]
    at = min((call.index(mark) for mark in "({" if mark in call), default=len(call) - 1) + 1
    how: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    inside = textwrap.wrap(call[at:], _WIDTH - 4, **how)
    return [call[:at], *(f"    {line}" for line in inside)]


def _number(value: float) -> str:
    text = f"{value:.{_DIGITS}g}"
    return text if any(c in text for c in ".en") else f"{text}.0"


def _order(mechanism: str) -> tuple[str, ...]:
    """Arguments of the feedforward classes, in their order."""
    return ("kS", "kG", "kV", "kA") if mechanism in ("elevator", "arm") else ("kS", "kV", "kA")


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _has_object(rows: list[Row], mechanism: str) -> bool:
    known = {name for name, value, _ in rows if value is not None}
    return set(_order(mechanism)) <= known


def _distance(rows: list[Row]) -> tuple[str, str]:
    """The unit of distance that the gains are in, as C++ spells it: a type, and one of it."""
    unit = next((unit for name, _, unit in rows if name == "kV"), "")
    spelled = {
        "m": ("meters", "m"),
        "ft": ("feet", "ft"),
        "in": ("inches", "in"),
        "rot": ("turns", "tr"),
        "deg": ("degrees", "deg"),
    }
    kind, one = spelled.get(unit.partition("(")[2].partition("/")[0], ("radians", "rad"))
    return f"units::{kind}", f"1_{one}"


def _lines(rows: list[Row], mark: str, statement: str) -> list[str]:
    """One line a gain; `statement` has {name} and {value}, `mark` begins a comment."""
    return [
        f"{mark} {_camel(name)}: not determined"
        if value is None
        else statement.format(name=_camel(name), value=_number(value)) + (f"  {mark} {unit}" if unit else "")
        for name, value, unit in rows
    ]


def _java(rows: list[Row], mechanism: str) -> list[str]:
    inside = _lines(rows, "//", "public static final double {name} = {value};")
    lines = ["public final class Constants {", *(f"  {line}" for line in inside), "}"]
    if _has_object(rows, mechanism):
        kind = _CLASSES[mechanism]
        gains = ", ".join(f"Constants.{name}" for name in _order(mechanism))
        lines += [f"// {line}" for line in _break_call(f"{kind} feedforward = new {kind}({gains});")]
    return lines


def _cpp(rows: list[Row], mechanism: str) -> list[str]:
    lines = ["#pragma once", "", "namespace constants {"]
    lines += _lines(rows, "//", "inline constexpr double {name} = {value};")
    lines.append("}  // namespace constants")
    if _has_object(rows, mechanism):
        kind = _CLASSES[mechanism]
        motion, one = _distance(rows)
        scale = {"kS": "1_V", "kG": "1_V", "kV": f"1_V * 1_s / {one}", "kA": f"1_V * 1_s * 1_s / {one}"}
        template = f"<{motion}>" if kind == "SimpleMotorFeedforward" else ""
        gains = ", ".join(f"constants::{name} * {scale[name]}" for name in _order(mechanism))
        lines += [f"// {line}" for line in _break_call(f"frc::{kind}{template} feedforward{{{gains}}};")]
    return lines


def _python(rows: list[Row], mechanism: str) -> list[str]:
    lines = _lines(rows, "#", "{name} = {value}")
    if _has_object(rows, mechanism):
        kind = _CLASSES[mechanism].replace("MotorFeedforward", "MotorFeedforwardMeters")
        call = f"feedforward = wpimath.controller.{kind}({', '.join(_order(mechanism))})"
        lines += [f"# {line}" for line in _break_call(call)]
    return lines
