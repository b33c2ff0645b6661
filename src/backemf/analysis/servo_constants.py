"""Conversions of a motor's constants and of a servo's gains.

The constants of a motor from any sufficient few of them, and how far what was given disagrees (a whole sheet,
weighed by its rounding, is what `Datasheet.reconciled` is for); a firmware's gain in volts; a printed servo
as a simulator's position actuator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import InvalidValue, MissingValue, UnknownName
from ..findings import Finding, finding
from ..physics.actuator import Actuator, linear_unit
from ..physics.steady import Line, TorqueLoop, line, torque_limit, torque_loop
from ..tables import number as spelled
from .conversion_table import Conversion, computable, number, positive, require
from .motor_constants import NO_DRAG, SYMBOLS, differ, solve_exactly


@dataclass(frozen=True, kw_only=True, repr=False)
class Constants(Conversion):
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
    """The rest of a motor's constants.

    Args:
        ratio: rotor turns per turn of the output.
        n_motors: on one output.
        side: whether torques and speeds are given at the rotor, or at the output of all motors.
        given: some of voltage, resistance, torque_constant, back_emf_constant, speed_constant,
            stall_current, stall_torque, no_load_current, no_load_speed and friction, in SI or as text with a
            unit; currents are those of one motor.

    Returns:
        The constants of one motor at its rotor, and behind the gears.

    Raises:
        BackemfError: where none is given, or one is out of range.
    """
    known = _known_constants(given, ratio, n_motors, side)
    values, how, assumed = solve_exactly(known)
    found: dict[str, Any] = {name: values.get(symbol) for name, symbol in SYMBOLS.items()}
    found |= _at_the_rotor(values)
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


def _at_the_rotor(values: Mapping[str, float]) -> dict[str, float | None]:
    """What else the solved constants tell, each where its own are known."""
    R, K_t, K_e, V, tau_s, w_0 = (values.get(s) for s in ("R", "K_t", "K_e", "V", "tau_s", "w_0"))
    found: dict[str, float | None] = {"constants_ratio": None}
    if K_t is not None and values.get("I_0") is not None and w_0:
        found["viscous_friction"] = K_t * values["I_0"] / w_0
    if R is not None and K_t is not None:
        found["motor_constant"] = K_t / math.sqrt(R)
    if K_t is not None and K_e is not None:
        found["constants_ratio"] = K_t / K_e
    if R is not None and K_t is not None and K_e is not None:
        at = Line(R, K_t, K_e, V or 0.0)
        found |= {"speed_torque_gradient": at.gradient, "back_emf_damping": at.damping}
    if tau_s is not None and w_0 is not None:
        found["greatest_power"] = tau_s * w_0 / 4
    return found


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


def _known_constants(
    given: dict[str, float | str | None], ratio: float, n_motors: int, side: str
) -> dict[str, float]:
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
    geared = Line(R or 1.0, K_t or 1.0, K_e or 1.0).behind_gears(ratio, n_motors)
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


KINDS = {"proportional": 0, "integral": -1, "derivative": 1}
"""The gains of a loop on position, and the power of the second in their unit."""
LETTERS = {"proportional": "P", "integral": "I", "derivative": "D"}


@dataclass(frozen=True, kw_only=True, repr=False)
class Gain(Conversion):
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

    Args:
        actuator: whose line turns volts into torque.
        of: proportional, integral or derivative.
        register: counts of the firmware.
        duty: per error of the output [1/rad], as all below.
        volts: per error [V/rad].
        amperes: of each motor per error [A/rad].
        torque: at the output per error [N m/rad].
        firmware_gain: duty per count and error, where the drive does not know it [1/rad].

    Returns:
        The gain in every unit.

    Raises:
        BackemfError: where two are given, or what one count does is not known.
    """
    if of not in KINDS:
        raise UnknownName("gain", of, KINDS)
    units, at, per_duty = _units(of, actuator), line(actuator), actuator.drive.supply
    H = positive(firmware_gain, units["duty"], "firmware_gain") or actuator.drive.duty_per_count.get(of)
    given = {"register": register, "duty": duty, "volts": volts, "amperes": amperes, "torque": torque}
    name, text = _find_given(given)
    per_volt = (actuator.gearbox.efficiency or 1.0) * at.torque_per_volt
    if name is None:
        k = _own_gain(actuator, of)
    else:
        x = require(positive(text, units[name], name, zero=True), name, "give it as a number")
        _check_counts(name, x, of, H, per_duty, units["duty"])
        volts_each = {"duty": per_duty or 0.0, "volts": 1.0, "amperes": at.R}
        volts_each["register"] = (H or 0.0) * volts_each["duty"]
        k = x / per_volt if name == "torque" else volts_each[name] * x
    as_duty = None if per_duty is None else k / per_duty
    counts = None if H is None or as_duty is None else as_duty / H
    return Gain(
        register=counts,
        duty=as_duty,
        volts=k,
        amperes=k / at.R,
        torque=per_volt * k,
        saturation_error=_saturation(actuator, k) if of == "proportional" and k > 0 else None,
        assumptions=tuple(_assumptions(actuator, of)),
        lost=tuple(_lost_effects(actuator, of, counts, k)),
        given=() if name is None else (name,),
        unit_changes=units,
        symbols={"register": LETTERS[of]},
        formulas={} if of == "proportional" else _formulas(LETTERS[of]),
    )


