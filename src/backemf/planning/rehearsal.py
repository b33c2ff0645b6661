"""A plan of a robot rehearsed: its motions simulated with all joints together, and fitted as their recordings
will be.

What a fit of a robot leaves open is more than its encoders' counts: the load on a joint comes from the
recorded, smoothed motion of all. The fit knows that and says so, so it is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..errors import BackemfError
from ..identify.fit import run_fit
from ..identify.fit_options import FitOptions
from ..logs.log import Log, Signal
from ..logs.robot import Robot
from ..mujoco.robot.joint_simulation import simulate_joints
from ..physics.actuator import Actuator
from .motions import Motion
from .outlook import Sensing
from .plan_options import PlanOptions

STEP = 1e-3
"""Of the simulation [s]."""
FASTEST = 100.0
"""Samples a second that are rehearsed at most: a fit of a robot hardly gains by more."""


def rehearse(
    robot: Robot,
    actuators: Mapping[str, Actuator],
    motions: Sequence[Motion],
    options: PlanOptions,
    say: Callable[[str, float], None],
) -> dict[tuple[str, str], float]:
    """Errors that a fit of a plan's recordings will state, were the servos as they are believed to be.

    Args:
        robot: its model.
        actuators: by joint; the start of the fit and the truth of the simulation.
        motions: that are planned.
        options: of the plan.
        say: is told what is being done, and which share of it is.

    Returns:
        Relative errors by joint and path; none where the fit fails.
    """
    sensing = options.sensing or Sensing()
    logs = []
    for k, motion in enumerate(motions):
        say(f"rehearsing {motion.name}", 0.5 * k / len(motions))
        logs.append(_recording(robot, actuators, motion, sensing, dict(options.settings or {})))
    friction = next(iter(actuators.values())).friction.name
    asked = FitOptions(
        prior=options.prior,
        friction=friction,
        joints=tuple(actuators),
        progress=lambda text, cost, share: say(f"a fit of the rehearsal: {text}", 0.5 + 0.5 * share),
    )
    try:
        fit = run_fit(dict(actuators), logs, asked)
    except BackemfError:
        return {}
    return {
        (joint, path): number.error / max(abs(actuators[joint].parameters.get(path) or 0.0), 1e-300)
        for joint, one in fit.joints.items()
        for path, number in one.parameters.items()
        if math.isfinite(number.error)
    }


def _recording(
    robot: Robot,
    actuators: Mapping[str, Actuator],
    motion: Motion,
    sensing: Sensing,
    settings: dict[str, float],
) -> Log:
    """What the robot would record, with the counts of its encoders."""
    t = np.arange(0.0, motion.duration, 1.0 / min(sensing.rate, FASTEST))
    asked = {name: track.at(t) for name in robot.names if (track := motion.track(name)) is not None}

    def log(seen: Mapping[str, np.ndarray]) -> Log:
        joints = {}
        for name, u in asked.items():
            signals = {"position": seen[name], "position_target": u}
            made = {key: Signal(time=t, values=values) for key, values in signals.items()}
            joints[name] = Log(name=f"{motion.name}/{name}", signals=made, settings=settings)
        return Log(name=motion.name, signals={}, joints=joints, robot=robot)

    begins = log({name: np.full(len(t), u[0]) for name, u in asked.items()})
    moving = {name: one for name, one in actuators.items() if name in asked}
    q = simulate_joints(robot, moving, begins, step=STEP)
    counts = np.round(q / sensing.grain) * sensing.grain
    return log({name: counts[:, robot.place(name)] for name in asked})
