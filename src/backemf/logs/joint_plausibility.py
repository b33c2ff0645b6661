"""Whether joints of a robot are what they are read as: units and order, by their ranges, by what follows
what, and by the step of their encoder. A contradiction is an error that says what to write."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..findings import Finding, finding
from ..tables import number, table
from .joint_matching import distances
from .log import Log
from .recording import ReadError
from .robot import Joint, Robot

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


def unfold_shares(logs: Sequence[Log]) -> list[Log]:
    """Logs of a robot, with joints in radians that were recorded as a share of their range: told by an
    encoder whose step is not that of equal joints."""
    made = list(logs)
    robots = {id(log.robot): log.robot for log in logs if log.robot is not None}
    for robot in robots.values():
        mine = [k for k, log in enumerate(made) if log.robot is robot]
        for joint, scale, said in _find_shares([made[k] for k in mine], robot):
            for k in mine:
                log = made[k]
                if _has(log, joint) and joint.low is not None:
                    joints = {**log.joints, joint.name: log.joints[joint.name].rescale(scale, joint.low)}
                    made[k] = replace(log, joints=joints, findings=(*log.findings, said))
    return made


def _find_shares(logs: Sequence[Log], robot: Robot) -> list[tuple[Joint, float, Finding]]:
    """Joints of one robot's logs that are shares of their range, with their scale and what to say of it."""
    every = {j.name: [log.joints[j.name] for log in logs if _has(log, j)] for j in robot.joints}
    steps = {name: _median([grain(log["position"]) for log in own]) for name, own in every.items()}
    shares = []
    for joint in robot.joints:
        like = [steps[j] for j in robot.groups[joint.group] if j != joint.name]
        share = _share(joint, every[joint.name], steps[joint.name], _median(like))
        if share is not None:
            shares.append((joint, *share))
    return shares


def _share(
    joint: Joint, every: Sequence[Log], own: float | None, usual: float | None
) -> tuple[float, Finding] | None:
    """(radians for one of what was recorded, what to say of it), where a joint's logs are shares of its range
    and not radians: its encoder's step is `own` there, and `usual` in equal joints."""
    if usual is None or own is None or joint.low is None or not math.isfinite(joint.span):
        return None
    scale = usual / own
    low = min(float(np.nanmin(log["position"])) for log in every)
    high = max(float(np.nanmax(log["position"])) for log in every)
    full = 1.0 if high <= 1.02 else 100.0
    alike = 1 / LIKE_RANGE < scale * full / joint.span < LIKE_RANGE
    if abs(scale - 1) < ONE_STEP or not alike or low < -0.02 * full or high > 1.02 * full:
        return None
    text = (
        f"{joint.name} is recorded as a share of its range, 0 to {full:g}: its encoder's step is"
        f" {own:.4g}, that of equal joints {usual:.4g} rad; read from {joint.low:.4g} rad on, over"
        f" {scale * full:.4g} rad."
    )
    remedy = f"say it where this is wrong: --map position={joint.name}.position[rad]"
    return scale, finding("share_of_range", text, remedy, low=joint.low, span=scale * full)


def _has(log: Log, joint: Joint) -> bool:
    return joint.name in log.joints and "position" in log.joints[joint.name]


def _median(values: Sequence[float | None]) -> float | None:
    seen = [v for v in values if v is not None]
    return float(np.median(seen)) if seen else None


APART = 0.05
"""A joint whose position and target differ by less than this (RMS, rad) is not in another's place."""
CLOSER = 0.1
"""Share of the squared error that is left where targets are put in their right order, at most."""
BEYOND = 0.1
"""Share of its range that a joint may be recorded beyond it: ranges of models are not exact."""
MOSTLY = 0.5
"""Share of the samples from which on a joint is beyond its range for another reason than its zero."""


def check(log: Log, robot: Robot, numbered: bool = False) -> None:
    """An error where units or the order of columns contradict the robot.

    Args:
        log: of all joints.
        robot: whose they are.
        numbered: whether columns are the joints' by their order alone.

    Raises:
        ReadError: degrees for radians, targets of other joints, or columns in another order.
    """
    _degrees(log, robot)
    _order(log)
    if numbered:
        _places(log, robot)


