"""What a column's name and unit say: "angle (deg)" is a position in degrees, "time_ms" a time, "command"
could be several things."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from .. import units
from ..physics.actuator import linear_unit
from .log import ASKED, UNITS

ALIASES = {
    "time": "t time timestamp time_stamp times timestamps ts elapsed elapsed_time",
    "position": "position positions pos angle theta theta_u q qpos phi angular_position rotation",
    "velocity": (
        "velocity velocities vel speed omega w qd dq qvel theta_dot thetadot q_dot qdot angular_velocity"
        " angular_speed"
    ),
    "current": "current i amps amperage",
    "voltage": "voltage volts motor_voltage",
    "torque": "torque tau effort",
    "temperature": "temperature temp winding_temperature",
    "supply": (
        "supply vin v_in input_volts input_voltage vbat v_bat vbus v_bus battery battery_voltage bus_voltage"
        " supply_voltage voltage_supply"
    ),
    "enabled": "torque_enable torque_enabled enabled enable is_enabled torque_on",
}
"""Names that stand for a signal, however they are written: case, spaces and underscores do not count."""
_ASKING = "goal target desired des cmd command commanded commands ref reference setpoint sp set demand"
ASKING = frozenset(_ASKING.split())
"""Words that turn a quantity into what was asked: `goal_position`, `pos_ref`, `cmd_vel`."""
_PLAIN = "motor joint dof measured meas actual act present servo output shaft sensor feedback fb observed"
PLAIN = frozenset(_PLAIN.split())
"""Words that add nothing: `motor_pos`, `present_velocity`."""
TARGETS = tuple(name for name in ASKED if name != "enabled")
UNCLEAR = {
    "T": ("time", "temperature"),
    "v": ("velocity", "voltage"),
    "u": (*TARGETS, "voltage"),
    "pwm": ("voltage", "voltage_target"),
    "duty": ("voltage", "voltage_target"),
}
"""Names in common use for more than one thing, or for a fraction of the supply: only their unit can tell."""
_SIGNAL = {alias: signal for signal, aliases in ALIASES.items() for alias in aliases.split()}
_LETTERS = ("theta", "theta", "omega", "tau", "phi", "phi")
_GREEK = str.maketrans(dict(zip("\u03b8\u03d1\u03c9\u03c4\u03c6\u03d5", _LETTERS, strict=True)))
_BRACKET = re.compile(
    r"^(?P<name>.*?)\s*(?:\[(?P<a>[^\[\]]*)\]|\((?P<b>[^()]*(?:\([^()]*\)[^()]*)*)\)|\{(?P<c>[^{}]*)\})\s*$"
)
_SLASH = re.compile(r"^(?P<name>.*\S)\s+/\s*(?P<unit>\S.*)$")
_SPELLED = {
    **{"ma": "mA", "a": "A", "mv": "mV", "v": "V", "nm": "Nm", "mnm": "mNm"},
    **{"c": "degC", "degc": "degC", "rads": "rad/s", "radps": "rad/s", "dps": "deg/s"},
}


@dataclass(frozen=True, kw_only=True)
class Guess:
    """A column's name without its unit, the unit, and the signals it may be: none, one, or several."""

    bare: str
    unit: str
    signals: tuple[str, ...]
    misfit: bool = False
    """The name says a signal, but the unit says otherwise."""


def split(header: str) -> tuple[str, str]:
    """("angle", "deg") from "angle (deg)", "angle [deg]", "angle / deg"."""
    match = _BRACKET.match(header)
    if match is not None and match["name"]:
        unit = next(u for u in match.group("a", "b", "c") if u is not None)
        return match["name"].strip(), unit.strip()
    match = _SLASH.match(header)
    if match is not None:
        return match["name"], match["unit"].strip()
    return header.strip(), ""


@functools.lru_cache(maxsize=4096)
def recognise(header: str, unit: str = "") -> Guess:
    """What a column may be, from its header and the unit that came with it."""
    bare, bracket = split(header)
    unit = unit or bracket
    signals = _possible_signals(bare)
    if not signals and not unit:
        guess = _with_unit_behind(bare)
        if guess is not None:
            return guess
    if unit and unit != "?" and signals:
        fitting = tuple(s for s in signals if fits(unit, s))
        if fitting == UNCLEAR["pwm"]:  # a duty already in volts is what the winding gets
            fitting = ("voltage",)
        return Guess(bare=bare, unit=unit, signals=fitting, misfit=not fitting)
    return Guess(bare=bare, unit=unit, signals=signals)


def _with_unit_behind(bare: str) -> Guess | None:
    """ "time_ms", "speed_rad_s", "I_mA": the unit is the end of the name."""
    parts = [w for w in re.split(r"[^A-Za-z0-9]+", bare) if w]
    for n in (2, 1):
        front, end = "_".join(parts[:-n]), "/".join(parts[-n:])
        for spelled in (end, _SPELLED.get(end.lower(), end)):
            fitting = tuple(s for s in _possible_signals(front) if fits(spelled, s)) if front else ()
            if fitting:
                return Guess(bare=front, unit=spelled, signals=fitting)
    return None


def words(name: str) -> list[str]:
    """The words of a name, however it joins them: "goalPosition", "goal_position"."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.translate(_GREEK))
    return [w for w in re.split(r"[^A-Za-z0-9]+", apart) if w]


def _possible_signals(name: str) -> tuple[str, ...]:
    """The signals a name without unit may stand for."""
    if name.strip() == "T":
        return UNCLEAR["T"]
    said = [w.lower() for w in words(name)]
    whole = "_".join(said)
    if whole in UNCLEAR:
        return UNCLEAR[whole]
    if whole in _SIGNAL:
        return (_SIGNAL[whole],)
    asked = not ASKING.isdisjoint(said)
    rest = [w for w in said if w not in ASKING and w not in PLAIN]
    if asked and not rest:
        return TARGETS
    if len(rest) > 1 and rest[0] == "current":  # "current_position" is the present one
        rest = rest[1:]
    signal = _SIGNAL.get("_".join(rest), "")
    if asked:
        return (f"{signal}_target",) if f"{signal}_target" in UNITS else ()
    return (signal,) if signal else ()


@functools.lru_cache(maxsize=4096)
def fits(unit: str, signal: str) -> bool:
    """Whether a signal may be in a unit."""
    try:
        to_si(unit, signal, signal)
    except units.UnitError:
        return False
    return True


def to_si(unit: str, signal: str, entry: str) -> tuple[float, str]:
    """What a unit is in SI.

    Args:
        unit: as the file spells it.
        signal: that is in this unit, turning or sliding.
        entry: what errors call it.

    Returns:
        (what one of the unit is in SI, the motion it implies: "rotary", "linear", or nothing).

    Raises:
        UnitError: the signal cannot be in this unit.
    """
    si = UNITS[signal]
    linear = linear_unit(si)
    if linear == si:
        return units.factor(unit, si, entry), ""
    try:
        return units.factor(unit, si, entry), "rotary"
    except units.UnitError as error:
        try:
            return units.factor(unit, linear, entry), "linear"
        except units.UnitError:
            raise error from None