def _find_given(by_unit: Mapping[str, float | str | None]) -> tuple[str, float | str] | tuple[None, None]:
    """The one unit that a gain is given in, with its number; (None, None) where there is none."""
    given = {name: value for name, value in by_unit.items() if value is not None}
    if len(given) > 1:
        raise InvalidValue(f"{' and '.join(given)} are given; expected one of them: it makes the others")
    return next(iter(given.items()), (None, None))


def _check_counts(
    name: str, x: float, of: str, per_count: float | None, supply: float | None, unit: str
) -> None:
    """An error where what one count or a duty of 1 stands for is not known."""
    if name in ("register", "duty") and supply is None:
        raise MissingValue(
            f"{name} needs the supply voltage, which a duty of 1 stands for; give it as drive.supply"
        )
    if name == "register" and per_count is None:
        raise MissingValue(
            f"register is {x:g}, and what one count of {LETTERS[of]} does is not known of this drive;"
            f" give firmware_gain, the duty per count in {unit}, or measure it"
        )


def _own_gain(actuator: Actuator, of: str) -> float:
    """The gain of an actuator's own drive in volts."""
    loop = actuator.drive.loop
    if loop is None or loop.of != "position":
        raise MissingValue(
            "this drive has no gain of its own on position; give register, duty, volts, amperes or torque"
        )
    own: float = getattr(loop, of)
    if own == 0 and of not in actuator.drive.duty_per_count:
        raise MissingValue(
            f"the model of this drive has no {of} gain (none is set, or nobody knows what a count does);"
            " give register, duty, volts, amperes or torque"
        )
    return own if loop.effort == "V" else own / line(actuator).torque_per_volt


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


def _assumptions(actuator: Actuator, of: str) -> list[str]:
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


def _lost_effects(actuator: Actuator, of: str, counts: float | None, volts: float) -> list[str]:
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


class PositionActuator(NamedTuple):
    """MuJoCo's affine actuator tau = a u + b_1 l + b_2 l', and the same as the attributes of `<position>`."""

    a: float
    b_1: float
    b_2: float

    @property
    def kp(self) -> float:
        """N m/rad."""
        return self.a

    @property
    def kv(self) -> float:
        """N m s/rad; positive."""
        return -self.b_2


