"""Benches: what the output carries. Known inertia, and a load torque that acts on the joint."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar

from ..errors import InvalidValue, UnknownName
from ..registry import Registry
from ..units import GRAVITY as GRAVITY
from .drive import Inputs
from .maths import Scalar, cos, sin
from .quantity import Part, part, present, quantity


@part
class Bench(Part):
    """Base of every bench. Positive torque pushes towards positive position."""

    path: ClassVar[str] = "bench"
    locked: ClassVar[bool] = False
    series: ClassVar[tuple[str, ...]] = ()
    """Signals that must come with the command."""
    hangs: ClassVar[bool] = False
    """Whether it is an arm that hangs, with a mass, a length, an arm_mass, a hanging and a gravity."""

    supply_factor: float | None = quantity("1", "s_V", default=None, above=0, tolerance=lambda v: 0.02)
    """What a recorded supply is to be multiplied by, where its gauge reads wrong."""
    tolerances: Mapping[str, float] | None = dataclasses.field(default=None, hash=False)
    """Standard deviation of what was measured of the bench, by field; texts such as "0.535 +- 0.002 kg" fill
    it. What is not named has the usual tolerance of its field."""

    def check(self) -> None:
        """Refuse tolerances of unknown fields, and such as are not above 0."""
        named = {f.name: f.metadata for f in dataclasses.fields(self) if "unit" in f.metadata}
        for name, size in (self.tolerances or {}).items():
            if name not in named:
                raise UnknownName(f"tolerance of {self.kind}", name, named)
            if not size > 0:
                unit = named[name]["unit"]
                raise InvalidValue(f"the tolerance of bench.{name} is {size:g} {unit}; expected more than 0")

    def tolerance(self, name: str) -> float | None:
        """Standard deviation of a measured number; None where nobody is thought to have measured it."""
        if name in (self.tolerances or {}):
            return present(self.tolerances)[name]
        usual = next(f for f in dataclasses.fields(self) if f.name == name).metadata["tolerance"]
        value = getattr(self, name)
        return None if usual is None or value is None else usual(value)

    def correct_inputs(self, inputs: Inputs) -> Inputs:
        """What was recorded, as it really was."""
        if self.supply_factor is None or "supply" not in inputs:
            return inputs
        return {**inputs, "supply": self.supply_factor * inputs["supply"]}

    def inertia_at(self, inputs: Inputs) -> Scalar:
        """Inertia at the output, without the actuator's own [kg m^2]."""
        return 0.0

    def load(self, q: Scalar, w: Scalar, inputs: Inputs) -> Scalar:
        """Torque of what it carries on the joint.

        Args:
            q: position of the output [rad, or m on a linear axis].
            w: velocity of the output [rad/s or m/s].
            inputs: a recorded load is one of them.

        Returns:
            Torque at the output [N m or N]; positive pushes forwards.
        """
        return 0.0

    def moment(self) -> Scalar:
        """Gravity's torque with the arm horizontal [N m]; 0 where nothing hangs."""
        return 0.0

    def potential_energy(self, q: Scalar) -> Scalar:
        """Potential energy [J]."""
        return 0.0


@part
class Locked(Bench):
    """The output cannot move."""

    locked: ClassVar[bool] = True


@part
class FreeShaft(Bench):
    """Nothing attached: only the rotor turns."""


@part
class Flywheel(Bench):
    """A balanced inertia."""

    inertia: float = quantity("kg m^2", "J", above=0, tolerance=lambda J: 0.02 * J)

    def inertia_at(self, inputs: Inputs) -> Scalar:
        return self.inertia


@part
class Pendulum(Bench):
    """A point mass at the end of a uniform arm that hangs at 0.

    `tilt` turns the axis out of the horizontal: at pi/2 gravity no longer acts. `hanging` is the position at
    which the arm hangs, where the joint's zero is elsewhere.
    """

    hangs: ClassVar[bool] = True

    mass: float = quantity("kg", "m", least=0, tolerance=lambda m: 0.01 * m)
    length: float = quantity("m", "l", above=0, tolerance=lambda l: 1e-3)
    arm_mass: float = quantity("kg", "m_a", default=0.0, least=0, tolerance=lambda m: 0.05 * m)
    inertia: float | None = quantity("kg m^2", "J", default=None, least=0)
    """Inertia of the attached body about its own centre, added to m l^2;
    see `rod`, `disc`, `cylinder`, `box`."""
    tilt: float | None = quantity("rad", "beta", default=None, signed=0.3)
    hanging: float | None = quantity(
        "rad", "q_h", default=None, signed=0.3, tolerance=lambda q: math.radians(2.0)
    )
    gravity: float = quantity("m/s^2", "g", default=GRAVITY, least=0)

    def inertia_at(self, inputs: Inputs) -> Scalar:
        m, l, m_a = self.mass, self.length, self.arm_mass
        J = (m + m_a / 3.0) * l * l
        return J if self.inertia is None else J + self.inertia

    def moment(self) -> Scalar:
        """Gravity's torque with the arm horizontal: (m + m_a / 2) g l [N m]."""
        g = self.gravity if self.tilt is None else self.gravity * cos(self.tilt)
        return (self.mass + 0.5 * self.arm_mass) * g * self.length

    def angle(self, q: Scalar) -> Scalar:
        """From where the arm hangs [rad]."""
        return q if self.hanging is None else q - self.hanging

    def load(self, q: Scalar, w: Scalar, inputs: Inputs) -> Scalar:
        return -self.moment() * sin(self.angle(q))

    def potential_energy(self, q: Scalar) -> Scalar:
        return -self.moment() * cos(self.angle(q))