def findings(log: Log, robot: Robot) -> tuple[Finding, ...]:
    """Joints that are recorded outside of their range."""
    out = []
    for joint in robot.joints:
        share = _beyond(log, joint)
        if not share or joint.low is None or joint.high is None:
            continue
        q = log.joints[joint.name]["position"]
        text = (
            f"{joint.name} is recorded from {np.nanmin(q):.4g} to {np.nanmax(q):.4g}, its range is"
            f" {joint.low:.4g} to {joint.high:.4g}: {100 * share:.0f} % of the samples are beyond it."
        )
        remedy = (
            f'check its zero, sign and unit: --map "{joint.name}=NAME,-1+0.1" turns it and moves its zero'
        )
        out.append(finding("beyond_range", text, remedy, share=share, low=joint.low, high=joint.high))
    return tuple(out)


def _beyond(log: Log, joint: Joint) -> float | None:
    """Share of a joint's samples that are clearly outside of its range."""
    one = log.joints.get(joint.name)
    if one is None or "position" not in one or joint.low is None or joint.high is None:
        return None
    q = one["position"]
    q = q[np.isfinite(q)]
    over = BEYOND * joint.span
    return float(np.mean((q < joint.low - over) | (q > joint.high + over))) if len(q) else None


def _degrees(log: Log, robot: Robot) -> None:
    """Numbers without a unit that are far beyond a joint's range, and within it as degrees."""
    mistakes = []
    for joint in robot.joints:
        one = log.joints.get(joint.name)
        if one is None or joint.motion != "rotary" or "position" not in one:
            continue
        if not any(f.code == "unit_assumed" and "position" in f.numbers for f in one.findings):
            continue
        most = float(np.nanmax(np.abs(one["position"])))
        ends = (joint.low, joint.high) if joint.low is not None and joint.high is not None else (-6.3, 6.3)
        far = max(map(abs, ends))
        if most > 3.0 * far and math.radians(most) <= 1.2 * far:
            mistakes.append((joint.name, most, math.radians(most), f"{number(ends[0])} .. {number(ends[1])}"))
    if mistakes:
        shown = table(mistakes, ("joint", "reaches", "as degrees [rad]", "range [rad]"))
        remedy = '--map "position=position[deg]" --map "position_target=target[deg]" for all joints'
        raise ReadError(
            f"{log.name} states no unit, and its positions are no radians of {robot.name}: they look like"
            f" degrees. Say so: {remedy}, or --map JOINT.position=COLUMN[deg] for one:\n{shown}"
        )


def _order(log: Log) -> None:
    """Targets that other joints follow than those whose they are read as."""
    both = {n: one for n, one in log.joints.items() if "position" in one and "position_target" in one}
    names = [n for n, one in both.items() if np.isfinite(one["position"]).any()]
    if len(names) < 2:
        return
    signals = [log.joints[n].signals for n in names]
    apart = distances([s["position"] for s in signals], [s["position_target"] for s in signals])
    own = np.diag(apart)
    best = np.argmin(apart, axis=1)
    places = np.arange(len(names))
    moved = np.flatnonzero((best != places) & (own > APART**2) & (apart[places, best] < CLOSER * own))
    if len(moved) < 2 or sorted(moved) != sorted(int(best[i]) for i in moved):
        return
    rows = [
        (names[i], names[best[i]], 1e3 * math.sqrt(own[i]), 1e3 * math.sqrt(apart[i, best[i]])) for i in moved
    ]
    header = ("position of", "follows the target of", "own target off by [mrad]", "that one by [mrad]")
    first = rows[0]
    say = f'put the columns in one order, or say it: --map "{first[0]}.position_target=COLUMN OF {first[1]}"'
    raise ReadError(
        f"{log.name} has positions and targets in different orders; {say}:\n{table(rows, header)}"
    )


def _places(log: Log, robot: Robot) -> None:
    """Columns without names that cannot be the joints in the order of the model."""
    mistakes = {joint.name: share for joint in robot.joints if (share := _beyond(log, joint) or 0.0) > MOSTLY}
    if not mistakes:
        return
    rows = []
    for joint in robot.joints:
        q = log.joints[joint.name]["position"] if joint.name in log.joints else np.array([math.nan])
        seen = f"{number(float(np.nanmin(q)))} .. {number(float(np.nanmax(q)))}"
        of_it = "-" if joint.low is None else f"{number(joint.low)} .. {number(joint.high or 0.0)}"
        rows.append((joint.name, seen, of_it, "beyond" if joint.name in mistakes else ""))
    shown = table(rows, ("joint, in the model's order", "recorded", "range", ""))
    raise ReadError(
        f"{log.name} names no joints, and its columns are not the joints of {robot.name} in their order:"
        f" {', '.join(mistakes)} would be beyond their range. Name the columns, or say which is whose:"
        f' --map "{robot.names[0]}.position=COLUMN":\n{shown}'
    )
