"""The constants of a motor from any sufficient few of them, and how far what was given disagrees.

(A whole sheet, weighed by its rounding, is what `Datasheet.reconciled` is for.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidValue, MissingValue, UnknownName
from ...findings import Finding, finding
from ...physics.actuator import Actuator
from ...physics.steady import Line, line
from ...tables import number as spelled
from ..motor_constants import NO_DRAG, SYMBOLS, differ, solve_exactly
from .table import Converted, computable, number, positive


@dataclass(frozen=True, kw_only=True, repr=False)
class Constants(Converted):
    """One motor, at its rotor; and the same behind its gears where there are some."""

    voltage: float | None = number("V", "V", "R I_s", default=None)
    resistance: float | None = number("ohm", "R", "V / I_s", default=None)
    torque_constant: float | None = number("N m/A", "K_t", "tau_s / I_s", default=None)
    back_emf_constant: float | None = number("V s/rad", "K_e", "(V - R I_0) / w_0", default=None)
    speed_constant: float | None = number("rad/(s V)", "K_v", "1 / K_e", default=None)
    stall_current: float | None = number("A", "I_s", "V / R", default=None)
    stall_torque: float | None = number("N m", "tau_s", "K_t I_s, before friction", default=None)
    no_load_current: float | None = number("A", "I_0", "(V - K_e w_0) / R", default=None)
    no_load_speed: float | None = number("rad/s", "w_0", "(V - R I_0) / K_e", default=None)
    friction: float | None = number("N m", "tau_f", "K_t I_0, if all drag is dry", default=None)
    viscous_friction: float | None = number(
        "N m s/rad", "b", "K_t I_0 / w_0, if all drag is viscous", default=None
    )
    motor_constant: float | None = number("N m/sqrt(W)", "K_m", "K_t / sqrt(R)", default=None)
    speed_torque_gradient: float | None = number("rad/(s N m)", "dw/dtau", "R / (K_t K_e)", default=None)
    back_emf_damping: float | None = number("N m s/rad", "d", "K_t K_e / R", default=None)
    greatest_power: float | None = number("W", "P_max", "tau_s w_0 / 4", default=None)
    output_torque_constant: float | None = number(
        "N m/A", "n N K_t", "n N K_t, for one ampere in each", default=None
    )
    output_back_emf_constant: float | None = number("V s/rad", "N K_e", "N K_e", default=None)
    output_stall_torque: float | None = number("N m", "n N tau_s", "n N tau_s", default=None)
    output_no_load_speed: float | None = number("rad/s", "w_0 / N", "w_0 / N", default=None)
    total_stall_current: float | None = number("A", "n I_s", "n I_s", default=None)
    constants_ratio: float | None = number("1", "K_t K_v", "K_t / K_e, 1 for an ideal motor", default=None)


_POWER = {"torque_constant": 1, "back_emf_constant": 1, "speed_constant": -1}
_POWER |= {"stall_torque": 1, "no_load_speed": -1, "friction": 1}


@computable
def constants(
    *, ratio: float = 1.0, n_motors: int = 1, side: str = "rotor", **given: float | str | None
) -> Constants:
    """The rest of a motor's constants: give some of voltage, resistance, torque_constant, back_emf_constant,
    speed_constant, stall_current, stall_torque, no_load_current, no_load_speed and friction, in SI or as text
    with a unit. Currents are those of one motor; `side` says whether torques and speeds are at its rotor or
    at the output of n motors behind a ratio.
    """
    known = _known(given, ratio, n_motors, side)
    values, how, assumed = solve_exactly(known)
    found: dict[str, Any] = {name: values.get(symbol) for name, symbol in SYMBOLS.items()}
    R, K_t, K_e, V, tau_s, w_0 = (values.get(s) for s in ("R", "K_t", "K_e", "V", "tau_s", "w_0"))
    if K_t is not None and values.get("I_0") is not None and w_0:
        found["viscous_friction"] = K_t * values["I_0"] / w_0
    if R is not None and K_t is not None:
        found["motor_constant"] = K_t / math.sqrt(R)
    if R is not None and K_t is not None and K_e is not None:
        at = Line(R, K_t, K_e, V or 0.0)
        found |= {"speed_torque_gradient": at.gradient, "back_emf_damping": at.damping}
    if tau_s is not None and w_0 is not None:
        found["greatest_power"] = tau_s * w_0 / 4
    found["constants_ratio"] = None if K_t is None or K_e is None else K_t / K_e
    if ratio != 1 or n_motors != 1:
        found |= _behind(values, ratio, n_motors)
    names = {symbol: name for name, symbol in SYMBOLS.items()}
    missing = [name.replace("_", " ") for name, symbol in SYMBOLS.items() if symbol not in values]
    lost = (f"not determined by these numbers: {', '.join(missing)}; give one of them",) if missing else ()
    always = ["the stall torque is K_t V / R, before friction"] if "tau_s" in values else []
    always += ["gears without loss"] if ratio != 1 else []
    inside = tuple(names[symbol] for symbol in known)
    if side == "output":
        always.append("torques and speeds were given at the output, currents for one motor")
        inside = tuple(name for name in inside if name not in _POWER)
    return Constants(
        **found,
        assumptions=(*always, *assumed),
        lost=lost,
        findings=tuple(_disagreements(known, names)),
        given=inside,
        formulas={names[symbol]: formula for symbol, formula in how.items()},
    )


def constants_of(actuator: Actuator) -> Constants:
    """Those of an actuator's motor, at its drive's voltage; drag as its output has it, per motor."""
    motor, gearbox, at = actuator.motor, actuator.gearbox, line(actuator)
    ceiling, K_e = actuator.drive.ceiling({}), motor.back_emf_constant
    per = gearbox.n_motors * abs(gearbox.ratio)
    return constants(
        voltage=None if ceiling is None else float(ceiling),
        resistance=motor.resistance,
        torque_constant=motor.torque_constant,
        back_emf_constant=motor.torque_constant if K_e is None else K_e,
        friction=at.dry / per,
        ratio=abs(gearbox.ratio),
        n_motors=gearbox.n_motors,
    )


def _known(given: dict[str, float | str | None], ratio: float, n_motors: int, side: str) -> dict[str, float]:
    if side not in ("rotor", "output"):
        raise UnknownName("side", side, ("rotor", "output"))
    if not 0 < ratio < math.inf or n_motors < 1:
        raise InvalidValue(
            f"ratio is {ratio:g} and n_motors {n_motors}; expected more than 0, and at least 1"
        )
    known = {}
    for name, value in given.items():
        if name not in SYMBOLS:
            raise UnknownName("constant", name, SYMBOLS)
        unit = Constants.__dataclass_fields__[name].metadata["unit"]
        x = positive(value, unit, name, zero=name in ("no_load_current", "friction"))
        if x is None:
            continue
        if side == "output" and name in _POWER:
            x /= ratio ** _POWER[name] * (n_motors if unit in ("N m", "N m/A") else 1)
        known[SYMBOLS[name]] = x
    if not known:
        raise MissingValue(f"no constant is given; expected some of {', '.join(SYMBOLS)}")
    return known


def _behind(values: dict[str, float], ratio: float, n_motors: int) -> dict[str, float | None]:
    """What is left at the output of n motors behind a ratio."""
    R, K_t, K_e, tau_s = (values.get(s) for s in ("R", "K_t", "K_e", "tau_s"))
    geared = Line(R or 1.0, K_t or 1.0, K_e or 1.0).reflected(ratio, n_motors)
    per_torque = geared.K_t / (K_t or 1.0)
    return {
        "output_torque_constant": geared.K_t if K_t is not None else None,
        "output_back_emf_constant": geared.K_e if K_e is not None else None,
        "output_stall_torque": None if tau_s is None else per_torque * tau_s,
        "output_no_load_speed": values["w_0"] / ratio if "w_0" in values else None,
        "total_stall_current": n_motors * values["I_s"] if "I_s" in values else None,
    }


def _disagreements(known: dict[str, float], names: dict[str, str]) -> list[Finding]:
    """Each given number against what the others say of it."""
    said, free = {}, NO_DRAG in solve_exactly(known).assumptions
    for symbol, x in known.items():
        others, _, assumed = solve_exactly({s: v for s, v in known.items() if s != symbol})
        y = others.get(symbol)
        guessed = NO_DRAG in assumed and not free  # it tells the drag, and contradicts nothing
        if y is not None and x > 0 and y > 0 and not guessed and differ(x, y):
            said[symbol] = y
    if not said:
        return []
    each = "; ".join(
        f"{names[s].replace('_', ' ')} {spelled(known[s])} given, {spelled(y)} by the others"
        f" (a factor of {spelled(known[s] / y, 3)})"
        for s, y in said.items()
    )
    factors = {names[s]: known[s] / y for s, y in said.items()}
    return [
        finding(
            "constants_disagree",
            f"the numbers given do not belong to one ideal motor, in SI: {each}.",
            "each was kept as given; look up unit, voltage and side of the one that matters, or measure it;"
            " behind gears, friction takes a part of the printed stall torque",
            **factors,
        )
    ]
