"""What can be wrong with a recording by itself: its clock, its counters, its signs, and too little motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..data.log import Log
from ..data.logs.start import noise_of
from ..findings import Finding
from ..model.bench import Pendulum
from ..model.thermal import COPPER

ENCODER_COUNTS = 500
"""Counts over the whole motion below which friction at low speed drowns in the encoder's steps."""


def findings_of(log: Log) -> list[Finding]:
    """Everything that stands out in one log."""
    found = [*_clock(log), *_counter(log), *_encoder(log), *_motion(log)]
    if not any(f.code in ("wrapped_counter", "no_motion") for f in found):
        found += _sign(log)
    return [
        Finding(code=f.code, text=f"{log.name}: {f.text}", remedy=f.remedy, numbers=f.numbers)
        for f in [*found, *_supply(log)]
    ]


def _clock(log: Log) -> list[Finding]:
    dt = np.diff(log.time)
    step = float(np.median(dt))
    found = []
    gaps = np.flatnonzero(dt > 2.5 * step)
    if len(gaps):
        lost = float(np.sum(dt[gaps] - step))
        found.append(
            Finding(
                code="gaps",
                text=(
                    f"{len(gaps)} gaps in time, the longest {np.max(dt):.3g} s against a step of {step:.3g}"
                    f" s; {lost:.3g} s are missing."
                ),
                remedy=(
                    "lower the rate or shorten the bus so that no sample is lost; a fit holds the command"
                    " across gaps"
                ),
                numbers={"gaps": float(len(gaps)), "longest": float(np.max(dt))},
            )
        )
    jitter = float(np.median(np.abs(dt - step)) / step)
    if jitter > 0.25:
        found.append(
            Finding(
                code="jitter",
                text=(
                    f"half of the samples are off their step of {step:.3g} s by more than"
                    f" {100 * jitter:.0f} %."
                ),
                remedy=(
                    "keep the timestamps (they are used as they are), and record on a real-time clock where"
                    " you can"
                ),
                numbers={"jitter": jitter},
            )
        )
    if "position" in log and len(log) > 20:
        q = log["position"]
        moving = np.abs(np.gradient(q, log.time)) > 5.0 * max(noise_of(q), 1e-9) / step
        same = np.diff(q) == 0
        stale = float(np.mean(same[moving[:-1]])) if np.any(moving[:-1]) else 0.0
        if stale > 0.3:
            found.append(
                Finding(
                    code="duplicates",
                    text=(
                        f"{100 * stale:.0f} % of the samples in motion repeat the one before: the sensor is"
                        " read faster than it updates."
                    ),
                    remedy="record at the sensor's own rate, or drop the repeated samples",
                    numbers={"share": stale},
                )
            )
    return found


def _counter(log: Log) -> list[Finding]:
    if "position" not in log:
        return []
    q, dt = log["position"], np.diff(log.time)
    jump = np.abs(np.diff(q))
    usual = np.percentile(jump / dt, 99) if len(jump) > 20 else np.max(jump / dt)
    turns = np.flatnonzero((jump > 2.5) & (jump > 5 * usual * dt))
    if not len(turns):
        return []
    k = int(turns[0])
    return [
        Finding(
            code="wrapped_counter",
            text=(
                f"position jumps by {q[k + 1] - q[k]:.3g} rad at {log.time[k + 1]:.3g} s, {len(turns)} times"
                " in all: a counter that wraps."
            ),
            remedy=(
                "unwrap it when reading (--map position=...; backemf's own readers do), or record in extended"
                " mode"
            ),
            numbers={"jumps": float(len(turns))},
        )
    ]


def _encoder(log: Log) -> list[Finding]:
    if "position" not in log:
        return []
    q = log["position"][np.isfinite(log["position"])]
    steps = np.abs(np.diff(q))
    steps = steps[steps > 1e-12]
    if not len(steps):
        return []
    grain, span = float(np.min(steps)), float(np.ptp(q))
    counts = (q - q[0]) / grain
    quantised = np.mean(np.abs(counts - np.round(counts)) < 0.02) > 0.98
    if quantised and span / grain < ENCODER_COUNTS and grain > 2e-3:
        return [
            Finding(
                code="coarse_encoder",
                text=(
                    f"position comes in steps of {1e3 * grain:.3g} mrad, {span / grain:.0f} over the whole"
                    " motion."
                ),
                remedy="use a finer encoder or larger motions; low-speed friction will be uncertain",
                numbers={"grain": grain, "counts": span / grain},
            )
        ]
    return []