def servo_actuator(
    *, torque_constant: float, back_emf_constant: float, resistance: float, volts_per_degree: float
) -> PositionActuator:
    """The servo torque model, equation 7: a proportional servo whose gain is in volts per degree of error.

    K_m, K_b are taken as given, even where they differ; k_v = +K_m K_b / R (the document's minus sign is a
    slip).

    Args:
        torque_constant: K_m at the output [N m/A].
        back_emf_constant: K_b at the output [V s/rad].
        resistance: of the winding [ohm].
        volts_per_degree: of the controller, per error of the output [V/deg].

    Returns:
        The actuator at the output.
    """
    servo = Line(resistance, torque_constant, back_emf_constant)
    a = servo.torque_per_volt * math.degrees(1.0) * volts_per_degree
    return PositionActuator(a, -a, -servo.damping)


@dataclass(frozen=True, kw_only=True, repr=False)
class ServoModel(Conversion):
    """A proportional servo as MuJoCo's affine actuator, and where the real one leaves it."""

    torque_constant: float = number("N m/A", "K_m", "tau_s / I_s")
    back_emf_constant: float = number("V s/rad", "K_b", "(V - R I_0) / w_0")
    resistance: float = number("ohm", "R", "V / I_s")
    voltage_gain: float = number("V/rad", "G_p", "the controller's own")
    a: float = number("N m/rad", "a", "K_m G_p / R, G_p in V/rad")
    b_1: float = number("N m/rad", "b_1", "-a")
    b_2: float = number("N m s/rad", "b_2", "-K_m K_b / R")
    kp: float = number("N m/rad", "kp", "a = -b_1")
    kv: float = number("N m s/rad", "kv", "-b_2 = +K_m K_b / R")
    torque_limit: float | None = number("N m", "tau_max", "K_m V_max / R", default=None)
    saturation_error: float | None = number("rad", "e_max", "V_max / G_p", default=None)
    no_load_speed: float | None = number("rad/s", "V_max / K_b", "V_max / K_b, before friction", default=None)


LOST = (
    "the voltage limit: the real servo is a P loop only up to the saturation error, and pushes with the same"
    " torque beyond; write forcerange as +-tau_max, or kp acts without end",
    "that the limit is one of voltage: at a speed w the real torque ends at (K_m / R) (V_max - K_b w), while"
    " forcerange allows tau_max at every speed",
    "a braking servo may exceed tau_max (back-EMF adds to the voltage), which forcerange clips",
    "friction of motor and gears",
)


_OF_SOURCE = {"torque_constant": "eta n N K_t", "back_emf_constant": "N K_e", "resistance": "the motor's own"}
"""The formulas of an actuator's numbers."""


@computable
def servo(
    actuator: Actuator | None = None,
    *,
    volts_per_radian: float | str | None = None,
    duty_limit: float = 1.0,
    **given: Any,
) -> ServoModel:
    """a, b_1, b_2, kp and kv of a servo: of an actuator, or of the numbers on its sheet.

    Args:
        actuator: the servo; None where its sheet is given.
        volts_per_radian: gain of its controller [V/rad], or text such as "12 V/deg"; its own unless given.
        duty_limit: largest duty of the firmware, of a sheet.
        given: numbers of the sheet, as `constants` takes them, at the output.

    Returns:
        MuJoCo's affine actuator at the output, and where the real servo leaves it.

    Raises:
        BackemfError: where the gain is not known, or the numbers do not determine the motor.
    """
    gain = positive(volts_per_radian, "V/rad", "volts_per_radian")
    for name in given:
        if name not in SYMBOLS:
            raise UnknownName("sheet number", name, SYMBOLS)
    source = _from_sheet(constants(**given), duty_limit) if actuator is None else _from_actuator(actuator)
    at, known = source.line, source.known
    gain = source.gain if gain is None else gain
    if gain is None:
        raise MissingValue(
            "volts_per_radian is missing, the voltage of the controller for an error; expected such as"
            ' "12 V/deg", or a register and what one count of it does'
        )
    motor = {"torque_constant": at.K_t, "back_emf_constant": at.K_e, "resistance": at.R}
    model = servo_actuator(**motor, volts_per_degree=gain * math.radians(1.0))
    full = None if source.most is None else at._replace(V=float(source.most))
    return ServoModel(
        **motor,
        voltage_gain=gain,
        **model._asdict(),
        kp=model.kp,
        kv=model.kv,
        torque_limit=None if full is None else full.stall_torque,
        saturation_error=None if full is None else full.V / gain,
        no_load_speed=None if full is None else full.ideal_speed,
        assumptions=(
            "the controller is proportional alone, and its error is that of the output",
            "the inductance is small: the current follows the voltage at once",
            *source.assumptions,
        ),
        lost=source.lost,
        findings=() if known is None else (*known.findings, *_beyond(known, full)),
        given=_given_names(known, volts_per_radian),
        formulas=source.formulas,
    )


