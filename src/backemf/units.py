"""Foreign units at the edge: text such as "330 rpm", "30 kg cm" or "0,18 s/60deg" becomes SI with its printed
rounding.

The only file that knows rpm, kilogram-centimetres and seconds per 60 degrees; pint does the dimensions.
"""

from __future__ import annotations

import difflib
import functools
import math
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from .errors import BackemfError

GRAVITY = 9.80665
"""Standard gravity [m/s^2] (CGPM 1901): what turns the kilogram of "kg cm" into a force."""

_SPELLINGS = """
    rpm rev/min rpm/V rad/s deg/s deg/ms s/60deg
    kg*cm kgf*cm g*cm oz*in N*m mN*m N*cm N*mm mN*m/A N*m/A oz*in/A V/rpm V*s/rad mV/rpm V/krpm
    g*cm^2 kg*cm^2 kg*m^2 oz*in*s^2 arcmin deg rad mH uH H ohm mohm K/W J/K rpm/(mN*m)
    mm/rev ms s min A mA V mV W degC g kg % 1/K %/K rad/(s*V) N*m*s/rad N mm cm m
"""
KNOWN = tuple(_SPELLINGS.split())
"""Spellings offered when a unit is not understood; `*` and a space are the same."""

_SIGNS = {
    **dict.fromkeys("\u2212\u2013\u2014", "-"),
    **dict.fromkeys("\u00b7\u22c5\u2219\u00d7\u00a0\u2009\u202f", " "),
    **dict.fromkeys("\u03a9\u2126", "ohm"),
    **dict.fromkeys("\u00b5\u03bc", "u"),
    **{"\u00b0C": "degC", "\u2103": "degC", "\u00b0": "deg", "\u2032": "arcmin"},
    **{"\u00b2": "^2", "\u00b3": "^3", "\u207b\u00b9": "^-1"},
    **{"\u2044": "/", "\u223c": "~", "\u00b1": "+-", "\u0394": ""},
}
"""Signs that printed units and numbers have, and what they are read as."""
# Words that pint spells otherwise. A mass times a length stands for a torque where one is expected.
_WORDS = {
    **dict.fromkeys(("rpm", "min-1"), "revolutions_per_minute"),
    **dict.fromkeys(("rev", "turn"), "revolution"),
    **dict.fromkeys(("Ohm", "ohms", "Ohms"), "ohm"),
    **dict.fromkeys(("Volt", "volts", "Vdc", "VDC"), "volt"),
    **dict.fromkeys(("Amp", "amps"), "ampere"),
    **dict.fromkeys(("C", "degC"), "delta_degC"),
    **dict.fromkeys(("deg", "degrees"), "degree"),
    **{"Nm": "(N*m)", "mNm": "(mN*m)", "uNm": "(uN*m)", "kNm": "(kN*m)", "Ncm": "(N*cm)", "Nmm": "(N*mm)"},
    **{"kgcm": None, "gcm2": "(g*cm**2)"},
    **{"kgf": "kilogram_force", "gf": "gram_force", "ozf": "force_ounce", "oz": "ounce", "in": "inch"},
    **{"krpm": "(1000*revolutions_per_minute)", "sec": "second", "min": "minute", "rads": "radian"},
    **{"mohm": "milliohm", "kohm": "kiloohm", "K": "kelvin", "J": "joule", "g": "gram", "%": "percent"},
}
_NUMBER = r"[+-]?(?:\d+(?:[.,]\d+)*|[.,]\d+)(?:[eE][+-]?\d+)?"
_TEXT = re.compile(
    rf"^\s*(?P<low>{_NUMBER})\s*(?:(?:-|~|to|\.\.\.?)\s*(?P<high>{_NUMBER}))?"
    rf"\s*(?:\+-\s*(?P<tol>{_NUMBER})\s*(?P<percent>%)?)?\s*(?P<unit>.*?)\s*$"
)
_RECIPROCAL_SPEED = re.compile(r"^(?:s|sec|second|seconds)\s*/\s*(?P<angle>\d+)\s*(?:deg|degree|degrees)$")


class UnitError(BackemfError, ValueError):
    """Text that is not a number with the right unit."""


@dataclass(frozen=True, kw_only=True)
class PrintedNumber:
    """A printed number in SI: its value, and half of the interval its digits (or its tolerance,
    or its range) stand for."""

    text: str
    value: float
    half: float
    unit: str

    @property
    def low(self) -> float:
        return self.value - self.half

    @property
    def high(self) -> float:
        return self.value + self.half


