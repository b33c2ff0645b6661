"""One mapping for every format: `position=motor_pos[deg],-1` says which channel a signal is,
in which unit and with which sign."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import store
from ..errors import BackemfError, UnknownName
from . import names, robot
from .log import ASKED, MEASURED, several
from .recording import MUST_TELL, Channel, ReadError, Recording

NONE = "none"
"""`none=load` leaves a channel out, `velocity=none` a signal."""
ROW = "row"
"""A channel that every file has: the number of the row, from 0. `time=row[ms],5` is one row every 5 ms."""
JOINT = ".pos"
"""Behind the name of a joint: `position=shoulder_pan.pos[deg]` is for that joint's recordings alone."""
SHARES = {"-100..100": 200.0, "RANGE_M100_100": 200.0, "0..100": 100.0, "RANGE_0_100": 100.0}
"""Shares of a joint's range, as LeRobot spells them: on a robot they stand for a unit."""
WHOLE = "joint"
"""On a robot, `elbow=Elbow_1,-1` says under which name a joint was recorded, and with which sign."""
SIGNALS = ("time", *MEASURED, *ASKED)
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_TEXT = re.compile(
    rf"^(?P<channel>\"[^\"]+\"|'[^']+'|.+?)\s*(?:\[(?P<unit>[^\[\]]*)\])?"
    rf"(?:\s*,\s*(?P<factor>{_NUMBER})(?:/(?P<divisor>{_NUMBER}))?\s*(?P<offset>[+-]\s*{_NUMBER})?)?"
    r"(?:\s*@\s*(?P<clock>.+?))?$"
)


_RANGE = re.compile(
    rf"^(?P<low>{_NUMBER})\s*\.\.\s*(?P<high>{_NUMBER})\s+is\s+"
    rf"(?P<first>{_NUMBER})\s*\.\.\s*(?P<last>{_NUMBER})\s*(?P<unit>\S.*)$"
)
"""`-100..100 is -110..110 deg`: a share of a range."""
GOALS = frozenset({"goal", "target", "setpoint", "desired", "reference", "ref"})
"""Words that alone stand for what the one measured quantity was asked to be."""


class MappingError(BackemfError, ValueError):
    """A mapping that cannot be understood."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a signal comes from: SI value = (channel * factor + offset) in `unit`."""

    signal: str
    channel: str
    unit: str = ""
    """Empty: as the file states it, otherwise SI."""
    factor: float = 1.0
    offset: float = 0.0
    """In the same unit, added after the factor."""
    clock: str = ""
    """The channel with its times; empty: the recording's time."""
    by: str = "told"
    """Who says so: "told" (the mapping), "format" (the file's own layout), or "name" (recognised)."""
    joint: str = ""
    """On a robot, the joint that it is for: `elbow.position=enc_3[deg]`; empty: as its name says."""

    calibrated: robot.CalibratedJoint | None = None
    """What a calibration file says of it, where that is who says so."""

    @property
    def left(self) -> str:
        """What stands before the equals sign."""
        named = self.joint if self.signal == WHOLE else f"{self.joint}.{self.signal}"
        return named if self.joint else self.signal

    def __str__(self) -> str:
        """The text that `parse` reads back."""
        quote = "" if not re.search(r"[\[\],@\"']", self.channel) else "'" if '"' in self.channel else '"'
        unit = f"[{self.unit}]" if self.unit else ""
        numbers = f",{_digits(self.factor)}" if self.factor != 1 or self.offset else ""
        if self.offset:
            numbers += ("+" if self.offset > 0 else "") + _digits(self.offset)
        clock = f"@{self.clock}" if self.clock else ""
        return f"{self.left}={quote}{self.channel}{quote}{unit}{numbers}{clock}"


def _digits(value: float) -> str:
    return repr(value).removesuffix(".0")


