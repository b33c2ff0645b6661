"""A recording becomes a Log: channels mapped to signals, in SI, each on its own clock,
with a record of all that was done."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...findings import Finding
from ...model.actuator import linear_unit
from ..log import UNITS, Log, Signal
from ..readers.recording import Channel, ReadError, Recording
from . import clocks, names
from .mapping import ROW, Plan, Source, plan

MAY_BE_ABSENT = ("temperature", "supply", "current", "torque")
"""Signals that are not 0 throughout in a recording that has them."""


def to_log(recording: Recording, told: Sequence[Source] = ()) -> Log:
    """Map, convert and clean one recording."""
    steps = checked(plan(recording.channels, told), recording)
    work = _Work(recording, steps)
    signals: dict[str, Signal] = {}
    for source in steps.sources:
        if source.signal != "time":
            signal = work.signal(source)
            if signal is not None:
                signals[source.signal] = signal
    if not signals:
        raise ReadError(f"nothing was recorded: {'; '.join(work.words) or 'every channel is empty'}")
    work.unwrap(signals)
    work.describe(signals)
    return Log(
        name=recording.name,
        signals=signals,
        bench=recording.bench,
        settings=dict(recording.settings),
        motion=work.motion,
        conversions=(*recording.notes, *work.words),
        findings=(*recording.findings, *work.findings),
        source=recording.source,
    )


def decided(steps: Plan) -> Plan:
    """The plan, if nothing in it is left to be told."""
    if steps.problems:
        raise ReadError(f"say what is what (--map, or map=...): {'; '.join(steps.problems)}")
    return steps


def checked(steps: Plan, recording: Recording) -> Plan:
    """The plan, if it gives signals and their times."""
    decided(steps)
    there = {s.signal for s in steps.sources}
    for signal, text in recording.needs.items():
        if not there & ({*names.TARGETS, "voltage"} if signal == "command" else {signal}):
            raise ReadError(text)
    listed = ", ".join(repr(c.name) for c in recording.channels[:20]) + (
        ", ..." if len(recording.channels) > 20 else ""
    )
    hint = f"; {recording.hint}" if recording.hint else ""
    if not any(s.signal != "time" for s in steps.sources):
        raise ReadError(
            f"no channel is recognised as a signal; there are: {listed}{hint}; say which is which (--map"
            " position=NAME[unit], or map=...)"
        )
    own = all(c.time is not None for c in recording.channels if c.name in steps.channels)
    if (
        not own
        and not any(s.signal == "time" for s in steps.sources)
        and not all(s.clock for s in steps.sources)
    ):
        raise ReadError(
            f"no channel is recognised as the time; there are: {listed}{hint}; say which (--map"
            " time=NAME[s]), or the step: --map time=row[ms],5"
        )
    return steps


class _Work:
    """One conversion under way."""

    def __init__(self, recording: Recording, steps: Plan):
        self.recording, self.steps = recording, steps
        self.channels = {c.name: c for c in recording.channels}
        self.words: list[str] = []
        self.findings: list[Finding] = []
        self.motion = self._motion()
        self.cleaned: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        """Clock by name: its times that increase, and which samples those are."""
        self.origin: float | None = None
        self.raw_position: tuple[np.ndarray, float] | None = None
        self.zero: list[str] = []
        for name, reason in steps.unused:
            channel = self.channels.get(name)
            if (
                channel is not None
                and reason == "not recognised"
                and channel.n
                and channel.low == channel.high == 0
            ):
                self.zero.append(name)
            else:
                self.words.append(f"channel {name!r} not used: {reason}")

    def _motion(self) -> str:
        motions = {}
        for s in self.steps.sources:
            implied = names.to_si(s.unit, s.signal, s.signal)[1] if s.unit else ""
            if implied:
                motions.setdefault(implied, s)
        if len(motions) > 1:
            a, b = motions["rotary"], motions["linear"]
            raise ReadError(
                f"{a.signal} is in {a.unit}, but {b.signal} is in {b.unit}: an axis either turns or slides;"
                " expected units of one kind"
            )
        return next(iter(motions), "rotary")

    def _note(self, code: str, text: str, remedy: str, **numbers: float) -> None:
        self.words.append(text)
        self.findings.append(Finding(code=code, text=text, remedy=remedy, numbers=numbers))

    def _values(self, name: str) -> np.ndarray:
        if name == ROW and name not in self.channels:
            n = max((c.n for c in self.recording.channels), default=0)
            return np.arange(n, dtype=float)
        values = self.channels[name].values
        if values is None:
            raise ReadError(f"channel {name!r} was not kept while reading")
        return values

    def _clock(self, source: Source, channel: Channel) -> tuple[np.ndarray, np.ndarray]:
        """The times of a source's channel, and which of its samples they belong to."""
        own = channel.time is not None and not source.clock
        name = channel.name if own else source.clock
        key = f"own {id(channel.time)}" if own else name
        if key not in self.cleaned:
            time = channel.time if own and channel.time is not None else self._time(name)
            keep, findings = clocks.increasing(time, self.recording.where)
            self.findings += findings
            self.words += [f.text for f in findings]
            if self.origin is None:
                self.origin = float(time[0]) if len(time) and abs(time[0]) > clocks.EPOCH else 0.0
                if self.origin:
                    self.words.append(f"time counted from the first sample, at {self.origin:.6f} s")
            time = time if keep.all() else time[keep]
            self.cleaned[key] = (time - self.origin if self.origin else time, keep)
            spacing = clocks.spacing(self.cleaned[key][0])
            if spacing:
                self.words.append(spacing)
        return self.cleaned[key]

    def _time(self, clock: str) -> np.ndarray:
        """Times [s] of a named clock, or of the recording's time."""
        told = next(
            (s for s in self.steps.sources if s.signal == "time" and (not clock or s.channel == clock)), None
        )
        if told is None:
            channel = self.channels.get(clock)
            told = Source(
                signal="time",
                channel=clock,
                unit=names.recognise(clock, channel.unit if channel else "").unit,
                by="name",
            )
        raw = self._values(told.channel)
        unit = told.unit
        if not unit:
            unit = clocks.epoch_unit(float(raw[0]) * told.factor) if len(raw) else "s"
        self._say(told, unit, stated=bool(told.unit))
        scale = names.to_si(unit, "time", "time")[0]
        return (
            raw
            if (told.factor, told.offset, scale) == (1.0, 0.0, 1.0)
            else (raw * told.factor + told.offset) * scale
        )

    def _say(self, source: Source, unit: str, stated: bool) -> None:
        if source.by != "told":
            text = f"channel {source.channel!r} read as {source.signal}"
            self.words.append(
                text
                if unit == "1"
                else f"{text} in {unit}"
                if stated
                else f"{text} in {unit}, as it states no unit"
            )
        else:
            self.words.append(
                f"{source} as told" + ("" if stated or unit == "1" else f", in {unit}, as no unit was given")
            )

    def signal(self, source: Source) -> Signal | None:
        """One signal in SI, without the samples that have no value or no time of their own."""
        channel = self.channels.get(source.channel) or Channel(name=source.channel)
        raw = self._values(source.channel)
        if (
            source.by != "told"
            and source.signal in MAY_BE_ABSENT
            and np.isfinite(raw).any()
            and not np.any(np.nan_to_num(raw))
        ):
            self.zero.append(channel.name)
            return None
        time, keep = self._clock(source, channel)
        if len(raw) != len(keep):
            raise ReadError(
                f"channel {source.channel!r} has {len(raw)} values, but its time has {len(keep)}; "
                f"say where its own times are: {source.signal}={source.channel}@NAME"
            )
        si = linear_unit(UNITS[source.signal]) if self.motion == "linear" else UNITS[source.signal]
        scale = names.to_si(source.unit, source.signal, source.signal)[0] if source.unit else 1.0
        self._say(source, source.unit or si, stated=bool(source.unit))
        values = raw
        if (source.factor, source.offset, scale) != (1.0, 0.0, 1.0):
            values = (raw * source.factor + source.offset) * scale
        if not keep.all():  # otherwise a large log is not copied
            raw, values = raw[keep], values[keep]
        if source.by == "name" and not source.unit and si != "1":
            self._assumed(source, si, values)
        finite = np.isfinite(values)
        if not finite.all():
            n = int((~finite).sum())
            self.words.append(f"{source.signal}: {n} of {len(values)} samples are empty and left out")
            if n == len(values) and source.by == "told":
                raise ReadError(f"channel {source.channel!r}, mapped to {source.signal}, is empty")
            if n == len(values):
                return None
            time, values, raw = time[finite], values[finite], raw[finite]
        if source.signal == "position":
            self.raw_position = (raw, source.factor * scale)
        if source.signal == "enabled":
            values = (values != 0).astype(float)
        return Signal(time=time, values=values)

    def _assumed(self, source: Source, si: str, values: np.ndarray) -> None:
        span = float(np.nanmax(values) - np.nanmin(values)) if np.isfinite(values).any() else 0.0
        turns = (
            f"; its span of {span:.4g} would be {span / math.tau:.1f} turns"
            if source.signal.startswith("position") and span > 12.6
            else ""
        )
        text = f"{source.channel!r} states no unit and is taken for {source.signal} in {si}{turns}"
        remedy = (
            f"say it: {source.signal}={source.channel}[{'deg' if si == 'rad' else si}], or [{si}] if that is"
            " right"
        )
        self.findings.append(Finding(code="unit_assumed", text=text, remedy=remedy, numbers={"span": span}))

    def unwrap(self, signals: dict[str, Signal]) -> None:
        """Make a wrapped position continuous, and its target with it where that wraps too."""
        if self.motion != "rotary" or self.raw_position is None or "position" not in signals:
            return
        periods = clocks.counter_periods(*self.raw_position)
        position = signals["position"]
        period = clocks.wrap_period(position.values, periods)
        if period is None:
            return
        flat = clocks.unwrap(position.values, period)
        jumps = np.flatnonzero(np.abs(np.diff(position.values)) > 0.75 * period)
        signals["position"] = Signal(time=position.time, values=flat)
        text = (
            f"position wraps {len(jumps)} times by {period:.6g} rad, first at"
            f" {position.time[jumps[0] + 1]:.4g} s; unwrapped"
        )
        target = signals.get("position_target")
        if target is not None and clocks.wrap_period(target.values, [period]) is not None:
            goal = clocks.unwrap(target.values, period)
            turns = np.round(
                (flat[0] - goal[0]) / period
            )  # one of the two may have wrapped just before the start
            signals["position_target"] = Signal(time=target.time, values=goal + period * turns)
            text += ", and its target with it"
        elif target is not None:
            text += "; its target does not wrap and stays as it is"
        self._note(
            "wrapped_position", text, "record a counter over several turns", wraps=len(jumps), period=period
        )

    def describe(self, signals: dict[str, Signal]) -> None:
        """What else is worth knowing: channels that are 0 throughout, torque that is switched off."""
        if self.zero:
            listed = ", ".join(self.zero)
            self._note(
                "not_recorded",
                f"{listed}: 0 throughout, so not recorded; left out",
                "map it (--map) if 0 is what was measured",
                channels=len(self.zero),
            )
        enabled = signals.get("enabled")
        if enabled is not None and not enabled.values.all():
            off = enabled.values == 0
            k, share = int(np.argmax(off)), 100.0 * float(off.mean())
            text = f"torque is off for {share:.0f} % of the samples, first at {enabled.time[k]:.4g} s"
            self._note(
                "torque_off",
                text,
                "nothing: the motor is simulated as switched off there",
                share=share,
                first=float(enabled.time[k]),
            )
