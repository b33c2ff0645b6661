"""A small simulated line, recorded once for the tests of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import backemf as be

FEW = ("motor.resistance", "motor.torque_constant", "friction.coulomb")


def options(line: Path) -> dict[str, Any]:
    """How the tests fit it: as anybody would, on one bench."""
    return {"start": str(line / "start.json"), "friction": "m4", "same_bench": True}


def fitted(line: Path, into: Path, logs: Any = None, **more: Any) -> be.Fleet:
    return be.fleet(logs or str(line / "logs"), into=into, **(options(line) | {"on": "here"} | more))