class _ServoSource(NamedTuple):
    """What a servo's model is made of, at the output."""

    line: Line
    most: Any
    """The largest voltage [V]; None where it is not known."""
    gain: float | None
    """Of the actuator's own controller [V/rad]."""
    known: Constants | None
    """The numbers on its sheet."""
    formulas: Mapping[str, str]
    assumptions: tuple[str, ...]
    lost: tuple[str, ...]


def _from_actuator(actuator: Actuator) -> _ServoSource:
    """What an actuator says of its servo; its torque constant is what reaches the output."""
    at, loop, eta = line(actuator), torque_loop(actuator), actuator.gearbox.efficiency
    own = loop.stiffness / at.torque_per_volt if loop is not None and loop.stiffness > 0 else None
    return _ServoSource(
        line=at._replace(K_t=(eta or 1.0) * at.K_t),
        most=actuator.drive.ceiling({}),
        gain=own,
        known=None,
        formulas=_OF_SOURCE,
        assumptions=() if eta is None else (f"driving, the gears pass eta = {spelled(eta)} of the torque",),
        lost=(*LOST, *_beside(loop)),
    )


def _from_sheet(known: Constants, duty_limit: float) -> _ServoSource:
    """What the numbers on a sheet say of a servo."""
    return _ServoSource(
        line=_line(known),
        most=None if known.voltage is None else duty_limit * known.voltage,
        gain=None,
        known=known,
        formulas={k: v for k, v in known.formulas.items() if k in _OF_SOURCE},
        assumptions=known.assumptions,
        lost=LOST,
    )


def _beside(loop: TorqueLoop | None) -> list[str]:
    """What a controller adds to its P."""
    named = {"D": (loop.damping, "N m s/rad"), "I": (loop.integral, "N m/(rad s)")} if loop else {}
    return [
        f"the {n} of its controller, {spelled(k)} {unit} beside these" for n, (k, unit) in named.items() if k
    ]


def _line(known: Constants) -> Line:
    values = {"R": known.resistance, "K_t": known.torque_constant, "K_e": known.back_emf_constant}
    lacks = [name for name, value in values.items() if value is None]
    if lacks:
        raise MissingValue(
            f"these numbers do not determine {' and '.join(lacks)}; expected a voltage, a stall torque, a"
            " no-load speed, and a stall current or resistance where it is printed"
        )
    return Line(**{name: value for name, value in values.items() if value is not None})


def _beyond(known: Constants, full: Line | None) -> list[Finding]:
    """A model that pushes otherwise than its own sheet prints."""
    printed = known.stall_torque if "stall_torque" in known.given else None
    if full is None or printed is None or not differ(full.stall_torque, printed):
        return []
    return [
        finding(
            "stall_torque_differs",
            f"with these numbers the model stalls at K_m V_max / R = {spelled(full.stall_torque)} N m; the"
            f" sheet prints {spelled(printed)} N m.",
            "take R = V / I_s, or give a duty limit; kp and kv both go with 1 / R",
            model=full.stall_torque,
            printed=printed,
        )
    ]


def _given_names(known: Constants | None, gain: object) -> tuple[str, ...]:
    inside = () if known is None else tuple(n for n in known.given if n in ServoModel.__dataclass_fields__)
    return (*(n for n in inside if n != "no_load_speed"), *(("voltage_gain",) if gain is not None else ()))
