"""The unit of a WPILOG's motion where the log states none: what its numbers suggest, the one question that is
asked, and what is made of the answer."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...errors import MissingValue, UnknownName
from ...findings import Finding, finding
from ...logs.log import Log
from ...logs.mapping import mapping
from ...logs.recording import MUST_TELL, Channel, Recording
from .characterization import UNITS
from .sysid_json import SHORT
from .wpilog import unit_of

_ANGLES, _LENGTHS = ("radians", "degrees", "rotations"), ("meters", "feet", "inches")
TYPICAL = {
    "arm": ("position", 2.0, _ANGLES),
    "elevator": ("position", 0.8, _LENGTHS),
    "drivetrain": ("velocity", 2.0, _LENGTHS),
    "flywheel": ("velocity", 300.0, _ANGLES),
    "simple": ("velocity", 60.0, _ANGLES),
}
"""What tests of a mechanism reach, in SI: the travel of an arm [rad] or an elevator [m], the speed of a robot
[m/s] or a wheel [rad/s] at the usual 7 V; and the units that people log it in."""
NAMES = {
    "flywheel": r"fly|shoot|roller|intake",
    "elevator": r"elev|lift|climb",
    "arm": r"arm|pivot|wrist|elbow",
    "drivetrain": r"drive|swerve|chassis",
}
"""What a mechanism's name says of its kind."""
_MOTION = ("position", "velocity")
AS_TOLD = ", as told"
"""Behind the unit, in the notes of a recording whose file states none."""
DOUBTFUL = math.log(3.0)
"""A unit that was told is doubted where what it makes of the numbers is further from the usual than this."""
FASTEST = 500.0
"""No motor of a robot turns so many times a second: such a number is of a minute."""


class UnitNotStated(MissingValue):
    """A log that does not say in which unit its motion is."""


class OpenSignal(NamedTuple):
    """A signal without a unit: its entry, what it is, and between what it lies."""

    entry: str
    signal: str
    mechanism: str
    low: float
    high: float
    per_minute: bool = False
    """Whether a velocity is, as the position beside it tells."""


def unit_named(text: str) -> str:
    """The unit of gains that a person means: rotations by "rot", "Revolutions" or "rpm"."""
    unit = unit_of(text).partition("/")[0]
    if unit not in SHORT.values():
        raise UnknownName("unit", text.strip(), UNITS)
    return next(name for name, short in SHORT.items() if short == unit)


def guess_kind(name: str) -> str:
    """The kind of a mechanism by its name; simple where that says nothing."""
    return next((kind for kind, words in NAMES.items() if re.search(words, name, re.IGNORECASE)), "simple")


def open_signals(runs: Sequence[Recording]) -> list[OpenSignal]:
    """Position and velocity whose unit no file states, each once."""
    found: dict[str, OpenSignal] = {}
    minutes = _per_minute_by_mechanism(runs)
    for run in runs:
        for c in run.channels:
            if c.unit == MUST_TELL and c.signal in _MOTION:
                slow = c.signal == "velocity" and run.mechanism in minutes
                new = OpenSignal(c.name, c.signal, run.mechanism, math.inf, -math.inf, slow)
                old = found.get(c.name, new)
                found[c.name] = old._replace(low=min(old.low, c.low), high=max(old.high, c.high))
    return list(found.values())


def _per_minute_by_mechanism(runs: Sequence[Recording]) -> set[str]:
    """Mechanisms whose velocities are per minute, as their positions tell."""
    names = {run.mechanism for run in runs}
    return {name for name in names if _per_minute([run for run in runs if run.mechanism == name])}


def likely_unit(signals: Sequence[OpenSignal], mechanism: str) -> str:
    """The unit in which such numbers would be those of a usual mechanism.

    Args:
        signals: of one mechanism.
        mechanism: its kind; simple where only its name may tell.

    Returns:
        One of the units of gains.
    """
    off = _far_off(signals, mechanism)
    return min(off, key=lambda unit: off[unit])


