"""Gains and physics, both ways: what a motor's gains tell of the mechanism, and what gains to expect before
anything is built; and constants for WPILib robot programs, ready to paste: Java, C++ and Python.

The gearbox and SysId equations, corrected: friction at the output counts once, and kS does not grow with the
gear ratio.
"""

from __future__ import annotations

import math
import re
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


PLAUSIBLE = {
    "drivetrain": (15.0, 75.0),
    "elevator": (1.0, 40.0),
    "arm": (1e-3, 20.0),
    "flywheel": (1e-5, 0.1),
}
"""Masses [kg] and inertias [kg m^2] at the output that robots have: 52 kg without battery and bumpers is the
most that the game manual allows (2025, R103); the others are what fits on one."""


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
    plausible: tuple[float, float] | None = None
    """Between what such a mechanism's inertia is; None where nothing is known of it."""

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
    linear = UNITS[measured.units][1] in LENGTHS
    usual = _plausible(measured.mechanism, linear)
    findings += _compare_inertia(back.inertia, rotors, usual, "kg" if linear else "kg m^2")
    kG = values.get("kG")
    return Physics(
        inertia=back.inertia,
        friction=None if kS is None else back.friction,
        viscous=back.viscous,
        gravity=None if kG is None else kG * per_input,
        resistance=resistance,
        predicted=predicted,
        findings=tuple(findings),
        linear=linear,
        plausible=usual,
    )


def _plausible(mechanism: str, linear: bool) -> tuple[float, float] | None:
    """Between what such a mechanism's mass or inertia is, where it is of its usual kind."""
    slides = mechanism in ("drivetrain", "elevator")
    return PLAUSIBLE.get(mechanism) if slides == linear else None


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


def _compare_inertia(
    inertia: float, rotors: float, usual: tuple[float, float] | None, unit: str
) -> Iterator[Finding]:
    """A mechanism that would be lighter than its own rotors, both at the output, or of no size that robots
    have."""
    check = "check the motor, the gear ratio and the unit of velocity"
    if inertia < rotors:
        text = (
            f"the gains give an inertia of {inertia:.3g}, less than that of the rotors alone, {rotors:.3g}."
        )
        yield finding("inertia_low", text, check)
    elif usual is not None and not usual[0] <= inertia <= usual[1]:
        text = (
            f"the gains give {inertia:.3g} {unit} at the output; {usual[0]:g} to {usual[1]:g} is plausible."
        )
        yield finding("inertia_implausible", text, f"{check}, and the diameter of wheel or drum")


class Language(NamedTuple):
    """How robot programs in a language are written; what is in braces is filled for season and mechanism."""

    mark: str
    """Begins a comment."""
    statement: str
    feedforward: str
    plant: Mapping[str, str]
    """How WPILib makes a plant, by season (docs.wpilib.org, physics simulation)."""
    places: Mapping[str, Mapping[str, str]]
    """Where WPILib keeps its classes, by season (2027: alpha 7 of github.com/wpilibsuite/allwpilib)."""
    imports: str
    """Line that makes the feedforward's class known."""
    head: tuple[str, ...] = ()
    indent: str = ""
    tail: tuple[str, ...] = ()


