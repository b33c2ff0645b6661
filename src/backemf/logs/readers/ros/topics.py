"""Messages about joints become recordings: one per joint, with a channel for each topic and field."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...mapping import NONE
from ...recording import Channel, ReadError, Recording
from . import trajectory
from .messages import JOINT_STATE, KINDS, LEGS, NOBODY, TRAJECTORY, UNITS

STATED = ("position", "velocity", "torque")


class Topic:
    """The messages of one topic, as they are read: per joint and field, stamps [ns] and values."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.stamps: array[int] = array("q")
        self.logged: array[int] = array("q")
        self.values: dict[tuple[str, str, str], array[float]] = {}
        self.plans: list[trajectory.Sent] = []

    @property
    def stamped(self) -> bool:
        """Whether every message has a time of its own."""
        return KINDS[self.kind].stamped and all(s > 0 for s in self.stamps)

    def add(self, message: Any, logged: int, topic: str) -> None:
        header = getattr(message, "header", None)
        stamp = 0 if header is None else header.stamp.sec * 1_000_000_000 + header.stamp.nanosec
        n = len(self.stamps)
        self.stamps.append(stamp)
        self.logged.append(logged)
        if self.kind == TRAJECTORY:
            self.plans.append(trajectory.sent(message, stamp or logged))
        for joint, field, signal, value in KINDS[self.kind].rows(message, topic):
            column = self.values.setdefault((joint, field, signal), array("d"))
            column.extend([math.nan] * (n - len(column)))
            if len(column) == n:
                column.append(value)


class Bag:
    """The topics of a file."""

    def __init__(self) -> None:
        self.topics: dict[str, Topic] = {}
        self.others: dict[str, str] = {}
        """Topics about something else, with their types."""

    def add(self, topic: str, kind: str, message: Any, logged: int) -> None:
        self.topics.setdefault(topic, Topic(kind)).add(message, logged, topic)

    def recordings(self, path: Path, format: str) -> list[Recording]:
        """One recording per joint."""
        if not self.topics:
            there = ", ".join(f"{topic} ({kind})" for topic, kind in self.others.items()) or "none"
            also = "a controller's state, a trajectory, a forward command or Unitree's LowState"
            raise ReadError(f"no topic holds {JOINT_STATE}, {also}; there are: {there}")
        clocks, began, note = self._clocks()
        channels, nobody = self._channels(clocks, began)
        left = [f"topic {topic!r} ({kind}) is not used" for topic, kind in self.others.items()]
        recordings = []
        for joint, own in channels.items():
            chosen = _nearest(own)
            text = f"joint {joint!r}, {note}, counted from {began * 1e-9:.6f} s"
            more: dict[str, Any] = {"notes": (text, *left), "where": "message {}".format, "joint": joint}
            recordings.append(Recording.of(path, format, (*chosen, *nobody), f"{path.stem}/{joint}", **more))
        if not recordings:
            names = ", ".join(self.topics)
            raise ReadError(f"the topics {names} name no joint with values")
        return recordings

    def _clocks(self) -> tuple[dict[str, np.ndarray], int, str]:
        """Times of each topic [ns], the first of all, and which times they are: the messages' own where all
        that may have them do."""
        able = [t for t in self.topics.values() if KINDS[t.kind].stamped and t.kind != TRAJECTORY]
        stamped = bool(able) and all(t.stamped for t in able)
        note = "times are the messages' own stamps"
        if not stamped:
            note = "times are those of logging, as not every message carries a stamp"
        elif any(not t.stamped for t in self.topics.values()):
            note += ", and those of logging where a message has none"
        times = {
            name: np.array(t.stamps if stamped and t.stamped else t.logged, np.int64)
            for name, t in self.topics.items()
        }
        return times, min(int(t.min()) for t in times.values()), note

    def _legs(self) -> bool:
        """Whether Unitree's motors are those of a quadruped: none beyond the twelfth moves."""
        robots = [t for t in self.topics.values() if t.kind.startswith("unitree_")]
        small = {f"motor_{k}" for k in range(len(LEGS))}
        return all(t.kind.startswith("unitree_go") and small >= set(_used(t)) for t in robots)

    def _channels(
        self, times: Mapping[str, np.ndarray], began: int
    ) -> tuple[dict[str, list[tuple[int, Channel]]], list[Channel]]:
        """(by joint, channels with how near to the motor they are; channels that name nobody)."""
        by_joint: dict[str, list[tuple[int, Channel]]] = {}
        nobody: list[Channel] = []
        sampled = []
        legs = self._legs()
        for topic, content in self.topics.items():
            clock = (times[topic] - began) * 1e-9
            called = _called(content, legs)
            for (joint, field, signal), column in content.values.items():
                if joint not in called or not any(map(math.isfinite, column)):
                    continue
                values = np.full(len(clock), math.nan)
                values[: len(column)] = column
                if joint.startswith(NOBODY):
                    nobody.append(_of_nobody(f"{topic}.{joint[1:]}", values, clock, signal))
                    continue
                unit = UNITS[signal.removesuffix("_target")]
                one = Channel.of(f"{topic}.{field}", values, time=clock, unit=unit, signal=signal)
                rank = KINDS[content.kind].rank
                by_joint.setdefault(called[joint], []).append((rank, one))
            if content.plans:
                sampled.append((topic, content.plans))
        for topic, plans in sampled:
            for joint, signal in trajectory.sampled(plans, began, _ends(times, began)).items():
                start = (f"{topic}.positions", signal[1])
                one = Channel.of(*start, time=signal[0], unit="rad", signal="position_target")
                by_joint.setdefault(joint, []).append((KINDS[TRAJECTORY].rank, one))
        measured = {j: own for j, own in by_joint.items() if any(c.signal in STATED for _, c in own)}
        return measured or by_joint, nobody


def _ends(times: Mapping[str, np.ndarray], began: int) -> float:
    return max((int(t.max()) - began) * 1e-9 for t in times.values())


def _used(content: Topic) -> list[str]:
    """Joints whose position is anything but 0."""
    at = ((j, c) for (j, _, signal), c in content.values.items() if signal == "position")
    moving = (j for j, column in at if np.any(np.nan_to_num(column)))
    return list(dict.fromkeys(moving))


def _called(content: Topic, legs: bool) -> dict[str, str]:
    """The names of a topic's joints; Unitree's quadrupeds have twelve motors in a known order, and places
    that nothing moves in."""
    if not content.kind.startswith("unitree_"):
        return {joint: joint for joint, _, _ in content.values}
    if legs:
        return {f"motor_{k}": name for k, name in enumerate(LEGS)}
    return {joint: joint for joint, _, _ in content.values}


def _of_nobody(name: str, values: np.ndarray, clock: np.ndarray, signal: str) -> Channel:
    """An element of a command without names: nobody's until it is told, or seen, whose it is."""
    unit = UNITS.get(signal.removesuffix("_target"), "")
    ask = f"no name says whose it is: say JOINT.{signal or 'position_target'}={name}"
    return Channel.of(name, values, time=clock, unit=unit, signal=NONE, ask=ask, offers=signal)


def _nearest(own: list[tuple[int, Channel]]) -> list[Channel]:
    """The channels of a joint, and what is said elsewhere nearer to the motor: that stays as nothing."""
    best: dict[str, int] = {}
    for rank, channel in own:
        best[channel.signal] = min(rank, best.get(channel.signal, rank))
    chosen = []
    for rank, channel in own:
        if rank > best[channel.signal]:
            why = f"another topic says {channel.signal} nearer to the motor"
            chosen.append(replace(channel, signal=NONE, ask=why))
        else:
            chosen.append(channel)
    return chosen
