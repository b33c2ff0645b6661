"""One supply for all motors of a model: before each step every motor is told how much of the voltage is
missing.

The bus is solved from what the motors ask for at the moment (`physics/supply.py`). What is used of the charge
and the slow part of the sag are among the simulation's `userdata`, so that resetting, copying or storing a
state does the same for the battery.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...physics.actuator import signals
from ...physics.quantity import present
from ...physics.supply import BusDemand, Supply, held_share, solve_bus

if TYPE_CHECKING:
    from .motors import Attachment, Motors

KEPT = ("time", "used", "slow", "voltage", "current")
"""What `userdata` ends with: when it was last asked, +1; charge [A s], slow sag [V], the bus [V, A]."""
AMPLE = 1e6
"""A supply at which no drive is at its limit [V]."""


class SharedBus(NamedTuple):
    """A supply that the motors of a model have together."""

    supply: Supply

    @staticmethod
    def on(spec: Any, supply: Supply | None) -> SharedBus | None:
        """A supply's bus, with room for its state in a model that is not compiled yet; None without one."""
        if supply is None:
            return None
        spec.nuserdata = max(spec.nuserdata, 0) + len(KEPT)
        return SharedBus(supply)

    def look(self, data: Any) -> dict[str, float]:
        """The bus as it was at the last step."""
        kept = dict(zip(KEPT, map(float, data.userdata[-len(KEPT) :]), strict=True))
        if kept["time"] == 0.0:
            kept |= {"voltage": self.supply.voltage, "current": 0.0}
        return {name: kept[name] for name in ("voltage", "current", "used")}

    def feed(self, motors: Motors, data: Any) -> None:
        """Solve the bus for what the motors ask for now, and tell them.

        Args:
            motors: of the model.
            data: of the simulation, whose next step is the one that counts.
        """
        s = self.supply
        kept = data.userdata[-len(KEPT) :]
        h = float(data.time) + 1.0 - kept[0] if kept[0] else 0.0
        if kept[0] and h > 0.0:
            kept[1] += h * kept[4]
            if s.slow_resistance is not None and s.slow_capacitance is not None:
                settled = s.slow_resistance * kept[4]
                fade = math.exp(-h / (s.slow_resistance * s.slow_capacitance))
                kept[2] = settled + (kept[2] - settled) * fade
        behind = s.open_voltage(float(kept[1])) - float(kept[2])
        d = BusDemand(*np.array([self._demand(motors, one, data) for one in motors.joints.values()]).T)
        bus = solve_bus(behind, s.resistance, s.auxiliary_current, d)
        V = bus.voltage if math.isfinite(bus.voltage) else 0.0
        current = (
            (behind - V) / s.resistance if s.resistance else float(np.sum((d.R * bus.i + d.E) * bus.i)) / V
        )
        if s.current_limit is not None and current > s.current_limit:
            # drives know a voltage alone: the bus is held so low that they take no more
            share = held_share(s, behind, bus.i, d)
            asked = np.abs(d.R * bus.i * share + d.E)
            V, current = min(V, float(asked.max())), s.current_limit
        kept[0], kept[3], kept[4] = float(data.time) + 1.0, V, current
        for name, one in motors.joints.items():
            data.ctrl[motors.channel(name, "sag")] = present(one.actuator.drive.supply) - V

    def _demand(self, motors: Motors, one: Attachment, data: Any) -> tuple[float, ...]:
        """(v, i, E, R, duty) of one joint's motors together."""
        state, asked = motors.state_of(one, data)
        drive, motor, n = one.actuator.drive, one.actuator.motor, one.actuator.gearbox.n_motors
        nominal = float(present(drive.supply))
        by_duty = bool(drive.duty_per_count)
        told = signals(one.actuator, state, {**asked, "supply": nominal if by_duty else AMPLE})
        T = state.get("winding_temperature")
        R = float(motor.resistance_at(T)) / n
        E = float(motor.back_emf_at(T) * one.actuator.gearbox.rotor_speed(state["velocity"]))
        v, i = float(told["voltage"]), n * float(told["current"])
        return v, i, E, R, v / nominal if by_duty else math.nan
