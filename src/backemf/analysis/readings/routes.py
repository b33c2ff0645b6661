"""Every kind of bench reading by name, and what the words and numbers that it is given mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...errors import InvalidValue
from . import arms, electrical, inverse, torque, transients
from .measured import Measured

READINGS: dict[str, Callable[..., Measured]] = {
    "fall": arms.fall,
    "slip": arms.slip,
    "resistance": electrical.resistance,
    "impedance": electrical.impedance,
    "current-step": electrical.current_step,
    "back-emf": electrical.back_emf,
    "torque-constant": torque.torque_constant,
    "no-load": torque.no_load,
    "no-load-current": torque.no_load_current,
    "firmware-gain": electrical.firmware_gain,
    "coast-down": transients.coast_down,
    "inertia": transients.inertia,
    "run-up": transients.run_up,
    "acceleration": transients.acceleration,
    "inverse-dynamics": inverse.inverse_dynamics,
    "thermal": transients.thermal,
    "backlash": transients.backlash,
}
"""By name, as `backemf measure` spells it; in this order one may need what another found."""
LOGS = ("log", "slow", "fast")
"""What is a recording."""
COLUMNS = {
    "current": "A",
    "voltage": "V",
    "speed": "rad/s",
    "load": "N m",
    "torque": "N m",
    "acceleration": "rad/s^2",
    "frequency": "Hz",
    "impedance": "ohm",
    "error": "rad",
    "register": "1",
    "duty": "1",
    "directions": "1",
}
"""Units of what is read several times."""
KNOWN = {
    "resistance": "ohm",
    "torque_constant": "N m/A",
    "viscous": "N m s/rad",
    "coulomb": "N m",
    "inertia": "kg m^2",
    "added": "kg m^2",
}
"""Units of what is known from elsewhere, with its error."""
PLAIN = {
    "mass": "kg",
    "length": "m",
    "angle": "rad",
    "angle_error": "rad",
    "arm_mass": "kg",
    "gravity": "m/s^2",
    "static": "N m",
    "power": "W",
    "ambient": "degC",
    "until": "s",
    "after": "s",
    "moved": "rad",
    "cutoff": "Hz",
    "duty_limit": "1",
    "decimation": "1",
}
"""Units of single numbers."""
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_KNOWN = re.compile(
    rf"\s*(?P<value>{_NUMBER})\s*(?:(?:\+-|\u00b1)\s*(?P<error>{_NUMBER})\s*(?P<share>%)?)?\s*(?P<unit>[^\d\s+].*?)?"
    rf"(?:\s*(?:\+-|\u00b1)\s*(?P<later>{_NUMBER})\s*(?P<part>%)?.*)?\s*"
)


def known_number(text: str, unit: str, entry: str) -> float | tuple[float, float]:
    """ "2.1", "2.1 +- 0.05", "2.1 ohm +- 2 %": a number, with its standard error where it is stated."""
    match = _KNOWN.fullmatch(text)
    if match is None:
        raise InvalidValue(f"{entry} is {text!r}; expected a number in {unit}, such as 2.1 or '2.1 +- 0.05'")
    scale = _scale(match["unit"], unit, entry)
    value = float(match["value"]) * scale
    error, share = match["error"] or match["later"], match["share"] or match["part"]
    if error is None:
        return value
    return value, abs(value) * float(error) / 100.0 if share else float(error) * abs(scale)


def column(text: str, unit: str, entry: str) -> list[float]:
    """Readings separated by commas, in SI or with a unit behind the last: "300, 600 rpm"."""
    parts = [part.strip() for part in text.replace(";", ",").split(",") if part.strip()]
    if not parts:
        raise InvalidValue(f"{entry} is {text!r}; expected numbers separated by commas")
    last = re.fullmatch(rf"({_NUMBER})\s*([^\d\s+.-].*)?", parts[-1])
    scale = 1.0
    if last is not None and last[2]:
        scale, parts[-1] = _scale(last[2], unit, entry), last[1]
    try:
        numbers = [float(part) * scale for part in parts]
    except ValueError:
        raise InvalidValue(f"{entry} is {text!r}; expected numbers separated by commas") from None
    return numbers


def _scale(spelled: str | None, unit: str, entry: str) -> float:
    if not spelled or spelled.strip() == unit or spelled.strip() in ("nan", "inf"):
        return 1.0
    from ...units import factor

    return factor(spelled.strip(), unit, entry)


def argument(name: str, given: Any) -> Any:
    """What a reading's function is given, from what a file or a command line says."""
    if name in COLUMNS and isinstance(given, str):
        return column(given, COLUMNS[name], name)
    if name in KNOWN and isinstance(given, str):
        return known_number(given, KNOWN[name], name)
    if name in KNOWN and isinstance(given, list):
        return tuple(given)
    if name in PLAIN and isinstance(given, str):
        value = known_number(given, PLAIN[name], name)
        return value[0] if isinstance(value, tuple) else value
    if name == "angle" and not isinstance(given, bool) and isinstance(given, (int, float)):
        raise InvalidValue(f"angle is {given!r}, without a unit; expected text such as '{given:g} deg'")
    return given
