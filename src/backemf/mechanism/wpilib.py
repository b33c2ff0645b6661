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
    rows: list[tuple[str, float | None, str]] = [
        (name, value, (units or {}).get(name, "")) for name, value in gains.items()
    ]
    for loop, some in (feedback or {}).items():
        rows += [
            (f"{name}{loop.capitalize()}", value, f"{loop} loop") for name, value in some.items() if value
        ]
    return {"java": _java, "c++": _cpp, "python": _python}[language](rows, mechanism, notes)


def _number(value: float) -> str:
    text = f"{value:.{_DIGITS}g}"
    return text if any(c in text for c in ".en") else f"{text}.0"


def _order(mechanism: str) -> tuple[str, ...]:
    """Arguments of the feedforward classes, in their order."""
    return ("kS", "kG", "kV", "kA") if mechanism in ("elevator", "arm") else ("kS", "kV", "kA")


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _has_object(rows: list[tuple[str, float | None, str]], mechanism: str) -> bool:
    known = {name for name, value, _ in rows if value is not None}
    return set(_order(mechanism)) <= known


def _distance(rows: list[tuple[str, float | None, str]]) -> tuple[str, str]:
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


def _java(rows: list[tuple[str, float | None, str]], mechanism: str, notes: str) -> str:
    lines = [f"// {line}" for line in notes.splitlines()]
    lines.append("public final class Constants {")
    for name, value, unit in rows:
        comment = f"  // {unit}" if unit else ""
        lines.append(
            f"  // {_camel(name)}: not determined"
            if value is None
            else f"  public static final double {_camel(name)} = {_number(value)};{comment}"
        )
    lines.append("}")
    if _has_object(rows, mechanism):
        kind = _CLASSES[mechanism]
        lines.append(
            f"// {kind} feedforward = new"
            f" {kind}({', '.join(f'Constants.{name}' for name in _order(mechanism))});"
        )
    return "\n".join(lines) + "\n"


def _cpp(rows: list[tuple[str, float | None, str]], mechanism: str, notes: str) -> str:
    lines = [f"// {line}" for line in notes.splitlines()]
    lines += ["#pragma once", "", "namespace constants {"]
    for name, value, unit in rows:
        comment = f"  // {unit}" if unit else ""
        lines.append(
            f"// {_camel(name)}: not determined"
            if value is None
            else f"inline constexpr double {_camel(name)} = {_number(value)};{comment}"
        )
    lines.append("}  // namespace constants")
    if _has_object(rows, mechanism):
        kind = _CLASSES[mechanism]
        motion, one = _distance(rows)
        scale = {"kS": "1_V", "kG": "1_V", "kV": f"1_V * 1_s / {one}", "kA": f"1_V * 1_s * 1_s / {one}"}
        template = f"<{motion}>" if kind == "SimpleMotorFeedforward" else ""
        gains = ", ".join(f"constants::{name} * {scale[name]}" for name in _order(mechanism))
        lines.append(f"// frc::{kind}{template} feedforward{{{gains}}};")
    return "\n".join(lines) + "\n"


def _python(rows: list[tuple[str, float | None, str]], mechanism: str, notes: str) -> str:
    lines = [f"# {line}" for line in notes.splitlines()]
    for name, value, unit in rows:
        comment = f"  # {unit}" if unit else ""
        lines.append(
            f"# {_camel(name)}: not determined"
            if value is None
            else f"{_camel(name)} = {_number(value)}{comment}"
        )
    if _has_object(rows, mechanism):
        module = {"simple": "SimpleMotorFeedforwardMeters", "drivetrain": "SimpleMotorFeedforwardMeters"}.get(
            mechanism, _CLASSES[mechanism]
        )
        lines.append(f"# feedforward = wpimath.controller.{module}({', '.join(_order(mechanism))})")
    return "\n".join(lines) + "\n"
