"""Foreign units at the edge: text such as "330 rpm", "30 kg cm" or "0,18 s/60deg" becomes SI with its printed
rounding.

The only file that knows rpm, kilogram-centimetres and seconds per 60 degrees; pint does the dimensions.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import math
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

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
    **dict.fromkeys('"\u2033\u201d', "in"),
}
"""Signs that printed units and numbers have, and what they are read as."""
# Words that pint spells otherwise. A mass times a length stands for a torque where one is expected.
_WORDS = {
    **dict.fromkeys(("rpm", "min-1"), "revolutions_per_minute"),
    **dict.fromkeys(("rev", "turn", "rot", "rotation", "rotations", "r"), "revolution"),
    **{"ohms": "ohm", "volts": "volt", "vdc": "volt", "amp": "ampere", "amps": "ampere"},
    **dict.fromkeys(("C", "degC"), "delta_degC"),
    **dict.fromkeys(("deg", "degrees"), "degree"),
    **{"Nm": "(N*m)", "mNm": "(mN*m)", "uNm": "(uN*m)", "kNm": "(kN*m)", "Ncm": "(N*cm)", "Nmm": "(N*mm)"},
    **{"kgcm": "(kg*cm)", "kgfcm": "(kilogram_force*cm)", "gcm": "(g*cm)", "gcm2": "(g*cm**2)"},
    **{"ozin": "(ounce*inch)", "lbin": "(pound*inch)", "inlb": "(inch*pound)", "ftlb": "(foot*pound)"},
    **{
        "kgf": "kilogram_force",
        "kp": "kilogram_force",
        "gf": "gram_force",
        "ozf": "force_ounce",
        "oz": "ounce",
        "in": "inch",
    },
    **{"krpm": "(1000*revolutions_per_minute)", "sec": "second", "min": "minute", "rads": "radian"},
    **{"mohm": "milliohm", "kohm": "kiloohm", "K": "kelvin", "J": "joule", "g": "gram", "%": "percent"},
}
_SCALES = {
    **dict.fromkeys(("degC", "C"), "degC"),
    **dict.fromkeys(("degF", "F"), "degF"),
    **dict.fromkeys(("K", "kelvin"), "kelvin"),
}
"""Scales of temperature, whose zeros differ."""
_TRADE = (
    *_WORDS,
    *_SCALES,
    *re.findall(r"[A-Za-z]+", _SPELLINGS),
    *(p + w for p in ("", "m", "u", "k") for w in re.findall(r"\w+", "V A W N H J Hz s g m ohm Nm Ah Wh")),
    *("ft", "lb", "lbf", "cN", "h", "MHz"),
)
_CASES: dict[str, set[str]] = {}
for _word in _TRADE:
    _CASES.setdefault(_word.casefold(), set()).add(_word)
"""Spellings of the trade that differ in their capitals alone: h is an hour and H a henry."""
_MEGA = re.compile(r"(?<![A-Za-z])M(?:[AVWNHJmsg]|(?i:ah|nm|ohms?))(?![A-Za-z])")
"""A million of what motors have thousandths of: nobody means it, and who types capitals means another."""
_NUMBER = r"[+-]?(?:\d+(?:[.,]\d+)*|[.,]\d+)(?:[eE][+-]?\d+)?"
_TEXT = re.compile(
    rf"^\s*(?P<low>{_NUMBER})\s*(?:(?:-|~|to|\.\.\.?)\s*(?P<high>{_NUMBER}))?"
    rf"\s*(?:\+-\s*(?P<tol>{_NUMBER})\s*(?P<percent>%)?)?\s*(?P<unit>.*?)\s*$"
)
_SINGLE = re.compile(rf"({_NUMBER})\.?\s*((?:[^\d\s+.,-]|1\s*/).*)?")
_POWER = r"(?:\*\*|\^)"
_LONGEST, _HIGHEST = 80, 9
"""Letters of a unit, and its powers."""
_HALF_A_UNIT = re.compile(r"^(?!1\s*/)\d|[A-Za-z)]\s+\d|[-.*/^+]\s*$")
"""A number that multiplies, as in "3 mV", or a sign behind which nothing stands."""
_RECIPROCAL_SPEED = re.compile(r"(?i)^(?:s|secs?|seconds?)\s*/\s*(?P<angle>\d+)\s*(?:deg|degrees?)$")


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
    size = factor(spelled, unit, entry, text)
    return PrintedNumber(text=text, value=value * size, half=half * abs(size), unit=unit)


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


def si(text: str, unit: str, entry: str) -> float:
    """One number as people type it: alone it is in SI, and a unit may stand behind it.

    Args:
        text: "4.8", "4.8V", "15 kg-cm".
        unit: in SI; "1" for a plain number, and "kg m^2 | kg" for one of two.
        entry: what it is, for errors: "--voltage".

    Returns:
        The number in SI.

    Raises:
        UnitError: it is no number, or of another kind.
    """
    kinds = unit.split(" | ")
    match = _SINGLE.fullmatch(_plain(text))
    if match is None:
        hint = "" if unit == "1" else f" in {' or '.join(kinds)}, or one with its unit"
        raise UnitError(f"{entry} is {text!r:.60}; expected a number{hint}, such as {_sample(kinds[0])}")
    value, spelled = _number(match[1], text, entry)[0], match[2]
    if spelled is None:
        return value
    for kind in kinds[:-1]:
        try:
            return _to_si(value, spelled, kind, text, entry)
        except UnitError:
            continue
    return _to_si(value, spelled, kinds[-1], text, entry)


class NumberWithUnit(float):
    """A number in SI, and its text, where another option says in which unit one alone is."""

    def __new__(cls, value: float, text: str) -> NumberWithUnit:
        number = super().__new__(cls, value)
        number.text = text
        return number

    text: str


def rounding(text: str) -> float:
    """Half a unit of the last digit of a number as it is typed: 0.05 of "0.1", 0.005 of "0.10"."""
    match = _SINGLE.fullmatch(_plain(text))
    return 0.5 * _number(match[1], text, "a number")[1] if match else 0.0


def number_alone(text: str, entry: str) -> float | None:
    """A number behind which nothing stands, which is in SI; None of any other text."""
    match = _SINGLE.fullmatch(_plain(text))
    return _number(match[1], text, entry)[0] if match and match[2] is None else None


def has_unit(text: str) -> bool:
    """Whether a unit stands behind a number."""
    match = _SINGLE.fullmatch(_plain(text))
    return match is not None and match[2] is not None


def _sample(unit: str) -> str:
    return "0.5" if unit == "1" else f"0.5 or '0.5 {_example(unit).replace('*', ' ')}'"


def _to_si(value: float, spelled: str, unit: str, text: str, entry: str) -> float:
    """A number in a spelled unit, in SI."""
    reciprocal = _RECIPROCAL_SPEED.match(spelled) if unit == "rad/s" else None
    if reciprocal is None:
        return value * factor(spelled, unit, entry, text)
    if value == 0:
        raise UnitError(f"{entry} is {text!r}; expected a time above 0")
    return math.radians(float(reciprocal["angle"])) / value


class UnitConversion(NamedTuple):
    """A number in another unit."""

    given: str
    value: float
    unit: str
    by_weight: bool
    """Whether a mass stands for its weight, as in kg cm."""


def convert(text: str, unit: str = "") -> UnitConversion:
    """One number in another unit: `convert("15 kg.cm", "N.m")`.

    Args:
        text: a number with its unit.
        unit: in which it is wanted; in SI without it.

    Returns:
        The number in that unit.

    Raises:
        UnitError: where one is no unit, or they are of two kinds.
    """
    match, wanted = _SINGLE.fullmatch(_plain(text)), _plain(unit)
    if match is None or match[2] is None:
        raise UnitError(f"{text!r:.60} is no number with a unit; expected one, such as '15 kg.cm'")
    value, spelled = _number(match[1], text, "the number")[0], match[2]
    if {_usual_case(spelled), _usual_case(wanted)} <= _SCALES.keys():
        value = (
            _units().Quantity(value, _SCALES[_usual_case(spelled)]).to(_SCALES[_usual_case(wanted)]).magnitude
        )
        return UnitConversion(text, float(value), unit, False)
    kinds = _kinds_of(spelled, text)
    kind = (
        kinds[0]
        if not wanted
        else next((k for k in kinds if k in _kinds_of(wanted, f"{text} to {unit}")), None)
    )
    if kind is None:
        raise UnitError(
            f"{text!r} is {_kind(kinds[0])}, and {unit!r} is a unit of {_kind(_kinds_of(wanted, text)[0])};"
            " expected two units of one kind"
        )
    value, weighs = _to_si(value, spelled, kind, text, "the number"), _weighs(spelled, kind)
    if not wanted:
        return UnitConversion(text, value, kind, weighs)
    reciprocal = _RECIPROCAL_SPEED.match(wanted)
    if reciprocal is None:
        return UnitConversion(
            text, value / factor(wanted, kind, unit), unit, weighs is not _weighs(wanted, kind)
        )
    if value == 0:
        raise UnitError(f"{text!r} has no {unit}; expected a speed above 0")
    return UnitConversion(text, math.radians(float(reciprocal["angle"])) / value, unit, False)


def _kinds_of(spelled: str, text: str) -> list[str]:
    """The SI units of what a unit may be of, the likeliest first; itself where it is of nothing usual."""
    if _RECIPROCAL_SPEED.match(spelled):
        return ["rad/s"]
    factor(spelled, spelled, "the conversion", text)  # an error where it is no unit at all
    kinds = []
    for kind in _KINDS:
        with contextlib.suppress(UnitError):
            factor(spelled, kind, "the conversion", text)
            kinds.append(kind)
    return kinds or [spelled]


def _weighs(spelled: str, unit: str) -> bool:
    """Whether a mass stands for its weight in a unit, as in kg cm for N m."""
    return not _RECIPROCAL_SPEED.match(spelled) and _ratio(_plain(spelled), unit, spelled, "the unit")[1]


_PER_ANGLE = re.compile(
    r"/\s*\(?(?:rad|deg|rev|rot|turn|arc|cycle|r\b)|(?:rad|deg|rev|r)\w*\s*(?:\^|\*\*)?\s*-1"
)
_ANGULAR = re.compile(r"rad|deg|rev|rot|turn|rpm|rps|arc|min-1|cycle|^r/")


def factor(spelled: str, unit: str, entry: str, text: str = "") -> float:
    """What one of a unit is in SI.

    Args:
        spelled: as a log spells it: "deg", "ms", "RPM".
        unit: the SI unit.
        entry: what it is, for errors.
        text: the number with its unit, for errors.

    Returns:
        The factor.

    Raises:
        UnitError: it is no unit, or of another kind.
    """
    plain = _plain(spelled)
    plain = "rpm" if plain.lower() in ("1/min", "/min", "min^-1") else plain
    if plain == unit and unit in _KINDS:
        return 1.0
    angular = _ANGULAR.search(plain.lower()) is not None
    wrong = angular != unit.startswith("rad") and (not angular or unit in ("Hz", "1"))
    inverse = _PER_ANGLE.search(plain.lower()) is not None
    if wrong or (unit in ("rad", "1/rad") and inverse != (unit == "1/rad")):
        # a count or a percentage has no dimension either, but is no angle; and a turn a second is no hertz
        raise UnitError(
            f"{entry} is {f'{text!r}' if text else f'in {spelled!r}'}, which is not {_kind(unit)}; expected a"
            f" unit such as {'deg' if unit == 'rad' else _example(unit)!r}"
        )
    return _ratio(plain, unit, text or spelled, entry)[0]


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
def _ratio(spelled: str, unit: str, text: str, entry: str) -> tuple[float, bool]:
    """What one of the spelled unit is in the SI unit, and whether a mass stands for its weight in it."""
    if unit == "degC":  # an absolute temperature: only its own scale is accepted
        if _usual_case(spelled) in ("degC", "C"):
            return 1.0, False
        raise UnitError(f"{entry} is {text!r}; expected a temperature in degC")
    if mega := _MEGA.search(spelled):
        one = _usual_case(mega[0][1:])
        raise UnitError(
            f"{entry} is {text!r}: {mega[0]!r} may be thousandths or millions; write m{one}, or e6 {one}"
        )
    push = _expression("m/s^2", str)
    fault: UnitError | None = None
    for case in (_usual_case, str):  # as the trade means it, then as physics does: "nm", a torque or a length
        try:
            one, wanted = _expression(spelled, case), _expression("" if unit == "1" else unit, case)
        except Exception:  # pint raises many kinds; the text is simply not a unit
            fault = fault or (_unknown(spelled, unit, text, entry) if case is _usual_case else None)
            continue
        given, kind = one.dimensionality, wanted.dimensionality
        # "kg cm" for a torque, "g" for a force: a mass that stands for its weight
        weighs = given != kind and "[mass]" in given and given * push.dimensionality == kind
        if weighs or given == kind:
            ratio = one * (GRAVITY * push) / wanted if weighs else one / wanted
            return float(ratio.to_base_units().magnitude), weighs
    if fault is not None:
        raise fault from None
    raise UnitError(
        f"{entry} is {text!r}, which is not {_kind(unit)}; expected a unit such as {_example(unit)!r}"
    )


def _unknown(spelled: str, unit: str, text: str, entry: str) -> UnitError:
    """What is said of a unit that is none."""
    near = difflib.get_close_matches(spelled.replace(" ", "*"), KNOWN, n=1, cutoff=0.6)
    hint = (
        f"did you mean {near[0]!r}?"
        if near
        else f"expected a unit of {_kind(unit)}, such as {_example(unit)!r}"
        if unit in _KINDS
        else "expected one such as 'N*m' or 'rpm'"
    )
    return UnitError(f"unknown unit {spelled!r:.60} in {text!r:.60} for {entry}; {hint}")


def _usual_case(word: str) -> str:
    """A word of a unit in the trade's own capitals, where its letters mean one thing: kg of "Kg"."""
    likely = _CASES.get(word.casefold(), set())
    if word in likely or len(likely) > 1:
        return word
    return next(iter(likely), word.lower() if len(word) > 3 and (word.isupper() or word.istitle()) else word)


