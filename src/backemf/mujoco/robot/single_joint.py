"""One joint of a robot's recording as a recording of its own: its bench is what all the others make of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...logs.log import Log, Signal
from ...logs.robot import Robot
from ...physics.bench import Recorded
from .dynamics import Carried, carried
from .motion import Motion, motion_of

SECONDS = 5.0
"""Of each recording that goes into an excerpt [s]: enough for a few reversals of every joint."""


def joint_log(
    log: Log,
    robot: Robot,
    name: str,
    motion: Motion,
    along: Carried,
    *,
    kept: np.ndarray | None = None,
    settings: Mapping[str, float] | None = None,
) -> Log:
    """The recording of one joint, with the inertia and load that the others make; `kept` marks the samples
    of its position that count."""
    j, given, t = robot.place(name), log.joints[name], motion.time
    seen = np.isfinite(motion.recorded[:, j]) & (True if kept is None else kept)
    signals = {n: s for n, s in given.signals.items() if n.endswith("_target") or n in ("enabled", "supply")}
    signals["position"] = Signal(time=t[seen], values=motion.recorded[seen, j])
    signals["inertia"] = Signal(time=t, values=between(along.inertia[:, j]))
    signals["load"] = Signal(time=t, values=between(along.load[:, j]))
    return replace(
        given,
        name=f"{log.name}/{name}",
        signals=signals,
        bench=Recorded(),
        settings={**given.settings, **(settings or {})},
    )


def between(x: np.ndarray) -> np.ndarray:
    """What holds from each sample to the next: the mean of both, or a load would come half a sample late."""
    return np.append(0.5 * (x[1:] + x[:-1]), x[-1])


def excerpts(
    robot: Robot, logs: Sequence[Log], names: Sequence[str], seconds: float = SECONDS
) -> dict[str, list[Log]]:
    """By joint, the middle of every recording as that joint met it."""
    found: dict[str, list[Log]] = {name: [] for name in names}
    for log in logs:
        middle = 0.5 * float(log.time[0] + log.time[-1])
        part = log.between(middle - 0.5 * seconds, middle + 0.5 * seconds)
        motion = motion_of(robot, part)
        along = carried(robot, motion)
        for name in names:
            if name in part.joints:
                found[name].append(joint_log(part, robot, name, motion, along))
    return found
