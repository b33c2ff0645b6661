"""From a recording to a log: channels become signals in SI, on clocks as they come.

Times that repeat or run backwards, epochs, positions that wrap: each is named, nothing is ever stretched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..findings import Finding, finding
from ..physics.actuator import linear_unit
from . import names
from .log import UNITS, Log, Signal, asked_by, mark_samples
from .mapping import ROW, ChannelMapping, Origin, plan
from .recording import Channel, ReadError, Recording

EPOCH = 1e8
"""Beyond this a time [s] is a date, not a duration: 1e8 s are three years."""


def epoch_unit(first: float) -> str:
    """The unit of a time that states none: seconds, unless it is plainly a date counted in something finer
    (2001 to 2286)."""
    scales = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
    return next((unit for unit, scale in scales.items() if 1e9 <= first / scale < 1e10), "s")


def increasing(time: np.ndarray, where: Callable[[int], str]) -> tuple[np.ndarray, list[Finding]]:
    """Which samples to keep so that time increases, and what was found;
    time that stays behind is an error."""
    if not len(time):
        raise ReadError("the time has no samples")
    bad = ~np.isfinite(time)
    if bad.any():
        k = int(np.argmax(bad))
        count = f"{int(bad.sum())} of {len(time)} samples"
        wanted = "expected a finite time for every sample"
        raise ReadError(f"the time is not a number at {where(k)} ({count}); {wanted}")
    newest = np.maximum.accumulate(time)
    keep = np.concatenate([[True], time[1:] > newest[:-1]])
    same = np.concatenate([[False], time[1:] == newest[:-1]])
    back = ~keep & ~same
    findings = []
    if same.any():
        k, n = int(np.argmax(same)), int(same.sum())
        first = f"{n} of {len(time)} samples repeat a time, first at {where(k)} ({time[k]:.6g} s)"
        text = f"{first}; of each time the first sample is kept"
        remedy = "give every sample its own time, or a finer clock"
        findings.append(finding("duplicate_times", text, remedy, samples=n))
    if back.any():
        k, n = int(np.argmax(back)), int(back.sum())
        step = f"{newest[k - 1]:.6g} s, then {time[k]:.6g} s"
        if n > max(10, 0.05 * len(time)):
            raise ReadError(
                f"the time runs backwards at {where(k)} ({step}) and stays behind for {n} of {len(time)}"
                " samples; expected one recording with one clock: split it where the clock starts again"
            )
        text = f"time runs backwards at {where(k)} ({step}); {n} of {len(time)} samples are dropped"
        remedy = "take times from a clock that only runs forwards"
        findings.append(finding("backward_times", text, remedy, samples=n))
    return keep, findings


def spacing(time: np.ndarray) -> str:
    """A sentence on samples that are not evenly spaced, or nothing."""
    steps = np.diff(time)
    if len(steps) < 2 or steps.max() <= 1.2 * np.median(steps):
        return ""
    shortest, longest, median = (f"{1e3 * s:.3g}" for s in (steps.min(), steps.max(), np.median(steps)))
    return f"samples {shortest} to {longest} ms apart (median {median}): times kept as recorded"


def wrap_period(position: np.ndarray, periods: list[float]) -> float | None:
    """The period by which a counter wraps, or None: it stays within one period, and its jumps,
    a period taken off, are ordinary steps."""
    if len(position) < 3:
        return None
    steps, span = np.diff(position), float(np.ptp(position))
    for period in periods:
        jumps = np.abs(steps) > 0.75 * period
        if not jumps.any() or span > 1.02 * period:
            continue
        ordinary = float(np.abs(steps[~jumps]).max(initial=0.0))
        left = np.abs(np.abs(steps[jumps]) - period)
        if ordinary < 0.25 * period and left.max() <= max(2.0 * ordinary, 0.01 * period):
            return period
    return None


def unwrap(position: np.ndarray, period: float) -> np.ndarray:
    """A wrapped counter made continuous, starting where it started."""
    turns = -np.sign(np.diff(position)) * (np.abs(np.diff(position)) > 0.75 * period)
    return position + period * np.concatenate([[0.0], np.cumsum(turns)])


def _at_its_ends(counts: np.ndarray, size: float) -> bool:
    """Whether a counter of this size comes close to both its ends, as it must where it wraps."""
    near = 0.05 * size
    return any(
        low <= counts.min() < low + near and low + size - near < counts.max() < low + size
        for low in (0.0, -0.5 * size)
    )


def counter_periods(raw: np.ndarray, scale: float) -> list[float]:
    """Periods at which a position may wrap [rad]: one turn, and, where the channel holds whole counts,
    a power of two of them."""
    periods = [2.0 * math.pi]
    finite = raw[np.isfinite(raw)]
    if len(finite) and np.array_equal(finite, np.round(finite)) and np.ptp(finite) >= 200:
        periods += [abs(scale) * 2.0**n for n in (12, 14, 16, 20, 24, 32) if _at_its_ends(finite, 2.0**n)]
    return periods


MAY_BE_ABSENT = ("temperature", "supply", "current", "torque")
"""Signals that are not 0 throughout in a recording that has them."""


def to_log(recording: Recording, origins: Sequence[Origin] = ()) -> Log:
    """Map, convert and clean one recording."""
    steps = check_signals(plan(recording.channels, origins), recording)
    work = _Work(recording, steps)
    signals: dict[str, Signal] = {}
    for origin in steps.origins:
        if origin.signal != "time":
            signal = work.signal(origin)
            if signal is not None:
                signals[origin.signal] = signal
    if not signals:
        raise ReadError(f"nothing was recorded: {'; '.join(work.words) or 'every channel is empty'}")
    work.unwrap(signals)
    work.describe(signals)
    log = Log(
        name=recording.name,
        signals=signals,
        bench=recording.bench,
        settings=dict(recording.settings),
        motion=work.motion,
        mechanism=recording.mechanism,
        conversions=(*recording.notes, *work.words),
        findings=(*recording.findings, *work.findings),
        source=recording.source,
    )
    log = replace(log, mark=mark_samples(work.as_written(log.clock)))
    command = recording.command
    name = "" if command is None else asked_by(command)
    if command is None or any(o.signal == name and o.by == "told" for o in steps.origins):
        return log
    return log.with_command(command, by="as the file names it")


def check_decided(steps: ChannelMapping) -> ChannelMapping:
    """The plan, if nothing in it is left to be told."""
    if steps.problems:
        raise ReadError(f"say what is what (--map, or map=...): {'; '.join(steps.problems)}")
    return steps


def check_signals(steps: ChannelMapping, recording: Recording) -> ChannelMapping:
    """The plan, if it gives signals and their times."""
    check_decided(steps)
    there = {o.signal for o in steps.origins}
    for signal, text in recording.needs.items():
        if not there & ({*names.TARGETS, "voltage"} if signal == "command" else {signal}):
            raise ReadError(text)
    some = [repr(c.name) for c in recording.channels[:20]] + ["..."] * (len(recording.channels) > 20)
    known = f"there are: {', '.join(some)}" + (f"; {recording.hint}" if recording.hint else "")
    if there <= {"time"}:
        remedy = "say which is which (--map position=NAME[unit], or map=...)"
        raise ReadError(f"no channel is recognised as a signal; {known}; {remedy}")
    own = all(c.time is not None for c in recording.channels if c.name in steps.channels)
    if not (own or "time" in there or all(o.clock for o in steps.origins)):
        remedy = "say which (--map time=NAME[s]), or the step: --map time=row[ms],5"
        raise ReadError(f"no channel is recognised as the time; {known}; {remedy}")
    return steps


class _Work:
    """One conversion under way."""

    def __init__(self, recording: Recording, steps: ChannelMapping):
        self.recording, self.steps = recording, steps
        self.channels = {c.name: c for c in recording.channels}
        self.words: list[str] = []
        self.findings: list[Finding] = []
        self.motion = self._motion()
        self.cleaned: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        """Clock by name: its times that increase, and which samples those are."""
        self.began: float | None = None
        self.raw_position: tuple[np.ndarray, float] | None = None
        self.zero: list[str] = []
        for name, reason in steps.unused:
            channel = self.channels.get(name, Channel(name=name))
            if reason == "not recognised" and channel.n and channel.low == channel.high == 0:
                self.zero.append(name)
            else:
                self.words.append(f"channel {name!r} not used: {reason}")

    def _motion(self) -> str:
        motions = {}
        for o in self.steps.origins:
            implied = names.to_si(o.unit, o.signal, o.signal)[1] if o.unit else ""
            if implied:
                motions.setdefault(implied, o)
        if len(motions) > 1:
            a, b = motions["rotary"], motions["linear"]
            why = "an axis either turns or slides; expected units of one kind"
            raise ReadError(f"{a.signal} is in {a.unit}, but {b.signal} is in {b.unit}: {why}")
        return next(iter(motions), "rotary")

    def _note(self, code: str, text: str, remedy: str, **numbers: float) -> None:
        self.words.append(text)
        self.findings.append(finding(code, text, remedy, **numbers))

    def as_written(self, signal: str) -> np.ndarray:
        """The samples of a signal in the file's own unit."""
        return self._values(next(o.channel for o in self.steps.origins if o.signal == signal))

    def _values(self, name: str) -> np.ndarray:
        if name == ROW and name not in self.channels:
            n = max((c.n for c in self.recording.channels), default=0)
            return np.arange(n, dtype=float)
        values = self.channels[name].values
        if values is None:
            raise ReadError(f"channel {name!r} was not kept while reading")
        return values

    def _clock(self, origin: Origin, channel: Channel) -> tuple[np.ndarray, np.ndarray]:
        """The times of an origin's channel, and which of its samples they belong to."""
        own = channel.time is not None and not origin.clock
        name = channel.name if own else origin.clock
        key = f"own {id(channel.time)}" if own else name
        if key not in self.cleaned:
            time = channel.time if own and channel.time is not None else self._time(name)
            keep, findings = increasing(time, self.recording.where)
            self.findings += findings
            self.words += [f.text for f in findings]
            if self.began is None:
                self.began = float(time[0]) if len(time) and abs(time[0]) > EPOCH else 0.0
                if self.began:
                    self.words.append(f"time counted from the first sample, at {self.began:.6f} s")
            time = time if keep.all() else time[keep]
            self.cleaned[key] = (time - self.began if self.began else time, keep)
            note = spacing(self.cleaned[key][0])
            if note:
                self.words.append(note)
        return self.cleaned[key]

    def _time(self, clock: str) -> np.ndarray:
        """Times [s] of a named clock, or of the recording's time."""
        given = (o for o in self.steps.origins if o.signal == "time" and (not clock or o.channel == clock))
        origin = next(given, None)
        if origin is None:
            channel = self.channels.get(clock, Channel(name=clock))
            unit = names.recognise(clock, channel.unit).unit
            origin = Origin(signal="time", channel=clock, unit=unit, by="name")
        raw = self._values(origin.channel)
        unit = origin.unit
        if not unit:
            unit = epoch_unit(float(raw[0]) * origin.factor) if len(raw) else "s"
        self._say(origin, unit)
        return _to_si(raw, origin, names.to_si(unit, "time", "time")[0])

    def _say(self, origin: Origin, unit: str) -> None:
        told = origin.by == "told"
        text = f"{origin} as told" if told else f"channel {origin.channel!r} read as {origin.signal}"
        if unit != "1" and not origin.unit:
            text += f", in {unit}, as no unit was given" if told else f" in {unit}, as it states no unit"
        elif unit != "1" and not told:
            text += f" in {unit}"
        self.words.append(text)

    def signal(self, origin: Origin) -> Signal | None:
        """One signal in SI, without the samples that have no value or no time of their own."""
        channel = self.channels.get(origin.channel) or Channel(name=origin.channel)
        raw = self._values(origin.channel)
        if origin.by != "told" and origin.signal in MAY_BE_ABSENT and _is_zero(raw):
            self.zero.append(channel.name)
            return None
        time, keep = self._clock(origin, channel)
        if len(raw) != len(keep):
            raise ReadError(
                f"channel {origin.channel!r} has {len(raw)} values, but its time has {len(keep)}; "
                f"say where its own times are: {origin.signal}={origin.channel}@NAME"
            )
        si, scale = self._unit_and_scale(origin)
        self._say(origin, origin.unit or si)
        values = _to_si(raw, origin, scale)
        if not keep.all():  # otherwise a large log is not copied
            raw, values = raw[keep], values[keep]
        if origin.by == "name" and not origin.unit and si != "1":
            self._note_assumption(origin, si, values)
        finite = np.isfinite(values)
        if not finite.all():
            self._say_empty(origin, finite)
            if not finite.any():
                return None
            time, values, raw = time[finite], values[finite], raw[finite]
        if origin.signal == "position":
            self.raw_position = (raw, origin.factor * scale)
        if origin.signal == "enabled":
            values = (values != 0).astype(float)
        return Signal(time=time, values=values)

    def _unit_and_scale(self, origin: Origin) -> tuple[str, float]:
        """(the SI unit of a signal, what one of the channel's unit is in it)."""
        si = linear_unit(UNITS[origin.signal]) if self.motion == "linear" else UNITS[origin.signal]
        return si, names.to_si(origin.unit, origin.signal, origin.signal)[0] if origin.unit else 1.0

    def _say_empty(self, origin: Origin, finite: np.ndarray) -> None:
        n = int((~finite).sum())
        self.words.append(f"{origin.signal}: {n} of {len(finite)} samples are empty and left out")
        if n == len(finite) and origin.by == "told":
            raise ReadError(f"channel {origin.channel!r}, mapped to {origin.signal}, is empty")

    def _note_assumption(self, origin: Origin, si: str, values: np.ndarray) -> None:
        span = float(np.nanmax(values) - np.nanmin(values)) if np.isfinite(values).any() else 0.0
        turns = ""
        if origin.signal.startswith("position") and span > 12.6:
            turns = f"; its span of {span:.4g} would be {span / math.tau:.1f} turns"
        text = f"{origin.channel!r} states no unit and is taken for {origin.signal} in {si}{turns}"
        other = "deg" if si == "rad" else si
        remedy = f"say it: {origin.signal}={origin.channel}[{other}], or [{si}] if that is right"
        numbers = {origin.signal: 1.0}  # what one of its numbers is taken for
        self.findings.append(finding("unit_assumed", text, remedy, span=span, **numbers))

    def unwrap(self, signals: dict[str, Signal]) -> None:
        """Make a wrapped position continuous, and its target with it where that wraps too."""
        if self.motion != "rotary" or self.raw_position is None or "position" not in signals:
            return
        periods = counter_periods(*self.raw_position)
        position = signals["position"]
        period = wrap_period(position.values, periods)
        if period is None:
            return
        flat = unwrap(position.values, period)
        jumps = np.flatnonzero(np.abs(np.diff(position.values)) > 0.75 * period)
        signals["position"] = Signal(time=position.time, values=flat)
        first = f"first at {position.time[jumps[0] + 1]:.4g} s"
        text = f"position wraps {len(jumps)} times by {period:.6g} rad, {first}; unwrapped"
        target = signals.get("position_target")
        if target is not None and wrap_period(target.values, [period]) is not None:
            goal = unwrap(target.values, period)
            turns = np.round((flat[0] - goal[0]) / period)  # one may have wrapped just before the start
            signals["position_target"] = Signal(time=target.time, values=goal + period * turns)
            text += ", and its target with it"
        elif target is not None:
            text += "; its target does not wrap and stays as it is"
        remedy = "record a counter over several turns"
        self._note("wrapped_position", text, remedy, wraps=len(jumps), period=period)

    def describe(self, signals: dict[str, Signal]) -> None:
        """What else is worth knowing: channels that are 0 throughout, torque that is switched off."""
        if self.zero:
            text = f"{', '.join(self.zero)}: 0 throughout, so not recorded; left out"
            self._note(
                "not_recorded", text, "map it (--map) if 0 is what was measured", channels=len(self.zero)
            )
        enabled = signals.get("enabled")
        if enabled is not None and not enabled.values.all():
            off = enabled.values == 0
            first, share = float(enabled.time[np.argmax(off)]), 100.0 * float(off.mean())
            text = f"torque is off for {share:.0f} % of the samples, first at {first:.4g} s"
            remedy = "nothing: the motor is simulated as switched off there"
            self._note("torque_off", text, remedy, share=share, first=first)


def _is_zero(raw: np.ndarray) -> bool:
    return bool(np.isfinite(raw).any() and not np.any(np.nan_to_num(raw)))


def _to_si(raw: np.ndarray, origin: Origin, scale: float) -> np.ndarray:
    """Values in SI; those that are already are not copied."""
    if (origin.factor, origin.offset, scale) == (1.0, 0.0, 1.0):
        return raw
    return (raw * origin.factor + origin.offset) * scale