def _motion(log: Log) -> list[Finding]:
    if "position" not in log:
        return []
    q = log["position"]
    if np.nanmax(q) - np.nanmin(q) < 20 * max(noise_of(q), 1e-9):
        return [
            Finding(
                code="no_motion",
                text=(
                    f"position moves by {1e3 * (np.nanmax(q) - np.nanmin(q)):.3g} mrad, hardly more than its"
                    " noise."
                ),
                remedy="command a larger motion",
                numbers={"span": float(np.nanmax(q) - np.nanmin(q))},
            )
        ]
    return []


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


def _supply(log: Log) -> list[Finding]:
    found = []
    if "supply" in log:
        v = log["supply"]
        low, typical = float(np.percentile(v, 1)), float(np.median(v))
        if low < 0.85 * typical:
            found.append(
                Finding(
                    code="supply_sag",
                    text=f"the supply sags from {typical:.3g} to {low:.3g} V.",
                    remedy="nothing to mend: the recorded supply is used; a stiffer one separates R better",
                    numbers={"low": low, "typical": typical},
                )
            )
    if "temperature" in log:
        T = log["temperature"]
        drift = float(np.nanmax(T) - np.nanmin(T))
        if drift > 15:
            found.append(
                Finding(
                    code="temperature_drift",
                    text=(
                        f"the motor warms by {drift:.3g} K during the log: resistance changes by about"
                        f" {100 * COPPER * drift:.0f} %."
                    ),
                    remedy="give the actuator a thermal part, or shorten the log",
                    numbers={"drift": drift},
                )
            )
    return found


def _sign(log: Log) -> list[Finding]:
    """Whether the motion follows what was asked with the right sign:
    the strongest correlation within a short lag."""
    t = log.time
    for name in ("position_target", "velocity_target", "voltage_target", "torque_target", "current_target"):
        if name in log:
            break
    else:
        return []
    asked, q = log[name], log["position"]
    good = np.isfinite(q) & (log["enabled"] > 0.5 if "enabled" in log else True)
    if np.ptp(asked) == 0 or good.sum() < 50:
        return []
    answer = q if name == "position_target" else np.gradient(np.interp(t, t[good], q[good]), t)
    best = 0.0
    for lag in np.linspace(0.0, 0.15, 16):
        c = float(np.corrcoef(log.signals[name].held(t - lag)[good], answer[good])[0, 1])
        best = c if abs(c) > abs(best) else best
    if best > -0.5:
        return []
    return [
        Finding(
            code="wrong_sign",
            text=(
                f"the motion runs against what was asked: {name} and the answer correlate with {best:.2f}; a"
                " sign is inverted."
            ),
            remedy=(
                "turn the sign of the position or of the command when reading, as in --map position=pos,-1"
            ),
            numbers={"correlation": best},
        )
    ]


def coverage(logs: Sequence[Log]) -> list[Finding]:
    """Whether the logs together show reversals, and more than one load."""
    found = []
    moving = [log for log in logs if "position" in log]
    if moving and sum(reversals(log) for log in moving) == 0:
        found.append(
            Finding(
                code="no_reversal",
                text="the motion never changes direction: friction cannot be told from a constant load.",
                remedy="add a log that moves back and forth",
                numbers={},
            )
        )
    moments = {round(float(log.bench.moment()), 4) for log in moving if isinstance(log.bench, Pendulum)}
    if len(moments) == 1 and len(moving) == sum(isinstance(log.bench, Pendulum) for log in moving):
        found.append(
            Finding(
                code="one_load",
                text=(
                    f"all logs carry the same load ({next(iter(moments)):.3g} N m): friction that grows with"
                    " load cannot be told from friction that does not."
                ),
                remedy="record with another mass or arm",
                numbers={"moment": next(iter(moments))},
            )
        )
    return found
