"""The equations of a sheet: what every entry should be for given constants (MuJoCo's DC-motor note, table 19
and equation 5), and how far each printed number is believed."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...physics.steady import Line
from ..entries import ENTRIES
from ..printed import Entry
from ..relations import MARGIN

FLOOR = 1e-3
"""Relative error below which no printed number is believed: makers compute sheets from rounded numbers too.
"""
LOOSE = {
    "nominal_torque": 0.1,
    "nominal_speed": 0.3,
    "max_efficiency": 0.05,
    "stall_torque": 0.005,
    "torque_speed": 0.05,
}
"""Entries that makers compute in their own ways (hot winding, friction taken off or not), or read off a
curve: believed no better than this."""
DIRECT = (
    "resistance",
    "inductance",
    "torque_constant",
    "back_emf_constant",
    "speed_constant",
    "rotor_inertia",
    "gear_ratio",
)
"""Constants that are printed themselves: kept where a computed entry would explain a contradiction too."""
MEASURED = ("no_load_current", "coulomb_torque", "viscous_friction", "gear_efficiency", "reflected_inertia")
"""Entries that stand between constants and what is computed from them."""

Constants = Mapping[str, float]


def at_rotor(voltage: float, c: Constants, extra: Mapping[str, float]) -> dict[str, float | None]:
    """Every entry at the rotor for constants c at a voltage; None where no equation says."""
    R, K, tau_c, B = c["R"], c["K"], c["tau_c"], c.get("B", 0.0)
    J, L, N = c.get("J"), c.get("L"), c.get("N", 1.0)
    line = Line(R, c.get("kappa", 1.0) * K, K, voltage, tau_c, B)
    net = line.net_stall_torque
    i_n = extra.get("nominal_current")
    if i_n is None and "nominal_torque" in extra:  # a rated torque at the output, gears and drag taken off
        i_n = line.no_load_current + extra["nominal_torque"] / (N * c.get("eta", 1.0) * line.K_t)
    return {
        "resistance": R,
        "inductance": L,
        "torque_constant": net / line.stall_current if extra.get("torque_constant_at_stall") else line.K_t,
        "back_emf_constant": K,
        "speed_constant": 1.0 / K,
        "no_load_speed": line.no_load_speed,
        "no_load_current": line.no_load_current,
        "stall_torque": net if extra.get("stall_torque_is_net") else line.stall_torque,
        "stall_current": line.stall_current,
        "speed_torque_gradient": line.gradient,
        "mechanical_time_constant": None if J is None else line.time_constant(J),
        "electrical_time_constant": None if L is None else L / R,
        "rotor_inertia": J,
        "reflected_inertia": None if J is None else N * N * J,
        "coulomb_torque": tau_c,
        "viscous_friction": B if B > 0 else None,
        "nominal_torque": None if "nominal_current" not in extra else line.shaft_torque_at(i_n or 0.0),
        "nominal_speed": None if i_n is None else line.speed_at(i_n),
        "max_efficiency": line.best_efficiency,
        "gear_ratio": c.get("N"),
        "gear_efficiency": c.get("eta"),
    }


def at_side(name: str, side: str, value: float | None, c: Constants) -> float | None:
    """A number at the rotor as an entry of a side has it."""
    if value is None or side == "rotor":
        return value
    kind = ENTRIES[name]
    if kind.gear == 0:
        return value
    eta = c.get("eta", 1.0)
    loss = (eta if kind.gear > 0 else 1.0 / eta) if kind.lossy else 1.0
    return value * c.get("N", 1.0) ** kind.gear * loss


def predict(name: str, side: str, voltage: float, c: Constants, extra: Mapping[str, float]) -> float | None:
    """What an entry should be for constants c at a voltage; None where no equation says."""
    return at_side(name, side, at_rotor(voltage, c, extra).get(name), c)


def point(entry: Entry, rotor: Mapping[str, float | None], voltage: float, c: Constants) -> float:
    """Share of the torque-speed line that a point uses up, 1 on the line: tau / tau_stall + w / w_0."""
    net = Line(c["R"], c.get("kappa", 1.0) * c["K"], c["K"], voltage, c["tau_c"], c.get("B", 0.0))
    stall = at_side("stall_torque", entry.side, net.net_stall_torque, c)
    top = at_side("no_load_speed", entry.side, rotor["no_load_speed"], c)
    speed = 0.0 if entry.speed is None else entry.speed.value
    return entry.value / max(stall or 0.0, 1e-300) + speed / max(top or 0.0, 1e-300)


def point_torque(entry: Entry, voltage: float, c: Constants, extra: Mapping[str, float]) -> float:
    """Torque of the line at the speed of a printed point; 0 beyond no load."""
    share = point(entry, at_rotor(voltage, c, extra), voltage, c)
    stall = predict("stall_torque", entry.side, voltage, c, {"stall_torque_is_net": 1.0}) or 0.0
    return max(entry.value + (1.0 - share) * stall, 0.0)


def printed_error(entry: Entry, geared: bool = False) -> float:
    """Standard error of an entry's logarithm by what is printed: its tolerance or last digit, its class."""
    sigma = max(math.hypot(entry.half / entry.value, FLOOR), LOOSE.get(entry.name, 0.0))
    if entry.kind == "assumed":  # a hint and no more
        return max(sigma, 0.5)
    # A servo's is its rounded stall torque over its rounded stall current.
    if entry.name == "torque_constant" and entry.side == "output" and geared:
        return max(sigma, 0.02)
    return sigma


def ordinary_error(entry: Entry, sigma: float) -> float:
    """The same where makers computed from rounded numbers: three of it are the ordinary margin."""
    return sigma if entry.name in DIRECT else math.hypot(sigma, MARGIN / 3.0)
