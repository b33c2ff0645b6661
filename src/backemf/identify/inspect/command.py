"""What was asked, against what was done: signs that are turned, and commands logged too coarsely."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Finding, finding
from ...logs.log import Log
from .track import Track

FAR = 0.06
"""Share of the whole motion within one sample from which on the moment of a jump matters."""
SELDOM = 0.2
"""Share of the samples at which a command may change and still counts as one that jumps and rests."""
TARGETS = ("position_target", "velocity_target", "voltage_target", "torque_target", "current_target")


def followed(log: Log) -> str | None:
    """The first signal that was asked."""
    return next((name for name in TARGETS if name in log), None)


def sign_findings(log: Log) -> Iterator[Finding]:
    """Whether the motion follows what was asked with the right sign:
    the strongest correlation within a short lag."""
    name = followed(log)
    if name is None:
        return
    t, q = log.time, log["position"]
    good = np.isfinite(q) & (log["enabled"] > 0.5 if "enabled" in log else True)
    if good.sum() < 50:
        return
    answer = q if name == "position_target" else np.gradient(np.interp(t, t[good], q[good]), t)
    best = 0.0
    for lag in np.linspace(0.0, 0.15, 16):
        held = log.signals[name].held(t - lag)[good]
        if np.ptp(held) == 0:
            continue
        with np.errstate(invalid="ignore", divide="ignore"):  # of a motion that rests
            c = float(np.corrcoef(held, answer[good])[0, 1])
        best = c if abs(c) > abs(best) else best
    if best <= -0.5:
        text = (
            f"the motion runs against what was asked: {name} and the answer correlate with {best:.2f}; a sign"
            " is inverted."
        )
        yield finding("wrong_sign", text, "turn the sign of the position", correlation=best)


def stairs(log: Log, name: str) -> np.ndarray:
    """Places at which a command takes its next value, if it comes in steps of several samples each while the
    position is read at every one; none otherwise."""
    asked = log[name]
    changes = np.flatnonzero(np.diff(asked) != 0) + 1
    if len(changes) < 20:
        return np.zeros(0, int)
    runs = np.diff(changes)
    usual = float(np.median(runs))
    ticks = np.abs(runs / usual - np.maximum(np.round(runs / usual), 1.0)) * usual <= 1.0
    steps = np.diff(asked[changes])
    smooth = np.mean(steps[1:] * steps[:-1] > 0)
    small = float(np.percentile(np.abs(steps), 90)) < 0.3 * float(np.ptp(asked))
    regular = usual >= 2 and np.mean(ticks) > 0.9 and np.mean(runs <= 1.5 * usual) > 0.6
    return changes if regular and smooth > 0.7 and small else np.zeros(0, int)


def command_findings(log: Log) -> Iterator[Finding]:
    """A command in steps of several samples: sent so, or only logged so? The model has to say."""
    name = followed(log)
    if name is None:
        return
    changes = stairs(log, name)
    if len(changes):
        step, sample = float(np.median(np.diff(log.time[changes]))), float(np.median(np.diff(log.time)))
        text = (
            f"{name} changes every {1e3 * step:.3g} ms only, where a sample takes {1e3 * sample:.3g} ms:"
            " it was logged more coarsely than it was sent."
        )
        yield finding("coarse_command", text, "draw the command between its changes", sure=0.0, step=step)


def jumps(log: Log, name: str) -> np.ndarray:
    """Samples at which a command jumps, if it does nothing else: few and large changes, rest between them."""
    asked = log[name]
    size = np.abs(np.diff(asked))
    changes = np.flatnonzero(size > 0)
    rests = 0 < len(changes) < SELDOM * len(asked)
    return changes + 1 if rests and np.min(size[changes]) > 0.05 * np.ptp(asked) else np.zeros(0, int)


def jump_findings(log: Log) -> Iterator[Finding]:
    """A command that jumps, known only on the samples of a position that runs far from one to the next."""
    name = followed(log)
    if name is None or name in log.commands or len(log.signals[name].time) > 1.5 * len(log):
        return
    places, track = jumps(log, name), Track.of(log)
    if not len(places) or len(track) < 20 or not track.span:
        return
    far = float(np.percentile(np.abs(track.steps), 98))
    if far < max(FAR * track.span, 5.0 * track.noise):
        return
    unit = "m" if log.motion == "linear" else "rad"
    text = (
        f"{name} jumps {len(places)} times and is known every {1e3 * track.step:.3g} ms only, in which the"
        f" position runs by up to {far:.2g} {unit}: when it jumped is open by a sample."
    )
    remedy = (
        "name the command as a function of time, with the moments at which it really jumped:"
        f" be.read(..., command=...), or --command {_words(log, name, places)!r}; or record it faster"
    )
    yield finding("coarse_jumps", text, remedy, step=track.step, jumps=float(len(places)), far=far)


def _words(log: Log, name: str, places: np.ndarray) -> str:
    """A command like the one that was sampled, as far as its samples tell."""
    asked, t = log[name], log.time
    levels = np.unique(asked)
    first = float(asked[0])
    if len(levels) != 2 or len(places) < 3:
        return f"step from={first:.5g} to={float(asked[places[0]]):.5g} at={t[places[0]]:.4g}s"
    high = float(levels[levels != first][0])
    rises = places[::2]
    period = float(t[rises[-1]] - t[rises[0]]) / (len(rises) - 1)
    falls = places[1::2]
    n = len(falls)
    share = float(np.mean(t[falls] - t[rises[:n]])) / period
    duty = "" if abs(share - 0.5) < 0.05 else f" duty={share:.2g}"
    return f"square from={first:.5g} to={high:.5g} period={period:.4g}s at={t[rises[0]]:.4g}s{duty}"