SEASONS = ("2026", "2027")
LANGUAGES = {
    "java": Language(
        mark="//",
        imports="import {math}.controller.{kind};",
        head=("public final class Constants {",),
        indent="  ",
        statement="public static final double {name} = {value};",
        tail=("}",),
        feedforward="public static final {kind} kFeedforward =\n      new {kind}({gains});",
        plant={
            "2026": "LinearSystemId.create{kind}System(DCMotor.get{motor}({n}), {arguments});",
            "2027": "Models.{lower}FromPhysicalConstants(DCMotor.get{motor}({n}), {arguments});",
        },
        places={"2026": {"math": "edu.wpi.first.math"}, "2027": {"math": "org.wpilib.math"}},
    ),
    "c++": Language(
        mark="//",
        imports="#include <{folder}/controller/{kind}.{h}>",
        head=("namespace constants {{", "using namespace {units}::literals;"),
        statement="inline constexpr auto {name} = {value}{literal};",
        tail=("}  // namespace constants",),
        feedforward="inline const {math}::{kind}{motion}\n    kFeedforward{{{gains}}};",
        plant={
            "2026": "frc::LinearSystemId::{kind}System(frc::DCMotor::{motor}({n}), {arguments});",
            "2027": "wpi::math::Models::{kind}FromPhysicalConstants(wpi::math::DCMotor::{motor}({n}),"
            " {arguments});",
        },
        places={
            "2026": {"math": "frc", "folder": "frc", "units": "units", "of_units": "units", "h": "h"},
            "2027": {"math": "wpi::math", "folder": "wpi/math", "units": "wpi::units", "h": "hpp"}
            | {"of_units": "wpi/units"},
        },
    ),
    "python": Language(
        mark="#",
        imports="from {math} import {kind}{meters}",
        statement="{name} = {value}",
        feedforward="kFeedforward = {kind}{meters}({gains})",
        plant={
            "2026": "LinearSystemId.{lower}System(DCMotor.{motor}({n}), {arguments})",
            "2027": "Models.{snake}_from_physical_constants(DCMotor.{motor_snake}({n}), {arguments})",
        },
        places={
            "2026": {"math": "wpimath.controller", "of_distance": "Meters"},
            "2027": {"math": "wpimath", "of_distance": ""},
        },
    ),
}
_LITERALS = {
    "V": ("V", "voltage"),
    "A": ("A", "current"),
    "rad": ("rad", "angle"),
    "rot": ("tr", "angle"),
    "deg": ("deg", "angle"),
    "m": ("m", "length"),
    "ft": ("ft", "length"),
    "in": ("in", "length"),
    "kg": ("kg", "mass"),
    "kg m^2": ("kg_sq_m", "moment_of_inertia"),
}
"""Units as C++ spells one of them, and the header that has it."""
_RATE = re.compile(r"^(V|A)/\((\w+)/s(\^2)?\)$")
"""A unit of kV or kA."""
_CLASSES = {
    "simple": "SimpleMotorFeedforward",
    "flywheel": "SimpleMotorFeedforward",
    "drivetrain": "SimpleMotorFeedforward",
    "elevator": "ElevatorFeedforward",
    "arm": "ArmFeedforward",
}
_SIZES = {short: (size, name) for name, (size, short) in UNITS.items()}
_DIGITS = 10
"""So many that a voltage is that of the gains to 1e-9."""
_WIDTH = 77
"""Columns of a terminal, less a mark of comment."""


class ConstantRow(NamedTuple):
    """One constant."""

    name: str
    value: float | None
    unit: str = ""
    about: str = ""


def constants(
    gains: Mapping[str, float | None],
    *,
    mechanism: str = "simple",
    language: str = "java",
    season: str = SEASONS[0],
    units: Mapping[str, str] | None = None,
    feedback: Mapping[str, Mapping[str, float]] | None = None,
    controller: str = "wpilib",
    simulation: Mapping[str, tuple[float, str]] | None = None,
    motor: str = "",
    n_motors: int = 1,
    notes: str = "",
) -> str:
    """Constants for a robot program, to paste: the gains in the unit that WPILib takes, and its object.

    Args:
        gains: by name; one that is None was not determined, and becomes a comment, never a number.
        mechanism: simple, flywheel, elevator, arm or drivetrain. An arm's are written in radians, whatever
            they were in, for that is what its class takes.
        language: java, c++ or python.
        season: of WPILib, 2026 or 2027, whose packages have other names.
        units: of the gains, by name; volts and radians without them.
        feedback: gains by loop, {"velocity": {"kP": ...}}.
        controller: what they are for; those for WPILib's own are in the unit of the feedforward.
        simulation: what WPILib's simulations take, with units, {"inertia": (1.2, "kg m^2")}; at the output.
        motor: the catalogue's name of what drives it.
        n_motors: how many of them.
        notes: lines of comment at the beginning.

    Returns:
        The source text.

    Raises:
        UnknownName: there is no such language, season or mechanism.
        MissingValue: none of the gains is determined.
    """
    _check_names(gains, mechanism, language, season)
    simulation, written = simulation or {}, LANGUAGES[language]
    rows, distance = _gain_rows(gains, units or {}, mechanism, feedback or {}, controller)
    rows += [ConstantRow(f"k_{name}", value, unit) for name, (value, unit) in simulation.items()]
    known = {"kind": _CLASSES[mechanism], "gains": "", "motion": "", "meters": "", **written.places[season]}
    notes_of, made = _object(rows, mechanism, written, known, distance)
    plant = _plant(simulation, mechanism, motor, n_motors, language, season)
    comments = [
        *notes.splitlines(),
        f"WPILib {season}{'' if season == SEASONS[0] else ' (alpha)'}",
        *notes_of,
    ]
    body = [*_constant_lines(rows, written), *(written.indent + made if made else "").splitlines()]
    body += [f"{written.indent}{written.mark} {line}".rstrip() for line in plant]
    head = [line.format(**known) if language == "c++" else line for line in written.head]
    lines = [f"{written.mark} {line}" for text in comments for line in textwrap.wrap(text, _WIDTH)]
    lines += _imports(rows, written, known, language, bool(made))
    return "\n".join([*lines, *head, *body, *written.tail]) + "\n"


