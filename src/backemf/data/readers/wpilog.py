"""WPILOG 1.0, WPILib's data log: a small reader and a writer of our own.

A log with a SysId state is split into its runs, one recording a run and a motor; any other is one recording with all numbers in it.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .recording import MUST_TELL, Channel, Keep, ReadError, Recording, Report, everything, silent

FORMAT = "WPILOG"
MAGIC = b"WPILOG"
_CONVERTERS = {".hoot": "CTRE's owlet (owlet in.hoot out.wpilog -f wpilog)", ".revlog": "REV Hardware Client 2, or revlog-converter, to WPILOG"}
_STATE = re.compile(r"^(?:.*/)?sysid-test-state(?:-(?P<mechanism>.*))?$")
_SIGNAL = re.compile(r"^(?:.*/)?(?P<signal>voltage|current|position|velocity)-(?P<motor>.+)$")
_TESTS = ("quasistatic-forward", "quasistatic-reverse", "dynamic-forward", "dynamic-reverse")
_UNITS = {
    **dict.fromkeys(("volt", "volts", "v"), "V"),
    **dict.fromkeys(("amp", "amps", "ampere", "amperes", "a"), "A"),
    **dict.fromkeys(("rotation", "rotations", "revolution", "revolutions", "rot", "rev"), "rev"),
    **dict.fromkeys(("radian", "radians", "rad"), "rad"),
    **dict.fromkeys(("degree", "degrees", "deg"), "deg"),
    **dict.fromkeys(("meter", "meters", "metre", "metres", "m"), "m"),
    **dict.fromkeys(("foot", "feet", "ft"), "ft"),
    **dict.fromkeys(("inch", "inches", "in"), "in"),
}
_FORMATS = {"boolean": "?", "int64": "q", "float": "f", "double": "d", "boolean[]": "?", "int64[]": "q", "float[]": "f", "double[]": "d"}
_MOST_COLUMNS = 16
"""Longer arrays are not signals."""


@dataclass
class Entry:
    """One entry of a log: its name, type and metadata, and its records in the order of time."""

    name: str
    type: str
    metadata: str = ""
    times: list[float] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def sorted(self) -> tuple[np.ndarray, list[Any]]:
        """Times [s] and values in order; of several at one moment, the last written."""
        order = sorted(range(len(self.times)), key=self.times.__getitem__)
        last = {self.times[i]: i for i in order}
        return np.array(list(last)), [self.values[i] for i in last.values()]


def can_read(path: Path, head: bytes) -> bool:
    return head.startswith(MAGIC) or path.suffix.lower() in _CONVERTERS


def read_entries(path: Path | str, report: Report = silent) -> list[Entry]:
    """Every entry of a log; an entry whose id was used again after its end is another one unless name and type are the same."""
    path = Path(path)
    if path.suffix.lower() in _CONVERTERS:
        raise ReadError(f"{path.suffix} is a maker's own format; convert it first with {_CONVERTERS[path.suffix.lower()]}")
    data = path.read_bytes()
    if len(data) < 12 or not data.startswith(MAGIC):
        raise ReadError(f"not a WPILOG (it begins with {data[:8]!r})")
    version, extra = struct.unpack_from("<HI", data, 6)
    if version >> 8 != 1:
        raise ReadError(f"WPILOG version {version >> 8}.{version & 255}; expected 1.x")
    found: dict[tuple[str, str], Entry] = {}
    open_: dict[int, Entry] = {}
    for number, micros, payload, at in _records(data, 12 + extra):
        if number == 0:
            _control(payload, open_, found, at)
        elif number in open_:
            entry = open_[number]
            value = _value(entry.type, payload, entry.name)
            if value is not None:
                entry.times.append(micros * 1e-6)
                entry.values.append(value)
    report(1.0)
    return list(found.values())


def _records(data: bytes, at: int) -> Iterator[tuple[int, int, bytes, int]]:
    """(entry, microseconds, payload, place); a record that is cut off ends the log, as when the power goes."""
    size = len(data)
    while at < size:
        bits = data[at]
        n_id, n_size, n_time = (bits & 3) + 1, (bits >> 2 & 3) + 1, (bits >> 4 & 7) + 1
        start = at + 1 + n_id + n_size + n_time
        if start > size:
            return
        number = int.from_bytes(data[at + 1 : at + 1 + n_id], "little")
        length = int.from_bytes(data[at + 1 + n_id : at + 1 + n_id + n_size], "little")
        micros = int.from_bytes(data[start - n_time : start], "little")
        if start + length > size:
            return
        yield number, micros, data[start : start + length], at
        at = start + length


def _control(payload: bytes, open_: dict[int, Entry], found: dict[tuple[str, str], Entry], at: int) -> None:
    if len(payload) < 5:
        raise ReadError(f"a control record at byte {at} has {len(payload)} bytes; expected at least 5")
    kind, number = payload[0], int.from_bytes(payload[1:5], "little")
    if kind == 1:
        open_.pop(number, None)
        return
    texts, place = [], 5
    for _ in range({0: 3, 2: 1}.get(kind, 0)):
        length = int.from_bytes(payload[place : place + 4], "little")
        texts.append(payload[place + 4 : place + 4 + length].decode("utf-8", errors="replace"))
        place += 4 + length
    if kind == 0:
        name, type_, metadata = texts
        open_[number] = found.setdefault((name, type_), Entry(name, type_, metadata))
    elif kind == 2 and number in open_:
        open_[number].metadata = texts[0]


def _value(type_: str, payload: bytes, name: str) -> Any:
    if type_ in ("string", "json"):
        return payload.decode("utf-8", errors="replace")
    letter = _FORMATS.get(type_)
    if letter is None:
        return None
    width = struct.calcsize(letter)
    if len(payload) % width or (not type_.endswith("[]") and len(payload) != width):
        raise ReadError(f"{name!r} is {type_} but a record of it has {len(payload)} bytes")
    values = struct.unpack(f"<{len(payload) // width}{letter}", payload)
    return values if type_.endswith("[]") else float(values[0])


def unit_of(metadata: str) -> str:
    """The unit that metadata names: WPILib's "Rotation per Second", an abbreviation, or {"unit": ...}; empty where it names none."""
    text = metadata.strip()
    if text.startswith("{"):
        try:
            found = json.loads(text)
            text = str(found.get("unit") or found.get("units") or "") if isinstance(found, dict) else ""
        except json.JSONDecodeError:
            return ""
    parts = re.split(r"\s+per\s+|/", text.lower().strip())
    base = _UNITS.get(parts[0], "")
    if not base or len(parts) > 2:
        return ""
    return base if len(parts) == 1 else f"{base}/s" if parts[1] in ("second", "s", "sec") else f"{base}/min" if parts[1] in ("minute", "min") else ""


