"""One supply for all motors of a model. MuJoCo's step solves it for what they ask for at the moment, before
anything else; each drive then has that voltage.

The equations are those of `physics/supply.py`, compiled into `kernel.py`. The bus is among the simulation's
`userdata`, so that resetting, copying or storing a state does the same for the battery.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...physics.supply import BUS, Supply
from .places import KEPT


class SharedBus(NamedTuple):
    """A supply that the motors of a model have together."""

    supply: Supply
    first: int
    """Of `userdata`, where its state begins."""

    @staticmethod
    def on(spec: Any, supply: Supply | None) -> SharedBus | None:
        """A supply's bus, with room for its state in a model that is not compiled yet; None without one."""
        if supply is None:
            return None
        first, spec.nuserdata = max(spec.nuserdata, 0), max(spec.nuserdata, 0) + len(KEPT)
        return SharedBus(supply, first)

    def settings(self, members: list[int]) -> dict[int, dict[str, int]]:
        """By actuator: how many share it, of the first of them; the next one; and where the bus is."""
        after = [*members[1:], -1]
        return {
            index: {"n_bus": len(members) if index == members[0] else 0, "bus_next": n, "bus": self.first}
            for index, n in zip(members, after, strict=True)
        }

    def look(self, data: Any) -> dict[str, float]:
        """The bus as it was at the last step, by the names of BUS."""
        time, *bus = map(float, data.userdata[self.first : self.first + 1 + len(BUS)])
        return dict(zip(BUS, bus if time else self.supply.begin(), strict=True))