def _check_names(gains: Mapping[str, float | None], mechanism: str, language: str, season: str) -> None:
    for kind, given, valid in (
        ("language", language, LANGUAGES),
        ("mechanism", mechanism, _CLASSES),
        ("season", season, SEASONS),
    ):
        if given not in valid:
            raise UnknownName(kind, given, valid)
    if set(gains.values()) <= {None}:
        raise MissingValue("none of the gains is determined, so that there is nothing to write")


def _gain_rows(
    gains: Mapping[str, float | None],
    units: Mapping[str, str],
    mechanism: str,
    feedback: Mapping[str, Mapping[str, float]],
    controller: str,
) -> tuple[list[ConstantRow], str]:
    """(gains of feedforward and loops, the unit of distance that they are in): radians for an arm."""
    usual = {"kV": "V/(rad/s)", "kA": "V/(rad/s^2)", "offset": "rad"}
    told = {name: units.get(name) or usual.get(name, "V") for name in gains}
    match = _RATE.match(told.get("kV", ""))
    distance = match[2] if match else "rad"
    size, distance = (_SIZES[distance][0], "rad") if mechanism == "arm" else (1.0, distance)
    rows = [_gain_row(name, value, told[name], size) for name, value in gains.items()]
    return rows + _loop_rows(feedback, controller, distance, size), distance


def _gain_row(name: str, value: float | None, unit: str, size: float) -> ConstantRow:
    """A gain, in radians where they were of another size."""
    match = _RATE.match(unit)
    if match and size != 1.0:
        value, unit = None if value is None else value / size, f"{match[1]}/(rad/s{match[3] or ''})"
    if name == "offset":
        return ConstantRow("k_offset", value, unit, "to be added to the measured angle: 0 is horizontal")
    return ConstantRow(name, value, unit)


def _loop_rows(
    feedback: Mapping[str, Mapping[str, float]], controller: str, distance: str, size: float
) -> list[ConstantRow]:
    """Gains of the loops, without those that are 0."""
    own = controller == "wpilib"

    def about(loop: str, name: str) -> str:
        if not own or not loop.startswith(("position", "velocity")):
            return f"{loop} loop" if own else f"{loop} loop, as {controller} counts"
        of = "rad" if loop.endswith("_angular") else distance
        return f"{loop} loop, per {of}{'' if name == 'kP' and loop.startswith('position') else '/s'}"

    return [
        ConstantRow(f"{name}{loop.capitalize()}", value / size if own else value, "", about(loop, name))
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
    simulation: Mapping[str, object], mechanism: str, motor: str, n_motors: int, language: str, season: str
) -> list[str]:
    """How WPILib simulates it, and what it leaves out; nothing where it has no such motor."""
    kind = _KINDS.get(mechanism)
    needs = ("inertia", "radius", "gearing") if kind == "Elevator" else ("inertia", "gearing")
    if not set(needs) <= set(simulation) or kind is None or motor not in _MOTORS:
        return []
    known: dict[str, Any] = {"kind": kind, "lower": kind[0].lower() + kind[1:], "n": n_motors}
    known["motor"] = _MOTORS[motor][[*LANGUAGES].index(language)]
    known |= {"snake": _snake(kind), "motor_snake": _snake(known["motor"])}
    known["arguments"] = ", ".join(_camel(f"k_{name}") for name in needs)
    call = LANGUAGES[language].plant[season].format(**known)
    return ["simulation; friction is not in it:", *_break_call(call)]


