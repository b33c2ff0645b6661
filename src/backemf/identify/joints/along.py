"""Recordings of a robot as recordings of single joints: each with the inertia and load that the others make,
and without the samples in which the robot touched something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...data.log import Log, Signal
from ...data.robot import Ground, Robot
from ...model.actuator import Actuator
from ...model.bench import Recorded
from ...robot.clearance import Clearance, clearance
from ...robot.contact import Pushes, by_joint, ground_of, pushes, touched
from ...robot.dynamics import Carried, carried
from ...robot.motion import Motion, motion_of


@dataclass(frozen=True, kw_only=True)
class Along:
    """One recording of a robot, and what its joints carried along it."""

    log: Log
    motion: Motion
    carried: Carried
    clearance: Clearance | None
    touched: np.ndarray = field(repr=False)
    """Samples in which it touched something."""


def along(robot: Robot, log: Log) -> Along:
    motion = motion_of(robot, log)
    return Along(
        log=log,
        motion=motion,
        carried=carried(robot, motion),
        clearance=clearance(robot, motion.position),
        touched=np.zeros(len(motion.time), bool),
    )


def joint_log(one: Along, robot: Robot, name: str, settings: Mapping[str, float]) -> Log:
    """The recording of one joint, on a bench that is all the others."""
    j, given, t = robot.place(name), one.log.joints[name], one.motion.time
    kept = ~one.touched & np.isfinite(one.motion.recorded[:, j])
    signals = {n: s for n, s in given.signals.items() if n.endswith("_target") or n in ("enabled", "supply")}
    signals["position"] = Signal(time=t[kept], values=one.motion.recorded[kept, j])
    signals["inertia"] = Signal(time=t, values=_between(one.carried.inertia[:, j]))
    signals["load"] = Signal(time=t, values=_between(one.carried.load[:, j]))
    return replace(
        given,
        name=f"{one.log.name}/{name}",
        signals=signals,
        bench=Recorded(),
        settings={**given.settings, **settings},
    )


def _between(x: np.ndarray) -> np.ndarray:
    """What holds from each sample to the next: the mean of both, or a load would come half a sample late."""
    return np.append(0.5 * (x[1:] + x[:-1]), x[-1])


def with_contact(
    robot: Robot,
    recordings: Sequence[Along],
    actuators: Mapping[str, Actuator],
    delays: Mapping[str, float],
    ground: Ground | None,
) -> tuple[list[Along], Ground | None, list[Pushes]]:
    """(recordings with the samples marked in which the robot touched something, the ground that was given or
    found, how hard it pushed)."""
    seen = [robot.place(name) for name in actuators]
    felt = []
    for one in recordings:
        if one.clearance is None:
            return list(recordings), ground, []
        torques = by_joint(robot, actuators, delays, one.log, one.motion, one.carried)
        felt.append(pushes(torques, one.clearance, seen, one.motion.time))
    there = [one.clearance for one in recordings if one.clearance is not None]
    if ground is None:
        ground = ground_of(there, felt)
    marked = []
    for one, c, p in zip(recordings, there, felt, strict=True):
        marked.append(replace(one, touched=touched(c, p, ground, one.motion.time)))
    return marked, ground, felt
