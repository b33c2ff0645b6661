"""What a servo's firmware makes of a goal: whole counts, a speed and an acceleration that the setpoint keeps,
and a duty that it does not exceed.

Pure functions of plain numbers, arrays or tracers, in whatever unit of position the caller counts: counts, or
radians. `h` is the time since the step before [s].
"""

from __future__ import annotations

from .maths import Scalar, absolute, clip, maximum, where

ONE = 1.0 + 1e-6
"""Leaves room for rounding."""


def ramp_step(velocity: Scalar, goal: Scalar, acceleration: Scalar | None, h: Scalar) -> Scalar:
    """The next velocity on the way to another one.

    Args:
        velocity: now [position/s].
        goal: to be reached [position/s].
        acceleration: at most [position/s^2]; None: any.
        h: time step [s].

    Returns:
        The velocity after the step [position/s].
    """
    if acceleration is None:
        return goal
    return clip(goal, velocity - acceleration * h, velocity + acceleration * h)


def profile_step(
    position: Scalar,
    velocity: Scalar,
    goal: Scalar,
    speed: Scalar | None,
    acceleration: Scalar | None,
    h: Scalar,
) -> tuple[Scalar, Scalar]:
    """One step of a trapezoidal profile: it speeds up, keeps its speed, and brakes so as to stop at the goal.

    Of a speed v that is reached in this step, v h / 2 + v0 h / 2 is covered in it and v^2 / (2 a) while
    braking; the fastest v that does not pass the goal follows.

    Args:
        position: of the setpoint now.
        velocity: of the setpoint now [position/s].
        goal: where it is to stop.
        speed: at most [position/s]; None: any.
        acceleration: at most, braking too [position/s^2]; None: any.
        h: time step [s].

    Returns:
        (position, velocity) of the setpoint after the step.
    """
    e = goal - position
    if acceleration is None:
        v = e / h if speed is None else clip(e / h, -speed, speed)
        return position + v * h, where(v * h == e, 0.0, v)
    forwards = where(e < 0.0, -1.0, 1.0)
    before = forwards * velocity
    least = 1e-12 * h * h  # a root of 0 has no derivative
    inside = maximum(h * h / 4.0 + 2.0 * (absolute(e) - before * h / 2.0) / acceleration, least)
    most = acceleration * (inside**0.5 - h / 2.0)
    if speed is not None:
        most = clip(most, -speed, speed)
    v = clip(most, before - acceleration * h, before + acceleration * h)
    after = position + forwards * h * (before + v) / 2.0
    # in the last step before it stands, no further from its goal than it brakes in one
    slow, close = ONE * acceleration * h, ONE * acceleration * h * h / 2.0
    there = maximum(absolute(e) - close, maximum(-before, before - slow)) <= 0.0
    return where(there, goal, after), where(there, 0.0, forwards * v)


def limit_error(error: Scalar, velocity: Scalar, full: Scalar, damping: Scalar, limit: Scalar) -> Scalar:
    """The error that a law duty = (error - damping velocity) / full may see, so that its duty stays within a
    limit.

    Args:
        error: of the position.
        velocity: of the output [position/s].
        full: the error at which the duty is 1.
        damping: time by which the law looks ahead [s]: its derivative over its proportional gain.
        limit: greatest size of the duty, 1 for all of the supply.

    Returns:
        The error, or the nearest one that is allowed.
    """
    ahead = damping * velocity
    return clip(error, ahead - limit * full, ahead + limit * full)
