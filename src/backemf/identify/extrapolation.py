"""How far logs that judge or are predicted go beyond those that were fitted: in torque, speed and gain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..findings import Finding
from ..logs.log import Log, bench_of
from .holdout import KEYS
from .inspect.samples import SignalTrack
from .inspect.signals import fastest

BEYOND = 1.15
"""How many times the largest that was fitted a torque, speed or gain is that counts as beyond it."""
WINDOW = 0.06
"""Time over which an acceleration is taken [s]."""
USUAL = 98
"""Percentile of a torque along a log that counts as its largest."""
UNITS = {"torque": "N m", "speed": "rad/s", "gain": ""}
LINEAR = {"torque": "N", "speed": "m/s", "gain": ""}

Demands = Mapping[str, float]
"""What a log asks of its joint: torque [N m or N], speed [rad/s or m/s], gain; absent where unknown."""


def demands_of(log: Log) -> dict[str, float]:
    """The torque that moves what a joint carried along a log, its speed, and its gain.

    Args:
        log: of one joint on a bench that can be computed.

    Returns:
        The largest of each, but for one sample in fifty.
    """
    track = SignalTrack.of(log)
    found = {"speed": fastest(track)}
    gain = KEYS["gain"](log)
    if gain is not None:
        found["gain"] = float(gain)
    bench, n = bench_of(log), max(1, round(WINDOW / track.step))
    if not bench.series and not bench.locked and len(track) > 4 * n:
        q, t = track.values, track.time
        rate = (q[n:] - q[:-n]) / (t[n:] - t[:-n])
        a = (rate[n:] - rate[:-n]) / (0.5 * (t[2 * n :] - t[: -2 * n]))
        middle, v = q[n:-n], 0.5 * (rate[n:] + rate[:-n])
        torque = float(np.min(bench.inertia_at({}))) * a - np.array(
            [float(bench.load(position, speed, {})) for position, speed in zip(middle, v, strict=True)]
        )
        found["torque"] = float(np.percentile(np.abs(torque), USUAL))
    return found


def extrapolations(
    fitted: Mapping[str, Demands], judged: Mapping[str, Demands], motion: str = "rotary"
) -> Iterator[Finding]:
    """What is asked beyond what was fitted, in one finding.

    Args:
        fitted: by log, what it asks.
        judged: the same of logs that were not fitted.
        motion: "rotary" or "linear", for units.

    Yields:
        One finding with the farthest log of each kind, or none.
    """
    words, numbers, logs, units = [], {}, [], LINEAR if motion == "linear" else UNITS
    for kind in UNITS:
        known = [asked[kind] for asked in fitted.values() if kind in asked]
        if not known:
            continue
        low, high = min(known), max(known)
        ratio = {name: asked[kind] / max(high, 1e-12) for name, asked in judged.items() if kind in asked}
        if kind == "gain":  # a soft loop is another regime too
            ratio = {n: max(r, low / max(judged[n][kind], 1e-12)) for n, r in ratio.items()}
        beyond = {name: r for name, r in ratio.items() if r > BEYOND}
        if not beyond:
            continue
        farthest = max(beyond, key=lambda name: beyond[name])
        span = f"{low:.3g} to {high:.3g}" if kind == "gain" else f"up to {high:.3g}"
        words.append(
            f"a {kind} of {judged[farthest][kind]:.3g} {units[kind]}".rstrip()
            + f" ({farthest}), where {span} was fitted"
        )
        numbers[kind] = beyond[farthest]
        logs += list(beyond)
    if words:
        text = f"what judges goes beyond what was fitted: {'; '.join(words)}."
        remedy = "fit a log that goes as far; until then expect larger errors there than on the fitted logs"
        names = tuple(dict.fromkeys(logs))
        yield Finding(code="extrapolates", text=text, remedy=remedy, numbers=numbers, logs=names)


def of_benches(fitted: Sequence[Log], judged: Sequence[Log]) -> list[Finding]:
    """What logs of benches ask beyond those fitted.

    Args:
        fitted: that numbers were found from.
        judged: that a prediction is made of.

    Returns:
        One finding, or none.
    """
    if not judged:
        return []
    asked = [{log.name: demands_of(log) for log in logs if "position" in log} for logs in (fitted, judged)]
    return list(extrapolations(*asked, motion=fitted[0].motion))
