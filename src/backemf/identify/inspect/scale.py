"""Positions that are not in radians: degrees, turns, encoder counts, milliradians.

What a position alone cannot tell, the actuator can: a motor has a speed that it cannot pass, and a servo goes
about as far as it is asked to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...findings import Finding, finding
from ...logs.log import Log
from ...physics import steady
from ...physics.actuator import Actuator
from .track import Track

RADIANS = {
    "degrees": math.pi / 180.0,
    "encoder_counts": 2.0 * math.pi / 4096.0,
    "milliradians": 1e-3,
    "turns": 2.0 * math.pi,
}
"""What one of each is in radians; encoders of bus servos count 4096 a turn."""
WORDS = {"encoder_counts": "counts of 4096 a turn"}
BEYOND, WITHIN = 3.0, 1.2
"""Times the greatest speed: no motion is faster than the first; read in its unit, it is within the second."""
ALIKE = 1.6
"""Factor within which a servo's travel and what was asked agree, where only their units differ."""
FAR = 4.0 * math.pi
"""Travel [rad] from which on a joint may well be in degrees."""


def greatest_speed(log: Log, actuator: Actuator) -> float:
    """At which the back-EMF holds against the supply, and that of a fall from the top besides [rad/s];
    infinite where nothing limits it."""
    mine = {k: v for k, v in log.settings.items() if k in actuator.parameters}
    actuator = actuator.replace(**mine) if mine else actuator
    volts = actuator.drive.ceiling({})
    if volts is None:
        return math.inf
    fall = 0.0
    if log.bench is not None and log.bench.hangs:
        inertia = float(np.min(log.bench.inertia_at({}))) + steady.armature(actuator)
        fall = 2.0 * math.sqrt(abs(float(log.bench.moment())) / max(inertia, 1e-12))
    return abs(steady.ideal_speed(actuator, float(volts))) + fall


def fastest(track: Track) -> float:
    """Speed that one sample in fifty passes, over some 30 ms [rad/s]."""
    n = max(4, round(0.03 / track.step))
    if len(track) < 3 * n:
        return 0.0
    q, t = track.values, track.time
    return float(np.percentile(np.abs(q[n:] - q[:-n]) / (t[n:] - t[:-n]), 98))


def unit_findings(log: Log, actuator: Actuator) -> Iterator[Finding]:
    """At most one: the unit that the position, what was asked of it, or both, are in.

    `sure` is 1 where the numbers leave no choice; otherwise the model has to say.
    """
    if log.motion != "rotary" or "position" not in log:
        return
    track = Track.of(log)
    limit, fast = greatest_speed(log, actuator), fastest(track)
    if len(track) < 40 or track.span == 0:
        return
    ratio = _travel(log, track)
    for unit in sorted(RADIANS, key=lambda u: _apart(ratio, RADIANS[u], track)):
        radian, sure = RADIANS[unit], unit != "turns"
        larger, smaller = _near(ratio, 1.0 / radian), _near(ratio, radian)
        if (larger or smaller) and (sure or _close(ratio)):
            # A unit finer than radians makes numbers large: the one that is larger is in it.
            odd = "position" if larger else "position_target"
            if sure and odd == "position" and fast * radian > WITHIN * limit:
                continue
            yield _said(
                unit, {odd: radian}, f"it goes {ratio:.3g} times as far as what was asked", float(sure)
            )
            return
    if fast > BEYOND * limit and math.isfinite(limit):
        both = {name: 1.0 for name in ("position", "position_target") if name in log}
        for unit in _fitting(track, fast, limit):
            why = f"it would turn at {fast:.4g} rad/s, and the motor reaches {limit:.3g} rad/s at most"
            yield _said(unit, dict.fromkeys(both, RADIANS[unit]), why, 1.0)
            return
    if track.span > FAR and fast <= BEYOND * limit and fast * RADIANS["degrees"] > 1e-3:
        both = {name: RADIANS["degrees"] for name in ("position", "position_target") if name in log}
        why = f"it would go through {track.span / math.tau:.1f} turns"
        yield _said("degrees", both, why, 0.0)


def _fitting(track: Track, fast: float, limit: float) -> list[str]:
    """Units in which a motion is possible: whole numbers are counts first, others degrees first."""
    order = ("encoder_counts", "degrees", "milliradians") if _whole(track) else ("degrees", "milliradians")
    return [unit for unit in order if fast * RADIANS[unit] < WITHIN * limit]


def _travel(log: Log, track: Track) -> float:
    """The position's travel over that of its target, where it follows it; 1 where that cannot be said."""
    if "position_target" not in log:
        return 1.0
    asked = log["position_target"][track.places]
    if "enabled" in log:
        driven = log["enabled"][track.places] > 0.5
        asked, track = asked[driven], Track(track.places[driven], track.time[driven], track.values[driven])
    if len(asked) < 40:
        return 1.0
    low, high = np.percentile(asked, (1, 99))
    return track.span / float(high - low) if high > low and _follows(asked, track) > 0.8 else 1.0


def _follows(asked: np.ndarray, track: Track) -> float:
    """How well the position follows its target, at the best of a few lags."""
    best = 0.0
    for lag in {0, *(round(s / track.step) for s in (0.02, 0.05, 0.1, 0.2))}:
        if lag < len(asked) // 2:
            with np.errstate(invalid="ignore", divide="ignore"):  # where one of them rests
                pair = np.corrcoef(asked[: len(asked) - lag], track.values[lag:])
            best = max(best, abs(float(pair[0, 1])) if np.isfinite(pair).all() else 0.0)
    return best


def _apart(ratio: float, radian: float, track: Track) -> float:
    """How far a travel is from that in a unit, as a logarithm; whole numbers are counts."""
    counts = radian == RADIANS["encoder_counts"] and _whole(track)
    return min(abs(math.log(ratio * radian)), abs(math.log(ratio / radian))) - (1.0 if counts else 0.0)


def _whole(track: Track) -> bool:
    return bool(np.all(track.values == np.round(track.values))) and track.span > 50


def _near(ratio: float, unit: float) -> bool:
    return unit / ALIKE < ratio < unit * ALIKE


def _close(ratio: float) -> bool:
    """Whether travels differ by 2 pi and nothing else."""
    return any(abs(ratio / unit - 1) < 0.1 for unit in (2 * math.pi, 0.5 / math.pi))


def _said(unit: str, factors: dict[str, float], why: str, sure: float) -> Finding:
    names = " and ".join(name.replace("_", " ") for name in factors)
    word = WORDS.get(unit, unit)
    text = f"{names} in {word}, not radians: {why}."
    return finding(unit, text, f"read {names} in {word}", sure=sure, **factors)
