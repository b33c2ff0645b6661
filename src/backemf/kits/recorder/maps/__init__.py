"""One file a control table; a family is told by its model number."""

from __future__ import annotations

from ..registers import Map
from .dynamixel_mx import MX
from .dynamixel_x import MX2, X
from .feetech_scs import SCS
from .feetech_sts import STS

MAPS: dict[str, Map] = {one.name: one for one in (STS, SCS, X, MX2, MX)}
"""Every control table by name."""


def of_model(protocol: str, number: int) -> Map:
    """The control table of a model number; the first of its protocol where nobody knows the number."""
    mine = [one for one in MAPS.values() if one.protocol == protocol]
    return next((one for one in mine if number in one.models), mine[0])


def of_part(name: str, protocol: str) -> tuple[Map, int] | None:
    """(control table, model number) of a part of the catalogue on a protocol; None where there is none."""
    for one in MAPS.values():
        for number, model in one.models.items():
            if one.protocol == protocol and f"{name}-".startswith(f"{model.name}-"):
                return one, number
    return None
