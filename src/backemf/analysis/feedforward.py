"""kS, kV, kA and kG of a mechanism from its motor, gears and load, and the load from measured gains.

The gearbox and SysId equations, corrected: friction at the output counts once, and kS does not grow with the
gear ratio. On a linear axis (elevator, drivetrain) positions are metres and the drum's radius joins the
ratio.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import InvalidValue, MissingValue, UnknownName
from ..findings import Finding, finding
from ..physics.actuator import Actuator, linear_unit
from ..physics.steady import DrivenLoad, Feedforward, Line, armature, line
from ..tables import number as spelled
from ..units import GRAVITY
from .conversion_table import Conversion, computable, number, positive, require, si

MECHANISMS = ("simple", "flywheel", "elevator", "arm", "drivetrain")
LINEAR = ("elevator", "drivetrain")
CONTROLS = {"voltage": "V", "current": "A"}


class GearedMotors(NamedTuple):
    """Motors behind gears: their line at the output, and their rotors' inertia there."""

    line: Line
    rotors: float


def gear_motors(actuator: Actuator, ratio: float, n_motors: int = 1) -> GearedMotors:
    """Equal actuators behind a further ratio.

    Args:
        actuator: one of them.
        ratio: its radians per radian of the output, or per metre.
        n_motors: how many.

    Returns:
        Their line and their rotors' inertia at the output.

    Raises:
        InvalidValue: where the ratio is 0 or there is no motor.
    """
    if ratio == 0 or not math.isfinite(ratio) or n_motors < 1:
        raise InvalidValue(
            f"ratio is {ratio!r} and n_motors {n_motors!r}; expected a ratio other than 0 and at least one"
            " motor"
        )
    return GearedMotors(
        line(actuator).behind_gears(ratio, n_motors), n_motors * ratio * ratio * armature(actuator)
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Gains(Conversion):
    """u = kS sgn(w) + kV w + kA dw/dt (+ kG, times the cosine of the angle for an arm)."""

    kS: float = number("V", "kS", "R tau_f / (n G K_t)")
    kV: float = number("V s/rad", "kV", "G K_e + R b / (n G K_t)")
    kA: float = number("V s^2/rad", "kA", "R J / (n G K_t)")
    kG: float | None = number("V", "kG", "R m g r / (n G K_t)", default=None)
    inertia: float = number("kg m^2", "J", "J_load + n G^2 J_rotor")
    friction: float = number("N m", "tau_f", "n G tau_s + T_f")
    gravity: float | None = number("N m", "m g r", "m g r, the arm horizontal", default=None)
    time_constant: float | None = number("s", "kA / kV", "kA / kV", default=None)
    top_speed: float | None = number("rad/s", "w_max", "(u_max - kS - kG) / kV", default=None)

    @property
    def feedforward(self) -> Feedforward:
        return Feedforward(self.kS, self.kV, self.kA)


_CURRENT = {
    "kS": "tau_f / (n G K_t)",
    "kV": "b / (n G K_t): a current loop hides the back-EMF",
    "kA": "J / (n G K_t)",
    "kG": "m g r / (n G K_t)",
}
"""The formulas of current control."""


class _Axis(NamedTuple):
    ratio: float
    inertia: float
    gravity: float | None
    said: tuple[str, ...]


@computable
def gains(
    actuator: Actuator,
    *,
    ratio: float = 1.0,
    inertia: float | str | None = None,
    mass: float | str | None = None,
    radius: float | str | None = None,
    n_motors: int = 1,
    control: str = "voltage",
    mechanism: str = "simple",
    friction: float | str = 0.0,
    viscous: float | str = 0.0,
) -> Gains:
    """Gains to expect of a mechanism: numbers in SI, or text with a unit.

    Args:
        actuator: one motor, its own friction and rotor included.
        ratio: its turns per turn of the output.
        inertia: of the load at the output [kg m^2].
        mass: instead of it; of an elevator or a drivetrain always [kg].
        radius: of that mass, of an arm's centre of mass, of a drum or wheel [m].
        n_motors: on one output.
        control: what is commanded: voltage or current.
        mechanism: one of `MECHANISMS`.
        friction: of the load at the output [N m, or N].
        viscous: of the load at the output [N m s/rad, or N s/m].

    Returns:
        kS, kV, kA and kG, with what they are made of.

    Raises:
        BackemfError: where a number is missing or none, or a name is not known.
    """
    _check_known(control, mechanism)
    J, m = (positive(*given, zero=True) for given in ((inertia, "kg m^2", "inertia"), (mass, "kg", "mass")))
    axis = _axis(mechanism, ratio, J, m, positive(radius, "m", "radius"))
    swap = linear_unit if mechanism in LINEAR else lambda unit: unit
    T_f = positive(friction, swap("N m"), "friction", zero=True) or 0.0
    b = si(viscous, swap("N m s/rad"), "viscous") or 0.0
    at, rotors = gear_motors(actuator, axis.ratio, n_motors)
    at = at._replace(dry=at.dry + T_f, viscous=at.viscous + b)
    J = axis.inertia + rotors
    volts = control == "voltage"
    feed = at.voltage_gains(J) if volts else at.current_gains(J)
    per = 1.0 / (at.torque_per_volt if volts else at.K_t)
    kG = None if axis.gravity is None else axis.gravity * per
    most = actuator.drive.ceiling({}) if volts else None
    return Gains(
        **feed._asdict(),
        kG=kG,
        inertia=J,
        friction=at.dry,
        gravity=axis.gravity,
        time_constant=feed.kA / feed.kV if feed.kV > 0 else None,
        top_speed=_top_speed(feed, most, (kG or 0.0) if mechanism == "elevator" else 0.0),
        assumptions=(*axis.said, *_assumptions(actuator, control, rotors)),
        lost=("static friction beyond the dry one, friction under load, delay and the supply's sag",),
        unit_changes=_units(control, mechanism),
        formulas={} if volts else _CURRENT,
    )


def _top_speed(feed: Feedforward, most: float | None, weight: float) -> float | None:
    """The speed that the greatest voltage is enough for, beside friction and a weight [V]."""
    if most is None or feed.kV <= 0:
        return None
    return max(float(most) - feed.kS - weight, 0.0) / feed.kV


def _check_known(control: str, mechanism: str) -> None:
    if control not in CONTROLS:
        raise UnknownName("control", control, CONTROLS)
    if mechanism not in MECHANISMS:
        raise UnknownName("mechanism", mechanism, MECHANISMS)


def _axis(mechanism: str, ratio: float, J: float | None, m: float | None, r: float | None) -> _Axis:
    """What a mechanism's load is at its output."""
    if mechanism in LINEAR:
        r = require(r, "radius", f"the drum or wheel of {_a(mechanism)} turns metres into its rotation")
        m = require(m, "mass", f"{_a(mechanism)} moves a mass")
        if J is not None:
            raise InvalidValue(f"inertia is given; {_a(mechanism)} moves a mass: give mass and radius alone")
        weight = m * GRAVITY if mechanism == "elevator" else None
        return _Axis(ratio / r, m, weight, (f"G / r = {spelled(ratio / r)} rotor radians a metre",))
    said: tuple[str, ...] = ()
    if J is None:
        if m is None or r is None:
            raise MissingValue("inertia is missing; give it, or a mass and its radius: J = m r^2")
        J = m * r * r
        said = (f"the mass is a point at its radius: J = m r^2 = {spelled(J)} kg m^2",)
    if mechanism != "arm":
        return _Axis(ratio, J, None, said)
    if m is None or r is None:
        raise MissingValue("an arm needs mass and radius, that of its centre of mass, for its gravity m g r")
    return _Axis(ratio, J, m * GRAVITY * r, (*said, "kG is that of the horizontal arm: the input is kG cos"))


def _a(mechanism: str) -> str:
    return f"an {mechanism}" if mechanism[0] in "ae" else f"a {mechanism}"


def _assumptions(actuator: Actuator, control: str, rotors: float) -> list[str]:
    dry, loss = actuator.friction.moving, actuator.gearbox.efficiency
    said = [f"each motor's own friction is {spelled(float(dry))} N m at its shaft"]
    said.append(
        "amperes are those of each motor" if control == "current" else "volts are at each motor's own"
    )
    if rotors == 0:
        said.append("the rotors have no inertia: none is known")
    said.append(
        "gears without loss" if loss is None else f"gears without loss, although eta is {spelled(loss)}"
    )
    return said


def _units(control: str, mechanism: str) -> dict[str, str]:
    u = CONTROLS[control]
    made = {"kS": u, "kV": f"{u} s/rad", "kA": f"{u} s^2/rad", "kG": u}
    fields = Gains.__dataclass_fields__.items()
    made |= {name: f.metadata["unit"] for name, f in fields if name not in made and f.metadata}
    return {k: linear_unit(unit) for k, unit in made.items()} if mechanism in LINEAR else made


@dataclass(frozen=True, kw_only=True, repr=False)
class Load(Conversion):
    """The mechanism behind measured gains, at its output."""

    inertia: float = number("kg m^2", "J", "kA n G K_t / R")
    load_inertia: float = number("kg m^2", "J_load", "J - n G^2 J_rotor")
    friction: float = number("N m", "tau_f", "kS n G K_t / R")
    load_friction: float = number("N m", "T_f", "tau_f - n G tau_s")
    viscous: float = number("N m s/rad", "b", "(kV - G K_e) n G K_t / R")
    gravity: float | None = number("N m", "m g r", "kG n G K_t / R", default=None)
    mass: float | None = number("kg", "m", "gravity / g, or over g r", default=None)


_BEHIND_CURRENT = {
    "inertia": "kA n G K_t",
    "friction": "kS n G K_t",
    "viscous": "kV n G K_t",
    "gravity": "kG n G K_t",
}


@computable
def load(
    actuator: Actuator,
    *,
    kV: float | str,
    kA: float | str,
    kS: float | str = 0.0,
    kG: float | str | None = None,
    ratio: float = 1.0,
    radius: float | str | None = None,
    n_motors: int = 1,
    control: str = "voltage",
    mechanism: str = "simple",
) -> Load:
    """The load behind gains that were measured, the reverse of `gains`: numbers in SI, or text with a unit.

    Args:
        actuator: one motor, its own friction and rotor included.
        kV: per speed of the output [V s/rad; A and m likewise].
        kA: per acceleration of the output [V s^2/rad].
        kS: against friction [V].
        kG: against gravity [V].
        ratio: turns of the motor per turn of the output.
        radius: of a drum or wheel, or of an arm's centre of mass [m].
        n_motors: on one output.
        control: what was commanded: voltage or current.
        mechanism: one of `MECHANISMS`.

    Returns:
        Inertia, friction and gravity at the output.

    Raises:
        BackemfError: where a number is missing or none, or a name is not known.
    """
    _check_known(control, mechanism)
    units = _units(control, mechanism)
    rotor_ratio, lever = _ratio_and_lever(mechanism, ratio, radius)
    at, rotors = gear_motors(actuator, rotor_ratio, n_motors)
    v, a = si(kV, units["kV"], "kV"), positive(kA, units["kA"], "kA")
    s, g = si(kS, units["kS"], "kS"), si(kG, units["kG"], "kG")
    measured = Feedforward(s or 0.0, v or 0.0, a or 0.0)
    volts = control == "voltage"
    back = at.behind_voltage(measured) if volts else at.behind_current(measured)
    weight = None if g is None else g * (at.torque_per_volt if volts else at.K_t)
    return Load(
        inertia=back.inertia,
        load_inertia=_rest(back.inertia, rotors),
        friction=back.friction,
        load_friction=_rest(back.friction, at.dry),
        viscous=back.viscous,
        gravity=weight,
        mass=weight / GRAVITY / lever if weight is not None and lever else None,
        assumptions=tuple(_assumptions(actuator, control, rotors)),
        lost=("gravity: no kG is given",) if kG is None and mechanism in ("arm", "elevator") else (),
        findings=tuple(_odd(measured, back, at, rotors, volts)),
        unit_changes=_linear_load_units() if mechanism in LINEAR else {},
        formulas={} if volts else _BEHIND_CURRENT,
    )


def _ratio_and_lever(mechanism: str, ratio: float, radius: float | str | None) -> tuple[float, float | None]:
    """(rotor radians per radian or metre of the output, the lever of the weight: 1 on a linear axis)."""
    r = positive(radius, "m", "radius")
    if mechanism not in LINEAR:
        return ratio, r
    r = require(r, "radius", f"the drum or wheel of {_a(mechanism)} turns metres into its rotation")
    return ratio / r, 1.0


def _linear_load_units() -> dict[str, str]:
    """The units of a load that moves in metres, by its fields."""
    fields = Load.__dataclass_fields__.items()
    return {n: linear_unit(f.metadata["unit"]) for n, f in fields if "unit" in f.metadata}


def _rest(whole: float, part: float) -> float:
    """What is left, and 0 where that is rounding."""
    return 0.0 if abs(whole - part) <= 1e-12 * abs(whole) else whole - part


def _odd(gains: Feedforward, back: DrivenLoad, at: Line, rotors: float, volts: bool) -> list[Finding]:
    """What no mechanism behind this motor can have."""
    found = []
    if volts and gains.kV < at.K_e * (1.0 - 1e-9):
        found.append(
            finding(
                "kV_below_back_emf",
                f"kV is {spelled(gains.kV)}, less than the back-EMF of motor and gears alone,"
                f" {spelled(at.K_e)}: the viscous friction comes out negative.",
                "check the gear ratio, the unit of velocity, the number of motors and which motor it is",
                ratio=gains.kV / at.K_e,
            )
        )
    if back.inertia < rotors * (1.0 - 1e-9):
        found.append(
            finding(
                "inertia_low",
                f"the gains give an inertia of {spelled(back.inertia)}, less than that of the rotors alone,"
                f" {spelled(rotors)}.",
                "check the motor, the gear ratio and the unit of velocity",
                inertia=back.inertia,
                rotors=rotors,
            )
        )
    return found