def parse(text: object, unit: str, entry: str, tolerance: str | None = None) -> PrintedNumber:
    """Read "30 kg cm" as a quantity.

    A range such as "4.8-6 V" is its middle with half its width; otherwise half a unit of the last printed
    digit counts, or the stated tolerance where it is larger.

    Args:
        text: as it is printed.
        unit: the SI unit that it must be of.
        entry: what it is, for errors.
        tolerance: stated elsewhere: "10 %"; absent: the one in the text.

    Returns:
        The number in SI, with its rounding.

    Raises:
        UnitError: it is no number, or of another kind.
    """
    if not isinstance(text, str):
        hint = "" if unit == "1" else f', such as "{text} {_example(unit)}"'
        raise UnitError(
            f"{entry} is {text!r}, without a unit; expected text with a unit of {_kind(unit)}{hint}"
        )
    plain = _plain(text)
    match = _TEXT.match(plain)
    if match is None:
        raise UnitError(f"{entry} is {text!r}; expected a number and a unit of {_kind(unit)}")
    low, digit = _number(match["low"], text, entry)
    spelled, share, own = _behind_the_unit(match["unit"], text, entry)
    tolerance = share if tolerance is None else tolerance
    if unit != "1" and not spelled:
        raise UnitError(
            f'{entry} is {text!r}, without a unit; expected {_kind(unit)}, such as "{match["low"]}'
            f' {_example(unit)}"'
        )
    value, half = low, 0.5 * digit
    if match["high"] is not None:
        high, _ = _number(match["high"], text, entry)
        value, half = 0.5 * (low + high), 0.5 * abs(high - low)
    if match["tol"] is not None:
        tol, _ = _number(match["tol"], text, entry)
        half = max(half, abs(value) * tol / 100.0 if match["percent"] else tol)
    if own:
        half = max(half, _number(own, text, entry)[0])
    if tolerance is not None:
        half = max(half, abs(value) * parse(tolerance, "1", f"{entry} tolerance").value)
    reciprocal = _RECIPROCAL_SPEED.match(spelled)
    if reciprocal is not None and unit == "rad/s":
        if value == 0:
            raise UnitError(f"{entry} is {text!r}; expected a time above 0")
        speed = math.radians(float(reciprocal["angle"])) / value
        return PrintedNumber(text=text, value=speed, half=speed * half / value, unit=unit)
    factor = _factor(spelled, unit, text, entry)
    return PrintedNumber(text=text, value=value * factor, half=half * abs(factor), unit=unit)


def _behind_the_unit(unit: str, text: str, entry: str) -> tuple[str, str | None, str]:
    """(unit, tolerance as a share, tolerance as a number) of "V +- 10 %": it may stand behind the unit."""
    spelled, _, behind = (part.strip() for part in unit.partition("+-"))
    if not behind or behind.endswith("%"):
        return spelled, behind or None, ""
    own = re.fullmatch(rf"({_NUMBER})\s*(.*)", behind)
    if own is None or own[2] != spelled:
        raise UnitError(
            f"{entry} is {text!r}, whose tolerance is {behind!r}; expected a share or the same unit, such"
            f" as '10 %' or '0.5 {spelled}'"
        )
    return spelled, None, own[1]


_ANGULAR = re.compile(r"rad|deg|rev|turn|rpm|rps|arc|min-1|cycle")


def factor(spelled: str, unit: str, entry: str) -> float:
    """What one of a unit is in SI.

    Args:
        spelled: as a log spells it: "deg", "ms", "RPM".
        unit: the SI unit.
        entry: what it is, for errors.

    Returns:
        The factor.

    Raises:
        UnitError: it is no unit, or of another kind.
    """
    plain = {"1/min": "rpm", "/min": "rpm", "min^-1": "rpm"}.get(_plain(spelled), _plain(spelled))
    if plain == unit:
        return 1.0
    if unit.startswith("rad") and not _ANGULAR.search(
        plain.lower()
    ):  # a count or a percentage has no dimension either, but is no angle
        raise UnitError(
            f"{entry} is in {spelled!r}, which is not {_kind(unit)}; expected a unit such as"
            f" {'deg' if unit == 'rad' else _example(unit)!r}"
        )
    try:
        return _factor(plain, unit, spelled, entry)
    except UnitError as error:
        try:
            return _factor(plain.lower(), unit, spelled, entry)  # "RPM", "Second", "DEG"
        except UnitError:
            raise error from None


def _plain(text: str) -> str:
    for sign, word in _SIGNS.items():
        text = text.replace(sign, word)
    return unicodedata.normalize("NFKC", text).strip()


def _number(text: str, whole: str, entry: str) -> tuple[float, float]:
    """(value, one unit of its last printed digit)."""
    mantissa, _, exponent = text.lower().partition("e")
    if "," in mantissa and "." in mantissa:
        last = max(mantissa.rfind(","), mantissa.rfind("."))
        mantissa = re.sub(r"[.,]", "", mantissa[:last]) + "." + mantissa[last + 1 :]
    elif mantissa.count(",") == 1 and re.search(r"^[+-]?[1-9]\d{0,2},\d{3}$", mantissa):
        raise UnitError(
            f"{entry} is {whole!r}: the comma may stand for thousands or for decimals; write"
            f" {mantissa.replace(',', '')} or {mantissa.replace(',', '.')}"
        )
    elif mantissa.count(",") == 1:
        mantissa = mantissa.replace(",", ".")
    elif mantissa.count(",") > 1 or mantissa.count(".") > 1:
        raise UnitError(f"{entry} is {whole!r}; expected one number, without separators of thousands")
    whole_part, _, decimals = mantissa.lstrip("+-").partition(".")
    zeros = -len(decimals)
    if (
        not decimals and len(whole_part) > 3
    ):  # in "9550" or "10600" zeros after the third digit are rounding, not digits
        zeros = len(whole_part) - max(len(whole_part.rstrip("0")), 3)
    try:
        scale = 10.0 ** int(exponent) if exponent else 1.0
        value, unit = float(mantissa) * scale, 10.0**zeros * scale
    except (OverflowError, ValueError):  # ValueError: an exponent without end
        value, unit = math.inf, math.inf
    if not (math.isfinite(value) and math.isfinite(unit)):
        raise UnitError(f"{entry} is {whole!r:.60}; expected a number below 1e308")
    return value, unit


