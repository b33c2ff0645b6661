"""WPILOG 1.0, WPILib's data log: a small reader and a writer of our own.

A log with the states of a SysId routine is split into its runs (wpilog_runs); any other is one recording with
all numbers in it.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...bounds import Unpacking, bytes_of, check_channels
from ...files import write_all
from ...logs.recording import Channel, Keep, ReadError, Recording, Report, everything, silent

FORMAT = "WPILOG"
SUFFIXES = (".wpilog",)
MAGIC = b"WPILOG"
CONVERTERS = {
    ".hoot": "CTRE's owlet (owlet -f wpilog in.hoot out.wpilog)",
    ".revlog": (
        "REV's revlog-converter (npm install -g @rev-robotics/revlog-converter, then revlog-converter"
        " in.revlog -o out.wpilog)"
    ),
    ".rlog": "AdvantageScope (open it, then File, Export Data, and the format WPILOG)",
}
"""Makers' own formats, and what converts them: CTRE's Phoenix (docs.ctr-electronics.com, log extractor), REV
(github.com/REVrobotics/node-revlog-converter), AdvantageKit's old one (docs.advantagescope.org, export)."""
_UNITS = {
    **dict.fromkeys(("volt", "volts", "v"), "V"),
    **dict.fromkeys(("amp", "amps", "ampere", "amperes", "a"), "A"),
    **dict.fromkeys(("rotation", "rotations", "revolution", "revolutions", "rot", "rev"), "rev"),
    **{"rpm": "rev/min", "rps": "rev/s"},
    **dict.fromkeys(("radian", "radians", "rad"), "rad"),
    **dict.fromkeys(("degree", "degrees", "deg"), "deg"),
    **dict.fromkeys(("meter", "meters", "metre", "metres", "m"), "m"),
    **dict.fromkeys(("foot", "feet", "ft"), "ft"),
    **dict.fromkeys(("inch", "inches", "in"), "in"),
}
_LETTERS = {"boolean": "?", "int64": "q", "float": "f", "double": "d"}
_FORMATS = {f"{type_}{end}": letter for end in ("", "[]") for type_, letter in _LETTERS.items()}
_PER = {"second": "/s", "s": "/s", "sec": "/s", "minute": "/min", "min": "/min"}
_MOST_COLUMNS = 16
"""Longer arrays are not signals."""
OFTEN = 100_000
"""Records between two words of how far a log is read."""


@dataclass
class Series:
    """One entry of a log: its name, type and metadata, and its records as they were written."""

    name: str
    type: str
    metadata: str = ""
    times: list[float] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def in_order(self) -> tuple[np.ndarray, list[Any]]:
        """Times [s] and values in order; of several at one moment, the last written."""
        order = sorted(range(len(self.times)), key=self.times.__getitem__)
        last = {self.times[i]: i for i in order}
        return np.array(list(last)), [self.values[i] for i in last.values()]


def can_read(path: Path, head: bytes) -> bool:
    return head.startswith(MAGIC) or path.suffix.lower() in CONVERTERS


def read_entries(path: Path | str, report: Report = silent) -> list[Series]:
    """Every entry of a log; an entry whose id was used again after its end is another one unless name and
    type are the same."""
    path = Path(path)
    converter = CONVERTERS.get(path.suffix.lower())
    if converter is not None:
        raise ReadError(f"{path.suffix} is a maker's own format; convert it first with {converter}")
    content = bytes_of(path)
    if len(content) < 12 or not content.startswith(MAGIC):
        raise ReadError(f"not a WPILOG (it begins with {content[:8]!r})")
    version, extra = struct.unpack_from("<HI", content, 6)
    if version >> 8 != 1:
        raise ReadError(f"WPILOG version {version >> 8}.{version & 255}; expected 1.x")
    begun: dict[tuple[str, str], Series] = {}
    open_: dict[int, Series] = {}
    unpacking = Unpacking()
    for k, (number, micros, payload, at) in enumerate(_records(content, 12 + extra)):
        if k % OFTEN == OFTEN - 1:
            report(at / len(content))
        if number == 0:
            _control(payload, open_, begun, at)
        elif number in open_:
            series = open_[number]
            unpacking.rows(1)
            value = _value(series.type, payload, series.name)
            if value is not None:
                series.times.append(micros * 1e-6)
                series.values.append(value)
    report(1.0)
    return list(begun.values())


