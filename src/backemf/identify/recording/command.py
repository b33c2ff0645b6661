"""What was asked, against what was done: signs that are turned, and commands logged too coarsely."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...data.log import Log
from ...findings import Finding, finding

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
    t, asked, q = log.time, log[name], log["position"]
    good = np.isfinite(q) & (log["enabled"] > 0.5 if "enabled" in log else True)
    if np.ptp(asked) == 0 or good.sum() < 50:
        return
    answer = q if name == "position_target" else np.gradient(np.interp(t, t[good], q[good]), t)
    best = 0.0
    for lag in np.linspace(0.0, 0.15, 16):
        held = log.signals[name].held(t - lag)[good]
        if np.ptp(held) == 0:
            continue
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
    smooth = np.mean(steps[1:] * steps[:-1] > 0) if len(steps) > 2 else 0.0
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