@functools.lru_cache(maxsize=1)
def _units() -> Any:
    import pint

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=False, cache_folder=None)


@functools.lru_cache(maxsize=512)
def _factor(spelled: str, unit: str, text: str, entry: str) -> float:
    """What one of the spelled unit is in the SI unit."""
    units = _units()
    if unit == "degC":  # an absolute temperature: only its own scale is accepted
        if spelled in ("degC", "C"):
            return 1.0
        raise UnitError(f"{entry} is {text!r}; expected a temperature in degC")
    wanted = units.parse_expression(_spell(unit)) if unit != "1" else units.Quantity(1.0)
    given = units.Quantity(1.0)
    if spelled:
        try:
            given = units.Quantity(1.0) * units.parse_expression(_spell(spelled))
        except Exception:  # pint raises many kinds; the text is simply not a unit
            near = difflib.get_close_matches(spelled.replace(" ", "*"), KNOWN, n=1, cutoff=0.6)
            hint = (
                f"; did you mean {near[0]!r}?"
                if near
                else f"; expected a unit of {_kind(unit)}, such as {_example(unit)!r}"
            )
            raise UnitError(f"unknown unit {spelled!r} in {text!r} for {entry}{hint}") from None
    for scale in (1.0, GRAVITY):
        if scale != 1.0:  # "kg cm" for a torque, "g" for a force: a mass that stands for its weight
            given = given * units.Quantity(GRAVITY, "m/s**2")
        ratio = given / wanted
        if ratio.check("[]"):
            return float(ratio.to_base_units().magnitude)
    raise UnitError(
        f"{entry} is {text!r}, which is not {_kind(unit)}; expected a unit such as {_example(unit)!r}"
    )


def _spell(unit: str) -> str:
    """A unit as pint spells it: `*` between words, `**` for powers, aliases replaced."""
    unit = re.sub(r"(?<=[A-Za-z)])\s*\^\s*(?=-?\d)", "**", unit.strip())
    unit = re.sub(r"([A-Za-z])([23])(?![\d.])", r"\1**\2", unit)
    unit = re.sub(r"\b(k?g)(c?m)(?=\*\*2)", r"\1 \2", unit)  # "gcm2" is g cm^2
    words = re.split(r"(\s*[*/()]\s*|\s+|\*\*-?\d+)", unit)
    spelled = []
    for word in words:
        if word is None or word == "":
            continue
        if word.strip() == "":
            spelled.append("*")
        elif word.strip() in ("*", "/", "(", ")") or word.startswith("**"):
            spelled.append(word.strip())
        else:
            alias = _WORDS.get(word, word)
            if alias is None:
                raise ValueError(word)
            spelled.append(alias)
    text = "".join(spelled)
    return re.sub(r"\*?(/)\*?", r"\1", re.sub(r"\(\*|\*\)", lambda m: m[0].strip("*"), text))


_KINDS = {
    "V": ("a voltage", "V"),
    "ohm": ("a resistance", "ohm"),
    "H": ("an inductance", "mH"),
    "A": ("a current", "A"),
    "N m": ("a torque", "N*m"),
    "rad/s": ("a speed", "rpm"),
    "N m/A": ("a torque constant", "mN*m/A"),
    "V s/rad": ("a back-EMF constant", "V/krpm"),
    "rad/(s V)": ("a speed constant", "rpm/V"),
    "kg m^2": ("an inertia", "g*cm^2"),
    "rad/(s N m)": ("a speed per torque", "rpm/(mN*m)"),
    "s": ("a time", "ms"),
    "K/W": ("a thermal resistance", "K/W"),
    "J/K": ("a heat capacity", "J/K"),
    "degC": ("a temperature", "degC"),
    "rad": ("an angle", "arcmin"),
    "N m s/rad": ("a viscous friction", "N*m*s/rad"),
    "kg": ("a mass", "g"),
    "W": ("a power", "W"),
    "1/K": ("a temperature coefficient", "1/K"),
    "1": ("a plain number", "1"),
    "1/rad": ("a gain per radian", "1/rad"),
}


def _kind(unit: str) -> str:
    return _KINDS.get(unit, (f"a quantity in {unit}", unit))[0]


def _example(unit: str) -> str:
    return _KINDS.get(unit, ("", unit))[1]
