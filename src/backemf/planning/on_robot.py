"""One joint of a robot as a bench to plan for: what it carries, how far it may go, where the others stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..errors import InvalidValue, MissingValue
from ..findings import Finding, finding
from ..logs.robot import Robot
from ..mujoco.robot.posture import joint_bench, posture_of
from ..mujoco.robot.room import Room, room
from ..physics.bench import Bench
from .motions import SafetyLimits, Track

CLEAR = 0.05
"""Kept from where a robot would touch something, since models and zeros are a little off [rad]."""
NARROW = 0.1
"""Less than this is no range to plan in [rad]."""


def on_robot(
    robot: Robot, joint: str, posture: Mapping[str, float] | None, limits: SafetyLimits
) -> tuple[Bench, SafetyLimits, dict[str, Track], list[Finding]]:
    """(what the joint carries, the limits with its range, tracks that hold the others, findings)."""
    if not joint:
        raise MissingValue(f"which joint? {robot.name} has: {', '.join(robot.names)}")
    stood = posture_of(robot, posture or {})
    free = room(robot, joint, stood)
    limits, cut = _inside(limits, free)
    others = {n: Track(times=(0.0,), positions=(q,)) for n, q in stood.items() if n != joint}
    where = ", ".join(f"{name} {q:.2f}" for name, q in stood.items() if name != joint)
    told = [f"the other joints stand still at {where or 'nothing'} [rad]"]
    if not free.looked:
        told.append("nothing of the model can touch, so that nothing was checked for collisions")
    elif free.already:
        pairs = ", ".join(" and ".join(pair) for pair in free.already)
        told.append(f"the shapes of {pairs} touch already there and were not checked")
    remedy = "look whether the arm is free to go there, and to move: backemf record --dry-run shows how far"
    findings = [finding("posture", "; ".join(told) + ".", remedy)]
    if cut:
        remedy = "another --posture may leave more room"
        findings.append(finding("less_room", f"{joint} {' and '.join(cut)}, as the model has it.", remedy))
    return joint_bench(robot, joint, stood), limits, others, findings


def _inside(limits: SafetyLimits, free: Room) -> tuple[SafetyLimits, list[str]]:
    """(limits in which nothing touches, what cut them short)."""
    low, high, cut = limits.position_low, limits.position_high, list[str]()
    low, high = free.low if low is None else low, free.high if high is None else high
    if free.below and low is not None and free.low is not None and low <= free.low:
        low = free.low + CLEAR
        cut.append(f"stays above {low:.2f} rad, since {free.below} below")
    if free.above and high is not None and free.high is not None and high >= free.high:
        high = free.high - CLEAR
        cut.append(f"stays below {high:.2f} rad, since {free.above} above")
    if low is not None and high is not None and high - low < NARROW:
        raise InvalidValue(
            f"the joint has {max(high - low, 0.0):.2f} rad to move in{', since it ' if cut else ''}"
            f"{' and '.join(cut)}; expected a posture and limits that leave more"
        )
    return replace(limits, position_low=low, position_high=high), cut
