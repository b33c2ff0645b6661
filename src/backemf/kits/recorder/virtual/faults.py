"""What may go wrong with a virtual servo, in words: "lose=0.01", "late=0.05", "stuck=3s"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from ....errors import InvalidValue, UnknownName
from ....units import parse

SAG = 0.3
"""Share of the supply that is left in a brown-out: below what any servo runs on."""
SAG_TIME = 0.3
LATE = 0.08
"""How late a late reply is [s]: later than a master waits."""


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Shares are chances for each reply; times [s] are since the first packet."""

    lose: float = 0.0
    """Share of replies that lack a byte."""
    late: float = 0.0
    """Share of replies that come after the master has given up."""
    silent: float | None = None
    """From then on it answers nothing."""
    brown_out: float | None = None
    """The supply sags then, and the servo starts anew with its torque off."""
    stuck: float | None = None
    """The joint does not move from then on."""
    wrong_sign: bool = False
    """The current is reported with the other sign."""
    wrapped: bool = False
    """The position counter begins anew in the middle of the range."""
    hot: float | None = None
    """Degrees Celsius that it reports."""
    second_master: bool = False
    """Somebody else talks on the bus."""

    @staticmethod
    def read(words: Iterable[str]) -> Faults:
        kinds = {f.name.replace("_", "-"): f for f in fields(Faults)}
        given: dict[str, float | bool] = {}
        for text in words:
            name, equals, value = (word.strip() for word in text.partition("="))
            if name not in kinds:
                raise UnknownName("fault", name, kinds)
            switch = isinstance(kinds[name].default, bool)
            if switch != (not equals):
                wanted = f"expected {name} alone" if switch else f"expected a number: {name}=0.01"
                raise InvalidValue(f"--fault is {text!r}; {wanted}")
            unit = "s" if name in ("silent", "brown-out", "stuck") else "degC" if name == "hot" else "1"
            given[kinds[name].name] = True if switch else _number(value, unit, text)
        return Faults(**given)  # type: ignore[arg-type]  # each is what its field is

    def supply_share(self, time: float) -> float:
        sags = self.brown_out is not None and self.brown_out <= time < self.brown_out + SAG_TIME
        return SAG if sags else 1.0

    def is_stuck(self, time: float) -> bool:
        return self.stuck is not None and time >= self.stuck

    def is_silent(self, time: float) -> bool:
        return self.silent is not None and time >= self.silent

    def on_wire(self, reply: bytes, random: np.random.Generator) -> tuple[bytes, float]:
        """(what arrives of a reply, how much later [s])."""
        if self.lose and random.random() < self.lose:
            cut = int(random.integers(len(reply)))
            reply = reply[:cut] + reply[cut + 1 :]
        return reply, LATE if self.late and random.random() < self.late else 0.0


def _number(value: str, unit: str, text: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = parse(value, unit, f"--fault {text}").value
    if not number >= 0 or number == float("inf"):
        raise InvalidValue(f"--fault is {text!r}; expected a number from 0 on")
    return number
