"""Which joint follows which command: commands without names find their joints, and swapped ones are seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...findings import Finding, finding
from ..log import Signal
from ..mapping import NONE, Origin
from ..recording import Channel, Recording

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
