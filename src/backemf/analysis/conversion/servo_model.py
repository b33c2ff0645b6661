"""A servo's sheet numbers as the servo torque model has them: tau = a u + b_1 l + b_2 l', and kp, kv."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...errors import MissingValue, UnknownName
from ...findings import Finding, finding
from ...physics.actuator import Actuator
from ...physics.steady import Line, TorqueLoop, line, torque_loop
from ...tables import number as spelled
from ..motor_constants import SYMBOLS, differ
from .motor_constants import Constants, constants
from .table import Converted, computable, number, positive


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
    """
    servo = Line(resistance, torque_constant, back_emf_constant)
    a = servo.torque_per_volt * math.degrees(1.0) * volts_per_degree
    return PositionActuator(a, -a, -servo.damping)


@dataclass(frozen=True, kw_only=True, repr=False)
class ServoModel(Converted):
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
    """a, b_1, b_2, kp and kv of a servo: of an actuator, or of the numbers on its sheet (those that
    `constants` takes, at the output) with the gain of its controller in V/rad (or text, such as "12 V/deg").
    """
    gain = positive(volts_per_radian, "V/rad", "volts_per_radian")
    for name in given:
        if name not in SYMBOLS:
            raise UnknownName("sheet number", name, SYMBOLS)
    if actuator is not None:
        at, most = line(actuator), actuator.drive.ceiling({})
        loop = torque_loop(actuator)
        if gain is None and loop is not None and loop.stiffness > 0:
            gain = loop.stiffness / at.torque_per_volt
        eta = actuator.gearbox.efficiency
        at = at._replace(K_t=(eta or 1.0) * at.K_t)  # K_m is what reaches the output
        known, formulas, lost = None, _OF_SOURCE, (*LOST, *_beside(loop))
        said = () if eta is None else (f"driving, the gears pass eta = {spelled(eta)} of the torque",)
    else:
        known = constants(**given)
        formulas = {k: v for k, v in known.formulas.items() if k in _OF_SOURCE}
        said, lost = known.assumptions, LOST
        at, most = _line(known), known.voltage
        most = None if most is None else duty_limit * most
    if gain is None:
        raise MissingValue(
            "volts_per_radian is missing, the voltage of the controller for an error; expected such as"
            ' "12 V/deg", or a register and what one count of it does'
        )
    model = servo_actuator(
        torque_constant=at.K_t,
        back_emf_constant=at.K_e,
        resistance=at.R,
        volts_per_degree=gain * math.radians(1.0),
    )
    full = None if most is None else at._replace(V=float(most))
    return ServoModel(
        torque_constant=at.K_t,
        back_emf_constant=at.K_e,
        resistance=at.R,
        voltage_gain=gain,
        a=model.a,
        b_1=model.b_1,
        b_2=model.b_2,
        kp=model.kp,
        kv=model.kv,
        torque_limit=None if full is None else full.stall_torque,
        saturation_error=None if full is None else full.V / gain,
        no_load_speed=None if full is None else full.ideal_speed,
        assumptions=(
            "the controller is proportional alone, and its error is that of the output",
            "the inductance is small: the current follows the voltage at once",
            *said,
        ),
        lost=lost,
        findings=() if known is None else (*known.findings, *_beyond(known, full)),
        given=_given(known, volts_per_radian),
        formulas=formulas,
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


def _given(known: Constants | None, gain: object) -> tuple[str, ...]:
    inside = () if known is None else tuple(n for n in known.given if n in ServoModel.__dataclass_fields__)
    return (*(n for n in inside if n != "no_load_speed"), *(("voltage_gain",) if gain is not None else ()))