def _far_off(signals: Sequence[OpenSignal], mechanism: str) -> dict[str, float]:
    """How far what a mechanism reaches is from the usual, as the logarithm of a factor, by unit."""
    kind = mechanism if mechanism != "simple" or not signals else guess_kind(signals[0].mechanism)
    what, usual, units = TYPICAL[kind]
    of = [s for s in signals if s.signal == what] or list(signals)
    reach = max((s.high - s.low if s.signal == "position" else max(-s.low, s.high) for s in of), default=0.0)
    if not reach > 0:
        return dict.fromkeys(units, 0.0)
    counted = any(s.per_minute for s in of)

    def off(unit: str) -> float:
        fast = counted or (what == "velocity" and unit == "rotations" and reach > FASTEST)
        return abs(math.log(reach * UNITS[unit][0] / (60.0 if fast else 1.0) / usual))

    return {unit: off(unit) for unit in units}


def doubt_unit(logs: Sequence[Log], units: str | None, told: Sequence[str], mechanism: str) -> list[Finding]:
    """Where a person says a unit which the numbers contradict.

    Args:
        logs: of one mechanism, as they were read.
        units: what was answered for all that the files do not state.
        told: mappings, which may say a unit each.
        mechanism: its kind; of a simple one whose name says nothing, nothing is usual.

    Returns:
        One finding, or none.
    """
    answered = units is not None and any(AS_TOLD in word for log in logs for word in log.conversions)
    unit = _unit_in([units or ""] if answered else [o.unit for o in mapping(told) if o.signal in _MOTION])
    kind = guess_kind(logs[0].mechanism) if mechanism == "simple" and logs else mechanism
    signals = _signals_in(logs, unit) if kind != "simple" else []
    likely = _likelier_unit(signals, kind, unit)
    if not likely:
        return []
    low, high = _reach(signals, TYPICAL[kind][0])
    text = (
        f"the {TYPICAL[kind][0]} is read as {unit}, as told, and is {low:.3g} to {high:.3g}: what tests of"
        f" this kind ({kind}) reach suggests {likely}."
    )
    remedy = f"if it is in {likely}, say so: {'--units ' + likely if answered else 'in --map'}"
    return [finding("units_suspect", text, remedy, low=low, high=high)]


def _likelier_unit(signals: Sequence[OpenSignal], kind: str, unit: str) -> str:
    """The unit that would make usual what a mechanism of a kind reaches; empty where the given one does."""
    off = _far_off(signals, kind) if signals else {unit: 0.0}
    likely = min(off, key=lambda name: off[name])
    rolls = "meters" in off and unit not in off  # turns of a wheel, which a diameter makes a way
    return "" if rolls or unit == likely or off.get(unit, math.inf) < DOUBTFUL else likely


def _unit_in(words: Sequence[str]) -> str:
    """The unit of gains that words such as "deg/s" are of; empty where none is."""
    shorts = {unit_of(word).partition("/")[0] for word in words if word}
    return next((name for name, short in SHORT.items() if short in shorts), "")


def _reach(signals: Sequence[OpenSignal], what: str) -> tuple[float, float]:
    """Between what the positions or velocities lie, all together; without such, all signals."""
    of = [s for s in signals if s.signal == what] or signals
    return min(s.low for s in of), max(s.high for s in of)


def _signals_in(logs: Sequence[Log], unit: str) -> list[OpenSignal]:
    """Position and velocity of logs in a unit of gains; nothing without one."""
    size = UNITS[unit][0] if unit else math.nan
    return [
        OpenSignal(name, what, log.mechanism, float(s.values.min()) / size, float(s.values.max()) / size)
        for log in (logs if unit else ())
        for name, s in log.signals.items()
        for what in _MOTION
        if name.startswith(what) and "target" not in name
    ]


