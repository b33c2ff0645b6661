"""Gains and physics, both ways: what a motor's gains tell of the mechanism, and what gains to expect before
anything is built; and constants for WPILib robot programs, ready to paste: Java, C++ and Python.

The gearbox and SysId equations, corrected: friction at the output counts once, and kS does not grow with the
gear ratio.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

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


ROTARY = {"inertia": "kg m^2", "friction": "N m", "viscous": "N m s/rad", "gravity": "N m"}
LINEAR = {"inertia": "kg", "friction": "N", "viscous": "N s/m", "gravity": "N"}
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
        return {**(LINEAR if self.linear else ROTARY), "resistance": "ohm"}


def _motor_named(motor: str | Motor) -> Motor:
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
    actuator = Actuator(motor=_motor_named(motor), friction=Coulomb(coulomb=motor_friction))
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
    """Back out the mechanism from its gains.

    Args:
        measured: the gains.
        motor: what drives it, or its name in the catalogue.
        ratio: rotor turns per output turn; rotor radians per metre on a linear axis.
        n_motors: how many of them.
        inertia: at the output, rotors included, where it is known: it gives the effective resistance
            [kg m^2, or kg].

    Returns:
        What is at the output, and what the motor alone predicts.

    Raises:
        MissingValue: where kV or kA is not determined.
    """
    m = _motor_named(motor)
    line, rotors = gear_motors(Actuator(motor=m), ratio, n_motors)
    size = UNITS[measured.units][0]
    values = {name: gain.value for name, gain in measured.gains.items()}
    kS, kV, kA = values.get("kS"), values.get("kV"), values.get("kA")
    if kV is None or kA is None:
        raise MissingValue("the mechanism needs kV and kA; these tests do not determine both")
    gains = Feedforward(kS or 0.0, kV / size, kA / size)
    volts, resistance = measured.control == "voltage", None
    back = line.behind_voltage(gains) if volts else line.behind_current(gains)
    per_input = line.torque_per_volt if volts else line.K_t
    predicted = {"kV": line.K_e * size if volts else 0.0}
    findings = _compare(kV, predicted["kV"], measured) if volts else []
    if inertia is not None:
        same = line.voltage_gains(inertia) if volts else line.current_gains(inertia)
        predicted["kA"] = same.kA * size
        if volts:
            resistance = gains.kA * line.K_t / inertia
            findings += _compare_resistance(resistance, m)
    findings += _compare_inertia(back.inertia, rotors)
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


def _compare_resistance(effective: float, motor: Motor) -> Iterator[Finding]:
    """Leads, connectors and current limits that add much to the winding."""
    if effective > 1.5 * motor.resistance:
        text = f"the effective resistance is {effective:.3g} ohm, the motor's own {motor.resistance:.3g} ohm."
        remedy = "look at leads, connectors and current limits, or at the inertia that was given"
        yield finding("resistance_high", text, remedy)


def _compare_inertia(inertia: float, rotors: float) -> Iterator[Finding]:
    """A mechanism that would be lighter than its own rotors, both at the output."""
    if inertia < rotors:
        text = (
            f"the gains give an inertia of {inertia:.3g}, less than that of the rotors alone, {rotors:.3g}."
        )
        yield finding("inertia_low", text, "check the motor, the gear ratio and the unit of velocity")


class Language(NamedTuple):
    """How robot programs in a language are written."""

    mark: str
    """Begins a comment."""
    statement: str
    gain: str
    """A gain as an argument."""
    feedforward: str
    plant: str
    """How WPILib makes a plant (docs.wpilib.org, physics simulation)."""
    head: tuple[str, ...] = ()
    indent: str = ""
    tail: tuple[str, ...] = ()


LANGUAGES = {
    "java": Language(
        mark="//",
        head=("public final class Constants {",),
        indent="  ",
        statement="public static final double {name} = {value};",
        tail=("}",),
        gain="Constants.{name}",
        feedforward="{kind} feedforward = new {kind}({gains});",
        plant="LinearSystemId.create{kind}System(DCMotor.get{motor}({n}), Constants.kInertia, {radius}"
        "Constants.kGearing);",
    ),
    "c++": Language(
        mark="//",
        head=("#pragma once", "", "namespace constants {"),
        statement="inline constexpr double {name} = {value};",
        tail=("}  // namespace constants",),
        gain="constants::{name} * {scale}",
        feedforward="frc::{kind}{motion} feedforward{{{gains}}};",
        plant="frc::LinearSystemId::{kind}System(frc::DCMotor::{motor}({n}), constants::kInertia * {unit},"
        " {radius}constants::kGearing);",
    ),
    "python": Language(
        mark="#",
        statement="{name} = {value}",
        gain="{name}",
        feedforward="feedforward = wpimath.controller.{kind}{meters}({gains})",
        plant="LinearSystemId.{lower}System(DCMotor.{motor}({n}), kInertia, {radius}kGearing)",
    ),
}
_DISTANCES = {
    "m": ("meters", "m"),
    "ft": ("feet", "ft"),
    "in": ("inches", "in"),
    "rot": ("turns", "tr"),
    "deg": ("degrees", "deg"),
}
"""Units of distance as C++ spells them: a type, and one of it."""
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
    """Constants for a robot program, to paste: the gains, their units as comments, the feedforward object.

    Args:
        gains: by name; one that is None was not determined, and becomes a comment, never a number.
        mechanism: simple, flywheel, elevator, arm or drivetrain.
        language: java, c++ or python.
        units: of the gains, by name.
        feedback: gains by loop, {"velocity": {"kP": ...}}.
        simulation: what WPILib's simulations take, with units, {"inertia": (1.2, "kg m^2")}; at the output.
        motor: the catalogue's name of what drives it.
        n_motors: how many of them.
        notes: lines of comment at the beginning.

    Returns:
        The source text.

    Raises:
        UnknownName: there is no such language or mechanism.
        MissingValue: none of the gains is determined.
    """
    for kind, given, valid in (("language", language, LANGUAGES), ("mechanism", mechanism, _CLASSES)):
        if given not in valid:
            raise UnknownName(kind, given, valid)
    if set(gains.values()) <= {None}:
        raise MissingValue("none of the gains is determined, so that there is nothing to write")
    units, simulation, written = units or {}, simulation or {}, LANGUAGES[language]
    rows: list[Row] = [(name, value, units.get(name, "")) for name, value in gains.items()]
    rows += _loop_rows(feedback or {})
    rows += [(f"k_{name}", value, unit) for name, (value, unit) in simulation.items()]
    comments = [*_object(rows, mechanism, written), *_plant(simulation, mechanism, motor, n_motors, language)]
    lines = [*_constant_lines(rows, written), *(f"{written.mark} {line}".rstrip() for line in comments)]
    return "\n".join([*(f"{written.mark} {line}" for line in notes.splitlines()), *lines]) + "\n"


def _loop_rows(feedback: Mapping[str, Mapping[str, float]]) -> list[Row]:
    """Gains of the loops, without those that are 0."""
    return [
        (f"{name}{loop.capitalize()}", value, f"{loop} loop")
        for loop, gains in feedback.items()
        for name, value in gains.items()
        if value
    ]


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
    known["motor"] = _MOTORS[motor][[*LANGUAGES].index(language)]
    known["unit"] = "1_kg" if kind == "Elevator" else "1_kg_sq_m"
    known["radius"] = ("1_m, " if language == "c++" else "1.0, ") if kind == "Elevator" else ""
    drum = " a drum of 1 m, for a gearing per metre;" if kind == "Elevator" else ""
    return [
        "",
        f"simulation:{drum} friction is not in it",
        *_break_call(LANGUAGES[language].plant.format(**known)),
    ]


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


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _constant_lines(rows: list[Row], written: Language) -> list[str]:
    """One line a gain, between the lines that a file begins and ends with."""
    lines = []
    for name, value, unit in rows:
        line = f"{written.mark} {_camel(name)}: not determined"
        if value is not None:
            line = written.statement.format(name=_camel(name), value=_number(value))
            line += f"  {written.mark} {unit}" if unit else ""
        lines.append(written.indent + line)
    return [*written.head, *lines, *written.tail]


def _object(rows: list[Row], mechanism: str, written: Language) -> list[str]:
    """The feedforward object; nothing where one of its gains is not known."""
    order = ("kS", "kG", "kV", "kA") if mechanism in ("elevator", "arm") else ("kS", "kV", "kA")
    if not set(order) <= {name for name, value, _ in rows if value is not None}:
        return []
    unit = next((unit for name, _, unit in rows if name == "kV"), "")
    motion, one = _DISTANCES.get(unit.partition("(")[2].partition("/")[0], ("radians", "rad"))
    scale = {"kS": "1_V", "kG": "1_V", "kV": f"1_V * 1_s / 1_{one}", "kA": f"1_V * 1_s * 1_s / 1_{one}"}
    gains = ", ".join(written.gain.format(name=name, scale=scale[name]) for name in order)
    known = {"kind": _CLASSES[mechanism], "gains": gains, "motion": "", "meters": ""}
    if known["kind"] == "SimpleMotorFeedforward":
        known |= {"motion": f"<units::{motion}>", "meters": "Meters"}
    return _break_call(written.feedforward.format(**known))
