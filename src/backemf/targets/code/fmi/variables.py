"""The variables of an FMU: their order is that of the arrays in its C, and each one's place its reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ....physics.actuator import Actuator, linear_unit
from ....physics.quantity import quantities
from ..names import literal, quoted


class Variable(NamedTuple):
    """One variable: `kind` is time, fixed, tunable (both parameters), input or output."""

    name: str
    kind: str
    unit: str
    about: str
    start: float = 0.0
    low: float = -math.inf
    open: bool = False
    """Whether it must be above `low`."""
    high: float = math.inf

    @property
    def row(self) -> str:
        """As a row of the C's table."""
        bounds = f"{int(self.open)}, {literal(self.low)}, {literal(self.high)}"
        return f"    {{{quoted(self.name)}, {quoted(self.unit)}, {self.kind.upper()}, {bounds}}},"


ASKED = {
    "position_target": ("rad", "position that is asked for"),
    "velocity_target": ("rad/s", "velocity that is asked for"),
    "torque_target": ("N m", "torque at the output that is asked for"),
    "voltage_target": ("V", "voltage that is asked for"),
    "current_target": ("A", "current that is asked for"),
}
SHOWN = {
    "position": ("rad", "of the joint"),
    "velocity": ("rad/s", "of the joint"),
    "effort": ("N m", "mean torque of the actuator on the joint over the last inner step, friction included"),
    "voltage": ("V", "at the winding, for the command as it arrived last"),
    "current": ("A", "in the winding"),
    "torque": ("N m", "of the motor at the output, before friction"),
    "temperature": ("degC", "of the winding"),
}


def variables(
    actuator: Actuator, targets: Sequence[str], signals: Sequence[str], *, step: float, inertia: float
) -> list[Variable]:
    """Time, own numbers, parameters, inputs, outputs, in this order."""

    def unit(text: str) -> str:
        return linear_unit(text) if actuator.motion == "linear" else text

    own = [
        Variable("time", "time", "s", "time of the simulation"),
        Variable("step", "tunable", "s", "longest inner step", step, 0.0, True),
        Variable("inertia", "tunable", unit("kg m^2"), "what the joint carries, no rotor", inertia, 0.0),
        Variable("start.position", "fixed", unit("rad"), "position at the start"),
        Variable("start.velocity", "fixed", unit("rad/s"), "velocity at the start"),
    ]
    inputs = [
        Variable("load", "input", unit("N m"), "every other torque on the joint"),
        *(Variable(name, "input", unit(ASKED[name][0]), ASKED[name][1]) for name in targets),
    ]
    seen = ("position", "velocity", "effort", *signals)
    outputs = [Variable(name, "output", unit(SHOWN[name][0]), SHOWN[name][1]) for name in seen]
    return [*own, *_parameters(actuator), *inputs, *outputs]


def _parameters(actuator: Actuator) -> list[Variable]:
    rows = []
    for path, field, value in quantities(actuator):
        meta, (owner, _, last) = field.metadata, path.rpartition(".")
        above, least, most = meta["above"], meta["least"], meta["most"]
        low = -math.inf if above is None and least is None else float(least if above is None else above)
        about = f"{meta['symbol']}: {last.replace('_', ' ')} of the {' '.join(reversed(owner.split('.')))}"
        if path == "gearbox.n_motors":
            about = f"{meta['symbol']}: number of motors"
        unit = actuator.unit(path)
        bounds = (low, above is not None, math.inf if most is None else float(most))
        rows.append(Variable(path, "tunable", unit, about, float(value), *bounds))
    return rows


def ordered(actuator: Actuator) -> list[tuple[int, int]]:
    """Places of parameters, the second of which is never smaller."""
    paths = [*actuator.parameters]
    pairs = [(actuator.over(path), path) for path in paths]
    return [(paths.index(low), paths.index(high)) for low, high in pairs if low in paths]


BASE = {
    "rad": {"rad": 1},
    "m": {"m": 1},
    "s": {"s": 1},
    "kg": {"kg": 1},
    "A": {"A": 1},
    "K": {"K": 1},
    "degC": {"K": 1},
    "N": {"kg": 1, "m": 1, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3},
    "V": {"kg": 1, "m": 2, "s": -3, "A": -1},
    "ohm": {"kg": 1, "m": 2, "s": -3, "A": -2},
    "H": {"kg": 1, "m": 2, "s": -2, "A": -2},
}
"""Exponents of the units that ours are made of."""
ZERO_CELSIUS = 273.15
"""0 degC in kelvin, by definition (BIPM, SI Brochure)."""


def exponents(unit: str) -> dict[str, int] | None:
    """Of the base units in "N m/(rad s)"; None for what is no physical unit, such as a firmware's command."""
    found: dict[str, int] = {}
    for sign, side in zip((1, -1), unit.split("/"), strict=False):
        for word in side.strip("()").split():
            name, _, power = word.partition("^")
            if name == "1":
                continue
            if name not in BASE:
                return None
            for base, n in BASE[name].items():
                found[base] = found.get(base, 0) + sign * n * int(power or 1)
    return {base: n for base, n in found.items() if n}
