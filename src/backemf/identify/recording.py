"""What can be wrong with a recording by itself: its clock, its counters, its signs, and too little motion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..data.log import Log
from ..data.logs.start import noise_of
from ..findings import Finding, finding
from ..model.thermal import COPPER

ENCODER_COUNTS = 500
"""Counts over the whole motion below which friction at low speed drowns in the encoder's steps."""


def findings_of(log: Log) -> list[Finding]:
    """Everything that stands out in one log."""
    rows = [*_clock(log)]
    if "position" in log:
        rows += [*_counter(log), *_encoder(log), *_motion(log)]
    if not any(f.code in ("wrapped_counter", "no_motion") for f in rows):
        rows += _sign(log)
    return [replace(f, text=f"{log.name}: {f.text}") for f in [*rows, *_supply(log), *_temperature(log)]]


def _clock(log: Log) -> Iterator[Finding]:
    dt = np.diff(log.time)
    step, longest = float(np.median(dt)), float(np.max(dt))
    gaps = np.flatnonzero(dt > 2.5 * step)
    if len(gaps):
        lost = float(np.sum(dt[gaps] - step))
        yield finding(
            "gaps",
            f"{len(gaps)} gaps in time, the longest {longest:.3g} s against a step of {step:.3g} s;"
            f" {lost:.3g} s are missing.",
            "lower the rate or shorten the bus so that no sample is lost; a fit holds the command across"
            " gaps",
            gaps=float(len(gaps)),
            longest=longest,
        )
    jitter = float(np.median(np.abs(dt - step)) / step)
    if jitter > 0.25:
        text = f"half of the samples are off their step of {step:.3g} s by more than {100 * jitter:.0f} %."
        remedy = (
            "keep the timestamps (they are used as they are), and record on a real-time clock where you can"
        )
        yield finding("jitter", text, remedy, jitter=jitter)
    if "position" not in log or len(log) <= 20:
        return
    q = log["position"]
    moving = np.abs(np.gradient(q, log.time)) > 5.0 * max(noise_of(q), 1e-9) / step
    same = np.diff(q) == 0
    stale = float(np.mean(same[moving[:-1]])) if np.any(moving[:-1]) else 0.0
    if stale > 0.3:
        text = (
            f"{100 * stale:.0f} % of the samples in motion repeat the one before: the sensor is read faster"
            " than it updates."
        )
        remedy = "record at the sensor's own rate, or drop the repeated samples"
        yield finding("duplicates", text, remedy, share=stale)


def _counter(log: Log) -> Iterator[Finding]:
    q, dt = log["position"], np.diff(log.time)
    jump = np.abs(np.diff(q))
    usual = np.percentile(jump / dt, 99) if len(jump) > 20 else np.max(jump / dt)
    turns = np.flatnonzero((jump > 2.5) & (jump > 5 * usual * dt))
    if len(turns):
        k = int(turns[0])
        text = (
            f"position jumps by {q[k + 1] - q[k]:.3g} rad at {log.time[k + 1]:.3g} s, {len(turns)} times in"
            " all: a counter that wraps."
        )
        remedy = (
            "unwrap it when reading (--map position=...; backemf's own readers do), or record in extended"
            " mode"
        )
        yield finding("wrapped_counter", text, remedy, jumps=float(len(turns)))


def _encoder(log: Log) -> Iterator[Finding]:
    q = log["position"][np.isfinite(log["position"])]
    steps = np.abs(np.diff(q))
    steps = steps[steps > 1e-12]
    if not len(steps):
        return
    grain = float(np.min(steps))
    n = float(np.ptp(q)) / grain
    counts = (q - q[0]) / grain
    quantised = np.mean(np.abs(counts - np.round(counts)) < 0.02) > 0.98
    if quantised and n < ENCODER_COUNTS and grain > 2e-3:
        text = f"position comes in steps of {1e3 * grain:.3g} mrad, {n:.0f} over the whole motion."
        remedy = "use a finer encoder or larger motions; low-speed friction will be uncertain"
        yield finding("coarse_encoder", text, remedy, grain=grain, counts=n)


