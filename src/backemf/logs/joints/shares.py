"""Joints that were recorded as a share of their range, told by the step of their encoder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...findings import finding
from ..log import ASKED, Log, Signal
from ..robot import Joint

ONE_STEP = 0.02
"""Relative difference up to which two encoder steps are the same."""
LIKE_RANGE = 1.5
"""How far a calibrated range may be from the model's, as a factor."""
FEWEST_STEPS = 20
"""Steps that must be seen before an encoder's step is believed."""


def grain(values: np.ndarray) -> float | None:
    """The step of an encoder, where its values stand on a grid."""
    seen = np.unique(np.round(values[np.isfinite(values)], 9))
    steps = np.diff(seen)
    if len(steps) < FEWEST_STEPS:
        return None
    least = float(np.median(steps[steps <= 1.5 * np.percentile(steps, 10)]))
    counts = steps / least
    even = np.abs(counts - np.round(counts)) < 0.05 * np.maximum(1.0, np.sqrt(counts))
    return least if np.mean(even) > 0.9 else None


def unfolded(logs: Sequence[Log]) -> list[Log]:
    """Logs of a robot, with joints in radians that were recorded as a share of their range: told by an
    encoder whose step is not that of equal joints."""
    made = list(logs)
    robots = {id(log.robot): log.robot for log in logs if log.robot is not None}
    for robot in robots.values():
        mine = [k for k, log in enumerate(made) if log.robot is robot]
        steps = {
            joint.name: _median(
                [grain(made[k].joints[joint.name]["position"]) for k in mine if _has(made[k], joint)]
            )
            for joint in robot.joints
        }
        for joint in robot.joints:
            like = [steps[j] for j in robot.groups[joint.group] if j != joint.name]
            usual, own = _median(like), steps[joint.name]
            if usual is None or own is None or joint.low is None or not math.isfinite(joint.span):
                continue
            scale, every = usual / own, [made[k].joints[joint.name] for k in mine if _has(made[k], joint)]
            low = min(float(np.nanmin(log["position"])) for log in every)
            high = max(float(np.nanmax(log["position"])) for log in every)
            full = 1.0 if high <= 1.02 else 100.0
            alike = 1 / LIKE_RANGE < scale * full / joint.span < LIKE_RANGE
            if abs(scale - 1) < ONE_STEP or not alike or low < -0.02 * full or high > 1.02 * full:
                continue
            text = (
                f"{joint.name} is recorded as a share of its range, 0 to {full:g}: its encoder's step is"
                f" {own:.4g}, that of equal joints {usual:.4g} rad; read from {joint.low:.4g} rad on, over"
                f" {scale * full:.4g} rad."
            )
            remedy = f"say it where this is wrong: --map position={joint.name}.position[rad]"
            said = finding("share_of_range", text, remedy, low=joint.low, span=scale * full)
            for k in mine:
                if _has(made[k], joint):
                    one = _in_radians(made[k].joints[joint.name], joint.low, scale)
                    both = {**made[k].joints, joint.name: one}
                    made[k] = replace(made[k], joints=both, findings=(*made[k].findings, said))
    return made


def _has(log: Log, joint: Joint) -> bool:
    return joint.name in log.joints and "position" in log.joints[joint.name]


def _median(values: Sequence[float | None]) -> float | None:
    seen = [v for v in values if v is not None]
    return float(np.median(seen)) if seen else None


def _in_radians(log: Log, low: float, scale: float) -> Log:
    """A log of shares as radians."""
    signals = dict(log.signals)
    for name, signal in log.signals.items():
        kind = name.removesuffix("_target") if name in ASKED else name
        if kind in ("position", "velocity"):
            offset = low if kind == "position" else 0.0
            signals[name] = Signal(time=signal.time, values=offset + scale * signal.values)
    return replace(log, signals=signals)
