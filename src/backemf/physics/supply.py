"""One supply for all joints: what voltage is left of a battery under everything that draws on it, in closed
form.

A joint that regulates its torque draws a power, whatever the voltage: v i. One whose duty u is given, or
whose voltage v is more than the duty limit allows, draws u (u V - E) / R. So the bus is at a root of a
quadratic,

    (1 + R_b G) V^2 - (V' + R_b (H - I_aux)) V + R_b P = 0,    G = sum u^2/R,  H = sum u E/R,  P = sum v i

over those of each kind; which regulated joints saturate follows from sorting |v| / d. The larger root counts.
A regulated load alone has none beyond V'^2 / 4 R_b, the most power there is at half the voltage: the bus
falls until joints saturate. That is its collapse.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from ..errors import InvalidValue, MissingValue
from .quantity import Part, part, quantity


@part
class Supply(Part):
    """A battery or a power supply, with what protects it. What is absent does nothing."""

    path: ClassVar[str] = "supply"

    voltage: float = quantity("V", "V_oc", above=0)
    """Open circuit, full."""
    empty_voltage: float | None = quantity("V", "V_0", default=None, above=0)
    """Open circuit, empty: between the two it falls with the charge on a straight line. Absent: it does not
    fall."""
    resistance: float = quantity("ohm", "R_b", default=0.0, least=0)
    slow_resistance: float | None = quantity("ohm", "R_1", default=None, above=0)
    """Of the part of the sag that comes with time."""
    slow_capacitance: float | None = quantity("F", "C_1", default=None, above=0)
    capacity: float | None = quantity("A s", "Q", default=None, above=0)
    charge: float = quantity("1", "SoC", default=1.0, least=0, most=1)
    """Share of the capacity at the start."""
    current_limit: float | None = quantity("A", "I_max", default=None, above=0)
    """Of a BMS or a fuse: what asks for more gets a share of it."""
    charge_limit: float | None = quantity("A", "I_chg", default=None, least=0)
    """The most that it takes back; the rest goes into the brake, or into the capacitance."""
    brake: float | None = quantity("ohm", "R_br", default=None, above=0)
    """Resistor that takes what the supply may not."""
    capacitance: float | None = quantity("F", "C", default=None, above=0)
    """Across the bus: what nobody takes pumps it up."""
    auxiliary_current: float = quantity("A", "I_aux", default=0.0, least=0)
    """Of everything else on the bus."""

    def check(self) -> None:
        """Refuse half an RC branch, and an empty battery above a full one."""
        if (self.slow_resistance is None) != (self.slow_capacitance is None):
            raise MissingValue("supply.slow_resistance and supply.slow_capacitance belong together")
        if self.empty_voltage is not None and self.empty_voltage > self.voltage:
            raise InvalidValue(
                f"supply.empty_voltage is {self.empty_voltage:g} V; expected at most voltage,"
                f" {self.voltage:g} V"
            )
        if self.empty_voltage is not None and self.capacity is None:
            raise MissingValue("supply.empty_voltage needs supply.capacity: how fast it empties")

    def open_voltage(self, used: float) -> float:
        """Without load, after some of its charge is used [V].

        Args:
            used: charge since it was full [A s].

        Returns:
            [V]
        """
        if self.empty_voltage is None or self.capacity is None:
            return self.voltage
        left = min(max(1.0 - used / self.capacity, 0.0), 1.0)
        return self.empty_voltage + left * (self.voltage - self.empty_voltage)


class BusDemand(NamedTuple):
    """What joints ask of a bus, one an element of each array."""

    v: np.ndarray
    """Voltage that a regulated joint asks for [V]; of a joint with a duty, nothing."""
    i: np.ndarray
    """Current that it takes then [A]."""
    E: np.ndarray
    """Back-EMF [V]."""
    R: np.ndarray
    """Warm resistance [ohm]."""
    duty: np.ndarray
    """NaN where a joint regulates."""
    limit: float = 1.0
    """Largest duty."""


class BusState(NamedTuple):
    """A bus under its joints."""

    voltage: float
    """[V]; NaN where no voltage carries the power."""
    i: np.ndarray
    """What flows in each joint [A]."""
    saturated: np.ndarray
    """Regulated joints that do not get what they ask for."""


def solve_bus(open_voltage: float, R_b: float, aux: float, d: BusDemand) -> BusState:
    """The bus voltage, without iteration.

    Args:
        open_voltage: behind the resistance [V].
        R_b: the resistance [ohm].
        aux: current of everything else [A].
        d: what the joints ask for.

    Returns:
        Its voltage and the joints' currents.
    """
    regulated = np.isnan(d.duty)
    u = np.where(regulated, 0.0, d.duty)
    G_0, H_0, P = np.sum(u * u / d.R), np.sum(u * d.E / d.R), np.where(regulated, d.v * d.i, 0.0)
    threshold = np.where(regulated, np.abs(d.v) / d.limit, -1.0)
    order = np.argsort(-threshold, kind="stable")[: int(regulated.sum())]
    full = d.limit * np.sign(d.v[order])
    # row m: the m joints with the highest thresholds are saturated
    G = G_0 + np.append(0.0, np.cumsum(full * full / d.R[order]))
    H = H_0 + np.append(0.0, np.cumsum(full * d.E[order] / d.R[order]))
    left = P.sum() - np.append(0.0, np.cumsum(P[order]))
    a, b = 1.0 + R_b * G, open_voltage + R_b * (H - aux)
    under = b * b - 4.0 * a * R_b * left
    V = np.where((under >= 0.0) & (b > 0.0), (b + np.sqrt(np.maximum(under, 0.0))) / (2.0 * a), np.nan)
    edge, slack = threshold[order], 1e-12 * open_voltage
    fits = (np.append(np.inf, edge) + slack >= V) & (np.append(edge, -np.inf) - slack <= V)
    if not fits.any():
        return BusState(math.nan, 0.0 * d.i, regulated & False)
    m = int(np.argmax(fits))
    at, saturated = float(V[m]), np.zeros(len(d.v), bool)
    saturated[order[:m]] = True
    given = np.where(saturated, d.limit * np.sign(d.v), u)
    i = np.where(saturated | ~regulated, (given * at - d.E) / d.R, d.i)
    return BusState(at, i, saturated)


def bus_power(state: BusState, d: BusDemand) -> float:
    """What all joints take from the bus [W]."""
    return float(np.sum((d.R * state.i + d.E) * state.i))


def held_share(supply: Supply, open_voltage: float, i: np.ndarray, d: BusDemand) -> float:
    """The share of the joints' currents with which a supply is at its current limit.

    Args:
        supply: with the limit.
        open_voltage: behind its resistance [V].
        i: currents of the joints without it [A].
        d: what they ask for.

    Returns:
        From 0 to 1.
    """
    most = supply.current_limit
    if most is None:
        return 1.0
    at = open_voltage - supply.resistance * most
    power = max(at * (most - supply.auxiliary_current), 0.0)
    copper, work = float(np.sum(d.R * i * i)), float(np.sum(d.E * i))
    if copper <= 0.0:
        return 1.0
    return min(1.0, max(0.0, (-work + math.sqrt(work * work + 4.0 * copper * power)) / (2.0 * copper)))


def voltage_after(voltage: float, energy: float, capacitance: float) -> float:
    """Voltage of a bus that nobody empties: sqrt(V^2 + 2 E / C) [V].

    Args:
        voltage: before [V].
        energy: pushed back into it [J].
        capacitance: across it [F].

    Returns:
        [V]
    """
    return math.sqrt(voltage * voltage + 2.0 * energy / capacitance)
