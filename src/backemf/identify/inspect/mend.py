"""What mends a log: each a plain function of the log and the numbers of its finding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...logs.log import Log, Signal
from .command import followed, stairs
from .rows import whole_clock
from .samples import odd_ones, repeated, wraps
from .track import Track

Numbers = Mapping[str, float]


def _with(log: Log, words: str, **signals: Signal) -> Log:
    """The log with other signals, and a word on it among what was done."""
    words_ = (*log.conversions, words)
    kept = {name: command for name, command in log.commands.items() if name not in signals}
    return replace(log, signals={**log.signals, **signals}, commands=kept, conversions=words_)


def _masked(log: Log, places: np.ndarray, words: str) -> Log:
    if not len(places):
        return log
    values = log["position"].copy()
    values[places] = np.nan
    return _with(
        log, f"position: {len(places)} {words} left out", position=Signal(time=log.time, values=values)
    )


def without_dropouts(log: Log, numbers: Numbers | None = None) -> Log:
    """Without samples that jump off the motion and back."""
    track = Track.of(log)
    return _masked(log, track.places[odd_ones(track).all], "samples that jump off the motion and back")


def without_repeats(log: Log, numbers: Numbers | None = None) -> Log:
    """Without samples that repeat the one before while the motion goes on."""
    track = Track.of(log)
    return _masked(log, track.places[repeated(track)], "samples that repeat the one before")


def unwrapped(log: Log, numbers: Numbers | None = None) -> Log:
    """With a counter that goes on where it wrapped."""
    jumps, period = wraps(log)
    if not len(jumps):
        return log
    track, turns = Track.of(log), np.zeros(len(log))
    np.add.at(turns, track.places[jumps + 1], -np.sign(track.steps[jumps]) * period)
    values = log["position"] + np.cumsum(turns)
    if "position_target" in log:  # it may have wrapped just before it started
        values -= period * np.round(np.nanmedian(values - log["position_target"]) / period)
    words = f"position: unwrapped by {period:.6g}, {len(jumps)} times"
    return _with(log, words, position=Signal(time=log.time, values=values))


def rescaled(log: Log, numbers: Numbers) -> Log:
    """With signals multiplied by the numbers that bear their names."""
    factors = {name: numbers[name] for name in ("position", "position_target") if name in numbers}
    scaled = {
        name: Signal(time=log.signals[name].time, values=factor * log.signals[name].values)
        for name, factor in factors.items()
        if name in log
    }
    words = ", ".join(f"{name} times {factor:.6g}" for name, factor in factors.items() if name in log)
    return _with(log, f"read in another unit: {words}", **scaled)


def with_lost_time(log: Log, numbers: Numbers | None = None) -> Log:
    """On a clock that has the time of lost rows again; every signal is moved alike."""
    old, new = log.time, whole_clock(log)
    moved = {
        name: Signal(time=new if np.array_equal(s.time, old) else _moved(s.time, old, new), values=s.values)
        for name, s in log.signals.items()
    }
    return _with(log, f"time: {new[-1] - old[-1]:.4g} s of lost rows put back", **moved)


def _moved(times: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    inside = np.interp(times, old, new)
    return np.where(times > old[-1], times + new[-1] - old[-1], np.where(times < old[0], times, inside))


def turned(log: Log, numbers: Numbers | None = None) -> Log:
    """With the sign of the position turned, and of its velocity."""
    signals = {
        name: Signal(time=log.signals[name].time, values=-log.signals[name].values)
        for name in ("position", "velocity")
        if name in log
    }
    return _with(log, f"sign of {' and '.join(signals)} turned", **signals)


def interpolated(log: Log, numbers: Numbers | None = None) -> Log:
    """With a command that goes straight from each of its changes to the next."""
    name = followed(log)
    if name is None:
        return log
    places = stairs(log, name)
    if not len(places):
        return log
    knots = np.unique([0, *places])
    values = np.interp(log.time, log.time[knots], log[name][knots])
    # Where it rests for long it rests: only steps of the usual length are drawn.
    usual = float(np.median(np.diff(log.time[places])))
    place = np.searchsorted(knots, np.arange(len(log)), side="right") - 1
    end = log.time[knots[np.minimum(place + 1, len(knots) - 1)]]
    resting = end - log.time[knots[place]] > 1.6 * usual
    late = np.maximum((log.time - (end - usual)) / usual, 0.0)
    after = log[name][knots[np.minimum(place + 1, len(knots) - 1)]]
    values = np.where(resting, log[name] + late * (after - log[name]), values)
    return _with(log, f"{name} drawn between its changes", **{name: Signal(time=log.time, values=values)})