@functools.lru_cache(maxsize=8192)
def _expression(unit: str, case: Callable[[str], str]) -> Any:
    """One of a unit as pint has it; of none, the number one."""
    return _units().Quantity(1.0) * (_units().parse_expression(_spell(unit, case)) if unit else 1.0)


def _spell(unit: str, case: Callable[[str], str]) -> str:
    """A unit as pint spells it: `*` between words, `**` for powers, aliases replaced.

    Args:
        unit: as people write it.
        case: what gives a word its capitals.
    """
    if len(unit) > _LONGEST or _HALF_A_UNIT.search(unit):
        raise ValueError(unit)
    unit = re.sub(r"(?<=[A-Za-z)])\s*\^\s*(?=-?\d)", "**", unit.strip())
    unit = re.sub(r"([A-Za-z])([23])(?![\d.])", r"\1**\2", unit)
    unit = re.sub(r"(?i)\b(k?g)(c?m)(?=\*\*2)", r"\1 \2", unit)  # "gcm2" is g cm^2
    unit = re.sub(r"(?<=[A-Za-z])[.-](?=[A-Za-z])", " ", unit)  # "kg-cm", "kgf.cm"
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
            spelled.append(_WORDS.get(case(word), case(word)))
    text = "".join(spelled)
    powers = re.findall(rf"{_POWER}\(?({_NUMBER})?", text)
    tower = re.search(rf"{_POWER}[-+\d.e()]*{_POWER}", text) or len(re.findall(rf"\){_POWER}", text)) > 2
    if tower or any(abs(float(power or "inf")) > _HIGHEST for power in powers):
        raise ValueError(unit)  # pint would raise powers of powers for as long as they take
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
    "1": ("a plain number", "%"),
    "1/rad": ("a gain per radian", "1/rad"),
    "m": ("a length", "mm"),
    "m/s": ("a speed along a line", "mm/s"),
    "m/s^2": ("an acceleration", "m/s^2"),
    "rad/s^2": ("an angular acceleration", "rad/s^2"),
    "N": ("a force", "N"),
    "Hz": ("a frequency", "Hz"),
    "A s": ("a charge", "mAh"),
    "N m/rad": ("a stiffness", "N*m/rad"),
}


def _kind(unit: str) -> str:
    return _KINDS.get(unit, (f"a quantity in {unit}", unit))[0]


def _example(unit: str) -> str:
    return _KINDS.get(unit, ("", unit))[1]
