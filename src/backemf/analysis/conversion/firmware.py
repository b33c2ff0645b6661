"""One gain of a servo's loop in every unit people use: register, duty, volts, amperes, newton-metres."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...errors import InvalidValue, MissingValue, UnknownName
from ...physics.actuator import Actuator, linear_unit
from ...physics.steady import line, torque_limit
from ...tables import number as spelled
from .table import Converted, computable, number, positive

KINDS = {"proportional": 0, "integral": -1, "derivative": 1}
"""The gains of a loop on position, and the power of the second in their unit."""
LETTERS = {"proportional": "P", "integral": "I", "derivative": "D"}


@dataclass(frozen=True, kw_only=True, repr=False)
class Gain(Converted):
    """Proportional it is per radian, integral per radian and second, derivative per rad/s."""

    register: float | None = number("1", "P", "k_V / (H V_in)", default=None)
    duty: float | None = number("1/rad", "k_d", "H P = k_V / V_in", default=None)
    volts: float = number("V/rad", "k_V", "H P V_in = k R / (eta n N K_t)")
    amperes: float = number("A/rad", "k_i", "k_V / R, of each motor at standstill")
    torque: float = number("N m/rad", "k", "eta n N K_t / R k_V, at the output")
    saturation_error: float | None = number(
        "rad", "e_max", "V_max / k_V; (n N K_t i_max) / k under current", default=None
    )


@computable
def gain(
    actuator: Actuator,
    *,
    of: str = "proportional",
    register: float | str | None = None,
    duty: float | str | None = None,
    volts: float | str | None = None,
    amperes: float | str | None = None,
    torque: float | str | None = None,
    firmware_gain: float | str | None = None,
) -> Gain:
    """All of a gain's units from any one of them; without any, the actuator's own.

    `of` is proportional, integral or derivative. `firmware_gain` is the duty per count of the register, where
    the actuator's own drive does not know it.
    """
    if of not in KINDS:
        raise UnknownName("gain", of, KINDS)
    units = _units(of, actuator)
    at, drive, loop = line(actuator), actuator.drive, actuator.drive.loop
    H = positive(firmware_gain, units["duty"], "firmware_gain")
    H = drive.duty_per_count.get(of) if H is None else H
    per_duty = drive.supply
    given = {"register": register, "duty": duty, "volts": volts, "amperes": amperes, "torque": torque}
    given = {name: value for name, value in given.items() if value is not None}
    if len(given) > 1:
        raise InvalidValue(f"{' and '.join(given)} are given; expected one of them: it makes the others")
    name, text = next(iter(given.items()), (None, None))
    x = None if name is None else positive(text, units[name], name, zero=True)
    eta = actuator.gearbox.efficiency or 1.0
    if name in ("register", "duty") and per_duty is None:
        raise MissingValue(
            f"{name} needs the supply voltage, which a duty of 1 stands for; give it as drive.supply"
        )
    if name == "register" and H is None:
        raise MissingValue(
            f"register is {x:g}, and what one count of {LETTERS[of]} does is not known of this drive;"
            f" give firmware_gain, the duty per count in {units['duty']}, or measure it"
        )
    if name is None:
        if loop is None or loop.of != "position":
            raise MissingValue(
                "this drive has no gain of its own on position; give register, duty, volts, amperes or torque"
            )
        own = {"proportional": loop.proportional, "integral": loop.integral, "derivative": loop.derivative}
        if own[of] == 0:
            raise MissingValue(
                f"the model of this drive has no {of} gain (none is set, or nobody knows what a count does);"
                " give register, duty, volts, amperes or torque"
            )
        k = own[of] if loop.effort == "V" else own[of] / at.torque_per_volt
    else:
        assert x is not None
        k = {
            "register": lambda: (H or 0.0) * (per_duty or 0.0) * x,
            "duty": lambda: (per_duty or 0.0) * x,
            "volts": lambda: x,
            "amperes": lambda: at.R * x,
            "torque": lambda: x / (eta * at.torque_per_volt),
        }[name]()
    as_duty = None if per_duty is None else k / per_duty
    counts = None if H is None or as_duty is None else as_duty / H
    return Gain(
        register=counts,
        duty=as_duty,
        volts=k,
        amperes=k / at.R,
        torque=eta * at.torque_per_volt * k,
        saturation_error=_saturation(actuator, k) if of == "proportional" and k > 0 else None,
        assumptions=tuple(_assumed(actuator, of)),
        lost=tuple(_lost(actuator, of, counts, k)),
        given=() if name is None else (name,),
        unit_changes=units,
        symbols={"register": LETTERS[of]},
        formulas={} if of == "proportional" else _formulas(LETTERS[of]),
    )


def _units(of: str, actuator: Actuator) -> dict[str, str]:
    """The units of each number of such a gain."""
    tail = {0: "{}/rad", -1: "{}/(rad s)", 1: "{} s/rad"}[KINDS[of]]
    tops = {"duty": "1", "volts": "V", "amperes": "A", "torque": "N m"}
    made = {name: tail.format(top).replace("1 s/", "s/") for name, top in tops.items()}
    made |= {"register": "1", "saturation_error": "rad"}
    return {k: linear_unit(unit) for k, unit in made.items()} if actuator.motion == "linear" else made


def _formulas(letter: str) -> dict[str, str]:
    """Those of another register than P."""
    H = f"H_{letter}"
    return {
        "register": f"k_V / ({H} V_in)",
        "duty": f"{H} {letter} = k_V / V_in",
        "volts": f"{H} {letter} V_in = k R / (eta n N K_t)",
    }


def _saturation(actuator: Actuator, volts: float) -> float | None:
    """The error from which on the loop gives no more."""
    if actuator.drive.hides_back_emf:
        most = torque_limit(actuator)
        return None if most is None else most / (line(actuator).torque_per_volt * volts)
    ceiling = actuator.drive.ceiling({})
    return None if ceiling is None else float(ceiling) / volts


def _assumed(actuator: Actuator, of: str) -> list[str]:
    at, drive = line(actuator), actuator.drive
    supply = "" if drive.supply is None else f"; V_in = {spelled(drive.supply)} V"
    said = [f"n N K_t = {spelled(at.K_t)} N m/A and R = {spelled(at.R)} ohm at the output, cold{supply}"]
    if actuator.gearbox.efficiency is not None:
        said.append(f"driving, the gears pass eta = {spelled(actuator.gearbox.efficiency)} of the torque")
    if drive.hides_back_emf:
        said.append("a current loop holds the torque: volts are what it takes at standstill")
    elif of == "proportional":
        said.append(f"back-EMF damps beside it with n N^2 K_t K_e / R = {spelled(at.damping)} N m s/rad")
    return said


def _lost(actuator: Actuator, of: str, counts: float | None, volts: float) -> list[str]:
    lost = []
    if counts is not None and math.isfinite(counts) and abs(counts - round(counts)) > 1e-6 * max(counts, 1.0):
        whole = max(round(counts), 1)
        eta = actuator.gearbox.efficiency or 1.0
        torque = eta * line(actuator).torque_per_volt * volts * whole / counts
        lost.append(f"a register is a whole number: {whole} gives {spelled(torque)} in the unit of torque")
    if of == "proportional":
        lost.append(
            "a stiffness in N m/rad holds up to the saturation error; beyond it the torque stays the same,"
            " and at speed the voltage left is less"
        )
    if counts is None:
        lost.append(
            f"the register: what one count of {LETTERS[of]} does is not known of this drive (firmware_gain)"
        )
    return lost