def question(signals: Sequence[OpenSignal], mechanism: str) -> str:
    """The one question, with every signal and what its numbers suggest."""
    likely = _likely_units(signals, mechanism)
    said = [f"{s.entry} ({s.low:.3g} to {s.high:.3g}, likely {likely[s.mechanism]})" for s in signals]
    listed, which = (
        " and ".join([", ".join(said[:-1]), said[-1]] if said[1:] else said),
        ("is it", "are they"),
    )
    return f"the log states no unit for {listed}. In which unit {which[len(said) > 1]}? ({', '.join(UNITS)})"


def _likely_units(signals: Sequence[OpenSignal], mechanism: str = "simple") -> dict[str, str]:
    """What the numbers of each mechanism suggest; its kind is told of one alone."""
    names = dict.fromkeys(s.mechanism for s in signals)
    kind = mechanism if len(names) == 1 else "simple"
    return {name: likely_unit([s for s in signals if s.mechanism == name], kind) for name in names}


def guess_units(runs: Sequence[Recording]) -> list[Recording]:
    """The runs with what the numbers of signals without a unit suggest beside these."""
    likely = _likely_units(open_signals(runs))

    def suggest(c: Channel, mechanism: str) -> Channel:
        if c.unit != MUST_TELL or c.signal not in _MOTION:
            return c
        return replace(c, likely=likely[mechanism], ask=f"by its numbers {likely[mechanism]} are likely")

    return [replace(r, channels=tuple(suggest(c, r.mechanism) for c in r.channels)) for r in runs]


def with_units(runs: Sequence[Recording], units: str | None, mechanism: str) -> list[Recording]:
    """The runs with the unit that was told, where their file states none.

    Args:
        runs: as the log has them.
        units: radians, degrees, rotations, meters, feet or inches; None: nobody said.
        mechanism: what it is, for the guess.

    Returns:
        Runs of which every unit is known.

    Raises:
        UnitNotStated: nobody said, and the log does not either.
    """
    unknown = open_signals(runs)
    if not unknown:
        return list(runs)
    if units is None:
        likely = _likely_units(unknown, mechanism)
        first, unit = next(iter(likely.items()))
        asked = f"give it with --units, such as --units {unit}"
        if len(likely) > 1:
            asked = f"they are of {' and '.join(likely)}: take one at a time, --name {first} --units {unit}"
        raise UnitNotStated(f"{question(unknown, mechanism)}; {asked}")
    name, per = unit_named(units), unit_of(units).partition("/")[2]
    swift = name == "rotations" and any(
        s.signal == "velocity" and max(-s.low, s.high) > FASTEST for s in unknown
    )
    per = per or ("min" if swift or _per_minute(runs) else "s")
    spelled = {"position": SHORT[name], "velocity": f"{SHORT[name]}/{per}"}
    note = f"in {name}{' and velocity per minute' if per == 'min' else ''}{AS_TOLD}"

    def with_unit(c: Channel) -> Channel:
        return replace(c, unit=spelled[c.signal]) if c.unit == MUST_TELL and c.signal in spelled else c

    return [replace(r, channels=tuple(map(with_unit, r.channels)), notes=(*r.notes, note)) for r in runs]


def _per_minute(runs: Sequence[Recording]) -> bool:
    """Whether positions change by a sixtieth of what their velocities say."""
    ratios = []
    for run in runs:
        by: Mapping[str, Any] = {c.signal: c for c in run.channels if c.unit == MUST_TELL}
        if set(_MOTION) <= set(by):
            p, v = by["position"], by["velocity"]
            way = float(np.sum(0.5 * (v.values[1:] + v.values[:-1]) * np.diff(v.time)))
            moved = float(np.diff(np.interp(v.time[[0, -1]], p.time, p.values))[0])
            if moved and way:
                ratios.append(abs(way / moved))
    return bool(ratios) and abs(math.log(float(np.median(ratios)) / 60.0)) < 0.3
