"""Constants for WPILib robot programs, ready to paste: Java, C++ and Python."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import MissingValue, UnknownName

LANGUAGES = ("java", "c++", "python")
_CLASSES = {
    "simple": "SimpleMotorFeedforward",
    "drivetrain": "SimpleMotorFeedforward",
    "elevator": "ElevatorFeedforward",
    "arm": "ArmFeedforward",
}
_DIGITS = 6
Row = tuple[str, float | None, str]
"""(name, value, unit) of a gain."""


def constants(
    gains: Mapping[str, float | None],
    *,
    mechanism: str = "simple",
    language: str = "java",
    units: Mapping[str, str] | None = None,
    feedback: Mapping[str, Mapping[str, float]] | None = None,
    notes: str = "",
) -> str:
    """Source text with the gains, their units as comments, the feedforward object, and feedback gains by loop
    ({"velocity": {"kP": ...}}).

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
    mark = "#" if language == "python" else "//"
    lines = {"java": _java, "c++": _cpp, "python": _python}[language](rows, mechanism)
    return "\n".join([*(f"{mark} {line}" for line in notes.splitlines()), *lines]) + "\n"


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
        lines.append(f"// {kind} feedforward = new {kind}({gains});")
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
        lines.append(f"// frc::{kind}{template} feedforward{{{gains}}};")
    return lines


def _python(rows: list[Row], mechanism: str) -> list[str]:
    lines = _lines(rows, "#", "{name} = {value}")
    if _has_object(rows, mechanism):
        kind = _CLASSES[mechanism].replace("MotorFeedforward", "MotorFeedforwardMeters")
        lines.append(f"# feedforward = wpimath.controller.{kind}({', '.join(_order(mechanism))})")
    return lines
