"""Whose a channel is: names of joints in a recording against those of a robot; commands without names find
the joints that follow them, and swapped ones are seen."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..findings import Finding, finding
from ..tables import table
from . import names
from .log import Signal
from .mapping import NONE, WHOLE, Origin
from .recording import Channel, Recording
from .robot import Joint, Robot

EXTRA = frozenset(("joint", "joints", "motor", "servo", "main", "follower", "actuator"))
"""Words that tell no joint from another: `FL_hip` is `FL_hip_joint`."""
NEAR = 0.6
"""Likeness of two names from which on one may be meant by the other."""
TOOLS = ("grip", "jaw", "finger", "claw")


def spellings(robot: Robot, origins: Sequence[Origin] = ()) -> list[tuple[list[str], Joint]]:
    """Words that stand for a joint: its name as told, or its own, its actuator's, and these without words
    that tell nothing apart; none that two joints have."""
    named = {o.joint: o.channel for o in origins if o.signal == WHOLE}
    listed: dict[tuple[str, ...], list[Joint]] = {}
    for joint in robot.joints:
        own = (named[joint.name],) if joint.name in named else (joint.name, joint.actuator)
        for said in _ways_to_say(own):
            listed.setdefault(said, []).append(joint)
    return [(list(said), joints[0]) for said, joints in listed.items() if len(joints) == 1]


def _ways_to_say(own: Iterable[str]) -> list[tuple[str, ...]]:
    """Names in words; and without words that tell nothing apart, where a name is left that is no signal's."""
    full = [tuple(w.lower() for w in names.words(name)) for name in own if name]
    short = [tuple(w for w in said if w not in EXTRA) for said in full]
    good = [said for said in short if said and not all(w.isdigit() for w in said)]
    every = dict.fromkeys([*full, *(s for s in good if not names.recognise("_".join(s)).signals)])
    return [said for said in every if said]


def match(recorded: Iterable[str], robot: Robot, origins: Sequence[Origin] = ()) -> dict[str, str]:
    """Whose the recorded joints are: by name, then as the only thing that grips on both sides.

    Args:
        recorded: names of joints in the recording.
        robot: whose they are.
        origins: what was told of them.

    Returns:
        The robot's joint by recorded name; what matches nothing is left out.
    """
    recorded = list(recorded)
    known = {tuple(said): joint.name for said, joint in spellings(robot, origins)}
    found: dict[str, str] = {}
    for left_out in (frozenset[str](), EXTRA):
        for name in recorded:
            joint = known.get(tuple(w for w in map(str.lower, names.words(name)) if w not in left_out))
            if joint and name not in found and joint not in found.values():
                found[name] = joint
    if not found and sorted(recorded) == sorted(map(str, range(len(robot.joints)))):
        return {str(k): joint for k, joint in enumerate(robot.names)}
    return found | _match_tools(recorded, robot, found)


def _match_tools(recorded: Sequence[str], robot: Robot, found: Mapping[str, str]) -> dict[str, str]:
    """The only thing that grips on both sides."""
    holding = [n for n in recorded if n not in found and any(t in n.lower() for t in TOOLS)]
    tools = [j.name for j in robot.joints if j.tool and j.name not in found.values()]
    return {holding[0]: tools[0]} if len(holding) == 1 == len(tools) else {}


def nearest(name: str, among: Sequence[str]) -> str:
    """The likest name, or nothing."""
    lower = {n.lower(): n for n in among}
    near = difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=NEAR)
    return lower[near[0]] if near else ""


def both_sides(recorded: Sequence[str], robot: Robot, found: Mapping[str, str]) -> str:
    """A table of the recorded names and the robot's: what belongs together, what is near, what is alone."""
    alone = [joint for joint in robot.names if joint not in found.values()]
    rows = [(name, found[name], "") for name in recorded if name in found]
    for name in (n for n in recorded if n not in found):
        near = nearest(name, alone)
        rows.append((name, "-", f"{near}?" if near else "no joint has this name"))
    rows += [("-", joint, "no channel") for joint in alone]
    return table(rows, ("in the recording", f"joint of {robot.name}", ""))


