"""Printed numbers: one entry of a sheet with its conditions, and parameters that somebody published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..units import Printed


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One printed number with its conditions."""

    name: str
    printed: Printed
    voltage: float | None
    side: str
    temperature: float | None = None
    convention: str = ""
    kind: str = ""
    """'assumed', 'peak' or 'continuous' where the sheet, or whoever copied it, says so."""
    source: str = ""
    page: str = ""
    note: str = ""
    toleranced: bool = False
    """Whether the sheet itself gives a tolerance or a range; otherwise the last printed digit counts."""
    speed: Printed | None = None
    """Of a point of the torque-speed line [rad/s]."""

    @property
    def value(self) -> float:
        """In SI; for a brushless motor, of the equivalent DC motor."""
        return self.printed.value * dc_factor(self.name, self.convention)

    @property
    def half(self) -> float:
        return self.printed.half * dc_factor(self.name, self.convention)

    def __str__(self) -> str:
        at = f" at {self.voltage:g} V" if self.voltage is not None else ""
        turning = f" at {self.speed.text}" if self.speed is not None else ""
        return f"{self.name} {self.printed.text}{turning}{at}"


@dataclass(frozen=True, kw_only=True)
class Identified:
    """Parameters somebody identified and published, in backemf's own names."""

    source: str
    friction: str
    error: str
    parameters: Mapping[str, float]
    supply: float | None = None
    """At which it was identified [V]."""
    other: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    """Standard errors of parameters, where whoever identified it says so."""
    correlation: tuple[tuple[float, ...], ...] = ()
    """Between these, in their order: the rows of the lower triangle; none where it is empty."""
    data: str = ""
    """The recordings that it stands on."""
    note: str = ""


def dc_factor(name: str, convention: str) -> float:
    """What turns a brushless motor's printed number into that of its equivalent DC motor (line-to-line EMF
    amplitude and DC current).

    With phase amplitude I the equivalent current is sqrt(3)/2 I, so that torque = K I_dc and copper loss =
    R_line I_dc^2.
    """
    words = convention.split()
    current = next((f for word, f in (("peak", 3**0.5 / 2), ("rms", 1.5**0.5)) if word in words), 1.0)
    if name.endswith("_current"):
        return current
    if name == "torque_constant":
        return 1.0 / current
    if name in ("back_emf_constant", "speed_constant"):
        factor = (2**0.5 if "rms" in words else 1.0) * (3**0.5 if "phase" in words else 1.0)
        return factor if name == "back_emf_constant" else 1.0 / factor
    if name in ("resistance", "inductance"):
        return 2.0 if "phase" in words else 1.0
    return 1.0