def _records(content: bytes, at: int) -> Iterator[tuple[int, int, bytes, int]]:
    """(entry, microseconds, payload, place); a record that is cut off ends the log,
    as when the power goes."""
    size = len(content)
    while at < size:
        bits = content[at]
        n_id, n_size, n_time = (bits & 3) + 1, (bits >> 2 & 3) + 1, (bits >> 4 & 7) + 1
        start = at + 1 + n_id + n_size + n_time
        if start > size:
            return
        number = int.from_bytes(content[at + 1 : at + 1 + n_id], "little")
        length = int.from_bytes(content[at + 1 + n_id : at + 1 + n_id + n_size], "little")
        micros = int.from_bytes(content[start - n_time : start], "little")
        if start + length > size:
            return
        yield number, micros, content[start : start + length], at
        at = start + length


def _control(payload: bytes, open_: dict[int, Series], begun: dict[tuple[str, str], Series], at: int) -> None:
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
        open_[number] = begun.setdefault((name, type_), Series(name, type_, metadata))
    elif kind == 2 and number in open_:
        open_[number].metadata = texts[0]


def _value(type_: str, payload: bytes, name: str) -> Any:
    if type_ in ("string", "json"):
        return payload.decode("utf-8", errors="replace")
    if type_ == "raw":
        return payload
    if type_ == "string[]":
        return _strings(payload, name)
    letter = _FORMATS.get(type_)
    if letter is None:
        return None
    width = struct.calcsize(letter)
    if len(payload) % width or (not type_.endswith("[]") and len(payload) != width):
        raise ReadError(f"{name!r} is {type_} but a record of it has {len(payload)} bytes")
    values = struct.unpack(f"<{len(payload) // width}{letter}", payload)
    return values if type_.endswith("[]") else float(values[0])


def _strings(payload: bytes, name: str) -> tuple[str, ...]:
    """A count, then each text after its length."""
    texts, place = [], 4
    for _ in range(int.from_bytes(payload[:4], "little")):
        length = int.from_bytes(payload[place : place + 4], "little")
        if place + 4 + length > len(payload):
            raise ReadError(f"{name!r} is string[] but a record of it ends in the middle of a text")
        texts.append(payload[place + 4 : place + 4 + length].decode("utf-8", errors="replace"))
        place += 4 + length
    return tuple(texts)


def unit_of(metadata: str) -> str:
    """The unit that metadata names: WPILib's "Rotation per Second", an abbreviation, or {"unit": ...};
    empty where it names none."""
    text = metadata.strip()
    if text.startswith("{"):
        try:
            facts = json.loads(text)  # an object, for it begins like one
            text = str(facts.get("unit") or facts.get("units") or "")
        except json.JSONDecodeError:
            return ""
    unit, *per = re.split(r"\s+per\s+|/", text.lower().strip())
    if unit not in _UNITS or len(per) > 1 or not set(per) <= set(_PER):
        return ""
    return _UNITS[unit] + "".join(_PER[one] for one in per)


def entries(
    path: Path, keep: Keep = everything, report: Report = silent, preset: str | None = None
) -> list[Recording]:
    """The runs of a SysId log, or all numbers of any other.
    `preset` names the logger that wrote it (see wpilog_runs)."""
    from .wpilog_runs import find_runs

    logged = read_entries(path, report)
    runs, unclear = find_runs(path, logged, preset)
    return runs or [whole(path, logged, keep, unclear)]


