"""Bus servos whose stiffness or rotor inertia somebody has measured or printed: what a servo of some torque
is like."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...tables import number

ALIKE = 2.0
"""Servos within this factor of a torque are alike."""


class CatalogueServo(NamedTuple):
    """One servo of the catalogue, at its output."""

    name: str
    torque: float
    """Stall torque at its voltage [N m]."""
    speed: float
    """No-load speed [rad/s]."""
    stiffness: float | None = None
    """At the default gains, over the stall torque: duty per radian over the largest duty [1/rad]."""
    armature: float | None = None
    """Identified [kg m^2]."""


SERVOS = (
    CatalogueServo("mx-106/m1", 8.536, 5.159, 5.253, 0.02661),
    CatalogueServo("mx-28", 2.5, 5.76, 5.253),
    CatalogueServo("mx-64/m1", 4.745, 6.996, 5.253, 0.01195),
    CatalogueServo("sts3032/m1", 0.7235, 11.84, None, 0.001013),
    CatalogueServo("sts3215-12v/so101", 5.815, 4.357, None, 0.03439),
    CatalogueServo("sts3215-7.4v/m1", 3.25, 5.348, 5.476, 0.0284),
    CatalogueServo("xc330-m181", 0.6, 13.51, 6.906),
    CatalogueServo("xc330-m288", 0.93, 8.482, 6.33),
    CatalogueServo("xc330-t288", 0.92, 6.807, 5.179),
    CatalogueServo("xl-320/m1", 0.2051, 6.687, 1.615, 0.001119),
    CatalogueServo("xl330-m288/m1", 0.4813, 11.77, 1.151, 0.001814),
    CatalogueServo("xl430-w250", 1.4, 5.969, 3.683),
    CatalogueServo("xm430-w210", 3.0, 8.063, 4.604),
    CatalogueServo("xm430-w350", 4.1, 4.817, 4.604),
    CatalogueServo("xm540-w150", 7.3, 5.55, 4.604),
    CatalogueServo("xm540-w270", 10.6, 3.142, 4.604),
)
"""From the catalogue, whose files name the sources: torque, speed and rotor inertia of the first identified
set where there is one, else as printed; gains as the makers print them or benches found them. A test compares
this table with the catalogue."""


class ServoRange(NamedTuple):
    """From the least to the largest of some servos, and their names."""

    low: float
    high: float
    names: tuple[str, ...]

    @property
    def middle(self) -> float:
        return (self.low * self.high) ** 0.5

    def scale(self, factor: float) -> ServoRange:
        return self._replace(low=factor * self.low, high=factor * self.high)

    def __str__(self) -> str:
        low, high = number(self.low, 2), number(self.high, 2)
        return low if low == high else f"{low} to {high}"


def _over(
    number: Callable[[CatalogueServo], float | None], servos: tuple[CatalogueServo, ...]
) -> ServoRange | None:
    known = [(value, s.name) for s in servos if (value := number(s)) is not None]
    values = [value for value, _ in known]
    return ServoRange(min(values), max(values), tuple(name for _, name in known)) if known else None


def _of(number: Callable[[CatalogueServo], float | None], torque: float | None) -> ServoRange:
    """Over the servos like one of that torque; over all of them where there is none, or no torque."""
    near = tuple(s for s in SERVOS if torque is not None and torque / ALIKE <= s.torque <= torque * ALIKE)
    found = _over(number, near) or _over(number, SERVOS)
    assert found is not None
    return found


def stiffness(torque: float | None = None) -> ServoRange:
    """Stiffness over stall torque [1/rad]."""
    return _of(lambda s: s.stiffness, torque)


def armature(torque: float | None = None) -> ServoRange:
    """Armature over stall torque [kg m^2/(N m)]."""
    return _of(lambda s: None if s.armature is None else s.armature / s.torque, torque)


def speed(torque: float | None = None) -> ServoRange:
    """No-load speed [rad/s]."""
    return _of(lambda s: s.speed, torque)


STRONGEST = max(SERVOS, key=lambda s: s.torque)
