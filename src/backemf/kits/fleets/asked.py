"""What was asked of a fleet: stored beside its results, so that it can go on where it stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ... import store
from ...datasheets import parts
from ...datasheets.datasheet import Datasheet
from ...physics.actuator import Actuator


@dataclass(frozen=True, kw_only=True)
class Asked(store.Noun):
    """One fleet: its logs, what makes a unit, and how each is fitted."""

    logs: tuple[str, ...]
    by: str
    start: str
    """The part, set or file that the fits start from, as it was named; empty where `actuator` is given."""
    actuator: Actuator
    friction: str | None = None
    free: tuple[str, ...] = ()
    hold_out: tuple[Any, ...] = ()
    map: tuple[str, ...] = ()
    bench: str | None = None
    settings: Mapping[str, float] = field(default_factory=dict)
    robot: str | None = None
    firmware: str | None = None
    same_bench: bool = False
    """Whether one bench served all units: what is wrong with its numbers is then the same for all."""
    starts: int = 6
    seed: int = 0
    begin: Mapping[str, float] = field(default_factory=dict)
    """Where the first start of a fit begins: the middle of the units that were fitted first."""
    n_units: int = 0
    version: str = ""

    @property
    def prior(self) -> Datasheet | None:
        """The sheet that the start names, which is then the fits' prior."""
        sheet = self.start.endswith(".toml") or self.start.lower() in parts.names()
        return parts.sheet(self.start) if sheet else None

    def same(self, other: Asked) -> bool:
        """Whether another asks for the same fits."""
        mine, theirs = (
            {k: v for k, v in one.to_dict().items() if k not in ("begin", "n_units", "version")}
            for one in (self, other)
        )
        return mine == theirs