def _motion(log: Log) -> Iterator[Finding]:
    q = log["position"]
    span = float(np.nanmax(q) - np.nanmin(q))
    if span < 20 * max(noise_of(q), 1e-9):
        text = f"position moves by {1e3 * span:.3g} mrad, hardly more than its noise."
        yield finding("no_motion", text, "command a larger motion", span=span)


def reversals(log: Log) -> int:
    """How often the motion changes direction, small wiggles not counted."""
    q = log["position"]
    least = max(10 * noise_of(q), 0.01 * float(np.nanmax(q) - np.nanmin(q)))
    turns, edge, direction = 0, q[0], 0
    for value in q:
        if direction == 0 and abs(value - edge) > least:
            direction, edge = (1 if value > edge else -1), value
        elif direction * (value - edge) > 0:
            edge = value
        elif direction and direction * (edge - value) > least:
            turns, direction, edge = turns + 1, -direction, value
    return turns


def _supply(log: Log) -> Iterator[Finding]:
    if "supply" not in log:
        return
    low, typical = float(np.percentile(log["supply"], 1)), float(np.median(log["supply"]))
    if low < 0.85 * typical:
        text = f"the supply sags from {typical:.3g} to {low:.3g} V."
        remedy = "nothing to mend: the recorded supply is used; a stiffer one separates R better"
        yield finding("supply_sag", text, remedy, low=low, typical=typical)


def _temperature(log: Log) -> Iterator[Finding]:
    if "temperature" not in log:
        return
    drift = float(np.nanmax(log["temperature"]) - np.nanmin(log["temperature"]))
    if drift > 15:
        text = (
            f"the motor warms by {drift:.3g} K during the log: resistance changes by about"
            f" {100 * COPPER * drift:.0f} %."
        )
        remedy = "give the actuator a thermal part, or shorten the log"
        yield finding("temperature_drift", text, remedy, drift=drift)


def _sign(log: Log) -> Iterator[Finding]:
    """Whether the motion follows what was asked with the right sign:
    the strongest correlation within a short lag."""
    targets = ("position_target", "velocity_target", "voltage_target", "torque_target", "current_target")
    name = next((name for name in targets if name in log), None)
    if name is None:
        return
    t, asked, q = log.time, log[name], log["position"]
    good = np.isfinite(q) & (log["enabled"] > 0.5 if "enabled" in log else True)
    if np.ptp(asked) == 0 or good.sum() < 50:
        return
    answer = q if name == "position_target" else np.gradient(np.interp(t, t[good], q[good]), t)
    best = 0.0
    for lag in np.linspace(0.0, 0.15, 16):
        c = float(np.corrcoef(log.signals[name].held(t - lag)[good], answer[good])[0, 1])
        best = c if abs(c) > abs(best) else best
    if best <= -0.5:
        text = (
            f"the motion runs against what was asked: {name} and the answer correlate with {best:.2f}; a sign"
            " is inverted."
        )
        remedy = "turn the sign of the position or of the command when reading, as in --map position=pos,-1"
        yield finding("wrong_sign", text, remedy, correlation=best)


def coverage(logs: Sequence[Log]) -> Iterator[Finding]:
    """Whether the logs together show reversals, and more than one load."""
    moving = [log for log in logs if "position" in log]
    if moving and sum(reversals(log) for log in moving) == 0:
        text = "the motion never changes direction: friction cannot be told from a constant load."
        yield finding("no_reversal", text, "add a log that moves back and forth")
    arms = [log.bench for log in moving if log.bench is not None and log.bench.hangs]
    moments = {round(float(bench.moment()), 4) for bench in arms}
    if len(moments) == 1 and len(arms) == len(moving):
        moment = moments.pop()
        text = (
            f"all logs carry the same load ({moment:.3g} N m): friction that grows with load cannot be told"
            " from friction that does not."
        )
        yield finding("one_load", text, "record with another mass or arm", moment=moment)
