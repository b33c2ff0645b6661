"""What limits a recording, and cannot be mended: its clock, its encoder, its supply, too little motion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Finding, finding
from ...logs.log import Log
from ...logs.start import LONG_GAP, noise_of
from ...physics.thermal import COPPER

ENCODER_COUNTS = 500
"""Counts over the whole motion below which friction at low speed drowns in the encoder's steps."""


def clock_findings(log: Log) -> Iterator[Finding]:
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
            f" gaps, and behind one of more than {LONG_GAP:.0f} steps it starts anew from the recording",
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


def encoder_findings(log: Log) -> Iterator[Finding]:
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


def motion_findings(log: Log) -> Iterator[Finding]:
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


def supply_findings(log: Log) -> Iterator[Finding]:
    if "supply" not in log:
        return
    low, typical = float(np.percentile(log["supply"], 1)), float(np.median(log["supply"]))
    if low < 0.85 * typical:
        text = f"the supply sags from {typical:.3g} to {low:.3g} V."
        remedy = "nothing to mend: the recorded supply is used; a stiffer one separates R better"
        yield finding("supply_sag", text, remedy, low=low, typical=typical)


def temperature_findings(log: Log) -> Iterator[Finding]:
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
