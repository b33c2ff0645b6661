"""Plain content, whichever text it came from: a list of entries, or lists of numbers by name, with single
facts beside them. And what servos on a pendulum record so: `entries` with timestamp, position, goal_position,
torque_enable, beside mass, length, kp and vin."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ... import signal
from ...bounds import check_channels
from ...errors import BackemfError
from ...files import list_in
from ...findings import Finding, finding
from ...physics.bench import Pendulum
from ...physics.maths import is_number
from ...signal import Command
from ..recording import Channel, Columns, ReadError, Recording

FORMAT = "pendulum entries"
FACTS = ("mass", "length", "arm_mass", "kp", "vin", "motor", "trajectory")
KNOWN = {
    "timestamp": ("time", "s"),
    "position": ("position", "rad"),
    "speed": ("velocity", "rad/s"),
    "goal_position": ("position_target", "rad"),
    "torque_enable": ("enabled", ""),
    "temp": ("temperature", "degC"),
}
"""Keys of an entry: the signal, and the unit these recordings are written in."""
PER_VOLT = {"V": 1.0, "dV": 10.0, "mV": 1000.0}
"""How many of a unit a volt is; servos count their supply in any of these."""


def is_one(facts: dict[str, Any]) -> bool:
    """Whether the facts beside `entries` are those of a pendulum."""
    return any(key in facts for key in ("mass", "length", "kp", "vin"))


def recording(path: Path, facts: dict[str, Any], table: Columns) -> Recording:
    """The channels, the bench and the settings of one pendulum recording."""
    columns = table.finish()
    findings: list[Finding] = []
    notes = [f"{key} {facts[key]!r:.60}" for key in ("motor", "trajectory") if facts.get(key)]
    notes += [f"{key!r} = {value!r:.40} not used" for key, value in facts.items() if key not in FACTS]
    settings = {}
    for key, parameter in (("kp", "drive.proportional"), ("vin", "drive.supply")):
        value = _number(facts, key)
        if value is None:
            text = f"{key!r} is not in the file; {parameter} is not set"
            findings.append(finding(f"{key}_missing", text, f'settings={{"{parameter}": ...}}'))
        else:
            settings[parameter] = value
            notes.append(f"{key} {value:g} is {parameter}")
    channels = []
    for name, values in columns.items():
        signal, unit = KNOWN.get(name, ("", ""))
        if name == "input_volts":
            unit, signal = _supply(values, settings.get("drive.supply"), findings)
        channels.append(Channel.of(name, values, signal=signal, unit=unit))
    notes += [f"{name!r} holds text ({text!r:.30}) and is not used" for name, text in table.text.items()]
    for name, (n, first) in table.missing.items():
        text = f"{n} of {table.n} entries have no {name!r}, first entry {first}"
        findings.append(finding("missing_key", text, "write every key in every entry", entries=n))
    bench, needs = _bench(facts, findings), _needs(columns, table)
    told = {"notes": (*notes, *(f.text for f in findings)), "findings": tuple(findings), "needs": needs}
    more = {"bench": bench, "settings": settings, "where": "entry {}".format}
    return Recording.of(path, FORMAT, channels, **told, **more)


def _needs(columns: dict[str, np.ndarray], table: Columns) -> dict[str, str]:
    """Time and position in every entry, and something that was asked unless the torque is off throughout."""
    for name in ("timestamp", "position"):
        if name in table.missing:
            n, first = table.missing[name]
            lacking = f"entry {first} has no {name!r} ({n} of {table.n} entries)"
            raise ReadError(f"{lacking}; expected it in every entry")
    text = f"they have: {', '.join(columns) or 'nothing'}"
    needs = {"time": "'timestamp'", "position": "'position'"}
    if "torque_enable" not in columns or np.any(columns["torque_enable"]):
        needs["command"] = "'goal_position' or other command, and torque is not off throughout"
    return {signal: f"the entries have no {what}; {text}" for signal, what in needs.items()}


def _supply(values: np.ndarray, vin: float | None, findings: list[Finding]) -> tuple[str, str]:
    """(unit, signal) of the supply: volts, tenths or thousandths, whichever the nominal voltage says."""
    measured = float(np.nanmedian(values)) if np.isfinite(values).any() else math.nan
    if measured == 0:
        return "V", "supply"
    for unit, per_volt in PER_VOLT.items():
        if vin and 0.75 < measured / per_volt / vin < 1.33:
            if unit != "V":
                text = f"input_volts is {measured:g} where vin is {vin:g} V: read in {unit}"
                remedy = "nothing, if that is right; otherwise map it: supply=input_volts[V]"
                findings.append(finding("supply_scaled", text, remedy, median=measured, vin=vin))
            return unit, "supply"
    against = f"where vin is {vin:g} V" if vin else "and there is no vin to compare it with"
    text = f"input_volts is {measured:g} {against}: its unit cannot be told, and it is left out"
    findings.append(finding("supply_unclear", text, "map it: supply=input_volts[dV]", median=measured))
    return "", "none"


def _bench(facts: dict[str, Any], findings: list[Finding]) -> Pendulum | None:
    mass, length, arm_mass = _number(facts, "mass"), _number(facts, "length"), _number(facts, "arm_mass")
    if mass is None or length is None:
        lacking = " and ".join(k for k, v in (("mass", mass), ("length", length)) if v is None)
        text = f"{lacking} not in the file: the bench is not known"
        findings.append(finding("bench_missing", text, "give it: bench=Pendulum(mass=..., length=...)"))
        return None
    if arm_mass is None:
        text = "arm_mass not in the file: the arm counts as massless"
        remedy = "weigh the arm: bench=Pendulum(mass=..., length=..., arm_mass=...)"
        findings.append(finding("arm_mass_missing", text, remedy))
    return Pendulum(mass=mass, length=length, arm_mass=arm_mass or 0.0)


def _number(facts: dict[str, Any], key: str) -> float | None:
    """A single fact as a number; None where it is missing or empty."""
    value = facts.get(key)
    if value is None:
        return None
    if not is_number(value) or not math.isfinite(value):
        raise ReadError(f"{key!r} is {value!r:.40}; expected a number")
    return float(value)


Item = tuple[str, Any, bool]
"""A key of the outermost object (empty: there is none), a value,
and whether it is one element of a list under that key."""


def walk(content: Any) -> Iterable[Item]:
    """The items of content that is in memory already."""
    if isinstance(content, list):
        yield from (("", value, True) for value in content)
    elif isinstance(content, dict):
        for key, value in content.items():
            if isinstance(value, list):
                yield from ((str(key), element, True) for element in value)
            else:
                yield str(key), value, False
    else:
        raise ReadError(f"expected entries or lists of numbers, found {content!r:.60}")


def recordings(path: Path, format: str, items: Iterable[Item]) -> list[Recording]:
    """The recording that items make.

    Args:
        path: the file.
        format: its format, as people know it.
        items: of its outermost object or list.

    Returns:
        The one recording.

    Raises:
        ReadError: there is nothing in it that was recorded.
    """
    facts, tables = _collect(items)
    if not tables:
        there = ", ".join(repr(k) for k in facts) or "nothing"
        wanted = "expected 'entries' with one object a sample"
        raise ReadError(f"no entries and no lists of numbers; {wanted}, found: {there}")
    if "entries" in tables and is_one(facts):
        return [recording(path, facts, tables["entries"])]
    channels, notes = _channels(tables)
    command, said = named_command(facts)
    notes += said
    if facts:
        notes.append(f"single values, not signals: {', '.join(f'{k} = {v!r:.40}' for k, v in facts.items())}")
    where = "entry {}".format
    return [Recording.of(path, format, channels, notes=tuple(notes), where=where, command=command)]


def _collect(items: Iterable[Item]) -> tuple[dict[str, Any], dict[str, Columns]]:
    """(single facts, columns by the list they stand in)."""
    facts: dict[str, Any] = {}
    tables: dict[str, Columns] = {}
    for key, value, element in items:
        if element:
            tables.setdefault(key, Columns()).add(value)
            check_channels(len(tables))
        elif isinstance(value, dict):  # one level down: {"motor": {"t": [...], "q": [...]}}
            for name, inner in value.items():
                for item in list_in(inner):
                    tables.setdefault(f"{key}.{name}", Columns()).add(item)
                if not isinstance(inner, list | dict):
                    facts[f"{key}.{name}"] = inner
        else:
            facts[key] = value
    return facts, {key: table for key, table in tables.items() if table.n}


def _channels(tables: Mapping[str, Columns]) -> tuple[list[Channel], list[str]]:
    """(channels, what to note of those that are left out or have gaps)."""
    rows = [key for key, table in tables.items() if "" not in table.columns]  # the others are of numbers
    channels, notes = [], []
    for key, table in tables.items():
        for name, values in table.finish().items():
            prefix = "" if [key] == rows or not key else key
            channels.append(Channel.of(".".join(word for word in (prefix, name) if word), values))
        for name, text in table.text.items():
            notes.append(f"channel {name or key!r} holds text ({text!r:.30}) and is not used")
        for name, (n, first) in table.missing.items():
            notes.append(f"{n} entries have no {name!r}, first entry {first}")
    return channels, notes


def named_command(facts: dict[str, Any]) -> tuple[Command | None, list[str]]:
    """(the command that single values name, notes): words under `command`, or the square wave of the SG90
    article, b + A for the first share w of each period of frequency f from t_0 on, b for the rest."""
    named = facts.get("command")
    if isinstance(named, str):
        try:
            return signal.read(named), []
        except BackemfError as error:
            return None, [f"the command {named!r:.40} is not used: {error}"]
    there = [facts.get(name) for name in ("A", "f", "w", "b", "t_0")]
    numbers = [float(x) for x in there if x is not None and is_number(x)]
    if len(numbers) < len(there):
        return None, []
    A, f, w, b, t_0 = numbers
    try:
        return signal.square(0.5 * A, f, duty=w, offset=b + 0.5 * A, at=t_0), []
    except BackemfError as error:
        return None, [f"the square wave A, f, w, b, t_0 is not used: {error}"]
