"""One supply for all joints: what voltage is left of a battery under everything that draws on it, in closed
form.

A joint that regulates its torque draws a power, whatever the voltage: v i. One whose duty u is given, or
whose voltage v is more than the duty limit allows, draws u (u V - E) / R. So the bus is at a root of a
quadratic, which is the balance of power over a step h, with V_0 across its capacitance before it:

    V (V' - V) / R_b = V I_aux + P + G V^2 - H V + C (V^2 - V_0^2) / 2h,    G = sum u^2/R,  H = sum u E/R

over those of each kind, P = sum v i; which regulated joints saturate follows from the order of |v| / d. The
larger root counts. A regulated load alone has none beyond V'^2 / 4 R_b, the most power there is at half the
voltage: the bus falls until joints saturate. That is its collapse. Where the supply may take no more back,
its current is given in place of its voltage; the brake then takes what holds V there, up to V^2 / R.

Functions below are compiled into MuJoCo's step as they stand: numbers, loops and `math` alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..errors import InvalidValue, MissingValue
from ..findings import Finding, finding
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

    @property
    def numbers(self) -> list[float]:
        """As `feed_joints` takes them: NUMBERS, what is absent as what does nothing."""
        empty = self.voltage if self.empty_voltage is None else self.empty_voltage
        slow, settling = (
            self.slow_resistance or 0.0,
            (self.slow_resistance or 1.0) * (self.slow_capacitance or 1.0),
        )
        most, least, capacity = (
            math.inf if x is None else x for x in (self.current_limit, self.charge_limit, self.capacity)
        )
        brake = 0.0 if self.brake is None else 1.0 / self.brake
        numbers = [self.voltage, empty, self.resistance, slow, settling, capacity, most, least, brake]
        return [*numbers, self.capacitance or 0.0, self.auxiliary_current]

    def begin(self) -> list[float]:
        """A bus that nothing was drawn from yet: BUS."""
        used = 0.0 if self.capacity is None else (1.0 - self.charge) * self.capacity
        V = open_voltage(self.numbers, used)
        return [used, 0.0, V, V, 0.0, 0.0, 0.0, V]

    def findings(self, time: np.ndarray, bus: Mapping[str, np.ndarray]) -> list[Finding]:
        """What is to be said of a bus that was followed.

        Args:
            time: of samples, from when it began [s].
            bus: by name of BUS, what it was at them.

        Returns:
            Collapse, limit, and what is braked for nobody.
        """
        said, V, I = [], bus["voltage"], bus["current"]
        fallen = np.flatnonzero(self.resistance * I > V)
        if len(fallen):
            k = int(fallen[0])
            text = (
                f"the supply collapses at {time[k]:.3g} s, and in {len(fallen)} samples: it falls to"
                f" {np.min(V):.3g} V, below half its voltage, where more current means less power."
            )
            remedy = "take a supply of less resistance, or ask for less"
            said.append(finding("supply_collapses", text, remedy, time=float(time[k])))
        full = 0 if self.current_limit is None else int(np.sum(self.current_limit <= I * (1.0 + 1e-9)))
        if full:
            text = f"the supply is at its limit of {self.current_limit:.4g} A in {full} samples."
            said.append(finding("supply_limited", text, "take a larger one, or ask for less at once"))
        highest, lost = float(np.max(V)), float(np.max(bus["unclaimed"]))
        if highest > 1.2 * self.voltage or lost > 1e-6:
            goes = (
                f", {lost:.3g} W at most, goes nowhere"
                if lost > 1e-6
                else f" pumps the bus up to {highest:.3g} V"
            )
            text = f"what is braked{goes}."
            remedy = "give it a brake resistor, or a battery that takes charge"
            said.append(finding("supply_pumped", text, remedy, voltage=highest))
        return said


NUMBERS = (
    *("voltage", "empty_voltage", "resistance", "slow_resistance", "settling", "capacity"),
    *("current_limit", "charge_limit", "brake_conductance", "capacitance", "auxiliary_current"),
)
"""Of a supply, in SI; settling is the time constant of the slow part of the sag."""
BUS: tuple[str, ...] = ("used", "slow", "before", "voltage", "current", "brake", "unclaimed", "ceiling")
"""Of a bus: charge since it was full [A s], slow sag, voltage before the step and after it [V], current of
the supply [A], what the brake takes and what nobody takes [W], and the voltage that drives may use [V]."""
DEMAND = ("voltage", "current", "back_emf", "resistance", "duty", "limit", "flows", "saturated")
"""What a joint asks of a bus: voltage and current where it regulates; its largest duty, or 0 where `duty` is
what is given. What flows then, and whether it saturates, are answers."""


TINY = 1e-9
"""A root of no voltage, but for rounding [V]."""


def open_voltage(s: Any, used: float) -> float:
    """Of a supply without load, after some of its charge is used [V].

    Args:
        s: NUMBERS.
        used: charge since it was full [A s].

    Returns:
        [V]
    """
    return s[1] + min(max(1.0 - used / s[5], 0.0), 1.0) * (s[0] - s[1])


def bus_voltage(a: float, b: float, c: float, weight: float, joints: Any) -> float:
    """The largest voltage with a V^2 - b V + c = 0, joints included, without iteration.

    Args:
        a: without the joints, as b and c.
        b: see there.
        c: see there.
        weight: of what the joints draw.
        joints: rows of DEMAND.

    Returns:
        [V]; NaN where there is none.
    """
    for one in joints:
        one[7] = 0.0
        if one[5] > 0.0:
            c += weight * one[0] * one[1]
        else:
            a += weight * one[4] * one[4] / one[3]
            b += weight * one[4] * one[2] / one[3]
    edge = math.inf
    while True:
        under, V = b * b - 4.0 * a * c, math.nan
        if under >= 0.0 and a > 0.0:
            V = (b + math.sqrt(under)) / (2.0 * a)
        top = at = -1
        for k in range(len(joints)):
            if joints[k][5] > 0.0 and joints[k][7] == 0.0 and abs(joints[k][0]) / joints[k][5] > top:
                top, at = abs(joints[k][0]) / joints[k][5], k
        if TINY < V <= edge * (1.0 + 1e-12) and top <= V * (1.0 + 1e-12):
            return V
        if at < 0:
            return math.nan
        one, edge = joints[at], top  # the one that needs most saturates next
        full = math.copysign(one[5], one[0])
        one[7] = 1.0
        a += weight * full * full / one[3]
        b += weight * full * one[2] / one[3]
        c -= weight * one[0] * one[1]


def draw_power(V: float, joints: Any) -> float:
    """What joints draw at a voltage [W]; each current goes into its row."""
    power = 0.0
    for one in joints:
        one[6] = one[1]
        if one[5] <= 0.0 or abs(one[0]) > one[5] * V:
            u = one[4] if one[5] <= 0.0 else math.copysign(one[5], one[0])
            one[6] = (u * V - one[2]) / one[3]
            power += u * V * one[6]
        else:
            power += one[0] * one[1]
    return power


def feed_joints(s: Any, elapsed: float, h: float, bus: Any, joints: Any) -> float:
    """A bus over a step under what joints ask for.

    Args:
        s: NUMBERS of the supply.
        elapsed: since the bus was last asked [s]; 0 where this is the same moment.
        h: length of the step [s].
        bus: BUS, which becomes what it is at the step's end.
        joints: rows of DEMAND.

    Returns:
        The share of the currents with which a supply at its limit gives just that; else 1.
    """
    R_b, most, least, g, C, aux = s[2], s[6], s[7], s[8], s[9], s[10]
    if elapsed > 0.0:
        settled = s[3] * bus[4]
        bus[0] += elapsed * bus[4]
        bus[1] = settled + (bus[1] - settled) * math.exp(-elapsed / s[4])
        bus[2] = bus[3]
    behind, held = open_voltage(s, bus[0]) - bus[1], 0.5 * C / h
    stored, share, brake, lost = held * bus[2] * bus[2], 1.0, 0.0, 0.0
    V = bus_voltage(1.0 + R_b * held, behind - R_b * aux, -R_b * stored, R_b, joints)
    V = V if V > 0.0 else 0.0
    power = draw_power(V, joints)
    I = (behind - V) / R_b if R_b > 0.0 else aux + (power + held * V * V - stored) / V
    ceiling = V
    if most * (1.0 + 1e-12) < I:
        V, I, copper, work = behind - R_b * most, most, 0.0, 0.0
        left = max(V * (most - aux) + stored - held * V * V, 0.0)
        for one in joints:
            copper += one[3] * one[6] * one[6]
            work += one[2] * one[6]
        if copper > 0.0:
            share = (math.sqrt(work * work + 4.0 * copper * left) - work) / (2.0 * copper)
        share = min(max(share, 0.0), 1.0)
        ceiling = bus_voltage(0.0, 0.0, -left, 1.0, joints)
        ceiling = ceiling if ceiling > 0.0 else 0.0
    elif -least > I:
        V, I = behind + R_b * least, -least
        lost = stored - held * V * V - draw_power(V, joints) - V * (aux + least)
        if lost <= g * V * V:
            brake, lost = lost, 0.0
        elif C > 0.0 or g > 0.0:
            V = bus_voltage(held + g, -least - aux, -stored, 1.0, joints)
            brake, lost, power = g * V * V, 0.0, draw_power(V, joints)
        ceiling = V
    bus[3], bus[4], bus[5], bus[6], bus[7] = V, I, brake, lost, ceiling
    return share
