"""`backemf measure fall` and `slip`: static friction from an arm with a weight."""

from __future__ import annotations

import math
from typing import Annotated, Any

from ..terminal import option
from .answers import reading

Mass = Annotated[float, option("Mass at the end of the arm [kg].")]
Length = Annotated[float, option("Length of the arm [m].")]
ArmMass = Annotated[float, option("Mass of the arm [kg].")]
Angle = Annotated[float, option("Angle from the horizontal [deg].")]


@reading
def fall(mass: Mass, length: Length, angle: Angle, arm_mass: ArmMass = 0.0) -> Any:
    """Static friction from where a falling arm came to rest: a bound.

    Example: backemf measure fall --mass 0.33 --length 0.15 --angle 64
    """
    from ....analysis.torque import fall as measure

    return measure(mass=mass, length=length, angle=math.radians(angle), arm_mass=arm_mass)


@reading
def slip(
    mass: Mass,
    length: Length,
    angle: Angle,
    arm_mass: ArmMass = 0.0,
    angle_error: Annotated[float, option("How well the angle was read [deg].")] = 1.0,
) -> Any:
    """Static friction from the angle at which a raised arm starts to slip: a value.

    Example: backemf measure slip --mass 0.33 --length 0.15 --angle 60
    """
    from ....analysis.torque import slip as measure

    read = {"mass": mass, "length": length, "arm_mass": arm_mass}
    return measure(angle=math.radians(angle), angle_error=math.radians(angle_error), **read)