def mismatch_words(recorded: Sequence[str], robot: Robot, found: Mapping[str, str]) -> str:
    """What to say where names do not match.

    Args:
        recorded: names of joints in the recording.
        robot: whose they should be.
        found: the robot's joint by recorded name, as far as they match.

    Returns:
        What is wrong, what to write, and both sides in a table.
    """
    alone = [joint for joint in robot.names if joint not in found.values()]
    strange = [name for name in recorded if name not in found]
    first, theirs = alone[0], (nearest(alone[0], strange) or (strange or ["NAME"])[0])
    remedy = f'say which is which: --map "{first}={theirs}" (map=["{first}={theirs}"]), one for each'
    remedy += f', or leave it: --map "none={theirs}"' if found else ""
    what = (
        f"no channel has the name of a joint of {robot.name} in it"
        if not found
        else f"{', '.join(strange)} and {', '.join(alone)} of {robot.name} do not match"
    )
    return f"{what}; {remedy}:\n{both_sides(recorded, robot, found)}"


CLEARLY = 0.25
"""Share of the squared distance to the next joint, at most, that shows whose a command is."""


def distances(positions: Sequence[Signal], targets: Sequence[Signal]) -> np.ndarray:
    """(positions, targets): mean squares of what lies between each position and each command."""
    out = np.empty((len(positions), len(targets)))
    for i, q in enumerate(positions):
        for j, u in enumerate(targets):
            out[i, j] = np.nanmean((q.values - u.hold_at(q.time)) ** 2)
    return out


def _signal(channel: Channel) -> Signal | None:
    """A channel with a clock of its own, without empty samples."""
    if channel.values is None or channel.time is None:
        return None
    good = np.isfinite(channel.values) & np.concatenate([[True], np.diff(channel.time) > 0])
    return Signal(time=channel.time[good], values=channel.values[good]) if good.any() else None


def assign_commands(
    parts: Mapping[str, Recording], given_origins: Sequence[Origin]
) -> tuple[tuple[Origin, ...], tuple[Finding, ...]]:
    """Whose the commands without names are, as the motion shows; nothing is assigned where it does not."""
    origins: list[Origin] = []
    findings: list[Finding] = []
    spoken = {o.channel for o in given_origins}
    for (topic, offers), elements in _topics(parts).items():
        free = _without(parts, offers)
        targets = [u for c in elements if (u := _signal(c)) is not None]
        if not spoken.isdisjoint(c.name for c in elements) or not free or len(targets) != len(elements):
            continue
        whose = _whose(distances(list(free.values()), targets))
        remedy = f'--map "{next(iter(free))}.{offers}={elements[0].name}", one for each'
        if whose is None:
            text = f"the elements of {topic} have no names, and the motion does not show whose they are."
            findings.append(finding("command_of_nobody", text, f"say it: {remedy}", elements=len(elements)))
            continue
        joints = list(free)
        pairs = {joints[i]: c for i, c in zip(whose, elements, strict=True)}
        origins += [
            Origin(signal=offers, joint=j, channel=c.name, unit=c.unit, by="format") for j, c in pairs.items()
        ]
        listed = ", ".join(f"{c.name.rpartition('.')[2]} {j}" for j, c in pairs.items())
        text = f"the elements of {topic} have no names; by the joints that follow them they are {listed}."
        findings.append(finding("order_by_motion", text, f"say it where this is wrong: {remedy}"))
    return tuple(origins), tuple(findings)


def _topics(parts: Mapping[str, Recording]) -> dict[tuple[str, str], list[Channel]]:
    """Channels that are nobody's yet, by topic and the signal that they would be."""
    channels = {c.name: c for part in parts.values() for c in part.channels if c.signal == NONE and c.offers}
    topics: dict[tuple[str, str], list[Channel]] = {}
    for c in channels.values():
        topics.setdefault((c.name.rpartition(".")[0], c.offers), []).append(c)
    return topics


def _without(parts: Mapping[str, Recording], target: str) -> dict[str, Signal]:
    """What is measured of the joints that have no target of their own."""
    measured = {
        joint: _of(part, target.removesuffix("_target"))
        for joint, part in parts.items()
        if not any(c.signal == target for c in part.channels)
    }
    return {joint: signal for joint, signal in measured.items() if signal is not None}


def _of(part: Recording, signal: str) -> Signal | None:
    return next((s for c in part.channels if c.signal == signal and (s := _signal(c)) is not None), None)


def _whose(apart: np.ndarray) -> list[int] | None:
    """For each command the joint that follows it, if each has one of its own and no other comes near."""
    best = [int(i) for i in np.argmin(apart, axis=0)]
    if len(set(best)) < len(best):
        return None
    for j, i in enumerate(best):
        others = np.delete(apart[:, j], i)
        if len(others) and apart[i, j] > CLEARLY * others.min():
            return None
    return best