def _break_call(call: str) -> list[str]:
    """A call in lines that fit a terminal behind a mark of comment."""
    if len(call) <= _WIDTH - 2:
        return [call]
    at = min((call.index(mark) for mark in "({" if mark in call), default=len(call) - 1) + 1
    how: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    inside = textwrap.wrap(call[at:], _WIDTH - 6, **how)
    return [call[:at], *(f"    {line}" for line in inside)]


def _number(value: float) -> str:
    text = f"{value:.{_DIGITS}g}"
    return text if any(c in text for c in ".en") else f"{text}.0"


def _snake(name: str) -> str:
    """As Python of 2027 spells functions: krakenX60FOC is kraken_x60_foc."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _literal(unit: str) -> tuple[str, list[str]]:
    """(what stands behind a number of this unit in C++, headers that have it); a plain number where it is no
    unit of WPILib's."""
    match = _RATE.match(unit)
    if match and match[2] in _LITERALS:
        (effort, of_effort), (one, of_one) = _LITERALS[match[1]], _LITERALS[match[2]]
        return f"_{effort} * 1_s{' * 1_s' if match[3] else ''} / 1_{one}", [of_one, "time", of_effort]
    if unit in _LITERALS:
        return f"_{_LITERALS[unit][0]}", [_LITERALS[unit][1]]
    return "", []


def _constant_lines(rows: list[ConstantRow], written: Language) -> list[str]:
    """One line a constant, what it is as a comment behind it, or before it where that is long."""
    lines: list[str] = []
    for name, value, unit, about in rows:
        line = f"{written.mark} {_camel(name)}: not determined"
        word = "; ".join(word for word in (unit, about) if word)
        if value is not None:
            typed = {"name": _camel(name), "value": _number(value), "literal": _literal(unit)[0]}
            line = written.statement.format(**typed)
            whole = f"{written.indent}{line}  {written.mark} {word}"
            if word and len(whole) > _WIDTH + 3:
                lines.append(f"{written.indent}{written.mark} {word}")
            elif word:
                line = whole.strip()
        lines.append(written.indent + line)
    return lines


def _object(
    rows: list[ConstantRow], mechanism: str, written: Language, known: dict[str, str], distance: str
) -> tuple[list[str], str]:
    """(what is said of its units, the feedforward object): no object where one of its gains is not known, or
    where its class cannot take them."""
    order = ("kS", "kG", "kV", "kA") if mechanism in ("elevator", "arm") else ("kS", "kV", "kA")
    values = {row.name: row for row in rows if row.value is not None}
    kind, unit = known["kind"], _SIZES[distance][1]
    if not set(order) <= set(values):
        return [], ""
    if values["kS"].unit == "A":
        amperes = "these gains are in amperes, for a controller of torque current, and WPILib's feedforwards"
        return [f"{amperes} take volts: kS sgn(v) + kV v + kA a in {unit}"], ""
    if kind == "ElevatorFeedforward" and "units" in known and distance not in LENGTHS:
        return [f"{kind} takes metres, and these gains are in {unit}: give the drum's diameter"], ""
    known |= {"gains": ", ".join(order)}
    if kind == "SimpleMotorFeedforward":
        spelled = {"rot": "turns"}.get(distance, unit)
        known |= {"motion": f"<{known.get('units', '')}::{spelled}>", "meters": known.get("of_distance", "")}
    takes = f"kFeedforward takes {unit} and {unit} per second"
    return [f"{takes}; at 0 the arm is horizontal" if mechanism == "arm" else takes], (
        written.feedforward.format(**known)
    )


def _imports(
    rows: list[ConstantRow], written: Language, known: dict[str, str], language: str, with_object: bool
) -> list[str]:
    """The lines that make classes and units known."""
    lines = [written.imports.format(**known)] if with_object else []
    if language == "c++":
        headers = sorted({h for row in rows if row.value is not None for h in _literal(row.unit)[1]})
        lines += [f"#include <{known['of_units']}/{header}.{known['h']}>" for header in headers]
        lines = ["#pragma once", "", *lines]
    return [*lines, ""] if lines else []