def parse(text: str, joints: Collection[str] = ()) -> Origin:
    """An origin from text: `position=motor_pos[deg],-1`,
    `position=enc[rev],1/4096-0.5`, `current=i[mA]@t_current`; of a robot's `joints` also
    `elbow.position=enc_3[deg]` and `elbow=Elbow_1,-1`."""
    left, equals, rest = (part.strip() for part in text.partition("="))
    joint, signal = _left_side(left, joints)
    match = _TEXT.match(rest)
    if not equals or not signal or match is None:
        wanted = "expected signal=channel[unit],factor such as 'position=motor_pos[deg],-1'"
        raise MappingError(f"{text!r} is not a mapping; {wanted}")
    if signal not in (*SIGNALS, NONE) and not joint:
        kind = "signal or joint" if joints else "signal"
        raise UnknownName(f"{kind} in {text!r}", left, (*SIGNALS, *joints))
    channel = _unquote(match["channel"])
    factor = _factor(match, text)
    offset = float(match["offset"].replace(" ", "")) if match["offset"] else 0.0
    unit, share, first = _range((match["unit"] or "").strip(), text)
    factor, offset = factor * share, offset * share + first
    _check_unit(unit, signal, left, text, bool(joints))
    clock = (match["clock"] or "").strip()
    said = {"unit": unit, "factor": factor, "offset": offset, "clock": clock}
    return Origin(signal=signal, channel=channel, joint=joint, **said)


def _check_unit(unit: str, signal: str, left: str, text: str, of_robot: bool) -> None:
    if unit in SHARES and not of_robot:
        remedy = f"say the range as well: [{unit} is -110..110 deg]"
        raise MappingError(f"{text!r} is a share of a range, which no robot's model tells; {remedy}")
    if unit and signal != NONE and unit not in SHARES:
        names.to_si(unit, "position" if signal == WHOLE else signal, left)


def _unquote(channel: str) -> str:
    quoted = channel[0] in "\"'" and channel[-1] == channel[0] and len(channel) > 2
    return channel[1:-1] if quoted else channel


def _factor(match: re.Match[str], text: str) -> float:
    factor = float(match["factor"]) if match["factor"] else 1.0
    if match["divisor"]:
        if float(match["divisor"]) == 0:
            raise MappingError(f"{text!r} divides by 0")
        factor /= float(match["divisor"])
    if factor == 0:
        raise MappingError(f"{text!r} multiplies by 0; expected a factor such as -1 or 0.001")
    return factor


def _left_side(text: str, joints: Collection[str]) -> tuple[str, str]:
    """(joint, signal) of what stands before the equals sign."""
    if text in joints:
        return text, WHOLE
    joint, dot, signal = text.rpartition(".")
    return (joint, signal) if dot and joint in joints and signal in SIGNALS else ("", text)


def _range(unit: str, text: str) -> tuple[str, float, float]:
    """(unit, factor, offset) of what stands in the brackets: a unit, or a range and what it is."""
    match = _RANGE.match(unit)
    if match is None:
        return unit, 1.0, 0.0
    low, high, first, last = (float(match[name]) for name in ("low", "high", "first", "last"))
    if low == high or first == last:
        raise MappingError(
            f"{text!r} has a range of no width; expected one such as [-100..100 is -110..110 deg]"
        )
    share = (last - first) / (high - low)
    return match["unit"].strip(), share, first - low * share


def mapping(given: Any, joints: Collection[str] = ()) -> tuple[Origin, ...]:
    """A mapping from whatever says it: text, several texts, a dictionary, a saved file,
    or a mapping already; a signal may have a channel for each of a robot's `joints`."""
    if given is None:
        return ()
    if isinstance(given, Origin):
        return (given,)
    if hasattr(given, "items"):  # channels by signal
        given = [f"{signal}={text}" for signal, texts in given.items() for text in several(texts)]
    items = several(given)
    if len(items) != 1 or items[0] is not given:
        return _check_origins([origin for item in items for origin in mapping(item, joints)], joints)
    try:
        text = os.fspath(given)
        is_file = text != given or ("=" not in text and text.endswith(".json"))
    except TypeError:
        wanted = "expected text such as 'position=motor_pos[deg],-1', a list of them, or a file"
        raise MappingError(f"the mapping is {given!r}; {wanted}") from None
    return read(text, joints) if is_file else (parse(text, joints),)


def _check_origins(origins: list[Origin], joints: Collection[str] = ()) -> tuple[Origin, ...]:
    seen: dict[str, Origin] = {}
    for origin in origins:
        of_joints = {origin.channel, seen.get(origin.left, origin).channel}
        several = len(of_joints) == 2 and (
            (joints and not origin.joint) or all(name.endswith(JOINT) for name in of_joints)
        )
        if origin.signal != NONE and origin.left in seen and not several:
            raise MappingError(f"{origin.left} is mapped twice: {seen[origin.left]} and {origin}")
        seen[origin.left] = origin
    return tuple(origins)