def entries(path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
    """The runs of a SysId log, or all numbers of any other."""
    logged = read_entries(path, report)
    states = [e for e in logged if e.type == "string" and _STATE.match(e.name) and e.values]
    if states:
        runs = [recording for state in states for recording in _runs(path, state, logged)]
        if runs:
            return runs
    channels = [c for e in logged for c in _channels(e)]
    if not channels:
        raise ReadError("no numbers in the log; expected boolean, int64, float or double entries")
    wanted = set(keep([Channel(name=c.name, unit=c.unit, n=c.n, low=c.low, high=c.high) for c in channels]))
    channels = [c if c.name in wanted else Channel(name=c.name, unit=c.unit, n=c.n, low=c.low, high=c.high) for c in channels]
    hint = "name the entries: --map 'position=/arm/position[rev]' --map 'voltage=/arm/volts'"
    return [Recording(name=path.stem, source=str(path), format=FORMAT, channels=tuple(channels), hint=hint)]


def _channels(entry: Entry) -> list[Channel]:
    if entry.type not in _FORMATS or not entry.values:
        return []
    times, values = entry.sorted()
    unit = unit_of(entry.metadata)
    if not entry.type.endswith("[]"):
        return [Channel.of(entry.name, values, unit=unit, time=times)]
    width = min(len(v) for v in values)
    if width > _MOST_COLUMNS:
        return []
    return [Channel.of(f"{entry.name}.{k}", [v[k] for v in values], unit=unit, time=times) for k in range(width)]


def _runs(path: Path, state: Entry, logged: Sequence[Entry]) -> list[Recording]:
    match = _STATE.match(state.name)
    mechanism = (match["mechanism"] if match else None) or ""
    motors: dict[str, dict[str, Entry]] = {}
    for entry in logged:
        found = _SIGNAL.match(entry.name)
        if found and entry.type in ("double", "float") and entry.values and found["motor"].endswith(mechanism):
            motor = found["motor"].removesuffix(mechanism).rstrip("-") or mechanism
            motors.setdefault(motor, {})[found["signal"]] = entry
    times, states = state.sorted()
    ends = np.append(times[1:], np.inf)
    out, count = [], dict.fromkeys(_TESTS, 0)
    for start, end, test in zip(times, ends, states, strict=True):
        if test not in _TESTS:
            continue
        count[test] += 1
        for motor, signals in motors.items():
            channels = [c for signal, entry in signals.items() for c in [_cut(signal, entry, start, end)] if c is not None]
            if {"voltage", "current"} & {c.signal for c in channels} and {"position", "velocity"} & {c.signal for c in channels}:
                name = f"{test} {motor} ({path.stem} {mechanism} {count[test]})"
                out.append(Recording(name=name, source=str(path), format=FORMAT, channels=tuple(channels), notes=(f"run {count[test]} of {test}",)))
    return out


def _cut(signal: str, entry: Entry, start: float, end: float) -> Channel | None:
    times, values = entry.sorted()
    keep = (times >= start) & (times < end)
    if keep.sum() < 2:
        return None
    unit = unit_of(entry.metadata) or {"voltage": "V", "current": "A"}.get(signal, MUST_TELL)
    return Channel.of(entry.name, np.asarray(values, float)[keep], unit=unit, signal=signal, time=times[keep])


def write_wpilog(path: Path | str, logged: Mapping[str, tuple[str, str, Iterable[tuple[float, Any]]]], *, extra: str = "", force: bool = False) -> Path:
    """Write entries {name: (type, metadata, [(time [s], value), ...])}: first all starts, then the records as they are given."""
    path = Path(path)
    if path.exists() and not force:
        raise ReadError(f"{path} exists; give force=True to write over it")
    parts = [MAGIC, struct.pack("<HI", 0x0100, len(extra.encode())), extra.encode()]
    for number, (name, (type_, metadata, _)) in enumerate(logged.items(), start=1):
        texts = b"".join(struct.pack("<I", len(t.encode())) + t.encode() for t in (name, type_, metadata))
        parts.append(_record(0, 0, b"\x00" + struct.pack("<I", number) + texts))
    for number, (name, (type_, _, records)) in enumerate(logged.items(), start=1):
        parts += [_record(number, round(time * 1e6), _payload(type_, value, name)) for time, value in records]
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_bytes(b"".join(parts))
    os.replace(temporary, path)
    return path


def _payload(type_: str, value: Any, name: str) -> bytes:
    if type_ in ("string", "json"):
        return str(value).encode()
    if type_ not in _FORMATS:
        raise ReadError(f"{name!r} has the type {type_!r}, which cannot be written; expected string, json, {', '.join(_FORMATS)}")
    values = value if type_.endswith("[]") else [value]
    return struct.pack(f"<{len(values)}{_FORMATS[type_]}", *values)


def _record(number: int, micros: int, payload: bytes) -> bytes:
    sizes = [max(1, (x.bit_length() + 7) // 8) for x in (number, len(payload), micros)]
    bits = (sizes[0] - 1) | (sizes[1] - 1) << 2 | (sizes[2] - 1) << 4
    return b"".join([bytes([bits]), *(x.to_bytes(n, "little") for x, n in zip((number, len(payload), micros), sizes, strict=True)), payload])