@part
class Elevator(Bench):
    """A mass lifted along an incline: on a drum of some radius, or directly where the axis is linear.

    `incline` is 90 degrees for a vertical lift; `counterweight` balances part of the load but adds its
    inertia.
    """

    mass: float = quantity("kg", "m", above=0, tolerance=lambda m: 0.01 * m)
    drum_radius: float | None = quantity("m", "r", default=None, above=0, tolerance=lambda r: 2e-4)
    """Absent: the axis is linear and position is in metres."""
    counterweight: float = quantity("kg", "m_c", default=0.0, least=0)
    incline: float | None = quantity("rad", "beta", default=None)
    """Absent: vertical."""
    gravity: float = quantity("m/s^2", "g", default=GRAVITY, least=0)

    def inertia_at(self, inputs: Inputs) -> Scalar:
        m = self.mass + self.counterweight
        return m if self.drum_radius is None else m * self.drum_radius * self.drum_radius

    def weight(self) -> Scalar:
        """What it must be held with [N m, or N on a linear axis]."""
        F = (self.mass - self.counterweight) * self.gravity
        F = F if self.incline is None else F * sin(self.incline)
        return F if self.drum_radius is None else F * self.drum_radius

    def load(self, q: Scalar, w: Scalar, inputs: Inputs) -> Scalar:
        return -self.weight() + 0.0 * q

    def potential_energy(self, q: Scalar) -> Scalar:
        return self.weight() * q


@part
class Spring(Bench):
    """An inertia on a spring and a damper."""

    inertia: float = quantity("kg m^2", "J", least=0, tolerance=lambda J: 0.02 * J)
    stiffness: float = quantity("N m/rad", "k", least=0, tolerance=lambda k: 0.02 * k)
    damping: float = quantity("N m s/rad", "d", default=0.0, least=0)
    rest: float = quantity("rad", "q_0", default=0.0)

    def inertia_at(self, inputs: Inputs) -> Scalar:
        return self.inertia

    def load(self, q: Scalar, w: Scalar, inputs: Inputs) -> Scalar:
        return -self.stiffness * (q - self.rest) - self.damping * w

    def potential_energy(self, q: Scalar) -> Scalar:
        return 0.5 * self.stiffness * (q - self.rest) ** 2


@part
class Recorded(Bench):
    """Inertia and load torque as recorded or computed elsewhere, sample by sample:
    signals `inertia` and `load`."""

    series: ClassVar[tuple[str, ...]] = ("inertia", "load")

    def inertia_at(self, inputs: Inputs) -> Scalar:
        return inputs["inertia"]

    def load(self, q: Scalar, w: Scalar, inputs: Inputs) -> Scalar:
        return inputs["load"] + 0.0 * q


def rod(mass: float, length: float) -> float:
    """Inertia of a thin rod about its middle, across it [kg m^2]."""
    return mass * length * length / 12.0


def disc(mass: float, radius: float) -> float:
    """Inertia of a disc about its axis [kg m^2]."""
    return 0.5 * mass * radius * radius


def cylinder(mass: float, radius: float, length: float) -> float:
    """Inertia of a solid cylinder about its middle, across its axis [kg m^2]."""
    return mass * (3.0 * radius * radius + length * length) / 12.0


def box(mass: float, width: float, height: float) -> float:
    """Inertia of a box about its middle, across the face width x height [kg m^2]."""
    return mass * (width * width + height * height) / 12.0


def parallel_axis_inertia(inertia: float, mass: float, distance: float) -> float:
    """Inertia about an axis at some distance from the centre (parallel axes) [kg m^2]."""
    return inertia + mass * distance * distance


shifted = parallel_axis_inertia
"""What users may still call it."""


BENCHES: Registry[type[Bench]] = Registry(
    "bench",
    {
        "locked": Locked,
        "free-shaft": FreeShaft,
        "flywheel": Flywheel,
        "pendulum": Pendulum,
        "elevator": Elevator,
        "spring": Spring,
        "recorded": Recorded,
    },
)
"""Every bench by name."""
BENCH_TRAITS: dict[str, Mapping[str, Any]] = {
    f"bench.{f.name}": f.metadata
    for cls in BENCHES.values()
    for f in dataclasses.fields(cls)
    if "unit" in f.metadata
}
"""What the fields of benches say of their numbers, by path."""