def write(origins: Any, path: Path | str, *, joints: Collection[str] = (), force: bool = False) -> Path:
    """Save a mapping for the next time, as JSON.

    Args:
        origins: a mapping from whatever says it (`mapping`).
        path: the file.
        joints: names of a robot's joints, where the mapping is for one.
        force: whether an existing file is overwritten.

    Returns:
        The file that was written.
    """
    content: dict[str, Any] = {}
    for origin in mapping(origins, joints):
        text = str(origin).partition("=")[2]
        if origin.signal == NONE or (joints and not origin.joint):
            content.setdefault(origin.signal, []).append(text)
        else:
            content[origin.left] = text
    return store.write_json({"backemf": store.VERSION, "map": content}, path, force=force)


def read(path: Path | str, joints: Collection[str] = ()) -> tuple[Origin, ...]:
    """A saved mapping, or a robot's calibration: the range of each joint."""
    ranges = robot.read(path)
    if ranges:
        return tuple(
            Origin(
                signal="position",
                channel=f"{joint}{JOINT}",
                unit="rev",
                factor=robot.share(joint, of),
                calibrated=of,
            )
            for joint, of in ranges.items()
        )
    content = store.read_json(path)
    if set(content) != {"map"} or not isinstance(content["map"], dict):
        wanted = "expected the one key 'map' with an object of signal: channel"
        raise MappingError(f"{path} holds no mapping; {wanted}")
    return mapping(content["map"], joints)


@dataclass(frozen=True, kw_only=True)
class ChannelMapping:
    """Which channel becomes which signal, and what happens to the others."""

    origins: tuple[Origin, ...]
    unused: tuple[tuple[str, str], ...] = ()
    """Channels that become nothing, with the reason."""
    problems: tuple[str, ...] = ()
    """What cannot be decided without being told."""

    @property
    def channels(self) -> set[str]:
        return {name for s in self.origins for name in (s.channel, s.clock) if name}


def plan(channels: Sequence[Channel], origins: Sequence[Origin]) -> ChannelMapping:
    """What was told comes first; the rest is recognised by what the format or the name says.
    Two answers are a problem, not a choice."""
    planner = _MappingPlanner(channels, origins)
    for origin in origins:
        planner.take_told(origin)
    used = {o.channel for o in planner.origins} | {o.clock for o in planner.origins}
    used |= {name for name, _ in planner.unused}
    for channel in channels:
        if channel.name not in used:
            planner.recognise(channel)
    planner.settle_goals()
    for signal, claiming in planner.claims.items():
        planner.settle(signal, claiming)
    return ChannelMapping(
        origins=tuple(planner.origins), unused=tuple(planner.unused), problems=tuple(planner.problems)
    )


