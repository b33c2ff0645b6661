"""The gains of a fitted mechanism with their 95 % intervals, widened where parts of the data disagree."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .characterization import Z
from .gain_fit import MechanismFit, Split
from .trials import Segment

Interval = tuple[float | None, float | None, float | None]
"""(value, low, high) of a gain; None where it is not known."""


def gains_of(fit: MechanismFit, segments: Sequence[Segment], mechanism: str) -> dict[str, Interval]:
    """The gains with their 95 % intervals, widened where parts of the data disagree.

    Args:
        fit: the estimate.
        segments: what it was estimated from.
        mechanism: simple, elevator or arm.

    Returns:
        (value, low, high) by gain, in SI; all None where it is not determined.
    """
    effort = max(float(np.max(np.abs(s.input))) for s in segments)
    span = max(float(np.max(np.abs(s.smooth))) for s in segments)
    typical = {"kS": effort, "kV": effort / span, "kA": float(fit.values[2])}
    scale = np.array([typical.get(name, effort) for name in fit.names])
    blind = _blind(fit, scale)
    errors = np.sqrt(np.maximum(np.diag(fit.covariance), 0.0))
    out: dict[str, Interval] = {}
    for i, name in enumerate(fit.names[: 3 if mechanism != "elevator" else 4]):
        value = float(fit.values[i])
        out[name] = _interval(value, float(errors[i]), bool(blind[i]), _widest(name, value, scale[i]))
    if mechanism == "arm":
        out["kG"], out["offset"] = _arm(fit, bool(blind[3] or blind[4]), effort)
    for told in parts_of(fit).values():
        for name, parts in told.items():
            out[name] = _hull(out[name], parts)
    out["kS"] = _above_zero(out["kS"])
    return out


def _above_zero(own: Interval) -> Interval:
    """Friction is not negative: an interval that reaches above 0 begins there at the lowest."""
    value, low, high = own
    if value is None or low is None or high is None or high <= 0:
        return own
    return max(value, 0.0), max(low, 0.0), high


def parts_of(fit: MechanismFit) -> dict[str, dict[str, tuple[Interval, Interval]]]:
    """What two parts of the data say of a gain, by how they were parted, where they disagree."""
    found: dict[str, dict[str, tuple[Interval, Interval]]] = {}
    for split in fit.splits:
        for i in np.flatnonzero(split.apart):
            if fit.names[i] in ("kS", "kV", "kA", "kG"):
                a, b = (_of_part(split, side, int(i), fit.names[i] == "kA") for side in (0, 1))
                found.setdefault(split.name, {})[fit.names[i]] = (a, b)
    return found


def _of_part(split: Split, side: int, i: int, logarithm: bool) -> Interval:
    value, half = float(split.values[side][i]), Z * float(split.errors[side][i])
    ends = value, value - half, value + half
    # two ends, as given:
    return tuple(math.exp(x) for x in ends) if logarithm else ends  # type: ignore[return-value]


def _hull(own: Interval, parts: tuple[Interval, Interval]) -> Interval:
    """An interval that also holds what the parts say."""
    value, low, high = own
    if value is None or low is None or high is None:
        return own
    return (
        value,
        min(low, *(x for _, x, _ in parts if x is not None)),
        max(high, *(x for _, _, x in parts if x is not None)),
    )


def _blind(fit: MechanismFit, scale: np.ndarray) -> np.ndarray:
    """Which gains take part in a direction the data say nothing about."""
    blind = np.zeros(len(fit.names), bool)
    # kA is counted by its logarithm, which a fit of little kV moves far where kA / kV alone is told
    own = np.where(np.arange(len(scale)) == 2, 1.0 / np.clip(abs(fit.values[1]) / scale[1], 1e-3, 1.0), scale)
    for direction in fit.singular:
        step = np.abs(direction) / own
        if step.max() > 0:
            blind |= step > 1e-3 * step.max()
    return blind


def _widest(name: str, value: float, scale: float) -> float:
    """Half an interval wider than this is no answer."""
    if name == "kA":
        return 0.75 * abs(value)
    return 0.25 * scale if name == "kV" else 0.1 * scale


def _interval(value: float, error: float, blind: bool, widest: float) -> Interval:
    half = Z * error
    if blind or not math.isfinite(half) or half > widest:
        return None, None, None
    return value, value - half, value + half


def _arm(fit: MechanismFit, blind: bool, effort: float) -> tuple[Interval, Interval]:
    """g_c = kG cos(offset), g_s = -kG sin(offset)."""
    c, s = float(fit.values[3]), float(fit.values[4])
    size = math.hypot(c, s)
    if size == 0:
        return (None, None, None), (None, None, None)
    block = fit.covariance[3:5, 3:5]
    along, across = np.array([c, s]) / size, np.array([s, -c]) / size**2
    error, angle = (math.sqrt(max(float(way @ block @ way), 0.0)) for way in (along, across))
    kG = _interval(size, error, blind, 0.1 * effort)
    return kG, _interval(math.atan2(-s, c), angle, blind, 0.7)