def whole(path: Path, logged: Iterable[Series], keep: Keep = everything, unclear: str = "") -> Recording:
    """All numbers of a log, by the names of their entries.

    Args:
        path: of the file, for names.
        logged: its entries.
        keep: says whose values are wanted; the others are listed without them.
        unclear: what is said where no signal is recognised.

    Returns:
        One recording.

    Raises:
        ReadError: where no entry holds numbers.
    """
    channels: list[Channel] = []
    for series in logged:
        channels += _channels(series)
        check_channels(len(channels))
    if not channels:
        raise ReadError("no numbers in the log; expected boolean, int64, float or double entries")
    titles = [replace(c, values=None, time=None) for c in channels]
    wanted = set(keep(titles))
    kept = [c if c.name in wanted else title for c, title in zip(channels, titles, strict=True)]
    hint = unclear or "name the entries: --map 'position=/arm/position[rev]' --map 'voltage=/arm/volts'"
    return Recording.of(path, FORMAT, kept, hint=hint)


def _channels(series: Series) -> list[Channel]:
    if series.type not in _FORMATS or not series.values:
        return []
    times, values = series.in_order()
    known = {"unit": unit_of(series.metadata), "time": times}
    if not series.type.endswith("[]"):
        return [Channel.of(series.name, values, **known)]
    width = min(len(v) for v in values)
    if width > _MOST_COLUMNS:
        return []
    return [Channel.of(f"{series.name}.{k}", [v[k] for v in values], **known) for k in range(width)]


def write_wpilog(
    path: Path | str,
    logged: Mapping[str, tuple[str, str, Iterable[tuple[float, Any]]]],
    *,
    extra: str = "",
    force: bool = False,
) -> Path:
    """Write a log: first the starts of all entries, then the records as they are given.

    Args:
        path: where to.
        logged: {name: (type, metadata, [(time [s], value), ...])}.
        extra: text of the header.
        force: overwrite what exists.

    Returns:
        Where it was written.
    """
    parts = [MAGIC, struct.pack("<HI", 0x0100, len(extra.encode())), extra.encode()]
    for number, (name, (type_, metadata, _)) in enumerate(logged.items(), start=1):
        texts = b"".join(_with_length(text) for text in (name, type_, metadata))
        parts.append(_record(0, 0, b"\x00" + struct.pack("<I", number) + texts))
    for number, (name, (type_, _, records)) in enumerate(logged.items(), start=1):
        parts += [_record(number, round(time * 1e6), _payload(type_, value, name)) for time, value in records]
    return write_all({Path(path): b"".join(parts)}, force=force)[0]


def _payload(type_: str, value: Any, name: str) -> bytes:
    if type_ in ("string", "json"):
        return str(value).encode()
    if type_ == "raw":
        return bytes(value)
    if type_ == "string[]":
        return struct.pack("<I", len(value)) + b"".join(_with_length(text) for text in value)
    if type_ not in _FORMATS:
        wanted = f"expected raw, string, string[], json, {', '.join(_FORMATS)}"
        raise ReadError(f"{name!r} has the type {type_!r}, which cannot be written; {wanted}")
    values = value if type_.endswith("[]") else [value]
    return struct.pack(f"<{len(values)}{_FORMATS[type_]}", *values)


def _with_length(text: str) -> bytes:
    """A text after its length."""
    return struct.pack("<I", len(text.encode())) + text.encode()


def _record(number: int, micros: int, payload: bytes) -> bytes:
    fields = (number, len(payload), micros)
    sizes = [max(1, (x.bit_length() + 7) // 8) for x in fields]
    bits = (sizes[0] - 1) | (sizes[1] - 1) << 2 | (sizes[2] - 1) << 4
    packed = (x.to_bytes(n, "little") for x, n in zip(fields, sizes, strict=True))
    return b"".join([bytes([bits]), *packed, payload])