class _MappingPlanner:
    """What has been decided of the channels so far."""

    def __init__(self, channels: Sequence[Channel], told: Sequence[Origin]) -> None:
        self.channels, self.taken = channels, {o.signal for o in told}
        self.origins: list[Origin] = []
        self.problems: list[str] = []
        self.unused: list[tuple[str, str]] = []
        self.unclear: list[tuple[Channel, str]] = []
        """Goals of which the name does not say what of, with their units."""
        self.claims: dict[str, list[tuple[Channel, str]]] = {}
        """Channels that may be a signal, with their units."""

    def take_told(self, origin: Origin) -> None:
        if origin.signal == NONE:
            self.unused.append((_channel(self.channels, origin.channel).name, "left out as told"))
        elif origin.channel != NONE:
            channel = _channel(self.channels, origin.channel)
            clock = _channel(self.channels, origin.clock).name if origin.clock else ""
            unit = origin.unit or names.recognise(channel.name, channel.unit).unit
            if unit == MUST_TELL:
                remedy = f"write {origin.signal}={channel.name}[deg], or whichever unit it is in"
                self.problems.append(f"{channel.name!r} comes in no stated unit: {remedy}")
            self.origins.append(replace(origin, channel=channel.name, clock=clock, unit=unit))

    def recognise(self, channel: Channel) -> None:
        """By what the format or the name says."""
        guess = names.recognise(channel.name, channel.unit)
        signals = (channel.signal,) if channel.signal else guess.signals
        free = tuple(s for s in signals if s not in self.taken)
        misfit = guess.misfit and not channel.signal
        if channel.signal == NONE:
            self.unused.append((channel.name, channel.ask or "its unit is not known"))
        elif misfit and not self.taken.issuperset(names.recognise(guess.bare).signals):
            cannot = f"{channel.name!r} is in {guess.unit!r}, which backemf cannot convert"
            self.problems.append(f"{cannot}: {_ask(channel.name, guess.bare)}")
        elif not signals and not misfit:
            self.unused.append((channel.name, "not recognised"))
        elif not free:
            self.unused.append((channel.name, "its signal is mapped to another channel, or left out"))
        elif signals == names.TARGETS and GOALS.issuperset(map(str.lower, names.words(guess.bare))):
            self.unclear.append((channel, guess.unit))
        elif len(signals) > 1:
            self.problems.append(_either(channel, signals))
        else:
            self.claims.setdefault(free[0], []).append((channel, guess.unit))

    def settle_goals(self) -> None:
        """A goal is that of the one signal that is measured."""
        measured = {*(o.signal for o in self.origins), *self.claims}
        measured -= {"time", "supply", "temperature", "enabled"}
        for channel, unit in self.unclear:
            goal = f"{next(iter(measured))}_target" if len(measured) == 1 else ""
            if goal in ("position_target", "velocity_target") and len(self.unclear) == 1:
                self.claims[goal] = [(channel, unit)]
            else:
                self.problems.append(_either(channel, names.TARGETS))

    def settle(self, signal: str, claiming: Sequence[tuple[Channel, str]]) -> None:
        """The one channel that claims a signal has it, where its unit is known."""
        (first, unit), last = claiming[0], claiming[-1][0]
        if len(claiming) > 1:
            each = " and ".join(repr(c.name) for c, _ in claiming)
            remedy = f"write {signal}={first.name}, and none={last.name} for what is not wanted"
            self.problems.append(f"{each} may each be {signal}: {remedy}")
        elif unit == MUST_TELL and (of := next((o for o in self.origins if o.channel == first.like), None)):
            self.origins.append(replace(of, signal=signal, channel=first.name, by="format"))
        elif unit == MUST_TELL and first.like:
            pass  # said once, of the other
        elif unit == MUST_TELL:
            per = "/s" if signal.startswith("velocity") else ""
            remedy = f"write {signal}={first.name}[{first.likely or 'deg'}{per}], or whichever unit it is in"
            ask = f" ({first.ask})" if first.ask else ""
            self.problems.append(f"{first.name!r} is {signal}, but the file states no unit: {remedy}{ask}")
        else:
            by = "format" if first.signal else "name"
            self.origins.append(Origin(signal=signal, channel=first.name, unit=unit, by=by))


def _either(channel: Channel, signals: Sequence[str]) -> str:
    may_be = f"{channel.name!r} may be {', '.join(signals[:-1])} or {signals[-1]}"
    return f"{may_be}: write {signals[0]}={channel.name}[unit], or none={channel.name}"


def for_each(
    recordings: Sequence[Recording], origins: Sequence[Origin]
) -> list[tuple[Recording, tuple[Origin, ...]]]:
    """Recordings with what was told of each: where joints are named, theirs alone."""
    of_joints = {name for r in recordings for c in r.channels for name in c.also}
    special = [o for o in origins if o.channel in of_joints]
    if not special:
        return [(recording, tuple(origins)) for recording in recordings]
    others = tuple(o for o in origins if o.channel not in of_joints and not o.channel.endswith(JOINT))

    def own(recording: Recording) -> tuple[Origin, ...]:
        return tuple(o for o in special if any(o.channel in c.also for c in recording.channels))

    return [(recording, (*own(recording), *others)) for recording in recordings if own(recording)]


def _ask(name: str, bare: str) -> str:
    signal = next(iter(names.recognise(bare).signals), "position")
    return f"write {signal}={bare}[rev],1/4096 (unit and factor as they are), or none={name}"


def _channel(channels: Sequence[Channel], name: str) -> Channel:
    """A channel by its whole name, by its name without unit, or by either in other case."""
    bare = {c.name: names.recognise(c.name, c.unit).bare for c in channels}
    for matches in (
        [c for c in channels if c.name == name or name in c.also],
        [c for c in channels if bare[c.name] == name],
        [c for c in channels if name.lower() in (c.name.lower(), bare[c.name].lower())],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            either = " or ".join(repr(c.name) for c in matches)
            raise ReadError(f"{name!r} may be {either}; write the whole name")
    if name == ROW:
        return Channel(name=ROW)
    raise UnknownName("channel", name, [c.name for c in channels])
