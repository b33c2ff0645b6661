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


def told_names(robot: Robot, told: Sequence[Origin]) -> dict[str, str]:
    """The name under which a joint was recorded, where that was told."""
    return {o.joint: o.channel for o in told if o.signal == WHOLE}


def spellings(robot: Robot, told: Sequence[Origin] = ()) -> list[tuple[list[str], Joint]]:
    """Words that stand for a joint: its name as told, or its own, its actuator's, and these without words
    that tell nothing apart; none that two joints have."""
    named = told_names(robot, told)
    listed: dict[tuple[str, ...], list[Joint]] = {}
    for joint in robot.joints:
        own = (named[joint.name],) if joint.name in named else (joint.name, joint.actuator)
        full = [tuple(w.lower() for w in names.words(name)) for name in own if name]
        short = [tuple(w for w in said if w not in EXTRA) for said in full]
        good = [said for said in short if said and not all(w.isdigit() for w in said)]
        for said in dict.fromkeys([*full, *(s for s in good if not names.recognise("_".join(s)).signals)]):
            if said:
                listed.setdefault(said, []).append(joint)
    return [(list(said), joints[0]) for said, joints in listed.items() if len(joints) == 1]


def match(recorded: Iterable[str], robot: Robot, told: Sequence[Origin] = ()) -> dict[str, str]:
    """The robot's joint for each recorded one: by name, then as the only thing that grips on both sides."""
    recorded = list(recorded)
    known = {tuple(said): joint.name for said, joint in spellings(robot, told)}
    found: dict[str, str] = {}
    for exact in (True, False):
        for name in recorded:
            said = tuple(w.lower() for w in names.words(name))
            said = said if exact else tuple(w for w in said if w not in EXTRA)
            joint = known.get(said)
            if joint and name not in found and joint not in found.values():
                found[name] = joint
    if not found and sorted(recorded) == sorted(map(str, range(len(robot.joints)))):
        return {str(k): joint for k, joint in enumerate(robot.names)}
    holding = [n for n in recorded if n not in found and any(t in n.lower() for t in TOOLS)]
    tools = [j.name for j in robot.joints if j.tool and j.name not in found.values()]
    if len(holding) == 1 == len(tools):
        found[holding[0]] = tools[0]
    return found


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


def unmatched(recorded: Sequence[str], robot: Robot, found: Mapping[str, str]) -> str:
    """What to say where names do not match."""
    alone = [joint for joint in robot.names if joint not in found.values()]
    strange = [name for name in recorded if name not in found]
    first, theirs = alone[0], (nearest(alone[0], strange) or (strange or ["NAME"])[0])
    say = f'say which is which: --map "{first}={theirs}" (map=["{first}={theirs}"]), one for each'
    say += f', or leave it: --map "none={theirs}"' if found else ""
    what = (
        f"no channel has the name of a joint of {robot.name} in it"
        if not found
        else f"{', '.join(strange)} and {', '.join(alone)} of {robot.name} do not match"
    )
    return f"{what}; {say}:\n{both_sides(recorded, robot, found)}"


CLEARLY = 0.25
"""Share of the squared distance to the next joint, at most, that shows whose a command is."""


def distances(positions: Sequence[Signal], targets: Sequence[Signal]) -> np.ndarray:
    """(positions, targets): mean squares of what lies between each position and each command."""
    out = np.empty((len(positions), len(targets)))
    for i, q in enumerate(positions):
        for j, u in enumerate(targets):
            out[i, j] = np.nanmean((q.values - u.held(q.time)) ** 2)
    return out


def _signal(channel: Channel) -> Signal | None:
    """A channel with a clock of its own, without empty samples."""
    if channel.values is None or channel.time is None:
        return None
    good = np.isfinite(channel.values) & np.concatenate([[True], np.diff(channel.time) > 0])
    return Signal(time=channel.time[good], values=channel.values[good]) if good.any() else None


def assigned(
    parts: Mapping[str, Recording], told: Sequence[Origin]
) -> tuple[tuple[Origin, ...], tuple[Finding, ...]]:
    """Whose the commands without names are, as the motion shows; nothing is assigned where it does not."""
    origins: list[Origin] = []
    findings: list[Finding] = []
    spoken = {o.channel for o in told}
    channels = {c.name: c for part in parts.values() for c in part.channels if c.signal == NONE and c.offers}
    topics: dict[tuple[str, str], list[Channel]] = {}
    for c in channels.values():
        topics.setdefault((c.name.rpartition(".")[0], c.offers), []).append(c)
    for (topic, offers), elements in topics.items():
        if any(c.name in spoken for c in elements):
            continue
        measured = offers.removesuffix("_target")
        free = {
            joint: q
            for joint, part in parts.items()
            if not any(c.signal == offers for c in part.channels) and (q := _of(part, measured)) is not None
        }
        targets = [u for c in elements if (u := _signal(c)) is not None]
        if not free or not targets or len(targets) != len(elements):
            continue
        whose = _whose(distances(list(free.values()), targets))
        say = f'--map "{next(iter(free))}.{offers}={elements[0].name}", one for each'
        if whose is None:
            text = f"the elements of {topic} have no names, and the motion does not show whose they are."
            findings.append(finding("command_of_nobody", text, f"say it: {say}", elements=len(elements)))
            continue
        joints = list(free)
        pairs = {joints[i]: c.name for i, c in zip(whose, elements, strict=True)}
        origins += [
            Origin(signal=offers, joint=j, channel=name, unit=channels[name].unit, by="format")
            for j, name in pairs.items()
        ]
        listed = ", ".join(f"{name.rpartition('.')[2]} {j}" for j, name in pairs.items())
        text = f"the elements of {topic} have no names; by the joints that follow them they are {listed}."
        findings.append(finding("order_by_motion", text, f"say it where this is wrong: {say}"))
    return tuple(origins), tuple(findings)


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
