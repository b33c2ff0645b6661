"""Static friction from an arm with a weight: where it comes to rest, and where it starts to slip."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...errors import InvalidValue
from ...physics.bench import GRAVITY, Pendulum
from .measured import Followed, Measured, Readings, Shown, estimate, known

DEGREE = math.radians(1.0)
"""How well an angle is read unless said otherwise."""


def _arm(mass: float, length: float, arm_mass: float, angle: float, gravity: float) -> Pendulum:
    """The arm, once all that was read makes sense."""
    known("mass", mass)
    known("length", length)
    if not math.isfinite(angle):
        raise InvalidValue(f"angle is {angle!r}; expected a finite number")
    if not 0 <= arm_mass < math.inf:
        raise InvalidValue(f"arm_mass is {arm_mass!r}; expected 0 or more")
    return Pendulum(mass=mass, length=length, arm_mass=arm_mass, gravity=gravity)


def _held(moment: float, angle: float, label: str, m: Measured | None = None) -> Shown:
    """Gravity's torque over the angle, and where the arm was; with the friction that follows."""
    drawn = np.radians(np.linspace(0.0, 90.0, 91))
    at = abs(math.degrees(math.asin(math.sin(angle))))
    read = Readings(x=np.array([at]), y=np.array([moment * abs(math.cos(angle))]), label=label)
    line = Followed(x=np.degrees(drawn), y=moment * np.cos(drawn), label="gravity's torque")
    curves = [line]
    if m is not None and m.value is not None:
        wide, (low, high) = np.array([0.0, 90.0]), (np.full(2, v) for v in (m.low, m.high))
        curves.append(Followed(x=wide, y=np.full(2, m.value), label="static friction", low=low, high=high))
    return Shown(
        x_label="angle from the horizontal [deg]",
        y_label="torque [N m]",
        readings=(read,),
        curves=tuple(curves),
        fitted=False,
    )


def fall(
    *, mass: float, length: float, angle: float, arm_mass: float = 0.0, gravity: float = GRAVITY
) -> Measured:
    """A falling arm came to rest at `angle` [rad] from the horizontal:
    friction holds it there, so stiction is at least its torque."""
    moment = float(_arm(mass, length, arm_mass, angle, gravity).moment())
    return Measured(
        name="friction.static",
        unit="N m",
        low=moment * abs(math.cos(angle)),
        route="fall",
        shown=_held(moment, angle, "where it came to rest: static friction is here or above"),
        assumption="an arm that came to rest is held by friction at or below stiction",
        sharpen="raise the arm slowly until it just starts to slip: that angle gives the value",
    )


def slip(
    *,
    mass: float,
    length: float,
    angle: float,
    angle_error: float = DEGREE,
    arm_mass: float = 0.0,
    gravity: float = GRAVITY,
) -> Measured:
    """An arm raised slowly starts to slip at `angle` [rad] from the horizontal:
    there gravity equals stiction."""
    moment = float(_arm(mass, length, arm_mass, angle, gravity).moment())
    known("angle_error", angle_error, zero=True)
    if angle_error > math.pi / 2:
        told = f"{math.degrees(angle_error):.4g} deg"
        raise InvalidValue(f"angle_error is {told}; expected at most 90 deg: beyond that nothing was read")
    # to second order, so that an arm that slips near the horizontal, where cos is flat, has an error too
    bent = math.hypot(math.sin(angle) * angle_error, math.cos(angle) * angle_error**2 / math.sqrt(2.0))
    f_s = estimate("friction.static", "N m", moment * abs(math.cos(angle)), (moment * bent) ** 2)
    return replace(
        f_s,
        route="slip",
        shown=_held(moment, angle, "where it slipped", f_s),
        assumption=f"moved slowly, the drive off, the angle read to {math.degrees(angle_error):g} deg",
        sharpen=(
            "several slips in both directions: their half-difference is friction, their mean the mounting"
            " offset"
        ),
    )
