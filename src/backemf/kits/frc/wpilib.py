"""Constants for WPILib robot programs, ready to paste: Java, C++ and Python."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from ...errors import MissingValue, UnknownName

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
    if language not in LANGUAGES:
        raise UnknownName("language", language, LANGUAGES)
    if mechanism not in _CLASSES:
        raise UnknownName("mechanism", mechanism, _CLASSES)
    if not any(value is not None for value in gains.values()):
        raise MissingValue("none of the gains is determined, so that there is nothing to write")
    rows: list[Row] = [(name, value, (units or {}).get(name, "")) for name, value in gains.items()]
    for loop, some in (feedback or {}).items():
        rows += [
            (f"{name}{loop.capitalize()}", value, f"{loop} loop") for name, value in some.items() if value
        ]
    rows += [(f"k_{name}", value, unit) for name, (value, unit) in (simulation or {}).items()]
    mark = "#" if language == "python" else "//"
    lines = {"java": _java, "c++": _cpp, "python": _python}[language](rows, mechanism)
    plant = _plant(simulation or {}, mechanism, motor, n_motors, language)
    lines += [f"{mark} {line}".rstrip() for line in plant]
    return "\n".join([*(f"{mark} {line}" for line in notes.splitlines()), *lines]) + "\n"


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
    return ["", f"simulation:{drum} friction is not in it", *_broken(head.format(**known) + last)]


def _broken(call: str) -> list[str]:
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
        lines += [f"// {line}" for line in _broken(f"{kind} feedforward = new {kind}({gains});")]
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
        lines += [f"// {line}" for line in _broken(f"frc::{kind}{template} feedforward{{{gains}}};")]
    return lines


def _python(rows: list[Row], mechanism: str) -> list[str]:
    lines = _lines(rows, "#", "{name} = {value}")
    if _has_object(rows, mechanism):
        kind = _CLASSES[mechanism].replace("MotorFeedforward", "MotorFeedforwardMeters")
        call = f"feedforward = wpimath.controller.{kind}({', '.join(_order(mechanism))})"
        lines += [f"# {line}" for line in _broken(call)]
    return lines
